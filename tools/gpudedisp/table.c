/* The options of gpudedisp, in the order of --help. */
#include "gpudedisp.h"

#define AT(member) CLI_AT(struct gpudedisp_options, member)

static const struct cli_option input[] = {
    {"offset", CLI_INT, AT(run.offset), "N", 0, 9e18, "Skip N spectra at the start (default 0)."},
    {"start", CLI_DOUBLE, AT(run.start), "F", 0, 1,
     "Skip this fraction of the input, 0 to 1; overrides -offset."},
};

static const struct cli_option weights[] = {
    {"weights", CLI_TEXT, AT(weights), "HOW", 0, 0,
     "snr: with -clean auto, weight channels by their signal to noise: level around them over "
     "scatter, in whole numbers. none (default): all channels alike."},
};

static const struct cli_option trials[] = {
    {"runavg", CLI_FLAG, AT(run.runavg), NULL, 0, 0,
     "Sub-band files: subtract each sub-band's mean over blocks of 1024 samples."},
    {"Trials", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"lodm", CLI_DOUBLE, AT(run.lodm), "DM", 0, 1e6, "First DM, pc cm^-3 (default 0)."},
    {"dmstep", CLI_DOUBLE, AT(run.dmstep), "DM", 0, 1e6, "Step between DMs, pc cm^-3 (default 1)."},
    {"numdms", CLI_INT, AT(run.ndm), "N", 1, PSR_PIPELINE_NDM, "Number of DMs (default 10)."},
    {"dms", CLI_TEXT, AT(run.dms), "FILE", 0, 0, "Read the DMs from FILE instead, one per line."},
    {"plan", CLI_TEXT, AT(run.plan), "FILE", 0, 0,
     "Run all lines of a dedispersion plan written by ddplan in one pass over the input; each "
     "line has its own DMs, downsampling and sub-bands; - is standard input."},
    {"dmconst", CLI_TEXT, AT(dmconst), "K", 0, 0,
     "Dispersion constant: presto (1/2.41e-4, default), sigproc (4148.741601) or a value in "
     "MHz^2 s."},
    {"Method", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"downsamp", CLI_INT, AT(run.downsamp), "N", 1, PSR_PIPELINE_DOWNSAMP,
     "Average N adjacent samples first (default 1)."},
    {"scrunch", CLI_DOUBLE, AT(run.scrunch), "F", 0.1, 100,
     "Sum N = 2, 4, 8 .. times as many samples for DMs at which dispersion within a channel "
     "smears a pulse over F N samples or more, and search them as lines of a plan."},
    {"algo", CLI_TEXT, AT(algo), "NAME", 0, 0,
     "direct: every trial is exact (default). subband: PRESTO's two steps with -nsub "
     "sub-bands. tree: sums shared by a tree of sub-bands, fastest, delays within -smear."},
    {"nsub", CLI_INT, AT(run.nsub), "N", 1, 1 << 20,
     "Number of sub-bands for -algo subband and -sub (default 32); must divide the number of "
     "channels."},
    {"smear", CLI_DOUBLE, AT(run.smear), "F", 1.01, 100,
     "With -algo tree: largest factor by which a pulse of two samples may be broadened "
     "(default 1.07)."},
    {"tol", CLI_INT, AT(run.tol), "N", 0, 1,
     "0: exact (default). 1: faster, each channel's delay accurate to one sample."},
    {"Barycentring", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"nobary, topo", CLI_FLAG, AT(run.nobary), NULL, 0, 0,
     "Do not barycentre: keep topocentric times."},
    {"position", CLI_TEXT, AT(run.position), "RA,DEC", 0, 0,
     "J2000 position instead of the header's, as 05:34:31.97,+22:00:52.1 or in degrees."},
    {"site", CLI_TEXT, AT(run.site), "LON,LAT,H", 0, 0,
     "Telescope position, instead of the one known by its name: degrees east, degrees north, "
     "metres (WGS84)."},
    {"ephem", CLI_TEXT, AT(run.ephem), "NAME", 0, 0,
     "Accepted but not used: the Earth's orbit is ERFA's."},
    {"Compatibility", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"compat", CLI_TEXT, AT(compat), "presto", 0, 0,
     "Reproduce prepsubband's output bit for bit, including its faults."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(run.root), "ROOT", 0, 0,
     "Write files whose names begin with ROOT: ROOT_DM12.00.dat and so on; with one DM, - is a "
     ".tim on standard output."},
    {"format", CLI_TEXT, AT(format), "NAME", 0, 0,
     "dat: PRESTO's .dat and .inf (default). tim: SIGPROC's .tim."},
    {"sub", CLI_FLAG, AT(sub), NULL, 0, 0,
     "Write sub-bands at -subdm instead of series: ROOT_DM12.00.sub00 and so on."},
    {"subdm", CLI_DOUBLE, AT(subdm), "DM", 0, 4000, "DM of -sub, pc cm^-3 (default 0)."},
    {"dmprec", CLI_INT, AT(run.dm_decimals), "N", 2, 4,
     "Decimals of the DM in file names (default 2)."},
    {"numout", CLI_INT, AT(run.numout), "N", 1, 0x1p53,
     "Samples per series: padded or cut to N (default: a good length for Fourier transforms)."},
    {"sametail", CLI_FLAG, AT(run.sametail), NULL, 0, 0,
     "End all series of a line where that of its highest DM ends (default: each at its own "
     "last sample)."},
    {"nopad", CLI_FLAG, AT(run.nopad), NULL, 0, 0, "Do not pad the series to a good length."},
    {"nowrite", CLI_FLAG, AT(nowrite), NULL, 0, 0,
     "Write no series: only what searches find, or without them but with -v, the CRC-32 of "
     "each series."},
    {"Single pulses", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"singlepulse", CLI_FLAG, AT(singlepulse), NULL, 0, 0,
     "Search every series: writes ROOT_DM12.00.singlepulse for each and ROOT.cand for all."},
    {"threshold", CLI_DOUBLE, AT(pulses.threshold), "S", 1, 1e6,
     "S/N threshold of events (default 6)."},
    {"maxwidth", CLI_DOUBLE, AT(pulses.maxwidth_s), "SEC", 0, 1e6,
     "Widest boxcar in seconds (default: 300 samples). Beyond that, series of more samples "
     "summed are searched, too; not with -live."},
    {"detrend", CLI_DOUBLE, AT(pulses.detrend), "SAMPLES", 0, 1e9,
     "Length of the baseline in samples, rounded to one of five: for boxcars up to 300 "
     "samples, 405, 884, 1810, 3641 or 10944 (default 0: adapted to the noise)."},
    {"timetol", CLI_INT, AT(pulses.time_tol), "N", 0, 1e9,
     "Largest gap in samples between boxcars of one pulse (default 3)."},
    {"trialtol", CLI_INT, AT(pulses.trial_tol), "N", 0, 1e9,
     "Largest distance in DM trials between events of one pulse (default 3)."},
    {"halve", CLI_INT, AT(run.nhalve), "N", 1, PSR_PIPELINE_HALVE,
     "Search parts of the band, too: halves, quarters .. 1/2^N of its channels, each "
     "overlapping the next by half. Their events go to ROOT_LOW-HIGHMHz.singlepulse for each "
     "part; ROOT.cand names a pulse once, and the part it is best in (default 0: none)."},
    {"fine", CLI_INT, AT(run.nfine), "N", 1, PSR_PIPELINE_FINE,
     "Search lines that sum samples also with N times fewer, and DMs as much closer, for "
     "single pulses only. Their events go to ROOT_fine.singlepulse (default 1: no such "
     "lines)."},
    {"views", CLI_INT, AT(pulses.nview), "N", 0, 1000,
     "Write the spectra around the N best pulses to ROOT.bursts.jsonl, for psrreport to draw "
     "(default 0)."},
    {"json", CLI_FLAG, AT(pulses.json), NULL, 0, 0,
     "Write the pulses to ROOT.pulses.jsonl, too, one line of JSON each."},
    {"csv", CLI_FLAG, AT(pulses.csv), NULL, 0, 0,
     "Write the pulses to ROOT.pulses.csv, too: comma-separated values under a line of names."},
    {"live", CLI_FLAG, AT(live), NULL, 0, 0,
     "Search an endless input, with level and scatter from what was before: each pulse is told "
     "as a line of JSON to -o FILE, tcp://HOST:PORT or unix:PATH (default -, standard output) "
     "once its members are complete, at most -block after its last sample. Without -clip, "
     "which takes blocks of 2400 spectra; -clean auto takes 2 s. SIGTERM ends the input, "
     "SIGHUP opens FILE anew."},
    {"block", CLI_DOUBLE, AT(run.block_s), "SEC", 1e-6, 1e6,
     "With -live: tell of a pulse at most SEC after its last sample at the lowest frequency, "
     "and what the machine takes (default: 4 longest boxcars or 256 samples, and 0.1). On GPUs "
     "also the largest sweep less its own."},
    {"drop", CLI_DOUBLE, AT(run.drop_s), "SEC", 1e-3, 1e6,
     "With -live, of a pipe: hold at most SEC seconds for a search that is too slow, and drop "
     "whole blocks beyond, which are counted and give no events (default: the writer waits)."},
    {"ring", CLI_DOUBLE, AT(run.ring_s), "SEC", 1e-6, 1e6,
     "With -live and -dump: hold the last SEC seconds of the input in memory."},
    {"dump", CLI_TEXT, AT(run.dump), "DIR", 0, 0,
     "With -live and -ring: write the input around each pulse to a SIGPROC filterbank in the "
     "folder DIR, named by the pulse's date and DM."},
    {"plot", CLI_TEXT, AT(plot), "FILE.png", 0, 0,
     "Plot the events; format by suffix: png, pdf, svg, eps or ps (needs cairo)."},
    {"Periodic signals", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"accelsearch", CLI_TEXT, AT(accelsearch), "OPTIONS", 0, 0,
     "Search every series for pulsars as gpuaccel-pulscan does its file, with that tool's "
     "options in one word (\"-zmax 200 -numharm 8\"; -search matched unless given): writes "
     "ROOT_DM12.00_ACCEL_200 and its companions, and with -nowrite no series but their .inf."},
    {"segments", CLI_FLAG, AT(segments), NULL, 0, 0,
     "With -accelsearch: search the halves and quarters of every series, too, for pulsars that "
     "are there for a part of the time, or whose drift changes: their lists have the names "
     "ROOT_DM12.00_seg1of2_ACCEL_200 .. _seg4of4_ACCEL_200."},
    {"lists", CLI_TEXT, AT(lists), "NAME", 0, 0,
     "files: a file for each list of candidates or pulses and each .inf (default). one: all in "
     "ROOT.lists, a tar file that accelsift, gpufold and psrreport read as if they were "
     "files; empty lists are left out."},
    {"ffa", CLI_TEXT, AT(slow), "OPTIONS", 0, 0,
     "Search every series for slow pulsars as gpuffa does its file, with that tool's options "
     "in one word (\"-pmin 0.5 -pmax 30\"): writes ROOT_ffa.csv, one list for all DMs, and "
     "with -nowrite no series but their .inf."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"device", CLI_TEXT, AT(run.device), "NAME", 0, 0,
     "Device for dedispersion and searches: auto (a GPU if there is one, the default), cpu, "
     "cuda, or the numbers of GPUs that share the trials: 0,1,2,3 or all."},
};

