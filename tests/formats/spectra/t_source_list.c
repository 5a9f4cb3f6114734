/* source: lists of files as one stream: gaps, overlaps, and files that do not belong together. */
#include "tests/support/source_made.h"

/* Three files of 8-bit samples, the second gap_a and the third gap_b spectra late. */
static void make_three(uint64_t *random, struct made m[3], int64_t gap_a, int64_t gap_b)
{
    const double tsamp = 1e-3;
    int64_t start = 0;
    for (int i = 0; i < 3; i++) {
        m[i] = (struct made){.nsamp = 900 + 300 * i};
        start += i == 1 ? gap_a : i == 2 ? gap_b : 0;
        m[i].desc = (struct fil_desc){.nchan = 24,
                                      .nif = 1,
                                      .nbit = 8,
                                      .fch1 = 1400,
                                      .foff = -1,
                                      .tstart = 55000 + (double)start * tsamp / 86400,
                                      .tsamp = tsamp};
        make_file(random, m + i);
        fil_save(&m[i].file, file_path(i));
        start += m[i].nsamp;
    }
}

/* The whole stream as it should be, gaps padded by the rule of source.h. */
static uint8_t *expect_three(const struct made m[3], int64_t gap_a, int64_t gap_b, int64_t skip,
                             int64_t *nsamp)
{
    const int64_t nchan = 24;
    int64_t first[3] = {0, m[0].nsamp + gap_a, 0}, at = 0, learnt = 0;
    first[2] = first[1] + m[1].nsamp + gap_b;
    *nsamp = first[2] + m[2].nsamp;
    uint8_t *all = calloc((size_t)(*nsamp * nchan), 1);
    double sum[24] = {0};
    if (!all)
        abort();
    for (int i = 0; i < 3; i++) {
        for (; at < first[i]; at++)
            for (int64_t c = 0; c < nchan && at >= skip; c++) {
                double mean = 0;
                for (int64_t t = 0; learnt == 0 && t < 256; t++)
                    mean += m[i].x[t * nchan + c] / 256;
                all[at * nchan + c] =
                    (uint8_t)floor((learnt ? sum[c] / (double)learnt : mean) + 0.5);
            }
        for (int64_t t = 0; t < m[i].nsamp; t++, at++) {
            int64_t index = at - skip;
            bool learn = index >= 0 && (index < 1024 || index % 64 == 0);
            learnt += learn;
            for (int64_t c = 0; c < nchan; c++) {
                all[at * nchan + c] = (uint8_t)m[i].x[t * nchan + c];
                sum[c] += learn ? m[i].x[t * nchan + c] : 0;
            }
        }
    }
    return all;
}

static void test_gaps_once(uint64_t *random, int64_t gap_a, int64_t gap_b, int64_t skip)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}};
    struct made m[3];
    int64_t total;
    make_three(random, m, gap_a, gap_b);
    uint8_t *want = expect_three(m, gap_a, gap_b, skip, &total);
    bool same = true, counted = true;
    for (int k = 0; k < 4; k++) {
        const int *order = orders[k];
        const char *path[3] = {file_path(order[0]), file_path(order[1]), file_path(order[2])};
        struct psr_source_desc d = describe(path, 3);
        psr_source *s;
        psr_err err;
        psr_status st;
        int64_t n;
        const struct psr_span *spans;
        d.skip = skip;
        if (psr_source_open(&s, &d, &err)) {
            diag("%s", err.msg);
            same = false;
            break;
        }
        counted &= psr_source_obs(s)->nsamp == total - skip;
        uint8_t *all = read_all(random, s, total, &n, &st, &err);
        same &= !st && n == total - skip && !memcmp(all, want + skip * 24, (size_t)(n * 24));
        size_t nspan = psr_source_gaps(s, &spans), expected = 0;
        const struct psr_span gaps[2] = {{m[0].nsamp, gap_a},
                                         {m[0].nsamp + gap_a + m[1].nsamp, gap_b}};
        for (int g = 0; g < 2; g++) {
            int64_t from = gaps[g].first > skip ? gaps[g].first : skip;
            int64_t count = gaps[g].first + gaps[g].count - from;
            if (count <= 0)
                continue;
            counted &= expected < nspan && spans[expected].first == from - skip &&
                       spans[expected].count == count;
            expected++;
        }
        counted &= nspan == expected && heard.count == (int)expected;
        free(all);
        psr_source_close(s);
    }
    ok(same, "gaps of %lld and %lld, skip %lld: any order, any blocks", (long long)gap_a,
       (long long)gap_b, (long long)skip);
    ok(counted, "and the account of them");
    free(want);
    for (int i = 0; i < 3; i++)
        free_made(m + i);
}

static void test_gaps(uint64_t *random)
{
    test_gaps_once(random, 0, 0, 0);
    test_gaps_once(random, 1, 777, 0);
    test_gaps_once(random, 5000, 3, 450);
    test_gaps_once(random, 100, 100, 901);  /* begins inside a gap */
    test_gaps_once(random, 100, 100, 1000); /* begins where the gap ends */
    test_gaps_once(random, 0, 40, 1500);
}

