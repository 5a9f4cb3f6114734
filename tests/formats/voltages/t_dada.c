/* dada: headers, what contradicts itself, and streams of voltages from files and pipes. */
#include <psrkit/experimental/dada.h>

#include "base/obs_internal.h"
#include "formats/dada/dada_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include "tests/support/voltages_read.h"
#include <fcntl.h>

static const char good[] = "HDR_SIZE 4096 # bytes\nNCHAN 3\nNPOL 2\nNANT 5\nNBIT 4\nNDIM 2\n"
                           "ORDER TFPA\nFREQ 600\nBW -30\nTSAMP 27.3\nTELESCOPE CHORD\n"
                           "SOURCE B0531+21\nUTC_START 2024-11-20-03:04:05\nCAL_MODE  noise 7\n";

/* Parses text as the header of a file. */
static psr_status parse(struct psr_dada *h, const char *text, psr_err *err)
{
    char header[PSR_DADA_HEADER] = {0};
    size_t need;
    snprintf(header, sizeof header, "%s", text);
    return psr_dada_parse(h, header, sizeof header, "x.dada", &need, err);
}

static void test_good(void)
{
    struct psr_dada h;
    psr_err err = {0};
    ok(!parse(&h, good, &err), "a header %s", err.msg);
    ok(h.nchan == 3 && h.nant == 5 && h.tsamp_us == 27.3 && !strcmp(h.telescope, "CHORD") &&
           !strcmp(h.source, "B0531+21") && h.header_bytes == 4096,
       "its numbers and words");
    ok(!h.nibbles.offset_binary && !h.nibbles.real_low && h.phase_sign == -1,
       "two's complement, real part high, phase -1 where nothing is said");
    ok(psr_dada_freq_mhz(&h, 0) == 610 && psr_dada_freq_mhz(&h, 2) == 590,
       "a negative BW has the highest channel first");
    ok(psr_dada_sample_bytes(&h) == 30, "bytes of a sample");
    ok(h.has_start && h.start.day == 60634, "day of UTC_START");
    near(h.start.frac * 86400, 3 * 3600 + 4 * 60 + 5, 1e-9, "second of UTC_START");
    ok(h.other && !strcmp(h.other, "CAL_MODE  noise 7\n"), "a key unknown here is kept as it is");
    psr_dada_clear(&h);
}

static void test_conventions(void)
{
    static const struct {
        const char *line;
        bool offset, low;
        int sign;
    } c[] = {{"ENCODING OFFSETBINARY", true, false, -1},
             {"ENCODING offset_binary", true, false, -1},
             {"ENCODING TwosComplement", false, false, -1},
             {"ENCODING TWOS_COMPLEMENT\nREAL_NIBBLE LOW", false, true, -1},
             {"REAL_NIBBLE high\nPHASE_SIGN 1", false, false, 1}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        char text[2048];
        struct psr_dada h;
        psr_err err = {0};
        snprintf(text, sizeof text, "%s%s\n", good, c[i].line);
        ok(!parse(&h, text, &err) && h.nibbles.offset_binary == c[i].offset &&
               h.nibbles.real_low == c[i].low && h.phase_sign == c[i].sign,
           "convention %zu %s", i, err.msg);
        psr_dada_clear(&h);
    }
}

static void test_dates(void)
{
    struct psr_dada h;
    psr_err err = {0};
    char text[2048];
    snprintf(text, sizeof text, "%sPICOSECONDS 500000000000\nMJD_START 60634.12784144\n", good);
    ok(!parse(&h, text, &err), "UTC_START and MJD_START that agree %s", err.msg);
    near(h.start.frac * 86400, 3 * 3600 + 4 * 60 + 5.5, 1e-9, "PICOSECONDS");
    psr_dada_clear(&h);
    char *cut = strstr(strcpy(text, good), "UTC_START");
    strcpy(cut, "MJD_START 60634.12345678901234567\n");
    ok(!parse(&h, text, &err) && h.start.day == 60634, "MJD_START alone");
    near(h.start.frac, 0.12345678901234567, 1e-17, "to its last digit");
    psr_dada_clear(&h);
    *cut = '\0';
    ok(!parse(&h, text, &err) && !h.has_start, "no date at all");
    psr_dada_clear(&h);
}

