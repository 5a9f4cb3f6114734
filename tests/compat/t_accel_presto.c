/* accelsearch: a compatible search against the files that PRESTO's accelsearch (git 3ae62291, one
 * thread) wrote.
 *
 * `t_accel_presto write FILE.fft` writes the spectrum they were made from; beside it, the .inf that
 * each of them ends with does.  The commands are in the table below. */
#include <psrkit/experimental/accelsearch.h>
#include <psrkit/fake.h>

#include "compat/presto/presto_internal.h"
#include "fake/fake_internal.h"
#include "search/matched/response/accel_internal.h"
#include "tests/support/accel_truth.h"
#include "tests/support/scratch.h"
#include "tests/support/write_spectrum.h"

enum { NBIN = 24000, MOST_LINE = 400, SIGMA = 1, POWER = 2, COHERENT = 3 };
static const double TOBS_S = 2 * NBIN * 0.0005;

/* --- the spectrum ----------------------------------------------------------------------------- */

static void add_line(float *x, double r, double z, double w, double power, double phase)
{
    for (int64_t k = (int64_t)r - 400; k < (int64_t)r + 400; k++)
        if (k > 0 && k < NBIN) {
            double complex v = sqrt(power) * cexp(I * phase) * truth_response((double)k - r, z, w);
            x[2 * k] += (float)creal(v);
            x[2 * k + 1] += (float)cimag(v);
        }
}

/* Noise, and more of it at low frequencies; pulsars, some of them with jerk; a bright line. */
static float *make_spectrum(void)
{
    float *x = tap_take(2 * NBIN, sizeof *x);
    psr_rng_normal(41, 0, 0, 2 * NBIN, x);
    for (size_t k = 0; k < NBIN; k++)
        for (size_t part = 0; part < 2; part++)
            x[2 * k + part] *= (float)(50 * sqrt(1 + 200 / ((double)k + 10)));
    for (int h = 1; h <= 8; h++)
        add_line(x, h * 1203.3, h * 3.7, 0, 5000 * 9, h);
    for (int h = 1; h <= 3; h++)
        add_line(x, h * 3111.2, h * -7.1, h * 9.0, 5000 * 14, 2 * h);
    add_line(x, 15000.2, -31, 0, 5000 * 60, 1);
    add_line(x, 20007.4, 12, 55, 5000 * 50, 3);
    add_line(x, 5555.1, 0, 0, 5000 * 900, 2);
    x[0] = 1;
    x[1] = 0;
    return x;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* A number as the tables have it; its error where it has one, else half of its last digit. */
static bool read_number(const char *text, double *value, double *error)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text)
        return false;
    const char *power = strstr(end, "x10^"), *point = memchr(text, '.', (size_t)(end - text));
    double scale = power ? pow(10, atoi(power + 4)) : 1;
    double digit = point ? pow(10, -(double)(end - point - 1)) : 1;
    *error = 0.5 * digit * scale;
    if (*end == '(') {
        char *close;
        double brackets = strtod(end + 1, &close);
        bool whole = !memchr(end, '.', (size_t)(close - end));
        *error = brackets * scale * (whole ? digit : 1);
    }
    *value *= scale;
    return true;
}

/* Words that are numbers may differ by what share of their error, or of themselves. */
static bool same_word(const char *a, const char *b, double share, double relative)
{
    double va, vb, ea, eb;
    if (!strcmp(a, b))
        return true;
    if (!read_number(a, &va, &ea) || !read_number(b, &vb, &eb))
        return false;
    return fabs(va - vb) <= share * fmax(ea, eb) + relative * fabs(va) + 1e-12;
}

/* A candidate's words are the same but for the last digits of sigma and power and for the coherent
 * power; a harmonic's are so within their errors. */
