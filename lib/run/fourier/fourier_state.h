/* fourier_state.h: a Fourier search with its plans (private). */
#ifndef PSR_RUN_FOURIER_FOURIER_STATE_H
#define PSR_RUN_FOURIER_FOURIER_STATE_H

#include <psrkit/experimental/accelsearch.h>
#include <psrkit/experimental/fourier.h>

enum { PSR_FOURIER_MAX_SUMS = 8 };

/* Inputs that are searched at once. */
struct psr_fourier_slot {
    psr_pulscan *boxes; /* NULL: none are searched */
    float *room;        /* [batch][2 nbin], where there are no boxes, whose plan has some */
    bool pinned;        /* room is that of psr_device_pin */
    struct psr_fourier_input *in;           /* [n] of the last execute; borrowed */
    struct psr_pulscan_result *found;       /* [batch] */
    struct psr_accelsearch_result *matched; /* [batch] */
};

struct psr_fourier {
    struct psr_fourier_desc d;
    int nharm[PSR_FOURIER_MAX_SUMS]; /* [nnharm] harmonic sums to search */
    size_t nnharm;

    /* The plan; without one, shape.nbin is 0. */
    struct psr_fourier_shape shape; /* series: the plans transform them */
    size_t batch, nslot;
    struct psr_span *zap; /* [nzap] */
    size_t nzap;
    psr_rfft *rfft;           /* transforms series before the plans get them; NULL: none came */
    psr_accelsearch *matched; /* NULL: boxes only */
    struct psr_fourier_slot slot[PSR_FOURIER_SLOTS];
};

/* How red noise is removed. */
struct psr_redden psr_fourier_redden(const struct psr_fourier *f);

/* How the matched search whitens series, as accelsearch does what it has transformed itself. */
struct psr_redden psr_fourier_whitening(const struct psr_fourier *f);

/* --- batches and trials of the matched search ------------------------------------------------- */

/* As psr_accelsearch_execute for n <= batch spectra: in [n], result [n].  A GPU searches two at a
 * time, and prepares the next while it searches. */
PSR_MUST_CHECK psr_status psr_accelsearch_execute_batch(psr_accelsearch *p, size_t n,
                                                        const struct psr_accelsearch_input *in,
                                                        struct psr_accelsearch_result *result,
                                                        psr_err *err);

/* Merges two lists: the candidates of a matched search, followed by those of another list that are
 * at least 15 bins from all of them, each in its order.
 * Returned: *all [*n], malloc'd, caller frees; the memory that it points to keeps its owner
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accelsearch_join(const struct psr_accelsearch_result *matched,
                                               const struct psr_accel_cand *other, size_t nother,
                                               struct psr_accel_cand **all, size_t *n,
                                               psr_err *err);

/* Number of independent trials of sums of this many harmonics. */
double psr_accelsearch_trials(const psr_accelsearch *p, int nharm);

/* The threshold of S_H for sums of this many harmonics. */
double psr_accelsearch_threshold(const psr_accelsearch *p, int nharm);

#endif
