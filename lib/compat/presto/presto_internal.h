/* presto_internal.h: the search, the list and the refinement of candidates, as accelsearch does them (private). */
#ifndef PSR_COMPAT_PRESTO_PRESTO_INTERNAL_H
#define PSR_COMPAT_PRESTO_PRESTO_INTERNAL_H

#include "search/matched/peaks.h"
#include "search/matched/refine/accel_refine.h"
#include "search/matched/response/accel_internal.h"
#include "search/matched/response/response.h"
#include "stats/stats.h"
#include <complex.h>
#include <stdint.h>

/* Powers as accelsearch computes them, block by block.
 *
 * A block of the highest harmonic, and each block at a fraction h/H of its frequencies that is summed
 * with it, has its own bins, normalised separately. */

/* How accelsearch cuts a search into blocks. */
struct psr_presto_layout {
    int fftlen;  /* half bins that a block of the highest harmonic is made of */
    int uselen;  /* half bins that it gives */
    int64_t rlo; /* the first bin; blocks follow each other */
    int64_t nblock;
    int64_t highest; /* bin */
    bool inmem;      /* one plane for all harmonics */
};

/* jerk: -wmax was given, with any value; inmem: -inmem was given. */
void psr_presto_layout_make(struct psr_presto_layout *y, const struct psr_accel_search *s,
                            bool jerk, bool inmem);

/* Responses of fraction h/H, H = 2^log. */
struct psr_presto_fraction {
    int h, log, jmax, lmax;
    int half;    /* bins that the widest response reaches */
    int fftlen;  /* half bins that a block is made of */
    size_t most; /* bins that it gives at most */
    struct psr_correlator *correlator;
    struct psr_template_bank *bank;
};

/* Status: PSR_ENOMEM.  psr_presto_fraction_clear in any case. */
PSR_MUST_CHECK psr_status psr_presto_fraction_make(struct psr_presto_fraction *f,
                                                   const struct psr_accel_search *s,
                                                   const struct psr_presto_layout *y, int h,
                                                   int log, psr_err *err);
void psr_presto_fraction_clear(struct psr_presto_fraction *f);
double psr_presto_fraction_bytes(const struct psr_presto_fraction *f);

/* A thread's block. */
struct psr_presto_block {
    struct psr_split bin; /* [room] normalised */
    float *power;         /* [room], and as much again */
    float *transform;     /* of each part of a block that correlations take at once */
    float *work, *row;
    size_t room, ntransform;
    int64_t first; /* bin that powers begin with */
    size_t n;      /* bins that they are for */
};

/* Room for all fractions [n].
 * Status: PSR_ENOMEM.  psr_presto_block_clear in any case. */
PSR_MUST_CHECK psr_status psr_presto_block_make(struct psr_presto_block *b,
                                                const struct psr_presto_fraction *f, size_t n,
                                                psr_err *err);
void psr_presto_block_clear(struct psr_presto_block *b);
double psr_presto_block_bytes(const struct psr_presto_fraction *f, size_t n);

/* Takes the bins that n bins from first on need, x being the spectrum [s->nbin][2]. */
void psr_presto_block_take(struct psr_presto_block *b, const struct psr_accel_search *s,
                           const struct psr_presto_fraction *f,
                           const struct psr_accelsearch_input *in, int64_t first, size_t n);

/* Powers of drift j and jerk l of the fraction at those bins: row [2 n]. */
void psr_presto_block_row(struct psr_presto_block *b, const struct psr_presto_fraction *f, int j,
                          int l, float *row);

/* --- the list that accelsearch keeps while it searches --- */

struct psr_presto_cand {
    double r, z, w; /* of the fundamental */
    float power, sigma;
    int nharm;
};

/* By rising r where nothing went wrong. */
struct psr_presto_list {
    struct psr_presto_cand *cand; /* [n] malloc'd */
    size_t n, room, inversions;   /* places where r falls */
};

/* A candidate is compared only with the two of the list between which it belongs.  It replaces those
 * that are less than 15 bins away and have a lower sigma; if neither is that near, it is inserted
 * between them.
 * Returned: *added, whether it is now in the list (NULL: not wanted)
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_list_add(struct psr_presto_list *list,
                                              const struct psr_presto_cand *cand, bool *added,
                                              psr_err *err);

/* By falling sigma, then power; of equals the first of the list. */
PSR_MUST_CHECK psr_status psr_presto_list_sort(const struct psr_presto_list *list,
                                               struct psr_accel_peaks *peaks, psr_err *err);

/* --- the search whose list is accelsearch's of one thread --- */

struct psr_presto_search;

/* S outlives the search.
 * Status: PSR_ENOMEM, also where mem_bytes does not suffice */
PSR_MUST_CHECK psr_status psr_presto_search_create(struct psr_presto_search **out,
                                                   const struct psr_accel_search *s,
                                                   const struct psr_presto_layout *y, psr_err *err);

/* Returned: list, as accelsearch has it after all blocks
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_search_run(struct psr_presto_search *p,
                                                const struct psr_accelsearch_input *in,
                                                struct psr_presto_list *list, psr_err *err);

double psr_presto_search_bytes(const struct psr_presto_search *p);

/* NULL is fine. */
void psr_presto_search_destroy(struct psr_presto_search *p);

/* --- amplitudes between bins, as accelsearch interpolates them --- */

/* Amplitudes of a spectrum; one thread uses it. */
struct psr_presto_response {
    const float *x; /* [nbin][2] */
    int64_t nbin;
    struct psr_response_maker *maker;
    struct psr_presto_kernel *kernel;
};

/* Status: PSR_ENOMEM.  psr_presto_response_clear in any case. */
PSR_MUST_CHECK psr_status psr_presto_response_make(struct psr_presto_response *p, const float *x,
                                                   int64_t nbin, psr_err *err);
void psr_presto_response_clear(struct psr_presto_response *p);

/* A(r, z, w) from bins up to half away; 0 where r is no bin's.
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_amplitude(struct psr_presto_response *p, double r, double z,
                                               double w, int half, double complex *a, psr_err *err);

/* Takes x from a value of two variables to a lower one; ends where the corners are tol from their middle. */
void psr_presto_descend(const struct psr_simplex *f, double x[2], double step, double tol);

/* --- measures candidates as accelsearch does --- */

/* The summed powers of harmonics, each over the mean of 20 powers near it, are climbed or, with jerk,
 * searched on a finer grid; responses are cut off where accelsearch cuts them.  A candidate's r, z and
 * w remain those of the search, with half a step as error.
 * Given:    x   the spectrum [s->nbin][2]
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_refine(struct psr_accel_measured *out,
                                            const struct psr_accel_search *s,
                                            const struct psr_accelsearch_input *in,
                                            const struct psr_accel_peaks *peaks, psr_err *err);

#endif
