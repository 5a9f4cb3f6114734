/* fuzz_dada: any text given as a DADA header, of voltages and of spectra.  What is accepted must be usable, and the keys
 * that are kept must be part of it. */
#include "base/obs_internal.h"
#include "formats/dada/dada_internal.h"
#include "formats/spectra/spectra_reader.h"

#include <psrkit/experimental/dada.h>
#include <psrkit/experimental/source.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_spectra(const uint8_t *bytes, size_t n)
{
    struct psr_obs obs;
    psr_err err = {.code = PSR_OK};
    size_t header_bytes;
    bool need_more;
    psr_status st =
        psr_dada_parse_spectra(&obs, &header_bytes, &need_more, bytes, n, "fuzz.dada", NULL, &err);
    if (st ? err.code != st || !strstr(err.msg, "fuzz.dada") || strchr(err.msg, '\n')
           : need_more || header_bytes > n || psr_obs_check(&obs, "fuzz.dada", NULL) ||
                 !(obs.tstart.frac >= 0 && obs.tstart.frac < 1))
        abort();
    psr_obs_clear(&obs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char header[PSR_DADA_HEADER];
    struct psr_dada h;
    psr_err err;
    size_t need;
    size = size < sizeof header ? size : sizeof header;
    memset(header, 0, sizeof header);
    memcpy(header, data, size);
    try_spectra(data, size);
    try_spectra(header, sizeof header);
    if (psr_dada_parse(&h, header, sizeof header, "fuzz.dada", &need, &err)) {
        if (err.code == PSR_OK || !strstr(err.msg, "fuzz.dada") || h.other)
            abort();
        return 0;
    }
    if (need || h.nchan < 1 || h.nant < 1 || !(h.tsamp_us > 0) || !isfinite(h.tsamp_us) ||
        !(psr_dada_freq_mhz(&h, 0) > 0) || psr_dada_sample_bytes(&h) < 2 ||
        (h.phase_sign != 1 && h.phase_sign != -1) || (h.other && strlen(h.other) > sizeof header))
        abort();
    psr_dada_clear(&h);
    return 0;
}
