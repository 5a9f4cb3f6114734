/* Converts fbedit's command line to the description of an edit. */
#include "fbedit.h"

#include "base/tool.h"
#include <stdio.h>
#include <string.h>

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
    struct fbedit_words w = {.if_choice = -1, .clean = "none"};
    struct cli_table table = {.n = 0};
    *o = (struct fbedit_options){.seed = -1, .pad_s = 1};
    psr_edit_defaults(&o->run);
    o->source = (struct psr_source_desc){.size = sizeof o->source, .if_choice = -1};
    fbedit_fill_table(&table, o, &w);
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
    take_words(o, &w, tool);
    return n;
}
