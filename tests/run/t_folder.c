/* folder: folds of a file are those of its cleaned spectra; what does not go together is refused. */
#include <psrkit/experimental/clean_auto.h>
#include <psrkit/experimental/fold.h>

#include "tests/support/fil.h"

enum { NCHAN = 24, NSAMP = 5 * 2400 + 777, NBIN = 20, NSUB = 8, NPART = 2, NCAND = 7 };

static psr_err err;
static unsigned char spectra[NSAMP * NCHAN];

/* --- a file ----------------------------------------------------------------------------------- */

/* Noise about different levels with a pulsar, a tone, and sparks. */
static void fill_spectra(uint64_t *seed)
{
    for (int t = 0; t < NSAMP; t++) {
        const int spark = t % 3001 < 3 ? 60 : 0, pulse = t % 50 < 4 ? 6 : 0;
        for (int c = 0; c < NCHAN; c++) {
            const double tone = c == 5 ? 70 * (1 + sin(t * 0.7)) : 0;
            const double sum = tap_uniform(seed) + tap_uniform(seed) + tap_uniform(seed);
            spectra[t * NCHAN + c] =
                (unsigned char)(40 + 2 * c + 16 * (sum - 1.5) + pulse + spark + tone);
        }
    }
}

static const char *save_file(const char *name, const unsigned char *data)
{
    const struct fil_desc d = fil_bytes_desc(NCHAN);
    struct fil f = {0};
    const char *path = scratch(name);
    fil_begin(&f, &d);
    fil_text(&f, "HEADER_END");
    fil_bytes(&f, data, sizeof spectra);
    fil_save(&f, path);
    free(f.b);
    return path;
}

/* --- folds ------------------------------------------------------------------------------------ */

static struct psr_folder_candidate cands[NCAND];

static void fill_candidates(uint64_t *seed)
{
    static char names[NCAND][16];
    for (int i = 0; i < NCAND; i++) {
        snprintf(names[i], sizeof names[i], "c%d", i);
        cands[i] = (struct psr_folder_candidate){.f = i ? 5 + 30 * tap_uniform(seed) : 20,
                                                 .dm = i ? 30 * tap_uniform(seed) : 0,
                                                 .nbin = NBIN,
                                                 .name = names[i],
                                                 .at = PSR_FOLD_AT_START};
    }
}

/* What was taken. */
struct taken {
    double profile[NCAND][NPART * NSUB * NBIN];
    double redchi[NCAND], plane[NCAND];
    int n;
    size_t then[NCAND], nthen;
    bool fails[NCAND];
    int ends; /* number taken after which the run is stopped; 0: never */
};

static psr_status take(void *ctx, size_t i, const struct psr_folder_fold *fold, psr_err *e)
{
    struct taken *t = ctx;
    memcpy(t->profile[i], fold->pfd->profile, sizeof t->profile[i]);
    t->redchi[i] = fold->best->redchi;
    t->plane[i] = fold->view ? (double)fold->view->plane[0] : 0;
#pragma omp atomic
    t->n++;
    return t->fails[i] ? psr_fail(e, PSR_EIO, "cannot take %zu", i) : PSR_OK;
}

static void note_then(void *ctx, size_t i)
{
    struct taken *t = ctx;
    t->then[t->nthen++] = i;
}

static bool is_stopped(void *ctx)
{
    const struct taken *t = ctx;
    int n;
#pragma omp atomic read
    n = t->n;
    return t->ends && n >= t->ends;
}

static struct psr_folder_desc describe(const char *const *path, struct taken *taken)
{
    struct psr_folder_desc d;
    psr_folder_defaults(&d);
    d.path = path;
    d.npath = 1;
    d.topo = d.nosearch = d.presto = true;
    d.nsub = NSUB;
    d.npart = NPART;
    d.cand = cands;
    d.ncand = NCAND;
    d.take = take;
    d.then = note_then;
    d.should_stop = is_stopped;
    d.ctx = taken;
    d.device = "cpu";
    return d;
}

static psr_status run(const struct psr_folder_desc *d)
{
    psr_folder *f = NULL;
    ((struct taken *)d->ctx)->nthen = 0;
    psr_status st = psr_folder_create(&f, d, &err);
    if (!st)
        st = psr_folder_run(f, &err);
    psr_folder_destroy(f);
    return st;
}

/* --- what they must be ------------------------------------------------------------------------ */

