/* The files of a folder: which step has made them, and removing them. */
#include "psrsearch.h"

#include "base/tool.h"
#include "tools/common/plot/plotfile.h"

#include <errno.h>
#include <fnmatch.h>
#include <psrkit/experimental/outfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What follows ROOT in the names of a step's files; the first that matches says whose a file is. */
static const struct {
    const char *after_root;
    enum psrsearch_kind step;
} patterns[] = {
    {"_*_Cand_*.pfd", PSRSEARCH_FOLD},
    {"_*_Cand_*.pfd.bestprof", PSRSEARCH_FOLD},
    {"_*_Cand_*.pfd.png", PSRSEARCH_FOLD},
    {".fold.json", PSRSEARCH_FOLD},
    {".folded", PSRSEARCH_FOLD},
    {"_fold.clean.json", PSRSEARCH_FOLD},
    {"_fold.clean.mask", PSRSEARCH_FOLD},
    {"_fold.clean.stats", PSRSEARCH_FOLD},
    {"_PSR_*.pfd", PSRSEARCH_PAR},
    {"_PSR_*.pfd.bestprof", PSRSEARCH_PAR},
    {"_PSR_*.pfd.png", PSRSEARCH_PAR},
    {".par.json*", PSRSEARCH_PAR},
    {"_rfifind.mask", PSRSEARCH_MASK},
    {"_rfifind.stats", PSRSEARCH_MASK},
    {"_rfifind.inf", PSRSEARCH_MASK},
    {"_rfifind.rfi", PSRSEARCH_MASK},
    {"_rfifind.bytemask", PSRSEARCH_MASK},
    {"_rfifind.zaplist", PSRSEARCH_MASK},
    {"_rfifind.birds", PSRSEARCH_MASK},
    {"_rfifind.moments", PSRSEARCH_MASK},
    {"_rfifind.json", PSRSEARCH_MASK},
    {"_rfifind.png", PSRSEARCH_MASK},
    {".plan", PSRSEARCH_PLAN},
    {"_DM*.inf", PSRSEARCH_SEARCH},
    {"_DM*.singlepulse", PSRSEARCH_SEARCH},
    {"_*MHz.singlepulse", PSRSEARCH_SEARCH},
    {"_fine.singlepulse", PSRSEARCH_SEARCH},
    {"_DM*_ACCEL_*[0-9]", PSRSEARCH_SEARCH},
    {"_DM*_ACCEL_*[0-9].cand", PSRSEARCH_SEARCH},
    {"_DM*_ACCEL_*[0-9].txtcand", PSRSEARCH_SEARCH},
    {".lists", PSRSEARCH_SEARCH},
    {"_ffa.csv", PSRSEARCH_SEARCH},
    {".cand", PSRSEARCH_SEARCH},
    {".pulses.csv", PSRSEARCH_SEARCH},
    {".bursts.json*", PSRSEARCH_SEARCH},
    {".clean.json", PSRSEARCH_SEARCH},
    {".clean.mask", PSRSEARCH_SEARCH},
    {".clean.stats", PSRSEARCH_SEARCH},
    {".sift", PSRSEARCH_SIFT},
    {".sift.csv", PSRSEARCH_SCORE},
    {".sift.json*", PSRSEARCH_SCORE},
    {".sift.rejects", PSRSEARCH_SIFT},
    {".psrsearch.json", PSRSEARCH_NSTEP},
};
static const char *const report_files[] = {"report.html", "candidates.csv"};
enum {
    NPATTERN = sizeof patterns / sizeof *patterns,
    NREPORT = sizeof report_files / sizeof *report_files,
    NOT_OURS = -1,
};

static const char steps_suffix[] = ".steps.jsonl", old_suffix[] = ".steps.json";

/* Takes off what an unfinished file has at its end.
 * Returned: whether it was there */
static bool cut_part(char *name)
{
    const size_t n = strlen(name), tail = strlen(".partXXXXXX");
    if (n <= tail || fnmatch(".part??????", name + n - tail, 0) != 0)
        return false;
    name[n - tail] = '\0';
    return true;
}

/* Returned: the step, PSRSEARCH_NSTEP for the summary, NOT_OURS */
static int step_of(const struct psrsearch_plan *p, const char *name)
{
    const size_t n = strlen(p->root);
    for (size_t i = 0; i < NREPORT; i++)
        if (!strcmp(name, report_files[i]))
            return PSRSEARCH_REPORT;
    name = folder_basename(name);
    for (size_t i = 0; i < NPATTERN && !strncmp(name, p->root, n); i++)
        if (fnmatch(patterns[i].after_root, name + n, 0) == 0)
            return (int)patterns[i].step;
    return NOT_OURS;
}

psr_status psrsearch_files_of(struct psr_names *files, const struct psrsearch_plan *p,
                              enum psrsearch_kind step, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_status st = folder_list_search(&all, p->dir, err);
    for (size_t i = 0; i < all.n && !st; i++)
        if (step_of(p, all.name[i]) == (int)step)
            st = psr_names_add(files, all.name[i], err);
    psr_names_clear(&all);
    return st;
}

/* Whether the name is that of the records of a search, now or before. */
static bool is_record(const char *name)
{
    return psr_path_ends(name, steps_suffix) || psr_path_ends(name, old_suffix);
}

