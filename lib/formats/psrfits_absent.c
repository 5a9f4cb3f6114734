#include "reader.h"

psr_status psr_psrfits_open(struct psr_reader **out, const char *path,
                            const struct psr_source_desc *desc, psr_err *err)
{
    (void)desc;
    *out = NULL;
    return psr_fail(err, PSR_EUNSUPPORTED, "%s: PSRFITS is not read yet", path);
}
