/* inf: PRESTO's description of a time series, byte for byte. */
#include <psrkit/experimental/source.h>
#include <psrkit/series.h>

#include "base/obs_internal.h"
#include "formats/series/series_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "tests/support/inf_text.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <stdio.h>
#include <string.h>

/* A golden file of PRESTO's and what prepsubband was given to make it. */
struct golden {
    const char *name;
    const char *header; /* of the filterbank file; NULL: only read and written again */
    int downsamp;
    int64_t offset;   /* spectra left out at the start */
    bool their_epoch; /* barycentred */
    bool their_band;  /* PRESTO takes an ascending band for a descending one */
};

static const struct golden goldens[] = {
    {.name = "GBT_J1807-0847"},
    {.name = "acc3"},
    {.name = "bary-t_DM40.00", .header = "radec", .their_epoch = true},
    {.name = "bary-t_DM47.00", .header = "radec", .their_epoch = true},
    {.name = "bary-t_DM54.00", .header = "radec", .their_epoch = true},
    {.name = "default-t_DM40.00", .header = "g8"},
    {.name = "default-t_DM47.00", .header = "g8"},
    {.name = "default-t_DM54.00", .header = "g8"},
    {.name = "dmprec4-t_DM40.1250", .header = "g8"},
    {.name = "dmprec4-t_DM40.1375", .header = "g8"},
    {.name = "dmprec4-t_DM40.1500", .header = "g8"},
    {.name = "downsamp16-t_DM40.00", .header = "g8", .downsamp = 16},
    {.name = "downsamp3-t_DM40.00", .header = "g8", .downsamp = 3},
    {.name = "ignorechan-t_DM40.00", .header = "g8"},
    {.name = "invert-t_DM40.00", .header = "g8"},
    {.name = "mask-t_DM40.00", .header = "radec"},
    {.name = "mask_noclip-t_DM40.00", .header = "radec"},
    {.name = "mask_zerodm-t_DM40.00", .header = "radec"},
    {.name = "nbits1-t_DM40.00", .header = "g1"},
    {.name = "nbits16-t_DM40.00", .header = "g16"},
    {.name = "nbits2-t_DM40.00", .header = "g2"},
    {.name = "nbits32-t_DM40.00", .header = "g32"},
    {.name = "nbits4-t_DM40.00", .header = "g4"},
    {.name = "noclip-t_DM40.00", .header = "g8"},
    {.name = "nsubfull-t_DM40.00", .header = "g8"},
    {.name = "numout_long-t_DM40.00", .header = "g8"},
    {.name = "numout_short-t_DM40.00", .header = "g8"},
    {.name = "offset-t_DM40.00", .header = "g8", .offset = 5000},
    {.name = "posfoff-t_DM40.00", .header = "posfoff", .their_band = true},
    {.name = "prepdata_mask-t", .header = "radec"},
    {.name = "radec_nobary-t_DM40.00", .header = "radec"},
    {.name = "radec_nobary-t_DM47.00", .header = "radec"},
    {.name = "radec_nobary-t_DM54.00", .header = "radec"},
    {.name = "rficlip-t_DM40.00", .header = "radec"},
    {.name = "rfifind-r_rfifind", .header = "radec"},
    {.name = "start-t_DM40.00", .header = "g8", .offset = 7200},
    {.name = "subbands-t_DM47.00.sub", .header = "g8"},
    {.name = "zerodm-t_DM40.00", .header = "g8"},
};
enum { NGOLDEN = sizeof goldens / sizeof *goldens };

static char *read_golden(const char *folder, const char *name, const char *suffix, size_t *n)
{
    char path[PATH_MAX];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/golden/%s/%s%s", srcdir ? srcdir : ".", folder, name,
             suffix);
    char *text = scratch_read(path, n);
    if (!text)
        diag("%s is missing", path);
    return text;
}

static void show_difference(const char *got, const char *want)
{
    size_t i = 0, line = 0;
    for (; got[i] && got[i] == want[i]; i++)
        line = got[i] == '\n' ? i + 1 : line;
    diag("got  '%.*s'\n# want '%.*s'", (int)strcspn(got + line, "\n"), got + line,
         (int)strcspn(want + line, "\n"), want + line);
}

