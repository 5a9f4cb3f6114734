/* Sifts candidates: the description, the order of steps, the result. */
#include "sift_state.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include <math.h>
#include <psrkit/signif.h>
#include <stdlib.h>
#include <string.h>

/* --- makes one candidate of what several segments of an observation hold of a pulsar ---------- */

static double middle_s(const struct psr_sift *s, const struct psr_sift_entry *e)
{
    return (s->list[e->list].segment.number - 0.5) * psr_sift_tobs(s, e);
}

/* Whether b is where a, or a harmonic of it, has drifted to by b's time.  Both drifts are known to a bin, and drift,
 * of an orbit: so the tolerance grows by a bin for each length of the shorter one that is between them. */
static bool is_near(const struct psr_sift *s, const struct psr_sift_entry *a,
                    const struct psr_sift_entry *b, int p, int q)
{
    const double ta = psr_sift_tobs(s, a), tb = psr_sift_tobs(s, b), shorter_s = fmin(ta, tb);
    const double apart_s = middle_s(s, b) - middle_s(s, a), ratio = (double)p / q;
    const double fd = (ratio * a->z / (ta * ta) + b->z / (tb * tb)) / 2;
    const double most = (s->d.r_err + fabs(apart_s) / shorter_s) * fmax(1, ratio) / shorter_s;
    return fabs(ratio * a->f + fd * apart_s - b->f) < most &&
           (p == q || 2 * most < 0.05 * fmin(a->f, b->f));
}

/* Returned: whether b is a or, in a->ratio, a harmonic */
static bool find_ratio(const struct psr_sift *s, const struct psr_sift_entry *a,
                       const struct psr_sift_entry *b, int ratio[2])
{
    const double over = b->f > a->f ? b->f / a->f : a->f / b->f;
    const int n = (int)fmin(round(over), PSR_SIFT_MOST_HARMONIC + 1);
    ratio[0] = b->f > a->f ? n : 1;
    ratio[1] = b->f > a->f ? 1 : n;
    return n <= PSR_SIFT_MOST_HARMONIC && is_near(s, a, b, ratio[0], ratio[1]);
}

static void sift_segments(struct psr_sift *s)
{
    bool any = false;
    for (size_t i = 0; i < s->nlist; i++)
        any |= s->list[i].segment.of > 1;
    for (size_t i = 0; any && i < s->norder; i++)
        for (size_t k = i + 1; k < s->norder; k++) {
            const struct psr_sift_entry *a = &s->all.entry[s->order[i]];
            struct psr_sift_entry *b = &s->all.entry[s->order[k]];
            int ratio[2];
            if (a->reason != PSR_SIFT_GOOD || b->reason != PSR_SIFT_GOOD ||
                psr_sift_same_segment(s, a, b) || !find_ratio(s, a, b, ratio))
                continue;
            psr_sift_reject_harmonic(b, s->order[i], ratio[0], ratio[1]);
            if (ratio[0] == ratio[1])
                b->reason = PSR_SIFT_DUPLICATE;
        }
    if (any)
        psr_sift_drop(s);
}

/* --- the description, the order of steps, the result ------------------------------------------ */

void psr_sift_set_defaults(struct psr_sift_desc *desc, size_t size)
{
    const struct psr_sift_desc all = {
        .r_err = 1.1,
        .short_period_s = 0.0005,
        .long_period_s = 15,
        .sigma_threshold = 4,
        .c_pow_threshold = 100,
        .harm_pow_cutoff = 8,
        .min_num_dms = 2,
        .low_dm_cutoff = 2,
        .catalogue_deg = 1,
    };
    psr_give_desc(desc, size, &all, sizeof all);
}

/* --- create ----------------------------------------------------------------------------------- */

static psr_status check_field(const char *field, double value, double min, double max, psr_err *err)
{
    if (value >= min && value <= max)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, field, "sift: %s = %g, must be %g to %g", field, value,
                          min, max);
}

