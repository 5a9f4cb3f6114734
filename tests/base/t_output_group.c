/* output_group: files that take their names together, and whose they are meanwhile. */
#include <psrkit/experimental/outfile.h>

#include "base/output/outfile_internal.h"
#include "base/tool.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>

/* --- the system, as it is told to fail -------------------------------------------------------- */

/* The linker has the library call these in place of the system's. */
int __real_rename(const char *from, const char *to);
int __real_unlink(const char *path);
ssize_t __real_write(int fd, const void *bytes, size_t n);
int __wrap_rename(const char *from, const char *to);
int __wrap_unlink(const char *path);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);

static int steps, kill_at,
    fail_at; /* steps so far; the one to be killed before, or to fail; 0: none */
static bool no_locks;

/* Returned: whether this step is to fail. */
static bool step(void)
{
    if (++steps == kill_at)
        kill(getpid(), SIGKILL);
    return steps == fail_at;
}

int __wrap_rename(const char *from, const char *to)
{
    errno = EACCES;
    return step() ? -1 : __real_rename(from, to);
}

int __wrap_unlink(const char *path)
{
    errno = EACCES;
    return step() ? -1 : __real_unlink(path);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    errno = ENOSPC;
    return step() ? -1 : __real_write(fd, bytes, n);
}

int __wrap_fcntl64(int fd, int command, ...)
{
    va_list ap;
    va_start(ap, command);
    void *argument = va_arg(ap, void *);
    va_end(ap);
    bool lock = command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
    errno = ENOLCK;
    return lock && no_locks ? -1 : __real_fcntl64(fd, command, argument);
}

/* --- a set ------------------------------------------------------------------------------------ */

enum { NFILE = 4 };
static const char *const name[NFILE] = {"t_1.dat", "t_2.dat", "t_1.inf", "t_2.inf"};

static psr_output_group *claim(const char *root, const char *kind, int64_t first, int64_t last,
                               bool common, psr_err *err)
{
    psr_output_group *g;
    const struct psr_output_group_desc desc = {.size = sizeof desc,
                                               .root = root,
                                               .kind = kind,
                                               .first = first,
                                               .last = last,
                                               .common = common};
    return psr_output_group_create(&g, &desc, err) ? NULL : g;
}

/* Writes text into each file and commits; without the last of them where it is to be dropped. */
static psr_status write_set(const char *text, bool dropped, psr_err *err)
{
    psr_output_group *g = claim(scratch("t"), "DM", 1, 2, false, err);
    psr_status st = g ? PSR_OK : err->code;
    for (int i = 0; i < NFILE - dropped && !st; i++) {
        psr_outfile *f;
        st = psr_output_group_add(g, scratch(name[i]), &f, err);
        if (!st)
            st = psr_outfile_write(f, text, strlen(text), err);
    }
    if (!st && dropped)
        st = psr_output_group_drop(g, scratch(name[NFILE - 1]), err);
    if (!st)
        return psr_output_group_commit(g, err);
    psr_output_group_abort(g);
    return st;
}

static bool holds(const char *path, const char *want)
{
    size_t n;
    char *text = scratch_read(path, &n);
    bool same = text && strcmp(text, want) == 0;
    free(text);
    return same;
}

/* Returned: how many files hold text. */
static int count_holding(const char *text)
{
    int n = 0;
    for (int i = 0; i < NFILE; i++)
        n += holds(scratch(name[i]), text);
    return n;
}

static void test_commit(void)
{
    psr_err err = {.msg = ""};
    ok(write_set("old", false, &err) == PSR_OK && count_holding("old") == NFILE &&
           scratch_count("") == NFILE,
       "a set has its names, and nothing else is left %s", err.msg);
    ok(write_set("new", false, &err) == PSR_OK && count_holding("new") == NFILE &&
           scratch_count("") == NFILE,
       "another takes its place %s", err.msg);
    ok(write_set("less", true, &err) == PSR_OK && count_holding("less") == NFILE - 1 &&
           scratch_count("") == NFILE - 1,
       "a file that has no successor goes %s", err.msg);
    psr_output_group *g = claim(scratch("t"), "DM", 1, 2, false, &err);
    psr_outfile *f;
    ok(g && !psr_output_group_add(g, scratch(name[0]), &f, &err) && scratch_count(".lock") == 1,
       "there is a lock while it is written");
    psr_output_group_abort(g);
    ok(count_holding("less") == NFILE - 1 && scratch_count("") == NFILE - 1,
       "an abort leaves what was there, and no lock");
    scratch_empty();
}

