/* Converts fbedit's command line to the description of an edit. */
#include "base/tool.h"
#include "fbedit.h"

#include <stdio.h>
#include <string.h>

#define AT(member) CLI_AT(struct fbedit_options, member)

static const struct cli_option options[] = {
    {"set", CLI_LIST, AT(words.set), "KEY=VALUE", 0, 0,
     "Correct the header of the input, before all else, and as often as needed: source, "
     "telescope, position (RA,DEC), tstart (MJD), tsamp (s), fch1, foff (MHz), beam, nbeams, "
     "machine."},
    {"gaps", CLI_TEXT, AT(words.gaps), "HOW", 0, 0,
     "What stands for data that are missing between or within files: mean (of each channel, "
     "default), zero, or none: the run fails."},
    {"Ranges", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"start", CLI_TEXT, AT(run.start), "TIME", 0, 0,
     "First spectrum: seconds from the start of the input (12.5), a date (60000.5mjd), or "
     "spectra (2000smp); the nearest is taken."},
    {"end", CLI_TEXT, AT(run.end), "TIME", 0, 0,
     "The first spectrum that is left out, in the same forms."},
    {"around", CLI_TEXT, AT(around), "LIST", 0, 0,
     "Write a file for each burst of gpudedisp's list (ROOT.cand), FILE_0001 and so on: its "
     "sweep, and -pad before and after."},
    {"pad", CLI_DOUBLE, AT(pad_s), "SEC", 0, 1e6, "Of -around (default 1)."},
    {"bary", CLI_FLAG, AT(bary), NULL, 0, 0,
     "The times of -around's list are barycentric: of gpudedisp without -nobary, where the "
     "input has a "
     "position."},
    {"cutout", CLI_TEXT, AT(words.cutout), "NAME", 0, 0,
     "your: write for each burst of -around what classifiers read, the pictures of frequency "
     "and "
     "time and of DM and time, 256 x 256, in HDF5 as your_candmaker.py does."},
    {"chans", CLI_TEXT, AT(words.chans), "A:B", 0, 0,
     "Channels A to B in the order of the file, from 0, B not included; A: and :B are open."},
    {"band", CLI_TEXT, AT(words.band), "MHZ:MHZ", 0, 0,
     "Channels whose centres lie within, both included."},
    {"order", CLI_TEXT, AT(words.order), "HOW", 0, 0,
     "Order of the channels in frequency: up, or down, the highest first (default: as they "
     "are)."},
    {"Signals", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"add", CLI_LIST, AT(add), "TEXT", 0, 0,
     "Add a signal before cleaning, as fakebin does, e.g. \"burst dm=475 t=2.0 width=2e-3 "
     "snr=20\"; may be repeated. Time 0 is the start of the range."},
    {"addfile", CLI_LIST, AT(addfile), "FILE", 0, 0, "Add one signal for each line of FILE."},
    {"truth", CLI_TEXT, AT(truth), "FILE", 0, 0,
     "Write the table of the signals to FILE (default: the output's name and .truth; of "
     "standard output and rings none)."},
    {"seed", CLI_INT, AT(seed), "N", -1, 9e18,
     "Seed of the rounding of what is added (default -1: from the clock)."},
    {"Cleaning", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"mask", CLI_TEXT, AT(run.mask), "FILE", 0, 0,
     "Apply an rfifind mask: ROOT_rfifind.mask, with its .stats beside it."},
    {"clip", CLI_DOUBLE, AT(run.clip_sigma), "S", 0, 1000,
     "Clip spectra whose sum deviates from the mean by more than S standard deviations "
     "(default 0: do not clip)."},
    {"zerodm", CLI_FLAG, AT(run.zerodm), NULL, 0, 0,
     "Subtract the series at DM 0 from every channel, weighted by the bandpass; disables "
     "clipping."},
    {"clean", CLI_TEXT, AT(words.clean), "HOW", 0, 0,
     "auto: write what gpudedisp -clean auto searches, samples of 8 bits with one level and "
     "scatter, without interference. none (default): only what the other options say."},
    {"dedisperse", CLI_DOUBLE, AT(run.dm), "DM", 0, 1e6,
     "Shift channels by their delays to the highest at this DM, pc cm^-3."},
    {"Samples", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"tdecimate", CLI_INT, AT(run.tsum), "N", 1, 1e12, "Sum N spectra."},
    {"fdecimate", CLI_INT, AT(run.fsum), "N", 1, 1 << 20,
     "Sum N channels.  Sums are written where all that are possible fit, otherwise means."},
    {"nbits", CLI_INT, AT(run.nbits), "N", 1, 32,
     "Bits per sample: 1, 2, 4, 8, 16, or 32: floats (default: as they are).  Where values do "
     "not fit, each channel gets the same mean and scatter."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(run.output), "FILE", 0, 0,
     "Write the observation to FILE; - is standard output, dada://KEY a ring of psrdada."},
    {"format", CLI_TEXT, AT(words.format), "NAME", 0, 0,
     "sigproc, psrfits, dada or fbh5 (default: psrfits for .fits, .fit and .sf, dada for .dada "
     "and rings, fbh5 for .h5 and .hdf5, otherwise sigproc)."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"ncpus, threads", CLI_INT, AT(run.nthread), "N", 1, 4096, "Threads (default: all cores)."},
};

