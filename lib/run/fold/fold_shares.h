/* fold_shares.h: folds the candidates of a pass on several devices, each a share of them (private). */
#ifndef PSR_RUN_FOLD_FOLD_SHARES_H
#define PSR_RUN_FOLD_FOLD_SHARES_H

#include "base/tool.h"
#include <psrkit/experimental/fold.h>

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

/* The share of candidate i, which is its candidate *own. */
const psr_fold *psr_fold_shares_find(const struct psr_fold_shares *s, size_t i, size_t *own);

void psr_fold_shares_destroy(struct psr_fold_shares *s);

#endif
