/* simplex: every point that the search for a minimum looks at, against the method written plainly. */
#include "stats/stats.h"

#include "tests/support/tap.h"

#include <string.h>

enum { MOST = PSR_SIMPLEX_MOST, MOST_SEEN = 20000 };

/* A function, and the points at which it was asked for. */
struct watched {
    int n, kind;
    double centre[MOST], scale[MOST];
    int nseen;
    double seen[MOST_SEEN][MOST];
};

static double value_at(const struct watched *w, const double *x)
{
    double sum = 0, u[MOST] = {0};
    for (int d = 0; d < w->n; d++)
        u[d] = (x[d] - w->centre[d]) * w->scale[d];
    for (int d = 0; d < w->n; d++)
        sum += u[d] * u[d];
    if (w->kind == 1) /* a valley that bends */
        for (int d = 1; d < w->n; d++)
            sum += 30 * (u[d] - u[d - 1] * u[d - 1]) * (u[d] - u[d - 1] * u[d - 1]);
    if (w->kind == 2) /* ripples, as in powers around a peak */
        for (int d = 0; d < w->n; d++)
            sum += 1 - cos(5 * u[d]);
    return w->kind == 3 ? fabs(u[0]) + floor(sum) : sum; /* steps: equal values */
}

static double ask(void *ctx, const double *x)
{
    struct watched *w = ctx;
    if (w->nseen < MOST_SEEN)
        memcpy(w->seen[w->nseen], x, (size_t)w->n * sizeof *x);
    w->nseen++;
    return value_at(w, x);
}

struct point {
    double x[MOST], value;
};

static struct point point_at(struct watched *w, const double *x)
{
    struct point p = {0};
    memcpy(p.x, x, (size_t)w->n * sizeof *x);
    p.value = ask(w, x);
    return p;
}

/* From the worst of the n + 1 points through the middle of the others, "by" times as far beyond it. */
static struct point through_middle(struct watched *w, const struct point *p, double by)
{
    double x[MOST];
    for (int d = 0; d < w->n; d++) {
        double middle = 0;
        for (int i = 0; i < w->n; i++)
            middle += p[i].x[d] / w->n;
        x[d] = middle - by * (p[w->n].x[d] - middle);
    }
    return point_at(w, x);
}

static void put_in_order(struct point *p, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && p[k].value < p[k - 1].value; k--) {
            struct point was = p[k];
            p[k] = p[k - 1], p[k - 1] = was;
        }
}

/* Nelder and Mead 1965, with their factors 1, 2 and 1/2. */
static void move_plainly(struct watched *w, struct point *p)
{
    const int n = w->n;
    struct point r = through_middle(w, p, 1);
    if (r.value < p[0].value) {
        struct point e = through_middle(w, p, 2);
        p[n] = e.value < p[0].value ? e : r;
        return;
    }
    if (r.value <= p[n - 1].value) {
        p[n] = r;
        return;
    }
    if (r.value <= p[n].value)
        p[n] = r;
    struct point c = through_middle(w, p, -0.5);
    if (c.value <= p[n].value) {
        p[n] = c;
        return;
    }
    for (int i = 1; i <= n; i++) {
        double x[MOST];
        for (int d = 0; d < n; d++)
            x[d] = (p[i].x[d] + p[0].x[d]) / 2;
        p[i] = point_at(w, x);
    }
}

/* Root of the mean square distance from the middle. */
static double spread(const struct point *p, int n)
{
    double sum = 0;
    for (int d = 0; d < n; d++) {
        double middle = 0;
        for (int i = 0; i <= n; i++)
            middle += p[i].x[d] / (n + 1);
        for (int i = 0; i <= n; i++)
            sum += (p[i].x[d] - middle) * (p[i].x[d] - middle);
    }
    return sqrt(sum / (n + 1));
}

static double descend_plainly(struct watched *w, double *x, double step, double tol)
{
    struct point p[MOST + 1];
    for (int i = 0; i <= w->n; i++) {
        double at[MOST];
        memcpy(at, x, (size_t)w->n * sizeof *x);
        if (i > 0)
            at[i - 1] += step;
        p[i] = point_at(w, at);
    }
    put_in_order(p, w->n + 1);
    for (int move = 0; move < 5000 && spread(p, w->n) >= tol; move++) {
        move_plainly(w, p);
        put_in_order(p, w->n + 1);
    }
    memcpy(x, p[0].x, (size_t)w->n * sizeof *x);
    return p[0].value;
}

