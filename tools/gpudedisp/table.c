/* The options of gpudedisp, in the order of --help. */
#include "options.h"

static void add_input(struct cli_table *list, struct gpudedisp_options *o)
{
    const struct cli_option options[] = {
        {"Input", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"filterbank", CLI_FLAG, &o->filterbank, NULL,
         "Treat the input as SIGPROC filterbank (default: from its first bytes).", 0, 0},
        {"psrfits", CLI_FLAG, &o->psrfits, NULL, "Treat the input as PSRFITS.", 0, 0},
        {"if", CLI_INT, &o->run.if_choice, "N",
         "Use polarisation or IF N, from 0 (default: total intensity, summed).", 0, 15},
        {"noweights", CLI_FLAG, &o->run.no_weights, NULL, "Do not apply PSRFITS weights.", 0, 0},
        {"noscales", CLI_FLAG, &o->run.no_scales, NULL, "Do not apply PSRFITS scales.", 0, 0},
        {"nooffsets", CLI_FLAG, &o->run.no_offsets, NULL, "Do not apply PSRFITS offsets.", 0, 0},
        {"invert", CLI_FLAG, &o->run.invert, NULL,
         "Reverse the band: the header has the frequency order wrong.", 0, 0},
        {"offset", CLI_INT, &o->run.offset, "N", "Skip N spectra at the start (default 0).", 0,
         9e18},
        {"start", CLI_DOUBLE, &o->run.start, "F",
         "Skip this fraction of the input, 0 to 1; overrides -offset.", 0, 1},
        {"wapp", CLI_FLAG, &o->wapp, NULL, "Ignored with a note.", 0, 0},
        {"window", CLI_FLAG, &o->window, NULL, "Ignored with a note.", 0, 0},
        {"numwapps", CLI_INT, &o->numwapps, "N", "Ignored with a note.", 1, 8},
    };
    CLI_ADD(list, options);
}

