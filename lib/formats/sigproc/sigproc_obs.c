/* Converts the keys of a SIGPROC header to an observation. */
#include "base/obs_internal.h"
#include "sigproc_header.h"

#include <math.h>
#include <string.h>

const struct psr_sigproc_key psr_sigproc_keys[PSR_NKEY] = {
    [PSR_KEY_SOURCE_NAME] = {"source_name", PSR_SIGPROC_TEXT, 0, 0},
    [PSR_KEY_RAWDATAFILE] = {"rawdatafile", PSR_SIGPROC_TEXT, 0, 0},
    [PSR_KEY_MACHINE_ID] = {"machine_id", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_TELESCOPE_ID] = {"telescope_id", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_DATA_TYPE] = {"data_type", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_NCHANS] = {"nchans", PSR_SIGPROC_INT32, 1, 1 << 20},
    [PSR_KEY_NBITS] = {"nbits", PSR_SIGPROC_INT32, 1, 32},
    [PSR_KEY_NIFS] = {"nifs", PSR_SIGPROC_INT32, 1, 16},
    [PSR_KEY_NBEAMS] = {"nbeams", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_IBEAM] = {"ibeam", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_BARYCENTRIC] = {"barycentric", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_PULSARCENTRIC] = {"pulsarcentric", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_NBINS] = {"nbins", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_NSAMPLES] = {"nsamples", PSR_SIGPROC_INT32, 0, 0},
    [PSR_KEY_NPULS] = {"npuls", PSR_SIGPROC_INT64, 0, 0},
    [PSR_KEY_AZ_START] = {"az_start", PSR_SIGPROC_DOUBLE, 0, 0},
    [PSR_KEY_ZA_START] = {"za_start", PSR_SIGPROC_DOUBLE, 0, 0},
    [PSR_KEY_SRC_RAJ] = {"src_raj", PSR_SIGPROC_DOUBLE, 0, 0},
    [PSR_KEY_SRC_DEJ] = {"src_dej", PSR_SIGPROC_DOUBLE, 0, 0},
    [PSR_KEY_TSTART] = {"tstart", PSR_SIGPROC_DOUBLE, 0, 1e6},
    [PSR_KEY_TSAMP] = {"tsamp", PSR_SIGPROC_DOUBLE, 0, 1e6},
    [PSR_KEY_FCH1] = {"fch1", PSR_SIGPROC_DOUBLE, -1e12, 1e12},
    [PSR_KEY_FOFF] = {"foff", PSR_SIGPROC_DOUBLE, -1e12, 1e12},
    [PSR_KEY_REFDM] = {"refdm", PSR_SIGPROC_DOUBLE, -1e12, 1e12},
    [PSR_KEY_PERIOD] = {"period", PSR_SIGPROC_DOUBLE, 0, 0},
    [PSR_KEY_FCHANNEL] = {"fchannel", PSR_SIGPROC_DOUBLE, -1e12, 1e12},
    [PSR_KEY_SIGNED] = {"signed", PSR_SIGPROC_CHAR, 0, 0},
    [PSR_KEY_FREQUENCY_START] = {"FREQUENCY_START", PSR_SIGPROC_FLAG, 0, 0},
    [PSR_KEY_FREQUENCY_END] = {"FREQUENCY_END", PSR_SIGPROC_FLAG, 0, 0},
    [PSR_KEY_HEADER_END] = {"HEADER_END", PSR_SIGPROC_FLAG, 0, 0},
};

static psr_status require_keys(const struct psr_sigproc_fields *fields, psr_err *err)
{
    bool series = fields->value[PSR_KEY_DATA_TYPE] == PSR_SIGPROC_SERIES;
    bool table = fields->ntable > 0;
    bool one_channel = series || fields->value[PSR_KEY_NCHANS] == 1;
    const struct {
        enum psr_sigproc_key_id id;
        bool needed;
    } needs[] = {
        {PSR_KEY_NCHANS, !series},
        {PSR_KEY_NBITS, true},
        {PSR_KEY_TSAMP, true},
        {PSR_KEY_FCH1, !table},
        {PSR_KEY_FOFF, !table && !one_channel},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].needed && !fields->seen[needs[i].id])
            return psr_fail_field(err, PSR_EFORMAT, psr_sigproc_keys[needs[i].id].name,
                                  "%s: the header has no %s", fields->name,
                                  psr_sigproc_keys[needs[i].id].name);
    return PSR_OK;
}

static void fill_samples(struct psr_obs *obs, const struct psr_sigproc_fields *fields)
{
    obs->nchan = fields->seen[PSR_KEY_NCHANS] ? (size_t)fields->value[PSR_KEY_NCHANS] : 1;
    obs->nif = fields->seen[PSR_KEY_NIFS] ? (int)fields->value[PSR_KEY_NIFS] : 1;
    obs->nbit = (int)fields->value[PSR_KEY_NBITS];
    obs->tsamp_s = fields->value[PSR_KEY_TSAMP];
    obs->kind = obs->nbit == 32                      ? PSR_FLOAT
                : fields->value[PSR_KEY_SIGNED] != 0 ? PSR_INT
                                                     : PSR_UINT;
    obs->pols = fields->pols;
    if (fields->value[PSR_KEY_NSAMPLES] > 0)
        obs->nsamp = (int64_t)fields->value[PSR_KEY_NSAMPLES];
}

