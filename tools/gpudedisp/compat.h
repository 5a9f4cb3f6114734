/* compat.h: -compat presto, between its setup and its loop. */
#ifndef PSR_TOOLS_GPUDEDISP_COMPAT_H
#define PSR_TOOLS_GPUDEDISP_COMPAT_H

#include "gpudedisp.h"

struct gpudedisp_compat {
    struct gpudedisp_job *job;
    bool alone;         /* its files are a set of their own, not those of a line of a plan */
    struct psr_obs obs; /* as PRESTO takes it; borrows from the source's */
    struct psr_compat_desc desc;
    unsigned char *keep; /* [nchan] from the lowest frequency */
    bool reverse;        /* the source's first channel is taken for the highest */
    psr_compat *plan;
    void *in;               /* [block][nchan] packed */
    float *out;             /* [nseries][piece] */
    size_t nseries;         /* trials or sub-bands */
    double mean;            /* of the samples of the first trial, without bins that were added */
    int64_t nmean;          /* of how many */
    struct subbands *bands; /* with -sub, and then there are no series */
};

/* Fills k, whose job is set; on error the job's err tells, and what is there can be released. */
PSR_MUST_CHECK psr_status gpudedisp_compat_prepare(struct gpudedisp_compat *k);

#endif
