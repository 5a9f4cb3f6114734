/* dedisp_beams on a CUDA device: every sum of every beam has the CPU's bits, on random shapes; and what
 * a plan refuses. */
#include "base/device/device_internal.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/beams_shape.h"

#include <psrkit/device.h>

/* --- the CPU's bits --------------------------------------------------------------------------- */

static bool same_rows(const struct psr_dedisp_beams_series *want,
                      const struct psr_dedisp_beams_series *got, size_t nrow, const char *what)
{
    psr_err err;
    size_t n = want->nsamp;
    if (got->first != want->first || got->nsamp != n || got->on_device.nseries != nrow ||
        got->out || got->stride < n) {
        diag("%s: samples %llu + %zu of %zu rows, want %llu + %zu of %zu", what,
             (unsigned long long)got->first, got->nsamp, got->on_device.nseries,
             (unsigned long long)want->first, n, nrow);
        return false;
    }
    float *x = tap_take(nrow * n + 1, sizeof *x);
    bool pass = !psr_device_series_fetch(&got->on_device, 1, n, x, n, &err);
    for (size_t i = 0; i < nrow && pass; i++)
        for (size_t t = 0; t < n && pass; t++)
            if (memcmp(&x[i * n + t], &want->out[i * want->stride + t], sizeof *x)) {
                diag("%s: row %zu of %zu, sample %zu of %zu: got %.9g, want %.9g", what, i, nrow, t,
                     n, x[i * n + t], want->out[i * want->stride + t]);
                pass = false;
            }
    free(x);
    return pass;
}

static bool same_line(const psr_dedisp_beams *cpu, const psr_dedisp_beams *cuda, size_t line)
{
    struct psr_dedisp_beams_line l;
    struct psr_dedisp_beams_series want, got;
    psr_dedisp_beams_line(cpu, line, &l);
    psr_dedisp_beams_series(cpu, line, &want);
    psr_dedisp_beams_series(cuda, line, &got);
    if (!same_rows(&want, &got, l.ndm, "a line"))
        return false;
    for (size_t b = 0; b < l.nband; b++) {
        struct psr_dedisp_beams_band band;
        psr_dedisp_beams_band(cpu, line, b, &band);
        psr_dedisp_beams_band_series(cpu, line, b, &want);
        psr_dedisp_beams_band_series(cuda, line, b, &got);
        if (!same_rows(&want, &got, band.ndm, "a sub-band"))
            return false;
    }
    return true;
}

static bool same_output(const psr_dedisp_beams *cpu, const psr_dedisp_beams *cuda)
{
    struct psr_dedisp_beams_info want, got;
    psr_dedisp_beams_describe(cpu, &want);
    psr_dedisp_beams_describe(cuda, &got);
    if (want.nline != got.nline || want.bytes_beam != got.bytes_beam ||
        want.adds_direct != got.adds_direct) {
        diag("%zu lines, %g bytes; want %zu, %g", got.nline, got.bytes_beam, want.nline,
             want.bytes_beam);
        return false;
    }
    for (size_t line = 0; line < want.nline; line++)
        if (!same_line(cpu, cuda, line)) {
            diag("line %zu", line);
            return false;
        }
    return true;
}

/* Beams in turns, blocks of any length. */
static bool run_both(struct sky *k, psr_dedisp_beams *cpu, psr_dedisp_beams *cuda, size_t limit,
                     uint64_t *seed)
{
    size_t row = k->s.row_bytes;
    memset(k->taken, 0, sizeof k->taken);
    size_t b, n;
    uint64_t was;
    psr_err err;
    while (next_block(k, limit, seed, &b, &was, &n)) {
        if (psr_dedisp_beams_execute(cpu, b, k->data[b] + was * row, n, &err) ||
            psr_dedisp_beams_execute(cuda, b, k->data[b] + was * row, n, &err)) {
            diag("%s", err.msg);
            return false;
        }
        if (!same_output(cpu, cuda)) {
            diag("beam %zu, spectra %llu + %zu", b, (unsigned long long)was, n);
            return false;
        }
    }
    return true;
}

