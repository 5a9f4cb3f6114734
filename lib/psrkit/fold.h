/* fold.h: folded profiles, and the files that hold them.
 *
 * A fold is a cube of profiles, [npart][nsub][nbin]: parts of the observation, sub-bands from the
 * lowest frequency up, and bins of pulse phase.  PRESTO's prepfold writes it as ROOT_NAME.pfd, and
 * the best profile as ROOT_NAME.pfd.bestprof; this module reads and writes both. */
#ifndef PSRKIT_FOLD_H
#define PSRKIT_FOLD_H

#include <psrkit/obs.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

/* --- .pfd files ------------------------------------------------------------------------------- */

enum { PSR_PFD_POSITION = 16, PSR_PFD_TEXT_MAX = 4096, PSR_PFD_NPART_MAX = 65535 };

/* Statistics of one profile, or of several summed: counts and sums add up, data_avg and data_var
 * are means over the profiles. */
struct psr_fold_stats {
    double numdata;            /* samples folded */
    double data_avg, data_var; /* of these samples */
    double numprof;            /* bins of the profile */
    double prof_avg, prof_var; /* expected mean and variance of a bin without a pulsar */
    double redchi;             /* chi^2 of the profile / (bins - 1) */
};

/* A period and its derivatives, s, s/s, s/s^2; or a frequency, Hz, Hz/s, Hz/s^2. */
struct psr_fold_spin {
    float flag; /* of the frequency folded at: 1 if the data were barycentred */
    double p, pd, pdd;
};

/* An orbit, as prepfold's -pb -e -x -w -To. */
struct psr_fold_orbit {
    double period_s, ecc, asini_s;
    double omega_deg;
    double t0_mjd;        /* of periastron */
    double pd, omega_dot; /* not used */
};

/* Numbers that prepfold does not know are 0. */
struct psr_pfd {
    int32_t ndm, nperiod, npdot;                    /* trials of the search; ndm is 0 for series */
    int32_t nsub, npart, nbin;                      /* shape of the cube */
    int32_t nchan;                                  /* of the data */
    int32_t pstep, pdstep, dmstep, ndmfact, npfact; /* options of the search */
    char *input, *candidate, *telescope;            /* owned; NULL is written as "" */
    char *plot_device;                              /* PGPLOT's, e.g. "x.pfd.ps/CPS"; owned */
    char ra[PSR_PFD_POSITION], dec[PSR_PFD_POSITION]; /* J2000, or "Unknown" */
    double tsamp_s;
    double start, end;             /* fractions of the observation that are folded */
    double tepoch_mjd, bepoch_mjd; /* of the start at the telescope, and at the barycentre and
                                      infinite frequency; 0: none */
    double voverc;                 /* mean velocity of the telescope away from the source, over c */
    double lofreq_mhz, width_mhz;  /* centre of the lowest channel; channel spacing */
    double dm;                     /* best DM, pc cm^-3 */
    struct psr_fold_spin topo, bary; /* best period at the telescope, and at the barycentre */
    struct psr_fold_spin fold;       /* frequency that the data were folded at */
    struct psr_fold_orbit orbit;     /* period_s 0: none */
    double *trial_dm;                /* [ndm] owned, as are the next four */
    double *trial_period_s;          /* [nperiod] */
    double *trial_pdot;              /* [npdot] */
    double *profile;                 /* [npart][nsub][nbin] */
    struct psr_fold_stats *stats;    /* [npart][nsub] */
};

/* Allocates the arrays with the shape that the counts state, filled with zeros.  The caller clears
 * *pfd, also after an error.
 * Status: PSR_EINVAL naming a count and its limit, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pfd_allocate(struct psr_pfd *pfd, psr_err *err);

/* Parses a .pfd file of n bytes, of either byte order; name is for messages.  The caller clears
 * *pfd, also after an error.
 * Status: PSR_EFORMAT naming file, field, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pfd_parse(struct psr_pfd *pfd, const void *bytes, size_t n,
                                        const char *name, psr_err *err);

/* Reads a .pfd file.
 * Given:  mem_bytes   memory limit; 0: a quarter of the machine's
 * Status: PSR_EIO and those of psr_pfd_parse; PSR_EFORMAT also for a file beyond the limit */
PSR_MUST_CHECK psr_status psr_pfd_read(struct psr_pfd *pfd, const char *path, int64_t mem_bytes,
                                       psr_err *err);

/* Writes a little-endian .pfd file.
 * Notes:  prepfold leaves four bytes after each of the three flags undefined; here they are 0
 * Status: PSR_EINVAL (a text that is too long), those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_pfd_write(psr_outfile *f, const struct psr_pfd *pfd, psr_err *err);

/* Frees the memory owned by pfd; may be called again. */
void psr_pfd_clear(struct psr_pfd *pfd);

/* --- .bestprof files -------------------------------------------------------------------------- */

struct psr_bestprof_value {
    double value, error;
};

/* What does not apply ("N/A") is not a number. */
struct psr_bestprof {
    char input[PSR_TEXT_MAX], candidate[PSR_TEXT_MAX], telescope[PSR_TEXT_MAX];
    double tepoch_mjd, bepoch_mjd;
    double tsamp_s, ndata;
    double data_avg, data_std, prof_avg, prof_std;
    double redchi;
    double prob, sigma; /* probability that noise gives this chi^2, and as Gaussian sigma */
    double dm;          /* not a number: the file has no such line */
    struct psr_bestprof_value topo[3], bary[3]; /* period in ms, its derivatives in s/s, s/s^2 */
    double orb_period_s, asini_s, ecc, omega_deg, t0_mjd;
    size_t nbin;
    double *profile; /* [nbin] owned */
};

/* Writes a .bestprof file with the bytes of prepfold's.
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_bestprof_write(psr_outfile *f, const struct psr_bestprof *best,
                                             psr_err *err);

/* Reads a .bestprof file; lines of its header that it does not know are skipped.  The caller clears
 * *best, also after an error.
 * Status: PSR_EIO, PSR_ENOMEM, PSR_EFORMAT naming file, line and value */
PSR_MUST_CHECK psr_status psr_bestprof_read(struct psr_bestprof *best, const char *path,
                                            psr_err *err);

/* Frees the profile; may be called again. */
void psr_bestprof_clear(struct psr_bestprof *best);

PSR_API_END
#endif
