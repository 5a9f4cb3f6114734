/* Writes output files under temporary names, so that they appear complete or not at all. */
#include "base/base.h"

#include "base/input/dada_ring.h"
#include "base/portable.h"
#include "outfile_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <psrkit/experimental/outfile.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* --- names of files that are being written, and whether their writer still runs --------------- */

/* A suffix is a number: the machine, the process on it, and a random part. */
enum { RANDOM_BITS = 3, PID_BITS = 22, HOST_BITS = 10, OLD_S = 24 * 3600 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* Processes are numbered within a machine, or a container. */
static uint64_t host_number(void)
{
    char name[256] = "";
    struct stat is;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    gethostname(name, sizeof name - 1);
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    if (stat("/proc/self/ns/pid", &is) == 0)
        hash = (hash ^ (uint64_t)is.st_ino) * UINT64_C(0x100000001b3);
    return (hash ^ hash >> 32) & ((1u << HOST_BITS) - 1);
}

static uint64_t random_number(void)
{
    uint64_t r;
    struct timespec now;
    if (getrandom(&r, sizeof r, GRND_NONBLOCK) == (ssize_t)sizeof r)
        return r;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec >> 6;
}

/* Writes PSR_PART_LETTERS letters that tell which process writes the file, and with few clashes: a name
 * that exists is tried again.  Any thread may ask at any time, so there is no counter. */
static void part_suffix(char *suffix)
{
    const uint64_t pid = (uint64_t)getpid() & ((1u << PID_BITS) - 1);
    uint64_t r = (host_number() << PID_BITS | pid) << RANDOM_BITS |
                 (random_number() & ((1u << RANDOM_BITS) - 1));
    for (int i = 0; i < PSR_PART_LETTERS; i++, r /= 62)
        suffix[i] = letters[r % 62];
}

/* Returned: the number of the suffix at the end of a name; 0 if it has none */
static uint64_t suffix_number(const char *name)
{
    const size_t n = strlen(name), tail = strlen(PSR_PART) + PSR_PART_LETTERS;
    uint64_t r = 0;
    if (n <= tail || strncmp(name + n - tail, PSR_PART, strlen(PSR_PART)) != 0)
        return 0;
    for (int i = PSR_PART_LETTERS; i-- > 0;) {
        const char *at = strchr(letters, name[n - PSR_PART_LETTERS + (size_t)i]);
        if (!at)
            return 0;
        r = r * 62 + (uint64_t)(at - letters);
    }
    return r;
}

/* Whether a process writes no more: none of that number, or one that was killed and that nobody waits for. */
static bool has_ended(pid_t pid)
{
    char path[32], text[256] = "";
    if (kill(pid, 0) != 0)
        return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *state = strrchr(text, ')'); /* of the name, which may hold anything */
    return state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

bool psr_outfile_is_leftover(const char *path)
{
    struct stat is;
    const uint64_t number = suffix_number(path);
    if (!number || lstat(path, &is) != 0 || !S_ISREG(is.st_mode) || is.st_nlink != 1 ||
        is.st_uid != geteuid())
        return false;
    const uint64_t host = number >> (PID_BITS + RANDOM_BITS);
    const pid_t pid = (pid_t)(number >> RANDOM_BITS & ((1u << PID_BITS) - 1));
    if (host != host_number()) /* nobody here knows that process */
        return time(NULL) - is.st_mtim.tv_sec > OLD_S;
    return pid > 0 && has_ended(pid);
}

/* --- writes output files under temporary names, so that they appear complete or not at all ---- */

enum {
    BUFFER_BYTES = 64 << 10,
    SUFFIX_CHARS = PSR_PART_LETTERS,
    MAX_TRIES = 100,
    NAME_BYTES = 255, /* where the file system does not say */
    RING_SIGNALS = 1, /* as many end the wait */
    PIPE_SIGNALS = 3,
};

static const char part[] = PSR_PART;

struct psr_outfile {
    char *name;   /* as the caller gave it, for messages */
    char *target; /* the name to take; that of name */
    char *temp;   /* NULL where written in place, and once it has its name */
    bool absent;  /* nothing bore the name of target when that was looked at last */
    bool special; /* written in place: there is nothing to rename or remove */
    bool held;    /* stays in memory: the buffer has all */
    int fd;       /* -1 while parked */
    bool parked;  /* the descriptor is held during writes only */
    int failure;  /* errno of the first failed write: what is on disk can no longer be trusted */
    int64_t size; /* bytes taken so far */
    unsigned char *buffer;
    size_t used, room;
    psr_dada_ring *ring; /* behind the descriptor; NULL: none */
};

static psr_status fail_file(psr_outfile *f, const char *action, psr_err *err)
{
    if (!f->failure)
        f->failure = errno;
    errno = f->failure;
    return psr_fail_errno(err, "%s: cannot %s", f->name, action);
}

/* Waits if a full pipe or terminal is non-blocking.  Nobody may ever read a pipe or a ring: so many signals in a row, with
 * nothing taken between them, end the wait for it. */
static bool write_all(int fd, int signals, const unsigned char *bytes, size_t n)
{
    int interrupted = 0;
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EAGAIN &&
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1) >= 0)
            continue;
        if (done < 0 && errno != EINTR)
            return false;
        const bool whole = done == (ssize_t)n;
        interrupted = whole || (done > 0 && signals != RING_SIGNALS) ? 0 : interrupted + 1;
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        }
        if (n > 0 && signals > 0 && interrupted >= signals) {
            errno = EINTR;
            return false;
        }
    }
    return true;
}

