/* Implements the public functions of a beamformer. */
#include "beamformer_state.h"

#include "base/clock.h"
#include "base/copy_desc.h"
#include "base/path.h"
#include <stdlib.h>

void psr_beamformer_set_defaults(struct psr_beamformer_desc *desc, size_t size)
{
    const struct psr_beamformer_desc all = {
        .beam = -1,
        .cadence_s = 1,
        .nbits = 8,
        .device = "auto",
    };
    psr_give_desc(desc, size, &all, sizeof all);
}

psr_status psr_beamformer_create(psr_beamformer **out, const struct psr_beamformer_desc *desc,
                                 psr_err *err)
{
    double since_s = psr_seconds();
    *out = NULL;
    psr_beamformer *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a beamformer", sizeof *p);
    psr_status st = psr_beamformer_take_desc(&p->d, desc, err);
    if (!st)
        st = psr_beamformer_prepare(p, err);
    psr_charge(&p->start_s, &since_s);
    if (st)
        psr_beamformer_destroy(p);
    else
        *out = p;
    return st;
}

psr_status psr_beamformer_run(psr_beamformer *p, psr_err *err)
{
    psr_status st = psr_beamformer_loop(p, err);
    if (!st && p->rows.nrow == 0)
        st = psr_fail_field(err, PSR_EUNSUPPORTED, "tds",
                            "%s: holds %lld samples, fewer than the %zu of -tds",
                            psr_path_called(p->input.name), (long long)p->nread, p->sums.unit);
    return st;
}

psr_status psr_beamformer_finish(psr_beamformer *p, psr_err *err)
{
    double since_s = psr_seconds();
    psr_status st = psr_beam_outputs_finish(&p->outputs, &p->scales, err);
    psr_charge(&p->end_s, &since_s);
    return st;
}

void psr_beamformer_destroy(psr_beamformer *p)
{
    if (!p)
        return;
    psr_beamformer_release(p);
    free(p);
}

void psr_beamformer_describe_sized(const psr_beamformer *p, struct psr_beamformer_report *report,
                                   size_t size)
{
    const struct psr_beamformer_report all = {
        .input = p->input.name,
        .nfreq = p->input.nfreq,
        .freq_mhz = p->input.freq_mhz,
        .ndish = p->input.array.ndish,
        .m = p->input.array.m,
        .n = p->input.array.n,
        .tsamp_s = p->input.tsamp_s,
        .nsamp = p->input.nsamp,
        .sample_bytes = p->input.sample_bytes,
        .nbeam = p->directions.nbeam,
        .shortest = p->sums.tds,
        .longest = p->sums.longest,
        .plan = &p->plan_info,
        .nthread = p->nthread,
        .block = p->block,
        .kept = p->scales.kept_n,
        .nread = p->nread,
        .nrow = p->rows.nrow,
        .start_s = p->start_s,
        .read_s = p->read_s,
        .beam_s = p->beam_s,
        .write_s = p->write_s,
        .end_s = p->end_s,
    };
    psr_give_desc(report, size, &all, sizeof all);
}
