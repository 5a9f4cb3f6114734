/* Finds lines in the power spectrum of a series. */
#include "rfi_detectors.h"

#include "base/tool.h"
#include "formats/series/series_internal.h"
#include "stats/stats.h"

#include <math.h>
#include <psrkit/series.h>
#include <psrkit/signif.h>
#include <stdlib.h>
#include <string.h>

/* Collects detections of periodic interference into birdies. */

static size_t bit_bytes(size_t n)
{
    return (n + 7) / 8;
}

static void set_bit(unsigned char *bits, size_t n)
{
    bits[n / 8] |= (unsigned char)(1U << (7 - n % 8));
}

/* In single precision, as PRESTO stores it. */
static size_t find(const struct psr_rfi_list *l, double freq_hz)
{
    const float low = (float)(freq_hz * (1 - 1.1 * PSR_RFI_FRACT_ERROR));
    const float high = (float)(freq_hz * (1 + 1.1 * PSR_RFI_FRACT_ERROR));
    for (size_t k = 0; k < l->n; k++) {
        float f = l->birdie[k].freq_hz;
        if (f < low || f > high)
            continue;
        if ((double)(float)(fabs((double)f - freq_hz) / freq_hz) < PSR_RFI_FRACT_ERROR)
            return k;
    }
    return l->n;
}

static psr_status birdies_make_room(struct psr_rfi_list *l, psr_err *err)
{
    if (l->n < l->room)
        return PSR_OK;
    const size_t room = 2 * l->room + 30;
    const char what[] = "the list of periodic interference";
    psr_status st = psr_resize(&l->birdie, room, sizeof *l->birdie, what, err);
    if (!st)
        st = psr_resize(&l->times, room, bit_bytes(l->nint), what, err);
    if (!st)
        st = psr_resize(&l->chans, room, bit_bytes(l->nchan), what, err);
    if (!st)
        l->room = room;
    return st;
}

/* Running means with PRESTO's weights, which count one detection more than there are. */
static void update(struct psr_rfi_birdie *b, float freq_hz, float sigma)
{
    b->nobs++;
    if (b->nobs == 1) {
        b->freq_hz = freq_hz;
        b->sigma = sigma;
        return;
    }
    const double n = b->nobs, step = (double)(freq_hz - b->freq_hz) / (n + 1);
    b->freq_var = (float)((double)b->freq_var * (n - 1));
    b->freq_var = (float)((double)b->freq_var + (n + 1) * n * step * step);
    b->freq_hz = (float)((double)b->freq_hz + step);
    b->freq_var = (float)((double)b->freq_var / n);
    b->sigma = (float)((double)b->sigma + (double)(sigma - b->sigma) / (n + 1));
}

psr_status psr_rfi_list_add(struct psr_rfi_list *l, double freq_hz, double sigma, size_t channel,
                            size_t interval, psr_err *err)
{
    const size_t k = find(l, freq_hz), nt = bit_bytes(l->nint), nc = bit_bytes(l->nchan);
    if (k == l->n) {
        psr_status st = birdies_make_room(l, err);
        if (st)
            return st;
        l->birdie[k] = (struct psr_rfi_birdie){0};
        memset(l->times + k * nt, 0, nt);
        memset(l->chans + k * nc, 0, nc);
        l->n++;
    }
    update(&l->birdie[k], (float)freq_hz, (float)sigma);
    set_bit(l->times + k * nt, interval);
    set_bit(l->chans + k * nc, channel);
    return PSR_OK;
}

psr_status psr_rfi_list_widen(struct psr_rfi_list *l, size_t nint, psr_err *err)
{
    const size_t was = bit_bytes(l->nint), now = bit_bytes(nint), both = was < now ? was : now;
    unsigned char *times = calloc(l->room ? l->room : 1, now ? now : 1);
    if (!times)
        return psr_fail_nomem(err, "the list of periodic interference",
                              (double)l->room * (double)now);
    for (size_t k = 0; k < l->n; k++)
        memcpy(times + k * now, l->times + k * was, both);
    free(l->times);
    l->times = times;
    l->nint = nint;
    return PSR_OK;
}

enum { LEAST = 128, FIRST_BIN = 32, BLOCK_MIN = 32, BLOCK_MAX = 1024, MOST_HARMONICS = 1000 };

static const double FIRST_HZ = 1;
static const double GROW_CHANCE = 1.0 / 150;

/* Of a median of powers, against a mean of as many. */
static const double EFFICIENCY = 0.48;

struct psr_rfi_line_search {
    double tsamp_s, sigma;
    size_t most, n, room; /* samples of a part; held; room for them */
    float *x;             /* [n] */
    size_t length, npart; /* of what was transformed */
    float *power;         /* [length / 2] sums over parts */
};

/* Local means of powers: of blocks, at their middles. */
struct baseline {
    double *middle, *mean, *dof; /* [n]; the last says how well the mean is known */
    size_t n, room;
};

