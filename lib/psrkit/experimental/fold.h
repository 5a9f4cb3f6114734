/* fold.h: folds many pulsar candidates in one pass over the spectra, and the files that hold folds.
 *
 * A fold is a cube of profiles, [npart][nsub][nbin]: parts of the observation, sub-bands from the
 * lowest frequency up, and bins of pulse phase.  PRESTO's prepfold writes it as ROOT_NAME.pfd, and
 * the best profile as ROOT_NAME.pfd.bestprof; this module writes both and
 * reads the first.
 *
 * psr_fold deals samples to profiles by prepfold's rule:
 *
 * - Spectra are taken in blocks (prepfold: 2400 of a filterbank file, a row of PSRFITS, 1024 of a
 *   series); a part is a whole number of blocks.  A block of spectra is folded once the ahead next
 *   ones have arrived, so that the last ones are not: prepfold needs one more for the delays.
 * - Channel c of sub-band s is advanced by the delay of c minus that of the highest channel of s at
 *   the candidate's DM, rounded to samples (halves up); frequencies are those at the barycentre,
 *   f (1 + voverc).  The advanced channels of a sub-band are added, from the lowest up.  Sub-bands
 *   are not shifted against each other.
 * - Sample t of a sub-band lasts from t to t + 1 sampling times.  Phase at time T is phase + f T' +
 *   fd T'^2 / 2 + fdd T'^3 / 6 where T' = T - delay(T), in extended precision where the machine has
 *   it.  The sample is spread over the bins from its first to its last phase, each bin receiving
 *   the fraction that lies in it.
 * - What is spread collects in a buffer, which is added to the profile of the current part and
 *   emptied when it holds a full turn: so a profile consists of whole turns, from the phase of the
 *   first sample on.  A turn that ends in the next part belongs to that, and one that the end of
 *   the input cuts is lost. */
#ifndef PSRKIT_FOLD_H
#define PSRKIT_FOLD_H

#include <psrkit/ephemeris.h>
#include <psrkit/experimental/candlist.h>
#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>
#include <time.h>

PSR_API_BEGIN

/* --- .pfd files ------------------------------------------------------------------------------- */

enum { PSR_PFD_POSITION = 16, PSR_PFD_TEXT_MAX = 4096, PSR_PFD_NPART_MAX = 65535 };

/* Statistics of one profile, or of several summed: counts and sums add up, data_avg and data_var
 * are means over the profiles. */
struct psr_fold_stats {
    double numdata;            /* samples folded */
    double data_avg, data_var; /* of these samples */
    double numprof;            /* bins of the profile */
    double prof_avg, prof_var; /* expected mean and variance of a bin without a pulsar */
    double redchi;             /* chi^2 of the profile / (bins - 1); 0 without variance, where
                                  prepfold writes NaN */
};

/* A frequency and its derivatives. */
struct psr_fold_spin {
    float flag;        /* 1 if the data were barycentred */
    double f, fd, fdd; /* Hz, Hz/s, Hz/s^2 */
};

/* A period and its derivatives. */
struct psr_fold_period {
    float flag;        /* 0 */
    double p, pd, pdd; /* s, s/s, s/s^2 */
};

