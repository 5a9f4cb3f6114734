/* The picture of a fold: profile, phase against time and frequency, chi^2 around the best values. */
#include "gpufold.h"
#include "tools/common/plot/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers in the corner of a picture. */

/* With two digits of its error, as 89.3025(61); from 1e-4 down times a power of ten. */
static void print_uncertain(char *text, size_t n, double value, double error)
{
    const double size = fmax(fabs(value), error);
    const int tens = size > 0 && size < 1e-4 ? (int)floor(log10(size)) : 0;
    const double unit = pow(10, tens), scaled = error / unit;
    char power[16] = "";
    if (!(error > 0) || !isfinite(error)) {
        snprintf(text, n, "%.15g", value);
        return;
    }
    int digits = 1 - (int)floor(log10(scaled));
    digits = digits < 0 ? 0 : digits > 15 ? 15 : digits;
    if (tens)
        snprintf(power, sizeof power, "e%d", tens);
    snprintf(text, n, "%.*f(%.0f)%s", digits, value / unit, scaled * pow(10, digits), power);
}

static void write_uncertain(struct canvas_column *c, const char *name, double value, double error)
{
    char text[96];
    if (isnan(value))
        return;
    print_uncertain(text, sizeof text, value, error);
    canvas_column_text(c, name, text);
}

/* Long names would run into the next column. */
static void write_name(struct canvas_column *c, const char *name, const char *text)
{
    char cut[32];
    if (!*text)
        return;
    snprintf(cut, sizeof cut, strlen(text) > 20 ? "%.18s..." : "%s", text);
    canvas_column_text(c, name, cut);
}

static void write_observation(struct canvas_column c, const struct psr_folder_fold *fold)
{
    const struct psr_bestprof *b = fold->best;
    const struct psr_pfd *p = fold->pfd;
    char text[64];
    write_name(&c, "input", b->input);
    write_name(&c, "source", fold->obs->source);
    write_name(&c, "telescope", b->telescope);
    canvas_column_text(&c, "RA J2000", p->ra);
    canvas_column_text(&c, "Dec J2000", p->dec);
    canvas_column_number(&c, "epoch, topo", "%.10f", b->tepoch_mjd);
    canvas_column_number(&c, "epoch, bary", "%.10f", b->bepoch_mjd);
    canvas_column_number(&c, "sampling", "%.6g s", b->tsamp_s);
    snprintf(text, sizeof text, "%.0f of %lld", b->ndata, (long long)fold->nsamp);
    canvas_column_text(&c, "samples", text);
    canvas_column_number(&c, "data mean", "%.6g", b->data_avg);
    canvas_column_number(&c, "deviation", "%.6g", b->data_std);
    snprintf(text, sizeof text, "%d, %d, %d", p->nbin, p->nsub, p->npart);
    canvas_column_text(&c, "bins, subs, parts", text);
}

/* Period and derivatives, and the frequency that they are. */
static void write_spin(struct canvas_column *c, const char *const name[5],
                       const struct psr_bestprof_value *v)
{
    const double p_s = v[0].value / 1000, square = p_s * p_s;
    for (int k = 0; k < 3; k++)
        write_uncertain(c, name[k], v[k].value, v[k].error);
    write_uncertain(c, name[3], 1 / p_s, v[0].error / 1000 / square);
    write_uncertain(c, name[4], v[1].value == 0 ? 0 * p_s : -v[1].value / square,
                    v[1].error / square);
}

static void write_best(struct canvas_column c, const struct psr_folder_fold *fold)
{
    static const char *const name[2][5] = {
        {"P topo, ms", "P' topo, s/s", "P'' topo, s/s\xc2\xb2", "f topo, Hz", "f' topo, Hz/s"},
        {"P bary, ms", "P' bary, s/s", "P'' bary, s/s\xc2\xb2", "f bary, Hz", "f' bary, Hz/s"}};
    const struct psr_bestprof *b = fold->best;
    write_spin(&c, name[0], b->topo);
    write_spin(&c, name[1], b->bary);
    canvas_column_number(&c, "orbit, s", "%.8g", b->orb_period_s);
    canvas_column_number(&c, "a sin i / c, s", "%.8g", b->asini_s);
    canvas_column_number(&c, "eccentricity", "%.8g", b->ecc);
}

