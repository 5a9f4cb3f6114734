/* rfi_clip: sums of spectra, and the spectra that are clipped, against sums in the order of channels. */
#include "formats/spectra/unpack.h"
#include "rfi/detectors/rfi_detectors.h"

#include "tests/support/tap.h"

#include <string.h>

enum { SPECTRA = 1500, MOST_CHAN = 400 };

static psr_err err;

/* One interval after another of a stream of noise with a few bright spectra. */
struct scene {
    struct psr_rfi_clip_desc d;
    unsigned char *in;
    float *z; /* [n] */
};

static void draw(struct scene *s, uint64_t *seed, int k)
{
    static const struct {
        int nbit;
        enum psr_kind kind;
        size_t nchan;
    } type[] = {{8, PSR_UINT, 300},  {16, PSR_UINT, 255}, {16, PSR_UINT, 256}, {16, PSR_UINT, 399},
                {32, PSR_FLOAT, 77}, {4, PSR_UINT, 64},   {8, PSR_INT, 101},   {16, PSR_INT, 300}};
    const size_t nchan = type[k].nchan, row = psr_row_bytes(nchan, type[k].nbit);
    s->d = (struct psr_rfi_clip_desc){.layout = {nchan, type[k].nbit, type[k].kind, row},
                                      .reverse = tap_between(seed, 0, 1),
                                      .n = (size_t)tap_between(seed, 900, SPECTRA),
                                      .sigma = 4,
                                      .nthread = 1};
    s->in = tap_take(s->d.n, row);
    s->z = tap_take(s->d.n, sizeof *s->z);
    for (size_t t = 0; t < s->d.n; t++)
        for (size_t c = 0; c < nchan; c++) {
            const double x = (t % 311 == 17 ? 1.3 : 1) * (type[k].nbit == 16 ? 20000 : 70) +
                             (type[k].nbit == 16 ? 900 : 7) * tap_normal(seed);
            unsigned char *at = s->in + t * row;
            const uint16_t word = (uint16_t)(int)x;
            const float real = (float)x;
            if (type[k].nbit == 4)
                at[c / 2] |= (unsigned char)(((int)(x / 10) & 15) << (c % 2 ? 4 : 0));
            else if (type[k].nbit == 8)
                at[c] = (unsigned char)(int)x;
            else if (type[k].nbit == 16)
                memcpy(at + 2 * c, &word, 2);
            else
                memcpy(at + 4 * c, &real, 4);
        }
}

/* Whole numbers that single precision holds add up exactly; others as floats, from the lowest channel. */
static int compare_sums(struct scene *s, const float *got)
{
    const struct psr_layout *l = &s->d.layout;
    const bool whole = l->kind != PSR_FLOAT && (double)l->nchan * (1 << l->nbit) < 0x1p24;
    int wrong = 0;
    for (size_t t = 0; t < s->d.n; t++) {
        float x[MOST_CHAN], sum = 0;
        int64_t exact = 0;
        psr_spectrum_widen(l, s->in + t * l->row_bytes, x);
        for (size_t j = 0; j < l->nchan; j++) {
            const size_t c = s->d.reverse ? l->nchan - 1 - j : j;
            sum += x[c];
            exact += (int64_t)x[c];
        }
        s->z[t] = sum;
        /* Without reverse, floats are added in lanes. */
        const double tol = whole || s->d.reverse ? 0 : 1e-6 * fabs((double)sum);
        wrong += fabs((double)(got[t] - (whole ? (float)exact : sum))) > tol;
    }
    return wrong;
}

/* The interval's own statistics where it is the first: running sums of float z, from PRESTO's order. */
static void test_interval(uint64_t *seed, int k)
{
    struct scene s;
    psr_rfi_clip *p, *many;
    draw(&s, seed, k);
    bool fine = !psr_rfi_clip_create(&p, &s.d, &err);
    s.d.nthread = 3;
    fine = fine && !psr_rfi_clip_create(&many, &s.d, &err);
    if (!ok(fine, "%d bits, %zu channels", s.d.layout.nbit, s.d.layout.nchan))
        return;
    const size_t nchan = s.d.layout.nchan;
    const float *level, *same_level;
    const uint32_t *bad, *same_bad;
    size_t nbad = psr_rfi_clip_find(p, s.in, &level, &bad), bright = 0;
    const int wrong = compare_sums(&s, psr_rfi_clip_sums(p, NULL));
    ok(wrong == 0, "sums of channels (%d wrong)", wrong);
    bool right = true;
    for (size_t t = 0; t < s.d.n; t++)
        bright += t % 311 == 17;
    for (size_t i = 0; i < nbad; i++)
        right = right && (i == 0 || bad[i] > bad[i - 1]);
    size_t found = 0;
    for (size_t i = 0; i < nbad; i++)
        found += bad[i] % 311 == 17;
    ok(right && found == bright && nbad <= bright + 3, "%zu spectra of %zu bright ones are clipped",
       nbad, bright);
    /* Levels: the mean of good spectra, those within 3 sigma of the median of all; noise allows some. */
    double off = 0;
    for (size_t c = 0; c < nchan; c++) {
        float x[MOST_CHAN];
        double sum = 0, square = 0, n = 0;
        for (size_t t = 0; t < s.d.n; t++)
            if (t % 311 != 17) {
                psr_spectrum_widen(&s.d.layout, s.in + t * s.d.layout.row_bytes, x);
                sum += (double)x[c], square += (double)x[c] * (double)x[c], n++;
            }
        const double mean = sum / n, sd = sqrt(square / n - mean * mean);
        off = fmax(off, fabs((double)level[c] - mean) / sd);
    }
    ok(off < 0.02, "levels are the means of the others: off by %.4f of a sample's scatter", off);
    fine = psr_rfi_clip_find(many, s.in, &same_level, &same_bad) == nbad &&
           !memcmp(bad, same_bad, nbad * sizeof *bad);
    for (size_t c = 0; c < nchan; c++)
        fine = fine && fabs((double)(level[c] - same_level[c])) <= 1e-6 * fabs((double)level[c]);
    ok(fine && !memcmp(psr_rfi_clip_sums(p, s.in), psr_rfi_clip_sums(many, NULL),
                       s.d.n * sizeof(float)),
       "the same on three threads");
    psr_rfi_clip_destroy(many);
    psr_rfi_clip_destroy(p);
    free(s.in);
    free(s.z);
}

int main(void)
{
    uint64_t seed = tap_seed();
    for (int k = 0; k < 8; k++)
        test_interval(&seed, k);
    psr_rfi_clip_destroy(NULL);
    return done_testing();
}
