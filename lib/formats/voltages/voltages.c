/* Reads DADA files of voltages of many dishes: checks that they match, orders them by time, and reads blocks. */
#include "base/base.h"
#include "base/input/readfd.h"
#include "base/obs_internal.h"
#include "base/threads/threads.h"
#include "baseband.h"
#include "formats/dada/dada_internal.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct voltages_part {
    const char *path;
    struct psr_dada h;
    int64_t gap;   /* missing bytes before it */
    int64_t bytes; /* bytes of whole samples, at least one; 0 for a stream */
};

struct psr_voltages {
    struct voltages_part *part; /* [npart] in the order of time */
    size_t npart;
    int nthread;
    size_t sample_bytes;
    size_t now;                       /* open part */
    struct psr_baseband_input *input; /* of it; NULL where none is */
    int64_t owed;                     /* bytes of the gap before it still to be returned */
    int64_t done;                     /* bytes of data taken from it */
    bool stream;                      /* the only part, which cannot seek */
    char **name;                      /* copies of the paths */
    struct psr_notes notes;
};

/* --- opening ---------------------------------------------------------------------------------- */

/* Reads the header of the open part, and goes to its end. */
static psr_status read_header(struct psr_baseband_input *in, struct psr_dada *h, psr_err *err)
{
    const uint8_t *bytes;
    size_t got, need = 0;
    psr_status st = psr_baseband_input_peek(in, PSR_DADA_HEADER, &bytes, &got, err);
    if (!st && got == 0)
        st = psr_fail(err, PSR_EFORMAT, "%s: is empty", in->name);
    if (st)
        return st;
    st = psr_dada_parse(h, bytes, got, in->name, &need, err);
    if (st && need > got && need <= PSR_DADA_HEADER_MAX) {
        st = psr_baseband_input_peek(in, need, &bytes, &got, err);
        if (!st)
            st = psr_dada_parse(h, bytes, got, in->name, &need, err);
    }
    if (!st && h->header_bytes > (int64_t)got) {
        psr_dada_clear(h);
        st = psr_fail(err, PSR_EFORMAT, "%s: ends within its header", in->name);
    }
    return st;
}

/* Notes bytes that do not form a whole sample. */
static void note_cut(const struct psr_voltages *v, int64_t bytes, int64_t sample)
{
    if (bytes % sample)
        psr_note(&v->notes,
                 "%s: is cut: after %lld samples the last %lld bytes are no whole one of %lld and "
                 "are left out",
                 v->input->name, (long long)(bytes / sample), (long long)(bytes % sample),
                 (long long)sample);
}

/* Takes the length of a file that is open. */
static psr_status measure_part(const struct psr_voltages *v, struct voltages_part *p, psr_err *err)
{
    const int64_t sample = (int64_t)psr_dada_sample_bytes(&p->h);
    const int64_t bytes = v->input->size - p->h.header_bytes, whole = bytes - bytes % sample;
    if (v->stream || (p->bytes > 0 && p->bytes == whole))
        return PSR_OK;
    if (p->bytes > 0)
        return psr_fail(err, PSR_EIO, "%s: has changed: %lld samples, were %lld", p->path,
                        (long long)(whole / sample), (long long)(p->bytes / sample));
    if (whole <= 0)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: no samples: %lld bytes follow the header, one takes %lld", p->path,
                        (long long)bytes, (long long)sample);
    note_cut(v, bytes, sample);
    p->bytes = whole;
    return PSR_OK;
}

/* Opens part i, at the start of its data. */
static psr_status open_part(struct psr_voltages *v, size_t i, psr_err *err)
{
    struct voltages_part *p = v->part + i;
    psr_baseband_input_close(v->input);
    psr_status st = psr_baseband_input_open(&v->input, p->path, &v->notes, err);
    if (st)
        return st;
    v->stream = v->input->stream;
    if (v->input->network)
        st = psr_fail(err, PSR_EUNSUPPORTED, "%s: no voltages of dishes come over the network",
                      p->path);
    else if (v->stream && v->npart > 1)
        st = psr_fail(err, PSR_EINVAL, "%s: a pipe must be the only input", v->input->name);
    else if (!p->h.nchan)
        st = read_header(v->input, &p->h, err);
    if (!st)
        st = measure_part(v, p, err);
    if (!st)
        st = psr_baseband_input_skip(v->input, p->h.header_bytes, err);
    v->input->nthread = v->nthread;
    v->now = i;
    v->owed = p->gap;
    v->done = 0;
    return st;
}

/* --- files that follow each other ------------------------------------------------------------- */

static double bytes_per_day(const struct psr_dada *h)
{
    return (double)psr_dada_sample_bytes(h) * (PSR_DAY_S * 1e6) / h->tsamp_us;
}

