#include "sigproc_header.h"

#include "base/grow.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum key_id {
    SOURCE_NAME,
    RAWDATAFILE,
    MACHINE_ID,
    TELESCOPE_ID,
    DATA_TYPE,
    NCHANS,
    NBITS,
    NIFS,
    NBEAMS,
    IBEAM,
    BARYCENTRIC,
    PULSARCENTRIC,
    NBINS,
    NSAMPLES,
    NPULS,
    AZ_START,
    ZA_START,
    SRC_RAJ,
    SRC_DEJ,
    TSTART,
    TSAMP,
    FCH1,
    FOFF,
    REFDM,
    PERIOD,
    FCHANNEL,
    SIGNED,
    FREQUENCY_START,
    FREQUENCY_END,
    HEADER_END,
    NKEY,
};

/* Values outside [min, max] make the file unreadable; min = max = 0 is no limit. */
static const struct key {
    const char *name;
    enum psr_sigproc_type type;
    double min, max;
} keys[NKEY] = {
    [SOURCE_NAME] = {"source_name", PSR_SIGPROC_TEXT, 0, 0},
    [RAWDATAFILE] = {"rawdatafile", PSR_SIGPROC_TEXT, 0, 0},
    [MACHINE_ID] = {"machine_id", PSR_SIGPROC_INT32, 0, 0},
    [TELESCOPE_ID] = {"telescope_id", PSR_SIGPROC_INT32, 0, 0},
    [DATA_TYPE] = {"data_type", PSR_SIGPROC_INT32, 0, 0},
    [NCHANS] = {"nchans", PSR_SIGPROC_INT32, 1, 1 << 20},
    [NBITS] = {"nbits", PSR_SIGPROC_INT32, 1, 32},
    [NIFS] = {"nifs", PSR_SIGPROC_INT32, 1, 16},
    [NBEAMS] = {"nbeams", PSR_SIGPROC_INT32, 0, 0},
    [IBEAM] = {"ibeam", PSR_SIGPROC_INT32, 0, 0},
    [BARYCENTRIC] = {"barycentric", PSR_SIGPROC_INT32, 0, 0},
    [PULSARCENTRIC] = {"pulsarcentric", PSR_SIGPROC_INT32, 0, 0},
    [NBINS] = {"nbins", PSR_SIGPROC_INT32, 0, 0},
    [NSAMPLES] = {"nsamples", PSR_SIGPROC_INT32, 0, 0},
    [NPULS] = {"npuls", PSR_SIGPROC_INT64, 0, 0},
    [AZ_START] = {"az_start", PSR_SIGPROC_DOUBLE, 0, 0},
    [ZA_START] = {"za_start", PSR_SIGPROC_DOUBLE, 0, 0},
    [SRC_RAJ] = {"src_raj", PSR_SIGPROC_DOUBLE, 0, 0},
    [SRC_DEJ] = {"src_dej", PSR_SIGPROC_DOUBLE, 0, 0},
    [TSTART] = {"tstart", PSR_SIGPROC_DOUBLE, 0, 1e6},
    [TSAMP] = {"tsamp", PSR_SIGPROC_DOUBLE, 0, 1e6},
    [FCH1] = {"fch1", PSR_SIGPROC_DOUBLE, -1e12, 1e12},
    [FOFF] = {"foff", PSR_SIGPROC_DOUBLE, -1e12, 1e12},
    [REFDM] = {"refdm", PSR_SIGPROC_DOUBLE, -1e12, 1e12},
    [PERIOD] = {"period", PSR_SIGPROC_DOUBLE, 0, 0},
    [FCHANNEL] = {"fchannel", PSR_SIGPROC_DOUBLE, -1e12, 1e12},
    [SIGNED] = {"signed", PSR_SIGPROC_CHAR, 0, 0},
    [FREQUENCY_START] = {"FREQUENCY_START", PSR_SIGPROC_FLAG, 0, 0},
    [FREQUENCY_END] = {"FREQUENCY_END", PSR_SIGPROC_FLAG, 0, 0},
    [HEADER_END] = {"HEADER_END", PSR_SIGPROC_FLAG, 0, 0},
};

/* A header as it is read: the place in the bytes, and the values met so far. */
struct parse {
    const unsigned char *bytes;
    size_t n, at;
    const char *name;
    const struct psr_notes *notes;
    double value[NKEY];
    bool seen[NKEY];
    char source[PSR_TEXT_MAX];
    double *table; /* [ntable] of room for [table_room] */
    size_t ntable, table_room;
};

