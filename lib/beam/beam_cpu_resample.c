/* Computes intensities of beams from those at the half-integer directions. */
#include "beam_cpu_resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fill_phasors(struct psr_own *own, struct psr_beam_phasors *t, size_t n)
{
    t->n = n;
    t->cosine = psr_own(own, 2 * n, sizeof *t->cosine);
    t->sine = psr_own(own, 2 * n, sizeof *t->sine);
    for (size_t j = 0; t->sine && j < 2 * n; j++) {
        t->cosine[j] = cos(M_PI * (double)j / (double)(2 * n));
        t->sine[j] = sin(M_PI * (double)j / (double)(2 * n));
    }
}

psr_status psr_resampler_init(struct psr_resampler *r, const struct psr_beam_work *w,
                              const struct psr_beam_loops *loops, psr_err *err)
{
    *r = (struct psr_resampler){.w = w, .loops = loops};
    fill_phasors(&r->own, &r->ns, w->m);
    fill_phasors(&r->own, &r->ew, w->n);
    return psr_own_check(&r->own, "beams", err);
}

psr_status psr_resample_scratch_take(struct psr_resample_scratch *s, const struct psr_beam_work *w,
                                     psr_err *err)
{
    const size_t n_ew = w->pattern == PSR_BEAM_PRODUCT ? w->n_ew : 1;
    s->mix = psr_own(&s->own, 2 * w->n * PSR_BEAM_GROUP * MIX_BEAMS, sizeof *s->mix);
    s->u_ns = psr_own(&s->own, 2 * w->m * MIX_BEAMS, sizeof *s->u_ns);
    s->u = psr_own(&s->own, 2 * w->m, sizeof *s->u);
    s->u_ew = psr_own(&s->own, 2 * w->n * n_ew, sizeof *s->u_ew);
    s->cotangent = psr_own(&s->own, 2 * (w->m > w->n ? w->m : w->n), sizeof *s->cotangent);
    return psr_own_check(&s->own, "beams", err);
}

/* The kernel of the main theorem (eq. 8) with one division for each element and no trigonometry:
 * half-integers lie j steps before the nearest one, and the cotangent's angle is the sum of the
 * rest's and that of j steps. */
static void make_kernel(const struct psr_resampler *r, const struct psr_beam_phasors *t,
                        struct psr_resample_scratch *s, double theta, float *u)
{
    const size_t n = 2 * t->n;
    double nearest = rint(2 * theta), off = 2 * theta - nearest, sine = sin(M_PI * off) / (double)n;
    size_t at = (size_t)nearest % n; /* theta is in [0, n/2) */
    double angle = M_PI * off / (double)n;
    r->loops->cotangents(s->cotangent, t, cos(angle), sin(angle), sine);
    s->cotangent[0] = off == 0 ? 1 : (float)(sine / tan(angle));
    for (size_t j = 0; j <= at; j++)
        u[at - j] = s->cotangent[j];
    for (size_t j = at + 1; j < n; j++)
        u[n + at - j] = s->cotangent[j];
}

/* Eq. 9: up to MIX_BEAMS north-south directions of nsum sums. */
static void mix_north(const struct psr_resampler *r, struct psr_resample_scratch *s,
                      const float *level, const double *theta_ns, size_t n, size_t nsum)
{
    const size_t np = 2 * r->w->m;
    for (size_t b = 0; b < MIX_BEAMS; b++) {
        if (b < n)
            make_kernel(r, &r->ns, s, theta_ns[b], s->u);
        for (size_t p = 0; p < np; p++)
            s->u_ns[p * MIX_BEAMS + b] = b < n ? s->u[p] : 0;
    }
    r->loops->mix_rows(s->mix, level, PSR_BEAM_GROUP * 2 * r->w->n, nsum * 2 * r->w->n, s->u_ns,
                       np);
}

/* Eq. 10: one beam of nsum sums, of those that mix_north left as number b. */
static void emit_beam(const struct psr_resampler *r, const struct psr_resample_scratch *s, size_t b,
                      const float *u_ew, size_t nsum, float *to)
{
    const size_t n = 2 * r->w->n;
    for (size_t k = 0; k < nsum; k++)
        to[k * r->w->nbeam] = r->loops->dot(s->mix + (b * PSR_BEAM_GROUP + k) * n, u_ew, n);
}

void psr_resample(const struct psr_resampler *r, struct psr_resample_scratch *s, const float *level,
                  size_t f, size_t nsum, float *to)
{
    if (r->w->pattern == PSR_BEAM_GRID) {
        const size_t m = 2 * r->w->m, n = 2 * r->w->n;
        for (size_t k = 0; k < nsum; k++)
            for (size_t p = 0; p < m; p++)
                memcpy(to + k * m * n + p * n, level + (p * PSR_BEAM_GROUP + k) * n,
                       n * sizeof *to);
    } else if (r->w->pattern == PSR_BEAM_POINTS) {
        /* Eq. 6 */
        const struct psr_beam_work *w = r->w;
        const double *ns = w->theta_ns + f * w->nbeam, *ew = w->theta_ew + f * w->nbeam;
        for (size_t first = 0; first < w->nbeam; first += MIX_BEAMS) {
            size_t n = w->nbeam - first < MIX_BEAMS ? w->nbeam - first : MIX_BEAMS;
            mix_north(r, s, level, ns + first, n, nsum);
            for (size_t b = 0; b < n; b++) {
                make_kernel(r, &r->ew, s, ew[first + b], s->u_ew);
                emit_beam(r, s, b, s->u_ew, nsum, to + first + b);
            }
        }
    } else {
        /* Eqs 9 and 10 */
        const struct psr_beam_work *w = r->w;
        for (size_t j = 0; j < w->n_ew; j++)
            make_kernel(r, &r->ew, s, w->theta_ew[f * w->n_ew + j], s->u_ew + j * 2 * w->n);
        for (size_t first = 0; first < w->n_ns; first += MIX_BEAMS) {
            size_t n = w->n_ns - first < MIX_BEAMS ? w->n_ns - first : MIX_BEAMS;
            mix_north(r, s, level, w->theta_ns + f * w->n_ns + first, n, nsum);
            for (size_t i = 0; i < n * w->n_ew; i++)
                emit_beam(r, s, i / w->n_ew, s->u_ew + i % w->n_ew * 2 * w->n, nsum,
                          to + first * w->n_ew + i);
        }
    }
}
