/* Reads voltages while others are channelised; detects, sums, scales and writes spectra. */
#include "base/base.h"

#include "filterbank_state.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- reads voltages while others are channelised, and keeps track of lost ones ---------------- */

/* Lost samples of the block just read, which begins at sample first, and when it came. */
static psr_status note_samples(struct psr_filterbank_input *in, int64_t first, psr_err *err)
{
    const struct psr_baseband_mark *mark;
    const struct psr_span *span;
    const size_t n = psr_baseband_lost(in->reader, &span),
                 nmark = psr_baseband_marks(in->reader, &mark);
    psr_status st = psr_filterbank_latency_note(&in->latency, mark, nmark, in->skipped, err);
    for (size_t i = 0; i < n && !st; i++) {
        st = psr_grow(&in->lost, &in->lost_room, in->nlost, sizeof *in->lost, "gaps", err);
        if (!st)
            in->lost[in->nlost++] = (struct psr_span){first + span[i].first, span[i].count};
    }
    return st;
}

static psr_status skip_samples(struct psr_filterbank_input *in, size_t n, psr_err *err)
{
    struct psr_baseband_piece piece;
    if (!in->is_coded)
        return psr_baseband_read(in->reader, n, in->block_of[in->next], &in->got, err);
    psr_status st = psr_baseband_take(in->reader, n, 0, NULL, SIZE_MAX, &piece, err);
    in->got = piece.nsamp;
    return st;
}

static psr_status read_samples(struct psr_filterbank_input *in, size_t n, psr_err *err)
{
    struct psr_spectra_block *coded = in->coded + in->next;
    if (!in->is_coded)
        return psr_baseband_read(in->reader, n, in->block_of[in->next], &in->got, err);
    psr_status st = psr_spectra_block_fill(coded, in->reader, n, err);
    in->got = coded->nsamp;
    return st;
}

/* Reads into the next block what is to be read; first skips. */
static psr_status read_block(void *ctx, psr_err *err)
{
    struct psr_filterbank_input *in = ctx;
    psr_status st = PSR_OK;
    in->got = 1;
    while (!st && in->skip > 0 && in->got > 0) {
        st = skip_samples(in, in->skip < (int64_t)in->block ? (size_t)in->skip : in->block, err);
        in->skip -= (int64_t)in->got;
        in->skipped += (int64_t)in->got;
    }
    const size_t want =
        in->left >= 0 && in->left < (int64_t)in->block ? (size_t)in->left : in->block;
    const bool more = !st && in->got > 0;
    in->got = 0;
    if (more && want > 0)
        st = read_samples(in, want, err);
    in->left -= in->left >= 0 ? (int64_t)in->got : 0;
    return st;
}

psr_status psr_filterbank_input_start(struct psr_filterbank_input *in, psr_err *err)
{
    const struct psr_baseband_header *h = psr_baseband_header(in->reader);
    const size_t n = h->nchan * h->npol * (h->real ? 1 : 2) * in->block;
    in->latency.rate_hz = h->rate_hz;
    for (int i = 0; i < 2 && !in->is_coded; i++)
        if (!(in->block_of[i] = malloc(n * sizeof(float))))
            return psr_fail_nomem(err, "voltages", (double)n * sizeof(float));
    psr_async_task_start(&in->task, read_block, in);
    return PSR_OK;
}

/* Planes of a block that was not filled are still a whole block apart. */
static void close_planes(const struct psr_filterbank_input *in, float *x, size_t got, size_t apart)
{
    const struct psr_baseband_header *h = psr_baseband_header(in->reader);
    const size_t ndim = h->real ? 1 : 2;
    for (size_t p = 1; p < h->nchan * h->npol && got < apart; p++)
        memmove(x + p * got * ndim, x + p * apart * ndim, got * ndim * sizeof *x);
}

/* The next planes: *n samples, 0 at the end; valid until the next call.
 * Status: those of psr_baseband_read */
