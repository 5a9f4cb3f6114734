/* The options of accelsift, in the order of --help, and the description that they fill. */
#include "options.h"

#include "base/tool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) CLI_AT(struct accelsift_options, member)

static const struct cli_option options[] = {
    {"Rejections", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"sigma_threshold", CLI_DOUBLE, AT(run.sigma_threshold), "S", 0, 1e9,
     "Reject candidates of a lower sigma (default 4)."},
    {"c_pow_threshold", CLI_DOUBLE, AT(run.c_pow_threshold), "P", 0, 1e30,
     "But keep those of one harmonic that have this coherent power (default 100)."},
    {"harm_pow_cutoff", CLI_DOUBLE, AT(run.harm_pow_cutoff), "P", 0, 1e30,
     "Reject candidates without a harmonic of this power (default 8)."},
    {"short_period", CLI_DOUBLE, AT(run.short_period_s), "SEC", 0, 1e9,
     "Reject shorter periods (default 0.0005)."},
    {"long_period", CLI_DOUBLE, AT(run.long_period_s), "SEC", 0, 1e9,
     "Reject longer periods (default 15)."},
    {"known_birds_p", CLI_LIST, AT(known_p), "MS,ERR", 0, 0,
     "Reject periods within ERR of this one, both in ms; may be given again."},
    {"known_birds_f", CLI_LIST, AT(known_f), "HZ,ERR", 0, 0,
     "Reject frequencies within ERR of this one, both in Hz; may be given again."},
    {"birds, zaplist", CLI_TEXT, AT(birds), "FILE", 0, 0,
     "Reject the frequencies of a .birds or .zaplist file."},
    {"lines", CLI_TEXT, AT(lines), "FILE", 0, 0,
     "Mark candidates at the lines of ROOT_rfifind.zaplist, if they are no stronger than "
     "these, and DM 0 fits them, and put them after the others. So it is, with or without "
     "this, with those that DM 0 fits and no dispersed pulse; not with known pulsars."},
    {"baryv", CLI_DOUBLE, AT(run.baryv), "V", -0.1, 0.1,
     "Mean velocity of the telescope towards the source, in units of c, which moves "
     "topocentric frequencies of -birds in barycentric lists (default 0)."},
    {"Comparison", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"r_err", CLI_DOUBLE, AT(run.r_err), "BINS", 1e-6, 1e6,
     "Candidates nearer than this are one (default 1.1 Fourier bins)."},
    {"min_num_DMs", CLI_INT, AT(run.min_num_dms), "N", 0, 1e9,
     "Reject candidates found at fewer DMs (default 2)."},
    {"low_DM_cutoff", CLI_DOUBLE, AT(run.low_dm_cutoff), "DM", -1e9, 1e9,
     "Reject candidates that are best at this DM or below, and fit no dispersed pulse (default "
     "2)."},
    {"catalogue, catalog", CLI_TEXT, AT(catalogue), "FILE", 0, 0,
     "Name candidates at periods of known pulsars, and harmonics: psrcat's database, or CSV."},
    {"catalogue_radius", CLI_DOUBLE, AT(run.catalogue_deg), "DEG", 0, 180,
     "Pulsars farther from the position of the observation are other ones (default 1)."},
    {"compat", CLI_TEXT, AT(compat), "NAME", 0, 0, "presto: the list of ACCEL_sift.py."},
    {"Input and output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"list", CLI_TEXT, AT(list), "FILE", 0, 0,
     "Sift the lists that this file names, too, one per line (-: standard input)."},
    {"globaccel", CLI_TEXT, AT(pattern), "PATTERN", 0, 0,
     "Sift the lists whose names match, too, as 'obs_DM*_ACCEL_200'; there may be none."},
    {"folds", CLI_TEXT, AT(folds), "FILE", 0, 0,
     "Order the candidates by the probability that their folds give: the lines of gpufold "
     "-json, of candidates of the same lists. CSV and JSON get its numbers. A file that does "
     "not exist has no folds."},
    {"o", CLI_LIST, AT(outputs), "FILE", 0, 0,
     "Write the candidates to FILE: as comma-separated values if it ends in .csv, as JSON if "
     "it ends in .json or .jsonl, "
     "else in sifting.py's layout; - is standard output (default); may be given again."},
    {"csv", CLI_FLAG, AT(csv), NULL, 0, 0, "Comma-separated values, whatever the ending."},
    {"json", CLI_FLAG, AT(json), NULL, 0, 0, "JSON, one candidate per line, whatever the ending."},
    {"rejects", CLI_TEXT, AT(rejects), "FILE", 0, 0,
     "Write the rejected candidates, each with the reason."},
};

