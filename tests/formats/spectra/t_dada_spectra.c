/* dada_spectra: DADA files of spectra: what is written is read again, headers of others, and what is refused. */
#include <psrkit/experimental/dada.h>
#include <psrkit/experimental/source.h>

#include "base/obs_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

static const char good[] = "HDR_VERSION 1.0\nHDR_SIZE 4096\nNCHAN 8 # channels\nNBIT 8\nNPOL 1\n"
                           "NDIM 1\nORDER TF\nFREQ 1400\nBW -80\nTSAMP 64\n"
                           "UTC_START 2024-11-20-03:04:05\nPICOSECONDS 500000000000\n"
                           "OBS_OFFSET 0\nSOURCE B0531+21\nRA 05:34:31.5\nDEC -22:00:52.25\n"
                           "TELESCOPE Parkes\nINSTRUMENT CASPSR\nBEAM 3\n";

/* Parses text, padded to a header of room bytes; obs is to be cleared. */
static psr_status parse(struct psr_obs *obs, const char *text, size_t room, bool *more,
                        psr_err *err)
{
    char *header = tap_take(1, room + strlen(text));
    size_t bytes;
    strcpy(header, text);
    psr_status st = psr_dada_parse_spectra(obs, &bytes, more, header, room, "x.dada", NULL, err);
    ok(st || bytes == (strstr(text, "HDR_SIZE 8192") ? 8192 : 4096), "size of the header");
    free(header);
    return st;
}

/* The good header with a line more, which counts where the key is there already. */
static psr_status parse_with(struct psr_obs *obs, const char *line, psr_err *err)
{
    char text[4096];
    bool more;
    snprintf(text, sizeof text, "%s%s\n", good, line);
    return parse(obs, text, 8192, &more, err);
}

static void test_good(void)
{
    struct psr_obs obs;
    psr_err err = {0};
    ok(!parse_with(&obs, "", &err), "a header %s", err.msg);
    ok(obs.nchan == 8 && obs.nif == 1 && obs.nbit == 8 && obs.kind == PSR_UINT && obs.nsamp == -1,
       "its samples");
    ok(obs.fch1_mhz == 1435 && obs.foff_mhz == -10 && obs.tsamp_s == 64e-6, "its band");
    ok(obs.tstart.day == 60634, "its day");
    near(obs.tstart.frac * 86400, 3 * 3600 + 4 * 60 + 5.5, 1e-9, "its time");
    ok(!strcmp(obs.source, "B0531+21") && !strcmp(obs.telescope, "Parkes") &&
           obs.telescope_id == 4 && !strcmp(obs.instrument, "CASPSR") && obs.ibeam == 3,
       "its names");
    near(obs.ra_deg, 15 * (5 + 34 / 60. + 31.5 / 3600), 1e-12, "its right ascension");
    near(obs.dec_deg, -(22 + 52.25 / 3600), 1e-12, "its declination");
    psr_obs_clear(&obs);
}

