/* rfi_detectors.h: finds interference in the statistics of intervals: lines, spectra to clip, unlike cells (private). */
#ifndef PSR_RFI_DETECTORS_RFI_DETECTORS_H
#define PSR_RFI_DETECTORS_RFI_DETECTORS_H

#include "dsp/dsp.h"
#include "rfi/rules/clean_internal.h"
#include "rfi/statistics/rfi_statistics.h"
#include <psrkit/experimental/clean.h>
#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

/* Lines in the power spectrum of a series, such as the sums of all channels.
 *
 * A series of up to PSR_RFI_LINES_LENGTH samples is transformed at once, without its last samples
 * where that makes a length without prime factors above 7; of a longer one the powers of parts of
 * that length are added up, and what is left over at the end is not used.
 *
 * Powers are compared with their local mean, from medians of blocks of a quarter of their bin
 * number (32 to 1024 bins), linear between their middles.  A line is where a power would occur in
 * noise, somewhere in the spectrum, with the probability of sigma; limits allow for the scatter of
 * the medians.  It reaches as far as neighbouring powers, or the next but one, are above what one
 * in 150 is in noise.  Below 1 Hz and below bin 32 nothing is searched: there noise is red. */

enum { PSR_RFI_LINES_LENGTH = 1 << 24 };

typedef struct psr_rfi_line_search psr_rfi_line_search;

/* Given:  most   samples of a part, PSR_RFI_LINES_LENGTH or fewer; even, 128 or more
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_line_search_create(psr_rfi_line_search **out, double tsamp_s,
                                                     size_t most, double sigma, psr_err *err);

/* Takes the next samples, which are finite.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_line_search_push(psr_rfi_line_search *p, const float *x, size_t n,
                                                   psr_err *err);

/* Returned: *lines, ascending; those at multiples of a line's frequency that follow each other are
 *           its harmonics.  The caller clears it, also after an error.  None of less than 128
 *           samples.
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_line_search_finish(psr_rfi_line_search *p,
                                                     struct psr_rfi_lines *lines, psr_err *err);

void psr_rfi_line_search_destroy(psr_rfi_line_search *p);

/* Adds a detection to the first birdie whose mean frequency is near enough, or as a new one.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_list_add(struct psr_rfi_list *list, double freq_hz, double sigma,
                                           size_t channel, size_t interval, psr_err *err);

/* Makes room for another number of intervals; those that remain keep their bits.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_list_widen(struct psr_rfi_list *list, size_t nint, psr_err *err);

/* --- finds the spectra of an interval to clip, and bursts and lines in the sums of all channels --- */

typedef struct psr_rfi_clip psr_rfi_clip;

