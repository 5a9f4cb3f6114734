/* psrfits: lost rows, zero-filled and cut ends of search-mode files, and real files. */
#include "tests/support/fits_check.h"

/* Opens the spec and tells whether spectra [gap, gap + n) are a gap and all else are data. */
static bool has_gap(const struct fits_spec *s, int64_t nsamp, int64_t gap, int64_t n,
                    const char *note, uint64_t *seed)
{
    psr_err err;
    struct psr_source_desc desc = description();
    struct psr_reader *r = open_spec(s, &desc, &err);
    if (!r)
        return false;
    bool good = r->obs.nsamp == nsamp && strstr(noted, note);
    double *x = read_all(r, 0, seed, &err), size;
    int64_t row = 0, in_row = 0;
    for (int64_t t = 0; x && good && t < nsamp; t++) {
        bool lost = t >= gap && t < gap + n;
        while (!lost && s->wts && row < s->nrow && s->wts[(size_t)row * s->nchan] == 0)
            row++;
        for (size_t c = 0; c < s->nchan && good; c++) {
            double got = x[(size_t)t * s->nchan + c];
            good = lost ? isnan(got) : got == naive_value(s, &desc, row, in_row, c, &size);
        }
        if (!lost && ++in_row == s->nsblk) {
            in_row = 0;
            row++;
        }
    }
    good = good && x;
    free(x);
    x = !good || r->ops->seek(r, gap + n / 2, &err) ? NULL : read_all(r, gap + n / 2, seed, &err);
    good = x && (n == 0 || isnan(x[0]));
    free(x);
    r->ops->close(r);
    if (!good)
        diag("nsamp %lld, notes: %s", (long long)nsamp, noted);
    return good;
}

static void test_gaps(uint64_t *seed)
{
    struct fits_spec s = fits_random_spec(seed, 12, 1, 8, false);
    int64_t n = s.nsblk, rows = s.nrow;
    double middle[FITS_ROWS_MAX];
    float weights[FITS_ROWS_MAX * 12];
    s.middle_s = middle;
    for (int64_t i = 0; i < rows; i++)
        middle[i] = ((double)i + 0.5 + (i > 1 ? 3 : 0)) * (double)n * 0.001 + 1e-4;
    ok(has_gap(&s, (rows + 3) * n, 2 * n, 3 * n, "missing before row 3", seed), "lost rows");
    for (int64_t i = 0; i < rows; i++)
        middle[i] = ((double)i + 0.5) * (double)n * 0.001 + (i > 1 ? 2 * 86400 : 0);
    psr_err err;
    struct psr_source_desc desc = description();
    struct psr_reader *r = open_spec(&s, &desc, &err);
    ok(!r && strstr(err.msg, "row 3: ") && strstr(err.msg, "2 days after the end of row 2"),
       "refused: %s", r ? "nothing" : err.msg);
    for (int64_t i = 0; i < rows; i++)
        middle[i] = ((double)i + 2.5) * (double)n * 0.001 + (i > 0 ? 0.005 : 0);
    ok(has_gap(&s, rows * n + 5, n, 5, "5 spectra are missing", seed),
       "a part of a row is lost, and whole rows before the first");
    memset(middle, 0, sizeof middle);
    ok(has_gap(&s, rows * n, 0, 0, "OFFS_SUB is missing or 0", seed), "OFFS_SUB 0 throughout");
    for (int64_t i = 0; i < rows; i++)
        middle[i] = (double)(i * n) * 0.001;
    ok(has_gap(&s, rows * n, 0, 0, "timed from the first", seed), "OFFS_SUB of the row's start");
    s.middle_s = NULL;
    for (size_t i = 0; i < FITS_ROWS_MAX * s.nchan; i++)
        weights[i] = i / s.nchan == 1 ? 0 : 1;
    s.wts = weights;
    ok(has_gap(&s, rows * n, n, n, "1 of", seed), "a row of weight 0");
    s.wts = NULL;
    for (int64_t i = 0; i < rows; i++)
        middle[i] = ((double)i + 0.5) * (double)n * 0.001 + (i == 0 ? 0.007 : 0.007 - 0.001);
    s.middle_s = middle;
    ok(has_gap(&s, rows * n + 7, 0, 7, "7 spectra are missing before row 1", seed),
       "a part of a row is lost before the first, and a clock that jitters by a spectrum");
    s.middle_s = NULL;
    fits_spec_free(&s);
}

