/* The transforms are FFTW's.  Four samples of both polarisations are transformed side by side, in
 * lanes, and summed lane by lane: which lane a sample is in depends on its place in its sum only,
 * so that the result does not depend on blocks or threads. */
#include "base/threads/isa.h"
#include "base/threads/threads.h"
#include "beam_internal.h"
#include <fftw3.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- phasors, loops and scratch --------------------------------------------------------------- */

enum { MIX_BEAMS = 8, MIX_LANES = 32 };

/* Cosines and sines of pi j / (2 n), j < 2 n. */
struct psr_beam_phasors {
    size_t n;
    double *cosine, *sine; /* [2n] */
};

/* The inner loops, compiled for what the processor has. */
struct psr_beam_loops {
    void (*add_power)(float *sum, const float *x, size_t n);
    void (*mix_rows)(float *mix, const float *x, size_t pitch, size_t n, const float *u, size_t np);
    float (*dot)(const float *a, const float *b, size_t n);
    void (*cotangents)(float *u, const struct psr_beam_phasors *phasors, double cos_a, double sin_a,
                       double sine);
};

enum { PSR_BEAM_GROUP = 16 }; /* sums resampled together with one kernel */

struct psr_resampler {
    struct psr_own own;
    const struct psr_beam_work *w;
    const struct psr_beam_loops *loops;
    struct psr_beam_phasors ns, ew;
};

/* Memory of one thread. */
struct psr_resample_scratch {
    struct psr_own own;
    float *mix;       /* [MIX_BEAMS][PSR_BEAM_GROUP][2N] */
    float *u_ns;      /* [2M][MIX_BEAMS] */
    float *u;         /* [2M] */
    float *u_ew;      /* [n_ew or 1][2N] */
    float *cotangent; /* [2 max(M, N)] */
};

/* --- intensities from those at the half-integer directions ------------------------------------ */

static void fill_phasors(struct psr_own *own, struct psr_beam_phasors *t, size_t n)
{
    t->n = n;
    t->cosine = psr_own(own, 2 * n, sizeof *t->cosine);
    t->sine = psr_own(own, 2 * n, sizeof *t->sine);
    for (size_t j = 0; t->sine && j < 2 * n; j++) {
        t->cosine[j] = cos(M_PI * (double)j / (double)(2 * n));
        t->sine[j] = sin(M_PI * (double)j / (double)(2 * n));
    }
}

static psr_status resampler_init(struct psr_resampler *r, const struct psr_beam_work *w,
                                 const struct psr_beam_loops *loops, psr_err *err)
{
    *r = (struct psr_resampler){.w = w, .loops = loops};
    fill_phasors(&r->own, &r->ns, w->m);
    fill_phasors(&r->own, &r->ew, w->n);
    return psr_own_check(&r->own, "beams", err);
}

/* Free what they own even on error.
 * Status: PSR_ENOMEM */
static psr_status resample_scratch_take(struct psr_resample_scratch *s,
                                        const struct psr_beam_work *w, psr_err *err)
{
    const size_t n_ew = w->pattern == PSR_BEAM_PRODUCT ? w->n_ew : 1;
    s->mix = psr_own(&s->own, 2 * w->n * PSR_BEAM_GROUP * MIX_BEAMS, sizeof *s->mix);
    s->u_ns = psr_own(&s->own, 2 * w->m * MIX_BEAMS, sizeof *s->u_ns);
    s->u = psr_own(&s->own, 2 * w->m, sizeof *s->u);
    s->u_ew = psr_own(&s->own, 2 * w->n * n_ew, sizeof *s->u_ew);
    s->cotangent = psr_own(&s->own, 2 * (w->m > w->n ? w->m : w->n), sizeof *s->cotangent);
    return psr_own_check(&s->own, "beams", err);
}

/* The kernel of the main theorem (eq. 8) with one division for each element and no trigonometry:
 * half-integers lie j steps before the nearest one, and the cotangent's angle is the sum of the
 * rest's and that of j steps. */
