/* Plots with gnuplot into files that appear complete or not at all. */
#include "gnuplot.h"

#include "base/tool.h"
#include "gnuplot_run.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char gnuplot_suffixes[] = "png, pdf, svg, eps or ps";

/* Sizes are dots for the screen formats and inches for the paper ones. */
static const struct gnuplot_terminal {
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

static const struct gnuplot_terminal *find_terminal(const char *path)
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

/* Runs a script that only chooses the terminal. */
static psr_status try_terminal(const struct gnuplot *g, psr_err *err)
{
    FILE *script = gnuplot_memory("script"), *drawn = gnuplot_memory("drawn");
    psr_status st = PSR_OK;
    if (!script || !drawn)
        st = psr_fail_errno(err, "%s: cannot begin a plot", g->path);
    else
        fprintf(script, "set terminal %s %s\n", g->terminal->name, g->terminal->options);
    if (!st)
        st = gnuplot_run(g->path, script, drawn, err);
    if (script)
        fclose(script);
    if (drawn)
        fclose(drawn);
    return st;
}

psr_status gnuplot_open(struct gnuplot *g, const char *path, psr_err *err)
{
    *g = (struct gnuplot){.terminal = find_terminal(path)};
    if (!g->terminal)
        return psr_fail(err, PSR_EINVAL, "%s: a plot is a file ending in %s", path,
                        gnuplot_suffixes);
    g->path = strdup(path);
    if (!g->path)
        return psr_fail_nomem(err, "the name of a plot", (double)strlen(path));
    psr_status st = psr_outfile_create(&g->out, path, err);
    if (!st)
        st = psr_outfile_park(g->out, err);
    if (!st)
        st = try_terminal(g, err);
    if (st)
        gnuplot_abort(g);
    return st;
}

psr_status gnuplot_begin(struct gnuplot *g, double width_in, double height_in, psr_err *err)
{
    const struct gnuplot_terminal *t = g->terminal;
    g->script = gnuplot_memory("script");
    if (!g->script)
        return psr_fail_errno(err, "%s: cannot begin a plot", g->path);
    fprintf(g->script, "set terminal %s %s size %g,%g\nset encoding utf8\n", t->name, t->options,
            width_in * t->dots_per_inch, height_in * t->dots_per_inch);
    return PSR_OK;
}

void gnuplot_text(struct gnuplot *g, const char *text)
{
    bool escaped = false; /* gnuplot takes digits behind an escape for a part of it */
    fputc('"', g->script);
    while (*text) {
        const unsigned char c = (unsigned char)*text;
        const size_t n = psr_utf8_length(text);
        const bool unfit = n == 0 || iscntrl(c);
        const bool plain = isalpha(c) || c == ' ' || (isdigit(c) && !escaped);
        if (unfit || plain)
            fputc(unfit ? '?' : c, g->script);
        else
            for (size_t k = 0; k < n; k++)
                fprintf(g->script, "\\%03o", (unsigned char)text[k]);
        escaped = !unfit && !plain;
        text += n ? n : 1;
    }
    fprintf(g->script, "\" noenhanced");
}

/* Copies what was drawn, and looks at its end: gnuplot says nothing of writes that fail. */
static psr_status copy_drawn(struct gnuplot *g, FILE *drawn, psr_err *err)
{
    enum { PIECE = 1 << 16, LAST = 64 };
    char bytes[LAST + PIECE]; /* of each piece the last ones stay for the next */
    size_t n, kept = 0;
    psr_status st = PSR_OK;
    rewind(drawn);
    while (!st && (n = fread(bytes + kept, 1, PIECE, drawn)) > 0) {
        st = psr_outfile_write(g->out, bytes + kept, n, err);
        n += kept;
        kept = n < LAST ? n : LAST;
        memmove(bytes, bytes + n - kept, kept);
    }
    if (!st && !memmem(bytes, kept, g->terminal->end, strlen(g->terminal->end)))
        st = psr_fail(err, PSR_EIO, "%s: gnuplot did not draw all of it", g->path);
    return st;
}

/* Removes what is not committed yet. */
static void clear_gnuplot(struct gnuplot *g)
{
    if (g->script)
        fclose(g->script);
    psr_outfile_abort(g->out);
    free(g->path);
    *g = (struct gnuplot){0};
}

psr_status gnuplot_end(struct gnuplot *g, psr_err *err)
{
    FILE *drawn = gnuplot_memory("drawn");
    psr_status st = PSR_OK;
    if (!drawn || ferror(g->script))
        st = psr_fail_errno(err, "%s: cannot pass it to gnuplot", g->path);
    if (!st)
        st = gnuplot_run(g->path, g->script, drawn, err);
    if (!st)
        st = copy_drawn(g, drawn, err);
    if (!st) {
        st = psr_outfile_commit(g->out, err);
        g->out = NULL;
    }
    if (drawn)
        fclose(drawn);
    clear_gnuplot(g);
    return st;
}

void gnuplot_abort(struct gnuplot *g)
{
    clear_gnuplot(g);
}
