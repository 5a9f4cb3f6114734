/* singlepulse.h: searches dedispersed series for single pulses with boxcars.
 *
 * Each series is flattened robustly: its baseline is subtracted and it is divided by its scatter.
 * It is then convolved with boxcars of 1, 2, 3, 4, 6, 9, 14, 20, 30, 45, 70, 100, 150, 220, 300
 * samples up to a longest width; S/N is the sum over a boxcar divided by the scatter of boxcars of
 * this width in the surrounding noise.  A plan processes a stream of blocks of all series, of any
 * length; the events have the same bits for any block lengths and any number of threads.  Not
 * thread-safe: use each plan from one thread.
 *
 * Level and scatter.  Series are measured in pieces of 4 longest boxcars (at least 512 samples,
 * rounded up to a multiple of 64) by a straight line through the samples within 3 sigma of it,
 * found from the median and the median absolute deviation in three rounds; if more than half of the
 * samples are equal, as in a series with few levels, all samples count.  The level at the middle of
 * a piece is the line through the midmeans (means of the middle half) of the piece with the four
 * before it and of the piece with the four after it; sigma is the midmean of all nine.  Both are
 * interpolated between the middles.  A piece with more than twice the scatter around it is measured
 * by itself; one with less than a quarter, or with all values equal, contains no data and gives no
 * events.  Samples that are not numbers, or beyond 1e30 in size, count as masked.  Fewer than 16
 * good samples in total give no events.
 *
 * Baseline.  The levels of eighths of pieces relative to these lines (means of the samples near the
 * piece's line, limited to 6 times their scatter so that bright pulses do not affect them) are
 * smoothed with weights 1/4, 1/2, 1/4, first between neighbours, then over two, four and eight
 * eighths, which gives baselines of 9, 3, 1.5, 0.73 and 0.33 pieces.  Each piece uses the one that
 * best predicts an eighth from the others, over the 16 pieces that end two after it; a shorter one
 * must be better by 3 %, and so must any other than that of the last piece.  With detrend, all have
 * one length.
 *
 * Scatter of boxcars.  For each width, nine boxcars per piece are sampled over the 16 pieces that
 * end three after it.  If the mean square of those within 3 sigma, relative to white noise minus
 * such a baseline, exceeds 1 by more than 4.5 standard errors, S/N is corrected by the excess.
 *
 * Causal.  Level and scatter may come from what was before alone, so that events trail a series by two longest
 * boxcars, or 128 samples if these are longer, and by twice as much in a storm (below), instead of 13 pieces and
 * as long as no other pulse comes.  A piece is searched in eighths.  Its sigma is the midmean of the nine pieces
 * before it.  The level of an eighth is the mean over the
 * last 64, 32, 16, 8 or 4 eighths, of those lengths the one that has best predicted the eighths of the 16 pieces
 * before, with the same 3 %; what an eighth counts for is its mean of the samples within 3 sigma of its own level,
 * and once its piece is complete its level in that, both limited to 6 times the scatter of such predictions.
 * A piece whose line is more than 1 sigma off, or 1.5 times as noisy or quiet, begins anew: level and scatter from
 * before it are forgotten.  The scatter of boxcars is that in the 16 pieces before.  An eighth with less than a quarter of sigma contains no data,
 * and its piece teaches nothing, unless all eighths are so quiet.  The first piece
 * with data, also after more than 8 without, is the warm-up: it is measured by itself, and searched once it is
 * complete.  A slope of s sigma per piece leaves a level of at least 0.3 s.  A wide pulse draws on the levels of the eighths after it, not on its own.
 *
 * In white noise, S/N has a scatter of 1.00 up to a third of the longest width, and 0.99 at it.
 * The baseline reduces the S/N of a weak pulse (measured) by at most 3 % at the longest width and 1
 * % at a third of it; at the very start or end of a series by 25 % at the longest width and 3 % at
 * a tenth of it.  If baselines are short, in red noise, they reduce wide pulses more, and the
 * remainder is measured against the remaining noise. */
#ifndef PSRKIT_SINGLEPULSE_H
#define PSRKIT_SINGLEPULSE_H