static psr_status fill_band(struct psr_obs *obs, struct psr_sigproc_fields *fields, psr_err *err)
{
    obs->fch1_mhz = fields->value[PSR_KEY_FCH1];
    obs->foff_mhz = fields->value[PSR_KEY_FOFF];
    if (fields->ntable == 0)
        return PSR_OK;
    if (fields->ntable != obs->nchan)
        return psr_fail_field(err, PSR_EFORMAT, "fchannel",
                              "%s: %zu fchannel entries, must be nchans = %zu", fields->name,
                              fields->ntable, obs->nchan);
    obs->freq_mhz = fields->table;
    fields->table = NULL;
    if (!fields->seen[PSR_KEY_FCH1])
        obs->fch1_mhz = obs->freq_mhz[0];
    if (!fields->seen[PSR_KEY_FOFF] && obs->nchan > 1)
        obs->foff_mhz = obs->freq_mhz[1] - obs->freq_mhz[0];
    return PSR_OK;
}

/* Angles are hours or degrees x 10000 + minutes x 100 + seconds.
 * Returned: false where the minutes or seconds are none; units are hours or degrees */
static bool read_angle(double sexagesimal, double *units)
{
    double v = fabs(sexagesimal);
    if (!(v < 1e7))
        return false;
    double whole = floor(v / 10000);
    double minutes = floor((v - whole * 10000) / 100);
    double seconds = v - whole * 10000 - minutes * 100;
    *units = copysign(whole + (minutes + seconds / 60) / 60, sexagesimal);
    return minutes < 60 && seconds <= 60;
}

/* Files hold 0, 0 where the position is unknown, and sometimes degrees where there must be none. */
static void fill_position(struct psr_obs *obs, const struct psr_sigproc_fields *fields)
{
    double raj = fields->value[PSR_KEY_SRC_RAJ], dej = fields->value[PSR_KEY_SRC_DEJ], hours,
           degrees;
    if (!fields->seen[PSR_KEY_SRC_RAJ] || !fields->seen[PSR_KEY_SRC_DEJ] || (raj == 0 && dej == 0))
        return;
    if (!read_angle(raj, &hours) || !read_angle(dej, &degrees) || raj < 0 || hours > 24 ||
        fabs(degrees) > 90) {
        psr_note(
            fields->notes,
            "%s: src_raj = %.15g, src_dej = %.15g are no hhmmss.s and ddmmss.s: the position is "
            "taken as unknown",
            fields->name, raj, dej);
        return;
    }
    obs->has_position = true;
    obs->ra_deg = hours * 15;
    obs->dec_deg = degrees;
}

static double finite_or_zero(double v)
{
    return isfinite(v) ? v : 0;
}

static int count_or_zero(double v)
{
    return v > 0 ? (int)v : 0;
}

static void fill_rest(struct psr_obs *obs, const struct psr_sigproc_fields *fields)
{
    double day = floor(fields->value[PSR_KEY_TSTART]);
    obs->tstart = (struct psr_mjd){.day = (long)day, .frac = fields->value[PSR_KEY_TSTART] - day};
    if (!fields->seen[PSR_KEY_TSTART])
        psr_note(fields->notes, "%s: the header has no tstart: MJD 0 is taken", fields->name);
    obs->barycentric = fields->value[PSR_KEY_BARYCENTRIC] != 0;
    obs->az_deg = finite_or_zero(fields->value[PSR_KEY_AZ_START]);
    obs->za_deg = finite_or_zero(fields->value[PSR_KEY_ZA_START]);
    obs->refdm = fields->value[PSR_KEY_REFDM];
    obs->ibeam = count_or_zero(fields->value[PSR_KEY_IBEAM]);
    obs->nbeam = count_or_zero(fields->value[PSR_KEY_NBEAMS]);
    if (fields->seen[PSR_KEY_MACHINE_ID])
        obs->machine_id = (int)fields->value[PSR_KEY_MACHINE_ID];
    if (fields->seen[PSR_KEY_TELESCOPE_ID])
        obs->telescope_id = (int)fields->value[PSR_KEY_TELESCOPE_ID];
    strcpy(obs->telescope, psr_telescope_name(obs->telescope_id));
    strcpy(obs->instrument, psr_machine_name(obs->machine_id));
    if (*fields->source)
        memcpy(obs->source, fields->source, sizeof obs->source);
}

psr_status psr_sigproc_fill(struct psr_obs *obs, struct psr_sigproc_fields *fields, psr_err *err)
{
    psr_status st = require_keys(fields, err);
    if (st)
        return st;
    fill_samples(obs, fields);
    st = fill_band(obs, fields, err);
    if (!st)
        st = psr_obs_check(obs, fields->name, err);
    if (st)
        return st;
    fill_position(obs, fields);
    fill_rest(obs, fields);
    return PSR_OK;
}
