/* around.h: cut-outs around the events of a list. */
#ifndef PSR_TOOLS_FBEDIT_AROUND_H
#define PSR_TOOLS_FBEDIT_AROUND_H

#include "options.h"

struct fbedit_event {
    double t_s, dm;
};

struct fbedit_around {
    struct fbedit_event *event; /* [n] */
    size_t n, room;
    double length_s, lowest_mhz, highest_mhz; /* of the input */
    char *name, start[40], end[40];           /* of the cut-out in work */
};

/* Reads the list, and what must be known of the input.
 * Status: PSR_EFORMAT for a list with another row; PSR_EUNSUPPORTED for an input of unknown length */
PSR_MUST_CHECK psr_status fbedit_around_begin(struct fbedit_around *a,
                                              const struct fbedit_options *o, psr_err *err);

/* The description of cut-out i: range and name.
 * Status: PSR_EINVAL for an event that lies outside of the input */
PSR_MUST_CHECK psr_status fbedit_around_take(struct fbedit_around *a, struct fbedit_options *o,
                                             const char *output, size_t i, psr_err *err);

void fbedit_around_end(struct fbedit_around *a);

#endif
