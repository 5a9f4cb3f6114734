/* candlist: every format of lists of candidates, by what their programs mean by the numbers; wrong
 * lines; names. */
#include <psrkit/experimental/accel.h>
#include <psrkit/experimental/candlist.h>
#include <psrkit/experimental/fold.h>
#include <psrkit/obs.h>

#include "search/matched/response/accel_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

static struct psr_candlist list;
static psr_err err;
static int nrefused, nnotes;
static char refused[512], note[512];

static void refuse(void *ctx, const psr_err *why)
{
    (void)ctx;
    nrefused++;
    snprintf(refused, sizeof refused, "%s", why->msg);
}

static void take_note(void *ctx, const char *msg)
{
    (void)ctx;
    nnotes++;
    snprintf(note, sizeof note, "%s", msg);
}

static psr_status read_path(const char *path, bool has_dm)
{
    const struct psr_candlist_desc d = {.size = sizeof d,
                                        .common = {.phase = 0.25, .dm = 7, .nbin = 50},
                                        .has_dm = has_dm,
                                        .refuse = refuse,
                                        .notes = {take_note, NULL}};
    psr_candlist_clear(&list);
    nrefused = nnotes = 0;
    *refused = *note = '\0';
    return psr_candlist_read(&list, path, &d, &err);
}

static psr_status read_text(const char *text)
{
    const char *path = scratch("list");
    scratch_write_text(path, text);
    return read_path(path, false);
}

/* Candidate i has these numbers, to rounding. */
static bool has(size_t i, const char *name, double dm, double f, double fd, double fdd,
                enum psr_fold_at at)
{
    const struct psr_folder_candidate *c = &list.cand[i];
    const bool same = i < list.n && !strcmp(c->name, name) && fabs(c->dm - dm) < 1e-12 &&
                      fabs(c->f / f - 1) < 1e-14 && fabs(c->fd - fd) <= 1e-13 * fabs(fd) &&
                      fabs(c->fdd - fdd) <= 1e-13 * fabs(fdd) && c->at == at && c->nbin == 50 &&
                      c->phase == 0.25;
    if (!same && i < list.n)
        diag("%s: DM %.17g, f %.17g, fd %.17g, fdd %.17g, at %d", c->name, c->dm, c->f, c->fd,
             c->fdd, (int)c->at);
    return same;
}

static void test_prepfold_multi(void)
{
    const double p = 0.0123, pd = 1e-9, pdd = 1e-15;
    ok(!read_text("\n# Name dm P pd pdd\na 40 0.0123 1e-9 1e-15\n\n# b\n c 0 10 0 0 \r\n") &&
           list.n == 2 &&
           has(0, "a", 40, 1 / p, -pd / p / p, 2 * pd * pd / (p * p * p) - pdd / p / p,
               PSR_FOLD_AT_START) &&
           has(1, "c", 0, 0.1, 0, 0, PSR_FOLD_AT_START) && !nrefused && !nnotes,
       "prepfold_multi's table by periods");
    ok(!read_text("#fdd f DM fd\n1e-5 81.3 12.5 -3\n0 50 1 0") && list.n == 2 &&
           has(0, "81.30Hz_Cand", 12.5, 81.3, -3, 1e-5, PSR_FOLD_AT_START) &&
           has(1, "50.00Hz_Cand", 1, 50, 0, 0, PSR_FOLD_AT_START),
       "and by frequencies, with prepfold's names");
    ok(!read_text("# p DM\n0.02 3\n") && has(0, "20.00ms_Cand", 3, 50, 0, 0, PSR_FOLD_AT_START),
       "a name from the period");
    ok(!read_text("# p DM epoch\n0.02 3 55000.25\n") && list.cand[0].at == PSR_FOLD_AT_EPOCH &&
           list.cand[0].epoch_mjd == 55000.25,
       "the date at which values are valid");
    ok(!read_text("# name DM p PB A1 T0 OM ECC\na 1 0.1 0.5 2.25 55000.5 90 0.125\nb 1 0.1 0 0 0 0 "
                  "0\n") &&
           list.cand[0].orbit.period_s == 43200 && list.cand[0].orbit.asini_s == 2.25 &&
           list.cand[0].orbit.t0_mjd == 55000.5 && list.cand[0].orbit.omega_deg == 90 &&
           list.cand[0].orbit.ecc == 0.125 && list.cand[1].orbit.period_s == 0,
       "an orbit, or none");
}

