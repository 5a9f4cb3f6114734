/* series: time series in files, their padding, and lengths that transform well. */
#include "formats/series/series_internal.h"
#include "tests/support/series_made.h"

#include <signal.h>
#include <time.h>

/* What is left of n without its factors 2, 3, 5, 7 and 11. */
static int64_t large_factors(int64_t n)
{
    static const int factor[] = {2, 3, 5, 7, 11};
    for (int k = 0; k < 5; k++)
        while (n > 0 && n % factor[k] == 0)
            n /= factor[k];
    return n;
}

static void test_good_length(uint64_t *random)
{
    /* PRESTO's own results, the last ones those of its golden files. */
    static const int64_t known[][2] = {
        {468992, 470400}, {156672, 156800}, {23552, 24000}, {6000, 6000},   {30000, 30240},
        {9999, 10000},    {10000, 10000},   {10001, 10080}, {999, 1000},    {5, 8},
        {1, 1},           {0, 0},           {-3, 0},        {1001, 1008},   {1000, 1000},
        {1024, 1024},     {16384, 16384},   {65000, 65536}, {25000, 25600}, {99990, 100000},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ok(psr_good_length(known[i][0]) == known[i][1], "%lld becomes %lld, got %lld",
           (long long)known[i][0], (long long)known[i][1], (long long)psr_good_length(known[i][0]));
    bool all = true;
    for (int i = 0; i < 200000; i++) {
        int64_t n = tap_between(random, 1, INT64_C(1) << tap_between(random, 0, 40));
        int64_t good = psr_good_length(n), next = psr_good_length(n + 1);
        all &= good >= n && next >= good && psr_good_length(good) == good && good <= 2 * n &&
               (n < 1000 || (double)good < 1.09 * (double)n);
    }
    ok(all, "never shorter, never less for more, and near by, up to 2^40");
    int64_t lengths = 0, sum = 0;
    all = true;
    for (int64_t n = 1001, was = 1000; n <= 100000; n++) {
        int64_t good = psr_good_length(n);
        all &= large_factors(good) == 1 && (good == was || was == n - 1);
        if (good != was)
            lengths++, sum += good, was = good;
    }
    ok(all && lengths == 229 && sum == 5872704,
       "PRESTO's %lld lengths to 100000, without factors above 11, their sum %lld",
       (long long)lengths, (long long)sum);
    all = true;
    for (int k = 0; k < 63; k++)
        all &= psr_good_length(INT64_C(1) << k) >= INT64_C(1) << k;
    ok(all && psr_good_length(INT64_MAX) == INT64_MAX, "no overflow at the largest lengths");
}

static bool check_trial(size_t i, const char *stem, double dm, int64_t appended, int64_t nout)
{
    struct psr_inf inf;
    psr_err err = {.msg = ""};
    float *x;
    int64_t n;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s.dat", stem);
    if (psr_dat_read(path, &x, &n, &inf, &err)) {
        diag("%s", err.msg);
        return false;
    }
    bool same = n == nout && inf.nbin == nout && inf.dm == dm && !strcmp(inf.name, stem) &&
                inf.tbin_s == 128e-6 && !strcmp(inf.telescope, "GBT") && inf.lowest_mhz == 1376 &&
                inf.epoch.day == 56000 && inf.epoch.frac == 0.25;
    long double sum = 0;
    for (int64_t t = 0; t < appended; t++)
        sum += (long double)sample_of(i, t);
    float mean = (float)(sum / (long double)(appended ? appended : 1));
    for (int64_t t = 0; t < n; t++)
        same &= t < appended ? x[t] == sample_of(i, t) : fabsf(x[t] - mean) <= 1e-5F;
    bool padded = nout > appended;
    same &= inf.nonoff == (padded ? 2 : 0);
    if (padded)
        same &= inf.onoff[0][0] == 0 && inf.onoff[0][1] == appended - 1 &&
                inf.onoff[1][0] == nout - 1 && inf.onoff[1][1] == nout - 1;
    free(x);
    return same;
}

/* Trials side by side, cut, padded or kept, with pieces short and long. */
static void test_dat(uint64_t *random)
{
    static const int64_t lengths[][2] = {{70001, -1}, {70001, 75000}, {70001, 33333},
                                         {1, 9},      {70001, 70001}, {70001, 0}};
    const double dm[] = {40, 47.005, 54.25, 0, 1234.5};
    enum { NDM = sizeof dm / sizeof *dm };
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        psr_series *s = NULL;
        psr_err err = {.msg = ""};
        int64_t n = lengths[k][0], nout = lengths[k][1], failed = 0;
        ok(open_series(&s, scratch("x"), PSR_SERIES_DAT, 3, dm, NDM, &err) == PSR_OK,
           "%d trials %s", NDM, err.msg);
        uint64_t seed = tap_random(random);
#pragma omp parallel for reduction(+ : failed)
        for (int i = 0; i < NDM; i++) {
            uint64_t mine = seed + (uint64_t)i;
            failed += append_pieces(s, (size_t)i, 0, n, i % 2 ? 40000 : 300, &mine, NULL) != 0;
        }
        ok(!failed && scratch_count(".part") == NDM && scratch_count("") == NDM + 1,
           "no file has its name yet");
        ok(psr_series_finish(s, nout, &err) == PSR_OK && scratch_count("") == 2 * NDM &&
               scratch_count(".part") == 0,
           "all files have their names %s", err.msg);
        bool all = true;
        for (size_t i = 0; i < NDM; i++) {
            char name[64];
            snprintf(name, sizeof name, "x_DM%.3f", dm[i]);
            int64_t real = nout >= 0 && nout < n ? nout : n;
            all &= check_trial(i, scratch(name), dm[i], real, nout < 0 ? n : nout);
        }
        ok(all, "%lld samples finished to %lld hold what they should", (long long)n,
           (long long)nout);
        scratch_empty();
    }
}

