/* The table of gpufold's options, in the order of --help. */
#include "gpufold.h"

static void add_input(struct cli_table *list, struct gpufold_options *o)
{
    const struct cli_option options[] = {
        {"Input and output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &o->root, "ROOT",
         "Write files whose names begin with ROOT: ROOT_NAME.pfd and ROOT_NAME.pfd.bestprof "
         "(default: the input's name without suffix).",
         0, 0},
    };
    CLI_ADD(list, options);
    cli_add_observation(list, (struct cli_observation){.filterbank = &o->filterbank,
                                                       .psrfits = &o->psrfits,
                                                       .if_choice = &o->run.if_choice,
                                                       .state = &o->state,
                                                       .no_weights = &o->run.no_weights,
                                                       .no_scales = &o->run.no_scales,
                                                       .no_offsets = &o->run.no_offsets,
                                                       .invert = &o->run.invert});
    const struct cli_option extent[] = {
        {"start", CLI_DOUBLE, &o->run.start, "F", "Begin at this fraction of the input.", 0, 1},
        {"end", CLI_DOUBLE, &o->run.end, "F", "End at this fraction of the input (default 1).", 0,
         1},
        {"length", CLI_DOUBLE, &o->run.length_s, "SEC",
         "Fold the first SEC seconds; needed for a pipe (-), whose length is not known.", 0, 1e9},
    };
    CLI_ADD(list, extent);
    cli_add_heading(list, "Cleaning");
    cli_add_clean(list, &o->clean, CLI_CLEAN_HELP("ROOT_fold"));
    cli_add_mask(list, &o->run.mask, &o->run.ignorechan);
    cli_add_clipping(list, &o->run.clip_sigma, &o->run.noclip, &o->run.zerodm);
}

static void add_candidate(struct cli_table *list, struct gpufold_options *o)
{
    const struct cli_option options[] = {
        {"Candidate", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"p", CLI_DOUBLE, &o->p, "SEC", "Period, s, at the first sample folded.", 1e-9, 1e9},
        {"pd", CLI_DOUBLE, &o->pd, "PD", "Its derivative, s/s.", -1, 1},
        {"pdd", CLI_DOUBLE, &o->pdd, "PDD", "Its second derivative, s/s^2.", -1, 1},
        {"f", CLI_DOUBLE, &o->f, "HZ", "Frequency, Hz, instead of -p.", 1e-9, 1e9},
        {"fd", CLI_DOUBLE, &o->fd, "FD", "Its derivative, Hz/s.", -1e9, 1e9},
        {"fdd", CLI_DOUBLE, &o->fdd, "FDD", "Its second derivative, Hz/s^2.", -1e9, 1e9},
        {"pfact", CLI_DOUBLE, &o->pfact, "X", "Multiply periods by X.", 1e-3, 100},
        {"ffact", CLI_DOUBLE, &o->ffact, "X", "Multiply frequencies by X.", 1e-3, 100},
        {"dm", CLI_DOUBLE, &o->dm, "DM",
         "DM, pc cm^-3 (default: that of a list, else 0); not of series.", 0, 1e6},
        {"phs", CLI_DOUBLE, &o->phs, "X", "Phase of the first sample, turns (default 0).", 0, 1},
        {"bin", CLI_FLAG, &o->binary, NULL, "The candidate has the orbit of the next options.", 0,
         0},
        {"pb", CLI_DOUBLE, &o->pb, "SEC", "Orbital period, s.", 0, 1e12},
        {"x", CLI_DOUBLE, &o->asini, "LS", "Projected semi-major axis, light-seconds.", 0, 1e9},
        {"e", CLI_DOUBLE, &o->ecc, "E", "Eccentricity (default 0).", 0, 0.9999999},
        {"To", CLI_DOUBLE, &o->to, "MJD", "Time of a periastron passage.", 0, 1e6},
        {"w", CLI_DOUBLE, &o->w, "DEG", "Longitude of periastron.", 0, 360},
        {"accelfile", CLI_TEXT, &o->accelfile, "FILE",
         "Fold candidates of an acceleration search: ROOT_ACCEL_200.cand, with ROOT.inf.", 0, 0},
        {"accelcand", CLI_TEXT, &o->accelcand, "N",
         "Their numbers: 3, or 1,3,5-9, or all (default all).", 0, 0},
        {"par", CLI_TEXT, &o->parfile, "FILE",
         "Fold with an ephemeris: spin, DM, position and orbit (BT, DD, ELL1) of a .par file.", 0,
         0},
        {"cands", CLI_TEXT, &o->candfile, "FILE",
         "Fold the candidates of a list: a table or comma-separated values whose header names the "
         "columns (DM, p or f, ..), a list of ACCEL_sift.py or PulsarX, or ROOT_ACCEL_200.cand; "
         "psrkit-formats(5) describes them.",
         0, 0},
        {"candfile", CLI_TEXT, &o->candfile, "FILE", "The same, as in prepfold_multi.", 0, 0},
        {"ncands", CLI_INT, &o->ncands, "N", "Fold only the first N of a list (default: all).", 1,
         1e9},
    };
    CLI_ADD(list, options);
}

