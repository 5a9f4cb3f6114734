/* dedisp_multi: what each line of a plan gets against a psr_dedisp of its own, bit for bit; and the sums
 * of spectra underneath against sums done plainly.  Compiled for each backend. */
#include "dsp/dsp.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/tap.h"
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <string.h>

#ifdef MULTI_BACKEND
enum { SHAPES = 20 };
#else
#define MULTI_BACKEND "cpu"
enum { SHAPES = 60 };
#endif
enum { MAXCHAN = 80, MAXDM = 24, MAXLINE = 6 };

struct shape {
    struct psr_dedisp_multi_desc d;
    struct psr_dedisp_multi_line line[MAXLINE];
    double freq_mhz[MAXCHAN], dm[MAXLINE][MAXDM];
    unsigned char keep[MAXCHAN];
    size_t nsamp, row_bytes;
    unsigned char *data;
    size_t nout[MAXLINE];
    float *want[MAXLINE], *got[MAXLINE]; /* [ndm][nout] */
};

static void drop(struct shape *s)
{
    for (size_t k = 0; k < MAXLINE; k++) {
        free(s->want[k]);
        free(s->got[k]);
    }
    free(s->data);
}

/* --- making shapes ---------------------------------------------------------------------------- */

static void choose_samples(struct shape *s, uint64_t *seed)
{
    static const struct {
        int nbit;
        enum psr_kind kind;
    } kinds[] = {{1, PSR_UINT}, {2, PSR_UINT}, {4, PSR_UINT},  {8, PSR_UINT},  {8, PSR_UINT},
                 {8, PSR_INT},  {16, PSR_INT}, {16, PSR_UINT}, {32, PSR_FLOAT}};
    size_t n = (size_t)tap_between(seed, 0, sizeof kinds / sizeof *kinds - 1);
    s->d.stream.nbit = kinds[n].nbit;
    s->d.stream.kind = kinds[n].kind;
}

static void choose_line(struct shape *s, size_t k, uint64_t *seed)
{
    static const size_t factors[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 7, 300, 510};
    struct psr_dedisp_multi_line *l = &s->line[k];
    size_t n = s->d.stream.nchan;
    double top = 40 * tap_uniform(seed);
    *l = (struct psr_dedisp_multi_line){
        .downsamp = factors[tap_between(seed, 0, sizeof factors / sizeof *factors - 1)],
        .ndm = (size_t)tap_between(seed, 1, MAXDM),
        .dm = s->dm[k],
        .algo = tap_uniform(seed) < 0.2 ? PSR_DEDISP_SUBBAND : PSR_DEDISP_DIRECT,
    };
    if (l->algo == PSR_DEDISP_SUBBAND)
        do
            l->nsub = (size_t)tap_between(seed, 1, (int64_t)n);
        while (n % l->nsub);
    for (size_t i = 0; i < l->ndm; i++)
        s->dm[k][i] = top * (double)(i + 1);
}

static void choose(struct shape *s, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    struct psr_dedisp_desc *d = &s->d.stream;
    *d = (struct psr_dedisp_desc){
        .size = sizeof(struct psr_dedisp_desc),
        .nchan = (size_t)tap_between(seed, 1, MAXCHAN),
        .freq_mhz = s->freq_mhz,
        .tsamp_s = 1e-4 * (0.5 + tap_uniform(seed)),
        .dmconst = PSR_DMCONST_PRESTO,
        .keep = tap_uniform(seed) < 0.5 ? s->keep : NULL,
        .tol = tap_uniform(seed) < 0.2,
        .nthread = (int)tap_between(seed, 1, 3),
        .mem_bytes = 64 << 20,
        .backend = MULTI_BACKEND,
    };
    choose_samples(s, seed);
    for (size_t c = 0; c < d->nchan; c++) {
        s->freq_mhz[c] = 1500 - 2.5 * (double)c;
        s->keep[c] = c == 0 || tap_uniform(seed) < 0.8;
    }
    s->d.line = s->line;
    s->d.nline = (size_t)tap_between(seed, 1, MAXLINE);
    for (size_t k = 0; k < s->d.nline; k++)
        choose_line(s, k, seed);
}

