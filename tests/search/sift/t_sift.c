/* Sifting: each rejection; DMs; few candidates; files. */
#include <psrkit/experimental/sift.h>

#include "search/sift/sift_state.h"
#include "tests/support/scratch.h"
#include "tests/support/sift_made.h"

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
    const double weak[] = {9}, even[] = {5, 5, 5, 5, 5, 5, 5, 5},
                 seven[] = {7, 7, 7, 7, 7, 7, 7, 7}, rogue8[] = {4, 4, 4, 4, 4, 19, 4, 4},
                 rogue4[] = {5, 5, 5, 28}, pulse8[] = {9, 9, 9, 9, 9, 19, 9, 9},
                 nearly8[] = {9, 9, 9, 9, 9, 17, 9, 9}, early8[] = {9, 9, 9, 9, 19, 9, 9, 9};
    psr_sift_defaults(&d);
    ok(judge(&d, 100, 0, 8, strong) == PSR_SIFT_GOOD, "a good candidate");
    ok(judge(&d, 6, 0, 8, strong) == PSR_SIFT_LONG_PERIOD, "16.7 s is long");
    ok(judge(&d, 210000, 0, 8, strong) == PSR_SIFT_SHORT_PERIOD, "0.48 ms is short");
    ok(judge(&d, 100, 99, 1, weak) == PSR_SIFT_THRESHOLD, "one harmonic below both thresholds");
    ok(judge(&d, 100, 100, 1, weak) == PSR_SIFT_GOOD, "one harmonic of coherent power 100");
    ok(judge(&d, 100, 1000, 8, even) == PSR_SIFT_HARM_POWER, "eight of power 5");
    ok(judge(&d, 100, 1000, 8, seven) == PSR_SIFT_GOOD, "eight of power 7 are not noise");
    ok(judge(&d, 100, 0, 8, rogue8) == PSR_SIFT_ROGUE_HARM, "the sixth of eight dominates");
    ok(judge(&d, 100, 0, 4, rogue4) == PSR_SIFT_ROGUE_HARM, "the fourth of four dominates");
    ok(judge(&d, 100, 0, 8, pulse8) == PSR_SIFT_GOOD, "it does, but the others are not noise");
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
    ok(judge(&d, 100, 0, 8, seven) == PSR_SIFT_HARM_POWER &&
           judge(&d, 100, 0, 8, pulse8) == PSR_SIFT_ROGUE_HARM,
       "sifting.py rejects both");
}

