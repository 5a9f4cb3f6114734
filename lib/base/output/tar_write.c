/* Writes a tar file member by member. */
#include "tar_write.h"

#include "base/input/tar_read.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 100, DATE = 946684800 };

/* A block, field by field. */
struct header {
    char name[NAME_BYTES], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100],
        magic[6], version[2], owner[32], group[32], major[8], minor[8], prefix[155], rest[12];
};

static size_t padding(size_t n)
{
    return (PSR_TAR_BLOCK - n % PSR_TAR_BLOCK) % PSR_TAR_BLOCK;
}

static psr_status put_padding(psr_outfile *f, size_t n, psr_err *err)
{
    static const char zero[PSR_TAR_BLOCK];
    return psr_outfile_write(f, zero, padding(n), err);
}

static psr_status put_header(psr_outfile *f, const char *name, char type, size_t n, psr_err *err)
{
    struct header h;
    unsigned sum = 0;
    memset(&h, 0, sizeof h);
    memcpy(h.name, name, strnlen(name, NAME_BYTES));
    strcpy(h.mode, "0000644");
    strcpy(h.uid, "0000000");
    strcpy(h.gid, "0000000");
    snprintf(h.size, sizeof h.size, "%011llo", (unsigned long long)n & 077777777777);
    snprintf(h.mtime, sizeof h.mtime, "%011o", (unsigned)DATE);
    memset(h.sum, ' ', sizeof h.sum);
    h.type = type;
    memcpy(h.magic, "ustar", sizeof h.magic);
    memcpy(h.version, "00", sizeof h.version);
    for (size_t i = 0; i < sizeof h; i++)
        sum += ((const unsigned char *)&h)[i];
    snprintf(h.sum, sizeof h.sum, "%06o", sum & 0777777);
    return psr_outfile_write(f, &h, sizeof h, err);
}

/* Returned: bytes of "NN path=NAME\n", where NN is their number; 0 for a name that needs none */
static size_t long_name(const char *name, char text[2 * PSR_TAR_NAME])
{
    const size_t n = strlen(name);
    if (n <= NAME_BYTES)
        return 0;
    return (size_t)snprintf(text, 2 * PSR_TAR_NAME, "%zu path=%s\n", n + strlen("100 path=\n"),
                            name);
}

int64_t psr_tar_bytes(const char *name, size_t n)
{
    char text[2 * PSR_TAR_NAME];
    const size_t more = long_name(name, text);
    return (int64_t)(PSR_TAR_BLOCK + n + padding(n) +
                     (more ? PSR_TAR_BLOCK + more + padding(more) : 0));
}

psr_status psr_tar_add(psr_outfile *f, const char *name, const void *bytes, size_t n, psr_err *err)
{
    char text[2 * PSR_TAR_NAME];
    const size_t more = long_name(name, text);
    psr_status st = more ? put_header(f, "name", 'x', more, err) : PSR_OK;
    if (!st && more)
        st = psr_outfile_write(f, text, more, err);
    if (!st && more)
        st = put_padding(f, more, err);
    if (!st)
        st = put_header(f, name, '0', n, err);
    if (!st)
        st = psr_outfile_write(f, bytes, n, err);
    return st ? st : put_padding(f, n, err);
}

psr_status psr_tar_end(psr_outfile *f, psr_err *err)
{
    static const char zero[2 * PSR_TAR_BLOCK];
    return psr_outfile_write(f, zero, sizeof zero, err);
}