static psr_status filterbank_input_next(struct psr_filterbank_input *in, float **planes, size_t *n,
                                        psr_err *err)
{
    psr_status st = psr_async_task_wait(&in->task, err);
    *n = st ? 0 : in->got;
    if (st || *n == 0)
        return st;
    st = note_samples(in, in->first, err);
    in->first += (int64_t)*n;
    float *x = in->block_of[in->next];
    /* the read that reached the end asked for what was left, or for a block */
    const int64_t asked = in->left >= 0 && in->left + (int64_t)*n < (int64_t)in->block
                              ? in->left + (int64_t)*n
                              : (int64_t)in->block;
    close_planes(in, x, *n, (size_t)asked);
    *planes = x;
    in->next = !in->next;
    if (!st)
        psr_async_task_start(&in->task, read_block, in);
    return st;
}

psr_status psr_filterbank_input_next_coded(struct psr_filterbank_input *in,
                                           struct psr_spectra_block **block, psr_err *err)
{
    psr_status st = psr_async_task_wait(&in->task, err);
    *block = in->coded + in->next;
    (*block)->nsamp = st ? 0 : in->got;
    if (st || in->got == 0)
        return st;
    st = note_samples(in, in->first, err);
    in->first += (int64_t)in->got;
    in->next = (in->next + 1) % PSR_FILTERBANK_BLOCKS;
    if (!st)
        psr_async_task_start(&in->task, read_block, in);
    return st;
}

bool psr_filterbank_input_is_stream(const struct psr_filterbank_input *in)
{
    return psr_baseband_nsamp(in->reader) < 0;
}

/* Whether samples [first, first + n) are all there; asks in ascending order. */
static bool has_samples(struct psr_filterbank_input *in, int64_t first, int64_t n)
{
    size_t past = 0;
    while (past < in->nlost && in->lost[past].first + in->lost[past].count <= first)
        past++;
    if (past > 0) {
        in->nlost -= past;
        memmove(in->lost, in->lost + past, in->nlost * sizeof *in->lost);
    }
    return in->nlost == 0 || in->lost[0].first >= first + n;
}

/* Lengths of a spectrum that one depends on. */
static int64_t reach_of(const psr_filterbank *p)
{
    return (p->d.ntap > 1 ? p->d.ntap : 1) + (int64_t)(p->shape.early + p->shape.late);
}

/* Spectrum i depends on samples from i times its length on. */
void psr_filterbank_find_good(psr_filterbank *p, size_t n)
{
    const int64_t length = (int64_t)p->spectrum_nsamp, reach = reach_of(p);
    for (size_t i = 0; i < n; i++)
        p->good[i] = has_samples(&p->in, (p->nspectrum + (int64_t)i) * length, reach * length);
    p->nspectrum += (int64_t)n;
}

/* The last sample that row i depends on. */
static int64_t last_sample(const psr_filterbank *p, int64_t i)
{
    const int64_t spectrum = (i + 1) * p->d.tsum - 1, length = (int64_t)p->spectrum_nsamp;
    return (spectrum + reach_of(p)) * length - 1;
}

psr_status psr_filterbank_send_rows(psr_filterbank *p, int64_t from, bool measured, psr_err *err)
{
    psr_status st = psr_outfile_park(p->rows.file, err);
    if (!st && measured) {
        /* Rows without data have no last sample that came. */
        const double now_s = psr_seconds();
        for (int64_t i = from; i < p->rows.nrow; i++)
            if (p->rows.good[i - from])
                psr_filterbank_latency_add(&p->in.latency, last_sample(p, i), now_s);
    }
    if (p->rows.nrow > 0)
        psr_filterbank_latency_forget(&p->in.latency, last_sample(p, p->rows.nrow - 1));
    return st;
}

void psr_filterbank_input_end(struct psr_filterbank_input *in)
{
    psr_async_task_end(&in->task);
    psr_baseband_close(in->reader);
    free(in->block_of[0]);
    free(in->block_of[1]);
    for (int i = 0; i < PSR_FILTERBANK_BLOCKS; i++)
        psr_spectra_block_free(in->coded + i);
    free(in->lost);
    psr_filterbank_latency_free(&in->latency);
}

/* --- how long rows are written after the last of their voltages came -------------------------- */

psr_status psr_filterbank_latency_note(struct psr_filterbank_latency *l,
                                       const struct psr_baseband_mark *mark, size_t n,
                                       int64_t first, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++) {
        st = psr_grow(&l->mark, &l->room, l->nmark, sizeof *l->mark, "marks", err);
        if (!st)
            l->mark[l->nmark++] =
                (struct psr_baseband_mark){mark[i].sample - first, mark[i].arrival_s};
    }
    return st;
}

