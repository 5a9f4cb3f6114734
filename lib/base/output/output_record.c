/* Records what a run has completed. */
#include "output_record.h"

#include "base/input/tar_read.h"
#include "base/path.h"
#include "base/tool.h"
#include "outfile_internal.h"
#include "tar_write.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { KEY_DIGITS = 16 };

/* Adds the part that ends with a member.
 * Returned: *taken, false if that is no key and text */
static psr_status take_entry(struct psr_output_record *r, const struct psr_tar_member *m,
                             int64_t first, bool *taken, psr_err *err)
{
    char text[KEY_DIGITS + 1 + PSR_RECORD_TEXT] = "", *end = text;
    *taken = m->n > KEY_DIGITS && m->n < (int64_t)sizeof text &&
             pread(r->fd, text, (size_t)m->n, (off_t)m->at) == (ssize_t)m->n;
    const uint64_t key = strtoull(text, &end, 16);
    *taken = *taken && end == text + KEY_DIGITS && *end == ' ';
    if (!*taken)
        return PSR_OK;
    psr_status st = psr_grow(&r->entry, &r->room, r->n, sizeof *r->entry, "a record", err);
    if (st)
        return st;
    struct psr_record_entry *e = &r->entry[r->n++];
    *e = (struct psr_record_entry){.key = key, .first = first, .end = m->first};
    strcpy(e->text, end + 1);
    return PSR_OK;
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
    char name[PSR_TAR_NAME], line[KEY_DIGITS + 1 + PSR_RECORD_TEXT];
    psr_outfile *all = NULL;
    psr_status st = psr_outfile_hold(&all, stem, err);
    for (size_t i = 0; i < n && !st; i++) {
        size_t size;
        const void *bytes = psr_outfile_held(list[i], &size);
        st = psr_tar_add(all, psr_path_file(psr_outfile_name(list[i])), bytes, size, err);
    }
    const int length = snprintf(line, sizeof line, "%016" PRIx64 " %s", key, text);
    if (!st && snprintf(name, sizeof name, "%s" PSR_RECORD, psr_path_file(stem)) < PSR_TAR_NAME)
        st = psr_tar_add(all, name, line, (size_t)length, err);
    if (!st) {
        size_t size;
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
