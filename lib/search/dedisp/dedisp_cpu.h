/* dedisp_cpu.h: dedispersion on the CPU (private).
 *
 * The planner (dedisp_cpu_plan.c) converts a block of trials into a program: a list of vector
 * additions in which every partial sum shared by several trials is computed once.  The kernels
 * (dedisp_cpu_kernel.c) run a program on a tile of samples.  The stream (dedisp_cpu.c) keeps the
 * samples, and distributes (block of trials, tile) pairs over threads. */
#ifndef PSR_SEARCH_DEDISP_CPU_H
#define PSR_SEARCH_DEDISP_CPU_H

#include "dedisp_backend.h"

/* A program is a run of 32-bit words: for each step a head, what the head says, and the sources.
 *   leaf   head, dst, extra, nsrc x (channel, delay)    node = sum of channels
 *   node   head, dst, extra, nsrc x place               node = sum of nodes
 *   trial  head, trial, nsrc x place                    sum of a trial += sum of nodes
 *   fetch  head, nsrc x (channel, delay, extra)         these samples will be wanted soon
 * dst and place count lanes in the scratch space, which begins with the sums in lanes of all
 * trials.  A leaf or node step makes the length of the tile and extra lanes more. */
enum psr_program_step {
    PSR_STEP_LEAF = 0,
    PSR_STEP_NODE = 1,
    PSR_STEP_TRIAL = 2,
    PSR_STEP_FETCH = 3,
    PSR_STEP_KIND = 3,
    PSR_STEP_OPEN = 4,   /* of a trial: its sum in lanes begins here */
    PSR_STEP_CLOSE = 8,  /* of a trial: its sum in lanes goes to its total in wider numbers */
    PSR_STEP_FIRST = 16, /* of a trial: its total begins here */
    PSR_STEP_LAST = 32,  /* of a trial: its total is complete */
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
};

/* One program on one tile. */
struct psr_tile {
    const struct psr_program *program;
    const void *runs; /* sample 0 of the tile of channel 0 at delay 0 */
    size_t stride;    /* lanes from channel to channel */
    size_t nsamp;     /* output samples */
    size_t length;    /* the same, up to a multiple of PSR_LANE_ROUND */
    void *scratch, *total;
    size_t trial_stride; /* of totals and sums in lanes */
    float *out;          /* sample 0 of the tile of the program's first trial */
    size_t out_stride;
    double bias, downsamp; /* out = (total - bias) / downsamp */
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
    size_t node_bytes;
    size_t chunk; /* channels that a node can hold without overflow */
};

/* Takes the shape that costs least on a few groups and blocks of trials. */
PSR_MUST_CHECK psr_status psr_planner_choose(struct psr_planner *pl,
                                             const struct psr_dedisp_layout *s,
                                             const struct psr_lanes *lanes, psr_err *err);

/* Makes the program of trials i0 .. i0 + ntrial - 1. */
PSR_MUST_CHECK psr_status psr_planner_program(const struct psr_planner *pl, size_t i0,
                                              struct psr_program *program, psr_err *err);

#endif
