/* scratch.h: a folder of its own for a test, looking into it, and children that may be hurt. */
#ifndef PSR_SCRATCH_H
#define PSR_SCRATCH_H

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char scratch_dir[PATH_MAX / 2];
static pid_t scratch_owner;
static const int scratch_ends[] = {SIGHUP, SIGINT, SIGTERM};

static int scratch_remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

/* A child that exits leaves the folder to its parent. */
static void scratch_remove(void)
{
    if (getpid() == scratch_owner)
        nftw(scratch_dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Not what a handler may do by the letter, but the program ends here either way. */
static void scratch_end(int signal)
{
    scratch_remove();
    raise(signal);
}

/* Makes the folder; it goes, with all that is in it, when the program exits or is stopped. */
static void scratch_make(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(scratch_dir, sizeof scratch_dir, "%s/psrkit-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    scratch_owner = getpid();
    if (!mkdtemp(scratch_dir) || atexit(scratch_remove)) {
        perror(scratch_dir);
        exit(EXIT_FAILURE);
    }
    const struct sigaction end = {.sa_handler = scratch_end, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof scratch_ends / sizeof *scratch_ends; i++)
        sigaction(scratch_ends[i], &end, NULL);
}

/* A path in the folder; one of eight rotating buffers. */
__attribute__((unused)) static const char *scratch(const char *name)
{
    static char path[8][PATH_MAX];
    static int at;
    at = (at + 1) % 8;
    snprintf(path[at], sizeof path[at], "%s/%s", scratch_dir, name);
    return path[at];
}

/* Entries of the folder whose names contain part; "" counts all. */
__attribute__((unused)) static int scratch_count(const char *part)
{
    int n = 0;
    DIR *dir = opendir(scratch_dir);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.' && strstr(e->d_name, part) != NULL;
    if (dir)
        closedir(dir);
    return n;
}

/* Removes what is in the folder. */
__attribute__((unused)) static void scratch_empty(void)
{
    scratch_remove();
    if (mkdir(scratch_dir, 0777)) {
        perror(scratch_dir);
        exit(EXIT_FAILURE);
    }
}

/* A whole file, or the end of the test. */
__attribute__((unused)) static void scratch_write(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

__attribute__((unused)) static void scratch_write_text(const char *path, const char *text)
{
    scratch_write(path, text, strlen(text));
}

/* A whole file with a terminating NUL, malloc'd; NULL where it is not there. */
__attribute__((unused)) static char *scratch_read(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t room = 1 << 16;
    char *text = malloc(room);
    *n = 0;
    while (text) {
        size_t got = fread(text + *n, 1, room - *n - 1, f);
        *n += got;
        if (!got)
            break;
        if (room - *n < 2)
            text = realloc(text, room *= 2);
    }
    fclose(f);
    if (text)
        text[*n] = '\0';
    return text;
}

/* Runs body in a child; returns what waitpid tells.  A body's result is its exit status. */
__attribute__((unused)) static int in_child(int (*body)(void *), void *ctx)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(ctx));
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
}

/* Sets a soft limit, as ulimit does. */
__attribute__((unused)) static void set_limit(int what, rlim_t value)
{
    struct rlimit limit;
    getrlimit(what, &limit);
    limit.rlim_cur = value;
    if (setrlimit(what, &limit))
        perror("setrlimit");
}

#endif
