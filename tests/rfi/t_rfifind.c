/* rfifind: statistics of cells and periodic signals, against the plain statement in double
 * precision. */
#include <psrkit/experimental/clean.h>

#include "formats/spectra/unpack.h"
#include "rfi/rules/clean_internal.h"
#include "tests/support/tap.h"
#include <float.h>
#include <psrkit/signif.h>
#include <string.h>

enum { CHANS = 40, SPECTRA = 1500, CELLS = 100 * CHANS };

static psr_err err;

/* An observation, and what should come of it; channels from the lowest one. */
struct scene {
    int nchan, nbit, n, block, nint, nsamp;
    enum psr_kind kind;
    bool reverse, zerodm;
    double clip, sigma;
    unsigned char keep[CHANS]; /* in the order of the data */
    unsigned char bytes[SPECTRA * CHANS * 4];
    size_t row_bytes;
    double x[SPECTRA][CHANS]; /* as read, then cleaned */
    double mean[CELLS], sd[CELLS], power[CELLS];
    double cosine[SPECTRA], sine[SPECTRA]; /* of a turn in n steps */
    int nclipped;
};

static struct scene s;

static void draw_shape(uint64_t *seed)
{
    static const int bits[] = {1, 2, 4, 8, 8, 16, 16, 32, 32};
    static const double level[33] = {
        [1] = 0.5, [2] = 1.5, [4] = 7, [8] = 100, [16] = 3000, [32] = 50};
    int kind = (int)tap_between(seed, 0, 8);
    memset(&s, 0, sizeof s);
    s.nbit = bits[kind];
    s.kind = kind == 8 ? PSR_FLOAT : kind == 4 || kind == 6 ? PSR_INT : PSR_UINT;
    if (s.nbit == 32)
        s.kind = PSR_FLOAT;
    s.nchan = (int)tap_between(seed, 1, CHANS);
    s.block = (int)tap_between(seed, 7, 40);
    s.n = s.block * (int)tap_between(seed, 3, 10);
    s.nsamp = (int)tap_between(seed, s.n, SPECTRA);
    s.nint = (s.nsamp + s.n - 1) / s.n;
    s.reverse = tap_between(seed, 0, 1);
    s.zerodm = tap_between(seed, 0, 3) == 0;
    s.clip = tap_between(seed, 0, 2) ? 2 + 4 * tap_uniform(seed) : 0;
    s.sigma = 1 + 4 * tap_uniform(seed);
    s.row_bytes = psr_row_bytes((size_t)s.nchan, s.nbit);
    double middle = s.kind == PSR_INT ? 10 : level[s.nbit],
           scatter = s.nbit == 1 ? 0.6 : middle / 5;
    int hum = (int)tap_between(seed, 0, s.nchan - 1);
    double rate = tap_uniform(seed);
    for (int t = 0; t < s.nsamp; t++) {
        double row[CHANS], burst = tap_between(seed, 0, 99) ? 0 : 3 * scatter;
        for (int c = 0; c < s.nchan; c++)
            row[c] = middle + scatter * tap_normal(seed) + burst +
                     (c == hum ? 2 * scatter * sin(rate * t) : 0);
        psr_row_pack(s.bytes + (size_t)t * s.row_bytes, row, (size_t)s.nchan, s.nbit, s.kind);
        psr_row_unpack(row, s.bytes + (size_t)t * s.row_bytes, (size_t)s.nchan, s.nbit, s.kind);
        for (int c = 0; c < s.nchan; c++)
            s.x[t][s.reverse ? s.nchan - 1 - c : c] = row[c];
    }
    for (int c = 0; c < s.nchan; c++)
        s.keep[c] = tap_between(seed, 0, 9) > 0;
}

/* --- the plain statement ---------------------------------------------------------------------- */

static void plain_zerodm(void)
{
    double band[CHANS] = {0}, total = 0;
    for (int c = 0; c < s.nchan; c++) {
        for (int t = 0; t < s.block; t++)
            band[c] += s.x[t][c] / s.block;
        total += band[c];
    }
    for (int t = 0; t < s.nsamp; t++) {
        double sum = 0;
        for (int c = 0; c < s.nchan; c++)
            sum += s.x[t][c];
        for (int c = 0; c < s.nchan; c++)
            s.x[t][c] += band[c] - band[c] / total * sum;
    }
}