#include <psrkit/device.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/obs.h>

PSR_API_BEGIN

typedef struct psr_singlepulse psr_singlepulse;

struct psr_singlepulse_desc {
    size_t size; /* sizeof the struct */
    size_t nseries;
    const double *dm;    /* [nseries] pc cm^-3; copied */
    const size_t *sweep; /* [nseries] further input samples that an output sample of this series
                            depends on, for masking; NULL is 0; copied */
    double tsamp_s;      /* of the series */
    double threshold;    /* S/N threshold of events */
    double maxwidth_s;   /* longest boxcar; 0: the longest of the list (300 samples) */
    double detrend;      /* length of baselines in samples, rounded to one of the five lengths; 0:
                          chosen per piece */
    int nthread;         /* 0: all cores */
    size_t max_events;   /* maximum number of events kept in total, an equal share per series, the
                          best ones; 0: 10 million */
    size_t block;        /* approximate samples of each series per execute: devices process them at
                          once if they have memory; 0: unknown */
    bool causal;         /* level and scatter from what was before alone: events come soon after
                            their last sample; on the host only */
    bool late;           /* series are those of psr_dedisp_desc.late: series i begins sweep[i]
                            samples before the input, and those are no data; on the host only */
};

/* One boxcar that is a pulse.  First, boxcars whose S/N and height (the sum of the flattened
 * samples divided by the square root of the width) are both above 8 are processed, best first by
 * the smaller of the two; then others by S/N, of at least the threshold.  Each boxcar that overlaps
 * no event becomes one, with two exceptions.  If no valley of 6 standard deviations below its own
 * level separates it from an event at most a longest boxcar away, it belongs to that event.  If it
 * contains two narrower boxcars, with such a valley between them, whose sum of squares exceeds its
 * own, no boxcar across the valley is an event.  More than four consecutive pieces with boxcars
 * above threshold are processed from their front, as seen half of them ahead; and so are more than eight eighths
 * of a causal search. */
