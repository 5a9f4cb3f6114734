/* fold_check.h: checks a description of a fold (private). */
#ifndef PSR_SEARCH_FOLD_CHECK_H
#define PSR_SEARCH_FOLD_CHECK_H

#include "formats/spectra/unpack.h"
#include <psrkit/experimental/fold.h>

/* Status: PSR_EINVAL, PSR_EUNSUPPORTED */
PSR_MUST_CHECK psr_status psr_fold_check(const struct psr_fold_desc *desc, psr_err *err);

/* Status: PSR_ENOMEM beyond the limit of desc */
PSR_MUST_CHECK psr_status psr_fold_check_memory(const struct psr_fold_desc *desc, psr_err *err);

/* The highest centre of a channel in a sub-band, the one that was asked for last; zeros: none was. */
struct psr_fold_top {
    size_t end; /* 1 + its number */
    double mhz;
};

/* Delay of channel k, from the lowest, behind the highest channel of its sub-band, in samples, with
 * 1/2 to be rounded: in prepfold's arithmetic. */
double psr_fold_delay(const struct psr_fold_desc *desc, double dm, size_t k,
                      struct psr_fold_top *top);

/* Blocks that must follow a block, if the longest delay is "most" samples; blocks that the window of
 * nkept channels has room for; bytes of a sample in it. */
size_t psr_fold_blocks_ahead(const struct psr_fold_desc *desc, size_t most);
size_t psr_fold_window_blocks(const struct psr_fold_desc *desc, size_t ahead, size_t nkept);
size_t psr_fold_store_bytes(int nbit);

/* Number of groups of sub-bands. */
size_t psr_fold_groups(const struct psr_fold_desc *desc);

#endif
