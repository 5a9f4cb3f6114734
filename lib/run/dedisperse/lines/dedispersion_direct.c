/* Dedisperses all lines of a plan with psr_dedisp_multi, in the memory that cleaning leaves. */
#include "lines.h"

#include "base/base.h"
#include "base/device/device_internal.h"
#include "search/dedisp/dedisp_internal.h"
#include <math.h>
#include <stdlib.h>

struct direct {
    struct psr_dedispersion_desc d;
    psr_dedisp_multi *fan;
};

/* --- memory ----------------------------------------------------------------------------------- */

/* Cleaning goes by whole blocks, whatever they take. */
static int64_t count_cleaning_bytes(const struct psr_dedispersion_desc *d)
{
    const double out = psr_dedispersion_series_bytes(d) * (d->equalise ? 2 : 1);
    if (!d->clean_block)
        return 0;
    return d->clean_bytes +
           (int64_t)((double)d->clean_block * (psr_dedispersion_spectrum_bytes(d) + out));
}

/* Cleaning is done in place but for what becomes floats. */
static size_t choose_block(const void *state)
{
    const struct direct *s = state;
    const struct psr_dedispersion_desc *d = &s->d;
    size_t n = psr_dedisp_multi_block(s->fan);
    if (d->most_block && d->most_block < n)
        n = d->most_block;
    if (d->cleaned_bytes)
        n -= (size_t)((double)n * (double)d->read_bytes / psr_dedispersion_spectrum_bytes(d));
    if (d->equalise)
        n -= (size_t)((double)n * psr_dedispersion_series_bytes(d) /
                      (psr_dedispersion_spectrum_bytes(d) + 2 * psr_dedispersion_series_bytes(d)));
    return psr_dedispersion_whole_block(d, n);
}

/* --- the plans -------------------------------------------------------------------------------- */

static void describe_lines(const struct psr_dedispersion_desc *d,
                           struct psr_dedisp_multi_line *line)
{
    const struct psr_trial_list *t = d->trials;
    for (size_t k = 0; k < t->nline; k++) {
        const struct psr_line *l = &t->line[k];
        line[k] = (struct psr_dedisp_multi_line){
            .downsamp = (size_t)l->downsamp,
            .ndm = l->ndm,
            .dm = t->dm + l->first,
            .algo = d->tree                   ? PSR_DEDISP_TREE
                    : d->two_steps && l->nsub ? PSR_DEDISP_SUBBAND
                                              : PSR_DEDISP_DIRECT,
            .nsub = (size_t)l->nsub,
            .keep = l->part ? t->part[l->part - 1].keep : NULL,
        };
    }
}

/* Describes psr_dedisp_multi except its memory and devices, in arrays that are to be freed. */
static psr_status describe(const struct psr_dedispersion_desc *d, struct psr_dedisp_multi_desc *fan,
                           double **freq_mhz, struct psr_dedisp_multi_line **line, psr_err *err)
{
    size_t nchan = d->obs->nchan, nline = d->trials->nline;
    double *freq = *freq_mhz = malloc(nchan * sizeof *freq);
    *line = calloc(nline, sizeof **line);
    if (!freq || !*line)
        return psr_fail_nomem(err, "channel frequencies", (double)nchan * 8);
    for (size_t c = 0; c < nchan; c++)
        freq[c] = psr_obs_freq_mhz(d->obs, c) * (1 + d->voverc);
    describe_lines(d, *line);
    *fan = (struct psr_dedisp_multi_desc){
        .nline = nline,
        .line = *line,
        .stream =
            {
                .nchan = nchan,
                .freq_mhz = freq,
                .tsamp_s = d->obs->tsamp_s,
                .nbit = d->nbit,
                .kind = d->kind,
                .dmconst = d->dmconst,
                .keep = d->keep,
                .tol = d->tol,
                .smear = d->smear,
                .late = d->late,
                .nthread = (int)d->nthread,
            },
    };
    return PSR_OK;
}

static psr_status maxshift_of(const struct psr_dedispersion_desc *d, size_t line, size_t *maxshift,
                              psr_err *err)
{
    struct psr_dedisp_multi_desc fan;
    struct psr_dedisp_multi_line *lines;
    double *freq_mhz;
    psr_status st = describe(d, &fan, &freq_mhz, &lines, err);
    if (!st)
        st = psr_dedisp_multi_measure(&fan, line, maxshift, err);
    free(freq_mhz);
    free(lines);
    return st;
}

static const char *backend(const char *text)
{
    struct psr_device_choice device;
    return psr_devices_choose(&device, text, NULL) ? "cpu" : psr_dedisp_backend(device.backend);
}

