/* Edits of random observations against a naive reference: ranges of times and channels, order of the band. */
#include "tests/support/edited.h"
#include "tests/support/scratch.h"
#include <psrkit/ddplan.h>

#include <math.h>

static uint64_t state;

static const struct {
    int nbit;
    enum psr_kind kind;
} types[] = {{1, PSR_UINT}, {2, PSR_UINT},  {4, PSR_UINT},  {8, PSR_UINT},
             {8, PSR_INT},  {16, PSR_UINT}, {32, PSR_FLOAT}};
enum { NTYPE = sizeof types / sizeof *types };

static void make(struct made *m, size_t type, size_t nchan, int64_t nsamp)
{
    const int nbit = types[type].nbit;
    const int64_t span = nbit < 32 ? (int64_t)1 << nbit : 1000;
    psr_obs_init(&m->obs);
    m->obs.nchan = nchan;
    m->obs.nif = 1;
    m->obs.nbit = nbit;
    m->obs.kind = types[type].kind;
    m->obs.fch1_mhz = 1500;
    m->obs.foff_mhz = tap_between(&state, 0, 1) ? -0.5 : 0.25;
    m->obs.tsamp_s = 64e-6;
    m->obs.nsamp = nsamp;
    m->obs.tstart = (struct psr_mjd){60000, 0.5};
    strcpy(m->obs.source, "J0000+00");
    m->x = tap_take((size_t)nsamp * nchan, sizeof *m->x);
    for (size_t i = 0; i < (size_t)nsamp * nchan; i++)
        m->x[i] = (double)tap_between(&state, 0, span - 1) -
                  (types[type].kind == PSR_INT ? 128 : 0) + (nbit == 32 ? 0.25 : 0);
}

/* --- cuts ------------------------------------------------------------------------------------- */

static bool same_band(const struct psr_obs *got, const struct psr_obs *in, size_t first,
                      bool turned)
{
    bool good = true;
    for (size_t c = 0; c < got->nchan; c++) {
        const size_t from = turned ? first + got->nchan - 1 - c : first + c;
        good &= fabs(psr_obs_freq_mhz(got, c) - psr_obs_freq_mhz(in, from)) < 1e-9;
    }
    return good;
}

static bool same_cut(const struct made *got, const struct made *in, int64_t start, int64_t count,
                     size_t first, size_t nchan, bool turned)
{
    if (got->obs.nsamp != count || got->obs.nchan != nchan || got->obs.nbit != in->obs.nbit ||
        got->obs.kind != in->obs.kind || got->obs.tsamp_s != in->obs.tsamp_s)
        return false;
    const double offset_s = psr_mjd_diff_s(in->obs.tstart, got->obs.tstart);
    bool good = same_band(&got->obs, &in->obs, first, turned) &&
                fabs(offset_s - (double)start * in->obs.tsamp_s) < 1e-6;
    for (size_t t = 0; t < (size_t)count; t++)
        for (size_t c = 0; c < nchan; c++)
            good &= got->x[t * nchan + c] == in->x[((size_t)start + t) * in->obs.nchan +
                                                   (turned ? first + nchan - 1 - c : first + c)];
    return good;
}

/* One random cut of one random observation, by channels or by frequencies. */
static bool cut(size_t type)
{
    const int step = types[type].nbit < 8 ? 8 / types[type].nbit : 1;
    const size_t nchan = (size_t)(tap_between(&state, 1, 12) * step);
    const int64_t nsamp = tap_between(&state, 1, 400), start = tap_between(&state, 0, nsamp - 1),
                  end = tap_between(&state, start + 1, nsamp);
    const size_t kept = (size_t)(tap_between(&state, 1, (int64_t)nchan / step) * step),
                 first = (size_t)tap_between(&state, 0, (int64_t)(nchan - kept));
    const char *path = scratch("in.fil");
    char start_text[32], end_text[32];
    struct made in, out;
    psr_err err = {.msg = ""};
    make(&in, type, nchan, nsamp);
    store(&in, path);
    const struct psr_source_desc source = {
        .size = sizeof source, .path = &path, .npath = 1, .if_choice = -1};
    struct psr_edit_desc d;
    psr_edit_defaults(&d);
    snprintf(start_text, sizeof start_text, "%.9g", (double)start * in.obs.tsamp_s);
    snprintf(end_text, sizeof end_text, "%lldsmp", (long long)end);
    d.source = &source;
    d.output = scratch("out.fil");
    d.start = start_text;
    d.end = end_text;
    if (tap_between(&state, 0, 1)) {
        d.first_chan = (int64_t)first;
        d.end_chan = (int64_t)(first + kept);
    } else {
        const double a = psr_obs_freq_mhz(&in.obs, first),
                     b = psr_obs_freq_mhz(&in.obs, first + kept - 1);
        d.low_mhz = fmin(a, b) - 0.1;
        d.high_mhz = fmax(a, b) + 0.1;
    }
    d.order = (enum psr_edit_order)tap_between(&state, PSR_EDIT_AS_IS, PSR_EDIT_DOWN);
    const bool rising = nchan > 1 ? in.obs.foff_mhz > 0 : psr_obs_band(&in.obs).rising,
               turned = (d.order == PSR_EDIT_UP && !rising) || (d.order == PSR_EDIT_DOWN && rising);
    psr_status st = edit(&d, &err);
    bool good = !st && load(&out, d.output);
    good = good && same_cut(&out, &in, start, end - start, first, kept, turned);
    if (!good)
        diag("type %zu, %zu channels, %lld spectra, cut %lld..%lld, %zu+%zu, order %d: %s", type,
             nchan, (long long)nsamp, (long long)start, (long long)end, first, kept, d.order,
             err.msg);
    if (!st)
        drop(&out);
    drop(&in);
    return good;
}

