/* Cleans a stream of spectra automatically, window by window. */
#include "clean_auto_plan.h"

#include "base/copy_desc.h"
#include "base/threads.h"
#include "formats/unpack.h"
#include <math.h>
#include <psrkit/tool.h>
#include <stdlib.h>
#include <string.h>

static const double block_s = 0.125;
enum { BLOCK_LEAST = 64, BLOCK_MOST = 2048, SHORTEST = 32, BLOCKS_LEAST = 4 };

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status check_desc(const struct psr_clean_auto_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nchan > (size_t)1 << 20)
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "cleaning: %zu channels is outside 1 to 1048576", d->nchan);
    if (!psr_row_known(d->nbit, d->kind))
        return psr_fail_field(err, PSR_EINVAL, "nbit", "cleaning: no %d-bit samples of kind %d",
                              d->nbit, (int)d->kind);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s))
        return psr_fail_field(err, PSR_EINVAL, "tsamp_s",
                              "cleaning: sampling time %g s, must be above 0", d->tsamp_s);
    if (d->weights && d->nbit < 4)
        return psr_fail_field(err, PSR_EINVAL, "weights",
                              "cleaning: levels of %d-bit samples are not proportional to gain: no "
                              "weights by signal to noise",
                              d->nbit);
    if (!(d->clip_sigma >= 0) || !isfinite(d->clip_sigma))
        return psr_fail_field(err, PSR_EINVAL, "clip_sigma",
                              "cleaning: sparks of %g sigma, must be 0 or more", d->clip_sigma);
    return PSR_OK;
}

static size_t choose_block(double tsamp_s)
{
    size_t n = BLOCK_LEAST;
    while (n < BLOCK_MOST && (double)n * sqrt(2) * tsamp_s < block_s)
        n *= 2;
    return n;
}

static bool allocate_block(struct psr_auto_block *b, size_t nchan)
{
    b->s1 = calloc(nchan, sizeof *b->s1);
    b->s2 = calloc(nchan, sizeof *b->s2);
    b->mean = calloc(nchan, sizeof *b->mean);
    b->sd = calloc(nchan, sizeof *b->sd);
    b->valid = calloc(nchan, 1);
    b->masked = calloc(nchan, 1);
    b->gain = calloc(nchan, sizeof *b->gain);
    b->offset = calloc(nchan, sizeof *b->offset);
    bool all = b->s1 && b->s2 && b->mean && b->sd && b->valid && b->masked && b->gain && b->offset;
    for (int kind = 0; kind < PSR_AUTO_RATINGS && all; kind++)
        all = (b->z[kind] = calloc(nchan, sizeof **b->z)) != NULL;
    return all;
}

static bool allocate_channels(psr_clean_auto *p)
{
    const size_t nchan = p->d.nchan;
    p->keep = malloc(nchan);
    p->bad = malloc(nchan);
    p->was_bad = malloc(nchan);
    p->npast = calloc(nchan, 1);
    p->level = calloc(nchan, sizeof *p->level);
    p->sd = calloc(nchan, sizeof *p->sd);
    p->now_l = calloc(nchan, sizeof *p->now_l);
    p->now_s = calloc(nchan, sizeof *p->now_s);
    p->old_l = calloc(nchan, sizeof *p->old_l);
    p->old_s = calloc(nchan, sizeof *p->old_s);
    p->past_l = calloc(PSR_AUTO_HISTORY * nchan, sizeof *p->past_l);
    p->past_s = calloc(PSR_AUTO_HISTORY * nchan, sizeof *p->past_s);
    p->masked = calloc(nchan, sizeof *p->masked);
    p->missing = calloc(nchan, sizeof *p->missing);
    p->weight = calloc(nchan, 1);
    bool all = p->keep && p->bad && p->was_bad && p->npast && p->level && p->sd && p->now_l &&
               p->now_s && p->old_l && p->old_s && p->past_l && p->past_s && p->masked &&
               p->missing && p->weight;
    for (size_t k = 0; k <= PSR_AUTO_BLOCKS && all; k++)
        all = allocate_block(&p->block[k], nchan);
    return all;
}

