/* pulseplot.h: plots single pulses in three panels, after Magro et al. 2011, Fig. 5: S/N against
 * time on top, S/N against DM and DM against time below. */
#ifndef PULSEPLOT_H
#define PULSEPLOT_H

#include "plotfile.h"
#include <psrkit/experimental/singlepulse.h>

struct pulseplot {
    const char *title;              /* such as the name of the input; may be NULL */
    const struct psr_event *events; /* [nevents], any order */
    size_t nevents;
    const struct psr_cluster *best; /* marked; NULL marks none */
    const double *dm;               /* [ndm] pc cm^-3 */
    size_t ndm;
    const size_t *scale; /* [ndm] samples of tsamp_s in one of each series; NULL: 1 */
    double tsamp_s;
    double start_s, end_s; /* time axis; equal: as the events need */
};

/* Draws, into a plot that is open; it is the caller's to abort on error.  Of more than 50000 events
 * the best are drawn, and the picture says so.
 * Status: those of canvas_create_for and plotfile_end; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status pulseplot_draw(struct plotfile *f, const struct pulseplot *what,
                                         psr_err *err);

#endif
