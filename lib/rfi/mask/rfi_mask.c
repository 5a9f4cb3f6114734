/* Makes a mask from statistics, by rfifind's rules and in its arithmetic. */
#include <psrkit/experimental/clean.h>

#include "formats/spectra/header_keys.h"
#include "rfi/detectors/rfi_detectors.h"
#include "rfi/rules/clean_internal.h"
#include "rfi/statistics/rfi_statistics.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shares of values that count. */
static const float MIDDLE = 0.8F;

/* Of the means, or of the standard deviations, of all cells. */
struct levels {
    const float *x;          /* [nint][nchan] */
    unsigned flag;           /* of cells that are bad */
    float median, reject;    /* of all; the largest distance allowed */
    float *by_int, *by_chan; /* [nint], [nchan] medians that cells are compared with */
};

struct maker {
    const struct psr_rfi_stats *stats;
    const struct psr_rfi_rules *rules;
    unsigned char *flags, *found;
    struct psr_mask *mask;
    struct levels means, sds;
    float sigma[2]; /* thresholds of time and of frequency, in single precision as rfifind's are */
    float power;    /* the largest allowed */
    float *column;
};

static float median_of(const float *x, size_t n)
{
    return psr_quantile_select(x, n, n / 2);
}

/* Standard deviation of the middle 80 % of n values. */
static double middle_sd(const float *x, size_t n)
{
    const size_t count = (size_t)((double)((float)n * MIDDLE) + 0.5), start = (n - count) / 2;
    const float low = psr_quantile_select(x, n, start);
    const float high = psr_quantile_select(x, n, start + count - 1);
    size_t below = 0, inside = 0;
    double sum = 0, squares = 0;
    for (size_t k = 0; k < n; k++) {
        below += x[k] < low;
        inside += x[k] > low && x[k] < high;
        sum += x[k] > low && x[k] < high ? (double)x[k] : 0;
    }
    if (count < 2 || !(low < high))
        return 0;
    /* Of the values equal to the limits only some are among the middle ones. */
    size_t equal_low = 0;
    for (size_t k = 0; k < n; k++)
        equal_low += x[k] == low;
    const size_t nlow = below + equal_low - start, nhigh = count - inside - nlow;
    const double mean =
        (sum + (double)nlow * (double)low + (double)nhigh * (double)high) / (double)count;
    for (size_t k = 0; k < n; k++) {
        double step = (double)x[k] - mean;
        squares += x[k] > low && x[k] < high ? step * step : 0;
    }
    squares += (double)nlow * ((double)low - mean) * ((double)low - mean) +
               (double)nhigh * ((double)high - mean) * ((double)high - mean);
    return sqrt(squares / (double)(count - 1));
}

/* A median that is itself too far off is that of all. */
static float limit_median(const struct levels *l, float median)
{
    return fabsf(median - l->median) > l->reject ? l->median : median;
}

static psr_status find_levels(struct maker *m, struct levels *l, const float *x, unsigned flag,
                              psr_err *err)
{
    const size_t nint = m->stats->nint, nchan = m->stats->nchan;
    l->x = x;
    l->flag = flag;
    l->by_int = malloc(nint * sizeof *l->by_int);
    l->by_chan = malloc(nchan * sizeof *l->by_chan);
    if (!l->by_int || !l->by_chan)
        return psr_fail_nomem(err, "medians", 4 * (double)(nint + nchan));
    l->median = median_of(x, nint * nchan);
    l->reject = m->sigma[0] * (float)middle_sd(x, nint * nchan);
    for (size_t i = 0; i < nint; i++)
        l->by_int[i] = limit_median(l, median_of(x + i * nchan, nchan));
    for (size_t c = 0; c < nchan; c++) {
        for (size_t i = 0; i < nint; i++)
            m->column[i] = x[i * nchan + c];
        l->by_chan[c] = limit_median(l, median_of(m->column, nint));
    }
    return PSR_OK;
}

static unsigned test_level(const struct levels *l, size_t i, size_t c, size_t nchan)
{
    const float x = l->x[i * nchan + c];
    return fabsf(x - l->by_int[i]) > l->reject || fabsf(x - l->by_chan[c]) > l->reject ? l->flag
                                                                                       : 0;
}

