/* The stream: samples come in, are transposed to one run per channel, and stay as long as a later
 * output needs them; programs run on tiles of what is complete. */
#include "dedisp_cpu.h"

#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "base/tool.h"
#include "dsp/channels/cornerturn.h"
#include "formats/spectra/unpack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- kernels for this processor --------------------------------------------------------------- */

#if defined __x86_64__
#include <immintrin.h>
#endif

/* Every kind of lane for one instruction set: the table below names them in this order. */
#define PASTE_(a, b, c) a##_##b##_##c
#define PASTE(a, b, c)  PASTE_(a, b, c)
#define NAME(x)         PASTE(x, KIND, SUFFIX)

#define SUFFIX base
#define ISA
#define VECTOR 16
#include "dedisp_cpu_kinds.h"
#undef SUFFIX
#undef ISA
#undef VECTOR

#if defined __x86_64__
#define SUFFIX avx2
#define ISA    PSR_ISA_FOR_AVX2
#define VECTOR 32
#include "dedisp_cpu_kinds.h"
#undef SUFFIX
#undef ISA
#undef VECTOR

#define SUFFIX avx512
#define ISA    PSR_ISA_FOR_AVX512
#define VECTOR 64
/* One instruction each, where gcc makes five of a conversion of vectors this wide. */
#define WIDEN_8_16(p)  _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define WIDEN_16_32(p) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#define WIDEN_32_64(p) _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(p)))
#include "dedisp_cpu_kinds.h"
#undef SUFFIX
#undef ISA
#undef VECTOR
#endif

/* Narrowest first: the first whose node holds 32 channels is taken, or all channels of fewer. */
static const struct {
    uint64_t store_max, node_max;
    size_t store_bytes, node_bytes, total_bytes;
    void (*run[PSR_NISA])(const struct psr_tile *tile);
} kinds[] = {
    {UINT8_MAX, UINT16_MAX, 1, 2, 4, PSR_ISA_TABLE(run_k8_16)},
    {UINT16_MAX, UINT16_MAX, 2, 2, 4, PSR_ISA_TABLE(run_k16_16)},
    {UINT16_MAX, UINT32_MAX, 2, 4, 8, PSR_ISA_TABLE(run_k16_32)},
    {UINT32_MAX, UINT32_MAX, 4, 4, 8, PSR_ISA_TABLE(run_k32_32)},
    {UINT32_MAX, UINT64_MAX, 4, 8, 8, PSR_ISA_TABLE(run_k32_64)},
    {0, 0, 4, 4, 8, PSR_ISA_TABLE(run_kfloat)},
};

struct psr_lanes psr_lanes_for(uint64_t sample_max, size_t nkept)
{
    size_t k = 0, last = sizeof kinds / sizeof *kinds - 1, nchan = nkept < 32 ? nkept : 32;
    if (sample_max == 0)
        k = last;
    else
        while (sample_max > kinds[k].store_max || sample_max > kinds[k].node_max / nchan)
            k++;
    return (struct psr_lanes){
        .store_bytes = kinds[k].store_bytes,
        .node_bytes = kinds[k].node_bytes,
        .total_bytes = kinds[k].total_bytes,
        .node_max = kinds[k].node_max,
        .run = kinds[k].run[psr_isa_find()],
    };
}

enum {
    LANE_PAD = 256,        /* read, and not used, beyond a run where registers are rounded up */
    TREE_PAD = 512,        /* the same, where there may be more levels */
    PIECE_BYTES = 8 << 20, /* of runs: transposed and summed while in the third cache */
};

struct thread {
    void *scratch, *total;
    size_t scratch_bytes;
};

struct cpu {
    const struct psr_dedisp_layout *s;
    struct psr_lanes lanes;
    struct psr_planner planner;
    struct psr_cornerturn *cornerturn;

    size_t nblock;         /* blocks of trials */
    size_t nkept_programs; /* those of the first blocks; the others are made anew for every piece */
    size_t nslot;          /* places for the latter, behind those kept; 0: all are kept */
    struct psr_program *program; /* [nkept_programs + nslot] */
    double adds;                 /* of all programs, per output sample */

    unsigned char *runs;   /* [nkept][stride] */
    size_t pad;            /* LANE_PAD or TREE_PAD */
    size_t stride, room;   /* room: samples of a run that are in use at most */
    size_t blank;          /* samples before the first */
    uint64_t first;        /* sample at the start of the runs, blank ones counted */
    uint64_t nraw, ndone;  /* spectra taken, samples given */
    size_t piece;          /* samples transposed at once, at most */
    struct thread *thread; /* [nthread] */
};