static size_t work_values(const psr_clean_auto *p)
{
    const size_t each = p->d.nchan > p->window ? p->d.nchan : p->window;
    return (PSR_AUTO_BLOCKS + 1) * each;
}

static bool allocate_window(psr_clean_auto *p)
{
    p->work = calloc(work_values(p), sizeof *p->work);
    p->sum = calloc(p->window * p->ngroup, sizeof *p->sum);
    p->fold = calloc(p->window * p->ngroup, sizeof *p->fold);
    p->tile = calloc(p->window, sizeof *p->tile);
    p->spark = calloc(p->window, 1);
    p->rate = calloc(PSR_AUTO_TILES * p->ngroup, sizeof *p->rate);
    p->mode = calloc(p->window * p->ngroup, sizeof *p->mode);
    p->median = calloc(p->window * p->ngroup, sizeof *p->median);
    p->less = calloc(p->window * p->ngroup, sizeof *p->less);
    p->held = calloc(p->window, p->in.row_bytes);
    p->row = calloc((size_t)p->nthread, sizeof *p->row);
    bool all = p->work && p->tile && p->sum && p->fold && p->spark && p->rate && p->mode &&
               p->median && p->less && p->held && p->row;
    for (int i = 0; i < p->nthread && all; i++)
        all = (p->row[i] = malloc(p->d.nchan * sizeof **p->row)) != NULL;
    return all;
}

int64_t psr_clean_auto_bytes(const psr_clean_auto *p)
{
    const size_t cell = 2 * sizeof(double) + (4 + PSR_AUTO_RATINGS) * sizeof(float) + 2;
    return (int64_t)(p->window * (p->in.row_bytes + 24 * p->ngroup + 5) + 4 * work_values(p) +
                     4 * PSR_AUTO_TILES * p->ngroup + sizeof *p +
                     p->d.nchan * ((PSR_AUTO_BLOCKS + 1) * cell + 8 * PSR_AUTO_HISTORY + 66));
}

static psr_status create(psr_clean_auto **out, const struct psr_clean_auto_desc *desc, psr_err *err)
{
    psr_status st = check_desc(desc, err);
    if (st)
        return st;
    psr_clean_auto *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "cleaning", sizeof *p);
    p->d = *desc;
    p->d.keep = NULL;
    p->in = (struct psr_layout){desc->nchan, desc->nbit, desc->kind,
                                psr_row_bytes(desc->nchan, desc->nbit)};
    p->nthread = psr_count_threads(desc->nthread);
    p->usual = choose_block(desc->tsamp_s);
    p->window = PSR_AUTO_BLOCKS * p->usual;
    p->ngroup = desc->nchan < PSR_AUTO_GROUPS ? desc->nchan : PSR_AUTO_GROUPS;
    if (!allocate_channels(p) || !allocate_window(p)) {
        st = psr_fail_nomem(err, "cleaning", (double)psr_clean_auto_bytes(p));
        psr_clean_auto_destroy(p);
        return st;
    }
    memset(p->bad, 1, desc->nchan);
    memset(p->weight, PSR_AUTO_SIGMA, desc->nchan);
    memset(p->keep, 1, desc->nchan);
    if (desc->keep)
        memcpy(p->keep, desc->keep, desc->nchan);
    p->report.block = p->usual;
    p->report.window = p->window;
    *out = p;
    return PSR_OK;
}

psr_status psr_clean_auto_create(psr_clean_auto **out, const struct psr_clean_auto_desc *desc,
                                 psr_err *err)
{
    struct psr_clean_auto_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "cleaning", err);
    return st ? st : create(out, &d, err);
}

static void free_block(struct psr_auto_block *b)
{
    void *const own[] = {b->s1, b->s2, b->mean, b->sd, b->valid, b->masked, b->gain, b->offset};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++)
        free(own[n]);
    for (int kind = 0; kind < PSR_AUTO_RATINGS; kind++)
        free(b->z[kind]);
}

