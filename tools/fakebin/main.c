/* fakebin: makes synthetic observations. */
#include "fakebin.h"

#include "tools/common/quote.h"
#include "tools/common/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t rows_of_block(const struct fakebin_job *j)
{
    const size_t row = psr_fake_row_bytes(j->plan),
                 most = j->opt.udp ? FAKEBIN_SENT_BYTES : FAKEBIN_BLOCK_BYTES,
                 rows = row < most ? most / row : 1;
    return (int64_t)rows < j->obs.nsamp ? rows : (size_t)j->obs.nsamp;
}

static psr_status make_blocks(struct fakebin_job *j, double *making_s)
{
    const size_t rows = rows_of_block(j), row_bytes = psr_fake_row_bytes(j->plan);
    void *block = malloc(rows * row_bytes);
    if (!block)
        return psr_fail_nomem(&j->err, "block", (double)(rows * row_bytes));
    struct run_progress progress;
    run_progress_start(&progress, run_progress_mode(j->opt.quiet, j->opt.verbose), j->obs.nsamp,
                       "MB", (double)row_bytes / 1e6);
    psr_status st = PSR_OK;
    for (int64_t done = 0; done < j->obs.nsamp && !st && !run_stop_signal();) {
        int64_t left = j->obs.nsamp - done;
        size_t n = left < (int64_t)rows ? (size_t)left : rows;
        double began_s = run_seconds();
        st = psr_fake_execute(j->plan, done, n, block, &j->err);
        *making_s += run_seconds() - began_s;
        if (!st)
            st = fakebin_output_write(j, block, n);
        done += (int64_t)n;
        run_progress_update(&progress, done);
    }
    run_progress_end(&progress);
    free(block);
    return st;
}

static psr_status run(struct fakebin_job *j)
{
    double began_s = run_seconds(), making_s = 0;
    if (j->opt.array)
        return fakebin_voltages(j);
    if (j->opt.vdif)
        return fakebin_vdif(j);
    psr_status st = fakebin_prepare(j);
    if (st == PSR_EINVAL) /* what is out of its range came from the command line */
        cli_usage_error(&j->tool, "%s", j->err.msg);
    if (!st)
        st = fakebin_check_names(j);
    if (!st)
        st = fakebin_output_open(j);
    if (!st)
        st = make_blocks(j, &making_s);
    if (!st && !run_stop_signal() && j->opt.truth)
        st = fakebin_write_truth(j);
    if (!st && !run_stop_signal())
        st = fakebin_output_close(j);
    double bytes = st ? 0 : (double)j->obs.nsamp * (double)psr_fake_row_bytes(j->plan);
    double took_s = run_seconds() - began_s;
    if (!st && j->opt.verbose)
        fprintf(stderr, "%s: %s; seed %lld; %.0f MB in %.3f s, %.3f s of them writing: %.2f GB/s\n",
                j->tool.name, j->obs.source, (long long)j->opt.seed, bytes / 1e6, took_s,
                took_s - making_s, bytes / took_s / 1e9);
    return st;
}

int main(int argc, char **argv)
{
    struct fakebin_job job = {.command = quote_command("fakebin", argc, argv)};
    fakebin_options_parse(&job.opt, &job.tool, argc, argv);
    if (!job.opt.output && !job.opt.udp && isatty(STDOUT_FILENO))
        cli_usage_error(&job.tool, "standard output is a terminal: redirect it, or give -o FILE");
    run_catch_signals();
    run_limit_threads(&job.opt.ncpus, job.opt.quiet ? NULL : job.tool.name);
    psr_status st = job.command ? run(&job) : psr_fail_nomem(&job.err, "command line", argc);
    fakebin_release(&job);
    return cli_end(&job.tool, st, &job.err, EXIT_SUCCESS);
}
