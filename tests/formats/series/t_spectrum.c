/* spectrum: PRESTO's spectra in files, the transform that makes them, and red noise taken out. */
#include <psrkit/experimental/source.h>
#include <psrkit/series.h>

#include "formats/series/series_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

static void check_transform(int64_t n, uint64_t *random)
{
    psr_rfft *plan = NULL;
    psr_err err;
    float *in = tap_take((size_t)n, sizeof *in), *out = tap_take((size_t)n + 2, sizeof *out);
    float *again = tap_take((size_t)n + 2, sizeof *out);
    double worst = 0, norm = 0;
    for (int64_t t = 0; t < n; t++)
        in[t] = (float)(tap_uniform(random) - 0.3);
    if (psr_rfft_create(&plan, n, &err) != PSR_OK)
        diag("%s", err.msg);
    psr_rfft_execute(plan, in, out);
    for (int64_t k = 0; k <= n / 2; k++) {
        double re = 0, im = 0;
        for (int64_t t = 0; t < n; t++) {
            double angle = -2 * M_PI * (double)(k * t % n) / (double)n;
            re += (double)in[t] * cos(angle);
            im += (double)in[t] * sin(angle);
        }
        double got_re = (double)(k < n / 2 ? out[2 * k] : out[1]);
        double got_im = (double)(k > 0 && k < n / 2 ? out[2 * k + 1] : 0);
        worst = fmax(worst, fmax(fabs(got_re - re), fabs(got_im - im)));
        norm += re * re + im * im;
    }
    ok(worst <= 1e-6 * sqrt(norm), "%lld samples against the sum: worst %.2g of %.3g", (long long)n,
       worst, sqrt(norm));
    memcpy(again, in, (size_t)n * sizeof *in);
    psr_rfft_execute(plan, again, again);
    ok(!memcmp(again, out, (size_t)n * sizeof *out), "%lld samples in place: the same bits",
       (long long)n);
    memcpy(again, in, (size_t)n * sizeof *in);
    bool good = !psr_spectrum_transform(again, n, false, &err);
    for (int64_t k = 0; k < n; k++)
        good = good && fabs((double)again[k] - (double)out[k]) <= 1e-6 * sqrt(norm);
    ok(good && !psr_spectrum_transform(again, n, true, &err),
       "%lld samples: the same in one call, and back", (long long)n);
    for (int64_t t = 0; t < n; t++)
        worst = fmax(t ? worst : 0, fabs((double)again[t] - (double)in[t]));
    ok(worst < 1e-6, "and are what they were within %.2g", worst);
    psr_rfft_destroy(plan);
    free(in);
    free(out);
    free(again);
}

/* Counts of mean 104.73 and scatter 4, padded with their mean as prepsubband does: partial sums of counts are
 * exact, those of the padding round alike. */
static void test_large_mean(uint64_t *random)
{
    enum { N = 192000, NBIN = 32 };
    float *x = tap_take(N + 2, sizeof *x), *out = tap_take(N + 2, sizeof *out);
    double worst = 0, sum = 0;
    psr_err err;
    for (int64_t t = 0; t < N; t++) {
        x[t] = t < N - 4800 ? (float)rint(104.73 + 4 * tap_normal(random)) : 104.728065F;
        sum += (double)x[t];
    }
    memcpy(out, x, N * sizeof *x);
    bool good = !psr_spectrum_transform(out, N, false, &err);
    for (int64_t k = 1; k <= NBIN; k++) {
        double re = 0, im = 0;
        for (int64_t t = 0; t < N; t++) {
            double angle = -2 * M_PI * (double)(k * t % N) / N;
            re += (double)x[t] * cos(angle);
            im += (double)x[t] * sin(angle);
        }
        worst = fmax(worst, hypot((double)out[2 * k] - re, (double)out[2 * k + 1] - im));
    }
    ok(good && worst < 1e-5 * 4 * sqrt(N) && fabs((double)out[0] / sum - 1) < 1e-7,
       "bins of a series with a large mean: off by %.2g of noise %.3g", worst, 4 * sqrt(N));
    free(x);
    free(out);
}

static void test_transform(uint64_t *random)
{
    static const int64_t n[] = {2, 4, 6, 14, 30, 128, 250, 1026, 2002};
    static const int64_t bad[] = {-2, 0, 1, 7, INT64_C(1) << 33};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        check_transform(n[i], random);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        psr_rfft *plan;
        psr_err err = {.msg = ""};
        ok(psr_rfft_create(&plan, bad[i], &err) == PSR_EINVAL && !plan, "%s", err.msg);
    }
    psr_rfft_destroy(NULL);
}

