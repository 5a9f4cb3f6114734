/* Remarks and errors, one line each. */
#include "gpuaccel-pulscan.h"

#include <string.h>

void accel_report(struct accel_job *j, const char *path, const psr_err *err)
{
    psr_err named = *err;
    if (err->code == PSR_ESTOPPED) /* the signal ends the tool */
        return;
    if (path && !strstr(err->msg, path))
        psr_fail(&named, err->code, "%s: %s", path, err->msg);
    j->code = cli_worse(j->code, cli_report(&j->tool, &named));
    j->nfailed++;
}

static struct psr_notes notes_of(struct accel_job *j)
{
    return (struct psr_notes){j->opt.quiet ? NULL : cli_note, &j->tool};
}

/* Thousands of files would each say the same. */
void accel_note_inf(struct accel_job *j, const struct accel_file *file)
{
    const struct psr_inf *inf = &file->about.inf;
    const struct psr_notes notes = notes_of(j);
    const bool artificial = !strcmp(inf->telescope, "None (Artificial Data Set)");
    if (file->about.odd && !j->odd_told)
        psr_note(&notes,
                 "%s: %lld samples, an odd number: the last one is left out, here and in other "
                 "files",
                 file->path, (long long)(2 * file->about.nbin + 1));
    if (!inf->has_epoch && !artificial && !j->epoch_told)
        psr_note(&notes, "%s: its .inf has no epoch of observation, which counts as MJD 0",
                 file->path);
    j->odd_told |= file->about.odd;
    j->epoch_told |= !inf->has_epoch && !artificial;
}

void accel_note_ignored(struct accel_job *j)
{
    const struct psr_notes notes = notes_of(j);
    const struct psr_fourier_desc *d = &j->opt.fourier.search;
    if (d->wmax > 0 && !d->matched)
        psr_note(&notes, "-wmax is ignored: boxcars tolerate jerk");
    if (d->presto && (d->rlo >= 0 || d->rhi >= 0))
        psr_note(&notes, "-compat presto: -rlo and -rhi are not used, as accelsearch ignores them");
}

void accel_note_red_noise(struct accel_job *j, const char *path, const struct psr_fourier_result *r)
{
    const struct psr_notes notes = notes_of(j);
    j->said_red = j->said_red || psr_fourier_note_red_noise(r, path, &notes);
}

void accel_note_left_out(struct accel_job *j, const char *path, size_t left_out)
{
    const struct psr_notes notes = notes_of(j);
    if (left_out > 0)
        psr_note(&notes,
                 "%.300s: %zu more candidates are left out: -maxcands %lld (is there interference "
                 "to -zaplist, or -rednoise to take out?)",
                 path, left_out, (long long)j->opt.fourier.search.maxcands);
}