/* close is not repeated on EINTR: the descriptor is gone then, and may be another thread's. */
static bool close_fd(psr_outfile *f)
{
    int fd = f->fd;
    f->fd = -1;
    return close(fd) == 0 || errno == EINTR;
}

/* Waits for the ring behind the descriptor, until it has all, or only as long as it must. */
static psr_status end_ring(psr_outfile *f, bool all, psr_err *err)
{
    psr_dada_ring *ring = f->ring;
    f->ring = NULL;
    if (f->fd >= 0)
        (void)close_fd(f);
    return psr_dada_ring_finish(ring, all, err);
}

/* A ring that takes no more says why. */
static psr_status fail_ring(psr_outfile *f, psr_err *err)
{
    f->failure = EPIPE;
    const psr_status st = end_ring(f, false, err);
    return st ? st : fail_file(f, "write", err);
}

/* Sends bytes to the system, opening and closing a parked file around it. */
static psr_status push_bytes(psr_outfile *f, const void *bytes, size_t n, psr_err *err)
{
    if (f->fd < 0) {
        f->fd = open(f->temp, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (f->fd < 0)
            return fail_file(f, "open its temporary file again", err);
    }
    const int signals = f->ring ? RING_SIGNALS : f->special ? PIPE_SIGNALS : 0;
    if (!write_all(f->fd, signals, bytes, n))
        return f->ring ? fail_ring(f, err) : fail_file(f, "write", err);
    if (f->parked && !close_fd(f))
        return fail_file(f, "write", err);
    return PSR_OK;
}

static psr_status flush_buffer(psr_outfile *f, psr_err *err)
{
    psr_status st = psr_outfile_status(f, err);
    if (st || !f->used || f->held)
        return st;
    st = push_bytes(f, f->buffer, f->used, err);
    f->used = 0;
    return st;
}

/* Keeps the file open unless descriptors are scarce.  A new descriptor is the lowest free one, so
 * its number shows how many the process uses. */
static void spare_descriptors(psr_outfile *f)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return;
    rlim_t reserve = limit.rlim_cur / 4 > 32 ? limit.rlim_cur / 4 : 32;
    if ((rlim_t)f->fd + reserve < limit.rlim_cur)
        return;
    close_fd(f);
    f->parked = true;
}

static psr_status open_temp(psr_outfile *f, psr_err *err)
{
    size_t stem = strlen(f->target) + sizeof part - 1;
    f->temp = calloc(stem + SUFFIX_CHARS + 1, 1);
    if (!f->temp)
        return psr_fail_nomem(err, f->name, (double)stem);
    strcat(strcpy(f->temp, f->target), part);
    for (int i = 0; i < MAX_TRIES && f->fd < 0; i++) {
        part_suffix(f->temp + stem);
        f->fd = open(f->temp, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd < 0 && errno != EEXIST)
            break;
    }
    if (f->fd < 0) {
        psr_status st = psr_fail_errno(err, "%s: cannot create %s", f->name, f->temp);
        free(f->temp);
        f->temp = NULL;
        return st;
    }
    spare_descriptors(f);
    return PSR_OK;
}