/* "A:B", cut at its colon.
 * Returned: false if it has none, or more than fits */
static bool split_range(const char *text, char first[64], char second[64])
{
    const char *colon = strchr(text, ':');
    if (!colon || colon - text >= 64 || strlen(colon + 1) >= 64)
        return false;
    snprintf(first, 64, "%.*s", (int)(colon - text), text);
    snprintf(second, 64, "%s", colon + 1);
    return true;
}

static void take_chans(struct psr_edit_desc *d, const char *text, const struct cli *tool)
{
    const int64_t nchan_max = 1 << 20;
    char first[64], end[64];
    psr_err why;
    if (!split_range(text, first, end) || (!*first && !*end))
        cli_usage_error(tool, "-chans: '%s' is no range A:B of channels", text);
    if ((*first && psr_parse_int("-chans", first, 0, nchan_max, &d->first_chan, &why)) ||
        (*end && psr_parse_int("-chans", end, 1, nchan_max, &d->end_chan, &why)))
        cli_usage_error(tool, "%s", why.msg);
    if (*end && d->first_chan >= d->end_chan)
        cli_usage_error(tool, "-chans: '%s' is empty: B is not included", text);
}

static void take_band(struct psr_edit_desc *d, const char *text, const struct cli *tool)
{
    const double mhz_max = 1e9;
    char low[64], high[64];
    psr_err why;
    if (!split_range(text, low, high))
        cli_usage_error(tool, "-band: '%s' is no range MHZ:MHZ", text);
    if (psr_parse_double("-band", low, 0, mhz_max, &d->low_mhz, &why) ||
        psr_parse_double("-band", high, 1e-6, mhz_max, &d->high_mhz, &why))
        cli_usage_error(tool, "%s", why.msg);
    if (d->low_mhz > d->high_mhz) {
        const double other = d->low_mhz;
        d->low_mhz = d->high_mhz;
        d->high_mhz = other;
    }
}

/* Returned: which of the names the word is; 0 without one */
static int take_name(const struct cli *tool, const char *option, const char *word,
                     const char *const *names, int n)
{
    char all[80] = "";
    for (int i = 0; i < n && word; i++) {
        if (!names[i])
            continue;
        if (!strcmp(word, names[i]))
            return i;
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", used ? " nor " : "", names[i]);
    }
    if (word)
        cli_usage_error(tool, "-%s: '%s' is neither %s", option, word, all);
    return 0;
}

/* Pictures have their own range, samples and format. */
static void take_cutout(struct fbedit_options *o, const struct fbedit_words *w,
                        const struct cli *tool)
{
    static const char *const names[] = {NULL, "your"};
    o->cutout = take_name(tool, "cutout", w->cutout, names, 2) == 1;
    if (!o->cutout)
        return;
    if (!o->around)
        cli_usage_error(tool, "-cutout needs a list of bursts: -around LIST");
    if (w->format || o->run.nbits || o->run.dm > 0)
        cli_usage_error(tool, "-cutout excludes -format, -nbits and -dedisperse");
    o->run.format = PSR_EDIT_YOUR;
}

