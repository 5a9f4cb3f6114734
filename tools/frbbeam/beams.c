/* Which beams there are, and where they look. */
#include "frbbeam.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beam k of the half-integer grid, as a direction. */
static struct psr_aim grid_aim(const struct frbbeam_job *j, size_t k)
{
    size_t n = 2 * j->array.n;
    double ns = (double)(k / n) / 2, ew = (double)(k % n) / 2;
    return (struct psr_aim){.x = -j->frame.phase_sign * ns, .y = -j->frame.phase_sign * ew};
}

/* One beam of the grid is formed as any other would be. */
static psr_status pick_of_grid(struct frbbeam_job *j)
{
    j->nbeam_all = 4 * j->array.m * j->array.n;
    if (j->opt.beam < 0 || (size_t)j->opt.beam >= j->nbeam_all)
        return PSR_OK;
    j->aims.aim = malloc(sizeof *j->aims.aim);
    if (!j->aims.aim)
        return psr_fail_nomem(&j->err, "a beam", sizeof *j->aims.aim);
    j->aims.aim[0] = grid_aim(j, (size_t)j->opt.beam);
    j->aims.n = 1;
    return PSR_OK;
}

static void pick_of_list(struct frbbeam_job *j)
{
    j->nbeam_all = j->aims.n;
    if (j->opt.beam < 0 || (size_t)j->opt.beam >= j->nbeam_all)
        return;
    j->aims.aim[0] = j->aims.aim[j->opt.beam];
    j->aims.n = 1;
    j->aims.tracks = j->aims.aim[0].track;
}

struct psr_mjd frbbeam_date(const struct frbbeam_job *j, int64_t t)
{
    const struct psr_dada *h = psr_voltages_header(j->voltages);
    return h->has_start ? psr_mjd_add(h->start, (double)t * j->tsamp_s) : (struct psr_mjd){0, 0};
}

/* The grid aliases onto the sky more than once, so that its coordinates are not checked against it.
 */
psr_status frbbeam_beams_aim(struct frbbeam_job *j, struct psr_mjd now)
{
    if (!j->opt.grid)
        return psr_aims_theta(&j->aims, &j->frame, frbbeam_date(j, 0), now, j->theta_ns,
                              j->theta_ew, &j->err);
    for (size_t f = 0; f < j->nfreq && j->aims.n; f++) {
        j->theta_ns[f] = -j->frame.phase_sign * j->aims.aim[0].x;
        j->theta_ew[f] = -j->frame.phase_sign * j->aims.aim[0].y;
    }
    return PSR_OK;
}

/* Beams that do not track may turn out to be a product; its lists are the rows' first elements. */
static void find_product(struct frbbeam_job *j)
{
    size_t n = j->aims.n, n_ns, n_ew;
    if (n == 0 || j->aims.tracks)
        return;
    psr_aims_factor(j->theta_ns, j->theta_ew, j->nfreq, n, &n_ns, &n_ew);
    if (n_ns == 0)
        return;
    for (size_t f = 0; f < j->nfreq; f++) {
        for (size_t i = 0; i < n_ns; i++)
            j->theta_ns[f * n_ns + i] = j->theta_ns[f * n + i * n_ew];
        for (size_t i = 0; i < n_ew; i++)
            j->theta_ew[f * n_ew + i] = j->theta_ew[f * n + i];
    }
    j->n_ew = n_ew;
}

psr_status frbbeam_beams_choose(struct frbbeam_job *j)
{
    psr_status st = PSR_OK;
    if (j->opt.grid) {
        st = pick_of_grid(j);
    } else {
        st = psr_aims_read(&j->aims, j->opt.beams, &j->err);
        if (!st)
            pick_of_list(j);
    }
    if (st)
        return st;
    if (j->opt.beam >= 0 && (size_t)j->opt.beam >= j->nbeam_all)
        return psr_fail(&j->err, PSR_EINVAL, "-beam %lld: there are beams 0 to %zu",
                        (long long)j->opt.beam, j->nbeam_all - 1);
    j->first_beam = j->opt.beam >= 0 ? (size_t)j->opt.beam : 0;
    size_t n = j->nfreq * j->aims.n;
    j->theta_ns = calloc(n ? n : 1, sizeof *j->theta_ns);
    j->theta_ew = calloc(n ? n : 1, sizeof *j->theta_ew);
    if (!j->theta_ns || !j->theta_ew)
        return psr_fail_nomem(&j->err, "directions", (double)n * 16);
    j->nbeam = j->aims.n ? j->aims.n : j->nbeam_all;
    st = frbbeam_beams_aim(j, frbbeam_date(j, 0));
    if (!st)
        find_product(j);
    return st;
}

/* Direction of a beam as it is now, at mid-band. */
static void describe_direction(const struct frbbeam_job *j, size_t b, struct psr_obs *obs)
{
    const size_t f = j->nfreq / 2, n = 2 * j->array.n, nbeam = j->nbeam;
    double ns, ew, az_deg, el_deg;
    if (j->aims.n == 0) {
        ns = (double)(b / n) / 2;
        ew = (double)(b % n) / 2;
        /* The nearest of the directions that look the same. */
        ns -= 2 * ns >= (double)j->array.m ? (double)j->array.m : 0;
        ew -= 2 * ew >= (double)j->array.n ? (double)j->array.n : 0;
    } else {
        size_t n_ew = j->n_ew ? j->n_ew : 1;
        ns = j->theta_ns[j->n_ew ? f * (nbeam / n_ew) + b / n_ew : f * nbeam + b];
        ew = j->theta_ew[j->n_ew ? f * n_ew + b % n_ew : f * nbeam + b];
    }
    if (!psr_aim_azel(&j->frame, j->freq_mhz[f], ns, ew, &az_deg, &el_deg))
        return;
    obs->az_deg = az_deg;
    obs->za_deg = 90 - el_deg;
    obs->has_position = psr_aim_to_sky(&j->array, frbbeam_date(j, 0), az_deg, el_deg, &obs->ra_deg,
                                       &obs->dec_deg, NULL) == PSR_OK;
}

void frbbeam_describe_beam(const struct frbbeam_job *j, size_t b, struct psr_obs *obs)
{
    const struct psr_dada *h = psr_voltages_header(j->voltages);
    const char *telescope = h->telescope[0] ? h->telescope : j->array.telescope;
    psr_obs_init(obs);
    obs->nchan = j->nfreq;
    obs->nif = 1;
    obs->nbit = (int)j->opt.nbits;
    obs->kind = obs->nbit == 32 ? PSR_FLOAT : PSR_UINT;
    obs->fch1_mhz = j->freq_mhz[0];
    obs->foff_mhz = h->bw_mhz / (double)h->nchan;
    obs->tsamp_s = (double)j->tds * j->tsamp_s;
    obs->tstart = frbbeam_date(j, 0);
    obs->ibeam = (int)(j->first_beam + b) + 1;
    obs->nbeam = (int)j->nbeam_all;
    obs->telescope_id = psr_telescope_id(telescope);
    snprintf(obs->telescope, sizeof obs->telescope, "%s", telescope);
    if (h->source[0])
        snprintf(obs->source, sizeof obs->source, "%s", h->source);
    describe_direction(j, b, obs);
}
