/* dedisp.h: incoherent dedispersion of a stream of spectra at many trial DMs.
 *
 *   out[i][t] = (1/ds) sum over kept channels c of x[c][t + d(i,c)],
 *   d(i,c)    = round((delay(DM_i, f_c) - delay(DM_i, f_highest)) / (ds tsamp)),
 *
 * x being the sums of ds consecutive samples.  Integer input of 1 to 16 bits is summed in integers
 * and divided once at the end, so the result has the same bits whatever the backend, the number of
 * threads and the lengths of the blocks pushed.  (Barsdell et al. 2012 eqs 1 to 5; Magro et al.
 * 2011 section 2.)
 *
 * A plan is a stream: each execute takes the next spectra and gives the output samples that have
 * become complete.  It keeps the spectra that later samples need.  One plan, one caller's thread.
 *
 * Of N spectra trial i has max(0, floor(N/ds) - shift(i)) samples that draw on nothing else,
 *
 *   shift(i) = round((delay(DM_i, f_lowest) - delay(DM_i, f_highest)) / (ds tsamp)),
 *
 * over all channels, kept or not (psr_dedisp_shift; with SUBBAND it holds both steps, rounded up).  An
 * execute gives as many samples of every trial, those that the longest sweep, psr_dedisp_maxshift, has
 * completed.  What the others have beyond comes out with (maxshift - shift(i)) ds blank spectra more,
 * and has the same bits whatever those hold; psr_pipeline does that, and its series end there.
 */
#ifndef PSRKIT_DEDISP_H
#define PSRKIT_DEDISP_H

#include <psrkit/device.h>
#include <psrkit/obs.h>

PSR_API_BEGIN

typedef struct psr_dedisp psr_dedisp;

enum psr_dedisp_algo {
    PSR_DEDISP_DIRECT,  /* every trial as defined above */
    PSR_DEDISP_SUBBAND, /* PRESTO's two steps: nsub sub-bands at the mean DM, then each trial */
};

struct psr_dedisp_desc {
    size_t nchan;
    const double *freq_mhz; /* [nchan] channel centres in the order of the data; copied */
    double tsamp_s;         /* of the input */
    int nbit;               /* of the input: 1 2 4 8 16 32 */
    enum psr_kind kind;     /* of the input */
    size_t downsamp;        /* ds >= 1 */
    double dmconst;         /* MHz^2 s; see delays.h */
    size_t ndm;
    const double *dm;          /* [ndm] pc cm^-3, any order, >= 0; copied */
    const unsigned char *keep; /* [nchan] 0 leaves a channel out; NULL keeps all; copied */
    enum psr_dedisp_algo algo;
    int tol;             /* DIRECT: 0 exact; 1 lets each delay be one sample off, for speed */
    size_t nsub;         /* SUBBAND: sub-bands, a divisor of nchan */
    int nthread;         /* 0: all cores */
    int64_t mem_bytes;   /* bound on what the plan may allocate, and what psr_dedisp_block leaves
                            for the caller's blocks; 0: a quarter of the machine */
    const char *backend; /* "auto" "cpu" "cuda"; NULL is "auto" */
    int device;          /* of the backend */
    const int *devices;  /* [ndevice] devices among which trials are split; copied */
    size_t ndevice;      /* 0: device alone */
};

/* Notes:  Tolerance 1 rounds delays inside groups of 16 kept channels only once.  SUBBAND wants the
 *         channels in order of frequency; inside a sub-band it applies the delays of the mean DM
 *         before samples are summed, and delays are against its highest channel, as prepsubband's.
 *         32-bit samples are summed as floats, to 1e-6 of the sum of their absolute values or
 *         better, and the sum does not depend on threads or blocks either.
 * Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM where mem_bytes cannot hold the
 *         sweep, saying how much would; PSR_EDEVICE for a backend asked for and absent. */
PSR_MUST_CHECK psr_status psr_dedisp_create(psr_dedisp **out, const struct psr_dedisp_desc *desc,
                                            psr_err *err);

/* The backend that a plan with such a name in its description would get, as far as its devices are
 * there; static storage. */