static psr_status check_like(const struct voltages_part *a, const struct voltages_part *b,
                             psr_err *err)
{
    const struct {
        const char *key;
        double a, b;
        const char *unit;
    } same[] = {
        {"NCHAN", (double)a->h.nchan, (double)b->h.nchan, ""},
        {"NANT", (double)a->h.nant, (double)b->h.nant, ""},
        {"FREQ", a->h.freq_mhz, b->h.freq_mhz, " MHz"},
        {"BW", a->h.bw_mhz, b->h.bw_mhz, " MHz"},
        {"TSAMP", a->h.tsamp_us, b->h.tsamp_us, " us"},
        {"ENCODING", a->h.nibbles.offset_binary, b->h.nibbles.offset_binary, ""},
        {"REAL_NIBBLE", a->h.nibbles.real_low, b->h.nibbles.real_low, ""},
        {"PHASE_SIGN", a->h.phase_sign, b->h.phase_sign, ""},
        {"UTC_START or MJD_START", a->h.has_start, b->h.has_start, ""},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i].a != same[i].b)
            return psr_fail_field(err, PSR_EFORMAT, same[i].key,
                                  "%s and %s differ in %s: %.12g and %.12g%s", a->path, b->path,
                                  same[i].key, same[i].a, same[i].b, same[i].unit);
    return PSR_OK;
}

/* Bytes of data from the beginning of a to that of b.  Offsets count from each file's own start. */
static double bytes_between(const struct voltages_part *a, const struct voltages_part *b)
{
    double days = psr_mjd_diff_s(a->h.start, b->h.start) / PSR_DAY_S;
    return days * bytes_per_day(&a->h) + (double)(b->h.obs_offset - a->h.obs_offset);
}

static int by_time(const void *pa, const void *pb)
{
    double bytes = bytes_between(pa, pb);
    return bytes > 0 ? -1 : bytes < 0;
}

/* Finds what is missing before part i; up to half a sample the dates may be rounded. */
static psr_status place_part(struct psr_voltages *v, size_t i, psr_err *err)
{
    const struct voltages_part *a = v->part + i - 1;
    struct voltages_part *b = v->part + i;
    const double samples = rint((bytes_between(a, b) - (double)a->bytes) / (double)v->sample_bytes);
    const double seconds = fabs(samples) * a->h.tsamp_us * 1e-6;
    if (samples < 0)
        return psr_fail(err, PSR_EFORMAT, "%s overlaps %s by %.0f samples (%.6g s)", b->path,
                        a->path, -samples, seconds);
    if (seconds > PSR_VOLTAGES_GAP_S)
        return psr_fail(err, PSR_EFORMAT,
                        "%s begins %.6g s after the end of %s (%.0f samples), must be at most %d s",
                        b->path, seconds, a->path, samples, PSR_VOLTAGES_GAP_S);
    b->gap = (int64_t)samples * (int64_t)v->sample_bytes;
    if (samples > 0)
        psr_note(&v->notes,
                 "%s begins %.0f samples (%.6g s) after the end of %s: filled with zeros", b->path,
                 samples, seconds, a->path);
    return PSR_OK;
}

static psr_status open_all(struct psr_voltages *v, const struct psr_voltages_desc *d, psr_err *err)
{
    psr_status st = PSR_OK;
    v->name = psr_path_copies(d->path, d->npath);
    if (!v->name)
        return psr_fail_nomem(err, "names of files", (double)d->npath);
    for (size_t i = 0; i < v->npart && !st; i++) {
        v->part[i].path = v->name[i];
        st = open_part(v, i, err);
        if (!st)
            st = check_like(v->part, v->part + i, err);
    }
    if (st)
        return st;
    v->sample_bytes = psr_dada_sample_bytes(&v->part[0].h);
    if (v->npart == 1)
        return PSR_OK;
    /* Puts the files into the order of time. */
    st = PSR_OK;
    qsort(v->part, v->npart, sizeof *v->part, by_time);
    for (size_t i = 1; i < v->npart && !st; i++)
        st = place_part(v, i, err);
    return st ? st : open_part(v, 0, err);
}

static psr_status create(psr_voltages **out, const struct psr_voltages_desc *desc, psr_err *err)
{
    if (desc->npath < 1)
        return psr_fail_field(err, PSR_EINVAL, "npath", "voltages: no input");
    psr_voltages *v = calloc(1, sizeof *v);
    struct voltages_part *part = calloc(desc->npath, sizeof *part);
    if (!v || !part) {
        free(v);
        free(part);
        return psr_fail_nomem(err, "a list of files", (double)desc->npath * sizeof *part);
    }
    *v = (psr_voltages){.part = part,
                        .npart = desc->npath,
                        .nthread = psr_count_threads(desc->nthread),
                        .notes = desc->notes};
    psr_status st = open_all(v, desc, err);
    if (st) {
        psr_voltages_close(v);
        return st;
    }
    struct psr_dada *h = &part[0].h;
    h->start = psr_mjd_add(h->start, (double)h->obs_offset / bytes_per_day(h) * PSR_DAY_S);
    h->obs_offset = 0;
    *out = v;
    return PSR_OK;
}

psr_status psr_voltages_open(psr_voltages **out, const struct psr_voltages_desc *desc, psr_err *err)
{
    struct psr_voltages_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "voltages", err);
    return st ? st : create(out, &d, err);
}