/* Nothing is written through a link. */
static void test_links(void)
{
    psr_err err = {.msg = ""};
    scratch_write_text(scratch("target"), "old");
    ok(symlink("target", scratch(name[1])) == 0 && write_set("new", false, &err) == PSR_EIO &&
           holds(scratch("target"), "old") && count_holding("new") == 0,
       "%s", err.msg);
    scratch_empty();
}

/* --- killed, and failing, at every step ------------------------------------------------------- */

static int write_and_die(void *dropped)
{
    psr_err err;
    steps = 0;
    return write_set("new", *(bool *)dropped, &err) == PSR_OK ? 0 : 1;
}

static void test_kill(bool dropped)
{
    psr_err err = {.msg = ""};
    bool pure = true, again = true;
    int status = -1, most_old = 0, most_new = 0, none = 0;
    for (kill_at = 1; status != 0; kill_at++) {
        scratch_empty();
        int at = kill_at;
        kill_at = 0;
        bool ready = write_set("old", false, &err) == PSR_OK;
        kill_at = at;
        status = in_child(write_and_die, &dropped);
        int old = count_holding("old"), new = count_holding("new");
        pure &= ready && !(old && new) && (WIFSIGNALED(status) || status == 0);
        most_old = old > most_old ? old : most_old;
        most_new = new > most_new ? new : most_new;
        none += !old && !new;
        kill_at = 0;
        again &= write_set("again", false, &err) == PSR_OK && count_holding("again") == NFILE &&
                 scratch_count(".lock") == 0;
        kill_at = at;
    }
    ok(pure, "killed before each of %d steps a set is of one run%s", kill_at - 2,
       dropped ? ", one file less" : "");
    ok(most_old == NFILE && most_new == NFILE - dropped && none > 0 && kill_at > 3 * NFILE,
       "from %d old files over none to %d new ones", most_old, most_new);
    ok(again, "and hinders no later run");
    kill_at = 0;
    scratch_empty();
}

static void test_failures(void)
{
    psr_err err = {.msg = ""};
    bool pure = true;
    int failed = 0, whole = 0;
    psr_status st = PSR_EIO;
    for (fail_at = 1; st || failed == 0; fail_at++) {
        scratch_empty();
        int at = fail_at;
        fail_at = 0;
        bool ready = write_set("old", false, &err) == PSR_OK;
        fail_at = at;
        steps = 0;
        st = write_set("new", false, &err);
        int old = count_holding("old"), new = count_holding("new");
        pure &= ready && (st == PSR_EIO ? new == 0 : st == PSR_OK &&new == NFILE) && !(old && new);
        failed += st != PSR_OK;
        whole += old == NFILE;
    }
    fail_at = 0;
    ok(pure && failed == 3 * NFILE, "a step that fails, %d, takes the new files along", failed);
    ok(whole == NFILE + 1, "and where nothing could be written or removed the old ones stay");
    ok(scratch_count(".part") == 0, "no temporary file is left");
    scratch_empty();
}

static void test_blocked(void)
{
    psr_err err = {.msg = ""};
    ok(write_set("old", false, &err) == PSR_OK, "an old set");
    psr_output_group *g = claim(scratch("t"), "DM", 1, 2, false, &err);
    psr_outfile *f;
    psr_status st = g ? PSR_OK : PSR_EIO;
    for (int i = 0; i < NFILE && !st; i++)
        st = psr_output_group_add(g, scratch(name[i]), &f, &err);
    unlink(scratch(name[2]));
    mkdir(scratch(name[2]), 0777);
    ok(!st && psr_output_group_commit(g, &err) == PSR_EIO && strstr(err.msg, name[2]) &&
           count_holding("old") == NFILE - 1 && scratch_count("") == NFILE,
       "a folder in the way of one: the others stay as they are: %s", err.msg);
    scratch_empty();
}

