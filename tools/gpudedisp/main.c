/* gpudedisp: telescope data to dedispersed series and single pulses. */
#include "gpudedisp.h"

#include "tools/common/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void gpudedisp_charge(struct gpudedisp_job *j, enum gpudedisp_stage stage, double *since_s)
{
    double now_s = run_seconds();
    j->stage_s[stage] += now_s - *since_s;
    *since_s = now_s;
}

/* Takes spectra that are read and clean through every further stage of every line. */
static psr_status process_spectra(struct gpudedisp_job *j, const void *spectra, size_t nsamp)
{
    double since_s = run_seconds();
    psr_status st = psr_fanout_push(j->fan, spectra, nsamp, &j->err);
    gpudedisp_charge(j, STAGE_DEDISPERSE, &since_s);
    for (struct gpudedisp_line *l = j->line; l < j->line + j->nline && st == PSR_OK; l++)
        if (!gpudedisp_line_is_full(j, l))
            st = gpudedisp_run_line(j, l);
    return st;
}

/* Takes one block through every stage; *nread is 0 at the end of the input. */
static psr_status process_block(struct gpudedisp_job *j, size_t *nread)
{
    double since_s = run_seconds();
    const void *spectra;
    struct gpudedisp_block *block;
    size_t n;
    psr_status st = gpudedisp_reader_next(j, &block);
    gpudedisp_charge(j, STAGE_READ, &since_s);
    j->now = block;
    j->in = block->data;
    *nread = block->n;
    if (st == PSR_OK)
        st = gpudedisp_clean_block(j, *nread, &spectra, &n);
    gpudedisp_charge(j, STAGE_CLEAN, &since_s);
    j->nread += (int64_t)*nread;
    return st == PSR_OK && n > 0 ? process_spectra(j, spectra, n) : st;
}

static bool all_are_full(const struct gpudedisp_job *j)
{
    bool full = true;
    for (size_t k = 0; k < j->nline; k++)
        full &= gpudedisp_line_is_full(j, &j->line[k]);
    return full;
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
    while (st == PSR_OK && nread > 0 && !run_stop_signal() && !all_are_full(j)) {
        st = process_block(j, &nread);
        run_progress_update(&progress, j->nread);
    }
    run_progress_end(&progress);
    return st;
}

/* Bins that were added must not be what a good length cuts. */
static int64_t choose_length(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    const struct gpudedisp_options *o = &j->opt;
    int64_t natural = j->nread / l->downsamp > l->nout ? j->nread / l->downsamp : l->nout;
    return o->numout ? o->numout : o->nopad ? -1 : psr_good_length(natural);
}

static psr_status finish_line(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    psr_status st = l->nout ? PSR_OK : gpudedisp_check_sweep(j, l, j->nread);
    if (st == PSR_OK && l->pulses)
        st = psr_singlepulse_finish(l->pulses, &j->err);
    for (size_t i = l->first; j->series && i < l->first + l->ndm; i++)
        psr_series_set_length(j->series, i, choose_length(j, l));
    return st;
}

/* Completes the outputs; files take their names here. */
static psr_status finish(struct gpudedisp_job *j)
{
    double since_s = run_seconds();
    psr_status st = PSR_OK;
    for (size_t k = 0; k < j->nline && st == PSR_OK; k++)
        st = finish_line(j, &j->line[k]);
    gpudedisp_charge(j, STAGE_SEARCH, &since_s);
    if (st == PSR_OK && j->opt.singlepulse)
        st = gpudedisp_write_events(j);
    if (st == PSR_OK && j->series)
        gpudedisp_check_notes(j);
    psr_series *series = j->series;
    j->series = NULL;
    if (st == PSR_OK && series)
        st = psr_series_finish(series, -1, &j->err);
    else
        psr_series_abort(series);
    st = gpudedisp_name_events(j, st);
    gpudedisp_charge(j, STAGE_WRITE, &since_s);
    return st;
}

static void print_line(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    struct psr_dedisp_info info;
    psr_dedisp_describe(l->plan, &info);
    fprintf(
        stderr,
        "%s: %zu trials, DM %g to %g, downsampled by %lld; largest shift %zu samples; %.2f times "
        "fewer adds by sharing; backend %s, %d threads, %.0f MB\n",
        j->tool.name, l->ndm, j->dm[l->first], j->dm[l->first + l->ndm - 1], (long long)l->downsamp,
        psr_dedisp_maxshift(l->plan), info.adds_direct / info.adds_planned, info.backend,
        j->nthread, (double)info.bytes / 1e6);
}

