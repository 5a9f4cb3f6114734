/* Creates the parts of a beamformer from its description, and makes all checks. */
#include "beamformer_state.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "beam/beam_internal.h"
#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

/* Bytes read at once: few enough to stay in the host's caches until the device fetches them, and enough
 * to keep it busy. */
enum { BLOCK_BYTES = 48 << 20 };

/* Rows of all beams that are gathered before they are written, at most; and of one beam. */
enum { GATHER_BYTES = 32 << 20, GATHER_MOST = 1 << 20 };

/* --- the rooms -------------------------------------------------------------------------------- */

/* A GPU takes longer to start than all preparations before the plan, whose creation reports failures. */
static psr_status wake_device(void *ctx, psr_err *err)
{
    const struct psr_beamformer *p = ctx;
    const char *backend;
    struct psr_device about;
    int device;
    psr_status st = psr_device_choose(p->d.device, &backend, &device, err);
    return st || !strcmp(backend, "cpu") ? st : psr_device_describe(device, &about, err);
}

static psr_status start_device(struct psr_beamformer *p, psr_err *err)
{
    (void)err;
    psr_async_task_start(&p->wake, wake_device, p);
    return PSR_OK;
}

static psr_status open_voltages(struct psr_beamformer *p, psr_err *err)
{
    const struct psr_voltages_desc d = {
        .size = sizeof d,
        .path = p->d.path,
        .npath = p->d.npath,
        .nthread = (int)p->d.nthread,
        .notes = p->d.notes,
    };
    return psr_beam_input_open(&p->input, &d, err);
}

static psr_status read_sums(struct psr_beamformer *p, psr_err *err)
{
    psr_status st = psr_beam_sums_read(&p->sums, &p->input, p->d.tds, p->d.tds_file, err);
    const int64_t nsamp = p->input.nsamp;
    if (!st && nsamp >= 0 && (size_t)nsamp < p->sums.unit)
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "tds",
                            "%s: holds %lld samples, fewer than the %zu of -tds", p->input.name,
                            (long long)nsamp, p->sums.unit);
    return st;
}

static psr_status read_array(struct psr_beamformer *p, psr_err *err)
{
    return psr_beam_input_read_array(&p->input, p->d.array, p->d.site, &p->d.notes, err);
}

static psr_status choose_beams(struct psr_beamformer *p, psr_err *err)
{
    return psr_beam_directions_choose(&p->directions, &p->input, p->d.beams, p->d.beam, err);
}

/* Rows of several blocks go to files at once, but for those of a pipe, and of sums of different
 * lengths. */
static bool gathers(const struct psr_beamformer *p)
{
    return p->input.nsamp >= 0 && p->sums.unit == p->sums.tds;
}

static psr_status start_pool_and_outputs(struct psr_beamformer *p, psr_err *err)
{
    psr_status st = psr_monitor_init(&p->monitor, err);
    if (st)
        return st;
    psr_worker_pool_init(&p->pool, &p->monitor, p->nthread);
    psr_beam_outputs_start(&p->outputs,
                           &(struct psr_beam_outputs_desc){
                               .run = &p->d,
                               .in = &p->input,
                               .sums = &p->sums,
                               .directions = &p->directions,
                               .gathered = gathers(p),
                               .nthread = psr_worker_pool_threads(&p->pool, p->directions.nbeam),
                               .mem_bytes = p->mem_bytes,
                           });
    return PSR_OK;
}

static psr_status create_plan(struct psr_beamformer *p, psr_err *err)
{
    const struct psr_beam_directions *beams = &p->directions;
    struct psr_beam_desc d = {
        .size = sizeof d,
        .array = &p->input.array,
        .nfreq = p->input.nfreq,
        .tds = p->sums.length,
        .nibbles = p->input.header->nibbles,
        .pattern = beams->n_ew          ? PSR_BEAM_PRODUCT
                   : beams->pointings.n ? PSR_BEAM_POINTS
                                        : PSR_BEAM_GRID,
        .nbeam = beams->pointings.n,
        .n_ns = beams->n_ew ? beams->pointings.n / beams->n_ew : 0,
        .n_ew = beams->n_ew,
        .theta_ns = beams->theta_ns,
        .theta_ew = beams->theta_ew,
        .nthread = (int)p->d.nthread,
        .mem_bytes = p->mem_bytes / 2,
    };
    float *weight = NULL;
    psr_async_task_end(&p->wake);
    psr_status st = psr_device_choose(p->d.device, &d.backend, &d.device, err);
    if (!st && p->d.weights)
        st = psr_gains_read(p->d.weights, d.nfreq, p->input.array.ndish, &weight, err);
    d.weight = weight;
    if (!st)
        st = psr_beam_create(&p->plan, &d, err);
    free(weight);
    if (!st)
        psr_beam_describe(p->plan, &p->plan_info);
    return st;
}

