/* Searches series for slow pulsars in batches: the description, plans for inputs of one shape. */
#include "base/base.h"
#include "base/threads/threads.h"
#include "ffasearch_internal.h"
#include "ffasearch_state.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Leaves out what known interference explains. */

/* Interference of a period is found at multiples of it, with a boxcar of up to its length: then its harmonic that
 * is the interference's frequency is one of the first 1 / duty. */
static bool is_at_bird(const struct psr_bird *b, double f_hz, double duty, double tobs_s)
{
    const double h = round(b->freq_hz / f_hz);
    return h >= 1 && h * duty <= 1 && fabs(h * f_hz - b->freq_hz) <= b->width_hz / 2 + 0.5 / tobs_s;
}

static bool is_zapped(const struct psr_ffasearch_desc *d, double tobs_s, bool barycentric,
                      const struct psr_ffa_peak *p)
{
    for (size_t k = 0; k < d->zaplist->n; k++) {
        struct psr_bird b = d->zaplist->bird[k];
        if (barycentric != b.barycentric)
            b.freq_hz *= barycentric ? 1 + d->baryv : 1 / (1 + d->baryv);
        if (is_at_bird(&b, p->freq_hz, p->duty, tobs_s))
            return true;
    }
    return false;
}

/* Drops peaks that a frequency of the list explains: one that a harmonic of theirs is at, of a boxcar's 1 / duty.
 * Given:  barycentric   the series is
 * Returned: their number; peak [*n] are left */
static size_t ffasearch_zap(const struct psr_ffasearch_desc *d, double tobs_s, bool barycentric,
                            struct psr_ffa_peak *peak, size_t *n)
{
    size_t left = 0;
    if (!d->zaplist)
        return 0;
    for (size_t k = 0; k < *n; k++)
        if (!is_zapped(d, tobs_s, barycentric, &peak[k]))
            peak[left++] = peak[k];
    const size_t zapped = *n - left;
    *n = left;
    return zapped;
}

/* Chooses which periods a search folds, with how many bins. */

/* A pulse of a given length has a smaller share of a longer period. */
static const struct psr_ffa_range usual[PSR_FFASEARCH_RANGES] = {
    {.pmin_s = 0.2, .pmax_s = 0.5, .bmin = 240, .bmax = 260},
    {.pmin_s = 0.5, .pmax_s = 2, .bmin = 480, .bmax = 520},
    {.pmin_s = 2, .pmax_s = 120, .bmin = 960, .bmax = 1040},
};

/* Turns in a series: of a period that nobody asked for, and at least.  Red noise has all of fewer turns. */
static const double USUAL_TURNS = 10, LEAST_TURNS = 4;

static psr_status fail_coarse(double pmin_s, int bmin, double tsamp_s, psr_err *err)
{
    return psr_fail_field(
        err, PSR_EINVAL, "pmin",
        "-pmin = %g s, must be at least %g s, which has %d samples of %g s, a bin "
        "each",
        pmin_s, bmin * tsamp_s, bmin, tsamp_s);
}

/* The bins of range k, or those of a range before it, that samples are short enough for at a period.
 * Returned: false if they are too long for all */
static bool fit_bins(struct psr_ffa_range *r, size_t k, double tsamp_s)
{
    for (size_t i = k + 1; i-- > 0;)
        if (usual[i].bmin * tsamp_s <= r->pmin_s) {
            r->bmin = usual[i].bmin;
            r->bmax = usual[i].bmax;
            return true;
        }
    return false;
}

