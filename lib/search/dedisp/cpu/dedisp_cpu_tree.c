/* Finds the partial sums that neighbouring trials share, and computes them. */
#include "dedisp_cpu_tree.h"

#include <stdlib.h>
#include <string.h>

size_t psr_tree_subgroups(const struct psr_tree *tr, int level)
{
    return (tr->nchan + tr->width[level] - 1) / tr->width[level];
}

static size_t nmax_subgroups(const struct psr_tree_shape *shape, size_t width)
{
    return (shape->group + width - 1) / width;
}

psr_status psr_tree_create(struct psr_tree *tr, const struct psr_tree_shape *shape, size_t ntrial,
                           psr_err *err)
{
    size_t width = 1, nsub = 0;
    memset(tr, 0, sizeof *tr);
    tr->shape = shape;
    tr->ntrial = ntrial;
    for (tr->nslot = 64; tr->nslot < 3 * ntrial;)
        tr->nslot *= 2;
    for (int l = 0; l < shape->nlevel; l++) {
        width *= (size_t)shape->radix[l];
        tr->width[l] = width;
        nsub += nmax_subgroups(shape, width);
    }
    size_t bytes = nsub * (ntrial * (sizeof(struct psr_node) + 4) + sizeof(size_t)) +
                   (shape->group * ntrial + tr->nslot) * 4;
    char *at = tr->block = malloc(bytes);
    if (!at)
        return psr_fail_nomem(err, "dedispersion patterns", (double)bytes);
    for (int l = 0; l < shape->nlevel; l++) {
        size_t n = nmax_subgroups(shape, tr->width[l]);
        tr->nnode[l] = (size_t *)at;
        at += n * sizeof(size_t);
    }
    for (int l = 0; l < shape->nlevel; l++) {
        size_t n = nmax_subgroups(shape, tr->width[l]) * ntrial;
        tr->node[l] = (struct psr_node *)at;
        at += n * sizeof(struct psr_node);
        tr->pattern[l] = (int32_t *)at;
        at += n * 4;
    }
    tr->delay = (int32_t *)at;
    tr->slot = (int32_t *)(at + shape->group * ntrial * 4);
    return PSR_OK;
}

struct psr_tree_parts psr_tree_parts(const struct psr_tree *tr, int level, size_t sub)
{
    size_t radix = (size_t)tr->shape->radix[level], width = level ? tr->width[level - 1] : 1;
    size_t below = level ? psr_tree_subgroups(tr, level - 1) : tr->nchan;
    struct psr_tree_parts p = {.first = sub * radix};
    for (; p.n < radix && p.first + p.n < below; p.n++) {
        size_t q = p.first + p.n;
        p.delay[p.n] = tr->delay + q * width * tr->ntrial;
        p.pattern[p.n] = level ? tr->pattern[level - 1] + q * tr->ntrial : NULL;
        p.node[p.n] = level ? tr->node[level - 1] + q * tr->ntrial : NULL;
    }
    return p;
}

/* Trials far apart in delay do not share a node, as it would have to reach over all that is between
 * them. */
static int32_t far_apart(const struct psr_tree_shape *shape, int32_t delay)
{
    return delay / (2 * (int32_t)shape->tile);
}

static uint32_t hash_trial(const struct psr_tree_parts *p, size_t i,
                           const struct psr_tree_shape *shape)
{
    uint32_t h = p->pattern[0] ? (uint32_t)p->pattern[0][i] : 0, first = (uint32_t)p->delay[0][i];
    for (size_t q = 1; q < p->n; q++) {
        h = h * UINT32_C(0x9E3779B1) + (uint32_t)p->delay[q][i] - first;
        if (p->pattern[q])
            h = h * UINT32_C(0x85EBCA77) + (uint32_t)p->pattern[q][i];
    }
    h += (uint32_t)far_apart(shape, p->delay[0][i]);
    h *= UINT32_C(0xC2B2AE3D);
    return h ^ h >> 15;
}

static bool same_pattern(const struct psr_tree_parts *p, size_t i, size_t j,
                         const struct psr_tree_shape *shape)
{
    int32_t shift = p->delay[0][i] - p->delay[0][j];
    if (far_apart(shape, p->delay[0][i]) != far_apart(shape, p->delay[0][j]))
        return false;
    for (size_t q = 0; q < p->n; q++)
        if (p->delay[q][i] - p->delay[q][j] != shift ||
            (p->pattern[q] && p->pattern[q][i] != p->pattern[q][j]))
            return false;
    return true;
}

