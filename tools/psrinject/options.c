/* Parses psrinject's command line. */
#include "base/tool.h"
#include "psrinject.h"

#include <ctype.h>
#include <psrkit/experimental/outfile.h>
#include <stdio.h>
#include <string.h>

struct words {
    const char *period, *duty, *width, *dm, *snr, *accn;
};

/* "LOW:HIGH", or one number. */
static void take_range(const struct cli *tool, const char *option, const char *text, double least,
                       double most, struct inject_range *range)
{
    char low[64];
    psr_err why;
    const char *colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    if (n >= sizeof low)
        cli_usage_error(tool, "%s: '%.20s...' is too long", option, text);
    snprintf(low, sizeof low, "%.*s", (int)n, text);
    if (psr_parse_double(option, low, least, most, &range->low, &why) ||
        psr_parse_double(option, colon ? colon + 1 : low, least, most, &range->high, &why))
        cli_usage_error(tool, "%s", why.msg);
    if (range->high < range->low)
        cli_usage_error(tool, "%s: '%s' must be the lower one first", option, text);
}

static void add_options(struct cli_table *list, struct inject_options *o, struct words *w)
{
    const struct cli_option options[] = {
        {"Signals", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"pulsars", CLI_INT, &o->npulsar, "N", 0, 1e6, "Pulsars, one in each copy (default 20)."},
        {"bursts", CLI_INT, &o->nburst, "N", 0, 1e6, "Bursts (default 100)."},
        {"each", CLI_INT, &o->each, "N", 1, INJECT_EACH, "Bursts in a copy (default 5)."},
        {"snr", CLI_TEXT, &w->snr, "LOW:HIGH", 0, 0,
         "S/N, of a pulsar over all pulses (default 6:30); like DM and acceleration drawn evenly."},
        {"dm", CLI_TEXT, &w->dm, "LOW:HIGH", 0, 0, "DM, pc cm^-3 (default 10:500)."},
        {"width", CLI_TEXT, &w->width, "LOW:HIGH", 0, 0,
         "Width of bursts, s (default 1e-3:3e-2); like periods drawn evenly in the logarithm."},
        {"period", CLI_TEXT, &w->period, "LOW:HIGH", 0, 0,
         "Period of pulsars, s (default 5e-3:2)."},
        {"duty", CLI_TEXT, &w->duty, "LOW:HIGH", 0, 0,
         "Width of pulsars in turns (default 0.02:0.1)."},
        {"accn", CLI_TEXT, &w->accn, "LOW:HIGH", 0, 0,
         "Acceleration of pulsars, m/s^2 (default 0)."},
        {"seed", CLI_INT, &o->seed, "N", 0, 9e15, "Seed (default 1)."},
        {"Search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"search", CLI_TEXT, &o->search, "OPTIONS", 0, 0,
         "Options of psrsearch, in one word: \"-budget fast -hidm 500\"."},
        {"probability", CLI_DOUBLE, &o->probability, "P", 0, 1,
         "A pulsar is found if its fold has this probability (default 0.5)."},
        {"interference", CLI_TEXT, &o->interference, "KIND,..", 0, 0,
         "Kind of interference in each input, one word for each: the page has their curves apart "
         "(default: the names of the inputs, where there are several)."},
        {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"o", CLI_TEXT, &o->output, "DIR", 0, 0,
         "Write the results into the folder DIR: recall.html, recall.tsv and a table for each "
         "copy. A run goes on where an earlier one with the same options ended."},
        {"join", CLI_FLAG, &o->join, NULL, 0, 0,
         "Inject nothing: the inputs are folders of earlier runs, whose signals get one table and "
         "one page."},
        {"keep", CLI_FLAG, &o->keep, NULL, 0, 0,
         "Keep the copies and the folders of their searches."},
        {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"jobs", CLI_INT, &o->jobs, "N", 1, 256, "Copies that are searched at a time (default 1)."},
        {"ncpus, threads", CLI_INT, &o->ncpus, "N", 1, 4096,
         "Threads of all jobs together (default: all cores)."},
    };
    CLI_ADD(list, options);
    cli_add_verbosity(list, &o->quiet, &o->verbose);
}

/* A word for each input. */
static void check_kinds(const struct inject_options *o, const struct cli *tool)
{
    size_t n = 1;
    if (!o->interference)
        return;
    for (const char *word = o->interference;; n++) {
        const size_t length = strcspn(word, ",");
        if (!length || length >= INJECT_WORD || strcspn(word, " \t\r\n") < length)
            cli_usage_error(tool, "-interference: '%.*s', must be a word of 1 to %d letters",
                            (int)length, word, INJECT_WORD - 1);
        if (!word[length])
            break;
        word += length + 1;
    }
    if (n != o->npath)
        cli_usage_error(tool, "-interference has %zu words, must have one for each of %zu inputs",
                        n, o->npath);
}

