#include <psrkit/measure.h>

#include "base/threads.h"
#include "measure_notes.h"
#include <psrkit/matched.h>
#include <psrkit/signif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_HALVINGS = 24,
    MOST_RATIO = 16,
    MARGIN = 16,
    MOST_BINS = 1 << 16,
    MOST_DRIFT = 1200,
    MOST_HARM = PSR_PULSCAN_MAX_HARM
};
static const double SIGN_POWER = 3;         /* by which one side has to be better */
static const double CHANCE = 1e-3;          /* of noise giving as much, in all places looked at */
static const double LEAST_SHARE = 0.5;      /* of the box's excess that a response has to hold */
static const double LEAST_POWER = 0.01;     /* errors are of powers above this */
static const double SAME_R = 1, SAME_Z = 4; /* bins */
static const double FINE = 0.1;             /* of an error */
static const double WIDTH_FROM = 0.4, WIDTH_TO = 1.6; /* drifts tried, in widths of the box */

/* A candidate under measurement. */
struct box {
    const struct psr_pulscan_hit *hit;
    double lost;              /* bins by which r may be off where only its block is known */
    double excess[MOST_HARM]; /* chi^2 of harmonic h + 1 less its mean in noise */
    double chi2[MOST_HARM];
    psr_matched *matched[MOST_HARM]; /* NULL where not made */
};

/* What was found on one side. */
struct place {
    struct psr_accel_value r, z; /* of the fundamental */
    bool matched;                /* rather than of the box */
};

/* --- the box ---------------------------------------------------------------------------------- */

/* Bins of harmonic h's part of the box, and beyond it as far as drifts reach. */
static struct psr_span bins_of(const struct psr_pulscan_hit *hit, int h)
{
    return (struct psr_span){h * hit->first, (int64_t)h * (hit->z + 1)};
}

static int64_t margin_of(const struct psr_pulscan_hit *hit, int h)
{
    return (int64_t)h * (hit->z + 1) / 2 + MARGIN;
}

static bool is_zapped(const struct psr_measure_desc *desc, int64_t k)
{
    for (size_t i = 0; i < desc->nzap; i++)
        if (k >= desc->zap[i].first && k < desc->zap[i].first + desc->zap[i].count)
            return true;
    return false;
}

/* What is zapped counts as noise in the box, and not at all in responses. */
static void weigh_harmonic(struct box *b, int h, struct psr_span bins, int64_t first, size_t n,
                           float *x, const struct psr_measure_desc *desc)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t k = first + (int64_t)i;
        bool inside = k >= bins.first && k < bins.first + bins.count;
        bool zapped = desc->nzap > 0 && is_zapped(desc, k);
        if (zapped)
            x[2 * i] = x[2 * i + 1] = 0;
        double re = (double)x[2 * i], im = (double)x[2 * i + 1];
        if (inside)
            sum += zapped ? 2 : re * re + im * im;
    }
    b->chi2[h - 1] = sum;
    b->excess[h - 1] = sum - 2 * (double)bins.count;
}

/* Reads one harmonic's bins and prepares responses to them. */
static psr_status take_harmonic(struct box *b, int h, psr_pulscan *plan, size_t s,
                                const struct psr_measure_desc *desc, psr_err *err)
{
    struct psr_span bins = bins_of(b->hit, h);
    int64_t margin = margin_of(b->hit, h), first = bins.first - margin;
    if (first < 0)
        first = 0;
    size_t n = (size_t)(bins.first + bins.count + margin - first);
    float *x = malloc(2 * n * sizeof *x);
    if (!x)
        return psr_fail_nomem(err, "a candidate's bins", (double)(2 * n * sizeof *x));
    psr_status st;
#pragma omp critical(psr_measure)
    st = psr_pulscan_amplitudes(plan, s, first, n, x, err);
    if (st == PSR_OK)
        weigh_harmonic(b, h, bins, first, n, x, desc);
    if (st == PSR_OK && n <= MOST_BINS)
        st = psr_matched_create(&b->matched[h - 1], x, first, n, err);
    free(x);
    return st;
}

