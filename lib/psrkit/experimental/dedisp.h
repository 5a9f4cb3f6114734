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
    bool late;           /* DIRECT and TREE: samples come out when their lowest channel has come in,
                            out[i][t] is sample t - shift(i) of the trial as it is otherwise, and
                            samples of spectra before the first are 0: the first shift(i) of a
                            trial lack channels.  A stream of N spectra gives floor(N/ds) samples.
                            On the CPU only */
};

/* Notes:  With tolerance 1, delays within groups of 16 kept channels are rounded only once.
 *         SUBBAND needs channels in order of frequency; within a sub-band it applies the delays of
 *         the mean DM before samples are summed, relative to the sub-band's highest channel, as
 *         prepsubband does. 32-bit samples are summed as floats with an error of at most 1e-6 of
 *         the sum of their absolute values; this sum too is independent of threads and blocks.
 *         TREE adds 32-bit samples in the order of channels, in single precision within groups of
 *         8 and in double precision above.
 * Status: PSR_EINVAL naming field, value and limit; PSR_EUNSUPPORTED (backend "cuda" with late, or
 *         with TREE for 32-bit samples or sums beyond 32 bits, which "auto" leaves to the CPU);
 *         PSR_ENOMEM if mem_bytes cannot hold the dispersion sweep, with the amount needed; PSR_EDEVICE if the requested backend is not
 *         available */
PSR_MUST_CHECK psr_status psr_dedisp_create(psr_dedisp **out, const struct psr_dedisp_desc *desc,
                                            psr_err *err);

/* Delay of the lowest channel of the band, kept or not, at the highest DM, in output samples: but
 * with late, the number of output samples lost to the largest delay. */
size_t psr_dedisp_maxshift(const psr_dedisp *p);

/* Delay of the lowest channel of the band at trial i, in output samples. */
size_t psr_dedisp_shift(const psr_dedisp *p, size_t i);

/* Delay that the plan applies to kept channel c at trial i, in output samples (rounded for SUBBAND
 * with downsampling); for excluded channels the exact delay.  With late less shift(i), so that it is
 * 0 or below. */
int64_t psr_dedisp_delay(const psr_dedisp *p, size_t i, size_t c);

/* Suggested spectra per execute, for which input and output [ndm][ready] fit into mem_bytes beside
 * the plan.  Any other number gives the same bits. */
size_t psr_dedisp_block(const psr_dedisp *p);

/* Given:    in    [nsamp][nchan] packed as in desc, each spectrum starting on a byte boundary; host
 *           out   [ndm][stride] float, host, owned by the caller; stride >= psr_dedisp_ready(p,
 *                 nsamp)
 * Returned: out[i][0 .. *nout - 1], the next *nout samples of every trial
 * Notes:    a stream of N spectra gives floor(N/ds) - maxshift samples per trial
 * Status:   PSR_EINVAL (stride), PSR_ENOMEM, PSR_EDEVICE.  After an error the plan must be reset.
 */
PSR_MUST_CHECK psr_status psr_dedisp_execute(psr_dedisp *p, const void *in, size_t nsamp,
                                             float *out, size_t stride, size_t *nout, psr_err *err);

/* Discards the spectra seen: the next execute begins a new stream. */
void psr_dedisp_reset(psr_dedisp *p);

/* Properties of the plan, for reports and tests. */
struct psr_dedisp_info {
    size_t size;         /* sizeof the struct */
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
void psr_dedisp_describe_sized(const psr_dedisp *p, struct psr_dedisp_info *info, size_t size);
#define psr_dedisp_describe(p, info) psr_dedisp_describe_sized((p), (info), sizeof *(info))

/* Frees the plan; NULL is allowed. */
void psr_dedisp_destroy(psr_dedisp *p);

/* --- many beams ------------------------------------------------------------------------------- */

/* Dedisperses many beams at many trial DMs while they arrive, with tree sums.
 *
 *   out[i][t] = (1/n) sum over kept channels c of y[c][t - lag(i,c)],
 *   y[c][t]   = sum over u < n of x[c][n t + u],
 *   lag(i,c)  = shift(i) - d(i,c),
 *
 * where n is the trial's number of samples summed, d its delays as of a psr_dedisp with algo TREE
 * and downsamp n, and shift the largest.  So a burst comes out when it has come in, at the time of
 * the lowest channel: out[i][t] is sample t - shift(i) of psr_dedisp.  Samples before the start of
 * a stream are blank, 0: the first shift(i) of a trial lack channels.
 *
 * Time scrunching: a trial sums the more samples the more dispersion smears within a channel
 * (psr_scrunch); trials that sum alike form a line.  Lines take their samples from one another, so
 * each channel is kept once: as single samples for the delays of the first line, as sums for those
 * beyond.  Integers only, exact, and the same bits for any number of threads and blocks.
 *
 * Sub-bands: a burst may be in a part of the band only.  The upper levels of the tree have the sums
 * of parts of the band; a band of a line is a run of adjacent parts.  Its trials are those between
 * which the delay changes by a sample over it, numbered and timed as those of the whole band.
 *
 * One plan serves all beams, whose states are their samples.  (Barsdell et al. 2012 sections 2.1
 * and 3; Taylor 1974; Zackay & Ofek 2017.)  Not thread-safe: use each plan from one thread. */
typedef struct psr_dedisp_beams psr_dedisp_beams;

enum { PSR_DEDISP_BEAMS_MAXHALVE = 4 };

struct psr_dedisp_beams_desc {
    size_t size; /* sizeof the struct */
    size_t nbeam;
    size_t nchan;
    const double *freq_mhz; /* [nchan] channel centres in any order, of any widths; copied */
    double tsamp_s;
    int nbit;           /* of the input: 1 2 4 8 16 */
    enum psr_kind kind; /* of the input: PSR_UINT or PSR_INT */
    double dmconst;     /* MHz^2 s; see ddplan.h */
    size_t ndm;
    const double *dm;          /* [ndm] pc cm^-3, any order, >= 0; copied */
    const unsigned char *keep; /* [nchan] 0 excludes a channel; NULL keeps all; copied */
    double smear;              /* as in psr_dedisp_desc */
    double scrunch; /* ratio of psr_scrunch, with the mean smearing of a channel; 0: no line sums */
    size_t block;   /* spectra of an execute, at most */
    size_t nhalve;  /* sub-bands of 1/2, 1/4 .. 2^-nhalve of the parts of the band, each overlapping
                       the next one by half; 0: none */
    int nthread;    /* 0: all cores */
    int64_t mem_bytes; /* limit; 0: a quarter of the machine's memory; on a device, what is free */
    const char *backend; /* "cpu" "cuda"; NULL is "cpu" */
    int device;          /* of the backend */
    const size_t
        *downsamp; /* [ndm] samples that each trial sums, 1 to 65536, instead of scrunch: of the
                               numbers each a multiple of the next smaller one; copied; NULL: by scrunch */
    bool
        aligned; /* the trials of a line come out together, as those of a psr_dedisp: shift(i) of all is
                     that of the line's longest sweep.  A beam's state is up to twice as large */
};

PSR_API_END
#endif
