/* source: filterbank files, pipes and lists of files against the samples they were made from. */
#include <psrkit/source.h>

#include "fil.h"
#include "scratch.h"
#include <errno.h>
#include <fcntl.h>

enum { MAX_FILE = 8 };

/* Where file i of a test lies; the text is valid until the same i is asked for again. */
static const char *file_path(int i)
{
    static char path[MAX_FILE][PATH_MAX];
    snprintf(path[i], sizeof path[i], "%s/%d.fil", scratch_dir, i);
    return path[i];
}

static struct heard heard;

static struct psr_source_desc describe(const char *const *path, size_t npath)
{
    heard = (struct heard){.count = 0};
    return (struct psr_source_desc){
        .path = path, .npath = npath, .if_choice = -1, .notes = {.note = hear, .ctx = &heard}};
}

/* Sample c of a packed row, read apart from the code under test. */
static double sample_at(const uint8_t *row, size_t c, int nbit, enum psr_kind kind)
{
    uint32_t bits = 0;
    float real;
    for (int k = 0; k < nbit; k++) {
        size_t bit = c * (size_t)nbit + (size_t)k;
        bits |= (uint32_t)(row[bit / 8] >> bit % 8 & 1) << k;
    }
    memcpy(&real, &bits, sizeof real);
    if (kind == PSR_FLOAT)
        return (double)real;
    bool negative = kind == PSR_INT && bits >> (nbit - 1) & 1;
    return negative ? (double)bits - ldexp(1, nbit) : (double)bits;
}

/* A file's samples as numbers, and the bytes that hold them. */
struct made {
    struct fil_desc desc;
    int64_t nsamp;
    double *x; /* [nsamp][nif][nchan] */
    struct fil file;
};

static void make_samples(uint64_t *random, struct made *m)
{
    size_t n = (size_t)m->nsamp * (size_t)m->desc.nif * (size_t)m->desc.nchan;
    int nbit = m->desc.nbit;
    int64_t least = m->desc.is_signed ? -(INT64_C(1) << (nbit - 1)) : 0;
    uint8_t byte = 0;
    m->x = malloc(n * sizeof *m->x);
    if (!m->x)
        abort();
    for (size_t i = 0; i < n; i++) {
        int64_t v = tap_between(random, least, least + (INT64_C(1) << (nbit < 32 ? nbit : 20)) - 1);
        float real = (float)v / 16;
        m->x[i] = nbit == 32 ? (double)real : (double)v;
        if (nbit == 32) {
            fil_bytes(&m->file, &real, 4);
        } else if (nbit >= 8) {
            fil_bytes(&m->file, &v, (size_t)nbit / 8);
        } else {
            byte = (uint8_t)(byte | (unsigned)v << i * (size_t)nbit % 8);
            if ((i + 1) * (size_t)nbit % 8 == 0) {
                fil_bytes(&m->file, &byte, 1);
                byte = 0;
            }
        }
    }
}

static void make_file(uint64_t *random, struct made *m)
{
    fil_begin(&m->file, &m->desc);
    fil_text(&m->file, "HEADER_END");
    make_samples(random, m);
}

static void free_made(struct made *m)
{
    free(m->x);
    free(m->file.b);
    *m = (struct made){.nsamp = 0};
}

static void make_random(uint64_t *random, struct made *m)
{
    static const int nbits[] = {1, 2, 4, 8, 16, 32};
    *m = (struct made){.nsamp = tap_between(random, 1, 300)};
    m->desc = (struct fil_desc){.nchan = 8 * (int)tap_between(random, 1, 9),
                                .nif = (int)tap_between(random, 1, 4),
                                .nbit = nbits[tap_between(random, 0, 5)],
                                .fch1 = 1400,
                                .foff = tap_between(random, 0, 1) ? 0.5 : -0.5,
                                .tstart = 55000.25,
                                .tsamp = 1e-3};
    if (m->desc.nbit == 8 || m->desc.nbit == 16)
        m->desc.is_signed = (int)tap_between(random, 0, 1);
    make_file(random, m);
}

/* What a source should make of spectrum t, channel c. */
static double expect(const struct made *m, const struct psr_source_desc *d, int64_t t, size_t c)
{
    size_t nchan = (size_t)m->desc.nchan, nif = (size_t)m->desc.nif;
    const double *spectrum = m->x + (size_t)t * nif * nchan;
    if (d->invert)
        c = nchan - 1 - c;
    if (d->if_choice >= 0)
        return spectrum[(size_t)d->if_choice * nchan + c];
    double sum = 0;
    for (size_t p = 0; p < nif; p++)
        sum += spectrum[p * nchan + c];
    return sum;
}