static void test_cells(struct maker *m)
{
    const size_t nint = m->stats->nint, nchan = m->stats->nchan;
    for (size_t i = 0; i < nint; i++)
        for (size_t c = 0; c < nchan; c++) {
            unsigned char *flag = m->flags + i * nchan + c;
            if (*flag & PSR_RFI_PADDING)
                continue;
            unsigned bad = m->stats->power[i * nchan + c] > m->power ? PSR_RFI_BAD_POWER : 0;
            bad |= test_level(&m->means, i, c, nchan) | test_level(&m->sds, i, c, nchan);
            *flag = (unsigned char)(*flag | bad);
        }
}

/* --- neighbours ------------------------------------------------------------------------------- */

/* What a bit that is set counts, by the cell with the largest mean; 0: there is none. */
static double unit_of_bits(const struct psr_rfi_stats *s)
{
    const double n = (double)s->ptsperint;
    double unit = 0, most = 0;
    for (size_t k = 0; k < s->nint * s->nchan; k++) {
        const double mean = (double)s->mean[k], sd = (double)s->sd[k];
        if (mean > most && sd > 0) {
            most = mean;
            unit = mean + sd * sd * (n - 1) / n / mean;
        }
    }
    return unit;
}

/* The standard deviation of bits, in any unit, says nothing that their mean does not, and its scatter is no Gaussian.
 * Variances agree to the rounding of floats: of data in a small unit both are near 0. */
static bool has_bits(const struct psr_rfi_stats *s)
{
    const double n = (double)s->ptsperint, unit = unit_of_bits(s);
    for (size_t k = 0; k < s->nint * s->nchan; k++) {
        const double mean = (double)s->mean[k], var = (double)s->sd[k] * (double)s->sd[k];
        const double of_bits = mean * (unit - mean) * n / (n - 1);
        if (!(mean >= 0 && mean <= unit) ||
            fabs(var - of_bits) > 4e-5 * of_bits + 6e-7 * mean * unit)
            return false;
    }
    return unit > 0;
}

struct neighbours {
    const float *x; /* [nint][nchan] what is compared */
    uint32_t *chan; /* [n] channels with data, and their values */
    float *value;
    unsigned char *bad;
};

static psr_status test_interval(struct maker *m, const struct neighbours *b, size_t i, psr_err *err)
{
    const size_t nchan = m->stats->nchan;
    psr_rfi_iqrm *iqrm;
    size_t n = 0;
    for (size_t c = 0; c < nchan; c++)
        if (m->stats->sd[i * nchan + c] > 0) {
            b->chan[n] = (uint32_t)c;
            b->value[n++] = b->x[i * nchan + c];
        }
    psr_status st = n ? psr_rfi_iqrm_create(&iqrm, n, m->rules->iqrm_sigma, err) : PSR_OK;
    if (st || !n)
        return st;
    psr_rfi_iqrm_find(iqrm, b->value, b->bad);
    for (size_t k = 0; k < n; k++)
        if (b->bad[k])
            m->found[i * nchan + b->chan[k]] |= PSR_RFI_FOUND_LEVEL;
    psr_rfi_iqrm_destroy(iqrm);
    return PSR_OK;
}

static psr_status test_neighbours(struct maker *m, psr_err *err)
{
    const size_t nchan = m->stats->nchan;
    if (!(m->rules->iqrm_sigma > 0))
        return PSR_OK;
    struct neighbours b = {.x = has_bits(m->stats) ? m->stats->mean : m->stats->sd,
                           .chan = malloc(nchan * sizeof *b.chan),
                           .value = malloc(nchan * sizeof *b.value),
                           .bad = malloc(nchan)};
    psr_status st = PSR_OK;
    if (!b.chan || !b.value || !b.bad)
        st = psr_fail_nomem(err, "a comparison of channels", 9 * (double)nchan);
    for (size_t i = 0; i < m->stats->nint && !st; i++)
        st = test_interval(m, &b, i, err);
    free(b.chan);
    free(b.value);
    free(b.bad);
    return st;
}

/* --- other tests ------------------------------------------------------------------------------ */

static psr_status test_shapes(struct maker *m, psr_err *err)
{
    const struct psr_rfi_rules *r = m->rules;
    const struct psr_rfi_shape_rules rules = {r->sk_sigma, r->skewness_sigma, r->kurtosis_sigma};
    if (!m->stats->cell)
        return PSR_OK;
    return psr_rfi_test_shapes(m->stats->cell, m->stats->nint, m->stats->nchan, &rules, m->found,
                               err);
}

/* --- whole channels and intervals ------------------------------------------------------------- */

/* Rows or columns of the table of flags. */
struct lines {
    size_t n, step, count, stride; /* lines, from one to the next; cells in each, likewise */
    unsigned char flag;
    int32_t *list;
    size_t nlist;
};

