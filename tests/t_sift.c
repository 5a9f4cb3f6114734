/* Sifting: against a naive search of all pairs, whatever the order of lists; each rejection; DMs; few
 * candidates. */
#include <psrkit/sift.h>

#include "scratch.h"
#include "tap.h"

#include <psrkit/signif.h>

/* --- made lists ------------------------------------------------------------------------------- */

enum { MOST_LISTS = 24, MOST_ROWS = 20, MOST_HARM = 16, MOST_ALL = MOST_LISTS * MOST_ROWS };

/* A list with the storage of its rows. */
struct made {
    struct psr_accel_rows rows;
    struct psr_accel_row row[MOST_ROWS];
    double power[MOST_ROWS][MOST_HARM];
    double dm;
    char path[64];
};

static void begin_list(struct made *m, double dm, double tobs_s)
{
    *m = (struct made){.dm = dm};
    m->rows.row = m->row;
    m->rows.tobs_s = tobs_s;
    snprintf(m->path, sizeof m->path, "nowhere/m_DM%.2f_T%.0f_ACCEL_0", dm, tobs_s);
}

static void add_row(struct made *m, double r, double coherent, int nharm, const double *power)
{
    const size_t i = m->rows.n++;
    memcpy(m->power[i], power, (size_t)nharm * sizeof *power);
    m->row[i] = (struct psr_accel_row){.number = (int64_t)i + 1,
                                       .r = r,
                                       .z = 4,
                                       .coherent = coherent,
                                       .nharm = nharm,
                                       .harm_power = m->power[i]};
}

/* Families of harmonics, chance candidates and equals, over a few DMs and lengths. */
static size_t make_lists(uint64_t *random, struct made *m)
{
    const size_t n = (size_t)tap_between(random, 1, MOST_LISTS);
    const double f0 = 1 + 50 * tap_uniform(random);
    static const double ratio[] = {1, 2, 3, 0.5, 0.25, 1.5, 2.0 / 3, 0.8, 16, 17, 1.0 / 16};
    for (size_t i = 0; i < n; i++) {
        begin_list(&m[i], (double)tap_between(random, 0, 12) * 0.5,
                   (double)(100 << tap_between(random, 0, 3)) + (double)tap_between(random, 0, 2));
        const int64_t nrow = tap_between(random, 0, MOST_ROWS);
        for (int64_t k = 0; k < nrow; k++) {
            double power[MOST_HARM];
            const int nharm = 1 << tap_between(random, 0, 4);
            for (int h = 0; h < nharm; h++)
                power[h] = tap_uniform(random) < 0.3 ? 20 : 30 * tap_uniform(random);
            double r = f0 * ratio[tap_between(random, 0, 10)] * m[i].rows.tobs_s;
            if (tap_uniform(random) < 0.3)
                r = 1000 * tap_uniform(random) + 1;
            add_row(&m[i], fabs(r + 1.5 * tap_normal(random)) + 0.1, 200 * tap_uniform(random),
                    nharm, power);
        }
        if (i > 0 && tap_uniform(random) < 0.1) { /* the same candidates at another DM */
            const double dm = m[i].dm;
            m[i] = m[i - 1];
            m[i].rows.row = m[i].row;
            m[i].dm = dm + 1;
            snprintf(m[i].path, sizeof m[i].path, "nowhere/copy%zu_DM%.2f_ACCEL_0", i, m[i].dm);
            for (size_t k = 0; k < m[i].rows.n; k++)
                m[i].row[k].harm_power = m[i].power[k];
        }
    }
    return n;
}

/* Sifts the lists in this order, and hands the object over. */
static psr_sift *sift(const struct made *m, const size_t *order, size_t n,
                      const struct psr_sift_desc *d, struct psr_sift_result *result)
{
    psr_sift *s = NULL;
    psr_err err = {.msg = ""};
    psr_status st = psr_sift_create(&s, d, &err);
    for (size_t i = 0; i < n && !st; i++) {
        const struct made *one = &m[order ? order[i] : i];
        st = psr_sift_add(s, &one->rows, one->path, one->dm, &err);
    }
    if (!st)
        st = psr_sift_execute(s, result, &err);
    if (st) {
        ok(false, "sift: %s", err.msg);
        exit(EXIT_FAILURE);
    }
    return s;
}

