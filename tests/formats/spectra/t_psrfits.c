/* psrfits: values and headers of search-mode files against a plain evaluation of what was written.
 */
#include "tests/support/fits_check.h"

static void check_values(const struct fits_spec *s, const struct psr_source_desc *desc, int nbit,
                         enum psr_kind kind, uint64_t *seed, const char *what)
{
    psr_err err;
    struct psr_reader *r = open_spec(s, desc, &err);
    if (!ok(r != NULL, "%s: opens", what))
        return;
    double tol = kind == PSR_FLOAT ? 4 * 0x1p-24 : 0;
    int64_t from = tap_between(seed, 0, r->obs.nsamp);
    double *x = read_all(r, 0, seed, &err);
    bool good = x && same_as_naive(s, desc, &r->obs, x, 0, tol);
    free(x);
    x = r->ops->seek(r, from, &err) ? NULL : read_all(r, from, seed, &err);
    good = good && x && same_as_naive(s, desc, &r->obs, x, from, tol);
    free(x);
    ok(good && r->obs.nsamp == s->nrow * s->nsblk, "%s: values", what);
    ok(r->obs.nbit == nbit && r->obs.kind == kind && r->file_nbit == s->nbit,
       "%s: blocks of %d bits, kind %d", what, r->obs.nbit, (int)r->obs.kind);
    r->ops->close(r);
}

static void test_depths(uint64_t *seed)
{
    static const struct {
        int nbit;
        bool is_signed;
        const char *pol_type;
        int npol, choice, block_nbit;
        enum psr_kind kind;
    } cases[] = {
        {1, false, "AA+BB", 1, -1, 1, PSR_UINT},     {2, false, "AA+BB", 1, -1, 2, PSR_UINT},
        {4, false, "INTEN", 1, -1, 4, PSR_UINT},     {8, false, "INTEN", 1, -1, 8, PSR_UINT},
        {8, true, "AA+BB", 1, -1, 8, PSR_INT},       {16, true, "AA+BB", 1, -1, 16, PSR_INT},
        {32, false, "AA+BB", 1, -1, 32, PSR_FLOAT},  {1, false, "AABB", 2, -1, 2, PSR_UINT},
        {2, false, "AABB", 2, -1, 4, PSR_UINT},      {4, false, "AABBCRCI", 4, -1, 8, PSR_UINT},
        {8, false, "AABBCRCI", 4, -1, 16, PSR_UINT}, {8, true, "AABB", 2, -1, 16, PSR_INT},
        {16, true, "AABB", 2, -1, 32, PSR_FLOAT},    {32, false, "AABB", 2, -1, 32, PSR_FLOAT},
        {4, false, "IQUV", 4, -1, 4, PSR_UINT},      {8, false, "IQUV", 4, 2, 8, PSR_UINT},
        {2, false, "AABBCRCI", 4, 3, 2, PSR_UINT},   {16, true, "IQUV", 4, 1, 16, PSR_INT},
        {4, true, "AA+BB", 1, -1, 8, PSR_INT},       {2, true, "AABB", 2, -1, 8, PSR_INT},
    };
    char what[80];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int odd = 0; odd < 2; odd++) {
            struct fits_spec s = fits_random_spec(seed, odd ? 13 : 48, cases[i].npol, cases[i].nbit,
                                                  cases[i].is_signed);
            struct psr_source_desc desc = description();
            s.pol_type = cases[i].pol_type;
            desc.if_choice = cases[i].choice;
            snprintf(what, sizeof what, "%d bits%s, %s, choice %d, %zu channels", s.nbit,
                     s.is_signed ? " signed" : "", s.pol_type, desc.if_choice, s.nchan);
            check_values(&s, &desc, cases[i].block_nbit, cases[i].kind, seed, what);
            fits_spec_free(&s);
        }
}