/* The padding's bits do not depend on how the samples came. */
static void test_pad_bits(uint64_t *random)
{
    const double dm = 1;
    float pad[4] = {0};
    for (int k = 0; k < 4; k++) {
        psr_series *s = NULL;
        psr_err err;
        float *x = NULL;
        int64_t n = 0;
        struct psr_inf inf;
        bool good = open_dat(&s, &dm, 1, &err) == PSR_OK &&
                    append_pieces(s, 0, 0, 50000, k ? 1 << (4 * k) : 50000, random, &err) == 0 &&
                    psr_series_finish(s, 50001, &err) == PSR_OK &&
                    psr_dat_read(scratch("x_DM1.00.dat"), &x, &n, &inf, &err) == PSR_OK;
        pad[k] = good ? x[50000] : NAN;
        free(x);
    }
    ok(pad[0] == pad[1] && pad[0] == pad[2] && pad[0] == pad[3], "the padding is %.9g each time",
       (double)pad[0]);
    scratch_empty();
}

static void test_names(void)
{
    psr_series *s = NULL;
    psr_err err;
    const double close[] = {40, 40.01, 40.012, 50}, closer[] = {1, 1.00001}, equal[] = {3, 7, 3};
    ok(open_dat(&s, close, 4, &err) == PSR_EINVAL && !s && strstr(err.msg, "40.01 and 40.012") &&
           strstr(err.msg, "3 decimals tell"),
       "%s", err.msg);
    ok(open_dat(&s, closer, 2, &err) == PSR_EINVAL && strstr(err.msg, "1.00001") &&
           strstr(err.msg, "no number"),
       "%s", err.msg);
    ok(open_dat(&s, equal, 3, &err) == PSR_EINVAL && strstr(err.msg, "3 and 3"), "%s", err.msg);
    ok(scratch_count("") == 0, "nothing was made");
    ok(open_series(&s, scratch("x"), PSR_SERIES_DAT, 3, close, 4, &err) == PSR_OK,
       "3 decimals serve");
    psr_series_abort(s);
    ok(scratch_count("") == 0, "an abort leaves nothing");
    enum { N = 100000 };
    double *dm = malloc(N * sizeof *dm);
    for (int i = 0; dm && i < N; i++)
        dm[i] = 0.01 * i;
    clock_t began = clock();
    if (dm)
        dm[N - 1] = dm[0];
    ok(dm && open_dat(&s, dm, N, &err) == PSR_EINVAL, "%d names, one twice: %s", N, err.msg);
    diag("names checked in %.2f s", (double)(clock() - began) / CLOCKS_PER_SEC);
    free(dm);
}

