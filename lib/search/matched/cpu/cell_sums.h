/* cell_sums.h: harmonic sums of the half bins of a cell, by their definition (private). */
#ifndef PSR_SEARCH_MATCHED_CPU_CELL_SUMS_H
#define PSR_SEARCH_MATCHED_CPU_CELL_SUMS_H

#include "search/matched/response/response.h"

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

/* Bytes that it takes. */
double psr_cell_sums_bytes(const struct psr_accel_search *s);

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

#endif