static void make_kernel(const struct psr_resampler *r, const struct psr_beam_phasors *t,
                        struct psr_resample_scratch *s, double theta, float *u)
{
    const size_t n = 2 * t->n;
    double nearest = rint(2 * theta), off = 2 * theta - nearest, sine = sin(M_PI * off) / (double)n;
    size_t at = (size_t)nearest % n; /* theta is in [0, n/2) */
    double angle = M_PI * off / (double)n;
    r->loops->cotangents(s->cotangent, t, cos(angle), sin(angle), sine);
    s->cotangent[0] = off == 0 ? 1 : (float)(sine / tan(angle));
    for (size_t j = 0; j <= at; j++)
        u[at - j] = s->cotangent[j];
    for (size_t j = at + 1; j < n; j++)
        u[n + at - j] = s->cotangent[j];
}

/* Eq. 9: up to MIX_BEAMS north-south directions of nsum sums. */
static void mix_north(const struct psr_resampler *r, struct psr_resample_scratch *s,
                      const float *level, const double *theta_ns, size_t n, size_t nsum)
{
    const size_t np = 2 * r->w->m;
    for (size_t b = 0; b < MIX_BEAMS; b++) {
        if (b < n)
            make_kernel(r, &r->ns, s, theta_ns[b], s->u);
        for (size_t p = 0; p < np; p++)
            s->u_ns[p * MIX_BEAMS + b] = b < n ? s->u[p] : 0;
    }
    r->loops->mix_rows(s->mix, level, PSR_BEAM_GROUP * 2 * r->w->n, nsum * 2 * r->w->n, s->u_ns,
                       np);
}

/* Eq. 10: one beam of nsum sums, of those that mix_north left as number b. */
static void emit_beam(const struct psr_resampler *r, const struct psr_resample_scratch *s, size_t b,
                      const float *u_ew, size_t nsum, float *to)
{
    const size_t n = 2 * r->w->n;
    for (size_t k = 0; k < nsum; k++)
        to[k * r->w->nbeam] = r->loops->dot(s->mix + (b * PSR_BEAM_GROUP + k) * n, u_ew, n);
}

/* Given:    level [2M][PSR_BEAM_GROUP][2N], nsum sums of channel f; those beyond are not used
 * Returned: to [nsum][nbeam] */
static void resample(const struct psr_resampler *r, struct psr_resample_scratch *s,
                     const float *level, size_t f, size_t nsum, float *to)
{
    if (r->w->pattern == PSR_BEAM_GRID) {
        const size_t m = 2 * r->w->m, n = 2 * r->w->n;
        for (size_t k = 0; k < nsum; k++)
            for (size_t p = 0; p < m; p++)
                memcpy(to + k * m * n + p * n, level + (p * PSR_BEAM_GROUP + k) * n,
                       n * sizeof *to);
    } else if (r->w->pattern == PSR_BEAM_POINTS) {
        /* Eq. 6 */
        const struct psr_beam_work *w = r->w;
        const double *ns = w->theta_ns + f * w->nbeam, *ew = w->theta_ew + f * w->nbeam;
        for (size_t first = 0; first < w->nbeam; first += MIX_BEAMS) {
            size_t n = w->nbeam - first < MIX_BEAMS ? w->nbeam - first : MIX_BEAMS;
            mix_north(r, s, level, ns + first, n, nsum);
            for (size_t b = 0; b < n; b++) {
                make_kernel(r, &r->ew, s, ew[first + b], s->u_ew);
                emit_beam(r, s, b, s->u_ew, nsum, to + first + b);
            }
        }
    } else {
        /* Eqs 9 and 10 */
        const struct psr_beam_work *w = r->w;
        for (size_t j = 0; j < w->n_ew; j++)
            make_kernel(r, &r->ew, s, w->theta_ew[f * w->n_ew + j], s->u_ew + j * 2 * w->n);
        for (size_t first = 0; first < w->n_ns; first += MIX_BEAMS) {
            size_t n = w->n_ns - first < MIX_BEAMS ? w->n_ns - first : MIX_BEAMS;
            mix_north(r, s, level, w->theta_ns + f * w->n_ns + first, n, nsum);
            for (size_t i = 0; i < n * w->n_ew; i++)
                emit_beam(r, s, i / w->n_ew, s->u_ew + i % w->n_ew * 2 * w->n, nsum,
                          to + first * w->n_ew + i);
        }
    }
}