/* --- two runs --------------------------------------------------------------------------------- */

static void test_claims(void)
{
    static const struct {
        const char *kind;
        int64_t first, last;
        bool common, meets;
    } other[] = {
        {"DM", 10, 20, false, true},  {"DM", 20, 30, false, true},   {"DM", 1, 10, false, true},
        {"DM", 12, 13, false, true},  {"DM", 0, 100, true, true},    {"DM", 21, 30, false, false},
        {"DM", 0, 9, true, true},     {"beam", 10, 20, true, false}, {"DM", 21, 20, true, true},
        {"DM", 21, 20, false, false},
    };
    psr_err err = {.msg = ""};
    char pid[32];
    const char *root = scratch("t");
    snprintf(pid, sizeof pid, "process %ld on ", (long)getpid());
    psr_output_group *first = claim(root, "DM", 10, 20, true, &err);
    ok(first != NULL, "numbers 10 to 20 and what is common are claimed %s", err.msg);
    for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
        psr_output_group *g =
            claim(root, other[k].kind, other[k].first, other[k].last, other[k].common, &err);
        bool right = other[k].meets ? !g && err.code == PSR_EIO && strstr(err.msg, pid) &&
                                          strstr(err.msg, "t.lock")
                                    : g != NULL;
        ok(right, "%s %d to %d%s: %s", other[k].kind, (int)other[k].first, (int)other[k].last,
           other[k].common ? " and common" : "", other[k].meets ? err.msg : "beside it");
        psr_output_group_abort(g);
    }
    psr_output_group *third = claim(root, "DM", 30, 40, false, &err);
    psr_output_group_abort(first);
    ok(third && scratch_count(".lock") == 1 && !claim(root, "DM", 35, 35, false, &err),
       "one that stays longer keeps its own");
    first = claim(root, "DM", 10, 20, true, &err);
    ok(first != NULL, "what was given back can be claimed again");
    psr_output_group_abort(third);
    psr_output_group_abort(first);
    ok(scratch_count("") == 0, "the last one takes the lock along");
}

/* Claims, and waits for the end. */
static int claim_and_wait(void *pipe_fd)
{
    psr_err err;
    bool good = claim(scratch("t"), "DM", 1, 2, false, &err) != NULL;
    if (write(*(int *)pipe_fd, good ? "y" : "n", 1) == 1)
        pause();
    return 0;
}

static void test_dead(void)
{
    psr_err err = {.msg = ""};
    int fd[2], status;
    char good = 0, pid[32];
    if (pipe(fd))
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(claim_and_wait(&fd[1]));
    snprintf(pid, sizeof pid, "process %ld on ", (long)child);
    ok(read(fd[0], &good, 1) == 1 && good == 'y' && !claim(scratch("t"), "DM", 2, 3, false, &err) &&
           strstr(err.msg, pid),
       "another process: %s", err.msg);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ok(scratch_count(".lock") == 1, "killed, it leaves its lock");
    psr_output_group *g = claim(scratch("t"), "DM", 2, 3, false, &err);
    ok(g != NULL, "which is nobody's");
    psr_output_group_abort(g);
    ok(scratch_count("") == 0, "and goes with the next");
    close(fd[0]);
    close(fd[1]);
}

static int claim_many(void *ctx)
{
    psr_err err;
    int taken = 0;
    (void)ctx;
    for (int k = 0; taken < 50 && k < 1000000; k++) {
        psr_output_group *g = claim(scratch("t"), "DM", 1, 2, false, &err);
        int fd = g ? open(scratch("busy"), O_CREAT | O_EXCL | O_WRONLY, 0666) : -1;
        if (g && fd < 0)
            return 1; /* two at once */
        if (g) {
            taken++;
            close(fd);
            unlink(scratch("busy"));
        }
        psr_output_group_abort(g);
        sched_yield();
    }
    return taken < 50 ? 2 : 0;
}

