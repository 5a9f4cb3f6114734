/* Which shape of tree to use.
 *
 * The best one depends on the band, the trials and the samples: many neighbouring trials share deep
 * trees, few or distant ones share little.  Every shape of a short list is grown for a few groups
 * of channels and blocks of trials, and its cost added up. */
#include "dedisp_cpu_tree.h"

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
    for (size_t sub = 0; sub < psr_tree_subgroups(tr, level); sub++) {
        double nsrc = (double)psr_tree_parts(tr, level, sub).n;
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
    double top = (double)psr_tree_level_lanes(tr, tr->shape->nlevel - 1);
    double room = PSR_SCRATCH_BYTES / (double)pl->node_bytes - (double)psr_tree_lower_lanes(tr);
    double n = room / top < PSR_MAXTOP ? room / top : PSR_MAXTOP;
    return n > 1 ? n : 1;
}

static double cost_of_group(const struct psr_tree *tr, const struct psr_planner *pl,
                            size_t store_bytes)
{
    double per_register = 64.0 / (double)pl->node_bytes, tile = (double)tr->shape->tile;
    double scratch =
        (double)(psr_tree_level_lanes(tr, tr->shape->nlevel - 1) + psr_tree_lower_lanes(tr)) *
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
    psr_status st = psr_tree_create(&tree, shape, shape->ntrial, err);
    if (st)
        return st;
    size_t ngroup = s->nkept / shape->group;
    double sum = 0;
    for (size_t b = 0; b < NBLOCK; b++)
        for (size_t g = 0; g < NGROUP; g++) {
            size_t i0 = (s->ndm - shape->ntrial) * (2 * b + 1) / (2 * NBLOCK);
            size_t group = ngroup * (2 * g + 1) / (2 * NGROUP);
            psr_tree_grow(&tree, s, group * shape->group, i0);
            sum += cost_of_group(&tree, pl, store_bytes) / (double)tree.nchan;
        }
    psr_tree_destroy(&tree);
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