static psr_status choose_usual(struct psr_ffasearch_ranges *to, const struct psr_ffasearch_desc *d,
                               double pmin_s, double pmax_s, double tsamp_s, psr_err *err)
{
    const double least_s = usual[0].bmin * tsamp_s;
    if (pmin_s < least_s && d->pmin_s > 0)
        return fail_coarse(pmin_s, usual[0].bmin, tsamp_s, err);
    pmin_s = fmax(pmin_s, least_s);
    for (size_t k = 0; k < PSR_FFASEARCH_RANGES; k++) {
        struct psr_ffa_range r = {
            .pmin_s = k == 0 ? pmin_s : fmax(pmin_s, usual[k].pmin_s),
            .pmax_s = k + 1 == PSR_FFASEARCH_RANGES ? pmax_s : fmin(pmax_s, usual[k].pmax_s),
            .ducymax = d->ducymax,
        };
        if (r.pmin_s < r.pmax_s && fit_bins(&r, k, tsamp_s))
            to->range[to->n++] = r;
    }
    return PSR_OK;
}

static psr_status choose_one(struct psr_ffasearch_ranges *to, const struct psr_ffasearch_desc *d,
                             double pmin_s, double pmax_s, double tsamp_s, psr_err *err)
{
    const int64_t bmax = d->bmax ? d->bmax : d->bmin + (d->bmin + 11) / 12;
    const double least_s = (double)d->bmin * tsamp_s;
    if (pmin_s < least_s && d->pmin_s > 0)
        return fail_coarse(pmin_s, (int)d->bmin, tsamp_s, err);
    to->range[0] = (struct psr_ffa_range){.pmin_s = fmax(pmin_s, least_s),
                                          .pmax_s = pmax_s,
                                          .bmin = (int)d->bmin,
                                          .bmax = (int)bmax,
                                          .ducymax = d->ducymax};
    to->n = to->range[0].pmin_s < pmax_s;
    return PSR_OK;
}

/* Chooses the ranges of periods for a series.
 * Status: PSR_EINVAL naming the field */
static psr_status ffasearch_choose(struct psr_ffasearch_ranges *to,
                                   const struct psr_ffasearch_desc *d,
                                   const struct psr_ffasearch_shape *shape, psr_err *err)
{
    const double tobs_s = (double)shape->nsamp * shape->tsamp_s;
    const double pmin_s = d->pmin_s > 0 ? d->pmin_s : usual[0].pmin_s;
    const double longest_s = tobs_s / (d->pmax_s > 0 ? LEAST_TURNS : USUAL_TURNS);
    const double pmax_s =
        fmin(d->pmax_s > 0 ? d->pmax_s : usual[PSR_FFASEARCH_RANGES - 1].pmax_s, longest_s);
    *to = (struct psr_ffasearch_ranges){.cut = d->pmax_s > longest_s};
    psr_status st = d->bmin ? choose_one(to, d, pmin_s, pmax_s, shape->tsamp_s, err)
                            : choose_usual(to, d, pmin_s, pmax_s, shape->tsamp_s, err);
    if (!st && to->n == 0) /* of no period that was asked for, the series is to blame */
        st = psr_fail_field(err, d->pmin_s > 0 ? PSR_EINVAL : PSR_EUNSUPPORTED, "pmin",
                            "no period to search: -pmin is %g s, and %g s the longest in a series "
                            "of %g s",
                            pmin_s, pmax_s, tobs_s);
    return st;
}

enum { MOST_BINS = PSR_FFA_MAX_BINS, MOST_BATCH = 4096, USUAL_BATCH = 16 };

static const double LONGEST_S = 1e6;

void psr_ffasearch_set_defaults(struct psr_ffasearch_desc *desc, size_t size)
{
    const struct psr_ffasearch_desc all = {.device = "auto"};
    psr_give_desc(desc, size, &all, sizeof all);
}

