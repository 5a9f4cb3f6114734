/* fuzz_par: any bytes given as a .par file, and the ephemeris evaluated. */

#include <psrkit/ephemeris.h>

#include "fuzz_file.h"
#include <math.h>

static void evaluate(const struct psr_ephemeris *e)
{
    struct psr_ephemeris_local l;
    psr_err err = {.code = PSR_OK};
    double ra, dec;
    psr_ephemeris_position(e, 55000, &ra, &dec);
    if (!(ra >= 0 && ra <= 360) || isnan(dec) || isnan(psr_ephemeris_dm(e, 55000)))
        abort();
    if (psr_ephemeris_at(&l, e, 55000, &err))
        return;
    if (!(l.f[0] > 0))
        abort();
    /* any number, but after an end */
    volatile long double turns = psr_ephemeris_turns(&l, psr_ephemeris_emission_s(&l, 100));
    (void)turns;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    struct psr_ephemeris e;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_ephemeris_read(&e, path, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    else
        evaluate(&e);
    return 0;
}