const struct psr_dada *psr_voltages_header(const psr_voltages *v)
{
    return &v->part[0].h;
}

int64_t psr_voltages_nsamp(const psr_voltages *v)
{
    int64_t bytes = 0;
    if (v->stream)
        return -1;
    for (size_t i = 0; i < v->npart; i++)
        bytes += v->part[i].gap + v->part[i].bytes;
    return bytes / (int64_t)v->sample_bytes;
}

void psr_voltages_close(psr_voltages *v)
{
    if (!v)
        return;
    psr_baseband_input_close(v->input);
    for (size_t i = 0; i < v->npart; i++)
        psr_dada_clear(&v->part[i].h);
    free(v->part);
    free(v->name);
    free(v);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Lets the sink do other work, and wait for room.  Returned: false to end the reading */
static bool should_continue(const struct psr_voltages_sink *sink, bool idle, size_t i)
{
    return sink->between ? sink->between(sink->ctx, idle, i) : !idle;
}

/* Returned: *got of the n bytes of block i, fewer where the input ends; *on, false to end the
 *           reading */
static psr_status fill_from_files(struct psr_voltages *v, const struct psr_voltages_sink *sink,
                                  size_t i, char *to, size_t n, size_t *got, bool *on, psr_err *err)
{
    enum { PIECE_BYTES = 1 << 26 }; /* between two looks at whether to go on */
    psr_status st = PSR_OK;
    size_t more = 1;
    while (!st && *got < n && more > 0 && (*on = should_continue(sink, false, i))) {
        if (v->owed == 0 && v->done == v->part[v->now].bytes && v->now + 1 < v->npart)
            st = open_part(v, v->now + 1, err);
        const bool gap = v->owed > 0;
        const int64_t left = gap ? v->owed : v->part[v->now].bytes - v->done;
        const size_t most = n - *got < PIECE_BYTES ? n - *got : PIECE_BYTES;
        const size_t want = left < (int64_t)most ? (size_t)left : most;
        more = want;
        if (!st && gap) {
            /* Where voltages are missing, by all threads: a gap may be as long as many blocks. */
            enum { SLICE_BYTES = 1 << 20 };
            const int zero = v->part[0].h.nibbles.offset_binary ? 0x88 : 0;
#pragma omp parallel for num_threads(v->nthread)
            for (size_t at = 0; at < want; at += SLICE_BYTES)
                memset((to + *got) + at, zero, want - at < SLICE_BYTES ? want - at : SLICE_BYTES);
        } else if (!st)
            st = psr_baseband_input_take(v->input, to + *got, want, &more, err);
        if (!st && more < want)
            st = psr_fail(err, PSR_EIO, "%s: became shorter while it was read", v->input->name);
        *(gap ? &v->owed : &v->done) += gap ? -(int64_t)want : (int64_t)want;
        *got += more;
    }
    return st;
}

/* Waits for what a pipe may never bring.  Returned: false to end the reading */
static bool await_input(int fd, const struct psr_voltages_sink *sink, size_t i)
{
    enum { WAIT_MS = 100 };
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (sink->between && poll(&ready, 1, WAIT_MS) <= 0)
        if (!should_continue(sink, false, i))
            return false;
    return true;
}

/* The same of a pipe. */
static psr_status fill_from_pipe(struct psr_voltages *v, const struct psr_voltages_sink *sink,
                                 size_t i, char *to, size_t n, size_t *got, bool *on, psr_err *err)
{
    struct psr_baseband_input *in = v->input;
    const size_t held = in->end - in->begin;
    psr_status st = psr_baseband_input_take(in, to, held < n ? held : n, got, err);
    while (!st && *got < n && (*on = await_input(in->fd, sink, i))) {
        ssize_t more = psr_read_some(in->fd, to + *got, n - *got);
        if (more < 0 && errno == EINTR && sink->between)
            continue;
        if (more < 0)
            st = psr_fail_errno(err, "%s", in->name);
        if (more <= 0)
            break;
        *got += (size_t)more;
    }
    v->done += (int64_t)*got;
    if (!st && *on && *got < n)
        note_cut(v, v->done, (int64_t)v->sample_bytes);
    return st;
}

psr_status psr_voltages_pump(psr_voltages *v, size_t nt, const struct psr_voltages_sink *sink,
                             psr_err *err)
{
    const size_t want = nt * v->sample_bytes;
    size_t got = want;
    bool on = true;
    for (size_t i = 0; got == want && want > 0; i++) {
        char *to = NULL;
        bool idle = false;
        while (should_continue(sink, idle, i) && !(to = sink->room(sink->ctx, i)))
            idle = true;
        if (!to)
            break;
        got = 0;
        psr_status st =
            (v->stream ? fill_from_pipe : fill_from_files)(v, sink, i, to, want, &got, &on, err);
        if (st)
            sink->full(sink->ctx, i, 0);
        if (st || !on)
            return st;
        if (got / v->sample_bytes > 0)
            sink->full(sink->ctx, i, got / v->sample_bytes);
    }
    return PSR_OK;
}
