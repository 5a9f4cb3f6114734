/* Synthetic observations: noise and its levels, sameness however made, files, and refusals. */
#include "tests/support/fake_made.h"

#include <psrkit/experimental/source.h>
#include <psrkit/signif.h>

#include "base/obs_internal.h"
#include "tests/support/fil.h"
#include "tests/support/scratch.h"

/* --- noise ------------------------------------------------------------------------------------ */

/* The share of noise in levels from .. from + width - 1 of nbit bits. */
static double level_share(int nbit, int from, int width)
{
    double scale = ((1 << nbit) - 1) / 8.0;
    double low = from == 0 ? -INFINITY : (from - 0.5) / scale - 4;
    double high = from + width == 1 << nbit ? INFINITY : (from + width - 0.5) / scale - 4;
    return 0.5 * (erfc(low / sqrt(2)) - erfc(high / sqrt(2)));
}

static void test_levels(int nbit, uint64_t seed)
{
    enum { NCHAN = 64, NSAMP = 1 << 14, NCELL = 256 };
    struct psr_obs obs = make_obs(NCHAN, nbit, NSAMP, 1e-3);
    psr_fake *p = make_plan(&obs, NULL, 0, seed, 1);
    double *x = run_plan(p, &obs), chi2 = 0, count[NCELL] = {0}, mean = 0, variance = 0;
    int width = nbit > 8 ? 1 << (nbit - 8) : 1, cells = nbit < 8 ? 1 << nbit : NCELL, used = 0;
    for (int i = 0; i < NCHAN * NSAMP; i++)
        count[(int)x[i] / width]++;
    for (int k = 0; k < cells; k++) {
        double share = level_share(nbit, k * width, width), want = share * NCHAN * NSAMP;
        mean += share * k;
        variance += share * k * k;
        if (want < 5) /* too few to be Gaussian */
            continue;
        chi2 += (count[k] - want) * (count[k] - want) / want;
        used++;
    }
    /* Limits that one of 1e7 figures breaks by chance: there are 64 channels, and many seeds.  Two levels
     * are exactly as frequent as expected once in 1300. */
    struct psr_logp p_chi2 = psr_chi2_logp(chi2, used - 1);
    ok(p_chi2.ln_sf > -16 && (used == 2 || p_chi2.ln_cdf > -16),
       "%d bits: chi-square %.1f of %d levels", nbit, chi2, used);
    variance -= mean * mean;
    double worst[2] = {0};
    for (int c = 0; c < NCHAN; c++) {
        double sum = 0, squares = 0;
        for (int t = 0; t < NSAMP; t++)
            sum += x[t * NCHAN + c] / width;
        sum /= NSAMP;
        for (int t = 0; t < NSAMP; t++)
            squares += pow(x[t * NCHAN + c] / width - sum, 2);
        double offset = nbit > 8 ? 0.5 - 0.5 / width : 0; /* of cells that hold several levels */
        worst[0] = fmax(worst[0], fabs(sum - offset - mean) / sqrt(variance / NSAMP));
        worst[1] = fmax(worst[1], fabs(squares / NSAMP / variance - 1) / sqrt(2.0 / NSAMP));
    }
    ok(worst[0] < 5.5, "%d bits: means of channels, %.1f sigma at worst", nbit, worst[0]);
    ok(worst[1] < 5.5, "%d bits: variances of channels, %.1f sigma at worst", nbit, worst[1]);
    free(x);
    psr_fake_destroy(p);
}

/* --- sameness --------------------------------------------------------------------------------- */

static const struct psr_fake_signal signals[] = {
    {.kind = PSR_FAKE_PULSAR,
     .dm = 40,
     .width_s = 0.004,
     .peak = 1,
     .period_s = 0.03,
     .binary = true,
     .orbit = {20, 0.6, 1e-2, 1, 3}},
    {.kind = PSR_FAKE_BURST,
     .shape = PSR_FAKE_GAUSSIAN,
     .dm = 90,
     .width_s = 0.01,
     .t_s = 0.2,
     .peak = 2,
     .smear = true,
     .scatter_s = 0.01,
     .scatter_index = -4},
};

