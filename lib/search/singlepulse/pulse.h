/* pulse.h: the steps of the single-pulse search, private to the library.
 *
 *   measure   level, slope and scatter of one piece of a series, and the levels of its parts
 *   node      baseline and scatter at the middle of a piece, from the pieces around it
 *   rest      what the line between nodes leaves of the levels of parts
 *   smooth    that, smoothed over lengths of which each piece takes its best
 *   flatten   (x - baseline) / scatter; samples without data become -infinity
 *   add up    the greatest sum of each width, and the boxcars that its scatter is measured from
 *   norms     S/N of a sum, by the scatter of its width in the pieces around
 *   pick      the boxcars above threshold that are pulses of their own
 *
 * Everything hangs on the absolute index of a sample alone, so how a stream was cut cannot show. */
#ifndef PSR_SEARCH_PULSE_H
#define PSR_SEARCH_PULSE_H

#include "base/threads/clones.h"
#include "pulse_adapt.h"

#include <psrkit/experimental/singlepulse.h>

/* Loud pieces in a row are settled together, but a row of this many from its front, as seen half its
 * length ahead, so that a storm of interference takes bounded memory and time. */
enum { PULSE_STORM = 4 };

enum {
    PULSE_SUMS = 19, /* boxcars computed, those between the searched ones included */
};

/* Floats that measuring n samples needs. */
#define PULSE_WORK(n) (2 * ((n) + PULSE_LANES))

/* Samples of a piece for boxcars up to maxwidth samples. */
size_t psr_pulse_piece_length(size_t maxwidth);

/* Given:    x [n], of a piece of "length", the first of them with absolute index first; work
 *           [PULSE_WORK(n)]
 * Returned: *out; level, of parts, not a number where there is none */
void psr_pulse_measure(struct pulse_piece *out, double level[PULSE_PARTS], const float *x, size_t n,
                       size_t length, int64_t first, float *work);

/* Given:  x [n], a piece of "length"; its ramps, its length of baseline and what is smoothed */
void psr_pulse_flatten(float *x, size_t n, size_t length, const struct pulse_figures *f);

/* Widest boxcar of the list that is at most limit samples; 1 where none is. */
size_t psr_pulse_width_at_most(double limit);

/* Given:  fixed   length of all baselines, or -1 */
void psr_pulse_set_scale(struct pulse_scale *s, size_t maxwidth, size_t length, int fixed);

/* The length of baseline next to so many samples, and samples of a length, pieces having "length". */
int psr_pulse_choose_fixed(double samples, size_t length, bool causal);
double psr_pulse_span(int n, size_t length, bool causal);

/* Sums of all boxcars of one width, by first sample. */
struct pulse_sum {
    int32_t width;
    const float *sum; /* [m - width + 1] */
};

/* Given:    z [m]; work [PULSE_SUMS - 1][m]
 * Returned: how many; sums in z and work */
int psr_pulse_sums(struct pulse_sum sum[PULSE_WIDTHS], const float *z, size_t m, size_t maxwidth,
                   float *work);

/* What the boxcars that end in samples [from, from + n) of a piece come to: the greatest of each width, and
 * the draws, of which later ones are missing.
 * Given:  flat   maxwidth - 1 samples before them and the n; work [PULSE_SUMS - 1][as many] */
void psr_pulse_add_up(struct pulse_figures *f, const struct pulse_scale *s, const float *flat,
                      size_t from, size_t n, float *work);
void psr_pulse_size_draws(struct pulse_figures *f); /* once all are there */

/* Mean squares of tests of pieces a .. b, of each length, as pulse_rest_square. */
void psr_pulse_test_squares(double square[PULSE_LENGTHS], const struct pulse_figures *ring,
                            int64_t nring, int64_t a, int64_t b);

/* The norms of piece k, from the window that ends with piece b; -1: there is none. */
void psr_pulse_find_norms(struct pulse_figures *ring, int64_t nring, const struct pulse_scale *s,
                          int64_t k, int64_t b);

/* --- what is a pulse (singlepulse_pick.c, singlepulse_region.c) -------------------------------- */

/* Loud pieces in a row: the samples in which pulses have to tell themselves apart. */
struct pulse_region {
    const float *z; /* [maxwidth - 1 + n] flattened */
    const float (*norm)[PULSE_COLUMNS];
    size_t n, length, maxwidth;
    float threshold;
    int64_t
        taken; /* of samples before the first, maxwidth - 1 at most: those up to it belong to events */
};

/* A boxcar that is a pulse: from sample "first" of the region, below 0 where it begins before. */
struct pulse_hit {
    int64_t first;
    int32_t width;
    float snr;
};

/* A thread's room for settling regions. */
struct pulse_room {
    void *memory;
    size_t bytes;
};

/* Returned: hits in *hit [*nhit], in the room; false where memory ran out */
PSR_MUST_CHECK bool psr_pulse_settle_region(struct pulse_room *room, const struct pulse_region *r,
                                            const struct pulse_hit **hit, size_t *nhit);

/* The region of one series that waits for more, and the events that are settled. */
struct pulse_peaks {
    size_t maxwidth, length, storm; /* storm: pieces in a row that are settled from their front */
    float threshold;
    float *z; /* [maxwidth - 1 + n] */
    float (*norm)[PULSE_COLUMNS];
    size_t n, npiece, z_room, norm_room;
    int64_t piece;   /* index of the first */
    int64_t barrier; /* samples before it belong to events that were settled early */
    struct psr_event *event;
    size_t nevent, event_room, limit;
    int64_t dropped;
};

void psr_pulse_peaks_init(struct pulse_peaks *p, size_t maxwidth, size_t length, size_t storm,
                          float threshold, size_t limit);
void psr_pulse_peaks_clear(struct pulse_peaks *p);

/* Takes the next loud piece of series trial, in ascending order.
 * Given:    flat [maxwidth - 1 + n]
 * Returned: false where memory ran out */
PSR_MUST_CHECK bool psr_pulse_peak_select(struct pulse_peaks *p, struct pulse_room *room,
                                          int64_t piece, const float *flat, size_t n,
                                          const float norm[PULSE_COLUMNS], size_t trial);

/* Settles the region that waits: no more will come.  Returned: as above */
PSR_MUST_CHECK bool psr_pulse_settle(struct pulse_peaks *p, struct pulse_room *room, size_t trial);

/* No event to come begins before this sample, if loud pieces to come have this index or more. */
int64_t psr_pulse_peaks_settled(const struct pulse_peaks *p, int64_t next);

/* Keeps the best p->limit events. */
PSR_MUST_CHECK bool psr_pulse_prune(struct pulse_peaks *p);

#endif
