/* spectrum.h: Fourier spectra, and the series they are made of, in PRESTO's files.
 *
 * A spectrum of n samples x_t, n even, is n/2 complex bins
 *
 *   X_k = sum_t x_t exp(-2 pi i k t / n),  k = 0 .. n/2 - 1,
 *
 * as pairs of floats, re and im.  Bin 0 holds two real numbers: X_0, the sum, and as its im the
 * Nyquist X_(n/2). */
#ifndef PSRKIT_SPECTRUM_H
#define PSRKIT_SPECTRUM_H

#include <psrkit/inf.h>

PSR_API_BEGIN

/* --- files ------------------------------------------------------------------------------------ */

/* A .fft or .dat file, known by its suffix, and the .inf beside it. */
struct psr_spectrum_file {
    bool series;   /* .dat: 2 nbin samples; .fft: nbin bins */
    bool reddened; /* a .fft file whose bin 0 is 1: that of a spectrum that was de-reddened */
    bool odd;      /* the series has one sample more, which is left out, of inf too */
    int64_t nbin;  /* at least 1 */
    double tobs_s; /* of 2 nbin samples */
    struct psr_inf inf;
};

/* Looks at a file without reading more of its data than bin 0.
 * Status: PSR_EINVAL (another suffix); PSR_EIO; PSR_EFORMAT naming file, field, value and limit (no
 *         .inf beside it, a size at odds with it, less than two samples, a sample of no width);
 *         PSR_EUNSUPPORTED; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_spectrum_describe(struct psr_spectrum_file *file, const char *path,
                                                psr_err *err);

/* Reads the data of a file described before.
 * Returned: x [2 nbin], the samples or bins
 * Notes:    samples outside the On/Off pairs of the .inf are padding; they become the mean of the
 *           others, so that they add nothing but to bin 0.
 * Status:   PSR_EIO, also for a file that is shorter or longer than it was; PSR_EFORMAT where all
 *           values are the same, which is no data. */
PSR_MUST_CHECK psr_status psr_spectrum_read(const struct psr_spectrum_file *file, const char *path,
                                            float *x, psr_err *err);

/* Divides x [n] by a power of two where its values are so large, or so small, that sums or powers of
 * them would leave the range of floats.
 * Given:    sums   x is a series, of which spectra are sums
 * Returned: the exponent; 0 where nothing was done */
int psr_spectrum_rescale(float *x, int64_t n, bool sums);

/* Writes X [nbin][2] as ROOT.fft, and inf, whose name becomes ROOT, as ROOT.inf: both or neither.
 * Given:  inf   NULL: the ROOT.inf that is there describes the spectrum too, and stays
 * Status: PSR_EINVAL (as psr_inf_set_name), PSR_EFORMAT (a bin that is no finite number), and those of
 *         psr_outfile_create and psr_outfile_write. */
PSR_MUST_CHECK psr_status psr_spectrum_write(const char *root, const float *x, int64_t nbin,
                                             const struct psr_inf *inf, psr_err *err);

/* The lowest i < n whose x[i] is infinite or not a number; -1: none. */
int64_t psr_spectrum_bad(const float *x, int64_t n);

/* --- transform -------------------------------------------------------------------------------- */

typedef struct psr_rfft psr_rfft;

/* A plan for series of n samples.
 * Status: PSR_EINVAL (n odd, below 2 or above 2^32), PSR_ENOMEM
 * Notes:  FFTW makes one plan at a time: callers with threads of their own that are not OpenMP's
 *         take turns at creating and destroying. */
PSR_MUST_CHECK psr_status psr_rfft_create(psr_rfft **out, int64_t n, psr_err *err);

/* Transforms on the calling thread; one plan may be executed by many at once.
 * Given:    in [n]; out has room for n + 2 floats and is aligned as malloc aligns; in may be out
 * Returned: out [n], the spectrum as above; two floats more are written */
void psr_rfft_execute(const psr_rfft *plan, const float *in, float *out);

/* NULL is fine. */
void psr_rfft_destroy(psr_rfft *plan);

/* --- red noise -------------------------------------------------------------------------------- */

/* Takes a line off a series of n samples, so that its ends, the means of the first and of the last
 * n / 1024 samples, are the same; the mean stays.  To the transform a series goes on where it
 * began, and the step from one end to the other leaks into every bin, as 1 / k and all with one
 * phase: no median measures such powers rightly.
 * Notes:  where an end is not finite nothing is done. */
void psr_series_detrend_ends(float *x, int64_t n);

/* The same to the spectrum X [nbin][2] of such a series; bin 0 is not looked at. */
void psr_spectrum_detrend_ends(float *x, int64_t nbin);

/* How `realfft -rednoise` measures it: blocks of start bins at first, of (int)(start ln k) from bin
 * k on, but end at most, and end from stop_bin on; where end is above PRESTO's 500, not of end at
 * once, but of k / 8 (100 at least) until that is end. */
struct psr_redden {
    int start, end;  /* start 2 or more, end at least start */
    double stop_bin; /* a frequency times the length of the observation */
};

/* Divides X by the square root of the local mean power, which is the blocks' median over ln 2 at
 * their middles and linear between; bin 0 becomes 1.
 * Given:    X [nbin][2]
 * Status:   PSR_EINVAL naming field, value and limit; PSR_ENOMEM
 * Notes:    PRESTO's numbers to about 0.2 %, the error of its inverse square root, which this has
 *           not.  Bins where the mean power is 0 or less become 0. */
PSR_MUST_CHECK psr_status psr_spectrum_deredden(float *x, int64_t nbin,
                                                const struct psr_redden *how, psr_err *err);

PSR_API_END
#endif
