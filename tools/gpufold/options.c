/* The options of gpufold: what they stand for, and what they may not be together. */
#include "base/tool.h"
#include "gpufold.h"

#include <string.h>

#define AT(member) CLI_AT(struct gpufold_options, member)

static const struct cli_option output[] = {
    {"Input and output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"o", CLI_TEXT, AT(root), "ROOT", 0, 0,
     "Write files whose names begin with ROOT: ROOT_NAME.pfd and ROOT_NAME.pfd.bestprof "
     "(default: the input's name without suffix)."},
};

static const struct cli_option extent[] = {
    {"start", CLI_DOUBLE, AT(run.start), "F", 0, 1, "Begin at this fraction of the input."},
    {"end", CLI_DOUBLE, AT(run.end), "F", 0, 1, "End at this fraction of the input (default 1)."},
    {"length", CLI_DOUBLE, AT(run.length_s), "SEC", 0, 1e9,
     "Fold the first SEC seconds; needed for a pipe (-), whose length is not known."},
    {"Cleaning", CLI_HEADING, NULL, NULL, 0, 0, NULL},
};

static const struct cli_option candidate[] = {
    {"Candidate", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"p", CLI_DOUBLE, AT(p), "SEC", 1e-9, 1e9, "Period, s, at the first sample folded."},
    {"pd", CLI_DOUBLE, AT(pd), "PD", -1, 1, "Its derivative, s/s."},
    {"pdd", CLI_DOUBLE, AT(pdd), "PDD", -1, 1, "Its second derivative, s/s^2."},
    {"f", CLI_DOUBLE, AT(f), "HZ", 1e-9, 1e9, "Frequency, Hz, instead of -p."},
    {"fd", CLI_DOUBLE, AT(fd), "FD", -1e9, 1e9, "Its derivative, Hz/s."},
    {"fdd", CLI_DOUBLE, AT(fdd), "FDD", -1e9, 1e9, "Its second derivative, Hz/s^2."},
    {"pfact", CLI_DOUBLE, AT(pfact), "X", 1e-3, 100, "Multiply periods by X."},
    {"ffact", CLI_DOUBLE, AT(ffact), "X", 1e-3, 100, "Multiply frequencies by X."},
    {"dm", CLI_DOUBLE, AT(dm), "DM", 0, 1e6,
     "DM, pc cm^-3 (default: that of a list, else 0); not of series."},
    {"phs", CLI_DOUBLE, AT(phs), "X", 0, 1, "Phase of the first sample, turns (default 0)."},
    {"bin", CLI_FLAG, AT(binary), NULL, 0, 0, "The candidate has the orbit of the next options."},
    {"pb", CLI_DOUBLE, AT(pb), "SEC", 0, 1e12, "Orbital period, s."},
    {"x", CLI_DOUBLE, AT(asini), "LS", 0, 1e9, "Projected semi-major axis, light-seconds."},
    {"e", CLI_DOUBLE, AT(ecc), "E", 0, 0.9999999, "Eccentricity (default 0)."},
    {"To", CLI_DOUBLE, AT(to), "MJD", 0, 1e6, "Time of a periastron passage."},
    {"w", CLI_DOUBLE, AT(w), "DEG", 0, 360, "Longitude of periastron."},
    {"accelfile", CLI_TEXT, AT(accelfile), "FILE", 0, 0,
     "Fold candidates of an acceleration search: ROOT_ACCEL_200.cand, with ROOT.inf."},
    {"accelcand", CLI_TEXT, AT(accelcand), "N", 0, 0,
     "Their numbers: 3, or 1,3,5-9, or all (default all)."},
    {"par", CLI_TEXT, AT(parfile), "FILE", 0, 0,
     "Fold with an ephemeris: spin, DM, position and orbit (BT, DD, ELL1) of a .par file."},
    {"cands", CLI_TEXT, AT(candfile), "FILE", 0, 0,
     "Fold the candidates of a list: a table or comma-separated values whose header names the "
     "columns (DM, p or f, ..), a list of ACCEL_sift.py or PulsarX, or ROOT_ACCEL_200.cand; "
     "psrkit-formats(5) describes them."},
    {"candfile", CLI_TEXT, AT(candfile), "FILE", 0, 0, "The same, as in prepfold_multi."},
    {"ncands", CLI_INT, AT(ncands), "N", 1, 1e9, "Fold only the first N of a list (default: all)."},
    {"Fold", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"n", CLI_INT, AT(nbin), "N", 1, 1 << 20,
     "Bins of a profile (default: samples per turn, at most 64)."},
    {"nsub", CLI_INT, AT(run.nsub), "N", 1, 1 << 20,
     "Sub-bands; must divide the channels (default: prepfold's choice, 20 to 128, or what "
     "divides)."},
    {"npart", CLI_INT, AT(run.npart), "N", 1, PSR_PFD_NPART_MAX,
     "Parts of the observation (default 64)."},
    {"topo, nobary", CLI_FLAG, AT(run.topo), NULL, 0, 0,
     "The candidate's values are those at the telescope: do not barycentre."},
    {"position", CLI_TEXT, AT(run.position), "RA,DEC", 0, 0,
     "Position of the source, J2000 (default: from the header)."},
    {"site", CLI_TEXT, AT(run.site), "LON,LAT,H", 0, 0,
     "Place of the telescope, degrees and metres (default: from the header)."},
    {"Search", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"nosearch", CLI_FLAG, AT(run.nosearch), NULL, 0, 0, "Do not search around the candidate."},
    {"nopsearch", CLI_FLAG, AT(run.nopsearch), NULL, 0, 0, "Keep the period."},
    {"nopdsearch", CLI_FLAG, AT(run.nopdsearch), NULL, 0, 0, "Keep the p-dot."},
    {"nodmsearch", CLI_FLAG, AT(run.nodmsearch), NULL, 0, 0, "Keep the DM."},
    {"searchpdd", CLI_FLAG, AT(run.searchpdd), NULL, 0, 0,
     "Search p-dot-dots too, as many as p-dots: takes that many times longer."},
    {"searchfdd", CLI_FLAG, AT(searchfdd), NULL, 0, 0, "The same."},
    {"pstep", CLI_INT, AT(run.pstep), "N", 1, 10,
     "Step of periods: bins by which it delays the end (default 2)."},
    {"pdstep", CLI_INT, AT(run.pdstep), "N", 1, 20, "Step of p-dots, likewise (default 4)."},
    {"dmstep", CLI_INT, AT(run.dmstep), "N", 1, 10,
     "Step of DMs: bins by which it delays the lowest frequency (default 2)."},
    {"npfact", CLI_INT, AT(run.npfact), "N", 1, 10,
     "Search 2 N n + 1 periods and p-dots for n bins (default 2)."},
    {"ndmfact", CLI_INT, AT(run.ndmfact), "N", 1, 1000, "Search 2 N n + 1 DMs (default 3)."},
    {"refine", CLI_FLAG, AT(run.refine), NULL, 0, 0,
     "Then find period, p-dot and DM between the trials, where the power of the pulse's "
     "harmonics is largest: the DM even with -nodmsearch; p-dot only if it is significant."},
    {"dmrange", CLI_TEXT, AT(dmrange), "LO,HI", 0, 0,
     "-refine keeps the DM inside, as a search's range (always inside the trials of "
     "-ndmfact)."},
    {"stay", CLI_DOUBLE, AT(run.stay_bins), "BINS", 0, 1e6,
     "-refine begins at the candidate's own values where the best trial is more than BINS / T "
     "off its frequency: that is another signal. -json tells by how much (moved_bins)."},
    {"harmonics", CLI_FLAG, AT(harmonics), NULL, 0, 0,
     "Then try 1/3, 1/2, 2 and 3 times the best period, in another pass over the input: -json "
     "gives the shortest whose turns differ by less than 3 sigma."},
    {"fine", CLI_FLAG, AT(fine), NULL, 0, 0,
     "The finest steps, for candidates known well: -npfact 1 -pstep 1 -pdstep 2 -ndmfact 1 "
     "-dmstep 1."},
    {"coarse", CLI_FLAG, AT(coarse), NULL, 0, 0,
     "A wide search, for candidates known badly: -npfact 4 -pstep 3 -pdstep 6."},
    {"slow", CLI_FLAG, AT(slow), NULL, 0, 0,
     "For slow pulsars: -fine, and -n 100 if -n is not given."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"compat", CLI_TEXT, AT(compat), "NAME", 0, 0,
     "presto: fold as prepfold does, also towards RA 0, Dec 0 where the header has no "
     "position; the default where gpufold is called by the name prepfold."},
    {"device", CLI_TEXT, AT(run.device), "NAME", 0, 0,
     "Devices that fold and search: auto (a GPU if there is one, and enough to do), cpu, cuda, "
     "or the numbers of GPUs that share the candidates: 0,1,2,3 or all; the same results."},
    {"json", CLI_FLAG, AT(json), NULL, 0, 0,
     "Print a line of JSON for each candidate on standard output."},
    {"resume", CLI_FLAG, AT(resume), NULL, 0, 0,
     "Skip candidates that an identical earlier run completed; -json prints the same lines as an "
     "unbroken run."},
    {"tolerant", CLI_FLAG, AT(tolerant), NULL, 0, 0,
     "Candidates of a list that cannot be folded, as of periods below two samples, are reported "
     "and are no failure, even if none is left."},
    {"noplot", CLI_FLAG, AT(noplot), NULL, 0, 0, "Do not draw pictures."},
    {"noxwin", CLI_FLAG, AT(noxwin), NULL, 0, 0, "Ignored: there is no window."},
};

