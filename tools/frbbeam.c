/* frbbeam: voltages of a grid of dishes to filterbanks of beams. */
#include "frbbeam.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* Adds the time since *since_s, which for reading and writing is what was waited, to a stage and
 * moves *since_s to now. */
static void charge(struct frbbeam_job *j, enum frbbeam_stage stage, double *since_s)
{
    double now_s = run_seconds();
    j->stage_s[stage] += now_s - *since_s;
    *since_s = now_s;
}

/* Samples during which tracking beams stay where they are: whole sums. */
static int64_t stretch_of(const struct frbbeam_job *j)
{
    double rows = rint(j->opt.cadence_s / ((double)j->tds * j->tsamp_s));
    return (int64_t)j->tds * (int64_t)fmin(fmax(rows, 1), 1e12);
}

/* Points tracking beams at where they are in the middle of the stretch that begins at j->nread. */
static psr_status point_again(struct frbbeam_job *j, int64_t stretch)
{
    psr_status st = frbbeam_aim(j, frbbeam_date(j, j->nread + stretch / 2));
    return st ? st : psr_beam_point(j->plan, j->theta_ns, j->theta_ew, &j->err);
}

psr_status frbbeam_form(struct frbbeam_job *j, const uint8_t *in, size_t nt,
                        psr_status (*use)(struct frbbeam_job *j, size_t nrow))
{
    const int64_t stretch = stretch_of(j);
    psr_status st = PSR_OK;
    while (nt > 0 && !st) {
        size_t n = nt < j->block ? nt : j->block, nrow = 0;
        double since_s = run_seconds();
        if (j->aims.tracks) {
            int64_t into = j->nread % stretch;
            if (into == 0)
                st = point_again(j, stretch);
            n = (int64_t)n > stretch - into ? (size_t)(stretch - into) : n;
        }
        if (!st)
            st = psr_beam_execute(j->plan, in, n, j->out[j->forming], j->stride, &nrow, &j->err);
        charge(j, STAGE_BEAM, &since_s);
        if (!st)
            st = use(j, nrow);
        charge(j, STAGE_WRITE, &since_s);
        j->nread += (int64_t)n;
        in += n * j->sample_bytes;
        nt -= n;
    }
    return st;
}

static psr_status write_errand(void *ctx, psr_err *err)
{
    struct frbbeam_job *j = ctx;
    return frbbeam_output_write(j, j->out[!j->forming], j->out_n, err);
}

/* Leaves rows to be written while the next ones are formed. */
static psr_status write_rows(struct frbbeam_job *j, size_t nrow)
{
    psr_status st = errand_wait(&j->write, &j->err);
    if (st || nrow == 0)
        return st;
    j->nrow += (int64_t)nrow;
    j->out_n = nrow;
    j->forming = !j->forming;
    errand_start(&j->write, write_errand, j);
    return PSR_OK;
}

static psr_status read_errand(void *ctx, psr_err *err)
{
    struct frbbeam_job *j = ctx;
    return psr_voltages_read(j->voltages, j->block, j->in[j->reading], &j->in_n, err);
}

/* Forms what is read until the stream has given "end" samples, it ends, or a signal asks to stop;
 * the next block is read meanwhile. */
static psr_status process_until(struct frbbeam_job *j, int64_t end,
                                psr_status (*use)(struct frbbeam_job *j, size_t nrow))
{
    psr_status st = PSR_OK;
    errand_start(&j->read, read_errand, j);
    while (!st && j->nread < end && !run_stop_signal()) {
        double since_s = run_seconds();
        st = errand_wait(&j->read, &j->err);
        charge(j, STAGE_READ, &since_s);
        const uint8_t *in = j->in[j->reading];
        size_t n = j->in_n;
        if (st || n == 0)
            break;
        j->reading = !j->reading;
        errand_start(&j->read, read_errand, j);
        n = (int64_t)n > end - j->nread ? (size_t)(end - j->nread) : n;
        st = frbbeam_form(j, in, n, use);
        run_progress_update(&j->progress, j->nread);
    }
    psr_err ignored;
    (void)errand_wait(&j->read, &ignored); /* of what nobody asked for any more */
    return st;
}

