/* Names of inputs: those in lists, and those that would write the same files. */
#include "gpuaccel-pulscan.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

static bool keep_name(struct accel_job *j, const char *name)
{
    char **grown = realloc(j->name, (j->nname + 1) * sizeof *grown);
    if (grown)
        j->name = grown;
    if (!grown || !(grown[j->nname] = strdup(name))) {
        psr_err err;
        psr_fail_nomem(&err, "a list of files", (double)strlen(name));
        accel_report(j, NULL, &err);
        return false;
    }
    j->nname++;
    return true;
}

const char *accel_next_name(struct accel_job *j, FILE *f)
{
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (!found && getline(&line, &room, f) >= 0) {
        char *name = line + strspn(line, blanks);
        for (size_t n = strlen(name); n && strchr(blanks, name[n - 1]); n--)
            name[n - 1] = '\0';
        if (!*name || *name == '#')
            continue;
        found = keep_name(j, name);
        if (!found)
            break;
    }
    free(line);
    return found ? j->name[j->nname - 1] : NULL;
}

/* Who writes under a root. */
struct claim {
    const char *path;
    char *root;
};

static int by_root(const void *pa, const void *pb)
{
    const struct claim *a = pa, *b = pb;
    return strcmp(a->root, b->root);
}

static void drop_claim(void *claim)
{
    free(((struct claim *)claim)->root);
    free(claim);
}

psr_status accel_claim_root(struct accel_job *j, const char *path)
{
    if (j->table)
        return PSR_OK;
    struct claim *mine = malloc(sizeof *mine);
    if (!mine)
        return psr_fail_nomem(&j->err, path, sizeof *mine);
    *mine = (struct claim){path, accel_output_root(j, path)};
    void *node = mine->root ? tsearch(mine, &j->claims, by_root) : NULL;
    const struct claim *there = node ? *(struct claim *const *)node : NULL;
    if (there == mine)
        return PSR_OK;
    drop_claim(mine);
    if (!there)
        return psr_fail_nomem(&j->err, path, (double)strlen(path));
    if (!strcmp(there->path, path))
        return psr_fail(&j->err, PSR_EINVAL, "%.300s: given twice", path);
    return psr_fail(&j->err, PSR_EINVAL, "%.200s: its candidates would replace those of %.200s",
                    path, there->path);
}

void accel_release_names(struct accel_job *j)
{
    for (size_t i = 0; i < j->nname; i++)
        free(j->name[i]);
    free(j->name);
    tdestroy(j->claims, drop_claim);
}