static void fill(struct shape *s, uint64_t *seed)
{
    s->nsamp = (size_t)tap_between(seed, 1, 6000);
    s->row_bytes = (s->d.stream.nchan * (size_t)s->d.stream.nbit + 7) / 8;
    s->data = tap_take(s->nsamp, s->row_bytes);
    size_t n = s->nsamp * s->row_bytes;
    bool all_ones = tap_uniform(seed) < 0.1;
    for (size_t k = 0; k < n; k++)
        s->data[k] = all_ones ? 255 : (unsigned char)(tap_random(seed) >> 32);
    for (size_t k = 0; s->d.stream.kind == PSR_FLOAT && k + 4 <= n; k += 4) {
        float x = (float)(tap_uniform(seed) - 0.3);
        memcpy(s->data + k, &x, 4);
    }
}

/* --- running them ----------------------------------------------------------------------------- */

/* Line k by itself, in one piece. */
static psr_status run_alone(struct shape *s, size_t k, psr_err *err)
{
    const struct psr_dedisp_multi_line *l = &s->line[k];
    struct psr_dedisp_desc d = s->d.stream;
    psr_dedisp *p;
    size_t n;
    d.downsamp = l->downsamp;
    d.ndm = l->ndm;
    d.dm = l->dm;
    d.algo = l->algo;
    d.nsub = l->nsub;
    psr_status st = psr_dedisp_create(&p, &d, err);
    if (st)
        return st;
    s->nout[k] = psr_dedisp_ready(p, s->nsamp);
    s->want[k] = tap_take(l->ndm * s->nout[k], sizeof(float));
    s->got[k] = tap_take(l->ndm * s->nout[k], sizeof(float));
    st = psr_dedisp_execute(p, s->data, s->nsamp, s->want[k], s->nout[k], &n, err);
    psr_dedisp_destroy(p);
    return st;
}

/* Pushes what is left from t on in odd pieces; line "quitter" is left out after the first. */
static bool run_pieces(struct shape *s, psr_dedisp_multi *f, size_t quitter, uint64_t *seed,
                       psr_err *err)
{
    size_t done[MAXLINE] = {0};
    for (size_t t = 0; t < s->nsamp;) {
        static const size_t odd[] = {0, 1, 2, 7, 64, 65, 299, 1000};
        size_t n = odd[tap_between(seed, 0, 7)], ready[MAXLINE];
        n = n < s->nsamp - t ? n : s->nsamp - t;
        for (size_t k = 0; k < s->d.nline; k++)
            ready[k] = psr_dedisp_multi_ready(f, k, n);
        if (psr_dedisp_multi_push(f, s->data + t * s->row_bytes, n, err))
            return false;
        for (size_t k = 0; k < s->d.nline; k++) {
            size_t got;
            if (k == quitter && t > 0)
                continue;
            if (psr_dedisp_multi_execute(f, k, s->got[k] + done[k], s->nout[k], &got, err) ||
                got != ready[k])
                return false;
            done[k] += got;
        }
        t += n;
    }
    for (size_t k = 0; k < s->d.nline; k++)
        if (k != quitter && done[k] != s->nout[k])
            return false;
    return true;
}

static bool check_shape(struct shape *s, uint64_t *seed)
{
    psr_dedisp_multi *f;
    psr_err err = {0};
    size_t quitter = (size_t)tap_between(seed, 0, 2 * MAXLINE);
    for (size_t k = 0; k < s->d.nline; k++)
        if (run_alone(s, k, &err)) {
            diag("alone: %s", err.msg);
            return false;
        }
    bool pass = !psr_dedisp_multi_create(&f, &s->d, &err) && run_pieces(s, f, quitter, seed, &err);
    for (size_t k = 0; pass && k < s->d.nline; k++)
        pass = k == quitter ||
               !memcmp(s->got[k], s->want[k], s->line[k].ndm * s->nout[k] * sizeof(float));
    if (!pass)
        diag("%s", err.msg);
    psr_dedisp_multi_destroy(f);
    return pass;
}

