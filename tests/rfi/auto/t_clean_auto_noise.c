/* Whether automatic cleaning marks noise of 1, 2, 4 and 8 bits as often as its manual says, at several thresholds of
 * sparks, and what of noise seems delayed.
 *   t_clean_auto_noise [WINDOWS]   of 256 channels, 4096 spectra; of each depth and threshold */
#include "rfi/auto/clean_auto_plan.h"
#include "tests/support/noise_bits.h"

enum { CHANS = 256, WINDOW = 4096, BLOCKS = 16, NSETTING = 3, NDEPTH = 4 };

static const int depth[NDEPTH] = {1, 2, 4, 8};
static const double clip[NSETTING] = {3, 3.5, 4}, delay[NSETTING] = {2, 3, 4};
static psr_err err;

/* Share of tiles of 16 Gaussian sub-bands whose median and quartile are beyond clip, from 4 million draws; and how many
 * times that is found: bits are coarse, and the scatter of wide tiles is that of 64. */
static const double tile[NSETTING] = {3.69e-4, 3.75e-5, 1.75e-6}, most[NSETTING] = {1.5, 2, 5};
/* Spectra of a window have so many tiles of 1, 2, 4 .. 64. */
static const double tiles = 127.0 / 64 * WINDOW;

struct counts {
    size_t windows, cells, channels, sparks, pulses, filtered, steps, judged, delayed[NSETTING],
        bursts;
};

static size_t count_runs(const unsigned char *is)
{
    size_t n = 0;
    for (size_t t = 0; t < WINDOW; t++)
        n += is[t] && !(t && is[t - 1]);
    return n;
}

/* What was found in the window that was cleaned last. */
static void count_window(const psr_clean_auto *p, struct counts *n)
{
    n->windows++;
    for (size_t c = 0; c < CHANS; c++) {
        n->channels += p->levels.bad[c];
        for (size_t k = 0; k < BLOCKS && !p->levels.bad[c]; k++)
            n->cells += p->win.block[k].masked[c];
    }
    n->sparks += count_runs(p->band.spark);
    n->pulses += count_runs(p->band.pulse);
    n->bursts += count_runs(p->band.burst);
    n->steps += p->jumps.njump;
}

/* Runs of sparks of the last window were judged by their delays. */
static void count_delays(const psr_clean_auto *p, size_t before, struct counts *n)
{
    for (size_t k = before; k < p->band.ndelay; k++) {
        const struct psr_auto_delay *d = &p->band.delay[k % PSR_AUTO_RUNS];
        n->judged++;
        for (int s = 0; s < NSETTING; s++)
            n->delayed[s] += d->noise > 0 && fabs(d->size) > delay[s] * d->noise;
    }
}

static bool observe(int nbit, const unsigned char *table, double sigma, int nwindow,
                    struct counts *n, uint64_t *seed)
{
    static unsigned char in[WINDOW * CHANS], out[WINDOW * CHANS * 2];
    const struct psr_clean_auto_desc desc = {.size = sizeof desc,
                                             .nchan = CHANS,
                                             .nbit = nbit,
                                             .kind = PSR_UINT,
                                             .tsamp_s = 512e-6,
                                             .clip_sigma = sigma,
                                             .nthread = 1};
    psr_clean_auto *p;
    psr_status st = psr_clean_auto_create(&p, &desc, &err);
    for (int w = 0; w < nwindow && !st; w++) {
        const size_t before = p->band.ndelay;
        size_t got;
        draw_noise(nbit, table, in, sizeof in / 8 * (size_t)nbit, seed);
        st = psr_clean_auto_execute(p, in, WINDOW, out, &got, &err);
        if (!st && got == WINDOW) {
            count_window(p, n);
            count_delays(p, before, n);
        }
    }
    if (!st) {
        struct psr_clean_auto_report report;
        psr_clean_auto_describe(p, &report);
        n->filtered += report.nfiltered;
    }
    psr_clean_auto_destroy(p);
    return !st;
}

static void test_setting(int nbit, const unsigned char *table, int s, int nwindow, uint64_t *seed)
{
    struct counts n = {0};
    const double tails = two_tails(4);
    ok(observe(nbit, table, clip[s], nwindow, &n, seed), "%zu windows of %d bits, -clip %g",
       n.windows, nbit, clip[s]);
    const double windows = (double)n.windows;
    compare_share(nbit, "runs of sparks, clip", clip[s], n.sparks, windows * tiles,
                  (struct share){0.4 * tile[s], most[s] * tile[s]});
    for (int k = 0; k < NSETTING; k++)
        compare_share(nbit, "of them delayed", delay[k], n.delayed[k], (double)n.judged,
                      (struct share){k ? 0 : two_tails(delay[k]) / 3, two_tails(delay[k])});
    compare_share(nbit, "bursts", 4, n.bursts, (double)(n.judged + n.pulses),
                  (struct share){0, 2 * tails});
    compare_share(nbit, "cells", 5, n.cells, windows * CHANS * BLOCKS, (struct share){0, 1e-5});
    compare_share(nbit, "channels", 5, n.channels, windows * CHANS, (struct share){0, 1e-6});
    compare_share(nbit, "windows filtered", 1.25, n.filtered, windows, (struct share){0, 1e-3});
    compare_share(nbit, "steps of the band", 20, n.steps, windows, (struct share){0, 1e-4});
}

int main(int argc, char **argv)
{
    static unsigned char table[NOISE_TABLE];
    uint64_t seed = tap_seed();
    const int nwindow = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 12;
    for (int k = 0; k < NDEPTH; k++) {
        fill_table(depth[k], table);
        for (int s = 0; s < NSETTING; s++)
            test_setting(depth[k], table, s, nwindow, &seed);
    }
    return done_testing();
}
