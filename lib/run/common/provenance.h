/* provenance.h: describes how a series was made in one line of its header, which shows whether
 * another run would make the same (private). */
#ifndef PSR_RUN_COMMON_PROVENANCE_H
#define PSR_RUN_COMMON_PROVENANCE_H

#include "run/dedisperse/lines/lines.h"

#include <psrkit/experimental/clean.h>
#include <time.h>

typedef struct psr_provenance psr_provenance;

/* Data that affect the samples. */
struct psr_provenance_part {
    const void *at;
    size_t n;
};

/* All pointers are borrowed. */
struct psr_provenance_desc {
    const char *program;     /* program that makes the series */
    const char *const *path; /* [npath] of the input; only regular files count */
    size_t npath;
    int64_t nsamp; /* of the input */

    /* Everything that affects the samples of all series, except the trials. */
    const struct psr_provenance_part *part; /* [npart] */
    size_t npart;
    const char *const *text; /* [ntext]; NULL counts as empty */
    size_t ntext;
    const struct psr_mask *mask; /* NULL: none */
    const char
        *backend; /* backend, if samples are summed as floats; NULL for integers, whose sums are
                     the same on every backend */
};

/* How the series of a line are made. */
struct psr_provenance_line {
    char algo[32];     /* as written in the note */
    const char *kind;  /* algorithm, for the digest */
    bool by_nsub;      /* the number of sub-bands affects the samples */
    bool independent;  /* each trial is independent of the others */
    uint64_t maxshift; /* largest delay in samples, if it determines all lengths; else 0 */
};

/* Examines the input.  *out is NULL on error.
 * Status: PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_provenance_create(psr_provenance **out,
                                                const struct psr_provenance_desc *desc,
                                                psr_err *err);

/* Sets the note of every line: version, algorithm, the backend for floats, and a digest of the
 * input and of everything that affects the samples.
 * Given: line   [trials->nline] */
void psr_provenance_mark(const psr_provenance *p, struct psr_trial_list *trials,
                         const struct psr_provenance_line *line);

/* Latest modification time of the input files. */
struct timespec psr_provenance_changed(const psr_provenance *p);

/* Makes the notes unique if the input has changed since it was examined, so that no other run
 * matches them. */
void psr_provenance_check(const psr_provenance *p, struct psr_trial_list *trials);

/* Frees the object; NULL is allowed. */
void psr_provenance_destroy(psr_provenance *p);

#endif
