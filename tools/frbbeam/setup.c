/* From the command line to plan and buffers: everything that can be refused is refused here. */
#include "frbbeam.h"

#include "base/memory.h"
#include "base/threads.h"
#include <math.h>
#include <psrkit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is read at once: so little that a device may fetch it from the cache of the host's cores,
 * and enough that it has something to do. */
enum { BLOCK_BYTES = 48 << 20 };

/* A remark of the reader's. */
static void relay_note(void *ctx, const char *msg)
{
    const struct frbbeam_job *j = ctx;
    if (!j->opt.quiet)
        cli_note((void *)&j->tool, msg);
}

/* A GPU takes longer to start than everything that is prepared before the plan; the plan tells of
 * failures. */
static psr_status wake_device(void *ctx, psr_err *err)
{
    struct frbbeam_job *j = ctx;
    const char *backend;
    struct psr_device about;
    int device;
    psr_status st = psr_device_choose(j->opt.device, &backend, &device, err);
    return st || !strcmp(backend, "cpu") ? st : psr_device_describe(device, &about, err);
}

static psr_status start_device(struct frbbeam_job *j)
{
    errand_start(&j->read, wake_device, j);
    return PSR_OK;
}

static psr_status open_voltages(struct frbbeam_job *j)
{
    const struct psr_voltages_desc d = {
        .path = (const char *const *)j->path,
        .npath = j->npath,
        .nthread = (int)j->opt.ncpus,
        .notes = {relay_note, j},
    };
    psr_status st = psr_voltages_open(&j->voltages, &d, &j->err);
    if (st)
        return st;
    const struct psr_dada *h = psr_voltages_header(j->voltages);
    j->nfreq = (size_t)h->nchan;
    j->tsamp_s = h->tsamp_us * 1e-6;
    j->sample_bytes = psr_dada_sample_bytes(h);
    j->freq_mhz = malloc(j->nfreq * sizeof *j->freq_mhz);
    if (!j->freq_mhz)
        return psr_fail_nomem(&j->err, "channel frequencies", (double)j->nfreq * 8);
    for (size_t c = 0; c < j->nfreq; c++)
        j->freq_mhz[c] = psr_dada_freq_mhz(h, c);
    return PSR_OK;
}

static void note_standins(const struct frbbeam_job *j)
{
    char text[4200];
    snprintf(text, sizeof text, "%s: stand-ins, not the telescope's own: %s", j->opt.array,
             j->array.standin);
    if (j->array.standin[0] && !j->opt.quiet)
        cli_note((void *)&j->tool, text);
}

static psr_status read_array(struct frbbeam_job *j)
{
    const struct psr_dada *h = psr_voltages_header(j->voltages);
    psr_status st = psr_array_read(&j->array, j->opt.array, &j->err);
    if (!st && (size_t)h->nant != j->array.ndish)
        st = psr_fail(&j->err, PSR_EFORMAT, "%s: NANT is %lld, %s has %zu dishes", j->path[0],
                      (long long)h->nant, j->opt.array, j->array.ndish);
    if (!st && j->opt.site)
        st = psr_array_set_site(&j->array, j->opt.site, &j->err);
    if (!st)
        note_standins(j);
    j->frame = (struct psr_aim_frame){&j->array, j->nfreq, j->freq_mhz, h->phase_sign};
    return st;
}

/* --- plan and buffers ------------------------------------------------------------------------- */

static psr_status create_plan(struct frbbeam_job *j)
{
    struct psr_beam_desc d = {
        .array = &j->array,
        .nfreq = j->nfreq,
        .tds = j->sum,
        .nibbles = psr_voltages_header(j->voltages)->nibbles,
        .pattern = j->n_ew     ? PSR_BEAM_PRODUCT
                   : j->aims.n ? PSR_BEAM_POINTS
                               : PSR_BEAM_GRID,
        .nbeam = j->aims.n,
        .n_ns = j->n_ew ? j->aims.n / j->n_ew : 0,
        .n_ew = j->n_ew,
        .theta_ns = j->theta_ns,
        .theta_ew = j->theta_ew,
        .nthread = (int)j->opt.ncpus,
        .mem_bytes = j->mem_bytes / 2,
    };
    float *weight = NULL;
    errand_end(&j->read); /* the device is awake */
    psr_status st = psr_device_choose(j->opt.device, &d.backend, &d.device, &j->err);
    if (!st && j->opt.weights)
        st = psr_gains_read(j->opt.weights, j->nfreq, j->array.ndish, &weight, &j->err);
    d.weight = weight;
    if (!st)
        st = psr_beam_create(&j->plan, &d, &j->err);
    free(weight);
    return st;
}

/* Rows of all beams that are gathered before they are written, at most; and of one beam. */
enum { GATHER_BYTES = 32 << 20, GATHER_MOST = 1 << 20 };

/* Bytes of a block's voltages, and of the rows that are gathered, or of a block's as floats, which
 * scales are measured on. */
static double in_bytes(const struct frbbeam_job *j)
{
    return (double)j->block * (double)j->sample_bytes;
}

static double out_bytes(const struct frbbeam_job *j)
{
    const double floats = (double)j->stride_floats * sizeof(float);
    const double rows = (double)j->stride_rows * (double)j->opt.nbits / 8;
    return (double)j->nbeam * (double)j->nfreq * fmax(floats, rows);
}