static void test_pulsarx(void)
{
    const double c = PSR_LIGHT_M_S;
    ok(!read_text(
           "#id   dm acc  F0 F1 S/N\n1\t100\t0\t100\t1e-6\t100\n2\t200\t100\t10\t0\t100\n") &&
           list.n == 2 && has(0, "Cand_1", 100, 100, 1e-6, 0, PSR_FOLD_AT_MIDDLE) &&
           has(1, "Cand_2", 200, 10, -100 / c * 10, 0, PSR_FOLD_AT_MIDDLE) && !nrefused,
       "PulsarX's candfile, with accelerations");
    ok(!read_text("#id DM accel F0 F1 F2 S/N\n7 1 0 2 3 4 9\n") &&
           has(0, "Cand_7", 1, 2, 3, 4, PSR_FOLD_AT_MIDDLE),
       "and F2");
    ok(!read_text(
           "#Filename a.fil\n#Date 2020\n#Pepoch 58000.125\n#id\tdm_old\tdm_new\tdm_err\t"
           "dist_ymw16\tf0_old\tf0_new\tf0_err\tf1_old\tf1_new\tf1_err acc_old\tacc_new\t"
           "acc_err\tS/N\tS/N_new\n1\t\t9\t8.5\t.1\t1e3\t4\t5\t1\t0\t-6\t1\t0\t7\t1\t10\t11\n") &&
           list.n == 1 && has(0, "Cand_1", 8.5, 5, -6, 0, PSR_FOLD_AT_EPOCH) &&
           list.cand[0].epoch_mjd == 58000.125,
       "the .cands that PulsarX writes: the new values, at their date");
    ok(!read_text("1 100 0 100 1e-6 100\n2\t200 100 10 0 100\n") && list.n == 2 &&
           has(0, "Cand_1", 100, 100, 1e-6, 0, PSR_FOLD_AT_MIDDLE) &&
           has(1, "Cand_2", 200, 10, -100 / c * 10, 0, PSR_FOLD_AT_MIDDLE),
       "a list of PulsarX without a header");
    ok(!read_text("# from a search\n7 1 0 2 3 4 9\n8 1 0 2 3 4\n") && list.n == 1 &&
           has(0, "Cand_7", 1, 2, 3, 4, PSR_FOLD_AT_MIDDLE) && nrefused == 1,
       "with F2, after a comment; a line of other length is refused");
    ok(!read_text("3 20 5 10 1e-3 1e-6 0.5 2.25 58000.5 1.5707963267948966 0.25 30\n") &&
           has(0, "Cand_3", 20, 10, 0, 0, PSR_FOLD_AT_MIDDLE) &&
           list.cand[0].orbit.period_s == 43200 && list.cand[0].orbit.asini_s == 2.25 &&
           list.cand[0].orbit.t0_mjd == 58000.5 && list.cand[0].orbit.ecc == 0.25 &&
           fabs(list.cand[0].orbit.omega_deg - 90) < 1e-12,
       "its twelve columns: an orbit, with periastron in radians, of a constant frequency");
    ok(read_text("3 20 5 10 1e-3\n") && read_text("x 100 0 100 1e-6 100\n"),
       "five columns, or a name for a number, are none of PulsarX's");
}

