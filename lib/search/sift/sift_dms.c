/* DMs: in the names of files, the list of those searched, and candidates whose hits do not fit it. */
#include "sift_state.h"

#include "base/base.h"
#include "formats/series/series_internal.h"
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DM_TEXT = 64, PRESTO_DECIMALS = 2 };
static const double DM_MAX = 1e9;

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

/* PRESTO's tools and sifting.py know DMs by two decimals. */
int64_t psr_sift_dm_key(double dm, bool presto)
{
    char text[DM_TEXT];
    if (!presto)
        return llrint(dm * PSR_SIFT_KEYS_PER_DM);
    psr_c_locale_snprintf(text, sizeof text, "%.2f", dm);
    return llrint(psr_c_locale_strtod(text, NULL) * 100);
}

/* --- names ------------------------------------------------------------------------------------ */

/* As sifting.py: the first DM with two decimals, of which it reads no more. */
static int find_presto_dm(const char *path, double *dm)
{
    char text[DM_TEXT];
    for (const char *at = path; (at = strstr(at, "DM")); at += 2) {
        const char *number = at + 2;
        size_t n = 0;
        while (is_digit(number[n]))
            n++;
        if (n == 0 || n + 4 > sizeof text || number[n] != '.' || !is_digit(number[n + 1]) ||
            !is_digit(number[n + 2]))
            continue;
        snprintf(text, sizeof text, "%.*s", (int)n + 1 + PRESTO_DECIMALS, number);
        return psr_series_read_dm(text, dm);
    }
    return -1;
}

int psr_sift_dm_of_name(const char *path, bool presto, double *dm)
{
    return presto ? find_presto_dm(path, dm) : psr_series_find_dm(path, dm);
}

/* --- the list of DMs -------------------------------------------------------------------------- */

static psr_status add_key(struct psr_sift *s, int64_t key, psr_err *err)
{
    psr_status st = psr_grow(&s->dm_key, &s->dm_room, s->ndm, sizeof *s->dm_key, "DMs", err);
    if (!st)
        s->dm_key[s->ndm++] = key;
    return st;
}

psr_status psr_sift_add_dms(psr_sift *s, const double *dm, size_t n, psr_err *err)
{
    psr_status st = PSR_OK;
    s->dms_given |= n > 0;
    for (size_t i = 0; i < n && !st; i++)
        st = fabs(dm[i]) < DM_MAX
                 ? add_key(s, psr_sift_dm_key(dm[i], s->d.presto), err)
                 : psr_fail_field(err, PSR_EINVAL, "dm", "sift: dm = %g, must be below 1e9", dm[i]);
    return st;
}

/* "_030M_": a part of 30 minutes, for which ACCEL_sift.py takes the DMs of the lists. */
static bool is_part(const char *name)
{
    for (const char *at = name; (at = strchr(at, '_')); at++)
        if (is_digit(at[1]) && is_digit(at[2]) && is_digit(at[3]) && at[4] == 'M' && at[5] == '_')
            return true;
    return false;
}

/* Beginnings of names, up to and with DM, sorted. */
static psr_status list_roots(struct psr_names *roots, const struct psr_sift *s, size_t first,
                             psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = first; i < s->nlist && !st; i++) {
        const char *path = s->list[i].path, *number = psr_series_dm_text(s->list[i].file);
        char *root = strndup(path, (size_t)((number ? number : s->list[i].file) - path));
        st = root ? psr_names_add(roots, root, err) : psr_fail_nomem(err, "names", 64);
        free(root);
    }
    psr_names_sort(roots);
    return st;
}

/* An .inf file whose root is one of the lists'. */
static psr_status add_inf(struct psr_sift *s, const struct psr_names *roots, const char *folder,
                          const char *name, psr_err *err)
{
    double dm = 0;
    const char *number = psr_series_dm_text(name);
    if (!number || psr_series_read_dm(number, &dm) < 0)
        return PSR_OK;
    const size_t n = strlen(folder) + (size_t)(number - name) + 1;
    char *root = malloc(n);
    if (!root)
        return psr_fail_nomem(err, name, (double)n);
    snprintf(root, n, "%s%.*s", folder, (int)(number - name), name);
    const bool known = psr_names_find(roots, root) != NULL;
    free(root);
    return known ? psr_sift_add_dms(s, &dm, 1, err) : PSR_OK;
}

