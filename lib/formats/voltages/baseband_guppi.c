/* Reads voltages of GUPPI raw files: blocks, each with a header of 80-character cards. */
#include "base/obs_internal.h"
#include "baseband.h"
#include "formats/spectra/header_keys.h"

#include <stdlib.h>
#include <string.h>

enum { CARD = 80, CARDS_MAX = 2304, DIRECT_BYTES = 512, BLOCK_BYTES_MAX = 1 << 30 };

/* What the header of a block says. */
struct block {
    size_t header_bytes;
    int64_t bytes; /* BLOCSIZE */
    int64_t overlap;
    int64_t packet, packet_bytes; /* PKTIDX, PKTSIZE */
    int64_t per_block;            /* PIPERBLK; 0 if absent */
};

struct state {
    struct block first; /* of the input */
    struct psr_baseband_header header;
    size_t nsamp;        /* of a block, without those at its end that the next one repeats */
    double packet_nsamp; /* samples per unit of PKTIDX */
    int64_t from, next;  /* sample of the first block; after the last one */
    uint8_t *buffer;
};

static size_t find_end(const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at + CARD <= n; at += CARD)
        if (!memcmp(bytes + at, "END ", 4))
            return at + CARD;
    return 0;
}

static bool is_guppi(const uint8_t *bytes, size_t n)
{
    const size_t end = find_end(bytes, n);
    for (size_t at = 0; at < end; at += CARD)
        if (!memcmp(bytes + at, "BLOCSIZE=", 9))
            return true;
    return false;
}

/* --- headers ---------------------------------------------------------------------------------- */

static psr_status read_block(const struct psr_header_keys *k, struct block *h, psr_err *err)
{
    int64_t direct = 0;
    const struct psr_header_number numbers[] = {
        {"BLOCSIZE", true, 1, BLOCK_BYTES_MAX, &h->bytes, NULL},
        {"OVERLAP", false, 0, BLOCK_BYTES_MAX, &h->overlap, NULL},
        {"PKTIDX", false, 0, 1LL << 50, &h->packet, NULL},
        {"PKTSIZE", false, 1, BLOCK_BYTES_MAX, &h->packet_bytes, NULL},
        {"PIPERBLK", false, 0, BLOCK_BYTES_MAX, &h->per_block, NULL},
        {"DIRECTIO", false, 0, 1, &direct, NULL},
    };
    psr_status st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    if (direct)
        h->header_bytes = (h->header_bytes + DIRECT_BYTES - 1) / DIRECT_BYTES * DIRECT_BYTES;
    return st;
}

/* What a recorder has set aside and not filled. */
static bool are_zeros(const uint8_t *bytes, size_t n)
{
    return n > 0 && bytes[0] == 0 && !memcmp(bytes, bytes + 1, n - 1);
}

/* Reads the header at the current place; *more is false at the end of the input, of which zeros are no part. */
static psr_status peek_header(psr_baseband *b, struct psr_header_keys *k, struct block *h,
                              bool *more, psr_err *err)
{
    const uint8_t *bytes;
    size_t got, want = 64 * CARD;
    psr_status st = psr_baseband_input_peek(b->input, want, &bytes, &got, err);
    *h = (struct block){.header_bytes = 0};
    while (!st && got == want && want < CARD * CARDS_MAX && !find_end(bytes, got)) {
        want *= 2;
        want = want < CARD * CARDS_MAX ? want : CARD * CARDS_MAX;
        st = psr_baseband_input_peek(b->input, want, &bytes, &got, err);
    }
    *more = got > 0;
    if (st || got == 0)
        return st;
    h->header_bytes = find_end(bytes, got);
    if (h->header_bytes == 0 && b->input->at > 0 && are_zeros(bytes, got)) {
        psr_note(&b->d.notes,
                 "%s: zeros follow the block that ends at byte %lld: the input ends there", k->name,
                 (long long)b->input->at);
        *more = false;
        return PSR_OK;
    }
    if (h->header_bytes == 0)
        return psr_fail_field(err, PSR_EFORMAT, "END",
                              "%s: no END within %zu bytes of the block header at byte %lld",
                              k->name, got, (long long)b->input->at);
    st = psr_header_keys_cards(k, (const char *)bytes, h->header_bytes, err);
    return st ? st : read_block(k, h, err);
}

