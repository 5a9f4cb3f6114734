/* Writes programs: which partial sums to make, in what order, and where to keep them.
 *
 * Steps are written from the leaves of a group up, one group at a time, so that its lower levels
 * stay in the first cache.  The top nodes of as many groups as the second cache and the lanes'
 * width hold make a chunk, which every trial then sums in registers. */
#include "dedisp_cpu.h"

#include <stdlib.h>
#include <string.h>

/* --- partial sums that the trials of a block share -------------------------------------------- */

/* Channels form sub-groups, these form larger ones, and so on, according to the shape's radix[].
 * The contribution of a sub-group to a trial depends only on the delay of its first channel, which
 * shifts the whole sum, and on the delays of the other channels relative to it, the pattern.
 * Trials with the same pattern share one node.  Equal patterns are found from the leaves up by
 * hashing; then the time range of each node is computed from the top down. */

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
struct tree_parts {
    size_t n, first;                      /* how many, and the number of the first */
    const int32_t *pattern[PSR_MAXGROUP]; /* NULL for channels */
    const int32_t *delay[PSR_MAXGROUP];   /* of the first channel of each */
    struct psr_node *node[PSR_MAXGROUP];
};

static size_t tree_subgroups(const struct psr_tree *tr, int level)
{
    return (tr->nchan + tr->width[level] - 1) / tr->width[level];
}

static size_t nmax_subgroups(const struct psr_tree_shape *shape, size_t width)
{
    return (shape->group + width - 1) / width;
}

static psr_status tree_create(struct psr_tree *tr, const struct psr_tree_shape *shape,
                              size_t ntrial, psr_err *err)
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

