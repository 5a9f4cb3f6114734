#include "frbbeam.h"

#include <fcntl.h>
#include <limits.h>
#include <psrkit/overwrite_check.h>
#include <psrkit/sigproc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What is buffered of all files before it is written, where rows do not come gathered; room for a
 * header where they do. */
enum { BUFFER_BYTES = 128 << 20, BUFFER_MOST = 1 << 20, HEADER_BYTES = 1024 };

enum { MOST_THREADS = 16, PATH_BYTES = 4096 };

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

static psr_status name_beam(const struct frbbeam_job *j, size_t b, char *path, size_t room,
                            psr_err *err)
{
    int n = 1;
    if (!strcmp(j->opt.root, "-"))
        strcpy(path, "-");
    else
        n = snprintf(path, room, "%s_beam%0*zu.fil", j->opt.root, name_width(j->nbeam_all),
                     j->first_beam + b);
    if (n < 0 || (size_t)n >= room)
        return psr_fail(err, PSR_EINVAL, "-o: a name of %d characters is too long", n);
    return PSR_OK;
}

/* Returned: whether scales are to be written; those that were read stay. */
static bool name_scale(const struct frbbeam_job *j, char *path, size_t room)
{
    if (j->opt.nbits == 32 || !strcmp(j->opt.root, "-"))
        return false;
    snprintf(path, room, "%s.scale", j->opt.root);
    return !j->opt.scale || !psr_same_file(path, j->opt.scale);
}

static psr_status check_names(const struct frbbeam_job *j, psr_err *err)
{
    const struct frbbeam_options *o = &j->opt;
    const char *const aside[] = {o->array, o->beams, o->weights, o->scale, o->tds_file};
    struct psr_overwrite_check c = {0};
    char path[PATH_BYTES];
    psr_status st = PSR_OK;
    for (size_t i = 0; i < j->npath && !st; i++)
        st = psr_overwrite_check_input(&c, j->path[i], err);
    for (size_t i = 0; i < sizeof aside / sizeof *aside && !st; i++)
        st = psr_overwrite_check_input(&c, aside[i], err);
    if (!st && name_scale(j, path, sizeof path))
        st = psr_overwrite_check_output(&c, path, NULL, err);
    for (size_t b = 0; b < j->nbeam && !st && !run_stop_signal(); b++) {
        st = name_beam(j, b, path, sizeof path, err);
        if (!st)
            st = psr_overwrite_check_output(&c, path, NULL, err);
    }
    psr_overwrite_check_clear(&c);
    return st;
}

static psr_status open_beam(struct frbbeam_job *j, size_t b, psr_err *err)
{
    char path[PATH_BYTES];
    struct psr_obs obs;
    if (run_stop_signal()) /* a million files take minutes, and nothing will be written */
        return PSR_OK;
    psr_status st = name_beam(j, b, path, sizeof path, err);
    if (!st)
        st = psr_outfile_create(&j->file[b], path, err);
    if (st)
        return st;
    if (strcmp(path, "-") != 0)
        psr_outfile_buffer(j->file[b], j->gathers ? HEADER_BYTES : buffer_bytes(j, b));
    frbbeam_describe_beam(j, b, &obs);
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
static psr_status finish_beam(struct frbbeam_job *j, size_t b, psr_err *err)
{
    return psr_outfile_park(j->file[b], err);
}

/* Beams are independent files, so threads share them: not so many that descriptors run out. */
static psr_status each_beam(struct frbbeam_job *j,
                            psr_status (*step)(struct frbbeam_job *j, size_t b, psr_err *err),
                            psr_err *err)
{
    const int each = frbbeam_threads(j), nthread = each < MOST_THREADS ? each : MOST_THREADS;
    psr_status st = PSR_OK;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for schedule(dynamic, 16) num_threads(nthread)
    for (size_t b = 0; b < j->nbeam; b++) {
        psr_err why;
        psr_status mine = step(j, b, &why);
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

/* Beams of one root may be formed by several runs; its scales are one run's. */
static psr_status create_group(struct frbbeam_job *j, psr_err *err)
{
    char scale[PATH_BYTES];
    const struct psr_output_group_desc claim = {
        .root = j->opt.root,
        .kind = "beam",
        .first = (int64_t)j->first_beam,
        .last = (int64_t)(j->first_beam + j->nbeam) - 1,
        .common = name_scale(j, scale, sizeof scale),
        .notes = {j->opt.quiet ? NULL : cli_note, &j->tool},
    };
    const int64_t nsamp = psr_voltages_nsamp(j->voltages);
    const double rows = nsamp < 0 ? 0 : (double)(nsamp / (int64_t)j->tds);
    const double row_bytes = (double)j->nfreq * (double)j->opt.nbits / 8;
    psr_status st = psr_output_group_create(&j->group, &claim, err);
    return st ? st
              : psr_output_group_check_room(j->group, rows * row_bytes * (double)j->nbeam, err);
}

psr_status frbbeam_output_open(struct frbbeam_job *j, psr_err *err)
{
    psr_status st = check_names(j, err);
    if (st)
        return st;
    j->file = calloc(j->nbeam, sizeof *j->file);
    if (!j->file)
        return psr_fail_nomem(err, "output files", (double)j->nbeam * sizeof *j->file);
    st = create_group(j, err);
    grow_descriptors(j->nbeam);
    return st ? st : each_beam(j, open_beam, err);
}

static psr_status add_scale_file(struct frbbeam_job *j)
{
    char path[PATH_BYTES];
    psr_outfile *f;
    if (!name_scale(j, path, sizeof path))
        return PSR_OK;
    psr_status st = psr_output_group_add(j->group, path, &f, &j->err);
    return st ? st : frbbeam_write_scales(j, f);
}

psr_status frbbeam_output_close(struct frbbeam_job *j)
{
    psr_status st = each_beam(j, finish_beam, &j->err);
    for (size_t b = 0; b < j->nbeam && !st; b++) {
        psr_outfile *f = j->file[b];
        j->file[b] = NULL;
        st = psr_output_group_take(j->group, f, &j->err);
    }
    if (!st)
        st = add_scale_file(j);
    if (st)
        return st;
    psr_output_group *group = j->group;
    j->group = NULL;
    return psr_output_group_commit(group, &j->err);
}

void frbbeam_output_abort(struct frbbeam_job *j)
{
    frbbeam_crew_end(j);
    for (size_t b = 0; j->file && b < j->nbeam; b++)
        psr_outfile_abort(j->file[b]);
    psr_output_group_abort(j->group);
    j->group = NULL;
    free(j->file);
    j->file = NULL;
}
