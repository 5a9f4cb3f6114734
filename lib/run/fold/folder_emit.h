/* folder_emit.h: from the folds of a pass to the caller (private). */
#ifndef PSR_RUN_FOLD_FOLDER_EMIT_H
#define PSR_RUN_FOLD_FOLDER_EMIT_H

#include "fold_shares.h"
#include "folder.h"

/* Searches around each of the n folds, and passes it to the caller.
 * Given:  first   place of the first in the arrays of candidates
 * Status: of the first candidate that failed: PSR_ESTOPPED, that of take, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_folder_emit(const psr_folder *f, const struct psr_fold_shares *folds,
                                          size_t first, size_t n, psr_err *err);

/* What the folder's searches have in common: all but device and threads. */
struct psr_fold_search_desc psr_folder_describe_search(const psr_folder *f);

#endif
