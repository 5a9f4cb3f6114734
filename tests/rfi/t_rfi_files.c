/* rfi_files: .stats, .rfi and .mask files are written as they are read, and no broken one is read. */
#include <psrkit/experimental/clean.h>

#include "rfi/rules/clean_internal.h"
#include "tests/support/mask_bytes.h"
#include "tests/support/scratch.h"
#include <psrkit/series.h>

static psr_err err;

static void save(const char *path, const struct mask_bytes *m)
{
    scratch_write(path, m->b, m->n);
}

static bool same_file(const char *a, const char *b)
{
    static unsigned char x[1 << 18], y[1 << 18];
    FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
    size_t n = f ? fread(x, 1, sizeof x, f) : 1, m = g ? fread(y, 1, sizeof y, g) : 2;
    if (f)
        fclose(f);
    if (g)
        fclose(g);
    return n == m && n < sizeof x && !memcmp(x, y, n);
}

static psr_status rewrite_mask(const char *from, const char *to)
{
    struct psr_mask m;
    psr_outfile *f;
    psr_status st = psr_mask_read(&m, from, 0, &err);
    if (st == PSR_OK)
        st = psr_outfile_create(&f, to, &err);
    if (st == PSR_OK) {
        st = psr_mask_write(f, &m, &err);
        st = st == PSR_OK ? psr_outfile_commit(f, &err) : st;
    }
    psr_mask_clear(&m);
    return st;
}

static psr_status rewrite_stats(const char *from, const char *to)
{
    struct psr_rfi_stats s;
    psr_outfile *f;
    psr_status st = psr_rfi_stats_read(&s, from, 0, &err);
    if (st == PSR_OK)
        st = psr_outfile_create(&f, to, &err);
    if (st == PSR_OK) {
        st = psr_rfi_stats_write(f, &s, &err);
        st = st == PSR_OK ? psr_outfile_commit(f, &err) : st;
    }
    psr_rfi_stats_clear(&s);
    return st;
}

static psr_status rewrite_list(const char *from, const char *to)
{
    struct psr_rfi_list l;
    psr_outfile *f;
    psr_status st = psr_rfi_list_read(&l, from, 0, &err);
    if (st == PSR_OK)
        st = psr_outfile_create(&f, to, &err);
    if (st == PSR_OK) {
        st = psr_rfi_list_write(f, &l, &err);
        st = st == PSR_OK ? psr_outfile_commit(f, &err) : st;
    }
    psr_rfi_list_clear(&l);
    return st;
}

static void list_file(struct mask_bytes *m, uint64_t *seed, int nchan, int nint, int n)
{
    const float limits[2] = {0.002F, 4};
    const int head[7] = {nchan, nint, 2400, 5, 2, 4, n};
    m->n = 0;
    for (int k = 0; k < 7; k++)
        mask_int(m, head[k]);
    mask_add(m, limits, sizeof limits);
    for (int k = 0; k < n * (16 + (nint + 7) / 8 + (nchan + 7) / 8); k++) {
        unsigned char byte = (unsigned char)tap_between(seed, 0, 255);
        mask_add(m, &byte, 1);
    }
}

static void test_random(uint64_t *seed)
{
    int bad[3] = {0};
    for (int k = 0; k < 60; k++) {
        struct mask_says says;
        static struct mask_bytes m;
        mask_random(&says, seed, (int)tap_between(seed, 1, MASK_CHANS), 1.5);
        mask_file(&m, &says);
        save(scratch("a.mask"), &m);
        mask_stats(&m, &says);
        save(scratch("a.stats"), &m);
        bad[0] += rewrite_mask(scratch("a.mask"), scratch("b.mask")) != PSR_OK ||
                  !same_file(scratch("a.mask"), scratch("b.mask"));
        bad[1] += rewrite_stats(scratch("a.stats"), scratch("b.stats")) != PSR_OK ||
                  !same_file(scratch("a.stats"), scratch("b.stats"));
        list_file(&m, seed, says.nchan, says.nint, (int)tap_between(seed, 0, 9));
        save(scratch("a.rfi"), &m);
        bad[2] += rewrite_list(scratch("a.rfi"), scratch("b.rfi")) != PSR_OK ||
                  !same_file(scratch("a.rfi"), scratch("b.rfi"));
    }
    ok(bad[0] == 0, "masks are written as they were read (%d are not)", bad[0]);
    ok(bad[1] == 0, "and statistics (%d)", bad[1]);
    ok(bad[2] == 0, "and lists of birdies (%d)", bad[2]);
}

