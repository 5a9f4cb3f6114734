/* series_inf.h: the .inf description of a series, and a series as a search reads it (private). */
#ifndef PSR_FORMATS_SERIES_SERIES_INF_H
#define PSR_FORMATS_SERIES_SERIES_INF_H

#include <psrkit/series.h>
#include <stddef.h>
#include <stdint.h>

enum { PSR_SERIES_LANES = 8 }; /* partial sums, so that the compiler may add eight at once */

/* Sample t is added to sum t mod PSR_SERIES_LANES.  Initialise with zeros. */
struct psr_series_mean {
    int64_t n;
    double sum[PSR_SERIES_LANES];
};

void psr_series_mean_add(struct psr_series_mean *m, const float *x, size_t n);

double psr_series_mean_sum(const struct psr_series_mean *m);

/* The mean of at least one sample. */
double psr_series_mean_value(const struct psr_series_mean *m);

/* Fills inf with what all series of desc have in common. */
void psr_series_common_inf(struct psr_inf *inf, const struct psr_series_desc *desc);

/* One series. */
struct psr_series_trial {
    const char *stem; /* its name without suffix */
    double dm, tsamp_s;
    struct psr_mjd epoch;
    const char *note;  /* last line of the notes; NULL: none */
    int64_t n, length; /* samples, and those of the file with its padding */
};

/* Fills inf, a copy of the common one, with the fields of a trial.
 * Status: those of psr_inf_set_name */
PSR_MUST_CHECK psr_status psr_series_fill_inf(struct psr_inf *inf, const struct psr_series_trial *t,
                                              psr_err *err);

/* As psr_spectrum_describe, of a series in memory that inf describes: what the files would give. */
void psr_spectrum_of_series(struct psr_spectrum_file *file, const struct psr_inf *inf);

/* As psr_spectrum_read, of samples in memory.
 * Given:    name   for messages
 *           x      [2 nbin]; changed
 * Status:   PSR_EFORMAT if all values are equal */
PSR_MUST_CHECK psr_status psr_spectrum_level(const struct psr_spectrum_file *file, const char *name,
                                             float *x, psr_err *err);

#endif