/* --- chooses the beamformer's inner loops for this processor ---------------------------------- */

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        add_power_##s, mix_rows_##s, dot_##s, cotangents_##s                                       \
    }

#define PSR_LANES "beam/beam_cpu_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_beam_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

/* --- the transforms are FFTW's ---------------------------------------------------------------- */

enum {
    TIMES = 4, /* samples transformed together */
    LANES = TIMES * PSR_BEAM_NPOL,
    PIECE_BYTES = 64 << 20, /* of voltages and intensities at once */
    TILE = 16,              /* beams transposed together */
};

/* A dish on the grid: its input, and where its first lane is among a grid's floats. */
struct dish_cell {
    size_t dish, at;
};

/* Memory of one thread; complex numbers are pairs of floats. */
struct scratch {
    float *grid;  /* [M][pitch][LANES] complex; columns from N on stay 0 */
    float *half;  /* [2M][pitch][LANES] complex: transformed along n; rows from M on stay 0 */
    float *full;  /* the same transformed along both */
    float *sum;   /* [2M][pitch][LANES] */
    float *level; /* [2M][PSR_BEAM_GROUP][2N] sums of all lanes */
    struct psr_resample_scratch resample;
};

struct cpu {
    const struct psr_beam_work *w;
    const struct psr_beam_loops *loops;
    struct psr_resampler resampler;
    fftwf_plan along_n, along_m;
    struct dish_cell *dish_cell; /* [ndish_cell] */
    size_t ndish_cell;
    float unpacked[256][2];  /* of each byte: real, imaginary */
    size_t piece;            /* samples taken at once, at most */
    size_t piece_rows;       /* sums of a channel that they can complete */
    float *carry[2];         /* [nfreq][2M][pitch][LANES] sums that have begun: before, after */
    float *intensity;        /* [nfreq][piece_rows][nbeam] intensities of a piece */
    struct scratch *scratch; /* [nthread] */
    int64_t bytes;
};

/* A piece of a block: samples t0 .. t0 + nt - 1 of the stream, and where its rows go. */
struct piece {
    const uint8_t *in;
    size_t nt;
    uint64_t t0, block_t0; /* block_t0: of the block's first sample, which decides on rows */
    char *out;
    size_t stride;
};

/* --- memory ----------------------------------------------------------------------------------- */

/* Columns of a row in memory: one is unused, so that the rows of a column do not all fall into a few
 * sets of the L1 cache. */
static size_t pitch(const struct psr_beam_work *w)
{
    return 2 * w->n + 1;
}

/* Lanes of all half-integer directions. */
static size_t lanes(const struct psr_beam_work *w)
{
    return 2 * w->m * pitch(w) * LANES;
}

static void *take(struct cpu *cpu, size_t n, size_t size)
{
    void *p = fftwf_malloc(n * size);
    if (p) {
        memset(p, 0, n * size);
        cpu->bytes += (int64_t)(n * size);
    }
    return p;
}

static bool take_scratch(struct cpu *cpu, struct scratch *s)
{
    const struct psr_beam_work *w = cpu->w;
    size_t n = lanes(w);
    s->grid = take(cpu, n, sizeof(float));
    s->half = take(cpu, n, 2 * sizeof(float));
    s->full = take(cpu, n, 2 * sizeof(float));
    s->sum = take(cpu, n, sizeof(float));
    s->level = take(cpu, 4 * w->m * w->n * PSR_BEAM_GROUP, sizeof(float));
    return s->grid && s->half && s->full && s->sum && s->level &&
           !resample_scratch_take(&s->resample, w, NULL);
}

