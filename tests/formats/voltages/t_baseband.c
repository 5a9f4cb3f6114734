/* Tests the readers of voltages: made files of every kind, lost frames, real files, bad headers. */
#include "dsp/channels/spectra.h"
#include "tests/support/baseband_made.h"
#include "tests/support/tap.h"

static uint64_t state;

/* What notes said last. */
static char noted[1024];

static void keep_note(void *ctx, const char *msg)
{
    (void)ctx;
    snprintf(noted, sizeof noted, "%s", msg);
}

static struct psr_baseband_desc describe(const char *const *path, size_t npath)
{
    noted[0] = '\0';
    return (struct psr_baseband_desc){.size = sizeof(struct psr_baseband_desc),
                                      .path = path,
                                      .npath = npath,
                                      .notes = {keep_note, NULL}};
}

/* --- reading all ------------------------------------------------------------------------------ */

struct all {
    struct psr_baseband_header header;
    struct psr_baseband_count count;
    float *x;   /* [nplane][room][ndim] */
    bool *lost; /* [room] */
    size_t n, room;
};

/* Unpacks a block of coded samples behind those that there are; frames of groups that are absent become 0. */
static void unpack_block(struct all *a, const psr_baseband *b,
                         const struct psr_spectra_block *block)
{
    const struct baseband_layout *l = &b->layout;
    for (size_t i = 0; i < block->nrun; i++) {
        const struct psr_spectra_run *r = block->run + i;
        if (!r->missing)
            psr_baseband_unpack(l, &b->coding, block->bytes + r->byte, r->from, r->n,
                                a->x + a->n * l->ndim, a->room, 1);
        for (size_t p = 0; p < l->nplane && r->flags != SIZE_MAX; p++)
            for (size_t t = 0; t < r->n; t++) {
                const size_t frame = (r->from + t) / l->frame_nsamp;
                if (!block->bytes[r->flags + frame * l->ngroup + l->plane_group[p]])
                    memset(a->x + (p * a->room + a->n + t) * l->ndim, 0, l->ndim * sizeof *a->x);
            }
        a->n += r->n;
    }
}

/* Reads everything as it is coded, and unpacks it. */
static psr_status take_all(struct all *a, const struct psr_baseband_desc *d, size_t most,
                           psr_err *err)
{
    struct psr_spectra_block block = {.bytes = NULL};
    psr_baseband *b;
    psr_status st = psr_baseband_open(&b, d, err);
    if (!st)
        st = psr_spectra_block_make(&block, (size_t)1 << 24, err);
    for (block.nsamp = 1; block.nsamp > 0 && !st;) {
        const struct psr_span *span;
        const size_t left = a->room - a->n, n = (size_t)tap_between(&state, 1, (int64_t)most);
        const size_t first = a->n;
        st = psr_spectra_block_fill(&block, b, n < left ? n : left, err);
        if (!st)
            unpack_block(a, b, &block);
        for (size_t i = psr_baseband_lost(b, &span); i-- > 0 && !st;)
            for (int64_t t = 0; t < span[i].count; t++)
                a->lost[first + (size_t)(span[i].first + t)] = true;
    }
    psr_baseband_close(b);
    psr_spectra_block_free(&block);
    return st;
}

/* Whether samples are the same as those of a if they are taken as they are coded. */
static void check_taken(const struct all *a, const struct psr_baseband_desc *d, size_t most)
{
    const size_t ndim = a->header.real ? 1 : 2, nplane = a->header.nchan * a->header.npol;
    struct all coded = {.room = a->room};
    psr_err err = {.msg = ""};
    coded.x = tap_take(nplane * a->room * ndim, sizeof *coded.x);
    coded.lost = tap_take(a->room, sizeof *coded.lost);
    psr_status st = take_all(&coded, d, most, &err);
    bool same = !st && coded.n == a->n && !memcmp(coded.lost, a->lost, a->n);
    for (size_t p = 0; p < nplane && same; p++)
        same = !memcmp(coded.x + p * a->room * ndim, a->x + p * a->room * ndim,
                       a->n * ndim * sizeof *a->x);
    ok(same, "coded samples are the same %s", err.msg);
    free(coded.x);
    free(coded.lost);
}

