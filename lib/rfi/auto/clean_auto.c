/* Cleans a stream of spectra automatically, window by window. */
#include "clean_auto_plan.h"

#include "base/base.h"
#include "base/threads/threads.h"
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

static void allocate_block(psr_clean_auto *p, struct psr_auto_block *b)
{
    const size_t nchan = p->d.nchan;
    b->s1 = psr_own(&p->own, nchan, sizeof *b->s1);
    b->s2 = psr_own(&p->own, nchan, sizeof *b->s2);
    b->mean = psr_own(&p->own, nchan, sizeof *b->mean);
    b->sd = psr_own(&p->own, nchan, sizeof *b->sd);
    b->valid = psr_own(&p->own, nchan, 1);
    b->masked = psr_own(&p->own, nchan, 1);
    b->gain = psr_own(&p->own, nchan, sizeof *b->gain);
    b->offset = psr_own(&p->own, nchan, sizeof *b->offset);
    for (int kind = 0; kind < PSR_AUTO_RATINGS; kind++)
        b->z[kind] = psr_own(&p->own, nchan, sizeof **b->z);
}

static void allocate_channels(psr_clean_auto *p)
{
    struct psr_auto_levels *l = &p->levels;
    const size_t nchan = p->d.nchan;
    p->keep = psr_own(&p->own, nchan, 1);
    p->weight = psr_own(&p->own, nchan, 1);
    l->bad = psr_own(&p->own, nchan, 1);
    l->was_bad = psr_own(&p->own, nchan, 1);
    l->npast = psr_own(&p->own, nchan, 1);
    l->level = psr_own(&p->own, nchan, sizeof *l->level);
    l->sd = psr_own(&p->own, nchan, sizeof *l->sd);
    l->l_now = psr_own(&p->own, nchan, sizeof *l->l_now);
    l->s_now = psr_own(&p->own, nchan, sizeof *l->s_now);
    l->l_prev = psr_own(&p->own, nchan, sizeof *l->l_prev);
    l->s_prev = psr_own(&p->own, nchan, sizeof *l->s_prev);
    l->past_l = psr_own(&p->own, PSR_AUTO_HISTORY * nchan, sizeof *l->past_l);
    l->past_s = psr_own(&p->own, PSR_AUTO_HISTORY * nchan, sizeof *l->past_s);
    p->account.masked = psr_own(&p->own, nchan, sizeof *p->account.masked);
    p->changes.missing = psr_own(&p->own, nchan, sizeof *p->changes.missing);
    for (size_t k = 0; k <= PSR_AUTO_BLOCKS; k++)
        allocate_block(p, &p->win.block[k]);
}

static size_t work_values(const psr_clean_auto *p)
{
    const size_t cells = PSR_AUTO_RATINGS * PSR_AUTO_BLOCKS * p->d.nchan,
                 spectra = (PSR_AUTO_BLOCKS + 1) * p->window;
    return cells > spectra ? cells : spectra;
}

static void allocate_window(psr_clean_auto *p)
{
    struct psr_auto_band *b = &p->band;
    const size_t n = p->window, values = n * p->ngroup;
    b->sum = psr_own(&p->own, values, sizeof *b->sum);
    b->fold = psr_own(&p->own, values, sizeof *b->fold);
    b->tile = psr_own(&p->own, n, sizeof *b->tile);
    b->rate = psr_own(&p->own, PSR_AUTO_WIDTHS * PSR_AUTO_TILES * p->ngroup, sizeof *b->rate);
    b->spark = psr_own(&p->own, n, 1);
    b->pulse = psr_own(&p->own, n, 1);
    b->burst = psr_own(&p->own, n, 1);
    b->run = psr_own(&p->own, n / 2, sizeof *b->run);
    b->prefix = psr_own(&p->own, 2 * n + 1, sizeof *b->prefix);
    p->modes.mode = psr_own(&p->own, values, sizeof *p->modes.mode);
    p->modes.median = psr_own(&p->own, values, sizeof *p->modes.median);
    p->modes.less = psr_own(&p->own, values, sizeof *p->modes.less);
    p->work = psr_own(&p->own, work_values(p), sizeof *p->work);
    p->held = psr_own(&p->own, n, p->in.row_bytes);
    p->row = psr_own(&p->own, (size_t)p->nthread, sizeof *p->row);
    for (int i = 0; p->row && i < p->nthread; i++)
        p->row[i] = psr_own(&p->own, p->d.nchan, sizeof **p->row);
}

int64_t psr_clean_auto_bytes(const psr_clean_auto *p)
{
    return (int64_t)sizeof *p + (int64_t)p->own.bytes;
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
    const double tsamp_s = desc->tsamp_s;
    size_t n = BLOCK_LEAST;
    while (n < BLOCK_MOST && (double)n * sqrt(2) * tsamp_s < block_s)
        n *= 2;
    p->usual = n;
    p->window = PSR_AUTO_BLOCKS * p->usual;
    p->ngroup = desc->nchan < PSR_AUTO_GROUPS ? desc->nchan : PSR_AUTO_GROUPS;
    st = choose_backend(p, desc->backend, err);
    if (!st) {
        allocate_channels(p);
        allocate_window(p);
        st = psr_own_check(&p->own, "cleaning", err);
    }
    if (!st && p->ops->create)
        st = p->ops->create(p, err);
    if (st) {
        psr_clean_auto_destroy(p);
        return st;
    }
    memset(p->levels.bad, 1, desc->nchan);
    memset(p->weight, PSR_AUTO_SIGMA, desc->nchan);
    memset(p->keep, 1, desc->nchan);
    if (desc->keep)
        memcpy(p->keep, desc->keep, desc->nchan);
    p->account.report.block = p->usual;
    p->account.report.window = p->window;
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

void psr_clean_auto_destroy(psr_clean_auto *p)
{
    if (!p)
        return;
    if (p->state)
        p->ops->destroy(p);
    void *const grown[] = {p->account.mask,      p->account.all_level, p->account.all_sd,
                           p->account.span,      p->changes.step,      p->changes.cell,
                           p->changes.spark_span};
    for (size_t n = 0; n < sizeof grown / sizeof *grown; n++)
        free(grown[n]);
    psr_own_free(&p->own);
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
    p->changes.nstep = 0;
    if (!p->d.endless || p->account.nspan < 2)
        return;
    p->account.span[0] = p->account.span[p->account.nspan - 1];
    p->account.nspan = 1;
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
    *span = p->account.span;
    return p->account.nspan;
}

void psr_clean_auto_describe_sized(const psr_clean_auto *p, struct psr_clean_auto_report *report,
                                   size_t size)
{
    struct psr_clean_auto_report r = p->account.report;
    r.masked = p->account.masked;
    r.mask = p->account.mask;
    r.level = p->account.all_level;
    r.sd = p->account.all_sd;
    r.weight = p->d.weights ? p->weight : NULL;
    psr_give_desc(report, size, &r, sizeof r);
}
