/* Makes equal rows of tree dedispersion one, from the leaves up. */
#include "dedisp_merge_build.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t psr_merge_parts_of(const struct psr_merge_tree *tree, int l, size_t node)
{
    const struct psr_merge_level *at = &tree->level[l];
    size_t below = l ? tree->level[l - 1].nnode : tree->nchan, first = node * at->radix;
    return below - first < at->radix ? below - first : at->radix;
}

/* Takes the least offset off a row, after its parts have changed so. */
static void lift_row(struct psr_merge_builder *b, int l, size_t r, size_t nparts)
{
    struct psr_merge_level *at = &b->tree->level[l];
    int32_t *offset = at->offset + r * at->radix, *part = l ? at->part + r * at->radix : NULL;
    int32_t least = INT32_MAX;
    for (size_t j = 0; j < nparts; j++) {
        if (l) {
            offset[j] += b->under.lift[part[j]];
            part[j] = b->under.same[part[j]];
        }
        least = offset[j] < least ? offset[j] : least;
    }
    for (size_t j = 0; j < nparts; j++)
        offset[j] -= least;
    b->at.lift[r] = least;
}

/* Adds up what the parts of a row say. */
static void measure_row(struct psr_merge_builder *b, int l, size_t r, size_t nparts)
{
    struct psr_merge_level *at = &b->tree->level[l];
    const int32_t *offset = at->offset + r * at->radix, *part = l ? at->part + r * at->radix : NULL;
    b->at.difference[r] = 0.5F;
    for (size_t j = 0; j < nparts; j++) {
        int32_t extent = offset[j] + (l ? b->tree->level[l - 1].extent[part[j]] : 0);
        float miss = l ? b->miss[l][r * at->radix + j] + b->under.difference[part[j]] : 0;
        at->extent[r] = extent > at->extent[r] ? extent : at->extent[r];
        b->at.difference[r] = miss > b->at.difference[r] ? miss : b->at.difference[r];
    }
}

static uint32_t hash_words(uint32_t h, const int32_t *word, size_t n)
{
    for (size_t j = 0; j < n; j++)
        h = (h ^ (uint32_t)word[j]) * UINT32_C(0x9E3779B1);
    return h ^ h >> 15;
}

static bool same_row(const struct psr_merge_level *at, size_t r, size_t q)
{
    size_t bytes = at->radix * sizeof *at->offset;
    return !memcmp(at->offset + r * at->radix, at->offset + q * at->radix, bytes) &&
           (!at->part || !memcmp(at->part + r * at->radix, at->part + q * at->radix, bytes));
}

/* Moves row r to the place of the q-th that is kept. */
static void keep_row(struct psr_merge_builder *b, struct psr_merge_level *at, size_t r, size_t q)
{
    size_t bytes = at->radix * sizeof *at->offset;
    memmove(at->offset + q * at->radix, at->offset + r * at->radix, bytes);
    if (at->part)
        memmove(at->part + q * at->radix, at->part + r * at->radix, bytes);
    at->extent[q] = at->extent[r];
    b->at.difference[q] = b->at.difference[r];
}

/* Makes equal rows of a sub-band, r0 .. r1 - 1, one.  Returns the rows kept so far. */
static size_t unite_node(struct psr_merge_builder *b, int l, size_t r0, size_t r1, size_t kept)
{
    struct psr_merge_level *at = &b->tree->level[l];
    size_t mask = 2;
    while (mask < 2 * (r1 - r0))
        mask *= 2;
    mask--;
    memset(b->slot, 0xff, (mask + 1) * sizeof *b->slot);
    for (size_t r = r0; r < r1; r++) {
        uint32_t h = hash_words(1, at->offset + r * at->radix, at->radix);
        size_t s = (at->part ? hash_words(h, at->part + r * at->radix, at->radix) : h) & mask;
        while (b->slot[s] >= 0 && !same_row(at, r, (size_t)b->slot[s]))
            s = (s + 1) & mask;
        if (b->slot[s] < 0) {
            b->slot[s] = (int32_t)kept;
            keep_row(b, at, r, kept++);
        }
        size_t q = (size_t)b->slot[s];
        b->at.difference[q] = fmaxf(b->at.difference[q], b->at.difference[r]);
        b->at.same[r] = (int32_t)q;
    }
    return kept;
}

void psr_merge_united_clear(struct psr_merge_united *u)
{
    free(u->lift);
    free(u->same);
    free(u->difference);
    *u = (struct psr_merge_united){0};
}

static psr_status start_united(struct psr_merge_builder *b, size_t nrow, psr_err *err)
{
    size_t nslot = 4;
    psr_merge_united_clear(&b->under);
    b->under = b->at;
    b->at.lift = malloc(nrow * sizeof *b->at.lift);
    b->at.same = malloc(nrow * sizeof *b->at.same);
    b->at.difference = malloc(nrow * sizeof *b->at.difference);
    while (nslot < 4 * nrow)
        nslot *= 2;
    if (nslot > b->nslot) {
        free(b->slot);
        b->slot = malloc(nslot * sizeof *b->slot);
        b->nslot = nslot;
    }
    if (b->at.lift && b->at.same && b->at.difference && b->slot)
        return PSR_OK;
    return psr_fail_nomem(err, "the rows of a tree", 28.0 * (double)nrow);
}

psr_status psr_merge_unite_level(struct psr_merge_builder *b, int l, psr_err *err)
{
    struct psr_merge_level *at = &b->tree->level[l];
    size_t nrow = at->nrow, kept = 0;
    psr_status st = start_united(b, nrow, err);
    for (size_t r0 = 0, r1; r0 < nrow && !st; r0 = r1) {
        size_t nparts = psr_merge_parts_of(b->tree, l, (size_t)b->node[l][r0]);
        for (r1 = r0; r1 < nrow && b->node[l][r1] == b->node[l][r0]; r1++) {
            lift_row(b, l, r1, nparts);
            measure_row(b, l, r1, nparts);
        }
        kept = unite_node(b, l, r0, r1, kept);
    }
    at->nrow = kept;
    return st;
}
