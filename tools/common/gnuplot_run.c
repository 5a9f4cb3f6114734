/* Runs gnuplot as a child process, with its script in memory. */
#include "gnuplot_run.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where programs, libraries and fonts are.  gnuplot takes terminals, scripts and programs to start
 * from its own variables, which stay behind. */
static const char *const passed[] = {
    "PATH",           "LD_LIBRARY_PATH", "HOME",
    "TMPDIR",         "FONTCONFIG_FILE", "FONTCONFIG_PATH",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
};
enum { NPASSED = sizeof passed / sizeof *passed };

FILE *gnuplot_memory(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!f && fd >= 0)
        close(fd);
    return f;
}

static void clear_environment(char *variable[NPASSED + 1])
{
    for (size_t i = 0; variable[i]; i++)
        free(variable[i]);
}

static bool make_environment(char *variable[NPASSED + 1])
{
    size_t n = 0;
    memset(variable, 0, (NPASSED + 1) * sizeof *variable);
    for (size_t i = 0; i < NPASSED; i++) {
        const char *value = getenv(passed[i]);
        if (!value)
            continue;
        if (asprintf(&variable[n], "%s=%s", passed[i], value) < 0) {
            variable[n] = NULL;
            return false;
        }
        n++;
    }
    return true;
}

/* Returned: 0, or what errno would be. */
static int spawn(pid_t *child, FILE *script, FILE *drawn, FILE *messages)
{
    static char program[] = "gnuplot", defaults[] = "-d";
    char *argv[] = {program, defaults, NULL}, *environment[NPASSED + 1];
    FILE *const file[] = {script, drawn, messages};
    posix_spawn_file_actions_t actions;
    int failure = make_environment(environment) ? posix_spawn_file_actions_init(&actions) : ENOMEM;
    if (!failure) {
        for (int fd = 0; fd < 3 && !failure; fd++)
            failure = posix_spawn_file_actions_adddup2(&actions, fileno(file[fd]), fd);
        if (!failure)
            failure = posix_spawnp(child, program, &actions, NULL, argv, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    clear_environment(environment);
    return failure;
}

/* The last line with a word in it, for a message. */
static void find_last_line(FILE *messages, char *last, size_t room)
{
    char line[512];
    *last = '\0';
    rewind(messages);
    while (fgets(line, sizeof line, messages)) {
        const char *from = line + strspn(line, " \t\r\n^");
        if (*from)
            snprintf(last, room, ": %.*s", (int)strcspn(from, "\r\n"), from);
    }
}

/* A signal that asks the program to stop is not to wait for gnuplot. */
static psr_status wait_for(pid_t child, const char *path, FILE *messages, psr_err *err)
{
    char last[300];
    int status = 0;
    if (waitpid(child, &status, 0) < 0) {
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        return psr_fail(err, PSR_EIO, "%s: stopped before it was drawn", path);
    }
    if (status == 0)
        return PSR_OK;
    find_last_line(messages, last, sizeof last);
    return psr_fail(err, PSR_EIO, "%s: gnuplot failed%s", path, last);
}

psr_status gnuplot_run(const char *path, FILE *script, FILE *drawn, psr_err *err)
{
    pid_t child;
    FILE *messages = gnuplot_memory("messages");
    if (!messages || fflush(script) || lseek(fileno(script), 0, SEEK_SET)) {
        psr_status st = psr_fail_errno(err, "%s: cannot pass it to gnuplot", path);
        if (messages)
            fclose(messages);
        return st;
    }
    psr_status st = PSR_OK;
    errno = spawn(&child, script, drawn, messages);
    if (!errno)
        st = wait_for(child, path, messages, err);
    else if (errno == ENOENT)
        st = psr_fail(err, PSR_EIO, "%s: plots need gnuplot, which is not in PATH", path);
    else
        st = psr_fail_errno(err, "%s: cannot run gnuplot", path);
    fclose(messages);
    return st;
}
