/* ffa.h: searches time series for slow pulsars with the fast folding algorithm (Staelin 1969; Morello
 * et al. 2020, MNRAS 497, 4654).
 *
 * A range of periods has profiles of bmin .. bmax bins.  Its trials lie on a ladder that depends only
 * on the series and on bmin and bmax: step k has samples of
 *
 *   t_k = tsamp f_k,   f_k = ((bmax + 1) / bmin)^k,   k = 0, 1, 2 ..       (sampling of the step)
 *
 * each the sum of the samples of the series between the boundaries j f_k and (j + 1) f_k, rounded to
 * samples, or for f_k >= 128 to 2, 4, 8 .. samples, at most f_k / 64.  The n_k samples of a step are
 * folded with every b = bmin .. bmax as m = floor(n_k / b) rows of b bins, at least 3, with the shifts
 *
 *   s = 0 .. m - 1,   p(s) = t_k b^2 / (b - s / (m - 1)),   p(s) < t_k (b + 1)      (eq. 8)
 *
 * by the recursion of section 2.2: rows of the sum of m rows are sums of a row of the first
 * floor(m / 2) rows and a row of the rest, each with the shift s (rows - 1) / (m - 1), rounded, of its
 * own.  A trial is searched if pmin <= p(s) < pmax.  Its S/N is therefore the same to the last bit for
 * every pmin and pmax that hold it.
 *
 * S/N.  For profile x of b bins, the largest over all widths w and phases i of
 *
 *   z = ((h + g) sum_{i <= j < i + w} x_j - g sum_j x_j) / (sigma sqrt(f_k m))
 *   h = sqrt((b - w) / (b w)),   g = h w / (b - w)
 *
 * a boxcar of zero mean and unit square; w = 1, 2, 3, 4, 6, 9, 13, 19, 28, 41, 60 .. (each is the sum of
 * the one before it and of the third before it, a factor of at most 1.5 from 2 on), up to ducymax bmin.
 * sigma is the noise of one sample of the series: the median over blocks of 1024 samples of the variance
 * about the mean of each block (corrected for the median of chi^2), from blocks without gaps.  A slow
 * pulsar and a burst change few blocks, and red noise slower than a block none; so z is that of
 * white noise.  For f_k below 17 it is lower than riptide's, whose noise is that of one interpolated
 * bin, sigma sqrt(f_k - 1/3), for a boxcar of any width.
 *
 * Baseline.  From the samples of a step their running median is subtracted: of the means of about 25
 * parts of a window of two periods, the longest of the step, with straight lines between the parts.
 *
 * Transforms are of saturating 16-bit integers with u = 8 units per sigma of a sample of the step, or
 * fewer, u = 32767 / (52.5 sqrt(m)), for more than 6086 rows; from 18400 rows on, where rounding would
 * cost 0.2 % of S/N, of floats.  A profile saturates at an S/N above 50 only, and its S/N is then at
 * least 50.
 *
 * Gaps are not folded as zeros: each bin counts its samples; with N those of the boxcar and M all, z = (sum x - N / (M - N) sum_outside x) / (sigma sqrt(f_k N M / (M - N))).
 *
 * Not thread-safe: use each plan from one thread; plans are independent of each other.  Results do not
 * depend on the number of threads or the batch, and are the same to the bit on every backend. */
#ifndef PSRKIT_FFA_H
#define PSRKIT_FFA_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/obs.h>
#include <psrkit/series.h>

PSR_API_BEGIN

typedef struct psr_ffa psr_ffa;

enum {
    PSR_FFA_MAX_RANGE = 16,
    PSR_FFA_MAX_BINS = 4096,
    PSR_FFA_MIN_ROWS = 3, /* periods of which fewer fit into the series are not searched */
};

/* Trial periods of one range. */
struct psr_ffa_range {
    double pmin_s, pmax_s; /* pmin_s <= p < pmax_s; pmin_s is at least bmin samples */
    int bmin, bmax;        /* bins of a profile, 8 or more; 0, 0: 240, 260 */
    double ducymax;        /* widest boxcar, of bmin bins; 0: 0.3; at most 0.5 */
};

