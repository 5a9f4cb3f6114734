/* fake_band.h: the plan of synthetic voltages of a band, for the files that share it (private). */
#ifndef PSR_FAKE_FAKE_BAND_H
#define PSR_FAKE_FAKE_BAND_H

#include <psrkit/fake.h>

/* Streams of random numbers: noise of each polarisation; signals. */
enum { FAKEBAND_NOISE = 0, FAKEBAND_SIGNALS = 16 };

/* A dispersed pulse. */
struct psr_fakeband_pulse {
    size_t signal;
    int64_t number; /* of the pulsar's turns; 0 of a burst */
    size_t length;  /* samples */
    int64_t *first; /* [nchan] */
    float *x;       /* [npol][nchan][length][ndim] */
    int64_t end;    /* after its last sample, in any channel */
};

struct psr_fakeband {
    struct psr_fakeband_desc d;
    struct psr_fake_signal *signal; /* [d.nsignal] */
    size_t ndim;
    double rate_hz;
    int nthread;
    struct psr_fakeband_pulse *pulse; /* [npulse] that are at hand */
    size_t npulse, pulse_room;
};

/* Makes the pulses that reach samples [first, first + n), and forgets those that ended before.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fakeband_find_pulses(psr_fakeband *p, int64_t first, size_t n,
                                                   psr_err *err);
void psr_fakeband_free_pulse(struct psr_fakeband_pulse *pulse);

#endif
