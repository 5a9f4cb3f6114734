/* inf_fields.h: table of the lines of an .inf file, for its reader and writer (private). */
#ifndef PSR_FORMATS_SERIES_INF_FIELDS_H
#define PSR_FORMATS_SERIES_INF_FIELDS_H

#include <psrkit/series.h>

enum psr_inf_kind {
    PSR_INF_TEXT,   /* char [PSR_TEXT_MAX] */
    PSR_INF_RA,     /* double, degrees, as hh:mm:ss.ssss */
    PSR_INF_DEC,    /* double, degrees, as dd:mm:ss.ssss */
    PSR_INF_EPOCH,  /* struct psr_mjd */
    PSR_INF_FLAG,   /* bool */
    PSR_INF_BINS,   /* int64_t */
    PSR_INF_BREAKS, /* on/off pairs exist; their lines follow */
    PSR_INF_BAND,   /* char [PSR_INF_BAND_MAX]: a word of psr_inf_bands */
    PSR_INF_COUNT,  /* long */
    PSR_INF_REAL,   /* double with this many significant digits */
    PSR_INF_WHOLE,  /* double, rounded to a whole number */
    PSR_INF_FIXED,  /* double with this many decimals */
    PSR_INF_NOTES,  /* what follows the line */
};

struct psr_inf_field {
    const char *lead; /* the words that identify the line */
    const char *rest; /* of the label */
    enum psr_inf_kind kind;
    size_t offset;  /* in struct psr_inf */
    bool always;    /* also written for artificial data, which have no observation */
    int digits;     /* PSR_INF_REAL, PSR_INF_FIXED */
    unsigned bands; /* of enum psr_inf_light: files of other bands lack the line */
};

/* Groups of bands that have lines of their own. */
enum psr_inf_light {
    PSR_INF_RADIO_LINES = 1,
    PSR_INF_OPTICAL_LINES = 2,
    PSR_INF_ENERGY_LINES = 4,
    PSR_INF_ALL_LINES = 7,
};

/* The bands that files name, radio first. */
enum { PSR_INF_NBAND = 6 };
extern const struct psr_inf_band {
    const char *name;
    enum psr_inf_light lines;
} psr_inf_bands[PSR_INF_NBAND];

/* The band of that name, in any case; NULL: there is none. */
const struct psr_inf_band *psr_inf_find_band(const char *name, size_t n);

enum { PSR_INF_NFIELD = 27, PSR_INF_MAX_BYTES = 1 << 20 /* of a file */ };

/* In the order of the file. */
extern const struct psr_inf_field psr_inf_fields[PSR_INF_NFIELD];

#define PSR_INF_PAIR_LEAD "On/Off bin pair"
#define PSR_INF_INDENT    4 /* blanks before each line of the notes */

#endif
