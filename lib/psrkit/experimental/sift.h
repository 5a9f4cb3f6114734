/* sift.h: candidates of acceleration searches at many DMs, sifted as PRESTO's sifting.py does.
 *
 * Candidates of all trials are compared: those that cannot be a pulsar are rejected, detections of
 * one frequency at several DMs become hits of the best one, and harmonics of better candidates are
 * removed.
 *
 *   power      sum of the powers P_h of a candidate's harmonics, each relative to the noise
 *   sigma      Gaussian significance of chi^2 = 2 power with 2 H degrees of freedom, for one trial
 *   snr        sum_h sqrt(max(0, P_h - 1))
 *
 * Lists are read with harmonics, so that power and sigma are those of the refined candidates. */
#ifndef PSRKIT_SIFT_H
#define PSRKIT_SIFT_H

#include <psrkit/experimental/fold.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/series.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* --- lists of accelsearch --------------------------------------------------------------------- */

/* A candidate of a ROOT_ACCEL_ZMAX file, as its text says. */
struct psr_accel_row {
    int64_t number;
    double sigma, power, coherent; /* NaN where the text says so */
    int nharm;
    double r, z, w;           /* bins; w 0 if the list has no jerks */
    const double *harm_power; /* [nharm] relative to the local mean power */

    /* Of a fast folding search: S/N of its boxcar, whose share of the period is fold_duty.  psr_sift takes the S/N as
     * sigma then, and makes power and harmonics of both.  0: of a Fourier search. */
    double fold_snr, fold_duty;
};

enum { PSR_ACCEL_LIST_MAX_BYTES = 1 << 28, PSR_ACCEL_LIST_MAX_HARM = 32 };

struct psr_accel_rows {
    struct psr_accel_row *row; /* [n], in the order of the file; owned */
    size_t n;
    bool jerk;
    double tobs_s;
    struct psr_inf inf; /* the description at the end of the file */
    double *power;      /* storage that row points to; owned */
};

/* Reads a list with the powers of its harmonics; the caller clears *rows, also after an error.
 * Given:  presto   take numbers that are cut at the width of their column, and powers of ten of r
 *                  and z, as sifting.py does: a power that lost its exponent counts as 10^5.
 *                  Otherwise the exponent follows from the error, which is sqrt(2 P)
 * Notes:  candidates from 10000 on, whose numbers accelsearch cuts to four digits, are counted on
 * Status: PSR_EIO; PSR_EFORMAT naming file, line and value: a number that is none, a candidate
 *         without all its harmonics, a list without the .inf at its end; PSR_EUNSUPPORTED (not
 *         radio data); PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_read(struct psr_accel_rows *rows, const char *path, bool presto,
                                         psr_err *err);

/* Frees the list; may be called again. */
void psr_accel_rows_clear(struct psr_accel_rows *rows);

/* --- known pulsars ---------------------------------------------------------------------------- */

enum { PSR_PULSAR_NAME_MAX = 32, PSR_CATALOGUE_MAX_BYTES = 1 << 28 };

struct psr_pulsar {
    char name[PSR_PULSAR_NAME_MAX];
    double f0_hz, f1; /* barycentric, at pepoch_mjd; f1 in Hz/s, 0 if unknown */
    double pepoch_mjd;
    double dm;              /* NaN if unknown */
    double ra_deg, dec_deg; /* J2000; NaN if unknown */
    double pb_d, a1_s, ecc; /* orbit: period in days, projected axis in light-seconds; 0: none */
};

struct psr_catalogue {
    struct psr_pulsar *pulsar; /* [n], in the order of the file; owned */
    size_t n;
};

