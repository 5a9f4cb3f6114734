/* Puts lists into one tar file. */
#include "output_lists.h"

#include "base/input/tar_read.h"
#include "base/path.h"
#include "base/tool.h"
#include "outfile_internal.h"
#include "tar_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

psr_status psr_output_lists_add(struct psr_output_lists *l, const char *name, psr_outfile **file,
                                psr_err *err)
{
    psr_status st = psr_outfile_hold(file, name, err);
    if (!st)
        st = psr_output_lists_take(l, *file, err);
    if (st)
        *file = NULL;
    return st;
}

psr_status psr_output_lists_take(struct psr_output_lists *l, psr_outfile *file, psr_err *err)
{
    psr_status st = psr_grow(&l->list, &l->room, l->n, sizeof *l->list, "the lists", err);
    if (st)
        psr_outfile_abort(file);
    else
        l->list[l->n++] = file;
    return st;
}

static const char *name_of(const psr_outfile *list)
{
    return psr_path_file(psr_outfile_name(list));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(name_of(*(psr_outfile *const *)a), name_of(*(psr_outfile *const *)b));
}

/* ROOT.index */
static psr_status name_index(const struct psr_output_lists *l, char name[PSR_TAR_NAME],
                             psr_err *err)
{
    const char *own = psr_path_file(l->name);
    const int root = (int)(strlen(own) - strlen(PSR_LISTS));
    return snprintf(name, PSR_TAR_NAME, "%.*s" PSR_LISTS_INDEX, root, own) < PSR_TAR_NAME
               ? PSR_OK
               : psr_fail(err, PSR_EIO, "%s: its name is too long", l->name);
}

/* Lines of one width, so that a name is found by halving. */
static psr_status write_index(const struct psr_output_lists *l, psr_outfile *to, psr_err *err)
{
    enum { DIGITS = 12 };
    char name[PSR_TAR_NAME];
    psr_outfile *index = NULL;
    size_t width = 0, n;
    for (size_t i = 0; i < l->n; i++)
        width = width > strlen(name_of(l->list[i])) ? width : strlen(name_of(l->list[i]));
    psr_status st = name_index(l, name, err);
    if (!st)
        st = psr_outfile_hold(&index, name, err);
    int64_t first = psr_tar_bytes(name, l->n * (DIGITS + 1 + width + 1));
    for (size_t i = 0; i < l->n && !st; i++) {
        st = psr_outfile_printf(index, err, "%*lld %-*s\n", DIGITS, (long long)first, (int)width,
                                name_of(l->list[i]));
        first += psr_tar_bytes(name_of(l->list[i]), (size_t)psr_outfile_size(l->list[i]));
    }
    if (!st) {
        const void *bytes = psr_outfile_held(index, &n);
        st = psr_tar_add(to, name, bytes, n, err);
    }
    psr_outfile_abort(index);
    return st;
}

static void drop_empty(struct psr_output_lists *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (psr_outfile_size(l->list[i]) > 0)
            l->list[n++] = l->list[i];
        else
            psr_outfile_abort(l->list[i]);
    l->n = n;
}

psr_status psr_output_lists_write(struct psr_output_lists *l, psr_outfile *to, psr_err *err)
{
    drop_empty(l);
    if (l->n)
        qsort(l->list, l->n, sizeof *l->list, by_name);
    psr_status st = write_index(l, to, err);
    for (size_t i = 0; i < l->n && !st; i++) {
        size_t n;
        const void *bytes = psr_outfile_held(l->list[i], &n);
        st = psr_tar_add(to, name_of(l->list[i]), bytes, n, err);
    }
    return st ? st : psr_tar_end(to, err);
}

void psr_output_lists_clear(struct psr_output_lists *l)
{
    for (size_t i = 0; i < l->n; i++)
        psr_outfile_abort(l->list[i]);
    free(l->list);
    free(l->name);
    *l = (struct psr_output_lists){.n = 0};
}
