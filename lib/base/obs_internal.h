/* obs_internal.h: checks of observations, and dates (private). */
#ifndef PSR_BASE_OBS_INTERNAL_H
#define PSR_BASE_OBS_INTERNAL_H

#include <psrkit/obs.h>

/* Checks the basic fields: nchan in 1..2^20, nif in 1..16, a known nbit, 0 < tsamp < 1e6 s, all
 * frequencies positive and distinct.
 * Given:  name   the file, for the message
 * Status: PSR_EFORMAT naming file, field, value and limit; PSR_ENOMEM if obs has a table of
 *         frequencies */
PSR_MUST_CHECK psr_status psr_obs_check(const struct psr_obs *obs, const char *name, psr_err *err);

/* Returns date + seconds, normalised. */
struct psr_mjd psr_mjd_add(struct psr_mjd date, double seconds);

/* Writes a date with milliseconds, cut off, as 2024-11-20T03:04:05.678, which most readers of PSRFITS ask for.
 * Returned: false if there is no such date; then text is "" */
bool psr_mjd_text(struct psr_mjd date, char *text, size_t room);

/* Seconds from a to b. */
double psr_mjd_diff_s(struct psr_mjd a, struct psr_mjd b);

/* PRESTO's name of the instrument with this SIGPROC machine_id, "Unknown" for others. */
const char *psr_machine_name(int machine_id);

/* Position of a telescope in metres in the ITRS; 0, 0, 0 is the geocentre. */
struct psr_site {
    double xyz_m[3];
};

/* Looks up a telescope by any name that PRESTO or a file format uses, ignoring case.
 * Returned: true and its site; false and the geocentre for an unknown name */
bool psr_site_find(const char *telescope, struct psr_site *site);

/* As psr_site_find, with the names that PRESTO's barycentring knows.  These are fewer than the
 * names it writes: it puts KAT-7 and Ooty at the geocentre. */
bool psr_site_find_as_presto(const char *telescope, struct psr_site *site);

#endif