/* Everything a source gives, read in blocks of random lengths; *nread spectra. */
static uint8_t *read_all(uint64_t *random, psr_source *s, int64_t most, int64_t *nread,
                         psr_status *st, psr_err *err)
{
    size_t row = psr_source_block_bytes(s, 1), n = 1;
    uint8_t *all = malloc((size_t)(most + 600) * row);
    if (!all)
        abort();
    *nread = 0;
    *st = PSR_OK;
    while (!*st && n > 0 && *nread <= most) {
        size_t ask = (size_t)tap_between(random, 1, tap_between(random, 0, 1) ? 7 : 500);
        *st = psr_source_read(s, ask, all + (size_t)*nread * row, &n, err);
        if (n > ask)
            abort();
        *nread += (int64_t)n;
    }
    return all;
}

static bool agrees(const struct made *m, const struct psr_source_desc *d, const struct psr_obs *obs,
                   const uint8_t *all, int64_t nread)
{
    size_t row = (obs->nchan * (size_t)obs->nbit + 7) / 8;
    bool same = nread == m->nsamp - d->skip;
    for (int64_t t = 0; same && t < nread; t++)
        for (size_t c = 0; c < obs->nchan; c++)
            same &= sample_at(all + (size_t)t * row, c, obs->nbit, obs->kind) ==
                    expect(m, d, t + d->skip, c);
    return same;
}

static void choose_randomly(uint64_t *random, const struct made *m, struct psr_source_desc *d)
{
    d->if_choice = (int)tap_between(random, -1, m->desc.nif - 1);
    d->invert = tap_between(random, 0, 1);
    d->skip = tap_between(random, 0, 1) ? tap_between(random, 0, m->nsamp - 1) : 0;
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

/* A child writes bytes to fd in dribbles. */
static pid_t dribble(uint64_t *random, int fd, int unused_fd, const struct fil *f)
{
    pid_t child = fork();
    if (child)
        return child;
    close(unused_fd);
    for (size_t at = 0; at < f->n;) {
        size_t n = (size_t)tap_between(random, 1, at < 400 ? 40 : 5000);
        n = n < f->n - at ? n : f->n - at;
        if (write(fd, f->b + at, n) < 0)
            _exit(0);
        at += n;
        if (tap_between(random, 0, 9) == 0)
            usleep(200);
    }
    _exit(0);
}

/* Runs body with standard input the end of a pipe that f is dribbled into. */
static void with_standard_input(uint64_t *random, const struct fil *f, void (*body)(void *),
                                void *ctx)
{
    int ends[2], saved = dup(STDIN_FILENO);
    if (pipe(ends) != 0)
        abort();
    pid_t child = dribble(random, ends[1], ends[0], f);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    if (tap_between(random, 0, 1))
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    body(ctx);
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    } else {
        close(STDIN_FILENO);
    }
    waitpid(child, NULL, 0);
}

struct attempt {
    struct psr_source_desc desc;
    const struct made *m;
    uint64_t *random;
    psr_status opened, status;
    bool same;
    int64_t nsamp, nread;
    psr_err err;
};

static void attempt_read(void *ctx)
{
    struct attempt *a = ctx;
    psr_source *s;
    a->err.msg[0] = 0;
    a->same = false;
    a->opened = a->status = psr_source_open(&s, &a->desc, &a->err);
    if (a->status)
        return;
    a->nsamp = psr_source_obs(s)->nsamp;
    uint8_t *all = read_all(a->random, s, a->m->nsamp, &a->nread, &a->status, &a->err);
    a->same = agrees(a->m, &a->desc, psr_source_obs(s), all, a->nread);
    free(all);
    psr_source_close(s);
}

static void test_random_pipes(uint64_t *random)
{
    static const char *const dash = "-";
    int wrong = 0;
    for (int trial = 0; trial < 40; trial++) {
        struct made m;
        make_random(random, &m);
        struct attempt a = {.desc = describe(&dash, 1), .m = &m, .random = random};
        choose_randomly(random, &m, &a.desc);
        with_standard_input(random, &m.file, attempt_read, &a);
        wrong += a.status || !a.same || a.nsamp != -1 || heard.count;
        if (a.status)
            diag("%s", a.err.msg);
        free_made(&m);
    }
    ok(wrong == 0, "40 random pipes, dribbled (%d wrong)", wrong);
}

static void test_named_pipe(uint64_t *random)
{
    struct made m;
    const char *path = scratch("fifo");
    make_random(random, &m);
    if (mkfifo(path, 0600) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        fil_save(&m.file, path);
        _exit(0);
    }
    const char *fifo = path;
    struct attempt a = {.desc = describe(&fifo, 1), .m = &m, .random = random};
    attempt_read(&a);
    waitpid(child, NULL, 0);
    ok(!a.status && a.same && a.nsamp == -1, "a named pipe");
    unlink(path);
    const char *device = "/dev/stdin";
    a.desc = describe(&device, 1);
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(!a.status && a.same && a.nsamp == -1, "/dev/stdin");
    free_made(&m);
}