psr_status psr_rfi_line_search_create(psr_rfi_line_search **out, double tsamp_s, size_t most,
                                      double sigma, psr_err *err)
{
    psr_rfi_line_search *p = *out = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a spectrum", sizeof *p);
    p->tsamp_s = tsamp_s;
    p->sigma = sigma;
    p->most = most;
    return PSR_OK;
}

void psr_rfi_line_search_destroy(psr_rfi_line_search *p)
{
    if (!p)
        return;
    free(p->x);
    free(p->power);
    free(p);
}

/* --- the spectrum ----------------------------------------------------------------------------- */

/* Of p->x, which has room for two samples more. */
static psr_status add_powers(psr_rfi_line_search *p, size_t length, psr_err *err)
{
    psr_rfft *plan;
    if (!p->power)
        p->power = calloc(length / 2, sizeof *p->power);
    if (!p->power)
        return psr_fail_nomem(err, "a spectrum", 2 * (double)length);
    psr_status st = psr_rfft_create(&plan, (int64_t)length, err);
    if (st)
        return st;
    float *x = p->x;
    double sum = 0;
    for (size_t t = 0; t < length; t++)
        sum += (double)x[t];
    const double mean = sum / (double)length;
    for (size_t t = 0; t < length; t++)
        x[t] = (float)((double)x[t] - mean);
    psr_series_detrend_ends(p->x, (int64_t)length);
    psr_rfft_execute(plan, p->x, p->x);
    psr_rfft_destroy(plan);
    for (size_t k = 1; k < length / 2; k++)
        p->power[k] += p->x[2 * k] * p->x[2 * k] + p->x[2 * k + 1] * p->x[2 * k + 1];
    p->length = length;
    p->npart++;
    return PSR_OK;
}

static psr_status make_room(psr_rfi_line_search *p, size_t n, psr_err *err)
{
    if (n <= p->room)
        return PSR_OK;
    size_t room = 2 * p->room > n ? 2 * p->room : n;
    room = room < p->most ? room : p->most;
    psr_status st = psr_resize(&p->x, room + 2, sizeof *p->x, "a series", err);
    p->room = st ? p->room : room;
    return st;
}

psr_status psr_rfi_line_search_push(psr_rfi_line_search *p, const float *x, size_t n, psr_err *err)
{
    psr_status st = PSR_OK;
    while (n && !st) {
        const size_t part = n < p->most - p->n ? n : p->most - p->n;
        st = make_room(p, p->n + part, err);
        if (st)
            return st;
        memcpy(p->x + p->n, x, part * sizeof *x);
        p->n += part;
        x += part;
        n -= part;
        if (p->n == p->most) {
            st = add_powers(p, p->most, err);
            p->n = 0;
        }
    }
    return st;
}

/* The largest even number up to n without prime factors above 7. */
static size_t even_length(size_t n)
{
    static const size_t prime[] = {2, 3, 5, 7};
    for (n -= n % 2; n > 2; n -= 2) {
        size_t left = n;
        for (size_t k = 0; k < 4; k++)
            while (left % prime[k] == 0)
                left /= prime[k];
        if (left == 1)
            break;
    }
    return n;
}

/* --- its baseline ----------------------------------------------------------------------------- */

static double mean_at(const struct baseline *b, size_t block, double k)
{
    const size_t other =
        k < b->middle[block] ? (block ? block - 1 : block) : (block + 1 < b->n ? block + 1 : block);
    if (other == block)
        return b->mean[block];
    const double share = (k - b->middle[block]) / (b->middle[other] - b->middle[block]);
    return b->mean[block] + share * (b->mean[other] - b->mean[block]);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Relative powers, [end] of which first and above count, in place; limits by block. */
struct search {
    float *x;
    size_t first, end;
    double grow;  /* of neighbours */
    double limit; /* where the mean is known */
    double slope; /* of the logarithm of the probability there */
};

static void set_limits(struct search *s, const psr_rfi_line_search *p)
{
    const double dof = 2 * (double)p->npart, step = 1e-4;
    const double ln_p = psr_gauss_logp(p->sigma).ln_sf - log((double)(s->end - s->first));
    s->limit = psr_chi2_threshold(psr_logp_from_sf(ln_p), dof) / dof;
    s->grow = psr_chi2_threshold(psr_logp_from_sf(log(GROW_CHANCE)), dof) / dof;
    s->slope = (ln_p - psr_chi2_logp(s->limit * (1 + step) * dof, dof).ln_sf) / (s->limit * step);
}

/* Exact for one part, where the ratio of a power to the mean of dof others exceeds t with
 * (1 + t / dof)^-dof. */
static double limit_for(const struct search *s, double dof)
{
    const double x = s->limit * s->slope / dof;
    return s->limit * (x > 1e-9 ? expm1(fmin(x, 700)) / x : 1);
}

/* Divides powers by their mean; those above the limit of their block become negative. */
static void normalise(struct search *s, const struct baseline *b)
{
    size_t block = 0;
    double limit = limit_for(s, b->dof[0]);
    for (size_t k = s->first; k < s->end; k++) {
        while (block + 1 < b->n && (double)k > (b->middle[block] + b->middle[block + 1]) / 2) {
            block++;
            limit = limit_for(s, b->dof[block]);
        }
        const double mean = mean_at(b, block, (double)k);
        const double x = mean > 0 ? (double)s->x[k] / mean : 0;
        s->x[k] = (float)(x > limit ? -x : x);
    }
}

static bool stands_out(const struct search *s, size_t k)
{
    return k >= s->first && k < s->end && fabs((double)s->x[k]) > s->grow;
}

static psr_status find_lines(const psr_rfi_line_search *p, const struct search *s,
                             struct psr_rfi_lines *lines, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = s->first; k < s->end && !st; k++) {
        size_t low, high;
        if (s->x[k] >= 0)
            continue;
        /* Bins of the line at k: as far as one of the next two stands out. */
        low = high = k;
        while (stands_out(s, low - 1) || stands_out(s, low - 2))
            low -= stands_out(s, low - 1) ? 1 : 2;
        while (stands_out(s, high + 1) || stands_out(s, high + 2))
            high += stands_out(s, high + 1) ? 1 : 2;
        const double bin_hz = 1 / ((double)p->length * p->tsamp_s);
        double power = 0;
        for (size_t i = low; i <= high; i++)
            power = fmax(power, fabs((double)s->x[i]));
        st = psr_grow(&lines->line, &lines->room, lines->n, sizeof *lines->line, "a list of lines",
                      err);
        if (!st)
            lines->line[lines->n++] =
                (struct psr_rfi_line){.freq_hz = (double)(low + high) / 2 * bin_hz,
                                      .width_hz = (double)(high - low + 2) * bin_hz,
                                      .power = power,
                                      .nharm = 1};
        k = high;
    }
    return st;
}

