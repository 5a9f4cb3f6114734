/* edit_state.h: state of a run from observations to an observation, for its files (private). */
#ifndef PSR_RUN_EDIT_EDIT_STATE_H
#define PSR_RUN_EDIT_EDIT_STATE_H

#include "base/base.h"
#include "formats/hdf5/fbh5.h"
#include "run/common/stage_clean.h"
#include <psrkit/experimental/filterbank.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/obs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- copies ranges of channels of packed spectra, in either order, and shifts channels in time --- */

struct psr_edit_channels {
    size_t nchan_in, first, nchan; /* of nchan_in, nchan from first on; both fill whole bytes */
    int nbit;
    bool reverse;
};

/* Copies bits without change, in one thread: memory is slower.
 * Given:    in [nsamp][nchan_in], packed
 * Returned: out [nsamp][nchan], packed; not in */
void psr_edit_channels_copy(const struct psr_edit_channels *c, uint8_t *out, const uint8_t *in,
                            size_t nsamp);

typedef struct psr_edit_shift psr_edit_shift;

/* Given:  obs   channels, nbit and tsamp_s of the spectra
 *         dm   pc cm^-3; delays are those to the highest channel, to the nearest spectrum
 * Status: PSR_EINVAL for a delay of 2^31 spectra or more, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_edit_shift_create(psr_edit_shift **out, const struct psr_obs *obs,
                                                double dm, psr_err *err);

/* The largest delay: so many spectra fewer come out. */
int64_t psr_edit_shift_max(const psr_edit_shift *s);

/* Takes the next spectra.
 * Given:    in [n][nchan], packed
 * Returned: *rows [*nrow], packed, valid until the next call: spectrum t holds, of each channel, the sample its delay
 *           after t
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_shift_run(psr_edit_shift *s, const uint8_t *in, size_t n,
                                             const uint8_t **rows, size_t *nrow, psr_err *err);

void psr_edit_shift_destroy(psr_edit_shift *s); /* NULL is allowed */

/* Makes the two pictures of a burst that classifiers read.
 *
 * Spectra come once, in order, and are not kept.  A bin of time is "step" samples, half the width of the burst; the one in
 * the middle begins at the burst, at the highest frequency.  Each channel is summed within bins that are shifted by its delay:
 * for 256 DMs from 0 to twice that of the burst, and at the DM itself. */

typedef struct psr_edit_cutout psr_edit_cutout;

struct psr_edit_cutout_desc {
    const struct psr_edit_burst *burst;
    const struct psr_source_desc *source;
    const struct psr_obs *input,
        *obs; /* the whole input, and the spectra that come: floats; borrowed */
    int64_t tsum, fsum;
    int64_t first; /* spectrum of obs that comes first, from the start of the input */
    int nthread;
};

/* Finds the spectra of the input that are needed, as far as it has them.
 * Given:    obs   the input
 * Returned: *start, *count; multiples of tsum
 * Status:   PSR_EINVAL for a burst outside of it, PSR_EUNSUPPORTED for an input of unknown length */
PSR_MUST_CHECK psr_status psr_edit_cutout_range(const struct psr_edit_burst *b,
                                                const struct psr_obs *obs, int64_t tsum,
                                                int64_t *start, int64_t *count, psr_err *err);

PSR_MUST_CHECK psr_status psr_edit_cutout_create(psr_edit_cutout **out,
                                                 const struct psr_edit_cutout_desc *desc,
                                                 psr_err *err);

/* Adds spectra.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_cutout_add(psr_edit_cutout *c, const float *row, size_t nrow,
                                              psr_err *err);

/* Writes the file; samples beyond the ends of the input count as the mean of their channel.
 * Status: those of psr_cutout_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_cutout_write(psr_edit_cutout *c, psr_outfile *f, psr_err *err);

void psr_edit_cutout_destroy(psr_edit_cutout *c); /* NULL is allowed */

/* --- writes spectra in any format ------------------------------------------------------------- */

/* Initialise with zeros. */
struct psr_edit_output {
    enum psr_edit_format format; /* not PSR_EDIT_BY_NAME */
    psr_outfile *file;
    bool grouped; /* then the file is the group's */
    psr_psrfits *fits;
    psr_fbh5 *hdf5;
    psr_edit_cutout *cutout; /* of PSR_EDIT_YOUR, made by the caller */
    size_t row_bytes;
};

/* Sums spectra and channels, and changes the type of samples.
 *
 * Sums of integers are exact.  What is written is, by the first rule that applies:
 *   sums     if every possible one fits the bits that are asked for (whole numbers below 2^24 and
 *            all floats fit floats)
 *   means    of integers, rounded to the nearest, halves up, if they fit
 *   levels   each channel's mean and standard deviation, of the first spectra, become those of psr_edit_values_levels */

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

struct psr_edit {
    struct psr_edit_desc d;
    struct psr_edit_burst burst; /* of a cut-out */
    psr_source *source;
    const char *input;
    struct psr_obs in, out; /* the input from its first spectrum on, and what is written */
    int64_t start, count;   /* spectra of the input; count -1: to its end */
    int64_t discard;        /* spectra to read and forget: of an input that cannot seek */
    struct psr_obs cut;     /* the input from the start of the range on */
    psr_fake *signals;      /* that are added; NULL: none */
    size_t nsignal;
    psr_stage_clean *clean; /* NULL: not cleaned */
    int nbit;               /* after cleaning */
    enum psr_kind kind;
    struct psr_edit_channels channels;
    psr_edit_shift *shift;   /* NULL: channels are not shifted */
    size_t block;            /* spectra at a time */
    uint8_t *read;           /* [block] as they are read */
    uint8_t *selected;       /* [block] of the channels that are written; NULL: all, as they are */
    psr_edit_values *values; /* NULL: samples stay as they are */
    struct psr_edit_output output;
    bool scaled; /* the output knows what levels stand for */
    int nthread;
    int64_t nread, nwritten;
    double read_s, edit_s, write_s;
};

/* --- what is read and written (edit_layout.c) ------------------------------------------------- */

/* Finds start and count.
 * Status: PSR_EINVAL for a range that is empty, or beyond the end of an input of known length */
PSR_MUST_CHECK psr_status psr_edit_find_range(psr_edit *p, psr_err *err);

/* Applies them to in.
 * Status: PSR_EINVAL, PSR_EUNSUPPORTED */
PSR_MUST_CHECK psr_status psr_edit_correct(psr_edit *p, psr_err *err);

/* --- cleaning (edit_layout.c) ----------------------------------------------------------------- */

/* Cleans the block that was read; *n = 0 ends the input.
 * Returned: *rows [*n], perhaps more or fewer */
PSR_MUST_CHECK psr_status psr_edit_clean_run(psr_edit *p, const uint8_t **rows, size_t *n,
                                             psr_err *err);

/* Finds channels, values and out from in, start and count.
 * Status: PSR_EINVAL, PSR_EUNSUPPORTED, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_edit_lay_out(psr_edit *p, psr_err *err);

/* --- adds rows of packed samples to sums, and makes rows of sums ------------------------------ */

/* Channels [first, first + n) of the sums, of fsum of the row each; first is a multiple of 64. */
struct psr_edit_slice {
    size_t first, n, fsum;
};

#endif
