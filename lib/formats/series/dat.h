/* dat.h: finds the .inf file of a data file (private). */
#ifndef PSR_FORMATS_SERIES_DAT_H
#define PSR_FORMATS_SERIES_DAT_H

#include <psrkit/series.h>

/* Reads the .inf beside a .dat or .fft file.
 * Status: those of psr_inf_read; PSR_EFORMAT if there is none */
PSR_MUST_CHECK psr_status psr_inf_read_beside(struct psr_inf *inf, const char *path, psr_err *err);

#endif
