/* Names of inputs: those in lists, and those that would write the same files. */
#include "gpuaccel-pulscan.h"

#include "base/grow.h"
#include "base/line.h"
#include "base/path.h"
#include <limits.h>
#include <psrkit/overwrite_check.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char blanks[] = " \t\r\n";

static psr_status keep_name(struct accel_job *j, const char *name)
{
    psr_status st =
        psr_grow(&j->name, &j->name_room, j->nname, sizeof *j->name, "a list of files", &j->err);
    if (!st && !(j->name[j->nname] = strdup(name)))
        st = psr_fail_nomem(&j->err, "a list of files", (double)strlen(name));
    j->nname += !st;
    return st;
}

psr_status accel_next_name(struct accel_job *j, FILE *f, const char *list, const char **found)
{
    char line[PATH_MAX + 256];
    ssize_t length;
    *found = NULL;
    while (!*found && (length = psr_line_read(f, line, sizeof line)) >= 0) {
        if (strlen(line) != (size_t)length)
            return psr_fail(&j->err, PSR_EFORMAT,
                            "%s: no list of names: a line that is binary or too long", list);
        char *name = line + strspn(line, blanks);
        for (size_t n = strlen(name); n && strchr(blanks, name[n - 1]); n--)
            name[n - 1] = '\0';
        if (!*name || *name == '#')
            continue;
        if (keep_name(j, name) != PSR_OK)
            return j->err.code;
        *found = j->name[j->nname - 1];
    }
    return ferror(f) ? psr_fail_errno(&j->err, "%s", list) : PSR_OK;
}

psr_status accel_spare_input(struct accel_job *j, const char *path)
{
    const char *table = j->opt.csv || j->opt.json ? j->opt.root : NULL;
    if (!table)
        return PSR_OK;
    char *inf = psr_path_beside(path, ".inf");
    if (!inf)
        return psr_fail_nomem(&j->err, path, (double)strlen(path));
    psr_status st = psr_overwrite_check_one(table, path, &j->err);
    if (st == PSR_OK)
        st = psr_overwrite_check_one(table, inf, &j->err);
    free(inf);
    return st;
}

/* A file of a list, and where the first of its size stands. */
struct sized {
    char *path;
    off_t size; /* -1: unknown */
    size_t at, first;
};

static int by_size(const void *pa, const void *pb)
{
    const struct sized *a = pa, *b = pb;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static int by_first(const void *pa, const void *pb)
{
    const struct sized *a = pa, *b = pb;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

void accel_group_names(char **path, size_t n)
{
    struct sized *file = calloc(n ? n : 1, sizeof *file);
    struct stat about;
    if (!file)
        return; /* any order will do */
    for (size_t i = 0; i < n; i++)
        file[i] = (struct sized){path[i], stat(path[i], &about) ? -1 : about.st_size, i, i};
    qsort(file, n, sizeof *file, by_size);
    for (size_t i = 1; i < n; i++)
        if (file[i].size == file[i - 1].size)
            file[i].first = file[i - 1].first;
    qsort(file, n, sizeof *file, by_first);
    for (size_t i = 0; i < n; i++)
        path[i] = file[i].path;
    free(file);
}

/* Who writes under a root. */
struct claim {
    const char *path;
    char *root;
};

static int by_root(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;
    return strcmp(a->root, b->root);
}

static void drop_claim(void *claim)
{
    free(((struct claim *)claim)->root);
    free(claim);
}

psr_status accel_claim_root(struct accel_job *j, const char *path)
{
    if (j->table)
        return PSR_OK;
    struct claim *mine = malloc(sizeof *mine);
    if (!mine)
        return psr_fail_nomem(&j->err, path, sizeof *mine);
    *mine = (struct claim){path, accel_output_root(j, path)};
    void *node = mine->root ? tsearch(mine, &j->claims, by_root) : NULL;
    const struct claim *there = node ? *(struct claim *const *)node : NULL;
    if (there == mine)
        return PSR_OK;
    drop_claim(mine);
    if (!there)
        return psr_fail_nomem(&j->err, path, (double)strlen(path));
    if (!strcmp(there->path, path))
        return psr_fail(&j->err, PSR_EINVAL, "%.300s: given twice", path);
    return psr_fail(&j->err, PSR_EINVAL, "%.200s: its candidates would replace those of %.200s",
                    path, there->path);
}

psr_status accel_claim_files(struct accel_job *j, struct accel_file *file)
{
    const struct accel_options *o = &j->opt;
    char *root = NULL, *longest = NULL;
    if (j->table && !o->fftout)
        return PSR_OK;
    root = accel_output_root(j, file->path);
    psr_status st = PSR_OK;
    if (!root || asprintf(&longest, "%s_ACCEL_%lld.txtcand", root, (long long)o->zmax) < 0)
        st = psr_fail_nomem(&j->err, file->path, (double)strlen(file->path));
    if (st == PSR_OK)
        st = psr_outfile_check_path(longest, &j->err);
    const struct psr_output_group_desc claim = {
        .root = root,
        .kind = o->compat ? "pulscan" : "z",
        .first = o->zmax,
        .last = o->zmax,
        .common = o->fftout,
        .notes = {o->quiet ? NULL : cli_note, &j->tool},
    };
    if (st == PSR_OK)
        st = psr_output_group_create(&file->group, &claim, &j->err);
    if (st == PSR_OK && o->fftout && file->about.series)
        st = psr_output_group_check_room(file->group, 8 * (double)file->about.nbin, &j->err);
    if (st != PSR_OK) {
        psr_output_group_abort(file->group);
        file->group = NULL;
    }
    free(longest);
    free(root);
    return st;
}

void accel_release_names(struct accel_job *j)
{
    for (size_t i = 0; i < j->nname; i++)
        free(j->name[i]);
    free(j->name);
    tdestroy(j->claims, drop_claim);
}
