/* read_ahead: blocks of a file are the same whether they are read ahead or when they are asked for, and
 * so are the end of a file and an error; what a caller brings comes in blocks, too. */
#include "run/common/input.h"
#include "tests/support/source_made.h"

enum { NCHAN = 24, NSAMP = 10007, FILES = 6 };

/* Reads to the end, or to the first error, of which *st says.
 * Returned: spectra that were as they should be, -1 after one that was not; a block that the caller
 *           changes hurts no other */
static int64_t read_blocks(const char *path, size_t nsamp, bool ahead, const uint8_t *want,
                           psr_status *st, psr_err *err)
{
    const struct psr_source_desc desc = describe(&path, 1);
    struct psr_block block = {.n = 1};
    psr_source *s = NULL;
    psr_read_ahead *r = NULL;
    int64_t n = 0;
    *st = psr_source_open(&s, &desc, err);
    if (!*st)
        *st = psr_read_ahead_create(
            &r,
            &(struct psr_read_ahead_desc){
                .source = s, .row_bytes = NCHAN, .nsamp = nsamp, .for_device = ahead},
            err);
    while (!*st && block.n > 0 && n >= 0) {
        *st = psr_read_ahead_next(r, &block, err);
        if (*st)
            break;
        const bool same = block.first == n && block.n <= nsamp &&
                          !memcmp(block.spectra, want + (size_t)n * NCHAN, block.n * (size_t)NCHAN);
        memset(block.spectra, 0, block.n * (size_t)NCHAN);
        n = same ? n + (int64_t)block.n : -1;
    }
    for (int k = 0; k < 3 && !*st && n >= 0; k++) /* after the end there is no more */
        if (psr_read_ahead_next(r, &block, err) || block.n)
            n = -1;
    psr_read_ahead_destroy(r);
    psr_source_close(s);
    return n;
}

static uint8_t *make(struct fil *f, uint64_t *seed)
{
    struct fil_desc d = fil_bytes_desc(NCHAN);
    d.nsamples = NSAMP;
    uint8_t *data = tap_take(NSAMP, NCHAN);
    for (size_t k = 0; k < (size_t)NSAMP * NCHAN; k++)
        data[k] = (uint8_t)(tap_random(seed) >> 56);
    fil_begin(f, &d);
    fil_text(f, "HEADER_END");
    fil_bytes(f, data, (size_t)NSAMP * NCHAN);
    return data;
}

static void test_files(const uint8_t *data, const char *path, uint64_t *seed)
{
    for (int k = 0; k < FILES; k++) {
        const size_t nsamp = k ? (size_t)tap_between(seed, 1, NSAMP + 100) : NSAMP;
        for (int ahead = 0; ahead < 2; ahead++) {
            psr_err err = {0};
            psr_status st;
            int64_t n = read_blocks(path, nsamp, ahead, data, &st, &err);
            if (!ok(!st && n == NSAMP, "blocks of %zu%s", nsamp, ahead ? ", ahead" : ""))
                diag("%lld spectra: %s", (long long)n, err.msg);
        }
    }
}

/* One that is not read to its end lets go of its thread. */
static void test_left_alone(const char *path)
{
    const struct psr_source_desc desc = describe(&path, 1);
    struct psr_block block;
    psr_source *s = NULL;
    psr_read_ahead *r = NULL;
    psr_err err = {0};
    for (int used = 0; used < 4; used++) {
        psr_status st = psr_source_open(&s, &desc, &err);
        if (!st)
            st = psr_read_ahead_create(
                &r,
                &(struct psr_read_ahead_desc){
                    .source = s, .row_bytes = NCHAN, .nsamp = 500, .for_device = true},
                &err);
        for (int k = 0; k < used && !st; k++)
            st = psr_read_ahead_next(r, &block, &err);
        ok(!st && (!used || block.n == 500), "%d blocks, and then no more", used);
        psr_read_ahead_destroy(r);
        psr_source_close(s);
    }
}

