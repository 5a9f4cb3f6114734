/* chi2sig.h: declarations shared by the parts of chi2sig. */
#ifndef PSR_TOOLS_CHI2SIG_H
#define PSR_TOOLS_CHI2SIG_H

#include <psrkit/signif.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum chi2sig_column {
    COLUMN_POWER,
    COLUMN_DOF,
    COLUMN_LN_P,
    COLUMN_LOG10_P,
    COLUMN_LN_1MP,
    COLUMN_SIGMA,
    COLUMN_LISTED_SIGMA,
    COLUMN_POLY_LN_P,
    COLUMN_POLY_ERROR,
    COLUMN_POLY_HOLDS,
    COLUMN_COUNT,
};

enum chi2sig_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

struct chi2sig_job {
    double ntrials;
    enum psr_trials how;
    bool inverse;           /* rows hold a dof, and the power is looked for */
    struct psr_logp target; /* of an inverse, for one trial */
    double dof;             /* of every row; 0 where each row has its own */
    enum chi2sig_format format;
    bool column[COLUMN_COUNT]; /* what is printed */
    int nthread;
};

/* A row before its significance is known. */
struct chi2sig_row {
    double power, dof, listed_sigma;
};

/* Text on its way out.  Once nomem is set nothing more is added. */
struct chi2sig_text {
    char *data;
    size_t used, room;
    bool nomem;
};

/* Limits of what is read, for the rows and for the command line. */
#define CHI2SIG_MAX_POWER 1e300
#define CHI2SIG_MAX_DOF   1e12

/* Evaluates row, for an inverse its power first, and appends one line. */
void chi2sig_add_row(const struct chi2sig_job *job, const struct chi2sig_row *row,
                     struct chi2sig_text *out);

/* What precedes and follows the rows, on standard output. */
void chi2sig_print_head(const struct chi2sig_job *job);
void chi2sig_print_tail(const struct chi2sig_job *job);

/* Writes rows to standard output; *nwrite counts the calls that wrote something.  out is emptied.
 * Status: PSR_ENOMEM, PSR_EIO. */
PSR_MUST_CHECK psr_status chi2sig_write(const struct chi2sig_job *job, struct chi2sig_text *out,
                                        int64_t *nwrite, psr_err *err);

/* Reads rows from the descriptor as they come, on all threads, and prints them in their order.
 * Status: PSR_EFORMAT naming the line; PSR_EIO, PSR_ENOMEM. */
PSR_MUST_CHECK psr_status chi2sig_rows(const struct chi2sig_job *job, int fd, psr_err *err);

/* Reads an ACCEL file of accelsearch or a candidate list of Pulscan, "-" being standard input, and
 * prints all its rows, with what precedes them, or nothing.
 * Status: PSR_EFORMAT, PSR_EIO, PSR_ENOMEM. */
PSR_MUST_CHECK psr_status chi2sig_candidates(const struct chi2sig_job *job, const char *path,
                                             psr_err *err);

enum { NUMTEXT_MAX = 32 }; /* bytes that fast_number_put may write */

/* Reads a number at *text and moves *text behind it.  The number must be followed by a byte that
 * belongs to no number, a newline or zero at the latest.
 * Returned: false where there is none; text is then where it was. */
bool fast_number_get(const char **text, double *value);

/* Writes value as printf's %.15g does, without a final zero byte.
 * Returned: bytes written */
size_t fast_number_put(char *out, double value);

#endif
