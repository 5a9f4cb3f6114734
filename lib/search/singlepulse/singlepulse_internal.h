/* singlepulse_internal.h: streams, marks and pictures of pulses (private). */
#ifndef PSR_SINGLEPULSE_SINGLEPULSE_INTERNAL_H
#define PSR_SINGLEPULSE_SINGLEPULSE_INTERNAL_H

#include "base/base.h"
#include "base/threads/isa.h"
#include "pulse_adapt.h"
#include <psrkit/experimental/singlepulse.h>

/* Longest boxcar of a plan with these, in samples. */
size_t psr_singlepulse_longest(double maxwidth_s, double tsamp_s);

/* Declares that samples [span.first, span.first + span.count) of the input of dedispersion (counted
 * in series samples) contain no data: no boxcar uses them, at any DM, and they do not enter the
 * statistics.  Series i loses its samples from span.first - sweep[i] on; a late one those from
 * span.first to as many after the span.  Call it before the
 * execute with samples that depend on them; spans may overlap and come in any order.
 * Status: PSR_EINVAL (count < 0, or some of those samples have been searched), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_singlepulse_mask(psr_singlepulse *p, struct psr_span span,
                                               psr_err *err);

/* As psr_singlepulse_execute, for series on devices, which are searched there; the events have the
 * same bits.
 * Given:  device_series [ndevice_series]   all series, in order; the same devices, series and
 *                                          streams in every call of a stream, none of whose samples
 *                                          may come from the host
 *         bin [nbin]   output of psr_resample_report for the nsamp samples; series are searched as
 *                      if it had been applied; NULL without resampling
 * Status: PSR_EINVAL (device_series, the stream has ended), PSR_EDEVICE, PSR_ENOMEM.  After an
 *         error the plan can only be destroyed.
 * Notes:  returns while the devices are still working; a later call collects the results */
PSR_MUST_CHECK psr_status psr_singlepulse_execute_device(
    psr_singlepulse *p, const struct psr_device_series *device_series, size_t ndevice_series,
    size_t nsamp, const struct psr_resample_bin *bin, size_t nbin, psr_err *err);

/* Events of series i still to come begin at this sample or after it. */
int64_t psr_singlepulse_settled(const psr_singlepulse *p, size_t i);

/* Forgets the events found so far, of all series: an endless stream takes constant memory. */
void psr_singlepulse_forget(psr_singlepulse *p);

/* Number of events dropped so far because a series exceeded its share of max_events. */
int64_t psr_singlepulse_dropped(const psr_singlepulse *p);

/* Search time of the busiest device so far, in seconds; 0 for series on the host. */
double psr_singlepulse_device_seconds(const psr_singlepulse *p);

/* Samples that all baselines average over, the length next to the one asked for; 0 where each piece
 * has its own. */
double psr_singlepulse_detrend(const psr_singlepulse *p);

/* Given:  desc    copied, with its scale and sweep [ntrial]
 *         longest   samples of the clock: a group that began longer ago, as in a storm of
 *                   interference, is taken so far as it is there, and counted; 0: never
 * Status: PSR_EINVAL (time_tol < 0), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_cluster_stream_create(psr_cluster_stream **out,
                                                    const struct psr_cluster_desc *desc,
                                                    size_t ntrial, int64_t longest, psr_err *err);

/* Takes n events, in any order.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_cluster_stream_push(psr_cluster_stream *s,
                                                  const struct psr_event *events, size_t n,
                                                  psr_err *err);

/* The clusters of all groups that have become complete.
 * Given:    settled [ntrial]   samples of the clock: no event of that trial that begins before it will be pushed
 * Returned: *clusters [*n] as psr_cluster_events returns them
 *           *events [*nevent] those of these groups, and others near them in time whose sweep is within their
 *           width, which psr_cluster_mark needs; the stream's, until its next call
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_cluster_stream_next(psr_cluster_stream *s, const int64_t *settled,
                                                  struct psr_cluster **clusters, size_t *n,
                                                  const struct psr_event **events, size_t *nevent,
                                                  psr_err *err);

/* Groups so far that were longer than "longest". */
int64_t psr_cluster_stream_cut(const psr_cluster_stream *s);

