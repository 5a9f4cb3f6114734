/* Chooses the device that folds. */
#include "fold_device.h"

#include <config.h>
#include <psrkit/device.h>
#include <string.h>

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_fold_device_ops *const ops =
#ifdef HAVE_CUDA
    &psr_fold_cuda;
#else
    NULL;
#endif

bool psr_fold_device_wanted(const char *backend)
{
    const char *name = backend ? backend : "cpu";
    const bool any = !strcmp(name, "auto");
    return strcmp(name, "cpu") != 0 && (!any || (ops && psr_device_count(NULL) > 0));
}

psr_status psr_fold_device_open(struct psr_fold *f, psr_err *err)
{
    const char *name = f->d.backend ? f->d.backend : "cpu";
    const bool any = !strcmp(name, "auto");
    if (!psr_fold_device_wanted(name))
        return PSR_OK;
    if (!any && (!ops || strcmp(name, ops->name) != 0))
        return psr_fail_field(err, PSR_EDEVICE, "backend", "fold: no backend '%s' in this build",
                              name);
    psr_status st = ops->create(&f->device, f, f->d.device, err);
    if (!st)
        return PSR_OK;
    f->device = NULL;
    return any && (st == PSR_EDEVICE || st == PSR_EUNSUPPORTED) ? PSR_OK : st;
}

psr_status psr_fold_device_run(struct psr_fold *f, psr_err *err)
{
    return ops->run(f->device, f, err);
}

psr_status psr_fold_device_finish(struct psr_fold *f, psr_err *err)
{
    psr_status st = ops->run(f->device, f, err);
    return st ? st : ops->finish(f->device, f, err);
}

void psr_fold_device_close(struct psr_fold *f)
{
    if (f->device)
        ops->destroy(f->device);
    f->device = NULL;
}
