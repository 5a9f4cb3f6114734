/* Checks the description of a pipeline, and which fields exclude each other. */
#include "pipeline_state.h"

#include "base/base.h"
#include "run/dedisperse/consumers/sinks.h"
#include <string.h>

struct conflict {
    const char *name;
    bool given;
};

static psr_status fail_conflict(const char *why, const struct conflict *field, size_t n,
                                psr_err *err)
{
    for (size_t k = 0; k < n; k++)
        if (field[k].given)
            return psr_fail_field(err, PSR_EINVAL, field[k].name, "pipeline: %s %s", why,
                                  field[k].name);
    return PSR_OK;
}

static psr_status check_presto(const struct psr_pipeline_desc *d, psr_err *err)
{
    const struct conflict field[] = {
        {"algo", d->algo != PSR_DEDISP_DIRECT},
        {"dms", d->dms != NULL},
        {".tim files", d->files == PSR_FILES_TIM},
        {"nopad", d->nopad},
        {"pulses", d->pulses != NULL},
        {"fourier", d->fourier != NULL},
        {"ffa", d->ffa != NULL},
        {"checksums", d->checksums},
        {"tol", d->tol != 0},
    };
    return d->presto ? fail_conflict("prepsubband has no", field, sizeof field / sizeof *field, err)
                     : PSR_OK;
}

static psr_status check_subbands(const struct psr_pipeline_desc *d, psr_err *err)
{
    const struct conflict field[] = {
        {"plan", d->plan != NULL},   {"dms", d->dms != NULL},
        {"checksums", d->checksums}, {"pulses", d->pulses != NULL},
        {"sink", d->nsink > 0},      {"fourier", d->fourier != NULL},
        {"ffa", d->ffa != NULL},     {"more than one DM", d->ndm > 1},
    };
    return d->files == PSR_FILES_SUBBANDS
               ? fail_conflict("sub-bands are made at one DM: there is no", field,
                               sizeof field / sizeof *field, err)
               : PSR_OK;
}

static psr_status check_resume(const struct psr_pipeline_desc *d, psr_err *err)
{
    const struct conflict field[] = {
        {"presto", d->presto},
        {".tim files", d->files == PSR_FILES_TIM},
        {"no series", !psr_pipeline_has_series(d)},
        {"pulses", d->pulses != NULL},
        {"fourier", d->fourier != NULL},
        {"ffa", d->ffa != NULL},
        {"checksums", d->checksums},
        {"subbands", d->files == PSR_FILES_SUBBANDS},
        {"sink", d->nsink > 0},
        {"the caller's spectra", d->npath == 0},
        {"root -", d->root && !strcmp(d->root, "-")},
    };
    return d->resume ? fail_conflict("resume goes by .inf files of single series: not with", field,
                                     sizeof field / sizeof *field, err)
                     : PSR_OK;
}

static psr_status check_auto(const struct psr_pipeline_desc *d, psr_err *err)
{
    if (d->clean_weights && !d->clean_auto)
        return psr_fail_field(err, PSR_EINVAL, "clean_weights",
                              "pipeline: clean_weights needs clean_auto");
    const struct conflict field[] = {
        {"mask", d->mask != NULL},
        {"presto", d->presto},
        {"subbands", d->files == PSR_FILES_SUBBANDS},
    };
    return d->clean_auto ? fail_conflict("clean_auto finds what a mask would tell: not with", field,
                                         sizeof field / sizeof *field, err)
                         : PSR_OK;
}

