/* gpudedisp: telescope data to dedispersed series and single pulses. */
#include "gpudedisp.h"

#include "run.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <zlib.h>

/* Adds the time since *since_s to a stage and moves *since_s to now. */
static void charge(struct gpudedisp_job *j, enum gpudedisp_stage stage, double *since_s)
{
    double now_s = run_seconds();
    j->stage_s[stage] += now_s - *since_s;
    *since_s = now_s;
}

/* Tells the search of the stretches of the input that turned out to hold no data. */
static psr_status mask_gaps(struct gpudedisp_job *j)
{
    const struct psr_span *gap;
    size_t ngap = psr_source_gaps(j->source, &gap);
    int64_t ds = j->opt.downsamp;
    psr_status st = PSR_OK;
    for (size_t k = j->gaps_told; j->pulses && st == PSR_OK && k < ngap; k++) {
        int64_t first = gap[k].first, end = first + gap[k].count;
        if (first < j->gaps_end)
            first = j->gaps_end;
        struct psr_span span = {first / ds, (end + ds - 1) / ds - first / ds};
        if (end > first)
            st = gpudedisp_bary_span(j, &span);
        if (end > first && st == PSR_OK)
            st = psr_singlepulse_mask(j->pulses, span, &j->err);
        j->gaps_end = end;
    }
    j->gaps_told = ngap ? ngap - 1 : 0; /* the last may go on in the next block */
    return st;
}

/* Appends n samples to trial i, or to its checksum. */
static psr_status write_trial(struct gpudedisp_job *j, size_t i, size_t n, psr_err *err)
{
    const float *x = j->out + i * j->stride;
    if (j->opt.verbose)
        j->crc[i] = crc32_z(j->crc[i], (const Bytef *)x, n * sizeof *x);
    return j->series ? psr_series_append(j->series, i, x, n, err) : PSR_OK;
}

/* Series are independent files, so all threads write. */
static psr_status write_block(struct gpudedisp_job *j, size_t n)
{
    psr_status st = PSR_OK;
    if (!j->series && !j->opt.verbose)
        return st;
#pragma omp parallel for schedule(dynamic) num_threads(j->nthread)
    for (size_t i = 0; i < j->ndm; i++) {
        psr_err err;
        psr_status mine = write_trial(j, i, n, &err);
        if (mine != PSR_OK) {
#pragma omp critical(gpudedisp_write)
            {
                st = mine;
                j->err = err;
            }
        }
    }
    return st;
}

/* Takes one block through every stage; *nread is 0 at the end of the input. */
static psr_status process_block(struct gpudedisp_job *j, size_t *nread)
{
    double since_s = run_seconds();
    psr_status st = psr_source_read(j->source, j->block, j->in, nread, &j->err);
    charge(j, STAGE_READ, &since_s);
    if (st != PSR_OK || *nread == 0)
        return st;
    size_t n;
    st = psr_dedisp_execute(j->plan, j->in, *nread, j->out, j->stride, &n, &j->err);
    if (st == PSR_OK)
        st = mask_gaps(j);
    if (st == PSR_OK)
        st = gpudedisp_bary_block(j, j->out, j->stride, &n);
    charge(j, STAGE_DEDISPERSE, &since_s);
    if (st == PSR_OK && j->opt.numout && (int64_t)n > j->opt.numout - j->nout)
        n = (size_t)(j->opt.numout - j->nout);
    if (st == PSR_OK)
        st = write_block(j, n);
    charge(j, STAGE_WRITE, &since_s);
    if (st == PSR_OK && j->pulses)
        st = psr_singlepulse_execute(j->pulses, j->out, j->stride, n, &j->err);
    charge(j, STAGE_SEARCH, &since_s);
    j->nread += (int64_t)*nread;
    j->nout += (int64_t)n;
    return st;
}

