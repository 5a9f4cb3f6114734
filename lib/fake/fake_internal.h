/* fake_internal.h: random numbers and phases (private). */
#ifndef PSR_FAKE_FAKE_INTERNAL_H
#define PSR_FAKE_FAKE_INTERNAL_H

#include "base/base.h"
#include <psrkit/fake.h>

/* Generates words first .. first + n - 1 of a stream. */
void psr_rng_words(uint64_t seed, uint32_t stream, uint64_t first, size_t n, uint32_t *word);

/* Generates the same range of the stream's Gaussian deviates, mean 0 and variance 1 (Box and
 * Muller).
 * Notes: two outputs of a block make two deviates.  Radii take 2^31 values, so no value exceeds
 *        6.66; values are accurate to 1e-6 (1 + 0.1 / r), where r^2 is the sum of the squares of a
 *        pair. */
void psr_rng_normal(uint64_t seed, uint32_t stream, uint64_t first, size_t n, float *x);

/* Rotational phase of pulsar i at time t_s at the highest channel: whole turns, and the fraction in
 * [0, 1), accurate to 1e-16 t_s / period. */
void psr_fake_phase(const psr_fake *p, size_t i, double t_s, int64_t *turns, double *fraction);

/* Adds the signals of a plan without noise to samples that exist.  Each channel is scaled by its scatter over the
 * block, the median of the scatters of up to 16 pieces of it; snr is that of the best boxcar on the dedispersed
 * pulse as it is in the samples, the channels that vary divided by their scatter; of pulsars, of all pulses.
 * What is added is rounded by chance, so that its mean is right; of 1, 2 and 4 bits, what the highest level takes
 * away is added where there is room.
 * Given:    nbit, kind   of the samples, the same in all calls
 *           first, n   spectra, in ascending order; results depend on where blocks end
 *           rows   [n][nchan], packed
 * Returned: rows
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fake_inject(psr_fake *p, int nbit, enum psr_kind kind, int64_t first,
                                          size_t n, uint8_t *rows, psr_err *err);

/* Given:    first, nsamp   from 0 on; earlier pulses are forgotten, so that ascending ranges are
 *                          fastest
 * Returned: x   [nsamp][nchan] real values, or pairs, of one polarisation, before they are coded
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fakeband_values(psr_fakeband *p, size_t pol, int64_t first,
                                              size_t nsamp, float *x, psr_err *err);

/* --- building blocks of a synthetic observation ----------------------------------------------- */

/* --- the shape of a pulse (fake_part.c) ------------------------------------------------------- */

/* Position x within a pulse is in turns from its centre for a pulsar and in seconds for a burst. */
struct psr_shape {
    double low, high;    /* where it begins and ends */
    double area, energy; /* integrals over x of the profile, its peak being 1, and of its square */
    double step;         /* between the nodes */
    double *part;        /* [PSR_SHAPE_CELLS + 1] fraction of the area below each node */
    double *integral;    /* [PSR_SHAPE_CELLS + 1] of part */
};
enum { PSR_SHAPE_CELLS = 4096 };

/* A shape after smearing and scattering: the fraction of the area below each of its nodes. */
struct psr_shape_row {
    double low, high, per_step;
    float *part; /* [PSR_SHAPE_NODES], 0 to 1 */
};
enum { PSR_SHAPE_NODES = 513, PSR_SHAPE_MAX_ROTATIONS = 64 };

/* Fraction of the area below x. */
static inline double psr_shape_part(const struct psr_shape_row *row, double x)
{
    double at = (x - row->low) * row->per_step;
    if (!(at > 0))
        return 0;
    if (at >= PSR_SHAPE_NODES - 1)
        return 1;
    int node = (int)at;
    double below = (double)row->part[node];
    return below + (at - node) * ((double)row->part[node + 1] - below);
}

/* --- when pulses come (fake_part.c) ----------------------------------------------------------- */

struct psr_spin {
    double period_s, pdot, phase;
    bool binary, legacy;
    struct psr_orbit orbit;
    double delay0_s; /* of the orbit at the pulsar's time 0 */
};

