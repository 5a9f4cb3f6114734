/* beam_scales: scales measured on intensities with gaps, levels, files, against their definitions. */
#include "beam/beam_internal.h"
#include "run/beamform/beamformer_state.h"

#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <string.h>

enum { BEAMS = 150, FREQS = 6, ROWS = 40 };

static psr_err err;

/* Intensities of so many beams, and what their scales are measured by. */
struct scene {
    struct psr_beam_input in;
    struct psr_beam_sums sums;
    struct psr_beam_scales_desc d;
    size_t length[FREQS];
    float x[BEAMS][ROWS][FREQS];
};

/* Channel 0 never varies, 1 is a gap in all beams, 2 in some, others in some rows; 3 has sums of 4 rows. */
static void draw(struct scene *s, uint64_t *seed, int nbit)
{
    for (size_t f = 0; f < FREQS; f++)
        s->length[f] = f == 3 ? 40 : 10;
    s->in =
        (struct psr_beam_input){.name = "x", .nsamp = 10 * ROWS, .tsamp_s = 1e-3, .nfreq = FREQS};
    s->sums = (struct psr_beam_sums){
        .nfreq = FREQS, .length = s->length, .tds = 10, .longest = 40, .unit = 40};
    s->d = (struct psr_beam_scales_desc){
        .in = &s->in, .sums = &s->sums, .nbeam = (size_t)tap_between(seed, 1, BEAMS), .nbit = nbit};
    s->d.mem_bytes = INT64_C(1) << 30;
    for (size_t b = 0; b < s->d.nbeam; b++)
        for (size_t k = 0; k < ROWS; k++)
            for (size_t f = 0; f < FREQS; f++) {
                const bool gap =
                    f == 1 || (f == 2 && b % 3 == 0) || (f > 2 && tap_between(seed, 0, 9) == 0);
                const double noise = (double)(f + 1) * tap_normal(seed);
                s->x[b][k][f] = gap ? 0 : f == 0 ? 77 : (float)(100 + 10 * (double)b + noise);
            }
}

/* The mean of the beams' own means and variances, of what is no gap. */
static void scale_plainly(const struct scene *s, size_t f, double *offset, double *gain)
{
    double beams = 0, mean = 0, variance = 0;
    for (size_t b = 0; b < s->d.nbeam; b++) {
        double n = 0, sum = 0, squares = 0;
        for (size_t k = 0; k < ROWS; k++)
            if (s->x[b][k][f] != 0)
                n++, sum += (double)s->x[b][k][f];
        for (size_t k = 0; k < ROWS && n > 0; k++)
            if (s->x[b][k][f] != 0)
                squares += pow((double)s->x[b][k][f] - sum / n, 2);
        beams += n > 0;
        mean += n > 0 ? sum / n : 0;
        variance += n > 0 ? squares / n : 0;
    }
    const double sigma = beams > 0 ? sqrt(variance / beams) : 0;
    const double levels = (s->d.nbit == 8 ? 8 : 2) / sqrt((double)s->length[f] / 10);
    *gain = sigma > 0 ? levels / sigma : 1;
    *offset = (beams > 0 ? mean / beams : 0) - (s->d.nbit == 8 ? 64 : 4) / *gain;
}

static int count_wrong_levels(const struct scene *s, const struct psr_beam_scales *scales)
{
    const unsigned top = s->d.nbit == 8 ? 255 : 15;
    int wrong = 0;
    for (size_t b = 0; b < s->d.nbeam; b++) {
        const uint8_t *level = psr_beam_scales_quantise(scales, b);
        for (size_t i = 0; i < ROWS * FREQS; i++) {
            const size_t f = i % FREQS;
            const double at =
                (double)((s->x[b][i / FREQS][f] - scales->offset[f]) * scales->gain[f]);
            const unsigned want = (unsigned)rint(fmin(fmax(at, 0), top));
            const unsigned got = top == 255 ? level[i] : level[i / 2] >> (i % 2 ? 4 : 0) & 15;
            wrong += got != want;
        }
    }
    return wrong;
}

static bool same_scales(const struct psr_beam_scales *a, const struct psr_beam_scales *b)
{
    return !memcmp(a->offset, b->offset, FREQS * sizeof(float)) &&
           !memcmp(a->gain, b->gain, FREQS * sizeof(float));
}

