/* Finds interference in a stream of spectra: cuts it into intervals and measures each. */
#include "base/base.h"
#include <psrkit/experimental/clean.h>

#include "base/threads/threads.h"
#include "formats/spectra/unpack.h"
#include "rfi/detectors/rfi_detectors.h"
#include "rfi/rules/clean_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct psr_rfifind {
    struct psr_rfifind_desc d;
    struct psr_own own;
    struct psr_layout in, use; /* of the data; of what is measured: floats after zero-DM */
    unsigned char *keep;       /* [nchan] in the order of what is measured */
    float *padding;            /* [nchan] from the lowest channel */
    unsigned char *held;       /* [ptsperint] spectra of an incomplete interval, if there are any */
    size_t nheld;
    struct psr_zerodm zerodm;
    float *balanced;    /* [ptsperint][nchan] without DM 0, from the lowest channel; or NULL */
    psr_rfi_clip *clip; /* also where only sums of channels are wanted */
    psr_rfi_dm0 *dm0;   /* or NULL */
    psr_rfi_cells *cells;
    struct psr_rfi_stats stats;
    size_t room; /* intervals in stats */
    struct psr_rfi_list list;
    struct psr_rfi_hits *hits; /* [nchan] */
    float *row[3];             /* [nchan] power, mean, sd in the order of what is measured */
    struct psr_rfi_cell *cell; /* [nchan] likewise; or NULL */
    int64_t ngiven, nclipped;  /* spectra */
};

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status check_desc(const struct psr_rfifind_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nchan > (size_t)1 << 20)
        return psr_fail(err, PSR_EINVAL, "rfifind: %zu channels is outside 1 to 1048576", d->nchan);
    if (!psr_row_known(d->nbit, d->kind))
        return psr_fail(err, PSR_EINVAL, "rfifind: no %d-bit samples of kind %d", d->nbit,
                        (int)d->kind);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s))
        return psr_fail(err, PSR_EINVAL, "rfifind: sampling time %g s, must be above 0",
                        d->tsamp_s);
    const int64_t least = 4 * PSR_RFI_LOBIN;
    if (d->block < 1 || d->ptsperint < least || d->ptsperint > INT32_MAX ||
        d->ptsperint % (int64_t)d->block)
        return psr_fail(
            err, PSR_EINVAL,
            "rfifind: intervals of %lld spectra, must be a multiple of the %zu that are "
            "read together, from %lld to 2147483647",
            (long long)d->ptsperint, d->block, (long long)least);
    if (!(d->clip_sigma >= 0) || !isfinite(d->clip_sigma))
        return psr_fail(err, PSR_EINVAL, "rfifind: clipping at %g sigma, must be 0 or more",
                        d->clip_sigma);
    if (!(d->freq_sigma >= 0) || !isfinite(d->freq_sigma))
        return psr_fail(err, PSR_EINVAL,
                        "rfifind: periodic signals above %g sigma, must be 0 or more",
                        d->freq_sigma);
    if (!(d->burst_sigma >= 0 && d->line_sigma >= 0) || !isfinite(d->burst_sigma + d->line_sigma) ||
        (d->line_sigma > 0 && !(d->burst_sigma > 0)))
        return psr_fail(err, PSR_EINVAL,
                        "rfifind: bursts above %g and lines above %g sigma, must be 0 or more, and "
                        "lines need bursts",
                        d->burst_sigma, d->line_sigma);
    return PSR_OK;
}

static psr_status allocate(psr_rfifind *p, psr_err *err)
{
    const size_t nchan = p->d.nchan, n = (size_t)p->d.ptsperint;
    p->keep = psr_own(&p->own, nchan, 1);
    p->padding = psr_own(&p->own, nchan, sizeof *p->padding);
    p->zerodm.bandpass = psr_own(&p->own, nchan, sizeof *p->zerodm.bandpass);
    p->zerodm.weight = psr_own(&p->own, nchan, sizeof *p->zerodm.weight);
    p->hits = psr_own(&p->own, nchan, sizeof *p->hits);
    for (size_t k = 0; k < sizeof p->row / sizeof *p->row; k++)
        p->row[k] = psr_own(&p->own, nchan, sizeof **p->row);
    p->cell = psr_own(&p->own, p->d.cells ? nchan : 1, sizeof *p->cell);
    p->balanced = psr_own(&p->own, p->d.zerodm ? n : 1, p->d.zerodm ? p->use.row_bytes : 1);
    return psr_own_check(&p->own, "an interval", err);
}

