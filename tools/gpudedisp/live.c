/* Tells of pulses as they are found: a line of JSON each. */
#include "gpudedisp.h"

#include "tools/common/run.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void gpudedisp_live_wait_asleep(int argc, char *const *argv)
{
    char program[PATH_MAX]; /* the link itself would name the process "exe" */
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    bool live = false;
    for (int i = 1; i < argc; i++)
        live = live || !strcmp(argv[i], "-live") || !strcmp(argv[i], "--live");
    if (!live || n < 0 || getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
        return;
    program[n] = '\0';
    /* OpenMP reads its environment before main. */
    if (setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        execv(program, argv);
}

psr_status gpudedisp_live_burst(void *ctx, const struct psr_burst *burst, psr_err *err)
{
    struct line_output *o = ctx;
    char line[PSR_BURST_BYTES];
    const size_t n = psr_burst_json(line, burst);
    psr_status st = run_take_hangup() ? line_output_reopen(o, err) : PSR_OK;
    return st ? st : line_output_write(o, line, n, err);
}

static void report_dumps(const struct cli *tool, const struct psr_dump_counts *c)
{
    fprintf(stderr, "%s: spectra around %lld pulses kept in %lld files", tool->name,
            (long long)(c->npulse), (long long)c->nfile);
    const struct {
        int64_t n;
        const char *why;
    } lost[] = {{c->nlate, "pulses began before what the ring held"},
                {c->nbusy, "pulses came while too many files were being written"},
                {c->nslow, "files were given up: the disk was too slow"},
                {c->nfailed, "files could not be written"}};
    for (size_t k = 0; k < sizeof lost / sizeof *lost; k++)
        if (lost[k].n)
            fprintf(stderr, "; %lld %s", (long long)lost[k].n, lost[k].why);
    fprintf(stderr, "\n");
}

void gpudedisp_live_report(const struct cli *tool, const struct line_output *output,
                           psr_pipeline *p)
{
    const struct psr_live_found *found = psr_pipeline_result(p, "live");
    struct psr_pipeline_report r;
    struct rusage used;
    if (!found)
        return;
    psr_pipeline_describe(p, &r);
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr,
            "%s: %lld spectra, %.1f s: %lld pulses, %lld of them marked; latency %.3f s, %.3f s at "
            "most (bound: %.3f s and what the machine takes); peak %ld MB\n",
            tool->name, (long long)r.nread, (double)r.nread * r.obs->tsamp_s,
            (long long)found->nburst, (long long)found->nmarked, found->mean_s, found->worst_s,
            found->bound_s, used.ru_maxrss / 1000);
    if (found->ncut)
        fprintf(stderr,
                "%s: %lld times events followed each other for so long that they were told in "
                "parts\n",
                tool->name, (long long)found->ncut);
    if (r.dumps)
        report_dumps(tool, r.dumps);
    char name[512];
    if (output->nlost)
        fprintf(stderr, "%s: %s: %lld pulses were told to nobody\n", tool->name,
                cli_printable(name, sizeof name, output->name), (long long)output->nlost);
}
