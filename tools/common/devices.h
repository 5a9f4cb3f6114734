/* devices.h: the devices of -device, among which the items of a batch are divided. */
#ifndef PSR_TOOLS_DEVICES_H
#define PSR_TOOLS_DEVICES_H

#include "base/tool.h"

struct devices {
    struct psr_names name; /* of each, as for psr_device_choose */
    struct devices_share {
        struct psr_async_task task;
        const struct devices_work *work;
        size_t device;
    } * share; /* [name.n] */
};

/* What a device does with its items of a batch. */
struct devices_work {
    void (*run)(void *ctx, size_t device);
    void *ctx;
};

/* Status: those of psr_device_words; devices_release also after an error */
PSR_MUST_CHECK psr_status devices_list(struct devices *d, const char *text, psr_err *err);

/* The first of n items that a device has, and for device = d->name.n, n; and the device that has item i. */
size_t devices_first(const struct devices *d, size_t device, size_t n);
size_t devices_find(const struct devices *d, size_t i, size_t n);

/* Runs the work of all of them at the same time. */
void devices_run(struct devices *d, const struct devices_work *work);

void devices_release(struct devices *d);

#endif