static void test_random_shapes(uint64_t *seed)
{
    static struct shape s;
    int n;
    for (n = 0; n < SHAPES; n++) {
        uint64_t now = *seed;
        choose(&s, seed);
        fill(&s, seed);
        bool pass = check_shape(&s, seed);
        if (!pass) {
            diag("shape %d, state %llu: nchan %zu nbit %d kind %d nline %zu nsamp %zu", n,
                 (unsigned long long)now, s.d.stream.nchan, s.d.stream.nbit, (int)s.d.stream.kind,
                 s.d.nline, s.nsamp);
            for (size_t k = 0; k < s.d.nline; k++)
                diag("line %zu: ds %zu ndm %zu algo %d nsub %zu", k, s.line[k].downsamp,
                     s.line[k].ndm, (int)s.line[k].algo, s.line[k].nsub);
        }
        drop(&s);
        if (!pass)
            break;
    }
    ok(n == SHAPES, "%d random plans: each line as by itself, however the stream was cut", SHAPES);
}

/* --- sums of spectra -------------------------------------------------------------------------- */

static unsigned sample_at(const struct psr_timesum_desc *d, const unsigned char *row, size_t c)
{
    if (d->nbit == 16)
        return row[2 * c] | (unsigned)row[2 * c + 1] << 8;
    if (d->nbit == 8)
        return d->kind == PSR_INT ? (unsigned)((int8_t)row[c] + 128) : row[c];
    size_t bit = c * (size_t)d->nbit;
    return row[bit / 8] >> bit % 8 & ((1U << d->nbit) - 1);
}

static bool check_sums(const struct psr_timesum_desc *d, uint64_t *seed)
{
    size_t row_bytes = (d->nchan * (size_t)d->nbit + 7) / 8, nsamp = 5 * d->ratio + 3, made = 0;
    size_t sum_bytes = d->nchan * (size_t)d->sum_nbit / 8, nsum = nsamp / d->ratio;
    unsigned char *in = tap_take(nsamp, row_bytes), *out = tap_take(nsum + 1, sum_bytes);
    struct psr_timesum *ts;
    bool pass = !psr_timesum_create(&ts, d, NULL);
    for (size_t k = 0; k < nsamp * row_bytes; k++)
        in[k] = d->nbit == 16 && k % 2 ? 0 : (unsigned char)(tap_random(seed) >> 40);
    for (size_t t = 0, n; pass && t < nsamp; t += n) {
        n = (size_t)tap_between(seed, 0, (int64_t)d->ratio * 2);
        n = n < nsamp - t ? n : nsamp - t;
        made += psr_timesum_run(ts, in + t * row_bytes, n, out + made * sum_bytes);
    }
    pass &= made == nsum;
    struct psr_timesum_desc wide = {.nbit = d->sum_nbit};
    for (size_t q = 0; q < nsum; q++)
        for (size_t c = 0; c < d->nchan; c++) {
            unsigned sum = 0;
            for (size_t u = 0; u < d->ratio; u++)
                sum += sample_at(d, in + (q * d->ratio + u) * row_bytes, c);
            pass &= sum == sample_at(&wide, out + q * sum_bytes, c);
        }
    psr_timesum_destroy(ts);
    free(in);
    free(out);
    return pass;
}

