/* clean_pair.h: streams with a signal and the same without it. */
#ifndef PSR_TESTS_CLEAN_PAIR_H
#define PSR_TESTS_CLEAN_PAIR_H

#include "clean_stream.h"

/* Noise with a signal, and with interference where there is some.  Returned: *without, the same without
 * the signal */
static struct stream make_with_and_without(const struct psr_obs *obs,
                                           const struct psr_fake_signal *signal,
                                           const struct psr_fake_rfi *rfi_of, uint64_t seed,
                                           struct stream *without)
{
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = obs,
                              .seed = seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .noise_sigma = 1,
                              .rfi = rfi_of,
                              .nrfi = rfi_of != NULL};
    *without = make_stream(&d);
    d.signal = signal;
    d.nsignal = 1;
    return make_stream(&d);
}

#endif
