/* fil.h: SIGPROC files put together byte by byte, apart from the code under test. */
#ifndef PSR_FIL_H
#define PSR_FIL_H

#include "scratch.h"
#include "tap.h"
#include <string.h>

struct fil {
    uint8_t *b;
    size_t n, room;
};

struct fil_desc {
    int nchan, nif, nbit, is_signed;
    double fch1, foff, tstart, tsamp;
    int nsamples; /* 0: not in the header */
};

static void fil_bytes(struct fil *f, const void *bytes, size_t n)
{
    if (f->n + n > f->room) {
        f->room = 2 * (f->n + n);
        f->b = realloc(f->b, f->room);
        if (!f->b)
            abort();
    }
    memcpy(f->b + f->n, bytes, n);
    f->n += n;
}

static void fil_text(struct fil *f, const char *text)
{
    int32_t n = (int32_t)strlen(text);
    fil_bytes(f, &n, 4);
    fil_bytes(f, text, (size_t)n);
}

static void fil_int(struct fil *f, const char *key, int32_t v)
{
    fil_text(f, key);
    fil_bytes(f, &v, 4);
}

static void fil_double(struct fil *f, const char *key, double v)
{
    fil_text(f, key);
    fil_bytes(f, &v, 8);
}

/* The value of a key that is there, or of one more. */
__attribute__((unused)) static void fil_set(struct fil *f, const char *key, const void *value,
                                            size_t n)
{
    uint8_t *there = memmem(f->b, f->n, key, strlen(key));
    if (there) {
        memcpy(there + strlen(key), value, n);
    } else {
        fil_text(f, key);
        fil_bytes(f, value, n);
    }
}

/* Of 8 bits, one IF and a narrow band; samples fill the file. */
__attribute__((unused)) static struct fil_desc fil_bytes_desc(int nchan)
{
    return (struct fil_desc){.nchan = nchan,
                             .nif = 1,
                             .nbit = 8,
                             .fch1 = 1500,
                             .foff = -0.1,
                             .tstart = 55000,
                             .tsamp = 1e-3};
}

/* Everything but HEADER_END. */
__attribute__((unused)) static void fil_begin(struct fil *f, const struct fil_desc *d)
{
    f->n = 0;
    fil_text(f, "HEADER_START");
    fil_int(f, "data_type", 1);
    fil_double(f, "fch1", d->fch1);
    fil_double(f, "foff", d->foff);
    fil_int(f, "nchans", d->nchan);
    fil_int(f, "nbits", d->nbit);
    fil_double(f, "tstart", d->tstart);
    fil_double(f, "tsamp", d->tsamp);
    fil_int(f, "nifs", d->nif);
    if (d->nsamples)
        fil_int(f, "nsamples", d->nsamples);
    if (d->is_signed) {
        fil_text(f, "signed");
        fil_bytes(f, "\1", 1);
    }
}

__attribute__((unused)) static void fil_save(const struct fil *f, const char *path)
{
    scratch_write(path, f->b, f->n);
}

__attribute__((unused)) static void fil_load(struct fil *f, const char *path)
{
    uint8_t part[65536];
    size_t n;
    FILE *in = fopen(path, "rb");
    f->n = 0;
    while (in && (n = fread(part, 1, sizeof part, in)) > 0)
        fil_bytes(f, part, n);
    if (in)
        fclose(in);
}

/* Remarks, one after the other. */
struct heard {
    char text[4096];
    int count;
};

__attribute__((unused)) static void hear(void *ctx, const char *msg)
{
    struct heard *h = ctx;
    size_t used = strlen(h->text);
    snprintf(h->text + used, sizeof h->text - used, "%s\n", msg);
    h->count++;
}

#endif
