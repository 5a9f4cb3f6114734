/* presto_grid.h: the best place of a fine grid around a candidate with jerk (private). */
#ifndef PSR_COMPAT_PRESTO_PRESTO_GRID_H
#define PSR_COMPAT_PRESTO_PRESTO_GRID_H

#include "presto_response.h"

enum { PSR_PRESTO_GRID_MAX_HARM = 32 };

/* A place and its harmonics, of the fundamental. */
struct psr_presto_grid {
    int from, to; /* harmonics that are added up: 1 and all, or one alone */
    int wide;     /* steps of z and w of the search to either side: 2, or 1 for one harmonic */
    double r, z, w;
    double local[PSR_PRESTO_GRID_MAX_HARM]; /* power that each is over, by harmonic - 1 */
};

/* Takes r, z and w to where the sum of powers is highest: eighths of a bin of the highest harmonic
 * over three bins, quarters of the search's steps.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_presto_grid_climb(struct psr_presto_response *p,
                                                struct psr_presto_grid *g, psr_err *err);

#endif
