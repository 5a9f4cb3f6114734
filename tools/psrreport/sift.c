/* Sifts the lists of searches of a folder that has no sifted list. */
#include "psrreport.h"

#include <psrkit/experimental/sift.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(void *ctx, const char *path, const psr_err *why)
{
    (void)path;
    report_refuse(ctx, why);
}

static psr_status name_lists(const struct report *r, struct psr_names *lists, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++) {
        if (!report_is_search_list(r->files.name[i]))
            continue;
        char *path = report_path(r, r->files.name[i]);
        st = path ? psr_names_add(lists, path, err)
                  : psr_fail_nomem(err, r->files.name[i], (double)strlen(r->files.name[i]));
        free(path);
    }
    return st;
}

static psr_status take(struct report *r, const struct psr_sift_cand *from, psr_err *err)
{
    struct report_cand c = {
        .value = {[CAND_NUMBER] = (double)from->number,
                  [CAND_DM] = from->dm,
                  [CAND_SNR] = from->snr,
                  [CAND_SIGMA] = from->sigma,
                  [CAND_NUMHARM] = from->nharm,
                  [CAND_PERIOD_S] = from->period_s,
                  [CAND_FREQ_HZ] = from->freq_hz,
                  [CAND_R] = from->r,
                  [CAND_Z] = from->z,
                  [CAND_TOBS_S] = from->tobs_s,
                  [CAND_ACCEL_MS2] = from->z * PSR_LIGHT_M_S / (from->tobs_s * from->r),
                  [CAND_NUMHITS] = (double)from->nhit}};
    static const char *const searches[] = {"", "fourier", "ffa", "fourier,ffa"};
    psr_sift_name_marks(c.marks, from->marks);
    snprintf(c.found, sizeof c.found, "%s",
             searches[from->found & (PSR_SIFT_BY_FOURIER | PSR_SIFT_BY_FFA)]);
    return report_add_candidate(r, &c, from->file, "", err);
}

/* What the mask's tool has found; a list that is wrong is refused. */
static psr_status read_lines(struct report *r, struct psr_zaplist *lines, psr_err *err)
{
    psr_err why;
    for (size_t i = 0; i < r->files.n; i++) {
        if (!psr_path_ends(r->files.name[i], "_rfifind.zaplist"))
            continue;
        char *path = report_path(r, r->files.name[i]);
        if (!path)
            return psr_fail_nomem(err, r->files.name[i], (double)strlen(r->files.name[i]));
        if (psr_zaplist_read(lines, path, &why))
            report_refuse(r, &why);
        free(path);
        break;
    }
    return PSR_OK;
}

psr_status report_sift(struct report *r, psr_err *err)
{
    struct psr_sift_desc desc;
    struct psr_names lists = {0};
    struct psr_zaplist lines = {0};
    struct psr_sift_result result;
    psr_sift *s = NULL;
    psr_sift_defaults(&desc);
    desc.refuse = refuse;
    desc.ctx = r;
    desc.lines = &lines;
    psr_status st = name_lists(r, &lists, err);
    if (!st)
        st = read_lines(r, &lines, err);
    if (!st)
        st = psr_sift_create(&s, &desc, err);
    if (!st)
        st = psr_sift_read(s, (const char *const *)lists.name, lists.n, err);
    if (!st)
        st = psr_sift_execute(s, &result, err);
    for (size_t i = 0; !st && i < result.ncand; i++)
        st = take(r, &result.cand[i], err);
    psr_sift_destroy(s);
    psr_names_clear(&lists);
    psr_zaplist_clear(&lines);
    return st;
}
