/* frbbeam: forms beams from voltages of a grid of dishes and writes filterbanks. */
#include "options.h"

#include "tools/common/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* --- what -v prints --------------------------------------------------------------------------- */

static void print_plan(const struct cli *tool, const psr_beamformer *p)
{
    struct psr_beamformer_report r;
    psr_beamformer_describe(p, &r);
    fprintf(
        stderr,
        "%s: %zu channels, %g to %g MHz, %zu dishes, %g us; %lld samples\n"
        "%s: %zu beams of a %zu x %zu grid, %zu to %zu samples a sum; backend %s, %d threads, %.0f "
        "MB, blocks of %zu samples\n",
        r.input, r.nfreq, r.freq_mhz[0], r.freq_mhz[r.nfreq - 1], r.ndish, r.tsamp_s * 1e6,
        (long long)r.nsamp, tool->name, r.nbeam, r.m, r.n, r.shortest, r.longest, r.plan->backend,
        r.nthread, (double)r.plan->bytes / 1e6, r.block);
}

static void print_account(const struct cli *tool, const psr_beamformer *p)
{
    struct psr_beamformer_report r;
    struct rusage used;
    psr_beamformer_describe(p, &r);
    const double real_s = (double)r.nread * r.tsamp_s;
    const double all_s = r.start_s + r.read_s + r.beam_s + r.write_s + r.end_s;
    if (r.kept > 0)
        fprintf(stderr, "%s: scales measured on %zu rows of each beam, %.3g s, %.0f MB\n",
                tool->name, r.kept, (double)r.kept * (double)r.shortest * r.tsamp_s,
                (double)(r.kept * r.nbeam * r.nfreq) * sizeof(float) / 1e6);
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr,
            "%s: %lld samples in, %lld out of each beam; start %.3f s, read %.3f s, beams %.3f s, "
            "write %.3f s, end %.3f s, %.3g x real time, peak %ld MB\n",
            tool->name, (long long)r.nread, (long long)r.nrow, r.start_s, r.read_s, r.beam_s,
            r.write_s, r.end_s, real_s / all_s, used.ru_maxrss / 1000);
}

/* --- the run ---------------------------------------------------------------------------------- */

struct run {
    struct frbbeam_options opt;
    struct cli tool;
    struct run_progress progress;
    psr_err err;
};

static void start_progress(struct run *r, const psr_beamformer *p)
{
    struct psr_beamformer_report report;
    psr_beamformer_describe(p, &report);
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose), report.nsamp,
                       "MB", (double)report.sample_bytes / 1e6);
}

static psr_status process(struct run *r, psr_beamformer *p)
{
    if (r->opt.verbose)
        print_plan(&r->tool, p);
    start_progress(r, p);
    psr_status st = psr_beamformer_run(p, &r->err);
    run_progress_end(&r->progress);
    if (!st)
        st = psr_beamformer_finish(p, &r->err);
    if (!st && r->opt.verbose)
        print_account(&r->tool, p);
    return st;
}

static psr_status run(struct run *r)
{
    struct psr_beamformer_desc *d = &r->opt.run;
    psr_beamformer *p = NULL;
    if (!r->opt.quiet)
        d->notes = (struct psr_notes){cli_note, &r->tool};
    d->should_stop = run_should_stop;
    d->progress = run_show_progress;
    d->ctx = &r->progress;
    psr_status st = psr_beamformer_create(&p, d, &r->err);
    if (!st)
        st = process(r, p);
    psr_beamformer_destroy(p);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {0};
    size_t npath = (size_t)frbbeam_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.run.path = (const char *const *)(argv + 1);
    r.opt.run.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