/* Keys of other programs, and what may be absent. */
static void test_conventions(void)
{
    static const char few[] = "NCHAN 4\nNBIT 32\nCFREQ 1000\nBANDWIDTH 40\nTSAMP 1000\n"
                              "MJD_START 58849.25\nOBS_OFFSET 16000\n";
    struct psr_obs obs;
    psr_err err = {0};
    bool more;
    ok(!parse(&obs, few, 4096, &more, &err), "few keys %s", err.msg);
    ok(obs.nif == 1 && obs.kind == PSR_FLOAT && obs.fch1_mhz == 985 && obs.foff_mhz == 10 &&
           obs.tstart.day == 58849 && !obs.has_position && !strcmp(obs.source, "Unknown"),
       "CFREQ and BANDWIDTH, floats, and nothing of the source");
    near(obs.tstart.frac * 86400, 21601, 1e-9, "1000 spectra later than MJD_START");
    psr_obs_clear(&obs);
    static const struct {
        const char *line;
        enum psr_kind kind;
        int nbit, nif;
    } c[] = {{"ENCODING TWOSCOMPLEMENT", PSR_INT, 8, 1},
             {"ENCODING OFFSETBINARY", PSR_UINT, 8, 1},
             {"NBIT 16\nENCODING TWOSCOMPLEMENT", PSR_INT, 16, 1},
             {"NBIT 2", PSR_UINT, 2, 1},
             {"ORDER TFP", PSR_UINT, 8, 1},
             {"ORDER TPF\nNPOL 4\nSTATE Stokes", PSR_UINT, 8, 4},
             {"STATE Intensity", PSR_UINT, 8, 1}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        ok(!parse_with(&obs, c[i].line, &err) && obs.kind == c[i].kind && obs.nbit == c[i].nbit &&
               obs.nif == c[i].nif,
           "convention %zu %s", i, err.msg);
        psr_obs_clear(&obs);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *line, *field, *words;
        psr_status status;
    } bad[] = {
        {"NDIM 2", "NDIM", "NDIM is 2, voltages", PSR_EUNSUPPORTED},
        {"STATE Nyquist", "STATE", "STATE is Nyquist, voltages", PSR_EUNSUPPORTED},
        {"NBEAM 4", "NBEAM", "NBEAM is 4, must be 1", PSR_EUNSUPPORTED},
        {"NANT 64", "NANT", "NANT is 64, must be 1", PSR_EUNSUPPORTED},
        {"ORDER FT", "ORDER", "ORDER is FT with NPOL 1, must be TF", PSR_EUNSUPPORTED},
        {"ORDER TFP\nNPOL 2", "ORDER", "ORDER is TFP with NPOL 2, must be TPF", PSR_EUNSUPPORTED},
        {"NPOL 5", "NPOL", "NPOL: 5 is above 4", PSR_EFORMAT},
        {"NBIT 12", "NBIT", "NBIT is 12, must be 1, 2, 4, 8, 16 or 32", PSR_EUNSUPPORTED},
        {"NBIT 64", "NBIT", "NBIT is 64, must be 1, 2, 4, 8, 16 or 32", PSR_EUNSUPPORTED},
        {"ENCODING grey", "ENCODING", "ENCODING is grey, must be TWOS", PSR_EUNSUPPORTED},
        {"ENCODING TWOSCOMPLEMENT\nNBIT 4", "ENCODING", "with NBIT 4", PSR_EUNSUPPORTED},
        {"NCHAN 0", "NCHAN", "NCHAN: 0 is below 1", PSR_EFORMAT},
        {"NCHAN many", "NCHAN", "NCHAN: ", PSR_EFORMAT},
        {"TSAMP 0", "TSAMP", "TSAMP", PSR_EFORMAT},
        {"BW 0", "BW", "BW is 0 MHz", PSR_EFORMAT},
        {"BW 2800", "BW", "BW is 2800 MHz about 1400 MHz", PSR_EFORMAT},
        {"UTC_START yesterday", "UTC_START", "UTC_START is yesterday", PSR_EFORMAT},
        {"OBS_OFFSET 12", "OBS_OFFSET", "OBS_OFFSET is 12, must be a multiple of the 8 bytes",
         PSR_EFORMAT},
        {"OBS_OFFSET 9000000000000000000", "OBS_OFFSET", "limit 1000000000 s", PSR_EFORMAT},
        {"HDR_SIZE 100", "HDR_SIZE", "HDR_SIZE: 100 is below 4096", PSR_EFORMAT},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct psr_obs obs;
        psr_err err = {0};
        const psr_status st = parse_with(&obs, bad[i].line, &err);
        if (!ok(st == bad[i].status && strstr(err.msg, "x.dada: ") == err.msg &&
                    strstr(err.msg, bad[i].words) && !strcmp(err.field, bad[i].field),
                "refused: %s", bad[i].words))
            diag("said: %d %s: %s", (int)st, err.field, err.msg);
    }
}

/* Each key that must be there. */
static void test_missing(void)
{
    static const char *const keys[] = {"NCHAN", "NBIT", "FREQ", "BW", "TSAMP"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct psr_obs obs;
        psr_err err = {0};
        bool more;
        char text[4096], line[32];
        snprintf(line, sizeof line, "\n%s ", keys[i]);
        strcpy(text, good);
        strstr(text, line)[1] = 'X';
        ok(parse(&obs, text, 4096, &more, &err) == PSR_EFORMAT && !more &&
               !strcmp(err.field, keys[i]) && strstr(err.msg, "is missing"),
           "no %s: %s", keys[i], err.msg);
    }
}

