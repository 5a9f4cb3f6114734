/* source_made.h: files of known samples, and what a source should make of them. */
#ifndef PSR_TESTS_SOURCE_MADE_H
#define PSR_TESTS_SOURCE_MADE_H

#include <psrkit/experimental/source.h>

#include "fil.h"
#include "scratch.h"

enum { MAX_FILE = 8 };

/* Where file i of a test lies; the text is valid until the same i is asked for again. */
__attribute__((unused)) static const char *file_path(int i)
{
    static char path[MAX_FILE][PATH_MAX];
    snprintf(path[i], sizeof path[i], "%s/%d.fil", scratch_dir, i);
    return path[i];
}

static struct heard heard;

__attribute__((unused)) static struct psr_source_desc describe(const char *const *path,
                                                               size_t npath)
{
    heard = (struct heard){.count = 0};
    return (struct psr_source_desc){.size = sizeof(struct psr_source_desc),
                                    .path = path,
                                    .npath = npath,
                                    .if_choice = -1,
                                    .notes = {.note = hear, .ctx = &heard}};
}

/* Sample c of a packed row, read apart from the code under test. */
__attribute__((unused)) static double sample_at(const uint8_t *row, size_t c, int nbit,
                                                enum psr_kind kind)
{
    uint32_t bits = 0;
    float real;
    for (int k = 0; k < nbit; k++) {
        size_t bit = c * (size_t)nbit + (size_t)k;
        bits |= (uint32_t)(row[bit / 8] >> bit % 8 & 1) << k;
    }
    memcpy(&real, &bits, sizeof real);
    if (kind == PSR_FLOAT)
        return (double)real;
    bool negative = kind == PSR_INT && bits >> (nbit - 1) & 1;
    return negative ? (double)bits - ldexp(1, nbit) : (double)bits;
}

/* A file's samples as numbers, and the bytes that hold them. */
struct made {
    struct fil_desc desc;
    int64_t nsamp;
    double *x; /* [nsamp][nif][nchan] */
    struct fil file;
};

__attribute__((unused)) static void make_samples(uint64_t *random, struct made *m)
{
    size_t n = (size_t)m->nsamp * (size_t)m->desc.nif * (size_t)m->desc.nchan;
    int nbit = m->desc.nbit;
    int64_t least = m->desc.is_signed ? -(INT64_C(1) << (nbit - 1)) : 0;
    uint8_t byte = 0;
    m->x = malloc(n * sizeof *m->x);
    if (!m->x)
        abort();
    for (size_t i = 0; i < n; i++) {
        int64_t v = tap_between(random, least, least + (INT64_C(1) << (nbit < 32 ? nbit : 20)) - 1);
        float real = (float)v / 16;
        m->x[i] = nbit == 32 ? (double)real : (double)v;
        if (nbit == 32) {
            fil_bytes(&m->file, &real, 4);
        } else if (nbit >= 8) {
            fil_bytes(&m->file, &v, (size_t)nbit / 8);
        } else {
            byte = (uint8_t)(byte | (unsigned)v << i * (size_t)nbit % 8);
            if ((i + 1) * (size_t)nbit % 8 == 0) {
                fil_bytes(&m->file, &byte, 1);
                byte = 0;
            }
        }
    }
}

__attribute__((unused)) static void make_file(uint64_t *random, struct made *m)
{
    fil_begin(&m->file, &m->desc);
    fil_text(&m->file, "HEADER_END");
    make_samples(random, m);
}

__attribute__((unused)) static void free_made(struct made *m)
{
    free(m->x);
    free(m->file.b);
    *m = (struct made){.nsamp = 0};
}