static void test_refusals(void)
{
    psr_series *s = NULL;
    psr_err err;
    const double dm[] = {1, 2}, negative = -1, nan = NAN, huge = 1e7;
    char root[400] = "";
    memset(root, 'r', sizeof root - 1);
    struct psr_obs obs;
    fill_obs(&obs);
    const struct {
        struct psr_series_desc desc;
        const char *says;
    } bad[] = {
        {{.root = "", .dm_decimals = 2, .ndm = 1, .dm = dm, .tsamp_s = 1}, "root"},
        {{.root = "-", .dm_decimals = 2, .ndm = 1, .dm = dm, .tsamp_s = 1}, "standard output"},
        {{.root = "-",
          .dm_decimals = 2,
          .ndm = 2,
          .dm = dm,
          .tsamp_s = 1,
          .format = PSR_SERIES_TIM},
         "not 2 as .tim"},
        {{.root = root + 399 - 193, .dm_decimals = 2, .ndm = 1, .dm = dm, .tsamp_s = 1},
         "has 200 bytes; PRESTO reads at most 199"},
        {{.root = "x", .dm_decimals = 2, .ndm = 0, .dm = dm, .tsamp_s = 1}, "no DM trials"},
        {{.root = "x", .dm_decimals = 1, .ndm = 1, .dm = dm, .tsamp_s = 1}, "must be 2 to 4"},
        {{.root = "x", .dm_decimals = 5, .ndm = 1, .dm = dm, .tsamp_s = 1}, "must be 2 to 4"},
        {{.root = "x", .dm_decimals = 2, .ndm = 1, .dm = dm, .tsamp_s = 0}, "tsamp"},
        {{.root = "x", .dm_decimals = 2, .ndm = 1, .dm = &negative, .tsamp_s = 1}, "-1"},
        {{.root = "x", .dm_decimals = 2, .ndm = 1, .dm = &nan, .tsamp_s = 1}, "nan"},
        {{.root = "x", .dm_decimals = 2, .ndm = 1, .dm = &huge, .tsamp_s = 1}, "below 1e+06"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct psr_series_desc desc = bad[i].desc;
        desc.size = sizeof desc;
        desc.obs = &obs;
        ok(psr_series_create(&s, &desc, &err) == PSR_EINVAL && !s && strstr(err.msg, bad[i].says),
           "refused: %s", err.msg);
    }
}

static void test_late_refusals(void)
{
    psr_series *s = NULL;
    psr_err err;
    const double dm[] = {1, 2};
    ok(open_series(&s, scratch("none/x"), PSR_SERIES_DAT, 2, dm, 2, &err) == PSR_EIO, "refused: %s",
       err.msg);
    ok(open_dat(&s, dm, 2, &err) == PSR_OK && psr_series_append(s, 2, NULL, 0, &err) == PSR_EINVAL,
       "refused: %s", err.msg);
    ok(psr_series_finish(s, 10, &err) == PSR_EINVAL && scratch_count("") == 0,
       "no samples, no padding: %s", err.msg);
    ok(open_dat(&s, dm, 2, &err) == PSR_OK && psr_series_finish(s, -2, &err) == PSR_EINVAL &&
           scratch_count("") == 0,
       "refused: %s", err.msg);
    ok(open_dat(&s, dm, 2, &err) == PSR_OK && psr_series_finish(s, -1, &err) == PSR_OK &&
           scratch_count("") == 4,
       "empty series are series");
    scratch_empty();
}

/* Trials of several samplings, each with its own length. */
static void test_each(void)
{
    const double dm[] = {1, 2, 3}, tsamp_s[] = {64e-6, 128e-6, 256e-6}, none[] = {1, 0, 1};
    static const int64_t length[] = {5, 3, -1};
    const float sample[] = {1, 2, 3, 4};
    struct psr_obs obs;
    psr_series *s;
    psr_err err;
    fill_obs(&obs);
    struct psr_series_desc desc = {.size = sizeof desc,
                                   .root = scratch("each"),
                                   .dm_decimals = 2,
                                   .ndm = 3,
                                   .dm = dm,
                                   .obs = &obs,
                                   .file_nbit = 8,
                                   .each_tsamp_s = tsamp_s};
    bool pass = !psr_series_check(&desc, &err) && scratch_count("") == 0;
    pass = pass && !psr_series_create(&s, &desc, &err);
    for (size_t i = 0; pass && i < 3; i++) {
        pass &= !psr_series_append(s, i, sample, 4, &err);
        if (i < 2)
            psr_series_set_length(s, i, length[i]);
    }
    pass = pass && !psr_series_finish(s, -1, &err);
    static const int64_t want[] = {5, 3, 4};
    for (size_t i = 0; pass && i < 3; i++) {
        char name[32];
        float *x;
        int64_t n;
        struct psr_inf inf;
        snprintf(name, sizeof name, "each_DM%zu.00.dat", i + 1);
        pass &= !psr_dat_read(scratch(name), &x, &n, &inf, &err) && n == want[i] &&
                inf.nbin == want[i] && inf.tbin_s == tsamp_s[i];
        free(x);
    }
    ok(pass, "trials of one sink differ in sampling and length: %s", pass ? "" : err.msg);
    scratch_empty();
    desc.each_tsamp_s = none;
    ok(psr_series_check(&desc, &err) == PSR_EINVAL && strstr(err.msg, "tsamp"), "refused: %s",
       err.msg);
    desc.each_tsamp_s = tsamp_s;
    pass = !psr_series_create(&s, &desc, &err);
    psr_series_set_length(s, 1, -2);
    ok(pass && psr_series_finish(s, -1, &err) == PSR_EINVAL && scratch_count("") == 0,
       "refused: %s", err.msg);
}

/* Says so once it has been asked as often as *left. */
static bool is_stopped(void *left)
{
    return --*(int *)left < 0;
}

/* In padding that would take hours, in the middle of .inf files, and when nothing is left to do. */
static void test_stop(void)
{
    const double dm[] = {1, 2, 3};
    static const struct {
        int asked;
        int64_t nout;
    } when[] = {{3, INT64_C(1) << 53}, {4, 5}};
    struct psr_obs obs;
    psr_err err;
    fill_obs(&obs);
    for (size_t k = 0; k < sizeof when / sizeof *when; k++) {
        int left = when[k].asked;
        psr_series *s;
        bool pass =
            !psr_series_create(&s,
                               &(struct psr_series_desc){.size = sizeof(struct psr_series_desc),
                                                         .root = scratch("stop"),
                                                         .dm_decimals = 2,
                                                         .ndm = 3,
                                                         .dm = dm,
                                                         .obs = &obs,
                                                         .file_nbit = 8,
                                                         .tsamp_s = 1e-3,
                                                         .stopped = is_stopped,
                                                         .ctx = &left},
                               &err);
        for (size_t i = 0; pass && i < 3; i++)
            pass = !psr_series_append(s, i, (const float[]){1, 2}, 2, &err);
        ok(pass && psr_series_finish(s, when[k].nout, &err) == PSR_EIO && left == -1 &&
               scratch_count("") == 0,
           "stopped when asked for the %dth time: %s", when[k].asked + 1, err.msg);
    }
}

/* One of the last names cannot be taken: those taken before are given back. */
static void test_failed_rename(void)
{
    const double dm[] = {1, 2, 3};
    const float x[] = {1, 2, 3};
    static const char *const blocked[] = {"x_DM1.00.dat", "x_DM3.00.dat", "x_DM1.00.inf",
                                          "x_DM3.00.inf"};
    for (size_t k = 0; k < sizeof blocked / sizeof *blocked; k++) {
        psr_series *s = NULL;
        psr_err err;
        bool inf = strstr(blocked[k], ".inf") != NULL;
        psr_status st = open_dat(&s, dm, 3, &err);
        for (size_t i = 0; i < 3 && !st; i++)
            st = psr_series_append(s, i, x, 3, &err);
        mkdir(scratch(blocked[k]), 0777);
        ok(!st && psr_series_finish(s, -1, &err) == PSR_EIO && strstr(err.msg, blocked[k]) &&
               scratch_count("") == 1,
           "%s in the way of %s leaves nothing: %s", "a folder", inf ? "an .inf" : "a .dat",
           err.msg);
        scratch_empty();
    }
}

static int outgrow_limit(void *ctx)
{
    const double dm[] = {1, 2, 3};
    static float x[30000];
    psr_series *s;
    psr_err err;
    (void)ctx;
    if (open_dat(&s, dm, 3, &err))
        return 1;
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < 3; i++)
        if (psr_series_append(s, i, x, 30000 - 10000 * (i == 1), &err))
            return 2;
    set_limit(RLIMIT_FSIZE, 121000);
    psr_status st = psr_series_finish(s, 40000, &err);
    return st == PSR_EIO && strstr(err.msg, "x_DM1.00.dat") ? 0 : 3;
}