/* Reads a catalogue of pulsars: psrcat's database (psrcat.db), or comma- or semicolon-separated
 * values with a header that names the columns.
 *
 * Columns are those of psrcat's parameters, in any order and case: PSRJ (or JNAME), else NAME, else
 * PSRB; F0 or P0, else pulsars are skipped; F1 or P1, PEPOCH, DM, RAJ and DECJ (hh:mm:ss, dd:mm:ss)
 * or RAJD and DECJD (degrees), PB, A1, ECC.  Others are ignored.  Empty values and "*" are unknown;
 * so is a position in ecliptic coordinates only.  psrcat's database ends each pulsar with a line
 * that begins with "@", and its lines that begin with "#" are comments.
 * The caller clears *catalogue, also after an error.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line, field and value; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_catalogue_read(struct psr_catalogue *catalogue, const char *path,
                                             psr_err *err);

/* Frees the list; may be called again. */
void psr_catalogue_clear(struct psr_catalogue *catalogue);

/* --- sifting ---------------------------------------------------------------------------------- */

/* Why a candidate was rejected. */
enum psr_sift_reason {
    PSR_SIFT_GOOD,
    PSR_SIFT_LONG_PERIOD,
    PSR_SIFT_SHORT_PERIOD,
    PSR_SIFT_KNOWN_BIRD,
    PSR_SIFT_THRESHOLD,  /* sigma, and the coherent power if there is one harmonic only */
    PSR_SIFT_HARM_POWER, /* no harmonic has the power harm_pow_cutoff */
    PSR_SIFT_ROGUE_HARM, /* one high harmonic has most of the power */
    PSR_SIFT_DUPLICATE,  /* a hit of a better candidate */
    PSR_SIFT_FEW_DMS,    /* fewer hits than min_num_dms */
    PSR_SIFT_LOW_DM,     /* best hit at low_dm_cutoff or below */
    PSR_SIFT_DM_GAPS,    /* no two hits at successive trials */
    PSR_SIFT_HARMONIC,   /* of a better candidate */
    PSR_SIFT_NREASON,
};

/* Reasons to take a candidate that is left for interference, and what its DM says of neither. */
enum psr_sift_mark {
    PSR_SIFT_LINE =
        1, /* its fundamental or its strongest harmonic is at one of the lines, and no stronger; or it is a fold of hum, which folds
              at the lowest DM show */
    PSR_SIFT_DM0 = 2,        /* DM 0 fits its hits, and no dispersed signal does */
    PSR_SIFT_DM_UNKNOWN = 4, /* DM 0 fits its hits, and so does its DM: counts nowhere as a mark */
    PSR_SIFT_NARROW = 8, /* of a fold: its pulse is in an eighth of the band (psr_fold_is_narrow) */
    PSR_SIFT_FEW_TURNS = 16, /* fewer than 3 turns in the observation, which red noise has, too */
};

/* Searches that found a candidate: itself or one of its hits. */
enum psr_sift_search { PSR_SIFT_BY_FOURIER = 1, PSR_SIFT_BY_FFA = 2 };

/* The marks that tell against a candidate. */
#define PSR_SIFT_AGAINST (PSR_SIFT_LINE | PSR_SIFT_DM0 | PSR_SIFT_NARROW | PSR_SIFT_FEW_TURNS)

struct psr_sift_bird {
    double value, error; /* candidates nearer than error are rejected */
};

struct psr_sift_desc {
    size_t size; /* sizeof the struct */

    /* sifting.py's parameters; psr_sift_defaults sets ACCEL_sift.py's values. */
    double r_err; /* candidates nearer than this many bins are one */
    double short_period_s, long_period_s;
    double sigma_threshold, c_pow_threshold, harm_pow_cutoff;
    int64_t min_num_dms;
    double low_dm_cutoff;
    const struct psr_sift_bird *bird_p, *bird_f; /* periods in ms, frequencies in Hz; copied */
    size_t nbird_p, nbird_f;

    /* More known interference.  baryv is the mean velocity of the telescope towards the source over
     * c, which moves topocentric birds in barycentric lists and barycentric ones in topocentric
     * lists. */
    const struct psr_zaplist *birds; /* borrowed; NULL: none */
    double baryv;

