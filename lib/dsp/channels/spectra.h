/* spectra.h: coded voltages to detected spectra on a device (private).
 *
 * What psr_baseband_read, psr_channelise_execute and psr_detect do one after the other on the host, in
 * one plan: the voltages go to the device as they are coded, and sums of tsum detected spectra come
 * back.  Sums are over the same values in the same order; transforms are cuFFT's, so that powers
 * differ by some 1e-7 of the mean.  Results do not depend on the length of blocks.
 *
 * A block is pushed while another is under way: push, push, collect, push, collect, ...  Not
 * thread-safe: use each plan from one thread; blocks are filled by another. */
#ifndef PSR_DSP_CHANNELS_SPECTRA_H
#define PSR_DSP_CHANNELS_SPECTRA_H

#include "formats/voltages/baseband.h"
#include <fftw3.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Products of the voltages p and q of two polarisations; a single one has only PSR_DETECT_EACH. */
enum psr_detect {
    PSR_DETECT_EACH,      /* |p|^2, |q|^2 */
    PSR_DETECT_COHERENCE, /* |p|^2, |q|^2, Re p* q, Im p* q */
    PSR_DETECT_STOKES,    /* I Q U V for a linear basis: |p|^2 + |q|^2, |p|^2 - |q|^2, 2 Re p* q,
                             2 Im p* q */
    PSR_DETECT_STOKES_CIRCULAR, /* for p left and q right: V is the second product of these, Q and U
                                   the last two */
};

/* Products per channel for npol polarisations. */
size_t psr_detect_nproduct(enum psr_detect what, size_t npol);

/* Spectra of products, each the sum over tsum spectra of voltages and fsum channels.
 * Given:    v      [nspectrum][npol][nchan] complex pairs
 *           good   [nspectrum]: those not good add nothing
 *           x, weight   zero, or what is left of a call before
 *           fill   spectra that are in x[0] already, below tsum
 * Returned: x      [(fill + nspectrum + tsum - 1) / tsum][nproduct][nchan / fsum]
 *           weight   [the same rows]: good spectra in each
 * Notes:    channels that are left over by fsum are the last ones, and are dropped */
void psr_detect(enum psr_detect what, const float *v, size_t nspectrum, size_t npol, size_t nchan,
                const bool *good, size_t tsum, size_t fsum, size_t fill, float *x, uint32_t *weight,
                int nthread);

/* Divides a stream of voltages into frequency channels, and removes the dispersion
 * within them.
 *
 * Input channel j holds voltages sampled at the rate of its bandwidth (complex) or twice that
 * (real).  The plan divides each into n = nchan / nchan_in channels.  With N = n nfft complex or 2 n nfft real
 * samples in a segment, segment s is
 *
 *   y[u]    = sum over k < ntap of w[k N + u] x[s step + k N + u],        0 <= u < N,
 *   Y[b]    = (1/B) sum over u of y[u] exp(-2 pi i b u / N),             B = n nfft bins,
 *
 * with the bins in order of frequency: b from -floor(B/2) to B - 1 - floor(B/2) for complex
 * voltages, whose frequency 0 is the centre of the input channel, and 0 to B - 1 for real ones,
 * whose frequency 0 is its edge.  Output channel i takes the nfft bins from i nfft on, times the
 * response H of dedispersion, and transforms them back:
 *
 *   v[s keep + m] = sum over q < nfft of H[q] Y[i nfft + q] exp(2 pi i (q - floor(nfft/2)) (m + early) / nfft)
 *
 * for 0 <= m < keep = nfft - early - late, and step = keep n samples (twice that for real ones).
 * With bw_mhz below 0, H and v are the conjugates of these.  A complex tone of amplitude A in the
 * middle of a channel, at the frequency of a bin, has amplitude A there; so has a real one: the
 * output is that of the analytic signal.
 *
 *   ntap 1, nfft 1    one transform for each spectrum
 *   ntap > 1, nfft 1  a polyphase filterbank: w is a sinc of one channel's width under a Hann
 *                     window, with a sum of N
 *   nfft > 1          a convolving filterbank: channels with sharp edges, and with dm > 0 coherent
 *                     dedispersion.  (Hankins & Rickett 1975; van Straten & Bailes 2011 section 3.2.)
 *
 * H[q] = exp(-2 pi i 10^6 dmconst dm d^2 / (f c^2)) at sky frequency f = c + d for a channel with
 * centre c, in MHz.  Delays between channels remain: they are those of psr_delay_s between the
 * centres.  early and late are what this delay can shift within a channel: of a channel with centre
 * c and width b it is delay(c) - delay(c + b/2) and delay(c - b/2) - delay(c), for the lowest
 * channel, in output samples, times 1.1 and rounded up; both are 0 for dm 0.
 *
 * A plan processes a stream: each execute takes the next voltages, returns the spectra that are
 * complete, and keeps what later ones need.  Results have the same bits with any number of threads
 * and any block lengths.  Not thread-safe: use each plan from one thread. */