/* The same spectra by one thread at once and by three in pieces. */
static void check_sameness(struct psr_fake_desc d, uint64_t *state)
{
    const struct psr_obs *obs = d.obs;
    psr_err err;
    psr_fake *one = NULL, *three = NULL;
    bool made = (d.nthread = 1, !psr_fake_create(&one, &d, &err)) &&
                (d.nthread = 3, !psr_fake_create(&three, &d, &err));
    size_t row = psr_fake_row_bytes(one), n = (size_t)obs->nsamp;
    uint8_t *whole = malloc(n * row), *parts = malloc(n * row);
    made = made && !psr_fake_execute(one, 0, n, whole, &err);
    for (size_t done = 0, k; made && done < n; done += k) {
        k = (size_t)tap_between(state, 1, 700);
        k = k < n - done ? k : n - done;
        made = !psr_fake_execute(three, (int64_t)done, k, parts + done * row, &err);
    }
    ok(made && !memcmp(whole, parts, n * row),
       "%zu channels, %d bits: threads and blocks do not change a bit", obs->nchan, obs->nbit);
    free(whole);
    free(parts);
    psr_fake_destroy(one);
    psr_fake_destroy(three);
}

static void test_sameness(uint64_t *state)
{
    static const int depths[] = {1, 2, 4, 8, 16, 32};
    for (int trial = 0; trial < 12; trial++) {
        struct psr_obs obs = make_obs(8 * (size_t)tap_between(state, 1, 9), depths[trial % 6],
                                      tap_between(state, 200, 3000), 256e-6);
        obs.nif = 1 + trial % 2;
        check_sameness((struct psr_fake_desc){.size = sizeof(struct psr_fake_desc),
                                              .obs = &obs,
                                              .seed = tap_random(state),
                                              .noise_sigma = 1,
                                              .dmconst = PSR_DMCONST_PRESTO,
                                              .nsignal = 2,
                                              .signal = signals,
                                              .red_sigma = trial % 3,
                                              .red_index = -2},
                       state);
    }
}

/* --- the rest --------------------------------------------------------------------------------- */

static void test_gain_and_red(uint64_t seed)
{
    struct psr_obs obs = make_obs(8, 32, 1 << 15, 1e-3);
    const double gain[8] = {0, 0.5, 1, 1, 1, 1, 1, 2};
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .gain = gain};
    psr_err err;
    psr_fake *p;
    double mean[8] = {0}, square[8] = {0};
    ok(psr_fake_create(&p, &d, &err) == PSR_OK, "a bandpass is taken");
    double *x = run_plan(p, &obs);
    for (int i = 0; i < 8 << 15; i++) {
        mean[i % 8] += x[i] / (1 << 15);
        square[i % 8] += x[i] * x[i] / (1 << 15);
    }
    ok(fabs(mean[0] + 4) < 1e-6 && fabs(mean[1] + 2) < 0.02 && fabs(mean[7] - 4) < 0.05,
       "it moves the levels");
    ok(square[0] - mean[0] * mean[0] < 1e-6 && fabs(square[7] - mean[7] * mean[7] - 4) < 0.2,
       "and scales the noise");
    free(x);
    psr_fake_destroy(p);
    d.gain = NULL;
    d.noise_sigma = 0;
    d.red_sigma = 2;
    d.red_index = -2;
    double variance = 0, slow = 0, fast = 0;
    for (d.seed = 0; d.seed < 40; d.seed++) {
        if (psr_fake_create(&p, &d, &err))
            break;
        x = run_plan(p, &obs);
        for (int t = 0; t < 1 << 15; t++)
            variance += x[8 * t] * x[8 * t] / (40 << 15);
        for (int t = 0; t + 1024 < 1 << 15; t += 1024) {
            slow += pow(x[8 * t] - x[8 * (t + 1024)], 2);
            fast += pow(x[8 * t] - x[8 * (t + 64)], 2);
        }
        free(x);
        psr_fake_destroy(p);
    }
    ok(fabs(sqrt(variance) - 2) < 0.5, "red noise has its standard deviation: %.2f",
       sqrt(variance));
    ok(slow / fast > 8 && slow / fast < 32, "and walks as the root of time: %.1f for 16",
       slow / fast);
}