static bool same_bytes(const struct psr_inf *inf, const char *want, size_t nwant)
{
    char got[INF_TEXT_MAX];
    size_t n = inf_text(inf, got);
    bool same = n == nwant && !memcmp(got, want, n);
    if (!same)
        show_difference(got, want);
    return same;
}

/* What a tool would say of the file PRESTO read; theirs gives what is the caller's to set: the
 * numbers of samples, which PRESTO's lost blocks make smaller, and who ran it. */
static bool describe(struct psr_inf *inf, const struct golden *g, const struct psr_inf *theirs)
{
    struct psr_obs obs;
    size_t n, header_bytes;
    bool need_more;
    psr_err err;
    char *header = read_golden("headers", g->header, ".hdr", &n);
    if (!header ||
        psr_sigproc_parse(&obs, &header_bytes, &need_more, header, n, g->header, NULL, &err)) {
        free(header);
        return false;
    }
    psr_inf_from_obs(inf, &obs, obs.nbit);
    inf->epoch = psr_mjd_add(obs.tstart, (double)g->offset * obs.tsamp_s);
    inf->tbin_s = obs.tsamp_s * (g->downsamp ? g->downsamp : 1);
    psr_obs_clear(&obs);
    free(header);
    memcpy(inf->name, theirs->name, sizeof inf->name);
    memcpy(inf->analyst, theirs->analyst, sizeof inf->analyst);
    memcpy(inf->onoff, theirs->onoff, sizeof inf->onoff);
    inf->nonoff = theirs->nonoff;
    inf->nbin = theirs->nbin;
    inf->dm = theirs->dm;
    if (g->their_epoch) {
        inf->epoch = theirs->epoch;
        inf->barycentric = theirs->barycentric;
    }
    if (g->their_band) {
        inf->lowest_mhz = theirs->lowest_mhz;
        inf->beam_arcsec = theirs->beam_arcsec;
    }
    return true;
}

static void test_golden(const struct golden *g)
{
    struct psr_inf theirs, ours;
    psr_err err = {.msg = ""};
    size_t n = 0;
    char *text = read_golden("inf", g->name, ".inf", &n);
    bool parsed = text && psr_inf_parse(&theirs, text, n, g->name, &err) == PSR_OK;
    ok(parsed, "%s is read %s", g->name, err.msg);
    if (parsed)
        ok(same_bytes(&theirs, text, n), "%s is written again as it was", g->name);
    if (parsed && g->header)
        ok(describe(&ours, g, &theirs) && same_bytes(&ours, text, n),
           "%s follows from its filterbank header", g->name);
    free(text);
}

static void test_values(void)
{
    struct psr_inf inf;
    psr_err err;
    size_t n = 0;
    char *text = read_golden("inf", "radec_nobary-t_DM47.00", ".inf", &n);
    if (!ok(text && psr_inf_parse(&inf, text, n, "x", &err) == PSR_OK, "a golden file"))
        return;
    ok(!strcmp(inf.telescope, "GBT") && !strcmp(inf.object, "J0737-3039"), "texts");
    near(inf.ra_deg, (7 + 37 / 60.0 + 51.248 / 3600) * 15, 1e-10, "right ascension");
    near(inf.dec_deg, -(30 + 39 / 60.0 + 40.71 / 3600), 1e-10, "southern declination");
    ok(inf.epoch.day == 56789 && inf.epoch.frac == 0.012345678900601, "epoch");
    ok(inf.nbin == 30240 && inf.tbin_s == 0.000256 && inf.dm == 47 && inf.nchan == 32, "numbers");
    ok(inf.nonoff == 2 && inf.onoff[0][0] == 0 && inf.onoff[0][1] == 23999 &&
           inf.onoff[1][0] == 30239 && inf.onoff[1][1] == 30239,
       "on/off pairs");
    ok(!strcmp(inf.notes, "Project ID unset, Date: 2014-05-12T00:17:46.6667.\n"
                          "2 polns were summed.  Samples have 8 bits.\n"),
       "notes");
    char *width = strstr(text, " Width of each time series bin (sec)    =  ");
    ok(width && !strncmp(width + 43, "0.000256\n", 9), "the bin width begins after 43 characters");
    free(text);
}