static psr_status check_live(const struct psr_pipeline_desc *d, psr_err *err)
{
    const struct conflict field[] = {
        {"series", psr_pipeline_has_series(d)},
        {"subbands", d->files == PSR_FILES_SUBBANDS},
        {"checksums", d->checksums},
        {"pulses", d->pulses != NULL},
        {"fourier", d->fourier != NULL},
        {"ffa", d->ffa != NULL},
        {"resume", d->resume},
        {"presto", d->presto},
        {"sink", d->nsink > 0},
        {"barycentring", !d->nobary},
    };
    if (!(d->block_s >= 0 && d->block_s <= 1e6))
        return psr_fail_field(err, PSR_EINVAL, "block_s",
                              "pipeline: block_s = %g s, must be 0 to 1e6 s", d->block_s);
    if (!d->live && (d->dump || d->ring_s != 0 || d->drop_s != 0))
        return psr_fail_field(err, PSR_EINVAL, "dump",
                              "pipeline: ring_s, dump and drop_s need a live search");
    if (!(d->drop_s >= 0 && d->drop_s <= 1e6))
        return psr_fail_field(err, PSR_EINVAL, "drop_s",
                              "pipeline: drop_s = %g s, must be 0 to 1e6 s", d->drop_s);
    if (!d->dump != !(d->ring_s > 0))
        return psr_fail_field(err, PSR_EINVAL, "ring_s",
                              "pipeline: ring_s = %g s, must be above 0 with dump, and 0 without",
                              d->ring_s);
    if (d->live && !d->live->search)
        return psr_fail_field(err, PSR_EINVAL, "live.search", "pipeline: live.search is missing");
    if (d->live && !d->live->burst)
        return psr_fail_field(err, PSR_EINVAL, "live.burst", "pipeline: nobody takes the pulses");
    return d->live ? fail_conflict("an endless input is searched live, without", field,
                                   sizeof field / sizeof *field, err)
                   : PSR_OK;
}

static psr_status check_scrunch(const struct psr_pipeline_desc *d, psr_err *err)
{
    const struct conflict field[] = {
        {"plan", d->plan != NULL},
        {"presto", d->presto},
        {"subbands", d->files == PSR_FILES_SUBBANDS},
    };
    if (!(d->scrunch == 0 || (d->scrunch >= 0.1 && d->scrunch <= 100)))
        return psr_fail_field(err, PSR_EINVAL, "scrunch",
                              "pipeline: scrunch = %g, must be 0 or 0.1 to 100", d->scrunch);
    return d->scrunch > 0 ? fail_conflict("scrunch makes the lines of its trials: not with", field,
                                          sizeof field / sizeof *field, err)
                          : PSR_OK;
}

static psr_status check_parts(const struct psr_pipeline_desc *d, psr_err *err)
{
    if (d->nhalve && !d->pulses)
        return psr_fail_field(err, PSR_EINVAL, "nhalve",
                              "pipeline: parts of the band are searched for single pulses: nhalve "
                              "needs pulses");
    if (d->nfine > 1 && (!d->pulses || d->presto))
        return psr_fail_field(err, PSR_EINVAL, "nfine",
                              "pipeline: fine samples are searched for single pulses: nfine needs "
                              "pulses, and not presto");
    return PSR_OK;
}

static psr_status check_numbers(const struct psr_pipeline_desc *d, psr_err *err)
{
    const struct {
        const char *name;
        int64_t value, min, max;
    } field[] = {
        {"ndm", d->ndm, 1, PSR_PIPELINE_NDM},
        {"downsamp", d->downsamp, 1, PSR_PIPELINE_DOWNSAMP},
        {"nsub", d->nsub, 0, 1 << 20},
        {"offset", d->offset, 0, INT64_MAX},
        {"numout", d->numout, 0, INT64_MAX},
        {"dm_decimals", d->dm_decimals, d->ndm == 1 && !d->dms && !d->plan ? 0 : 2, 4},
        {"nthread", d->nthread, 0, 4096},
        {"mem_bytes", d->mem_bytes, 0, INT64_MAX},
        {"nhalve", d->nhalve, 0, PSR_PIPELINE_HALVE},
        {"nfine", d->nfine, 0, PSR_PIPELINE_FINE},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (field[k].value < field[k].min || field[k].value > field[k].max)
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "pipeline: %s = %lld, must be %lld to %lld", field[k].name,
                                  (long long)field[k].value, (long long)field[k].min,
                                  (long long)field[k].max);
    if (!(d->start >= 0 && d->start <= 1))
        return psr_fail_field(err, PSR_EINVAL, "start", "pipeline: start = %g, must be 0 to 1",
                              d->start);
    if (!(d->clip_sigma >= 0))
        return psr_fail_field(err, PSR_EINVAL, "clip_sigma",
                              "pipeline: clip_sigma = %g, must be 0 or more", d->clip_sigma);
    return PSR_OK;
}

