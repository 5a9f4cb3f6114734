/* Boxcars of all widths over a flattened series, each from two narrower ones. */
#include "pulse.h"

#include <math.h>

#define RECIPE(width, a, b, searched) {width, a, b, searched},
static const struct recipe {
    int32_t width, a, b;
    bool searched;
} recipes[PULSE_SUMS] = {{1, 0, 0, true}, PULSE_RECIPES(RECIPE)};

size_t psr_pulse_width_at_most(double limit)
{
    int32_t widest = 1;
    for (int i = 0; i < PULSE_SUMS; i++)
        if (recipes[i].searched && recipes[i].width <= limit)
            widest = recipes[i].width;
    return (size_t)widest;
}

PSR_CLONES
static void add_sums(float *restrict out, const float *a, const float *b, size_t n)
{
    for (size_t j = 0; j < n; j++)
        out[j] = a[j] + b[j];
}

/* As add_sums, keeping the better S/N; best and width begin at the centre of the first boxcar. */
PSR_CLONES
static void add_and_compare(float *restrict out, const float *a, const float *b, size_t n,
                            float *restrict best, int32_t *restrict width, int32_t w)
{
    float norm = (float)(1 / sqrt((double)w));
    for (size_t j = 0; j < n; j++) {
        float sum = a[j] + b[j], snr = sum * norm;
        out[j] = sum;
        width[j] = snr > best[j] ? w : width[j];
        best[j] = snr > best[j] ? snr : best[j];
    }
}

static const float *find_sum(int32_t width, const float *z, const float *work, size_t m)
{
    int i = 0;
    while (recipes[i].width != width)
        i++;
    return i ? work + (size_t)i * m : z;
}

void psr_pulse_best(const float *z, size_t m, size_t maxwidth, float *best, int32_t *width,
                    float *work)
{
    for (size_t c = 0; c < m; c++) {
        best[c] = z[c];
        width[c] = 1;
    }
    for (int i = 1; i < PULSE_SUMS && (size_t)recipes[i].width <= maxwidth; i++) {
        const struct recipe *r = &recipes[i];
        size_t w = (size_t)r->width, n = m - w + 1;
        float *sum = work + (size_t)i * m;
        const float *a = find_sum(r->a, z, work, m), *b = find_sum(r->b, z, work, m) + r->a;
        if (r->searched)
            add_and_compare(sum, a, b, n, best + w / 2, width + w / 2, r->width);
        else
            add_sums(sum, a, b, n);
    }
}
