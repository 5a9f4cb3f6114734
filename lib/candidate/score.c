/* A probability from the numbers of a candidate, and the reasons in words. */
#include "formats/series/series_internal.h"

#include "search/fold/trials/fold_state.h"
#include "search/sift/sift_state.h"
#include "stats/stats.h"
#include <math.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/series.h>
#include <psrkit/signif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- how numbers of a candidate become a probability ------------------------------------------ */

/* A number is limited, taken off the centre, divided by the scale, and multiplied by the weight; one that is not
 * known counts as the centre. */
struct weight {
    double least, most, centre, scale, weight;
};

/* This table is made by tests/science/fit_score.py. */
static const double sum_without_any = -7.780;

static const struct weight weights[PSR_CAND_NNUMBER] = {
    [PSR_CAND_ALPHA] = {0.9, 1, 0.9437, 0.05, -0.423},
    [PSR_CAND_BETA] = {0, 1, 0.2603, 0.372, -0.844},
    [PSR_CAND_GAMMA] = {0, 1, 0.299, 0.4045, -0.197},
    [PSR_CAND_SHARE_BANDS] = {0, 1, 0.5925, 0.281, 0.000},
    [PSR_CAND_SHARE_PARTS] = {0, 1, 0.5366, 0.2728, 0.300},
    [PSR_CAND_HALVES_BAND] = {-1, 1, 0.5564, 0.373, 0.531},
    [PSR_CAND_HALVES_TIME] = {-1, 1, 0.6561, 0.2724, 0.150},
    [PSR_CAND_ACCEL_OK] = {0, 1, 0.9752, 0.1554, 0.865},
    [PSR_CAND_COVERED] = {0, 1, 0.9999, 0.05, 0.839},
    [PSR_CAND_SNR] = {6, 9, 7.511, 1.408, 4.758},
    [PSR_CAND_DM0_SIGMA] = {-3, 9, 2.733, 4.156, 1.715},
    [PSR_CAND_BANDS_RATIO] = {0.5, 0.8, 0.7673, 0.07142, 4.048},
    [PSR_CAND_PULSE_SHARE] = {0.5, 0.85, 0.7524, 0.1289, 0.829},
};

double psr_cand_probability(const double number[PSR_CAND_NNUMBER])
{
    double sum = sum_without_any;
    for (int k = 0; k < PSR_CAND_NNUMBER; k++) {
        const struct weight *w = &weights[k];
        if (!isnan(number[k]))
            sum += w->weight * (fmin(fmax(number[k], w->least), w->most) - w->centre) / w->scale;
    }
    return 1 / (1 + exp(-sum));
}

/* A number beyond a limit, and what it says. */
struct rule {
    enum psr_cand_number of;
    bool below;
    double limit;
    const char *words;
};

static const struct rule rules[] = {
    {PSR_CAND_ALPHA, false, 1, "stronger at DM 0"},
    {PSR_CAND_ALPHA, true, 0.7, "weaker at DM 0"},
    {PSR_CAND_GAMMA, false, 0.3, "DM uncertain"},
    {PSR_CAND_BETA, false, 0.3, "the fold moved the DM"},
    {PSR_CAND_BANDS_RATIO, true, 0.7, "in few sub-bands"},
    {PSR_CAND_SHARE_BANDS, false, 0.8, "in most sub-bands"},
    {PSR_CAND_SHARE_PARTS, true, 0.4, "in few parts"},
    {PSR_CAND_SHARE_PARTS, false, 0.8, "in most parts"},
    {PSR_CAND_HALVES_BAND, true, 0.4, "the halves of the band differ"},
    {PSR_CAND_HALVES_TIME, true, 0.4, "the halves of the time differ"},
    {PSR_CAND_ACCEL_OK, true, 0.5, "impossible acceleration"},
    {PSR_CAND_COVERED, true, 0.5, "half of the fold is empty, or a turn is longer than a part"},
    {PSR_CAND_SNR, true, 6, "faint fold"},
    {PSR_CAND_PULSE_SHARE, true, 0.6, "no single pulse"},
};