static void add_cleaning(struct cli_table *list, struct gpudedisp_options *o)
{
    const struct cli_option options[] = {
        {"Cleaning", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"clean", CLI_TEXT, &o->clean, "HOW",
         "auto: find interference by its statistics and remove it, bring all channels to one level "
         "and "
         "scatter, and write what was removed to ROOT.clean.json, .clean.mask and .clean.stats. "
         "none "
         "(default): only what the other options say.",
         0, 0},
        {"mask", CLI_TEXT, &o->run.mask, "FILE",
         "Apply an rfifind mask: ROOT_rfifind.mask, with its .stats beside it.", 0, 0},
        {"ignorechan", CLI_TEXT, &o->run.ignorechan, "LIST",
         "Ignore channels: 3,5:9,20:30:5 (channel 0 is the lowest in frequency), or a file of such "
         "text.",
         0, 0},
        {"clip", CLI_DOUBLE, &o->run.clip_sigma, "S",
         "Clip spectra whose sum deviates from the mean by more than S standard deviations "
         "(default 6; 0: do not clip).",
         0, 1000},
        {"noclip", CLI_FLAG, &o->run.noclip, NULL, "Do not clip.", 0, 0},
        {"zerodm", CLI_FLAG, &o->run.zerodm, NULL,
         "Subtract the series at DM 0 from every channel, weighted by the bandpass; disables "
         "clipping.",
         0, 0},
        {"runavg", CLI_FLAG, &o->run.runavg, NULL,
         "Sub-band files: subtract each sub-band's mean over blocks of 1024 samples.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_trials(struct cli_table *list, struct gpudedisp_options *o)
{
    const struct cli_option options[] = {
        {"Trials", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"lodm", CLI_DOUBLE, &o->run.lodm, "DM", "First DM, pc cm^-3 (default 0).", 0, 1e6},
        {"dmstep", CLI_DOUBLE, &o->run.dmstep, "DM", "Step between DMs, pc cm^-3 (default 1).", 0,
         1e6},
        {"numdms", CLI_INT, &o->run.ndm, "N", "Number of DMs (default 10).", 1, PSR_PIPELINE_NDM},
        {"dms", CLI_TEXT, &o->run.dms, "FILE", "Read the DMs from FILE instead, one per line.", 0,
         0},
        {"plan", CLI_TEXT, &o->run.plan, "FILE",
         "Run all lines of a dedispersion plan written by ddplan in one pass over the input; each "
         "line has its own DMs, downsampling and sub-bands; - is standard input.",
         0, 0},
        {"dmconst", CLI_TEXT, &o->dmconst, "K",
         "Dispersion constant: presto (1/2.41e-4, default), sigproc (4148.741601) or a value in "
         "MHz^2 s.",
         0, 0},
        {"Method", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"downsamp", CLI_INT, &o->run.downsamp, "N",
         "Average N adjacent samples first (default 1).", 1, PSR_PIPELINE_DOWNSAMP},
        {"algo", CLI_TEXT, &o->algo, "NAME",
         "direct: every trial is exact (default). subband: PRESTO's two steps with -nsub "
         "sub-bands. tree: sums shared by a tree of sub-bands, fastest, delays within -smear "
         "(CPU).",
         0, 0},
        {"nsub", CLI_INT, &o->run.nsub, "N",
         "Number of sub-bands for -algo subband and -sub (default 32); must divide the number of "
         "channels.",
         1, 1 << 20},
        {"smear", CLI_DOUBLE, &o->run.smear, "F",
         "Largest smearing of a pulse of two samples by -algo tree, over the unavoidable (default "
         "1.07).",
         1.01, 100},
        {"tol", CLI_INT, &o->run.tol, "N",
         "0: exact (default). 1: faster, each channel's delay accurate to one sample.", 0, 1},
    };
    CLI_ADD(list, options);
}

static void add_barycentring(struct cli_table *list, struct gpudedisp_options *o)
{
    const struct cli_option options[] = {
        {"Barycentring", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"nobary", CLI_FLAG, &o->run.nobary, NULL, "Do not barycentre: keep topocentric times.", 0,
         0},
        {"position", CLI_TEXT, &o->run.position, "RA,DEC",
         "J2000 position instead of the header's, as 05:34:31.97,+22:00:52.1 or in degrees.", 0, 0},
        {"site", CLI_TEXT, &o->run.site, "LON,LAT,H",
         "Telescope position, instead of the one known by its name: degrees east, degrees north, "
         "metres (WGS84).",
         0, 0},
        {"ephem", CLI_TEXT, &o->run.ephem, "NAME",
         "Accepted but not used: the Earth's orbit is ERFA's.", 0, 0},
        {"Compatibility", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"compat", CLI_TEXT, &o->compat, "presto",
         "Reproduce prepsubband's output bit for bit, including its faults.", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_output(struct cli_table *list, struct gpudedisp_options *o)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->run.root, "ROOT",
         "Prefix of output names: ROOT_DM12.00.dat and so on; - with one DM writes a .tim to "
         "standard output.",
         0, 0},
        {"format", CLI_TEXT, &o->format, "NAME",
         "dat: PRESTO's .dat and .inf (default). tim: SIGPROC's .tim.", 0, 0},
        {"sub", CLI_FLAG, &o->run.subbands.on, NULL,
         "Write sub-bands at -subdm instead of series: ROOT_DM12.00.sub00 and so on.", 0, 0},
        {"subdm", CLI_DOUBLE, &o->subdm, "DM", "DM of -sub, pc cm^-3 (default 0).", 0, 4000},
        {"dmprec", CLI_INT, &o->run.dm_decimals, "N",
         "Decimals of the DM in file names (default 2).", 2, 4},
        {"numout", CLI_INT, &o->run.numout, "N",
         "Samples per series: padded or cut to N (default: a good length for Fourier transforms).",
         1, 0x1p53},
        {"sametail", CLI_FLAG, &o->run.sametail, NULL,
         "End all series of a line where that of its highest DM ends (default: each at its own "
         "last sample).",
         0, 0},
        {"nopad", CLI_FLAG, &o->run.series.nopad, NULL, "Do not pad the series to a good length.",
         0, 0},
        {"nowrite", CLI_FLAG, &o->nowrite, NULL,
         "Write no series: only events, or without -singlepulse but with -v, the CRC-32 of each "
         "series.",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_search(struct cli_table *list, struct gpudedisp_options *o)
{
    const struct cli_option options[] = {
        {"Single pulses", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"singlepulse", CLI_FLAG, &o->run.pulses.on, NULL,
         "Search every series: writes ROOT_DM12.00.singlepulse for each and ROOT.cand for all.", 0,
         0},
        {"threshold", CLI_DOUBLE, &o->run.pulses.threshold, "S",
         "S/N threshold of events (default 6).", 1, 1e6},
        {"maxwidth", CLI_DOUBLE, &o->run.pulses.maxwidth_s, "SEC",
         "Widest boxcar in seconds (default: 300 samples).", 0, 1e6},
        {"detrend", CLI_DOUBLE, &o->run.pulses.detrend, "SAMPLES",
         "Length of the baseline in samples, rounded to one of five: for boxcars up to 300 "
         "samples, "
         "405, 884, 1810, 3641 or 10944 (default 0: adapted to the noise).",
         0, 1e9},
        {"timetol", CLI_INT, &o->run.pulses.time_tol, "N",
         "Largest gap in samples between boxcars of one pulse (default 3).", 0, 1e9},
        {"trialtol", CLI_INT, &o->run.pulses.trial_tol, "N",
         "Largest distance in DM trials between events of one pulse (default 3).", 0, 1e9},
        {"plot", CLI_TEXT, &o->plot, "FILE.png",
         "Plot the events; format by suffix: png, pdf, svg, eps or ps (needs gnuplot).", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_running(struct cli_table *list, struct gpudedisp_options *o)
{
    const struct cli_option options[] = {
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"device", CLI_TEXT, &o->run.device, "NAME",
         "Device for dedispersion: auto (a GPU if there is one, the default), cpu, cuda, or the "
         "numbers of GPUs that share the trials: 0,1,2,3 or all.",
         0, 0},
    };
    const struct cli_option resume[] = {
        {"resume", CLI_FLAG, &o->run.resume, NULL,
         "Skip trials that an identical earlier run completed.", 0, 0},
    };
    CLI_ADD(list, options);
    cli_add_limits(list, &o->run.ncpus, &o->run.mem_bytes);
    CLI_ADD(list, resume);
    cli_add_verbosity(list, &o->quiet, &o->verbose);
}

void gpudedisp_fill_table(struct cli_table *list, struct gpudedisp_options *o)
{
    list->n = 0;
    add_input(list, o);
    add_cleaning(list, o);
    add_trials(list, o);
    add_barycentring(list, o);
    add_output(list, o);
    add_search(list, o);
    add_running(list, o);
}
