/* Compares the delays of a plan with exact ones. */
#include "dedisp_internal.h"

#include <math.h>

/* Barsdell et al. 2012 eq. A1 with A3 at the lowest frequency of the sub-band, which is eq. A4 for
 * equal sub-bands: f^2 = coeff dmconst, and delay = dm dmconst / f^2. */
static double linear_limit(const struct psr_dedisp_layout *s, double dm, size_t k0, size_t k1)
{
    double low = s->coeff[k1], ratio = sqrt(s->coeff[k0] / low);
    return 0.75 * dm / low * (ratio - 1) * (ratio - 1) / s->dt_s;
}

void psr_dedisp_layout_smearing(const struct psr_dedisp_layout *s, size_t i,
                                struct psr_dedisp_smearing *out)
{
    double dm = s->dm[i], square = 0, align = s->align ? s->align[i] : 0;
    *out = (struct psr_dedisp_smearing){.limit = s->tree.nlevel ? s->tree.difference[i] : NAN};
    for (size_t k = 0; k < s->nkept; k++) {
        int32_t delay;
        psr_dedisp_layout_delays(s, k, i, 1, &delay);
        double exact = (dm / s->coeff[k] - dm / s->coeff_top) / s->dt_s;
        double difference = fabs(delay - align - exact);
        square += difference * difference;
        out->largest = fmax(out->largest, difference);
    }
    out->rms = sqrt(square / (double)s->nkept);
    for (size_t k0 = 0; k0 < s->nkept; k0 += PSR_MERGE_LEAF) {
        size_t k1 = k0 + PSR_MERGE_LEAF < s->nkept ? k0 + PSR_MERGE_LEAF : s->nkept;
        out->linear = fmax(out->linear, linear_limit(s, dm, k0, k1 - 1));
    }
}