static void test_birds(void)
{
    struct psr_sift_desc d;
    struct psr_bird bird[] = {
        {1, 0.1, false, 0}, {5, 0, false, 0}, {2, 3, false, 0}, {9, 0.01, true, 0}};
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

/* --- marks ------------------------------------------------------------------------------------ */

/* Marks of the best candidate at DMs 10 and 11 of a barycentric list or not: besides these, DM 0 was not
 * searched, which sifting.py does not ask. */
static unsigned mark_row(const struct psr_sift_desc *d, double r, bool barycentric,
                         const double *power, double snr, double duty)
{
    static struct made m[2];
    struct psr_sift_result result;
    for (int i = 0; i < 2; i++) {
        begin_list(&m[i], 10 + i, 100);
        m[i].rows.inf.barycentric = barycentric;
        add_row(&m[i], r, 0, 8, power);
        m[i].row[0].fold_snr = snr;
        m[i].row[0].fold_duty = duty;
    }
    psr_sift *s = sift(m, NULL, 2, d, &result);
    const unsigned marks =
        result.ncand == 1 ? result.cand[0].marks ^ (d->presto ? 0U : PSR_SIFT_DM_UNKNOWN) : 99U;
    psr_sift_destroy(s);
    return marks;
}

static unsigned mark(const struct psr_sift_desc *d, double r, bool barycentric, const double *power)
{
    return mark_row(d, r, barycentric, power, 0, 0);
}

/* A line at 4 Hz, power 1000, as a fast folding search of 100 s lists it: at 4 Hz over k. */
static void test_folded_lines(void)
{
    struct psr_sift_desc d;
    struct psr_bird line = {4, 0.01, false, 1000};
    const struct psr_zaplist lines = {&line, 1};
    psr_sift_defaults(&d);
    ok(mark_row(&d, 80, false, strong, 15, 0.1) == 0, "a fold, no lines");
    d.lines = &lines;
    ok(mark_row(&d, 80, false, strong, 15, 0.1) == PSR_SIFT_LINE &&
           mark_row(&d, 57.1, false, strong, 15, 0.07) == PSR_SIFT_LINE,
       "folds of 5 and 7 periods of a line");
    ok(mark_row(&d, 80, false, strong, 21, 0.1) == 0, "stronger than the line folds to");
    ok(mark_row(&d, 80, false, strong, 15, 0.3) == 0, "wider than a period of the line");
    ok(mark_row(&d, 81, false, strong, 15, 0.1) == 0, "beside it");
    line.power = 0;
    ok(mark_row(&d, 80, false, strong, 15, 0.1) == 0, "a line of unknown power explains no fold");
}

static void test_lines(void)
{
    struct psr_sift_desc d;
    const double second[] = {20, 50, 10, 10, 10, 10, 10, 10};
    struct psr_bird line[] = {{9, 0.01, false, 0}, {1, 0.04, false, 100}, {4, 0, false, 0}};
    const struct psr_zaplist lines = {line, 3};
    psr_sift_defaults(&d);
    ok(mark(&d, 100, false, strong) == 0, "no lines, no marks");
    d.lines = &lines;
    ok(mark(&d, 101.9, false, strong) == PSR_SIFT_LINE && mark(&d, 102.1, false, strong) == 0,
       "within the width of a line");
    ok(mark(&d, 400.4, false, strong) == PSR_SIFT_LINE && mark(&d, 400.6, false, strong) == 0,
       "within half a bin of a narrow one");
    line[1].power = 97;
    ok(mark(&d, 100, false, strong) == 0,
       "what a pulse that is as long as its sweep leaves at DM 0 is a line of its power");
    line[1].power = 0;
    ok(mark(&d, 100, false, strong) == PSR_SIFT_LINE, "a line of unknown power");
    ok(mark(&d, 50, false, second) == PSR_SIFT_LINE && mark(&d, 50, false, strong) == 0 &&
           mark(&d, 33.33, false, second) == 0,
       "its strongest harmonic is at a line");
    const double even[] = {20, 22, 18, 18, 18, 18, 18, 8}, sharp[] = {2, 22, 2, 1, 2, 2, 2, 2};
    ok(mark(&d, 50, false, even) == 0, "one of many strong harmonics is at a line by chance");
    ok(mark(&d, 50, false, sharp) == PSR_SIFT_LINE, "the only strong one is not");
    d.baryv = 0.01;
    ok(mark(&d, 909, true, strong) == PSR_SIFT_LINE && mark(&d, 909, false, strong) == 0 &&
           mark(&d, 900, true, strong) == 0,
       "a barycentric candidate");
    d.baryv = 0;
    d.long_period_s = 1000;
    ok(mark(&d, 2.9, false, strong) == PSR_SIFT_FEW_TURNS && mark(&d, 3.1, false, strong) == 0,
       "fewer than three turns");
    d.presto = true;
    ok(mark(&d, 100, false, strong) == 0 && mark(&d, 2.9, false, strong) == 0,
       "sifting.py has no marks");
}

/* Lists at DM 0 to 60 of a pulsar at DM 40, whose third and sixth harmonic are the mains', brightest at DM 20. */
static psr_sift *sift_beside_hum(const struct psr_sift_desc *d, struct psr_sift_result *result)
{
    static struct made m[4];
    static const double pulsar[] = {20, 18, 0, 14, 12, 0, 8, 6}, share[] = {0.1, 0.2, 1, 0.5},
                        hum[] = {500, 1200, 300, 100};
    for (int i = 0; i < 4; i++) {
        double power[8];
        begin_list(&m[i], 20 * i, 100);
        set_band(&m[i], 1200, 1500);
        for (int h = 0; h < 8; h++)
            power[h] = h == 2 ? hum[i] : h == 5 ? hum[i] / 6 : 1 + share[i] * pulsar[h];
        add_row(&m[i], 100, 0, 8, power);
    }
    return sift(m, NULL, 4, d, result);
}

static void test_beside_hum(void)
{
    struct psr_sift_desc d;
    struct psr_bird line[] = {{3, 0.02, false, 5000}, {6, 0.02, false, 2000}};
    const struct psr_zaplist lines = {line, 2};
    struct psr_sift_result result;
    psr_sift_defaults(&d);
    d.lines = &lines;
    psr_sift *s = sift_beside_hum(&d, &result);
    ok(result.ncand == 2 && result.cand[0].dm == 40 && !(result.cand[0].marks & PSR_SIFT_AGAINST) &&
           result.cand[0].sigma > 9 && result.cand[0].sigma < 11,
       "a pulsar is at its own DM, and as significant as its other harmonics: DM %g, sigma %.1f",
       result.cand[0].dm, result.cand[0].sigma);
    ok(result.ncand == 2 && result.cand[1].dm == 20 && (result.cand[1].marks & PSR_SIFT_LINE),
       "the mains at the same frequency are a line");
    psr_sift_destroy(s);
    line[0].power = line[1].power = 110;
    s = sift_beside_hum(&d, &result);
    ok(result.ncand == 1 && result.cand[0].dm == 20 && result.cand[0].nhit == 4,
       "fainter lines are left in");
    psr_sift_destroy(s);
}

/* A bright pulsar, a slow one with two equal pulses, and a sum of the first one's lines at a seventh of its frequency and one
 * of the other's: nearly twice its frequency. */
static void test_sum_of_two(void)
{
    static struct made m[3];
    static const double share[] = {0.8, 1, 0.7}, bright[] = {930, 480, 210, 105, 28, 8, 3, 1},
                        slow[] = {16, 249, 1, 33};
    struct psr_sift_desc d;
    struct psr_sift_result result;
    for (int i = 0; i < 3; i++) {
        double power[16];
        begin_list(&m[i], 30 + 10 * i, 67);
        for (int h = 0; h < 16; h++)
            power[h] = h == 6 ? 640 * share[i] : h == 13 ? 370 * share[i] : h ? 1 : 68;
        add_row(&m[i], 72.29, 0, 16, power);
        for (int h = 0; h < 8; h++)
            power[h] = bright[h] * share[i];
        add_row(&m[i], 506.0, 0, 8, power);
        add_row(&m[i], 36.02, 0, 4, slow);
    }
    psr_sift_defaults(&d);
    psr_sift *s = sift(m, NULL, 3, &d, &result);
    ok(result.ncand == 2 && result.cand[0].r == 506.0 && result.cand[1].r == 36.02,
       "a sum of two pulsars' lines stands for neither");
    psr_sift_destroy(s);
}

/* Lists at DM 0, 20 and 40 of 1.2 to 1.5 GHz: a strong candidate that has these shares of its powers, and a
 * weak one at DM 20 and 40. */
static psr_sift *sift_shares(const double share[3], double r, const struct psr_sift_desc *d,
                             struct psr_sift_result *result)
{
    static struct made m[3];
    const double weak[] = {30, 20, 10}, faint[] = {2};
    for (int i = 0; i < 3; i++) {
        double power[8];
        begin_list(&m[i], 20 * i, 100);
        set_band(&m[i], 1200, 1500);
        for (int k = 0; k < 8; k++)
            power[k] = strong[k] * share[i];
        add_row(&m[i], r, 0, 8, power);
        m[i].row[0].sigma = 3;
        if (i)
            add_row(&m[i], 733, 0, 3, weak);
        add_row(&m[i], 5000, 0, 1, faint);
    }
    return sift(m, NULL, 3, d, result);
}

/* Of sigma 3 after the trials of its list; DMs 0, 20 and 40 are one or three trials. */
static void test_chance(void)
{
    const double flat[3] = {0.97, 1, 0.98}, steep[3] = {0.6, 1, 0.6}, once = 1.3499e-3;
    struct psr_sift_desc d;
    struct psr_sift_result result;
    psr_sift_defaults(&d);
    psr_sift *s = sift_shares(flat, 30, &d, &result);
    ok(fabs(result.cand[0].chance / once - 1) < 1e-3, "all DMs fit: %g", result.cand[0].chance);
    psr_sift_destroy(s);
    s = sift_shares(steep, 3000, &d, &result);
    ok(fabs(result.cand[0].chance / (3 * once) - 1) < 3e-3, "one of three: %g",
       result.cand[0].chance);
    psr_sift_destroy(s);
    d.presto = true;
    s = sift_shares(steep, 3000, &d, &result);
    ok(result.ncand && memcmp(&result.cand[0].chance, &(double){0}, sizeof(double)) == 0,
       "sifting.py does not know");
    psr_sift_destroy(s);
}

static void test_rank(void)
{
    const double flat[3] = {0.97, 1, 0.98}, steep[3] = {0.6, 1, 0.6};
    struct psr_sift_desc d;
    struct psr_sift_result result;
    struct psr_pulsar pulsar = {.name = "J1", .f0_hz = 30, .dm = NAN, .ra_deg = NAN};
    const struct psr_catalogue catalogue = {&pulsar, 1};
    psr_sift_defaults(&d);
    psr_sift *s = sift_shares(flat, 3000, &d, &result);
    ok(result.ncand == 2 && result.cand[0].nharm == 3 && result.cand[0].marks == 0 &&
           result.cand[1].marks == PSR_SIFT_DM0 && result.cand[1].sigma > result.cand[0].sigma,
       "33 ms, as strong at DM 0, which no pulse is: behind a weaker one");
    psr_sift_destroy(s);
    struct psr_bird line = {30, 0.01, false, 51};
    const struct psr_zaplist lines = {&line, 1};
    d.lines = &lines;
    s = sift_shares(flat, 3000, &d, &result);
    ok(result.ncand == 2 && result.cand[1].marks == (PSR_SIFT_DM0 | PSR_SIFT_LINE),
       "at a line that is no weaker");
    psr_sift_destroy(s);
    line.power = 49;
    s = sift_shares(flat, 3000, &d, &result);
    ok(result.ncand == 2 && result.cand[1].marks == PSR_SIFT_DM0, "stronger than the line");
    psr_sift_destroy(s);
    const double wide[3] = {0.86, 1, 0.86};
    line = (struct psr_bird){0.3, 0.01, false, 51};
    s = sift_shares(wide, 30, &d, &result);
    ok(result.cand[0].nharm == 8 && !result.cand[0].marks && result.cand[0].dm0_chi2 > 40,
       "a pulse as long as half its sweep is almost as strong a line at DM 0");
    psr_sift_destroy(s);
    line.power = 100;
    s = sift_shares(wide, 30, &d, &result);
    ok(result.cand[1].nharm == 8 && result.cand[1].marks == PSR_SIFT_LINE,
       "what is stronger there is another's");
    psr_sift_destroy(s);
    d.lines = NULL;
    d.catalogue = &catalogue;
    s = sift_shares(flat, 3000, &d, &result);
    ok(result.ncand == 2 && result.cand[0].known == &pulsar && result.cand[0].marks == PSR_SIFT_DM0,
       "a known pulsar keeps its place and its mark");
    psr_sift_destroy(s);
    d.catalogue = NULL;
    s = sift_shares(flat, 30, &d, &result);
    ok(result.ncand == 2 && result.cand[0].nharm == 8 &&
           result.cand[0].marks == PSR_SIFT_DM_UNKNOWN && result.cand[0].dm0_chi2 > 1 &&
           result.cand[0].dm0_chi2 < 16 && result.cand[0].dm_share == 1,
       "3.3 s, as strong at DM 0, as it must be: its DM is open, and it keeps its place");
    psr_sift_destroy(s);
    s = sift_shares(steep, 3000, &d, &result);
    ok(result.ncand == 2 && result.cand[0].nharm == 8 && !result.cand[0].marks &&
           result.cand[0].nhit == 3 && result.cand[0].dm0_chi2 > 16 &&
           result.cand[0].dm_share == 1.0 / 3,
       "weaker at DM 0: no mark");
    psr_sift_destroy(s);
    char text[PSR_SIFT_MARKS];
    ok(!strcmp(psr_sift_name_marks(text, 0), "-") &&
           !strcmp(psr_sift_name_marks(text, PSR_SIFT_LINE | PSR_SIFT_DM0), "line+dm0") &&
           !strcmp(psr_sift_name_marks(text, PSR_SIFT_LINE | PSR_SIFT_DM_UNKNOWN), "line+dm?"),
       "names of marks");
    ok(!psr_sift_marks_count("") && !psr_sift_marks_count("-") && !psr_sift_marks_count("dm?") &&
           !psr_sift_marks_count("-,dm?") && !psr_sift_marks_count("dm?,clip") &&
           psr_sift_marks_count("clip,narrow") && psr_sift_marks_count("dm0") &&
           psr_sift_marks_count("dm?,narrow") && psr_sift_marks_count("line+dm?"),
       "an open DM counts nowhere as a mark");
}

/* What searches list at 12/5 and 19/2 of a bright pulsar: lines, and the best of many places beside them. */
static void test_fractions(void)
{
    static const double fifths[] = {4.7, 0.1, 1.4, 3.3, 201, 0,   3.7,  0.3,
                                    0.6, 1.1, 1.1, 1.2, 1.5, 0.3, 22.6, 3.7},
                        halves[] = {1.6, 18.9, 6.3, 12.1}, four[] = {60, 20, 20, 20};
    const struct {
        double r0, ratio;
        int n;
        const double *power;
        bool seen_at_both;
        size_t left;
        const char *what;
    } with[] = {{300, 12.0 / 5, 16, fifths, true, 1, "12/5"},
                {300, 19.0 / 2, 4, halves, false, 1, "19/2, at another DM than the pulsar's"},
                {126, 18, 1, four, false, 1, "harmonic 18 of a slow pulsar"},
                {300, 12.0 / 5 + 0.0015, 16, fifths, true, 2, "near to 12/5"},
                {126, 18.005, 1, four, false, 2, "near to harmonic 18 of a slow pulsar"},
                {300, 19.0 / 2, 4, four, false, 2, "19/2 with all harmonics"}};
    for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
        static struct made m[3];
        static const double share[3] = {0.8, 0.97, 1}, faint[] = {2};
        struct psr_sift_desc d;
        struct psr_sift_result result;
        psr_sift_defaults(&d);
        for (int i = 0; i < 3; i++) {
            double power[16];
            begin_list(&m[i], 20 * i, 100);
            set_band(&m[i], 1200, 1500);
            for (int h = 0; h < 16; h++)
                power[h] = (320 - 15 * h) * share[i];
            add_row(&m[i], with[k].r0, 0, 16, power);
            if (i == 1 || (i == 2 && with[k].seen_at_both))
                add_row(&m[i], with[k].r0 * with[k].ratio, 0, with[k].n, with[k].power);
            add_row(&m[i], 5000, 0, 1, faint);
        }
        psr_sift *s = sift(m, NULL, 3, &d, &result);
        ok(result.ncand == with[k].left && result.cand[0].r == with[k].r0, "%s: %zu candidates",
           with[k].what, result.ncand);
        psr_sift_destroy(s);
    }
}

