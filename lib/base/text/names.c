/* Manages lists of names, from files or added one by one. */
#include "base/base.h"

#include "base/input/tar_read.h"
#include <limits.h>
#include <psrkit/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- lines of text ------------------------------------------------------------------------------- */

psr_status psr_text_lines_open(struct psr_text_lines *l, const char *path, int64_t most,
                               psr_err *err)
{
    *l = (struct psr_text_lines){.name = psr_path_called(path), .most = most};
    l->file = strcmp(path, "-") ? psr_open_file(path) : stdin;
    return l->file ? PSR_OK : psr_fail_errno(err, "%s", l->name);
}

psr_status psr_text_lines_next(struct psr_text_lines *l, char *line, size_t room, bool *exists,
                               psr_err *err)
{
    size_t n = 0;
    int c = 0;
    flockfile(l->file);
    while (c != '\n' && n < room && (c = getc_unlocked(l->file)) != EOF)
        line[n++] = (char)c;
    funlockfile(l->file);
    line[n < room ? n : room - 1] = '\0';
    *exists = n > 0;
    if (ferror(l->file))
        return psr_fail_errno(err, "%s", l->name);
    l->got += (int64_t)n;
    l->number += *exists;
    if (n == room)
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld: longer than %zu bytes", l->name, l->number,
                        room - 2);
    if (strlen(line) != n)
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld: a byte 0: this is no text", l->name,
                        l->number);
    if (l->got > l->most)
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld: beyond %lld bytes", l->name, l->number,
                        (long long)l->most);
    return PSR_OK;
}

void psr_text_lines_close(struct psr_text_lines *l)
{
    if (l->file && l->file != stdin)
        fclose(l->file);
    l->file = NULL;
}

/* --- names the members of ROOT.lists ---------------------------------------------------------- */

psr_status psr_lists_names(struct psr_names *names, const char *path, psr_err *err)
{
    const size_t folder = (size_t)(psr_path_file(path) - path);
    struct psr_tar_member member;
    int64_t next = 0;
    bool exists = true;
    const int fd = psr_tar_open(path);
    char *beside = malloc(folder + PSR_TAR_NAME);
    psr_status st = fd < 0    ? psr_fail_errno(err, "%s", path)
                    : !beside ? psr_fail_nomem(err, path, (double)folder)
                              : PSR_OK;
    while (!st && exists) {
        st = psr_tar_next(fd, path, &next, &member, &exists, err);
        if (st || !exists || psr_path_ends(member.name, PSR_LISTS_INDEX))
            continue;
        memcpy(beside, path, folder);
        strcpy(beside + folder, member.name);
        st = psr_names_add(names, beside, err);
    }
    free(beside);
    if (fd >= 0)
        close(fd);
    return st;
}

/* --- manages lists of names, from files or added one by one ----------------------------------- */

static const char blanks[] = " \t\r\n";

psr_status psr_names_add(struct psr_names *names, const char *name, psr_err *err)
{
    static const char what[] = "a list of files";
    psr_status st = psr_grow(&names->name, &names->room, names->n, sizeof *names->name, what, err);
    if (!st && !(names->name[names->n] = strdup(name)))
        st = psr_fail_nomem(err, what, (double)strlen(name));
    names->n += !st;
    return st;
}

psr_status psr_names_read(struct psr_names *names, const char *path, psr_err *err)
{
    char line[PATH_MAX + 256];
    struct psr_text_lines in;
    bool exists;
    psr_status st = psr_text_lines_open(&in, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    while (!st && !(st = psr_text_lines_next(&in, line, sizeof line, &exists, err)) && exists) {
        char *name = line + strspn(line, blanks);
        for (size_t n = strlen(name); n && strchr(blanks, name[n - 1]); n--)
            name[n - 1] = '\0';
        if (*name && *name != '#')
            st = psr_names_add(names, name, err);
    }
    psr_text_lines_close(&in);
    return st;
}

PSR_COMPARE_POINTERS(by_name, char, strcmp(a, b));

void psr_names_sort(struct psr_names *names)
{
    if (names->n)
        qsort((void *)names->name, names->n, sizeof *names->name, by_name);
}

const char *psr_names_find(const struct psr_names *names, const char *name)
{
    char *const *found =
        names->n ? bsearch(&name, names->name, names->n, sizeof name, by_name) : NULL;
    return found ? *found : NULL;
}

void psr_names_clear(struct psr_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
    *names = (struct psr_names){0};
}

/* --- which devices a command line names ------------------------------------------------------- */

static psr_status list_all(struct psr_names *words, psr_err *err)
{
    const int n = psr_device_count(err);
    psr_status st = n ? PSR_OK : PSR_EDEVICE;
    for (int k = 0; k < n && !st; k++) {
        char number[16];
        snprintf(number, sizeof number, "%d", k);
        st = psr_names_add(words, number, err);
    }
    return st;
}

psr_status psr_device_words(struct psr_names *words, const char *text, psr_err *err)
{
    psr_status st = PSR_OK;
    *words = (struct psr_names){0};
    if (!strcmp(text, "all"))
        return list_all(words, err);
    for (const char *at = text; at && !st; at = strchr(at, ',')) {
        char word[PSR_DEVICE_NAME_MAX];
        at += at > text;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        st = psr_names_add(words, word, err);
    }
    return st;
}
