/* dedispersion_memory.h: what dedispersion takes and may take of memory (private). */
#ifndef PSR_RUN_DEDISPERSE_LINES_DEDISPERSION_MEMORY_H
#define PSR_RUN_DEDISPERSE_LINES_DEDISPERSION_MEMORY_H

#include "dedispersion.h"

/* Bytes of a spectrum, as it is read and as it becomes beside that; of its series, of the line that has
 * the most; and what cleaning takes. */
double psr_dedispersion_spectrum_bytes(const struct psr_dedispersion_desc *d);
double psr_dedispersion_series_bytes(const struct psr_dedispersion_desc *d);
int64_t psr_dedispersion_cleaning_bytes(const struct psr_dedispersion_desc *d);

/* Returned: *mem_bytes, what the limit leaves to dedispersion
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dedispersion_share_memory(const struct psr_dedispersion_desc *d,
                                                        int64_t *mem_bytes, psr_err *err);

/* About n spectra: whole blocks of cleaning, and no more than the input has. */
size_t psr_dedispersion_whole_block(const struct psr_dedispersion_desc *d, size_t n);

/* check_length of a line, by its plan. */
PSR_MUST_CHECK psr_status psr_dedispersion_check_length(const struct psr_dedispersion_desc *d,
                                                        const psr_dedisp *plan, size_t line,
                                                        int64_t nsamp, psr_err *err);

#endif
