/* Finds candidates that are harmonics of better ones, and notes it. */
#include "candidate_refine_notes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEN = 4, MOST_NUM = 9999 };
static const double CHANCE = 0.02;
static const double LEAST_EVEN = 20, MOST_ODD = 0.01, NOISE = 3; /* power */

static int divisor(int a, int b)
{
    return b ? divisor(b, a % b) : a;
}

/* Whether c lies at num / den of better's frequency, and that says something: harmonics of a low
 * frequency that is badly known are everywhere. */
static bool is_harmonic(const struct psr_accel_cand *better, const struct psr_accel_cand *c,
                        int den, int *num)
{
    double multiple = c->r.value * den / better->r.value;
    if (!(multiple >= 0.5 && multiple < MOST_NUM))
        return false;
    *num = (int)lround(multiple);
    double ratio = (double)*num / den;
    double near = 0.5 + 3 * (c->r.error + ratio * better->r.error);
    return divisor(*num, den) == 1 && 2 * near * den / better->r.value < CHANCE &&
           fabs(c->r.value - ratio * better->r.value) <= near;
}

static bool note_harmonic(const struct psr_accel_cand *cand, size_t k, struct psr_accel_cand *c)
{
    for (int den = 1, num; den <= MOST_DEN; den++) {
        if (!is_harmonic(&cand[k], c, den, &num) || num == den)
            continue;
        char of[16] = "", text[64];
        if (den > 1)
            snprintf(of, sizeof of, "/%d", den);
        snprintf(text, sizeof text, "H %d%s of Cand %zu", num, of, k + 1);
        snprintf(c->note, sizeof c->note, "%.20s", text);
        return true;
    }
    return false;
}

/* Whether the odd harmonics hold next to nothing of what the even ones do: the period is half. */
static bool is_even_only(const struct psr_accel_cand *c)
{
    double over[2] = {0, 0}; /* even, odd */
    for (int h = 1; h <= c->nharm; h++)
        over[h % 2] += c->harm[h - 1].power.value - 1;
    return over[0] > LEAST_EVEN && over[1] < NOISE + MOST_ODD * over[0];
}

void psr_refine_note(struct psr_accel_cand *cand, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i && !cand[i].note[0]; k++)
            if (note_harmonic(cand, k, &cand[i]))
                break;
        if (!cand[i].note[0] && is_even_only(&cand[i]))
            strcpy(cand[i].note, "even harmonics only");
    }
}
