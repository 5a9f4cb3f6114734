/* pfd: prepfold's .pfd and .bestprof files, read and written back. */
#include <psrkit/experimental/fold.h>

#include "search/fold/fold_internal.h"
#include "tests/support/bestprof_read.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <math.h>
#include <stddef.h>

static psr_err err;

enum { ROOM = 1 << 21, HEADER_COUNTS = 12 };

static unsigned char was[ROOM], is[ROOM];

static size_t read_bytes(const char *path, unsigned char *to)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(to, 1, ROOM, f) : 0;
    if (f)
        fclose(f);
    return n;
}

static psr_status write_pfd(const struct psr_pfd *p, const char *path)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, &err);
    if (st || (st = psr_pfd_write(f, p, &err))) {
        psr_outfile_abort(st ? f : NULL);
        return st;
    }
    return psr_outfile_commit(f, &err);
}

/* Where the header's numbers begin in a file: after the counts, four texts and two positions. */
static size_t numbers_at(const unsigned char *file)
{
    size_t at = HEADER_COUNTS * 4;
    for (int i = 0; i < 4; i++) {
        int32_t length;
        memcpy(&length, file + at, 4);
        at += 4 + (size_t)length;
    }
    return at + 2 * PSR_PFD_POSITION;
}

/* The four bytes after each of the three flags are undefined in prepfold's files; the first two hold
 * the digest here. */
static void clear_undefined(unsigned char *file)
{
    memset(file + numbers_at(file) + 9 * 8 + 32 * 2 + 4, 0, 4);
}

static void fill(struct psr_pfd *p, uint64_t *seed)
{
    *p = (struct psr_pfd){.ndm = (int32_t)tap_between(seed, 0, 9),
                          .nperiod = (int32_t)tap_between(seed, 0, 9),
                          .npdot = (int32_t)tap_between(seed, 0, 9),
                          .nsub = (int32_t)tap_between(seed, 1, 7),
                          .npart = (int32_t)tap_between(seed, 1, 300),
                          .nbin = (int32_t)tap_between(seed, 1, 33),
                          .nchan = 96,
                          .pstep = 1,
                          .pdstep = 2,
                          .dmstep = -3,
                          .ndmfact = 4,
                          .npfact = 5,
                          .telescope = strdup("GBT"),
                          .ra = "01:02:03.0000",
                          .dec = "Unknown",
                          .tsamp_s = 1e-4,
                          .digest = UINT64_C(0x123456789abcdef0),
                          .bary = {1, 0.25, 0.5, 0.125},
                          .orbit = {.omega_dot = 7}};
    p->input = calloc(1, (size_t)tap_between(seed, 1, 5));
    if (psr_pfd_allocate(p, &err) != PSR_OK)
        exit(EXIT_FAILURE);
    for (int32_t i = 0; i < p->ndm; i++)
        p->trial_dm[i] = tap_uniform(seed);
    for (int32_t i = 0; i < p->nperiod; i++)
        p->trial_period_s[i] = tap_uniform(seed);
    for (int32_t i = 0; i < p->npdot; i++)
        p->trial_pdot[i] = tap_uniform(seed);
    for (int32_t i = 0; i < p->npart * p->nsub; i++)
        p->stats[i] = (struct psr_fold_stats){1, tap_uniform(seed), 3, 4, 5, 6, tap_uniform(seed)};
    for (int32_t i = 0; i < p->npart * p->nsub * p->nbin; i++)
        p->profile[i] = tap_uniform(seed);
}

static int count_differences(const struct psr_pfd *a, const struct psr_pfd *b)
{
    const size_t nprof = (size_t)a->npart * (size_t)a->nsub, nbin = (size_t)a->nbin;
    int bad = memcmp(&a->ndm, &b->ndm, HEADER_COUNTS * sizeof(int32_t)) != 0;
    bad += strcmp(b->candidate, "") != 0 || strcmp(b->input, "") != 0;
    bad += strcmp(a->telescope, b->telescope) != 0 || memcmp(a->ra, b->ra, sizeof a->ra) != 0;
    bad += memcmp(a->dec, b->dec, sizeof a->dec) != 0;
    bad += a->tsamp_s != b->tsamp_s || a->bary.p != b->bary.p || a->bary.flag != b->bary.flag ||
           a->digest != b->digest;
    bad += a->orbit.omega_dot != b->orbit.omega_dot;
    bad += memcmp(a->trial_dm, b->trial_dm, (size_t)a->ndm * 8) != 0;
    bad += memcmp(a->trial_period_s, b->trial_period_s, (size_t)a->nperiod * 8) != 0;
    bad += memcmp(a->trial_pdot, b->trial_pdot, (size_t)a->npdot * 8) != 0;
    bad += memcmp(a->profile, b->profile, nprof * nbin * 8) != 0;
    return bad + (memcmp(a->stats, b->stats, nprof * sizeof *a->stats) != 0);
}

