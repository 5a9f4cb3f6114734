/* What sifting reads: accelsearch's lists, catalogues of pulsars, and which pulsar a candidate is. */
#include <psrkit/experimental/sift.h>

#include "formats/lists/lists_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/sift_made.h"
#include "tests/support/tap.h"

/* --- lists ------------------------------------------------------------------------------------ */

static const char inf[] = " Data file name without suffix          =  x\n"
                          " Number of bins in the time series      =  1000000\n"
                          " Width of each time series bin (sec)    =  0.0001\n";

static char *read_golden(const char *name, size_t *n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s", getenv("srcdir"), name);
    char *text = scratch_read(path, n);
    if (!text) {
        printf("Bail out! %s\n", path);
        exit(EXIT_FAILURE);
    }
    return text;
}

static psr_status parse(struct psr_accel_rows *rows, const char *table, bool presto, psr_err *err)
{
    char text[8192];
    snprintf(text, sizeof text, "%s%s", table, inf);
    return psr_accel_parse(rows, text, strlen(text), "list", presto, err);
}

static void test_golden(void)
{
    struct psr_accel_rows rows;
    psr_err err = {.msg = ""};
    size_t n;
    char *text = read_golden("acc3_w200_JERK", &n);
    ok(psr_accel_parse(&rows, text, n, "list", false, &err) == PSR_OK && rows.n == 4 && rows.jerk,
       "a list with jerks: %s", err.msg);
    const struct psr_accel_row *r = &rows.row[1];
    ok(r->number == 2 && r->sigma == 15.4 && r->power == 144.29 && r->coherent == 102.09 &&
           r->nharm == 2 && r->r == 30997.75 && r->z == 22 && r->w == 100 &&
           r->harm_power[0] == 29.7 && r->harm_power[1] == 22.4,
       "its second candidate");
    ok(rows.row[2].z == -122 && rows.row[3].harm_power[0] == 21.4 &&
           rows.tobs_s == 262144 * 0.000512 && rows.inf.dm == 50,
       "others, and the .inf");
    psr_accel_rows_clear(&rows);
    psr_accel_rows_clear(&rows);
    free(text);
    text = read_golden("acc3_noremove_ACCEL_200", &n);
    ok(psr_accel_parse(&rows, text, n, "list", true, &err) == PSR_OK && rows.n > 10 && !rows.jerk,
       "a list without: %s", err.msg);
    psr_accel_rows_clear(&rows);
    for (size_t cut = 0; cut + 100 < n; cut += 37) {
        char kept = text[cut];
        text[cut] = '\0';
        psr_status st = psr_accel_parse(&rows, text, cut, "list", false, &err);
        psr_accel_rows_clear(&rows);
        text[cut] = kept;
        const char *tail = strstr(text, " Data file name");
        if (st == PSR_OK && cut < (size_t)(tail - text) + 400)
            ok(false, "a list cut at %zu is complete", cut);
    }
    free(text);
}

#define ROW(number, r, nharm)                                                                      \
#number " 5.00 30.00 30.00 " #nharm " 1(1) 1(1) " r " 0(1) 4.0(2) 0(1)\n"

/* Powers of a candidate whose row of harmonics holds this text. */
static double read_power(const char *text, bool presto)
{
    struct psr_accel_rows rows;
    char table[512];
    psr_err err;
    snprintf(table, sizeof table, ROW(1, "7.50(5)", 1) " 1  1  5.00  %s  1\n", text);
    psr_status st = parse(&rows, table, presto, &err);
    const double power = st ? NAN : rows.row[0].harm_power[0];
    psr_accel_rows_clear(&rows);
    return power;
}

