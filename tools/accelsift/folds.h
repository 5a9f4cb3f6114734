/* folds.h: scores of the folds of candidates, as gpufold -json writes them. */
#ifndef PSR_TOOLS_ACCELSIFT_FOLDS_H
#define PSR_TOOLS_ACCELSIFT_FOLDS_H

#include <psrkit/experimental/sift.h>

struct accelsift_fold {
    char *name; /* LIST_Cand_NUMBER; owned */
    bool narrow;
    struct psr_cand_score score;
};

struct accelsift_folds {
    struct accelsift_fold *fold; /* [n] by name; owned */
    size_t n, room;
};

/* Reads a file of lines of JSON; one that does not exist has no folds.  The caller clears *folds, also after an
 * error.
 * Status: PSR_EIO, PSR_EFORMAT naming file and line, PSR_ENOMEM */
PSR_MUST_CHECK psr_status accelsift_folds_read(struct accelsift_folds *folds, const char *path,
                                               psr_err *err);
void accelsift_folds_clear(struct accelsift_folds *folds);

/* Copies the candidates of a result, gives them their scores and orders them by these.
 * Returned: *cand [result->ncand], malloc'd, caller frees; the scores stay those of folds
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status accelsift_folds_rank(const struct accelsift_folds *folds,
                                               const struct psr_sift_result *result,
                                               struct psr_sift_cand **cand, psr_err *err);

#endif
