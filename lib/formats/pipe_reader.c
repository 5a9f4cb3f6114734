/* Reads spectra from a pipe, in the format that its first bytes tell. */
#include "formats/dada/dada_keys.h"
#include "formats/spectra/spectra_reader.h"

#include <ctype.h>

/* A DADA header is text, a SIGPROC header begins with the length of a word. */
static psr_status parse_start(struct psr_spectra_header *h, const struct psr_spectra_start *start,
                              psr_err *err)
{
    const bool text = start->n > 0 && isprint(start->bytes[0]),
               dada = text && psr_dada_is_header(start->bytes, start->n);
    if (dada)
        return psr_dada_parse_start(h, start, err);
    const psr_status st = psr_sigproc_parse_start(h, start, err);
    h->need_more |=
        st && text && start->n < PSR_DADA_HEADER && !psr_is_fits(start->bytes, start->n);
    return st;
}

psr_status psr_pipe_open(struct psr_reader **out, const char *path,
                         const struct psr_source_desc *desc, psr_err *err)
{
    return psr_spectra_reader_open(out, path, desc, parse_start, err);
}
