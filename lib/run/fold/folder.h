/* folder.h: the state of a folder (private). */
#ifndef PSR_RUN_FOLD_FOLDER_H
#define PSR_RUN_FOLD_FOLDER_H

#include "astro/barycentre.h"
#include "base/base.h"
#include "formats/series/series_internal.h"
#include "run/common/input.h"
#include "run/common/stage_clean.h"
#include <psrkit/ephemeris.h>
#include <psrkit/experimental/fold.h>
#include <psrkit/series.h>
#include <stdio.h>

/* Barycentric and orbital parameters as a fold needs them, on the telescope's clock. */

/* Initialise with zeros.  Times as prepfold tabulates them, one every 20 s. */
struct psr_fold_bary {
    bool on;
    size_t n;
    double *topo_s, *bary_s; /* [n] seconds since the first sample folded, on either clock */
    double epoch_mjd;        /* barycentric date of that sample */
    double voverc;
};

/* Given:  epoch_mjd, length_s   of what is folded
 * Status: those of psr_bary_time, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_bary_init(struct psr_fold_bary *b, const struct psr_bary *target,
                                             double epoch_mjd, double length_s, psr_err *err);

/* Spin (f, fd, fdd as p, pd, pdd) on the clock of "to" that gives the phases of spin on the clock of
 * "from" by least squares, times as above. */
struct psr_fold_spin psr_fold_convert(const double *from_s, const double *to_s, size_t n,
                                      struct psr_fold_spin spin);

/* Where the part that is folded lies in an input. */
struct psr_fold_extent {
    double epoch_mjd; /* of the first sample folded, on the candidate's clock */
    double skipped_s; /* from the first sample of the input to that */
    double length_s;  /* of the whole input */
};

/* The spin of a candidate, as f, fd and fdd, moved to the first sample folded; from the beginning of
 * the input as prepfold does, without the second derivative.
 * Status: PSR_EINVAL for a date outside the input, by more than clocks differ */
PSR_MUST_CHECK psr_status psr_fold_move_spin(struct psr_fold_spin *spin,
                                             const struct psr_folder_candidate *cand,
                                             const struct psr_fold_extent *extent, psr_err *err);

/* Delays by an orbit, for psr_fold_candidate. */
struct psr_fold_delays {
    double *time_s, *delay_s; /* [n] */
    size_t n;
};

/* Given:    bary   NULL or off: the orbit is tabulated on the clock of the samples
 *           epoch_mjd   date that orbit->t0_mjd is compared with
 *           length_s   of what is folded
 * Returned: orbit->t0_mjd, the last periastron before the start, as prepfold writes it
 * Status:   PSR_EINVAL for an orbit that is none, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_delays_init(struct psr_fold_delays *delays,
                                               struct psr_fold_orbit *orbit,
                                               const struct psr_fold_bary *bary, double epoch_mjd,
                                               double length_s, psr_err *err);

void psr_fold_delays_clear(struct psr_fold_delays *delays);
void psr_fold_bary_clear(struct psr_fold_bary *b);

/* Given:    bary   NULL or off: samples are barycentric
 *           epoch_mjd   barycentric date of the first sample folded, at infinite frequency
 *           length_s   of what is folded
 * Returned: *fold   spin on the clock of the samples, without the orbit, as prepfold states it
 *           *orbit   for the .pfd; t0_mjd is the last periastron before the start
 *           *delays   such that spin and delay together give the phase of the ephemeris at every
 *                     sample, up to a constant: the orbit, and what the spin leaves over
 * Status:   those of psr_ephemeris_at, PSR_EINVAL, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_model_init(struct psr_fold_delays *delays,
                                              struct psr_fold_spin *fold,
                                              struct psr_fold_orbit *orbit,
                                              const struct psr_ephemeris *ephemeris,
                                              const struct psr_fold_bary *bary, double epoch_mjd,
                                              double length_s, psr_err *err);

/* --- fills a .pfd header, its trials and its best values, as prepfold does -------------------- */