/* What the bytes at a place allow to be said of it. */
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
        return psr_fail(err, PSR_EFORMAT, "%s: empty, a SIGPROC header was expected", p->name);
    if (!*need_more)
        return psr_fail(err, PSR_EFORMAT, "%s: no HEADER_END in the first %d bytes", p->name,
                        PSR_SIGPROC_HEADER_MAX);
    return psr_fail(err, PSR_EFORMAT, "%s: the header is cut off: %zu bytes and no HEADER_END",
                    p->name, p->n);
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
                            p->name, programs[k]);
    }
    return psr_fail(err, PSR_EFORMAT, "%s: no SIGPROC header: the first bytes are not HEADER_START",
                    p->name);
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
                        p->name);
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
            p->name, key, p->at);
    p->at = end;
    psr_note(p->notes, "%s: unknown key '%s' (%s) skipped", p->name, key, type_name(found));
    return PSR_OK;
}

static psr_status read_text(struct parse *p, enum key_id id, bool *need_more, psr_err *err)
{
    if (p->n - p->at < 4)
        return fail_short(p, need_more, err);
    size_t length = (size_t)little_endian(p->bytes + p->at, 4);
    if (length >= PSR_TEXT_MAX)
        return psr_fail(err, PSR_EFORMAT, "%s: %s: length = %zu, must be below %d", p->name,
                        keys[id].name, length, PSR_TEXT_MAX);
    if (p->n - p->at - 4 < length)
        return fail_short(p, need_more, err);
    if (id == SOURCE_NAME && length > 0) {
        memcpy(p->source, p->bytes + p->at + 4, length);
        p->source[length] = 0;
    }
    p->at += 4 + length;
    p->seen[id] = true;
    return PSR_OK;
}

static psr_status append_frequency(struct parse *p, double freq_mhz, psr_err *err)
{
    psr_status st = psr_grow(&p->table, &p->table_room, p->ntable, sizeof *p->table,
                             "channel frequencies", err);
    if (!st)
        p->table[p->ntable++] = freq_mhz;
    return st;
}

static psr_status read_number(struct parse *p, enum key_id id, bool *need_more, psr_err *err)
{
    static const size_t sizes[] = {
        [PSR_SIGPROC_CHAR] = 1,
        [PSR_SIGPROC_INT32] = 4,
        [PSR_SIGPROC_INT64] = 8,
        [PSR_SIGPROC_DOUBLE] = 8,
    };
    const struct key *key = keys + id;
    size_t size = sizes[key->type];
    const unsigned char *at = p->bytes + p->at;
    if (p->n - p->at < size)
        return fail_short(p, need_more, err);
    double v = key->type == PSR_SIGPROC_DOUBLE  ? read_double(at)
               : key->type == PSR_SIGPROC_INT32 ? (double)(int32_t)little_endian(at, 4)
                                                : (double)(int64_t)little_endian(at, size);
    bool limited = key->min < key->max;
    if (limited && !(v >= key->min && v <= key->max))
        return psr_fail(err, PSR_EFORMAT, "%s: %s = %.15g, must be %.15g to %.15g", p->name,
                        key->name, v, key->min, key->max);
    p->at += size;
    p->value[id] = v;
    p->seen[id] = true;
    return id == FCHANNEL ? append_frequency(p, v, err) : PSR_OK;
}

static enum key_id find_key(const char *key)
{
    int id = 0;
    while (id < NKEY && strcmp(keys[id].name, key) != 0)
        id++;
    return (enum key_id)id;
}

static psr_status read_key(struct parse *p, enum key_id *id, bool *need_more, psr_err *err)
{
    size_t length = 0;
    char key[PSR_SIGPROC_KEY_MAX + 1] = "";
    enum verdict v = is_string_at(p, p->at, is_key_char, &length);
    if (v == SHORT)
        return fail_short(p, need_more, err);
    if (v == NO)
        return psr_fail(err, PSR_EFORMAT, "%s: byte %zu of the header: no key where one must be",
                        p->name, p->at);
    memcpy(key, p->bytes + p->at + 4, length);
    p->at += 4 + length;
    *id = find_key(key);
    if (*id == NKEY)
        return skip_unknown(p, key, need_more, err);
    if (keys[*id].type == PSR_SIGPROC_TEXT)
        return read_text(p, *id, need_more, err);
    if (keys[*id].type != PSR_SIGPROC_FLAG)
        return read_number(p, *id, need_more, err);
    return PSR_OK;
}

static psr_status read_keys(struct parse *p, bool *need_more, psr_err *err)
{
    psr_status st = parse_start(p, need_more, err);
    enum key_id id = NKEY;
    while (!st && id != HEADER_END)
        st = read_key(p, &id, need_more, err);
    return st;
}

