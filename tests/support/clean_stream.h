/* clean_stream.h: made streams, and what automatic cleaning makes of them. */
#ifndef PSR_TESTS_CLEAN_STREAM_H
#define PSR_TESTS_CLEAN_STREAM_H

#include "clean_auto_ref.h"

#include "fake_made.h"
#include "rfi/auto/clean_auto_plan.h"

struct stream {
    struct psr_obs obs;
    void *packed;
    size_t row;
    float *x; /* [nsamp][nchan] */
};

static struct stream make_stream(const struct psr_fake_desc *d)
{
    struct stream s = {.obs = *d->obs};
    psr_err err;
    psr_fake *p;
    if (psr_fake_create(&p, d, &err)) {
        diag("%s", err.msg);
        exit(EXIT_FAILURE);
    }
    const size_t n = (size_t)s.obs.nsamp, nchan = s.obs.nchan;
    s.row = psr_fake_row_bytes(p);
    s.packed = malloc(n * s.row);
    s.x = malloc(n * nchan * sizeof *s.x);
    if (psr_fake_execute(p, 0, n, s.packed, &err))
        diag("%s", err.msg);
    double *x = run_plan(p, &s.obs);
    for (size_t i = 0; i < n * nchan; i++)
        s.x[i] = (float)x[i];
    free(x);
    psr_fake_destroy(p);
    return s;
}

static void clear_stream(struct stream *s)
{
    free(s->packed);
    free(s->x);
}

static struct psr_clean_auto_desc describe(const struct stream *s)
{
    return (struct psr_clean_auto_desc){.size = sizeof(struct psr_clean_auto_desc),
                                        .nchan = s->obs.nchan,
                                        .nbit = s->obs.nbit,
                                        .kind = s->obs.kind,
                                        .tsamp_s = s->obs.tsamp_s,
                                        .clip_sigma = 6};
}

struct cleaned {
    unsigned char *x;
    float *missing; /* what the plan says of samples */
    size_t n, nspark, nfiltered;
    double masked; /* share of all samples */
};

static void clear_cleaned(struct cleaned *c)
{
    free(c->x);
    free(c->missing);
}

/* Steps hold until the next. */
static void note_missing(struct cleaned *out, const psr_clean_auto *p, size_t nsamp, size_t nchan)
{
    const struct psr_step *step;
    const size_t nstep = psr_clean_auto_missing(p, &step);
    for (size_t k = 0; k < nstep; k++)
        for (size_t t = (size_t)step[k].t; t < nsamp; t++)
            out->missing[t * nchan + step[k].c] = step[k].value;
}

/* Cleans a stream in pieces of up to so many spectra. */
static struct cleaned clean(const struct stream *s, const struct psr_clean_auto_desc *d,
                            size_t piece, uint64_t *state)
{
    const size_t nsamp = (size_t)s->obs.nsamp, nchan = s->obs.nchan;
    struct cleaned out = {.x = malloc(nsamp * nchan + 1),
                          .missing = calloc(nsamp * nchan, sizeof *out.missing)};
    psr_clean_auto *p;
    psr_err err;
    if (!ok(!psr_clean_auto_create(&p, d, &err), "a plan of %zu channels", nchan))
        exit(EXIT_FAILURE);
    unsigned char *room = malloc((piece + psr_clean_auto_window(p)) * nchan);
    bool good = true;
    for (size_t t = 0, got; t <= nsamp && good;) {
        size_t n = (size_t)tap_between(state, 1, (int64_t)piece);
        n = n < nsamp - t ? n : nsamp - t;
        good = n ? !psr_clean_auto_execute(p, (char *)s->packed + t * s->row, n, room, &got, &err)
                 : !psr_clean_auto_finish(p, room, &got, &err);
        memcpy(out.x + out.n * nchan, room, got * nchan);
        note_missing(&out, p, nsamp, nchan);
        out.n += got;
        t += n ? n : nsamp + 1;
    }
    struct psr_clean_auto_report r;
    psr_clean_auto_describe(p, &r);
    for (size_t c = 0; c < nchan; c++)
        out.masked += (double)r.masked[c] / ((double)nsamp * (double)nchan);
    out.nspark = (size_t)r.nspark;
    out.nfiltered = r.nfiltered;
    good = good && out.n == nsamp && r.nsamp == (int64_t)nsamp;
    if (!good)
        ok(false, "%zu spectra out of %zu", out.n, nsamp);
    free(room);
    psr_clean_auto_destroy(p);
    return out;
}

/* Matched S/N of a burst of known shape, by the difference between two streams of the same noise: sum
 * of the difference over what cleaning makes of the noise's sigma. */
static double share_kept(const struct stream *with, const struct stream *without,
                         const struct cleaned *a, const struct cleaned *b)
{
    const size_t n = (size_t)with->obs.nsamp * with->obs.nchan;
    double product = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double put = (double)with->x[i] - (double)without->x[i];
        product += put * ((double)a->x[i] - (double)b->x[i]);
        squares += put * put;
    }
    return product / squares / 5; /* levels of a sigma; the noise has 1 */
}

#endif
