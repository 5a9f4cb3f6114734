/* unpack: packed spectra against one sample at a time. */
#include "formats/spectra/unpack.h"

#include "tests/support/sample_formats.h"
#include "tests/support/tap.h"
#include <string.h>

enum { MAX_CHAN = 300, MAX_IF = 16 };

/* A sample the format holds, its extremes among them. */
static double random_sample(uint64_t *random, int nbit, enum psr_kind kind)
{
    int64_t span = INT64_C(1) << nbit, least = kind == PSR_INT ? -span / 2 : 0;
    if (kind == PSR_FLOAT)
        return (double)(float)(tap_uniform(random) * 2e6 - 1e6);
    switch (tap_between(random, 0, 5)) {
    case 0:
        return (double)least;
    case 1:
        return (double)(least + span - 1);
    default:
        return (double)tap_between(random, least, least + span - 1);
    }
}

static void test_rows(uint64_t *random, int nbit, enum psr_kind kind)
{
    bool same = true, reversed = true, twice = true;
    for (int trial = 0; trial < 50; trial++) {
        size_t nchan = (size_t)tap_between(random, 1, MAX_CHAN);
        size_t bytes = psr_row_bytes(nchan, nbit);
        double x[MAX_CHAN], back[MAX_CHAN];
        uint32_t row[MAX_CHAN + 1], once[MAX_CHAN + 1];
        for (size_t c = 0; c < nchan; c++)
            x[c] = random_sample(random, nbit, kind);
        psr_row_pack(row, x, nchan, nbit, kind);
        psr_row_unpack(back, row, nchan, nbit, kind);
        same &= memcmp(x, back, nchan * sizeof *x) == 0;
        memcpy(once, row, bytes);
        psr_row_reverse(row, nchan, nbit);
        psr_row_unpack(back, row, nchan, nbit, kind);
        for (size_t c = 0; c < nchan; c++)
            reversed &= back[c] == x[nchan - 1 - c];
        psr_row_reverse(row, nchan, nbit);
        twice &= memcmp(row, once, bytes) == 0;
    }
    ok(same, "%d bits, kind %d: packing and unpacking", nbit, (int)kind);
    ok(reversed && twice, "%d bits, kind %d: reversing", nbit, (int)kind);
}

static void test_low_bits_first(void)
{
    const uint8_t row[2] = {0x1b, 0xe4};
    double x[16];
    psr_row_unpack(x, row, 8, 2, PSR_UINT);
    ok(x[0] == 3 && x[1] == 2 && x[2] == 1 && x[3] == 0 && x[4] == 0 && x[7] == 3,
       "the first channel is in the low bits");
    psr_row_unpack(x, row, 3, 4, PSR_UINT);
    ok(x[0] == 0xb && x[1] == 0x1 && x[2] == 0x4, "the low nibble comes first");
}

static void test_rounding(void)
{
    const double x[4] = {2.5, -0.4, 254.51, 1e9}, y[4] = {-2.5, -129, 127.4, -0.51};
    uint8_t u[4];
    int8_t i[4];
    psr_row_pack(u, x, 4, 8, PSR_UINT);
    ok(u[0] == 3 && u[1] == 0 && u[2] == 255 && u[3] == 255, "unsigned: rounded and clipped");
    psr_row_pack(i, y, 4, 8, PSR_INT);
    ok(i[0] == -2 && i[1] == -128 && i[2] == 127 && i[3] == -1, "signed: rounded and clipped");
}

static void test_sums(uint64_t *random, int nbit, enum psr_kind kind)
{
    const struct psr_if_sum *rule = psr_if_sum_find(nbit, kind);
    bool same = rule != NULL;
    for (int trial = 0; trial < 20 && rule; trial++) {
        static double x[MAX_IF][MAX_CHAN];
        static uint32_t in[MAX_IF * MAX_CHAN], out[MAX_CHAN];
        size_t nchan = 8 * (size_t)tap_between(random, 1, MAX_CHAN / 8);
        int nif = (int)tap_between(random, 1, MAX_IF);
        double got[MAX_CHAN];
        for (int p = 0; p < nif; p++) {
            for (size_t c = 0; c < nchan; c++)
                x[p][c] = kind == PSR_FLOAT ? (double)tap_between(random, -999, 999)
                                            : random_sample(random, nbit, kind);
            psr_row_pack((uint8_t *)in + (size_t)p * psr_row_bytes(nchan, nbit), x[p], nchan, nbit,
                         kind);
        }
        rule->add(out, in, nchan, nif);
        psr_row_unpack(got, out, nchan, rule->sum_nbit, rule->sum_kind);
        for (size_t c = 0; c < nchan; c++) {
            double want = 0;
            for (int p = 0; p < nif; p++)
                want += x[p][c];
            same &= got[c] == want;
        }
    }
    ok(same, "%d bits, kind %d: sums of up to %d IFs are exact", nbit, (int)kind, MAX_IF);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_low_bits_first();
    test_rounding();
    for (int i = 0; i < NFORMAT; i++)
        test_rows(&random, formats[i].nbit, formats[i].kind);
    for (int i = 0; i < NFORMAT; i++)
        if (formats[i].nbit < 32 || formats[i].kind == PSR_FLOAT)
            test_sums(&random, formats[i].nbit, formats[i].kind);
    ok(!psr_if_sum_find(12, PSR_UINT), "no rule for 12 bits");
    return done_testing();
}
