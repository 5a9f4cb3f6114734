/* frbbeam: voltages of a grid of dishes to filterbanks of beams. */
#include "frbbeam.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Adds the time since *since_s, which for reading and writing is what was waited, to a stage and
 * moves *since_s to now. */
static void charge(struct frbbeam_job *j, enum frbbeam_stage stage, double *since_s)
{
    double now_s = run_seconds();
    j->stage_s[stage] += now_s - *since_s;
    *since_s = now_s;
}

/* --- forming ---------------------------------------------------------------------------------- */

/* Samples during which tracking beams stay where they are: whole sums. */
static int64_t stretch_of(const struct frbbeam_job *j)
{
    double units = rint(j->opt.cadence_s / ((double)j->unit * j->tsamp_s));
    return (int64_t)j->unit * (int64_t)fmin(fmax(units, 1), 1e12);
}

/* Points tracking beams at where they are in the middle of the stretch that begins at j->nread.
 * Files that are being made say where beams were at first. */
static psr_status point_again(struct frbbeam_job *j, int64_t stretch)
{
    psr_status st = errand_wait(&j->write, &j->err);
    if (!st)
        st = frbbeam_beams_aim(j, frbbeam_date(j, j->nread + stretch / 2));
    return st ? st : psr_beam_point(j->plan, j->theta_ns, j->theta_ew, &j->err);
}

int frbbeam_threads(const struct frbbeam_job *j)
{
    return (size_t)j->nthread < j->nbeam ? j->nthread : (int)j->nbeam;
}

size_t frbbeam_stride(const struct frbbeam_job *j)
{
    return j->out_bytes / j->nbeam / psr_beam_row_bytes(j->plan);
}

/* Of nt samples those that are formed at once: beams stay where they are, rows have room, and the
 * floats that are kept are no more than are wanted. */
static size_t choose_next(const struct frbbeam_job *j, size_t nt)
{
    const size_t room = (frbbeam_stride(j) - 1) / (j->unit / j->tds) * j->unit;
    const int64_t stretch = stretch_of(j);
    size_t n = nt < room ? nt : room;
    if (j->aims.tracks && (int64_t)n > stretch - j->nread % stretch)
        n = (size_t)(stretch - j->nread % stretch);
    if (j->measures && n > (j->kept_most - j->kept_n) * j->tds)
        n = (j->kept_most - j->kept_n) * j->tds;
    return n;
}

static psr_status write_errand(void *ctx, psr_err *err)
{
    struct frbbeam_job *j = ctx;
    return frbbeam_output_write(j, j->out[!j->forming], frbbeam_stride(j), j->out_n, err);
}

/* Rows are left to be kept or written while the next ones are formed. */
static psr_status use_rows(struct frbbeam_job *j, size_t nrow)
{
    frbbeam_sums_spread(j, j->out[j->forming], frbbeam_stride(j), nrow);
    psr_status st = errand_wait(&j->write, &j->err);
    if (st || nrow == 0)
        return st;
    j->out_n = nrow;
    j->nrow += (int64_t)nrow;
    j->forming = !j->forming;
    if (!j->measures) {
        errand_start(&j->write, write_errand, j);
        return PSR_OK;
    }
    frbbeam_scales_keep(j);
    return j->kept_n == j->kept_most ? frbbeam_scales_end(j) : PSR_OK;
}

static psr_status form_block(struct frbbeam_job *j, const uint8_t *in, size_t nt)
{
    psr_status st = PSR_OK;
    double since_s = run_seconds();
    while (nt > 0 && !st) {
        size_t n = choose_next(j, nt), nrow = frbbeam_sums_rows(j, n), ready;
        if (j->aims.tracks && j->nread % stretch_of(j) == 0)
            st = point_again(j, stretch_of(j));
        if (!st)
            st = psr_beam_execute(j->plan, in, n, j->out[j->forming], frbbeam_stride(j), &ready,
                                  &j->err);
        charge(j, STAGE_BEAM, &since_s);
        if (!st)
            st = use_rows(j, nrow);
        charge(j, STAGE_WRITE, &since_s);
        j->nread += (int64_t)n;
        in += n * j->sample_bytes;
        nt -= n;
    }
    return st;
}

/* --- the stream ------------------------------------------------------------------------------- */

static psr_status read_errand(void *ctx, psr_err *err)
{
    struct frbbeam_job *j = ctx;
    return psr_voltages_read(j->voltages, j->block, j->in[j->reading], &j->in_n, err);
}

/* Forms what is read until the input ends or a signal asks to stop; the next block is read
 * meanwhile. */
