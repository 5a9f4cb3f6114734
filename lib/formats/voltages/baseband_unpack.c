/* Unpacks coded voltages to floats. */
#include "baseband.h"

#include "base/threads/clones.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples that a thread unpacks at a time, and values that a second thread is worth its start. */
enum { PIECE = 8192, TEAM_MIN = 1 << 16 };

psr_status psr_baseband_make_planes(struct baseband_layout *l, psr_err *err)
{
    free(l->plane_bits);
    l->plane_bits = calloc(2 * l->nplane, sizeof *l->plane_bits);
    if (!l->plane_bits)
        return psr_fail_nomem(err, "channels", (double)l->nplane * sizeof(size_t));
    l->plane_group = l->plane_bits + l->nplane;
    return PSR_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

static float value_of(const struct baseband_coding *c, unsigned level)
{
    static const float two_bits[] = {-3.3165052F, -1, 1, 3.3165052F};
    const int half = 1 << (c->nbit - 1);
    const int value = c->code == BASEBAND_OFFSET ? (int)level - half : ((int)level ^ half) - half;
    if (c->nbit == 1)
        return level ? 1 : -1;
    if (c->nbit == 2)
        return two_bits[value + half];
    return c->scale > 0 ? (float)value * c->scale : (float)value;
}

void psr_baseband_fill_values(struct baseband_coding *c)
{
    if (c->nbit <= 8)
        for (unsigned level = 0; level < 1U << c->nbit; level++)
            c->value[level] = value_of(c, level);
}

/* --- runs of samples -------------------------------------------------------------------------- */

/* How bytes become values. */
struct bytes_to {
    uint8_t flip;
    float shift, scale;
};

/* Components that follow each other. */
PSR_CLONES static void unpack_bytes_in_turn(struct bytes_to c, const uint8_t *restrict from,
                                            size_t n, float *restrict out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = ((float)(int8_t)(from[i] ^ c.flip) + c.shift) * c.scale;
}

/* Complex samples of one of two planes in turn. */
PSR_CLONES static void unpack_bytes_of_two(struct bytes_to c, const uint8_t *restrict from,
                                           size_t n, float *restrict out)
{
    for (size_t t = 0; t < n; t++)
        for (size_t e = 0; e < 2; e++)
            out[2 * t + e] = ((float)(int8_t)(from[4 * t + e] ^ c.flip) + c.shift) * c.scale;
}

/* n samples of ndim components each, step bytes apart. */
static void unpack_bytes(const struct baseband_coding *coding, const uint8_t *from, size_t step,
                         size_t n, size_t ndim, float *out)
{
    const struct bytes_to c = {.flip = coding->code == BASEBAND_OFFSET ? 0x80 : 0,
                               .shift = coding->shift,
                               .scale = coding->scale > 0 ? coding->scale : 1};
    if (step == ndim)
        unpack_bytes_in_turn(c, from, n * ndim, out);
    else if (step == 4 && ndim == 2)
        unpack_bytes_of_two(c, from, n, out);
    else
        for (size_t t = 0; t < n; t++)
            unpack_bytes_in_turn(c, from + t * step, ndim, out + t * ndim);
}

static float read_wide(const struct baseband_coding *c, const uint8_t *from)
{
    uint32_t bits = from[0] | (uint32_t)from[1] << 8;
    float value;
    if (c->code != BASEBAND_FLOAT)
        return ((c->code == BASEBAND_OFFSET ? (float)((int)bits - 32768) : (float)(int16_t)bits) +
                c->shift) *
               (c->scale > 0 ? c->scale : 1);
    bits |= (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0;
}

static void unpack_wide(const struct baseband_coding *c, const uint8_t *from, size_t step, size_t n,
                        size_t ndim, float *out)
{
    const size_t bytes = (size_t)c->nbit / 8;
    for (size_t t = 0; t < n; t++)
        for (size_t e = 0; e < ndim; e++)
            out[t * ndim + e] = read_wide(c, from + t * step + e * bytes);
}

/* Samples [from, from + n) of a plane, frame by frame. */
static void unpack_plane(const struct baseband_layout *l, const struct baseband_coding *c,
                         const uint8_t *bytes, size_t plane, size_t from, size_t n, float *out)
{
    while (n > 0) {
        const size_t frame = from / l->frame_nsamp, within = from % l->frame_nsamp;
        const size_t left = l->frame_nsamp - within, part = n < left ? n : left;
        const uint8_t *frame_bytes = bytes + frame * l->frame_bytes;
        const size_t bit = l->plane_bits[plane] + within * l->sample_bits;
        if (c->nbit < 8) {
            const size_t step = l->sample_bits;
            const size_t ndim = l->ndim;
            const unsigned nbit = (unsigned)c->nbit, mask = (1U << nbit) - 1;
            for (size_t t = 0; t < part; t++)
                for (size_t e = 0; e < ndim; e++) {
                    const size_t at = bit + t * step + e * nbit;
                    const unsigned low = (unsigned)(at % 8),
                                   shift = c->high_first ? 8 - nbit - low : low;
                    out[t * ndim + e] = c->value[frame_bytes[at / 8] >> shift & mask];
                }
        } else if (c->nbit == 8)
            unpack_bytes(c, frame_bytes + bit / 8, l->sample_bits / 8, part, l->ndim, out);
        else
            unpack_wide(c, frame_bytes + bit / 8, l->sample_bits / 8, part, l->ndim, out);
        from += part;
        n -= part;
        out += part * l->ndim;
    }
}

void psr_baseband_unpack(const struct baseband_layout *l, const struct baseband_coding *c,
                         const uint8_t *bytes, size_t from, size_t n, float *out, size_t stride,
                         int nthread)
{
    const size_t npiece = (n + PIECE - 1) / PIECE;
    const int team = n * l->nplane * l->ndim < TEAM_MIN ? 1 : nthread;
    (void)team; /* without OpenMP */
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t k = 0; k < npiece * l->nplane; k++) {
        const size_t piece = k / l->nplane, plane = k % l->nplane, at = piece * PIECE;
        unpack_plane(l, c, bytes, plane, from + at, n - at < PIECE ? n - at : PIECE,
                     out + (plane * stride + at) * l->ndim);
    }
}
