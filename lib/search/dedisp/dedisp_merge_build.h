/* dedisp_merge_build.h: what chooses the rows of tree dedispersion, and makes equal ones one (private). */
#ifndef PSR_SEARCH_DEDISP_MERGE_BUILD_H
#define PSR_SEARCH_DEDISP_MERGE_BUILD_H

#include "dedisp_merge.h"

/* Rows of the level that is chosen, by sub-bands, and by DM within each. */
struct psr_merge_rows {
    size_t n, room[3];
    double *dm, *fraction; /* what the row stands for */
    int32_t *node;
};

/* What becomes of the rows of a level once equal ones are one. */
struct psr_merge_united {
    int32_t *lift;     /* [nrow] what is taken off a row's offsets */
    int32_t *same;     /* [nrow] its new number */
    float *difference; /* [nrow] by new number: limit of the difference within the row */
};

struct psr_merge_builder {
    struct psr_merge_tree *tree;
    const struct psr_merge_desc *d;
    struct psr_merge_rows rows, below;
    int32_t *node[PSR_MERGE_MAXLEVEL]; /* [nrow] */
    float *miss[PSR_MERGE_MAXLEVEL];   /* [nrow][radix] limit of what shifting each part adds to the
                                          difference from exact delays */
    struct psr_merge_united at, under; /* of this level, and the one below */
    int32_t *slot;                     /* [nslot] hash table of rows */
    size_t nslot;
};

/* Takes common offsets off the rows of a level, whose parts have been united, and makes equal rows of a
 * sub-band one; b->at says what became of each.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_merge_unite_level(struct psr_merge_builder *b, int l, psr_err *err);

void psr_merge_united_clear(struct psr_merge_united *u);

#endif