static void test_sums(uint64_t *seed)
{
    static const int depth[] = {1, 2, 4, 8, 8, 16};
    int good = 0, count = 0;
    for (int n = 0; n < 6; n++)
        for (size_t ratio = 1; ratio < 300; ratio = ratio * 2 + 1) {
            enum psr_kind kind = n == 4 ? PSR_INT : PSR_UINT;
            int sum_nbit = depth[n] == 16 ? 16 : psr_timesum_nbit(depth[n], kind, ratio);
            if (!sum_nbit || (depth[n] == 16 && ratio > 257))
                continue;
            count++;
            good += check_sums(&(struct psr_timesum_desc){(size_t)tap_between(seed, 1, 9000),
                                                          depth[n], kind, ratio, sum_nbit, 2},
                               seed);
        }
    ok(good == count && count > 40, "sums of spectra are the plain ones: %d of %d", good, count);
    ok(psr_timesum_nbit(8, PSR_UINT, 1) == 8 && psr_timesum_nbit(8, PSR_UINT, 2) == 16 &&
           psr_timesum_nbit(8, PSR_INT, 257) == 16 && psr_timesum_nbit(8, PSR_UINT, 258) == 0 &&
           psr_timesum_nbit(4, PSR_UINT, 17) == 8 && psr_timesum_nbit(1, PSR_UINT, 65535) == 16 &&
           psr_timesum_nbit(16, PSR_UINT, 1) == 0 && psr_timesum_nbit(32, PSR_FLOAT, 2) == 0 &&
           psr_timesum_nbit(3, PSR_UINT, 2) == 0 && psr_timesum_nbit(0, PSR_UINT, 2) == 0,
       "sums get 8 bits where those do, 16 where those do, and else are not made");
}

/* --- what is shared, memory, mistakes --------------------------------------------------------- */

static struct psr_dedisp_desc plain_stream(double *freq_mhz, size_t nchan)
{
    for (size_t c = 0; c < nchan; c++)
        freq_mhz[c] = 1500 - (double)c;
    return (struct psr_dedisp_desc){.size = sizeof(struct psr_dedisp_desc),
                                    .nchan = nchan,
                                    .freq_mhz = freq_mhz,
                                    .tsamp_s = 1e-4,
                                    .nbit = 8,
                                    .kind = PSR_UINT,
                                    .dmconst = PSR_DMCONST_PRESTO,
                                    .nthread = 2,
                                    .backend = MULTI_BACKEND};
}

static void test_sharing(void)
{
    double freq_mhz[64], dm = 10;
    const struct psr_dedisp_multi_line line[] = {
        {.downsamp = 1, .ndm = 1, .dm = &dm},   {.downsamp = 2, .ndm = 1, .dm = &dm},
        {.downsamp = 8, .ndm = 1, .dm = &dm},   {.downsamp = 4, .ndm = 1, .dm = &dm},
        {.downsamp = 512, .ndm = 1, .dm = &dm}, {.downsamp = 263 * 3, .ndm = 1, .dm = &dm}};
    static const size_t summed[] = {1, 1, 8, 4, 256, 3};
    struct psr_dedisp_multi_desc d = {plain_stream(freq_mhz, 64), 6, line};
    psr_dedisp_multi *f;
    psr_err err;
    bool pass = !psr_dedisp_multi_create(&f, &d, &err);
    for (size_t k = 0; pass && k < 6; k++)
        pass &= psr_dedisp_multi_summed(f, k) == summed[k] &&
                psr_dedisp_maxshift(psr_dedisp_multi_plan(f, k)) <= 1000;
    ok(pass && psr_dedisp_multi_block(f) % (263 * 3) == 0,
       "spectra of 8 bits are summed 3 and more at a time, as far as 16 bits hold them");
    psr_dedisp_multi_destroy(f);
}

/* A line alone is given blocks of a length that suits its plan; several, of a common one. */
static void test_block(void)
{
    double freq_mhz[300], dm[20];
    for (int i = 0; i < 20; i++)
        dm[i] = 20.0 * i;
    const struct psr_dedisp_multi_line line = {.downsamp = 1, .ndm = 20, .dm = dm};
    for (int k = 0; k < 4; k++) {
        struct psr_dedisp_multi_desc d = {plain_stream(freq_mhz, 100 + 60 * (size_t)k), 1, &line};
        psr_dedisp_multi *f;
        psr_err err;
        d.stream.mem_bytes = (int64_t)(30 + 50 * k) << 20;
        bool pass = !psr_dedisp_multi_create(&f, &d, &err);
        size_t block = pass ? psr_dedisp_multi_block(f) : 0;
        ok(block > 1 && psr_dedisp_suit_block(psr_dedisp_multi_plan(f, 0), block) == block,
           "a block of %zu suits %zu channels", block, 100 + 60 * (size_t)k);
        psr_dedisp_multi_destroy(f);
    }
}

