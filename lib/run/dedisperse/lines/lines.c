/* Dedisperses spectra into the series of all lines of a plan, and restores masked samples. */
#include "lines.h"

#include "rfi/rules/clean_internal.h"
#include "search/dedisp/mask/mask_correction.h"

#include <psrkit/experimental/clean_auto.h>

#include <stdlib.h>
#include <string.h>

struct line {
    const psr_dedisp *plan;          /* NULL: none */
    psr_mask_correction *correction; /* NULL where cleaning leaves nothing to add */
    psr_mask_correction *equaliser;  /* NULL where scatter is left as it is */
    size_t stride;
    struct psr_mask_noise noise;
    bool resident;      /* series stay on devices */
    bool left_out;      /* nobody takes its series, */
    bool plain;         /* or nobody takes them equalised */
    bool again;         /* the steps of these spectra have been taken */
    int64_t gaps_known; /* spectra up to which the line knows of gaps, of masks */
    int64_t masks_known;
    int64_t ndedispersed, nout; /* samples so far, before and after they are barycentred */
    int64_t nleast;             /* as nout, of its shortest series */
    size_t minshift;            /* of its trials, once the input has ended */
};

struct psr_lines {
    struct psr_lines_desc d;
    void *state;       /* of the dedispersion */
    struct line *line; /* [nline] */
    size_t nline;
    float *series; /* of the line at work */
    float *equalised;
    int64_t ntaken; /* spectra of the input */
    bool ended;     /* and then spectra are blank */
    size_t *own;    /* [ndm] of the line at work, as in a block; NULL before the end */
};

/* Channels of a line. */
static const unsigned char *keep_of(const psr_lines *l, size_t line)
{
    const struct psr_dedispersion_desc *d = &l->d.dedispersion;
    const size_t part = d->trials->line[line].part;
    return part ? d->trials->part[part - 1].keep : d->keep;
}

static psr_status create_one(psr_mask_correction **out, const psr_lines *l, size_t line,
                             double largest, psr_err *err)
{
    const struct psr_dedispersion_desc *d = &l->d.dedispersion;
    const struct psr_line *described = &d->trials->line[line];
    return psr_mask_correction_create(out,
                                      &(struct psr_mask_correction_desc){
                                          .plan = l->line[line].plan,
                                          .nchan = d->obs->nchan,
                                          .ndm = described->ndm,
                                          .downsamp = (size_t)described->downsamp,
                                          .largest = largest,
                                          .nthread = (int)d->nthread,
                                          .keep = keep_of(l, line),
                                      },
                                      err);
}

static psr_status create_correction(psr_lines *l, size_t line, psr_err *err)
{
    const struct psr_dedispersion_desc *d = &l->d.dedispersion;
    struct line *of = &l->line[line];
    if (l->d.dedispersion.equalise && of->plan)
        return create_one(&of->equaliser, l, line, 4, err);
    if (!of->plan || !d->clean || psr_clean_kind(d->clean) == PSR_FLOAT)
        return PSR_OK;
    return create_one(&of->correction, l, line, psr_clean_largest(d->clean), err);
}

/* Of series of automatic cleaning, which are sums over kept channels. */
static struct psr_mask_noise describe_noise(const psr_lines *l, size_t line)
{
    const unsigned char *keep = keep_of(l, line);
    struct psr_mask_noise noise = {0};
    for (size_t c = 0; c < l->d.dedispersion.obs->nchan; c++)
        noise.variance += keep[c] ? 1 : 0;
    noise.level = noise.variance * PSR_CLEAN_AUTO_LEVEL;
    return noise;
}

psr_status psr_lines_create(psr_lines **out, const struct psr_lines_desc *desc, psr_err *err)
{
    size_t nline = desc->dedispersion.trials->nline;
    *out = NULL;
    psr_lines *l = calloc(1, sizeof *l);
    if (l)
        l->line = calloc(nline, sizeof *l->line);
    if (!l || !l->line) {
        free(l);
        return psr_fail_nomem(err, "the lines of a plan", (double)nline * sizeof *l->line);
    }
    l->d = *desc;
    l->nline = nline;
    psr_status st = desc->ops->create(&l->state, &l->d.dedispersion, err);
    for (size_t k = 0; k < nline && !st; k++) {
        l->line[k].plan = desc->ops->plan ? desc->ops->plan(l->state, k) : NULL;
        l->line[k].noise = describe_noise(l, k);
        st = create_correction(l, k, err);
    }
    if (st)
        psr_lines_destroy(l);
    else
        *out = l;
    return st;
}