/* Reads everything in blocks of random length. */
static psr_status read_all(struct all *a, const struct psr_baseband_desc *d, size_t room,
                           psr_err *err)
{
    psr_baseband *b;
    *a = (struct all){.room = room};
    psr_status st = psr_baseband_open(&b, d, err);
    if (st)
        return st;
    a->header = *psr_baseband_header(b);
    const size_t ndim = a->header.real ? 1 : 2, nplane = a->header.nchan * a->header.npol;
    a->x = tap_take(nplane * room * ndim, sizeof *a->x);
    a->lost = tap_take(room, sizeof *a->lost);
    float *part = tap_take(nplane * room * ndim, sizeof *part);
    for (size_t got = 1; got > 0 && !st;) {
        const struct psr_span *span;
        const size_t left = room - a->n, most = (size_t)tap_between(&state, 1, 200);
        const size_t want = most < left ? most : left;
        st = psr_baseband_read(b, want, part, &got, err);
        for (size_t p = 0; p < nplane && !st; p++)
            memcpy(a->x + (p * room + a->n) * ndim, part + p * want * ndim,
                   got * ndim * sizeof *part);
        for (size_t i = psr_baseband_lost(b, &span); i-- > 0 && !st;)
            for (int64_t t = 0; t < span[i].count; t++)
                a->lost[a->n + (size_t)(span[i].first + t)] = true;
        a->n += st ? 0 : got;
    }
    psr_baseband_describe(b, &a->count);
    psr_baseband_close(b);
    free(part);
    if (!st)
        check_taken(a, d, 200);
    return st;
}

static void clear(struct all *a)
{
    free(a->x);
    free(a->lost);
}

enum code { OFFSET, TWOS };

static double value_of(int nbit, enum code code, double scale, double shift, unsigned level)
{
    const double half = ldexp(1, nbit - 1);
    const double two[] = {-3.3165, -1, 1, 3.3165};
    const double v = code == OFFSET ? level - half : level < half ? level : level - 2 * half;
    if (nbit == 1)
        return level ? 1 : -1;
    return nbit == 2 ? two[(int)(v + half)] : (v + shift) * scale;
}

/* Samples of *a that differ from those made: lost ones must be 0. */
static size_t count_wrong(const struct all *a, const struct made *m, enum code code, double scale,
                          double shift)
{
    size_t wrong = 0;
    for (size_t c = 0; c < m->nchan; c++)
        for (size_t p = 0; p < m->npol; p++)
            for (size_t i = 0; i < a->n * m->ndim; i++) {
                const size_t t = i / m->ndim;
                const double got = a->x[(c * m->npol + p) * a->room * m->ndim + i];
                const double want =
                    value_of(m->nbit, code, scale, shift, made_level(m, c, p, t, i % m->ndim));
                const bool zero = a->lost[t] && got == 0;
                wrong += !zero && !(fabs(got - want) <= 1e-4 * fabs(want) + 1e-9);
            }
    return wrong;
}

static size_t count_lost(const struct all *a)
{
    size_t n = 0;
    for (size_t t = 0; t < a->n; t++)
        n += a->lost[t];
    return n;
}

static const char *write_file(const char *name, struct made_bytes *b)
{
    const char *path = scratch(name);
    scratch_write(path, b->bytes, b->n);
    free(b->bytes);
    *b = (struct made_bytes){0};
    return path;
}

/* --- VDIF ------------------------------------------------------------------------------------- */

static const double vdif_scale[] = {
    [1] = 1, [2] = 1, [4] = 1 / 2.95, [8] = 1 / 35.5, [16] = 1 / (35.5 * 256)};

static size_t count_wrong_vdif(const struct all *a, const struct made *m)
{
    return count_wrong(a, m, OFFSET, vdif_scale[m->nbit], m->nbit >= 8 ? 0.5 : 0);
}

static struct made_vdif random_vdif(struct made *m)
{
    const int nbits[] = {1, 2, 4, 8, 16};
    const size_t nthread = (size_t)tap_between(&state, 1, 4);
    struct made_vdif v = {.nthread = nthread,
                          .nchan = (size_t)1 << tap_between(&state, 0, 3),
                          .frame_nsamp = 64,
                          .legacy = tap_random(&state) >> 63,
                          .threads_are_pols = nthread % 2 == 0,
                          .per_second = 250,
                          .second = 1000};
    *m = (struct made){.npol = v.threads_are_pols ? 2 : 1,
                       .ndim = (size_t)tap_between(&state, 1, 2),
                       .nsamp = 64 * 600,
                       .nbit = nbits[tap_between(&state, 0, 4)]};
    m->nchan = nthread * v.nchan / m->npol;
    v.khz = tap_random(&state) >> 63 && !v.legacy && m->ndim == 2 ? 16 : 0;
    made_fill(m, &state);
    return v;
}

