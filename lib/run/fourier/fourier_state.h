/* fourier_state.h: a Fourier search with its plans (private). */
#ifndef PSR_RUN_FOURIER_FOURIER_STATE_H
#define PSR_RUN_FOURIER_FOURIER_STATE_H

#include <psrkit/experimental/fourier.h>

enum { PSR_FOURIER_MAX_SUMS = 8 };

/* Inputs that are searched at once. */
struct psr_fourier_slot {
    psr_pulscan *boxes; /* NULL: none are searched */
    float *room;        /* [batch][2 nbin], where there are no boxes, whose plan has some */
    bool pinned;        /* room is that of psr_device_pin */
    struct psr_fourier_input *in;           /* [n] of the last execute; borrowed */
    struct psr_pulscan_result *found;       /* [batch] */
    struct psr_accelsearch_result *matched; /* [batch] */
};

struct psr_fourier {
    struct psr_fourier_desc d;
    int nharm[PSR_FOURIER_MAX_SUMS]; /* [nnharm] harmonic sums to search */
    size_t nnharm;

    /* The plan; without one, shape.nbin is 0. */
    struct psr_fourier_shape shape; /* series: the plans transform them */
    size_t batch, nslot;
    struct psr_span *zap; /* [nzap] */
    size_t nzap;
    psr_rfft *rfft;           /* transforms series before the plans get them; NULL: none came */
    psr_accelsearch *matched; /* NULL: boxes only */
    struct psr_fourier_slot slot[PSR_FOURIER_SLOTS];
};

/* How red noise is removed. */
struct psr_redden psr_fourier_redden(const struct psr_fourier *f);

/* How the matched search whitens series, as accelsearch does what it has transformed itself. */
struct psr_redden psr_fourier_whitening(const struct psr_fourier *f);

/* Whitens a spectrum for the matched search, unless its plan does.
 * Returned: in->photons, the sum of the series as the normalisation wants it: PRESTO's is what
 *           whitening leaves in bin 0
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fourier_whiten_spectrum(const struct psr_fourier *f,
                                                      struct psr_fourier_input *in, psr_err *err);

/* Keeps the candidates that a box is around, less than 15 bins from its bins.
 * Given:    cand [n], in the order of the list
 * Returned: *n
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fourier_confirm(const struct psr_pulscan_result *boxes,
                                              struct psr_accel_cand *cand, size_t *n, psr_err *err);

/* Looks for red noise that was left in input i of the last execute, before it is whitened.
 * Given:    result   with the list of its boxes
 * Returned: result, red_hz and the two behind it */
void psr_fourier_find_red_noise(const struct psr_fourier *f, size_t slot, size_t i,
                                struct psr_fourier_result *result);

#endif
