/* accel_internal.h: templates, writing and refining of accelerated candidates (private). */
#ifndef PSR_SEARCH_MATCHED_RESPONSE_ACCEL_INTERNAL_H
#define PSR_SEARCH_MATCHED_RESPONSE_ACCEL_INTERNAL_H

#include <complex.h>
#include <fftw3.h>
#include <psrkit/experimental/accel.h>

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

#endif
