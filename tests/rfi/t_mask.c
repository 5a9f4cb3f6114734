/* mask: rfifind's files, read and used. */
#include <psrkit/experimental/clean.h>

#include "base/obs_internal.h"
#include "rfi/rules/clean_internal.h"
#include "tests/support/mask_bytes.h"
#include "tests/support/scratch.h"

static psr_err err;

static void test_random_files(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 300; k++) {
        struct mask_says says;
        struct mask_bytes file;
        struct psr_mask mask;
        mask_random(&says, seed, (int)tap_between(seed, 1, MASK_CHANS), 1.5);
        mask_file(&file, &says);
        bad += psr_mask_parse(&mask, file.b, file.n, "m", &err) != PSR_OK;
        bad += mask.nchan != (size_t)says.nchan || mask.nint != (size_t)says.nint;
        bad += memcmp(mask.zap_chan, says.zap_chan, mask.nchan) != 0;
        bad += memcmp(mask.zap_int, says.zap_int, mask.nint) != 0;
        for (size_t i = 0; i < mask.nint; i++) {
            unsigned char listed[MASK_CHANS] = {0};
            for (size_t n = mask.first[i]; n < mask.first[i + 1]; n++)
                listed[mask.chan[n]] = 1;
            if (mask.all_chan[i])
                memset(listed, 1, mask.nchan);
            bad += memcmp(listed, says.listed[i], mask.nchan) != 0;
        }
        /* No file is whole without its last byte, or with one more. */
        psr_mask_clear(&mask);
        for (size_t n = 0; n < file.n; n += n < 80 ? 1 : 5) {
            bad += psr_mask_parse(&mask, file.b, n, "m", &err) != PSR_EFORMAT ||
                   !strstr(err.msg, "m: ");
            psr_mask_clear(&mask);
        }
        bad += psr_mask_parse(&mask, file.b, file.n + 1, "m", &err) != PSR_EFORMAT;
        psr_mask_clear(&mask);
    }
    ok(bad == 0, "random masks are read as they were written, and only whole (%d bad)", bad);
}

/* PRESTO's rule: channels masked throughout, those of the interval a stretch begins in, those of the
 * one it ends in. */
static void test_stretches(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 2000; k++) {
        struct mask_says says;
        struct mask_bytes file;
        struct psr_mask mask;
        unsigned char got[MASK_CHANS], want[MASK_CHANS];
        mask_random(&says, seed, (int)tap_between(seed, 1, 12), 2);
        mask_file(&file, &says);
        bad += psr_mask_parse(&mask, file.b, file.n, "m", &err) != PSR_OK;
        double start_s = (double)tap_between(seed, 0, 16),
               length_s = (double)tap_between(seed, 1, 3);
        bool all = psr_mask_span(&mask, start_s, length_s, PSR_MASK_TOUCHED, got);
        int last = says.nint - 1, lo = (int)start_s / 2, hi = (int)(start_s + length_s) / 2;
        lo = lo > last ? last : lo;
        hi = hi > last ? lo : hi;
        bool whole = says.zap_int[lo] || says.zap_int[hi];
        for (int c = 0; c < says.nchan; c++)
            want[c] = whole || says.zap_chan[c] || says.listed[lo][c] || says.listed[hi][c];
        bad += all != whole || memcmp(got, want, (size_t)says.nchan) != 0;
        psr_mask_clear(&mask);
    }
    ok(bad == 0, "a stretch is masked by the intervals it touches (%d bad)", bad);
}