/* Fills the reasons, from the numbers. */
static void cand_explain(struct psr_cand_score *score)
{
    size_t n = 0;
    score->reasons[0] = '\0';
    for (size_t i = 0; i < sizeof rules / sizeof *rules && n < PSR_CAND_REASONS; i++) {
        const double x = score->number[rules[i].of];
        if (rules[i].below ? x < rules[i].limit : x > rules[i].limit)
            n += (size_t)snprintf(score->reasons + n, PSR_CAND_REASONS - n, "%s%s", n ? "; " : "",
                                  rules[i].words);
    }
}

static void add_reason(struct psr_cand_score *score, const char *words)
{
    const size_t n = strlen(score->reasons);
    if (!strstr(score->reasons, words))
        snprintf(score->reasons + n, sizeof score->reasons - n, "%s%s", n ? "; " : "", words);
}

/* Numbers of a fold: its profile over the band, the observation and DM. */

/* Beyond these an acceleration is no binary's; so many bins of drift are no acceleration yet. */
static const double MOST_ACCEL_MS2 = 1000, LEAST_DRIFT = 4;

/* A profile stands in a sub-band or a part above this. */
static const double STANDS_SIGMA = 1;

struct cube {
    struct psr_fold_harmonics h; /* its rows at the best period and DM */
    const struct psr_pfd *fold;
    struct psr_fold_coefs *band, *part; /* [nsub], [npart] at the best period and DM */
    struct psr_fold_coefs sum;
    double *part_turns, *band_turns;
    double part_s;
    size_t n; /* harmonics of the profile */
};

static void add(struct psr_fold_coefs *sum, const struct psr_fold_coefs *a, double factor)
{
    for (size_t k = 0; k < PSR_FOLD_HARMONICS; k++)
        sum->h[k] += factor * a->h[k];
}

/* --- DM --------------------------------------------------------------------------------------- */

/* Z^2 less what noise has, at another DM. */
static double excess_at(const struct cube *c, double dm)
{
    struct psr_fold_coefs sum = {.h = {0}};
    for (size_t j = 0; j < c->h.nsub; j++)
        psr_fold_coefs_add(&sum, &c->band[j], (dm - c->fold->dm) * c->h.per_dm[j]);
    return psr_fold_harmonics_power(&c->h, &sum, c->n) - 2 * (double)c->n;
}

static void measure_dm(const struct cube *c, double *number)
{
    const double dm = c->fold->dm, excess = excess_at(c, dm);
    double turns = 0;
    number[PSR_CAND_SNR] = sqrt(fmax(excess, 0));
    for (size_t j = 0; j < c->h.nsub; j++)
        turns = fmax(turns, fabs(c->h.per_dm[j] - c->h.per_dm[0]));
    if (c->h.nsub < 2 || !c->fold->ndm || !(turns > 0) || !(excess > 0))
        return;
    const double step = 0.1 / (turns * (double)c->n), at_0 = excess_at(c, 0);
    const double fall = excess - (excess_at(c, dm + step) + excess_at(c, dm - step)) / 2;
    const double loss = dm > 0 ? excess - at_0 : 0;
    double searched = NAN;
    number[PSR_CAND_ALPHA] = dm > 0 ? sqrt(fmax(at_0, 0) / excess) : 1;
    number[PSR_CAND_DM0_SIGMA] = loss < 0 ? -sqrt(-loss) : sqrt(loss);
    number[PSR_CAND_GAMMA] = fall > 0 && dm > 0 ? fmin(step / sqrt(fall) / dm, 99) : 99;
    if (c->fold->candidate && psr_series_find_dm(c->fold->candidate, &searched) >= 0 &&
        searched > 0)
        number[PSR_CAND_BETA] = fabs(dm - searched) / searched;
}

/* --- one pulse -------------------------------------------------------------------------------- */

/* Widths of boxcars, in turns, each so many times the one before; places of each. */
static const double WIDEST_BOX = 0.5, NARROWEST_BOX = 1.0 / 64, BOX_STEP = 0.8;
enum { BOX_PLACES = 256 };

/* The sum of the harmonics of a boxcar in that place. */
static double find_in_box(const struct cube *c, const double *box, const double complex *wave,
                          int at)
{
    double sum = 0;
    for (size_t k = 0; k < c->h.most; k++) {
        const double complex h = c->sum.h[k], w = wave[(k + 1) * (size_t)at % BOX_PLACES];
        sum += box[k] * (creal(h) * creal(w) - cimag(h) * cimag(w));
    }
    return sum;
}

