/* dedisp.h: incoherent dedispersion of a stream of spectra at many trial DMs.
 *
 *   out[i][t] = (1/ds) sum over kept channels c of x[c][t + d(i,c)],
 *   d(i,c)    = round((delay(DM_i, f_c) - delay(DM_i, f_highest)) / (ds tsamp)),
 *
 * where x is the sum of ds consecutive samples.  Integer input of 1 to 16 bits is summed in
 * integers and divided once at the end, so the result has the same bits for every backend, number
 * of threads and block length.  (Barsdell et al. 2012 eqs 1 to 5; Magro et al. 2011 section 2.)
 *
 * A plan processes a stream: each execute takes the next spectra, returns the output samples that
 * are complete, and keeps the spectra that later samples need.  Not thread-safe: use each plan from
 * one thread.
 *
 * TREE sums over a tree of sub-bands and shares sums between trials whose delays are nearly equal:
 *
 *   out[i][t] = (1/ds) sum over kept channels c of x[c][t + d(i,c)],  d from psr_dedisp_delay,
 *
 * with d so near to the exact delays that the total smearing of a pulse of two samples grows by at
 * most the factor "smear".  The smearing counted as unavoidable is that of the pulse, of sampling,
 * of rounding delays and of the dispersion within a channel, added in quadrature.  (Taylor 1974;
 * Barsdell et al. 2012 section 3; Zackay & Ofek 2017.)
 *
 * From N spectra alone, trial i gets max(0, floor(N/ds) - shift(i)) samples, where
 *
 *   shift(i) = round((delay(DM_i, f_lowest) - delay(DM_i, f_highest)) / (ds tsamp))
 *
 * is taken over all channels, kept or not (psr_dedisp_shift; with SUBBAND it covers both steps,
 * rounded up; with TREE it is the largest d(i,c) where that is larger).  An execute returns the same number of samples for every trial, limited by the
 * largest delay, psr_dedisp_maxshift.  To obtain the remaining samples of the other trials, append
 * (maxshift - shift(i)) ds blank spectra; their values do not affect these samples.  psr_pipeline
 * does this and ends each series there. */
#ifndef PSRKIT_DEDISP_H
#define PSRKIT_DEDISP_H

#include <psrkit/device.h>
#include <psrkit/obs.h>

PSR_API_BEGIN

typedef struct psr_dedisp psr_dedisp;

enum psr_dedisp_algo {
    PSR_DEDISP_DIRECT,  /* every trial as defined above */
    PSR_DEDISP_SUBBAND, /* PRESTO's two steps: nsub sub-bands at the mean DM, then each trial */
    PSR_DEDISP_TREE,    /* a tree of sub-bands: fewest additions, delays within "smear" */
};

/* The default of smear. */
#define PSR_DEDISP_SMEAR 1.07

struct psr_dedisp_desc {
    size_t size; /* sizeof the struct */
    size_t nchan;
    const double *freq_mhz; /* [nchan] channel centres in the order of the data; copied */
    double tsamp_s;         /* of the input */
    int nbit;               /* of the input: 1 2 4 8 16 32 */
    enum psr_kind kind;     /* of the input */
    size_t downsamp;        /* ds >= 1 */
    double dmconst;         /* MHz^2 s; see ddplan.h */
    size_t ndm;
    const double *dm;          /* [ndm] pc cm^-3, any order, >= 0; copied */
    const unsigned char *keep; /* [nchan] 0 excludes a channel; NULL keeps all; copied */
    enum psr_dedisp_algo algo;
    int tol;             /* DIRECT: 0 exact; 1 allows an error of one sample in each delay, for
                            speed */
    size_t nsub;         /* SUBBAND: number of sub-bands, a divisor of nchan */
    int nthread;         /* 0: all cores */
    int64_t mem_bytes;   /* limit on the plan's memory plus the blocks that psr_dedisp_block
                            suggests; 0: a quarter of the machine's */
    const char *backend; /* "auto" "cpu" "cuda"; NULL is "auto" */
    int device;          /* of the backend */
    const int *devices;  /* [ndevice] devices that share the trials; copied */
    size_t ndevice;      /* 0: only device */
    double smear;        /* TREE: largest total smearing, as a multiple of the unavoidable one, 1.01
                            to 100; 0: PSR_DEDISP_SMEAR */
};

