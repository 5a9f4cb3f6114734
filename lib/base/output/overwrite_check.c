/* Rejects outputs that are inputs, or each other, by device and inode. */
#include <psrkit/experimental/outfile.h>
#include <psrkit/status.h>

#include "base/base.h"
#include "base/input/dada_ring.h"
#include "outfile_internal.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- files that are read with one of a name --------------------------------------------------- */

typedef psr_status psr_companion(void *ctx, const char *name, psr_err *err);

enum { RULES = 5, ENDS = 2 };

/* What takes the place of the end of a name. */
static const struct {
    const char *end, *other[ENDS];
} rule[RULES] = {
    {".dat", {".inf"}}, {".fft", {".inf"}}, {".tim", {".inf"}}, {".mask", {".stats", ".inf"}},
    {".cand", {""}},
};

/* Passes on the first n letters of name, with other as their end. */
static psr_status pass_on(const char *name, size_t n, const char *other, psr_companion *take,
                          void *ctx, psr_err *err)
{
    char *made = malloc(n + strlen(other) + 1);
    if (!made)
        return psr_fail_nomem(err, "a file name", (double)n);
    memcpy(made, name, n);
    strcpy(made + n, other);
    psr_status st = n ? take(ctx, made, err) : PSR_OK;
    free(made);
    return st;
}

/* Lists of a search have the .inf of their series, binary candidates and their text. */
static psr_status pass_on_list(const char *path, psr_companion *take, void *ctx, psr_err *err)
{
    static const char mark[] = "_ACCEL_";
    const size_t n = strlen(path);
    const char *at = strstr(psr_path_file(path), mark);
    for (const char *next = at; next && (next = strstr(next + 1, mark));)
        at = next;
    psr_status st = pass_on(path, n, ".cand", take, ctx, err);
    if (!st)
        st = pass_on(path, n, ".txtcand", take, ctx, err);
    return st || !at ? st : pass_on(path, (size_t)(at - path), ".inf", take, ctx, err);
}

/* Passes on the names of files that are read with one of this name, whether they are there or not:
 * the .inf of a series, the .stats of a mask, the .cand and .inf of a list of candidates.
 * Status: that of take, which ends it; PSR_ENOMEM */
static psr_status each_companion(const char *path, psr_companion *take, void *ctx, psr_err *err)
{
    const size_t n = strlen(path);
    const char *sub = strstr(psr_path_file(path), ".sub");
    psr_status st = pass_on_list(path, take, ctx, err);
    for (int k = 0; k < RULES && !st; k++) {
        const size_t end = strlen(rule[k].end);
        if (n <= end || strcmp(path + n - end, rule[k].end) != 0)
            continue;
        for (int i = 0; i < ENDS && rule[k].other[i] && !st; i++)
            st = pass_on(path, n - end, rule[k].other[i], take, ctx, err);
    }
    return st || !sub ? st : pass_on(path, (size_t)(sub - path), ".sub.inf", take, ctx, err);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Which file a name stands for. */
struct identity {
    uint64_t dev, ino; /* of the file; of its folder where it is not there yet */
    const char *base;  /* its name in there, or "" */
};

/* A ring is no file: its key is its number on a device that no file is on. */
static const uint64_t ring_dev = UINT64_MAX;

struct psr_overwrite_file {
    uint64_t dev, ino;
    char *name;
    const char *of;
    uint32_t base; /* where in name the identity's begins, or its end */
    bool input;
};

enum kind { UNKNOWN, SHARED, ONE_FILE };

/* Several may write to, and read from, a terminal or /dev/null. */
static enum kind identify(const struct stat *st, struct identity *id)
{
    if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode) && !S_ISBLK(st->st_mode))
        return SHARED;
    *id = (struct identity){st->st_dev, st->st_ino, ""};
    return ONE_FILE;
}

/* The folder of path, whose base is given.  Successive names mostly have the same folder. */
static psr_status find_folder(struct psr_overwrite_check *c, const char *path, const char *base,
                              enum kind *kind, struct identity *id, psr_err *err)
{
    struct stat st;
    const size_t n = (size_t)(base - path);
    if (!c->folder || strlen(c->folder) != n || memcmp(c->folder, path, n) != 0) {
        free(c->folder);
        c->folder = strndup(path, n);
        if (!c->folder)
            return psr_fail_nomem(err, "a file name", (double)n);
        c->folder_ino = 0;
        if (stat(n ? c->folder : ".", &st) == 0)
            c->folder_dev = st.st_dev, c->folder_ino = st.st_ino;
    }
    *id = (struct identity){c->folder_dev, c->folder_ino, base};
    *kind = c->folder_ino ? ONE_FILE : UNKNOWN; /* without a folder there will be no file */
    return PSR_OK;
}

