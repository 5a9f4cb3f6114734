/* par_keys.h: the parameters of a .par file between its lines and an ephemeris (private). */
#ifndef PSR_ASTRO_PAR_KEYS_H
#define PSR_ASTRO_PAR_KEYS_H

#include <psrkit/ephemeris.h>

enum { PAR_MAX_BYTES = 1 << 22, PAR_TEXT = 64 };

/* clang-format off */
enum par_key {
    PAR_PSR, PAR_RAJ, PAR_DECJ, PAR_BINARY, PAR_UNITS, PAR_NTEXT,
    PAR_P0 = PAR_NTEXT, PAR_P1, PAR_PEPOCH, PAR_START, PAR_FINISH, PAR_ELONG, PAR_ELAT, PAR_PMRA, PAR_PMDEC, PAR_PMELONG,
    PAR_PMELAT, PAR_POSEPOCH, PAR_DM, PAR_DM1, PAR_DM2, PAR_DM3, PAR_DMEPOCH, PAR_PB, PAR_FB0, PAR_FB1,
    PAR_PBDOT, PAR_A1, PAR_XDOT, PAR_ECC, PAR_EDOT, PAR_OM, PAR_OMDOT, PAR_T0, PAR_TASC, PAR_EPS1,
    PAR_EPS2, PAR_EPS1DOT, PAR_EPS2DOT, PAR_M2, PAR_SINI, PAR_SHAPMAX, PAR_H3, PAR_H4, PAR_STIG,
    PAR_GAMMA, PAR_DR, PAR_DTHETA, PAR_A0, PAR_B0, PAR_KIN, PAR_KOM, PAR_NKEY
};
/* clang-format on */

/* Values are 0 without a line. */
struct par_file {
    const char *path;
    char text[PAR_NTEXT][PAR_TEXT];
    double value[PAR_NKEY];
    long line[PAR_NKEY]; /* from 1; 0: none */
    double f[PSR_EPHEMERIS_NF];
    long line_f[PSR_EPHEMERIS_NF];
    struct psr_glitch glitch[PSR_EPHEMERIS_NGLITCH]; /* by number, from 1; epoch 0: none */
    long line_glitch[PSR_EPHEMERIS_NGLITCH];
};

/* Fills *e.
 * Status: PSR_EFORMAT naming file, line, parameter and value for what is missing or not covered */
PSR_MUST_CHECK psr_status psr_par_settle(struct psr_ephemeris *e, const struct par_file *p,
                                         psr_err *err);

#endif
