/* presto_plane.h: powers as accelsearch computes them, block by block (private).
 *
 * A block of the highest harmonic, and each block at a fraction h/H of its frequencies that is summed
 * with it, has its own bins, normalised separately. */
#ifndef PSR_COMPAT_PRESTO_PRESTO_PLANE_H
#define PSR_COMPAT_PRESTO_PRESTO_PLANE_H

#include "search/matched/response/accel_search.h"
#include "search/matched/response/template_bank.h"

/* How accelsearch cuts a search into blocks. */
struct psr_presto_layout {
    int fftlen;  /* half bins that a block of the highest harmonic is made of */
    int uselen;  /* half bins that it gives */
    int64_t rlo; /* the first bin; blocks follow each other */
    int64_t nblock;
    int64_t highest; /* bin */
    bool inmem;      /* one plane for all harmonics */
};

/* jerk: -wmax was given, with any value; inmem: -inmem was given. */
void psr_presto_layout_make(struct psr_presto_layout *y, const struct psr_accel_search *s,
                            bool jerk, bool inmem);

/* Responses of fraction h/H, H = 2^log. */
struct psr_presto_fraction {
    int h, log, jmax, lmax;
    int half;    /* bins that the widest response reaches */
    int fftlen;  /* half bins that a block is made of */
    size_t most; /* bins that it gives at most */
    struct psr_correlator *correlator;
    struct psr_template_bank *bank;
};

/* Status: PSR_ENOMEM.  psr_presto_fraction_clear in any case. */
PSR_MUST_CHECK psr_status psr_presto_fraction_make(struct psr_presto_fraction *f,
                                                   const struct psr_accel_search *s,
                                                   const struct psr_presto_layout *y, int h,
                                                   int log, psr_err *err);
void psr_presto_fraction_clear(struct psr_presto_fraction *f);
double psr_presto_fraction_bytes(const struct psr_presto_fraction *f);

/* A thread's block. */
struct psr_presto_block {
    struct psr_split bin; /* [room] normalised */
    float *power;         /* [room], and as much again */
    float *transform;     /* of each part of a block that correlations take at once */
    float *work, *row;
    size_t room, ntransform;
    int64_t first; /* bin that powers begin with */
    size_t n;      /* bins that they are for */
};

/* Room for all fractions [n].
 * Status: PSR_ENOMEM.  psr_presto_block_clear in any case. */
PSR_MUST_CHECK psr_status psr_presto_block_make(struct psr_presto_block *b,
                                                const struct psr_presto_fraction *f, size_t n,
                                                psr_err *err);
void psr_presto_block_clear(struct psr_presto_block *b);
double psr_presto_block_bytes(const struct psr_presto_fraction *f, size_t n);

/* Takes the bins that n bins from first on need, x being the spectrum [s->nbin][2]. */
void psr_presto_block_take(struct psr_presto_block *b, const struct psr_accel_search *s,
                           const struct psr_presto_fraction *f,
                           const struct psr_accelsearch_input *in, int64_t first, size_t n);

/* Powers of drift j and jerk l of the fraction at those bins: row [2 n]. */
void psr_presto_block_row(struct psr_presto_block *b, const struct psr_presto_fraction *f, int j,
                          int l, float *row);

#endif