/* Phase in whole turns and fraction, at the observer's time t_s. */
void psr_spin_phase(const struct psr_spin *spin, double t_s, int64_t *turns, double *fraction);

/* Time at which phase n + 1/2 is received, and its derivatives: value is the time, d1 the
 * frequency, and so on. */
struct psr_motion psr_spin_pulse(const struct psr_spin *spin, int64_t n);

/* Frequency and its derivatives at t_s: d1, d2 and d3 are the phase's. */
struct psr_motion psr_spin_motion(const struct psr_spin *spin, double t_s);

/* --- one signal, ready to be added ------------------------------------------------------------ */

struct psr_pulse {
    double t_s, hz, hz_per_s; /* time at which its centre is received at the highest channel, and
                                 units of x per second then */
    double period_s;          /* 1 / hz */
};

/* Data needed to add a signal to a block. */
struct psr_fake_ready {
    double *delay_s; /* [nchan] */
    double *fluence; /* [nchan] height times area, in units of x */
    size_t nrow;     /* 1 where all channels share it, or nchan */
    struct psr_shape_row *row;
    float *part; /* of all rows */
    size_t npulse, room;
    struct psr_pulse *pulse; /* [npulse] in time order */
};

struct psr_fake_part {
    struct psr_fake_signal desc;
    double *profile;
    struct psr_shape shape;
    struct psr_spin spin;
    double peak;              /* resolved */
    double sweep_s;           /* the lowest channel's delay */
    double before_x, after_x; /* largest extent of any channel's pulse from its centre */
    bool scaled;              /* to what is in the samples: then truth is known */
    struct psr_fake_truth truth;
    struct psr_fake_ready ready; /* computed once for pulsars, when needed for bursts */
};

/* Fixed parameters of an observation. */
struct psr_fake_frame {
    struct psr_obs obs;
    double dmconst;
    double highest_mhz;
    double chan_mhz; /* width of a channel */
};

PSR_MUST_CHECK psr_status psr_fake_part_make(struct psr_fake_part *part,
                                             const struct psr_fake_frame *frame,
                                             const struct psr_fake_signal *s, bool legacy,
                                             psr_err *err);
void psr_fake_part_clear(struct psr_fake_part *part);

/* Computes part->ready except its pulses; does nothing if it exists. */
PSR_MUST_CHECK psr_status psr_fake_part_prepare(struct psr_fake_part *part,
                                                const struct psr_fake_frame *frame, psr_err *err);
void psr_fake_ready_clear(struct psr_fake_ready *ready);

/* Pulse n of a pulsar, and that of a burst. */
struct psr_pulse psr_pulse_of_rotation(const struct psr_fake_part *part, int64_t n);
struct psr_pulse psr_pulse_of_burst(const struct psr_fake_part *part);

/* Lists the pulses that reach into samples first .. first + n - 1 of any channel. */
PSR_MUST_CHECK psr_status psr_fake_part_list(struct psr_fake_part *part,
                                             const struct psr_fake_frame *frame, int64_t first,
                                             int64_t n, int nthread, psr_err *err);

/* Mean of the signal over sample t in a channel, of one pulse. */
struct psr_fake_place {
    const struct psr_shape_row *row;
    double delay_s, fluence;
};
struct psr_fake_place psr_fake_place(const struct psr_fake_ready *ready, size_t c);
int64_t psr_fake_pulse_begin(const struct psr_fake_place *at, const struct psr_pulse *pulse,
                             double tsamp_s);
int64_t psr_fake_pulse_end(const struct psr_fake_place *at, const struct psr_pulse *pulse,
                           double tsamp_s);
/* Adds to x[0], x[stride], ... the samples first .. end - 1. */
void psr_fake_pulse_add(const struct psr_fake_place *at, const struct psr_pulse *pulse,
                        double tsamp_s, int64_t first, int64_t end, float *x, size_t stride);

/* --- levels (fake.c) -------------------------------------------------------------------------- */

/* --- the plan of a synthetic observation ------------------------------------------------------ */

/* The next pulse in a channel: its first sample and its number. */
struct psr_fake_cursor {
    int64_t begin;
    size_t pulse;
};

