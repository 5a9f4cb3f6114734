/* Dedisperses the beams of several pipelines with one plan, each block of each in turn: tables, sums and
 * output are all beams', samples are each beam's.
 *
 * The plan gives the samples of a psr_dedisp of the same trials, so many later as the longest sweep of the
 * line: the first ones, which lack channels, are left out here. */
#include "lines.h"

#include "base/device/device_internal.h"
#include "search/dedisp/beams/dedisp_line.h"
#include "search/dedisp/dedisp_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Input and series of a block: fresh pages cost more than longer blocks gain on the host, launches on a
 * device. */
static const double host_block_bytes = 0x1p26, device_block_bytes = 0x1p28;

enum { MOST_BLOCK = 1 << 20 };

struct psr_shared_beams {
    psr_dedisp_beams *plan;
    const char *backend;
    size_t nuser, nbeam, block;
};

/* --- what beams have in common ---------------------------------------------------------------- */

static bool same_channels(const struct psr_dedispersion_desc *a,
                          const struct psr_dedispersion_desc *b)
{
    const size_t nchan = a->obs->nchan;
    if (b->obs->nchan != nchan || a->obs->tsamp_s != b->obs->tsamp_s || a->voverc != b->voverc ||
        a->dmconst != b->dmconst || a->nbit != b->nbit || a->kind != b->kind)
        return false;
    for (size_t c = 0; c < nchan; c++)
        if (psr_obs_freq_mhz(a->obs, c) != psr_obs_freq_mhz(b->obs, c))
            return false;
    return !memcmp(a->keep, b->keep, nchan);
}

static bool same_trials(const struct psr_dedispersion_desc *a,
                        const struct psr_dedispersion_desc *b)
{
    const struct psr_trial_list *t = a->trials, *u = b->trials;
    if (t->ndm != u->ndm || t->nline != u->nline || a->smear != b->smear ||
        memcmp(t->dm, u->dm, t->ndm * sizeof *t->dm))
        return false;
    for (size_t k = 0; k < t->nline; k++)
        if (t->line[k].first != u->line[k].first || t->line[k].ndm != u->line[k].ndm ||
            t->line[k].downsamp != u->line[k].downsamp)
            return false;
    return true;
}

/* The plan's lines are those of the trials, in their order. */
static bool has_lines_of_plan(const struct psr_trial_list *t)
{
    for (size_t k = 0; k < t->nline; k++) {
        const struct psr_line *l = &t->line[k];
        if (l->part || (k && (l->downsamp == l[-1].downsamp || l->downsamp % l[-1].downsamp)))
            return false;
        for (size_t i = l->first + 1; i < l->first + l->ndm; i++)
            if (t->dm[i] < t->dm[i - 1])
                return false;
    }
    return t->nline > 0;
}

