#include "pulseplot.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_POINTS = 50000 };

/* Points grow with S/N: this much at the least S/N drawn, and at most. */
static const double SMALLEST = 0.45, LARGEST = 4.5;

struct range {
    double low, high;
};

static const char style[] =
    "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) { set terminal pngcairo noenhanced size 1500,1100 "
    "font 'sans,13' background '#ffffff' } "
    "else { set terminal png noenhanced size 1500,1100 medium background '#ffffff' }\n"
    "set border 3 lc rgb '#444444' lw 1.2\n"
    "set tics nomirror out scale 0.6 textcolor rgb '#222222'\n"
    "set grid lc rgb '#e4e4e4' lw 1 lt 1\n"
    "unset key\n"
    "set style line 1 lc rgb '#b02a5f8a' pt 7\n"
    "set style line 2 lc rgb '#c44e1c' pt 6 lw 2\n"
    "set style fill transparent solid 0.45 noborder\n";

/* Text inside gnuplot's double quotes, on one line. */
static void put_quoted(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || c == '`')
            fputc('\\', f);
        fputc(c < 0x20 || c == 0x7f ? '?' : c, f);
    }
    fputc('"', f);
}

static int compare_events(const void *a, const void *b)
{
    const struct psr_event *p = *(const struct psr_event *const *)a;
    const struct psr_event *q = *(const struct psr_event *const *)b;
    return (p->snr < q->snr) - (p->snr > q->snr);
}

/* A little room around [low, high], and some where they are equal. */
static struct range widen(double low, double high, double part)
{
    double room = high > low ? part * (high - low) : fmax(fabs(high) * 0.05, 1e-3);
    return (struct range){low - room, high + room};
}

static void include(struct range *r, double x)
{
    *r = (struct range){fmin(r->low, x), fmax(r->high, x)};
}

struct axes {
    struct range time, dm, snr;
    double least; /* S/N of the smallest point */
};

static struct axes find_axes(const struct pulseplot *w, const struct psr_event *const *drawn,
                             size_t n)
{
    struct range t = {INFINITY, -INFINITY}, d = t;
    for (size_t k = 0; k < n; k++)
        include(&t, (double)drawn[k]->sample * w->tsamp_s);
    for (size_t i = 0; i < w->ndm; i++)
        include(&d, w->dm[i]);
    if (w->end_s > w->start_s)
        t = (struct range){w->start_s, w->end_s};
    else
        t = n ? widen(t.low, t.high, 0.02) : (struct range){0, 1};
    double top = n ? drawn[0]->snr : 1, least = n ? drawn[n - 1]->snr : 0;
    struct range snr = widen(least, top, 0.06);
    return (struct axes){t, w->ndm ? widen(d.low, d.high, 0.02) : (struct range){0, 1}, snr, least};
}

/* A point outside all panels: without any, gnuplot draws no axes. */
static const char nowhere[] = "1e30 1e30 1e30 1";

static void put_points(FILE *f, const struct pulseplot *w, const struct psr_event *const *drawn,
                       size_t n, const struct axes *a)
{
    fprintf(f, "$events << EOD\n");
    /* The best last, so that they lie on top. */
    for (size_t k = n; k-- > 0;) {
        const struct psr_event *e = drawn[k];
        double size = SMALLEST * sqrt(1 + 2 * fmax(e->snr - a->least, 0));
        fprintf(f, "%.9g %.9g %.5g %.3g\n", (double)e->sample * w->tsamp_s, w->dm[e->trial], e->snr,
                fmin(size, LARGEST));
    }
    fprintf(f, "%s\nEOD\n$best << EOD\n", nowhere);
    const struct psr_event *best = w->best ? &w->best->best : NULL;
    if (best)
        fprintf(f, "%.9g %.9g %.5g\n", (double)best->sample * w->tsamp_s, w->dm[best->trial],
                best->snr);
    fprintf(f, "%s\nEOD\n", nowhere);
}

static void put_title(FILE *f, const struct pulseplot *w, size_t drawn)
{
    char text[1024];
    int n =
        snprintf(text, sizeof text, "%.600s   %zu events", w->title ? w->title : "", w->nevents);
    if (drawn < w->nevents)
        n += snprintf(text + n, sizeof text - (size_t)n, " (the best %zu drawn)", drawn);
    if (w->best) {
        const struct psr_event *e = &w->best->best;
        snprintf(text + n, sizeof text - (size_t)n,
                 "   best: S/N %.1f at %.4f s, DM %.6g pc/cm^3, width %.4g ms", e->snr,
                 (double)e->sample * w->tsamp_s, w->dm[e->trial], 1e3 * e->width * w->tsamp_s);
    }
    fprintf(f, "set label 1 ");
    put_quoted(f, text);
    fprintf(f, " at screen 0.06,0.972 left textcolor rgb '#222222'\n");
}

struct panel {
    const char *place, *xlabel, *ylabel;
    const struct range *x, *y;
    const char *columns, *best;
};

static void put_panel(FILE *f, const struct panel *p)
{
    fprintf(f, "%s\nset xlabel '%s'\nset ylabel '%s'\n", p->place, p->xlabel, p->ylabel);
    fprintf(f, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", p->x->low, p->x->high, p->y->low,
            p->y->high);
    fprintf(f, "plot $events using %s with points ls 1 ps variable, ", p->columns);
    fprintf(f, "$best using %s with points ls 2 ps 3.2\nunset label 1\n", p->best);
}

