/* Opens DADA files of voltages, checks that they match, and orders them by time. */
#include "voltages.h"

#include "base/copy_desc.h"
#include "base/input/readfd.h"
#include "base/obs_internal.h"
#include "base/path.h"
#include "base/threads/threads.h"
#include "formats/dada/dada_internal.h"
#include <psrkit/obs.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- opening ---------------------------------------------------------------------------------- */

/* Reads n bytes or what there are: *got of them. */
static psr_status fill(int fd, char *to, size_t n, size_t *got, const char *name, psr_err *err)
{
    while (*got < n) {
        ssize_t more = psr_read_some(fd, to + *got, n - *got);
        if (more < 0)
            return psr_fail_errno(err, "%s", name);
        if (more == 0)
            break;
        *got += (size_t)more;
    }
    return PSR_OK;
}

/* Reads the header of an open file; of a stream no byte more than it has. */
static psr_status read_header(int fd, struct psr_dada *h, const char *name, psr_err *err)
{
    size_t n = PSR_DADA_HEADER, got = 0, need = 0;
    char *text = malloc(PSR_DADA_HEADER_MAX);
    if (!text)
        return psr_fail_nomem(err, "a DADA header", PSR_DADA_HEADER_MAX);
    psr_status st = fill(fd, text, n, &got, name, err);
    if (!st && got == 0)
        st = psr_fail(err, PSR_EFORMAT, "%s: is empty", name);
    if (!st) {
        st = psr_dada_parse(h, text, got, name, &need, err);
        if (st && need > got && need <= PSR_DADA_HEADER_MAX) {
            st = fill(fd, text, need, &got, name, err);
            if (!st)
                st = psr_dada_parse(h, text, got, name, &need, err);
        }
    }
    if (!st && h->header_bytes > (int64_t)got) {
        psr_dada_clear(h);
        st = psr_fail(err, PSR_EFORMAT, "%s: ends within its header", name);
    }
    free(text);
    return st;
}

void psr_voltages_note_cut(const struct psr_voltages *v, const char *name, int64_t bytes,
                           int64_t sample)
{
    if (bytes % sample)
        psr_note(&v->notes,
                 "%s: is cut: after %lld samples the last %lld bytes are no whole one of %lld and "
                 "are left out",
                 name, (long long)(bytes / sample), (long long)(bytes % sample), (long long)sample);
}

/* Takes the length of a file that is open. */
static psr_status measure_part(const struct psr_voltages *v, struct voltages_part *p, int64_t size,
                               psr_err *err)
{
    const int64_t sample = (int64_t)psr_dada_sample_bytes(&p->h);
    const int64_t bytes = size - p->h.header_bytes, whole = bytes - bytes % sample;
    if (v->stream || (p->bytes > 0 && p->bytes == whole))
        return PSR_OK;
    if (p->bytes > 0)
        return psr_fail(err, PSR_EIO, "%s: has changed: %lld samples, were %lld", p->path,
                        (long long)(whole / sample), (long long)(p->bytes / sample));
    if (whole <= 0)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: no samples: %lld bytes follow the header, one takes %lld", p->path,
                        (long long)bytes, (long long)sample);
    psr_voltages_note_cut(v, p->path, bytes, sample);
    p->bytes = whole;
    return PSR_OK;
}

void psr_voltages_drop(struct voltages_file *f)
{
    if (!f || --f->users > 0)
        return;
    if (f->fd >= 0)
        close(f->fd);
    free(f);
}

static void close_part(struct psr_voltages *v)
{
    psr_voltages_drop(v->file);
    v->file = NULL;
}

psr_status psr_voltages_open_part(struct psr_voltages *v, size_t i, psr_err *err)
{
    struct voltages_part *p = v->part + i;
    int64_t size = 0;
    close_part(v);
    v->file = calloc(1, sizeof *v->file);
    if (!v->file)
        return psr_fail_nomem(err, p->path, sizeof *v->file);
    *v->file = (struct voltages_file){.fd = -1, .users = 1};
    psr_status st = psr_open_input(&v->file->fd, &v->stream, &size, p->path, err);
    if (!st && v->stream && v->npart > 1)
        st = psr_fail(err, PSR_EINVAL, "%s: a pipe must be the only input",
                      psr_path_called(p->path));
    if (!st && !p->h.nchan)
        st = read_header(v->file->fd, &p->h, psr_path_called(p->path), err);
    v->now = i;
    v->owed = p->gap;
    v->done = 0;
    return st ? st : measure_part(v, p, size, err);
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

/* Puts the files into the order of time. */
static psr_status order_parts(struct psr_voltages *v, psr_err *err)
{
    psr_status st = PSR_OK;
    qsort(v->part, v->npart, sizeof *v->part, by_time);
    for (size_t i = 1; i < v->npart && !st; i++)
        st = place_part(v, i, err);
    return st;
}

static psr_status open_all(struct psr_voltages *v, const struct psr_voltages_desc *d, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < v->npart && !st; i++) {
        v->part[i].path = d->path[i];
        st = psr_voltages_open_part(v, i, err);
        if (!st)
            st = check_like(v->part, v->part + i, err);
    }
    if (st)
        return st;
    v->sample_bytes = psr_dada_sample_bytes(&v->part[0].h);
    if (v->npart == 1)
        return PSR_OK;
    st = order_parts(v, err);
    return st ? st : psr_voltages_open_part(v, 0, err);
}

static psr_status copy_paths(struct psr_voltages *v, psr_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < v->npart; i++)
        n += strlen(v->part[i].path) + 1;
    char *to = v->name = malloc(n);
    if (!to)
        return psr_fail_nomem(err, "names of files", (double)n);
    for (size_t i = 0; i < v->npart; i++) {
        size_t length = strlen(v->part[i].path) + 1;
        memcpy(to, v->part[i].path, length);
        v->part[i].path = to;
        to += length;
    }
    return PSR_OK;
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
    if (!st)
        st = copy_paths(v, err);
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
    close_part(v);
    for (size_t i = 0; i < v->npart; i++)
        psr_dada_clear(&v->part[i].h);
    free(v->part);
    free(v->name);
    free(v);
}