/* --- before the first block ------------------------------------------------------------------- */

size_t psr_lines_block(const psr_lines *l)
{
    return l->d.ops->block(l->state);
}

bool psr_lines_on_devices(const psr_lines *l)
{
    struct psr_dedisp_info info;
    if (!l->d.ops->run_device)
        return false;
    psr_lines_describe(l, 0, &info);
    return info.ndevice > 0;
}

void psr_lines_describe(const psr_lines *l, size_t line, struct psr_dedisp_info *info)
{
    if (l->d.ops->describe)
        l->d.ops->describe(l->state, line, info);
    else
        psr_dedisp_describe(l->line[line].plan, info);
}

size_t psr_lines_nseries(const psr_lines *l, size_t line)
{
    return l->d.ops->nseries ? l->d.ops->nseries(l->state, line)
                             : l->d.dedispersion.trials->line[line].ndm;
}

size_t psr_lines_most(const psr_lines *l, size_t line, size_t nsamp)
{
    if (l->d.ops->most)
        return l->d.ops->most(l->state, line, nsamp);
    return nsamp / (size_t)l->d.dedispersion.trials->line[line].downsamp + 1;
}

size_t psr_lines_presto_block(const psr_lines *l, size_t line)
{
    return l->d.ops->presto_block ? l->d.ops->presto_block(l->state, line) : 0;
}

const psr_dedisp *psr_lines_plan(const psr_lines *l, size_t line)
{
    return l->line[line].plan;
}

bool psr_lines_equalise(const psr_lines *l, size_t line)
{
    return l->line[line].equaliser != NULL;
}

size_t psr_lines_maxshift(const psr_lines *l, size_t line)
{
    const psr_dedisp *plan = l->line[line].plan;
    return plan ? psr_dedisp_maxshift(plan) : 0;
}

/* The input may be shorter than a trial's sweep, and then no sample of it is ever complete. */
psr_status psr_lines_check_length(const psr_lines *l, size_t line, int64_t nsamp, psr_err *err)
{
    const struct psr_dedispersion_desc *d = &l->d.dedispersion;
    const struct psr_trial_list *t = d->trials;
    if (l->d.ops->check_length)
        return l->d.ops->check_length(l->state, line, nsamp, err);
    if (!l->line[line].plan)
        return PSR_OK;
    const struct psr_line *of = &t->line[line];
    int64_t have = nsamp / of->downsamp;
    size_t worst = 0;
    for (size_t i = 1; i < of->ndm; i++) {
        bool higher = t->dm[of->first + i] > t->dm[of->first + worst];
        worst = higher != d->any_length ? i : worst;
    }
    int64_t sweep = (int64_t)psr_dedisp_shift(l->line[line].plan, worst);
    if (have > sweep)
        return PSR_OK;
    return psr_fail(err, PSR_EUNSUPPORTED,
                    "%s: DM %g sweeps over %lld samples, the input holds %lld: no sample is "
                    "complete",
                    d->input, t->dm[of->first + worst], (long long)sweep, (long long)have);
}

psr_status psr_lines_reserve(psr_lines *l, const size_t *stride, const bool *resident, psr_err *err)
{
    size_t room = 1;
    bool equalise = false;
    for (size_t k = 0; k < l->nline; k++) {
        size_t need = resident[k] ? 0 : psr_lines_nseries(l, k) * stride[k];
        l->line[k].stride = stride[k];
        l->line[k].resident = resident[k];
        room = need > room ? need : room;
        equalise |= l->line[k].equaliser && !resident[k];
    }
    l->series = malloc(room * sizeof *l->series);
    if (equalise)
        l->equalised = malloc(room * sizeof *l->equalised);
    return l->series && (l->equalised || !equalise)
               ? PSR_OK
               : psr_fail_nomem(err, "a block of data", 4 * (double)room);
}

void psr_lines_leave_out(psr_lines *l, size_t line)
{
    l->line[line].left_out = true;
}

void psr_lines_leave_plain(psr_lines *l, size_t line)
{
    l->line[line].plain = true;
}

/* --- for every block -------------------------------------------------------------------------- */

psr_status psr_lines_push(psr_lines *l, const struct psr_block *spectra, psr_err *err)
{
    for (size_t k = 0; k < l->nline; k++)
        l->line[k].again = false;
    if (!l->ended)
        l->ntaken += (int64_t)spectra->n;
    return l->d.ops->push(l->state, spectra, err);
}