/* The last mark below the sample stays. */
void psr_filterbank_latency_forget(struct psr_filterbank_latency *l, int64_t sample)
{
    size_t past = 0;
    while (past + 1 < l->nmark && l->mark[past + 1].sample < sample)
        past++;
    l->nmark -= past;
    if (past > 0)
        memmove(l->mark, l->mark + past, l->nmark * sizeof *l->mark);
}

double psr_filterbank_latency_came(struct psr_filterbank_latency *l, int64_t sample)
{
    psr_filterbank_latency_forget(l, sample);
    const struct psr_baseband_mark *a = l->mark, *b = a + 1;
    if (l->nmark == 0)
        return NAN;
    if (a->sample >= sample)
        return a->arrival_s - (double)(a->sample - sample) / l->rate_hz;
    if (l->nmark == 1)
        return a->arrival_s; /* what is beyond is lost */
    const double share = (double)(sample - a->sample) / (double)(b->sample - a->sample);
    const double steady_s = a->arrival_s + share * (b->arrival_s - a->arrival_s);
    return fmax(steady_s, b->arrival_s - (double)(b->sample - sample) / l->rate_hz);
}

void psr_filterbank_latency_add(struct psr_filterbank_latency *l, int64_t sample, double written_s)
{
    const double arrival_s = psr_filterbank_latency_came(l, sample);
    if (isnan(arrival_s) || isnan(l->mark[l->nmark - 1].arrival_s))
        return;
    const double wait_s = fmax(written_s - arrival_s, 0);
    l->nrow++;
    l->sum_s += wait_s;
    l->worst_s = fmax(l->worst_s, wait_s);
}

void psr_filterbank_latency_free(struct psr_filterbank_latency *l)
{
    free(l->mark);
}

/* --- detects, sums, scales and writes spectra ------------------------------------------------- */

psr_status psr_filterbank_rows_start(struct psr_filterbank_rows *r, int64_t interval, psr_err *err)
{
    r->nproduct = psr_detect_nproduct(r->what, r->npol);
    r->nvalue = r->nproduct * (r->nchan / r->fsum);
    r->measured = interval < 0;
    if (interval < 0)
        return PSR_OK;
    return psr_rescale_create(&r->scale, r->nvalue, interval, r->nthread, err);
}

/* Room for n rows more than are in use; new ones are zero. */
static psr_status make_room(struct psr_filterbank_rows *r, size_t n, psr_err *err)
{
    const size_t want = r->n + n;
    if (want <= r->room)
        return PSR_OK;
    psr_status st = psr_resize(&r->x, want * r->nvalue, sizeof *r->x, "spectra", err);
    if (!st)
        st = psr_resize(&r->weight, want, sizeof *r->weight, "spectra", err);
    if (!st)
        st = psr_resize(&r->good, want, sizeof *r->good, "spectra", err);
    if (st)
        return st;
    memset(r->x + r->room * r->nvalue, 0, (want - r->room) * r->nvalue * sizeof *r->x);
    memset(r->weight + r->room, 0, (want - r->room) * sizeof *r->weight);
    r->room = want;
    return PSR_OK;
}

/* A row of n good spectra that lacks some is as large as if it had them.
 * Returned: whether it has any */
static bool complete_row(const struct psr_filterbank_rows *r, float *x, uint32_t n)
{
    if (n > 0 && n < r->tsum)
        for (size_t k = 0; k < r->nvalue; k++)
            x[k] *= (float)r->tsum / (float)n;
    return n > 0;
}

/* A scaled row that lacks spectra has the noise of the others: enlarged, it has more. */
static void quieten_rows(const struct psr_filterbank_rows *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += r->nvalue) {
        const float share = sqrtf((float)r->weight[i] / (float)r->tsum);
        for (size_t k = 0; k < r->nvalue && r->weight[i] < r->tsum; k++)
            x[k] *= share;
    }
}