/* Numbers that prepfold does not know are 0. */
struct psr_pfd {
    int32_t ndm, nperiod, npdot;                    /* trials of the search; ndm is 0 for series */
    int32_t nsub, npart, nbin;                      /* shape of the cube */
    int32_t nchan;                                  /* of the data */
    int32_t pstep, pdstep, dmstep, ndmfact, npfact; /* options of the search */
    char *input, *candidate, *telescope;            /* owned; NULL is written as "" */
    char *plot_device;                              /* PGPLOT's, e.g. "x.pfd.ps/CPS"; owned */
    char ra[PSR_PFD_POSITION], dec[PSR_PFD_POSITION]; /* J2000, or "Unknown" */
    double tsamp_s;
    double start, end;             /* fractions of the observation that are folded */
    double tepoch_mjd, bepoch_mjd; /* of the start at the telescope, and at the barycentre and
                                      infinite frequency; 0: none */
    double voverc;                 /* mean velocity of the telescope away from the source, over c */
    double lofreq_mhz, width_mhz;  /* centre of the lowest channel; channel spacing */
    double dm;                     /* best DM, pc cm^-3 */
    struct psr_fold_period topo, bary; /* best period at the telescope, and at the barycentre */
    struct psr_fold_spin fold;         /* frequency that the data were folded at */
    struct psr_fold_orbit orbit;       /* period_s 0: none */
    uint64_t
        digest; /* of the input and all settings, in bytes that prepfold leaves undefined; 0: none */
    double *trial_dm;             /* [ndm] owned, as are the next four */
    double *trial_period_s;       /* [nperiod] */
    double *trial_pdot;           /* [npdot] */
    double *profile;              /* [npart][nsub][nbin] */
    struct psr_fold_stats *stats; /* [npart][nsub] */
    double *
        sub_mhz; /* [nsub] highest centre of a channel in each sub-band, where channels are not evenly spaced; owned;
                        NULL: as lofreq_mhz and width_mhz say.  The format has no place for it. */

    double ntrial; /* independent trials of the search that found the best values; 0: not known */
};

/* Reads a .pfd file.
 * Given:  mem_bytes   memory limit; 0: a quarter of the machine's
 * Status: PSR_EIO and those of psr_pfd_parse; PSR_EFORMAT also for a file beyond the limit */
PSR_MUST_CHECK psr_status psr_pfd_read(struct psr_pfd *pfd, const char *path, int64_t mem_bytes,
                                       psr_err *err);

/* Writes a little-endian .pfd file.
 * Notes:  prepfold leaves four bytes after each of the three flags undefined; here the first two
 *         hold the digest, the third 256 log2(ntrial) and a check of both, or 0
 * Status: PSR_EINVAL (a text that is too long), those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_pfd_write(psr_outfile *f, const struct psr_pfd *pfd, psr_err *err);

/* Frees the memory owned by pfd; may be called again. */
void psr_pfd_clear(struct psr_pfd *pfd);

/* --- .bestprof files -------------------------------------------------------------------------- */

struct psr_bestprof_value {
    double value, error;
};

/* What does not apply ("N/A") is not a number. */
struct psr_bestprof {
    char input[PSR_TEXT_MAX], candidate[PSR_TEXT_MAX], telescope[PSR_TEXT_MAX];
    double tepoch_mjd, bepoch_mjd;
    double tsamp_s, ndata;
    double data_avg, data_std, prof_avg, prof_std;
    double redchi;
    double prob, sigma; /* probability that noise gives this chi^2, and as Gaussian sigma */
    double dm;          /* not a number: the file has no such line */
    struct psr_bestprof_value topo[3], bary[3]; /* period in ms, its derivatives in s/s, s/s^2 */
    double orb_period_s, asini_s, ecc, omega_deg, t0_mjd;
    size_t nbin;
    double *profile; /* [nbin] owned */

    /* Not in the file: independent trials of the search, and sigma with these; not a number: not known. */
    double ntrial, sigma_trials;
};

/* Writes a .bestprof file with the bytes of prepfold's.
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_bestprof_write(psr_outfile *f, const struct psr_bestprof *best,
                                             psr_err *err);

/* Frees the profile; may be called again. */
void psr_bestprof_clear(struct psr_bestprof *best);

/* --- folding ---------------------------------------------------------------------------------- */

typedef struct psr_fold psr_fold;

struct psr_fold_candidate {
    double f, fd, fdd; /* Hz, Hz/s, Hz/s^2 at the first sample, on the clock of the samples */
    double phase;      /* of the first sample, turns */
    double dm;         /* pc cm^-3 */
    size_t nbin;       /* of a profile */

    /* Delay of the signal as a function of time, interpolated linearly, and beyond its ends
     * extrapolated: [ndelay], time_s ascending.  ndelay 0: none. */
    const double *time_s, *delay_s;
    size_t ndelay;
};

