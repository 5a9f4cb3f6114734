/* fake.h: synthetic data: random numbers, orbits, observations and voltages. */
#ifndef PSRKIT_FAKE_H
#define PSRKIT_FAKE_H

#include <psrkit/experimental/array.h>
#include <psrkit/experimental/dada.h>
#include <psrkit/obs.h>
#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* --- random numbers --------------------------------------------------------------------------- */

/* Counter-based random numbers (Threefry).
 *
 * Every number is a function of a seed, a stream and an index.  Any thread can therefore generate
 * any range of a stream at any time, and the numbers do not depend on threads, blocks or
 * instruction sets.
 *
 * The generator is Threefry4x32 with 20 rounds (Salmon et al. 2011), which passes BigCrush.  Its
 * key is (seed low, seed high, stream, 0), its counter (block low, block high, 0, 0).  Words come
 * in groups of 64: word n is output n / 16 % 4 of block 16 (n / 64) + n % 16. */

/* Numbers per group; ranges that begin and end at multiples of it are fastest. */
enum { PSR_RNG_GROUP = 64 };

/* Returns number index of a stream, uniform in [0, 1), from words 2 index and 2 index + 1. */
double psr_rng_uniform(uint64_t seed, uint32_t stream, uint64_t index);

/* --- orbits ----------------------------------------------------------------------------------- */

/* G M_sun / c^3, seconds. */
#define PSR_TSUN_S 4.925490947e-6

struct psr_orbit {
    double period_s;
    double ecc;       /* in [0, 1) */
    double asini_s;   /* projected semi-major axis of the pulsar, light-seconds */
    double omega_rad; /* longitude of periastron */
    double t0_s;      /* time of a periastron passage */
};

/* A quantity and its first three time derivatives. */
struct psr_motion {
    double value, d1, d2, d3;
};

/* Projected semi-major axis of a pulsar, in light-seconds, from Kepler's third law.
 * Given: inc_rad   inclination; 90 degrees is edge-on
 *        pulsar_msun, companion_msun   masses in solar masses */
double psr_orbit_asini_s(double period_s, double inc_rad, double pulsar_msun,
                         double companion_msun);

/* --- observations ----------------------------------------------------------------------------- */

/* Generates synthetic observations: noise, pulsars, bursts and interference.
 *
 * The noise has mean 0 and variance 1; signals are in units of that noise.  A value x is stored as
 * rint((x + 4) (2^b - 1) / 8), clipped to b bits, or as a 32-bit float.  The scale never changes.
 *
 * The value at (t, if, c) depends only on the description and on t, if and c, not on threads, block
 * lengths or the processor.  Each IF has its own noise and the same signals.  Time 0 is the
 * beginning of sample 0; delays are relative to the highest channel. */

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

/* Interference.  Each kind adds a power to the channels of its band, the same in every IF, before
 * the bandpass; the last two change what is there.  Below, t is the middle of a sample, u(k) is
 * psr_rng_uniform(seed, stream, k) and n(k) is number k of psr_rng_normal(seed, stream + 1), with
 * stream = PSR_FAKE_RFI_STREAM + 2 i for interference i.
 *
 * Band: channels whose centre f obeys -w/2 <= f - (freq + drift (t - t_s)) < w/2, where w is the
 * larger of bw and the channel width; all channels if freq is 0.
 *
 * Pulses: with a period, the power is on for width from t_s + k period on, k = 0, 1, 2..; a sample
 * has the share of it that is on.
 *
 * Random events: with a rate, time from t_s on is divided into slots of 1 / rate.  Slot s has as
 * many events as a Poisson deviate of mean 1 that belongs to u(32 s), at most 7.  With
 * k = 32 s + 4 e, event e of slot s begins at t_s + (s + u(k + 1)) / rate, lasts
 * -width ln(1 - u(k + 2)), at most 8 widths, and its draw is u(k + 3).  Without a rate, one event
 * begins at t_s. */
