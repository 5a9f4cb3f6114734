/* Correlates blocks of bins with responses by Fourier transforms. */
#include "response.h"

#include "base/threads/isa.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- the correlations' inner loops, for each instruction set ---------------------------------- */

typedef float lanes __attribute__((vector_size(4 * CORRELATE_LANES)));
typedef float any_lanes __attribute__((vector_size(4 * CORRELATE_LANES), aligned(4), may_alias));
#define GET(p, i)    ((lanes)(*(const any_lanes *)((p) + (i))))
#define PUT(p, i, v) (*(any_lanes *)((p) + (i)) = (v))

#define LOOPS(s)                                                                                   \
    {                                                                                              \
        multiply_quarter_##s, power_##s, power_most_##s                                            \
    }

#define PSR_LANES "search/matched/response/correlate_lanes.h"
#include "base/threads/isa_lanes.h"

static const struct psr_correlate_loops loops[PSR_NISA] = PSR_ISA_EACH(LOOPS);

/* --- correlates blocks of bins with responses by Fourier transforms --------------------------- */

enum { LEAST_BINS = 256, MOST_BINS = 1 << 16, PAD = 16, LINE = 64, UNIT = 4 * CORRELATE_LANES };

/* --- memory ----------------------------------------------------------------------------------- */

/* Parts are not a power of two apart, so that they do not compete for the same cache sets. */
static size_t stride_of(size_t n)
{
    return n + PAD;
}

struct psr_split psr_split_at(float *x, size_t n)
{
    return (struct psr_split){x, x + stride_of(n)};
}

size_t psr_correlator_block(const struct psr_correlator *c)
{
    return 2 * stride_of(c->bins);
}

/* A block that is transformed into another, or the quarters of a product and one's transform. */
size_t psr_correlator_work(const struct psr_correlator *c)
{
    return 2 * psr_correlator_block(c) + 10 * PAD;
}

float *psr_line_alloc(size_t n)
{
    return aligned_alloc(LINE, (n * sizeof(float) + LINE - 1) / LINE * LINE);
}

/* --- the plan --------------------------------------------------------------------------------- */

/* What a block costs: transforms and products. */
static double cost_of(size_t bins)
{
    return (double)bins * (5 + log2((double)bins));
}

/* Prefers short blocks, which need less memory, if the cost is nearly the same. */
size_t psr_correlator_bins(int halfwidth, size_t need)
{
    const size_t ends = 2 * (size_t)halfwidth;
    size_t best = 0;
    double least = INFINITY;
    for (size_t bins = LEAST_BINS; bins <= MOST_BINS; bins *= 2) {
        if (bins <= ends + UNIT)
            continue;
        double good = (double)(bins - ends);
        double cost = cost_of(bins) * (need ? ceil((double)need / good) : 1e9 / good);
        if (cost < 0.97 * least) {
            least = cost;
            best = bins;
        }
    }
    return best;
}

/* Forward; back is the same with real and imaginary parts exchanged. */
static fftwf_plan make_plan(size_t n, float *x)
{
    fftwf_iodim dim = {.n = (int)n, .is = 1, .os = 1};
    struct psr_split in = psr_split_at(x, n), out = psr_split_at(x + 2 * stride_of(n), n);
    fftwf_make_planner_thread_safe();
    return fftwf_plan_guru_split_dft(1, &dim, 0, NULL, in.re, in.im, out.re, out.im, FFTW_ESTIMATE);
}

static bool make_twiddles(struct psr_split twiddle[3], size_t n)
{
    float *x = psr_line_alloc(6 * stride_of(n));
    for (size_t c = 0; c < 3 && x; c++) {
        twiddle[c] = psr_split_at(x + 2 * c * stride_of(n), n);
        for (size_t i = 0; i < n; i++) {
            double angle = M_PI / 2 * (double)((c + 1) * i) / (double)n;
            twiddle[c].re[i] = (float)cos(angle);
            twiddle[c].im[i] = (float)sin(angle);
        }
    }
    return x != NULL;
}

psr_status psr_correlator_create(struct psr_correlator **out, int halfwidth, size_t bins,
                                 psr_err *err)
{
    struct psr_correlator *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return psr_fail_nomem(err, "correlations", sizeof *c);
    c->loops = &loops[psr_isa_find()];
    c->bins = bins;
    c->points = c->bins / 4;
    /* A multiple of 4, as phases require. */
    c->lead = ((size_t)halfwidth + 4) / 4 * 4;
    c->good = 2 * c->lead < c->bins ? (c->bins - 2 * c->lead) / UNIT * UNIT : 0;
    float *x = psr_line_alloc(psr_correlator_work(c));
    bool complete = x && make_twiddles(c->twiddle, c->points);
    c->forward = complete ? make_plan(c->bins, x) : NULL;
    c->back = complete ? make_plan(c->points, x) : NULL;
    free(x);
    if (c->forward && c->back) {
        *out = c;
        return PSR_OK;
    }
    psr_status st = psr_fail_nomem(err, "correlations", 32.0 * (double)c->bins);
    psr_correlator_destroy(c);
    return st;
}

