/* gpudigifil: turns voltages of one telescope into a filterbank. */
#include "base/tool.h"
#include "tools/common/cli.h"

#include <psrkit/experimental/filterbank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the description has in another form. */
struct words {
    const char *filterbank; /* NCHAN, NCHAN:D or NCHAN:RES */
    int64_t npol, nbits;
    double dm;
    bool stokes, circular;
    bool no_excision, fpt; /* of digifil, without meaning here */
};

struct digifil_options {
    struct psr_filterbank_desc run;
    struct words words;
    bool quiet, verbose;
};

/* --- the run ---------------------------------------------------------------------------------- */

struct run {
    struct digifil_options opt;
    struct cli tool;
    struct run_progress progress;
    psr_err err;
};

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

#define AT(member) CLI_AT(struct digifil_options, member)

static const struct cli_option options[] = {
    {"Input", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"S", CLI_DOUBLE, AT(run.start_s), "SEC", 0, 1e9, "Seconds to skip at the start."},
    {"T", CLI_DOUBLE, AT(run.total_s), "SEC", 0, 1e9, "Seconds to process (default 0: all)."},
    {"P", CLI_INT, AT(run.pol), "K", 0, 1, "Use only polarisation K, from 0."},
    {"freq", CLI_DOUBLE, AT(run.freq_mhz), "MHZ", 1e-3, 1e9,
     "Centre of the band, instead of the header's; VDIF has none."},
    {"bw", CLI_DOUBLE, AT(run.bw_mhz), "MHZ", -1e9, 1e9,
     "Width of the band, negative if frequencies run down, instead of the header's."},
    {"npol", CLI_INT, AT(run.npol), "N", 1, 2,
     "Polarisations of VDIF (default: 2 if the number of threads is even, else 1)."},
    {"source", CLI_TEXT, AT(run.source), "NAME", 0, 0, "Source, instead of the header's."},
    {"telescope", CLI_TEXT, AT(run.telescope), "NAME", 0, 0, "Telescope, instead of the header's."},
    {"Channels", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"F", CLI_TEXT, AT(words.filterbank), "N[:D|:M]", 0, 0,
     "Channels of the whole band (default: those of the input); :D dedisperses coherently "
     "within them (with -D); :M transforms back with M points: channels with sharp edges."},
    {"x", CLI_INT, AT(run.freq_res), "M", 1, 1 << 28, "Points of the transform back, with :D too."},
    {"D", CLI_DOUBLE, AT(words.dm), "DM", 0, 1e6, "DM of -F N:D, pc cm^-3."},
    {"pfb", CLI_INT, AT(run.ntap), "TAPS", 1, 64, "Polyphase filterbank of TAPS taps."},
    {"f", CLI_INT, AT(run.fsum), "N", 1, 1 << 20, "Channels to sum."},
    {"Detection", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"t", CLI_INT, AT(run.tsum), "N", 1, 1 << 24, "Spectra to sum."},
    {"d", CLI_INT, AT(words.npol), "N", 1, 4,
     "Products: 1 PP+QQ (default), 2 PP and QQ, 4 PP, QQ, Re PQ and Im PQ."},
    {"stokes", CLI_FLAG, AT(words.stokes), NULL, 0, 0, "Write I, Q, U and V."},
    {"circular", CLI_FLAG, AT(words.circular), NULL, 0, 0,
     "Polarisations are left- and right-handed, for -stokes."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(run.output), "FILE", 0, 0,
     "Write the filterbank to FILE; - is standard output, dada://KEY a ring of psrdada."},
    {"b", CLI_INT, AT(words.nbits), "N", -32, 32,
     "Bits per sample: 1, 2 (default), 4, 8, 16, or -32: floats."},
    {"I", CLI_DOUBLE, AT(run.interval_s), "SEC", 0, 1e9,
     "Seconds from one rescaling of the channels to the next (default 10); 0: none."},
    {"c", CLI_FLAG, AT(run.constant), NULL, 0, 0, "Scale all as the first interval."},
    {"s", CLI_DOUBLE, AT(run.scale), "X", 1e-9, 1e9, "Factor before digitising (default 1)."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"ncpus, threads", CLI_INT, AT(run.nthread), "N", 1, 4096, "Threads (default: all cores)."},
    {"device", CLI_TEXT, AT(run.device), "NAME", 0, 0,
     "Device that makes spectra: auto (a GPU if there is one, the default), cpu, cuda, or the "
     "number of a GPU."},
    {"B", CLI_DOUBLE, AT(run.block_mb), "MB", 0, 1e6,
     "Voltages that a GPU takes at a time (default: 34 MB, or 0.05 s of a pipe)."},
    {"2", CLI_FLAG, AT(words.no_excision), NULL, 0, 0,
     "Accepted: 2-bit voltages are never excised."},
    {"p", CLI_FLAG, AT(words.fpt), NULL, 0, 0, "Accepted, without effect."},
};