enum psr_fake_rfi_kind {
    PSR_FAKE_RFI_TONE,  /* level in its band, steady, drifting or in pulses */
    PSR_FAKE_RFI_RADAR, /* pulses, from an antenna that turns: times 2^-(2 x / beam)^2, x = distance
                           of (t - t_s) / rotation_s from the next whole number */
    PSR_FAKE_RFI_PHONE, /* random events at a random carrier, freq + bw (draw - 1/2), of the width
                           carrier_mhz, in pulses of slot_s every frame_s from the event's begin */
    PSR_FAKE_RFI_MAINS, /* level sum_{h=1..nharm} cos(2 pi h phi) / h, phi = hz t + wander_hz wander_s
                           q(t / wander_s); q runs from n(k) at k to n(k + 1) as 3 x^2 - 2 x^3 */
    PSR_FAKE_RFI_SPARK,    /* random events of height -level ln(1 - draw) */
    PSR_FAKE_RFI_JUMP,     /* random events of height level n(8 s + e), or level with no rate */
    PSR_FAKE_RFI_BANDPASS, /* multiplies (x + 4) by (1 + level cos(2 pi f / period_mhz)) sin^2(pi y /
                              (2 rolloff)); y = distance of channel c, (c + 1/2) / nchan, from the
                              nearer end of the band, at most rolloff; factors below 0 are 0 */
    PSR_FAKE_RFI_DROP,     /* lost packets: x is -4 in packet k = a G + b if u(k) < share; a counts
                              rint(width / tsamp) samples, at least 1, and b rint(bw / foff) channels, at
                              least 1, or all if bw is 0; G = groups of channels */
};
enum { PSR_FAKE_RFI_STREAM = 1 << 21 };

struct psr_fake_rfi {
    enum psr_fake_rfi_kind kind;
    double level;      /* sigmas of a channel; bandpass: height of the ripple */
    double modulation; /* tone, radar, phone, spark: power times 1 + modulation n(j); j counts the
                          values of a single-IF observation, t nchan + c */
    double freq_mhz, bw_mhz, drift_mhz_s; /* band */
    double t_s, duration_s;               /* when it begins, and its length; 0: to the end.  Random
                                             events begin in this time, others stay in it */
    double period_s, width_s;             /* pulses or random events */
    double rate_hz;                       /* of random events */
    double rotation_s, beam;              /* radar: of the antenna; beam is a share of a turn */
    double carrier_mhz, frame_s, slot_s;  /* phone */
    double hz, wander_hz, wander_s;       /* mains */
    int nharm;
    double period_mhz, rolloff; /* bandpass: of the ripple, 0: none; share of the band, 0: none */
    double share;               /* drop */
};

struct psr_fake_desc {
    size_t size;               /* sizeof the struct */
    const struct psr_obs *obs; /* band, nif, nbit (1 to 16 PSR_UINT, 32 PSR_FLOAT), tsamp_s, nsamp;
                                  copied */
    uint64_t seed;
    double dmconst; /* MHz^2 s; see ddplan.h */
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
    size_t nrfi;
    const struct psr_fake_rfi *rfi; /* [nrfi]; copied */
};

/* Status: PSR_EINVAL naming signal or interference, field, value and limit; PSR_EFORMAT (as psr_obs_check);
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

/* The injected signal as a search should find it. */
struct psr_fake_truth {
    size_t size; /* sizeof the struct */
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
    double snr_boxcar; /* one pulse, with the best boxcar instead */
};

/* Status: PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fake_report_sized(const psr_fake *p, size_t i,
                                                struct psr_fake_truth *truth, size_t size,
                                                psr_err *err);
#define psr_fake_report(p, i, truth, err)                                                          \
    psr_fake_report_sized((p), (i), (truth), sizeof *(truth), (err))

/* One occurrence of interference: a random event, a lost packet, or all of what has no events. */
struct psr_fake_rfi_event {
    double t_s, width_s;            /* when it begins, and its length */
    double lowest_mhz, highest_mhz; /* centres of the channels that it reaches */
    double level; /* height in sigmas of a channel, before modulation, beam and pulses */
};

/* Calls take for each occurrence of interference i that begins within the observation and reaches a
 * channel, in the order of slots or packets.
 * Status: that of take, which ends the list */
PSR_MUST_CHECK psr_status psr_fake_rfi_list(
    const psr_fake *p, size_t i,
    psr_status (*take)(void *ctx, const struct psr_fake_rfi_event *event, psr_err *err), void *ctx,
    psr_err *err);

/* Frees the generator; NULL is allowed. */
void psr_fake_destroy(psr_fake *p);

/* --- voltages of an array --------------------------------------------------------------------- */

/* Generates synthetic voltages of an array: noise of each input, and sources in the
 * sky.
 *
 * A voltage depends only on the description and on its time, channel, polarisation and input, not
 * on threads or block lengths.  Time 0 is the beginning of sample 0; delays are relative to the
 * highest channel. */

typedef struct psr_fakevolt psr_fakevolt;

