/* Writes the results of a search: lists of accelsearch, of Pulscan, and tables. */
#include "gpuaccel-pulscan.h"

#include <psrkit/obs.h>
#include <psrkit/signif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Pulscan's list --------------------------------------------------------------------------- */

static int by_sigma(const void *pa, const void *pb)
{
    const struct psr_pulscan_hit *a = pa, *b = pb;
    if (a->sigma > b->sigma || a->sigma < b->sigma)
        return a->sigma > b->sigma ? -1 : 1;
    return 0;
}

/* Its numbers are floats.  Its logarithm of p is that of a box one bin narrower, which is none for
 * z = 0. */
static psr_status write_pulscan_row(psr_outfile *f, const struct psr_pulscan_hit *hit, int64_t nbin,
                                    float tbin_s, psr_err *err)
{
    const float tobs_s = (float)nbin * tbin_s * 2, hz = (float)hit->r / tobs_s;
    const float period_ms = (float)(1000.0 / (double)hz);
    const float fdot = (float)hit->z / (tobs_s * tobs_s);
    const float accel = (float)((double)fdot * PSR_LIGHT_M_S / (double)hz);
    const double dof = psr_pulscan_dof(hit->nharm, hit->z - 1);
    char logp[32] = "          -nan";
    if (hit->z > 0)
        snprintf(logp, sizeof logp, "%14.6f",
                 (double)(float)psr_chi2_logp((double)hit->power, dof).ln_sf);
    return psr_outfile_printf(f, err,
                              "%10.6f %10.4f %10.6f %14.6f %10ld %14.8f %10d %14.6f %s %10d\n",
                              hit->sigma, (double)hit->power, (double)period_ms, (double)hz,
                              (long)hit->r, (double)fdot, hit->z, (double)accel, logp, hit->nharm);
}

static psr_status write_pulscan(struct accel_job *j, const struct accel_file *file,
                                const struct psr_pulscan_result *found, psr_outfile *f)
{
    struct psr_pulscan_hit *hit = malloc((found->nhit + 1) * sizeof *hit);
    if (!hit)
        return psr_fail_nomem(&j->err, "hits", (double)found->nhit * sizeof *hit);
    if (found->nhit > 0)
        memcpy(hit, found->hit, found->nhit * sizeof *hit);
    qsort(hit, found->nhit, sizeof *hit, by_sigma);
    psr_status st = psr_outfile_printf(
        f, &j->err, "%10s %10s %10s %14s %10s %14s %10s %14s %14s %10s\n", "sigma", "power",
        "period_ms", "frequency_hz", "rbin", "f-dot", "z", "acceleration", "logp", "harmonic");
    for (size_t i = 0; i < found->nhit && st == PSR_OK; i++)
        st =
            write_pulscan_row(f, &hit[i], file->about.nbin, (float)file->about.inf.tbin_s, &j->err);
    free(hit);
    return st;
}

/* --- accelsearch's files ---------------------------------------------------------------------- */

/* What goes into the files of one input. */
struct output {
    const struct accel_file *file;
    psr_output_group *group;
    const struct psr_pulscan_result *found; /* NULL: no boxes were searched */
    struct psr_accel_list list;
};

typedef psr_status write_function(struct accel_job *, const struct output *, psr_outfile *);

static psr_status write_text(struct accel_job *j, const struct output *out, psr_outfile *f)
{
    char *inf;
    const char *path = out->file->path;
    if (out->file->about.odd) { /* whose .inf counts one sample more */
        psr_status st = psr_accel_write(f, &out->list, NULL, &j->err);
        return st == PSR_OK ? psr_inf_write(f, &out->file->about.inf, &j->err) : st;
    }
    inf = psr_path_beside(path, ".inf");
    if (!inf)
        return psr_fail_nomem(&j->err, path, (double)strlen(path));
    psr_status st = psr_accel_write(f, &out->list, inf, &j->err);
    free(inf);
    return st;
}

static psr_status write_records(struct accel_job *j, const struct output *out, psr_outfile *f)
{
    return psr_accel_write_cand(f, &out->list, &j->err);
}

/* Of a matched search, the candidates. */
static psr_status write_places(struct accel_job *j, const struct output *out, psr_outfile *f)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < out->list.ncand && st == PSR_OK; i++) {
        const struct psr_accel_cand *c = &out->list.cand[i];
        st = psr_accel_write_txtcand(f, c->power, c->sigma, c->nharm, c->r.value, c->z.value,
                                     c->w.value, out->list.tobs_s, &j->err);
    }
    return st;
}

