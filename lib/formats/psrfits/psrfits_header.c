/* Converts the headers of a PSRFITS file to an observation and a row layout. */
#include "base/obs_internal.h"
#include "base/tool.h"
#include "psrfits.h"

#include <math.h>
#include <psrkit/obs.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The width of a single channel does not follow from frequencies. */
static double header_width(const struct psr_fits *f, struct psr_fits_band declared)
{
    double width = psr_fits_number(f, "CHAN_BW", 0);
    if (width == 0 && declared.nchan > 0)
        width = declared.width_mhz / declared.nchan;
    return width;
}

static psr_status take_header_freq(const struct psr_fits *f, struct psr_obs *obs,
                                   struct psr_fits_band declared, psr_err *err)
{
    double width = header_width(f, declared);
    if (!(declared.centre_mhz > 0) || width == 0)
        return psr_fail_field(
            err, PSR_EFORMAT, "DAT_FREQ",
            "%s: no channel frequencies: DAT_FREQ is missing or 0, OBSFREQ = %g MHz, "
            "CHAN_BW = %g MHz",
            f->path, declared.centre_mhz, width);
    obs->foff_mhz = width;
    obs->fch1_mhz = declared.centre_mhz - 0.5 * (double)(f->nchan - 1) * width;
    psr_note(&f->notes, "%s: DAT_FREQ is missing or 0: OBSFREQ and CHAN_BW give the frequencies",
             f->path);
    return PSR_OK;
}

/* The frequencies of the channels are what counts; the summary in the header is often stale. */
static void note_disagreement(const struct psr_fits *f, const struct psr_obs *obs,
                              struct psr_fits_band declared)
{
    double width = fabs(obs->foff_mhz);
    double nchan = (double)f->nchan;
    double centre = obs->fch1_mhz + 0.5 * (nchan - 1) * obs->foff_mhz;
    if (obs->freq_mhz || (declared.nchan > 0 && declared.nchan != nchan))
        return;
    if (declared.centre_mhz != 0 && fabs(declared.centre_mhz - centre) > width)
        psr_note(&f->notes,
                 "%s: OBSFREQ = %g MHz, but DAT_FREQ is centred on %g MHz, which is used", f->path,
                 declared.centre_mhz, centre);
    if (declared.width_mhz != 0 && fabs(fabs(declared.width_mhz) - nchan * width) > width)
        psr_note(&f->notes, "%s: OBSBW = %g MHz, but DAT_FREQ spans %g MHz, which is used", f->path,
                 declared.width_mhz, nchan * width);
}

static bool holds_frequencies(const struct psr_fits *f, const struct psr_fits_column *column)
{
    return column->number && column->repeat >= (int64_t)f->nchan &&
           (column->type == 'E' || column->type == 'D');
}

/* Fills fch1_mhz, foff_mhz and, where they are irregular, freq_mhz from DAT_FREQ, else from declared.
 */
static psr_status fits_read_freq(const struct psr_fits *f, struct psr_obs *obs,
                                 struct psr_fits_band declared, psr_err *err)
{
    struct psr_fits_column column;
    psr_status code = psr_fits_find(f, "DAT_FREQ", &column, err);
    if (code)
        return code;
    if (!holds_frequencies(f, &column))
        return take_header_freq(f, obs, declared, err);
    double *freq = malloc(f->nchan * sizeof *freq);
    if (!freq)
        return psr_fail_nomem(err, "channel frequencies", (double)f->nchan * sizeof *freq);
    code = psr_fits_read_doubles(f, &column, 1, 0, f->nchan, freq, err);
    if (!code && freq[0] == 0 && freq[f->nchan - 1] == 0)
        code = take_header_freq(f, obs, declared, err);
    else if (!code) {
        size_t n = f->nchan;
        double width =
            n > 1 ? (freq[n - 1] - freq[0]) / (double)(n - 1) : header_width(f, declared);
        obs->fch1_mhz = freq[0];
        obs->foff_mhz = width;
        obs->freq_mhz = freq;
        if (psr_obs_band(obs).even) {
            obs->freq_mhz = NULL;
            free(freq);
        } else {
            psr_note(&f->notes, "%s: the channels of DAT_FREQ are not evenly spaced", f->path);
        }
        note_disagreement(f, obs, declared);
        return PSR_OK;
    }
    free(freq);
    return code;
}

/* The first channel that is elsewhere by more than a tenth of a channel; n if none is, or the row has no frequencies.
 */
