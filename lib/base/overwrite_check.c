/* Refuses outputs that are inputs. */
#include <psrkit/overwrite_check.h>

#include "grow.h"

#include <stdlib.h>
#include <sys/stat.h>

static psr_status refuse(const char *output, const char *input, psr_err *err)
{
    return psr_fail(err, PSR_EINVAL, "%.200s would be written over %.200s, which is read", output,
                    input);
}

bool psr_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return a && b && stat(a, &of_a) == 0 && S_ISREG(of_a.st_mode) && stat(b, &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

psr_status psr_overwrite_check_one(const char *output, const char *input, psr_err *err)
{
    return psr_same_file(output, input) ? refuse(output, input, err) : PSR_OK;
}

psr_status psr_overwrite_add(struct psr_overwrite *g, const char *input, psr_err *err)
{
    struct stat st;
    if (!input || stat(input, &st) != 0 || !S_ISREG(st.st_mode))
        return PSR_OK;
    psr_status grown =
        psr_grow(&g->file, &g->room, g->n, sizeof *g->file, "the list of input files", err);
    if (!grown)
        g->file[g->n++] = (struct psr_overwrite_file){st.st_dev, st.st_ino, input};
    return grown;
}

static int compare_files(const void *a, const void *b)
{
    const struct psr_overwrite_file *x = a, *y = b;
    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return (x->ino > y->ino) - (x->ino < y->ino);
}

void psr_overwrite_sort(struct psr_overwrite *g)
{
    if (g->n)
        qsort(g->file, g->n, sizeof *g->file, compare_files);
}

psr_status psr_overwrite_check(const struct psr_overwrite *g, const char *output, psr_err *err)
{
    struct stat st;
    if (!g->n || stat(output, &st) != 0)
        return PSR_OK;
    struct psr_overwrite_file wanted = {st.st_dev, st.st_ino, output};
    const struct psr_overwrite_file *f =
        bsearch(&wanted, g->file, g->n, sizeof *g->file, compare_files);
    return f ? refuse(output, f->name, err) : PSR_OK;
}

void psr_overwrite_clear(struct psr_overwrite *g)
{
    free(g->file);
    *g = (struct psr_overwrite){0};
}
