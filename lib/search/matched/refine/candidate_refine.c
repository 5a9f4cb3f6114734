/* Refines boxes to candidates as accelsearch describes them. */
#include "accel_refine.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "search/matched/response/accel_internal.h"
#include "stats/stats.h"

#include <math.h>
#include <psrkit/signif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds candidates that are harmonics of better ones, and notes it. */

enum { MOST_DEN = 4, MOST_NUM = 9999 };

static const double NOTES_CHANCE = 0.02;
static const double LEAST_EVEN = 20, MOST_ODD = 0.01, NOISE = 3; /* power */

/* Whether c lies at num / den of better's frequency, and that says something: harmonics of a low
 * frequency that is badly known are everywhere. */
static bool is_harmonic(const struct psr_accel_cand *better, const struct psr_accel_cand *c,
                        int den, int *num)
{
    double multiple = c->r.value * den / better->r.value;
    if (!(multiple >= 0.5 && multiple < MOST_NUM))
        return false;
    *num = (int)lround(multiple);
    double ratio = (double)*num / den;
    double near = 0.5 + 3 * (c->r.error + ratio * better->r.error);
    return psr_common_divisor(*num, den) == 1 && 2 * near * den / better->r.value < NOTES_CHANCE &&
           fabs(c->r.value - ratio * better->r.value) <= near;
}

static bool note_harmonic(const struct psr_accel_cand *cand, size_t k, struct psr_accel_cand *c)
{
    for (int den = 1, num; den <= MOST_DEN; den++) {
        if (!is_harmonic(&cand[k], c, den, &num) || num == den)
            continue;
        char of[16] = "", text[64];
        if (den > 1)
            snprintf(of, sizeof of, "/%d", den);
        snprintf(text, sizeof text, "H %d%s of Cand %zu", num, of, k + 1);
        snprintf(c->note, sizeof c->note, "%.20s", text);
        return true;
    }
    return false;
}

/* Whether the odd harmonics hold next to nothing of what the even ones do: the period is half. */
static bool is_even_only(const struct psr_accel_cand *c)
{
    double over[2] = {0, 0}; /* even, odd */
    for (int h = 1; h <= c->nharm; h++)
        over[h % 2] += c->harm[h - 1].power.value - 1;
    return over[0] > LEAST_EVEN && over[1] < NOISE + MOST_ODD * over[0];
}

void psr_refine_note(struct psr_accel_cand *cand, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i && !cand[i].note[0]; k++)
            if (note_harmonic(cand, k, &cand[i]))
                break;
        if (!cand[i].note[0] && is_even_only(&cand[i]))
            strcpy(cand[i].note, "even harmonics only");
    }
}

/* --- the best place --------------------------------------------------------------------------- */

/* Errors are of powers above this. */
#define PSR_REFINE_LEAST_POWER 0.01

/* A candidate being refined. */
struct psr_refine_box {
    const struct psr_pulscan_hit *hit;
    double lost; /* bins by which r may be off where only its block is known */
    double excess[PSR_PULSCAN_MAX_HARM]; /* chi^2 of harmonic h + 1 less its mean in noise */
    double chi2[PSR_PULSCAN_MAX_HARM];
    psr_accel_template *matched[PSR_PULSCAN_MAX_HARM]; /* NULL where not made */
};

/* What was found for one sign of the drift. */
struct psr_refine_place {
    struct psr_accel_value r, z; /* of the fundamental */
    bool matched;                /* rather than of the box */
};

enum { MOST_HALVINGS = 24, MARGIN = 16, MOST_BINS = 1 << 16, MOST_DRIFT = 1200 };

static const double SIGN_POWER = 3;    /* by which one sign must be better */
static const double CHANCE = 1e-3;     /* of noise giving as much, in all places looked at */
static const double LEAST_SHARE = 0.5; /* of the box's excess that a response has to hold */
static const double FINE = 0.1;        /* of an error */
static const double WIDTH_FROM = 0.4, WIDTH_TO = 1.6; /* drifts tried, in widths of the box */

/* --- the box ---------------------------------------------------------------------------------- */