struct psr_ffa_desc {
    size_t size;  /* sizeof the struct */
    size_t nsamp; /* of every series, 4096 or more */
    double tsamp_s;
    const struct psr_ffa_range *range; /* [nrange] ascending; they may touch, not overlap; copied */
    size_t nrange;                     /* 0: those of psr_ffa_default_ranges */
    double rmed_s;              /* window of the running median; 0: two periods; < 0: no median
                                          is subtracted, so that a baseline may saturate integers */
    double sigma;               /* threshold of peaks; 0: one false alarm in ten series of
                                          noise, of this length and these ranges */
    const struct psr_span *gap; /* [ngap] samples without data in every series, in any order;
                                          copied */
    size_t ngap;
    bool floats;  /* transforms in floats throughout */
    size_t batch; /* largest number of series per execute; 0: 1 */

    int nthread;         /* 0: all cores */
    int64_t mem_bytes;   /* limit on the plan's memory; 0: a quarter of the machine's */
    const char *backend; /* "auto" "cpu" "cuda"; NULL is "auto" */
    int device;

    bool (*should_stop)(void *ctx); /* polled by any thread, often, on the CPU; NULL: never */
    void *ctx;
    /* Told how much of an execute is done on the CPU, by one thread at a time; NULL: not. */
    void (*progress)(void *ctx, int64_t done, int64_t total);
};

/* Trials above the threshold of which each is within half a turn over the series of the next in
 * frequency, |df| <= 0.5 / (nsamp tsamp). */
struct psr_ffa_peak {
    double period_s, freq_hz, snr; /* of the best trial */
    double width_s, duty;          /* of its best boxcar, in seconds and of a period */
    int nbin, range, step;         /* its bins, range, and step k of the ladder */
    double lo_hz, hi_hz;           /* lowest and highest frequency of the trials */
    size_t ntrial;                 /* their number */
    size_t trial;                  /* the best one, an index as in psr_ffa_trials */
};

/* Results of an execute for one series, owned by the plan and valid until the next execute. */
struct psr_ffa_result {
    const struct psr_ffa_peak *peak; /* [npeak] strongest first */
    size_t npeak;
    int64_t
        bad; /* the lowest sample, outside gaps, that is not finite: such a series is not searched;
                    -1: none */
    double rms; /* noise of a sample, sigma above; 0: the series is constant, and not searched */
};

/* Ranges for a series: 0.2 to 0.5 s with 240 to 260 bins, 0.5 to 2 s with 480 to 520, 2 to 120 s with
 * 960 to 1040, cut to periods that the series holds.
 * Returned: number of ranges; 0: too short or too coarse for any */
size_t psr_ffa_default_ranges(size_t nsamp, double tsamp_s,
                              struct psr_ffa_range range[PSR_FFA_MAX_RANGE]);

/* Status: PSR_EINVAL naming field, value and limit, also if no trial period lies in any range;
 *         PSR_ENOMEM; PSR_EDEVICE if the requested backend is not available */
PSR_MUST_CHECK psr_status psr_ffa_create(psr_ffa **out, const struct psr_ffa_desc *desc,
                                         psr_err *err);

/* Given:    in [nseries], each [nsamp]; nseries <= batch; what is in gaps is not read as data
 * Returned: result [nseries]
 * Status:   PSR_EINVAL (nseries), PSR_ENOMEM, PSR_EDEVICE, PSR_ESTOPPED if should_stop returned
 *           true */
PSR_MUST_CHECK psr_status psr_ffa_execute(psr_ffa *p, size_t nseries, const float *const *in,
                                          struct psr_ffa_result *result, psr_err *err);

struct psr_ffa_info {
    size_t size;         /* sizeof the struct */
    const char *backend; /* static storage */
    size_t ntrial;       /* of a series */
    size_t nstep;        /* of the ladders of all ranges */
    size_t nwidth_max;   /* most boxcar widths of a range */
    double sigma;        /* threshold */
    double ntrial_eff;   /* number of independent trials that the default threshold is for */
    int64_t bytes;       /* allocated by the plan */
};
void psr_ffa_describe_sized(const psr_ffa *p, struct psr_ffa_info *info, size_t size);
#define psr_ffa_describe(p, info) psr_ffa_describe_sized((p), (info), sizeof *(info))

/* Trial periods, the same for every series of the plan, in order of range, step, bins, shift: period
 * rises within a range, but for the last trials of a number of bins.
 * Returned: period_s [ntrial] */
