/* filterbank_latency.h: measures how long after the last of its voltages came a row of a stream is
 * written (private).
 *
 * Readers tell of some samples when they came.  One between two of these came when a steady stream would
 * have brought it, or as long before the second as it was sampled, whichever is later: the stream may
 * have been silent. */
#ifndef PSR_RUN_CHANNELISE_FILTERBANK_LATENCY_H
#define PSR_RUN_CHANNELISE_FILTERBANK_LATENCY_H

#include "formats/voltages/baseband.h"

struct psr_filterbank_latency {
    double rate_hz; /* of samples */
    struct psr_baseband_mark *mark;
    size_t nmark, room;
    int64_t nrow;
    double sum_s, worst_s; /* over them */
};

/* Takes what is known of more samples.
 * Given:  mark, n   ascending, those of the reader
 *         first     the reader's number of sample 0 here
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_filterbank_latency_note(struct psr_filterbank_latency *l,
                                                      const struct psr_baseband_mark *mark,
                                                      size_t n, int64_t first, psr_err *err);

/* When a sample came; asked in ascending order.  NaN: nothing is known. */
double psr_filterbank_latency_came(struct psr_filterbank_latency *l, int64_t sample);

/* Counts a row that depends on samples up to this one, asked in ascending order, unless it waited for the end. */
void psr_filterbank_latency_add(struct psr_filterbank_latency *l, int64_t sample, double written_s);

/* Forgets what no sample from this one on needs. */
void psr_filterbank_latency_forget(struct psr_filterbank_latency *l, int64_t sample);

void psr_filterbank_latency_free(struct psr_filterbank_latency *l);

#endif
