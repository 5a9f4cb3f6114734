/* mask_bytes.h: rfifind's files put together byte by byte, apart from the code under test. */
#ifndef PSR_MASK_BYTES_H
#define PSR_MASK_BYTES_H

#include "tap.h"
#include <string.h>

struct mask_bytes {
    unsigned char b[1 << 17];
    size_t n;
};

/* What a mask says: listed[i][c] for the interval, zap_chan and zap_int for the whole. */
enum { MASK_CHANS = 64, MASK_INTS = 16 };
struct mask_says {
    int nchan, nint;
    double dtint_s, mjd;
    unsigned char zap_chan[MASK_CHANS], zap_int[MASK_INTS], listed[MASK_INTS][MASK_CHANS];
    float mean[MASK_INTS][MASK_CHANS];
};

static void mask_add(struct mask_bytes *m, const void *bytes, size_t n)
{
    if (m->n + n > sizeof m->b)
        abort();
    memcpy(m->b + m->n, bytes, n);
    m->n += n;
}

static void mask_int(struct mask_bytes *m, int v)
{
    int32_t number = v;
    mask_add(m, &number, sizeof number);
}

/* The numbers of the flags that are set, in front of which their count stands. */
static void mask_flags(struct mask_bytes *m, const unsigned char *flag, int n)
{
    int count = 0;
    for (int k = 0; k < n; k++)
        count += flag[k];
    mask_int(m, count);
    for (int k = 0; k < n; k++)
        if (flag[k])
            mask_int(m, k);
}

__attribute__((unused)) static void mask_file(struct mask_bytes *m, const struct mask_says *s)
{
    const double head[6] = {10, 4, s->mjd, s->dtint_s, 1376, 4};
    m->n = 0;
    mask_add(m, head, sizeof head);
    mask_int(m, s->nchan);
    mask_int(m, s->nint);
    mask_int(m, 2400);
    mask_flags(m, s->zap_chan, s->nchan);
    mask_flags(m, s->zap_int, s->nint);
    for (int i = 0; i < s->nint; i++) {
        int count = 0;
        for (int c = 0; c < s->nchan; c++)
            count += s->listed[i][c];
        mask_int(m, count);
    }
    for (int i = 0; i < s->nint; i++) {
        struct mask_bytes list = {.n = 0};
        mask_flags(&list, s->listed[i], s->nchan);
        if (list.n / 4 - 1 < (size_t)s->nchan)
            mask_add(m, list.b + 4, list.n - 4);
    }
}

__attribute__((unused)) static void mask_stats(struct mask_bytes *m, const struct mask_says *s)
{
    m->n = 0;
    mask_int(m, s->nchan);
    mask_int(m, s->nint);
    for (int k = 0; k < 3; k++)
        mask_int(m, 1);
    for (int table = 0; table < 3; table++)
        for (int i = 0; i < s->nint; i++)
            for (int c = 0; c < s->nchan; c++) {
                float v = table == 1 ? s->mean[i][c] : 7;
                mask_add(m, &v, sizeof v);
            }
}

/* Anything at all, sparse or dense. */
__attribute__((unused)) static void mask_random(struct mask_says *s, uint64_t *seed, int nchan,
                                                double dtint_s)
{
    memset(s, 0, sizeof *s);
    s->nchan = nchan;
    s->nint = (int)tap_between(seed, 1, 6);
    s->dtint_s = dtint_s;
    s->mjd = 56789.25;
    bool throughout = tap_between(seed, 0, 1), whole = tap_between(seed, 0, 1);
    for (int c = 0; c < nchan; c++)
        s->zap_chan[c] = throughout && tap_between(seed, 0, 5) == 0;
    for (int i = 0; i < s->nint; i++) {
        s->zap_int[i] = whole && tap_between(seed, 0, 3) == 0;
        int dense = (int)tap_between(seed, 0, 4);
        for (int c = 0; c < nchan; c++) {
            s->listed[i][c] = dense == 4 || (dense > 1 && tap_between(seed, 0, 3) == 0);
            s->mean[i][c] = (float)(50 + 100 * tap_uniform(seed));
        }
    }
}

#endif
