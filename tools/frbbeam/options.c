/* Converts frbbeam's command line to a beamformer description. */
#include "options.h"

#include "base/tool.h"
#include <string.h>

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

static void check_combinations(const struct psr_beamformer_desc *d, const struct cli *tool,
                               int npath, char **path)
{
    if (npath == 0)
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
    if (count_stdin(d, npath, path) > 1)
        cli_usage_error(tool, "- is standard input, which can be read for one purpose only");
}

static void take_tds(struct psr_beamformer_desc *d, const struct cli *tool, const char *tds)
{
    psr_err why;
    if (tds && !strcmp(tds, "@"))
        cli_usage_error(tool, "-tds @FILE: the name is missing");
    if (tds && *tds == '@')
        d->tds_file = tds + 1;
    else if (tds && psr_parse_int("-tds", tds, 1, 1 << 20, &d->tds, &why))
        cli_usage_error(tool, "%s", why.msg);
}

static void add_array(struct cli_table *list, struct psr_beamformer_desc *d)
{
    const struct cli_option options[] = {
        {"Array", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"array", CLI_TEXT, &d->array, "FILE", "Array file: grid, spacing, position of each input.",
         0, 0},
        {"weights", CLI_TEXT, &d->weights, "FILE",
         "Complex gain of each channel, polarisation and dish, as text or .npy (default: all 1).",
         0, 0},
        {"site", CLI_TEXT, &d->site, "LON,LAT,H",
         "Site of the array, overriding its file: degrees east, degrees north, metres (WGS84).", 0,
         0},
    };
    CLI_ADD(list, options);
}

static void add_beams(struct cli_table *list, struct psr_beamformer_desc *d, const char **tds)
{
    const struct cli_option options[] = {
        {"Beams", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"beams", CLI_TEXT, &d->beams, "FILE",
         "Directions, one per line: theta, azimuth and elevation, or right ascension and "
         "declination.",
         0, 0},
        {"grid", CLI_FLAG, &d->grid, NULL,
         "Form the 2M x 2N half-integer directions of the grid, at every frequency.", 0, 0},
        {"beam", CLI_INT, &d->beam, "K", "Form only beam K, counted from 0.", 0, 1 << 20},
        {"cadence", CLI_DOUBLE, &d->cadence_s, "SEC",
         "Seconds between updates of tracking beams (default 1).", 1e-6, 1e6},
        {"tds", CLI_TEXT, tds, "N|@FILE",
         "Voltage samples per intensity sample (default: about 1 ms); @FILE lists them by "
         "frequency.",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_output(struct cli_table *list, struct psr_beamformer_desc *d)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &d->root, "ROOT",
         "Write files whose names begin with ROOT: ROOT_beam0000.fil and so on; with -beam K, - is "
         "standard output.",
         0, 0},
        {"nbits", CLI_INT, &d->nbits, "N", "Bits per sample: 4, 8 (default) or 32 (floats).", 4,
         32},
        {"scale", CLI_TEXT, &d->scale, "FILE",
         "Use the scales of an earlier run, ROOT.scale, instead of measuring them.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_running(struct cli_table *list, struct psr_beamformer_desc *d)
{
    const struct cli_option options[] = {
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &d->device, "NAME",
         "Device that forms beams: auto (a GPU if there is one, the default), cpu, cuda, or the "
         "number of a GPU.",
         0, 0},
    };
    CLI_ADD(list, options);
    cli_add_limits(list, &d->nthread, &d->mem_bytes);
}

int frbbeam_options_parse(struct frbbeam_options *o, struct cli *tool, int argc, char **argv)
{
    const char *tds = NULL;
    struct cli_table table = {.n = 0};
    *o = (struct frbbeam_options){.quiet = false};
    psr_beamformer_defaults(&o->run);
    add_array(&table, &o->run);
    add_beams(&table, &o->run, &tds);
    add_output(&table, &o->run);
    add_running(&table, &o->run);
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
    take_tds(&o->run, tool, tds);
    check_combinations(&o->run, tool, n, argv + 1);
    return n;
}
