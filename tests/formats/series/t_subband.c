/* subband: sub-bands against their definition, and files of them against what was written. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/source.h>

#include "search/dedisp/dedisp_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

/* --- the plan --------------------------------------------------------------------------------- */

struct world {
    struct psr_subband_desc d;
    double *freq_mhz;
    unsigned char *keep;
    size_t nsamp;
    float *x; /* [nsamp][nchan] */
};

static void make_world(struct world *w, uint64_t *random, bool ascending)
{
    size_t nsub = (size_t)tap_between(random, 1, 6), width = (size_t)tap_between(random, 1, 7);
    size_t nchan = nsub * width;
    w->nsamp = (size_t)tap_between(random, 300, 4000);
    w->freq_mhz = tap_take(nchan, sizeof *w->freq_mhz);
    w->keep = tap_take(nchan, 1);
    w->x = tap_take(w->nsamp * nchan, sizeof *w->x);
    for (size_t c = 0; c < nchan; c++) {
        w->freq_mhz[c] = 400 + 3.25 * (double)(ascending ? c : nchan - 1 - c);
        w->keep[c] = tap_between(random, 0, 4) > 0;
    }
    for (size_t n = 0; n < w->nsamp * nchan; n++)
        w->x[n] = (float)tap_between(random, -1000, 1000);
    w->d = (struct psr_subband_desc){
        .nchan = nchan,
        .freq_mhz = w->freq_mhz,
        .tsamp_s = 1e-3,
        .nbit = 32,
        .kind = PSR_FLOAT,
        .downsamp = (size_t)tap_between(random, 1, 5),
        .nsub = nsub,
        .dmconst = PSR_DMCONST_PRESTO,
        .dm = tap_between(random, 0, 3) ? 400 * tap_uniform(random) : 0,
        .keep = w->keep,
        .nthread = (int)tap_between(random, 1, 3),
    };
}

static void free_world(struct world *w)
{
    free(w->freq_mhz);
    free(w->keep);
    free(w->x);
}

/* Delays are the largest in the lowest channel of the lowest sub-band or, by rounding, near it. */
static int64_t delay_of(const struct world *w, size_t c, size_t *j)
{
    size_t width = w->d.nchan / w->d.nsub;
    bool ascending = w->d.nchan < 2 || w->freq_mhz[0] < w->freq_mhz[1];
    *j = ascending ? c / width : w->d.nsub - 1 - c / width;
    double ref_mhz = 0;
    for (size_t k = c / width * width; k < (c / width + 1) * width; k++)
        ref_mhz = fmax(ref_mhz, w->freq_mhz[k]);
    double delay_s =
        w->d.dmconst * w->d.dm * (1 / (w->freq_mhz[c] * w->freq_mhz[c]) - 1 / (ref_mhz * ref_mhz));
    return (int64_t)floor(delay_s / w->d.tsamp_s + 0.5);
}

/* By the definition; integers, so sums are exact. */
static double *truth_of(const struct world *w, size_t *n, size_t *maxshift)
{
    size_t nchan = w->d.nchan, ds = w->d.downsamp, j;
    *maxshift = 0;
    for (size_t c = 0; c < nchan; c++) {
        size_t d = (size_t)delay_of(w, c, &j);
        *maxshift = d > *maxshift ? d : *maxshift;
    }
    *n = w->nsamp > *maxshift ? (w->nsamp - *maxshift) / ds : 0;
    double *out = tap_take(w->d.nsub * *n, sizeof *out);
    for (size_t c = 0; c < nchan; c++) {
        size_t d = (size_t)delay_of(w, c, &j);
        for (size_t t = 0; w->keep[c] && t < *n * ds; t++)
            out[j * *n + t / ds] += (double)w->x[(t + d) * nchan + c];
    }
    for (size_t k = 0; k < w->d.nsub * *n; k++)
        out[k] = (double)((float)out[k] / (float)ds);
    return out;
}

