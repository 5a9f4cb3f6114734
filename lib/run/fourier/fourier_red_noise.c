/* Red noise that was left in a spectrum and may lead the list of its boxes: finds and notes it. */
#include "fourier_state.h"

#include <math.h>
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

void psr_fourier_find_red_noise(const struct psr_fourier *f, size_t slot, size_t i,
                                struct psr_fourier_result *result)
{
    psr_pulscan *plan = f->slot[slot].boxes;
    const struct psr_fourier_shape *shape = &f->shape;
    const struct psr_measured *found = &result->measured;
    const int64_t first = (int64_t)fmax(1, fmin(f->d.flo_hz * shape->tobs_s, 0x1p53));
    if (f->d.rednoise || shape->reddened || found->n == 0)
        return;
    const double most = level_at(plan, i, first);
    int64_t end = first;
    while (end + PIECE < shape->nbin && level_at(plan, i, end) > RED)
        end += PIECE;
    for (size_t k = 0; k < found->n && k < LEADING; k++)
        if (found->cand[k].r.value < (double)end)
            result->red_hz = (double)end / shape->tobs_s;
    result->red_level = most;
    result->red_from_hz = (double)first / shape->tobs_s;
}

bool psr_fourier_note_red_noise(const struct psr_fourier_result *r, const char *name,
                                const struct psr_notes *notes)
{
    if (!(r->red_hz > 0))
        return false;
    psr_note(notes,
             "%.300s: red noise below %.3g Hz (%.3g times the level at %.3g Hz) may lead the list: "
             "-rednoise takes it out",
             name, r->red_hz, r->red_level, r->red_from_hz);
    return true;
}