/* The lists keep their order, and what they name twice. */
static void test_order(void)
{
    static struct mask_bytes m;
    struct mask_says says = {.nchan = 5, .nint = 2, .dtint_s = 1, .mjd = 1};
    mask_stats(&m, &says);
    save(scratch("o.stats"), &m);
    const double head[6] = {10, 4, 1, 1, 1000, 1};
    const int rest[] = {5, 2, 2400, 3, 4, 1, 4, 2, 1, 0, 5, 2, 3, 0};
    m.n = 0;
    mask_add(&m, head, sizeof head);
    for (size_t k = 0; k < sizeof rest / sizeof *rest; k++)
        mask_int(&m, rest[k]);
    save(scratch("o.mask"), &m);
    ok(rewrite_mask(scratch("o.mask"), scratch("p.mask")) == PSR_OK &&
           same_file(scratch("o.mask"), scratch("p.mask")),
       "lists keep their order");
}

/* Whether a file that says so of count k of its shape is read, cut at any length. */
static bool accepts_count(const struct mask_bytes *m, int kind, int k, int value)
{
    struct mask_bytes changed = *m;
    struct psr_rfi_stats s;
    struct psr_rfi_list l;
    bool accepted = false;
    memcpy(changed.b + 4 * k, &value, 4);
    for (changed.n = 0; changed.n <= m->n && !accepted; changed.n += 4) {
        save(scratch("x"), &changed);
        accepted = (kind ? psr_rfi_list_read(&l, scratch("x"), 0, &err)
                         : psr_rfi_stats_read(&s, scratch("x"), 0, &err)) != PSR_EFORMAT;
    }
    return accepted;
}

/* Cut anywhere, or with one byte more, or with numbers that cannot be. */
static void test_broken(uint64_t *seed)
{
    static struct mask_bytes m;
    struct mask_says says;
    struct psr_rfi_stats s;
    struct psr_rfi_list l;
    int bad = 0;
    mask_random(&says, seed, 9, 1.5);
    for (int kind = 0; kind < 2; kind++) {
        if (kind)
            list_file(&m, seed, 9, says.nint, 3);
        else
            mask_stats(&m, &says);
        for (size_t n = 0; n <= m.n + 1; n += n < 60 || n + 3 > m.n ? 1 : 7) {
            m.b[m.n] = 0;
            scratch_write(scratch("x"), m.b, n);
            psr_status st = kind ? psr_rfi_list_read(&l, scratch("x"), 0, &err)
                                 : psr_rfi_stats_read(&s, scratch("x"), 0, &err);
            bad += (st == PSR_OK) != (n == m.n) ||
                   (n != m.n && (st != PSR_EFORMAT || !strstr(err.msg, "x: ")));
            if (kind)
                psr_rfi_list_clear(&l);
            else
                psr_rfi_stats_clear(&s);
        }
        for (int k = 0; k < 3; k++)
            bad += accepts_count(&m, kind, k, 0);
    }
    ok(bad == 0, "broken files are refused (%d are not)", bad);
    ok(psr_rfi_stats_read(&s, "nowhere", 0, &err) == PSR_EIO, "so is one that is not there");
    ok(psr_rfi_list_read(&l, ".", 0, &err) == PSR_EFORMAT, "and a folder");
    save(scratch("x"), &m);
    ok(psr_rfi_list_read(&l, scratch("x"), 100, &err) == PSR_ENOMEM && strstr(err.msg, "100 B"),
       "and more than the memory allowed");
}

static void fill_moments(struct psr_rfi_stats *s, uint64_t *seed)
{
    *s = (struct psr_rfi_stats){.nchan = (size_t)tap_between(seed, 1, 50),
                                .nint = (size_t)tap_between(seed, 1, 50),
                                .ptsperint = 2400,
                                .lobin = 5,
                                .numbetween = 2};
    s->cell = tap_take(s->nchan * s->nint, sizeof *s->cell);
    s->burst = tap_take(s->nint, sizeof *s->burst);
    for (size_t k = 0; k < s->nchan * s->nint; k++)
        s->cell[k] = (struct psr_rfi_cell){(float)k, (float)tap_normal(seed), 3, 4, 5};
    for (size_t i = 0; i < s->nint; i++)
        s->burst[i] = (float)tap_uniform(seed);
}

static psr_status write_moments(const char *path, const struct psr_rfi_stats *s)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, &err);
    if (st != PSR_OK)
        return st;
    st = psr_rfi_moments_write(f, s, &err);
    return st == PSR_OK ? psr_outfile_commit(f, &err) : st;
}