struct psr_event {
    double snr;
    int64_t sample; /* centre of the boxcar, in samples of the series (first + width/2) */
    int width;      /* samples */
    size_t trial;   /* index of the series */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM
 * Notes:  the plan holds 14 pieces of every series and the statistics of 28 (see above: 115 kB per
 *         series for 300 samples), on devices 16384 samples or a block more if there is memory, and
 *         the events */
PSR_MUST_CHECK psr_status psr_singlepulse_create(psr_singlepulse **out,
                                                 const struct psr_singlepulse_desc *desc,
                                                 psr_err *err);

/* Given:  x [nseries][stride], the next nsamp samples of every series
 * Status: PSR_EINVAL (stride < nsamp, or the stream has ended), PSR_ENOMEM.  After an error the
 *         plan can only be destroyed. */
PSR_MUST_CHECK psr_status psr_singlepulse_execute(psr_singlepulse *p, const float *x, size_t stride,
                                                  size_t nsamp, psr_err *err);

/* Ends the stream and searches the samples still held back.
 * Status: PSR_EINVAL (it had ended already), PSR_EDEVICE, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_singlepulse_finish(psr_singlepulse *p, psr_err *err);

/* Events found so far in series i, by ascending sample; the plan's, valid until the next call that
 * changes the plan.  They trail the samples pushed by 12 pieces and more, and a series holds up to about
 * twice its share of max_events until the stream has ended. */
size_t psr_singlepulse_events(const psr_singlepulse *p, size_t i, const struct psr_event **events);

/* Longest boxcar used, in samples. */
size_t psr_singlepulse_maxwidth(const psr_singlepulse *p);

/* Frees the plan; NULL is allowed. */
void psr_singlepulse_destroy(psr_singlepulse *p);

/* Writes events of one series, in the given order, in the format of PRESTO's single_pulse_search.py
 * (.singlepulse); writes nothing if there are no events.
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_singlepulse_write(psr_outfile *f, double dm, double tsamp_s,
                                                const struct psr_event *events, size_t n,
                                                psr_err *err);

/* What speaks for interference; and PSR_PULSE_DM_UNKNOWN and PSR_PULSE_CLIPPED, which do not. */
enum psr_pulse_mark {
    PSR_PULSE_DM0 =
        1, /* S/N at DM 0 and at its own is that of an undispersed pulse, and rejects a dispersed one */
    PSR_PULSE_EDGE =
        2, /* at most a boxcar from samples without data, or from where a quarter of the band
                           begins or ends to be masked */
    PSR_PULSE_NARROW = 4,     /* in one sub-band of an eighth of the band */
    PSR_PULSE_DM_UNKNOWN = 8, /* "dm?": both a dispersed and an undispersed pulse fit */
    PSR_PULSE_CLIPPED =
        16, /* "clip": a tenth or more of its spectra were clipped, so that it is brighter */
    PSR_PULSE_SUSPECT =
        PSR_PULSE_DM0 | PSR_PULSE_EDGE | PSR_PULSE_NARROW /* those that count as marks */
};
enum { PSR_PULSE_NMARK = 5 };

/* A group of events that are one pulse, detected at neighbouring times, widths and DMs. */
struct psr_cluster {
    struct psr_event best;
    size_t members;
    int64_t first, last; /* range of samples of the common clock that the members cover */
    unsigned marks;      /* of enum psr_pulse_mark */
};

/* What is one pulse. */
struct psr_cluster_desc {
    size_t size;         /* sizeof the struct */
    const size_t *scale; /* [trials] samples of a clock common to all series per sample of each
                            series; NULL: 1 */
    const size_t *sweep; /* [trials] samples of the series from the arrival at the highest to that
                            at the lowest frequency; NULL: clusters have no limit in time */
    int64_t time_tol;    /* samples */
    size_t trial_tol;    /* trials */
    double band_ratio;   /* highest over lowest frequency; 0: close to 1 */
};

/* Groups events into pulses.  Two events are friends if their boxcars overlap or are at most
 * time_tol samples apart (samples of the coarser of their two series), and their trials are within
 * trial_tol indices.  An event can be part of a cluster whose best event has a boxcar of w samples of
 * the clock and S/N s, if its own, of v samples and S/N r,
 *  - is at most max(v, w), time_tol samples and the difference of their sweeps away from that, and
 *  - r <= 2 sqrt(min(v, w) / max(v, w)) s + 3: a boxcar v inside w, or around it, has about half
 *    of that of a pulse with boxcar w.  So a wide event does not swallow the narrow ones in it.
 * What a pulse of S/N s leaves if it fills a part p of the band, where the difference of the DMs is a delay of D samples,
 * d = p D, is s psr_dispersed_share(d, w) min(1, sqrt(v / d)), plus 3; in a wide band, where most channels have little of the
 * delay, d is multiplied by the least D(x) / x^2, where D(x) is the share of the delay that the share x of the channels has, from the highest down.
 * Best first, each event joins the cluster of its best friend, of those that it can be part of, or begins a new one if
 * there is none; so does one that the best friend's S/N, as above, does not explain, nor what the cluster's best event
 * leaves if it fills a third of the band.  If other friends of an event belong to other clusters that it can be
 * part of, these are merged as one pulse with a second peak if the lower peak can be part of the higher, unless
 * the S/N of the event is below 0.9 of that of the lower peak minus 3; or unless the higher peak leaves less at the lower one's
 * DM, filling a third, and S/N is 2 below the lower peak's at the event or its friend, there times 1.2 sqrt(v / u) if its
 * boxcar u is so much longer: then they are two adjacent pulses, or two that cross.
 * Last, a peak that is twice as long as a better one, which it met, or which a better one that it met has met, and so on,
 * is that one's flank, parted from it by the others: if it can be part of it, if its middle is where the difference of
 * their sweeps moves that pulse, and if its S/N, less s sqrt(w / v) of the others, is what that leaves filling the whole band.
 * Given:    events   [n], in any order
 * Returned: *clusters [*nclusters], best S/N first, then the lower trial, then the earlier;
 *           malloc'd, caller frees; NULL if there are none
 * Status:   PSR_EINVAL (time_tol < 0), PSR_ENOMEM
 * Notes:    takes O(n log n + m) time for m pairs of friends, and at most 150 bytes per event.
 *           Events of one series, as psr_singlepulse finds them, do not overlap and have few
 *           friends. */
PSR_MUST_CHECK psr_status psr_cluster_events(const struct psr_cluster_desc *desc,
                                             const struct psr_event *events, size_t n,
                                             struct psr_cluster **clusters, size_t *nclusters,
                                             psr_err *err);

/* Groups events of endless series into pulses as they come, in memory that does not grow: what
 * psr_cluster_events makes of all of them.  Events that may be friends form a group, which is complete once no event
 * to come can be a friend of its members. */
typedef struct psr_cluster_stream psr_cluster_stream;

/* What marks are made of. */
struct psr_marks_desc {
    size_t size;                   /* sizeof the struct */
    const struct psr_event *event; /* [nevent] of all series */
    size_t nevent;
    const size_t *scale, *sweep; /* [trials] as in psr_cluster_desc; sweep is required */
    double low_mhz, high_mhz;    /* edges of the band */
    const struct psr_span *gap;  /* [ngap] input without data, in samples of the common clock;
                                     ascending */
    size_t ngap;
    double threshold;     /* least S/N of events */
    double searched_from; /* least sweep of the trials, in samples of the common clock */
    double
        dispersed_from; /* sweep of the least DM that pulses have (PSR_PULSE_LEAST_DM), likewise */
};

/* No pulsar or burst from beyond the solar system is known below this DM, in pc cm^-3. */
#define PSR_PULSE_LEAST_DM 2.0

/* A pulse in one of several beams. */
struct psr_beam_pulse {
    double first_s, last_s; /* of a clock common to all beams */
    size_t beam;
};

/* Counts the beams with a pulse at most tol_s apart from each, its own included.
 * Given:    pulse [n]
 * Returned: count [n]
 * Status:   PSR_EINVAL naming field and value; PSR_ENOMEM
 * Notes:    takes O(n log n + m) time for m pairs that begin within the longest pulse of each other */
PSR_MUST_CHECK psr_status psr_pulse_count_beams(const struct psr_beam_pulse *pulse, size_t n,
                                                size_t nbeam, double tol_s, size_t *count,
                                                psr_err *err);

/* The spectrum of a pulse, from the spectra around it: what they have in a dispersed boxcar, above the level
 * beside it. */
typedef struct psr_pulse_spectrum psr_pulse_spectrum;

struct psr_pulse_spectrum_desc {
    size_t size; /* sizeof the struct */
    size_t nchan;
    const int64_t
        *delay;    /* [nchan] spectra by which the pulse is late in a channel, 0 or more; copied */
    int64_t first; /* spectrum in which the boxcar begins in a channel without delay */
    int64_t width; /* spectra, at least 1 */
};

/* Pictures of the spectra around a pulse: S/N of cells of consecutive channels and spectra. */
typedef struct psr_pulse_view psr_pulse_view;

struct psr_pulse_picture {
    int64_t first, step; /* spectrum with which the first column begins, and spectra of each */
    size_t nt, nf;       /* at most 96 columns, 64 rows */
    size_t
        nrow_chan; /* channels of a row, the first row's from channel 0; the last may have fewer */
    const float *value; /* [nf][nt] not a number: no samples; owned by the view */
};

/* Writes clusters in Heimdall's tab-separated columns after one '#' header line: S/N, sample, time
 * (s), filter (log2 of the width), DM trial, DM, members, first sample, last sample, and the
 * names of the marks with + between (dm0, edge, narrow, dm?, clip; - if there are none); samples and width on the
 * common clock.
 * Given:  dm [trials], pc cm^-3; scale as above; tsamp_s   of the common clock
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_cluster_write(psr_outfile *f, const double *dm, const size_t *scale,
                                            double tsamp_s, const struct psr_cluster *clusters,
                                            size_t n, psr_err *err);

/* Where a trial was dedispersed: the edges of its part of the band, and its number among the trials of the whole
 * band. */
struct psr_pulse_band {
    double low_mhz, high_mhz;
    size_t trial;
};

PSR_API_END
#endif