static const struct cli_option resume[] = {
    {"beams", CLI_FLAG, AT(beams), NULL, 0, 0,
     "Each FILE is a beam of one pointing: run all, a block of each in turn, each as if alone. "
     "The names of the outputs of NAME.fil begin "
     "with ROOT_NAME. With -algo tree beams share a plan, on the CPU or one GPU, if they have "
     "integers of 16 bits at most, the same channels and sampling, and one speed towards the "
     "source (-nobary), DMs rise, -halve is not given, each line of a -plan sums a multiple of "
     "what the one before does, and memory holds all; otherwise each has its own. "
     "Results are the same. -v tells what each holds, and what they share."},
    {"resume", CLI_FLAG, AT(run.resume), NULL, 0, 0,
     "Skip trials that an identical earlier run completed."},
};

void gpudedisp_fill_table(struct cli_table *list, struct gpudedisp_options *o)
{
    cli_add_heading(list, "Input");
    cli_add_observation(list, (struct cli_observation){.filterbank = &o->filterbank,
                                                       .psrfits = &o->psrfits,
                                                       .if_choice = &o->run.if_choice,
                                                       .state = &o->state,
                                                       .no_weights = &o->run.no_weights,
                                                       .no_scales = &o->run.no_scales,
                                                       .no_offsets = &o->run.no_offsets,
                                                       .invert = &o->run.invert});
    CLI_FILL(list, input, o);
    cli_add_ignored(list, &o->wapp, &o->window, &o->numwapps);
    cli_add_heading(list, "Cleaning");
    cli_add_clean(list, &o->clean, CLI_CLEAN_HELP("ROOT"));
    CLI_FILL(list, weights, o);
    cli_add_mask(list, &o->run.mask, &o->run.ignorechan);
    cli_add_clipping(list, &o->run.clip_sigma, &o->run.noclip, &o->run.zerodm);
    CLI_FILL(list, trials, o);
    cli_add_limits(list, &o->run.nthread, &o->run.mem_bytes);
    CLI_FILL(list, resume, o);
    cli_add_verbosity(list, &o->quiet, &o->verbose);
}
