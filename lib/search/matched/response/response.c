/* Computes responses to drift and jerk by transforming the signal. */
#include "response.h"

#include "accel_internal.h"
#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "stats/stats.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- banks of templates ----------------------------------------------------------------------- */

int psr_template_reach(int jmax, int lmax)
{
    /* Of opposite signs, or of the same: the deviation at one end is (w / 6 +- z) / 2. */
    return psr_response_halfwidth(PSR_STEP_Z * jmax, PSR_STEP_W * lmax, false);
}

static double of_z(size_t t, int jmax)
{
    return PSR_STEP_Z * ((double)(t % (2 * (size_t)jmax + 1)) - jmax);
}

static double of_w(size_t t, int jmax, int lmax)
{
    return PSR_STEP_W * ((double)(t / (2 * (size_t)jmax + 1)) - lmax);
}

static size_t count(int jmax, int lmax)
{
    return (2 * (size_t)jmax + 1) * (2 * (size_t)lmax + 1);
}

double psr_template_bank_bytes(const struct psr_correlator *c, int jmax, int lmax, bool taps)
{
    double n = (double)count(jmax, lmax);
    double bytes = 2.0 * sizeof(float) * (double)psr_correlator_block(c);
    for (size_t t = 0; taps && t < count(jmax, lmax); t++) {
        int half = psr_response_halfwidth(of_z(t, jmax), of_w(t, jmax, lmax), false);
        bytes += 4.0 * sizeof(float) * (double)psr_template_taps(half) / n;
    }
    return n * bytes;
}

static psr_status allocate(struct psr_template_bank *b, bool taps, psr_err *err)
{
    size_t ntap = 0, nfloat = 2 * b->n * psr_correlator_block(b->correlator);
    b->half = malloc(b->n * sizeof *b->half);
    b->spectrum = psr_line_alloc(nfloat);
    b->at = taps ? malloc(b->n * sizeof *b->at) : NULL;
    if (!b->half || !b->spectrum || (taps && !b->at))
        return psr_fail_nomem(err, "templates", (double)nfloat * sizeof *b->spectrum);
    for (size_t t = 0; t < b->n; t++) {
        b->half[t] = psr_response_halfwidth(of_z(t, b->jmax), of_w(t, b->jmax, b->lmax), false);
        if (taps)
            b->at[t] = ntap;
        ntap += 4 * psr_template_taps(b->half[t]);
    }
    b->taps = taps ? psr_line_alloc(ntap) : NULL;
    return taps && !b->taps ? psr_fail_nomem(err, "templates", (double)ntap * sizeof *b->taps)
                            : PSR_OK;
}

/* k [4 half] at half bins from -half: its whole bins, or those half a bin above. */
static void take_half(struct psr_template_bank *b, size_t t, const float complex *k, int odd,
                      float complex *alone, float *work)
{
    const int half = b->half[t];
    for (int i = 0; i < 2 * half; i++)
        alone[i] = k[2 * i + odd];
    psr_correlator_take_response(b->correlator, alone, half, odd, work,
                                 psr_template_spectrum(b, t, odd));
    if (!b->taps)
        return;
    size_t n = psr_template_taps(half);
    float *re = b->taps + b->at[t] + 2 * (size_t)odd * n, *im = re + n;
    memset(re, 0, 2 * n * sizeof *re);
    for (int i = 0; i < 2 * half; i++) {
        re[i] = crealf(alone[i]);
        im[i] = cimagf(alone[i]);
    }
}

