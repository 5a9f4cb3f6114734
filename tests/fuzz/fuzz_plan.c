/* fuzz_plan.c: any text given to the plan parser gives lines in range or a clear error. */
#include "plan/ddplan_internal.h"

#include <psrkit/ddplan.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_sound(const struct psr_plan_line *l)
{
    return l->lodm >= 0 && l->dmstep > 0 && l->ndm >= 1 && l->downsamp >= 1 && l->nsub >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psr_planfile plan;
    psr_err err = {.code = PSR_OK};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    psr_status st = psr_planfile_parse(&plan, text, "input", &err);
    if (st && (err.code != st || strlen(err.msg) == 0 || plan.line))
        abort();
    if (!st && (plan.nline < 1 || (plan.has_band && psr_band_check(&plan.band, NULL))))
        abort();
    for (size_t i = 0; i < plan.nline; i++)
        if (!is_sound(&plan.line[i]))
            abort();
    psr_planfile_clear(&plan);
    free(text);
    return 0;
}
