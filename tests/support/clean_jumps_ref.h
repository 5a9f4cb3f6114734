/* clean_jumps_ref.h: steps of the level of the whole band, as psrkit/experimental/clean_auto.h defines them, by plain loops; a part of
 * clean_auto_ref.h. */
#ifndef PSR_TESTS_CLEAN_JUMPS_REF_H
#define PSR_TESTS_CLEAN_JUMPS_REF_H

/* Median over kept channels of x less l, in s. */
static double ref_level_of(const struct ref *r, const float *x, const double *l, const double *s)
{
    float *z = malloc(r->nchan * sizeof *z);
    for (size_t c = 0; c < r->nchan; c++)
        z[c] = r->keep[c] && s[c] > 0 ? (float)(((double)x[c] - l[c]) / s[c]) : NAN;
    const double middle = ref_median(z, r->nchan);
    free(z);
    return middle;
}

/* Decides whether levels hold in a window with means m of blocks; L0 and S0 are those of the window before. */
static void ref_hold(struct ref *r, size_t nblock, const float *m, const double *L0,
                     const double *S0)
{
    const size_t n = r->nchan;
    double z[18];
    const double change = ref_level_of(r, r->l + r->nwindow * n, L0, S0), before = r->tail;
    bool near = change > 0 ? before > 0.8 * change : before < 0.8 * change;
    for (size_t k = 0; k < nblock; k++)
        z[k + 1] = ref_level_of(r, m + k * n, L0, S0);
    z[0] = before;
    for (size_t k = 2; k <= nblock; k++)
        near |= fabs(z[k] - z[k - 2]) > 0.8 * fabs(change);
    r->held_prev = r->hold;
    r->hold = r->nwindow > 0 && fabs(change) > 0.2 && near;
    r->tail = ref_level_of(r, m + (nblock - 1) * n, r->L, r->S);
}

struct ref_jump {
    size_t first, end;
    double height[16];
};

struct ref_jumps {
    const struct ref_band *b;
    size_t ncell, size, n;
    double *band;     /* [n] of the band, in sigmas */
    long long *total; /* [n + 1] sums of the same times 2^20 before a spectrum, where it counts */
    size_t *ngood;    /* [n + 1] how many count before it */
    bool *good;       /* [n] */
    struct ref_jump jump[18];
};

/* Mean and spectra of cells. */
static double ref_height(const struct ref_jumps *j, size_t from, size_t to, double *n)
{
    const size_t t = from * j->size, end = to * j->size;
    const long long sum = j->total[end] - j->total[t];
    *n = (double)(j->ngood[end] - j->ngood[t]);
    return *n > 0 ? (double)sum / (1048576 * *n) : 0;
}

static double ref_sum8(const struct ref_jumps *j, size_t t)
{
    double sum = 0;
    for (size_t i = t; i < t + 8; i++)
        sum += j->band[i];
    return sum;
}

static bool ref_abrupt(double contrast, double height)
{
    return contrast > 5 && contrast > 0.5 * fabs(height) * 2;
}

/* Spectrum of an edge at a cell, or -1. */
static long ref_edge(const struct ref_jumps *j, size_t cell, double height)
{
    const long middle = (long)(cell * j->size), n = (long)j->b->n;
    double most = 0;
    long at = -1;
    for (long t = 8; t <= n - 8; t++) {
        if (labs(t - middle) > (long)j->size)
            continue;
        double now = (ref_sum8(j, (size_t)t) - ref_sum8(j, (size_t)t - 8)) / 4;
        now = height < 0 ? -now : now;
        if (now > most) {
            most = now;
            at = t;
        }
    }
    if (ref_abrupt(most, height))
        return at;
    return j->b->r->hold ? middle : -1;
}

/* Leaves in at[..][2] cells of stretches, from the first.  Returned: their number */
static size_t ref_segments(const struct ref_jumps *j, size_t (*at)[2])
{
    double best[257] = {0};
    size_t start[257], n = 0, N = j->ncell, list[257][2];
    for (size_t to = 1; to <= N; to++) {
        best[to] = best[to - 1];
        start[to] = to;
        for (size_t from = 0; from < to; from++) {
            const bool ends = from == 0 || to == N;
            double good, height = ref_height(j, from, to, &good);
            if (to - from < (ends ? 2 : 16))
                continue;
            if (best[from] + height * height * good - 400 > best[to]) {
                best[to] = best[from] + height * height * good - 400;
                start[to] = from;
            }
        }
    }
    for (size_t to = N; to > 0; to = start[to] < to ? start[to] : to - 1)
        if (start[to] < to) {
            list[n][0] = start[to];
            list[n++][1] = to;
        }
    for (size_t k = 0; k < n; k++)
        memcpy(at[k], list[n - 1 - k], sizeof *at);
    return n;
}

static void ref_measure_jump(const struct ref_jumps *j, struct ref_jump *s)
{
    const struct ref_band *b = j->b;
    for (size_t g = 0; g < b->ngroup; g++) {
        double sum = 0, n = 0;
        for (size_t t = s->first; t < s->end; t++) {
            const double count = b->count[t * b->ngroup + g];
            n += j->good[t];
            if (j->good[t] && count > 0)
                sum += b->u[t * b->ngroup + g] / (5 * sqrt(count));
        }
        s->height[g] = n > 0 ? sum / n : 0;
    }
}

