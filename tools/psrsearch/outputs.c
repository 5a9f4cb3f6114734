/* The files that steps have made, by the records: removing them, and telling them from others. */
#include "psrsearch.h"

#include "base/portable.h"
#include "tools/common/json_read.h"
#include "tools/common/plot/plotfile.h"

#include <errno.h>
#include <inttypes.h>
#include <psrkit/experimental/outfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- what a record names ---------------------------------------------------------------------- */

typedef psr_status take_output(void *ctx, const char *name, int64_t bytes, const char *digest,
                               psr_err *err);

/* Passes on the outputs of a record's line.  Without a line, or in what is none, there are none. */
static psr_status each_output(const char *line, take_output *take, void *ctx, psr_err *err)
{
    struct json_value *value = NULL;
    char *text = line ? strdup(line) : NULL;
    if (!line)
        return PSR_OK;
    psr_status st = text ? json_parse(&value, text, "a record", err)
                         : psr_fail_nomem(err, "a record", (double)strlen(line));
    if (st == PSR_EFORMAT)
        st = PSR_OK; /* it has been cut or changed: nothing is known to be a search's */
    const struct json_value *list = json_member(value, "outputs");
    const struct json_value *one = list && list->type == JSON_ARRAY ? list->first : NULL;
    for (; one && !st; one = one->next) {
        const char *name = json_text(one, "name");
        if (*name && !strchr(folder_basename(name), '/')) /* a file of the folder */
            st = take(ctx, name, (int64_t)json_number(one, "bytes"), json_text(one, "xxh"), err);
    }
    json_clear(value);
    free(text);
    return st;
}

struct listing {
    const struct psrsearch_plan *plan;
    struct psr_names *names;
};

static bool exists(const struct psrsearch_plan *p, const char *name)
{
    struct stat is;
    char *path = psrsearch_join(p->dir, "/", name, NULL);
    const bool found = path && lstat(path, &is) == 0 && S_ISREG(is.st_mode);
    free(path);
    return found;
}

static psr_status list_output(void *ctx, const char *name, int64_t bytes, const char *digest,
                              psr_err *err)
{
    const struct listing *listing = ctx;
    (void)bytes, (void)digest;
    return exists(listing->plan, name) ? psr_names_add(listing->names, name, err) : PSR_OK;
}

psr_status psrsearch_recorded(struct psr_names *names, const struct psrsearch_plan *p,
                              const char *line, psr_err *err)
{
    struct listing listing = {p, names};
    return each_output(line, list_output, &listing, err);
}

/* Only a file that is as the step has left it. */
static psr_status remove_output(void *ctx, const char *name, int64_t bytes, const char *digest,
                                psr_err *err)
{
    const struct psrsearch_plan *p = ctx;
    char *path = psrsearch_join(p->dir, "/", name, NULL), digits[24];
    uint64_t found = 0;
    int64_t size = 0;
    psr_status st = path ? PSR_OK : psr_fail_nomem(err, name, 256);
    const bool there = !st && exists(p, name);
    if (there)
        st = psr_file_digest(&found, &size, path, err);
    snprintf(digits, sizeof digits, "%016" PRIx64, found);
    if (there && !st && size == bytes && !strcmp(digits, digest) && unlink(path) != 0 &&
        errno != ENOENT)
        st = psr_fail_errno(err, "%s", path);
    free(path);
    return st;
}

psr_status psrsearch_remove_recorded(const struct psrsearch_plan *p, const char *line, psr_err *err)
{
    return each_output(line, remove_output, (void *)(uintptr_t)p, err);
}

/* --- what a step has made --------------------------------------------------------------------- */

static psr_status note_file(struct psrsearch_before *before, const char *path, psr_err *err)
{
    struct psrsearch_file *f;
    struct stat is;
    psr_status st =
        psr_grow(&before->file, &before->room, before->n, sizeof *before->file, "files", err);
    if (st || lstat(path, &is) != 0)
        return st;
    f = &before->file[before->n++];
    *f = (struct psrsearch_file){(uint64_t)is.st_dev, (uint64_t)is.st_ino, (int64_t)is.st_size,
                                 (int64_t)is.st_mtim.tv_sec, is.st_mtim.tv_nsec};
    return PSR_OK;
}

psr_status psrsearch_look_before(struct psrsearch_before *before, const struct psrsearch_plan *p,
                                 enum psrsearch_kind step, psr_err *err)
{
    struct psr_names files = {.n = 0};
    *before = (struct psrsearch_before){.n = 0};
    psr_status st = psrsearch_files_of(&files, p, step, err);
    for (size_t i = 0; i < files.n && !st; i++) {
        char *path = psrsearch_join(p->dir, "/", files.name[i], NULL);
        st = path ? note_file(before, path, err) : psr_fail_nomem(err, files.name[i], 256);
        free(path);
    }
    psr_names_clear(&files);
    return st;
}

/* A tool replaces files, and does not write into them. */
static bool was_there(const struct psrsearch_before *before, const struct stat *is)
{
    for (size_t i = 0; i < before->n; i++) {
        const struct psrsearch_file *f = &before->file[i];
        if (f->dev == (uint64_t)is->st_dev && f->ino == (uint64_t)is->st_ino &&
            f->bytes == (int64_t)is->st_size && f->mtime_s == (int64_t)is->st_mtim.tv_sec &&
            f->mtime_ns == is->st_mtim.tv_nsec)
            return true;
    }
    return false;
}

