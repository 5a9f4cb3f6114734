/* fake.h: synthetic data: random numbers, orbits, observations and voltages. */
#ifndef PSRKIT_FAKE_H
#define PSRKIT_FAKE_H

#include <psrkit/array.h>
#include <psrkit/dada.h>
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

/* Generates words first .. first + n - 1 of a stream. */
void psr_rng_words(uint64_t seed, uint32_t stream, uint64_t first, size_t n, uint32_t *word);

/* Generates the same range of the stream's Gaussian deviates, mean 0 and variance 1 (Box and
 * Muller).
 * Notes: two outputs of a block make two deviates.  Radii take 2^31 values, so no value exceeds
 *        6.66; values are accurate to 1e-6 (1 + 0.1 / r), where r^2 is the sum of the squares of a
 *        pair. */
void psr_rng_normal(uint64_t seed, uint32_t stream, uint64_t first, size_t n, float *x);

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

/* Status: PSR_EINVAL naming field, value and limit. */
PSR_MUST_CHECK psr_status psr_orbit_check(const struct psr_orbit *orbit, psr_err *err);

/* Projected semi-major axis of a pulsar, in light-seconds, from Kepler's third law.
 * Given: inc_rad   inclination; 90 degrees is edge-on
 *        pulsar_msun, companion_msun   masses in solar masses */
double psr_orbit_asini_s(double period_s, double inc_rad, double pulsar_msun,
                         double companion_msun);

/* Solves E - ecc sin E = mean_rad for the eccentric anomaly E, to 1e-13 or the precision of
 * mean_rad.  E lies in the same turn as mean_rad.
 * Given: mean_rad   any value
 *        ecc   in [0, 1) */
double psr_orbit_eccentric_anomaly(double mean_rad, double ecc);

/* Delay, in seconds, of a signal emitted at pulsar time t_s: its distance behind the centre of mass
 * over c.  The first derivative is the line-of-sight velocity over c, positive when receding
 * (Blandford and Teukolsky 1976, eq. 2.8, without relativistic terms). */
struct psr_motion psr_orbit_delay(const struct psr_orbit *orbit, double t_s);

/* Pulsar time u of a signal received at t_s: solves u + delay(u) = t to 1e-12 s or the precision of
 * t_s. */
double psr_orbit_emission_s(const struct psr_orbit *orbit, double t_s);

/* --- observations ----------------------------------------------------------------------------- */

/* Generates synthetic observations: noise, pulsars and bursts.
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

PSR_API_END
#endif
