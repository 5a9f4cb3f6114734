/* Reads filterbanks in HDF5. */
#include "formats/hdf5/fbh5.h"

#include "base/base.h"
#include "base/obs_internal.h"
#include "base/portable.h"
#include "formats/spectra/header_keys.h"

/* --- the process --------------------------------------------------------------------------------- */

#ifdef PSR_HDF5_SO
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

/* Spectra are read so many bytes at a time. */
enum { SLOT_BYTES = 1 << 18, HEADER_BYTES = 1 << 16 };

/* In memory that both processes have; rows [2][slot] follow. */
struct shared {
    psr_status status;
    psr_err err;
    struct psr_fbh5_facts facts;
};

struct request {
    int64_t start;
    uint64_t n;
    int slot;
};

struct psr_fbh5_process {
    struct psr_hdf5 lib;
    const char *path, *name;
    struct shared *shared;
    size_t shared_bytes, row_bytes, slot_rows;
    pid_t pid;                  /* 0: there is none */
    int error;                  /* of starting it */
    int socket[2];              /* the caller's and the child's */
    struct request held, asked; /* n = 0: none; asked is what the child reads ahead */
};

static unsigned char *slot(const psr_fbh5_process *p, int k)
{
    return (unsigned char *)p->shared + HEADER_BYTES + (size_t)k * p->slot_rows * p->row_bytes;
}

static void lay_out(psr_fbh5_process *p)
{
    const struct psr_fbh5_facts *facts = &p->shared->facts;
    p->row_bytes = facts->dim[1] * facts->dim[2] * (size_t)facts->nbit / 8;
    p->slot_rows = SLOT_BYTES / p->row_bytes + 1;
}

/* --- the child -------------------------------------------------------------------------------- */

static void close_range_of(int first, int last)
{
    const int known = 4096;
#ifdef SYS_close_range
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    for (int fd = first; fd <= last && fd < known; fd++)
        close(fd);
}

/* The caller's pipes must end when the caller closes them. */
static void close_others(const struct psr_fbh5_file *f, int socket)
{
    int *fd;
    if (f->file < 0 || f->lib->H5Fget_vfd_handle(f->file, H5P_DEFAULT, (void **)&fd) < 0)
        return;
    const int low = *fd < socket ? *fd : socket, high = *fd < socket ? socket : *fd;
    close_range_of(3, low - 1);
    close_range_of(low + 1, high - 1);
    close_range_of(high + 1, INT32_MAX);
}