static psr_status check(const struct psr_ffasearch_desc *d, psr_err *err)
{
    const struct {
        const char *name;
        double value, min, max;
        const char *unit;
    } field[] = {
        {"pmin", d->pmin_s, 0, LONGEST_S, " s"},     {"pmax", d->pmax_s, 0, LONGEST_S, " s"},
        {"bmin", (double)d->bmin, 0, MOST_BINS, ""}, {"bmax", (double)d->bmax, 0, MOST_BINS, ""},
        {"ducymax", d->ducymax, 0, 0.5, ""},         {"sigma", d->sigma, 0, 1e6, ""},
        {"baryv", d->baryv, -0.1, 0.1, " c"},        {"batch", (double)d->batch, 0, MOST_BATCH, ""},
    };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (!(field[i].value >= field[i].min && field[i].value <= field[i].max))
            return psr_fail_field(err, PSR_EINVAL, field[i].name, "-%s = %g, must be %g to %g%s",
                                  field[i].name, field[i].value, field[i].min, field[i].max,
                                  field[i].unit);
    if (d->bmax && d->bmax <= d->bmin)
        return psr_fail_field(err, PSR_EINVAL, "bmax", "-bmax = %lld, must be above -bmin, %lld",
                              (long long)d->bmax, (long long)d->bmin);
    if (d->pmax_s > 0 && d->pmax_s <= d->pmin_s)
        return psr_fail_field(err, PSR_EINVAL, "pmax", "-pmax = %g s, must be above -pmin, %g s",
                              d->pmax_s, d->pmin_s);
    return psr_check_resources("FFA search", (int)d->nthread, d->mem_bytes, err);
}

psr_status psr_ffasearch_create(psr_ffasearch **out, const struct psr_ffasearch_desc *d,
                                psr_err *err)
{
    psr_ffasearch *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f)
        return psr_fail_nomem(err, "FFA search", sizeof *f);
    psr_status st = psr_copy_desc(&f->d, sizeof f->d, d, "FFA search", err);
    if (!st)
        st = check(&f->d, err);
    if (!st)
        st = psr_ffasearch_weights_create(&f->weights, err);
    if (st)
        free(f);
    else
        *out = f;
    return st;
}

/* --- plans ------------------------------------------------------------------------------------ */

struct psr_ffasearch_shape psr_ffasearch_shape_of(const struct psr_inf *inf, int64_t nsamp)
{
    struct psr_ffasearch_shape s = {.nsamp = nsamp, .tsamp_s = inf->tbin_s};
    int64_t begin = 0;
    int n = inf->nonoff;
    /* PRESTO's last pair behind padding is the last sample. */
    if (n > 1 && inf->onoff[n - 1][0] >= nsamp - 1)
        n--;
    for (int k = 0; k < n; k++) {
        const int64_t end = inf->onoff[k][0] < nsamp ? inf->onoff[k][0] : nsamp;
        if (end > begin)
            s.gap[s.ngap++] = (struct psr_span){begin, end - begin};
        begin = inf->onoff[k][1] + 1;
    }
    if (begin > 0 && begin < nsamp) {
        /* Where a series is cut that has data to here: series of one observation end at different samples, and
         * a little padding costs no S/N, and a plan for each much time. */
        enum { PARTS = 64 };
        const int64_t part = nsamp / PARTS > 1 ? nsamp / PARTS : 1,
                      cut = (begin + part - 1) / part * part;
        s.nsamp = cut < nsamp ? cut : nsamp;
    }
    return s;
}

bool psr_ffasearch_fits(const psr_ffasearch *f, const struct psr_ffasearch_shape *s)
{
    const struct psr_ffasearch_shape *own = &f->shape;
    if (own->nsamp != s->nsamp || own->tsamp_s != s->tsamp_s || own->ngap != s->ngap)
        return false;
    for (size_t k = 0; k < s->ngap; k++)
        if (own->gap[k].first != s->gap[k].first || own->gap[k].count != s->gap[k].count)
            return false;
    return true;
}

static void clear_plan(psr_ffasearch *f)
{
    psr_ffa_destroy(f->plan);
    free(f->x);
    free(f->name);
    free(f->result);
    f->plan = NULL;
    f->x = NULL;
    f->name = NULL;
    f->result = NULL;
    f->shape = (struct psr_ffasearch_shape){.nsamp = 0};
}

static psr_status create_batch(psr_ffasearch *f, size_t batch, psr_err *err)
{
    f->batch = batch;
    f->x = calloc(batch, sizeof *f->x);
    f->name = calloc(batch, sizeof *f->name);
    f->result = calloc(batch, sizeof *f->result);
    return f->x && f->name && f->result ? PSR_OK
                                        : psr_fail_nomem(err, "a batch of series", (double)batch);
}