static void add_fold(struct cli_table *list, struct gpufold_options *o)
{
    const struct cli_option options[] = {
        {"Fold", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"n", CLI_INT, &o->nbin, "N", "Bins of a profile (default: samples per turn, at most 64).",
         1, 1 << 20},
        {"nsub", CLI_INT, &o->run.nsub, "N",
         "Sub-bands; must divide the channels (default: prepfold's choice, 20 to 128).", 1,
         1 << 20},
        {"npart", CLI_INT, &o->run.npart, "N", "Parts of the observation (default 64).", 1,
         PSR_PFD_NPART_MAX},
        {"topo, nobary", CLI_FLAG, &o->run.topo, NULL,
         "The candidate's values are those at the telescope: do not barycentre.", 0, 0},
        {"position", CLI_TEXT, &o->run.position, "RA,DEC",
         "Position of the source, J2000 (default: from the header).", 0, 0},
        {"site", CLI_TEXT, &o->run.site, "LON,LAT,H",
         "Place of the telescope, degrees and metres (default: from the header).", 0, 0},
    };
    CLI_ADD(list, options);
}

static void add_search(struct cli_table *list, struct gpufold_options *o)
{
    const struct cli_option options[] = {
        {"Search", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"nosearch", CLI_FLAG, &o->run.nosearch, NULL, "Do not search around the candidate.", 0, 0},
        {"nopsearch", CLI_FLAG, &o->run.nopsearch, NULL, "Keep the period.", 0, 0},
        {"nopdsearch", CLI_FLAG, &o->run.nopdsearch, NULL, "Keep the p-dot.", 0, 0},
        {"nodmsearch", CLI_FLAG, &o->run.nodmsearch, NULL, "Keep the DM.", 0, 0},
        {"searchpdd", CLI_FLAG, &o->run.searchpdd, NULL,
         "Search p-dot-dots too, as many as p-dots: takes that many times longer.", 0, 0},
        {"searchfdd", CLI_FLAG, &o->searchfdd, NULL, "The same.", 0, 0},
        {"pstep", CLI_INT, &o->run.pstep, "N",
         "Step of periods: bins by which it delays the end (default 2).", 1, 10},
        {"pdstep", CLI_INT, &o->run.pdstep, "N", "Step of p-dots, likewise (default 4).", 1, 20},
        {"dmstep", CLI_INT, &o->run.dmstep, "N",
         "Step of DMs: bins by which it delays the lowest frequency (default 2).", 1, 10},
        {"npfact", CLI_INT, &o->run.npfact, "N",
         "Search 2 N n + 1 periods and p-dots for n bins (default 2).", 1, 10},
        {"ndmfact", CLI_INT, &o->run.ndmfact, "N", "Search 2 N n + 1 DMs (default 3).", 1, 1000},
        {"refine", CLI_FLAG, &o->run.refine, NULL,
         "Then find period, p-dot and DM between the trials, where the power of the pulse's "
         "harmonics is largest: the DM even with -nodmsearch; p-dot only if it is significant.",
         0, 0},
        {"dmrange", CLI_TEXT, &o->dmrange, "LO,HI",
         "-refine keeps the DM inside, as a search's range (always inside the trials of -ndmfact).",
         0, 0},
        {"harmonics", CLI_FLAG, &o->harmonics, NULL,
         "Then try 1/3, 1/2, 2 and 3 times the best period, in another pass over the input: -json "
         "gives the shortest whose turns differ by less than 3 sigma.",
         0, 0},
        {"fine", CLI_FLAG, &o->fine, NULL,
         "The finest steps, for candidates known well: -npfact 1 -pstep 1 -pdstep 2 -ndmfact 1 "
         "-dmstep 1.",
         0, 0},
        {"coarse", CLI_FLAG, &o->coarse, NULL,
         "A wide search, for candidates known badly: -npfact 4 -pstep 3 -pdstep 6.", 0, 0},
        {"slow", CLI_FLAG, &o->slow, NULL,
         "For slow pulsars: -fine, and -n 100 if -n is not given.", 0, 0},
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"compat", CLI_TEXT, &o->compat, "NAME",
         "presto: fold as prepfold does, also towards RA 0, Dec 0 where the header has no "
         "position; the default where gpufold is called by the name prepfold.",
         0, 0},
        {"device", CLI_TEXT, &o->run.device, "NAME",
         "Devices that fold and search: auto (a GPU if there is one, and enough to do), cpu, cuda, "
         "or the numbers of GPUs that share the candidates: 0,1,2,3 or all; the same results.",
         0, 0},
        {"json", CLI_FLAG, &o->json, NULL,
         "Print a line of JSON for each candidate on standard output.", 0, 0},
        {"resume", CLI_FLAG, &o->resume, NULL,
         "Skip candidates that an identical earlier run completed.", 0, 0},
        {"noplot", CLI_FLAG, &o->noplot, NULL, "Do not draw pictures.", 0, 0},
        {"noxwin", CLI_FLAG, &o->noxwin, NULL, "Ignored: there is no window.", 0, 0},
    };
    CLI_ADD(list, options);
}

void gpufold_fill_table(struct cli_table *table, struct gpufold_options *o)
{
    add_input(table, o);
    add_candidate(table, o);
    add_fold(table, o);
    add_search(table, o);
    cli_add_limits(table, &o->run.nthread, &o->run.mem_bytes);
    cli_add_verbosity(table, &o->quiet, &o->verbose);
}
