/* outfile: files that are whole or absent. */
#include <psrkit/experimental/outfile.h>

#include "base/output/outfile_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

static bool holds(const char *path, const char *want, size_t nwant)
{
    size_t n = 0;
    char *text = scratch_read(path, &n);
    bool same = text && n == nwant && !memcmp(text, want, n);
    free(text);
    return same;
}

static bool holds_text(const char *path, const char *want)
{
    return holds(path, want, strlen(want));
}

/* Creates path, writes text and commits. */
static psr_status write_text(const char *path, const char *text, psr_err *err)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, err);
    if (st)
        return st;
    st = psr_outfile_write(f, text, strlen(text), err);
    if (!st)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

static void test_commit_and_abort(void)
{
    psr_err err;
    psr_outfile *f = NULL;
    struct stat st = {0};
    const char *path = scratch("a.dat");
    mode_t mask = umask(027);
    ok(psr_outfile_create(&f, path, &err) == PSR_OK, "created");
    ok(access(path, F_OK) != 0 && scratch_count("a.dat.part") == 1,
       "only the temporary name is there");
    ok(psr_outfile_printf(f, &err, "%s %.2f", "pi is", 3.14159) == PSR_OK, "printed to");
    ok(psr_outfile_size(f) == 10, "its size is known before it is on disk");
    ok(psr_outfile_commit(f, &err) == PSR_OK && holds_text(path, "pi is 3.14"), "committed");
    stat(path, &st);
    umask(mask);
    ok((st.st_mode & 0777) == 0640, "mode %o follows the umask", (unsigned)st.st_mode & 0777);
    ok(psr_outfile_create(&f, path, &err) == PSR_OK &&
           psr_outfile_write(f, "other", 5, &err) == PSR_OK,
       "written again");
    psr_outfile_abort(f);
    ok(holds_text(path, "pi is 3.14") && scratch_count("") == 1,
       "an abort leaves the earlier file and nothing else");
    psr_outfile_abort(NULL);
    ok(write_text(path, "", &err) == PSR_OK && holds_text(path, ""), "an empty file replaces it");
    scratch_empty();
}

/* Writes of random lengths, with buffers of random sizes, parking now and then, against memory. */
static void test_random_writes(uint64_t *random)
{
    enum { TOTAL = 400000 };
    char *want = malloc(TOTAL);
    bool all = want != NULL;
    for (int trial = 0; all && trial < 12; trial++) {
        psr_outfile *f = NULL;
        psr_err err;
        size_t n = 0;
        int64_t longest = INT64_C(1) << tap_between(random, 3, 17);
        all &= psr_outfile_create(&f, scratch("r"), &err) == PSR_OK;
        psr_outfile_buffer(f, (size_t)tap_between(random, 0, 5000));
        while (all && n < TOTAL) {
            size_t chunk = (size_t)tap_between(random, 0, longest);
            chunk = chunk < TOTAL - n ? chunk : TOTAL - n;
            for (size_t i = 0; i < chunk; i++)
                want[n + i] = (char)tap_random(random);
            all &= psr_outfile_write(f, want + n, chunk, &err) == PSR_OK;
            n += chunk;
            if (tap_between(random, 0, 99) == 0)
                all &= psr_outfile_park(f, &err) == PSR_OK;
            all &= psr_outfile_size(f) == (int64_t)n;
        }
        size_t keep = (size_t)tap_between(random, 0, TOTAL);
        all &= psr_outfile_truncate(f, (int64_t)keep, &err) == PSR_OK;
        all &= psr_outfile_write(f, "end", 3, &err) == PSR_OK;
        memcpy(want + (keep < TOTAL - 3 ? keep : 0), "end", 3);
        size_t left = keep < TOTAL - 3 ? keep + 3 : 0;
        all &= psr_outfile_commit(f, &err) == PSR_OK;
        all &= left ? holds(scratch("r"), want, left) : true;
    }
    ok(all, "writes of any length, parked and cut, arrive in order");
    free(want);
    scratch_empty();
}

