/* Reports a run of gpurfifind: what is masked and why, periodic interference, times. */
#include "report.h"

#include "base/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { BIRDIES = 10, LINES = 5 };

struct cell_label {
    unsigned bits;
    const char *what;
};

static const struct cell_label reasons[] = {
    {PSR_RFI_PADDING, "are in intervals that the data do not fill"},
    {PSR_RFI_BAD_POWER, "are periodic"},
    {PSR_RFI_BAD_SD, "have an odd standard deviation"},
    {PSR_RFI_BAD_MEAN, "have an odd mean"},
    {PSR_RFI_USERCHAN, "are in channels masked throughout"},
    {PSR_RFI_USERINTS, "are in intervals masked whole"},
};

/* Tests that rfifind does not have: bits of what they found. */
static const struct cell_label tests[] = {
    {PSR_RFI_FOUND_LEVEL, "have a standard deviation above those of channels beside them (-iqrm)"},
    {PSR_RFI_FOUND_SK, "have a spectral kurtosis that noise of the channel does not have (-sk)"},
    {PSR_RFI_FOUND_SKEWNESS, "have a skewness unlike the channel's in other intervals (-skew)"},
    {PSR_RFI_FOUND_KURTOSIS, "have a kurtosis unlike the channel's in other intervals (-kurt)"},
    {PSR_RFI_FOUND_BURSTS, "are in intervals with many bursts at DM 0 (-bursts, -burstfrac)"},
};

size_t gpurfifind_count_cells(const struct psr_rfi_run_report *r, const unsigned char *flags,
                              unsigned bits)
{
    const size_t n = r->stats.nint * r->stats.nchan;
    size_t count = 0;
    for (size_t k = 0; k < n; k++)
        count += (flags[k] & bits) != 0;
    return count;
}

static void print_counts(const struct cli *tool, const struct psr_rfi_run_report *r,
                         const unsigned char *flags, const struct cell_label *label, size_t nlabel)
{
    const size_t n = r->stats.nint * r->stats.nchan;
    for (size_t k = 0; k < nlabel; k++) {
        const size_t count = gpurfifind_count_cells(r, flags, label[k].bits);
        if (count)
            fprintf(stderr, "%s: %zu cells (%.3f %%) %s\n", tool->name, count,
                    100 * (double)count / (double)n, label[k].what);
    }
}

void gpurfifind_print_cells(const struct cli *tool, const struct psr_rfi_run_report *r)
{
    const size_t n = r->stats.nint * r->stats.nchan;
    const size_t bad =
        gpurfifind_count_cells(r, r->flags, PSR_RFI_BAD | PSR_RFI_USERCHAN | PSR_RFI_USERINTS);
    fprintf(stderr,
            "%s: %zu intervals of %lld spectra, %zu channels; masked: %zu of %zu cells (%.3f %%), "
            "%zu whole channels, %zu whole intervals\n",
            tool->name, r->stats.nint, (long long)r->stats.ptsperint, r->stats.nchan, bad, n,
            100 * (double)bad / (double)n, r->mask.nzap_chan, r->mask.nzap_int);
    print_counts(tool, r, r->flags, reasons, sizeof reasons / sizeof *reasons);
    print_counts(tool, r, r->found, tests, sizeof tests / sizeof *tests);
}

PSR_COMPARE_POINTERS(by_power, struct psr_rfi_line, PSR_FALLING(power));

psr_status gpurfifind_print_sums(const struct cli *tool, const struct psr_rfi_run_report *r,
                                 psr_err *err)
{
    if (r->stats.burst) {
        double share = 0;
        size_t with = 0;
        for (size_t i = 0; i < r->stats.nint; i++) {
            share += (double)r->stats.burst[i] / (double)r->stats.nint;
            with += r->stats.burst[i] > 0;
        }
        if (with)
            fprintf(stderr, "%s: %.3g %% of the spectra are in bursts at DM 0, in %zu intervals\n",
                    tool->name, 100 * share, with);
    }
    const struct psr_rfi_lines *l = &r->lines;
    if (!l->n)
        return PSR_OK;
    const struct psr_rfi_line **sorted = malloc(l->n * sizeof *sorted);
    if (!sorted)
        return psr_fail_nomem(err, "a list of lines", (double)l->n * sizeof *sorted);
    for (size_t k = 0; k < l->n; k++)
        sorted[k] = &l->line[k];
    qsort(sorted, l->n, sizeof *sorted, by_power);
    fprintf(stderr, "%s: %zu lines at DM 0 are in .zaplist; the strongest at", tool->name, l->n);
    for (size_t k = 0; k < l->n && k < LINES; k++)
        fprintf(stderr, "%s %.7g", k ? "," : "", sorted[k]->freq_hz);
    fprintf(stderr, " Hz\n");
    free(sorted);
    return PSR_OK;
}

PSR_COMPARE_POINTERS(by_sigma, struct psr_rfi_birdie, PSR_FALLING(sigma));
PSR_COMPARE_POINTERS(by_nobs, struct psr_rfi_birdie,
                     PSR_THEN(PSR_FALLING(nobs), PSR_FALLING(sigma)));

static void print_best(const struct cli *tool, const char *what,
                       const struct psr_rfi_birdie *const *birdie, size_t n)
{
    fprintf(stderr, "%s: %s: frequency (Hz), period (ms), sigma, times seen\n", tool->name, what);
    for (size_t k = 0; k < n && k < BIRDIES; k++)
        fprintf(stderr, "%14.8g %14.8g %8.2f %8d\n", (double)birdie[k]->freq_hz,
                1000 / (double)birdie[k]->freq_hz, (double)birdie[k]->sigma, birdie[k]->nobs);
}

psr_status gpurfifind_print_birdies(const struct cli *tool, const struct psr_rfi_list *list,
                                    psr_err *err)
{
    if (!list->n)
        return PSR_OK;
    const struct psr_rfi_birdie **sorted = malloc(list->n * sizeof *sorted);
    if (!sorted)
        return psr_fail_nomem(err, "a list of birdies", (double)list->n * sizeof *sorted);
    for (size_t k = 0; k < list->n; k++)
        sorted[k] = &list->birdie[k];
    qsort(sorted, list->n, sizeof *sorted, by_sigma);
    print_best(tool, "the most significant birdies", sorted, list->n);
    qsort(sorted, list->n, sizeof *sorted, by_nobs);
    print_best(tool, "the most frequent birdies", sorted, list->n);
    free(sorted);
    return PSR_OK;
}

void gpurfifind_print_times(const struct cli *tool, const struct psr_rfi_run_report *r)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, "%s: %lld spectra in, %lld clipped; read %.3f s, compute %.3f s, peak %ld MB\n",
            tool->name, (long long)r->nread, (long long)r->nclipped, r->read_s, r->compute_s,
            used.ru_maxrss / 1000);
}
