/* beam.h: forms intensity beams of a grid of dishes from a stream of 4-bit voltages.
 *
 *   F[t][f][p](theta, theta') = sum over m, n of W[f][p][mn] E[t][f][p][mn]
 *                                                   exp(2 pi i (m theta / M + n theta' / N)),
 *   J[f][k](theta, theta') = sum over t in k T_ds .. (k + 1) T_ds - 1 and both p of |F|^2,
 *
 * where T_ds is that of channel f and grid positions without a dish contribute zero (Smith 2022 eqs
 * 2, 3, 50, 51).  J in any direction is a weighted sum of its values I at the 2M x 2N half-integer
 * coordinates (eqs 6 to 8), which one zero-padded transform computes.  Any number of beams
 * therefore costs one transform per sample and matrix products at the output rate.
 *
 * A plan processes a stream: each execute takes the next samples and returns the sums that are
 * complete; incomplete sums are kept for the next call.  Not thread-safe: use each plan from one
 * thread. */
#ifndef PSRKIT_BEAM_H
#define PSRKIT_BEAM_H

#include <psrkit/experimental/array.h>
#include <psrkit/experimental/dada.h>

PSR_API_BEGIN

typedef struct psr_beam psr_beam;

enum { PSR_BEAM_NPOL = 2 };

/* Which beams a plan forms, and in which order. */
enum psr_beam_pattern {
    PSR_BEAM_GRID,    /* half-integer grid: beam 2N p + q is at (p/2, q/2), p < 2M, q < 2N */
    PSR_BEAM_POINTS,  /* beam b at (theta_ns[f][b], theta_ew[f][b]) */
    PSR_BEAM_PRODUCT, /* beam n_ew i + j at (theta_ns[f][i], theta_ew[f][j]) */
};

struct psr_beam_desc {
    size_t size;                   /* sizeof the struct */
    const struct psr_array *array; /* copied */
    size_t nfreq;
    const size_t *tds; /* [nfreq] samples per sum, 1 to 2^20, even or odd; copied */
    struct psr_nibbles nibbles;
    const float *weight; /* [nfreq][2][ndish][2] gain of channel, polarisation and dish: real,
                            imaginary; NULL: all 1; copied */
    enum psr_beam_pattern pattern;
    size_t nbeam;           /* POINTS */
    size_t n_ns, n_ew;      /* PRODUCT */
    const double *theta_ns; /* POINTS [nfreq][nbeam], PRODUCT [nfreq][n_ns]; copied */
    const double *theta_ew; /* POINTS [nfreq][nbeam], PRODUCT [nfreq][n_ew]; copied */
    int nthread;            /* 0: all cores */
    int64_t mem_bytes;      /* limit on the plan's memory plus the blocks that psr_beam_block
                               suggests; 0: a quarter of the machine's.  For cuda it limits
                               device memory plus page-locked memory for voltages that are not
                               page-locked yet (the driver rounds up each allocation and uses
                               some memory of its own) */
    const char *backend;    /* "auto" "cpu" "cuda"; NULL is "auto" */
    int device;             /* of the backend */
};

/* Properties of the plan, for reports and tests. */
struct psr_beam_info {
    size_t size; /* sizeof the struct */
    const char
        *backend;  /* static storage; to be passed to psr_beam_free and psr_beam_free_device */
    int64_t bytes; /* allocated by the plan */
};

PSR_API_END
#endif
