/* sieve.h: finds the few places whose harmonic sum may exceed the threshold (private).
 *
 * Transforms give the power at every place, but only one byte is kept for each cell, a few
 * consecutive half bins: an upper bound of their powers (sieve_kernel.h).  Sums of these bounds are
 * upper bounds of the harmonic sums.  Where such a bound exceeds the threshold, the harmonic sum is
 * computed again from powers by their definition (response.h).  So no candidate is lost, no power
 * depends on block lengths or rounding of the transforms, and the bounds take a sixteenth of the
 * memory of the powers.
 *
 * Cells of the highest harmonic are searched in bands of frequency.  If all bounds fit into memory
 * there is one band; otherwise the bounds at every fraction k / numharm of a band's frequencies are
 * computed anew for each band. */
#ifndef PSR_SEARCH_MATCHED_CPU_SIEVE_H
#define PSR_SEARCH_MATCHED_CPU_SIEVE_H

#include "search/matched/response/response.h"
#include "sieve_kernel.h"

/* Bounds of contiguous blocks, of the templates that a fraction needs. */
struct psr_sieve_strip {
    int jmax, lmax, reach;
    int64_t block, origin; /* the first block and cell */
    size_t nblock, pitch, room;
    uint8_t *code; /* [(2 lmax + 1)(2 jmax + 1)][pitch] */
};

struct psr_sieve {
    const struct psr_accel_search *s;
    const struct psr_correlator *c;
    const struct psr_template_bank *bank;
    const struct psr_accel_normalise *norm;
    const struct psr_sieve_loops *loops;
    int cell;        /* half bins */
    int64_t band;    /* cells in a band, a multiple of SIEVE_SPAN */
    bool whole;      /* one strip for all fractions, that of numharm */
    size_t together; /* blocks that a thread takes at once */
    struct psr_sieve_strip strip[PSR_ACCELSEARCH_MAX_HARM + 1]; /* by k */
    double bytes;
};

/* --- what sieve.c needs of sieve_scan.c --------------------------------------------------------- */

/* Searches count cells of the highest harmonic from first on, whose strips are filled. */
PSR_MUST_CHECK psr_status psr_sieve_scan(const struct psr_sieve *v, int64_t first, int64_t count,
                                         struct psr_accel_hits *hits, psr_err *err);

/* Bytes that a thread takes for it. */
double psr_sieve_scan_bytes(const struct psr_sieve *v);

/* The strip with the bounds of harmonic h of H = 2^log. */
static inline const struct psr_sieve_strip *psr_sieve_strip_of(const struct psr_sieve *v, int h,
                                                               int log)
{
    const int numharm = v->s->numharm;
    return &v->strip[v->whole ? numharm : h * (numharm >> log)];
}

#endif