    const struct psr_catalogue *catalogue; /* borrowed; NULL: none */
    double catalogue_deg;                  /* pulsars farther from the beam do not match */

    bool presto;       /* sifting.py's list, with its order and rules; see below */
    bool keep_rejects; /* results include them */
    int nthread;       /* 0: all cores */

    /* Called for lists that cannot be read, in their order; NULL: an error of psr_sift_read. */
    void (*refuse)(void *ctx, const char *path, const psr_err *why);
    void *ctx;

    /* Lines at DM 0, as gpurfifind finds them, to mark candidates with; they are moved by baryv or, where
     * that is 0, by the velocity that position, epoch and telescope of a barycentric list give.  Not
     * with presto.  Borrowed; NULL: none. */
    const struct psr_zaplist *lines;

    /* Told how many lists are read, by one thread at a time; NULL: not. */
    void (*progress)(void *ctx, int64_t done, int64_t total);
};

/* Above this known_chance, chance explains a pulsar. */
#define PSR_SIFT_MOST_CHANCE 0.05

/* One detection of a candidate. */
struct psr_sift_hit {
    double dm, snr, sigma;
};

struct psr_cand_score;

struct psr_sift_cand {
    const char *path, *file; /* of the list; file is path without its folder */
    int64_t number;          /* in the list */
    double dm, snr, sigma, power, coherent;
    double r, z, freq_hz, period_s, tobs_s;
    int nharm;
    const struct psr_sift_hit *hit; /* [nhit] by DM, the candidate included; NULL for rejects */
    size_t nhit;

    enum psr_sift_reason reason;
    const char *of_file; /* the better candidate, for duplicates and harmonics; else NULL */
    int64_t of_number;
    int ratio[2]; /* harmonics: frequency over that of the better candidate; known pulsars: over
                     the pulsar's */

    const struct psr_pulsar *known; /* NULL: none */
    double known_chance; /* expected number of pulsars of the catalogue that agree as well or better
                            with a candidate of any other frequency */
    unsigned marks;      /* of enum psr_sift_mark; 0 for rejects, and with presto */
    size_t fundamental;  /* a result that it is a harmonic of, from 1; 0: none */
    struct psr_cand_score *score; /* of its fold (below), which a caller sets; else NULL */
    double dm0_chi2; /* chi-squared by which DM 0 fits worse than dm: twice the loss of power; 0
                            for rejects, and with presto */
    unsigned found;  /* by what, of enum psr_sift_search */
    int segment
        [2]; /* number, of how many: the part of the observation where it is best; 1, 1: the whole */
    double
        dm_share; /* of the DMs searched: those between hits that fit it as well as dm; 1 with presto */
    double chance; /* probability that noise has one as strong at any DM searched; 0: not known */
};

/* Owned by the psr_sift, and valid until the next call with it. */
struct psr_sift_result {
    const struct psr_sift_cand
        *cand; /* [ncand], best first; after these, best first, those with marks against
                  them that are no known pulsar; not with presto: fundamentals before their
                  harmonics */
    size_t ncand;
    const struct psr_sift_cand *reject; /* [nreject], best first, if keep_rejects was set */
    size_t nreject;
    size_t nlist, nread;            /* lists, and their candidates */
    size_t count[PSR_SIFT_NREASON]; /* candidates by reason */
    int dm_decimals;                /* of the DMs in the lists' names, at least 2 */
};

typedef struct psr_sift psr_sift;

