/* clean_cells_ref.h: steps of levels, and what is masked, as psrkit/clean_auto.h defines them, by plain loops; a part of
 * clean_auto_ref.h. */
#ifndef PSR_TESTS_CLEAN_CELLS_REF_H
#define PSR_TESTS_CLEAN_CELLS_REF_H

/* Where channel c steps, by block means m: the last quarter of the window does not have the level of the window before.
 * What its history has of this window is then the level after that. */
static unsigned char ref_step(struct ref *r, size_t nblock, size_t B, const float *m, size_t c,
                              double S0)
{
    const size_t n = r->nchan, last = (nblock + 3) / 4 > 2 ? (nblock + 3) / 4 : 2;
    const double s = (double)r->s[r->nwindow * n + c], L0 = r->L0[c];
    float column[16];
    for (size_t k = 0; k < nblock; k++)
        column[k] = m[k * n + c];
    r->history[r->nwindow * n + c] = r->l[r->nwindow * n + c];
    const double to = ref_median_copy(column + nblock - last, last);
    if (!(S0 > 0 && fabs(to - L0) > 5 * 1.2533 * s / sqrt((double)(last * B))))
        return 255;
    size_t best = 0;
    double least = 0;
    for (size_t j = 1; j <= nblock; j++) {
        double sum = 0; /* how much worse L0 is than the new level in the j blocks before */
        for (size_t k = 0; k < j; k++) {
            double y = (double)column[k];
            sum += isnan(y) ? 0 : (y - L0) * (y - L0) - (y - to) * (y - to);
        }
        if (sum < least) {
            least = sum;
            best = j;
        }
    }
    best = best > nblock - last ? nblock - last : best;
    const double after = ref_median_copy(column + best + 1, nblock - best - 1);
    if (!isfinite(after))
        return 255;
    r->history[r->nwindow * n + c] = (float)after;
    r->since[c] = r->nwindow;
    return (unsigned char)best;
}

/* Over their scatter, if that is above 1. */
static void ref_scale(float *z, size_t n)
{
    double scatter = ref_scatter(z, n, 0);
    for (size_t i = 0; i < n && scatter > 1; i++)
        z[i] = (float)((double)z[i] / scatter);
}

/* z of one kind minus medians of blocks. */
static void ref_level_out(float *z, size_t nblock, size_t nchan)
{
    for (size_t k = 0; k < nblock; k++) {
        double middle = ref_median_copy(z + k * nchan, nchan);
        for (size_t c = 0; c < nchan; c++)
            z[k * nchan + c] = (float)((double)z[k * nchan + c] - middle);
    }
    ref_scale(z, nblock * nchan);
}

/* The same minus the nearer of two medians of the medians of five sub-bands, those from or to its own. */
static void ref_level_beside(float *z, size_t nblock, size_t nchan)
{
    const size_t G = nchan < 16 ? nchan : 16;
    for (size_t k = 0; k < nblock; k++) {
        float *row = z + k * nchan, middle[16];
        size_t g = 0, n = 0, of[16];
        for (size_t i = 0; i < G; i++) {
            size_t first = i * nchan / G, end = (i + 1) * nchan / G;
            double now = ref_median_copy(row + first, end - first);
            of[i] = n;
            if (isfinite(now))
                middle[n++] = (float)now;
        }
        for (size_t c = 0; c < nchan && n; c++) {
            while ((g + 1) * nchan / G <= c)
                g++;
            size_t some = n < 5 ? n : 5, low = of[g] > some - 1 ? of[g] - (some - 1) : 0,
                   high = of[g];
            low = low + some > n ? n - some : low;
            high = high + some > n ? n - some : high;
            double below = (double)row[c] - ref_median_copy(middle + low, some),
                   above = (double)row[c] - ref_median_copy(middle + high, some);
            row[c] = (float)(fabs(above) < fabs(below) ? above : below);
        }
    }
    ref_scale(z, nblock * nchan);
}

/* Counts channels whose means wander. */
static void ref_wander(const float *zm, size_t nblock, size_t n, unsigned char *times)
{
    float *wander = malloc(n * sizeof *wander);
    for (size_t c = 0; c < n; c++) {
        double squares = 0;
        for (size_t k = 0; k < nblock; k++)
            squares += isnan(zm[k * n + c]) ? 0 : (double)zm[k * n + c] * (double)zm[k * n + c];
        wander[c] = squares > 0 ? (float)log(squares) : NAN;
    }
    double middle = ref_median_copy(wander, n), scatter = ref_scatter(wander, n, middle);
    for (size_t c = 0; c < n; c++)
        if (scatter > 0 && (double)wander[c] - middle > 5 * scatter)
            times[c]++;
    free(wander);
}

