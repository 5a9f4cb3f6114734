/* pulscan of series on a CUDA device: their bins against a transform in double precision, their hits
 * against the boxes of these bins as the CPU sums them, to the bit. */
#include "formats/series/series_internal.h"
#include "pulscan_run.h"
#include "search/pulscan/pulscan_internal.h"

#include <complex.h>
#include <psrkit/device.h>
#include <psrkit/series.h>

static const int sums[] = {1, 2, 3, 4};

/* --- series and transforms -------------------------------------------------------------------- */

/* Noise with lines, some of it red. */
static float *make_series(size_t n, int which, uint64_t *seed)
{
    float *x = tap_take(n, sizeof *x);
    double drift = 0;
    for (size_t t = 0; t < n; t++) {
        drift = 0.99 * drift + 0.1 * which * tap_normal(seed);
        x[t] = (float)(tap_normal(seed) + drift + 0.2 * cos((double)t * (0.7 + which)));
    }
    return x;
}

static size_t lowest_factor(size_t n)
{
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

/* The n values in[0], in[step] .., transformed; root has all turns of a whole of n step values. */
static void transform(const double *in, size_t step, size_t n, const double complex *root,
                      double complex *out)
{
    const size_t p = lowest_factor(n), m = n / p, whole = n * step;
    double complex *part = tap_take(p, sizeof *part);
    for (size_t j = 0; j < p; j++)
        if (m > 1)
            transform(in + j * step, step * p, m, root, out + j * m);
        else
            out[j] = in[j * step];
    for (size_t k = 0; k < m; k++) {
        for (size_t j = 0; j < p; j++)
            part[j] = out[j * m + k];
        for (size_t q = 0; q < p; q++) {
            out[q * m + k] = 0;
            for (size_t j = 0; j < p; j++)
                out[q * m + k] += part[j] * root[j * (q * m + k) * step % whole];
        }
    }
    free(part);
}

/* X[0 .. nbin] of a series. */
static double complex *transform_series(const float *series, size_t nbin)
{
    const size_t n = 2 * nbin;
    double complex *root = tap_take(n, sizeof *root), *out = tap_take(n, sizeof *out);
    double *in = tap_take(n, sizeof *in);
    for (size_t t = 0; t < n; t++) {
        in[t] = (double)series[t];
        root[t] = cexp(-2 * M_PI * I * (double)t / (double)n);
    }
    transform(in, 1, n, root, out);
    free(in);
    free(root);
    return out;
}

/* X as a spectrum, de-reddened as the search is to do it. */
static float *make_spectrum(const double complex *x, size_t nbin, const struct psr_redden *how)
{
    float *out = tap_take(2 * nbin, sizeof *out);
    psr_err err;
    for (size_t k = 0; k < nbin; k++) {
        out[2 * k] = (float)creal(x[k]);
        out[2 * k + 1] = (float)(k ? cimag(x[k]) : creal(x[nbin]));
    }
    if (how->start && psr_spectrum_deredden(out, (int64_t)nbin, how, &err))
        ok(false, "%s", err.msg);
    return out;
}

/* --- bins ------------------------------------------------------------------------------------- */

enum { AROUND = 8 }; /* bins, over which levels are the same */

/* The root of the mean, and the largest, of |x|^2 around bin k, DC left out of the mean. */
static double around(const double complex *x, size_t nbin, size_t k, bool largest)
{
    double sum = 0, most = 0;
    size_t n = 0;
    for (size_t j = k > AROUND ? k - AROUND : 0; j <= k + AROUND && j < nbin; j++) {
        double a = cabs(x[j]);
        sum += j ? a * a : 0;
        n += j > 0;
        most = fmax(most, a);
    }
    return largest ? most : sqrt(sum / (double)n);
}

static double complex *fetch_bins(psr_pulscan *p, size_t spec, size_t nbin)
{
    float *x = tap_take(2 * nbin, sizeof *x);
    double complex *out = tap_take(nbin, sizeof *out);
    psr_err err;
    if (psr_pulscan_amplitudes(p, spec, 0, nbin, x, &err))
        ok(false, "%s", err.msg);
    for (size_t k = 0; k < nbin; k++)
        out[k] = (double)x[2 * k] + I * (double)x[2 * k + 1];
    free(x);
    return out;
}

/* Errors of the normalised bins, of which single precision makes some: a transform rounds at the
 * size of all bins and of those around, and one of real samples by one of half their number adds bin
 * k to bin nbin - k, its mirror image, and takes it off again.  A level has the error of one bin.
 * Given: x [nbin + 1] the true bins; want, got [nbin] normalised
 * Returned: the largest, in units of what one rounding does */
static double worst_error(const double complex *x, const double complex *want,
                          const double complex *got, size_t nbin)
{
    double rms = 0, worst = 0;
    for (size_t k = 0; k < nbin; k++)
        rms += cabs(x[k]) * cabs(x[k]) / (double)nbin;
    rms = sqrt(rms);
    for (size_t k = 1; k < nbin; k++) {
        double scale = around(want, nbin, k, false) / around(x, nbin, k, false);
        double most = around(x, nbin, k, true) + around(x, nbin + 1, nbin - k, true);
        double unit = 0x1p-24 * scale * (rms + most) * (1 + cabs(want[k]));
        worst = fmax(worst, cabs(got[k] - want[k]) / unit);
    }
    return worst;
}

/* --- hits ------------------------------------------------------------------------------------- */

/* The peaks of bins by the definition, all in single precision. */
static void find_peaks(const struct psr_pulscan_search *s, const double complex *x,
                       struct psr_pulscan_found *found)
{
    const size_t pad = psr_tile_work(s);
    float *power = tap_take(s->nbin + pad, sizeof *power);
    float *sum = tap_take(s->nbin + pad, sizeof *sum), *work = tap_take(pad, sizeof *work);
    psr_err err;
    for (size_t k = 1; k < s->nbin; k++) {
        float re = (float)creal(x[k]), im = (float)cimag(x[k]);
        power[k] = re * re + im * im;
    }
    for (size_t h = 0; h < s->nharm; h++) {
        const size_t n = s->nbin / (size_t)s->harm[h];
        memset(sum, 0, (s->nbin + pad) * sizeof *sum);
        for (size_t i = 0; i < n; i++)
            for (size_t m = 1; m <= (size_t)s->harm[h]; m++) {
                float part = power[m * i];
                for (size_t j = 1; j < m; j++)
                    part += power[m * i + j];
                sum[i] += part;
            }
        for (int64_t first = 1; first < (int64_t)n; first += PSR_TILE)
            if (psr_tile_search(s, h, sum, first, work, found, &err))
                ok(false, "%s", err.msg);
    }
    free(power);
    free(sum);
    free(work);
}

static int by_place(const void *pa, const void *pb)
{
    const struct psr_pulscan_peak *a = pa, *b = pb;
    if (a->harm != b->harm)
        return a->harm < b->harm ? -1 : 1;
    if (a->z != b->z)
        return a->z < b->z ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* psr_pulscan_ops.amplitudes of bins x. */
static psr_status give_bins(void *x, size_t slot, int64_t first, size_t n, float *out, psr_err *err)
{
    const double complex *bin = (const double complex *)x + first;
    (void)slot;
    (void)err;
    for (size_t k = 0; k < n; k++) {
        out[2 * k] = (float)creal(bin[k]);
        out[2 * k + 1] = (float)cimag(bin[k]);
    }
    return PSR_OK;
}

/* Removes peaks that are side lobes of lines in these bins. */
static void drop_lobes(const struct psr_pulscan_search *s, double complex *x,
                       struct psr_pulscan_found *found)
{
    const struct psr_pulscan_ops ops = {.name = "bins", .amplitudes = give_bins};
    const struct psr_pulscan_reader reader = {&ops, x};
    struct psr_pulscan_lines *lines = NULL;
    psr_err err;
    if (psr_pulscan_lines_create(&lines, s, &err) ||
        psr_pulscan_lines_find(lines, &reader, found, &err) ||
        psr_pulscan_drop_lobes(s, lines, found, &err))
        ok(false, "%s", err.msg);
    psr_pulscan_lines_destroy(lines);
}

/* Hits that are not those of these bins, to the bit. */
static size_t count_off(const psr_pulscan *p, const struct psr_pulscan_desc *d, double complex *x,
                        const struct psr_pulscan_result *got)
{
    struct psr_pulscan_search s;
    struct psr_significance significance;
    struct psr_pulscan_found found = {.most = SIZE_MAX};
    psr_err err;
    size_t n = 0, wrong = 0;
    if (psr_pulscan_resolve(&s, &significance, d, &err))
        ok(false, "%s", err.msg);
    find_peaks(&s, x, &found);
    if (found.n > 0)
        qsort(found.peak, found.n, sizeof *found.peak, by_place);
    drop_lobes(&s, x, &found);
    for (size_t k = 0; k < found.n; k++) {
        const struct psr_pulscan_peak *want = &found.peak[k];
        const int harm = s.harm[want->harm], z = s.z[want->z];
        if (!(psr_pulscan_sigma(p, (double)want->power, harm, z, want->first) > d->sigma))
            continue;
        const struct psr_pulscan_hit *h = n < got->nhit ? &got->hit[n++] : NULL;
        wrong += !h || h->nharm != harm || h->z != z || h->first != want->first ||
                 memcmp(&h->power, &want->power, sizeof h->power) != 0;
    }
    free(found.peak);
    psr_pulscan_forget(&s);
    return wrong + got->nhit - n;
}

/* --- searches --------------------------------------------------------------------------------- */

struct outcome {
    size_t hits, wrong;
    double worst; /* error of a bin */
};

static void examine(psr_pulscan *p, size_t spec, psr_pulscan *of_truth,
                    const struct psr_pulscan_desc *d, const double complex *x,
                    const struct psr_pulscan_result *got, struct outcome *o)
{
    double complex *want = fetch_bins(of_truth, spec, d->nbin),
                   *bins = fetch_bins(p, spec, d->nbin);
    o->worst = fmax(o->worst, worst_error(x, want, bins, d->nbin));
    o->wrong += got->bad != -1 || count_off(p, d, bins, got);
    o->hits += got->nhit;
    free(want);
    free(bins);
}

static struct psr_pulscan_desc describe(size_t nbin, struct psr_redden redden)
{
    return (struct psr_pulscan_desc){.size = sizeof(struct psr_pulscan_desc),
                                     .nbin = nbin,
                                     .redden = redden,
                                     .batch = BATCH,
                                     .zmax = 30,
                                     .nharm = sums,
                                     .nnharm = 4,
                                     .sigma = -4};
}

/* The last of the batch holds a sample that is no number. */
static void test_series(const char *backend, size_t nbin, struct psr_redden redden, uint64_t seed)
{
    enum { GOOD = BATCH - 1 };
    struct psr_pulscan_desc d = describe(nbin, redden);
    struct psr_pulscan_result got[BATCH];
    double complex *x[GOOD];
    float *series[BATCH], *spectrum[GOOD];
    struct outcome o = {0};
    psr_pulscan *p, *of_truth;
    for (int s = 0; s < BATCH; s++)
        series[s] = make_series(2 * nbin, s == GOOD ? 1 : 4 - s, &seed);
    for (int s = 0; s < GOOD; s++) {
        x[s] = transform_series(series[s], nbin);
        spectrum[s] = make_spectrum(x[s], nbin, &redden);
    }
    series[GOOD][2 * nbin - 1] = NAN;
    search(&d, "cpu", GOOD, spectrum, false, &of_truth, got);
    d.series = true;
    search(&d, backend, BATCH, series, true, &p, got);
    for (size_t s = 0; s < GOOD; s++)
        examine(p, s, of_truth, &d, x[s], &got[s], &o);
    ok(got[GOOD].bad == (int64_t)(2 * nbin - 1) && got[GOOD].nhit == 0,
       "%s: series of 2 x %zu: sample %lld is no number", backend, nbin, (long long)got[GOOD].bad);
    ok(o.hits > 100 && o.wrong == 0, "and de-reddened from %d to %d: %zu hits, %zu wrong",
       redden.start, redden.end, o.hits, o.wrong);
    ok(o.worst < 100, "and bins are off by %.1f roundings at most", o.worst);
    psr_pulscan_destroy(p);
    psr_pulscan_destroy(of_truth);
    for (int s = 0; s < BATCH; s++) {
        free(series[s]);
        if (s < GOOD) {
            free(x[s]);
            free(spectrum[s]);
        }
    }
}

int main(void)
{
    static const struct psr_pulscan_desc series[] = {
        {.nbin = 3001},
        {.nbin = 5003},
        {.nbin = 40000, .redden = {6, 100, 1500}},
        {.nbin = 40000, .redden = {6, 6000, 300}},
        {.nbin = 300, .redden = {1000, 1000, 0}},
        {.nbin = 9999, .redden = {50, 5000, 1e9}},
    };
    static const char *const backends[] = {"cpu", "cuda", "hybrid"};
    struct psr_device device;
    psr_err err;
    const bool there = !psr_device_describe(0, &device, &err);
    uint64_t seed = tap_seed();
    for (int b = 0; b < (there ? 3 : 1); b++)
        for (size_t n = 0; n < sizeof series / sizeof *series; n++)
            test_series(backends[b], series[n].nbin, series[n].redden, seed + n);
    if (!there)
        skip("series on CUDA", err.msg);
    return done_testing();
}
