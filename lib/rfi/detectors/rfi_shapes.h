/* rfi_shapes.h: marks cells whose samples are distributed unlike those of their channel in other
 * intervals: generalised spectral kurtosis, skewness and kurtosis (private). */
#ifndef PSR_RFI_DETECTORS_RFI_SHAPES_H
#define PSR_RFI_DETECTORS_RFI_SHAPES_H

#include "rfi/statistics/rfi_moments.h"

#include <psrkit/experimental/clean.h>

/* Intervals that a channel needs for a spectral kurtosis: its shape is the median over them. */
enum { PSR_RFI_LEAST_INTERVALS = 4 };

struct psr_rfi_cell psr_rfi_cell_from_moments(const struct psr_rfi_moments *m);

/* Thresholds in Gaussian sigma, 0: no such test. */
struct psr_rfi_shape_rules {
    double sk, skewness, kurtosis;
};

/* Marks cells that differ.
 *
 * Spectral kurtosis: see rfi_moments.h.  Where the cells of the file scatter by more than noise
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
