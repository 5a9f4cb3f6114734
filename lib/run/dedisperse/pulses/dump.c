/* Holds the last spectra of an endless input, and writes those around pulses to files. */
#include "run/dedisperse/pulses/pulse_parts.h"

#include "base/base.h"
#include "base/threads/threads.h"

#include "base/obs_internal.h"
#include <math.h>
#include <psrkit/experimental/outfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files in progress; bytes that are copied with the lock held, which takes some 50 us. */
enum { FILES = 16, PIECE_BYTES = 1 << 18 };

struct file {
    bool used, closing; /* closing: it takes no more spectra */
    char name[PSR_DUMP_NAME];
    int64_t first, end, next; /* spectra; the next to be written */
    psr_outfile *out;         /* of the thread that writes; NULL: not created yet */
};

struct psr_dump {
    struct psr_dump_desc d;
    struct psr_monitor monitor;
    bool monitored;
    struct psr_async_task task;
    int64_t capacity;    /* spectra */
    size_t piece;        /* spectra copied at once */
    unsigned char *ring; /* [capacity][row_bytes] spectrum i is in row i % capacity */
    /* under the lock */
    int64_t pushed; /* spectra so far */
    bool ended, aborted;
    struct file file[FILES];
    struct psr_dump_counts counts;
    /* of the thread that writes */
    unsigned char *copy; /* [piece][row_bytes] */
    bool failing;        /* the last file could not be written: said once */
};

/* --- the ring --------------------------------------------------------------------------------- */

/* Spectra [first, first + n) of the ring, to or from memory; n at most a piece. */
static void copy_rows(psr_dump *d, int64_t first, size_t n, unsigned char *to,
                      const unsigned char *from)
{
    const size_t bytes = d->d.row_bytes;
    for (size_t done = 0; done < n;) {
        const size_t row = (size_t)((first + (int64_t)done) % d->capacity);
        const size_t left = (size_t)d->capacity - row, more = n - done < left ? n - done : left;
        if (to)
            memcpy(to + done * bytes, d->ring + row * bytes, more * bytes);
        else
            memcpy(d->ring + row * bytes, from + done * bytes, more * bytes);
        done += more;
    }
}

/* Whether a file still needs what these spectra would overwrite. */
static bool must_wait(const psr_dump *d, size_t n)
{
    const int64_t oldest = d->pushed + (int64_t)n - d->capacity;
    for (const struct file *f = d->file; d->d.waits && f < d->file + FILES; f++)
        if (f->used && f->next < oldest && f->next < f->end)
            return true;
    return false;
}

void psr_dump_push(psr_dump *d, const void *spectra, size_t n)
{
    const unsigned char *from = spectra;
    while (n) {
        const size_t more = n < d->piece ? n : d->piece;
        psr_monitor_enter(&d->monitor);
        while (must_wait(d, more))
            psr_monitor_wait(&d->monitor);
        copy_rows(d, d->pushed, more, NULL, from);
        d->pushed += (int64_t)more;
        psr_monitor_leave_changed(&d->monitor);
        from += more * d->d.row_bytes;
        n -= more;
    }
}

int64_t psr_dump_capacity(const psr_dump *d)
{
    return d->capacity;
}

/* --- what is to be kept ----------------------------------------------------------------------- */

/* A date to 10 us, so that names sort by time. */
static void make_name(char name[PSR_DUMP_NAME], struct psr_mjd at, double dm)
{
    const int64_t ticks = INT64_C(10000000000);
    int64_t tick = llround(at.frac * (double)ticks);
    long day = at.day + (long)(tick / ticks);
    psr_c_locale_snprintf(name, PSR_DUMP_NAME, "%05ld.%010lld_DM%.2f.fil", day,
                          (long long)(tick % ticks), dm);
}

/* A file in progress that can hold these spectra, too. */
static struct file *find_shared(psr_dump *d, int64_t first, int64_t end)
{
    for (struct file *f = d->file; f < d->file + FILES; f++)
        if (f->used && !f->closing && f->first <= first && first <= f->end &&
            end - f->first <= d->capacity && f->next >= d->pushed - d->capacity)
            return f;
    return NULL;
}

static struct file *find_free(psr_dump *d)
{
    for (struct file *f = d->file; f < d->file + FILES; f++)
        if (!f->used)
            return f;
    return NULL;
}

/* Called with the lock. */
static struct file *keep(psr_dump *d, int64_t first, int64_t end, struct psr_mjd at, double dm)
{
    struct file *f = find_shared(d, first, end);
    if (f) {
        f->end = end > f->end ? end : f->end;
        d->counts.npulse++;
        return f;
    }
    if (first < d->pushed - d->capacity) {
        d->counts.nlate++;
        return NULL;
    }
    if (!(f = find_free(d))) {
        d->counts.nbusy++;
        return NULL;
    }
    *f = (struct file){.used = true, .first = first, .end = end, .next = first};
    make_name(f->name, at, dm);
    d->counts.npulse++;
    return f;
}

