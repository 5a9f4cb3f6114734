/* gpudigifil: turns voltages of one telescope into a filterbank. */
#include "options.h"

#include "tools/common/run.h"
#include <stdio.h>
#include <stdlib.h>

/* --- what -v prints --------------------------------------------------------------------------- */

static void print_plan(const struct cli *tool, const psr_filterbank *p)
{
    struct psr_filterbank_report r;
    psr_filterbank_describe(p, &r);
    const struct psr_obs *out = r.out;
    fprintf(
        stderr,
        "%s: %s, %zu %s channels, %zu polarisations, %d bits, %.9g samples/s\n"
        "%s: %zu channels, transform back of %zu points (%zu and %zu discarded); out %zu channels "
        "from %.6f MHz by %g, %d products, %.9g us, %d bits; first scale of %lld spectra; on %s, "
        "%d "
        "threads\n",
        r.input, r.format, r.nchan_in, r.real ? "real" : "complex", r.npol_in, r.nbit_in, r.rate_hz,
        tool->name, r.nchan, r.nfft, r.early, r.late, out->nchan, out->fch1_mhz, out->foff_mhz,
        out->nif, out->tsamp_s * 1e6, out->nbit, (long long)r.held, r.backend, r.nthread);
}

static void print_account(const struct cli *tool, const psr_filterbank *p)
{
    struct psr_filterbank_report r;
    psr_filterbank_describe(p, &r);
    const double all_s = r.read_s + r.channels_s + r.rows_s;
    fprintf(stderr,
            "%s: %lld samples in (%lld lost), %lld spectra out (%lld without data); waiting for "
            "reads %.3f s, channels %.3f s, detection and output %.3f s; %.4g MB/s, %.3g x real "
            "time\n",
            tool->name, (long long)r.nread, (long long)r.nlost, (long long)r.nrow,
            (long long)r.nrow_lost, r.read_s, r.channels_s, r.rows_s,
            (double)r.nread * r.sample_bytes / 1e6 / all_s, (double)r.nread / r.rate_hz / all_s);
}

/* How late the rows of a pipe or a network stream were; nothing of other inputs. */
static void print_latency(const struct cli *tool, const psr_filterbank *p)
{
    struct psr_filterbank_report r;
    psr_filterbank_describe(p, &r);
    if (r.ntimed == 0)
        return;
    fprintf(stderr,
            "%s: %lld spectra were written %.3f s after their last voltages came, %.3f s at most "
            "(bound: %.3f s, a block of %.3f s and %.3f s of frames, and what the machine takes)\n",
            tool->name, (long long)r.ntimed, r.latency_s, r.worst_s, r.block_s + r.hold_s,
            r.block_s, r.hold_s);
}

/* --- the run ---------------------------------------------------------------------------------- */

struct run {
    struct digifil_options opt;
    struct cli tool;
    struct run_progress progress;
    psr_err err;
};

static psr_status process(struct run *r, psr_filterbank *p)
{
    struct psr_filterbank_report report;
    psr_filterbank_describe(p, &report);
    if (r->opt.verbose)
        print_plan(&r->tool, p);
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose), report.nsamp,
                       "MB", report.sample_bytes / 1e6);
    psr_status st = psr_filterbank_run(p, &r->err);
    run_progress_end(&r->progress);
    if (!st)
        st = psr_filterbank_finish(p, &r->err);
    if (!st && (r->opt.verbose || !r->opt.quiet))
        print_latency(&r->tool, p);
    if (!st && r->opt.verbose)
        print_account(&r->tool, p);
    return st;
}

static psr_status run(struct run *r)
{
    struct psr_filterbank_desc *d = &r->opt.run;
    psr_filterbank *p = NULL;
    if (!r->opt.quiet)
        d->notes = (struct psr_notes){cli_note, &r->tool};
    d->should_stop = run_should_stop;
    d->progress = run_show_progress;
    d->ctx = &r->progress;
    psr_status st = psr_filterbank_create(&p, d, &r->err);
    if (!st)
        st = process(r, p);
    psr_filterbank_destroy(p);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {0};
    size_t npath = (size_t)digifil_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.run.path = (const char *const *)(argv + 1);
    r.opt.run.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
