/* accel_internal.h: templates, writing and refining of accelerated candidates (private). */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_ACCEL_INTERNAL_H
#define PSR_SEARCH_MATCHED_RESPONSE_ACCEL_INTERNAL_H

#include "base/base.h"
#include <complex.h>
#include <fftw3.h>
#include <psrkit/experimental/accel.h>
#include <psrkit/experimental/accelsearch.h>
#include <psrkit/series.h>
#include <psrkit/signif.h>

/* --- transforms of powers of two, planned once and shared by threads --------------------------- */

/* FFTW plans one transform at a time in a process: with thousands of candidates, each of which wants
 * transforms of a few hundred points, threads would wait for that and for nothing else. */
struct psr_template_plans;

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_template_plans_create(struct psr_template_plans **out, psr_err *err);

/* NULL is allowed. */
void psr_template_plans_destroy(struct psr_template_plans *p);

/* psr_accel_template_create with plans that outlive the template. */
PSR_MUST_CHECK psr_status psr_accel_template_make(psr_accel_template **out,
                                                  struct psr_template_plans *plans, const float *x,
                                                  int64_t first, size_t n, psr_err *err);

/* Response at (r, z).  Powers differ from the sum above by at most 1 % if the bins extend at least
 * |z| / 2 + 8 beyond r on both sides. */
void psr_accel_template_respond(const psr_accel_template *m, double r, double z,
                                struct psr_accel_template_peak *peak);

/* The same for a signal of jerk w, in bins over the observation, and mean drift z:
 *
 *   K(q; z, w) = int_0^1 exp{2 pi i [-(q + z/2 - w/12) u + (z - w/2) u^2/2 + w u^3/6]} du */
void psr_accel_template_respond_jerk(const psr_accel_template *m, double r, double z, double w,
                                     struct psr_accel_template_peak *peak);

/* Its power alone, of the same bits in half the time.  Safe on several threads. */
double psr_accel_template_power(const psr_accel_template *m, double r, double z, double w);

/* Finds the highest power at the half bins of rlo .. rhi and z = zlo, zlo + zstep .. zhi; the first
 * of equals.  Sets only r, z and power of peak; power is 0 if nothing was searched.
 * Given:    zstep   > 0
 * Returned: number of positions searched */
size_t psr_accel_template_search(psr_accel_template *m, double rlo, double rhi, double zlo,
                                 double zhi, double zstep, struct psr_accel_template_peak *peak);

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

void psr_accel_pack(const struct psr_accel_record *record,
                    unsigned char bytes[PSR_ACCEL_RECORD_BYTES]);
void psr_accel_unpack(struct psr_accel_record *record,
                      const unsigned char bytes[PSR_ACCEL_RECORD_BYTES]);

/* Given:    plan, s   spectrum s of the plan's last execute, whose input must still be valid
 *           cand [ncand]   candidates of that spectrum
 * Returned: *out, to be freed by psr_measured_clear; cleared on error
 * Status:   those of psr_pulscan_amplitudes */
PSR_MUST_CHECK psr_status psr_candidate_refine(struct psr_measured *out, psr_pulscan *plan,
                                               size_t s, const struct psr_pulscan_cand *cand,
                                               size_t ncand, const struct psr_refine_desc *desc,
                                               psr_err *err);

/* Frees the memory owned by m; may be called again. */
void psr_measured_clear(struct psr_measured *m);

/* --- a validated search, as its parts see it -------------------------------------------------- */

struct psr_accel_search {
    size_t nbin;
    int jmax, lmax;      /* z = 2 j, w = 20 l */
    int numharm, nstage; /* stage s sums 2^s harmonics */
    int64_t ilo, ihi;    /* half bins of the highest harmonic, both included */
    enum psr_accelsearch_norm norm;
    bool series;              /* they come as series, */
    struct psr_redden redden; /* and red noise is taken out of their spectra */
    struct psr_span *zap;     /* [nzap] ascending, apart, within the spectrum; owned */
    size_t nzap;
    struct psr_template_plans *plans; /* of candidates' responses; owned */
    double trials[PSR_ACCELSEARCH_NSTAGE];
    enum psr_trials count;             /* how trials make a chance of many */
    float cut[PSR_ACCELSEARCH_NSTAGE]; /* sums above it are candidates */
    bool keep_harmonics, free_harmonics;
    size_t max;        /* candidates; 0: no bound */
    double rlo, rhi;   /* bins; of a compatible search, whole ones */
    int nthread;       /* >= 1 */
    int64_t mem_bytes; /* > 0 */
    int device;
    struct psr_stop stop;
};

/* A place whose sum is above the cut: half bin i, drift j and jerk l of the highest harmonic. */
struct psr_accel_hit {
    int64_t i;
    int j, l, stage;
    float power;
};

/* Hits as they come; room grows. */
struct psr_accel_hits {
    struct psr_accel_hit *hit; /* [n] malloc'd */
    size_t n, room;
};

/* Harmonic h of H, at the half bin nearest to i h/H, the upper of two; i >= 0. */
static inline int64_t psr_harmonic_bin(int64_t i, int h, int H)
{
    return (2 * i * h + H) / (2 * H);
}

/* The step nearest to j h/H, the farther from 0 of two. */
static inline int psr_harmonic_step(int j, int h, int H)
{
    return j < 0 ? -((-2 * j * h + H) / (2 * H)) : (2 * j * h + H) / (2 * H);
}

#endif