static void test_vdif(void)
{
    struct made m;
    const struct made_vdif v = random_vdif(&m);
    struct made_bytes b = {0};
    struct all a;
    psr_err err = {.msg = ""};
    for (size_t k = 0; k < 600; k++)
        for (size_t g = 0; g < v.nthread; g++)
            made_vdif_frame(&b, &m, &v, k, v.nthread - 1 - g, false);
    const char *path = write_file("a.vdif", &b);
    struct psr_baseband_desc d = describe(&path, 1);
    d.freq_mhz = 400;
    psr_status st = read_all(&a, &d, m.nsamp + 100, &err);
    const size_t wrong = st ? 1 : count_wrong_vdif(&a, &m);
    ok(!st && wrong == 0 && a.n == m.nsamp && a.count.lost == 0 && !noted[0],
       "VDIF, %zu threads of %zu %s channels, %d bits%s%s: %zu of %zu samples, %zu wrong %s",
       v.nthread, v.nchan, m.ndim == 2 ? "complex" : "real", m.nbit, v.legacy ? ", legacy" : "",
       v.khz ? ", with its rate" : "", a.n, m.nsamp, wrong, st ? err.msg : noted);
    ok(a.header.rate_hz == 250 * 64 && a.header.nchan == m.nchan && a.header.npol == m.npol &&
           a.header.start.day == 56658 && fabs(a.header.start.frac * 86400 - 1000) < 1e-6,
       "its rate is %g Hz, its date %ld %g", a.header.rate_hz, a.header.start.day,
       a.header.start.frac);
    clear(&a);
    free(m.level);
}

/* Frames lost, late, twice, invalid, and bytes that are none: what came is as it was sent. */
static void test_vdif_losses(void)
{
    enum { NFRAME = 600 };
    struct made m;
    const struct made_vdif v = random_vdif(&m);
    struct made_bytes b = {0};
    struct all a;
    psr_err err = {.msg = ""};
    bool gone[NFRAME] = {false};
    size_t order[NFRAME], lost = 0, nmissing = 0, ninvalid = 0, ntwice = 0, njunk = 0;
    for (size_t k = 0; k < NFRAME; k++)
        order[k] = k;
    for (size_t k = 5; k + 6 < NFRAME; k += 6) { /* within 5 frames */
        const size_t with = k + (size_t)tap_between(&state, 0, 5), was = order[k];
        order[k] = order[with];
        order[with] = was;
    }
    for (size_t i = 0; i < NFRAME; i++)
        for (size_t g = 0; g < v.nthread; g++) {
            const size_t k = order[i];
            const int64_t fate = i < 4 || k + 1 == NFRAME ? 9 : tap_between(&state, 0, 60);
            gone[k] |= fate < 2;
            nmissing += fate == 0;
            ninvalid += fate == 1;
            if (fate > 0)
                made_vdif_frame(&b, &m, &v, k, g, fate == 1);
            if (fate == 2)
                made_vdif_frame(&b, &m, &v, k, g, false);
            if (fate == 3)
                made_add(&b, "no frame", 7);
            ntwice += fate == 2;
            njunk += fate == 3;
        }
    for (size_t k = 0; k < NFRAME; k++)
        lost += gone[k] ? 64 : 0;
    const char *path = write_file("b.vdif", &b);
    struct psr_baseband_desc d = describe(&path, 1);
    d.freq_mhz = 400;
    d.bw_mhz = 250 * 64e-6 * (double)m.nchan / (m.ndim == 2 ? 1 : 2);
    psr_status st = read_all(&a, &d, m.nsamp + 100, &err);
    const size_t wrong = st ? 1 : count_wrong_vdif(&a, &m);
    ok(!st && wrong == 0 && a.n == m.nsamp && count_lost(&a) == lost &&
           (size_t)a.count.lost == lost,
       "%zu samples lost of %zu, %zu wrong: %s", count_lost(&a), a.n, wrong, st ? err.msg : noted);
    ok((size_t)a.count.missing == nmissing && (size_t)a.count.invalid == ninvalid &&
           (size_t)a.count.duplicates == ntwice && (size_t)a.count.skipped == 7 * njunk,
       "%lld missing (%zu), %lld invalid (%zu), %lld twice (%zu), %lld bytes skipped (%zu)",
       (long long)a.count.missing, nmissing, (long long)a.count.invalid, ninvalid,
       (long long)a.count.duplicates, ntwice, (long long)a.count.skipped, 7 * njunk);
    clear(&a);
    free(m.level);
}

