/* fakebin: makes synthetic observations. */
#include "fakebin.h"
#include "tools/common/quote.h"
#include "tools/common/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parses fakebin's command line. */

static const struct fakebin_options defaults = {
    .period_ms = -1,
    .dm = -1,
    .width_percent = 4,
    .snrpeak = 1,
    .orbit = SIGNALS_ORBIT,
    .nchans = 128,
    .nbits = 4,
    .nifs = 1,
    .tsamp_us = 80,
    .tobs_s = 10,
    .tstart_mjd = -1,
    .fch1_mhz = 433.968,
    .foff_mhz = 0.062,
    .dmconst = "presto",
    .seed = -1,
    .redindex = -2,
    .rate = 1,
};

/* Voltages have a band, sources or signals, and nothing else that filterbanks have. */
static void check_voltages(const struct fakebin_options *o, const struct cli *tool)
{
    const struct {
        const char *name;
        bool given, in_vdif; /* -vdif has it, -array has not */
    } incompatible[] = {
        {"period", o->period_ms >= 0, false},
        {"dm", o->dm >= 0, false},
        {"binary", o->binary, false},
        {"add", o->add.n > 0, true},
        {"addfile", o->addfile.n > 0, true},
        {"nifs", o->nifs != 1, true},
        {"nbits", o->nbits != 4, true},
        {"rednoise", o->rednoise > 0, false},
        {"bandpass", o->bandpass, false},
        {"evenodd", o->evenodd, false},
        {"psrfits", o->psrfits, false},
        {"dat", o->dat, false},
        {"truth", o->truth, false},
        {"headerless", o->headerless, false},
        {"swapout", o->swapout, false},
        {"rfi", o->rfi.n > 0, false},
        {"udp", o->udp, true},
        {"tsamp", o->vdif && o->tsamp_us != 80, false},
        {"source", o->vdif && o->source.n > 0, false},
    };
    if (o->array && o->vdif)
        cli_usage_error(tool, "-array excludes -vdif: one telescope or many");
    if (o->real && !o->vdif)
        cli_usage_error(tool, "-real needs -vdif");
    for (size_t i = 0; i < sizeof incompatible / sizeof *incompatible; i++) {
        if (o->array && incompatible[i].given)
            cli_usage_error(tool, "-array excludes -%s: voltages are noise and -source",
                            incompatible[i].name);
        if (o->vdif && incompatible[i].given && !incompatible[i].in_vdif)
            cli_usage_error(tool, "-vdif excludes -%s: voltages are noise and -add",
                            incompatible[i].name);
    }
}

/* What is sent is a filterbank, and no file. */
static void check_network(const struct fakebin_options *o, const struct cli *tool)
{
    if (o->udp && (o->output || o->dat || o->psrfits || o->headerless || o->swapout))
        cli_usage_error(tool, "-udp excludes -o, -dat, -psrfits, -headerless and -swapout");
    if (!o->udp && (o->loss > 0 || o->twice > 0 || o->reorder > 0 || o->rate != 1))
        cli_usage_error(tool, "-rate, -loss, -twice and -reorder need -udp");
    if (o->udp && !o->vdif && o->nifs != 1)
        cli_usage_error(tool, "-udp: -nifs %d, must be 1", (int)o->nifs);
}

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages */
static void fakebin_options_parse(struct fakebin_options *o, struct cli *tool, int argc,
                                  char **argv)
{
    *o = defaults;
    struct cli_table table;
    fakebin_fill_table(&table, o);
    *tool = (struct cli){
        .name = "fakebin",
        .operands = "[OPTION]... [-o FILE | -udp ADDRESS:PORT]",
        .examples = "fakebin -period 20 -dm 50 -snrpeak 0.3 -tobs 60 -o psr.fil\n"
                    "fakebin -add \"burst dm=475 t=2.0 width=2e-3 snr=20\" -o frb.fil\n"
                    "fakebin -vdif -tobs 1 -o obs.vdif\n",
        .summary =
            "Make a synthetic observation: noise with pulsars and bursts, as SIGPROC "
            "filterbank, PSRFITS or a dedispersed series; or voltages of a telescope or an array.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    /* Combinations that the table cannot express. */
    if (n > 0)
        cli_usage_error(tool, "no operands are taken: -o FILE names the output");
    if (o->nbits != 1 && o->nbits != 2 && o->nbits != 4 && o->nbits != 8 && o->nbits != 16 &&
        o->nbits != 32)
        cli_usage_error(tool, "-nbits: %d, must be 1, 2, 4, 8, 16 or 32", (int)o->nbits);
    if (o->dat && (o->psrfits || o->headerless || o->swapout || o->evenodd))
        cli_usage_error(tool, "-dat excludes -psrfits, -headerless, -swapout and -evenodd");
    if ((o->dat || o->evenodd) && o->rfi.n > 0)
        cli_usage_error(tool, "-rfi excludes -dat and -evenodd: it needs channels of noise");
    if (o->psrfits && (o->headerless || o->swapout))
        cli_usage_error(tool, "-psrfits excludes -headerless and -swapout");
    if (o->dat && !o->output)
        cli_usage_error(tool, "-dat needs -o ROOT, the start of the files' names");
    if (o->truth && !strcmp(o->truth, o->output ? o->output : "-"))
        cli_usage_error(tool, "-truth: '%s' is where the observation goes", o->truth);
    if (o->tstart_mjd < 0)
        o->tstart_mjd = o->vdif ? 60000 : 50000; /* frames have dates from 2000 on */
    check_voltages(o, tool);
    check_network(o, tool);
    if (o->nchans > 1 && o->foff_mhz == 0)
        cli_usage_error(tool, "-foff: 0 does not tell %d channels apart", (int)o->nchans);
    o->foff_mhz = -fabs(o->foff_mhz);
    if (o->evenodd) {
        o->nbits = 32;
        o->dm = 0;
        o->nosmear = true;
    }
    if (o->tobs_s * 1e6 < o->tsamp_us / 2)
        cli_usage_error(tool, "-tobs: %g s is shorter than a sample", o->tobs_s);
    if (o->fch1_mhz + (double)(o->nchans - 1) * o->foff_mhz <= 0)
        cli_usage_error(tool, "-fch1: %d channels of %g MHz below %g MHz reach 0", (int)o->nchans,
                        -o->foff_mhz, o->fch1_mhz);
}

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