static psr_status fill(struct psr_template_bank *b, bool sampled, int nthread,
                       const struct psr_stop *stop, psr_err *err)
{
    const size_t reach = (size_t)psr_template_reach(b->jmax, b->lmax);
    psr_status all = PSR_OK;
#pragma omp parallel num_threads(psr_count_threads(nthread))
    {
        psr_err why;
        struct psr_response_maker *maker = NULL;
        float complex *k = malloc(6 * reach * sizeof *k);
        float *work = psr_line_alloc(psr_correlator_block(b->correlator));
        psr_status st = psr_response_maker_create(&maker, &why);
        if (!st && (!k || !work))
            st = psr_fail_nomem(&why, "templates", 48.0 * (double)reach);
#pragma omp for schedule(dynamic)
        for (size_t t = 0; t < b->n; t++)
            if (!st && stop && psr_is_stopped(stop))
                st = psr_fail(&why, PSR_ESTOPPED, "stopped");
            else if (!st) {
                double z = of_z(t, b->jmax), w = of_w(t, b->jmax, b->lmax);
                const int half = b->half[t];
                size_t n = 4 * (size_t)half;
                st = sampled && fabs(w) > 0 ? psr_response_sample(maker, z, w, 0, 2, half, k, &why)
                                            : psr_response_make(maker, z, w, -half, 2, n, k, &why);
                for (int odd = 0; odd < 2 && !st; odd++)
                    take_half(b, t, k, odd, k + n, work);
            }
#pragma omp critical(psr_template_bank)
        if (st && !all) {
            all = st;
            if (err)
                *err = why;
        }
        psr_response_maker_destroy(maker);
        free(k);
        free(work);
    }
    return all;
}

psr_status psr_template_bank_create(struct psr_template_bank **out, const struct psr_correlator *c,
                                    int jmax, int lmax, bool sampled, bool taps, int nthread,
                                    const struct psr_stop *stop, psr_err *err)
{
    struct psr_template_bank *b = calloc(1, sizeof *b);
    *out = NULL;
    if (!b)
        return psr_fail_nomem(err, "templates", sizeof *b);
    b->jmax = jmax;
    b->lmax = lmax;
    b->n = count(jmax, lmax);
    b->correlator = c;
    psr_status st = allocate(b, taps, err);
    if (!st)
        st = fill(b, sampled, nthread, stop, err);
    if (st)
        psr_template_bank_destroy(b);
    else
        *out = b;
    return st;
}

void psr_template_bank_destroy(struct psr_template_bank *b)
{
    if (!b)
        return;
    free(b->half);
    free(b->at);
    free(b->spectrum);
    free(b->taps);
    free(b);
}

enum { LEAST_LOG = 8, MOST_LOG = 24, NEND = 10, REACH = 16, REACH_FINE = 48, RESTART = 64 };

/* The integral is a sum over u = j / n with the weights of the trapezoidal rule, except for the first
 * and last NEND, which are Gregory's: accurate to about 1e-8 from 12 samples per turn of the integrand
 * on. */
struct psr_response_maker {
    double end[NEND];            /* added to the weight 1 of the first and last points */
    size_t room;                 /* complex numbers */
    float complex *work;         /* [room] */
    fftwf_plan plan[MOST_LOG];   /* of 2^k complex points in place; made when wanted */
    fftwf_plan sample[MOST_LOG]; /* of 2^k real points in place */
};

/* --- extent ----------------------------------------------------------------------------------- */

static double largest_deviation(double z, double w)
{
    double first = 0.5 * (w / 6 - z), last = 0.5 * (w / 6 + z);
    double most = fmax(fabs(first), fabs(last));
    double turning_point = 0.5 - z / w;
    if (turning_point > 0 && turning_point < 1)
        most = fmax(most, fabs(0.5 * w * turning_point * turning_point +
                               (z - w / 2) * turning_point + first));
    return most;
}

int psr_response_halfwidth(double z, double w, bool fine)
{
    double deviation = fabs(w) < 1e-7 ? 0.5 * 1.1 * fabs(z) : 1.1 * largest_deviation(z, w);
    return (int)deviation + (fine ? REACH_FINE : REACH);
}

/* --- the maker -------------------------------------------------------------------------------- */

psr_status psr_response_maker_create(struct psr_response_maker **out, psr_err *err)
{
    struct psr_response_maker *m = calloc(1, sizeof *m);
    *out = m;
    if (!m)
        return psr_fail_nomem(err, "responses", sizeof *m);
    /* x / ln(1 + x) = sum G_n x^n; the end of a sum by the trapezoidal rule lacks
     * sum_k |G_(k+1)| (-1)^k Delta^k f_0, k >= 1 (Hildebrand, Numerical Analysis, 5.9). */
    double g[NEND + 1] = {1};
    for (int n = 1; n <= NEND; n++)
        for (int k = 0; k < n; k++)
            g[n] += ((n - k) % 2 ? 1 : -1) * g[k] / (n + 1 - k);
    for (int j = 0; j < NEND; j++)
        m->end[j] = j ? 0 : -0.5;
    for (int k = 1; k < NEND; k++) {
        double binomial = 1;
        for (int j = 0; j <= k; j++) {
            m->end[j] -= fabs(g[k + 1]) * (j % 2 ? -1 : 1) * binomial;
            binomial *= (double)(k - j) / (j + 1);
        }
    }
    return PSR_OK;
}