static void test_pipe_endings(uint64_t *random)
{
    static const char *const dash = "-";
    struct made m = {.nsamp = 50,
                     .desc = {.nchan = 16,
                              .nif = 1,
                              .nbit = 8,
                              .fch1 = 1400,
                              .foff = -1,
                              .tstart = 55000,
                              .tsamp = 1e-3,
                              .nsamples = 60}};
    make_file(random, &m);
    struct attempt a = {.desc = describe(&dash, 1), .m = &m, .random = random};
    fil_bytes(&m.file, "half a row", 10);
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(!a.status && a.same && a.nsamp == -1 && heard.count == 2 &&
           strstr(heard.text, "standard input: truncated: 60 spectra promised, 50 read") &&
           strstr(heard.text, "the last 10 bytes are no whole spectrum of 16"),
       "a pipe shorter than promised: remarks, and what there is");
    size_t whole = m.file.n;
    m.file.n = whole - 10 - 50 * 16;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(!a.opened && a.status == PSR_EFORMAT && strstr(a.err.msg, "standard input: no samples"),
       "a pipe of a header alone");
    m.file.n -= 20;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EFORMAT && strstr(a.err.msg, "the header is cut off"), "half a header");
    m.file.n = 0;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EFORMAT && strstr(a.err.msg, "standard input: empty"), "an empty pipe");
    fil_bytes(&m.file, "SIMPLE  =                    T", 30);
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EUNSUPPORTED && strstr(a.err.msg, "FITS files cannot be read from a pipe"),
       "FITS on standard input");
    a.desc.input = PSR_INPUT_PSRFITS;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EUNSUPPORTED && strstr(a.err.msg, "standard input: PSRFITS"),
       "PSRFITS asked for on standard input");
    m.file.n = whole;
    a.desc = describe(&dash, 1);
    a.desc.skip = 51;
    fil_begin(&m.file, &m.desc);
    fil_text(&m.file, "HEADER_END");
    m.file.n += 50 * 16;
    with_standard_input(random, &m.file, attempt_read, &a);
    ok(a.opened == PSR_EINVAL && strstr(a.err.msg, "offset of 51 spectra, must be 0 to 49"),
       "a skip beyond a pipe's end");
    free_made(&m);
}

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

static psr_status open_only(const struct psr_source_desc *d, psr_err *err)
{
    psr_source *s = NULL;
    *err = (psr_err){.code = PSR_OK};
    psr_status st = psr_source_open(&s, d, err);
    if (st && s)
        return PSR_OK; /* *out must be NULL on error */
    psr_source_close(s);
    return st;
}

