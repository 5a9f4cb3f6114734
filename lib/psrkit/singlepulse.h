/* singlepulse.h: boxcar search of dedispersed series for single pulses.
 *
 * Each series is detrended and normalised robustly, then convolved with boxcars of 1, 2, 3, 4, 6,
 * 9, 14, 20, 30, 45, 70, 100, 150, 220, 300 samples up to a longest width; S/N = sum / (sigma
 * sqrt(width)). A plan is a stream: blocks of all series are pushed as they come, of any length,
 * and the events do not depend on how the stream was cut.  One plan, one caller's thread. */
#ifndef PSRKIT_SINGLEPULSE_H
#define PSRKIT_SINGLEPULSE_H

#include <psrkit/obs.h>
#include <psrkit/outfile.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psr_singlepulse psr_singlepulse;

struct psr_singlepulse_desc {
    size_t nseries;
    const double *dm;    /* [nseries] pc cm^-3; copied */
    const size_t *sweep; /* [nseries] input samples after its own that an output sample of this
                            series draws on, for masking; NULL is 0; copied */
    double tsamp_s;      /* of the series */
    double threshold;    /* least S/N of an event */
    double maxwidth_s;   /* longest boxcar; 0: the longest of the list (300 samples) */
    int nthread;         /* 0: all cores */
};

/* One boxcar above threshold that no better overlapping one of the same series outshines. */
struct psr_event {
    double snr;
    int64_t sample; /* centre of the boxcar, in samples of the series (first + width/2) */
    int width;      /* samples */
    size_t trial;   /* index of the series */
};

PSR_MUST_CHECK psr_status psr_singlepulse_create(psr_singlepulse **out,
                                                 const struct psr_singlepulse_desc *desc,
                                                 psr_err *err);

/* Declares samples [span.first, span.first + span.count) of the input of dedispersion (in series
 * samples) to hold no data: no event draws on them, at any DM, and they do not enter the
 * statistics.  To be called before the execute that brings samples drawing on them. */
PSR_MUST_CHECK psr_status psr_singlepulse_mask(psr_singlepulse *p, struct psr_span span,
                                               psr_err *err);

/* Given:  x [nseries][stride], the next nsamp samples of every series */
PSR_MUST_CHECK psr_status psr_singlepulse_execute(psr_singlepulse *p, const float *x, size_t stride,
                                                  size_t nsamp, psr_err *err);

/* The stream has ended: searches what is still held back. */
PSR_MUST_CHECK psr_status psr_singlepulse_finish(psr_singlepulse *p, psr_err *err);

/* Events found so far in series i, by ascending sample; the plan's, valid until the next call that
 * changes the plan. */
size_t psr_singlepulse_events(const psr_singlepulse *p, size_t i, const struct psr_event **events);

/* NULL is fine. */
void psr_singlepulse_destroy(psr_singlepulse *p);

/* Writes events of one series as PRESTO's single_pulse_search.py does (.singlepulse). */
PSR_MUST_CHECK psr_status psr_singlepulse_write(psr_outfile *f, double dm, double tsamp_s,
                                                const struct psr_event *events, size_t n,
                                                psr_err *err);

/* A group of events that are one pulse seen at neighbouring times, widths and DMs. */
struct psr_cluster {
    struct psr_event best;
    size_t members;
    int64_t first, last; /* samples the members cover */
};

/* Groups events whose boxcars overlap or nearly do (within time_tol samples) and whose trials are
 * within trial_tol indices of each other.
 * Given:    events [n], any order
 * Returned: *clusters [*nclusters], best S/N first; malloc'd, caller frees */
PSR_MUST_CHECK psr_status psr_cluster_events(const struct psr_event *events, size_t n,
                                             int64_t time_tol, size_t trial_tol,
                                             struct psr_cluster **clusters, size_t *nclusters,
                                             psr_err *err);

/* Writes clusters in Heimdall's tab-separated columns after one '#' header line: S/N, sample, time
 * (s), filter (log2 of the width), DM trial, DM, members, first sample, last sample. */
PSR_MUST_CHECK psr_status psr_cluster_write(psr_outfile *f, const double *dm, double tsamp_s,
                                            const struct psr_cluster *clusters, size_t n,
                                            psr_err *err);

#ifdef __cplusplus
}
#endif
#endif
