/* Implements -vdif: writes or sends voltages of one telescope as VDIF frames. */
#include "fakebin.h"

#include "tools/common/run.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/source.h>
#include <psrkit/fake.h>
#include <stdio.h>
#include <stdlib.h>

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

static psr_status make_block(struct fakebin_job *j, struct vdif_job *v, int64_t first, size_t n)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < (size_t)j->opt.nifs && !st; k++)
        st = psr_fakeband_execute(v->plan, k, first * (int64_t)v->frame_nsamp, n * v->frame_nsamp,
                                  v->levels[k], &j->err);
    return st ? st : psr_vdif_writer_append(v->writer, (const void *const *)v->levels, n, &j->err);
}

static psr_status make_blocks(struct fakebin_job *j, struct vdif_job *v)
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
        st = make_block(j, v, done, n);
        done += (int64_t)n;
        run_progress_update(&progress, done);
    }
    run_progress_end(&progress);
    return st ? st : psr_vdif_writer_finish(v->writer, &j->err);
}

static psr_status commit(struct fakebin_job *j, const struct vdif_job *v)
{
    int64_t lost;
    const int64_t n = psr_vdif_writer_count(v->writer, &lost);
    if (j->opt.verbose)
        fprintf(stderr, "%s: seed %lld; %lld frames, %lld of them not sent\n", j->tool.name,
                (long long)j->opt.seed, (long long)n, (long long)lost);
    psr_output_group *group = j->group;
    j->group = NULL;
    return psr_output_group_commit(group, &j->err);
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
        st = make_blocks(j, &v);
    if (!st && !run_stop_signal())
        st = commit(j, &v);
    psr_vdif_writer_destroy(v.writer);
    psr_fakeband_destroy(v.plan);
    for (size_t k = 0; k < NPOL_MAX; k++)
        free(v.levels[k]);
    return st;
}
