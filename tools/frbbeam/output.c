#include "frbbeam.h"

#include "tools/common/guard.h"
#include <fcntl.h>
#include <limits.h>
#include <psrkit/sigproc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What is buffered of all files before it is written, where rows do not come gathered; room for a
 * header where they do. */
enum { BUFFER_BYTES = 128 << 20, BUFFER_MOST = 1 << 20, HEADER_BYTES = 1024 };

enum { MOST_THREADS = 16 };

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

static void describe_beam(const struct frbbeam_job *j, size_t b, struct psr_obs *obs)
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

/* Decimals that hold the number of every beam, four at least. */
static int name_width(size_t nbeam)
{
    int width = 4;
    for (size_t top = 10000; nbeam > top; top *= 10)
        width++;
    return width;
}

/* Different for neighbours, so that files are not all written at the same time. */
static size_t buffer_bytes(const struct frbbeam_job *j, size_t b)
{
    const int64_t share = j->mem_bytes / 8, all = share < BUFFER_BYTES ? share : BUFFER_BYTES;
    const size_t each = (size_t)all / j->nbeam, most = each < BUFFER_MOST ? each : BUFFER_MOST;
    return most / 2 + most / 2 * (b % 16) / 15;
}

/* What a step has to do with all beams. */
struct task {
    struct frbbeam_job *j;
    const struct guard *inputs; /* while files are opened */
};

static psr_status guard_inputs(const struct frbbeam_job *j, struct guard *g, psr_err *err)
{
    const struct frbbeam_options *o = &j->opt;
    const char *const aside[] = {o->array, o->beams, o->weights, o->scale, o->tds_file};
    psr_status st = PSR_OK;
    for (size_t i = 0; i < j->npath && !st; i++)
        st = guard_add(g, j->path[i], err);
    for (size_t i = 0; i < sizeof aside / sizeof *aside && !st; i++)
        st = guard_add(g, aside[i], err);
    guard_sort(g);
    return st;
}

static psr_status open_beam(const struct task *t, size_t b, psr_err *err)
{
    const struct frbbeam_job *j = t->j;
    char path[4096];
    struct psr_obs obs;
    if (run_stop_signal()) /* a million files take minutes, and nothing will be written */
        return PSR_OK;
    int n = snprintf(path, sizeof path, "%s_beam%0*zu.fil", j->opt.root, name_width(j->nbeam_all),
                     j->first_beam + b);
    if (n < 0 || (size_t)n >= sizeof path)
        return psr_fail(err, PSR_EINVAL, "-o: a name of %d characters is too long", n);
    const bool is_pipe = !strcmp(j->opt.root, "-");
    psr_status st = is_pipe ? PSR_OK : guard_check(t->inputs, path, err);
    if (!st)
        st = psr_outfile_create(&j->file[b], is_pipe ? "-" : path, err);
    if (st)
        return st;
    if (!is_pipe)
        psr_outfile_buffer(j->file[b], j->gathers ? HEADER_BYTES : buffer_bytes(j, b));
    describe_beam(j, b, &obs);
    st = psr_sigproc_write(j->file[b], &obs, PSR_SIGPROC_FILTERBANK, err);
    psr_obs_clear(&obs);
    return st;
}

psr_status frbbeam_output_write(struct frbbeam_job *j, const struct frbbeam_task *t, size_t b,
                                psr_err *err)
{
    const size_t row = psr_beam_row_bytes(j->plan);
    return psr_outfile_write(j->file[b], t->rows + b * t->stride * row, t->n * row, err);
}

/* All bytes go to the system before any file takes its name: a disk that is full shows now. */
static psr_status finish_beam(const struct task *t, size_t b, psr_err *err)
{
    return psr_outfile_park(t->j->file[b], err);
}

/* Beams are independent files, so threads share them: not so many that descriptors run out. */
static psr_status each_beam(const struct task *t,
                            psr_status (*step)(const struct task *t, size_t b, psr_err *err),
                            psr_err *err)
{
    const int each = frbbeam_threads(t->j), nthread = each < MOST_THREADS ? each : MOST_THREADS;
    psr_status st = PSR_OK;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for schedule(dynamic, 16) num_threads(nthread)
    for (size_t b = 0; b < t->j->nbeam; b++) {
        psr_err why;
        psr_status mine = step(t, b, &why);
        if (mine != PSR_OK) {
#pragma omp critical(frbbeam_output)
            {
                st = mine;
                *err = why;
            }
        }
    }
    return st;
}

/* The system's table of descriptors grows at once, not time and again while all threads that open
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

/* Returned: whether scales are to be written; those that were read are not written over. */
static bool name_scale(const struct frbbeam_job *j, char *path, size_t room)
{
    if (j->opt.nbits == 32 || !strcmp(j->opt.root, "-"))
        return false;
    snprintf(path, room, "%s.scale", j->opt.root);
    return !guard_same(path, j->opt.scale);
}

psr_status frbbeam_output_open(struct frbbeam_job *j, psr_err *err)
{
    struct guard inputs = {0};
    const struct task t = {.j = j, .inputs = &inputs};
    char scale[4096];
    j->file = calloc(j->nbeam, sizeof *j->file);
    if (!j->file)
        return psr_fail_nomem(err, "output files", (double)j->nbeam * sizeof *j->file);
    psr_status st = guard_inputs(j, &inputs, err);
    if (!st && name_scale(j, scale, sizeof scale))
        st = guard_check(&inputs, scale, err);
    grow_descriptors(j->nbeam);
    if (!st)
        st = each_beam(&t, open_beam, err);
    guard_clear(&inputs);
    return st;
}

/* Returned: *f is NULL where scales are not to be written. */
static psr_status prepare_scale_file(struct frbbeam_job *j, psr_outfile **f)
{
    char path[4096];
    if (!name_scale(j, path, sizeof path))
        return PSR_OK;
    psr_status st = psr_outfile_create(f, path, &j->err);
    if (!st)
        st = frbbeam_write_scales(j, *f);
    return st ? st : psr_outfile_park(*f, &j->err);
}

psr_status frbbeam_output_close(struct frbbeam_job *j)
{
    const struct task t = {.j = j};
    psr_outfile *scale = NULL;
    psr_status st = each_beam(&t, finish_beam, &j->err);
    if (!st)
        st = prepare_scale_file(j, &scale);
    for (size_t b = 0; b < j->nbeam && !st; b++) {
        psr_outfile *f = j->file[b];
        j->file[b] = NULL;
        st = psr_outfile_commit(f, &j->err);
    }
    if (!st && scale)
        return psr_outfile_commit(scale, &j->err);
    psr_outfile_abort(scale);
    return st;
}

void frbbeam_output_abort(struct frbbeam_job *j)
{
    frbbeam_crew_end(j);
    for (size_t b = 0; j->file && b < j->nbeam; b++)
        psr_outfile_abort(j->file[b]);
    free(j->file);
    j->file = NULL;
}