static void moments(const double *x, int n, double *mean, double *sd)
{
    double sum = 0, squares = 0;
    for (int k = 0; k < n; k++)
        sum += x[k];
    *mean = sum / n;
    for (int k = 0; k < n; k++)
        squares += (x[k] - *mean) * (x[k] - *mean);
    *sd = n > 1 ? sqrt(squares / (n - 1)) : 0;
}

struct running {
    double avg, sd, level[CHANS];
    bool begun;
};

static double mix(const struct running *r, double was, double is)
{
    return (double)(float)(r->begun ? 0.9 * was + 0.1 * is : is);
}

/* Of whole intervals only. */
static void plain_clip(struct running *r, int t0)
{
    double z[SPECTRA], sorted[SPECTRA], mean, sd, level[CHANS] = {0};
    int ngood = 0;
    for (int t = 0; t < s.n; t++) {
        z[t] = 0;
        for (int c = 0; c < s.nchan; c++)
            z[t] += s.x[t0 + t][c];
        sorted[t] = z[t];
    }
    moments(z, s.n, &mean, &sd);
    tap_sort_doubles(sorted, (size_t)s.n);
    double median = (sorted[s.n / 2] + sorted[(s.n - 1) / 2]) / 2;
    for (int t = 0; t < s.n; t++) {
        if (!(fabs(z[t] - median) < 3 * sd))
            continue;
        sorted[ngood++] = z[t];
        for (int c = 0; c < s.nchan; c++)
            level[c] += s.x[t0 + t][c];
    }
    if (ngood)
        moments(sorted, ngood, &mean, &sd);
    r->avg = mix(r, r->avg, ngood ? mean : r->avg);
    r->sd = mix(r, r->sd, ngood ? sd : r->sd);
    for (int c = 0; c < s.nchan; c++)
        r->level[c] = mix(r, r->level[c], ngood ? level[c] / ngood : r->level[c]);
    r->begun = true;
    for (int t = 0; t < s.n; t++) {
        if (!(fabs(z[t] - r->avg) > s.clip * r->sd))
            continue;
        s.nclipped++;
        memcpy(s.x[t0 + t], r->level, sizeof r->level);
    }
}

static void plain_amplitude(const double *x, double mean, double sd, int bin, double *re,
                            double *im)
{
    *re = *im = 0;
    for (int t = 0; t < s.n; t++) {
        int phase = bin * t % s.n;
        *re += (x[t] - mean) * s.cosine[phase];
        *im -= (x[t] - mean) * s.sine[phase];
    }
    *re /= sd * sqrt(s.n);
    *im /= sd * sqrt(s.n);
}

/* Powers at half bins: p [2 nbin]. */
static double plain_powers(const double *x, double mean, double sd, double *p)
{
    int nbin = (s.n + 1) / 2;
    double re[SPECTRA], im[SPECTRA], most = 0;
    for (int k = 0; k < nbin; k++) {
        plain_amplitude(x, mean, sd, k, &re[k], &im[k]);
        p[2 * k] = re[k] * re[k] + im[k] * im[k];
        most = k >= 5 ? fmax(most, p[2 * k]) : most;
    }
    re[nbin] = im[nbin] = 0;
    for (int k = 0; k < nbin; k++) {
        double dr = re[k] - re[k + 1], di = im[k] - im[k + 1];
        p[2 * k + 1] = 4 / (M_PI * M_PI) * (dr * dr + di * di);
    }
    return most;
}

/* Detections that are there beyond doubt, and those that may be. */
struct count {
    int sure, perhaps;
};

static struct count plain_detections(const double *p)
{
    int nbin = (s.n + 1) / 2;
    struct count n = {0, 0};
    for (int h = 1; h <= 4; h++) {
        double ln_p = psr_gauss_logp(s.sigma).ln_sf - log(nbin - 5);
        double limit = psr_chi2_threshold(psr_logp_from_sf(ln_p), 2 * h) / 2;
        for (int j = 10; j < 2 * nbin; j++) {
            double sum = 0;
            for (int k = 1; k <= h; k++)
                sum += p[(j + k / 2) / k];
            n.sure += sum > limit * (1 + 1e-4);
            n.perhaps += sum > limit * (1 - 1e-4);
        }
    }
    return n;
}