/* --- programs --------------------------------------------------------------------------------- */

/* Makes the programs of blocks b0 .. b0 + n - 1 at "to".  Nothing but memory can be missing. */
static psr_status make_programs(struct cpu *cpu, size_t b0, size_t n, struct psr_program *to,
                                psr_err *err)
{
    size_t ntrial = cpu->planner.shape.ntrial;
    psr_status (*write)(const struct psr_planner *, size_t, struct psr_program *, psr_err *) =
        cpu->s->algo == PSR_DEDISP_TREE ? psr_merge_program : psr_planner_program;
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(cpu->s->nthread) reduction(+ : failed)      \
    if (n > 1)
    for (size_t b = 0; b < n; b++)
        failed += write(&cpu->planner, (b0 + b) * ntrial, to + b, NULL) != PSR_OK;
    if (failed)
        return psr_fail_nomem(err, "dedispersion programs",
                              (double)n * 4.0 * (double)cpu->program->room);
    return PSR_OK;
}

static size_t scratch_bytes(const struct cpu *cpu, const struct psr_program *program)
{
    return (program->scratch + LANE_PAD) * cpu->lanes.node_bytes;
}

static psr_status grow_scratch(struct cpu *cpu, psr_err *err)
{
    size_t bytes = 0;
    for (size_t b = 0; b < cpu->nkept_programs + cpu->nslot; b++) {
        size_t need = scratch_bytes(cpu, cpu->program + b);
        bytes = need > bytes ? need : bytes;
    }
    bytes = (bytes + 63) / 64 * 64;
    for (int n = 0; n < cpu->s->nthread; n++) {
        struct thread *th = cpu->thread + n;
        if (bytes <= th->scratch_bytes)
            continue;
        free(th->scratch);
        th->scratch_bytes = 0;
        th->scratch = aligned_alloc(64, bytes);
        if (!th->scratch)
            return psr_fail_nomem(err, "partial sums", (double)bytes);
        memset(th->scratch, 0, bytes);
        th->scratch_bytes = bytes;
    }
    return PSR_OK;
}

/* Of a thread; the tree algorithm keeps none. */
static size_t totals_bytes(const struct cpu *cpu)
{
    const struct psr_tree_shape *shape = &cpu->planner.shape;
    return cpu->s->algo == PSR_DEDISP_TREE ? 64
                                           : shape->ntrial * shape->tile * cpu->lanes.total_bytes;
}

/* What programs may take: a quarter of what is left by the samples that outputs need, and by what
 * threads need. */
static double program_bytes(const struct cpu *cpu)
{
    const struct psr_dedisp_layout *s = cpu->s;
    double live = (double)s->maxshift * (double)s->nkept * (double)cpu->lanes.store_bytes;
    double each = (double)scratch_bytes(cpu, cpu->program) + (double)(totals_bytes(cpu));
    return fmax(0, ((double)s->mem_bytes - live - (double)s->nthread * each) / 4);
}

/* One program tells how large they are. */
static psr_status plan_programs(struct cpu *cpu, psr_err *err)
{
    const struct psr_dedisp_layout *s = cpu->s;
    size_t ntrial = cpu->planner.shape.ntrial, cornerturn = 2 * (size_t)s->nthread;
    cpu->nblock = (s->ndm + ntrial - 1) / ntrial;
    cpu->nslot = cornerturn;
    cpu->program = calloc(cpu->nblock + cornerturn, sizeof *cpu->program);
    cpu->thread = calloc((size_t)s->nthread, sizeof *cpu->thread);
    if (!cpu->program || !cpu->thread)
        return psr_fail_nomem(err, "dedispersion programs", (double)cpu->nblock * 48);
    psr_status st = make_programs(cpu, 0, 1, cpu->program, err);
    if (st)
        return st;
    double fit = program_bytes(cpu) / (4.0 * (double)cpu->program->room);
    if (fit < (double)cpu->nblock) {
        cpu->nkept_programs = fit > (double)cornerturn ? (size_t)fit - cornerturn : 0;
    } else {
        cpu->nkept_programs = cpu->nblock;
        cpu->nslot = 0;
    }
    cpu->adds = cpu->program->adds * (double)s->ndm / (double)ntrial;
    if ((st = make_programs(cpu, 0, cpu->nkept_programs, cpu->program, err)) || cpu->nslot)
        return st;
    cpu->adds = 0;
    for (size_t b = 0; b < cpu->nblock; b++)
        cpu->adds += cpu->program[b].adds;
    return grow_scratch(cpu, err);
}

