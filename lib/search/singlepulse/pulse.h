/* pulse.h: the steps of the single-pulse search, private to the library.
 *
 *   measure   level, slope and scatter of one piece of a series
 *   node      baseline and scatter at the middle of a piece, from the pieces around it
 *   flatten   (x - baseline) / scatter between two nodes; samples without data become -infinity
 *   best      the best boxcar centred on every sample
 *   pick      the boxcars that no better overlapping one outshines
 *
 * Everything hangs on the absolute index of a sample alone, so how a stream was cut cannot show. */
#ifndef PSR_SEARCH_PULSE_H
#define PSR_SEARCH_PULSE_H

#include "base/clones.h"
#include "pulse_math.h"

#include <psrkit/singlepulse.h>

enum {
    PULSE_RING = 16, /* pieces remembered: at least 2 reach + 2 */
    PULSE_SUMS = 19, /* boxcars computed, those between the searched ones included */
};

/* Floats that measuring n samples needs. */
#define PULSE_WORK(n) (3 * (n) + 16)

/* Samples of a piece for boxcars up to maxwidth samples. */
size_t psr_pulse_piece_length(size_t maxwidth);

/* Given:  x [n], the first of them with absolute index first; work
 *         [PULSE_WORK(n)] */
void psr_pulse_measure(struct pulse_piece *out, const float *x, size_t n, int64_t first,
                       float *work);

/* The node of piece k, pieces of length samples being known up to index last >= k.
 * Given:  ring [PULSE_RING], piece q at q % PULSE_RING */
void psr_pulse_baseline_node(struct pulse_baseline_node *out, const struct pulse_piece *ring,
                             int64_t k, int64_t last, size_t length);

/* Given:  x [n], the first of them with absolute index first; a, b the nodes on either side, or one
 *         and the same beyond the outermost */
void psr_pulse_flatten(float *z, const float *x, size_t n, int64_t first,
                       const struct pulse_baseline_node *a, const struct pulse_baseline_node *b);

/* Widest boxcar of the list that is at most limit samples; 1 where none is. */
size_t psr_pulse_width_at_most(double limit);

/* Given:    z [m], m >= maxwidth; work [PULSE_SUMS][m]
 * Returned: best [m], width [m]: S/N and samples of the best boxcar centred on each sample, the
 *           narrowest of equals; all widths up to maxwidth were tried where
 *           maxwidth/2 <= c <= m - (maxwidth - maxwidth/2) */
void psr_pulse_best(const float *z, size_t m, size_t maxwidth, float *best, int32_t *width,
                    float *work);

/* A boxcar above threshold. */
struct pulse_hit {
    int64_t sample;
    float snr;
    int32_t width;
};

/* Hits of one series that may still meet a better one, and the events that are settled. */
struct pulse_peaks {
    struct pulse_hit *hit;
    size_t nhit, hit_room;
    int64_t start;   /* of the hits waiting: least sample */
    int64_t end;     /* of the hits waiting: one past the last sample covered */
    int64_t barrier; /* samples before it belong to events that were settled early */
    struct psr_event *event;
    size_t nevent, event_room, limit;
    int64_t dropped;
};

void psr_pulse_peaks_init(struct pulse_peaks *p, size_t limit);
void psr_pulse_peaks_clear(struct pulse_peaks *p);

/* Takes the next hit, in ascending order of its sample, of series trial.
 * Returned: false where memory ran out */
PSR_MUST_CHECK bool psr_pulse_peak_select(struct pulse_peaks *p, struct pulse_hit hit,
                                          size_t maxwidth, size_t trial);

/* Settles the hits waiting: no more will come.  Returned: as above */
PSR_MUST_CHECK bool psr_pulse_settle(struct pulse_peaks *p, size_t trial);

/* Keeps the best p->limit events. */
PSR_MUST_CHECK bool psr_pulse_prune(struct pulse_peaks *p);

#endif