static void test_sizes(void)
{
    char text[8192];
    struct psr_obs obs;
    psr_err err = {0};
    bool more;
    ok(parse(&obs, good, 4095, &more, &err) == PSR_EFORMAT && more &&
           strstr(err.msg, "ends within its header of 4096 bytes"),
       "a byte too few asks for more");
    snprintf(text, sizeof text, "%s", good);
    memcpy(strstr(text, "4096"), "8192", 4);
    ok(parse(&obs, text, 4096, &more, &err) == PSR_EFORMAT && more &&
           strstr(err.msg, "ends within its header of 8192 bytes"),
       "a longer header asks for more");
    ok(!parse(&obs, text, 8192, &more, &err) && !more, "and is read");
    psr_obs_clear(&obs);
    memset(text + strlen(text), '\n', 8000 - strlen(text));
    snprintf(text + 8000, sizeof text - 8000, "HDR_SIZE 16384\n");
    ok(parse(&obs, text, 8192, &more, &err) == PSR_EFORMAT && !more &&
           strstr(err.msg, "HDR_SIZE is 8192, and it is 16384"),
       "of two sizes neither is believed");
}

/* --- what is written -------------------------------------------------------------------------- */

static double pick(uint64_t *random, double lo, double hi)
{
    return lo * pow(hi / lo, tap_uniform(random));
}

static void make_obs(struct psr_obs *obs, uint64_t *random)
{
    static const int nbits[] = {1, 2, 4, 8, 16, 32, 8, 16};
    const int i = (int)tap_between(random, 0, 7);
    psr_obs_init(obs);
    obs->nbit = nbits[i];
    obs->kind = i == 5 ? PSR_FLOAT : i > 5 ? PSR_INT : PSR_UINT;
    obs->nchan = 8 * (size_t)tap_between(random, 1, 40);
    obs->nif = (int)tap_between(random, 1, 4);
    obs->fch1_mhz = pick(random, 100, 10000);
    obs->foff_mhz = pick(random, 1e-4, 0.9) * obs->fch1_mhz / (double)obs->nchan;
    obs->foff_mhz *= tap_between(random, 0, 1) ? 1 : -1;
    obs->tsamp_s = pick(random, 1e-7, 1);
    obs->tstart = (struct psr_mjd){tap_between(random, 40000, 70000), tap_uniform(random)};
    obs->has_position = tap_between(random, 0, 1);
    obs->ra_deg = obs->has_position ? 359.999 * tap_uniform(random) : 0;
    obs->dec_deg = obs->has_position ? 180 * tap_uniform(random) - 90 : 0;
    obs->ibeam = (int)tap_between(random, 0, 20);
    snprintf(obs->source, sizeof obs->source, "J%d", (int)tap_between(random, 0, 9999));
    snprintf(obs->telescope, sizeof obs->telescope, "%s",
             tap_between(random, 0, 1) ? "MeerKAT" : "Unknown");
    obs->telescope_id = psr_telescope_id(obs->telescope);
}

static bool is_close(double a, double b, double part)
{
    return fabs(a - b) <= part * fabs(b);
}

static bool are_alike(const struct psr_obs *a, const struct psr_obs *b)
{
    const double second = psr_mjd_diff_s(a->tstart, b->tstart);
    return a->nchan == b->nchan && a->nif == b->nif && a->nbit == b->nbit && a->kind == b->kind &&
           is_close(a->tsamp_s, b->tsamp_s, 0x1p-52) && is_close(a->fch1_mhz, b->fch1_mhz, 1e-14) &&
           is_close(a->foff_mhz, b->foff_mhz, 1e-11) && fabs(second) < 1e-9 &&
           a->has_position == b->has_position && fabs(a->ra_deg - b->ra_deg) < 1e-9 &&
           fabs(a->dec_deg - b->dec_deg) < 1e-10 && a->ibeam == b->ibeam &&
           !strcmp(a->source, b->source) && !strcmp(a->telescope, b->telescope) &&
           a->telescope_id == b->telescope_id;
}

