/* spectrum.h: Fourier spectra and the series they are computed from, in PRESTO's files.
 *
 * A spectrum of n samples x_t, n even, is n/2 complex bins
 *
 *   X_k = sum_t x_t exp(-2 pi i k t / n),  k = 0 .. n/2 - 1,
 *
 * stored as pairs of floats, re and im.  Bin 0 holds two real numbers: X_0, the sum, as re and the
 * Nyquist X_(n/2) as im. */
#ifndef PSRKIT_SPECTRUM_H
#define PSRKIT_SPECTRUM_H

#include <psrkit/inf.h>

PSR_API_BEGIN

/* --- files ------------------------------------------------------------------------------------ */

/* A .fft or .dat file, identified by its suffix, and the .inf beside it. */
struct psr_spectrum_file {
    bool series;   /* .dat: 2 nbin samples; .fft: nbin bins */
    bool reddened; /* a .fft file with bin 0 equal to 1: the spectrum was de-reddened */
    bool odd;      /* the series has one more sample, which is dropped, also from inf */
    int64_t nbin;  /* at least 1 */
    double tobs_s; /* of 2 nbin samples */
    struct psr_inf inf;
};

/* Describes a file; reads no data except bin 0.
 * Status: PSR_EINVAL (another suffix); PSR_EIO; PSR_EFORMAT naming file, field, value and limit (no
 *         .inf beside it, a file size that does not match it, fewer than two samples, a sampling
 *         time of 0); PSR_EUNSUPPORTED; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_spectrum_describe(struct psr_spectrum_file *file, const char *path,
                                                psr_err *err);

/* Reads the data of a file described before.
 * Returned: x   [2 nbin], the samples or bins
 * Notes:    samples outside the On/Off pairs of the .inf are padding; they are replaced by the mean
 *           of the others, so that they contribute only to bin 0
 * Status:   PSR_EIO, also if the file size has changed; PSR_EFORMAT if all values are equal, i.e.
 *           there are no data */
PSR_MUST_CHECK psr_status psr_spectrum_read(const struct psr_spectrum_file *file, const char *path,
                                            float *x, psr_err *err);

/* Divides x [n] by a power of two if its values are so large or so small that sums or powers of
 * them would exceed the range of floats.
 * Given:    sums   x is a series, of which spectra are sums
 * Returned: the exponent; 0 if nothing was done */
int psr_spectrum_rescale(float *x, int64_t n, bool sums);

/* Writes X [nbin][2] as ROOT.fft, and inf, with its name set to ROOT, as ROOT.inf: both or neither.
 * Given:  inf   NULL: keep the existing ROOT.inf, which also describes the spectrum
 * Status: PSR_EINVAL (as psr_inf_set_name), PSR_EFORMAT (a bin that is not finite), and those of
 *         psr_outfile_create and psr_outfile_write */
PSR_MUST_CHECK psr_status psr_spectrum_write(const char *root, const float *x, int64_t nbin,
                                             const struct psr_inf *inf, psr_err *err);

/* The lowest i < n for which x[i] is infinite or not a number; -1: none. */
int64_t psr_spectrum_bad(const float *x, int64_t n);

/* --- transform -------------------------------------------------------------------------------- */

typedef struct psr_rfft psr_rfft;

/* Creates a plan for series of n samples.
 * Status: PSR_EINVAL (n odd, below 2 or above 2^32), PSR_ENOMEM
 * Notes:  FFTW makes one plan at a time: threads other than OpenMP's must not create or destroy
 *         plans at the same time */
PSR_MUST_CHECK psr_status psr_rfft_create(psr_rfft **out, int64_t n, psr_err *err);

/* Transforms on the calling thread.  Thread-safe: several threads may execute one plan.
 * Given:    in    [n]
 *           out   room for n + 2 floats, aligned as by malloc; may equal in
 * Returned: out   [n], the spectrum as above; two more floats are overwritten */
void psr_rfft_execute(const psr_rfft *plan, const float *in, float *out);

/* Frees the plan; NULL is allowed. */
void psr_rfft_destroy(psr_rfft *plan);

/* --- red noise -------------------------------------------------------------------------------- */

/* Subtracts a line from a series of n samples so that its ends, the means of the first and of the
 * last n / 1024 samples, become equal; the mean is kept.  The transform treats a series as
 * periodic, and a step between its ends leaks into every bin as 1 / k with a common phase, which
 * biases median powers.
 * Notes: does nothing if an end is not finite */
void psr_series_detrend_ends(float *x, int64_t n);

/* The same for the spectrum X [nbin][2] of such a series; bin 0 is ignored. */
void psr_spectrum_detrend_ends(float *x, int64_t nbin);

/* How `realfft -rednoise` measures it: blocks of start bins at first, of (int)(start ln k) from bin
 * k on, but end at most, and end from stop_bin on; where end is above PRESTO's 500, not of end at
 * once, but of k / 8 (100 at least) until that is end. */
struct psr_redden {
    int start, end;  /* start 2 or more, end at least start */
    double stop_bin; /* a frequency times the length of the observation */
    bool presto;     /* with PRESTO's inverse square root, which is up to 0.2 % off */
};

/* Divides X by the square root of the local mean power, which is the blocks' median over ln 2 at
 * their middles and linear between; bin 0 becomes 1.
 * Given:    X [nbin][2]
 * Status:   PSR_EINVAL naming field, value and limit; PSR_ENOMEM
 * Notes:    PRESTO's numbers to about 0.2 %, or, with presto, to rounding.  Bins where the mean power is 0 or less become 0. */
PSR_MUST_CHECK psr_status psr_spectrum_deredden(float *x, int64_t nbin,
                                                const struct psr_redden *how, psr_err *err);

PSR_API_END
#endif
