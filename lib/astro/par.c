/* Reads .par files: what their lines say. */
#include "formats/spectra/header_keys.h"
#include "par_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- parameters ------------------------------------------------------------------------------- */

/* Numbers; what is above 1e-7 counts in units of 1e-12 where is_scaled, as in TEMPO2. */
static const struct number {
    const char *name;
    enum par_key key;
    double unit, min, max;
    bool is_scaled;
} numbers[] = {
    {"P0", PAR_P0, 1, 1e-5, 1e6, false},
    {"P", PAR_P0, 1, 1e-5, 1e6, false},
    {"P1", PAR_P1, 1, -1, 1, false},
    {"PEPOCH", PAR_PEPOCH, 1, 0, 1e6, false},
    {"START", PAR_START, 1, 0, 1e6, false},
    {"FINISH", PAR_FINISH, 1, 0, 1e6, false},
    {"ELONG", PAR_ELONG, 1, -360, 360, false},
    {"LAMBDA", PAR_ELONG, 1, -360, 360, false},
    {"ELAT", PAR_ELAT, 1, -90, 90, false},
    {"BETA", PAR_ELAT, 1, -90, 90, false},
    {"PMRA", PAR_PMRA, 1, -1e5, 1e5, false},
    {"PMDEC", PAR_PMDEC, 1, -1e5, 1e5, false},
    {"PMELONG", PAR_PMELONG, 1, -1e5, 1e5, false},
    {"PMLAMBDA", PAR_PMELONG, 1, -1e5, 1e5, false},
    {"PMELAT", PAR_PMELAT, 1, -1e5, 1e5, false},
    {"PMBETA", PAR_PMELAT, 1, -1e5, 1e5, false},
    {"POSEPOCH", PAR_POSEPOCH, 1, 0, 1e6, false},
    {"DM", PAR_DM, 1, 0, 1e6, false},
    {"DM1", PAR_DM1, 1, -1e6, 1e6, false},
    {"DM2", PAR_DM2, 1, -1e6, 1e6, false},
    {"DM3", PAR_DM3, 1, -1e6, 1e6, false},
    {"DMEPOCH", PAR_DMEPOCH, 1, 0, 1e6, false},
    {"PB", PAR_PB, 86400, 1e-6, 1e6, false},
    {"FB0", PAR_FB0, 1, 1e-12, 1e3, false},
    {"FB1", PAR_FB1, 1, -1, 1, false},
    {"PBDOT", PAR_PBDOT, 1, -1e6, 1e6, true},
    {"A1", PAR_A1, 1, 0, 1e6, false},
    {"XDOT", PAR_XDOT, 1, -1e6, 1e6, true},
    {"A1DOT", PAR_XDOT, 1, -1e6, 1e6, true},
    {"ECC", PAR_ECC, 1, 0, 0.9999999, false},
    {"E", PAR_ECC, 1, 0, 0.9999999, false},
    {"EDOT", PAR_EDOT, 1, -1e6, 1e6, true},
    {"OM", PAR_OM, 1, -720, 720, false},
    {"OMDOT", PAR_OMDOT, M_PI / 180 / (365.25 * 86400), -1e6, 1e6, false},
    {"T0", PAR_T0, 1, 0, 1e6, false},
    {"TASC", PAR_TASC, 1, 0, 1e6, false},
    {"EPS1", PAR_EPS1, 1, -1, 1, false},
    {"EPS2", PAR_EPS2, 1, -1, 1, false},
    {"EPS1DOT", PAR_EPS1DOT, 1, -1e6, 1e6, true},
    {"EPS2DOT", PAR_EPS2DOT, 1, -1e6, 1e6, true},
    {"M2", PAR_M2, 1, -1e3, 1e6, false},
    {"SINI", PAR_SINI, 1, -1, 1, false},
    {"SHAPMAX", PAR_SHAPMAX, 1, -100, 100, false},
    {"H3", PAR_H3, 1, -1, 1, false},
    {"H4", PAR_H4, 1, -1, 1, false},
    {"STIG", PAR_STIG, 1, -1, 1, false},
    {"STIGMA", PAR_STIG, 1, -1, 1, false},
    {"VARSIGMA", PAR_STIG, 1, -1, 1, false},
    {"GAMMA", PAR_GAMMA, 1, -1e3, 1e3, false},
    {"DR", PAR_DR, 1, -1, 1, false},
    {"DTHETA", PAR_DTHETA, 1, -1, 1, false},
    {"DTH", PAR_DTHETA, 1, -1, 1, false},
    {"A0", PAR_A0, 1, -1e3, 1e3, false},
    {"B0", PAR_B0, 1, -1e3, 1e3, false},
    {"KIN", PAR_KIN, 1, -360, 360, false},
    {"KOM", PAR_KOM, 1, -720, 720, false},
};

