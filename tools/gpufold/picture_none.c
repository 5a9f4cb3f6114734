/* What a build without cairo does instead of drawing pictures. */
#include "gpufold.h"

bool gpufold_can_draw(void)
{
    return false;
}

psr_status gpufold_draw(psr_outfile *f, const struct psr_folder_fold *fold, psr_err *err)
{
    (void)f;
    return psr_fail(err, PSR_EINVAL, "%s: no picture: built without cairo", fold->pfd->candidate);
}