static psr_status process_stream(struct frbbeam_job *j)
{
    psr_status st = PSR_OK;
    errand_start(&j->read, read_errand, j);
    while (!st && !run_stop_signal()) {
        double since_s = run_seconds();
        st = errand_wait(&j->read, &j->err);
        charge(j, STAGE_READ, &since_s);
        const uint8_t *in = j->in[j->reading];
        const size_t n = j->in_n;
        if (st || n == 0)
            break;
        j->reading = !j->reading;
        errand_start(&j->read, read_errand, j);
        st = form_block(j, in, n);
        run_progress_update(&j->progress, j->nread);
    }
    psr_err ignored;
    (void)errand_wait(&j->read, &ignored); /* of what nobody asked for any more */
    return st;
}

static psr_status process_input(struct frbbeam_job *j)
{
    psr_status st = process_stream(j);
    double since_s = run_seconds();
    if (!st && j->measures)
        st = frbbeam_scales_end(j);
    if (!st)
        st = errand_wait(&j->write, &j->err);
    charge(j, STAGE_WRITE, &since_s);
    return st;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void print_plan(const struct frbbeam_job *j)
{
    struct psr_beam_info info;
    size_t longest = 0;
    psr_beam_describe(j->plan, &info);
    for (size_t f = 0; f < j->nfreq; f++)
        longest = j->sum[f] > longest ? j->sum[f] : longest;
    fprintf(
        stderr,
        "%s: %zu channels, %g to %g MHz, %zu dishes, %g us; %lld samples\n"
        "%s: %zu beams of a %zu x %zu grid, %zu to %zu samples a sum; backend %s, %d threads, %.0f "
        "MB, blocks of %zu samples\n",
        j->path[0], j->nfreq, j->freq_mhz[0], j->freq_mhz[j->nfreq - 1], j->array.ndish,
        j->tsamp_s * 1e6, (long long)psr_voltages_nsamp(j->voltages), j->tool.name, j->nbeam,
        j->array.m, j->array.n, j->tds, longest, info.backend, j->nthread, (double)info.bytes / 1e6,
        j->block);
}

static void print_account(const struct frbbeam_job *j)
{
    static const char *const name[NSTAGES] = {"start", "read", "beams", "write", "end"};
    double all_s = 0, real_s = (double)j->nread * j->tsamp_s;
    if (j->kept_n > 0)
        fprintf(stderr, "%s: scales measured on %zu rows of each beam, %.3g s, %.0f MB\n",
                j->tool.name, j->kept_n, (double)j->kept_n * (double)j->tds * j->tsamp_s,
                (double)(j->kept_n * j->nbeam * j->nfreq) * sizeof(float) / 1e6);
    fprintf(stderr, "%s: %lld samples in, %lld out of each beam;", j->tool.name,
            (long long)j->nread, (long long)j->nrow);
    for (int s = 0; s < NSTAGES; s++) {
        fprintf(stderr, " %s %.3f s,", name[s], j->stage_s[s]);
        all_s += j->stage_s[s];
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, " %.3g x real time, peak %ld MB\n", real_s / all_s, used.ru_maxrss / 1000);
}

static psr_status run(struct frbbeam_job *j)
{
    double since_s = run_seconds();
    psr_status st = frbbeam_prepare(j);
    charge(j, STAGE_START, &since_s);
    if (st == PSR_OK && j->opt.verbose)
        print_plan(j);
    if (st == PSR_OK) {
        run_progress_start(&j->progress, !j->opt.quiet, psr_voltages_nsamp(j->voltages), "MB",
                           (double)j->sample_bytes / 1e6);
        st = process_input(j);
        run_progress_end(&j->progress);
    }
    if (st || run_stop_signal())
        return st;
    if (j->nrow == 0)
        return psr_fail(&j->err, PSR_EINVAL, "%s: holds %lld samples, fewer than the %zu of -tds",
                        strcmp(j->path[0], "-") ? j->path[0] : "standard input",
                        (long long)j->nread, j->unit);
    since_s = run_seconds();
    st = frbbeam_output_close(j);
    charge(j, STAGE_END, &since_s);
    if (!st && j->opt.verbose)
        print_account(j);
    return st;
}

int main(int argc, char **argv)
{
    struct frbbeam_job job = {0};
    job.npath = (size_t)frbbeam_options_parse(&job.opt, &job.tool, argc, argv);
    job.path = argv + 1;
    run_catch_signals();
    int code = run(&job) == PSR_OK ? EXIT_SUCCESS : cli_report(&job.tool, &job.err);
    frbbeam_release(&job);
    if (run_stop_signal())
        run_die_by_signal(run_stop_signal());
    return cli_close_stdout(&job.tool, code);
}
