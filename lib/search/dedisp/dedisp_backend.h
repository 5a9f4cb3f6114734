/* dedisp_backend.h: what dedisp.c hands to a backend, and what it asks of one (private).
 *
 * dedisp_check.c validates the description, dedisp_layout.c works out which channels are summed with
 * which delays, and dedisp.c counts samples, so that backends cannot disagree about any of it. */
#ifndef PSR_SEARCH_DEDISP_BACKEND_H
#define PSR_SEARCH_DEDISP_BACKEND_H

#include "dedisp_delay.h"

#include <psrkit/dedisp.h>

/* A validated description.  Kept channels are numbered k = 0..nkept-1 by falling frequency.  The
 * sweep is
 *   y[k][t] = sum over u < downsamp of x[chan[k]][t downsamp + pre[k] + u],
 *   out[i][t] = (sum over k of y[k][t + d(i,k)] - offset) / divisor,
 * x being samples as if unsigned, d from psr_dedisp_layout_delays, and the rest from the functions below.
 */
struct psr_dedisp_layout {
    size_t nchan, nkept;
    int nbit;
    enum psr_kind kind;
    uint64_t sample_max;  /* of a sample of the input as if unsigned; 0: floats */
    uint32_t sample_bias; /* what every sample, as if unsigned, is too large by */
    size_t summed;        /* spectra of the observation in one of the input */
    size_t downsamp;
    size_t ndm;
    size_t *chan; /* [nkept] place in a spectrum of the input */
    int32_t *pre; /* [nkept] shift in samples of the input, before they are summed; 0 for DIRECT */
    int32_t maxpre;    /* largest of any channel, kept or not */
    int32_t maxoff;    /* largest d(i,k) of any channel, kept or not, and trial */
    size_t maxshift;   /* maxoff and maxpre together, in samples of the output, rounded up */
    int nthread;       /* >= 1 */
    int64_t mem_bytes; /* > 0 */
    int *device;       /* [ndevice] */
    size_t ndevice;

    /* For the delays only. */
    enum psr_dedisp_algo algo;
    int tol;
    double dt_s;      /* of the output */
    double *dm;       /* [ndm] */
    double *coeff;    /* [nkept] delay_s = dm / coeff, of the frequency that decides d(i,k) */
    double coeff_top; /* of the highest channel */
    double coeff_low; /* of the lowest */
};

enum { PSR_TOL_GROUP = 16 }; /* kept channels that share one rounding where tol is 1 */

/* Works out which channels are kept and by how much each is shifted.
 * Given:    s          how samples come in, dm, dt_s, algo and tol are set; room for nchan in chan,
 *                      pre and coeff
 * Returned: s          nkept, chan, pre, coeff and what the shifts need are set as well
 *           position   [nchan] k of a kept channel, -1 of another
 *           top_mhz    of the highest channel, kept or not
 * Status:   PSR_EINVAL (no channel is kept, shifts beyond 1e9 samples), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dedisp_layout_make(struct psr_dedisp_layout *s,
                                                 const struct psr_dedisp_desc *d, int32_t *position,
                                                 double *top_mhz, psr_err *err);

/* Delays d(i,k) of kept channel k at trials i0 .. i0 + n - 1, in samples of the output.
 * Returned: d [n], within 0 .. maxoff */
void psr_dedisp_layout_delays(const struct psr_dedisp_layout *s, size_t k, size_t i0, size_t n,
                              int32_t *d);

/* The part of the delays' description that kernels need as well. */
struct psr_delay_frame psr_dedisp_layout_frame(const struct psr_dedisp_layout *s);

/* Largest value that a sum of downsamp samples takes, as if unsigned; 0 for samples summed as
 * floats (kind PSR_FLOAT, and 32-bit integers). */
uint64_t psr_dedisp_layout_lane_max(const struct psr_dedisp_layout *s);

/* Added to every signed sample to make it unsigned; 0 for other kinds. */
uint32_t psr_dedisp_layout_bias(const struct psr_dedisp_layout *s);

double psr_dedisp_layout_offset(const struct psr_dedisp_layout *s);
double psr_dedisp_layout_divisor(const struct psr_dedisp_layout *s);