/* As PRESTO does it, with a sort and in another order: per bin. */
static double level_at(const double *power, int64_t nbin, const struct psr_redden *how, int64_t k)
{
    const int start = how->start, end = how->end;
    int64_t first = 1, n = start, before = 0;
    double middle = 0, old_level = 0, slope = 0;
    for (;;) {
        double sorted[1500], level;
        const int64_t rest = nbin - first;
        n = rest < n || (how->join_rest && rest < n + n / 2) ? rest : n;
        for (int64_t i = 0; i < n; i++) {
            int64_t j = i;
            for (; j > 0 && sorted[j - 1] > power[first + i]; j--)
                sorted[j] = sorted[j - 1];
            sorted[j] = power[first + i];
        }
        level = (n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2])) / log(2);
        if (before == 0 && k < first + n / 2)
            return level;
        if (before > 0) {
            slope = (level - old_level) / (0.5 * (double)(before + n));
            if (k < first + n / 2)
                return old_level + slope * ((double)k - middle);
        }
        middle = (double)(first + n / 2);
        old_level = level;
        before = n;
        first += n;
        if (first >= nbin)
            return level + slope * ((double)k - middle);
        n = (int64_t)(start * log((double)first));
        if (n > end || ((double)first >= how->stop_bin && first > start + 1))
            n = end <= 500 || end < first / 8 ? end : first / 8 > 100 ? first / 8 : 100;
    }
}

static void check_redden(int64_t nbin, struct psr_redden how, uint64_t *random)
{
    float *x = tap_take((size_t)nbin * 2, sizeof *x), *was = tap_take((size_t)nbin * 2, sizeof *x);
    double *power = tap_take((size_t)nbin, sizeof *power), worst = 0;
    psr_err err = {.msg = ""};
    for (int64_t i = 0; i < 2 * nbin; i++)
        x[i] = was[i] = (float)((tap_uniform(random) - 0.5) * (1 + 300 / (1.0 + (double)i)));
    for (int64_t k = 0; k < nbin; k++)
        power[k] = (double)(was[2 * k] * was[2 * k] + was[2 * k + 1] * was[2 * k + 1]);
    psr_status st = psr_spectrum_deredden(x, nbin, &how, &err);
    for (int64_t k = 1; k < nbin; k++) {
        double level = level_at(power, nbin, &how, k);
        double scale = level > 0 ? 1 / sqrt(level) : 0;
        for (int64_t i = 2 * k; i < 2 * k + 2; i++)
            worst = fmax(worst,
                         fabs((double)x[i] - scale * (double)was[i]) / (1e-3 + fabs((double)x[i])));
    }
    ok(st == PSR_OK && worst < 1e-4 && x[0] == 1 && x[1] == 0,
       "%lld bins, blocks of %d to %d, growing to bin %g%s: off by %.1g %s", (long long)nbin,
       how.start, how.end, how.stop_bin, how.join_rest ? ", the rest joined" : "", worst, err.msg);
    free(x);
    free(was);
    free(power);
}

/* A series of a line and noise, and its spectrum: the line goes, the rest stays, and both ways give
 * the same. */