void psr_dump_keep(psr_dump *d, struct psr_span spectra, struct psr_mjd at, double dm,
                   char name[PSR_DUMP_NAME])
{
    const int64_t first = spectra.first > 0 ? spectra.first : 0;
    psr_monitor_enter(&d->monitor);
    const struct file *f = keep(d, first, spectra.first + spectra.count, at, dm);
    strcpy(name, f ? f->name : "");
    psr_monitor_leave_changed(&d->monitor);
}

/* --- files, in the thread that writes --------------------------------------------------------- */

static psr_status create_file(psr_dump *d, struct file *f, psr_err *err)
{
    char path[4096];
    struct psr_obs obs = *d->d.obs;
    if (snprintf(path, sizeof path, "%s/%s", d->d.folder, f->name) >= (int)sizeof path)
        return psr_fail(err, PSR_EIO, "%.300s: a name too long", d->d.folder);
    if (!access(path, F_OK))
        return psr_fail(err, PSR_EIO, "%.800s: is there already, and stays as it is", path);
    obs.nsamp = -1;
    obs.tstart = psr_mjd_add(obs.tstart, (double)f->first * obs.tsamp_s);
    psr_status st = psr_outfile_create(&f->out, path, err);
    return st ? st : psr_sigproc_write(f->out, &obs, PSR_SIGPROC_FILTERBANK, err);
}

/* Spectra that a file wants of those that have come. */
static int64_t find_end(const psr_dump *d, const struct file *f)
{
    return f->end < d->pushed ? f->end : d->pushed;
}

static bool is_complete(const psr_dump *d, const struct file *f)
{
    return f->next >= f->end || (d->ended && f->next >= d->pushed);
}

/* Frees the place of a file.  Called with the lock. */
static void leave_file(struct file *f)
{
    f->used = false;
    f->out = NULL;
}

/* Says so once, until a file succeeds.  Called with the lock. */
static void give_up(psr_dump *d, struct file *f, int64_t *count, const char *why)
{
    psr_outfile *out = f->out;
    ++*count;
    leave_file(f);
    const bool said = d->failing;
    d->failing = true;
    psr_monitor_leave_changed(&d->monitor);
    psr_outfile_abort(out);
    if (!said)
        psr_note(&d->d.notes, "%s: not kept, and the search goes on", why);
    psr_monitor_enter(&d->monitor);
}

static void close_file(psr_dump *d, struct file *f)
{
    psr_err err;
    f->closing = true;
    psr_outfile *out = f->out;
    f->out = NULL;
    psr_monitor_leave(&d->monitor);
    psr_status st = psr_outfile_commit(out, &err);
    psr_monitor_enter(&d->monitor);
    if (st) {
        give_up(d, f, &d->counts.nfailed, err.msg);
        return;
    }
    d->failing = false;
    d->counts.nfile++;
    leave_file(f);
}

static void say_slow(psr_dump *d, struct file *f)
{
    char why[PSR_DUMP_NAME + 256];
    snprintf(why, sizeof why,
             "%s: the disk is too slow: the ring overwrote what follows spectrum %lld of %lld",
             f->name, (long long)(f->next - f->first), (long long)(f->end - f->first));
    give_up(d, f, &d->counts.nslow, why);
}

/* Writes the next spectra, or what is about to end.  Called, and returns, with the lock. */
static void advance(psr_dump *d, struct file *f)
{
    psr_err err;
    const int64_t left = find_end(d, f) - f->next;
    const size_t n = left < (int64_t)d->piece ? (size_t)(left > 0 ? left : 0) : d->piece;
    if (f->next < d->pushed - d->capacity && left > 0) {
        say_slow(d, f);
        return;
    }
    copy_rows(d, f->next, n, d->copy, NULL);
    f->next += (int64_t)n;
    psr_monitor_leave_changed(&d->monitor);
    psr_status st = f->out ? PSR_OK : create_file(d, f, &err);
    if (!st)
        st = psr_outfile_write(f->out, d->copy, n * d->d.row_bytes, &err);
    psr_monitor_enter(&d->monitor);
    if (st)
        give_up(d, f, &d->counts.nfailed, err.msg);
    else if (is_complete(d, f))
        close_file(d, f);
}

/* The file whose spectra will leave the ring first. */
static struct file *find_next(psr_dump *d, bool *any)
{
    struct file *oldest = NULL;
    *any = false;
    for (struct file *f = d->file; f < d->file + FILES; f++) {
        *any |= f->used;
        if (f->used && (f->next < find_end(d, f) || is_complete(d, f)) &&
            (!oldest || f->next < oldest->next))
            oldest = f;
    }
    return oldest;
}