/* [NSAMP][NCHAN] cleaned */
static unsigned char *clean_spectra(const struct psr_folder_desc *d)
{
    const struct psr_clean_auto_desc desc = {.size = sizeof desc,
                                             .nchan = NCHAN,
                                             .nbit = 8,
                                             .tsamp_s = 1e-3,
                                             .clip_sigma = d->noclip ? 0 : d->clip_sigma,
                                             .zerodm = d->zerodm};
    psr_clean_auto *plan = NULL;
    size_t n = 0, more = 0;
    psr_status st = psr_clean_auto_create(&plan, &desc, &err);
    unsigned char *out = tap_take(sizeof spectra + psr_clean_auto_window(plan) * NCHAN, 1);
    if (!st)
        st = psr_clean_auto_execute(plan, spectra, NSAMP, out, &n, &err);
    if (!st)
        st = psr_clean_auto_finish(plan, out + n * NCHAN, &more, &err);
    ok(!st && n + more == NSAMP, "cleaned apart from the folder");
    psr_clean_auto_destroy(plan);
    return out;
}

static bool is_fold_of(const struct taken *taken, const unsigned char *cleaned)
{
    struct psr_fold_candidate cand[NCAND];
    struct psr_fold_desc d = {.size = sizeof d,
                              .nchan = NCHAN,
                              .nbit = 8,
                              .lofreq_mhz = 1500 - 0.1 * (NCHAN - 1),
                              .width_mhz = 0.1,
                              .tsamp_s = 1e-3,
                              .nsub = NSUB,
                              .block = 2400,
                              .ahead = 1,
                              .npart = NPART,
                              .part_blocks = 2,
                              .cand = cand,
                              .ncand = NCAND};
    psr_fold *f = NULL;
    for (int i = 0; i < NCAND; i++)
        cand[i] = (struct psr_fold_candidate){.f = cands[i].f, .dm = cands[i].dm, .nbin = NBIN};
    psr_status st = psr_fold_create(&f, &d, &err);
    if (!st)
        st = psr_fold_execute(f, cleaned, NSAMP, NULL, 0, &err);
    bool same = !st;
    if (!st)
        same = psr_fold_finish(f, &err) == PSR_OK;
    for (size_t i = 0; i < NCAND && same; i++)
        same = !memcmp(taken->profile[i], psr_fold_profile(f, i), sizeof taken->profile[i]);
    psr_fold_destroy(f);
    return same;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_cleaning(const char *const *path)
{
    static struct taken first, again;
    struct psr_folder_desc d = describe(path, &first);
    d.clean_auto = true;
    d.clean_root = scratch("record");
    ok(run(&d) == PSR_OK && first.n == NCAND, "folds with automatic cleaning");
    unsigned char *cleaned = clean_spectra(&d);
    ok(is_fold_of(&first, cleaned), "they are the folds of the cleaned spectra");
    free(cleaned);
    ok(access(scratch("record.clean.json"), R_OK) == 0 &&
           access(scratch("record.clean.mask"), R_OK) == 0 &&
           access(scratch("record.clean.stats"), R_OK) == 0,
       "and what was removed is recorded");
    d = describe(path, &again);
    d.clean_auto = true;
    d.nthread = 3;
    ok(run(&d) == PSR_OK && !memcmp(first.profile, again.profile, sizeof first.profile),
       "the same on other threads, without a record");
    d.zerodm = true;
    ok(run(&d) == PSR_OK && memcmp(first.profile, again.profile, sizeof first.profile),
       "and others with zero-DM");
    cleaned = clean_spectra(&d);
    ok(is_fold_of(&again, cleaned), "which are those of spectra cleaned with it");
    free(cleaned);
}

/* What is read again is seen, as the file holds zeros by then. */
static void test_kept(void)
{
    static const unsigned char zeros[sizeof spectra];
    static struct taken first, after, again;
    for (int part = 0; part < 2; part++) {
        const char *const path = save_file("kept.fil", spectra);
        struct psr_folder_desc d = describe(&path, &first);
        psr_folder *f = NULL;
        first.nthen = 0;
        d.presto = false;
        d.end = part ? 0.75 : 1;
        d.clean_auto = d.keep_spectra = true;
        psr_status st = psr_folder_create(&f, &d, &err);
        if (!st)
            st = psr_folder_run(f, &err);
        save_file("kept.fil", zeros);
        d.keep_spectra = false;
        d.ctx = &again;
        if (!st)
            st = run(&d);
        ok(!st && memcmp(first.profile, again.profile, sizeof first.profile),
           "a file that has changed has other folds");
        d.after = f;
        d.ctx = &after;
        const bool same =
            run(&d) == PSR_OK && !memcmp(first.profile, after.profile, sizeof first.profile);
        ok(same == !part, "%s",
           part ? "after a folder that stopped before the end it is read again"
                : "but not after a folder that has kept its spectra");
        psr_folder_destroy(f);
    }
}

/* Cubes of so many bins that memory holds few of them beside the spectra. */
static void test_passes(const char *const *path)
{
    static struct taken once, again;
    struct psr_folder_candidate wide[NCAND];
    struct psr_folder_desc d = describe(path, &once);
    memcpy(wide, cands, sizeof wide);
    for (int i = 0; i < NCAND; i++)
        wide[i].nbin = 2000;
    d.cand = wide;
    d.clean_auto = true;
    ok(run(&d) == PSR_OK && once.n == NCAND, "folds of many bins in one pass");
    for (int64_t mem = 7 << 20; mem < 16 << 20; mem += 2 << 20) {
        struct psr_folder_report report = {.npass = 0};
        psr_folder *f = NULL;
        memset(&again, 0, sizeof again);
        d.ctx = &again;
        d.mem_bytes = mem;
        psr_status st = psr_folder_create(&f, &d, &err);
        if (!st)
            st = psr_folder_run(f, &err);
        if (!st)
            psr_folder_describe(f, &report);
        psr_folder_destroy(f);
        ok(!st && !memcmp(once.profile, again.profile, sizeof once.profile),
           "the same in %zu passes with %lld bytes: %s", report.npass, (long long)mem,
           st ? err.msg : "");
    }
}

static bool is_in_order(const struct taken *t, size_t n)
{
    bool good = t->nthen == n;
    for (size_t i = 0; i < t->nthen; i++)
        good = good && t->then[i] == i;
    return good;
}

static void test_threads(const char *const *path)
{
    static struct taken alone, taken;
    struct psr_folder_desc d = describe(path, &alone);
    d.nosearch = false;
    d.view = true;
    d.nthread = 1;
    ok(run(&d) == PSR_OK && is_in_order(&alone, NCAND), "searched by one thread, in order");
    for (int n = 2; n < 2 * NCAND; n += 3) {
        memset(&taken, 0, sizeof taken);
        d.ctx = &taken;
        d.nthread = n;
        const bool same = run(&d) == PSR_OK &&
                          !memcmp(alone.redchi, taken.redchi, sizeof alone.redchi) &&
                          !memcmp(alone.plane, taken.plane, sizeof alone.plane);
        ok(same && is_in_order(&taken, NCAND), "the same by %d, in order", n);
    }
    for (int n = 1; n < 2 * NCAND; n += 3) {
        memset(&taken, 0, sizeof taken);
        taken.fails[3] = taken.fails[5] = true;
        d.nthread = n;
        const psr_status st = run(&d);
        ok(st == PSR_EIO && !strcmp(err.msg, "cannot take 3") && is_in_order(&taken, 3),
           "of %d threads, the first candidate that fails ends the run", n);
        if (n >= NCAND - 2)
            continue; /* all may have begun when it is stopped */
        memset(&taken, 0, sizeof taken);
        taken.ends = 2;
        ok(run(&d) == PSR_ESTOPPED && taken.n >= 2 && taken.n < NCAND + n && taken.nthen < NCAND,
           "and it may be stopped between candidates");
    }
}

static void refuses(const struct psr_folder_desc *d, psr_status want, const char *text,
                    const char *what)
{
    const psr_status st = run(d);
    ok(st == want && strstr(err.msg, text), "%s", what);
    if (st != want || !strstr(err.msg, text))
        diag("%d: %s", st, err.msg);
}

static void test_refusals(const char *const *path)
{
    static struct taken taken;
    static const char *const series[] = {"x.dat"};
    struct psr_folder_desc d = describe(path, &taken);
    d.clean_auto = true;
    d.mask = "x.mask";
    refuses(&d, PSR_EINVAL, "not with mask", "cleaning and a mask");
    d.mask = NULL;
    d.mem_bytes = 100000;
    refuses(&d, PSR_ENOMEM, "-mem: cleaning takes", "less memory than cleaning takes");
    d.mem_bytes = 0;
    d.path = series;
    refuses(&d, PSR_EUNSUPPORTED, "are of channels, not of series", "cleaning of a series");
    ok(taken.n == 0, "nothing is folded");
}

int main(void)
{
    uint64_t seed = tap_seed();
    const char *path;
    scratch_make();
    fill_spectra(&seed);
    fill_candidates(&seed);
    path = save_file("x.fil", spectra);
    test_cleaning(&path);
    test_kept();
    test_passes(&path);
    test_threads(&path);
    test_refusals(&path);
    return done_testing();
}