static psr_status write_hits(struct accel_job *j, const struct output *out, psr_outfile *f)
{
    char mark[ACCEL_SUFFIX];
    accel_mark(&j->opt, mark);
    psr_status st = psr_outfile_printf(f, &j->err, "%s", mark);
    if (j->opt.matched)
        return st == PSR_OK ? write_places(j, out, f) : st;
    size_t n = out->found->nhit, most = 100 * (size_t)j->opt.maxcands;
    for (size_t i = 0; i < n && (most == 0 || i < most) && st == PSR_OK; i++) {
        const struct psr_pulscan_hit *h = &out->found->hit[i];
        st = psr_accel_write_txtcand(f, (double)h->power / 2, h->sigma, h->nharm, h->r, h->z, 0,
                                     out->list.tobs_s, &j->err);
    }
    return st;
}

static psr_status write_pulscand(struct accel_job *j, const struct output *out, psr_outfile *f)
{
    return write_pulscan(j, out->file, out->found, f);
}

static psr_status add_file(struct accel_job *j, const struct output *out, const char *root,
                           const char *suffix, write_function *write)
{
    psr_outfile *f = NULL;
    char *path = NULL;
    if (asprintf(&path, "%s%s", root, suffix) < 0)
        return psr_fail_nomem(&j->err, root, (double)strlen(root));
    psr_status st = write ? psr_output_group_add(out->group, path, &f, &j->err)
                          : psr_output_group_drop(out->group, path, &j->err);
    if (st == PSR_OK && write)
        st = write(j, out, f);
    free(path);
    return st;
}

/* As accelsearch: without candidates there is only an empty .txtcand, and lists of an earlier search
 * go.  The text comes last, since it is what others look for. */
static psr_status add_lists(struct accel_job *j, const struct output *out, const char *root)
{
    bool some = out->list.ncand > 0;
    char text[ACCEL_SUFFIX], cand[ACCEL_SUFFIX], txtcand[ACCEL_SUFFIX];
    accel_suffix(&j->opt, ACCEL_TEXT, text);
    accel_suffix(&j->opt, ACCEL_CAND, cand);
    accel_suffix(&j->opt, ACCEL_TXTCAND, txtcand);
    psr_status st = add_file(j, out, root, txtcand, write_hits);
    if (st == PSR_OK)
        st = add_file(j, out, root, cand, some ? write_records : NULL);
    return st == PSR_OK ? add_file(j, out, root, text, some ? write_text : NULL) : st;
}

/* The group is gone, whatever the status. */
static psr_status write_files(struct accel_job *j, const struct output *out)
{
    char text[ACCEL_SUFFIX];
    char *root = accel_output_root(j, out->file->path);
    psr_status st = root ? PSR_OK : psr_fail_nomem(&j->err, out->file->path, 0);
    accel_suffix(&j->opt, 0, text);
    if (st == PSR_OK)
        st =
            j->opt.pulscan ? add_file(j, out, root, text, write_pulscand) : add_lists(j, out, root);
    if (st == PSR_OK)
        st = psr_output_group_commit(out->group, &j->err);
    else
        psr_output_group_abort(out->group);
    free(root);
    return st;
}

/* --- all -------------------------------------------------------------------------------------- */

static psr_status write_output(struct accel_job *j, const struct output *out)
{
    if (!j->table)
        return write_files(j, out);
    psr_output_group_abort(out->group);
    if (j->opt.json)
        return psr_accel_write_json(j->table, &out->list, out->file->path, &j->err);
    return psr_accel_write_csv(j->table, &out->list, out->file->path, &j->err);
}

static void note_left_out(struct accel_job *j, const char *path, size_t left_out)
{
    char text[512];
    snprintf(text, sizeof text,
             "%.300s: %zu more candidates are left out: -maxcands %lld (is there interference to "
             "-zaplist, or -rednoise to take out?)",
             path, left_out, (long long)j->opt.maxcands);
    if (!j->opt.quiet)
        cli_note(&j->tool, text);
}

/* The boxes' candidates. */
static psr_status list_boxes(struct accel_job *j, struct accel_batch *b, size_t s,
                             struct psr_measured *measured, size_t *left_out)
{
    const struct accel_options *o = &j->opt;
    const struct psr_pulscan_result *found = &b->result[s];
    struct psr_pulscan_cand *cand = NULL;
    size_t n = 0;
    const struct psr_pulscan_merge_desc merge = {.size = sizeof merge,
                                                 .keep_harmonics = o->noharmremove,
                                                 .max = (size_t)o->maxcands,
                                                 .plan = o->rblock ? NULL : b->plan,
                                                 .spec = s};
    const struct psr_refine_desc measure = {.size = sizeof measure,
                                            .zmax = (int)o->zmax,
                                            .boxes_only = o->rblock,
                                            .zap = j->zap,
                                            .nzap = j->nzap,
                                            .nthread = (int)o->ncpus};
    psr_status st =
        psr_pulscan_merge(found->hit, found->nhit, &merge, &cand, &n, left_out, &j->err);
    if (st == PSR_OK)
        st = psr_candidate_refine(measured, b->plan, s, cand, n, &measure, &j->err);
    j->ncand += o->confirm ? 0 : n;
    free(cand);
    return st;
}

