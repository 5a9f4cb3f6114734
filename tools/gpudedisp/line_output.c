/* Writes lines to standard output, a file or a socket. */
#include "gpudedisp.h"

#include "base/portable.h"
#include "tools/common/cli.h"
#include "tools/common/plot/pulseplot.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static const char TCP[] = "tcp://", UNIX[] = "unix:";

static bool begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

bool line_output_is_socket(const char *name)
{
    return begins(name, TCP) || begins(name, UNIX);
}

static psr_status fail_output(const struct line_output *o, psr_err *err)
{
    return psr_fail(err, PSR_EIO, "%s: %s", strcmp(o->name, "-") ? o->name : "standard output",
                    strerror(errno));
}

/* Nobody is waited for longer than half a second, connecting included. */
static bool connect_to(struct line_output *o, int family, const struct sockaddr *to, socklen_t size)
{
    const struct timeval limit = {.tv_usec = 500000};
    o->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (o->fd >= 0 && !setsockopt(o->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) &&
        !connect(o->fd, to, size))
        return true;
    const int why = errno;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    errno = why;
    return false;
}

static psr_status open_unix(struct line_output *o, psr_err *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = o->name + strlen(UNIX);
    if (strlen(path) >= sizeof to.sun_path || !*path)
        return psr_fail(err, PSR_EINVAL, "%s: a path of %zu bytes, must have 1 to %zu", o->name,
                        strlen(path), sizeof to.sun_path - 1);
    strcpy(to.sun_path, path);
    return connect_to(o, AF_UNIX, (const struct sockaddr *)&to, sizeof to) ? PSR_OK
                                                                           : fail_output(o, err);
}

/* HOST is a name, an address, or one of IPv6 in brackets. */
static bool split_address(const char *name, char host[256], const char **port)
{
    const char *from = name + strlen(TCP), *colon = strrchr(from, ':'), *end = colon;
    if (!colon || !colon[1] || colon == from)
        return false;
    if (*from == '[' && end[-1] == ']')
        from++, end--;
    if (end <= from || end - from > 255)
        return false;
    snprintf(host, 256, "%.*s", (int)(end - from), from);
    *port = colon + 1;
    return true;
}

static psr_status open_tcp(struct line_output *o, psr_err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    char host[256];
    const char *port;
    if (!split_address(o->name, host, &port))
        return psr_fail(err, PSR_EINVAL, "%s: is not tcp://HOST:PORT", o->name);
    int why = getaddrinfo(host, port, &hints, &list);
    if (why)
        return psr_fail(err, PSR_EIO, "%s: %s", o->name, gai_strerror(why));
    bool connected = false;
    for (const struct addrinfo *a = list; a && !connected; a = a->ai_next)
        connected = connect_to(o, a->ai_family, a->ai_addr, a->ai_addrlen);
    psr_status st = connected ? PSR_OK : fail_output(o, err);
    freeaddrinfo(list);
    return st;
}