static void copy_desc(psr_rfifind *p)
{
    struct psr_rfifind_desc *d = &p->d;
    bool reversed = d->zerodm && d->reverse;
    for (size_t c = 0; c < d->nchan; c++)
        p->keep[reversed ? d->nchan - 1 - c : c] = d->keep ? d->keep[c] : 1;
    if (d->padding)
        memcpy(p->padding, d->padding, d->nchan * sizeof *p->padding);
    d->keep = NULL;
    d->padding = NULL;
    d->nthread = psr_count_threads(d->nthread);
    p->zerodm.nchan = d->nchan;
    p->stats.nchan = p->list.nchan = d->nchan;
    p->stats.ptsperint = p->list.ptsperint = d->ptsperint;
    p->stats.lobin = p->list.lobin = PSR_RFI_LOBIN;
    p->stats.numbetween = p->list.numbetween = PSR_RFI_NUMBETWEEN;
    p->list.numharm = PSR_RFI_NUMHARM;
    p->list.fract_error = (float)PSR_RFI_FRACT_ERROR;
    p->list.freq_sigma = (float)d->freq_sigma;
}

static psr_status create_parts(psr_rfifind *p, psr_err *err)
{
    const struct psr_rfifind_desc *d = &p->d;
    const size_t n = (size_t)d->ptsperint;
    psr_status st = PSR_OK;
    const bool clips = d->clip_sigma > 0 && !d->zerodm;
    if (clips || d->burst_sigma > 0)
        st = psr_rfi_clip_create(
            &p->clip, &(struct psr_rfi_clip_desc){p->in, d->reverse, n, d->clip_sigma, d->nthread},
            err);
    if (!st)
        st = psr_rfi_cells_create(&p->cells,
                                  &(struct psr_rfi_cells_desc){.layout = p->use,
                                                               .n = n,
                                                               .keep = p->keep,
                                                               .freq_sigma = d->freq_sigma,
                                                               .presto = d->presto,
                                                               .nthread = d->nthread,
                                                               .meanwhile = d->meanwhile,
                                                               .ctx = d->ctx},
                                  err);
    if (!st && d->burst_sigma > 0)
        st = psr_rfi_dm0_create(&p->dm0, n, d->tsamp_s, d->burst_sigma, d->line_sigma, err);
    return st;
}

psr_status psr_rfifind_create(psr_rfifind **out, const struct psr_rfifind_desc *desc, psr_err *err)
{
    struct psr_rfifind_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "rfifind", err);
    if (st)
        return st;
    st = check_desc(&d, err);
    if (st)
        return st;
    psr_rfifind *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "rfifind", sizeof *p);
    p->d = d;
    p->in = (struct psr_layout){d.nchan, d.nbit, d.kind, psr_row_bytes(d.nchan, d.nbit)};
    p->use = p->in;
    if (d.zerodm)
        p->use = (struct psr_layout){d.nchan, 32, PSR_FLOAT, d.nchan * sizeof(float)};
    st = allocate(p, err);
    if (!st) {
        copy_desc(p);
        st = create_parts(p, err);
    }
    if (st)
        psr_rfifind_destroy(p);
    else
        *out = p;
    return st;
}

void psr_rfifind_destroy(psr_rfifind *p)
{
    if (!p)
        return;
    for (size_t c = 0; p->hits && c < p->d.nchan; c++)
        free(p->hits[c].hit);
    psr_own_free(&p->own);
    free(p->held);
    psr_rfi_clip_destroy(p->clip);
    psr_rfi_dm0_destroy(p->dm0);
    psr_rfi_cells_destroy(p->cells);
    psr_rfi_stats_clear(&p->stats);
    psr_rfi_list_clear(&p->list);
    free(p);
}

int64_t psr_rfifind_clipped(const psr_rfifind *p)
{
    return p->nclipped;
}

/* --- one interval ----------------------------------------------------------------------------- */

