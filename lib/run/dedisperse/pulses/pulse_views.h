/* pulse_views.h: writes pictures of the spectra around pulses (private). */
#ifndef PSR_RUN_DEDISPERSE_PULSES_PULSE_VIEWS_H
#define PSR_RUN_DEDISPERSE_PULSES_PULSE_VIEWS_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/singlepulse.h>
#include <psrkit/obs.h>

/* A pulse. */
struct psr_pulse_view_place {
    const struct psr_obs *obs;
    int64_t first; /* spectrum with which its boxcar begins at the highest frequency */
    double width;  /* spectra */
    double time_s, dm, snr;
};

/* Writes a line of ROOT.bursts.jsonl (psrkit-formats(5)).
 * Status: those of psr_outfile_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_view_write(psr_outfile *f, const psr_pulse_view *view,
                                               const struct psr_pulse_view_place *at, psr_err *err);

#endif
