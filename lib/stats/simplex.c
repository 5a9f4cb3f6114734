/* Minimises a function by the simplex method of Nelder and Mead. */
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST = PSR_SIMPLEX_MOST, MOST_MOVES = 5000 };

struct corner {
    double x[MOST], value;
};

struct state {
    const struct psr_simplex *f;
    struct corner corner[MOST + 1]; /* the best first */
};

static void sort(struct state *s)
{
    for (int i = 1; i <= s->f->n; i++)
        for (int k = i; k > 0 && s->corner[k].value < s->corner[k - 1].value; k--) {
            struct corner c = s->corner[k];
            s->corner[k] = s->corner[k - 1];
            s->corner[k - 1] = c;
        }
}

/* The worst corner moved along the line through the middle of the others, to so many times its
 * distance. */
static struct corner move_worst(const struct state *s, double times)
{
    const int n = s->f->n;
    struct corner c;
    for (int d = 0; d < n; d++) {
        double middle = 0;
        for (int i = 0; i < n; i++)
            middle += s->corner[i].x[d] / n;
        c.x[d] = middle + times * (s->corner[n].x[d] - middle);
    }
    c.value = s->f->value(s->f->ctx, c.x);
    return c;
}

static void advance(struct state *s)
{
    struct corner *worst = &s->corner[s->f->n], mirrored = move_worst(s, -1);
    if (mirrored.value < s->corner[0].value) {
        struct corner beyond = move_worst(s, -2);
        *worst = beyond.value < s->corner[0].value ? beyond : mirrored;
    } else if (mirrored.value <= s->corner[s->f->n - 1].value) {
        *worst = mirrored;
    } else {
        if (mirrored.value <= worst->value)
            *worst = mirrored;
        struct corner inside = move_worst(s, 0.5);
        if (inside.value <= worst->value)
            *worst = inside;
        else {
            for (int i = 1; i <= s->f->n; i++) {
                for (int d = 0; d < s->f->n; d++)
                    s->corner[i].x[d] = (s->corner[i].x[d] + s->corner[0].x[d]) / 2;
                s->corner[i].value = s->f->value(s->f->ctx, s->corner[i].x);
            }
        }
    }
    sort(s);
}

static double size_of(const struct state *s)
{
    const int n = s->f->n;
    double sum = 0;
    for (int d = 0; d < n; d++) {
        double middle = 0;
        for (int i = 0; i <= n; i++)
            middle += s->corner[i].x[d] / (n + 1);
        for (int i = 0; i <= n; i++)
            sum += (s->corner[i].x[d] - middle) * (s->corner[i].x[d] - middle);
    }
    return sqrt(sum / (n + 1));
}

double psr_simplex_descend(const struct psr_simplex *f, double *x, double step, double tol)
{
    struct state s = {.f = f};
    for (int i = 0; i <= f->n; i++) {
        memcpy(s.corner[i].x, x, (size_t)f->n * sizeof *x);
        if (i > 0)
            s.corner[i].x[i - 1] += step;
        s.corner[i].value = f->value(f->ctx, s.corner[i].x);
    }
    sort(&s);
    for (int k = 0; k < MOST_MOVES && size_of(&s) >= tol; k++)
        advance(&s);
    memcpy(x, s.corner[0].x, (size_t)f->n * sizeof *x);
    return s.corner[0].value;
}

/* --- the bottom ------------------------------------------------------------------------------- */

static double value_near(const struct psr_simplex *f, const double *x, int i, double di, int k,
                         double dk)
{
    double at[MOST];
    memcpy(at, x, (size_t)f->n * sizeof *at);
    at[i] += di;
    at[k] += dk;
    return f->value(f->ctx, at);
}

/* Solves a [n][n + 1], symmetric and positive, without pivots.  Returned: whether it is positive */
static bool solve(double a[MOST][MOST + 1], int n, double *out)
{
    for (int i = 0; i < n; i++) {
        if (!(a[i][i] > 0))
            return false;
        for (int k = i + 1; k < n; k++)
            for (int j = n; j >= i; j--)
                a[k][j] -= a[i][j] * a[k][i] / a[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        out[i] = a[i][n];
        for (int k = i + 1; k < n; k++)
            out[i] -= a[i][k] * out[k];
        out[i] /= a[i][i];
    }
    return true;
}

void psr_simplex_polish(const struct psr_simplex *f, double *x, double reach)
{
    const int n = f->n;
    double at[MOST], step[MOST];
    memcpy(at, x, (size_t)n * sizeof *x);
    for (int pass = 0; pass < 2; pass++) {
        const double here = f->value(f->ctx, at);
        double a[MOST][MOST + 1], up[MOST];
        for (int i = 0; i < n; i++) {
            up[i] = value_near(f, at, i, reach, i, 0);
            const double down = value_near(f, at, i, -reach, i, 0);
            a[i][i] = up[i] + down - 2 * here;
            a[i][n] = (down - up[i]) / 2;
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < i; k++)
                a[i][k] = a[k][i] = value_near(f, at, i, reach, k, reach) - up[i] - up[k] + here;
        if (!solve(a, n, step))
            return;
        for (int i = 0; i < n; i++) {
            if (!(fabs(step[i]) <= 1))
                return;
            at[i] += reach * step[i];
        }
    }
    memcpy(x, at, (size_t)n * sizeof *x);
}