static psr_status identify_path(struct psr_overwrite_check *c, const char *path, bool input,
                                enum kind *kind, struct identity *id, psr_err *err)
{
    struct stat st;
    const bool standard = !strcmp(path, "-");
    const int fd = input ? STDIN_FILENO : STDOUT_FILENO;
    *kind = UNKNOWN;
    if (psr_dada_ring_is_name(path)) {
        *id = (struct identity){ring_dev, psr_dada_ring_key(path), ""};
        *kind = ONE_FILE;
    } else if (standard ? fstat(fd, &st) == 0 : stat(path, &st) == 0)
        *kind = identify(&st, id);
    else if (!standard && !input)
        return find_folder(c, path, psr_path_file(path), kind, id, err);
    return PSR_OK;
}

/* --- the table -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static size_t hash_of(const struct psr_overwrite_check *c, const struct identity *id)
{
    uint64_t hash = mix(mix(0, id->dev), id->ino);
    for (const char *at = id->base; *at; at++)
        hash = mix(hash, (unsigned char)*at);
    return (size_t)hash & (c->nslot - 1);
}

static bool is_same(const struct psr_overwrite_file *f, const struct identity *id)
{
    return f->dev == id->dev && f->ino == id->ino && !strcmp(f->name + f->base, id->base);
}

/* Returned: where the file is, or where it would be. */
static uint32_t *find_slot(const struct psr_overwrite_check *c, const struct identity *id)
{
    size_t at = hash_of(c, id);
    while (c->slot[at] && !is_same(&c->file[c->slot[at] - 1], id))
        at = (at + 1) & (c->nslot - 1);
    return &c->slot[at];
}

/* At most half of the slots are taken. */
static psr_status make_slots(struct psr_overwrite_check *c, psr_err *err)
{
    if (2 * (c->n + 1) <= c->nslot)
        return PSR_OK;
    const size_t n = c->nslot ? 2 * c->nslot : 64;
    uint32_t *slot = calloc(n, sizeof *slot);
    if (!slot || c->n >= UINT32_MAX / 4) {
        free(slot);
        return psr_fail_nomem(err, "the names of files", (double)n * sizeof *slot);
    }
    free(c->slot);
    c->slot = slot;
    c->nslot = n;
    for (size_t k = 0; k < c->n; k++) {
        const struct psr_overwrite_file *f = &c->file[k];
        *find_slot(c, &(struct identity){f->dev, f->ino, f->name + f->base}) = (uint32_t)k + 1;
    }
    return PSR_OK;
}

/* --- the rule --------------------------------------------------------------------------------- */

static const char *called(const char *path, bool input)
{
    return strcmp(path, "-") ? path : input ? "standard input" : "standard output";
}

static psr_status fail_overwrite(const char *output, const char *input, psr_err *err)
{
    return psr_fail(err, PSR_EIO, "%.200s would be written over %.200s, which is read", output,
                    input);
}

static psr_status fail_second_use(const struct psr_overwrite_file *first, const char *output,
                                  const char *of, psr_err *err)
{
    const char *name = called(first->name, false);
    if (of && first->of && !strcmp(of, first->of))
        return psr_fail(err, PSR_EIO, "%.300s: given twice", of);
    if (of && first->of)
        return psr_fail(err, PSR_EIO, "%.200s would be written of %.200s and of %.200s", output,
                        first->of, of);
    if (!strcmp(name, output))
        return psr_fail(err, PSR_EIO, "%.300s would be written twice", output);
    return psr_fail(err, PSR_EIO, "%.200s and %.200s are one file, and would both be written", name,
                    output);
}

