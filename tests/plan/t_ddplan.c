#include "plan/ddplan_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <psrkit/ddplan.h>
#include <string.h>
#include <unistd.h>

enum { NRANDOM = 1000 };

/* --- truth: the formulas once more, in long double and from other ends ------------------------ */

/* Smearing in ms from the delays at the two edges of the band. */
static long double edge_smear_ms(long double dm, long double bw, long double fctr)
{
    long double k_ms = 1e7L / 2.41L; /* 1000 / 0.000241 */
    long double f = fctr - bw / 2, g = fctr + bw / 2;
    return k_ms * dm * (g - f) * (g + f) / (f * f * g * g);
}

static bool close_to(double got, long double want, double rel)
{
    return fabsl(got - want) <= rel * fabsl(want) + 1e-12L;
}

static bool is_allowed_step(double step)
{
    for (double decade = 0.01; decade < 1000; decade *= 10)
        for (int lead = 1; lead <= 5; lead += lead == 3 ? 2 : 1)
            if (fabs(step - lead * decade) < 1e-9 * step)
                return step < 300.5;
    return false;
}

/* DM where a channel smears twice as much as all else together. */
static long double crossing(const struct psr_ddplan_desc *d, const struct psr_ddplan_line *l)
{
    const struct psr_band *b = &d->band;
    long double dt = 1000 * b->tsamp_s;
    long double bw = edge_smear_ms(l->dmstep / 2, b->bw_mhz, b->fctr_mhz);
    long double sub =
        d->nsub ? edge_smear_ms(l->dsubdm / 2, (long double)b->bw_mhz / d->nsub, b->fctr_mhz) : 0;
    long double other =
        sqrtl(dt * dt * (1 + (long double)l->downsamp * l->downsamp) + bw * bw + sub * sub);
    return 2e-3L * other * b->nchan / b->bw_mhz * 0.0001205L * powl(b->fctr_mhz, 3) + d->cohdm;
}

/* --- 1000 random plans ------------------------------------------------------------------------ */

static double log_uniform(uint64_t *rng, double lo, double hi)
{
    return lo * pow(hi / lo, tap_uniform(rng));
}

static struct psr_ddplan_desc random_desc(uint64_t *rng)
{
    struct psr_ddplan_desc d = {.size = sizeof d, .nproc = 1};
    d.band.tsamp_s = log_uniform(rng, 1e-6, 1e-2);
    d.band.fctr_mhz = log_uniform(rng, 30, 2e4);
    d.band.bw_mhz = d.band.fctr_mhz * log_uniform(rng, 1e-3, 1.9);
    d.band.nchan =
        tap_between(rng, 0, 1) ? (int64_t)1 << tap_between(rng, 0, 14) : tap_between(rng, 1, 20000);
    d.lodm = tap_between(rng, 0, 1) ? 0 : log_uniform(rng, 0.1, 2000);
    d.hidm = d.lodm + log_uniform(rng, 0.1, 5000);
    d.cohdm = tap_between(rng, 0, 3) ? 0 : log_uniform(rng, 1, 1000);
    d.blocklen = tap_between(rng, 0, 1) ? 2400 : tap_between(rng, 1, 9999);
    d.nsub = tap_between(rng, 0, 1) ? 0 : tap_between(rng, 1, 600);
    d.nproc = tap_between(rng, 0, 2) ? 1 : tap_between(rng, 1, 64);
    d.res_ms = tap_between(rng, 0, 2) ? 0 : log_uniform(rng, 0.01, 20);
    return d;
}

/* Ranges follow each other without a gap and cover what was asked. */
static const char *fault_of_ranges(const struct psr_ddplan *p)
{
    if (p->nline < 1 || p->line[0].lodm != p->desc->lodm)
        return "the first line does not begin at the low DM";
    if (p->line[p->nline - 1].hidm < p->desc->hidm)
        return "the high DM is not reached";
    int64_t ndm = 0;
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i];
        if (l->ndm < 1 || (p->desc->nproc > 1 && l->ndm % p->desc->nproc))
            return "a number of trials";
        if (!close_to(l->hidm, l->lodm + (long double)l->ndm * l->dmstep, 1e-12))
            return "trials do not fill their line";
        if (i > 0 && l->lodm != p->line[i - 1].hidm)
            return "a gap or an overlap";
        if (i > 0 && l->lodm >= p->desc->hidm)
            return "a line beyond the high DM";
        ndm += l->ndm;
    }
    return ndm == psr_ddplan_ndm(p) ? NULL : "the sum of the trials";
}

