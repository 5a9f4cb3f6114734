/* beam.h: intensity beams of a grid of dishes, from a stream of 4-bit voltages.
 *
 *   F[t][f][p](theta, theta') = sum over m, n of W[f][p][mn] E[t][f][p][mn]
 *                                                   exp(2 pi i (m theta / M + n theta' / N)),
 *   J[f][k](theta, theta') = sum over t in k T_ds .. (k + 1) T_ds - 1 and both p of |F|^2,
 *
 * T_ds that of channel f.  Places without a dish hold zero.  (Smith 2022 eqs 2, 3, 50, 51.)  J at
 * any direction is a sum over its values I at the 2M x 2N half-integer coordinates (eqs 6 to 8),
 * which one zero-padded transform gives, so any number of beams costs one transform a sample and
 * products at the pace of the output.
 *
 * A plan is a stream: each execute takes the next samples and gives the sums that have become
 * complete; one that has begun is carried.  One plan, one caller's thread. */
#ifndef PSRKIT_BEAM_H
#define PSRKIT_BEAM_H

#include <psrkit/array.h>
#include <psrkit/nibbles.h>

PSR_API_BEGIN

typedef struct psr_beam psr_beam;

enum { PSR_BEAM_NPOL = 2 };

/* Which beams a plan forms, and their order. */
enum psr_beam_pattern {
    PSR_BEAM_GRID,    /* the half-integer grid: beam 2N p + q is at (p/2, q/2), p < 2M, q < 2N */
    PSR_BEAM_POINTS,  /* beam b at (theta_ns[f][b], theta_ew[f][b]) */
    PSR_BEAM_PRODUCT, /* beam n_ew i + j at (theta_ns[f][i], theta_ew[f][j]) */
};

struct psr_beam_desc {
    const struct psr_array *array; /* copied */
    size_t nfreq;
    const size_t *tds; /* [nfreq] samples in a sum, 1 to 2^20, odd ones too; copied */
    struct psr_nibbles nibbles;
    const float *weight; /* [nfreq][2][ndish][2] gain of channel, polarisation and dish: real,
                            imaginary; NULL: all 1; copied */
    enum psr_beam_pattern pattern;
    size_t nbeam;           /* POINTS */
    size_t n_ns, n_ew;      /* PRODUCT */
    const double *theta_ns; /* POINTS [nfreq][nbeam], PRODUCT [nfreq][n_ns]; copied */
    const double *theta_ew; /* POINTS [nfreq][nbeam], PRODUCT [nfreq][n_ew]; copied */
    int nthread;            /* 0: all cores */
    int64_t mem_bytes;      /* bound on what the plan may allocate, and what psr_beam_block leaves
                               for the caller's blocks; 0: a quarter of the machine.  For cuda it
                               bounds the sum of the bytes on the device and of page-locked memory
                               for voltages that lie in other memory (the driver rounds up each
                               allocation, and has some of its own) */
    const char *backend;    /* "auto" "cpu" "cuda"; NULL is "auto" */
    int device;             /* of the backend */
};

/* Status: PSR_EINVAL naming field, value and limit (also a weight or a direction that is no finite
 *         number); PSR_EFORMAT (as psr_array_check); PSR_ENOMEM; PSR_EDEVICE for a backend asked
 *         for and absent; PSR_EUNSUPPORTED where FFTW has no plan for the grid. */
PSR_MUST_CHECK psr_status psr_beam_create(psr_beam **out, const struct psr_beam_desc *desc,
                                          psr_err *err);

/* Beams of the pattern. */
size_t psr_beam_count(const psr_beam *p);

/* Points the beams of POINTS or PRODUCT elsewhere, from the next sum to be completed on.
 * Given:    theta_ns, theta_ew  as in the description; copied
 * Status:   PSR_EINVAL (GRID; no finite number), PSR_EDEVICE. */
PSR_MUST_CHECK psr_status psr_beam_point(psr_beam *p, const double *theta_ns,
                                         const double *theta_ew, psr_err *err);

/* Chooses how intensities are given from now on: as floats (nbit 32, as a new plan does), or as
 * integers y = rint((J - offset[f]) scale[f]) clipped to 0 .. 2^nbit - 1, two 4-bit ones to a byte
 * with the first in the low bits.
 * Given:    nbit 4, 8 or 32; offset, scale [nfreq], copied; ignored (may be NULL) for 32
 * Status:   PSR_EINVAL (also 4 bits with nfreq odd, or a number that is not finite), PSR_EDEVICE.
 */