static psr_status describe(const psr_ffasearch *f, const struct psr_ffasearch_shape *shape,
                           struct psr_ffa_desc *p, psr_err *err)
{
    const struct psr_ffasearch_desc *d = &f->d;
    *p = (struct psr_ffa_desc){
        .size = sizeof *p,
        .nsamp = (size_t)shape->nsamp,
        .tsamp_s = shape->tsamp_s,
        .range = f->ranges.range,
        .nrange = f->ranges.n,
        .rmed_s = d->rmed_s,
        .sigma = d->sigma,
        .gap = shape->gap,
        .ngap = shape->ngap,
        .floats = d->floats,
        .nthread = (int)d->nthread,
        .mem_bytes = d->mem_bytes,
        .should_stop = d->should_stop,
        .ctx = d->ctx,
        .progress = d->progress,
    };
    return psr_device_choose(d->device, &p->backend, &p->device, err);
}

/* The largest batch that there is memory for. */
static psr_status create_plan(psr_ffasearch *f, struct psr_ffa_desc *p, size_t batch, psr_err *err)
{
    psr_status st;
    do {
        p->batch = batch;
        st = psr_ffa_create(&f->plan, p, err);
    } while (st == PSR_ENOMEM && (batch /= 2) > 0);
    return st ? st : create_batch(f, p->batch, err);
}

enum { LEAST_SAMPLES = 4096 }; /* of a plan */

/* Gaps of an observation shift with DM.
 * Returned: *done   false: the plan is another, or was cleared */
static psr_status replace_gaps(psr_ffasearch *f, const struct psr_ffasearch_shape *shape,
                               bool *done, psr_err *err)
{
    psr_status st = PSR_OK;
    *done = false;
    if (f->plan && f->shape.nsamp == shape->nsamp && !(f->shape.tsamp_s < shape->tsamp_s) &&
        !(f->shape.tsamp_s > shape->tsamp_s))
        st = psr_ffa_replace_gaps(f->plan, shape->gap, shape->ngap, done, err);
    if (st || !*done)
        clear_plan(f);
    else
        f->shape = *shape;
    return st;
}

static psr_status make_plan(psr_ffasearch *f, const struct psr_ffasearch_shape *shape,
                            size_t ninput, psr_err *err)
{
    struct psr_ffa_desc p;
    const size_t most = f->d.batch ? (size_t)f->d.batch : USUAL_BATCH;
    bool done;
    psr_status st = replace_gaps(f, shape, &done, err);
    if (st || done)
        return st;
    if (shape->nsamp < LEAST_SAMPLES)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nsamp",
                              "%lld samples, %.6g s, are too few to search, which takes %d",
                              (long long)shape->nsamp, (double)shape->nsamp * shape->tsamp_s,
                              LEAST_SAMPLES);
    st = ffasearch_choose(&f->ranges, &f->d, shape, err);
    if (!st)
        st = describe(f, shape, &p, err);
    if (!st)
        st = create_plan(f, &p, ninput && ninput < most ? ninput : most, err);
    if (st)
        clear_plan(f);
    else
        f->shape = *shape;
    return st;
}

psr_status psr_ffasearch_plan_sized(psr_ffasearch *f, const struct psr_ffasearch_shape *shape,
                                    size_t ninput, struct psr_ffasearch_info *info, size_t size,
                                    psr_err *err)
{
    psr_status st = psr_ffasearch_fits(f, shape) ? PSR_OK : make_plan(f, shape, ninput, err);
    if (!st && info) {
        struct psr_ffa_info plan;
        psr_ffa_describe(f->plan, &plan);
        struct psr_ffasearch_info all = {.nrange = f->ranges.n,
                                         .cut = f->ranges.cut,
                                         .batch = f->batch,
                                         .ntrial = plan.ntrial,
                                         .sigma = plan.sigma};
        memcpy(all.range, f->ranges.range, sizeof all.range);
        psr_give_desc(info, size, &all, sizeof all);
    }
    return st;
}