static psr_status make_totals(struct cpu *cpu, psr_err *err)
{
    size_t bytes = (totals_bytes(cpu) + 63) / 64 * 64;
    for (int n = 0; n < cpu->s->nthread; n++) {
        cpu->thread[n].total = aligned_alloc(64, bytes);
        if (!cpu->thread[n].total)
            return psr_fail_nomem(err, "sums over the band", (double)bytes);
    }
    return PSR_OK;
}

/* --- the runs of samples ---------------------------------------------------------------------- */

static double bytes_beside_runs(const struct cpu *cpu)
{
    double bytes = 0;
    for (size_t b = 0; b < cpu->nkept_programs + cpu->nslot; b++)
        bytes += 4.0 * (double)cpu->program[b].room;
    for (int n = 0; n < cpu->s->nthread; n++)
        bytes += (double)cpu->thread[n].scratch_bytes + (double)(totals_bytes(cpu));
    return bytes + (double)cpu->nblock * sizeof *cpu->program;
}

/* Runs have an odd number of cache lines, so that the same sample of neighbouring channels does not
 * fall into the same set of a cache. */
static size_t round_to_odd_lines(size_t lanes, size_t bytes)
{
    size_t line = 64 / bytes, n = (lanes + line - 1) / line;
    return (n | 1) * line;
}

static psr_status fail_memory(const struct cpu *cpu, double runs_bytes, psr_err *err)
{
    const struct psr_dedisp_layout *s = cpu->s;
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    return psr_fail_field(
        err, PSR_ENOMEM, "mem_bytes",
        "dedispersion: memory of %s is below the %s that %zu channels delayed by up to "
        "%zu samples take",
        psr_size_text(have, (double)s->mem_bytes),
        psr_size_text(need, runs_bytes + bytes_beside_runs(cpu)), s->nkept, s->maxshift);
}

/* Room for what later outputs need and a few pieces: what is needed moves to the start of the runs
 * only when they are full, which is once in many pieces, however small the blocks that come in. */
static psr_status make_runs(struct cpu *cpu, psr_err *err)
{
    const struct psr_dedisp_layout *s = cpu->s;
    double row = (double)s->nkept * (double)cpu->lanes.store_bytes;
    size_t live = s->maxshift + 2, tile = cpu->planner.shape.tile;
    size_t work = (4 * (size_t)s->nthread + cpu->nblock - 1) / cpu->nblock * tile;
    size_t piece = (size_t)(PIECE_BYTES / row) / tile * tile;
    piece = piece > work ? piece : work;
    piece = piece > 2 * tile ? piece : 2 * tile;
    size_t slack = 4 * piece > live / 2 ? 4 * piece : live / 2;
    double left = (double)s->mem_bytes - bytes_beside_runs(cpu);
    /* Where memory is short, half of what the live samples leave is for the caller's blocks. */
    double fit = (left / row - (double)(live + cpu->pad)) / 2;
    if ((double)slack > fit) {
        if (fit < 64)
            return fail_memory(cpu, (double)(live + 192 + cpu->pad) * row, err);
        slack = (size_t)fit;
        piece = piece < slack / 2 ? piece : slack / 2;
    }
    cpu->piece = piece;
    cpu->room = live + slack;
    cpu->stride = round_to_odd_lines(cpu->room + cpu->pad, cpu->lanes.store_bytes);
    cpu->runs = calloc(s->nkept * cpu->stride + cpu->pad, cpu->lanes.store_bytes);
    if (!cpu->runs)
        return psr_fail_nomem(err, "samples", (double)cpu->stride * row);
    return PSR_OK;
}

/* Samples so far. */
static uint64_t nstored(const struct cpu *cpu)
{
    return cpu->blank + cpu->nraw / cpu->s->downsamp;
}

/* Spectra that still fit the runs. */
static size_t room_left(const struct cpu *cpu)
{
    return (size_t)((cpu->first + cpu->room - cpu->blank) * cpu->s->downsamp - cpu->nraw);
}

/* --- summing ---------------------------------------------------------------------------------- */

/* A stretch of output samples: where it goes, and in which tiles it is made. */
struct output_span {
    float *out;
    size_t stride, n, length, ntile;
};

