/* Names of lists: each file once. */
#include "lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A list, wherever its names lead. */
struct identity {
    dev_t dev;
    ino_t ino;
    size_t i; /* its place among the names */
};

static int compare_identities(const void *pa, const void *pb)
{
    const struct identity *a = pa, *b = pb;
    if (a->dev != b->dev)
        return a->dev < b->dev ? -1 : 1;
    if (a->ino != b->ino)
        return a->ino < b->ino ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

static void drop_names(struct psr_names *lists)
{
    size_t n = 0;
    for (size_t i = 0; i < lists->n; i++)
        if (lists->name[i])
            lists->name[n++] = lists->name[i];
    lists->n = n;
}

psr_status accelsift_drop_repeats(struct psr_names *lists, const struct cli *tool, psr_err *err)
{
    struct identity *id = calloc(lists->n + 1, sizeof *id);
    size_t n = 0;
    if (!id)
        return psr_fail_nomem(err, "the lists", (double)lists->n * sizeof *id);
    for (size_t i = 0; i < lists->n; i++) {
        struct stat is;
        if (stat(lists->name[i], &is) == 0)
            id[n++] = (struct identity){is.st_dev, is.st_ino, i};
    }
    qsort(id, n, sizeof *id, compare_identities);
    for (size_t k = n; k-- > 1;) {
        char **name = &lists->name[id[k].i], text[256];
        if (id[k].dev != id[k - 1].dev || id[k].ino != id[k - 1].ino)
            continue;
        if (tool)
            fprintf(stderr, "%s: %s: named before, read once\n", tool->name,
                    cli_printable(text, sizeof text, *name));
        free(*name);
        *name = NULL;
    }
    free(id);
    drop_names(lists);
    return PSR_OK;
}