/* --- the naive search ------------------------------------------------------------------------- */

struct naive {
    const struct made *list;
    const struct psr_accel_row *row;
    double f, sigma;
    int nhit, ndm;
    double best_dm; /* of the hit of highest sigma */
    bool taken, gone;
    double dm[MOST_ALL]; /* [nhit] */
};

static int by_rank(const void *pa, const void *pb)
{
    const struct naive *a = *(struct naive *const *)pa, *b = *(struct naive *const *)pb;
    if (a->sigma < b->sigma || a->sigma > b->sigma)
        return a->sigma > b->sigma ? -1 : 1;
    if (a->f < b->f || a->f > b->f)
        return a->f < b->f ? -1 : 1;
    if (a->list->dm < b->list->dm || a->list->dm > b->list->dm)
        return a->list->dm < b->list->dm ? -1 : 1;
    const int c = strcmp(a->list->path, b->list->path);
    return c ? c : (a->row->number > b->row->number) - (a->row->number < b->row->number);
}

static bool passes(const struct psr_sift_desc *d, const struct naive *c)
{
    const double *p = c->row->harm_power;
    const int n = c->row->nharm;
    int best = 0;
    for (int h = 1; h < n; h++)
        best = p[h] > p[best] ? h : best;
    bool weak = c->sigma < d->sigma_threshold;
    if (n == 1)
        weak = weak && c->row->coherent < d->c_pow_threshold;
    int above2 = 0, above3 = 0;
    for (int h = 0; h < n; h++) {
        above2 += h != best && !(p[best] > 2 * p[h]);
        above3 += h != best && !(p[best] > 3 * p[h]);
    }
    const bool rogue = (n >= 8 && best >= 5 && !above2) || (n >= 4 && best >= 3 && !above3);
    return 1 / c->f <= d->long_period_s && 1 / c->f >= d->short_period_s && !weak &&
           p[best] >= d->harm_pow_cutoff && !rogue;
}

static double tolerance(const struct psr_sift_desc *d, const struct naive *a, const struct naive *b)
{
    const double ta = a->list->rows.tobs_s, tb = b->list->rows.tobs_s;
    return d->r_err / (ta < tb ? ta : tb);
}

static bool is_harmonic(const struct psr_sift_desc *d, const struct naive *a, const struct naive *b)
{
    static const int other[][2] = {{3, 2}, {5, 2}, {2, 3}, {4, 3}, {5, 3},
                                   {3, 4}, {5, 4}, {2, 5}, {3, 5}, {4, 5}};
    const double error = tolerance(d, a, b);
    for (double k = 1; k <= 16; k++)
        if (fabs(a->f - b->f * k) < error * k || fabs(a->f - b->f / k) < error / k)
            return true;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        const double factor = (double)other[i][0] / other[i][1];
        if (fabs(a->f - b->f * factor) < error * factor)
            return true;
    }
    return false;
}

static bool has_dm(const double *dm, int n, double value)
{
    for (int i = 0; i < n; i++)
        if (fabs(dm[i] - value) < 1e-9)
            return true;
    return false;
}

/* No DM of a list lies between two hits' DMs. */
static bool has_gaps(const struct naive *c, const struct made *m, size_t nlist)
{
    for (int i = 0; i < c->nhit; i++)
        for (int k = 0; k < c->nhit; k++) {
            bool between = false;
            for (size_t l = 0; l < nlist; l++)
                between |= m[l].dm > c->dm[i] + 1e-9 && m[l].dm < c->dm[k] - 1e-9;
            if (c->dm[k] > c->dm[i] + 1e-9 && !between)
                return false;
        }
    return c->ndm > 1;
}

