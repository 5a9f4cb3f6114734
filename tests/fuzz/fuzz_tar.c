/* fuzz_tar: any bytes as ROOT.lists: members lie within the file, and each opens as its bytes. */
#include "base/base.h"
#include "base/input/tar_read.h"
#include "fuzz_file.h"

enum { MAGIC_AT = 257, SUM_AT = 148, SUM_BYTES = 8 };

static char folder[] = "/tmp/fuzz_tar.XXXXXX", lists[64];

static void remove_folder(void)
{
    unlink(lists);
    rmdir(folder);
}

/* A folder where r.lists is the file in memory. */
static void make_folder(const char *path)
{
    if (*lists)
        return;
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(EXIT_FAILURE);
    }
    snprintf(lists, sizeof lists, "%s/r.lists", folder);
    atexit(remove_folder);
    if (symlink(path, lists)) {
        perror(lists);
        exit(EXIT_FAILURE);
    }
}

/* Sums that are right, without which few headers would be read further. */
static void mend_sums(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + PSR_TAR_BLOCK <= size; at += PSR_TAR_BLOCK) {
        uint8_t *h = bytes + at;
        unsigned sum = 0;
        char text[SUM_BYTES + 1];
        if (memcmp(h + MAGIC_AT, "ustar", 5) != 0)
            continue;
        memset(h + SUM_AT, ' ', SUM_BYTES);
        for (int i = 0; i < PSR_TAR_BLOCK; i++)
            sum += h[i];
        snprintf(text, sizeof text, "%06o", sum);
        memcpy(h + SUM_AT, text, 7);
    }
}

/* A member of that name, if not this one, is what opens. */
static void check_member(const uint8_t *bytes, size_t size, const struct psr_tar_member *m)
{
    char path[sizeof folder + PSR_TAR_NAME + 1];
    if (m->first < 0 || m->first >= m->at || m->n < 0 || m->at + m->n > (int64_t)size ||
        strlen(m->name) >= PSR_TAR_NAME || strchr(m->name, '/'))
        abort();
    if (strncmp(m->name, "r_", 2) != 0)
        return;
    snprintf(path, sizeof path, "%s/%s", folder, m->name);
    FILE *f = psr_open_file(path);
    if (!f)
        abort();
    uint8_t *read = malloc(size + 1);
    const size_t n = read ? fread(read, 1, size + 1, f) : 0;
    if (n > size || (n && !memmem(bytes, size, read, n)))
        abort();
    free(read);
    fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    struct psr_names names = {.n = 0};
    struct psr_tar_member m;
    psr_err err = {.code = PSR_OK};
    int64_t next = 0;
    size_t n = 0;
    bool exists = true;
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    if (size % 4)
        mend_sums(bytes, size);
    const char *path = fuzz_file(bytes, size);
    make_folder(path);
    const int fd = psr_tar_open(path);
    psr_status st = PSR_OK;
    while (!st && exists) {
        st = psr_tar_next(fd, path, &next, &m, &exists, &err);
        if (!st && exists)
            check_member(bytes, size, &m);
        n += !st && exists && !psr_path_ends(m.name, PSR_LISTS_INDEX);
    }
    if (st)
        fuzz_check_failure(st, &err, path);
    if (psr_lists_names(&names, path, &err) != st || names.n != n)
        abort();
    psr_names_clear(&names);
    close(fd);
    free(bytes);
    return 0;
}
