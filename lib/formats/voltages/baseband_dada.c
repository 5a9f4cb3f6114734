/* Reads voltages of DADA files. */
#include "baseband.h"
#include "formats/dada/dada_internal.h"

#include <psrkit/experimental/dada.h>

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20, UNIT_BYTES_MAX = 1 << 28, MKBF_HEAP = 256 };

struct state {
    int64_t header_bytes;
    size_t unit_nsamp, unit_bytes; /* a block, or the fewest samples that fill bytes */
    bool whole_units;              /* samples of a part of a unit cannot be read */
    uint8_t *buffer;
    int64_t at; /* next sample */
};

/* --- the header ------------------------------------------------------------------------------- */

static psr_status read_numbers(const struct psr_header_keys *k, psr_baseband *b, double *tsamp_us,
                               psr_err *err)
{
    struct psr_baseband_header *h = &b->header;
    int64_t nchan = 1, npol = 1, nbit = 0, ndim = 1, nant = 1;
    const struct psr_header_number numbers[] = {
        {"NCHAN", false, 1, 1 << 20, &nchan, NULL}, {"NPOL", false, 1, 2, &npol, NULL},
        {"NDIM", true, 1, 2, &ndim, NULL},          {"NBIT", true, 1, 32, &nbit, NULL},
        {"NANT", false, 1, 1, &nant, NULL},         {"FREQ", false, 1e-3, 1e9, NULL, &h->freq_mhz},
        {"BW", false, -1e9, 1e9, NULL, &h->bw_mhz}, {"TSAMP", true, 1e-6, 1e9, NULL, tsamp_us},
    };
    psr_status st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    h->nchan = (size_t)nchan;
    h->npol = (size_t)npol;
    h->nbit = (int)nbit;
    h->real = ndim == 1;
    if (!st && (nbit & (nbit - 1)))
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "NBIT",
                            "%s: NBIT is %d, must be 1, 2, 4, 8, 16 or 32", k->name, h->nbit);
    return st;
}

static psr_status read_coding(const struct psr_header_keys *k, psr_baseband *b, psr_err *err)
{
    const char *encoding = psr_header_keys_text(k, "ENCODING");
    struct baseband_coding *c = &b->coding;
    *c = (struct baseband_coding){.nbit = b->header.nbit};
    c->code = c->nbit == 32 ? BASEBAND_FLOAT : c->nbit < 8 ? BASEBAND_OFFSET : BASEBAND_SIGNED;
    if (encoding && !strncmp(encoding, "TWOS", 4))
        c->code = c->nbit == 32 ? BASEBAND_FLOAT : BASEBAND_SIGNED;
    else if (encoding && !strncmp(encoding, "OFFSET", 6) && c->nbit < 32)
        c->code = BASEBAND_OFFSET;
    else if (encoding)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "ENCODING",
                              "%s: ENCODING is %.64s, must be TWOSCOMPLEMENT or OFFSETBINARY",
                              k->name, encoding);
    psr_baseband_fill_values(c);
    return PSR_OK;
}

static psr_status read_start(const struct psr_header_keys *k, psr_baseband *b,
                             struct psr_mjd *start, psr_err *err)
{
    const struct psr_baseband_header *h = &b->header;
    const double sample_bits = (double)(h->nchan * h->npol * (h->real ? 1 : 2)) * h->nbit;
    double overlap = 0;
    const struct psr_header_number number = {"OBS_OVERLAP", false, 0, 1e15, NULL, &overlap};
    psr_status st = psr_dada_read_start(k, sample_bits / 8 * h->rate_hz, start, err);
    if (!st)
        st = psr_header_keys_numbers(k, &number, 1, err);
    b->overlap = psr_baseband_sample(overlap * 8 / sample_bits);
    return st;
}

/* --- the order of samples --------------------------------------------------------------------- */

