/* Sifting of searches for slow pulsars: rows in memory, lists, mistakes in them. */
#include <psrkit/experimental/sift.h>

#include "tests/support/scratch.h"
#include "tests/support/sift_made.h"

#include <math.h>

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

static void test_rows(void)
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

/* The reason for the second of two rows: r and S/N. */
static enum psr_sift_reason judge_second(double r, double snr)
{
    struct psr_sift_result result;
    const double all_r[] = {50, r}, all_snr[] = {30, snr};
    psr_sift *s = sift_folds(all_r, all_snr, 2, &result);
    enum psr_sift_reason reason = PSR_SIFT_GOOD;
    for (size_t k = 0; k < result.nreject; k++)
        if (fabs(result.reject[k].r - r) < 1e-9 && result.reject[k].reason != PSR_SIFT_DUPLICATE)
            reason = result.reject[k].reason;
    psr_sift_destroy(s);
    return reason;
}

static void test_harmonics(void)
{
    ok(judge_second(25, 20) == PSR_SIFT_HARMONIC, "half of a frequency");
    ok(judge_second(50.0 * 2 / 7, 9) == PSR_SIFT_HARMONIC, "2/7, as strong as a fold there is");
    ok(judge_second(50.0 * 2 / 7, 14) == PSR_SIFT_GOOD, "stronger than a fold there may be");
    ok(judge_second(50.0 * 2 / 7 + 0.15, 9) == PSR_SIFT_GOOD, "off 2/7 by more than its error");
}

/* One candidate of both searches: the row has the best detection, and says both. */
static void test_both(void)
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
}

/* --- lists ------------------------------------------------------------------------------------ */

static const char header[] = "period_s,freq_hz,dm,snr,width_s,duty,nbin,marks,hits,tobs_s,tsamp_s,"
                             "mjd,barycentric,telescope,ra_deg,dec_deg,low_mhz,high_mhz\n";
static const char origin[] =
    ",100,0.001,55000.25,0,\"Parkes, \"\"Murriyang\"\"\",10,-20,1200,1500\n";

static psr_status read_list(const char *name, const char *text, struct psr_sift_result *result,
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

static void test_lists(void)
{
    char text[2048];
    struct psr_sift_result result;
    psr_sift *s;
    psr_err err;
    snprintf(text, sizeof text,
             "%s2,0.5,10.5,12,0.06,0.03,960,-,10:11.00 10.5:12.00 11:10.00%s"
             "4,0.25,3,6,0.12,0.03,960,\"line,dm0\",3:6.00%s",
             header, origin, origin);
    ok(read_list("obs_ffa.csv", text, &result, &s, &err) == PSR_OK && result.nlist == 4 &&
           result.ncand == 1,
       "a list of all DMs is one for each");
    const struct psr_sift_cand *c = result.cand;
    ok(!strcmp(c->file, "obs_DM10.50_ffa.csv") && c->number == 1 && c->dm == 10.5 && c->nhit == 3 &&
           c->hit[0].snr == 11 && c->tobs_s == 100,
       "names have the DM, numbers are those of the rows");
    psr_sift_destroy(s);
    ok(read_list("one_DM10.50_ffa.csv", text, &result, &s, &err) == PSR_OK &&
           !strcmp(result.cand[0].file, "one_DM10.50_ffa.csv"),
       "a list of a DM has its own name");
    psr_sift_destroy(s);
    ok(read_list("none_ffa.csv", header, &result, &s, &err) == PSR_OK && result.ncand == 0,
       "a list without candidates");
    psr_sift_destroy(s);
}

static void test_errors(void)
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
        snprintf(text, sizeof text, "%s%s", header, bad[k].row);
        named &= read_list("bad_ffa.csv", text, &result, &s, &err) == PSR_EFORMAT &&
                 !strcmp(err.field, bad[k].field) && strstr(err.msg, "line 2") != NULL;
        psr_sift_destroy(s);
    }
    ok(named, "a value that is none is named with its line");
    snprintf(text, sizeof text, "%s2,0.5\n", header);
    ok(read_list("bad_ffa.csv", text, &result, &s, &err) == PSR_EFORMAT, "a row that is cut");
    psr_sift_destroy(s);
    ok(read_list("bad_ffa.csv", "period_s,freq_hz\n", &result, &s, &err) == PSR_EFORMAT &&
           !strcmp(err.field, "duty"),
       "a header without a column");
    psr_sift_destroy(s);
    ok(read_list("bad_ffa.csv", "", &result, &s, &err) == PSR_EFORMAT, "an empty file");
    psr_sift_destroy(s);
}

int main(void)
{
    scratch_make();
    test_rows();
    test_harmonics();
    test_both();
    test_lists();
    test_errors();
    return done_testing();
}
