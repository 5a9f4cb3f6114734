/* Writes beam files: names, headers, completion. */
#include "base/output/outfile_internal.h"
#include "beam/beam_internal.h"
#include "beamformer_state.h"

#include <fcntl.h>
#include <limits.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- selects beams from a list or the grid, and computes their grid coordinates --------------- */

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

/* What is buffered of all files before it is written, where rows do not come gathered; room for a
 * header where they do. */
enum { BUFFER_BYTES = 128 << 20, BUFFER_MOST = 1 << 20, HEADER_BYTES = 1024 };

enum { MOST_THREADS = 16, PATH_BYTES = 4096 };

static bool should_stop(const struct psr_beam_outputs *o)
{
    const struct psr_beamformer_desc *run = o->d.run;
    return run->should_stop && run->should_stop(run->ctx);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Decimals that hold the number of every beam, four at least. */
static int name_width(size_t nbeam)
{
    int width = 4;
    for (size_t top = 10000; nbeam > top; top *= 10)
        width++;
    return width;
}

static psr_status name_beam(const struct psr_beam_outputs *o, size_t b, char *path, size_t room,
                            psr_err *err)
{
    const struct psr_beam_directions *d = o->d.directions;
    int n = 1;
    if (!strcmp(o->d.run->root, "-"))
        strcpy(path, "-");
    else
        n = snprintf(path, room, "%s_beam%0*zu.fil", o->d.run->root, name_width(d->nbeam_all),
                     d->first + b);
    if (n < 0 || (size_t)n >= room)
        return psr_fail(err, PSR_EINVAL, "-o: a name of %d characters is too long", n);
    return PSR_OK;
}

/* Returned: whether scales are to be written; those that were read stay. */
static bool name_scale(const struct psr_beam_outputs *o, char *path, size_t room)
{
    const struct psr_beamformer_desc *run = o->d.run;
    if (run->nbits == 32 || !strcmp(run->root, "-"))
        return false;
    snprintf(path, room, "%s.scale", run->root);
    return !run->scale || !psr_same_file(path, run->scale);
}

static psr_status check_names(const struct psr_beam_outputs *o, psr_err *err)
{
    const struct psr_beamformer_desc *run = o->d.run;
    const char *const aside[] = {run->array, run->beams, run->weights, run->scale, run->tds_file};
    struct psr_overwrite_check c = {0};
    char path[PATH_BYTES];
    psr_status st = PSR_OK;
    for (size_t i = 0; i < run->npath && !st; i++)
        st = psr_overwrite_check_input(&c, run->path[i], err);
    for (size_t i = 0; i < sizeof aside / sizeof *aside && !st; i++)
        st = psr_overwrite_check_input(&c, aside[i], err);
    if (!st && name_scale(o, path, sizeof path))
        st = psr_overwrite_check_output(&c, path, NULL, err);
    for (size_t b = 0; b < o->nbeam && !st && !should_stop(o); b++) {
        st = name_beam(o, b, path, sizeof path, err);
        if (!st)
            st = psr_overwrite_check_output(&c, path, NULL, err);
    }
    psr_overwrite_check_clear(&c);
    return st;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Different for neighbours, so that files are not all written at the same time. */
static size_t buffer_bytes(const struct psr_beam_outputs *o, size_t b)
{
    const int64_t part = o->d.mem_bytes / 8, all = part < BUFFER_BYTES ? part : BUFFER_BYTES;
    const size_t each = (size_t)all / o->nbeam, most = each < BUFFER_MOST ? each : BUFFER_MOST;
    return most / 2 + most / 2 * (b % 16) / 15;
}

static psr_status open_beam(struct psr_beam_outputs *o, size_t b, psr_err *err)
{
    char path[PATH_BYTES];
    struct psr_obs obs;
    if (should_stop(o)) /* a million files take minutes, and nothing will be written */
        return PSR_OK;
    psr_status st = name_beam(o, b, path, sizeof path, err);
    if (!st)
        st = psr_outfile_create(&o->file[b], path, err);
    if (st)
        return st;
    if (strcmp(path, "-") != 0)
        psr_outfile_buffer(o->file[b], o->d.gathered ? HEADER_BYTES : buffer_bytes(o, b));
    /* The header of beam b. */
    const struct psr_beam_input *in = o->d.in;
    const struct psr_dada *h = in->header;
    const char *telescope = h->telescope[0] ? h->telescope : in->array.telescope;
    psr_obs_init(&obs);
    obs.nchan = in->nfreq;
    obs.nif = 1;
    obs.nbit = (int)o->d.run->nbits;
    obs.kind = obs.nbit == 32 ? PSR_FLOAT : PSR_UINT;
    obs.fch1_mhz = in->freq_mhz[0];
    obs.foff_mhz = h->bw_mhz / (double)h->nchan;
    obs.tsamp_s = (double)o->d.sums->tds * in->tsamp_s;
    obs.tstart = psr_beam_input_date(in, 0);
    obs.telescope_id = psr_telescope_id(telescope);
    snprintf(obs.telescope, sizeof obs.telescope, "%s", telescope);
    if (h->source[0])
        snprintf(obs.source, sizeof obs.source, "%s", h->source);
    psr_beam_directions_describe(o->d.directions, in, b, &obs);
    st = psr_sigproc_write(o->file[b], &obs, PSR_SIGPROC_FILTERBANK, err);
    psr_obs_clear(&obs);
    return st;
}

/* Beams are independent files, so threads share them: not so many that descriptors run out. */
static psr_status
for_each_beam(struct psr_beam_outputs *o,
              psr_status (*step)(struct psr_beam_outputs *o, size_t b, psr_err *err), psr_err *err)
{
    const int nthread = o->d.nthread < MOST_THREADS ? o->d.nthread : MOST_THREADS;
    psr_status st = PSR_OK;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for schedule(dynamic, 16) num_threads(nthread)
    for (size_t b = 0; b < o->nbeam; b++) {
        psr_err why;
        psr_status mine = step(o, b, &why);
        if (mine != PSR_OK) {
#pragma omp critical(psr_beam_outputs)
            {
                st = mine;
                if (err)
                    *err = why;
            }
        }
    }
    return st;
}

/* Enlarges the system's table of descriptors once, instead of repeatedly while all threads that open
 * files, CUDA's too, wait for it. */
static void grow_descriptors(size_t n)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == 0)
        return;
    rlim_t want = n + 64 < limit.rlim_cur ? n + 64 : limit.rlim_cur - 1;
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)(want < INT_MAX ? want : INT_MAX));
    if (fd >= 0)
        close(fd);
}