/* Until the input ends, -numout is reached or a signal asks to stop. */
static psr_status process_input(struct gpudedisp_job *j)
{
    const struct psr_obs *obs = psr_source_obs(j->source);
    double bytes = (double)psr_source_block_bytes(j->source, j->block) / (double)j->block;
    struct run_progress progress;
    run_progress_start(&progress, !j->opt.quiet, obs->nsamp, "MB", bytes / 1e6);
    psr_status st = PSR_OK;
    size_t nread = 1;
    while (st == PSR_OK && nread > 0 && !run_stop_signal() &&
           (!j->opt.numout || j->nout < j->opt.numout)) {
        st = process_block(j, &nread);
        run_progress_update(&progress, j->nread);
    }
    run_progress_end(&progress);
    return st;
}

/* Completes the outputs; files take their names here. */
static psr_status finish(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    psr_status st = PSR_OK;
    if (j->nout == 0)
        st = gpudedisp_check_sweep(j, j->nread);
    if (st == PSR_OK && j->pulses)
        st = psr_singlepulse_finish(j->pulses, &j->err);
    if (st == PSR_OK && j->pulses)
        st = gpudedisp_write_events(j);
    if (st != PSR_OK || !j->series)
        return st;
    /* Bins that were added must not be what a good length cuts. */
    int64_t natural = j->nread / o->downsamp > j->nout ? j->nread / o->downsamp : j->nout;
    int64_t length = o->numout ? o->numout : o->nopad ? -1 : psr_good_length(natural);
    psr_series *series = j->series;
    j->series = NULL;
    return psr_series_finish(series, length, &j->err);
}

static void print_plan(const struct gpudedisp_job *j)
{
    const struct psr_obs *obs = psr_source_obs(j->source);
    struct psr_dedisp_info info;
    psr_dedisp_describe(j->plan, &info);
    fprintf(stderr,
            "%s: %zu channels, %g to %g MHz, %d bits, %g s; %lld spectra\n"
            "%s: %zu trials, DM %g to %g; largest shift %zu samples; %.2f times fewer adds by "
            "sharing; backend %s, %d threads, %.0f MB\n",
            j->path[0], obs->nchan, psr_obs_lowest_mhz(obs), psr_obs_highest_mhz(obs), obs->nbit,
            obs->tsamp_s, (long long)obs->nsamp, j->tool.name, j->ndm, j->dm[0], j->dm[j->ndm - 1],
            psr_dedisp_maxshift(j->plan), info.adds_direct / info.adds_planned, info.backend,
            j->nthread, (double)info.bytes / 1e6);
}

static void print_account(const struct gpudedisp_job *j)
{
    static const char *const name[NSTAGES] = {"read", "dedisperse", "write", "search"};
    if (!j->series && j->opt.nowrite)
        for (size_t i = 0; i < j->ndm; i++)
            fprintf(stderr, "%s: DM %.*f: %lld samples, CRC-32 %08lx\n", j->tool.name,
                    (int)j->opt.dmprec, j->dm[i], (long long)j->nout, j->crc[i]);
    gpudedisp_bary_account(j);
    fprintf(stderr, "%s: %lld spectra in, %lld samples out of each trial;", j->tool.name,
            (long long)j->nread, (long long)j->nout);
    for (int s = 0; s < NSTAGES; s++)
        fprintf(stderr, " %s %.3f s,", name[s], j->stage_s[s]);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, " peak %ld MB\n", used.ru_maxrss / 1000);
}

static psr_status run(struct gpudedisp_job *j)
{
    psr_status st = gpudedisp_prepare(j);
    if (st == PSR_OK && j->opt.verbose)
        print_plan(j);
    if (st == PSR_OK)
        st = process_input(j);
    if (st == PSR_OK && !run_stop_signal())
        st = finish(j);
    if (st == PSR_OK && j->opt.verbose && !run_stop_signal())
        print_account(j);
    return st;
}

int main(int argc, char **argv)
{
    struct gpudedisp_job job = {0};
    job.npath = (size_t)gpudedisp_options_parse(&job.opt, &job.tool, argc, argv);
    job.path = argv + 1;
    run_catch_signals();
    int code = run(&job) == PSR_OK ? EXIT_SUCCESS : cli_report(&job.tool, &job.err);
    gpudedisp_release(&job);
    if (run_stop_signal())
        run_die_by_signal(run_stop_signal());
    return cli_close_stdout(&job.tool, code);
}
