/* Keeps the candidates that are left in order. */
#include "sift_state.h"

#include <stdlib.h>
#include <string.h>

struct ranked {
    const struct psr_sift_entry *entry;
    const struct psr_sift_list *list;
    size_t at, id;
    bool presto;
};

static int compare_names(const char *a, const char *b)
{
    const int c = strcmp(a, b);
    return (c > 0) - (c < 0);
}

/* A total order that the order of lists has no part in. */
static int compare_equals(const struct ranked *a, const struct ranked *b)
{
    const struct psr_sift_entry *x = a->entry, *y = b->entry;
    if (x->f < y->f || x->f > y->f)
        return x->f < y->f ? -1 : 1;
    if (a->list->dm < b->list->dm || a->list->dm > b->list->dm)
        return a->list->dm < b->list->dm ? -1 : 1;
    int c = compare_names(a->list->file, b->list->file);
    if (c == 0)
        c = (x->number > y->number) - (x->number < y->number);
    return c ? c : compare_names(a->list->path, b->list->path);
}

static int by_sigma(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    if (a->entry->sigma < b->entry->sigma || a->entry->sigma > b->entry->sigma)
        return a->entry->sigma > b->entry->sigma ? -1 : 1;
    const int c = a->presto ? 0 : compare_equals(a, b);
    return c ? c : (a->at > b->at) - (a->at < b->at);
}

psr_status psr_sift_sort(struct psr_sift *s, psr_err *err)
{
    struct ranked *ranked = malloc((s->norder + 1) * sizeof *ranked);
    if (!ranked)
        return psr_fail_nomem(err, "candidates", (double)s->norder * sizeof *ranked);
    for (size_t k = 0; k < s->norder; k++) {
        const struct psr_sift_entry *e = &s->all.entry[s->order[k]];
        ranked[k] = (struct ranked){e, &s->list[e->list], k, s->order[k], s->d.presto};
    }
    qsort(ranked, s->norder, sizeof *ranked, by_sigma);
    for (size_t k = 0; k < s->norder; k++)
        s->order[k] = ranked[k].id;
    free(ranked);
    return PSR_OK;
}

void psr_sift_drop(struct psr_sift *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->norder; k++)
        if (s->all.entry[s->order[k]].reason == PSR_SIFT_GOOD)
            s->order[n++] = s->order[k];
    s->norder = n;
}