/* Sifting, in this order: the rejections above PSR_SIFT_DUPLICATE in the order of the enum,
 * duplicates, rejections by DM, harmonics.
 *
 * Two candidates i, j are near if |f_i - f_j| < r_err / min(T_i, T_j), f in Hz, T the length of
 * their series.  Duplicates: from the best candidate down, each that is left takes all that are
 * near as its hits.  Rejections by DM count different DMs; successive trials are neighbours in the
 * list of DMs.  Harmonics: from the best candidate down, each that is left removes those that are
 * near to p/q = n, 1/n (n 1 .. 16), 2/3 2/5 3/4 3/5 3/2 4/5 4/3 5/4 5/3 5/2 of its frequency, if
 * |p f_i - q f_j| < r_err / min(T_i, T_j) (sifting.py allows q times that, which takes slow pulsars for
 * fractions of others); then those that consist of its lines.  "Best" is of highest sigma; equals are
 * ordered by frequency, DM, file name, number and path, so that the order of lists does not matter.
 * Time grows with n log n.
 *
 * Lists of ROOT_DM12.50_segKofN are of parts of the observation: hits are of one of them.  What another one holds of a
 * better candidate, at n or 1/n (1 .. 16) of the frequency to which this has drifted, is its duplicate or harmonic.
 *
 * A bright pulsar of frequency f also appears at p/q f, where harmonic q of a candidate is harmonic p
 * of the pulsar.  A candidate consists of the lines of a better one if, for p/q in lowest terms between
 * 1/16 and 16, |p f_i - q f_j| min(T_i, T_j) is below e, and if its harmonics that are not multiples of q have no more
 * power than noise has at 2 sigma, less than 5 % of all, or less than 25 % and 4 sigma.  e is 0.1 bins and 5 standard
 * deviations of p r_i - q r_j, those of r being 3 / (pi sqrt(6 sum h^2 P_h)), at most r_err.  The places of all p/q up to
 * this q take at most 5 % of all frequencies, which is the share of other candidates that would be taken if all had such
 * powers.  A pulsar with power in its fundamental is not taken.  Where 2 e / r is at most 1 %, times the share of the DMs
 * between its hits if the better one's DM is among them, candidates at up to 64 times the frequency are taken too, whatever
 * their powers; so is that share of all others.
 *
 * No candidate is removed at p/q if harmonics of it that are no multiples of q have 7 sigma together, nor one that DM 0 does
 * not fit, in any part of the band, by one that DM 0 fits and whose DM it does not share.
 *
 * A fast folding search finds hum, and pulsars faster than its shortest period, at q / p of their periods, p up to 16: what
 * it found is taken there if either search found a stronger signal (also one rejected for its DM) at a DM between its hits,
 * |p f - q f_fold| is below 0.6 (p / n + q / n_fold) / T, n their numbers of harmonics (1.1 / T at most), and its S/N is
 * below 1.5 sigma / sqrt(p q) + 3, without 1.5 where the signal was folded; not where such places, times p and the share of the DMs between its hits, take
 * above 5 % of all frequencies, nor if a Fourier search found it by harmonics that are no multiples of q.  A fold is near to
 * another candidate within 0.6 (1 / n + 1 / n_fold) / T.
 *
 * DMs.  The summed power of a candidate at some DM is the logarithm of the likelihood of that DM.  DM 0,
 * or the lowest DM that was searched, is rejected by a chi-squared, twice the difference of power, above
 * 16 + 0.04 power (noise levels differ by some per cent).  Powers of lists with other numbers of harmonics
 * are those of equal sigma; where a candidate is not in a list, the sigma of the faintest row of all lists
 * is taken.  A dispersed signal is rejected where hits above low_dm_cutoff are worse by that, or where DM 0
 * has more power, by 4 standard deviations, than a pulse of these harmonics in a quarter of the band would
 * have there, and as much as the best DM but for noise.  Its curve: harmonic h keeps the share
 * |mean of exp(2 pi i h f delay)|^2 over the band, which the .inf of the list gives.  Undispersed: DM 0 fits
 * and no dispersed signal does: PSR_SIFT_LOW_DM or PSR_SIFT_DM0; both fit: PSR_SIFT_DM_UNKNOWN.
 * What noise cannot explain, above 7 sigma, is rejected for few DMs or gaps only if its curve is expected
 * above the faintest row at the DMs that miss it, and for weak harmonics not at all; one high harmonic
 * dominates only where the others have a sigma below 5.
 *
 * What is undispersed explains no candidate as its harmonic that DM 0 does not fit, and lines mark none. A
 * fundamental that is not noise stands before its harmonics 2 to 64, which get its marks unless DM 0 does
 * not fit them.
 *
 * What is left is marked if it looks like interference.  The power of a line, where the list of lines
 * has it, is compared with that of the candidate's harmonic: dispersed pulses are stronger at their DM
 * than at 0, so that a bright pulsar whose lines are in the list is not marked; of what is not undispersed a line must be
 * stronger than the harmonic by 4 standard deviations.
 *
 * With presto, as sifting.py: there are no lines; duplicates are found from the lowest r up, in bins of
 * whatever length; hits count, not DMs; the tolerance of harmonics is q r_err over the best candidate's T;
 * equals keep the order of the lists; DMs have two decimals.  bird_p and bird_f are not used, since
 * sifting.py never uses its own. */
