/* fold_tail.h: the last spectra of an input, which stand in for those beyond its end (private).
 *
 * Within a sub-band the low channels are late: the last samples need spectra that the input does not have.  In their
 * place come the last ones in reverse order, which have the levels and the noise of the channels. */
#ifndef PSR_RUN_FOLD_FOLD_TAIL_H
#define PSR_RUN_FOLD_FOLD_TAIL_H

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

/* Fills the fold with them, if there are any.
 * Status: those of psr_fold_execute */
PSR_MUST_CHECK psr_status psr_fold_tail_push(const struct psr_fold_tail *tail, psr_fold *fold,
                                             psr_err *err);

void psr_fold_tail_clear(struct psr_fold_tail *tail);

#endif