/* What moves the date of the first spectrum, in seconds after that of the plain file. */
static void check_date(struct fits_spec *s, const char *edit, double later_s)
{
    psr_err err;
    struct psr_source_desc desc = description();
    s->edit = edit;
    struct psr_reader *r = open_spec(s, &desc, &err);
    if (!ok(r != NULL, "%s", edit))
        return;
    near(r->obs.tstart.frac * 86400, 43200.25 + later_s, 1e-10, "moves the date");
    r->ops->close(r);
}

static void test_dates(uint64_t *seed)
{
    struct fits_spec s = fits_random_spec(seed, 12, 1, 8, false);
    double middle[FITS_ROWS_MAX] = {0}, row_s = (double)s.nsblk * 0.001;
    check_date(&s, "BE_DELAY=0.5", 0.5);
    s.middle_s = middle;
    check_date(&s, "NSUBOFFS=3", 3 * row_s);
    middle[0] = 5;
    check_date(&s, "TTYPE1='INDEXVAL'", 4 * row_s);
    for (int64_t i = 0; i < s.nrow; i++)
        middle[i] = ((double)i + 2.5) * row_s;
    check_date(&s, "NSUBOFFS=0", 2 * row_s);
    const double off_s[] = {-2e-6, -0.4e-3, 0.4e-3};
    for (size_t k = 0; k < sizeof off_s / sizeof *off_s; k++) {
        for (int64_t i = 0; i < s.nrow; i++)
            middle[i] = ((double)i + 2.5) * row_s + off_s[k];
        check_date(&s, "NSUBOFFS=0", 2 * row_s);
        ok(has_gap(&s, s.nrow * s.nsblk, 0, 0, "", seed), "OFFS_SUB off by %g s is no gap",
           off_s[k]);
    }
    s.middle_s = NULL;
    fits_spec_free(&s);
}

static void test_end(uint64_t *seed)
{
    struct fits_spec s = fits_random_spec(seed, 13, 2, 4, false);
    int64_t n = s.nsblk, rows = s.nrow, keep;
    s.pol_type = "AABB";
    keep = (rows - 1) * n - 3;
    for (size_t i = fits_index(&s, 0, keep, 0, 0); i < fits_index(&s, rows, 0, 0, 0); i++)
        s.raw[i] = 0;
    s.raw[fits_index(&s, 0, keep, 0, 0) - 1] = 1;
    ok(has_gap(&s, keep, keep, 0, "filled with zeros", seed) || s.nrow < 2,
       "a row and three spectra of zeros at the end");
    s.raw[fits_index(&s, rows, 0, 0, 0) - 1] = 1;
    s.edit = "NSTOT";
    s.nstot = rows * n - 7;
    ok(has_gap(&s, keep, keep, 0, "NSTOT", seed), "NSTOT, then zeros");
    s.nstot = 1;
    ok(has_gap(&s, rows * n, 0, 0, "", seed), "a stale NSTOT");
    fits_spec_free(&s);
    s = fits_random_spec(seed, 1, 1, 8, false);
    s.raw[fits_index(&s, s.nrow, 0, 0, 0) - 1] = 0;
    s.raw[fits_index(&s, s.nrow, 0, 0, 0) - 9] = 1;
    ok(has_gap(&s, s.nrow * s.nsblk, 0, 0, "", seed), "one zero of one channel is data");
    fits_spec_free(&s);
}