/* Returned: number of candidates left, in order */
static size_t sift_naively(struct naive **c, size_t n, const struct psr_sift_desc *d,
                           const struct made *m, size_t nlist)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n && !c[i]->taken; k++) {
            if (c[k]->taken || (k > i && !(fabs(c[i]->f - c[k]->f) < tolerance(d, c[i], c[k]))))
                continue;
            c[k]->taken = k > i;
            c[i]->ndm += !has_dm(c[i]->dm, c[i]->nhit, c[k]->list->dm);
            c[i]->dm[c[i]->nhit++] = c[k]->list->dm;
        }
    for (size_t i = 0; i < n; i++)
        c[i]->gone = c[i]->taken || c[i]->ndm < d->min_num_dms ||
                     c[i]->list->dm <= d->low_dm_cutoff || has_gaps(c[i], m, nlist);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && !c[i]->gone; k++)
            c[k]->gone |= is_harmonic(d, c[i], c[k]);
    for (size_t i = 0; i < n; i++)
        if (!c[i]->gone)
            c[left++] = c[i];
    return left;
}

static size_t list_naively(const struct made *m, size_t nlist, const struct psr_sift_desc *d,
                           struct naive *storage, struct naive **c)
{
    size_t n = 0;
    for (size_t i = 0; i < nlist; i++)
        for (size_t k = 0; k < m[i].rows.n; k++) {
            struct naive *to = &storage[n];
            const struct psr_accel_row *row = &m[i].row[k];
            double sum = 0;
            *to = (struct naive){.list = &m[i], .row = row, .f = row->r / m[i].rows.tobs_s};
            for (int h = 0; h < row->nharm; h++)
                sum += row->harm_power[h];
            to->sigma = psr_gauss_sigma(psr_chi2_logp(2 * sum, 2 * row->nharm));
            to->sigma = to->sigma > 0 ? to->sigma : 0;
            if (passes(d, to))
                c[n++] = to;
        }
    qsort(c, n, sizeof *c, by_rank);
    return n;
}

static bool same_as_naive(const struct psr_sift_result *result, struct naive **c, size_t n)
{
    bool same = result->ncand == n;
    for (size_t i = 0; i < n && same; i++) {
        const struct psr_sift_cand *x = &result->cand[i];
        same = !strcmp(x->path, c[i]->list->path) && x->number == c[i]->row->number &&
               x->nhit == (size_t)c[i]->nhit && x->freq_hz == c[i]->f && x->sigma == c[i]->sigma;
        for (size_t k = 0; k < x->nhit && same; k++)
            same = has_dm(c[i]->dm, c[i]->nhit, x->hit[k].dm) &&
                   (k == 0 || x->hit[k].dm >= x->hit[k - 1].dm);
    }
    return same;
}

static void choose(uint64_t *random, struct psr_sift_desc *d)
{
    psr_sift_defaults(d);
    d->min_num_dms = tap_between(random, 0, 3);
    d->low_dm_cutoff = (double)tap_between(random, -1, 2);
    d->sigma_threshold = 1 + 6 * tap_uniform(random);
    d->harm_pow_cutoff = (double)tap_between(random, 0, 20);
    d->r_err = 0.1 + 3 * tap_uniform(random);
    d->long_period_s = tap_uniform(random) < 0.5 ? 15 : 1;
    d->keep_rejects = tap_uniform(random) < 0.5;
}

static size_t count_all(const struct psr_sift_result *result)
{
    size_t n = 0;
    for (size_t k = 0; k < PSR_SIFT_NREASON; k++)
        n += result->count[k];
    return n;
}