static void test_moments(uint64_t *seed)
{
    struct psr_rfi_stats s, got;
    int bad = 0;
    for (int k = 0; k < 20; k++) {
        fill_moments(&s, seed);
        got = (struct psr_rfi_stats){
            .nchan = s.nchan, .nint = s.nint, .ptsperint = s.ptsperint, .lobin = 5};
        bad += write_moments(scratch("m"), &s) != PSR_OK ||
               psr_rfi_moments_read(&got, scratch("m"), 0, &err) != PSR_OK;
        bad += bad || memcmp(s.cell, got.cell, s.nchan * s.nint * sizeof *s.cell) != 0 ||
               memcmp(s.burst, got.burst, s.nint * sizeof *s.burst) != 0;
        psr_rfi_stats_clear(&got);
        psr_rfi_stats_clear(&s);
    }
    ok(bad == 0, "moments are read as they were written (%d are not)", bad);
    fill_moments(&s, seed);
    got = s;
    got.cell = NULL;
    got.burst = NULL;
    got.nint++;
    bad = write_moments(scratch("m"), &s) != PSR_OK;
    ok(!bad && psr_rfi_moments_read(&got, scratch("m"), 0, &err) == PSR_EFORMAT &&
           strstr(err.msg, "m: "),
       "those of another shape are refused");
    got.nint--;
    ok(truncate(scratch("m"), 40) == 0 &&
           psr_rfi_moments_read(&got, scratch("m"), 0, &err) == PSR_EFORMAT && !got.cell,
       "and a file that is cut");
    psr_rfi_stats_clear(&got);
    psr_rfi_stats_clear(&s);
}

/* As psr_zaplist_read takes them, and makezaplist.py's harmonics cover the lines. */
static void test_lines(void)
{
    struct psr_rfi_line line[] = {
        {10, 0.1, 50, 3}, {20.02, 0.2, 40, 0}, {25, 0.1, 30, 1}, {30, 0.1, 30, 0}};
    const struct psr_rfi_lines lines = {line, 4, 4};
    struct psr_zaplist zap = {0}, birds = {0};
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, scratch("z"), &err);
    if (st == PSR_OK)
        st = psr_rfi_zaplist_write(f, &lines, &err);
    if (st == PSR_OK)
        st = psr_outfile_commit(f, &err);
    if (st == PSR_OK)
        st = psr_zaplist_read(&zap, scratch("z"), &err);
    ok(st == PSR_OK && zap.n == 4 && zap.bird[1].freq_hz == 20.02 && zap.bird[1].width_hz == 0.2 &&
           !zap.bird[1].barycentric,
       "a .zaplist has a line for each");
    st = psr_outfile_create(&f, scratch("b"), &err);
    if (st == PSR_OK)
        st = psr_rfi_birds_write(f, &lines, &err);
    if (st == PSR_OK)
        st = psr_outfile_commit(f, &err);
    if (st == PSR_OK)
        st = psr_zaplist_read(&birds, scratch("b"), &err);
    ok(st == PSR_OK && birds.n == 4, "a .birds file has as many with its harmonics");
    int covered = 0;
    for (size_t k = 0; k < 4 && birds.n == 4; k++)
        for (size_t b = 0; b < 4; b++)
            covered += birds.bird[b].freq_hz - birds.bird[b].width_hz / 2 <=
                           line[k].freq_hz - line[k].width_hz / 2 + 1e-6 &&
                       birds.bird[b].freq_hz + birds.bird[b].width_hz / 2 >=
                           line[k].freq_hz + line[k].width_hz / 2 - 1e-6;
    ok(covered == 4, "which cover the lines");
    psr_zaplist_clear(&zap);
    psr_zaplist_clear(&birds);
}

static void test_observation(void)
{
    char from[3][PATH_MAX];
    static const char *const suffix[] = {"mask", "stats", "rfi"};
    static psr_status (*const rewrite[])(const char *, const char *) = {rewrite_mask, rewrite_stats,
                                                                        rewrite_list};
    const char *data = getenv("PSRKIT_TEST_DATA");
    for (int k = 0; k < 3; k++)
        snprintf(from[k], sizeof from[k], "%s/gbt_lband/Lband_rfifind.%s",
                 data ? data : "/nonexistent", suffix[k]);
    if (access(from[0], R_OK) != 0) {
        skip("files of a real observation", "PSRKIT_TEST_DATA has no gbt_lband");
        return;
    }
    for (int k = 0; k < 3; k++)
        ok(rewrite[k](from[k], scratch("r")) == PSR_OK && same_file(from[k], scratch("r")),
           "the .%s file of a real observation is written as it was read", suffix[k]);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_random(&seed);
    test_order();
    test_broken(&seed);
    test_moments(&seed);
    test_lines();
    test_observation();
    return done_testing();
}
