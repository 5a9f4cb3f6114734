/* accel.h: candidates of an acceleration search in files: those of PRESTO's accelsearch, which
 * ACCEL_sift.py and prepfold -accelcand read, and plain tables for pipes. */
#ifndef PSRKIT_ACCEL_H
#define PSRKIT_ACCEL_H

#include <psrkit/outfile.h>

PSR_API_BEGIN

enum { PSR_ACCEL_NOTE_MAX = 21, PSR_ACCEL_RECORD_BYTES = 88 };

struct psr_accel_value {
    double value, error;
};

/* One harmonic of a candidate, as it was measured. */
struct psr_accel_harm {
    struct psr_accel_value power; /* over the local mean power */
    double sigma;                 /* of that power, one trial */
    double raw;                   /* power; over power.value, the local mean */
    struct psr_accel_value r, z, w;
    struct psr_accel_value phase_rad, centroid, purity;
};

struct psr_accel_cand {
    double sigma, power; /* summed power: chi^2 / 2 */
    double coherent;     /* of the harmonics added in phase; see candidate_refine.h */
    int nharm;
    struct psr_accel_value r, z, w;    /* mean frequency, drift and its drift, in bins of the
                                          fundamental */
    const struct psr_accel_harm *harm; /* [nharm] */
    char note[PSR_ACCEL_NOTE_MAX];

    /* For psr_accel_write_csv and psr_accel_write_json only. */
    double dof, ln_p;     /* of the box that was found: chi^2 is 2 power */
    int64_t first, width; /* its bins of the fundamental */
    bool sign_known;      /* whether the sign of z is */
    int64_t members;      /* hits it stands for */
};

struct psr_accel_list {
    const struct psr_accel_cand *cand; /* [ncand], best first */
    size_t ncand;
    bool jerk; /* w was searched: it has columns of its own */
    double tobs_s;
};

/* ROOT_ACCEL_ZMAX: the table of candidates, that of their harmonics, and what stands in the .inf
 * file at inf_path; NULL: no more.
 * Notes:  the bytes are those of accelsearch: texts wider than their columns are cut.
 * Status: those of psr_outfile_write; PSR_EIO and PSR_EFORMAT for the .inf; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_accel_write(psr_outfile *f, const struct psr_accel_list *list,
                                          const char *inf_path, psr_err *err);

/* ROOT_ACCEL_ZMAX.cand: one record per candidate; its padding is zeros.
 * Status: of this and of the writers below, those of psr_outfile_write. */
PSR_MUST_CHECK psr_status psr_accel_write_cand(psr_outfile *f, const struct psr_accel_list *list,
                                               psr_err *err);

/* One line of ROOT_ACCEL_ZMAX.txtcand; power is chi^2 / 2. */
PSR_MUST_CHECK psr_status psr_accel_write_txtcand(psr_outfile *f, double power, double sigma,
                                                  int nharm, double r, double z, double w,
                                                  double tobs_s, psr_err *err);

/* One line per candidate: comma-separated values below psr_accel_write_csv_header's line, or JSON
 * objects.  file is the first column.  Numbers have up to 10 digits. */
PSR_MUST_CHECK psr_status psr_accel_write_csv_header(psr_outfile *f, psr_err *err);
PSR_MUST_CHECK psr_status psr_accel_write_csv(psr_outfile *f, const struct psr_accel_list *list,
                                              const char *file, psr_err *err);
PSR_MUST_CHECK psr_status psr_accel_write_json(psr_outfile *f, const struct psr_accel_list *list,
                                               const char *file, psr_err *err);

/* A record of a .cand file.  Candidates' own r, z, w; the first harmonic's power and the rest. */
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
