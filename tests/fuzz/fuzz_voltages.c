/* fuzz_voltages: any bytes given as a DADA file of voltages are read to their end or to a clear
 * error. */
#include <psrkit/experimental/dada.h>

#include "formats/dada/dada_internal.h"
#include "fuzz_file.h"
#include "tests/support/voltages_read.h"

enum { MOST_BYTES = 1 << 20 };

static void check_note(void *ctx, const char *msg)
{
    (void)ctx;
    if (!*msg || strchr(msg, '\n'))
        abort();
}

static psr_status read_all(psr_voltages *v, psr_err *err)
{
    size_t each = psr_dada_sample_bytes(psr_voltages_header(v)), nread = 1;
    int64_t left = psr_voltages_nsamp(v);
    psr_status st = PSR_OK;
    uint8_t *block = each < MOST_BYTES ? malloc(3 * each) : NULL;
    while (block && !st && nread > 0) {
        st = read_voltages(v, 3, block, &nread, err);
        left -= st ? 0 : (int64_t)nread;
    }
    if (block && !st && left)
        abort();
    free(block);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    const struct psr_voltages_desc desc = {.size = sizeof desc,
                                           .path = &path,
                                           .npath = 1,
                                           .nthread = 1,
                                           .notes = {.note = check_note}};
    psr_voltages *v;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_voltages_open(&v, &desc, &err);
    if (!st)
        st = read_all(v, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    psr_voltages_close(v);
    return 0;
}
