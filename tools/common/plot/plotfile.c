/* Pictures that a run was asked for. */
#include "plotfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

void plotfile_abort(struct plotfile *f)
{
    psr_outfile_abort(f->out);
    *f = (struct plotfile){0};
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

/* Lists the names in a folder. */

/* Adds all names, after a prefix; d is closed. */
static psr_status add_names(struct psr_names *names, const char *prefix, DIR *d, const char *folder,
                            psr_err *err)
{
    char name[sizeof FOLDER_STEPS + sizeof((struct dirent *)0)->d_name];
    struct dirent *entry;
    psr_status st = PSR_OK;
    errno = 0;
    while (!st && (entry = readdir(d))) {
        snprintf(name, sizeof name, "%s%s", prefix, entry->d_name);
        st = psr_names_add(names, name, err);
        errno = 0;
    }
    if (!st && errno)
        st = psr_fail_errno(err, "%s", folder);
    closedir(d);
    return st;
}

psr_status folder_list(struct psr_names *names, const char *folder, psr_err *err)
{
    DIR *d = opendir(folder);
    psr_status st = d ? add_names(names, "", d, folder, err) : psr_fail_errno(err, "%s", folder);
    psr_names_sort(names);
    return st;
}

psr_status folder_list_search(struct psr_names *names, const char *folder, psr_err *err)
{
    DIR *d = opendir(folder), *steps;
    const int fd = d ? openat(dirfd(d), FOLDER_STEPS, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    psr_status st = d ? add_names(names, "", d, folder, err) : psr_fail_errno(err, "%s", folder);
    if (fd >= 0 && !st && (steps = fdopendir(fd)))
        st = add_names(names, FOLDER_STEPS, steps, folder, err);
    else if (fd >= 0)
        close(fd);
    psr_names_sort(names);
    return st;
}

const char *folder_basename(const char *name)
{
    const size_t n = strlen(FOLDER_STEPS);
    return strncmp(name, FOLDER_STEPS, n) ? name : name + n;
}
