/* fake.h: synthetic observations.
 *
 * Noise of mean 0 and variance 1, and pulsars and bursts on top of it, in units of that noise.  A
 * value x is stored as rint((x + 4) (2^b - 1) / 8), clipped to b bits, or as a float of 32 bits.
 * The scale never changes.
 *
 * The value at (t, if, c) depends on the description and on its place only: not on the number of
 * threads, the block it is asked for in, or the processor.  Each IF has noise of its own and the
 * same signals.  Time 0 is the beginning of sample 0; delays are against the highest channel. */
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
    PSR_FAKE_VONMISES, /* a pulsar's; width is the full width at half maximum */
    PSR_FAKE_PROFILE,  /* bins over a turn of a pulsar, or over the width of a burst */
};

struct psr_fake_signal {
    enum psr_fake_kind kind;
    enum psr_fake_shape shape;
    const double *profile; /* [nprofile] of PSR_FAKE_PROFILE, its peak above 0; copied */
    size_t nprofile;
    double dm;        /* pc cm^-3 */
    double width_s;   /* at the pulsar, before smearing */
    double peak;      /* height of the pulse before smearing, in sigmas of one channel */
    double snr;       /* or, above 0: S/N of the matched filter over all pulses before smearing and
                         quantising; peak is ignored */
    bool smear;       /* dispersion within each channel widens the pulse and keeps its area */
    double scatter_s; /* 1/e time of the scattering tail at 1000 MHz; 0 none */
    double scatter_index;           /* of the tail's power law in frequency, as -4 */
    double spectral_index;          /* of the flux; the mean over the channels stays */
    double lowest_mhz, highest_mhz; /* channels outside hold nothing; 0: all */

    double t_s; /* burst: middle of the pulse at the highest channel */

    double period_s; /* pulsar: its own, at its time 0 */
    double pdot;     /* s/s */
    double phase;    /* turns at time 0; the pulse's middle is at 0.5 */
    bool binary;
    struct psr_orbit orbit; /* times are the pulsar's, which agree with the observer's at 0 */
};

struct psr_fake_desc {
    const struct psr_obs *obs; /* band, nif, nbit (1 to 16 PSR_UINT, 32 PSR_FLOAT), tsamp_s, nsamp;
                                  copied */
    uint64_t seed;
    double dmconst; /* MHz^2 s; see delays.h */
    size_t nsignal;
    const struct psr_fake_signal *signal; /* [nsignal]; copied */
    double noise_sigma;                   /* 1; 0 gives the signals alone */
    double red_sigma;       /* standard deviation of red noise common to all channels, over the
                               observation, in sigmas of one channel; 0 none */
    double red_index;       /* its power falls as frequency to this power: -2 */
    const double *gain;     /* [nchan] bandpass: (x + 4) is multiplied by it; NULL: 1; copied */
    bool even_odd;          /* nothing but 0 in even channels and 1 in odd ones */
    bool legacy_phase;      /* phase = t / P(t), as SIGPROC's fake has it: twice the drift */
    int nthread;            /* 0: all cores */
    struct psr_notes notes; /* remarks on signals that are clipped */
};

/* Status: PSR_EINVAL naming signal, field, value and limit; PSR_EFORMAT (as psr_obs_check);
 *         PSR_EUNSUPPORTED (other kinds of sample, spectra that end within a byte); PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fake_create(psr_fake **out, const struct psr_fake_desc *desc,
                                          psr_err *err);

/* Bytes of one spectrum of all IFs. */
size_t psr_fake_row_bytes(const psr_fake *p);

/* Given:    first, nsamp   any stretch of spectra from 0 on, also beyond the observation's end
 *           out   room for nsamp spectra, aligned for its samples; caller's
 * Returned: out [nsamp][nif][nchan] packed as obs says, time-major
 * Status:   PSR_EINVAL (first below 0), PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fake_execute(psr_fake *p, int64_t first, size_t nsamp, void *out,
                                           psr_err *err);

/* Rotational phase of pulsar i at time t_s at the highest channel: whole turns, and the fraction of
 * a turn in [0, 1), good to 1e-16 t_s / period. */
void psr_fake_phase(const psr_fake *p, size_t i, double t_s, int64_t *turns, double *fraction);

/* What was put in, as a search should find it. */
struct psr_fake_truth {
    double dm;
    double t_s;        /* middle of the burst, or of the pulsar's first pulse */
    double width_s;    /* before smearing */
    double peak;       /* before smearing, in sigmas of one channel, mean over those it is in */
    double pulses;     /* turns during the observation; 1 for a burst */
    double mean_hz;    /* apparent frequency, mean over the observation; 0 for a burst */
    double middle_hz;  /* the same at mid-observation */
    double r, z, w;    /* mean_hz T; first and second derivative at mid-observation, T^2 and T^3 */
    double snr_single; /* S/N expected of the matched filter in a series dedispersed at dm with
                          delays rounded to samples, after smearing and quantising: one pulse */
    double snr_folded; /* all pulses */
};

/* Status: PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fake_report(const psr_fake *p, size_t i, struct psr_fake_truth *truth,
                                          psr_err *err);

/* NULL is fine. */
void psr_fake_destroy(psr_fake *p);

PSR_API_END
#endif