void psr_sift_set_defaults(struct psr_sift_desc *desc, size_t size);
#define psr_sift_defaults(desc) psr_sift_set_defaults((desc), sizeof *(desc))

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sift_create(psr_sift **out, const struct psr_sift_desc *desc,
                                          psr_err *err);

/* Adds candidates of files, and of all lists in a ROOT.lists.  A list's DM is the number after the last DM in its name
 * (ROOT_DM12.50_ACCEL_200), else that of its .inf text; with presto the first DM followed by a
 * number with two decimals in its path.  The list of DMs is that of ROOT_DM*.inf beside the lists,
 * and of the lists; with presto that of *DM*.inf, or that of the lists if there are none.
 * Notes:  files are read in parallel; those with errors add nothing
 * Status: PSR_ENOMEM; without desc->refuse that of the first list with an error */
PSR_MUST_CHECK psr_status psr_sift_read(psr_sift *s, const char *const *path, size_t n,
                                        psr_err *err);

/* Adds the candidates of one list in memory.
 * Given:  path   for results; copied
 * Status: PSR_EINVAL (dm not finite), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sift_add(psr_sift *s, const struct psr_accel_rows *rows,
                                       const char *path, double dm, psr_err *err);

/* Sifts all candidates added so far.
 * Status: PSR_ENOMEM; with presto PSR_EFORMAT if a list's DM is not in the list of DMs */
PSR_MUST_CHECK psr_status psr_sift_execute(psr_sift *s, struct psr_sift_result *result,
                                           psr_err *err);

/* Frees the object; NULL is allowed. */
void psr_sift_destroy(psr_sift *s);

/* --- files ------------------------------------------------------------------------------------ */

enum psr_sift_format {
    PSR_SIFT_TEXT,    /* sifting.py's layout: a row for each candidate, and one for each hit */
    PSR_SIFT_CSV,     /* a header and a row for each candidate */
    PSR_SIFT_JSON,    /* one object per candidate and line, with its hits */
    PSR_SIFT_REJECTS, /* the layout's rows, each followed by the reason */
};

enum { PSR_SIFT_MARKS = 32 };

/* Names of marks, with + between, which needs no quotes in a table of commas; "-" if there are none. */
const char *psr_sift_name_marks(char text[PSR_SIFT_MARKS], unsigned marks);

/* Whether a text of marks, of a candidate or a pulse, has one that tells against it: any but "dm?", "clip" and "-". */
bool psr_sift_marks_count(const char *marks);

/* Turns a name as rows of PSR_SIFT_TEXT have it, with \n, \r and \\ for line ends and backslashes, into
 * the name itself, in place. */
void psr_sift_unescape(char *name);

/* Writes the result; with PSR_SIFT_TEXT a candidate near a known pulsar ends with "= NAME" or "= p/q
 * NAME", and a question mark if known_chance is above 0.05; then, if it has marks, "! MARKS".
 * Given:  presto   an empty list has no header
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_sift_write(psr_outfile *f, const struct psr_sift_result *result,
                                         enum psr_sift_format format, bool presto, psr_err *err);

/* --- scores of folds -------------------------------------------------------------------------- */

