/* series_store: series come back as they were appended, whatever the blocks, however many threads
 * append, and whether they fit in memory; the scratch file has no name. */
#include "run/dedisperse/consumers/sinks.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

enum { CASES = 60, MAX_SERIES = 12, MAX_SAMPLES = 60000 };

static float value(size_t i, int64_t t)
{
    return (float)(i * 1000003) + (float)t;
}

/* Blocks of random lengths, of all series or of some: each in a thread of its own. */
static int append_all(psr_series_store *s, const int64_t *n, size_t nseries, uint64_t seed)
{
    int failed = 0;
#pragma omp parallel for num_threads(3) reduction(+ : failed)
    for (size_t i = 0; i < nseries; i++) {
        uint64_t mine = seed + i;
        float *x = tap_take(MAX_SAMPLES, sizeof *x);
        for (int64_t t = 0; t < n[i];) {
            const int64_t left = n[i] - t, block = tap_between(&mine, 0, 9000);
            const int64_t more = block < left ? block : left;
            psr_err err;
            for (int64_t k = 0; k < more; k++)
                x[k] = value(i, t + k);
            failed += psr_series_store_append(s, i, x, (size_t)more, &err) != PSR_OK;
            t += more;
        }
        free(x);
    }
    return failed;
}

static int64_t count_wrong(const psr_series_store *s, const int64_t *n, size_t nseries)
{
    int64_t wrong = 0;
    float *x = tap_take(MAX_SAMPLES + 1, sizeof *x);
    for (size_t i = 0; i < nseries; i++) {
        const int64_t asked = i % 2 ? n[i] / 2 : n[i] + 7, got = asked < n[i] ? asked : n[i];
        psr_err err;
        x[got] = -5;
        wrong += psr_series_store_length(s, i) != n[i];
        wrong += psr_series_store_read(s, i, x, asked, &err) != PSR_OK;
        for (int64_t t = 0; t < got; t++)
            wrong += memcmp(&x[t], &(float){value(i, t)}, sizeof *x) != 0;
        wrong += x[got] >= 0;
    }
    free(x);
    return wrong;
}

static void test_random(uint64_t *seed)
{
    int64_t wrong = 0, in_file = 0, in_memory = 0, over = 0;
    for (int c = 0; c < CASES; c++) {
        const size_t nseries = (size_t)tap_between(seed, 1, MAX_SERIES);
        const int64_t limit = tap_between(seed, 0, 3) * 400000;
        int64_t n[MAX_SERIES], memory, used;
        psr_series_store *s;
        psr_err err;
        for (size_t i = 0; i < nseries; i++)
            n[i] = tap_between(seed, 0, MAX_SAMPLES);
        wrong +=
            psr_series_store_create(&s,
                                    &(struct psr_series_store_desc){nseries, limit, scratch("root"),
                                                                    tap_between(seed, 0, 1) * n[0]},
                                    &err) != PSR_OK;
        wrong += append_all(s, n, nseries, *seed);
        wrong += count_wrong(s, n, nseries);
        psr_series_store_bytes(s, &memory, &used);
        over += memory > limit;
        in_file += used > 0;
        in_memory += used == 0;
        psr_series_store_destroy(s);
    }
    ok(wrong == 0, "%d stores give back what they got (%lld wrong)", CASES, (long long)wrong);
    ok(in_file > 5 && in_memory > 5, "%lld of them used a file", (long long)in_file);
    ok(over == 0, "none counts more memory than it may");
}

static psr_status fill(psr_series_store **s, const char *prefix, psr_err *err)
{
    static float x[1 << 14];
    psr_status st =
        psr_series_store_create(s, &(struct psr_series_store_desc){1, 0, prefix, 0}, err);
    for (int k = 0; k < 8 && !st; k++)
        st = psr_series_store_append(*s, 0, x, sizeof x / sizeof *x, err);
    return st;
}

static void test_folder(void)
{
    psr_series_store *s;
    psr_err err;
    int64_t memory, used = 0;
    ok(fill(&s, scratch("none/root"), &err) == PSR_EIO && strstr(err.msg, "its scratch file"),
       "a folder that is not there: %s", err.msg);
    psr_series_store_destroy(s);
    mkdir(scratch("folder"), 0777);
    psr_status st = fill(&s, scratch("folder/root"), &err);
    if (!st)
        psr_series_store_bytes(s, &memory, &used);
    ok(!st && used > 0 && rmdir(scratch("folder")) == 0, "the file in use has no name");
    psr_series_store_destroy(s);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_random(&seed);
    test_folder();
    return done_testing();
}
