/* Interpolates amplitudes and climbs powers as accelsearch does, rounding where it rounds. */
#include "presto_internal.h"

#include "search/matched/response/response.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

static const double NO_DRIFT = 1e-4, ON_BIN = 1e-5;

/* --- Fresnel integrals ------------------------------------------------------------------------ */

/* C(x) = 1/2 + f sin(t) - g cos(t) and S(x) = 1/2 - f cos(t) - g sin(t), t = pi x^2 / 2, where
 * f' = -pi x g, g' = pi x f - 1 and f(0) = g(0) = 1/2 (Abramowitz and Stegun 7.3.9, 7.3.10, 7.3.21): smooth, and
 * series of few terms around places NODES to a unit; beyond FAR their asymptotic ones (7.3.27, 7.3.28). */
enum { NODES = 16, FAR = 8, TERMS = 18, FAR_TERMS = 6 };

struct fresnel_node {
    double f[TERMS], g[TERMS];
};

static double horner(const double c[TERMS], double x)
{
    double sum = c[TERMS - 1];
    for (int n = TERMS - 2; n >= 0; n--)
        sum = sum * x + c[n];
    return sum;
}

static void fill_nodes(struct fresnel_node node[NODES * FAR + 1])
{
    double f = 0.5, g = 0.5;
    for (int i = 0; i <= NODES * FAR; i++) {
        const double x = (double)i / NODES;
        double *a = node[i].f, *b = node[i].g;
        a[0] = f;
        b[0] = g;
        a[1] = -M_PI * x * g;
        b[1] = M_PI * x * f - 1;
        for (int n = 1; n + 1 < TERMS; n++) {
            a[n + 1] = -M_PI * (x * b[n] + b[n - 1]) / (n + 1);
            b[n + 1] = M_PI * (x * a[n] + a[n - 1]) / (n + 1);
        }
        f = horner(a, 1.0 / NODES);
        g = horner(b, 1.0 / NODES);
    }
}

static void fresnel(const struct fresnel_node *node, double at, double *s, double *c)
{
    const double x = fabs(at), turn = M_PI_2 * (x * x);
    double f = 0, g = 0;
    if (x < FAR) {
        const int i = (int)(x * NODES + 0.5);
        f = horner(node[i].f, x - (double)i / NODES);
        g = horner(node[i].g, x - (double)i / NODES);
    } else {
        const double u = 1 / (M_PI * x * x), v = u * u;
        double term = 1;
        for (int n = 0; n < FAR_TERMS; n++) {
            f += term;
            term *= (4 * n + 1);
            g += term;
            term *= -(4 * n + 3) * v;
        }
        f /= M_PI * x;
        g *= u / (M_PI * x);
    }
    *c = copysign(0.5 + (f * sin(turn) - g * cos(turn)), at);
    *s = copysign(0.5 - (f * cos(turn) + g * sin(turn)), at);
}

/* --- responses -------------------------------------------------------------------------------- */

/* A thread's latest response. */
struct psr_presto_kernel {
    float complex *k; /* [room] */
    size_t room;
    double z, w, offset; /* that it is of */
    int half;            /* 0: none */
    struct fresnel_node node[NODES * FAR + 1];
};

psr_status psr_presto_response_make(struct psr_presto_response *p, const float *x, int64_t nbin,
                                    psr_err *err)
{
    *p = (struct psr_presto_response){.x = x, .nbin = nbin};
    p->kernel = calloc(1, sizeof *p->kernel);
    if (!p->kernel)
        return psr_fail_nomem(err, "responses", sizeof *p->kernel);
    fill_nodes(p->kernel->node);
    return psr_response_maker_create(&p->maker, err);
}

void psr_presto_response_clear(struct psr_presto_response *p)
{
    psr_response_maker_destroy(p->maker);
    if (p->kernel)
        free(p->kernel->k);
    free(p->kernel);
    *p = (struct psr_presto_response){0};
}

