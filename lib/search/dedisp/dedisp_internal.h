/* dedisp_internal.h: plans of many beams, and of devices (private). */
#ifndef PSR_DEDISP_DEDISP_INTERNAL_H
#define PSR_DEDISP_DEDISP_INTERNAL_H

#include "dedisp_delay.h"
#include <psrkit/experimental/dedisp.h>
#include <psrkit/obs.h>
#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

/* The backend that a plan with this backend name would use, as far as its devices are available;
 * static storage. */
const char *psr_dedisp_backend(const char *name);

/* Computes psr_dedisp_maxshift without creating the plan.
 * Status: as psr_dedisp_create */
PSR_MUST_CHECK psr_status psr_dedisp_measure(const struct psr_dedisp_desc *desc, size_t *maxshift,
                                             psr_err *err);

/* How the delays of a trial differ from unrounded exact ones, over the kept channels, in output
 * samples. */
struct psr_dedisp_smearing {
    double largest, rms;
    double limit;  /* of the largest, from the steps that the plan takes; NAN but for TREE */
    double linear; /* limit of what linear delays within sub-bands of 8 kept channels would add:
                      Barsdell et al. 2012 eqs A1 to A4, for the worst sub-band */
};
/* Takes time proportional to the number of channels.  Without the delays within sub-bands of
 * SUBBAND. */
void psr_dedisp_smearing(const psr_dedisp *p, size_t i, struct psr_dedisp_smearing *out);

/* The part of this delay that kept channel c has within its sub-band at every trial, in input
 * samples before downsampling; 0 for DIRECT. */
int64_t psr_dedisp_predelay(const psr_dedisp *p, size_t c);

/* Output samples per trial that the next execute returns for nsamp more spectra. */
size_t psr_dedisp_ready(const psr_dedisp *p, size_t nsamp);

/* As psr_dedisp_execute, but the series stay on the devices that computed them.
 * Given:    in   as above; read without a copy if allocated by psr_device_pin
 * Returned: *taken, the number of spectra processed (the first ones, as many as there is room for);
 *           *device_series [*ndevice_series] with *nout samples of every trial, owned by the plan.
 *           The caller may overwrite in.
 * Notes:    returns while the devices are still working.  All executes of a stream must be of the
 *           same kind.
 * Status:   PSR_EUNSUPPORTED (the plan runs on the CPU), PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_dedisp_execute_device(psr_dedisp *p, const void *in, size_t nsamp,
                                                    size_t *taken,
                                                    const struct psr_device_series **device_series,
                                                    size_t *ndevice_series, size_t *nout,
                                                    psr_err *err);

/* Status: PSR_EINVAL naming field, value and limit; PSR_EUNSUPPORTED (floats, 32-bit samples; with
 *         backend "cuda" also sums beyond 32 bits);
 *         PSR_ENOMEM if mem_bytes cannot hold all beams, with the amount needed; PSR_EDEVICE if the
 *         backend is not available */
PSR_MUST_CHECK psr_status psr_dedisp_beams_create(psr_dedisp_beams **out,
                                                  const struct psr_dedisp_beams_desc *desc,
                                                  psr_err *err);

struct psr_dedisp_beams_info {
    size_t nline;
    double bytes_beam;   /* state of each beam */
    double bytes_shared; /* of the plan for all beams, output included */
    double adds_direct;  /* additions per spectrum: one per kept channel and output sample */
    double adds_planned; /* those done, for blocks of the longest length */
    double difference;   /* limit of the difference from exact delays, samples of the line */
};
void psr_dedisp_beams_describe(const psr_dedisp_beams *p, struct psr_dedisp_beams_info *info);

/* Trials that sum alike, by rising DM. */
struct psr_dedisp_beams_line {
    size_t downsamp;
    size_t ndm;
    const size_t *trial; /* [ndm] numbers in the description; owned by the plan */
    size_t nband;        /* sub-bands */
    double bytes_beam;   /* of a beam's state */
    double adds_planned; /* per spectrum of the input */
    double adds_direct;  /* the same, one per kept channel and output sample */
    double difference;   /* limit of the difference from exact delays, samples of the line */
};
void psr_dedisp_beams_line(const psr_dedisp_beams *p, size_t line,
                           struct psr_dedisp_beams_line *info);

/* A part of the band, from the highest frequencies down. */
struct psr_dedisp_beams_band {
    double low_mhz, high_mhz; /* centres of its lowest and highest kept channel */
    size_t nkept;
    size_t ndm;
    const size_t *trial; /* [ndm] numbers in the line; owned by the plan */
};
void psr_dedisp_beams_band(const psr_dedisp_beams *p, size_t line, size_t band,
                           struct psr_dedisp_beams_band *info);

