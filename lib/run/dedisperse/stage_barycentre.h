/* stage_barycentre.h: converts series from the telescope's clock to the barycentric clock
 * (private). */
#ifndef PSR_RUN_DEDISPERSE_STAGE_BARYCENTRE_H
#define PSR_RUN_DEDISPERSE_STAGE_BARYCENTRE_H

#include <psrkit/experimental/sink.h>

typedef struct psr_stage_barycentre psr_stage_barycentre;

struct psr_stage_barycentre_desc {
    const char *input;         /* its name, for messages */
    const struct psr_obs *obs; /* of the input; copied, except its table of frequencies */
    bool off;                  /* keep topocentric times */
    const char *position;      /* "RA,DEC", or NULL: from obs */
    const char *site;          /* "LON,LAT,H", or NULL: from the telescope's name */
    const char *ephem;         /* requested ephemeris, which is not used, or NULL */
    double dmconst;            /* MHz^2 s */
    bool presto; /* as prepsubband: a header without a position is barycentred towards 0, 0, and
                    epochs are rounded to doubles */
    struct psr_notes notes;
};

/* Whether times can be moved to the barycentre; if not, a note says why.
 * Given:  mjd        of the first sample
 *         anywhere   towards 0, 0 if the position is not known */
bool psr_can_barycentre(const struct psr_obs *obs, double mjd, bool anywhere, const char *input,
                        const struct psr_notes *notes);

/* Decides whether to barycentre, and sends a note.  *out is NULL on error.
 * Status: PSR_EINVAL (a position, a site), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_stage_barycentre_create(psr_stage_barycentre **out,
                                                      const struct psr_stage_barycentre_desc *desc,
                                                      psr_err *err);

/* The observation as described in headers of series; borrows the table of frequencies from desc. */
const struct psr_obs *psr_stage_barycentre_obs(const psr_stage_barycentre *b);

/* Mean velocity away from the source over c; 0 without barycentring. */
double psr_stage_barycentre_voverc(const psr_stage_barycentre *b);

/* Epoch of the series at dm: arrival time of its first sample at infinite frequency. */
struct psr_mjd psr_stage_barycentre_epoch(const psr_stage_barycentre *b, double dm);

/* The trials of one line, which have the same sampling. */
struct psr_stage_barycentre_line {
    size_t nseries;
    double tsamp_s;
    size_t presto_block; /* as in dsp.h */
    bool equalised;      /* its blocks have equalised series */
};

/* Sets the lines; call once.
 * Status: PSR_ENOMEM, those of psr_resample_create */
PSR_MUST_CHECK psr_status psr_stage_barycentre_begin(psr_stage_barycentre *b,
                                                     const struct psr_stage_barycentre_line *line,
                                                     size_t nline, int nthread, psr_err *err);

/* True if bins are added and removed. */
bool psr_stage_barycentre_moves(const psr_stage_barycentre *b);

/* Upper limit of the number of samples that n samples of a line become. */
size_t psr_stage_barycentre_room(const psr_stage_barycentre *b, size_t line, size_t n);

/* Barycentres the next samples of every series of a line in place; for series on devices it only
 * returns which bins to add and remove.
 * Given:    block   stride >= psr_stage_barycentre_room(b, line, n)
 * Returned: block   n and own after barycentring, moved; on devices bin, or NULL if no bins are ever added
 *                   or removed
 * Status:   those of psr_resample_execute and psr_resample_report */
PSR_MUST_CHECK psr_status psr_stage_barycentre_run(psr_stage_barycentre *b, size_t line,
                                                   struct psr_block *block, psr_err *err);

/* With presto: the mean of the first series so far, before bins were added and removed. */
double psr_stage_barycentre_mean(const psr_stage_barycentre *b);

/* Converts a range of the input, in samples of a line, to samples of its series; call it before the
 * samples that depend on it are barycentred.
 * Given:  maxshift   samples that the largest delay needs
 * Status: those of psr_resample_map */
PSR_MUST_CHECK psr_status psr_stage_barycentre_span(psr_stage_barycentre *b, size_t line,
                                                    int64_t maxshift, struct psr_span *span,
                                                    psr_err *err);

/* Number of samples that the next n samples of a line become.
 * Status: those of psr_resample_count_next */
PSR_MUST_CHECK psr_status psr_stage_barycentre_count_next(psr_stage_barycentre *b, size_t line,
                                                          size_t n, size_t *nout, psr_err *err);

/* Bins added to and removed from each series of a line so far. */
void psr_stage_barycentre_count(const psr_stage_barycentre *b, size_t line, int64_t *added,
                                int64_t *removed);

/* Frees the object; NULL is allowed. */
void psr_stage_barycentre_destroy(psr_stage_barycentre *b);

#endif
