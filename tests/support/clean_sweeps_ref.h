/* clean_sweeps_ref.h: whether a delay fits a run of sparks better than none, as psrkit/experimental/clean_auto.h defines it, by plain
 * loops; a part of clean_auto_ref.h. */
#ifndef PSR_TESTS_CLEAN_SWEEPS_REF_H
#define PSR_TESTS_CLEAN_SWEEPS_REF_H

static const size_t ref_triangle[12] = {1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64};

/* Bins of a run and of what is beside it, [16][128]. */
struct ref_bins {
    size_t n, first, end, ngroup;
    double s[16][128];
};

static struct ref_bins ref_bin_run(const struct ref_band *b, struct ref_run run, size_t low,
                                   size_t high)
{
    struct ref_bins x = {0};
    size_t beside = 2 * (run.end - run.first);
    beside = beside < 8 ? 8 : beside;
    const size_t from = run.first < low + beside ? low : run.first - beside,
                 to = run.end + beside > high ? high : run.end + beside,
                 size = (size_t)ceil((double)(to - from) / 128);
    x.n = (to - from) / size;
    x.first = (run.first - from) / size;
    x.end = (run.end - from) / size;
    x.end = x.end > x.n ? x.n : x.end;
    for (size_t g = 0; g < b->ngroup; g++) {
        bool any = false;
        for (size_t i = 0; i < x.n * size; i++) {
            const size_t t = from + i;
            const double count = b->enough[t] ? b->count[t * b->ngroup + g] : 0;
            const double s = count > 0 ? b->u[t * b->ngroup + g] / (5 * sqrt(count)) : 0;
            x.s[g][i / size] += s / sqrt((double)size);
            any |= s != 0;
        }
        x.ngroup += any;
    }
    return x;
}

/* Sums over sub-bands at a delay of so many bins. */
static void ref_add_bins(const struct ref_band *b, const struct ref_bins *x, double delay,
                         double *sum)
{
    for (size_t i = 0; i < 128; i++)
        sum[i] = 0;
    for (size_t g = 0; g < b->ngroup; g++) {
        const size_t nchan = b->r->nchan, first = g * nchan / b->ngroup,
                     end = (g + 1) * nchan / b->ngroup;
        const double place = (double)(first + end) / (2 * (double)nchan) - 0.5;
        for (long i = 0; i < (long)x->n; i++) {
            const long from = i + lrint(delay * place);
            sum[i] += from >= 0 && from < (long)x->n ? x->s[g][from] : 0;
        }
    }
}

/* Best S/N of a triangle of number k whose middle is in bins first .. end - 1. */
static double ref_best(const struct ref_bins *x, const double *sum, size_t k, size_t first,
                       size_t end)
{
    const long w = (long)ref_triangle[k];
    double best = 0, squares = 0;
    for (long d = 1 - w; d < w; d++)
        squares += (double)((w - labs(d)) * (w - labs(d)));
    for (long i = (long)first; i < (long)end; i++) {
        double now = 0;
        for (long d = 1 - w; d < w; d++)
            now += i + d >= 0 && i + d < (long)x->n ? sum[i + d] * (double)(w - labs(d)) : 0;
        best = fmax(best, now / sqrt(squares * (double)x->ngroup));
    }
    return best;
}

static bool ref_fits_delay(const struct ref_band *b, struct ref_run run, size_t low, size_t high)
{
    const struct ref_bins x = ref_bin_run(b, run, low, high);
    double sum[128], all = 0, none = 0;
    size_t widest = 0;
    ref_add_bins(b, &x, 0, sum);
    for (size_t i = x.first; i < x.end; i++)
        all += sum[i];
    for (size_t k = 0; k < 12 && ref_triangle[k] <= x.n; k++) {
        const double now = ref_best(&x, sum, k, 0, x.n);
        widest = now > none ? k : widest;
        none = fmax(none, now);
    }
    if (!x.ngroup || all <= 0)
        return false;
    const double first = (double)ref_triangle[widest] / 10;
    for (double delay = first > 1 ? first : 1; delay < (double)x.n; delay *= 1.4) {
        ref_add_bins(b, &x, delay, sum);
        for (size_t k = widest > 4 ? widest - 4 : 0; k <= widest; k++)
            if (pow(ref_best(&x, sum, k, x.first, x.end), 2) > 1.003 * none * none + 4)
                return true;
    }
    return false;
}

#endif
