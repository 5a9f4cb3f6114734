/* Detects, sums, scales and writes spectra. */
#include "filterbank_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

psr_status psr_filterbank_rows_start(struct psr_filterbank_rows *r, int64_t interval, psr_err *err)
{
    r->nproduct = psr_detect_nproduct(r->what, r->npol);
    r->nvalue = r->nproduct * (r->nchan / r->fsum);
    r->measured = interval < 0;
    if (interval < 0)
        return PSR_OK;
    return psr_rescale_create(&r->scale, r->nvalue, interval, r->nthread, err);
}

/* Room for n rows more than are in use; new ones are zero. */
static psr_status make_room(struct psr_filterbank_rows *r, size_t n, psr_err *err)
{
    const size_t want = r->n + n;
    if (want <= r->room)
        return PSR_OK;
    float *x = realloc(r->x, want * r->nvalue * sizeof *x);
    r->x = x ? x : r->x;
    uint32_t *weight = realloc(r->weight, want * sizeof *weight);
    r->weight = weight ? weight : r->weight;
    bool *good = realloc(r->good, want * sizeof *good);
    r->good = good ? good : r->good;
    if (!x || !weight || !good)
        return psr_fail_nomem(err, "spectra", (double)want * (double)r->nvalue * sizeof *x);
    memset(x + r->room * r->nvalue, 0, (want - r->room) * r->nvalue * sizeof *x);
    memset(weight + r->room, 0, (want - r->room) * sizeof *weight);
    r->room = want;
    return PSR_OK;
}

/* A row of n good spectra that lacks some is as large as if it had them.
 * Returned: whether it has any */
static bool complete_row(const struct psr_filterbank_rows *r, float *x, uint32_t n)
{
    if (n > 0 && n < r->tsum)
        for (size_t k = 0; k < r->nvalue; k++)
            x[k] *= (float)r->tsum / (float)n;
    return n > 0;
}

/* A scaled row that lacks spectra has the noise of the others: enlarged, it has more. */
static void quieten_rows(const struct psr_filterbank_rows *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++, x += r->nvalue) {
        const float share = sqrtf((float)r->weight[i] / (float)r->tsum);
        for (size_t k = 0; k < r->nvalue && r->weight[i] < r->tsum; k++)
            x[k] *= share;
    }
}

/* Of two scaled powers one, of the same standard deviation. */
static void add_pols(const struct psr_filterbank_rows *r, float *x, size_t n)
{
    enum { TILE = 256 };
    const size_t half = r->nvalue / 2, ntile = (half + TILE - 1) / TILE;
    const float part = r->scale ? (float)M_SQRT1_2 : 1;
    const int nthread = r->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) schedule(static)
    for (size_t tile = 0; tile < ntile; tile++) {
        const size_t from = tile * TILE, stop = from + TILE < half ? from + TILE : half;
        for (size_t i = 0; i < n; i++) {
            const float *p = x + i * r->nvalue, *q = p + half;
            for (size_t k = from; k < stop; k++)
                x[i * half + k] = (p[k] + q[k]) * part;
        }
    }
}

/* Levels of n rows of nvalue. */
static psr_status write_levels(struct psr_filterbank_rows *r, const float *x, size_t n,
                               size_t nvalue, psr_err *err)
{
    const size_t nchan = r->nchan / r->fsum, each = nchan * (size_t)r->nbits / 8;
    const size_t nif = nvalue / nchan, bytes = n * nif * each;
    if (bytes > r->levels_room) {
        uint8_t *grown = realloc(r->levels, bytes);
        if (!grown)
            return psr_fail_nomem(err, "levels", (double)bytes);
        r->levels = grown;
        r->levels_room = bytes;
    }
    const size_t npower = r->what < PSR_DETECT_STOKES ? 2 : 1; /* the others can be negative */
    const int nthread = r->nthread;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) schedule(static)
    for (size_t k = 0; k < n * nif; k++)
        psr_rescale_digitise(x + k * nchan, nchan, r->nbits, r->gain,
                             k % nif < npower ? r->shift : r->middle, r->levels + k * each);
    return psr_outfile_write(r->file, r->levels, bytes, err);
}