static const char *fault_of_parameters(const struct psr_ddplan *p)
{
    double work = 0;
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i], *before = i ? l - 1 : l;
        if (!is_allowed_step(l->dmstep) || l->dmstep < before->dmstep)
            return "a DM step";
        if (p->desc->blocklen % l->downsamp || l->downsamp > 259 || l->downsamp < before->downsamp)
            return "a downsampling factor";
        if (p->desc->nsub && (l->dms_per_call < 1 || l->ncall < 1 || l->ncall % p->desc->nproc))
            return "a number of calls";
        if (p->desc->nproc == 1 && p->desc->nsub && l->ndm != l->ncall * l->dms_per_call)
            return "calls do not make up the line";
        work += l->work;
    }
    return fabs(work - 1) < 1e-12 ? NULL : "shares of work do not sum to 1";
}

static const char *fault_of_smearing(const struct psr_ddplan *p, uint64_t *rng)
{
    const struct psr_band *b = &p->desc->band;
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i];
        double dm = l->lodm + tap_uniform(rng) * (l->hidm - l->lodm);
        struct psr_smearing s = psr_ddplan_smearing(p, i, dm);
        long double dt = 1000 * b->tsamp_s;
        long double chan = edge_smear_ms(fabsl((long double)dm - p->desc->cohdm),
                                         (long double)b->bw_mhz / b->nchan, b->fctr_mhz);
        long double bw = edge_smear_ms(l->dmstep / 2, b->bw_mhz, b->fctr_mhz);
        long double sub =
            p->desc->nsub
                ? edge_smear_ms(l->dsubdm / 2, (long double)b->bw_mhz / p->desc->nsub, b->fctr_mhz)
                : 0;
        long double total = sqrtl(dt * dt + dt * dt * l->downsamp * l->downsamp + bw * bw +
                                  chan * chan + sub * sub);
        /* A narrow channel is a small difference of large delays. */
        double loss = 1e-14 * b->fctr_mhz / b->bw_mhz * (double)(b->nchan + p->desc->nsub) + 1e-10;
        if (!close_to(s.chan, chan, loss) || !close_to(s.bw, bw, loss) ||
            !close_to(s.sub, sub, loss) || !close_to(s.total, total, loss) ||
            !close_to(s.sample, dt * l->downsamp, 1e-12))
            return "a smearing term";
    }
    return NULL;
}

/* Where nothing is rounded to calls, a line ends at the first trial beyond its crossing. */
static const char *fault_of_ends(const struct psr_ddplan *p)
{
    int64_t factor[PSR_DDPLAN_MAX_FACTORS];
    int64_t last = factor[psr_ddplan_factors(p->desc->blocklen, factor) - 1];
    if (p->desc->nsub || p->desc->nproc > 1)
        return NULL;
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i];
        long double end = crossing(p->desc, l);
        if (end > p->desc->hidm || l->downsamp == last)
            end = p->desc->hidm;
        long double slack = 1e-9L * end;
        if (l->hidm < end - slack || l->hidm > end + l->dmstep + slack)
            return "a line does not end at its crossing";
    }
    return NULL;
}

static void test_random_plans(void)
{
    uint64_t rng = tap_seed();
    int bad = 0;
    for (int n = 0; n < NRANDOM; n++) {
        struct psr_ddplan_desc d = random_desc(&rng);
        struct psr_ddplan p;
        psr_err err = {0};
        const char *fault = NULL;
        if (psr_ddplan_make(&p, &d, &err) != PSR_OK)
            fault = err.msg;
        fault = fault ? fault : fault_of_ranges(&p);
        fault = fault ? fault : fault_of_parameters(&p);
        fault = fault ? fault : fault_of_smearing(&p, &rng);
        fault = fault ? fault : fault_of_ends(&p);
        if (fault && bad++ < 5)
            diag("%s: -l %.17g -d %.17g -f %.17g -b %.17g -n %lld -t %.17g -k %lld -s %lld -p %lld "
                 "-r %.17g -c %.17g",
                 fault, d.lodm, d.hidm, d.band.fctr_mhz, d.band.bw_mhz, (long long)d.band.nchan,
                 d.band.tsamp_s, (long long)d.blocklen, (long long)d.nsub, (long long)d.nproc,
                 d.res_ms, d.cohdm);
    }
    ok(bad == 0, "%d random plans are gapless, cover their range and obey the formulas", NRANDOM);
}

