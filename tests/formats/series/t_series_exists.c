/* series: whether files are there that a run would only write again. */
#include <psrkit/series.h>

#include "formats/series/series_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

enum { NDM = 2, N = 100 };

static const double dm[NDM] = {10, 123.456789012};
static const char *note[NDM] = {"psrkit test, settings 1", "psrkit test, settings 2"};
static struct psr_mjd epoch[NDM] = {{56000, 0.1234567890123}, {56000, 0.9999999999999999}};
static double tsamp_s[NDM] = {64e-6, 1.0 / 3};
static struct psr_obs obs;
static char root[PATH_MAX];

static struct psr_series_desc describe(void)
{
    return (struct psr_series_desc){.size = sizeof(struct psr_series_desc),
                                    .root = root,
                                    .format = PSR_SERIES_DAT,
                                    .dm_decimals = 2,
                                    .ndm = NDM,
                                    .dm = dm,
                                    .obs = &obs,
                                    .file_nbit = 8,
                                    .each_tsamp_s = tsamp_s,
                                    .each_note = note,
                                    .epoch = epoch};
}

static void write_series(void)
{
    float x[N] = {1, 2, 3};
    psr_series *s = NULL;
    psr_err err = {0};
    struct psr_series_desc desc = describe();
    bool made = !psr_series_create(&s, &desc, &err);
    for (size_t i = 0; i < NDM && made; i++)
        made = !psr_series_append(s, i, x, N, &err);
    if (!made || psr_series_finish(s, -1, &err)) {
        diag("%s", err.msg);
        exit(EXIT_FAILURE);
    }
}

static bool is_there(const struct psr_series_desc *desc, size_t i)
{
    struct timespec made = {-1, 0};
    return psr_series_exists(desc, i, &made) && made.tv_sec > 0;
}

static void test_found(void)
{
    struct psr_series_desc desc = describe();
    for (size_t i = 0; i < NDM; i++)
        ok(is_there(&desc, i), "trial %zu is there", i);
    desc.each_note = NULL;
    ok(is_there(&desc, 0), "where there is no note, none is looked for");
}

static void test_others(void)
{
    const char *other[NDM] = {"psrkit test, settings 11", "psrkit test, settings"};
    const double near_dm[NDM] = {10.0000000001, 123.456789013};
    const double near_tsamp_s[NDM] = {64.0000000000001e-6, 0.333333333333334};
    const struct psr_mjd near_epoch[NDM] = {{56000, 0.1234567890123 + 1e-14}, {56001, 1e-14}};
    for (size_t i = 0; i < NDM; i++) {
        struct psr_series_desc desc = describe();
        desc.each_note = other;
        ok(!is_there(&desc, i), "not with another note: %s", other[i]);
        desc = describe();
        desc.dm = near_dm;
        ok(!is_there(&desc, i), "nor of DM %.12g", near_dm[i]);
        desc = describe();
        desc.each_tsamp_s = near_tsamp_s;
        ok(!is_there(&desc, i), "nor of %.15g s", near_tsamp_s[i]);
        desc = describe();
        desc.epoch = near_epoch;
        ok(!is_there(&desc, i), "nor of another epoch");
        desc = describe();
        desc.dm_decimals = 3;
        ok(!is_there(&desc, i), "nor under another name");
    }
}

static void test_damaged(void)
{
    struct psr_series_desc desc = describe();
    char dat[PATH_MAX + 16], inf[PATH_MAX + 16];
    snprintf(dat, sizeof dat, "%s_DM10.00.dat", root);
    snprintf(inf, sizeof inf, "%s_DM10.00.inf", root);
    ok(!truncate(dat, 4 * N - 4) && !is_there(&desc, 0), "not where samples lack");
    ok(!truncate(dat, 4 * N + 4) && !is_there(&desc, 0), "nor where there are too many");
    ok(!truncate(dat, 4 * N) && is_there(&desc, 0), "the length is all that is asked of it");
    ok(!truncate(inf, 700) && !is_there(&desc, 0), "nor with half an .inf file");
    ok(!remove(inf) && !is_there(&desc, 0), "nor without");
    write_series();
    ok(is_there(&desc, 0), "written again it is there");
    ok(!remove(dat) && !mkdir(dat, 0777) && !is_there(&desc, 0), "a folder is no series");
}

int main(void)
{
    psr_obs_init(&obs);
    obs.nchan = 32;
    obs.nbit = 8;
    obs.fch1_mhz = 1500;
    obs.foff_mhz = -4;
    obs.tsamp_s = 64e-6;
    obs.tstart = epoch[0];
    scratch_make();
    strcpy(root, scratch("x"));
    write_series();
    test_found();
    test_others();
    test_damaged();
    return done_testing();
}
