/* Counts the operations of a plan, and measures the rate of additions. */
#include "ddplan.h"

#include "tools/common/cli.h"

#include "base/tool.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The measurement: this many trials of the first line's step over so much made-up 8-bit data, again
 * and again until the time is up.  A tree gains by the number of trials. */
enum {
    MEASURE_NDM = 64,
    MEASURE_TREE_NDM = 1024,
    MEASURE_NSAMP = 4096,
    MEASURE_NCHAN = 8192, /* a band of more channels is measured with wider ones */
    MEASURE_BYTES = 1 << 24,
};
static const double measure_s = 0.2;
static const double assumed_bytes_per_s = 1e9;

const char *const ddplan_rate_name[DDPLAN_NRATE] = {"read", "add", "write", "tree"};

struct bench {
    double *freq_mhz; /* [nchan] */
    double dm[MEASURE_TREE_NDM];
    unsigned char *in; /* [nsamp][nchan] */
    float *out;        /* [ndm][stride] */
    size_t nchan, nsamp, ndm, stride;
    psr_dedisp *plan;
};

static size_t count_trials(const struct psr_ddplan *p, bool tree)
{
    int64_t most = tree ? MEASURE_TREE_NDM : MEASURE_NDM, ndm = p->line[0].ndm;
    return (size_t)(tree && ndm < most ? ndm : most);
}

static psr_status prepare_bench(struct bench *b, const struct psr_ddplan *p, double smear,
                                psr_err *err)
{
    const struct psr_band *band = &p->desc->band;
    const bool tree = smear > 0;
    size_t nsub = (size_t)p->desc->nsub;
    b->nchan = (size_t)band->nchan;
    if (b->nchan > MEASURE_NCHAN)
        b->nchan = nsub ? nsub * (nsub < MEASURE_NCHAN ? MEASURE_NCHAN / nsub : 1) : MEASURE_NCHAN;
    double width_mhz = band->bw_mhz / (double)b->nchan;
    b->freq_mhz = malloc(b->nchan * sizeof *b->freq_mhz);
    if (!b->freq_mhz)
        return psr_fail_nomem(err, "measuring", (double)b->nchan);
    for (size_t c = 0; c < b->nchan; c++)
        b->freq_mhz[c] = band->fctr_mhz + 0.5 * band->bw_mhz - ((double)c + 0.5) * width_mhz;
    b->ndm = count_trials(p, tree);
    for (size_t i = 0; i < b->ndm; i++)
        b->dm[i] = (double)i * p->line[0].dmstep;
    struct psr_dedisp_desc d = {
        .size = sizeof d,
        .nchan = b->nchan,
        .freq_mhz = b->freq_mhz,
        .tsamp_s = band->tsamp_s * (double)p->line[0].downsamp,
        .nbit = 8,
        .kind = PSR_UINT,
        .downsamp = 1,
        .dmconst = PSR_DMCONST_PRESTO,
        .ndm = b->ndm,
        .dm = b->dm,
        .algo = tree   ? PSR_DEDISP_TREE
                : nsub ? PSR_DEDISP_SUBBAND
                       : PSR_DEDISP_DIRECT,
        .nsub = nsub,
        .smear = smear,
    };
    psr_status st = psr_dedisp_create(&b->plan, &d, err);
    if (st != PSR_OK)
        return st;
    b->nsamp = MEASURE_BYTES / b->nchan;
    b->nsamp = b->nsamp > MEASURE_NSAMP ? MEASURE_NSAMP : b->nsamp;
    b->stride = b->nsamp;
    b->nsamp += psr_dedisp_maxshift(b->plan);
    b->in = malloc(b->nsamp * b->nchan);
    b->out = malloc(b->ndm * b->stride * sizeof *b->out);
    if (!b->in || !b->out)
        return psr_fail_nomem(err, "measuring", (double)b->nsamp * (double)b->nchan);
    for (size_t i = 0; i < b->nsamp * b->nchan; i++)
        b->in[i] = (unsigned char)(i * 2654435761u >> 24);
    return PSR_OK;
}

/* Additions per second, one counted for each sample, channel and trial, however they are shared.
 * The best round counts: the first warms up, and others may meet a busy machine. */
