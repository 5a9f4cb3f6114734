/* source: one filterbank file against the samples it was made from, and bad ones. */
#include "base/obs_internal.h"
#include "tests/support/source_made.h"
#include <errno.h>

/* Sums of channels counted from the files' bytes by a Python script of 15 lines, which histograms
 * each byte column and knows only the length of the header (327 and 351 bytes) and that the first
 * channel is in the low bits: channels 0, 1, 2, 100 and the last, and sum over c of (c + 1) times
 * the sum of channel c. */
static const struct {
    const char *name;
    size_t nchan;
    int nbit;
    int64_t nsamp, sum[5], weighted;
} real_files[] = {
    {"28.fil", 336, 8, 5120, {655570, 660098, 656811, 659285, 658054}, 36914029790},
    {"parkes_8bit_1.fil", 832, 8, 4096, {517024, 515590, 534222, 522196, 527232}, 181683145824},
    {"parkes_4bit.fil", 832, 4, 4096, {30406, 30360, 31417, 30701, 31026}, 10687773775},
    {"parkes_2bit.fil", 832, 2, 4096, {5900, 5864, 6606, 6146, 6346}, 2139595981},
    {"parkes_1bit.fil", 832, 1, 4096, {1927, 1916, 2236, 2057, 2098}, 706144047},
};

static void sum_channels(psr_source *s, int64_t *sum, int64_t *nread, psr_status *st, psr_err *err)
{
    const struct psr_obs *obs = psr_source_obs(s);
    const size_t length = 1000;
    size_t row = psr_source_block_bytes(s, 1), n = length;
    uint8_t *block = malloc(psr_source_block_bytes(s, length));
    if (!block)
        abort();
    while (!*st && n == length) {
        *st = psr_source_read(s, length, block, &n, err);
        for (size_t t = 0; t < n; t++)
            for (size_t c = 0; c < obs->nchan; c++)
                sum[c] += (int64_t)sample_at(block + t * row, c, obs->nbit, obs->kind);
        *nread += (int64_t)n;
    }
    free(block);
}

static void test_real_files(void)
{
    const char *data = getenv("PSRKIT_TEST_DATA");
    for (size_t i = 0; i < sizeof real_files / sizeof *real_files; i++) {
        char full[4096];
        const char *path = full, *name = real_files[i].name;
        struct psr_source_desc d = describe(&path, 1);
        static int64_t sum[1000];
        int64_t nread = 0, weighted = 0;
        psr_source *s;
        psr_err err = {.msg = ""};
        if (!data) {
            skip(name, "PSRKIT_TEST_DATA is not set");
            continue;
        }
        snprintf(full, sizeof full, "%s/%s", data, name);
        psr_status st = psr_source_open(&s, &d, &err);
        memset(sum, 0, sizeof sum);
        if (!st)
            sum_channels(s, sum, &nread, &st, &err);
        for (size_t c = 0; c < real_files[i].nchan; c++)
            weighted += (int64_t)(c + 1) * sum[c];
        const int64_t *want = real_files[i].sum;
        ok(!st && nread == real_files[i].nsamp && psr_source_obs(s)->nbit == real_files[i].nbit &&
               psr_source_obs(s)->nsamp == nread && weighted == real_files[i].weighted &&
               sum[0] == want[0] && sum[1] == want[1] && sum[2] == want[2] && sum[100] == want[3] &&
               sum[real_files[i].nchan - 1] == want[4] && !heard.count,
           "%s: the sum of every channel %s", name, err.msg);
        psr_source_close(s);
    }
}

static void test_random_files(uint64_t *random)
{
    int wrong = 0;
    for (int trial = 0; trial < 150; trial++) {
        struct made m;
        const char *path = file_path(0);
        struct psr_source_desc d = describe(&path, 1);
        psr_source *s = NULL;
        psr_err err;
        int64_t n = 0;
        make_random(random, &m);
        fil_save(&m.file, path);
        choose_randomly(random, &m, &d);
        psr_status st = psr_source_open(&s, &d, &err);
        if (!st) {
            const struct psr_obs *obs = psr_source_obs(s);
            const struct psr_span *spans;
            double late = (double)d.skip * 1e-3;
            uint8_t *all = read_all(random, s, m.nsamp, &n, &st, &err);
            wrong +=
                st || !agrees(&m, &d, obs, all, n) || obs->nsamp != m.nsamp - d.skip ||
                obs->nif != 1 || psr_source_file_nbit(s) != m.desc.nbit ||
                fabs(psr_mjd_diff_s((struct psr_mjd){55000, 0.25}, obs->tstart) - late) > 1e-9 ||
                obs->fch1_mhz != 1400 || obs->foff_mhz != m.desc.foff ||
                psr_source_gaps(s, &spans) != 0 || heard.count;
            free(all);
        }
        wrong += st != PSR_OK;
        if (st)
            diag("%s", err.msg);
        psr_source_close(s);
        free_made(&m);
    }
    ok(wrong == 0, "150 random files: depths, IFs, skips, inversion, any blocks (%d wrong)", wrong);
}