static void drop_box(struct box *b)
{
    for (int h = 0; h < MOST_HARM; h++)
        psr_matched_destroy(b->matched[h]);
}

/* --- matched responses ------------------------------------------------------------------------ */

/* The lowest harmonic that stands out nearly as well as the one that does most: low ones are quick
 * to look at, and of wide boxes high ones are not looked at. */
static int choose_harmonic(const struct box *b)
{
    int nharm = b->hit->nharm, h = 1;
    double best = 0;
    while (nharm > 1 && nharm * (b->hit->z + 1) > MOST_DRIFT)
        nharm--;
    for (int k = 1; k <= nharm; k++)
        best = fmax(best, b->excess[k - 1] / sqrt(k));
    while (h < nharm && b->excess[h - 1] / sqrt(h) < 0.7 * best)
        h++;
    return h;
}

/* The best drift of one sign, in bins of harmonic h. */
static size_t search_side(const struct box *b, int h, int sign, int zmax,
                          struct psr_matched_peak *peak)
{
    struct psr_span bins = bins_of(b->hit, h);
    double width = (double)bins.count, most = (double)zmax * h;
    double from = fmax(0, WIDTH_FROM * width - 4), to = fmin(WIDTH_TO * width + 4, most);
    double step = width < 64 ? 2 : 4;
    double rlo = (double)bins.first - 1, rhi = (double)(bins.first + bins.count);
    if (to < from)
        from = to;
    if (sign > 0)
        return psr_matched_search(b->matched[h - 1], rlo, rhi, from, to, step, peak);
    return psr_matched_search(b->matched[h - 1], rlo, rhi, -to, -from, step, peak);
}

/* Summed power at (r, z) of the fundamental. */
static double sum_power(const struct box *b, double r, double z)
{
    double sum = 0;
    for (int h = 1; h <= b->hit->nharm; h++) {
        struct psr_matched_peak peak;
        psr_matched_respond(b->matched[h - 1], h * r, h * z, &peak);
        sum += peak.power;
    }
    return sum;
}

/* Ransom, Eikenberry and Middleditch 2002, for the fundamental of several harmonics: harmonic h
 * tells r and z h times as well. */
static void find_errors(const struct box *b, struct place *p)
{
    double weight = 0;
    for (int h = 1; h <= b->hit->nharm; h++) {
        struct psr_matched_peak peak;
        psr_matched_respond(b->matched[h - 1], h * p->r.value, h * p->z.value, &peak);
        weight += (double)(h * h) * peak.power;
    }
    weight = fmax(weight, LEAST_POWER);
    p->r.error = 3 / (M_PI * sqrt(6 * weight));
    p->z.error = 3 * sqrt(10 / weight) / M_PI;
}

/* Moves to a neighbour that is higher, if one is. */
static bool step(const struct box *b, struct place *p, double *best, double dr, double dz)
{
    const double move[4][2] = {{dr, 0}, {-dr, 0}, {0, dz}, {0, -dz}};
    for (int k = 0; k < 4; k++) {
        double r = p->r.value + move[k][0], z = p->z.value + move[k][1];
        double power = sum_power(b, r, z);
        if (power <= *best)
            continue;
        *best = power;
        p->r.value = r;
        p->z.value = z;
        return true;
    }
    return false;
}

/* Climbs in steps that halve where no neighbour is higher, until they are small beside the errors.
 */
static void climb(const struct box *b, struct place *p, double dr, double dz)
{
    double best = sum_power(b, p->r.value, p->z.value);
    for (int halvings = 0; halvings < MOST_HALVINGS; halvings++, dr /= 2, dz /= 2) {
        while (step(b, p, &best, dr, dz))
            continue;
        find_errors(b, p);
        if (dr < FINE * p->r.error && dz < FINE * p->z.error)
            break;
    }
}

/* Errors are those of boxes around signals of constant drift, roughly. */
static struct place place_of_box(const struct box *b, int sign)
{
    double width = b->hit->z + 1;
    return (struct place){.r = {b->hit->r, 0.5 + 0.1 * width + b->lost},
                          .z = {sign * (double)b->hit->z, 1 + 0.2 * width}};
}

