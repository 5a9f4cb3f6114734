/* Implements -array: writes voltages of an array of dishes to a DADA file. */
#include "base/tool.h"
#include "fakebin.h"
#include "tools/common/cli.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/source.h>
#include <psrkit/fake.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Implements -vdif: writes or sends voltages of one telescope as VDIF frames. */

enum { NPOL_MAX = 2 };

struct vdif_job {
    psr_fakeband *plan;
    psr_vdif_writer *writer;
    size_t frame_nsamp, frame_bytes; /* of a thread, without its header */
    int64_t nframe;                  /* of the observation, in each thread */
    unsigned char *levels[NPOL_MAX];
};

/* What a burst of a filterbank may have and one of voltages has not. */
static psr_status check_signals(const struct signals *signals, psr_err *err)
{
    for (size_t i = 0; i < signals->n; i++) {
        const struct psr_fake_signal *s = signals->signal + i;
        if (s->peak > 0 || s->scatter_s > 0 || s->spectral_index != 0 || s->lowest_mhz > 0 ||
            s->highest_mhz > 0 || s->pdot != 0 || s->binary)
            return psr_fail(err, PSR_EINVAL,
                            "-add: with -vdif a signal has dm, width, snr, shape, t, period and "
                            "phase only");
    }
    return PSR_OK;
}

static psr_status read_signals(struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < o->add.n && !st; i++)
        st = signals_add_text(&j->signals, o->add.text[i], "-add", o->tobs_s, &j->err);
    for (size_t i = 0; i < o->addfile.n && !st; i++)
        st = signals_add_file(&j->signals, o->addfile.text[i], o->tobs_s, &j->err);
    return st ? st : check_signals(&j->signals, &j->err);
}

static psr_status make_plan(struct fakebin_job *j, struct vdif_job *v)
{
    const struct fakebin_options *o = &j->opt;
    struct psr_fakeband_desc d = {.size = sizeof d,
                                  .freq_mhz =
                                      o->fch1_mhz + o->foff_mhz * (double)(o->nchans - 1) / 2,
                                  .bw_mhz = fabs(o->foff_mhz) * (double)o->nchans,
                                  .nchan = (size_t)o->nchans,
                                  .npol = (size_t)o->nifs,
                                  .real = o->real,
                                  .nbit = (int)o->nbits,
                                  .nthread = (int)o->ncpus};
    psr_status st = psr_parse_dmconst(o->dmconst, &d.dmconst, &j->err);
    if (!st)
        st = fakebin_choose_seed(j);
    if (!st)
        st = read_signals(j);
    if (st)
        return st;
    d.seed = (uint64_t)o->seed;
    d.nsignal = j->signals.n;
    d.signal = j->signals.signal;
    return psr_fakeband_create(&v->plan, &d, &j->err);
}

static psr_status open_writer(struct fakebin_job *j, struct vdif_job *v)
{
    const struct fakebin_options *o = &j->opt;
    char to[256];
    psr_status st = fakebin_create_group(j, 0);
    if (!st && !o->udp)
        st = psr_output_group_add(j->group, o->output ? o->output : "-", &j->out, &j->err);
    if (st)
        return st;
    snprintf(to, sizeof to, "udp://%s", o->udp ? o->udp : "");
    const struct psr_vdif_writer_desc d = {.size = sizeof d,
                                           .file = j->out,
                                           .to = o->udp ? to : NULL,
                                           .nchan = (size_t)o->nchans,
                                           .npol = (size_t)o->nifs,
                                           .real = o->real,
                                           .nbit = (int)o->nbits,
                                           .rate_hz = psr_fakeband_rate_hz(v->plan),
                                           .start = fakebin_start(o),
                                           .speed = o->rate,
                                           .loss = o->loss,
                                           .twice = o->twice,
                                           .reorder = o->reorder,
                                           .seed = (uint64_t)o->seed};
    return psr_vdif_writer_create(&v->writer, &d, &j->err);
}

/* Frames made at once; what is sent leaves in small parts. */
static psr_status make_room(struct fakebin_job *j, struct vdif_job *v, size_t *nframe)
{
    const struct fakebin_options *o = &j->opt;
    const size_t most = o->udp ? FAKEBIN_SENT_BYTES : FAKEBIN_BLOCK_BYTES;
    v->frame_nsamp = psr_vdif_writer_nsamp(v->writer);
    v->frame_bytes = v->frame_nsamp * (size_t)o->nchans * (o->real ? 1 : 2) * (size_t)o->nbits / 8;
    v->nframe =
        (int64_t)fmax(1, rint(o->tobs_s * psr_fakeband_rate_hz(v->plan) / (double)v->frame_nsamp));
    *nframe = most / v->frame_bytes + 1;
    for (int64_t k = 0; k < o->nifs; k++)
        if (!(v->levels[k] = malloc(*nframe * v->frame_bytes)))
            return psr_fail_nomem(&j->err, "block", (double)(*nframe * v->frame_bytes));
    return PSR_OK;
}