/* Large blocks are read by several threads; a file that is cut meanwhile is an error. */
static void test_many_threads(uint64_t *random)
{
    enum { NCHAN = 4096, NSAMP = 5000 };
    struct fil f = {0};
    const struct fil_desc d = fil_bytes_desc(NCHAN);
    uint8_t *data = tap_take(NSAMP, NCHAN), *got = tap_take(NSAMP, NCHAN);
    const char *path = file_path(0);
    psr_err err;
    psr_source *s = NULL;
    size_t n = 0, rest = 0;
    for (size_t k = 0; k < (size_t)NSAMP * NCHAN; k++)
        data[k] = (uint8_t)(tap_random(random) >> 56);
    fil_begin(&f, &d);
    fil_text(&f, "HEADER_END");
    fil_bytes(&f, data, (size_t)NSAMP * NCHAN);
    fil_save(&f, path);
    struct psr_source_desc desc = describe(&path, 1);
    desc.nthread = 3;
    bool fine = !psr_source_open(&s, &desc, &err) && !psr_source_read(s, 3, got, &n, &err) &&
                !psr_source_read(s, NSAMP, got + 3 * NCHAN, &rest, &err);
    ok(fine && n == 3 && rest == NSAMP - 3 && !memcmp(got, data, (size_t)NSAMP * NCHAN),
       "three threads read what is there");
    psr_source_close(s);
    s = NULL;
    memset(got, 0, (size_t)NSAMP * NCHAN);
    fine = !psr_source_open(&s, &desc, &err) &&
           !truncate(path, (off_t)(f.n - (size_t)NCHAN * 500)) &&
           !psr_source_read(s, 1000, got, &n, &err) && !memcmp(got, data, n * NCHAN);
    psr_status st = psr_source_read(s, NSAMP, got, &n, &err);
    ok(fine && st == PSR_EIO && strstr(err.msg, "ended after 4500 of 5000 spectra while it was"),
       "and a file that has been cut meanwhile is none: %s", err.msg);
    psr_source_close(s);
    free(data);
    free(got);
    free(f.b);
}

/* More than 2^32 spectra and bytes, all of them a hole but for the last few. */
static void test_large_file(void)
{
    const int64_t nsamp = (INT64_C(1) << 32) + 1000;
    const char *path = file_path(0);
    struct fil f = {.n = 0};
    struct psr_source_desc d = describe(&path, 1);
    psr_source *s = NULL;
    psr_err err = {.msg = ""};
    uint8_t block[64] = {0};
    size_t n = 0;
    fil_begin(&f, &(struct fil_desc){8, 1, 1, 0, 1400, -1, 55000, 1e-6, 0});
    fil_text(&f, "HEADER_END");
    fil_save(&f, path);
    FILE *out = fopen(path, "r+b");
    if (!out || fseeko(out, (off_t)f.n + nsamp - 5, SEEK_SET) || fwrite("abcde", 1, 5, out) != 5 ||
        fclose(out)) {
        skip("a file of 2^32 spectra", "the file system holds none");
        return;
    }
    d.skip = nsamp - 8;
    psr_status st = psr_source_open(&s, &d, &err);
    if (!st)
        st = psr_source_read(s, sizeof block, block, &n, &err);
    ok(!st && n == 8 && !memcmp(block, "\0\0\0abcde", 8) && psr_source_obs(s)->nsamp == 8,
       "the end of a file of 2^32 spectra %s", err.msg);
    if (!st)
        near(psr_mjd_diff_s((struct psr_mjd){55000, 0}, psr_source_obs(s)->tstart),
             (double)d.skip * 1e-6, 1e-6, "and its date");
    psr_source_close(s);
    d.skip = 0;
    st = psr_source_open(&s, &d, &err);
    ok(!st && psr_source_obs(s)->nsamp == nsamp, "its length");
    psr_source_close(s);
    free(f.b);
}

/* Samples that are fewer or more than the header says. */
static void test_lengths(uint64_t *random)
{
    const char *path = file_path(0);
    struct made m = {.nsamp = 20, .desc = {8, 1, 8, 0, 1400, -1, 55000, 1e-3, 30}};
    struct psr_source_desc d = describe(&path, 1);
    psr_err err;
    make_file(random, &m);
    size_t whole = m.file.n;
    fil_bytes(&m.file, "abc", 3);
    fil_save(&m.file, path);
    ok(open_only(&d, &err) == PSR_OK && heard.count == 2 &&
           strstr(heard.text, "truncated: nsamples = 30, but the file holds 20 spectra") &&
           strstr(heard.text, "the last 3 bytes are no whole spectrum of 8"),
       "a file shorter than its header says: remarks");
    for (int i = 0; i < 15 * 8 - 3; i++)
        fil_bytes(&m.file, "x", 1);
    fil_save(&m.file, path);
    d = describe(&path, 1);
    ok(open_only(&d, &err) == PSR_OK && heard.count == 1 &&
           strstr(heard.text, "nsamples = 30, but the file holds 35 spectra: all are read"),
       "a file longer than its header says: a remark");
    size_t header = whole - 20 * 8;
    m.file.n = header + 7;
    fil_save(&m.file, path);
    refuse(&d, PSR_EFORMAT, "0.fil: no samples: 7 bytes follow the header, a spectrum takes 8");
    m.file.n = header - 5;
    fil_save(&m.file, path);
    refuse(&d, PSR_EFORMAT, "0.fil: the header is cut off");
    m.file.n = 0;
    fil_save(&m.file, path);
    refuse(&d, PSR_EFORMAT, "0.fil: empty");
    free_made(&m);
}