/* From the best place of harmonic h to one of the fundamental. */
static struct place refine_place(const struct box *b, int h, const struct psr_matched_peak *peak,
                                 int zmax)
{
    struct place p = {.matched = true, .r = {peak->r / h, 0}, .z = {peak->z / h, 0}};
    climb(b, &p, 0.25 / h, zmax > 0 ? 1.0 / h : 0);
    return p;
}

/* Returned: places to write, 1 or 2; *known, whether the sign of z is */
static int find_places(const struct box *b, const struct psr_measure_desc *desc,
                       struct place place[2], bool *known)
{
    struct psr_matched_peak side[2] = {{.power = 0}, {.power = 0}}; /* z above, below 0 */
    const int h = choose_harmonic(b);
    size_t looked = 0;
    if (!desc->boxes_only && b->matched[b->hit->nharm - 1])
        for (int k = 0; k < 2; k++)
            looked += search_side(b, h, k ? -1 : 1, desc->zmax, &side[k]);
    const int better = side[1].power > side[0].power;
    const double power = side[better].power;
    *known = power - side[!better].power >= SIGN_POWER;
    const bool stands_out =
        power > log((double)(looked + 1) / CHANCE) && power > LEAST_SHARE * b->excess[h - 1] / 2;
    if (stands_out || (desc->trials > 0 && power > 0)) {
        place[0] = refine_place(b, h, &side[better], desc->zmax);
        return 1;
    }
    place[0] = place_of_box(b, better ? -1 : 1);
    place[1] = place_of_box(b, better ? 1 : -1);
    if (b->hit->z == 0)
        place[0].z.value = 0; /* and not -0 */
    return *known || fabs(place[0].z.value) <= place[0].z.error ? 1 : 2;
}

/* --- as accelsearch has it -------------------------------------------------------------------- */

static struct psr_accel_value with_error(double value, double error)
{
    return (struct psr_accel_value){value, error};
}

/* Errors as accelsearch gives them (Middleditch, Deich and Kulkarni 1993). */
static void fill_harmonic(struct psr_accel_harm *to, const struct psr_matched_peak *peak)
{
    double power = fmax(peak->power, LEAST_POWER), purity = fmax(peak->purity, 0.01);
    to->r = with_error(peak->r, 3 / (M_PI * purity * sqrt(6 * power)));
    to->z = with_error(peak->z, 3 * sqrt(10 / power) / (M_PI * purity * purity));
    to->phase_rad = with_error(peak->phase_rad, 1 / sqrt(2 * power));
    to->centroid = with_error(peak->centroid, 1 / sqrt(24 * power));
    to->purity = with_error(peak->purity, 1 / (purity * sqrt(10 * power)));
}

/* The box's power as matched power: what as many harmonics need to be as improbable. */
static double equal_power(double ln_p, int nharm)
{
    return psr_chi2_threshold(psr_logp_from_sf(ln_p), 2.0 * nharm) / 2;
}

static void share_power(const struct box *b, const struct psr_pulscan_hit *hit,
                        struct psr_accel_harm *harm)
{
    double total = 0, over = fmax(0, equal_power(hit->ln_p, hit->nharm) - hit->nharm);
    for (int h = 0; h < hit->nharm; h++)
        total += fmax(0, b->excess[h]);
    for (int h = 0; h < hit->nharm; h++) {
        double share = total > 0 ? fmax(0, b->excess[h]) / total : 1.0 / hit->nharm;
        double power = 1 + share * over;
        harm[h].power = with_error(power, sqrt(2 * power));
        harm[h].sigma = fmax(0, psr_gauss_sigma(psr_chi2_logp(2 * power, 2)));
        harm[h].raw =
            b->matched[h] || b->chi2[h] > 0 ? b->chi2[h] / 2 : (double)hit->power / 2 / hit->nharm;
    }
}