static psr_status open_output(struct line_output *o, psr_err *err)
{
    if (o->socket)
        return begins(o->name, TCP) ? open_tcp(o, err) : open_unix(o, err);
    o->fd = !strcmp(o->name, "-") ? STDOUT_FILENO
                                  : open(o->name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    return o->fd < 0 ? fail_output(o, err) : PSR_OK;
}

psr_status line_output_open(struct line_output *o, const char *name, psr_err *err)
{
    *o = (struct line_output){.name = name, .fd = -1, .socket = line_output_is_socket(name)};
    return open_output(o, err);
}

static bool write_all(const struct line_output *o, const char *line, size_t n)
{
    int interrupted = 0; /* in a row: nobody reads the pipe */
    for (size_t done = 0; done < n && interrupted < 3;) {
        ssize_t more = write(o->fd, line + done, n - done);
        if (more < 0 && errno != EINTR)
            return false;
        interrupted = more > 0 ? 0 : interrupted + 1;
        done += more > 0 ? (size_t)more : 0;
    }
    return interrupted == 0;
}

/* A socket that has gone is no failure of the search. */
static void leave_socket(struct line_output *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    o->retry_s = run_seconds() + 1;
}

psr_status line_output_write(struct line_output *o, const char *line, size_t n, psr_err *err)
{
    psr_err why;
    if (o->socket && o->fd < 0 && run_seconds() >= o->retry_s && open_output(o, &why))
        leave_socket(o);
    if (o->fd >= 0 && write_all(o, line, n))
        return PSR_OK;
    if (!o->socket)
        return fail_output(o, err);
    if (o->fd >= 0)
        leave_socket(o);
    o->nlost++;
    return PSR_OK;
}

psr_status line_output_reopen(struct line_output *o, psr_err *err)
{
    psr_err why;
    if (!strcmp(o->name, "-"))
        return PSR_OK;
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    if (!o->socket)
        return open_output(o, err);
    if (open_output(o, &why))
        leave_socket(o);
    return PSR_OK;
}

psr_status line_output_close(struct line_output *o, psr_err *err)
{
    const int fd = o->fd;
    o->fd = -1;
    return fd > STDERR_FILENO && close(fd) && !o->socket ? fail_output(o, err) : PSR_OK;
}

/* --- report -------------------------------------------------------------------------------------- */

void gpudedisp_print_plan(const struct cli *tool, psr_pipeline *p)
{
    struct psr_pipeline_report r;
    psr_pipeline_describe(p, &r);
    const struct psr_obs *obs = r.obs;
    char name[512];
    fprintf(stderr, "%s: %zu channels, %g to %g MHz, %d bits, %g s; %lld spectra\n",
            cli_printable(name, sizeof name, r.input), obs->nchan, psr_obs_lowest_mhz(obs),
            psr_obs_highest_mhz(obs), obs->nbit, obs->tsamp_s, (long long)obs->nsamp);
    for (size_t k = 0; k < r.nline; k++) {
        const struct psr_pipeline_line *l = r.line[k];
        fprintf(stderr,
                "%s: %zu trials, DM %g to %g, downsampled by %lld; largest shift %zu samples; %.2f "
                "times fewer adds by sharing; backend %s, %d threads, %.0f MB\n",
                tool->name, l->ndm, r.dm[l->first], r.dm[l->first + l->ndm - 1],
                (long long)l->downsamp, l->maxshift, l->plan->adds_direct / l->plan->adds_planned,
                l->plan->backend, r.nthread, (double)l->plan->bytes / 1e6);
        if (l->plan->difference > 0)
            fprintf(stderr, "%s: delays differ from exact ones by %.2f samples at most\n",
                    tool->name, l->plan->difference);
    }
    if (r.npart)
        fprintf(
            stderr,
            "%s: %zu parts of the band: %zu series beside %zu, and so %.2f times as many events of "
            "noise\n",
            tool->name, r.npart, r.npart_series, r.ndm, 1 + (double)r.npart_series / (double)r.ndm);
}

static void account_fourier(const struct cli *tool, const struct psr_fourier_found *found)
{
    if (!found)
        return;
    fprintf(
        stderr,
        "%s: %zu series searched for pulsars, %zu candidates; kept %.0f MB on devices, %.0f MB in "
        "memory, %.0f MB in a scratch file; load %.3f s, search %.3f s, measure and write %.3f s\n",
        tool->name, found->nsearched, found->ncand, (double)found->device_bytes / 1e6,
        (double)found->memory_bytes / 1e6, (double)found->scratch_bytes / 1e6, found->load_s,
        found->search_s, found->write_s);
}

static void account_ffa(const struct cli *tool, const struct psr_ffa_series_found *found)
{
    if (found)
        fprintf(
            stderr,
            "%s: %zu series searched for slow pulsars, %zu candidates; kept %.0f MB on devices, "
            "%.0f MB in memory, %.0f MB in a scratch file; load %.3f s, search %.3f s\n",
            tool->name, found->nsearched, found->ncand, (double)found->device_bytes / 1e6,
            (double)found->memory_bytes / 1e6, (double)found->scratch_bytes / 1e6, found->load_s,
            found->search_s);
}

void gpudedisp_print_account(const struct cli *tool, psr_pipeline *p, int dm_decimals)
{
    const struct psr_checksums *sums = psr_pipeline_result(p, "checksums");
    const struct psr_pulses_found *found = psr_pipeline_result(p, "pulses");
    struct psr_pipeline_report r;
    struct rusage used;
    psr_pipeline_describe(p, &r);
    for (size_t k = 0; k < r.nline; k++) {
        const struct psr_pipeline_line *l = r.line[k];
        for (size_t i = l->first; sums && i < l->first + l->ndm; i++)
            fprintf(stderr, "%s: DM %.*f: %lld samples, CRC-32 %08lx\n", tool->name, dm_decimals,
                    r.dm[i], (long long)sums->count[i], sums->crc[i]);
        if (l->moved)
            fprintf(stderr, "%s: barycentring added %lld and removed %lld bins of each series\n",
                    tool->name, (long long)l->added, (long long)l->removed);
        if (l->nleast == l->nout)
            fprintf(stderr, "%s: %lld samples out of each of %zu trials\n", tool->name,
                    (long long)l->nout, l->ndm);
        else
            fprintf(stderr, "%s: %lld to %lld samples out of each of %zu trials\n", tool->name,
                    (long long)l->nleast, (long long)l->nout, l->ndm);
    }
    for (size_t k = 0; k < r.nline; k++) {
        /* Devices work while the host reads and waits, so their times are part of the run's. */
        const struct psr_pipeline_line *l = r.line[k];
        const double search_s = found ? found->device_s[k] : 0;
        const struct psr_dedisp_info *plan = l->plan;
        if (plan && plan->ndevice) {
            fprintf(stderr, "%s: %zu device%s: copy in %.3f s, turn %.3f s, dedisperse %.3f s,",
                    tool->name, plan->ndevice, plan->ndevice > 1 ? "s" : "", plan->copy_in_s,
                    plan->cornerturn_s, plan->sum_s);
            if (l->resident)
                fprintf(stderr, " search %.3f s\n", search_s);
            else
                fprintf(stderr, " copy out %.3f s\n", plan->copy_out_s);
        }
    }
    if (r.cleaned)
        fprintf(stderr, "%s: %lld spectra clipped\n", tool->name, (long long)r.clipped);
    account_fourier(tool, psr_pipeline_result(p, "fourier"));
    account_ffa(tool, psr_pipeline_result(p, "ffa"));
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr,
            "%s: %lld spectra in; setup %.3f s, run %.3f s: read %.3f s, clean %.3f s, dedisperse "
            "%.3f s, write %.3f s, search %.3f s, peak %ld MB\n",
            tool->name, (long long)r.nread, r.setup_s, r.run_s, r.read_s, r.clean_s, r.dedisperse_s,
            r.write_s, r.search_s, used.ru_maxrss / 1000);
}

