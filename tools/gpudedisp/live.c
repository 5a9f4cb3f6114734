/* Tells of pulses as they are found: a line of JSON each. */
#include "live.h"

#include "tools/common/run.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static psr_status fail_output(const struct gpudedisp_live *l, psr_err *err)
{
    return psr_fail(err, PSR_EIO, "%s: %s", l->standard ? "standard output" : l->name,
                    strerror(errno));
}

/* Lines are read while the search goes on, so they do not wait for their file to be complete. */
psr_status gpudedisp_live_open(struct gpudedisp_live *l, const char *name, psr_err *err)
{
    *l = (struct gpudedisp_live){.name = name, .fd = STDOUT_FILENO, .standard = !strcmp(name, "-")};
    if (!l->standard)
        l->fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    return l->fd < 0 ? fail_output(l, err) : PSR_OK;
}

psr_status gpudedisp_live_burst(void *ctx, const struct psr_burst *burst, psr_err *err)
{
    struct gpudedisp_live *l = ctx;
    char line[PSR_BURST_BYTES];
    const size_t n = psr_burst_json(line, burst);
    psr_status st = PSR_OK;
    if (run_take_hangup() && !l->standard) {
        close(l->fd);
        st = gpudedisp_live_open(l, l->name, err);
    }
    for (size_t done = 0; done < n && !st;) {
        ssize_t more = write(l->fd, line + done, n - done);
        if (more < 0 && errno != EINTR)
            st = fail_output(l, err);
        done += more > 0 ? (size_t)more : 0;
    }
    return st;
}

psr_status gpudedisp_live_close(struct gpudedisp_live *l, psr_err *err)
{
    const int fd = l->fd;
    l->fd = -1;
    return !l->standard && fd >= 0 && close(fd) ? fail_output(l, err) : PSR_OK;
}

void gpudedisp_live_report(const struct cli *tool, psr_pipeline *p)
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
            "most "
            "(bound: %.3f s and what the machine takes); peak %ld MB\n",
            tool->name, (long long)r.nread, (double)r.nread * r.obs->tsamp_s,
            (long long)found->nburst, (long long)found->nmarked, found->mean_s, found->worst_s,
            found->bound_s, used.ru_maxrss / 1000);
    if (found->ncut)
        fprintf(
            stderr,
            "%s: %lld times events followed each other for so long that they were told in parts\n",
            tool->name, (long long)found->ncut);
}