static void write_file(const char *path, const struct psr_obs *obs, const uint8_t *samples,
                       size_t n)
{
    psr_outfile *f;
    psr_err err;
    if (psr_outfile_create(&f, path, &err) || psr_dada_write_spectra(f, obs, &err) ||
        psr_outfile_write(f, samples, n, &err) || psr_outfile_commit(f, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
}

/* What the keys of a header say, read with the C library alone, by the rule that Heimdall has. */
static bool says(const char *header, const struct psr_obs *obs)
{
    double freq = 0, bw = 0, tsamp = 0;
    char order[8] = "";
    const char *f = strstr(header, "\nFREQ "), *b = strstr(header, "\nBW "),
               *t = strstr(header, "\nTSAMP "), *o = strstr(header, "\nORDER ");
    if (!f || !b || !t || !o || sscanf(f, " FREQ %lf", &freq) != 1 ||
        sscanf(b, " BW %lf", &bw) != 1 || sscanf(t, " TSAMP %lf", &tsamp) != 1 ||
        sscanf(o, " ORDER %7s", order) != 1)
        return false;
    const double width = bw / (double)obs->nchan;
    return is_close(freq - bw / 2 + width / 2, obs->fch1_mhz, 1e-14) &&
           is_close(width, obs->foff_mhz, 1e-14) && is_close(tsamp * 1e-6, obs->tsamp_s, 1e-15) &&
           !strcmp(order, obs->nif == 1 ? "TF" : "TPF");
}

/* Reads one IF of a file; returned: it has the samples [t][if][c] of that IF. */
static bool has_samples(const char *path, const struct psr_obs *want, const uint8_t *samples,
                        size_t nsamp, int which)
{
    const struct psr_source_desc d = {
        .size = sizeof d, .path = &path, .npath = 1, .if_choice = which};
    const size_t row = want->nchan * (size_t)want->nbit / 8;
    uint8_t *got = tap_take(nsamp + 1, row);
    psr_source *s;
    psr_err err = {0};
    size_t n = 0;
    bool same = !psr_source_open(&s, &d, &err) && psr_source_obs(s)->nsamp == (int64_t)nsamp &&
                !psr_source_read(s, nsamp + 1, got, &n, &err) && n == nsamp;
    for (size_t t = 0; t < nsamp && same; t++)
        same = !memcmp(got + t * row, samples + (t * (size_t)want->nif + (size_t)which) * row, row);
    if (!same)
        diag("%zu of %zu spectra: %s", n, nsamp, err.msg);
    psr_source_close(s);
    free(got);
    return same;
}

static void test_round_trip(uint64_t *random)
{
    enum { TIMES = 300 };
    const char *path = scratch("a.dada");
    int header = 0, text = 0, data = 0;
    for (int i = 0; i < TIMES; i++) {
        struct psr_obs obs, again;
        psr_err err = {0};
        size_t n, bytes;
        bool more;
        make_obs(&obs, random);
        const size_t nsamp = (size_t)tap_between(random, 1, 20);
        const size_t size = nsamp * obs.nchan * (size_t)obs.nbit / 8 * (size_t)obs.nif;
        uint8_t *samples = tap_take(size, 1);
        for (size_t k = 0; k < size; k++)
            samples[k] = (uint8_t)tap_random(random);
        write_file(path, &obs, samples, size);
        char *all = scratch_read(path, &n);
        const bool read = !psr_dada_parse_spectra(&again, &bytes, &more, all, n, path, NULL, &err);
        const bool alike = read && bytes == 4096 && are_alike(&again, &obs);
        if (!alike)
            diag("observation %d: %s\n%s", i, err.msg, all);
        header += alike;
        text += says(all, &obs);
        data += has_samples(path, &obs, samples, nsamp, (int)tap_between(random, 0, obs.nif - 1));
        psr_obs_clear(&again);
        free(samples);
        free(all);
    }
    ok(header == TIMES, "%d of %d random observations are read as they were written", header,
       (int)TIMES);
    ok(text == TIMES, "%d headers say it in the words of others", text);
    ok(data == TIMES, "%d have their samples", data);
}

static void test_words(void)
{
    struct psr_obs obs, again;
    psr_err err = {0};
    size_t n, bytes;
    bool more;
    uint64_t random = tap_seed();
    make_obs(&obs, &random);
    strcpy(obs.source, "P: 1 ms # \n NDIM 2\xe9");
    write_file(scratch("w.dada"), &obs, (const uint8_t *)"", 0);
    char *all = scratch_read(scratch("w.dada"), &n);
    ok(!psr_dada_parse_spectra(&again, &bytes, &more, all, n, "w.dada", NULL, &err) &&
           !strcmp(again.source, "P:_1_ms_____NDIM_2_"),
       "a name that is no word: %s", again.source);
    psr_obs_clear(&again);
    free(all);
}

static void test_not_writable(void)
{
    static const struct {
        const char *field;
        int nif, nbit;
        double foff;
        bool barycentric, table;
    } bad[] = {{"nifs", 5, 8, 1, false, false},
               {"nbit", 1, 32, 1, false, false},
               {"barycentric", 1, 8, 1, true, false},
               {"freq_mhz", 1, 8, 1, false, true},
               {"foff", 1, 8, 0, false, false}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double table[2] = {1400, 1300};
        struct psr_obs obs;
        psr_outfile *f;
        psr_err err = {0};
        psr_obs_init(&obs);
        obs.nchan = bad[i].foff == 0 ? 1 : 2;
        obs.nif = bad[i].nif;
        obs.nbit = bad[i].nbit;
        obs.fch1_mhz = 1400;
        obs.foff_mhz = bad[i].foff;
        obs.tsamp_s = 1e-3;
        obs.barycentric = bad[i].barycentric;
        obs.freq_mhz = bad[i].table ? table : NULL;
        ok(!psr_outfile_create(&f, scratch("n.dada"), &err) &&
               psr_dada_write_spectra(f, &obs, &err) == PSR_EUNSUPPORTED &&
               !strcmp(err.field, bad[i].field),
           "not written: %s", err.msg);
        psr_outfile_abort(f);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

/* dada_dbdisk cuts an observation into files, whose OBS_OFFSET says where they begin. */
static void test_files(void)
{
    enum { ROW = 8, EACH = 100 };
    const char *path[2] = {scratch("2.dada"), scratch("1.dada")};
    uint8_t all[2 * EACH * ROW], got[sizeof all + ROW];
    psr_err err = {0};
    psr_source *s;
    size_t n = 0;
    for (size_t k = 0; k < sizeof all; k++)
        all[k] = (uint8_t)(k * k + k / 7);
    for (int i = 0; i < 2; i++) {
        uint8_t file[4096 + EACH * ROW] = {0};
        snprintf((char *)file, 4096, "%sOBS_OFFSET %d\n", good, (1 - i) * EACH * ROW);
        memcpy(file + 4096, all + (1 - i) * EACH * ROW, EACH * ROW);
        scratch_write(path[i], file, sizeof file);
    }
    const struct psr_source_desc d = {.size = sizeof d, .path = path, .npath = 2, .if_choice = -1};
    ok(!psr_source_open(&s, &d, &err) && psr_source_obs(s)->nsamp == 2 * EACH,
       "two files of an observation %s", err.msg);
    ok(!psr_source_read(s, 2 * EACH + 1, got, &n, &err) && n == 2 * EACH &&
           !memcmp(got, all, sizeof all),
       "in the order of their OBS_OFFSET");
    psr_source_close(s);
    const struct psr_source_desc late = {
        .size = sizeof late, .path = path + 1, .npath = 1, .if_choice = -1, .skip = 90};
    ok(!psr_source_open(&s, &late, &err) && !psr_source_read(s, EACH, got, &n, &err) && n == 10 &&
           !memcmp(got, all + 90 * ROW, 10 * ROW),
       "from a later spectrum on");
    psr_source_close(s);
}

static void test_refused_files(void)
{
    const char *two[2] = {"dada://1", scratch("2.dada")}, *path = scratch("short.dada");
    psr_err err = {0};
    psr_source *s;
    struct psr_source_desc d = {.size = sizeof d, .path = two, .npath = 2, .if_choice = -1};
    ok(psr_source_open(&s, &d, &err) == PSR_EINVAL &&
           strstr(err.msg, "dada://1 among 2 inputs, must be the only one"),
       "a ring among files");
    scratch_write(path, good, strlen(good));
    d.path = &path;
    d.npath = 1;
    ok(psr_source_open(&s, &d, &err) == PSR_EFORMAT &&
           strstr(err.msg, "short.dada: ends within its header of 4096 bytes"),
       "a file that is cut: %s", err.msg);
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    test_good();
    test_conventions();
    test_refused();
    test_missing();
    test_sizes();
    test_round_trip(&random);
    test_words();
    test_not_writable();
    test_files();
    test_refused_files();
    return done_testing();
}