static void test_csv(void)
{
    ok(!read_text(
           "name,\"DM\" , period_ms,comment\n\"a \"\"b\"\", c\",3.5, 20 ,\"x,y\"\n,4,10\n") &&
           list.n == 2 && has(0, "a \"b\", c", 3.5, 50, 0, 0, PSR_FOLD_AT_START) &&
           has(1, "10.00ms_Cand", 4, 100, 0, 0, PSR_FOLD_AT_START) && nnotes == 1 &&
           strstr(note, "columns not used: comment"),
       "comma-separated values, with quotes, and a column that is not used");
    ok(!read_text("dm,f,period\n1,50,99\n") &&
           has(0, "50.00Hz_Cand", 1, 50, 0, 0, PSR_FOLD_AT_START),
       "of frequency and period the first counts");
    ok(read_text("file,f\nx_DM1.5_y_DM12.50.fft,3\nx.fft,3\n") == PSR_OK && list.n == 1 &&
           has(0, "3.00Hz_Cand", 12.5, 3, 0, 0, PSR_FOLD_AT_START) && nrefused == 1 &&
           strstr(refused, "line 3: file: 'x.fft' has no DM with"),
       "a DM from the name of a file");
    scratch_write_text(scratch("list"), "f,p\n3,\n");
    ok(!read_path(scratch("list"), true) && has(0, "3.00Hz_Cand", 7, 3, 0, 0, PSR_FOLD_AT_START),
       "the DM that the list has not");
}

/* What gpuaccel-pulscan -csv writes is read. */
static void test_own_csv(void)
{
    struct psr_accel_harm harm = {.sigma = 1};
    struct psr_accel_cand cand = {
        .r = {1000, 0.1}, .z = {20, 1}, .w = {6, 1}, .nharm = 1, .harm = &harm};
    struct psr_accel_list out = {.cand = &cand, .ncand = 1, .tobs_s = 50, .jerk = true};
    const char *path = scratch("own.csv");
    psr_outfile *f;
    const bool made = !psr_outfile_create(&f, path, &err) && !psr_accel_write_csv_header(f, &err) &&
                      !psr_accel_write_csv(f, &out, "d/obs_DM33.00.dat", &err) &&
                      !psr_outfile_commit(f, &err);
    const double z0 = 20 - 3, r0 = 1000 - z0 / 2 - 1;
    ok(made && !read_path(path, false) && list.n == 1 &&
           has(0, "obs_DM33.00_Cand_1", 33, r0 / 50, z0 / 2500, 6. / 125000, PSR_FOLD_AT_BEGINNING),
       "gpuaccel-pulscan's comma-separated values");
}

/* --- records and sifted lists ------------------------------------------------------------------- */

static const char *const inf_text = " Data file name without suffix          =  obs\n"
                                    " Telescope used                         =  GBT\n"
                                    " Epoch of observation (MJD)             =  56000.0\n"
                                    " Barycentered?           (1 yes, 0 no)  =  0\n"
                                    " Number of bins in the time series      =  100000\n"
                                    " Width of each time series bin (sec)    =  0.0005\n"
                                    " Any breaks in the data? (1 yes, 0 no)  =  0\n"
                                    " Type of observation (EM band)          =  Radio\n"
                                    " Dispersion measure (cm-3 pc)           =  12.25\n"
                                    " Central freq of low channel (Mhz)      =  1376\n"
                                    " Total bandwidth (Mhz)                  =  128\n"
                                    " Number of channels                     =  32\n"
                                    " Channel bandwidth (Mhz)                =  4\n";

static void write_records(void)
{
    const struct psr_accel_record record[3] = {{.r = 500, .z = 4}, {.r = 700}, {.r = -1}};
    unsigned char bytes[3 * PSR_ACCEL_RECORD_BYTES];
    for (int i = 0; i < 3; i++)
        psr_accel_pack(&record[i], bytes + i * PSR_ACCEL_RECORD_BYTES);
    scratch_write(scratch("obs_ACCEL_50.cand"), bytes, sizeof bytes);
    scratch_write_text(scratch("obs.inf"), inf_text);
}

