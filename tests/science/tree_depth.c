/* What tree dedispersion, or time scrunching, keeps of a burst's S/N: the best over trials and widths
 * of boxcar of its sums, over that of exact sums of single samples at the same trials.
 *
 *   tree_depth [NBURST [SEED [SMEAR]]]
 *   tree_depth NBURST SEED 0 RATIO   exact sums with -scrunch RATIO, in the first two bands
 *
 * The noise of both is the same: each sums one sample of every channel.  So the ratio is that of the
 * bursts alone, which are summed here without noise, with the delays of the plans; t_dedisp and
 * t_dedisp_tree show that the plans sum so to the bit.  A burst is flat and smeared by the dispersion
 * within each channel; it begins anywhere between samples and trials, at DMs that are uniform in
 * logarithm. */
#include "plan/ddplan_internal.h"

#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NSCRUNCH = 17 /* powers of two */ };
enum { NWIDTH = 7, NBAND = 3, MAXCHAN = 28160, NSAMP = 4096, MAXTRIAL = 200000 };
static const int widths[NWIDTH] = {1, 2, 4, 8, 16, 32, 64};

/* Sub-bands of equal channels, from the lowest frequency up. */
static const struct band {
    const char *name;
    double tsamp_s, dm[2], edge_mhz[6];
    size_t nchan[5];
} bands[NBAND] = {
    {"1182 to 1582 MHz, 1024 channels, 64 us", 64e-6, {10, 2000}, {1182, 1582}, {1024}},
    {"400 to 800 MHz, 16384 channels, 983 us", 983.04e-6, {30, 3000}, {400, 800}, {16384}},
    {"300 to 1500 MHz, 28160 channels of CHORD, 1 ms",
     1e-3,
     {30, 3000},
     {300, 350, 450, 600, 800, 1500},
     {8192, 8192, 6144, 2048, 3584}},
};

struct channels {
    size_t n;
    double mhz[MAXCHAN], smear[MAXCHAN]; /* samples per DM */
    double sweep;                        /* of the band, samples per DM */
};

struct dice {
    uint64_t state;
};

static double roll(struct dice *d)
{
    d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(d->state >> 11) * 0x1p-53;
}

static void stop(const char *why)
{
    fprintf(stderr, "tree_depth: %s\n", why);
    exit(EXIT_FAILURE);
}

static double delay_samples(const struct band *b, double mhz)
{
    return psr_delay_s(PSR_DMCONST_PRESTO, 1, mhz) / b->tsamp_s;
}

static void make_channels(struct channels *ch, const struct band *b)
{
    ch->n = 0;
    for (int s = 0; s < 5 && b->nchan[s]; s++) {
        double width = (b->edge_mhz[s + 1] - b->edge_mhz[s]) / (double)b->nchan[s];
        for (size_t c = 0; c < b->nchan[s]; c++, ch->n++) {
            double low = b->edge_mhz[s] + (double)c * width;
            ch->mhz[ch->n] = low + width / 2;
            ch->smear[ch->n] = delay_samples(b, low) - delay_samples(b, low + width);
        }
    }
    ch->sweep = delay_samples(b, ch->mhz[0]) - delay_samples(b, ch->mhz[ch->n - 1]);
}

/* Steps over which the sweep changes by as much as samples and channels smear. */
static size_t make_trials(double *dm, const struct channels *ch, const struct band *b)
{
    size_t n = 0;
    double square = 0;
    for (size_t c = 0; c < ch->n; c++)
        square += ch->smear[c] * ch->smear[c] / (double)ch->n;
    for (double at = b->dm[0]; at < b->dm[1] && n < MAXTRIAL; n++) {
        dm[n] = at;
        at += sqrt(1 + at * at * square) / ch->sweep;
    }
    return n;
}

