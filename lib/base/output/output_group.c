/* Renames a set of output files together, so that no mixture of old and new is ever seen. */
#include <psrkit/experimental/outfile.h>

#include "base/base.h"

#include "base/input/readfd.h"
#include "outfile_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* --- claims of a root name: a record in ROOT.lock and a lock on it ---------------------------- */

/* A run claims its outputs by a record in ROOT.lock, and holds a system lock on its record.  A dead
 * process holds no lock, so its record can be reused.  Dropping the last claim removes the file; a
 * killed run leaves it, which does no harm. */

/* The gate is a byte beyond all records: who holds its lock may read and change the file. */
enum { RECORD_BYTES = 256, GATE = 1 << 30, HOST_MAX = 64, KIND_MAX = 16, MOST_RECORDS = 1 << 16 };

static const char start[] = "psrkit lock: process ";

struct psr_claim {
    char *path;
    int fd;
    bool knows; /* that the file is a lock */
};

/* Who claims what. */
struct record {
    long pid;
    char host[HOST_MAX + 1], kind[KIND_MAX];
    int64_t first, last;
    int common;
};

/* As fcntl, for n bytes from at on. */
static int lock_bytes(int fd, int command, short type, off_t at, off_t n)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
    int failed;
    while ((failed = fcntl(fd, command, &range)) && errno == EINTR)
        ;
    return failed;
}

static bool is_held(int fd, size_t k)
{
    struct flock range = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)k * RECORD_BYTES,
                          .l_len = RECORD_BYTES};
    return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

static bool has_no_locks(int error)
{
    return error == EINVAL || error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
}

/* Whether the file that is open still bears the name: the one who held the lock may have removed it.
 */
static bool is_named(const struct psr_claim *c)
{
    struct stat open, named;
    return fstat(c->fd, &open) == 0 && lstat(c->path, &named) == 0 && open.st_dev == named.st_dev &&
           open.st_ino == named.st_ino;
}