void psr_response_maker_destroy(struct psr_response_maker *m)
{
    if (!m)
        return;
    for (int k = 0; k < MOST_LOG; k++) {
        fftwf_destroy_plan(m->plan[k]);
        fftwf_destroy_plan(m->sample[k]);
    }
    fftwf_free(m->work);
    free(m);
}

static int log_of(double least)
{
    int log = LEAST_LOG;
    while ((double)(1 << log) < least && log < MOST_LOG - 1)
        log++;
    return log;
}

static psr_status make_room(struct psr_response_maker *m, size_t n, psr_err *err)
{
    if (n <= m->room)
        return PSR_OK;
    fftwf_free(m->work);
    m->work = fftwf_malloc(n * sizeof *m->work);
    m->room = m->work ? n : 0;
    return m->work ? PSR_OK : psr_fail_nomem(err, "a response", (double)(n * sizeof *m->work));
}

static psr_status prepare(struct psr_response_maker *m, int log, bool real, psr_err *err)
{
    const int n = 1 << log;
    fftwf_plan *plan = real ? &m->sample[log] : &m->plan[log];
    psr_status st = make_room(m, real ? (size_t)n / 2 + 1 : (size_t)n, err);
    if (st || *plan)
        return st;
    fftwf_make_planner_thread_safe();
    *plan = real ? fftwf_plan_dft_r2c_1d(n, (float *)m->work, m->work, FFTW_ESTIMATE)
                 : fftwf_plan_dft_1d(n, m->work, m->work, FFTW_FORWARD, FFTW_ESTIMATE);
    return *plan ? PSR_OK : psr_fail_nomem(err, "a response's transform", 8.0 * n);
}

/* --- responses -------------------------------------------------------------------------------- */

/* The phase at time u, in turns, of a signal of mean frequency r. */
static double phase(double r, double z, double w, double u)
{
    return u * (r - z / 2 + w / 12 + u * ((z - w / 2) / 2 + u * w / 6));
}

static double complex unit_phasor(double turns)
{
    double angle = 2 * M_PI * (turns - rint(turns));
    return cos(angle) + I * sin(angle);
}

/* The signal at times j / points, j from first to first + RESTART - 1: products, as the phase is a
 * polynomial of third degree. */
static void fill_signal(double complex signal[RESTART], double r, double z, double w, int first,
                        int points)
{
    double at[4];
    for (int k = 0; k < 4; k++)
        at[k] = phase(r, z, w, (double)(first + k) / points);
    double d1 = at[1] - at[0], d2 = at[2] - 2 * at[1] + at[0];
    double d3 = w / points / points / points;
    double complex phasor = unit_phasor(at[0]), step = unit_phasor(d1), next = unit_phasor(d2),
                   last = unit_phasor(d3);
    for (int k = 0; k < RESTART; k++) {
        signal[k] = phasor;
        phasor *= step;
        step *= next;
        next *= last;
    }
}

psr_status psr_response_make(struct psr_response_maker *m, double z, double w, double first,
                             int step, size_t n, float complex *k, psr_err *err)
{
    double reach = fmax(fabs(first), fabs(first + (double)n / step));
    int log = log_of(12 * (reach + fabs(z) / 2 + fabs(w) / 12)), points = 1 << log;
    int transform = log_of((double)step * points);
    psr_status st = prepare(m, transform, false, err);
    if (st)
        return st;
    memset(m->work, 0, sizeof *m->work << transform);
    double complex signal[RESTART];
    for (int j = 0; j <= points; j++) {
        double weight = 1.0 / points;
        if (j % RESTART == 0)
            fill_signal(signal, -first, z, w, j, points);
        if (j < NEND)
            weight += m->end[j] / points;
        if (points - j < NEND)
            weight += m->end[points - j] / points;
        m->work[j & ((1 << transform) - 1)] += (float complex)(weight * signal[j % RESTART]);
    }
    fftwf_execute_dft(m->plan[transform], m->work, m->work);
    memcpy(k, m->work, n * sizeof *k);
    return PSR_OK;
}