static void drop_scratch(struct scratch *s)
{
    float *const all[] = {s->grid, s->half, s->full, s->sum, s->level};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fftwf_free(all[i]);
    psr_own_free(&s->resample.own);
}

/* A piece of PIECE_BYTES of voltages and intensities, or of a whole group's where memory allows. */
static void choose_piece(struct cpu *cpu)
{
    const struct psr_beam_work *w = cpu->w;
    double quarter = (double)w->mem_bytes / 4, group = PSR_BEAM_GROUP * (double)w->tds_min;
    double sample = (double)(w->nfreq * PSR_BEAM_NPOL * w->ndish) +
                    (double)w->nbeam * (double)w->nfreq * sizeof(float) / (double)w->tds_min;
    double nt = PIECE_BYTES / sample > group ? PIECE_BYTES / sample : group;
    nt = nt < quarter / sample ? nt : quarter / sample;
    cpu->piece = nt > 1 ? (size_t)nt : 1;
    cpu->piece_rows = cpu->piece / w->tds_min + 1;
}

static psr_status take_memory(struct cpu *cpu, psr_err *err)
{
    const struct psr_beam_work *w = cpu->w;
    choose_piece(cpu);
    double carry = 2.0 * (double)(w->nfreq * lanes(w)) * sizeof(float);
    double intensity =
        (double)w->nfreq * (double)cpu->piece_rows * (double)w->nbeam * sizeof(float);
    double scratch =
        (double)w->nthread * (double)lanes(w) * (6 + PSR_BEAM_GROUP / LANES) * sizeof(float);
    if (carry + intensity + scratch > (double)w->mem_bytes)
        return psr_fail_field(err, PSR_ENOMEM, "mem_bytes",
                              "beams: %zu beams of %zu channels need %.3g MB, %.3g MB are allowed",
                              w->nbeam, w->nfreq, (carry + intensity + scratch) / 1e6,
                              (double)w->mem_bytes / 1e6);
    bool ok = true;
    cpu->scratch = calloc((size_t)w->nthread, sizeof *cpu->scratch);
    for (int i = 0; cpu->scratch && i < w->nthread; i++)
        ok = take_scratch(cpu, cpu->scratch + i) && ok;
    for (int i = 0; i < 2; i++)
        cpu->carry[i] = take(cpu, w->nfreq * lanes(w), sizeof(float));
    cpu->intensity = malloc(w->nfreq * cpu->piece_rows * w->nbeam * sizeof(float));
    cpu->bytes += (int64_t)intensity;
    if (!ok || !cpu->scratch || !cpu->carry[0] || !cpu->carry[1] || !cpu->intensity)
        return psr_fail_nomem(err, "beams", carry + intensity + scratch);
    return PSR_OK;
}

/* --- plans and tables ------------------------------------------------------------------------- */

/* Rows of grid become the upper half of half, whose columns become full.  Plans that are not measured
 * are the same every time. */
static psr_status plan_transforms(struct cpu *cpu, psr_err *err)
{
    const struct psr_beam_work *w = cpu->w;
    const struct scratch *s = cpu->scratch;
    const int row = (int)(pitch(w) * LANES), used = (int)(2 * w->n * LANES);
    const fftwf_iodim n = {(int)(2 * w->n), LANES, LANES}, m = {(int)(2 * w->m), row, row};
    const fftwf_iodim rows[2] = {{(int)w->m, row, row}, {LANES, 1, 1}}, columns = {used, 1, 1};
    fftwf_make_planner_thread_safe();
    cpu->along_n = fftwf_plan_guru_dft(1, &n, 2, rows, (fftwf_complex *)s->grid,
                                       (fftwf_complex *)s->half, FFTW_BACKWARD, FFTW_ESTIMATE);
    cpu->along_m = fftwf_plan_guru_dft(1, &m, 1, &columns, (fftwf_complex *)s->half,
                                       (fftwf_complex *)s->full, FFTW_BACKWARD, FFTW_ESTIMATE);
    if (!cpu->along_n || !cpu->along_m)
        return psr_fail(err, PSR_EUNSUPPORTED, "beams: FFTW has no plan for %zu x %zu", 2 * w->m,
                        2 * w->n);
    return PSR_OK;
}

