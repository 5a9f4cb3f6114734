/* Writes cleaned spectra and the steps that record replaced values. */
#include "clean_plan.h"

#include "formats/spectra/unpack.h"
#include <math.h>
#include <string.h>

static void pack_bitmask(const psr_clean *p, struct psr_clean_block *k)
{
    double ones = p->in.kind == PSR_INT ? -1 : ldexp(1, p->in.nbit) - 1;
    for (size_t c = 0; c < p->d.nchan; c++)
        k->row[c] = k->masked[c] ? 0 : ones;
    psr_row_pack(k->bitmask, k->row, p->d.nchan, p->in.nbit, p->in.kind);
}

static void apply_bitmask(unsigned char *restrict row, const unsigned char *restrict bitmask,
                          size_t bytes)
{
    for (size_t n = 0; n < bytes; n++)
        row[n] &= bitmask[n];
}

/* Replaced samples become 0. */
static void emit_integers(const psr_clean *p, struct psr_clean_block *k)
{
    size_t bytes = p->in.row_bytes;
    if (k->out != k->in)
        memcpy(k->out, k->in, k->n * bytes);
    if (k->any_masked)
        pack_bitmask(p, k);
    for (size_t t = 0; t < k->n && (k->nbad || k->any_masked); t++) {
        if (k->nbad && k->bad[t])
            memset(k->out + t * bytes, 0, bytes);
        else if (k->any_masked)
            apply_bitmask(k->out + t * bytes, k->bitmask, bytes);
    }
}

/* A float has room for what replaces it. */
static void emit_floats(const psr_clean *p, struct psr_clean_block *k)
{
    size_t nchan = p->d.nchan;
    for (size_t t = 0; t < k->n; t++) {
        float *x = (float *)(void *)k->out + t * nchan;
        bool bad = k->nbad && k->bad[t];
        const unsigned char *from = k->in + t * p->in.row_bytes;
        if (bad)
            memcpy(x, k->level, nchan * sizeof *x);
        else if (from != (unsigned char *)x)
            psr_spectrum_widen(&p->in, from, x);
        for (size_t c = 0; k->any_masked && c < nchan; c++)
            x[c] = k->masked[c] ? p->padding[c] : x[c];
    }
}

static double sum_row(const double *row, size_t n)
{
    double total = 0;
    for (size_t c = 0; c < n; c++)
        total += row[c];
    return total;
}

/* Leaves in bandpass the means over the spectra of a block that are numbers.  Returned: their sum
 */
static double average_block(psr_clean *p, const struct psr_clean_block *k)
{
    size_t nchan = p->d.nchan, n = 0;
    double total = 0;
    memset(k->sum, 0, nchan * sizeof *k->sum);
    for (size_t t = 0; t < k->n; t++) {
        psr_row_unpack(k->row, k->in + t * p->in.row_bytes, nchan, p->in.nbit, p->in.kind);
        if (!isfinite(sum_row(k->row, nchan)))
            continue;
        n++;
        for (size_t c = 0; c < nchan; c++)
            k->sum[c] += k->row[c];
    }
    for (size_t c = 0; c < nchan; c++) {
        p->bandpass[c] = n ? (float)(k->sum[c] / (double)n) : 0;
        total += (double)p->bandpass[c];
    }
    return total;
}

void psr_clean_balance(psr_clean *p, const struct psr_clean_block *k)
{
    size_t nchan = p->d.nchan;
    double total = 0;
    for (size_t c = 0; c < nchan; c++)
        total += (double)p->padding[c];
    memcpy(p->bandpass, p->padding, nchan * sizeof *p->bandpass);
    if (total == 0)
        total = average_block(p, k);
    for (size_t c = 0; c < nchan; c++)
        p->weight[c] = total == 0 ? 0 : (float)((double)p->bandpass[c] / total);
    p->balanced = true;
}

static double sum_lanes(const float *x, size_t n)
{
    enum { LANES = 16 };
    float sum[LANES] = {0};
    size_t whole = n / LANES * LANES;
    for (size_t c = 0; c < whole; c += LANES)
        for (size_t k = 0; k < LANES; k++)
            sum[k] += x[c + k];
    double total = 0;
    for (size_t k = 0; k < LANES; k++)
        total += (double)sum[k];
    for (size_t c = whole; c < n; c++)
        total += (double)x[c];
    return total;
}

static void emit_balanced(const psr_clean *p, struct psr_clean_block *k)
{
    size_t nchan = p->d.nchan;
    for (size_t t = 0; t < k->n; t++) {
        float *x = (float *)(void *)k->out + t * nchan;
        psr_spectrum_widen(&p->in, k->in + t * p->in.row_bytes, x);
        float power = (float)sum_lanes(x, nchan);
        for (size_t c = 0; c < nchan; c++)
            x[c] -= p->weight[c] * power - p->bandpass[c];
        if (!isfinite(power))
            memcpy(x, p->bandpass, nchan * sizeof *x);
        for (size_t c = 0; k->any_masked && c < nchan; c++)
            x[c] = k->masked[c] ? p->padding[c] : x[c];
    }
}

void psr_clean_emit(const psr_clean *p, struct psr_clean_block *k)
{
    if (p->d.zerodm)
        emit_balanced(p, k);
    else if (p->out.kind == PSR_FLOAT)
        emit_floats(p, k);
    else
        emit_integers(p, k);
}