/* What all candidates of a run have in common. */
struct psr_fold_frame {
    const struct psr_folder_desc *desc;
    const struct psr_obs *obs;
    const struct psr_inf *inf;    /* of a series; NULL: spectra */
    size_t nchan;                 /* channels that the data were made from, as are the next two */
    double lowest_mhz, width_mhz; /* centre of the lowest; mean spacing */
    double *
        sub_mhz; /* [nsub] highest centre in each sub-band if channels are not evenly spaced, else NULL; owned */
    const struct psr_fold_bary *bary;
    size_t nsub, npart;
    double epoch_mjd; /* at the telescope, of the first sample folded */
    double length_s;  /* of what is folded */
};

/* Given:    cand   folded with nbin bins
 *           fold   frequency on the clock of the samples
 *           orbit   as psr_fold_delays_init returned it
 * Returned: *pfd without its profiles, statistics and best values; the caller clears it, also after an error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_header_fill(struct psr_pfd *pfd,
                                               const struct psr_fold_frame *frame,
                                               const struct psr_folder_candidate *cand, size_t nbin,
                                               struct psr_fold_spin fold,
                                               const struct psr_fold_orbit *orbit, psr_err *err);

/* Sets the best DM, period and derivatives: those of the trial that a search returned. */
void psr_fold_header_best(struct psr_pfd *pfd, const struct psr_fold_frame *frame,
                          const struct psr_fold_best *found);

/* Sets them to values between the trials instead, and found to the nearest trials. */
void psr_fold_header_refined(struct psr_pfd *pfd, const struct psr_fold_frame *frame,
                             const struct psr_fold_refined *refined, struct psr_fold_best *found);

/* Barycentric epoch at infinite frequency of a candidate. */
double psr_fold_bary_epoch(const struct psr_fold_frame *frame, double dm);

/* --- the spectra or the series that a folder reads, cleaned ----------------------------------- */

/* Initialise with zeros. */
/* Cleaned spectra of a pass, for those after it.  Initialise with zeros. */
struct psr_fold_kept {
    unsigned char *row;      /* [room][row_bytes]; owned, as is the next; NULL: not kept */
    unsigned char *channels; /* [row_bytes] those that are folded, as psr_stage_clean_keep */
    size_t row_bytes, room, n;
    int64_t skip; /* spectra of the input before the first */
    bool complete;
};

struct psr_fold_input {
    const char *name;
    bool is_series;
    struct psr_inf inf;  /* of a series */
    struct psr_tim tim;  /* how its samples are stored */
    struct psr_obs made; /* of a series, from inf; owned */
    FILE *file;          /* of a series */
    struct psr_input_file spectra;
    struct psr_obs obs;  /* borrows the table of frequencies */
    size_t block;        /* spectra folded at once: at first those that prepfold reads */
    size_t lookahead;    /* blocks that prepfold reads before it folds one */
    bool is_pipe;        /* can be read once */
    int64_t nsamp, skip; /* spectra in all; those before the first one folded */
    psr_read_ahead *ahead;
    psr_stage_clean *clean;
    const struct psr_fold_kept *kept; /* instead of what is read and cleaned; NULL: none */
    size_t nkept;                     /* of it, given so far */
    bool overlaps;                    /* a device cleans the next block while one is folded */
    struct psr_async_task task;
    struct psr_block coming; /* what the task makes, once it was started */
    bool is_coming, coming_ends;
    float *values; /* of a series */
};

/* Opens the input at its beginning, and finds out about it.
 * Status: as psr_folder_create */
PSR_MUST_CHECK psr_status psr_fold_input_open(struct psr_fold_input *in,
                                              const struct psr_folder_desc *desc, psr_err *err);

/* Begins to read at in->skip, anew if it was read before. */
PSR_MUST_CHECK psr_status psr_fold_input_begin(struct psr_fold_input *in,
                                               const struct psr_folder_desc *desc, psr_err *err);

/* The next samples, cleaned; end is true with the last ones. */
PSR_MUST_CHECK psr_status psr_fold_input_next(struct psr_fold_input *in, struct psr_block *block,
                                              bool *end, psr_err *err);

/* Frees what reading needs; it may begin again. */
void psr_fold_input_end(struct psr_fold_input *in);

/* Sample type and channels of the cleaned blocks. */
enum psr_kind psr_fold_input_kind(const struct psr_fold_input *in);
int psr_fold_input_nbit(const struct psr_fold_input *in);
const unsigned char *psr_fold_input_channels(const struct psr_fold_input *in);

void psr_fold_input_close(struct psr_fold_input *in);

/* Whether a pass reads to the end of the input. */
bool psr_fold_reads_all(const struct psr_folder_desc *desc);