/* Of the matched search's, those around boxes.
 * Returned: *kept, malloc'd: out->list is that */
static psr_status list_confirmed(struct accel_job *j, const struct psr_pulscan_result *boxes,
                                 const struct psr_accelsearch_result *found, struct output *out,
                                 struct psr_accel_cand **kept, size_t *left_out)
{
    const size_t most = (size_t)j->opt.maxcands;
    size_t n;
    psr_status st = psr_accelsearch_join(found, NULL, 0, kept, &n, &j->err);
    if (st == PSR_OK)
        st = accel_confirm(j, boxes, *kept, &n);
    *left_out = most > 0 && n > most ? n - most : 0;
    out->list.cand = *kept;
    out->list.ncand = n - *left_out;
    j->ncand += out->list.ncand;
    return st;
}

/* The matched search's, and behind them those of boxes.
 * Returned: *joined, malloc'd, where there are boxes too: out->list is that */
static psr_status add_matched(struct accel_job *j, struct accel_batch *b, size_t s,
                              const struct psr_measured *boxes, struct output *out,
                              struct psr_accel_cand **joined, size_t *left_out)
{
    struct psr_accelsearch_result found;
    psr_status st = accel_matched_result(j, b, s, &found);
    if (st != PSR_OK)
        return st;
    if (j->opt.confirm)
        return list_confirmed(j, &b->result[s], &found, out, joined, left_out);
    *left_out += found.nleft;
    j->ncand += found.ncand;
    out->list.cand = found.cand;
    out->list.ncand = found.ncand;
    if (!b->plan)
        return PSR_OK;
    st = psr_accelsearch_join(&found, boxes->cand, boxes->n, joined, &out->list.ncand, &j->err);
    out->list.cand = *joined;
    return st;
}

/* Of the best of n candidates; the matched search's spectrum is whitened in place. */
static psr_status keep_plane(struct accel_job *j, struct accel_batch *b, size_t s,
                             const struct psr_accel_cand *cand, size_t n)
{
    const struct accel_file *file = &b->file[s];
    const struct planeplot_bins bins = {
        .plan = j->opt.matched ? NULL : b->plan, .s = s, .x = b->in[s], .nbin = file->about.nbin};
    if (!j->opt.plot || n == 0)
        return PSR_OK;
    return planeplot_keep(&j->plane, &bins, cand, file->about.tobs_s, file->path, &j->err);
}

psr_status accel_write(struct accel_job *j, struct accel_batch *b, size_t s)
{
    const struct accel_options *o = &j->opt;
    struct output out = {.file = &b->file[s], .found = b->plan ? &b->result[s] : NULL};
    struct psr_measured measured = {0};
    struct psr_accel_cand *joined = NULL;
    size_t left_out = 0;
    psr_status st = PSR_OK;
    out.list.tobs_s = out.file->about.tobs_s;
    out.list.jerk = o->matched && o->wmax > 0;
    if (b->plan && !o->pulscan)
        st = list_boxes(j, b, s, &measured, &left_out);
    else if (b->plan)
        j->ncand += out.found->nhit;
    if (st == PSR_OK && !o->matched)
        st = keep_plane(j, b, s, measured.cand, measured.n);
    if (st == PSR_OK && b->plan)
        accel_note_red_noise(j, b, s, &measured);
    out.list.cand = measured.cand;
    out.list.ncand = measured.n;
    if (st == PSR_OK && o->matched) /* which leaves no spectrum as it was */
        st = add_matched(j, b, s, &measured, &out, &joined, &left_out);
    if (st == PSR_OK && o->matched)
        st = keep_plane(j, b, s, out.list.cand, out.list.ncand);
    if (st == PSR_OK) {
        out.group = b->file[s].group;
        b->file[s].group = NULL;
        st = write_output(j, &out);
    }
    if (st == PSR_OK && left_out > 0)
        note_left_out(j, out.file->path, left_out);
    psr_measured_clear(&measured);
    free(joined);
    return st;
}