static void test_truncated(uint64_t *seed)
{
    psr_err err;
    struct psr_source_desc desc = description();
    struct fits_spec s = fits_random_spec(seed, 512, 1, 8, false);
    const char *file = scratch("x.fits");
    int64_t data = fits_write_spec(file, &s);
    int64_t row = (int64_t)s.nchan * (s.nsblk + 12) + 8;
    struct psr_reader *r;
    ok(!truncate(file, data + row * (s.nrow - 1) - 1), "cut");
    ok(!psr_psrfits_open(&r, file, &desc, &err) && r->obs.nsamp == (s.nrow - 2) * s.nsblk &&
           strstr(noted, "cut off"),
       "a file cut within its last row but one");
    if (r) {
        double *x = read_all(r, 0, seed, &err);
        ok(x && same_as_naive(&s, &desc, &r->obs, x, 0, 0), "the whole rows are read");
        ok(r->ops->seek(r, r->obs.nsamp + 1, &err) == PSR_EINVAL && strstr(err.msg, "no spectrum"),
           "no seek beyond the end");
        free(x);
        r->ops->close(r);
    }
    ok(!truncate(file, data + row / 2) && psr_psrfits_open(&r, file, &desc, &err) == PSR_EFORMAT &&
           !r && strstr(err.msg, "no whole row"),
       "no whole row: %s", err.msg);
    ok(!truncate(file, 3000) && psr_psrfits_open(&r, file, &desc, &err) == PSR_EFORMAT &&
           strstr(err.msg, "cfitsio"),
       "a cut header: %s", err.msg);
    fits_spec_free(&s);
}

/* Rows of 8 channels are shorter than a FITS record, the last of which is not whole. */
static void test_cut_in_record(uint64_t *seed)
{
    psr_err err;
    struct psr_source_desc desc = description();
    struct fits_spec s = fits_random_spec(seed, 8, 1, 8, false);
    fits_random_scaling(&s, seed);
    const char *file = scratch("x.fits");
    int64_t data = fits_write_spec(file, &s), whole = s.nrow - 1;
    int64_t row = (int64_t)s.nchan * (s.nsblk + 20) + 3 * 8;
    struct psr_reader *r;
    for (int extra = 0; extra < 2; extra++) {
        ok(!truncate(file, data + row * whole + extra * (row - 1)), "cut");
        bool fine = !psr_psrfits_open(&r, file, &desc, &err);
        ok(fine && r->obs.nsamp == whole * s.nsblk, "whole rows of a cut record count");
        double *x = fine ? read_all(r, 0, seed, &err) : NULL;
        ok(x && same_as_naive(&s, &desc, &r->obs, x, 0, 1e-6), "and are read");
        free(x);
        if (fine)
            r->ops->close(r);
    }
    fits_spec_free(&s);
}

/* What was there when the file was opened, and is not when it is read. */
static void test_cut_meanwhile(uint64_t *seed)
{
    psr_err err;
    struct psr_source_desc desc = description();
    struct fits_spec s = fits_random_spec(seed, 512, 1, 8, false);
    const char *file = scratch("x.fits");
    int64_t data = fits_write_spec(file, &s);
    int64_t row = (int64_t)s.nchan * (s.nsblk + 12) + 8;
    struct psr_reader *r;
    if (!ok(!psr_psrfits_open(&r, file, &desc, &err) && !truncate(file, data + row + row / 2),
            "cut after it was opened"))
        return;
    double *x = read_all(r, 0, seed, &err);
    ok(!x && err.code == PSR_EIO && strstr(err.msg, "ended in row 2 of "), "is an error: %s",
       err.msg);
    free(x);
    r->ops->close(r);
    fits_spec_free(&s);
}

