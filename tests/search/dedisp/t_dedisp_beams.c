/* dedisp_beams: every sum of every beam against one done the naive way with the
 * lags that the plan tells, on random shapes; these lags against those of
 * psr_dedisp; and what a plan refuses. */
#include "plan/ddplan_internal.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/beams_shape.h"

/* --- sums
 * -------------------------------------------------------------------------------------
 */

/* One output; channels of low to high only. */
static double naive_sum(const struct sky *k, size_t beam, const int64_t *lag, size_t n, int64_t t,
                        double low_mhz, double high_mhz)
{
    double sum = 0;
    for (size_t c = 0; c < k->d.nchan; c++) {
        int64_t from = (t - lag[c]) * (int64_t)n;
        if ((k->d.keep && !k->d.keep[c]) || k->d.freq_mhz[c] < low_mhz ||
            k->d.freq_mhz[c] > high_mhz)
            continue;
        for (int64_t u = from; from >= 0 && u < from + (int64_t)n; u++)
            sum += k->x[beam][(size_t)u * k->d.nchan + c];
    }
    return sum / (double)n;
}

static bool same_series(const struct sky *k, size_t beam, const psr_dedisp_beams *p, size_t line,
                        size_t i, const struct psr_dedisp_beams_series *got, size_t row,
                        double low_mhz, double high_mhz)
{
    static int64_t lag[MAXCHAN];
    struct psr_dedisp_beams_line l;
    psr_dedisp_beams_line(p, line, &l);
    for (size_t c = 0; c < k->d.nchan; c++)
        lag[c] = psr_dedisp_beams_lag(p, line, i, c);
    for (size_t t = 0; t < got->nsamp; t++) {
        float want = (float)naive_sum(k, beam, lag, l.downsamp, (int64_t)(got->first + t), low_mhz,
                                      high_mhz);
        if (got->out[row * got->stride + t] == want)
            continue;
        diag("beam %zu line %zu of %zu trial %zu sample %llu + %zu: got %.9g, want "
             "%.9g",
             beam, line, l.downsamp, i, (unsigned long long)got->first, t,
             got->out[row * got->stride + t], want);
        return false;
    }
    return true;
}

static bool same_bands(const struct sky *k, size_t beam, const psr_dedisp_beams *p, size_t line,
                       size_t nband)
{
    for (size_t n = 0; n < nband; n++) {
        struct psr_dedisp_beams_band band;
        struct psr_dedisp_beams_series got;
        psr_dedisp_beams_band(p, line, n, &band);
        psr_dedisp_beams_band_series(p, line, n, &got);
        for (size_t i = 0; i < band.ndm; i++)
            if (!same_series(k, beam, p, line, band.trial[i], &got, i, band.low_mhz,
                             band.high_mhz)) {
                diag("band %zu: %g to %g MHz", n, band.low_mhz, band.high_mhz);
                return false;
            }
    }
    return true;
}

/* All that the last execute of a beam gave. */
static bool same_output(const struct sky *k, size_t beam, const psr_dedisp_beams *p, uint64_t was)
{
    struct psr_dedisp_beams_info info;
    psr_dedisp_beams_describe(p, &info);
    for (size_t line = 0; line < info.nline; line++) {
        struct psr_dedisp_beams_line l;
        struct psr_dedisp_beams_series got;
        psr_dedisp_beams_line(p, line, &l);
        psr_dedisp_beams_series(p, line, &got);
        if (got.first != was / l.downsamp || got.first + got.nsamp != k->taken[beam] / l.downsamp) {
            diag("line of %zu: samples %llu + %zu", l.downsamp, (unsigned long long)got.first,
                 got.nsamp);
            return false;
        }
        for (size_t i = 0; i < l.ndm; i++)
            if (!same_series(k, beam, p, line, i, &got, i, 0, 1e9))
                return false;
        if (!same_bands(k, beam, p, line, l.nband))
            return false;
    }
    return true;
}

/* --- delays
 * -----------------------------------------------------------------------------------
 */