/* As ACCEL_sift.py: all *DM*.inf, by what follows the last DM. */
static psr_status add_presto_inf(struct psr_sift *s, const char *name, psr_err *err)
{
    const char *last = NULL;
    double dm = 0;
    for (const char *at = name; (at = strstr(at, "DM")); at += 2)
        last = at + 2;
    if (!last || !is_digit(*last) || psr_series_read_dm(last, &dm) < 0)
        return PSR_OK;
    s->dms_of_lists |= is_part(name);
    return psr_sift_add_dms(s, &dm, 1, err);
}

static psr_status add_name(struct psr_sift *s, const struct psr_names *roots, const char *folder,
                           const char *name, psr_err *err)
{
    return !psr_path_ends(name, ".inf") || *name == '.' ? PSR_OK
           : s->d.presto                                ? add_presto_inf(s, name, err)
                                                        : add_inf(s, roots, folder, name, err);
}

/* Whether lists that were read may be in it: all are opened only for presto. */
static bool is_known(const struct psr_names *roots, bool presto, const char *path)
{
    const size_t n = strlen(path) - strlen(".lists");
    for (size_t i = 0; i < roots->n && !presto; i++)
        if (!strncmp(roots->name[i], path, n) && roots->name[i][n] == '_')
            return true;
    return presto;
}

/* The .inf files in ROOT.lists.  What is no such file holds none. */
static psr_status add_members(struct psr_sift *s, const struct psr_names *roots, const char *folder,
                              const char *name, psr_err *err)
{
    struct psr_names all = {.n = 0};
    const size_t n = strlen(folder) + strlen(name) + 1;
    char *path = malloc(n);
    psr_status st = path ? PSR_OK : psr_fail_nomem(err, name, (double)n);
    if (path)
        snprintf(path, n, "%s%s", folder, name);
    if (path && is_known(roots, s->d.presto, path) && psr_lists_names(&all, path, NULL) == PSR_OK)
        for (size_t i = 0; i < all.n && !st; i++)
            st = add_name(s, roots, folder, psr_path_file(all.name[i]), err);
    psr_names_clear(&all);
    free(path);
    return st;
}

/* Given:  folder   with its slash, or empty */
static psr_status scan_folder(struct psr_sift *s, const struct psr_names *roots, const char *folder,
                              psr_err *err)
{
    DIR *dir = opendir(*folder ? folder : ".");
    psr_status st = PSR_OK;
    for (struct dirent *e; dir && !st && (e = readdir(dir));)
        st = psr_is_lists(e->d_name) ? add_members(s, roots, folder, e->d_name, err)
                                     : add_name(s, roots, folder, e->d_name, err);
    if (dir)
        closedir(dir);
    return st;
}

psr_status psr_sift_find_dms(struct psr_sift *s, size_t first, psr_err *err)
{
    struct psr_names roots = {.n = 0};
    char *last = NULL;
    psr_status st = list_roots(&roots, s, first, err);
    for (size_t i = 0; i < roots.n && !st; i++) {
        const char *root = roots.name[i];
        const size_t n = (size_t)(psr_path_file(root) - root);
        if (last && strlen(last) == n && !strncmp(last, root, n))
            continue;
        free(last);
        last = strndup(root, n);
        st = last ? scan_folder(s, &roots, last, err) : psr_fail_nomem(err, "names", (double)n);
    }
    free(last);
    psr_names_clear(&roots);
    return st;
}

/* --- problems --------------------------------------------------------------------------------- */

PSR_COMPARE_VALUES(compare_keys, int64_t);

static void sort_dms(struct psr_sift *s)
{
    size_t n = 0;
    if (s->ndm)
        qsort(s->dm_key, s->ndm, sizeof *s->dm_key, compare_keys);
    for (size_t i = 0; i < s->ndm; i++)
        if (n == 0 || s->dm_key[n - 1] != s->dm_key[i])
            s->dm_key[n++] = s->dm_key[i];
    s->ndm = n;
}

static psr_status add_lists(struct psr_sift *s, psr_err *err)
{
    psr_status st = PSR_OK;
    const bool wanted = !s->d.presto || s->dms_of_lists || !s->dms_given;
    for (size_t i = 0; i < s->nlist && wanted && !st; i++)
        st = add_key(s, s->list[i].dm_key, err);
    sort_dms(s);
    return st;
}

