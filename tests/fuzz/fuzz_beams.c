/* fuzz_beams: any bytes given as a list of beams give directions of an array, or a clear error. */
#include <psrkit/experimental/array.h>

#include "beam/beam_internal.h"
#include "fuzz_file.h"
#include <math.h>

enum { NFREQ = 3, MOST = 64 };

/* Directions that are accepted are numbers. */
static void point(const struct psr_pointings *pointings)
{
    static const double freq_mhz[NFREQ] = {400, 600, 800};
    const struct psr_array a = {
        .m = 8, .n = 6, .ns_m = 8.5, .ew_m = -6.3, .has_site = true, .lon_deg = 20, .lat_deg = -30};
    const struct psr_pointing_frame frame = {&a, NFREQ, freq_mhz, 1};
    const struct psr_mjd when = {60634, 0.25};
    struct psr_pointings some = *pointings;
    double ns[NFREQ * MOST], ew[NFREQ * MOST];
    psr_err err = {.code = PSR_OK};
    some.n = some.n < MOST ? some.n : MOST;
    psr_status st = psr_pointings_theta(&some, &frame, when, when, ns, ew, &err);
    if (st)
        fuzz_check_failure(st, &err, "beam");
    for (size_t i = 0; i < NFREQ * some.n && !st; i++)
        if (!isfinite(ns[i]) || !isfinite(ew[i]))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psr_pointings pointings;
    psr_err err = {.code = PSR_OK};
    const char *path = fuzz_file(data, size);
    psr_status st = psr_pointings_read(&pointings, path, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    else if (pointings.n < 1)
        abort();
    else
        point(&pointings);
    psr_pointings_clear(&pointings);
    return 0;
}
