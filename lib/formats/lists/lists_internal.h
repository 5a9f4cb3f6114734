/* lists_internal.h: lists of candidates and of pulsars, read (private). */
#ifndef PSR_FORMATS_LISTS_LISTS_INTERNAL_H
#define PSR_FORMATS_LISTS_LISTS_INTERNAL_H

#include <psrkit/experimental/sift.h>
#include <psrkit/experimental/sink.h>

/* As psr_accel_read, from text of n bytes followed by a NUL byte; name is for messages. */
PSR_MUST_CHECK psr_status psr_accel_parse(struct psr_accel_rows *rows, const char *text, size_t n,
                                          const char *name, bool presto, psr_err *err);

/* Whether a name is that of a list of candidates of accelsearch: ROOT_ACCEL_200, with no suffix. */
bool psr_accel_is_list(const char *name);

/* As psr_catalogue_read, from text of n bytes followed by a NUL byte; name is for messages. */
PSR_MUST_CHECK psr_status psr_catalogue_parse(struct psr_catalogue *catalogue, const char *text,
                                              size_t n, const char *name, psr_err *err);

/* --- searches for slow pulsars ----------------------------------------------------------------- */

/* A detection: of candidate number, from 1, at a DM. */
struct psr_ffa_detection {
    int64_t number;
    double freq_hz, duty, dm, snr;
};

struct psr_ffa_detections {
    struct psr_ffa_detection *hit; /* [n] by DM, then by number; owned */
    size_t n, room;
    double tobs_s;
    struct psr_inf inf; /* what the list says of the series; the DM is none */
};

/* Reads a list of gpuffa; the caller clears *list, also after an error.  A list without candidates has no detection.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line, field and value; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffa_list_read(struct psr_ffa_detections *list, const char *path,
                                            psr_err *err);
void psr_ffa_detections_clear(struct psr_ffa_detections *list);

/* Whether a path has the name of such a list: NAME_ffa.csv. */
bool psr_ffa_is_list(const char *path);

/* --- pulses ------------------------------------------------------------------------------------ */

enum { PSR_PULSE_MARKS = 32 };

/* Write pulses as comma-separated values, ROOT.pulses.csv.  Given:  time_s   from the start of the input, as in ROOT.cand */
PSR_MUST_CHECK psr_status psr_burst_write_csv_header(psr_outfile *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_burst_write_csv(psr_outfile *f, const struct psr_burst *b,
                                              double time_s, psr_err *err);

#endif