static psr_status parse_text(struct psr_inf *inf, const char *text, psr_err *err)
{
    return psr_inf_parse(inf, text, strlen(text), "x.inf", err);
}

static void test_liberal(void)
{
    struct psr_inf inf;
    psr_err err = {.msg = ""};
    ok(parse_text(&inf,
                  "# made by hand\r\n"
                  "\r\n"
                  "dispersion  measure = 12.5\r\n"
                  " Width of each time series bin (sec)=6.4e-05\r\n"
                  "\tNumber of bins in the time series   =   1e6  \r\n"
                  "Data file name without suffix = /a=b/c d\r\n"
                  " A line of times to come = 17\r\n"
                  "Telescope used = \r\n"
                  "Barycentered? = 1\r\n"
                  "Epoch of observation = 55000\r\n"
                  "J2000 Declination = -00:00:30.5\r\n"
                  "Any breaks in the data? (1 yes, 0 no) = 1\r\n"
                  "On/Off bin pair # 1 = 10 999999\r\n"
                  "Type of observation (EM band) = Radio\r\n"
                  "Any additional notes:\r\n"
                  "  two blanks = 2\r\n"
                  "Number of bins = 5",
                  &err) == PSR_OK,
       "lines in any order, CRLF, remarks, blanks %s", err.msg);
    ok(inf.dm == 12.5 && inf.tbin_s == 6.4e-05 && inf.nbin == 1000000, "numbers");
    ok(!strcmp(inf.name, "/a=b/c d"), "a name with an equals sign");
    ok(!strcmp(inf.telescope, "Unknown") && !strcmp(inf.object, "Unknown"), "blanks are unknown");
    ok(inf.barycentric && inf.epoch.day == 55000 && inf.epoch.frac == 0, "an epoch without point");
    near(inf.dec_deg, -30.5 / 3600, 1e-12, "just south of the equator");
    ok(inf.nonoff == 1 && inf.onoff[0][0] == 10 && inf.onoff[0][1] == 999999, "a pair, no comma");
    ok(!strcmp(inf.notes, "two blanks = 2\nNumber of bins = 5"), "notes are not fields");
    ok(parse_text(&inf,
                  "Number of bins = 5\nWidth of each = 1\nEpoch of observation = "
                  "51000.99999999999999999999\n",
                  &err) == PSR_OK &&
           inf.epoch.day == 51001 && inf.epoch.frac == 0,
       "very many nines are a day");
}

/* The labels of before 2014, which hold an equals sign. */
static void test_old_labels(void)
{
    struct psr_inf inf;
    psr_err err = {.msg = ""};
    ok(parse_text(&inf,
                  " Barycentered?           (1=yes, 0=no)  =  1\n"
                  " Number of bins in the time series      =  8\n"
                  " Width of each time series bin (sec)    =  0.5\n"
                  " Any breaks in the data? (1=yes, 0=no)  =  1\n"
                  " On/Off bin pair #  1                   =  0          , 5\n"
                  " Object being observed                  =  (a = b)\n",
                  &err) == PSR_OK &&
           inf.barycentric && inf.nonoff == 1 && inf.onoff[0][1] == 5 &&
           !strcmp(inf.object, "(a = b)"),
       "labels of before 2014 %s", err.msg);
}

static const char other_start[] =
    " Data file name without suffix          =  a\n"
    " Telescope used                         =  Other\n"
    " Instrument used                        =  I\n"
    " Object being observed                  =  O\n"
    " J2000 Right Ascension (hh:mm:ss.ssss)  =  00:00:00.0000\n"
    " J2000 Declination     (dd:mm:ss.ssss)  =  00:00:00.0000\n"
    " Data observed by                       =  B\n"
    " Epoch of observation (MJD)             =  55000.000000000000000\n"
    " Barycentered?           (1 yes, 0 no)  =  1\n"
    " Number of bins in the time series      =  8          \n"
    " Width of each time series bin (sec)    =  0.5\n"
    " Any breaks in the data? (1 yes, 0 no)  =  0\n"
    " Type of observation (EM band)          =  ";
