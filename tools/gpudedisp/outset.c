#include "outset.h"

#include "base/grow.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

psr_status outset_create(struct outset *set, const char *name, psr_outfile **out, psr_err *err)
{
    psr_status st = psr_grow(&set->file, &set->room, set->n, sizeof *set->file,
                             "the list of output files", err);
    if (st)
        return st;
    struct outset_file *f = &set->file[set->n];
    f->name = strdup(name);
    if (!f->name)
        return psr_fail_nomem(err, "a file name", (double)strlen(name));
    st = psr_outfile_create(&f->out, name, err);
    if (st)
        free(f->name);
    else
        set->n++;
    *out = st ? NULL : f->out;
    return st;
}

psr_status outset_settle(struct outset *set, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < set->n && !st; i++)
        st = psr_outfile_park(set->file[i].out, err);
    return st;
}

static void remove_named(const struct outset_file *f)
{
    char target[PATH_MAX];
    struct stat st;
    if (strcmp(f->name, "-") && realpath(f->name, target) && lstat(target, &st) == 0 &&
        S_ISREG(st.st_mode))
        unlink(target);
}

psr_status outset_commit(struct outset *set, psr_err *err)
{
    psr_status st = outset_settle(set, err);
    size_t named = 0;
    if (!st && set->n > 1)
        remove_named(&set->file[set->n - 1]);
    for (; named < set->n && !st; named += !st) {
        st = psr_outfile_commit(set->file[named].out, err);
        set->file[named].out = NULL;
    }
    for (size_t i = 0; i < named && st; i++)
        remove_named(&set->file[i]);
    outset_abort(set);
    return st;
}

void outset_abort(struct outset *set)
{
    for (size_t i = 0; i < set->n; i++) {
        psr_outfile_abort(set->file[i].out);
        free(set->file[i].name);
    }
    free(set->file);
    *set = (struct outset){0};
}