/* Unpacks chunks at some 20 MB/s of a slow processor; damaged files are read without end. */
static void limit_time(double bytes)
{
    const double most_s = 5 + bytes / 20e6;
    struct rusage used;
    struct rlimit limit;
    getrusage(RUSAGE_SELF, &used);
    getrlimit(RLIMIT_CPU, &limit);
    const rlim_t at_s =
        (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + (rlim_t)most_s;
    limit.rlim_cur = at_s < limit.rlim_max ? at_s : limit.rlim_max;
    (void)setrlimit(RLIMIT_CPU, &limit);
}

static _Noreturn void serve(psr_fbh5_process *p)
{
    struct shared *s = p->shared;
    struct psr_fbh5_file f = {&p->lib, p->name, -1, -1, -1, -1, 0};
    struct request r;
    close(p->socket[0]);
    /* Crashes and stops are the caller's to report; what the terminal sends is for the caller. */
    static const int crashes[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGABRT,
                                  SIGTRAP, SIGXCPU, SIGPIPE, SIGSYS},
                     stops[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2};
    const struct rlimit none = {0, 0};
    sigset_t all;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        signal(stops[i], SIG_IGN);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setrlimit(RLIMIT_CORE, &none);
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        (void)dup2(null, fd);
    if (null > 2)
        close(null);
    limit_time(0);
    s->status = psr_fbh5_file_open(&f, &s->facts, p->path, &s->err);
    close_others(&f, p->socket[1]);
    if (!s->status)
        lay_out(p);
    while (send(p->socket[1], "", 1, MSG_NOSIGNAL) == 1 &&
           recv(p->socket[1], &r, sizeof r, MSG_WAITALL) == sizeof r) {
        limit_time(f.chunk_bytes + SLOT_BYTES);
        s->status =
            psr_fbh5_file_read(&f, &s->facts, r.start, (size_t)r.n, slot(p, r.slot), &s->err);
    }
    for (;;) /* not exit: its handlers are the caller's */
        kill(getpid(), SIGKILL);
}

/* --- the caller ------------------------------------------------------------------------------- */

/* A thread of its own: where filters are parallel, they would wait in the child for the threads of the caller's. */
static void *start_child(void *ctx)
{
    psr_fbh5_process *p = ctx;
    p->pid = fork();
    if (p->pid == 0)
        serve(p);
    p->error = errno;
    return NULL;
}

static psr_status fail_ended(psr_fbh5_process *p, psr_err *err)
{
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(p->pid, &status, 0)) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    if (ended > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return psr_fail(err, PSR_EFORMAT, "%s: damaged: HDF5 does not come to an end with it",
                        p->name);
    return psr_fail(err, PSR_EFORMAT, "%s: damaged: HDF5 crashes on it (%s %d)", p->name,
                    WIFSIGNALED(status) ? "signal" : "exit code",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Waits for the child's answer. */
static psr_status await(psr_fbh5_process *p, psr_err *err)
{
    char answer;
    ssize_t n = 0;
    while (p->pid && (n = recv(p->socket[0], &answer, 1, 0)) < 0 && errno == EINTR)
        ;
    if (n != 1)
        return p->pid ? fail_ended(p, err)
                      : psr_fail(err, PSR_EFORMAT, "%s: damaged: HDF5 crashed on it", p->name);
    if (p->shared->status && err)
        *err = p->shared->err;
    return p->shared->status;
}

/* A child that has ended is noticed when its answer is awaited. */
static struct request ask(const psr_fbh5_process *p, int64_t start, int slot)
{
    const int64_t left = (int64_t)p->shared->facts.dim[0] - start;
    struct request r = {start, (uint64_t)left < p->slot_rows ? (uint64_t)left : p->slot_rows, slot};
    if (left > 0)
        (void)!send(p->socket[0], &r, sizeof r, MSG_NOSIGNAL);
    else
        r.n = 0;
    return r;
}

static bool has(const struct request *r, int64_t start)
{
    return start >= r->start && start - r->start < (int64_t)r->n;
}

/* Reads spectra as they are stored.
 * Given:    start   that comes first; the file has it
 * Returned: *rows [*n], *n >= 1, valid until the next call
 * Status:   PSR_EFORMAT */
static psr_status fbh5_process_rows(psr_fbh5_process *p, int64_t start, const unsigned char **rows,
                                    size_t *n, psr_err *err)
{
    psr_status st = PSR_OK;
    if (!has(&p->held, start)) {
        const bool ahead = has(&p->asked, start);
        if (p->asked.n)
            st = await(p, err);
        p->held = p->asked;
        if (!ahead) { /* whatever was read */
            p->held = ask(p, start, 0);
            st = await(p, err);
        }
        p->asked.n = 0;
        if (st)
            p->held.n = 0;
        else
            p->asked = ask(p, p->held.start + (int64_t)p->held.n, !p->held.slot);
    }
    *n = (size_t)(p->held.start + (int64_t)p->held.n - start);
    *rows = slot(p, p->held.slot) + (size_t)(start - p->held.start) * p->row_bytes;
    return st;
}

/* What a child that is about to crash may have written. */
static psr_status check_facts(struct psr_fbh5_facts *f, const char *name, psr_err *err)
{
    f->keys[sizeof f->keys - 1] = f->source[sizeof f->source - 1] = '\0';
    if (f->dim[0] >= 1 && f->dim[0] <= INT64_MAX / 2 && f->dim[1] >= 1 &&
        f->dim[1] <= PSR_FBH5_FEEDS && f->dim[2] >= 1 && f->dim[2] <= PSR_FBH5_CHANNELS &&
        (f->nbit == 8 || f->nbit == 16 || f->nbit == 32))
        return PSR_OK;
    return psr_fail(err, PSR_EFORMAT, "%s: damaged: HDF5 gives no shape of it", name);
}

static psr_status start(psr_fbh5_process *p, psr_err *err)
{
    const size_t row_max = (size_t)PSR_FBH5_FEEDS * PSR_FBH5_CHANNELS * 4;
    pthread_t thread;
    _Static_assert(sizeof(struct shared) <= HEADER_BYTES, "room");
    p->shared_bytes = HEADER_BYTES + 2 * (SLOT_BYTES + row_max);
    p->shared = mmap(NULL, p->shared_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p->shared == MAP_FAILED) {
        p->shared = NULL;
        return psr_fail_nomem(err, "spectra of HDF5", (double)p->shared_bytes);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->socket) != 0)
        return psr_fail_errno(err, "%s: a process for HDF5", p->name);
    p->error = pthread_create(&thread, NULL, start_child, p);
    if (!p->error)
        pthread_join(thread, NULL);
    if (p->pid <= 0) {
        errno = p->error;
        return psr_fail_errno(err, "%s: a process for HDF5", p->name);
    }
    close(p->socket[1]);
    p->socket[1] = -1;
    psr_status st = await(p, err);
    if (!st)
        st = check_facts(&p->shared->facts, p->name, err);
    if (!st)
        lay_out(p);
    return st;
}

/* Given:    path, name   what is opened, and what messages call it; borrowed
 * Returned: *facts, of the process
 * Status:   PSR_EFORMAT, PSR_EUNSUPPORTED, PSR_ENOMEM, PSR_EIO.  *out is NULL on error. */
static psr_status fbh5_process_start(psr_fbh5_process **out, const struct psr_fbh5_facts **facts,
                                     const char *path, const char *name, psr_err *err)
{
    *out = NULL;
    psr_fbh5_process *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a reader of HDF5", sizeof *p);
    p->path = path;
    p->name = name;
    p->socket[0] = p->socket[1] = -1;
    psr_status st = psr_hdf5_load(&p->lib, path, err);
    if (!st)
        st = start(p, err);
    if (st) {
        psr_fbh5_process_end(p);
        return st;
    }
    *out = p;
    *facts = &p->shared->facts;
    return PSR_OK;
}

void psr_fbh5_process_end(psr_fbh5_process *p)
{
    if (!p)
        return;
    for (int k = 0; k < 2; k++)
        if (p->socket[k] >= 0)
            close(p->socket[k]);
    if (p->pid > 0) {
        kill(p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (p->shared)
        munmap(p->shared, p->shared_bytes);
    free(p);
}
#endif

#ifdef PSR_HDF5_SO
#include <math.h>
#include <stdlib.h>

struct fbh5_reader {
    struct psr_reader base;
    psr_fbh5_process *process;
    const struct psr_fbh5_facts *facts;
    char *name;
    int64_t pos; /* spectra given so far */
    struct psr_ifs ifs;
};

/* --- the header ------------------------------------------------------------------------------- */

/* Hours and degrees as numbers, or both as 12:34:56.7. */
static psr_status fill_position(struct psr_obs *obs, const struct psr_header_keys *k, psr_err *err)
{
    double hours = 0;
    const struct psr_header_number numbers[] = {{"src_raj", false, 0, 24, NULL, &hours},
                                                {"src_dej", false, -90, 90, NULL, &obs->dec_deg}};
    const char *raj = psr_header_keys_text(k, "src_raj");
    if (raj && strchr(raj, ':')) {
        obs->has_position =
            psr_header_keys_position(k, "src_raj", "src_dej", &obs->ra_deg, &obs->dec_deg);
        return PSR_OK;
    }
    psr_status st = psr_header_keys_numbers(k, numbers, 2, err);
    obs->ra_deg = hours * 15;
    obs->has_position = obs->ra_deg != 0 || obs->dec_deg != 0;
    return st;
}

static psr_status fill_header(const struct fbh5_reader *r, struct psr_obs *obs,
                              const struct psr_header_keys *k, psr_err *err)
{
    int64_t nchan = (int64_t)obs->nchan, ids[] = {-1, -1}, beams[] = {0, 0}, barycentric = 0;
    double tstart = 0;
    const struct psr_header_number numbers[] = {
        {"nchans", false, 1, 0x1p40, &nchan, NULL},
        {"fch1", true, -1e12, 1e12, NULL, &obs->fch1_mhz},
        {"foff", true, -1e12, 1e12, NULL, &obs->foff_mhz},
        {"tsamp", true, 0, 1e6, NULL, &obs->tsamp_s},
        {"tstart", false, 0, 1e6, NULL, &tstart},
        {"az_start", false, -1e12, 1e12, NULL, &obs->az_deg},
        {"za_start", false, -1e12, 1e12, NULL, &obs->za_deg},
        {"telescope_id", false, -1, 1e9, &ids[0], NULL},
        {"machine_id", false, -1, 1e9, &ids[1], NULL},
        {"ibeam", false, -1, 1e9, &beams[0], NULL},
        {"nbeams", false, -1, 1e9, &beams[1], NULL},
        {"barycentric", false, 0, 1, &barycentric, NULL},
    };
    psr_status st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    if (!st)
        st = fill_position(obs, k, err);
    if (st)
        return st;
    if (nchan != (int64_t)obs->nchan)
        return psr_fail_field(err, PSR_EFORMAT, "nchans",
                              "%s: nchans = %lld, data has %zu channels", r->name, (long long)nchan,
                              obs->nchan);
    obs->tstart = (struct psr_mjd){(long)floor(tstart), tstart - floor(tstart)};
    obs->telescope_id = (int)ids[0];
    obs->machine_id = (int)ids[1];
    obs->ibeam = (int)fmax(0, (double)beams[0]);
    obs->nbeam = (int)fmax(0, (double)beams[1]);
    obs->barycentric = barycentric != 0;
    snprintf(obs->telescope, sizeof obs->telescope, "%s", psr_telescope_name(obs->telescope_id));
    snprintf(obs->instrument, sizeof obs->instrument, "%s", psr_machine_name(obs->machine_id));
    snprintf(obs->source, sizeof obs->source, "%s", r->facts->source);
    return psr_obs_check(obs, r->name, err);
}

static psr_status read_header(struct fbh5_reader *r, const struct psr_source_desc *desc,
                              psr_err *err)
{
    struct psr_obs *obs = &r->base.obs;
    struct psr_header_keys k = {.name = r->name};
    obs->kind = r->facts->kind;
    obs->nbit = r->base.file_nbit = r->facts->nbit;
    obs->nsamp = (int64_t)r->facts->dim[0];
    obs->nif = (int)r->facts->dim[1];
    obs->nchan = (size_t)r->facts->dim[2];
    psr_status st = psr_header_keys_lines(&k, r->facts->keys, strlen(r->facts->keys), err);
    if (!st)
        st = fill_header(r, obs, &k, err);
    psr_header_keys_clear(&k);
    return st ? st : psr_ifs_choose(&r->ifs, &r->base, r->name, desc, err);
}

/* --- the reader ------------------------------------------------------------------------------- */

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct fbh5_reader *r = (struct fbh5_reader *)base;
    unsigned char *to = block;
    psr_status st = PSR_OK;
    *gap = 0;
    *nread = 0;
    while (!st && *nread < nsamp && r->pos < base->obs.nsamp) {
        const unsigned char *rows;
        size_t n;
        st = fbh5_process_rows(r->process, r->pos, &rows, &n, err);
        if (st)
            break;
        if (n > nsamp - *nread)
            n = nsamp - *nread;
        if (base->file_nif > 1)
            psr_ifs_merge(&r->ifs, base, n, rows, to);
        else
            memcpy(to, rows, n * r->ifs.row_bytes);
        to += n * r->ifs.row_bytes;
        r->pos += (int64_t)n;
        *nread += n;
    }
    return st;
}

static psr_status seek_spectrum(struct psr_reader *base, int64_t n, psr_err *err)
{
    struct fbh5_reader *r = (struct fbh5_reader *)base;
    if (n < 0 || n > base->obs.nsamp)
        return psr_fail(err, PSR_EINVAL, "%s: spectrum %lld, must be 0 to %lld", r->name,
                        (long long)n, (long long)base->obs.nsamp);
    r->pos = n;
    return PSR_OK;
}

static void close_reader(struct psr_reader *base)
{
    struct fbh5_reader *r = (struct fbh5_reader *)base;
    psr_fbh5_process_end(r->process);
    psr_obs_clear(&base->obs);
    free(r->name);
    free(r);
}

static const struct psr_reader_ops ops = {next_spectra, seek_spectrum, close_reader};

psr_status psr_fbh5_open(struct psr_reader **out, const char *path,
                         const struct psr_source_desc *desc, psr_err *err)
{
    *out = NULL;
    struct fbh5_reader *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a reader of HDF5", sizeof *r);
    psr_obs_init(&r->base.obs);
    r->base.ops = &ops;
    r->name = strdup(psr_path_called(path));
    psr_status st = r->name ? fbh5_process_start(&r->process, &r->facts, path, r->name, err)
                            : psr_fail_nomem(err, "a file name", 1);
    if (!st)
        st = read_header(r, desc, err);
    if (st) {
        close_reader(&r->base);
        return st;
    }
    *out = &r->base;
    return PSR_OK;
}

#else

psr_status psr_fbh5_open(struct psr_reader **out, const char *path,
                         const struct psr_source_desc *desc, psr_err *err)
{
    (void)desc;
    *out = NULL;
    return psr_fail(err, PSR_EUNSUPPORTED, "%s: HDF5, and psrkit was built without it",
                    psr_path_called(path));
}
#endif
