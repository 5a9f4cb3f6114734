/* The files of a folder, and what all parts need: names, problems, memory. */
#include "psrreport.h"

#include "tools/common/plotfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *report_path(const struct report *r, const char *name)
{
    if (name == r->opt->verdicts)
        return strdup(name);
    const size_t room = strlen(r->folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        snprintf(path, room, "%s/%s", r->folder, name);
    return path;
}

/* Names in messages are those of files, which may contain line ends. */
int report_problem(struct report *r, const psr_err *why)
{
    psr_err line = *why;
    psr_make_printable(line.msg);
    const int code = cli_report(r->tool, &line);
    if (psr_names_add(&r->problems, line.msg, &line))
        cli_report(r->tool, &line);
    return code;
}

void report_refuse(struct report *r, const psr_err *why)
{
    r->code = cli_worse(r->code, report_problem(r, why));
}

/* A pipe would be waited for. */
static bool is_regular(const struct report *r, const char *name)
{
    struct stat is;
    char *path = report_path(r, name);
    const bool regular = path && stat(path, &is) == 0 && S_ISREG(is.st_mode);
    free(path);
    return regular;
}

/* Adds the members of ROOT.lists like files of the folder; a wrong one is refused. */
static psr_status list_members(struct report *r, const char *name, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_err why;
    char *path = report_path(r, name);
    psr_status st = path ? PSR_OK : psr_fail_nomem(err, name, (double)strlen(name));
    if (path && psr_lists_names(&all, path, &why))
        report_refuse(r, &why);
    for (size_t i = 0; i < all.n && !st; i++)
        st = psr_names_add(&r->files, strrchr(all.name[i], '/') + 1, err);
    psr_names_clear(&all);
    free(path);
    return st;
}

/* All files but hidden ones. */
static psr_status list_names(struct report *r, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_status st = folder_list_search(&all, r->folder, err);
    for (size_t i = 0; i < all.n && !st; i++)
        if (*folder_basename(all.name[i]) != '.' && is_regular(r, all.name[i]))
            st = psr_names_add(&r->files, all.name[i], err);
    for (size_t i = r->files.n; i-- > 0 && !st;)
        if (psr_is_lists(r->files.name[i]))
            st = list_members(r, r->files.name[i], err);
    psr_names_sort(&r->files);
    psr_names_clear(&all);
    return st;
}

/* The first .inf, unless there is that of a mask, which has the whole observation. */
static const char *choose_inf(const struct report *r)
{
    const char *first = NULL;
    for (size_t i = 0; i < r->files.n; i++) {
        const char *name = r->files.name[i];
        if (psr_path_ends(name, "_rfifind.inf"))
            return name;
        if (!first && psr_path_ends(name, ".inf"))
            first = name;
    }
    return first;
}

static psr_status read_inf(struct report *r, psr_err *err)
{
    const char *name = choose_inf(r);
    psr_err why;
    if (!name)
        return PSR_OK;
    char *path = report_path(r, name);
    if (!path)
        return psr_fail_nomem(err, name, (double)strlen(name));
    psr_status st = psr_inf_read(&r->inf, path, &why);
    free(path);
    r->has_inf = st == PSR_OK;
    if (st)
        report_refuse(r, &why);
    else
        r->length_s = (double)r->inf.nbin * r->inf.tbin_s;
    return PSR_OK;
}

psr_status report_read_folder(struct report *r, psr_err *err)
{
    psr_status st = list_names(r, err);
    return st ? st : read_inf(r, err);
}

bool report_is_search_list(const char *name)
{
    const char *accel = strstr(name, "_ACCEL_");
    return psr_path_ends(name, "_ffa.csv") || (accel && accel[strcspn(accel, ".")] == '\0');
}

psr_status report_add_candidate(struct report *r, const struct report_cand *from, const char *list,
                                const char *note, psr_err *err)
{
    const char *slash = strrchr(list, '/');
    psr_status st = psr_grow(&r->cand, &r->cand_room, r->ncand, sizeof *r->cand, "a report", err);
    if (st)
        return st;
    struct report_cand *c = &r->cand[r->ncand];
    *c = *from;
    c->list = strdup(slash ? slash + 1 : list);
    c->note = strdup(note);
    c->rank = from->rank ? from->rank : r->ncand + 1;
    r->ncand++;
    return c->list && c->note ? PSR_OK : psr_fail_nomem(err, list, (double)strlen(list));
}

void report_clear(struct report *r)
{
    for (size_t i = 0; i < r->nstep; i++) {
        json_clear(r->step[i].json);
        free(r->step[i].line);
    }
    for (size_t i = 0; i < r->ncand; i++) {
        free(r->cand[i].list);
        free(r->cand[i].note);
    }
    for (size_t i = 0; i < r->nview; i++) {
        json_clear(r->view[i].json);
        free(r->view[i].text);
    }
    free(r->view);
    free(r->step);
    free(r->cand);
    free(r->fold);
    free(r->event);
    free(r->burst);
    psr_names_clear(&r->files);
    psr_names_clear(&r->problems);
}
