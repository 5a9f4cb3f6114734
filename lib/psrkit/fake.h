/* fake.h: generates synthetic observations: noise, pulsars and bursts.
 *
 * The noise has mean 0 and variance 1; signals are in units of that noise.  A value x is stored as
 * rint((x + 4) (2^b - 1) / 8), clipped to b bits, or as a 32-bit float.  The scale never changes.
 *
 * The value at (t, if, c) depends only on the description and on t, if and c, not on threads, block
 * lengths or the processor.  Each IF has its own noise and the same signals.  Time 0 is the
 * beginning of sample 0; delays are relative to the highest channel. */
#ifndef PSRKIT_FAKE_H
#define PSRKIT_FAKE_H

#include <psrkit/obs.h>
#include <psrkit/orbit.h>

PSR_API_BEGIN

typedef struct psr_fake psr_fake;

enum psr_fake_kind { PSR_FAKE_PULSAR, PSR_FAKE_BURST };

enum psr_fake_shape {
    PSR_FAKE_TOPHAT,   /* width is the full width */
    PSR_FAKE_GAUSSIAN, /* width is the full width at half maximum */
    PSR_FAKE_VONMISES, /* pulsars only; width is the full width at half maximum */
    PSR_FAKE_PROFILE,  /* bins over one period of a pulsar, or over the width of a burst */
};

struct psr_fake_signal {
    enum psr_fake_kind kind;
    enum psr_fake_shape shape;
    const double *profile; /* [nprofile] for PSR_FAKE_PROFILE, with a peak above 0; copied */
    size_t nprofile;
    double dm;            /* pc cm^-3 */
    double width_s;       /* intrinsic, before smearing */
    double peak;          /* pulse height before smearing, in sigmas of one channel */
    double snr;           /* if above 0: matched-filter S/N over all pulses, before smearing and
                         quantisation; peak is then ignored */
    bool smear;           /* dispersion within each channel broadens the pulse and keeps its area */
    double scatter_s;     /* 1/e time of the scattering tail at 1000 MHz; 0: none */
    double scatter_index; /* exponent of the tail's power law in frequency, e.g. -4 */
    double spectral_index;          /* of the flux density; the mean over the channels is kept */
    double lowest_mhz, highest_mhz; /* channels outside contain no signal; 0: all */

    double t_s; /* burst: centre of the pulse at the highest channel */

    double period_s; /* pulsar: intrinsic, at pulsar time 0 */
    double pdot;     /* s/s */
    double phase;    /* rotational phase at time 0 in turns; the pulse is centred on 0.5 */
    bool binary;
    struct psr_orbit orbit; /* in pulsar time, which agrees with observer time at 0 */
};

struct psr_fake_desc {
    const struct psr_obs *obs; /* band, nif, nbit (1 to 16 PSR_UINT, 32 PSR_FLOAT), tsamp_s, nsamp;
                                  copied */
    uint64_t seed;
    double dmconst; /* MHz^2 s; see delays.h */
    size_t nsignal;
    const struct psr_fake_signal *signal; /* [nsignal]; copied */
    double noise_sigma;                   /* 1; 0: signals only */
    double red_sigma;       /* standard deviation over the observation of red noise common to all
                               channels, in sigmas of one channel; 0: none */
    double red_index;       /* spectral index of its power, e.g. -2 */
    const double *gain;     /* [nchan] bandpass that multiplies (x + 4); NULL: 1; copied */
    bool even_odd;          /* only 0 in even channels and 1 in odd ones */
    bool legacy_phase;      /* phase = t / P(t), as in SIGPROC's fake: twice the drift */
    int nthread;            /* 0: all cores */
    struct psr_notes notes; /* notes on signals that are clipped */
};

/* Status: PSR_EINVAL naming signal, field, value and limit; PSR_EFORMAT (as psr_obs_check);
 *         PSR_EUNSUPPORTED (other sample types, spectra that do not fill whole bytes); PSR_ENOMEM
 */
PSR_MUST_CHECK psr_status psr_fake_create(psr_fake **out, const struct psr_fake_desc *desc,
                                          psr_err *err);

/* Bytes of one spectrum of all IFs. */
size_t psr_fake_row_bytes(const psr_fake *p);

/* Given:    first, nsamp   any range of spectra from 0 on, also beyond the end of the observation
 *           out   room for nsamp spectra, aligned for its samples; owned by the caller
 * Returned: out   [nsamp][nif][nchan] packed as in obs, time-major
 * Status:   PSR_EINVAL (first below 0), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fake_execute(psr_fake *p, int64_t first, size_t nsamp, void *out,
                                           psr_err *err);

/* Rotational phase of pulsar i at time t_s at the highest channel: whole turns, and the fraction in
 * [0, 1), accurate to 1e-16 t_s / period. */
void psr_fake_phase(const psr_fake *p, size_t i, double t_s, int64_t *turns, double *fraction);

/* The injected signal as a search should find it. */
struct psr_fake_truth {
    double dm;
    double t_s;        /* centre of the burst, or of the pulsar's first pulse */
    double width_s;    /* before smearing */
    double peak;       /* before smearing, in sigmas of one channel, mean over the channels that
                          contain it */
    double pulses;     /* rotations during the observation; 1 for a burst */
    double mean_hz;    /* apparent spin frequency, mean over the observation; 0 for a burst */
    double middle_hz;  /* the same at mid-observation */
    double r, z, w;    /* mean_hz T; first and second derivative at mid-observation, T^2 and T^3 */
    double snr_single; /* expected matched-filter S/N of one pulse in a series dedispersed at dm
                          with delays rounded to samples, after smearing and quantisation */
    double snr_folded; /* all pulses */
};

/* Status: PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fake_report(const psr_fake *p, size_t i, struct psr_fake_truth *truth,
                                          psr_err *err);

/* Frees the generator; NULL is allowed. */
void psr_fake_destroy(psr_fake *p);

PSR_API_END
#endif
