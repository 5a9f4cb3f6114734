/* beam_internal.h: beams of an array of dishes, a plan as others are (private). */
#ifndef PSR_BEAM_BEAM_INTERNAL_H
#define PSR_BEAM_BEAM_INTERNAL_H

#include <psrkit/experimental/beam.h>

/* Properties of the plan. */
void psr_beam_describe_sized(const psr_beam *p, struct psr_beam_info *info, size_t size);
#define psr_beam_describe(p, info) psr_beam_describe_sized((p), (info), sizeof *(info))

/* Status: PSR_EINVAL naming field, value and limit (also for a weight or direction that is not
 *         finite); PSR_EFORMAT (as psr_array_check); PSR_ENOMEM; PSR_EDEVICE if the requested
 *         backend is not available; PSR_EUNSUPPORTED if FFTW has no plan for the grid */
PSR_MUST_CHECK psr_status psr_beam_create(psr_beam **out, const struct psr_beam_desc *desc,
                                          psr_err *err);

/* Number of beams in the pattern. */
size_t psr_beam_count(const psr_beam *p);

/* Changes the directions of POINTS or PRODUCT beams, from the next sum to be completed on.
 * Given:  theta_ns, theta_ew   as in the description; copied
 * Status: PSR_EINVAL (pattern GRID, or a value that is not finite), PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_beam_point(psr_beam *p, const double *theta_ns,
                                         const double *theta_ew, psr_err *err);

/* Sets the output format from now on: floats (nbit 32, the default), or integers y = rint((J -
 * offset[f]) scale[f]) clipped to 0 .. 2^nbit - 1.  Two 4-bit values share a byte, the first in the
 * low bits.
 * Given:  nbit   4, 8 or 32
 *         offset, scale   [nfreq], copied; ignored (may be NULL) for 32
 * Status: PSR_EINVAL (also 4 bits with odd nfreq, or a number that is not finite), PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_beam_quantise(psr_beam *p, int nbit, const float *offset,
                                            const float *scale, psr_err *err);

/* Bytes of one row, nfreq nbit / 8: one output sample of all channels of a beam. */
size_t psr_beam_row_bytes(const psr_beam *p);

/* Suggested samples per execute: suits the backend, and with its rows fits into mem_bytes.  Any
 * other number works too; but if T_ds differs between channels, cuda holds all rows of an execute
 * at once, and a longer block may need more than mem_bytes. */
size_t psr_beam_block(const psr_beam *p);

/* Sums of channel f that nt more samples would complete. */
size_t psr_beam_ready(const psr_beam *p, size_t f, size_t nt);

/* The maximum of psr_beam_ready over the channels: the number of rows that the next execute
 * returns. */
size_t psr_beam_rows(const psr_beam *p, size_t nt);

/* Given:    in    [nt][nfreq][2][ndish] bytes, time-major (DADA's TFPA); host
 *           out   [nbeam][stride] rows of psr_beam_row_bytes; host, owned by the caller, aligned
 *                 for a float; stride >= psr_beam_rows(p, nt)
 * Returned: out[b][k][f], k < *nrow: J of beam b, the k-th sum completed for channel f.  The rows
 *           of a beam are consecutive spectra of its filterbank.  If T_ds differs between channels,
 *           a channel with fewer than *nrow sums has 0 after its last.  Rows beyond *nrow are not
 *           changed.
 * Notes:    the CPU backend returns the same bits for any number of threads and any block lengths.
 *           Error: at most 1e-5 (cpu) or 3e-3 (cuda) of the intensity in the brightest half-integer
 *           direction of the same channel and sum, whether or not the plan forms that beam.
 * Status:   PSR_EINVAL (stride), PSR_ENOMEM (also naming mem_bytes), PSR_EDEVICE.  After an error
 *           the plan must be reset. */
PSR_MUST_CHECK psr_status psr_beam_execute(psr_beam *p, const uint8_t *in, size_t nt, void *out,
                                           size_t stride, size_t *nrow, psr_err *err);

/* psr_beam_execute in two steps, so that the device does not wait for the caller between blocks.
 * start may return before the rows are written; in and out must not be used until wait has
 * returned.  Two starts may be in progress; a third waits for the first.  wait returns when at most
 * "left" of the last starts are in progress.  All other calls are allowed in the meantime and wait
 * as necessary.
 * Status: those of psr_beam_execute */
PSR_MUST_CHECK psr_status psr_beam_start(psr_beam *p, const uint8_t *in, size_t nt, void *out,
                                         size_t stride, size_t *nrow, psr_err *err);
PSR_MUST_CHECK psr_status psr_beam_wait(psr_beam *p, size_t left, psr_err *err);

/* As psr_beam_start, but the rows stay on the plan's device, in memory of psr_beam_alloc_device, for what
 * works on them there (psr_dedisp_beams_execute_device): no copy to the host is made.  Its device is the
 * host's memory with backend "cpu".
 * Given:   d_out   [nbeam][stride] rows of psr_beam_row_bytes, at the start of such memory or whole rows
 *                  after it: several executes may fill it, d_out going on by their rows
 * Notes:   the rows are those of psr_beam_start to the bit; any stream may read them when psr_beam_wait has
 *          returned, and no start may write over them while they are read
 * Status:  those of psr_beam_execute */
PSR_MUST_CHECK psr_status psr_beam_start_device(psr_beam *p, const uint8_t *in, size_t nt,
                                                void *d_out, size_t stride, size_t *nrow,
                                                psr_err *err);

/* Discards the samples seen: the next execute begins a new stream.  Directions and output format
 * are kept. */
void psr_beam_reset(psr_beam *p);

/* Allocates memory for in and out that the backend transfers fastest (page-locked for cuda).  It
 * may outlive the plan.  psr_beam_free accepts NULL.
 * Status: PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_beam_alloc(const psr_beam *p, size_t bytes, void **memory,
                                         psr_err *err);
void psr_beam_free(const char *backend, void *memory);

/* Allocates memory of the plan's device for rows, beside mem_bytes.  It may outlive the plan.
 * psr_beam_free_device accepts NULL.
 * Status: PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_beam_alloc_device(const psr_beam *p, size_t bytes, void **memory,
                                                psr_err *err);
void psr_beam_free_device(const char *backend, void *memory);

/* Frees the plan; NULL is allowed. */
void psr_beam_destroy(psr_beam *p);

#endif