static float nibble_value(unsigned nibble)
{
    return (float)(nibble < 8 ? (int)nibble : (int)nibble - 16);
}

/* --- voltages to sums ------------------------------------------------------------------------- */

/* Puts one sample of one polarisation on the grid, weighted. */
static void grid_lane(const struct cpu *cpu, float *grid, const uint8_t *volt, const float *weight)
{
    for (size_t i = 0; i < cpu->ndish_cell; i++) {
        const struct dish_cell *s = cpu->dish_cell + i;
        const float re = cpu->unpacked[volt[s->dish]][0], im = cpu->unpacked[volt[s->dish]][1];
        const float *g = weight ? weight + 2 * s->dish : (const float[2]){1, 0};
        grid[s->at] = re * g[0] - im * g[1];
        grid[s->at + 1] = re * g[1] + im * g[0];
    }
}

/* Adds samples a .. b - 1 of the stream to a sum that began at sample "begin". */
static void add_samples(const struct cpu *cpu, struct scratch *s, const struct piece *p, size_t f,
                        uint64_t begin, uint64_t a, uint64_t b)
{
    while (a < b) {
        size_t first = (size_t)((a - begin) % TIMES), n = TIMES - first;
        n = b - a < n ? (size_t)(b - a) : n;
        /* Transforms samples t .. t + n - 1, of lanes first .. first + n - 1, and adds their power. */
        const struct psr_beam_work *w = cpu->w;
        const size_t sample = w->nfreq * PSR_BEAM_NPOL * w->ndish;
        if (n < TIMES)
            memset(s->grid, 0, lanes(w) * sizeof *s->grid);
        for (size_t i = 0; i < n * PSR_BEAM_NPOL; i++) {
            size_t fp = f * PSR_BEAM_NPOL + i % PSR_BEAM_NPOL, lane = first * PSR_BEAM_NPOL + i;
            size_t row = (size_t)(a - p->t0) + i / PSR_BEAM_NPOL;
            grid_lane(cpu, s->grid + 2 * lane, p->in + row * sample + fp * w->ndish,
                      w->weight ? w->weight + fp * w->ndish * 2 : NULL);
        }
        fftwf_execute_dft(cpu->along_n, (fftwf_complex *)s->grid, (fftwf_complex *)s->half);
        fftwf_execute_dft(cpu->along_m, (fftwf_complex *)s->half, (fftwf_complex *)s->full);
        cpu->loops->add_power(s->sum, s->full, lanes(w));
        a += n;
    }
}

/* Adds the lanes of a sum, as number k of a group. */
static void fold_lanes(const struct cpu *cpu, struct scratch *s, size_t k)
{
    const size_t m = 2 * cpu->w->m, n = 2 * cpu->w->n;
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < n; q++) {
            const float *x = s->sum + (p * pitch(cpu->w) + q) * LANES;
            float total = 0;
            for (size_t lane = 0; lane < LANES; lane++)
                total += x[lane];
            s->level[(p * PSR_BEAM_GROUP + k) * n + q] = total;
        }
}

/* Sums first .. first + PSR_BEAM_GROUP - 1 of channel f, as far as the piece has samples of them.
 */