static void refuse(const struct psr_obs *obs, struct psr_fake_signal s, psr_status want,
                   const char *field)
{
    psr_err err = {0};
    psr_fake *p;
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = obs,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .nsignal = 1,
                              .signal = &s};
    ok(psr_fake_create(&p, &d, &err) == want && !p && !strcmp(err.field, field), "refused: %s",
       err.msg);
    psr_fake_destroy(p);
}

static void test_refusals(void)
{
    struct psr_obs obs = make_obs(8, 8, 100, 1e-3), bad = obs;
    const struct psr_fake_signal burst = {.kind = PSR_FAKE_BURST, .width_s = 0.01, .peak = 1};
    struct psr_fake_signal s = burst;
    bad.nsamp = 0;
    refuse(&bad, burst, PSR_EINVAL, "nsamp");
    bad = obs;
    bad.nchan = 3;
    bad.nbit = 2;
    refuse(&bad, burst, PSR_EUNSUPPORTED, "nbit");
    bad = obs;
    bad.kind = PSR_INT;
    refuse(&bad, burst, PSR_EUNSUPPORTED, "kind");
    bad = obs;
    bad.tsamp_s = 0;
    refuse(&bad, burst, PSR_EFORMAT, "tsamp");
    refuse(&obs, (s.width_s = 0, s), PSR_EINVAL, "width_s");
    refuse(&obs, (s = burst, s.dm = -1, s), PSR_EINVAL, "dm");
    refuse(&obs, (s = burst, s.lowest_mhz = 2000, s), PSR_EINVAL, "lowest_mhz");
    refuse(&obs, (s = burst, s.kind = PSR_FAKE_PULSAR, s), PSR_EINVAL, "period_s");
    refuse(&obs, (s = burst, s.shape = PSR_FAKE_VONMISES, s), PSR_EINVAL, "shape");
    refuse(&obs, (s = burst, s.shape = PSR_FAKE_PROFILE, s), PSR_EINVAL, "profile");
    const double holed[] = {1, NAN}, endless[] = {1, -INFINITY};
    s.nprofile = 2;
    refuse(&obs, (s.profile = holed, s), PSR_EINVAL, "profile");
    refuse(&obs, (s.profile = endless, s), PSR_EINVAL, "profile");
    s = (struct psr_fake_signal){.kind = PSR_FAKE_PULSAR,
                                 .width_s = 0.01,
                                 .peak = 1,
                                 .period_s = 1,
                                 .binary = true,
                                 .orbit = {100, 1.5, 1, 0, 0}};
    refuse(&obs, s, PSR_EINVAL, "ecc");
    s.binary = false;
    refuse(&obs, (s.scatter_s = 100, s), PSR_EINVAL, "width_s");
    struct heard heard = {.count = 0};
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .nsignal = 1,
                              .signal = &s,
                              .notes = {hear, &heard}};
    psr_fake *p;
    s = burst;
    s.peak = 3;
    ok(!psr_fake_create(&p, &d, NULL) && heard.count == 1 && strstr(heard.text, "clipped"),
       "a signal that clips is told: %.60s", heard.text);
    uint8_t out[8];
    ok(psr_fake_execute(p, -1, 1, out, NULL) == PSR_EINVAL, "samples before 0 are refused");
    psr_fake_destroy(p);
}

