/* Writes the lists of a group into one tar file, and the record of what a run has completed, which is one, too. */
#include "outfile_internal.h"

#include "base/base.h"
#include "base/input/tar_read.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* --- members of a POSIX tar file -------------------------------------------------------------- */

/* Equal members are equal bytes: they have no owner, and one date, 2000-01-01. */
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

/* Bytes that add_member writes. */
static int64_t member_bytes(const char *name, size_t n)
{
    char text[2 * PSR_TAR_NAME];
    const size_t more = long_name(name, text);
    return (int64_t)(PSR_TAR_BLOCK + n + padding(n) +
                     (more ? PSR_TAR_BLOCK + more + padding(more) : 0));
}

/* Adds a file; a name above 100 bytes gets a header of its own (pax). */
static psr_status add_member(psr_outfile *f, const char *name, const void *bytes, size_t n,
                             psr_err *err)
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

/* --- lists ------------------------------------------------------------------------------------ */

psr_status psr_output_lists_add(struct psr_output_lists *l, const char *name, psr_outfile **file,
                                psr_err *err)
{
    psr_status st = psr_outfile_hold(file, name, err);
    if (!st)
        st = psr_output_lists_take(l, *file, err);
    if (st)
        *file = NULL;
    return st;
}

psr_status psr_output_lists_take(struct psr_output_lists *l, psr_outfile *file, psr_err *err)
{
    psr_status st = psr_grow(&l->list, &l->room, l->n, sizeof *l->list, "the lists", err);
    if (st)
        psr_outfile_abort(file);
    else
        l->list[l->n++] = file;
    return st;
}

static const char *name_of(const psr_outfile *list)
{
    return psr_path_file(psr_outfile_name(list));
}

PSR_COMPARE_POINTERS(by_name, psr_outfile, strcmp(name_of(a), name_of(b)));

/* Lines of one width, so that a name is found by halving. */
static psr_status write_index(const struct psr_output_lists *l, psr_outfile *to, psr_err *err)
{
    enum { DIGITS = 12 };
    char name[PSR_TAR_NAME];
    psr_outfile *index = NULL;
    size_t width = 0, n;
    for (size_t i = 0; i < l->n; i++)
        width = width > strlen(name_of(l->list[i])) ? width : strlen(name_of(l->list[i]));
    /* ROOT.index */
    const char *own = psr_path_file(l->name);
    const int root = (int)(strlen(own) - strlen(PSR_LISTS));
    psr_status st = snprintf(name, PSR_TAR_NAME, "%.*s" PSR_LISTS_INDEX, root, own) < PSR_TAR_NAME
                        ? PSR_OK
                        : psr_fail(err, PSR_EIO, "%s: its name is too long", l->name);
    if (!st)
        st = psr_outfile_hold(&index, name, err);
    int64_t first = member_bytes(name, l->n * (DIGITS + 1 + width + 1));
    for (size_t i = 0; i < l->n && !st; i++) {
        st = psr_outfile_printf(index, err, "%*lld %-*s\n", DIGITS, (long long)first, (int)width,
                                name_of(l->list[i]));
        first += member_bytes(name_of(l->list[i]), (size_t)psr_outfile_size(l->list[i]));
    }
    if (!st) {
        const void *bytes = psr_outfile_held(index, &n);
        st = add_member(to, name, bytes, n, err);
    }
    psr_outfile_abort(index);
    return st;
}

static void drop_empty(struct psr_output_lists *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (psr_outfile_size(l->list[i]) > 0)
            l->list[n++] = l->list[i];
        else
            psr_outfile_abort(l->list[i]);
    l->n = n;
}

psr_status psr_output_lists_write(struct psr_output_lists *l, psr_outfile *to, psr_err *err)
{
    static const char end[2 * PSR_TAR_BLOCK];
    drop_empty(l);
    if (l->n)
        qsort(l->list, l->n, sizeof *l->list, by_name);
    psr_status st = write_index(l, to, err);
    for (size_t i = 0; i < l->n && !st; i++) {
        size_t n;
        const void *bytes = psr_outfile_held(l->list[i], &n);
        st = add_member(to, name_of(l->list[i]), bytes, n, err);
    }
    return st ? st : psr_outfile_write(to, end, sizeof end, err);
}

void psr_output_lists_clear(struct psr_output_lists *l)
{
    for (size_t i = 0; i < l->n; i++)
        psr_outfile_abort(l->list[i]);
    free(l->list);
    free(l->name);
    *l = (struct psr_output_lists){.n = 0};
}

/* --- the record of a run ---------------------------------------------------------------------- */

/* Of a key, and of the digest of a part. */
enum { KEY_DIGITS = 16 };

/* Adds a part, unless its bytes are not those that were written.  Given: key, sum, text   of its last member */
static psr_status take_part(struct psr_output_record *r, uint64_t key, uint64_t sum,
                            const char *text, int64_t first, int64_t end, psr_err *err)
{
    const size_t n = (size_t)(end - first);
    char *bytes = malloc(n + 1);
    if (!bytes)
        return psr_fail_nomem(err, r->path, (double)n);
    const bool whole = pread(r->fd, bytes, n, (off_t)first) == (ssize_t)n &&
                       psr_digest_text(psr_digest_bytes(key, bytes, n), text) == sum;
    free(bytes);
    if (!whole)
        return PSR_OK;
    psr_status st = psr_grow(&r->entry, &r->room, r->n, sizeof *r->entry, "a record", err);
    if (st)
        return st;
    struct psr_record_entry *e = &r->entry[r->n++];
    *e = (struct psr_record_entry){.key = key, .first = first, .end = end};
    strcpy(e->text, text);
    return PSR_OK;
}

