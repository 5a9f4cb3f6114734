/* Which devices do the work, and what stays on them. */
#include "gpudedisp.h"

#include <psrkit/number.h>
#include <stdio.h>
#include <string.h>

psr_status gpudedisp_choose_devices(struct gpudedisp_job *j, struct psr_dedisp_desc *d)
{
    const char *name = j->opt.device;
    d->devices = j->device;
    if (!strcmp(name, "all")) {
        int n = psr_device_count(&j->err);
        d->backend = "cuda";
        for (; (int)d->ndevice < n && d->ndevice < GPUDEDISP_DEVICES; d->ndevice++)
            j->device[d->ndevice] = (int)d->ndevice;
        return n ? PSR_OK : PSR_EDEVICE;
    }
    if (!strchr(name, ','))
        return cli_device(name, &d->backend, &d->device, &j->err);
    psr_status st = PSR_OK;
    d->backend = "cuda";
    for (const char *at = name; st == PSR_OK && at; at = strchr(at, ',')) {
        char text[16];
        int64_t number = 0;
        at += *at == ',';
        snprintf(text, sizeof text, "%.*s", (int)strcspn(at, ","), at);
        if (d->ndevice == GPUDEDISP_DEVICES)
            return psr_fail(&j->err, PSR_EINVAL, "-device: more than %d devices",
                            GPUDEDISP_DEVICES);
        st = psr_parse_int("-device", text, 0, 1023, &number, &j->err);
        j->device[d->ndevice++] = (int)number;
    }
    return st;
}

bool gpudedisp_is_on_device(const struct gpudedisp_line *l)
{
    struct psr_dedisp_info info;
    psr_dedisp_describe(l->plan, &info);
    return info.ndevice > 0;
}

psr_status gpudedisp_choose_place(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    /* -numout counts samples after barycentring, which are made in the search only. */
    bool counted = l->resample && j->opt.numout;
    l->resident = gpudedisp_is_on_device(l) && l->pulses && !j->series && !counted;
    return PSR_OK;
}
