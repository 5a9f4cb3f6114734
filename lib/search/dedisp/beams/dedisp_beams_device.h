/* dedisp_beams_device.h: what a kind of accelerator offers to dedispersion of beams (private). */
#ifndef PSR_SEARCH_DEDISP_BEAMS_DEDISP_BEAMS_DEVICE_H
#define PSR_SEARCH_DEDISP_BEAMS_DEDISP_BEAMS_DEVICE_H

#include "dedisp_line.h"

struct psr_beams_device_ops {
    const char *name;
    /* Given:    line [nline]   with rings, without programs; outlive the state
     * Returned: line[].adds; *bytes_shared   on the device, for all beams
     * Status:   PSR_EDEVICE; PSR_EUNSUPPORTED for sums beyond 32 bits; PSR_ENOMEM also if mem_bytes, or
     *           the device's free memory if it is 0, cannot hold all beams */
    psr_status (*create)(void **state, const struct psr_dedisp_beams_desc *d,
                         struct psr_dedisp_line *line, size_t nline, double *bytes_shared,
                         psr_err *err);
    /* Takes spectra was .. was + nsamp - 1 of a beam; returns when "in" may be overwritten. */
    psr_status (*execute)(void *state, size_t beam, const void *in, uint64_t was, size_t nsamp,
                          psr_err *err);
    /* The same of spectra on the device, which are read in place.  A stream that is not NULL writes
     * them, and may overwrite them afterwards; else returns when they may be overwritten. */
    psr_status (*execute_device)(void *state, size_t beam, const void *d_in, void *stream,
                                 uint64_t was, size_t nsamp, psr_err *err);
    /* Blanks a beam; a failure is told by the next execute. */
    void (*reset)(void *state, size_t beam);
    void (*series)(void *state, size_t line, struct psr_device_series *series);
    void (*destroy)(void *state);
};

extern const struct psr_beams_device_ops psr_beams_cuda;

/* The plan of a line, for functions that return shifts and delays, and psr_mask_correction_create. */
const psr_dedisp *psr_dedisp_beams_plan(const psr_dedisp_beams *p, size_t line);

/* Returned: *ops   NULL for the CPU
 * Status:   PSR_EDEVICE naming the backend */
PSR_MUST_CHECK psr_status psr_beams_device_find(const char *backend,
                                                const struct psr_beams_device_ops **ops,
                                                psr_err *err);

#endif