PSR_MUST_CHECK psr_status psr_beam_quantise(psr_beam *p, int nbit, const float *offset,
                                            const float *scale, psr_err *err);

/* Bytes of one row: one sample of all channels of a beam, nfreq nbit / 8. */
size_t psr_beam_row_bytes(const psr_beam *p);

/* A number of samples per execute that suits the backend and, with its rows, mem_bytes; any other
 * works too, but where T_ds differs between channels cuda holds all rows of an execute at once, and
 * a longer one may need more than mem_bytes. */
size_t psr_beam_block(const psr_beam *p);

/* Sums of channel f that nt samples more would complete. */
size_t psr_beam_ready(const psr_beam *p, size_t f, size_t nt);

/* The largest of that over the channels: rows the next execute gives. */
size_t psr_beam_rows(const psr_beam *p, size_t nt);

/* Given:    in    [nt][nfreq][2][ndish] bytes, time-major (DADA's TFPA); host
 *           out   [nbeam][stride] rows of psr_beam_row_bytes; host, caller's, aligned for a float;
 *                 stride >= psr_beam_rows(p, nt)
 * Returned: out[b][k][f], k < *nrow: J of beam b, the k-th sum of channel f to be completed, so a
 *           beam's rows are consecutive spectra of its filterbank.  Where T_ds differs between
 *           channels those with fewer sums than *nrow have 0 after their last.  Rows beyond *nrow
 *           are untouched.
 * Notes:    the CPU backend gives the same bits whatever the threads and the lengths of the blocks.
 *           Accuracy: 1e-5 (cpu), 3e-3 (cuda) of that channel and sum's brightest half-integer
 *           direction, whether it is among the plan's beams or not.
 * Status:   PSR_EINVAL (stride), PSR_ENOMEM (also naming mem_bytes), PSR_EDEVICE.  After an error
 *           the plan must be reset.
 */
PSR_MUST_CHECK psr_status psr_beam_execute(psr_beam *p, const uint8_t *in, size_t nt, void *out,
                                           size_t stride, size_t *nrow, psr_err *err);

/* The same in two steps, so that a device need not wait for its caller between blocks.  start may
 * return before the rows are there; until wait has returned in and out are the plan's.  Two starts
 * may be under way: another one waits for the first of them.  wait returns when no more than "left"
 * of the last starts are under way.  All other calls may be made meanwhile, and wait for what they
 * must.
 * Status: those of psr_beam_execute. */
PSR_MUST_CHECK psr_status psr_beam_start(psr_beam *p, const uint8_t *in, size_t nt, void *out,
                                         size_t stride, size_t *nrow, psr_err *err);
PSR_MUST_CHECK psr_status psr_beam_wait(psr_beam *p, size_t left, psr_err *err);

/* Forgets the samples seen: the next execute begins a new stream.  Directions and quantising stay.
 */
void psr_beam_reset(psr_beam *p);

/* Memory that the backend copies from and to fastest (page-locked for cuda), for in and out.  The
 * plan may be destroyed before it.  psr_beam_free of NULL is fine.
 * Status: PSR_ENOMEM, PSR_EDEVICE. */
PSR_MUST_CHECK psr_status psr_beam_alloc(const psr_beam *p, size_t bytes, void **memory,
                                         psr_err *err);
void psr_beam_free(const char *backend, void *memory);

/* What the plan decided, for reports and tests. */
struct psr_beam_info {
    const char *backend; /* static storage; what psr_beam_free wants */
    int64_t bytes;       /* allocated by the plan */
};
void psr_beam_describe(const psr_beam *p, struct psr_beam_info *info);

/* NULL is fine. */
void psr_beam_destroy(psr_beam *p);

/* The kernel of the main theorem (eqs 7 and 8): a direction's intensity is the sum over p and q of
 * U_p^M(theta) U_q^N(theta') I_pq.
 * Returned: u[2n], U_q^n(theta) for q < 2n, good to 1e-15 at any finite theta. */
void psr_beam_kernel(size_t n, double theta, double *u);

PSR_API_END
#endif