/* Three letters, the slowest first. */
static psr_status read_order(const struct psr_header_keys *k, const char **order, psr_err *err)
{
    static const char *const known[] = {"TFP", "FTP", "PFT", "FPT", "PTF", "TPF"};
    const char *text = psr_header_keys_text(k, "ORDER");
    const char *instrument = psr_header_keys_text(k, "INSTRUMENT");
    *order = instrument && !strcmp(instrument, "MKBF") ? "PFT" : "TFP";
    if (!text)
        return PSR_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(text, known[i])) {
            *order = known[i];
            return PSR_OK;
        }
    return psr_fail_field(err, PSR_EUNSUPPORTED, "ORDER",
                          "%s: ORDER is %.64s, must be TFP, FTP, PFT, FPT, PTF or TPF", k->name,
                          text);
}

/* Samples of the blocks within which time does not run slowest. */
static psr_status read_block(const struct psr_header_keys *k, size_t sample_bits, size_t *nsamp,
                             psr_err *err)
{
    const char *instrument = psr_header_keys_text(k, "INSTRUMENT");
    int64_t bytes = 0;
    const struct psr_header_number number = {"RESOLUTION", true, 1, UNIT_BYTES_MAX, &bytes, NULL};
    *nsamp = MKBF_HEAP;
    if (instrument && !strcmp(instrument, "MKBF"))
        return PSR_OK;
    psr_status st = psr_header_keys_numbers(k, &number, 1, err);
    if (st)
        return st;
    *nsamp = (size_t)bytes * 8 / sample_bits;
    if (*nsamp == 0 || *nsamp * sample_bits != (size_t)bytes * 8)
        return psr_fail_field(err, PSR_EFORMAT, "RESOLUTION",
                              "%s: RESOLUTION is %lld bytes, must be a number of samples of %zu "
                              "bits",
                              k->name, (long long)bytes, sample_bits);
    return PSR_OK;
}

static psr_status lay_out(const struct psr_header_keys *k, psr_baseband *b, struct state *s,
                          psr_err *err)
{
    const size_t nchan = b->header.nchan, npol = b->header.npol, ndim = b->header.real ? 1 : 2;
    const size_t element = ndim * (size_t)b->header.nbit, sample_bits = nchan * npol * element;
    size_t stride[3] = {0}, bits = element; /* T F P */
    const char *order;
    psr_status st = read_order(k, &order, err);
    if (st)
        return st;
    const char *t = strchr(order, 'T');
    s->whole_units = !((t == order) || (t == order + 1 && (*order == 'F' ? nchan : npol) == 1) ||
                       nchan * npol == 1);
    s->unit_nsamp = sample_bits % 8 ? 8 : 1;
    if (s->whole_units)
        st = read_block(k, sample_bits, &s->unit_nsamp, err);
    s->unit_bytes = s->unit_nsamp * sample_bits / 8;
    if (!st && s->unit_bytes > UNIT_BYTES_MAX)
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "NCHAN", "%s: blocks of %zu bytes, limit %d",
                            k->name, s->unit_bytes, UNIT_BYTES_MAX);
    if (!st && s->unit_nsamp * sample_bits % 8)
        st = psr_fail_field(err, PSR_EFORMAT, "RESOLUTION",
                            "%s: blocks of %zu samples end within a byte", k->name, s->unit_nsamp);
    b->layout.nplane = nchan * npol;
    b->layout.ndim = ndim;
    if (!st)
        st = psr_baseband_make_planes(&b->layout, err);
    if (st)
        return st;
    for (int i = 2; i >= 0; i--) {
        const char letter = order[i];
        stride[letter == 'T' ? 0 : letter == 'F' ? 1 : 2] = bits;
        bits *= letter == 'T' ? s->unit_nsamp : letter == 'F' ? nchan : npol;
    }
    b->layout.sample_bits = stride[0];
    for (size_t i = 0; i < nchan * npol; i++)
        b->layout.plane_bits[i] = i / npol * stride[1] + i % npol * stride[2];
    /* where time runs slowest, frames have no end */
    b->layout.frame_nsamp = s->whole_units ? s->unit_nsamp : SIZE_MAX;
    b->layout.frame_bytes = s->unit_bytes;
    return PSR_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

