/* drop_reader.h: reads a pipe in a thread of its own, and drops whole blocks where they are taken too slowly (private). */
#ifndef PSR_FORMATS_DROP_READER_H
#define PSR_FORMATS_DROP_READER_H

#include "formats/spectra/reader.h"

typedef psr_status psr_reader_open(struct psr_reader **out, const char *path,
                                   const struct psr_source_desc *desc, psr_err *err);

/* Opens an input with open, and reads it ahead by desc->drop_s.  What is dropped is a gap; how much it was is noted each
 * 10 s in which it grew, and at the end.
 * Status: those of open; PSR_EINVAL naming drop_s; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_drop_reader_open(struct psr_reader **out, const char *path,
                                               const struct psr_source_desc *desc,
                                               psr_reader_open *open, psr_err *err);

#endif