/* A gap far longer than what is held of frames, and a frame whose date is wrong. */
static void test_vdif_gap(void)
{
    struct made m = {.nchan = 1, .npol = 1, .ndim = 2, .nsamp = 64 * 100000, .nbit = 8};
    const struct made_vdif v = {
        .nthread = 1, .nchan = 1, .frame_nsamp = 64, .per_second = 25000, .second = 7};
    struct made_bytes b = {0};
    struct all a;
    psr_err err = {.msg = ""};
    made_fill(&m, &state);
    for (size_t k = 0; k < 2000; k++)
        made_vdif_frame(&b, &m, &v, k < 1000 ? k : k + 97000, 0, false);
    made_vdif_frame(&b, &m, &v, 99000, 0, false);
    made_word(b.bytes + b.n - 160, 12345); /* its second */
    for (size_t k = 99001; k < 99100; k++)
        made_vdif_frame(&b, &m, &v, k, 0, false);
    const char *path = write_file("c.vdif", &b);
    struct psr_baseband_desc d = describe(&path, 1);
    d.freq_mhz = 400;
    d.bw_mhz = 1.6;
    psr_status st = read_all(&a, &d, m.nsamp + 100, &err);
    const size_t wrong = st ? 1 : count_wrong_vdif(&a, &m);
    ok(!st && wrong == 0 && a.n == 99100 * 64 && a.count.lost == 97001 * 64 &&
           a.count.missing == 97001 && a.count.invalid == 1,
       "a gap: %lld lost, %lld missing, %lld invalid, %zu wrong %s", (long long)a.count.lost,
       (long long)a.count.missing, (long long)a.count.invalid, wrong, st ? err.msg : noted);
    clear(&a);
    free(m.level);
}

/* --- DADA ------------------------------------------------------------------------------------- */

static void test_dada(void)
{
    static const char *const orders[] = {"TFP", "TPF", "FTP", "FPT", "PFT", "PTF"};
    const int nbits[] = {2, 4, 8, 16};
    struct made m = {.nchan = (size_t)tap_between(&state, 1, 4),
                     .npol = (size_t)tap_between(&state, 1, 2),
                     .ndim = (size_t)tap_between(&state, 1, 2),
                     .nsamp = 16 * 100,
                     .nbit = nbits[tap_between(&state, 0, 3)]};
    const int64_t which = tap_between(&state, 0, 5);
    const size_t block = which < 2 ? 0 : 16, total = m.nchan * m.npol * m.ndim * (size_t)m.nbit;
    const enum code code = tap_random(&state) >> 63 ? OFFSET : TWOS;
    struct made_bytes b = {0};
    struct all a;
    psr_err err = {.msg = ""};
    char more[256];
    made_fill(&m, &state);
    snprintf(more, sizeof more, "ORDER %s\nENCODING %s\nRESOLUTION %zu\n", orders[which],
             code == OFFSET ? "OFFSETBINARY" : "TWOSCOMPLEMENT", 16 * total / 8);
    made_dada_header(&b, &m, more);
    made_dada_samples(&b, &m, orders[which], block, 0, m.nsamp);
    const char *path = write_file("a.dada", &b);
    const struct psr_baseband_desc d = describe(&path, 1);
    psr_status st = read_all(&a, &d, m.nsamp + 100, &err);
    const size_t wrong = st ? 1 : count_wrong(&a, &m, code, 1, 0);
    ok(!st && wrong == 0 && a.n == m.nsamp && a.header.has_position &&
           fabs(a.header.ra_deg - 22.5) < 1e-9 && fabs(a.header.dec_deg + 10.5) < 1e-9,
       "DADA %s, %zu channels, %zu polarisations, %zu dimensions, %d bits: %zu wrong %s",
       orders[which], m.nchan, m.npol, m.ndim, m.nbit, wrong, st ? err.msg : noted);
    clear(&a);
    free(m.level);
}