static struct count plain_cell(int i, int c)
{
    double x[SPECTRA] = {0}, p[2 * SPECTRA];
    int at = i * s.nchan + c;
    bool kept = s.keep[s.reverse ? s.nchan - 1 - c : c];
    for (int t = 0; t < s.n; t++)
        x[t] = kept ? s.x[i * s.n + t][c] : 0;
    moments(x, s.n, &s.mean[at], &s.sd[at]);
    s.power[at] = 0;
    if (!(s.sd[at] > 1e-4))
        return (struct count){0, 0};
    s.power[at] = plain_powers(x, s.mean[at], s.sd[at], p);
    return plain_detections(p);
}

static struct count plain(void)
{
    struct running r = {.begun = false};
    struct count all = {0, 0};
    for (int t = 0; t < s.n; t++) {
        s.cosine[t] = cos(2 * M_PI * t / s.n);
        s.sine[t] = sin(2 * M_PI * t / s.n);
    }
    if (s.zerodm)
        plain_zerodm();
    for (int i = 0; i < s.nint; i++) {
        bool whole = (i + 1) * s.n <= s.nsamp;
        if (whole && s.clip > 0 && !s.zerodm)
            plain_clip(&r, i * s.n);
        for (int c = 0; c < s.nchan; c++) {
            int at = i * s.nchan + c;
            struct count one = {0, 0};
            s.power[at] = 1;
            if (whole)
                one = plain_cell(i, c);
            all.sure += one.sure;
            all.perhaps += one.perhaps;
        }
    }
    return all;
}

/* --- the code under test ---------------------------------------------------------------------- */

static struct psr_rfifind_desc describe(int nthread)
{
    return (struct psr_rfifind_desc){.size = sizeof(struct psr_rfifind_desc),
                                     .nchan = (size_t)s.nchan,
                                     .nbit = s.nbit,
                                     .kind = s.kind,
                                     .reverse = s.reverse,
                                     .tsamp_s = 1e-3,
                                     .block = (size_t)s.block,
                                     .ptsperint = s.n,
                                     .clip_sigma = s.clip,
                                     .zerodm = s.zerodm,
                                     .keep = s.keep,
                                     .freq_sigma = s.sigma,
                                     .nthread = nthread};
}

/* In pieces of random lengths, or all at once if there is no seed. */
static int64_t run(struct psr_rfi_stats *stats, struct psr_rfi_list *list, int nthread,
                   uint64_t *seed, const struct psr_span *gap)
{
    psr_rfifind *p;
    struct psr_rfifind_desc d = describe(nthread);
    if (psr_rfifind_create(&p, &d, &err) != PSR_OK)
        return -1;
    psr_status st = PSR_OK;
    for (int t = 0; t < s.nsamp && st == PSR_OK;) {
        int m = seed ? (int)tap_between(seed, 1, 2 * s.n) : s.nsamp;
        m = m < s.nsamp - t ? m : s.nsamp - t;
        st = psr_rfifind_execute(p, s.bytes + (size_t)t * s.row_bytes, (size_t)m, gap, gap ? 1 : 0,
                                 &err);
        t += m;
    }
    int64_t clipped = psr_rfifind_clipped(p);
    if (st == PSR_OK)
        st = psr_rfifind_finish(p, stats, list, &err);
    psr_rfifind_destroy(p);
    return st == PSR_OK ? clipped : -1;
}

static double relative(double a, double b, double floor)
{
    return fabs(a - b) / fmax(fabs(b), floor);
}

static bool same_results(const struct psr_rfi_stats *a, const struct psr_rfi_list *la,
                         const struct psr_rfi_stats *b, const struct psr_rfi_list *lb)
{
    size_t bytes = a->nchan * a->nint * sizeof(float), nt = (la->nint + 7) / 8;
    return a->nint == b->nint && !memcmp(a->power, b->power, bytes) &&
           !memcmp(a->mean, b->mean, bytes) && !memcmp(a->sd, b->sd, bytes) && la->n == lb->n &&
           (!la->n || (!memcmp(la->birdie, lb->birdie, la->n * sizeof *la->birdie) &&
                       !memcmp(la->times, lb->times, la->n * nt)));
}

