/* Numbers, probability and rank of made folds: pulsars, interference, noise. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/sift.h>

#include "search/fold/fold_internal.h"
#include "search/sift/sift_state.h"
#include "tests/support/tap.h"

#include <math.h>
#include <string.h>

enum { NSUB = 16, NPART = 16, NBIN = 64 };
static const double PERIOD_S = 0.5, PART_S = 4, LOW_MHZ = 1210, WIDTH_MHZ = 20;

static psr_err err;

/* A pulse of S/N snr over all: in sub-bands and parts up to these; 0 and -n parts: in each sub-band in 1, in n + 1 of
 * its own. */
struct pulse {
    double snr, dm, width; /* turns */
    int nsub, npart;
};

static double turns_late(int j, double dm)
{
    const double mhz = LOW_MHZ + j * WIDTH_MHZ, high = LOW_MHZ + (NSUB - 1) * WIDTH_MHZ;
    return PSR_DMCONST_PRESTO * dm * (1 / (mhz * mhz) - 1 / (high * high)) / PERIOD_S;
}

static void make_fold(struct psr_pfd *fold, uint64_t *random, const struct pulse *p, double dm)
{
    double size = 0;
    *fold = (struct psr_pfd){.ndm = 3,
                             .nperiod = 3,
                             .npdot = 3,
                             .nsub = NSUB,
                             .npart = NPART,
                             .nbin = NBIN,
                             .nchan = NSUB,
                             .tsamp_s = PART_S / 4096,
                             .lofreq_mhz = LOW_MHZ,
                             .width_mhz = WIDTH_MHZ,
                             .dm = dm,
                             .fold = {.f = 1 / PERIOD_S},
                             .topo = {.p = PERIOD_S}};
    if (psr_pfd_allocate(fold, &err) != PSR_OK) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    fold->candidate = strdup("x_DM40.00_ACCEL_0_Cand_1");
    for (int k = -32; k < 32; k++)
        size += exp(-k * k / (p->width * p->width * NBIN * NBIN));
    for (int i = 0; i < NPART; i++)
        for (int j = 0; j < NSUB; j++) {
            double *row = fold->profile + (i * NSUB + j) * NBIN;
            const bool steady = p->npart > 0;
            const int parts = steady ? p->npart : 1 - p->npart,
                      at = steady ? i : (i + 11 * j) % NPART;
            const bool on = j < p->nsub && at < parts;
            const double height = p->snr / sqrt(size * parts * p->nsub);
            for (int b = 0; b < NBIN; b++) {
                double x = (double)b / NBIN - 0.5 - turns_late(j, p->dm);
                x -= round(x);
                row[b] = 1000 + tap_normal(random) +
                         (on ? height * exp(-x * x / (2 * p->width * p->width)) : 0);
            }
            fold->stats[i * NSUB + j] =
                (struct psr_fold_stats){.numdata = 4096, .prof_avg = 1000, .prof_var = 1};
        }
}

static struct psr_cand_score measure(uint64_t *random, const struct pulse *p, double dm)
{
    struct psr_pfd fold;
    struct psr_cand_score score;
    make_fold(&fold, random, p, dm);
    ok(psr_cand_measure(&score, &fold, &err) == PSR_OK, "DM %g at %g: %.3f, %s", p->dm, dm,
       score.probability, score.reasons);
    psr_pfd_clear(&fold);
    return score;
}

static bool is_near(double x, double value, double error)
{
    return fabs(x - value) <= error;
}

/* Deviation of the DM of a pulse that is fitted in the band: each sub-band's arrival is known to sqrt(2) width / (S/N of it). */
static double expect_dm_error(const struct pulse *p)
{
    double sum = 0, square = 0;
    for (int j = 0; j < NSUB; j++) {
        const double late = turns_late(j, 1);
        sum += late / NSUB;
        square += late * late / NSUB;
    }
    return sqrt(2) * p->width / (p->snr * sqrt(square - sum * sum));
}

