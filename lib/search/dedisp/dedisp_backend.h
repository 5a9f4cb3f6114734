/* dedisp_backend.h: interface between dedisp.c and a backend (private).
 *
 * dedisp_check.c validates the description, dedisp_layout.c computes which channels are summed with
 * which delays, and dedisp.c counts samples, so that all backends agree on these. */
#ifndef PSR_SEARCH_DEDISP_BACKEND_H
#define PSR_SEARCH_DEDISP_BACKEND_H

#include "dedisp_delay.h"
#include "dedisp_merge.h"
#include "search/dedisp/dedisp_internal.h"

#include <psrkit/experimental/dedisp.h>

/* A validated description.  Kept channels are numbered k = 0..nkept-1 by decreasing frequency.  The
 * sums are
 *
 *   y[k][t]   = sum over u < downsamp of x[chan[k]][t downsamp + pre[k] + u],
 *   out[i][t] = (sum over k of y[k][t + d(i,k)] - offset) / divisor,
 *
 * where x are samples as unsigned, d is from psr_dedisp_layout_delays, and the rest from the
 * functions below. */
struct psr_dedisp_layout {
    size_t nchan, nkept;
    int nbit;
    enum psr_kind kind;
    uint64_t sample_max;  /* largest input sample as unsigned; 0: floats */
    uint32_t sample_bias; /* offset added to make samples unsigned */
    size_t summed;        /* spectra of the observation summed into one of the input */
    size_t downsamp;
    size_t ndm;
    size_t *chan;      /* [nkept] index in a spectrum of the input */
    int32_t *pre;      /* [nkept] shift in input samples, before downsampling; 0 for DIRECT */
    int32_t maxpre;    /* largest of any channel, kept or not */
    int32_t maxoff;    /* largest d(i,k) of any channel, kept or not, and trial */
    size_t maxshift;   /* maxoff and maxpre combined, in output samples, rounded up */
    int nthread;       /* >= 1 */
    int64_t mem_bytes; /* > 0 */
    int *device;       /* [ndevice] */
    size_t ndevice;

    /* Used only to compute delays. */
    enum psr_dedisp_algo algo;
    int tol;
    double dt_s;      /* of the output */
    double *dm;       /* [ndm] */
    double *coeff;    /* [nkept] delay_s = dm / coeff, for the frequency that determines d(i,k) */
    double coeff_top; /* of the highest channel */
    double coeff_low; /* of the lowest */
    double smear;     /* TREE: as in psr_dedisp_desc */
    int32_t *align;   /* [ndm] what is added to all delays of a trial, so that the latest is
                         maxoff: spectra follow maxshift blank ones.  NULL: 0, and none */
    struct psr_merge_tree tree;
};

enum { PSR_TOL_GROUP = 16 }; /* kept channels that share one rounding if tol is 1 */

/* Computes which channels are kept and by how much each is shifted.
 * Given:    s   input format, dm, dt_s, algo and tol are set; room for nchan in chan, pre and coeff
 * Returned: s   with nkept, chan, pre, coeff and the fields that shifts need
 *           position [nchan]   k of a kept channel, -1 for others
 *           top_mhz   of the highest channel, kept or not
 * Status:   PSR_EINVAL (no channel is kept, shifts beyond 1e9 samples), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dedisp_layout_make(struct psr_dedisp_layout *s,
                                                 const struct psr_dedisp_desc *d, int32_t *position,
                                                 double *top_mhz, psr_err *err);

/* Computes delays d(i,k) of kept channel k at trials i0 .. i0 + n - 1, in output samples, aligned.
 * Returned: d [n]   within 0 .. maxoff */
void psr_dedisp_layout_delays(const struct psr_dedisp_layout *s, size_t k, size_t i0, size_t n,
                              int32_t *d);

/* Delay of the lowest channel of the band at trial i, or of the latest one if that is later, in
 * output samples, without pre. */
int32_t psr_dedisp_layout_last(const struct psr_dedisp_layout *s, size_t i);

/* As psr_dedisp_smearing. */
void psr_dedisp_layout_smearing(const struct psr_dedisp_layout *s, size_t i,
                                struct psr_dedisp_smearing *out);

/* The part of the delay description that kernels need too. */
struct psr_delay_frame psr_dedisp_layout_frame(const struct psr_dedisp_layout *s);

/* Largest sum of downsamp samples as unsigned; 0 for samples summed as floats (kind PSR_FLOAT, and
 * 32-bit integers). */
uint64_t psr_dedisp_layout_sample_max(const struct psr_dedisp_layout *s);

/* Offset that makes signed samples unsigned; 0 for other kinds. */
uint32_t psr_dedisp_layout_bias(const struct psr_dedisp_layout *s);

