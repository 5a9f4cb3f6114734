/* Reads voltages while others are channelised, and keeps track of lost ones. */
#include "filterbank_state.h"

#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

psr_status psr_filterbank_input_next(struct psr_filterbank_input *in, float **planes, size_t *n,
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
