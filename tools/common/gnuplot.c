#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char gnuplot_suffixes[] = "png, pdf, svg, eps or ps";

/* Sizes are dots for the screen formats and inches for the paper ones. */
static const struct terminal {
    const char *suffix, *name, *options;
    double dots_per_inch;
    const char *end; /* among the last bytes of a file that is whole */
} terminals[] = {
    {"png", "pngcairo", "enhanced font 'Sans,11'", 120, "IEND"},
    {"pdf", "pdfcairo", "enhanced color font 'Sans,11'", 1, "%%EOF"},
    {"svg", "svg", "enhanced font 'Sans,14' background 'white'", 100, "</svg>"},
    {"eps", "epscairo", "enhanced color font 'Sans,11'", 1, "%%EOF"},
    {"ps", "postscript", "landscape enhanced color 'Helvetica' 14", 1, "%%"},
};

static const struct terminal *find_terminal(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof terminals / sizeof *terminals; i++)
        if (!strcasecmp(dot + 1, terminals[i].suffix))
            return &terminals[i];
    return NULL;
}

bool gnuplot_has_suffix(const char *path)
{
    return find_terminal(path) != NULL;
}

/* Runs gnuplot with its standard input at the other end of g->pipe and its standard output among
 * our standard error, so that nothing it says gets into data. */
static psr_status start_gnuplot(struct gnuplot *g, psr_err *err)
{
    char program[] = "gnuplot";
    char *argv[] = {program, NULL};
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0)
        return psr_fail_errno(err, "gnuplot: pipe");
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure == 0) {
        failure = posix_spawn_file_actions_adddup2(&actions, fd[0], STDIN_FILENO);
        if (failure == 0)
            failure = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        if (failure == 0)
            failure = posix_spawnp(&g->pid, "gnuplot", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(fd[0]);
    if (failure == 0 && (g->pipe = fdopen(fd[1], "w")))
        return PSR_OK;
    close(fd[1]);
    if (failure == ENOENT)
        return psr_fail(err, PSR_EUNSUPPORTED, "%s: plots need gnuplot, which is not in PATH",
                        g->path);
    errno = failure ? failure : errno;
    return psr_fail_errno(err, "%s: cannot run gnuplot", g->path);
}

/* The name drawn to: beside the final one, which appears when the plot is complete. */
static psr_status name_part(struct gnuplot *g, const char *path, psr_err *err)
{
    g->path = strdup(path);
    if (!g->path || asprintf(&g->part, "%s.partXXXXXX", g->path) < 0) {
        g->part = NULL;
        return psr_fail_nomem(err, "the name of a plot", (double)strlen(path));
    }
    int fd = mkstemp(g->part);
    if (fd < 0) {
        free(g->part);
        g->part = NULL;
        return psr_fail_errno(err, "%s: cannot create", path);
    }
    mode_t mask = umask(0);
    umask(mask);
    int failed = fchmod(fd, 0666 & ~mask);
    if (close(fd) != 0 || failed)
        return psr_fail_errno(err, "%s", path);
    return PSR_OK;
}

psr_status gnuplot_open(struct gnuplot *g, const char *path, double width_in, double height_in,
                        psr_err *err)
{
    const struct terminal *t = find_terminal(path);
    memset(g, 0, sizeof *g);
    signal(SIGPIPE, SIG_IGN); /* a gnuplot that dies shall be an error message */
    if (!t)
        return psr_fail(err, PSR_EINVAL, "%s: a plot is a file ending in %s", path,
                        gnuplot_suffixes);
    if (strchr(path, '\n'))
        return psr_fail(err, PSR_EINVAL, "%s: the name of a plot has no line end in it", path);
    psr_status st = name_part(g, path, err);
    if (st == PSR_OK)
        st = start_gnuplot(g, err);
    if (st != PSR_OK) {
        gnuplot_abort(g);
        return st;
    }
    fprintf(g->pipe, "set terminal %s %s size %g,%g\nset output ", t->name, t->options,
            width_in * t->dots_per_inch, height_in * t->dots_per_inch);
    gnuplot_quote(g, g->part);
    fprintf(g->pipe, "\n");
    return PSR_OK;
}

void gnuplot_quote(struct gnuplot *g, const char *text)
{
    fputc('\'', g->pipe);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', g->pipe);
        fputc(*text == '\n' ? ' ' : *text, g->pipe);
    }
    fputc('\'', g->pipe);
}

/* Returned: whether gnuplot took everything and ended without complaint. */
static bool end_gnuplot(struct gnuplot *g)
{
    bool good = g->pipe != NULL;
    int status = 0;
    if (g->pipe) {
        good = fprintf(g->pipe, "\nunset output\n") > 0 && !ferror(g->pipe);
        good = fclose(g->pipe) == 0 && good;
    }
    while (g->pid > 0 && waitpid(g->pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return good && status == 0;
}

/* gnuplot says nothing of a full disk. */
static bool is_whole(const struct gnuplot *g)
{
    enum { LAST = 64 };
    const char *end = find_terminal(g->path)->end;
    char last[LAST];
    FILE *f = fopen(g->part, "re");
    if (!f)
        return false;
    bool sought = fseek(f, -LAST, SEEK_END) == 0;
    size_t n = fread(last, 1, LAST, f);
    fclose(f);
    return sought && memmem(last, n, end, strlen(end));
}

static void forget(struct gnuplot *g)
{
    free(g->part);
    free(g->path);
    memset(g, 0, sizeof *g);
}

psr_status gnuplot_close(struct gnuplot *g, psr_err *err)
{
    psr_status st = PSR_OK;
    if (!end_gnuplot(g))
        st = psr_fail(err, PSR_EIO, "%s: gnuplot failed", g->path);
    else if (!is_whole(g))
        st = psr_fail(err, PSR_EIO, "%s: gnuplot could not write all of it", g->path);
    else if (rename(g->part, g->path) != 0)
        st = psr_fail_errno(err, "%s: cannot rename %s", g->path, g->part);
    if (st != PSR_OK)
        unlink(g->part);
    forget(g);
    return st;
}

void gnuplot_abort(struct gnuplot *g)
{
    if (g->pid > 0)
        kill(g->pid, SIGTERM);
    end_gnuplot(g);
    if (g->part)
        unlink(g->part);
    forget(g);
}