static bool check_both(struct sky *k, uint64_t *seed)
{
    psr_dedisp_beams *cpu = NULL, *cuda = NULL;
    struct psr_dedisp_beams_desc d = k->d;
    psr_err err;
    d.backend = "cuda";
    bool pass =
        !psr_dedisp_beams_create(&cpu, &k->d, &err) && !psr_dedisp_beams_create(&cuda, &d, &err);
    if (!pass)
        diag("create: %s", err.msg);
    for (int again = 0; again < 2 && pass; again++) {
        size_t limit = k->s.nsamp < 700 ? k->s.nsamp : 700;
        pass = run_both(k, cpu, cuda, again ? limit / 3 + 1 : limit, seed);
        for (size_t b = 0; b < k->d.nbeam; b++) {
            psr_dedisp_beams_reset(cpu, b);
            psr_dedisp_beams_reset(cuda, b);
        }
    }
    psr_dedisp_beams_destroy(cpu);
    psr_dedisp_beams_destroy(cuda);
    return pass;
}

static void test_random_skies(uint64_t *seed)
{
    static struct sky k;
    const char *text = getenv("PSRKIT_TEST_COUNT");
    int n, count = text ? atoi(text) : 300;
    for (n = 0; n < count; n++) {
        uint64_t now = *seed;
        choose_sky(&k, seed);
        bool pass = check_both(&k, seed);
        if (!pass) {
            diag("shape %d, state %llu: scrunch %g block %zu beams %zu halvings %zu", n,
                 (unsigned long long)now, k.d.scrunch, k.d.block, k.d.nbeam, k.d.nhalve);
            describe(&k.s);
        }
        drop_sky(&k);
        if (!pass)
            break;
    }
    ok(n == count, "%d random shapes: the CPU's bits", count);
}

/* Thousands of channels, and blocks of several tiles. */
static void test_large(uint64_t *seed)
{
    static struct sky k;
    static const struct {
        size_t nchan, ndm, block;
        double step;
        int nbit;
    } all[] = {
        {1100, 300, 2000, 0.7, 4},
        {5000, 200, 700, 0.02, 8},
        {600, 200, 1500, 3, 16},
        {2048, 400, 1000, 2, 1},
    };
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        memset(&k, 0, sizeof k);
        k.d = chosen(&k.s, all[n].nchan, all[n].ndm, all[n].step);
        k.d.nbeam = 1;
        k.d.block = all[n].block;
        k.d.nhalve = 2;
        k.d.nbit = k.s.d.nbit = all[n].nbit;
        fill(&k.s, 3 * all[n].block, seed, n == 1);
        k.data[0] = k.s.data;
        k.x[0] = k.s.x;
        k.s.data = NULL;
        k.s.x = NULL;
        ok(check_both(&k, seed), "%zu channels of %d bits, blocks of %zu", all[n].nchan,
           all[n].nbit, all[n].block);
        drop_sky(&k);
    }
}

static void test_refusals(void)
{
    static struct shape s;
    struct psr_dedisp_beams_desc d = chosen(&s, 64, 10, 30);
    psr_dedisp_beams *p;
    psr_err err;
    d.backend = "cuda";
    d.nbeam = 1000;
    d.mem_bytes = 50000000;
    psr_status st = psr_dedisp_beams_create(&p, &d, &err);
    ok(st == PSR_ENOMEM && !strcmp(err.field, "mem_bytes") && !p, "%s", err.msg);
    d.mem_bytes = 0;
    d.nbeam = 1;
    d.device = 100;
    st = psr_dedisp_beams_create(&p, &d, &err);
    ok(st == PSR_EDEVICE && !p, "%s", err.msg);
    d.device = 0;
    d.nbit = 16;
    d.scrunch = 0.1;
    for (size_t i = 0; i < d.ndm; i++)
        s.dm[i] = 1e6 + (double)i;
    st = psr_dedisp_beams_create(&p, &d, &err);
    ok(st == PSR_EUNSUPPORTED && !strcmp(err.field, "backend") && !p, "%s", err.msg);
    drop(&s);
}

int main(void)
{
    psr_err err;
    uint64_t seed = tap_seed();
    if (!psr_device_count(&err)) {
        skip("dedispersion of beams on a CUDA device", err.msg);
        return done_testing();
    }
    test_refusals();
    test_random_skies(&seed);
    if (!getenv("PSRKIT_TEST_SHORT"))
        test_large(&seed);
    return done_testing();
}
