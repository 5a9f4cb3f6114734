/* What -v says. */
#include "frbbeam.h"

#include <stdio.h>
#include <sys/resource.h>

void frbbeam_report_plan(const struct frbbeam_job *j)
{
    struct psr_beam_info info;
    size_t longest = 0;
    psr_beam_describe(j->plan, &info);
    for (size_t f = 0; f < j->nfreq; f++)
        longest = j->sum[f] > longest ? j->sum[f] : longest;
    fprintf(
        stderr,
        "%s: %zu channels, %g to %g MHz, %zu dishes, %g us; %lld samples\n"
        "%s: %zu beams of a %zu x %zu grid, %zu to %zu samples a sum; backend %s, %d threads, %.0f "
        "MB, blocks of %zu samples\n",
        j->path[0], j->nfreq, j->freq_mhz[0], j->freq_mhz[j->nfreq - 1], j->array.ndish,
        j->tsamp_s * 1e6, (long long)psr_voltages_nsamp(j->voltages), j->tool.name, j->nbeam,
        j->array.m, j->array.n, j->tds, longest, info.backend, j->nthread, (double)info.bytes / 1e6,
        j->block);
}

void frbbeam_report_account(const struct frbbeam_job *j)
{
    static const char *const name[NSTAGES] = {"start", "read", "beams", "write", "end"};
    double all_s = 0, real_s = (double)j->nread * j->tsamp_s;
    if (j->kept_n > 0)
        fprintf(stderr, "%s: scales measured on %zu rows of each beam, %.3g s, %.0f MB\n",
                j->tool.name, j->kept_n, (double)j->kept_n * (double)j->tds * j->tsamp_s,
                (double)(j->kept_n * j->nbeam * j->nfreq) * sizeof(float) / 1e6);
    fprintf(stderr, "%s: %lld samples in, %lld out of each beam;", j->tool.name,
            (long long)j->nread, (long long)j->nrow);
    for (int s = 0; s < NSTAGES; s++) {
        fprintf(stderr, " %s %.3f s,", name[s], j->stage_s[s]);
        all_s += j->stage_s[s];
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, " %.3g x real time, peak %ld MB\n", real_s / all_s, used.ru_maxrss / 1000);
}
