/* edit_values.h: sums spectra and channels, and changes the type of samples (private).
 *
 * Sums of integers are exact.  What is written is, by the first rule that applies:
 *   sums     if every possible one fits the bits that are asked for (whole numbers below 2^24 and
 *            all floats fit floats)
 *   means    of integers, rounded to the nearest, halves up, if they fit
 *   levels   each channel's mean and standard deviation, of the first spectra, become those of psr_edit_values_levels */
#ifndef PSR_RUN_EDIT_EDIT_VALUES_H
#define PSR_RUN_EDIT_EDIT_VALUES_H

#include <psrkit/experimental/filterbank.h>
#include <psrkit/obs.h>

typedef struct psr_edit_values psr_edit_values;

struct psr_edit_values_desc {
    size_t nchan; /* of the input; what fills no sum at the end is dropped */
    int nbit;     /* of the input, like kind */
    enum psr_kind kind;
    int like_nbit; /* floats that were such integers, and are rounded to them again; 0: not */
    enum psr_kind like_kind;
    int64_t tsum, fsum; /* spectra and channels that are summed */
    int64_t
        nbits; /* of the output: 1, 2, 4, 8, 16, 32 (floats); 0: as the input, or floats where SIGPROC
                           has no such type */
    int nthread;
};

/* Status: PSR_EINVAL, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_edit_values_create(psr_edit_values **out,
                                                 const struct psr_edit_values_desc *desc,
                                                 psr_err *err);

/* How samples are written, and their type. */
enum psr_edit_rule psr_edit_values_rule(const psr_edit_values *v);
int psr_edit_values_nbit(const psr_edit_values *v);
enum psr_kind psr_edit_values_kind(const psr_edit_values *v);

/* What a channel's mean and scatter become. */
void psr_edit_values_levels(const psr_edit_values *v, double *mean, double *scatter);

/* Takes the next spectra.  The last also give what is held to measure levels on.
 * Given:    in [n][nchan], packed
 * Returned: *rows [*nrow], packed, valid until the next call
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_values_run(psr_edit_values *v, const uint8_t *in, size_t n,
                                              bool last, const uint8_t **rows, size_t *nrow,
                                              psr_err *err);

/* What levels stand for, level scale + offset: [nchan] each, of the library, once there are rows; NULL for others. */
const float *psr_edit_values_scale(const psr_edit_values *v);
const float *psr_edit_values_offset(const psr_edit_values *v);

/* Spectra that fill no sum so far. */
int64_t psr_edit_values_left(const psr_edit_values *v);

void psr_edit_values_destroy(psr_edit_values *v); /* NULL is allowed */

#endif
