/* accel.h: writes candidates of an acceleration search, as PRESTO's accelsearch files (read by
 * ACCEL_sift.py and prepfold -accelcand) or as plain tables. */
#ifndef PSRKIT_ACCEL_H
#define PSRKIT_ACCEL_H

#include <psrkit/outfile.h>

PSR_API_BEGIN

enum { PSR_ACCEL_NOTE_MAX = 21, PSR_ACCEL_RECORD_BYTES = 88 };

struct psr_accel_value {
    double value, error;
};

/* One harmonic of a candidate. */
struct psr_accel_harm {
    struct psr_accel_value power; /* relative to the local mean power */
    double sigma;                 /* of this power, for one trial */
    double raw;                   /* power before normalisation: raw / power.value is the local
                                     mean */
    struct psr_accel_value r, z, w;
    struct psr_accel_value phase_rad, centroid, purity;
};

struct psr_accel_cand {
    double sigma, power; /* summed power: chi^2 / 2 */
    double coherent;     /* of the harmonics added in phase; see candidate_refine.h */
    int nharm;
    struct psr_accel_value r, z, w;    /* mean frequency, drift and jerk, in bins of the
                                          fundamental */
    const struct psr_accel_harm *harm; /* [nharm] */
    char note[PSR_ACCEL_NOTE_MAX];

    /* Used only by psr_accel_write_csv and psr_accel_write_json. */
    double dof, ln_p;     /* of the detected box: chi^2 is 2 power */
    int64_t first, width; /* its bins at the fundamental */
    bool sign_known;      /* the sign of z is determined */
    int64_t members;      /* number of hits merged into it */
};

struct psr_accel_list {
    const struct psr_accel_cand *cand; /* [ncand], best first */
    size_t ncand;
    bool jerk; /* w was searched and gets its own columns */
    double tobs_s;
};

/* Writes ROOT_ACCEL_ZMAX: the table of candidates, the table of their harmonics, and the text of
 * the .inf file at inf_path (NULL: omitted).
 * Notes:  the bytes equal accelsearch's; text wider than its column is cut
 * Status: those of psr_outfile_write; PSR_EIO and PSR_EFORMAT for the .inf; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_write(psr_outfile *f, const struct psr_accel_list *list,
                                          const char *inf_path, psr_err *err);

/* Writes ROOT_ACCEL_ZMAX.cand: one record per candidate, with padding bytes set to 0.
 * Status: for this and the writers below, those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_accel_write_cand(psr_outfile *f, const struct psr_accel_list *list,
                                               psr_err *err);

/* Writes one line of ROOT_ACCEL_ZMAX.txtcand; power is chi^2 / 2. */
PSR_MUST_CHECK psr_status psr_accel_write_txtcand(psr_outfile *f, double power, double sigma,
                                                  int nharm, double r, double z, double w,
                                                  double tobs_s, psr_err *err);

/* Write one line per candidate: comma-separated values (psr_accel_write_csv_header writes the
 * header line), or JSON objects.  The first column is file.  Numbers have up to 10 digits. */
PSR_MUST_CHECK psr_status psr_accel_write_csv_header(psr_outfile *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_accel_write_csv(psr_outfile *f, const struct psr_accel_list *list,
                                              const char *file, psr_err *err);
PSR_MUST_CHECK psr_status psr_accel_write_json(psr_outfile *f, const struct psr_accel_list *list,
                                               const char *file, psr_err *err);

/* A record of a .cand file: r, z and w of the candidate; power and the remaining fields of its
 * first harmonic. */
struct psr_accel_record {
    double r, z, w;
    float rerr, zerr, werr;
    float pow, powerr, sig, rawpow, phs, phserr, cen, cenerr, pur, purerr, locpow;
};

void psr_accel_pack(const struct psr_accel_record *record,
                    unsigned char bytes[PSR_ACCEL_RECORD_BYTES]);
void psr_accel_unpack(struct psr_accel_record *record,
                      const unsigned char bytes[PSR_ACCEL_RECORD_BYTES]);

PSR_API_END
#endif