static void take_words(struct psr_filterbank_desc *d, const struct words *w, const struct cli *tool)
{
    /* "N", "N:D" or "N:M". */
    psr_err why;
    char text[64];
    if (w->filterbank) {
        const char *colon = strchr(w->filterbank, ':');
        const size_t n = colon ? (size_t)(colon - w->filterbank) : strlen(w->filterbank);
        if (n >= sizeof text)
            cli_usage_error(tool, "-F: '%s' is no number of channels", w->filterbank);
        memcpy(text, w->filterbank, n);
        text[n] = '\0';
        if (psr_parse_int("-F", text, 1, 1 << 20, &d->nchan, &why))
            cli_usage_error(tool, "%s", why.msg);
        if (colon && !strcmp(colon, ":D")) {
            if (!(w->dm > 0))
                cli_usage_error(tool, "-F N:D needs -D, a DM above 0");
            d->dm = w->dm;
        } else if (colon && psr_parse_int("-F N:M", colon + 1, 1, 1 << 28, &d->freq_res, &why))
            cli_usage_error(tool, "%s", why.msg);
    }
    if (w->npol == 3)
        cli_usage_error(tool, "-d 3, the square of the sum, is not made; 1, 2 and 4 are");
    if (w->stokes && w->npol != 1 && w->npol != 4)
        cli_usage_error(tool, "-stokes has 4 products, not -d %d", (int)w->npol);
    if (w->circular && !w->stokes)
        cli_usage_error(tool, "-circular is for -stokes");
    d->products = w->stokes ? (w->circular ? PSR_PRODUCTS_STOKES_CIRCULAR : PSR_PRODUCTS_STOKES)
                  : w->npol == 1 ? PSR_PRODUCTS_SUM
                  : w->npol == 2 ? PSR_PRODUCTS_EACH
                                 : PSR_PRODUCTS_COHERENCE;
    d->nbits = w->nbits == -32 ? 32 : w->nbits;
    const bool known = w->nbits == -32 || w->nbits == 1 || w->nbits == 2 || w->nbits == 4 ||
                       w->nbits == 8 || w->nbits == 16;
    if (!known)
        cli_usage_error(tool, "-b: %d is none of 1, 2, 4, 8, 16, -32", (int)w->nbits);
    if (!d->output)
        cli_usage_error(tool, "-o FILE is needed; - is standard output");
}

/* Reads the command line into o (defaults set here); mistakes end the program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
static int digifil_options_parse(struct digifil_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct digifil_options){.words = {.npol = 1, .nbits = 2}};
    psr_filterbank_defaults(&o->run);
    CLI_FILL(&table, options, o);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
    *tool = (struct cli){
        .name = "gpudigifil",
        .operands = "[OPTION]... -o FILE VOLTAGES... | -",
        .examples = "gpudigifil -F 1024 -t 8 -b 8 -o obs.fil obs_*.dada\n"
                    "gpudigifil -freq 1400 -bw 32 -F 256 -o obs.fil obs.vdif\n"
                    "gpudigifil -F 1024:D -D 26.8 -stokes -b 8 -o obs.fil obs.raw\n",
        .summary =
            "Divide voltages (VDIF, DADA, GUPPI raw; udp:// receives VDIF, dada:// reads a ring of "
            "psrdada) into channels, detect them, and write a SIGPROC filterbank.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    if (n == 0)
        cli_usage_error(tool, "no input; - reads standard input");
    take_words(&o->run, &o->words, tool);
    return n;
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
    cli_note_kept(&r.tool, r.opt.quiet || !st, 0, 1, NULL);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
