/* fuzz_catalogue: any bytes give a catalogue of pulsars with frequencies, or a clear error. */
#include <psrkit/experimental/sift.h>

#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psr_catalogue c;
    psr_err err = {.code = PSR_OK};
    const psr_status st = psr_catalogue_read(&c, fuzz_file(data, size), &err);
    for (size_t i = 0; i < c.n && st == PSR_OK; i++)
        if (!(c.pulsar[i].f0_hz > 0) || !memchr(c.pulsar[i].name, '\0', PSR_PULSAR_NAME_MAX) ||
            !c.pulsar[i].name[0])
            abort();
    if (st != PSR_OK)
        fuzz_check_failure(st, &err, "/proc/self/fd");
    psr_catalogue_clear(&c);
    return 0;
}