/* Frees it; NULL is allowed. */
void psr_cluster_stream_destroy(psr_cluster_stream *s);

/* Marks clusters by their best events, of width v, S/N s and sweep D.  Each is compared with events at DM 0 (with a sweep
 * of at most a quarter of their width), of w samples and S/N r, between the best event's begin and D after its end,
 * with b the share of the band in which the dispersed boxcar meets that one; and if DM 0 has no event, with one at the
 * threshold, as long and in the middle of the sweep (at s, if no trial has a sweep of at most a quarter of v).
 *  - It may be undispersed if s <= r + 2 sqrt(1 - c(D)^2) and s <= 2 r b min(v, w) / sqrt(v w), where c(D) is
 *    psr_dispersed_share(D, v): it is no better than at DM 0, and what is there shines through.
 *  - It may be dispersed if r <= c(d) s + 3 sqrt(1 - c(d)^2), with d the sweep nearest to 0 whose S/N differs from s
 *    by no more than noise, (1 - c(D - d)) / (1 + c(D - d)) <= 9 / s^2, and d >= dispersed_from.
 *  - It is below pulses if D < dispersed_from, and the greatest sweep whose S/N differs from s by no more than noise is at
 *    most 10 times dispersed_from.
 *  - PSR_PULSE_DM0 if for one of the events it may be undispersed, and not dispersed, or if it may be undispersed and is
 *    below pulses; else PSR_PULSE_DM_UNKNOWN if it may be undispersed.
 *  - PSR_PULSE_EDGE if at most v samples are between it and samples of its series that a gap takes.
 * Other marks stay.
 * Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_cluster_mark(const struct psr_marks_desc *desc,
                                           struct psr_cluster *clusters, size_t n, psr_err *err);

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_spectrum_create(psr_pulse_spectrum **out,
                                                    const struct psr_pulse_spectrum_desc *desc,
                                                    psr_err *err);

/* Spectra [*first, *end) that the pulse needs: with max(2 width, 32) spectra on either side of the boxcar. */
void psr_pulse_spectrum_range(const psr_pulse_spectrum *p, int64_t *first, int64_t *end);

/* Takes spectra [first, first + n) of x [n][nchan]; not a number: masked.  Any order, each once. */
void psr_pulse_spectrum_push(psr_pulse_spectrum *p, int64_t first, size_t n, const float *x);

/* With a(c) the sum of a channel over the boxcar less as many times its mean on either side, A the sum of all a:
 *  - PSR_PULSE_NARROW if A is above 0 and, without those of m of the n channels, in an eighth of the band (rounded
 *    up; consecutive channels), what is left of A, over sqrt(1 - m / n), is below half of A, or nothing is left
 *    (m = n).  A channel counts if it has samples in the boxcar, and beside it at least as many as the boxcar is
 *    long.  Not with fewer than 8 channels.
 *  - PSR_PULSE_EDGE if the number of channels that are not masked, along the sweep, within a boxcar's width of the
 *    boxcar, has a least value below 0.75 of its greatest.
 * Returned: marks; a [nchan], 0 for channels that do not count, unless it is NULL */
unsigned psr_pulse_spectrum_marks(psr_pulse_spectrum *p, double *a);

/* Frees it; NULL is allowed. */
void psr_pulse_spectrum_destroy(psr_pulse_spectrum *p);

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_view_create(psr_pulse_view **out,
                                                const struct psr_pulse_spectrum_desc *desc,
                                                psr_err *err);

/* Spectra [*first, *end) that the pictures show: the sweep, with max(16 width, 32) spectra on either side. */
void psr_pulse_view_range(const psr_pulse_view *p, int64_t *first, int64_t *end);

/* Takes spectra as psr_pulse_spectrum_push does. */
void psr_pulse_view_push(psr_pulse_view *p, int64_t first, size_t n, const float *x);

