/* From the command line to plan and buffers: everything that can be refused is refused here. */
#include "frbbeam.h"

#include "base/threads.h"
#include <math.h>
#include <psrkit/barycentre.h>
#include <stdlib.h>
#include <string.h>

static psr_status open_voltages(struct frbbeam_job *j)
{
    struct psr_voltages_desc d = {(const char *const *)j->path, j->npath, (int)j->opt.ncpus};
    psr_status st = psr_voltages_open(&j->voltages, &d, &j->err);
    if (st)
        return st;
    const struct psr_dada *h = psr_voltages_header(j->voltages);
    j->nfreq = (size_t)h->nchan;
    j->tsamp_s = h->tsamp_us * 1e-6;
    j->sample_bytes = psr_dada_sample_bytes(h);
    j->tds = j->opt.tds ? (size_t)j->opt.tds : (size_t)fmax(1, rint(1e-3 / j->tsamp_s));
    j->freq_mhz = malloc(j->nfreq * sizeof *j->freq_mhz);
    if (!j->freq_mhz)
        return psr_fail_nomem(&j->err, "channel frequencies", (double)j->nfreq * 8);
    for (size_t c = 0; c < j->nfreq; c++)
        j->freq_mhz[c] = psr_dada_freq_mhz(h, c);
    return PSR_OK;
}

static psr_status read_array(struct frbbeam_job *j)
{
    const struct psr_dada *h = psr_voltages_header(j->voltages);
    psr_status st = psr_array_read(&j->array, j->opt.array, &j->err);
    if (!st && (size_t)h->nant != j->array.ndish)
        st = psr_fail(&j->err, PSR_EFORMAT, "%s: NANT is %lld, %s has %zu dishes", j->path[0],
                      (long long)h->nant, j->opt.array, j->array.ndish);
    if (!st && j->opt.site)
        st = psr_array_set_site(&j->array, j->opt.site, &j->err);
    j->frame = (struct psr_aim_frame){&j->array, j->nfreq, j->freq_mhz, h->phase_sign};
    return st;
}

/* --- beams ------------------------------------------------------------------------------------ */

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
psr_status frbbeam_aim(struct frbbeam_job *j, struct psr_mjd now)
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

static psr_status choose_beams(struct frbbeam_job *j)
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
    return frbbeam_aim(j, frbbeam_date(j, 0));
}

/* Beams that do not track may turn out to be a product; its lists are the rows' first elements. */
static void use_product(struct frbbeam_job *j, struct psr_beam_desc *d)
{
    size_t n = j->aims.n, n_ns, n_ew;
    if (j->aims.tracks)
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
    d->pattern = PSR_BEAM_PRODUCT;
    d->n_ns = n_ns;
    d->n_ew = j->n_ew = n_ew;
}

static psr_status create_plan(struct frbbeam_job *j)
{
    struct psr_beam_desc d = {
        .array = &j->array,
        .nfreq = j->nfreq,
        .nibbles = psr_voltages_header(j->voltages)->nibbles,
        .pattern = j->aims.n ? PSR_BEAM_POINTS : PSR_BEAM_GRID,
        .nbeam = j->aims.n,
        .theta_ns = j->theta_ns,
        .theta_ew = j->theta_ew,
        .nthread = (int)j->opt.ncpus,
        .mem_bytes = j->opt.mem_bytes,
    };
    float *weight = NULL;
    size_t *tds = malloc(j->nfreq * sizeof *tds);
    if (!tds)
        return psr_fail_nomem(&j->err, "channels", (double)j->nfreq * sizeof *tds);
    for (size_t f = 0; f < j->nfreq; f++)
        tds[f] = j->tds;
    psr_status st = cli_device(j->opt.device, &d.backend, &d.device, &j->err);
    if (!st && j->opt.weights)
        st = psr_gains_read(j->opt.weights, j->nfreq, j->array.ndish, &weight, &j->err);
    d.tds = tds;
    d.weight = weight;
    if (j->aims.n)
        use_product(j, &d);
    if (!st)
        st = psr_beam_create(&j->plan, &d, &j->err);
    free(weight);
    free(tds);
    return st;
}

/* --- buffers ---------------------------------------------------------------------------------- */

static psr_status create_buffers(struct frbbeam_job *j)
{
    struct psr_beam_info info;
    int64_t nsamp = psr_voltages_nsamp(j->voltages);
    psr_beam_describe(j->plan, &info);
    j->backend = info.backend;
    j->nbeam = psr_beam_count(j->plan);
    j->nthread = psr_count_threads((int)j->opt.ncpus);
    j->block = psr_beam_block(j->plan);
    if (nsamp >= 0 && (size_t)nsamp < j->block)
        j->block = (size_t)nsamp;
    j->stride = j->block / j->tds + 1;
    j->offset = calloc(j->nfreq, sizeof *j->offset);
    j->gain = calloc(j->nfreq, sizeof *j->gain);
    if (!j->offset || !j->gain)
        return psr_fail_nomem(&j->err, "scales", (double)j->nfreq * 8);
    /* Rows of floats, which scales are measured on. */
    const size_t out_bytes = j->nbeam * j->stride * j->nfreq * sizeof(float);
    psr_status st = PSR_OK;
    for (int i = 0; i < 2 && !st; i++) {
        void *in = NULL;
        st = psr_beam_alloc(j->plan, j->block * j->sample_bytes, &in, &j->err);
        j->in[i] = in;
        if (!st)
            st = psr_beam_alloc(j->plan, out_bytes, &j->out[i], &j->err);
    }
    return st;
}

static psr_status check_length(struct frbbeam_job *j)
{
    int64_t nsamp = psr_voltages_nsamp(j->voltages);
    if (nsamp < 0 || (size_t)nsamp >= j->tds)
        return PSR_OK;
    return psr_fail(&j->err, PSR_EINVAL, "%s: holds %lld samples, fewer than the %zu of -tds",
                    j->path[0], (long long)nsamp, j->tds);
}

psr_status frbbeam_prepare(struct frbbeam_job *j)
{
    psr_status (*const step[])(struct frbbeam_job *) = {
        open_voltages, check_length, read_array, choose_beams, create_plan, create_buffers};
    psr_status st = PSR_OK;
    for (size_t i = 0; st == PSR_OK && i < sizeof step / sizeof *step; i++)
        st = step[i](j);
    return st;
}

void frbbeam_release(struct frbbeam_job *j)
{
    psr_err ignored;
    (void)errand_wait(&j->read, &ignored);
    (void)errand_wait(&j->write, &ignored);
    for (size_t b = 0; j->file && b < j->nbeam; b++)
        psr_outfile_abort(j->file[b]);
    free(j->file);
    frbbeam_scales_release(j);
    for (int i = 0; i < 2; i++) {
        psr_beam_free(j->backend, j->in[i]);
        psr_beam_free(j->backend, j->out[i]);
    }
    psr_beam_destroy(j->plan);
    psr_voltages_close(j->voltages);
    psr_array_clear(&j->array);
    psr_aims_clear(&j->aims);
    free(j->freq_mhz);
    free(j->theta_ns);
    free(j->theta_ew);
    free(j->offset);
    free(j->gain);
}
