/* pulscan_lines.h: what bright lines add to the powers of bins around them (private).
 *
 * Of peaks of one bin that are bright enough, frequency, drift and amplitude of a line are fitted, and
 * its response is subtracted (search/matched/response/response.h).  A bin's power less that without the
 * line is what the line adds.  Brightest lines come first, each fitted to bins without those before
 * it; what is no line, or drifts further than 32 bins, adds nothing. */
#ifndef PSR_SEARCH_PULSCAN_LINES_H
#define PSR_SEARCH_PULSCAN_LINES_H

#include "pulscan_search.h"

#include "search/matched/response/response.h"

/* Bins to both sides of a line in which its response is known. */
enum { PSR_PULSCAN_LINE_REACH = 192 };

/* A line, and what it adds to the powers of its bins. */
struct psr_pulscan_line {
    size_t spec;
    struct psr_line_response is; /* is.n 0: no line after all */
    float *adds;                 /* [is.n] */
};

struct psr_pulscan_lines {
    const struct psr_pulscan_search *s;
    struct psr_response_maker *maker;
    struct psr_pulscan_line *line; /* [n] */
    size_t n, room;
};

PSR_MUST_CHECK psr_status psr_pulscan_lines_create(struct psr_pulscan_lines **out,
                                                   const struct psr_pulscan_search *s,
                                                   psr_err *err);
void psr_pulscan_lines_destroy(struct psr_pulscan_lines *lines); /* NULL is allowed */

/* Where bins of the last execute are read. */
struct psr_pulscan_reader {
    const struct psr_pulscan_ops *ops;
    void *state;
};

/* Finds the lines of all spectra of the last execute.
 * Given:  found   by spectrum, H, width and start
 * Status: PSR_ENOMEM, and those of amplitudes */
PSR_MUST_CHECK psr_status psr_pulscan_lines_find(struct psr_pulscan_lines *lines,
                                                 const struct psr_pulscan_reader *plan,
                                                 const struct psr_pulscan_found *found,
                                                 psr_err *err);

/* A line of spectrum spec in lo .. hi, with the width of its drift; -1: there is none. */
int64_t psr_pulscan_lines_in(const struct psr_pulscan_lines *lines, size_t spec, double lo,
                             double hi);

/* A line's own bins. */
struct psr_span psr_pulscan_lines_bins(const struct psr_pulscan_line *line);

/* Whether a box has at least half of its excess without lines; *power is its power without them. */
bool psr_pulscan_lines_apart(const struct psr_pulscan_lines *lines, size_t spec,
                             const struct psr_pulscan_hit *box, double *power);

/* Those of a plan. */
const struct psr_pulscan_lines *psr_pulscan_lines_of(const psr_pulscan *plan);

#endif
