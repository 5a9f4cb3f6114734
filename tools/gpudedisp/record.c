/* What made a series, told in its .inf file. */
#include "gpudedisp.h"

#include "digest.h"
#include "tools/common/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_subband(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    return !strcmp(j->opt.algo, "subband") && l->nsub > 0;
}

/* Sums of floats may depend on which trials share them; those of integers are exact. */
static bool has_floats(const struct gpudedisp_job *j)
{
    int nbit = j->clean ? psr_clean_nbit(j->clean) : psr_source_obs(j->source)->nbit;
    return nbit == 32;
}

bool gpudedisp_line_is_independent(const struct gpudedisp_job *j, const struct gpudedisp_line *l)
{
    return !is_subband(j, l) && !j->opt.tol && !has_floats(j);
}

static uint64_t digest_mask(uint64_t d, const struct psr_mask *m)
{
    if (!m->nint)
        return d;
    d = digest_bytes(d, &m->dtint_s, sizeof m->dtint_s);
    d = digest_bytes(d, m->zap_chan, m->nchan);
    d = digest_bytes(d, m->zap_int, m->nint);
    d = digest_bytes(d, m->all_chan, m->nint);
    d = digest_bytes(d, m->first, (m->nint + 1) * sizeof *m->first);
    d = digest_bytes(d, m->chan, m->first[m->nint] * sizeof *m->chan);
    return digest_bytes(d, m->padding, m->nchan * sizeof *m->padding);
}

/* All that decides on the samples of any series, but for the trials. */
static uint64_t digest_run(const struct gpudedisp_job *j)
{
    const struct gpudedisp_options *o = &j->opt;
    const struct psr_obs *obs = psr_source_obs(j->source);
    const struct {
        const void *at;
        size_t n;
    } part[] = {
        {&o->filterbank, sizeof o->filterbank},
        {&o->psrfits, sizeof o->psrfits},
        {&o->no_weights, sizeof o->no_weights},
        {&o->no_scales, sizeof o->no_scales},
        {&o->no_offsets, sizeof o->no_offsets},
        {&o->invert, sizeof o->invert},
        {&o->if_choice, sizeof o->if_choice},
        {&o->offset, sizeof o->offset},
        {&o->start, sizeof o->start},
        {&o->clip_sigma, sizeof o->clip_sigma},
        {&o->noclip, sizeof o->noclip},
        {&o->zerodm, sizeof o->zerodm},
        {&o->runavg, sizeof o->runavg},
        {&o->tol, sizeof o->tol},
        {&o->nobary, sizeof o->nobary},
        {&o->numout, sizeof o->numout},
        {&o->nopad, sizeof o->nopad},
        {&j->dmconst, sizeof j->dmconst},
        {&j->input_digest, sizeof j->input_digest},
        {&obs->nsamp, sizeof obs->nsamp},
        {j->keep, obs->nchan},
    };
    uint64_t d = digest_text(DIGEST_START, PSRKIT_VERSION);
    for (size_t k = 0; k < sizeof part / sizeof *part; k++)
        d = digest_bytes(d, part[k].at, part[k].n);
    d = digest_text(digest_text(d, o->site), o->position);
    return digest_mask(d, &j->mask);
}

/* The longest sweep decides on the length of all series of a line. */
static uint64_t digest_line(const struct gpudedisp_job *j, const struct gpudedisp_line *l,
                            uint64_t run)
{
    uint64_t maxshift = l->plan ? psr_dedisp_maxshift(l->plan) : 0;
    uint64_t d = digest_bytes(run, &l->downsamp, sizeof l->downsamp);
    d = digest_bytes(d, &maxshift, sizeof maxshift);
    if (is_subband(j, l) || j->opt.sub)
        d = digest_bytes(d, &l->nsub, sizeof l->nsub);
    if (!gpudedisp_line_is_independent(j, l))
        d = digest_bytes(d, j->dm + l->first, l->ndm * sizeof *j->dm);
    return digest_text(d, is_subband(j, l) ? "subband" : j->opt.sub ? "sub" : "direct");
}

