/* Spectra of coded voltages on a CUDA device: against the definition in double precision, and what the CPU's unpacking,
 * channeliser and detection make of the same, however samples are coded and the stream is cut. */
#include "coded_voltages.h"
#include "tests/support/channelise_ref.h"

#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <string.h>

/* A block has at most so many runs, each with a frame that another run has, too. */
enum { SHAPES = 120, LONG_SHAPES = 8, RUNS_MORE = 400 };

static uint64_t state;

static void must(psr_status st, const psr_err *err)
{
    if (!st)
        return;
    printf("Bail out! %s\n", err->msg);
    exit(EXIT_FAILURE);
}

/* --- shapes ----------------------------------------------------------------------------------- */

struct sums {
    enum psr_detect what;
    size_t tsum, fsum;
};

static void choose_channels(struct voltages *v, bool is_long)
{
    struct psr_channelise_desc *d = &v->d;
    const double bw = 8 * tap_uniform(&state) + 1;
    const int64_t kind = tap_between(&state, 0, 3);
    const size_t n =
        is_long ? (size_t)64 << tap_between(&state, 0, 5) : (size_t)tap_between(&state, 1, 9);
    *d = (struct psr_channelise_desc){.size = sizeof *d,
                                      .nchan_in = (size_t)tap_between(&state, 1, 3),
                                      .real = tap_random(&state) >> 63,
                                      .freq_mhz = 400,
                                      .bw_mhz = tap_random(&state) >> 63 ? bw : -bw,
                                      .dmconst = PSR_DMCONST_PRESTO};
    if (!is_long && tap_between(&state, 0, 9) == 0)
        d->nchan_in = (size_t)tap_between(&state, 17, 40);
    v->npol = (size_t)tap_between(&state, 1, 2);
    v->pol = v->npol == 2 && tap_between(&state, 0, 3) == 0 ? tap_between(&state, 0, 1) : -1;
    d->npol = v->pol < 0 ? v->npol : 1;
    d->nchan = d->nchan_in * n;
    d->ntap = kind == 1 ? (size_t)tap_between(&state, 2, 5) : 1;
    d->nfft = kind >= 2 ? (size_t)tap_between(&state, 2, 13) : 1;
    if (kind == 3) {
        d->nfft += 40;
        d->dm = 10 / (1.1e6 * d->dmconst * 2 * bw * bw / pow((double)d->nchan, 2) / pow(400, 3));
        d->dm *= tap_uniform(&state);
    }
    v->ndim = d->real ? 1 : 2;
    v->nplane = d->nchan_in * v->npol;
}