/* The steps that -fine, -coarse and -slow stand for, as prepfold sets them. */
static void set_steps(struct gpufold_options *o)
{
    struct psr_folder_desc *d = &o->run;
    if (o->slow && !o->nbin)
        o->nbin = 100;
    if (o->fine || o->slow) {
        d->ndmfact = d->dmstep = d->npfact = d->pstep = 1;
        d->pdstep = 2;
    }
    if (o->coarse) {
        d->npfact = 4;
        d->pstep = d->pstep == 1 ? 2 : 3;
        d->pdstep = d->pdstep == 2 ? 4 : 6;
    }
    d->searchpdd |= o->searchfdd;
}

/* LO,HI */
static void set_dmrange(struct gpufold_options *o, const struct cli *tool)
{
    const char *comma = o->dmrange ? strchr(o->dmrange, ',') : NULL;
    char lo[32];
    psr_err err;
    if (!o->dmrange)
        return;
    if (!comma || comma - o->dmrange >= (long)sizeof lo)
        cli_usage_error(tool, "-dmrange %s: must be LO,HI", o->dmrange);
    memcpy(lo, o->dmrange, (size_t)(comma - o->dmrange));
    lo[comma - o->dmrange] = '\0';
    if (psr_parse_double("-dmrange", lo, 0, 1e6, &o->run.dm_lo, &err) ||
        psr_parse_double("-dmrange", comma + 1, 0, 1e6, &o->run.dm_hi, &err))
        cli_usage_error(tool, "%s", err.msg);
    if (!(o->run.dm_lo < o->run.dm_hi))
        cli_usage_error(tool, "-dmrange %s: must ascend", o->dmrange);
    if (!o->run.refine)
        cli_usage_error(tool, "-dmrange needs -refine");
}