static psr_status check(struct psr_overwrite_check *c, const char *path, const char *of, bool input,
                        psr_err *err)
{
    struct identity id = {0};
    enum kind kind;
    psr_status st = identify_path(c, path, input, &kind, &id, err);
    if (!st && kind == ONE_FILE)
        st = make_slots(c, err);
    if (st || kind != ONE_FILE)
        return st;
    const uint32_t found = *find_slot(c, &id);
    const struct psr_overwrite_file *f = found ? &c->file[found - 1] : NULL;
    const char *name = called(path, input);
    if (!f) {
        st = psr_grow(&c->file, &c->room, c->n, sizeof *c->file, "the names of files", err);
        char *copy = st ? NULL : strdup(path);
        if (!copy)
            return st ? st : psr_fail_nomem(err, "a file name", (double)strlen(path));
        const size_t base = strlen(path) - strlen(id.base);
        *find_slot(c, &id) = (uint32_t)c->n + 1;
        c->file[c->n++] =
            (struct psr_overwrite_file){id.dev, id.ino, copy, of, (uint32_t)base, input};
        return PSR_OK;
    }
    if (input)
        return f->input ? PSR_OK : fail_overwrite(called(f->name, false), name, err);
    return f->input ? fail_overwrite(name, called(f->name, true), err)
                    : fail_second_use(f, name, of, err);
}

static psr_status check_companion(void *ctx, const char *name, psr_err *err)
{
    return check(ctx, name, NULL, true, err);
}

psr_status psr_overwrite_check_input(struct psr_overwrite_check *c, const char *path, psr_err *err)
{
    if (!path)
        return PSR_OK;
    psr_status st = check(c, path, NULL, true, err);
    const bool file = strcmp(path, "-") != 0 && !psr_dada_ring_is_name(path);
    return st || !file ? st : each_companion(path, check_companion, c, err);
}

static void forget_parts(struct psr_overwrite_check *c)
{
    for (size_t k = 0; k < c->npart; k++)
        free(c->part[k]);
    free(c->part_folder);
    c->npart = 0;
    c->part_folder = NULL;
}

static void remove_leftovers(struct psr_overwrite_check *c, const char *path)
{
    const char *base = psr_path_file(path);
    const size_t n = (size_t)(base - path), length = strlen(base);
    const size_t tail = strlen(PSR_PART) + PSR_PART_LETTERS;
    if (!c->part_folder || strlen(c->part_folder) != n || memcmp(c->part_folder, path, n) != 0) {
        /* Names of files that are, or were, being written in a folder.  What cannot be read is not removed. */
        struct dirent *e;
        forget_parts(c);
        c->part_folder = strndup(path, n);
        DIR *d = c->part_folder ? opendir(n ? c->part_folder : ".") : NULL;
        while (d && (e = readdir(d))) {
            char *name = strstr(e->d_name, PSR_PART) ? strdup(e->d_name) : NULL;
            if (name && psr_grow(&c->part, &c->part_room, c->npart, sizeof *c->part, "names", NULL))
                free(name);
            else if (name)
                c->part[c->npart++] = name;
        }
        if (d)
            closedir(d);
    }
    for (size_t k = 0; k < c->npart; k++) {
        char *name = NULL;
        if (strncmp(c->part[k], base, length) != 0 || strlen(c->part[k]) != length + tail ||
            asprintf(&name, "%.*s%s", (int)n, path, c->part[k]) < 0)
            continue;
        if (psr_outfile_is_leftover(name))
            unlink(name);
        free(name);
    }
}

static psr_status check_output(struct psr_overwrite_check *c, const char *path, const char *of,
                               bool must_be_written, psr_err *err)
{
    if (!path)
        return PSR_OK;
    psr_status st = check(c, path, of, false, err);
    if (!st && must_be_written && strcmp(path, "-") != 0)
        st = psr_outfile_check_path(path, err);
    if (!st && strcmp(path, "-") != 0 && !psr_path_is_descriptor(path))
        remove_leftovers(c, path);
    return st;
}

psr_status psr_overwrite_check_output(struct psr_overwrite_check *c, const char *path,
                                      const char *of, psr_err *err)
{
    return check_output(c, path, of, true, err);
}

psr_status psr_overwrite_check_optional(struct psr_overwrite_check *c, const char *path,
                                        psr_err *err)
{
    return check_output(c, path, NULL, false, err);
}

void psr_overwrite_check_clear(struct psr_overwrite_check *c)
{
    for (size_t k = 0; k < c->n; k++)
        free(c->file[k].name);
    free(c->file);
    free(c->slot);
    free(c->folder);
    forget_parts(c);
    free(c->part);
    *c = (struct psr_overwrite_check){0};
}

bool psr_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}