psr_status psrsearch_parts_remove(const struct psrsearch_plan *p, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_status st = folder_list_search(&all, p->dir, err);
    for (size_t i = 0; i < all.n && !st; i++) {
        char *whole = psrsearch_join(all.name[i], NULL);
        if (!whole)
            st = psr_fail_nomem(err, all.name[i], 256);
        else if (cut_part(whole) && (step_of(p, whole) != NOT_OURS || is_record(whole))) {
            const char *name = all.name[i];
            char *path = psrsearch_join(p->dir, "/", name, NULL);
            st = PSR_OK;
            if (!path)
                st = psr_fail_nomem(err, name, 256);
            else if (psr_outfile_is_leftover(path) && unlink(path) != 0 && errno != ENOENT)
                st = psr_fail_errno(err, "%s", path);
            free(path);
        }
        free(whole);
    }
    psr_names_clear(&all);
    return st;
}

static psr_status check_record(const struct psrsearch_plan *p, const char *name, psr_err *err)
{
    const size_t n = strlen(p->root);
    const char *base = folder_basename(name);
    if (!is_record(name) || (!strncmp(base, p->root, n) &&
                             (!strcmp(base + n, steps_suffix) || !strcmp(base + n, old_suffix))))
        return PSR_OK;
    return psr_fail(err, PSR_EIO,
                    "%s: holds the search of another observation, %s: a folder has one", p->dir,
                    name);
}

/* Whether the name is that of a step's messages. */
static bool is_log(const struct psrsearch_plan *p, const char *name)
{
    const size_t n = strlen(p->root);
    name = folder_basename(name);
    if (strncmp(name, p->root, n) != 0 || name[n] != '_')
        return false;
    const char *step = name + n + 1;
    for (int k = 0; k < PSRSEARCH_NSTEP; k++) {
        const size_t length = strlen(p->step[k].name);
        if (!strncmp(step, p->step[k].name, length) && !strcmp(step + length, ".log"))
            return true;
    }
    return false;
}

/* What would wait for its reader, and others' files with the name of a log.  Of what else is in the place of a picture,
 * its tool leaves the picture out, and says so. */
static psr_status check_kind(const char *path, bool picture, bool log, psr_err *err)
{
    struct stat is;
    if (lstat(path, &is) == 0 &&
        (picture ? S_ISFIFO(is.st_mode) : !S_ISREG(is.st_mode) && !S_ISLNK(is.st_mode)))
        return psr_fail(err, PSR_EIO, "%s: is there, and is not a regular file", path);
    if (log && !psrsearch_is_log(path))
        return psr_fail(err, PSR_EIO, "%s: is there, and is no log of psrsearch: name another -o",
                        path);
    return PSR_OK;
}

static psr_status check_file(struct psr_overwrite_check *c, const struct psrsearch_plan *p,
                             const char *name, psr_err *err)
{
    const bool log = is_log(p, name);
    if (!log && step_of(p, name) == NOT_OURS && !is_record(name))
        return PSR_OK;
    const bool picture = psr_path_ends(name, ".png");
    char *path = psrsearch_join(p->dir, "/", name, NULL);
    psr_status st = !path     ? psr_fail_nomem(err, name, 256)
                    : picture ? psr_overwrite_check_optional(c, path, err)
                              : psr_overwrite_check_output(c, path, NULL, err);
    if (!st)
        st = check_kind(path, picture, log, err);
    free(path);
    return st;
}

psr_status psrsearch_files_check(const struct psrsearch_plan *p, const struct psrsearch_options *o,
                                 psr_err *err)
{
    struct psr_names all = {.n = 0};
    struct psr_overwrite_check c = {0};
    const char *const more[] = {o->catalogue, o->par, o->ignorechan, o->zaplist, o->plan};
    psr_status st = folder_list_search(&all, p->dir, err);
    for (size_t i = 0; i < o->ninput && !st; i++)
        st = psr_overwrite_check_input(&c, o->input[i], err);
    for (size_t i = 0; i < sizeof more / sizeof *more && !st; i++)
        st = psr_overwrite_check_input(&c, more[i], err);
    for (size_t i = 0; i < all.n && !st; i++)
        st = check_record(p, all.name[i], err);
    for (size_t i = 0; i < all.n && !st; i++)
        st = check_file(&c, p, all.name[i], err);
    psr_overwrite_check_clear(&c);
    psr_names_clear(&all);
    return st;
}

psr_status psrsearch_old_remove(const struct psrsearch_plan *p, psr_err *err)
{
    struct psr_names all = {.n = 0};
    psr_status st = folder_list(&all, p->dir, err);
    for (size_t i = 0; i < all.n && !st; i++) {
        char *path = psrsearch_join(p->dir, "/", all.name[i], NULL);
        if (!path)
            st = psr_fail_nomem(err, all.name[i], 256);
        else if ((is_record(all.name[i]) || (is_log(p, all.name[i]) && psrsearch_is_log(path))) &&
                 unlink(path) != 0 && errno != ENOENT)
            st = psr_fail_errno(err, "%s", path);
        free(path);
    }
    psr_names_clear(&all);
    return st;
}