static size_t find_moved(const double *row, const double *first, size_t n, double chan_mhz)
{
    size_t c = 0;
    if (row[0] == 0 && row[n - 1] == 0)
        return n;
    while (c < n && fabs(row[c] - first[c]) <= 0.1 * chan_mhz)
        c++;
    return c;
}

/* PRESTO looks at the first row only. */
static psr_status refuse_row(const struct psr_fits *f, int64_t number, size_t c, const double *row,
                             const double *first, psr_err *err)
{
    if (!f->as_presto)
        return psr_fail_field(
            err, PSR_EFORMAT, "DAT_FREQ",
            "%s: row %lld: DAT_FREQ of channel %zu = %.10g MHz, must be that of row "
            "1, %.10g MHz",
            f->path, (long long)number, c, row[c], first[c]);
    psr_note(&f->notes,
             "%s: row %lld: DAT_FREQ of channel %zu = %.10g MHz: that of row 1, %.10g MHz, "
             "is used throughout, as PRESTO does",
             f->path, (long long)number, c, row[c], first[c]);
    return PSR_OK;
}

psr_status psr_fits_check_freq(const struct psr_fits *f, const struct psr_fits_rows *rows,
                               double chan_mhz, psr_err *err)
{
    const size_t n = f->nchan;
    struct psr_fits_column column;
    psr_status st = psr_fits_find(f, "DAT_FREQ", &column, err);
    if (st || !holds_frequencies(f, &column))
        return st;
    double *first = malloc(2 * n * sizeof *first), *row = first + n;
    if (!first)
        return psr_fail_nomem(err, "channel frequencies", 2 * (double)n * sizeof *first);
    size_t moved = n;
    st = psr_fits_read_doubles(f, &column, 1, 0, n, first, err);
    const bool known = !st && (first[0] != 0 || first[n - 1] != 0);
    for (size_t i = 0; known && i < rows->nlive && !st && moved == n; i++) {
        st = psr_fits_read_doubles(f, &column, rows->row[i].number, 0, n, row, err);
        moved = st ? n : find_moved(row, first, n, chan_mhz);
        if (moved < n)
            st = refuse_row(f, rows->row[i].number, moved, row, first, err);
    }
    free(first);
    return st;
}

/* Limits that keep every product of sizes within 64 bits. */
enum { MAX_CHANNELS = 1 << 20, MAX_POLS = 16, MAX_NSBLK = 1 << 30 };

/* "[+-]D:M:S" to degrees or hours. */
static bool parse_sexagesimal(const char *text, double *value)
{
    double part[3] = {0};
    char copy[PSR_TEXT_MAX], *save = NULL;
    bool negative = *text == '-';
    int n = 0;
    snprintf(copy, sizeof copy, "%s", text + (negative || *text == '+'));
    for (char *word = strtok_r(copy, ":", &save); word; word = strtok_r(NULL, ":", &save), n++)
        if (n == 3 || psr_parse_double(word, word, 0, 360, &part[n], NULL))
            return false;
    if (!n)
        return false;
    *value = part[0] + part[1] / 60 + part[2] / 3600;
    if (negative)
        *value = -*value;
    return true;
}

static void read_position(const struct psr_fits *f, struct psr_obs *obs)
{
    char text[PSR_TEXT_MAX];
    double ra_h, dec_deg;
    if (!psr_fits_text(f, "RA", text) || !parse_sexagesimal(text, &ra_h) ||
        !psr_fits_text(f, "DEC", text) || !parse_sexagesimal(text, &dec_deg) || ra_h < 0 ||
        ra_h > 24 || fabs(dec_deg) > 90) {
        psr_note(&f->notes, "%s: RA and DEC are no position", f->path);
        return;
    }
    /* What writers that know no position leave there. */
    if (ra_h == 0 && dec_deg == 0)
        return;
    obs->has_position = true;
    obs->ra_deg = 15 * ra_h;
    obs->dec_deg = dec_deg;
}

