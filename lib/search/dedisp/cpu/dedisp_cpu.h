/* dedisp_cpu.h: dedispersion on the CPU (private).
 *
 * The planner (dedisp_cpu_plan.c) converts a block of trials into a program: a list of vector
 * additions in which every partial sum shared by several trials is computed once.  The kernels
 * (dedisp_cpu.c) run a program on a tile of samples.  For the tree algorithm,
 * dedisp_cpu_merge.c writes the programs, with the steps wide, widen and out.  The stream (dedisp_cpu.c) keeps the
 * samples, and distributes (block of trials, tile) pairs over threads. */
#ifndef PSR_SEARCH_DEDISP_CPU_DEDISP_CPU_H
#define PSR_SEARCH_DEDISP_CPU_DEDISP_CPU_H

#include "base/tool.h"
#include "search/dedisp/dedisp_internal.h"

/* A program is a run of 32-bit words: for each step a head, what the head says, and the sources.
 *   leaf   head, dst, extra, nsrc x (channel, delay)    node = sum of channels
 *   node   head, dst, extra, nsrc x place               node = sum of nodes
 *   trial  head, trial, nsrc x place                    sum of a trial += sum of nodes
 *   fetch  head, nsrc x (channel, delay, extra)         these samples will be wanted soon
 *   widen  head, dst, extra, nsrc x place               wide node = sum of nodes
 *   wide   head, dst, extra, nsrc x place               wide node = sum of wide nodes
 *   out    head, trial, nsrc x place                    a trial = sum of nodes
 *   outw   head, trial, nsrc x place                    a trial = sum of wide nodes
 * dst and place count lanes in the scratch space, those of wide nodes wide lanes, which hold totals.
 * It begins with the sums in lanes of all trials.  The trial of out and outw is one of the plan.  A leaf or node step makes the length of the tile and extra lanes more. */
enum psr_program_step {
    PSR_STEP_LEAF = 0,
    PSR_STEP_NODE = 1,
    PSR_STEP_TRIAL = 2,
    PSR_STEP_FETCH = 3,
    PSR_STEP_WIDEN = 4,
    PSR_STEP_WIDE = 5,
    PSR_STEP_OUT = 6,
    PSR_STEP_OUTW = 7,
    PSR_STEP_KIND = 7,
    PSR_STEP_OPEN = 8,   /* of a trial: its sum in lanes begins here */
    PSR_STEP_CLOSE = 16, /* of a trial: its sum in lanes goes to its total in wider numbers */
    PSR_STEP_FIRST = 32, /* of a trial: its total begins here */
    PSR_STEP_LAST = 64,  /* of a trial: its total is complete */
    PSR_STEP_SHIFT = 8,  /* the number of sources is above these bits */
};
enum {
    PSR_MAXSRC = 65,               /* of a step */
    PSR_MAXTOP = PSR_MAXSRC - 1,   /* groups of a chunk; the sum so far is a source too */
    PSR_LANE_ROUND = 32,           /* lanes come in whole registers of any kind */
    PSR_SCRATCH_BYTES = 512 << 10, /* of a chunk's nodes, to stay within the second cache */
};

struct psr_program {
    int32_t *code;
    size_t ncode, room;
    size_t scratch; /* lanes */
    double adds;    /* per output sample, for all trials of the program */
    double cost;    /* of a tile of the tree algorithm, in bytes of registers loaded and stored */
};

/* The latest samples of a channel, in a circle: its first PSR_RING_PAD samples are repeated behind
 * the last. */
enum { PSR_RING_PAD = 64 };
struct psr_ring {
    const void *base;
    int32_t size;  /* samples */
    int32_t head;  /* where output sample 0 is at delay "least" */
    int32_t least; /* delay of any program */
};

/* One program on one tile. */
struct psr_tile {
    const struct psr_program *program;
    const void *runs;            /* sample 0 of the tile of channel 0 at delay 0 */
    size_t stride;               /* lanes from channel to channel */
    const struct psr_ring *ring; /* [nkept] of the tree algorithm, instead of runs; or NULL */
    int32_t first;               /* output sample at which the tile begins, with rings */
    size_t nsamp;                /* output samples */
    size_t length;               /* the same, up to a multiple of PSR_LANE_ROUND */
    void *scratch, *total;
    size_t trial_stride; /* of totals and sums in lanes */
    float *out;          /* sample 0 of the tile of the program's first trial; of the plan's for
                            programs of the tree algorithm */
    size_t out_stride;
    double bias, downsamp;  /* out = (total - bias) / downsamp */
    const double *row_bias; /* of each row of out, of the tree algorithm; NULL: bias */
};

/* How samples are kept (store), summed in the tree (node), and totalled over the band. */
struct psr_lanes {
    size_t store_bytes, node_bytes, total_bytes;
    uint64_t node_max; /* 0: floats */
    void (*run)(const struct psr_tile *tile);
};

/* The lanes that hold sums of nkept channels of values up to sample_max, and the fastest code for
 * them on this machine. */
struct psr_lanes psr_lanes_for(uint64_t sample_max, size_t nkept);

/* The shape of all programs of a plan. */
enum { PSR_MAXLEVEL = 6 };
struct psr_tree_shape {
    int nlevel;
    int radix[PSR_MAXLEVEL]; /* channels of a leaf, then nodes of a node */
    size_t group;            /* channels below a top node: the product */
    size_t ntrial;           /* trials of a program, at most */
    size_t tile;             /* output samples, at most */
};

struct psr_planner {
    const struct psr_dedisp_layout *layout;
    struct psr_tree_shape shape;
    size_t store_bytes, node_bytes, total_bytes;
    size_t chunk; /* channels that a node can hold without overflow */
    /* Of the tree algorithm. */
    const int32_t *align;                   /* [ndm] added to all delays of a trial; NULL: 0 */
    size_t longest;                         /* tile; 0: any */
    const struct psr_merge_part_band *band; /* [nband] series of sub-bands beside those of trials */
    size_t nband;
};

/* Adjacent parts of the whole band, and where the sums of a trial over them go. */
struct psr_merge_part_band {
    size_t first, nparts;
    const int32_t *row; /* [ndm] of the output, -1: nowhere */
};

void psr_planner_begin(struct psr_planner *pl, const struct psr_dedisp_layout *s,
                       const struct psr_lanes *lanes);

/* Takes the shape that costs least on a few groups and blocks of trials. */
PSR_MUST_CHECK psr_status psr_planner_choose(struct psr_planner *pl, psr_err *err);

/* Makes the program of trials i0 .. i0 + ntrial - 1. */
PSR_MUST_CHECK psr_status psr_planner_program(const struct psr_planner *pl, size_t i0,
                                              struct psr_program *program, psr_err *err);

/* The same two for the tree algorithm; trials are in order of DM there. */
PSR_MUST_CHECK psr_status psr_merge_choose(struct psr_planner *pl, psr_err *err);
PSR_MUST_CHECK psr_status psr_merge_program(const struct psr_planner *pl, size_t i0,
                                            struct psr_program *program, psr_err *err);

/* Makes room in a program for n more words, and adds one. */
PSR_MUST_CHECK psr_status psr_program_reserve(struct psr_program *program, size_t n, psr_err *err);

static inline void psr_program_put(struct psr_program *program, int32_t word)
{
    program->code[program->ncode++] = word;
}

#endif