static void test_scenes(uint64_t *seed)
{
    double worst[3] = {0};
    int bad = 0, varied = 0, clipped = 0, found = 0;
    for (int k = 0; k < 40; k++) {
        struct psr_rfi_stats stats, again;
        struct psr_rfi_list list, other;
        draw_shape(seed);
        int64_t nclipped = run(&stats, &list, 1, seed, NULL);
        if (nclipped < 0 || run(&again, &other, 3, seed, NULL) != nclipped) {
            diag("%s", err.msg);
            bad += 100;
            continue;
        }
        varied += !same_results(&stats, &list, &again, &other);
        struct count n = plain();
        int nobs = 0;
        for (size_t b = 0; b < list.n; b++)
            nobs += list.birdie[b].nobs;
        bad += nclipped != s.nclipped || nobs < n.sure || nobs > n.perhaps;
        bad += stats.nint != (size_t)s.nint || stats.nchan != (size_t)s.nchan;
        clipped += s.nclipped;
        found += nobs;
        for (int at = 0; at < s.nint * s.nchan; at++) {
            double scale = fabs(s.mean[at]) + s.sd[at];
            worst[0] = fmax(worst[0], relative((double)stats.mean[at], s.mean[at], 1e-3 + scale));
            worst[1] =
                fmax(worst[1], relative((double)stats.sd[at], s.sd[at], 1e-3 + 0.01 * scale));
            if (s.sd[at] > 1e-4 * scale || s.power[at] == 1)
                worst[2] = fmax(worst[2], relative((double)stats.power[at], s.power[at], 1));
        }
        psr_rfi_stats_clear(&stats);
        psr_rfi_stats_clear(&again);
        psr_rfi_list_clear(&list);
        psr_rfi_list_clear(&other);
    }
    ok(bad == 0, "clipped spectra and detections are as many as they should be (%d bad, %d, %d)",
       bad, clipped, found);
    ok(clipped > 0 && found > 0, "and there are some");
    ok(varied == 0, "pieces and threads change no bit (%d do)", varied);
    ok(worst[0] < 1e-6, "means agree (%.2g)", worst[0]);
    ok(worst[1] < 1e-5, "standard deviations agree (%.2g)", worst[1]);
    ok(worst[2] < 2e-4, "largest powers agree (%.2g)", worst[2]);
}

/* A tone between two channels' noise: its birdie. */
static void test_birdie(uint64_t *seed)
{
    struct psr_rfi_stats stats;
    struct psr_rfi_list list;
    memset(&s, 0, sizeof s);
    s.nchan = 3;
    s.nbit = 8;
    s.kind = PSR_UINT;
    s.block = 100;
    s.n = s.nsamp = 1000;
    s.nint = 1;
    s.sigma = 5;
    s.row_bytes = 3;
    memset(s.keep, 1, CHANS);
    for (int t = 0; t < s.n; t++)
        for (int c = 0; c < 3; c++)
            s.bytes[3 * t + c] = (unsigned char)(100 + 8 * tap_normal(seed) +
                                                 (c == 1 ? 9 * sin(2 * M_PI * 0.0505 * t) : 0));
    ok(run(&stats, &list, 1, NULL, NULL) == 0 && list.n > 0, "a tone is found");
    const struct psr_rfi_birdie *b = list.birdie;
    near((double)b->freq_hz, 50.5, 0.6, "at its frequency");
    ok(list.chans[0] == 0x40 && list.times[0] == 0x80, "in its channel and interval");
    ok(b->sigma > 8 && b->nobs > 1, "with its significance (%g)", (double)b->sigma);
    psr_rfi_stats_clear(&stats);
    psr_rfi_list_clear(&list);
}

/* Intervals with gaps, and samples that are no numbers. */
static void test_bad_data(uint64_t *seed)
{
    struct psr_rfi_stats stats;
    struct psr_rfi_list list;
    do
        draw_shape(seed);
    while (s.kind != PSR_FLOAT || s.nint < 4 || s.zerodm);
    s.clip = 0;
    memset(s.keep, 1, CHANS);
    struct psr_span gap = {s.n + 3, s.n - 2};
    float nan = NAN;
    memcpy(s.bytes, &nan, sizeof nan);
    ok(run(&stats, &list, 2, seed, &gap) == 0, "gaps and numbers that are none are taken");
    int bad = 0;
    for (int i = 1; i < 3; i++)
        for (int c = 0; c < s.nchan; c++) {
            int at = i * s.nchan + c;
            bad += (stats.power[at] == 1 && stats.mean[at] == 0 && stats.sd[at] == 0) !=
                   (i < 2 + (gap.count + gap.first > 2 * s.n));
        }
    ok(bad == 0, "intervals in which data are missing are padding (%d are not)", bad);
    int c = s.reverse ? s.nchan - 1 : 0;
    ok(stats.power[c] == FLT_MAX && stats.mean[c] == 0,
       "a cell with what is no number is periodic");
    psr_rfi_stats_clear(&stats);
    psr_rfi_list_clear(&list);
}

