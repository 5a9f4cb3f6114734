/* planfile.h: reads and writes dedispersion plans, the text format between ddplan and gpudedisp.
 *
 *   # band tsamp_s=6.4e-05 nchan=1024 fctr_mhz=1400 bw_mhz=300
 *   # lodm dmstep ndms downsamp nsub
 *   0      0.1    2297 1        0
 *   229.7  0.3    737  2        0
 *
 * A line is a run of trials lodm, lodm + dmstep, ... downsamp is the number of samples summed first
 * (default 1); nsub is the number of sub-bands of PRESTO's two-step algorithm, or 0 (default) for
 * exact dedispersion.  '#' begins a comment; the comment "# band" gives the observing band that the
 * plan was made for.  The tables that ddplan and DDplan.py print can be read too. */
#ifndef PSRKIT_PLANFILE_H
#define PSRKIT_PLANFILE_H

#include <psrkit/ddplan.h>
#include <psrkit/outfile.h>
#include <stdbool.h>
#include <stddef.h>

PSR_API_BEGIN

enum { PSR_PLANFILE_MAX_LINES = 4096, PSR_PLANFILE_MAX_BYTES = 1 << 20 };

struct psr_plan_line {
    double lodm, dmstep; /* pc cm^-3 */
    int64_t ndm, downsamp, nsub;
};

struct psr_planfile {
    bool has_band;
    struct psr_band band;
    struct psr_plan_line *line; /* [nline], owned */
    size_t nline;
};

/* Reads path; "-" is standard input.  The caller clears *plan.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line, column and value, also for a file without trials;
 *         PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_planfile_read(struct psr_planfile *plan, const char *path,
                                            psr_err *err);

/* As psr_planfile_read, from a terminated text; name is for messages. */
PSR_MUST_CHECK psr_status psr_planfile_parse(struct psr_planfile *plan, const char *text,
                                             const char *name, psr_err *err);

/* Writes the band, the header and the lines.  Numbers have at most 10 digits.
 * Given:  remark   lines of text, without #, written first as comments; may be NULL
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_planfile_write(psr_outfile *f, const struct psr_planfile *plan,
                                             const char *remark, psr_err *err);

/* Converts a plan made by ddplan; the caller clears *to.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_planfile_from_ddplan(struct psr_planfile *to,
                                                   const struct psr_ddplan *from, psr_err *err);

/* Frees the lines; may be called again. */
void psr_planfile_clear(struct psr_planfile *plan);

PSR_API_END
#endif