/* What was folded, and what its search says. */
static void write_search(struct canvas_column c, const struct psr_folder_fold *fold)
{
    const struct psr_bestprof *b = fold->best;
    const struct psr_pfd *p = fold->pfd;
    const size_t middle = (size_t)(p->nperiod - 1) / 2, middle_pd = (size_t)(p->npdot - 1) / 2;
    canvas_column_number(&c, "reduced \xcf\x87\xc2\xb2", "%.4g", b->redchi);
    canvas_column_number(&c, "sigma (presto)", "%.1f", b->sigma);
    canvas_column_number(&c, "sigma_trials", "%.1f", b->sigma_trials);
    canvas_column_number(&c, "indep. trials", "%.2g", b->ntrial);
    canvas_column_number(&c, "P(noise)", "%.3g", b->prob);
    canvas_column_number(&c, p->ndm ? "best DM" : "DM of series", "%.3f pc cm\xe2\x81\xbb\xc2\xb3",
                         p->dm);
    canvas_column_number(&c, "folded P, ms", "%.12g", p->trial_period_s[middle] * 1e3);
    canvas_column_number(&c, "folded P', s/s", "%.6g", p->trial_pdot[middle_pd]);
    if (p->ndm)
        canvas_column_number(&c, "DMs from", "%.2f", p->trial_dm[0]);
    if (p->ndm)
        canvas_column_number(&c, "to", "%.2f", p->trial_dm[p->ndm - 1]);
}

enum { WIDTH = 1200, HEIGHT = 860 };

static const char chi_label[] = "reduced \xcf\x87\xc2\xb2";

/* Lists of numbers that a panel shows. */
struct series {
    double *x, *y;
    size_t n;
};

static double find_most(const double *y, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = y[i] > most ? y[i] : most;
    return most;
}

/* --- profiles --------------------------------------------------------------------------------- */

/* What a bin of noise scatters by, either way. */
static void draw_error_bar(struct canvas *c, const struct canvas_panel *p,
                           const struct psr_fold_view *v)
{
    const double deviation = sqrt(v->prof_var / v->correction), x = 0.03, half = 0.012;
    const double y = fmin(v->prof_avg + deviation, p->y_max) - deviation;
    const double low = y - deviation, high = y + deviation;
    canvas_line(c, p, (const double[]){x, x}, (const double[]){low, high}, 2);
    canvas_line(c, p, (const double[]){x - half, x + half}, (const double[]){low, low}, 2);
    canvas_line(c, p, (const double[]){x - half, x + half}, (const double[]){high, high}, 2);
}

/* Rows of profiles, two turns each, their means removed; with a spread for every row, or none. */
static bool draw_rows(struct canvas *c, struct canvas_panel *p, const double *row, size_t nrow,
                      size_t nbin, bool by_row)
{
    float *image = calloc(2 * nrow * nbin, sizeof *image);
    double square = 0, most = 0;
    for (size_t i = 0; i < nrow && image; i++) {
        double mean = 0, spread = 0;
        for (size_t b = 0; b < nbin; b++)
            mean += row[i * nbin + b] / (double)nbin;
        for (size_t b = 0; b < nbin; b++)
            spread += (row[i * nbin + b] - mean) * (row[i * nbin + b] - mean) / (double)nbin;
        const double unit = by_row && spread > 0 ? sqrt(spread) : 1;
        for (size_t b = 0; b < 2 * nbin; b++) {
            const double x = (row[i * nbin + b % nbin] - mean) / unit;
            image[2 * i * nbin + b] = (float)x;
            square += x * x;
            most = fmax(most, x);
        }
    }
    const double spread = sqrt(square / (double)(2 * nrow * nbin));
    if (image && spread > 0)
        canvas_image(c, p, image, 2 * nbin, nrow, -spread, fmin(most, 5 * spread), false);
    free(image);
    canvas_frame(c, p);
    return image;
}

/* Of all parts: the last ones may be shorter, or empty. */
static double find_length(const struct psr_pfd *p)
{
    double most = 0;
    for (int32_t i = 0; i < p->npart; i++)
        most = fmax(most, p->stats[i * p->nsub].numdata);
    return most * p->npart * p->tsamp_s;
}

