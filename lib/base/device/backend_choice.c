/* Chooses backends by name. */
#include "backend_choice.h"

#include <string.h>

bool psr_backend_is_any(const char *asked)
{
    return !asked || !strcmp(asked, "auto");
}

bool psr_backend_is_asked(const char *asked, const char *name)
{
    return psr_backend_is_any(asked) || !strcmp(asked, name);
}

bool psr_backend_is_passed(const char *asked, psr_status st)
{
    return psr_backend_is_any(asked) && (st == PSR_EDEVICE || st == PSR_EUNSUPPORTED);
}

psr_status psr_backend_none(psr_status st, const char *asked, const char *what, psr_err *err)
{
    return st ? st
              : psr_fail_field(err, PSR_EDEVICE, "backend", "%s: no backend '%s' in this build",
                               what, asked ? asked : "auto");
}