static void check_candidate(const struct gpufold_options *o, const struct cli *tool)
{
    const int ways = (o->p > 0) + (o->f > 0) + (o->accelfile != NULL) + (o->candfile != NULL) +
                     (o->parfile != NULL);
    if (o->accelcand && !o->accelfile)
        cli_usage_error(tool, "-accelcand needs -accelfile");
    if (ways != 1)
        cli_usage_error(tool, "one of -p, -f, -accelfile, -cands and -par is needed, %s",
                        ways ? "not several" : "and there is none");
    if (o->ncands && !o->accelfile && !o->candfile)
        cli_usage_error(tool, "-ncands needs a list: -cands or -accelfile");
    if (o->tolerant && !o->accelfile && !o->candfile)
        cli_usage_error(tool, "-tolerant needs a list: -cands or -accelfile");
    if (o->pfact != 1 && o->ffact != 1)
        cli_usage_error(tool, "-pfact and -ffact exclude each other");
    if (o->binary && !(o->pb > 0 && o->asini > 0 && o->to > 0))
        cli_usage_error(tool, "-bin needs -pb, -x and -To above 0");
    if (!o->binary && (o->pb != 0 || o->asini != 0 || o->to != 0))
        cli_usage_error(tool, "-pb, -x and -To need -bin");
    if (o->parfile && (o->run.topo || o->binary || o->pfact != 1 || o->ffact != 1))
        cli_usage_error(tool, "-par excludes -topo, -bin, -pfact and -ffact");
    if ((o->accelfile || o->candfile || o->parfile) &&
        (o->pd != 0 || o->pdd != 0 || o->fd != 0 || o->fdd != 0))
        cli_usage_error(tool, "-pd, -pdd, -fd and -fdd belong to -p or -f");
}

/* Of prepfold. */
static const struct cli_elsewhere elsewhere[] = {
    {"psr", "there is no catalogue of pulsars, -par FILE has an ephemeris"},
    {"timing, polycos, barypolycos, absphase",
     "-par FILE folds with an ephemeris, and needs no polycos"},
    {"wdot", "-par FILE with OMDOT has orbits whose periastron moves"},
    {"rzwfile, rzwcand", "-accelfile and -accelcand take what accelsearch finds"},
    {"events, days, mjds, double, offset", "lists of photons are folded by PRESTO's prepfold"},
    {"scaleparts, allgrey, fixchi, justprofs", "PRESTO's show_pfd draws the .pfd so"},
    {"normalize, runavg",
     "-clean auto, -mask and -zerodm take away what the band or all channels have in common"},
    {"samples", "each sample is spread over the bins that it covers"},
    {"wapp, window, numwapps", "data of the WAPP are not read"},
    {"debug", "-json tells what a fold found"},
    {NULL, NULL},
};