/* Bounds are some five standard deviations off: a piece of noise stands by chance in one of six. */
static void test_numbers(uint64_t *random)
{
    const struct pulse pulsar = {25, 40, 0.02, NSUB, NPART}, hum = {25, 0, 0.02, NSUB, NPART},
                       narrow = {25, 40, 0.02, 2, NPART}, call = {25, 40, 0.02, NSUB, 3};
    const struct psr_cand_score a = measure(random, &pulsar, 40), b = measure(random, &hum, 0),
                                c = measure(random, &narrow, 40), d = measure(random, &call, 40),
                                e = measure(random, &hum, 40);
    ok(is_near(a.number[PSR_CAND_ALPHA], 0.762, 0.14) && is_near(b.number[PSR_CAND_ALPHA], 1, 0) &&
           e.number[PSR_CAND_ALPHA] > 1,
       "alpha %.2f, at DM 0 %.2f, stronger there %.2f", a.number[PSR_CAND_ALPHA],
       b.number[PSR_CAND_ALPHA], e.number[PSR_CAND_ALPHA]);
    ok(a.number[PSR_CAND_BETA] == 0 && is_near(b.number[PSR_CAND_BETA], 1, 1e-9),
       "beta: the DM of the name is 40");
    const double gamma = expect_dm_error(&pulsar) / 40;
    ok(is_near(a.number[PSR_CAND_GAMMA], gamma, 0.6 * gamma), "gamma %.4f, expected %.4f",
       a.number[PSR_CAND_GAMMA], gamma);
    ok(is_near(a.number[PSR_CAND_SNR], 25, 5), "S/N %.1f", a.number[PSR_CAND_SNR]);
    ok(a.number[PSR_CAND_SHARE_BANDS] > 0.9 && c.number[PSR_CAND_SHARE_BANDS] < 0.7,
       "share of sub-bands %.2f, of two in 16 %.2f", a.number[PSR_CAND_SHARE_BANDS],
       c.number[PSR_CAND_SHARE_BANDS]);
    ok(a.number[PSR_CAND_SHARE_PARTS] > 0.9 && d.number[PSR_CAND_SHARE_PARTS] < 0.75,
       "share of parts %.2f, of three in 16 %.2f", a.number[PSR_CAND_SHARE_PARTS],
       d.number[PSR_CAND_SHARE_PARTS]);
    ok(a.number[PSR_CAND_HALVES_BAND] > 0.75 && c.number[PSR_CAND_HALVES_BAND] < 0.75 &&
           a.number[PSR_CAND_HALVES_TIME] > 0.75 && d.number[PSR_CAND_HALVES_TIME] < 0.75,
       "halves of the band agree, %.2f, or do not, %.2f; of the time %.2f, %.2f",
       a.number[PSR_CAND_HALVES_BAND], c.number[PSR_CAND_HALVES_BAND],
       a.number[PSR_CAND_HALVES_TIME], d.number[PSR_CAND_HALVES_TIME]);
    ok(a.number[PSR_CAND_ACCEL_OK] == 1 && a.number[PSR_CAND_COVERED] == 1,
       "no drift, all covered");
    ok(a.probability > 0.9 && a.probability > c.probability && a.probability > d.probability &&
           a.probability > e.probability && b.probability < a.probability,
       "the pulsar's probability is the highest");
    ok(strstr(e.reasons, "stronger at DM 0") && strstr(c.reasons, "in few sub-bands") &&
           strstr(a.reasons, "in most parts"),
       "reasons in words");
}

/* A drift that is no orbit's, in parts shorter than a turn, half of them without data. */
static void test_impossible(uint64_t *random)
{
    const struct pulse p = {20, 40, 0.02, NSUB, NPART};
    struct psr_pfd fold;
    struct psr_cand_score good, bad;
    make_fold(&fold, random, &p, 40);
    ok(psr_cand_measure(&good, &fold, &err) == PSR_OK, "as it is");
    fold.topo.pd = 0.011;
    for (int k = 0; k < NPART / 2 * NSUB; k++)
        fold.stats[k].prof_var = 0;
    ok(psr_cand_measure(&bad, &fold, &err) == PSR_OK && bad.number[PSR_CAND_ACCEL_OK] == 0 &&
           is_near(bad.number[PSR_CAND_COVERED], 0.5, 1e-9) &&
           strstr(bad.reasons, "impossible acceleration") && bad.probability < good.probability,
       "p-dot 0.011, half of it covered: %s", bad.reasons);
    fold.fold.f = 0.1;
    fold.topo = (struct psr_fold_period){.p = 10};
    ok(psr_cand_measure(&bad, &fold, &err) == PSR_OK &&
           is_near(bad.number[PSR_CAND_COVERED], 0.2, 1e-9) &&
           strstr(bad.reasons, "longer than a part"),
       "a turn of 10 s, parts of 4");
    fold.fold.f = 0;
    ok(psr_cand_measure(&bad, &fold, &err) == PSR_EINVAL, "no period");
    psr_pfd_clear(&fold);
}

