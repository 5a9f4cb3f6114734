/* The options of a search for slow pulsars. */
#include "ffa_options.h"

#include <stdlib.h>

void ffa_options_init(struct ffa_options *o)
{
    *o = (struct ffa_options){.rmed_s = -1};
    psr_ffasearch_defaults(&o->search);
}

void ffa_options_add(struct cli_table *list, struct ffa_options *o)
{
    const struct cli_option options[] = {
        {"Search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"pmin", CLI_DOUBLE, &o->search.pmin_s, "SEC", 1e-6, 1e6,
         "Shortest period, seconds (default 0.2, or what has 240 samples)."},
        {"pmax", CLI_DOUBLE, &o->search.pmax_s, "SEC", 1e-6, 1e6,
         "Longest period, seconds (default 120, but at most a tenth of the series; what is given "
         "is "
         "searched up to a quarter)."},
        {"bmin", CLI_INT, &o->search.bmin, "N", 8, PSR_FFA_MAX_BINS,
         "Fewest bins of a profile, at all periods (default: 240 to 0.5 s, 480 to 2 s, 960 from "
         "there on; less where samples are too long)."},
        {"bmax", CLI_INT, &o->search.bmax, "N", 9, PSR_FFA_MAX_BINS,
         "Most bins of a profile, with -bmin (default: a twelfth more than -bmin)."},
        {"ducymax", CLI_DOUBLE, &o->search.ducymax, "SHARE", 1e-3, 0.5,
         "Widest pulse, of a period (default 0.3)."},
        {"sigma", CLI_DOUBLE, &o->search.sigma, "SNR", 1, 1e6,
         "Least S/N of a candidate (default: noise reaches it in one of ten series of this "
         "length)."},
        {"rmed", CLI_DOUBLE, &o->rmed_s, "SEC", 0, 1e6,
         "Subtract the running median of so many seconds (default: of two periods or more; 0: "
         "none)."},
        {"zaplist", CLI_TEXT, &o->zaplist, "FILE", 0, 0,
         "Leave out periods whose harmonics are at the frequencies of this .zaplist or .birds "
         "file."},
        {"baryv", CLI_DOUBLE, &o->search.baryv, "V", -0.1, 0.1,
         "Mean velocity of the telescope towards the source over c, for -zaplist and barycentred "
         "series (default 0)."},
    };
    CLI_ADD(list, options);
}

void ffa_options_complete(struct ffa_options *o, const struct cli *tool)
{
    struct psr_ffasearch_desc *d = &o->search;
    if (d->bmax && !d->bmin)
        cli_usage_error(tool, "-bmax needs -bmin");
    if (d->bmax && d->bmax <= d->bmin)
        cli_usage_error(tool, "-bmax = %lld must be above -bmin, %lld", (long long)d->bmax,
                        (long long)d->bmin);
    if (d->pmax_s > 0 && d->pmax_s <= d->pmin_s)
        cli_usage_error(tool, "-pmax = %g s must be above -pmin, %g s", d->pmax_s, d->pmin_s);
    d->rmed_s = o->rmed_s < 0 ? 0 : o->rmed_s > 0 ? o->rmed_s : -1;
}

void ffa_options_parse(struct ffa_options *o, const struct cli *tool, const char *option,
                       const char *text)
{
    struct cli_table table = {.n = 0};
    ffa_options_init(o);
    ffa_options_add(&table, o);
    struct cli inner = {
        .summary = "Search series as gpuffa does.", .options = table.option, .noptions = table.n};
    o->words = cli_parse_words(&inner, tool, option, text);
    ffa_options_complete(o, &inner);
}

void ffa_options_clear(struct ffa_options *o)
{
    free(o->words);
    o->words = NULL;
}
