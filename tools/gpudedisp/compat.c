/* -compat presto: prepsubband's own numbers, losses, padding and file names, block after block. */
#include "compat.h"

#include "tools/common/run.h"
#include <stdlib.h>
#include <string.h>

static void take_mean(struct gpudedisp_compat *k, size_t n)
{
    for (size_t t = 0; t < n; t++)
        k->mean += ((double)k->job->out[t] - k->mean) / ((double)k->nmean++ + 1.0);
}

/* What is added does not enter the mean, nor does what is removed. */
static psr_status resample(struct gpudedisp_compat *k, size_t *n)
{
    struct gpudedisp_job *j = k->job;
    size_t before = *n;
    float *first = malloc(before * sizeof *first);
    if (!first)
        return psr_fail_nomem(&j->err, "a series", (double)before * sizeof *first);
    memcpy(first, j->out, before * sizeof *first);
    psr_status st = gpudedisp_bary_block(j, j->line, n);
    size_t kept = 0;
    for (size_t t = 0; !st && t < before; t++) {
        /* Without a bin removed all samples are still there. */
        if (*n >= before || (kept < *n && first[t] == j->out[kept])) {
            k->mean += ((double)first[t] - k->mean) / ((double)k->nmean++ + 1.0);
            kept++;
        }
    }
    free(first);
    return st;
}

static psr_status write_piece(struct gpudedisp_compat *k, size_t n)
{
    struct gpudedisp_job *j = k->job;
    psr_status st = PSR_OK;
    if (j->line->resample)
        st = resample(k, &n);
    else
        take_mean(k, n);
    if (j->opt.numout && (int64_t)n > j->opt.numout - j->line->nout)
        n = (size_t)(j->opt.numout - j->line->nout);
    for (size_t i = 0; i < k->nseries && !st; i++) {
        const float *x = j->out + i * j->line->stride;
        st = k->bands ? subbands_write(k->bands, i, x, n, &j->err)
                      : psr_series_append(j->series, i, x, n, &j->err);
    }
    j->line->nout += (int64_t)n;
    return st;
}

static psr_status refuse_gaps(struct gpudedisp_job *j)
{
    const struct psr_span *gap;
    if (psr_source_gaps(j->source, &gap) == 0)
        return PSR_OK;
    return psr_fail(&j->err, PSR_EUNSUPPORTED,
                    "%s: %lld spectra are missing from spectrum %lld on, and -compat presto does "
                    "not do what PRESTO does there",
                    gpudedisp_input_name(j), (long long)gap->count, (long long)gap->first);
}

static psr_status process_block(struct gpudedisp_compat *k, size_t *nread)
{
    struct gpudedisp_job *j = k->job;
    size_t n = 0;
    psr_status st = psr_source_read(j->source, k->desc.block, j->in, nread, &j->err);
    if (!st)
        st = refuse_gaps(j);
    j->nread += (int64_t)*nread;
    if (st || *nread < k->desc.block)
        return st;
    psr_compat_execute(k->plan, j->in, j->out, j->line->stride, &n);
    return n ? write_piece(k, n) : PSR_OK;
}

/* Until a block is incomplete, -numout is reached or a signal asks to stop. */
static psr_status process_input(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    size_t nread = k->desc.block;
    psr_status st = PSR_OK;
    struct run_progress progress;
    run_progress_start(&progress, !j->opt.quiet, psr_source_obs(j->source)->nsamp, "spectra", 1);
    while (!st && nread == k->desc.block && !run_stop_signal() &&
           (!j->opt.numout || j->line->nout < j->opt.numout)) {
        st = process_block(k, &nread);
        run_progress_update(&progress, j->nread);
    }
    run_progress_end(&progress);
    return st;
}

static psr_status finish_series(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    psr_series *series = j->series;
    int64_t length = j->opt.numout ? j->opt.numout : psr_good_length(j->nread / j->line->downsamp);
    psr_series_pad_with(series, (float)k->mean);
    j->series = NULL;
    psr_status st = psr_series_finish(series, length, &j->err);
    return k->alone ? gpudedisp_name_events(j, st) : st;
}

static psr_status finish_subbands(struct gpudedisp_compat *k)
{
    struct gpudedisp_job *j = k->job;
    struct subbands *bands = k->bands;
    k->bands = NULL;
    return gpudedisp_finish_subbands(j, bands, &k->obs);
}

static void release(struct gpudedisp_compat *k)
{
    subbands_abort(k->bands);
    psr_compat_destroy(k->plan);
    free(k->keep);
}

psr_status gpudedisp_compat(struct gpudedisp_job *j)
{
    struct gpudedisp_compat k = {.job = j, .alone = !j->group};
    psr_status st = gpudedisp_compat_prepare(&k);
    if (!st)
        st = process_input(&k);
    if (!st && !run_stop_signal())
        st = k.bands ? finish_subbands(&k) : finish_series(&k);
    release(&k);
    return st;
}
