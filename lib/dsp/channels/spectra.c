/* Coded voltages to detected spectra: what all devices have in common. */
#include "spectra.h"

#include "base/device/device_internal.h"
#include "base/threads/isa.h"

#include <config.h>
#include <stdlib.h>
#include <string.h>

/* --- detection ----------------------------------------------------------------------------------- */

size_t psr_detect_nproduct(enum psr_detect what, size_t npol)
{
    return npol == 1 ? 1 : what == PSR_DETECT_EACH ? 2 : 4;
}

PSR_CLONES static void detect_powers(const float *restrict p, size_t n, float *restrict x)
{
    for (size_t c = 0; c < n; c++)
        x[c] += p[2 * c] * p[2 * c] + p[2 * c + 1] * p[2 * c + 1];
}

/* Adds the power of each channel. */
static void add_power(const float *p, size_t nchan, size_t fsum, float *x)
{
    if (fsum == 1)
        detect_powers(p, nchan, x);
    for (size_t c = 0; c < nchan && fsum > 1; c++)
        for (size_t k = c * fsum; k < (c + 1) * fsum; k++)
            x[c] += p[2 * k] * p[2 * k] + p[2 * k + 1] * p[2 * k + 1];
}

static void add_spectrum(enum psr_detect what, const float *v, size_t npol, size_t nchan,
                         size_t fsum, float *x)
{
    const size_t n = nchan / fsum;
    const float *q = v + 2 * nchan;
    if (npol == 2 && what != PSR_DETECT_EACH) {
        /* All four products of a channel, in the order in which they are stored. */
        const size_t second = what == PSR_DETECT_STOKES_CIRCULAR ? 3 : 1;
        const size_t third = what == PSR_DETECT_STOKES_CIRCULAR ? 1 : 2;
        const bool stokes = what != PSR_DETECT_COHERENCE;
        const float twice = stokes ? 2 : 1;
        for (size_t c = 0; c < n; c++)
            for (size_t k = c * fsum; k < (c + 1) * fsum; k++) {
                const float *a = v + 2 * k, *b = q + 2 * k;
                const float pp = a[0] * a[0] + a[1] * a[1], qq = b[0] * b[0] + b[1] * b[1];
                x[c] += stokes ? pp + qq : pp;
                x[second * n + c] += stokes ? pp - qq : qq;
                x[third * n + c] += twice * (a[0] * b[0] + a[1] * b[1]);
                x[(third + 1) * n + c] += twice * (a[0] * b[1] - a[1] * b[0]);
            }
        return;
    }
    add_power(v, n, fsum, x);
    if (npol == 2)
        add_power(q, n, fsum, x + n);
}

void psr_detect(enum psr_detect what, const float *v, size_t nspectrum, size_t npol, size_t nchan,
                const bool *good, size_t tsum, size_t fsum, size_t fill, float *x, uint32_t *weight,
                int nthread)
{
    const size_t row = psr_detect_nproduct(what, npol) * (nchan / fsum);
    const size_t nrow = (fill + nspectrum + tsum - 1) / tsum;
    (void)nthread; /* without OpenMP */
#pragma omp parallel for num_threads(nthread) schedule(static)
    for (size_t r = 0; r < nrow; r++) {
        const size_t from = r * tsum < fill ? 0 : r * tsum - fill, stop = (r + 1) * tsum - fill;
        for (size_t s = from; s < stop && s < nspectrum; s++) {
            if (!good[s])
                continue;
            add_spectrum(what, v + 2 * s * npol * nchan, npol, nchan, fsum, x + r * row);
            weight[r]++;
        }
    }
}

enum { PSR_SPECTRA_RUNS = 4096 }; /* of a block at most */

/* The one place that knows which were built. */
static const struct psr_spectra_ops *const backends[] = {
#ifdef HAVE_CUDA
    &psr_spectra_cuda,
#endif
    NULL,
};

/* Floats of a batch, enough to fill a device. */
enum { BATCH_FLOATS = 1 << 24 };

/* --- create and destroy ----------------------------------------------------------------------- */

size_t psr_spectra_batch(const psr_channelise *p)
{
    const size_t planes = p->d.nchan_in * p->d.npol;
    const size_t fit = BATCH_FLOATS / (p->shape.segment / p->d.ntap * p->ndim * planes);
    return fit > 0 ? fit : 1;
}

