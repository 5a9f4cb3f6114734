/* sigma_trials: folds of noise with gpufold's own search are as significant as noise is. */
#include <psrkit/experimental/fold.h>

#include "search/fold/fold_internal.h"
#include "tests/support/fil.h"

#include <math.h>

enum { NCHAN = 16, NSAMP = 24000, NCAND = 180 };

static psr_err err;
static unsigned char spectra[NSAMP * NCHAN];
static struct psr_folder_candidate cands[NCAND];

struct taken {
    double sigma[NCAND], sigma_trials[NCAND], ntrial[NCAND];
};

static psr_status take(void *ctx, size_t i, const struct psr_folder_fold *fold, psr_err *e)
{
    struct taken *t = ctx;
    (void)e;
    t->sigma[i] = fold->best->sigma;
    t->sigma_trials[i] = fold->best->sigma_trials;
    t->ntrial[i] = fold->pfd->ntrial;
    return PSR_OK;
}

static const char *save_noise(uint64_t *seed)
{
    struct fil_desc d = fil_bytes_desc(NCHAN);
    struct fil f = {0};
    const char *path = scratch("noise.fil");
    d.foff = -20;
    for (int i = 0; i < NSAMP * NCHAN; i++)
        spectra[i] = (unsigned char)lrint(fmin(fmax(96 + 12 * tap_normal(seed), 0), 255));
    fil_begin(&f, &d);
    fil_text(&f, "HEADER_END");
    fil_bytes(&f, spectra, sizeof spectra);
    fil_save(&f, path);
    free(f.b);
    return path;
}

/* Periods of 12 samples to a fifth of the observation, 20 bins. */
static void fill_candidates(uint64_t *seed)
{
    static char names[NCAND][16];
    for (int i = 0; i < NCAND; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        cands[i] = (struct psr_folder_candidate){.f = 1e3 / (12 * exp(6 * tap_uniform(seed))),
                                                 .dm = 500 * tap_uniform(seed),
                                                 .nbin = i % 3 ? 20 : 12,
                                                 .name = names[i],
                                                 .at = PSR_FOLD_AT_START};
    }
}

static bool run(const struct psr_folder_desc *d)
{
    psr_folder *f = NULL;
    psr_status st = psr_folder_create(&f, d, &err);
    if (!st)
        st = psr_folder_run(f, &err);
    psr_folder_destroy(f);
    if (st)
        diag("%s", err.msg);
    return !st;
}

static double find_mean(const double *x, int *nhigh)
{
    double sum = 0;
    *nhigh = 0;
    for (int i = 0; i < NCAND; i++) {
        sum += x[i] / NCAND;
        *nhigh += x[i] > 2.5;
    }
    return sum;
}

/* The same noise in every run: a bar for the mean of so many folds is no bar for every seed. */
static void test_noise(const char *const *path)
{
    static const struct {
        const char *what;
        bool nosearch, nodmsearch, refine, fine;
    } mode[] = {{"the default search", false, false, false, false},
                {"no search", true, false, false, false},
                {"psrsearch's, fine and refined", false, true, true, true}};
    for (size_t k = 0; k < sizeof mode / sizeof *mode; k++) {
        static struct taken taken;
        struct psr_folder_desc d;
        int nplain, nhigh;
        psr_folder_defaults(&d);
        d.path = path;
        d.npath = 1;
        d.topo = true;
        d.nsub = 8;
        d.npart = 20;
        d.nosearch = mode[k].nosearch;
        d.nodmsearch = mode[k].nodmsearch;
        d.refine = mode[k].refine;
        if (mode[k].fine)
            d.npfact = d.pstep = 1, d.pdstep = 2;
        d.cand = cands;
        d.ncand = NCAND;
        d.take = take;
        d.ctx = &taken;
        d.device = "cpu";
        bool good = run(&d);
        const double plain = find_mean(taken.sigma, &nplain);
        const double mean = find_mean(taken.sigma_trials, &nhigh);
        good &= mean < 0.5 && nhigh <= NCAND / 60;
        ok(good,
           "%d folds of noise, %s: sigma has a mean of %.2f and %d above 2.5, sigma_trials %.2f "
           "and %d",
           NCAND, mode[k].what, plain, nplain, mean, nhigh);
        ok(mode[k].nosearch ? taken.ntrial[0] == 1 && taken.sigma[0] == taken.sigma_trials[0]
                            : taken.ntrial[0] > 10,
           "one trial without a search, else many (%.0f)", taken.ntrial[0]);
    }
}

/* --- counts ----------------------------------------------------------------------------------- */

static void test_sigma(void)
{
    const double dof = 19, redchi = 4;
    const double one = psr_fold_sigma_trials(redchi, dof, 1);
    ok(one > 5 && psr_fold_sigma_trials(redchi, dof, 1e4) < one &&
           psr_fold_sigma_trials(redchi, dof, 1e4) > 0,
       "more trials, less sigma");
    ok(isnan(psr_fold_sigma_trials(redchi, dof, 0)), "no number where the trials are not known");
    ok(psr_fold_sigma_trials(1, dof, 100) == 0, "never below 0");
}

int main(void)
{
    uint64_t seed = 41;
    const char *path;
    scratch_make();
    path = save_noise(&seed);
    fill_candidates(&seed);
    test_noise(&path);
    test_sigma();
    return done_testing();
}