static void test_against_plain_method(uint64_t *seed)
{
    static struct watched plain, fast;
    int wrong = 0, far = 0, kinds[4] = {0};
    for (int trial = 0; trial < 400; trial++) {
        double x[MOST], y[MOST], step = exp(tap_normal(seed)),
                                 tol = exp(-4 - 10 * tap_uniform(seed));
        plain.n = (int)tap_between(seed, 1, MOST);
        plain.kind = trial % 4;
        for (int d = 0; d < plain.n; d++) {
            plain.centre[d] = 5 * tap_normal(seed), plain.scale[d] = exp(tap_normal(seed));
            x[d] = y[d] = plain.centre[d] + 2 * tap_normal(seed);
        }
        plain.nseen = 0;
        fast = plain;
        const struct psr_simplex f = {ask, &fast, fast.n};
        double want = descend_plainly(&plain, x, step, tol),
               got = psr_simplex_descend(&f, y, step, tol);
        size_t each = sizeof *x * (size_t)plain.n;
        bool same = plain.nseen == fast.nseen && !memcmp(x, y, each) && got <= want && got >= want;
        for (int k = 0; same && k < plain.nseen && k < MOST_SEEN; k++)
            for (int d = 0; d < plain.n; d++)
                same = same && fabs(plain.seen[k][d] - fast.seen[k][d]) <= 1e-13 * (1 + fabs(x[d]));
        wrong += !same;
        kinds[plain.kind] += plain.nseen > 3 * plain.n;
        for (int d = 0; d < plain.n && plain.kind == 0; d++)
            far += fabs(y[d] - plain.centre[d]) > 10 * tol;
    }
    ok(wrong == 0 && kinds[0] && kinds[1] && kinds[2] && kinds[3],
       "400 descents look at the same points (%d do not)", wrong);
    /* A flat simplex can end before: one coordinate of some 2000. */
    ok(far <= 4, "and end at the minimum of a bowl, but for %d coordinates", far);
}

/* A tolerance that is never met: 5000 moves.  One that is met at once: none. */
static void test_end(void)
{
    static struct watched plain = {.n = 2, .kind = 1, .scale = {1, 2}}, fast;
    double x[] = {3, 4}, y[] = {3, 4};
    fast = plain;
    const struct psr_simplex f = {ask, &fast, 2};
    descend_plainly(&plain, x, 1, 0);
    psr_simplex_descend(&f, y, 1, 0);
    ok(fast.nseen == plain.nseen && fast.nseen > 5000, "5000 moves, %d values", fast.nseen);
    fast.nseen = 0;
    psr_simplex_descend(&f, y, 0.5, 1);
    ok(fast.nseen == 3, "corners that are near each other do not move");
}

/* From two places near the minimum of ripples the same place is reached, and the bowl's own; nothing moves
 * on a hilltop, on steps, and far from the minimum. */
static void test_polish(uint64_t *seed)
{
    double apart = 0, off = 0;
    int moved = 0;
    for (int trial = 0; trial < 300; trial++) {
        static struct watched w;
        w = (struct watched){.n = 1 + trial % MOST, .kind = trial % 2 ? 2 : 0};
        double x[2][MOST];
        for (int d = 0; d < w.n; d++) {
            w.centre[d] = tap_uniform(seed);
            w.scale[d] = 0.5 + tap_uniform(seed);
            for (int k = 0; k < 2; k++)
                x[k][d] = w.centre[d] + 2e-3 * (tap_uniform(seed) - 0.5);
        }
        const struct psr_simplex f = {ask, &w, w.n};
        for (int k = 0; k < 2; k++)
            psr_simplex_polish(&f, x[k], 0.02);
        for (int d = 0; d < w.n; d++) {
            apart = fmax(apart, fabs(x[0][d] - x[1][d]));
            off = fmax(off, fabs(x[0][d] - w.centre[d]));
        }
    }
    ok(apart < 1e-8 && off < 1e-8, "polished places are %.1e apart and %.1e off", apart, off);
    for (int kind = 0; kind < 4; kind++) {
        static struct watched w;
        w = (struct watched){.n = 2, .kind = kind == 1 ? 3 : kind == 3 ? 0 : 2, .scale = {1, 1}};
        double x[MOST] = {kind == 2 ? M_PI / 5 : kind == 3 ? 5 : 0.001, kind == 2 ? M_PI / 5 : 0};
        const double was[2] = {x[0], x[1]};
        const struct psr_simplex f = {ask, &w, 2};
        psr_simplex_polish(&f, x, 0.02);
        moved += kind > 0 && (memcmp(x, was, sizeof was) != 0);
    }
    ok(moved == 0, "a hilltop, steps and a far minimum move nothing");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_against_plain_method(&seed);
    test_end();
    test_polish(&seed);
    return done_testing();
}
