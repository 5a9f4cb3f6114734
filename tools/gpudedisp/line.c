/* One line of the plan: its search, and what becomes of a block in it: dedisperse, patch,
 * barycentre, write, search. */
#include "gpudedisp.h"

#include "tools/common/run.h"
#include <stdlib.h>
#include <zlib.h>

double gpudedisp_line_tsamp_s(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    return psr_source_obs(j->source)->tsamp_s * (double)l->downsamp;
}

bool gpudedisp_line_is_full(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    return j->opt.numout && l->nout >= j->opt.numout;
}

/* Where something else is done with the series, checksums only cost time. */
bool gpudedisp_wants_sums(const struct gpudedisp_job *j)
{
    return j->opt.verbose && j->opt.nowrite && !j->opt.singlepulse;
}

psr_status gpudedisp_create_search(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    const struct gpudedisp_options *o = &j->opt;
    if (!o->singlepulse)
        return PSR_OK;
    size_t *sweep = malloc(l->ndm * sizeof *sweep);
    if (!sweep)
        return psr_fail_nomem(&j->err, "the sweep of each trial", (double)l->ndm * 8);
    for (size_t i = 0; i < l->ndm; i++)
        sweep[i] = psr_dedisp_shift(l->plan, i);
    psr_status st = psr_singlepulse_create(&l->pulses,
                                           &(struct psr_singlepulse_desc){
                                               .nseries = l->ndm,
                                               .dm = j->dm + l->first,
                                               .sweep = sweep,
                                               .tsamp_s = gpudedisp_line_tsamp_s(j, l),
                                               .threshold = o->threshold,
                                               .maxwidth_s = o->maxwidth_s,
                                               .nthread = (int)o->ncpus,
                                               .block = l->stride,
                                           },
                                           &j->err);
    free(sweep);
    return st;
}

/* Appends n samples to trial i of the line, or to its checksum. */
static psr_status write_trial(struct gpudedisp_job *j, const struct gpudedisp_line *l, size_t i,
                              size_t n, psr_err *err)
{
    const float *x = j->out + i * l->stride;
    i += l->first;
    if (gpudedisp_wants_sums(j))
        j->crc[i] = crc32_z(j->crc[i], (const Bytef *)x, n * sizeof *x);
    return j->series ? psr_series_append(j->series, i, x, n, err) : PSR_OK;
}

/* Series are independent files, so all threads write. */
static psr_status write_block(struct gpudedisp_job *j, const struct gpudedisp_line *l, size_t n)
{
    psr_status st = PSR_OK;
    if (!j->series && !gpudedisp_wants_sums(j))
        return st;
#pragma omp parallel for schedule(dynamic) num_threads(j->nthread)
    for (size_t i = 0; i < l->ndm; i++) {
        psr_err err;
        psr_status mine = write_trial(j, l, i, n, &err);
        if (mine != PSR_OK) {
#pragma omp critical(gpudedisp_write)
            {
                st = mine;
                j->err = err;
            }
        }
    }
    return st;
}

/* Where a resumed run has left out the trial with the longest sweep, the others could have more
 * samples than they had with it. */
static size_t take_bound(struct gpudedisp_line *l, size_t n)
{
    if (l->most >= 0 && (int64_t)n > l->most - l->ndedispersed)
        n = (size_t)(l->most - l->ndedispersed);
    l->ndedispersed += (int64_t)n;
    return n;
}

/* Of n samples more, those that were asked for. */
static size_t limit_samples(const struct gpudedisp_job *j, const struct gpudedisp_line *l, size_t n)
{
    int64_t left = j->opt.numout - l->nout;
    return j->opt.numout && (int64_t)n > left ? (size_t)left : n;
}

static psr_status run_on_host(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    double since_s = run_seconds();
    size_t n, line = (size_t)(l - j->line);
    psr_status st = psr_fanout_execute(j->fan, line, j->out, l->stride, &n, &j->err);
    if (st == PSR_OK)
        st = gpudedisp_patch_series(j, l, n);
    n = take_bound(l, n);
    if (st == PSR_OK)
        st = gpudedisp_tell_search(j, l);
    if (st == PSR_OK)
        st = gpudedisp_bary_block(j, l, &n);
    gpudedisp_charge(j, STAGE_DEDISPERSE, &since_s);
    n = limit_samples(j, l, n);
    if (st == PSR_OK)
        st = write_block(j, l, n);
    gpudedisp_charge(j, STAGE_WRITE, &since_s);
    if (st == PSR_OK && l->pulses)
        st = psr_singlepulse_execute(l->pulses, j->out, l->stride, n, &j->err);
    gpudedisp_charge(j, STAGE_SEARCH, &since_s);
    l->nout += (int64_t)n;
    return st;
}

/* What devices do is only enqueued here, so the stages' times are those of the host. */
static psr_status run_on_devices(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    double since_s = run_seconds();
    const struct psr_slab *slab;
    size_t nslab, n, left = 1, line = (size_t)(l - j->line);
    const struct psr_resample_bin *bin = NULL;
    psr_status st = gpudedisp_tell_search(j, l);
    for (bool again = false; st == PSR_OK && left && !gpudedisp_line_is_full(j, l); again = true) {
        st = psr_fanout_execute_device(j->fan, line, &slab, &nslab, &n, &left, &j->err);
        if (st == PSR_OK)
            st = gpudedisp_patch_slabs(j, l, slab, nslab, n, again);
        gpudedisp_charge(j, STAGE_DEDISPERSE, &since_s);
        n = limit_samples(j, l, n);
        size_t nbin = 0, nout = n;
        if (st == PSR_OK && l->resample)
            st = psr_resample_tell(l->resample, n, &bin, &nbin, &nout, &j->err);
        if (st == PSR_OK)
            st = psr_singlepulse_execute_device(l->pulses, slab, nslab, n, bin, nbin, &j->err);
        gpudedisp_charge(j, STAGE_SEARCH, &since_s);
        l->nout += (int64_t)nout;
    }
    return st;
}

psr_status gpudedisp_run_line(struct gpudedisp_job *j, struct gpudedisp_line *l)
{
    return l->resident ? run_on_devices(j, l) : run_on_host(j, l);
}