void psr_correlator_destroy(struct psr_correlator *c)
{
    if (!c)
        return;
    fftwf_destroy_plan(c->forward);
    fftwf_destroy_plan(c->back);
    free(c->twiddle[0].re);
    free(c);
}

/* --- transforms ------------------------------------------------------------------------------- */

void psr_correlator_take_block(const struct psr_correlator *c, float *work, float *out)
{
    struct psr_split in = psr_split_at(work, c->bins), to = psr_split_at(out, c->bins);
    fftwf_execute_split_dft(c->forward, in.re, in.im, to.re, to.im);
}

/* Bin k - r of the response is number k - r of the block, round the end; the conjugate of its
 * transform, over the block's length, is the factor of products. */
void psr_correlator_take_response(const struct psr_correlator *c, const float complex *k,
                                  int halfwidth, int odd, float *work, float *out)
{
    struct psr_split in = psr_split_at(work, c->bins), to = psr_split_at(out, c->bins);
    memset(work, 0, psr_correlator_block(c) * sizeof *work);
    for (int i = 0; i < 2 * halfwidth; i++) {
        size_t at = (size_t)(i - halfwidth + odd + (int)c->bins) % c->bins;
        in.re[at] = crealf(k[i]) / (float)c->bins;
        in.im[at] = cimagf(k[i]) / (float)c->bins;
    }
    fftwf_execute_split_dft(c->forward, in.re, in.im, to.re, to.im);
    for (size_t i = 0; i < c->bins; i++)
        to.im[i] = -to.im[i];
}

/* --- correlations ----------------------------------------------------------------------------- */

/* What to do with the points of a phase. */
struct taker {
    void (*take)(const struct taker *t, size_t phase, struct psr_split z);
    const struct psr_correlator *c;
    float *out;
    size_t group, from, n;
};

static void correlate(const struct taker *t, float *block, float *response, int odd, float *work)
{
    const struct psr_correlator *c = t->c;
    struct psr_split x = psr_split_at(block, c->bins), y = psr_split_at(response, c->bins);
    struct psr_split quarter[4], out = psr_split_at(work, c->points);
    for (size_t b = 0; b < 4; b++)
        quarter[b] = psr_split_at(work + 2 * (b + 1) * stride_of(c->points), c->points);
    c->loops->multiply_quarter(quarter, x, y, c->twiddle, c->points);
    for (size_t b = 0; b < 4; b++) {
        struct psr_split q = quarter[b];
        fftwf_execute_split_dft(c->back, q.im, q.re, out.im, out.re);
        t->take(t, 2 * b + (size_t)odd, out);
    }
}

/* Even phases come first. */
static void take_most(const struct taker *t, size_t phase, struct psr_split z)
{
    const struct psr_correlator *c = t->c;
    float *power = t->out + phase / t->group * c->points;
    bool first = t->group == 1 || phase % t->group == 0;
    (first ? c->loops->power : c->loops->power_most)(power, z, c->points);
}

void psr_correlator_most(const struct psr_correlator *c, float *block, float *const response[2],
                         size_t group, float *work, float *power)
{
    struct taker t = {.take = take_most, .c = c, .out = power, .group = group};
    for (int odd = 0; odd < 2; odd++)
        correlate(&t, block, response[odd], odd, work);
}

static void take_row(const struct taker *t, size_t phase, struct psr_split z)
{
    const size_t first = 2 * t->from, end = first + 2 * t->n;
    size_t i = first + (phase + PSR_PHASES - first % PSR_PHASES) % PSR_PHASES;
    for (; i < end; i += PSR_PHASES) {
        float re = z.re[i / PSR_PHASES], im = z.im[i / PSR_PHASES];
        t->out[i - first] = re * re + im * im;
    }
}

void psr_correlator_row(const struct psr_correlator *c, float *block, float *const response[2],
                        size_t from, size_t n, float *work, float *row)
{
    struct taker t = {.take = take_row, .c = c, .out = row, .from = from, .n = n};
    for (int odd = 0; odd < 2; odd++)
        correlate(&t, block, response[odd], odd, work);
}