/* --- blocks and buffers ----------------------------------------------------------------------- */

/* Rows of a beam in a buffer: of a block as floats, which scales are measured on, or as many as are
 * gathered. */
static void choose_strides(const struct psr_beamformer *p, size_t *floats, size_t *rows)
{
    const double row = (double)p->input.nfreq * (double)p->d.nbits / 8;
    const double all = fmin(GATHER_BYTES, (double)p->mem_bytes / 16) / (double)p->directions.nbeam;
    const double most = fmin(all, GATHER_MOST) / row;
    *floats = *rows = p->block / p->sums.tds + 1;
    if (gathers(p) && most > (double)*rows)
        *rows = (size_t)most;
}

/* Bytes of a block's voltages, and of a buffer for rows. */
static double in_bytes(const struct psr_beamformer *p)
{
    return (double)p->block * (double)p->input.sample_bytes;
}

static double out_bytes(const struct psr_beamformer *p)
{
    size_t floats, rows;
    choose_strides(p, &floats, &rows);
    return (double)p->directions.nbeam * (double)p->input.nfreq *
           fmax((double)floats * sizeof(float), (double)rows * (double)p->d.nbits / 8);
}

/* Samples at once: whole sums of all channels where they have different lengths. */
static psr_status choose_block(struct psr_beamformer *p, psr_err *err)
{
    const int64_t nsamp = p->input.nsamp;
    const size_t unit = p->sums.unit, tds = p->sums.tds;
    const size_t most =
        (size_t)fmin(BLOCK_BYTES, (double)p->mem_bytes / 12) / p->input.sample_bytes;
    /* A pipe may be slow, and the reader of the output may be waiting. */
    const double enough = nsamp >= 0 ? (double)nsamp : fmax(1 / p->input.tsamp_s, (double)unit);
    p->block = psr_beam_block(p->plan);
    p->block = p->block > most && most > 0 ? most : p->block;
    p->block = (double)p->block > enough ? (size_t)enough : p->block;
    if (unit > tds)
        p->block = p->block > unit ? p->block - p->block % unit : unit;
    if (unit > tds && in_bytes(p) + out_bytes(p) > (double)p->mem_bytes / 4)
        return psr_fail(err, PSR_ENOMEM,
                        "%s: sums end together after %zu samples, which with their rows are %.3g "
                        "MB; a quarter of %.3g MB of memory is allowed",
                        p->d.tds_file, unit, (in_bytes(p) + out_bytes(p)) / 1e6,
                        (double)p->mem_bytes / 1e6);
    return PSR_OK;
}

static psr_status create_buffers(struct psr_beamformer *p, psr_err *err)
{
    psr_status st = choose_block(p, err);
    for (int i = 0; i < PSR_BEAM_READER_SLOTS && !st; i++)
        st = psr_beam_alloc(p->plan, (size_t)in_bytes(p), &p->in[i], err);
    for (int i = 0; i < PSR_BEAM_ROWS_BUFFERS && !st; i++)
        st = psr_beam_alloc(p->plan, (size_t)out_bytes(p), &p->buffer[i], err);
    return st;
}

static psr_status begin_scales(struct psr_beamformer *p, psr_err *err)
{
    const struct psr_beam_scales_desc d = {
        .in = &p->input,
        .sums = &p->sums,
        .nbeam = p->directions.nbeam,
        .nbit = (int)p->d.nbits,
        .file = p->d.scale,
        .mem_bytes = p->mem_bytes,
    };
    p->rows.d = (struct psr_beam_rows_desc){
        .plan = p->plan,
        .sums = &p->sums,
        .scales = &p->scales,
        .outputs = &p->outputs,
        .pool = &p->pool,
        .nbeam = p->directions.nbeam,
        .gathers = gathers(p),
    };
    memcpy(p->rows.d.buffer, p->buffer, sizeof p->buffer);
    choose_strides(p, &p->rows.d.stride_floats, &p->rows.d.stride);
    psr_status st = psr_beam_scales_begin(&p->scales, &d, err);
    return st || !p->d.scale ? st : psr_beam_scales_apply(&p->scales, p->plan, err);
}