void psr_clean_auto_destroy(psr_clean_auto *p)
{
    if (!p)
        return;
    for (size_t k = 0; k <= PSR_AUTO_BLOCKS; k++)
        free_block(&p->block[k]);
    for (int i = 0; p->row && i < p->nthread; i++)
        free(p->row[i]);
    void *const own[] = {p->was_bad, p->npast,      p->fold,   p->keep,  p->bad,     p->level,
                         p->sd,      p->now_l,      p->now_s,  p->old_l, p->old_s,   p->past_l,
                         p->past_s,  p->masked,     p->work,   p->sum,   p->spark,   p->held,
                         p->row,     p->mask,       p->tile,   p->span,  p->all_sd,  p->all_level,
                         p->rate,    p->mode,       p->median, p->less,  p->missing, p->step,
                         p->cell,    p->spark_span, p->weight};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++)
        free(own[n]);
    free(p);
}

size_t psr_clean_auto_window(const psr_clean_auto *p)
{
    return p->window;
}

/* --- the account ------------------------------------------------------------------------------ */

static psr_status add_lost(psr_clean_auto *p, const struct psr_auto_block *b, psr_err *err)
{
    const int64_t t0 = p->report.nsamp + (int64_t)b->first;
    for (size_t c = 0; c < p->d.nchan; c++)
        if (p->keep[c] && !b->masked[c])
            return PSR_OK;
    struct psr_span *last = p->nspan ? p->span + p->nspan - 1 : NULL;
    if (last && last->first + last->count == t0) {
        last->count += (int64_t)b->n;
        return PSR_OK;
    }
    psr_status st = psr_grow(&p->span, &p->span_room, p->nspan, sizeof *p->span,
                             "the account of masked spectra", err);
    if (!st)
        p->span[p->nspan++] = (struct psr_span){t0, (int64_t)b->n};
    return st;
}

static psr_status grow_report(psr_clean_auto *p, psr_err *err)
{
    const size_t nchan = p->d.nchan, n = p->report.nwindow;
    if (n < p->room)
        return PSR_OK;
    const size_t room = 2 * n + PSR_AUTO_BLOCKS;
    unsigned char *mask = realloc(p->mask, room * nchan);
    p->mask = mask ? mask : p->mask;
    float *level = realloc(p->all_level, room * nchan * sizeof *level);
    p->all_level = level ? level : p->all_level;
    float *sd = realloc(p->all_sd, room * nchan * sizeof *sd);
    p->all_sd = sd ? sd : p->all_sd;
    if (!mask || !level || !sd)
        return psr_fail_nomem(err, "the account of masked cells", 9.0 * (double)(room * nchan));
    p->room = room;
    return PSR_OK;
}

static psr_status record(psr_clean_auto *p, bool filtered, psr_err *err)
{
    const size_t nchan = p->d.nchan, at = p->report.nwindow * nchan;
    psr_status st = grow_report(p, err);
    for (size_t k = 0; k < p->nrange && !st; k++)
        st = add_lost(p, &p->block[k], err);
    if (st)
        return st;
    for (size_t c = 0; c < nchan; c++) {
        size_t masked = 0;
        for (size_t k = 0; k < p->nrange; k++)
            masked += p->block[k].masked[c] ? p->block[k].n : 0;
        p->masked[c] += (int64_t)masked;
        p->mask[at + c] = 2 * masked > p->n;
        p->all_level[at + c] = isfinite(p->level[c]) ? p->level[c] : 0;
        p->all_sd[at + c] = isfinite(p->sd[c]) ? p->sd[c] : 0;
    }
    for (size_t t = 0; t < p->n; t++)
        p->report.nspark += p->spark[t];
    p->report.nfiltered += filtered;
    p->report.nwindow++;
    p->report.nsamp += (int64_t)p->n;
    return PSR_OK;
}

/* --- a window --------------------------------------------------------------------------------- */

/* Blocks with statistics, and what is left after them. */
static void cut_window(psr_clean_auto *p)
{
    p->size = p->usual;
    if (p->report.nwindow == 0 && p->n < BLOCKS_LEAST * p->usual && p->n >= SHORTEST)
        p->size = p->n / BLOCKS_LEAST;
    p->nblock = p->n / p->size;
    if (p->nblock < BLOCKS_LEAST)
        p->nblock = 0;
    p->nrange = p->nblock;
    for (size_t k = 0; k < p->nblock; k++) {
        p->block[k].first = k * p->size;
        p->block[k].n = p->size;
    }
    const size_t whole = p->nblock * p->size;
    if (whole < p->n) {
        p->block[p->nrange].first = whole;
        p->block[p->nrange++].n = p->n - whole;
    }
}