static void test_truncate_and_print(void)
{
    psr_err err;
    psr_outfile *f = NULL;
    char wide[3000];
    memset(wide, 'x', sizeof wide);
    ok(psr_outfile_create(&f, scratch("t"), &err) == PSR_OK &&
           psr_outfile_printf(f, &err, "%3000s", "end") == PSR_OK && psr_outfile_size(f) == 3000,
       "a long line is printed whole");
    ok(psr_outfile_truncate(f, 3001, &err) == PSR_EINVAL && strstr(err.msg, "3001"),
       "a file is not cut to more than it has: %s", err.msg);
    ok(psr_outfile_truncate(f, -1, &err) == PSR_EINVAL, "nor to less than nothing");
    ok(psr_outfile_truncate(f, 0, &err) == PSR_OK && psr_outfile_commit(f, &err) == PSR_OK &&
           holds_text(scratch("t"), ""),
       "cut to nothing");
    scratch_empty();
}

static void test_full_device(void)
{
    psr_err err;
    psr_outfile *f = NULL;
    char block[1 << 17] = {0};
    if (access("/dev/full", W_OK)) {
        skip("a full device", "there is no /dev/full");
        return;
    }
    ok(psr_outfile_create(&f, "/dev/full", &err) == PSR_OK, "/dev/full opens");
    ok(psr_outfile_write(f, "x", 1, &err) == PSR_OK, "a gathered byte is taken");
    ok(psr_outfile_park(f, &err) == PSR_EIO && strstr(err.msg, "/dev/full") &&
           strstr(err.msg, strerror(ENOSPC)),
       "writing it out fails: %s", err.msg);
    ok(psr_outfile_write(f, "x", 1, &err) == PSR_EIO && strstr(err.msg, strerror(ENOSPC)),
       "and so does every write after it");
    ok(psr_outfile_commit(f, &err) == PSR_EIO, "and the commit");
    ok(psr_outfile_create(&f, "/dev/full", &err) == PSR_OK &&
           psr_outfile_write(f, block, sizeof block, &err) == PSR_EIO,
       "a large write fails at once");
    ok(psr_outfile_truncate(f, 0, &err) == PSR_EUNSUPPORTED, "a device is not cut");
    psr_outfile_abort(f);
    ok(write_text("/dev/full", "x", &err) == PSR_EIO, "a commit tells of gathered bytes");
    ok(write_text("/dev/null", "x", &err) == PSR_OK && access("/dev/null", W_OK) == 0,
       "/dev/null takes all and stays");
}

/* A file that outgrows the limit on its size fails as one on a full disk does. */
static int outgrow_limit(void *ctx)
{
    char block[1 << 16] = {0};
    psr_outfile *f;
    psr_err err;
    psr_status st = psr_outfile_create(&f, ctx, &err);
    signal(SIGXFSZ, SIG_IGN);
    set_limit(RLIMIT_FSIZE, 100000);
    for (int i = 0; i < 4 && !st; i++)
        st = psr_outfile_write(f, block, sizeof block, &err);
    bool failed = st == PSR_EIO && strstr(err.msg, ctx) && strstr(err.msg, strerror(EFBIG));
    return psr_outfile_commit(f, &err) == PSR_EIO && failed ? 0 : 1;
}

static int killed_halfway(void *ctx)
{
    psr_outfile *f;
    psr_err err;
    if (psr_outfile_create(&f, ctx, &err) || psr_outfile_write(f, "half", 4, &err) ||
        psr_outfile_park(f, &err))
        return 1;
    kill(getpid(), SIGKILL);
    return 2;
}

