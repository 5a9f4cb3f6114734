/* beam_ref.h: random arrays and voltages, and what beams of them are by direct sums in double. */
#ifndef PSR_BEAM_REF_H
#define PSR_BEAM_REF_H

#include <psrkit/experimental/beam.h>

#include "tap.h"
#include <complex.h>
#include <string.h>

/* The value of a nibble by the convention given. */
__attribute__((unused)) static int ref_nibble(unsigned nibble, bool offset_binary)
{
    int value = (int)(nibble & 15);
    return offset_binary ? value - 8 : value < 8 ? value : value - 16;
}

__attribute__((unused)) static double complex ref_voltage(uint8_t byte, struct psr_nibbles how)
{
    double high = ref_nibble(byte >> 4, how.offset_binary);
    double low = ref_nibble(byte, how.offset_binary);
    return how.real_low ? low + high * I : high + low * I;
}

/* The byte of a voltage, parts in -8 .. 7. */
__attribute__((unused)) static uint8_t ref_byte(int re, int im, struct psr_nibbles how)
{
    unsigned a = (unsigned)re & 15, b = (unsigned)im & 15;
    if (how.offset_binary)
        a ^= 8, b ^= 8;
    return (uint8_t)(how.real_low ? b << 4 | a : a << 4 | b);
}

/* An array of ndish dishes at random places of an m x n grid, "off" of them not on it. */
__attribute__((unused)) static struct psr_array ref_array(size_t m, size_t n, size_t ndish,
                                                          size_t off, uint64_t *seed)
{
    struct psr_array a = {.m = m, .n = n, .ns_m = 8.5, .ew_m = 6.3, .ndish = ndish};
    int32_t *place = tap_take(m * n, sizeof *place);
    a.cell = tap_take(ndish, sizeof *a.cell);
    for (size_t i = 0; i < m * n; i++)
        place[i] = (int32_t)i;
    for (size_t d = 0; d < ndish && d < m * n; d++) {
        size_t k = (size_t)tap_between(seed, (int64_t)d, (int64_t)(m * n) - 1);
        int32_t swap = place[d];
        place[d] = place[k];
        place[k] = swap;
        a.cell[d] = place[d];
    }
    for (size_t i = 0; i < off; i++)
        a.cell[tap_between(seed, 0, (int64_t)ndish - 1)] = -1;
    if (a.cell[0] < 0)
        a.cell[0] = place[0];
    free(place);
    return a;
}

/* J of channel f, sum k, at a direction: eqs 2 and 3 with weights. */
__attribute__((unused)) static double ref_beam(const struct psr_beam_desc *d, const uint8_t *in,
                                               size_t f, size_t k, double theta_ns, double theta_ew)
{
    const struct psr_array *a = d->array;
    double complex *phase = tap_take(2 * a->ndish, sizeof *phase);
    for (size_t i = 0; i < 2 * a->ndish; i++) {
        size_t dish = i % a->ndish, at = 2 * (f * 2 * a->ndish + i);
        if (a->cell[dish] < 0)
            continue;
        double m = (double)((size_t)a->cell[dish] / a->n);
        double n = (double)((size_t)a->cell[dish] % a->n);
        phase[i] = cexp(2 * M_PI * I * (m * theta_ns / (double)a->m + n * theta_ew / (double)a->n));
        if (d->weight)
            phase[i] *= (double)d->weight[at] + (double)d->weight[at + 1] * I;
    }
    double power = 0;
    for (size_t t = k * d->tds[f]; t < (k + 1) * d->tds[f]; t++)
        for (size_t p = 0; p < 2; p++) {
            double complex sum = 0;
            for (size_t i = 0; i < a->ndish; i++)
                sum += phase[p * a->ndish + i] *
                       ref_voltage(in[((t * d->nfreq + f) * 2 + p) * a->ndish + i], d->nibbles);
            power += creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
        }
    free(phase);
    return power;
}

/* Direction of beam b in channel f. */
__attribute__((unused)) static void ref_direction(const struct psr_beam_desc *d, size_t f, size_t b,
                                                  double *theta_ns, double *theta_ew)
{
    if (d->pattern == PSR_BEAM_GRID) {
        *theta_ns = (double)(b / (2 * d->array->n)) / 2;
        *theta_ew = (double)(b % (2 * d->array->n)) / 2;
    } else if (d->pattern == PSR_BEAM_POINTS) {
        *theta_ns = d->theta_ns[f * d->nbeam + b];
        *theta_ew = d->theta_ew[f * d->nbeam + b];
    } else {
        *theta_ns = d->theta_ns[f * d->n_ns + b / d->n_ew];
        *theta_ew = d->theta_ew[f * d->n_ew + b % d->n_ew];
    }
}

#endif
