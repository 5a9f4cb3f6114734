/* provenance.h: what makes a series, as a line for its header that tells whether another run made the
 * same (private). */
#ifndef PSR_PIPELINE_PROVENANCE_H
#define PSR_PIPELINE_PROVENANCE_H

#include "trials.h"

#include <psrkit/mask.h>
#include <time.h>

typedef struct psr_provenance psr_provenance;

/* Bytes of something that decides on samples. */
struct psr_provenance_part {
    const void *at;
    size_t n;
};

/* Borrowed, all of it. */
struct psr_provenance_desc {
    const char *program;     /* that makes the series */
    const char *const *path; /* [npath] of the input; what is no file counts as nothing */
    size_t npath;
    int64_t nsamp; /* of the input */

    /* Whatever decides on the samples of any series, but for the trials. */
    const struct psr_provenance_part *part; /* [npart] */
    size_t npart;
    const char *const *text; /* [ntext]; NULL counts as an empty one */
    size_t ntext;
    const struct psr_mask *mask; /* NULL: none */
    const char
        *backend; /* where samples are summed as floats; NULL for integers, whose sums are the
                            same everywhere */
};

/* How the series of a line are made. */
struct psr_provenance_line {
    char algo[32];     /* in words of the note */
    const char *kind;  /* of algorithm, for the digest */
    bool by_nsub;      /* the sub-bands of the line decide on samples */
    bool independent;  /* each trial is what it is whatever the others are */
    uint64_t maxshift; /* samples, where the longest sweep decides on all lengths; else 0 */
};

/* Looks at the input.  Status: PSR_EIO, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_provenance_create(psr_provenance **out,
                                                const struct psr_provenance_desc *desc,
                                                psr_err *err);

/* Sets the note of every line: version, algorithm, the backend of floats, and a digest of the input
 * and of all that decides on samples.
 * Given:  line [trials->nline] */
void psr_provenance_mark(const psr_provenance *p, struct psr_trial_list *trials,
                         const struct psr_provenance_line *line);

/* When the youngest file of the input was written. */
struct timespec psr_provenance_changed(const psr_provenance *p);

/* Makes notes that no other run will match, where the input was changed since it was looked at. */
void psr_provenance_check(const psr_provenance *p, struct psr_trial_list *trials);

/* NULL is fine. */
void psr_provenance_destroy(psr_provenance *p);

#endif