/* Observatories write their names in many ways; PRESTO knows one of each. */
static void read_telescope(const struct psr_fits *f, struct psr_obs *obs)
{
    static const char *const alias[][2] = {
        {"ARECIBO 305m", "Arecibo"}, {"AO", "Arecibo"},     {"PKS", "Parkes"},
        {"Murriyang", "Parkes"},     {"GREEN BANK", "GBT"}, {"NRT", "Nancay"},
        {"Jodrell Bank", "Jodrell"}, {"Lovell", "Jodrell"}, {"Effelsberg 100m", "Effelsberg"},
        {"EFF", "Effelsberg"},       {"JVLA", "VLA"},       {"EVLA", "VLA"},
    };
    char name[PSR_TEXT_MAX];
    if (!psr_fits_text(f, "TELESCOP", name))
        return;
    for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
        if (!strcasecmp(name, alias[i][0]))
            strcpy(name, alias[i][1]);
    for (int id = 0; id < 128; id++)
        if (psr_telescope_id(psr_telescope_name(id)) == id &&
            !strcasecmp(name, psr_telescope_name(id)))
            strcpy(name, psr_telescope_name(id));
    strcpy(obs->telescope, name);
    obs->telescope_id = psr_telescope_id(name);
}

static void read_primary(const struct psr_fits *f, struct psr_obs *obs)
{
    double beam = psr_fits_number(f, "IBEAM", 0);
    psr_fits_text(f, "SRC_NAME", obs->source);
    psr_fits_text(f, "BACKEND", obs->instrument);
    psr_fits_text(f, "OBSERVER", obs->observer);
    psr_fits_text(f, "PROJID", obs->project_id);
    if (f->as_presto) {
        obs->has_date = true;
        psr_fits_text(f, "DATE-OBS", obs->date);
        obs->beam_arcsec = 3600 * psr_fits_number(f, "BMIN", 0);
    }
    const double chan_dm = psr_fits_number(f, "CHAN_DM", 0);
    obs->chan_dm = chan_dm >= 0 && chan_dm < 1e6 ? chan_dm : 0;
    if (!(chan_dm >= 0 && chan_dm < 1e6))
        psr_note(&f->notes, "%s: CHAN_DM = %g is no DM: 0 is taken", f->path, chan_dm);
    obs->ibeam = beam > 0 && beam < 1e6 ? (int)beam : 0;
    read_telescope(f, obs);
    read_position(f, obs);
    /* Keeps the parts apart: a double holds a whole MJD to a microsecond only. */
    double day = psr_fits_number(f, "STT_IMJD", -1);
    if (!(day >= 0 && day < 1e6)) {
        psr_note(&f->notes, "%s: no STT_IMJD: the date is not known", f->path);
        return;
    }
    obs->tstart = (struct psr_mjd){.day = (long)day, .frac = 0};
    double seconds = PSR_DAY_S * (day - (double)obs->tstart.day);
    seconds += psr_fits_number(f, "STT_SMJD", 0);
    seconds += psr_fits_number(f, "STT_OFFS", 0);
    seconds += psr_fits_number(f, "BE_DELAY", 0);
    if (fabs(seconds) < 1e9)
        obs->tstart = psr_mjd_add(obs->tstart, seconds);
    else
        psr_note(&f->notes, "%s: STT_SMJD and STT_OFFS are no time of day: 0 h is assumed",
                 f->path);
}

static psr_status read_sizes(struct psr_fits *f, psr_err *err)
{
    int64_t nchan, npol = 1, nbit;
    psr_status code = psr_fits_count(f, "NCHAN", 1, MAX_CHANNELS, &nchan, err);
    if (!code)
        code = psr_fits_count(f, "NPOL", 1, MAX_POLS, &npol, err);
    if (!code)
        code = psr_fits_count(f, "NBITS", 1, 32, &nbit, err);
    if (!code)
        code = psr_fits_count(f, "NSBLK", 1, MAX_NSBLK, &f->nsblk, err);
    if (code)
        return code;
    if (nbit & (nbit - 1))
        return psr_fail_field(err, PSR_EFORMAT, "NBITS",
                              "%s: NBITS = %d is not 1, 2, 4, 8, 16 or 32", f->path, (int)nbit);
    f->nchan = (size_t)nchan;
    f->npol = (int)npol;
    f->nbit = (int)nbit;
    f->tbin_s = psr_fits_number(f, "TBIN", 0);
    if (!(f->tbin_s > 0))
        return psr_fail_field(err, PSR_EFORMAT, "TBIN", "%s: TBIN = %g s is not above 0", f->path,
                              f->tbin_s);
    /* Some writers store the offset with a minus sign; PRESTO takes its size, too. */
    const double zero_off = fabs(psr_fits_number(f, "ZERO_OFF", 0));
    const double most = nbit == 32 ? 1e30 : 0x1p24; /* floats hold its difference from a sample */
    if (zero_off > most)
        return psr_fail_field(err, PSR_EFORMAT, "ZERO_OFF",
                              "%s: ZERO_OFF = %g, must be at most %g with %d bits", f->path,
                              zero_off, most, f->nbit);
    f->zero_off = (float)zero_off;
    return PSR_OK;
}

