/* Names that are derived from an input's: files that are read with it. */
#include "companions.h"

#include "base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

psr_status psr_each_companion(const char *path, psr_companion *take, void *ctx, psr_err *err)
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