/* Delay shift(i) that trial i of a line has had when it comes out, and lag(i,c) of kept channel c,
 * in samples of the line. */
size_t psr_dedisp_beams_shift(const psr_dedisp_beams *p, size_t line, size_t i);
int64_t psr_dedisp_beams_lag(const psr_dedisp_beams *p, size_t line, size_t i, size_t c);

/* Takes the next spectra of a beam.
 * Given:  beam   each beam is a stream of its own
 *         in     [nsamp][nchan] packed as in desc, each spectrum starting on a byte boundary; with
 *                backend "cuda" best in memory of psr_device_pin
 *         nsamp  <= block
 * Notes:  a device is still working when this returns; "in" may be overwritten
 * Status: PSR_EINVAL (beam, nsamp), PSR_ENOMEM, PSR_EDEVICE, after which the plan can only be freed */
PSR_MUST_CHECK psr_status psr_dedisp_beams_execute(psr_dedisp_beams *p, size_t beam, const void *in,
                                                   size_t nsamp, psr_err *err);

/* As psr_dedisp_beams_execute, with spectra on the plan's device, such as the rows of
 * psr_beam_start_device; the device of backend "cpu" is the host's memory.
 * Given:  d_in     [nsamp][nchan] as "in" there; read in place, owned by the caller
 *         stream   cudaStream_t of that device on which they are written: the plan's work waits for what
 *                  has been enqueued there, and what is enqueued there afterwards waits until the spectra
 *                  have been read; NULL: they are complete, and the call returns when they have been read
 * Status: as psr_dedisp_beams_execute */
PSR_MUST_CHECK psr_status psr_dedisp_beams_execute_device(psr_dedisp_beams *p, size_t beam,
                                                          const void *d_in, void *stream,
                                                          size_t nsamp, psr_err *err);

/* Series that the last execute completed. */
struct psr_dedisp_beams_series {
    uint64_t first; /* number of sample 0 in the beam's stream, in samples of the line */
    size_t nsamp;   /* the same for all trials of a line */
    size_t stride;
    const float *out; /* [ndm][stride], owned by the plan, until the next execute; or NULL, */
    struct psr_device_series on_device; /* and the same on a device; nseries is 0 on the CPU */
};
void psr_dedisp_beams_series(const psr_dedisp_beams *p, size_t line,
                             struct psr_dedisp_beams_series *series);

/* The same of the trials of a sub-band. */
void psr_dedisp_beams_band_series(const psr_dedisp_beams *p, size_t line, size_t band,
                                  struct psr_dedisp_beams_series *series);

/* Begins a new stream of a beam. */
void psr_dedisp_beams_reset(psr_dedisp_beams *p, size_t beam);

/* Frees the plan; NULL is allowed. */
void psr_dedisp_beams_destroy(psr_dedisp_beams *p);

/* Defines the delays of tree dedispersion.
 *
 * The kept channels, by falling frequency, form sub-bands of PSR_MERGE_LEAF channels; several
 * adjacent sub-bands form one of the next level, and so on up to the whole band.  A row is a sum
 * over a sub-band: of channels, each with its own delay, or of rows of its parts, each shifted as a
 * whole.  Trials whose delays within a sub-band are nearly equal share a row of it, so that a level
 * has about as many rows as the band has samples of delay, plus a few per sub-band.
 *
 * Rows are chosen from the trials down, so that there are none that no trial uses.  A row stands
 * for a DM and for a fraction of a sample at which its first channel begins.  Delays are those of
 * cold plasma at that DM, rounded once where a part is shifted: to a whole sample, and to one of a
 * few fractions, by which the rows of the part differ.  The steps in DM and the fractions follow
 * from the smearing that is unavoidable there and from a tolerance.
 *
 * After Taylor 1974 (a tree of sub-bands), Zackay & Ofek 2017 (delays of cold plasma at each merge)
 * and Barsdell et al. 2012 section 3. */

enum {
    PSR_MERGE_LEAF = 8,
    PSR_MERGE_MAXRADIX = 16,
    PSR_MERGE_MAXLEVEL = 12,
};

struct psr_merge_level {
    size_t width;    /* kept channels of a sub-band; the last may have fewer */
    size_t radix;    /* parts of a sub-band: channels at level 0, or sub-bands of the level below;
                        the last may have fewer */
    size_t nnode;    /* sub-bands */
    size_t nrow;     /* of all sub-bands */
    int32_t *part;   /* [nrow][radix] the row of each part; NULL at level 0 */
    int32_t *offset; /* [nrow][radix] its shift, output samples, >= 0; the least is 0 */
    int32_t *extent; /* [nrow] largest delay of a channel */
};

