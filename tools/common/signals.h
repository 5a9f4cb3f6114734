/* signals.h: signals that are added to noise or to observations, as text and in the table of truth. */
#ifndef PSR_TOOLS_SIGNALS_H
#define PSR_TOOLS_SIGNALS_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/fake.h>

/* What -binary and the keys of -add say of an orbit, in SIGPROC's units. */
struct signals_orbit {
    double period_h, ecc, inc_deg, omega_deg, phase, pulsar_msun, companion_msun;
};

#define SIGNALS_ORBIT                                                                              \
    {                                                                                              \
        .period_h = 10, .inc_deg = 90, .pulsar_msun = 1.4, .companion_msun = 5                     \
    } /* where not given */

struct signals {
    struct psr_fake_signal *signal; /* [n] */
    double **profile;               /* [n] read from files, or NULL */
    size_t n;
    struct psr_overwrite_check files; /* that were read */
};

/* What -add gives as text: "burst dm=475 t=2 width=2e-3 snr=20".
 * Given: observed_s, the observation's length; what, for messages
 * Status: PSR_EINVAL, PSR_EIO, PSR_EFORMAT, PSR_ENOMEM. */
PSR_MUST_CHECK psr_status signals_add_text(struct signals *to, const char *text, const char *what,
                                           double observed_s, psr_err *err);

/* The same for each line of a file that is neither blank nor a comment. */
PSR_MUST_CHECK psr_status signals_add_file(struct signals *to, const char *path, double observed_s,
                                           psr_err *err);
PSR_MUST_CHECK psr_status signals_add(struct signals *to, const struct psr_fake_signal *s,
                                      double *profile, psr_err *err);

void signals_set_orbit(struct psr_fake_signal *s, const struct signals_orbit *orbit);

/* Sets pdot and the period at time 0 of a pulsar whose period is given at mid-observation where it
 * is accelerated. */
void signals_set_drift(struct psr_fake_signal *s, double pdot, double accn, double observed_s);
void signals_clear(struct signals *signals);

/* The head of the table of truth, and the row of one signal. */
PSR_MUST_CHECK psr_status signals_truth_begin(psr_outfile *f, const char *command, int64_t seed,
                                              const struct psr_obs *obs, psr_err *err);
PSR_MUST_CHECK psr_status signals_truth_row(psr_outfile *f, enum psr_fake_kind kind,
                                            const struct psr_fake_truth *t, psr_err *err);

#endif
