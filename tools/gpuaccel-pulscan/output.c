/* Writes the results of a search: lists, and tables. */
#include "gpuaccel-pulscan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static psr_status write_output(struct accel_job *j, struct accel_file *file,
                               const struct psr_fourier_result *result)
{
    psr_output_group *group = file->group;
    file->group = NULL;
    if (!j->table) {
        /* The group is gone, whatever the status. */
        char *root = accel_output_root(j, file->path), *inf = psr_path_beside(file->path, ".inf");
        /* That of an odd length counts one sample more. */
        const bool own = !file->about.odd && accel_has_inf(file->path);
        const struct psr_fourier_origin origin = {&file->about.inf, own ? inf : NULL};
        psr_status st = root && inf ? PSR_OK : psr_fail_nomem(&j->err, file->path, 0);
        if (!st)
            st = psr_fourier_write(&j->opt.fourier.search, group, root, &origin, result, &j->err);
        if (!st)
            st = psr_output_group_commit(group, &j->err);
        else
            psr_output_group_abort(group);
        free(root);
        free(inf);
        return st;
    }
    psr_output_group_abort(group);
    if (j->opt.json)
        return psr_accel_write_json(j->table, &result->list, file->path, &j->err);
    return psr_accel_write_csv(j->table, &result->list, file->path, &j->err);
}

/* Of the best candidate; the spectrum of a matched search is whitened in place. */
static void keep_plane(struct accel_job *j, size_t slot, size_t i,
                       const struct psr_fourier_result *result)
{
    const struct accel_batch *b = &j->batch[slot];
    const struct accel_file *file = &b->file[i];
    size_t own;
    const struct accel_device *d = accel_device_of(j, b->nfile, i, &own);
    const struct planeplot_bins bins = {
        .plan = j->opt.fourier.search.matched ? NULL : psr_fourier_boxes(d->search, slot),
        .s = own,
        .x = b->in[i].x,
        .nbin = file->about.nbin};
    psr_err why;
    if (!j->plot.out || result->list.ncand == 0)
        return;
    if (planeplot_keep(&j->plane, &bins, result->list.cand, file->about.tobs_s, file->path, &why)) {
        accel_report(j, j->opt.plot, &why);
        plotfile_abort(&j->plot);
    }
}

psr_status accel_write(struct accel_job *j, size_t slot, size_t i)
{
    struct accel_file *file = &j->batch[slot].file[i];
    struct psr_fourier_result *result = &file->result;
    j->ncand += result->ncand;
    accel_note_red_noise(j, file->path, result);
    keep_plane(j, slot, i, result);
    psr_status st = write_output(j, file, result);
    if (!st)
        accel_note_left_out(j, file->path, result->left_out);
    psr_fourier_result_clear(result);
    return st;
}