static psr_status read_numbers(const struct psr_header_keys *k, struct psr_baseband_header *h,
                               psr_err *err)
{
    const char *format = psr_header_keys_text(k, "PKTFMT");
    int64_t nant = 1, nchan = 0, npol = 0, nbit = 0;
    double tbin_s = 1;
    const struct psr_header_number antennas = {"NANTS", false, 0, 1 << 20, &nant, NULL};
    const struct psr_header_number numbers[] = {
        {"OBSNCHAN", true, 1, 1 << 20, &nchan, NULL},
        {"NPOL", true, 1, 4, &npol, NULL},
        {"NBITS", true, 2, 16, &nbit, NULL},
        {"OBSFREQ", true, 1e-3, 1e9, NULL, &h->freq_mhz},
        {"OBSBW", true, -1e9, 1e9, NULL, &h->bw_mhz},
        {"TBIN", true, 1e-12, 1e3, NULL, &tbin_s},
    };
    psr_status st = psr_header_keys_numbers(k, &antennas, 1, err);
    if (!st && nant > 1) /* OBSNCHAN counts the channels of all of them */
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "NANTS",
                            "%s: NANTS is %lld, must be 1: take one antenna out first", k->name,
                            (long long)nant);
    if (!st)
        st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    if (!st && (nbit & (nbit - 1)))
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "NBITS",
                            "%s: NBITS is %lld, must be 2, 4, 8 or 16", k->name, (long long)nbit);
    h->nchan = (size_t)nchan;
    h->npol = npol == 1 ? 1 : 2; /* 4 is what a detector makes of two */
    h->nbit = (int)nbit;
    h->rate_hz = 1 / tbin_s;
    /* Packets of VDIF may be real voltages, at twice the rate; all others are complex.  Twice the rate alone may be two
     * antennas, or a wrong band. */
    h->real =
        format && !strcmp(format, "VDIF") && h->rate_hz * (double)nchan > 1.5e6 * fabs(h->bw_mhz);
    return st;
}

static psr_status lay_out(const struct psr_header_keys *k, psr_baseband *b, struct state *s,
                          psr_err *err)
{
    const char *format = psr_header_keys_text(k, "PKTFMT");
    const size_t nchan = b->header.nchan, npol = b->header.npol, ndim = b->header.real ? 1 : 2;
    const size_t element = ndim * (size_t)b->header.nbit, sample_bits = nchan * npol * element;
    const size_t bits = (size_t)s->first.bytes * 8, ntime = bits / sample_bits;
    const bool slow_time = format && !strcmp(format, "SIMPLE");
    if (ntime * sample_bits != bits)
        return psr_fail_field(err, PSR_EFORMAT, "BLOCSIZE",
                              "%s: BLOCSIZE is %lld, must be a number of samples of %zu bits",
                              k->name, (long long)s->first.bytes, sample_bits);
    if (s->first.overlap >= (int64_t)ntime)
        return psr_fail_field(err, PSR_EFORMAT, "OVERLAP",
                              "%s: OVERLAP is %lld, must be below the %zu samples of a block",
                              k->name, (long long)s->first.overlap, ntime);
    b->overlap = s->first.overlap;
    s->nsamp = ntime - (size_t)b->overlap;
    b->layout.frame_nsamp = ntime;
    b->layout.frame_bytes = (size_t)s->first.bytes;
    b->layout.sample_bits = slow_time ? sample_bits : npol * element;
    b->layout.nplane = nchan * npol;
    b->layout.ndim = ndim;
    psr_status st = psr_baseband_make_planes(&b->layout, err);
    for (size_t i = 0; i < nchan * npol && !st; i++)
        b->layout.plane_bits[i] =
            i / npol * (slow_time ? npol : npol * ntime) * element + i % npol * element;
    return st;
}

/* Samples per unit of PKTIDX: blocks tell by PIPERBLK, else packets by their size, which was not
 * reduced with the samples where 8 bits became 2. */
static void find_packets(struct state *s, const struct psr_baseband_header *h)
{
    const double sample_bytes =
        (double)(h->nchan * h->npol * (h->real ? 1 : 2)) * (double)h->nbit / 8;
    const double packet = (double)s->first.packet_bytes / (h->nbit == 2 ? 4 : 1);
    s->packet_nsamp = s->first.per_block > 0      ? (double)s->nsamp / (double)s->first.per_block
                      : s->first.packet_bytes > 0 ? packet / sample_bytes
                                                  : 0;
}