/* --- what rfifind does not have --------------------------------------------------------------- */

struct more {
    struct psr_rfi_stats stats;
    struct psr_rfi_list list;
    struct psr_rfi_lines lines;
    int64_t clipped;
};

static psr_status run_more(struct more *m, int nthread, uint64_t *seed)
{
    psr_rfifind *p;
    struct psr_rfifind_desc d = describe(nthread);
    d.cells = true;
    d.burst_sigma = 4;
    d.line_sigma = 1;
    memset(m, 0, sizeof *m);
    psr_status st = psr_rfifind_create(&p, &d, &err);
    if (st != PSR_OK)
        return st;
    for (int t = 0, n; t < s.nsamp && st == PSR_OK; t += n) {
        n = (int)tap_between(seed, 1, 2 * s.n);
        n = n < s.nsamp - t ? n : s.nsamp - t;
        st = psr_rfifind_execute(p, s.bytes + (size_t)t * s.row_bytes, (size_t)n, NULL, 0, &err);
    }
    m->clipped = psr_rfifind_clipped(p);
    if (st == PSR_OK)
        st = psr_rfifind_finish(p, &m->stats, &m->list, &err);
    if (st == PSR_OK)
        st = psr_rfifind_lines(p, &m->lines, &err);
    psr_rfifind_destroy(p);
    return st;
}

static void clear_more(struct more *m)
{
    psr_rfi_stats_clear(&m->stats);
    psr_rfi_list_clear(&m->list);
    psr_rfi_lines_clear(&m->lines);
}

static bool same_lines(const struct psr_rfi_lines *a, const struct psr_rfi_lines *b)
{
    bool same = a->n == b->n;
    for (size_t k = 0; k < a->n && same; k++)
        same = a->line[k].freq_hz == b->line[k].freq_hz && a->line[k].power == b->line[k].power &&
               a->line[k].nharm == b->line[k].nharm;
    return same;
}

static bool same_more(const struct more *a, const struct more *b)
{
    const size_t n = a->stats.nint * a->stats.nchan;
    return same_results(&a->stats, &a->list, &b->stats, &b->list) && a->clipped == b->clipped &&
           !memcmp(a->stats.cell, b->stats.cell, n * sizeof *a->stats.cell) &&
           !memcmp(a->stats.burst, b->stats.burst, a->stats.nint * sizeof *a->stats.burst) &&
           same_lines(&a->lines, &b->lines);
}

/* Where nothing is clipped, moments of s.x to float rounding; elsewhere of as many spectra less. */
static int count_wrong_cells(const struct more *m)
{
    int wrong = 0;
    int64_t clipped = 0;
    for (int i = 0; i < s.nint; i++) {
        const bool whole = (i + 1) * s.n <= s.nsamp;
        float least = (float)s.n;
        for (int c = 0; c < s.nchan; c++) {
            const struct psr_rfi_cell *cell = &m->stats.cell[i * s.nchan + c];
            double sum[5] = {0}, mean = 0;
            if (!whole || !s.keep[s.reverse ? s.nchan - 1 - c : c]) {
                wrong += cell->n != 0 || cell->m2 != 0 || cell->kurtosis != 0;
                continue;
            }
            least = fminf(least, cell->n);
            for (int t = i * s.n; t < (i + 1) * s.n; t++)
                mean += s.x[t][c] / s.n;
            for (int t = i * s.n; t < (i + 1) * s.n; t++)
                for (int k = 2; k < 5; k++)
                    sum[k] += pow(s.x[t][c] - mean, k) / s.n;
            if (cell->n < (float)s.n || !(sum[2] > 1e-9))
                continue;
            wrong += relative((double)cell->mean, mean, 1) > 1e-6;
            wrong += relative((double)cell->m2, sum[2], 1e-9) > 1e-5;
            wrong += fabs((double)cell->skewness - sum[3] / pow(sum[2], 1.5)) > 1e-4;
            wrong += relative((double)cell->kurtosis, sum[4] / (sum[2] * sum[2]) - 3, 1) > 1e-4;
        }
        clipped += s.n - (int64_t)least;
    }
    return wrong + (clipped != m->clipped && memchr(s.keep, 1, (size_t)s.nchan) != NULL);
}