static void test_detrend_ends(int64_t n, uint64_t *random)
{
    float *x = tap_take((size_t)n + 2, sizeof *x), *spectrum = tap_take((size_t)n + 2, sizeof *x);
    float *rest = tap_take((size_t)n + 2, sizeof *x);
    psr_rfft *plan;
    psr_err err;
    double before = 0, after = 0, off = 0, most = 0;
    for (int64_t t = 0; t < n; t++) {
        rest[t] = (float)(tap_uniform(random) - 0.5);
        x[t] = (float)(10 + 70 * (double)t / (double)n) + rest[t];
    }
    if (psr_rfft_create(&plan, n, &err))
        diag("%s", err.msg);
    psr_rfft_execute(plan, x, spectrum);
    psr_rfft_execute(plan, rest, rest);
    psr_spectrum_detrend_ends(spectrum, n / 2);
    psr_series_detrend_ends(x, n);
    psr_rfft_execute(plan, x, x);
    for (int64_t i = 2; i < n; i++) {
        if (i > n / 10 && i > 20)
            continue; /* roundings are all that is left */
        before = fmax(before, fabs((double)(x[i] - rest[i])) * (double)(i / 2));
        off = fmax(off, fabs((double)(x[i] - spectrum[i])) * (double)(i / 2));
        after +=
            (double)(spectrum[i] - rest[i]) * (double)(spectrum[i] - rest[i]) / (double)(n - 2);
    }
    /* An end's mean is off by 0.29 / sqrt(m), which n times over 2 pi k is in bin k. */
    double m = fmax(2, floor((double)n / 2048) * 2);
    most = 5 * sqrt(2 / m) * 0.29 * (double)n / (2 * M_PI) + 0.02 * (double)n;
    ok(before < most && off < 0.02 * 70 * (double)n / (2 * M_PI) + 0.02 * (double)n,
       "%lld samples on a line: k times bin k is off by %.3g, by the spectrum %.3g more (of %.3g)",
       (long long)n, before, off, 70 * (double)n / (2 * M_PI));
    ok(after < 0.1 * (double)n, "and little is left of it");
    psr_rfft_destroy(plan);
    free(x);
    free(spectrum);
    free(rest);
}

/* The highest of the last powers of whitened noise, over spectra of any length. */
static double highest_at_end(bool join_rest, uint64_t *random)
{
    enum { SPECTRA = 300, LEAST = 3000, MOST = 3400, LAST = 20 };
    float *x = tap_take(2 * MOST, sizeof *x);
    double highest = 0;
    for (int i = 0; i < SPECTRA; i++) {
        const int64_t nbin = LEAST + (int64_t)((MOST - LEAST) * tap_uniform(random));
        psr_err err;
        for (int64_t k = 0; k < nbin; k++) {
            const double r = sqrt(-log(1 - tap_uniform(random)));
            const double turn = 2 * M_PI * tap_uniform(random);
            x[2 * k] = (float)(r * cos(turn));
            x[2 * k + 1] = (float)(r * sin(turn));
        }
        const struct psr_redden how = {6, 200, (double)nbin, false, join_rest};
        if (psr_spectrum_deredden(x, nbin, &how, &err))
            diag("%s", err.msg);
        for (int64_t k = nbin - LAST; k < nbin; k++)
            highest = fmax(highest, (double)(x[2 * k] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1]));
    }
    free(x);
    return highest;
}

static void test_redden_end(uint64_t *random)
{
    const double joined = highest_at_end(true, random), apart = highest_at_end(false, random);
    ok(joined < 25 && apart > 25,
       "noise near the Nyquist frequency has no power above %.1f; by a rest's own median %.1f",
       joined, apart);
}

static void test_redden(uint64_t *random)
{
    check_redden(5000, (struct psr_redden){6, 100, 805, false, false}, random);
    check_redden(5001, (struct psr_redden){6, 100, 1e9, false, false}, random);
    check_redden(3000, (struct psr_redden){6, 200, 2, false, false}, random);
    check_redden(777, (struct psr_redden){2, 50, 60, false, false}, random);
    check_redden(9000, (struct psr_redden){6, 900, 1000, false, false}, random);
    check_redden(8, (struct psr_redden){6, 100, 805, false, false}, random);
    check_redden(5, (struct psr_redden){6, 100, 805, false, false}, random);
    check_redden(2, (struct psr_redden){6, 100, 805, false, false}, random);
    for (int64_t nbin = 2; nbin < 4000; nbin += 1 + nbin / 3)
        check_redden(nbin, (struct psr_redden){6, 200, (double)nbin, false, true}, random);
    check_redden(9000, (struct psr_redden){6, 900, 1000, false, true}, random);
    float x[4] = {3, 4, 5, 6};
    psr_err err = {.msg = ""};
    ok(psr_spectrum_deredden(x, 2, &(struct psr_redden){1, 100, 5, false, false}, &err) ==
           PSR_EINVAL,
       "%s", err.msg);
    ok(psr_spectrum_deredden(x, 2, &(struct psr_redden){6, 5, 5, false, false}, &err) == PSR_EINVAL,
       "%s", err.msg);
    float zeros[40] = {0};
    ok(psr_spectrum_deredden(zeros, 20, &(struct psr_redden){6, 100, 5, false, false}, &err) ==
               PSR_OK &&
           zeros[20] == 0,
       "bins without power stay 0");
}