/* TZERO moves integers by half their range, the FITS way of storing the other signedness. */
static psr_status read_signs(struct psr_fits *f, psr_err *err)
{
    char key[FLEN_KEYWORD];
    snprintf(key, sizeof key, "TSCAL%d", f->data.number);
    double scale = psr_fits_number(f, key, 1);
    snprintf(key, sizeof key, "TZERO%d", f->data.number);
    double zero = psr_fits_number(f, key, 0);
    bool words = f->data.type == 'I';
    f->is_signed = f->nbit == 16 || psr_fits_number(f, "SIGNINT", 0) == 1;
    if (f->nbit == 1 || f->nbit == 32)
        f->is_signed = false;
    if (scale == 1 && zero == 0)
        return PSR_OK;
    if (scale == 1 && words && zero == 32768) {
        f->flip = 0x8000;
        f->is_signed = false;
        return PSR_OK;
    }
    if (scale == 1 && !words && f->nbit == 8 && zero == -128) {
        f->flip = 0x80;
        f->is_signed = true;
        return PSR_OK;
    }
    return psr_fail_field(err, PSR_EUNSUPPORTED, "DATA", "%s: DATA has TSCAL %g and TZERO %g",
                          f->path, scale, zero);
}

/* The size of DATA follows from NSBLK, NPOL, NCHAN and NBITS; if it fits the same samples with more
 * bits, NBITS is wrong, and if it fits the channels of DAT_FREQ, NCHAN. */
static psr_status check_data_size(const struct psr_fits *f, psr_err *err)
{
    const int64_t unit = f->data.type == 'X' ? 1 : f->data.type == 'B' ? 8 : f->nbit;
    const int64_t need = (int64_t)psr_fits_spectrum_bits(f) * f->nsblk;
    const int64_t have = f->data.repeat * unit, nsample = need / f->nbit;
    if (have < need)
        return psr_fail(
            err, PSR_EFORMAT,
            "%s: DATA holds %lld%c in a row, NSBLK %lld x NPOL %d x NCHAN %zu x NBITS %d "
            "need %lld bytes",
            f->path, (long long)f->data.repeat, f->data.type, (long long)f->nsblk, f->npol,
            f->nchan, f->nbit, (long long)(need / 8));
    for (int nbit = 2 * f->nbit; nbit <= 32; nbit *= 2)
        if (have / nbit == nsample && have - nsample * nbit < 8)
            return psr_fail_field(
                err, PSR_EFORMAT, "NBITS",
                "%s: NBITS = %d, but DATA holds %d bits for each of the NSBLK %lld x "
                "NPOL %d x NCHAN %zu samples of a row",
                f->path, f->nbit, nbit, (long long)f->nsblk, f->npol, f->nchan);
    struct psr_fits_column freq;
    psr_status st = psr_fits_find(f, "DAT_FREQ", &freq, err);
    if (st)
        return st;
    if (freq.number && freq.repeat > 0 && freq.repeat != (int64_t)f->nchan &&
        have % freq.repeat == 0 && have / freq.repeat == need / (int64_t)f->nchan)
        return psr_fail_field(err, PSR_EFORMAT, "NCHAN",
                              "%s: NCHAN = %zu, but DATA and DAT_FREQ hold %lld channels", f->path,
                              f->nchan, (long long)freq.repeat);
    if (have - need >= 8)
        psr_note(&f->notes,
                 "%s: DATA holds %lld bytes in a row, NSBLK x NPOL x NCHAN x NBITS need %lld: the "
                 "rest is left out",
                 f->path, (long long)(have / 8), (long long)((need + 7) / 8));
    return PSR_OK;
}

static psr_status read_data_column(struct psr_fits *f, psr_err *err)
{
    static const char *const types[] = {
        [1] = "XB", [2] = "XB", [4] = "XB", [8] = "XB", [16] = "IB", [32] = "E"};
    psr_status code = psr_fits_find(f, "DATA", &f->data, err);
    if (code)
        return code;
    if (!f->data.number)
        return psr_fail_field(err, PSR_EFORMAT, "DATA", "%s: SUBINT has no column DATA", f->path);
    if (!strchr(types[f->nbit], f->data.type))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "DATA",
                              "%s: DATA is of type %c, which %d-bit samples are not", f->path,
                              f->data.type, f->nbit);
    code = check_data_size(f, err);
    return code ? code : read_signs(f, err);
}