static void test_more(uint64_t *seed)
{
    int failed = 0, varied = 0, wrong = 0, changed = 0;
    int64_t clipped = 0;
    for (int k = 0; k < 30; k++) {
        struct more a, b;
        struct psr_rfi_stats stats = {0};
        struct psr_rfi_list list = {0};
        draw_shape(seed);
        failed += run_more(&a, 1, seed) != PSR_OK || run_more(&b, 3, seed) != PSR_OK ||
                  run(&stats, &list, 1, NULL, NULL) < 0;
        if (!failed) {
            varied += !same_more(&a, &b);
            changed += !same_results(&a.stats, &a.list, &stats, &list);
            wrong += s.zerodm ? 0 : count_wrong_cells(&a);
            clipped += a.clipped;
        }
        psr_rfi_stats_clear(&stats);
        psr_rfi_list_clear(&list);
        clear_more(&a);
        clear_more(&b);
    }
    ok(failed == 0 && wrong == 0, "cells have the moments of their good samples (%d have not; %d)",
       wrong, failed);
    ok(varied == 0, "for any threads and pieces (%d differ)", varied);
    ok(changed == 0, "and other statistics are what they are without them (%d are not)", changed);
    ok(clipped > 0, "with clipped spectra among them");
}

/* The largest power of two channels that alternate from sample to sample, in noise. */
static float find_alternating(bool presto, uint64_t *seed)
{
    enum { T = 400 };
    unsigned char in[T][2];
    psr_rfifind *p;
    struct psr_rfi_stats stats;
    struct psr_rfi_list list;
    const struct psr_rfifind_desc d = {.size = sizeof d,
                                       .nchan = 2,
                                       .nbit = 8,
                                       .kind = PSR_UINT,
                                       .tsamp_s = 1e-3,
                                       .block = T,
                                       .ptsperint = T,
                                       .presto = presto,
                                       .freq_sigma = 4,
                                       .nthread = 1};
    for (int t = 0; t < T; t++)
        for (int c = 0; c < 2; c++)
            in[t][c] = (unsigned char)(100 + (t % 2 ? 10 : -10) + 3 * tap_normal(seed));
    if (psr_rfifind_create(&p, &d, &err) != PSR_OK ||
        psr_rfifind_execute(p, in, T, NULL, 0, &err) != PSR_OK ||
        psr_rfifind_finish(p, &stats, &list, &err) != PSR_OK)
        return NAN;
    const float most = fmaxf(stats.power[0], stats.power[1]);
    psr_rfifind_destroy(p);
    psr_rfi_stats_clear(&stats);
    psr_rfi_list_clear(&list);
    return most;
}

static void test_nyquist(uint64_t *seed)
{
    const float ours = find_alternating(false, seed), theirs = find_alternating(true, seed);
    ok(ours < 20 && theirs > 300,
       "the Nyquist frequency is searched as PRESTO does, or not (%.3g, %.3g)", (double)theirs,
       (double)ours);
}

static void test_refusals(void)
{
    struct psr_rfifind_desc good;
    psr_rfifind *p;
    draw_shape(&(uint64_t){7});
    good = describe(1);
    struct psr_rfifind_desc d[12];
    for (int k = 0; k < 12; k++)
        d[k] = good;
    d[0].nchan = 0;
    d[1].nbit = 3;
    d[2].tsamp_s = 0;
    d[3].ptsperint++;
    d[4].ptsperint = 0;
    d[5].clip_sigma = -1;
    d[6].freq_sigma = NAN;
    d[7].block = 0;
    d[8].burst_sigma = NAN;
    d[9].line_sigma = 4;
    d[10].burst_sigma = -1;
    d[11].line_sigma = -1;
    int bad = 0;
    for (int k = 0; k < 12; k++)
        bad +=
            psr_rfifind_create(&p, &d[k], &err) != PSR_EINVAL || p || !strstr(err.msg, "rfifind");
    ok(bad == 0, "descriptions that cannot be are refused (%d are not)", bad);
    struct psr_rfi_stats stats;
    struct psr_rfi_list list;
    ok(psr_rfifind_create(&p, &good, &err) == PSR_OK, "and others are not");
    ok(psr_rfifind_finish(p, &stats, &list, &err) == PSR_EINVAL, "nothing has no statistics");
    psr_rfifind_destroy(p);
    psr_rfifind_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_scenes(&seed);
    test_birdie(&seed);
    test_bad_data(&seed);
    test_more(&seed);
    test_nyquist(&seed);
    test_refusals();
    return done_testing();
}
