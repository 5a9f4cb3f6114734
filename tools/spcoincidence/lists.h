/* lists.h: lists of single pulses of several beams (private to spcoincidence). */
#ifndef PSR_SPCOINCIDENCE_LISTS_H
#define PSR_SPCOINCIDENCE_LISTS_H

#include "base/tool.h"
#include <psrkit/experimental/singlepulse.h>
#include <psrkit/status.h>

enum { MARKS_BYTES = 64 };

/* A row of a list. */
struct pulse {
    char *text; /* the columns before the marks */
    char marks[MARKS_BYTES];
    char *rest; /* columns after them, each behind a tab, in text's memory */
    double snr;
    double sample, time_s, first, last; /* of which first and last are samples */
    size_t list, nbeam;                 /* beams that see it */
};

struct lists {
    struct psr_names *names; /* of the files */
    struct pulse *pulse;     /* [n] list by list, in the order of the files */
    size_t n, room;
    double *tsamp_s; /* [names->n] */
};

/* Reads all lists.  The caller clears them, also after an error.
 * Status: those of psr_text_lines_next; PSR_EFORMAT naming file, line and column */
psr_status lists_read(struct lists *l, psr_err *err);

/* Counts the beams of every pulse, and marks those that more than share of all see, at least 2; other such marks
 * go.  Status: PSR_ENOMEM */
psr_status lists_mark(struct lists *l, double tol_s, double share, psr_err *err);

void lists_clear(struct lists *l);

#endif
