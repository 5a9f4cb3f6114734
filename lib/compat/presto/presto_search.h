/* presto_search.h: the search whose list is accelsearch's of one thread (private). */
#ifndef PSR_COMPAT_PRESTO_PRESTO_SEARCH_H
#define PSR_COMPAT_PRESTO_PRESTO_SEARCH_H

#include "presto_list.h"
#include "presto_plane.h"

struct psr_presto_search;

/* s outlives the search.
 * Status: PSR_ENOMEM, also where mem_bytes does not suffice */
PSR_MUST_CHECK psr_status psr_presto_search_create(struct psr_presto_search **out,
                                                   const struct psr_accel_search *s,
                                                   const struct psr_presto_layout *y, psr_err *err);

/* Returned: list, as accelsearch has it after all blocks
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_search_run(struct psr_presto_search *p,
                                                const struct psr_accelsearch_input *in,
                                                struct psr_presto_list *list, psr_err *err);

double psr_presto_search_bytes(const struct psr_presto_search *p);

/* NULL is fine. */
void psr_presto_search_destroy(struct psr_presto_search *p);

#endif