typedef struct psr_channelise psr_channelise;

enum {
    PSR_CHANNELISE_CHAN_MAX = 1 << 20,
    PSR_CHANNELISE_TAPS_MAX = 64,
    PSR_CHANNELISE_FFT_MAX = 1 << 28, /* samples of a segment, all taps */
};

struct psr_channelise_desc {
    size_t size;             /* sizeof the struct */
    size_t nchan_in;         /* input channels */
    size_t npol;             /* polarisations, 1 or 2; each is treated alike */
    bool real;               /* samples are real; otherwise complex */
    double freq_mhz, bw_mhz; /* centre and width of the whole band; bw_mhz is negative if the
                                first channel is the highest, and frequencies run down within each:
                                lower sideband */
    size_t nchan;            /* output channels, a multiple of nchan_in */
    size_t ntap;             /* of the polyphase filterbank; 0 or 1: none */
    size_t nfft;             /* transform back; 0: 1, or chosen for dm */
    double dm, dmconst; /* coherent dedispersion within channels, pc cm^-3; MHz^2 s, see ddplan.h */
    int nthread;        /* 0: all cores */
    const char *backend; /* "auto" "cpu"; NULL is "auto" */
};

/* Status: PSR_EINVAL naming field, value and limit (nfft too short for dm, with what is needed);
 *         PSR_EUNSUPPORTED (a polyphase filterbank with nfft above 1 or dm); PSR_EDEVICE (another
 *         backend); PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_channelise_create(psr_channelise **out,
                                                const struct psr_channelise_desc *desc,
                                                psr_err *err);

/* Spectra that the next execute returns for nsamp more samples. */
size_t psr_channelise_ready(const psr_channelise *p, size_t nsamp);

/* Given:    in      [nchan_in][npol][nsamp] floats, or pairs of them for complex voltages: the next
 *                   samples
 *           wanted  [psr_channelise_ready(p, nsamp)] which spectra are used; NULL: all.  Segments
 *                   without any are not transformed, and take no time; their samples may be anything
 * Returned: out    [psr_channelise_ready(p, nsamp)][npol][nchan] complex pairs, channels from the
 *                  highest frequency to the lowest, and frequency running up within each; as it was
 *                  where a segment was not transformed
 *           *nout  spectra
 * Status:   PSR_ENOMEM; the plan is as before then */
PSR_MUST_CHECK psr_status psr_channelise_execute(psr_channelise *p, const float *in, size_t nsamp,
                                                 const bool *wanted, float *out, size_t *nout,
                                                 psr_err *err);

/* What a plan does, in the units of its description. */
struct psr_channelise_shape {
    size_t segment, step; /* input samples of a segment, and from one to the next */
    size_t keep;          /* spectra of a segment */
    size_t nfft, early, late;
    double tsamp_s; /* of spectra */
    double first_s; /* from the start of the first sample in to that of the first spectrum:
                              with taps, the spectrum is in the middle of its segment */
};

void psr_channelise_describe(const psr_channelise *p, struct psr_channelise_shape *shape);

/* Centre of output channel c, MHz: the mean over its bins.  With nfft 1 and complex voltages, the centre
 * of the band is the frequency of a channel, not the edge of one. */
double psr_channelise_freq_mhz(const psr_channelise *p, size_t c);

/* Frees the plan; NULL is allowed. */
void psr_channelise_destroy(psr_channelise *p);

struct psr_channelise {
    struct psr_channelise_desc d; /* the resolved one */
    size_t n;                     /* output channels of an input channel */
    size_t nbin;                  /* of an input channel */
    size_t ndim;                  /* floats of an input sample */
    struct psr_channelise_shape shape;
    float *window;   /* [ntap][nbin samples]; NULL: one tap */
    float *response; /* [nchan][nfft] complex, channels as in the input; NULL: dm 0 */
    fftwf_plan forward, back;
    int nthread;
    struct psr_channelise_scratch *scratch; /* [nthread] */
    float *held; /* [nchan_in npol][nheld] samples that are still needed */
    size_t nheld;
};

/* One thread's arrays, aligned alike for FFTW. */
struct psr_channelise_scratch {
    float *x;            /* a segment */
    fftwf_complex *bins; /* its spectrum */
    fftwf_complex *part; /* the bins of one channel */
};

/* --- transforms (channelise.c) --- */

/* Samples of all input channels and polarisations, and the segments that begin there. */
struct psr_channelise_samples {
    const float *x; /* [nchan_in npol][stride samples] */
    size_t stride, nsegment;
    const bool *wanted; /* [nsegment keep] spectra; NULL: all */
    float *out;         /* [nsegment keep][npol][nchan] */
};

typedef struct psr_spectra psr_spectra;

/* --- blocks of coded voltages --- */

/* Samples [from, from + n) of frames that follow each other, or n that are missing. */
struct psr_spectra_run {
    size_t from, n;
    size_t byte;  /* of the first frame, in the block's bytes */
    size_t flags; /* of the frames' groups that are present, in the same; SIZE_MAX: all are */
    bool missing;
};

