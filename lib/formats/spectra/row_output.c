/* Writes pieces of rows: values with quotes, and JSON into output files. */
#include "row_output.h"

#include <string.h>

psr_status psr_csv_write_text(psr_outfile *f, const char *text, psr_err *err)
{
    if (!strpbrk(text, ",\"\r\n"))
        return psr_outfile_printf(f, err, "%s", text);
    psr_status st = psr_outfile_printf(f, err, "\"");
    for (; *text && st == PSR_OK; text++)
        st = psr_outfile_printf(f, err, *text == '"' ? "\"\"" : "%c", *text);
    return st == PSR_OK ? psr_outfile_printf(f, err, "\"") : st;
}

void psr_json_put(void *ctx, const char *bytes, size_t n)
{
    struct psr_json_output *to = ctx;
    if (!to->status)
        to->status = psr_outfile_write(to->f, bytes, n, to->err);
}