/* --- all -------------------------------------------------------------------------------------- */

psr_status psr_beamformer_prepare(struct psr_beamformer *p, psr_err *err)
{
    static psr_status (*const step[])(struct psr_beamformer * p, psr_err * err) = {
        start_device,           open_voltages, read_sums,      read_array,   choose_beams,
        start_pool_and_outputs, create_plan,   create_buffers, begin_scales,
    };
    psr_status st = PSR_OK;
    p->mem_bytes = psr_count_memory(p->d.mem_bytes);
    p->nthread = psr_count_threads((int)p->d.nthread);
    for (size_t k = 0; k < sizeof step / sizeof *step && !st; k++)
        st = step[k](p, err);
    return st;
}

/* What threads may still be at ends before what they are at. */
void psr_beamformer_release(struct psr_beamformer *p)
{
    psr_beam_reader_stop(&p->reader);
    psr_worker_pool_end(&p->pool);
    psr_beam_outputs_abort(&p->outputs);
    psr_beam_reader_end(&p->reader);
    psr_async_task_end(&p->wake);
    if (p->pool.monitor)
        psr_monitor_destroy(&p->monitor);
    psr_beam_destroy(p->plan);
    for (int i = 0; i < PSR_BEAM_READER_SLOTS; i++)
        psr_beam_free(p->plan_info.backend, p->in[i]);
    for (int i = 0; i < PSR_BEAM_ROWS_BUFFERS; i++)
        psr_beam_free(p->plan_info.backend, p->buffer[i]);
    psr_beam_scales_release(&p->scales);
    psr_beam_directions_clear(&p->directions);
    psr_beam_sums_clear(&p->sums);
    psr_beam_input_close(&p->input);
}

/* --- checks the description of a beamformer --------------------------------------------------- */

static psr_status check_numbers(const struct psr_beamformer_desc *d, psr_err *err)
{
    const struct {
        const char *name;
        int64_t value, min, max;
    } field[] = {
        {"beam", d->beam, -1, 1 << 20},
        {"tds", d->tds, 0, 1 << 20},
        {"nthread", d->nthread, 0, 4096},
        {"mem_bytes", d->mem_bytes, 0, INT64_MAX},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (field[k].value < field[k].min || field[k].value > field[k].max)
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "beamformer: %s = %lld, must be %lld to %lld", field[k].name,
                                  (long long)field[k].value, (long long)field[k].min,
                                  (long long)field[k].max);
    if (!(d->cadence_s > 0))
        return psr_fail_field(err, PSR_EINVAL, "cadence_s",
                              "beamformer: cadence_s = %g s, must be above 0", d->cadence_s);
    if (d->nbits != 4 && d->nbits != 8 && d->nbits != 32)
        return psr_fail_field(err, PSR_EINVAL, "nbits",
                              "beamformer: nbits = %lld, must be 4, 8 or 32", (long long)d->nbits);
    return PSR_OK;
}

psr_status psr_beamformer_take_desc(struct psr_beamformer_desc *to,
                                    const struct psr_beamformer_desc *from, psr_err *err)
{
    psr_status st = psr_copy_desc(to, sizeof *to, from, "beamformer", err);
    const char *missing = !to->npath    ? "path"
                          : !to->array  ? "array"
                          : !to->root   ? "root"
                          : !to->device ? "device"
                                        : NULL;
    if (!st && missing)
        st = psr_fail_field(err, PSR_EINVAL, missing, "beamformer: %s is missing", missing);
    if (!st && to->grid == (to->beams != NULL))
        st = psr_fail_field(err, PSR_EINVAL, "grid",
                            "beamformer: either beams or grid says which to form");
    if (!st && !strcmp(to->root, "-") && to->beam < 0)
        st = psr_fail_field(err, PSR_EINVAL, "root",
                            "beamformer: root is -, and standard output takes one beam");
    if (!st && to->scale && to->nbits == 32)
        st = psr_fail_field(err, PSR_EINVAL, "scale", "beamformer: scale is for 4 and 8 bits");
    return st ? st : check_numbers(to, err);
}
