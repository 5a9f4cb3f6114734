/* clean_auto_internal.h: automatic cleaning on devices (private). */
#ifndef PSR_RFI_AUTO_CLEAN_AUTO_INTERNAL_H
#define PSR_RFI_AUTO_CLEAN_AUTO_INTERNAL_H

#include <psrkit/experimental/clean_auto.h>

/* Memory of the plan in bytes, without the report. */
int64_t psr_clean_auto_bytes(const psr_clean_auto *p);

/* Steps of the noise of kept channels in the spectra that the last execute or finish returned, in time order: from
 * spectrum t on, this share of the variance of channel c is missing, 1 where it is masked (sparks included), 0 at the
 * start of the stream; with weights, 1 - (q / 5)^2 where it is not masked.
 * Returned: their number; *step belongs to the plan and is valid until the next call */
size_t psr_clean_auto_missing(const psr_clean_auto *p, const struct psr_step **step);

/* What became of spectra that were returned before.
 * Given:    x [n][nchan]   spectra first .. of the input, as floats
 * Returned: x   divided by s of their window and channel; not a number where they are masked, or none */
void psr_clean_auto_mark(const psr_clean_auto *p, int64_t first, size_t n, float *x);
/* The same, and the spectra stay on the device: *d_out [*nout][nchan], the plan's, valid and complete until its next
 * call.  In is read without a copy if allocated by psr_device_pin.
 * Status: PSR_EUNSUPPORTED (the plan runs on the CPU), PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_clean_auto_execute_device(psr_clean_auto *p, const void *in,
                                                        size_t nsamp, void **d_out, size_t *nout,
                                                        psr_err *err);
PSR_MUST_CHECK psr_status psr_clean_auto_finish_device(psr_clean_auto *p, void **d_out,
                                                       size_t *nout, psr_err *err);

/* So many spectra of zeros on the device, as if they were returned.  Status: as above. */
PSR_MUST_CHECK psr_status psr_clean_auto_blank_device(psr_clean_auto *p, size_t nsamp, void **d_out,
                                                      psr_err *err);

/* Name of the backend; static storage. */
const char *psr_clean_auto_backend(const psr_clean_auto *p);

/* As psr_clean_lost. */
size_t psr_clean_auto_lost(const psr_clean_auto *p, const struct psr_span **span);

#endif
