/* dedispersion.h: the methods that convert spectra to series of a plan's lines, as a table of
 * operations (private). */
#ifndef PSR_RUN_DEDISPERSE_LINES_DEDISPERSION_H
#define PSR_RUN_DEDISPERSE_LINES_DEDISPERSION_H

#include "trials.h"

#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/dedisp.h>
#include <psrkit/experimental/sink.h>
#include <psrkit/series.h>

struct psr_dedispersion_desc {
    const char *input;                   /* its name, for messages */
    const struct psr_trial_list *trials; /* borrowed */
    const struct psr_obs *obs;           /* of the input; borrowed */
    const struct psr_inf *inf;           /* of sub-band files, or NULL; borrowed */
    const unsigned char *keep;           /* [nchan] */
    double voverc;                       /* mean velocity of the observatory away from the
                                            source, over c */
    double dmconst;                      /* MHz^2 s */
    bool two_steps;                      /* use sub-bands for lines that have them */
    bool tree;                           /* use the tree algorithm, */
    double smear;                        /* with this tolerance */
    int tol;
    bool late;          /* as in psr_dedisp_desc */
    bool any_length;    /* a trial may have no samples if another has some */
    const char *device; /* as psr_pipeline_desc */
    int64_t nthread;    /* 0: all */
    int64_t mem_bytes;  /* for everything, cleaning included; 0: a quarter of the machine's */

    /* Format of the spectra, and the memory they already use. */
    struct psr_shared_beams *shared; /* plan of many beams; NULL: none, for other methods */
    size_t beam;                     /* of it */
    size_t most_block;               /* spectra of a block at most; 0: as many as are fast */
    int nbit;
    enum psr_kind kind;
    size_t read_bytes;      /* bytes of a spectrum as read */
    size_t cleaned_bytes;   /* additional bytes of a cleaned spectrum, if it is not cleaned in
                               place */
    const psr_clean *clean; /* NULL: spectra are not cleaned, or automatically */
    size_t clean_block;     /* spectra that cleaning takes at a time; 0: there is none */
    int64_t clean_bytes;    /* its memory */
    bool equalise;          /* series are kept a second time, equalised */

    /* Used only to reproduce prepsubband. */
    const struct psr_mask *mask; /* NULL: none */
    double clip_sigma;           /* 0: no clipping */
    bool zerodm, invert;
    bool subbands; /* output sub-bands instead of series */
};

struct psr_dedispersion_ops {
    /* Called before create: the number of samples that the largest delay of a line needs, and the
     * backend that would be used for this device.  NULL: 0, and "cpu". */
    psr_status (*maxshift)(const struct psr_dedispersion_desc *d, size_t line, size_t *maxshift,
                           psr_err *err);
    const char *(*backend)(const char *device);

    /* The state must be destroyed even on error.
     * Status: PSR_EINVAL, PSR_ENOMEM, PSR_EDEVICE */
    psr_status (*create)(void **state, const struct psr_dedispersion_desc *d, psr_err *err);

    /* Suggested spectra per block; all blocks but the last must have this length. */
    size_t (*block)(const void *state);

    /* Number of series of a line, NULL: its trials; and the largest number of samples of each that a
     * push of nsamp spectra completes, NULL: one more than it sums. */
    size_t (*nseries)(const void *state, size_t line);
    size_t (*most)(const void *state, size_t line, size_t nsamp);

    /* Samples per barycentring block, as in resample.h. */
    size_t (*presto_block)(const void *state, size_t line);

    /* NULL: as the plan of the line says, if it has one.
     * Status: PSR_EUNSUPPORTED if nsamp spectra complete no sample of some trial of the line, or of
     *         all trials if any_length is set */
    psr_status (*check_length)(const void *state, size_t line, int64_t nsamp, psr_err *err);

    /* Takes spectra, which must stay unchanged until all lines have been run. */
    psr_status (*push)(void *state, const struct psr_block *block, psr_err *err);

    /* Returns the samples of a line that the last push completed: *n of each series in x. */
    psr_status (*run)(void *state, size_t line, float *x, size_t stride, size_t *n, psr_err *err);

    /* As psr_dedisp_multi_execute_device; NULL if series are never on devices. */
    psr_status (*run_device)(void *state, size_t line, struct psr_block *series, size_t *left,
                             psr_err *err);

    /* The plan of a line, for shifts and delays; NULL if lines have none.  What psr_dedisp_describe would
     * say of it; NULL: that. */
    const psr_dedisp *(*plan)(const void *state, size_t line);
    void (*describe)(const void *state, size_t line, struct psr_dedisp_info *info);

    void (*destroy)(void *state); /* NULL is allowed */
};

/* psrkit's series; the same by a plan of many beams; sub-bands at one DM; and prepsubband's series or
 * sub-bands. */
extern const struct psr_dedispersion_ops psr_dedispersion_direct, psr_dedispersion_beams,
    psr_dedispersion_subbands, psr_dedispersion_presto;

/* Bytes of a spectrum, as it is read and as it becomes beside that; and of its series, of the line that
 * has the most. */
double psr_dedispersion_spectrum_bytes(const struct psr_dedispersion_desc *d);
double psr_dedispersion_series_bytes(const struct psr_dedispersion_desc *d);

/* Returned: *mem_bytes, what the limit leaves to dedispersion
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dedispersion_share_memory(const struct psr_dedispersion_desc *d,
                                                        int64_t *mem_bytes, psr_err *err);

/* About n spectra: whole blocks of cleaning, and no more than the input has. */
size_t psr_dedispersion_whole_block(const struct psr_dedispersion_desc *d, size_t n);

/* Counts its users. */
typedef struct psr_shared_beams psr_shared_beams;

/* Makes a plan for n beams if they can share one: two or more of them with tree sums of the same channels
 * and trials, of integers of 16 bits at most, on the host or on one device; DMs that rise within lines;
 * lines that sum different numbers of samples, each a multiple of the one before; no parts of the band;
 * and memory for the states of all.
 * Given:    desc [n]
 * Returned: a plan with one user, or NULL.  Beams that cannot share are no error: what is wrong with them,
 *           plans of their own will tell. */
psr_shared_beams *psr_shared_beams_create(const struct psr_dedispersion_desc *desc, size_t n);

/* Adds a user; the last one to leave frees the plan.  NULL is allowed. */
psr_shared_beams *psr_shared_beams_join(psr_shared_beams *s);
void psr_shared_beams_leave(psr_shared_beams *s);

/* Number of beams; and bytes for all of them. */
size_t psr_shared_beams_count(const psr_shared_beams *s);
double psr_shared_beams_bytes(const psr_shared_beams *s);

#endif
