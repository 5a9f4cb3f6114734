/* presto_list.h: the list that accelsearch keeps while it searches (private). */
#ifndef PSR_COMPAT_PRESTO_PRESTO_LIST_H
#define PSR_COMPAT_PRESTO_PRESTO_LIST_H

#include "search/matched/peaks.h"

struct psr_presto_cand {
    double r, z, w; /* of the fundamental */
    float power, sigma;
    int nharm;
};

/* By rising r where nothing went wrong. */
struct psr_presto_list {
    struct psr_presto_cand *cand; /* [n] malloc'd */
    size_t n, room, inversions;   /* places where r falls */
};

/* A candidate is compared only with the two of the list between which it belongs.  It replaces those
 * that are less than 15 bins away and have a lower sigma; if neither is that near, it is inserted
 * between them.
 * Returned: *added, whether it is now in the list (NULL: not wanted)
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_list_add(struct psr_presto_list *list,
                                              const struct psr_presto_cand *cand, bool *added,
                                              psr_err *err);

/* By falling sigma, then power; of equals the first of the list. */
PSR_MUST_CHECK psr_status psr_presto_list_sort(const struct psr_presto_list *list,
                                               struct psr_accel_peaks *peaks, psr_err *err);

#endif