static void mask_line(struct maker *m, const struct lines *l, size_t k)
{
    for (size_t j = 0; j < l->count; j++)
        m->flags[k * l->step + j * l->stride] |= l->flag;
}

static void mask_given(struct maker *m, const struct lines *l)
{
    for (size_t k = 0; k < l->nlist; k++)
        mask_line(m, l, (size_t)l->list[k]);
}

static void mask_by_share(struct maker *m, struct lines *l, double share)
{
    const size_t most = (size_t)((float)l->count * (float)share);
    for (size_t k = 0; k < l->n; k++) {
        size_t bad = 0;
        if (m->flags[k * l->step] & l->flag)
            continue;
        for (size_t j = 0; j < l->count; j++)
            bad += (m->flags[k * l->step + j * l->stride] & PSR_RFI_BAD) != 0;
        if (bad <= most)
            continue;
        l->list[l->nlist++] = (int32_t)k;
        mask_line(m, l, k);
    }
}

/* Intervals with bursts; those that are masked already are only marked. */
static void mask_bursts(struct maker *m, struct lines *ints)
{
    const size_t nchan = m->stats->nchan;
    for (size_t i = 0; i < m->stats->nint; i++) {
        if (!((double)m->stats->burst[i] > m->rules->burst_share))
            continue;
        for (size_t c = 0; c < nchan; c++)
            m->found[i * nchan + c] |= PSR_RFI_FOUND_BURSTS;
        if (m->flags[i * nchan] & PSR_RFI_USERINTS)
            continue;
        ints->list[ints->nlist++] = (int32_t)i;
        mask_line(m, ints, i);
    }
}

/* Room for the list given and for all lines besides. */
static psr_status take_list(const char *text, const char *what, struct lines *l, psr_err *err)
{
    int32_t *given = NULL;
    size_t n = 0;
    psr_status st = text ? psr_ranges_parse(text, what, l->n, &given, &n, err) : PSR_OK;
    l->list = st ? NULL : malloc((n + l->n) * sizeof *l->list);
    if (!st && !l->list)
        st = psr_fail_nomem(err, what, 4 * (double)(n + l->n));
    if (!st && n)
        memcpy(l->list, given, n * sizeof *given);
    l->nlist = n;
    free(given);
    return st;
}

static psr_status mask_lines(struct maker *m, psr_err *err)
{
    struct psr_mask *mask = m->mask;
    const size_t nint = m->stats->nint, nchan = m->stats->nchan;
    struct lines ints = {nint, nchan, nchan, 1, PSR_RFI_USERINTS, NULL, 0};
    struct lines chans = {nchan, 1, nint, nchan, PSR_RFI_USERCHAN, NULL, 0};
    psr_status st = take_list(m->rules->zap_int, "-zapints", &ints, err);
    mask->zap_ints = ints.list;
    if (!st)
        st = take_list(m->rules->zap_chan, "-zapchan", &chans, err);
    mask->zap_chans = chans.list;
    if (st)
        return st;
    mask_given(m, &ints);
    mask_given(m, &chans);
    test_cells(m);
    /* What rfifind does not look at. */
    st = test_neighbours(m, err);
    if (!st)
        st = test_shapes(m, err);
    for (size_t k = 0; k < m->stats->nint * m->stats->nchan && !st; k++)
        if (m->found[k] && !(m->flags[k] & PSR_RFI_PADDING))
            m->flags[k] |= PSR_RFI_BAD_FOUND;
    if (st)
        return st;
    if (m->stats->burst && m->rules->burst_share > 0)
        mask_bursts(m, &ints);
    mask_by_share(m, &ints, m->rules->chan_frac);
    mask_by_share(m, &chans, m->rules->int_frac);
    mask->nzap_int = ints.nlist;
    mask->nzap_chan = chans.nlist;
    return PSR_OK;
}

/* --- the mask --------------------------------------------------------------------------------- */

static bool is_masked(unsigned char flag)
{
    return flag & (PSR_RFI_BAD | PSR_RFI_USERCHAN | PSR_RFI_USERINTS);
}

