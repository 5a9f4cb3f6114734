/* fuzz_baseband: any bytes given as voltages of one telescope are read to their end, or to a clear
 * error. */
#include "dsp/channels/spectra.h"

#include "fuzz_file.h"

#include <math.h>

enum { BLOCK_BYTES = 1 << 18, NSAMP = 300, MOST_FLOATS = 1 << 20, MOST_READS = 40 };

static void check_note(void *ctx, const char *msg)
{
    (void)ctx;
    if (!*msg || strchr(msg, '\n'))
        abort();
}

/* Every value is finite, and what is lost is 0. */
static void check_values(const float *x, size_t nplane, size_t got, size_t ndim,
                         const struct psr_span *lost, size_t nlost)
{
    for (size_t p = 0; p < nplane; p++)
        for (size_t i = 0; i < got * ndim; i++)
            if (!isfinite(x[p * NSAMP * ndim + i]))
                abort();
    for (size_t i = 0; i < nlost; i++)
        if (lost[i].count < 1 || lost[i].first < 0 ||
            lost[i].first + lost[i].count > (int64_t)got ||
            (i && lost[i].first <= lost[i - 1].first + lost[i - 1].count))
            abort();
}

static psr_status read_all(psr_baseband *b, psr_err *err)
{
    const struct psr_baseband_header *h = psr_baseband_header(b);
    const size_t nplane = h->nchan * h->npol, ndim = h->real ? 1 : 2;
    psr_status st = PSR_OK;
    if (!(h->rate_hz > 0) || !(h->freq_mhz > fabs(h->bw_mhz) / 2) || nplane == 0)
        abort();
    float *x = nplane < MOST_FLOATS / NSAMP / 2 ? malloc(nplane * NSAMP * ndim * sizeof *x) : NULL;
    for (size_t got = NSAMP, i = 0; x && !st && got == NSAMP && i < MOST_READS; i++) {
        const struct psr_span *lost = NULL;
        size_t nlost = 0;
        st = psr_baseband_read(b, NSAMP, x, &got, err);
        if (!st)
            nlost = psr_baseband_lost(b, &lost);
        if (!st)
            check_values(x, nplane, got, ndim, lost, nlost);
    }
    free(x);
    return st;
}

/* As a device gets it: every sample of every run can be unpacked. */
static psr_status take_all(psr_baseband *b, psr_err *err)
{
    const struct baseband_layout *l = &b->layout;
    static struct psr_spectra_block block; /* for all inputs */
    if (l->nplane >= MOST_FLOATS / NSAMP / 2)
        return PSR_OK;
    float *x = malloc(l->nplane * NSAMP * l->ndim * sizeof *x);
    psr_status st = x ? PSR_OK : psr_fail(err, PSR_ENOMEM, "%s: no memory", b->input->name);
    if (!st && !block.bytes)
        st = psr_spectra_block_make(&block, BLOCK_BYTES, err);
    block.nsamp = 1;
    for (size_t i = 0; !st && block.nsamp > 0 && i < MOST_READS; i++) {
        size_t n = 0;
        st = psr_spectra_block_fill(&block, b, NSAMP, err);
        for (size_t k = 0; k < block.nrun && !st; k++) {
            const struct psr_spectra_run *r = block.run + k;
            if (!r->missing)
                psr_baseband_unpack(l, &b->coding, block.bytes + r->byte, r->from, r->n, x, NSAMP,
                                    1);
            n += r->n;
        }
        if (!st && (n != block.nsamp || n > NSAMP || block.nbytes > block.room))
            abort();
    }
    free(x);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    const struct psr_baseband_desc desc = {.size = sizeof desc,
                                           .path = &path,
                                           .npath = 1,
                                           .freq_mhz = size % 2 ? 1000 : 0,
                                           .bw_mhz = size % 4 == 3 ? 0.016 : 0,
                                           .nthread = 1,
                                           .notes = {.note = check_note}};
    psr_baseband *b;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_baseband_open(&b, &desc, &err);
    if (!st)
        st = read_all(b, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    psr_baseband_close(b);
    if (psr_baseband_open(&b, &desc, &err))
        return 0;
    st = take_all(b, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    psr_baseband_close(b);
    return 0;
}