static void swap(unsigned char *at, size_t size)
{
    for (size_t i = 0; i < size / 2; i++) {
        unsigned char byte = at[i];
        at[i] = at[size - 1 - i];
        at[size - 1 - i] = byte;
    }
}

/* As a big-endian machine writes the file. */
static void make_big_endian(unsigned char *file, size_t n)
{
    size_t at = HEADER_COUNTS * 4, numbers = numbers_at(file);
    for (size_t i = 0; i < HEADER_COUNTS; i++)
        swap(file + 4 * i, 4);
    for (int i = 0; i < 4; i++) {
        int32_t length;
        memcpy(&length, file + at, 4);
        swap(file + at, 4);
        at += 4 + (size_t)length;
    }
    for (size_t i = 0; numbers + 8 * i < n; i++)
        swap(file + numbers + 8 * i, i == 9 || i == 13 || i == 17 ? 4 : 8);
}

static void test_random(uint64_t *seed)
{
    int bad = 0;
    for (int k = 0; k < 50; k++) {
        struct psr_pfd made, got;
        fill(&made, seed);
        bad += write_pfd(&made, scratch("x.pfd")) != PSR_OK;
        bad += psr_pfd_read(&got, scratch("x.pfd"), 0, &err) != PSR_OK ||
               count_differences(&made, &got);
        psr_pfd_clear(&got);
        size_t n = read_bytes(scratch("x.pfd"), was);
        for (size_t cut = 0; cut < n; cut += cut < 400 ? 1 : 1000) {
            bad += psr_pfd_parse(&got, was, cut, "cut", &err) != PSR_EFORMAT ||
                   !strstr(err.msg, "cut: ");
            psr_pfd_clear(&got);
        }
        bad += psr_pfd_parse(&got, was, n + 1, "long", &err) != PSR_EFORMAT;
        psr_pfd_clear(&got);
        make_big_endian(was, n);
        bad += psr_pfd_parse(&got, was, n, "swapped", &err) != PSR_OK ||
               count_differences(&made, &got);
        psr_pfd_clear(&got);
        psr_pfd_clear(&made);
    }
    ok(bad == 0,
       "files are read as they were written, in both byte orders, and only whole (%d bad)", bad);
}

static void test_refusals(void)
{
    struct psr_pfd p = {.nsub = 1, .npart = PSR_PFD_NPART_MAX + 1, .nbin = 1};
    ok(psr_pfd_allocate(&p, &err) == PSR_EINVAL && strstr(err.msg, "number of parts = 65536"),
       "too many parts are refused: %s", err.msg);
    p = (struct psr_pfd){.nsub = INT32_MAX, .npart = 60000, .nbin = INT32_MAX};
    ok(psr_pfd_allocate(&p, &err) == PSR_ENOMEM, "so is a cube beyond memory: %s", err.msg);
    psr_pfd_clear(&p);
    ok(psr_pfd_read(&p, scratch("none"), 0, &err) == PSR_EIO, "and no file: %s", err.msg);
    char *text = tap_take(PSR_PFD_TEXT_MAX + 2, 1);
    memset(text, 'a', PSR_PFD_TEXT_MAX + 1);
    p = (struct psr_pfd){.nsub = 1, .npart = 1, .nbin = 1, .candidate = text};
    ok(psr_pfd_allocate(&p, &err) == PSR_OK && write_pfd(&p, scratch("y.pfd")) == PSR_EINVAL,
       "and a name that is too long: %s", err.msg);
    psr_pfd_clear(&p);
    ok(scratch_count("y.pfd") == 0, "which leaves no file");
    memset(was, 0, 400);
    was[12] = was[16] = was[20] = 1;
    was[48] = 2;
    ok(psr_pfd_parse(&p, was, 400, "z", &err) == PSR_EFORMAT && strstr(err.msg, "z: "),
       "and a name with a NUL byte: %s", err.msg);
    psr_pfd_clear(&p);
    was[48] = 0;
    memset(was + 64, 'x', 16);
    ok(psr_pfd_parse(&p, was, 400, "z", &err) == PSR_EFORMAT &&
           strstr(err.msg, "right ascension is no text"),
       "and a position without an end: %s", err.msg);
    psr_pfd_clear(&p);
}