static bool draw_time(struct canvas *c, const struct psr_pfd *pfd, const struct psr_fold_view *v,
                      struct series *s)
{
    const double length_s = find_length(pfd), most = find_most(v->part_redchi, v->npart);
    struct canvas_panel p = {.left = 70,
                             .top = 210,
                             .width = 280,
                             .height = 600,
                             .x_max = 1.999,
                             .y_max = length_s,
                             .x_label = "phase",
                             .y_label = "time (s)"};
    bool good = draw_rows(c, &p, v->part, v->npart, v->nbin, false);
    p.left += p.width;
    p.width = 70;
    p.x_min = most > 0 ? 1.1 * most : 1; /* to the left, as the sum grows */
    p.x_max = 0;
    p.x_label = chi_label;
    p.y_label = NULL;
    p.no_y_numbers = true;
    for (size_t i = 0; i < v->npart; i++) {
        s->x[i + 1] = v->part_redchi[i];
        s->y[i + 1] = length_s * (double)(i + 1) / (double)v->npart;
    }
    s->x[0] = 1;
    s->y[0] = 0;
    canvas_line(c, &p, s->x, s->y, v->npart + 1);
    canvas_frame(c, &p);
    return good;
}

static bool draw_frequency(struct canvas *c, const struct psr_pfd *pfd,
                           const struct psr_fold_view *v)
{
    const double half = pfd->width_mhz / 2, low = pfd->lofreq_mhz - half;
    struct canvas_panel p = {.left = 510,
                             .top = 300,
                             .width = 250,
                             .height = 340,
                             .x_max = 1.999,
                             .y_min = low,
                             .y_max = low + pfd->nchan * pfd->width_mhz,
                             .x_label = "phase",
                             .y_label = "frequency (MHz)"};
    const bool good = draw_rows(c, &p, v->band, v->nsub, v->nbin, true);
    for (size_t j = 0, step = 1 + (v->nsub - 1) / 16; j < v->nsub; j += step) {
        char number[24];
        snprintf(number, sizeof number, "%zu", j);
        canvas_text(c, p.left + p.width + 6,
                    p.top + p.height * (1 - ((double)j + 0.5) / (double)v->nsub) + 4, 10, number);
    }
    return good;
}

/* --- chi^2 ------------------------------------------------------------------------------------ */

/* A curve of chi^2 with the best value marked. */
static void draw_curve(struct canvas *c, struct canvas_panel *p, const struct series *s,
                       double best)
{
    const double most = find_most(s->y, s->n);
    p->x_min = fmin(s->x[0], s->x[s->n - 1]);
    p->x_max = fmax(s->x[0], s->x[s->n - 1]);
    p->y_max = most > 0 ? 1.1 * most : 1;
    p->y_label = chi_label;
    if (!(p->x_max > p->x_min))
        return;
    canvas_cross(c, p, best, NAN);
    canvas_line(c, p, s->x, s->y, s->n);
    canvas_frame(c, p);
}

static void draw_dm(struct canvas *c, const struct psr_pfd *pfd, const struct psr_fold_view *v,
                    struct series *s)
{
    struct canvas_panel p = {.left = 510,
                             .top = 700,
                             .width = 250,
                             .height = 110,
                             .x_label = "DM (pc cm\xe2\x81\xbb\xc2\xb3)"};
    s->n = v->ndm;
    for (size_t i = 0; i < v->ndm; i++) {
        s->x[i] = pfd->trial_dm[i];
        s->y[i] = v->dm_redchi[i];
    }
    draw_curve(c, &p, s, pfd->dm);
}

/* Differences from the folded period, in microseconds, and from the folded p-dot. */
static double find_dp(const struct psr_pfd *pfd, size_t i)
{
    return (pfd->trial_period_s[i] - pfd->trial_period_s[(pfd->nperiod - 1) / 2]) * 1e6;
}

static double find_dpd(const struct psr_pfd *pfd, size_t i)
{
    return pfd->trial_pdot[i] - pfd->trial_pdot[(pfd->npdot - 1) / 2];
}

static void draw_periods(struct canvas *c, const struct psr_folder_fold *fold,
                         const struct psr_fold_view *v, struct series *s)
{
    const struct psr_pfd *pfd = fold->pfd;
    char label[80];
    struct canvas_panel p = {
        .left = 860, .top = 300, .width = 300, .height = 100, .x_label = label};
    snprintf(label, sizeof label, "period \xe2\x88\x92 %.9g ms (\xc2\xb5s)",
             pfd->trial_period_s[(pfd->nperiod - 1) / 2] * 1e3);
    s->n = v->nperiod;
    for (size_t i = 0; i < v->nperiod; i++) {
        s->x[i] = find_dp(pfd, i);
        s->y[i] = (double)v->plane[fold->found->pdot * v->nperiod + i];
    }
    draw_curve(c, &p, s, find_dp(pfd, fold->found->period));
    p.top = 460;
    snprintf(label, sizeof label, "p-dot \xe2\x88\x92 %.4g (s/s)",
             pfd->trial_pdot[(pfd->npdot - 1) / 2]);
    s->n = v->npdot;
    for (size_t i = 0; i < v->npdot; i++) {
        s->x[i] = find_dpd(pfd, i);
        s->y[i] = (double)v->plane[i * v->nperiod + fold->found->period];
    }
    draw_curve(c, &p, s, find_dpd(pfd, fold->found->pdot));
}

