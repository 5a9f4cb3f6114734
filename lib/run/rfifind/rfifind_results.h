/* rfifind_results.h: the files of a search for interference: read, made into a mask, written
 * (private). */
#ifndef PSR_RUN_RFIFIND_RFIFIND_RESULTS_H
#define PSR_RUN_RFIFIND_RFIFIND_RESULTS_H

#include "compat/presto/dedisp_presto.h"
#include <psrkit/experimental/clean.h>

#include <limits.h>

/* Files, in the order in which they appear; the mask says that the others are there. */
enum psr_rfi_file {
    PSR_RFI_FILE_RFI,
    PSR_RFI_FILE_BYTEMASK,
    PSR_RFI_FILE_STATS,
    PSR_RFI_FILE_MOMENTS,
    PSR_RFI_FILE_ZAPLIST,
    PSR_RFI_FILE_BIRDS,
    PSR_RFI_FILE_INF,
    PSR_RFI_FILE_MASK,
    PSR_RFI_NFILE
};

/* An interval is read while another is measured where both take at most such a part of the memory limit. */
enum { PSR_RFI_READ_AHEAD_PART = 8 };

struct psr_rfi_reader {
    psr_source *source; /* borrowed */
    size_t nsamp;       /* spectra per interval */
    void *
        spectra[2]; /* [nsamp] of the interval that was taken, and of the next one; the second NULL:
                           intervals are not read ahead */
    int next;       /* which is the next one's */
    bool filled;    /* it was read: n spectra, with this status */
    size_t n;
    psr_status status;
    psr_err err;
    double seconds; /* spent reading */
};

/* Of a run. */
struct psr_rfi_state {
    const struct psr_rfi_run_desc *d;
    struct psr_source_desc source_desc; /* copies of those that d points to */
    struct psr_rfi_rules rules;
    struct psr_rfi_run_report *r;
    char stem[PATH_MAX], name[PSR_RFI_NFILE][PATH_MAX];
    psr_source *source;
    const struct psr_obs *obs; /* as its channels are understood */
    struct psr_presto_view view;
    bool reverse; /* the first channel of the data is the highest */
    size_t block, ptsperint;
    struct psr_mask old;
    unsigned char *keep;
    psr_rfifind *plan;
    struct psr_rfi_reader reader;
    struct psr_inf inf;
};

const char *psr_rfi_suffix(int file);
bool psr_rfi_is_written(const struct psr_rfi_state *u, int file);

/* The mask that was given, if one was.
 * Status: those of psr_mask_read */
PSR_MUST_CHECK psr_status psr_rfi_read_old_mask(struct psr_rfi_state *u, psr_err *err);

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_rfi_allocate_flags(struct psr_rfi_run_report *r, psr_err *err);

/* Of an earlier run.
 * Status: PSR_EFORMAT if files do not match; those of the readers */
PSR_MUST_CHECK psr_status psr_rfi_read_results(struct psr_rfi_state *u, psr_err *err);

/* Status: those of psr_rfi_mask */
PSR_MUST_CHECK psr_status psr_rfi_make_mask(struct psr_rfi_state *u, psr_err *err);

/* Commits the group or aborts it.
 * Status: those of psr_output_group_commit */
PSR_MUST_CHECK psr_status psr_rfi_write_results(struct psr_rfi_state *u, psr_output_group *group,
                                                psr_err *err);

#endif
