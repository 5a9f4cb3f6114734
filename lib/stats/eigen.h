/* eigen.h: eigenvalues of small symmetric matrices (private). */
#ifndef PSR_STATS_EIGEN_H
#define PSR_STATS_EIGEN_H

#include <stddef.h>

/* Diagonalises a symmetric matrix by cyclic Jacobi rotations (Golub and Van Loan, section 8.5).
 * Given:    a [n][n]   destroyed
 * Returned: value [n], largest first; vector [n][n]: vector[k] has length 1 and belongs to value[k]
 * Notes:    the same bits wherever doubles are IEEE and products are not fused */
void psr_eigen_symmetric(double *a, size_t n, double *value, double *vector);

#endif