static psr_status check_ends(const struct psr_pipeline_desc *d, psr_err *err)
{
    bool files = d->files || d->pulses || d->fourier || d->ffa;
    bool piped = d->root && !strcmp(d->root, "-");
    if (d->npath == 0 && !d->obs)
        return psr_fail_field(err, PSR_EINVAL, "npath",
                              "pipeline: neither path nor obs says what the input is");
    if (files && !d->root)
        return psr_fail_field(err, PSR_EINVAL, "root",
                              "pipeline: root is missing, and there are files to write");
    if (piped && (d->files == PSR_FILES_SUBBANDS || (d->files && d->pulses)))
        return psr_fail_field(
            err, PSR_EINVAL, "files",
            "pipeline: standard output takes one series or the pulses, nothing else");
    if (piped && d->fourier)
        return psr_fail_field(err, PSR_EINVAL, "fourier",
                              "pipeline: lists of a Fourier search are files, but root is -");
    if (d->fourier && !d->fourier->search)
        return psr_fail_field(err, PSR_EINVAL, "fourier.search",
                              "pipeline: fourier.search is missing");
    if (piped && d->ffa)
        return psr_fail_field(err, PSR_EINVAL, "ffa",
                              "pipeline: the list of an FFA search is a file, but root is -");
    if (d->ffa && !d->ffa->search)
        return psr_fail_field(err, PSR_EINVAL, "ffa.search", "pipeline: ffa.search is missing");
    for (size_t k = 0; k < d->nsink; k++) {
        const struct psr_sink_ops *ops = d->sink[k].ops;
        if (!ops || !ops->name || !ops->begin || !ops->push || !ops->abort)
            return psr_fail_field(err, PSR_EINVAL, "sink",
                                  "pipeline: sink %zu has no name, begin, push or abort", k);
    }
    return PSR_OK;
}

/* Points *of to its copy in to, if it is given. */
#define TAKE(of, to, name, err)                                                                    \
    if (*(of) && !st) {                                                                            \
        st = psr_copy_desc((to), sizeof *(to), *(of), name, err);                                  \
        *(of) = (to);                                                                              \
    }

static psr_status take_searches(struct psr_pipeline_desc *d, struct psr_pipeline_searches *to,
                                psr_err *err)
{
    psr_status st = PSR_OK;
    TAKE(&d->pulses, &to->pulses, "single pulses", err)
    TAKE(&d->fourier, &to->fourier, "Fourier search", err)
    TAKE(&d->ffa, &to->ffa, "FFA search", err)
    TAKE(&d->live, &to->live, "live search", err)
    if (d->live)
        TAKE(&to->live.search, &to->live_pulses, "live search", err)
    return st;
}

psr_status psr_pipeline_take_desc(struct psr_pipeline_desc *to,
                                  struct psr_pipeline_searches *searches,
                                  const struct psr_pipeline_desc *from, psr_err *err)
{
    static psr_status (*const check[])(const struct psr_pipeline_desc *d, psr_err *err) = {
        check_numbers, check_ends, check_presto,  check_subbands, check_resume,
        check_auto,    check_live, check_scrunch, check_parts};
    psr_status st = psr_copy_desc(to, sizeof *to, from, "pipeline", err);
    if (!st)
        st = take_searches(to, searches, err);
    for (size_t k = 0; k < sizeof check / sizeof *check && !st; k++)
        st = check[k](to, err);
    if (!st && to->nshare > 1)
        to->mem_bytes = psr_count_memory(to->mem_bytes) / (int64_t)to->nshare;
    return st;
}
