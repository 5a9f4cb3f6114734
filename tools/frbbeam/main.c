/* frbbeam: voltages of a grid of dishes to filterbanks of beams. */
#include "frbbeam.h"
#include "base/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    psr_status st = frbbeam_crew_wait(j);
    if (!st)
        st = frbbeam_beams_aim(j, frbbeam_date(j, j->nread + stretch / 2));
    return st ? st : psr_beam_point(j->plan, j->theta_ns, j->theta_ew, &j->err);
}

int frbbeam_threads(const struct frbbeam_job *j)
{
    return (size_t)j->nthread < j->nbeam ? j->nthread : (int)j->nbeam;
}

/* Of nt samples those that are formed at once: beams stay where they are, and the floats that are
 * kept are no more than are wanted. */
static size_t choose_next(const struct frbbeam_job *j, size_t nt)
{
    const int64_t stretch = stretch_of(j);
    size_t n = nt;
    if (j->aims.tracks && (int64_t)n > stretch - j->nread % stretch)
        n = (size_t)(stretch - j->nread % stretch);
    if (j->measures && n > (j->kept_most - j->kept_begun) * j->tds)
        n = (j->kept_most - j->kept_begun) * j->tds;
    return n;
}

static psr_status write_rows(struct frbbeam_job *j, const struct frbbeam_task *t, size_t b,
                             psr_err *err)
{
    frbbeam_sums_spread(j, t->rows + b * t->stride * psr_beam_row_bytes(j->plan), t->n);
    return frbbeam_output_write(j, t, b, err);
}

enum { NO_ROOM = 1 << 30 }; /* more rows than a buffer has */

/* Leaves the rows that have come to be kept or written; none are begun beside them any more. */
static psr_status hand_over(struct frbbeam_job *j)
{
    psr_status st = frbbeam_crew_wait(j);
    const struct frbbeam_task t = {.step = write_rows,
                                   .rows = j->out[j->coming_to % FRBBEAM_TURNS],
                                   .stride = j->stride,
                                   .n = j->came};
    if (st || j->came == 0)
        return st;
    j->came = 0;
    if (j->coming_to == j->nout)
        j->begun = NO_ROOM;
    if (!j->measures)
        frbbeam_crew_start(j, &t);
    else
        frbbeam_scales_keep(j, t.rows, t.n);
    return j->measures && j->kept_n == j->kept_most ? frbbeam_scales_end(j) : PSR_OK;
}

/* Waits for the rows that are coming until no more than "left" blocks are under way. */
static psr_status take_rows(struct frbbeam_job *j, size_t left)
{
    double since_s = run_seconds();
    psr_status st = psr_beam_wait(j->plan, left, &j->err);
    charge(j, STAGE_BEAM, &since_s);
    j->came += j->coming;
    j->nrow += (int64_t)j->coming;
    j->coming = 0;
    if (!st && (j->measures || left == 0 || j->coming_to != j->nout))
        st = hand_over(j);
    charge(j, STAGE_WRITE, &since_s);
    return st;
}

/* Where the next rows go: on in the buffer, or into the next one. */
static void *find_place(struct frbbeam_job *j, size_t nrow)
{
    if (!j->gathers || j->measures || j->begun + nrow > j->stride) {
        j->nout++;
        j->begun = 0;
    }
    j->begun += nrow;
    return (char *)j->out[j->nout % FRBBEAM_TURNS] +
           (j->begun - nrow) * psr_beam_row_bytes(j->plan);
}

/* Starts on the next n samples, and takes the rows of those before. */
static psr_status form_next(struct frbbeam_job *j, const uint8_t *in, size_t n)
{
    const size_t nrow = frbbeam_sums_rows(j, n);
    size_t ready;
    double since_s = run_seconds();
    psr_status st = PSR_OK;
    if (j->aims.tracks && j->nread % stretch_of(j) == 0)
        st = point_again(j, stretch_of(j));
    if (!st)
        st = psr_beam_start(j->plan, in, n, find_place(j, nrow), j->stride, &ready, &j->err);
    charge(j, STAGE_BEAM, &since_s);
    j->nread += (int64_t)n;
    if (!st)
        st = take_rows(j, 1);
    j->coming = nrow;
    j->kept_begun += j->measures ? nrow : 0;
    j->coming_to = j->nout;
    return st;
}

static psr_status form_block(struct frbbeam_job *j, const uint8_t *in, size_t nt)
{
    psr_status st = PSR_OK;
    while (nt > 0 && !st) {
        size_t n = choose_next(j, nt);
        st = form_next(j, in, n);
        if (!st && j->measures && j->kept_begun == j->kept_most) /* what follows needs the scales */
            st = take_rows(j, 0);
        in += n * j->sample_bytes;
        nt -= n;
    }
    return st;
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Forms what is read until the input ends or a signal asks to stop; the next blocks are read
 * meanwhile. */
static psr_status process_stream(struct frbbeam_job *j)
{
    psr_status st = PSR_OK;
    frbbeam_read_start(j);
    while (!st) {
        const uint8_t *in;
        size_t n;
        double since_s = run_seconds();
        st = frbbeam_read_next(j, &in, &n);
        charge(j, STAGE_READ, &since_s);
        if (run_stop_signal())
            return PSR_OK;
        if (st || n == 0)
            break;
        st = form_block(j, in, n);
        frbbeam_read_release(j);
        run_progress_update(&j->progress, j->nread);
    }
    return st ? st : take_rows(j, 0);
}

static psr_status process_input(struct frbbeam_job *j)
{
    psr_status st = process_stream(j);
    double since_s = run_seconds();
    if (run_stop_signal())
        return st;
    if (!st && j->measures)
        st = frbbeam_scales_end(j);
    if (!st)
        st = frbbeam_crew_wait(j);
    charge(j, STAGE_WRITE, &since_s);
    return st;
}

/* --- the run ---------------------------------------------------------------------------------- */

static psr_status run(struct frbbeam_job *j)
{
    double since_s = run_seconds();
    psr_status st = frbbeam_prepare(j);
    charge(j, STAGE_START, &since_s);
    if (st == PSR_OK && j->opt.verbose)
        frbbeam_report_plan(j);
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
                        psr_path_called(j->path[0]), (long long)j->nread, j->unit);
    since_s = run_seconds();
    st = frbbeam_output_close(j);
    charge(j, STAGE_END, &since_s);
    if (!st && j->opt.verbose)
        frbbeam_report_account(j);
    return st;
}

int main(int argc, char **argv)
{
    struct frbbeam_job job = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    job.npath = (size_t)frbbeam_options_parse(&job.opt, &job.tool, argc, argv);
    job.path = argv + 1;
    run_catch_signals();
    run_limit_threads(&job.opt.ncpus, job.opt.quiet ? NULL : job.tool.name);
    int code = run(&job) == PSR_OK ? EXIT_SUCCESS : cli_report(&job.tool, &job.err);
    frbbeam_read_stop(&job);
    frbbeam_output_abort(&job);
    if (run_stop_signal())
        run_die_by_signal(run_stop_signal());
    if (!errand_busy(&job.read, 1)) /* a pipe may never give what is waited for */
        frbbeam_release(&job);
    return cli_close_stdout(&job.tool, code);
}