__attribute__((unused)) static void make_random(uint64_t *random, struct made *m)
{
    static const int nbits[] = {1, 2, 4, 8, 16, 32};
    *m = (struct made){.nsamp = tap_between(random, 1, 300)};
    m->desc = (struct fil_desc){.nchan = 8 * (int)tap_between(random, 1, 9),
                                .nif = (int)tap_between(random, 1, 4),
                                .nbit = nbits[tap_between(random, 0, 5)],
                                .fch1 = 1400,
                                .foff = tap_between(random, 0, 1) ? 0.5 : -0.5,
                                .tstart = 55000.25,
                                .tsamp = 1e-3};
    if (m->desc.nbit == 8 || m->desc.nbit == 16)
        m->desc.is_signed = (int)tap_between(random, 0, 1);
    make_file(random, m);
}

/* What a source should make of spectrum t, channel c. */
__attribute__((unused)) static double expect(const struct made *m, const struct psr_source_desc *d,
                                             int64_t t, size_t c)
{
    size_t nchan = (size_t)m->desc.nchan, nif = (size_t)m->desc.nif;
    const double *spectrum = m->x + (size_t)t * nif * nchan;
    if (d->invert)
        c = nchan - 1 - c;
    if (d->if_choice >= 0)
        return spectrum[(size_t)d->if_choice * nchan + c];
    double sum = 0;
    const size_t nsum = nif < 2 || d->pols == PSR_POLS_STOKES ? 1 : 2;
    for (size_t p = 0; p < nsum; p++)
        sum += spectrum[p * nchan + c];
    return sum;
}

/* Everything a source gives, read in blocks of random lengths; *nread spectra. */
__attribute__((unused)) static uint8_t *read_all(uint64_t *random, psr_source *s, int64_t most,
                                                 int64_t *nread, psr_status *st, psr_err *err)
{
    size_t row = psr_source_block_bytes(s, 1), n = 1;
    uint8_t *all = malloc((size_t)(most + 600) * row);
    if (!all)
        abort();
    *nread = 0;
    *st = PSR_OK;
    while (!*st && n > 0 && *nread <= most) {
        size_t ask = (size_t)tap_between(random, 1, tap_between(random, 0, 1) ? 7 : 500);
        *st = psr_source_read(s, ask, all + (size_t)*nread * row, &n, err);
        if (n > ask)
            abort();
        *nread += (int64_t)n;
    }
    return all;
}

__attribute__((unused)) static bool agrees(const struct made *m, const struct psr_source_desc *d,
                                           const struct psr_obs *obs, const uint8_t *all,
                                           int64_t nread)
{
    size_t row = (obs->nchan * (size_t)obs->nbit + 7) / 8;
    bool same = nread == m->nsamp - d->skip;
    for (int64_t t = 0; same && t < nread; t++)
        for (size_t c = 0; c < obs->nchan; c++)
            same &= sample_at(all + (size_t)t * row, c, obs->nbit, obs->kind) ==
                    expect(m, d, t + d->skip, c);
    return same;
}

__attribute__((unused)) static void choose_randomly(uint64_t *random, const struct made *m,
                                                    struct psr_source_desc *d)
{
    d->if_choice = (int)tap_between(random, -1, m->desc.nif - 1);
    d->pols = tap_between(random, 0, 1) ? PSR_POLS_STOKES : PSR_POLS_COHERENCE;
    d->invert = tap_between(random, 0, 1);
    d->skip = tap_between(random, 0, 1) ? tap_between(random, 0, m->nsamp - 1) : 0;
}

__attribute__((unused)) static psr_status open_only(const struct psr_source_desc *d, psr_err *err)
{
    psr_source *s = NULL;
    *err = (psr_err){.code = PSR_OK};
    psr_status st = psr_source_open(&s, d, err);
    if (st && s)
        return PSR_OK; /* *out must be NULL on error */
    psr_source_close(s);
    return st;
}

__attribute__((unused)) static void refuse(const struct psr_source_desc *d, psr_status want,
                                           const char *words)
{
    psr_err err;
    psr_status st = open_only(d, &err);
    if (!ok(st == want && strstr(err.msg, words), "refused: %s", words))
        diag("said: %d %s", (int)st, err.msg);
}

__attribute__((unused)) static int count_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

#endif
