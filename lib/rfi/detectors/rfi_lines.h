/* rfi_lines.h: lines in the power spectrum of a series, such as the sums of all channels (private).
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
#ifndef PSR_RFI_DETECTORS_RFI_LINES_H
#define PSR_RFI_DETECTORS_RFI_LINES_H

#include <psrkit/experimental/clean.h>

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

#endif
