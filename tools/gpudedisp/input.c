/* From the command line to trials, the source and the channels wanted. */
#include "base/path.h"
#include "gpudedisp.h"

#include <psrkit/delays.h>
#include <psrkit/lists.h>
#include <stdlib.h>
#include <string.h>

enum { READERS = 8 }; /* threads that copy a file from the page cache as fast as memory goes */

static struct psr_notes job_notes(struct gpudedisp_job *j)
{
    return (struct psr_notes){.note = j->opt.quiet ? NULL : cli_note, .ctx = &j->tool};
}

const char *gpudedisp_input_name(const struct gpudedisp_job *j)
{
    return psr_path_called(j->path[0]);
}

psr_status gpudedisp_open_source(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    struct psr_source_desc desc = {
        .path = (const char *const *)j->path,
        .npath = j->npath,
        .input = o->filterbank ? PSR_INPUT_SIGPROC
                 : o->psrfits  ? PSR_INPUT_PSRFITS
                               : PSR_INPUT_AUTO,
        .if_choice = (int)o->if_choice,
        .invert = o->invert,
        .no_weights = o->no_weights,
        .no_scales = o->no_scales,
        .no_offsets = o->no_offsets,
        .as_presto = o->compat != NULL,
        .runavg = o->runavg,
        .skip = o->offset,
        .nthread = j->nthread < READERS ? j->nthread : READERS,
        .notes = job_notes(j),
    };
    psr_status st = psr_source_open(&j->source, &desc, &j->err);
    if (st != PSR_OK || o->start == 0)
        return st;
    /* A fraction is known in spectra only once the input has been opened. */
    int64_t nsamp = psr_source_obs(j->source)->nsamp;
    if (nsamp < 0)
        return psr_fail(&j->err, PSR_EINVAL, "%s: -start needs an input of known length",
                        gpudedisp_input_name(j));
    desc.skip = (int64_t)(o->start * (double)(nsamp + o->offset));
    if (o->compat && (st = gpudedisp_compat_skip(j, nsamp + o->offset, &desc.skip)) != PSR_OK)
        return st;
    desc.notes.note = NULL;
    psr_source_close(j->source);
    j->source = NULL;
    return psr_source_open(&j->source, &desc, &j->err);
}

static psr_status make_line(struct gpudedisp_job *j)
{
    j->line = calloc(1, sizeof *j->line);
    if (!j->line)
        return psr_fail_nomem(&j->err, "a plan", sizeof *j->line);
    j->nline = 1;
    *j->line =
        (struct gpudedisp_line){.ndm = j->ndm, .downsamp = j->opt.downsamp, .nsub = j->opt.nsub};
    return PSR_OK;
}

psr_status gpudedisp_make_trials(struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    psr_status st = psr_parse_dmconst(o->dmconst, &j->dmconst, &j->err);
    if (st != PSR_OK)
        return st;
    if (o->plan)
        return gpudedisp_read_plan(j);
    if (o->dms) {
        st = psr_dms_read(o->dms, &j->dm, &j->ndm, &j->err);
    } else {
        j->ndm = (size_t)o->numdms;
        st = psr_dms_grid(o->lodm, o->dmstep, j->ndm, &j->dm, &j->err);
    }
    return st ? st : make_line(j);
}

psr_status gpudedisp_choose_channels(struct gpudedisp_job *j)
{
    const struct psr_obs *obs = psr_source_obs(j->source);
    j->keep = malloc(obs->nchan);
    if (!j->keep)
        return psr_fail_nomem(&j->err, "the channel mask", (double)obs->nchan);
    memset(j->keep, 1, obs->nchan);
    if (!j->opt.ignorechan || (j->opt.compat && psr_source_inf(j->source)))
        return PSR_OK;
    bool ascending = psr_obs_freq_mhz(obs, 0) < psr_obs_freq_mhz(obs, obs->nchan - 1);
    return psr_ignore_channels(j->opt.ignorechan, obs->nchan, ascending, j->keep, &j->err);
}