static psr_status check(const struct psr_sift_desc *d, psr_err *err)
{
    const struct {
        const char *name;
        double value, min, max;
    } field[] = {
        {"r_err", d->r_err, 1e-6, 1e6},
        {"short_period_s", d->short_period_s, 0, 1e9},
        {"long_period_s", d->long_period_s, 0, 1e9},
        {"sigma_threshold", d->sigma_threshold, 0, 1e9},
        {"c_pow_threshold", d->c_pow_threshold, 0, 1e30},
        {"harm_pow_cutoff", d->harm_pow_cutoff, 0, 1e30},
        {"min_num_dms", (double)d->min_num_dms, 0, 1e9},
        {"low_dm_cutoff", d->low_dm_cutoff, -1e9, 1e9},
        {"baryv", d->baryv, -0.1, 0.1},
        {"catalogue_deg", d->catalogue_deg, 0, 180},
    };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        psr_status st = check_field(field[i].name, field[i].value, field[i].min, field[i].max, err);
        if (st)
            return st;
    }
    return psr_check_resources("sift", d->nthread, 0, err);
}

static psr_status copy_birds(const struct psr_sift_bird **bird, size_t n, psr_err *err)
{
    struct psr_sift_bird *copy = malloc((n ? n : 1) * sizeof *copy);
    if (!copy)
        return psr_fail_nomem(err, "birdies", (double)n * sizeof *copy);
    if (n)
        memcpy(copy, *bird, n * sizeof *copy);
    *bird = copy;
    return PSR_OK;
}

static psr_status fill(psr_sift *s, const struct psr_sift_desc *d, psr_err *err)
{
    s->d = *d;
    s->faintest = INFINITY;
    s->d.bird_p = s->d.bird_f = NULL;
    s->d.nthread = psr_count_threads(d->nthread);
    psr_sift_limit_noise(s);
    const struct psr_sift_bird *bird_p = d->bird_p, *bird_f = d->bird_f;
    psr_status st = copy_birds(&bird_p, d->nbird_p, err);
    if (st)
        return st;
    s->d.bird_p = bird_p;
    st = copy_birds(&bird_f, d->nbird_f, err);
    if (st)
        return st;
    s->d.bird_f = bird_f;
    st = psr_sift_sort_lines(s, err);
    return !st && d->birds ? psr_sift_birds_create(&s->birds, d->birds, d->baryv, err) : st;
}

psr_status psr_sift_create(psr_sift **out, const struct psr_sift_desc *desc, psr_err *err)
{
    struct psr_sift_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "sift", err);
    if (!st)
        st = check(&d, err);
    if (st)
        return st;
    psr_sift *s = calloc(1, sizeof *s);
    st = s ? fill(s, &d, err) : psr_fail_nomem(err, "sift", sizeof *s);
    if (st) {
        psr_sift_destroy(s);
        return st;
    }
    *out = s;
    return PSR_OK;
}

static void clear_results(psr_sift *s)
{
    free(s->cand);
    free(s->reject);
    free(s->hit);
    free(s->order);
    s->cand = s->reject = NULL;
    s->hit = NULL;
    s->order = NULL;
}

void psr_sift_destroy(psr_sift *s)
{
    if (!s)
        return;
    clear_results(s);
    for (size_t i = 0; i < s->nlist; i++) {
        free(s->list[i].path);
        free(s->list[i].inf);
    }
    free(s->list);
    free(s->all.entry);
    free(s->all.power);
    free(s->dm_key);
    free((void *)s->d.bird_p);
    free((void *)s->d.bird_f);
    psr_sift_birds_destroy(s->birds);
    free(s->line);
    free(s);
}

/* --- the steps -------------------------------------------------------------------------------- */

/* Whether the entry was rejected by a step below, which is to be done anew. */
static bool is_of_steps(enum psr_sift_reason reason)
{
    return reason >= PSR_SIFT_DUPLICATE;
}