void psr_ffasearch_forget(struct psr_ffasearch *f)
{
    for (size_t i = 0; i < f->nfound; i++)
        free(f->found[i].peak);
    f->nfound = 0;
}

void psr_ffasearch_destroy(psr_ffasearch *f)
{
    if (!f)
        return;
    clear_plan(f);
    psr_ffasearch_forget(f);
    psr_ffasearch_weights_destroy(f->weights);
    psr_ffa_stack_clear(&f->stack);
    free(f->found);
    free(f->row);
    free(f->hit);
    free(f);
}

/* --- searching -------------------------------------------------------------------------------- */

psr_status psr_ffasearch_execute(psr_ffasearch *f, size_t n, const struct psr_ffasearch_input *in,
                                 psr_err *err)
{
    if (n > f->batch)
        return psr_fail_field(err, PSR_EINVAL, "n", "FFA search: n = %zu, must be at most %zu", n,
                              f->batch);
    for (size_t i = 0; i < n; i++) {
        f->x[i] = in[i].x;
        f->name[i] = in[i].name;
    }
    return psr_ffa_execute(f->plan, n, f->x, f->result, err);
}

/* Adds input i to the stack, in which the first one stands for all. */
static psr_status stack_input(psr_ffasearch *f, size_t i, const struct psr_inf *inf, psr_err *err)
{
    const struct psr_inf *first = f->nfound ? &f->found[0].inf : inf;
    if (inf->dm < first->dm || inf->dm > first->dm)
        return psr_fail_field(err, PSR_EINVAL, "dm", "%s: DM = %g, that of the stack is %g",
                              f->name[i], inf->dm, first->dm);
    if (inf->barycentric != first->barycentric)
        return psr_fail_field(err, PSR_EINVAL, "barycentric",
                              "%s: %s, unlike the first of the stack", f->name[i],
                              inf->barycentric ? "barycentric" : "topocentric");
    return psr_ffa_stack_add(&f->stack, f->plan, i, err);
}

psr_status psr_ffasearch_stack(psr_ffasearch *f, psr_err *err)
{
    struct psr_ffa_result all;
    struct psr_ffasearch_found *found = f->found;
    if (!f->nfound)
        return psr_fail_field(err, PSR_EINVAL, "stack", "FFA search: a stack of no series");
    psr_status st = psr_ffa_stack_peaks(&f->stack, f->plan, &all, err);
    psr_ffa_stack_clear(&f->stack);
    if (st)
        return st;
    free(found->peak);
    found->peak = malloc((all.npeak + 1) * sizeof *found->peak);
    if (!found->peak)
        return psr_fail_nomem(err, "a stack", (double)all.npeak * sizeof *found->peak);
    if (all.npeak)
        memcpy(found->peak, all.peak, all.npeak * sizeof *found->peak);
    found->npeak = all.npeak;
    found->nzapped =
        ffasearch_zap(&f->d, found->tobs_s, found->inf.barycentric, found->peak, &found->npeak);
    return PSR_OK;
}

psr_status psr_ffasearch_take(psr_ffasearch *f, size_t i, const struct psr_inf *inf, psr_err *err)
{
    const struct psr_ffa_result *r = &f->result[i];
    if (r->bad >= 0)
        return psr_fail(err, PSR_EFORMAT, "%s: sample %lld is no finite number", f->name[i],
                        (long long)r->bad);
    psr_status st = f->d.stack ? stack_input(f, i, inf, err) : PSR_OK;
    if (st || (f->d.stack && f->nfound))
        return st;
    if ((st = psr_grow(&f->found, &f->found_room, f->nfound, sizeof *f->found, "series", err)))
        return st;
    struct psr_ffasearch_found *found = &f->found[f->nfound];
    *found = (struct psr_ffasearch_found){
        .inf = *inf,
        .tobs_s = (double)f->shape.nsamp * f->shape.tsamp_s,
        .npeak = f->d.stack ? 0 : r->npeak,
    };
    found->peak = malloc((r->npeak + 1) * sizeof *found->peak);
    if (!found->peak)
        return psr_fail_nomem(err, f->name[i], (double)r->npeak * sizeof *found->peak);
    if (found->npeak)
        memcpy(found->peak, r->peak, r->npeak * sizeof *found->peak);
    found->nzapped =
        ffasearch_zap(&f->d, found->tobs_s, inf->barycentric, found->peak, &found->npeak);
    f->nfound++;
    return PSR_OK;
}