/* Of two scaled powers one, of the same standard deviation. */
static void add_pols(const struct psr_filterbank_rows *r, float *x, size_t n)
{
    enum { TILE = 256 };
    const size_t half = r->nvalue / 2, ntile = (half + TILE - 1) / TILE;
    const float part = r->scale ? (float)M_SQRT1_2 : 1;
    const int nthread = r->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) schedule(static)
    for (size_t tile = 0; tile < ntile; tile++) {
        const size_t from = tile * TILE, stop = from + TILE < half ? from + TILE : half;
        for (size_t i = 0; i < n; i++) {
            const float *p = x + i * r->nvalue, *q = p + half;
            for (size_t k = from; k < stop; k++)
                x[i * half + k] = (p[k] + q[k]) * part;
        }
    }
}

/* Levels of n rows of nvalue. */
static psr_status write_levels(struct psr_filterbank_rows *r, const float *x, size_t n,
                               size_t nvalue, psr_err *err)
{
    const size_t nchan = r->nchan / r->fsum, each = nchan * (size_t)r->nbits / 8;
    const size_t nif = nvalue / nchan, bytes = n * nif * each;
    psr_status st = psr_reserve(&r->levels, &r->levels_room, bytes, 1, "levels", err);
    if (st)
        return st;
    const size_t npower = r->what < PSR_DETECT_STOKES ? 2 : 1; /* the others can be negative */
    const int nthread = r->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) schedule(static)
    for (size_t k = 0; k < n * nif; k++)
        psr_rescale_digitise(x + k * nchan, nchan, r->nbits, r->gain,
                             k % nif < npower ? r->shift : r->middle, r->levels + k * each);
    return psr_outfile_write(r->file, r->levels, bytes, err);
}

/* Scales n rows in place and writes them; r->good and r->weight are theirs. */
static psr_status write_rows(struct psr_filterbank_rows *r, float *x, size_t n, psr_err *err)
{
    for (size_t i = 0; i < n; i++)
        r->nlost += !r->good[i];
    if (r->scale) {
        psr_rescale_apply(r->scale, x, r->good, n);
        quieten_rows(r, x, n);
    }
    /* adding writes below what it reads, of the same channels */
    if (r->adds_pols)
        add_pols(r, x, n);
    const size_t nvalue = r->adds_pols ? r->nvalue / 2 : r->nvalue;
    r->nrow += (int64_t)n;
    return r->nbits == 32 ? psr_outfile_write(r->file, x, n * nvalue * sizeof *x, err)
                          : write_levels(r, x, n, nvalue, err);
}

/* Writes the first n rows, and moves the others to the start. */
static psr_status put_rows(struct psr_filterbank_rows *r, size_t n, psr_err *err)
{
    psr_status st = write_rows(r, r->x, n, err);
    const size_t left = r->n - n;
    memmove(r->x, r->x + n * r->nvalue, left * r->nvalue * sizeof *r->x);
    memmove(r->weight, r->weight + n, left * sizeof *r->weight);
    memset(r->x + left * r->nvalue, 0, n * r->nvalue * sizeof *r->x);
    memset(r->weight + left, 0, n * sizeof *r->weight);
    r->n = left;
    r->nheld = 0;
    return st;
}

/* Writes complete rows, once the first scale can be measured. */
static psr_status flush(struct psr_filterbank_rows *r, size_t ncomplete, bool all, psr_err *err)
{
    if (!r->measured && ncomplete < r->held && !all)
        return PSR_OK;
    if (!r->measured)
        psr_rescale_measure(r->scale, r->x, r->good, ncomplete < r->held ? ncomplete : r->held);
    r->measured = true;
    return ncomplete > 0 ? put_rows(r, ncomplete, err) : PSR_OK;
}

/* Takes n spectra of voltages.
 * Status: those of psr_outfile_write, PSR_ENOMEM */
