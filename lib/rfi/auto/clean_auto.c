/* Cleans a stream of spectra automatically, window by window. */
#include "clean_auto_plan.h"

#include "base/copy_desc.h"
#include "base/threads/threads.h"
#include "base/tool.h"
#include "clean_auto_internal.h"
#include "formats/spectra/unpack.h"
#include <config.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where samples are cleaned; the one place that knows which were built. */
static const struct psr_auto_ops *const backends[] = {
    &psr_auto_cpu,
#ifdef HAVE_CUDA
    &psr_auto_cuda,
#endif
};

static const double block_s = 0.125;
enum { BLOCK_LEAST = 64, BLOCK_MOST = 2048 };

/* --- create and destroy ----------------------------------------------------------------------- */

static psr_status check_desc(const struct psr_clean_auto_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nchan > (size_t)1 << 20)
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "cleaning: %zu channels is outside 1 to 1048576", d->nchan);
    if (!psr_row_known(d->nbit, d->kind))
        return psr_fail_field(err, PSR_EINVAL, "nbit", "cleaning: no %d-bit samples of kind %d",
                              d->nbit, (int)d->kind);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s))
        return psr_fail_field(err, PSR_EINVAL, "tsamp_s",
                              "cleaning: sampling time %g s, must be above 0", d->tsamp_s);
    if (d->weights && d->nbit < 4)
        return psr_fail_field(err, PSR_EINVAL, "weights",
                              "cleaning: levels of %d-bit samples are not proportional to gain: no "
                              "weights by signal to noise",
                              d->nbit);
    if (!(d->clip_sigma >= 0) || !isfinite(d->clip_sigma))
        return psr_fail_field(err, PSR_EINVAL, "clip_sigma",
                              "cleaning: sparks of %g sigma, must be 0 or more", d->clip_sigma);
    return PSR_OK;
}

/* NULL is the CPU. */
static psr_status choose_backend(psr_clean_auto *p, const char *name, psr_err *err)
{
    for (size_t k = 0; k < sizeof backends / sizeof *backends; k++)
        if (!strcmp(name ? name : psr_auto_cpu.name, backends[k]->name)) {
            p->ops = backends[k];
            return PSR_OK;
        }
    return psr_fail_field(err, PSR_EDEVICE, "backend", "cleaning: no backend '%s' in this build",
                          name);
}

static size_t choose_block(double tsamp_s)
{
    size_t n = BLOCK_LEAST;
    while (n < BLOCK_MOST && (double)n * sqrt(2) * tsamp_s < block_s)
        n *= 2;
    return n;
}

static bool allocate_block(struct psr_auto_block *b, size_t nchan)
{
    b->s1 = calloc(nchan, sizeof *b->s1);
    b->s2 = calloc(nchan, sizeof *b->s2);
    b->mean = calloc(nchan, sizeof *b->mean);
    b->sd = calloc(nchan, sizeof *b->sd);
    b->valid = calloc(nchan, 1);
    b->masked = calloc(nchan, 1);
    b->gain = calloc(nchan, sizeof *b->gain);
    b->offset = calloc(nchan, sizeof *b->offset);
    bool all = b->s1 && b->s2 && b->mean && b->sd && b->valid && b->masked && b->gain && b->offset;
    for (int kind = 0; kind < PSR_AUTO_RATINGS && all; kind++)
        all = (b->z[kind] = calloc(nchan, sizeof **b->z)) != NULL;
    return all;
}

static bool allocate_channels(psr_clean_auto *p)
{
    const size_t nchan = p->d.nchan;
    p->keep = malloc(nchan);
    p->bad = malloc(nchan);
    p->was_bad = malloc(nchan);
    p->npast = calloc(nchan, 1);
    p->level = calloc(nchan, sizeof *p->level);
    p->sd = calloc(nchan, sizeof *p->sd);
    p->now_l = calloc(nchan, sizeof *p->now_l);
    p->now_s = calloc(nchan, sizeof *p->now_s);
    p->old_l = calloc(nchan, sizeof *p->old_l);
    p->old_s = calloc(nchan, sizeof *p->old_s);
    p->past_l = calloc(PSR_AUTO_HISTORY * nchan, sizeof *p->past_l);
    p->past_s = calloc(PSR_AUTO_HISTORY * nchan, sizeof *p->past_s);
    p->masked = calloc(nchan, sizeof *p->masked);
    p->missing = calloc(nchan, sizeof *p->missing);
    p->weight = calloc(nchan, 1);
    bool all = p->keep && p->bad && p->was_bad && p->npast && p->level && p->sd && p->now_l &&
               p->now_s && p->old_l && p->old_s && p->past_l && p->past_s && p->masked &&
               p->missing && p->weight;
    for (size_t k = 0; k <= PSR_AUTO_BLOCKS && all; k++)
        all = allocate_block(&p->block[k], nchan);
    return all;
}

