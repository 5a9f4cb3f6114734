/* simplex.h: the minimum of a function of few variables (private). */
#ifndef PSR_STATS_SIMPLEX_H
#define PSR_STATS_SIMPLEX_H

enum { PSR_SIMPLEX_MOST = 3 };

struct psr_simplex {
    double (*value)(void *ctx, const double *x); /* finite */
    void *ctx;
    int n; /* variables */
};

/* Nelder and Mead's (1965) descent, from x and n points step away from it in one variable each, to
 * where the corners are tol from their middle (rms) or after 5000 moves.
 * Returned: the value; x [n], where it is */
double psr_simplex_descend(const struct psr_simplex *f, double *x, double step, double tol);

/* Two of Newton's steps to the bottom of a smooth function, from x near it, by differences of reach:
 * where the corners of a simplex come to rest hangs on the last bit of the function, the bottom does
 * not.  x stays where that is not within reach. */
void psr_simplex_polish(const struct psr_simplex *f, double *x, double reach);

#endif