static psr_status filterbank_rows_add(struct psr_filterbank_rows *r, const float *v,
                                      const bool *good, size_t n, psr_err *err)
{
    const size_t first = r->fill > 0 ? r->n - 1 : r->n;
    const size_t nrow = (r->fill + n + r->tsum - 1) / r->tsum;
    psr_status st = make_room(r, nrow, err);
    if (st || n == 0)
        return st;
    psr_detect(r->what, v, n, r->npol, r->nchan, good, r->tsum, r->fsum, r->fill,
               r->x + first * r->nvalue, r->weight + first, r->nthread);
    r->n = first + nrow;
    r->fill = (r->fill + n) % r->tsum;
    const size_t ncomplete = r->fill > 0 ? r->n - 1 : r->n;
    for (; r->nheld < ncomplete; r->nheld++)
        r->good[r->nheld] = complete_row(r, r->x + r->nheld * r->nvalue, r->weight[r->nheld]);
    return flush(r, ncomplete, false, err);
}

/* Rows wait for the first scale, and are written where they are after that. */
psr_status psr_filterbank_rows_take(struct psr_filterbank_rows *r, float *x, const uint32_t *weight,
                                    size_t n, psr_err *err)
{
    psr_status st = make_room(r, n, err);
    if (st || n == 0)
        return st;
    for (size_t i = 0; i < n; i++)
        r->good[r->n + i] = complete_row(r, x + i * r->nvalue, weight[i]);
    memcpy(r->weight + r->n, weight, n * sizeof *weight);
    if (r->measured && r->n == 0)
        return write_rows(r, x, n, err);
    memcpy(r->x + r->n * r->nvalue, x, n * r->nvalue * sizeof *x);
    r->n = r->nheld = r->n + n;
    return flush(r, r->n, false, err);
}

psr_status psr_filterbank_rows_finish(struct psr_filterbank_rows *r, psr_err *err)
{
    return flush(r, r->nheld, true, err);
}

void psr_filterbank_rows_free(struct psr_filterbank_rows *r)
{
    free(r->x);
    free(r->weight);
    free(r->good);
    free(r->levels);
    psr_rescale_destroy(r->scale);
    psr_outfile_abort(r->file);
}

/* Voltages to rows on the CPU: blocks are unpacked as they are read. */

/* Bytes of floats of a block of voltages. */
enum { BLOCK_BYTES = 1 << 23, SEGMENTS_MIN = 4 };

static const double stream_s = 0.05; /* of a block of a stream, which others wait for */

