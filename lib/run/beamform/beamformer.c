/* Implements the public functions of a beamformer. */
#include "beamformer_state.h"

#include "base/base.h"
#include "beam/beam_internal.h"
#include <math.h>
#include <stdlib.h>

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
        st = psr_beamformer_prepare(p, err);
    psr_charge(&p->start_s, &since_s);
    if (st)
        psr_beamformer_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_beamformer_run(psr_beamformer *p, psr_err *err)
{
    psr_status st = psr_beamformer_loop(p, err);
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
    psr_beamformer_release(p);
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

psr_status psr_beamformer_loop(struct psr_beamformer *p, psr_err *err)
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
