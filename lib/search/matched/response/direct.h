/* direct.h: powers by the sum that defines them (private). */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_DIRECT_H
#define PSR_SEARCH_MATCHED_RESPONSE_DIRECT_H

#include "accel_normalise.h"
#include "template_bank.h"

/* Normalised bins around a place. */
struct psr_direct {
    int64_t first, room;
    struct psr_split bin; /* [room] */
};

/* Room for places of so many half bins and responses that reach so far.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_direct_create(struct psr_direct *d, int reach, int places,
                                            psr_err *err);

/* Loads what half bins i .. of so many places need. */
void psr_direct_load(struct psr_direct *d, const struct psr_accel_normalise *norm, int64_t i,
                     int reach, int places);

/* |A|^2 of template t at half bin i, with the same bits in every build and on every processor. */
float psr_direct_power(const struct psr_direct *d, const struct psr_template_bank *bank, size_t t,
                       int64_t i);

void psr_direct_clear(struct psr_direct *d);

#endif