static struct sums choose_sums(const struct voltages *v)
{
    struct sums s = {.what = (enum psr_detect)tap_between(&state, 0, 3),
                     .tsum = (size_t)tap_between(&state, 1, 6),
                     .fsum = (size_t)tap_between(&state, 1, 3)};
    if (v->d.npol == 1)
        s.what = PSR_DETECT_EACH;
    if (v->d.nchan < s.fsum)
        s.fsum = 1;
    if (tap_between(&state, 0, 3) == 0)
        s.tsum = (size_t)tap_between(&state, 10, 300);
    return s;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct rows {
    float *x; /* [n][nvalue] */
    uint32_t *weight;
    size_t n, nvalue;
};

static struct rows take_rows(const struct voltages *v, const struct sums *s, size_t nspectrum)
{
    const size_t most = nspectrum / s->tsum + 2;
    struct rows r = {.nvalue = psr_detect_nproduct(s->what, v->d.npol) * (v->d.nchan / s->fsum)};
    r.x = tap_take(most * r.nvalue, sizeof *r.x);
    r.weight = tap_take(most, sizeof *r.weight);
    return r;
}

static void free_rows(struct rows *r)
{
    free(r->x);
    free(r->weight);
}

/* Rows of all spectra, by the CPU's parts. */
static struct rows run_cpu(const struct voltages *v, const struct sums *s, psr_channelise *p,
                           const bool *good, float **spectra, size_t *nspectrum)
{
    psr_err err;
    *nspectrum = psr_channelise_ready(p, v->nsamp);
    *spectra = tap_take(*nspectrum * v->d.npol * 2 * v->d.nchan + 1, sizeof **spectra);
    must(psr_channelise_execute(p, v->x, v->nsamp, NULL, *spectra, nspectrum, &err), &err);
    struct rows r = take_rows(v, s, *nspectrum);
    psr_detect(s->what, *spectra, *nspectrum, v->d.npol, v->d.nchan, good, s->tsum, s->fsum, 0, r.x,
               r.weight, 1);
    r.n = *nspectrum / s->tsum;
    return r;
}

/* Puts n samples from t on into the block. */
static void add_run(const struct voltages *v, struct psr_spectra_block *b, size_t t, size_t n)
{
    const struct baseband_layout *l = &v->layout;
    const bool framed = l->frame_nsamp != SIZE_MAX;
    const size_t unit = framed ? l->frame_nsamp : 8, first = t / unit;
    const size_t stop = (t + n + unit - 1) / unit;
    const size_t unit_bytes = framed ? l->frame_bytes : l->sample_bits;
    const size_t end = stop * unit_bytes < v->nbytes ? stop * unit_bytes : v->nbytes;
    struct psr_spectra_run *run = b->run + b->nrun++;
    *run = (struct psr_spectra_run){.from = t - first * unit,
                                    .n = n,
                                    .byte = b->nbytes,
                                    .flags = SIZE_MAX,
                                    .missing = v->lost[t]};
    b->nsamp += n;
    if (run->missing)
        return;
    memcpy(b->bytes + b->nbytes, v->bytes + first * unit_bytes, end - first * unit_bytes);
    b->nbytes += end - first * unit_bytes;
    if (!framed)
        return;
    run->flags = b->nbytes;
    memcpy(b->bytes + b->nbytes, v->present + first * l->ngroup, (stop - first) * l->ngroup);
    b->nbytes += (stop - first) * l->ngroup;
}

/* n samples from t on, in runs that are lost or not. */
static void fill_block(const struct voltages *v, struct psr_spectra_block *b, size_t t, size_t n)
{
    b->nbytes = b->nrun = b->nsamp = 0;
    for (size_t stop = t + n; t < stop;) {
        size_t part = 1;
        const size_t most = 1 + n / 8 + (size_t)tap_between(&state, 0, (int64_t)n);
        while (t + part < stop && part < most && v->lost[t + part] == v->lost[t])
            part++;
        add_run(v, b, t, part);
        t += part;
    }
}

static void collect(psr_spectra *s, struct rows *r)
{
    float *x;
    const uint32_t *weight;
    size_t n;
    psr_err err;
    must(psr_spectra_collect(s, &x, &weight, &n, &err), &err);
    memcpy(r->x + r->n * r->nvalue, x, n * r->nvalue * sizeof *x);
    memcpy(r->weight + r->n, weight, n * sizeof *weight);
    r->n += n;
}

/* The same on the device, in blocks of at most "most" samples. */
static struct rows run_device(const struct voltages *v, const struct sums *s, psr_channelise *p,
                              const bool *good, size_t nspectrum, size_t most)
{
    const size_t bytes = 2 * v->nbytes + RUNS_MORE * (v->layout.frame_bytes + v->layout.ngroup +
                                                      v->layout.sample_bits);
    const struct psr_spectra_desc desc = {.channels = p,
                                          .layout = &v->layout,
                                          .coding = &v->coding,
                                          .npol = v->npol,
                                          .pol = v->pol,
                                          .what = s->what,
                                          .tsum = s->tsum,
                                          .fsum = s->fsum,
                                          .block = most,
                                          .block_bytes = bytes,
                                          .backend = "cuda"};
    struct rows r = take_rows(v, s, nspectrum);
    struct psr_spectra_block block[2] = {{.bytes = NULL}};
    psr_spectra *plan;
    psr_err err;
    size_t spectrum = 0;
    int under_way = 0;
    must(psr_spectra_create(&plan, &desc, &err), &err);
    for (int k = 0; k < 2; k++)
        must(psr_spectra_block_make(block + k, bytes, &err), &err);
    memset(r.x, 0xff, (nspectrum / s->tsum + 2) * r.nvalue * sizeof *r.x);
    for (size_t t = 0, k = 0; t < v->nsamp; k = !k) {
        size_t n = (size_t)tap_between(&state, 1, (int64_t)most);
        n = n < v->nsamp - t ? n : v->nsamp - t;
        n = v->nsamp <= most ? v->nsamp : n;
        fill_block(v, block + k, t, n);
        const size_t ready = psr_spectra_ready(plan, n);
        must(psr_spectra_push(plan, block + k, good + spectrum, &err), &err);
        spectrum += ready;
        if (under_way++)
            collect(plan, &r);
        t += n;
    }
    collect(plan, &r);
    psr_spectra_destroy(plan);
    for (int k = 0; k < 2; k++)
        psr_spectra_block_free(block + k);
    return r;
}

/* --- the definition --------------------------------------------------------------------------- */

static void ref_products(enum psr_detect what, double complex p, double complex q, double x[4])
{
    const double pp = creal(p * conj(p)), qq = creal(q * conj(q));
    const double re = creal(conj(p) * q), im = cimag(conj(p) * q);
    const double all[][4] = {{pp, qq, 0, 0},
                             {pp, qq, re, im},
                             {pp + qq, pp - qq, 2 * re, 2 * im},
                             {pp + qq, 2 * re, 2 * im, pp - qq}};
    memcpy(x, all[what], 4 * sizeof *x);
}

static double *ref_rows(const struct voltages *v, const struct sums *s, const struct reference *r,
                        const bool *good, size_t nspectrum, size_t nrow, size_t nvalue)
{
    const size_t n = v->d.nchan, nout = n / s->fsum, nproduct = nvalue / nout;
    double complex *x = ref_spectra(r, v->x, v->nsamp, nspectrum);
    double *rows = tap_take(nrow * nvalue + 1, sizeof *rows);
    for (size_t k = 0; k < nrow * s->tsum; k++)
        for (size_t c = 0; c < nout * s->fsum && good[k]; c++) {
            double products[4];
            const double complex *at = x + k * v->d.npol * n + c;
            ref_products(s->what, at[0], v->d.npol == 2 ? at[n] : 0, products);
            for (size_t i = 0; i < nproduct; i++)
                rows[k / s->tsum * nvalue + i * nout + c / s->fsum] += products[i];
        }
    free(x);
    return rows;
}

/* --- comparing -------------------------------------------------------------------------------- */

/* The largest difference, over the mean power of a row. */
static double differ(const struct rows *r, const double *want, const float *other, double level)
{
    double worst = 0;
    for (size_t i = 0; i < r->n * r->nvalue; i++) {
        const double is = (double)r->x[i], was = want ? want[i] : (double)other[i];
        worst = fabs(is - was) <= worst ? worst : fabs(is - was);
        if (!isfinite(is))
            return INFINITY;
    }
    return level > 0 ? worst / level : worst;
}

/* Mean power of a row: that of the input, of all its spectra, channels and polarisations. */
static double find_level(const struct rows *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->n * r->nvalue; i++)
        sum = fmax(sum, fabs((double)r->x[i]));
    return sum;
}

