/* fuzz_inf: any text given as an .inf file.  What is accepted must survive being written and read.
 */
#include "formats/series/series_internal.h"
#include "tests/support/inf_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char first[INF_TEXT_MAX], second[INF_TEXT_MAX];
    struct psr_inf inf, again;
    psr_err err;
    if (psr_inf_parse(&inf, (const char *)data, size, "fuzz.inf", &err)) {
        if (err.code == PSR_OK || !strstr(err.msg, "fuzz.inf"))
            abort();
        return 0;
    }
    size_t n = inf_text(&inf, first);
    if (!n || psr_inf_parse(&again, first, n, "written.inf", &err))
        abort();
    if (inf_text(&again, second) != n || memcmp(first, second, n))
        abort();
    return 0;
}
