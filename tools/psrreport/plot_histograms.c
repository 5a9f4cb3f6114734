/* How many bursts there are of each S/N, and of each DM. */
#include "plot.h"

#include <math.h>

enum { NBIN = 50 };

/* Marked bursts are counted too: interference is seen as a heap at one DM. */
static void count_bursts(const struct report *r, const struct canvas_panel *p, bool snr,
                         double count[NBIN])
{
    for (size_t i = 0; i < r->nburst; i++) {
        const double x = snr ? r->burst[i].snr : r->burst[i].dm;
        const double at = floor((x - p->x_min) / (p->x_max - p->x_min) * NBIN);
        if (at >= 0 && at <= NBIN)
            count[at < NBIN ? (int)at : NBIN - 1] += 1;
    }
}

void plot_histogram(struct canvas *c, struct canvas_panel p, const struct report *r, bool snr)
{
    double count[NBIN] = {0}, x[2 * NBIN + 2], y[2 * NBIN + 2] = {0};
    count_bursts(r, &p, snr, count);
    p.y_min = 0;
    p.y_max = 1;
    for (int k = 0; k < NBIN; k++)
        p.y_max = fmax(p.y_max, count[k]);
    p.y_max *= 1.1;
    for (int k = 0; k < 2 * NBIN + 2; k++)
        x[k] = p.x_min + (p.x_max - p.x_min) * (double)(k / 2) / NBIN;
    for (int k = 0; k < 2 * NBIN; k++)
        y[k + 1] = count[k / 2];
    canvas_line(c, &p, x, y, 2 * NBIN + 2);
    canvas_frame(c, &p);
}