/* As large an S/N as a pulse has, in harmonics whose phases make no pulse, as the strongest of many sums in noise has it. */
static void make_noise(struct psr_pfd *fold, uint64_t *random, double snr)
{
    enum { NHARM = 12 };
    const struct pulse none = {0, 40, 0.02, NSUB, NPART};
    make_fold(fold, random, &none, 40);
    for (int k = 0; k < NPART * NSUB; k++)
        for (int b = 0; b < NBIN; b++) {
            const double x = (double)b / NBIN - turns_late(k % NSUB, 40);
            for (int h = 0; h < NHARM; h++)
                fold->profile[k * NBIN + b] += snr / sqrt(NPART * NSUB * NBIN * NHARM / 2.0) *
                                               cos(2 * M_PI * (h + 1) * x + M_PI * h * h / NHARM);
        }
}

/* Adds a sine of DM 0 with that many periods in a turn. */
static void add_hum(struct psr_pfd *fold, int nperiod, double snr)
{
    for (int k = 0; k < NPART * NSUB; k++)
        for (int b = 0; b < NBIN; b++)
            fold->profile[k * NBIN + b] += snr / sqrt(NPART * NSUB * NBIN / 2.0) *
                                           cos(2 * M_PI * nperiod * (double)b / NBIN + 1);
}

/* Makes it a fold at so many periods. */
static void repeat_turns(struct psr_pfd *fold, int nturn)
{
    for (int k = 0; k < NPART * NSUB; k++) {
        double row[NBIN] = {0};
        for (int b = 0; b < NBIN; b++)
            for (int i = 0; i < nturn; i++)
                row[b] +=
                    (fold->profile[k * NBIN + (b + i * NBIN / nturn) % NBIN] - 1000) / sqrt(nturn);
        for (int b = 0; b < NBIN; b++)
            fold->profile[k * NBIN + b] = 1000 + row[b];
    }
}

static struct psr_cand_score measure_with_hum(uint64_t *random, double snr, int nturn, int nperiod)
{
    const struct pulse p = {snr, 40, 0.02, NSUB, NPART};
    struct psr_pfd fold;
    struct psr_cand_score score;
    make_fold(&fold, random, &p, 40);
    repeat_turns(&fold, nturn);
    add_hum(&fold, nperiod, 200);
    add_hum(&fold, 2 * nperiod, 50);
    ok(psr_cand_measure(&score, &fold, &err) == PSR_OK, "hum: %s", score.reasons);
    psr_pfd_clear(&fold);
    return score;
}

/* Hum at every third harmonic of a pulsar; folded at three of its periods without one; at its own period; and with a pulsar
 * of a quarter of the period, which is none of the whole. */
static void test_hum(uint64_t *random)
{
    const struct psr_cand_score with = measure_with_hum(random, 20, 1, 3),
                                alone = measure_with_hum(random, 0, 1, 3),
                                same = measure_with_hum(random, 20, 1, 1),
                                shorter = measure_with_hum(random, 40, 4, 3);
    ok(with.probability > 0.9 && with.number[PSR_CAND_ALPHA] < 1 &&
           is_near(with.number[PSR_CAND_SNR], 16, 5),
       "a pulsar beside hum: %.4f, S/N %.1f", with.probability, with.number[PSR_CAND_SNR]);
    ok(alone.probability < 0.1 && alone.number[PSR_CAND_ALPHA] > 1, "hum alone: %.4f",
       alone.probability);
    ok(same.probability < PSR_CAND_LINE && same.number[PSR_CAND_ALPHA] > 1,
       "what has all its harmonics at DM 0 is there: %.4f", same.probability);
    ok(shorter.probability < PSR_CAND_LINE && shorter.number[PSR_CAND_ALPHA] > 1,
       "a sum of hum and another pulsar is there: %.4f", shorter.probability);
}

static double rank_one(struct psr_cand_score score, double chance)
{
    struct psr_sift_cand cand = {.number = 1, .score = &score, .chance = chance};
    return psr_cand_rank(&cand, 1, &err) == PSR_OK ? score.probability : NAN;
}