/* Makes the pictures, and frees what they are made of: nothing can be pushed then.
 * A sample counts by its distance from the mean of its channel, in units of the channel's scatter, both over the
 * range; a cell is the sum over its samples, over the square root of their number.  Channels without scatter do not
 * count.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_view_finish(psr_pulse_view *p, psr_err *err);

/* After psr_pulse_view_finish.
 * Returned: *aligned   of samples shifted by the delays; *swept   as they came; *series   [1][nt] of all channels,
 *           shifted */
void psr_pulse_view_pictures(const psr_pulse_view *p, struct psr_pulse_picture *aligned,
                             struct psr_pulse_picture *swept, struct psr_pulse_picture *series);

/* Frees it; NULL is allowed. */
void psr_pulse_view_destroy(psr_pulse_view *p);

/* As psr_cluster_write, with these numbers of trials and two more columns: edges of the part of the band in which the
 * best event was found, MHz.
 * Given:  band [trials]; edges of 0: without the columns */
PSR_MUST_CHECK psr_status psr_cluster_write_bands(psr_outfile *f, const double *dm,
                                                  const size_t *scale, double tsamp_s,
                                                  const struct psr_pulse_band *band,
                                                  const struct psr_cluster *clusters, size_t n,
                                                  psr_err *err);

/* The steps of the single-pulse search, private to the library.
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

/* --- what is a pulse (singlepulse_peaks.c) ---------------------------------------------------- */

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

/* What a kind of accelerator offers to the single-pulse search.
 *
 * Each device searches its share of the series and gives the pieces in which some boxcar is above
 * threshold; what in them is an event is settled on the host (singlepulse_device.c). */

struct pulse_partition {
    int device;
    size_t first, nseries; /* of the plan's series */
    void *stream;          /* as in psr_device_series */
    size_t maxwidth, length;
    const struct pulse_scale *scale; /* read at create only */
    size_t block;                    /* samples of a push, about; 0: not known */
    float threshold;
    const size_t *sweep; /* [nseries] of the share; read at create only */
};

/* The next samples of the stream. */
struct pulse_chunk {
    const float *d_x; /* [nseries][stride] */
    size_t stride, n;
    int64_t pos;                        /* of the first */
    const struct psr_resample_bin *bin; /* [nbin] in order; their places count from sample at0 */
    size_t nbin, at0;
    size_t nout; /* samples that these become */
    const struct psr_span *mask;
    size_t nmask;
};

struct pulse_found {
    const struct pulse_loud *loud; /* [n] by series and piece */
    size_t n;
    const float
        *z; /* [maxwidth - 1 + length] flattened at each place: the end of the piece before, and
                       its own samples */
};

struct psr_pulse_device_ops {
    /* Status: PSR_EDEVICE, PSR_ENOMEM */
    psr_status (*create)(void **state, const struct pulse_partition *share, psr_err *err);
    /* Samples that one push takes, or makes of what it takes, at most. */
    size_t (*room)(const void *state);
    /* Enqueue the search of what a chunk completes; or, at the end of the stream, of all. */
    psr_status (*push)(void *state, const struct pulse_chunk *chunk, psr_err *err);
    psr_status (*finish)(void *state, int64_t end, psr_err *err);
    /* Waits for what was enqueued last and gives what it found in series *from and some after it;
     * *from becomes the next, *more says whether there is one.  To be called to the end before the
     * next push. */
    psr_status (*collect)(void *state, size_t *from, struct pulse_found *found, bool *more,
                          psr_err *err);
    /* That the device was busy with what has been collected. */
    double (*seconds)(const void *state);
    void (*destroy)(void *state);
};

extern const struct psr_pulse_device_ops psr_pulse_cuda;

/* --- tells pulses from changes of the level and from several narrow signals --- */

typedef struct psr_pulse_levels psr_pulse_levels;

/* Given:  desc   as for psr_pulse_spectrum_create, and valid there
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_levels_create(psr_pulse_levels **out,
                                                  const struct psr_pulse_spectrum_desc *desc,
                                                  psr_err *err);

/* Takes spectra x [n][nchan] from "first" on, each once; not a number: no sample.  Needs those of
 * psr_pulse_spectrum_range; passes over others. */