/* Of a frequency offset above a bin, that does not drift, in bins -half .. half - 1. */
static void fill_steady(float complex *k, double offset, int half)
{
    double r = M_PI * (half + offset);
    for (int i = 0; i < 2 * half; i++, r -= M_PI) {
        const double s = sin(r), sinc = s / r;
        k[i] = (float)(cos(r) * sinc) + I * (float)(s * sinc);
    }
}

/* Of one that drifts by z. */
static void fill_drifting(const struct fresnel_node *node, float complex *k, double z,
                          double offset, int half)
{
    const int sign = z < 0 ? -1 : 1;
    const double scale = sign * M_SQRT2 / sqrt(fabs(z)), half_scale = scale / 2, per_z = M_PI / z;
    double r = offset - 0.5 * z + half;
    for (int i = 0; i < 2 * half; i++, r -= 1) {
        const double from = r * scale, to = from + z * scale, turn = per_z * r * r;
        double s[2], c[2];
        fresnel(node, from, &s[0], &c[0]);
        fresnel(node, to, &s[1], &c[1]);
        const double re = sign * (c[1] - c[0]), im = s[0] - s[1];
        k[i] = (float)((re * cos(turn) - im * sin(turn)) * half_scale) -
               I * (float)((re * sin(turn) + im * cos(turn)) * half_scale);
    }
}

static psr_status hold(struct psr_presto_kernel *h, struct psr_response_maker *maker, double z,
                       double w, double offset, int half, psr_err *err)
{
    const size_t n = 2 * (size_t)half;
    if (h->half == half && !(h->z < z) && !(h->z > z) && !(h->w < w) && !(h->w > w) &&
        !(h->offset < offset) && !(h->offset > offset))
        return PSR_OK;
    h->half = 0;
    if (n > h->room) {
        free(h->k);
        h->k = malloc(n * sizeof *h->k);
        h->room = h->k ? n : 0;
        if (!h->k)
            return psr_fail_nomem(err, "a response", (double)n * sizeof *h->k);
    }
    psr_status st = PSR_OK;
    if (fabs(w) >= NO_DRIFT)
        st = psr_response_sample(maker, z, w, offset, 1, half, h->k, err);
    else if (fabs(z) >= NO_DRIFT)
        fill_drifting(h->node, h->k, z, offset, half);
    else
        fill_steady(h->k, offset, half);
    if (st)
        return st;
    h->z = z;
    h->w = w;
    h->offset = offset;
    h->half = half;
    return PSR_OK;
}

psr_status psr_presto_amplitude(struct psr_presto_response *p, double r, double z, double w,
                                int half, double complex *a, psr_err *err)
{
    *a = 0;
    if (!(r >= 0 && r <= (double)p->nbin - 1))
        return PSR_OK;
    const int64_t whole = (int64_t)r;
    const double offset = r - (double)whole;
    if (fabs(w) < NO_DRIFT && fabs(z) < NO_DRIFT && (offset < ON_BIN || 1 - offset < ON_BIN)) {
        const float *bin = p->x + 2 * (whole + (offset > 0.5));
        *a = (double)bin[0] + I * (double)bin[1];
        return PSR_OK;
    }
    psr_status st = hold(p->kernel, p->maker, z, w, offset, half, err);
    const float complex *response = p->kernel->k;
    /* One product and both sums are of single precision. */
    float re = 0, im = 0;
    for (int64_t i = 0; i < 2 * half && !st; i++) {
        const int64_t k = whole - half + i;
        if (k < 0 || k >= p->nbin)
            continue;
        const float xi = p->x[2 * k + 1], ki = cimagf(response[i]);
        const double xr = (double)p->x[2 * k], kr = (double)crealf(response[i]);
        re = (float)((double)re + (xr * kr + (double)(xi * ki)));
        im = (float)((double)im + ((double)xi * kr - xr * (double)ki));
    }
    *a = (double)re + I * (double)im;
    return st;
}

/* --- the climb -------------------------------------------------------------------------------- */

/* Nelder and Mead's descent in two variables, as the GNU Scientific Library's nmsimplex2 does it: its middle and size
 * are kept up from move to move, and their rounding says where a flat bottom ends it. */