static psr_status start_backend(psr_spectra *s, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; backends[k]; k++) {
        if (!psr_backend_is_asked(s->d.backend, backends[k]->name))
            continue;
        if (s->ops)
            s->ops->destroy(s);
        s->ops = backends[k];
        st = s->ops->create(s, err);
        if (!psr_backend_is_passed(s->d.backend, st))
            return st;
    }
    return psr_backend_none(st, s->d.backend, "spectra", err);
}

/* Samples of a block are counted in 32 bits there. */
static psr_status check_sizes(const struct psr_spectra_desc *d, psr_err *err)
{
    const size_t frame = d->layout->frame_nsamp == SIZE_MAX ? 0 : d->layout->frame_nsamp;
    const size_t most = frame > d->block ? frame : d->block;
    if (d->block > 0 && most <= INT32_MAX)
        return PSR_OK;
    return psr_fail_field(err, PSR_EUNSUPPORTED, "block",
                          "spectra: a block or frame of %zu samples, must be 1 to %d", most,
                          INT32_MAX);
}

void psr_spectra_destroy(psr_spectra *s)
{
    if (!s)
        return;
    if (s->ops)
        s->ops->destroy(s);
    for (int k = 0; k < PSR_SPECTRA_SLOTS; k++)
        free(s->slot[k].weight);
    free(s);
}

psr_status psr_spectra_create(psr_spectra **out, const struct psr_spectra_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_spectra *s = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "spectra", sizeof *s);
    s->d = *desc;
    const psr_channelise *p = s->d.channels;
    s->shape = p->shape;
    s->npol = p->d.npol;
    s->nplane = p->d.nchan_in * p->d.npol;
    s->nchan = p->d.nchan;
    s->n = p->n;
    s->nbin = p->nbin;
    s->ndim = p->ndim;
    s->ntap = p->d.ntap;
    s->real = p->d.real;
    s->upper = p->d.bw_mhz > 0;
    s->nvalue = psr_detect_nproduct(s->d.what, s->npol) * (s->nchan / s->d.fsum);
    s->batch = psr_spectra_batch(p);
    s->most_segments = (s->d.block + s->shape.segment) / s->shape.step + 1;
    s->most_rows = s->most_segments * s->shape.keep / s->d.tsum + 2;
    psr_status st = check_sizes(desc, err);
    for (int k = 0; k < PSR_SPECTRA_SLOTS && !st; k++)
        if (!(s->slot[k].weight = calloc(s->most_rows, sizeof *s->slot[k].weight)))
            st = psr_fail_nomem(err, "spectra", (double)s->most_rows * sizeof(uint32_t));
    if (!st)
        st = start_backend(s, err);
    s->d.channels = NULL;
    s->d.layout = NULL;
    s->d.coding = NULL;
    if (st) {
        psr_spectra_destroy(s);
        return st;
    }
    *out = s;
    return PSR_OK;
}

const char *psr_spectra_backend(const psr_spectra *s)
{
    return s->ops->name;
}

/* --- the stream ------------------------------------------------------------------------------- */

static size_t count_segments(const psr_spectra *s, size_t nsamp)
{
    const size_t all = s->nheld + nsamp;
    return all < s->shape.segment ? 0 : (all - s->shape.segment) / s->shape.step + 1;
}

size_t psr_spectra_ready(const psr_spectra *s, size_t nsamp)
{
    return count_segments(s, nsamp) * s->shape.keep;
}

psr_status psr_spectra_push(psr_spectra *s, const struct psr_spectra_block *b, const bool *good,
                            psr_err *err)
{
    const size_t nsegment = count_segments(s, b->nsamp), n = nsegment * s->shape.keep;
    const int k = (int)(s->npush % PSR_SPECTRA_SLOTS);
    bool all_good = true;
    if (s->npush - s->ncollect == PSR_SPECTRA_SLOTS || b->nsamp > s->d.block)
        return psr_fail(err, PSR_EINVAL, "spectra: a block of %zu samples, limit %zu, %d under way",
                        b->nsamp, s->d.block, (int)(s->npush - s->ncollect));
    /* Counts the good spectra of each row; all_good is whether none is missing. */
    struct psr_spectra_slot *slot = s->slot + k;
    size_t fill = s->fill;
    slot->nrow = 0;
    for (size_t i = 0; i < n; i++) {
        s->ngood += good[i];
        all_good &= good[i];
        if (++fill == s->d.tsum) {
            slot->weight[slot->nrow++] = s->ngood;
            s->ngood = 0;
            fill = 0;
        }
    }
    psr_status st = s->ops->push(s, k, b, nsegment, all_good ? NULL : good, err);
    if (st)
        return st;
    s->npush++;
    s->fill = (s->fill + n) % s->d.tsum;
    s->nheld += b->nsamp - nsegment * s->shape.step;
    return PSR_OK;
}