static void test_chance(uint64_t *random)
{
    const struct pulse faint = {14, 40, 0.02, NSUB, NPART};
    struct psr_pfd fold;
    struct psr_cand_score noise, pulse;
    make_noise(&fold, random, 30);
    ok(psr_cand_measure(&noise, &fold, &err) == PSR_OK, "harmonics without a pulse");
    psr_pfd_clear(&fold);
    make_fold(&fold, random, &faint, 40);
    ok(psr_cand_measure(&pulse, &fold, &err) == PSR_OK, "a faint pulse");
    psr_pfd_clear(&fold);
    const double share[] = {noise.number[PSR_CAND_PULSE_SHARE], pulse.number[PSR_CAND_PULSE_SHARE]};
    ok(share[0] < 0.65 && share[1] > 0.8 && share[1] < 1.25,
       "one boxcar has %.2f of the S/N %.1f of noise, %.2f of the %.1f of a pulse", share[0],
       noise.number[PSR_CAND_SNR], share[1], pulse.number[PSR_CAND_SNR]);
    noise.number[PSR_CAND_SNR] = 9;
    noise.number[PSR_CAND_PULSE_SHARE] = 0.55;
    noise.probability = psr_cand_probability(noise.number);
    ok(rank_one(noise, 0) == noise.probability && rank_one(noise, 1e-7) == noise.probability,
       "what is known of the search leaves what noise does not explain: %.3f", noise.probability);
    ok(rank_one(noise, 0.5) < 0.5 * noise.probability && rank_one(noise, 0.5) < PSR_CAND_LINE,
       "noise that the search finds in every second observation: %.3f", rank_one(noise, 0.5));
    ok(rank_one(noise, 1e-3) < PSR_CAND_LINE && rank_one(noise, 1e-3) > rank_one(noise, 0.5),
       "once in 1000, as it is where lines were left: %.3f", rank_one(noise, 1e-3));
    ok(rank_one(pulse, 0.5) > 0.9 * pulse.probability, "a pulse as faint: %.3f of %.3f",
       rank_one(pulse, 0.5), pulse.probability);
}

/* Calls of telephones, a sub-band and a part each, that agree at some DM are bright; what all cells have in common is not. */
static void test_calls(uint64_t *random)
{
    const struct pulse calls = {120, 40, 0.02, NSUB, 0}, bright = {400, 40, 0.02, NSUB, NPART},
                       brief = {25, 40, 0.02, NSUB, 3}, many = {25, 40, 0.02, NSUB, -2};
    const struct psr_cand_score a = measure(random, &calls, 40), b = measure(random, &bright, 40),
                                c = measure(random, &brief, 40);
    double together = 0, apart = 0;
    for (int i = 0; i < 8; i++) {
        together += measure(random, &brief, 40).number[PSR_CAND_SNR] / 8;
        apart += measure(random, &many, 40).number[PSR_CAND_SNR] / 8;
    }
    ok(a.number[PSR_CAND_SNR] < 9 && a.probability < PSR_CAND_LINE &&
           strstr(a.reasons, "few sub-bands of few parts"),
       "16 calls of S/N 30 in all: %.1f, %.3f", a.number[PSR_CAND_SNR], a.probability);
    ok(apart < 7.5 && together > 9,
       "48 of S/N 11, mean of 8 folds: %.2f; as bright a pulsar in three parts of 16: %.2f", apart,
       together);
    ok(b.number[PSR_CAND_SNR] > 380, "cells of S/N 25 each are a bright pulsar's: %.1f",
       b.number[PSR_CAND_SNR]);
    ok(c.number[PSR_CAND_SNR] > 5 && !strstr(c.reasons, "few sub-bands of few parts"),
       "a pulsar in three parts of 16, of S/N 11 over all: %.1f", c.number[PSR_CAND_SNR]);
}

static void test_probability(void)
{
    double number[PSR_CAND_NNUMBER];
    for (int k = 0; k < PSR_CAND_NNUMBER; k++)
        number[k] = NAN;
    const double none = psr_cand_probability(number);
    bool falls = true, rises = true;
    for (int k = 0; k < PSR_CAND_NNUMBER; k++) {
        const bool against = k <= PSR_CAND_GAMMA;
        number[k] = against ? 0 : 10;
        const double good = psr_cand_probability(number);
        number[k] = against ? 10 : -10;
        const double bad = psr_cand_probability(number);
        number[k] = NAN;
        falls &= bad <= none;
        rises &= good >= none;
    }
    ok(none > 0 && none < 1 && falls && rises, "each number speaks one way, or not at all");
}