static bool write_scales(const struct psr_beam_scales *s, const char *path)
{
    psr_outfile *f;
    return !psr_outfile_create(&f, path, &err) && !psr_beam_scales_write(s, f, &err) &&
           !psr_outfile_commit(f, &err);
}

static void test_measured(uint64_t *seed)
{
    static struct scene s;
    for (int k = 0; k < 8; k++) {
        struct psr_beam_scales one = {0}, three = {0}, read = {0};
        double worst = 0;
        draw(&s, seed, k % 2 ? 8 : 4);
        bool fine =
            !psr_beam_scales_begin(&one, &s.d, &err) && !psr_beam_scales_begin(&three, &s.d, &err);
        ok(fine && one.measures && one.kept_most == ROWS, "%zu rows of %zu beams are kept",
           one.kept_most, s.d.nbeam);
        for (size_t b = 0; b < s.d.nbeam; b++) {
            psr_beam_scales_keep(&one, b, 0, s.x[b], ROWS);
            psr_beam_scales_keep(&three, b, 0, s.x[b], 7);
            psr_beam_scales_keep(&three, b, 7, s.x[b][7], ROWS - 7);
        }
        one.kept_n = three.kept_n = ROWS;
        fine = !psr_beam_scales_measure(&one, 1, &err) && !psr_beam_scales_measure(&three, 3, &err);
        for (size_t f = 0; f < FREQS && fine; f++) {
            double offset, gain;
            scale_plainly(&s, f, &offset, &gain);
            worst = fmax(worst, fabs((double)one.gain[f] / gain - 1));
            worst = fmax(worst, fabs((double)one.offset[f] - offset) / (1 + fabs(offset)));
        }
        ok(fine && worst < 2e-7, "scales of %d bits: off by %.1e", s.d.nbit, worst);
        ok(same_scales(&one, &three), "and the same on three threads");
        int wrong = count_wrong_levels(&s, &one);
        ok(wrong == 0, "levels (%d wrong)", wrong);
        s.d.file = scratch("scales");
        fine = write_scales(&one, s.d.file) && !psr_beam_scales_begin(&read, &s.d, &err);
        ok(fine && !read.measures && same_scales(&one, &read), "are read as they were written");
        s.d.nbit = s.d.nbit == 8 ? 4 : 8;
        psr_beam_scales_release(&read);
        read = (struct psr_beam_scales){0};
        ok(psr_beam_scales_begin(&read, &s.d, &err) == PSR_EFORMAT, "%s", err.msg);
        psr_beam_scales_release(&read);
        psr_beam_scales_release(&three);
        psr_beam_scales_release(&one);
    }
}

/* How many rows scales are measured on: a second's, as many as memory and the voltages have, at least 16,
 * and whole units. */
static void test_rows(void)
{
    static struct scene s;
    uint64_t seed = 3;
    static const struct {
        int64_t nsamp, mem_bytes;
        size_t nbeam, unit, rows;
    } cases[] = {{-1, 1 << 30, 1, 40, 100},    {-1, 1 << 30, 1, 70, 98},
                 {690, 1 << 30, 1, 10, 69},    {699, 1 << 30, 1, 40, 68},
                 {-1, 8 * 24 * 50, 1, 10, 50}, {-1, 8 * 24 * 5, 1, 10, 16},
                 {30, 1 << 30, 1, 40, 4},      {-1, 8 * 24 * 90, 3, 10, 30}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct psr_beam_scales p = {0};
        draw(&s, &seed, 8);
        s.in.nsamp = cases[k].nsamp;
        s.sums.unit = cases[k].unit;
        s.d.nbeam = cases[k].nbeam;
        s.d.mem_bytes = cases[k].mem_bytes;
        ok(!psr_beam_scales_begin(&p, &s.d, &err) && p.kept_most == cases[k].rows,
           "case %zu: %zu rows, not %zu", k, p.kept_most, cases[k].rows);
        psr_beam_scales_release(&p);
    }
    struct psr_beam_scales p = {0};
    s.d.nbit = 32;
    ok(!psr_beam_scales_begin(&p, &s.d, &err) && !p.measures && !p.gain, "floats have no scales");
    psr_beam_scales_release(&p);
    s.in.nfreq = FREQS - 1;
    s.d.nbit = 4;
    ok(psr_beam_scales_begin(&p, &s.d, &err) == PSR_EINVAL && !strcmp(err.field, "nbits"), "%s",
       err.msg);
    psr_beam_scales_release(&p);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_measured(&seed);
    test_rows();
    return done_testing();
}
