/* accel_cuda.h: the matched search on a CUDA device (private to its files).
 *
 * The device is a sieve (kernels/matched/accel_kernels.h): it reports every place whose harmonic sum may be
 * above the cut, and the host makes these sums again as the CPU does (sieve.h).  So lists are
 * those of the CPU to the bit, ties among them, as long as nothing above the cut is missed:
 *
 * - An amplitude as the device transforms it is off by less than e = psr_accel_error of the rms
 *   amplitude d of its block: |a| <= |b| + e d, so |a|^2 <= (1 + 1/q) |b|^2 + (1 + q) (e d)^2 for
 *   any q.
 * - Sums of n halves are off by less than n 2^-11, for which the device's cut is lower.
 * - What is summed again on the device carries its own bound (kernels/matched/accel_scan.cu). */
#ifndef PSR_SEARCH_MATCHED_CUDA_ACCEL_CUDA_H
#define PSR_SEARCH_MATCHED_CUDA_ACCEL_CUDA_H

#include "search/matched/accel_plan.h"
#include "search/matched/cpu/sieve.h"

#include "base/device/cuda_call.h"

#include <matched/accel_kernels.h>

enum { PSR_ACCEL_SLOTS = 2 };

/* A transform of n points is off by at most 3 2^-24 of the root of the sum of its squares in each of
 * log2 n steps.  Forward and back that is 22 x 3 2^-24 x 64 = 2.5e-4 of the rms for the 4096 half
 * bins of a block, were it all in one of them; products and responses add 2e-7.  Halves have no such
 * bound that is of use (0.7): 8e-3 is the most seen, of lines of 1e12 times the power of noise, and
 * 1.0e-3 the rms.  So the search uses floats. */
static inline double psr_accel_error(enum accel_k_number kind)
{
    return kind == ACCEL_FLOAT ? 4e-4 : 2e-2;
}

#define PSR_ACCEL_SPREAD 128.0 /* q */

/* Where bounds of fraction k / numharm are for a band. */
struct psr_accel_strip {
    int jmax, lmax;
    int64_t block, origin; /* the first block and cell */
    int nblock;
    int64_t pitch;     /* cells from row to row */
    double room;       /* cells that suffice for any band */
    uint32_t *d_bound; /* two halves a cell */
};

/* How a search is cut into blocks and bands, for a limit on memory. */
struct psr_accel_cuda_plan {
    const struct psr_accel_search *s;
    enum accel_k_number kind;
    struct accel_k_cut cut;
    int npair;          /* spectra at once, 1 or 2 */
    int nslot;          /* pairs on the device */
    bool whole;         /* one band, one strip for all fractions */
    int64_t first, end; /* cells of the highest harmonic */
    int64_t band;       /* cells */
    int nblock;         /* of any strip, at most */
    struct psr_accel_strip strip[PSR_ACCELSEARCH_MAX_HARM + 1]; /* by k */
    double bytes;                                               /* of device memory */
};

/* Status: PSR_EUNSUPPORTED for responses wider than a block, and spectra beyond what kernels count;
 *         PSR_ENOMEM, saying what the least would take */
PSR_MUST_CHECK psr_status psr_accel_cuda_plan_make(struct psr_accel_cuda_plan *p,
                                                   const struct psr_accel_search *s,
                                                   enum accel_k_number kind, size_t batch,
                                                   double limit_bytes, psr_err *err);

/* Places strips for cells first .. first + count - 1 of the highest harmonic. */
void psr_accel_cuda_plan_place(struct psr_accel_cuda_plan *p, int64_t first, int64_t count);

enum { PSR_ACCEL_ENTRIES = 1 << 21, PSR_ACCEL_HITS = 1 << 19 };

/* A place that the device reports. */
struct psr_accel_place {
    int64_t i; /* the first half bin of its cell */
    int j, l, stage, spec;
    float high, low; /* of the best sum in the cell */
};

/* Spectra on the device. */
struct psr_accel_slot {
    size_t first, n;         /* of the batch; n 0: nothing under way */
    float *d_x[ACCEL_PAIR];  /* room for 2 nbin + 2 floats */
    double *d_mean, *h_mean; /* [ACCEL_PAIR][nblock] of the normalisation */
    uint64_t *d_bad, *h_bad; /* [ACCEL_PAIR] */
    struct accel_k_hit *d_hit;
    uint32_t *d_count, *h_count; /* entries and hits */
    cudaEvent_t copied, done;
};