/* Begins to keep what automatic cleaning makes of all spectra, where room_bytes hold it; else nothing is kept. */
void psr_fold_kept_begin(struct psr_fold_kept *kept, const struct psr_fold_input *in,
                         double room_bytes);

/* Keeps a block of a pass, with so many threads; nothing once all are kept.
 * Given: end   it is the last one */
void psr_fold_kept_take(struct psr_fold_kept *kept, const struct psr_block *block, bool end,
                        int nthread);
void psr_fold_kept_clear(struct psr_fold_kept *kept);

struct psr_folder {
    struct psr_folder_desc d;
    struct psr_fold_input in;
    struct psr_fold_kept kept;
    struct psr_fold_frame frame;
    struct psr_fold_bary bary;
    size_t part_blocks,
        nblock;     /* blocks of a part; of all, of which the last part may have fewer */
    int64_t wanted; /* samples between start and end */
    size_t ncand;   /* candidates that can be folded */
    size_t *index;  /* [ncand] in desc, as are the next */
    struct psr_folder_candidate *given; /* [desc.ncand] with the DM of the ephemeris */
    struct psr_fold_candidate *cand;
    uint64_t *digest;
    struct psr_fold_spin *fold;
    struct psr_fold_orbit *orbit;
    struct psr_fold_delays *delays;
    uint64_t run_digest;     /* of all but the candidates */
    struct timespec changed; /* when the input was */
    psr_fold_search *search;
    struct psr_names devices; /* that fold and search */
    const char **backend;     /* [devices.n] of each, like device */
    int *device;
    size_t npass, nskipped;
    int64_t clipped;
    double read_s, fold_s, result_s; /* as in the report */
    struct psr_own own;
};

/* --- folds the candidates of a pass on several devices, each a share of them ------------------ */

/* Initialise with zeros. */
struct psr_fold_tail {
    unsigned char *row; /* [room][row_bytes] a ring; owned */
    size_t row_bytes, room, n;
    size_t next; /* where the next one goes */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fold_tail_init(struct psr_fold_tail *tail, size_t room,
                                             size_t row_bytes, psr_err *err);

/* Remembers the last of n more spectra. */
void psr_fold_tail_take(struct psr_fold_tail *tail, const void *spectra, size_t n);

void psr_fold_tail_clear(struct psr_fold_tail *tail);

struct psr_fold_shares {
    struct psr_fold_share *share; /* [n] */
    size_t n;
};

/* Initialise *s with zeros.
 * Given:  d   all candidates, and all threads
 *         backend, device   [n] of each share
 * Status: that of psr_fold_create; psr_fold_shares_destroy also after an error */
PSR_MUST_CHECK psr_status psr_fold_shares_create(struct psr_fold_shares *s,
                                                 const struct psr_fold_desc *d,
                                                 const char *const *backend, const int *device,
                                                 size_t n, psr_err *err);

/* As those of psr_fold, of all shares. */
bool psr_fold_shares_are_full(const struct psr_fold_shares *s);
int64_t psr_fold_shares_missing(const struct psr_fold_shares *s);
int64_t psr_fold_shares_count(const struct psr_fold_shares *s);
PSR_MUST_CHECK psr_status psr_fold_shares_execute(struct psr_fold_shares *s, const void *spectra,
                                                  size_t nsamp, const struct psr_step *step,
                                                  size_t nstep, psr_err *err);

/* Fills all with the last spectra, and finishes. */
PSR_MUST_CHECK psr_status psr_fold_shares_finish(struct psr_fold_shares *s,
                                                 const struct psr_fold_tail *tail, psr_err *err);

void psr_fold_shares_destroy(struct psr_fold_shares *s);

/* --- from the folds of a pass to the caller --------------------------------------------------- */

/* Searches around each of the n folds, and passes it to the caller.
 * Given:  first   place of the first in the arrays of candidates
 * Status: of the first candidate that failed: PSR_ESTOPPED, that of take, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_folder_emit(const psr_folder *f, const struct psr_fold_shares *folds,
                                          size_t first, size_t n, psr_err *err);

/* What the folder's searches have in common: all but device and threads. */
struct psr_fold_search_desc psr_folder_describe_search(const psr_folder *f);

/* Digests of everything that affects a fold, to find those that an earlier run made. */

#endif