/* What `realfft -rednoise` makes of a random walk of 4096 steps of 20 ms; its inverse square roots
 * are good to 0.2 %. */
static void test_presto(void)
{
    enum { N = 4096 };
    const char *srcdir = getenv("srcdir");
    char path[PATH_MAX];
    float x[N + 2];
    psr_rfft *plan = NULL;
    psr_err err = {.msg = ""};
    uint64_t random = 77;
    double walk = 0, worst = 0;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/tests/golden/walk_red.fft", srcdir ? srcdir : ".");
    char *golden = scratch_read(path, &n);
    for (int t = 0; t < N; t++) {
        walk += tap_uniform(&random) - 0.5;
        x[t] = (float)(walk + 10 * (tap_uniform(&random) - 0.5));
    }
    psr_status st = psr_rfft_create(&plan, N, &err);
    if (!ok(st == PSR_OK && golden && n == N * sizeof *x, "PRESTO's spectrum is there"))
        return;
    psr_rfft_execute(plan, x, x);
    st = psr_spectrum_deredden(x, N / 2, &(struct psr_redden){6, 100, 6 * N * 0.02, false, false},
                               &err);
    for (size_t k = 0; k < N / 2; k++) {
        float want[2];
        memcpy(want, golden + 8 * k, sizeof want);
        double off = hypot((double)(x[2 * k] - want[0]), (double)(x[2 * k + 1] - want[1]));
        worst = fmax(worst, off / hypot((double)want[0], (double)want[1]));
    }
    ok(st == PSR_OK && worst < 0.0019, "red noise as realfft takes it out: %.5f", worst);
    psr_rfft_destroy(plan);
    free(golden);
}

