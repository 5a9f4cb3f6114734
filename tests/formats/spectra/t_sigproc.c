/* sigproc: headers of SIGPROC's own making and of ours, and all that can be wrong with one. */
#include <psrkit/experimental/source.h>

#include "base/obs_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "tests/support/fil.h"
#include "tests/support/scratch.h"

static const struct fil_desc plain = {
    .nchan = 4, .nif = 1, .nbit = 8, .fch1 = 1400, .foff = -1, .tstart = 55000.5, .tsamp = 1e-4};

/* What is read from a header; obs is to be cleared. */
struct header {
    psr_status st;
    struct psr_obs obs;
    size_t bytes;
    bool more;
    struct heard heard;
    psr_err err;
};

static struct header parse(const struct fil *f)
{
    struct header h = {.st = PSR_OK};
    h.st = psr_sigproc_parse(&h.obs, &h.bytes, &h.more, f->b, f->n, "in.fil",
                             &(struct psr_notes){.note = hear, .ctx = &h.heard}, &h.err);
    return h;
}

static void load_golden(struct fil *f, const char *name)
{
    char path[4096];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/sigproc/%s", srcdir ? srcdir : ".", name);
    fil_load(f, path);
    ok(f->n > 16, "%s is there", name);
}

static void test_full_header(void)
{
    struct fil f = {.n = 0};
    load_golden(&f, "radec_fil.hdr");
    struct header h = parse(&f);
    ok(h.st == PSR_OK && h.bytes == 355 && !h.more && !h.heard.count,
       "a full header is read without remark");
    ok(h.obs.nchan == 32 && h.obs.nif == 1 && h.obs.nbit == 8 && h.obs.kind == PSR_UINT &&
           h.obs.fch1_mhz == 1500 && h.obs.foff_mhz == -4 && h.obs.tsamp_s == 0.000256 &&
           h.obs.nsamp == -1 && !h.obs.freq_mhz,
       "its samples");
    ok(h.obs.telescope_id == 6 && !strcmp(h.obs.telescope, "GBT") && h.obs.machine_id == 10 &&
           h.obs.ibeam == 2 && h.obs.nbeam == 7 && !strcmp(h.obs.source, "J0737-3039") &&
           h.obs.az_deg == 100.5 && h.obs.za_deg == 21.25,
       "its origin");
    near(h.obs.ra_deg, 15 * (7 + 37 / 60. + 51.248 / 3600), 1e-11, "07:37:51.248");
    near(h.obs.dec_deg, -(30 + 39 / 60. + 40.71 / 3600), 1e-11, "-30:39:40.71");
    ok(h.obs.has_position && h.obs.tstart.day == 56789, "MJD 56789");
    near(h.obs.tstart.frac, 0.012345678900601, 1e-15, "and PRESTO's fraction");
    psr_obs_clear(&h.obs);
    load_golden(&f, "unknownkey_fil.hdr");
    h = parse(&f);
    ok(h.st == PSR_OK && h.bytes == 371 && h.heard.count == 1 &&
           strstr(h.heard.text, "in.fil: unknown key 'funnykey' (int32) skipped"),
       "an unknown key is skipped with a remark");
    psr_obs_clear(&h.obs);
    load_golden(&f, "nifs2_fil.hdr");
    h = parse(&f);
    ok(h.st == PSR_OK && h.bytes == 243 && h.obs.nif == 2 && !h.obs.has_position,
       "two IFs, no position");
    psr_obs_clear(&h.obs);
    free(f.b);
}

/* Each prefix of a good header asks for more and is no header yet. */
static void test_prefixes(void)
{
    struct fil f = {.n = 0};
    struct header h;
    bool all = true;
    load_golden(&f, "unknowns.hdr");
    size_t whole = f.n < 16 ? 0 : f.n - 16;
    for (size_t n = 0; n < whole; n++) {
        struct fil part = {.b = f.b, .n = n};
        h = parse(&part);
        all &= h.st == PSR_EFORMAT && h.more && *h.err.msg;
        psr_obs_clear(&h.obs);
    }
    ok(all, "every prefix of a header asks for more");
    h = parse(&f);
    ok(h.st == PSR_OK && h.bytes == whole && h.heard.count == 3 &&
           strstr(h.heard.text, "'myint' (int32)") && strstr(h.heard.text, "'mydouble' (double)") &&
           strstr(h.heard.text, "'mytext' (text)"),
       "unknown whole numbers, doubles and texts are told apart");
    ok(h.obs.nsamp == 100 && h.obs.kind == PSR_INT, "and what follows them is read");
    psr_obs_clear(&h.obs);
    free(f.b);
}