/* Periods fall and p-dots fall with the trial's number: the plane is turned. */
static bool draw_plane(struct canvas *c, const struct psr_folder_fold *fold,
                       const struct psr_fold_view *v)
{
    const struct psr_pfd *pfd = fold->pfd;
    const size_t n = v->nperiod * v->npdot;
    struct canvas_panel p = {.left = 860,
                             .top = 620,
                             .width = 300,
                             .height = 190,
                             .x_min = find_dp(pfd, v->nperiod - 1),
                             .x_max = find_dp(pfd, 0),
                             .y_min = find_dpd(pfd, v->npdot - 1),
                             .y_max = find_dpd(pfd, 0),
                             .x_label = "period (\xc2\xb5s)",
                             .y_label = "p-dot (s/s)"};
    float *turned = calloc(n, sizeof *turned);
    double most = 0;
    for (size_t i = 0; i < n && turned; i++) {
        turned[i] = v->plane[n - 1 - i];
        most = fmax(most, (double)turned[i]);
    }
    if (turned && p.x_max > p.x_min && p.y_max > p.y_min) {
        canvas_image(c, &p, turned, v->nperiod, v->npdot, 0, most, true);
        canvas_cross(c, &p, find_dp(pfd, fold->found->period), find_dpd(pfd, fold->found->pdot));
        canvas_frame(c, &p);
    }
    free(turned);
    return turned;
}

/* --- all -------------------------------------------------------------------------------------- */

static bool draw_all(struct canvas *c, const struct psr_folder_fold *fold,
                     const struct psr_fold_view *v)
{
    const struct psr_pfd *pfd = fold->pfd;
    const size_t most = 4 * v->nbin + v->npart + v->ndm + v->nperiod + v->npdot;
    struct series s;
    s = (struct series){calloc(most + 1, sizeof(double)), calloc(most + 1, sizeof(double)), most};
    bool good = s.x && s.y;
    if (good) {
        /* Two turns of the profile; the dashed line is what noise has. */
        struct canvas_panel p = {.left = 70,
                                 .top = 40,
                                 .width = 280,
                                 .height = 170,
                                 .x_max = 1.999,
                                 .title = "two turns of the best profile",
                                 .no_x_numbers = true,
                                 .no_y_numbers = true};
        double low = INFINITY, high = -INFINITY;
        for (size_t b = 0; b < v->nbin; b++) {
            low = fmin(low, v->profile[b]);
            high = fmax(high, v->profile[b]);
        }
        const double edge = high > low ? 0.08 * (high - low) : 1;
        p.y_min = low - edge;
        p.y_max = high + edge;
        for (size_t k = 0; k < 4 * v->nbin; k++) {
            s.x[k] = (double)((k + 1) / 2) / (double)v->nbin;
            s.y[k] = v->profile[k / 2 % v->nbin];
        }
        canvas_line(c, &p, s.x, s.y, 4 * v->nbin);
        canvas_cross(c, &p, NAN, v->prof_avg);
        draw_error_bar(c, &p, v);
        canvas_frame(c, &p);
        good = draw_time(c, pfd, v, &s);
        if (v->ndm)
            draw_dm(c, pfd, v, &s);
        draw_periods(c, fold, v, &s);
    }
    if (v->ndm && good)
        good = draw_frequency(c, pfd, v);
    good = good && draw_plane(c, fold, v);
    free(s.x);
    free(s.y);
    return good;
}

psr_status gpufold_draw(psr_outfile *f, const struct psr_folder_fold *fold, psr_err *err)
{
    struct canvas *c = NULL;
    psr_status st = canvas_create(&c, WIDTH, HEIGHT, err);
    if (st)
        return st;
    canvas_text(c, 440, 30, 15, fold->best->candidate);
    write_observation((struct canvas_column){c, 440, 56}, fold);
    write_search((struct canvas_column){c, 695, 56}, fold);
    write_best((struct canvas_column){c, 930, 56}, fold);
    if (!draw_all(c, fold, fold->view))
        st = psr_fail_nomem(err, "a picture", WIDTH * HEIGHT);
    if (!st)
        st = canvas_write(c, f, err);
    canvas_destroy(c);
    return st;
}
