/* fuzz_lists: any bytes given as a list of channels, as the name or the content of its file, and as
 * trial DMs. */

#include "formats/spectra/header_keys.h"
#include "fuzz_file.h"
#include <stdbool.h>

enum { NCHAN = 37 };

static void check_channels(const char *text, bool ascending, bool is_file)
{
    unsigned char *keep = malloc(NCHAN); /* a sanitizer sees any step beyond it */
    psr_err err = {.code = PSR_OK};
    if (!keep)
        return;
    memset(keep, 1, NCHAN);
    psr_status st = psr_ignore_channels(text, NCHAN, ascending, keep, &err);
    if (st)
        fuzz_check_failure(st, &err, is_file && st != PSR_EINVAL ? text : "channels");
    for (int c = 0; c < NCHAN; c++)
        if (keep[c] > 1)
            abort();
    free(keep);
}

static void check_dms(const char *path)
{
    double *dm;
    size_t n;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_dms_read(path, &dm, &n, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    if (st ? dm != NULL : n < 1)
        abort();
    for (size_t i = 0; i < n; i++)
        if (!(dm[i] >= 0 && dm[i] <= 1e6))
            abort();
    free(dm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    char *text = calloc(size + 1, 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    check_channels(path, size % 2, true);
    if (strspn(text, "0123456789:, ") == strlen(text)) /* or it would be the name of a file */
        check_channels(text, size % 2, false);
    check_dms(path);
    free(text);
    return 0;
}
