/* cutout.h: cut-outs of bursts in HDF5, as `your` writes and classifiers such as FETCH read them (private).
 *
 * Two datasets of floats, "data_freq_time" [time][channel] and "data_dm_time" [DM][time], and attributes that say what
 * the burst is and what it was cut from. */
#ifndef PSR_FORMATS_HDF5_CUTOUT_H
#define PSR_FORMATS_HDF5_CUTOUT_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/obs.h>

struct psr_cutout {
    double t_s, dm, snr;  /* the burst, at the highest frequency from the first spectrum on */
    int64_t width, label; /* width in samples of obs; label 1: astrophysical, 0: not, -1: unknown */
    const char *const *path;
    size_t npath;
    const struct psr_obs *obs, *input; /* what was cut, and the whole input */
    int64_t tsum, fsum;                /* samples and channels of the input in one of obs */
    size_t ntime, nfreq, ndm;
    const float *freq_time, *dm_time;
};

/* Writes a whole file.
 * Given:  f   a file with a temporary name, to which nothing else is written; the caller commits it
 * Status: PSR_EUNSUPPORTED (no HDF5), PSR_EIO (also for no regular file) */
PSR_MUST_CHECK psr_status psr_cutout_write(psr_outfile *f, const struct psr_cutout *c,
                                           psr_err *err);

#endif
