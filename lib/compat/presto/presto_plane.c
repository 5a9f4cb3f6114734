/* Computes powers in the blocks that accelsearch uses, with its lengths and normalisation. */
#include "presto_internal.h"

#include "dsp/dsp.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_LENGTH = 2048, NEAR = 6, FAR = 15, NMEAN = 20 };
static const double MOST_PLANE = 2e9; /* bytes of a plane in memory without -inmem */

/* --- lengths ---------------------------------------------------------------------------------- */

static int next_power(int n)
{
    int power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* Half bins of a block for responses of so many half bins. */
static int length_of_block(int response)
{
    static const struct {
        int response, length;
    } table[] = {{6, 128},     {52, 256},     {67, 512},     {378, 1024},  {664, 2048},
                 {1672, 4096}, {3015, 10240}, {3554, 15360}, {6000, 25600}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (response < table[k].response)
            return table[k].length;
    return next_power(5 * response);
}

/* Half bins of a transform that holds n. */
static int length_of_fraction(int n)
{
    static const int table[] = {128,  192,  256,  384,   512,   768,   1024,  1280, 2048,
                                4096, 5120, 7680, 10240, 12288, 15360, 16384, 25600};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (n <= table[k])
            return table[k];
    return next_power(n);
}

void psr_presto_layout_make(struct psr_presto_layout *y, const struct psr_accel_search *s,
                            bool jerk, bool inmem)
{
    const int response = 4 * psr_template_reach(s->jmax, s->lmax);
    *y = (struct psr_presto_layout){.rlo = (int64_t)s->rlo, .highest = (int64_t)s->rhi};
    y->fftlen = length_of_block(response);
    if (y->fftlen < LEAST_LENGTH)
        y->fftlen = LEAST_LENGTH;
    y->uselen = (y->fftlen - response) / 2 * 2;
    double plane = 8.0 * (double)(y->highest + y->uselen) * (2 * s->jmax + 1);
    y->inmem = !jerk && (plane < MOST_PLANE || inmem);
    const int64_t step = y->uselen / 2;
    y->nblock = y->highest > y->rlo ? (y->highest - y->rlo - 1) / step : 0;
}

/* --- fractions -------------------------------------------------------------------------------- */

psr_status psr_presto_fraction_make(struct psr_presto_fraction *f, const struct psr_accel_search *s,
                                    const struct psr_presto_layout *y, int h, int log, psr_err *err)
{
    const int H = 1 << log;
    *f = (struct psr_presto_fraction){
        .h = h,
        .log = log,
        .jmax = psr_harmonic_step(s->jmax, h, H),
        .lmax = psr_harmonic_step(s->lmax, h, H),
    };
    f->half = psr_template_reach(f->jmax, f->lmax);
    int need = (y->uselen * h + H - 1) / H + 2 + 4 * f->half;
    f->fftlen = log == 0 ? y->fftlen : length_of_fraction(need);
    f->most = (size_t)y->uselen / 2 * (size_t)h / (size_t)H + 4;
    psr_status st =
        psr_correlator_create(&f->correlator, f->half, psr_correlator_bins(f->half, f->most), err);
    if (!st)
        st = psr_template_bank_create(&f->bank, f->correlator, f->jmax, f->lmax, true, false,
                                      s->nthread, &s->stop, err);
    return st;
}

void psr_presto_fraction_clear(struct psr_presto_fraction *f)
{
    psr_template_bank_destroy(f->bank);
    psr_correlator_destroy(f->correlator);
}

double psr_presto_fraction_bytes(const struct psr_presto_fraction *f)
{
    return psr_template_bank_bytes(f->correlator, f->jmax, f->lmax, false);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Bins that a correlation gives. */
static size_t good_of(const struct psr_presto_fraction *f)
{
    return f->correlator->bins - 2 * (size_t)f->half;
}

static void measure_rooms(struct psr_presto_block *b, const struct psr_presto_fraction *f, size_t n,
                          size_t *work, size_t *row)
{
    *work = *row = 0;
    for (size_t k = 0; k < n; k++) {
        const struct psr_correlator *c = f[k].correlator;
        size_t parts = (f[k].most + good_of(&f[k]) - 1) / good_of(&f[k]);
        size_t room = (size_t)f[k].fftlen / 2, each = psr_correlator_work(c);
        b->room = room > b->room ? room : b->room;
        *work = each > *work ? each : *work;
        *row = 2 * f[k].most > *row ? 2 * f[k].most : *row;
        size_t transforms = parts * psr_correlator_block(c);
        b->ntransform = transforms > b->ntransform ? transforms : b->ntransform;
    }
}

double psr_presto_block_bytes(const struct psr_presto_fraction *f, size_t n)
{
    struct psr_presto_block b = {.room = 0};
    size_t work, row;
    measure_rooms(&b, f, n, &work, &row);
    return 4 * (double)(4 * b.room + b.ntransform + work + row);
}

psr_status psr_presto_block_make(struct psr_presto_block *b, const struct psr_presto_fraction *f,
                                 size_t n, psr_err *err)
{
    size_t work, row;
    *b = (struct psr_presto_block){.room = 0};
    measure_rooms(b, f, n, &work, &row);
    float *bins = psr_line_alloc(2 * b->room);
    b->bin = (struct psr_split){bins, bins ? bins + b->room : NULL};
    b->power = psr_line_alloc(2 * b->room);
    b->transform = psr_line_alloc(b->ntransform);
    b->work = psr_line_alloc(work);
    b->row = psr_line_alloc(row + 16);
    if (bins && b->power && b->transform && b->work && b->row)
        return PSR_OK;
    return psr_fail_nomem(err, "blocks", psr_presto_block_bytes(f, n));
}

void psr_presto_block_clear(struct psr_presto_block *b)
{
    free(b->bin.re);
    free(b->power);
    free(b->transform);
    free(b->work);
    free(b->row);
}

static void scale_bins(struct psr_presto_block *b, size_t n, double scale)
{
    if (!isfinite(scale))
        scale = 0;
    for (size_t i = 0; i < n; i++) {
        b->bin.re[i] = (float)((double)b->bin.re[i] * scale);
        b->bin.im[i] = (float)((double)b->bin.im[i] * scale);
    }
}

/* By the mean of bins NEAR .. FAR away to both sides, times a count that is cut to a whole number;
 * bins at the ends take their neighbours'. */
static void scale_locally(struct psr_presto_block *b, size_t n)
{
    const double share = 2.0 * (double)(n / 2 / NMEAN) / (double)n;
    float *power = b->power, *mean = b->power + b->room;
    for (size_t i = 0; i < n; i++)
        power[i] = b->bin.re[i] * b->bin.re[i] + b->bin.im[i] * b->bin.im[i];
    for (size_t i = FAR; i + FAR < n; i++) {
        double sum = 0;
        for (size_t d = NEAR; d <= FAR; d++)
            sum += (double)power[i - d] + (double)power[i + d];
        mean[i] = (float)(sum * share);
    }
    for (size_t i = 0; i < FAR; i++) {
        mean[i] = mean[FAR];
        mean[n - 1 - i] = mean[n - 1 - FAR];
    }
    for (size_t i = 0; i < n; i++) {
        float scale = psr_rough_inverse_root(mean[i]);
        b->bin.re[i] *= scale;
        b->bin.im[i] *= scale;
    }
}

void psr_presto_block_take(struct psr_presto_block *b, const struct psr_accel_search *s,
                           const struct psr_presto_fraction *f,
                           const struct psr_accelsearch_input *in, int64_t first, size_t n)
{
    const struct psr_correlator *c = f->correlator;
    const size_t room = (size_t)f->fftlen / 2;
    b->first = first;
    b->n = n;
    /* Bins before the first and behind the last are zeros, which count in medians. */
    const float *x = in->x;
    const int64_t half = first - f->half;
    for (size_t i = 0; i < room; i++) {
        int64_t k = half + (int64_t)i;
        bool exists = k >= 0 && k < (int64_t)s->nbin;
        b->bin.re[i] = exists ? x[2 * k] : 0;
        b->bin.im[i] = exists ? x[2 * k + 1] : 0;
    }
    if (s->norm == PSR_ACCELSEARCH_PHOTON && in->photons > 0) {
        scale_bins(b, room, 1 / sqrt(in->photons));
    } else if (s->norm == PSR_ACCELSEARCH_LOCAL) {
        scale_locally(b, room);
    } else {
        for (size_t i = 0; i < room; i++)
            b->power[i] = b->bin.re[i] * b->bin.re[i] + b->bin.im[i] * b->bin.im[i];
        scale_bins(b, room,
                   1 / sqrt((double)(float)psr_quantile_median(b->power, room) / log(2.0)));
    }
    float *out = b->transform;
    for (size_t done = 0; done < n; done += good_of(f), out += psr_correlator_block(c)) {
        struct psr_split to = psr_split_at(b->work, c->bins);
        size_t ncopy = done < room ? room - done : 0;
        ncopy = ncopy < c->bins ? ncopy : c->bins;
        memset(b->work, 0, psr_correlator_block(c) * sizeof *b->work);
        memcpy(to.re, b->bin.re + done, ncopy * sizeof *to.re);
        memcpy(to.im, b->bin.im + done, ncopy * sizeof *to.im);
        psr_correlator_take_block(c, b->work, out);
    }
}

void psr_presto_block_row(struct psr_presto_block *b, const struct psr_presto_fraction *f, int j,
                          int l, float *row)
{
    const struct psr_correlator *c = f->correlator;
    const size_t t = psr_template_number(f->jmax, f->lmax, j, l);
    float *const response[2] = {psr_template_spectrum(f->bank, t, 0),
                                psr_template_spectrum(f->bank, t, 1)};
    float *block = b->transform;
    for (size_t done = 0; done < b->n; done += good_of(f), block += psr_correlator_block(c)) {
        size_t left = b->n - done, n = left < good_of(f) ? left : good_of(f);
        psr_correlator_row(c, block, response, (size_t)f->half, n, b->work, row + 2 * done);
    }
}