void psr_ffa_trials(const psr_ffa *p, double *period_s);

/* Computes S/N of all trials of series s of the last execute, whose input must still be valid.
 * Returned: snr [ntrial], the best over widths; width [ntrial] in bins, or NULL.  All 0 for a series
 *           that was not searched
 * Status:   PSR_EINVAL (s), PSR_ENOMEM, PSR_EDEVICE, PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psr_ffa_periodogram(psr_ffa *p, size_t s, float *snr, int *width,
                                              psr_err *err);

/* Frees the plan; NULL is allowed. */
void psr_ffa_destroy(psr_ffa *p);

/* --- searches that end in a list --------------------------------------------------------------- */

/* Searches series for slow pulsars as gpuffa does, in batches of one shape, and makes one list of what it finds at all
 * DMs.
 *
 *   psr_ffasearch_defaults(&d);
 *   st = psr_ffasearch_create(&f, &d, &err);
 *   st = psr_ffasearch_plan(f, &shape, n, &info, &err);   for n inputs of one shape
 *   for each input: st = psr_ffasearch_prepare(f, x, nsamp, tsamp_s, &err);
 *   for each batch, of at most psr_ffasearch_info.batch inputs:
 *       st = psr_ffasearch_execute(f, n, in, &err);
 *       st = psr_ffasearch_take(f, i, &inf, &err);
 *   st = psr_ffasearch_merge(f, &list, &err);
 *   st = psr_ffa_list_write(file, &list, &err);
 *
 * Results do not depend on the batch or the number of threads. */

typedef struct psr_ffasearch psr_ffasearch;

/* Call psr_ffasearch_defaults first, then set fields.  Pointers are borrowed.
 *
 * Without bmin there are three ranges of periods, of 0.2 to 0.5 s (240 to 260 bins a profile), to 2 s (480 to 520)
 * and to 120 s (960 to 1040); pmin and pmax cut or extend the first and the last.  Where samples are too long for so
 * many bins, a range has those of a range before it.  Given bmin, there is one range. */
struct psr_ffasearch_desc {
    size_t size;
    double pmin_s,
        pmax_s; /* periods; 0: 0.2 s (or the shortest that has so many bins), and 120 s, but a tenth of the
                              series at most; a quarter of it is the limit of what is given */
    int64_t bmin, bmax; /* bins of a profile; 0: those of the ranges; bmax 0: bmin and a twelfth */
    double ducymax;     /* widest boxcar, of a period; 0: chosen */
    double sigma;       /* threshold of S/N; 0: one false alarm in ten series of noise */
    double rmed_s; /* window of the running median that is subtracted; 0: chosen; below 0: none */
    bool floats;   /* as in psr_ffa_desc */
    const struct psr_zaplist *zaplist; /* frequencies whose detections are left out; NULL: none */
    double baryv;                      /* as in psr_zaplist_bins */

    const char *device; /* as for psr_device_choose; default "auto" */
    int64_t nthread;    /* threads; 0: all cores */
    int64_t mem_bytes;  /* 0: chosen */
    int64_t batch;      /* inputs searched at once; 0: chosen */

    bool (*should_stop)(void *ctx); /* polled by any thread, often; NULL: never */
    void *ctx;

    /* All inputs are epochs of one position, of one DM and shape but for gaps: one list of what they hold together.  S/N
     * of a row is that of one epoch that is as improbable as all of them. */
    bool stack;

    /* Told how much of an execute is done on the CPU, by one thread at a time; NULL: not. */
    void (*progress)(void *ctx, int64_t done, int64_t total);
};

void psr_ffasearch_set_defaults(struct psr_ffasearch_desc *desc, size_t size);
#define psr_ffasearch_defaults(desc) psr_ffasearch_set_defaults((desc), sizeof *(desc))

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffasearch_create(psr_ffasearch **out,
                                               const struct psr_ffasearch_desc *d, psr_err *err);

enum { PSR_FFASEARCH_GAPS = 256, PSR_FFASEARCH_RANGES = 3 };

/* Inputs that one plan can search. */
struct psr_ffasearch_shape {
    int64_t nsamp;
    double tsamp_s;
    struct psr_span gap[PSR_FFASEARCH_GAPS]; /* [ngap] samples without data, ascending */
    size_t ngap;
};