/* A line has the delays of a plan of its trials alone. */
static bool same_lags(const struct sky *k, const psr_dedisp_beams *p, size_t line)
{
    static double dm[MAXDM];
    struct psr_dedisp_beams_line l;
    struct psr_dedisp_desc d = k->s.d;
    psr_dedisp *q;
    psr_err err;
    psr_dedisp_beams_line(p, line, &l);
    for (size_t i = 0; i < l.ndm; i++)
        dm[i] = k->d.dm[l.trial[i]];
    d.downsamp = l.downsamp;
    d.ndm = l.ndm;
    d.dm = dm;
    d.keep = k->d.keep;
    if (psr_dedisp_create(&q, &d, &err)) {
        diag("%s", err.msg);
        return false;
    }
    bool pass = true;
    for (size_t i = 0; i < l.ndm; i++) {
        int64_t shift = (int64_t)psr_dedisp_beams_shift(p, line, i);
        size_t want = k->d.aligned ? psr_dedisp_maxshift(q) : psr_dedisp_shift(q, i);
        pass &= shift == (int64_t)want && (!i || dm[i] >= dm[i - 1]);
        for (size_t c = 0; c < k->d.nchan; c++) {
            int64_t lag = psr_dedisp_beams_lag(p, line, i, c);
            bool kept = !k->d.keep || k->d.keep[c];
            pass &=
                lag == shift - psr_dedisp_delay(q, i, c) && (!kept || (lag >= 0 && lag <= shift));
        }
    }
    psr_dedisp_destroy(q);
    return pass;
}

/* Every trial is in one line, that of its scrunching. */
static bool all_trials(const struct sky *k, const psr_dedisp_beams *p, size_t nline)
{
    size_t seen = 0;
    double low = extreme(&k->s, -1), high = extreme(&k->s, 1), smear = 0;
    if (k->d.nchan > 1)
        smear = (psr_delay_s(k->d.dmconst, 1, low) - psr_delay_s(k->d.dmconst, 1, high)) /
                k->d.tsamp_s / (double)(k->d.nchan - 1);
    for (size_t line = 0; line < nline; line++) {
        struct psr_dedisp_beams_line l;
        psr_dedisp_beams_line(p, line, &l);
        for (size_t i = 0; i < l.ndm; i++) {
            double dm = k->d.dm[l.trial[i]];
            int64_t want = k->d.scrunch > 0 ? psr_scrunch(dm * smear, k->d.scrunch, 65536) : 1;
            want = k->d.downsamp ? (int64_t)k->d.downsamp[l.trial[i]] : want;
            if ((int64_t)l.downsamp != want)
                return false;
        }
        seen += l.ndm;
    }
    return seen == k->d.ndm;
}

/* --- the tests
 * --------------------------------------------------------------------------------
 */

/* Beams in turns, blocks of any length; once more from the start. */
static bool run_sky(struct sky *k, psr_dedisp_beams *p, size_t limit, uint64_t *seed)
{
    size_t row = k->s.row_bytes;
    memset(k->taken, 0, sizeof k->taken);
    for (size_t b = 0; b < k->d.nbeam; b++)
        psr_dedisp_beams_reset(p, b);
    size_t b, n;
    uint64_t was;
    psr_err err;
    while (next_block(k, limit, seed, &b, &was, &n)) {
        if (psr_dedisp_beams_execute(p, b, k->data[b] + was * row, n, &err)) {
            diag("%s", err.msg);
            return false;
        }
        if (!same_output(k, b, p, was))
            return false;
    }
    return true;
}

static bool check_sky(struct sky *k, uint64_t *seed)
{
    psr_dedisp_beams *p;
    psr_err err;
    struct psr_dedisp_beams_info info;
    if (psr_dedisp_beams_create(&p, &k->d, &err)) {
        diag("create: %s", err.msg);
        return false;
    }
    psr_dedisp_beams_describe(p, &info);
    bool pass = all_trials(k, p, info.nline);
    for (size_t line = 0; line < info.nline && pass; line++)
        pass = same_lags(k, p, line);
    size_t most = k->s.nsamp < 700 ? k->s.nsamp : 700;
    pass = pass && run_sky(k, p, most, seed) && run_sky(k, p, most / 3 + 1, seed);
    psr_dedisp_beams_destroy(p);
    return pass;
}