/* Samples stored otherwise than the depth alone tells. */
static void test_storage(uint64_t *seed)
{
    static const struct {
        int nbit;
        bool is_signed;
        char letter;
        const char *edit;
        float shift;
        size_t mix;
        enum psr_kind kind;
    } cases[] = {
        {16, true, 'I', "TZERO2=32768", 32768, 0, PSR_UINT},
        {16, true, 'B', NULL, 0, 0, PSR_INT},
        {8, false, 'B', "TZERO2=-128", -128, 0, PSR_INT},
        {1, false, 'X', NULL, 0, 0, PSR_UINT},
        {4, false, 'X', NULL, 0, 0, PSR_UINT},
        {1, false, 'B', "BACKEND='FB_1BIT'", 0, 7, PSR_UINT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fits_spec s = fits_random_spec(seed, 48, 1, cases[i].nbit, cases[i].is_signed);
        struct psr_source_desc desc = description();
        char what[80];
        s.letter = cases[i].letter;
        s.edit = cases[i].edit;
        s.shift = cases[i].shift;
        s.mix = cases[i].mix;
        snprintf(what, sizeof what, "%d bits in column %c, %s", s.nbit, s.letter,
                 s.edit ? s.edit : "no edit");
        check_values(&s, &desc, s.nbit, cases[i].kind, seed, what);
        fits_spec_free(&s);
    }
}

static void test_scaling(uint64_t *seed)
{
    static const int nbits[] = {1, 2, 4, 8, 16, 32};
    char what[80];
    for (size_t i = 0; i < sizeof nbits / sizeof *nbits; i++)
        for (int flags = 0; flags < 8; flags++) {
            struct fits_spec s = fits_random_spec(seed, 24, 4, nbits[i], nbits[i] == 16);
            struct psr_source_desc desc = description();
            s.pol_type = flags & 1 ? "AABBCRCI" : "IQUV";
            s.zero_off = flags & 2 ? 7.5 : -0.5;
            fits_random_scaling(&s, seed);
            desc.no_scales = flags & 1;
            desc.no_offsets = flags & 2;
            desc.no_weights = flags & 4;
            snprintf(what, sizeof what, "scaled %d bits %s, flags %d", s.nbit, s.pol_type, flags);
            check_values(&s, &desc, 32, PSR_FLOAT, seed, what);
            fits_spec_free(&s);
        }
    struct fits_spec s = fits_random_spec(seed, 24, 2, 8, false);
    struct psr_source_desc desc = description();
    fits_random_scaling(&s, seed);
    s.pol_type = "AABB";
    desc.no_scales = desc.no_offsets = desc.no_weights = true;
    check_values(&s, &desc, 16, PSR_UINT, seed, "all scaling refused");
    desc = description();
    s.short_scales = true;
    check_values(&s, &desc, 32, PSR_FLOAT, seed, "scales of a channel for both polarisations");
    s.short_scales = false;
    s.edit = "TZERO5=2.5"; /* of DAT_OFFS */
    s.offs_shift = 2.5;
    check_values(&s, &desc, 32, PSR_FLOAT, seed, "offsets with a TZERO alone");
    s.edit = "TSCAL5=-3";
    s.offs_shift = 0;
    s.offs_scale = -3;
    check_values(&s, &desc, 32, PSR_FLOAT, seed, "offsets with a TSCAL alone");
    fits_spec_free(&s);
}

/* A channel of which a scale, an offset or a weight is no number is as one of weight 0. */
static void test_no_numbers(uint64_t *seed)
{
    psr_err err;
    struct fits_spec s = fits_random_spec(seed, 24, 2, 8, false);
    struct psr_source_desc desc = description();
    fits_random_scaling(&s, seed);
    s.pol_type = "AABB";
    float *const scl = &s.scl[3 + 24], *const offs = &s.offs[5 + 2 * 24],
                 *const wts = &s.wts[24 + 7];
    const float were[3] = {*scl, *offs, *wts};
    *scl = NAN, *offs = -INFINITY, *wts = INFINITY; /* channels 3 and 5 of rows 1 and 2, 7 of 2 */
    struct psr_reader *r = open_spec(&s, &desc, &err);
    double *x = r ? read_all(r, 0, seed, &err) : NULL;
    *scl = were[0], *offs = were[1], *wts = were[2];
    s.wts[3] = s.wts[24 + 5] = s.wts[24 + 7] = 0;
    ok(x && same_as_naive(&s, &desc, &r->obs, x, 0, 1e-6), "scaling that is no number");
    ok(strstr(noted, "row 1: DAT_SCL of 1 channels: no numbers") != NULL, "and it is told: %s",
       noted);
    free(x);
    if (r)
        r->ops->close(r);
    fits_spec_free(&s);
}

/* Rows without a scaled channel hold no data, whatever their weights say. */
static void test_broken_rows(uint64_t *seed)
{
    static const char *const column[] = {"DAT_SCL", "DAT_OFFS", "DAT_WTS"};
    for (int k = 0; k < 3; k++) {
        psr_err err = {.msg = ""};
        struct fits_spec s = fits_random_spec(seed, 16, 1, 8, false);
        struct psr_source_desc desc = description();
        const size_t n = (size_t)s.nrow * s.nchan;
        fits_random_scaling(&s, seed);
        float *const x = k == 0 ? s.scl : k == 1 ? s.offs : s.wts;
        for (size_t i = 0; i < n; i++) {
            s.wts[i] = 1;
            x[i] = i < s.nchan ? NAN : 1;
        }
        struct psr_reader *r = open_spec(&s, &desc, &err);
        char words[100];
        snprintf(words, sizeof words, "1 of %d rows hold no data: their %s are no numbers",
                 (int)s.nrow, column[k]);
        ok(r && strstr(noted, words) && !strstr(noted, "weight 0"), "%s %s", noted, err.msg);
        if (r)
            r->ops->close(r);
        for (size_t i = 0; i < n; i++)
            x[i] = NAN;
        r = open_spec(&s, &desc, &err);
        snprintf(words, sizeof words, "no row holds data: %s of %d are no numbers", column[k],
                 (int)s.nrow);
        ok(!r && err.code == PSR_EFORMAT && strstr(err.msg, words), "refused: %s", err.msg);
        if (r)
            r->ops->close(r);
        fits_spec_free(&s);
    }
}

static void test_header(uint64_t *seed)
{
    psr_err err;
    struct psr_source_desc desc = description();
    struct fits_spec s = fits_random_spec(seed, 16, 1, 8, false);
    fits_random_scaling(&s, seed);
    struct psr_reader *r = open_spec(&s, &desc, &err);
    if (!ok(r != NULL, "a plain file"))
        return;
    const struct psr_obs *o = &r->obs;
    ok(o->tstart.day == 59000 && o->nchan == 16 && o->nif == 1 && o->tsamp_s == 0.001 &&
           o->block_nsamp == s.nsblk,
       "sizes");
    near(o->tstart.frac * 86400, 43200.25, 2e-11, "date");
    near(o->ra_deg, 15 * (5 + 34 / 60. + 31.5 / 3600), 1e-12, "right ascension");
    near(o->dec_deg, -(30 / 60. + 36. / 3600), 1e-12, "declination between -1 and 0");
    ok(o->has_position && !strcmp(o->telescope, "Parkes") && o->telescope_id == 4 &&
           !strcmp(o->instrument, "BACK") && !strcmp(o->source, "B0531+21") &&
           !strcmp(o->poln, "2 polns were summed") && !strcmp(o->observer, "unset"),
       "texts");
    ok(!o->freq_mhz && o->fch1_mhz == 1500 && o->foff_mhz == -0.5, "descending frequencies");
    ok(o->az_deg == 123.25 && o->za_deg == 45.5, "azimuth and zenith angle of the first row");
    ok(!strcmp(noted, ""), "nothing to remark");
    r->ops->close(r);

    s.foff_mhz = 0.25;
    s.edit = "OBSFREQ=900";
    desc = description();
    r = open_spec(&s, &desc, &err);
    ok(r && !r->obs.freq_mhz && r->obs.foff_mhz == 0.25 && r->obs.fch1_mhz == 1500,
       "ascending frequencies");
    ok(strstr(noted, "OBSFREQ = 900") != NULL, "a disagreement is remarked");
    if (r)
        r->ops->close(r);
    s.edit = NULL;
    s.freq_step = 7;
    r = open_spec(&s, &desc, &err);
    ok(r && r->obs.freq_mhz && r->obs.freq_mhz[7] == 1500 + 7 * 0.25 + 5 &&
           r->obs.freq_mhz[6] == 1501.5,
       "irregular frequencies");
    if (r)
        r->ops->close(r);
    s.freq_step = 0;
    s.edit = "OBSFREQ=900";
    s.foff_mhz = -100; /* to 0 MHz: a table is missing only where both its ends are 0 */
    desc = description();
    r = open_spec(&s, &desc, &err);
    ok((r || strstr(err.msg, "0 MHz")) && strstr(noted, "OBSFREQ = 900") &&
           !strstr(noted, "is missing or 0"),
       "a table that ends at 0 MHz is used: %s", r ? "taken" : err.msg);
    if (r)
        r->ops->close(r);
    fits_spec_free(&s);
}

/* Names of telescopes become PRESTO's, however they are written; others stay. */
static void test_telescopes(uint64_t *seed)
{
    static const char *const names[][2] = {
        {"ARECIBO 305m", "Arecibo"}, {"ao", "Arecibo"},     {"PKS", "Parkes"},
        {"murriyang", "Parkes"},     {"GREEN BANK", "GBT"}, {"nrt", "Nancay"},
        {"Jodrell Bank", "Jodrell"}, {"LOVELL", "Jodrell"}, {"Effelsberg 100m", "Effelsberg"},
        {"EFF", "Effelsberg"},       {"JVLA", "VLA"},       {"evla", "VLA"},
        {"parkes", "Parkes"},        {"Green", "Green"},    {"AOX", "AOX"},
    };
    int wrong = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char edit[80];
        psr_err err;
        struct psr_source_desc desc = description();
        struct fits_spec s = fits_random_spec(seed, 16, 1, 8, false);
        snprintf(edit, sizeof edit, "TELESCOP='%s'", names[k][0]);
        s.edit = edit;
        struct psr_reader *r = open_spec(&s, &desc, &err);
        bool right = r && !strcmp(r->obs.telescope, names[k][1]) &&
                     r->obs.telescope_id == psr_telescope_id(names[k][1]);
        if (!right)
            diag("%s is %s, not %s", names[k][0], r ? r->obs.telescope : err.msg, names[k][1]);
        wrong += !right;
        if (r)
            r->ops->close(r);
        fits_spec_free(&s);
    }
    ok(wrong == 0, "names of telescopes");
}