const char *psr_dedisp_backend(const char *name);

/* What psr_dedisp_maxshift would say of a plan, without making it.  Status: as psr_dedisp_create. */
PSR_MUST_CHECK psr_status psr_dedisp_measure(const struct psr_dedisp_desc *desc, size_t *maxshift,
                                             psr_err *err);

/* Delay of the lowest channel of the band, kept or not, at the highest DM, in samples of the
 * output: what every trial's series is shorter than the input by. */
size_t psr_dedisp_maxshift(const psr_dedisp *p);

/* Delay of the lowest channel of the band at trial i, in samples of the output. */
size_t psr_dedisp_shift(const psr_dedisp *p, size_t i);

/* Delay the plan applies to kept channel c at trial i, in samples of the output (SUBBAND with
 * downsampling: rounded); the exact delay of a channel that is left out. */
int64_t psr_dedisp_delay(const psr_dedisp *p, size_t i, size_t c);

/* The part of that delay that kept channel c has inside its sub-band at every trial, in samples of
 * the input, before they are downsampled; 0 for DIRECT. */
int64_t psr_dedisp_predelay(const psr_dedisp *p, size_t c);

/* A number of spectra per execute for which they and their output [ndm][ready] fit into mem_bytes
 * beside the plan; any other works too, and gives the same bits. */
size_t psr_dedisp_block(const psr_dedisp *p);

/* Output samples per trial that the next execute would give for nsamp more spectra. */
size_t psr_dedisp_ready(const psr_dedisp *p, size_t nsamp);

/* Given:    in    [nsamp][nchan] packed as desc says, each spectrum from a byte boundary; host
 *           out   [ndm][stride] float, host, caller's; stride >= psr_dedisp_ready(p, nsamp)
 * Returned: out[i][0 .. *nout - 1], the next *nout samples of every trial
 * Notes:    over a whole stream of N spectra each trial gets floor(N/ds) - maxshift samples.
 * Status:   PSR_EINVAL (stride), PSR_ENOMEM, PSR_EDEVICE.  After an error the plan must be reset.
 */
PSR_MUST_CHECK psr_status psr_dedisp_execute(psr_dedisp *p, const void *in, size_t nsamp,
                                             float *out, size_t stride, size_t *nout, psr_err *err);

/* As psr_dedisp_execute, but the series stay on the devices that made them.
 * Given:    in    as above; taken from memory of psr_device_pin without a copy
 * Returned: *taken of the spectra, as many as there is room for, the first ones; *device_series [*ndevice_series] and
 *           *nout samples of every trial, the plan's; in may be overwritten
 * Notes:    comes back while the devices are at work.  Every execute of a stream must be of the
 *           same kind.
 * Status:   PSR_EUNSUPPORTED (the plan is on the CPU), PSR_ENOMEM, PSR_EDEVICE. */
PSR_MUST_CHECK psr_status psr_dedisp_execute_device(psr_dedisp *p, const void *in, size_t nsamp,
                                                    size_t *taken,
                                                    const struct psr_device_series **device_series,
                                                    size_t *ndevice_series, size_t *nout,
                                                    psr_err *err);

/* Forgets the spectra seen: the next execute begins a new stream. */
void psr_dedisp_reset(psr_dedisp *p);

/* What the plan decided, for reports and tests. */
struct psr_dedisp_info {
    const char *backend; /* static storage */
    double adds_direct;  /* per output sample of all trials, one per kept channel and trial */
    double adds_planned; /* after sharing partial sums, recomputation at seams included */
    int64_t bytes;       /* allocated by the plan */
    size_t ndevice;      /* that trials are split over; 0 on the CPU */
    /* Seconds that devices took so far, the slowest; they overlap.  What was copied in for all
     * lines of a fan-out counts in each. */
    double copy_in_s, turn_s, sum_s, copy_out_s;
};
/* Waits for work that is under way. */
void psr_dedisp_describe(const psr_dedisp *p, struct psr_dedisp_info *info);

/* NULL is fine. */
void psr_dedisp_destroy(psr_dedisp *p);

PSR_API_END
#endif