psr_status psr_response_sample(struct psr_response_maker *m, double z, double w, double offset,
                               int step, int half, float complex *k, psr_err *err)
{
    int log = log_of(6 * psr_response_halfwidth(z, w, false) + 200 + 2 * half), points = 1 << log;
    int transform = log_of((double)step * points);
    psr_status st = prepare(m, transform, true, err);
    if (st)
        return st;
    float *x = (float *)m->work;
    memset(x, 0, sizeof *x << transform);
    for (int j = 0; j < points; j++) {
        double turns = phase(points / 4.0 + offset, z, w, (double)j / points);
        x[j] = (float)(2.0 / points * cos(2 * M_PI * (turns - rint(turns))));
    }
    fftwf_execute_dft_r2c(m->sample[transform], x, m->work);
    memcpy(k, m->work + step * (points / 4 - half), 2 * (size_t)(step * half) * sizeof *k);
    return PSR_OK;
}

/* Computes powers by the sum that defines them. */

#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#endif

static int64_t room_for(int reach, int places)
{
    return 2 * reach + places / 2 + 2 + CORRELATE_LANES;
}

psr_status psr_direct_create(struct psr_direct *d, int reach, int places, psr_err *err)
{
    size_t room = (size_t)room_for(reach, places);
    float *x = psr_line_alloc(2 * room);
    *d = (struct psr_direct){.room = (int64_t)room};
    if (!x)
        return psr_fail_nomem(err, "bins", 8.0 * (double)room);
    d->bin = (struct psr_split){x, x + room};
    return PSR_OK;
}

void psr_direct_clear(struct psr_direct *d)
{
    free(d->bin.re);
    *d = (struct psr_direct){0};
}

void psr_direct_load(struct psr_direct *d, const struct psr_accel_normalise *norm, int64_t i,
                     int reach, int places)
{
    d->first = i / 2 - reach;
    psr_accel_normalise_load(norm, d->first, (size_t)room_for(reach, places), d->bin);
}

/* sum x conj(k), n a multiple of CORRELATE_LANES.  As many sums as lanes, whatever a register
 * holds. */
PSR_CLONES
static void correlate_taps(float sum[2], const float *xr, const float *xi, const float *kr,
                           const float *ki, size_t n)
{
    float re[CORRELATE_LANES] = {0}, im[CORRELATE_LANES] = {0};
    for (size_t i = 0; i < n; i += CORRELATE_LANES)
        for (size_t k = 0; k < CORRELATE_LANES; k++) {
            re[k] += xr[i + k] * kr[i + k] + xi[i + k] * ki[i + k];
            im[k] += xi[i + k] * kr[i + k] - xr[i + k] * ki[i + k];
        }
    for (size_t step = CORRELATE_LANES / 2; step > 0; step /= 2)
        for (size_t k = 0; k < step; k++) {
            re[k] += re[k + step];
            im[k] += im[k + step];
        }
    sum[0] = re[0];
    sum[1] = im[0];
}

float psr_direct_power(const struct psr_direct *d, const struct psr_template_bank *bank, size_t t,
                       int64_t i)
{
    const int odd = (int)(i & 1);
    size_t n = psr_template_taps(bank->half[t]),
           at = (size_t)(i / 2 - bank->half[t] + odd - d->first);
    const float *re = bank->taps + bank->at[t] + 2 * (size_t)odd * n;
    float sum[2];
    correlate_taps(sum, d->bin.re + at, d->bin.im + at, re, re + n, n);
    return sum[0] * sum[0] + sum[1] * sum[1];
}

/* Fits the response of a bright line to bins, and subtracts it. */

/* NEAR: bins around a line, and its drift, in which little of it may be left. */
enum { NEAR = 8 };

