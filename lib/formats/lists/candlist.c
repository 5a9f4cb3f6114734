/* Lists of candidates to fold: adding to them, unique names, and numbers of their lines. */
#include "candlist_lines.h"
#include "formats/spectra/text_table.h"

#include "base/tool.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

/* --- lists ------------------------------------------------------------------------------------ */

psr_status psr_candlist_add(struct psr_candlist *list, const struct psr_folder_candidate *cand,
                            const char *name, bool by_period, psr_err *err)
{
    char made[NAME_BYTES];
    psr_status st =
        psr_grow(&list->cand, &list->room, list->n, sizeof *list->cand, "candidates", err);
    if (st)
        return st;
    if (!name && by_period)
        snprintf(made, sizeof made, "%.2fms_Cand", 1000 / cand->f);
    else if (!name)
        snprintf(made, sizeof made, "%.2fHz_Cand", cand->f);
    char *copy = strdup(name ? name : made);
    if (!copy)
        return psr_fail_nomem(err, "candidates", NAME_BYTES);
    list->cand[list->n] = *cand;
    list->cand[list->n].name = copy;
    list->cand[list->n++].plot_device = NULL;
    return PSR_OK;
}

void psr_candlist_cut(struct psr_candlist *list, size_t n)
{
    while (list->n > n) {
        list->n--;
        free((void *)list->cand[list->n].name);
        free((void *)list->cand[list->n].plot_device);
    }
}

void psr_candlist_clear(struct psr_candlist *list)
{
    psr_candlist_cut(list, 0);
    free(list->cand);
    memset(list, 0, sizeof *list);
}

void psr_candlist_set_spin(struct psr_folder_candidate *c, double p, double pd, double pdd,
                           double f, double fd, double fdd)
{
    c->f = f > 0 ? f : 1 / p;
    p = f > 0 ? 1 / f : p;
    if (fd != 0)
        pd = -fd / (c->f * c->f);
    c->fd = fd != 0 ? fd : pd != 0 ? -pd / (p * p) : 0;
    c->fdd = fdd != 0 ? fdd : pdd != 0 ? 2 * pd * pd / (p * p * p) - pdd / (p * p) : 0;
}

/* --- unique names ----------------------------------------------------------------------------- */

struct named {
    const char *name;
    size_t i; /* in the list */
};

static int compare_names(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->i > y->i) - (x->i < y->i);
}

static int compare_name_only(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* Given: n   of the name so far; becomes that of the new one */
static char *make_name(const struct named *sorted, size_t count, const char *name, size_t *n)
{
    const size_t room = strlen(name) + 24;
    char *made = malloc(room);
    struct named key = {made, 0};
    do {
        if (made)
            snprintf(made, room, "%s_%zu", name, ++*n);
    } while (made && bsearch(&key, sorted, count, sizeof *sorted, compare_name_only));
    return made;
}

psr_status psr_candlist_make_unique(struct psr_candlist *list, const struct psr_notes *notes,
                                    psr_err *err)
{
    struct named *sorted = calloc(list->n + 1, sizeof *sorted);
    char **made = calloc(list->n + 1, sizeof *made);
    psr_status st = PSR_OK;
    for (size_t i = 0; sorted && i < list->n; i++)
        sorted[i] = (struct named){list->cand[i].name, i};
    if (!sorted || !made)
        st = psr_fail_nomem(err, "names", (double)list->n * sizeof *sorted);
    else
        qsort(sorted, list->n, sizeof *sorted, compare_names);
    for (size_t k = 1, n = 1; k < list->n && !st; k++) {
        if (strcmp(sorted[k].name, sorted[k - 1].name) != 0) {
            n = 1;
            continue;
        }
        char *name = made[sorted[k].i] = make_name(sorted, list->n, sorted[k].name, &n);
        if (!name)
            st = psr_fail_nomem(err, "names", NAME_BYTES);
        else
            psr_note(notes, "candidate %zu: another is called %s: this one is %s", sorted[k].i + 1,
                     sorted[k].name, name);
    }
    for (size_t i = 0; made && i < list->n; i++)
        if (made[i]) {
            free((void *)list->cand[i].name);
            list->cand[i].name = made[i];
        }
    free(sorted);
    free(made);
    return st;
}

/* --- lines ------------------------------------------------------------------------------------ */

psr_status psr_candlist_fail(const struct psr_candlist_lines *l, psr_err *err, const char *field,
                             const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    psr_status st = psr_text_fail_line(l->text.name, l->text.number, err, field, fmt, ap);
    va_end(ap);
    return st;
}

psr_status psr_candlist_number(const struct psr_candlist_lines *l, const char *field,
                               const char *text, double unit, double min, double max, double *value,
                               psr_err *err)
{
    psr_err why;
    if (psr_parse_double(field, text, min / unit, max / unit, value, &why))
        return psr_candlist_fail(l, err, field, "%.250s", why.msg);
    *value *= unit;
    return PSR_OK;
}