/* Enough for several threads to read it. */
static void test_dada_long(void)
{
    struct made m = {.nchan = 1, .npol = 2, .ndim = 2, .nsamp = 1700003, .nbit = 8};
    struct made_bytes b = {0};
    struct all a = {.room = m.nsamp + 1};
    psr_err err;
    made_fill(&m, &state);
    made_dada_header(&b, &m, "");
    made_dada_samples(&b, &m, "TFP", 0, 0, m.nsamp);
    const char *path = write_file("long.dada", &b);
    struct psr_baseband_desc d = describe(&path, 1);
    d.nthread = 3;
    a.x = tap_take(2 * a.room * 2, sizeof *a.x);
    a.lost = tap_take(a.room, sizeof *a.lost);
    psr_status st = take_all(&a, &d, 1500000, &err);
    ok(!st && a.n == m.nsamp && count_wrong(&a, &m, TWOS, 1, 0) == 0,
       "%zu samples, read by several threads: %zu wrong", m.nsamp, count_wrong(&a, &m, TWOS, 1, 0));
    clear(&a);
    free(m.level);
}

/* A second file in another coding is not taken as it is coded. */
static void test_dada_codings(void)
{
    struct made m = {.nchan = 1, .npol = 1, .ndim = 2, .nsamp = 200, .nbit = 8};
    struct made_bytes b = {0};
    struct all a = {.room = 400};
    const char *path[2];
    psr_err err = {.msg = "read"};
    made_fill(&m, &state);
    for (int i = 0; i < 2; i++) {
        made_dada_header(&b, &m, i ? "OBS_OFFSET 400\nENCODING OFFSETBINARY\n" : "");
        made_dada_samples(&b, &m, "TFP", 0, 0, m.nsamp);
        path[i] = write_file(i ? "second.dada" : "first.dada", &b);
    }
    const struct psr_baseband_desc d = describe(path, 2);
    a.x = tap_take(2 * a.room, sizeof *a.x);
    a.lost = tap_take(a.room, sizeof *a.lost);
    psr_status st = take_all(&a, &d, 150, &err);
    ok(st == PSR_EUNSUPPORTED && !strcmp(err.field, "layout"), "another coding: %s", err.msg);
    clear(&a);
    free(m.level);
}

static void test_dada_floats(void)
{
    struct made m = {.nchan = 2, .npol = 1, .ndim = 1, .nsamp = 50, .nbit = 32};
    struct made_bytes b = {0};
    struct all a;
    psr_err err = {.msg = ""};
    float x[100];
    for (int i = 0; i < 100; i++)
        x[i] = (float)tap_normal(&state);
    x[7] = (float)INFINITY;
    made_dada_header(&b, &m, "");
    made_add(&b, x, sizeof x);
    made_add(&b, "cut", 3);
    const char *path = write_file("f.dada", &b);
    const struct psr_baseband_desc d = describe(&path, 1);
    psr_status st = read_all(&a, &d, 60, &err);
    size_t wrong = 0;
    for (size_t i = 0; i < 100 && !st; i++)
        wrong += a.x[i % 2 * 60 + i / 2] != (i == 7 ? 0 : x[i]);
    ok(!st && a.n == 50 && wrong == 0 && strstr(noted, "is cut"), "floats: %zu wrong; %s", wrong,
       st ? err.msg : noted);
    clear(&a);
}

/* Three files in any order, with a gap of 30 samples before the last. */
static void test_dada_files(void)
{
    struct made m = {.nchan = 2, .npol = 2, .ndim = 2, .nsamp = 1000, .nbit = 8};
    const size_t from[] = {400, 0, 630}, n[] = {200, 400, 370};
    struct made_bytes b = {0};
    struct all a;
    psr_err err = {.msg = ""};
    const char *path[3];
    made_fill(&m, &state);
    for (int i = 0; i < 3; i++) {
        char name[32], more[64];
        snprintf(more, sizeof more, "OBS_OFFSET %zu\n", from[i] * 8);
        snprintf(name, sizeof name, "%d.dada", i);
        made_dada_header(&b, &m, more);
        made_dada_samples(&b, &m, "TFP", 0, from[i], n[i]);
        path[i] = write_file(name, &b);
    }
    const struct psr_baseband_desc d = describe(path, 3);
    psr_status st = read_all(&a, &d, 1100, &err);
    const size_t wrong = st ? 1 : count_wrong(&a, &m, TWOS, 1, 0);
    ok(!st && wrong == 0 && a.n == 1000 && count_lost(&a) == 30 && a.lost[600] && a.lost[629],
       "three files: %zu samples, %zu lost, %zu wrong %s", a.n, count_lost(&a), wrong,
       st ? err.msg : noted);
    clear(&a);
    made_dada_header(&b, &m, "OBS_OFFSET 3192\n");
    made_dada_samples(&b, &m, "TFP", 0, 399, 100);
    path[0] = write_file("0.dada", &b);
    st = read_all(&a, &d, 1100, &err);
    ok(st == PSR_EFORMAT && strstr(err.msg, "overlaps"), "an overlap: %s", st ? err.msg : "read");
    clear(&a);
    free(m.level);
}