/* Pointers are borrowed during create, cand[].time_s and delay_s as long as the fold. */
struct psr_fold_desc {
    size_t size; /* sizeof the struct */
    size_t nchan;
    int nbit; /* of the spectra, like kind */
    enum psr_kind kind;
    bool ascending;               /* the first channel is the lowest in frequency */
    double lofreq_mhz, width_mhz; /* centre of the lowest channel; channel spacing, > 0 */
    double voverc;                /* mean velocity of the telescope away from the source, over c */
    double tsamp_s;
    const unsigned char *keep; /* [nchan] in the order of the spectra; 0: channel counts as 0; NULL
                                  keeps all */
    size_t nsub;               /* must divide nchan */
    size_t block;              /* spectra */
    size_t ahead;              /* blocks that must have followed a block before it is folded */
    size_t npart, part_blocks; /* parts, and blocks of each; further spectra are ignored */
    const struct psr_fold_candidate *cand; /* [ncand] */
    size_t ncand;
    int nthread;       /* 0: all cores */
    int64_t mem_bytes; /* memory limit; 0: a quarter of the machine's */

    /* What folds, with the bits of the CPU: "cpu", "cuda", "auto" (a device if there is one); NULL: "cpu". */
    const char *backend;
    int device; /* its number */

    const double *
        freq_mhz; /* [nchan] centres in the order of the spectra, where they are not lofreq_mhz and multiples
                               of width_mhz; NULL: they are */

    size_t nblock; /* blocks to fold: the last part may have fewer; 0: npart * part_blocks */

    /* The turn that the end of the input cuts is added to the last part; bins that it does not reach get the mean of
     * the part's samples.  By default it is lost. */
    bool last_turn;

    /* Channels are delayed towards the highest of the band, not that of their sub-band, so that profiles of sub-bands
     * are in phase at the candidate's DM. */
    bool in_phase;
};

/* Status: PSR_EINVAL naming field, value and limit (also for a candidate, by its number from 1, with
 *         fewer than 2 samples per turn); PSR_ENOMEM, also beyond mem_bytes.  *out is NULL on error.
 */
PSR_MUST_CHECK psr_status psr_fold_create(psr_fold **out, const struct psr_fold_desc *desc,
                                          psr_err *err);

/* Folds the next spectra, any number.
 * Given:  spectra   [nsamp][nchan] packed, each spectrum starting on a byte boundary
 *         step [nstep]   what samples of 0 stand for, of spectra counted from the first one pushed,
 *                        in time order within a channel and none before earlier calls' (psr_clean);
 *                        for up to 8 bits
 * Notes:  the profiles do not depend on the lengths of calls, the threads, or the other candidates.
 *         Sums over channels are in single precision (exact for integers below 2^24), sums over
 *         samples in double precision
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_execute(psr_fold *f, const void *spectra, size_t nsamp,
                                           const struct psr_step *step, size_t nstep, psr_err *err);

/* Ends the input and completes the statistics; call once, before the results are read.
 * Status: PSR_EDEVICE, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_finish(psr_fold *f, psr_err *err);

/* Results of candidate i, valid as long as the fold: [npart][nsub][nbin], and [npart][nsub]. */
double *psr_fold_profile(const psr_fold *f, size_t i);
struct psr_fold_stats *psr_fold_statistics(const psr_fold *f, size_t i);

/* Frees the fold; NULL is allowed. */
void psr_fold_destroy(psr_fold *f);

/* --- searching -------------------------------------------------------------------------------- */

/* Searches around a fold as prepfold does, over the lists of trials of its .pfd: each DM rotates the
 * profiles of sub-bands, each period and derivative those of parts, by whole bins; of the sum
 *
 *     chi^2 / (nbin - 1) = sum over bins of (bin - prof_avg)^2 / prof_var / (nbin - 1)
 *
 * is maximised, prof_avg and prof_var being the sums over all parts and sub-bands; of one bin it is 0.
 * Of equal trials the first is taken, DMs outermost, then p-dot-dots, p-dots, periods. */
typedef struct psr_fold_search psr_fold_search;