/* A better candidate explains another one if that has the powers that its harmonics leave, at a DM of it. */
static void test_explained(void)
{
    enum { NDMS = 8 };
    static const double dms[NDMS] = {0, 5, 18, 20, 22, 40, 60, 80},
                        wide[NDMS] = {0.9, 0.93, 0.99, 1, 0.99, 0.9, 0.8, 0.7},
                        low[NDMS] = {1, 0.98}, near[NDMS] = {0.1, 0.1, 0.95, 1, 0.95, 0.1},
                        beside[NDMS] = {0, 0, 0, 0, 0.2, 0.95, 1, 0.95};
    static const double all[] = {30, 25, 20, 20, 15, 15, 10, 10},
                        fifth[] = {1, 1, 2, 1, 60, 1, 2, 1}, one[] = {60}, faint[] = {2};
    const struct {
        double scale;
        const double *first, *second;
        double ratio;
        int n;
        const double *power;
        size_t left;
        const char *what;
    } with[] = {
        {3, wide, wide, 0.4, 8, all, 2, "2/5, with harmonics that are no multiples of 5"},
        {3, wide, wide, 0.4, 8, fifth, 1, "2/5, with none"},
        {3, low, near, 5, 8, all, 2, "5/1 of what is seen at low DMs only, itself dispersed"},
        {20, wide, near, 5, 8, all, 1, "5/1 of what is seen at its DM"},
        {60, wide, near, 37, 1, one, 1, "37/1, at the DM of a bright slow pulsar"},
        {60, wide, beside, 37, 1, one, 2, "37/1, at another DM"}};
    for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
        static struct made m[NDMS];
        struct psr_sift_desc d;
        struct psr_sift_result result;
        psr_sift_defaults(&d);
        for (int i = 0; i < NDMS; i++) {
            double first[8], second[8];
            begin_list(&m[i], dms[i], 100);
            set_band(&m[i], 1200, 1500);
            for (int h = 0; h < 8; h++)
                first[h] = strong[h] * with[k].scale * with[k].first[i];
            for (int h = 0; h < with[k].n; h++)
                second[h] = with[k].power[h] * with[k].second[i];
            if (with[k].first[i] > 0)
                add_row(&m[i], 45, 0, 8, first);
            if (with[k].second[i] > 0)
                add_row(&m[i], 45 * with[k].ratio, 0, with[k].n, second);
            add_row(&m[i], 5000, 0, 1, faint);
        }
        psr_sift *s = sift(m, NULL, NDMS, &d, &result);
        ok(result.ncand == with[k].left, "%s: %zu candidates", with[k].what, result.ncand);
        psr_sift_destroy(s);
    }
}

