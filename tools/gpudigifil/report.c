/* Prints the output of -v. */
#include "report.h"

#include <stdio.h>

void digifil_print_plan(const struct cli *tool, const psr_filterbank *p)
{
    struct psr_filterbank_report r;
    psr_filterbank_describe(p, &r);
    const struct psr_obs *out = r.out;
    fprintf(
        stderr,
        "%s: %s, %zu %s channels, %zu polarisations, %d bits, %.9g samples/s\n"
        "%s: %zu channels, transform back of %zu points (%zu and %zu discarded); out %zu channels "
        "from %.6f MHz by %g, %d products, %.9g us, %d bits; first scale of %lld spectra; on %s, "
        "%d "
        "threads\n",
        r.input, r.format, r.nchan_in, r.real ? "real" : "complex", r.npol_in, r.nbit_in, r.rate_hz,
        tool->name, r.nchan, r.nfft, r.early, r.late, out->nchan, out->fch1_mhz, out->foff_mhz,
        out->nif, out->tsamp_s * 1e6, out->nbit, (long long)r.held, r.backend, r.nthread);
}

void digifil_print_account(const struct cli *tool, const psr_filterbank *p)
{
    struct psr_filterbank_report r;
    psr_filterbank_describe(p, &r);
    const double all_s = r.read_s + r.channels_s + r.rows_s;
    fprintf(stderr,
            "%s: %lld samples in (%lld lost), %lld spectra out (%lld without data); waiting for "
            "reads %.3f s, channels %.3f s, detection and output %.3f s; %.4g MB/s, %.3g x real "
            "time\n",
            tool->name, (long long)r.nread, (long long)r.nlost, (long long)r.nrow,
            (long long)r.nrow_lost, r.read_s, r.channels_s, r.rows_s,
            (double)r.nread * r.sample_bytes / 1e6 / all_s, (double)r.nread / r.rate_hz / all_s);
}

void digifil_print_latency(const struct cli *tool, const psr_filterbank *p)
{
    struct psr_filterbank_report r;
    psr_filterbank_describe(p, &r);
    if (r.ntimed == 0)
        return;
    fprintf(stderr,
            "%s: %lld spectra were written %.3f s after their last voltages came, %.3f s at most "
            "(bound: %.3f s, a block of %.3f s and %.3f s of frames, and what the machine takes)\n",
            tool->name, (long long)r.ntimed, r.latency_s, r.worst_s, r.block_s + r.hold_s,
            r.block_s, r.hold_s);
}