static bool same_line(char *a, char *b, bool harmonic)
{
    char *more_a, *more_b;
    char *wa = strtok_r(a, " \n", &more_a), *wb = strtok_r(b, " \n", &more_b);
    for (int k = 0; wa && wb; k++) {
        bool coherent = !harmonic && k == COHERENT, power = k == SIGMA || k == POWER;
        if (!same_word(wa, wb, harmonic ? 1 : power ? 2 : 0, harmonic || coherent ? 0.03 : 2e-5))
            return false;
        wa = strtok_r(NULL, " \n", &more_a);
        wb = strtok_r(NULL, " \n", &more_b);
    }
    return !wa && !wb;
}

/* Lines of two files, as far as the blank ones behind the table of harmonics. */
static int differing_lines(const char *path, const char *golden, int *nline)
{
    FILE *a = fopen(path, "r"), *b = fopen(golden, "r");
    char la[MOST_LINE], lb[MOST_LINE], copy[2][MOST_LINE];
    int blank = 0, differ = 0;
    *nline = 0;
    if (!a || !b)
        return 1;
    while (fgets(la, sizeof la, a) && fgets(lb, sizeof lb, b) && blank < 4) {
        strcpy(copy[0], la);
        strcpy(copy[1], lb);
        blank += strspn(la, " \n") == strlen(la);
        bool same = same_line(copy[0], copy[1], blank >= 2);
        if (!same)
            diag("%s# %s", la, lb);
        differ += !same;
        (*nline)++;
    }
    fclose(a);
    fclose(b);
    return differ + (blank < 4);
}

/* --- records ---------------------------------------------------------------------------------- */

static bool near_all(const float *a, const float *b, const float *within, int n)
{
    bool good = true;
    for (int k = 0; k < n; k++)
        good = good && fabsf(a[k] - b[k]) <= within[k];
    return good;
}

/* Places to the bit; what was measured within its errors. */
static bool same_record(const struct psr_accel_record *a, const struct psr_accel_record *b)
{
    const float got[] = {a->pow, a->sig, a->phs, a->cen, a->pur};
    const float want[] = {b->pow, b->sig, b->phs, b->cen, b->pur};
    const float within[] = {0.02F * b->powerr, 0.02F, 0.1F * b->phserr, 0.2F * b->cenerr,
                            0.5F * b->purerr};
    return memcmp(&a->r, &b->r, sizeof a->r) == 0 && memcmp(&a->z, &b->z, sizeof a->z) == 0 &&
           memcmp(&a->w, &b->w, sizeof a->w) == 0 &&
           memcmp(&a->rerr, &b->rerr, 3 * sizeof a->rerr) == 0 &&
           fabsf(a->rawpow / b->rawpow - 1) < 0.01F && fabsf(a->locpow / b->locpow - 1) < 0.01F &&
           near_all(got, want, within, 5);
}

static int differing_records(const char *path, const char *golden, int *n)
{
    FILE *a = fopen(path, "rb"), *b = fopen(golden, "rb");
    unsigned char ra[PSR_ACCEL_RECORD_BYTES], rb[PSR_ACCEL_RECORD_BYTES];
    int differ = 0;
    if (!a || !b)
        return 1;
    for (*n = 0; fread(rb, sizeof rb, 1, b) == 1; (*n)++) {
        struct psr_accel_record got, want;
        bool there = fread(ra, sizeof ra, 1, a) == 1;
        psr_accel_unpack(&got, ra);
        psr_accel_unpack(&want, rb);
        differ += !there || !same_record(&got, &want);
    }
    differ += fread(ra, sizeof ra, 1, a) == 1;
    fclose(a);
    fclose(b);
    return differ;
}