static void find_patterns(struct psr_tree *tr, int level, size_t sub)
{
    struct psr_tree_parts p = psr_tree_parts(tr, level, sub);
    struct psr_node *node = tr->node[level] + sub * tr->ntrial;
    int32_t *pattern = tr->pattern[level] + sub * tr->ntrial;
    size_t n = 0;
    memset(tr->slot, 0xff, tr->nslot * sizeof *tr->slot);
    for (size_t i = 0; i < tr->ntrial; i++) {
        size_t at = hash_trial(&p, i, tr->shape) & (tr->nslot - 1);
        while (tr->slot[at] >= 0 && !same_pattern(&p, i, (size_t)node[tr->slot[at]].rep, tr->shape))
            at = (at + 1) & (tr->nslot - 1);
        if (tr->slot[at] < 0) {
            tr->slot[at] = (int32_t)n;
            node[n++] = (struct psr_node){.rep = (int32_t)i, .lo = INT32_MAX, .hi = INT32_MIN};
        }
        pattern[i] = tr->slot[at];
    }
    tr->nnode[level][sub] = n;
}

static void widen(struct psr_node *node, int32_t lo, int32_t hi)
{
    node->lo = lo < node->lo ? lo : node->lo;
    node->hi = hi > node->hi ? hi : node->hi;
}

/* The lanes beside a tile's length that a node makes, a whole number of registers; hi grows with
 * it, so that what the kernels read is always what they made. */
static void round_up(struct psr_node *node)
{
    int32_t extra = node->hi - node->lo;
    extra = (extra + PSR_LANE_ROUND - 1) / PSR_LANE_ROUND * PSR_LANE_ROUND;
    node->hi = node->lo + extra;
}

void psr_tree_grow(struct psr_tree *tr, const struct psr_dedisp_layout *s, size_t k0, size_t i0)
{
    size_t left = s->nkept - k0;
    tr->nchan = left < tr->shape->group ? left : tr->shape->group;
    for (size_t c = 0; c < tr->nchan; c++)
        psr_dedisp_layout_delays(s, k0 + c, i0, tr->ntrial, tr->delay + c * tr->ntrial);
    int top = tr->shape->nlevel - 1;
    for (int l = 0; l <= top; l++)
        for (size_t sub = 0; sub < psr_tree_subgroups(tr, l); sub++)
            find_patterns(tr, l, sub);
    for (size_t i = 0; i < tr->ntrial; i++)
        widen(tr->node[top] + tr->pattern[top][i], tr->delay[i], tr->delay[i]);
    for (int l = top; l >= 0; l--)
        for (size_t sub = 0; sub < psr_tree_subgroups(tr, l); sub++) {
            for (size_t n = 0; n < tr->nnode[l][sub]; n++)
                round_up(tr->node[l] + sub * tr->ntrial + n);
            if (l) {
                struct psr_tree_parts p = psr_tree_parts(tr, l, sub);
                const struct psr_node *node = tr->node[l] + sub * tr->ntrial;
                for (size_t n = 0; n < tr->nnode[l][sub]; n++)
                    for (size_t q = 0; q < p.n; q++) {
                        int32_t rep = node[n].rep, shift = p.delay[q][rep] - p.delay[0][rep];
                        widen(p.node[q] + p.pattern[q][rep], node[n].lo + shift,
                              node[n].hi + shift);
                    }
            }
        }
}

size_t psr_tree_level_lanes(const struct psr_tree *tr, int level)
{
    size_t lanes = 0;
    for (size_t sub = 0; sub < psr_tree_subgroups(tr, level); sub++)
        for (size_t n = 0; n < tr->nnode[level][sub]; n++) {
            const struct psr_node *node = tr->node[level] + sub * tr->ntrial + n;
            lanes += tr->shape->tile + (size_t)(node->hi - node->lo);
        }
    return lanes;
}

size_t psr_tree_lower_lanes(const struct psr_tree *tr)
{
    size_t lanes = 0;
    for (int l = 0; l < tr->shape->nlevel - 1; l++)
        lanes += psr_tree_level_lanes(tr, l);
    return lanes;
}

void psr_tree_destroy(struct psr_tree *tr)
{
    free(tr->block);
    tr->block = NULL;
}