static psr_status begin_order(psr_sift *s, psr_err *err)
{
    s->norder = 0;
    s->order = malloc((s->all.n + 1) * sizeof *s->order);
    if (!s->order)
        return psr_fail_nomem(err, "candidates", 8.0 * (double)s->all.n);
    for (size_t i = 0; i < s->all.n; i++) {
        struct psr_sift_entry *e = &s->all.entry[i];
        if (is_of_steps(e->reason))
            e->reason = PSR_SIFT_GOOD;
        e->of = e->next = PSR_SIFT_NONE;
        e->verdict = PSR_SIFT_UNDETERMINED;
        e->last = i;
        e->nhit = 1;
        if (e->reason == PSR_SIFT_GOOD)
            s->order[s->norder++] = i;
    }
    return PSR_OK;
}

static psr_status do_steps(psr_sift *s, psr_err *err)
{
    psr_status st = begin_order(s, err);
    if (!st && !s->d.presto)
        st = psr_sift_sort(s, err);
    if (!st)
        st = s->d.presto ? psr_sift_duplicates_presto(s, err) : psr_sift_duplicates(s, err);
    if (!st)
        st = psr_sift_dm_problems(s, err);
    if (!st && !s->d.presto)
        psr_sift_find_hum(s);
    if (!st)
        sift_segments(s);
    return st ? st : psr_sift_harmonics(s, err);
}

/* --- the result ------------------------------------------------------------------------------- */

/* Probability that noise has one as strong at any DM that was searched: DMs between hits are one. */
static double find_chance(const struct psr_sift_entry *e)
{
    if (isnan(e->list_sigma) || !(e->dm_share > 0))
        return 0;
    const struct psr_logp p = psr_gauss_logp(e->list_sigma);
    return exp(psr_logp_trials(p, fmax(1, 1 / e->dm_share), PSR_TRIALS_SIDAK).ln_sf);
}

static struct psr_sift_cand describe(const psr_sift *s, const struct psr_sift_entry *e)
{
    const struct psr_sift_list *list = &s->list[e->list];
    struct psr_sift_cand c = {
        .path = list->path,
        .file = list->file,
        .number = e->number,
        .dm = list->dm,
        .snr = e->snr,
        .sigma = e->sigma,
        .power = e->power,
        .coherent = e->coherent,
        .r = e->r,
        .z = e->z,
        .freq_hz = e->f,
        .period_s = 1 / e->f,
        .tobs_s = list->tobs_s,
        .nharm = e->nharm,
        .nhit = e->nhit,
        .reason = e->reason,
        .ratio = {e->ratio[0], e->ratio[1]},
        .dm0_chi2 = e->dm0_chi2,
        .dm_share = s->d.presto ? 1 : e->dm_share,
        .chance = s->d.presto ? 0 : find_chance(e),
        .found = e->folded ? PSR_SIFT_BY_FFA : PSR_SIFT_BY_FOURIER,
        .segment = {list->segment.number, list->segment.of},
    };
    for (size_t id = e->next; id != PSR_SIFT_NONE; id = s->all.entry[id].next)
        c.found |= s->all.entry[id].folded ? PSR_SIFT_BY_FFA : PSR_SIFT_BY_FOURIER;
    if (e->of != PSR_SIFT_NONE) {
        c.of_file = s->list[s->all.entry[e->of].list].file;
        c.of_number = s->all.entry[e->of].number;
    }
    return c;
}

struct sorted_hit {
    struct psr_sift_hit hit;
    size_t at;
};

/* By DM; equals from the best down, or as they came. */
PSR_COMPARE(by_dm, struct sorted_hit, PSR_THEN(PSR_RISING(hit.dm), PSR_RISING(at)));

