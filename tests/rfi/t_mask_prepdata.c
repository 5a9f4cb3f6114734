/* mask: the default mode's masking against prepdata's, sample by sample.
 *
 * prepdata masks at the right time, but where a block touches two intervals it forgets the channels
 * of the first one, unless some channel is masked throughout.  The golden series is at DM 47, of 32
 * channels of 8 bits and a mask of 7 intervals of two blocks each; channels 13 and 14 are masked in
 * interval 3.  All that differs here must be that slip. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/clean.h>

#include "rfi/rules/clean_internal.h"
#include "tests/support/tap.h"
#include <limits.h>
#include <string.h>
#include <zlib.h>

enum {
    NCHAN = 32,
    NSAMP = 29696,
    HEADER = 243,
    BLOCK = PSR_CLEAN_BLOCK,
    NBLOCK = (NSAMP + BLOCK - 1) / BLOCK,
    FIRST = 9000, /* sample of the series that the golden file begins with */
    NGOLDEN = 12000,
};

static const double tsamp_s = 256e-6;
static const double tolerance = 1e-3; /* of sums of 32 floats of single precision */

static unsigned char x[NSAMP][NCHAN]; /* the highest channel first, as in the file */
static float golden[NGOLDEN];
static struct psr_mask mask;
static size_t delay[NCHAN]; /* from the lowest channel */
static unsigned char masked[2][NBLOCK][NCHAN];

static bool read_file(const char *name, size_t skip, void *to, size_t n)
{
    char path[PATH_MAX];
    const char *dir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/golden/%s", dir ? dir : ".", name);
    gzFile f = gzopen(path, "rb"); /* reads what is not compressed as it is */
    bool read = f && gzseek(f, (z_off_t)skip, SEEK_SET) == (z_off_t)skip &&
                gzread(f, to, (unsigned)n) == (int)n;
    if (f)
        gzclose(f);
    return read;
}

/* The data of rfi.fil: those of g8.fil and what was added to them. */
static bool load(psr_err *err)
{
    enum { DIFF_HEADER = 355 };
    static unsigned char more[NSAMP][NCHAN];
    char path[PATH_MAX];
    const char *dir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/golden/mask/r_rfifind.mask", dir ? dir : ".");
    if (psr_mask_read(&mask, path, 0, err) || !read_file("g8.fil", HEADER, x, sizeof x) ||
        !read_file("rfi.diff.gz", DIFF_HEADER, more, sizeof more) ||
        !read_file("prepdata_mask.dat", 0, golden, sizeof golden))
        return false;
    for (size_t t = 0; t < NSAMP; t++)
        for (size_t c = 0; c < NCHAN; c++)
            x[t][c] = (unsigned char)(x[t][c] + more[t][c]);
    return true;
}

static void set_delays(void)
{
    for (size_t c = 0; c < NCHAN; c++)
        delay[c] =
            (size_t)psr_delay_samples(PSR_DMCONST_PRESTO, 47, 1376 + 4 * (double)c, 1500, tsamp_s);
}

static double sample_of(size_t t, size_t c, enum psr_mask_rule rule)
{
    return masked[rule][t / BLOCK][c] ? (double)mask.padding[c] : x[t][NCHAN - 1 - c];
}

static double series_of(size_t t, enum psr_mask_rule rule)
{
    double sum = 0;
    for (size_t c = 0; c < NCHAN; c++)
        sum += sample_of(t + delay[c], c, rule);
    return sum;
}

/* Prepdata is understood: with its rule, slip included, the model gives its samples. */
static void test_prepdata(void)
{
    double worst = 0;
    for (size_t k = 0; k < NGOLDEN; k++)
        worst = fmax(worst, fabs(series_of(FIRST + k, PSR_MASK_PRESTO) - (double)golden[k]));
    near(worst, 0, tolerance, "prepdata's samples, by its rule");
}