struct psr_accel_cuda {
    const struct psr_accel_search *s;
    struct psr_accel_cuda_plan plan;
    bool started;
    bool transforms; /* series come, and become spectra here */
    struct psr_cufft fft;
    struct psr_span *d_redden; /* [nredden] blocks that red noise is measured in */
    double *d_redness;         /* [nredden] */
    size_t nredden;
    struct psr_accel_normalise *norm; /* its blocks */
    int64_t *d_first;
    struct psr_span *d_zap;
    struct psr_correlator *correlator;
    struct psr_template_bank *bank; /* without spectra */
    void *d_twiddle_float, *d_twiddle, *d_response, *d_x;
    float *d_square, *d_taps;
    uint64_t *d_at;
    int *d_half;
    struct accel_k_entry *d_entry;
    struct psr_accel_slot slot[PSR_ACCEL_SLOTS];
    float *h_stage[PSR_ACCEL_SLOTS]; /* pinned pieces of bins that the host normalises */
    cudaEvent_t staged[PSR_ACCEL_SLOTS];
    cudaStream_t in, work;
    int64_t bytes;

    struct psr_accel_place *place; /* [nplace] of the pair that was fetched last */
    size_t nplace, place_room;
};

enum { PSR_ACCEL_STAGE = 1 << 20 }; /* bins of a piece */

static inline psr_status psr_accel_cuda_fail(const struct psr_accel_cuda *c, cudaError_t e,
                                             const char *what, psr_err *err)
{
    (void)cudaGetLastError();
    return psr_fail(err, e == cudaErrorMemoryAllocation ? PSR_ENOMEM : PSR_EDEVICE,
                    "device %d: %s: %s", c->s->device, what, cudaGetErrorString(e));
}

/* Responses, memory and streams; psr_accel_cuda_free frees what there is, also after an error. */
PSR_MUST_CHECK psr_status psr_accel_cuda_start(struct psr_accel_cuda *c, enum accel_k_number kind,
                                               size_t batch, psr_err *err);
void psr_accel_cuda_free(struct psr_accel_cuda *c);

/* Whether the device normalises. */
static inline bool psr_accel_cuda_levels(const struct psr_accel_cuda *c)
{
    return c->s->norm == PSR_ACCELSEARCH_MEDIAN;
}

/* Memory and plans for what happens to bins before they are searched. */
PSR_MUST_CHECK psr_status psr_accel_cuda_prepare(struct psr_accel_cuda *c, psr_err *err);

/* Sends spectra or series first .. of a batch to a slot, and queues what makes them normalised
 * spectra. */
PSR_MUST_CHECK psr_status psr_accel_cuda_upload(struct psr_accel_cuda *c,
                                                struct psr_accel_slot *slot,
                                                const struct psr_accel_batch *b, size_t first,
                                                psr_err *err);

/* Starts the search of a slot, in all but its last band up to the end of it. */
PSR_MUST_CHECK psr_status psr_accel_cuda_launch(struct psr_accel_cuda *c,
                                                struct psr_accel_slot *slot, psr_err *err);

/* Waits for it: c->place has all places of the slot. */
PSR_MUST_CHECK psr_status psr_accel_cuda_collect(struct psr_accel_cuda *c,
                                                 struct psr_accel_slot *slot, psr_err *err);

/* Of spectrum p of a slot that was collected: tells the host's normalisation what it is, and whether
 * it was finite. */
void psr_accel_cuda_take_levels(const struct psr_accel_cuda *c, const struct psr_accel_slot *slot,
                                size_t p, const struct psr_accel_batch *b);

/* --- the parts of a search --------------------------------------------------------------------- */

/* Cells, drifts and jerks of the highest harmonic; both ends of drifts and jerks are included. */
struct psr_accel_part {
    int64_t first, count;
    int jlo, jhi, llo, lhi;
};

/* The band from cell first on. */
struct psr_accel_part psr_accel_cuda_band(const struct psr_accel_cuda *c, int64_t first);

/* Queue the bounds that a band needs, and the search of a part of it. */
PSR_MUST_CHECK cudaError_t psr_accel_cuda_bound(struct psr_accel_cuda *c,
                                                const struct psr_accel_slot *slot,
                                                const struct psr_accel_part *band);
PSR_MUST_CHECK cudaError_t psr_accel_cuda_search(struct psr_accel_cuda *c,
                                                 struct psr_accel_slot *slot,
                                                 const struct psr_accel_part *part);

/* --- on the host ------------------------------------------------------------------------------ */

/* Makes the sums at places [n] of spectrum spec of a pair again, and adds the best of every cell and
 * stage that is above the cut; places are left in another order. */
PSR_MUST_CHECK psr_status psr_accel_cuda_settle(const struct psr_accel_search *s,
                                                const struct psr_template_bank *bank,
                                                const struct psr_accel_normalise *norm,
                                                struct psr_accel_place *place, size_t n, int spec,
                                                struct psr_accel_hits *hits, psr_err *err);

#endif