static void lose_some(struct voltages *v)
{
    const size_t period = 97 + v->nsamp / 40;
    if (tap_between(&state, 0, 2))
        return;
    for (size_t t = 0; t < v->nsamp; t++)
        v->lost[t] = t % period > period / 6 * 5 && t > v->nsamp / 3;
}

static bool *choose_good(size_t n)
{
    bool *good = tap_take(n + 1, sizeof *good);
    const double most = tap_between(&state, 0, 1) ? 0.1 : 0;
    for (size_t i = 0; i < n; i++)
        good[i] = tap_uniform(&state) >= most;
    return good;
}

static void choose_voltages(struct voltages *v, bool is_long, struct psr_channelise_shape *shape)
{
    psr_channelise *p;
    psr_err err;
    *v = (struct voltages){.nbytes = 0};
    choose_channels(v, is_long);
    choose_coding(v, &state);
    must(psr_channelise_create(&p, &v->d, &err), &err);
    psr_channelise_describe(p, shape);
    psr_channelise_destroy(p);
    v->nsamp = shape->segment + shape->step * (size_t)tap_between(&state, 0, is_long ? 300 : 20) +
               (size_t)tap_between(&state, 0, (int64_t)shape->step - 1);
    lay_out(v, tap_between(&state, 0, 1), &state);
    fill_bytes(v, &state);
    lose_some(v);
    unpack(v);
}

