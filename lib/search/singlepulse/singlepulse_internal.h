/* singlepulse_internal.h: streams, marks and pictures of pulses (private). */
#ifndef PSR_SINGLEPULSE_SINGLEPULSE_INTERNAL_H
#define PSR_SINGLEPULSE_SINGLEPULSE_INTERNAL_H

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

#endif
