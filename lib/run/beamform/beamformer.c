/* Implements the public functions of a beamformer. */
#include "beamformer_state.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "beam/beam_internal.h"
#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

/* --- creates the parts of a beamformer from its description, and makes all checks ------------- */

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

/* Creates everything; files have temporary names.  It can be released whatever the status. */
static psr_status beamformer_prepare(struct psr_beamformer *p, psr_err *err)
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
static void beamformer_release(struct psr_beamformer *p)
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

/* --- runs the loop of a beamformer: blocks from the reader through the plan to the rows ------- */

static bool should_stop(void *ctx)
{
    const struct psr_beamformer *p = ctx;
    return p->d.should_stop && p->d.should_stop(p->d.ctx);
}

/* --- forming ---------------------------------------------------------------------------------- */

/* Samples during which tracking beams stay where they are: whole sums. */
static int64_t pointing_length(const struct psr_beamformer *p)
{
    const double unit = (double)p->sums.unit;
    double units = rint(p->d.cadence_s / (unit * p->input.tsamp_s));
    return (int64_t)p->sums.unit * (int64_t)fmin(fmax(units, 1), 1e12);
}

/* Waits for rows until at most "left" blocks are being processed. */
static psr_status take_rows(struct psr_beamformer *p, size_t left, psr_err *err)
{
    double since_s = psr_seconds();
    psr_status st = psr_beam_wait(p->plan, left, err);
    psr_charge(&p->beam_s, &since_s);
    if (!st)
        st = psr_beam_rows_came(&p->rows, left == 0, err);
    psr_charge(&p->write_s, &since_s);
    return st;
}

static psr_status form_block(struct psr_beamformer *p, const uint8_t *in, size_t nt, psr_err *err)
{
    psr_status st = PSR_OK;
    while (nt > 0 && !st) {
        /* Of nt samples those that are formed at once: beams stay where they are, and the floats that are
         * kept are no more than are wanted. */
        const int64_t length = pointing_length(p);
        const size_t keep = psr_beam_rows_to_keep(&p->rows);
        size_t n = nt;
        if (p->directions.pointings.tracks && (int64_t)n > length - p->nread % length)
            n = (size_t)(length - p->nread % length);
        if (n / p->sums.tds >= keep)
            n = keep * p->sums.tds;
        /* Starts the next n samples, and takes the rows of the previous ones. */
        const size_t nrow = psr_beam_sums_rows(&p->sums, p->nread, n);
        size_t ready;
        double since_s = psr_seconds();
        st = PSR_OK;
        if (p->directions.pointings.tracks && p->nread % pointing_length(p) == 0) {
            /* Points tracking beams to their positions in the middle of the next samples, after p->nread.  Headers
             * have the positions at the start. */
            const struct psr_beam_directions *beams = &p->directions;
            st = psr_beam_rows_wait(&p->rows, err);
            if (!st)
                st = psr_beam_directions_point(
                    &p->directions, &p->input,
                    psr_beam_input_date(&p->input, p->nread + pointing_length(p) / 2), err);
            st = st ? st : psr_beam_point(p->plan, beams->theta_ns, beams->theta_ew, err);
        }
        if (!st)
            st = psr_beam_start(p->plan, in, n, psr_beam_rows_place(&p->rows, nrow),
                                psr_beam_rows_stride(&p->rows), &ready, err);
        psr_charge(&p->beam_s, &since_s);
        p->nread += (int64_t)n;
        if (!st)
            st = take_rows(p, 1, err);
        psr_beam_rows_begin(&p->rows, nrow);
        if (!st && psr_beam_rows_to_keep(&p->rows) == 0) /* what follows needs the scales */
            st = take_rows(p, 0, err);
        in += n * p->input.sample_bytes;
        nt -= n;
    }
    return st;
}

/* --- the stream ------------------------------------------------------------------------------- */

static psr_status check_stop(struct psr_beamformer *p, psr_err *err)
{
    return should_stop(p) ? psr_fail(err, PSR_ESTOPPED, "%s: stopped after %lld samples",
                                     p->input.name, (long long)p->nread)
                          : PSR_OK;
}