/* A header with a line replaced, dropped or added. */
static void refused(psr_status want, const char *from, const char *to, const char *part)
{
    char text[2048];
    struct psr_dada h;
    psr_err err = {0};
    const char *at = from ? strstr(good, from) : good + strlen(good);
    int head = (int)(at - good);
    const char *rest = from ? strchr(at, '\n') + 1 : "";
    snprintf(text, sizeof text, "%.*s%s%s", head, good, to, rest);
    psr_status st = parse(&h, text, &err);
    ok(st == want && strstr(err.msg, part), "refused: %s", err.msg);
    ok(!*err.field || strstr(err.msg, err.field), "its field: %s", err.field);
    psr_dada_clear(&h);
}

static void test_refusals(void)
{
    static const char *const needed[] = {"NCHAN", "NPOL", "NANT", "NBIT", "NDIM",
                                         "ORDER", "FREQ", "BW",   "TSAMP"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        refused(PSR_EFORMAT, needed[i], "", "is missing");
    refused(PSR_EFORMAT, NULL, "NCHAN 4\n", "NCHAN is 3, and it is 4");
    refused(PSR_EFORMAT, "NCHAN", "NCHAN 0\n", "NCHAN");
    refused(PSR_EFORMAT, "NCHAN", "NCHAN many\n", "not a whole number");
    refused(PSR_EFORMAT, "NCHAN", "NCHAN\n", "NCHAN has no value");
    refused(PSR_EUNSUPPORTED, "NPOL", "NPOL 1\n", "NPOL is 1, only 2");
    refused(PSR_EUNSUPPORTED, "NBIT", "NBIT 8\n", "NBIT is 8, only 4");
    refused(PSR_EUNSUPPORTED, "NDIM", "NDIM 1\n", "NDIM is 1, only 2");
    refused(PSR_EUNSUPPORTED, "ORDER", "ORDER TAFP\n", "ORDER is TAFP, only TFPA");
    refused(PSR_EFORMAT, "BW", "BW 0\n", "BW is 0");
    refused(PSR_EFORMAT, "BW", "BW 1300\n", "goes below 0");
    refused(PSR_EFORMAT, "TSAMP", "TSAMP -1\n", "TSAMP");
    refused(PSR_EFORMAT, NULL, "BYTES_PER_SECOND 1e6\n", "BYTES_PER_SECOND");
    refused(PSR_EFORMAT, NULL, "MJD_START 60634.13\n", "s apart");
    refused(PSR_EFORMAT, "UTC_START", "UTC_START 20.11.2024\n", "yyyy-mm-dd");
    refused(PSR_EFORMAT, "UTC_START", "PICOSECONDS 3\n", "without UTC_START");
    refused(PSR_EFORMAT, NULL, "PHASE_SIGN 0\n", "PHASE_SIGN");
    refused(PSR_EFORMAT, NULL, "ENCODING GRAY\n", "must be one of");
    refused(PSR_EFORMAT, "HDR_SIZE", "HDR_SIZE 100\n", "HDR_SIZE");
    refused(PSR_EFORMAT, "HDR_SIZE", "HDR_SIZE 8192\n", "within its header");
}

/* --- files ------------------------------------------------------------------------------------ */

enum { SAMPLE = 2 * 2 * 3 };

static bool offset_binary; /* what files say of their voltages */

/* Sample t of the stream has the bytes t, t + 1, ... */
static void write_file(const char *path, int64_t header, double start_s, int64_t offset, int t0,
                       int nt, int spare)
{
    struct psr_dada h = {.nchan = 2,
                         .nant = 3,
                         .freq_mhz = 500,
                         .bw_mhz = 1,
                         .tsamp_us = 1e5,
                         .has_start = true,
                         .start = psr_mjd_add((struct psr_mjd){60000, 0.5}, start_s),
                         .obs_offset = offset,
                         .nibbles = {.offset_binary = offset_binary},
                         .phase_sign = -1,
                         .header_bytes = header};
    psr_err err;
    psr_outfile *f = NULL;
    unsigned char x[SAMPLE];
    bool fine = !psr_outfile_create(&f, path, &err) && !psr_dada_write(f, &h, &err);
    for (int t = t0; t < t0 + nt && fine; t++) {
        for (int i = 0; i < SAMPLE; i++)
            x[i] = (unsigned char)(t + i);
        fine = !psr_outfile_write(f, x, SAMPLE, &err);
    }
    fine = fine && !psr_outfile_write(f, x, (size_t)spare, &err) && !psr_outfile_commit(f, &err);
    if (!fine) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
}

/* What is remarked on, one after the other. */
static char notes[4096];

static void take_note(void *ctx, const char *msg)
{
    (void)ctx;
    snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s; ", msg);
}

static psr_status open_files(psr_voltages **v, const char *const *path, size_t npath, psr_err *err)
{
    struct psr_voltages_desc d = {
        .size = sizeof d, .path = path, .npath = npath, .nthread = 1, .notes = {.note = take_note}};
    notes[0] = '\0';
    return psr_voltages_open(v, &d, err);
}

/* Reads everything in odd blocks; samples from .. to - 1 are to be missing.
 * Returned: samples, or -1 where one is not what it should be. */
static int read_all(psr_voltages *v, int from, int to, unsigned char none, psr_err *err)
{
    unsigned char x[7 * SAMPLE];
    size_t n;
    int t = 0;
    do {
        if (read_voltages(v, (size_t)(t % 7 + 1), x, &n, err))
            return -1;
        for (size_t i = 0; i < n * SAMPLE; i++) {
            int at = t + (int)(i / SAMPLE);
            unsigned char there = (unsigned char)(at + (int)(i % SAMPLE));
            if (x[i] != (at >= from && at < to ? none : there))
                return -1;
        }
        t += (int)n;
    } while (n > 0);
    return t;
}

static void check_stream(const char *const *path, size_t npath, int want, const char *what)
{
    psr_voltages *v = NULL;
    psr_err err = {0};
    ok(!open_files(&v, path, npath, &err), "%s: opened %s", what, err.msg);
    if (!v)
        return;
    int64_t told = psr_voltages_nsamp(v);
    ok((told == want || told == -1) && read_all(v, 0, 0, 0, &err) == want, "%s: read %s", what,
       err.msg);
    near(psr_voltages_header(v)->start.frac, 0.5, 1e-12, what);
    psr_voltages_close(v);
}

static void not_opened(const char *const *path, size_t npath, psr_status want, const char *part)
{
    psr_voltages *v = NULL;
    psr_err err = {0};
    ok(open_files(&v, path, npath, &err) == want && strstr(err.msg, part), "refused: %s", err.msg);
    psr_voltages_close(v);
}

static void test_files(void)
{
    const char *a = scratch("a.dada"), *b = scratch("b.dada"), *c = scratch("c.dada");
    write_file(a, 4096, 0, 0, 0, 20, 0);
    write_file(b, 8192, 2, 0, 20, 11, 0);
    write_file(c, 4096, 0, 31 * SAMPLE, 31, 5, 0);
    check_stream((const char *[]){a}, 1, 20, "one file");
    check_stream((const char *[]){c, a, b}, 3, 36, "three files out of order");
    ok(notes[0] == '\0', "without a remark");
    not_opened((const char *[]){a, a}, 2, PSR_EFORMAT, "overlaps");
    not_opened((const char *[]){scratch("none")}, 1, PSR_EIO, "none");
    not_opened((const char *[]){scratch_dir}, 1, PSR_EIO, "directory");
    not_opened(NULL, 0, PSR_EINVAL, "no input");
    write_file(b, 4096, 0, 0, 0, 0, 5);
    not_opened((const char *[]){b}, 1, PSR_EFORMAT, "no samples: 5 bytes follow the header");
    ok(truncate(b, 1000) == 0, "cut within the header");
    not_opened((const char *[]){b}, 1, PSR_EFORMAT, "within its header");
}

static void check_gap(const char *const *path, int nsamp, int from, int to, unsigned char none,
                      const char *remark)
{
    psr_voltages *v = NULL;
    psr_err err = {0};
    ok(!open_files(&v, path, 2, &err) && psr_voltages_nsamp(v) == nsamp &&
           read_all(v, from, to, none, &err) == nsamp,
       "samples %d to %d are missing %s", from, to - 1, err.msg);
    ok(strstr(notes, remark), "remarks: %s", notes);
    psr_voltages_close(v);
}

static void test_gaps(void)
{
    const char *a = scratch("a.dada"), *b = scratch("b.dada");
    write_file(a, 4096, 0, 0, 0, 20, 0);
    write_file(b, 4096, 0, 31 * SAMPLE, 31, 5, 0);
    check_gap((const char *[]){b, a}, 36, 20, 31, 0,
              "b.dada begins 11 samples (1.1 s) after the end of ");
    write_file(a, 4096, 0, 0, 0, 19, 7);
    check_gap((const char *[]){a, b}, 36, 19, 31, 0,
              "a.dada: is cut: after 19 samples the last 7 bytes are no whole one of 12");
    offset_binary = true;
    write_file(a, 4096, 0, 0, 0, 20, 0);
    write_file(b, 4096, 0, 31 * SAMPLE, 31, 5, 0);
    check_gap((const char *[]){b, a}, 36, 20, 31, 0x88, "11 samples");
    offset_binary = false;
    write_file(a, 4096, 0, 0, 0, 19, 7);
    write_file(b, 4096, 1.9 + PSR_VOLTAGES_GAP_S, 0, 619, 2, 0);
    check_gap((const char *[]){a, b}, 621, 19, 619, 0, "(60 s)");
    write_file(b, 4096, 2 + PSR_VOLTAGES_GAP_S, 0, 0, 2, 0);
    not_opened((const char *[]){a, b}, 2, PSR_EFORMAT, "b.dada begins 60.1 s after the end of ");
    write_file(b, 4096, 86400 * 365, 0, 0, 2, 0);
    not_opened((const char *[]){a, b}, 2, PSR_EFORMAT, "must be at most 60 s");
    write_file(b, 4096, 1.8, 0, 0, 2, 0);
    not_opened((const char *[]){a, b}, 2, PSR_EFORMAT, "by 1 samples (0.1 s)");
}

/* More than one thread's slice at once: marks a few MB apart, which are where they were put. */
static void test_long_file(void)
{
    enum { NSAMP = 2000000, STEP = 3000017 };
    const char *path = scratch("long.dada");
    write_file(path, 4096, 0, 0, 0, 1, 0);
    int fd = open(path, O_RDWR);
    const size_t bytes = (size_t)NSAMP * SAMPLE;
    bool fine = fd >= 0 && ftruncate(fd, (off_t)(4096 + bytes)) == 0;
    for (size_t at = STEP; at < bytes && fine; at += STEP)
        fine = pwrite(fd, &(char){(char)(at / STEP)}, 1, (off_t)(4096 + at)) == 1;
    if (fd >= 0)
        close(fd);
    unsigned char *x = tap_take(bytes, 1);
    psr_voltages *v = NULL;
    psr_err err = {0};
    size_t n = 0, bad = 0;
    struct psr_voltages_desc d = {.size = sizeof d, .path = &path, .npath = 1, .nthread = 3};
    ok(fine && !psr_voltages_open(&v, &d, &err) && !read_voltages(v, NSAMP, x, &n, &err) &&
           n == NSAMP,
       "a file of %zu bytes %s", bytes, err.msg);
    for (size_t at = SAMPLE; at < bytes; at++)
        bad += x[at] != (at % STEP ? 0 : at / STEP);
    ok(bad == 0, "in slices by three threads");
    psr_voltages_close(v);
    ok(!psr_voltages_open(&v, &d, &err) && truncate(path, 4096 + 10 * SAMPLE) == 0 &&
           read_voltages(v, NSAMP, x, &n, &err) == PSR_EIO && n == 0,
       "cut meanwhile: %s", err.msg);
    psr_voltages_close(v);
    free(x);
}

/* Blocks that a reading gives: room for up to "most" of them. */
struct blocks {
    size_t most, nt, count, given[16];
    unsigned char *x; /* [most][nt][SAMPLE] */
    bool failed, goes_on;
    int idle;
};

static void *emit_room(void *ctx, size_t i)
{
    struct blocks *b = ctx;
    size_t most;
#pragma omp critical(take_block)
    most = b->most;
    return i < most ? b->x + i * b->nt * SAMPLE : NULL;
}

static void take_block(void *ctx, size_t i, size_t nt)
{
    struct blocks *b = ctx;
#pragma omp critical(take_block)
    {
        b->given[i % 16] = nt;
        b->count += nt > 0;
        b->failed = b->failed || nt == 0;
    }
}

/* Room is found for one block more each time there was none. */
static bool make_room(void *ctx, bool idle, size_t i)
{
    struct blocks *b = ctx;
    bool on;
#pragma omp critical(take_block)
    {
        b->idle += idle;
        if (idle && i >= b->most && b->goes_on)
            b->most++;
        on = !idle || b->goes_on;
    }
    return on;
}

/* Reads a long file and a short one after a gap by three threads.
 * Returned: bytes that are not what they should be */
static size_t pump_files(const char *const *path, size_t nsamp, size_t gap, struct blocks *b,
                         psr_status *st)
{
    const struct psr_voltages_sink sink = {b, emit_room, take_block, make_room};
    const struct psr_voltages_desc d = {.size = sizeof d, .path = path, .npath = 2, .nthread = 3};
    psr_voltages *v = NULL;
    psr_err err = {0};
    size_t bad = 0;
    *st = psr_voltages_open(&v, &d, &err);
    if (!*st)
        *st = psr_voltages_pump(v, b->nt, &sink, &err);
    psr_voltages_close(v);
    for (size_t at = 0; at < b->count * b->nt * SAMPLE && at < (nsamp + gap + 5) * SAMPLE; at++) {
        const size_t t = at / SAMPLE;
        const unsigned char there =
            (unsigned char)((t < nsamp ? t : t - nsamp - gap + 31) + at % SAMPLE);
        bad += b->x[at] != (t >= nsamp && t < nsamp + gap ? 0 : there);
    }
    return bad;
}

static void test_pump(void)
{
    enum { NSAMP = 900000, GAP = 100, NT = 350000 };
    const char *a = scratch("a.dada"), *b = scratch("b.dada"), *const path[] = {a, b};
    const size_t bytes = (size_t)16 * NT * SAMPLE;
    struct blocks blocks = {.most = 1, .nt = NT, .goes_on = true, .x = tap_take(bytes, 1)};
    psr_status st;
    write_file(a, 4096, 0, 0, 0, NSAMP, 0);
    write_file(b, 4096, 0, (NSAMP + GAP) * SAMPLE, 31, 5, 0);
    ok(pump_files(path, NSAMP, GAP, &blocks, &st) == 0 && !st && blocks.count == 3 &&
           blocks.given[0] == NT && blocks.given[1] == NT &&
           blocks.given[2] == NSAMP + GAP + 5 - 2 * NT && !blocks.failed,
       "blocks of two files and a gap, as room is found");
    ok(blocks.idle > 0, "which is waited for");
    blocks = (struct blocks){.most = 2, .nt = NT, .x = blocks.x};
    ok(pump_files(path, NSAMP, GAP, &blocks, &st) == 0 && !st && blocks.count == 2, "and not");
    blocks = (struct blocks){.most = 16, .nt = NT, .goes_on = true, .x = blocks.x};
    write_file(b, 4096, 0, (NSAMP + GAP) * SAMPLE, 31, 5, 0);
    psr_voltages *v = NULL;
    psr_err err = {0};
    const struct psr_voltages_sink sink = {&blocks, emit_room, take_block, make_room};
    const struct psr_voltages_desc d = {.size = sizeof d, .path = path, .npath = 2, .nthread = 3};
    ok(!psr_voltages_open(&v, &d, &err) && truncate(a, 4096 + 500000 * SAMPLE) == 0 &&
           psr_voltages_pump(v, NT, &sink, &err) == PSR_EIO && blocks.failed &&
           strstr(err.msg, "became shorter"),
       "a failure is told to whoever takes blocks: %s", err.msg);
    psr_voltages_close(v);
    free(blocks.x);
}

/* Gives a file to standard input as a pipe does. */
static void stage(const char *path)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "cat '%s'", path);
    FILE *f = popen(command, "r");
    if (!f || dup2(fileno(f), STDIN_FILENO) < 0) {
        printf("Bail out! no pipe\n");
        exit(EXIT_FAILURE);
    }
    /* The child ends by itself when all is read; the test's own end collects it. */
}

