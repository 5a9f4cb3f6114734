/* baseband_made.h: makes voltages in the formats that telescopes write, sample by sample. */
#ifndef PSR_BASEBAND_MADE_H
#define PSR_BASEBAND_MADE_H

#include "scratch.h"
#include "tap.h"

/* Random levels of planes [nchan][npol], each [nsamp][ndim]. */
struct made {
    size_t nchan, npol, ndim, nsamp;
    int nbit;
    unsigned *level;
};

static void made_fill(struct made *m, uint64_t *state)
{
    const size_t n = m->nchan * m->npol * m->nsamp * m->ndim;
    m->level = tap_take(n, sizeof *m->level);
    for (size_t i = 0; i < n; i++)
        m->level[i] = (unsigned)(tap_random(state) >> 40) & ((1U << m->nbit) - 1);
}

static unsigned made_level(const struct made *m, size_t chan, size_t pol, size_t t, size_t e)
{
    return m->level[((chan * m->npol + pol) * m->nsamp + t) * m->ndim + e];
}

/* Bytes that grow. */
struct made_bytes {
    uint8_t *bytes;
    size_t n;
};

static void made_add(struct made_bytes *b, const void *bytes, size_t n)
{
    b->bytes = realloc(b->bytes, b->n + n + 1);
    if (!b->bytes)
        abort();
    if (bytes)
        memcpy(b->bytes + b->n, bytes, n);
    else
        memset(b->bytes + b->n, 0, n);
    b->n += n;
}

/* Puts a level at the i-th place of nbit bits; the first in the low bits, or in the high ones. */
static void made_put(uint8_t *to, size_t i, int nbit, unsigned level, bool high_first)
{
    for (int k = 0; k < nbit; k += 8 < nbit ? 8 : nbit) {
        const size_t at = i * (size_t)nbit + (size_t)k, low = at % 8;
        const unsigned part = nbit < 8 ? level : level >> k & 0xff;
        to[at / 8] |= (uint8_t)(part << (high_first && nbit < 8 ? 8 - (size_t)nbit - low : low));
    }
}

static void made_word(uint8_t *to, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(word >> 8 * i);
}

/* --- VDIF --- */

struct made_vdif {
    size_t nthread, nchan, frame_nsamp; /* channels of a thread */
    bool legacy, threads_are_pols;
    unsigned per_second, second; /* frames; the second that frame 0 begins */
    unsigned khz;                /* of complex samples, in extended data; 0: none */
};

/* Frame k of a thread. */
__attribute__((unused)) static void made_vdif_frame(struct made_bytes *b, const struct made *m,
                                                    const struct made_vdif *v, size_t k, size_t g,
                                                    bool invalid)
{
    const size_t head = v->legacy ? 16 : 32;
    const size_t payload = v->frame_nsamp * v->nchan * m->ndim * (size_t)m->nbit / 8;
    const size_t at = b->n;
    made_add(b, NULL, head + payload);
    uint8_t *h = b->bytes + at;
    unsigned log2 = 0;
    while ((size_t)1 << log2 < v->nchan)
        log2++;
    made_word(h, (v->second + (uint32_t)(k / v->per_second)) | (uint32_t)v->legacy << 30 |
                     (uint32_t)invalid << 31);
    made_word(h + 4, (uint32_t)(k % v->per_second) | 28U << 24);
    made_word(h + 8, (uint32_t)((head + payload) / 8) | log2 << 24);
    made_word(h + 12, 0x4242 | (uint32_t)(3 * g + 1) << 16 | (uint32_t)(m->nbit - 1) << 26 |
                          (uint32_t)(m->ndim == 2) << 31);
    if (!v->legacy && v->khz)
        made_word(h + 16, v->khz | 1U << 24);
    size_t i = 0;
    for (size_t t = 0; t < v->frame_nsamp; t++)
        for (size_t c = 0; c < v->nchan; c++)
            for (size_t e = 0; e < m->ndim; e++) {
                const size_t pol = v->threads_are_pols ? g % 2 : c % m->npol;
                const size_t chan =
                    v->threads_are_pols ? g / 2 * v->nchan + c : (g * v->nchan + c) / m->npol;
                made_put(h + head, i++, m->nbit,
                         made_level(m, chan, pol, k * v->frame_nsamp + t, e), false);
            }
}

/* --- DADA --- */