static void put(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(scratch(name), "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        printf("Bail out! cannot write %s\n", name);
}

static void put_inf(const char *name, long long nbin, const char *tbin, const char *more)
{
    char text[1000];
    snprintf(text, sizeof text,
             " Data file name without suffix          =  x\n"
             " Number of bins in the time series      =  %lld\n"
             " Width of each time series bin (sec)    =  %s\n%s",
             nbin, tbin, more);
    put(name, text, strlen(text));
}

static void check_refused(const char *name, psr_status status, const char *message)
{
    struct psr_spectrum_file file;
    psr_err err = {.msg = ""};
    float x[64];
    psr_status st = psr_spectrum_describe(&file, scratch(name), &err);
    if (st == PSR_OK)
        st = psr_spectrum_read(&file, scratch(name), x, &err);
    ok(st == status && strstr(err.msg, message) && strstr(err.msg, name) && !strchr(err.msg, '\n'),
       "refused: %s", err.msg);
}

static void test_bad_files(void)
{
    float x[64] = {0};
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    put("noinf.dat", x, 40);
    check_refused("noinf.dat", PSR_EFORMAT, "there is no");
    put("x.wav", x, 40);
    check_refused("x.wav", PSR_EINVAL, "not named .fft, .dat, .sdat or .tim");
    check_refused("gone.fft", PSR_EIO, "No such file");
    put("single.dat", x, 4);
    put_inf("single.inf", 1, "0.5", "");
    check_refused("single.dat", PSR_EFORMAT, "1 samples, at least 2");
    put("odd.fft", x, 4 * 11);
    put_inf("odd.inf", 11, "0.5", "");
    check_refused("odd.fft", PSR_EFORMAT, "44 bytes, but the 11 samples");
    put("short.dat", x, 4 * 10);
    put_inf("short.inf", 12, "0.5", "");
    check_refused("short.dat", PSR_EFORMAT, "40 bytes, but the 12 samples");
    put("none.fft", x, 0);
    put_inf("none.inf", 0, "0.1", "");
    check_refused("none.fft", PSR_EFORMAT, "0 samples, at least 2");
    float zeros[12] = {0};
    put("zeros.dat", zeros, sizeof zeros);
    put_inf("zeros.inf", 12, "0.5", "");
    check_refused("zeros.dat", PSR_EFORMAT, "all samples are 0");
    zeros[0] = 7;
    put("dc.fft", zeros, sizeof zeros);
    put_inf("dc.inf", 12, "0.5", "");
    check_refused("dc.fft", PSR_EFORMAT, "all bins are 0");
    if (mkdir(scratch("dir.dat"), 0777))
        perror("mkdir");
    check_refused("dir.dat", PSR_EFORMAT, "not a regular file");
}

static void test_one_bin(void)
{
    const float x[2] = {3, 4};
    struct psr_spectrum_file file;
    psr_err err = {.msg = ""};
    float *got = tap_take(2, sizeof *got); /* a sanitizer sees a step beyond them */
    put("one.fft", x, sizeof x);
    put_inf("one.inf", 2, "0.25", "");
    ok(psr_spectrum_describe(&file, scratch("one.fft"), &err) == PSR_OK && file.nbin == 1 &&
           psr_spectrum_read(&file, scratch("one.fft"), got, &err) == PSR_OK && got[0] == 3 &&
           got[1] == 4,
       "a spectrum of one bin is read %s", err.msg);
    free(got);
}

/* The last sample goes, and T with it; what the .inf says of padding stays within what is left. */
static void test_odd(void)
{
    static const struct {
        const char *pairs;
        int nonoff;
        int64_t last[2];
    } was[] = {{"", 0, {0, 0}},
               {" On/Off bin pair # 1 = 2, 8\n On/Off bin pair # 2 = 10, 10\n", 2, {9, 9}},
               {" On/Off bin pair # 1 = 2, 9\n On/Off bin pair # 2 = 10, 10\n", 1, {2, 9}},
               {" On/Off bin pair # 1 = 1, 10\n", 1, {1, 9}},
               {" On/Off bin pair # 1 = 1, 7\n", 1, {1, 7}}};
    float x[11], got[10];
    for (int i = 0; i < 11; i++)
        x[i] = (float)(i + 1);
    for (size_t k = 0; k < sizeof was / sizeof *was; k++)
        for (int series = 0; series < 2; series++) {
            const char *name = series ? "eleven.dat" : "eleven.fft";
            struct psr_spectrum_file file;
            psr_err err = {.msg = ""};
            put(name, x, 4 * (size_t)(10 + series));
            put_inf("eleven.inf", 11, "0.5", was[k].pairs);
            bool right = psr_spectrum_describe(&file, scratch(name), &err) == PSR_OK &&
                         psr_spectrum_read(&file, scratch(name), got, &err) == PSR_OK && file.odd &&
                         file.nbin == 5 && file.tobs_s == 5 && file.inf.nbin == 10 &&
                         file.inf.nonoff == was[k].nonoff;
            if (right && was[k].nonoff) {
                const int64_t *last = file.inf.onoff[was[k].nonoff - 1];
                right = last[0] == was[k].last[0] && last[1] == was[k].last[1];
            }
            ok(right && (was[k].nonoff || !memcmp(got, x, sizeof got)), "11 samples in %s: %s",
               name, err.msg);
            if (series) {
                put(name, x, 40);
                ok(psr_spectrum_read(&file, scratch(name), got, &err) == PSR_EIO, "cut: %s",
                   err.msg);
            }
        }
}

/* By a power of two: no digit changes, and what can be searched as it is stays. */
static void test_rescale(void)
{
    static const struct {
        float peak;
        bool sums;
        int exponent;
    } of[] = {{1, true, 0},        {0x1p30F, true, 0},    {0x1.8p30F, true, 30},
              {0x1p60F, false, 0}, {0x1p61F, false, 61},  {0x1p127F, true, 127},
              {0x1p-40F, true, 0}, {0x1p-41F, true, -41}, {0x1p-149F, false, -149}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        float x[4] = {of[k].peak / 2, 0, -of[k].peak, of[k].peak * 0.75F}, was[4];
        memcpy(was, x, sizeof x);
        bool same = psr_spectrum_rescale(x, 4, of[k].sums) == of[k].exponent;
        for (int i = 0; i < 4; i++)
            same &= x[i] == ldexpf(was[i], -of[k].exponent);
        ok(same, "values up to %g are divided by 2^%d", (double)of[k].peak, of[k].exponent);
    }
    float odd[3][2] = {{INFINITY, 1e38F}, {NAN, 1}, {0, 0}};
    for (int k = 0; k < 3; k++)
        ok(psr_spectrum_rescale(odd[k], 2, true) == 0, "%g stays", (double)odd[k][0]);
}

static void test_files(void)
{
    struct psr_spectrum_file file;
    psr_err err = {.msg = ""};
    float x[24], got[24];
    for (int i = 0; i < 24; i++)
        x[i] = (float)(i * i % 7);
    put("a.dat", x, sizeof x);
    put_inf("a.inf", 24, "0.25", " On/Off bin pair # 1 = 2, 9\n On/Off bin pair # 2 = 12, 19\n");
    ok(psr_spectrum_describe(&file, scratch("a.dat"), &err) == PSR_OK && file.series &&
           file.nbin == 12 && file.tobs_s == 6,
       "a .dat file: %s", err.msg);
    ok(psr_spectrum_read(&file, scratch("a.dat"), got, &err) == PSR_OK, "is read: %s", err.msg);
    double mean = 0;
    bool kept = true, padded = true;
    for (int i = 0; i < 24; i++)
        mean += (i >= 2 && i <= 9) || (i >= 12 && i <= 19) ? (double)x[i] / 16 : 0;
    for (int i = 0; i < 24; i++)
        if ((i >= 2 && i <= 9) || (i >= 12 && i <= 19))
            kept &= got[i] == x[i];
        else
            padded &= got[i] == (float)mean;
    ok(kept && padded, "padding becomes the mean of the data");
    /* Data to the end, and as shorts. */
    int16_t shorts[24];
    for (int i = 0; i < 24; i++)
        shorts[i] = (int16_t)(x[i] - 3);
    put("s.sdat", shorts, sizeof shorts);
    put_inf("s.inf", 24, "0.25", " On/Off bin pair # 1 = 0, 4\n On/Off bin pair # 2 = 13, 23\n");
    ok(psr_spectrum_describe(&file, scratch("s.sdat"), &err) == PSR_OK && file.series &&
           psr_spectrum_read(&file, scratch("s.sdat"), got, &err) == PSR_OK,
       "a .sdat file is read: %s", err.msg);
    mean = 0;
    for (int i = 0; i < 24; i++)
        mean += i > 4 && i < 13 ? 0 : (double)shorts[i] / 16;
    int wrong = 0;
    for (int i = 0; i < 24; i++)
        wrong += fabs((double)got[i] - (i > 4 && i < 13 ? mean : (double)shorts[i])) > 1e-6;
    ok(wrong == 0, "samples of a .sdat file, and the padding between them (%d wrong)", wrong);
    ok(psr_spectrum_describe(&file, scratch("a.dat"), &err) == PSR_OK, "again a .dat file");
    put("a.dat", x, sizeof x - 4);
    ok(psr_spectrum_read(&file, scratch("a.dat"), got, &err) == PSR_EIO, "cut short since: %s",
       err.msg);

    ok(psr_spectrum_write(scratch("b"), x, 12, &file.inf, &err) == PSR_OK, "a .fft is written: %s",
       err.msg);
    ok(psr_spectrum_describe(&file, scratch("b.fft"), &err) == PSR_OK && !file.series &&
           !strcmp(file.inf.name, scratch("b")) && !file.reddened,
       "and described: %s", err.msg);
    ok(psr_spectrum_read(&file, scratch("b.fft"), got, &err) == PSR_OK && !memcmp(got, x, sizeof x),
       "and read: %s", err.msg);
    x[0] = 1;
    x[1] = 0;
    ok(psr_spectrum_write(scratch("red"), x, 12, &file.inf, &err) == PSR_OK &&
           psr_spectrum_describe(&file, scratch("red.fft"), &err) == PSR_OK && file.reddened,
       "a bin 0 of 1 tells that it was de-reddened");
    ok(psr_spectrum_write(scratch("b"), x, 12, NULL, &err) == PSR_OK &&
           psr_inf_read(&file.inf, scratch("b.inf"), &err) == PSR_OK &&
           !strcmp(file.inf.name, scratch("b")),
       "an .inf that describes it stays: %s", err.msg);
    x[3] = INFINITY;
    ok(psr_spectrum_write(scratch("c"), x, 12, &file.inf, &err) == PSR_EFORMAT &&
           strstr(err.msg, "bin 1") && access(scratch("c.fft"), F_OK) != 0,
       "refused: %s", err.msg);
    x[3] = 0;
    ok(psr_spectrum_write(scratch("no/b"), x, 12, &file.inf, &err) == PSR_EIO, "%s", err.msg);
    ok(psr_spectrum_bad(x, 24) == -1, "all finite");
    x[17] = NAN;
    x[20] = INFINITY;
    ok(psr_spectrum_bad(x, 24) == 17, "the first that is not");
}

/* A spectrum of PRESTO's beside its series. */
static void test_real(void)
{
    const char *data = getenv("PSRKIT_TEST_DATA");
    char path[2][PATH_MAX];
    struct psr_spectrum_file file[2];
    psr_rfft *plan = NULL;
    psr_err err = {.msg = ""};
    if (!data) {
        skip("a spectrum of PRESTO's", "PSRKIT_TEST_DATA is not set");
        return;
    }
    psr_status st = PSR_OK;
    float *x[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], PATH_MAX, "%s/GBT_J1807-0847.%s", data, i ? "fft" : "dat");
        if (st == PSR_OK)
            st = psr_spectrum_describe(&file[i], path[i], &err);
        x[i] = tap_take(st == PSR_OK ? 2 * (size_t)file[i].nbin + 2 : 1, sizeof(float));
        if (st == PSR_OK)
            st = psr_spectrum_read(&file[i], path[i], x[i], &err);
    }
    if (!ok(st == PSR_OK && psr_rfft_create(&plan, 2 * file[0].nbin, &err) == PSR_OK,
            "real files: %s", err.msg))
        return;
    psr_rfft_execute(plan, x[0], x[0]);
    double worst = 0, sum = 0;
    for (int64_t i = 2; i < 2 * file[0].nbin; i++) {
        worst = fmax(worst, fabs((double)(x[0][i] - x[1][i])));
        sum += (double)x[1][i] * (double)x[1][i];
    }
    double rms = sqrt(sum / (double)(2 * file[0].nbin));
    ok(worst < 1e-4 * rms && fabs((double)x[0][0] / (double)x[1][0] - 1) < 1e-6 &&
           fabs((double)(x[0][1] - x[1][1])) < 1e-3 * rms,
       "PRESTO's spectrum: largest difference %.2g of an rms of %.3g", worst, rms);
    psr_rfft_destroy(plan);
    free(x[0]);
    free(x[1]);
}