static void test_random_skies(uint64_t *seed)
{
    static struct sky k;
    int n, count = 200;
    size_t bands = 0;
    for (n = 0; n < count; n++) {
        uint64_t now = *seed;
        choose_sky(&k, seed);
        bool pass = check_sky(&k, seed);
        if (!pass) {
            diag("shape %d, state %llu: scrunch %g block %zu beams %zu halvings %zu", n,
                 (unsigned long long)now, k.d.scrunch, k.d.block, k.d.nbeam, k.d.nhalve);
            describe(&k.s);
        }
        bands += k.d.nhalve > 0;
        drop_sky(&k);
        if (!pass)
            break;
    }
    ok(n == count && bands, "%d random shapes: every sum of every beam is the naive one", count);
}

/* --- chosen shapes
 * ----------------------------------------------------------------------------
 */

/* Each beam's samples are kept once: no more than the triangle of the delays,
 * and its sums. */
static void test_state(void)
{
    static struct shape s;
    struct psr_dedisp_beams_desc d = chosen(&s, 1024, 300, 3);
    struct psr_dedisp_beams_info info, finer;
    psr_dedisp_beams *p;
    psr_err err;
    d.scrunch = 0.1;
    d.block = 2000;
    if (!ok(!psr_dedisp_beams_create(&p, &d, &err), "a plan of a wide sweep"))
        return;
    psr_dedisp_beams_describe(p, &info);
    double sweep = (double)psr_dedisp_beams_shift(p, 0, 0), lines = 0, planned = 0;
    for (size_t n = 0; n < info.nline; n++) {
        struct psr_dedisp_beams_line l;
        psr_dedisp_beams_line(p, n, &l);
        lines += l.bytes_beam;
        planned += l.adds_planned;
        double most = (double)psr_dedisp_beams_shift(p, n, l.ndm - 1);
        sweep = most > sweep ? most : sweep;
    }
    ok(info.nline >= 4 && fabs(lines + 8 * 1024 - info.bytes_beam) < 1 &&
           fabs(planned - info.adds_planned) < 1e-6 * planned,
       "%zu lines, %.1f MB a beam: its lines are all of it", info.nline, info.bytes_beam * 1e-6);
    ok(info.adds_direct > 4 * info.adds_planned, "%.0f adds of %.0f", info.adds_planned,
       info.adds_direct);
    /* Two bytes a sum; half of the rectangle, and a block, of each. */
    ok(lines < (double)info.nline * 1024 * 2 * (0.6 * sweep + 2500),
       "at most 60 %% of channels x delay, %.0f samples, and blocks", sweep);
    psr_dedisp_beams_destroy(p);
    d.block = 200;
    if (ok(!psr_dedisp_beams_create(&p, &d, &err), "shorter blocks")) {
        psr_dedisp_beams_describe(p, &finer);
        ok(finer.bytes_beam < info.bytes_beam, "%.1f MB a beam", finer.bytes_beam * 1e-6);
        psr_dedisp_beams_destroy(p);
    }
}

static void refuse(struct psr_dedisp_beams_desc d, psr_status want, const char *field)
{
    psr_dedisp_beams *p;
    psr_err err = {0};
    psr_status st = psr_dedisp_beams_create(&p, &d, &err);
    ok(st == want && !strcmp(err.field, field) && !p, "%s: %s", field, err.msg);
}