/* Two bands of one time: that which lacks spectra is named. */
static void test_bands(uint64_t *seed)
{
    psr_err err = {.msg = ""};
    const char *paths[2] = {scratch("low.fits"), scratch("high.fits")};
    struct psr_source_desc desc = description();
    struct fits_spec s = fits_random_spec(seed, 16, 1, 8, false);
    double middle[FITS_ROWS_MAX];
    uint8_t block[2 * 16 * FITS_ROWS_MAX * 64];
    psr_source *source = NULL;
    size_t nread = 0;
    bool good = fits_write_spec(paths[1], &s) > 0;
    for (int64_t i = 0; i < s.nrow; i++)
        middle[i] = ((double)i + 0.5 + (i > 1 ? 1 : 0)) * (double)s.nsblk * 0.001;
    s.middle_s = middle;
    s.moved_row = 1;
    s.moved_mhz = (double)s.nchan * s.foff_mhz;
    good = good && fits_write_spec(paths[0], &s) > 0;
    desc.path = paths;
    desc.npath = 2;
    if (ok(good && !psr_source_open(&source, &desc, &err), "bands side by side: %s", err.msg)) {
        const size_t n = (size_t)(s.nrow * s.nsblk);
        good = psr_source_read(source, n, block, &nread, &err) == PSR_EUNSUPPORTED;
        ok(good && strstr(err.msg, "low.fits: lacks data from spectrum"), "are named: %s", err.msg);
    }
    psr_source_close(source);
    fits_spec_free(&s);
}

/* Two files of one observation, given in the wrong order, five spectra missing between them. */
static void test_list(uint64_t *seed)
{
    psr_err err;
    char edit[40];
    const char *paths[2] = {scratch("y.fits"), scratch("x.fits")};
    struct psr_source_desc desc = description();
    struct fits_spec s = fits_random_spec(seed, 16, 2, 8, false);
    const int64_t n = s.nrow * s.nsblk;
    uint16_t *block = malloc((size_t)(2 * n + 5) * s.nchan * sizeof *block);
    const struct psr_span *gaps = NULL;
    psr_source *source = NULL;
    size_t nread = 0, bad = 0;
    s.pol_type = "AABB";
    fits_write_spec(paths[1], &s);
    snprintf(edit, sizeof edit, "STT_OFFS=%.9g", 0.25 + 0.001 * (double)(n + 5));
    s.edit = edit;
    fits_write_spec(paths[0], &s);
    desc.path = paths;
    desc.npath = 2;
    ok(!psr_source_open(&source, &desc, &err) && psr_source_obs(source)->nsamp == 2 * n + 5,
       "a list of two files");
    ok(!psr_source_read(source, (size_t)(2 * n + 5), block, &nread, &err) &&
           nread == (size_t)(2 * n + 5) && psr_source_gaps(source, &gaps) == 1 &&
           gaps->first == n && gaps->count == 5,
       "five spectra of padding between them");
    for (int64_t t = 0; t < 2 * n + 5; t++)
        for (size_t c = 0; c < s.nchan && (t < n || t >= n + 5); c++) {
            int64_t at = t < n ? t : t - n - 5;
            double size, want = naive_value(&s, &desc, at / s.nsblk, at % s.nsblk, c, &size);
            bad += block[(size_t)t * s.nchan + c] != want;
        }
    ok(!bad, "values of both");
    psr_source_close(source);
    free(block);
    fits_spec_free(&s);
}

/* Channel means, and the sum of all values times 1 + t % 7, computed in double precision from what
 * astropy 6 reads, sub-byte samples taken high bits first:
 * ((raw - ZERO_OFF) DAT_SCL + DAT_OFFS) DAT_WTS, for AABB the sum of the first two. */
static const struct {
    const char *name;
    int choice;
    int64_t nsamp;
    size_t channel[5];
    double mean[5], sum;
} real_files[] = {
    {"parkes_4bit.sf",
     -1,
     4096,
     {0, 1, 138, 208, 415},
     {381947.004167, 582436.989433, 15280562.2107, 8297282.22, 1134713.06902},
     1.06696068227e+14},
    {"parkes_4bit.sf",
     2,
     4096,
     {0, 1, 138, 208, 415},
     {391.119850755, -798.590118527, -130019.86824, -38084.7858286, 1041.38991237},
     2.17225074738e+12},
    {"test_4pol.fits", -1, 200, {0, 1, 170, 256, 511}, {0, 1.86, 17.22, 26.675, 0}, 7421912},
    {"small.fits", -1, 10, {0, 1, 112, 168, 335}, {140, 120.2, 132.9, 127.9, 124.2}, 1467677},
};