/* The largest S/N of the profile in a boxcar, whose harmonics have the coefficients sin(pi k d) / (pi k). */
static double find_pulse_snr(const struct cube *c)
{
    double complex wave[BOX_PLACES];
    double most = 0, var = 0;
    for (int at = 0; at < BOX_PLACES; at++)
        wave[at] = cexp(2 * M_PI * I * at / BOX_PLACES);
    for (size_t j = 0; j < c->h.nsub; j++)
        var += c->h.var[j];
    for (double width = WIDEST_BOX; width > NARROWEST_BOX; width *= BOX_STEP) {
        double box[PSR_FOLD_HARMONICS], norm = 0;
        for (size_t k = 0; k < c->h.most; k++) {
            box[k] = sin(M_PI * (double)(k + 1) * width) / (double)(k + 1);
            norm += box[k] * box[k];
        }
        for (int at = 0; at < BOX_PLACES; at++)
            most = fmax(most, find_in_box(c, box, wave, at) / sqrt(norm * var / 2));
    }
    return most;
}

/* --- band and time ---------------------------------------------------------------------------- */

/* A share of n pieces, those with data. */
struct share {
    double of;
    size_t n;
};

/* The part of a piece that has the profile of the others; NAN: they have none. */
static double project_on_others(const struct cube *c, const struct psr_fold_coefs *piece)
{
    struct psr_fold_coefs rest = c->sum;
    add(&rest, piece, -1);
    const double size = sqrt(psr_fold_coefs_project(&rest, &rest, c->n));
    return size > 0 ? psr_fold_coefs_project(&rest, piece, c->n) / size : NAN;
}

/* Share of pieces that have the profile of the others.
 * Given:  var [n]   of each one's noise; 0: no data */
static struct share share_of(const struct cube *c, const struct psr_fold_coefs *piece,
                             const double *var, size_t n)
{
    size_t stands = 0, all = 0;
    for (size_t j = 0; j < n; j++) {
        const double part = project_on_others(c, &piece[j]);
        if (!(var[j] > 0) || isnan(part))
            continue;
        all++;
        stands += part > STANDS_SIGMA * sqrt(var[j] / 2);
    }
    return (struct share){all > 1 ? (double)stands / (double)all : NAN, all};
}

/* The share that a pulse of this S/N has which is the same in all of n pieces. */
static double expect_share(double snr, size_t n)
{
    return 0.5 * erfc((STANDS_SIGMA - snr / sqrt((double)n)) / sqrt(2));
}

/* In standard deviations of a cell, a sub-band of a part: cells of noise and faint pulsars have less, but for some by chance, or half of
 * those of a part have more, as of a pulsar that is off for long, or half of those of a sub-band, as of one that scintillates.  The call of
 * a telephone, or a radar in its channels, has more at a phase of its own; their sum is bright at some DM, by the few that agree. */
static const double CELL_SIGMA = 1.5;

/* Of 131 folds of pulsars three have a smaller share, and are broken by interference; of 1293 others three in four have. */
static const double FEW_CELLS_SHARE = 0.65;

/* Cells [npart][nsub] of a fold. */
struct cells {
    float *value; /* the part of the profile, over the cell's sd; NAN: no data */
    double *sd;
    float *usual; /* [nsub] and [npart]: the median size of those of a sub-band, and of a part */
    float *work;
};

/* The median size of the n cells that follow each other at that step. */
static float find_usual(const struct cells *cells, size_t first, size_t n, size_t step)
{
    size_t have = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(cells->value[first + i * step]))
            cells->work[have++] = fabsf(cells->value[first + i * step]);
    return have ? (float)psr_quantile_median(cells->work, have) : 0;
}

static void measure_cells(const struct cube *c, struct cells *cells)
{
    const size_t nsub = c->h.nsub, npart = c->h.npart;
    const double per_var = (double)c->fold->nbin / psr_fold_correction(c->fold) / 2;
    for (size_t i = 0; i < npart * nsub; i++) {
        cells->sd[i] = sqrt(c->fold->stats[i].prof_var * per_var);
        cells->value[i] =
            cells->sd[i] > 0 ? (float)(project_on_others(c, &c->h.row[i]) / cells->sd[i]) : NAN;
    }
    for (size_t j = 0; j < nsub; j++)
        cells->usual[j] = find_usual(cells, j, npart, nsub);
    for (size_t i = 0; i < npart; i++)
        cells->usual[nsub + i] = find_usual(cells, i * nsub, nsub, 1);
}