/* Samples of every kind that a .tim can have. */
static void test_tim(void)
{
    enum { N = 9 };
    static const struct {
        int nbit;
        enum psr_kind kind;
    } kinds[] = {{8, PSR_UINT}, {8, PSR_INT}, {16, PSR_UINT}, {32, PSR_FLOAT}};
    const char *path = scratch("a.tim");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct psr_obs obs;
        struct psr_spectrum_file file;
        unsigned char bytes[4 * N] = {0};
        float x[N + 1];
        psr_outfile *f;
        psr_err err = {.msg = ""};
        psr_obs_init(&obs);
        obs.nchan = 1, obs.nif = 1, obs.nbit = kinds[i].nbit, obs.kind = kinds[i].kind;
        obs.fch1_mhz = 1400, obs.foff_mhz = -1, obs.tsamp_s = 0.25, obs.refdm = 20;
        obs.tstart.day = 59000;
        const int64_t least = obs.kind == PSR_UINT ? 200 : -100;
        for (int k = 0; k < N; k++) {
            const int64_t value = least + k;
            const float real = (float)value;
            memcpy(bytes + k * obs.nbit / 8, obs.nbit == 32 ? (const void *)&real : &value,
                   (size_t)obs.nbit / 8);
        }
        if (psr_outfile_create(&f, path, &err) ||
            psr_sigproc_write(f, &obs, PSR_SIGPROC_SERIES, &err) ||
            psr_outfile_write(f, bytes, (size_t)(N * obs.nbit / 8), &err) ||
            psr_outfile_commit(f, &err))
            diag("%s", err.msg);
        bool good = !psr_spectrum_describe(&file, path, &err) && file.series && file.odd &&
                    file.nbin == N / 2 && file.inf.dm == 20 && file.tobs_s == 0.25 * (N - 1) &&
                    !psr_spectrum_read(&file, path, x, &err);
        for (int k = 0; k < N - 1; k++)
            good &= x[k] == (float)(least + k);
        ok(good, "a .tim of %d bits, kind %d: %s", obs.nbit, (int)obs.kind, err.msg);
    }
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    test_transform(&random);
    test_redden(&random);
    test_redden_end(&random);
    test_detrend_ends(100000, &random);
    test_detrend_ends(3000, &random);
    test_detrend_ends(30, &random);
    test_large_mean(&random);
    test_presto();
    test_bad_files();
    test_odd();
    test_rescale();
    test_files();
    test_one_bin();
    test_real();
    test_tim();
    return done_testing();
}