static psr_status fill_lists(struct maker *m, psr_err *err)
{
    struct psr_mask *mask = m->mask;
    size_t n = 0;
    for (size_t i = 0; i < mask->nint; i++) {
        size_t count = 0;
        for (size_t c = 0; c < mask->nchan; c++)
            count += is_masked(m->flags[i * mask->nchan + c]);
        mask->all_chan[i] = count == mask->nchan;
        mask->first[i + 1] = mask->first[i] + (mask->all_chan[i] ? 0 : count);
    }
    mask->chan = malloc((mask->first[mask->nint] + 1) * sizeof *mask->chan);
    if (!mask->chan)
        return psr_fail_nomem(err, "a mask", 4 * (double)mask->first[mask->nint]);
    for (size_t i = 0; i < mask->nint; i++)
        for (size_t c = 0; c < mask->nchan && !mask->all_chan[i]; c++)
            if (is_masked(m->flags[i * mask->nchan + c]))
                mask->chan[n++] = (int32_t)c;
    for (size_t k = 0; k < mask->nzap_chan; k++)
        mask->zap_chan[mask->zap_chans[k]] = 1;
    for (size_t k = 0; k < mask->nzap_int; k++)
        mask->zap_int[mask->zap_ints[k]] = 1;
    return PSR_OK;
}

static psr_status start_mask(struct maker *m, psr_err *err)
{
    const struct psr_rfi_stats *s = m->stats;
    struct psr_mask *mask = m->mask;
    mask->timesigma = (double)m->sigma[0];
    mask->freqsigma = (double)m->sigma[1];
    mask->nchan = s->nchan;
    mask->nint = s->nint;
    mask->ptsperint = s->ptsperint;
    mask->zap_chan = calloc(s->nchan, 1);
    mask->zap_int = calloc(s->nint, 1);
    mask->all_chan = calloc(s->nint, 1);
    mask->first = calloc(s->nint + 1, sizeof *mask->first);
    m->column = malloc(s->nint * sizeof *m->column);
    m->found = calloc(s->nint * s->nchan + 1, 1);
    if (mask->zap_chan && mask->zap_int && mask->all_chan && mask->first && m->column && m->found)
        return PSR_OK;
    return psr_fail_nomem(err, "a mask", 14 * (double)s->nint + (double)s->nchan);
}

static psr_status check_old(const struct psr_mask *old, const struct psr_rfi_stats *s, psr_err *err)
{
    if (!old || (old->nchan == s->nchan && old->nint == s->nint))
        return PSR_OK;
    return psr_fail(err, PSR_EINVAL,
                    "-mask: %zu intervals of %zu channels, and there are %zu of %zu", old->nint,
                    old->nchan, s->nint, s->nchan);
}

psr_status psr_rfi_mask(struct psr_mask *mask, unsigned char *flags, unsigned char *found,
                        const struct psr_rfi_stats *stats, const struct psr_rfi_rules *rules,
                        psr_err *err)
{
    struct maker m = {.stats = stats, .rules = rules, .flags = flags, .mask = mask};
    /* Not at once: gcc 12 loses the rounding of two numbers that it converts together. */
    volatile float rounded = (float)m.rules->time_sigma;
    m.sigma[0] = rounded;
    rounded = (float)m.rules->freq_sigma;
    m.sigma[1] = rounded;
    memset(mask, 0, sizeof *mask);
    psr_status st = check_old(rules->old, stats, err);
    if (!st)
        st = start_mask(&m, err);
    m.power = (float)psr_rfi_power_for_sigma((double)m.sigma[1], 1, (double)(stats->ptsperint / 2));
    if (!st)
        st = find_levels(&m, &m.means, stats->mean, PSR_RFI_BAD_MEAN, err);
    if (!st)
        st = find_levels(&m, &m.sds, stats->sd, PSR_RFI_BAD_SD, err);
    if (!rules->sd_of_bits && has_bits(stats))
        m.sds.flag = 0;
    if (!st)
        st = mask_lines(&m, err);
    if (!st)
        st = fill_lists(&m, err);
    if (!st && rules->old) {
        /* Of the old mask only what it lists by interval counts, as in PRESTO. */
        const struct psr_mask *old = m.rules->old;
        for (size_t i = 0; i < old->nint; i++) {
            unsigned char *flag = m.flags + i * old->nchan;
            for (size_t c = 0; c < old->nchan && old->all_chan[i]; c++)
                flag[c] |= PSR_RFI_OLDMASK;
            for (size_t k = old->first[i]; k < old->first[i + 1]; k++)
                flag[old->chan[k]] |= PSR_RFI_OLDMASK;
        }
    }
    if (!st && found)
        memcpy(found, m.found, stats->nint * stats->nchan);
    void *const own[] = {m.found,         m.column,     m.means.by_int,
                         m.means.by_chan, m.sds.by_int, m.sds.by_chan};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        free(own[k]);
    return st;
}
