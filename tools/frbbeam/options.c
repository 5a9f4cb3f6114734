#include "frbbeam.h"

#include <psrkit/number.h>
#include <string.h>

static const struct frbbeam_options defaults = {
    .beam = -1,
    .cadence_s = 1,
    .nbits = 8,
    .device = "auto",
};

static int count_stdin(const struct frbbeam_options *o, int npath, char **path)
{
    const char *const file[] = {o->array, o->beams, o->weights, o->scale, o->tds_file};
    int n = 0;
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        n += file[i] && !strcmp(file[i], "-");
    for (int i = 0; i < npath; i++)
        n += !strcmp(path[i], "-");
    return n;
}

static void check_combinations(const struct frbbeam_options *o, const struct cli *tool, int npath,
                               char **path)
{
    if (npath == 0)
        cli_usage_error(tool, "no input; - reads standard input");
    if (!o->array)
        cli_usage_error(tool, "-array FILE is needed: where the dishes stand");
    if (!o->beams && !o->grid)
        cli_usage_error(tool, "-beams FILE or -grid is needed: which beams to form");
    if (o->beams && o->grid)
        cli_usage_error(tool, "-beams and -grid exclude each other");
    if (!o->root)
        cli_usage_error(tool, "-o ROOT is needed");
    if (!strcmp(o->root, "-") && o->beam < 0)
        cli_usage_error(tool, "-o - needs -beam K: standard output takes one beam");
    if (o->nbits != 4 && o->nbits != 8 && o->nbits != 32)
        cli_usage_error(tool, "-nbits: %d is none of 4, 8, 32", (int)o->nbits);
    if (o->nbits == 32 && o->scale)
        cli_usage_error(tool, "-scale is for 4 and 8 bits: floats are not scaled");
    if (count_stdin(o, npath, path) > 1)
        cli_usage_error(tool, "- is standard input, which can be read for one purpose only");
}

static void take_tds(struct frbbeam_options *o, const struct cli *tool, const char *tds)
{
    psr_err why;
    if (tds && !strcmp(tds, "@"))
        cli_usage_error(tool, "-tds @FILE: the name is missing");
    if (tds && *tds == '@')
        o->tds_file = tds + 1;
    else if (tds && psr_parse_int("-tds", tds, 1, 1 << 20, &o->tds, &why))
        cli_usage_error(tool, "%s", why.msg);
}

static void add_array(struct cli_table *list, struct frbbeam_options *o)
{
    const struct cli_option options[] = {
        {"Array", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"array", CLI_TEXT, &o->array, "FILE",
         "Where the dishes stand: grid, spacing, place of each input.", 0, 0},
        {"weights", CLI_TEXT, &o->weights, "FILE",
         "Complex gain of each channel, polarisation and dish, as text or NumPy's .npy (default: "
         "all 1).",
         0, 0},
        {"site", CLI_TEXT, &o->site, "LON,LAT,H",
         "Where the array stands, instead of what its file says: degrees east and north, metres "
         "(WGS84).",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_beams(struct cli_table *list, struct frbbeam_options *o, const char **tds)
{
    const struct cli_option options[] = {
        {"Beams", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"beams", CLI_TEXT, &o->beams, "FILE",
         "Directions: theta, azimuth and elevation, or right ascension and declination, one a "
         "line.",
         0, 0},
        {"grid", CLI_FLAG, &o->grid, NULL,
         "The 2M x 2N half-integer directions of the grid itself, at every frequency.", 0, 0},
        {"beam", CLI_INT, &o->beam, "K", "Form beam K only, counted from 0.", 0, 1 << 20},
        {"cadence", CLI_DOUBLE, &o->cadence_s, "SEC",
         "How often beams that track are pointed anew (default 1).", 1e-6, 1e6},
        {"tds", CLI_TEXT, tds, "N|@FILE",
         "Samples of voltage in a sample of intensity (default: about 1 ms); @FILE has them by "
         "frequency.",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_output(struct cli_table *list, struct frbbeam_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->root, "ROOT",
         "Start of output names: ROOT_beam0000.fil and so on; - with -beam K writes to standard "
         "output.",
         0, 0},
        {"nbits", CLI_INT, &o->nbits, "N", "Bits per sample: 4, 8 (default) or 32 (floats).", 4,
         32},
        {"scale", CLI_TEXT, &o->scale, "FILE",
         "Scales of an earlier run, ROOT.scale, instead of measuring them.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_running(struct cli_table *list, struct frbbeam_options *o)
{
    const struct cli_option options[] = {
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &o->device, "NAME",
         "Where to form beams: auto (a GPU where there is one, the default), cpu, cuda, or the "
         "number of a GPU.",
         0, 0},
    };
    CLI_ADD(list, options);
    cli_add_limits(list, &o->ncpus, &o->mem_bytes);
    cli_add_talk(list, &o->quiet, &o->verbose);
}

int frbbeam_options_parse(struct frbbeam_options *o, struct cli *tool, int argc, char **argv)
{
    const char *tds = NULL;
    struct cli_table table = {.n = 0};
    *o = defaults;
    add_array(&table, o);
    add_beams(&table, o, &tds);
    add_output(&table, o);
    add_running(&table, o);
    *tool = (struct cli){
        .name = "frbbeam",
        .operands = "[OPTION]... -array FILE -beams FILE -o ROOT FILE... | -",
        .summary = "Form intensity beams from voltages of a grid of dishes (DADA files): a "
                   "filterbank of each beam.",
        .options = table.option,
        .noptions = table.n,
    };
    int n = cli_parse(tool, argc, argv);
    take_tds(o, tool, tds);
    check_combinations(o, tool, n, argv + 1);
    return n;
}