static void ref_read_band(struct ref_jumps *j)
{
    const struct ref_band *b = j->b;
    for (size_t t = 0; t < b->n; t++) {
        double sum = 0, n = 0;
        for (size_t g = 0; g < b->ngroup; g++)
            if (b->enough[t] && b->count[t * b->ngroup + g] > 0) {
                sum += b->u[t * b->ngroup + g];
                n += b->count[t * b->ngroup + g];
            }
        j->band[t] = n > 0 ? sum / (5 * sqrt(n)) : 0;
        j->good[t] = b->enough[t] && !b->spark[t] && !b->burst[t];
        j->total[t + 1] = j->total[t] + (j->good[t] ? llrint(j->band[t] * 1048576) : 0);
        j->ngood[t + 1] = j->ngood[t] + j->good[t];
    }
}

/* Whether three quarters of the sub-bands have half of the median in cells at[0] .. at[1] - 1. */
static bool ref_whole(const struct ref_jumps *j, const size_t *at)
{
    struct ref_jump s = {.first = at[0] * j->size, .end = at[1] * j->size};
    float height[16];
    size_t n = 0, up = 0;
    ref_measure_jump(j, &s);
    for (size_t g = 0; g < j->b->ngroup; g++)
        if (s.height[g] != 0)
            height[n++] = (float)s.height[g];
    const double middle = n ? ref_median_copy(height, n) : 0;
    for (size_t k = 0; k < n; k++)
        up += (double)height[k] / middle > 0.5;
    return n && up >= n - n / 4;
}

/* Stretches of the band whose edges are abrupt.  Returned: whether the last ends with the window */
static bool ref_find_jumps(struct ref_jumps *j)
{
    struct ref *r = j->b->r;
    size_t at[257][2], n = ref_segments(j, at);
    bool open = false, alone[257];
    for (size_t k = 0; k < n; k++) {
        double good;
        const double now = ref_height(j, at[k][0], at[k][1], &good),
                     before = k > 0 && at[k - 1][1] == at[k][0]
                                  ? ref_height(j, at[k - 1][0], at[k - 1][1], &good)
                                  : 0,
                     after = k + 1 < n && at[k + 1][0] == at[k][1]
                                 ? ref_height(j, at[k + 1][0], at[k + 1][1], &good)
                                 : 0;
        const bool last = at[k][1] == j->ncell;
        const double begin = (ref_sum8(j, 24) - r->last_sum) / 4 * (now < 0 ? -1 : 1);
        long first = at[k][0] ? ref_edge(j, at[k][0], now - before) : 0,
             end = last ? (long)j->b->n : ref_edge(j, at[k][1], after - now);
        if (at[k][0] == 0 && !r->open && !r->hold && !ref_abrupt(begin, now))
            first = -1;
        alone[k] = first < 0 || end < 0 || first >= end;
        if (alone[k])
            continue;
        struct ref_jump *s = &j->jump[j->n++];
        *s = (struct ref_jump){.first = (size_t)first, .end = (size_t)end};
        ref_measure_jump(j, s);
        open |= last;
    }
    for (size_t k = 0; k < n; k++) {
        const struct ref_run run =
            ref_widen(at[k][0] * j->size, at[k][1] * j->size, k ? at[k - 1][1] * j->size : 0,
                      k + 1 < n ? at[k + 1][0] * j->size : j->b->n);
        if (alone[k] && (at[k][0] || r->burst_open) && ref_whole(j, at[k]) &&
            ref_delayed(ref_delay_of(j->b, run, false), 0))
            ref_mark_burst(j->b, run);
    }
    r->burst_open = j->b->burst[j->b->n - 1];
    return open;
}

/* Few spectra at the end are in the jump that the last window ended in, or nothing is.  Returned: whether they are */
static bool ref_go_on(struct ref_jumps *j)
{
    double sum = 0;
    for (size_t t = 0; t < j->b->n; t++)
        sum += j->band[t];
    const bool on = j->b->r->open && sum * sum >= 400 * (double)j->b->n;
    if (on) {
        j->jump[0] = (struct ref_jump){.end = j->b->n};
        ref_measure_jump(j, &j->jump[j->n++]);
    }
    return on;
}

/* Takes jumps out of u, and leaves in less what they are.  Returned: whether there are some */
static bool ref_take_jumps(struct ref_band *b, bool first, float *less)
{
    struct ref *r = b->r;
    struct ref_jumps j = {.b = b, .size = r->block / 16, .ncell = b->n / (r->block / 16)};
    if (first) {
        r->open = r->burst_open = false;
        r->last_sum = 0;
        return false;
    }
    j.band = malloc(b->n * sizeof *j.band);
    j.total = calloc(b->n + 1, sizeof *j.total);
    j.ngood = calloc(b->n + 1, sizeof *j.ngood);
    j.good = malloc(b->n * sizeof *j.good);
    ref_read_band(&j);
    const bool open = b->n < 64 ? ref_go_on(&j) : ref_find_jumps(&j);
    for (size_t k = 0; k < j.n; k++)
        for (size_t t = j.jump[k].first; t < j.jump[k].end; t++)
            for (size_t g = 0; g < b->ngroup; g++) {
                const double n = b->enough[t] ? b->count[t * b->ngroup + g] : 0,
                             level = n > 0 ? 5 * j.jump[k].height[g] / sqrt(n) : 0;
                less[t * b->ngroup + g] += (float)level;
                b->u[t * b->ngroup + g] -= (int)lrint(level * n);
            }
    ref_read_band(&j);
    r->last_sum = b->n < 64 ? r->last_sum : ref_sum8(&j, b->n - 32);
    r->open = open && !r->hold;
    free(j.band);
    free(j.total);
    free(j.ngood);
    free(j.good);
    return j.n > 0;
}

#endif
