/* Scores of folds: read, given to candidates, which are ordered by them. */
#include "folds.h"

#include "tools/common/json_read.h"

#include "base/tool.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *pa, const void *pb)
{
    const struct accelsift_fold *a = pa, *b = pb;
    return strcmp(a->name, b->name);
}

static psr_status take_fold(struct accelsift_folds *folds, const struct json_value *line,
                            psr_err *err)
{
    psr_status st =
        psr_grow(&folds->fold, &folds->room, folds->n, sizeof *folds->fold, "folds", err);
    if (st)
        return st;
    struct accelsift_fold *f = &folds->fold[folds->n];
    *f = (struct accelsift_fold){.name = strdup(json_text(line, "candidate"))};
    if (!f->name)
        return psr_fail_nomem(err, "folds", 64);
    folds->n++;
    f->narrow = strstr(json_text(line, "marks"), "narrow") != NULL;
    for (int k = 0; k < PSR_CAND_NNUMBER; k++)
        f->score.number[k] = json_number(line, psr_cand_number_name((enum psr_cand_number)k));
    f->score.probability = json_number(line, "probability");
    snprintf(f->score.reasons, sizeof f->score.reasons, "%s%s%s", f->narrow ? "narrow" : "",
             f->narrow && *json_text(line, "reasons") ? "; " : "", json_text(line, "reasons"));
    return PSR_OK;
}

static psr_status take_line(struct accelsift_folds *folds, char *text, const char *path,
                            size_t number, psr_err *err)
{
    struct json_value *value = NULL;
    char what[PSR_TEXT_MAX + 64];
    snprintf(what, sizeof what, "%.255s: line %zu", path, number);
    psr_status st = json_parse(&value, text, what, err);
    if (!st)
        st = take_fold(folds, value, err);
    json_clear(value);
    return st;
}

psr_status accelsift_folds_read(struct accelsift_folds *folds, const char *path, psr_err *err)
{
    char *text = NULL;
    size_t room = 0, number = 0;
    psr_status st = PSR_OK;
    FILE *f = fopen(path, "re");
    *folds = (struct accelsift_folds){.n = 0};
    if (!f && errno == ENOENT)
        return PSR_OK;
    if (!f)
        return psr_fail_errno(err, "%s", path);
    while (!st && getline(&text, &room, f) > 0)
        if (number++, strcspn(text, "\r\n"))
            st = take_line(folds, text, path, number, err);
    if (!st && ferror(f))
        st = psr_fail_errno(err, "%s", path);
    fclose(f);
    free(text);
    if (!st && folds->n)
        qsort(folds->fold, folds->n, sizeof *folds->fold, by_name);
    return st;
}

void accelsift_folds_clear(struct accelsift_folds *folds)
{
    for (size_t i = 0; i < folds->n; i++)
        free(folds->fold[i].name);
    free(folds->fold);
    *folds = (struct accelsift_folds){.n = 0};
}

psr_status accelsift_folds_rank(const struct accelsift_folds *folds,
                                const struct psr_sift_result *result, struct psr_sift_cand **cand,
                                psr_err *err)
{
    const size_t n = result->ncand;
    char name[PSR_TEXT_MAX + 32];
    *cand = malloc((n + 1) * sizeof **cand);
    if (!*cand)
        return psr_fail_nomem(err, "candidates", (double)n * sizeof **cand);
    for (size_t i = 0; i < n; i++) {
        struct psr_sift_cand *c = &(*cand)[i];
        *c = result->cand[i];
        snprintf(name, sizeof name, "%.250s_Cand_%lld", c->file, (long long)c->number);
        const struct accelsift_fold key = {.name = name};
        struct accelsift_fold *found =
            folds->n ? bsearch(&key, folds->fold, folds->n, sizeof key, by_name) : NULL;
        c->score = found ? &found->score : NULL;
        c->marks |= found && found->narrow ? PSR_SIFT_NARROW : 0U;
    }
    return psr_cand_rank(*cand, n, err);
}
