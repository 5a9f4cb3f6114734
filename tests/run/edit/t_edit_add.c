/* Signals that are added to noise and to real observations: the S/N at their time, DM and width is what was asked for. */
#include "tests/support/edited.h"
#include "tests/support/scratch.h"
#include <psrkit/ddplan.h>

#include <math.h>

static uint64_t state;

enum { NSAMP = 4096, NCHAN = 64 };

static const struct {
    int nbit;
    enum psr_kind kind;
    double mean, scatter;
} types[] = {
    {1, PSR_UINT, 0.5, 1}, {2, PSR_UINT, 1.5, 1},      {4, PSR_UINT, 6, 2},    {8, PSR_UINT, 64, 8},
    {8, PSR_INT, -10, 8},  {16, PSR_UINT, 16384, 1e3}, {32, PSR_FLOAT, -1, 7},
};
enum { NTYPE = sizeof types / sizeof *types };

static psr_status give(void *ctx, double observed_s, const struct psr_fake_signal **signal,
                       size_t *nsignal, psr_err *err)
{
    (void)observed_s, (void)err;
    *signal = ctx;
    *nsignal = 1;
    return PSR_OK;
}

/* --- observations ----------------------------------------------------------------------------- */

/* Noise whose scatter differs from channel to channel; some are dead. */
static void make_noise(struct made *m, size_t type)
{
    psr_err err;
    psr_fake *f;
    psr_obs_init(&m->obs);
    m->obs.nchan = NCHAN;
    m->obs.nif = 1;
    m->obs.nbit = 32;
    m->obs.kind = PSR_FLOAT;
    m->obs.fch1_mhz = 1500;
    m->obs.foff_mhz = -4;
    m->obs.tsamp_s = 256e-6;
    m->obs.nsamp = NSAMP;
    m->obs.tstart = (struct psr_mjd){60000, 0.5};
    float *x = tap_take((size_t)NSAMP * NCHAN, sizeof *x);
    const struct psr_fake_desc d = {
        .size = sizeof d, .obs = &m->obs, .seed = state, .noise_sigma = 1, .nthread = 1};
    if (psr_fake_create(&f, &d, &err) || psr_fake_execute(f, 0, NSAMP, x, &err))
        ok(false, "%s", err.msg);
    psr_fake_destroy(f);
    m->x = tap_take((size_t)NSAMP * NCHAN, sizeof *m->x);
    for (size_t i = 0; i < (size_t)NSAMP * NCHAN; i++) {
        const size_t c = i % NCHAN;
        const double gain = c == 7 ? 0 : types[type].nbit < 4 ? 1 : 0.6 + (double)c / NCHAN;
        m->x[i] = types[type].mean + gain * types[type].scatter * (double)x[i];
    }
    free(x);
    m->obs.nbit = types[type].nbit;
    m->obs.kind = types[type].kind;
}

/* The same values as floats. */
static struct made as_floats(const struct made *m)
{
    struct made f = *m;
    f.obs.nbit = 32;
    f.obs.kind = PSR_FLOAT;
    return f;
}

/* --- measuring -------------------------------------------------------------------------------- */

static double scatter_of(const struct made *m, size_t c)
{
    double sum = 0, squares = 0;
    const size_t n = (size_t)m->obs.nsamp, nchan = m->obs.nchan;
    for (size_t t = 0; t < n; t++)
        sum += m->x[t * nchan + c];
    for (size_t t = 0; t < n; t++) {
        const double x = m->x[t * nchan + c] - sum / (double)n;
        squares += x * x;
    }
    return sqrt(squares / (double)(n - 1));
}

/* What was added, dedispersed, in units of the noise. */
static void add_up(double *series, const struct made *before, const struct made *after, double dm)
{
    const struct psr_obs *o = &before->obs;
    size_t alive = 0;
    memset(series, 0, (size_t)o->nsamp * sizeof *series);
    for (size_t c = 0; c < o->nchan; c++) {
        const double scatter = scatter_of(before, c);
        const int64_t delay = psr_delay_samples(PSR_DMCONST_PRESTO, dm, psr_obs_freq_mhz(o, c),
                                                psr_obs_highest_mhz(o), o->tsamp_s);
        alive += scatter > 0;
        for (int64_t t = 0; t + delay < o->nsamp && scatter > 0; t++) {
            const size_t i = (size_t)(t + delay) * o->nchan + c;
            series[t] += (after->x[i] - before->x[i]) / scatter;
        }
    }
    for (int64_t t = 0; t < o->nsamp; t++)
        series[t] /= sqrt((double)alive);
}

static double box_at(const double *series, int64_t first, int64_t width)
{
    double sum = 0;
    for (int64_t t = first; t < first + width; t++)
        sum += series[t];
    return sum / sqrt((double)width);
}

/* Where the S/N of what was added without rounding is largest. */
static void find_box(const double *series, int64_t n, int64_t *first, int64_t *width)
{
    double best = -1;
    for (int64_t w = 1; w < 300; w++) {
        double sum = 0;
        for (int64_t t = 0; t < n; t++) {
            sum += series[t] - (t >= w ? series[t - w] : 0);
            if (t >= w && sum / sqrt((double)w) > best) {
                best = sum / sqrt((double)w);
                *first = t - w + 1;
                *width = w;
            }
        }
    }
}

