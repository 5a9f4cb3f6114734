/* The files of gpufold: their names, and writing them. */
#include "gpufold.h"

#include <psrkit/outfile.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char pfd_suffix[] = ".pfd", bestprof_suffix[] = ".pfd.bestprof",
                  png_suffix[] = ".pfd.png";

static char *join(const char *a, const char *b, const char *c, const char *d)
{
    const size_t n = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = malloc(n);
    if (text)
        snprintf(text, n, "%s%s%s%s", a, b, c, d);
    return text;
}

psr_status gpufold_find_root(const struct gpufold_options *o, char **root, psr_err *err)
{
    const char *path = o->run.path[0], *slash = strrchr(path, '/');
    char part[64] = "";
    *root = strdup(o->root ? o->root : path);
    if (!*root)
        return psr_fail_nomem(err, path, (double)strlen(path));
    if (o->root)
        return PSR_OK;
    const char *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    if (dot && dot > base)
        (*root)[dot - path] = '\0';
    if (o->run.start != 0 || o->run.end != 1)
        snprintf(part, sizeof part, "_%4.2f-%4.2f", o->run.start, o->run.end);
    char *whole = join(*root, part, "", "");
    free(*root);
    *root = whole;
    return whole ? PSR_OK : psr_fail_nomem(err, path, (double)strlen(path));
}

static psr_status check_outputs(struct psr_overwrite_check *check, const char *root,
                                struct psr_folder_candidate *c, psr_err *err)
{
    const char *const suffix[] = {pfd_suffix, bestprof_suffix, png_suffix};
    psr_status st = PSR_OK;
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix && !st; i++) {
        char *path = join(root, "_", c->name, suffix[i]);
        st = path ? psr_overwrite_check_output(check, path, NULL, err)
                  : psr_fail_nomem(err, "names", 64);
        free(path);
    }
    c->plot_device = join(root, "_", c->name, ".pfd.ps/CPS");
    return st || c->plot_device ? st : psr_fail_nomem(err, "names", 64);
}

psr_status gpufold_check_names(const struct gpufold_options *o, const char *root,
                               struct psr_candlist *list, psr_err *err)
{
    struct psr_overwrite_check check = {0};
    const char *const more[] = {o->run.mask, o->run.ignorechan, o->accelfile, o->candfile,
                                o->parfile};
    psr_status st = PSR_OK;
    for (size_t i = 0; i < o->run.npath && !st; i++)
        st = psr_overwrite_check_input(&check, o->run.path[i], err);
    for (size_t i = 0; i < sizeof more / sizeof *more && !st; i++)
        st = psr_overwrite_check_input(&check, more[i], err);
    for (size_t i = 0; i < list->n && !st; i++)
        st = check_outputs(&check, root, &list->cand[i], err);
    psr_overwrite_check_clear(&check);
    return st;
}

static psr_status write_pfd(psr_outfile *f, const struct psr_folder_fold *fold, psr_err *err)
{
    return psr_pfd_write(f, fold->pfd, err);
}

static psr_status write_bestprof(psr_outfile *f, const struct psr_folder_fold *fold, psr_err *err)
{
    return psr_bestprof_write(f, fold->best, err);
}

static psr_status
write_file(const char *root, const char *suffix, const struct psr_folder_fold *fold,
           psr_status (*write)(psr_outfile *, const struct psr_folder_fold *, psr_err *),
           psr_err *err)
{
    psr_outfile *f = NULL;
    char *path = join(root, "_", fold->pfd->candidate, suffix);
    if (!path)
        return psr_fail_nomem(err, "a name", 64);
    psr_status st = psr_outfile_create(&f, path, err);
    if (!st && (st = write(f, fold, err)))
        psr_outfile_abort(f);
    else if (!st)
        st = psr_outfile_commit(f, err);
    free(path);
    return st;
}

static bool is_newer(const char *root, const char *name, const char *suffix, struct timespec than)
{
    struct stat status;
    char *path = join(root, "_", name, suffix);
    const bool found = path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
    free(path);
    return found &&
           (status.st_mtim.tv_sec > than.tv_sec ||
            (status.st_mtim.tv_sec == than.tv_sec && status.st_mtim.tv_nsec > than.tv_nsec));
}

/* The .pfd is the last of them to be written. */
bool gpufold_exists(const char *root, const char *name, uint64_t digest, struct timespec changed,
                    bool picture)
{
    struct psr_pfd pfd;
    psr_err err;
    if (!is_newer(root, name, pfd_suffix, changed) ||
        !is_newer(root, name, bestprof_suffix, changed) ||
        (picture && !is_newer(root, name, png_suffix, changed)))
        return false;
    char *path = join(root, "_", name, pfd_suffix);
    const bool same = path && !psr_pfd_read(&pfd, path, 0, &err) && pfd.digest == digest;
    if (path)
        psr_pfd_clear(&pfd);
    free(path);
    return same;
}

psr_status gpufold_write(const char *root, const struct psr_folder_fold *fold, psr_err *err)
{
    psr_status st = write_file(root, bestprof_suffix, fold, write_bestprof, err);
    if (!st && fold->view)
        st = write_file(root, png_suffix, fold, gpufold_draw, err);
    return st ? st : write_file(root, pfd_suffix, fold, write_pfd, err);
}