/* Takes the part that ends with a member.
 * Returned: *taken, false if that is no key, digest and text */
static psr_status take_entry(struct psr_output_record *r, const struct psr_tar_member *m,
                             int64_t first, bool *taken, psr_err *err)
{
    enum { AHEAD = 2 * (KEY_DIGITS + 1) };
    char text[AHEAD + PSR_RECORD_TEXT] = "", *end = text;
    *taken = m->n > AHEAD && m->n < (int64_t)sizeof text &&
             pread(r->fd, text, (size_t)m->n, (off_t)m->at) == (ssize_t)m->n;
    const uint64_t key = strtoull(text, &end, 16);
    *taken = *taken && end == text + KEY_DIGITS && *end == ' ';
    const uint64_t sum = *taken ? strtoull(end + 1, &end, 16) : 0;
    *taken = *taken && end == text + AHEAD - 1 && *end == ' ';
    return *taken ? take_part(r, key, sum, end + 1, first, m->first, err) : PSR_OK;
}

/* Reads all parts, and cuts off what follows the last. */
static psr_status read_entries(struct psr_output_record *r, psr_err *err)
{
    struct psr_tar_member m;
    int64_t next = 0, first = 0;
    bool exists = true;
    psr_status st = PSR_OK;
    while (!st && exists && psr_tar_next(r->fd, r->path, &next, &m, &exists, NULL) == PSR_OK &&
           exists) {
        if (!psr_path_ends(m.name, PSR_RECORD))
            continue;
        st = take_entry(r, &m, first, &exists, err);
        first = exists ? next : first;
    }
    if (!st && ftruncate(r->fd, (off_t)first) != 0)
        psr_output_record_close(r, false);
    return st;
}

psr_status psr_output_record_open(struct psr_output_record *r, const char *path, psr_err *err)
{
    r->path = strdup(path);
    if (!r->path)
        return psr_fail_nomem(err, path, (double)strlen(path));
    r->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (r->fd >= 0 && flock(r->fd, LOCK_EX | LOCK_NB) == 0)
        return read_entries(r, err);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    r->path = NULL;
    return PSR_OK;
}

const struct psr_record_entry *psr_output_record_find(const struct psr_output_record *r,
                                                      uint64_t key)
{
    for (size_t i = 0; r->path && i < r->n; i++)
        if (r->entry[i].key == key)
            return &r->entry[i];
    return NULL;
}

psr_status psr_output_record_read(const struct psr_output_record *r,
                                  const struct psr_record_entry *e, const char *name, bool *exists,
                                  psr_outfile **to, psr_err *err)
{
    struct psr_tar_member m;
    int64_t next = e->first;
    psr_status st = PSR_OK;
    for (*exists = false; !st && !*exists && next < e->end;) {
        st = psr_tar_next(r->fd, r->path, &next, &m, exists, err);
        *exists = *exists && !strcmp(m.name, psr_path_file(name));
    }
    if (st || !*exists)
        return st;
    char *bytes = malloc((size_t)m.n + 1);
    st = bytes ? psr_outfile_hold(to, name, err) : psr_fail_nomem(err, name, (double)m.n);
    if (!st && pread(r->fd, bytes, (size_t)m.n, (off_t)m.at) != (ssize_t)m.n)
        st = psr_fail_errno(err, "%s", r->path);
    if (!st)
        st = psr_outfile_write(*to, bytes, (size_t)m.n, err);
    free(bytes);
    return st;
}

/* By one call of the system, unless a signal or a full disk comes between: then nothing of it stays. */
static void append(struct psr_output_record *r, const char *bytes, size_t n)
{
    const off_t before = lseek(r->fd, 0, SEEK_END);
    if (before >= 0 && write(r->fd, bytes, n) == (ssize_t)n)
        return;
    if (before < 0 || ftruncate(r->fd, before) != 0)
        psr_output_record_close(r, false);
}

psr_status psr_output_record_add(struct psr_output_record *r, uint64_t key, const char *stem,
                                 const char *text, psr_outfile *const *list, size_t n, psr_err *err)
{
    char name[PSR_TAR_NAME], line[2 * (KEY_DIGITS + 1) + PSR_RECORD_TEXT];
    psr_outfile *all = NULL;
    size_t size;
    psr_status st = psr_outfile_hold(&all, stem, err);
    for (size_t i = 0; i < n && !st; i++) {
        const void *bytes = psr_outfile_held(list[i], &size);
        st = add_member(all, psr_path_file(psr_outfile_name(list[i])), bytes, size, err);
    }
    if (st) {
        psr_outfile_abort(all);
        return st;
    }
    const void *lists = psr_outfile_held(all, &size);
    const uint64_t sum = psr_digest_text(psr_digest_bytes(key, lists, size), text);
    const int length =
        snprintf(line, sizeof line, "%016" PRIx64 " %016" PRIx64 " %s", key, sum, text);
    const bool named =
        snprintf(name, sizeof name, "%s" PSR_RECORD, psr_path_file(stem)) < PSR_TAR_NAME;
    st = named ? add_member(all, name, line, (size_t)length, err) : PSR_OK;
    if (!st && named) {
        const void *bytes = psr_outfile_held(all, &size);
        append(r, bytes, size);
    }
    psr_outfile_abort(all);
    return st;
}

void psr_output_record_close(struct psr_output_record *r, bool keep)
{
    if (!r->path)
        return;
    if (!keep || lseek(r->fd, 0, SEEK_END) <= 0)
        unlink(r->path);
    close(r->fd);
    free(r->path);
    free(r->entry);
    *r = (struct psr_output_record){.path = NULL};
}
