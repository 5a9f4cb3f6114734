/* ephemeris.h: spin, position and orbit of a known pulsar, from a .par file. */
#ifndef PSRKIT_EPHEMERIS_H
#define PSRKIT_EPHEMERIS_H

#include <psrkit/fake.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>

PSR_API_BEGIN

enum {
    PSR_EPHEMERIS_NF = 13,
    PSR_EPHEMERIS_NDM = 4,
    PSR_EPHEMERIS_NAME = 64,
    PSR_EPHEMERIS_NGLITCH = 32
};

/* Steps of frequency and derivatives, Hz, Hz/s, Hz/s^2, of which f0d decays in decay_s. */
struct psr_glitch {
    double epoch_mjd, f0, f1, f2, f0d, decay_s;
};

/* Dates are MJD (TDB); what a file does not state is 0. */
struct psr_ephemeris {
    char name[PSR_EPHEMERIS_NAME]; /* without J or B; empty: none */
    double f[PSR_EPHEMERIS_NF];    /* frequency and its derivatives, Hz, Hz/s, .. at pepoch_mjd */
    double pepoch_mjd;
    bool has_position;
    double ra_deg, dec_deg;       /* J2000, at posepoch_mjd */
    double pm_ra_mas, pm_dec_mas; /* proper motion, mas / yr, on the sky */
    double posepoch_mjd;
    double dm[PSR_EPHEMERIS_NDM]; /* DM and its derivatives, pc cm^-3, / yr, .. at dmepoch_mjd */
    double dmepoch_mjd;

    /* The orbit; pb_s 0: none. */
    double pb_s, pbdot;
    double asini_s, xdot;         /* light-seconds, / s */
    bool laplace;                 /* eps.. instead of ecc and omega, t0 is the ascending node's */
    bool by_anomaly;              /* omega turns with the true anomaly (DD), else with time */
    double ecc, edot;             /* edot / s */
    double omega_deg, omdot_rads; /* longitude of periastron; its change, rad / s */
    double eps1, eps2, eps1dot, eps2dot; /* ecc sin omega, ecc cos omega, / s */
    double t0_mjd;                       /* of periastron or ascending node */

    double start_mjd, finish_mjd; /* of the times of arrival that it was fitted to */

    double gamma_s; /* amplitude of the Einstein delay, s, with ecc and omega */
    struct psr_glitch glitch[PSR_EPHEMERIS_NGLITCH]; /* [nglitch] */
    size_t nglitch;
};

/* Reads a .par file of TEMPO, TEMPO2 or PINT.  A Taylor series of the spin and a Keplerian orbit
 * whose elements change linearly (BINARY BT, BTX, DD, DDS, DDK, ELL1, ELL1H, T2) are covered, with GAMMA, and
 * glitches.  UNITS TCB is converted to TDB; names that are not covered may have the value 0.  Parameters that
 * move the phase by less than PSR_EPHEMERIS_TURNS, or by the same throughout an observation (clocks,
 * TZR.., DMX.., JUMP.., parallax, ..), are skipped.
 * Status: PSR_EFORMAT naming file, line, parameter and value for what is neither: another model of
 *         an orbit, waves, SINI and M2 of a strong Shapiro delay, ..; PSR_EIO */
#define PSR_EPHEMERIS_TURNS 0.01
PSR_MUST_CHECK psr_status psr_ephemeris_read(struct psr_ephemeris *e, const char *path,
                                             psr_err *err);

/* Position at a date, degrees. */
void psr_ephemeris_position(const struct psr_ephemeris *e, double mjd, double *ra_deg,
                            double *dec_deg);

/* DM at a date. */
double psr_ephemeris_dm(const struct psr_ephemeris *e, double mjd);

/* An ephemeris around a date; plain data. */
struct psr_ephemeris_local {
    double f[PSR_EPHEMERIS_NF]; /* at that date, of pulsar time */
    bool binary;
    bool by_anomaly;           /* as in the ephemeris */
    struct psr_orbit orbit;    /* t0_s in seconds since that date, 0 or before */
    double omega_rate, x_rate; /* rad / s, light-seconds / s */
    double gamma_s;            /* of the Einstein delay, which is not part of the orbit */
};

/* Status: PSR_EINVAL for an orbit that is none, or a frequency that is not above 0, at that date
 * Notes:  of glitches those before the date count */
PSR_MUST_CHECK psr_status psr_ephemeris_at(struct psr_ephemeris_local *local,
                                           const struct psr_ephemeris *e, double mjd, psr_err *err);

/* Pulsar time of a signal that arrives at the barycentre at infinite frequency t_s after the date. */
double psr_ephemeris_emission_s(const struct psr_ephemeris_local *local, double t_s);

/* Turns since pulsar time 0, which is the date, at pulsar time u_s. */
long double psr_ephemeris_turns(const struct psr_ephemeris_local *local, long double u_s);

PSR_API_END
#endif
