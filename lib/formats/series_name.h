/* series_name.h: what the files of a series are called (private). */
#ifndef PSR_FORMATS_SERIES_NAME_H
#define PSR_FORMATS_SERIES_NAME_H

#include <psrkit/obs.h>

/* ROOT_DM12.50, without suffix. */
void psr_series_stem(char stem[PSR_TEXT_MAX], const char *root, double dm, int decimals);

#endif
