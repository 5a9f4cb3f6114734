/* Dedisperses an array at three trial DMs and prints the brightest sample of each series. */
#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>
#include <stdio.h>
#include <stdlib.h>

enum { NCHAN = 256, NSAMP = 8192, NDM = 3 };

int main(void)
{
    const double dm[NDM] = {0, 50, 100}, tsamp_s = 256e-6;
    double freq_mhz[NCHAN];
    unsigned char *x = calloc(NSAMP, NCHAN); /* x[t][c]: 8-bit samples */
    float *series = calloc(NDM, NSAMP * sizeof *series);
    if (!x || !series)
        return EXIT_FAILURE;
    for (int c = 0; c < NCHAN; c++) { /* a pulse of DM 50, at t = 1000 in the highest channel */
        freq_mhz[c] = 1500 - c;
        int64_t d = psr_delay_samples(PSR_DMCONST_PRESTO, 50, freq_mhz[c], 1500, tsamp_s);
        x[(1000 + d) * NCHAN + c] = 1;
    }
    struct psr_dedisp_desc desc = {
        .size = sizeof desc, .nchan = NCHAN, .freq_mhz = freq_mhz, .tsamp_s = tsamp_s};
    desc.nbit = 8, desc.kind = PSR_UINT, desc.downsamp = 1, desc.dmconst = PSR_DMCONST_PRESTO;
    desc.ndm = NDM, desc.dm = dm;

    psr_err err;
    psr_dedisp *plan = NULL;
    size_t n = 0;
    psr_status st = psr_dedisp_create(&plan, &desc, &err);
    if (st == PSR_OK)
        st = psr_dedisp_execute(plan, x, NSAMP, series, NSAMP, &n, &err);
    if (st != PSR_OK)
        fprintf(stderr, "example: %s\n", err.msg);
    for (size_t i = 0; i < NDM && st == PSR_OK; i++) {
        size_t best = 0;
        for (size_t t = 1; t < n; t++)
            best = series[i * NSAMP + t] > series[i * NSAMP + best] ? t : best;
        printf("DM %3.0f: %3.0f at sample %zu of %zu\n", dm[i], series[i * NSAMP + best], best, n);
    }
    psr_dedisp_destroy(plan);
    free(series);
    free(x);
    return st == PSR_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
