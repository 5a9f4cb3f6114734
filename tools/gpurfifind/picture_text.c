/* The numbers of a picture, and the key of its colours. */
#include "picture.h"

#include "report.h"
#include "tools/common/canvas.h"
#include "tools/common/canvas_column.h"

#include <math.h>
#include <stdio.h>

enum { BIRDIES = 6, TOP = 60, PATCH = 12 };

const uint32_t gpurfifind_colours[GPURFIFIND_NCOLOUR] = {
    [GPURFIFIND_GOOD] = 0xffffff,     [GPURFIFIND_PADDED] = CANVAS_NO_DATA,
    [GPURFIFIND_PERIODIC] = 0x1f77b4, [GPURFIFIND_ODD_SD] = 0xff9e2c,
    [GPURFIFIND_ODD_MEAN] = 0xd62728, [GPURFIFIND_FOUND] = 0x9467bd,
    [GPURFIFIND_WHOLE] = 0x333333,
};

enum gpurfifind_colour gpurfifind_find_colour(unsigned flag)
{
    if (flag & PSR_RFI_PADDING)
        return GPURFIFIND_PADDED;
    if (flag & (PSR_RFI_USERCHAN | PSR_RFI_USERINTS))
        return GPURFIFIND_WHOLE;
    if (flag & PSR_RFI_BAD_MEAN)
        return GPURFIFIND_ODD_MEAN;
    if (flag & PSR_RFI_BAD_SD)
        return GPURFIFIND_ODD_SD;
    if (flag & PSR_RFI_BAD_FOUND)
        return GPURFIFIND_FOUND;
    return flag & PSR_RFI_BAD_POWER ? GPURFIFIND_PERIODIC : GPURFIFIND_GOOD;
}

static void write_observation(struct canvas_column c, const struct psr_rfi_run_report *r)
{
    const struct psr_mask *m = &r->mask;
    char text[96];
    canvas_column_text(&c, "telescope", r->obs.telescope);
    canvas_column_text(&c, "source", r->obs.source);
    canvas_column_number(&c, "MJD", "%.8f", m->mjd);
    canvas_column_number(&c, "sampling", "%.6g s", r->obs.tsamp_s);
    snprintf(text, sizeof text, "%zu of %.6g MHz from %.7g MHz", m->nchan, m->dfreq_mhz,
             m->lofreq_mhz);
    canvas_column_text(&c, "channels", text);
    snprintf(text, sizeof text, "%zu of %.6g s (%lld spectra)", m->nint, m->dtint_s,
             (long long)m->ptsperint);
    canvas_column_text(&c, "intervals", text);
}

static void write_share(struct canvas_column *c, const struct psr_rfi_run_report *r,
                        const char *name, unsigned bits)
{
    const size_t n = r->stats.nint * r->stats.nchan;
    const size_t count = gpurfifind_count_cells(r, r->flags, bits);
    char text[64];
    snprintf(text, sizeof text, "%zu cells, %.3f %%", count, 100 * (double)count / (double)n);
    canvas_column_text(c, name, text);
}

static void write_mask(struct canvas_column c, const struct psr_rfi_run_report *r)
{
    char text[64];
    write_share(&c, r, "masked", PSR_RFI_BAD | PSR_RFI_USERCHAN | PSR_RFI_USERINTS);
    write_share(&c, r, "periodic", PSR_RFI_BAD_POWER);
    write_share(&c, r, "deviation", PSR_RFI_BAD_SD);
    write_share(&c, r, "mean", PSR_RFI_BAD_MEAN);
    write_share(&c, r, "other tests", PSR_RFI_BAD_FOUND);
    snprintf(text, sizeof text, "%zu channels, %zu intervals", r->mask.nzap_chan, r->mask.nzap_int);
    canvas_column_text(&c, "whole", text);
    snprintf(text, sizeof text, "%g (time), %g (frequency) sigma", r->mask.timesigma,
             r->mask.freqsigma);
    canvas_column_text(&c, "thresholds", text);
}

/* The most significant ones, found one after the other. */
static void write_birdies(struct canvas_column c, const struct psr_rfi_list *list)
{
    float below = INFINITY;
    canvas_column_text(&c, list->n ? "birdies, Hz" : "no birdies",
                       list->n ? "sigma, times seen" : "");
    for (int k = 0; k < BIRDIES; k++) {
        const struct psr_rfi_birdie *best = NULL;
        char name[32], text[64];
        for (size_t i = 0; i < list->n; i++)
            if (list->birdie[i].sigma < below && (!best || list->birdie[i].sigma > best->sigma))
                best = &list->birdie[i];
        if (!best)
            return;
        below = best->sigma;
        snprintf(name, sizeof name, "%.7g", (double)best->freq_hz);
        snprintf(text, sizeof text, "%.2f, %d", (double)best->sigma, best->nobs);
        canvas_column_text(&c, name, text);
    }
}

void gpurfifind_write_numbers(struct canvas *c, const struct psr_rfi_run_report *r,
                              const char *name)
{
    canvas_text(c, 30, 30, 15, name);
    write_observation((struct canvas_column){c, 30, TOP}, r);
    write_mask((struct canvas_column){c, 470, TOP}, r);
    write_birdies((struct canvas_column){c, 900, TOP}, &r->list);
}

void gpurfifind_write_key(struct canvas *c, double left, double top)
{
    static const char *const what[GPURFIFIND_NCOLOUR] = {
        [GPURFIFIND_PADDED] = "no data",
        [GPURFIFIND_PERIODIC] = "periodic",
        [GPURFIFIND_ODD_SD] = "standard deviation",
        [GPURFIFIND_ODD_MEAN] = "mean",
        [GPURFIFIND_FOUND] = "neighbours, distribution or bursts",
        [GPURFIFIND_WHOLE] = "whole channel or interval",
    };
    static const double width[GPURFIFIND_NCOLOUR] = {0, 80, 85, 150, 70, 240, 0};
    canvas_text(c, left, top + PATCH - 2, 12, "mask:");
    left += 50;
    for (int k = GPURFIFIND_PADDED; k < GPURFIFIND_NCOLOUR; k++) {
        canvas_patch(c, left, top, PATCH, PATCH, gpurfifind_colours[k]);
        canvas_text(c, left + PATCH + 6, top + PATCH - 2, 12, what[k]);
        left += width[k];
    }
}