struct psr_merge_tree {
    int nlevel;
    struct psr_merge_level level[PSR_MERGE_MAXLEVEL];
    size_t nchan, ndm;
    size_t *order;      /* [ndm] trials by rising DM */
    int32_t *row;       /* [ndm] of the whole band, for each trial */
    int32_t *offset;    /* [ndm] its delay, output samples, >= 0 */
    double *difference; /* [ndm] limit of the difference from the exact delay, output samples */
    double bytes;
};

struct psr_merge_desc {
    size_t nchan, ndm;
    const double *slope; /* [nchan] delay per DM relative to the top of the band, output samples;
                            ascending, >= 0 */
    const double *width; /* [nchan] change of the delay per DM over the channel itself */
    double slope_low;    /* of the bottom of the band */
    const double *dm;    /* [ndm] in any order */
    double tolerance;    /* total over unavoidable smearing, > 1 */
    double bytes;        /* limit */
};

/* Status: PSR_ENOMEM, also beyond the limit, with the amount needed so far.  The tree must be
 * destroyed even then. */
PSR_MUST_CHECK psr_status psr_merge_create(struct psr_merge_tree *tree,
                                           const struct psr_merge_desc *desc, psr_err *err);
void psr_merge_destroy(struct psr_merge_tree *tree);

/* Delay of kept channel k at trial i, output samples. */
int32_t psr_merge_delay(const struct psr_merge_tree *tree, size_t i, size_t k);

/* Largest delay of a channel at trial i, output samples. */
int32_t psr_merge_last(const struct psr_merge_tree *tree, size_t i);

/* Parts of a sub-band of level l. */
size_t psr_merge_parts_of(const struct psr_merge_tree *tree, int l, size_t node);

/* Interface between dedisp.c and a backend.
 *
 * dedisp_layout.c validates the description and computes which channels are summed with
 * which delays, and dedisp.c counts samples, so that all backends agree on these. */

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

/* Runs all lines of a dedispersion plan on one stream of spectra.
 *
 * A line is a run of trials with its own downsampling.  A psr_dedisp_multi holds one psr_dedisp per
 * line; each returns the same bits as if it ran alone.  Common work is done once: on the CPU,
 * spectra are downsampled for a line from the sums of the line with the largest downsampling that
 * divides its own, if these sums are integers that fit into 16 bits and are smaller to read than
 * the spectra.  Devices downsample themselves and receive the spectra once for all lines.
 *
 * It processes a stream as psr_dedisp does.  Not thread-safe: use each object from one thread. */

typedef struct psr_dedisp_multi psr_dedisp_multi;

/* The fields of struct psr_dedisp_desc that differ between lines. */
struct psr_dedisp_multi_line {
    size_t downsamp;
    size_t ndm;
    const double *dm; /* [ndm] copied */
    enum psr_dedisp_algo algo;
    size_t nsub;
    const unsigned char *keep; /* [nchan] its channels; copied; NULL: those of the stream */
};

struct psr_dedisp_multi_desc {
    struct psr_dedisp_desc stream; /* its downsamp, ndm, dm, algo and nsub are ignored */
    size_t nline;
    const struct psr_dedisp_multi_line *line; /* [nline] */
};

/* Notes:  stream.mem_bytes limits all lines together
 * Status: those of psr_dedisp_create */
PSR_MUST_CHECK psr_status psr_dedisp_multi_create(psr_dedisp_multi **out,
                                                  const struct psr_dedisp_multi_desc *desc,
                                                  psr_err *err);

/* Computes psr_dedisp_maxshift of one line without creating plans.
 * Status: as psr_dedisp_multi_create; only this line is checked */
PSR_MUST_CHECK psr_status psr_dedisp_multi_measure(const struct psr_dedisp_multi_desc *desc,
                                                   size_t line, size_t *maxshift, psr_err *err);

/* The plan of a line, for psr_dedisp functions that return shifts and delays, psr_dedisp_describe,
 * and psr_mask_correction_create.  Do not use it for anything else: its spectra are not always
 * those of the stream. */
const psr_dedisp *psr_dedisp_multi_plan(const psr_dedisp_multi *f, size_t line);

/* Number of spectra summed before they reach the plan of a line; 1 if the plan takes the stream's
 * own spectra. */
size_t psr_dedisp_multi_summed(const psr_dedisp_multi *f, size_t line);

/* Suggested spectra per push, for which they, their sums and the output [ndm][ready] of one line at
 * a time fit into mem_bytes beside the plans.  Any other number gives the same bits. */