/* Beams of one root may be formed by several runs; its scales are one run's. */
static psr_status create_group(struct psr_beam_outputs *o, psr_err *err)
{
    char scale[PATH_BYTES];
    const struct psr_output_group_desc claim = {
        .size = sizeof claim,
        .root = o->d.run->root,
        .kind = "beam",
        .first = (int64_t)o->d.directions->first,
        .last = (int64_t)(o->d.directions->first + o->nbeam) - 1,
        .common = name_scale(o, scale, sizeof scale),
        .notes = o->d.run->notes,
    };
    const int64_t nsamp = o->d.in->nsamp;
    const double rows = nsamp < 0 ? 0 : (double)(nsamp / (int64_t)o->d.sums->tds);
    const double row_bytes = (double)o->d.in->nfreq * (double)o->d.run->nbits / 8;
    psr_status st = psr_output_group_create(&o->group, &claim, err);
    return st ? st
              : psr_output_group_check_room(o->group, rows * row_bytes * (double)o->nbeam, err);
}

static psr_status open_all(void *ctx, psr_err *err)
{
    struct psr_beam_outputs *o = ctx;
    psr_status st = check_names(o, err);
    if (st)
        return st;
    o->file = calloc(o->nbeam, sizeof *o->file);
    if (!o->file)
        return psr_fail_nomem(err, "output files", (double)o->nbeam * sizeof *o->file);
    st = create_group(o, err);
    grow_descriptors(o->nbeam);
    if (!st)
        st = for_each_beam(o, open_beam, err);
    /* After a stop some files are not open, and nothing may be written to them. */
    if (!st && should_stop(o))
        st =
            psr_fail(err, PSR_ESTOPPED, "%s: stopped while its files were created", o->d.run->root);
    return st;
}

void psr_beam_outputs_start(struct psr_beam_outputs *o, const struct psr_beam_outputs_desc *desc)
{
    o->d = *desc;
    o->nbeam = desc->directions->nbeam;
    psr_async_task_start(&o->opening, open_all, o);
}

/* The thread, and those that it shared the files with, have nothing more to do. */
psr_status psr_beam_outputs_wait(struct psr_beam_outputs *o, psr_err *err)
{
    const psr_status st = psr_async_task_wait(&o->opening, err);
    psr_async_task_end(&o->opening);
    return st;
}

/* --- writing ---------------------------------------------------------------------------------- */

psr_status psr_beam_outputs_write(struct psr_beam_outputs *o, size_t b, const void *bytes, size_t n,
                                  psr_err *err)
{
    return psr_outfile_write(o->file[b], bytes, n, err);
}

/* All bytes are written before any file gets its name, so that a full disk is noticed now. */
static psr_status finish_beam(struct psr_beam_outputs *o, size_t b, psr_err *err)
{
    return psr_outfile_park(o->file[b], err);
}

static psr_status add_scale_file(struct psr_beam_outputs *o, const struct psr_beam_scales *scales,
                                 psr_err *err)
{
    char path[PATH_BYTES];
    psr_outfile *f;
    if (!name_scale(o, path, sizeof path))
        return PSR_OK;
    psr_status st = psr_output_group_add(o->group, path, &f, err);
    return st ? st : psr_beam_scales_write(scales, f, err);
}

psr_status psr_beam_outputs_finish(struct psr_beam_outputs *o, const struct psr_beam_scales *scales,
                                   psr_err *err)
{
    psr_status st = for_each_beam(o, finish_beam, err);
    for (size_t b = 0; b < o->nbeam && !st; b++) {
        psr_outfile *f = o->file[b];
        o->file[b] = NULL;
        st = psr_output_group_take(o->group, f, err);
    }
    if (!st)
        st = add_scale_file(o, scales, err);
    if (st)
        return st;
    psr_output_group *group = o->group;
    o->group = NULL;
    return psr_output_group_commit(group, err);
}

void psr_beam_outputs_abort(struct psr_beam_outputs *o)
{
    psr_async_task_end(&o->opening);
    for (size_t b = 0; o->file && b < o->nbeam; b++)
        psr_outfile_abort(o->file[b]);
    psr_output_group_abort(o->group);
    o->group = NULL;
    free(o->file);
    o->file = NULL;
}