static void put_script(FILE *f, const struct pulseplot *w, const struct psr_event *const *drawn,
                       size_t n)
{
    struct axes a = find_axes(w, drawn, n);
    const struct panel panels[] = {
        {"set lmargin at screen 0.06; set rmargin at screen 0.975; set tmargin at screen 0.94; "
         "set bmargin at screen 0.60",
         "Time (s)", "S/N", &a.time, &a.snr, "1:3:(0.55*$4)", "1:3"},
        {"set lmargin at screen 0.06; set rmargin at screen 0.36; set tmargin at screen 0.50; "
         "set bmargin at screen 0.075",
         "DM (pc/cm^3)", "S/N", &a.dm, &a.snr, "2:3:(0.55*$4)", "2:3"},
        {"set lmargin at screen 0.435; set rmargin at screen 0.975; set tmargin at screen 0.50; "
         "set bmargin at screen 0.075",
         "Time (s)", "DM (pc/cm^3)", &a.time, &a.dm, "1:2:4", "1:2"},
    };
    fputs(style, f);
    put_points(f, w, drawn, n, &a);
    put_title(f, w, n);
    fprintf(f, "set multiplot\n");
    for (int k = 0; k < 3; k++)
        put_panel(f, &panels[k]);
    fprintf(f, "unset multiplot\n");
}

enum { SCRIPT, PNG, SAID, FILES }; /* gnuplot's standard input, output and error */

/* Returned: gnuplot's exit status, or -1 with errno where it could not be run */
static int run_gnuplot(FILE *const files[FILES])
{
    char *const argv[] = {(char[]){"gnuplot"}, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status, cause = posix_spawn_file_actions_init(&actions);
    if (!cause) {
        rewind(files[SCRIPT]);
        for (int k = 0; !cause && k < FILES; k++)
            cause = posix_spawn_file_actions_adddup2(&actions, fileno(files[k]), k);
        if (!cause)
            cause = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    errno = cause;
    if (cause)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* The line of what gnuplot said that tells most: the last that is not blank. */
static void read_complaint(FILE *said, char *text, size_t room)
{
    char line[300];
    snprintf(text, room, "no message");
    rewind(said);
    while (fgets(line, sizeof line, said)) {
        line[strcspn(line, "\n")] = 0;
        if (line[strspn(line, " \t^")])
            snprintf(text, room, "%s", line + strspn(line, " \t"));
    }
}

static psr_status copy_png(const char *path, FILE *png, psr_err *err)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char bytes[1 << 15];
    psr_outfile *f;
    rewind(png);
    size_t n = fread(bytes, 1, sizeof bytes, png);
    if (n < sizeof signature || memcmp(bytes, signature, sizeof signature) != 0)
        return psr_fail(err, PSR_EIO, "%s: gnuplot made no PNG", path);
    psr_status st = psr_outfile_create(&f, path, err);
    if (st)
        return st;
    for (; !st && n > 0; n = fread(bytes, 1, sizeof bytes, png))
        st = psr_outfile_write(f, bytes, n, err);
    if (!st && !ferror(png))
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st ? st : psr_fail(err, PSR_EIO, "%s: the picture cannot be read back", path);
}

static psr_status draw(const char *path, FILE *const files[FILES], psr_err *err)
{
    char complaint[300];
    if (fflush(files[SCRIPT]) != 0 || ferror(files[SCRIPT]))
        return psr_fail_errno(err, "%s: cannot write gnuplot's script", path);
    int status = run_gnuplot(files);
    if ((status < 0 && errno == ENOENT) || status == 127)
        return psr_fail(err, PSR_EUNSUPPORTED, "%s: plots need gnuplot, which is not in PATH",
                        path);
    if (status < 0)
        return psr_fail_errno(err, "%s: cannot run gnuplot", path);
    if (status == 0)
        return copy_png(path, files[PNG], err);
    read_complaint(files[SAID], complaint, sizeof complaint);
    return psr_fail(err, PSR_EIO, "%s: gnuplot failed: %s", path, complaint);
}

psr_status pulseplot_png(const char *path, const struct pulseplot *what, psr_err *err)
{
    const struct psr_event **sorted = malloc((what->nevents + 1) * sizeof *sorted);
    FILE *const files[FILES] = {tmpfile(), tmpfile(), tmpfile()};
    psr_status st = PSR_OK;
    if (!sorted)
        st = psr_fail_nomem(err, "a plot", (double)what->nevents * sizeof *sorted);
    else if (!files[SCRIPT] || !files[PNG] || !files[SAID])
        st = psr_fail_errno(err, "%s: no temporary file for gnuplot", path);
    if (!st) {
        size_t n = what->nevents;
        for (size_t k = 0; k < n; k++)
            sorted[k] = &what->events[k];
        qsort(sorted, n, sizeof *sorted, compare_events);
        put_script(files[SCRIPT], what, sorted, n < MAX_POINTS ? n : MAX_POINTS);
        st = draw(path, files, err);
    }
    free(sorted);
    for (int k = 0; k < FILES; k++)
        if (files[k])
            fclose(files[k]);
    return st;
}