/* Interference, ready to be added. */
struct psr_fake_rfi_part {
    struct psr_fake_rfi d;
    uint32_t stream;
    double begin_s, end_s;
    int64_t packet_samples; /* drop */
    size_t packet_channels, ngroup;
};

/* Working memory of one thread. */
struct psr_fake_room {
    float *x;                       /* [tile_rows][nif][nchan] */
    uint8_t *level;                 /* the same, for samples below 8 bits */
    float *normal;                  /* [nchan] of modulated interference */
    struct psr_fake_cursor *cursor; /* [nactive][nchan] */
};

/* The samples that signals are added to, and what is known of them. */
struct psr_fake_onto {
    bool is_set;
    int nbit;
    enum psr_kind kind;
    float *scatter;       /* [nchan] in levels */
    float *gained;        /* [nchan][16] where there are few levels: see fake_inject.c */
    unsigned char *alive; /* [nchan] channels that vary */
    size_t nalive;
    int64_t measured_end; /* spectra up to which scatter holds */
    float *column;        /* [nthread][room] */
    uint32_t *word;       /* the same */
    size_t room;
};

struct psr_fake {
    struct psr_own own;
    struct psr_fake_frame frame;
    uint64_t seed;
    float noise_sigma, red_sigma;
    double red_index;
    double *gain;       /* [nchan], or NULL: 1 */
    float *gain_offset; /* [nchan] */
    bool even_odd;
    size_t row_values, row_bytes; /* of one spectrum of all IFs */
    size_t tile_rows;
    int nthread;
    size_t nrfi;
    struct psr_fake_rfi_part *rfi;
    size_t npart;
    struct psr_fake_part *part;
    struct psr_fake_room *room; /* [nthread] */
    struct psr_fake_onto onto;
};

/* Samples first .. first + n - 1 of a channel, nif times nchan values apart. */
struct psr_fake_column {
    float *x;
    size_t stride, nif, nchan;
    int64_t first, n;
    int64_t low, high; /* samples that were reached: these grow */
};

/* Adds a channel's pulses. */
void psr_fake_add_pulses(const struct psr_fake *p, const struct psr_fake_ready *ready, size_t c,
                         struct psr_fake_cursor *cursor, struct psr_fake_column *to);

/* The first pulse that ends after sample t in a channel. */
struct psr_fake_cursor psr_fake_find_pulse(const struct psr_fake *p,
                                           const struct psr_fake_ready *ready, size_t c, int64_t t);

/* Lists the signals that reach into a block, and readies those; bursts that do not are let go.
 * Returned: active [*nactive], of room for all
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fake_find_active(psr_fake *p, int64_t first, size_t nsamp,
                                               size_t *active, size_t *nactive, psr_err *err);

/* What is known of signal i before it is scaled. */
PSR_MUST_CHECK psr_status psr_fake_describe(const psr_fake *p, size_t i,
                                            struct psr_fake_truth *truth, psr_err *err);

/* Streams of random numbers. */
enum { PSR_FAKE_NOISE = 0, PSR_FAKE_RED = 64 };

/* --- interference (fake_rfi.c) ---------------------------------------------------------------- */

PSR_MUST_CHECK psr_status psr_fake_rfi_make(psr_fake *p, const struct psr_fake_rfi *rfi, size_t n,
                                            psr_err *err);

/* Multiplies the gain of each channel by the bandpasses among the interference. */
PSR_MUST_CHECK psr_status psr_fake_rfi_shape(psr_fake *p, psr_err *err);

/* Channels [first, end) of a band, at time t_s. */
struct psr_fake_band {
    size_t first, end;
};

/* A random event, with its slot and number. */
struct psr_fake_rfi_random {
    double begin_s, length_s, height;
    double freq_mhz, bw_mhz;
};
enum { PSR_FAKE_RFI_EVENTS = 7 };

/* Add what is added, and then blank what is lost, in rows first .. first + n - 1 of x.
 * Given: normal   [nchan], working memory */
void psr_fake_rfi_add(const psr_fake *p, int64_t first, size_t n, float *x, float *normal);
void psr_fake_rfi_drop(const psr_fake *p, int64_t first, size_t n, float *x);

#endif
