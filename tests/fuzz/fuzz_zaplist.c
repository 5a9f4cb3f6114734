/* fuzz_zaplist: any bytes give a list of birdies that covers bins of a spectrum, or a clear error.
 */
#include "formats/series/series_internal.h"

#include <psrkit/series.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct psr_zaplist *list)
{
    struct psr_span *span;
    size_t n;
    if (psr_zaplist_bins(list, 100, 1e-4, 5000, &span, &n, NULL) != PSR_OK)
        return;
    for (size_t i = 0; i < n; i++)
        if (span[i].first < 1 || span[i].count < 1 || span[i].first + span[i].count > 5000)
            abort();
    free(span);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psr_zaplist list;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_zaplist_parse(&list, (const char *)data, size, "input", &err);
    if (st == PSR_OK)
        use(&list);
    else if (err.code != st || !strstr(err.msg, "input"))
        abort();
    psr_zaplist_clear(&list);
    return 0;
}