struct psr_rfi_clip_desc {
    struct psr_layout layout;
    bool reverse; /* the first channel is the highest: sums of floats begin with the last one */
    size_t n;     /* spectra per interval */
    double sigma;
    int nthread;
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_clip_create(psr_rfi_clip **out,
                                              const struct psr_rfi_clip_desc *desc, psr_err *err);

/* Takes the next interval, in [n] spectra.
 * Returned: *level [nchan], the values of clipped samples, in the order of the data
 *           *bad [return value], the spectra to clip, ascending; both belong to the plan and are
 *           valid until the next call */
size_t psr_rfi_clip_find(psr_rfi_clip *p, const void *in, const float **level,
                         const uint32_t **bad);

/* The sums over channels of an interval, [n], as they are before clipping; the plan's, until the next
 * call.
 * Given: in   NULL: that of the last psr_rfi_clip_find */
const float *psr_rfi_clip_sums(psr_rfi_clip *p, const void *in);

void psr_rfi_clip_destroy(psr_rfi_clip *p);

/* Samples in a window.  In windows of PSR_RFI_WINDOW samples of Gaussian noise a sample is marked
 * at sigma 6 at most twice as often as a Gaussian is beyond that. */
enum { PSR_RFI_WINDOW = 4096 };

/* Marks the samples that are further from the running median than sigma times the scatter.  The
 * running median is that of windows, linear between their middles; the scatter is the median over
 * windows of their inter-quartile ranges over 1.349.  A burst of half a window or longer changes the
 * median, and is not marked beyond its ends.
 * Given:    x [n]      finite, n below 2^31
 *           window     samples, 1 or more; the last one is up to half as long again, or n
 * Returned: level [n]  the running median; may not be x; NULL: not wanted
 *           bad [n]    1 or 0
 *           *nbad      how many are 1
 * Status:   PSR_ENOMEM
 * Notes:    marks nothing if more than half of the windows have no scatter */
PSR_MUST_CHECK psr_status psr_rfi_outliers(const float *x, size_t n, size_t window, double sigma,
                                           float *level, unsigned char *bad, size_t *nbad,
                                           psr_err *err);

typedef struct psr_rfi_dm0 psr_rfi_dm0;

/* Given:  n             spectra per interval
 *         burst_sigma   a spectrum is in a burst if its sum is so far from the running median
 *         line_sigma    threshold of lines; 0: none are searched
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_dm0_create(psr_rfi_dm0 **out, size_t n, double tsamp_s,
                                             double burst_sigma, double line_sigma, psr_err *err);

/* Takes the sums of the next interval.
 * Given:    sum [n]   NULL: there are no data
 * Returned: *share of the spectra that are in bursts, or not finite
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_dm0_push(psr_rfi_dm0 *p, const float *sum, float *share,
                                           psr_err *err);

/* Returned: *lines; the caller clears it, also after an error.  In bursts, the running median is
 *           taken instead, and where there are no data the last one.
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_dm0_finish(psr_rfi_dm0 *p, struct psr_rfi_lines *lines,
                                             psr_err *err);

void psr_rfi_dm0_destroy(psr_rfi_dm0 *p);

/* --- statistics and periodic signals of the channels of one interval -------------------------- */

enum { PSR_RFI_TILE = 16 }; /* channels processed together */

typedef struct psr_rfi_cells psr_rfi_cells;

struct psr_rfi_cells_desc {
    struct psr_layout layout;
    size_t n;                  /* spectra per interval */
    const unsigned char *keep; /* [nchan] in the order of the data; borrowed */
    double freq_sigma;
    bool presto; /* search as PRESTO does: see psr_rfi_search */
    int nthread;
    void (*meanwhile)(void *ctx); /* called by one of several threads, once for each interval; NULL:
                                     nothing */
    void *ctx;
};

/* Which spectra are replaced, and by what. */
struct psr_rfi_replaced {
    const uint32_t *bad; /* [nbad] */
    size_t nbad;
    const float *level; /* [nchan] */
};

/* Statistics of an interval, and what was found in each channel; all in the order of the data. */
struct psr_rfi_row {
    float *power, *mean, *sd;  /* [nchan] */
    struct psr_rfi_hits *hits; /* [nchan], reused: each becomes as long as there are detections */
    struct psr_rfi_cell *cell; /* [nchan], without replaced samples; NULL: not wanted */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_cells_create(psr_rfi_cells **out,
                                               const struct psr_rfi_cells_desc *desc, psr_err *err);

/* Given:  in   [n] spectra
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_cells_measure(psr_rfi_cells *p, const void *in,
                                                const struct psr_rfi_replaced *replaced,
                                                const struct psr_rfi_row *row, psr_err *err);

void psr_rfi_cells_destroy(psr_rfi_cells *p);

/* inter-quartile range mitigation.
 *
 * Morello, Rajwade and Stappers 2021 (arXiv 2108.12434).  A statistic of the channels of one interval
 * is compared with itself shifted by lags of 1, 2, 3, 4, 6, 9, .. channels (each half as long again
 * as the one before, to a tenth of the channels) in both directions.  Where a difference exceeds the
 * median of all differences of that lag by more than a threshold of scatters, from their
 * inter-quartile range, the channel that it is compared with votes against the channel.  A vote
 * counts if the voter votes against fewer channels than vote against that channel. */

typedef struct psr_rfi_iqrm psr_rfi_iqrm;

/* Given:  nchan   at most 2^20
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_iqrm_create(psr_rfi_iqrm **out, size_t nchan, double sigma,
                                              psr_err *err);

/* Given:    x [nchan]
 * Returned: bad [nchan], 1 or 0 */
void psr_rfi_iqrm_find(psr_rfi_iqrm *p, const float *x, unsigned char *bad);

void psr_rfi_iqrm_destroy(psr_rfi_iqrm *p);

/* Marks cells whose samples are distributed unlike those of their channel in other
 * intervals: generalised spectral kurtosis, skewness and kurtosis. */

/* Intervals that a channel needs for a spectral kurtosis: its shape is the median over them. */
enum { PSR_RFI_LEAST_INTERVALS = 4 };

struct psr_rfi_cell psr_rfi_cell_from_moments(const struct psr_rfi_moments *m);

/* Thresholds in Gaussian sigma, 0: no such test. */
struct psr_rfi_shape_rules {
    double sk, skewness, kurtosis;
};

/* Marks cells that differ.
 *
 * Spectral kurtosis: see rfi_statistics.h.  Where the cells of the file scatter by more than noise
 * does (from their inter-quartile range), limits are wider in proportion.
 *
 * Skewness and kurtosis: differences from the channel's median over intervals, in units of the
 * scatter of all cells or, if that is larger, of the channel's (8 intervals or more; 3 times that
 * of all at most), both from inter-quartile ranges.  With fewer than 4 intervals the median is that
 * of all cells.  Not of channels of bits, whose mean says as much.
 *
 * In Gaussian noise of any depth each marks a cell at most as often as a Gaussian is further than
 * sigma from its mean; at 3.2 sigma spectral kurtosis and skewness do so as often, and all three
 * at most three times as often if samples are sums of ten powers.
 *
 * Given:    cell  [nint][nchan]; n = 0 where there are no data
 * Returned: found [nint][nchan], PSR_RFI_FOUND_SK, _SKEWNESS and _KURTOSIS added
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_test_shapes(const struct psr_rfi_cell *cell, size_t nint,
                                              size_t nchan, const struct psr_rfi_shape_rules *rules,
                                              unsigned char *found, psr_err *err);

#endif