static size_t work_values(const psr_clean_auto *p)
{
    const size_t cells = PSR_AUTO_RATINGS * PSR_AUTO_BLOCKS * p->d.nchan,
                 spectra = (PSR_AUTO_BLOCKS + 1) * p->window;
    return cells > spectra ? cells : spectra;
}

static bool allocate_window(psr_clean_auto *p)
{
    p->work = calloc(work_values(p), sizeof *p->work);
    p->sum = calloc(p->window * p->ngroup, sizeof *p->sum);
    p->fold = calloc(p->window * p->ngroup, sizeof *p->fold);
    p->tile = calloc(p->window, sizeof *p->tile);
    p->spark = calloc(p->window, 1);
    p->pulse = calloc(p->window, 1);
    p->burst = calloc(p->window, 1);
    p->run = calloc(p->window / 2, sizeof *p->run);
    p->band = calloc(2 * p->window + 1, sizeof *p->band);
    p->rate = calloc(PSR_AUTO_WIDTHS * PSR_AUTO_TILES * p->ngroup, sizeof *p->rate);
    p->mode = calloc(p->window * p->ngroup, sizeof *p->mode);
    p->median = calloc(p->window * p->ngroup, sizeof *p->median);
    p->less = calloc(p->window * p->ngroup, sizeof *p->less);
    p->held = calloc(p->window, p->in.row_bytes);
    p->row = calloc((size_t)p->nthread, sizeof *p->row);
    bool all = p->work && p->tile && p->sum && p->fold && p->spark && p->pulse && p->burst &&
               p->run && p->band && p->rate && p->mode && p->median && p->less && p->held && p->row;
    for (int i = 0; i < p->nthread && all; i++)
        all = (p->row[i] = malloc(p->d.nchan * sizeof **p->row)) != NULL;
    return all;
}

int64_t psr_clean_auto_bytes(const psr_clean_auto *p)
{
    const size_t cell = 2 * sizeof(double) + (4 + PSR_AUTO_RATINGS) * sizeof(float) + 2;
    return (int64_t)(p->window * (p->in.row_bytes + 24 * p->ngroup + 7 + 2 * sizeof *p->band +
                                  sizeof *p->run / 2) +
                     4 * work_values(p) + 4 * PSR_AUTO_WIDTHS * PSR_AUTO_TILES * p->ngroup +
                     sizeof *p +
                     p->d.nchan * ((PSR_AUTO_BLOCKS + 1) * cell + 8 * PSR_AUTO_HISTORY + 66));
}

static psr_status create(psr_clean_auto **out, const struct psr_clean_auto_desc *desc, psr_err *err)
{
    psr_status st = check_desc(desc, err);
    if (st)
        return st;
    psr_clean_auto *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "cleaning", sizeof *p);
    p->d = *desc;
    p->d.keep = NULL;
    p->d.backend = NULL;
    p->in = (struct psr_layout){desc->nchan, desc->nbit, desc->kind,
                                psr_row_bytes(desc->nchan, desc->nbit)};
    p->nthread = psr_count_threads(desc->nthread);
    p->usual = choose_block(desc->tsamp_s);
    p->window = PSR_AUTO_BLOCKS * p->usual;
    p->ngroup = desc->nchan < PSR_AUTO_GROUPS ? desc->nchan : PSR_AUTO_GROUPS;
    st = choose_backend(p, desc->backend, err);
    if (!st && (!allocate_channels(p) || !allocate_window(p)))
        st = psr_fail_nomem(err, "cleaning", (double)psr_clean_auto_bytes(p));
    if (!st && p->ops->create)
        st = p->ops->create(p, err);
    if (st) {
        psr_clean_auto_destroy(p);
        return st;
    }
    memset(p->bad, 1, desc->nchan);
    memset(p->weight, PSR_AUTO_SIGMA, desc->nchan);
    memset(p->keep, 1, desc->nchan);
    if (desc->keep)
        memcpy(p->keep, desc->keep, desc->nchan);
    p->report.block = p->usual;
    p->report.window = p->window;
    *out = p;
    return PSR_OK;
}