/* Fills the harmonics' places and gives the coherent power there. */
static double respond_all(const struct box *b, const struct place *place,
                          struct psr_accel_harm *harm)
{
    double re = 0, im = 0, phase1 = 0;
    for (int h = 1; h <= b->hit->nharm; h++) {
        struct psr_matched_peak peak = {
            .r = h * place->r.value, .z = h * place->z.value, .centroid = 0.5, .purity = 1};
        if (b->matched[h - 1])
            psr_matched_respond(b->matched[h - 1], peak.r, peak.z, &peak);
        if (h == 1)
            phase1 = peak.phase_rad;
        double phase = peak.phase_rad + phase1 - h * phase1;
        re += sqrt(peak.power) * cos(phase);
        im += sqrt(peak.power) * sin(phase);
        fill_harmonic(&harm[h - 1], &peak);
    }
    return re * re + im * im;
}

/* Puts what the matched responses say in the place of what the box does. */
static void confirm(const struct box *b, double trials, struct psr_accel_cand *cand,
                    struct psr_accel_harm *harm)
{
    double sum = 0;
    for (int h = 1; h <= cand->nharm; h++) {
        struct psr_matched_peak peak;
        psr_matched_respond(b->matched[h - 1], h * cand->r.value, h * cand->z.value, &peak);
        harm[h - 1].power = with_error(peak.power, sqrt(2 * peak.power));
        harm[h - 1].sigma = fmax(0, psr_gauss_sigma(psr_chi2_logp(2 * peak.power, 2)));
        harm[h - 1].raw = peak.power;
        sum += peak.power;
    }
    struct psr_logp alone = psr_chi2_logp(2 * sum, 2.0 * cand->nharm);
    cand->power = sum;
    cand->dof = 2.0 * cand->nharm;
    cand->ln_p = alone.ln_sf;
    cand->sigma = fmax(0, psr_gauss_sigma(psr_logp_trials(alone, fmax(1, trials / cand->nharm),
                                                          PSR_TRIALS_BONFERRONI)));
}

static struct psr_accel_cand describe(const struct psr_pulscan_cand *cand, const struct box *b,
                                      const struct place *place, bool known,
                                      struct psr_accel_harm *harm)
{
    const struct psr_pulscan_hit *hit = &cand->best;
    share_power(b, hit, harm);
    return (struct psr_accel_cand){
        .sigma = hit->sigma,
        .power = (double)hit->power / 2,
        .coherent = respond_all(b, place, harm),
        .nharm = hit->nharm,
        .r = place->r,
        .z = place->z,
        .harm = harm,
        .dof = psr_pulscan_dof(hit->nharm, hit->z),
        .ln_p = hit->ln_p,
        .first = hit->first,
        .width = hit->z + 1,
        .sign_known = known,
        .members = (int64_t)cand->members,
    };
}

/* --- all -------------------------------------------------------------------------------------- */

/* What one candidate becomes. */
struct outcome {
    struct psr_accel_cand cand[2];
    int n;
    struct psr_accel_harm *harm; /* room for both */
    psr_status status;
    psr_err err;
};

static void measure_one(struct outcome *o, psr_pulscan *plan, size_t s,
                        const struct psr_pulscan_cand *cand, const struct psr_measure_desc *desc)
{
    struct psr_pulscan_info info;
    psr_pulscan_describe(plan, &info);
    struct box b = {.hit = &cand->best, .lost = desc->boxes_only ? (double)info.block / 2 : 0};
    struct place place[2];
    bool known = false;
    for (int h = 1; h <= b.hit->nharm && o->status == PSR_OK && !desc->boxes_only; h++)
        o->status = take_harmonic(&b, h, plan, s, desc, &o->err);
    if (o->status == PSR_OK)
        o->n = find_places(&b, desc, place, &known);
    for (int k = 0; k < o->n; k++) {
        struct psr_accel_harm *harm = o->harm + k * b.hit->nharm;
        o->cand[k] = describe(cand, &b, &place[k], known, harm);
        if (desc->trials > 0 && place[k].matched)
            confirm(&b, desc->trials, &o->cand[k], harm);
        if (cand->lines && !place[k].matched)
            strcpy(o->cand[k].note, "lines side by side");
        else if (o->n == 2)
            strcpy(o->cand[k].note, "z of either sign");
    }
    drop_box(&b);
}

