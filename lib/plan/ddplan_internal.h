/* ddplan_internal.h: delays, smearing and the parts of a plan (private). */
#ifndef PSR_PLAN_DDPLAN_INTERNAL_H
#define PSR_PLAN_DDPLAN_INTERNAL_H

#include <psrkit/ddplan.h>

/* Rounds x to the nearest integer, halves away from zero (as PRESTO does). */
int64_t psr_round(double x);

/* Share of its S/N that a pulse keeps at a DM that is not its own: (1 + 0.462 x^2)^(-1/4), where the delay of the
 * difference of the two DMs, from the highest to the lowest frequency, is x times the pulse's width (a Gaussian's
 * at half maximum).  The variance of the summed pulse, of standard deviation s, is then s^2 + delay^2 / 12, and a
 * boxcar as long as it has S/N in proportion to (width)^(-1/2); with width = 2.355 s, 2.355^2 / 12 = 0.462.  (The
 * same with boxcars for what Cordes & McLaughlin 2003, equation 12, give for a filter of constant width.)
 * The noise of the two S/N is correlated by this share, too: of the S/N at the one DM, given that at the other, the
 * standard deviation is sqrt(1 - share^2), and S/N^2 (1 - share^2) is by how much chi-squared is larger at the wrong DM.
 * Given:    delay, width   in the same unit, width > 0
 * Returned: (0, 1] */
double psr_dispersed_share(double delay, double width);

/* Share of the delay over a band over which a pulse seems to be spread that fills it: of a wide band most channels, the highest, have little of
 * the delay.  The share x of channels from the highest down has the share D(x) of the delay, and x of the pulse, so that a boxcar
 * that is as long has x / sqrt(D(x)) of the S/N of one over the whole delay: this is the least D(x) / x^2 (of x in 64 steps).
 * Given:    ratio   of the highest to the lowest frequency; 1 or below: close to 1
 * Returned: (0, 1] */
double psr_band_spread(double ratio);

/* Time scrunching: how many samples, a power of two, a trial may sum first, as dispersion within a
 * channel smears a pulse anyway (Barsdell et al. 2012 section 2.1, where ratio is 0.5).
 * Given:    smear   of the trial's DM within a channel, in samples
 *           ratio   > 0; of smear to the result, at least
 *           most    >= 1
 * Returned: the largest power of two n <= most with n ratio <= smear; 1 if there is none */
int64_t psr_scrunch(double smear, double ratio, int64_t most);

/* Status: PSR_EINVAL naming field, value and limit. */
PSR_MUST_CHECK psr_status psr_band_check(const struct psr_band *band, psr_err *err);

/* Downsampling factors that a block of blocklen spectra allows, ascending from 1 in ratios of 1.5
 * to 2 where possible.
 * Returned: how many were written to factor, at most PSR_DDPLAN_MAX_FACTORS */
enum { PSR_DDPLAN_MAX_FACTORS = 32 };
int psr_ddplan_factors(int64_t blocklen, int64_t factor[PSR_DDPLAN_MAX_FACTORS]);

/* As psr_planfile_read, from a terminated text; name is for messages. */
PSR_MUST_CHECK psr_status psr_planfile_parse(struct psr_planfile *plan, const char *text,
                                             const char *name, psr_err *err);

#endif