static psr_status time_bench(struct bench *b, double *per_s, psr_err *err)
{
    double began_s = run_seconds();
    *per_s = 0;
    for (int round = 0; round < 3 || run_seconds() - began_s < measure_s; round++) {
        if (run_stop_signal())
            return psr_fail(err, PSR_ESTOPPED, "stopped");
        size_t nout;
        double start_s = run_seconds();
        psr_dedisp_reset(b->plan);
        psr_status st = psr_dedisp_execute(b->plan, b->in, b->nsamp, b->out, b->stride, &nout, err);
        if (st != PSR_OK)
            return st;
        double rate =
            (double)nout * (double)b->ndm * (double)b->nchan / (run_seconds() - start_s + 1e-9);
        *per_s = rate > *per_s ? rate : *per_s;
    }
    return PSR_OK;
}

/* "read=1e9,add=5e9": those not named stay as they are. */
static psr_status parse_rates(struct ddplan_rate rate[DDPLAN_NRATE], const char *text, psr_err *err)
{
    while (*text) {
        char word[64];
        int n = (int)strcspn(text, ","), i = 0;
        snprintf(word, sizeof word, "%.*s", n, text);
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        while (i < DDPLAN_NRATE && strcmp(word, ddplan_rate_name[i]) != 0)
            i++;
        if (i == DDPLAN_NRATE || !value)
            return psr_fail(err, PSR_EINVAL,
                            "-rates: '%.*s' is not read=N, add=N, write=N or tree=N, per second", n,
                            text);
        psr_status st = psr_parse_double("-rates", value, 1, 1e30, &rate[i].per_s, err);
        if (st != PSR_OK)
            return st;
        rate[i].origin = "given";
        text += n + (text[n] == ',');
    }
    return PSR_OK;
}

static psr_status measure_rate(struct ddplan_rate *rate, const struct psr_ddplan *p, double smear,
                               psr_err *err)
{
    if (rate->origin)
        return PSR_OK;
    rate->origin = "measured";
    /* smear: of the tree algorithm; 0 for exact sums. */
    struct bench b = {0};
    psr_status st = prepare_bench(&b, p, smear, err);
    if (st == PSR_OK)
        st = time_bench(&b, &rate->per_s, err);
    psr_dedisp_destroy(b.plan);
    free(b.out);
    free(b.in);
    free(b.freq_mhz);
    return st;
}

psr_status ddplan_cost_of(struct ddplan_cost *cost, const struct ddplan_options *o,
                          const struct psr_ddplan *p, psr_err *err)
{
    const struct psr_band *band = &p->desc->band;
    *cost = (struct ddplan_cost){
        .tobs_s = o->tobs_s > 0 ? o->tobs_s : 600,
        .nbit = o->nbit > 0 ? o->nbit : 8,
        .tobs_assumed = o->tobs_s <= 0,
        .nbit_assumed = o->nbit <= 0,
        .rate = {{assumed_bytes_per_s, "assumed"},
                 {0, NULL},
                 {assumed_bytes_per_s, "assumed"},
                 {0, NULL}},
        .has_tree = !p->desc->nsub,
        .smear = o->smear > 0 ? o->smear : PSR_DEDISP_SMEAR,
    };
    cost->nspec = cost->tobs_s / band->tsamp_s;
    double samples = cost->nspec * (double)band->nchan;
    cost->amount[DDPLAN_READ] = samples * (double)cost->nbit / 8;
    for (int i = 0; i < p->nline; i++) {
        double share = (double)p->line[i].ndm / (double)p->line[i].downsamp;
        cost->amount[DDPLAN_ADD] += samples * share;
        cost->amount[DDPLAN_WRITE] += cost->nspec * share * sizeof(float);
    }
    psr_status st = o->rates ? parse_rates(cost->rate, o->rates, err) : PSR_OK;
    if (st == PSR_OK)
        st = measure_rate(&cost->rate[DDPLAN_ADD], p, 0, err);
    if (st == PSR_OK && cost->has_tree)
        st = measure_rate(&cost->rate[DDPLAN_TREE], p, cost->smear, err);
    for (int i = 0; i < DDPLAN_NWORK; i++)
        cost->seconds[i] = cost->amount[i] / cost->rate[i].per_s;
    if (cost->has_tree)
        cost->tree_s = cost->amount[DDPLAN_ADD] / cost->rate[DDPLAN_TREE].per_s;
    return st;
}

double ddplan_cost_seconds(const struct ddplan_cost *cost)
{
    double sum = 0;
    for (int i = 0; i < DDPLAN_NWORK; i++)
        sum += cost->seconds[i];
    return sum;
}

bool ddplan_tree_is_cheapest(const struct ddplan_cost *cost)
{
    return cost->has_tree && cost->tree_s < cost->seconds[DDPLAN_ADD];
}

/* A matched boxcar's S/N goes with one over the root of the width. */
double ddplan_tree_loss(const struct ddplan_cost *cost)
{
    return 1 - 1 / sqrt(cost->smear);
}
