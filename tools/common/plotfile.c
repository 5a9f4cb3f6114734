/* Pictures that a run was asked for. */
#include "plotfile.h"

#include <string.h>
#include <strings.h>

const char plotfile_suffixes[] = "png, pdf, svg, eps or ps";

enum { NFORMAT = CANVAS_PS + 1 };

/* NFORMAT for another suffix. */
static int find_format(const char *path)
{
    static const char *const suffix[NFORMAT] = {"png", "pdf", "svg", "eps", "ps"};
    const char *dot = strrchr(path, '.');
    int i = 0;
    while (i < NFORMAT && !(dot && !strcasecmp(dot + 1, suffix[i])))
        i++;
    return i;
}

bool plotfile_has_suffix(const char *path)
{
    return find_format(path) < NFORMAT;
}

psr_status plotfile_open(struct plotfile *f, const char *path, psr_err *err)
{
    const int format = find_format(path);
    struct canvas *c = NULL;
    psr_err why;
    *f = (struct plotfile){0};
    if (format == NFORMAT)
        return psr_fail(err, PSR_EINVAL, "%s: a plot is a file ending in %s", path,
                        plotfile_suffixes);
    f->format = (enum canvas_format)format;
    psr_status st = psr_outfile_create(&f->out, path, err);
    if (!st)
        st = psr_outfile_park(f->out, err);
    if (!st && (st = canvas_create_for(&c, f->format, 1, 1, &why)))
        psr_fail(err, st, "%s: %s", path, why.msg);
    canvas_destroy(c);
    if (st)
        plotfile_abort(f);
    return st;
}

psr_status plotfile_end(struct plotfile *f, struct canvas *c, psr_err *err)
{
    psr_status st = canvas_write(c, f->out, err);
    canvas_destroy(c);
    if (!st) {
        st = psr_outfile_commit(f->out, err);
        f->out = NULL;
    }
    plotfile_abort(f);
    return st;
}

void plotfile_abort(struct plotfile *f)
{
    psr_outfile_abort(f->out);
    *f = (struct plotfile){0};
}