/* Sums of integers are the same wherever they are made, so their notes do not say where. */
static void write_note(const struct gpudedisp_job *j, struct gpudedisp_line *l, uint64_t digest)
{
    char algo[32] = "direct";
    struct psr_dedisp_info info = {.backend = "cpu"};
    if (l->plan)
        psr_dedisp_describe(l->plan, &info);
    if (j->opt.sub)
        strcpy(algo, "sub-bands");
    else if (is_subband(j, l))
        snprintf(algo, sizeof algo, "subband %lld", (long long)l->nsub);
    else if (j->opt.tol)
        snprintf(algo, sizeof algo, "direct tol %lld", (long long)j->opt.tol);
    snprintf(l->note, sizeof l->note, "psrkit %s gpudedisp, %s%s%s, settings %016llx",
             PSRKIT_VERSION, algo, has_floats(j) ? ", " : "", has_floats(j) ? info.backend : "",
             (unsigned long long)digest);
}

psr_status gpudedisp_take_notes(struct gpudedisp_job *j)
{
    for (size_t k = 0; k < j->nline; k++)
        j->line[k].most = -1;
    if (j->opt.nowrite)
        return PSR_OK;
    psr_status st = digest_files(&j->input_digest, &j->input_changed, j->path, j->npath, &j->err);
    if (st != PSR_OK)
        return st;
    uint64_t run = digest_run(j);
    for (struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        write_note(j, l, digest_line(j, l, run));
    return PSR_OK;
}

/* An input that is gone was changed too. */
void gpudedisp_check_notes(struct gpudedisp_job *j)
{
    uint64_t digest;
    struct timespec now, then = j->input_changed;
    if (digest_files(&digest, &now, j->path, j->npath, NULL) == PSR_OK &&
        digest == j->input_digest && now.tv_sec == then.tv_sec && now.tv_nsec == then.tv_nsec)
        return;
    for (struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        strcpy(strstr(l->note, ", settings"), ", input changed meanwhile");
}

static bool is_stopped(void *ctx)
{
    (void)ctx;
    return run_stop_signal() != 0;
}

struct psr_series_desc gpudedisp_common_series(const struct gpudedisp_job *j,
                                               enum psr_series_format format)
{
    return (struct psr_series_desc){
        .root = j->opt.root,
        .format = format,
        .dm_decimals = (int)j->opt.dmprec,
        .ndm = j->ndm,
        .dm = j->dm,
        .obs = &j->bary.obs,
        .epoch = j->bary.epoch,
        .file_nbit = psr_source_file_nbit(j->source),
        .inf = psr_source_inf(j->source),
        .group = j->group,
        .stopped = is_stopped,
    };
}

psr_status gpudedisp_describe_series(struct gpudedisp_job *j, struct psr_series_desc *desc)
{
    const struct gpudedisp_options *o = &j->opt;
    bool tim = !strcmp(o->format, "tim") || (o->root && !strcmp(o->root, "-"));
    free(j->tsamp_s);
    free(j->note);
    j->tsamp_s = malloc(j->ndm * sizeof *j->tsamp_s);
    j->note = malloc(j->ndm * sizeof *j->note);
    if (!j->tsamp_s || !j->note)
        return psr_fail_nomem(&j->err, "the list of series", (double)j->ndm * 16);
    for (const struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        for (size_t i = l->first; i < l->first + l->ndm; i++) {
            j->tsamp_s[i] = gpudedisp_line_tsamp_s(j, l);
            j->note[i] = l->note;
        }
    *desc = gpudedisp_common_series(j, tim ? PSR_SERIES_TIM : PSR_SERIES_DAT);
    desc->each_tsamp_s = j->tsamp_s;
    desc->each_note = j->note;
    return PSR_OK;
}
