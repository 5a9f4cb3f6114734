/* Automatic cleaning on the host: holds spectra until a window is complete, and cleans it with all threads. */
#include "clean_auto_plan.h"

#include "base/threads/threads.h"
#include <string.h>

static psr_status sum(psr_clean_auto *p, psr_err *err)
{
    (void)err;
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->win.nblock; k++)
        psr_auto_sum(p, &p->win.block[k], p->row[psr_thread_number()]);
    return PSR_OK;
}

static void quantise_blocks(psr_clean_auto *p, bool filter)
{
#pragma omp parallel for schedule(dynamic) num_threads(p->nthread)
    for (size_t k = 0; k < p->win.nrange; k++)
        psr_auto_quantise(p, &p->win.block[k], filter, p->row[psr_thread_number()]);
}

static psr_status quantise(psr_clean_auto *p, psr_err *err)
{
    (void)err;
    quantise_blocks(p, false);
    return PSR_OK;
}

static psr_status find_sparks(psr_clean_auto *p, psr_err *err)
{
    (void)err;
    psr_auto_find_sparks(p);
    psr_auto_find_bursts(p);
    return PSR_OK;
}

static psr_status find_jumps(psr_clean_auto *p, bool *some, psr_err *err)
{
    (void)err;
    *some = psr_auto_find_jumps(p);
    return PSR_OK;
}

static psr_status add_jumps(psr_clean_auto *p, psr_err *err)
{
    (void)err;
    psr_auto_subtract_steps(p);
    return PSR_OK;
}

static psr_status measure(psr_clean_auto *p, struct psr_auto_products *now,
                          struct psr_auto_scale *one, psr_err *err)
{
    (void)err;
    psr_auto_measure(p, now, one);
    return PSR_OK;
}

static psr_status find_offsets(psr_clean_auto *p, const struct psr_auto_modes *m, psr_err *err)
{
    (void)err;
    psr_auto_subtract(p, m);
    return PSR_OK;
}

static psr_status find_mean(psr_clean_auto *p, psr_err *err)
{
    (void)err;
    psr_auto_find_mean(p);
    return PSR_OK;
}

static psr_status clear_offsets(psr_clean_auto *p, psr_err *err)
{
    (void)err;
    memset(p->modes.less, 0, p->win.n * p->ngroup * sizeof *p->modes.less);
    return PSR_OK;
}

static psr_status quantise_less(psr_clean_auto *p, psr_err *err)
{
    (void)err;
    quantise_blocks(p, true);
    return PSR_OK;
}

static psr_status blank(psr_clean_auto *p, psr_err *err)
{
    (void)err;
    for (size_t t = 0; t < p->win.n; t++)
        if (p->band.spark[t])
            memset(p->win.to + t * p->d.nchan, PSR_AUTO_ZERO, p->d.nchan);
    return PSR_OK;
}

/* --- the stream ------------------------------------------------------------------------------- */

static size_t hold(psr_clean_auto *p, const unsigned char *in, size_t nsamp)
{
    size_t n = nsamp < p->window - p->nheld ? nsamp : p->window - p->nheld;
    memcpy(p->held + p->nheld * p->in.row_bytes, in, n * p->in.row_bytes);
    p->nheld += n;
    return n;
}

static psr_status execute(psr_clean_auto *p, const void *in, size_t nsamp, void *out, size_t *nout,
                          psr_err *err)
{
    const unsigned char *at = in;
    unsigned char *to = out;
    psr_status st = PSR_OK;
    *nout = 0;
    while (nsamp && !st) {
        bool whole = !p->nheld && nsamp >= p->window;
        size_t n = whole ? p->window : hold(p, at, nsamp);
        if (whole || p->nheld == p->window) {
            st = psr_auto_clean_window(p, whole ? at : p->held, p->window, to, err);
            to += p->window * p->d.nchan;
            *nout += p->window;
            p->nheld = 0;
        }
        at += n * p->in.row_bytes;
        nsamp -= n;
    }
    return st;
}

static psr_status finish(psr_clean_auto *p, void *out, size_t *nout, psr_err *err)
{
    const size_t n = p->nheld;
    *nout = n;
    p->nheld = 0;
    return n ? psr_auto_clean_window(p, p->held, n, out, err) : PSR_OK;
}

const struct psr_auto_ops psr_auto_cpu = {
    .name = "cpu",
    .sum = sum,
    .quantise = quantise,
    .find_sparks = find_sparks,
    .find_jumps = find_jumps,
    .measure = measure,
    .find_offsets = find_offsets,
    .find_mean = find_mean,
    .clear_offsets = clear_offsets,
    .add_jumps = add_jumps,
    .quantise_less = quantise_less,
    .blank = blank,
    .execute = execute,
    .finish = finish,
};