static psr_status grow_more(psr_rfifind *p, size_t room, psr_err *err)
{
    psr_status st = PSR_OK;
    if (p->d.cells)
        st = psr_resize(&p->stats.cell, room * p->d.nchan, sizeof *p->stats.cell, "the statistics",
                        err);
    if (!st && p->dm0)
        st = psr_resize(&p->stats.burst, room, sizeof *p->stats.burst, "the statistics", err);
    return st;
}

static psr_status grow_tables(psr_rfifind *p, psr_err *err)
{
    if (p->stats.nint < p->room)
        return PSR_OK;
    const size_t room = 2 * p->room + 64;
    float **const table[] = {&p->stats.power, &p->stats.mean, &p->stats.sd};
    psr_status st = PSR_OK;
    for (size_t k = 0; k < 3 && !st; k++)
        st = psr_resize(table[k], room * p->d.nchan, sizeof(float), "the statistics", err);
    st = st ? st : grow_more(p, room, err);
    p->room = st ? p->room : room;
    return st;
}

static psr_status add_padded(psr_rfifind *p, bool more, psr_err *err)
{
    const size_t i = p->stats.nint++, at = i * p->d.nchan;
    for (size_t c = 0; c < p->d.nchan; c++) {
        p->stats.power[at + c] = 1;
        p->stats.mean[at + c] = p->stats.sd[at + c] = 0;
    }
    if (p->d.cells)
        memset(p->stats.cell + at, 0, p->d.nchan * sizeof *p->stats.cell);
    if (p->dm0)
        p->stats.burst[i] = 0;
    return p->dm0 && more ? psr_rfi_dm0_push(p->dm0, NULL, &p->stats.burst[i], err) : PSR_OK;
}

/* Returned: PSR_ENOMEM, PSR_OK */
static psr_status add_sums(psr_rfifind *p, const unsigned char *in, psr_err *err)
{
    const bool clipped = p->d.clip_sigma > 0 && !p->d.zerodm;
    if (!p->dm0)
        return PSR_OK;
    return psr_rfi_dm0_push(p->dm0, psr_rfi_clip_sums(p->clip, clipped ? NULL : in),
                            &p->stats.burst[p->stats.nint], err);
}

/* Detections in the order of channels from the lowest one. */
static psr_status add_measured(psr_rfifind *p, psr_err *err)
{
    const size_t i = p->stats.nint++, at = i * p->d.nchan;
    const float interval_s = (float)((double)p->d.ptsperint * p->d.tsamp_s);
    psr_status st = PSR_OK;
    for (size_t k = 0; k < p->d.nchan && !st; k++) {
        /* The place in a table of channel c of what is measured. */
        const size_t c = p->d.reverse && !p->d.zerodm ? p->d.nchan - 1 - k : k;
        p->stats.power[at + k] = p->row[0][c];
        p->stats.mean[at + k] = p->row[1][c];
        p->stats.sd[at + k] = p->row[2][c];
        if (p->d.cells)
            p->stats.cell[at + k] = p->cell[c];
        for (size_t h = 0; h < p->hits[c].n && !st; h++)
            st = psr_rfi_list_add(&p->list, p->hits[c].hit[h].r / (double)interval_s,
                                  p->hits[c].hit[h].sigma, k, i, err);
    }
    return st;
}

static psr_status measure_interval(psr_rfifind *p, const unsigned char *in, psr_err *err)
{
    struct psr_rfi_replaced replaced = {0};
    const struct psr_rfi_row row = {p->row[0], p->row[1], p->row[2], p->hits,
                                    p->d.cells ? p->cell : NULL};
    if (p->d.zerodm) {
        /* Block by block, as PRESTO reads them; the first one gives the bandpass. */
        const size_t n = (size_t)p->d.ptsperint, nchan = p->d.nchan;
        for (size_t t = 0; t < n; t++) {
            float *x = p->balanced + t * nchan;
            psr_spectrum_widen(&p->in, in + t * p->in.row_bytes, x);
            if (p->d.reverse) {
                for (size_t a = 0, b = nchan - 1; a < b; a++, b--) {
                    float was = x[a];
                    x[a] = x[b];
                    x[b] = was;
                }
            }
        }
        if (!p->zerodm.balanced)
            psr_zerodm_balance(&p->zerodm, p->padding, p->balanced, p->d.block);
        psr_zerodm_remove(&p->zerodm, p->balanced, n);
    }
    if (p->d.clip_sigma > 0 && !p->d.zerodm)
        replaced.nbad = psr_rfi_clip_find(p->clip, in, &replaced.level, &replaced.bad);
    p->nclipped += (int64_t)replaced.nbad;
    psr_status st = psr_rfi_cells_measure(p->cells, p->d.zerodm ? (const void *)p->balanced : in,
                                          &replaced, &row, err);
    if (!st)
        st = add_sums(p, in, err);
    return st ? st : add_measured(p, err);
}