struct psr_dedisp_ops {
    const char *name;
    double block_bytes; /* of the caller's input and output in one execute that suit it */
    bool sums_itself;   /* downsampling costs it less than taking in what was summed before */

    /* Whether there is any device for it; NULL where it needs none. */
    bool (*present)(void);

    /* Keeps s, which outlives the state.  PSR_EDEVICE where the device is absent. */
    psr_status (*create)(void **state, const struct psr_dedisp_layout *s, psr_err *err);

    /* A number of spectra per execute that is about nsamp, at most, and keeps the backend busy;
     * NULL where any does. */
    size_t (*suit)(const void *state, size_t nsamp);

    /* Takes nsamp spectra more and gives the next nout samples of every trial, out [ndm][stride].
     * nout is what dedisp.c counted to be complete; both may be 0. */
    psr_status (*execute)(void *state, const void *in, size_t nsamp, float *out, size_t stride,
                          size_t nout, psr_err *err);

    /* Takes up to nsamp spectra and leaves the samples of every trial that they complete on
     * devices; NULL where there are none.  Gives what psr_dedisp_execute_device does. */
    psr_status (*execute_device)(void *state, const void *in, size_t nsamp, size_t *taken,
                                 const struct psr_device_series **device_series,
                                 size_t *ndevice_series, size_t *nout, psr_err *err);

    /* Spectra that plans of the same input and devices take in, brought to the devices once: made
     * for one of the plans, joined by each, gone after all of them.  Bringing takes the place of
     * what was brought before; it comes back while devices are at work, but no plan's execute with
     * spectra of "in" does before they have been taken.  NULL where there is nothing to gain. */
    psr_status (*share)(void **block, const struct psr_dedisp_layout *s, psr_err *err);
    void (*join)(void *state, void *block);
    psr_status (*upload)(void *block, const void *in, size_t bytes, psr_err *err);
    void (*unshare)(void *block);

    void (*reset)(void *state);
    void (*describe)(void *state, struct psr_dedisp_info *info);
    void (*destroy)(void *state);
};

extern const struct psr_dedisp_ops psr_dedisp_cpu, psr_dedisp_cuda;

/* Status: PSR_EINVAL naming field, value and limit. */
PSR_MUST_CHECK psr_status psr_dedisp_check(const struct psr_dedisp_desc *d, psr_err *err);

/* Whether the backend that a plan would get sums spectra itself rather than have them summed. */
bool psr_dedisp_sums_itself(const struct psr_dedisp_desc *d);

/* Makes spectra that several plans take in lie where they take them from.  All plans have the same
 * input and devices.
 * Given:    *shared   NULL with the first plan
 * Returned: *shared   NULL as long as no plan gains by it; to be unshared after the last plan */
struct psr_dedisp_shared;
PSR_MUST_CHECK psr_status psr_dedisp_share(psr_dedisp *p, struct psr_dedisp_shared **shared,
                                           psr_err *err);

/* Given: in [nsamp] spectra, to stay as they are until every plan has been executed with them */
PSR_MUST_CHECK psr_status psr_dedisp_upload(struct psr_dedisp_shared *shared, const void *in,
                                            size_t nsamp, psr_err *err);
void psr_dedisp_unshare(struct psr_dedisp_shared *shared); /* NULL is fine */

/* As psr_dedisp_create, for a stream that is summed already: each of its spectra is the sum,
 * channel by channel, of "summed" of those that desc describes, in unsigned samples of sum_nbit
 * bits; signed ones enter with half their range added.  What the plan counts in spectra it counts
 * in those.
 * Given:  summed   a divisor of downsamp, and 1 for SUBBAND and for floats; with 1, sum_nbit says
 *                  nothing */
PSR_MUST_CHECK psr_status psr_dedisp_create_summed(psr_dedisp **out,
                                                   const struct psr_dedisp_desc *desc,
                                                   size_t summed, int sum_nbit, psr_err *err);

/* Of the caller's input and output in one execute that suit the plan's backend; and a number of
 * spectra, about nsamp, at most, that does. */
double psr_dedisp_block_bytes(const psr_dedisp *p);
size_t psr_dedisp_suit_block(const psr_dedisp *p, size_t nsamp);

#endif
