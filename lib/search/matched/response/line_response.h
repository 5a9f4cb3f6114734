/* line_response.h: the response of bins to a bright line, fitted and subtracted (private). */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_LINE_RESPONSE_H
#define PSR_SEARCH_MATCHED_RESPONSE_LINE_RESPONSE_H

#include "correlate_kernel.h"
#include "response.h"

#include <psrkit/experimental/accel.h>

/* A line of mean frequency r, drift z and jerk w. */
struct psr_line_response {
    double r, z, w, power;
    int64_t first;
    size_t n;
    float *re, *im; /* [n] its part of bins first ..; re is malloc'd, and holds both */
};

/* Moves r, z and, with jerk, w to the highest power near them. */
void psr_line_fit(struct psr_line_response *line, const psr_accel_template *around, bool jerk);

/* Fills re and im for a line of amplitude 1.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_line_make(struct psr_line_response *line,
                                        struct psr_response_maker *maker, psr_err *err);

/* Multiplies re and im by the amplitude of least squares, and sets the power.
 * Given:    x       [n] bins first ..; noise: their mean power without signals
 * Returned: whether it is a line: no more than a twentieth of its power is left around it */
bool psr_line_scale(struct psr_line_response *line, struct psr_split x, double noise);

/* Subtracts its part from bins first .. first + n - 1. */
void psr_line_subtract(const struct psr_line_response *line, int64_t first, size_t n,
                       struct psr_split x);

#endif
