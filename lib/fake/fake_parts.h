/* fake_parts.h: building blocks of a synthetic observation (private). */
#ifndef PSR_FAKE_FAKE_PARTS_H
#define PSR_FAKE_FAKE_PARTS_H

#include <psrkit/fake.h>

/* --- the shape of a pulse (fake_part.c) ------------------------------------------------------ */

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

/* --- when pulses come (fake_spin.c) ----------------------------------------------------------- */

struct psr_spin {
    double period_s, pdot, phase;
    bool binary, legacy;
    struct psr_orbit orbit;
    double delay0_s; /* of the orbit at the pulsar's time 0 */
};

void psr_spin_make(struct psr_spin *spin, const struct psr_fake_signal *s, bool legacy);

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

/* --- levels (fake_quantise.c) ----------------------------------------------------------------- */

/* Stores n values as samples of 1 to 16 bits; n fills whole bytes.
 * Given: scratch   n bytes, for samples below 8 bits */
void psr_quantise(void *out, const float *x, size_t n, int nbit, uint8_t *scratch);

/* Mean and variance of the quantised sample for noise of standard deviation sigma around x, in
 * units of x. */
void psr_quantised_moments(int nbit, double x, double sigma, double *mean, double *variance);

#endif
