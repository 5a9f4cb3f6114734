/* Filters a few bins with the response to a drift. */
#include "accel_internal.h"

#include "base/threads/isa.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- plans of transforms ---------------------------------------------------------------------- */

enum { MOST_LOG = 26 };

struct psr_template_plans {
    pthread_mutex_t lock;
    fftwf_plan plan[2][MOST_LOG + 1]; /* forward, back; NULL until one is wanted */
};

psr_status psr_template_plans_create(struct psr_template_plans **out, psr_err *err)
{
    struct psr_template_plans *p = calloc(1, sizeof *p);
    *out = p;
    if (!p)
        return psr_fail_nomem(err, "matched responses", sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    fftwf_make_planner_thread_safe();
    return PSR_OK;
}

static fftwf_plan make_plan(size_t n, int sign)
{
    float complex *x = fftwf_malloc(n * sizeof *x);
    fftwf_plan plan = x ? fftwf_plan_dft_1d((int)n, x, x, sign, FFTW_ESTIMATE) : NULL;
    fftwf_free(x);
    return plan;
}

/* Safe on several threads.
 * Given:    n   a power of two, up to 2^26; sign: FFTW_FORWARD or FFTW_BACKWARD
 * Returned: of n points in place, for fftwf_execute_dft and memory of fftwf_malloc; not the caller's;
 *           NULL: no memory */
static fftwf_plan template_plans_get(struct psr_template_plans *p, size_t n, int sign)
{
    int log = 0;
    while ((size_t)1 << log < n)
        log++;
    pthread_mutex_lock(&p->lock);
    fftwf_plan *plan = &p->plan[sign == FFTW_BACKWARD][log];
    if (!*plan)
        *plan = make_plan(n, sign);
    pthread_mutex_unlock(&p->lock);
    return *plan;
}

void psr_template_plans_destroy(struct psr_template_plans *p)
{
    if (!p)
        return;
    for (int log = 0; log <= MOST_LOG; log++)
        for (int way = 0; way < 2; way++)
            if (p->plan[way][log])
                fftwf_destroy_plan(p->plan[way][log]);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

struct psr_accel_template {
    int64_t first;
    size_t n;                       /* samples of the series, a power of two */
    float complex *y;               /* [n] at times (j + 1/2) / n */
    float complex *work;            /* [2 n] */
    fftwf_plan forward;             /* of work, in place; one of the plans */
    struct psr_template_plans *own; /* plans; NULL: those of the caller */
};

enum { N_MAX = 1 << 24, LEAST = 64 };

/* y_j = (1/n) sum_k x_k exp(2 pi i (k - first) u_j).  Sampling times in the middles of their
 * intervals, rather than at their beginnings, makes sums over them integrals to second order. */
static bool make_series(psr_accel_template *m, struct psr_template_plans *plans, const float *x,
                        size_t nbin)
{
    fftwf_plan back = template_plans_get(plans, m->n, FFTW_BACKWARD);
    if (!back)
        return false;
    for (size_t k = 0; k < m->n; k++) {
        double angle = M_PI * (double)k / (double)m->n, scale = 1 / (double)m->n;
        float complex phasor = (float complex)(scale * (cos(angle) + I * sin(angle)));
        m->y[k] = k < nbin ? (x[2 * k] + I * x[2 * k + 1]) * phasor : 0;
    }
    fftwf_execute_dft(back, m->y, m->y);
    return true;
}

psr_status psr_accel_template_make(psr_accel_template **out, struct psr_template_plans *plans,
                                   const float *x, int64_t first, size_t n, psr_err *err)
{
    *out = NULL;
    if (n < 1 || n > N_MAX)
        return psr_fail_field(err, PSR_EINVAL, "n", "matched responses: %zu bins, must be 1 to %d",
                              n, N_MAX);
    psr_accel_template *m = calloc(1, sizeof *m);
    if (!m)
        return psr_fail_nomem(err, "matched responses", sizeof *m);
    m->first = first;
    for (m->n = LEAST; m->n < 2 * n; m->n *= 2)
        ;
    m->y = fftwf_malloc(m->n * sizeof *m->y);
    m->work = fftwf_malloc(2 * m->n * sizeof *m->work);
    m->forward = template_plans_get(plans, 2 * m->n, FFTW_FORWARD);
    if (!m->y || !m->work || !m->forward || !make_series(m, plans, x, n)) {
        psr_status st = psr_fail_nomem(err, "matched responses", 24.0 * (double)m->n);
        psr_accel_template_destroy(m);
        return st;
    }
    *out = m;
    return PSR_OK;
}

psr_status psr_accel_template_create(psr_accel_template **out, const float *x, int64_t first,
                                     size_t n, psr_err *err)
{
    struct psr_template_plans *plans;
    *out = NULL;
    psr_status st = psr_template_plans_create(&plans, err);
    if (!st)
        st = psr_accel_template_make(out, plans, x, first, n, err);
    if (st)
        psr_template_plans_destroy(plans);
    else
        (*out)->own = plans;
    return st;
}

void psr_accel_template_destroy(psr_accel_template *m)
{
    if (!m)
        return;
    psr_template_plans_destroy(m->own);
    fftwf_free(m->y);
    fftwf_free(m->work);
    free(m);
}

/* exp(-2 pi i [a + b j + c j^2 + d j^3]) for j = 0, 1 .. by multiplying: turn is the value, step
 * takes it to the next j, next takes step there, and last takes next. */
struct chirp {
    double complex phasor, step, next, last;
};

static double complex unit(double turns)
{
    double angle = 2 * M_PI * (turns - rint(turns));
    return cos(angle) + I * sin(angle);
}

/* The phase, in turns, of a signal of mean frequency r at u. */
static double phase(double r, double z, double w, double u)
{
    return u * (r - z / 2 + w / 12 + u * (z / 2 - w / 4 + u * w / 6));
}

/* exp(-2 pi i phase) at u = (j + 1/2) / n. */
static struct chirp start_chirp(double r, double z, double w, size_t n)
{
    double du = 1 / (double)n, first = phase(r, z, w, du / 2), next = phase(r, z, w, 1.5 * du);
    double second = (z - w / 2 + 1.5 * w * du) * du * du; /* difference of differences */
    return (struct chirp){unit(-first), unit(first - next), unit(-second), unit(-w * du * du * du)};
}

static double complex next_phasor(struct chirp *c)
{
    double complex phasor = c->phasor;
    c->phasor *= c->step;
    c->step *= c->next;
    c->next *= c->last;
    return phasor;
}

/* --- at one place ----------------------------------------------------------------------------- */

/* Sums run over four samples at a time: a chirp is a chain of products that wait for each other. */
enum { LANES = 4 };

typedef double doubles __attribute__((vector_size(LANES * sizeof(double))));

struct complexes {
    doubles re, im;
};

/* Chirps of samples j .. j + LANES - 1, each LANES samples a step. */
struct chirps {
    struct complexes phasor, step, next, last;
};

static inline void multiply(struct complexes *x, const struct complexes *by)
{
    const doubles re = x->re * by->re - x->im * by->im;
    x->im = x->re * by->im + x->im * by->re;
    x->re = re;
}

static void put(struct complexes *to, size_t lane, double complex value)
{
    to->re[lane] = creal(value);
    to->im[lane] = cimag(value);
}

static struct chirps start_chirps(double r, double z, double w, size_t n)
{
    const double du = 1 / (double)n, h = LANES * du;
    const double complex turn = unit(-w * du * h * h), last = unit(-w * h * h * h);
    double complex early[2 * LANES], next = unit(-(z - w / 2 + w * (du / 2 + h)) * h * h);
    struct chirp c = start_chirp(r, z, w, n);
    struct chirps s;
    for (size_t j = 0; j < 2 * LANES; j++)
        early[j] = next_phasor(&c);
    for (size_t l = 0; l < LANES; l++, next *= turn) {
        put(&s.phasor, l, early[l]);
        put(&s.step, l, early[l + LANES] * conj(early[l]));
        put(&s.next, l, next);
        put(&s.last, l, last);
    }
    return s;
}

static inline void advance(struct chirps *s)
{
    multiply(&s->phasor, &s->step);
    multiply(&s->step, &s->next);
    multiply(&s->next, &s->last);
}

/* Samples y, multiplied by their phasors. */
static inline void turn_samples(struct complexes *v, const float complex *y,
                                const struct complexes *phasor)
{
    for (size_t l = 0; l < LANES; l++) {
        v->re[l] = (double)crealf(y[l]);
        v->im[l] = (double)cimagf(y[l]);
    }
    multiply(v, phasor);
}

static double complex join(const struct complexes *sum)
{
    const double re = (sum->re[0] + sum->re[1]) + (sum->re[2] + sum->re[3]);
    const double im = (sum->im[0] + sum->im[1]) + (sum->im[2] + sum->im[3]);
    return re + I * im;
}

PSR_CLONES
static double complex sum_response(const float complex *y, size_t n, const struct chirps *start)
{
    struct chirps s = *start;
    struct complexes sum = {{0}, {0}}, v;
    for (size_t j = 0; j < n; j += LANES) {
        turn_samples(&v, y + j, &s.phasor);
        sum.re += v.re;
        sum.im += v.im;
        advance(&s);
    }
    return join(&sum);
}

/* Moments in time about mid-observation. */
PSR_CLONES
static void sum_moments(const float complex *y, size_t n, const struct chirps *start,
                        double complex moment[3])
{
    const double du = 1 / (double)n;
    struct chirps s = *start;
    struct complexes a0 = {{0}, {0}}, a1 = a0, a2 = a0, v;
    doubles u;
    for (size_t l = 0; l < LANES; l++)
        u[l] = ((double)l + 0.5) * du - 0.5;
    for (size_t j = 0; j < n; j += LANES, u += LANES * du) {
        turn_samples(&v, y + j, &s.phasor);
        a0.re += v.re;
        a0.im += v.im;
        a1.re += u * v.re;
        a1.im += u * v.im;
        a2.re += u * u * v.re;
        a2.im += u * u * v.im;
        advance(&s);
    }
    moment[0] = join(&a0);
    moment[1] = join(&a1);
    moment[2] = join(&a2);
}

static double square(double complex a)
{
    return creal(a) * creal(a) + cimag(a) * cimag(a);
}

double psr_accel_template_power(const psr_accel_template *m, double r, double z, double w)
{
    const struct chirps s = start_chirps(r - (double)m->first, z, w, m->n);
    return square(sum_response(m->y, m->n, &s)) / 2;
}

void psr_accel_template_respond(const psr_accel_template *m, double r, double z,
                                struct psr_accel_template_peak *peak)
{
    psr_accel_template_respond_jerk(m, r, z, 0, peak);
}

void psr_accel_template_respond_jerk(const psr_accel_template *m, double r, double z, double w,
                                     struct psr_accel_template_peak *peak)
{
    const struct chirps s = start_chirps(r - (double)m->first, z, w, m->n);
    double complex a[3];
    sum_moments(m->y, m->n, &s, a);
    const double size = square(a[0]), phase_rad = carg(a[0]);
    const double mean = size > 0 ? creal(a[1] * conj(a[0])) / size : 0;
    /* -1/2 of the relative curvature of |A|^2 in r, over (2 pi)^2: the variance in time. */
    const double spread = size > 0 ? (creal(a[2] * conj(a[0])) - square(a[1])) / size : 0;
    *peak = (struct psr_accel_template_peak){
        .r = r,
        .z = z,
        .power = size / 2,
        .phase_rad = phase_rad < 0 ? phase_rad + 2 * M_PI : phase_rad,
        .centroid = 0.5 + mean,
        .purity = sqrt(12 * fabs(spread)),
    };
}

/* --- drifts ----------------------------------------------------------------------------------- */

/* Fills work with the transform of the series less its drift: A at half bins. */
static void transform_drift(psr_accel_template *m, double z)
{
    struct chirp c = start_chirp(0, z, 0, m->n);
    for (size_t j = 0; j < m->n; j++)
        m->work[j] = m->y[j] * (float complex)next_phasor(&c);
    memset(m->work + m->n, 0, m->n * sizeof *m->work);
    fftwf_execute_dft(m->forward, m->work, m->work);
}

static float power_at(const psr_accel_template *m, size_t k)
{
    float re = crealf(m->work[k]), im = cimagf(m->work[k]);
    return 0.5F * (re * re + im * im);
}

size_t psr_accel_template_search(psr_accel_template *m, double rlo, double rhi, double zlo,
                                 double zhi, double zstep, struct psr_accel_template_peak *peak)
{
    double lo = ceil(2 * (rlo - (double)m->first)), hi = floor(2 * (rhi - (double)m->first));
    size_t from = lo > 0 ? (size_t)lo : 0, looked = 0;
    size_t to = hi < 0 ? 0 : (size_t)hi + 1 < 2 * m->n ? (size_t)hi + 1 : 2 * m->n;
    float most = 0;
    *peak = (struct psr_accel_template_peak){.r = rlo, .z = zlo};
    for (size_t i = 0; zlo + (double)i * zstep <= zhi && from < to; i++) {
        double z = zlo + (double)i * zstep;
        transform_drift(m, z);
        for (size_t k = from; k < to; k++)
            if (power_at(m, k) > most) {
                most = power_at(m, k);
                peak->r = (double)m->first + 0.5 * (double)k;
                peak->z = z;
            }
        looked += to - from;
    }
    peak->power = (double)most;
    return looked;
}

void psr_accel_template_row(psr_accel_template *m, double z, double rlo, size_t n, float *power)
{
    double first = rint(2 * (rlo - (double)m->first));
    transform_drift(m, z);
    for (size_t i = 0; i < n; i++) {
        double k = first + (double)i;
        power[i] = k >= 0 && k < 2 * (double)m->n ? power_at(m, (size_t)k) : 0;
    }
}