static psr_status allocate(struct psr_measured *out, struct outcome *outcome,
                           const struct psr_pulscan_cand *cand, size_t ncand, psr_err *err)
{
    size_t nharm = 0;
    for (size_t i = 0; i < ncand; i++)
        nharm += 2 * (size_t)cand[i].best.nharm;
    out->cand = calloc(2 * ncand + 1, sizeof *out->cand);
    out->harm = calloc(nharm + 1, sizeof *out->harm);
    if (!outcome || !out->cand || !out->harm)
        return psr_fail_nomem(err, "candidates", (double)(nharm * sizeof *out->harm));
    struct psr_accel_harm *harm = out->harm;
    for (size_t i = 0; i < ncand; i++) {
        outcome[i].harm = harm;
        harm += 2 * (size_t)cand[i].best.nharm;
    }
    return PSR_OK;
}

static int best_first(const void *pa, const void *pb)
{
    const struct psr_accel_cand *a = pa, *b = pb;
    if (a->sigma > b->sigma || a->sigma < b->sigma)
        return a->sigma > b->sigma ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Leaves those that a matched search would list. */
static void keep_confirmed(struct psr_measured *m, double least_sigma)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->cand[i].sigma > least_sigma)
            m->cand[n++] = m->cand[i];
    m->n = n;
    qsort(m->cand, n, sizeof *m->cand, best_first);
}

/* Whether c lies at ratio times the place of a better one. */
static bool lies_at(const struct psr_accel_cand *better, const struct psr_accel_cand *c,
                    double ratio)
{
    double near = fmax(1, ratio);
    return fabs(ratio * better->r.value - c->r.value) < SAME_R * near &&
           fabs(ratio * better->z.value - c->z.value) < SAME_Z * near;
}

/* Whether two are one signal: a bright line whose side lobes fill a box stands out of it. */
static bool is_same(const struct psr_accel_cand *better, const struct psr_accel_cand *c,
                    bool keep_harmonics)
{
    int most = keep_harmonics ? 1 : MOST_RATIO;
    bool same = false;
    for (int n = 1; n <= most && better->r.error < 1 && c->r.error < 1; n++)
        same = same || lies_at(better, c, n) || lies_at(better, c, 1.0 / n);
    return same;
}

static void drop_repeats(struct psr_measured *m, bool keep_harmonics)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        size_t k = 0;
        while (k < n && !is_same(&m->cand[k], &m->cand[i], keep_harmonics))
            k++;
        if (k == n)
            m->cand[n++] = m->cand[i];
        else
            m->cand[k].members += m->cand[i].members;
    }
    m->n = n;
}

psr_status psr_measure(struct psr_measured *out, psr_pulscan *plan, size_t s,
                       const struct psr_pulscan_cand *cand, size_t ncand,
                       const struct psr_measure_desc *desc, psr_err *err)
{
    struct outcome *outcome = calloc(ncand ? ncand : 1, sizeof *outcome);
    *out = (struct psr_measured){0};
    psr_status st = allocate(out, outcome, cand, ncand, err);
    if (st == PSR_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(psr_count_threads(desc->nthread))
        for (int64_t i = 0; i < (int64_t)ncand; i++)
            measure_one(&outcome[i], plan, s, &cand[i], desc);
    }
    for (size_t i = 0; i < ncand && st == PSR_OK; i++) {
        st = outcome[i].status;
        if (st != PSR_OK)
            psr_fail(err, st, "%s", outcome[i].err.msg);
        for (int k = 0; k < outcome[i].n; k++)
            out->cand[out->n++] = outcome[i].cand[k];
    }
    free(outcome);
    if (st != PSR_OK)
        psr_measured_clear(out);
    else if (desc->trials > 0)
        keep_confirmed(out, desc->least_sigma);
    drop_repeats(out, desc->keep_harmonics);
    psr_measure_note(out->cand, out->n);
    return st;
}

void psr_measured_clear(struct psr_measured *m)
{
    free(m->cand);
    free(m->harm);
    *m = (struct psr_measured){0};
}
