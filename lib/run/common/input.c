/* Opens the input at its start position. */
#include "input.h"

#include "base/obs_internal.h"
#include "base/path.h"
#include "compat/presto/presto_view.h"
#include "formats/spectra/unpack.h"

static psr_status find_presto_skip(const struct psr_input_file *in,
                                   const struct psr_input_desc *desc, int64_t nsamp, int64_t *skip,
                                   psr_err *err)
{
    const struct psr_trial_list *t = desc->trials;
    const struct psr_obs *obs = psr_source_obs(in->source);
    const struct psr_inf *inf = psr_source_inf(in->source);
    struct psr_presto_view view;
    psr_presto_view_make(&view, obs, desc->source.invert);
    struct psr_compat_desc d = psr_presto_describe(
        &view, inf, psr_line_count_subbands(t->line, obs, inf != NULL), t->dm, t->ndm);
    return psr_presto_skip(&d, desc->start, nsamp, skip, err);
}

/* A fraction is known in spectra only once the input has been opened. */
static psr_status open_at_fraction(struct psr_input_file *in, const struct psr_input_desc *desc,
                                   psr_err *err)
{
    struct psr_source_desc again = desc->source;
    int64_t nsamp = psr_source_obs(in->source)->nsamp;
    psr_status st = PSR_OK;
    if (nsamp < 0)
        return psr_fail_field(err, PSR_EINVAL, "start", "%s: -start needs an input of known length",
                              in->name);
    nsamp += again.skip;
    again.skip = (int64_t)(desc->start * (double)nsamp);
    if (desc->presto)
        st = find_presto_skip(in, desc, nsamp, &again.skip, err);
    if (st)
        return st;
    again.notes.note = NULL;
    in->skip = again.skip;
    psr_source_close(in->source);
    in->source = NULL;
    return psr_source_open(&in->source, &again, err);
}

psr_status psr_input_open(struct psr_input_file *in, const struct psr_input_desc *desc,
                          psr_err *err)
{
    if (!desc->source.npath) {
        const struct psr_obs *obs = desc->obs;
        *in = (struct psr_input_file){.name = "the caller's spectra",
                                      .obs = obs,
                                      .file_nbit = obs->nbit,
                                      .row_bytes = psr_row_bytes(obs->nchan, obs->nbit)};
        return psr_obs_check(obs, in->name, err);
    }
    in->name = psr_path_called(desc->source.path[0]);
    in->skip = desc->source.skip;
    psr_status st = psr_source_open(&in->source, &desc->source, err);
    if (!st && desc->start > 0)
        st = open_at_fraction(in, desc, err);
    if (st)
        return st;
    in->obs = psr_source_obs(in->source);
    in->inf = psr_source_inf(in->source);
    in->file_nbit = psr_source_file_nbit(in->source);
    in->row_bytes = psr_source_block_bytes(in->source, 1);
    return PSR_OK;
}

void psr_input_close(struct psr_input_file *in)
{
    psr_source_close(in->source);
    *in = (struct psr_input_file){0};
}