static psr_status vdif_make_blocks(struct fakebin_job *j, struct vdif_job *v)
{
    struct run_progress progress;
    size_t most;
    psr_status st = make_room(j, v, &most);
    if (st)
        return st;
    run_progress_start(&progress, run_progress_mode(j->opt.quiet, j->opt.verbose), v->nframe, "MB",
                       (double)v->frame_bytes * (double)j->opt.nifs / 1e6);
    for (int64_t done = 0; done < v->nframe && !st && !run_stop_signal();) {
        const size_t n = v->nframe - done < (int64_t)most ? (size_t)(v->nframe - done) : most;
        st = PSR_OK;
        for (size_t k = 0; k < (size_t)j->opt.nifs && !st; k++)
            st = psr_fakeband_execute(v->plan, k, done * (int64_t)v->frame_nsamp,
                                      n * v->frame_nsamp, v->levels[k], &j->err);
        st =
            st ? st : psr_vdif_writer_append(v->writer, (const void *const *)v->levels, n, &j->err);
        done += (int64_t)n;
        run_progress_update(&progress, done);
    }
    run_progress_end(&progress);
    return st ? st : psr_vdif_writer_finish(v->writer, &j->err);
}

psr_status fakebin_vdif(struct fakebin_job *j)
{
    struct vdif_job v = {.nframe = 0};
    psr_status st = make_plan(j, &v);
    if (!st)
        st = fakebin_check_names(j);
    if (!st)
        st = open_writer(j, &v);
    if (st == PSR_EINVAL) { /* what is out of its range came from the command line */
        psr_output_group_abort(j->group);
        cli_usage_error(&j->tool, "%s", j->err.msg);
    }
    if (!st)
        st = vdif_make_blocks(j, &v);
    if (!st && !run_stop_signal()) {
        int64_t lost;
        const int64_t n = psr_vdif_writer_count(v.writer, &lost);
        if (j->opt.verbose)
            fprintf(stderr, "%s: seed %lld; %lld frames, %lld of them not sent\n", j->tool.name,
                    (long long)j->opt.seed, (long long)n, (long long)lost);
        psr_output_group *group = j->group;
        j->group = NULL;
        st = psr_output_group_commit(group, &j->err);
    }
    psr_vdif_writer_destroy(v.writer);
    psr_fakeband_destroy(v.plan);
    for (size_t k = 0; k < NPOL_MAX; k++)
        free(v.levels[k]);
    return st;
}

/* Deviation of each part of the noise, which costs little sensitivity and seldom clips. */
static const double sigma = 2.0;

struct volt_job {
    struct psr_array array;
    struct psr_dada header;
    struct psr_fakevolt_source *source;
    size_t nsource;
    int64_t nsamp;
    psr_fakevolt *plan;
    uint8_t *block;
};

/* "theta,theta',snr[,KEY=VALUE...]": dm, t, width make a burst of it. */
static psr_status parse_source(const char *text, double observed_s, struct psr_fakevolt_source *s,
                               psr_err *err)
{
    const struct {
        const char *name;
        double *value;
    } keys[] = {{"theta", &s->theta_ns}, {"theta'", &s->theta_ew}, {"snr", &s->snr},
                {"dm", &s->dm},          {"t", &s->t_s},           {"width", &s->width_s}};
    enum { NKEY = sizeof keys / sizeof *keys, NPOSITIONAL = 3 };
    char copy[256], *rest = copy, *word;
    int n = 0;
    *s = (struct psr_fakevolt_source){.t_s = observed_s / 4};
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return psr_fail(err, PSR_EINVAL, "-source: '%.40s...' is too long", text);
    while ((word = strsep(&rest, ","))) {
        size_t length = strcspn(word, "=");
        int k;
        for (k = n < NPOSITIONAL ? n : NPOSITIONAL; n >= NPOSITIONAL && k < NKEY; k++)
            if (strlen(keys[k].name) == length && !strncmp(keys[k].name, word, length))
                break;
        if (k == NKEY || (n >= NPOSITIONAL && !word[length]))
            return psr_fail(err, PSR_EINVAL, "-source '%s': '%s' is none of dm=, t=, width=", text,
                            word);
        char what[300];
        snprintf(what, sizeof what, "-source '%.200s': %s", text, keys[k].name);
        psr_status st = psr_parse_double(what, n < NPOSITIONAL ? word : word + length + 1, -1e9,
                                         1e9, keys[k].value, err);
        if (st)
            return st;
        n++;
    }
    if (n < NPOSITIONAL)
        return psr_fail(err, PSR_EINVAL, "-source '%s' is not theta,theta',snr[,KEY=VALUE...]",
                        text);
    if (n > NPOSITIONAL && s->width_s == 0)
        s->width_s = 5e-3;
    return PSR_OK;
}