static void test_rank(void)
{
    struct psr_cand_score none = {.probability = 0.01}, low = {.probability = 0.2},
                          high = {.probability = 0.9};
    /* A bright slow pulsar at an open DM, which its fold moved. */
    struct psr_cand_score moved = {.probability = 0.1,
                                   .number = {[PSR_CAND_ALPHA] = 0.9999,
                                              [PSR_CAND_BETA] = 2,
                                              [PSR_CAND_GAMMA] = 2.9,
                                              [PSR_CAND_SHARE_BANDS] = 1,
                                              [PSR_CAND_SHARE_PARTS] = 1,
                                              [PSR_CAND_HALVES_BAND] = 0.98,
                                              [PSR_CAND_HALVES_TIME] = 0.99,
                                              [PSR_CAND_ACCEL_OK] = 1,
                                              [PSR_CAND_COVERED] = 1,
                                              [PSR_CAND_SNR] = 99,
                                              [PSR_CAND_DM0_SIGMA] = 0.34,
                                              [PSR_CAND_BANDS_RATIO] = 1,
                                              [PSR_CAND_PULSE_SHARE] = 0.98}};
    struct psr_cand_score low_dms = moved, rejected = moved;
    rejected.number[PSR_CAND_ALPHA] = 0.95;
    rejected.number[PSR_CAND_GAMMA] = 0.03;
    rejected.number[PSR_CAND_DM0_SIGMA] = 31;
    struct psr_sift_cand cand[] = {
        {.number = 1, .score = &low},
        {.number = 2},
        {.number = 3, .score = &high, .marks = PSR_SIFT_DM0},
        {.number = 4, .score = &high, .fundamental = 6},
        {.number = 5, .score = &moved, .marks = PSR_SIFT_DM_UNKNOWN, .dm_share = 0.9},
        {.number = 6, .score = &low},
        {.number = 7, .score = &none},
        {.number = 8, .score = &high, .fundamental = 7}};
    const int64_t expected[] = {6, 4, 8, 5, 1, 7, 2, 3};
    bool same = psr_cand_rank(cand, 8, &err) == PSR_OK;
    for (int i = 0; i < 8; i++)
        same &= cand[i].number == expected[i];
    same &= cand[1].fundamental == 1 && !cand[0].fundamental && !cand[2].fundamental;
    ok(same,
       "by probability, fundamentals first but those that fold to nothing, those not folded, and "
       "marked ones last");
    struct psr_sift_cand open[] = {
        {.score = &low_dms, .marks = PSR_SIFT_DM_UNKNOWN, .dm_share = 0.05},
        {.score = &rejected, .marks = PSR_SIFT_DM_UNKNOWN, .dm_share = 0.05}};
    ok(moved.probability > PSR_CAND_LINE, "what a fold says of an open DM tells nothing: %.3f",
       moved.probability);
    ok(psr_cand_rank(open, 2, &err) == PSR_OK && low_dms.probability < PSR_CAND_LINE,
       "but that only DMs near 0 fit does: %.3f", low_dms.probability);
    ok(rejected.probability > 0.95, "not where the fold rejects DM 0: %.3f", rejected.probability);
    struct psr_cand_score elsewhere = {.probability = 0.9, .moved_bins = 0.5},
                          there = {.probability = 0.9, .moved_bins = 0.1},
                          unknown = {.probability = 0.9, .moved_bins = NAN};
    struct psr_sift_cand moving[] = {{.number = 1, .score = &elsewhere},
                                     {.number = 2, .score = &there},
                                     {.number = 3, .score = &unknown}};
    ok(psr_cand_rank(moving, 3, &err) == PSR_OK && moving[2].number == 1 &&
           elsewhere.probability < PSR_CAND_LINE && strstr(elsewhere.reasons, "moved the period") &&
           there.probability == 0.9 && unknown.probability == 0.9,
       "a fold at another period is another signal's: %.3f", elsewhere.probability);
    const double once = elsewhere.probability, open_once = low_dms.probability;
    ok(psr_cand_rank(moving, 3, &err) == PSR_OK && psr_cand_rank(open, 2, &err) == PSR_OK &&
           memcmp(&once, &elsewhere.probability, sizeof once) == 0 &&
           memcmp(&open_once, &low_dms.probability, sizeof once) == 0,
       "ranked again they keep their probability: %.3f", elsewhere.probability);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_numbers(&random);
    test_impossible(&random);
    test_hum(&random);
    test_chance(&random);
    test_calls(&random);
    test_probability();
    test_rank();
    return done_testing();
}
