/* Reads spectra of a pipeline's input a second time. */
#include "reread.h"

#include "base/input/readfd.h"
#include "formats/spectra/unpack.h"

#include <math.h>
#include <stdlib.h>

enum { AHEAD = 4096 }; /* spectra that are read over, rather than that the input is opened anew */

struct psr_reread {
    struct psr_reread_desc d;
    psr_source *source;
    int64_t pos;   /* the spectrum that it reads next */
    int64_t end;   /* where the input ends; -1: not known */
    void *row;     /* a spectrum */
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
        r->row = malloc(psr_source_block_bytes(r->source, 1));
    if (!r->value)
        r->value = malloc(psr_source_obs(r->source)->nchan * sizeof *r->value);
    if (!r->row || !r->value)
        return psr_fail_nomem(err, "a spectrum", (double)psr_source_block_bytes(r->source, 1));
    return PSR_OK;
}

static psr_status read_row(psr_reread *r, psr_err *err)
{
    size_t got = 0;
    psr_status st = psr_source_read(r->source, 1, r->row, &got, err);
    if (!st && got)
        r->pos++;
    else if (!st)
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
    while (!st && r->pos < first && (r->end < 0 || r->pos < r->end))
        st = read_row(r, err);
    return st;
}

/* A spectrum as floats; not numbers where there is none. */
static psr_status take_row(psr_reread *r, int64_t t, size_t nchan, float *x, psr_err *err)
{
    const bool exists = t >= 0 && (r->end < 0 || t < r->end);
    const psr_status st = exists ? read_row(r, err) : PSR_OK;
    if (st)
        return st;
    const bool got = exists && r->pos == t + 1;
    if (got) {
        const struct psr_obs *obs = psr_source_obs(r->source);
        psr_row_unpack(r->value, r->row, nchan, obs->nbit, obs->kind);
    }
    for (size_t c = 0; c < nchan; c++)
        x[c] = got ? (float)r->value[c] : NAN;
    return PSR_OK;
}

psr_status psr_reread_read(psr_reread *r, int64_t first, size_t n, float *x, psr_err *err)
{
    psr_status st = seek(r, first > 0 ? first : 0, err);
    if (st)
        return st;
    const size_t nchan = psr_source_obs(r->source)->nchan;
    for (size_t k = 0; k < n && !st; k++)
        st = take_row(r, first + (int64_t)k, nchan, x + k * nchan, err);
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
