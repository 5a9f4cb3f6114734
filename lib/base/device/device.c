/* Which kinds of accelerator there are, and what they have in common. */
#include "base/base.h"

#include "device_internal.h"

#include <config.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The one place that knows which kinds of accelerator were built in.  Devices are numbered through
 * all of them, in this order; the first pins memory. */
static const struct psr_device_ops *const kinds[] = {
#ifdef HAVE_CUDA
    &psr_device_cuda,
#endif
    NULL,
};

static const char built_without[] = "psrkit was built without CUDA";

int psr_device_count(psr_err *err)
{
    int n = 0;
    if (!*kinds)
        (void)psr_fail(err, PSR_EDEVICE, "%s", built_without);
    for (const struct psr_device_ops *const *kind = kinds; *kind; kind++)
        n += (*kind)->count(err);
    return n;
}

/* A kind is asked for its number of devices, which may take long, only if another kind follows. */
const struct psr_device_ops *psr_device_kind(int device, int *number)
{
    const struct psr_device_ops *const *kind = kinds;
    for (*number = device; *kind && kind[1]; kind++) {
        const int n = (*kind)->count(NULL);
        if (*number < n)
            break;
        *number -= n;
    }
    return *kind;
}

psr_status psr_device_describe_sized(int device, struct psr_device *out, size_t size, psr_err *err)
{
    struct psr_device all = {.size = sizeof all};
    int n = psr_device_count(err), number;
    if (n == 0)
        return PSR_EDEVICE;
    if (device < 0 || device >= n)
        return psr_fail(err, PSR_EDEVICE, "device %d: there are %d, numbered from 0", device, n);
    const struct psr_device_ops *kind = psr_device_kind(device, &number);
    all.backend = kind->name;
    psr_status st = kind->describe(number, &all, err);
    if (!st)
        psr_give_desc(out, size, &all, sizeof all);
    return st;
}

const struct psr_device_ops *psr_device_find_kind(const char *name)
{
    const struct psr_device_ops *const *kind = kinds;
    while (*kind && name && strcmp((*kind)->name, name) != 0)
        kind++;
    return *kind;
}

psr_status psr_device_pin(void **out, size_t bytes, psr_err *err)
{
    if (*kinds)
        return (*kinds)->pin(out, bytes, err);
    *out = malloc(bytes ? bytes : 1);
    return *out ? PSR_OK : psr_fail_nomem(err, "samples", (double)bytes);
}

void psr_device_unpin(void *p)
{
    if (*kinds)
        (*kinds)->unpin(p);
    else
        free(p);
}

/* --- memory -------------------------------------------------------------------------------------- */
