/* What a build without cairo does instead of drawing a picture. */
#include "picture.h"

bool gpurfifind_can_draw(void)
{
    return false;
}

psr_status gpurfifind_draw(psr_outfile *f, const struct psr_rfi_run_report *r, const char *name,
                           psr_err *err)
{
    (void)f;
    (void)r;
    return psr_fail(err, PSR_EINVAL, "%s: no picture: built without cairo", name);
}
