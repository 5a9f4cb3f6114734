/* planeplot.h: plots matched powers around a candidate against mean frequency r and drift z. */
#ifndef PLANEPLOT_H
#define PLANEPLOT_H

#include "plotfile.h"
#include <psrkit/experimental/accel.h>
#include <psrkit/experimental/pulscan.h>

struct planeplot {
    char title[600];
    double sigma;            /* of the candidate; below 0: nothing is kept yet */
    double rlo, dr, zlo, dz; /* of the plane's first column and row, and between them */
    size_t nr, nz;
    float *power;              /* [nz][nr]; owned */
    double r, z, first, width; /* the candidate, and its box */
    bool twice;                /* the box is drawn on both sides */
};

/* Bins around a candidate: those of spectrum s of a plan's last execute, normalised by it, or of a
 * spectrum, by their median. */
struct planeplot_bins {
    psr_pulscan *plan; /* NULL: of x */
    size_t s;
    const float *x; /* [nbin][2] */
    int64_t nbin;
};

/* Keeps the plane around cand if it is more significant than what is kept.
 * Status: those of psr_pulscan_amplitudes and psr_accel_template_create */
PSR_MUST_CHECK psr_status planeplot_keep(struct planeplot *p, const struct planeplot_bins *bins,
                                         const struct psr_accel_cand *cand, double tobs_s,
                                         const char *name, psr_err *err);

/* Draws, into a plot that is open; it is the caller's to abort on error.  Without a candidate there
 * is nothing to draw, and no picture.
 * Status: those of canvas_create_for and plotfile_end */
PSR_MUST_CHECK psr_status planeplot_draw(const struct planeplot *p, struct plotfile *f,
                                         psr_err *err);

void planeplot_release(struct planeplot *p);

#endif