static bool find_new_span(const struct psr_span *span, size_t n, int64_t *known,
                          struct psr_span *added)
{
    for (size_t k = 0; k < n; k++) {
        int64_t first = span[k].first, end = first + span[k].count;
        if (end <= *known)
            continue;
        first = first > *known ? first : *known;
        *added = (struct psr_span){first, end - first};
        *known = end;
        return true;
    }
    return false;
}

bool psr_lines_next_gap(psr_lines *l, size_t line, const struct psr_block *b, struct psr_span *gap,
                        bool *told)
{
    struct line *of = &l->line[line];
    int64_t ds = l->d.dedispersion.trials->line[line].downsamp;
    *told = !find_new_span(b->gap, b->ngap, &of->gaps_known, gap);
    if (*told && !find_new_span(b->masked, b->nmasked, &of->masks_known, gap))
        return false;
    *told = *told && of->equaliser;
    int64_t first = gap->first / ds, end = (gap->first + gap->count + ds - 1) / ds;
    *gap = (struct psr_span){first, end - first};
    return true;
}

/* Samples that the trial of a line has whose sweep is shift. */
int64_t psr_lines_length(const psr_lines *l, size_t line, size_t shift)
{
    int64_t have = l->ntaken / l->d.dedispersion.trials->line[line].downsamp;
    if (l->d.dedispersion.late)
        return have;
    return have > (int64_t)shift ? have - (int64_t)shift : 0;
}

/* Where a resumed run has left out the trial of the longest sweep, the others could have more
 * samples than they had with it; once the input has ended, the longest series bounds all. */
static size_t take_bound(psr_lines *l, size_t line, size_t n)
{
    struct line *of = &l->line[line];
    int64_t most = l->d.dedispersion.trials->line[line].most;
    if (l->ended)
        most = psr_lines_length(l, line, of->minshift);
    if (most >= 0 && (int64_t)n > most - of->ndedispersed)
        n = (size_t)(most - of->ndedispersed);
    return n;
}

/* How many of the next n samples of each trial the input completes. */
static void list_own_lengths(psr_lines *l, size_t line, size_t n)
{
    const struct line *of = &l->line[line];
    for (size_t i = 0; i < l->d.dedispersion.trials->line[line].ndm; i++) {
        int64_t own = psr_lines_length(l, line, psr_dedisp_shift(of->plan, i)) - of->ndedispersed;
        l->own[i] = own < 0 ? 0 : own > (int64_t)n ? n : (size_t)own;
    }
}

/* Numbers the samples that the dedispersion gave. */
static void take_samples(psr_lines *l, size_t line, struct psr_block *series, size_t given)
{
    struct line *of = &l->line[line];
    series->n = take_bound(l, line, given);
    if (l->ended) {
        list_own_lengths(l, line, series->n);
        series->own = l->own;
    }
    series->spectrum = of->ndedispersed * l->d.dedispersion.trials->line[line].downsamp;
    of->ndedispersed += (int64_t)series->n;
}

/* Enqueues. */
static psr_status correct_on_devices(struct line *of, const struct psr_block *spectra,
                                     struct psr_block *series, psr_err *err)
{
    if (of->correction)
        return psr_mask_correction_execute_device(
            of->correction, spectra->step, of->again ? 0 : spectra->nstep, series->device_series,
            series->ndevice_series, series->n, err);
    if (!of->equaliser || of->plain)
        return PSR_OK;
    return psr_mask_correction_equalise_device(
        of->equaliser, spectra->missing, of->again ? 0 : spectra->nmissing, &of->noise,
        series->device_series, series->ndevice_series, series->n, &series->device_equalised, err);
}

static psr_status equalise_on_host(psr_lines *l, struct line *of, const struct psr_block *spectra,
                                   size_t n, struct psr_block *series, psr_err *err)
{
    if (!of->equaliser || of->plain)
        return PSR_OK;
    series->equalised = l->equalised;
    return psr_mask_correction_equalise(of->equaliser, spectra->missing, spectra->nmissing,
                                        &of->noise, l->series, l->equalised, of->stride, n, err);
}

static psr_status run_on_host(psr_lines *l, size_t line, const struct psr_block *spectra,
                              struct psr_block *series, psr_err *err)
{
    struct line *of = &l->line[line];
    size_t n;
    psr_status st = l->d.ops->run(l->state, line, l->series, of->stride, &n, err);
    if (!st && of->correction)
        st = psr_mask_correction_execute(of->correction, spectra->step, spectra->nstep, l->series,
                                         of->stride, n, err);
    if (!st)
        st = equalise_on_host(l, of, spectra, n, series, err);
    series->series = l->series;
    series->stride = of->stride;
    take_samples(l, line, series, n);
    return st;
}

