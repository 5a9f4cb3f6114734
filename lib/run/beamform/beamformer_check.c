/* Checks the description of a beamformer. */
#include "beamformer_state.h"

#include "base/copy_desc.h"
#include <string.h>

static psr_status check_numbers(const struct psr_beamformer_desc *d, psr_err *err)
{
    const struct {
        const char *name;
        int64_t value, min, max;
    } field[] = {
        {"beam", d->beam, -1, 1 << 20},
        {"tds", d->tds, 0, 1 << 20},
        {"nthread", d->nthread, 0, 4096},
        {"mem_bytes", d->mem_bytes, 0, INT64_MAX},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (field[k].value < field[k].min || field[k].value > field[k].max)
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "beamformer: %s = %lld, must be %lld to %lld", field[k].name,
                                  (long long)field[k].value, (long long)field[k].min,
                                  (long long)field[k].max);
    if (!(d->cadence_s > 0))
        return psr_fail_field(err, PSR_EINVAL, "cadence_s",
                              "beamformer: cadence_s = %g, must be above 0", d->cadence_s);
    if (d->nbits != 4 && d->nbits != 8 && d->nbits != 32)
        return psr_fail_field(err, PSR_EINVAL, "nbits",
                              "beamformer: nbits = %lld, must be 4, 8 or 32", (long long)d->nbits);
    return PSR_OK;
}

psr_status psr_beamformer_take_desc(struct psr_beamformer_desc *to,
                                    const struct psr_beamformer_desc *from, psr_err *err)
{
    psr_status st = psr_copy_desc(to, sizeof *to, from, "beamformer", err);
    const char *missing = !to->npath    ? "path"
                          : !to->array  ? "array"
                          : !to->root   ? "root"
                          : !to->device ? "device"
                                        : NULL;
    if (!st && missing)
        st = psr_fail_field(err, PSR_EINVAL, missing, "beamformer: %s is missing", missing);
    if (!st && to->grid == (to->beams != NULL))
        st = psr_fail_field(err, PSR_EINVAL, "grid",
                            "beamformer: either beams or grid says which to form");
    if (!st && !strcmp(to->root, "-") && to->beam < 0)
        st = psr_fail_field(err, PSR_EINVAL, "root",
                            "beamformer: root is -, and standard output takes one beam");
    if (!st && to->scale && to->nbits == 32)
        st = psr_fail_field(err, PSR_EINVAL, "scale", "beamformer: scale is for 4 and 8 bits");
    return st ? st : check_numbers(to, err);
}
