/* tim.h: SIGPROC time series, as the .inf of a .dat describes them (private). */
#ifndef PSR_FORMATS_SERIES_TIM_H
#define PSR_FORMATS_SERIES_TIM_H

#include <psrkit/obs.h>
#include <psrkit/series.h>

/* A .tim file; samples are floats, or whole numbers of 8 or 16 bits. */
struct psr_tim {
    struct psr_inf inf; /* nbin by the size of the file */
    int64_t data_at;    /* where its samples begin */
    int nbit;
    enum psr_kind kind;
};

/* Whether the name ends in .tim. */
bool psr_tim_is_name(const char *path);

/* Reads the header.
 * Status: PSR_EIO; those of psr_sigproc_parse; PSR_EUNSUPPORTED (several channels or IFs, or fewer bits) */
PSR_MUST_CHECK psr_status psr_tim_describe(struct psr_tim *tim, const char *path, psr_err *err);

/* Makes floats of samples in the same place.
 * Given: x [room], whose last bytes, as room samples would fill them, begin with n samples */
void psr_tim_widen(float *x, size_t room, size_t n, int nbit, enum psr_kind kind);

#endif