static psr_status read_sources(struct fakebin_job *j, struct volt_job *v)
{
    const struct cli_list *list = &j->opt.source;
    psr_status st = PSR_OK;
    v->source = calloc(list->n + 1, sizeof *v->source);
    if (!v->source)
        return psr_fail_nomem(&j->err, "sources", (double)list->n * sizeof *v->source);
    v->nsource = list->n;
    for (size_t i = 0; i < list->n && !st; i++)
        st = parse_source(list->text[i], j->opt.tobs_s, v->source + i, &j->err);
    return st;
}

static psr_status prepare(struct fakebin_job *j, struct volt_job *v)
{
    struct psr_fakevolt_desc d = {.size = sizeof d,
                                  .array = &v->array,
                                  .header = &v->header,
                                  .sigma = sigma,
                                  .nthread = (int)j->opt.ncpus};
    psr_status st = psr_parse_dmconst(j->opt.dmconst, &d.dmconst, &j->err);
    if (!st)
        st = psr_array_read(&v->array, j->opt.array, &j->err);
    if (!st)
        st = read_sources(j, v);
    if (!st)
        st = fakebin_choose_seed(j);
    if (st)
        return st;
    v->header = (struct psr_dada){
        .nchan = j->opt.nchans,
        .nant = (int64_t)v->array.ndish,
        .freq_mhz = j->opt.fch1_mhz + j->opt.foff_mhz * (double)(j->opt.nchans - 1) / 2,
        .bw_mhz = j->opt.foff_mhz * (double)j->opt.nchans,
        .tsamp_us = j->opt.tsamp_us,
        .has_start = true,
        .start = fakebin_start(&j->opt),
        .phase_sign = -1,
        .source = "fake",
        .header_bytes = PSR_DADA_HEADER,
    };
    snprintf(v->header.telescope, sizeof v->header.telescope, "%.63s", v->array.telescope);
    v->nsamp = (int64_t)fmax(1, floor(j->opt.tobs_s / (j->opt.tsamp_us * 1e-6) + 0.5));
    d.nsamp = v->nsamp;
    d.seed = (uint64_t)j->opt.seed;
    d.nsource = v->nsource;
    d.source = v->source;
    return psr_fakevolt_create(&v->plan, &d, &j->err);
}

static psr_status make_blocks(struct fakebin_job *j, struct volt_job *v)
{
    const size_t sample = psr_dada_sample_bytes(&v->header);
    const size_t rows = sample < FAKEBIN_BLOCK_BYTES ? FAKEBIN_BLOCK_BYTES / sample : 1;
    psr_status st = PSR_OK;
    struct run_progress progress;
    v->block = malloc(rows * sample);
    if (!v->block)
        return psr_fail_nomem(&j->err, "block", (double)(rows * sample));
    run_progress_start(&progress, run_progress_mode(j->opt.quiet, j->opt.verbose), v->nsamp, "MB",
                       (double)sample / 1e6);
    for (int64_t done = 0; done < v->nsamp && !st && !run_stop_signal();) {
        size_t n = v->nsamp - done < (int64_t)rows ? (size_t)(v->nsamp - done) : rows;
        st = psr_fakevolt_execute(v->plan, done, n, v->block, &j->err);
        if (!st)
            st = psr_outfile_write(j->out, v->block, n * sample, &j->err);
        done += (int64_t)n;
        run_progress_update(&progress, done);
    }
    run_progress_end(&progress);
    return st;
}

psr_status fakebin_voltages(struct fakebin_job *j)
{
    struct volt_job v = {.nsamp = 0};
    psr_status st = prepare(j, &v);
    if (st == PSR_EINVAL)
        cli_usage_error(&j->tool, "%s", j->err.msg);
    if (!st)
        st = fakebin_check_names(j);
    if (!st)
        st = fakebin_create_group(j, (double)v.nsamp * (double)psr_dada_sample_bytes(&v.header));
    if (!st)
        st = psr_output_group_add(j->group, j->opt.output ? j->opt.output : "-", &j->out, &j->err);
    if (!st)
        st = psr_dada_write(j->out, &v.header, &j->err);
    if (!st)
        st = make_blocks(j, &v);
    if (!st && !run_stop_signal()) {
        psr_output_group *group = j->group;
        j->group = NULL;
        st = psr_output_group_commit(group, &j->err);
    }
    psr_fakevolt_destroy(v.plan);
    psr_array_clear(&v.array);
    free(v.source);
    free(v.block);
    return st;
}