/* Place of a list's DM, from 1. */
static psr_status find_dm(const struct psr_sift *s, size_t list, int64_t *place, psr_err *err)
{
    const int64_t *found =
        s->ndm ? bsearch(&s->list[list].dm_key, s->dm_key, s->ndm, sizeof *s->dm_key, compare_keys)
               : NULL;
    *place = found ? found - s->dm_key + 1 : 0;
    if (found)
        return PSR_OK;
    return psr_fail_field(err, PSR_EFORMAT, "DM", "%s: DM = %.2f is not that of a *DM*.inf file",
                          s->list[list].path, s->list[list].dm);
}

/* What the hits of a candidate say. */
struct hits {
    size_t n;        /* sifting.py: all; else different DMs */
    int64_t closest; /* of two: difference of their places */
    double best_dm;  /* of the hit of highest sigma, the first of equals */
    int64_t place;   /* of the candidate's own DM, from 0 */
};

static psr_status look_at_hits(const struct psr_sift *s, const struct psr_sift_entry *e,
                               size_t self, int64_t *place, struct hits *hits, psr_err *err)
{
    double best = -INFINITY;
    size_t n = 0;
    psr_status st = PSR_OK;
    for (size_t id = self; id != PSR_SIFT_NONE && !st; id = s->all.entry[id].next) {
        const struct psr_sift_entry *h = &s->all.entry[id];
        st = find_dm(s, h->list, &place[n++], err);
        if (h->sigma > best)
            hits->best_dm = s->list[h->list].dm;
        best = h->sigma > best ? h->sigma : best;
    }
    hits->place = place[0] - 1;
    qsort(place, n, sizeof *place, compare_keys);
    *hits = (struct hits){e->nhit, INT64_MAX, hits->best_dm, hits->place};
    for (size_t k = 1; k < n; k++) {
        const int64_t step = place[k] - place[k - 1];
        hits->n -= !s->d.presto && step == 0;
        if ((step > 0 || s->d.presto) && step < hits->closest)
            hits->closest = step;
    }
    return st;
}

/* sifting.py's rules. */
static enum psr_sift_reason judge_presto(const struct psr_sift *s, const struct hits *hits)
{
    if ((int64_t)hits->n < s->d.min_num_dms)
        return PSR_SIFT_FEW_DMS;
    if (hits->best_dm <= s->d.low_dm_cutoff)
        return PSR_SIFT_LOW_DM;
    return hits->n > 1 && hits->closest > 1 ? PSR_SIFT_DM_GAPS : PSR_SIFT_GOOD;
}

/* What noise cannot explain is rejected only if its curve over DM is not what it would be: found at fewer
 * DMs than expected, or at DM 0. */
static enum psr_sift_reason judge_hits(const struct psr_sift *s, const struct psr_sift_entry *e,
                                       const struct hits *hits)
{
    const int64_t n = (int64_t)hits->n, least = s->d.min_num_dms > 2 ? s->d.min_num_dms : 2;
    const bool few = n<s->d.min_num_dms, gaps = n> 1 && hits->closest > 1;
    if (few || gaps) {
        const int64_t expected =
            e->sigma < psr_sift_sure_sigma ? least : psr_sift_expect_dms(s, e, hits->place, least);
        if (few && n < expected)
            return PSR_SIFT_FEW_DMS;
        if (gaps && expected > 1)
            return PSR_SIFT_DM_GAPS;
    }
    return hits->best_dm <= s->d.low_dm_cutoff && e->verdict == PSR_SIFT_UNDISPERSED
               ? PSR_SIFT_LOW_DM
               : PSR_SIFT_GOOD;
}

psr_status psr_sift_dm_problems(struct psr_sift *s, psr_err *err)
{
    psr_status st = add_lists(s, err);
    int64_t *place = malloc((s->all.n + 1) * sizeof *place);
    if (!place)
        st = psr_fail_nomem(err, "hits", 8.0 * (double)s->all.n);
    for (size_t k = 0; k < s->norder && !st; k++) {
        struct psr_sift_entry *e = &s->all.entry[s->order[k]];
        struct hits hits = {0};
        st = look_at_hits(s, e, s->order[k], place, &hits, err);
        if (!s->d.presto)
            psr_sift_compare_dms(s, s->order[k]);
        e->reason = s->d.presto ? judge_presto(s, &hits) : judge_hits(s, e, &hits);
    }
    free(place);
    psr_sift_drop(s);
    return st;
}