/* What PRESTO forgets, one thing at a time. */
static void test_presto_rule(void)
{
    struct mask_says says = {.nchan = 4, .nint = 3, .dtint_s = 1, .mjd = 1};
    struct mask_bytes file;
    struct psr_mask mask;
    unsigned char got[4];
    says.listed[0][0] = says.listed[0][2] = says.listed[1][3] = 1;
    mask_file(&file, &says);
    ok(psr_mask_parse(&mask, file.b, file.n, "m", &err) == PSR_OK, "a mask of three intervals");
    psr_mask_span(&mask, 0, 0.5, PSR_MASK_PRESTO, got);
    ok(!memcmp(got, "\0\0\1\0", 4), "channel 0 of a list alone is forgotten");
    psr_mask_span(&mask, 0, 0.5, PSR_MASK_TOUCHED, got);
    ok(!memcmp(got, "\1\0\1\0", 4), "and is not otherwise");
    psr_mask_span(&mask, 0.5, 1, PSR_MASK_PRESTO, got);
    ok(!memcmp(got, "\0\0\0\1", 4), "the first interval of two is forgotten");
    psr_mask_span(&mask, 0.5, 1, PSR_MASK_TOUCHED, got);
    ok(!memcmp(got, "\1\0\1\1", 4), "and is not otherwise");
    psr_mask_clear(&mask);
    says.zap_chan[1] = 1;
    mask_file(&file, &says);
    ok(psr_mask_parse(&mask, file.b, file.n, "m", &err) == PSR_OK,
       "with a channel masked throughout");
    psr_mask_span(&mask, 0.5, 1, PSR_MASK_PRESTO, got);
    ok(!memcmp(got, "\1\1\1\1", 4), "nothing is forgotten");
    psr_mask_clear(&mask);
}

static float middle_80(const struct mask_says *s, int c)
{
    float v[MASK_INTS];
    int count = (int)((float)s->nint * 0.8F + 0.5), start = (s->nint - count) / 2;
    for (int i = 0; i < s->nint; i++) {
        int k = i;
        for (; k > 0 && v[k - 1] > s->mean[i][c]; k--)
            v[k] = v[k - 1];
        v[k] = s->mean[i][c];
    }
    double sum = 0;
    for (int i = start; i < start + count; i++)
        sum += (double)v[i];
    return (float)(sum / count);
}

static void test_padding(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 100; k++) {
        struct mask_says says;
        struct mask_bytes file, stats;
        struct psr_mask mask;
        mask_random(&says, seed, (int)tap_between(seed, 1, MASK_CHANS), 1.5);
        mask_file(&file, &says);
        mask_stats(&stats, &says);
        bad += psr_mask_parse(&mask, file.b, file.n, "m", &err) != PSR_OK;
        bad += psr_mask_parse_stats(&mask, stats.b, stats.n, "s", &err) != PSR_OK;
        for (int c = 0; c < says.nchan; c++)
            bad += !(fabsf(mask.padding[c] - middle_80(&says, c)) <= 1e-5F);
        for (size_t n = 0; n < stats.n; n += n < 24 ? 1 : 97)
            bad += psr_mask_parse_stats(&mask, stats.b, n, "s", &err) != PSR_EFORMAT;
        bad += psr_mask_parse_stats(&mask, stats.b, stats.n + 1, "s", &err) != PSR_EFORMAT;
        psr_mask_clear(&mask);
    }
    ok(bad == 0, "padding is the mean of the middle 80 %% (%d bad)", bad);
}

/* Writes v at a place of a file and expects it to be refused, with word in the message. */
static void refuse(const struct mask_says *says, size_t at, const void *v, size_t n,
                   const char *word)
{
    struct mask_bytes file;
    struct psr_mask mask;
    mask_file(&file, says);
    memcpy(file.b + at, v, n);
    psr_status st = psr_mask_parse(&mask, file.b, file.n, "bad.mask", &err);
    ok(st == PSR_EFORMAT && strstr(err.msg, "bad.mask") && strstr(err.msg, word), "refused: %s",
       err.msg);
    psr_mask_clear(&mask);
}