size_t psr_dedisp_multi_block(const psr_dedisp_multi *f);

/* Samples per trial of a line that nsamp more spectra complete. */
size_t psr_dedisp_multi_ready(const psr_dedisp_multi *f, size_t line, size_t nsamp);

/* Takes the next spectra for all lines.
 * Given:  in   [nsamp][nchan] as in psr_dedisp_execute; must stay unchanged until all lines have
 *              been executed
 * Status: PSR_ENOMEM.  After an error the object can only be destroyed. */
PSR_MUST_CHECK psr_status psr_dedisp_multi_push(psr_dedisp_multi *f, const void *in, size_t nsamp,
                                                psr_err *err);

/* Returns the samples of a line that the last push completed.  Call it once per line and push; out,
 * stride and *nout are as in psr_dedisp_execute.  A line that was skipped once must be skipped from
 * then on.
 * Status: those of psr_dedisp_execute.  After an error the object can only be destroyed. */
PSR_MUST_CHECK psr_status psr_dedisp_multi_execute(psr_dedisp_multi *f, size_t line, float *out,
                                                   size_t stride, size_t *nout, psr_err *err);

/* As psr_dedisp_multi_execute, but the series stay on devices, as with psr_dedisp_execute_device.
 * Returned: *left, spectra of the last push that did not fit: call again until it is 0
 * Status:   those of psr_dedisp_execute_device */
PSR_MUST_CHECK psr_status psr_dedisp_multi_execute_device(
    psr_dedisp_multi *f, size_t line, const struct psr_device_series **device_series,
    size_t *ndevice_series, size_t *nout, size_t *left, psr_err *err);

/* Frees the object; NULL is allowed. */
void psr_dedisp_multi_destroy(psr_dedisp_multi *f);

/* Makes sub-bands, the first of PRESTO's two dedispersion steps.
 *
 * The band is divided into nsub sub-bands of adjacent channels.  Sub-band j is
 *   out[j][t] = 1/ds sum_u sum_c x[c][t ds + u + d(c)], u = 0 .. ds - 1,
 * over its kept channels c, where d(c) is the delay at one DM relative to the highest channel of
 * the sub-band, in whole input samples.  This removes the dispersion within the sub-band for DMs
 * near that one; the delays between sub-bands are left to the second step.
 *
 * A plan processes a stream: each execute takes the next spectra and returns the samples that are
 * complete.  The output does not depend on block lengths or threads; sums of integers are exact up
 * to 2^24. */

typedef struct psr_subband psr_subband;

struct psr_subband_desc {
    size_t nchan;
    const double *freq_mhz; /* [nchan] channel centres in the order of the data, ascending or
                               descending; copied */
    double tsamp_s;         /* of the input */
    int nbit;               /* of the input, like kind */
    enum psr_kind kind;
    size_t downsamp;           /* ds >= 1 */
    size_t nsub;               /* a divisor of nchan */
    double dmconst;            /* MHz^2 s; see ddplan.h */
    double dm;                 /* pc cm^-3, >= 0 */
    const unsigned char *keep; /* [nchan] 0 excludes a channel; NULL keeps all; copied */
    int nthread;               /* 0: all cores */
    int64_t mem_bytes;         /* limit on the spectra that the plan holds; 0: none */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM, with the amount needed if mem_bytes
 *         cannot hold the dispersion sweep.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_subband_create(psr_subband **out, const struct psr_subband_desc *desc,
                                             psr_err *err);

/* The largest d(c), in spectra: the number of spectra lost to the largest delay. */
size_t psr_subband_maxshift(const psr_subband *p);

/* Bytes of the spectra that the plan holds. */
int64_t psr_subband_bytes(const psr_subband *p);

/* Samples per sub-band that the next execute returns for nsamp more spectra. */
size_t psr_subband_ready(const psr_subband *p, size_t nsamp);

/* Given:    in    [nsamp][nchan] packed, each spectrum starting on a byte boundary
 *           out   [nsub][stride]; stride >= psr_subband_ready(p, nsamp)
 * Returned: out[j][0 .. *nout - 1]; sub-band 0 is the lowest in frequency
 * Notes:    a stream of N spectra gives floor((N - maxshift) / ds) samples
 * Status:   PSR_EINVAL (stride) */
PSR_MUST_CHECK psr_status psr_subband_execute(psr_subband *p, const void *in, size_t nsamp,
                                              float *out, size_t stride, size_t *nout,
                                              psr_err *err);

/* Frees the plan; NULL is allowed. */
void psr_subband_destroy(psr_subband *p);

#endif