static void print_plan(const struct gpudedisp_job *j)
{
    const struct psr_obs *obs = psr_source_obs(j->source);
    fprintf(stderr, "%s: %zu channels, %g to %g MHz, %d bits, %g s; %lld spectra\n",
            gpudedisp_input_name(j), obs->nchan, psr_obs_lowest_mhz(obs), psr_obs_highest_mhz(obs),
            obs->nbit, obs->tsamp_s, (long long)obs->nsamp);
    for (size_t k = 0; k < j->nline; k++)
        print_line(j, &j->line[k]);
}

static void account_line(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    for (size_t i = l->first; gpudedisp_wants_sums(j) && i < l->first + l->ndm; i++)
        fprintf(stderr, "%s: DM %.*f: %lld samples, CRC-32 %08lx\n", j->tool.name,
                (int)j->opt.dmprec, j->dm[i], (long long)l->nout, j->crc[i]);
    gpudedisp_bary_account(j, l);
    fprintf(stderr, "%s: %lld samples out of each of %zu trials\n", j->tool.name,
            (long long)l->nout, l->ndm);
}

/* Devices work while the host reads and waits, so their times are part of the run's. */
static void account_devices(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    struct psr_dedisp_info info;
    psr_dedisp_describe(l->plan, &info);
    if (!info.ndevice)
        return;
    fprintf(stderr, "%s: %zu device%s: copy in %.3f s, turn %.3f s, dedisperse %.3f s,",
            j->tool.name, info.ndevice, info.ndevice > 1 ? "s" : "", info.copy_in_s, info.turn_s,
            info.sum_s);
    if (l->resident)
        fprintf(stderr, " search %.3f s\n", psr_singlepulse_device_seconds(l->pulses));
    else
        fprintf(stderr, " copy out %.3f s\n", info.copy_out_s);
}

static void print_account(const struct gpudedisp_job *j)
{
    static const char *const name[NSTAGES] = {"read", "clean", "dedisperse", "write", "search"};
    for (size_t k = 0; k < j->nline; k++)
        account_line(j, &j->line[k]);
    for (size_t k = 0; k < j->nline; k++)
        account_devices(j, &j->line[k]);
    if (j->clean)
        fprintf(stderr, "%s: %lld spectra clipped\n", j->tool.name,
                (long long)psr_clean_clipped(j->clean));
    fprintf(stderr, "%s: %lld spectra in; setup %.3f s, run %.3f s:", j->tool.name,
            (long long)j->nread, j->ready_s - j->start_s, run_seconds() - j->ready_s);
    for (int s = 0; s < NSTAGES; s++)
        fprintf(stderr, " %s %.3f s,", name[s], j->stage_s[s]);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, " peak %ld MB\n", used.ru_maxrss / 1000);
}

/* A device that is lost in the middle takes the outputs along. */
static psr_status tell_loss(struct gpudedisp_job *j)
{
    const psr_err lost = j->err;
    bool piped = j->series && !strcmp(j->opt.root, "-");
    return psr_fail(&j->err, PSR_EDEVICE, "%.300s: after %lld spectra of %.100s; %s", lost.msg,
                    (long long)j->nread, gpudedisp_input_name(j),
                    piped ? "what went to standard output is not whole" : "no file was written");
}

static psr_status run(struct gpudedisp_job *j)
{
    if (j->opt.compat)
        return j->opt.plan ? gpudedisp_compat_plan(j) : gpudedisp_compat(j);
    if (j->opt.sub)
        return gpudedisp_sub(j);
    j->start_s = run_seconds();
    psr_status st = gpudedisp_prepare(j);
    j->ready_s = run_seconds();
    if (st == PSR_OK && j->ndm == 0)
        return st;
    if (st == PSR_OK && j->opt.verbose)
        print_plan(j);
    if (st == PSR_OK)
        st = process_input(j);
    if (st == PSR_OK && !run_stop_signal())
        st = finish(j);
    if (st == PSR_EDEVICE && j->nread)
        st = tell_loss(j);
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
    run_limit_threads(&job.opt.ncpus, job.opt.quiet ? NULL : job.tool.name);
    psr_status st = run(&job);
    gpudedisp_release(&job);
    if (run_stop_signal())
        run_die_by_signal(run_stop_signal());
    return cli_close_stdout(&job.tool,
                            st == PSR_OK ? EXIT_SUCCESS : cli_report(&job.tool, &job.err));
}
