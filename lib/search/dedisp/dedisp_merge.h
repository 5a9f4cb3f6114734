/* dedisp_merge.h: defines the delays of tree dedispersion (private).
 *
 * The kept channels, by falling frequency, form sub-bands of PSR_MERGE_LEAF channels; several
 * adjacent sub-bands form one of the next level, and so on up to the whole band.  A row is a sum
 * over a sub-band: of channels, each with its own delay, or of rows of its parts, each shifted as a
 * whole.  Trials whose delays within a sub-band are nearly equal share a row of it, so that a level
 * has about as many rows as the band has samples of delay, plus a few per sub-band.
 *
 * Rows are chosen from the trials down, so that there are none that no trial uses.  A row stands
 * for a DM and for a fraction of a sample at which its first channel begins.  Delays are those of
 * cold plasma at that DM, rounded once where a part is shifted: to a whole sample, and to one of a
 * few fractions, by which the rows of the part differ.  The steps in DM and the fractions follow
 * from the smearing that is unavoidable there and from a tolerance.
 *
 * After Taylor 1974 (a tree of sub-bands), Zackay & Ofek 2017 (delays of cold plasma at each merge)
 * and Barsdell et al. 2012 section 3. */
#ifndef PSR_SEARCH_DEDISP_MERGE_H
#define PSR_SEARCH_DEDISP_MERGE_H

#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PSR_MERGE_LEAF = 8,
    PSR_MERGE_MAXRADIX = 16,
    PSR_MERGE_MAXLEVEL = 12,
};

struct psr_merge_level {
    size_t width;    /* kept channels of a sub-band; the last may have fewer */
    size_t radix;    /* parts of a sub-band: channels at level 0, or sub-bands of the level below;
                        the last may have fewer */
    size_t nnode;    /* sub-bands */
    size_t nrow;     /* of all sub-bands */
    int32_t *part;   /* [nrow][radix] the row of each part; NULL at level 0 */
    int32_t *offset; /* [nrow][radix] its shift, output samples, >= 0; the least is 0 */
    int32_t *extent; /* [nrow] largest delay of a channel */
};

struct psr_merge_tree {
    int nlevel;
    struct psr_merge_level level[PSR_MERGE_MAXLEVEL];
    size_t nchan, ndm;
    size_t *order;      /* [ndm] trials by rising DM */
    int32_t *row;       /* [ndm] of the whole band, for each trial */
    int32_t *offset;    /* [ndm] its delay, output samples, >= 0 */
    double *difference; /* [ndm] limit of the difference from the exact delay, output samples */
    double bytes;
};

struct psr_merge_desc {
    size_t nchan, ndm;
    const double *slope; /* [nchan] delay per DM relative to the top of the band, output samples;
                            ascending, >= 0 */
    const double *width; /* [nchan] change of the delay per DM over the channel itself */
    double slope_low;    /* of the bottom of the band */
    const double *dm;    /* [ndm] in any order */
    double tolerance;    /* total over unavoidable smearing, > 1 */
    double bytes;        /* limit */
};

/* Status: PSR_ENOMEM, also beyond the limit, with the amount needed so far.  The tree must be
 * destroyed even then. */
PSR_MUST_CHECK psr_status psr_merge_create(struct psr_merge_tree *tree,
                                           const struct psr_merge_desc *desc, psr_err *err);
void psr_merge_destroy(struct psr_merge_tree *tree);

/* Delay of kept channel k at trial i, output samples. */
int32_t psr_merge_delay(const struct psr_merge_tree *tree, size_t i, size_t k);

/* Largest delay of a channel at trial i, output samples. */
int32_t psr_merge_last(const struct psr_merge_tree *tree, size_t i);

/* Parts of a sub-band of level l. */
size_t psr_merge_parts_of(const struct psr_merge_tree *tree, int l, size_t node);

/* The least and the largest delay of each channel at any trial, if align[i] is added to those of
 * trial i.
 * Returned: least, most [nchan]
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_merge_reach(const struct psr_merge_tree *tree, const int32_t *align,
                                          int32_t *least, int32_t *most, psr_err *err);

#endif