static const char other_end[] = " Data analyzed by                       =  me\n"
                                " Any additional notes:\n"
                                "    none\n\n";

/* Files of other bands are read, and written again as they were. */
static void test_other_bands(void)
{
    static const char energy[] = " Field-of-view diameter (arcsec)        =  3.25\n"
                                 " Central energy (kev)                   =  1.5\n"
                                 " Energy bandpass (kev)                  =  5.0\n";
    static const char optical[] = " Photometric filter used                =  clear\n"
                                  " Field-of-view diameter (arcsec)        =  3.25\n"
                                  " Central wavelength (nm)                =  500.5\n"
                                  " Bandpass (nm)                          =  300.0\n";
    static const struct {
        const char *name, *lines;
    } bands[] = {{"X-ray", energy},
                 {"Gamma", energy},
                 {"IR", optical},
                 {"Optical", optical},
                 {"UV", optical}};
    for (size_t i = 0; i < sizeof bands / sizeof *bands; i++) {
        struct psr_inf inf;
        psr_err err = {.msg = ""};
        char text[4096];
        const int n = snprintf(text, sizeof text, "%s%s\n%s%s", other_start, bands[i].name,
                               bands[i].lines, other_end);
        ok(parse_text(&inf, text, &err) == PSR_OK && !strcmp(inf.band, bands[i].name) &&
               inf.fov_arcsec == 3.25 && inf.nchan == 1 && inf.dm == 0,
           "%s is read %s", bands[i].name, err.msg);
        ok(same_bytes(&inf, text, (size_t)n), "%s is written as it was", bands[i].name);
    }
}

static void test_artificial(void)
{
    struct psr_inf inf;
    psr_err err = {.msg = ""};
    ok(parse_text(&inf,
                  " Data file name without suffix          =  fake\n"
                  " Telescope used                         =  None (Artificial Data Set)\n"
                  " Number of bins in the time series      =  1024       \n"
                  " Width of each time series bin (sec)    =  0.001\n"
                  " Any breaks in the data? (1 yes, 0 no)  =  0\n",
                  &err) == PSR_OK &&
           inf.nbin == 1024 && inf.nonoff == 0 && !inf.has_epoch,
       "artificial data, which have no epoch");
    char text[INF_TEXT_MAX];
    ok(inf_text(&inf, text) && !strstr(text, "Epoch") && !strstr(text, "Radio") &&
           strstr(text, "analyzed by"),
       "artificial data are written as PRESTO reads them");
}

/* A long text is cut at a whole character. */
static void test_long_text(void)
{
    struct psr_inf inf;
    psr_err err;
    char text[3000] = "Number of bins = 5\nWidth of each = 1\nObject = ";
    for (int i = 0; i < 300; i++)
        strcat(text, "\xc3\xa9");
    strcat(text, "\nAny additional notes:\n");
    for (int i = 0; i < 150; i++)
        strcat(text, "    note\n");
    ok(parse_text(&inf, text, &err) == PSR_OK && strlen(inf.object) == PSR_TEXT_MAX - 2,
       "a long name is cut, at a whole character");
    ok(strlen(inf.notes) < sizeof inf.notes && !strncmp(inf.notes, "note\nnote\n", 10),
       "long notes are cut");
}

struct refusal {
    const char *text;
    psr_status st;
    const char *says;
};