/* --- .bestprof -------------------------------------------------------------------------------- */

static psr_status rewrite_best(const char *from, const char *to)
{
    struct psr_bestprof best;
    psr_outfile *f;
    psr_status st = bestprof_read(&best, from, &err);
    if (!st && !(st = psr_outfile_create(&f, to, &err))) {
        if (!(st = psr_bestprof_write(f, &best, &err)))
            st = psr_outfile_commit(f, &err);
        else
            psr_outfile_abort(f);
    }
    psr_bestprof_clear(&best);
    return st;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        exit(EXIT_FAILURE);
}

static const char best_text[] =
    "# Input file       =  a=b.fil\n# Candidate        =  2.00ms_Cand\n"
    "# Telescope        =  GBT\n# Epoch_topo       =  54721.852893518517\n"
    "# Epoch_bary (MJD) =  54721.854324564738\n# T_sample         =  8.192e-05\n"
    "# Data Folded      =  10444800\n# Data Avg         =  1558.50276214001 \n"
    "# Data StdDev      =  5.7403391407268  \n# Profile Bins     =  2\n"
    "# Profile Avg      =  254346445.673275 \n# Profile StdDev   =  2318.98333998574 \n"
    "# Reduced chi-sqr  =  1088.412\n# Prob(Noise)      <  1.79e-18   (~8.7 sigma)\n"
    "# Best DM          =  242.342\n# P_topo (ms)      =  11.5630585024741  +/- 2.86e-07\n"
    "# P'_topo (s/s)    =  0                 +/- 2.59e-12\n"
    "# P''_topo (s/s^2) =  0                 +/- 1.96e-14\n# P_bary (ms)      =  N/A\n"
    "# P'_bary (s/s)    =  N/A\n# P''_bary (s/s^2) =  N/A\n"
    "# P_orb (s)        =  100              \n# asin(i)/c (s)    =  0.5              \n"
    "# eccentricity     =  0                \n# w (deg)          =  30               \n"
    "# T_peri           =  54721.852893518517\n"
    "######################################################\n"
    "   0  2.543254e+08\n   1  -3\n";