static struct tree_parts tree_parts(const struct psr_tree *tr, int level, size_t sub)
{
    size_t radix = (size_t)tr->shape->radix[level], width = level ? tr->width[level - 1] : 1;
    size_t below = level ? tree_subgroups(tr, level - 1) : tr->nchan;
    struct tree_parts p = {.first = sub * radix};
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

static uint32_t hash_trial(const struct tree_parts *p, size_t i, const struct psr_tree_shape *shape)
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

static bool same_pattern(const struct tree_parts *p, size_t i, size_t j,
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
    struct tree_parts p = tree_parts(tr, level, sub);
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

/* Finds the nodes of the group that begins at kept channel k0, for trials from i0 on. */
static void tree_grow(struct psr_tree *tr, const struct psr_dedisp_layout *s, size_t k0, size_t i0)
{
    size_t left = s->nkept - k0;
    tr->nchan = left < tr->shape->group ? left : tr->shape->group;
    for (size_t c = 0; c < tr->nchan; c++)
        psr_dedisp_layout_delays(s, k0 + c, i0, tr->ntrial, tr->delay + c * tr->ntrial);
    int top = tr->shape->nlevel - 1;
    for (int l = 0; l <= top; l++)
        for (size_t sub = 0; sub < tree_subgroups(tr, l); sub++)
            find_patterns(tr, l, sub);
    for (size_t i = 0; i < tr->ntrial; i++)
        widen(tr->node[top] + tr->pattern[top][i], tr->delay[i], tr->delay[i]);
    for (int l = top; l >= 0; l--)
        for (size_t sub = 0; sub < tree_subgroups(tr, l); sub++) {
            for (size_t n = 0; n < tr->nnode[l][sub]; n++)
                round_up(tr->node[l] + sub * tr->ntrial + n);
            if (l) {
                struct tree_parts p = tree_parts(tr, l, sub);
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

static size_t tree_level_lanes(const struct psr_tree *tr, int level)
{
    size_t lanes = 0;
    for (size_t sub = 0; sub < tree_subgroups(tr, level); sub++)
        for (size_t n = 0; n < tr->nnode[level][sub]; n++) {
            const struct psr_node *node = tr->node[level] + sub * tr->ntrial + n;
            lanes += tr->shape->tile + (size_t)(node->hi - node->lo);
        }
    return lanes;
}

/* Lanes that all nodes of a level, or all levels but the top, take. */
static size_t tree_lower_lanes(const struct psr_tree *tr)
{
    size_t lanes = 0;
    for (int l = 0; l < tr->shape->nlevel - 1; l++)
        lanes += tree_level_lanes(tr, l);
    return lanes;
}

static void tree_destroy(struct psr_tree *tr)
{
    free(tr->block);
    tr->block = NULL;
}

/* --- which shape of tree to use --------------------------------------------------------------- */

/* The best one depends on the band, the trials and the samples: many neighbouring trials share deep trees, few or distant
 * ones share little.  Every shape of a short list is grown for a few groups of channels and blocks of trials, and its cost
 * added up. */

static const int radices[][PSR_MAXLEVEL] = {
    {1},       {2},    {4},       {8},    {16},         {32},         {2, 2}, {4, 2},
    {2, 2, 2}, {4, 4}, {4, 2, 2}, {8, 2}, {2, 2, 2, 2}, {4, 2, 2, 2}, {8, 4}, {2, 2, 2, 2, 2},
};
static const size_t blocks[] = {1, 4, 16, 32, 64, 128, 200, 256, 512};
static const size_t tiles[] = {512, 1024, 2048};
enum {
    NRADICES = sizeof radices / sizeof *radices,
    NBLOCKS = sizeof blocks / sizeof *blocks,
    NTILES = sizeof tiles / sizeof *tiles,
};

/* Cycles for a register of 64 bytes, as measured with the kernels: a node's parts are in the first
 * cache as a rule, and the nodes that trials sum in the second. */
static const double cost_part = 2.0;   /* read a part of a node, unaligned, and add it */
static const double cost_store = 1.5;  /* write a node */
static const double cost_load = 3.2;   /* read a node, unaligned, and add it to a trial */
static const double cost_sum = 6.0;    /* read a trial's sum and write it back */
static const double cost_total = 14.0; /* add a trial's sum to its total */
static const double cost_step = 30.0;  /* not for a register: to begin a step */
static const double cost_line = 6.0;   /* to fetch samples from the third cache */
static const double cost_spill = 2.0;  /* a factor where one group outgrows the second cache */

enum { FLOAT_CHUNK = 16 }; /* channels summed in single precision before double: 15 roundings */

static double cost_of_level(const struct psr_tree *tr, int level, double lanes_per_register)
{
    double cost = 0;
    for (size_t sub = 0; sub < tree_subgroups(tr, level); sub++) {
        double nsrc = (double)tree_parts(tr, level, sub).n;
        for (size_t n = 0; n < tr->nnode[level][sub]; n++) {
            const struct psr_node *node = tr->node[level] + sub * tr->ntrial + n;
            double registers =
                (double)(tr->shape->tile + (size_t)(node->hi - node->lo)) / lanes_per_register;
            cost += cost_step + registers * (nsrc * cost_part + cost_store);
        }
    }
    return cost;
}

/* Largest number of groups that a chunk holds. */
static double groups_per_chunk(const struct psr_tree *tr, const struct psr_planner *pl)
{
    double top = (double)tree_level_lanes(tr, tr->shape->nlevel - 1);
    double room = PSR_SCRATCH_BYTES / (double)pl->node_bytes - (double)tree_lower_lanes(tr);
    double n = room / top < PSR_MAXTOP ? room / top : PSR_MAXTOP;
    return n > 1 ? n : 1;
}

static double cost_of_group(const struct psr_tree *tr, const struct psr_planner *pl,
                            size_t store_bytes)
{
    double per_register = 64.0 / (double)pl->node_bytes, tile = (double)tr->shape->tile;
    double scratch = (double)(tree_level_lanes(tr, tr->shape->nlevel - 1) + tree_lower_lanes(tr)) *
                     (double)pl->node_bytes;
    double cost = 0;
    for (int l = 0; l < tr->shape->nlevel; l++)
        cost += cost_of_level(tr, l, per_register);
    double each = (cost_sum * tile / per_register + cost_step) / groups_per_chunk(tr, pl);
    each += cost_total * tile / per_register * (double)tr->shape->group / (double)pl->chunk;
    cost += (double)tr->ntrial * (cost_load * tile / per_register + each);
    if (scratch > PSR_SCRATCH_BYTES)
        cost *= cost_spill;
    double reach = (double)(tr->delay[tr->ntrial - 1] - tr->delay[0]);
    reach = tile + (reach < 0 ? -reach : reach);
    cost += (double)tr->nchan * reach * (double)store_bytes / 64 * cost_line;
    return cost;
}

/* Mean cost per output sample, trial and channel over groups and blocks of trials spread evenly. */
static psr_status cost_of_shape(const struct psr_planner *pl, size_t store_bytes, double *cost,
                                psr_err *err)
{
    enum { NGROUP = 3, NBLOCK = 2 };
    const struct psr_dedisp_layout *s = pl->layout;
    const struct psr_tree_shape *shape = &pl->shape;
    struct psr_tree tree;
    psr_status st = tree_create(&tree, shape, shape->ntrial, err);
    if (st)
        return st;
    size_t ngroup = s->nkept / shape->group;
    double sum = 0;
    for (size_t b = 0; b < NBLOCK; b++)
        for (size_t g = 0; g < NGROUP; g++) {
            size_t i0 = (s->ndm - shape->ntrial) * (2 * b + 1) / (2 * NBLOCK);
            size_t group = ngroup * (2 * g + 1) / (2 * NGROUP);
            tree_grow(&tree, s, group * shape->group, i0);
            sum += cost_of_group(&tree, pl, store_bytes) / (double)tree.nchan;
        }
    tree_destroy(&tree);
    *cost = sum / (NBLOCK * NGROUP * (double)shape->ntrial * (double)shape->tile);
    return PSR_OK;
}

/* As many trials as nearest to "want" gives blocks of one size. */
static size_t even_block(size_t ndm, size_t want)
{
    size_t nblock = (ndm + want - 1) / want;
    return (ndm + nblock - 1) / nblock;
}

static void set_shape(struct psr_tree_shape *shape, const int *radix, size_t ntrial, size_t tile)
{
    *shape = (struct psr_tree_shape){.group = 1, .ntrial = ntrial, .tile = tile};
    for (; shape->nlevel < PSR_MAXLEVEL && radix[shape->nlevel]; shape->nlevel++) {
        shape->radix[shape->nlevel] = radix[shape->nlevel];
        shape->group *= (size_t)radix[shape->nlevel];
    }
}

static psr_status try_radices(struct psr_planner *pl, const int *radix, size_t store_bytes,
                              struct psr_tree_shape *best, double *least, psr_err *err)
{
    size_t ndm = pl->layout->ndm;
    for (int b = 0; b < NBLOCKS; b++) {
        if (b && blocks[b - 1] >= ndm)
            break;
        for (int t = 0; t < NTILES; t++) {
            double cost;
            set_shape(&pl->shape, radix, even_block(ndm, blocks[b]), tiles[t]);
            if (pl->shape.group > 1 &&
                (pl->shape.group > pl->layout->nkept || pl->shape.group > pl->chunk))
                return PSR_OK;
            psr_status st = cost_of_shape(pl, store_bytes, &cost, err);
            if (st)
                return st;
            if (*least <= 0 || cost < *least) {
                *least = cost;
                *best = pl->shape;
            }
        }
    }
    return PSR_OK;
}

void psr_planner_begin(struct psr_planner *pl, const struct psr_dedisp_layout *s,
                       const struct psr_lanes *lanes)
{
    uint64_t sample_max = psr_dedisp_layout_sample_max(s),
             chunk = sample_max ? lanes->node_max / sample_max : FLOAT_CHUNK;
    *pl = (struct psr_planner){.layout = s,
                               .store_bytes = lanes->store_bytes,
                               .node_bytes = lanes->node_bytes,
                               .total_bytes = lanes->total_bytes};
    pl->chunk = chunk < s->nkept ? (size_t)chunk : s->nkept;
}

psr_status psr_planner_choose(struct psr_planner *pl, psr_err *err)
{
    struct psr_tree_shape best = {0};
    double least = 0;
    for (int r = 0; r < NRADICES; r++) {
        psr_status st = try_radices(pl, radices[r], pl->store_bytes, &best, &least, err);
        if (st)
            return st;
    }
    pl->shape = best;
    return PSR_OK;
}

/* --- writes programs: which partial sums to make, in what order, and where to keep them ------- */

struct writer {
    const struct psr_planner *pl;
    struct psr_program *program;
    struct psr_tree tree;
    size_t i0;
    size_t sum_lanes; /* of the sums of all trials, at the start of the scratch space */
    size_t top_lanes; /* of the chunk so far, behind them */
    size_t ntop;      /* groups in the chunk so far */
    size_t open_chan; /* channels in the sums of all trials, chunks before this included */
    bool open;        /* these sums have begun */
    bool first;       /* totals have not */
    int32_t *place;   /* [PSR_MAXTOP][ntrial] where each trial finds its sum of each group */
};

psr_status psr_program_reserve(struct psr_program *pr, size_t n, psr_err *err)
{
    if (pr->ncode + n <= pr->room)
        return PSR_OK;
    size_t room = pr->room ? pr->room : 1024;
    while (room < pr->ncode + n)
        room += room / 2;
    return psr_reserve(&pr->code, &pr->room, room, sizeof *pr->code, "a dedispersion program", err);
}

/* Writes all nodes of one level of the group in w->tree; they are placed from lane "at" on. */
static psr_status write_level(struct writer *w, int level, size_t k0, size_t *at, psr_err *err)
{
    struct psr_tree *tr = &w->tree;
    for (size_t sub = 0; sub < tree_subgroups(tr, level); sub++) {
        struct tree_parts p = tree_parts(tr, level, sub);
        for (size_t n = 0; n < tr->nnode[level][sub]; n++) {
            struct psr_node *node = tr->node[level] + sub * tr->ntrial + n;
            node->place = (int32_t)*at;
            *at += tr->shape->tile + (size_t)(node->hi - node->lo);
            struct psr_program *pr = w->program;
            psr_status st = psr_program_reserve(pr, 3 + 2 * p.n, err);
            if (st)
                return st;
            int32_t kind = level ? PSR_STEP_NODE : PSR_STEP_LEAF, rep = node->rep;
            psr_program_put(pr, kind | (int32_t)p.n << PSR_STEP_SHIFT);
            psr_program_put(pr, node->place);
            psr_program_put(pr, node->hi - node->lo);
            for (size_t q = 0; q < p.n; q++) {
                int32_t shift = node->lo + p.delay[q][rep] - p.delay[0][rep];
                if (level) {
                    const struct psr_node *part = p.node[q] + p.pattern[q][rep];
                    psr_program_put(pr, part->place + shift - part->lo);
                } else {
                    psr_program_put(pr, (int32_t)(k0 + p.first + q));
                    psr_program_put(pr, shift);
                }
            }
            double reach = 1 + (double)(node->hi - node->lo) / (double)w->pl->shape.tile;
            pr->adds += (double)(p.n - (p.n > 1)) * reach;
        }
    }
    return PSR_OK;
}

/* Where the group at k0 will read, for any trial. */
static psr_status write_fetch(struct writer *w, size_t k0, psr_err *err)
{
    const struct psr_dedisp_layout *s = w->pl->layout;
    struct psr_program *pr = w->program;
    size_t left = s->nkept - k0, nchan = left < w->pl->shape.group ? left : w->pl->shape.group;
    psr_status st = psr_program_reserve(pr, 1 + 3 * nchan, err);
    if (st)
        return st;
    psr_program_put(pr, PSR_STEP_FETCH | (int32_t)nchan << PSR_STEP_SHIFT);
    for (size_t c = 0; c < nchan; c++) {
        int32_t d[2];
        psr_dedisp_layout_delays(s, k0 + c, w->i0, 1, d);
        psr_dedisp_layout_delays(s, k0 + c, w->i0 + w->tree.ntrial - 1, 1, d + 1);
        bool rising = d[0] < d[1];
        int32_t reach = rising ? d[1] - d[0] : d[0] - d[1], most = (int32_t)w->pl->shape.tile;
        psr_program_put(pr, (int32_t)(k0 + c));
        psr_program_put(pr, d[!rising]);
        psr_program_put(pr, reach < most ? reach : most);
    }
    return PSR_OK;
}

/* The lower levels lie above the top nodes of the chunk, and the next group overwrites them. */
static psr_status write_group(struct writer *w, size_t k0, psr_err *err)
{
    struct psr_tree *tr = &w->tree;
    int top = tr->shape->nlevel - 1;
    size_t top_at = w->sum_lanes + w->top_lanes, at = top_at + tree_level_lanes(tr, top);
    psr_status st = PSR_OK;
    for (int l = 0; l < top && !st; l++)
        st = write_level(w, l, k0, &at, err);
    if (st || (st = write_level(w, top, k0, &top_at, err)))
        return st;
    w->top_lanes = top_at - w->sum_lanes;
    if (at > w->program->scratch)
        w->program->scratch = at;
    for (size_t i = 0; i < tr->ntrial; i++) {
        const struct psr_node *node = tr->node[top] + tr->pattern[top][i];
        w->place[w->ntop * tr->ntrial + i] = node->place + tr->delay[i] - node->lo;
    }
    w->ntop++;
    w->open_chan += tr->nchan;
    return PSR_OK;
}

/* Adds the chunk to the sums of all trials; close: and these to their totals. */
static psr_status write_trials(struct writer *w, bool close, bool last, psr_err *err)
{
    struct psr_program *pr = w->program;
    size_t ntrial = w->tree.ntrial;
    psr_status st = psr_program_reserve(pr, ntrial * (2 + w->ntop), err);
    if (st)
        return st;
    int32_t flags = (w->open ? 0 : PSR_STEP_OPEN) | (close ? PSR_STEP_CLOSE : 0) |
                    (w->first ? PSR_STEP_FIRST : 0) | (last ? PSR_STEP_LAST : 0);
    for (size_t i = 0; i < ntrial; i++) {
        psr_program_put(pr, PSR_STEP_TRIAL | flags | (int32_t)w->ntop << PSR_STEP_SHIFT);
        psr_program_put(pr, (int32_t)i);
        for (size_t g = 0; g < w->ntop; g++)
            psr_program_put(pr, w->place[g * ntrial + i]);
    }
    pr->adds += (double)ntrial * (double)(w->ntop + !w->first - (w->open && w->first));
    w->ntop = w->top_lanes = 0;
    w->open = !close;
    if (close) {
        w->open_chan = 0;
        w->first = false;
    }
    return PSR_OK;
}

/* Writes out the chunk where the group in w->tree does not fit in: into the second cache, or into
 * what a lane can hold. */
static psr_status make_space(struct writer *w, psr_err *err)
{
    size_t top = tree_level_lanes(&w->tree, w->tree.shape->nlevel - 1);
    size_t lanes = w->top_lanes + top + tree_lower_lanes(&w->tree);
    bool overflow = w->open_chan + w->tree.nchan > w->pl->chunk;
    bool full = w->ntop == PSR_MAXTOP || lanes * w->pl->node_bytes > PSR_SCRATCH_BYTES;
    if (!w->ntop && !(overflow && w->open))
        return PSR_OK;
    return overflow || full ? write_trials(w, overflow, false, err) : PSR_OK;
}

static psr_status write_all(struct writer *w, psr_err *err)
{
    const struct psr_dedisp_layout *s = w->pl->layout;
    size_t group = w->pl->shape.group;
    for (size_t k0 = 0; k0 < s->nkept; k0 += group) {
        tree_grow(&w->tree, s, k0, w->i0);
        psr_status st = make_space(w, err);
        if (!st && k0 + group < s->nkept)
            st = write_fetch(w, k0 + group, err);
        if (!st)
            st = write_group(w, k0, err);
        if (st)
            return st;
    }
    return write_trials(w, true, true, err);
}

psr_status psr_planner_program(const struct psr_planner *pl, size_t i0, struct psr_program *program,
                               psr_err *err)
{
    size_t left = pl->layout->ndm - i0;
    size_t ntrial = left < pl->shape.ntrial ? left : pl->shape.ntrial;
    struct writer w = {.pl = pl, .program = program, .i0 = i0, .first = true};
    w.sum_lanes = ntrial * pl->shape.tile;
    program->ncode = program->scratch = 0;
    program->adds = 0;
    psr_status st = tree_create(&w.tree, &pl->shape, ntrial, err);
    if (st)
        return st;
    w.place = malloc(PSR_MAXTOP * ntrial * sizeof *w.place);
    st = w.place ? write_all(&w, err) : psr_fail_nomem(err, "trial sums", 256.0 * (double)ntrial);
    free(w.place);
    tree_destroy(&w.tree);
    return st;
}
