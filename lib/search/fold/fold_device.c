/* Chooses the device that folds. */
#include "base/device/device_internal.h"
#include "fold_plan.h"

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
    if (!backend || !strcmp(backend, "cpu"))
        return false;
    return !psr_backend_is_any(backend) || (ops && psr_device_count(NULL) > 0);
}

psr_status psr_fold_device_open(struct psr_fold *f, psr_err *err)
{
    const char *name = f->d.backend;
    if (!psr_fold_device_wanted(name))
        return PSR_OK;
    if (!ops || !psr_backend_is_asked(name, ops->name))
        return psr_backend_none(PSR_OK, name, "fold", err);
    psr_status st = ops->create(&f->device, f, f->d.device, err);
    if (!st)
        return PSR_OK;
    f->device = NULL;
    return psr_backend_is_passed(name, st) ? PSR_OK : st;
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
