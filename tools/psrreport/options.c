/* The options of psrreport, in the order of --help. */
#include "psrreport.h"

static void add_output(struct cli_table *list, struct psrreport_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->output, "FILE",
         "Write the page to FILE; - is standard output (default: DIR/report.html; of several "
         "folders "
         "./report.html).",
         0, 0},
        {"csv", CLI_TEXT, &o->csv, "FILE",
         "The folded candidates as CandyJar reads them (default: DIR/candidates.csv); of several "
         "folders those of all (default: none).",
         0, 0},
        {"overview", CLI_FLAG, &o->overview, NULL,
         "One page with a row for each folder; so it is with several folders.", 0, 0},
        {"list", CLI_TEXT, &o->list, "FILE",
         "Take the folders that this file names, too, one per line (-: standard input); implies "
         "-overview.",
         0, 0},
        {"title", CLI_TEXT, &o->title, "TEXT",
         "Title of the page (default: the source and the name of the folder).", 0, 0},
        {"verdicts", CLI_TEXT, &o->verdicts, "FILE",
         "Show the verdicts that a page of this search has saved as CSV.", 0, 0},
        {"rows", CLI_INT, &o->rows, "N",
         "Show the N best candidates (default 1000); the page says how many there are.", 1, 1e6},
        {"bursts", CLI_INT, &o->bursts, "N", "Show the N best bursts (default 50), likewise.", 0,
         1e6},
        {"maxsize", CLI_SIZE, &o->max_bytes, "SIZE",
         "Embed pictures up to this size in all (default 64M), those of the best candidates first; "
         "for the others the page has links.",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_candyjar(struct cli_table *list, struct psrreport_options *o)
{
    const struct cli_option options[] = {
        {"Columns of candidates.csv", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"pointing_id", CLI_INT, &o->pointing_id, "N", "Number of the pointing (default 0).", 0,
         INT32_MAX},
        {"beam_id", CLI_INT, &o->beam_id, "N", "Number of the beam (default 0).", 0, INT32_MAX},
        {"beam_name", CLI_TEXT, &o->beam_name, "NAME", "Name of the beam (default beam).", 0, 0},
    };
    CLI_ADD(list, options);
    const struct cli_option rest[] = {
        {"q", CLI_FLAG, &o->quiet, NULL, "No notes, no progress.", 0, 0},
    };
    CLI_ADD(list, rest);
}

int psrreport_options_parse(struct psrreport_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct psrreport_options){
        .rows = 1000, .bursts = 50, .max_bytes = 64 << 20, .beam_name = "beam"};
    add_output(&table, o);
    add_candyjar(&table, o);
    *tool = (struct cli){
        .name = "psrreport",
        .operands = "[OPTION]... DIR...",
        .examples = "psrreport obs_search\n"
                    "psrreport -o all.html survey/*/\n"
                    "psrreport -csv candyjar.csv -pointing_id 7 obs_search\n",
        .summary = "Make one page of what a search left in a folder: candidates with their folds, "
                   "single pulses, interference, and what was run.",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(tool, argc, argv);
    if (n < 1 && !o->list)
        cli_usage_error(tool, "no folder given");
    o->overview = o->overview || n > 1 || o->list;
    if (o->overview && o->verdicts)
        cli_usage_error(tool, "-verdicts is of one folder, not of an overview");
    return n;
}