static void check_cuts(void)
{
    for (size_t type = 0; type < NTYPE; type++) {
        bool good = true;
        for (int k = 0; k < 60 && good; k++)
            good = cut(type);
        ok(good, "random cuts of %d bits, kind %d, keep their bits", types[type].nbit,
           types[type].kind);
    }
}

/* --- samples ---------------------------------------------------------------------------------- */

struct sums {
    size_t tsum, fsum, nchan, nsamp; /* of the output */
    double *x;                       /* [nsamp][nchan] */
};

static void add_up(struct sums *s, const struct made *in)
{
    s->nchan = in->obs.nchan / s->fsum;
    s->nsamp = (size_t)in->obs.nsamp / s->tsum;
    s->x = tap_take(s->nsamp * s->nchan, sizeof *s->x);
    for (size_t t = 0; t < s->nsamp * s->tsum; t++)
        for (size_t c = 0; c < s->nchan * s->fsum; c++)
            s->x[t / s->tsum * s->nchan + c / s->fsum] += in->x[t * in->obs.nchan + c];
}

/* What must be written: sums, means, or levels. */
static double expect_value(const struct sums *s, const struct made *in, int nbit, size_t t,
                           size_t c, bool *is_level)
{
    const double x = s->x[t * s->nchan + c], count = (double)(s->tsum * s->fsum),
                 top = in->obs.nbit == 32 ? INFINITY : ldexp(1, in->obs.nbit) - 1,
                 most = nbit == 32 ? 0x1p24 : ldexp(1, nbit) - 1;
    *is_level = false;
    if (in->obs.kind == PSR_FLOAT && nbit == 32)
        return (float)x;
    if (in->obs.kind == PSR_INT && nbit == 8)
        return floor(x / count + 0.5);
    if (in->obs.kind == PSR_INT && nbit == 32)
        return x;
    if (in->obs.kind == PSR_UINT && top * count <= most)
        return x;
    if (in->obs.kind == PSR_UINT && top <= most)
        return nbit == 32 ? x / count : floor(x / count + 0.5);
    *is_level = true;
    double sum = 0, squares = 0;
    for (size_t k = 0; k < s->nsamp; k++)
        sum += s->x[k * s->nchan + c];
    for (size_t k = 0; k < s->nsamp; k++)
        squares += pow(s->x[k * s->nchan + c] - sum / (double)s->nsamp, 2);
    const double sigma = sqrt(squares / (double)s->nsamp),
                 z = squares > 0 ? (x - sum / (double)s->nsamp) / sigma : 0,
                 level = nbit == 1   ? z + 0.5
                         : nbit == 2 ? z + 1.5
                         : nbit == 4 ? 2 * z + 6
                         : nbit == 8 ? 8 * z + 64
                                     : 2048 * z + 16384;
    return fmin(fmax(level, 0), most);
}

static bool same_values(const struct made *got, const struct sums *s, const struct made *in)
{
    bool good = got->obs.nsamp == (int64_t)s->nsamp && got->obs.nchan == s->nchan &&
                fabs(got->obs.tsamp_s - in->obs.tsamp_s * (double)s->tsum) < 1e-12;
    for (size_t c = 0; c < s->nchan && good; c++) {
        double sum = 0;
        for (size_t f = 0; f < s->fsum; f++)
            sum += psr_obs_freq_mhz(&in->obs, c * s->fsum + f);
        good = fabs(psr_obs_freq_mhz(&got->obs, c) - sum / (double)s->fsum) < 1e-9;
    }
    for (size_t t = 0; t < s->nsamp && good; t++)
        for (size_t c = 0; c < s->nchan && good; c++) {
            bool is_level;
            const double want = expect_value(s, in, got->obs.nbit, t, c, &is_level),
                         x = got->x[t * s->nchan + c];
            good = is_level ? fabs(x - want) <= 0.5 + 1e-5 * (want + 8) : x == want;
            if (!good)
                diag("spectrum %zu, channel %zu: %.17g, must be %.17g%s", t, c, x, want,
                     is_level ? ", a level" : "");
        }
    return good;
}