static void test_records(void)
{
    const struct psr_candlist_desc d = {.size = sizeof d,
                                        .common = {.phase = 0.25, .dm = 3, .nbin = 50}};
    write_records();
    ok(!read_path(scratch("obs_ACCEL_50.cand"), false) && list.n == 2 && nrefused == 1 &&
           strstr(refused, "candidate 3: r = -1") &&
           has(0, "ACCEL_Cand_1", 12.25, 498. / 50, 4. / 2500, 0, PSR_FOLD_AT_BEGINNING) &&
           has(1, "ACCEL_Cand_2", 12.25, 14, 0, 0, PSR_FOLD_AT_BEGINNING),
       "all records, at the DM of the series; one is no frequency");
    psr_candlist_clear(&list);
    ok(!psr_candlist_read_accel(&list, scratch("obs_ACCEL_50.cand"), "2,1-2", &d, &err) &&
           list.n == 3 && has(0, "ACCEL_Cand_2", 3, 14, 0, 0, PSR_FOLD_AT_BEGINNING) &&
           has(1, "ACCEL_Cand_1", 3, 498. / 50, 4. / 2500, 0, PSR_FOLD_AT_BEGINNING),
       "some of them, as prepfold -accelcand");
    psr_candlist_clear(&list);
    ok(psr_candlist_read_accel(&list, scratch("obs_ACCEL_50.cand"), "4", &d, &err) == PSR_EINVAL &&
           strstr(err.msg, "has no candidate 4") &&
           psr_candlist_read_accel(&list, scratch("obs_ACCEL_50.cand"), "1-", &d, &err) ==
               PSR_EINVAL &&
           psr_candlist_read_accel(&list, scratch("obs.inf"), "1", &d, &err) == PSR_EINVAL &&
           psr_candlist_read_accel(&list, scratch("x_ACCEL_1.cand"), "1", &d, &err) == PSR_EIO,
       "none, no range, no name of a search, no file");
}

#define SIFT_HEAD                                                                                  \
    "#                           file:candnum                               DM     SNR    sigma  " \
    " "                                                                                            \
    "numharm    ipow     cpow      P(ms)          r         z     numhits\n"

static void test_sifted(void)
{
    write_records();
    ok(!read_text(SIFT_HEAD
                  "obs_ACCEL_50:1   12.50   51.30   24.90     8       346.6   2383.7     "
                  "33.099971     9280.97      0.01  (5)\n"
                  "  DM= 49.00 SNR=50.45 Sigma=24.45   ********\n"
                  "gone_DM9.00_ACCEL_50:3     9.00   51.30   24.90     8       346.6   2383.7   "
                  " 20.000000     1000.00      8.00  (1)\n"
                  "obs_ACCEL_50:9   12.50   51.30   24.90     8       346.6   2383.7     "
                  "33.099971     9280.97      0.01  (5)\n") &&
           list.n == 2 && nnotes == 1 &&
           has(0, "obs_ACCEL_50_Cand_1", 12.5, 498. / 50, 4. / 2500, 0, PSR_FOLD_AT_BEGINNING) &&
           has(1, "gone_DM9.00_ACCEL_50_Cand_3", 9, 996. / 20, 8. / 400, 0, PSR_FOLD_AT_BEGINNING),
       "ACCEL_sift.py's list: records, and digits where there is no file");
    ok(nrefused == 1 && strstr(refused, "list: line 5: ") && strstr(refused, "has no candidate 9"),
       "and a number that the file has not: %s", refused);
    for (int k = 0; k < 5; k++) {
        static const char *const row[] = {"x 1 2 3 4 5 6 7 8 9", "x:0 1 2 3 4 5 6 7 8 9",
                                          "x:1 -1 2 3 4 5 6 7 8 9", "x:1 1 2 3 4 5 6 0 8 9",
                                          "x:1 1 2 3 4 5 6 7"};
        static const char *const says[] = {"'x' is no file", "0 is below 1", "DM: -1 is below 0",
                                           "P(ms): 0 is below", "r is missing"};
        char text[400];
        snprintf(text, sizeof text, "%s%s\n", SIFT_HEAD, row[k]);
        ok(read_text(text) == PSR_EFORMAT && nrefused == 1 && strstr(refused, "line 2: ") &&
               strstr(refused, says[k]) && strstr(err.msg, "no candidate"),
           "%s: %s", row[k], refused);
    }
}

/* --- what is wrong ------------------------------------------------------------------------------- */