/* Chains begin with the best hit, and go on by sigma unless they are sifting.py's. */
static psr_status list_hits(const psr_sift *s, size_t id, size_t n, struct psr_sift_hit *hit,
                            psr_err *err)
{
    struct sorted_hit *sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return psr_fail_nomem(err, "hits", (double)n * sizeof *sorted);
    for (size_t k = 0; k < n; k++, id = s->all.entry[id].next) {
        const struct psr_sift_entry *e = &s->all.entry[id];
        sorted[k] = (struct sorted_hit){{s->list[e->list].dm, e->snr, e->sigma}, k};
    }
    qsort(sorted, n, sizeof *sorted, by_dm);
    for (size_t k = 0; k < n; k++)
        hit[k] = sorted[k].hit;
    free(sorted);
    return PSR_OK;
}

static psr_status fill_good(psr_sift *s, psr_err *err)
{
    size_t nhit = 0, at = 0;
    psr_status st = PSR_OK;
    for (size_t k = 0; k < s->norder; k++)
        nhit += s->all.entry[s->order[k]].nhit;
    s->cand = malloc((s->norder + 1) * sizeof *s->cand);
    s->hit = malloc((nhit + 1) * sizeof *s->hit);
    if (!s->cand || !s->hit)
        return psr_fail_nomem(err, "results", (double)s->norder * sizeof *s->cand);
    for (size_t k = 0; k < s->norder && !st; k++) {
        const struct psr_sift_entry *e = &s->all.entry[s->order[k]];
        s->cand[k] = describe(s, e);
        s->cand[k].hit = s->hit + at;
        st = list_hits(s, s->order[k], e->nhit, s->hit + at, err);
        at += e->nhit;
        if (s->d.catalogue)
            psr_sift_identify(s, &s->list[e->list], &s->cand[k]);
        psr_sift_mark(s, e, &s->cand[k]);
    }
    return st ? st : psr_sift_rank(s, err);
}

/* The rejected, in the order of candidates. */
static psr_status fill_rejects(psr_sift *s, size_t *n, psr_err *err)
{
    *n = 0;
    s->norder = 0;
    for (size_t i = 0; i < s->all.n; i++)
        if (s->all.entry[i].reason != PSR_SIFT_GOOD)
            s->order[s->norder++] = i;
    s->reject = malloc((s->norder + 1) * sizeof *s->reject);
    if (!s->reject)
        return psr_fail_nomem(err, "rejects", (double)s->norder * sizeof *s->reject);
    psr_status st = psr_sift_sort(s, err);
    for (size_t k = 0; k < s->norder && !st; k++) {
        const struct psr_sift_entry *e = &s->all.entry[s->order[k]];
        s->reject[*n] = describe(s, e);
        psr_sift_mark(s, e, &s->reject[(*n)++]);
    }
    return st;
}

static void count_reasons(const psr_sift *s, struct psr_sift_result *result)
{
    for (size_t k = 0; k < PSR_SIFT_DUPLICATE; k++)
        result->count[k] = s->count[k];
    result->count[PSR_SIFT_GOOD] = 0;
    for (size_t i = 0; i < s->all.n; i++) {
        const enum psr_sift_reason reason = s->all.entry[i].reason;
        result->count[reason] += reason == PSR_SIFT_GOOD || is_of_steps(reason);
    }
}

psr_status psr_sift_execute(psr_sift *s, struct psr_sift_result *result, psr_err *err)
{
    *result = (struct psr_sift_result){.nlist = s->nlist, .nread = s->nread, .dm_decimals = 2};
    clear_results(s);
    psr_status st = do_steps(s, err);
    if (!st)
        st = fill_good(s, err);
    result->cand = s->cand;
    result->ncand = s->norder;
    if (!st && s->d.keep_rejects)
        st = fill_rejects(s, &result->nreject, err);
    result->reject = s->reject;
    count_reasons(s, result);
    for (size_t i = 0; i < s->nlist && !s->d.presto; i++)
        if (s->list[i].dm_decimals > result->dm_decimals)
            result->dm_decimals = s->list[i].dm_decimals;
    return st;
}