/* --- cases ------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *options;
    struct psr_accelsearch_desc d;
    double flo, fhi;
} cases[] = {
    {"plane", "-zmax 60 -numharm 8 -sigma 2", {.zmax = 60, .numharm = 8, .sigma = 2}, 1, 1e4},
    {"blocks",
     "-zmax 60 -wmax 0 -numharm 8 -sigma 2",
     {.zmax = 60, .numharm = 8, .sigma = 2, .compat_jerk = true},
     1,
     1e4},
    {"jerk",
     "-zmax 20 -wmax 60 -numharm 4 -sigma 3",
     {.zmax = 20, .wmax = 60, .numharm = 4, .sigma = 3},
     1,
     1e4},
    {"jerk1",
     "-zmax 14 -wmax 60 -numharm 2 -sigma 3 -noharmpolish -flo 100",
     {.zmax = 14, .wmax = 60, .numharm = 2, .sigma = 3, .free_harmonics = true},
     100,
     1e4},
    {"local",
     "-zmax 40 -numharm 4 -sigma 3 -noharmremove -locpow -flo 30 -fhi 400",
     {.zmax = 40, .numharm = 4, .sigma = 3, .keep_harmonics = true, .norm = PSR_ACCELSEARCH_LOCAL},
     30,
     400},
    {"apart",
     "-zmax 7 -numharm 16 -sigma 3 -noharmpolish -flo 20",
     {.zmax = 7, .numharm = 16, .sigma = 3, .free_harmonics = true},
     20,
     1e4},
    {"one", "-zmax 90 -numharm 1 -sigma 4", {.zmax = 90, .numharm = 1, .sigma = 4}, 1, 1e4},
};

static void write_files(const struct psr_accel_list *list, const char *path, const char *inf)
{
    char cand[PATH_MAX + 8];
    psr_outfile *f = NULL, *c = NULL;
    psr_err err = {.msg = ""};
    snprintf(cand, sizeof cand, "%s.cand", path);
    bool good = !psr_outfile_create(&f, path, &err) && !psr_accel_write(f, list, inf, &err) &&
                !psr_outfile_commit(f, &err) && !psr_outfile_create(&c, cand, &err) &&
                !psr_accel_write_cand(c, list, &err) && !psr_outfile_commit(c, &err);
    if (!good)
        diag("%s", err.msg);
}

/* PRESTO ran on x86-64 for the lists; the transforms of FFTW for other processors round otherwise, and so the last digit of one
 * number. */
#ifdef __x86_64__
enum { ROUNDED_LINES = 0 };
#else
enum { ROUNDED_LINES = 1 };
#endif

static void test_case(size_t k, const float *x, int nthread)
{
    struct psr_accelsearch_desc d = cases[k].d;
    d.size = sizeof d;
    const struct psr_accelsearch_input in = {.x = x};
    struct psr_accelsearch_result r = {.cand = NULL};
    psr_accelsearch *plan = NULL;
    psr_err err = {.msg = ""};
    d.nbin = NBIN;
    d.rlo = cases[k].flo * TOBS_S;
    d.rhi = cases[k].fhi * TOBS_S;
    d.compat = true;
    d.nthread = nthread;
    if (psr_accelsearch_create(&plan, &d, &err) || psr_accelsearch_execute(plan, &in, &r, &err))
        diag("%s", err.msg);
    const struct psr_accel_list list = {r.cand, r.ncand, d.wmax > 0, TOBS_S};
    char path[PATH_MAX], golden[PATH_MAX], inf[PATH_MAX], cand[2][PATH_MAX + 8];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/%s", scratch_dir, cases[k].name);
    snprintf(golden, sizeof golden, "%s/tests/golden/accelsearch_%s", srcdir, cases[k].name);
    snprintf(cand[0], sizeof cand[0], "%s.cand", path);
    snprintf(cand[1], sizeof cand[1], "%s.cand", golden);
    snprintf(inf, sizeof inf, "%s/tests/golden/acc3.inf", srcdir);
    write_files(&list, path, inf);
    int nline, ncand = 0, lines = differing_lines(path, golden, &nline);
    int records = differing_records(cand[0], cand[1], &ncand);
    ok(lines <= ROUNDED_LINES, "accelsearch %s: %d lines are its own", cases[k].options, nline);
    ok(records == 0 && (size_t)ncand == r.ncand, "and %d records", ncand);
    psr_accelsearch_destroy(plan);
}