static void check_figures(size_t i, const double *x, size_t nchan)
{
    double sum = 0, size = 0;
    for (size_t k = 0; k < (size_t)real_files[i].nsamp * nchan; k++) {
        double weight = 1 + (double)(k / nchan % 7);
        sum += x[k] * weight;
        size += fabs(x[k]) * weight;
    }
    near(sum, real_files[i].sum, 1e-7 * size, real_files[i].name);
    for (size_t k = 0; k < 5; k++) {
        double mean = 0;
        for (size_t t = 0; t < (size_t)real_files[i].nsamp; t++)
            mean += x[t * nchan + real_files[i].channel[k]] / (double)real_files[i].nsamp;
        near(mean, real_files[i].mean[k], 1e-6 * size / (double)nchan / (double)real_files[i].nsamp,
             "mean of a channel");
    }
}

static void test_real(const char *data, uint64_t *seed)
{
    psr_err err;
    char file[PATH_MAX];
    struct psr_reader *r;
    for (size_t i = 0; i < sizeof real_files / sizeof *real_files; i++) {
        struct psr_source_desc desc = description();
        desc.if_choice = real_files[i].choice;
        snprintf(file, sizeof file, "%s/%s", data, real_files[i].name);
        if (!ok(!psr_psrfits_open(&r, file, &desc, &err) && r->obs.nsamp == real_files[i].nsamp,
                "%s opens", real_files[i].name))
            continue;
        double *x = read_all(r, 0, seed, &err);
        if (ok(x != NULL, "%s is read", real_files[i].name))
            check_figures(i, x, r->obs.nchan);
        free(x);
        r->ops->close(r);
    }
    struct psr_source_desc desc = description();
    snprintf(file, sizeof file, "%s/empty.fits", data);
    ok(psr_psrfits_open(&r, file, &desc, &err) == PSR_EFORMAT && strstr(err.msg, "NAXIS2 = 0"),
       "empty.fits is refused");
}

/* The same observation in both formats; the filterbank's samples are its last 5120 x 336 bytes. */
static void test_twin(const char *data)
{
    enum { BYTES = 5120 * 336 };
    psr_err err;
    psr_source *source;
    char file[PATH_MAX];
    const char *path = file;
    struct psr_source_desc desc = description();
    uint8_t *want = malloc(BYTES), *got = malloc(BYTES);
    size_t nread = 0;
    snprintf(file, sizeof file, "%s/28.fil", data);
    FILE *f = fopen(file, "rb");
    bool have = f && !fseek(f, -(long)BYTES, SEEK_END) && fread(want, 1, BYTES, f) == BYTES;
    if (f)
        fclose(f);
    snprintf(file, sizeof file, "%s/28.fits", data);
    desc.path = &path;
    desc.npath = 1;
    if (ok(have && !psr_source_open(&source, &desc, &err), "28.fil and 28.fits open")) {
        const struct psr_obs *obs = psr_source_obs(source);
        ok(obs->nsamp == 5120 && obs->nbit == 8 && obs->kind == PSR_UINT &&
               strstr(noted, "403 spectra"),
           "28.fits: 403 spectra of zeros are no data");
        ok(!psr_source_read(source, 5120, got, &nread, &err) && nread == 5120 &&
               !memcmp(got, want, BYTES),
           "28.fits is 28.fil");
        psr_source_close(source);
    }
    free(want);
    free(got);
}

int main(void)
{
    uint64_t seed = tap_seed();
    const char *data = getenv("PSRKIT_TEST_DATA");
    scratch_make();
    test_gaps(&seed);
    test_dates(&seed);
    test_end(&seed);
    test_truncated(&seed);
    test_cut_in_record(&seed);
    test_cut_meanwhile(&seed);
    test_bands(&seed);
    test_list(&seed);
    if (data) {
        test_real(data, &seed);
        test_twin(data);
    } else {
        skip("real files", "PSRKIT_TEST_DATA is not set");
    }
    return done_testing();
}