static psr_status open_target(psr_outfile *f, bool there, psr_err *err)
{
    struct stat is;
    f->target = f->name;
    f->special = psr_path_is_descriptor(f->target);
    const bool looks = !f->special && there, exists = looks && stat(f->target, &is) == 0;
    if (looks && !exists && errno == ELOOP)
        return fail_file(f, "follow the link", err);
    f->special = f->special || (exists && !S_ISREG(is.st_mode));
    if (psr_dada_ring_is_name(f->target))
        return psr_dada_ring_write(&f->ring, &f->fd, f->target, err);
    if (f->special) {
        f->fd = open(f->target, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        return f->fd < 0 ? fail_file(f, "open for writing", err) : PSR_OK;
    }
    /* A rename would replace a write-protected file without asking. */
    if (exists && access(f->target, W_OK))
        return fail_file(f, "write", err);
    return open_temp(f, err);
}

/* A copy of the descriptor can be closed, and errors of closing seen, like any other's. */
static psr_status open_stdout(psr_outfile *f, psr_err *err)
{
    f->special = true;
    f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    return f->fd < 0 ? fail_file(f, "open for writing", err) : PSR_OK;
}

/* Returned: the longest file name, in bytes, in the folder of path, whose length is given. */
static size_t longest_name(const char *path, size_t folder)
{
    char name[PATH_MAX] = ".";
    if (folder)
        snprintf(name, sizeof name, "%.*s", (int)folder, path);
    long most = pathconf(name, _PC_NAME_MAX);
    return most > 0 ? (size_t)most : NAME_BYTES;
}

psr_status psr_outfile_check_length(const char *path, psr_err *err)
{
    const size_t more = sizeof part - 1 + SUFFIX_CHARS, n = strlen(path);
    const size_t folder = (size_t)(psr_path_file(path) - path);
    if (!n)
        return psr_fail(err, PSR_EIO, "the name of an output file is empty");
    if (n + more >= PATH_MAX)
        return psr_fail(err, PSR_EIO, "%.80s...: a path of %zu bytes, at most %zu fit", path, n,
                        PATH_MAX - 1 - more);
    if (psr_path_is_descriptor(path) || n - folder + more <= longest_name(path, folder))
        return PSR_OK;
    return psr_fail(err, PSR_EIO,
                    "%.80s...: a name of %zu bytes; at most %zu fit, as files have %s and %d "
                    "letters more while they are written",
                    path + folder, n - folder, longest_name(path, folder) - more, part,
                    SUFFIX_CHARS);
}

/* Following it would replace its target, bypassing the system's protection against others' links.
 * Returned: *there, false if nothing bears the name: thousands of files are created at once, and each
 *           question to the system counts */
static psr_status check_link(const char *path, bool *there, psr_err *err)
{
    char to[PATH_MAX];
    struct stat st;
    const bool found = lstat(path, &st) == 0;
    *there = found || errno != ENOENT;
    if (!found || !S_ISLNK(st.st_mode))
        return PSR_OK;
    if (stat(path, &st) == 0 ? !S_ISREG(st.st_mode) : errno == ELOOP)
        return PSR_OK; /* opening it will say what is wrong */
    ssize_t n = readlink(path, to, sizeof to - 1);
    to[n > 0 ? n : 0] = '\0';
    return psr_fail(err, PSR_EIO,
                    "%.200s: is a link, and what it leads to would be lost: remove it, or name "
                    "%.200s",
                    path, to);
}

static psr_status check_path(const char *path, bool *there, psr_err *err)
{
    *there = true;
    if (psr_path_is_descriptor(path))
        return PSR_OK;
    psr_status st = psr_outfile_check_length(path, err);
    return st ? st : check_link(path, there, err);
}

psr_status psr_outfile_check_path(const char *path, psr_err *err)
{
    bool there;
    return check_path(path, &there, err);
}

psr_status psr_outfile_create(psr_outfile **out, const char *path, psr_err *err)
{
    bool to_stdout = !strcmp(path, "-"), there = true;
    *out = NULL;
    psr_status known = to_stdout ? PSR_OK : check_path(path, &there, err);
    if (known)
        return known;
    psr_outfile *f = calloc(1, sizeof *f);
    if (!f)
        return psr_fail_nomem(err, path, sizeof *f);
    f->fd = -1;
    f->room = BUFFER_BYTES;
    f->name = strdup(to_stdout ? "standard output" : path);
    psr_status st = !f->name    ? psr_fail_nomem(err, path, (double)strlen(path))
                    : to_stdout ? open_stdout(f, err)
                                : open_target(f, there, err);
    if (st)
        psr_outfile_abort(f);
    else
        *out = f;
    return st;
}

void psr_outfile_buffer(psr_outfile *f, size_t bytes)
{
    if (!f->buffer)
        f->room = bytes;
}

/* --- files in memory -------------------------------------------------------------------------- */

psr_status psr_outfile_hold(psr_outfile **out, const char *name, psr_err *err)
{
    psr_outfile *f = calloc(1, sizeof *f);
    *out = f;
    if (f)
        *f = (psr_outfile){.fd = -1, .held = true, .special = true, .name = strdup(name)};
    if (f && f->name)
        return PSR_OK;
    free(f);
    *out = NULL;
    return psr_fail_nomem(err, name, sizeof *f);
}

const void *psr_outfile_held(const psr_outfile *f, size_t *n)
{
    *n = f->used;
    return f->buffer;
}

const char *psr_outfile_name(const psr_outfile *f)
{
    return f->name;
}

const char *psr_outfile_temp(const psr_outfile *f)
{
    return f->temp;
}

/* --- writing ---------------------------------------------------------------------------------- */

int64_t psr_outfile_size(const psr_outfile *f)
{
    return f->size;
}

psr_status psr_outfile_write(psr_outfile *f, const void *bytes, size_t n, psr_err *err)
{
    if (f->held) {
        psr_status st = psr_outfile_status(f, err);
        while (!st && f->room < f->used + n)
            if ((st = psr_grow(&f->buffer, &f->room, f->room, 1, f->name, err)))
                f->failure = ENOMEM;
        if (st || !n)
            return st;
        memcpy(f->buffer + f->used, bytes, n);
        f->used += n;
        f->size += (int64_t)n;
        return PSR_OK;
    }
    psr_status st = f->used + n <= f->room && !f->failure ? PSR_OK : flush_buffer(f, err);
    if (st || !n)
        return st;
    if (n < f->room && !f->buffer)
        f->buffer = malloc(f->room); /* without a buffer it is slower, no more */
    if (n < f->room && f->buffer) {
        memcpy(f->buffer + f->used, bytes, n);
        f->used += n;
    } else {
        st = push_bytes(f, bytes, n, err);
    }
    if (!st)
        f->size += (int64_t)n;
    return st;
}

static psr_status print(psr_outfile *f, psr_err *err, const char *fmt, va_list ap)
{
    char line[1024], *text = line;
    va_list again;
    va_copy(again, ap);
    int n = psr_c_locale_vsnprintf(line, sizeof line, fmt, ap);
    if (n >= (int)sizeof line) {
        text = malloc((size_t)n + 1);
        if (text)
            n = psr_c_locale_vsnprintf(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    if (n < 0 || !text)
        f->failure = ENOMEM;
    psr_status st = n < 0 || !text ? psr_fail_nomem(err, f->name, n)
                                   : psr_outfile_write(f, text, (size_t)n, err);
    if (text != line)
        free(text);
    return st;
}

psr_status psr_outfile_printf(psr_outfile *f, psr_err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    psr_status st = print(f, err, fmt, ap);
    va_end(ap);
    return st;
}

void psr_outfile_put(psr_outfile *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)!print(f, NULL, fmt, ap);
    va_end(ap);
}

psr_status psr_outfile_status(psr_outfile *f, psr_err *err)
{
    return f->failure ? fail_file(f, "write", err) : PSR_OK;
}

psr_status psr_outfile_truncate(psr_outfile *f, int64_t size, psr_err *err)
{
    if (!f->temp)
        return psr_fail(err, PSR_EUNSUPPORTED, "%s: cannot be cut to %lld bytes", f->name,
                        (long long)size);
    if (size < 0 || size > f->size)
        return psr_fail(err, PSR_EINVAL, "%s: cannot cut %lld bytes to %lld", f->name,
                        (long long)f->size, (long long)size);
    psr_status st = flush_buffer(f, err);
    if (st)
        return st;
    if (truncate(f->temp, size))
        return fail_file(f, "cut", err);
    f->size = size;
    return PSR_OK;
}

psr_status psr_outfile_park(psr_outfile *f, psr_err *err)
{
    if (f->held)
        return PSR_OK;
    psr_status st = flush_buffer(f, err);
    free(f->buffer);
    f->buffer = NULL;
    if (st || !f->temp)
        return st;
    f->parked = true;
    if (f->fd >= 0 && !close_fd(f))
        return fail_file(f, "write", err);
    return PSR_OK;
}

/* There is no fsync: this guards against killed runs and full disks, of which write, close and
 * rename tell.  A power cut may lose what was written seconds before it, as with any other program,
 * and waiting for the disk for each of thousands of files would cost more than the files are worth.
 */
psr_status psr_outfile_close(psr_outfile *f, psr_err *err)
{
    psr_status st = flush_buffer(f, err);
    if (!st && f->fd >= 0 && !close_fd(f))
        st = fail_file(f, "write", err);
    if (!st && f->ring)
        st = end_ring(f, true, err);
    return st;
}

psr_status psr_outfile_check_target(psr_outfile *f, psr_err *err)
{
    struct stat st;
    const bool found = f->temp && lstat(f->target, &st) == 0;
    f->absent = f->temp && !found && errno == ENOENT;
    if (!found || S_ISREG(st.st_mode))
        return PSR_OK;
    errno = S_ISDIR(st.st_mode) ? EISDIR : EEXIST;
    return fail_file(f, "take its name", err);
}

psr_status psr_outfile_remove_old(psr_outfile *f, psr_err *err)
{
    if (f->special || f->absent || unlink(f->target) == 0 || errno == ENOENT)
        return PSR_OK;
    return fail_file(f, "replace what bears its name", err);
}

psr_status psr_outfile_take_name(psr_outfile *f, psr_err *err)
{
    if (f->temp && rename(f->temp, f->target))
        return fail_file(f, "take its name", err);
    free(f->temp);
    f->temp = NULL;
    f->absent = false;
    return PSR_OK;
}

psr_status psr_outfile_commit(psr_outfile *f, psr_err *err)
{
    psr_status st = psr_outfile_close(f, err);
    if (!st)
        st = psr_outfile_take_name(f, err);
    psr_outfile_abort(f);
    return st;
}

void psr_outfile_abort(psr_outfile *f)
{
    if (!f)
        return;
    if (f->ring)
        (void)!end_ring(f, false, NULL);
    if (f->fd >= 0)
        close(f->fd);
    if (f->temp)
        unlink(f->temp);
    free(f->name);
    free(f->temp);
    free(f->buffer);
    free(f);
}

/* --- opens files for the messages of other programs ------------------------------------------- */

/* Waiting for the reader of a pipe could take for ever. */
static psr_status check_regular(const char *path, psr_err *err)
{
    struct stat is;
    if (lstat(path, &is) != 0 || S_ISREG(is.st_mode) || S_ISLNK(is.st_mode))
        return PSR_OK; /* a link is psr_outfile_create's */
    return psr_fail(err, PSR_EIO, "%.300s: is there, and is not a regular file", path);
}

/* Opens the file that has just been created, and nothing that took its place. */
static psr_status open_created(int *fd, const char *path, psr_err *err)
{
    struct stat is;
    *fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return psr_fail_errno(err, "%s", path);
    if (fstat(*fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_nlink <= 1 && is.st_size == 0)
        return PSR_OK;
    close(*fd);
    *fd = -1;
    return psr_fail(err, PSR_EIO, "%.300s: was replaced while it was opened", path);
}

psr_status psr_outfile_open_messages(int *fd, const char *path, psr_err *err)
{
    psr_outfile *f = NULL;
    *fd = -1;
    psr_status st = check_regular(path, err);
    if (!st && (st = psr_outfile_check_path(path, err)) == PSR_OK)
        st = psr_outfile_create(&f, path, err);
    if (!st)
        st = psr_outfile_commit(f, err);
    return st ? st : open_created(fd, path, err);
}