/* Numbers of a folded candidate that a person can check, of the fold at its best period and DM, and the
 * probability that they give.  The coefficients of the logistic function are a table in
 * lib/candidate/score.c, which tests/science/fit_score.py fits on made skies. */

/* What is not known, as a DM of a series, is not a number. */
enum psr_cand_number {
    PSR_CAND_ALPHA,       /* S/N at DM 0 over S/N; 1 for a fold at DM 0 or below */
    PSR_CAND_BETA,        /* |DM of the fold - DM of the search| over that of the search, which the
                             candidate's name has: LIST_DM12.50_ACCEL_50_Cand_1 */
    PSR_CAND_GAMMA,       /* error of DM over DM */
    PSR_CAND_SHARE_BANDS, /* share of sub-bands that have the profile of the others above 1 sigma */
    PSR_CAND_SHARE_PARTS, /* share of parts, likewise */
    PSR_CAND_HALVES_BAND, /* correlation of the profiles of the lower and the upper half of the band */
    PSR_CAND_HALVES_TIME, /* of the first and the second half of the observation */
    PSR_CAND_ACCEL_OK, /* 1: acceleration below 1000 m/s^2, or less than 4 bins of drift; 0: neither */
    PSR_CAND_COVERED, /* share of sub-bands and parts with data, times the share of a turn that a
                             part covers */
    PSR_CAND_SNR, /* root of Z^2 - 2 n of the n harmonics of the profile, times what cells have in common of it */
    PSR_CAND_DM0_SIGMA,   /* root of the Z^2 that DM 0 has less, negative where it has more */
    PSR_CAND_BANDS_RATIO, /* share_bands over what a pulse of this S/N in all sub-bands has: Phi(S/N / sqrt(n) - 1), S/N being the root */
    PSR_CAND_PULSE_SHARE, /* S/N of the best boxcar in the profile over the root */
    PSR_CAND_NNUMBER,
};

/* Of folds of noise and interference one in a hundred has a probability above this. */
#define PSR_CAND_LINE 0.412

enum { PSR_CAND_REASONS = 256 };

struct psr_cand_score {
    double number[PSR_CAND_NNUMBER];
    double probability; /* that it is dispersed, periodic and of the whole band; not a number: not
                           folded */
    char reasons[PSR_CAND_REASONS]; /* for and against it, in words, with "; " between */
    double moved_bins; /* by how many 1 / T the fold moved the frequency; not a number: not known */
    bool ranked;       /* psr_cand_rank has put into the probability what the sift knows */
};

/* Name of a number in lists: alpha, beta, gamma, share_bands, .. */
const char *psr_cand_number_name(enum psr_cand_number k);

/* Measures a fold at the best values that the .pfd states, and scores it.
 * Status: PSR_EINVAL without a period, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_cand_measure(struct psr_cand_score *score, const struct psr_pfd *fold,
                                           psr_err *err);

/* Orders results of a sift by probability: those with marks against them last, folded ones before others,
 * which keep their order, fundamentals before their harmonics.  Where the DM of the search is open
 * (PSR_SIFT_DM_UNKNOWN), beta leaves the probability of the score; and where the fold does not reject DM 0 by 4 sigma either,
 * so do alpha and gamma, dm0_sigma counts from 0, and the odds are multiplied by dm_share: interference is at DM 0, a pulsar
 * at any DM.  Of candidates that noise explains, by chance, S/N is the smaller of that and the best boxcar's, in part from 5
 * sigma down.  A fold that moved the frequency by more than 0.3 bins is that of another signal, or of none: the odds are
 * multiplied by 0.03.  A score that is ranked already keeps its probability.
 * Given:  cand [n]   a copy of the result's
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_cand_rank(struct psr_sift_cand *cand, size_t n, psr_err *err);

PSR_API_END
#endif
