/* Filters a few bins with the response to a drift. */
#include <psrkit/accel.h>

#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct psr_accel_template {
    int64_t first;
    size_t n;            /* samples of the series, a power of two */
    float complex *y;    /* [n] at times (j + 1/2) / n */
    float complex *work; /* [2 n] */
    fftwf_plan forward;  /* of work, in place */
};

enum { N_MAX = 1 << 24, LEAST = 64 };

static fftwf_plan make_plan(size_t n, float complex *x, int sign)
{
    fftwf_make_planner_thread_safe();
    return fftwf_plan_dft_1d((int)n, x, x, sign, FFTW_ESTIMATE);
}

/* y_j = (1/n) sum_k x_k exp(2 pi i (k - first) u_j).  Sampling times in the middles of their
 * intervals, rather than at their beginnings, makes sums over them integrals to second order. */
static bool make_series(psr_accel_template *m, const float *x, size_t nbin)
{
    fftwf_plan plan = make_plan(m->n, m->y, FFTW_BACKWARD);
    if (!plan)
        return false;
    for (size_t k = 0; k < m->n; k++) {
        double angle = M_PI * (double)k / (double)m->n, scale = 1 / (double)m->n;
        float complex phasor = (float complex)(scale * (cos(angle) + I * sin(angle)));
        m->y[k] = k < nbin ? (x[2 * k] + I * x[2 * k + 1]) * phasor : 0;
    }
    fftwf_execute(plan);
    fftwf_destroy_plan(plan);
    return true;
}

psr_status psr_accel_template_create(psr_accel_template **out, const float *x, int64_t first,
                                     size_t n, psr_err *err)
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
    if (m->work)
        m->forward = make_plan(2 * m->n, m->work, FFTW_FORWARD);
    if (!m->y || !m->forward || !make_series(m, x, n)) {
        psr_status st = psr_fail_nomem(err, "matched responses", 24.0 * (double)m->n);
        psr_accel_template_destroy(m);
        return st;
    }
    *out = m;
    return PSR_OK;
}

void psr_accel_template_destroy(psr_accel_template *m)
{
    if (!m)
        return;
    if (m->forward)
        fftwf_destroy_plan(m->forward);
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

void psr_accel_template_respond(const psr_accel_template *m, double r, double z,
                                struct psr_accel_template_peak *peak)
{
    psr_accel_template_respond_jerk(m, r, z, 0, peak);
}

void psr_accel_template_respond_jerk(const psr_accel_template *m, double r, double z, double w,
                                     struct psr_accel_template_peak *peak)
{
    struct chirp c = start_chirp(r - (double)m->first, z, w, m->n);
    double complex a0 = 0, a1 = 0, a2 = 0; /* moments in time about mid-observation */
    for (size_t j = 0; j < m->n; j++) {
        double complex v = (double complex)m->y[j] * next_phasor(&c);
        double u = ((double)j + 0.5) / (double)m->n - 0.5;
        a0 += v;
        a1 += u * v;
        a2 += u * u * v;
    }
    double size = creal(a0) * creal(a0) + cimag(a0) * cimag(a0), phase = carg(a0);
    double mean = size > 0 ? creal(a1 * conj(a0)) / size : 0;
    /* -1/2 of the relative curvature of |A|^2 in r, over (2 pi)^2: the variance in time. */
    double spread = size > 0 ? (creal(a2 * conj(a0)) - creal(a1 * conj(a1))) / size : 0;
    *peak = (struct psr_accel_template_peak){
        .r = r,
        .z = z,
        .power = size / 2,
        .phase_rad = phase < 0 ? phase + 2 * M_PI : phase,
        .centroid = 0.5 + mean,
        .purity = sqrt(12 * fabs(spread)),
    };
}

/* Fills work with the transform of the series less its drift: A at half bins. */
static void transform_drift(psr_accel_template *m, double z)
{
    struct chirp c = start_chirp(0, z, 0, m->n);
    for (size_t j = 0; j < m->n; j++)
        m->work[j] = m->y[j] * (float complex)next_phasor(&c);
    memset(m->work + m->n, 0, m->n * sizeof *m->work);
    fftwf_execute(m->forward);
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
