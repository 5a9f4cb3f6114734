/* The numbers in the corner of a picture. */
#include "gpufold.h"

#include "tools/common/canvas_column.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static void write_orbit(struct canvas_column *c, const struct psr_bestprof *b)
{
    canvas_column_number(c, "orbit, s", "%.8g", b->orb_period_s);
    canvas_column_number(c, "a sin i / c, s", "%.8g", b->asini_s);
    canvas_column_number(c, "eccentricity", "%.8g", b->ecc);
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
    write_orbit(&c, b);
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

void gpufold_write_numbers(struct canvas *canvas, const struct psr_folder_fold *fold)
{
    canvas_text(canvas, 440, 30, 15, fold->best->candidate);
    write_observation((struct canvas_column){canvas, 440, 56}, fold);
    write_search((struct canvas_column){canvas, 695, 56}, fold);
    write_best((struct canvas_column){canvas, 930, 56}, fold);
}
