/* presto_sigma.h: accelsearch's significance of summed powers (private). */
#ifndef PSR_STATS_PRESTO_SIGMA_H
#define PSR_STATS_PRESTO_SIGMA_H

/* accelsearch's sigma, by its series and approximations. */
double psr_presto_sigma(double power, int nharm, double trials);

#endif
