/* singlepulse.h: boxcar search of dedispersed series for single pulses.
 *
 * Each series is flattened, robustly: less its baseline, over its scatter.  Then it is convolved with
 * boxcars of 1, 2, 3, 4, 6, 9, 14, 20, 30, 45, 70, 100, 150, 220, 300 samples up to a longest width;
 * S/N is the sum over a boxcar, over the scatter that boxcars of this width have in the noise around.
 * A plan is a stream: blocks of all series are pushed as they come, of any length, and the events
 * have the same bits however the stream was cut and for any number of threads.  One plan, one
 * caller's thread.
 *
 * Level and scatter.  Series are measured in pieces of 4 longest boxcars (at least 512 samples,
 * rounded up to a multiple of 64) by a straight line through the samples within 3 sigma of it,
 * found from the median and the median absolute deviation in three rounds; where more than half of
 * the samples are the same, as in a series of few levels, all samples count.  The level at the
 * middle of a piece is the line through the midmeans (means of the middle half) of the piece with
 * the four before it and of the piece with the four after it; sigma is the midmean of all nine.
 * Between middles both are interpolated.  A piece of more than twice the scatter around it is
 * measured by its own; one of less than a quarter, or all of one value, holds no data and gives no
 * events.  Samples that are no numbers, or beyond 1e30 in size, count as masked.  Fewer than 16 good
 * samples in all give no events.
 *
 * Baseline.  What these lines leave of the levels of eighths of pieces (means of the samples near the
 * piece's line; bounded at 6 times their scatter, so that bright pulses do not pull it) is smoothed
 * with weights 1/4, 1/2, 1/4, first between neighbours, then over two, four and eight eighths: so
 * baselines are 9, 3, 1.5, 0.73 or 0.33 pieces long.  Each piece takes the one that best predicts an
 * eighth from the others, over the 16 pieces that end two after it; a shorter one has to be better by
 * 3 %, and so has any other than the last piece's.  Or all are of one length (detrend).
 *
 * Scatter of boxcars.  Of each width nine boxcars a piece are taken, over the 16 pieces that end
 * three after it; the mean square of those within 3 sigma, over that of white noise less such a
 * baseline, counts where it is more than 4.5 standard errors off 1, by what it is more.
 *
 * Of white noise S/N has a spread of 1.00 up to a third of the longest width, and 0.99 at it.  Of a
 * weak pulse the baseline takes (measured) 3 % or less of the S/N at the longest width and 1 % at a
 * third of it; at the very start or end of a series 25 % at the longest width and 3 % at a tenth of
 * it.  Where baselines are short, in red noise, it takes more of wide pulses, and what is left is
 * measured against what is left of the noise. */
#ifndef PSRKIT_SINGLEPULSE_H
#define PSRKIT_SINGLEPULSE_H

#include <psrkit/device.h>
#include <psrkit/obs.h>
#include <psrkit/outfile.h>
#include <psrkit/resample.h>

PSR_API_BEGIN

typedef struct psr_singlepulse psr_singlepulse;

struct psr_singlepulse_desc {
    size_t nseries;
    const double *dm;    /* [nseries] pc cm^-3; copied */
    const size_t *sweep; /* [nseries] input samples after its own that an output sample of this
                            series draws on, for masking; NULL is 0; copied */
    double tsamp_s;      /* of the series */
    double threshold;    /* least S/N of an event */
    double maxwidth_s;   /* longest boxcar; 0: the longest of the list (300 samples) */
    double detrend;    /* samples that baselines are long, the next of the five lengths; 0: as each
                            piece needs */
    int nthread;       /* 0: all cores */
    size_t max_events; /* kept in all, an equal share per series, the best; 0: 10 million */
    size_t block;      /* samples of each series in one execute, about: devices take them at once
                            where they have memory; 0: not known */
};

/* One boxcar, and a pulse of its own.  First boxcars whose S/N and height (the sum of the flattened
 * samples over the root of the width) are above 8, the best by the lesser of the two first, then others
 * by S/N, of at least the threshold: each that overlaps no event is one, but for two kinds.  Where no
 * valley of 6 standard deviations below its own level parts it from an event at most a longest boxcar
 * away, it belongs to that.  And where two narrower boxcars in it, with such a valley between them,
 * have more in squares than it, no boxcar across the valley is an event.  More than four pieces in a
 * row with boxcars above threshold are settled from their front, as seen half of them ahead. */
