/* device: the accelerators there are, or the reason why there are none. */
#include <psrkit/device.h>

#include "base/device/device_internal.h"
#include "tests/support/tap.h"
#include <string.h>

static void test_absent(void)
{
    psr_err err = {PSR_OK, "", ""};
    struct psr_device d;
    ok(psr_device_count(&err) == 0 && err.code == PSR_EDEVICE && err.msg[0],
       "no device comes with a reason: %s", err.msg);
    ok(psr_device_count(NULL) == 0, "the reason need not be asked for");
    memset(&err, 0, sizeof err);
    ok(psr_device_describe(0, &d, &err) == PSR_EDEVICE && err.msg[0],
       "describing device 0 fails: %s", err.msg);
    skip("describing a device", "no device on this machine");
}

static void test_device(int i)
{
    psr_err err;
    struct psr_device d;
    psr_status st = psr_device_describe(i, &d, &err);
    if (!ok(st == PSR_OK, "device %d is described", i)) {
        diag("%s", err.msg);
        return;
    }
    diag("device %d: %s %s, sm_%d, %d multiprocessors, %.1f of %.1f GiB free", i, d.backend, d.name,
         d.sm, d.nprocessor, (double)d.mem_free * 0x1p-30, (double)d.mem_total * 0x1p-30);
    ok(d.name[0] && memchr(d.name, 0, sizeof d.name), "it has a name");
    ok(d.sm >= 50 && d.nprocessor > 0, "it has a capability and processors");
    ok(d.mem_free > 0 && d.mem_free <= d.mem_total, "it has memory");
}

static void test_numbers(int n)
{
    psr_err err;
    struct psr_device d;
    ok(psr_device_describe(-1, &d, &err) == PSR_EDEVICE, "device -1 is refused");
    ok(psr_device_describe(n, &d, &err) == PSR_EDEVICE && err.msg[0], "device %d is refused: %s", n,
       err.msg);
}

/* Memory that devices copy from is memory like any other, with a device and without. */
static void test_pinned(void)
{
    static const size_t sizes[] = {0, 1, 100001, 3 << 20};
    psr_err err;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        void *p = NULL;
        if (!ok(psr_device_pin(&p, sizes[k], &err) == PSR_OK && p, "%zu bytes", sizes[k]))
            continue;
        memset(p, 0x5a, sizes[k]);
        psr_device_unpin(p);
    }
    psr_device_unpin(NULL);
}

static void test_slabs(int n)
{
    psr_err err;
    float x = 0;
    const struct psr_device_series device_series = {.device = n, .nseries = 1, .stride = 1};
    ok(psr_device_series_fetch(&device_series, 1, 1, &x, 1, &err) == PSR_EDEVICE && err.msg[0],
       "%s", err.msg);
}

int main(void)
{
    psr_err err;
    int n = psr_device_count(&err);
    if (n == 0)
        test_absent();
    for (int i = 0; i < n; i++)
        test_device(i);
    test_numbers(n);
    test_pinned();
    test_slabs(n);
    return done_testing();
}
