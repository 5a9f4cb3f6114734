/* Keeps series until they are complete: in memory, and what does not fit in a scratch file. */
#include "sinks.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A series is a list of chunks, all but the last of them full.  Chunks of 4 MB make few calls; where
 * series are shorter, or there are so many that their open chunks alone would fill the memory, chunks
 * are shorter. */
enum { LEAST_SAMPLES = 4096, MOST_SAMPLES = 1 << 20 };

struct chunk {
    float *x;   /* NULL: in the file */
    int64_t at; /* there, bytes */
};

struct kept {
    struct chunk *chunk; /* [nchunk] */
    size_t nchunk, room;
    int64_t n; /* samples */
};

struct psr_series_store {
    size_t nseries, chunk_samples;
    char *prefix;
    struct kept *series;  /* [nseries] */
    pthread_mutex_t lock; /* of what follows */
    int64_t memory_left, memory_used, scratch_used;
    int fd; /* -1: none yet */
};

static size_t choose_chunk(const struct psr_series_store_desc *d)
{
    const int64_t share = d->mem_bytes / 4 / (int64_t)sizeof(float) / (int64_t)d->nseries;
    const int64_t most = d->samples > 0 && d->samples < share ? d->samples : share;
    size_t n = MOST_SAMPLES;
    while (n > LEAST_SAMPLES && (int64_t)n > most)
        n /= 2;
    return n;
}

psr_status psr_series_store_create(psr_series_store **out, const struct psr_series_store_desc *d,
                                   psr_err *err)
{
    psr_series_store *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return psr_fail_nomem(err, "series", sizeof *s);
    s->nseries = d->nseries;
    s->chunk_samples = choose_chunk(d);
    s->memory_left = d->mem_bytes;
    s->fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    s->prefix = strdup(d->prefix);
    s->series = calloc(d->nseries, sizeof *s->series);
    if (!s->prefix || !s->series) {
        psr_series_store_destroy(s);
        return psr_fail_nomem(err, "series", (double)d->nseries * sizeof *s->series);
    }
    *out = s;
    return PSR_OK;
}

/* --- the scratch file ------------------------------------------------------------------------- */

/* It has no name, so that nothing is left whatever happens. */
static int open_scratch(const char *prefix)
{
    char *name = NULL;
    if (asprintf(&name, "%.*s.psrkit-scratch-XXXXXX", (int)(psr_path_file(prefix) - prefix),
                 prefix) < 0) {
        errno = ENOMEM;
        return -1;
    }
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}