/* Unpolarised noise-like emission from one direction. */
struct psr_fakevolt_source {
    double theta_ns, theta_ew; /* grid coordinates (array.h) at the centre of the band */
    double snr;     /* S/N of a beam in this direction, before quantisation: power summed over
                       channels, polarisations and the time that the source is on */
    double width_s; /* top-hat width of a burst; 0: always on */
    double t_s;     /* burst: its centre at the highest channel */
    double dm;      /* pc cm^-3 */
};

struct psr_fakevolt_desc {
    size_t size;                   /* sizeof the struct */
    const struct psr_array *array; /* copied */
    const struct psr_dada *header; /* band, tsamp, conventions; nant that of the array; copied */
    int64_t nsamp;
    uint64_t seed;
    double dmconst; /* MHz^2 s; see ddplan.h */
    double sigma;   /* standard deviation of the real and of the imaginary part, in nibble units:
                       0 to 7 */
    size_t nsource;
    const struct psr_fakevolt_source *source; /* [nsource]; copied */
    int nthread;                              /* 0: all cores */
};

/* Status: PSR_EINVAL naming source, field, value and limit; PSR_EFORMAT (as psr_array_check);
 *         PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_fakevolt_create(psr_fakevolt **out,
                                              const struct psr_fakevolt_desc *desc, psr_err *err);

/* Returned: out   [nt][nchan][2][nant] bytes: samples first .. first + nt - 1, rounded and clipped
 *                 to -7 .. 7; inputs that are off the grid have noise only
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fakevolt_execute(psr_fakevolt *p, int64_t first, size_t nt,
                                               uint8_t *out, psr_err *err);

/* Frees the generator; NULL is allowed. */
void psr_fakevolt_destroy(psr_fakevolt *p);

/* --- voltages of one telescope ---------------------------------------------------------------- */

/* Generates synthetic voltages of a band: noise, and bursts and pulsars that are dispersed as the
 * interstellar medium does it, sample by sample.
 *
 * The noise of a real sample, or of each part of a complex one, has variance 1.  A signal is noise
 * as well, under an envelope, and of the same power in each polarisation; it is dispersed as a
 * whole, by the phases of its transform.  A voltage depends only on the description and on its time,
 * channel and polarisation, not on threads or on how many are made at once.  Time 0 is the beginning
 * of sample 0; delays are relative to the upper edge of the band.
 *
 * Channels run up in frequency, and frequencies run up within each: complex voltages have frequency
 * 0 in the middle of their channel, real ones at its lower edge. */

typedef struct psr_fakeband psr_fakeband;

struct psr_fakeband_desc {
    size_t size;             /* sizeof the struct */
    double freq_mhz, bw_mhz; /* centre and width of the whole band, above 0 */
    size_t nchan, npol;      /* channels of equal width, and polarisations, 1 or 2 */
    bool real;               /* sampled at twice the width of a channel; otherwise complex, at it */
    int nbit;                /* of a component: 2, 4 or 8 */
    uint64_t seed;
    double dmconst; /* MHz^2 s; see ddplan.h */
    size_t nsignal;
    /* [nsignal], copied: kind, shape (PSR_FAKE_TOPHAT or PSR_FAKE_GAUSSIAN), dm, width_s, snr, t_s,
     * period_s and phase are used.  snr is that of one pulse in the power of the whole band, both
     * polarisations added, with a filter of its shape, before quantisation. */
    const struct psr_fake_signal *signal;
    int nthread; /* 0: all cores */
};

/* Status: PSR_EINVAL naming signal, field, value and limit; PSR_EUNSUPPORTED (another shape);
 *         PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fakeband_create(psr_fakeband **out,
                                              const struct psr_fakeband_desc *desc, psr_err *err);

/* Samples per second of a channel. */
double psr_fakeband_rate_hz(const psr_fakeband *p);

/* Returned: levels   the same as levels of nbit bits, the first in the low bits of a byte, as VDIF
 *                    has them: half of the range is 0, and a level is 1/35.5 of the standard
 *                    deviation with 8 bits, 1/2.95 with 4, and 2 bits have thresholds at 0 and
 *                    +-0.9816
 * Status:   PSR_EINVAL if they do not fill bytes; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fakeband_execute(psr_fakeband *p, size_t pol, int64_t first,
                                               size_t nsamp, void *levels, psr_err *err);

/* Frees the generator; NULL is allowed. */
void psr_fakeband_destroy(psr_fakeband *p);

PSR_API_END
#endif