/* Share of the S/N that is left if no cell counts more than that, beside the share that noise with a faint pulse would keep. */
static double find_common_share(const struct cube *c, const struct cells *cells)
{
    const size_t nsub = c->h.nsub;
    double all = 0, common = 0;
    for (size_t i = 0; i < c->h.npart * nsub; i++) {
        const double value = (double)cells->value[i];
        const double usual = (double)fmaxf(cells->usual[i % nsub], cells->usual[nsub + i / nsub]),
                     most = CELL_SIGMA * fmax(1, usual);
        if (isnan(value))
            continue;
        all += cells->sd[i] * value;
        common += cells->sd[i] * fmin(fmax(value, -most), most) / erf(most / sqrt(2));
    }
    return all > 0 ? fmin(fmax(common / all, 0), 1) : 1;
}

/* Only what cells have in common counts as S/N. */
static psr_status limit_cells(const struct cube *c, double *snr, psr_err *err)
{
    const size_t n = c->h.npart * c->h.nsub, lines = c->h.npart + c->h.nsub;
    struct cells cells = {.value = malloc((n + 2 * lines) * sizeof *cells.value),
                          .sd = malloc(n * sizeof *cells.sd)};
    psr_status st = cells.value && cells.sd
                        ? PSR_OK
                        : psr_fail_nomem(err, "cells of a fold", (double)n * sizeof *cells.sd);
    if (!st) {
        cells.usual = cells.value + n;
        cells.work = cells.usual + lines;
        measure_cells(c, &cells);
        *snr *= find_common_share(c, &cells);
    }
    free(cells.value);
    free(cells.sd);
    return st;
}

static double correlate_halves(const struct cube *c, const struct psr_fold_coefs *piece, size_t n)
{
    struct psr_fold_coefs half[2] = {{.h = {0}}, {.h = {0}}};
    for (size_t j = 0; j < n; j++)
        add(&half[2 * j >= n], &piece[j], 1);
    const double size = sqrt(psr_fold_coefs_project(&half[0], &half[0], c->n) *
                             psr_fold_coefs_project(&half[1], &half[1], c->n));
    return n > 1 && size > 0 ? psr_fold_coefs_project(&half[0], &half[1], c->n) / size : NAN;
}

static psr_status measure_shares(const struct cube *c, double *number, psr_err *err)
{
    double *var = calloc(c->h.npart, sizeof *var), all = 0;
    size_t filled = 0;
    if (!var)
        return psr_fail_nomem(err, "parts of a fold", 8.0 * (double)c->h.npart);
    for (size_t j = 0; j < c->h.nsub; j++)
        all += c->h.var[j];
    for (size_t i = 0; i < c->h.npart; i++) {
        double seen = 0, most = 0;
        for (size_t j = 0; j < c->h.nsub; j++) {
            const struct psr_fold_stats *s = &c->fold->stats[i * c->h.nsub + j];
            filled += s->numdata > 0 && s->prof_var > 0;
            seen += s->prof_var;
            most = fmax(most, s->prof_var);
        }
        var[i] = most > 0 && seen > 0 ? all / (double)c->h.npart : 0;
    }
    const struct share bands = share_of(c, c->band, c->h.var, c->h.nsub);
    number[PSR_CAND_SHARE_BANDS] = bands.of;
    number[PSR_CAND_BANDS_RATIO] = bands.of / expect_share(number[PSR_CAND_SNR], bands.n);
    number[PSR_CAND_SHARE_PARTS] = share_of(c, c->part, var, c->h.npart).of;
    number[PSR_CAND_HALVES_BAND] = correlate_halves(c, c->band, c->h.nsub);
    number[PSR_CAND_HALVES_TIME] = correlate_halves(c, c->part, c->h.npart);
    number[PSR_CAND_COVERED] =
        (double)filled / (double)(c->h.npart * c->h.nsub) * fmin(1, c->part_s * c->fold->fold.f);
    free(var);
    return PSR_OK;
}