/* --- single facts ----------------------------------------------------------------------------- */

static void test_factors(void)
{
    static const struct {
        int64_t blocklen;
        const char *factors;
    } cases[] = {
        {1024, " 1 2 4 8 16 32 64 128 256"},
        {2400, " 1 2 3 5 8 12 24 48 96 150 240"},
        {1000, " 1 2 4 8 20 40 100 200"},
        {500, " 1 2 4 10 20 50 100 250"},
        {1600, " 1 2 4 8 16 32 64 100 200"},
        {1021, " 1"},
        {7, " 1 7"},
        {1, " 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t factor[PSR_DDPLAN_MAX_FACTORS];
        char text[256] = "";
        size_t used = 0;
        int n = psr_ddplan_factors(cases[i].blocklen, factor);
        for (int k = 0; k < n; k++)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, " %lld", (long long)factor[k]);
        if (!ok(!strcmp(text, cases[i].factors), "factors of blocks of %lld",
                (long long)cases[i].blocklen))
            diag("got%s, want%s", text, cases[i].factors);
    }
}

static const struct psr_ddplan_desc usual = {
    .size = sizeof(struct psr_ddplan_desc),
    .band = {.tsamp_s = 64e-6, .fctr_mhz = 1400, .bw_mhz = 300, .nchan = 1024},
    .hidm = 1000,
    .blocklen = 1024,
    .nproc = 1,
};

static void test_beyond_ddplan(void)
{
    struct psr_ddplan_desc d = usual;
    struct psr_ddplan p;
    d.blocklen = 1021;
    ok(psr_ddplan_make(&p, &d, NULL) == PSR_OK && p.nline == 1 && p.line[0].downsamp == 1 &&
           p.line[0].hidm >= 1000,
       "a prime block length plans without downsampling");
    d = usual;
    d.lodm = 500;
    ok(psr_ddplan_make(&p, &d, NULL) == PSR_OK && p.line[0].lodm == 500 && p.line[0].downsamp == 8,
       "a low DM beyond the first factors begins at a later one");
    d = usual;
    d.band.bw_mhz = 0.01;
    d.band.nchan = 1;
    ok(psr_ddplan_make(&p, &d, NULL) == PSR_OK && p.line[0].dmstep == 300,
       "a band that hardly disperses takes the widest step");
    ok(psr_ddplan_nsub(1024) == 64 && psr_ddplan_nsub(96) == 32 && psr_ddplan_nsub(31) == 31,
       "sub-bands for prepsubband");
}

static void test_at_coherent_dm(void)
{
    struct psr_ddplan_desc d = usual;
    struct psr_ddplan p;
    d.cohdm = 50;
    if (!ok(psr_ddplan_make(&p, &d, NULL) == PSR_OK, "a plan about a coherent DM"))
        return;
    struct psr_smearing s = psr_ddplan_smearing(&p, 0, 50);
    near(s.chan, (double)edge_smear_ms(p.line[0].dmstep / 2, 300.0L / 1024, 1400), 1e-9,
         "at the coherent DM a channel smears by half a step");
}

static void refuse(struct psr_ddplan_desc d, const char *field)
{
    struct psr_ddplan p;
    psr_err err = {0};
    psr_status st = psr_ddplan_make(&p, &d, &err);
    if (!ok(st == PSR_EINVAL && !strcmp(err.field, field), "refused: %s", err.msg))
        diag("status %d, '%s'", (int)st, err.msg);
}