static void test_half_written(void)
{
    const char *path = scratch("big");
    ok(in_child(outgrow_limit, (void *)(uintptr_t)path) == 0, "no room for the file is an error");
    ok(scratch_count("") == 0, "and leaves nothing");
    int status = in_child(killed_halfway, (void *)(uintptr_t)path);
    ok(WIFSIGNALED(status) && access(path, F_OK) != 0, "a killed run leaves no final name");
    ok(scratch_count("big.part") == 1, "but its temporary file");
    scratch_empty();
}

/* Sends n bytes to "-" with standard output at fd. */
struct pipe_job {
    int fd;
    size_t n;
};

static int write_to_pipe(void *ctx)
{
    const struct pipe_job *job = ctx;
    psr_outfile *f;
    psr_err err;
    signal(SIGPIPE, SIG_IGN);
    if (dup2(job->fd, STDOUT_FILENO) < 0 || psr_outfile_create(&f, "-", &err))
        return 1;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < job->n && !st; i++)
        st = psr_outfile_write(f, &(char){(char)(i % 251)}, 1, &err);
    if (!st)
        return psr_outfile_commit(f, &err) ? 4 : 0;
    psr_outfile_abort(f);
    return strstr(err.msg, "standard output") && strstr(err.msg, strerror(EPIPE)) ? 2 : 3;
}

static int write_to_closed(void *ctx)
{
    psr_outfile *f;
    psr_err err;
    (void)ctx;
    close(STDOUT_FILENO);
    return psr_outfile_create(&f, "-", &err) == PSR_EIO && !f ? 0 : 1;
}

static void test_standard_output(void)
{
    enum { N = 50000 };
    int ends[2];
    char got[N];
    size_t n = 0;
    if (pipe(ends))
        return;
    struct pipe_job job = {.fd = ends[1], .n = N};
    ok(in_child(write_to_pipe, &job) == 0, "\"-\" is standard output");
    close(ends[1]);
    for (ssize_t r; n < N && (r = read(ends[0], got + n, N - n)) > 0;)
        n += (size_t)r;
    bool same = n == N;
    for (size_t i = 0; i < n; i++)
        same &= got[i] == (char)(i % 251);
    ok(same, "what was written to it came through");
    close(ends[0]);
    if (pipe(ends))
        return;
    close(ends[0]);
    job = (struct pipe_job){.fd = ends[1], .n = 200000};
    int status = in_child(write_to_pipe, &job);
    ok(WEXITSTATUS(status) == 2, "a closed pipe is a write error");
    close(ends[1]);
    ok(in_child(write_to_closed, NULL) == 0, "a closed standard output is an error");
}

static void test_links(void)
{
    psr_err err;
    struct stat st;
    const char *link = scratch("link"), *target = scratch("sub/target");
    mkdir(scratch("sub"), 0777);
    scratch_write_text(target, "old");
    ok(symlink("sub/target", link) == 0 && write_text(link, "new", &err) == PSR_EIO &&
           strstr(err.msg, "link: is a link") && strstr(err.msg, "or name sub/target") &&
           holds_text(target, "old") && lstat(link, &st) == 0 && S_ISLNK(st.st_mode),
       "a link is refused: %s", err.msg);
    unlink(target);
    ok(write_text(link, "new", &err) == PSR_EIO && access(target, F_OK) != 0,
       "also where what it leads to is not there");
    ok(symlink("/dev/null", scratch("null")) == 0 &&
           write_text(scratch("null"), "x", &err) == PSR_OK && access("/dev/null", W_OK) == 0,
       "a link to a device is written through");
    ok(symlink("loop", scratch("loop")) == 0 && write_text(scratch("loop"), "x", &err) == PSR_EIO &&
           strstr(err.msg, "loop"),
       "a circle of links is an error: %s", err.msg);
    ok(symlink("sub", scratch("way")) == 0 &&
           write_text(scratch("way/file"), "x", &err) == PSR_OK &&
           holds_text(scratch("sub/file"), "x"),
       "a folder may be a link");
    ok(scratch_count("part") == 0 && scratch_count("link") == 1, "nothing else is made or lost");
    scratch_empty();
}

