/* clean_sparks_ref.h: sparks and pulses of the whole band, as psrkit/experimental/clean_auto.h defines them, by plain loops; a part of
 * clean_auto_ref.h. */
#ifndef PSR_TESTS_CLEAN_SPARKS_REF_H
#define PSR_TESTS_CLEAN_SPARKS_REF_H

/* The band as a whole, for rows t0 .. t0 + n - 1; range[t] is the block of row t, base its first row. */
struct ref_band {
    struct ref *r;
    size_t t0, n, B, ngroup;
    int *u;               /* [n][ngroup] */
    const size_t *base;   /* [n] */
    const size_t *end;    /* [n] of the block */
    double *count;        /* [n][ngroup] channels, or 0 */
    bool *enough;         /* [n] */
    unsigned char *spark; /* [n] */
    unsigned char *pulse; /* [n] common noise is not measured there */
    unsigned char *burst; /* [n] nor taken out */
};

/* M; Returned: Q in most */
static float ref_tile(const struct ref_band *b, size_t t, size_t w, float *most)
{
    float v[16];
    size_t n = 0;
    for (size_t g = 0; g < b->ngroup && b->enough[t]; g++) {
        double count = b->count[t * b->ngroup + g], sum = 0, good = 0;
        for (size_t i = t; i < t + w; i++)
            if (!b->spark[i]) {
                sum += b->u[i * b->ngroup + g];
                good++;
            }
        if (count > 0 && 2 * good >= (double)w)
            v[n++] = (float)(sum / (5 * sqrt(count * good)));
    }
    *most = 0;
    if (!n)
        return 0;
    const double middle = ref_median(v, n), low = (double)v[n / 4], high = (double)v[n - 1 - n / 4];
    if (low > 0)
        *most = (float)((low + 0.6745) * sqrt((double)n) / 1.3626);
    else if (high < 0)
        *most = (float)((high - 0.6745) * sqrt((double)n) / 1.3626);
    return (float)(middle * sqrt((double)n) / 1.2533);
}

/* Leaves in at the first rows of the tiles of a width.  Returned: their number */
static size_t ref_tiles(const struct ref_band *b, size_t w, size_t *at)
{
    size_t n = 0;
    for (size_t t = 0; t < b->n; t++)
        if ((t - b->base[t]) % w == 0 && t + w <= b->end[t])
            at[n++] = t;
    return n;
}

/* Marks rows at .. at + w - 1, and so many on either side. */
static void ref_mark(const struct ref_band *b, unsigned char *mark, size_t at, size_t w,
                     size_t beside)
{
    for (size_t t = 0; t < b->n; t++)
        mark[t] |= t + beside >= at && t < at + w + beside;
}

/* Sparks and pulses. */
static void ref_sparks(struct ref_band *b, size_t w)
{
    float *m = malloc(b->n * sizeof *m), *flat = malloc(b->n * sizeof *flat),
          *most = malloc(b->n * sizeof *most);
    size_t *at = malloc(b->n * sizeof *at), n = ref_tiles(b, w, at);
    for (size_t j = 0; j < n; j++)
        m[j] = ref_tile(b, at[j], w, &most[j]);
    for (size_t j = 0; j < n; j++) {
        size_t from = j > 4 ? j - 4 : 0, to = j + 4 < n ? j + 4 : n - 1;
        flat[j] = (float)((double)m[j] - ref_median_copy(m + from, to - from + 1));
    }
    double scatter = n ? ref_scatter(flat, n, 0) : 0;
    for (size_t j = 0; j < n; j++) {
        const double size = fabs((double)flat[j]), above = fmax(1, scatter),
                     all = (double)(flat[j] > 0 ? most[j] : -most[j]);
        if (size > 2.5 * above && all > 2.5)
            ref_mark(b, b->pulse, at[j], w, 0);
        if (b->r->clip_sigma > 0 && size > b->r->clip_sigma * above && all > b->r->clip_sigma)
            ref_mark(b, b->spark, at[j], w, w / 2);
    }
    free(m);
    free(most);
    free(flat);
    free(at);
}

#endif
