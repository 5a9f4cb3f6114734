/* Reads spectra of a pipeline's input a second time. */
#include "reread.h"

#include "base/input/readfd.h"
#include "formats/spectra/unpack.h"

#include <math.h>
#include <stdlib.h>

enum {
    AHEAD = 4096, /* spectra that are read over, rather than that the input is opened anew */
    ROWS = 64     /* spectra read at a time */
};

struct psr_reread {
    struct psr_reread_desc d;
    psr_source *source;
    int64_t pos;   /* the spectrum that it reads next */
    int64_t end;   /* where the input ends; -1: not known */
    void *row;     /* [ROWS] spectra */
    double *value; /* [nchan] */
};

psr_status psr_reread_create(psr_reread **out, const struct psr_reread_desc *desc, psr_err *err)
{
    bool regular = desc->source.npath > 0;
    *out = NULL;
    for (size_t k = 0; k < desc->source.npath; k++)
        regular &= psr_is_regular(desc->source.path[k]);
    if (!regular)
        return PSR_OK;
    psr_reread *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "reading the input again", sizeof *r);
    r->d = *desc;
    r->d.source.notes.note = NULL;
    r->end = -1;
    *out = r;
    return PSR_OK;
}

static psr_status open_at(psr_reread *r, int64_t first, psr_err *err)
{
    psr_source_close(r->source);
    r->source = NULL;
    r->d.source.skip = r->d.skip + first;
    psr_status st = psr_source_open(&r->source, &r->d.source, err);
    if (st)
        return st;
    r->pos = first;
    if (r->end < 0 && psr_source_obs(r->source)->nsamp >= 0)
        r->end = first + psr_source_obs(r->source)->nsamp;
    if (!r->row)
        r->row = malloc(psr_source_block_bytes(r->source, ROWS));
    if (!r->value)
        r->value = malloc(psr_source_obs(r->source)->nchan * sizeof *r->value);
    if (!r->row || !r->value)
        return psr_fail_nomem(err, "spectra", (double)psr_source_block_bytes(r->source, ROWS));
    return PSR_OK;
}

/* Returned: *got, fewer than n at the end of the input */
static psr_status read_rows(psr_reread *r, size_t n, size_t *got, psr_err *err)
{
    *got = 0;
    psr_status st = psr_source_read(r->source, n, r->row, got, err);
    r->pos += st ? 0 : (int64_t)*got;
    if (!st && *got < n)
        r->end = r->pos;
    return st;
}

/* Opened at its beginning first, which tells where it ends: beyond, there is nothing to seek. */
static psr_status seek(psr_reread *r, int64_t first, psr_err *err)
{
    psr_status st = r->source ? PSR_OK : open_at(r, 0, err);
    if (st || (r->end >= 0 && first >= r->end))
        return st;
    if (first < r->pos || (r->end >= 0 && first > r->pos + AHEAD))
        st = open_at(r, r->end < 0 ? 0 : first, err);
    while (!st && r->pos < first && (r->end < 0 || r->pos < r->end)) {
        const int64_t over = first - r->pos;
        size_t got;
        st = read_rows(r, over < ROWS ? (size_t)over : ROWS, &got, err);
    }
    return st;
}

/* Rows that were read, as floats. */
static void unpack_rows(psr_reread *r, size_t n, float *x)
{
    const struct psr_obs *obs = psr_source_obs(r->source);
    const size_t nchan = obs->nchan, bytes = psr_source_block_bytes(r->source, 1);
    for (size_t k = 0; k < n; k++) {
        psr_row_unpack(r->value, (const char *)r->row + k * bytes, nchan, obs->nbit, obs->kind);
        for (size_t c = 0; c < nchan; c++)
            x[k * nchan + c] = (float)r->value[c];
    }
}

psr_status psr_reread_read(psr_reread *r, int64_t first, size_t n, float *x, psr_err *err)
{
    psr_status st = seek(r, first > 0 ? first : 0, err);
    if (st)
        return st;
    const size_t nchan = psr_source_obs(r->source)->nchan;
    size_t done = first < 0 ? (size_t)-first : 0;
    for (size_t c = 0; c < n * nchan; c++)
        x[c] = NAN;
    while (!st && done < n && r->pos == first + (int64_t)done && (r->end < 0 || r->pos < r->end)) {
        size_t got;
        st = read_rows(r, n - done < ROWS ? n - done : ROWS, &got, err);
        if (!st)
            unpack_rows(r, got, x + done * nchan);
        done += got;
    }
    if (!st)
        psr_stage_clean_mark(r->d.clean, first, n, x);
    return st;
}

void psr_reread_destroy(psr_reread *r)
{
    if (!r)
        return;
    psr_source_close(r->source);
    free(r->row);
    free(r->value);
    free(r);
}