static psr_status require_keys(const struct parse *p, psr_err *err)
{
    bool series = p->value[DATA_TYPE] == PSR_SIGPROC_SERIES;
    bool table = p->ntable > 0;
    bool one_channel = series || p->value[NCHANS] == 1;
    const struct {
        enum key_id id;
        bool needed;
    } needs[] = {
        {NCHANS, !series},
        {NBITS, true},
        {TSAMP, true},
        {FCH1, !table},
        {FOFF, !table && !one_channel},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].needed && !p->seen[needs[i].id])
            return psr_fail(err, PSR_EFORMAT, "%s: the header has no %s", p->name,
                            keys[needs[i].id].name);
    return PSR_OK;
}

static void fill_samples(struct psr_obs *obs, const struct parse *p)
{
    obs->nchan = p->seen[NCHANS] ? (size_t)p->value[NCHANS] : 1;
    obs->nif = p->seen[NIFS] ? (int)p->value[NIFS] : 1;
    obs->nbit = (int)p->value[NBITS];
    obs->tsamp_s = p->value[TSAMP];
    obs->kind = obs->nbit == 32 ? PSR_FLOAT : p->value[SIGNED] != 0 ? PSR_INT : PSR_UINT;
    if (p->value[NSAMPLES] > 0)
        obs->nsamp = (int64_t)p->value[NSAMPLES];
}

static psr_status fill_band(struct psr_obs *obs, struct parse *p, psr_err *err)
{
    obs->fch1_mhz = p->value[FCH1];
    obs->foff_mhz = p->value[FOFF];
    if (p->ntable == 0)
        return PSR_OK;
    if (p->ntable != obs->nchan)
        return psr_fail(err, PSR_EFORMAT, "%s: %zu fchannel entries, must be nchans = %zu", p->name,
                        p->ntable, obs->nchan);
    obs->freq_mhz = p->table;
    p->table = NULL;
    if (!p->seen[FCH1])
        obs->fch1_mhz = obs->freq_mhz[0];
    if (!p->seen[FOFF] && obs->nchan > 1)
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
static void fill_position(struct psr_obs *obs, const struct parse *p)
{
    double raj = p->value[SRC_RAJ], dej = p->value[SRC_DEJ], hours, degrees;
    if (!p->seen[SRC_RAJ] || !p->seen[SRC_DEJ] || (raj == 0 && dej == 0))
        return;
    if (!read_angle(raj, &hours) || !read_angle(dej, &degrees) || raj < 0 || hours > 24 ||
        fabs(degrees) > 90) {
        psr_note(
            p->notes,
            "%s: src_raj = %.15g, src_dej = %.15g are no hhmmss.s and ddmmss.s: the position is "
            "taken as unknown",
            p->name, raj, dej);
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

static void fill_rest(struct psr_obs *obs, const struct parse *p)
{
    double day = floor(p->value[TSTART]);
    obs->tstart = (struct psr_mjd){.day = (long)day, .frac = p->value[TSTART] - day};
    if (!p->seen[TSTART])
        psr_note(p->notes, "%s: the header has no tstart: MJD 0 is taken", p->name);
    obs->barycentric = p->value[BARYCENTRIC] != 0;
    obs->az_deg = finite_or_zero(p->value[AZ_START]);
    obs->za_deg = finite_or_zero(p->value[ZA_START]);
    obs->refdm = p->value[REFDM];
    obs->ibeam = count_or_zero(p->value[IBEAM]);
    obs->nbeam = count_or_zero(p->value[NBEAMS]);
    if (p->seen[MACHINE_ID])
        obs->machine_id = (int)p->value[MACHINE_ID];
    if (p->seen[TELESCOPE_ID])
        obs->telescope_id = (int)p->value[TELESCOPE_ID];
    strcpy(obs->telescope, psr_telescope_name(obs->telescope_id));
    strcpy(obs->instrument, psr_machine_name(obs->machine_id));
    if (*p->source)
        memcpy(obs->source, p->source, sizeof obs->source);
}

static psr_status fill_obs(struct psr_obs *obs, struct parse *p, psr_err *err)
{
    psr_status st = require_keys(p, err);
    if (st)
        return st;
    fill_samples(obs, p);
    st = fill_band(obs, p, err);
    if (!st)
        st = psr_obs_check(obs, p->name, err);
    if (st)
        return st;
    fill_position(obs, p);
    fill_rest(obs, p);
    return PSR_OK;
}

psr_status psr_sigproc_parse_header(struct psr_sigproc_header *h, const void *bytes, size_t n,
                                    const char *name, const struct psr_notes *notes, psr_err *err)
{
    struct parse p = {.bytes = bytes, .n = n, .name = name, .notes = notes};
    *h = (struct psr_sigproc_header){.data_type = PSR_SIGPROC_FILTERBANK};
    psr_obs_init(&h->obs);
    psr_status st = read_keys(&p, &h->need_more, err);
    if (!st)
        st = fill_obs(&h->obs, &p, err);
    if (p.seen[DATA_TYPE])
        h->data_type = (int)p.value[DATA_TYPE];
    h->bytes = p.at;
    free(p.table);
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