static void test_best(void)
{
    struct psr_bestprof best;
    write_text(scratch("a.bestprof"), best_text);
    ok(bestprof_read(&best, scratch("a.bestprof"), &err) == PSR_OK, "a .bestprof is read");
    ok(best.topo[0].value == 11.5630585024741 && best.topo[0].error == 2.86e-07 &&
           best.sigma == 8.7 && best.prob == 1.79e-18 && best.dm == 242.342,
       "with its numbers");
    ok(isnan(best.bary[0].value) && isnan(best.bary[2].value) && best.omega_deg == 30 &&
           best.nbin == 2 && best.profile[1] == -3 && !strcmp(best.input, "a=b.fil"),
       "and without those that do not apply");
    psr_bestprof_clear(&best);
    ok(rewrite_best(scratch("a.bestprof"), scratch("b.bestprof")) == PSR_OK &&
           read_bytes(scratch("b.bestprof"), is) == sizeof best_text - 1 &&
           !memcmp(is, best_text, sizeof best_text - 1),
       "and written back byte for byte");
    static const struct {
        const char *text, *says;
    } wrong[] = {{"   0  1\n   2  3\n", "line 2: not the next bin"},
                 {"   0  x\n", "line 1: not the next bin"},
                 {"# Best DM = a\n", "line 1: no number: 'a'"},
                 {"# Profile Bins = -1\n", "line 1: no number of bins: '-1'"},
                 {"# Profile Bins = 3\n  0 1\n", "1 bins, and its header says 3"},
                 {"", "0 bins"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text(scratch("c.bestprof"), wrong[i].text);
        ok(bestprof_read(&best, scratch("c.bestprof"), &err) == PSR_EFORMAT &&
               strstr(err.msg, wrong[i].says),
           "wrong text is refused: %s", err.msg);
        psr_bestprof_clear(&best);
    }
    ok(bestprof_read(&best, scratch("none"), &err) == PSR_EIO, "and no file: %s", err.msg);
}

/* --- PRESTO's own ----------------------------------------------------------------------------- */

/* All numbers, but for the last printed digit. */
static bool is_near(const struct psr_bestprof *a, const struct psr_bestprof *b)
{
    /* folded from photons: their bins are not correlated, and chi^2 is not corrected */
    const bool photons = !strncmp(b->input, "M28", 3);
    const double *x = &a->tepoch_mjd, *y = &b->tepoch_mjd;
    int bad = strcmp(a->input, b->input) != 0 || strcmp(a->candidate, b->candidate) != 0 ||
              strcmp(a->telescope, b->telescope) != 0 || a->nbin != b->nbin;
    for (size_t i = 0;
         i < (offsetof(struct psr_bestprof, nbin) - offsetof(struct psr_bestprof, tepoch_mjd)) /
                 sizeof(double);
         i++) {
        const double limit = &x[i] == &a->redchi || &x[i] == &a->dm ? 6e-4 : 6e-3 * fabs(y[i]);
        const bool depends = &x[i] == &a->redchi || &x[i] == &a->prob || &x[i] == &a->sigma;
        if ((photons && depends) || (isnan(x[i]) && isnan(y[i])))
            continue;
        if (!(fabs(x[i] - y[i]) <= limit)) {
            printf("# number %zu: %.15g, must be %.15g\n", i, x[i], y[i]);
            bad++;
        }
    }
    for (size_t i = 0; i < a->nbin && i < b->nbin; i++)
        bad += fabs(a->profile[i] - b->profile[i]) > 1e-6 * fabs(b->profile[i]);
    return bad == 0;
}

static void test_derived(const char *pfd, const char *bestprof)
{
    struct psr_pfd p;
    struct psr_bestprof got = {.nbin = 0}, must = {.nbin = 0};
    bool same = psr_pfd_read(&p, pfd, 0, &err) == PSR_OK &&
                bestprof_read(&must, bestprof, &err) == PSR_OK &&
                psr_fold_bestprof(&got, &p, &err) == PSR_OK;
    ok(same && is_near(&got, &must), "its numbers follow from the .pfd");
    psr_pfd_clear(&p);
    psr_bestprof_clear(&got);
    psr_bestprof_clear(&must);
}

static void test_real(void)
{
    static const char *const name[] = {
        "M28A_bary_PSR_1824-2452A", "Ter5_080912_DM242.30_PSR_1748-2446A",
        "Ter5_080912_bary_DM238.30_8.66ms_Cand", "Ter5_080912_bary_DM238.30_nosearch_8.66ms_Cand"};
    const char *data = getenv("PSRKIT_TEST_DATA");
    if (!data) {
        skip("folds of PRESTO's", "PSRKIT_TEST_DATA is not set");
        return;
    }
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[PATH_MAX];
        struct psr_pfd p;
        snprintf(path, sizeof path, "%s/presto_folds/%s.pfd", data, name[i]);
        size_t n = read_bytes(path, was);
        bool same =
            psr_pfd_read(&p, path, 0, &err) == PSR_OK && write_pfd(&p, scratch("r.pfd")) == PSR_OK;
        psr_pfd_clear(&p);
        clear_undefined(was);
        ok(same && n && read_bytes(scratch("r.pfd"), is) == n && !memcmp(was, is, n),
           "%s.pfd is written back byte for byte", name[i]);
        snprintf(path, sizeof path, "%s/presto_folds/%s.pfd.bestprof", data, name[i]);
        n = read_bytes(path, was);
        same = rewrite_best(path, scratch("r.bestprof")) == PSR_OK;
        ok(same && n && read_bytes(scratch("r.bestprof"), is) == n && !memcmp(was, is, n),
           "and so is its .bestprof");
        char pfd[PATH_MAX];
        snprintf(pfd, sizeof pfd, "%s/presto_folds/%s.pfd", data, name[i]);
        test_derived(pfd, path);
    }
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_random(&seed);
    test_refusals();
    test_best();
    test_real();
    return done_testing();
}
