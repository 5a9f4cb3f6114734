/* Reads intervals, the next one while another is measured. */
#include "rfifind_reader.h"

#include "base/clock.h"

#include <stdlib.h>

psr_status psr_rfi_reader_init(struct psr_rfi_reader *r, psr_source *source, size_t nsamp,
                               bool ahead, psr_err *err)
{
    const size_t bytes = psr_source_block_bytes(source, nsamp);
    *r = (struct psr_rfi_reader){.source = source, .nsamp = nsamp};
    for (int k = 0; k < (ahead && bytes <= PSR_RFI_READ_AHEAD_BYTES ? 2 : 1); k++)
        if (!(r->spectra[k] = malloc(bytes)))
            return psr_fail_nomem(err, "an interval of spectra", (double)bytes);
    return PSR_OK;
}

static void read_next(struct psr_rfi_reader *r)
{
    const double began = psr_seconds();
    r->status = psr_source_read(r->source, r->nsamp, r->spectra[r->next], &r->n, &r->err);
    r->filled = true;
    r->seconds += psr_seconds() - began;
}

void psr_rfi_reader_fill(void *reader)
{
    struct psr_rfi_reader *r = reader;
    if (!r->filled && r->spectra[1])
        read_next(r);
}

psr_status psr_rfi_reader_take(struct psr_rfi_reader *r, const void **spectra, size_t *n,
                               psr_err *err)
{
    if (!r->filled)
        read_next(r);
    *spectra = r->spectra[r->next];
    *n = r->n;
    r->filled = false;
    if (r->spectra[1])
        r->next = !r->next;
    if (r->status && err)
        *err = r->err;
    return r->status;
}

void psr_rfi_reader_clear(struct psr_rfi_reader *r)
{
    free(r->spectra[0]);
    free(r->spectra[1]);
}