static void test_errors(void)
{
    struct mask_says says = {.nchan = 4, .nint = 3, .dtint_s = 1, .mjd = 1};
    const double nothing = 0, nan = NAN, infinite = INFINITY;
    const int32_t zero = 0, negative = -1, huge = 1 << 30, four = 4, five = 5;
    says.zap_chan[1] = says.zap_int[2] = says.listed[0][2] = 1;
    refuse(&says, 24, &nothing, 8, "interval = 0 s");
    refuse(&says, 24, &nan, 8, "nan s");
    refuse(&says, 24, &infinite, 8, "inf s");
    refuse(&says, 16, &nan, 8, "MJD nan");
    refuse(&says, 48, &zero, 4, "number of channels = 0");
    refuse(&says, 48, &negative, 4, "number of channels = -1");
    refuse(&says, 52, &zero, 4, "number of intervals = 0");
    refuse(&says, 52, &huge, 4, "number of intervals = 1073741824");
    refuse(&says, 56, &zero, 4, "samples per interval = 0");
    refuse(&says, 60, &five, 4, "masked channels = 5");
    refuse(&says, 64, &four, 4, "masked channel = 4");
    refuse(&says, 68, &four, 4, "masked intervals = 4");
    refuse(&says, 72, &four, 4, "masked interval = 4");
    refuse(&says, 76, &five, 4, "channels of an interval = 5");
    refuse(&says, 76, &zero, 4, "lists of channels take 0 bytes, and 4");
    refuse(&says, 88, &negative, 4, "channel of an interval = -1");
}

static void test_bad_stats(void)
{
    struct mask_says says = {.nchan = 4, .nint = 3, .dtint_s = 1, .mjd = 1};
    struct mask_bytes file, stats;
    struct psr_mask mask;
    mask_file(&file, &says);
    ok(psr_mask_parse(&mask, file.b, file.n, "m", &err) == PSR_OK, "a mask");
    says.mean[1][2] = NAN;
    mask_stats(&stats, &says);
    ok(psr_mask_parse_stats(&mask, stats.b, stats.n, "s", &err) == PSR_EFORMAT &&
           strstr(err.msg, "channel 2 in interval 1"),
       "a mean that is no number: %s", err.msg);
    says.nchan = 3;
    mask_stats(&stats, &says);
    ok(psr_mask_parse_stats(&mask, stats.b, stats.n, "s", &err) == PSR_EFORMAT &&
           strstr(err.msg, "number of channels = 3, must be 4"),
       "statistics of other data: %s", err.msg);
    psr_mask_clear(&mask);
}

static void test_check(void)
{
    struct mask_says says = {.nchan = 4, .nint = 1, .dtint_s = 1, .mjd = 56789.25};
    struct mask_bytes file;
    struct psr_mask mask;
    struct psr_obs obs;
    psr_obs_init(&obs);
    mask_file(&file, &says);
    ok(psr_mask_parse(&mask, file.b, file.n, "m", &err) == PSR_OK, "a mask");
    obs.nchan = 4;
    obs.tstart = (struct psr_mjd){56789, 0.25};
    ok(psr_mask_check(&mask, &obs, "m", &err) == PSR_OK, "a mask of these data");
    obs.began = obs.tstart;
    obs.tstart.frac = 0.5;
    ok(psr_mask_check(&mask, &obs, "m", &err) == PSR_OK, "skipped samples do not matter");
    obs.began.frac += 2e-9;
    ok(psr_mask_check(&mask, &obs, "m", &err) == PSR_EINVAL && strstr(err.msg, "56789.25"),
       "another start: %s", err.msg);
    obs.nchan = 5;
    ok(psr_mask_check(&mask, &obs, "m", &err) == PSR_EINVAL && strstr(err.msg, "4 channels"),
       "other channels: %s", err.msg);
    psr_mask_clear(&mask);
}

static void expect_extent(const struct psr_mask *mask, const struct psr_obs *obs, const char *word)
{
    psr_err said = {0};
    psr_status st = psr_mask_check_extent(mask, obs, "m", &said);
    ok(st == (word ? PSR_EINVAL : PSR_OK) && (!word || strstr(said.msg, word)), "%s",
       word ? said.msg : "a mask of all of these data");
}

