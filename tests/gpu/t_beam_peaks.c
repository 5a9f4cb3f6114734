/* The best boxcars that beam_peaks.cu finds: those of sums done one by one. */
#include "beam_peaks.h"
#include "tests/support/tap.h"

#include <math.h>
#include <psrkit/device.h>
#include <string.h>

enum { MAXROW = 40, MAXSAMP = 700, NBLOCK = 4 };

struct series {
    size_t nrow, stride, n[NBLOCK];
    int32_t most;
    float x[MAXROW][NBLOCK * MAXSAMP];
    int64_t ready[MAXROW];
    float mean, scale, threshold;
};

/* Of w samples of row i, t the last; w is 2^k or 3 2^k. */
static float boxcar(const struct series *s, size_t i, int64_t t, int32_t w)
{
    if (w == 1)
        return ((t < 0 ? 0 : s->x[i][t]) - s->mean) * s->scale;
    if (w % 3 == 0)
        return boxcar(s, i, t, w / 3 * 2) + boxcar(s, i, t - w / 3 * 2, w / 3);
    return boxcar(s, i, t, w / 2) + boxcar(s, i, t - w / 2, w / 2);
}

static struct peak best_of(const struct series *s, size_t i, int64_t first, size_t n)
{
    static const int32_t width[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    struct peak best = {-1e30f, (int32_t)i, 0, 0};
    for (size_t k = 0; k < sizeof width / sizeof *width && width[k] <= s->most; k++)
        for (size_t t = 0; t < n; t++) {
            int64_t from = first + (int64_t)t - width[k] + 1;
            if (from < s->ready[i] || from < first - s->most + 1)
                continue;
            float snr = boxcar(s, i, first + (int64_t)t, width[k]) / sqrtf((float)width[k]);
            if (snr > best.snr)
                best = (struct peak){snr, (int32_t)i, width[k], (int32_t)t + 1};
        }
    return best;
}

static void choose(struct series *s, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    s->nrow = (size_t)tap_between(seed, 1, MAXROW);
    s->most = (int32_t)tap_between(seed, 1, 128);
    s->mean = 20;
    s->scale = 0.3f;
    s->threshold = 3;
    size_t at = 0;
    for (size_t b = 0; b < NBLOCK; b++) {
        s->n[b] = (size_t)tap_between(seed, 1, MAXSAMP);
        s->stride = s->n[b] > s->stride ? s->n[b] : s->stride;
        at += s->n[b];
    }
    for (size_t i = 0; i < s->nrow; i++) {
        s->ready[i] = tap_between(seed, -200, (int64_t)at + 10);
        for (size_t t = 0; t < at; t++)
            s->x[i][t] = (float)tap_between(seed, 0, 40);
    }
}

static bool same_block(const struct series *s, const struct peak *got, uint32_t count,
                       int64_t first, size_t n)
{
    size_t seen = 0;
    for (size_t i = 0; i < s->nrow; i++) {
        struct peak want = best_of(s, i, first, n);
        const struct peak *p = NULL;
        for (uint32_t k = 0; k < count; k++)
            p = got[k].row == (int32_t)i ? got + k : p;
        if (want.snr >= s->threshold ? !p || p->snr != want.snr : p != NULL) {
            diag("row %zu: S/N %.9g of %d samples to %d, want %.9g of %d to %d", i, p ? p->snr : 0,
                 p ? p->width : 0, p ? p->end : 0, want.snr, want.width, want.end);
            return false;
        }
        seen += p != NULL;
    }
    return seen == count;
}

static bool check_series(const struct series *s)
{
    float *d_x, *d_behind;
    int64_t *d_ready, first = 0;
    struct peak *d_peak, peak[MAXROW];
    uint32_t *d_count, count;
    size_t behind = s->nrow * (size_t)s->most * sizeof(float);
    bool pass = !cudaMalloc((void **)&d_x, s->nrow * s->stride * sizeof *d_x) &&
                !cudaMalloc((void **)&d_behind, behind) &&
                !cudaMalloc((void **)&d_ready, sizeof s->ready) &&
                !cudaMalloc((void **)&d_peak, sizeof peak) &&
                !cudaMalloc((void **)&d_count, sizeof count) && !cudaMemset(d_behind, 0, behind) &&
                !cudaMemcpy(d_ready, s->ready, sizeof s->ready, cudaMemcpyHostToDevice);
    for (size_t b = 0; b < NBLOCK && pass; b++) {
        const struct peaks_job job = {d_x,          s->stride, s->nrow, s->n[b], d_behind,
                                      s->most,      d_ready,   first,   s->mean, s->scale,
                                      s->threshold, d_peak,    d_count, MAXROW};
        pass = !cudaMemset(d_count, 0, sizeof count) &&
               !cudaMemcpy2D(d_x, s->stride * 4, &s->x[0][first], sizeof s->x[0], s->n[b] * 4,
                             s->nrow, cudaMemcpyHostToDevice) &&
               !peaks_find(&job, 0) &&
               !cudaMemcpy(&count, d_count, sizeof count, cudaMemcpyDeviceToHost) &&
               !cudaMemcpy(peak, d_peak, sizeof peak, cudaMemcpyDeviceToHost) &&
               same_block(s, peak, count, first, s->n[b]);
        first += (int64_t)s->n[b];
    }
    cudaFree(d_x);
    cudaFree(d_behind);
    cudaFree(d_ready);
    cudaFree(d_peak);
    cudaFree(d_count);
    return pass;
}

int main(void)
{
    static struct series s;
    psr_err err;
    uint64_t seed = tap_seed();
    int n, count = 20;
    if (!psr_device_count(&err)) {
        skip("boxcars on a CUDA device", err.msg);
        return done_testing();
    }
    for (n = 0; n < count; n++) {
        choose(&s, &seed);
        if (!check_series(&s)) {
            diag("series %d: %zu rows, boxcars to %d samples", n, s.nrow, s.most);
            break;
        }
    }
    ok(n == count, "%d random blocks of series: the best boxcars of each", count);
    return done_testing();
}