static void test_overlaps(uint64_t *random)
{
    struct made m[3];
    const char *path[3] = {file_path(0), file_path(1), file_path(2)};
    struct psr_source_desc d = describe(path, 3);
    psr_err err;
    make_three(random, m, 0, -2);
    refuse(&d, PSR_EFORMAT, "2.fil: tstart = MJD 55000.0000242824 overlaps the last 2 spectra of ");
    for (int i = 0; i < 3; i++)
        free_made(m + i);
    make_three(random, m, -1, 0);
    ok(open_only(&d, &err) == PSR_OK, "an overlap of one spectrum is the rounding of a date");
    for (int i = 0; i < 3; i++)
        free_made(m + i);
    make_three(random, m, 86400000, 0);
    ok(open_only(&d, &err) == PSR_OK, "a gap of a day");
    for (int i = 0; i < 3; i++)
        free_made(m + i);
    make_three(random, m, 0, INT64_C(365) * 86400000);
    refuse(&d, PSR_EFORMAT, "2.fil: begins 365 days after the end of ");
    const char *twice[2] = {path[1], path[1]};
    d = describe(twice, 2);
    refuse(&d, PSR_EINVAL, "1.fil is given twice");
    const char *link = scratch("link");
    if (symlink(path[1], link))
        abort();
    twice[1] = link;
    refuse(&d, PSR_EINVAL, "is given twice, also as ");
    unlink(link);
    for (int i = 0; i < 3; i++)
        free_made(m + i);
}

static void test_mismatches(uint64_t *random)
{
    static const struct {
        struct fil_desc desc;
        const char *words;
    } cases[] = {
        {{16, 1, 8, 0, 1400, -1, 55001, 1e-3, 0}, "nchans = 16, must be 8 as in "},
        {{8, 1, 4, 0, 1400, -1, 55001, 1e-3, 0}, "nbits = 4, must be 8"},
        {{8, 1, 8, 1, 1400, -1, 55001, 1e-3, 0}, "kind of samples = 1, must be 0"},
        {{8, 2, 8, 0, 1400, -1, 55001, 1e-3, 0}, "nifs = 2, must be 1"},
        {{8, 1, 8, 0, 1400, -1, 55001, 2e-3, 0}, "tsamp = 0.002 s, must be 0.001 s"},
        {{8, 1, 8, 0, 1401, -1, 55001, 1e-3, 0}, "fch1 = 1401 MHz, must be 1400 MHz"},
        {{8, 1, 8, 0, 1400, 1, 55001, 1e-3, 0}, "foff = 1 MHz, must be -1 MHz"},
        {{8, 1, 8, 0, 1400, -1, 55001, 1e-14, 0}, "tsamp = 1e-14 s, must be 0.001 s"},
    };
    const char *path[2] = {file_path(0), file_path(1)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made a = {.nsamp = 5, .desc = {8, 1, 8, 0, 1400, -1, 55000, 1e-3, 0}};
        struct made b = {.nsamp = 5, .desc = cases[i].desc};
        struct psr_source_desc d = describe(path, 2);
        make_file(random, &a);
        make_file(random, &b);
        fil_save(&a.file, path[0]);
        fil_save(&b.file, path[1]);
        d.if_choice = 0;
        refuse(&d, PSR_EFORMAT, cases[i].words);
        free_made(&a);
        free_made(&b);
    }
}

/* Two files whose headers differ in a table of frequencies, or that lie too far apart, or of which
 * one has no length. */
static void test_odd_pairs(void)
{
    const char *path[2] = {file_path(0), file_path(1)};
    struct fil f = {.n = 0};
    for (int i = 0; i < 2; i++) {
        fil_begin(&f, &(struct fil_desc){8, 1, 8, 0, 1400, -1, 55000 + i, 1e-3, 0});
        for (int c = 0; c < 8; c++)
            fil_double(&f, "fchannel", 1400 - c - (c == 3 ? 0.25 * i : 0));
        fil_text(&f, "HEADER_END");
        fil_bytes(&f, "12345678", 8);
        fil_save(&f, path[i]);
    }
    struct psr_source_desc d = describe(path, 2);
    refuse(&d, PSR_EFORMAT, "frequency of channel 3 = 1396.75 MHz, must be 1397 MHz as in ");
    for (int i = 0; i < 2; i++) {
        fil_begin(&f, &(struct fil_desc){8, 1, 8, 0, 1400, -1, 55000 + i, 1e-14, 0});
        fil_text(&f, "HEADER_END");
        fil_bytes(&f, "12345678", 8);
        fil_save(&f, path[i]);
    }
    refuse(&d, PSR_EFORMAT, "begins 8.64e+18 spectra after ");
    const char *fifo = scratch("fifo");
    if (mkfifo(fifo, 0600) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        fil_save(&f, fifo);
        _exit(0);
    }
    path[1] = fifo;
    refuse(&d, PSR_EUNSUPPORTED, "fifo: not a regular file, must be the only input");
    waitpid(child, NULL, 0);
    unlink(fifo);
    free(f.b);
}

/* A file replaced between the first look and its turn is found out. */
static void test_changed_file(uint64_t *random)
{
    struct made m[3];
    const char *path[3] = {file_path(0), file_path(1), file_path(2)};
    struct psr_source_desc d = describe(path, 3);
    psr_source *s;
    psr_err err;
    psr_status st;
    int64_t n;
    make_three(random, m, 0, 0);
    if (psr_source_open(&s, &d, &err))
        abort();
    m[1].file.n -= 24;
    fil_save(&m[1].file, path[1]);
    free(read_all(random, s, 9999, &n, &st, &err));
    ok(st == PSR_EFORMAT && strstr(err.msg, "1.fil: has changed: 1199 spectra, were 1200"),
       "a file that changes while it waits");
    psr_source_close(s);
    for (int i = 0; i < 3; i++)
        free_made(m + i);
}

int main(void)
{
    uint64_t random = tap_seed();
    int before = count_descriptors();
    scratch_make();
    test_gaps(&random);
    test_overlaps(&random);
    test_mismatches(&random);
    test_odd_pairs();
    test_changed_file(&random);
    ok(count_descriptors() == before, "no descriptor is left open");
    return done_testing();
}
