/* Draws the signals of a trial. */
#include "psrinject.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdio.h>

enum { PER_ROW = 8 }; /* numbers of a signal */

int64_t inject_ntrial(const struct inject_options *o)
{
    const int64_t with_bursts = (o->nburst + o->each - 1) / o->each;
    return with_bursts > o->npulsar ? with_bursts : o->npulsar;
}

/* Number k of signal i of the trial, evenly or evenly in the logarithm. */
static double draw(const struct inject_trial *t, size_t k, const struct inject_range *range,
                   bool logarithmic)
{
    const double x = psr_rng_uniform((uint64_t)t->opt->seed, (uint32_t)t->number,
                                     (uint64_t)(t->n * PER_ROW + k));
    return logarithmic ? range->low * pow(range->high / range->low, x)
                       : range->low + x * (range->high - range->low);
}

static void draw_pulsar(struct inject_trial *t)
{
    const struct inject_options *o = t->opt;
    struct inject_row *row = &t->row[t->n];
    *row = (struct inject_row){.pulsar = true,
                               .period_s = draw(t, 0, &o->period_s, true),
                               .width_s = draw(t, 1, &o->duty, true),
                               .dm = draw(t, 2, &o->dm, false),
                               .snr = draw(t, 3, &o->snr, false),
                               .accn = draw(t, 4, &o->accn, false)};
    row->width_s *= row->period_s;
    t->n++;
}

/* Bursts of a copy have a part of the time each, in which all of their sweep lies where it can. */
static void draw_burst(struct inject_trial *t, size_t k, size_t n)
{
    const struct inject_options *o = t->opt;
    struct inject_row *row = &t->row[t->n];
    *row = (struct inject_row){.width_s = draw(t, 1, &o->width_s, true),
                               .dm = draw(t, 2, &o->dm, false),
                               .snr = draw(t, 3, &o->snr, false)};
    const double sweep_s = psr_delay_s(PSR_DMCONST_PRESTO, row->dm, t->field.lowest_mhz) -
                           psr_delay_s(PSR_DMCONST_PRESTO, row->dm, t->field.highest_mhz);
    const double left_s = fmax(t->field.length_s - sweep_s - 4 * row->width_s, 0);
    const struct inject_range part = {(double)k + 0.1, (double)k + 0.9};
    row->t_s = 2 * row->width_s + draw(t, 0, &part, false) * left_s / (double)n;
    t->n++;
}

void inject_draw(struct inject_trial *t)
{
    const struct inject_options *o = t->opt;
    const int64_t left = o->nburst - t->number * o->each, nburst = left < 0         ? 0
                                                                   : left < o->each ? left
                                                                                    : o->each;
    t->n = 0;
    if (t->number < o->npulsar)
        draw_pulsar(t);
    for (int64_t k = 0; k < nburst; k++)
        draw_burst(t, (size_t)k, (size_t)nburst);
}

void inject_words(char *text, size_t room, const struct inject_row *row)
{
    if (row->pulsar)
        snprintf(text, room,
                 "pulsar period=%.12g width=%.9g dm=%.6f snr=%.6f accn=%.9g shape=gauss",
                 row->period_s, row->width_s, row->dm, row->snr, row->accn);
    else
        snprintf(text, room, "burst t=%.9f width=%.9g dm=%.6f snr=%.6f shape=gauss", row->t_s,
                 row->width_s, row->dm, row->snr);
}
