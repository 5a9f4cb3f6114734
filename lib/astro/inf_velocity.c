/* The velocity of a telescope during the series that an .inf describes. */
#include "barycentre.h"

#include <psrkit/experimental/fourier.h>

psr_status psr_inf_velocity(const struct psr_inf *inf, double *voverc, psr_err *err)
{
    struct psr_site site;
    struct psr_bary target;
    if (!inf->has_epoch || (inf->ra_deg == 0 && inf->dec_deg == 0))
        return psr_fail_field(err, PSR_EFORMAT, inf->has_epoch ? "ra_deg" : "epoch",
                              "%s.inf: no %s: the telescope's velocity is not known", inf->name,
                              inf->has_epoch ? "position" : "epoch");
    if (!psr_site_find(inf->telescope, &site))
        return psr_fail_field(err, PSR_EFORMAT, "telescope",
                              "%s.inf: where telescope '%s' stands is not known, nor its velocity",
                              inf->name, inf->telescope);
    psr_bary_init(&target, &site, inf->ra_deg, inf->dec_deg);
    return psr_bary_mean_velocity(&target, inf->epoch, (double)inf->nbin * inf->tbin_s, voverc,
                                  err);
}
