/* Divides a search on a device into blocks of bins and bands of frequency. */
#include "accel_cuda.h"

#include <math.h>

enum { LEAST_BAND = 1024 };

static int64_t cells_of_block(const struct psr_accel_cuda_plan *p)
{
    return 2 * p->cut.good / p->cut.cell;
}

static double rows_of(const struct psr_accel_strip *t)
{
    return (2.0 * t->jmax + 1) * (2.0 * t->lmax + 1);
}

/* The cells of fraction k / numharm that cells of the highest harmonic ask for: the one below, and
 * the next. */
static void place_strip(struct psr_accel_cuda_plan *p, int k, int64_t first, int64_t count)
{
    struct psr_accel_strip *t = &p->strip[k];
    const int64_t each = cells_of_block(p), n = p->s->numharm;
    int64_t lo = first * k / n, hi = (first + count) * k / n + 1;
    t->block = lo / each;
    t->origin = t->block * each;
    t->nblock = (int)(hi / each - t->block + 1);
    t->pitch = t->nblock * each;
}

void psr_accel_cuda_plan_place(struct psr_accel_cuda_plan *p, int64_t first, int64_t count)
{
    if (p->whole) {
        int64_t low = p->first / p->s->numharm;
        place_strip(p, p->s->numharm, low, p->end - low);
        return;
    }
    for (int k = 1; k <= p->s->numharm; k++)
        place_strip(p, k, first, count);
}

static void size_strips(struct psr_accel_cuda_plan *p)
{
    for (int k = 1; k <= p->s->numharm; k++) {
        p->strip[k].jmax = psr_harmonic_step(p->s->jmax, k, p->s->numharm);
        p->strip[k].lmax = psr_harmonic_step(p->s->lmax, k, p->s->numharm);
    }
}

/* Bytes of strips and of the longest one's blocks. */
static double bytes_of_band(struct psr_accel_cuda_plan *p)
{
    const int64_t each = cells_of_block(p);
    double cells = 0;
    p->nblock = 0;
    psr_accel_cuda_plan_place(p, p->first, p->band);
    for (int k = p->whole ? p->s->numharm : 1; k <= p->s->numharm; k++) {
        struct psr_accel_strip *t = &p->strip[k];
        const int nblock = t->nblock + !p->whole; /* wherever the band lies */
        t->room = rows_of(t) * (double)nblock * (double)each;
        cells += t->room;
        p->nblock = nblock > p->nblock ? nblock : p->nblock;
    }
    double block = (double)accel_k_block_bytes(p->kind) + ACCEL_PAIR * sizeof(float);
    return 2.0 * sizeof(uint16_t) * cells + block * p->nblock;
}

static double taps_of(const struct psr_accel_search *s, int reach)
{
    double n = (2.0 * s->jmax + 1) * (2.0 * s->lmax + 1);
    return n * (4.0 * sizeof(float) * (double)psr_template_taps(reach) + 12);
}

static double bytes_of_slot(const struct psr_accel_cuda_plan *p)
{
    return p->npair * 8.0 * ((double)p->s->nbin + 1) + PSR_ACCEL_HITS * sizeof(struct accel_k_hit) +
           8;
}

static double fixed_bytes(const struct psr_accel_cuda_plan *p, int reach)
{
    const struct psr_accel_search *s = p->s;
    double n = (2.0 * s->jmax + 1) * (2.0 * s->lmax + 1);
    return n * (double)accel_k_response_bytes(p->kind) + taps_of(s, reach) +
           2.0 * (double)accel_k_twiddle_bytes(ACCEL_FLOAT) +
           PSR_ACCEL_ENTRIES * sizeof(struct accel_k_entry);
}

psr_status psr_accel_cuda_plan_make(struct psr_accel_cuda_plan *p, const struct psr_accel_search *s,
                                    enum accel_k_number kind, size_t batch, double limit_bytes,
                                    psr_err *err)
{
    const int reach = psr_template_reach(s->jmax, s->lmax);
    *p = (struct psr_accel_cuda_plan){.s = s, .kind = kind, .npair = batch > 1 ? 2 : 1};
    p->cut.cell = psr_cell_size(s->numharm);
    p->cut.lead = (reach + ACCEL_ALIGN) / ACCEL_ALIGN * ACCEL_ALIGN; /* above reach */
    p->cut.good = ACCEL_BLOCK - 2 * p->cut.lead;
    if (p->cut.good < ACCEL_ALIGN)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "search on CUDA: responses of zmax %d and wmax %d reach %d bins, more than "
                        "%d",
                        PSR_STEP_Z * s->jmax, PSR_STEP_W * s->lmax, reach,
                        (ACCEL_BLOCK - ACCEL_ALIGN) / 2 - 1);
    if (s->nbin > (size_t)1 << 31)
        return psr_fail(err, PSR_EUNSUPPORTED, "search on CUDA: %zu bins are more than 2^31",
                        s->nbin);
    p->first = s->ilo / p->cut.cell;
    p->end = s->ihi / p->cut.cell + 1;
    if (p->end <= p->first) /* no half bin is asked for */
        p->end = p->first + 1;
    size_strips(p);
    /* Fewer spectra on the device first, then bands, and one spectrum where two take more than
     * half of the memory. */
    const double fixed = fixed_bytes(p, reach);
    p->whole = true;
    p->band = p->end - p->first;
    for (p->nslot = batch > ACCEL_PAIR ? 2 : 1; p->nslot > 0; p->nslot--) {
        p->bytes = fixed + p->nslot * bytes_of_slot(p) + bytes_of_band(p);
        if (p->bytes <= limit_bytes)
            return PSR_OK;
    }
    p->nslot = 1;
    p->whole = false;
    if (bytes_of_slot(p) > limit_bytes / 2)
        p->npair = 1;
    while (p->bytes > limit_bytes && p->band > LEAST_BAND) {
        p->band = (p->band + 1) / 2;
        p->bytes = fixed + bytes_of_slot(p) + bytes_of_band(p);
    }
    if (p->bytes <= limit_bytes)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM,
                    "search on CUDA: %d spectra of %zu bins, zmax %d and wmax %d need %.0f MB, and "
                    "the limit is %.0f MB",
                    p->npair, p->s->nbin, PSR_STEP_Z * p->s->jmax, PSR_STEP_W * p->s->lmax,
                    p->bytes / 1e6, limit_bytes / 1e6);
}