/* Opened whole, and shorter before it has been read. */
static void test_cut(const char *path)
{
    const struct psr_source_desc desc = describe(&path, 1);
    for (int ahead = 0; ahead < 2; ahead++) {
        struct psr_block block;
        psr_source *s = NULL;
        psr_read_ahead *r = NULL;
        psr_err err = {0};
        psr_status st = psr_source_open(&s, &desc, &err);
        struct stat about;
        const off_t whole = stat(path, &about) ? 0 : about.st_size;
        if (st || truncate(path, whole - 4000 * (off_t)NCHAN))
            exit(EXIT_FAILURE);
        st = psr_read_ahead_create(
            &r,
            &(struct psr_read_ahead_desc){
                .source = s, .row_bytes = NCHAN, .nsamp = 1000, .for_device = ahead},
            &err);
        int good = 0;
        while (!st && !(st = psr_read_ahead_next(r, &block, &err)) && block.n == 1000)
            good++;
        ok(good == 6 && st == PSR_EIO, "%s: %s", ahead ? "ahead" : "as asked for", err.msg);
        psr_read_ahead_destroy(r);
        psr_source_close(s);
        if (truncate(path, whole))
            exit(EXIT_FAILURE);
    }
}

/* A second file that begins late: each block has the gap as far as it has been read. */
static void test_gaps(uint64_t *seed)
{
    const int64_t late = 321, n[2] = {1000, 700};
    for (int i = 0; i < 2; i++) {
        struct made m = {.nsamp = n[i]};
        m.desc = fil_bytes_desc(NCHAN);
        m.desc.tstart += (double)i * (double)(n[0] + late) * m.desc.tsamp / 86400;
        make_file(seed, &m);
        fil_save(&m.file, file_path(i + 1));
        free_made(&m);
    }
    const char *path[2] = {file_path(1), file_path(2)};
    for (int ahead = 0; ahead < 2; ahead++) {
        const struct psr_source_desc desc = describe(path, 2);
        struct psr_block block = {.n = 1};
        psr_source *s = NULL;
        psr_read_ahead *r = NULL;
        psr_err err = {0};
        int64_t total = 0;
        int wrong = 0;
        psr_status st = psr_source_open(&s, &desc, &err);
        if (!st)
            st = psr_read_ahead_create(
                &r,
                &(struct psr_read_ahead_desc){
                    .source = s, .row_bytes = NCHAN, .nsamp = 300, .for_device = ahead},
                &err);
        while (!st && !(st = psr_read_ahead_next(r, &block, &err)) && block.n) {
            total += (int64_t)block.n;
            const int64_t past = total - n[0], want = past < late ? past : late;
            wrong += block.ngap != (want > 0);
            wrong += block.ngap && (block.gap[0].first != n[0] || block.gap[0].count != want);
        }
        ok(!st && wrong == 0 && total == n[0] + late + n[1], "gaps come with the blocks%s%s",
           ahead ? ", ahead" : "", err.msg);
        psr_read_ahead_destroy(r);
        psr_source_close(s);
    }
}

static void test_gathered(const uint8_t *data, uint64_t *seed)
{
    struct psr_block block;
    psr_read_ahead *r = NULL;
    psr_err err = {0};
    size_t given = 0, taken = 0;
    psr_status st = psr_read_ahead_create(
        &r, &(struct psr_read_ahead_desc){.row_bytes = NCHAN, .nsamp = 700}, &err);
    while (!st && given < NSAMP) {
        size_t n = (size_t)tap_between(seed, 1, 1500);
        n = n < NSAMP - given ? n : NSAMP - given;
        given += psr_read_ahead_gather(r, data + given * NCHAN, n);
        if (!psr_read_ahead_is_full(r) && given < NSAMP)
            continue;
        st = psr_read_ahead_next(r, &block, &err);
        if (!st && memcmp(block.spectra, data + taken * NCHAN, block.n * (size_t)NCHAN))
            break;
        taken += block.n;
    }
    ok(!st && given == NSAMP && taken == NSAMP, "what a caller brings");
    psr_read_ahead_destroy(r);
}

int main(void)
{
    uint64_t seed = tap_seed();
    struct fil f = {0};
    scratch_make();
    const char *path = file_path(0);
    uint8_t *data = make(&f, &seed);
    fil_save(&f, path);
    test_files(data, path, &seed);
    test_left_alone(path);
    test_cut(path);
    test_gaps(&seed);
    test_gathered(data, &seed);
    free(data);
    free(f.b);
    return done_testing();
}
