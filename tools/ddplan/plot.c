/* Plots the smearing of a plan. */
#include "ddplan.h"

#include <math.h>

/* Each term of the smearing is one curve, in DDplan.py's colours.  Curves break between the lines
 * of the plan. */
struct curve {
    const char *title, *style;
    double (*value)(const struct psr_smearing *s);
};

static double total(const struct psr_smearing *s)
{
    return s->total;
}

static double optimal(const struct psr_smearing *s)
{
    return s->optimal;
}

static double chan(const struct psr_smearing *s)
{
    return s->chan;
}

static double sample(const struct psr_smearing *s)
{
    return s->sample;
}

static double bw(const struct psr_smearing *s)
{
    return s->bw;
}

static double sub(const struct psr_smearing *s)
{
    return s->sub;
}

static const struct curve curves[] = {
    {"total", "lw 3.5 lc rgb '#202020'", total},
    {"optimal", "lw 2 lc rgb '#f39c12'", optimal},
    {"in a channel", "lw 2 lc rgb '#2471a3'", chan},
    {"sample time", "lw 2 lc rgb '#1e8449'", sample},
    {"DM step", "lw 2 lc rgb '#c0392b'", bw},
    {"sub-band step", "lw 2 lc rgb '#7d3c98'", sub},
};

enum { NPOINT = 200, NCURVE = sizeof curves / sizeof *curves };

/* Sub-bands come last, so that an exact plan just has one curve less. */
static int count_curves(const struct psr_ddplan *p)
{
    return p->desc->nsub ? NCURVE : NCURVE - 1;
}

/* The column of DM and one per curve, a block of lines for each line of the plan. */
static void send_data(FILE *to, const struct psr_ddplan *p)
{
    fprintf(to, "$smearing << EOD\n");
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i];
        for (int k = 0; k <= NPOINT; k++) {
            double dm = l->lodm + (l->hidm - l->lodm) * k / NPOINT;
            struct psr_smearing s = psr_ddplan_smearing(p, i, dm);
            fprintf(to, "%.9g", dm);
            for (int c = 0; c < NCURVE; c++)
                fprintf(to, " %.6g", curves[c].value(&s));
            fprintf(to, "\n");
        }
        fprintf(to, "\n");
    }
    fprintf(to, "EOD\n");
}

/* A range that holds all but the smearing in a channel, which may vanish, with room for labels. */
static void send_ranges(FILE *to, const struct psr_ddplan *p)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i];
        for (int k = 0; k <= NPOINT; k++) {
            double dm = l->lodm + (l->hidm - l->lodm) * k / NPOINT;
            struct psr_smearing s = psr_ddplan_smearing(p, i, dm);
            least = fmin(least, fmin(s.optimal, fmin(s.sample, s.bw)));
            most = fmax(most, s.total);
        }
    }
    double floor_ms = 0.6 * least, room = pow(most / floor_ms, 0.45);
    fprintf(to, "set logscale y\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", p->desc->lodm,
            p->desc->hidm, floor_ms, 1.2 * most * room);
}

/* The lines of the plan as bands of the background, each with what it is. */
static void send_lines(FILE *to, const struct psr_ddplan *p)
{
    double width = p->desc->hidm - p->desc->lodm;
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i];
        double left = l->lodm, right = fmin(l->hidm, p->desc->hidm);
        fprintf(to,
                "set object rectangle from first %.9g,graph 0 to first %.9g,graph 1 behind "
                "fc rgb '%s' fs solid noborder\n",
                left, right, i % 2 ? "#ffffff" : "#f1f4f7");
        if (right - left < 0.035 * width)
            continue;
        fprintf(to,
                "set label \"%lld DMs (%.1f%%)\\nstep %g, downsample %lld\" at first %.9g,graph "
                "0.97 rotate by 90 right font ',10' tc rgb '#404040'\n",
                (long long)l->ndm, 100 * l->work, l->dmstep, (long long)l->downsamp,
                0.5 * (left + right) - 0.008 * width);
    }
}

static void send_title(FILE *to, const struct psr_ddplan *p)
{
    const struct psr_band *b = &p->desc->band;
    bool micro = b->tsamp_s < 1e-4;
    fprintf(to, "set title \"f_{ctr} = %g MHz     dt = %g %s     BW = %g MHz     N_{chan} = %lld",
            b->fctr_mhz, b->tsamp_s * (micro ? 1e6 : 1e3), micro ? "{/Symbol m}s" : "ms", b->bw_mhz,
            (long long)b->nchan);
    if (p->desc->nsub)
        fprintf(to, "     N_{sub} = %lld", (long long)p->desc->nsub);
    if (p->desc->cohdm > 0)
        fprintf(to, "     coherent DM = %g", p->desc->cohdm);
    fprintf(to, "\"\n");
}

psr_status ddplan_draw(struct gnuplot *g, const struct psr_ddplan *p, psr_err *err)
{
    psr_status st = gnuplot_begin(g, 10, 6.5, err);
    if (st != PSR_OK)
        return st;
    FILE *to = g->script;
    send_data(to, p);
    send_ranges(to, p);
    send_lines(to, p);
    send_title(to, p);
    fprintf(to, "set xlabel 'Dispersion measure (pc cm^{-3})'\nset ylabel 'Smearing (ms)'\n"
                "set key below horizontal samplen 2\nset tics out nomirror\n"
                "set border 3 lc rgb '#808080'\nset format y '%%g'\nplot ");
    for (int c = 0; c < count_curves(p); c++)
        fprintf(to, "%s$smearing using 1:%d with lines %s title '%s'", c ? ", " : "", c + 2,
                curves[c].style, curves[c].title);
    fprintf(to, "\n");
    return gnuplot_end(g, err);
}
