/* dedisp_cpu_tree.h: finds the partial sums that a block of trials shares in one group of channels
 * (private).
 *
 * Channels form sub-groups, these form larger ones, and so on, according to the shape's radix[].
 * The contribution of a sub-group to a trial depends only on the delay of its first channel, which
 * shifts the whole sum, and on the delays of the other channels relative to it, the pattern.
 * Trials with the same pattern share one node.  Equal patterns are found from the leaves up by
 * hashing; then the time range of each node is computed from the top down. */
#ifndef PSR_SEARCH_DEDISP_CPU_DEDISP_CPU_TREE_H
#define PSR_SEARCH_DEDISP_CPU_DEDISP_CPU_TREE_H

#include "dedisp_cpu.h"

enum { PSR_MAXGROUP = 64 };

struct psr_node {
    int32_t rep;    /* a trial that has this pattern */
    int32_t lo, hi; /* delays of the first channel at which the node is used */
    int32_t place;  /* in the scratch space, of its value at delay lo; the writer's */
};

struct psr_tree {
    const struct psr_tree_shape *shape;
    size_t nchan, ntrial;                /* of this group and program */
    int32_t *delay;                      /* [channel][ntrial] */
    int32_t *pattern[PSR_MAXLEVEL];      /* [sub-group][ntrial] node of each trial */
    struct psr_node *node[PSR_MAXLEVEL]; /* [sub-group][ntrial] */
    size_t *nnode[PSR_MAXLEVEL];         /* [sub-group] */
    size_t width[PSR_MAXLEVEL];          /* channels of a sub-group */
    int32_t *slot;                       /* [nslot] hash table of nodes */
    size_t nslot;
    void *block; /* all of it */
};

/* What a sub-group is made of: sub-groups of the level below, or channels. */
struct psr_tree_parts {
    size_t n, first;                      /* how many, and the number of the first */
    const int32_t *pattern[PSR_MAXGROUP]; /* NULL for channels */
    const int32_t *delay[PSR_MAXGROUP];   /* of the first channel of each */
    struct psr_node *node[PSR_MAXGROUP];
};

PSR_MUST_CHECK psr_status psr_tree_create(struct psr_tree *tr, const struct psr_tree_shape *shape,
                                          size_t ntrial, psr_err *err);
void psr_tree_destroy(struct psr_tree *tr);

/* Finds the nodes of the group that begins at kept channel k0, for trials from i0 on. */
void psr_tree_grow(struct psr_tree *tr, const struct psr_dedisp_layout *s, size_t k0, size_t i0);

size_t psr_tree_subgroups(const struct psr_tree *tr, int level);
struct psr_tree_parts psr_tree_parts(const struct psr_tree *tr, int level, size_t sub);

/* Lanes that all nodes of a level, or all levels but the top, take. */
size_t psr_tree_level_lanes(const struct psr_tree *tr, int level);
size_t psr_tree_lower_lanes(const struct psr_tree *tr);

#endif