static psr_status open_dada(psr_baseband *b, struct psr_mjd *start, psr_err *err)
{
    struct psr_header_keys k = {.name = b->input->name};
    struct psr_baseband_header *h = &b->header;
    struct state *s = b->state = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "a reader", sizeof *s);
    const uint8_t *bytes;
    size_t got;
    double tsamp_us = 1;
    psr_status st = psr_baseband_input_peek(b->input, PSR_DADA_HEADER, &bytes, &got, err);
    if (!st)
        st = psr_header_keys_lines(&k, (const char *)bytes, got, err);
    if (!st)
        st = psr_dada_read_size(&k, &s->header_bytes, err);
    if (!st)
        st = psr_baseband_input_peek(b->input, (size_t)s->header_bytes, &bytes, &got, err);
    if (!st && got < (size_t)s->header_bytes)
        st =
            psr_fail_field(err, PSR_EFORMAT, "HDR_SIZE", "%s: ends within its header of %lld bytes",
                           k.name, (long long)s->header_bytes);
    psr_header_keys_clear(&k);
    if (!st)
        st = psr_header_keys_lines(&k, (const char *)bytes, got, err);
    if (!st)
        st = read_numbers(&k, b, &tsamp_us, err);
    b->header.rate_hz = 1e6 / tsamp_us;
    if (!st)
        st = read_coding(&k, b, err);
    if (!st)
        st = lay_out(&k, b, s, err);
    st = st ? st : read_start(&k, b, start, err);
    psr_header_keys_copy(&k, "TELESCOPE", h->telescope);
    psr_header_keys_copy(&k, "SOURCE", h->source);
    psr_header_keys_copy(&k, "INSTRUMENT", h->instrument);
    h->has_position = psr_header_keys_position(&k, "RA", "DEC", &h->ra_deg, &h->dec_deg);
    b->sample_bytes = (double)s->unit_bytes / (double)s->unit_nsamp;
    psr_header_keys_clear(&k);
    return st;
}

static psr_status begin_dada(psr_baseband *b, const struct baseband_part *part, psr_err *err)
{
    struct state *s = b->state;
    const size_t units = s->unit_bytes < CHUNK_BYTES ? CHUNK_BYTES / s->unit_bytes : 1;
    b->hold = (int64_t)(units * s->unit_nsamp);
    s->at = part->first;
    return psr_baseband_input_skip(b->input, s->header_bytes, err);
}

/* The caller's place, for *bytes of whole units that are taken at once; NULL: there is none. */
static uint8_t *find_place(const psr_baseband *b, const struct state *s, size_t *bytes)
{
    const size_t fit = b->place.room / s->unit_bytes, most = b->place.nsamp / s->unit_nsamp;
    if (!b->place.bytes || fit == 0 || most == 0 || s->at != b->count.nsamp)
        return NULL;
    *bytes = (fit < most ? fit : most) * s->unit_bytes;
    return b->place.bytes;
}

static psr_status next_dada(psr_baseband *b, struct baseband_chunk *chunk, psr_err *err)
{
    struct state *s = b->state;
    const size_t sample_bits = s->unit_bytes * 8 / s->unit_nsamp;
    const size_t units = s->unit_bytes < CHUNK_BYTES ? CHUNK_BYTES / s->unit_bytes : 1;
    size_t want = units * s->unit_bytes, got = 0;
    uint8_t *to = find_place(b, s, &want);
    if (!to && !s->buffer && !(s->buffer = malloc(want)))
        return psr_fail_nomem(err, "voltages", (double)want);
    to = to ? to : s->buffer;
    psr_status st = psr_baseband_input_take(b->input, to, want, &got, err);
    if (st)
        return st;
    const size_t nsamp =
        s->whole_units ? got / s->unit_bytes * s->unit_nsamp : got * 8 / sample_bits;
    const size_t used = (nsamp * sample_bits + 7) / 8;
    if (got < want && used < got)
        psr_note(&b->d.notes, "%s: is cut: the last %zu bytes are no whole %s and are left out",
                 b->input->name, got - used, s->whole_units ? "block" : "sample");
    *chunk = (struct baseband_chunk){.first = s->at, .nsamp = nsamp, .bytes = to};
    s->at += (int64_t)nsamp;
    b->count.nframe++;
    return PSR_OK;
}

static void close_dada(void *state)
{
    struct state *s = state;
    if (s)
        free(s->buffer);
    free(s);
}

const struct baseband_format psr_baseband_dada = {"DADA",     psr_dada_is_header, open_dada,
                                                  begin_dada, next_dada,          close_dada};