/* Whether a sample of the series draws on one that only the default mode masks. */
static bool draws_on_slip(size_t t)
{
    for (size_t c = 0; c < NCHAN; c++) {
        size_t b = (t + delay[c]) / BLOCK;
        if (masked[PSR_MASK_TOUCHED][b][c] != masked[PSR_MASK_PRESTO][b][c])
            return true;
    }
    return false;
}

static void test_differences(void)
{
    size_t differ = 0, excused = 0, wrong = 0;
    for (size_t k = 0; k < NGOLDEN; k++) {
        double off = series_of(FIRST + k, PSR_MASK_TOUCHED) - (double)golden[k];
        bool slip = draws_on_slip(FIRST + k);
        differ += fabs(off) > tolerance;
        excused += slip;
        wrong += fabs(off) > tolerance && !slip;
    }
    ok(!wrong, "where prepdata forgets nothing, the default mode's samples are its");
    ok(excused == BLOCK + 2 && differ <= excused, "%zu samples draw on what it forgets", excused);
    diag("%zu of %d samples differ by more than %g", differ, NGOLDEN, tolerance);
}

static size_t interval_of(double time_s)
{
    size_t i = (size_t)(time_s / mask.dtint_s);
    return i < mask.nint ? i : mask.nint - 1;
}

static bool is_listed(size_t i, size_t c)
{
    for (size_t k = mask.first[i]; k < mask.first[i + 1]; k++)
        if (mask.chan[k] == (int32_t)c)
            return true;
    return mask.all_chan[i];
}

/* Every difference is a channel of the first of two intervals that a block touches. */
static void test_slips(void)
{
    size_t nslip = 0, other = 0;
    ok(!memchr(mask.zap_chan, 1, mask.nchan), "no channel is masked throughout");
    for (size_t b = 0; b < NBLOCK; b++) {
        size_t lo = interval_of((double)(b * BLOCK) * tsamp_s);
        size_t hi = interval_of((double)((b + 1) * BLOCK) * tsamp_s);
        for (size_t c = 0; c < NCHAN; c++) {
            if (masked[0][b][c] == masked[1][b][c])
                continue;
            nslip++;
            other += lo == hi || !masked[PSR_MASK_TOUCHED][b][c] || !is_listed(lo, c) ||
                     is_listed(hi, c) || b != 7;
        }
    }
    ok(nslip == 2 && !other, "block 7, of intervals 3 and 4, lacks the 2 channels of interval 3");
}

/* The plan that the tools use gives what the model says. */
static void test_plan(void)
{
    static float out[NSAMP + BLOCK][NCHAN];
    psr_clean *p = NULL;
    psr_err err = {0};
    size_t n = 0, more = 0, bad = 0;
    struct psr_clean_desc d = {.size = sizeof d,
                               .nchan = NCHAN,
                               .nbit = 8,
                               .kind = PSR_UINT,
                               .tsamp_s = tsamp_s,
                               .floats = true,
                               .mask = &mask,
                               .nthread = 2};
    bool done = !psr_clean_create(&p, &d, &err) && !psr_clean_execute(p, x, NSAMP, out, &n, &err) &&
                !psr_clean_finish(p, out + n, &more, &err);
    for (size_t t = 0; t < NSAMP && done; t++)
        for (size_t c = 0; c < NCHAN; c++)
            bad += (double)out[t][NCHAN - 1 - c] != sample_of(t, c, PSR_MASK_TOUCHED);
    ok(done && n + more == NSAMP && !bad, "cleaning masks so");
    psr_clean_destroy(p);
}

int main(void)
{
    psr_err err = {0};
    if (!ok(load(&err), "data, mask and prepdata's series"))
        return done_testing();
    set_delays();
    for (size_t b = 0; b < NBLOCK; b++)
        for (int rule = PSR_MASK_TOUCHED; rule <= PSR_MASK_PRESTO; rule++)
            psr_mask_span(&mask, (double)(b * BLOCK) * tsamp_s, BLOCK * tsamp_s,
                          (enum psr_mask_rule)rule, masked[rule][b]);
    test_prepdata();
    test_differences();
    test_slips();
    test_plan();
    psr_mask_clear(&mask);
    return done_testing();
}
