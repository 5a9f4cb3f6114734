/* Joins what was found at all DMs to one list: the sift's duplicates, harmonics and marks. */
#include "ffasearch_state.h"

#include <stdlib.h>
#include <string.h>

struct merging {
    struct psr_ffasearch *f;
    size_t *first; /* [f->nfound + 1] number of the first peak of each series, from 0 */
    size_t nrow, nhit;
};

static psr_status add_found(psr_sift *s, const struct psr_ffasearch_found *found, size_t first,
                            psr_err *err)
{
    struct psr_accel_rows rows = {.n = found->npeak, .tobs_s = found->tobs_s, .inf = found->inf};
    rows.row = calloc(found->npeak + 1, sizeof *rows.row);
    if (!rows.row)
        return psr_fail_nomem(err, "candidates", (double)found->npeak * sizeof *rows.row);
    for (size_t k = 0; k < found->npeak; k++)
        rows.row[k] = (struct psr_accel_row){.number = (int64_t)(first + k + 1),
                                             .r = found->peak[k].freq_hz * found->tobs_s,
                                             .fold_snr = found->peak[k].snr,
                                             .fold_duty = found->peak[k].duty};
    psr_status st = psr_sift_add(s, &rows, "series", found->inf.dm, err);
    free(rows.row);
    return st;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The series of peak number k, from 0. */
static size_t find_series(const struct merging *m, size_t k)
{
    size_t low = 0, high = m->f->nfound;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (m->first[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Rejects have no hits: they get one of their own. */
static void add_row(struct merging *m, const struct psr_sift_cand *c)
{
    const size_t k = (size_t)c->number - 1, i = find_series(m, k), n = c->hit ? c->nhit : 1;
    const struct psr_ffa_peak *p = &m->f->found[i].peak[k - m->first[i]];
    struct psr_sift_hit *hit = m->f->hit + m->nhit;
    if (c->hit)
        memcpy(hit, c->hit, n * sizeof *hit);
    else
        *hit = (struct psr_sift_hit){c->dm, c->snr, c->sigma};
    m->nhit += n;
    m->f->row[m->nrow++] = (struct psr_ffa_row){
        .period_s = p->period_s,
        .freq_hz = p->freq_hz,
        .dm = c->dm,
        .snr = p->snr,
        .width_s = p->width_s,
        .duty = p->duty,
        .nbin = p->nbin,
        .marks = c->marks,
        .hit = hit,
        .nhit = n,
    };
}

PSR_COMPARE(by_snr, struct psr_ffa_row, PSR_THEN(PSR_FALLING(snr), PSR_RISING(freq_hz)));

/* What a sift of a blind search rejects for its DMs stays in the list. */
static bool is_kept(const struct psr_sift_cand *c)
{
    return c->reason == PSR_SIFT_LOW_DM || c->reason == PSR_SIFT_DM_GAPS;
}

static psr_status fill(struct merging *m, const struct psr_sift_result *r, psr_err *err)
{
    struct psr_ffasearch *f = m->f;
    size_t nrow = r->ncand + r->nreject, room = r->nreject;
    for (size_t k = 0; k < r->ncand; k++)
        room += r->cand[k].nhit;
    free(f->row);
    free(f->hit);
    f->row = calloc(nrow + 1, sizeof *f->row);
    f->hit = calloc(room + 1, sizeof *f->hit);
    if (!f->row || !f->hit)
        return psr_fail_nomem(err, "candidates", (double)nrow * sizeof *f->row);
    for (size_t k = 0; k < r->ncand; k++)
        add_row(m, &r->cand[k]);
    for (size_t k = 0; k < r->nreject; k++)
        if (is_kept(&r->reject[k]))
            add_row(m, &r->reject[k]);
    qsort(f->row, m->nrow, sizeof *f->row, by_snr);
    return PSR_OK;
}

static psr_status sift(struct merging *m, struct psr_ffa_list *list, psr_err *err)
{
    const struct psr_ffasearch *f = m->f;
    psr_sift *s = NULL;
    struct psr_sift_result result;
    /* All peaks pass: what cannot be told from noise is not in the lists. */
    struct psr_sift_desc d;
    psr_sift_defaults(&d);
    d.short_period_s = 0;
    d.long_period_s = 1e9;
    d.sigma_threshold = 0;
    d.min_num_dms = 1;
    d.keep_rejects = true;
    psr_status st = psr_sift_create(&s, &d, err);
    for (size_t i = 0; i < f->nfound && !st; i++)
        st = add_found(s, &f->found[i], m->first[i], err);
    if (!st)
        st = psr_sift_execute(s, &result, err);
    if (!st)
        st = fill(m, &result, err);
    if (!st)
        *list = (struct psr_ffa_list){.row = f->row,
                                      .n = m->nrow,
                                      .nharmonic = result.count[PSR_SIFT_HARMONIC],
                                      .tobs_s = f->found[0].tobs_s,
                                      .inf = f->found[0].inf};
    for (size_t i = 0; i < f->nfound && !st; i++)
        list->nzapped += f->found[i].nzapped;
    psr_sift_destroy(s);
    return st;
}

psr_status psr_ffasearch_merge(psr_ffasearch *f, struct psr_ffa_list *list, psr_err *err)
{
    struct merging m = {.f = f};
    *list = (struct psr_ffa_list){.n = 0};
    if (f->nfound == 0)
        return PSR_OK;
    psr_status st = f->d.stack ? psr_ffasearch_stack(f, err) : PSR_OK;
    if (st)
        return st;
    m.first = calloc(f->nfound + 1, sizeof *m.first);
    if (!m.first)
        return psr_fail_nomem(err, "series", (double)f->nfound * sizeof *m.first);
    for (size_t i = 0; i < f->nfound; i++)
        m.first[i + 1] = m.first[i] + f->found[i].npeak;
    st = sift(&m, list, err);
    free(m.first);
    psr_ffasearch_forget(f);
    return st;
}