/* mask_file says 1376 MHz and 4 MHz. */
static void test_extent(void)
{
    struct mask_says says = {.nchan = 4, .nint = 3, .dtint_s = 2, .mjd = 56789.25};
    struct mask_bytes file;
    struct psr_mask mask;
    struct psr_obs obs;
    psr_obs_init(&obs);
    mask_file(&file, &says);
    ok(psr_mask_parse(&mask, file.b, file.n, "m", &err) == PSR_OK, "a mask");
    obs.nchan = 4;
    obs.fch1_mhz = 1388;
    obs.foff_mhz = -4;
    obs.tsamp_s = 0.5;
    expect_extent(&mask, &obs, NULL);
    obs.nsamp = 12;
    expect_extent(&mask, &obs, NULL);
    obs.nsamp = 16;
    expect_extent(&mask, &obs, NULL);
    obs.nsamp = 17;
    expect_extent(&mask, &obs, "a mask of 6 s, and the data last 8.5 s");
    obs.began = (struct psr_mjd){56789, 0.25};
    obs.tstart = psr_mjd_add(obs.began, 1);
    obs.nsamp = 15;
    expect_extent(&mask, &obs, "last 8.5 s");
    obs.nsamp = 13;
    expect_extent(&mask, &obs, NULL);
    obs.foff_mhz = 4;
    expect_extent(&mask, &obs, NULL); /* as rfifind takes a band that goes up */
    obs.fch1_mhz = 1376;
    expect_extent(&mask, &obs, NULL);
    obs.fch1_mhz = 1379;
    expect_extent(&mask, &obs, "from 1379 MHz by 4 MHz");
    obs.fch1_mhz = 1376;
    obs.foff_mhz = 4.1;
    expect_extent(&mask, &obs, "by 4.1 MHz");
    psr_mask_clear(&mask);
}

static void test_files(void)
{
    const char *srcdir = getenv("srcdir");
    char path[PATH_MAX];
    struct psr_mask mask;
    snprintf(path, sizeof path, "%s/tests/golden/mask/r_rfifind.mask", srcdir ? srcdir : ".");
    ok(psr_mask_read(&mask, path, 0, &err) == PSR_OK && mask.nchan == 32 && mask.nint == 7 &&
           mask.ptsperint == 4800 && mask.first[7] == 2 && mask.chan[0] == 13,
       "a mask that rfifind made");
    near(mask.dtint_s, 1.2288, 1e-12, "its interval");
    near((double)mask.padding[13], 106.88640, 1e-4, "its padding");
    psr_mask_clear(&mask);
    ok(psr_mask_read(&mask, scratch("none.mask"), 0, &err) == PSR_EIO &&
           strstr(err.msg, "none.mask"),
       "no mask: %s", err.msg);
    psr_mask_clear(&mask);
    struct mask_says says = {.nchan = 4, .nint = 1, .dtint_s = 1, .mjd = 1};
    struct mask_bytes file;
    mask_file(&file, &says);
    FILE *f = fopen(scratch("lone.mask"), "wb");
    ok(f && fwrite(file.b, 1, file.n, f) == file.n && fclose(f) == 0, "a mask alone is written");
    ok(psr_mask_read(&mask, scratch("lone.mask"), 0, &err) == PSR_EIO &&
           strstr(err.msg, "lone.stats"),
       "no statistics: %s", err.msg);
    psr_mask_clear(&mask);
    ok(psr_mask_read(&mask, scratch_dir, 0, &err) == PSR_EIO, "a folder: %s", err.msg);
    psr_mask_clear(&mask);
    ok(psr_mask_read(&mask, "/dev/zero", 0, &err) == PSR_EFORMAT, "%s", err.msg);
    psr_mask_clear(&mask);
    struct stat about;
    ok(stat(path, &about) == 0 &&
           psr_mask_read(&mask, path, 2 * about.st_size - 1, &err) == PSR_ENOMEM &&
           strstr(err.msg, ".mask: reading it takes"),
       "%s", err.msg);
    psr_mask_clear(&mask);
    ok(psr_mask_read(&mask, path, 2 * about.st_size, &err) == PSR_ENOMEM &&
           strstr(err.msg, ".stats: reading it takes"),
       "%s", err.msg);
    psr_mask_clear(&mask);
    ok(psr_mask_read(&mask, path, 2708, &err) == PSR_OK, "just enough memory");
    psr_mask_clear(&mask);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_random_files(&seed);
    test_stretches(&seed);
    test_presto_rule();
    test_padding(&seed);
    test_errors();
    test_bad_stats();
    test_check();
    test_extent();
    test_files();
    return done_testing();
}
