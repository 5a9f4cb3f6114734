/* The numbers in the corner of a picture. */
#include "gpufold.h"

#include "tools/common/canvas_column.h"

#include <math.h>
#include <stdio.h>

static void write_value(struct canvas_column *c, const char *name,
                        const struct psr_bestprof_value *v)
{
    char text[96];
    if (isnan(v->value))
        return;
    snprintf(text, sizeof text, "%.12g \xc2\xb1 %.2g", v->value, v->error);
    canvas_column_text(c, name, text);
}

static void write_observation(struct canvas_column c, const struct psr_folder_fold *fold)
{
    const struct psr_bestprof *b = fold->best;
    canvas_column_text(&c, "input", b->input);
    canvas_column_text(&c, "telescope", b->telescope);
    canvas_column_text(&c, "RA J2000", fold->pfd->ra);
    canvas_column_text(&c, "Dec J2000", fold->pfd->dec);
    canvas_column_number(&c, "epoch, topo", "%.10f", b->tepoch_mjd);
    canvas_column_number(&c, "epoch, bary", "%.10f", b->bepoch_mjd);
    canvas_column_number(&c, "sampling", "%.6g s", b->tsamp_s);
    canvas_column_number(&c, "samples", "%.0f", b->ndata);
    canvas_column_number(&c, "data mean", "%.6g", b->data_avg);
    canvas_column_number(&c, "deviation", "%.6g", b->data_std);
    canvas_column_number(&c, "profile bins", "%.0f", (double)b->nbin);
}

static void write_orbit(struct canvas_column *c, const struct psr_bestprof *b)
{
    canvas_column_number(c, "orbit, s", "%.8g", b->orb_period_s);
    canvas_column_number(c, "a sin i / c, s", "%.8g", b->asini_s);
    canvas_column_number(c, "eccentricity", "%.8g", b->ecc);
}

static void write_best(struct canvas_column c, const struct psr_folder_fold *fold)
{
    static const char *const name[2][3] = {{"P topo, ms", "P' topo, s/s", "P'' topo, s/s\xc2\xb2"},
                                           {"P bary, ms", "P' bary, s/s", "P'' bary, s/s\xc2\xb2"}};
    const struct psr_bestprof *b = fold->best;
    char text[64];
    snprintf(text, sizeof text, "%.4g (%.1f sigma)", b->redchi, b->sigma);
    canvas_column_text(&c, "reduced \xcf\x87\xc2\xb2", text);
    canvas_column_number(&c, "P(noise)", "%.3g", b->prob);
    canvas_column_number(&c, "best DM", "%.3f pc cm\xe2\x81\xbb\xc2\xb3", b->dm);
    for (int k = 0; k < 3; k++)
        write_value(&c, name[0][k], &b->topo[k]);
    for (int k = 0; k < 3; k++)
        write_value(&c, name[1][k], &b->bary[k]);
    write_orbit(&c, b);
}

void gpufold_write_numbers(struct canvas *canvas, const struct psr_folder_fold *fold)
{
    canvas_text(canvas, 470, 30, 15, fold->best->candidate);
    write_observation((struct canvas_column){canvas, 470, 56}, fold);
    write_best((struct canvas_column){canvas, 830, 56}, fold);
}