/* A header of 4096 bytes. */
__attribute__((unused)) static void made_dada_header(struct made_bytes *b, const struct made *m,
                                                     const char *more)
{
    char text[4096] = {0};
    snprintf(text, sizeof text,
             "HDR_VERSION 1.0\nHDR_SIZE 4096 # bytes\nNCHAN %zu\nNPOL %zu\nNDIM %zu\nNBIT %d\n"
             "FREQ 400\nBW %zu\nTSAMP %g\nTELESCOPE Parkes\nSOURCE J0000+00\nRA 01:30:00\n"
             "DEC -10:30:00\nUTC_START 2024-01-02-03:04:05\n%s",
             m->nchan, m->npol, m->ndim, m->nbit, 16 * m->nchan, m->ndim == 2 ? 0.0625 : 0.03125,
             more);
    made_add(b, text, sizeof text);
}

/* Samples [from, from + n) in blocks of "block" samples (0: time runs slowest) in this order. */
__attribute__((unused)) static void made_dada_samples(struct made_bytes *b, const struct made *m,
                                                      const char *order, size_t block, size_t from,
                                                      size_t n)
{
    const size_t whole = block ? block : n, at = b->n;
    made_add(b, NULL, n * m->nchan * m->npol * m->ndim * (size_t)m->nbit / 8);
    for (size_t t = 0; t < n; t++)
        for (size_t c = 0; c < m->nchan; c++)
            for (size_t p = 0; p < m->npol; p++) {
                size_t i = 0;
                for (const char *o = order; *o; o++)
                    i = *o == 'T'   ? i * whole + t % whole
                        : *o == 'F' ? i * m->nchan + c
                                    : i * m->npol + p;
                i += t / whole * whole * m->nchan * m->npol;
                for (size_t e = 0; e < m->ndim; e++)
                    made_put(b->bytes + at, i * m->ndim + e, m->nbit,
                             made_level(m, c, p, from + t, e), false);
            }
}

/* --- GUPPI raw --- */

__attribute__((unused)) static void made_card(struct made_bytes *b, const char *key,
                                              const char *value)
{
    char card[128];
    if (value)
        snprintf(card, sizeof card, "%-8s= %-80s", key, value);
    else
        snprintf(card, sizeof card, "%-80s", key);
    made_add(b, card, 80);
}

/* Cards of 80 characters, without end, that end the header of a block; NULL: none. */
__attribute__((unused)) static const char *made_guppi_cards;

/* The block of nsamp samples from "from" on, with PKTIDX in samples / 4: packets of 2-bit samples
 * once held 8 bits. */
__attribute__((unused)) static void made_guppi_block(struct made_bytes *b, const struct made *m,
                                                     size_t from, size_t nsamp, size_t overlap,
                                                     bool direct)
{
    const size_t bits = m->nchan * m->npol * m->ndim * (size_t)m->nbit, at = b->n;
    const struct {
        const char *key;
        double value;
    } cards[] = {{"OBSNCHAN", (double)m->nchan},
                 {"NPOL", m->npol == 2 ? 4 : 1},
                 {"NBITS", m->nbit},
                 {"OBSFREQ", 1500},
                 {"OBSBW", -(double)m->nchan},
                 {"TBIN", 1e-6},
                 {"OVERLAP", (double)overlap},
                 {"BLOCSIZE", (double)(nsamp * bits / 8)},
                 {"PKTIDX", (double)from / 4},
                 {"PKTSIZE", (double)(bits / 2 * (m->nbit == 2 ? 4 : 1))},
                 {"STT_IMJD", 60000},
                 {"STT_SMJD", 100},
                 {"STT_OFFS", 0.5},
                 {"DIRECTIO", direct}};
    char text[32];
    made_card(b, "BACKEND", "'GUPPI   '          / the backend");
    made_card(b, "TELESCOP", "'GBT     '");
    made_card(b, "RA_STR", "'05:34:31.7760'");
    made_card(b, "DEC_STR", "'+22:01:3.3600'");
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        snprintf(text, sizeof text, "%20.12g", cards[i].value);
        made_card(b, cards[i].key, text);
    }
    if (made_guppi_cards)
        made_add(b, made_guppi_cards, strlen(made_guppi_cards));
    made_card(b, "END", NULL);
    if (direct)
        made_add(b, NULL, (512 - (b->n - at) % 512) % 512);
    const size_t data = b->n;
    made_add(b, NULL, nsamp * bits / 8);
    for (size_t c = 0; c < m->nchan; c++)
        for (size_t t = 0; t < nsamp; t++)
            for (size_t p = 0; p < m->npol; p++)
                for (size_t e = 0; e < m->ndim; e++)
                    made_put(b->bytes + data, ((c * nsamp + t) * m->npol + p) * m->ndim + e,
                             m->nbit, made_level(m, c, p, from + t, e), true);
}

#endif