static double is_physical(const struct cube *c)
{
    const struct psr_fold_period *p = c->fold->fold.flag == 1 ? &c->fold->bary : &c->fold->topo;
    const double length_s = c->part_s * (double)c->h.npart;
    const double drift = fabs(p->pd) / (p->p * p->p) * length_s * length_s;
    return fabs(p->pd) / p->p * PSR_LIGHT_M_S < MOST_ACCEL_MS2 || drift < LEAST_DRIFT ? 1 : 0;
}

/* --- hum -------------------------------------------------------------------------------------- */

/* In Z^2, that is chi-squared: what speaks for a DM and against another; of one harmonic, as in one fold of 75 one of a pulsar has
 * 16 by chance; noise of a harmonic. */
static const double REJECT_CHI2 = 16, LINE_CHI2 = 32, NOISE_CHI2 = 2;

static double power_of(const struct cube *c, const struct psr_fold_coefs *sum, size_t k)
{
    const struct psr_fold_coefs one = {.h = {sum->h[k]}};
    return psr_fold_harmonics_power(&c->h, &one, 1);
}

static void leave_out(struct psr_fold_coefs *piece, size_t n, const bool *is_line)
{
    for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < PSR_FOLD_HARMONICS; k++)
            if (is_line[k])
                piece[j].h[k] = 0;
}

/* Whether of the first n harmonics those that stand out are multiples of one above the first, and all others noise: then they
 * are of a shorter period. */
static bool is_of_shorter_period(const struct cube *c, const struct psr_fold_coefs *sum, size_t n)
{
    int64_t divisor = 0;
    double others = 0;
    for (size_t k = 0; k < n; k++)
        if (power_of(c, sum, k) > REJECT_CHI2)
            divisor = psr_common_divisor((int64_t)k + 1, divisor);
    for (size_t k = 0; k < n && divisor > 1; k++) {
        const double power = power_of(c, sum, k);
        others += power > 0 && ((int64_t)k + 1) % divisor ? power - NOISE_CHI2 : 0;
    }
    return divisor > 1 && others < REJECT_CHI2;
}

/* Leaves out harmonics that reject the DM for DM 0, if they are multiples of one and the others reject DM 0 at this period: hum
 * is in the fold of a pulsar, at one of its harmonics and multiples of that, and says nothing of it. */
static void leave_hum_out(struct cube *c)
{
    struct psr_fold_coefs flat = {.h = {0}}, rest = c->sum;
    bool is_line[PSR_FOLD_HARMONICS];
    int64_t divisor = 0;
    for (size_t j = 0; j < c->h.nsub; j++)
        psr_fold_coefs_add(&flat, &c->band[j], -c->band_turns[j]);
    for (size_t k = 0; k < PSR_FOLD_HARMONICS; k++) {
        is_line[k] = power_of(c, &flat, k) > power_of(c, &c->sum, k) + LINE_CHI2;
        divisor = is_line[k] ? psr_common_divisor((int64_t)k + 1, divisor) : divisor;
    }
    if (divisor < 2)
        return;
    leave_out(&rest, 1, is_line);
    leave_out(&flat, 1, is_line);
    const size_t n = psr_fold_harmonics_count(&c->h, &rest);
    if (psr_fold_harmonics_power(&c->h, &rest, n) <
            psr_fold_harmonics_power(&c->h, &flat, n) + REJECT_CHI2 ||
        is_of_shorter_period(c, &rest, n))
        return;
    leave_out(c->band, c->h.nsub, is_line);
    leave_out(c->part, c->h.npart, is_line);
    leave_out(c->h.row, c->h.npart * c->h.nsub, is_line);
    c->sum = rest;
}

/* --- all -------------------------------------------------------------------------------------- */