static psr_status open_guppi(psr_baseband *b, struct psr_mjd *start, psr_err *err)
{
    struct psr_header_keys k = {.name = b->input->name};
    const char *format;
    struct psr_baseband_header *h = &b->header;
    bool more;
    struct state *s = b->state = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "a reader", sizeof *s);
    psr_status st = peek_header(b, &k, &s->first, &more, err);
    if (!st)
        st = read_numbers(&k, h, err);
    format = psr_header_keys_text(&k, "PKTFMT");
    b->coding = (struct baseband_coding){.nbit = h->nbit};
    if (h->nbit == 2 || (format && !strcmp(format, "VDIF")))
        b->coding.code = BASEBAND_OFFSET;
    b->coding.high_first = true;
    if (!st)
        psr_baseband_fill_values(&b->coding);
    if (!st)
        st = lay_out(&k, b, s, err);
    if (!st) {
        find_packets(s, h);
        const double rate_hz = h->rate_hz;
        int64_t day = 0, second = 0;
        double fraction = 0;
        const struct psr_header_number numbers[] = {
            {"STT_IMJD", false, 0, 1000000, &day, NULL},
            {"STT_SMJD", false, 0, 86400, &second, NULL},
            {"STT_OFFS", false, -1e6, 1e6, NULL, &fraction},
        };
        st = psr_header_keys_numbers(&k, numbers, sizeof numbers / sizeof *numbers, err);
        const double seconds = (double)s->first.packet * s->packet_nsamp / rate_hz;
        if (!st && !(seconds < 1e9))
            st = psr_fail_field(err, PSR_EFORMAT, "PKTIDX",
                                "%s: PKTIDX is %lld, %.3g s after the start, limit 1e9 s", k.name,
                                (long long)s->first.packet, seconds);
        *start = (struct psr_mjd){(long)day, 0};
        if (!st)
            *start = psr_mjd_add(*start, (double)second + fraction + seconds);
    }
    if (!st) {
        psr_header_keys_copy(&k, "TELESCOP", h->telescope);
        psr_header_keys_copy(&k, "SRC_NAME", h->source);
        psr_header_keys_copy(&k, "BACKEND", h->instrument);
        h->has_position =
            psr_header_keys_position(&k, "RA_STR", "DEC_STR", &h->ra_deg, &h->dec_deg);
        s->header = *h;
        b->sample_bytes =
            (double)((int64_t)s->first.header_bytes + s->first.bytes) / (double)s->nsamp;
    }
    psr_header_keys_clear(&k);
    return st;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static psr_status begin_guppi(psr_baseband *b, const struct baseband_part *part, psr_err *err)
{
    struct state *s = b->state;
    (void)err;
    b->hold = (int64_t)b->layout.frame_nsamp;
    s->from = s->next = part->first;
    return PSR_OK;
}

static psr_status check_like(const struct psr_header_keys *k, const struct state *s,
                             const struct block *h, psr_err *err)
{
    struct psr_baseband_header now = {.nchan = 0};
    psr_status st = read_numbers(k, &now, err);
    if (st)
        return st;
    const struct {
        const char *key;
        double is, was;
    } same[] = {{"BLOCSIZE", (double)h->bytes, (double)s->first.bytes},
                {"OVERLAP", (double)h->overlap, (double)s->first.overlap},
                {"OBSNCHAN", (double)now.nchan, (double)s->header.nchan},
                {"NPOL", (double)now.npol, (double)s->header.npol},
                {"NBITS", now.nbit, s->header.nbit},
                {"TBIN", now.rate_hz, s->header.rate_hz}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i].is != same[i].was)
            return psr_fail_field(err, PSR_EFORMAT, same[i].key,
                                  "%s: %s changes from %g to %g within the file", k->name,
                                  same[i].key, same[i].was, same[i].is);
    return PSR_OK;
}

static int64_t find_sample(const struct state *s, int64_t packet)
{
    const double ahead = (double)(packet - s->first.packet) * s->packet_nsamp;
    return s->packet_nsamp > 0 ? psr_baseband_sample((double)s->from + ahead) : s->next;
}

static psr_status next_guppi(psr_baseband *b, struct baseband_chunk *chunk, psr_err *err)
{
    struct state *s = b->state;
    struct psr_header_keys k = {.name = b->input->name};
    struct block h;
    bool more;
    size_t got = 0, nsamp = 0;
    *chunk = (struct baseband_chunk){.nsamp = 0};
    psr_status st = peek_header(b, &k, &h, &more, err);
    if (!st && more)
        st = check_like(&k, s, &h, err);
    psr_header_keys_clear(&k);
    if (st || !more)
        return st;
    if (!s->buffer && !(s->buffer = malloc((size_t)h.bytes)))
        return psr_fail_nomem(err, "a block", (double)h.bytes);
    st = psr_baseband_input_skip(b->input, (int64_t)h.header_bytes, err);
    if (!st)
        st = psr_baseband_input_take(b->input, s->buffer, (size_t)h.bytes, &got, err);
    if (!st && got == (size_t)h.bytes)
        nsamp = b->layout.frame_nsamp;
    else if (!st)
        psr_note(&b->d.notes, "%s: is cut: %zu bytes of the last block, of %lld, are left out",
                 b->input->name, got, (long long)h.bytes);
    *chunk = (struct baseband_chunk){
        .first = find_sample(s, h.packet), .nsamp = nsamp, .bytes = s->buffer};
    if (!st && nsamp > 0) {
        b->count.missing +=
            chunk->first > s->next ? (chunk->first - s->next) / (int64_t)s->nsamp : 0;
        b->count.nframe++;
        s->next = chunk->first >= s->next ? chunk->first + (int64_t)s->nsamp : s->next;
    }
    return st;
}

static void close_guppi(void *state)
{
    struct state *s = state;
    if (s)
        free(s->buffer);
    free(s);
}

const struct baseband_format psr_baseband_guppi = {"GUPPI",     is_guppi,   open_guppi,
                                                   begin_guppi, next_guppi, close_guppi};