void psr_pulse_levels_push(psr_pulse_levels *p, int64_t first, size_t n, const float *x);

/* Returned: PSR_PULSE_EDGE     the pulse does not stand above what is beside it, or the level before it and that
 *                              after it differ by more than the pulse
 *           PSR_PULSE_NARROW   it is of some sub-bands only, weak without what they have more than most, and so short
 *                              a sweep that its delay tells little */
unsigned psr_pulse_levels_marks(psr_pulse_levels *p);

/* Frees the object; NULL is allowed. */
void psr_pulse_levels_destroy(psr_pulse_levels *p);

/* --- the plan of the single-pulse search --- */

/* A series that is searched from what was before alone. */
struct pulse_trail {
    float *raw;                /* [length] of the piece at work */
    float *flat;               /* [maxwidth - 1 + length] before it and its own, flattened */
    double level[PULSE_TRAIL]; /* of part s at s % PULSE_TRAIL, not a number where there is none */
    double predicted[PULSE_PARTS][PULSE_LENGTHS]; /* of the parts of the piece, by length */
    double scatter, bound; /* of the piece; what its parts may be off by, in units of that */
    int ndead;             /* parts of the piece without data */
    int64_t since;         /* piece before which scatters are forgotten */
    bool known;            /* the piece has a scatter and levels from before */
    int64_t next;          /* part to be searched next */
};

/* One series. */
struct pulse_series_state {
    float *piece; /* [PULSE_SLOTS][length], piece k at k % PULSE_SLOTS, flattened once
                                     it can be; NULL: on a device */
    struct pulse_figures *figure; /* [PULSE_KEPT], of piece k at k % PULSE_KEPT */
    struct pulse_trail trail;     /* of a causal search, which has no pieces */
    struct pulse_peaks picker;
};

/* What one thread needs. */
struct pulse_bench {
    float *flat; /* [room] the end of a piece and the next */
    float *work; /* [PULSE_SUMS][room] */
    struct pulse_room room;
};

struct psr_singlepulse {
    struct psr_own own;
    size_t nseries, maxwidth, length, room, block;
    struct pulse_scale scale;
    size_t *sweep; /* [nseries] */
    size_t maxsweep;
    float threshold;
    int nthread;
    int64_t pos; /* samples pushed */
    bool causal, late, ended;
    struct psr_span *mask; /* that may still touch samples to come */
    size_t nmask, mask_room;
    struct pulse_series_state *series; /* [nseries] */
    struct pulse_bench *bench;         /* [nthread] */

    /* On the host; made when the first samples come from there. */
    float *samples;               /* of all lanes */
    struct pulse_figures *figure; /* of all lanes */

    /* On devices. */
    struct psr_device_series *device_series; /* [nshare] as the first call said */
    void **share; /* [nshare] state of each; NULL: the series lie on the host */
    size_t nshare;
};

/* Replaces the masked samples of [pos, pos + n) of series i by not-a-numbers. */
void psr_pulse_blank(const struct psr_singlepulse *p, size_t i, int64_t pos, float *x, size_t n);

/* Series i of a causal search.  Given:  samples [PULSE_TRAIL_ROOM(p)]; x [n], the next */
#define PULSE_TRAIL_ROOM(p) (2 * (p)->length + (p)->maxwidth - 1)
void psr_pulse_trail_init(struct psr_singlepulse *p, size_t i, float *samples);
bool psr_pulse_trail_push(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b,
                          const float *x, size_t n);
bool psr_pulse_trail_finish(const struct psr_singlepulse *p, size_t i, struct pulse_bench *b);

/* What a sum of 1 has of S/N in white noise. */
void psr_pulse_trail_scale(struct pulse_scale *s, size_t length);

/* Forgets masks that lie before p->pos. */
void psr_pulse_forget_masks(struct psr_singlepulse *p);

/* psr_singlepulse_finish where series lie on devices. */
PSR_MUST_CHECK psr_status psr_pulse_finish_partitions(struct psr_singlepulse *p, psr_err *err);
void psr_pulse_free_partitions(struct psr_singlepulse *p);

#endif
