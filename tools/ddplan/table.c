/* The options of ddplan, in the order of --help. */
#include "ddplan.h"

static const double any = 1e300, whole = 1e15; /* ranges that accept every value */

static void add_search(struct cli_table *list, struct ddplan_given *g)
{
    const struct cli_option options[] = {
        {"Search", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"l, loDM", CLI_DOUBLE, &g->lodm, "DM", "Lowest DM, pc cm^-3 (default 0).", -any, any},
        {"d, hiDM", CLI_DOUBLE, &g->hidm, "DM", "Highest DM, pc cm^-3 (default 1000).", -any, any},
        {"r, res", CLI_DOUBLE, &g->res_ms, "MS",
         "Acceptable time resolution, ms (default: the best possible).", -any, any},
        {"s, subbands", CLI_INT, &g->nsub, "N",
         "Dedisperse in two steps with N sub-bands (default 0: exactly, in one step).", -whole,
         whole},
        {"p, procs", CLI_INT, &g->nproc, "N",
         "Processors that share the calls of mpiprepsubband (default 1).", -whole, whole},
    };
    CLI_ADD(list, options);
}

static void add_tolerance(struct cli_table *list, struct ddplan_options *o)
{
    const struct cli_option options[] = {
        {"dm_tol", CLI_DOUBLE, &o->dm_tol, "F",
         "Instead of a plan list the DMs, one a line for gpudedisp -dms, between which a pulse "
         "becomes at most F times as wide, as Heimdall does (there 1.25 by default).",
         1.0001, 100},
        {"dm_pulse_width", CLI_DOUBLE, &o->dm_pulse_width_us, "US",
         "With -dm_tol: width of the pulse, microseconds (default 40).", 0, 1e8},
    };
    CLI_ADD(list, options);
}

static void add_observation(struct cli_table *list, struct ddplan_given *g)
{
    const struct cli_option options[] = {
        {"Observation (each overrides the value from a file)", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"t, dt", CLI_DOUBLE, &g->tsamp_s, "SEC", "Sample time, s (default 64e-6).", -any, any},
        {"f, fctr", CLI_DOUBLE, &g->fctr_mhz, "MHZ", "Centre frequency, MHz (default 1400).", -any,
         any},
        {"b, bw", CLI_DOUBLE, &g->bw_mhz, "MHZ", "Bandwidth, MHz (default 300).", -any, any},
        {"n, numchan", CLI_INT, &g->nchan, "N", "Channels (default 1024).", -whole, whole},
        {"k, blocklen", CLI_INT, &g->blocklen, "N",
         "Spectra per block: downsampling factors divide it (default 1024).", -whole, whole},
        {"c, cDM, cohdm", CLI_DOUBLE, &g->cohdm, "DM",
         "DM at which the channels are coherently dedispersed (default 0).", -any, any},
    };
    CLI_ADD(list, options);
}

static void add_output(struct cli_table *list, struct ddplan_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"plan", CLI_TEXT, &o->plan, "FILE",
         "Write the plan for gpudedisp -plan to FILE; - is standard output.", 0, 0},
        {"w, write", CLI_FLAG, &o->script, NULL, "Print a shell script that runs the plan.", 0, 0},
        {"for", CLI_TEXT, &o->script_for, "PROGRAM",
         "Program the script calls: gpudedisp (default) or prepsubband.", 0, 0},
        {"json", CLI_FLAG, &o->json, NULL, "Print the plan as JSON.", 0, 0},
        {"o, output", CLI_TEXT, &o->draw, "FILE",
         "Write a plot of smearing against DM to FILE, a .png, .pdf, .svg, .ps or .eps; .eps is "
         "appended to other names (needs cairo).",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_cost(struct cli_table *list, struct ddplan_options *o)
{
    const struct cli_option options[] = {
        {"Cost", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"cost", CLI_FLAG, &o->cost, NULL,
         "Also print the cost of the plan in gpudedisp: bytes, additions, seconds.", 0, 0},
        {"rates", CLI_TEXT, &o->rates, "LIST",
         "Rates of the machine per second, as read=1e9,add=5e9,write=1e9,tree=5e10 (default: "
         "additions are measured, 1e9 bytes/s assumed).",
         0, 0},
        {"smear", CLI_DOUBLE, &o->smear, "F",
         "Factor of -algo tree, as of gpudedisp -smear (default 1.07).", 1.01, 100},
        {"T, tobs", CLI_DOUBLE, &o->tobs_s, "SEC",
         "Length of the observation, s (default: from the file, or 600).", 1e-6, 1e9},
        {"nbit", CLI_INT, &o->nbit, "N", "Bits per sample (default: from the file, or 8).", 1, 32},
    };
    CLI_ADD(list, options);
}

void ddplan_fill_table(struct cli_table *list, struct ddplan_options *o)
{
    list->n = 0;
    add_search(list, &o->given);
    add_tolerance(list, o);
    add_observation(list, &o->given);
    add_output(list, o);
    add_cost(list, o);
}
