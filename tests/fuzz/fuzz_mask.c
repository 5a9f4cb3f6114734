/* fuzz_mask: any bytes given as an rfifind mask, and again as its statistics, give a mask that can
 * be used or a clear error. */
#include "rfi/rules/clean_internal.h"

#include <psrkit/experimental/clean.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct psr_mask *mask)
{
    unsigned char *masked = malloc(mask->nchan);
    if (!masked)
        return;
    for (int k = 0; k < 8; k++) {
        enum psr_mask_rule rule = k % 2 ? PSR_MASK_PRESTO : PSR_MASK_TOUCHED;
        psr_mask_span(mask, k * 0.7 * mask->dtint_s, mask->dtint_s, rule, masked);
        for (size_t c = 0; c < mask->nchan; c++)
            if (masked[c] > 1)
                abort();
    }
    free(masked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psr_mask mask;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_mask_parse(&mask, data, size, "input", &err);
    if (st == PSR_OK) {
        use(&mask);
        st = psr_mask_parse_stats(&mask, data, size, "input", &err);
    }
    if (st != PSR_OK && (err.code != st || !strstr(err.msg, "input")))
        abort();
    psr_mask_clear(&mask);
    return 0;
}