static psr_status write_place(const psr_series_store *s, const float *x, int64_t at, psr_err *err)
{
    const char *from = (const char *)x;
    size_t left = s->chunk_samples * sizeof *x;
    while (left > 0) {
        ssize_t n = pwrite(s->fd, from, left, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return psr_fail_errno(err, "%s: its scratch file of %.3g GB", s->prefix,
                                  (double)at / 1e9);
        from += n;
        at += n;
        left -= (size_t)n;
    }
    return PSR_OK;
}

static psr_status read_place(const psr_series_store *s, float *x, size_t samples, int64_t at,
                             psr_err *err)
{
    char *to = (char *)x;
    size_t left = samples * sizeof *x;
    while (left > 0) {
        ssize_t n = pread(s->fd, to, left, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return psr_fail(err, PSR_EIO, "%s: its scratch file cannot be read: %s", s->prefix,
                            n ? strerror(errno) : "it has been cut");
        to += n;
        at += n;
        left -= (size_t)n;
    }
    return PSR_OK;
}

/* --- chunks ----------------------------------------------------------------------------------- */

static bool take_memory(psr_series_store *s)
{
    const int64_t bytes = (int64_t)(s->chunk_samples * sizeof(float));
    pthread_mutex_lock(&s->lock);
    const bool fits = s->memory_left >= bytes;
    s->memory_left -= fits ? bytes : 0;
    s->memory_used += fits ? bytes : 0;
    pthread_mutex_unlock(&s->lock);
    return fits;
}

/* The next chunk of a series: new memory, or, where there is none, that of the last one, which goes
 * to the file.  The first chunk of a series is always in memory. */
static psr_status add_chunk(psr_series_store *s, struct kept *k, psr_err *err)
{
    struct chunk *last = k->nchunk ? &k->chunk[k->nchunk - 1] : NULL;
    float *x = NULL;
    psr_status st = PSR_OK;
    if (last && !take_memory(s)) {
        pthread_mutex_lock(&s->lock);
        if (s->fd < 0 && (s->fd = open_scratch(s->prefix)) < 0)
            st = psr_fail_errno(err, "%s: its scratch file", s->prefix);
        last->at = s->scratch_used;
        if (!st)
            s->scratch_used += (int64_t)(s->chunk_samples * sizeof(float));
        pthread_mutex_unlock(&s->lock);
        if (!st)
            st = write_place(s, last->x, last->at, err);
        x = last->x;
    } else {
        if (!last)
            (void)take_memory(s);
        x = malloc(s->chunk_samples * sizeof *x);
        st = x ? PSR_OK : psr_fail_nomem(err, "series", (double)s->chunk_samples * sizeof *x);
        last = NULL;
    }
    if (!st)
        st = psr_grow(&k->chunk, &k->room, k->nchunk, sizeof *k->chunk, "series", err);
    if (st) {
        if (!last)
            free(x);
        return st;
    }
    if (last)
        k->chunk[k->nchunk - 1].x = NULL;
    k->chunk[k->nchunk++] = (struct chunk){.x = x};
    return PSR_OK;
}

psr_status psr_series_store_append(psr_series_store *s, size_t i, const float *x, size_t n,
                                   psr_err *err)
{
    struct kept *k = &s->series[i];
    while (n > 0) {
        const size_t used = (size_t)k->n % s->chunk_samples;
        psr_status st = used == 0 ? add_chunk(s, k, err) : PSR_OK;
        if (st)
            return st;
        const size_t room = s->chunk_samples - used, more = n < room ? n : room;
        memcpy(k->chunk[k->nchunk - 1].x + used, x, more * sizeof *x);
        k->n += (int64_t)more;
        x += more;
        n -= more;
    }
    return PSR_OK;
}

static psr_status append(void *store, size_t i, const float *x, size_t n, psr_err *err)
{
    return psr_series_store_append(store, i, x, n, err);
}

psr_status psr_series_store_append_line(psr_series_store *s, const struct psr_sink_stream *stream,
                                        size_t line, const struct psr_block *block, psr_err *err)
{
    return psr_sink_append(stream, line, block, append, s, err);
}

int64_t psr_series_store_length(const psr_series_store *s, size_t i)
{
    return s->series[i].n;
}

psr_status psr_series_store_read(const psr_series_store *s, size_t i, float *x, int64_t n,
                                 psr_err *err)
{
    const struct kept *k = &s->series[i];
    int64_t left = n < k->n ? n : k->n;
    psr_status st = PSR_OK;
    for (const struct chunk *c = k->chunk; left > 0 && !st; c++) {
        const size_t more = left < (int64_t)s->chunk_samples ? (size_t)left : s->chunk_samples;
        if (c->x)
            memcpy(x, c->x, more * sizeof *x);
        else
            st = read_place(s, x, more, c->at, err);
        x += more;
        left -= (int64_t)more;
    }
    return st;
}

void psr_series_store_drop(psr_series_store *s, size_t i)
{
    struct kept *k = &s->series[i];
    for (size_t c = 0; c < k->nchunk; c++)
        free(k->chunk[c].x);
    free(k->chunk);
    *k = (struct kept){.n = 0};
}

void psr_series_store_bytes(const psr_series_store *s, int64_t *memory, int64_t *scratch)
{
    *memory = s->memory_used;
    *scratch = s->scratch_used;
}

void psr_series_store_destroy(psr_series_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->series && i < s->nseries; i++)
        psr_series_store_drop(s, i);
    if (s->fd >= 0)
        close(s->fd);
    pthread_mutex_destroy(&s->lock);
    free(s->series);
    free(s->prefix);
    free(s);
}