/* One random observation with sums and another number of bits; blocks and threads do not matter. */
static bool sum(size_t type)
{
    static const int bits[] = {0, 1, 2, 4, 8, 16, 32};
    const char *path = scratch("in.fil");
    struct sums s = {.tsum = (size_t)tap_between(&state, 1, 9),
                     .fsum = (size_t)tap_between(&state, 1, 4)};
    struct made in, out;
    psr_err err = {.msg = ""};
    make(&in, type, (size_t)(8 * s.fsum) * (size_t)tap_between(&state, 1, 6),
         tap_between(&state, 20, 300));
    store(&in, path);
    const struct psr_source_desc source = {
        .size = sizeof source, .path = &path, .npath = 1, .if_choice = -1};
    struct psr_edit_desc d;
    psr_edit_defaults(&d);
    d.source = &source;
    d.output = scratch("out.fil");
    d.tsum = (int64_t)s.tsum;
    d.fsum = (int64_t)s.fsum;
    d.nbits = bits[tap_between(&state, 0, 6)];
    add_up(&s, &in);
    psr_status st = edit(&d, &err);
    bool good = !st && load(&out, d.output);
    good = good && out.obs.nbit == (d.nbits ? (int)d.nbits : in.obs.nbit) &&
           same_values(&out, &s, &in);
    if (!good)
        diag("type %zu, %zu channels, %lld spectra, sums of %zu and %zu, %lld bits: %s", type,
             in.obs.nchan, (long long)in.obs.nsamp, s.tsum, s.fsum, (long long)d.nbits, err.msg);
    if (!st)
        drop(&out);
    free(s.x);
    drop(&in);
    return good;
}

static void check_sums(void)
{
    for (size_t type = 0; type < NTYPE; type++) {
        bool good = true;
        for (int k = 0; k < 60 && good; k++)
            good = sum(type);
        ok(good, "random sums of %d bits, kind %d, are those of the reference", types[type].nbit,
           types[type].kind);
    }
}

/* --- delays ----------------------------------------------------------------------------------- */

/* One random observation, shifted to a random DM, by blocks as they come. */
static bool shift(size_t type)
{
    const char *path = scratch("in.fil");
    struct made in, out;
    psr_err err = {.msg = ""};
    make(&in, type, (size_t)(8 * tap_between(&state, 1, 20)), tap_between(&state, 200, 400));
    in.obs.foff_mhz *= 10;
    store(&in, path);
    const struct psr_source_desc source = {
        .size = sizeof source, .path = &path, .npath = 1, .if_choice = -1};
    struct psr_edit_desc d;
    psr_edit_defaults(&d);
    d.source = &source;
    d.output = scratch("out.fil");
    const size_t nchan = in.obs.nchan;
    double fastest_s = INFINITY, slowest_s = 0;
    for (size_t c = 0; c < nchan; c++) {
        const double s = psr_delay_s(PSR_DMCONST_PRESTO, 1, psr_obs_freq_mhz(&in.obs, c));
        fastest_s = fmin(fastest_s, s);
        slowest_s = fmax(slowest_s, s);
    }
    d.dm = tap_uniform(&state) * 150 * in.obs.tsamp_s / (slowest_s - fastest_s);
    psr_status st = edit(&d, &err);
    bool good = !st && load(&out, d.output);
    size_t most = 0;
    for (size_t c = 0; c < nchan && good; c++) {
        const double delay_s =
            d.dm * (psr_delay_s(PSR_DMCONST_PRESTO, 1, psr_obs_freq_mhz(&in.obs, c)) - fastest_s);
        const size_t delay = (size_t)floor(delay_s / in.obs.tsamp_s + 0.5);
        most = delay > most ? delay : most;
        for (size_t t = 0; t < (size_t)out.obs.nsamp && good; t++)
            good = t + delay < (size_t)in.obs.nsamp &&
                   out.x[t * nchan + c] == in.x[(t + delay) * nchan + c];
    }
    good = good && out.obs.nsamp == in.obs.nsamp - (int64_t)most && out.obs.refdm == d.dm;
    if (!good)
        diag("type %zu, %zu channels, %lld spectra, DM %g: %s", type, nchan,
             (long long)in.obs.nsamp, d.dm, err.msg);
    if (!st)
        drop(&out);
    drop(&in);
    return good;
}

