/* Collects detections of periodic interference into birdies. */
#include "rfi_birdies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t bit_bytes(size_t n)
{
    return (n + 7) / 8;
}

static void set_bit(unsigned char *bits, size_t n)
{
    bits[n / 8] |= (unsigned char)(1U << (7 - n % 8));
}

/* In single precision, as PRESTO stores it. */
static size_t find(const struct psr_rfi_list *l, double freq_hz)
{
    const float low = (float)(freq_hz * (1 - 1.1 * PSR_RFI_FRACT_ERROR));
    const float high = (float)(freq_hz * (1 + 1.1 * PSR_RFI_FRACT_ERROR));
    for (size_t k = 0; k < l->n; k++) {
        float f = l->birdie[k].freq_hz;
        if (f < low || f > high)
            continue;
        if ((double)(float)(fabs((double)f - freq_hz) / freq_hz) < PSR_RFI_FRACT_ERROR)
            return k;
    }
    return l->n;
}

static psr_status grow_array(void *at, size_t bytes, psr_err *err)
{
    void *was, *got;
    memcpy(&was, at, sizeof was);
    got = realloc(was, bytes ? bytes : 1);
    if (!got)
        return psr_fail_nomem(err, "the list of periodic interference", (double)bytes);
    memcpy(at, &got, sizeof got);
    return PSR_OK;
}

static psr_status make_room(struct psr_rfi_list *l, psr_err *err)
{
    if (l->n < l->room)
        return PSR_OK;
    const size_t room = 2 * l->room + 30;
    psr_status st = grow_array(&l->birdie, room * sizeof *l->birdie, err);
    if (!st)
        st = grow_array(&l->times, room * bit_bytes(l->nint), err);
    if (!st)
        st = grow_array(&l->chans, room * bit_bytes(l->nchan), err);
    if (!st)
        l->room = room;
    return st;
}

/* Running means with PRESTO's weights, which count one detection more than there are. */
static void update(struct psr_rfi_birdie *b, float freq_hz, float sigma)
{
    b->nobs++;
    if (b->nobs == 1) {
        b->freq_hz = freq_hz;
        b->sigma = sigma;
        return;
    }
    const double n = b->nobs, step = (double)(freq_hz - b->freq_hz) / (n + 1);
    b->freq_var = (float)((double)b->freq_var * (n - 1));
    b->freq_var = (float)((double)b->freq_var + (n + 1) * n * step * step);
    b->freq_hz = (float)((double)b->freq_hz + step);
    b->freq_var = (float)((double)b->freq_var / n);
    b->sigma = (float)((double)b->sigma + (double)(sigma - b->sigma) / (n + 1));
}

psr_status psr_rfi_list_add(struct psr_rfi_list *l, double freq_hz, double sigma, size_t channel,
                            size_t interval, psr_err *err)
{
    const size_t k = find(l, freq_hz), nt = bit_bytes(l->nint), nc = bit_bytes(l->nchan);
    if (k == l->n) {
        psr_status st = make_room(l, err);
        if (st)
            return st;
        l->birdie[k] = (struct psr_rfi_birdie){0};
        memset(l->times + k * nt, 0, nt);
        memset(l->chans + k * nc, 0, nc);
        l->n++;
    }
    update(&l->birdie[k], (float)freq_hz, (float)sigma);
    set_bit(l->times + k * nt, interval);
    set_bit(l->chans + k * nc, channel);
    return PSR_OK;
}

psr_status psr_rfi_list_widen(struct psr_rfi_list *l, size_t nint, psr_err *err)
{
    const size_t was = bit_bytes(l->nint), now = bit_bytes(nint), both = was < now ? was : now;
    unsigned char *times = calloc(l->room ? l->room : 1, now ? now : 1);
    if (!times)
        return psr_fail_nomem(err, "the list of periodic interference",
                              (double)l->room * (double)now);
    for (size_t k = 0; k < l->n; k++)
        memcpy(times + k * now, l->times + k * was, both);
    free(l->times);
    l->times = times;
    l->nint = nint;
    return PSR_OK;
}
