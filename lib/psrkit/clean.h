/* clean.h: interference out of a stream of spectra, before dedispersion.
 *
 * In this order: zero-DM, clipping, the mask.  Clipping looks at blocks of 2400 spectra counted
 * from the start of the stream, as prepsubband does: the sums of the spectra over all channels,
 * their running mean and scatter over the blocks so far; a spectrum too far off becomes the running
 * mean of each channel.  The mask replaces samples by its padding; of a block that touches two
 * intervals it masks the channels of both.  Zero-DM takes from every channel its share of the
 * spectrum's sum, by the bandpass, and puts the bandpass back; the bandpass is the mask's padding,
 * or the mean of the first block (Eatough, Keane and Lyne 2009, with weights).
 *
 * Of floats, a spectrum with a sample that is no number counts as too far off; zero-DM makes it the
 * bandpass.
 *
 * A plan is a stream: spectra are held back until their block is complete, and what comes out does
 * not depend on how the stream was cut, nor on threads.
 *
 * Replaced values are no integers.  So that integer spectra stay integers, replaced samples come
 * out as 0, and a list of steps says what they stand for; psr_mask_correction adds that to dedispersed
 * series.  Spectra of floats, and all that zero-DM gives or where floats are asked for, come out
 * with the values in place. */
#ifndef PSRKIT_CLEAN_H
#define PSRKIT_CLEAN_H

#include <psrkit/mask.h>

PSR_API_BEGIN

typedef struct psr_clean psr_clean;

enum { PSR_CLEAN_BLOCK = 2400 }; /* spectra */

struct psr_clean_desc {
    size_t nchan;
    int nbit; /* of the input, as kind */
    enum psr_kind kind;
    bool ascending;              /* the first channel is the lowest in frequency */
    double tsamp_s;              /* of the input */
    int64_t first;               /* spectra of the observation before the stream, for the mask */
    double clip_sigma;           /* 0: no clipping */
    bool zerodm;                 /* and then there is no clipping */
    bool floats;                 /* give floats, with the values of replaced samples in place */
    const struct psr_mask *mask; /* with padding; NULL: none; lives as long as the plan */
    const unsigned char *keep;   /* [nchan] 0: a channel that nobody will look at; NULL keeps all;
                                    copied */
    int nthread;                 /* 0: all cores */
};

/* From spectrum t on, samples of channel c that come out as 0 stand for value; value 0 ends that.
 */
struct psr_step {
    int64_t t;
    size_t c;
    float value;
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_clean_create(psr_clean **out, const struct psr_clean_desc *desc,
                                           psr_err *err);

/* How samples come out: as they go in, or PSR_FLOAT of 32 bits after zero-DM or where asked for. */
enum psr_kind psr_clean_kind(const psr_clean *p);
int psr_clean_nbit(const psr_clean *p);

/* Bytes that the plan holds; more only where steps are very many. */
int64_t psr_clean_bytes(const psr_clean *p);

/* The greatest size a value of a step can have. */
double psr_clean_largest(const psr_clean *p);

/* Takes the next spectra and gives those that are done.
 * Given:    in [nsamp][nchan] packed, each spectrum from a byte boundary
 *           out   room for nsamp + PSR_CLEAN_BLOCK - 1 spectra, packed as kind and nbit say; may be
 *                 in itself where samples come out as they go in and every call so far had whole
 *                 blocks
 * Returned: out [*nout][nchan]
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_clean_execute(psr_clean *p, const void *in, size_t nsamp, void *out,
                                            size_t *nout, psr_err *err);

/* Ends the stream and gives the spectra held back, fewer than a block.  They are clipped by the
 * running values of the blocks before.
 * Given:    out   room for PSR_CLEAN_BLOCK - 1 spectra
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_clean_finish(psr_clean *p, void *out, size_t *nout, psr_err *err);

/* Steps of the spectra that the last execute or finish gave; those of one channel in time order.
 * Returned: how many; *step is the plan's and valid until the next call */
size_t psr_clean_steps(const psr_clean *p, const struct psr_step **step);

/* Stretches given so far in which every kept channel is masked, in spectra, ascending.
 * Returned: how many; *span as with psr_clean_steps */
size_t psr_clean_lost(const psr_clean *p, const struct psr_span **span);

/* Spectra clipped so far. */
int64_t psr_clean_clipped(const psr_clean *p);

/* NULL is fine. */
void psr_clean_destroy(psr_clean *p);

PSR_API_END
#endif