/* What neither changes during an observation, nor by PSR_EPHEMERIS_TURNS: names, and their starts.
 * A parallax of 10 mas moves the phase of a 1-ms pulsar by 0.01 turns in a year. */
static const char *const skipped[] = {
    "EPHEM",
    "CLK",
    "CLOCK",
    "TIMEEPH",
    "T2CMETHOD",
    "CORRECT_TROPOSPHERE",
    "PLANET_SHAPIRO",
    "DILATEFREQ",
    "DIALATEFREQ",
    "NE_SW",
    "NE1AU",
    "SOLARN0",
    "TRES",
    "CHI2",
    "CHI2R",
    "NTOA",
    "NITS",
    "INFO",
    "IBOOT",
    "MODE",
    "EPHVER",
    "DMDATA",
    "ECL",
    "PX",
    "RM",
    "NPRNT",
    "NHARMS",
    "TRACK",
    "PHOFF",
    "DMX",
    "SWM",
    "SWP",
    "K96",
    "COORD",
    "BADTOA",
    "DCOVFILE",
    "S",
    "DIST",
    "POSANGLE",
};
static const char *const skipped_starts[] = {
    "TZR",   "DMX",    "JUMP",    "T2E",    "TN",    "ECORR", "EFAC",
    "EQUAD", "DMEFAC", "DMEQUAD", "DMJUMP", "RNAMP", "RNIDX", "SWX",
};

/* Whole families that are not covered; every other name is not known. */
static const struct refused {
    const char *start, *what;
} refused[] = {
    {"GL", "glitches of other terms"}, {"WAVE", "waves"},
    {"IFUNC", "interpolated phases"},  {"SIFUNC", "interpolated phases"},
    {"ORBWAVE", "waves of the orbit"}, {"PW", "pieces of a spin"},
    {"FB", "more than FB1"},           {"CM", "chromatic delays"},
};

/* --- lines ------------------------------------------------------------------------------------ */

static bool starts_with(const char *text, const char *start)
{
    return !strncasecmp(text, start, strlen(start));
}

/* Fortran's exponents. */
static void convert_exponent(char *word)
{
    for (; *word; word++)
        if (*word == 'd' || *word == 'D')
            *word = 'e';
}

static psr_status take_line(struct par_file *p, enum par_key key, const struct psr_text_row *row,
                            psr_err *err)
{
    if (p->line[key])
        return psr_text_row_fail(row, err, row->word[0], "%s: a second one, after line %ld",
                                 row->word[0], p->line[key]);
    p->line[key] = row->number;
    return PSR_OK;
}

/* GLEP_1, GLF0_1, .. */
static psr_status take_glitch(struct par_file *p, const struct psr_text_row *row, bool *taken,
                              psr_err *err)
{
    static const struct {
        const char *start;
        size_t at;
        double unit, most;
    } term[] = {{"GLEP_", offsetof(struct psr_glitch, epoch_mjd), 1, 1e6},
                {"GLF0_", offsetof(struct psr_glitch, f0), 1, 1e3},
                {"GLF1_", offsetof(struct psr_glitch, f1), 1, 1},
                {"GLF2_", offsetof(struct psr_glitch, f2), 1, 1},
                {"GLF0D_", offsetof(struct psr_glitch, f0d), 1, 1e3},
                {"GLTD_", offsetof(struct psr_glitch, decay_s), 86400, 1e6},
                {"GLPH_", SIZE_MAX, 1, 1e9}}; /* the same throughout */
    const char *name = row->word[0];
    for (size_t k = 0; k < sizeof term / sizeof *term; k++) {
        const size_t n = strlen(term[k].start);
        int64_t i = 0;
        double value = 0;
        if (strncasecmp(name, term[k].start, n) != 0)
            continue;
        if (psr_parse_int(name, name + n, 1, PSR_EPHEMERIS_NGLITCH, &i, NULL))
            return psr_text_row_fail(row, err, name, "%s: more than %d glitches", name,
                                     PSR_EPHEMERIS_NGLITCH);
        *taken = true;
        if (row->n > 1)
            convert_exponent(row->word[1]);
        psr_status st = psr_text_row_double(row, 1, name, -term[k].most, term[k].most, &value, err);
        p->line_glitch[i - 1] = row->number;
        if (term[k].at != SIZE_MAX)
            *(double *)(void *)((char *)&p->glitch[i - 1] + term[k].at) = value * term[k].unit;
        return st;
    }
    return PSR_OK;
}

