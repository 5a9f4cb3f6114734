/* inf_fields.h: table of the lines of an .inf file, for its reader and writer (private). */
#ifndef PSR_FORMATS_INF_FIELDS_H
#define PSR_FORMATS_INF_FIELDS_H

#include <psrkit/series.h>

enum psr_inf_kind {
    PSR_INF_TEXT,   /* char [PSR_TEXT_MAX] */
    PSR_INF_RA,     /* double, degrees, as hh:mm:ss.ssss */
    PSR_INF_DEC,    /* double, degrees, as dd:mm:ss.ssss */
    PSR_INF_EPOCH,  /* struct psr_mjd */
    PSR_INF_FLAG,   /* bool */
    PSR_INF_BINS,   /* int64_t */
    PSR_INF_BREAKS, /* on/off pairs exist; their lines follow */
    PSR_INF_BAND,   /* "Radio" */
    PSR_INF_COUNT,  /* long */
    PSR_INF_REAL,   /* double with this many significant digits */
    PSR_INF_WHOLE,  /* double, rounded to a whole number */
    PSR_INF_NOTES,  /* what follows the line */
};

struct psr_inf_field {
    const char *lead; /* the words that identify the line */
    const char *rest; /* of the label */
    enum psr_inf_kind kind;
    size_t offset; /* in struct psr_inf */
    bool always;   /* also written for artificial data, which have no observation */
    int digits;    /* PSR_INF_REAL */
};

enum { PSR_INF_NFIELD = 21, PSR_INF_MAX_BYTES = 1 << 20 /* of a file */ };

/* In the order of the file. */
extern const struct psr_inf_field psr_inf_fields[PSR_INF_NFIELD];

/* Telescope name of data made by PRESTO's makedata; such files lack most lines. */
bool psr_inf_is_artificial(const struct psr_inf *inf);

#define PSR_INF_PAIR_LEAD "On/Off bin pair"
#define PSR_INF_RADIO     "Radio"
#define PSR_INF_INDENT    4 /* blanks before each line of the notes */

#endif