/* Pointers are borrowed during create. */
struct psr_fold_search_desc {
    size_t size;                   /* sizeof the struct */
    bool keep_p, keep_pd, keep_dm; /* these stay those of the fold: the middle of the list, the DM
                                      of the .pfd */
    bool pddot;  /* over p-dot-dots too, as many as p-dots, that delay the end by as many bins */
    int nthread; /* 0: all cores */
    int64_t mem_bytes; /* memory limit; 0: a quarter of the machine's */

    /* What searches folds of up to 64 parts and 128 bins that fit the limit, with the bits of the CPU,
     * which searches others: "cpu", "cuda", "auto" (a device if there is one); NULL: "cpu". */
    const char *backend;
    int device; /* its number */

    bool (*should_stop)(void *ctx); /* polled by any thread, and within 0.1 s; NULL: never */
    void *ctx;
};

/* When a fold's parts begin. */
struct psr_fold_times {
    double block_s;
    size_t part_blocks;
    double length_s; /* of what was folded */
};

/* The best trial: places in the lists of the .pfd. */
struct psr_fold_best {
    size_t dm, period, pdot, pddot; /* pddot as pdot; the middle one if none are searched */
    double fdot, fdotdot;           /* differences from the frequency's derivatives, Hz/s, Hz/s^2 */
    struct psr_fold_stats stats;    /* of the summed profile */
    int64_t ntrial, nsummed;        /* trials, and those that were not excluded by a bound */
};

/* What a picture of a fold shows.  Reduced chi^2 are corrected for the correlation of bins, as in the
 * .bestprof. */
struct psr_fold_view {
    size_t npart, nsub, nbin, ndm, nperiod, npdot;
    double *part;    /* [npart][nbin] profiles at the best values; owned, as are the next five */
    double *band;    /* [nsub][nbin] likewise */
    double *profile; /* [nbin] the sum of both */
    double *part_redchi; /* [npart] of the sum up to each part */
    double *dm_redchi;   /* [ndm] of each DM, at the best period and p-dot */
    float *plane;        /* [npdot][nperiod] at the best DM, within 1 % and 1e-6 of the largest */
    double prof_avg, prof_var; /* of the profile without a pulsar */
    double correction;         /* by which reduced chi^2 was multiplied */
};

/* Frequency and derivatives (at the start of the fold, Hz, Hz/s, Hz/s^2) and DM of a pulse. */
struct psr_fold_refined {
    double f, fd, fdd, dm;
    double dm_lo, dm_hi; /* limits of the DM, pc cm^-3; dm_hi 0: none but 0 */
};

/* A period over that of a candidate: 1/3, 1/2, 1, 2 or 3. */
struct psr_fold_ratio {
    int over, under;
};

/* Finds the shortest of these periods whose turns differ by less than 3 sigma, in chi^2 of harmonics: odd and even ones
 * of a fold are the difference and the sum of its halves.  A shorter period must have at least the sigma of the
 * candidate's.  2 and 3 periods need 18 and 12 turns, and these must differ in the order of 2 or 3 more than in 739 of
 * 740 random orders within each part: so red noise, gaps and uneven pulses make no period longer.
 * Given:  fold   of PSR_FOLD_RATIO_TURNS times the candidate's period, whole turns of it, in about PSR_FOLD_RATIO_PARTS
 *                parts (some may be empty); its sub-bands are added up as they are (in_phase)
 * Status: PSR_EINVAL for another fold, PSR_ENOMEM */
enum { PSR_FOLD_RATIO_TURNS = 6, PSR_FOLD_RATIO_PARTS = 8 };
PSR_MUST_CHECK psr_status psr_fold_find_ratio(struct psr_fold_ratio *best,
                                              const struct psr_pfd *fold, psr_err *err);