/* The columns that turn stored numbers into fluxes; a short one cannot be used. */
static psr_status read_scale_columns(struct psr_fits *f, const struct psr_source_desc *desc,
                                     psr_err *err)
{
    const struct {
        const char *name;
        struct psr_fits_column *column;
        bool unwanted;
    } wanted[] = {{"DAT_SCL", &f->scales, desc->no_scales},
                  {"DAT_OFFS", &f->offsets, desc->no_offsets},
                  {"DAT_WTS", &f->weights, desc->no_weights}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct psr_fits_column *column = wanted[i].column;
        psr_status code = psr_fits_find(f, wanted[i].name, column, err);
        if (code)
            return code;
        bool floats = column->type == 'E' || column->type == 'D';
        if (!column->number || !floats || column->repeat < (int64_t)f->nchan) {
            psr_note(&f->notes, "%s: no %s for each channel: none is applied", f->path,
                     wanted[i].name);
            column->number = 0;
        }
        if (wanted[i].unwanted)
            column->number = 0;
    }
    return PSR_OK;
}

static psr_status read_pols(struct psr_fits *f, struct psr_obs *obs,
                            const struct psr_source_desc *desc, psr_err *err)
{
    char pol_type[PSR_TEXT_MAX] = "";
    psr_fits_text(f, "POL_TYPE", pol_type);
    obs->pols = psr_pols_find(pol_type);
    psr_status code =
        psr_pols_choose(&f->pols, f->path, "POL_TYPE", pol_type, f->npol, obs->pols, desc, err);
    if (code)
        return code;
    if (f->pols.guessed)
        psr_note(&f->notes, "%s: POL_TYPE '%s' is unknown: its 2 polarisations are summed", f->path,
                 pol_type);
    if (obs->pols == PSR_POLS_INTENSITY || (f->pols.count == 2 && !f->as_presto))
        snprintf(obs->poln, sizeof obs->poln, "2 polns were summed");
    else
        snprintf(obs->poln, sizeof obs->poln, "%d polns were not summed", f->npol);
    return PSR_OK;
}

static psr_status read_pointing(const struct psr_fits *f, const char *name, double *deg,
                                psr_err *err)
{
    struct psr_fits_column column;
    psr_status code = psr_fits_find(f, name, &column, err);
    if (code || !column.number || !strchr("ED", column.type) || column.repeat < 1)
        return code;
    return psr_fits_read_doubles(f, &column, 1, 0, 1, deg, err);
}

static psr_status read_subint(struct psr_fits *f, struct psr_obs *obs,
                              const struct psr_source_desc *desc, psr_err *err)
{
    psr_status code = read_sizes(f, err);
    if (!code)
        code = read_data_column(f, err);
    if (!code)
        code = read_scale_columns(f, desc, err);
    if (!code)
        code = read_pols(f, obs, desc, err);
    if (!code)
        code = read_pointing(f, "TEL_AZ", &obs->az_deg, err);
    if (!code)
        code = read_pointing(f, "TEL_ZEN", &obs->za_deg, err);
    return code;
}

psr_status psr_fits_read_header(struct psr_fits *f, struct psr_obs *obs,
                                const struct psr_source_desc *desc, psr_err *err)
{
    psr_status code = psr_fits_check_twice(f, err);
    if (code)
        return code;
    read_primary(f, obs);
    /* Computes the channel frequencies of a PSRFITS file. */
    struct psr_fits_band declared =
        (struct psr_fits_band){.centre_mhz = psr_fits_number(f, "OBSFREQ", 0),
                               .width_mhz = psr_fits_number(f, "OBSBW", 0),
                               .nchan = psr_fits_number(f, "OBSNCHAN", 0)};
    code = psr_fits_enter(f, err);
    if (!code)
        code = psr_fits_check_twice(f, err);
    if (!code)
        code = read_subint(f, obs, desc, err);
    if (code)
        return code;
    f->low_first =
        f->nbit == 1 && !strcmp(obs->telescope, "Parkes") && !strcmp(obs->instrument, "FB_1BIT");
    if (f->low_first)
        psr_note(&f->notes, "%s: FB_1BIT of Parkes: bits are taken low first", f->path);
    obs->nchan = f->nchan;
    obs->nif = 1;
    obs->tsamp_s = f->tbin_s;
    obs->block_nsamp = f->nsblk;
    return fits_read_freq(f, obs, declared, err);
}