/* Feeds the stream in random pieces; returns how many samples came. */
static size_t run_stream(psr_subband *p, const struct world *w, float *out, size_t stride,
                         uint64_t *random)
{
    size_t done = 0, t = 0;
    while (t < w->nsamp) {
        size_t n = (size_t)tap_between(random, 1, 900), got = 0;
        n = n < w->nsamp - t ? n : w->nsamp - t;
        size_t ready = psr_subband_ready(p, n);
        psr_err err;
        if (done + ready > stride ||
            psr_subband_execute(p, w->x + t * w->d.nchan, n, out + done, stride, &got, &err) ||
            got != ready)
            return SIZE_MAX;
        done += got;
        t += n;
    }
    return done;
}

static void test_plan(uint64_t *random, bool ascending)
{
    struct world w;
    make_world(&w, random, ascending);
    psr_subband *p = NULL;
    psr_err err = {0};
    size_t n, maxshift, bad = 0;
    double *want = truth_of(&w, &n, &maxshift);
    float *out = tap_take(w.d.nsub * (n + 1), sizeof *out);
    int64_t least = 4 * (int64_t)(w.d.nchan * (maxshift + w.d.downsamp + 64));
    w.d.mem_bytes = tap_uniform(random) < 0.5 ? least : 0;
    psr_status st = psr_subband_create(&p, &w.d, &err);
    bool held = !st && (!w.d.mem_bytes || psr_subband_bytes(p) == least);
    size_t got = st ? SIZE_MAX : run_stream(p, &w, out, n + 1, random);
    for (size_t j = 0; j < w.d.nsub && got == n; j++)
        for (size_t t = 0; t < n; t++)
            bad += (double)out[j * (n + 1) + t] != want[j * n + t];
    ok(held && got == n && psr_subband_maxshift(p) == maxshift && !bad,
       "%zu channels %s, %zu sub-bands, ds %zu, DM %.3g: %zu samples", w.d.nchan,
       ascending ? "up" : "down", w.d.nsub, w.d.downsamp, w.d.dm, n);
    if (bad || got != n)
        diag("%zu of %zu samples, %zu wrong; %s", got, n, bad, err.msg);
    psr_subband_destroy(p);
    w.d.mem_bytes = least - 1;
    if (psr_subband_create(&p, &w.d, &err) != PSR_ENOMEM || p)
        ok(false, "a plan in less memory than there must be: %s", err.msg);
    free(want);
    free(out);
    free_world(&w);
}

static void expect(psr_status want, const struct psr_subband_desc *d, const char *word)
{
    psr_subband *p;
    psr_err err = {0};
    psr_status st = psr_subband_create(&p, d, &err);
    ok(st == want && !p && strstr(err.msg, word), "refused: %s", err.msg);
    psr_subband_destroy(p);
}

static void expect_refusal(const struct psr_subband_desc *d, const char *word)
{
    expect(PSR_EINVAL, d, word);
}

static void test_refusals(uint64_t *random)
{
    struct world w;
    make_world(&w, random, true);
    struct psr_subband_desc d = w.d;
    d.nsub = d.nchan + 1;
    expect_refusal(&d, "do not divide");
    d = w.d, d.nchan = 1, d.nsub = 1;
    psr_subband *single = NULL;
    psr_err why = {0};
    ok(!psr_subband_create(&single, &d, &why), "a channel is a sub-band: %s", why.msg);
    psr_subband_destroy(single);
    d = w.d, d.downsamp = 0;
    expect_refusal(&d, "downsampling by 0");
    d = w.d, d.dm = -1;
    expect_refusal(&d, "DM -1");
    d = w.d, d.mem_bytes = 3;
    expect(PSR_ENOMEM, &d, "memory of 3 B is below the ");
    const double mixed[4] = {400, 410, 405, 420};
    d = w.d, d.nchan = 4, d.nsub = 1, d.freq_mhz = mixed, d.keep = NULL;
    expect_refusal(&d, "in order of frequency");
    const double wide[2] = {1, 1400};
    d.nchan = 2, d.freq_mhz = wide, d.dm = 1e6, d.tsamp_s = 1e-6;
    expect_refusal(&d, "inside a sub-band");
    psr_subband *p = NULL;
    psr_err err = {0};
    float out[1];
    size_t n;
    w.d.dm = 0; /* no sweep, so that samples are ready */
    bool made = !psr_subband_create(&p, &w.d, &err);
    ok(made && psr_subband_execute(p, w.x, w.nsamp, out, 0, &n, &err) == PSR_EINVAL &&
           strstr(err.msg, "stride 0"),
       "refused: %s", err.msg);
    psr_subband_destroy(p);
    free_world(&w);
}