static void test_race(void)
{
    enum { NCHILD = 4 };
    pid_t child[NCHILD];
    bool pass = true;
    fflush(stdout);
    for (int k = 0; k < NCHILD; k++)
        if ((child[k] = fork()) == 0)
            _exit(claim_many(NULL));
    for (int k = 0; k < NCHILD; k++) {
        int status = -1;
        waitpid(child[k], &status, 0);
        pass &= status == 0;
    }
    ok(pass && scratch_count("") == 0, "%d processes: never two at once", NCHILD);
}

static void take_note(void *ctx, const char *msg)
{
    snprintf(ctx, 200, "%s", msg);
}

static void test_locks(void)
{
    psr_err err = {.msg = ""};
    char note[200] = "";
    psr_output_group *g;
    struct psr_output_group_desc desc = {.size = sizeof desc,
                                         .root = scratch("t"),
                                         .kind = "DM",
                                         .last = 1,
                                         .notes = {take_note, note}};
    scratch_write_text(scratch("t.lock"), "a shopping list\n");
    ok(!claim(scratch("t"), "DM", 1, 2, false, &err) && strstr(err.msg, "is none") &&
           holds(scratch("t.lock"), "a shopping list\n"),
       "somebody's file is left alone: %s", err.msg);
    scratch_empty();
    scratch_write_text(scratch("victim"), "");
    ok(symlink("victim", scratch("t.lock")) == 0 && !claim(scratch("t"), "DM", 1, 2, false, &err),
       "a link is not followed: %s", err.msg);
    scratch_empty();
    no_locks = true;
    ok(psr_output_group_create(&g, &desc, &err) == PSR_OK && strstr(note, "has no locks") &&
           scratch_count("") == 0,
       "without locks it works on: %s", note);
    no_locks = false;
    psr_output_group_abort(g);
    static const char *const lockless[] = {"-", "/dev/null", NULL};
    for (int k = 0; k < 3; k++) {
        psr_output_group *one = claim(lockless[k], "DM", 1, 2, true, &err),
                         *two = claim(lockless[k], "DM", 1, 2, true, &err);
        ok(one && two, "%s needs no lock", lockless[k] ? lockless[k] : "no root");
        psr_output_group_abort(one);
        psr_output_group_abort(two);
    }
    ok(!claim(scratch("none/t"), "DM", 1, 2, false, &err) && strstr(err.msg, "none/t.lock"),
       "no folder: %s", err.msg);
}

/* A file system in memory is mounted below /dev, where else are only devices. */
static void test_memory(void)
{
    psr_err err = {.msg = ""};
    char folder[] = "/dev/shm/psrkit-XXXXXX", root[sizeof folder + 2];
    if (!mkdtemp(folder)) {
        skip("files in memory have a lock", "/dev/shm cannot be written");
        return;
    }
    snprintf(root, sizeof root, "%s/t", folder);
    psr_output_group *one = claim(root, "DM", 1, 2, false, &err),
                     *two = claim(root, "DM", 2, 3, false, &err);
    ok(one && !two, "files in memory have a lock: %s", err.msg);
    psr_output_group_abort(one);
    psr_output_group_abort(two);
    rmdir(folder);
}

static void test_room(void)
{
    psr_err err = {.msg = ""};
    psr_output_group *g = claim(scratch("t"), "DM", 1, 2, false, &err);
    ok(g && psr_output_group_check_room(g, 1, &err) == PSR_OK, "room for a byte %s", err.msg);
    ok(psr_output_group_check_room(g, 1e25, &err) == PSR_EIO && strstr(err.msg, "left"),
       "refused: %s", err.msg);
    psr_output_group_abort(g);
    g = claim("-", "DM", 1, 2, false, &err);
    ok(g && psr_output_group_check_room(g, 1e25, &err) == PSR_OK, "a pipe has room");
    psr_output_group_abort(g);
}

/* --- lists in one file ------------------------------------------------------------------------ */

enum { NLIST = 40, LIST_BYTES = 3000 };

/* List i is i bytes of its letter, times a factor; one has a name of 130 letters. */
static size_t list_bytes(int i)
{
    return (size_t)i * LIST_BYTES / NLIST;
}

