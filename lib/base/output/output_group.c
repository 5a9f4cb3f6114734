/* Renames a set of output files together, so that no mixture of old and new is ever seen. */
#include <psrkit/experimental/outfile.h>

#include "base/copy_desc.h"
#include "claim.h"
#include "outfile_steps.h"

#include "base/tool.h"
#include "outfile_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct psr_output_group {
    struct psr_claim *claim;
    char *root;         /* NULL where nothing is locked */
    psr_outfile **file; /* [n] of room for [room]; the names are theirs once that was renamed */
    size_t n, room;
    char **dropped; /* [ndropped] of room for [dropped_room] */
    size_t ndropped, dropped_room;
};

static psr_status create(psr_output_group **out, const struct psr_output_group_desc *desc,
                         psr_err *err)
{
    const bool files = psr_claim_is_of_files(desc->root);
    psr_status known = files && *desc->root ? psr_outfile_check_length(desc->root, err) : PSR_OK;
    if (known)
        return known;
    psr_output_group *g = calloc(1, sizeof *g);
    if (g && files)
        g->root = strdup(desc->root);
    psr_status st = g && (g->root || !files) ? psr_claim_take(&g->claim, desc, err)
                                             : psr_fail_nomem(err, "a group of files", sizeof *g);
    if (st)
        psr_output_group_abort(g);
    else
        *out = g;
    return st;
}

psr_status psr_output_group_create(psr_output_group **out, const struct psr_output_group_desc *desc,
                                   psr_err *err)
{
    struct psr_output_group_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "group of files", err);
    return st ? st : create(out, &d, err);
}

psr_status psr_output_group_check_room(const psr_output_group *g, double bytes, psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    struct statvfs fs;
    if (!g->root)
        return PSR_OK;
    char *folder = strdup(g->root);
    if (!folder)
        return psr_fail_nomem(err, "the name of a folder", (double)strlen(g->root));
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[1] = '\0';
    bool known = statvfs(slash ? folder : ".", &fs) == 0 && fs.f_blocks > 0;
    free(folder);
    const double free_bytes = known ? (double)fs.f_frsize * (double)fs.f_bavail : bytes;
    if (bytes <= free_bytes)
        return PSR_OK;
    return psr_fail(err, PSR_EIO, "%.300s: the files take %s, and the file system has %s left",
                    g->root, psr_size_text(need, bytes), psr_size_text(have, free_bytes));
}

psr_status psr_output_group_take(psr_output_group *g, psr_outfile *file, psr_err *err)
{
    psr_status st =
        psr_grow(&g->file, &g->room, g->n, sizeof *g->file, "the list of output files", err);
    if (st)
        psr_outfile_abort(file);
    else
        g->file[g->n++] = file;
    return st;
}

psr_status psr_output_group_add(psr_output_group *g, const char *name, psr_outfile **file,
                                psr_err *err)
{
    psr_status st = psr_outfile_create(file, name, err);
    if (!st)
        st = psr_output_group_take(g, *file, err);
    if (st)
        *file = NULL;
    return st;
}

psr_status psr_output_group_drop(psr_output_group *g, const char *name, psr_err *err)
{
    psr_status st = psr_grow(&g->dropped, &g->dropped_room, g->ndropped, sizeof *g->dropped,
                             "the list of output files", err);
    if (!st && !(g->dropped[g->ndropped] = strdup(name)))
        st = psr_fail_nomem(err, "a file name", (double)strlen(name));
    g->ndropped += !st;
    return st;
}

/* The last file first, as it marks the set as complete.  A single file replaces another in one step. */
static psr_status remove_old(psr_output_group *g, psr_err *err)
{
    psr_status st = PSR_OK;
    if (g->n + g->ndropped < 2)
        return PSR_OK;
    for (size_t i = g->n; i-- > 0 && !st;)
        st = psr_outfile_remove_old(g->file[i], err);
    for (size_t i = 0; i < g->ndropped && !st; i++)
        if (unlink(g->dropped[i]) && errno != ENOENT)
            st = psr_fail_errno(err, "%s: cannot remove", g->dropped[i]);
    return st;
}

psr_status psr_output_group_commit(psr_output_group *g, psr_err *err)
{
    psr_status st = PSR_OK;
    size_t named = 0;
    for (size_t i = 0; i < g->n && !st; i++)
        st = psr_outfile_close(g->file[i], err);
    for (size_t i = 0; i < g->n && !st; i++)
        st = psr_outfile_check_target(g->file[i], err);
    if (!st)
        st = remove_old(g, err);
    for (; named < g->n && !st; named += !st)
        st = psr_outfile_take_name(g->file[named], err);
    /* Half of a set would look complete. */
    for (size_t i = 0; i < named && st; i++)
        if (psr_outfile_remove_old(g->file[i], NULL))
            continue;
    psr_output_group_abort(g);
    return st;
}

void psr_output_group_abort(psr_output_group *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++)
        psr_outfile_abort(g->file[i]);
    for (size_t i = 0; i < g->ndropped; i++)
        free(g->dropped[i]);
    psr_claim_drop(g->claim);
    free(g->dropped);
    free(g->file);
    free(g->root);
    free(g);
}