static void test_choices(uint64_t *random)
{
    const char *path = file_path(0);
    struct made m = {.nsamp = 20, .desc = {8, 1, 8, 0, 1400, -1, 55000, 1e-3, 0}};
    struct psr_source_desc d = describe(&path, 1);
    make_file(random, &m);
    fil_save(&m.file, path);
    d.skip = 20;
    refuse(&d, PSR_EINVAL, "offset of 20 spectra, must be 0 to 19");
    d.skip = -1;
    refuse(&d, PSR_EINVAL, "offset of -1 spectra");
    d.skip = 0, d.if_choice = 1;
    refuse(&d, PSR_EINVAL, "0.fil: IF = 1, must be 0 to 0");
    free_made(&m);
}

static void test_no_filterbanks(uint64_t *random)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero"};
    const char *path = file_path(0), *absent = file_path(7), *directory = scratch_dir;
    const char *two[2] = {"-", path};
    struct fil f = {.n = 0};
    struct psr_source_desc d = describe(&path, 1);
    for (int i = 0; i < 1000; i++)
        fil_bytes(&f, &(uint8_t){(uint8_t)tap_random(random)}, 1);
    fil_save(&f, path);
    refuse(&d, PSR_EFORMAT, "0.fil: no SIGPROC header");
    f.n = 0;
    fil_bytes(&f, "SIMPLE  =                    T", 30);
    fil_save(&f, path);
    d.input = PSR_INPUT_SIGPROC;
    refuse(&d, PSR_EFORMAT, "0.fil: a FITS file, a SIGPROC file was expected");
    d = describe(&absent, 1);
    refuse(&d, PSR_EIO, "7.fil: No such file or directory");
    d = describe(two, 2);
    refuse(&d, PSR_EINVAL, "standard input (-) among 2 inputs, must be the only one");
    d = describe(NULL, 0);
    refuse(&d, PSR_EINVAL, "no input files");
    d = describe(&directory, 1);
    refuse(&d, PSR_EIO, strerror(EISDIR));
    d = describe(devices, 1);
    refuse(&d, PSR_EFORMAT, "/dev/null: empty");
    d = describe(devices + 1, 1);
    refuse(&d, PSR_EFORMAT, "/dev/zero: no SIGPROC header");
    free(f.b);
}

static void test_data_types(void)
{
    static const struct {
        int data_type, nchan, nbit;
        psr_status status;
        const char *words;
    } cases[] = {
        {0, 8, 8, PSR_OK, ""},
        {2, 8, 8, PSR_OK, "data_type = 2, read as a filterbank"},
        {6, 8, 8, PSR_OK, "data_type = 6, read as a filterbank"},
        {2, 1, 32, PSR_EUNSUPPORTED, "data_type = 2, a time series dedispersed at DM 12.5"},
        {3, 8, 8, PSR_EUNSUPPORTED, "data_type = 3, folded profiles or a spectrum"},
        {1, 1, 8, PSR_OK, ""},
        {1, 12, 1, PSR_EUNSUPPORTED, "nchans = 12 at nbits = 1, must be a multiple of 8: "},
        {1, 3, 2, PSR_EUNSUPPORTED, "nchans = 3 at nbits = 2, must be a multiple of 4: "},
        {1, 5, 4, PSR_EUNSUPPORTED, "nchans = 5 at nbits = 4, must be a multiple of 2: "},
    };
    const char *path = file_path(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fil f = {.n = 0};
        struct psr_source_desc d = describe(&path, 1);
        psr_err err;
        fil_begin(
            &f, &(struct fil_desc){cases[i].nchan, 1, cases[i].nbit, 0, 1400, -1, 55000, 1e-3, 0});
        fil_set(&f, "data_type", &(int32_t){cases[i].data_type}, 4);
        fil_double(&f, "refdm", 12.5);
        fil_text(&f, "HEADER_END");
        fil_bytes(&f, "sixteen bytes or", 16);
        fil_save(&f, path);
        psr_status st = open_only(&d, &err);
        ok(st == cases[i].status && strstr(st ? err.msg : heard.text, cases[i].words) &&
               (st || (heard.count > 0) == (*cases[i].words != 0)),
           "data_type %d with %d channels of %d bits", cases[i].data_type, cases[i].nchan,
           cases[i].nbit);
        free(f.b);
    }
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    int before = count_descriptors();
    psr_source_close(NULL);
    test_real_files();
    test_random_files(&random);
    test_many_threads(&random);
    test_large_file();
    test_lengths(&random);
    test_choices(&random);
    test_no_filterbanks(&random);
    test_data_types();
    ok(count_descriptors() == before, "no descriptor is left open");
    return done_testing();
}
