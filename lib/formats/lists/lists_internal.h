/* lists_internal.h: lists of candidates and of pulsars, read (private). */
#ifndef PSR_FORMATS_LISTS_LISTS_INTERNAL_H
#define PSR_FORMATS_LISTS_LISTS_INTERNAL_H

#include "base/tool.h"
#include <psrkit/experimental/candlist.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/experimental/sink.h>
#include <stddef.h>

/* As psr_accel_read, from text of n bytes followed by a NUL byte; name is for messages. */
PSR_MUST_CHECK psr_status psr_accel_parse(struct psr_accel_rows *rows, const char *text, size_t n,
                                          const char *name, bool presto, psr_err *err);

/* Whether a name is that of a list of candidates of accelsearch: ROOT_ACCEL_200, with no suffix. */
bool psr_accel_is_list(const char *name);

/* As psr_catalogue_read, from text of n bytes followed by a NUL byte; name is for messages. */
PSR_MUST_CHECK psr_status psr_catalogue_parse(struct psr_catalogue *catalogue, const char *text,
                                              size_t n, const char *name, psr_err *err);

/* --- searches for slow pulsars ---------------------------------------------------------------- */

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

/* --- pulses ----------------------------------------------------------------------------------- */

enum { PSR_PULSE_MARKS = 32 };

/* Write pulses as comma-separated values, ROOT.pulses.csv.  Given:  time_s   from the start of the input, as in ROOT.cand */
PSR_MUST_CHECK psr_status psr_burst_write_csv_header(psr_outfile *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_burst_write_csv(psr_outfile *f, const struct psr_burst *b,
                                              double time_s, psr_err *err);

/* Formats a value with its error in parentheses, "20011.50(50)", as PRESTO
 * does. */

enum { PSR_UNCERTAINTY_MAX = 64 };

/* Given:    digits   of the error: 1 or 2
 * Returned: text, with a leading blank if the value is positive; "nan" if value or error is not
 *           finite */
void psr_format_uncertainty(char text[PSR_UNCERTAINTY_MAX], double value, double error, int digits);

/* --- the readers of lists of candidates, line by line ----------------------------------------- */

struct psr_candlist_lines {
    struct psr_candlist *list;
    const struct psr_candlist_desc *desc;
    struct psr_text_lines text;
    size_t nwithout; /* candidates of a sifted list without their .cand */
};

/* PSR_EFORMAT "FILE: line N: ..."; field as in psr_fail_field. */
psr_status psr_candlist_fail(const struct psr_candlist_lines *l, psr_err *err, const char *field,
                             const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Parses a number of the current line; limits are in the unit of *value = number * unit. */
PSR_MUST_CHECK psr_status psr_candlist_number(const struct psr_candlist_lines *l, const char *field,
                                              const char *text, double unit, double min, double max,
                                              double *value, psr_err *err);

/* --- tables ----------------------------------------------------------------------------------- */

struct psr_candlist_column;
enum { PSR_CANDLIST_COLUMNS = 64, PSR_CANDLIST_KEYS = 32 };

/* Initialise with zeros. */
struct psr_candlist_table {
    bool is_csv;
    size_t ncolumn;
    const struct psr_candlist_column *column[PSR_CANDLIST_COLUMNS]; /* NULL: not used */
    bool has[PSR_CANDLIST_KEYS];
    bool is_middle;   /* values are those in the middle of the input */
    double epoch_mjd; /* of a line #Pepoch; 0: none */
};

/* --- records of accelsearch ------------------------------------------------------------------- */

/* ROOT_ACCEL_200.cand and what ROOT.inf says; initialise with zeros. */
struct psr_candlist_accel {
    const char *path; /* borrowed */
    FILE *file;
    double length_s, dm; /* of the series */
};

/* Status: PSR_EINVAL (a name without _ACCEL); those of psr_inf_read; PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_candlist_accel_open(struct psr_candlist_accel *a, const char *path,
                                                  psr_err *err);

/* Sets the frequency of *cand from record number, from 1. */
PSR_MUST_CHECK psr_status psr_candlist_accel_get(const struct psr_candlist_accel *a, int64_t number,
                                                 struct psr_folder_candidate *cand, psr_err *err);

void psr_candlist_accel_close(struct psr_candlist_accel *a);

/* Sets the frequency at the beginning from means over length_s, in bins.
 * Returned: false if that is no frequency */
bool psr_candlist_set_bins(struct psr_folder_candidate *cand, double r, double z, double w,
                           double length_s);

/* Adds all records of a file, with its DM.
 * Status: as psr_candlist_read_accel */
PSR_MUST_CHECK psr_status psr_candlist_accel_all(struct psr_candlist *list, const char *path,
                                                 const struct psr_candlist_desc *desc,
                                                 psr_err *err);

#endif