static psr_status write_files(void *ctx, psr_err *err)
{
    psr_dump *d = ctx;
    bool any;
    (void)err;
    psr_monitor_enter(&d->monitor);
    for (;;) {
        struct file *f = find_next(d, &any);
        if (d->aborted || (d->ended && !any))
            break;
        if (f)
            advance(d, f);
        else
            psr_monitor_wait(&d->monitor);
    }
    psr_monitor_leave(&d->monitor);
    return PSR_OK;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static psr_status check_folder(const char *folder, psr_err *err)
{
    struct stat about;
    if (stat(folder, &about) || access(folder, W_OK | X_OK))
        return psr_fail_errno(err, "-dump %s", folder);
    return S_ISDIR(about.st_mode) ? PSR_OK
                                  : psr_fail(err, PSR_EIO, "-dump %s: must be a folder", folder);
}

static psr_status check_samples(const struct psr_obs *obs, psr_err *err)
{
    psr_outfile *f;
    if (obs->nchan * (size_t)obs->nbit % 8)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nchans",
                              "-dump: %zu channels of %d bits end within a byte, which a "
                              "filterbank must not",
                              obs->nchan, obs->nbit);
    psr_status st = psr_outfile_create(&f, "/dev/null", err);
    if (st)
        return st;
    st = psr_sigproc_write(f, obs, PSR_SIGPROC_FILTERBANK, err);
    psr_outfile_abort(f);
    return st;
}

static psr_status measure_ring(psr_dump *d, psr_err *err)
{
    char wanted[PSR_SIZE_TEXT], most[PSR_SIZE_TEXT];
    const double n = ceil(d->d.ring_s / d->d.obs->tsamp_s - 1e-9),
                 bytes = n * (double)d->d.row_bytes;
    const int64_t limit = psr_count_memory(d->d.mem_bytes);
    if (!(n >= 1) || bytes > (double)limit)
        return psr_fail_field(
            err, PSR_EINVAL, "ring_s",
            "-ring %g s: takes %s, must be a spectrum or more, and at most %s (-mem)", d->d.ring_s,
            psr_size_text(wanted, bytes), psr_size_text(most, (double)limit));
    d->capacity = (int64_t)n;
    d->piece = PIECE_BYTES / d->d.row_bytes;
    d->piece = d->piece < (size_t)n ? d->piece : (size_t)n;
    d->piece = d->piece ? d->piece : 1;
    return PSR_OK;
}

/* All memory is taken now, not as it fills. */
static psr_status set_up(psr_dump *d, psr_err *err)
{
    psr_status st = check_folder(d->d.folder, err);
    if (!st)
        st = check_samples(d->d.obs, err);
    if (!st)
        st = measure_ring(d, err);
    if (st)
        return st;
    const size_t bytes = (size_t)d->capacity * d->d.row_bytes;
    d->ring = malloc(bytes);
    d->copy = malloc(d->piece * d->d.row_bytes);
    if (!d->ring || !d->copy)
        return psr_fail_nomem(err, "the ring of spectra", (double)bytes);
    memset(d->ring, 0, bytes);
    st = psr_monitor_init(&d->monitor, err);
    d->monitored = !st;
    if (!st && !psr_async_task_try(&d->task, write_files, d))
        st = psr_fail(err, PSR_ENOMEM, "no thread to write dumps");
    return st;
}

psr_status psr_dump_create(psr_dump **out, const struct psr_dump_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_dump *d = calloc(1, sizeof *d);
    if (!d)
        return psr_fail_nomem(err, "a ring of spectra", sizeof *d);
    d->d = *desc;
    psr_status st = set_up(d, err);
    if (st)
        psr_dump_destroy(d);
    else
        *out = d;
    return st;
}

static void end(psr_dump *d, bool aborted)
{
    psr_monitor_enter(&d->monitor);
    d->ended = true;
    d->aborted = aborted;
    psr_monitor_leave_changed(&d->monitor);
    psr_async_task_end(&d->task);
}

void psr_dump_finish(psr_dump *d)
{
    end(d, false);
}

struct psr_dump_counts psr_dump_count(psr_dump *d)
{
    psr_monitor_enter(&d->monitor);
    const struct psr_dump_counts counts = d->counts;
    psr_monitor_leave(&d->monitor);
    return counts;
}

void psr_dump_destroy(psr_dump *d)
{
    if (!d)
        return;
    if (d->monitored) {
        end(d, true);
        psr_monitor_destroy(&d->monitor);
    }
    for (struct file *f = d->file; f < d->file + FILES; f++)
        psr_outfile_abort(f->out);
    free(d->ring);
    free(d->copy);
    free(d);
}