/* Blocks of whole steps, so that no block is without a spectrum. */
psr_status psr_filterbank_cpu_make(psr_filterbank *p, psr_err *err)
{
    const struct psr_baseband_header *h = p->header;
    const size_t sample = h->nchan * h->npol * (h->real ? 1 : 2) * sizeof(float);
    const double soon = stream_s * h->rate_hz, most_here = (double)(BLOCK_BYTES / sample);
    const bool waits = psr_filterbank_input_is_stream(&p->in) && soon < most_here;
    const size_t fit = (size_t)(waits ? soon : most_here), step = p->shape.step;
    const size_t nstep = fit / step > SEGMENTS_MIN ? fit / step : SEGMENTS_MIN;
    p->in.block = nstep * step;
    if (p->shape.keep == 1) /* no spectrum that is used has a lost sample in its segment */
        psr_baseband_leave_lost(p->in.reader);
    const size_t most = (nstep + p->shape.segment / step + 1) * p->shape.keep;
    p->v = malloc(most * p->npol * 2 * (h->nchan * p->spectrum_nsamp) * sizeof *p->v);
    p->good = malloc(most * sizeof *p->good);
    if (!p->v || !p->good)
        return psr_fail_nomem(err, "spectra", (double)most * (double)sample);
    return PSR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

static psr_status process(psr_filterbank *p, float *planes, size_t n, psr_err *err)
{
    const int64_t nrow = p->rows.nrow;
    const bool measured = p->rows.measured;
    double since_s = psr_seconds();
    size_t nspectrum;
    /* Moves the chosen polarisation's planes together: [nchan][n]. */
    const struct psr_baseband_header *h = p->header;
    const size_t plane = n * (h->real ? 1 : 2);
    for (size_t c = 0; c < h->nchan && p->npol < h->npol; c++)
        memmove(planes + c * plane, planes + (c * h->npol + (size_t)p->d.pol) * plane,
                plane * sizeof *planes);
    psr_filterbank_find_good(p, psr_channelise_ready(p->channels, n));
    psr_status st = psr_channelise_execute(p->channels, planes, n, p->good, p->v, &nspectrum, err);
    psr_charge(&p->channels_s, &since_s);
    if (st)
        return st;
    st = filterbank_rows_add(&p->rows, p->v, p->good, nspectrum, err);
    if (!st && psr_filterbank_input_is_stream(&p->in))
        st = psr_filterbank_send_rows(p, nrow, measured, err);
    psr_charge(&p->rows_s, &since_s);
    return st;
}

psr_status psr_filterbank_check_stop(const psr_filterbank *p, psr_err *err)
{
    const bool stops = p->d.should_stop && p->d.should_stop(p->d.ctx);
    return stops ? psr_fail(err, PSR_ESTOPPED, "stopped") : PSR_OK;
}

psr_status psr_filterbank_cpu_run(psr_filterbank *p, psr_err *err)
{
    psr_status st = psr_filterbank_input_start(&p->in, err);
    for (size_t n = 1; n > 0 && !st;) {
        double since_s = psr_seconds();
        float *planes;
        st = filterbank_input_next(&p->in, &planes, &n, err);
        psr_charge(&p->read_s, &since_s);
        if (!st)
            st = psr_filterbank_check_stop(p, err);
        if (!st && n > 0)
            st = process(p, planes, n, err);
        if (!st && p->d.progress)
            p->d.progress(p->d.ctx, p->in.first);
    }
    return st;
}

/* --- checks the description of a filterbank --------------------------------------------------- */

static psr_status check_ranges(const struct psr_filterbank_desc *d, psr_err *err)
{
    const struct {
        const char *field;
        int64_t value, min, max;
    } whole[] = {{"npol", d->npol, 0, 2},
                 {"pol", d->pol, -1, 1},
                 {"nchan", d->nchan, 0, PSR_CHANNELISE_CHAN_MAX},
                 {"ntap", d->ntap, 0, PSR_CHANNELISE_TAPS_MAX},
                 {"freq_res", d->freq_res, 0, PSR_CHANNELISE_FFT_MAX},
                 {"products", d->products, 0, PSR_PRODUCTS_STOKES_CIRCULAR},
                 {"tsum", d->tsum, 1, 1 << 24},
                 {"fsum", d->fsum, 1, PSR_CHANNELISE_CHAN_MAX},
                 {"nbits", d->nbits, 1, 32},
                 {"nthread", d->nthread, 0, 4096}};
    const struct {
        const char *field;
        double value, min, max;
    } numbers[] = {{"freq_mhz", d->freq_mhz, 0, 1e9},     {"bw_mhz", d->bw_mhz, -1e9, 1e9},
                   {"start_s", d->start_s, 0, 1e9},       {"total_s", d->total_s, 0, 1e9},
                   {"interval_s", d->interval_s, 0, 1e9}, {"dm", d->dm, 0, 1e6},
                   {"scale", d->scale, 1e-9, 1e9},        {"block_mb", d->block_mb, 0, 1e6}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!(whole[i].value >= whole[i].min && whole[i].value <= whole[i].max))
            return psr_fail_field(err, PSR_EINVAL, whole[i].field,
                                  "filterbank: %s %lld, must be %lld to %lld", whole[i].field,
                                  (long long)whole[i].value, (long long)whole[i].min,
                                  (long long)whole[i].max);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].max))
            return psr_fail_field(err, PSR_EINVAL, numbers[i].field,
                                  "filterbank: %s %g, must be %g to %g", numbers[i].field,
                                  numbers[i].value, numbers[i].min, numbers[i].max);
    return PSR_OK;
}

psr_status psr_filterbank_check(const struct psr_filterbank_desc *d, psr_err *err)
{
    psr_status st = check_ranges(d, err);
    if (!st && (d->nbits & (d->nbits - 1)))
        st = psr_fail_field(err, PSR_EINVAL, "nbits",
                            "filterbank: nbits %d, must be 1, 2, 4, 8, 16 or 32", (int)d->nbits);
    if (!st && !d->device)
        st = psr_fail_field(err, PSR_EINVAL, "device", "filterbank: no device");
    if (!st && !d->output)
        st = psr_fail_field(err, PSR_EINVAL, "output", "filterbank: no output");
    if (!st && d->npath < 1)
        st = psr_fail_field(err, PSR_EINVAL, "npath", "filterbank: no input");
    return st;
}
