/* Bands whose channels are not evenly spaced: what is made of them equals what is made of an even band. */
#include "tests/support/fake_made.h"
#include "tests/support/scratch.h"

#include <psrkit/experimental/fold.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>

enum { NCHAN = 32, NSAMP = 20 * 2400, NBIN = 64 };

static psr_err err;
static const double dm = 60, period_s = 0.1;

/* --- files ------------------------------------------------------------------------------------ */

enum order { EVEN, DOWN, UP, SWAPPED, NORDER };
static const char *const names[NORDER] = {"even", "falling", "rising", "halves swapped"};

/* A quarter of the channels, a gap, and the rest. */
static void fill_table(double *mhz, enum order order)
{
    for (int k = 0; k < NCHAN; k++) {
        const double up = 1300 + 1.0 * k + (k >= NCHAN / 4 ? 150 : 0) + 0.3 * (k % 3);
        const int half = (k + NCHAN / 2) % NCHAN;
        mhz[order == DOWN ? NCHAN - 1 - k : order == SWAPPED ? half : k] = up;
    }
}

static const char *make_file(enum order order, double *table)
{
    const struct psr_fake_signal pulsar = {
        .kind = PSR_FAKE_PULSAR, .dm = dm, .width_s = 0.004, .snr = 60, .period_s = period_s};
    struct psr_obs obs = make_obs(NCHAN, 8, NSAMP, 1e-3);
    psr_outfile *f = NULL;
    unsigned char *bytes = tap_take(NSAMP, NCHAN);
    const char *path = scratch(names[order]);
    obs.fch1_mhz = 1480;
    obs.foff_mhz = -1;
    if (order != EVEN) {
        fill_table(table, order);
        obs.freq_mhz = table;
        obs.foff_mhz = 0.125; /* means nothing */
    }
    psr_fake *p = make_plan(&obs, &pulsar, 1, 7, 1);
    psr_status st = psr_fake_execute(p, 0, NSAMP, bytes, &err);
    if (!st)
        st = psr_outfile_create(&f, path, &err);
    if (!st)
        st = psr_sigproc_write(f, &obs, PSR_SIGPROC_FILTERBANK, &err);
    if (!st)
        st = psr_outfile_write(f, bytes, NSAMP * NCHAN, &err);
    if (!st)
        st = psr_outfile_commit(f, &err);
    ok(!st, "%s: a file with a pulsar", names[order]);
    psr_fake_destroy(p);
    free(bytes);
    return path;
}

/* --- folds ------------------------------------------------------------------------------------ */

struct taken {
    double redchi, dm, dm_step, lofreq_mhz, width_mhz;
};

static psr_status take(void *ctx, size_t i, const struct psr_folder_fold *fold, psr_err *e)
{
    (void)i, (void)e;
    *(struct taken *)ctx =
        (struct taken){.redchi = fold->best->redchi,
                       .dm = fold->pfd->dm,
                       .dm_step = fold->pfd->trial_dm[1] - fold->pfd->trial_dm[0],
                       .lofreq_mhz = fold->pfd->lofreq_mhz,
                       .width_mhz = fold->pfd->width_mhz};
    return PSR_OK;
}

static void count_note(void *ctx, const char *msg)
{
    *(int *)ctx += strstr(msg, "not evenly spaced") != NULL;
}

static struct taken fold(const char *path, double at_dm, bool search, int *nnote)
{
    const struct psr_folder_candidate cand = {
        .f = 1 / period_s, .dm = at_dm, .nbin = NBIN, .name = "x", .at = PSR_FOLD_AT_START};
    struct taken taken = {0};
    struct psr_folder_desc d;
    psr_folder *f = NULL;
    psr_folder_defaults(&d);
    *nnote = 0;
    d.notes = (struct psr_notes){count_note, nnote};
    d.path = &path;
    d.npath = 1;
    d.topo = true;
    d.nosearch = !search;
    d.nsub = NCHAN / 2;
    d.npart = 10;
    d.cand = &cand;
    d.ncand = 1;
    d.take = take;
    d.ctx = &taken;
    d.device = "cpu";
    psr_status st = psr_folder_create(&f, &d, &err);
    if (!st)
        st = psr_folder_run(f, &err);
    psr_folder_destroy(f);
    if (st)
        diag("%s", err.msg);
    return taken;
}

static void test_fold(enum order order, double even_redchi)
{
    double table[NCHAN];
    int n;
    const char *path = make_file(order, table);
    const struct taken at = fold(path, dm, false, &n);
    ok(fabs(at.redchi / even_redchi - 1) < 0.1, "%s: chi^2 %.1f, of an even band %.1f",
       names[order], at.redchi, even_redchi);
    ok(n == 1 && at.lofreq_mhz == 1300 &&
           fabs(at.width_mhz - (NCHAN - 1 + 150 + 0.3) / (NCHAN - 1)) < 1e-9,
       "%s: the header has the lowest channel and the mean spacing, and a note says so",
       names[order]);
    const struct taken found = fold(path, 0.8 * dm, true, &n);
    ok(fabs(found.dm - dm) <= 1.5 * found.dm_step && found.redchi > 0.9 * even_redchi,
       "%s: the search finds DM %.2f, of %.2f, in steps of %.2f", names[order], found.dm, dm,
       found.dm_step);
}

/* --- the query -------------------------------------------------------------------------------- */

static void test_query(void)
{
    double table[NCHAN];
    struct psr_obs obs = make_obs(NCHAN, 8, 1, 1e-3);
    struct psr_obs_band b = psr_obs_band(&obs);
    ok(b.even && !b.rising && b.spacing_mhz == 4 && b.chan_mhz == 4 && b.highest_mhz == 1500 &&
           b.lowest_mhz == 1500 - 4 * (NCHAN - 1),
       "an even band is what fch1 and foff say");
    for (int k = 0; k < NCHAN; k++)
        table[k] = (double)(float)(1300 + k / 3.0);
    obs.freq_mhz = table;
    b = psr_obs_band(&obs);
    ok(b.even && b.rising && fabs(b.spacing_mhz - 1 / 3.0) < 1e-5,
       "so is one of a table of even channels in single precision: foff is not asked");
    table[5] += 0.01;
    ok(!psr_obs_band(&obs).even, "a channel beside its place is not even");
    fill_table(table, SWAPPED);
    b = psr_obs_band(&obs);
    ok(!b.even && b.lowest_mhz == 1300 && fabs(b.chan_mhz - 0.4) < 1e-9 &&
           fabs(b.highest_mhz - (1300 + NCHAN - 1 + 150 + 0.3)) < 1e-9,
       "a band with a gap has its ends, its spacing and its channels");
    obs.freq_mhz = NULL;
}

int main(void)
{
    scratch_make();
    double table[NCHAN];
    int n;
    const double even = fold(make_file(EVEN, table), dm, false, &n).redchi;
    ok(even > 20 && n == 0, "an even band has a pulsar of chi^2 %.1f, and no note", even);
    for (enum order order = DOWN; order < NORDER; order++)
        test_fold(order, even);
    test_query();
    return done_testing();
}