static void fill_table(struct cli_table *table, struct gpufold_options *o)
{
    CLI_FILL(table, output, o);
    cli_add_observation(table, (struct cli_observation){.filterbank = &o->filterbank,
                                                        .psrfits = &o->psrfits,
                                                        .if_choice = &o->run.if_choice,
                                                        .state = &o->state,
                                                        .no_weights = &o->run.no_weights,
                                                        .no_scales = &o->run.no_scales,
                                                        .no_offsets = &o->run.no_offsets,
                                                        .invert = &o->run.invert});
    CLI_FILL(table, extent, o);
    cli_add_clean(table, &o->clean, CLI_CLEAN_HELP("ROOT_fold"));
    cli_add_mask(table, &o->run.mask, &o->run.ignorechan);
    cli_add_clipping(table, &o->run.clip_sigma, &o->run.noclip, &o->run.zerodm);
    CLI_FILL(table, candidate, o);
    cli_add_limits(table, &o->run.nthread, &o->run.mem_bytes);
    cli_add_verbosity(table, &o->quiet, &o->verbose);
}

/* What pipes and streams exclude, -dmrange, and what needs -refine. */
static void check_inputs(struct gpufold_options *o, const struct cli *tool, int n, char **argv)
{
    bool is_pipe = false, is_stream = false;
    for (int i = 1; i <= n; i++) {
        is_pipe |= !strcmp(argv[i], "-");
        is_stream |= strstr(argv[i], "://") != NULL;
    }
    if ((is_pipe || is_stream) && o->resume)
        cli_usage_error(tool, "-resume needs a file, which it can examine");
    if ((is_pipe || is_stream) && !o->root)
        cli_usage_error(tool, "%s needs -o", is_pipe ? "standard input" : argv[1]);
    set_dmrange(o, tool);
    if (o->run.stay_bins > 0 && !o->run.refine)
        cli_usage_error(tool, "-stay needs -refine");
    /* A pipe is read once, and an ephemeris is known. */
    const bool is_file = !is_pipe && !is_stream;
    if (o->harmonics && (!is_file || o->parfile || o->binary))
        cli_usage_error(tool, "-harmonics needs a file, and excludes -par and -bin");
    if (is_pipe && o->candfile && !strcmp(o->candfile, "-"))
        cli_usage_error(tool, "standard input cannot be both the data and the list");
}

int gpufold_options_parse(struct gpufold_options *o, struct cli *tool, int argc, char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct gpufold_options){.clean = "none", .pfact = 1, .ffact = 1, .dm = -1};
    psr_folder_defaults(&o->run);
    fill_table(&table, o);
    *tool = (struct cli){
        .name = "gpufold",
        .operands = "[OPTION]... FILE...",
        .examples = "gpufold -p 0.0331 -dm 56.7 obs.fil\n"
                    "gpufold -cands cands.sift -mask obs_rfifind.mask obs.fil\n"
                    "gpufold -par pulsar.par obs.fits\n",
        .summary = "Fold pulsar candidates in one pass over telescope data (SIGPROC filterbank, "
                   "PSRFITS, sub-bands, .dat, .tim), search around each, into PRESTO's .pfd.",
        .options = table.option,
        .noptions = table.n,
        .elsewhere = elsewhere,
    };
    const bool is_prepfold =
        cli_is_run_as(argv[0], "prepfold") || cli_is_run_as(argv[0], "prepfold_multi");
    const int n = cli_parse(tool, argc, argv);
    if (n < 1)
        cli_usage_error(tool, "no input given");
    set_steps(o);
    check_candidate(o, tool);
    if (o->filterbank && o->psrfits)
        cli_usage_error(tool, "-filterbank and -psrfits exclude each other");
    check_inputs(o, tool, n, argv);
    if (!(o->run.start < o->run.end))
        cli_usage_error(tool, "-start %g must be below -end %g", o->run.start, o->run.end);
    o->run.presto = is_prepfold || o->compat;
    if (o->compat && strcmp(o->compat, "presto") != 0)
        cli_usage_error(tool, "-compat: '%s' is not presto", o->compat);
    o->run.clean_auto = cli_parse_clean(tool, o->clean);
    if (o->run.clean_auto && o->run.mask)
        cli_usage_error(tool, "-clean auto finds what a mask would tell: not with -mask");
    o->run.input = o->filterbank ? PSR_INPUT_SIGPROC
                   : o->psrfits  ? PSR_INPUT_PSRFITS
                                 : PSR_INPUT_AUTO;
    o->run.pols = cli_parse_state(tool, o->state);
    if (o->accelfile && !o->accelcand)
        o->accelcand = "all";
    return n;
}
