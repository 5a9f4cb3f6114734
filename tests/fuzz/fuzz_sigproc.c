/* fuzz_sigproc.c: any bytes given to the SIGPROC header parser give an observation or a clear
 * error. */
#include "base/obs_internal.h"
#include "formats/spectra/spectra_reader.h"

#include <psrkit/experimental/source.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_note(void *ctx, const char *msg)
{
    (void)ctx;
    if (strlen(msg) == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psr_obs obs;
    struct psr_notes notes = {.note = check_note};
    psr_err err = {.code = PSR_OK};
    size_t header_bytes = 0;
    bool need_more = false;
    psr_status st =
        psr_sigproc_parse(&obs, &header_bytes, &need_more, data, size, "input", &notes, &err);
    if (st) {
        if (err.code != st || strlen(err.msg) == 0 || obs.freq_mhz)
            abort();
    } else if (need_more || header_bytes > size || psr_obs_check(&obs, "input", NULL) ||
               !(obs.tstart.frac >= 0 && obs.tstart.frac < 1)) {
        abort();
    }
    psr_obs_clear(&obs);
    return 0;
}