static psr_dedisp *make_plan(const struct channels *ch, const struct band *b, const double *dm,
                             size_t ndm, enum psr_dedisp_algo algo, double smear)
{
    psr_dedisp *p;
    psr_err err;
    if (psr_dedisp_create(&p,
                          &(struct psr_dedisp_desc){
                              .size = sizeof(struct psr_dedisp_desc),
                              .nchan = ch->n,
                              .freq_mhz = ch->mhz,
                              .tsamp_s = b->tsamp_s,
                              .nbit = 8,
                              .kind = PSR_UINT,
                              .downsamp = 1,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .ndm = ndm,
                              .dm = dm,
                              .algo = algo,
                              .smear = smear,
                              .backend = "cpu",
                              .mem_bytes = INT64_C(16) << 30,
                          },
                          &err))
        stop(err.msg);
    return p;
}

/* Second integral of a delta. */
static double ramp(double x)
{
    return x > 0 ? x * x / 2 : 0;
}

/* Of a burst of this width, smeared by b, what has come until x. */
static double come_until(double x, double width, double b)
{
    double h = (width + b) / 2, l = (width - b) / 2;
    return (ramp(x + h) - ramp(x + l) - ramp(x - l) + ramp(x - h)) / (width * b);
}

/* The series of a trial: each channel's share of the burst, which comes at "at" in the highest
 * channel, delayed for the burst's DM, and shifted back by the plan. */
static void sum_burst(double *x, const psr_dedisp *p, size_t i, const struct channels *ch,
                      const struct band *b, double dm, double at, double width)
{
    double top = delay_samples(b, ch->mhz[ch->n - 1]);
    for (size_t t = 0; t < NSAMP; t++)
        x[t] = 0;
    for (size_t c = 0; c < ch->n; c++) {
        double smear = fmax(dm * ch->smear[c], 1e-3);
        double middle =
            at + dm * (delay_samples(b, ch->mhz[c]) - top) - (double)psr_dedisp_delay(p, i, c);
        double reach = (width + smear) / 2 + 1;
        double first = fmax(floor(middle - reach), 0), last = fmin(middle + reach, NSAMP - 1);
        for (double t = first; t <= last; t++)
            x[(size_t)t] +=
                come_until(t + 1 - middle, width, smear) - come_until(t - middle, width, smear);
    }
}

static double best_boxcar(const double *x)
{
    static double sum[NSAMP + 1];
    double best = 0;
    for (size_t t = 0; t < NSAMP; t++)
        sum[t + 1] = sum[t] + x[t];
    for (size_t w = 1; w <= 512; w += 1 + w / 16)
        for (size_t t = 0; t + w <= NSAMP; t++)
            best = fmax(best, (sum[t + w] - sum[t]) / sqrt((double)w));
    return best;
}

/* A plan, the samples that it takes, which are sums of n, and the band in these. */
struct side {
    struct band b;
    struct channels ch;
    psr_dedisp *plan;
    double n;
};

static struct side *make_side(const struct band *b, int64_t n)
{
    struct side *s = calloc(1, sizeof *s);
    if (!s)
        stop("no memory");
    s->b = *b;
    s->b.tsamp_s *= (double)n;
    s->n = (double)n;
    make_channels(&s->ch, &s->b);
    return s;
}

static void free_side(struct side *s)
{
    if (s)
        psr_dedisp_destroy(s->plan);
    free(s);
}

/* Of a burst that is "width" single samples wide. */
static double best_trial(const struct side *s, size_t i, size_t ndm, double dm, double at,
                         double width)
{
    static double x[NSAMP];
    double best = 0;
    for (size_t n = i ? i - 1 : 0; n <= i + 1 && n < ndm; n++) {
        sum_burst(x, s->plan, n, &s->ch, &s->b, dm, at, width / s->n);
        best = fmax(best, best_boxcar(x) / sqrt(s->n));
    }
    return best;
}