double psr_dedisp_layout_offset(const struct psr_dedisp_layout *s);
double psr_dedisp_layout_divisor(const struct psr_dedisp_layout *s);

struct psr_dedisp_ops {
    const char *name;
    double block_bytes; /* suitable bytes of the caller's input and output per execute */
    bool sums_itself;   /* prefers to downsample itself to reading downsampled input */

    /* Whether it does TREE for integer samples up to sample_max, or for floats if that is 0; NULL if
     * for all. */
    bool (*makes_tree)(uint64_t sample_max, size_t nkept);
    bool makes_late;

    /* Counts devices; NULL if the backend needs none. */
    bool (*present)(void);

    /* Keeps s, which outlives the state.  PSR_EDEVICE if the device is absent. */
    psr_status (*create)(void **state, const struct psr_dedisp_layout *s, psr_err *err);

    /* Suggested number of spectra per execute, at most about nsamp; NULL if any number suits. */
    size_t (*suit)(const void *state, size_t nsamp);

    /* Takes nsamp more spectra and returns the next nout samples of every trial, out [ndm][stride].
     * dedisp.c has counted nout, the complete samples; both may be 0. */
    psr_status (*execute)(void *state, const void *in, size_t nsamp, float *out, size_t stride,
                          size_t nout, psr_err *err);

    /* Takes up to nsamp spectra and leaves the samples of every trial that they complete on
     * devices; NULL if there are none.  Returns what psr_dedisp_execute_device does. */
    psr_status (*execute_device)(void *state, const void *in, size_t nsamp, size_t *taken,
                                 const struct psr_device_series **device_series,
                                 size_t *ndevice_series, size_t *nout, psr_err *err);

    /* Shares spectra between plans with the same input and devices, copying them to the devices
     * once: created for one plan, joined by each, freed after all of them.  upload replaces the
     * previous spectra; it returns while devices are still working, and executes of the plans with
     * these spectra wait for it.  NULL if sharing has no benefit. */
    psr_status (*share)(void **block, const struct psr_dedisp_layout *s, psr_err *err);
    void (*attach)(void *state, void *block);
    psr_status (*upload)(void *block, const void *in, size_t bytes, psr_err *err);
    void (*unshare)(void *block);

    void (*reset)(void *state);
    void (*describe)(void *state, struct psr_dedisp_info *info);
    void (*destroy)(void *state);
};

extern const struct psr_dedisp_ops psr_dedisp_cpu, psr_dedisp_cuda;

/* Status: PSR_EINVAL naming field, value and limit. */
PSR_MUST_CHECK psr_status psr_dedisp_check(const struct psr_dedisp_desc *d, psr_err *err);

/* True if the backend that this plan would use prefers to downsample itself. */
bool psr_dedisp_sums_itself(const struct psr_dedisp_desc *d);

/* Shares spectra between several plans with the same input and devices.
 * Given:    *shared   NULL for the first plan
 * Returned: *shared   NULL as long as no plan benefits; unshare it after the last plan */
struct psr_dedisp_shared;
PSR_MUST_CHECK psr_status psr_dedisp_attach(psr_dedisp *p, struct psr_dedisp_shared **shared,
                                            psr_err *err);

/* Given: in   [nsamp] spectra, which must stay unchanged until every plan has been executed with
 *             them */
PSR_MUST_CHECK psr_status psr_dedisp_upload(struct psr_dedisp_shared *shared, const void *in,
                                            size_t nsamp, psr_err *err);
void psr_dedisp_detach_all(struct psr_dedisp_shared *shared); /* NULL is allowed */

/* As psr_dedisp_create, for a stream that is already downsampled: each spectrum is the sum, channel
 * by channel, of "summed" spectra of the described stream, in unsigned samples of sum_nbit bits;
 * signed samples are offset by half their range.  All counts of spectra refer to the downsampled
 * stream.
 * Given: summed   a divisor of downsamp, and 1 for SUBBAND and for floats; if 1, sum_nbit is
 *                 ignored */
PSR_MUST_CHECK psr_status psr_dedisp_create_summed(psr_dedisp **out,
                                                   const struct psr_dedisp_desc *desc,
                                                   size_t summed, int sum_nbit, psr_err *err);

/* The same without a backend: it only tells shifts, delays and smearing. */
PSR_MUST_CHECK psr_status psr_dedisp_create_layout(psr_dedisp **out,
                                                   const struct psr_dedisp_desc *desc,
                                                   size_t summed, int sum_nbit, psr_err *err);
const struct psr_dedisp_layout *psr_dedisp_layout(const psr_dedisp *p);

/* Suitable bytes of the caller's input and output per execute; and a suitable number of spectra, at
 * most about nsamp. */
double psr_dedisp_block_bytes(const psr_dedisp *p);
size_t psr_dedisp_suit_block(const psr_dedisp *p, size_t nsamp);

#endif