static void do_group(struct cpu *cpu, struct scratch *s, const struct piece *p, size_t f,
                     uint64_t first)
{
    const struct psr_beam_work *w = cpu->w;
    const uint64_t tds = w->tds[f], end = p->t0 + p->nt;
    const size_t bytes = lanes(w) * sizeof *s->sum;
    size_t done = 0;
    for (uint64_t k = first; k < first + PSR_BEAM_GROUP && k * tds < end; k++) {
        uint64_t a = k * tds > p->t0 ? k * tds : p->t0;
        uint64_t b = (k + 1) * tds < end ? (k + 1) * tds : end;
        if (a > k * tds)
            memcpy(s->sum, cpu->carry[0] + f * lanes(w), bytes);
        else
            memset(s->sum, 0, bytes);
        add_samples(cpu, s, p, f, k * tds, a, b);
        if (b == (k + 1) * tds)
            fold_lanes(cpu, s, done++);
        else
            memcpy(cpu->carry[1] + f * lanes(w), s->sum, bytes);
    }
    size_t row = (size_t)(first - p->t0 / tds);
    if (done > 0)
        resample(&cpu->resampler, &s->resample, s->level, f, done,
                 cpu->intensity + (f * cpu->piece_rows + row) * w->nbeam);
}

/* --- beams to rows ---------------------------------------------------------------------------- */

/* Stores channel f of a row; the other channel of its byte is kept. */
static void put(const struct psr_beam_work *w, char *row, size_t f, float x)
{
    const float top = (float)((1 << (w->nbit & 15)) - 1);
    if (w->nbit == 32) {
        memcpy(row + 4 * f, &x, sizeof x);
        return;
    }
    unsigned level = psr_beam_quantise_value(x, w->offset[f], w->scale[f], top);
    if (w->nbit == 8)
        row[f] = (char)level;
    else if (f % 2 == 0)
        row[f / 2] = (char)(((unsigned char)row[f / 2] & 0xf0u) | level);
    else
        row[f / 2] = (char)(((unsigned char)row[f / 2] & 0x0fu) | level << 4);
}

/* Beams b0 .. b1 - 1 of all sums that a piece completed. */
static void transpose_tile(const struct cpu *cpu, const struct piece *p, size_t b0, size_t b1)
{
    const struct psr_beam_work *w = cpu->w;
    const size_t bytes = w->nfreq * (size_t)w->nbit / 8;
    for (size_t f = 0; f < w->nfreq; f++) {
        uint64_t tds = w->tds[f];
        size_t nsum = (size_t)((p->t0 + p->nt) / tds - p->t0 / tds);
        size_t row = (size_t)(p->t0 / tds - p->block_t0 / tds);
        const float *x = cpu->intensity + f * cpu->piece_rows * w->nbeam;
        for (size_t k = 0; k < nsum; k++)
            for (size_t b = b0; b < b1; b++)
                put(w, p->out + (b * p->stride + row + k) * bytes, f, x[k * w->nbeam + b]);
    }
}

/* --- the backend ------------------------------------------------------------------------------ */

static void do_piece(struct cpu *cpu, const struct piece *p)
{
    const struct psr_beam_work *w = cpu->w;
    const size_t ngroup = (p->nt / w->tds_min + 2 + PSR_BEAM_GROUP - 1) / PSR_BEAM_GROUP;
#pragma omp parallel for schedule(dynamic) num_threads(w->nthread)
    for (size_t i = 0; i < w->nfreq * ngroup; i++) {
        size_t f = i / ngroup;
        uint64_t first = p->t0 / w->tds[f] + i % ngroup * PSR_BEAM_GROUP;
        do_group(cpu, cpu->scratch + psr_thread_number(), p, f, first);
    }
    float *before = cpu->carry[0];
    cpu->carry[0] = cpu->carry[1];
    cpu->carry[1] = before;
#pragma omp parallel for schedule(dynamic) num_threads(w->nthread)
    for (size_t tile = 0; tile < (w->nbeam + TILE - 1) / TILE; tile++) {
        size_t end = (tile + 1) * TILE;
        transpose_tile(cpu, p, tile * TILE, end < w->nbeam ? end : w->nbeam);
    }
}

