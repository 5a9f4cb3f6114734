/* Parses headers of VDIF frames, and finds them. */
#include "vdif_frame.h"

#include <erfa.h>
#include <math.h>
#include <string.h>

static uint32_t read_word(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Extended data of kinds 1 and 3 begin with the rate of complex samples, in kHz or MHz: half that of
 * real ones. */
static double read_rate(uint32_t word, bool complex)
{
    const unsigned kind = word >> 24;
    const double value = (word & 0x7fffff) * (complex ? 1.0 : 2.0);
    return kind == 1 || kind == 3 ? value * (word >> 23 & 1 ? 1e6 : 1e3) : 0;
}

static bool makes_sense(const struct psr_vdif_frame *f)
{
    const size_t bits = (f->bytes - f->header_bytes) * 8;
    const size_t sample = f->nchan * (size_t)f->nbit * (f->complex ? 2 : 1);
    return f->bytes > f->header_bytes && bits % sample == 0 && f->version <= 1;
}

bool psr_vdif_parse(struct psr_vdif_frame *f, const uint8_t *bytes, size_t n)
{
    if (n < PSR_VDIF_LEGACY)
        return false;
    const uint32_t w0 = read_word(bytes), w1 = read_word(bytes + 4), w2 = read_word(bytes + 8),
                   w3 = read_word(bytes + 12);
    *f = (struct psr_vdif_frame){.invalid = w0 >> 31,
                                 .legacy = w0 >> 30 & 1,
                                 .second = w0 & 0x3fffffff,
                                 .epoch = w1 >> 24 & 0x3f,
                                 .frame = w1 & 0xffffff,
                                 .version = w2 >> 29,
                                 .nchan = (size_t)1 << (w2 >> 24 & 0x1f),
                                 .bytes = (size_t)(w2 & 0xffffff) * 8,
                                 .complex = w3 >> 31,
                                 .nbit = (int)(w3 >> 26 & 0x1f) + 1,
                                 .thread = w3 >> 16 & 0x3ff,
                                 .station = w3 & 0xffff};
    f->header_bytes = f->legacy ? PSR_VDIF_LEGACY : PSR_VDIF_HEADER;
    if (n < f->header_bytes || !makes_sense(f))
        return false;
    f->rate_hz = f->legacy ? 0 : read_rate(read_word(bytes + 16), f->complex);
    return true;
}

static void put_word(uint8_t *to, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(word >> 8 * i);
}

/* Extended data of kind 1, or of kind 0, which are none. */
static uint32_t rate_word(const struct psr_vdif_frame *f)
{
    const double khz = f->rate_hz / (f->complex ? 1e3 : 2e3), mhz = khz / 1e3;
    const uint32_t kind = UINT32_C(1) << 24, most = 0x7fffff;
    if (khz == floor(khz) && khz <= most)
        return kind | (uint32_t)khz;
    return mhz == floor(mhz) && mhz <= most ? kind | UINT32_C(1) << 23 | (uint32_t)mhz : 0;
}

void psr_vdif_pack(uint8_t header[PSR_VDIF_HEADER], const struct psr_vdif_frame *f)
{
    uint32_t log2 = 0;
    while ((size_t)1 << log2 < f->nchan)
        log2++;
    memset(header, 0, PSR_VDIF_HEADER);
    put_word(header, f->second | (uint32_t)f->invalid << 31);
    put_word(header + 4, f->frame | (uint32_t)f->epoch << 24);
    put_word(header + 8, (uint32_t)(f->bytes / 8) | log2 << 24);
    put_word(header + 12, f->station | (uint32_t)f->thread << 16 | (uint32_t)(f->nbit - 1) << 26 |
                              (uint32_t)f->complex << 31);
    put_word(header + 16, rate_word(f));
}

void psr_vdif_add_seconds(uint8_t *header, int64_t seconds)
{
    const uint32_t word = read_word(header), all = 0x3fffffff;
    put_word(header, (word & ~all) | ((uint32_t)((int64_t)(word & all) + seconds) & all));
}

bool psr_vdif_alike(const struct psr_vdif_frame *a, const struct psr_vdif_frame *b)
{
    return a->legacy == b->legacy && a->complex == b->complex && a->epoch == b->epoch &&
           a->version == b->version && a->bytes == b->bytes && a->nchan == b->nchan &&
           a->nbit == b->nbit;
}

size_t psr_vdif_find(struct psr_vdif_frame *f, const uint8_t *bytes, size_t n,
                     const struct psr_vdif_frame *like)
{
    for (size_t at = 0; at < n; at++) {
        struct psr_vdif_frame next;
        if (!psr_vdif_parse(f, bytes + at, n - at) || f->bytes > n - at ||
            (like && !psr_vdif_alike(f, like)))
            continue;
        const size_t after = at + f->bytes;
        if (after == n ||
            (psr_vdif_parse(&next, bytes + after, n - after) && psr_vdif_alike(f, &next)))
            return at;
    }
    return n;
}

struct psr_mjd psr_vdif_epoch(unsigned epoch)
{
    double day = 0, zero;
    if (eraCal2jd(2000 + (int)(epoch / 2), epoch % 2 ? 7 : 1, 1, &zero, &day) != 0)
        day = 0;
    return (struct psr_mjd){(long)day, 0};
}