static void check_shifts(void)
{
    for (size_t type = 0; type < NTYPE; type++) {
        bool good = true;
        for (int k = 0; k < 20 && good; k++)
            good = shift(type);
        ok(good, "random delays of %d bits, kind %d", types[type].nbit, types[type].kind);
    }
}

/* --- what is refused -------------------------------------------------------------------------- */

static void refuses(const char *field, psr_status want, const struct psr_edit_desc *d,
                    const char *what)
{
    psr_err err = {.msg = ""};
    const psr_status st = edit(d, &err);
    if (!ok(st == want && !strcmp(err.field, field), "refused: %s", what))
        diag("status %d, field '%s': %s", st, err.field, err.msg);
}

static void check_refusals(void)
{
    struct made in;
    const char *path = scratch("r.fil"), *none = scratch("none.fil");
    make(&in, 2, 16, 100);
    store(&in, path);
    struct psr_source_desc source = {
        .size = sizeof source, .path = &path, .npath = 1, .if_choice = -1};
    struct psr_edit_desc good, d;
    psr_edit_defaults(&good);
    good.source = &source;
    good.output = scratch("refused.fil");
#define REFUSED(FIELD, STATUS, ...)                                                                \
    do {                                                                                           \
        d = good;                                                                                  \
        __VA_ARGS__;                                                                               \
        refuses(FIELD, STATUS, &d, #__VA_ARGS__);                                                  \
    } while (0)
    REFUSED("source", PSR_EINVAL, d.source = NULL);
    REFUSED("output", PSR_EINVAL, d.output = NULL);
    REFUSED("nthread", PSR_EINVAL, d.nthread = -1);
    REFUSED("band", PSR_EINVAL, d.low_mhz = 1500; d.high_mhz = 1400);
    REFUSED("band", PSR_EINVAL, d.low_mhz = 1; d.high_mhz = 2);
    REFUSED("band", PSR_EINVAL, d.low_mhz = 1; d.high_mhz = 2000; d.end_chan = 2);
    REFUSED("chans", PSR_EINVAL, d.end_chan = 17);
    REFUSED("chans", PSR_EINVAL, d.first_chan = 16);
    REFUSED("chans", PSR_EINVAL, d.first_chan = 1; d.end_chan = 2);
    REFUSED("start", PSR_EINVAL, d.start = "100smp");
    REFUSED("start", PSR_EINVAL, d.start = "1e9");
    REFUSED("start", PSR_EINVAL, d.start = "59999.5mjd");
    REFUSED("end", PSR_EINVAL, d.end = "101smp");
    REFUSED("end", PSR_EINVAL, d.start = "50smp"; d.end = "50smp");
    REFUSED("end", PSR_EINVAL, d.end = "1e30");
    REFUSED("start", PSR_EINVAL, d.start = "soon");
    REFUSED("start", PSR_EINVAL, d.start = "x.5mjd");
    REFUSED("start", PSR_EINVAL, d.start = "1.5smp");
    REFUSED("", PSR_EIO, d.output = path);
    REFUSED("dm", PSR_EINVAL, d.dm = -1);
    REFUSED("dm", PSR_EINVAL, d.dm = 1e5);
    REFUSED("clip_sigma", PSR_EINVAL, d.clip_sigma = -1);
    REFUSED("mask", PSR_EINVAL, d.clean_auto = true; d.mask = "m");
    REFUSED("tsum", PSR_EINVAL, d.tsum = 0);
    REFUSED("tsum", PSR_EINVAL, d.tsum = 101);
    REFUSED("fsum", PSR_EINVAL, d.fsum = 17);
    REFUSED("nbits", PSR_EINVAL, d.nbits = 3);
    REFUSED("nbits", PSR_EINVAL, d.nbits = -8);
    REFUSED("nbits", PSR_EINVAL, d.fsum = 5);
    const char *const wrong[] = {"colour=red", "source",  "tstart=soon", "tsamp=0",
                                 "foff=0",     "fch1=-1", "beam=x",      "position=here"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        REFUSED(i == 4 ? "foff" : "set", i == 4 ? PSR_EFORMAT : PSR_EINVAL, d.set = wrong + i;
                d.nset = 1);
    source.path = &none;
    REFUSED("", PSR_EIO, d.output = path);
    ok(!scratch_count("refused"), "refusals leave no file");
    drop(&in);
}

int main(void)
{
    state = tap_seed();
    scratch_make();
    check_cuts();
    check_sums();
    check_shifts();
    check_refusals();
    return done_testing();
}