static void test_errors(uint64_t *seed)
{
    static const struct {
        const char *edit;
        psr_status code;
        const char *message;
    } cases[] = {
        {"OBS_MODE='PSR'", PSR_EFORMAT, "OBS_MODE is 'PSR'"},
        {"FITSTYPE='OTHER'", PSR_EFORMAT, "FITSTYPE"},
        {"EXTNAME='OTHER'", PSR_EFORMAT, "no SUBINT table"},
        {"NCHAN=0", PSR_EFORMAT, "NCHAN = 0"},
        {"NCHAN='*'", PSR_EFORMAT, "NCHAN is missing"},
        {"NCHAN=17", PSR_EFORMAT, "DATA holds"},
        {"NBITS=3", PSR_EFORMAT, "NBITS = 3"},
        {"NBITS=16", PSR_EFORMAT, "DATA holds"},
        {"NBITS='a text of more than 29 characters'", PSR_EFORMAT, "NBITS is missing or no whole"},
        {"NBITS=8.0", PSR_OK, ""},
        {"NBITS=1e300", PSR_EFORMAT, "NBITS is missing or no whole"},
        {"NBITS=32", PSR_EUNSUPPORTED, "DATA is of type B"},
        {"NBITS=4", PSR_EFORMAT, "NBITS = 4, but DATA holds 8 bits for each"},
        {"NBITS=1", PSR_EFORMAT, "NBITS = 1, but DATA holds 8 bits for each"},
        {"NCHAN=8", PSR_EFORMAT, "but DATA holds 16 bits for each"},
        {"NCHAN=15", PSR_EFORMAT, "NCHAN = 15, but DATA and DAT_FREQ hold 16 channels"},
        {"NSBLK=7", PSR_OK, "the rest is left out"},
        {"ZERO_OFF=1e300", PSR_EFORMAT, "ZERO_OFF = 1e+300, must be at most"},
        {"ZERO_OFF=-2e7", PSR_EFORMAT, "ZERO_OFF = 2e+07"},
        {"ZERO_OFF=127.5", PSR_OK, ""},
        {"CHAN_DM=1e300", PSR_OK, "CHAN_DM = 1e+300 is no DM"},
        {"+NCHAN=32", PSR_EFORMAT, "NCHAN is 16., and it is 32"},
        {"+NCHAN=16", PSR_OK, ""},
        {"+NCHAN=1.6E1", PSR_OK, ""},
        {"+POL_TYPE='AABB'", PSR_EFORMAT, "POL_TYPE is AA+BB, and it is AABB"},
        {"+POL_TYPE='AA+BB'", PSR_OK, ""},
        {"+STT_IMJD=59001", PSR_EFORMAT, "STT_IMJD is 59000., and it is 59001"},
        {"TTYPE3='DATA'", PSR_EFORMAT, "more than one column DATA"},
        {"TTYPE3='DAT_WTS'", PSR_EFORMAT, "more than one column DAT_WTS"},
        {"NSBLK=0", PSR_EFORMAT, "NSBLK = 0"},
        {"TBIN=0", PSR_EFORMAT, "TBIN = 0"},
        {"NPOL=17", PSR_EFORMAT, "NPOL = 17"},
        {"TTYPE2='XDATA'", PSR_EFORMAT, "no column DATA"},
        {"TSCAL2=2", PSR_EUNSUPPORTED, "TSCAL 2"},
        {"TTYPE3='X'", PSR_OK, "DAT_FREQ is missing"},
        {"TTYPE4='X'", PSR_OK, "no DAT_WTS"},
        {"NCHNOFFS='*'", PSR_OK, ""},
        {"STT_IMJD='*'", PSR_OK, "no STT_IMJD"},
        {"RA='x'", PSR_OK, "no position"},
        {"RA='24:00:01'", PSR_OK, "no position"},
        {"DEC='-90:00:01'", PSR_OK, "no position"},
        {"TELESCOP='Elsewhere'", PSR_OK, ""},
    };
    psr_err err;
    struct fits_spec s = fits_random_spec(seed, 16, 1, 8, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct psr_source_desc desc = description();
        struct psr_reader *r;
        s.edit = cases[i].edit;
        const char *file = scratch("x.fits");
        fits_write_spec(file, &s);
        psr_status code = psr_psrfits_open(&r, file, &desc, &err);
        const char *said = code ? err.msg : noted;
        ok(code == cases[i].code && !r == (code != PSR_OK) && strstr(said, cases[i].message),
           "%s: %s", cases[i].edit, code ? err.msg : "read all the same");
        if (r)
            r->ops->close(r);
    }
    s.edit = NULL;
    fits_spec_free(&s);
}

