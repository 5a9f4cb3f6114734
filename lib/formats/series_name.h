/* series_name.h: file names of series (private). */
#ifndef PSR_FORMATS_SERIES_NAME_H
#define PSR_FORMATS_SERIES_NAME_H

#include <psrkit/series.h>

/* ROOT_DM12.50, without suffix. */
void psr_series_stem(char stem[PSR_TEXT_MAX], const char *root, double dm, int decimals);

/* True if the root is "-", standard output. */
bool psr_series_to_stdout(const char *root);

/* Sampling time of trial i. */
double psr_series_tsamp_s(const struct psr_series_desc *desc, size_t i);

#endif