/* --- GUPPI ------------------------------------------------------------------------------------ */

/* Blocks that overlap; block 3 is missing, and what the one before repeats of it is not; block 5
 * comes twice; a second file. */
static void test_guppi(void)
{
    const int nbits[] = {2, 4, 8, 16};
    struct made m = {.nchan = (size_t)tap_between(&state, 1, 5),
                     .npol = (size_t)tap_between(&state, 1, 2),
                     .ndim = 2,
                     .nsamp = 1000,
                     .nbit = nbits[tap_between(&state, 0, 3)]};
    const bool direct = tap_random(&state) >> 63;
    const size_t overlap = 4 * (size_t)tap_between(&state, 0, 3), step = 80;
    struct made_bytes b = {0};
    struct all a;
    psr_err err = {.msg = ""};
    const char *path[2];
    made_fill(&m, &state);
    for (size_t k = 0; k < 10; k++) {
        if (k == 6)
            path[1] = write_file("0.raw", &b);
        if (k != 3)
            made_guppi_block(&b, &m, k * step, step + overlap, overlap, direct);
        if (k == 5)
            made_guppi_block(&b, &m, k * step, step + overlap, overlap, direct);
    }
    path[0] = write_file("1.raw", &b);
    const struct psr_baseband_desc d = describe(path, 2);
    psr_status st = read_all(&a, &d, 1100, &err);
    const enum code code = m.nbit == 2 ? OFFSET : TWOS;
    const size_t wrong = st ? 1 : count_wrong(&a, &m, code, 1, 0), lost = step - overlap;
    const size_t all = 10 * step + overlap;
    ok(!st && wrong == 0 && a.n == all && count_lost(&a) == lost && a.count.missing == 1,
       "GUPPI, %zu channels, %zu polarisations, %d bits, OVERLAP %zu%s: %zu lost, %zu wrong %s",
       m.nchan, m.npol, m.nbit, overlap, direct ? ", DIRECTIO" : "", count_lost(&a), wrong,
       st ? err.msg : noted);
    ok(a.header.start.day == 60000 && fabs(a.header.start.frac * 86400 - 100.5) < 1e-6 &&
           a.header.bw_mhz == -(double)m.nchan,
       "its date is %ld %g", a.header.start.day, a.header.start.frac);
    clear(&a);
    free(m.level);
}

/* --- real files ------------------------------------------------------------------------------- */

/* Sums that Python's baseband 4.3.0 gives. */
static void test_real_file(const char *name, double bw_mhz, size_t nsamp, double sum_re,
                           double sum_im, double squares, const double first[4])
{
    const char *folder = getenv("PSRKIT_TEST_DATA");
    char text[4096];
    if (!folder) {
        skip(name, "PSRKIT_TEST_DATA is not set");
        return;
    }
    snprintf(text, sizeof text, "%s/%s", folder, name);
    const char *path = text;
    struct psr_baseband_desc d = describe(&path, 1);
    d.freq_mhz = 1000;
    d.bw_mhz = bw_mhz;
    struct all a;
    psr_err err = {.msg = ""};
    psr_status st = read_all(&a, &d, nsamp + 1, &err);
    double re = 0, im = 0, all = 0, off = 0;
    const size_t ndim = a.header.real ? 1 : 2, nplane = a.header.nchan * a.header.npol;
    for (size_t p = 0; p < nplane && !st; p++)
        for (size_t i = 0; i < a.n * ndim; i++) {
            const double v = a.x[p * a.room * ndim + i];
            *(i % ndim ? &im : &re) += v;
            all += v * v;
        }
    for (size_t i = 0; i < 4 && i < nplane * ndim && !st; i++)
        off = fmax(off, fabs(a.x[i / ndim * a.room * ndim + i % ndim] - first[i]));
    ok(!st && a.n == nsamp && fabs(all - squares) < 1e-6 * squares && fabs(re - sum_re) < 1e-2 &&
           fabs(im - sum_im) < 1e-2 && off < 1e-5,
       "%s: %zu samples, sums %.4f %.4f %.2f, first ones within %.1e %s", name, a.n, re, im, all,
       off, st ? err.msg : "");
    clear(&a);
}

/* Zeros, of a piece of a header or of many, end the input, and what was read is kept; twice the rate is not taken for
 * real voltages, but where packets are of VDIF. */