static void test_pipe(void)
{
    const char *a = scratch("a.dada"), *b = scratch("b.dada");
    psr_voltages *v = NULL;
    psr_err err = {0};
    write_file(a, 8192, 0, 0, 0, 20, 0);
    stage(a);
    check_stream((const char *[]){"-"}, 1, 20, "a pipe");
    write_file(b, 4096, 0, 0, 0, 3, 5);
    stage(b);
    ok(!open_files(&v, (const char *[]){"-"}, 1, &err) && read_all(v, 0, 0, 0, &err) == 3 &&
           strstr(notes, "standard input: is cut: after 3 samples the last 5 bytes"),
       "a pipe that is cut: %s", notes);
    psr_voltages_close(v);
    not_opened((const char *[]){"-", a}, 2, PSR_EINVAL, "only input");
    psr_voltages_close(NULL);
}

static void test_round_trip(void)
{
    const char *path = scratch("r.dada");
    struct psr_dada h, again = {0};
    psr_outfile *f = NULL;
    psr_err err = {0};
    char header[PSR_DADA_HEADER];
    size_t need;
    ok(!parse(&h, good, &err), "a header");
    h.nibbles = (struct psr_nibbles){true, true};
    h.phase_sign = 1;
    ok(!psr_outfile_create(&f, path, &err) && !psr_dada_write(f, &h, &err) &&
           !psr_outfile_commit(f, &err),
       "written %s", err.msg);
    FILE *in = fopen(path, "rb");
    ok(in && fread(header, 1, sizeof header, in) == sizeof header &&
           !psr_dada_parse(&again, header, sizeof header, path, &need, &err),
       "read again %s", err.msg);
    if (in)
        fclose(in);
    ok(again.nchan == h.nchan && again.nant == h.nant && again.freq_mhz == h.freq_mhz &&
           again.bw_mhz == h.bw_mhz && again.tsamp_us == h.tsamp_us && again.phase_sign == 1 &&
           again.nibbles.offset_binary && again.nibbles.real_low && again.other &&
           !strcmp(again.other, h.other) && !strcmp(again.source, h.source) &&
           fabs(psr_mjd_diff_s(h.start, again.start)) < 1e-6,
       "the same");
    h.header_bytes = 100;
    ok(!psr_outfile_create(&f, path, &err) && psr_dada_write(f, &h, &err) == PSR_EINVAL,
       "refused: %s", err.msg);
    psr_outfile_abort(f);
    psr_dada_clear(&h);
    psr_dada_clear(&again);
}

int main(void)
{
    scratch_make();
    test_good();
    test_conventions();
    test_dates();
    test_refusals();
    test_files();
    test_gaps();
    test_long_file();
    test_pump();
    test_pipe();
    test_round_trip();
    return done_testing();
}