/* A file is read again after its scales are measured. */
static psr_status measure_file(struct frbbeam_job *j, size_t nsamp)
{
    psr_status st = process_until(j, (int64_t)nsamp, frbbeam_scales_add);
    return st ? st : psr_voltages_rewind(j->voltages, &j->err);
}

/* A pipe's beginning is kept while its scales are measured. */
static psr_status process_kept(struct frbbeam_job *j, size_t nsamp)
{
    uint8_t *in = malloc(nsamp * j->sample_bytes);
    if (!in)
        return psr_fail_nomem(&j->err, "the voltages that scales are measured on",
                              (double)nsamp * (double)j->sample_bytes);
    size_t n = 0;
    psr_status st = psr_voltages_read(j->voltages, nsamp, in, &n, &j->err);
    if (!st)
        st = frbbeam_form(j, in, n, frbbeam_scales_add);
    if (!st)
        st = frbbeam_scales_end(j);
    if (!st)
        st = frbbeam_output_open(j);
    if (!st)
        st = frbbeam_form(j, in, n, write_rows);
    free(in);
    return st;
}

static psr_status process_input(struct frbbeam_job *j)
{
    size_t nsamp;
    psr_status st = frbbeam_scales_begin(j, &nsamp);
    if (!st && nsamp > 0 && psr_voltages_nsamp(j->voltages) < 0) {
        st = process_kept(j, nsamp);
    } else if (!st) {
        st = nsamp > 0 ? measure_file(j, nsamp) : PSR_OK;
        if (!st)
            st = frbbeam_scales_end(j);
        if (!st)
            st = frbbeam_output_open(j);
    }
    if (!st)
        st = process_until(j, INT64_MAX, write_rows);
    return st ? st : errand_wait(&j->write, &j->err);
}

static void print_plan(const struct frbbeam_job *j)
{
    struct psr_beam_info info;
    psr_beam_describe(j->plan, &info);
    fprintf(stderr,
            "%s: %zu channels, %g to %g MHz, %zu dishes, %g us; %lld samples\n"
            "%s: %zu beams of a %zu x %zu grid, %zu samples a sum; backend %s, %d threads, %.0f "
            "MB, blocks of %zu samples\n",
            j->path[0], j->nfreq, j->freq_mhz[0], j->freq_mhz[j->nfreq - 1], j->array.ndish,
            j->tsamp_s * 1e6, (long long)psr_voltages_nsamp(j->voltages), j->tool.name, j->nbeam,
            j->array.m, j->array.n, j->tds, info.backend, j->nthread, (double)info.bytes / 1e6,
            j->block);
}

static void print_account(const struct frbbeam_job *j)
{
    static const char *const name[NSTAGES] = {"read", "beams", "write"};
    double all_s = 0, real_s = (double)j->nread * j->tsamp_s;
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
    psr_status st = frbbeam_prepare(j);
    if (st == PSR_OK && j->opt.verbose)
        print_plan(j);
    if (st == PSR_OK) {
        run_progress_start(&j->progress, !j->opt.quiet, psr_voltages_nsamp(j->voltages), "MB",
                           (double)j->sample_bytes / 1e6);
        st = process_input(j);
        run_progress_end(&j->progress);
    }
    if (st == PSR_OK && !run_stop_signal() && j->nrow == 0)
        st = psr_fail(&j->err, PSR_EINVAL, "%s: holds %lld samples, fewer than the %zu of -tds",
                      j->path[0], (long long)j->nread, j->tds);
    if (st == PSR_OK && !run_stop_signal())
        st = frbbeam_output_close(j);
    if (st == PSR_OK && j->opt.verbose && !run_stop_signal())
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