static void test_frequency_table(void)
{
    struct fil f = {.n = 0};
    load_golden(&f, "table.hdr");
    struct header h = parse(&f);
    ok(h.st == PSR_OK && h.obs.freq_mhz && h.obs.freq_mhz[0] == 1397 && h.obs.freq_mhz[3] == 1352 &&
           h.obs.fch1_mhz == 1397 && h.obs.foff_mhz == -9,
       "a table of frequencies");
    psr_obs_clear(&h.obs);
    fil_begin(&f, &plain);
    fil_double(&f, "fchannel", 1400);
    fil_double(&f, "fchannel", 1300);
    fil_text(&f, "HEADER_END");
    h = parse(&f);
    ok(h.st == PSR_EFORMAT && strstr(h.err.msg, "in.fil: 2 fchannel entries, must be nchans = 4"),
       "a table too short");
    psr_obs_clear(&h.obs);
    free(f.b);
}

/* The header of plain with one value changed, or one key more. */
static void refuse_value(const char *key, bool is_int, double value, const char *words)
{
    struct fil f = {.n = 0};
    fil_begin(&f, &plain);
    const int32_t whole = is_int ? (int32_t)value : 0;
    fil_set(&f, key, is_int ? (const void *)&whole : &value, is_int ? 4 : 8);
    fil_text(&f, "HEADER_END");
    struct header h = parse(&f);
    if (!ok(h.st == PSR_EFORMAT && !h.more && strstr(h.err.msg, "in.fil: ") == h.err.msg &&
                strstr(h.err.msg, words) && !strcmp(h.err.field, key),
            "refused: %s", words))
        diag("said: %d %s", (int)h.st, h.err.msg);
    psr_obs_clear(&h.obs);
    free(f.b);
}

static void test_values(void)
{
    refuse_value("nchans", true, 0, "nchans = 0, must be 1 to 1048576");
    refuse_value("nchans", true, -3, "nchans = -3");
    refuse_value("nchans", true, 1 << 21, "nchans = 2097152");
    refuse_value("nbits", true, 64, "nbits = 64, must be 1 to 32");
    refuse_value("nbits", true, 3, "nbits = 3 of unsigned samples");
    refuse_value("nifs", true, 0, "nifs = 0, must be 1 to 16");
    refuse_value("tsamp", false, 0, "tsamp = 0 s");
    refuse_value("tsamp", false, NAN, "tsamp = nan");
    refuse_value("tstart", false, -1, "tstart = -1, must be 0 to 1000000");
    refuse_value("fch1", false, INFINITY, "fch1 = inf");
    refuse_value("fch1", false, 2, "ends at -1");
    refuse_value("foff", false, 0, "foff = 0 MHz");
    refuse_value("refdm", false, NAN, "refdm = nan");
}

static void refuse_header(const struct fil *f, psr_status want, bool want_more, const char *words)
{
    struct header h = parse(f);
    if (!ok(h.st == want && h.more == want_more && strstr(h.err.msg, words), "refused: %s", words))
        diag("said: %d %d %s", (int)h.st, h.more, h.err.msg);
    psr_obs_clear(&h.obs);
}

/* A key that stands twice must say the same. */
static void test_twice(void)
{
    static const struct {
        const char *key;
        bool is_int;
        double same, other;
        const char *words;
    } key[] = {{"nchans", true, 4, 8, "in.fil: nchans is 4, and it is 8"},
               {"nbits", true, 8, 16, "nbits is 8, and it is 16"},
               {"nifs", true, 1, 2, "nifs is 1, and it is 2"},
               {"tsamp", false, 1e-4, 2e-4, "tsamp is 0.0001, and it is 0.0002"},
               {"fch1", false, 1400, 1500, "fch1 is 1400, and it is 1500"},
               {"foff", false, -1, 1, "foff is -1, and it is 1"},
               {"tstart", false, 55000.5, 55001.5, "tstart is 55000.5, and it is 55001.5"},
               {"data_type", true, 1, 2, "data_type is 1, and it is 2"}};
    struct fil f = {.n = 0};
    for (size_t k = 0; k < sizeof key / sizeof *key; k++)
        for (int other = 0; other < 2; other++) {
            double v = other ? key[k].other : key[k].same;
            fil_begin(&f, &plain);
            if (key[k].is_int)
                fil_int(&f, key[k].key, (int32_t)v);
            else
                fil_double(&f, key[k].key, v);
            fil_text(&f, "HEADER_END");
            if (other)
                refuse_header(&f, PSR_EFORMAT, false, key[k].words);
            struct header h = parse(&f);
            ok(other || (h.st == PSR_OK && !h.heard.count), "%s twice", key[k].key);
            psr_obs_clear(&h.obs);
        }
    fil_begin(&f, &plain);
    for (int k = 0; k < 2; k++) {
        fil_text(&f, "source_name");
        fil_text(&f, k ? "B0329+54" : "Vela");
    }
    fil_text(&f, "HEADER_END");
    struct header h = parse(&f);
    ok(h.st == PSR_OK && !strcmp(h.obs.source, "B0329+54") &&
           strstr(h.heard.text, "source_name is 'Vela', and it is 'B0329+54'"),
       "of two names the last: %s", h.heard.text);
    psr_obs_clear(&h.obs);
    free(f.b);
}

