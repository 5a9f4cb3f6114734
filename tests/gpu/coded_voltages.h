/* coded_voltages.h: random voltages, coded and laid out at random, and what the CPU unpacks of them. */
#ifndef PSR_TESTS_GPU_CODED_VOLTAGES_H
#define PSR_TESTS_GPU_CODED_VOLTAGES_H

#include "dsp/channels/spectra.h"
#include "tests/support/tap.h"

#include <string.h>

struct voltages {
    struct psr_channelise_desc d;
    size_t npol, nplane, ndim, nsamp; /* as they are coded */
    int64_t pol;
    struct baseband_layout layout;
    struct baseband_coding coding;
    uint8_t *bytes;
    size_t nbytes;
    bool *present; /* [frame][ngroup] */
    bool *lost;    /* [nsamp] */
    float *x;      /* [nplane used][nsamp][ndim] unpacked, 0 where lost or absent */
};

/* Samples of all planes in turn, or frames of one plane behind the other. */
static void lay_out(struct voltages *v, bool framed, uint64_t *state)
{
    struct baseband_layout *l = &v->layout;
    psr_err err;
    const size_t element = v->ndim * (size_t)v->coding.nbit;
    l->nplane = v->nplane;
    l->ndim = v->ndim;
    if (psr_baseband_make_planes(l, &err))
        abort();
    l->sample_bits = framed ? element : element * v->nplane;
    l->frame_nsamp = framed ? 8 * (size_t)tap_between(state, 1, 40) : SIZE_MAX;
    l->frame_bytes = framed ? l->frame_nsamp * element * v->nplane / 8 : 0;
    l->ngroup = framed ? v->nplane : 0;
    for (size_t p = 0; p < v->nplane; p++) {
        l->plane_bits[p] = p * element * (framed ? l->frame_nsamp : 1);
        l->plane_group[p] = p;
    }
}

static void choose_coding(struct voltages *v, uint64_t *state)
{
    static const int nbits[] = {1, 2, 4, 8, 8, 8, 16, 32};
    struct baseband_coding *c = &v->coding;
    c->nbit = nbits[tap_between(state, 0, 7)];
    c->code = c->nbit == 32              ? BASEBAND_FLOAT
              : tap_between(state, 0, 1) ? BASEBAND_OFFSET
                                         : BASEBAND_SIGNED;
    c->high_first = tap_between(state, 0, 1);
    c->scale = tap_between(state, 0, 1) ? 0.03F : 0;
    c->shift = c->nbit >= 8 && tap_between(state, 0, 1) ? 0.5F : 0;
    psr_baseband_fill_values(c);
}

static void fill_bytes(struct voltages *v, uint64_t *state)
{
    const struct baseband_layout *l = &v->layout;
    const size_t sample = v->nplane * v->ndim * (size_t)v->coding.nbit;
    const bool framed = l->frame_nsamp != SIZE_MAX;
    const size_t nframe = framed ? (v->nsamp + l->frame_nsamp - 1) / l->frame_nsamp : 0;
    v->nbytes = framed ? nframe * l->frame_bytes : (v->nsamp * sample + 7) / 8;
    v->bytes = tap_take(v->nbytes + 4, 1);
    v->present = tap_take(nframe * l->ngroup + 1, sizeof *v->present);
    v->lost = tap_take(v->nsamp, sizeof *v->lost);
    for (size_t i = 0; i < v->nbytes; i++)
        v->bytes[i] = (uint8_t)(tap_random(state) >> 40);
    for (size_t i = 0; v->coding.nbit == 32 && i < v->nbytes / 4; i++) {
        const float x = tap_uniform(state) < 0.01 ? NAN : (float)tap_normal(state);
        memcpy(v->bytes + 4 * i, &x, sizeof x);
    }
    for (size_t i = 0; i < nframe * l->ngroup; i++)
        v->present[i] = tap_uniform(state) > 0.03;
}

/* What the CPU makes of all of them, of the polarisations that are used. */
static void unpack(struct voltages *v)
{
    const struct baseband_layout *l = &v->layout;
    const size_t plane = v->nsamp * v->ndim;
    float *all = tap_take(v->nplane * plane, sizeof *all);
    v->x = tap_take(v->nplane * plane, sizeof *v->x);
    psr_baseband_unpack(l, &v->coding, v->bytes, 0, v->nsamp, all, v->nsamp, 1);
    for (size_t p = 0; p < v->nplane; p++)
        for (size_t t = 0; t < v->nsamp; t++)
            if (v->lost[t] || (l->ngroup && !v->present[t / l->frame_nsamp * l->ngroup + p]))
                memset(all + p * plane + t * v->ndim, 0, v->ndim * sizeof *all);
    for (size_t i = 0; i < v->d.nchan_in * v->d.npol; i++) {
        const size_t p = v->pol < 0 ? i : i * v->npol + (size_t)v->pol;
        memcpy(v->x + i * plane, all + p * plane, plane * sizeof *all);
    }
    free(all);
}

static void free_voltages(struct voltages *v)
{
    free(v->layout.plane_bits);
    free(v->bytes);
    free(v->present);
    free(v->lost);
    free(v->x);
}

#endif
