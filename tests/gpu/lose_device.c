/* Preloaded into a program, loses a GPU in the middle: once LOSE_AFTER bytes have been read from
 * files, a kernel that traps runs in the program's own context, which is broken from then on as by
 * a fault of the hardware.  It is device LOSE_DEVICE, or 0.
 *
 *   LD_PRELOAD=tests/gpu/lose_device.so LOSE_AFTER=1000000 gpudedisp ... */
#include "lose_after.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char trap[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry lose() { trap; }\n";

/* The driver that the program has loaded; NULL where it has none. */
static void *find(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? dlsym(driver, name) : NULL;
}

/* Calls a function of the driver. */
#define CALL(name, type, ...)                                                                      \
    do {                                                                                           \
        CUresult(*call) type = NULL;                                                               \
        void *at = find(name);                                                                     \
        memcpy(&call, &at, sizeof at);                                                             \
        CUresult e = call ? call(__VA_ARGS__) : CUDA_ERROR_NOT_INITIALIZED;                        \
        if (e) {                                                                                   \
            fprintf(stderr, "lose_device: %s: error %d\n", name, (int)e);                          \
            return;                                                                                \
        }                                                                                          \
    } while (0)

static void lose_device(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    const char *device = getenv("LOSE_DEVICE");
    CALL("cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice), &context, device ? atoi(device) : 0);
    CALL("cuCtxPushCurrent_v2", (CUcontext), context);
    CALL("cuModuleLoadData", (CUmodule *, const void *), &module, trap);
    CALL("cuModuleGetFunction", (CUfunction *, CUmodule, const char *), &kernel, module, "lose");
    CALL("cuLaunchKernel",
         (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
          CUstream, void **, void **),
         kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    CALL("cuCtxPopCurrent_v2", (CUcontext *), &context);
}

#define INTERPOSE(name, params, args)                                                              \
    ssize_t name params;                                                                           \
    ssize_t name params                                                                            \
    {                                                                                              \
        ssize_t(*real) params = NULL;                                                              \
        void *at = dlsym(RTLD_NEXT, #name);                                                        \
        memcpy(&real, &at, sizeof at);                                                             \
        return lose_after(real args, lose_device);                                                 \
    }

INTERPOSE(read, (int fd, void *to, size_t n), (fd, to, n))
INTERPOSE(pread64, (int fd, void *to, size_t n, off_t at0), (fd, to, n, at0))
