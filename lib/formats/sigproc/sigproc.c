/* Reads SIGPROC filterbanks: parses a header, and converts its keys to an observation. */
#include "base/obs_internal.h"

#include "base/tool.h"
#include "formats/hdf5/fbh5.h"
#include "formats/spectra/spectra_reader.h"
#include "sigproc_header.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct psr_sigproc_key keys[PSR_NKEY] = {
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
            return psr_fail_field(err, PSR_EFORMAT, keys[needs[i].id].name,
                                  "%s: the header has no %s", fields->name, keys[needs[i].id].name);
    return PSR_OK;
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

/* Fills an initialised obs, and takes the table of frequencies over. */
static psr_status fill_obs(struct psr_obs *obs, struct psr_sigproc_fields *fields, psr_err *err)
{
    psr_status st = require_keys(fields, err);
    if (st)
        return st;
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
    st = fill_band(obs, fields, err);
    if (!st)
        st = psr_obs_check(obs, fields->name, err);
    if (st)
        return st;
    fill_position(obs, fields);
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
    return PSR_OK;
}

/* --- the bytes of a header -------------------------------------------------------------------- */

/* A header as it is read: the place in the bytes, and the values met so far. */
struct parse {
    const unsigned char *bytes;
    size_t n, at;
    struct psr_sigproc_fields fields;
};

/* What the bytes at a place may be. */
enum verdict { NO, YES, SHORT };

static const char start_text[] = "HEADER_START";