/* Whether the value is there, and 0. */
static bool is_zero(const struct psr_text_row *row)
{
    double value = 1;
    if (row->n > 1)
        convert_exponent(row->word[1]);
    return row->n > 1 && !psr_parse_double("value", row->word[1], -1e300, 1e300, &value, NULL) &&
           value == 0;
}

static psr_status take_other(const struct psr_text_row *row, psr_err *err)
{
    const char *name = row->word[0];
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
        if (!strcasecmp(name, skipped[i]))
            return PSR_OK;
    for (size_t i = 0; i < sizeof skipped_starts / sizeof *skipped_starts; i++)
        if (starts_with(name, skipped_starts[i]))
            return PSR_OK;
    if (starts_with(name, "FD") && strspn(name + 2, "0123456789") == strlen(name + 2))
        return PSR_OK;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (starts_with(name, refused[i].start) && is_zero(row))
            return PSR_OK;
        else if (starts_with(name, refused[i].start))
            return psr_text_row_fail(row, err, name, "%s: %s are not covered", name,
                                     refused[i].what);
    return psr_text_row_fail(row, err, name, "%.64s: not known, so it might move the phase", name);
}

static psr_status take_row(void *ctx, const struct psr_text_row *row, psr_err *err)
{
    static const struct {
        const char *name;
        enum par_key key;
    } texts[] = {{"PSR", PAR_PSR},  {"PSRJ", PAR_PSR},      {"PSRB", PAR_PSR},
                 {"RAJ", PAR_RAJ},  {"RA", PAR_RAJ},        {"DECJ", PAR_DECJ},
                 {"DEC", PAR_DECJ}, {"BINARY", PAR_BINARY}, {"UNITS", PAR_UNITS}};
    struct par_file *p = ctx;
    const char *name = row->word[0];
    if (!strcmp(name, "C")) /* TEMPO's comment */
        return PSR_OK;
    if ((*name == 'F' || *name == 'f') && strspn(name + 1, "0123456789") == strlen(name + 1)) {
        /* F0, F1, .. */
        int64_t k = 0;
        psr_status st = PSR_OK;
        const char *digits = row->word[0] + 1;
        if (*digits && psr_parse_int("F", digits, 0, PSR_EPHEMERIS_NF - 1, &k, NULL))
            return psr_text_row_fail(row, err, row->word[0], "%s: more than F%d is not covered",
                                     row->word[0], PSR_EPHEMERIS_NF - 1);
        if (p->line_f[k])
            return psr_text_row_fail(row, err, row->word[0], "%s: a second one, after line %ld",
                                     row->word[0], p->line_f[k]);
        p->line_f[k] = row->number;
        if (row->n > 1)
            convert_exponent(row->word[1]);
        st = psr_text_row_double(row, 1, row->word[0], k ? -1e9 : 1e-6, 1e9, &p->f[k], err);
        return st;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcasecmp(name, texts[i].name)) {
            const enum par_key key = texts[i].key;
            psr_status st = take_line(p, key, row, err);
            if (st)
                return st;
            if (row->n < 2)
                return psr_text_row_fail(row, err, row->word[0], "%s is missing", row->word[0]);
            snprintf(p->text[key], sizeof p->text[key], "%s", row->word[1]);
            return PSR_OK;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcasecmp(name, numbers[i].name)) {
            const struct number *n = &numbers[i];
            double value = 0;
            psr_status st = take_line(p, n->key, row, err);
            if (row->n > 1)
                convert_exponent(row->word[1]);
            if (!st)
                st = psr_text_row_double(row, 1, row->word[0], n->min, n->max, &value, err);
            if (n->is_scaled && fabs(value) > 1e-7)
                value *= 1e-12;
            p->value[n->key] = value * n->unit;
            return st;
        }
    bool taken = false;
    psr_status st = take_glitch(p, row, &taken, err);
    return st || taken ? st : take_other(row, err);
}

/* --- the file --------------------------------------------------------------------------------- */

psr_status psr_ephemeris_read(struct psr_ephemeris *e, const char *path, psr_err *err)
{
    struct par_file p = {.path = path};
    struct psr_text_lines lines;
    *e = (struct psr_ephemeris){.pepoch_mjd = 0};
    psr_status st = psr_text_lines_open(&lines, path, PAR_MAX_BYTES, err);
    if (st)
        return st;
    p.path = lines.name;
    st = psr_text_table_take(&lines, take_row, &p, err);
    psr_text_lines_close(&lines);
    return st ? st : psr_par_settle(e, &p, err);
}