/* Opens the spec, which must fail with that code and message. */
static void refuse(const struct fits_spec *s, int choice, psr_status code, const char *message)
{
    psr_err err;
    struct psr_source_desc desc = description();
    desc.if_choice = choice;
    struct psr_reader *r = open_spec(s, &desc, &err);
    ok(!r && err.code == code && strstr(err.msg, message), "refused: %s", message);
    if (r)
        r->ops->close(r);
}

/* Rows of a receiver that was tuned meanwhile. */
static void test_moved(uint64_t *seed)
{
    psr_err err;
    struct psr_source_desc desc = description();
    struct fits_spec s = fits_random_spec(seed, 16, 1, 8, false);
    s.moved_row = 3;
    s.moved_mhz = -100;
    refuse(&s, -1, PSR_EFORMAT, "row 3: DAT_FREQ of channel 0 = 1400 MHz, must be that of row 1");
    s.moved_mhz = 0.2 * s.foff_mhz;
    refuse(&s, -1, PSR_EFORMAT, "row 3: DAT_FREQ");
    s.moved_mhz = 0.01 * s.foff_mhz;
    struct psr_reader *r = open_spec(&s, &desc, &err);
    ok(r != NULL, "a hundredth of a channel is not moved");
    if (r)
        r->ops->close(r);
    s.moved_mhz = -100;
    desc.as_presto = true;
    r = open_spec(&s, &desc, &err);
    ok(r && strstr(noted, "row 3: DAT_FREQ") && psr_obs_freq_mhz(&r->obs, 0) == 1500,
       "as PRESTO: those of row 1, and a note");
    if (r)
        r->ops->close(r);
    /* Nobody looks at rows that are left out. */
    desc.as_presto = false;
    float *weight = calloc((size_t)s.nrow * s.nchan, sizeof *weight);
    for (size_t k = 0; weight && k < 2 * s.nchan; k++)
        weight[k] = 1;
    s.wts = weight;
    r = open_spec(&s, &desc, &err);
    ok(r != NULL, "rows of weight 0 may be anywhere");
    if (r)
        r->ops->close(r);
    fits_spec_free(&s);
}