static void test_refusals(void)
{
    struct psr_ddplan_desc d;
#define REFUSE(field, value)                                                                       \
    d = usual;                                                                                     \
    d.field = (value);                                                                             \
    refuse(d, strrchr("." #field, '.') + 1)
    REFUSE(band.bw_mhz, 0);
    REFUSE(band.bw_mhz, 2800);
    REFUSE(band.bw_mhz, 1e-12);
    REFUSE(band.fctr_mhz, -1400);
    REFUSE(band.fctr_mhz, NAN);
    REFUSE(band.nchan, 0);
    REFUSE(band.tsamp_s, 0);
    REFUSE(lodm, -1);
    d = usual, d.lodm = 1000;
    refuse(d, "hidm");
    REFUSE(hidm, 1e7);
    REFUSE(cohdm, -1);
    REFUSE(blocklen, 0);
    REFUSE(nsub, -1);
    REFUSE(nproc, 0);
    REFUSE(res_ms, -0.5);
#undef REFUSE
}

/* --- the text format -------------------------------------------------------------------------- */

static void test_parse(void)
{
    struct psr_planfile f;
    psr_err err = {0};
    psr_status st = psr_planfile_parse(&f,
                                       "# band tsamp_s=6.4e-5 nchan=96 fctr_mhz=1374 bw_mhz=288\n"
                                       "# lodm dmstep ndms downsamp nsub\n"
                                       "0 0.5 40 # the near ones\r\n"
                                       "\n  20\t1 60 2 32",
                                       "x", &err);
    if (!ok(st == PSR_OK, "a plan is read"))
        diag("%s", err.msg);
    ok(f.has_band && f.band.nchan == 96 && f.band.tsamp_s == 6.4e-5 && f.band.bw_mhz == 288,
       "its band");
    ok(f.nline == 2 && f.line[0].ndm == 40 && f.line[0].downsamp == 1 && f.line[0].nsub == 0 &&
           f.line[1].lodm == 20 && f.line[1].downsamp == 2 && f.line[1].nsub == 32,
       "its lines, with the columns that may be missing");
    psr_planfile_clear(&f);
}

/* The smallest and the largest values that columns may have, and bands. */
static void test_parse_limits(void)
{
    static const struct {
        const char *text;
        bool fine;
    } cases[] = {
        {"# band tsamp_s=1e-9 nchan=1 fctr_mhz=0.5 bw_mhz=0.25\n0 1 1\n", true},
        {"# band tsamp_s=1 nchan=1048576 fctr_mhz=9e6 bw_mhz=1e6\n0 1 1\n", true},
        {"# band tsamp_s=1 nchan=1048577 fctr_mhz=9e6 bw_mhz=1e6\n0 1 1\n", false},
        {"# band tsamp_s=1 nchan=1.5 fctr_mhz=9e6 bw_mhz=1e6\n0 1 1\n", false},
        {"# band tsamp_s=1 nchan=0 fctr_mhz=9e6 bw_mhz=1e6\n0 1 1\n", false},
        {"0 0.01 1\n", true},
        {"0 0.01 1 1 0\n", true},
        {"0 0.01 1 1 1\n", true},
        {"0 0.01 0\n", false},
        {"0 0.01 1.5\n", false},
        {"0 -1 5\n", false},
        {"0 1 5 1 -1\n", false},
        {"0 1 5 1.5\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct psr_planfile f;
        psr_err err = {0};
        psr_status st = psr_planfile_parse(&f, cases[i].text, "x", &err);
        ok(st == (cases[i].fine ? PSR_OK : PSR_EFORMAT), "limits of plans, %zu: %s", i,
           cases[i].fine ? "taken" : "refused");
        if (st == PSR_OK)
            psr_planfile_clear(&f);
    }
}

static void test_parse_table(void)
{
    struct psr_planfile f;
    psr_status st = psr_planfile_parse(
        &f,
        "\nMinimum total smearing     : 0.0906 ms\n\n"
        "  Low DM    High DM     dDM  DownSamp  dsubDM   #DMs  DMs/call  calls  WorkFract\n"
        "    0.000    240.000    0.10       1    2.60    2400      25      96    0.8499\n"
        "  240.000    492.000    0.30       2    7.20     840      21      40    0.1487\n\n\n",
        "x", NULL);
    ok(st == PSR_OK && f.nline == 2 && f.line[1].lodm == 240 && f.line[1].dmstep == 0.3 &&
           f.line[1].ndm == 840 && f.line[1].downsamp == 2 && f.line[1].nsub == 0,
       "DDplan.py's table with sub-bands is read");
    psr_planfile_clear(&f);
    st = psr_planfile_parse(&f,
                            "  Low DM    High DM     dDM  DownSamp   #DMs  WorkFract\n"
                            "  450.800    793.300    0.50       4     685   0.05982\n",
                            "x", NULL);
    ok(st == PSR_OK && f.nline == 1 && f.line[0].ndm == 685 && f.line[0].downsamp == 4,
       "and without");
    psr_planfile_clear(&f);
}

static void test_parse_errors(void)
{
    static const char *const cases[][2] = {
        {"", "no line of trials"},
        {"# lodm dmstep ndms downsamp nsub\n", "no line of trials"},
        {"0 0.1\n", "line 1: ndms is missing"},
        {"\n0 0.1 ten\n", "line 2: ndms: 'ten'"},
        {"0 0 10\n", "dmstep: 0 is below"},
        {"-1 0.1 10\n", "lodm: -1 is below 0"},
        {"0 0.1 10 0\n", "downsamp: 0 is below 1"},
        {"0 0.1 10 1 0 7\n", "6 columns"},
        {"# band tsamp_s=1e-3 nchan=16 fctr_mhz=10 bw_mhz=30\n0 1 1\n", "band: the band of 30"},
        {"# band tsamp_s=fast\n0 1 1\n", "tsamp_s: 'fast'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct psr_planfile f;
        psr_err err = {0};
        psr_status st = psr_planfile_parse(&f, cases[i][0], "plan.txt", &err);
        if (!ok(st == PSR_EFORMAT && strstr(err.msg, cases[i][1]) && strstr(err.msg, "plan.txt"),
                "refused: %s", cases[i][1]))
            diag("status %d, '%s'", (int)st, err.msg);
    }
}

/* What is written reads back as it was, to the digits it is written with. */
static void test_round_trip(void)
{
    const char *path = scratch("a.plan");
    struct psr_ddplan p;
    struct psr_planfile wrote, read = {0};
    psr_outfile *f;
    psr_err err = {0};
    scratch_make();
    psr_status st = psr_ddplan_make(&p, &usual, &err);
    if (st == PSR_OK)
        st = psr_planfile_from_ddplan(&wrote, &p, &err);
    if (st == PSR_OK)
        st = psr_outfile_create(&f, path, &err);
    if (st == PSR_OK)
        st = psr_planfile_write(f, &wrote, "one\ntwo # three", &err);
    if (st == PSR_OK)
        st = psr_outfile_commit(f, &err);
    if (st == PSR_OK)
        st = psr_planfile_read(&read, path, &err);
    if (!ok(st == PSR_OK, "a plan is written and read"))
        diag("%s", err.msg);
    bool same = read.nline == wrote.nline && read.has_band && read.band.nchan == 1024;
    for (size_t i = 0; same && i < read.nline; i++)
        same = close_to(read.line[i].lodm, wrote.line[i].lodm, 1e-9) &&
               read.line[i].dmstep == wrote.line[i].dmstep &&
               read.line[i].ndm == wrote.line[i].ndm &&
               read.line[i].downsamp == wrote.line[i].downsamp;
    ok(same, "and is the same");
    psr_planfile_clear(&read);
    ok(psr_planfile_read(&read, scratch_dir, NULL) == PSR_EIO, "a folder is no plan");
    psr_planfile_clear(&wrote);
}

/* --- lists by tolerance ----------------------------------------------------------------------- */

/* Square of the width, us, that a pulse of DM dm has when it is dedispersed at x. */
static long double width_square(const struct psr_dm_tolerance_desc *d, long double dm,
                                long double x)
{
    const long double ghz = d->band.fctr_mhz / 1000, tsamp = d->band.tsamp_s * 1e6L;
    const long double channel = 8.3L * d->band.bw_mhz / d->band.nchan / powl(ghz, 3);
    const long double band = d->band.bw_mhz / 4 * 8.3L / powl(ghz, 3);
    return tsamp * tsamp + 1e12L * d->width_s * d->width_s + powl(channel * x, 2) +
           powl(band * (x - dm), 2);
}

/* The larger x at which it has grown by the tolerance, by halving. */
static long double find_next(const struct psr_dm_tolerance_desc *d, long double dm)
{
    const long double most = width_square(d, dm, dm) * d->tolerance * d->tolerance;
    long double low = dm, high = 1e9L;
    for (int k = 0; k < 200; k++) {
        const long double middle = (low + high) / 2;
        if (width_square(d, dm, middle) < most)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void test_tolerance(void)
{
    uint64_t rng = tap_seed();
    int wrong = 0;
    size_t total = 0;
    for (int n = 0; n < 200; n++) {
        struct psr_dm_tolerance_desc d = {.size = sizeof d,
                                          .tolerance = 1 + log_uniform(&rng, 0.01, 2)};
        d.band.tsamp_s = log_uniform(&rng, 1e-5, 1e-2);
        d.band.fctr_mhz = log_uniform(&rng, 100, 5000);
        d.band.bw_mhz = d.band.fctr_mhz * log_uniform(&rng, 0.05, 1);
        d.band.nchan = tap_between(&rng, 8, 4096);
        d.lodm = tap_between(&rng, 0, 1) ? 0 : log_uniform(&rng, 0.1, 2000);
        d.hidm = d.lodm + log_uniform(&rng, 0.1, 500);
        d.width_s = tap_between(&rng, 0, 1) ? 0 : log_uniform(&rng, 1e-6, 1e-2);
        double *dm;
        size_t ndm;
        psr_err err;
        if (psr_dm_tolerance_list(&d, &dm, &ndm, &err)) {
            wrong += !strstr(err.msg, "more than 1000000 DMs");
            continue;
        }
        wrong += dm[0] != (double)(float)d.lodm || dm[ndm - 1] < d.hidm ||
                 (ndm > 1 && dm[ndm - 2] >= d.hidm);
        for (size_t i = 1; i < ndm; i += 1 + ndm / 50)
            wrong += fabsl(dm[i] - find_next(&d, dm[i - 1])) > 1e-7L * dm[i];
        total += ndm;
        free(dm);
    }
    ok(!wrong && total > 10000, "DMs by a tolerance: each widens a pulse by it (%zu DMs, %d wrong)",
       total, wrong);
}

static void test_tolerance_refusals(void)
{
    enum { TOLERANCE_SIZE = sizeof(struct psr_dm_tolerance_desc) };
    static const struct {
        const char *field;
        struct psr_dm_tolerance_desc d;
    } bad[] = {
        {"tolerance", {TOLERANCE_SIZE, {64e-6, 1400, 300, 1024}, 0, 100, 1, 40e-6}},
        {"tolerance", {TOLERANCE_SIZE, {64e-6, 1400, 300, 1024}, 0, 100, NAN, 40e-6}},
        {"tolerance", {TOLERANCE_SIZE, {1e-9, 1400, 300, 1000000}, 0, 1e5, 1.0001, 0}},
        {"width_s", {TOLERANCE_SIZE, {64e-6, 1400, 300, 1024}, 0, 100, 1.25, -1}},
        {"hidm", {TOLERANCE_SIZE, {64e-6, 1400, 300, 1024}, 100, 100, 1.25, 0}},
        {"hidm", {TOLERANCE_SIZE, {64e-6, 1400, 300, 1024}, 0, 2e6, 1.25, 0}},
        {"nchan", {TOLERANCE_SIZE, {64e-6, 1400, 300, 0}, 0, 100, 1.25, 0}},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        double *dm;
        size_t ndm;
        psr_err err = {0};
        ok(psr_dm_tolerance_list(&bad[k].d, &dm, &ndm, &err) == PSR_EINVAL && !dm && !ndm &&
               !strcmp(err.field, bad[k].field),
           "refused: %s", err.msg);
    }
}

int main(void)
{
    test_tolerance();
    test_tolerance_refusals();
    test_random_plans();
    test_factors();
    test_beyond_ddplan();
    test_at_coherent_dm();
    test_refusals();
    test_parse();
    test_parse_limits();
    test_parse_table();
    test_parse_errors();
    test_round_trip();
    return done_testing();
}