static void test_fifo(void)
{
    psr_err err;
    struct stat st;
    const char *path = scratch("fifo");
    char got[8] = "";
    if (mkfifo(path, 0666)) {
        skip("a fifo", strerror(errno));
        return;
    }
    int fd = open(path, O_RDWR);
    ok(write_text(path, "through", &err) == PSR_OK && read(fd, got, 7) == 7 &&
           !strcmp(got, "through") && lstat(path, &st) == 0 && S_ISFIFO(st.st_mode),
       "a fifo is written as it is");
    close(fd);
    scratch_empty();
}

static void test_refusals(void)
{
    psr_err err;
    psr_outfile *f = NULL;
    ok(psr_outfile_create(&f, scratch_dir, &err) == PSR_EIO && !f && strstr(err.msg, scratch_dir),
       "a folder is no file: %s", err.msg);
    ok(psr_outfile_create(&f, scratch("none/x"), &err) == PSR_EIO && strstr(err.msg, "none/x"),
       "nor is a folder that is not there one to write in: %s", err.msg);
    scratch_write_text(scratch("plain"), "");
    ok(psr_outfile_create(&f, scratch("plain/x"), &err) == PSR_EIO, "nor a file a folder");
    ok(psr_outfile_create(&f, "", &err) == PSR_EIO, "no name, no file");
    const char *late = scratch("late");
    ok(psr_outfile_create(&f, late, &err) == PSR_OK && mkdir(late, 0777) == 0 &&
           psr_outfile_commit(f, &err) == PSR_EIO && strstr(err.msg, "late") &&
           scratch_count("part") == 0,
       "a rename that fails is an error and leaves nothing: %s", err.msg);
    scratch_empty();
}

static void test_write_protected(void)
{
    psr_err err;
    const char *path = scratch("kept");
    if (geteuid() == 0) {
        skip("a write-protected file stays", "root may write everywhere");
        return;
    }
    scratch_write_text(path, "kept");
    chmod(path, 0444);
    ok(write_text(path, "lost", &err) == PSR_EIO && holds_text(path, "kept"),
       "a write-protected file stays: %s", err.msg);
    scratch_empty();
}

/* Many more files under way than may be open. */
static int many_files(void *ctx)
{
    enum { N = 500 };
    psr_outfile *f[N];
    psr_err err = {.msg = ""};
    psr_status st = PSR_OK;
    char path[PATH_MAX];
    set_limit(RLIMIT_NOFILE, 64);
    for (int i = 0; i < N && !st; i++) {
        snprintf(path, sizeof path, "%s/m%d", (const char *)ctx, i);
        st = psr_outfile_create(&f[i], path, &err);
        if (!st)
            psr_outfile_buffer(f[i], 16);
    }
    for (int round = 0; round < 5 && !st; round++)
        for (int i = 0; i < N && !st; i++)
            st = psr_outfile_printf(f[i], &err, "file %d round %d\n", i, round);
    for (int i = 0; i < N && !st; i++)
        st = psr_outfile_commit(f[i], &err);
    if (st)
        fprintf(stderr, "# %s\n", err.msg);
    return st ? 1 : 0;
}

static void test_many_files(void)
{
    ok(in_child(many_files, scratch_dir) == 0, "500 files with 64 descriptors");
    ok(scratch_count("") == 500 && scratch_count("part") == 0, "all have their names");
    ok(holds_text(scratch("m499"), "file 499 round 0\nfile 499 round 1\nfile 499 round 2\n"
                                   "file 499 round 3\nfile 499 round 4\n"),
       "and their lines in order");
    scratch_empty();
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    test_commit_and_abort();
    test_random_writes(&random);
    test_truncate_and_print();
    test_full_device();
    test_half_written();
    test_standard_output();
    test_links();
    test_fifo();
    test_refusals();
    test_write_protected();
    test_many_files();
    return done_testing();
}
