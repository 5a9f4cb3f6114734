/* Prints the output of -v. */
#include "report.h"

#include <stdio.h>
#include <sys/resource.h>

void frbbeam_print_plan(const struct cli *tool, const psr_beamformer *p)
{
    struct psr_beamformer_report r;
    psr_beamformer_describe(p, &r);
    fprintf(
        stderr,
        "%s: %zu channels, %g to %g MHz, %zu dishes, %g us; %lld samples\n"
        "%s: %zu beams of a %zu x %zu grid, %zu to %zu samples a sum; backend %s, %d threads, %.0f "
        "MB, blocks of %zu samples\n",
        r.input, r.nfreq, r.freq_mhz[0], r.freq_mhz[r.nfreq - 1], r.ndish, r.tsamp_s * 1e6,
        (long long)r.nsamp, tool->name, r.nbeam, r.m, r.n, r.shortest, r.longest, r.plan->backend,
        r.nthread, (double)r.plan->bytes / 1e6, r.block);
}

void frbbeam_print_account(const struct cli *tool, const psr_beamformer *p)
{
    struct psr_beamformer_report r;
    struct rusage used;
    psr_beamformer_describe(p, &r);
    const double real_s = (double)r.nread * r.tsamp_s;
    const double all_s = r.start_s + r.read_s + r.beam_s + r.write_s + r.end_s;
    if (r.kept > 0)
        fprintf(stderr, "%s: scales measured on %zu rows of each beam, %.3g s, %.0f MB\n",
                tool->name, r.kept, (double)r.kept * (double)r.shortest * r.tsamp_s,
                (double)(r.kept * r.nbeam * r.nfreq) * sizeof(float) / 1e6);
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr,
            "%s: %lld samples in, %lld out of each beam; start %.3f s, read %.3f s, beams %.3f s, "
            "write %.3f s, end %.3f s, %.3g x real time, peak %ld MB\n",
            tool->name, (long long)r.nread, (long long)r.nrow, r.start_s, r.read_s, r.beam_s,
            r.write_s, r.end_s, real_s / all_s, used.ru_maxrss / 1000);
}