/* The line at harmonic h of line k; NULL: none.  next is where to look from. */
static struct psr_rfi_line *harmonic_of(struct psr_rfi_lines *l, size_t k, int h, size_t *next)
{
    const struct psr_rfi_line *f = &l->line[k];
    for (; *next < l->n; ++*next) {
        struct psr_rfi_line *x = &l->line[*next];
        const double off = x->freq_hz - h * f->freq_hz, most = (h * f->width_hz + x->width_hz) / 2;
        if (off > most)
            return NULL;
        if (off >= -most)
            return x;
    }
    return NULL;
}

static void join_harmonics(struct psr_rfi_lines *l)
{
    for (size_t k = 0; k < l->n; k++) {
        size_t next = k + 1;
        struct psr_rfi_line *x;
        if (l->line[k].nharm == 0)
            continue;
        for (int h = 2; h < MOST_HARMONICS && (x = harmonic_of(l, k, h, &next)); h++) {
            l->line[k].nharm = h;
            x->nharm = 0;
        }
    }
}

psr_status psr_rfi_line_search_finish(psr_rfi_line_search *p, struct psr_rfi_lines *lines,
                                      psr_err *err)
{
    struct baseline b = {.n = 0};
    *lines = (struct psr_rfi_lines){0};
    psr_status st = PSR_OK;
    if (!p->npart && p->n >= LEAST)
        st = add_powers(p, even_length(p->n), err);
    if (st || !p->npart)
        return st;
    const double low = ceil(FIRST_HZ * (double)p->length * p->tsamp_s);
    struct search s = {.x = p->power, .end = p->length / 2};
    s.first = low > FIRST_BIN ? (size_t)fmin(low, (double)s.end) : FIRST_BIN;
    if (s.end < s.first + BLOCK_MIN)
        return PSR_OK;
    const size_t nbin = s.end;
    b.room = nbin / BLOCK_MIN + 2;
    b.middle = malloc(b.room * sizeof *b.middle);
    b.mean = malloc(b.room * sizeof *b.mean);
    b.dof = malloc(b.room * sizeof *b.dof);
    st = b.middle && b.mean && b.dof ? PSR_OK
                                     : psr_fail_nomem(err, "a baseline", 24 * (double)b.room);
    if (!st) {
        const double dof = 2 * (double)p->npart;
        const double median = psr_chi2_threshold(psr_logp_from_sf(log(0.5)), dof) / dof;
        for (size_t k = s.first; k < s.end;) {
            size_t width = k / 4 < BLOCK_MIN ? BLOCK_MIN : k / 4 > BLOCK_MAX ? BLOCK_MAX : k / 4;
            if (s.end - k < width + BLOCK_MIN)
                width = s.end - k;
            b.middle[b.n] = (double)k + ((double)width - 1) / 2;
            b.mean[b.n] = (double)psr_quantile_select(p->power + k, width, width / 2) / median;
            b.dof[b.n++] = EFFICIENCY * (double)width * (double)p->npart;
            k += width;
        }
        set_limits(&s, p);
        normalise(&s, &b);
        st = find_lines(p, &s, lines, err);
    }
    if (!st)
        join_harmonics(lines);
    free(b.middle);
    free(b.mean);
    free(b.dof);
    return st;
}