/* --- files ------------------------------------------------------------------------------------ */

enum { NSUB = 12, NSAMP = 5000, NAME_MAX_BYTES = 32 };

static int16_t band[NSUB][NSAMP];
static char names[NSUB + 1][PATH_MAX];
static const char *paths[NSUB + 1];

static void write_inf(const char *name, long nchan, int64_t nbin, double width_mhz)
{
    psr_outfile *f;
    struct psr_inf inf = {.telescope = "GBT",
                          .instrument = "GUPPI",
                          .object = "PSR",
                          .ra_deg = 15,
                          .dec_deg = -20,
                          .observer = "unset",
                          .epoch = {56789, 0.25},
                          .nbin = nbin,
                          .tbin_s = 2e-4,
                          .dm = 30,
                          .lowest_mhz = 1000,
                          .bandwidth_mhz = width_mhz * (double)nchan,
                          .nchan = nchan,
                          .chan_width_mhz = width_mhz,
                          .analyst = "nobody",
                          .notes = "Project ID unset."};
    if (psr_outfile_create(&f, scratch(name), NULL) || psr_inf_write(f, &inf, NULL) ||
        psr_outfile_commit(f, NULL))
        exit(EXIT_FAILURE);
}

static void write_set(uint64_t *random)
{
    char name[NAME_MAX_BYTES];
    write_inf("a_DM30.00.sub.inf", 4 * NSUB, NSAMP, 2);
    for (size_t j = 0; j < NSUB; j++) {
        for (size_t t = 0; t < NSAMP; t++)
            band[j][t] = (int16_t)tap_between(random, -30000, 30000);
        snprintf(name, sizeof name, "a_DM30.00.sub%02zu", j);
        strcpy(names[j], scratch(name));
        scratch_write(names[j], band[j], sizeof band[j]);
    }
    /* Any order, and the .inf file that a wider pattern takes along. */
    strcpy(names[NSUB], scratch("a_DM30.00.sub.inf"));
    for (size_t j = 0; j <= NSUB; j++)
        paths[j] = names[(j * 5 + 7) % (NSUB + 1)];
}

static psr_source *open_set(size_t npath, int64_t skip, bool runavg, bool invert, psr_err *err)
{
    psr_source *s = NULL;
    struct psr_source_desc d = {.size = sizeof d,
                                .path = paths,
                                .npath = npath,
                                .if_choice = -1,
                                .skip = skip,
                                .runavg = runavg,
                                .invert = invert};
    return psr_source_open(&s, &d, err) ? NULL : s;
}

static void test_description(void)
{
    psr_err err = {0};
    psr_source *s = open_set(NSUB + 1, 0, false, false, &err);
    if (!ok(s != NULL, "a set opens: %s", err.msg))
        return;
    const struct psr_obs *obs = psr_source_obs(s);
    const struct psr_inf *inf = psr_source_inf(s);
    ok(obs->nchan == NSUB && obs->nbit == 16 && obs->kind == PSR_INT && obs->nsamp == NSAMP,
       "as many channels as files, of 16 bits");
    near(psr_obs_freq_mhz(obs, 0), 1006, 0, "the first is at its highest channel");
    near(psr_obs_freq_mhz(obs, NSUB - 1), 1000 + 2 * (4 * NSUB - 1), 0, "and so is the last");
    ok(obs->has_position && obs->tstart.day == 56789 && obs->tsamp_s == 2e-4 &&
           !strcmp(obs->telescope, "GBT"),
       "the .inf tells the rest");
    ok(inf && inf->nchan == 4 * NSUB && inf->lowest_mhz == 1000, "and tells of the channels");
    psr_source_close(s);
}

static double expected(size_t j, int64_t t, int64_t skip, bool runavg)
{
    if (!runavg)
        return band[j][t];
    int64_t first = skip + (t - skip) / 1024 * 1024;
    int64_t end = first + 1024 < NSAMP ? first + 1024 : NSAMP;
    double sum = 0;
    for (int64_t u = first; u < end; u++)
        sum += band[j][u];
    return (double)(float)((double)band[j][t] - sum / (double)(end - first));
}

static double value_at(const void *block, size_t k, bool real)
{
    return real ? (double)((const float *)block)[k] : (double)((const int16_t *)block)[k];
}

