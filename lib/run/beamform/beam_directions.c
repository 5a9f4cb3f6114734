/* Selects beams from a list or the grid, and computes their grid coordinates. */
#include "beam_directions.h"
#include "beam/array_internal.h"

#include <stdlib.h>

/* Beam k of the half-integer grid, as a direction. */
static struct psr_pointing grid_pointing(const struct psr_beam_input *in, size_t k)
{
    size_t n = 2 * in->array.n;
    double ns = (double)(k / n) / 2, ew = (double)(k % n) / 2;
    return (struct psr_pointing){.x = -in->frame.phase_sign * ns, .y = -in->frame.phase_sign * ew};
}

/* One beam of the grid is formed as any other would be. */
static psr_status choose_of_grid(struct psr_beam_directions *d, const struct psr_beam_input *in,
                                 int64_t beam, psr_err *err)
{
    d->nbeam_all = 4 * in->array.m * in->array.n;
    if (beam < 0 || (size_t)beam >= d->nbeam_all)
        return PSR_OK;
    d->pointings.pointing = malloc(sizeof *d->pointings.pointing);
    if (!d->pointings.pointing)
        return psr_fail_nomem(err, "a beam", sizeof *d->pointings.pointing);
    d->pointings.pointing[0] = grid_pointing(in, (size_t)beam);
    d->pointings.n = 1;
    return PSR_OK;
}

static psr_status choose_of_list(struct psr_beam_directions *d, const char *file, int64_t beam,
                                 psr_err *err)
{
    psr_status st = psr_pointings_read(&d->pointings, file, err);
    d->nbeam_all = d->pointings.n;
    if (st || beam < 0 || (size_t)beam >= d->nbeam_all)
        return st;
    d->pointings.pointing[0] = d->pointings.pointing[beam];
    d->pointings.n = 1;
    d->pointings.tracks = d->pointings.pointing[0].track;
    return PSR_OK;
}

/* The grid aliases onto the sky more than once, so that its coordinates are not checked against it.
 */
psr_status psr_beam_directions_point(struct psr_beam_directions *d, const struct psr_beam_input *in,
                                     struct psr_mjd now, psr_err *err)
{
    if (!d->grid)
        return psr_pointings_theta(&d->pointings, &in->frame, psr_beam_input_date(in, 0), now,
                                   d->theta_ns, d->theta_ew, err);
    for (size_t f = 0; f < in->nfreq && d->pointings.n; f++) {
        d->theta_ns[f] = -in->frame.phase_sign * d->pointings.pointing[0].x;
        d->theta_ew[f] = -in->frame.phase_sign * d->pointings.pointing[0].y;
    }
    return PSR_OK;
}

/* Beams that do not track may turn out to be a product; its lists are the rows' first elements. */
static void find_product(struct psr_beam_directions *d, size_t nfreq)
{
    size_t n = d->pointings.n, n_ns, n_ew;
    if (n == 0 || d->pointings.tracks)
        return;
    psr_pointings_factor(d->theta_ns, d->theta_ew, nfreq, n, &n_ns, &n_ew);
    if (n_ns == 0)
        return;
    for (size_t f = 0; f < nfreq; f++) {
        for (size_t i = 0; i < n_ns; i++)
            d->theta_ns[f * n_ns + i] = d->theta_ns[f * n + i * n_ew];
        for (size_t i = 0; i < n_ew; i++)
            d->theta_ew[f * n_ew + i] = d->theta_ew[f * n + i];
    }
    d->n_ew = n_ew;
}

psr_status psr_beam_directions_choose(struct psr_beam_directions *d,
                                      const struct psr_beam_input *in, const char *file,
                                      int64_t beam, psr_err *err)
{
    d->grid = !file;
    psr_status st = file ? choose_of_list(d, file, beam, err) : choose_of_grid(d, in, beam, err);
    if (st)
        return st;
    if (beam >= 0 && (size_t)beam >= d->nbeam_all)
        return psr_fail_field(err, PSR_EINVAL, "beam", "-beam %lld: there are beams 0 to %zu",
                              (long long)beam, d->nbeam_all - 1);
    const size_t n = in->nfreq * d->pointings.n;
    d->first = beam >= 0 ? (size_t)beam : 0;
    d->nbeam = d->pointings.n ? d->pointings.n : d->nbeam_all;
    d->theta_ns = calloc(n ? n : 1, sizeof *d->theta_ns);
    d->theta_ew = calloc(n ? n : 1, sizeof *d->theta_ew);
    if (!d->theta_ns || !d->theta_ew)
        return psr_fail_nomem(err, "directions", (double)n * 16);
    st = psr_beam_directions_point(d, in, psr_beam_input_date(in, 0), err);
    if (!st)
        find_product(d, in->nfreq);
    return st;
}

void psr_beam_directions_clear(struct psr_beam_directions *d)
{
    psr_pointings_clear(&d->pointings);
    free(d->theta_ns);
    free(d->theta_ew);
}

/* Coordinates of beam b on the grid at channel f. */
static void find_theta(const struct psr_beam_directions *d, const struct psr_array *array, size_t f,
                       size_t b, double *ns, double *ew)
{
    const size_t n = 2 * array->n, n_ew = d->n_ew;
    if (d->pointings.n == 0) {
        *ns = (double)(b / n) / 2;
        *ew = (double)(b % n) / 2;
        /* The nearest of the directions that look the same. */
        *ns -= 2 * *ns >= (double)array->m ? (double)array->m : 0;
        *ew -= 2 * *ew >= (double)array->n ? (double)array->n : 0;
        return;
    }
    *ns = d->theta_ns[n_ew ? f * (d->nbeam / n_ew) + b / n_ew : f * d->nbeam + b];
    *ew = d->theta_ew[n_ew ? f * n_ew + b % n_ew : f * d->nbeam + b];
}

void psr_beam_directions_describe(const struct psr_beam_directions *d,
                                  const struct psr_beam_input *in, size_t b, struct psr_obs *obs)
{
    const size_t f = in->nfreq / 2;
    double ns, ew, az_deg, el_deg;
    obs->ibeam = (int)(d->first + b) + 1;
    obs->nbeam = (int)d->nbeam_all;
    find_theta(d, &in->array, f, b, &ns, &ew);
    if (!psr_pointing_azel(&in->frame, in->freq_mhz[f], ns, ew, &az_deg, &el_deg))
        return;
    obs->az_deg = az_deg;
    obs->za_deg = 90 - el_deg;
    obs->has_position = psr_pointing_to_sky(&in->array, psr_beam_input_date(in, 0), az_deg, el_deg,
                                            &obs->ra_deg, &obs->dec_deg, NULL) == PSR_OK;
}