static bool can_share(const struct psr_dedispersion_desc *d, size_t n)
{
    bool can =
        n > 1 && d->tree && d->kind != PSR_FLOAT && d->nbit <= 16 && has_lines_of_plan(d->trials);
    for (size_t k = 1; k < n && can; k++)
        can = d[k].tree && same_channels(d, d + k) && same_trials(d, d + k) &&
              !strcmp(d->device, d[k].device);
    return can;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* All that the beams may take together; 0: cleaning takes all. */
static double count_memory(const struct psr_dedispersion_desc *d, size_t n)
{
    double all = 0;
    for (size_t k = 0; k < n; k++) {
        int64_t bytes;
        if (psr_dedispersion_share_memory(d + k, &bytes, NULL))
            return 0;
        all += (double)bytes;
    }
    return all;
}

/* Of a spectrum that is read ahead, and of its series. */
static double block_spectrum_bytes(const struct psr_dedispersion_desc *d)
{
    return 2 * psr_dedispersion_spectrum_bytes(d) +
           psr_dedispersion_series_bytes(d) * (d->equalise ? 2 : 1);
}

static int64_t choose_limit(const struct psr_dedispersion_desc *d, size_t n, double mem_bytes,
                            size_t block, const struct psr_dedisp_beams_desc *plan)
{
    struct psr_device device;
    if (!plan->backend || !strcmp(plan->backend, "cpu"))
        return (int64_t)(mem_bytes - (double)n * (double)block * block_spectrum_bytes(d));
    if (psr_device_describe(plan->device, &device, NULL))
        return 0;
    /* Searches take some of a device, too. */
    return (int64_t)fmin(mem_bytes, 0.75 * (double)device.mem_free);
}

/* --- the plan --------------------------------------------------------------------------------- */

static bool choose_device(const char *text, struct psr_dedisp_beams_desc *plan)
{
    struct psr_device_choice choice;
    if (psr_devices_choose(&choice, text, NULL) || choice.ndevice > 1)
        return false;
    plan->backend = psr_dedisp_backend(choice.backend);
    plan->device = choice.ndevice ? choice.devices[0] : choice.device;
    return true;
}

/* In arrays that are to be freed. */
static bool list_channels_and_sums(const struct psr_dedispersion_desc *d,
                                   struct psr_dedisp_beams_desc *plan, double **freq_mhz,
                                   size_t **downsamp)
{
    const struct psr_trial_list *t = d->trials;
    double *freq = *freq_mhz = malloc(d->obs->nchan * sizeof *freq);
    size_t *sum = *downsamp = malloc(t->ndm * sizeof *sum);
    if (!freq || !sum)
        return false;
    for (size_t c = 0; c < d->obs->nchan; c++)
        freq[c] = psr_obs_freq_mhz(d->obs, c) * (1 + d->voverc);
    for (size_t k = 0; k < t->nline; k++)
        for (size_t i = t->line[k].first; i < t->line[k].first + t->line[k].ndm; i++)
            sum[i] = (size_t)t->line[k].downsamp;
    plan->freq_mhz = freq;
    plan->downsamp = sum;
    return true;
}

static bool make_plan(psr_shared_beams *s, const struct psr_dedispersion_desc *d, size_t n)
{
    double *freq_mhz = NULL, mem_bytes = count_memory(d, n);
    size_t *downsamp = NULL;
    struct psr_dedisp_beams_desc plan = {
        .size = sizeof plan,
        .nbeam = n,
        .nchan = d->obs->nchan,
        .tsamp_s = d->obs->tsamp_s,
        .nbit = d->nbit,
        .kind = d->kind,
        .dmconst = d->dmconst,
        .ndm = d->trials->ndm,
        .dm = d->trials->dm,
        .keep = d->keep,
        .smear = d->smear,
        .nthread = (int)d->nthread,
        .aligned = true,
    };
    if (!choose_device(d->device, &plan))
        return false;
    s->backend = plan.backend;
    /* Half of the memory is for states. */
    double most = strcmp(s->backend, "cpu") ? device_block_bytes : host_block_bytes;
    double bytes = fmin(most, mem_bytes / 2 / (double)n);
    size_t spectra = (size_t)fmin(fmax(1, bytes / block_spectrum_bytes(d)), MOST_BLOCK);
    s->block = d->most_block && d->most_block < spectra ? d->most_block : spectra;
    for (size_t k = 0; k < n; k++) {
        size_t block = psr_dedispersion_whole_block(d + k, s->block);
        plan.block = block > plan.block ? block : plan.block;
    }
    plan.mem_bytes = choose_limit(d, n, mem_bytes, plan.block, &plan);
    bool made = plan.mem_bytes > 0 && list_channels_and_sums(d, &plan, &freq_mhz, &downsamp) &&
                !psr_dedisp_beams_create(&s->plan, &plan, NULL);
    free(freq_mhz);
    free(downsamp);
    return made;
}

psr_shared_beams *psr_shared_beams_create(const struct psr_dedispersion_desc *desc, size_t n)
{
    psr_shared_beams *s = can_share(desc, n) ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->nuser = 1;
    s->nbeam = n;
    if (make_plan(s, desc, n))
        return s;
    psr_shared_beams_leave(s);
    return NULL;
}

psr_shared_beams *psr_shared_beams_join(psr_shared_beams *s)
{
    if (s)
        s->nuser++;
    return s;
}

void psr_shared_beams_leave(psr_shared_beams *s)
{
    if (!s || --s->nuser)
        return;
    psr_dedisp_beams_destroy(s->plan);
    free(s);
}

size_t psr_shared_beams_count(const psr_shared_beams *s)
{
    return s->nbeam;
}

double psr_shared_beams_bytes(const psr_shared_beams *s)
{
    struct psr_dedisp_beams_info info;
    psr_dedisp_beams_describe(s->plan, &info);
    return info.bytes_shared;
}

/* --- a beam ----------------------------------------------------------------------------------- */

struct beams {
    struct psr_dedispersion_desc d;
    psr_shared_beams *shared; /* of the pipeline */
    int nthread;
    struct psr_device_series *device_series; /* [nline] */
};

static void destroy(void *state)
{
    struct beams *s = state;
    if (s)
        free(s->device_series);
    free(s);
}

static psr_status create(void **state, const struct psr_dedispersion_desc *d, psr_err *err)
{
    struct beams *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "dedispersion", sizeof *s);
    s->d = *d;
    s->shared = d->shared;
    s->nthread = psr_count_threads((int)d->nthread);
    s->device_series = calloc(d->trials->nline, sizeof *s->device_series);
    return s->device_series ? PSR_OK : psr_fail_nomem(err, "dedispersion", sizeof *s);
}