static void test_samples(uint64_t *random, int64_t skip, bool runavg)
{
    static float block[NSAMP * NSUB];
    psr_err err = {0};
    psr_source *s = open_set(NSUB + 1, skip, runavg, false, &err);
    size_t bad = 0, n = 1;
    int64_t at = skip;
    while (s && n > 0) {
        if (psr_source_read(s, (size_t)tap_between(random, 1, 1700), block, &n, &err))
            break;
        for (size_t t = 0; t < n; t++)
            for (size_t j = 0; j < NSUB; j++)
                bad += value_at(block, t * NSUB + j, runavg) !=
                       expected(j, at + (int64_t)t, skip, runavg);
        at += (int64_t)n;
    }
    ok(s && at == NSAMP && !bad, "samples from %lld on%s", (long long)skip,
       runavg ? ", without block means" : "");
    psr_source_close(s);
}

static void expect_bad_set(const char *word, psr_status code, size_t npath, bool invert)
{
    psr_err err = {0};
    psr_source *s = open_set(npath, 0, false, invert, &err);
    ok(!s && err.code == code && strstr(err.msg, word), "refused: %s", err.msg);
    psr_source_close(s);
}

static void test_bad_sets(void)
{
    for (size_t j = 0; j < NSUB; j++)
        paths[j] = names[j];
    expect_bad_set("is of the same set", PSR_EFORMAT, NSUB - 1, false);
    expect_bad_set("cannot be inverted", PSR_EUNSUPPORTED, NSUB, true);
    paths[3] = names[4];
    expect_bad_set("is given twice", PSR_EINVAL, NSUB, false);
    paths[3] = names[NSUB - 1];
    expect_bad_set("sub-band 4 follows 2", PSR_EFORMAT, NSUB - 1, false);
    paths[3] = names[3];
    paths[0] = scratch("b_DM30.00.sub00");
    expect_bad_set("No such file", PSR_EIO, NSUB, false);
    scratch_write(paths[0], band[0], sizeof band[0]);
    expect_bad_set("is not of the set", PSR_EFORMAT, NSUB, false);
    paths[0] = scratch("a.fil");
    scratch_write(paths[0], band[0], sizeof band[0]);
    expect_bad_set("is no file of sub-bands", PSR_EFORMAT, NSUB, false);
    paths[0] = names[0];
    write_inf("a_DM30.00.sub.inf", 4 * NSUB + 1, NSAMP, 2);
    expect_bad_set("must be a multiple of the 12 sub-bands", PSR_EFORMAT, NSUB, false);
    write_inf("a_DM30.00.sub.inf", 4 * NSUB, NSAMP + 1, 2);
    expect_bad_set("must be 10002", PSR_EFORMAT, NSUB, false);
    write_inf("a_DM30.00.sub.inf", 4 * NSUB, NSAMP, 0);
    expect_bad_set("Channel bandwidth = 0 MHz, must be above 0", PSR_EFORMAT, NSUB, false);
    remove(names[NSUB]);
    expect_bad_set("a_DM30.00.sub.inf", PSR_EIO, NSUB, false);
}

/* A set that shrinks while it is read. */
static void test_cut_short(uint64_t *random)
{
    static int16_t block[NSAMP * NSUB];
    psr_err err = {0};
    write_set(random);
    psr_source *s = open_set(NSUB + 1, 0, false, false, &err);
    scratch_write(names[5], band[5], sizeof band[5] / 2);
    size_t n;
    ok(s && psr_source_read(s, NSAMP, block, &n, &err) == PSR_EIO && strstr(err.msg, "early"),
       "a file that shrinks: %s", err.msg);
    psr_source_close(s);
}

int main(void)
{
    uint64_t random = tap_seed();
    for (int n = 0; n < 20; n++)
        test_plan(&random, n % 2);
    test_refusals(&random);
    scratch_make();
    write_set(&random);
    test_description();
    const int64_t skips[] = {0, 1, 1023, 3000};
    for (size_t k = 0; k < sizeof skips / sizeof *skips; k++) {
        test_samples(&random, skips[k], false);
        test_samples(&random, skips[k], true);
    }
    test_bad_sets();
    test_cut_short(&random);
    return done_testing();
}