static void refuse(const struct psr_source_desc *d, psr_status want, const char *words)
{
    psr_err err;
    psr_status st = open_only(d, &err);
    if (!ok(st == want && strstr(err.msg, words), "refused: %s", words))
        diag("said: %d %s", (int)st, err.msg);
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
        {{8, 1, 8, 0, 1400, -1, 55001, 2e-3, 0}, "tsamp = 0.002, must be 0.001"},
        {{8, 1, 8, 0, 1401, -1, 55001, 1e-3, 0}, "fch1 = 1401, must be 1400"},
        {{8, 1, 8, 0, 1400, 1, 55001, 1e-3, 0}, "foff = 1, must be -1"},
        {{8, 1, 8, 0, 1400, -1, 55001, 1e-14, 0}, "tsamp = 1e-14, must be 0.001"},
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
    refuse(&d, PSR_EFORMAT, "frequency of channel 3 = 1396.75, must be 1397 as in ");
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

/* One small file whose bytes a case cuts, extends or replaces. */
static void test_bad_files(uint64_t *random)
{
    const char *path = file_path(0), *absent = file_path(7), *two[2] = {"-", path};
    struct made m = {.nsamp = 20, .desc = {8, 1, 8, 0, 1400, -1, 55000, 1e-3, 30}};
    struct psr_source_desc d = describe(&path, 1);
    psr_err err;
    make_file(random, &m);
    fil_bytes(&m.file, "abc", 3);
    fil_save(&m.file, path);
    ok(open_only(&d, &err) == PSR_OK && heard.count == 2 &&
           strstr(heard.text, "truncated: nsamples = 30, but the file holds 20 spectra") &&
           strstr(heard.text, "the last 3 bytes are no whole spectrum of 8"),
       "a file shorter than its header says: remarks");
    size_t whole = m.file.n;
    for (int i = 0; i < 15 * 8 - 3; i++)
        fil_bytes(&m.file, "x", 1);
    fil_save(&m.file, path);
    d = describe(&path, 1);
    ok(open_only(&d, &err) == PSR_OK && heard.count == 1 &&
           strstr(heard.text, "nsamples = 30, but the file holds 35 spectra: all are read"),
       "a file longer than its header says: a remark");
    m.file.n = whole;
    fil_save(&m.file, path);
    d.skip = 20;
    refuse(&d, PSR_EINVAL, "offset of 20 spectra, must be 0 to 19");
    d.skip = -1;
    refuse(&d, PSR_EINVAL, "offset of -1 spectra");
    d.skip = 0, d.if_choice = 1;
    refuse(&d, PSR_EINVAL, "0.fil: IF = 1, must be 0 to 0");
    d.if_choice = -1;
    size_t header = m.file.n - 163;
    m.file.n = header + 7;
    fil_save(&m.file, path);
    refuse(&d, PSR_EFORMAT, "0.fil: no samples: 7 bytes follow the header, a spectrum takes 8");
    m.file.n = header - 5;
    fil_save(&m.file, path);
    refuse(&d, PSR_EFORMAT, "0.fil: the header is cut off");
    m.file.n = 0;
    fil_save(&m.file, path);
    refuse(&d, PSR_EFORMAT, "0.fil: empty");
    for (int i = 0; i < 1000; i++)
        fil_bytes(&m.file, &(uint8_t){(uint8_t)tap_random(random)}, 1);
    fil_save(&m.file, path);
    refuse(&d, PSR_EFORMAT, "0.fil: no SIGPROC header");
    m.file.n = 0;
    fil_bytes(&m.file, "SIMPLE  =                    T", 30);
    fil_save(&m.file, path);
    d.input = PSR_INPUT_SIGPROC;
    refuse(&d, PSR_EFORMAT, "0.fil: a FITS file, a SIGPROC file was expected");
    d = describe(&absent, 1);
    refuse(&d, PSR_EIO, "7.fil: No such file or directory");
    d = describe(two, 2);
    refuse(&d, PSR_EINVAL, "standard input (-) among 2 inputs, must be the only one");
    d = describe(NULL, 0);
    refuse(&d, PSR_EINVAL, "no input files");
    const char *directory = scratch_dir;
    d = describe(&directory, 1);
    refuse(&d, PSR_EIO, strerror(EISDIR));
    const char *devices[2] = {"/dev/null", "/dev/zero"};
    d = describe(devices, 1);
    refuse(&d, PSR_EFORMAT, "/dev/null: empty");
    d = describe(devices + 1, 1);
    refuse(&d, PSR_EFORMAT, "/dev/zero: no SIGPROC header");
    free_made(&m);
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
        {1, 12, 1, PSR_EUNSUPPORTED, "nchans = 12 at nbits = 1, must fill whole bytes"},
    };
    const char *path = file_path(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fil f = {.n = 0};
        struct psr_source_desc d = describe(&path, 1);
        psr_err err;
        fil_begin(
            &f, &(struct fil_desc){cases[i].nchan, 1, cases[i].nbit, 0, 1400, -1, 55000, 1e-3, 0});
        fil_int(&f, "data_type", cases[i].data_type);
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

/* More than 2^32 spectra and bytes, all of them a hole but for the last few. */
/* Large blocks are read by several threads; a file that is cut meanwhile ends where it ends. */
static void test_many_threads(uint64_t *random)
{
    enum { NCHAN = 4096, NSAMP = 5000 };
    struct fil f = {0};
    const struct fil_desc d = {.nchan = NCHAN,
                               .nif = 1,
                               .nbit = 8,
                               .fch1 = 1500,
                               .foff = -0.1,
                               .tstart = 55000,
                               .tsamp = 1e-3};
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
           !psr_source_read(s, NSAMP, got, &n, &err);
    ok(fine && n == NSAMP - 500 && !memcmp(got, data, n * NCHAN), "and no more than that: %zu", n);
    psr_source_close(s);
    free(data);
    free(got);
    free(f.b);
}

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

static int count_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

int main(void)
{
    uint64_t random = tap_seed();
    int before = count_descriptors();
    scratch_make();
    psr_source_close(NULL);
    test_real_files();
    test_random_files(&random);
    test_random_pipes(&random);
    test_named_pipe(&random);
    test_pipe_endings(&random);
    test_gaps(&random);
    test_overlaps(&random);
    test_mismatches(&random);
    test_odd_pairs();
    test_bad_files(&random);
    test_data_types();
    test_changed_file(&random);
    test_many_threads(&random);
    test_large_file();
    ok(count_descriptors() == before, "no descriptor is left open");
    return done_testing();
}