static void run_tile(struct cpu *cpu, const struct output_span *x, size_t n, size_t block,
                     const struct psr_program *program)
{
    const struct psr_dedisp_layout *s = cpu->s;
    struct thread *th = cpu->thread + psr_thread_number();
    bool tree = s->algo == PSR_DEDISP_TREE;
    size_t t = n * x->length, trial = tree ? 0 : block * cpu->planner.shape.ntrial;
    if (t >= x->n)
        return;
    struct psr_tile tile = {
        .program = program,
        .runs = cpu->runs + (cpu->ndone - cpu->first + t) * cpu->lanes.store_bytes,
        .stride = cpu->stride,
        .nsamp = x->n - t < x->length ? x->n - t : x->length,
        .length = x->length,
        .scratch = th->scratch,
        .total = th->total,
        .trial_stride = cpu->planner.shape.tile,
        .out = x->out + trial * x->stride + t,
        .out_stride = x->stride,
        .bias = psr_dedisp_layout_offset(s),
        .downsamp = psr_dedisp_layout_divisor(s),
    };
    tile.length = (tile.nsamp + PSR_LANE_ROUND - 1) / PSR_LANE_ROUND * PSR_LANE_ROUND;
    cpu->lanes.run(&tile);
}

/* Programs of blocks b0 .. b0 + nb - 1.  Tiles outside, blocks of trials inside: neighbouring items
 * read the same samples. */
static void run_programs(struct cpu *cpu, const struct output_span *x, size_t b0, size_t nb,
                         const struct psr_program *program)
{
    size_t items = nb * x->ntile;
#pragma omp parallel for schedule(dynamic) num_threads(cpu->s->nthread) if (items > 1)
    for (size_t n = 0; n < items; n++)
        run_tile(cpu, x, n / nb, b0 + n % nb, program + n % nb);
}

static psr_status sum_output_span(struct cpu *cpu, const struct output_span *x, psr_err *err)
{
    struct psr_program *slot = cpu->program + cpu->nkept_programs;
    psr_status st = cpu->nslot ? grow_scratch(cpu, err) : PSR_OK;
    if (st)
        return st;
    run_programs(cpu, x, 0, cpu->nkept_programs, cpu->program);
    for (size_t b0 = cpu->nkept_programs; b0 < cpu->nblock; b0 += cpu->nslot) {
        size_t nb = cpu->nblock - b0 < cpu->nslot ? cpu->nblock - b0 : cpu->nslot;
        if ((st = make_programs(cpu, b0, nb, slot, err)) || (st = grow_scratch(cpu, err)))
            return st;
        run_programs(cpu, x, b0, nb, slot);
    }
    return PSR_OK;
}

static psr_status sum_ready(struct cpu *cpu, float *out, size_t stride, size_t n, psr_err *err)
{
    size_t tile = cpu->planner.shape.tile;
    struct output_span x = {.out = out, .stride = stride, .n = n};
    if (!n)
        return PSR_OK;
    x.ntile = (n + tile - 1) / tile;
    x.length = (n + x.ntile - 1) / x.ntile;
    x.length = (x.length + PSR_LANE_ROUND - 1) / PSR_LANE_ROUND * PSR_LANE_ROUND;
    psr_status st = sum_output_span(cpu, &x, err);
    cpu->ndone += n;
    return st;
}

static psr_status cpu_execute(void *state, const void *in, size_t nsamp, float *out, size_t stride,
                              size_t nout, psr_err *err)
{
    struct cpu *cpu = state;
    const unsigned char *spectra = in;
    size_t row_bytes = psr_row_bytes(cpu->s->nchan, cpu->s->nbit), given = 0;
    size_t most = cpu->piece * cpu->s->downsamp;
    while (nsamp) {
        size_t piece = nsamp < most ? nsamp : most;
        if (room_left(cpu) < piece) {
            /* Moves what later outputs need to the start of the runs. */
            size_t skip = (size_t)(cpu->ndone - cpu->first), bytes = cpu->lanes.store_bytes;
            size_t live = (size_t)(nstored(cpu) - cpu->ndone);
#pragma omp parallel for num_threads(cpu->s->nthread)
            for (size_t k = 0; k < cpu->s->nkept; k++) {
                unsigned char *run = cpu->runs + k * cpu->stride * bytes;
                memmove(run, run + skip * bytes, live * bytes);
            }
            cpu->first = cpu->ndone;
        }
        psr_cornerturn_run(cpu->cornerturn, spectra, piece, cpu->runs, cpu->stride,
                           cpu->first - cpu->blank);
        cpu->nraw += piece;
        spectra += piece * row_bytes;
        nsamp -= piece;
        uint64_t n = nstored(cpu);
        n = n > cpu->s->maxshift + cpu->ndone ? (size_t)(n - cpu->s->maxshift - cpu->ndone) : 0;
        psr_status st = sum_ready(cpu, out + given, stride, n, err);
        if (st)
            return st;
        given += n;
    }
    if (given != nout)
        return psr_fail(err, PSR_EINVAL, "dedispersion: gave %zu samples, not %zu", given, nout);
    return PSR_OK;
}