static void test_shape(bool is_long, double *worst_cpu)
{
    struct psr_channelise_shape shape;
    struct voltages v;
    psr_channelise *p;
    psr_err err;
    size_t nspectrum;
    float *spectra;
    choose_voltages(&v, is_long, &shape);
    const struct sums s = choose_sums(&v);
    must(psr_channelise_create(&p, &v.d, &err), &err);
    bool *good = choose_good(psr_channelise_ready(p, v.nsamp));
    struct rows want = run_cpu(&v, &s, p, good, &spectra, &nspectrum);
    struct rows one = run_device(&v, &s, p, good, nspectrum, v.nsamp);
    const size_t most = 1 + (size_t)tap_between(&state, 1, (int64_t)(2 * shape.segment));
    struct rows cut = run_device(&v, &s, p, good, nspectrum, most);
    const double level = find_level(&want), apart = differ(&one, NULL, want.x, level);
    *worst_cpu = fmax(*worst_cpu, apart);
    ok(one.n == want.n && !memcmp(one.weight, want.weight, want.n * sizeof *want.weight) &&
           apart < 2e-6,
       "%zu of %zu %s channels, %zu of %zu polarisations, %d bits%s, %zu taps, nfft %zu, DM %.3g, "
       "products "
       "%d, -t %zu -f %zu: %zu rows within %.1e of the CPU's",
       v.d.nchan, v.d.nchan_in, v.d.real ? "real" : "complex", v.d.npol, v.npol, v.coding.nbit,
       v.layout.ngroup ? " in frames" : "", v.d.ntap, shape.nfft, v.d.dm, (int)s.what, s.tsum,
       s.fsum, one.n, apart);
    ok(cut.n == one.n && !memcmp(cut.x, one.x, one.n * one.nvalue * sizeof *one.x) &&
           !memcmp(cut.weight, one.weight, one.n * sizeof *one.weight),
       "blocks of up to %zu samples give the same bits", most);
    if (!is_long) {
        struct reference r = ref_make(&v.d, &shape);
        double *truth = ref_rows(&v, &s, &r, good, nspectrum, want.n, want.nvalue);
        const double is = differ(&one, truth, NULL, level), cpu = differ(&want, truth, NULL, level);
        ok(is < 3e-6, "within %.1e of the definition (the CPU %.1e)", is, cpu);
        free(truth);
        free(r.window);
    }
    psr_channelise_destroy(p);
    free_rows(&want);
    free_rows(&one);
    free_rows(&cut);
    free(spectra);
    free(good);
    free_voltages(&v);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void test_errors(void)
{
    struct psr_channelise_shape shape;
    struct voltages v;
    psr_channelise *p;
    psr_err err = {.msg = "none"};
    choose_voltages(&v, false, &shape);
    must(psr_channelise_create(&p, &v.d, &err), &err);
    const struct psr_spectra_desc good = {.channels = p,
                                          .layout = &v.layout,
                                          .coding = &v.coding,
                                          .npol = v.npol,
                                          .pol = v.pol,
                                          .tsum = 1,
                                          .fsum = 1,
                                          .block = 100,
                                          .block_bytes = 100000,
                                          .backend = "cuda"};
    const struct {
        const char *backend;
        int device;
        size_t block, bytes;
        psr_status status;
    } bad[] = {{"opencl", 0, 100, 100, PSR_EDEVICE},
               {"cuda", 4095, 100, 100, PSR_EDEVICE},
               {"cuda", 0, 100, (size_t)1 << 45, PSR_ENOMEM},
               {"cuda", 0, 0, 100, PSR_EUNSUPPORTED},
               {"cuda", 0, (size_t)1 << 31, 100, PSR_EUNSUPPORTED}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct psr_spectra_desc d = good;
        psr_spectra *s = NULL;
        d.backend = bad[i].backend;
        d.device = bad[i].device;
        d.block = bad[i].block;
        d.block_bytes = bad[i].bytes;
        const psr_status st = psr_spectra_create(&s, &d, &err);
        ok(st == bad[i].status && !s && !strchr(err.msg, '\n'), "refused: %s", err.msg);
        psr_spectra_destroy(s);
    }
    psr_channelise_destroy(p);
    free_voltages(&v);
}

int main(int argc, char **argv)
{
    psr_err err;
    double worst = 0;
    state = tap_seed();
    if (psr_device_count(&err) == 0) {
        skip("spectra on a device", err.msg);
        return done_testing();
    }
    const int shapes = argc > 1 ? atoi(argv[1]) : SHAPES;
    for (int i = 0; i < shapes; i++)
        test_shape(false, &worst);
    for (int i = 0; i < LONG_SHAPES && argc == 1; i++)
        test_shape(true, &worst);
    diag("at most %.2e from the CPU's, of the largest row", worst);
    test_errors();
    return done_testing();
}