/* Bins of harmonic h's part of the box, and beyond it as far as drifts reach. */
static struct psr_span bins_of(const struct psr_pulscan_hit *hit, int h)
{
    return (struct psr_span){h * hit->first, (int64_t)h * (hit->z + 1)};
}

static bool is_zapped(const struct psr_refine_desc *desc, int64_t k)
{
    for (size_t i = 0; i < desc->nzap; i++)
        if (k >= desc->zap[i].first && k < desc->zap[i].first + desc->zap[i].count)
            return true;
    return false;
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

/* --- matched responses ------------------------------------------------------------------------ */

/* The lowest harmonic that is nearly as significant as the most significant one: low harmonics are
 * quickly searched, and high ones of wide boxes are not searched at all. */
static int choose_harmonic(const struct psr_refine_box *b)
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

/* Summed power at (r, z) of the fundamental. */
static double sum_power(const struct psr_refine_box *b, double r, double z)
{
    double sum = 0;
    for (int h = 1; h <= b->hit->nharm; h++)
        sum += psr_accel_template_power(b->matched[h - 1], h * r, h * z, 0);
    return sum;
}

/* Moves to a neighbour that is higher, if one is. */
static bool step(const struct psr_refine_box *b, struct psr_refine_place *p, double *best,
                 double dr, double dz)
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

/* The best drift of one sign, in bins of harmonic h. */
static size_t search_side(const struct psr_refine_box *b, int h, int sign, int zmax,
                          struct psr_accel_template_peak *peak)
{
    struct psr_span bins = bins_of(b->hit, h);
    double width = (double)bins.count, most = (double)zmax * h;
    double from = fmax(0, WIDTH_FROM * width - 4), to = fmin(WIDTH_TO * width + 4, most);
    double step = width < 64 ? 2 : 4;
    double rlo = (double)bins.first - 1, rhi = (double)(bins.first + bins.count);
    if (to < from)
        from = to;
    if (sign > 0)
        return psr_accel_template_search(b->matched[h - 1], rlo, rhi, from, to, step, peak);
    return psr_accel_template_search(b->matched[h - 1], rlo, rhi, -to, -from, step, peak);
}

/* Ransom, Eikenberry and Middleditch 2002, for the fundamental of several harmonics: harmonic h
 * determines r and z h times as precisely. */
static void find_errors(const struct psr_refine_box *b, struct psr_refine_place *p)
{
    double weight = 0;
    for (int h = 1; h <= b->hit->nharm; h++)
        weight +=
            h * h * psr_accel_template_power(b->matched[h - 1], h * p->r.value, h * p->z.value, 0);
    weight = fmax(weight, PSR_REFINE_LEAST_POWER);
    p->r.error = 3 / (M_PI * sqrt(6 * weight));
    p->z.error = 3 * sqrt(10 / weight) / M_PI;
}

/* Errors are those of boxes around signals of constant drift, roughly. */
static struct psr_refine_place place_of_box(const struct psr_refine_box *b, int sign, int zmax)
{
    double width = b->hit->z + 1, z = fmin(b->hit->z, zmax);
    return (struct psr_refine_place){.r = {b->hit->r, 0.5 + 0.1 * width + b->lost},
                                     .z = {z > 0 ? sign * z : 0, 1 + 0.2 * width}};
}

/* Returned: places to write, 1 or 2; *known, whether the sign of z is */
static int refine_places(const struct psr_refine_box *b, const struct psr_refine_desc *desc,
                         struct psr_refine_place place[2], bool *known)
{
    struct psr_accel_template_peak side[2] = {{.power = 0}, {.power = 0}}; /* z above, below 0 */
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
    if (stands_out) {
        /* From the best place of harmonic h to one of the fundamental. */
        struct psr_refine_place p = {
            .matched = true, .r = {side[better].r / h, 0}, .z = {side[better].z / h, 0}};
        /* Climbs in steps that are halved if no neighbour is higher, until they are small against
         * the errors. */
        double dr = 0.25 / h;
        double dz = desc->zmax > 0 ? 1.0 / h : 0;
        double best = sum_power(b, p.r.value, p.z.value);
        for (int halvings = 0; halvings < MOST_HALVINGS; halvings++, dr /= 2, dz /= 2) {
            while (step(b, &p, &best, dr, dz))
                continue;
            find_errors(b, &p);
            if (dr < FINE * p.r.error && dz < FINE * p.z.error)
                break;
        }
        place[0] = p;
        return 1;
    }
    place[0] = place_of_box(b, better ? -1 : 1, desc->zmax);
    place[1] = place_of_box(b, better ? 1 : -1, desc->zmax);
    return *known || fabs(place[0].z.value) <= place[0].z.error ? 1 : 2;
}

/* The box's power as matched power: what as many harmonics need to be as improbable. */
static double equal_power(double ln_p, int nharm)
{
    return psr_chi2_threshold(psr_logp_from_sf(ln_p), 2.0 * nharm) / 2;
}

/* --- as accelsearch has it -------------------------------------------------------------------- */

static struct psr_accel_value with_error(double value, double error)
{
    return (struct psr_accel_value){value, error};
}

/* Errors as accelsearch gives them (Middleditch, Deich and Kulkarni 1993). */
static void fill_harmonic(struct psr_accel_harm *to, const struct psr_accel_template_peak *peak)
{
    double power = fmax(peak->power, PSR_REFINE_LEAST_POWER), purity = fmax(peak->purity, 0.01);
    to->r = with_error(peak->r, 3 / (M_PI * purity * sqrt(6 * power)));
    to->z = with_error(peak->z, 3 * sqrt(10 / power) / (M_PI * purity * purity));
    to->phase_rad = with_error(peak->phase_rad, 1 / sqrt(2 * power));
    to->centroid = with_error(peak->centroid, 1 / sqrt(24 * power));
    to->purity = with_error(peak->purity, 1 / (purity * sqrt(10 * power)));
}

/* Fills the harmonics' places and gives the coherent power there. */
static double respond_all(const struct psr_refine_box *b, const struct psr_refine_place *place,
                          struct psr_accel_harm *harm)
{
    double re = 0, im = 0, phase1 = 0;
    for (int h = 1; h <= b->hit->nharm; h++) {
        struct psr_accel_template_peak peak = {
            .r = h * place->r.value, .z = h * place->z.value, .centroid = 0.5, .purity = 1};
        if (b->matched[h - 1])
            psr_accel_template_respond(b->matched[h - 1], peak.r, peak.z, &peak);
        if (h == 1)
            phase1 = peak.phase_rad;
        double phase = peak.phase_rad + phase1 - h * phase1;
        re += sqrt(peak.power) * cos(phase);
        im += sqrt(peak.power) * sin(phase);
        fill_harmonic(&harm[h - 1], &peak);
    }
    return re * re + im * im;
}

static struct psr_accel_cand describe(const struct psr_pulscan_cand *cand,
                                      const struct psr_refine_box *b,
                                      const struct psr_refine_place *place, bool known,
                                      struct psr_accel_harm *harm)
{
    const struct psr_pulscan_hit *hit = &cand->best;
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

/* Reads one harmonic's bins and prepares responses to them. */
static psr_status take_harmonic(struct psr_refine_box *b, int h, float taken, psr_pulscan *plan,
                                size_t s, const struct psr_refine_desc *desc, psr_err *err)
{
    struct psr_span bins = bins_of(b->hit, h);
    int64_t margin = (int64_t)h * (b->hit->z + 1) / 2 + MARGIN, first = bins.first - margin;
    if (first < 0)
        first = 0;
    size_t n = (size_t)(bins.first + bins.count + margin - first);
    float *x = malloc(2 * n * sizeof *x);
    if (!x)
        return psr_fail_nomem(err, "a candidate's bins", (double)(2 * n * sizeof *x));
    psr_status st;
#pragma omp critical(psr_candidate_refine)
    st = psr_pulscan_amplitudes(plan, s, first, n, x, err);
    if (st == PSR_OK) {
        /* What is zapped counts as noise in the box, and not at all in responses. */
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
        /* Keeps only harmonics that are a candidate's own: responses to others' harmonics are
         * set to 0. */
        b->chi2[h - 1] = sum - (double)taken;
        b->excess[h - 1] = sum - 2 * (double)bins.count - (double)taken;
        if ((double)taken > fmax(b->excess[h - 1], 0))
            memset(x, 0, 2 * n * sizeof *x);
    }
    if (st == PSR_OK && n <= MOST_BINS)
        st = psr_accel_template_create(&b->matched[h - 1], x, first, n, err);
    free(x);
    return st;
}

static void refine_one(struct outcome *o, psr_pulscan *plan, size_t s,
                       const struct psr_pulscan_cand *cand, const struct psr_refine_desc *desc)
{
    struct psr_refine_box b;
    struct psr_refine_place place[2];
    bool known = false;
    /* Reads the bins of a candidate's harmonics and prepares responses to them, but with
     * desc->boxes_only. */
    const struct psr_pulscan_hit *hit = &cand->best;
    struct psr_pulscan_info info;
    psr_pulscan_describe(plan, &info);
    b = (struct psr_refine_box){.hit = hit, .lost = desc->boxes_only ? (double)info.block / 2 : 0};
    psr_status st = PSR_OK;
    for (int h = 1; h <= hit->nharm && st == PSR_OK && !desc->boxes_only; h++)
        st = take_harmonic(&b, h, cand->taken[h - 1], plan, s, desc, &o->err);
    o->status = st;
    if (o->status == PSR_OK)
        o->n = refine_places(&b, desc, place, &known);
    for (int k = 0; k < o->n; k++) {
        struct psr_accel_harm *harm = o->harm + k * b.hit->nharm;
        o->cand[k] = describe(cand, &b, &place[k], known, harm);
        if (cand->lines && !place[k].matched)
            strcpy(o->cand[k].note, "lines side by side");
        else if (o->n == 2)
            strcpy(o->cand[k].note, "z of either sign");
    }
    for (int h = 0; h < PSR_PULSCAN_MAX_HARM; h++)
        psr_accel_template_destroy(b.matched[h]);
}

void psr_measured_clear(struct psr_measured *m)
{
    free(m->cand);
    free(m->harm);
    *m = (struct psr_measured){0};
}

/* --- candidates ------------------------------------------------------------------------------- */

static const double SAME_R = 1, SAME_Z = 4; /* bins */

/* Whether two are one signal: a bright line whose side lobes fill a box stands out of it. */
static bool is_same(const struct psr_accel_cand *better, const struct psr_accel_cand *c)
{
    return better->r.error < 1 && c->r.error < 1 && fabs(better->r.value - c->r.value) < SAME_R &&
           fabs(better->z.value - c->z.value) < SAME_Z;
}

static void drop_repeats(struct psr_measured *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        size_t k = 0;
        while (k < n && !is_same(&m->cand[k], &m->cand[i]))
            k++;
        if (k == n)
            m->cand[n++] = m->cand[i];
        else
            m->cand[k].members += m->cand[i].members;
    }
    m->n = n;
}

psr_status psr_candidate_refine(struct psr_measured *out, psr_pulscan *plan, size_t s,
                                const struct psr_pulscan_cand *cand, size_t ncand,
                                const struct psr_refine_desc *desc, psr_err *err)
{
    struct outcome *outcome = calloc(ncand ? ncand : 1, sizeof *outcome);
    struct psr_refine_desc d;
    *out = (struct psr_measured){0};
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "refinement", err);
    if (!st)
        st = allocate(out, outcome, cand, ncand, err);
    if (st == PSR_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(psr_count_threads(d.nthread))
        for (int64_t i = 0; i < (int64_t)ncand; i++)
            refine_one(&outcome[i], plan, s, &cand[i], &d);
    }
    for (size_t i = 0; i < ncand && st == PSR_OK; i++) {
        st = outcome[i].status;
        if (st != PSR_OK)
            psr_fail_field(err, st, outcome[i].err.field, "%s", outcome[i].err.msg);
        for (int k = 0; k < outcome[i].n; k++)
            out->cand[out->n++] = outcome[i].cand[k];
    }
    free(outcome);
    if (st != PSR_OK)
        psr_measured_clear(out);
    drop_repeats(out);
    psr_refine_note(out->cand, out->n);
    return st;
}