static void test_guppi_ends(void)
{
    const size_t zeros[] = {1, 80, 5000, 400000};
    struct made m = {.nchan = 2, .npol = 2, .ndim = 2, .nsamp = 200, .nbit = 8};
    struct made_bytes b = {0};
    struct all a;
    made_fill(&m, &state);
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        psr_err err = {.msg = ""};
        for (size_t k = 0; k < 3; k++)
            made_guppi_block(&b, &m, 64 * k, 64, 0, i % 2);
        made_add(&b, NULL, zeros[i]);
        const char *path = write_file("0.raw", &b);
        const struct psr_baseband_desc d = describe(&path, 1);
        const psr_status st = read_all(&a, &d, 1100, &err);
        ok(!st && a.n == 192 && count_wrong(&a, &m, TWOS, 1, 0) == 0 && strstr(noted, "zeros"),
           "%zu zeros after the last block: %zu samples, %s%s", zeros[i], a.n, noted, err.msg);
        clear(&a);
    }
    free(m.level);
}

static void test_guppi_real(void)
{
    static const struct {
        const char *format;
        psr_status st;
    } cases[] = {{"SIMPLE", PSR_EUNSUPPORTED}, {NULL, PSR_EUNSUPPORTED}, {"VDIF", PSR_OK}};
    struct made m = {.nchan = 2, .npol = 1, .ndim = 1, .nsamp = 64, .nbit = 8};
    struct made_bytes b = {0};
    made_fill(&m, &state);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char cards[2 * 80 + 1], format[80];
        snprintf(format, sizeof format, "PKTFMT  = '%s'", cases[i].format ? cases[i].format : "");
        snprintf(cards, sizeof cards, "%-80s%-80s", format, "OBSBW   =                   -1");
        made_guppi_cards = cases[i].format ? cards : cards + 80;
        made_guppi_block(&b, &m, 0, 64, 0, false);
        made_guppi_cards = NULL;
        const char *path = write_file("0.raw", &b);
        const struct psr_baseband_desc d = describe(&path, 1);
        psr_baseband *r;
        psr_err err = {.msg = ""};
        const psr_status st = psr_baseband_open(&r, &d, &err);
        ok(st == cases[i].st, "twice the rate, PKTFMT %s: %s",
           cases[i].format ? cases[i].format : "absent", st ? err.msg : "read");
        psr_baseband_close(r);
    }
    free(m.level);
}

static void test_real_files(void)
{
    test_real_file("sample.vdif", 0, 40000, 528.1437, 0, 1418792.652, (double[]){-1, 1, 1, -1});
    test_real_file("baseband/sample_arochime.vdif", 400, 5, -52.88135764, -57.96610188, 6168.917227,
                   (double[]){0, -2.3728814, 0, 2.3728814});
    test_real_file("baseband/sample_mwa.vdif", 1.28, 1280, -172.4225417, -42.9295793, 42688.39369,
                   (double[]){2.0704226, 3.5070422, 2.7183099, -2.8873239});
    test_real_file("baseband/sample_bps1.vdif", 64, 8000, -684, 0, 128000,
                   (double[]){1, -1, -1, -1});
    test_real_file("sample.dada", 0, 16000, -17245, -16091, 623096, (double[]){-38, -38, -38, -38});
    test_real_file("sample_meerkat.dada", 0, 14336, -19793, 0, 6737121, (double[]){-15, 5, 0, 0});
    test_real_file("baseband/sample_puppi_550k.raw", 0, 31232, -81352, -105632, 99017788,
                   (double[]){-7, 12, 14, 21});
}

/* --- errors ----------------------------------------------------------------------------------- */

static void refuses(struct made_bytes *b, double bw, psr_status want, const char *field)
{
    const char *path = write_file("bad", b);
    struct psr_baseband_desc d = describe(&path, 1);
    struct all a;
    psr_err err = {.msg = "none"};
    d.bw_mhz = bw;
    psr_status st = read_all(&a, &d, 100000, &err);
    ok(st == want && !strcmp(err.field, field) && (!st || strstr(err.msg, "bad")),
       "%s is refused: %s", field, err.msg);
    clear(&a);
}

static void refuses_dada(const char *line, const char *key, psr_status want)
{
    struct made m = {.nchan = 2, .npol = 1, .ndim = 2, .nsamp = 8, .nbit = 8};
    struct made_bytes b = {0};
    made_fill(&m, &state);
    made_dada_header(&b, &m, line);
    made_dada_samples(&b, &m, "TFP", 0, 0, 8);
    refuses(&b, 0, want, key);
    free(m.level);
}