/* Forms the next block; the ones after it are read meanwhile. */
static psr_status take_block(struct psr_beamformer *p, bool *last, psr_err *err)
{
    const uint8_t *in;
    size_t n;
    double since_s = psr_seconds();
    psr_status st = psr_beam_reader_next(&p->reader, &in, &n, err);
    psr_charge(&p->read_s, &since_s);
    if (!st)
        st = check_stop(p, err);
    *last = st || n == 0;
    if (*last)
        return st;
    st = form_block(p, in, n, err);
    psr_beam_reader_release(&p->reader);
    if (p->d.progress)
        p->d.progress(p->d.ctx, p->nread);
    return st;
}

/* Processes blocks until the input ends or the caller stops. */
static psr_status beamformer_loop(struct psr_beamformer *p, psr_err *err)
{
    psr_status st = PSR_OK;
    const struct psr_beam_reader_desc reader = {
        .in = &p->input,
        .monitor = &p->monitor,
        .block = p->block,
        .should_stop = should_stop,
        .ctx = p,
    };
    psr_beam_reader_start(&p->reader, &reader, p->in);
    for (bool last = false; !st && !last;)
        st = take_block(p, &last, err);
    if (!st)
        st = take_rows(p, 0, err);
    double since_s = psr_seconds();
    if (!st)
        st = check_stop(p, err);
    if (!st)
        st = psr_beam_rows_end(&p->rows, err);
    psr_charge(&p->write_s, &since_s);
    return st;
}

/* --- implements the public functions of a beamformer ------------------------------------------ */

void psr_beamformer_set_defaults(struct psr_beamformer_desc *desc, size_t size)
{
    const struct psr_beamformer_desc all = {
        .beam = -1,
        .cadence_s = 1,
        .nbits = 8,
        .device = "auto",
    };
    psr_give_desc(desc, size, &all, sizeof all);
}

psr_status psr_beamformer_create(psr_beamformer **out, const struct psr_beamformer_desc *desc,
                                 psr_err *err)
{
    double since_s = psr_seconds();
    *out = NULL;
    psr_beamformer *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a beamformer", sizeof *p);
    psr_status st = psr_beamformer_take_desc(&p->d, desc, err);
    if (!st)
        st = beamformer_prepare(p, err);
    psr_charge(&p->start_s, &since_s);
    if (st)
        psr_beamformer_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_beamformer_run(psr_beamformer *p, psr_err *err)
{
    psr_status st = beamformer_loop(p, err);
    if (!st && p->rows.nrow == 0)
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "tds",
                            "%s: holds %lld samples, fewer than the %zu of -tds",
                            psr_path_called(p->input.name), (long long)p->nread, p->sums.unit);
    return st;
}

psr_status psr_beamformer_finish(psr_beamformer *p, psr_err *err)
{
    double since_s = psr_seconds();
    psr_status st = psr_beam_outputs_finish(&p->outputs, &p->scales, err);
    psr_charge(&p->end_s, &since_s);
    return st;
}

void psr_beamformer_destroy(psr_beamformer *p)
{
    if (!p)
        return;
    beamformer_release(p);
    free(p);
}

void psr_beamformer_describe_sized(const psr_beamformer *p, struct psr_beamformer_report *report,
                                   size_t size)
{
    const struct psr_beamformer_report all = {
        .input = p->input.name,
        .nfreq = p->input.nfreq,
        .freq_mhz = p->input.freq_mhz,
        .ndish = p->input.array.ndish,
        .m = p->input.array.m,
        .n = p->input.array.n,
        .tsamp_s = p->input.tsamp_s,
        .nsamp = p->input.nsamp,
        .sample_bytes = p->input.sample_bytes,
        .nbeam = p->directions.nbeam,
        .shortest = p->sums.tds,
        .longest = p->sums.longest,
        .plan = &p->plan_info,
        .nthread = p->nthread,
        .block = p->block,
        .kept = p->scales.kept_n,
        .nread = p->nread,
        .nrow = p->rows.nrow,
        .start_s = p->start_s,
        .read_s = p->read_s,
        .beam_s = p->beam_s,
        .write_s = p->write_s,
        .end_s = p->end_s,
    };
    psr_give_desc(report, size, &all, sizeof all);
}