struct psr_spectra_block {
    uint8_t *bytes; /* page-locked */
    size_t room, nbytes;
    struct psr_spectra_run *run;
    size_t nrun;
    size_t nsamp;
};

/* Bytes of nsamp samples that come in frames; a block has room for more than that. */
size_t psr_spectra_bytes(const struct baseband_layout *l, int nbit, size_t nsamp);

/* Status: PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_spectra_block_make(struct psr_spectra_block *b, size_t bytes,
                                                 psr_err *err);
void psr_spectra_block_free(struct psr_spectra_block *b); /* all zeros are allowed */

/* Fills a block with the next nsamp samples, or fewer where they do not fit: none at the end.
 * Status: those of psr_baseband_read */
PSR_MUST_CHECK psr_status psr_spectra_block_fill(struct psr_spectra_block *b, psr_baseband *reader,
                                                 size_t nsamp, psr_err *err);

/* --- the plan --- */

struct psr_spectra_desc {
    const psr_channelise *channels; /* that the plan is to do; needed until it exists */
    const struct baseband_layout *layout;
    const struct baseband_coding *coding;
    size_t npol; /* polarisations of the voltages; planes are [nchan_in][npol] */
    int64_t pol; /* use this one; -1: all */
    enum psr_detect what;
    size_t tsum, fsum;
    size_t block;        /* samples pushed at a time, at most */
    size_t block_bytes;  /* room of such a block */
    const char *backend; /* "cuda"; "auto": the first that there is a device for */
    int device;
};

/* Status: PSR_EDEVICE (no device, or no such backend in this build), PSR_EUNSUPPORTED (the device
 *         lacks what the plan needs), PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_spectra_create(psr_spectra **out, const struct psr_spectra_desc *desc,
                                             psr_err *err);

/* Segments of psr_channelise that a device transforms at a time: always as many, so that each has the
 * same bits.  Blocks of so many steps, or twice as many .., leave none of them idle. */
size_t psr_spectra_batch(const psr_channelise *channels);

/* Spectra that come of nsamp more samples, before they are summed. */
size_t psr_spectra_ready(const psr_spectra *s, size_t nsamp);

/* Begins to process a block; not while two are under way.
 * Given:  b      stays as it is until its rows are collected
 *         good   [psr_spectra_ready(s, b->nsamp)]: those not good add nothing
 * Status: PSR_EDEVICE; the plan can only be destroyed then */
PSR_MUST_CHECK psr_status psr_spectra_push(psr_spectra *s, const struct psr_spectra_block *b,
                                           const bool *good, psr_err *err);

/* Waits for the rows that became complete with the earliest block under way.
 * Returned: *x [*nrow][nproduct][nchan / fsum], *weight [*nrow] good spectra in each; the plan's, until
 *           the next push but one: the caller may change *x
 * Status:   PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_spectra_collect(psr_spectra *s, float **x, const uint32_t **weight,
                                              size_t *nrow, psr_err *err);

/* Name of the backend. */
const char *psr_spectra_backend(const psr_spectra *s);

void psr_spectra_destroy(psr_spectra *s); /* NULL is allowed */

enum { PSR_SPECTRA_SLOTS = 2 }; /* blocks under way */

/* A block under way. */
struct psr_spectra_slot {
    uint32_t *weight; /* [rows at most] good spectra of each */
    size_t nrow;      /* complete ones */
};

struct psr_spectra_ops {
    const char *name;
    psr_status (*create)(psr_spectra *s, psr_err *err);
    void (*destroy)(psr_spectra *s);
    /* Queues a block to slot k: nsegment segments, of spectra good (NULL: all are), behind what is held. */
    psr_status (*push)(psr_spectra *s, int k, const struct psr_spectra_block *b, size_t nsegment,
                       const bool *good, psr_err *err);
    /* Waits for slot k's rows. */
    psr_status (*collect)(psr_spectra *s, int k, float **x, psr_err *err);
};

extern const struct psr_spectra_ops psr_spectra_cuda;

struct psr_spectra {
    const struct psr_spectra_ops *ops;
    void *state;
    struct psr_spectra_desc d; /* valid while it is created: the first three pointers */
    size_t nplane, npol;       /* used */
    size_t nchan, n, nbin, ndim, ntap;
    struct psr_channelise_shape shape;
    bool real, upper;
    size_t nvalue;        /* of a row */
    size_t batch;         /* segments that are transformed at a time */
    size_t most_segments; /* of a block */
    size_t most_rows;     /* of a block, with those that are incomplete at both ends */
    size_t nheld;         /* samples kept from the blocks before */
    size_t fill;          /* spectra of the row that is incomplete */
    uint32_t ngood;       /* of them */
    int64_t npush, ncollect;
    struct psr_spectra_slot slot[PSR_SPECTRA_SLOTS];
    int64_t bytes;
};

#endif