/* Scales n rows in place and writes them; r->good and r->weight are theirs. */
static psr_status write_rows(struct psr_filterbank_rows *r, float *x, size_t n, psr_err *err)
{
    for (size_t i = 0; i < n; i++)
        r->nlost += !r->good[i];
    if (r->scale) {
        psr_rescale_apply(r->scale, x, r->good, n);
        quieten_rows(r, x, n);
    }
    /* adding writes below what it reads, of the same channels */
    if (r->adds_pols)
        add_pols(r, x, n);
    const size_t nvalue = r->adds_pols ? r->nvalue / 2 : r->nvalue;
    r->nrow += (int64_t)n;
    return r->nbits == 32 ? psr_outfile_write(r->file, x, n * nvalue * sizeof *x, err)
                          : write_levels(r, x, n, nvalue, err);
}

/* Writes the first n rows, and moves the others to the start. */
static psr_status put_rows(struct psr_filterbank_rows *r, size_t n, psr_err *err)
{
    psr_status st = write_rows(r, r->x, n, err);
    const size_t left = r->n - n;
    memmove(r->x, r->x + n * r->nvalue, left * r->nvalue * sizeof *r->x);
    memmove(r->weight, r->weight + n, left * sizeof *r->weight);
    memset(r->x + left * r->nvalue, 0, n * r->nvalue * sizeof *r->x);
    memset(r->weight + left, 0, n * sizeof *r->weight);
    r->n = left;
    r->nheld = 0;
    return st;
}

/* Writes complete rows, once the first scale can be measured. */
static psr_status flush(struct psr_filterbank_rows *r, size_t ncomplete, bool all, psr_err *err)
{
    if (!r->measured && ncomplete < r->held && !all)
        return PSR_OK;
    if (!r->measured)
        psr_rescale_measure(r->scale, r->x, r->good, ncomplete < r->held ? ncomplete : r->held);
    r->measured = true;
    return ncomplete > 0 ? put_rows(r, ncomplete, err) : PSR_OK;
}

psr_status psr_filterbank_rows_add(struct psr_filterbank_rows *r, const float *v, const bool *good,
                                   size_t n, psr_err *err)
{
    const size_t first = r->fill > 0 ? r->n - 1 : r->n;
    const size_t nrow = (r->fill + n + r->tsum - 1) / r->tsum;
    psr_status st = make_room(r, nrow, err);
    if (st || n == 0)
        return st;
    psr_detect(r->what, v, n, r->npol, r->nchan, good, r->tsum, r->fsum, r->fill,
               r->x + first * r->nvalue, r->weight + first, r->nthread);
    r->n = first + nrow;
    r->fill = (r->fill + n) % r->tsum;
    const size_t ncomplete = r->fill > 0 ? r->n - 1 : r->n;
    for (; r->nheld < ncomplete; r->nheld++)
        r->good[r->nheld] = complete_row(r, r->x + r->nheld * r->nvalue, r->weight[r->nheld]);
    return flush(r, ncomplete, false, err);
}

/* Rows wait for the first scale, and are written where they are after that. */
psr_status psr_filterbank_rows_take(struct psr_filterbank_rows *r, float *x, const uint32_t *weight,
                                    size_t n, psr_err *err)
{
    psr_status st = make_room(r, n, err);
    if (st || n == 0)
        return st;
    for (size_t i = 0; i < n; i++)
        r->good[r->n + i] = complete_row(r, x + i * r->nvalue, weight[i]);
    memcpy(r->weight + r->n, weight, n * sizeof *weight);
    if (r->measured && r->n == 0)
        return write_rows(r, x, n, err);
    memcpy(r->x + r->n * r->nvalue, x, n * r->nvalue * sizeof *x);
    r->n = r->nheld = r->n + n;
    return flush(r, r->n, false, err);
}

psr_status psr_filterbank_rows_finish(struct psr_filterbank_rows *r, psr_err *err)
{
    return flush(r, r->nheld, true, err);
}

void psr_filterbank_rows_free(struct psr_filterbank_rows *r)
{
    free(r->x);
    free(r->weight);
    free(r->good);
    free(r->levels);
    psr_rescale_destroy(r->scale);
    psr_outfile_abort(r->file);
}
