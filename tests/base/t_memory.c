/* memory: what a compatible search says that it holds is what it took from the heap; and a search takes
 * no more than its limit. */
#include <psrkit/experimental/accelsearch.h>
#include <psrkit/experimental/pulscan.h>

#include "tests/support/tap.h"
#include <malloc.h>

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
static double heap(void)
{
    const struct mallinfo2 m = mallinfo2();
    return (double)m.uordblks + (double)m.hblkhd;
}
#else
static double heap(void)
{
    return 0;
}
#endif

/* Not under sanitizers, nor with another C library, whose heaps do not tell. */
static bool heap_tells(void)
{
    const double before = heap();
    void *volatile p = malloc(1 << 20);
    const bool more = heap() - before >= 1 << 20;
    free(p);
    return more;
}

static void bail(psr_status st, const psr_err *err)
{
    if (st) {
        printf("Bail out! %s\n", err->msg);
        exit(EXIT_FAILURE);
    }
}

/* said: all but tables of a few kilobytes and what an allocation has around it. */
static void judge(const char *what, double said, double taken)
{
    ok(said > 1e6 && taken > said && taken < 1.001 * said + 20e3, "%s: said %.0f, took %.0f bytes",
       what, said, taken);
}

static double search_pulscan(bool series, size_t batch, int64_t mem_bytes, int64_t *said)
{
    static const int sums[] = {1, 2, 3, 4};
    const struct psr_pulscan_desc d = {.size = sizeof d,
                                       .nbin = 300000,
                                       .zmax = 200,
                                       .series = series,
                                       .batch = batch,
                                       .nharm = sums,
                                       .nnharm = 4,
                                       .sigma = 5,
                                       .nthread = 3,
                                       .mem_bytes = mem_bytes,
                                       .backend = "cpu"};
    psr_pulscan *plan;
    psr_err err;
    struct psr_pulscan_info info;
    const double before = heap();
    psr_status st = psr_pulscan_create(&plan, &d, &err);
    const double taken = heap() - before;
    if (st == PSR_ENOMEM)
        return -1;
    bail(st, &err);
    psr_pulscan_describe(plan, &info);
    psr_pulscan_destroy(plan);
    *said = info.bytes;
    return taken;
}

static void test_pulscan(void)
{
    for (int series = 0; series < 2; series++)
        for (size_t batch = 1; batch <= 3; batch += 2) {
            int64_t said, less;
            search_pulscan(series, batch, 0, &said);
            ok(search_pulscan(series, batch, said, &less) > 0 && less == said &&
                   search_pulscan(series, batch, said - 1, &less) < 0,
               "boxes: %lld bytes are enough, and a byte less is not", (long long)said);
        }
}

static double search_accel(struct psr_accelsearch_desc d, int64_t mem_bytes, int64_t *said)
{
    psr_accelsearch *plan;
    psr_err err;
    struct psr_accelsearch_info info;
    d.mem_bytes = mem_bytes;
    const double before = heap();
    psr_status st = psr_accelsearch_create(&plan, &d, &err);
    const double taken = heap() - before;
    if (st == PSR_ENOMEM)
        return -1;
    bail(st, &err);
    psr_accelsearch_describe(plan, &info);
    psr_accelsearch_destroy(plan);
    *said = info.bytes;
    return taken;
}

static void test_accelsearch(void)
{
    static const struct {
        const char *name;
        struct psr_accelsearch_desc d;
    } row[] = {
        {"matched", {.nbin = 300000, .zmax = 200, .numharm = 8, .sigma = 5}},
        {"matched, jerk", {.nbin = 100000, .zmax = 60, .wmax = 200, .numharm = 4, .sigma = 5}},
        {"compatible", {.nbin = 300000, .zmax = 200, .numharm = 8, .sigma = 5, .compat = true}},
        {"compatible, a plane",
         {.nbin = 100000,
          .zmax = 100,
          .numharm = 8,
          .sigma = 5,
          .compat = true,
          .compat_inmem = true}},
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        struct psr_accelsearch_desc d = row[k].d;
        int64_t said = 0, less = 0, again = 0;
        d.size = sizeof d;
        d.nthread = 3;
        d.backend = "cpu";
        double taken = search_accel(d, (int64_t)1 << 34, &said);
        if (d.compat) {
            judge(row[k].name, (double)said, taken);
            ok(search_accel(d, said, &again) > 0 && again == said, "as much is enough");
        }
        taken = search_accel(d, said - 1, &less);
        ok(taken < 0 || less < said, "%s: with a byte less it takes less, or is refused",
           row[k].name);
    }
}

int main(void)
{
    if (heap_tells()) {
        test_pulscan();
        test_accelsearch();
    } else
        skip("memory of plans", "the heap does not tell what it holds");
    return done_testing();
}
