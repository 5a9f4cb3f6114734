/* beams_shape.h: random and chosen skies of several beams, for tests of psr_dedisp_beams. */
#ifndef PSR_TEST_BEAMS_SHAPE_H
#define PSR_TEST_BEAMS_SHAPE_H

#include "dedisp_shape.h"

enum { MAXBEAM = 3 };

struct sky {
    struct shape s; /* of beam 0 */
    double *x[MAXBEAM];
    unsigned char *data[MAXBEAM];
    struct psr_dedisp_beams_desc d;
    size_t downsamp[MAXDM];
    uint64_t taken[MAXBEAM];
};

/* --- shapes
 * -----------------------------------------------------------------------------------
 */

/* Sub-bands whose channels differ in width, as correlators with several zooms
 * make them. */
static void set_widths(struct shape *s, uint64_t *seed)
{
    double mhz = 300 + tap_uniform(seed) * 200, width = 0.1 + tap_uniform(seed);
    for (size_t c = 0; c < s->d.nchan; c++) {
        if (tap_uniform(seed) < 0.1)
            width *= tap_uniform(seed) < 0.3 ? 0.5 : 2;
        s->freq_mhz[c] = mhz + width / 2;
        mhz += width;
    }
}

/* Trials of any DM may sum any of a few numbers. */
static void give_sums(struct sky *k, uint64_t *seed)
{
    size_t n[3] = {(size_t)tap_between(seed, 1, 3)};
    n[1] = n[0] * (size_t)tap_between(seed, 1, 5);
    n[2] = n[1] * (size_t)tap_between(seed, 2, 4);
    for (size_t i = 0; i < k->d.ndm; i++)
        k->downsamp[i] = n[tap_between(seed, 0, 2)];
    k->d.downsamp = k->downsamp;
}

__attribute__((unused)) static void choose_sky(struct sky *k, uint64_t *seed)
{
    static const double scrunch[] = {0, 0.1, 0.5, 1, 3};
    memset(k, 0, sizeof *k);
    do {
        drop(&k->s);
        choose(&k->s, true, seed);
        k->s.d.late = false; /* beams are, by themselves */
    } while (k->s.d.kind == PSR_FLOAT || k->s.d.nbit > 16 || k->s.d.downsamp > 1);
    struct psr_dedisp_desc *s = &k->s.d;
    if (tap_uniform(seed) < 0.5)
        set_widths(&k->s, seed);
    if (tap_uniform(seed) < 0.3) /* smearing within channels of many samples */
        for (size_t i = 0; i < s->ndm; i++)
            k->s.dm[i] *= 1 + tap_uniform(seed) * 5;
    k->d = (struct psr_dedisp_beams_desc){
        .size = sizeof k->d,
        .nbeam = (size_t)tap_between(seed, 1, MAXBEAM),
        .nchan = s->nchan,
        .freq_mhz = s->freq_mhz,
        .tsamp_s = s->tsamp_s,
        .nbit = s->nbit,
        .kind = s->kind,
        .dmconst = s->dmconst,
        .ndm = s->ndm,
        .dm = s->dm,
        .keep = s->keep,
        .smear = s->smear,
        .scrunch = scrunch[tap_between(seed, 0, 4)],
        .block = (size_t)tap_between(seed, 1, 300),
        .nhalve = (size_t)tap_between(seed, 0, PSR_DEDISP_BEAMS_MAXHALVE),
        .nthread = s->nthread,
        .aligned = tap_uniform(seed) < 0.3,
    };
    if (tap_uniform(seed) < 0.3)
        give_sums(k, seed);
    for (size_t b = 0; b < k->d.nbeam; b++) {
        if (b)
            fill(&k->s, k->s.nsamp, seed, false);
        k->x[b] = k->s.x;
        k->data[b] = k->s.data;
        k->s.x = NULL;
        k->s.data = NULL;
    }
}

/* Beams in turns, blocks of any length, until each has "limit" spectra; taken counts them.
 * Returned: whether there is a next block: *n spectra of *beam, from *was on */
__attribute__((unused)) static bool next_block(struct sky *k, size_t limit, uint64_t *seed,
                                               size_t *beam, uint64_t *was, size_t *n)
{
    size_t open = 0;
    for (size_t b = 0; b < k->d.nbeam; b++)
        open += k->taken[b] < limit;
    while (open) {
        *beam = (size_t)tap_between(seed, 0, (int64_t)k->d.nbeam - 1);
        *was = k->taken[*beam];
        *n = tap_uniform(seed) < 0.5 ? k->d.block
                                     : (size_t)tap_between(seed, 0, (int64_t)k->d.block);
        const size_t left = limit - (size_t)*was;
        *n = *n < left ? *n : left;
        k->taken[*beam] += *n;
        if (left)
            return true;
    }
    return false;
}

__attribute__((unused)) static void drop_sky(struct sky *k)
{
    for (size_t b = 0; b < MAXBEAM; b++) {
        free(k->x[b]);
        free(k->data[b]);
    }
    drop(&k->s);
}

__attribute__((unused)) static struct psr_dedisp_beams_desc chosen(struct shape *s, size_t nchan,
                                                                   size_t ndm, double step)
{
    set_band(s, nchan, ndm, step);
    return (struct psr_dedisp_beams_desc){
        .size = sizeof(struct psr_dedisp_beams_desc),
        .nbeam = 2,
        .nchan = nchan,
        .freq_mhz = s->freq_mhz,
        .tsamp_s = s->d.tsamp_s,
        .nbit = 8,
        .kind = PSR_UINT,
        .dmconst = s->d.dmconst,
        .ndm = ndm,
        .dm = s->dm,
        .scrunch = 0.5,
        .block = 100,
        .nthread = 2,
    };
}

#endif
