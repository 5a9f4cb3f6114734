/* picture.h: the picture of a run of gpurfifind, as PNG. */
#ifndef PSR_TOOLS_GPURFIFIND_PICTURE_H
#define PSR_TOOLS_GPURFIFIND_PICTURE_H

#include <psrkit/experimental/clean.h>

/* Draws means, standard deviations, largest powers and the mask by channel and interval, with the
 * bandpass and the shares that are masked, and numbers.
 * Given:  name   of the run, for the title
 * Status: PSR_EINVAL in a build without cairo, PSR_ENOMEM, those of psr_outfile_write */
PSR_MUST_CHECK psr_status gpurfifind_draw(psr_outfile *f, const struct psr_rfi_run_report *r,
                                          const char *name, psr_err *err);

struct canvas;

#endif