static bool has_gap(const psr_rfifind *p, const struct psr_span *gap, size_t ngap)
{
    const int64_t first = (int64_t)p->stats.nint * p->d.ptsperint, end = first + p->d.ptsperint;
    for (size_t k = ngap; k-- > 0 && gap[k].first + gap[k].count > first;)
        if (gap[k].first < end)
            return true;
    return false;
}

static psr_status hold_room(psr_rfifind *p, psr_err *err)
{
    const double bytes = (double)p->d.ptsperint * (double)p->in.row_bytes;
    if (!p->held)
        p->held = malloc((size_t)p->d.ptsperint * p->in.row_bytes);
    return p->held ? PSR_OK : psr_fail_nomem(err, "an interval", bytes);
}

/* --- the stream ------------------------------------------------------------------------------- */

static psr_status take_interval(psr_rfifind *p, const unsigned char *in, const struct psr_span *gap,
                                size_t ngap, psr_err *err)
{
    psr_status st = grow_tables(p, err);
    if (st)
        return st;
    if (p->stats.nint >= p->list.nint)
        st = psr_rfi_list_widen(&p->list, 2 * p->list.nint + 64, err);
    if (st)
        return st;
    if (!has_gap(p, gap, ngap))
        return measure_interval(p, in, err);
    return add_padded(p, true, err);
}

psr_status psr_rfifind_execute(psr_rfifind *p, const void *in, size_t nsamp,
                               const struct psr_span *gap, size_t ngap, psr_err *err)
{
    const unsigned char *at = in;
    const size_t n = (size_t)p->d.ptsperint, bytes = p->in.row_bytes;
    psr_status st = PSR_OK;
    p->ngiven += (int64_t)nsamp;
    while (nsamp && !st) {
        if (!p->nheld && nsamp >= n) {
            st = take_interval(p, at, gap, ngap, err);
            at += n * bytes;
            nsamp -= n;
            continue;
        }
        st = hold_room(p, err);
        if (st)
            return st;
        const size_t part = nsamp < n - p->nheld ? nsamp : n - p->nheld;
        memcpy(p->held + p->nheld * bytes, at, part * bytes);
        p->nheld += part;
        at += part * bytes;
        nsamp -= part;
        if (p->nheld == n) {
            st = take_interval(p, p->held, gap, ngap, err);
            p->nheld = 0;
        }
    }
    return st;
}

psr_status psr_rfifind_finish(psr_rfifind *p, struct psr_rfi_stats *stats,
                              struct psr_rfi_list *list, psr_err *err)
{
    *stats = (struct psr_rfi_stats){0};
    *list = (struct psr_rfi_list){0};
    if (p->ngiven < (int64_t)p->d.block)
        return psr_fail(err, PSR_EINVAL, "rfifind: %lld spectra are less than a block of %zu",
                        (long long)p->ngiven, p->d.block);
    psr_status st = PSR_OK;
    if (p->nheld) {
        st = grow_tables(p, err);
        if (st)
            return st;
        st = add_padded(p, false, err);
        if (st)
            return st;
    }
    st = psr_rfi_list_widen(&p->list, p->stats.nint, err);
    if (st)
        return st;
    *stats = p->stats;
    *list = p->list;
    p->stats = (struct psr_rfi_stats){0};
    p->list = (struct psr_rfi_list){0};
    return PSR_OK;
}

psr_status psr_rfifind_lines(psr_rfifind *p, struct psr_rfi_lines *lines, psr_err *err)
{
    *lines = (struct psr_rfi_lines){0};
    return p->dm0 ? psr_rfi_dm0_finish(p->dm0, lines, err) : PSR_OK;
}