static psr_status align(struct cube *c, psr_err *err)
{
    const size_t nsub = c->h.nsub, npart = c->h.npart;
    c->band = calloc(nsub, sizeof *c->band);
    c->part = calloc(npart, sizeof *c->part);
    c->part_turns = calloc(npart, sizeof *c->part_turns);
    c->band_turns = calloc(nsub, sizeof *c->band_turns);
    if (!c->band || !c->part || !c->part_turns || !c->band_turns)
        return psr_fail_nomem(err, "profiles", (double)(nsub + npart) * sizeof *c->band);
    psr_fold_harmonics_best_turns(&c->h, c->fold, c->part_turns);
    for (size_t j = 0; j < nsub; j++)
        c->band_turns[j] = c->fold->dm * c->h.per_dm[j];
    for (size_t i = 0; i < npart; i++)
        for (size_t j = 0; j < nsub; j++) {
            struct psr_fold_coefs row = {.h = {0}}, *cell = &c->h.row[i * nsub + j];
            psr_fold_coefs_add(&row, cell, c->part_turns[i] + c->band_turns[j]);
            *cell = row;
            add(&c->band[j], cell, 1);
            add(&c->part[i], cell, 1);
        }
    for (size_t j = 0; j < nsub; j++)
        add(&c->sum, &c->band[j], 1);
    leave_hum_out(c);
    c->n = psr_fold_harmonics_count(&c->h, &c->sum);
    return PSR_OK;
}

psr_status psr_cand_measure(struct psr_cand_score *score, const struct psr_pfd *fold, psr_err *err)
{
    const double part_s = fold->stats[0].numdata * fold->tsamp_s;
    const struct psr_fold_times times = {part_s, 1, part_s * fold->npart};
    struct cube c = {.fold = fold, .part_s = part_s};
    for (int k = 0; k < PSR_CAND_NNUMBER; k++)
        score->number[k] = NAN;
    score->probability = score->moved_bins = NAN;
    score->ranked = false;
    score->reasons[0] = '\0';
    if (fold->nbin < 3)
        return PSR_OK;
    if (!(fold->fold.f > 0))
        return psr_fail_field(err, PSR_EINVAL, "period", "a fold without a period");
    psr_status st = psr_fold_harmonics_init(&c.h, fold, &times, err);
    if (st)
        return st;
    st = align(&c, err);
    if (!st) {
        measure_dm(&c, score->number);
        score->number[PSR_CAND_ACCEL_OK] = is_physical(&c);
        if (score->number[PSR_CAND_SNR] > 0)
            score->number[PSR_CAND_PULSE_SHARE] = find_pulse_snr(&c) / score->number[PSR_CAND_SNR];
        st = measure_shares(&c, score->number, err);
    }
    const double snr = score->number[PSR_CAND_SNR];
    if (!st)
        st = limit_cells(&c, &score->number[PSR_CAND_SNR], err);
    if (!st) {
        score->probability = psr_cand_probability(score->number);
        cand_explain(score);
        if (score->number[PSR_CAND_SNR] < FEW_CELLS_SHARE * snr)
            add_reason(score, "few sub-bands of few parts carry it");
    }
    free(c.band);
    free(c.part);
    free(c.part_turns);
    free(c.band_turns);
    psr_fold_harmonics_clear(&c.h);
    return st;
}

/* Orders results of a sift by probability. */

/* Above this, probabilities are not told apart: the order of the sift, by sigma, stays. */
static const double SURE = 0.99;

struct item {
    bool later;
    double probability; /* below 0: not folded */
    size_t at;
};

PSR_COMPARE(compare, struct item,
            PSR_THEN(PSR_RISING(later), PSR_THEN(PSR_FALLING(probability), PSR_RISING(at))));

static void multiply_odds(struct psr_cand_score *score, double by)
{
    const double p = score->probability;
    score->probability = p * by / (p * by + 1 - p);
}

/* Below this sigma a fold does not reject DM 0 either. */
static const double REJECT_SIGMA = 4;

/* Of an open DM, how far the fold moved it is that of any pulse as long as its sweep, and so are S/N at DM 0 and its error if
 * the fold does not reject DM 0.  What then speaks for a pulsar is by how much it does, and that the DMs that fit are many:
 * interference is at DM 0.
 * Returned: by what the odds are multiplied */
static double forget_open_dm(const struct psr_sift_cand *cand, double number[PSR_CAND_NNUMBER])
{
    const struct weight *w = &weights[PSR_CAND_DM0_SIGMA];
    number[PSR_CAND_BETA] = NAN;
    if (number[PSR_CAND_DM0_SIGMA] >= REJECT_SIGMA)
        return 1;
    number[PSR_CAND_ALPHA] = number[PSR_CAND_GAMMA] = NAN;
    number[PSR_CAND_DM0_SIGMA] = fmax(number[PSR_CAND_DM0_SIGMA], w->least) + w->centre;
    return cand->dm_share;
}

