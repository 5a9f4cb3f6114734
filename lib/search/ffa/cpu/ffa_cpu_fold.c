/* Transforms of a fold, and S/N of its trials. */
#include "ffa_cpu.h"

#include "base/threads/isa.h"

/* Rows of b bins, stride elements apart. */
struct rows {
    const char *data;
    size_t stride; /* bytes */
};

struct shape {
    size_t nbin, stride, element; /* bins, bytes of a row of sums, bytes of a bin */
    bool floats;
};

static int16_t add_saturated(int a, int b)
{
    const int c = a + b;
    return (int16_t)(c > 32767 ? 32767 : c < -32768 ? -32768 : c);
}

static void add_words(int16_t *out, const int16_t *a, const int16_t *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = add_saturated(a[i], c[i]);
}

static void add_floats(float *out, const float *a, const float *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] + c[i];
}

static void add(const struct shape *shape, char *out, const char *a, const char *c, size_t n)
{
    if (shape->floats)
        add_floats((float *)(void *)out, (const float *)(const void *)a,
                   (const float *)(const void *)c, n);
    else
        add_words((int16_t *)(void *)out, (const int16_t *)(const void *)a,
                  (const int16_t *)(const void *)c, n);
}

/* Row s of the sum of m rows. */
static void merge_row(const struct shape *shape, struct rows head, struct rows tail, size_t m,
                      size_t s, char *out)
{
    const size_t h = psr_ffa_row(s, m / 2, m), t = psr_ffa_row(s, m - m / 2, m);
    const size_t shift = (s - t) % shape->nbin, rest = shape->nbin - shift, e = shape->element;
    const char *a = head.data + h * head.stride, *c = tail.data + t * tail.stride;
    add(shape, out, a, c + shift * e, rest);
    add(shape, out + rest * e, a + rest * e, c, shift);
}

/* Sums of m rows of in, in out if there is anything to sum; free is as long as out. */
static struct rows transform(const struct shape *shape, struct rows in, size_t m, char *out,
                             char *free)
{
    const size_t mh = m / 2;
    if (m == 1)
        return in;
    const struct rows second = {in.data + mh * in.stride, in.stride};
    const struct rows head = transform(shape, in, mh, free, out);
    const struct rows tail =
        transform(shape, second, m - mh, free + mh * shape->stride, out + mh * shape->stride);
    for (size_t s = 0; s < m; s++)
        merge_row(shape, head, tail, m, s, out + s * shape->stride);
    return (struct rows){out, shape->stride};
}

/* --- S/N -------------------------------------------------------------------------------------- */

static float sum_words(const int16_t *x, size_t nbin, size_t most, int32_t *total)
{
    total[0] = 0;
    for (size_t i = 0; i < nbin + most; i++)
        total[i + 1] = total[i] + x[i < nbin ? i : i - nbin];
    return (float)total[nbin];
}

static float sum_floats(const float *x, size_t nbin, size_t most, double *total)
{
    total[0] = 0;
    for (size_t i = 0; i < nbin + most; i++)
        total[i + 1] = total[i] + (double)x[i < nbin ? i : i - nbin];
    return (float)total[nbin];
}

static float largest_of_words(const int32_t *total, size_t nbin, size_t w)
{
    int32_t best = total[w] - total[0];
    for (size_t i = 1; i < nbin; i++)
        best = total[i + w] - total[i] > best ? total[i + w] - total[i] : best;
    return (float)best;
}

static float largest_of_floats(const double *total, size_t nbin, size_t w)
{
    double best = total[w] - total[0];
    for (size_t i = 1; i < nbin; i++)
        best = total[i + w] - total[i] > best ? total[i + w] - total[i] : best;
    return (float)best;
}

static struct psr_ffa_score rate_row(const struct shape *shape, const char *row,
                                     const struct psr_ffa_widths *widths, const float *gain,
                                     const float *loss, double *total)
{
    const size_t nbin = shape->nbin, most = (size_t)widths->width[widths->n - 1];
    int32_t *words = (int32_t *)(void *)total;
    struct psr_ffa_score best = {-1e30f, 0};
    const float sum = shape->floats
                          ? sum_floats((const float *)(const void *)row, nbin, most, total)
                          : sum_words((const int16_t *)(const void *)row, nbin, most, words);
    for (size_t i = 0; i < widths->n; i++) {
        const size_t w = (size_t)widths->width[i];
        const float d =
            shape->floats ? largest_of_floats(total, nbin, w) : largest_of_words(words, nbin, w);
        const float z = gain[i] * d - loss[i] * sum;
        if (z > best.snr)
            best = (struct psr_ffa_score){z, (int)i};
    }
    return best;
}

void psr_ffa_cpu_fold(const struct psr_ffa_search *s, const struct psr_ffa_fold *fold,
                      struct psr_ffa_room *room,
                      void (*use)(void *ctx, size_t i, struct psr_ffa_score score), void *ctx)
{
    const struct psr_ffa_step *k = &s->step[fold->step];
    const struct psr_ffa_widths *widths = &s->widths[k->range];
    const size_t element = k->floats ? sizeof(float) : sizeof(int16_t), nbin = (size_t)fold->nbin;
    const struct shape shape = {nbin, nbin * element, element, k->floats};
    const size_t mh = fold->nrow / 2, half = mh * shape.stride;
    float gain[PSR_FFA_MAX_WIDTH], loss[PSR_FFA_MAX_WIDTH];
    psr_ffa_gains(k, fold, widths, gain, loss);
    const struct rows head =
        transform(&shape, (struct rows){room->q, shape.stride}, mh, room->rows[0], room->rows[1]);
    const struct rows tail = transform(&shape, (struct rows){room->q + half, shape.stride},
                                       fold->nrow - mh, room->rows[0] + half, room->rows[1] + half);
    for (size_t i = fold->s_lo; i < fold->s_hi; i++) {
        merge_row(&shape, head, tail, fold->nrow, i, room->row);
        use(ctx, i - fold->s_lo, rate_row(&shape, room->row, widths, gain, loss, room->total));
    }
}