/* Two candidates of three lists, the second at a multiple of the first's frequency. */
static psr_sift *sift_two(const double *first, const double *second, double ratio,
                          const double share[3], const struct psr_sift_desc *d,
                          struct psr_sift_result *result)
{
    static struct made m[3];
    const double faint[] = {2};
    for (int i = 0; i < 3; i++) {
        double power[8];
        begin_list(&m[i], 20 * i, 100);
        set_band(&m[i], 1200, 1500);
        add_row(&m[i], 45, 0, 8, first);
        for (int k = 0; k < 8; k++)
            power[k] = second[k] * share[i];
        add_row(&m[i], 45 * ratio, 0, 8, power);
        add_row(&m[i], 5000, 0, 1, faint);
    }
    return sift(m, NULL, 3, d, result);
}

static void test_families(void)
{
    const double fund[] = {8, 12, 9, 8, 11, 9, 8, 10}, bright[] = {90, 80, 70, 60, 50, 40, 30, 20},
                 flat[3] = {0.99, 1, 0.99}, steep[3] = {0.1, 1, 0.1};
    struct psr_sift_desc d;
    struct psr_sift_result result;
    struct psr_bird line = {0.45, 0.003, false, 1e6};
    const struct psr_zaplist lines = {&line, 1};
    psr_sift_defaults(&d);
    psr_sift *s = sift_two(fund, bright, 20, steep, &d, &result);
    ok(result.ncand == 2 && result.cand[0].r == 45 && result.cand[1].sigma > result.cand[0].sigma,
       "a fundamental stands before its brighter 20th harmonic");
    psr_sift_destroy(s);
    s = sift_two(fund, bright, 20.03, steep, &d, &result);
    ok(result.ncand == 2 && result.cand[1].r == 45, "not before what is no harmonic");
    psr_sift_destroy(s);
    d.lines = &lines;
    s = sift_two(bright, fund, 20, flat, &d, &result);
    ok(result.ncand == 2 && (result.cand[0].marks & PSR_SIFT_LINE) &&
           (result.cand[1].marks & PSR_SIFT_LINE),
       "a harmonic shares the mark of its fundamental");
    psr_sift_destroy(s);
    s = sift_two(bright, bright, 20, steep, &d, &result);
    ok(result.ncand == 2 && result.cand[0].r == 900 && !result.cand[0].marks,
       "not if DM 0 does not fit it");
    psr_sift_destroy(s);
    line.freq_hz = 9;
    s = sift_two(fund, bright, 20, steep, &d, &result);
    ok(result.ncand == 2 && !(result.cand[1].marks & PSR_SIFT_LINE),
       "a dispersed signal at a line's frequency is no line");
    psr_sift_destroy(s);
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
    const double faint[] = {2};
    for (size_t i = 0; i < n; i++) {
        begin_list(&m[i], dm[i], 100);
        add_row(&m[i], 1000, 0, 8 - (int)i % 2, strong);
        add_row(&m[i], 5000, 0, 1, faint); /* lists have what is faint */
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
    ok(judge_dms(false, 2, low, 6, searched) == PSR_SIFT_LOW_DM, "DM 1 is low");
    ok(judge_dms(false, 2, low, 0, searched) == PSR_SIFT_GOOD, "if others were searched");
    ok(judge_dms(false, 1, one, 0, searched) == PSR_SIFT_GOOD, "one DM of one");
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
    scratch_make();
    test_reasons();
    test_birds();
    test_lines();
    test_beside_hum();
    test_sum_of_two();
    test_folded_lines();
    test_chance();
    test_rank();
    test_explained();
    test_families();
    test_fractions();
    test_dms();
    test_few();
    test_files();
    test_errors();
    return done_testing();
}