struct psr_event {
    double snr;
    int64_t sample; /* centre of the boxcar, in samples of the series (first + width/2) */
    int width;      /* samples */
    size_t trial;   /* index of the series */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM.
 * Notes:  the plan holds 14 pieces of every series and what is known of 28 (see above: 115 kB a series
 *         for 300 samples), on devices 16384 samples or a block more where there is memory, and the
 *         events. */
PSR_MUST_CHECK psr_status psr_singlepulse_create(psr_singlepulse **out,
                                                 const struct psr_singlepulse_desc *desc,
                                                 psr_err *err);

/* Declares samples [span.first, span.first + span.count) of the input of dedispersion (counted in
 * series samples) to hold no data: no boxcar draws on them, at any DM, and they do not enter the
 * statistics.  Series i loses its samples from span.first - sweep[i] on.  To be called before the
 * execute that brings samples drawing on them; spans may overlap and come in any order.
 * Status: PSR_EINVAL (count < 0, or some of those samples have been searched), PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_singlepulse_mask(psr_singlepulse *p, struct psr_span span,
                                               psr_err *err);

/* Given:  x [nseries][stride], the next nsamp samples of every series
 * Status: PSR_EINVAL (stride < nsamp, or the stream has ended), PSR_ENOMEM.  After an error the
 *         plan can only be destroyed. */
PSR_MUST_CHECK psr_status psr_singlepulse_execute(psr_singlepulse *p, const float *x, size_t stride,
                                                  size_t nsamp, psr_err *err);

/* As psr_singlepulse_execute, of series that lie on devices and are searched there; the events have
 * the same bits.
 * Given:  device_series [ndevice_series]   all series, in order; the same devices, series and streams in every call
 *                        of a stream, none of whose samples may come from the host
 *         bin [nbin]   what psr_resample_report says of the nsamp samples, and then series are
 *                      searched as if that had been done; NULL without resampling
 * Status: PSR_EINVAL (device_series, the stream has ended), PSR_EDEVICE, PSR_ENOMEM.  After an error the
 *         plan can only be destroyed.
 * Notes:  comes back while the devices are at work; a later call collects what they found. */
PSR_MUST_CHECK psr_status psr_singlepulse_execute_device(
    psr_singlepulse *p, const struct psr_device_series *device_series, size_t ndevice_series,
    size_t nsamp, const struct psr_resample_bin *bin, size_t nbin, psr_err *err);

/* The stream has ended: searches what is still held back.
 * Status: PSR_EINVAL (it had ended already), PSR_EDEVICE, PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_singlepulse_finish(psr_singlepulse *p, psr_err *err);

/* Events found so far in series i, by ascending sample; the plan's, valid until the next call that
 * changes the plan.  They trail the samples pushed by 12 pieces and more, and a series holds up to about
 * twice its share of max_events until the stream has ended. */
size_t psr_singlepulse_events(const psr_singlepulse *p, size_t i, const struct psr_event **events);

/* Events left out so far because a series had more than its share of max_events. */
int64_t psr_singlepulse_dropped(const psr_singlepulse *p);

/* Seconds that the busiest device searched so far; 0 where series lay on the host. */
double psr_singlepulse_device_seconds(const psr_singlepulse *p);

/* Longest boxcar used, samples. */
size_t psr_singlepulse_maxwidth(const psr_singlepulse *p);

/* Samples that all baselines average over, the length next to the one asked for; 0 where each piece
 * has its own. */
double psr_singlepulse_detrend(const psr_singlepulse *p);

/* NULL is fine. */
void psr_singlepulse_destroy(psr_singlepulse *p);

/* Writes events of one series, in the order given, as PRESTO's single_pulse_search.py does
 * (.singlepulse): nothing at all where there are none.  Status: those of psr_outfile_write. */
PSR_MUST_CHECK psr_status psr_singlepulse_write(psr_outfile *f, double dm, double tsamp_s,
                                                const struct psr_event *events, size_t n,
                                                psr_err *err);

/* A group of events that are one pulse seen at neighbouring times, widths and DMs. */
struct psr_cluster {
    struct psr_event best;
    size_t members;
    int64_t first, last; /* samples of the common clock that the members cover */
};

/* Groups events into pulses.  Friends are two events whose boxcars overlap or have at most time_tol
 * samples between them, samples of the coarser of their two series, and whose trials are within
 * trial_tol indices of each other.  Best first, each event joins the cluster of its best friend, or
 * begins one where it has none.  Where friends of an event belong to other clusters these are
 * joined too, one pulse with a second peak, unless the event lies below 0.9 of the S/N of the lower
 * peak less 3: then they are two pulses that touch.
 * Given:    events [n], any order
 *           scale [trials]   samples of a clock common to all series in one of each series; NULL: 1
 * Returned: *clusters [*nclusters], best S/N first, then the lower trial, then the earlier;
 *           malloc'd, caller frees; NULL where there are none
 * Status:   PSR_EINVAL (time_tol < 0), PSR_ENOMEM
 * Notes:    takes O(n log n + m) time, m pairs of friends, and at most 150 bytes an event.
 *           Events of one series, as psr_singlepulse finds them, do not overlap, and have few friends.
 */
PSR_MUST_CHECK psr_status psr_cluster_events(const struct psr_event *events, size_t n,
                                             const size_t *scale, int64_t time_tol,
                                             size_t trial_tol, struct psr_cluster **clusters,
                                             size_t *nclusters, psr_err *err);

/* Writes clusters in Heimdall's tab-separated columns after one '#' header line: S/N, sample, time
 * (s), filter (log2 of the width), DM trial, DM, members, first sample, last sample; samples and
 * width on the common clock.
 * Given:  dm [trials], pc cm^-3; scale as above; tsamp_s   of the common clock
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_cluster_write(psr_outfile *f, const double *dm, const size_t *scale,
                                            double tsamp_s, const struct psr_cluster *clusters,
                                            size_t n, psr_err *err);

PSR_API_END
#endif