static void test_errors(void)
{
    struct made_bytes b = {0};
    struct made m = {.nchan = 1, .npol = 1, .ndim = 2, .nsamp = 96, .nbit = 4};
    const struct made_vdif v = {.nthread = 1, .nchan = 1, .frame_nsamp = 64, .per_second = 9};
    made_fill(&m, &state);
    refuses_dada("NBIT 3\n", "NBIT", PSR_EUNSUPPORTED);
    refuses_dada("NBIT 64\n", "NBIT", PSR_EFORMAT);
    refuses_dada("NPOL 3\n", "NPOL", PSR_EFORMAT);
    refuses_dada("NCHAN 0\n", "NCHAN", PSR_EFORMAT);
    refuses_dada("NANT 2\n", "NANT", PSR_EFORMAT);
    refuses_dada("HDR_SIZE 100\n", "HDR_SIZE", PSR_EFORMAT);
    refuses_dada("HDR_SIZE 8192\n", "HDR_SIZE", PSR_EFORMAT);
    refuses_dada("TSAMP 1\n", "bw_mhz", PSR_EUNSUPPORTED);
    refuses_dada("FREQ 1\n", "bw_mhz", PSR_EFORMAT);
    refuses_dada("BW 0\n", "bw_mhz", PSR_EFORMAT);
    refuses_dada("ORDER TFPA\n", "ORDER", PSR_EUNSUPPORTED);
    refuses_dada("ORDER FPT\n", "RESOLUTION", PSR_EFORMAT);
    refuses_dada("ORDER FPT\nRESOLUTION 7\n", "RESOLUTION", PSR_EFORMAT);
    refuses_dada("ENCODING GRAY\n", "ENCODING", PSR_EUNSUPPORTED);
    refuses_dada("UTC_START yesterday\n", "UTC_START", PSR_EFORMAT);
    refuses_dada("OBS_OFFSET 9e18\n", "OBS_OFFSET", PSR_EFORMAT);
    made_add(&b, "neither", 7);
    refuses(&b, 0, PSR_EFORMAT, "format");
    made_add(&b, "", 0);
    refuses(&b, 0, PSR_EFORMAT, "format");
    made_vdif_frame(&b, &m, &v, 0, 0, false);
    refuses(&b, 0, PSR_EINVAL, "bw_mhz");
    made_vdif_frame(&b, &m, &v, 0, 0, false);
    refuses(&b, 64e-6, PSR_EINVAL, "freq_mhz");
    made_guppi_block(&b, &m, 0, 64, 64, false);
    refuses(&b, 0, PSR_EFORMAT, "OVERLAP");
    made_guppi_block(&b, &m, 0, 64, 0, false);
    made_guppi_block(&b, &m, 64, 32, 0, false);
    refuses(&b, 0, PSR_EFORMAT, "BLOCSIZE");
    made_guppi_block(&b, &m, 0, 64, 0, false);
    made_add(&b, "x", 1);
    made_add(&b, NULL, 79);
    refuses(&b, 0, PSR_EFORMAT, "END");
    char card[128];
    snprintf(card, sizeof card, "%-80s", "NANTS   =                    2");
    made_guppi_cards = card;
    made_guppi_block(&b, &m, 0, 64, 0, false);
    refuses(&b, 0, PSR_EUNSUPPORTED, "NANTS");
    made_guppi_cards = NULL;
    const char *const none[] = {scratch("none")};
    psr_baseband *r;
    psr_err err;
    const struct psr_baseband_desc d = describe(none, 1), empty = describe(NULL, 0);
    ok(psr_baseband_open(&r, &d, &err) == PSR_EIO && !r, "no file: %s", err.msg);
    ok(psr_baseband_open(&r, &empty, &err) == PSR_EINVAL && !r, "no input: %s", err.msg);
    psr_baseband_close(NULL);
    free(m.level);
}

int main(void)
{
    state = tap_seed();
    scratch_make();
    for (int i = 0; i < 24; i++)
        test_vdif();
    for (int i = 0; i < 12; i++)
        test_vdif_losses();
    test_vdif_gap();
    for (int i = 0; i < 24; i++)
        test_dada();
    test_dada_long();
    test_dada_codings();
    test_dada_floats();
    test_dada_files();
    for (int i = 0; i < 12; i++)
        test_guppi();
    test_guppi_ends();
    test_guppi_real();
    test_real_files();
    test_errors();
    return done_testing();
}