/* Memory for all that is not enough for an equal share of the line that needs most. */
static void test_memory(void)
{
    double freq_mhz[256], high = 3000, low = 1;
    struct psr_dedisp_multi_line line[4] = {{.downsamp = 1, .ndm = 1, .dm = &low},
                                            {.downsamp = 1, .ndm = 1, .dm = &high},
                                            {.downsamp = 2, .ndm = 1, .dm = &low},
                                            {.downsamp = 4, .ndm = 1, .dm = &low}};
    struct psr_dedisp_multi_desc d = {plain_stream(freq_mhz, 256), 4, line};
    psr_dedisp_multi *f;
    psr_err err;
    int64_t used = 0;
    d.stream.mem_bytes = 20 << 20;
    bool pass = !psr_dedisp_multi_create(&f, &d, &err);
    for (size_t k = 0; pass && k < 4; k++) {
        struct psr_dedisp_info info;
        psr_dedisp_describe(psr_dedisp_multi_plan(f, k), &info);
        used += info.bytes;
        diag("line %zu: %.1f MB", k, (double)info.bytes * 1e-6);
    }
    ok(pass && used < d.stream.mem_bytes && psr_dedisp_multi_block(f) * 256 < 20 << 20,
       "lines that need little leave memory to one that needs much");
    psr_dedisp_multi_destroy(f);
    d.stream.mem_bytes = 4 << 20;
    ok(psr_dedisp_multi_create(&f, &d, &err) == PSR_ENOMEM && !f, "%s", err.msg);
    d.nline = 1;
    d.line = line + 1;
    ok(psr_dedisp_multi_create(&f, &d, &err) == PSR_ENOMEM && !f, "%s", err.msg);
}

static void test_mistakes(void)
{
    double freq_mhz[8], dm = 10;
    struct psr_dedisp_multi_line line = {.downsamp = 4, .ndm = 1, .dm = &dm};
    struct psr_dedisp_multi_desc d = {plain_stream(freq_mhz, 8), 0, &line};
    psr_dedisp_multi *f;
    psr_err err;
    ok(psr_dedisp_multi_create(&f, &d, &err) == PSR_EINVAL && !f, "%s", err.msg);
    d.nline = 1;
    d.stream.nbit = 3;
    ok(psr_dedisp_multi_create(&f, &d, &err) == PSR_EINVAL && !f, "%s", err.msg);
    d.stream.nbit = 8;
    line.downsamp = 0;
    ok(psr_dedisp_multi_create(&f, &d, &err) == PSR_EINVAL && !f, "%s", err.msg);
    line.downsamp = 4;
    d.stream.backend = "tpu";
    ok(psr_dedisp_multi_create(&f, &d, &err) == PSR_EDEVICE && !f, "%s", err.msg);
    d.stream.backend = MULTI_BACKEND;
    bool pass = !psr_dedisp_multi_create(&f, &d, &err);
    unsigned char in[8 * 64] = {0};
    float out[64];
    size_t n;
    ok(pass && !psr_dedisp_multi_push(f, in, 64, &err) &&
           psr_dedisp_multi_execute(f, 0, out, 1, &n, &err) == PSR_EINVAL,
       "%s", err.msg);
    psr_dedisp_multi_destroy(f);
    psr_dedisp_multi_destroy(NULL);
}

int main(void)
{
    uint64_t seed = tap_seed();
    psr_err err;
    bool cpu = !strcmp(MULTI_BACKEND, "cpu");
    if (!cpu && !psr_device_count(&err)) {
        skip("several plans on a device", err.msg);
        return done_testing();
    }
    test_random_shapes(&seed);
    test_mistakes();
    if (cpu) {
        test_sums(&seed);
        test_sharing();
        test_block();
        test_memory();
    }
    return done_testing();
}