static void shuffle(uint64_t *random, size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i-- > 1;) {
        const size_t k = (size_t)tap_between(random, 0, (int64_t)i), kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

static void test_naive(uint64_t *random)
{
    struct made *m = tap_take(MOST_LISTS, sizeof *m);
    struct naive *storage = tap_take(MOST_ALL, sizeof *storage);
    struct naive **c = tap_take(MOST_ALL, sizeof *c);
    bool same = true, counted = true, kept = true;
    size_t found = 0;
    for (int trial = 0; trial < 400 && same; trial++) {
        struct psr_sift_desc d;
        struct psr_sift_result result;
        size_t order[MOST_LISTS];
        const size_t nlist = make_lists(random, m);
        choose(random, &d);
        size_t n = list_naively(m, nlist, &d, storage, c);
        n = sift_naively(c, n, &d, m, nlist);
        shuffle(random, order, nlist);
        psr_sift *s = sift(m, order, nlist, &d, &result);
        same = same_as_naive(&result, c, n);
        counted &= count_all(&result) == result.nread && result.count[PSR_SIFT_GOOD] == n;
        kept &= result.nreject == (d.keep_rejects ? result.nread - n : 0);
        found += n;
        if (!same)
            diag("trial %d: %zu candidates, %zu naively", trial, result.ncand, n);
        psr_sift_destroy(s);
    }
    ok(same, "400 sets in random order: the candidates and hits of a search of all pairs");
    ok(found > 400, "%zu candidates", found);
    ok(counted, "each candidate has one reason");
    ok(kept, "rejects are kept if they are wanted");
    free(m);
    free(storage);
    free(c);
}

/* --- single steps ----------------------------------------------------------------------------- */

static const double strong[] = {50, 40, 30, 20, 10, 10, 10, 10};

/* The reason why one candidate at two DMs is rejected. */
static enum psr_sift_reason judge(const struct psr_sift_desc *d, double r, double coherent, int n,
                                  const double *power)
{
    static struct made m[2];
    struct psr_sift_result result;
    struct psr_sift_desc with = *d;
    with.keep_rejects = true;
    for (int i = 0; i < 2; i++) {
        begin_list(&m[i], 10 + i, 100);
        add_row(&m[i], r, coherent, n, power);
    }
    psr_sift *s = sift(m, NULL, 2, &with, &result);
    const enum psr_sift_reason reason =
        result.ncand ? result.cand[0].reason : result.reject[0].reason;
    psr_sift_destroy(s);
    return reason;
}

static void test_reasons(void)
{
    struct psr_sift_desc d;
    const double weak[] = {9}, even[] = {7, 7, 7, 7, 7, 7, 7, 7},
                 rogue8[] = {9, 9, 9, 9, 9, 19, 9, 9}, rogue4[] = {9, 9, 9, 28},
                 nearly8[] = {9, 9, 9, 9, 9, 17, 9, 9}, early8[] = {9, 9, 9, 9, 19, 9, 9, 9};
    psr_sift_defaults(&d);
    ok(judge(&d, 100, 0, 8, strong) == PSR_SIFT_GOOD, "a good candidate");
    ok(judge(&d, 6, 0, 8, strong) == PSR_SIFT_LONG_PERIOD, "16.7 s is long");
    ok(judge(&d, 210000, 0, 8, strong) == PSR_SIFT_SHORT_PERIOD, "0.48 ms is short");
    ok(judge(&d, 100, 99, 1, weak) == PSR_SIFT_THRESHOLD, "one harmonic below both thresholds");
    ok(judge(&d, 100, 100, 1, weak) == PSR_SIFT_GOOD, "one harmonic of coherent power 100");
    ok(judge(&d, 100, 1000, 8, even) == PSR_SIFT_HARM_POWER, "eight of power 7");
    ok(judge(&d, 100, 0, 8, rogue8) == PSR_SIFT_ROGUE_HARM, "the sixth of eight dominates");
    ok(judge(&d, 100, 0, 4, rogue4) == PSR_SIFT_ROGUE_HARM, "the fourth of four dominates");
    ok(judge(&d, 100, 0, 8, nearly8) == PSR_SIFT_GOOD, "not twice the next");
    ok(judge(&d, 100, 0, 8, early8) == PSR_SIFT_GOOD, "the fifth may");
    const struct psr_sift_bird f = {1.001, 0.002}, p = {1000.5, 1};
    d.bird_f = &f;
    d.nbird_f = 1;
    ok(judge(&d, 100, 0, 8, strong) == PSR_SIFT_KNOWN_BIRD, "a known frequency");
    ok(judge(&d, 100.4, 0, 8, strong) == PSR_SIFT_GOOD, "outside its error");
    d.nbird_f = 0;
    d.bird_p = &p;
    d.nbird_p = 1;
    ok(judge(&d, 100, 0, 8, strong) == PSR_SIFT_KNOWN_BIRD, "a known period");
    d.presto = true;
    ok(judge(&d, 100, 0, 8, strong) == PSR_SIFT_GOOD, "sifting.py never uses its own");
}

static void test_birds(void)
{
    struct psr_sift_desc d;
    struct psr_bird bird[] = {{1, 0.1, false}, {5, 0, false}, {2, 3, false}, {9, 0.01, true}};
    const struct psr_zaplist list = {bird, 4};
    const struct {
        double r;
        bool hit;
    } cases[] = {{100, true},    {50, true},    {349.9, true},  {350.2, false}, {499.6, true},
                 {499.4, false}, {500.4, true}, {500.6, false}, {900.2, true},  {905, false}};
    psr_sift_defaults(&d);
    d.birds = &list;
    bool same = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        same &= (judge(&d, cases[i].r, 0, 8, strong) == PSR_SIFT_KNOWN_BIRD) == cases[i].hit;
    ok(same, "frequencies of a list: overlapping ones, and half a bin at least");
    d.baryv = 0.01; /* these lists are topocentric */
    ok(judge(&d, 900 / 1.01, 0, 8, strong) == PSR_SIFT_KNOWN_BIRD &&
           judge(&d, 900, 0, 8, strong) == PSR_SIFT_GOOD &&
           judge(&d, 500, 0, 8, strong) == PSR_SIFT_KNOWN_BIRD,
       "a barycentric one moves");
}

/* A candidate at these DMs, of those that were searched. */
static enum psr_sift_reason judge_dms(bool presto, size_t n, const double *dm, size_t nsearched,
                                      const double *searched)
{
    static struct made m[8];
    struct psr_sift_desc d;
    struct psr_sift_result result = {.ncand = 0};
    psr_sift *s = NULL;
    psr_err err;
    psr_sift_defaults(&d);
    d.presto = presto;
    d.keep_rejects = true;
    bool fine = psr_sift_create(&s, &d, &err) == PSR_OK;
    for (size_t i = 0; i < n; i++) {
        begin_list(&m[i], dm[i], 100);
        add_row(&m[i], 1000, 0, 8 - (int)i % 2, strong);
        fine = fine && psr_sift_add(s, &m[i].rows, m[i].path, dm[i], &err) == PSR_OK;
    }
    fine = fine && psr_sift_add_dms(s, searched, nsearched, &err) == PSR_OK;
    fine = fine && psr_sift_execute(s, &result, &err) == PSR_OK;
    const enum psr_sift_reason reason = !fine          ? PSR_SIFT_NREASON
                                        : result.ncand ? PSR_SIFT_GOOD
                                                       : result.reject[0].reason;
    for (size_t i = 0; i < result.nreject; i++)
        if (fine && !result.ncand && result.reject[i].reason != PSR_SIFT_DUPLICATE) {
            const enum psr_sift_reason found = result.reject[i].reason;
            psr_sift_destroy(s);
            return found;
        }
    psr_sift_destroy(s);
    return reason;
}

static void test_dms(void)
{
    const double searched[] = {8, 9, 10, 10.125, 11, 12}, near[] = {10, 11}, next[] = {10, 10.125},
                 one[] = {10}, twice[] = {10, 10}, low[] = {1, 1.5}, ends[] = {8, 12, 10};
    ok(judge_dms(false, 2, next, 6, searched) == PSR_SIFT_GOOD, "successive DMs of 3 decimals");
    ok(judge_dms(false, 2, near, 6, searched) == PSR_SIFT_DM_GAPS, "10 and 11 with 10.125 between");
    ok(judge_dms(false, 3, ends, 6, searched) == PSR_SIFT_DM_GAPS, "8, 10 and 12");
    ok(judge_dms(false, 1, one, 6, searched) == PSR_SIFT_FEW_DMS, "one DM");
    ok(judge_dms(false, 2, twice, 6, searched) == PSR_SIFT_FEW_DMS, "one DM in two lists");
    ok(judge_dms(true, 2, twice, 6, searched) == PSR_SIFT_GOOD, "two hits, as sifting.py counts");
    ok(judge_dms(false, 2, low, 0, searched) == PSR_SIFT_LOW_DM, "DM 1 is low");
    ok(judge_dms(true, 2, low, 6, searched) == PSR_SIFT_NREASON,
       "presto: a DM that was not searched");
}

static void test_few(void)
{
    static struct made m[2];
    struct psr_sift_desc d;
    struct psr_sift_result result;
    for (int presto = 0; presto < 2; presto++) {
        psr_sift_defaults(&d);
        d.presto = presto;
        d.min_num_dms = 1;
        psr_sift *s = sift(m, NULL, 0, &d, &result);
        ok(result.ncand == 0 && result.nlist == 0, "no list");
        psr_sift_destroy(s);
        begin_list(&m[0], 10, 100);
        s = sift(m, NULL, 1, &d, &result);
        ok(result.ncand == 0 && result.nlist == 1, "a list without candidates");
        psr_sift_destroy(s);
        add_row(&m[0], 1000, 0, 8, strong);
        s = sift(m, NULL, 1, &d, &result);
        ok(result.ncand == 1 && result.cand[0].nhit == 1 && result.cand[0].hit[0].dm == 10,
           "one candidate");
        psr_err err;
        ok(psr_sift_execute(s, &result, &err) == PSR_OK && result.ncand == 1, "again");
        begin_list(&m[1], 10.5, 100);
        add_row(&m[1], 1000.5, 0, 8, strong);
        ok(psr_sift_add(s, &m[1].rows, m[1].path, m[1].dm, &err) == PSR_OK &&
               psr_sift_execute(s, &result, &err) == PSR_OK && result.ncand == 1 &&
               result.cand[0].nhit == 2,
           "a list more");
        psr_sift_destroy(s);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static void copy_list(const char *from, const char *to)
{
    char path[4096];
    size_t n;
    snprintf(path, sizeof path, "%s/tests/golden/%s", getenv("srcdir"), from);
    char *text = scratch_read(path, &n);
    if (!text) {
        printf("Bail out! %s\n", path);
        exit(EXIT_FAILURE);
    }
    scratch_write(scratch(to), text, n);
    free(text);
}

static void note_refused(void *ctx, const char *path, const psr_err *why)
{
    char *said = ctx;
    (void)path;
    snprintf(said, sizeof why->msg, "%s", why->msg);
}

static void test_files(void)
{
    struct psr_sift_desc d;
    struct psr_sift_result result;
    psr_sift *s = NULL;
    char said[sizeof((psr_err *)NULL)->msg] = "";
    psr_err err = {.msg = ""};
    scratch_empty();
    copy_list("acc3_z200h8_ACCEL_200", "a_DM12.3456_ACCEL_200");
    copy_list("acc3_z200h8_ACCEL_200", "a_DM12.5_ACCEL_200");
    copy_list("acc3_z200h8_ACCEL_200", "plain_ACCEL_200");
    scratch_write_text(scratch("a_DM12.4.inf"), "");
    scratch_write_text(scratch("b_DM12.45.inf"), "");
    scratch_write_text(scratch("a_DM13.00_ACCEL_0"), "1  x\n");
    const char *const path[] = {scratch("a_DM12.3456_ACCEL_200"), scratch("a_DM13.00_ACCEL_0"),
                                scratch("a_DM12.5_ACCEL_200"), scratch("plain_ACCEL_200")};
    psr_sift_defaults(&d);
    d.refuse = note_refused;
    d.ctx = said;
    d.min_num_dms = 3;
    ok(psr_sift_create(&s, &d, &err) == PSR_OK && psr_sift_read(s, path, 4, &err) == PSR_OK,
       "lists of files: %s", err.msg);
    ok(strstr(said, "a_DM13.00_ACCEL_0: line 1: 2 columns"), "a bad one is refused: %s", said);
    ok(psr_sift_execute(s, &result, &err) == PSR_OK && result.nlist == 3 &&
           result.dm_decimals == 4 && result.ncand > 0,
       "the others are sifted");
    const struct psr_sift_cand *c = result.cand;
    ok(result.ncand && c->nhit == 3 && c->hit[0].dm == 12.3456 && c->hit[1].dm == 12.5 &&
           c->hit[2].dm == 50,
       "DMs of names of any decimals, and of the .inf");
    psr_sift_destroy(s);
    d.min_num_dms = 2;
    ok(psr_sift_create(&s, &d, &err) == PSR_OK && psr_sift_read(s, path, 3, &err) == PSR_OK &&
           psr_sift_execute(s, &result, &err) == PSR_OK && result.ncand == 0 &&
           result.count[PSR_SIFT_DM_GAPS] > 0,
       "a DM of an .inf of the same root lies between");
    psr_sift_destroy(s);
    d.refuse = NULL;
    ok(psr_sift_create(&s, &d, &err) == PSR_OK && psr_sift_read(s, path, 3, &err) == PSR_EFORMAT &&
           strstr(err.msg, "line 1"),
       "without refuse: %s", err.msg);
    psr_sift_destroy(s);
}

static void test_errors(void)
{
    const struct {
        const char *field;
        size_t at;
        double value;
    } cases[] = {
#define FIELD(name, value) {#name, offsetof(struct psr_sift_desc, name), value}
        FIELD(r_err, 0),
        FIELD(r_err, NAN),
        FIELD(short_period_s, -1),
        FIELD(long_period_s, -1),
        FIELD(sigma_threshold, -1),
        FIELD(c_pow_threshold, -1),
        FIELD(harm_pow_cutoff, -1),
        FIELD(low_dm_cutoff, NAN),
        FIELD(baryv, 0.2),
        FIELD(catalogue_deg, 181)};
    struct psr_sift_desc d;
    psr_sift *s;
    psr_err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        psr_sift_defaults(&d);
        memcpy((char *)&d + cases[i].at, &cases[i].value, sizeof(double));
        ok(psr_sift_create(&s, &d, &err) == PSR_EINVAL && !strcmp(err.field, cases[i].field) && !s,
           "refused: %s", err.msg);
    }
    psr_sift_defaults(&d);
    d.min_num_dms = -1;
    ok(psr_sift_create(&s, &d, &err) == PSR_EINVAL && !strcmp(err.field, "min_num_dms"), "%s",
       err.msg);
    psr_sift_defaults(&d);
    d.nthread = -1;
    ok(psr_sift_create(&s, &d, &err) == PSR_EINVAL, "%s", err.msg);
    struct made *m = tap_take(1, sizeof *m);
    const double dm = NAN;
    begin_list(m, 1, 100);
    psr_sift_defaults(&d);
    ok(psr_sift_create(&s, &d, &err) == PSR_OK &&
           psr_sift_add(s, &m->rows, "x", NAN, &err) == PSR_EINVAL &&
           psr_sift_add_dms(s, &dm, 1, &err) == PSR_EINVAL,
       "a DM that is none: %s", err.msg);
    psr_sift_destroy(s);
    psr_sift_destroy(NULL);
    free(m);
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    test_naive(&random);
    test_reasons();
    test_birds();
    test_dms();
    test_few();
    test_files();
    test_errors();
    return done_testing();
}
