/* Cleans spectra as gpudedisp does, by the same stage. */
#include "edit_state.h"

static bool cleans(const struct psr_edit_desc *d)
{
    return d->mask || d->clip_sigma > 0 || d->zerodm || d->clean_auto;
}

/* What replaces samples is no whole number: of integers it is rounded with the values. */
psr_status psr_edit_clean_create(psr_edit *p, psr_err *err)
{
    const struct psr_edit_desc *d = &p->d;
    p->nbit = p->in.nbit;
    p->kind = p->in.kind;
    if (!cleans(d))
        return PSR_OK;
    psr_status st = psr_stage_clean_create(
        &p->clean,
        &(struct psr_stage_clean_desc){.input = p->input,
                                       .obs = &p->cut,
                                       .from_subbands = psr_source_inf(p->source) != NULL,
                                       .mask = d->mask,
                                       .clip_sigma = d->clip_sigma,
                                       .zerodm = d->zerodm,
                                       .floats = true,
                                       .automatic = d->clean_auto,
                                       .nthread = p->nthread},
        err);
    if (st)
        return st;
    p->nbit = psr_stage_clean_nbit(p->clean);
    p->kind = psr_stage_clean_kind(p->clean);
    return PSR_OK;
}

psr_status psr_edit_clean_run(psr_edit *p, const uint8_t **rows, size_t *n, psr_err *err)
{
    struct psr_block block = {.spectra = p->read, .n = *n};
    psr_status st = psr_stage_clean_run(p->clean, &block, err);
    *rows = block.spectra;
    *n = st ? 0 : block.n;
    return st;
}
