/* frbbeam: forms beams from voltages of a grid of dishes and writes filterbanks. */
#include "base/tool.h"
#include "tools/common/cli.h"

#include <psrkit/experimental/beam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct frbbeam_options {
    struct psr_beamformer_desc run;
    const char *tds; /* N or @FILE */
    bool quiet, verbose;
};

/* Converts frbbeam's command line to a beamformer description. */

static int count_stdin(const struct psr_beamformer_desc *d, int npath, char **path)
{
    const char *const file[] = {d->array, d->beams, d->weights, d->scale, d->tds_file};
    int n = 0;
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        n += file[i] && !strcmp(file[i], "-");
    for (int i = 0; i < npath; i++)
        n += !strcmp(path[i], "-");
    return n;
}

#define AT(member) CLI_AT(struct frbbeam_options, member)

static const struct cli_option options[] = {
    {"Array", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"array", CLI_TEXT, AT(run.array), "FILE", 0, 0,
     "Array file: grid, spacing, position of each input."},
    {"weights", CLI_TEXT, AT(run.weights), "FILE", 0, 0,
     "Complex gain of each channel, polarisation and dish, as text or .npy (default: all 1)."},
    {"site", CLI_TEXT, AT(run.site), "LON,LAT,H", 0, 0,
     "Site of the array, overriding its file: degrees east, degrees north, metres (WGS84)."},
    {"Beams", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"beams", CLI_TEXT, AT(run.beams), "FILE", 0, 0,
     "Directions, one per line: theta, azimuth and elevation, or right ascension and "
     "declination."},
    {"grid", CLI_FLAG, AT(run.grid), NULL, 0, 0,
     "Form the 2M x 2N half-integer directions of the grid, at every frequency."},
    {"beam", CLI_INT, AT(run.beam), "K", 0, 1 << 20, "Form only beam K, counted from 0."},
    {"cadence", CLI_DOUBLE, AT(run.cadence_s), "SEC", 1e-6, 1e6,
     "Seconds between updates of tracking beams (default 1)."},
    {"tds", CLI_TEXT, AT(tds), "N|@FILE", 0, 0,
     "Voltage samples per intensity sample (default: about 1 ms); @FILE lists them by "
     "frequency."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(run.root), "ROOT", 0, 0,
     "Write files whose names begin with ROOT: ROOT_beam0000.fil and so on; with -beam K, - is "
     "standard output."},
    {"nbits", CLI_INT, AT(run.nbits), "N", 4, 32,
     "Bits per sample: 4, 8 (default) or 32 (floats)."},
    {"scale", CLI_TEXT, AT(run.scale), "FILE", 0, 0,
     "Use the scales of an earlier run, ROOT.scale, instead of measuring them."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"device", CLI_TEXT, AT(run.device), "NAME", 0, 0,
     "Device that forms beams: auto (a GPU if there is one, the default), cpu, cuda, or the "
     "number of a GPU."},
};

/* --- the run ---------------------------------------------------------------------------------- */

struct run {
    struct frbbeam_options opt;
    struct cli tool;
    struct run_progress progress;
    psr_err err;
};

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
    if (!st) {
        if (r->opt.verbose)
            print_plan(&r->tool, p);
        struct psr_beamformer_report report;
        psr_beamformer_describe(p, &report);
        run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose),
                           report.nsamp, "MB", (double)report.sample_bytes / 1e6);
        st = psr_beamformer_run(p, &r->err);
        run_progress_end(&r->progress);
        if (!st)
            st = psr_beamformer_finish(p, &r->err);
        if (!st && r->opt.verbose)
            print_account(&r->tool, p);
    }
    psr_beamformer_destroy(p);
    return st;
}

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
static int frbbeam_options_parse(struct frbbeam_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct frbbeam_options){.quiet = false};
    psr_beamformer_defaults(&o->run);
    CLI_FILL(&table, options, o);
    cli_add_limits(&table, &o->run.nthread, &o->run.mem_bytes);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
    *tool = (struct cli){
        .name = "frbbeam",
        .operands = "[OPTION]... -array FILE -beams FILE -o ROOT FILE... | -",
        .examples = "frbbeam -array chord.array -beams beams -o obs obs_*.dada\n"
                    "frbbeam -array chord.array -grid -o obs obs_*.dada\n"
                    "frbbeam -array chord.array -grid -beam 63 -o obs obs_*.dada\n",
        .summary = "Form intensity beams from voltages of a grid of dishes (DADA files) and write "
                   "a filterbank per beam.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    struct psr_beamformer_desc *run = &o->run;
    psr_err why;
    const char *tds = o->tds;
    if (tds && !strcmp(tds, "@"))
        cli_usage_error(tool, "-tds @FILE: the name is missing");
    if (tds && *tds == '@')
        run->tds_file = tds + 1;
    else if (tds && psr_parse_int("-tds", tds, 1, 1 << 20, &run->tds, &why))
        cli_usage_error(tool, "%s", why.msg);
    const struct psr_beamformer_desc *d = &o->run;
    char **path = argv + 1;
    if (n == 0)
        cli_usage_error(tool, "no input; - reads standard input");
    if (!d->array)
        cli_usage_error(tool, "-array FILE is needed: where the dishes stand");
    if (!d->beams && !d->grid)
        cli_usage_error(tool, "-beams FILE or -grid is needed: which beams to form");
    if (d->beams && d->grid)
        cli_usage_error(tool, "-beams and -grid exclude each other");
    if (!d->root)
        cli_usage_error(tool, "-o ROOT is needed");
    if (!strcmp(d->root, "-") && d->beam < 0)
        cli_usage_error(tool, "-o - needs -beam K: standard output takes one beam");
    if (d->nbits != 4 && d->nbits != 8 && d->nbits != 32)
        cli_usage_error(tool, "-nbits: %d is none of 4, 8, 32", (int)d->nbits);
    if (d->nbits == 32 && d->scale)
        cli_usage_error(tool, "-scale is for 4 and 8 bits: floats are not scaled");
    if (count_stdin(d, n, path) > 1)
        cli_usage_error(tool, "- is standard input, which can be read for one purpose only");
    return n;
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
    cli_note_kept(&r.tool, r.opt.quiet || !st, 0, 1, NULL);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
