#include "guard.h"

#include "base/grow.h"

#include <stdlib.h>
#include <sys/stat.h>

static psr_status refuse(const char *output, const char *input, psr_err *err)
{
    return psr_fail(err, PSR_EINVAL, "%.200s would be written over %.200s, which is read", output,
                    input);
}

bool guard_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return a && b && stat(a, &of_a) == 0 && S_ISREG(of_a.st_mode) && stat(b, &of_b) == 0 &&
           of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

psr_status guard_input(const char *output, const char *input, psr_err *err)
{
    return guard_same(output, input) ? refuse(output, input, err) : PSR_OK;
}

psr_status guard_add(struct guard *g, const char *input, psr_err *err)
{
    struct stat st;
    if (!input || stat(input, &st) != 0 || !S_ISREG(st.st_mode))
        return PSR_OK;
    psr_status grown =
        psr_grow(&g->file, &g->room, g->n, sizeof *g->file, "the list of input files", err);
    if (!grown)
        g->file[g->n++] = (struct guard_file){st.st_dev, st.st_ino, input};
    return grown;
}

static int compare_files(const void *a, const void *b)
{
    const struct guard_file *x = a, *y = b;
    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return (x->ino > y->ino) - (x->ino < y->ino);
}

void guard_sort(struct guard *g)
{
    if (g->n)
        qsort(g->file, g->n, sizeof *g->file, compare_files);
}

psr_status guard_check(const struct guard *g, const char *output, psr_err *err)
{
    struct stat st;
    if (!g->n || stat(output, &st) != 0)
        return PSR_OK;
    struct guard_file wanted = {st.st_dev, st.st_ino, output};
    const struct guard_file *f = bsearch(&wanted, g->file, g->n, sizeof *g->file, compare_files);
    return f ? refuse(output, f->name, err) : PSR_OK;
}

void guard_clear(struct guard *g)
{
    free(g->file);
    *g = (struct guard){0};
}