static psr_status run_on_devices(psr_lines *l, size_t line, const struct psr_block *spectra,
                                 struct psr_block *series, bool *left, psr_err *err)
{
    struct line *of = &l->line[line];
    size_t nleft;
    psr_status st = l->d.ops->run_device(l->state, line, series, &nleft, err);
    *left = nleft > 0;
    if (!st)
        st = correct_on_devices(of, spectra, series, err);
    take_samples(l, line, series, series->n);
    series->device_samples = series->n;
    of->again = true;
    return st;
}

psr_status psr_lines_run(psr_lines *l, size_t line, const struct psr_block *spectra,
                         struct psr_block *series, bool *left, psr_err *err)
{
    *series = (struct psr_block){0};
    *left = false;
    return l->line[line].resident ? run_on_devices(l, line, spectra, series, left, err)
                                  : run_on_host(l, line, spectra, series, err);
}

void psr_lines_count(psr_lines *l, size_t line, struct psr_block *series)
{
    struct line *of = &l->line[line];
    int64_t wanted = l->d.numout - of->nout;
    if (l->d.numout && (int64_t)series->n > wanted)
        series->n = (size_t)wanted;
    size_t least = series->n;
    for (size_t i = 0; series->own && i < l->d.dedispersion.trials->line[line].ndm; i++) {
        l->own[i] = series->own[i] < series->n ? series->own[i] : series->n;
        least = l->own[i] < least ? l->own[i] : least;
    }
    of->nleast += (int64_t)least;
    series->own = series->own ? l->own : NULL;
    series->first = of->nout;
    of->nout += (int64_t)series->n;
}

static size_t find_minshift(const psr_lines *l, size_t line)
{
    const psr_dedisp *plan = l->line[line].plan;
    size_t least = psr_dedisp_maxshift(plan);
    for (size_t i = 0; i < l->d.dedispersion.trials->line[line].ndm; i++) {
        size_t shift = psr_dedisp_shift(plan, i);
        least = shift < least ? shift : least;
    }
    return least;
}

/* Blank spectra for the longest series of a line; those of the trial of the longest sweep are complete, and late
 * ones are. */
static size_t count_blank(psr_lines *l, size_t line)
{
    struct line *of = &l->line[line];
    if (!of->plan || l->d.same_end || l->d.dedispersion.late || psr_lines_is_full(l, line))
        return 0;
    of->minshift = find_minshift(l, line);
    return (psr_lines_maxshift(l, line) - of->minshift) *
           (size_t)l->d.dedispersion.trials->line[line].downsamp;
}

psr_status psr_lines_end(psr_lines *l, size_t *nblank, psr_err *err)
{
    size_t ndm = l->d.dedispersion.trials->ndm;
    *nblank = 0;
    for (size_t k = 0; k < l->nline; k++) {
        size_t n = count_blank(l, k);
        *nblank = n > *nblank ? n : *nblank;
    }
    if (!*nblank)
        return PSR_OK;
    l->ended = true;
    l->own = calloc(ndm, sizeof *l->own);
    return l->own ? PSR_OK : psr_fail_nomem(err, "the ends of series", (double)ndm * 8);
}

bool psr_lines_is_resident(const psr_lines *l, size_t line)
{
    return l->line[line].resident;
}

int64_t psr_lines_nout(const psr_lines *l, size_t line)
{
    return l->line[line].nout;
}

int64_t psr_lines_nleast(const psr_lines *l, size_t line)
{
    return l->line[line].nleast;
}

bool psr_lines_is_full(const psr_lines *l, size_t line)
{
    return l->line[line].left_out || (l->d.numout && l->line[line].nout >= l->d.numout);
}

bool psr_lines_are_full(const psr_lines *l)
{
    bool full = true;
    for (size_t k = 0; k < l->nline; k++)
        full &= psr_lines_is_full(l, k);
    return full;
}

void psr_lines_destroy(psr_lines *l)
{
    if (!l)
        return;
    for (size_t k = 0; k < l->nline; k++) {
        psr_mask_correction_destroy(l->line[k].correction);
        psr_mask_correction_destroy(l->line[k].equaliser);
    }
    l->d.ops->destroy(l->state); /* with the streams that series on devices were enqueued on */
    free(l->line);
    free(l->series);
    free(l->equalised);
    free(l->own);
    free(l);
}