static psr_status execute(void *state, const uint8_t *in, size_t nt, uint64_t t0,
                          const struct psr_beam_out *out, size_t nrow, psr_err *err)
{
    struct cpu *cpu = state;
    const size_t sample = cpu->w->nfreq * PSR_BEAM_NPOL * cpu->w->ndish;
    (void)nrow, (void)err;
    for (size_t t = 0; t < nt; t += cpu->piece) {
        struct piece p = {.in = in + t * sample,
                          .nt = nt - t < cpu->piece ? nt - t : cpu->piece,
                          .t0 = t0 + t,
                          .block_t0 = t0,
                          .out = out->rows,
                          .stride = out->stride};
        do_piece(cpu, &p);
    }
    return PSR_OK;
}

/* New directions and scales are read where they are used. */
static psr_status take_note(void *state, psr_err *err)
{
    (void)state, (void)err;
    return PSR_OK;
}

static void reset(void *state)
{
    (void)state; /* a new sum does not use what was carried */
}

static size_t block(const void *state)
{
    return ((const struct cpu *)state)->piece;
}

static int64_t bytes(const void *state)
{
    return ((const struct cpu *)state)->bytes;
}

static void destroy(void *state)
{
    struct cpu *cpu = state;
    fftwf_destroy_plan(cpu->along_n);
    fftwf_destroy_plan(cpu->along_m);
    for (int i = 0; cpu->scratch && i < cpu->w->nthread; i++)
        drop_scratch(cpu->scratch + i);
    free(cpu->scratch);
    fftwf_free(cpu->carry[0]);
    fftwf_free(cpu->carry[1]);
    free(cpu->intensity);
    psr_own_free(&cpu->resampler.own);
    free(cpu->dish_cell);
    free(cpu);
}

static psr_status list_dish_cells(struct cpu *cpu, psr_err *err)
{
    const struct psr_beam_work *w = cpu->w;
    cpu->dish_cell = calloc(w->ndish, sizeof *cpu->dish_cell);
    if (!cpu->dish_cell)
        return psr_fail_nomem(err, "dishes", (double)w->ndish * sizeof *cpu->dish_cell);
    for (size_t d = 0; d < w->ndish; d++)
        if (w->cell[d] >= 0) {
            size_t m = (size_t)w->cell[d] / w->n, n = (size_t)w->cell[d] % w->n;
            cpu->dish_cell[cpu->ndish_cell++] =
                (struct dish_cell){d, (m * pitch(w) + n) * LANES * 2};
        }
    return PSR_OK;
}

static psr_status create(void **state, const struct psr_beam_work *w, psr_err *err)
{
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return psr_fail_nomem(err, "beams", sizeof *cpu);
    cpu->w = w;
    cpu->loops = &loops[psr_isa_find()];
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned b = byte ^ cpu->w->flip, high = b >> 4, low = b & 15;
        cpu->unpacked[byte][0] = nibble_value(cpu->w->real_low ? low : high);
        cpu->unpacked[byte][1] = nibble_value(cpu->w->real_low ? high : low);
    }
    psr_status st = list_dish_cells(cpu, err);
    if (!st)
        st = resampler_init(&cpu->resampler, w, cpu->loops, err);
    if (!st)
        st = take_memory(cpu, err);
    if (!st)
        st = plan_transforms(cpu, err);
    if (st)
        destroy(cpu);
    else
        *state = cpu;
    return st;
}

static psr_status allocate(int device, size_t n, void **memory, psr_err *err)
{
    (void)device;
    *memory = malloc(n ? n : 1);
    return *memory ? PSR_OK : psr_fail_nomem(err, "a block of data", (double)n);
}

const struct psr_beam_ops psr_beam_cpu = {
    .name = "cpu",
    .create = create,
    .point = take_note,
    .quantise = take_note,
    .execute = execute,
    .reset = reset,
    .block = block,
    .bytes = bytes,
    .destroy = destroy,
    .alloc = allocate,
    .free = free,
};
