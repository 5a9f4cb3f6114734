/* block_sums: sums of packed spectra, by spectrum and by channel, against one sample at a time. */
#include "dsp/dsp.h"
#include "formats/spectra/unpack.h"

#include "tests/support/sample_formats.h"
#include "tests/support/tap.h"
#include <string.h>

enum { MAX_SAMPLES = 1 << 20 };

/* Whole numbers, so that every sum is exact; the extremes are frequent, as they overflow first. */
static double random_sample(uint64_t *random, int nbit, enum psr_kind kind)
{
    int64_t span = INT64_C(1) << nbit, least = kind == PSR_INT ? -span / 2 : 0;
    if (kind == PSR_FLOAT)
        return (double)tap_between(random, -(1 << 23), 1 << 23);
    int64_t draw = tap_between(random, 0, 7);
    return (double)(least + (draw < 6    ? span - 1
                             : draw == 6 ? 0
                                         : tap_between(random, 0, span - 1)));
}

struct block {
    struct psr_layout layout;
    size_t n;
    unsigned char *in; /* [n][row_bytes], with rubbish between the spectra */
    double *x;         /* [n][nchan] */
};

/* Spectra of nchan channels, with so many samples' bytes between them. */
static void fill_block(struct block *b, uint64_t *random, size_t nchan, size_t between, int nbit,
                       enum psr_kind kind)
{
    size_t step = nbit < 8 ? 1 : (size_t)nbit / 8, rows = MAX_SAMPLES / nchan;
    b->n = (size_t)tap_between(random, 0, rows < 700 ? (int64_t)rows : 700);
    b->layout = (struct psr_layout){nchan, nbit, kind, 0};
    b->layout.row_bytes = psr_row_bytes(nchan, nbit) + step * between;
    b->in = tap_take(b->n * b->layout.row_bytes, 1);
    b->x = tap_take(b->n * nchan, sizeof *b->x);
    memset(b->in, 0xa5, b->n * b->layout.row_bytes);
    for (size_t k = 0; k < b->n * nchan; k++)
        b->x[k] = random_sample(random, nbit, kind);
    for (size_t t = 0; t < b->n; t++)
        psr_row_pack(b->in + t * b->layout.row_bytes, b->x + t * nchan, nchan, nbit, kind);
}

static void make_block(struct block *b, uint64_t *random, int nbit, enum psr_kind kind)
{
    /* Few channels, and so many that they are taken in pieces. */
    size_t most = tap_random(random) % 2 ? 70 : 40000;
    size_t nchan = (size_t)tap_between(random, 1, (int64_t)most);
    fill_block(b, random, nchan, (size_t)tap_between(random, 0, 3), nbit, kind);
}

static bool check_sums(const struct block *b, bool by_channel)
{
    size_t nchan = b->layout.nchan;
    float *z = tap_take(b->n, sizeof *z);
    double *sum = tap_take(nchan, sizeof *sum), *row = tap_take(nchan, sizeof *row);
    bool same = true;
    for (size_t c = 0; c < nchan; c++)
        sum[c] = 1e9; /* what was there does not count */
    psr_block_sums(&b->layout, b->in, b->n, z, by_channel ? sum : NULL, row);
    for (size_t t = 0; t < b->n; t++) {
        double want = 0;
        for (size_t c = 0; c < nchan; c++)
            want += b->x[t * nchan + c];
        same &= z[t] == (float)want;
    }
    for (size_t c = 0; c < nchan && by_channel; c++) {
        double want = 0;
        for (size_t t = 0; t < b->n; t++)
            want += b->x[t * nchan + c];
        same &= sum[c] == want;
    }
    free(z);
    free(sum);
    free(row);
    return same;
}

static bool check_widened(const struct block *b)
{
    size_t nchan = b->layout.nchan;
    float *x = tap_take(nchan, sizeof *x);
    bool same = true;
    for (size_t t = 0; t < b->n; t += 50) {
        psr_spectrum_widen(&b->layout, b->in + t * b->layout.row_bytes, x);
        for (size_t c = 0; c < nchan; c++)
            same &= x[c] == (float)b->x[t * nchan + c];
    }
    free(x);
    return same;
}

/* Rows that end with a piece of 2048 bytes, or a byte before that, and more bytes before the next. */
static void test_whole_pieces(uint64_t *random)
{
    bool same = true;
    for (int nbit = 1; nbit < 8; nbit *= 2)
        for (size_t k = 0; k < 8; k++) {
            struct block b;
            size_t bytes = 2048 * (1 + k / 4) - k % 2;
            fill_block(&b, random, bytes * 8 / (size_t)nbit, 1 + k % 4, nbit, PSR_UINT);
            same &= check_sums(&b, true);
            free(b.in);
            free(b.x);
        }
    ok(same, "rows of whole pieces, with rubbish between them");
}

static void test_format(uint64_t *random, int nbit, enum psr_kind kind)
{
    bool both = true, alone = true, widened = true;
    for (int trial = 0; trial < 12; trial++) {
        struct block b;
        make_block(&b, random, nbit, kind);
        both &= check_sums(&b, true);
        alone &= check_sums(&b, false);
        widened &= check_widened(&b);
        free(b.in);
        free(b.x);
    }
    ok(both, "%d bits, kind %d: sums by spectrum and by channel", nbit, (int)kind);
    ok(alone, "%d bits, kind %d: sums by spectrum alone", nbit, (int)kind);
    ok(widened, "%d bits, kind %d: spectra as floats", nbit, (int)kind);
}

int main(void)
{
    uint64_t random = tap_seed();
    for (int f = 0; f < NFORMAT; f++)
        test_format(&random, formats[f].nbit, formats[f].kind);
    test_whole_pieces(&random);
    return done_testing();
}
