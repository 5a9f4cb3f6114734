/* fuzz_source: any bytes given as a file of spectra are read to their end or to a clear error.
 *
 * PSRFITS only with -DFUZZ_CFITSIO, and then without the columns' names that overflow CFITSIO 4.2
 * by a byte: its faults are not for `make check`, where every version of it is met. */
#include <psrkit/experimental/source.h>

#include "base/obs_internal.h"
#include "fuzz_file.h"

enum { BLOCK_BYTES = 1 << 16, MOST_BLOCKS = 64, MOST_SPECTRA = 4096 };

static void check_note(void *ctx, const char *msg)
{
    (void)ctx;
    if (!*msg || strchr(msg, '\n'))
        abort();
}

/* Reads with blocks of the exact size, and gaps must lie in what was read. */
static psr_status read_all(psr_source *s, psr_err *err)
{
    size_t each = psr_source_block_bytes(s, 1), n = each < BLOCK_BYTES ? BLOCK_BYTES / each : 1;
    n = n < MOST_SPECTRA ? n : MOST_SPECTRA;
    int64_t total = 0;
    size_t nread = n;
    psr_status st = PSR_OK;
    void *block = malloc(psr_source_block_bytes(s, n));
    for (int k = 0; block && k < MOST_BLOCKS && nread == n && !st; k++) {
        st = psr_source_read(s, n, block, &nread, err);
        if (!st && nread > n)
            abort();
        total += st ? 0 : (int64_t)nread;
    }
    const struct psr_span *span;
    size_t nspan = psr_source_gaps(s, &span);
    for (size_t i = 0; i < nspan && !st; i++)
        if (span[i].first < 0 || span[i].count < 1 || span[i].first + span[i].count > total)
            abort();
    free(block);
    return st;
}

static bool is_left_out(const uint8_t *data, size_t size)
{
    bool fits = size >= 6 && !memcmp(data, "SIMPLE", 6), bad = false;
#ifndef FUZZ_CFITSIO
    bad = fits;
#endif
    for (size_t card = 0; fits && !bad && card + 80 <= size; card += 80)
        bad = !memcmp(data + card, "TTYPE", 5) && !memchr(data + card + 10, ' ', 70);
    return bad;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (is_left_out(data, size))
        return 0;
    const char *path = fuzz_file(data, size);
    const struct psr_source_desc desc = {.size = sizeof desc,
                                         .path = &path,
                                         .npath = 1,
                                         .if_choice = size % 3 ? -1 : 0,
                                         .invert = size % 2,
                                         .as_presto = size % 5 == 0,
                                         .notes = {.note = check_note}};
    psr_source *s;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_source_open(&s, &desc, &err);
    if (!st && psr_obs_check(psr_source_obs(s), path, NULL))
        abort();
    if (!st)
        st = read_all(s, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    psr_source_close(s);
    return 0;
}