static void test_bad_headers(void)
{
    struct fil f = {.n = 0};
    refuse_header(&f, PSR_EFORMAT, true, "in.fil: empty");
    fil_bytes(&f, "\x0c\0\0\0HEADER_STOP", 15);
    refuse_header(&f, PSR_EFORMAT, false, "the first bytes are not HEADER_START");
    f.n = 0;
    fil_bytes(&f, "\x1f\x8b\x08 and so on", 13);
    refuse_header(&f, PSR_EUNSUPPORTED, false,
                  "in.fil: packed, must be unpacked by gzip -dc first");
    f.n = 0;
    fil_bytes(&f, "\xfd\x37zXZ and so on", 15);
    refuse_header(&f, PSR_EUNSUPPORTED, false, "by xz -dc first");
    f.n = 0;
    fil_bytes(&f, "\0\0\0\x0cHEADER_START", 16);
    refuse_header(&f, PSR_EUNSUPPORTED, false, "big-endian");
    f.n = 0;
    fil_text(&f, "HEADER_START");
    fil_text(&f, "HEADER_END");
    refuse_header(&f, PSR_EFORMAT, false, "the header has no nchans");
    f.n = 16;
    fil_bytes(&f, "\xff\xff\xff\x7f", 4);
    refuse_header(&f, PSR_EFORMAT, false, "byte 16 of the header: no key where one must be");
    f.n = 16;
    fil_bytes(&f, "\3\0\0\0a\0b", 7);
    refuse_header(&f, PSR_EFORMAT, false, "byte 16 of the header: no key where one must be");
    f.n = 16;
    fil_text(&f, "oddkey");
    fil_bytes(&f, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
    refuse_header(&f, PSR_EFORMAT, false, "unknown key 'oddkey' at byte 26");
    f.n = 16;
    fil_text(&f, "source_name");
    fil_bytes(&f, "\0\1\0\0", 4);
    refuse_header(&f, PSR_EFORMAT, false, "source_name: length = 256, must be below 256");
    fil_begin(
        &f,
        &(struct fil_desc){
            .nchan = 4, .nif = 1, .nbit = 4, .is_signed = 1, .fch1 = 9, .foff = -1, .tsamp = 1});
    fil_text(&f, "HEADER_END");
    refuse_header(&f, PSR_EFORMAT, false, "nbits = 4 of signed samples");
    fil_begin(&f, &plain);
    while (f.n < PSR_SIGPROC_HEADER_MAX)
        fil_double(&f, "fchannel", 1400);
    refuse_header(&f, PSR_EFORMAT, false, "no HEADER_END in the first 1048576 bytes");
    free(f.b);
}

/* Two types fit: an int32, or a double, may stand before what looks like a key. */
static void test_ambiguous(void)
{
    struct fil f = {.n = 0};
    fil_text(&f, "HEADER_START");
    fil_text(&f, "puzzle");
    fil_bytes(&f, "\0\0\0\0\1\0\0\0A\0\0\0", 12);
    uint8_t name[64];
    memset(name, 'x', sizeof name);
    fil_bytes(&f, name, sizeof name);
    fil_bytes(&f, name, sizeof name);
    refuse_header(&f, PSR_EFORMAT, false, "unknown key 'puzzle'");
    free(f.b);
}

static void test_positions(void)
{
    static const struct {
        double raj, dej;
        bool known;
        double ra_deg, dec_deg;
    } cases[] = {
        {0, 0, false, 0, 0},
        {0, -3000, true, 0, -0.5},
        {235959.5, 900000, true, 15 * (23 + 59 / 60. + 59.5 / 3600), 90},
        {126660, 1, false, 0, 0},
        {-10000, 1, false, 0, 0},
        {250000, 1, false, 0, 0},
        {NAN, 1, false, 0, 0},
        {10000, 910000, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fil f = {.n = 0};
        fil_begin(&f, &plain);
        fil_double(&f, "src_raj", cases[i].raj);
        fil_double(&f, "src_dej", cases[i].dej);
        fil_text(&f, "HEADER_END");
        struct header h = parse(&f);
        bool quiet = cases[i].known || (cases[i].raj == 0 && cases[i].dej == 0);
        ok(!h.st && h.obs.has_position == cases[i].known && h.heard.count == (quiet ? 0 : 1) &&
               fabs(h.obs.ra_deg - cases[i].ra_deg) < 1e-11 &&
               fabs(h.obs.dec_deg - cases[i].dec_deg) < 1e-11,
           "src_raj %.15g, src_dej %.15g", cases[i].raj, cases[i].dej);
        psr_obs_clear(&h.obs);
        free(f.b);
    }
}

static psr_status write_header(const struct psr_obs *o, int data_type, struct fil *f, psr_err *err)
{
    const char *path = scratch("out.fil");
    psr_outfile *out;
    psr_status st = psr_outfile_create(&out, path, err);
    if (st)
        return st;
    st = psr_sigproc_write(out, o, data_type, err);
    if (st) {
        psr_outfile_abort(out);
        return st;
    }
    st = psr_outfile_commit(out, err);
    fil_load(f, path);
    unlink(path);
    return st;
}

/* What SIGPROC's fake wrote comes back byte for byte. */
static void test_same_bytes(const char *name, size_t skip)
{
    struct fil f = {.n = 0}, back = {.n = 0};
    load_golden(&f, name);
    struct header h = parse(&f);
    if (!h.st)
        h.st = write_header(&h.obs, 1, &back, &h.err);
    ok(!h.st && back.n == h.bytes - skip && memcmp(back.b, f.b, 16) == 0 &&
           memcmp(back.b + 16, f.b + 16 + skip, back.n - 16) == 0,
       "%s: the header written is the header read", name);
    psr_obs_clear(&h.obs);
    free(f.b);
    free(back.b);
}

static bool same_obs(const struct psr_obs *a, const struct psr_obs *b)
{
    bool same = a->nchan == b->nchan && a->nif == b->nif && a->nbit == b->nbit &&
                a->kind == b->kind && a->fch1_mhz == b->fch1_mhz && a->foff_mhz == b->foff_mhz &&
                a->tsamp_s == b->tsamp_s && a->barycentric == b->barycentric &&
                a->has_position == b->has_position && fabs(a->ra_deg - b->ra_deg) < 1e-9 &&
                fabs(a->dec_deg - b->dec_deg) < 1e-9 && a->az_deg == b->az_deg &&
                a->za_deg == b->za_deg && a->refdm == b->refdm && a->ibeam == b->ibeam &&
                a->nbeam == b->nbeam && a->telescope_id == b->telescope_id &&
                a->machine_id == b->machine_id && !strcmp(a->source, b->source) &&
                !strcmp(a->telescope, b->telescope) && !a->freq_mhz == !b->freq_mhz &&
                fabs(psr_mjd_diff_s(a->tstart, b->tstart)) < 1e-6;
    for (size_t c = 0; same && c < a->nchan; c++)
        same &= psr_obs_freq_mhz(a, c) == psr_obs_freq_mhz(b, c);
    return same;
}

static void random_obs(uint64_t *random, struct psr_obs *o)
{
    static const int nbits[] = {1, 2, 4, 8, 16, 32};
    psr_obs_init(o);
    o->nchan = (size_t)tap_between(random, 1, 500);
    o->nif = (int)tap_between(random, 1, 4);
    o->nbit = nbits[tap_between(random, 0, 5)];
    o->kind = o->nbit == 32                                    ? PSR_FLOAT
              : o->nbit == 8 && tap_between(random, 0, 1) == 0 ? PSR_INT
                                                               : PSR_UINT;
    o->fch1_mhz = 1000 + 1000 * tap_uniform(random);
    o->foff_mhz = tap_uniform(random) - 0.5;
    o->tsamp_s = tap_uniform(random) + 1e-6;
    o->tstart = (struct psr_mjd){.day = 50000 + (long)tap_between(random, 0, 9999),
                                 .frac = tap_uniform(random)};
    o->barycentric = tap_between(random, 0, 1);
    o->has_position = tap_between(random, 0, 1);
    if (o->has_position) {
        o->ra_deg = 360 * tap_uniform(random);
        o->dec_deg = 180 * tap_uniform(random) - 90;
        o->az_deg = 360 * tap_uniform(random);
    }
    o->refdm = tap_between(random, 0, 1) ? 100 * tap_uniform(random) : 0;
    o->nbeam = (int)tap_between(random, 0, 13);
    o->ibeam = o->nbeam ? (int)tap_between(random, 1, o->nbeam) : 0;
    o->telescope_id = (int)tap_between(random, -1, 12);
    snprintf(o->telescope, sizeof o->telescope, "%s", psr_telescope_name(o->telescope_id));
    snprintf(o->source, sizeof o->source, "S%lld", (long long)tap_between(random, 0, 1 << 30));
    o->freq_mhz = tap_between(random, 0, 3) ? NULL : malloc(o->nchan * sizeof *o->freq_mhz);
    for (size_t c = 0; o->freq_mhz && c < o->nchan; c++)
        o->freq_mhz[c] = 1400 - 0.1 * (double)c - 1e-5 * (double)(c * c);
}

static void test_round_trip(void)
{
    uint64_t random = tap_seed();
    int wrong = 0;
    for (int i = 0; i < 300; i++) {
        struct fil f = {.n = 0};
        struct psr_obs o;
        psr_err err;
        random_obs(&random, &o);
        psr_status st = write_header(&o, 1, &f, &err);
        struct header h = parse(&f);
        wrong += st || h.st || h.heard.count || h.bytes != f.n || !same_obs(&o, &h.obs);
        psr_obs_clear(&o);
        psr_obs_clear(&h.obs);
        free(f.b);
    }
    ok(wrong == 0, "300 random observations come back from their headers (%d did not)", wrong);
}

static void test_series(void)
{
    struct fil f = {.n = 0};
    struct psr_obs a;
    psr_err err;
    psr_obs_init(&a);
    a.nchan = 1, a.nif = 1, a.nbit = 32, a.kind = PSR_FLOAT, a.tsamp_s = 1e-3, a.fch1_mhz = 1400;
    a.refdm = 56.75;
    psr_status st = write_header(&a, 2, &f, &err);
    struct header h = parse(&f);
    ok(!st && !h.st && same_obs(&a, &h.obs), "a time series");
    psr_obs_clear(&h.obs);
    a.nchan = 2, a.foff_mhz = -1;
    ok(write_header(&a, 2, &f, &err) == PSR_EINVAL && strstr(err.msg, "nchans = 2"),
       "a time series has one channel");
    a.kind = PSR_UINT;
    ok(write_header(&a, 1, &f, &err) == PSR_EUNSUPPORTED && strstr(err.msg, "32 bits"),
       "no whole numbers of 32 bits");
    a.kind = PSR_INT, a.nbit = 16;
    ok(write_header(&a, 1, &f, &err) == PSR_EUNSUPPORTED && strstr(err.msg, "16 bits"),
       "no signed samples of 16 bits");
    a.nbit = 8, a.nchan = 60000, a.foff_mhz = -0.01;
    a.freq_mhz = malloc(a.nchan * sizeof *a.freq_mhz);
    for (size_t c = 0; a.freq_mhz && c < a.nchan; c++)
        a.freq_mhz[c] = 1400 - 0.01 * (double)c;
    ok(write_header(&a, 1, &f, &err) == PSR_EUNSUPPORTED && strstr(err.msg, "60000 frequencies"),
       "no header longer than is read");
    psr_obs_clear(&a);
    ok(write_header(&a, 1, &f, &err) == PSR_EFORMAT, "nothing that could not be read");
    free(f.b);
}

static void test_real_series(void)
{
    const char *data = getenv("PSRKIT_TEST_DATA");
    char path[4096];
    struct fil f = {.n = 0};
    if (!data) {
        skip("a .tim file", "PSRKIT_TEST_DATA is not set");
        return;
    }
    snprintf(path, sizeof path, "%s/GBT_J1807-0847.tim", data);
    fil_load(&f, path);
    struct header h = parse(&f);
    ok(h.st == PSR_OK && h.bytes == 318 && h.obs.refdm == 112.3802 && h.obs.nchan == 1 &&
           h.obs.nbit == 32 && h.obs.kind == PSR_FLOAT && !strcmp(h.obs.telescope, "GBT") &&
           (f.n - h.bytes) / 4 == 131130,
       "a .tim file without foff");
    psr_obs_clear(&h.obs);
    free(f.b);
}

int main(void)
{
    scratch_make();
    test_full_header();
    test_prefixes();
    test_frequency_table();
    test_values();
    test_twice();
    test_bad_headers();
    test_ambiguous();
    test_positions();
    test_same_bytes("g8_fil.hdr", 0);
    test_same_bytes("g32_fil.hdr", 0);
    test_same_bytes("nifs2_fil.hdr", 0);
    test_same_bytes("radec_fil.hdr", 4 + 11 + 4 + 11); /* less rawdatafile */
    test_round_trip();
    test_series();
    test_real_series();
    return done_testing();
}