static size_t choose_block(const void *state)
{
    const struct beams *s = state;
    return psr_dedispersion_whole_block(&s->d, s->shared->block);
}

static const psr_dedisp *plan(const void *state, size_t line)
{
    const struct beams *s = state;
    return psr_dedisp_beams_plan(s->shared->plan, line);
}

/* Bytes are those of the beam. */
static void describe_line(const void *state, size_t line, struct psr_dedisp_info *info)
{
    const struct beams *s = state;
    struct psr_dedisp_beams_line l;
    psr_dedisp_beams_line(s->shared->plan, line, &l);
    *info = (struct psr_dedisp_info){
        .backend = s->shared->backend,
        .adds_direct = l.adds_direct * (double)l.downsamp,
        .adds_planned = l.adds_planned * (double)l.downsamp,
        .bytes = (int64_t)l.bytes_beam,
        .ndevice = strcmp(s->shared->backend, "cpu") != 0,
        .difference = l.difference,
    };
}

static psr_status push(void *state, const struct psr_block *block, psr_err *err)
{
    struct beams *s = state;
    return psr_dedisp_beams_execute(s->shared->plan, s->d.beam, block->spectra, block->n, err);
}

/* What the last execute gave of a line.
 * Returned: the number of its samples that lack channels, the first ones */
static size_t take_series(const struct beams *s, size_t line,
                          struct psr_dedisp_beams_series *series)
{
    psr_dedisp_beams_series(s->shared->plan, line, series);
    uint64_t maxshift = psr_dedisp_maxshift(plan(s, line));
    uint64_t lacks = series->first < maxshift ? maxshift - series->first : 0;
    return lacks < series->nsamp ? (size_t)lacks : series->nsamp;
}

static psr_status run(void *state, size_t line, float *x, size_t stride, size_t *n, psr_err *err)
{
    struct beams *s = state;
    struct psr_dedisp_beams_series series;
    const size_t from = take_series(s, line, &series);
    *n = series.nsamp - from;
    if (!series.out) {
        series.on_device.d_x += from;
        return psr_device_series_fetch(&series.on_device, 1, *n, x, stride, err);
    }
    const size_t count = s->d.trials->line[line].ndm;
#pragma omp parallel for num_threads(s->nthread)
    for (size_t i = 0; i < count; i++)
        memcpy(x + i * stride, series.out + i * series.stride + from, *n * sizeof *x);
    return PSR_OK;
}

static psr_status run_device(void *state, size_t line, struct psr_block *block, size_t *left,
                             psr_err *err)
{
    struct beams *s = state;
    struct psr_dedisp_beams_series series;
    const size_t from = take_series(s, line, &series);
    (void)err;
    s->device_series[line] = series.on_device;
    s->device_series[line].d_x += from;
    block->device_series = &s->device_series[line];
    block->ndevice_series = 1;
    block->n = block->device_samples = series.nsamp - from;
    *left = 0;
    return PSR_OK;
}

const struct psr_dedispersion_ops psr_dedispersion_beams = {
    .create = create,
    .block = choose_block,
    .push = push,
    .run = run,
    .run_device = run_device,
    .plan = plan,
    .describe = describe_line,
    .destroy = destroy,
};