/* Notes:  With tolerance 1, delays within groups of 16 kept channels are rounded only once.
 *         SUBBAND needs channels in order of frequency; within a sub-band it applies the delays of
 *         the mean DM before samples are summed, relative to the sub-band's highest channel, as
 *         prepsubband does. 32-bit samples are summed as floats with an error of at most 1e-6 of
 *         the sum of their absolute values; this sum too is independent of threads and blocks.
 *         TREE adds 32-bit samples in the order of channels, in single precision within groups of
 *         8 and in double precision above.
 * Status: PSR_EINVAL naming field, value and limit; PSR_EUNSUPPORTED (backend "cuda" with TREE for
 *         32-bit samples or sums beyond 32 bits, which "auto" leaves to the CPU);
 *         PSR_ENOMEM if mem_bytes cannot hold the dispersion sweep, with the amount needed; PSR_EDEVICE if the requested backend is not
 *         available */
PSR_MUST_CHECK psr_status psr_dedisp_create(psr_dedisp **out, const struct psr_dedisp_desc *desc,
                                            psr_err *err);

/* The backend that a plan with this backend name would use, as far as its devices are available;
 * static storage. */
const char *psr_dedisp_backend(const char *name);

/* Computes psr_dedisp_maxshift without creating the plan.
 * Status: as psr_dedisp_create */
PSR_MUST_CHECK psr_status psr_dedisp_measure(const struct psr_dedisp_desc *desc, size_t *maxshift,
                                             psr_err *err);

/* Delay of the lowest channel of the band, kept or not, at the highest DM, in output samples: the
 * number of output samples lost to the largest delay. */
size_t psr_dedisp_maxshift(const psr_dedisp *p);

/* Delay of the lowest channel of the band at trial i, in output samples. */
size_t psr_dedisp_shift(const psr_dedisp *p, size_t i);

/* Delay that the plan applies to kept channel c at trial i, in output samples (rounded for SUBBAND
 * with downsampling); for excluded channels the exact delay. */
int64_t psr_dedisp_delay(const psr_dedisp *p, size_t i, size_t c);

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

/* Suggested spectra per execute, for which input and output [ndm][ready] fit into mem_bytes beside
 * the plan.  Any other number gives the same bits. */
size_t psr_dedisp_block(const psr_dedisp *p);

/* Output samples per trial that the next execute returns for nsamp more spectra. */
size_t psr_dedisp_ready(const psr_dedisp *p, size_t nsamp);

/* Given:    in    [nsamp][nchan] packed as in desc, each spectrum starting on a byte boundary; host
 *           out   [ndm][stride] float, host, owned by the caller; stride >= psr_dedisp_ready(p,
 *                 nsamp)
 * Returned: out[i][0 .. *nout - 1], the next *nout samples of every trial
 * Notes:    a stream of N spectra gives floor(N/ds) - maxshift samples per trial
 * Status:   PSR_EINVAL (stride), PSR_ENOMEM, PSR_EDEVICE.  After an error the plan must be reset.
 */
PSR_MUST_CHECK psr_status psr_dedisp_execute(psr_dedisp *p, const void *in, size_t nsamp,
                                             float *out, size_t stride, size_t *nout, psr_err *err);

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

/* Discards the spectra seen: the next execute begins a new stream. */
void psr_dedisp_reset(psr_dedisp *p);

/* Properties of the plan, for reports and tests. */
struct psr_dedisp_info {
    const char *backend; /* static storage */
    double adds_direct;  /* additions per output sample of all trials: one per kept channel and
                            trial */
    double adds_planned; /* with shared partial sums, including recomputation at block boundaries */
    int64_t bytes;       /* allocated by the plan */
    size_t ndevice;      /* devices that share the trials; 0 on the CPU */
    /* Seconds spent on devices so far, on the slowest one; they overlap.  Input copied once for all
     * lines of a psr_dedisp_multi counts in each line. */
    double copy_in_s, cornerturn_s, sum_s, copy_out_s;
    double difference; /* TREE: limit of the difference from exact delays, output samples; 0 for
                          others */
};
/* Waits until running work is complete. */
void psr_dedisp_describe(const psr_dedisp *p, struct psr_dedisp_info *info);

/* Frees the plan; NULL is allowed. */
void psr_dedisp_destroy(psr_dedisp *p);

PSR_API_END
#endif