/* --- series of other tests ----------------------------------------------------------------------- */

/* Writes the sums of the samples of two files. */
static int write_sum(const char *a, const char *b)
{
    FILE *f[2] = {fopen(a, "rb"), fopen(b, "rb")};
    float x[2];
    while (f[0] && f[1] && fread(&x[0], 4, 1, f[0]) == 1 && fread(&x[1], 4, 1, f[1]) == 1) {
        x[0] += x[1];
        fwrite(x, 4, 1, stdout);
    }
    return !f[0] || !f[1] || fclose(f[0]) || fclose(f[1]) || fflush(stdout);
}

/* Writes samples as shorts, or shorts as samples. */
static int convert(const char *path, bool shorten)
{
    FILE *f = fopen(path, "rb");
    float x;
    int16_t s;
    while (f && fread(shorten ? (void *)&x : (void *)&s, shorten ? 4 : 2, 1, f) == 1) {
        if (shorten)
            s = (int16_t)lrintf(10 * x);
        else
            x = s;
        fwrite(shorten ? (void *)&s : (void *)&x, shorten ? 2 : 4, 1, stdout);
    }
    return !f || fclose(f) || fflush(stdout);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* PRESTO's lengths of transforms for responses of so many half bins. */
static int block_plainly(int response)
{
    if (response < 664)
        return 2048; /* and at least that */
    if (response < 1672)
        return 4096;
    if (response < 3015)
        return 10240;
    if (response < 3554)
        return 15360;
    if (response < 6000)
        return 25600;
    int n = 1;
    while (n < 5 * response)
        n *= 2;
    return n;
}

static void test_blocks(void)
{
    int wrong = 0;
    for (int jmax = 0; jmax <= 600; jmax++)
        for (int lmax = 0; lmax <= 200; lmax += 8) {
            struct psr_accel_search s = {.jmax = jmax, .lmax = lmax, .rlo = 10, .rhi = 1e6 + jmax};
            struct psr_presto_layout y;
            psr_presto_layout_make(&y, &s, lmax > 0, false);
            const int response = 4 * psr_template_reach(jmax, lmax);
            int64_t nblock = 0;
            for (int64_t r = 10; r + y.uselen / 2 < 1000000 + jmax; r += y.uselen / 2)
                nblock++;
            wrong += y.fftlen != block_plainly(response) || y.uselen % 2 ||
                     y.uselen > y.fftlen - response || y.uselen < y.fftlen - response - 1 ||
                     y.nblock != nblock || y.rlo != 10 || y.highest != 1000000 + jmax;
        }
    ok(wrong == 0, "lengths of blocks are PRESTO's (%d of 15626 not)", wrong);
    struct psr_accel_search s = {.jmax = 100, .rlo = 1, .rhi = 1e4};
    struct psr_presto_layout y;
    psr_presto_layout_make(&y, &s, false, false);
    const int64_t most = (int64_t)(2e9 / 8 / 201) - y.uselen; /* bins of 2 x 201 floats */
    for (int64_t bin = most - 1; bin <= most + 1; bin++) {
        s.rhi = (double)bin;
        for (int k = 0; k < 4; k++) {
            psr_presto_layout_make(&y, &s, k & 1, k & 2);
            const bool fits = 8.0 * (double)(bin + y.uselen) * 201 < 2e9;
            ok(y.inmem == (!(k & 1) && (fits || k & 2)), "%lld bins: one plane or none",
               (long long)bin);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "write"))
        return write_spectrum(argv[2], make_spectrum(), NBIN);
    if (argc == 4 && !strcmp(argv[1], "sum"))
        return write_sum(argv[2], argv[3]);
    if (argc == 3)
        return convert(argv[2], !strcmp(argv[1], "shorten"));
    scratch_make();
    float *x = make_spectrum();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        test_case(k, x, 1 + (int)(k % 3));
    free(x);
    test_blocks();
    return done_testing();
}