static const struct refusal refusals[] = {
    {"Number of bins = 5\nWidth of each = 1\nAny breaks = 1\n", PSR_EFORMAT,
     "line 3: breaks in the data, but no line 'On/Off bin pair'"},
    {"Number of bins = 5x\n", PSR_EFORMAT, "5x"},
    {"Object = x\nNumber of bins =\n", PSR_EFORMAT, "line 2: Number of bins"},
    {"Number of bins = 5.5\n", PSR_EFORMAT, "5.5"},
    {"Number of bins = -5\n", PSR_EFORMAT, "below"},
    {"Number of bins = 1e300\n", PSR_EFORMAT, "above"},
    {"Number of bins 5\n", PSR_EFORMAT, "'='"},
    {"Number of bins = 5\nNumber of bins = 5\n", PSR_EFORMAT, "line 1 already"},
    {"Number of bins = 5\n", PSR_EFORMAT, "Width of each time series bin"},
    {"Width of each = 1\n", PSR_EFORMAT, "Number of bins in the time series"},
    {"Width of each = 0\nNumber of bins = 5\n", PSR_EFORMAT, "above 0"},
    {"Width of each = nan\n", PSR_EFORMAT, "nan"},
    {"Dispersion measure = inf\n", PSR_EFORMAT, "inf"},
    {"Epoch of observation = 5e4\n", PSR_EFORMAT, "5e4"},
    {"Epoch of observation = \n", PSR_EFORMAT, "Epoch"},
    {"Epoch of observation = -1.5\n", PSR_EFORMAT, "-1.5"},
    {"Epoch of observation = 99999999.5\n", PSR_EFORMAT, "above"},
    {"J2000 Right Ascension = 12:30\n", PSR_EFORMAT, "12:34:56.7"},
    {"J2000 Right Ascension = 25:00:00\n", PSR_EFORMAT, "above 24"},
    {"J2000 Right Ascension = 12:61:00\n", PSR_EFORMAT, "above 60"},
    {"J2000 Right Ascension = ::\n", PSR_EFORMAT, "12:34:56.7"},
    {"J2000 Declination = -90:00:01\n", PSR_EFORMAT, "out of range"},
    {"J2000 Declination = +-3:00:01\n", PSR_EFORMAT, "+-3"},
    {"On/Off bin pair #  1 = 5 , 3\n", PSR_EFORMAT, "ascend"},
    {"On/Off bin pair #  1 = 5\n", PSR_EFORMAT, "not a number"},
    {"On/Off bin pair #  1 = 0 , 3\nOn/Off bin pair # 2 = 3 , 4\n", PSR_EFORMAT, "line 2"},
    {"On/Off bin pair = 0 , 5\nNumber of bins = 5\nWidth of each = 1\n", PSR_EFORMAT, "beyond"},
    {"Type of observation (EM band) = Sound\n", PSR_EUNSUPPORTED, "Sound"},
    {"Number of channels = 1e12\n", PSR_EFORMAT, "above"},
    {"Barycentered? = yes\n", PSR_EFORMAT, "yes"},
    {"", PSR_EFORMAT, "Number of bins"},
};

static void test_refusals(void)
{
    struct psr_inf inf;
    psr_err err;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *r = &refusals[i];
        err.msg[0] = '\0';
        psr_status st = parse_text(&inf, r->text, &err);
        ok(st == r->st && strstr(err.msg, r->says) && strstr(err.msg, "x.inf"), "refused: %s",
           err.msg);
    }
    ok(psr_inf_parse(&inf, "a\0b", 3, "x.inf", &err) == PSR_EFORMAT, "refused: %s", err.msg);
    char text[4096] = "";
    for (int i = 0; i < 41; i++)
        snprintf(text + strlen(text), 60, "On/Off bin pair #%3d = %d , %d\n", i + 1, 2 * i, 2 * i);
    ok(parse_text(&inf, text, &err) == PSR_EFORMAT && strstr(err.msg, "line 41") &&
           strstr(err.msg, "40"),
       "refused: %s", err.msg);
    ok(psr_inf_read(&inf, scratch("none.inf"), &err) == PSR_EIO && strstr(err.msg, "none.inf"),
       "refused: %s", err.msg);
    ok(psr_inf_read(&inf, scratch_dir, &err) == PSR_EIO, "refused: %s", err.msg);
    for (int digits = 79; digits <= 80; digits++) {
        snprintf(text, sizeof text, " Width of each time series bin (sec)    =  %0*d\n", digits, 1);
        *err.msg = '\0';
        psr_status st = parse_text(&inf, text, &err);
        bool refused = st == PSR_EFORMAT && strstr(err.msg, "too long for a number");
        ok(refused == (digits == 80), "a number of %d characters", digits);
    }
    FILE *f = fopen(scratch("long.inf"), "w");
    for (int i = 0; f && i < 1100; i++)
        fprintf(f, "%1023d\n", i);
    if (f)
        fclose(f);
    ok(psr_inf_read(&inf, scratch("long.inf"), &err) == PSR_EFORMAT, "refused: %s", err.msg);
}