static uint64_t little_endian(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static double read_double(const unsigned char *p)
{
    uint64_t bits = little_endian(p, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static bool is_key_char(int ch, bool first)
{
    return ch > 0 && ch < 0x80 &&
           (isalpha(ch) || ch == '_' || (!first && (isdigit(ch) || strchr(".-:", ch))));
}

static bool is_text_char(int ch, bool first)
{
    (void)first;
    return ch < 0x80 && isprint(ch);
}

/* Is there a length of 1 to PSR_SIGPROC_KEY_MAX at a place, and so many allowed characters? */
static enum verdict is_string_at(const struct parse *p, size_t at, bool (*allowed)(int, bool),
                                 size_t *length)
{
    size_t left = at < p->n ? p->n - at : 0;
    if (left < 4)
        return SHORT;
    *length = (size_t)little_endian(p->bytes + at, 4);
    if (*length < 1 || *length > PSR_SIGPROC_KEY_MAX)
        return NO;
    for (size_t i = 0; i < *length; i++) {
        if (4 + i >= left)
            return SHORT;
        if (!allowed(p->bytes[at + 4 + i], i == 0))
            return NO;
    }
    return YES;
}

static psr_status fail_short(const struct parse *p, bool *need_more, psr_err *err)
{
    *need_more = p->n < PSR_SIGPROC_HEADER_MAX;
    if (p->n == 0)
        return psr_fail(err, PSR_EFORMAT, "%s: empty, a SIGPROC header was expected",
                        p->fields.name);
    if (!*need_more)
        return psr_fail(err, PSR_EFORMAT, "%s: no HEADER_END in the first %d bytes", p->fields.name,
                        PSR_SIGPROC_HEADER_MAX);
    return psr_fail(err, PSR_EFORMAT, "%s: the header is cut off: %zu bytes and no HEADER_END",
                    p->fields.name, p->n);
}

/* Why the first bytes are no header: often the whole file is packed. */
static psr_status fail_start(const struct parse *p, psr_err *err)
{
    static const char *const magics[] = {"\x1f\x8b", "BZh", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd"};
    static const char *const programs[] = {"gzip", "bzip2", "xz", "zstd"};
    for (size_t k = 0; k < sizeof magics / sizeof *magics; k++) {
        size_t n = strlen(magics[k]);
        if (p->n >= n && memcmp(p->bytes, magics[k], n) == 0)
            return psr_fail(err, PSR_EUNSUPPORTED, "%s: packed, must be unpacked by %s -dc first",
                            p->fields.name, programs[k]);
    }
    return psr_fail(err, PSR_EFORMAT, "%s: no SIGPROC header: the first bytes are not HEADER_START",
                    p->fields.name);
}

static psr_status parse_start(struct parse *p, bool *need_more, psr_err *err)
{
    enum { LENGTH = sizeof start_text - 1, PREFIX = 4 + LENGTH };
    unsigned char little[PREFIX] = {LENGTH}, big[PREFIX] = {0, 0, 0, LENGTH};
    memcpy(little + 4, start_text, LENGTH);
    memcpy(big + 4, start_text, LENGTH);
    size_t n = p->n < PREFIX ? p->n : PREFIX;
    if (n >= 4 && memcmp(p->bytes, big, n) == 0)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: the SIGPROC header is big-endian (byte-swapped); only little-endian "
                        "files are read",
                        p->fields.name);
    if (n > 0 && memcmp(p->bytes, little, n) != 0)
        return fail_start(p, err);
    if (n < PREFIX)
        return fail_short(p, need_more, err);
    p->at = PREFIX;
    return PSR_OK;
}

static const char *type_name(enum psr_sigproc_type type)
{
    static const char *const names[] = {"no value", "char", "int32", "int64", "double", "text"};
    return names[type];
}

/* Would an unknown key's value of a type be followed by a key?  *end is where. */
static enum verdict try_type(const struct parse *p, enum psr_sigproc_type type, size_t *end)
{
    size_t length = 0;
    *end = p->at + (type == PSR_SIGPROC_DOUBLE ? 8 : 4);
    if (type == PSR_SIGPROC_TEXT) {
        enum verdict text = is_string_at(p, p->at, is_text_char, &length);
        if (text != YES)
            return text;
        *end += length;
    }
    return is_string_at(p, *end, is_key_char, &length);
}

static psr_status skip_unknown(struct parse *p, const char *key, bool *need_more, psr_err *err)
{
    static const enum psr_sigproc_type types[] = {PSR_SIGPROC_INT32, PSR_SIGPROC_DOUBLE,
                                                  PSR_SIGPROC_TEXT};
    int matches = 0;
    size_t end = 0;
    enum psr_sigproc_type found = PSR_SIGPROC_FLAG;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t candidate;
        enum verdict v = try_type(p, types[i], &candidate);
        if (v == SHORT)
            return fail_short(p, need_more, err);
        if (v == YES) {
            matches++;
            found = types[i];
            end = candidate;
        }
    }
    if (matches != 1)
        return psr_fail(
            err, PSR_EFORMAT,
            "%s: unknown key '%s' at byte %zu of the header, and no telling how long its "
            "value is",
            p->fields.name, key, p->at);
    p->at = end;
    psr_note(p->fields.notes, "%s: unknown key '%s' (%s) skipped", p->fields.name, key,
             type_name(found));
    return PSR_OK;
}

static psr_status read_text(struct parse *p, enum psr_sigproc_key_id id, bool *need_more,
                            psr_err *err)
{
    if (p->n - p->at < 4)
        return fail_short(p, need_more, err);
    size_t length = (size_t)little_endian(p->bytes + p->at, 4);
    if (length >= PSR_TEXT_MAX)
        return psr_fail_field(err, PSR_EFORMAT, "length", "%s: %s: length = %zu, must be below %d",
                              p->fields.name, keys[id].name, length, PSR_TEXT_MAX);
    if (p->n - p->at - 4 < length)
        return fail_short(p, need_more, err);
    char text[PSR_TEXT_MAX];
    memcpy(text, p->bytes + p->at + 4, length);
    text[length] = 0;
    const char *state = strstr(text, PSR_SIGPROC_STATE);
    if (id == PSR_KEY_RAWDATAFILE && state)
        p->fields.pols = psr_pols_find(state + strlen(PSR_SIGPROC_STATE));
    if (id == PSR_KEY_SOURCE_NAME && length > 0) {
        if (*p->fields.source && strcmp(text, p->fields.source) != 0)
            psr_note(p->fields.notes,
                     "%s: source_name is '%.80s', and it is '%.80s', which is taken",
                     p->fields.name, p->fields.source, text);
        strcpy(p->fields.source, text);
    }
    p->at += 4 + length;
    p->fields.seen[id] = true;
    return PSR_OK;
}

static psr_status append_frequency(struct parse *p, double freq_mhz, psr_err *err)
{
    psr_status st = psr_grow(&p->fields.table, &p->fields.table_room, p->fields.ntable,
                             sizeof *p->fields.table, "channel frequencies", err);
    if (!st)
        p->fields.table[p->fields.ntable++] = freq_mhz;
    return st;
}

static psr_status read_number(struct parse *p, enum psr_sigproc_key_id id, bool *need_more,
                              psr_err *err)
{
    static const size_t sizes[] = {
        [PSR_SIGPROC_CHAR] = 1,
        [PSR_SIGPROC_INT32] = 4,
        [PSR_SIGPROC_INT64] = 8,
        [PSR_SIGPROC_DOUBLE] = 8,
    };
    const struct psr_sigproc_key *key = keys + id;
    size_t size = sizes[key->type];
    const unsigned char *at = p->bytes + p->at;
    if (p->n - p->at < size)
        return fail_short(p, need_more, err);
    double v = key->type == PSR_SIGPROC_DOUBLE  ? read_double(at)
               : key->type == PSR_SIGPROC_INT32 ? (double)(int32_t)little_endian(at, 4)
                                                : (double)(int64_t)little_endian(at, size);
    bool limited = key->min < key->max;
    if (limited && !(v >= key->min && v <= key->max))
        return psr_fail_field(err, PSR_EFORMAT, key->name, "%s: %s = %.15g, must be %.15g to %.15g",
                              p->fields.name, key->name, v, key->min, key->max);
    const double before = p->fields.value[id];
    if (p->fields.seen[id] && id != PSR_KEY_FCHANNEL && memcmp(&v, &before, sizeof v) != 0)
        return psr_fail_field(err, PSR_EFORMAT, key->name, "%s: %s is %.15g, and it is %.15g",
                              p->fields.name, key->name, before, v);
    p->at += size;
    p->fields.value[id] = v;
    p->fields.seen[id] = true;
    return id == PSR_KEY_FCHANNEL ? append_frequency(p, v, err) : PSR_OK;
}

static enum psr_sigproc_key_id find_key(const char *key)
{
    int id = 0;
    while (id < PSR_NKEY && strcmp(keys[id].name, key) != 0)
        id++;
    return (enum psr_sigproc_key_id)id;
}

static psr_status read_key(struct parse *p, enum psr_sigproc_key_id *id, bool *need_more,
                           psr_err *err)
{
    size_t length = 0;
    char key[PSR_SIGPROC_KEY_MAX + 1] = "";
    enum verdict v = is_string_at(p, p->at, is_key_char, &length);
    if (v == SHORT)
        return fail_short(p, need_more, err);
    if (v == NO)
        return psr_fail(err, PSR_EFORMAT, "%s: byte %zu of the header: no key where one must be",
                        p->fields.name, p->at);
    memcpy(key, p->bytes + p->at + 4, length);
    p->at += 4 + length;
    *id = find_key(key);
    if (*id == PSR_NKEY)
        return skip_unknown(p, key, need_more, err);
    if (keys[*id].type == PSR_SIGPROC_TEXT)
        return read_text(p, *id, need_more, err);
    if (keys[*id].type != PSR_SIGPROC_FLAG)
        return read_number(p, *id, need_more, err);
    return PSR_OK;
}

psr_status psr_sigproc_parse_header(struct psr_sigproc_header *h, const void *bytes, size_t n,
                                    const char *name, const struct psr_notes *notes, psr_err *err)
{
    struct parse p = {.bytes = bytes, .n = n, .fields = {.name = name, .notes = notes}};
    *h = (struct psr_sigproc_header){.data_type = PSR_SIGPROC_FILTERBANK};
    psr_obs_init(&h->obs);
    psr_status st = parse_start(&p, &h->need_more, err);
    enum psr_sigproc_key_id id = PSR_NKEY;
    while (!st && id != PSR_KEY_HEADER_END)
        st = read_key(&p, &id, &h->need_more, err);
    if (!st)
        st = fill_obs(&h->obs, &p.fields, err);
    if (p.fields.seen[PSR_KEY_DATA_TYPE])
        h->data_type = (int)p.fields.value[PSR_KEY_DATA_TYPE];
    h->bytes = p.at;
    free(p.fields.table);
    if (st)
        psr_obs_clear(&h->obs);
    return st;
}

psr_status psr_sigproc_parse(struct psr_obs *obs, size_t *header_bytes, bool *need_more,
                             const void *bytes, size_t n, const char *name,
                             const struct psr_notes *notes, psr_err *err)
{
    struct psr_sigproc_header h;
    psr_status st = psr_sigproc_parse_header(&h, bytes, n, name, notes, err);
    *obs = h.obs;
    *header_bytes = h.bytes;
    *need_more = h.need_more;
    return st;
}

/* --- reads SIGPROC filterbank files and pipes ------------------------------------------------- */

static psr_status refuse_other_format(const struct psr_spectra_start *start, psr_err *err)
{
    const char *name = psr_is_fits(start->bytes, start->n)   ? "FITS"
                       : psr_is_hdf5(start->bytes, start->n) ? "HDF5"
                                                             : NULL;
    if (!name)
        return PSR_OK;
    if (start->stream)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: %s files cannot be read from a pipe; give the name of the file",
                        start->name, name);
    return psr_fail(err, PSR_EFORMAT, "%s: a %s file, a SIGPROC file was expected", start->name,
                    name);
}

/* So little has come that it may yet be the beginning of a FITS file. */
static bool may_be_fits(const struct psr_spectra_start *start)
{
    return start->n < strlen(PSR_FITS_MAGIC) && memcmp(start->bytes, PSR_FITS_MAGIC, start->n) == 0;
}

/* Only spectra with a frequency axis can be a source. */
static psr_status check_data_type(const struct psr_spectra_start *start,
                                  const struct psr_sigproc_header *h, psr_err *err)
{
    switch (h->data_type) {
    case PSR_SIGPROC_RAW:
    case PSR_SIGPROC_FILTERBANK:
        return PSR_OK;
    case PSR_SIGPROC_SERIES:
        if (h->obs.nchan == 1)
            return psr_fail(
                err, PSR_EUNSUPPORTED,
                "%s: data_type = 2, a time series dedispersed at DM %.10g, must be 1, a "
                "filterbank",
                start->name, h->obs.refdm);
        break;
    case PSR_SIGPROC_SUBBANDS:
        break;
    case PSR_SIGPROC_PROFILE:
    case PSR_SIGPROC_AMPLITUDES:
    case PSR_SIGPROC_SPECTRUM:
        return psr_fail(
            err, PSR_EUNSUPPORTED,
            "%s: data_type = %d, folded profiles or a spectrum, must be 1, a filterbank",
            start->name, h->data_type);
    }
    psr_note(start->notes, "%s: data_type = %d, read as a filterbank", start->name, h->data_type);
    return PSR_OK;
}

/* A series is for other tools: its name says that it is one. */
static psr_status check_series_name(const char *name, psr_err *err)
{
    static const char *const suffixes[] = {".dat", ".sdat", ".fft", ".tim"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof suffixes / sizeof *suffixes; i++)
        if (!strcmp(dot, suffixes[i]))
            return psr_fail(err, PSR_EUNSUPPORTED,
                            "%s: %s, not spectra: gpuaccel-pulscan searches it%s", name,
                            i == 2 ? "a Fourier transform" : "a dedispersed series",
                            i == 2 ? "" : ", gpufold folds it");
    return PSR_OK;
}

psr_status psr_sigproc_parse_start(struct psr_spectra_header *h,
                                   const struct psr_spectra_start *start, psr_err *err)
{
    struct psr_sigproc_header sigproc = {.need_more = false};
    psr_obs_init(&sigproc.obs);
    psr_status st = refuse_other_format(start, err);
    if (!st)
        st = psr_sigproc_parse_header(&sigproc, start->bytes, start->n, start->name, start->notes,
                                      err);
    if (!st)
        st = check_data_type(start, &sigproc, err);
    else
        sigproc.need_more |= may_be_fits(start);
    if (st && (!sigproc.need_more || start->end) && check_series_name(start->name, err))
        st = PSR_EUNSUPPORTED;
    if (st)
        psr_obs_clear(&sigproc.obs);
    *h = (struct psr_spectra_header){
        .obs = sigproc.obs, .bytes = sigproc.bytes, .need_more = sigproc.need_more};
    return st;
}

psr_status psr_sigproc_open(struct psr_reader **out, const char *path,
                            const struct psr_source_desc *desc, psr_err *err)
{
    return psr_spectra_reader_open(out, path, desc, psr_sigproc_parse_start, err);
}