psr_status psr_ffasearch_move(psr_ffasearch *to, psr_ffasearch *from, size_t k, psr_err *err)
{
    psr_status st =
        psr_grow(&to->found, &to->found_room, to->nfound, sizeof *to->found, "series", err);
    if (st)
        return st;
    to->found[to->nfound++] = from->found[k];
    from->found[k].peak = NULL;
    return PSR_OK;
}

/* --- what is found in a series, for the run after one that was killed --- */

uint64_t psr_ffasearch_digest(uint64_t digest, const struct psr_ffasearch_desc *d)
{
    const double number[] = {d->pmin_s, d->pmax_s, (double)d->bmin, (double)d->bmax, d->ducymax,
                             d->sigma,  d->rmed_s, d->floats,       d->baryv,        d->stack};
    return psr_digest_text(psr_digest_bytes(digest, number, sizeof number), d->device);
}

psr_status psr_ffasearch_save(const psr_ffasearch *f, size_t k, psr_outfile *to, psr_err *err)
{
    const struct psr_ffasearch_found *found = &f->found[k];
    psr_status st =
        psr_outfile_printf(to, err, "%zu %zu %a", found->npeak, found->nzapped, found->tobs_s);
    for (const struct psr_ffa_peak *p = found->peak; p < found->peak + found->npeak && !st; p++)
        st = psr_outfile_printf(to, err, "\n%a %a %a %a %a %d", p->period_s, p->freq_hz, p->snr,
                                p->width_s, p->duty, p->nbin);
    return st;
}

/* Returned: whether n numbers stand there; *text ends behind them */
static bool read_numbers(const char **text, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *end;
        x[i] = psr_c_locale_strtod(*text, &end);
        if (end == *text)
            return false;
        *text = end;
    }
    return true;
}

static bool read_peak(struct psr_ffa_peak *p, const char **text)
{
    double x[6];
    if (!read_numbers(text, x, 6) || !(x[5] >= 0 && x[5] <= INT_MAX))
        return false;
    p->period_s = x[0];
    p->freq_hz = x[1];
    p->snr = x[2];
    p->width_s = x[3];
    p->duty = x[4];
    p->nbin = (int)x[5];
    return true;
}

psr_status psr_ffasearch_restore(psr_ffasearch *f, const struct psr_inf *inf, const char *text,
                                 bool *good, psr_err *err)
{
    struct psr_ffasearch_found found = {.inf = *inf};
    const double most = (double)strlen(text);
    double x[3];
    *good = read_numbers(&text, x, 3) && x[0] >= 0 && x[0] <= most && x[1] >= 0 && x[1] < 0x1p53;
    if (!*good)
        return PSR_OK;
    found.npeak = (size_t)x[0];
    found.nzapped = (size_t)x[1];
    found.tobs_s = x[2];
    psr_status st = psr_grow(&f->found, &f->found_room, f->nfound, sizeof *f->found, "series", err);
    if (!st && !(found.peak = calloc(found.npeak + 1, sizeof *found.peak)))
        st = psr_fail_nomem(err, "peaks", (double)found.npeak * sizeof *found.peak);
    for (size_t i = 0; i < found.npeak && *good && !st; i++)
        *good = read_peak(&found.peak[i], &text);
    if (!st && *good)
        f->found[f->nfound++] = found;
    else
        free(found.peak);
    return st;
}