static void test_refusals(void)
{
    static struct shape s;
    const struct psr_dedisp_beams_desc good = chosen(&s, 64, 10, 30);
    struct psr_dedisp_beams_desc d = good;
    d.nbeam = 0;
    refuse(d, PSR_EINVAL, "nbeam");
    d = good;
    d.block = 0;
    refuse(d, PSR_EINVAL, "block");
    d = good;
    d.scrunch = 0.01;
    refuse(d, PSR_EINVAL, "scrunch");
    d.scrunch = NAN;
    refuse(d, PSR_EINVAL, "scrunch");
    d = good;
    d.nhalve = 5;
    refuse(d, PSR_EINVAL, "nhalve");
    d = good;
    d.nbit = 32;
    refuse(d, PSR_EUNSUPPORTED, "nbit");
    d = good;
    d.nbit = 3;
    refuse(d, PSR_EINVAL, "nbit");
    d = good;
    size_t sums[10] = {2, 2, 2, 6, 6, 6, 6, 9, 12, 12};
    d.downsamp = sums;
    refuse(d, PSR_EINVAL, "downsamp");
    sums[7] = 0;
    refuse(d, PSR_EINVAL, "downsamp");
    sums[7] = 131072 * 3;
    refuse(d, PSR_EINVAL, "downsamp");
    d = good;
    d.smear = 1;
    refuse(d, PSR_EINVAL, "smear");
    d = good;
    d.ndm = 0;
    refuse(d, PSR_EINVAL, "ndm");
    d = good;
    s.dm[3] = -1;
    refuse(d, PSR_EINVAL, "dm");
    s.dm[3] = 30;
    d.nbeam = 1000;
    d.mem_bytes = 50000000;
    refuse(d, PSR_ENOMEM, "mem_bytes");
    d = good;
    d.backend = "none";
    refuse(d, PSR_EDEVICE, "backend");
    unsigned char keep[64] = {0};
    d = good;
    d.keep = keep;
    refuse(d, PSR_EINVAL, "keep");
}

static void test_calls(void)
{
    static struct shape s;
    static unsigned char in[101 * 64];
    const struct psr_dedisp_beams_desc d = chosen(&s, 64, 10, 30);
    psr_dedisp_beams *p;
    psr_err err;
    if (!ok(!psr_dedisp_beams_create(&p, &d, &err), "a plan"))
        return;
    ok(psr_dedisp_beams_execute(p, 2, in, 1, &err) == PSR_EINVAL && !strcmp(err.field, "beam"),
       "%s", err.msg);
    ok(psr_dedisp_beams_execute(p, 1, in, 101, &err) == PSR_EINVAL && !strcmp(err.field, "nsamp"),
       "%s", err.msg);
    ok(!psr_dedisp_beams_execute(p, 1, in, 100, &err), "a block");
    psr_dedisp_beams_destroy(p);
    psr_dedisp_beams_destroy(NULL);
}

/* --- bursts
 * -----------------------------------------------------------------------------------
 */

enum { NBURST_CHAN = 512, NBURST_SAMP = 6000, NBURST_BLOCK = 500, BURST_WIDTH = 4 };

/* The brightest sample that any series of a beam had, in standard deviations.
 */
struct brightest {
    double snr, dm, low_mhz, high_mhz;
    double end; /* samples of the input */
};

/* A burst in kept channels k0 .. k1 - 1, by falling frequency, whose last
 * channel comes at "end". */
static void add_burst(unsigned char *data, const struct psr_dedisp_beams_desc *d, double dm,
                      double end, size_t k0, size_t k1, unsigned char height)
{
    for (size_t c = k0; c < k1; c++) {
        double later = psr_delay_s(d->dmconst, dm, d->freq_mhz[d->nchan - 1]) -
                       psr_delay_s(d->dmconst, dm, d->freq_mhz[c]);
        size_t t = (size_t)(end - later / d->tsamp_s + 0.5);
        for (size_t u = t; u < t + BURST_WIDTH; u++)
            data[u * d->nchan + c] = (unsigned char)(data[u * d->nchan + c] + height);
    }
}

static void take_brightest(struct brightest *b, const struct psr_dedisp_beams_series *got,
                           size_t row, size_t nkept, size_t downsamp, size_t shift,
                           struct brightest of)
{
    double n = (double)nkept, scale = sqrt((16 * 16 - 1) / 12.0 * n / (double)downsamp);
    for (size_t t = 0; t < got->nsamp; t++) {
        of.snr = (got->out[row * got->stride + t] - 7.5 * n) / scale;
        of.end = ((double)(got->first + t) + 0.5) * (double)downsamp;
        if (got->first + t >= shift && of.snr > b->snr)
            *b = of;
    }
}

