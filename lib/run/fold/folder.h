/* folder.h: the state of a folder (private). */
#ifndef PSR_RUN_FOLD_FOLDER_H
#define PSR_RUN_FOLD_FOLDER_H

#include "base/own.h"
#include "base/tool.h"
#include "fold_header.h"
#include "fold_input.h"

struct psr_folder {
    struct psr_folder_desc d;
    struct psr_fold_input in;
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

/* Sets blocks and parts, and with them the first sample, its date and the length.
 * Status: PSR_EINVAL for an input that is too short */
PSR_MUST_CHECK psr_status psr_folder_set_parts(psr_folder *f, psr_err *err);

#endif
