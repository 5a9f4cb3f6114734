/* dedispersion.h: the ways from spectra to the series of a plan's lines, behind one table (private).
 */
#ifndef PSR_PIPELINE_DEDISPERSION_H
#define PSR_PIPELINE_DEDISPERSION_H

#include "trials.h"

#include <psrkit/block.h>
#include <psrkit/dedisp.h>
#include <psrkit/inf.h>
#include <psrkit/mask.h>

struct psr_dedispersion_desc {
    const char *input;                   /* its name, for messages */
    const struct psr_trial_list *trials; /* borrowed */
    const struct psr_obs *obs;           /* of the input; borrowed */
    const struct psr_inf *inf;           /* of files of sub-bands, or NULL; borrowed */
    const unsigned char *keep;           /* [nchan] */
    double voverc;                       /* mean speed of the observatory away from the source */
    double dmconst;                      /* MHz^2 s */
    bool two_steps;                      /* by sub-bands, of lines that have them */
    int tol;
    bool any_length;    /* a trial may end before it has begun, if only another does not */
    const char *device; /* as psr_pipeline_desc */
    int64_t ncpus;      /* 0: all */
    int64_t mem_bytes;  /* for all, cleaning included; 0: a quarter of the machine */

    /* How spectra come, and what has been taken of the memory for that. */
    int nbit;
    enum psr_kind kind;
    size_t read_bytes;      /* of a spectrum as it is read */
    size_t cleaned_bytes;   /* of a spectrum beside that, where it is not cleaned in place */
    const psr_clean *clean; /* NULL: spectra come as they were read */

    /* What prepsubband does itself. */
    const struct psr_mask *mask; /* NULL: none */
    double clip_sigma;           /* 0: no clipping */
    bool zerodm, invert;
    bool subbands; /* give sub-bands and no series */
};

struct psr_dedispersion_ops {
    /* Before there is anything: the samples that the longest sweep of a line draws on after its own,
     * and the backend that would do the work on such a device.  NULL: 0, and "cpu". */
    psr_status (*maxshift)(const struct psr_dedispersion_desc *d, size_t line, size_t *maxshift,
                           psr_err *err);
    const char *(*backend)(const char *device);

    /* Whatever the status, the state is to be destroyed.  Status: PSR_EINVAL, PSR_ENOMEM, PSR_EDEVICE. */
    psr_status (*create)(void **state, const struct psr_dedispersion_desc *d, psr_err *err);

    /* Spectra of a block that suit it; all but the last have as many. */
    size_t (*block)(const void *state);

    /* Series of a line; and the most samples of each that a push of nsamp spectra gives. */
    size_t (*nseries)(const void *state, size_t line);
    size_t (*most)(const void *state, size_t line, size_t nsamp);

    /* Samples that are barycentred together, as in resample.h. */
    size_t (*presto_block)(const void *state, size_t line);

    /* Status: PSR_EINVAL where nsamp spectra ever complete no sample of some trial of the line, or of
     * any where that is enough. */
    psr_status (*check_length)(const void *state, size_t line, int64_t nsamp, psr_err *err);

    /* Takes spectra, which stay as they are until the lines have been run. */
    psr_status (*push)(void *state, const struct psr_block *block, psr_err *err);

    /* The samples of a line that the last push has completed: *n of each series in x. */
    psr_status (*run)(void *state, size_t line, float *x, size_t stride, size_t *n, psr_err *err);

    /* As psr_dedisp_multi_execute_device; NULL where series never lie on devices. */
    psr_status (*run_device)(void *state, size_t line, struct psr_block *series, size_t *left,
                             psr_err *err);

    /* The plan of a line; NULL where there is none. */
    const psr_dedisp *(*plan)(const void *state, size_t line);

    void (*destroy)(void *state); /* NULL is fine */
};

/* psrkit's own series; sub-bands at one DM; and prepsubband's series or sub-bands. */
extern const struct psr_dedispersion_ops psr_dedispersion_direct, psr_dedispersion_subbands,
    psr_dedispersion_presto;

#endif