static bool inject(const struct made *in, struct psr_fake_signal *s, struct made *out)
{
    psr_err err = {.msg = ""};
    struct psr_edit_desc d;
    const char *from = scratch("in.fil"), *to = scratch("out.fil");
    store(in, from);
    const struct psr_source_desc source = {
        .size = sizeof source, .path = &from, .npath = 1, .if_choice = -1};
    psr_edit_defaults(&d);
    d.source = &source;
    d.output = to;
    d.signals = give;
    d.signals_ctx = s;
    d.seed = (uint64_t)tap_between(&state, 0, 1 << 30);
    if (edit(&d, &err))
        diag("%s", err.msg);
    return !*err.msg && load(out, to);
}

/* --- bursts ----------------------------------------------------------------------------------- */

static struct psr_fake_signal draw(const struct psr_obs *o, double snr, double dm_most)
{
    const double length_s = (double)o->nsamp * o->tsamp_s;
    return (struct psr_fake_signal){
        .kind = PSR_FAKE_BURST,
        .shape = tap_between(&state, 0, 1) ? PSR_FAKE_GAUSSIAN : PSR_FAKE_TOPHAT,
        .dm = dm_most * (double)tap_between(&state, 10, 100) / 100,
        .width_s = o->tsamp_s * exp2((double)tap_between(&state, 0, 50) / 10),
        .snr = snr,
        .smear = true,
        .scatter_s = tap_between(&state, 0, 3) ? 0 : o->tsamp_s,
        .scatter_index = -4,
        .t_s = length_s * (0.1 + 0.5 * (double)tap_between(&state, 0, 1000) / 1000)};
}

/* Mean of found over asked, of n bursts in samples of in. */
static double mean_ratio(const struct made *in, int n, double snr_least, double snr_most,
                         double dm_most)
{
    const struct made exact = as_floats(in);
    double *series = tap_take((size_t)in->obs.nsamp, sizeof *series), sum = 0;
    for (int i = 0; i < n; i++) {
        struct psr_fake_signal s =
            draw(&in->obs, snr_least + (snr_most - snr_least) * i / n, dm_most);
        struct made whole, got;
        int64_t first = 0, width = 1;
        if (!inject(&exact, &s, &whole) || !inject(in, &s, &got))
            return NAN;
        add_up(series, &exact, &whole, s.dm);
        find_box(series, in->obs.nsamp, &first, &width);
        add_up(series, in, &got, s.dm);
        sum += box_at(series, first, width) / s.snr;
        drop(&whole);
        drop(&got);
    }
    free(series);
    return sum / n;
}

/* Rounding by chance is noise, too: about a fifth of that of the samples with 4 bits, as much with 1 and 2. */
static double tolerance(int nbit, int n)
{
    const double snr = 15, noise = nbit <= 2 ? 1 : nbit == 4 ? 0.3 : 0.05;
    return 0.02 + 2.5 * noise / snr / sqrt((double)n) * (n < 100);
}

static void check_noise(int n)
{
    for (size_t k = 0; k < NTYPE; k++) {
        struct made m, read;
        char what[80];
        const char *path = scratch("noise.fil");
        make_noise(&m, k);
        store(&m, path);
        if (!load(&read, path))
            return;
        snprintf(what, sizeof what, "S/N in noise of %d bits%s", types[k].nbit,
                 types[k].kind == PSR_INT ? ", signed" : "");
        /* levels of one bit end where half a scatter is added */
        const double most = types[k].nbit == 1   ? 12
                            : types[k].nbit == 2 ? 20
                                                 : 30,
                     ratio = mean_ratio(&read, n, 6, most, 60);
        near(ratio, 1, tolerance(types[k].nbit, n), what);
        diag("%s: %.4f", what, ratio);
        drop(&m);
        drop(&read);
    }
}

static void check_files(int n)
{
    static const char *const names[] = {"parkes_8bit_1.fil", "parkes_4bit.fil", "parkes_2bit.fil",
                                        "parkes_1bit.fil"};
    const char *folder = getenv("PSRKIT_TEST_DATA");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[PATH_MAX], what[80];
        struct made m;
        snprintf(path, sizeof path, "%s/%s", folder ? folder : "", names[k]);
        snprintf(what, sizeof what, "S/N in %s", names[k]);
        if (!folder || access(path, R_OK)) {
            skip(what, "no data");
            continue;
        }
        if (!load(&m, path))
            return;
        const double ratio = mean_ratio(&m, n, 6, 30, 20);
        near(ratio, 1, tolerance(m.obs.nbit, n), what);
        diag("%s: %.4f", what, ratio);
        drop(&m);
    }
}

int main(void)
{
    state = tap_seed();
    scratch_make();
    check_noise(12);
    check_files(2);
    if (tap_long("S/N of more bursts")) {
        check_noise(100);
        check_files(10);
    }
    return done_testing();
}
