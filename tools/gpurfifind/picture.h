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

/* Writes the numbers above the panels and the key of the mask's colours below them. */
void gpurfifind_write_numbers(struct canvas *c, const struct psr_rfi_run_report *r,
                              const char *name);
void gpurfifind_write_key(struct canvas *c, double left, double top);

/* What a cell of the mask is drawn as. */
enum gpurfifind_colour {
    GPURFIFIND_GOOD,
    GPURFIFIND_PADDED,
    GPURFIFIND_PERIODIC,
    GPURFIFIND_ODD_SD,
    GPURFIFIND_ODD_MEAN,
    GPURFIFIND_FOUND,
    GPURFIFIND_WHOLE,
    GPURFIFIND_NCOLOUR
};

enum gpurfifind_colour gpurfifind_find_colour(unsigned flag);

/* 0x00RRGGBB of each. */
extern const uint32_t gpurfifind_colours[GPURFIFIND_NCOLOUR];

#endif