/* The samples that -scrunch sums at this DM, with the plan of all trials. */
static const struct side *scrunched(struct side *side[NSCRUNCH], const struct side *exact,
                                    double at, double ratio, const double *dm, size_t ndm)
{
    double smear = at * exact->ch.sweep / (double)(exact->ch.n - 1);
    int64_t n = psr_scrunch(smear, ratio, 1 << (NSCRUNCH - 1));
    int k = 0;
    while (n >> (k + 1))
        k++;
    if (!side[k]) {
        side[k] = make_side(&exact->b, n);
        side[k]->plan = make_plan(&side[k]->ch, &side[k]->b, dm, ndm, PSR_DEDISP_DIRECT, 0);
    }
    return side[k];
}

static void print(const double *mean, const double *least)
{
    printf("  width ");
    for (int w = 0; w < NWIDTH; w++)
        printf("%7d", widths[w]);
    printf("\n  mean  ");
    for (int w = 0; w < NWIDTH; w++)
        printf("%7.3f", mean[w]);
    printf("\n  least ");
    for (int w = 0; w < NWIDTH; w++)
        printf("%7.3f", least[w]);
    printf("\n");
    fflush(stdout);
}

/* ratio 0: of a tree. */
static void measure(const struct band *b, int nburst, struct dice *dice, double smear, double ratio)
{
    static double dm[MAXTRIAL];
    struct side *exact = make_side(b, 1), *side[NSCRUNCH] = {make_side(b, 1)};
    double mean[NWIDTH] = {0}, least[NWIDTH];
    size_t ndm = make_trials(dm, &exact->ch, b);
    exact->plan = make_plan(&exact->ch, b, dm, ndm, PSR_DEDISP_DIRECT, 0);
    side[0]->plan =
        make_plan(&side[0]->ch, b, dm, ndm, ratio > 0 ? PSR_DEDISP_DIRECT : PSR_DEDISP_TREE, smear);
    for (int n = 0; n < nburst; n++) {
        double at_dm = b->dm[0] * pow(dm[ndm - 1] / b->dm[0], roll(dice));
        double at = NSAMP / 2 + roll(dice);
        size_t i = 0;
        while (i + 1 < ndm && fabs(dm[i + 1] - at_dm) < fabs(dm[i] - at_dm))
            i++;
        const struct side *s = ratio > 0 ? scrunched(side, exact, at_dm, ratio, dm, ndm) : side[0];
        for (int w = 0; w < NWIDTH; w++) {
            double kept = best_trial(s, i, ndm, at_dm, at, widths[w]) /
                          best_trial(exact, i, ndm, at_dm, at, widths[w]);
            mean[w] += kept / nburst;
            least[w] = n && least[w] < kept ? least[w] : kept;
        }
    }
    struct psr_dedisp_info info;
    psr_dedisp_describe(side[0]->plan, &info);
    printf("%s: %zu trials, DM %g to %g", b->name, ndm, dm[0], dm[ndm - 1]);
    if (ratio > 0)
        printf("\n");
    else
        printf(", %.1f times fewer adds\n", info.adds_direct / info.adds_planned);
    print(mean, least);
    free_side(exact);
    for (int k = 0; k < NSCRUNCH; k++)
        free_side(side[k]);
}

int main(int argc, char **argv)
{
    int nburst = argc > 1 ? atoi(argv[1]) : 200;
    struct dice dice = {argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    double smear = argc > 3 ? atof(argv[3]) : PSR_DEDISP_SMEAR,
           ratio = argc > 4 ? atof(argv[4]) : 0;
    if (nburst < 1)
        stop("NBURST must be 1 or more");
    if (ratio > 0)
        printf("%d bursts a band, -scrunch %g\n", nburst, ratio);
    else
        printf("%d bursts a band, smearing by at most %g\n", nburst, smear);
    for (int k = 0; k < (ratio > 0 ? 2 : NBAND); k++)
        measure(&bands[k], nburst, &dice, smear, ratio);
    return EXIT_SUCCESS;
}