static int killed_halfway(void *ctx)
{
    const double dm[] = {1, 2};
    static float x[50000];
    psr_series *s;
    (void)ctx;
    if (open_dat(&s, dm, 2, NULL) || psr_series_append(s, 0, x, 50000, NULL))
        return 1;
    kill(getpid(), SIGKILL);
    return 2;
}

static void test_half_written(void)
{
    ok(in_child(outgrow_limit, NULL) == 0 && scratch_count("") == 0,
       "no room for the padding: an error, and nothing is left");
    ok(WIFSIGNALED(in_child(killed_halfway, NULL)) && scratch_count(".part") == 2 &&
           scratch_count("") == 3,
       "a killed run leaves no final names");
    scratch_empty();
}

enum { MANY = 3000 };

static int many_trials(void *ctx)
{
    static double dm[MANY];
    psr_series *s;
    psr_err err;
    int64_t failed = 0;
    (void)ctx;
    set_limit(RLIMIT_NOFILE, 64);
    for (int i = 0; i < MANY; i++)
        dm[i] = i;
    if (open_dat(&s, dm, MANY, &err)) {
        fprintf(stderr, "# %s\n", err.msg);
        return 1;
    }
    for (int round = 0; round < 3; round++)
#pragma omp parallel for reduction(+ : failed)
        for (int i = 0; i < MANY; i++) {
            float x[100];
            for (int t = 0; t < 100; t++)
                x[t] = (float)(i + 100 * round + t);
            failed += psr_series_append(s, (size_t)i, x, 100, NULL) != PSR_OK;
        }
    return failed || psr_series_finish(s, 320, &err) ? 2 : 0;
}

static void test_many_trials(void)
{
    struct psr_inf inf;
    psr_err err;
    int64_t n;
    ok(in_child(many_trials, NULL) == 0, "%d trials with 64 descriptors", MANY);
    ok(scratch_count(".dat") == MANY && scratch_count(".inf") == MANY &&
           scratch_count(".part") == 0,
       "all files have their names");
    bool all = true;
    for (int i = 0; i < MANY && all; i += 7) {
        char name[64];
        float *x;
        snprintf(name, sizeof name, "x_DM%d.00.dat", i);
        all = psr_dat_read(scratch(name), &x, &n, &inf, &err) == PSR_OK && n == 320;
        for (int t = 0; t < 320 && all; t++)
            all = x[t] == (t < 300 ? (float)(i + t) : (float)(i + 149.5));
        free(x);
    }
    ok(all, "and their samples");
    scratch_empty();
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    test_good_length(&random);
    test_many_trials();
    test_dat(&random);
    test_pad_bits(&random);
    test_names();
    test_refusals();
    test_late_refusals();
    test_each();
    test_stop();
    test_failed_rename();
    test_half_written();
    return done_testing();
}
