/* stage_barycentre.h: series from the telescope's clock to that of the barycentre (private). */
#ifndef PSR_PIPELINE_STAGE_BARYCENTRE_H
#define PSR_PIPELINE_STAGE_BARYCENTRE_H

#include <psrkit/block.h>

typedef struct psr_stage_barycentre psr_stage_barycentre;

struct psr_stage_barycentre_desc {
    const char *input;         /* its name, for messages */
    const struct psr_obs *obs; /* of the input; copied, but for its table of frequencies */
    bool off;                  /* times stay topocentric */
    const char *position;      /* "RA,DEC", or NULL: that of obs */
    const char *site;          /* "LON,LAT,H", or NULL: that of the telescope's name */
    const char *ephem;         /* what was asked for and is not taken, or NULL */
    double dmconst;            /* MHz^2 s */
    bool presto; /* as prepsubband: a header without a position is barycentred to 0, 0, and epochs
                    are those of doubles */
    struct psr_notes notes;
};

/* Decides whether there is anything to do, and says so.
 * Status: PSR_EINVAL (a position, a site), PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_stage_barycentre_create(psr_stage_barycentre **out,
                                                      const struct psr_stage_barycentre_desc *desc,
                                                      psr_err *err);

/* The observation as series tell it; borrows the table of frequencies of the one described. */
const struct psr_obs *psr_stage_barycentre_obs(const psr_stage_barycentre *b);

/* Mean speed away from the source over that of light; 0 where there is nothing to do. */
double psr_stage_barycentre_voverc(const psr_stage_barycentre *b);

/* When the series at dm begins: where its first sample would have come at infinite frequency. */
struct psr_mjd psr_stage_barycentre_epoch(const psr_stage_barycentre *b, double dm);

/* The trials of one line, which share a sampling. */
struct psr_stage_barycentre_line {
    size_t nseries;
    double tsamp_s;
    size_t presto_block; /* as in resample.h */
};

/* Takes on the lines, to be called once.  Status: PSR_ENOMEM, those of psr_resample_create. */
PSR_MUST_CHECK psr_status psr_stage_barycentre_begin(psr_stage_barycentre *b,
                                                     const struct psr_stage_barycentre_line *line,
                                                     size_t nline, int nthread, psr_err *err);

/* Whether bins are added and removed. */
bool psr_stage_barycentre_moves(const psr_stage_barycentre *b);

/* The most samples that n of a line can become. */
size_t psr_stage_barycentre_room(const psr_stage_barycentre *b, size_t line, size_t n);

/* Moves the next samples of every series of a line, in place; of series that lie on devices it only
 * says what is to be done to them.
 * Given:    block   stride >= psr_stage_barycentre_room(b, line, n)
 * Returned: block   n samples, of which own become others likewise; on devices bin, NULL where nothing ever is to be done, makes them
 * Status:   those of psr_resample_execute and psr_resample_report */
PSR_MUST_CHECK psr_status psr_stage_barycentre_run(psr_stage_barycentre *b, size_t line,
                                                   struct psr_block *block, psr_err *err);

/* With presto, the mean of the first series so far, without the bins that were added and removed. */
double psr_stage_barycentre_mean(const psr_stage_barycentre *b);

/* Moves a span of the input, in samples of a line, to where its series have it; to be called before
 * samples that draw on it have been moved.
 * Given:  maxshift   samples that the trial of the longest sweep draws on after its own
 * Status: those of psr_resample_map */
PSR_MUST_CHECK psr_status psr_stage_barycentre_span(psr_stage_barycentre *b, size_t line,
                                                    int64_t maxshift, struct psr_span *span,
                                                    psr_err *err);

/* What becomes of the first n of the samples of a line to come.  Status: those of
 * psr_resample_count_next */
PSR_MUST_CHECK psr_status psr_stage_barycentre_count_next(psr_stage_barycentre *b, size_t line,
                                                          size_t n, size_t *nout, psr_err *err);

/* Bins added to and removed from each series of a line so far. */
void psr_stage_barycentre_count(const psr_stage_barycentre *b, size_t line, int64_t *added,
                                int64_t *removed);

/* NULL is fine. */
void psr_stage_barycentre_destroy(psr_stage_barycentre *b);

#endif
