/* Red noise that was left in: a remark. */
#include "gpuaccel-pulscan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A median of so many powers scatters by an eighth: more than RED is no chance. */
enum { PIECE = 128, LEADING = 3 };
static const double RED = 1.6;

static int by_value(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

/* Mean power of a piece's noise over that of the bins it was normalised by; 0: not to be read. */
static double level_at(psr_pulscan *plan, size_t s, int64_t first)
{
    float x[2 * PIECE];
    double power[PIECE];
    psr_err err;
    if (psr_pulscan_amplitudes(plan, s, first, PIECE, x, &err) != PSR_OK)
        return 0;
    for (size_t i = 0; i < PIECE; i++)
        power[i] = hypot((double)x[2 * i], (double)x[2 * i + 1]);
    qsort(power, PIECE, sizeof *power, by_value);
    return power[PIECE / 2] * power[PIECE / 2] / (2 * M_LN2);
}

void accel_note_red_noise(struct accel_job *j, const struct accel_batch *b, size_t s,
                          const struct psr_measured *found)
{
    const struct psr_spectrum_file *about = &b->file[s].about;
    const int64_t first = (int64_t)fmax(1, fmin(j->opt.flo_hz * about->tobs_s, 0x1p53));
    if (j->opt.rednoise || about->reddened || j->opt.quiet || j->said_red || found->n == 0)
        return;
    const double most = level_at(b->plan, s, first);
    int64_t end = first;
    while (end + PIECE < about->nbin && level_at(b->plan, s, end) > RED)
        end += PIECE;
    bool led = false;
    for (size_t i = 0; i < found->n && i < LEADING; i++)
        led = led || found->cand[i].r.value < (double)end;
    if (!led)
        return;
    char text[512];
    snprintf(text, sizeof text,
             "%.300s: red noise below %.3g Hz (%.3g times the level at %.3g Hz) may lead the list: "
             "-rednoise takes it out",
             b->file[s].path, (double)end / about->tobs_s, most, (double)first / about->tobs_s);
    cli_note(&j->tool, text);
    j->said_red = true;
}