static void close_file(struct psr_claim *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

/* Opens the file and passes its gate.
 * Returned: c->fd, -1 where there are no locks */
static psr_status pass_gate(struct psr_claim *c, psr_err *err)
{
    for (;;) {
        c->fd = open(c->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (c->fd < 0)
            return psr_fail_errno(err, "%s: cannot open", c->path);
        if (lock_bytes(c->fd, F_OFD_SETLKW, F_WRLCK, GATE, 1)) {
            struct stat st;
            int error = errno;
            if (has_no_locks(error) && fstat(c->fd, &st) == 0 && st.st_size == 0)
                unlink(c->path);
            close_file(c);
            errno = error;
            return has_no_locks(error) ? PSR_OK : psr_fail_errno(err, "%s: cannot lock", c->path);
        }
        if (is_named(c))
            return PSR_OK;
        close_file(c);
    }
}

static bool parse(const char text[RECORD_BYTES + 1], struct record *r)
{
    return sscanf(text,
                  "psrkit lock: process %ld of %64s writes %15s %" SCNd64 " to %" SCNd64
                  " and %d common",
                  &r->pid, r->host, r->kind, &r->first, &r->last, &r->common) == 6;
}

static bool conflicts(const struct record *r, const struct psr_output_group_desc *d)
{
    return strcmp(r->kind, d->kind) == 0 &&
           ((r->common && d->common) || (r->first <= d->last && d->first <= r->last));
}

/* Checks all records for conflicts.
 * Returned: *slot, a free one */
static psr_status find_free_record(struct psr_claim *c, const struct psr_output_group_desc *d,
                                   size_t *slot, psr_err *err)
{
    char text[RECORD_BYTES + 1] = "";
    bool found = false;
    for (size_t k = 0; k < MOST_RECORDS; k++) {
        struct record r;
        ssize_t n = psr_read_at(c->fd, text, RECORD_BYTES, (int64_t)k * RECORD_BYTES);
        if (n < 0)
            return psr_fail_errno(err, "%s: cannot read", c->path);
        if (n > 0 && strncmp(text, start, sizeof start - 1) != 0)
            return psr_fail(err, PSR_EIO,
                            "%s: has the name of a lock of psrkit and is none: rename it", c->path);
        bool held = n > 0 && is_held(c->fd, k);
        if (!held && !found)
            *slot = k;
        found |= !held;
        c->knows = true;
        if (n < RECORD_BYTES)
            return PSR_OK;
        if (held && parse(text, &r) && conflicts(&r, d))
            return psr_fail(err, PSR_EIO,
                            "%.200s: process %ld on %s is writing the same files (%.150s)", d->root,
                            r.pid, r.host, c->path);
    }
    return psr_fail(err, PSR_EIO, "%s: more than %d claims", c->path, MOST_RECORDS);
}

static psr_status write_record(const struct psr_claim *c, const struct psr_output_group_desc *d,
                               size_t slot, psr_err *err)
{
    char text[RECORD_BYTES + 1], host[HOST_MAX + 1] = "";
    if (gethostname(host, sizeof host - 1) || !*host || strpbrk(host, " \t\n"))
        strcpy(host, "unknown");
    int n = snprintf(text, sizeof text,
                     "%s%ld of %s writes %s %" PRId64 " to %" PRId64 " and %d common", start,
                     (long)getpid(), host, d->kind, d->first, d->last, d->common);
    memset(text + n, ' ', (size_t)(RECORD_BYTES - n));
    text[RECORD_BYTES - 1] = '\n';
    const off_t at = (off_t)slot * RECORD_BYTES;
    errno = ENOSPC; /* where less is written than was asked for */
    if (pwrite(c->fd, text, RECORD_BYTES, at) != RECORD_BYTES)
        return psr_fail_errno(err, "%s: cannot write", c->path);
    if (lock_bytes(c->fd, F_OFD_SETLK, F_WRLCK, at, RECORD_BYTES))
        return psr_fail_errno(err, "%s: cannot lock", c->path);
    return PSR_OK;
}

/* Nobody has a claim but who holds the gate. */
static bool is_last(const struct psr_claim *c)
{
    return lock_bytes(c->fd, F_OFD_SETLK, F_WRLCK, 0, GATE) == 0;
}

/* Closes the file, which releases all locks; removes it if it is no longer needed. */
static void leave(struct psr_claim *c, bool gate_is_passed)
{
    if (c->fd >= 0 && c->knows && gate_is_passed && is_last(c) && is_named(c))
        unlink(c->path);
    close_file(c);
    free(c->path);
    free(c);
}

/* True if root is a prefix of file names or a regular file, and not a pipe or device, where runs
 * cannot collide. */
static bool claim_is_of_files(const char *root)
{
    struct stat st;
    return root && strcmp(root, "-") != 0 && !psr_path_is_descriptor(root) &&
           (stat(root, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static psr_status claim(struct psr_claim *c, const struct psr_output_group_desc *desc, psr_err *err)
{
    size_t slot = 0;
    psr_status st = find_free_record(c, desc, &slot, err);
    if (!st)
        st = write_record(c, desc, slot, err);
    if (!st)
        lock_bytes(c->fd, F_OFD_SETLK, F_UNLCK, GATE, 1);
    return st;
}

/* Claims what desc describes.
 * Returned: *out, NULL if there is nothing to lock: standard output, a device, or a file system
 *           without locks (with a note)
 * Status:   PSR_EIO naming the process and host with the same claim, or the system's error;
 *           PSR_ENOMEM
 * Notes:    uses locks of open file descriptions (F_OFD_SETLK), which NFS passes to its server, and
 *           which also exclude two claims of one process */
static psr_status claim_take(struct psr_claim **out, const struct psr_output_group_desc *desc,
                             psr_err *err)
{
    *out = NULL;
    if (!claim_is_of_files(desc->root))
        return PSR_OK;
    struct psr_claim *c = calloc(1, sizeof *c);
    if (!c || asprintf(&c->path, "%s.lock", desc->root) < 0) {
        free(c);
        return psr_fail_nomem(err, desc->root, (double)strlen(desc->root));
    }
    psr_status st = pass_gate(c, err);
    bool locks = !st && c->fd >= 0;
    if (!st && !locks)
        psr_note(&desc->notes,
                 "%s: the file system has no locks: nothing keeps a second run from writing the "
                 "same files",
                 c->path);
    if (locks)
        st = claim(c, desc, err);
    if (st || !locks)
        leave(c, locks);
    else
        *out = c;
    return st;
}

/* --- groups ----------------------------------------------------------------------------------- */

struct psr_output_group {
    struct psr_claim *claim;
    char *root;         /* NULL where nothing is locked */
    psr_outfile **file; /* [n] of room for [room]; the names are theirs once that was renamed */
    size_t n, room;
    char **dropped; /* [ndropped] of room for [dropped_room] */
    size_t ndropped, dropped_room;
    struct psr_output_lists lists;
    struct psr_output_record record;
    uint64_t salt; /* of its keys */
    size_t part;   /* first list of the part of the run that is under way */
};

static psr_status create(psr_output_group **out, const struct psr_output_group_desc *desc,
                         psr_err *err)
{
    const bool files = claim_is_of_files(desc->root);
    psr_status known = files && *desc->root ? psr_outfile_check_length(desc->root, err) : PSR_OK;
    if (known)
        return known;
    psr_output_group *g = calloc(1, sizeof *g);
    if (g && files)
        g->root = strdup(desc->root);
    psr_status st = g && (g->root || !files) ? claim_take(&g->claim, desc, err)
                                             : psr_fail_nomem(err, "a group of files", sizeof *g);
    if (st)
        psr_output_group_abort(g);
    else
        *out = g;
    return st;
}

psr_status psr_output_group_create(psr_output_group **out, const struct psr_output_group_desc *desc,
                                   psr_err *err)
{
    struct psr_output_group_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "group of files", err);
    return st ? st : create(out, &d, err);
}

psr_status psr_output_group_check_room(const psr_output_group *g, double bytes, psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    struct statvfs fs;
    if (!g->root)
        return PSR_OK;
    char *folder = strdup(g->root);
    if (!folder)
        return psr_fail_nomem(err, "the name of a folder", (double)strlen(g->root));
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    bool known = statvfs(slash ? folder : ".", &fs) == 0 && fs.f_blocks > 0;
    free(folder);
    const double free_bytes = known ? (double)fs.f_frsize * (double)fs.f_bavail : bytes;
    if (bytes <= free_bytes)
        return PSR_OK;
    return psr_fail(err, PSR_EIO, "%.300s: the files take %s, and the file system has %s left",
                    g->root, psr_size_text(need, bytes), psr_size_text(have, free_bytes));
}

psr_status psr_output_group_take(psr_output_group *g, psr_outfile *file, psr_err *err)
{
    psr_status st =
        psr_grow(&g->file, &g->room, g->n, sizeof *g->file, "the list of output files", err);
    if (st)
        psr_outfile_abort(file);
    else
        g->file[g->n++] = file;
    return st;
}

psr_status psr_output_group_add(psr_output_group *g, const char *name, psr_outfile **file,
                                psr_err *err)
{
    psr_status st = psr_outfile_create(file, name, err);
    if (!st)
        st = psr_output_group_take(g, *file, err);
    if (st)
        *file = NULL;
    return st;
}

psr_status psr_output_group_drop(psr_output_group *g, const char *name, psr_err *err)
{
    psr_status st = psr_grow(&g->dropped, &g->dropped_room, g->ndropped, sizeof *g->dropped,
                             "the list of output files", err);
    if (!st && !(g->dropped[g->ndropped] = strdup(name)))
        st = psr_fail_nomem(err, "a file name", (double)strlen(name));
    g->ndropped += !st;
    return st;
}

psr_status psr_output_group_pack(psr_output_group *g, const char *name, psr_err *err)
{
    g->lists.name = name ? strdup(name) : NULL;
    return g->lists.name || !name ? PSR_OK : psr_fail_nomem(err, name, 64);
}

bool psr_output_group_packs(const psr_output_group *g)
{
    return g->lists.name;
}

psr_status psr_output_group_add_list(psr_output_group *g, const char *name, psr_outfile **file,
                                     psr_err *err)
{
    *file = NULL;
    if (!g->lists.name)
        return g->record.path ? psr_output_lists_add(&g->lists, name, file, err)
                              : psr_output_group_add(g, name, file, err);
    /* An .inf may be of a series that stays. */
    psr_status st = psr_path_ends(name, ".inf") ? PSR_OK : psr_output_group_drop(g, name, err);
    return st ? st : psr_output_lists_add(&g->lists, name, file, err);
}

psr_status psr_output_group_record(psr_output_group *g, const char *path, uint64_t salt,
                                   psr_err *err)
{
    g->salt = salt;
    return psr_output_record_open(&g->record, path, err);
}

void psr_output_group_begin_part(psr_output_group *g)
{
    g->part = g->lists.n;
}

psr_status psr_output_group_end_part(psr_output_group *g, uint64_t key, const char *stem,
                                     const char *text, psr_err *err)
{
    return !g->record.path
               ? PSR_OK
               : psr_output_record_add(&g->record, key + g->salt, stem, text,
                                       g->lists.list + g->part, g->lists.n - g->part, err);
}

const char *psr_output_group_recall(const psr_output_group *g, uint64_t key)
{
    const struct psr_record_entry *e = psr_output_record_find(&g->record, key + g->salt);
    return e ? e->text : NULL;
}

psr_status psr_output_group_recall_list(psr_output_group *g, uint64_t key, const char *name,
                                        psr_err *err)
{
    bool exists = false;
    psr_outfile *f = NULL;
    psr_status st = psr_output_record_read(
        &g->record, psr_output_record_find(&g->record, key + g->salt), name, &exists, &f, err);
    if (!st && exists)
        return psr_output_lists_take(&g->lists, f, err);
    psr_outfile_abort(f);
    return st ? st : psr_output_group_drop(g, name, err);
}

psr_status psr_output_group_record_file(psr_output_group *g, uint64_t key, psr_outfile *file,
                                        psr_err *err)
{
    return g->record.path ? psr_output_record_add(&g->record, key + g->salt, psr_outfile_name(file),
                                                  "-", &file, 1, err)
                          : PSR_OK;
}

psr_status psr_output_group_recall_file(const psr_output_group *g, uint64_t key, const char *name,
                                        psr_outfile **file, psr_err *err)
{
    const struct psr_record_entry *e = psr_output_record_find(&g->record, key + g->salt);
    bool exists = false;
    *file = NULL;
    psr_status st = e ? psr_output_record_read(&g->record, e, name, &exists, file, err) : PSR_OK;
    if (st)
        psr_outfile_abort(*file);
    *file = st ? NULL : *file;
    return st;
}

/* Writes lists that were held into files of their own. */
static psr_status unpack_lists(psr_output_group *g, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < g->lists.n && !st; i++) {
        psr_outfile *f;
        size_t n;
        const void *bytes = psr_outfile_held(g->lists.list[i], &n);
        st = psr_output_group_add(g, psr_outfile_name(g->lists.list[i]), &f, err);
        if (!st)
            st = psr_outfile_write(f, bytes, n, err);
        if (!st)
            st = psr_outfile_park(f, err);
    }
    return st;
}

/* Writes the file of lists, which then is one of the group's. */
static psr_status pack_lists(psr_output_group *g, psr_err *err)
{
    psr_outfile *f;
    if (!g->lists.name)
        return unpack_lists(g, err);
    psr_status st = psr_output_group_add(g, g->lists.name, &f, err);
    return st ? st : psr_output_lists_write(&g->lists, f, err);
}

/* The last file first, as it marks the set as complete.  A single file replaces another in one step. */
static psr_status remove_old(psr_output_group *g, psr_err *err)
{
    psr_status st = PSR_OK;
    if (g->n + g->ndropped < 2)
        return PSR_OK;
    for (size_t i = g->n; i-- > 0 && !st;)
        st = psr_outfile_remove_old(g->file[i], err);
    for (size_t i = 0; i < g->ndropped && !st; i++)
        if (unlink(g->dropped[i]) && errno != ENOENT)
            st = psr_fail_errno(err, "%s: cannot remove", g->dropped[i]);
    return st;
}

psr_status psr_output_group_commit(psr_output_group *g, psr_err *err)
{
    psr_status st = pack_lists(g, err);
    size_t named = 0;
    for (size_t i = 0; i < g->n && !st; i++)
        st = psr_outfile_close(g->file[i], err);
    for (size_t i = 0; i < g->n && !st; i++)
        st = psr_outfile_check_target(g->file[i], err);
    if (!st)
        st = remove_old(g, err);
    for (; named < g->n && !st; named += !st)
        st = psr_outfile_take_name(g->file[named], err);
    /* Half of a set would look complete. */
    for (size_t i = 0; i < named && st; i++)
        if (psr_outfile_remove_old(g->file[i], NULL))
            continue;
    psr_output_record_close(&g->record, st != PSR_OK);
    psr_output_group_abort(g);
    return st;
}

void psr_output_group_abort(psr_output_group *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++)
        psr_outfile_abort(g->file[i]);
    for (size_t i = 0; i < g->ndropped; i++)
        free(g->dropped[i]);
    psr_output_lists_clear(&g->lists);
    psr_output_record_close(&g->record, true);
    /* Drops the claim; NULL is allowed. */
    struct psr_claim *c = g->claim;
    if (c)
        leave(c, lock_bytes(c->fd, F_OFD_SETLKW, F_WRLCK, GATE, 1) == 0);
    free(g->dropped);
    free(g->file);
    free(g->root);
    free(g);
}