/* The best of all sums of powers that were searched is bright in noise, too, and so is its fold, by chance phases: where noise
 * has one as strong, the S/N that speaks is that of one pulse.  In sigma after all trials, above which noise has none, and so much more
 * where trials are more than their number tells, of lines and steps that cleaning left. */
static const double NOISE_SIGMA = 3, LEFT_SIGMA = 5;

/* A profile of noise has less of its S/N in one boxcar. */
static const double NOISE_SHARE = 0.65;

static double sigma_after_trials(const struct psr_sift_cand *cand)
{
    return cand->chance > 0 ? psr_gauss_sigma(psr_logp_from_sf(log(cand->chance))) : INFINITY;
}

static void score_search(const struct psr_sift_cand *cand)
{
    struct psr_cand_score *score = cand->score;
    const double sigma = sigma_after_trials(cand),
                 by_chance = fmin(fmax(1 - sigma / LEFT_SIGMA, 0), 1);
    const bool open = cand->marks & PSR_SIFT_DM_UNKNOWN;
    double number[PSR_CAND_NNUMBER];
    if (!open && !(by_chance > 0))
        return;
    memcpy(number, score->number, sizeof number);
    const double odds = open ? forget_open_dm(cand, number) : 1;
    const double pulse = number[PSR_CAND_PULSE_SHARE];
    if (by_chance > 0 && pulse < 1) {
        number[PSR_CAND_SNR] *= 1 + by_chance * (pulse - 1);
        if (pulse < NOISE_SHARE && sigma < NOISE_SIGMA)
            add_reason(score, "no stronger than noise in all trials");
    }
    score->probability = psr_cand_probability(number);
    multiply_odds(score, odds);
}

/* Pulsars' folds stay within 0.1 bins of the search.  Red noise drifts, and beside a bright signal the fold finds that: of
 * folds that moved by more than this, one in 30 is the pulsar's that was searched for. */
static const double MOVED_BINS = 0.3, MOVED_ODDS = 0.03;

static void add_what_sift_knows(const struct psr_sift_cand *cand)
{
    struct psr_cand_score *s = cand->score;
    if (s->ranked || isnan(s->probability))
        return;
    s->ranked = true;
    score_search(cand);
    if (s->moved_bins > MOVED_BINS) {
        multiply_odds(s, MOVED_ODDS);
        add_reason(s, "the fold moved the period");
    }
}

/* What folds to less than this share of its harmonic's probability is its fundamental by chance. */
static const double FUNDAMENTAL_SHARE = 0.05;

static void leave_chance_out(const struct psr_sift_cand *cand, struct psr_sift_cand *of)
{
    const struct psr_cand_score *s = of->score,
                                *first = of->fundamental ? cand[of->fundamental - 1].score : NULL;
    if (s && first && first->probability < FUNDAMENTAL_SHARE * s->probability)
        of->fundamental = 0;
}

psr_status psr_cand_rank(struct psr_sift_cand *cand, size_t n, psr_err *err)
{
    struct item *item = malloc((n + 1) * sizeof *item);
    size_t *order = malloc((n + 1) * sizeof *order);
    psr_status st =
        item && order ? PSR_OK : psr_fail_nomem(err, "candidates", (double)n * sizeof *item);
    for (size_t i = 0; i < n && !st; i++) {
        struct psr_cand_score *s = cand[i].score;
        if (s)
            add_what_sift_knows(&cand[i]);
        item[i] = (struct item){psr_sift_comes_later(&cand[i]),
                                s && !isnan(s->probability) ? fmin(s->probability, SURE) : -1, i};
    }
    for (size_t i = 0; i < n && !st; i++)
        leave_chance_out(cand, &cand[i]);
    if (!st)
        qsort(item, n, sizeof *item, compare);
    for (size_t i = 0; i < n && !st; i++)
        order[i] = item[i].at;
    if (!st)
        st = psr_sift_arrange(cand, n, order, err);
    free(item);
    free(order);
    return st;
}