enum { CORNERS = 3, MOST_MOVES = 5000 };

struct simplex {
    const struct psr_simplex *f;
    double corner[CORNERS][2], value[CORNERS], middle[2], size2;
};

static void measure(struct simplex *s)
{
    double sum = 0;
    for (int d = 0; d < 2; d++)
        s->middle[d] = (s->corner[0][d] + s->corner[1][d] + s->corner[2][d]) * (1.0 / CORNERS);
    for (int i = 0; i < CORNERS; i++) {
        const double dx = s->corner[i][0] - s->middle[0], dy = s->corner[i][1] - s->middle[1];
        sum += dx * dx + dy * dy;
    }
    s->size2 = sum / CORNERS;
}

/* The value at a corner moved to so many times its distance from the middle of the others. */
static double try_move(const struct simplex *s, double times, int i, double x[2])
{
    const double a = (1 - times) * CORNERS / (CORNERS - 1.0),
                 b = (CORNERS * times - 1) / (CORNERS - 1.0);
    for (int d = 0; d < 2; d++)
        x[d] = s->middle[d] * a + b * s->corner[i][d];
    return s->f->value(s->f->ctx, x);
}

static void move(struct simplex *s, int i, const double x[2], double value)
{
    double by2 = 0, along = 0;
    for (int d = 0; d < 2; d++) {
        const double by = x[d] - s->corner[i][d];
        by2 += by * by;
        along += (s->corner[i][d] - s->middle[d]) * by;
    }
    s->size2 += 2.0 / CORNERS * along + (CORNERS - 1.0) / CORNERS * (by2 / CORNERS);
    for (int d = 0; d < 2; d++) {
        s->middle[d] += 1.0 / CORNERS * (x[d] - s->corner[i][d]);
        s->corner[i][d] = x[d];
    }
    s->value[i] = value;
}

static void contract(struct simplex *s, int best)
{
    for (int i = 0; i < CORNERS; i++) {
        if (i == best)
            continue;
        for (int d = 0; d < 2; d++)
            s->corner[i][d] = 0.5 * (s->corner[i][d] + s->corner[best][d]);
        s->value[i] = s->f->value(s->f->ctx, s->corner[i]);
    }
    measure(s);
}

static int lowest(const double value[CORNERS])
{
    int low = 0;
    for (int i = 1; i < CORNERS; i++)
        low = value[i] < value[low] ? i : low;
    return low;
}

static void advance(struct simplex *s)
{
    const int low = lowest(s->value);
    int high = 0;
    for (int i = 1; i < CORNERS; i++)
        high = s->value[i] > s->value[high] ? i : high;
    double second = -HUGE_VAL, x[2], x2[2];
    for (int i = 0; i < CORNERS; i++)
        second = i != high ? fmax(second, s->value[i]) : second;
    const double value = try_move(s, -1, high, x);
    if (value < s->value[low]) {
        const double value2 = try_move(s, -2, high, x2);
        const bool farther = value2 < s->value[low];
        move(s, high, farther ? x2 : x, farther ? value2 : value);
    } else if (value > second) {
        if (value <= s->value[high])
            move(s, high, x, value);
        const double value2 = try_move(s, 0.5, high, x2);
        if (value2 <= s->value[high])
            move(s, high, x2, value2);
        else
            contract(s, low);
    } else {
        move(s, high, x, value);
    }
}

void psr_presto_descend(const struct psr_simplex *f, double x[2], double step, double tol)
{
    struct simplex s = {.f = f};
    for (int i = 0; i < CORNERS; i++) {
        for (int d = 0; d < 2; d++)
            s.corner[i][d] = x[d] + (i == d + 1 ? step : 0);
        s.value[i] = f->value(f->ctx, s.corner[i]);
    }
    measure(&s);
    for (int n = 0; n < MOST_MOVES; n++) {
        advance(&s);
        if (!(s.size2 > 0))
            measure(&s);
        if (sqrt(s.size2) < tol)
            break;
    }
    const int low = lowest(s.value);
    x[0] = s.corner[low][0];
    x[1] = s.corner[low][1];
}