static const double MOST_LEFT = 0.05;
static const double UNIT[PSR_SIMPLEX_MOST] = {0.5, 2, 20}, STEP = 0.4, TOLERANCE = 1e-3,
                    RESPONSE_REACH = 0.02;

/* --- where it is ------------------------------------------------------------------------------ */

struct fit {
    const psr_accel_template *around;
    double r, z, w;
    int n; /* variables */
};

static double minus_power(void *ctx, const double *x)
{
    const struct fit *f = ctx;
    const double w = f->n > 2 ? f->w + UNIT[2] * x[2] : 0;
    return -psr_accel_template_power(f->around, f->r + UNIT[0] * x[0], f->z + UNIT[1] * x[1], w);
}

void psr_line_fit(struct psr_line_response *line, const psr_accel_template *around, bool jerk)
{
    double x[PSR_SIMPLEX_MOST] = {0};
    struct fit fit = {around, line->r, line->z, line->w, jerk ? 3 : 2};
    const struct psr_simplex f = {minus_power, &fit, fit.n};
    psr_simplex_descend(&f, x, STEP, TOLERANCE);
    psr_simplex_polish(&f, x, RESPONSE_REACH);
    line->r += UNIT[0] * x[0];
    line->z += UNIT[1] * x[1];
    line->w = jerk ? line->w + UNIT[2] * x[2] : 0;
}

/* --- its bins --------------------------------------------------------------------------------- */

psr_status psr_line_make(struct psr_line_response *line, struct psr_response_maker *maker,
                         psr_err *err)
{
    const size_t n = line->n;
    float complex *k = malloc(n * sizeof *k);
    line->re = malloc(2 * n * sizeof *line->re);
    psr_status st = k && line->re ? PSR_OK : psr_fail_nomem(err, "a line", 16.0 * (double)n);
    if (!st)
        st =
            psr_response_make(maker, line->z, line->w, (double)line->first - line->r, 1, n, k, err);
    line->im = line->re ? line->re + n : NULL;
    for (size_t i = 0; i < n && !st; i++) {
        line->re[i] = crealf(k[i]);
        line->im[i] = cimagf(k[i]);
    }
    free(k);
    return st;
}

/* Whether little of its power is left around it. */
static bool is_line(const struct psr_line_response *line, struct psr_split x, double noise)
{
    const double near = NEAR + fabs(line->z) / 2 + fabs(line->w) / 12;
    double left = 0;
    int count = 0;
    for (size_t i = 0; i < line->n; i++)
        if (fabs((double)(line->first + (int64_t)i) - line->r) <= near) {
            const double re = (double)(x.re[i] - line->re[i]), im = (double)(x.im[i] - line->im[i]);
            left += re * re + im * im;
            count++;
        }
    return left <= noise * (count + 4 * sqrt(count)) + MOST_LEFT * line->power;
}

bool psr_line_scale(struct psr_line_response *line, struct psr_split x, double noise)
{
    double re = 0, im = 0, own = 0;
    for (size_t i = 0; i < line->n; i++) {
        const double kr = (double)line->re[i], ki = (double)line->im[i];
        re += (double)x.re[i] * kr + (double)x.im[i] * ki;
        im += (double)x.im[i] * kr - (double)x.re[i] * ki;
        own += kr * kr + ki * ki;
    }
    re = own > 0 ? re / own : 0;
    im = own > 0 ? im / own : 0;
    line->power = own * (re * re + im * im);
    for (size_t i = 0; i < line->n; i++) {
        const double kr = (double)line->re[i], ki = (double)line->im[i];
        line->re[i] = (float)(re * kr - im * ki);
        line->im[i] = (float)(re * ki + im * kr);
    }
    return is_line(line, x, noise);
}

void psr_line_subtract(const struct psr_line_response *line, int64_t first, size_t n,
                       struct psr_split x)
{
    int64_t from = line->first > first ? line->first : first;
    int64_t end = line->first + (int64_t)line->n, last = first + (int64_t)n;
    for (end = end < last ? end : last; from < end; from++) {
        x.re[from - first] -= line->re[from - line->first];
        x.im[from - first] -= line->im[from - line->first];
    }
}