void gpudedisp_note_left_out(struct cli *tool, psr_pipeline *p)
{
    const struct psr_fourier_found *found = psr_pipeline_result(p, "fourier");
    const struct psr_notes notes = {cli_note, tool};
    if (found && found->nleft_out > 0)
        psr_note(&notes,
                 "%zu more candidates are left out of %zu lists: -maxcands (is there interference "
                 "to -zaplist, or -rednoise to take out?)",
                 found->nleft_out, found->nsearched);
}

psr_status gpudedisp_draw(psr_pipeline *p, struct plotfile *f, psr_err *err)
{
    const struct psr_pulses_found *found = psr_pipeline_result(p, "pulses");
    struct psr_pipeline_report r;
    psr_pipeline_describe(p, &r);
    return pulseplot_draw(f,
                          &(struct pulseplot){.title = r.input,
                                              .events = found->event,
                                              .nevents = found->nevent,
                                              .best = found->ncluster ? found->cluster : NULL,
                                              .dm = r.dm,
                                              .ndm = r.ndm,
                                              .scale = found->scale,
                                              .tsamp_s = found->tsamp_s,
                                              .end_s = found->end_s},
                          err);
}

void gpudedisp_print_velocity(psr_pipeline *p)
{
    struct psr_pipeline_report r;
    psr_pipeline_describe(p, &r);
    if (r.voverc != 0)
        printf("   Average topocentric velocity (c) = %.7g\n", r.voverc);
}