static void test_powers(void)
{
    const struct {
        const char *text;
        double value, presto;
    } cases[] = {
        {"123", 123, 123},
        {"29.7(7.7)", 29.7, 29.7},
        {"1.2346(50)x10^5", 123460, 123460},
        {"1.23457(50)x10^", 1.23457e7, 123457}, /* cut: x10^7 */
        {"1.234568(16)x10", 1.234568e10, 1.234568},
        {"12.3(5", 12.3, 12.3},
        {"1.5e2", 150, 150},
        {"0.1234567890123456789", 0.1234567890123456789, 0.1234567890123456789},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = read_power(cases[i].text, false),
                     presto = read_power(cases[i].text, true);
        ok(fabs(got / cases[i].value - 1) < 1e-15 && fabs(presto / cases[i].presto - 1) < 1e-15,
           "power %s: %g, as sifting.py %g", cases[i].text, got, presto);
    }
    static const char *const bad[] = {"x",     "1(1)y",       "-1",   "nan",
                                      "1e999", "1(1)x10^abc", "1)1(", "1(1)x10^99999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(isnan(read_power(bad[i], false)), "no power: %s", bad[i]);
}

static void test_numbers(void)
{
    struct psr_accel_rows rows;
    psr_err err = {.msg = ""};
    ok(parse(&rows,
             ROW(9999, "7.5(5)", 1) ROW(1000, "8.5(5)", 2)
                 ROW(1000, "9.5(5)", 1) " 9999  1  5 10(1) 1\n 1000  1  5 20(1) 1\n      2  5 "
                                        "21(1) 1\n 1000  1  5 30(1) 1\n",
             false, &err) == PSR_OK &&
           rows.n == 3 && rows.row[1].number == 10000 && rows.row[2].number == 10001 &&
           rows.row[1].harm_power[1] == 21 && rows.row[2].harm_power[0] == 30,
       "numbers above 9999 are counted on: %s", err.msg);
    psr_accel_rows_clear(&rows);
    ok(parse(&rows, ROW(3, "7.5(5)", 1) ROW(7, "8.5(5)", 1) " 7  1  5 20(1) 1\n 3  1  5 10(1) 1\n",
             false, &err) == PSR_OK &&
           rows.row[0].harm_power[0] == 10 && rows.row[1].harm_power[0] == 20,
       "harmonics in another order: %s", err.msg);
    psr_accel_rows_clear(&rows);
    ok(parse(&rows, "1 -nan nan 3.00 1 1(1) 1(1) 7 0(1) 4(2) 0(1)\n 1 1 5 9 1\n", false, &err) ==
               PSR_OK &&
           isnan(rows.row[0].sigma) && isnan(rows.row[0].power) && rows.row[0].coherent == 3,
       "a sigma that is none, as accelsearch prints it: %s", err.msg);
    psr_accel_rows_clear(&rows);
    ok(parse(&rows, "", false, &err) == PSR_OK && rows.n == 0 && rows.tobs_s == 100,
       "no candidates");
    psr_accel_rows_clear(&rows);
    ok(parse(&rows, ROW(1, "1.5(1)x10^3", 1) " 1  1  5 20(1) 1\n", false, &err) == PSR_OK &&
           rows.row[0].r == 1500,
       "r with a power of ten");
    psr_accel_rows_clear(&rows);
    ok(parse(&rows, ROW(1, "1.5(1)x10^3", 1) " 1  1  5 20(1) 1\n", true, &err) == PSR_OK &&
           rows.row[0].r == 1.5,
       "without it, as sifting.py");
    psr_accel_rows_clear(&rows);
}

static void test_list_errors(void)
{
    static const struct {
        const char *table, *message;
    } cases[] = {
        {"1 2 3\n", "list: line 1: 3 columns, must be 10 or more"},
        {ROW(x1, "7", 1) ROW(1, "x", 1), "line 2: FFT 'r' = 'x' is no such number"},
        {ROW(1, "-3", 1), "FFT 'r' = '-3'"},
        {ROW(1, "nan", 1), "FFT 'r' = 'nan'"},
        {ROW(1, "7", 33), "Num Harm = '33'"},
        {ROW(1, "7", 0), "Num Harm = '0'"},
        {ROW(0, "7", 1), "Cand = '0'"},
        {ROW(1, "7", 2) " 1 1 5 9 1\n", "candidate 1 has 1 of 2 harmonics"},
        {ROW(1, "7", 1), "candidate 1 has 0 of 1 harmonics"},
        {ROW(1, "7", 2) " 1 1 5 9 1\n\n", "candidate 1 has 1 of 2 harmonics"},
        {ROW(1, "7", 1) " 1 1 5 9 1\n 1 1 5 9 1\n", "more than its 1 harmonics"},
        {ROW(1, "7", 1) " 2 1 5 9 1\n", "line 2: Cand = '2'"},
        {ROW(1, "7", 1) " 1 1 5\n", "line 2: no power"},
        {ROW(1, "7", 1) " 1 1 5 9\n" ROW(2, "7", 1), "line 3: a candidate after the harmonics"},
    };
    struct psr_accel_rows rows;
    psr_err err = {.msg = ""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const psr_status st = parse(&rows, cases[i].table, false, &err);
        ok(st == PSR_EFORMAT && strstr(err.msg, cases[i].message) && strstr(err.msg, "list"),
           "refused: %s", err.msg);
        psr_accel_rows_clear(&rows);
    }
    ok(psr_accel_parse(&rows, "abc\n", 4, "list", false, &err) == PSR_EFORMAT &&
           strstr(err.msg, "without the .inf"),
       "refused: %s", err.msg);
    ok(psr_accel_parse(&rows, "a\0c\n", 4, "list", false, &err) == PSR_EFORMAT &&
           strstr(err.msg, "no text"),
       "refused: %s", err.msg);
    static const char none[] = "\n Data file name without suffix = x\n Number of bins in the time "
                               "series = 0\n Width of each time series bin (sec) = 1\n";
    ok(psr_accel_parse(&rows, none, sizeof none - 1, "list", false, &err) == PSR_EFORMAT &&
           strstr(err.msg, "list"),
       "refused: %s", err.msg);
    ok(psr_accel_read(&rows, "/nonexistent/list", false, &err) == PSR_EIO, "%s", err.msg);
    psr_accel_rows_clear(&rows);
}

/* --- catalogues ------------------------------------------------------------------------------- */

static const char database[] =
    "#CATALOGUE 2.6.3\n"
    "PSRB     B0531+21                      sr68\n"
    "PSRJ     J0534+2200\n"
    "RAJ      05:34:31.973        5         mhm+16\n"
    "DECJ     +22:00:52.06        6         mhm+16\n"
    "F0       29.946923           1         lps15\n"
    "F1       -3.77535E-10        2\n"
    "PEPOCH   48442.5\n"
    "DM       56.77118            24\n"
    "SURVEY   misc,htru\n"
    "@-----------------------------------------------------------------\n"
    "# a comment\n"
    "PSRJ     J0737-3039A\n"
    "RAJ      07:37:51.2\n"
    "DECJ     -30:39:40\n"
    "P0       0.022699378986\n"
    "DM       48.920\n"
    "PB       0.1022515592973\n"
    "A1       1.415028603\n"
    "ECC      0.0877772\n"
    "@----\n"
    "PSRJ     J0000+0000\n"
    "DM       1\n"
    "@----\n";

static const char values[] = "#;NAME;RAJD;DECJD;P0;DM;other\n"
                             ";;(deg);(deg);(s);(cm^-3 pc);\n"
                             "1;J0534+2200;83.633;22.0145;0.0334;56.77;a\n"
                             "\n"
                             "2;\"J1, a\";*;*;1.5;*;b\n"
                             "3;J2;;;*;5;c\n";

static void test_catalogues(void)
{
    struct psr_catalogue c;
    psr_err err = {.msg = ""};
    ok(psr_catalogue_parse(&c, database, sizeof database - 1, "db", &err) == PSR_OK && c.n == 2,
       "psrcat's database: %s", err.msg);
    const struct psr_pulsar *p = c.pulsar;
    ok(!strcmp(p->name, "J0534+2200") && p->f0_hz == 29.946923 && p->f1 == -3.77535e-10 &&
           p->pepoch_mjd == 48442.5 && p->dm == 56.77118,
       "its first pulsar");
    near(p->ra_deg, 15 * (5 + 34 / 60. + 31.973 / 3600), 1e-12, "right ascension");
    near(p->dec_deg, 22 + 52.06 / 3600, 1e-12, "declination");
    near(p[1].dec_deg, -(30 + 39 / 60. + 40 / 3600.), 1e-12, "southern declination");
    ok(p[1].f0_hz == 1 / 0.022699378986 && p[1].pb_d == 0.1022515592973 && p[1].a1_s > 1.4 &&
           p[1].ecc > 0.08 && p[1].f1 == 0,
       "a period, and an orbit; one without a frequency is none");
    psr_catalogue_clear(&c);
    psr_catalogue_clear(&c);
    ok(psr_catalogue_parse(&c, values, sizeof values - 1, "csv", &err) == PSR_OK && c.n == 2,
       "separated values: %s", err.msg);
    ok(c.pulsar[0].ra_deg == 83.633 && c.pulsar[0].f0_hz == 1 / 0.0334 &&
           !strcmp(c.pulsar[1].name, "J1, a") && isnan(c.pulsar[1].dm) && isnan(c.pulsar[1].ra_deg),
       "and what is unknown");
    psr_catalogue_clear(&c);
}

static void test_catalogue_errors(void)
{
    static const struct {
        const char *text, *field, *message;
    } cases[] = {
        {"", "", "cat: empty"},
        {"a,b\n1,2\n", "", "cat: line 1: neither psrcat's database nor a header"},
        {"NAME,P0,P0\n", "P0", "line 1: column P0 twice"},
        {"NAME,P0\nx,1,2\n", "", "line 2: more values than the 2 columns"},
        {"NAME,P0\n\nx,1s\n", "P0", "line 3: P0 = '1s'"},
        {"NAME,P0\nx,-1\n", "P0", "P0 = '-1'"},
        {"NAME,F0,RAJ\nx,1,25:00:00\n", "RAJ", "RAJ = '25:00:00'"},
        {"NAME,F0,DECJ\nx,1,12:aa\n", "DECJ", "DECJ = '12:aa'"},
        {"NAME,F0,ECC\nx,1,1\n", "ECC", "ECC = '1'"},
        {"NAME,F0\nJ0000000000000000000000000000000000000000,1\n", "NAME", "line 2: NAME"},
        {"#CATALOGUE\nPSRJ x\nF0 nan\n@--\n", "F0", "line 3: F0 = 'nan'"},
    };
    struct psr_catalogue c;
    psr_err err = {.msg = ""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const psr_status st =
            psr_catalogue_parse(&c, cases[i].text, strlen(cases[i].text), "cat", &err);
        ok(st == PSR_EFORMAT && strstr(err.msg, cases[i].message) &&
               !strcmp(err.field, cases[i].field),
           "refused: %s", err.msg);
        psr_catalogue_clear(&c);
    }
    ok(psr_catalogue_parse(&c, "a\0b", 3, "cat", &err) == PSR_EFORMAT, "%s", err.msg);
    psr_catalogue_clear(&c);
    ok(psr_catalogue_read(&c, "/nonexistent/db", &err) == PSR_EIO, "%s", err.msg);
    psr_catalogue_clear(&c);
}

/* --- known pulsars ---------------------------------------------------------------------------- */

/* The pulsar that a candidate is taken for, as "p/q NAME"; "" for none. */
static const char *identify(const struct psr_catalogue *c, double f_hz, double dm,
                            const struct psr_inf *of)
{
    static char text[64];
    static const double power[] = {50, 40};
    struct psr_accel_row row = {.number = 1, .nharm = 2, .r = f_hz * 1000, .harm_power = power};
    struct psr_accel_rows rows = {.row = &row, .n = 1, .tobs_s = 1000, .inf = *of};
    struct psr_sift_desc d;
    struct psr_sift_result result = {.ncand = 0};
    psr_sift *s;
    psr_err err = {.msg = ""};
    psr_sift_defaults(&d);
    d.min_num_dms = 1;
    d.catalogue = c;
    if (psr_sift_create(&s, &d, &err) || psr_sift_add(s, &rows, "x", dm, &err) ||
        psr_sift_execute(s, &result, &err) || result.ncand != 1) {
        diag("%s", err.msg);
        return "?";
    }
    const struct psr_sift_cand *cand = result.cand;
    snprintf(text, sizeof text, "%s", "");
    if (cand->known)
        snprintf(text, sizeof text, "%d/%d %s", cand->ratio[0], cand->ratio[1], cand->known->name);
    psr_sift_destroy(s);
    return text;
}

static void test_known(void)
{
    struct psr_catalogue c;
    psr_err err;
    struct psr_inf bary = {.barycentric = true, .telescope = "GBT"}, topo = {.telescope = "GBT"};
    const double crab = 29.946923, binary = 1 / 0.022699378986;
    if (psr_catalogue_parse(&c, database, sizeof database - 1, "db", &err) != PSR_OK)
        ok(false, "%s", err.msg);
#define IS(f, dm, of, name)                                                                        \
    ok(!strcmp(identify(&c, f, dm, of), name), "%.12g Hz, DM %g: %s", f, (double)(dm), name)
    IS(crab, 57, &bary, "1/1 J0534+2200");
    IS(crab * 3, 57, &bary, "3/1 J0534+2200");
    IS(crab / 16, 57, &bary, "1/16 J0534+2200");
    IS(crab * 5 / 3, 57, &bary, "5/3 J0534+2200");
    IS(crab * 7 / 3, 57, &bary, "");
    IS(crab, 65, &bary, "");
    IS(crab * (1 + 1e-4), 57, &bary, "");
    IS(crab * (1 + 1e-4), 57, &topo, "1/1 J0534+2200");
    IS(crab * (1 + 2e-4), 57, &topo, "");
    IS(binary * (1 + 5e-4), 49, &bary, "1/1 J0737-3039A");
    IS(binary * (1 + 2e-3), 49, &bary, "");
    bary.ra_deg = 83.6;
    bary.dec_deg = 22.5;
    IS(crab, 57, &bary, "1/1 J0534+2200");
    bary.dec_deg = 23.1;
    IS(crab, 57, &bary, "");
    bary.dec_deg = 22;
    bary.has_epoch = true;
    bary.epoch.day = 58442;
    bary.epoch.frac = 0.5;
    IS(crab, 57, &bary, "");
    IS(crab - 3.77535e-10 * 10000 * 86400, 57, &bary, "1/1 J0534+2200");
    topo = bary; /* the Earth moves towards the Crab by up to 1e-4 c in autumn, away in spring */
    topo.barycentric = false;
    topo.epoch.day = 58014; /* 18 September 2017 */
    const double then = crab - 3.77535e-10 * (58014.5 - 48442.5) * 86400;
    IS(then * (1 + 9.7e-5), 57, &topo, "1/1 J0534+2200");
    IS(then * (1 - 9.7e-5), 57, &topo, "");
    IS(then, 57, &topo, "");
    psr_catalogue_clear(&c);
}

/* --- searches for slow pulsars ----------------------------------------------------------------- */

static const double DUTY = 0.03;

static void add_fold(struct made *m, double r, double snr)
{
    const size_t i = m->rows.n++;
    m->row[i] = (struct psr_accel_row){
        .number = (int64_t)i + 1, .r = r, .fold_snr = snr, .fold_duty = DUTY};
}

/* Sifts rows of frequencies r and S/N snr [n] that are at DMs 10, 11. */
static psr_sift *sift_folds(const double *r, const double *snr, size_t n,
                            struct psr_sift_result *result)
{
    static struct made m[2];
    struct psr_sift_desc d;
    psr_sift_defaults(&d);
    d.keep_rejects = true;
    for (int i = 0; i < 2; i++) {
        begin_list(&m[i], 10 + i, 100);
        for (size_t k = 0; k < n; k++)
            add_fold(&m[i], r[k], snr[k] - i);
    }
    return sift(m, NULL, 2, &d, result);
}

static void test_folds(void)
{
    struct psr_sift_result result;
    const double r[] = {4}, snr[] = {8.5};
    psr_sift *s = sift_folds(r, snr, 1, &result);
    const struct psr_sift_cand *c = result.cand;
    ok(result.ncand == 1 && fabs(c->sigma - 8.5) < 1e-9 && c->snr == 8.5,
       "S/N is sigma; 25 s and weak harmonics are no reasons");
    ok(c->nharm == 20 && c->nhit == 2 && c->dm == 10 && c->found == PSR_SIFT_BY_FFA,
       "harmonics of a boxcar, two hits, found by folding");
    psr_sift_destroy(s);
}

/* Folds of a crest of 50 Hz at 10, 11, .. of its periods, or of so many at each of them, that are brighter by that at DM 8; and a pulsar of
 * 0.7137 s, or of that period.
 * Returned: how many of the rows but for the pulsar are marked as a line, of how many; 99: the pulsar is, or is not there */
static size_t count_hum(double times, double brighter, double pulsar_s, size_t *nrow)
{
    static struct made m[3];
    struct psr_sift_result result;
    struct psr_sift_desc d;
    size_t marked = 99;
    psr_sift_defaults(&d);
    d.long_period_s = 1e9;
    for (int i = 0; i < 3; i++) {
        begin_list(&m[i], 4 * i, 100);
        for (int k = 10; k < 28; k++) {
            const double turns = k * times, off = 0.1 * (k % 3 - 1) / turns;
            add_fold(&m[i], 5000 / turns + off, (60 + brighter * i / 2) / sqrt(turns / 10));
            m[i].row[k - 10].fold_duty = 0.35 / turns;
        }
        add_fold(&m[i], 100 / pulsar_s, 9 + i);
    }
    psr_sift *s = sift(m, NULL, 3, &d, &result);
    *nrow = 0;
    for (size_t k = 0; k < result.ncand; k++) {
        const struct psr_sift_cand *c = &result.cand[k];
        const bool own = fabs(c->period_s - pulsar_s) < 1e-6, line = c->marks & PSR_SIFT_LINE;
        *nrow += !own;
        if (own)
            marked -= line ? 0 : 99;
        else
            marked += line;
    }
    psr_sift_destroy(s);
    return marked;
}

static void test_hum(void)
{
    size_t n;
    ok(count_hum(1, 0, 0.7137, &n) == n && n > 5, "folds of hum, beside a pulsar");
    ok(count_hum(1, 0, 0.74, &n) == n, "a pulsar at a multiple of its period, wider than a crest");
    ok(count_hum(1, 0, 0.2 * 8 / 7, &n) == n, "a pulsar at 7/8 of the frequency of such a fold");
    ok(count_hum(1, 0.5, 0.7137, &n) == n, "a little brighter at another DM, as by noise");
    ok(count_hum(1, 8, 0.7137, &n) == 0, "no hum: brighter at a DM");
    ok(count_hum(5, 0, 0.7137, &n) == 0, "nor at multiples of 0.1 s alone");
}

/* The reason for the second of two rows: r and S/N.  The first has S/N 30. */
static enum psr_sift_reason judge_second(double first_r, double r, double snr)
{
    struct psr_sift_result result;
    const double all_r[] = {first_r, r}, all_snr[] = {30, snr};
    psr_sift *s = sift_folds(all_r, all_snr, 2, &result);
    enum psr_sift_reason reason = PSR_SIFT_GOOD;
    for (size_t k = 0; k < result.nreject; k++)
        if (fabs(result.reject[k].r - r) < 1e-9 && result.reject[k].reason != PSR_SIFT_DUPLICATE)
            reason = result.reject[k].reason;
    psr_sift_destroy(s);
    return reason;
}

static void test_fold_harmonics(void)
{
    ok(judge_second(500, 500.0 / 18, 8.5) == PSR_SIFT_HARMONIC, "18 turns of a fold");
    ok(judge_second(500, 500.0 / 18, 14) == PSR_SIFT_GOOD, "stronger than 18 turns of a fold");
    ok(judge_second(50, 25, 20) == PSR_SIFT_HARMONIC, "half of a frequency");
    ok(judge_second(50, 50.0 * 2 / 7, 9) == PSR_SIFT_HARMONIC, "2/7, as strong as a fold there is");
    ok(judge_second(50, 50.0 * 2 / 7, 14) == PSR_SIFT_GOOD, "stronger than a fold there may be");
    ok(judge_second(50, 50.0 * 2 / 7 + 0.15, 9) == PSR_SIFT_GOOD, "off 2/7 by more than its error");
}

/* The reason for a fold at r beside a line of sigma 20 at r 8495.03: of four DMs the line is at the first three, the
 * fold at two, or at all from DM 0 on. */
static enum psr_sift_reason judge_fold_of(double r, double snr, double dm)
{
    static struct made m[4];
    const double power[] = {110, 60, 40};
    struct psr_sift_desc d;
    struct psr_sift_result result;
    psr_sift_defaults(&d);
    d.keep_rejects = true;
    for (int i = 0; i < 4; i++) {
        begin_list(&m[i], dm + i, 100);
        if (i < 3)
            add_row(&m[i], 8495.03, 0, 3, power);
        if (i < 2 || dm == 0)
            add_fold(&m[i], r, snr - 0.1 * i);
    }
    psr_sift *s = sift(m, NULL, 4, &d, &result);
    enum psr_sift_reason reason = PSR_SIFT_GOOD;
    for (size_t k = 0; k < result.nreject; k++)
        if (fabs(result.reject[k].r - r) < 1e-9 && result.reject[k].reason != PSR_SIFT_DUPLICATE)
            reason = result.reject[k].reason;
    psr_sift_destroy(s);
    return reason;
}

/* A pulsar's harmonic 43 is no brighter than its fold. */
static void test_fold_before(double snr, double first_r)
{
    static struct made m[2];
    const double power[] = {150, 120, 90, 70};
    struct psr_sift_desc d;
    struct psr_sift_result result;
    psr_sift_defaults(&d);
    for (int i = 0; i < 2; i++) {
        begin_list(&m[i], 10 + i, 100);
        add_row(&m[i], 4300, 0, 4, power);
        add_fold(&m[i], 100, snr - 0.1 * i);
    }
    psr_sift *s = sift(m, NULL, 2, &d, &result);
    ok(result.ncand && result.cand[0].r == first_r, "a fold of S/N %g at 1/43 of a pulsar", snr);
    psr_sift_destroy(s);
}

static void test_folds_of_turns(void)
{
    test_fold_before(14, 4300);
    test_fold_before(30, 100);
    ok(judge_fold_of(8495.0 / 17, 7.5, 10) == PSR_SIFT_HARMONIC, "17 turns of a fast pulsar");
    ok(judge_fold_of(8495.0 * 2 / 37, 5.1, 10) == PSR_SIFT_HARMONIC, "37/2 turns");
    ok(judge_fold_of(8495.0 * 7 / 20, 5.1, 10) == PSR_SIFT_HARMONIC, "20/7 turns");
    ok(judge_fold_of(8495.0 / 17, 7.5, 0) == PSR_SIFT_HARMONIC, "17 turns of hum");
    ok(judge_fold_of(8495.0 / 17, 12, 10) == PSR_SIFT_GOOD, "stronger than one of 17 turns");
    ok(judge_fold_of(8495.0 / 17 + 0.1, 7.5, 10) == PSR_SIFT_GOOD, "between the multiples");
    ok(judge_fold_of(8495.0 / 300, 7.5, 10) == PSR_SIFT_GOOD,
       "where multiples are as near to each other as its error");
}

/* A fold of 23 turns of a line that is brightest at DM 11, where the fold is not seen, and another row.
 * Returned: how many candidates are left, 0 if that row is not among them */
static size_t count_beside_fold(double r, double power)
{
    struct psr_sift_result result;
    size_t listed = 0;
    static struct made m[4];
    static double line[3], other[16];
    static const double share[4] = {0.9, 1, 0.9, 0.9}, bright[] = {110, 60, 40};
    struct psr_sift_desc d;
    psr_sift_defaults(&d);
    for (int h = 0; h < 16; h++)
        other[h] = power;
    for (int i = 0; i < 4; i++) {
        begin_list(&m[i], 10 + i, 100);
        for (int h = 0; h < 3; h++)
            line[h] = bright[h] * share[i];
        add_row(&m[i], 8495.03, 0, 3, line);
        if (i != 1)
            add_fold(&m[i], 8495.0 / 23, 9 - 0.1 * i);
        if (power > 0)
            add_row(&m[i], r, 0, 16, other);
    }
    psr_sift *s = sift(m, NULL, 4, &d, &result);
    for (size_t i = 0; i < result.ncand; i++)
        listed += fabs(result.cand[i].r - r) < 1;
    const size_t n = listed ? result.ncand : 0;
    psr_sift_destroy(s);
    return n;
}

static void test_beside_folds(void)
{
    ok(count_beside_fold(8495, 0) == 1, "turns of a line, seen around its DM");
    ok(count_beside_fold(8495.0 / 23, 4.5) == 2,
       "not what has power in harmonics that the line has not");
    ok(count_beside_fold(8495.0 * 4 / 23, 4.5) == 2,
       "a fold that is explained itself explains nothing");
}

/* One candidate of both searches: the row has the best detection, and says both. */
static void test_both_searches(void)
{
    static struct made m[2];
    const double power[] = {20, 18, 16, 14, 12, 10, 9, 8};
    struct psr_sift_desc d;
    struct psr_sift_result result;
    psr_sift_defaults(&d);
    for (int i = 0; i < 2; i++) {
        begin_list(&m[i], 10 + i, 100);
        add_row(&m[i], 50.1, 0, 8, power);
        add_fold(&m[i], 50, 16);
        m[i].row[1].number = 7;
    }
    psr_sift *s = sift(m, NULL, 2, &d, &result);
    ok(result.ncand == 1 && result.cand[0].number == 7 && result.cand[0].nhit == 4 &&
           result.cand[0].found == (PSR_SIFT_BY_FOURIER | PSR_SIFT_BY_FFA),
       "one row for a pulsar that both searches found");
    psr_sift_destroy(s);
    m[0].row[0].r = m[1].row[0].r = 50.4;
    s = sift(m, NULL, 2, &d, &result);
    ok(result.ncand == 1 && result.cand[0].nhit == 2, "what its harmonics tell apart is no hit");
    psr_sift_destroy(s);
}

/* --- lists ------------------------------------------------------------------------------------ */

static const char fold_header[] =
    "period_s,freq_hz,dm,snr,width_s,duty,nbin,marks,hits,tobs_s,tsamp_s,"
    "mjd,barycentric,telescope,ra_deg,dec_deg,low_mhz,high_mhz\n";
static const char fold_origin[] =
    ",100,0.001,55000.25,0,\"Parkes, \"\"Murriyang\"\"\",10,-20,1200,1500\n";

static psr_status read_folds(const char *name, const char *text, struct psr_sift_result *result,
                             psr_sift **s, psr_err *err)
{
    struct psr_sift_desc d;
    const char *path = scratch(name);
    scratch_write(path, text, strlen(text));
    psr_sift_defaults(&d);
    psr_status st = psr_sift_create(s, &d, err);
    if (!st)
        st = psr_sift_read(*s, &path, 1, err);
    return st ? st : psr_sift_execute(*s, result, err);
}

static void test_fold_lists(void)
{
    char text[2048];
    struct psr_sift_result result;
    psr_sift *s;
    psr_err err;
    snprintf(text, sizeof text,
             "%s2,0.5,10.5,12,0.06,0.03,960,-,10:11.00 10.5:12.00 11:10.00%s"
             "4,0.25,3,6,0.12,0.03,960,line+dm0,3:6.00%s",
             fold_header, fold_origin, fold_origin);
    ok(read_folds("obs_ffa.csv", text, &result, &s, &err) == PSR_OK && result.nlist == 4 &&
           result.ncand == 1,
       "a list of all DMs is one for each");
    const struct psr_sift_cand *c = result.cand;
    ok(!strcmp(c->file, "obs_DM10.50_ffa.csv") && c->number == 1 && c->dm == 10.5 && c->nhit == 3 &&
           c->hit[0].snr == 11 && c->tobs_s == 100,
       "names have the DM, numbers are those of the rows");
    psr_sift_destroy(s);
    ok(read_folds("one_DM10.50_ffa.csv", text, &result, &s, &err) == PSR_OK &&
           !strcmp(result.cand[0].file, "one_DM10.50_ffa.csv"),
       "a list of a DM has its own name");
    psr_sift_destroy(s);
    ok(read_folds("none_ffa.csv", fold_header, &result, &s, &err) == PSR_OK && result.ncand == 0,
       "a list without candidates");
    psr_sift_destroy(s);
}

static void test_fold_errors(void)
{
    const struct {
        const char *row, *field;
    } bad[] = {
        {"2,x,10,9,1,0.1,240,-,10:9.00,100,0.001,55000,0,P,1,1,1200,1500\n", "freq_hz"},
        {"2,0.5,10,9,1,1.5,240,-,10:9.00,100,0.001,55000,0,P,1,1,1200,1500\n", "duty"},
        {"2,0.5,10,9,1,0.1,240,-,10:,100,0.001,55000,0,P,1,1,1200,1500\n", "hits"},
        {"2,0.5,10,9,1,0.1,240,-,10:9;11:8,100,0.001,55000,0,P,1,1,1200,1500\n", "hits"},
        {"2,0.5,10,9,1,0.1,240,-,1e9:9.00,100,0.001,55000,0,P,1,1,1200,1500\n", "hits"},
        {"2,0.5,10,9,1,0.1,240,-,10:9.00,-1,0.001,55000,0,P,1,1,1200,1500\n", "tobs_s"},
        {"2,0.5,10,9,1,0.1,240,-,10:9.00,100,0.001,x,0,P,1,1,1200,1500\n", "mjd"},
    };
    struct psr_sift_result result;
    psr_sift *s = NULL;
    psr_err err;
    bool named = true;
    char text[1024];
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        snprintf(text, sizeof text, "%s%s", fold_header, bad[k].row);
        named &= read_folds("bad_ffa.csv", text, &result, &s, &err) == PSR_EFORMAT &&
                 !strcmp(err.field, bad[k].field) && strstr(err.msg, "line 2") != NULL;
        psr_sift_destroy(s);
    }
    ok(named, "a value that is none is named with its line");
    snprintf(text, sizeof text, "%s2,0.5\n", fold_header);
    ok(read_folds("bad_ffa.csv", text, &result, &s, &err) == PSR_EFORMAT, "a row that is cut");
    psr_sift_destroy(s);
    ok(read_folds("bad_ffa.csv", "period_s,freq_hz\n", &result, &s, &err) == PSR_EFORMAT &&
           !strcmp(err.field, "duty"),
       "a fold_header without a column");
    psr_sift_destroy(s);
    ok(read_folds("bad_ffa.csv", "", &result, &s, &err) == PSR_EFORMAT, "an empty file");
    psr_sift_destroy(s);
}

int main(void)
{
    scratch_make();
    test_golden();
    test_powers();
    test_numbers();
    test_list_errors();
    test_catalogues();
    test_catalogue_errors();
    test_known();
    test_folds();
    test_fold_harmonics();
    test_hum();
    test_folds_of_turns();
    test_beside_folds();
    test_both_searches();
    test_fold_lists();
    test_fold_errors();
    return done_testing();
}
