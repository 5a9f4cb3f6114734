/* Parses the bytes of a SIGPROC header. */
#include "formats/spectra/polarisation.h"
#include "sigproc_header.h"

#include "base/tool.h"
#include "formats/spectra/source_internal.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
                              p->fields.name, psr_sigproc_keys[id].name, length, PSR_TEXT_MAX);
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
    const struct psr_sigproc_key *key = psr_sigproc_keys + id;
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
    while (id < PSR_NKEY && strcmp(psr_sigproc_keys[id].name, key) != 0)
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
    if (psr_sigproc_keys[*id].type == PSR_SIGPROC_TEXT)
        return read_text(p, *id, need_more, err);
    if (psr_sigproc_keys[*id].type != PSR_SIGPROC_FLAG)
        return read_number(p, *id, need_more, err);
    return PSR_OK;
}

static psr_status read_keys(struct parse *p, bool *need_more, psr_err *err)
{
    psr_status st = parse_start(p, need_more, err);
    enum psr_sigproc_key_id id = PSR_NKEY;
    while (!st && id != PSR_KEY_HEADER_END)
        st = read_key(p, &id, need_more, err);
    return st;
}

psr_status psr_sigproc_parse_header(struct psr_sigproc_header *h, const void *bytes, size_t n,
                                    const char *name, const struct psr_notes *notes, psr_err *err)
{
    struct parse p = {.bytes = bytes, .n = n, .fields = {.name = name, .notes = notes}};
    *h = (struct psr_sigproc_header){.data_type = PSR_SIGPROC_FILTERBANK};
    psr_obs_init(&h->obs);
    psr_status st = read_keys(&p, &h->need_more, err);
    if (!st)
        st = psr_sigproc_fill(&h->obs, &p.fields, err);
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
