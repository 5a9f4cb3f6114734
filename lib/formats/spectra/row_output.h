/* row_output.h: pieces of rows of comma-separated values, and JSON into output files (private). */
#ifndef PSR_FORMATS_SPECTRA_ROW_OUTPUT_H
#define PSR_FORMATS_SPECTRA_ROW_OUTPUT_H

#include "base/tool.h"
#include <psrkit/experimental/outfile.h>

/* Writes a value in quotes, doubled inside, where the text would not be one value without. */
PSR_MUST_CHECK psr_status psr_csv_write_text(psr_outfile *f, const char *text, psr_err *err);

/* Where psr_json_put writes to; status is that of the first failure. */
struct psr_json_output {
    psr_outfile *f;
    psr_err *err;
    psr_status status;
};

/* For put of a struct psr_json; ctx is a struct psr_json_output. */
void psr_json_put(void *ctx, const char *bytes, size_t n);

#endif