/* --- the backend ------------------------------------------------------------------------------ */

/* Samples of 0, as runs hold them: unsigned. */
static void fill_blank(struct cpu *cpu)
{
    const size_t bytes = cpu->lanes.store_bytes;
    const uint32_t zero = psr_dedisp_layout_bias(cpu->s) * (uint32_t)cpu->s->downsamp;
    for (size_t k = 0; k < cpu->s->nkept; k++)
        for (size_t t = 0; t < cpu->blank; t++) {
            unsigned char *to = cpu->runs + (k * cpu->stride + t) * bytes;
            if (bytes == 1)
                *to = (unsigned char)zero;
            else if (bytes == 2)
                *(uint16_t *)(void *)to = (uint16_t)zero;
            else
                *(uint32_t *)(void *)to = zero;
        }
}

static void cpu_reset(void *state)
{
    struct cpu *cpu = state;
    cpu->first = cpu->nraw = cpu->ndone = 0;
    psr_cornerturn_reset(cpu->cornerturn);
    fill_blank(cpu);
}

static void cpu_describe(void *state, struct psr_dedisp_info *info)
{
    const struct cpu *cpu = state;
    double runs = (double)cpu->stride * (double)cpu->s->nkept * (double)cpu->lanes.store_bytes;
    info->adds_planned = cpu->adds;
    info->bytes = (int64_t)(runs + bytes_beside_runs(cpu));
}

static void cpu_destroy(void *state)
{
    struct cpu *cpu = state;
    if (!cpu)
        return;
    for (size_t b = 0; cpu->program && b < cpu->nkept_programs + cpu->nslot; b++)
        free(cpu->program[b].code);
    for (int n = 0; cpu->thread && n < cpu->s->nthread; n++) {
        free(cpu->thread[n].scratch);
        free(cpu->thread[n].total);
    }
    psr_cornerturn_destroy(cpu->cornerturn);
    free(cpu->program);
    free(cpu->thread);
    free(cpu->runs);
    free(cpu);
}

static psr_status create_cornerturn(struct cpu *cpu, psr_err *err)
{
    const struct psr_dedisp_layout *s = cpu->s;
    return psr_cornerturn_create(&cpu->cornerturn,
                                 &(struct psr_cornerturn_desc){
                                     .nchan = s->nchan,
                                     .nbit = s->nbit,
                                     .kind = s->kind,
                                     .nkept = s->nkept,
                                     .chan = s->chan,
                                     .pre = s->pre,
                                     .downsamp = s->downsamp,
                                     .store_bytes = cpu->lanes.store_bytes,
                                     .nthread = s->nthread,
                                 },
                                 err);
}

static psr_status cpu_create(void **state, const struct psr_dedisp_layout *s, psr_err *err)
{
    struct cpu *cpu = calloc(1, sizeof *cpu);
    *state = cpu;
    if (!cpu)
        return psr_fail_nomem(err, "a dedispersion plan", sizeof *cpu);
    cpu->s = s;
    cpu->pad = s->algo == PSR_DEDISP_TREE ? TREE_PAD : LANE_PAD;
    cpu->lanes = psr_lanes_for(psr_dedisp_layout_sample_max(s), s->nkept);
    cpu->blank = s->align ? s->maxshift : 0;
    psr_planner_begin(&cpu->planner, s, &cpu->lanes);
    cpu->planner.align = s->align;
    psr_status st = s->algo == PSR_DEDISP_TREE ? psr_merge_choose(&cpu->planner, err)
                                               : psr_planner_choose(&cpu->planner, err);
    if (st || (st = plan_programs(cpu, err)) || (st = make_totals(cpu, err)) ||
        (st = make_runs(cpu, err)))
        return st;
    fill_blank(cpu);
    return create_cornerturn(cpu, err);
}

const struct psr_dedisp_ops psr_dedisp_cpu = {
    .name = "cpu",
    .block_bytes = 0x1p26, /* fresh pages cost more than blocks gain */
    .makes_late = true,
    .create = cpu_create,
    .execute = cpu_execute,
    .reset = cpu_reset,
    .describe = cpu_describe,
    .destroy = cpu_destroy,
};