static const char *list_name(int i)
{
    static char text[256];
    snprintf(text, sizeof text, "t_DM%d.00%0*d_ACCEL_0", i, i == 7 ? 110 : 1, 0);
    return text;
}

static psr_status write_lists(psr_output_group *g, psr_err *err)
{
    psr_status st = psr_output_group_pack(g, scratch("t.lists"), err);
    for (int i = NLIST; i-- > 0 && !st;) {
        psr_outfile *f;
        st = psr_output_group_add_list(g, scratch(list_name(i)), &f, err);
        for (size_t k = 0; k < list_bytes(i) && !st; k++)
            st = psr_outfile_printf(f, err, "%c", 'a' + i % 26);
        if (!st)
            st = psr_outfile_park(f, err);
    }
    return st;
}

/* Reads list i as a file. */
static bool opens_list(int i)
{
    const int letter = 'a' + i % 26;
    size_t n = 0;
    int c = 0;
    FILE *f = psr_open_file(scratch(list_name(i)));
    while (f && (c = getc(f)) == letter)
        n++;
    if (f)
        fclose(f);
    return f && c == EOF && n == list_bytes(i);
}

static bool opens_all(void)
{
    bool all = !psr_open_file(scratch(list_name(0)));
    for (int i = 1; i < NLIST; i++)
        all = opens_list(i) && all;
    return all;
}

/* Returned: whether the file, cut to n bytes, is refused, or has all its names. */
static bool refuses_cut(const char *bytes, size_t n, size_t whole)
{
    struct psr_names names = {.n = 0};
    psr_err err;
    scratch_write(scratch("t.lists"), bytes, n);
    const psr_status st = psr_lists_names(&names, scratch("t.lists"), &err);
    const bool right = st ? st == PSR_EFORMAT : n >= whole && names.n == NLIST - 1;
    psr_names_clear(&names);
    return right;
}

static void test_lists(void)
{
    psr_err err = {.msg = ""};
    struct psr_names names = {.n = 0};
    size_t n = 0;
    bool right = true;
    scratch_write(scratch(list_name(5)), "old", 3);
    psr_output_group *g = claim(scratch("t"), "DM", 0, NLIST, true, &err);
    ok(write_lists(g, &err) == PSR_OK && psr_output_group_commit(g, &err) == PSR_OK, "packed %s",
       err.msg);
    ok(access(scratch(list_name(5)), F_OK) != 0, "a list of an earlier run is gone");
    ok(psr_lists_names(&names, scratch("t.lists"), &err) == PSR_OK && names.n == NLIST - 1,
       "%zu lists: none is empty", names.n);
    psr_names_clear(&names);
    ok(opens_all(), "each opens like a file");
    char command[600];
    snprintf(command, sizeof command,
             "cd %s && mkdir x && tar xf t.lists -C x && [ $(ls x | wc -l) = %d ] && "
             "[ $(wc -c <x/%s) = %zu ] && rm -r x",
             scratch("."), NLIST, list_name(7), list_bytes(7));
    ok(system(command) == 0, "tar extracts them and the index");
    char *bytes = scratch_read(scratch("t.lists"), &n);
    for (size_t k = 1; k < n; k += 251)
        right = refuses_cut(bytes, n - k, n - 512) && right;
    ok(right, "cut anywhere, it is refused");
    /* A first place that is wrong, and one beyond the end. */
    memcpy(bytes + 512, "        1024", 12);
    memcpy(bytes + n / 2, "999999999999", bytes[n / 2] == ' ' ? 12 : 0);
    scratch_write(scratch("t.lists"), bytes, n);
    ok(opens_all(), "an index that is wrong hides none");
    free(bytes);
    unlink(scratch("t.lists"));
}

int main(void)
{
    scratch_make();
    test_lists();
    test_commit();
    test_links();
    test_kill(false);
    test_kill(true);
    test_failures();
    test_blocked();
    test_claims();
    test_dead();
    test_race();
    test_locks();
    test_memory();
    test_room();
    return done_testing();
}