static void test_refusals(uint64_t *seed)
{
    double middle[FITS_ROWS_MAX];
    psr_err err;
    struct psr_reader *r;
    struct psr_source_desc desc = description();
    struct fits_spec s = fits_random_spec(seed, 16, 4, 8, false);
    s.pol_type = "IQUV";
    refuse(&s, 4, PSR_EINVAL, "IF = 4, must be 0 to 3");
    s.pol_type = "ODD";
    refuse(&s, -1, PSR_EUNSUPPORTED, "POL_TYPE 'ODD'");
    s.pol_type = "IQUV";
    for (int64_t i = 0; i < s.nrow; i++)
        middle[i] = ((double)i + 0.5) * 0.001 * (double)s.nsblk;
    s.middle_s = middle;
    middle[2] = middle[1] - 0.001;
    refuse(&s, -1, PSR_EFORMAT, "row 3: OFFS_SUB");
    middle[2] = INFINITY;
    refuse(&s, -1, PSR_EFORMAT, "is no time");
    s.middle_s = NULL;
    float *zero = calloc((size_t)s.nrow * s.nchan, sizeof *zero);
    s.wts = zero;
    refuse(&s, -1, PSR_EFORMAT, "DAT_WTS is 0 in every row");
    s.wts = NULL;
    free(zero);
    memset(s.raw, 0, fits_index(&s, s.nrow, 0, 0, 0) * sizeof *s.raw);
    refuse(&s, -1, PSR_EFORMAT, "DATA is 0 throughout");
    fits_spec_free(&s);
    ok(psr_psrfits_open(&r, "-", &desc, &err) == PSR_EUNSUPPORTED, "standard input: %s", err.msg);
    ok(psr_psrfits_open(&r, scratch_dir, &desc, &err) == PSR_EUNSUPPORTED,
       "a folder: no regular file");
    ok(psr_psrfits_open(&r, "/nowhere/x.fits", &desc, &err) == PSR_EIO, "%s", err.msg);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_no_numbers(&seed);
    test_broken_rows(&seed);
    test_header(&seed);
    test_telescopes(&seed);
    test_depths(&seed);
    test_storage(&seed);
    test_scaling(&seed);
    test_errors(&seed);
    test_refusals(&seed);
    test_moved(&seed);
    return done_testing();
}