static void quantise(psr_clean_auto *p, bool filter)
{
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->nrange; k++)
        psr_auto_quantise(p, &p->block[k], filter, p->row[psr_thread_number()]);
}

/* Finds noise common to sub-bands.  Returned: whether there is some, in less */
static bool find_modes(psr_clean_auto *p)
{
    struct psr_auto_products now[PSR_AUTO_WIDTHS];
    struct psr_auto_scale one = {0};
    struct psr_auto_modes m;
    psr_auto_measure(p, now, &one);
    psr_auto_choose_modes(p, now, &one, &m);
    if (m.n)
        psr_auto_subtract(p, &m);
    return m.n > 0;
}

/* Spectra from .. of n, at most a window, become those at to. */
static psr_status clean_window(psr_clean_auto *p, const unsigned char *from, size_t n,
                               unsigned char *to, psr_err *err)
{
    p->from = from;
    p->to = to;
    p->n = n;
    cut_window(p);
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->nblock; k++)
        psr_auto_sum(p, &p->block[k], p->row[psr_thread_number()]);
    psr_auto_judge(p);
    quantise(p, false);
    psr_auto_find_sparks(p);
    bool filter = p->d.zerodm || find_modes(p);
    if (p->d.zerodm)
        psr_auto_find_mean(p);
    if (p->d.weights)
        psr_auto_weigh(p);
    if (p->d.weights && !filter)
        memset(p->less, 0, p->n * p->ngroup * sizeof *p->less);
    if (filter || p->d.weights)
        quantise(p, true);
    for (size_t t = 0; t < n; t++)
        if (p->spark[t])
            memset(to + t * p->d.nchan, PSR_AUTO_ZERO, p->d.nchan);
    psr_status st = psr_auto_note_missing(p, err);
    return st ? st : record(p, filter, err);
}

/* --- the stream ------------------------------------------------------------------------------- */

static size_t hold(psr_clean_auto *p, const unsigned char *in, size_t nsamp)
{
    size_t n = nsamp < p->window - p->nheld ? nsamp : p->window - p->nheld;
    memcpy(p->held + p->nheld * p->in.row_bytes, in, n * p->in.row_bytes);
    p->nheld += n;
    return n;
}

psr_status psr_clean_auto_execute(psr_clean_auto *p, const void *in, size_t nsamp, void *out,
                                  size_t *nout, psr_err *err)
{
    const unsigned char *at = in;
    unsigned char *to = out;
    psr_status st = PSR_OK;
    *nout = 0;
    p->nstep = 0;
    while (nsamp && !st) {
        bool whole = !p->nheld && nsamp >= p->window;
        size_t n = whole ? p->window : hold(p, at, nsamp);
        if (whole || p->nheld == p->window) {
            st = clean_window(p, whole ? at : p->held, p->window, to, err);
            to += p->window * p->d.nchan;
            *nout += p->window;
            p->nheld = 0;
        }
        at += n * p->in.row_bytes;
        nsamp -= n;
    }
    return st;
}

psr_status psr_clean_auto_finish(psr_clean_auto *p, void *out, size_t *nout, psr_err *err)
{
    const size_t n = p->nheld;
    *nout = n;
    p->nheld = 0;
    p->nstep = 0;
    return n ? clean_window(p, p->held, n, out, err) : PSR_OK;
}

size_t psr_clean_auto_lost(const psr_clean_auto *p, const struct psr_span **span)
{
    *span = p->span;
    return p->nspan;
}

struct psr_clean_auto_report psr_clean_auto_describe(const psr_clean_auto *p)
{
    struct psr_clean_auto_report r = p->report;
    r.masked = p->masked;
    r.mask = p->mask;
    r.level = p->all_level;
    r.sd = p->all_sd;
    r.weight = p->d.weights ? p->weight : NULL;
    return r;
}