void inject_options_parse(struct inject_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    struct words w = {"5e-3:2", "0.02:0.1", "1e-3:3e-2", "10:500", "6:30", "0"};
    *o = (struct inject_options){.npulsar = 20,
                                 .nburst = 100,
                                 .each = 5,
                                 .search = "",
                                 .probability = 0.5,
                                 .seed = 1,
                                 .jobs = 1};
    add_options(&table, o, &w);
    *tool = (struct cli){
        .name = "psrinject",
        .operands = "[OPTION]... -o DIR FILE... | -join -o DIR DIR...",
        .examples = "psrinject -o recall obs.fil\n"
                    "psrinject -pulsars 0 -bursts 500 -snr 5:15 -o bursts *.fil\n"
                    "psrinject -jobs 4 -search \"-budget fast -hidm 500\" -o recall obs.fil\n",
        .summary = "Measure what a search finds: inject pulsars and bursts into copies of "
                   "observations, search them with psrsearch, and write the share that was found.",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(tool, argc, argv);
    if (n == 0)
        cli_usage_error(tool, "no input");
    take_range(tool, "-snr", w.snr, 0.1, 1e6, &o->snr);
    take_range(tool, "-dm", w.dm, 0, 1e5, &o->dm);
    take_range(tool, "-width", w.width, 1e-7, 100, &o->width_s);
    take_range(tool, "-period", w.period, 1e-4, 1e4, &o->period_s);
    take_range(tool, "-duty", w.duty, 1e-4, 0.9, &o->duty);
    take_range(tool, "-accn", w.accn, -1e6, 1e6, &o->accn);
    if (!o->output || !*o->output)
        cli_usage_error(tool, "-o DIR is needed");
    if (o->join && o->interference)
        cli_usage_error(tool, "-join excludes -interference, which tables have");
    if (o->npulsar + o->nburst == 0)
        cli_usage_error(tool, "-pulsars and -bursts are 0: nothing is added");
    o->path = (const char *const *)(argv + 1);
    o->npath = (size_t)n;
    check_kinds(o, tool);
}

void inject_kind(char kind[INJECT_WORD], const struct inject_options *o, size_t input)
{
    const char *slash = strrchr(o->path[input], '/'), *word = o->interference;
    if (!word) {
        const char *name = slash ? slash + 1 : o->path[input];
        snprintf(kind, INJECT_WORD, "%.*s", INJECT_WORD - 1, o->npath > 1 ? name : "-");
        for (char *c = kind; *c; c++)
            *c = isspace((unsigned char)*c) ? '_' : *c;
        return;
    }
    for (size_t i = 0; i < input; i++)
        word += strcspn(word, ",") + 1;
    snprintf(kind, INJECT_WORD, "%.*s", (int)strcspn(word, ","), word);
}

/* Reads and writes tables of signals and what became of them. */

psr_status inject_table_write(const char *path, const struct inject_row *row, size_t n,
                              psr_err *err)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, err);
    if (st)
        return st;
    st = psr_outfile_printf(f, err,
                            "#kind\tdm\tt_s\twidth_s\tperiod_s\taccn_m_s2\tsnr\tfound_snr\tlost"
                            "\tinterference\n");
    for (size_t i = 0; i < n && !st; i++)
        st = psr_outfile_printf(f, err, "%s\t%.6f\t%.9f\t%.9g\t%.12g\t%.9g\t%.4f\t%.4f\t%s\t%s\n",
                                row[i].pulsar ? "pulsar" : "burst", row[i].dm, row[i].t_s,
                                row[i].width_s, row[i].period_s, row[i].accn, row[i].snr,
                                row[i].found_snr, row[i].lost, row[i].interference);
    if (st)
        psr_outfile_abort(f);
    return st ? st : psr_outfile_commit(f, err);
}

psr_status inject_table_read(struct inject_result *all, const char *path, psr_err *err)
{
    char line[1024], kind[8];
    struct psr_text_lines in;
    bool exists;
    psr_status st = psr_text_lines_open(&in, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    while (!st && !(st = psr_text_lines_next(&in, line, sizeof line, &exists, err)) && exists) {
        struct inject_row r = {.interference = "-"}; /* a column that earlier tables lack */
        if (*line == '#')
            continue;
        if (sscanf(line, "%7s %lf %lf %lf %lf %lf %lf %lf %15s %31s", kind, &r.dm, &r.t_s,
                   &r.width_s, &r.period_s, &r.accn, &r.snr, &r.found_snr, r.lost,
                   r.interference) < 9)
            st = psr_fail(err, PSR_EFORMAT, "%s: line %ld has no 9 columns", path, in.number);
        r.pulsar = !strcmp(kind, "pulsar");
        if (!st)
            st = psr_grow(&all->row, &all->room, all->n, sizeof r, "signals", err);
        if (!st)
            all->row[all->n++] = r;
    }
    psr_text_lines_close(&in);
    return st;
}
