/* Writes lines of interference as .zaplist and .birds files. */
#include "rfi/rules/clean_internal.h"

#include <psrkit/experimental/clean.h>

#include <math.h>

psr_status psr_rfi_zaplist_write(psr_outfile *f, const struct psr_rfi_lines *l, psr_err *err)
{
    psr_status st = psr_outfile_printf(f, err, "# Frequency (Hz)      Width (Hz)\n");
    for (size_t k = 0; k < l->n && !st; k++)
        st = psr_outfile_printf(f, err, "%20.12g %15.8g # power %.5g\n", l->line[k].freq_hz,
                                l->line[k].width_hz, l->line[k].power);
    return st;
}

/* So wide that each harmonic of line k is covered at its multiple of the frequency. */
static double width_of_all(const struct psr_rfi_lines *l, size_t k)
{
    const struct psr_rfi_line *f = &l->line[k];
    double width = f->width_hz;
    size_t next = k + 1;
    for (int h = 2; h <= f->nharm; h++) {
        const double at = h * f->freq_hz;
        while (next + 1 < l->n &&
               fabs(l->line[next + 1].freq_hz - at) < fabs(l->line[next].freq_hz - at))
            next++;
        if (next < l->n)
            width = fmax(width, l->line[next].width_hz + 2 * fabs(l->line[next].freq_hz - at));
    }
    return width;
}

psr_status psr_rfi_birds_write(psr_outfile *f, const struct psr_rfi_lines *l, psr_err *err)
{
    psr_status st =
        psr_outfile_printf(f, err, "# Frequency (Hz)      Width (Hz) Harmonics Grow Barycentric\n");
    for (size_t k = 0; k < l->n && !st; k++)
        if (l->line[k].nharm > 0)
            st = psr_outfile_printf(f, err, "%20.12g %15.8g %d 0 0\n", l->line[k].freq_hz,
                                    width_of_all(l, k), l->line[k].nharm);
    return st;
}