static psr_status create_multi(struct direct *s, const struct psr_dedisp_multi_desc *fan,
                               psr_err *err)
{
    psr_err why;
    psr_status st = psr_dedisp_multi_create(&s->fan, fan, &why);
    if (st == PSR_ENOMEM) {
        /* Reports a lack of memory in terms of -mem. */
        const struct psr_dedispersion_desc *d = &s->d;
        char all[PSR_SIZE_TEXT], cleaning[PSR_SIZE_TEXT];
        if (!d->clean_block)
            return psr_fail(err, PSR_ENOMEM, "-mem: %.400s", why.msg);
        return psr_fail(err, PSR_ENOMEM, "-mem: %.300s; cleaning takes %s of %s", why.msg,
                        psr_size_text(cleaning, (double)count_cleaning_bytes(d)),
                        psr_size_text(all, (double)psr_count_memory(d->mem_bytes)));
    }
    return st ? psr_fail_field(err, st, why.field, "%s", why.msg) : PSR_OK;
}

static void destroy(void *state)
{
    struct direct *s = state;
    if (s)
        psr_dedisp_multi_destroy(s->fan);
    free(s);
}

static psr_status create(void **state, const struct psr_dedispersion_desc *d, psr_err *err)
{
    struct psr_device_choice device;
    int64_t mem_bytes;
    struct direct *s = calloc(1, sizeof *s);
    *state = s;
    if (!s)
        return psr_fail_nomem(err, "dedispersion", sizeof *s);
    s->d = *d;
    psr_status st = psr_dedispersion_share_memory(d, &mem_bytes, err);
    if (!st)
        st = psr_devices_choose(&device, d->device, err);
    if (st)
        return st;
    struct psr_dedisp_multi_desc fan;
    struct psr_dedisp_multi_line *line;
    double *freq_mhz;
    st = describe(&s->d, &fan, &freq_mhz, &line, err);
    fan.stream.mem_bytes = mem_bytes;
    fan.stream.backend = device.backend;
    fan.stream.device = device.device;
    fan.stream.devices = device.devices;
    fan.stream.ndevice = device.ndevice;
    if (!st)
        st = create_multi(s, &fan, err);
    free(freq_mhz);
    free(line);
    return st;
}

/* --- the stream ------------------------------------------------------------------------------- */

static const psr_dedisp *plan(const void *state, size_t line)
{
    const struct direct *s = state;
    return psr_dedisp_multi_plan(s->fan, line);
}

static psr_status push(void *state, const struct psr_block *block, psr_err *err)
{
    struct direct *s = state;
    return psr_dedisp_multi_push(s->fan, block->spectra, block->n, err);
}

static psr_status run(void *state, size_t line, float *x, size_t stride, size_t *n, psr_err *err)
{
    struct direct *s = state;
    return psr_dedisp_multi_execute(s->fan, line, x, stride, n, err);
}

static psr_status run_device(void *state, size_t line, struct psr_block *series, size_t *left,
                             psr_err *err)
{
    struct direct *s = state;
    psr_status st = psr_dedisp_multi_execute_device(s->fan, line, &series->device_series,
                                                    &series->ndevice_series, &series->n, left, err);
    series->device_samples = series->n;
    return st;
}

const struct psr_dedispersion_ops psr_dedispersion_direct = {
    .maxshift = maxshift_of,
    .backend = backend,
    .create = create,
    .block = choose_block,
    .push = push,
    .run = run,
    .run_device = run_device,
    .plan = plan,
    .destroy = destroy,
};

/* --- what dedispersion takes and may take of memory, and lengths of blocks and of series ------ */

/* Of a spectrum as it is read, and as it becomes beside that. */
double psr_dedispersion_spectrum_bytes(const struct psr_dedispersion_desc *d)
{
    return (double)d->read_bytes + (double)d->cleaned_bytes;
}

/* Of the series of a spectrum, of the line that has the most. */
double psr_dedispersion_series_bytes(const struct psr_dedispersion_desc *d)
{
    const struct psr_trial_list *t = d->trials;
    double out = 0;
    for (const struct psr_line *l = t->line; l < t->line + t->nline; l++)
        out = fmax(out, 4 * (double)l->ndm / (double)l->downsamp);
    return out;
}

/* What -mem leaves to dedispersion. */
psr_status psr_dedispersion_share_memory(const struct psr_dedispersion_desc *d, int64_t *mem_bytes,
                                         psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    int64_t all = psr_count_memory(d->mem_bytes), cleaning = count_cleaning_bytes(d);
    *mem_bytes = all - cleaning;
    if (*mem_bytes > 0)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM,
                    "-mem: %s, must be above the %s that cleaning takes with %zu spectra of %zu "
                    "channels",
                    psr_size_text(have, (double)all), psr_size_text(need, (double)cleaning),
                    d->clean_block, d->obs->nchan);
}

size_t psr_dedispersion_whole_block(const struct psr_dedispersion_desc *d, size_t n)
{
    const size_t most_bytes = 64 << 20; /* larger ones are slower to go over again */
    size_t most = most_bytes / d->read_bytes;
    if (d->clean_block) {
        n = n + d->clean_block < most ? n + d->clean_block : most;
        n -= n % d->clean_block;
        n = n ? n : d->clean_block;
    }
    return d->obs->nsamp >= 0 && (size_t)d->obs->nsamp < n ? (size_t)d->obs->nsamp : n;
}