/* "VALUE,ERROR" of each. */
static void read_birds(const struct cli *tool, const char *option, const struct cli_list *list,
                       const struct psr_sift_bird **bird, size_t *n)
{
    struct psr_sift_bird *to = calloc(list->n ? list->n : 1, sizeof *to);
    psr_err err;
    if (!to)
        cli_usage_error(tool, "no memory for -%s", option);
    for (size_t i = 0; i < list->n; i++) {
        char first[64], name[64];
        const char *text = list->text[i], *comma = strchr(text, ',');
        snprintf(name, sizeof name, "-%s %.40s", option, text);
        if (!comma || comma - text >= (long)sizeof first)
            cli_usage_error(tool, "%s: must be a value and its error, as in 16.67,0.01", name);
        memcpy(first, text, (size_t)(comma - text));
        first[comma - text] = '\0';
        if (psr_parse_double(name, first, 0, 1e12, &to[i].value, &err) ||
            psr_parse_double(name, comma + 1, 0, 1e12, &to[i].error, &err))
            cli_usage_error(tool, "%s", err.msg);
    }
    *bird = to;
    *n = list->n;
}

int accelsift_options_parse(struct accelsift_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct accelsift_options){.ncpus = 0};
    psr_sift_defaults(&o->run);
    CLI_FILL(&table, options, o);
    cli_add_limits(&table, &o->ncpus, NULL);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
    *tool = (struct cli){
        .name = "accelsift",
        .operands = "[OPTION]... FILE_ACCEL_Z...",
        .examples = "accelsift -o cands.sift obs_DM*_ACCEL_200\n"
                    "accelsift -catalogue psrcat.db -o cands.sift -o cands.csv obs_DM*_ACCEL_200\n"
                    "accelsift -lines obs_rfifind.zaplist -o cands.sift "
                    "obs_DM*_ACCEL_200\n",
        .summary = "Sift the candidates of accelsearch at many DMs: reject what is no pulsar, join "
                   "detections of one signal, and remove harmonics, as PRESTO's ACCEL_sift.py "
                   "does.",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(tool, argc, argv);
    if (n < 1 && !o->list && !o->pattern)
        cli_usage_error(tool, "no list given: name ROOT_ACCEL_Z files, -list or -globaccel");
    if (o->compat && strcmp(o->compat, "presto") != 0)
        cli_usage_error(tool, "-compat: '%s' is not presto", o->compat);
    if (o->csv && o->json)
        cli_usage_error(tool, "-csv and -json: one list has one format");
    if (o->compat && (o->birds || o->catalogue || o->folds))
        cli_usage_error(tool, "-compat presto: ACCEL_sift.py has no -%s",
                        o->birds       ? "birds"
                        : o->catalogue ? "catalogue"
                                       : "folds");
    read_birds(tool, "known_birds_p", &o->known_p, &o->run.bird_p, &o->run.nbird_p);
    read_birds(tool, "known_birds_f", &o->known_f, &o->run.bird_f, &o->run.nbird_f);
    o->run.presto = o->compat != NULL;
    o->run.keep_rejects = o->rejects != NULL;
    return n;
}
