/* sieve.h: finds the few places whose harmonic sum may exceed the threshold (private).
 *
 * Transforms give the power at every place, but only one byte is kept for each cell, a few
 * consecutive half bins: an upper bound of their powers.  Sums of these bounds are
 * upper bounds of the harmonic sums.  Where such a bound exceeds the threshold, the harmonic sum is
 * computed again from powers by their definition (response.h).  So no candidate is lost, no power
 * depends on block lengths or rounding of the transforms, and the bounds take a sixteenth of the
 * memory of the powers.
 *
 * Cells of the highest harmonic are searched in bands of frequency.  If all bounds fit into memory
 * there is one band; otherwise the bounds at every fraction k / numharm of a band's frequencies are
 * computed anew for each band. */
#ifndef PSR_SEARCH_MATCHED_CPU_SIEVE_H
#define PSR_SEARCH_MATCHED_CPU_SIEVE_H

#include "search/matched/response/response.h"
#include <stddef.h>
#include <stdint.h>

/* --- powers as bytes, and sums of them --------------------------------------------------------- */

/* A code stands for a power of at most 2^(e - 6) (1 + m / 8), e the upper five bits and m the lower
 * three; 0 for 2^-6 at most.  So the sum of these limits is an upper bound of the sum of powers, about 6 %
 * above it.  A larger code means a larger power. */

enum { SIEVE_LANES = 16, SIEVE_SPAN = 8 * SIEVE_LANES };

/* The largest bound is none for larger powers. */
#define SIEVE_MOST 0x1.ep25f

/* Where cell C of the highest harmonic finds harmonic h of H: in cells floor(C h/H) and the next.
 * For groups of SIEVE_LANES cells of the highest harmonic, even and odd ones. */
struct psr_sieve_map {
    int h, log; /* H = 2^log */
    uint8_t offset[2][SIEVE_LANES];
};

struct psr_sieve_loops {
    /* code[i] stands for scale power[i] + shift, i < n, a multiple of SIEVE_LANES. */
    void (*encode)(uint8_t *code, const float *power, size_t n, float scale, float shift);

    /* bound[i] = what code[i] stands for, i < SIEVE_LANES ngroup. */
    void (*decode)(float *bound, const uint8_t *code, size_t ngroup);

    /* Adds to bound of groups first .. first + ngroup - 1 of the highest harmonic the larger of the
     * two codes that the map leads to; code[0] is that of cell origin.  SIEVE_LANES cells beyond the
     * last may be read. */
    void (*add)(float *bound, const uint8_t *code, int64_t origin, const struct psr_sieve_map *map,
                int64_t first, size_t ngroup);

    /* Where the first span, of those from bound[from] on, begins that has a bound above cut; n, a multiple
     * of SIEVE_SPAN: none. */
    size_t (*find)(const float *bound, size_t from, size_t n, float cut);
};

const struct psr_sieve_loops *psr_sieve_loops_choose(void);

/* --- harmonic sums of the half bins of a cell, by their definition ----------------------------- */

enum { PSR_MOST_CELL = 4 };

/* Half bins in a cell.  Sums of more harmonics of noise are nearer to the cut, and larger cells raise
 * their bounds further. */
static inline int psr_cell_size(int numharm)
{
    return numharm <= 8 ? PSR_MOST_CELL : 32 / numharm;
}

/* Bins around a cell and its harmonics. */
struct psr_cell_sums {
    const struct psr_accel_search *s;
    const struct psr_template_bank *bank;
    const struct psr_accel_normalise *norm;
    int cell;
    int64_t i;                                            /* first half bin of the cell; -1: none */
    int reach[PSR_ACCELSEARCH_MAX_HARM + 1];              /* by k, of fraction k / numharm */
    struct psr_direct near[PSR_ACCELSEARCH_MAX_HARM + 1]; /* by k */
    bool loaded[PSR_ACCELSEARCH_MAX_HARM + 1];            /* around this cell */
};

/* Status: PSR_ENOMEM; psr_cell_sums_clear frees what there is, also then */
PSR_MUST_CHECK psr_status psr_cell_sums_create(struct psr_cell_sums *c,
                                               const struct psr_accel_search *s,
                                               const struct psr_template_bank *bank, psr_err *err);
void psr_cell_sums_clear(struct psr_cell_sums *c);

/* Moves to the cell of half bins i .. of a spectrum. */
void psr_cell_sums_move(struct psr_cell_sums *c, const struct psr_accel_normalise *norm, int64_t i);

/* Adds to sum the powers of harmonic h of H = 2^log of drift j and jerk l.  A sum of harmonics is in
 * the order of stages and of h, odd ones only but for H = 1. */
void psr_cell_sums_add(struct psr_cell_sums *c, float sum[PSR_MOST_CELL], int j, int l, int h,
                       int log);

/* Takes the best half bin of the cell that the search has, if it is better than best: of more power,
 * or of the same and lower l, j and i. */
void psr_cell_sums_keep(const struct psr_cell_sums *c, const float sum[PSR_MOST_CELL], int j, int l,
                        int stage, struct psr_accel_hit *best);

/* Bounds of contiguous blocks, of the templates that a fraction needs. */
struct psr_sieve_strip {
    int jmax, lmax, reach;
    int64_t block, origin; /* the first block and cell */
    size_t nblock, pitch, room;
    uint8_t *code; /* [(2 lmax + 1)(2 jmax + 1)][pitch] */
};

struct psr_sieve {
    const struct psr_accel_search *s;
    const struct psr_correlator *c;
    const struct psr_template_bank *bank;
    const struct psr_accel_normalise *norm;
    const struct psr_sieve_loops *loops;
    int cell;        /* half bins */
    int64_t band;    /* cells in a band, a multiple of SIEVE_SPAN */
    bool whole;      /* one strip for all fractions, that of numharm */
    size_t together; /* blocks that a thread takes at once */
    struct psr_sieve_strip strip[PSR_ACCELSEARCH_MAX_HARM + 1]; /* by k */
    double bytes;
};

struct psr_progress;

/* --- what sieve.c needs of sieve_scan.c --------------------------------------------------------- */

/* Searches count cells of the highest harmonic from first on, whose strips are filled. */
PSR_MUST_CHECK psr_status psr_sieve_scan(const struct psr_sieve *v, int64_t first, int64_t count,
                                         struct psr_accel_hits *hits, struct psr_progress *work,
                                         psr_err *err);

/* Bytes that a thread takes for it. */
double psr_sieve_scan_bytes(const struct psr_sieve *v);

/* The strip with the bounds of harmonic h of H = 2^log. */
static inline const struct psr_sieve_strip *psr_sieve_strip_of(const struct psr_sieve *v, int h,
                                                               int log)
{
    const int numharm = v->s->numharm;
    return &v->strip[v->whole ? numharm : h * (numharm >> log)];
}

#endif