psr_status psr_clean_auto_create(psr_clean_auto **out, const struct psr_clean_auto_desc *desc,
                                 psr_err *err)
{
    struct psr_clean_auto_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "cleaning", err);
    return st ? st : create(out, &d, err);
}

static void free_block(struct psr_auto_block *b)
{
    void *const own[] = {b->s1, b->s2, b->mean, b->sd, b->valid, b->masked, b->gain, b->offset};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++)
        free(own[n]);
    for (int kind = 0; kind < PSR_AUTO_RATINGS; kind++)
        free(b->z[kind]);
}

void psr_clean_auto_destroy(psr_clean_auto *p)
{
    if (!p)
        return;
    if (p->state)
        p->ops->destroy(p);
    for (size_t k = 0; k <= PSR_AUTO_BLOCKS; k++)
        free_block(&p->block[k]);
    for (int i = 0; p->row && i < p->nthread; i++)
        free(p->row[i]);
    void *const own[] = {
        p->was_bad, p->npast, p->fold,   p->keep,   p->bad,     p->level,  p->sd,     p->now_l,
        p->now_s,   p->old_l, p->old_s,  p->past_l, p->past_s,  p->masked, p->work,   p->sum,
        p->spark,   p->held,  p->row,    p->mask,   p->tile,    p->span,   p->all_sd, p->all_level,
        p->rate,    p->mode,  p->median, p->less,   p->missing, p->step,   p->cell,   p->spark_span,
        p->weight,  p->pulse, p->burst,  p->run,    p->band};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++)
        free(own[n]);
    free(p);
}

size_t psr_clean_auto_window(const psr_clean_auto *p)
{
    return p->window;
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Of an endless stream the last range of what is masked may go on; the others have been told. */
static void begin_call(psr_clean_auto *p)
{
    p->nstep = 0;
    if (!p->d.endless || p->nspan < 2)
        return;
    p->span[0] = p->span[p->nspan - 1];
    p->nspan = 1;
}

psr_status psr_clean_auto_execute(psr_clean_auto *p, const void *in, size_t nsamp, void *out,
                                  size_t *nout, psr_err *err)
{
    begin_call(p);
    return p->ops->execute(p, in, nsamp, out, nout, err);
}

psr_status psr_clean_auto_finish(psr_clean_auto *p, void *out, size_t *nout, psr_err *err)
{
    begin_call(p);
    return p->ops->finish(p, out, nout, err);
}

static psr_status refuse_device(const psr_clean_auto *p, psr_err *err)
{
    return psr_fail(err, PSR_EUNSUPPORTED, "cleaning: backend %s leaves no spectra on a device",
                    p->ops->name);
}

psr_status psr_clean_auto_execute_device(psr_clean_auto *p, const void *in, size_t nsamp,
                                         void **d_out, size_t *nout, psr_err *err)
{
    *nout = 0;
    begin_call(p);
    return p->ops->execute_device ? p->ops->execute_device(p, in, nsamp, d_out, nout, err)
                                  : refuse_device(p, err);
}

psr_status psr_clean_auto_finish_device(psr_clean_auto *p, void **d_out, size_t *nout, psr_err *err)
{
    *nout = 0;
    begin_call(p);
    return p->ops->finish_device ? p->ops->finish_device(p, d_out, nout, err)
                                 : refuse_device(p, err);
}

psr_status psr_clean_auto_blank_device(psr_clean_auto *p, size_t nsamp, void **d_out, psr_err *err)
{
    return p->ops->blank_device ? p->ops->blank_device(p, nsamp, d_out, err)
                                : refuse_device(p, err);
}

const char *psr_clean_auto_backend(const psr_clean_auto *p)
{
    return p->ops->name;
}

size_t psr_clean_auto_lost(const psr_clean_auto *p, const struct psr_span **span)
{
    *span = p->span;
    return p->nspan;
}

void psr_clean_auto_describe_sized(const psr_clean_auto *p, struct psr_clean_auto_report *report,
                                   size_t size)
{
    struct psr_clean_auto_report r = p->report;
    r.masked = p->masked;
    r.mask = p->mask;
    r.level = p->all_level;
    r.sd = p->all_sd;
    r.weight = p->d.weights ? p->weight : NULL;
    psr_give_desc(report, size, &r, sizeof r);
}