static float *ref_copy(const float *x, size_t n)
{
    float *y = malloc(n * sizeof *y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

/* Leaves in zd the larger of both. */
static void ref_join(const float *zm, float *zd, size_t n)
{
    for (size_t i = 0; i < n; i++)
        zd[i] = isnan(zm[i]) ? 0 : fmaxf(fabsf(zm[i]), fabsf(zd[i]));
}

/* Leaves in zm and zd of nblock blocks of B spectra those of means and deviations. */
static void ref_rate(const struct ref *r, size_t nblock, size_t B, const float *m, const float *d,
                     float *zm, float *zd)
{
    const size_t n = r->nchan;
    const float *l = r->l + r->nwindow * n, *s = r->s + r->nwindow * n;
    for (size_t k = 0; k < nblock; k++)
        for (size_t c = 0; c < n; c++) {
            bool live = r->keep[c] && r->S[c] > 0 && s[c] > 0 && isfinite(m[k * n + c]);
            double lc = r->step[c] == 255 ? (double)l[c] : k < r->step[c] ? r->L0[c] : r->L[c];
            double sc = (double)s[c];
            zm[k * n + c] =
                live ? (float)(((double)m[k * n + c] - lc) * sqrt((double)B) / sc) : NAN;
            zd[k * n + c] =
                live ? (float)(((double)d[k * n + c] / sc - 1) * sqrt(2 * (double)B)) : NAN;
        }
}

/* Whether a cell's z stands out of those of channels beside it. */
static bool ref_alone(const struct ref *r, const float *z, size_t nblock, size_t k, size_t c)
{
    const size_t n = r->nchan;
    size_t beside = 0, up = 0;
    for (size_t i = 0; i < n; i++) {
        bool near = i != c && (i > c ? i - c : c - i) <= 8 && !r->bad[i], above = false;
        for (size_t j = 0; j < nblock; j++)
            above |= (j > k ? j - k : k - j) <= 1 && z[j * n + i] > 2.5F;
        beside += near;
        up += near && above;
    }
    return z[k * n + c] > 5 && 2 * up < beside;
}

/* Masks of nblock blocks of B spectra; l, s, L and S are those of this window. */
static void ref_mask(struct ref *r, size_t nblock, size_t B, const float *m, const float *d,
                     unsigned char *masked)
{
    const size_t n = r->nchan, cells = nblock * n;
    const float *s = r->s + r->nwindow * n;
    float *zm = malloc(cells * sizeof *zm), *zd = malloc(cells * sizeof *zd);
    unsigned char *times = calloc(n, 1);
    ref_rate(r, nblock, B, m, d, zm, zd);
    float *near_zm = ref_copy(zm, cells), *near_zd = ref_copy(zd, cells);
    ref_level_out(zm, nblock, n);
    ref_level_out(zd, nblock, n);
    ref_level_beside(near_zm, nblock, n);
    ref_level_beside(near_zd, nblock, n);
    ref_wander(zm, nblock, n, times);
    ref_wander(near_zm, nblock, n, times);
    ref_join(zm, zd, cells);
    ref_join(near_zm, near_zd, cells);
    size_t least = (nblock + 3) / 4 > 2 ? (nblock + 3) / 4 : 2;
    for (size_t c = 0; c < n; c++) {
        size_t nbad = 0;
        for (size_t k = 0; k < nblock; k++)
            nbad += zd[k * n + c] > 5 && near_zd[k * n + c] > 5;
        r->bad[c] = !(r->keep[c] && r->S[c] > 0 && s[c] > 0) || nbad >= least || times[c] == 2;
    }
    for (size_t k = 0; k < nblock; k++)
        for (size_t c = 0; c < n; c++)
            masked[k * n + c] = r->bad[c] || isnan(m[k * n + c]) || ref_alone(r, zd, nblock, k, c);
    void *const own[] = {zm, zd, near_zm, near_zd, times};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        free(own[k]);
}

#endif
