/* candlist_lines.h: the readers of lists of candidates, line by line (private). */
#ifndef PSR_FORMATS_LISTS_CANDLIST_LINES_H
#define PSR_FORMATS_LISTS_CANDLIST_LINES_H

#include "base/tool.h"
#include <psrkit/experimental/candlist.h>

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

/* Reads a line that begins with #, or the first of comma-separated values; line is changed.
 * Returned: t->ncolumn, 0 for a comment */
PSR_MUST_CHECK psr_status psr_candlist_table_header(struct psr_candlist_table *t,
                                                    const struct psr_candlist_lines *l, char *line,
                                                    psr_err *err);

/* Takes a line that no header precedes as one of PulsarX, whose columns have their meaning by position.
 * Returned: t->ncolumn, 0: it is none */
PSR_MUST_CHECK psr_status psr_candlist_table_by_position(struct psr_candlist_table *t,
                                                         const struct psr_candlist_lines *l,
                                                         const char *line, psr_err *err);

/* Adds the candidate of a row; line is changed. */
PSR_MUST_CHECK psr_status psr_candlist_table_row(const struct psr_candlist_table *t,
                                                 const struct psr_candlist_lines *l, char *line,
                                                 psr_err *err);

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