psr_status psr_spectra_collect(psr_spectra *s, float **x, const uint32_t **weight, size_t *nrow,
                               psr_err *err)
{
    const int k = (int)(s->ncollect % PSR_SPECTRA_SLOTS);
    if (s->npush == s->ncollect)
        return psr_fail(err, PSR_EINVAL, "spectra: no block is under way");
    s->ncollect++;
    *weight = s->slot[k].weight;
    *nrow = s->slot[k].nrow;
    return s->ops->collect(s, k, x, err);
}

/* --- blocks of coded voltages in page-locked memory ------------------------------------------- */

enum { FRAMES_MORE = 8, BYTES_MORE = 1 << 16 };

size_t psr_spectra_bytes(const struct baseband_layout *l, int nbit, size_t nsamp)
{
    const size_t sample = l->nplane * l->ndim * (size_t)nbit;
    if (l->frame_nsamp == SIZE_MAX)
        return nsamp * sample / 8 + BYTES_MORE;
    /* pieces of frames take whole ones */
    const size_t frames = nsamp / l->frame_nsamp + FRAMES_MORE;
    return frames * (l->frame_bytes + l->ngroup) + BYTES_MORE;
}

psr_status psr_spectra_block_make(struct psr_spectra_block *b, size_t bytes, psr_err *err)
{
    void *p = NULL;
    b->run = calloc(PSR_SPECTRA_RUNS, sizeof *b->run);
    if (!b->run)
        return psr_fail_nomem(err, "voltages", PSR_SPECTRA_RUNS * (double)sizeof *b->run);
    psr_status st = psr_device_pin(&p, bytes, err);
    b->bytes = p;
    b->room = bytes;
    return st;
}

void psr_spectra_block_free(struct psr_spectra_block *b)
{
    psr_device_unpin(b->bytes);
    free(b->run);
    *b = (struct psr_spectra_block){.bytes = NULL};
}

/* Whether frames go on where those of the run before end. */
static bool continues(const struct psr_spectra_block *b, const struct psr_baseband_piece *piece)
{
    if (b->nrun == 0 || piece->from || piece->some_absent)
        return false;
    const struct psr_spectra_run *last = b->run + b->nrun - 1;
    const size_t end = last->from + last->n;
    return !last->missing && last->flags == SIZE_MAX && piece->aligned &&
           end % piece->aligned == 0 && end + piece->nsamp < UINT32_MAX;
}

static void add_piece(struct psr_spectra_block *b, const struct psr_baseband_piece *piece)
{
    const bool on = !piece->missing && continues(b, piece);
    if (!on)
        b->run[b->nrun++] = (struct psr_spectra_run){
            .from = piece->from, .byte = b->nbytes, .flags = SIZE_MAX, .missing = piece->missing};
    struct psr_spectra_run *run = b->run + b->nrun - 1;
    run->n += piece->nsamp;
    b->nsamp += piece->nsamp;
    if (piece->missing)
        return;
    if (piece->bytes != b->bytes + b->nbytes) /* where it was read */
        memcpy(b->bytes + b->nbytes, piece->bytes, piece->nbytes);
    b->nbytes += piece->nbytes;
    if (piece->some_absent) {
        run->flags = b->nbytes;
        for (size_t i = 0; i < piece->nflag; i++)
            b->bytes[b->nbytes++] = piece->present[i];
    }
}

psr_status psr_spectra_block_fill(struct psr_spectra_block *b, psr_baseband *reader, size_t nsamp,
                                  psr_err *err)
{
    psr_status st = PSR_OK;
    b->nbytes = b->nsamp = b->nrun = 0;
    while (b->nsamp < nsamp && b->nrun < PSR_SPECTRA_RUNS && !st) {
        struct psr_baseband_piece piece;
        st = psr_baseband_take(reader, nsamp - b->nsamp, b->nsamp, b->bytes + b->nbytes,
                               b->room - b->nbytes, &piece, err);
        if (st || piece.nsamp == 0)
            break;
        add_piece(b, &piece);
    }
    return st;
}