static void random_text(uint64_t *random, char *text)
{
    static const char letters[] = "abcXYZ019 _-=:,./#()%s\xc3\xa9";
    int n = (int)tap_between(random, 1, 60);
    for (int i = 0; i < n; i++)
        text[i] = letters[tap_between(random, 0, sizeof letters - 2)];
    text[0] = text[n - 1] = 'x';
    text[n] = '\0';
}

static void random_notes(uint64_t *random, char *notes)
{
    *notes = '\0';
    for (int64_t left = tap_between(random, 0, 6); left > 0; left--) {
        char line[64] = "";
        if (tap_between(random, 0, 2))
            random_text(random, line);
        sprintf(notes + strlen(notes), "%s%s", left % 2 ? "" : "  ", *line ? line : "");
        strcat(notes, "\n");
    }
}

static void random_inf(uint64_t *random, struct psr_inf *inf)
{
    memset(inf, 0, sizeof *inf);
    char *const text[] = {inf->name,   inf->telescope, inf->instrument,
                          inf->object, inf->observer,  inf->analyst};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        random_text(random, text[i]);
    random_notes(random, inf->notes);
    inf->ra_deg = 360 * tap_uniform(random);
    inf->dec_deg = 180 * tap_uniform(random) - 90;
    inf->epoch = (struct psr_mjd){tap_between(random, 0, 99999), tap_uniform(random)};
    if (tap_between(random, 0, 9) == 0)
        inf->epoch.frac = 1 - 0x1p-53;
    inf->barycentric = tap_between(random, 0, 1);
    inf->tbin_s = exp(40 * tap_uniform(random) - 30);
    inf->nonoff = (int)tap_between(random, 0, 3) ? 0 : (int)tap_between(random, 1, 40);
    for (int i = 0; i < inf->nonoff; i++) {
        inf->onoff[i][0] = i ? inf->onoff[i - 1][1] + tap_between(random, 1, 1 << 20) : 0;
        inf->onoff[i][1] = inf->onoff[i][0] + tap_between(random, 0, INT64_C(1) << 40);
    }
    inf->nbin =
        inf->nonoff ? inf->onoff[inf->nonoff - 1][1] + 1 : tap_between(random, 0, INT64_C(1) << 50);
    inf->beam_arcsec = 1e5 * tap_uniform(random);
    inf->dm = 1e4 * tap_uniform(random) - 10;
    inf->lowest_mhz = 1e4 * tap_uniform(random);
    inf->bandwidth_mhz = 1e3 * tap_uniform(random);
    inf->nchan = (long)tap_between(random, 1, 1 << 20);
    inf->chan_width_mhz = tap_uniform(random);
}

/* To the precision that is written. */
static bool same_contents(const struct psr_inf *a, const struct psr_inf *b)
{
    double epochs = (double)(a->epoch.day - b->epoch.day) + (a->epoch.frac - b->epoch.frac);
    double turn = remainder(a->ra_deg - b->ra_deg, 360);
    return !strcmp(a->name, b->name) && !strcmp(a->telescope, b->telescope) &&
           !strcmp(a->instrument, b->instrument) && !strcmp(a->object, b->object) &&
           !strcmp(a->observer, b->observer) && !strcmp(a->analyst, b->analyst) &&
           !strcmp(a->notes, b->notes) && fabs(turn) < 2.2e-7 &&
           fabs(a->dec_deg - b->dec_deg) < 1.5e-8 && fabs(epochs) < 6e-16 && b->epoch.frac >= 0 &&
           b->epoch.frac < 1 && a->barycentric == b->barycentric && a->nbin == b->nbin &&
           fabs(a->tbin_s / b->tbin_s - 1) < 1e-14 && a->nonoff == b->nonoff &&
           !memcmp(a->onoff, b->onoff, sizeof a->onoff) &&
           fabs(a->beam_arcsec - b->beam_arcsec) <= 0.5 && fabs(a->dm - b->dm) < 1e-8 &&
           fabs(a->lowest_mhz - b->lowest_mhz) < 1e-8 &&
           fabs(a->bandwidth_mhz - b->bandwidth_mhz) < 1e-8 && a->nchan == b->nchan &&
           fabs(a->chan_width_mhz - b->chan_width_mhz) < 1e-11;
}