psr_status psrsearch_made(struct psr_names *made, const struct psrsearch_before *before,
                          const struct psrsearch_plan *p, enum psrsearch_kind step, psr_err *err)
{
    struct psr_names files = {.n = 0};
    psr_status st = psrsearch_files_of(&files, p, step, err);
    for (size_t i = 0; i < files.n && !st; i++) {
        struct stat is;
        char *path = psrsearch_join(p->dir, "/", files.name[i], NULL);
        if (!path)
            st = psr_fail_nomem(err, files.name[i], 256);
        else if (lstat(path, &is) == 0 && S_ISREG(is.st_mode) && !was_there(before, &is))
            st = psr_names_add(made, files.name[i], err);
        free(path);
    }
    psr_names_clear(&files);
    return st;
}

/* --- files of others -------------------------------------------------------------------------- */

static bool is_made(const struct psr_names *made, const char *end)
{
    for (size_t i = 0; i < made->n; i++)
        if (psr_path_ends(made->name[i], end))
            return true;
    return false;
}

bool psrsearch_lacks_picture_only(const struct psr_names *made, enum psrsearch_kind step)
{
    return step == PSRSEARCH_MASK && is_made(made, "_rfifind.mask") &&
           is_made(made, "_rfifind.stats") && !is_made(made, "_rfifind.png");
}

/* A link or folder in the place of a picture: its tool leaves the picture out. */
static bool blocks_picture(const struct psrsearch_plan *p, const char *name)
{
    struct stat is;
    char *path = psr_path_ends(name, ".png") ? psrsearch_join(p->dir, "/", name, NULL) : NULL;
    const bool blocks = path && lstat(path, &is) == 0 && !S_ISREG(is.st_mode);
    free(path);
    return blocks;
}

bool psrsearch_was_killed_in(const struct psrsearch_records *r, const struct psrsearch_plan *p,
                             enum psrsearch_kind step)
{
    char line[64];
    snprintf(line, sizeof line, "{\"begun\": \"%s\", \"outputs\": []}\n", p->step[step].name);
    return r->begun[step] && !strcmp(r->begun[step], line);
}

static bool is_in(const struct psr_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->name[i], name))
            return true;
    return false;
}

psr_status psrsearch_leftovers_remove(const struct psrsearch_plan *p, enum psrsearch_kind step,
                                      const struct psr_names *made, psr_err *err)
{
    struct psr_names found = {.n = 0};
    psr_status st = psrsearch_files_of(&found, p, step, err);
    for (size_t i = 0; i < found.n && !st; i++) {
        const char *name = found.name[i];
        char *path = psrsearch_join(p->dir, "/", name, NULL);
        if (!path)
            st = psr_fail_nomem(err, name, 256);
        else if (!is_in(made, name) && exists(p, name) && unlink(path) != 0 && errno != ENOENT)
            st = psr_fail_errno(err, "%s", path);
        free(path);
    }
    psr_names_clear(&found);
    return st;
}

/* --- the files of folds ----------------------------------------------------------------------- */

struct folds {
    const struct psrsearch_plan *plan;
    struct psr_names *made;
    psr_status status;
    psr_err *err;
};

static void list_made(struct folds *f, const char *between, const char *name, const char *end)
{
    char *whole = psrsearch_join(f->plan->root, between, name, end, NULL);
    if (!f->status && !whole)
        f->status = psr_fail_nomem(f->err, name, 256);
    if (!f->status && exists(f->plan, whole))
        f->status = psr_names_add(f->made, whole, f->err);
    free(whole);
}

/* A line of ROOT.fold.json. */
static bool list_fold(void *ctx, const char *line)
{
    struct folds *f = ctx;
    struct json_value *value = NULL;
    char *text = strdup(line);
    f->status = text ? json_parse(&value, text, "a fold", f->err)
                     : psr_fail_nomem(f->err, "a fold", (double)strlen(line));
    const char *name = f->status ? "" : json_text(value, "candidate");
    list_made(f, "_", name, ".pfd");
    list_made(f, "_", name, ".pfd.bestprof");
    list_made(f, "_", name, ".pfd.png");
    json_clear(value);
    free(text);
    return !f->status;
}

psr_status psrsearch_folds_settle(struct psr_names *made, const struct psrsearch_plan *p,
                                  bool cleaned, psr_err *err)
{
    struct folds f = {.plan = p, .made = made, .err = err};
    bool exists;
    char *list = psrsearch_join(p->base, ".fold.json", NULL);
    psr_status st = list ? psrsearch_read_lines(list, &exists, list_fold, &f, err)
                         : psr_fail_nomem(err, p->base, 64);
    free(list);
    list_made(&f, ".fold", ".json", "");
    for (int k = 0; k < 3 && cleaned; k++)
        list_made(&f, "_fold.clean", (const char *const[]){".json", ".mask", ".stats"}[k], "");
    psr_names_sort(made);
    st = f.status ? f.status : st;
    return st ? st : psrsearch_leftovers_remove(p, PSRSEARCH_FOLD, made, err);
}

/* --- what stands in the way ------------------------------------------------------------------- */

psr_status psrsearch_check_recorded(const struct psrsearch_records *r,
                                    const struct psrsearch_plan *p, enum psrsearch_kind step,
                                    psr_err *err)
{
    struct psr_names known = {.n = 0}, found = {.n = 0};
    if (psrsearch_was_killed_in(r, p, step))
        return PSR_OK;
    psr_status st = psrsearch_recorded(&known, p, r->line[step], err);
    if (!st)
        st = psrsearch_recorded(&known, p, r->begun[step], err);
    if (!st)
        st = psrsearch_files_of(&found, p, step, err);
    for (size_t i = 0; i < found.n && !st; i++)
        if (!is_in(&known, found.name[i]) && !blocks_picture(p, found.name[i]))
            st = psr_fail(err, PSR_EIO,
                          "%s/%s: is there, and no search has recorded it: name another -o, or "
                          "move it",
                          p->dir, found.name[i]);
    psr_names_clear(&known);
    psr_names_clear(&found);
    return st;
}
