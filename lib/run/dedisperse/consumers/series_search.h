/* series_search.h: searches whole series by one method on one device or several at the same time (private).
 *
 * Each device has a driver thread with a plan of its own.  It takes the series that lie on it, then those on the
 * host, then those that other devices have not begun, in batches that become smaller towards the end, so that
 * all devices end together.  Results reach the sink with the series that they are of, in any order, by one
 * thread at a time; what must be in the order of trials is made of them when all are there.  A device that fails
 * ends the search. */
#ifndef PSR_RUN_DEDISPERSE_CONSUMERS_SERIES_SEARCH_H
#define PSR_RUN_DEDISPERSE_CONSUMERS_SERIES_SEARCH_H

#include "base/tool.h"
#include "whole_series.h"
#include <pthread.h>
#include <stdatomic.h>

enum { PSR_SERIES_SLOTS = 2 };

/* A series to search. */
struct psr_searched {
    struct psr_whole_series_read read;
    struct psr_spectrum_file about; /* its samples as those of its file */
    char stem[PSR_TEXT_MAX];
    float *x;       /* while its batch is under way */
    double photons; /* as in psr_fourier_input */
    bool done;      /* it was searched, or refused */
    psr_status
        status; /* PSR_EFORMAT: it is refused, as one without data: the others can be searched */
    psr_err err;
};

/* What a method does on one device; search is its state there. */
struct psr_series_method {
    const char *name;
    psr_status
        unfit; /* of plan, for a series that is refused, beside PSR_EUNSUPPORTED; PSR_OK: none */

    /* Given: device   as for psr_device_choose; stays valid
     *        nthread  that the device has for itself */
    psr_status (*create)(void *sink, const char *device, int nthread, void **search, psr_err *err);
    void (*destroy)(void *search);

    /* Plans for series of one shape.
     * Given:    ninput   that are to come
     * Returned: *batch, series that are searched at once; *nslot, 2: one batch is loaded while another is searched */
    bool (*fits)(const void *search, const struct psr_searched *g);
    psr_status (*plan)(void *search, const struct psr_searched *g, size_t ninput, size_t *batch,
                       size_t *nslot, psr_err *err);

    /* Room for series k of a slot; NULL: there is no memory.  Without it, memory of the search's own. */
    float *(*room)(void *search, size_t slot, size_t k);

    /* Brings g->x into the plan's form.  Thread-safe for different series. */
    psr_status (*load)(void *search, struct psr_searched *g, psr_err *err);

    /* Searches a batch, then merges what was found in its series k: PSR_EFORMAT refuses it. */
    psr_status (*execute)(void *search, size_t slot, size_t n, struct psr_searched *const *g,
                          psr_err *err);
    psr_status (*list)(void *search, size_t slot, size_t k, const struct psr_searched *g,
                       psr_err *err);

    /* Adds to outputs what an earlier run has recorded of a series; before the search.  NULL: nothing is.
     * Returned: *found, false: it must be searched */
    psr_status (*recall)(void *sink, const struct psr_searched *g, bool *found, psr_err *err);

    /* Adds what list found to outputs; by one thread at a time. */
    psr_status (*keep)(void *sink, void *search, const struct psr_searched *g, psr_err *err);
};

struct psr_series_search_desc {
    const struct psr_series_method *method;
    void *sink;                           /* of its create and keep */
    const struct psr_sink_stream *stream; /* borrowed, as series is */
    struct psr_whole_series *series;
    const char *device;          /* as for psr_device_words */
    bool nopad, noinf, segments; /* as in the descriptions of sinks */
};

struct psr_search_lane;

struct psr_series_search {
    struct psr_series_search_desc d;
    struct psr_names devices;
    struct psr_search_lane *lane; /* [nlane] */
    size_t nlane;
    struct psr_searched *series; /* [n] in the order of trials, of all; then of each segment */
    size_t n, nsegment;          /* series; segments of each trial */

    pthread_mutex_t lock; /* of what follows, and of keep */
    struct psr_search_queue {
        size_t *series; /* [n] those from next on are not begun */
        size_t n, next;
    } * queue;   /* [nlane + 1] of series on each lane's device, and on the host */
    size_t left; /* in all queues */
    atomic_bool failed;
    psr_status status; /* of the first that failed */
    psr_err err;

    struct psr_fourier_found found; /* candidates are the sink's to count */
};

/* Makes plans for series as long as they should be: a plan that cannot be made is an error now, not when hours of
 * input have been read.
 * Status: those of psr_device_words, create and plan; psr_series_search_destroy also after an error */
PSR_MUST_CHECK psr_status psr_series_search_create(struct psr_series_search *s,
                                                   const struct psr_series_search_desc *d,
                                                   psr_err *err);

/* As should_stop of descriptions, for those of plans; ctx is the psr_series_search. */
bool psr_series_search_is_stopped(void *ctx);

/* Searches all series, and notes those that were refused.
 * Given:  end   [nline]
 * Status: that of the first device that failed */
PSR_MUST_CHECK psr_status psr_series_search_run(struct psr_series_search *s,
                                                const struct psr_sink_end *end, psr_err *err);

void psr_series_search_destroy(struct psr_series_search *s);

#endif