/* Whether a fold, at the best values that the .pfd states, has its pulse in an eighth of the band: this is
 * significant, and more so than the whole band; without it less than half the S/N is left that the rest has of a pulse
 * of the whole band; and its profile is not in the rest at 4 standard deviations, as that of a scintillating
 * pulsar is.  Never with fewer than 8 sub-bands.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_is_narrow(bool *narrow, const struct psr_pfd *fold,
                                             psr_err *err);

/* The best profile of a fold, and its numbers, as prepfold writes them to the .bestprof: of the
 * best DM, period and derivatives that the .pfd states.  Bins are correlated by the spreading of
 * samples; reduced chi^2 and its significance are corrected for that.  The caller clears *best, also
 * after an error.
 * Status: PSR_EINVAL without a period, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_bestprof(struct psr_bestprof *best, const struct psr_pfd *pfd,
                                            psr_err *err);

/* --- from files to .pfd ----------------------------------------------------------------------- */

/* A folder reads an observation, cleans it as a pipeline does, folds all candidates, searches around
 * each, and passes it to the caller.  If their cubes exceed the memory limit, it reads the input again for further
 * candidates. */
typedef struct psr_folder psr_folder;

/* A candidate's results. */
struct psr_folder_fold {
    const struct psr_pfd *pfd;
    const struct psr_bestprof *best;
    const struct psr_fold_best *found;
    const struct psr_fold_view *view; /* NULL unless it was asked for */
    const struct psr_obs *obs;        /* of the input */
    int64_t nsamp;                    /* samples that were to be folded */
    /* With stay_bins, how far the best trial was where the fold stayed; else not a number. */
    double moved_bins;
};

/* Call psr_folder_defaults first, then set fields.  Pointers are borrowed and must stay valid as long
 * as the folder. */
struct psr_folder_desc {
    size_t size; /* sizeof of this struct in the caller */
    const char *const
        *path; /* [npath] as in psr_source_desc, or one .dat with its .inf beside it */
    size_t npath;
    enum psr_input input;
    int64_t if_choice; /* as in psr_source_desc, as are the next four; default -1 */
    bool no_weights, no_scales, no_offsets, invert;
    double start, end; /* fractions of the input to fold; defaults 0, 1 */

    const char *mask, *ignorechan; /* as in psr_pipeline_desc, as are the next three */
    double clip_sigma;
    bool noclip, zerodm;

    bool topo;                   /* do not barycentre; series never are, but for an ephemeris */
    const char *position, *site; /* as in psr_pipeline_desc */

    int64_t nsub;  /* sub-bands; 0: prepfold's choice */
    int64_t npart; /* default 64; fewer if the input has fewer blocks */

    /* Trials around a candidate, as prepfold lists them in a .pfd. */
    int64_t pstep, pdstep, dmstep, npfact, ndmfact; /* defaults 2, 4, 2, 2, 3 */

    /* What is not searched, and whether p-dot-dots are. */
    bool nosearch, nopsearch, nopdsearch, nodmsearch, searchpdd;
    bool view; /* pass on what a picture shows */

    const struct psr_folder_candidate *cand; /* [ncand] */
    size_t ncand;
    int64_t nthread;   /* threads; 0: all cores */
    int64_t mem_bytes; /* memory limit; 0: a quarter of the machine's */
    struct psr_notes notes;

    /* Takes the fold of candidate i, valid during the call; is called by several threads at a time, for
     * different candidates in any order.  A status other than PSR_OK ends the run. */
    psr_status (*take)(void *ctx, size_t i, const struct psr_folder_fold *fold, psr_err *err);
    /* Is told of a candidate that cannot be folded (a period below 2 samples, an orbit that is
     * none), and the others are; NULL: none are. */
    void (*refuse)(void *ctx, size_t i, const psr_err *why);
    bool (*should_stop)(
        void *ctx); /* polled by any thread, between blocks and within a search; NULL:
                                       never */
    void (*progress)(void *ctx, int64_t nread); /* called after every block; may be NULL */
    void *ctx;                                  /* passed to all four */

    /* Spin, orbit and position of all candidates, instead of theirs; series are barycentred too.
     * A DM below 0 is its DM.  Beyond its start or finish it is extrapolated, with a note.  NULL: none. */
    const struct psr_ephemeris *ephemeris;

    double length_s; /* fold this much of the input, s; 0: all, of which the length must be known */