static void test_wrong_rows(void)
{
    static const struct {
        const char *row, *says;
    } wrong[] = {
        {"b x 0.1 0 0", "line 3: DM: 'x' is not a number"},
        {"b -1 0.1 0 0", "line 3: DM: -1 is below 0"},
        {"b 1 0 0 0", "line 3: p: 0 is below 1e-09"},
        {"b 1 nan 0 0", "line 3: p: 'nan' is not a number"},
        {"b 1 0.1 0", "line 3: fewer columns than the 5 of the header"},
        {"b 1 0.1 0 0 0", "line 3: more columns than the header"},
        {"b/c 1 0.1 0 0", "line 3: name: 'b/c' has a /"},
        {"b 1 0.1 0 1e9", "line 3: epoch: 1e9 is above 1e+06"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        snprintf(text, sizeof text, "# name DM p pd epoch\na 1 0.1 0 55000\n%s\nd 1 0.1 0 55000\n",
                 wrong[i].row);
        ok(!read_text(text) && list.n == 2 && !strcmp(list.cand[1].name, "d") && nrefused == 1 &&
               strstr(refused, wrong[i].says) && strstr(refused, "list: "),
           "%s", refused);
    }
    const struct psr_candlist_desc strict = {.size = sizeof strict};
    psr_candlist_clear(&list);
    scratch_write_text(scratch("list"), "# DM p\n1 1\nx 1\n2 2\n");
    ok(psr_candlist_read(&list, scratch("list"), &strict, &err) == PSR_EFORMAT && list.n == 1 &&
           !strcmp(err.field, "DM"),
       "without refuse the first wrong line ends it");
}

static void test_wrong_headers(void)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "no candidate"},
        {"# DM f pd\n1 2 3\n", "line 1: columns must be"},
        {"# DM f p\n1 2 3\n", "line 1: columns must be"},
        {"# DM pd\n1 2\n", "line 1: columns must be"},
        {"# f\n1\n", "line 1: columns must be"},
        {"# DM f PB\n1 2 3\n", "line 1: columns of an orbit"},
        {"# DM f f\n1 2 3\n", "line 1: column 'f' is not known, or twice"},
        {"# DM f quality\n1 2 3\n", "line 1: column 'quality' is not known"},
        {"1 2\n", "line 1: no line before it"},
        {"# a comment\n1 2\n", "line 2: no line before it"},
        {"#Pepoch x\n# DM f\n1 2\n", "line 1: Pepoch: 'x' is not a number"},
        {"# DM f\n", "no candidate"},
        {"a,b\n1,2\n", "line 1: columns must be"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ok(read_text(wrong[i].text) == PSR_EFORMAT && strstr(err.msg, wrong[i].says), "%s",
           err.msg);
    char wide[400] = "DM,f";
    for (int i = 0; i < 64; i++)
        strcat(wide, ",a");
    ok(read_text(wide) == PSR_EFORMAT && strstr(err.msg, "more than 64 columns"), "%s", err.msg);
    ok(read_path(scratch("none"), false) == PSR_EIO, "%s", err.msg);
    const struct psr_candlist_desc small = {.size = 3};
    ok(psr_candlist_read(&list, scratch("none"), &small, &err) == PSR_EINVAL, "%s", err.msg);
}

static void test_names(void)
{
    const struct psr_notes notes = {take_note, NULL};
    ok(!read_text("# name DM f\na 1 1\na 1 2\nb 1 3\na_2 1 4\na 1 5\nb 1 6\n"),
       "names that are equal");
    nnotes = 0;
    ok(!psr_candlist_make_unique(&list, &notes, &err) && list.n == 6 && nnotes == 3 &&
           !strcmp(list.cand[0].name, "a") && !strcmp(list.cand[1].name, "a_3") &&
           !strcmp(list.cand[2].name, "b") && !strcmp(list.cand[3].name, "a_2") &&
           !strcmp(list.cand[4].name, "a_4") && !strcmp(list.cand[5].name, "b_2"),
       "get numbers that no other has");
}

int main(void)
{
    scratch_make();
    test_prepfold_multi();
    test_pulsarx();
    test_csv();
    test_own_csv();
    test_records();
    test_sifted();
    test_wrong_rows();
    test_wrong_headers();
    test_names();
    psr_candlist_clear(&list);
    return done_testing();
}