static void choose_strides(struct frbbeam_job *j)
{
    const double row = (double)j->nfreq * (double)j->opt.nbits / 8;
    const double all = fmin(GATHER_BYTES, (double)j->mem_bytes / 16) / (double)j->nbeam;
    const double most = fmin(all, GATHER_MOST) / row;
    j->stride_floats = j->block / j->tds + 1;
    j->stride_rows = j->stride_floats;
    if (j->gathers && most > (double)j->stride_rows)
        j->stride_rows = (size_t)most;
    j->stride = j->stride_rows;
}

/* Samples at once: whole sums of all channels where they have different lengths. */
static psr_status choose_block(struct frbbeam_job *j)
{
    const int64_t nsamp = psr_voltages_nsamp(j->voltages);
    const size_t most = (size_t)fmin(BLOCK_BYTES, (double)j->mem_bytes / 12) / j->sample_bytes;
    /* A pipe may be slow, and somebody may be waiting for what comes out. */
    const double enough = nsamp >= 0 ? (double)nsamp : fmax(1 / j->tsamp_s, (double)j->unit);
    j->block = psr_beam_block(j->plan);
    j->block = j->block > most && most > 0 ? most : j->block;
    j->block = (double)j->block > enough ? (size_t)enough : j->block;
    if (j->unit > j->tds)
        j->block = j->block > j->unit ? j->block - j->block % j->unit : j->unit;
    choose_strides(j);
    if (j->unit > j->tds && in_bytes(j) + out_bytes(j) > (double)j->mem_bytes / 4)
        return psr_fail(&j->err, PSR_ENOMEM,
                        "%s: sums end together after %zu samples, which with their rows are %.3g "
                        "MB; a quarter of %.3g MB of memory is allowed",
                        j->opt.tds_file, j->unit, (in_bytes(j) + out_bytes(j)) / 1e6,
                        (double)j->mem_bytes / 1e6);
    return PSR_OK;
}

static psr_status create_buffers(struct frbbeam_job *j)
{
    struct psr_beam_info info;
    psr_beam_describe(j->plan, &info);
    j->backend = info.backend;
    j->offset = calloc(j->nfreq, sizeof *j->offset);
    j->gain = calloc(j->nfreq, sizeof *j->gain);
    if (!j->offset || !j->gain)
        return psr_fail_nomem(&j->err, "scales", (double)j->nfreq * 8);
    psr_status st = choose_block(j);
    for (int i = 0; i < FRBBEAM_SLOTS && !st; i++)
        st = psr_beam_alloc(j->plan, (size_t)in_bytes(j), &j->in[i], &j->err);
    for (int i = 0; i < FRBBEAM_TURNS && !st; i++)
        st = psr_beam_alloc(j->plan, (size_t)out_bytes(j), &j->out[i], &j->err);
    return st;
}

static psr_status check_length(struct frbbeam_job *j)
{
    int64_t nsamp = psr_voltages_nsamp(j->voltages);
    if (nsamp < 0 || (size_t)nsamp >= j->unit)
        return PSR_OK;
    return psr_fail(&j->err, PSR_EINVAL, "%s: holds %lld samples, fewer than the %zu of -tds",
                    j->path[0], (long long)nsamp, j->unit);
}

static psr_status open_output(void *ctx, psr_err *err)
{
    return frbbeam_output_open(ctx, err);
}

/* Thousands of files take as long to create as a plan on a GPU does.  Rows of several blocks go to
 * them at once, but for those of a pipe, and of sums of different lengths. */
static psr_status start_output(struct frbbeam_job *j)
{
    j->gathers = psr_voltages_nsamp(j->voltages) >= 0 && j->unit == j->tds;
    errand_start(&j->write, open_output, j);
    return PSR_OK;
}

psr_status frbbeam_prepare(struct frbbeam_job *j)
{
    psr_status (*const step[])(struct frbbeam_job *) = {
        start_device,   open_voltages,        frbbeam_sums_read, check_length,
        read_array,     frbbeam_beams_choose, start_output,      create_plan,
        create_buffers, frbbeam_scales_begin};
    psr_status st = PSR_OK;
    j->mem_bytes = psr_count_memory(j->opt.mem_bytes);
    j->nthread = psr_count_threads((int)j->opt.ncpus);
    for (size_t i = 0; st == PSR_OK && i < sizeof step / sizeof *step; i++)
        st = step[i](j);
    return st;
}

void frbbeam_release(struct frbbeam_job *j)
{
    errand_end(&j->read);
    free(j->kept);
    psr_beam_destroy(j->plan);
    for (int i = 0; i < FRBBEAM_SLOTS; i++)
        psr_beam_free(j->backend, j->in[i]);
    for (int i = 0; i < FRBBEAM_TURNS; i++)
        psr_beam_free(j->backend, j->out[i]);
    psr_voltages_close(j->voltages);
    psr_array_clear(&j->array);
    psr_aims_clear(&j->aims);
    free(j->freq_mhz);
    free(j->sum);
    free(j->theta_ns);
    free(j->theta_ew);
    free(j->offset);
    free(j->gain);
}