/* All series of the last execute. */
static void look_for_burst(const psr_dedisp_beams *p, const struct psr_dedisp_beams_desc *d,
                           struct brightest *b)
{
    struct psr_dedisp_beams_info info;
    psr_dedisp_beams_describe(p, &info);
    for (size_t n = 0; n < info.nline; n++) {
        struct psr_dedisp_beams_line l;
        struct psr_dedisp_beams_series got;
        psr_dedisp_beams_line(p, n, &l);
        psr_dedisp_beams_series(p, n, &got);
        for (size_t i = 0; i < l.ndm; i++)
            take_brightest(b, &got, i, d->nchan, l.downsamp, psr_dedisp_beams_shift(p, n, i),
                           (struct brightest){.dm = d->dm[l.trial[i]]});
        for (size_t k = 0; k < l.nband; k++) {
            struct psr_dedisp_beams_band band;
            psr_dedisp_beams_band(p, n, k, &band);
            psr_dedisp_beams_band_series(p, n, k, &got);
            for (size_t i = 0; i < band.ndm; i++)
                take_brightest(b, &got, i, band.nkept, l.downsamp,
                               psr_dedisp_beams_shift(p, n, band.trial[i]),
                               (struct brightest){.dm = d->dm[l.trial[band.trial[i]]],
                                                  .low_mhz = band.low_mhz,
                                                  .high_mhz = band.high_mhz});
        }
    }
}

/* Noise alone, a burst over the whole band, and one over a quarter of it, each
 * in its beam. */
static void test_bursts(uint64_t *seed)
{
    static struct shape s;
    struct psr_dedisp_beams_desc d = chosen(&s, NBURST_CHAN, 200, 2);
    struct brightest b[MAXBEAM] = {{0}};
    unsigned char *data = tap_take(NBURST_SAMP, NBURST_CHAN);
    psr_dedisp_beams *p;
    psr_err err;
    d.nbeam = MAXBEAM;
    d.block = NBURST_BLOCK;
    d.nhalve = 3;
    if (!ok(!psr_dedisp_beams_create(&p, &d, &err), "a plan of three beams"))
        return;
    for (size_t beam = 0; beam < d.nbeam; beam++) {
        for (size_t n = 0; n < NBURST_SAMP * NBURST_CHAN; n++)
            data[n] = (unsigned char)(tap_random(seed) >> 60);
        if (beam == 1)
            add_burst(data, &d, 150, 4000, 0, NBURST_CHAN, 6);
        if (beam == 2)
            add_burst(data, &d, 250, 5000, 256, 384, 12);
        for (size_t t = 0; t < NBURST_SAMP; t += NBURST_BLOCK) {
            if (psr_dedisp_beams_execute(p, beam, data + t * NBURST_CHAN, NBURST_BLOCK, &err))
                diag("%s", err.msg);
            look_for_burst(p, &d, &b[beam]);
        }
    }
    ok(b[0].snr > 3 && b[0].snr < 7.5, "noise: %.1f", b[0].snr);
    ok(b[1].snr > 25 && fabs(b[1].dm - 150) <= 4 && b[1].high_mhz == 0 &&
           fabs(b[1].end - 4002) <= 8,
       "over the band: %.1f at DM %g, ends at %.1f", b[1].snr, b[1].dm, b[1].end);
    ok(b[2].snr > 25 && fabs(b[2].dm - 250) <= 12 && b[2].high_mhz == d.freq_mhz[256] &&
           b[2].low_mhz == d.freq_mhz[383] && fabs(b[2].end - 5002) <= 12,
       "over a quarter: %.1f at DM %g, %.1f to %.1f MHz, ends at %.1f", b[2].snr, b[2].dm,
       b[2].low_mhz, b[2].high_mhz, b[2].end);
    psr_dedisp_beams_destroy(p);
    free(data);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_random_skies(&seed);
    test_state();
    test_refusals();
    test_calls();
    test_bursts(&seed);
    return done_testing();
}
