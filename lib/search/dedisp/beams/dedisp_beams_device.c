/* Finds the backend that dedisperses beams. */
#include "dedisp_line.h"

#include <config.h>
#include <string.h>

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_beams_device_ops *const built =
#ifdef HAVE_CUDA
    &psr_beams_cuda;
#else
    NULL;
#endif

psr_status psr_beams_device_find(const char *backend, const struct psr_beams_device_ops **ops,
                                 psr_err *err)
{
    *ops = NULL;
    if (!backend || !strcmp(backend, "cpu"))
        return PSR_OK;
    if (!built || strcmp(backend, built->name) != 0)
        return psr_fail_field(err, PSR_EDEVICE, "backend",
                              "dedispersion: no backend '%s' for beams in this build", backend);
    *ops = built;
    return PSR_OK;
}