    /* Is asked, before the input is read, whether candidate i is left out, since a fold with this
     * digest exists that was made after changed, when the input was; NULL: none is. */
    bool (*skip)(void *ctx, size_t i, uint64_t digest, struct timespec changed);

    const char *device; /* that folds and searches: as for psr_device_choose, or several, "0,1" or
                           "all", which share the candidates; default "auto" */

    bool clean_auto; /* as psr_clean_auto, with clip_sigma, noclip and zerodm; excludes mask; of
                               spectra with channels only */
    const char *clean_root; /* with clean_auto: what was removed is written to ROOT.clean.json,
                               .clean.mask and .clean.stats; NULL: to no file */

    /* Is called after take for each candidate in their order, by one thread at a time; NULL: it is not. */
    void (*then)(void *ctx, size_t i);

    bool refine;        /* psr_fold_refine, around the best trial */
    enum psr_pols pols; /* as in psr_source_desc */

    /* As prepfold: blocks and parts, of which the end is left out; a header without a position is barycentred
     * towards 0, 0.  By default all is folded, and on the telescope's clock, with a note. */
    bool presto;

    double dm_lo, dm_hi; /* limits of the DM with refine, beside the trials'; dm_hi 0: none */
    double
        stay_bins; /* with refine, which then begins at the candidate's own values where the best trial is
                            more than so many 1 / T off its frequency: another signal; 0: anywhere */
    bool whole_turns; /* a turn that the end cuts is not folded, and sub-bands are in phase:
                            for psr_fold_find_ratio */

    /* Cleaned spectra are kept in memory where all of them fit into mem_bytes beside the folds; a folder of the same
     * input, range and cleaning that is given as "after" once it has run, and lives as long, spares this one to read
     * and clean what it kept.  NULL: none. */
    bool keep_spectra;
    const psr_folder *after;

    /* Called by any thread, one at a time, as folds of a pass are taken; NULL: not. */
    void (*searched)(void *ctx, int64_t done, int64_t total);
};

/* Sets size and all fields to their defaults, those that a description of "size" bytes has. */
void psr_folder_set_defaults(struct psr_folder_desc *desc, size_t size);
#define psr_folder_defaults(desc) psr_folder_set_defaults((desc), sizeof *(desc))

/* Calls check for the names of the files of clean_root.  Status: that of check */
PSR_MUST_CHECK psr_status psr_folder_clean_names(const char *clean_root,
                                                 psr_status (*check)(void *ctx, const char *name,
                                                                     psr_err *err),
                                                 void *ctx, psr_err *err);

/* Opens the input and checks every candidate.
 * Status: PSR_EINVAL naming field, value and limit; PSR_EUNSUPPORTED (a length that is not known);
 *         those of psr_source_open, psr_inf_read, psr_mask_read.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_folder_create(psr_folder **out, const struct psr_folder_desc *desc,
                                            psr_err *err);

/* Folds all candidates.
 * Status: PSR_ESTOPPED if should_stop returned true; that of take; those of psr_source_read and
 *         psr_fold_create */
PSR_MUST_CHECK psr_status psr_folder_run(psr_folder *f, psr_err *err);

struct psr_folder_report {
    size_t size;               /* sizeof the struct */
    const struct psr_obs *obs; /* of the input */
    size_t nsub, npart, part_blocks, block;
    int64_t nsamp;   /* spectra or samples to read in a pass */
    size_t npass;    /* passes over the input so far */
    size_t nskipped; /* candidates left out by skip */
    bool barycentred;
    double voverc;
    int64_t clipped;       /* spectra; with clean_auto, masked as sparks */
    double read_s, fold_s; /* seconds so far: waiting for cleaned spectra, folding them */
    double result_s;       /* searching, and the caller's take() and then() */
};

void psr_folder_describe_sized(const psr_folder *f, struct psr_folder_report *report, size_t size);
#define psr_folder_describe(f, report) psr_folder_describe_sized((f), (report), sizeof *(report))

/* Frees the folder; NULL is allowed. */
void psr_folder_destroy(psr_folder *f);

PSR_API_END
#endif
