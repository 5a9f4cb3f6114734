/* The numbers in the corner of a picture. */
#include "gpufold.h"

#include "tools/common/canvas.h"

#include <math.h>
#include <stdio.h>

/* Where the next line goes. */
struct column {
    struct canvas *canvas;
    double x, y;
};

static const double line_pixels = 16, text_pixels = 12, value_pixels = 105;

static void write_line(struct column *c, const char *name, const char *text)
{
    canvas_text(c->canvas, c->x, c->y, text_pixels, name);
    canvas_text(c->canvas, c->x + value_pixels, c->y, text_pixels, text);
    c->y += line_pixels;
}

/* Nothing for what does not apply. */
static void write_number(struct column *c, const char *name, const char *format, double value)
{
    char text[64];
    if (isnan(value))
        return;
    snprintf(text, sizeof text, format, value);
    write_line(c, name, text);
}

static void write_value(struct column *c, const char *name, const struct psr_bestprof_value *v)
{
    char text[96];
    if (isnan(v->value))
        return;
    snprintf(text, sizeof text, "%.12g \xc2\xb1 %.2g", v->value, v->error);
    write_line(c, name, text);
}

static void write_observation(struct column c, const struct psr_folder_fold *fold)
{
    const struct psr_bestprof *b = fold->best;
    write_line(&c, "input", b->input);
    write_line(&c, "telescope", b->telescope);
    write_line(&c, "RA J2000", fold->pfd->ra);
    write_line(&c, "Dec J2000", fold->pfd->dec);
    write_number(&c, "epoch, topo", "%.10f", b->tepoch_mjd);
    write_number(&c, "epoch, bary", "%.10f", b->bepoch_mjd);
    write_number(&c, "sampling", "%.6g s", b->tsamp_s);
    write_number(&c, "samples", "%.0f", b->ndata);
    write_number(&c, "data mean", "%.6g", b->data_avg);
    write_number(&c, "deviation", "%.6g", b->data_std);
    write_number(&c, "profile bins", "%.0f", (double)b->nbin);
}

static void write_orbit(struct column *c, const struct psr_bestprof *b)
{
    write_number(c, "orbit, s", "%.8g", b->orb_period_s);
    write_number(c, "a sin i / c, s", "%.8g", b->asini_s);
    write_number(c, "eccentricity", "%.8g", b->ecc);
}

static void write_best(struct column c, const struct psr_folder_fold *fold)
{
    static const char *const name[2][3] = {{"P topo, ms", "P' topo, s/s", "P'' topo, s/s\xc2\xb2"},
                                           {"P bary, ms", "P' bary, s/s", "P'' bary, s/s\xc2\xb2"}};
    const struct psr_bestprof *b = fold->best;
    char text[64];
    snprintf(text, sizeof text, "%.4g (%.1f sigma)", b->redchi, b->sigma);
    write_line(&c, "reduced \xcf\x87\xc2\xb2", text);
    write_number(&c, "P(noise)", "%.3g", b->prob);
    write_number(&c, "best DM", "%.3f pc cm\xe2\x81\xbb\xc2\xb3", b->dm);
    for (int k = 0; k < 3; k++)
        write_value(&c, name[0][k], &b->topo[k]);
    for (int k = 0; k < 3; k++)
        write_value(&c, name[1][k], &b->bary[k]);
    write_orbit(&c, b);
}

void gpufold_write_numbers(struct canvas *canvas, const struct psr_folder_fold *fold)
{
    canvas_text(canvas, 470, 30, 15, fold->best->candidate);
    write_observation((struct column){canvas, 470, 56}, fold);
    write_best((struct column){canvas, 830, 56}, fold);
}