/* That of a series with this description, of nsamp samples: without the padding at its end, but for at most 1/64 of
 * them. */
struct psr_ffasearch_shape psr_ffasearch_shape_of(const struct psr_inf *inf, int64_t nsamp);

/* True if there is a plan for inputs of this shape. */
bool psr_ffasearch_fits(const psr_ffasearch *f, const struct psr_ffasearch_shape *shape);

/* A plan. */
struct psr_ffasearch_info {
    size_t size;                                      /* sizeof the struct */
    struct psr_ffa_range range[PSR_FFASEARCH_RANGES]; /* [nrange] searched */
    size_t nrange;
    bool cut;      /* pmax is above a quarter of the series, and was not searched */
    size_t batch;  /* inputs that are searched at once */
    size_t ntrial; /* trial periods */
    double sigma;  /* threshold of S/N */
};

/* Makes the plan for inputs of a shape, unless it is there; frees the one before.
 * Given:    ninput   that are to come
 * Returned: *info; NULL: not wanted
 * Status:   PSR_EINVAL naming the field (series too short for the periods, periods too short for the sampling);
 *           PSR_EUNSUPPORTED for series too short for any search; those of psr_ffa_create.  There is no plan then. */
PSR_MUST_CHECK psr_status psr_ffasearch_plan_sized(psr_ffasearch *f,
                                                   const struct psr_ffasearch_shape *shape,
                                                   size_t ninput, struct psr_ffasearch_info *info,
                                                   size_t size, psr_err *err);
#define psr_ffasearch_plan(f, shape, ninput, info, err)                                            \
    psr_ffasearch_plan_sized((f), (shape), (ninput), (info), sizeof(struct psr_ffasearch_info),    \
                             (err))

/* Takes red noise out of a series, for execute: if it is three times as strong as white noise anywhere below 25 Hz, it
 * becomes as strong there.  Nothing where there is none, with rmed_s, or if a sample is not finite.  Thread-safe.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffasearch_prepare(const psr_ffasearch *f, float *x, int64_t nsamp,
                                                double tsamp_s, psr_err *err);

struct psr_ffasearch_input {
    const char *name; /* in messages */
    const float *x;   /* [nsamp] */
};

/* Searches n inputs, at most a batch.
 * Status: PSR_ENOMEM, PSR_EDEVICE, PSR_ESTOPPED if should_stop returned true */
PSR_MUST_CHECK psr_status psr_ffasearch_execute(psr_ffasearch *f, size_t n,
                                                const struct psr_ffasearch_input *in, psr_err *err);

/* Keeps what was found in input i of the last execute, for psr_ffasearch_merge.
 * Given:  inf   of the series; its DM is that of the trial
 * Status: PSR_EFORMAT (a sample that is not finite), PSR_EINVAL (another DM, frame or number of samples than those of
 *         the stack), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffasearch_take(psr_ffasearch *f, size_t i, const struct psr_inf *inf,
                                             psr_err *err);

/* A candidate: the detections of one frequency at all DMs. */
struct psr_ffa_row {
    double period_s, freq_hz, dm, snr, width_s, duty; /* of its strongest detection */
    int nbin;
    unsigned marks;                 /* of enum psr_sift_mark */
    const struct psr_sift_hit *hit; /* [nhit] by DM */
    size_t nhit;
};

struct psr_ffa_list {
    const struct psr_ffa_row *row; /* [n] strongest first */
    size_t n;
    size_t nharmonic;   /* detections that were removed as harmonics of better ones */
    size_t nzapped;     /* and as those of frequencies of the zaplist */
    double tobs_s;      /* of the first series */
    struct psr_inf inf; /* likewise */
};

/* Joins what was kept of series of one observation, at different DMs, and forgets it: detections of one frequency become
 * one row, harmonics of better ones are removed, marks are those of psr_sift_execute.
 * Returned: *list, valid until the next merge; without series it has no row
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_ffasearch_merge(psr_ffasearch *f, struct psr_ffa_list *list,
                                              psr_err *err);

/* Frees the object; NULL is allowed. */
void psr_ffasearch_destroy(psr_ffasearch *f);

/* Writes a header and a row for each candidate, as psrkit-formats(5) describes it.
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_ffa_list_write(psr_outfile *f, const struct psr_ffa_list *list,
                                             psr_err *err);

PSR_API_END
#endif