/* PSRFITS as written reads as what was put in. */
static void test_psrfits(int nbit, int nif, uint64_t seed)
{
    struct psr_obs obs = make_obs(16, nbit, 777, 256e-6);
    psr_outfile *f = NULL;
    psr_psrfits *w = NULL;
    psr_source *source = NULL;
    psr_err err = {0};
    size_t n = 777, got = 0;
    obs.nif = nif;
    obs.tstart = (struct psr_mjd){55555, 0.123};
    const char *path = scratch("x.fits");
    psr_fake *p = make_plan(&obs, NULL, 0, seed, 1);
    uint8_t *packed = malloc(n * psr_fake_row_bytes(p)), *back = malloc(n * 64 * 4);
    psr_status st = psr_fake_execute(p, 0, n, packed, &err);
    st = st ? st : psr_outfile_create(&f, path, &err);
    st = st ? st : psr_psrfits_create(&w, f, &obs, 64, &err);
    st = st ? st : psr_psrfits_append(w, packed, 100, &err);
    st = st ? st : psr_psrfits_append(w, packed + 100 * psr_fake_row_bytes(p), n - 100, &err);
    st = st ? st : psr_psrfits_finish(w, &err);
    st = st ? st : psr_outfile_commit(f, &err);
    psr_psrfits_destroy(w);
    const char *paths[] = {path};
    struct psr_source_desc d = {.size = sizeof d, .path = paths, .npath = 1, .if_choice = 0};
    st = st ? st : psr_source_open(&source, &d, &err);
    st = st ? st : psr_source_read(source, n + 10, back, &got, &err);
    const struct psr_obs *o = st ? &obs : psr_source_obs(source);
    double *want = run_plan(p, &obs), worst = 0;
    for (size_t t = 0; t < got && !st; t++)
        for (size_t c = 0; c < 16; c++) {
            size_t i = t * 16 + c, bit = i * (size_t)o->nbit;
            double v = o->kind == PSR_FLOAT ? (double)((float *)(void *)back)[i]
                       : o->nbit == 16      ? ((uint16_t *)(void *)back)[i]
                                            : back[bit / 8] >> bit % 8 & ((1 << o->nbit) - 1);
            worst = fmax(worst, fabs(v - want[t * 16 * (size_t)nif + c]));
        }
    ok(!st && got == n && worst == 0, "PSRFITS of %d bits, %d IFs reads back: %zu spectra %s", nbit,
       nif, got, err.msg);
    ok(fabs(psr_mjd_diff_s(obs.tstart, o->tstart)) < 1e-6 && o->fch1_mhz == 1500 &&
           o->foff_mhz == -4 && fabs(o->tsamp_s - 256e-6) < 1e-12,
       "and its header too");
    psr_source_close(source);
    psr_fake_destroy(p);
    free(want);
    free(packed);
    free(back);
    unlink(path);
}

static void test_psrfits_refusals(void)
{
    struct psr_obs obs = make_obs(16, 8, 10, 1e-3);
    psr_psrfits *w;
    psr_outfile *f;
    psr_err err;
    uint8_t x[16 * 11] = {0};
    if (psr_outfile_create(&f, "/dev/null", &err))
        return;
    ok(psr_psrfits_create(&w, f, &obs, 12, &err) == PSR_EINVAL, "rows must be whole bytes");
    obs.nif = 3;
    ok(psr_psrfits_create(&w, f, &obs, 16, &err) == PSR_EUNSUPPORTED,
       "three polarisations are none");
    obs.nif = 1;
    ok(psr_psrfits_create(&w, f, &obs, 16, &err) == PSR_OK &&
           psr_psrfits_append(w, x, 11, &err) == PSR_EINVAL &&
           psr_psrfits_finish(w, &err) == PSR_EINVAL,
       "more or fewer spectra than promised are refused: %s", err.msg);
    psr_psrfits_destroy(w);
    psr_outfile_abort(f);
}

static void test_zeros(void)
{
    const struct psr_fake_desc d = {.size = sizeof d};
    psr_fake *p;
    psr_err err;
    ok(psr_fake_create(&p, &d, &err) == PSR_EINVAL && !p && !strcmp(err.field, "obs"),
       "a description of zeros is refused: %s", err.msg);
}

int main(void)
{
    static const int depths[] = {1, 2, 4, 8, 16};
    uint64_t seed = tap_seed(), state = seed;
    for (size_t k = 0; k < 5; k++)
        test_levels(depths[k], seed);
    test_sameness(&state);
    test_gain_and_red(seed);
    test_refusals();
    test_zeros();
    scratch_make();
    for (size_t k = 0; k < 5; k++)
        test_psrfits(depths[k], k % 2 ? 4 : 1, seed);
    test_psrfits(32, 1, seed);
    test_psrfits_refusals();
    return done_testing();
}
