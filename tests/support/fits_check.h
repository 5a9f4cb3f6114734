/* fits_check.h: what the PSRFITS tests share: reading a file whole and evaluating it plainly. */
#ifndef PSR_TESTS_FITS_CHECK_H
#define PSR_TESTS_FITS_CHECK_H

#include "fits_writer.h"
#include "formats/spectra/spectra_reader.h"
#include "scratch.h"

static char noted[4096];

__attribute__((unused)) static void keep_note(void *ctx, const char *msg)
{
    size_t used = strlen(ctx);
    snprintf((char *)ctx + used, sizeof noted - used, "%s\n", msg);
}

__attribute__((unused)) static struct psr_source_desc description(void)
{
    *noted = '\0';
    return (struct psr_source_desc){
        .size = sizeof(struct psr_source_desc), .if_choice = -1, .notes = {keep_note, noted}};
}

/* Sample c of a spectrum of a block, low bits first. */
__attribute__((unused)) static double block_value(const struct psr_obs *obs,
                                                  const uint8_t *spectrum, size_t c)
{
    size_t nbit = (size_t)obs->nbit;
    float x;
    uint16_t word;
    if (nbit < 8)
        return spectrum[c * nbit / 8] >> (c * nbit % 8) & ((1u << nbit) - 1);
    if (nbit == 8)
        return obs->kind == PSR_INT ? (int8_t)spectrum[c] : spectrum[c];
    if (nbit == 16) {
        memcpy(&word, spectrum + 2 * c, 2);
        return obs->kind == PSR_INT ? (int16_t)word : word;
    }
    memcpy(&x, spectrum + 4 * c, 4);
    return x;
}

/* All of a file from where the reader stands: [nsamp][nchan], not-a-number in gaps.  Blocks of odd
 * lengths.  NULL where the reader failed or gave another count than obs.nsamp - from. */
__attribute__((unused)) static double *read_all(struct psr_reader *r, int64_t from, uint64_t *seed,
                                                psr_err *err)
{
    const struct psr_obs *obs = &r->obs;
    size_t nchan = obs->nchan, nbyte = (nchan * (size_t)obs->nbit + 7) / 8;
    size_t total = (size_t)(obs->nsamp - from), at = 0, nread;
    int64_t gap;
    double *x = malloc((total + 1) * nchan * sizeof *x);
    uint8_t *block = malloc(97 * nbyte);
    do {
        size_t want = (size_t)tap_between(seed, 1, 97);
        if (r->ops->next(r, want, block, &nread, &gap, err))
            break;
        if (nread > want || (nread && gap) || gap < 0 || at + nread + (size_t)gap > total)
            break;
        for (size_t i = 0; i < nread * nchan; i++)
            x[at * nchan + i] = block_value(obs, block + i / nchan * nbyte, i % nchan);
        for (size_t i = nread * nchan; i < (nread + (size_t)gap) * nchan; i++)
            x[at * nchan + i] = (double)NAN;
        at += nread + (size_t)gap;
    } while (nread || gap);
    free(block);
    if (at == total)
        return x;
    free(x);
    return NULL;
}

/* Total intensity of what was written, in double precision; *size is that of the terms, to which
 * rounding errors are in proportion. */
__attribute__((unused)) static double naive_value(const struct fits_spec *s,
                                                  const struct psr_source_desc *desc, int64_t row,
                                                  int64_t t, size_t c, double *size)
{
    bool two = desc->if_choice < 0 && !strncmp(s->pol_type, "AABB", 4);
    double sum = 0;
    *size = 0;
    for (int k = 0; k < (two ? 2 : 1); k++) {
        int pol = desc->if_choice < 0 ? k : desc->if_choice;
        size_t i =
            ((size_t)row * (size_t)s->npol + (size_t)(s->short_scales ? 0 : pol)) * s->nchan + c;
        double x =
            s->raw[fits_index(s, row, t, pol, c ^ s->mix)] + (double)s->shift - fabs(s->zero_off);
        if (s->scl && !desc->no_scales)
            x *= (double)s->scl[i];
        if (s->offs && !desc->no_offsets)
            x += (double)s->offs[i] * (s->offs_scale != 0 ? s->offs_scale : 1) + s->offs_shift;
        if (s->wts && !desc->no_weights)
            x *= (double)s->wts[(size_t)row * s->nchan + c];
        sum += x;
        *size += fabs(x) + 8;
    }
    return sum;
}

/* Compares spectra [from, nsamp) with rows that follow each other without gaps. */
__attribute__((unused)) static bool same_as_naive(const struct fits_spec *s,
                                                  const struct psr_source_desc *desc,
                                                  const struct psr_obs *obs, const double *x,
                                                  int64_t from, double tol)
{
    for (int64_t t = from; t < obs->nsamp; t++)
        for (size_t c = 0; c < s->nchan; c++) {
            double size, want = naive_value(s, desc, t / s->nsblk, t % s->nsblk, c, &size);
            double got = x[(size_t)(t - from) * s->nchan + c];
            if (!(fabs(got - want) <= tol * size)) {
                diag("spectrum %lld channel %zu: %.9g, want %.9g", (long long)t, c, got, want);
                return false;
            }
        }
    return true;
}

__attribute__((unused)) static struct psr_reader *
open_spec(const struct fits_spec *s, const struct psr_source_desc *desc, psr_err *err)
{
    struct psr_reader *r;
    const char *file = scratch("x.fits");
    err->code = PSR_OK;
    *err->msg = '\0';
    if (!fits_write_spec(file, s))
        diag("the test could not write %s", file);
    if (psr_psrfits_open(&r, file, desc, err))
        diag("%s", err->msg);
    return r;
}

#endif