static void take_words(struct fbedit_options *o, const struct fbedit_words *w,
                       const struct cli *tool)
{
    static const char *const formats[] = {[PSR_EDIT_SIGPROC] = "sigproc",
                                          [PSR_EDIT_PSRFITS] = "psrfits",
                                          [PSR_EDIT_DADA] = "dada",
                                          [PSR_EDIT_FBH5] = "fbh5"};
    static const char *const orders[] = {[PSR_EDIT_UP] = "up", [PSR_EDIT_DOWN] = "down"};
    static const char *const gaps[] = {"mean", "zero", "none"};
    if (w->filterbank && w->psrfits)
        cli_usage_error(tool, "-filterbank and -psrfits, must be one of both");
    if (w->chans && w->band)
        cli_usage_error(tool, "-chans and -band, must be one of both");
    o->source.input = w->psrfits      ? PSR_INPUT_PSRFITS
                      : w->filterbank ? PSR_INPUT_SIGPROC
                                      : PSR_INPUT_AUTO;
    o->source.if_choice = (int)w->if_choice;
    o->source.pols = cli_parse_state(tool, w->state);
    if (w->chans)
        take_chans(&o->run, w->chans, tool);
    if (w->band)
        take_band(&o->run, w->band, tool);
    o->run.order = (enum psr_edit_order)take_name(tool, "order", w->order, orders, 3);
    o->run.format = (enum psr_edit_format)take_name(tool, "format", w->format, formats, 5);
    take_cutout(o, w, tool);
    o->source.gaps = (enum psr_gap_fill)take_name(tool, "gaps", w->gaps, gaps, 3);
    o->run.clean_auto = cli_parse_clean(tool, w->clean);
    if (o->run.clean_auto && o->run.mask)
        cli_usage_error(tool, "-clean auto finds what a mask would say: not with -mask");
    if (o->bary && !o->around)
        cli_usage_error(tool, "-bary needs a list of bursts: -around LIST");
    if (o->around && (o->run.start || o->run.end || o->add.n || o->addfile.n))
        cli_usage_error(tool, "-around excludes -start, -end, -add and -addfile");
    if (o->truth && !o->add.n && !o->addfile.n)
        cli_usage_error(tool, "-truth needs -add or -addfile");
    o->run.set = w->set.text;
    o->run.nset = w->set.n;
    if (!o->run.output)
        cli_usage_error(tool, "-o FILE is needed; - is standard output");
    if (o->around && (!strcmp(o->run.output, "-") || !strncmp(o->run.output, "dada:", 5)))
        cli_usage_error(tool, "-around writes files: '%s' is one stream", o->run.output);
}

int fbedit_options_parse(struct fbedit_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct fbedit_options){
        .words = {.if_choice = -1, .clean = "none"}, .seed = -1, .pad_s = 1};
    struct fbedit_words *w = &o->words;
    psr_edit_defaults(&o->run);
    o->source = (struct psr_source_desc){.size = sizeof o->source, .if_choice = -1};
    /* In the order of --help. */
    cli_add_heading(&table, "Input");
    cli_add_observation(&table, (struct cli_observation){.filterbank = &w->filterbank,
                                                         .psrfits = &w->psrfits,
                                                         .if_choice = &w->if_choice,
                                                         .no_weights = &o->source.no_weights,
                                                         .no_scales = &o->source.no_scales,
                                                         .no_offsets = &o->source.no_offsets,
                                                         .invert = &o->source.invert,
                                                         .state = &w->state});
    CLI_FILL(&table, options, o);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
    *tool = (struct cli){
        .name = "fbedit",
        .operands = "[OPTION]... -o FILE INPUT... | -",
        .examples = "fbedit -start 60 -end 120 -o minute.fil obs.fil\n"
                    "fbedit -tdecimate 8 -fdecimate 4 -nbits 8 -o small.fil obs.fil\n"
                    "fbedit -band 1300:1400 -order down -o - obs.fits | gpudedisp -o obs -\n",
        .summary =
            "Make a SIGPROC, PSRFITS, DADA or HDF5 file of observations in any format that psrkit "
            "reads: "
            "cut times and channels, add signals, clean, dedisperse, sum samples, change their "
            "bits, correct headers. What is not changed keeps its bits.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    if (n == 0)
        cli_usage_error(tool, "no input; - reads standard input");
    take_words(o, w, tool);
    return n;
}