static void test_round_trip(uint64_t *random)
{
    bool all = true;
    for (int i = 0; i < 2000 && all; i++) {
        struct psr_inf from, to;
        psr_err err = {.msg = ""};
        char text[INF_TEXT_MAX];
        random_inf(random, &from);
        size_t n = inf_text(&from, text);
        all = n && psr_inf_parse(&to, text, n, "x.inf", &err) == PSR_OK &&
              same_contents(&from, &to) && same_bytes(&to, text, n);
        if (!all)
            diag("round %d: %s\n%s", i, err.msg, text);
    }
    ok(all, "random contents survive writing and reading, and then writing again bit by bit");
}

static void test_awkward_values(void)
{
    struct psr_inf inf = {.name = "a\nb", .telescope = "  ", .nbin = 1, .tbin_s = 1};
    char text[INF_TEXT_MAX];
    inf.ra_deg = 360 - 1e-12;
    inf.dec_deg = -1e-12;
    inf.epoch = (struct psr_mjd){50000, 1 - 0x1p-53};
    ok(inf_text(&inf, text) && strstr(text, "=  a?b\n"),
       "a line break in a name stays in its line");
    ok(strstr(text, "Telescope used                         =  Unknown\n"), "a blank is Unknown");
    ok(strstr(text, "=  00:00:00.0000\n J2000 Decl"), "a full turn is none");
    ok(strstr(text, "ss.ssss)  =  00:00:00.0000\n Data observed"), "there is no -0");
    ok(strstr(text, "=  50001.000000000000000\n"), "a fraction may round to a day");
}

struct date {
    struct psr_mjd mjd;
    const char *text;
};

static void test_dates(void)
{
    static const struct date dates[] = {
        {{50000, 0}, "1995-10-10T00:00:00."},
        {{51603, 0.5}, "2000-02-29T12:00:00."},
        {{51604, 0}, "2000-03-01T00:00:00."},
        {{15078, 0}, "1900-02-28T00:00:00."},
        {{15079, 0}, "1900-03-01T00:00:00."},
        {{0, 0}, "1858-11-17T00:00:00."},
        {{59313, 0.309837974340741}, "2021-04-09T07:26:10.001."},
        {{60676, 9.5 / 86400}, "2025-01-01T00:00:09.5."},
        {{60675, 1 - 1e-12}, "2025-01-01T00:00:00."},
        {{60675, 0.5 - 1e-12}, "2024-12-31T12:00:00."},
        {{60675, 5e-7 / 86400}, "2024-12-31T00:00:00."},
    };
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        struct psr_obs obs;
        struct psr_inf inf;
        psr_obs_init(&obs);
        obs.nchan = 1;
        obs.fch1_mhz = 1400;
        obs.tstart = dates[i].mjd;
        psr_inf_from_obs(&inf, &obs, 8);
        ok(strstr(inf.notes, dates[i].text) != NULL, "MJD %ld + %g is %s", dates[i].mjd.day,
           dates[i].mjd.frac, dates[i].text);
        if (i == 0)
            ok(*inf.analyst && !inf.nbin && inf.epoch.day == 50000, "someone analysed the data");
    }
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    for (int i = 0; i < NGOLDEN; i++)
        test_golden(&goldens[i]);
    test_values();
    test_liberal();
    test_old_labels();
    test_other_bands();
    test_artificial();
    test_long_text();
    test_refusals();
    test_round_trip(&random);
    test_awkward_values();
    test_dates();
    return done_testing();
}
