/* multi_file.h: checks and orders in time the files of one observation (private).
 *
 * Files are opened one after the other for checking and again for reading, so that thousands of
 * them need one descriptor. */
#ifndef PSR_FORMATS_MULTI_FILE_H
#define PSR_FORMATS_MULTI_FILE_H

#include "formats/spectra/spectra_reader.h"

typedef psr_status psr_reader_open(struct psr_reader **out, const char *path,
                                   const struct psr_source_desc *desc, psr_err *err);

/* Opens an input with open, and reads it ahead by desc->drop_s.  What is dropped is a gap; how much it was is noted each
 * 10 s in which it grew, and at the end.
 * Status: those of open; PSR_EINVAL naming drop_s; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_drop_reader_open(struct psr_reader **out, const char *path,
                                               const struct psr_source_desc *desc,
                                               psr_reader_open *open, psr_err *err);

struct psr_format;

struct psr_part {
    char *path;
    const struct psr_format *format;
    struct psr_obs obs;
    int file_nbit, file_nif;
    struct psr_pol_choice pols;
    int64_t start; /* stream index of its first spectrum; 0 for the first part */
};

struct psr_multi_file {
    struct psr_part *part; /* [n] ascending start */
    size_t n;
    bool may_gap;                /* there may be gaps between or within the files */
    bool counts_gaps;            /* the reader tells of them itself: there may be many */
    struct psr_source_desc desc; /* as given, without paths; its notes are passed through here */
    struct psr_notes notes;      /* the caller's */
    struct psr_inf *inf;         /* of sub-band files, which are one part; else NULL */
    bool quiet;                  /* suppresses notes when a file is opened again */
    struct psr_reader *sole;     /* open reader of a single file, until it is requested */
};

/* Fills *parts, which must not move.  Close it even on error.
 * Status: as psr_source_open */
PSR_MUST_CHECK psr_status psr_multi_file_open(struct psr_multi_file *parts,
                                              const struct psr_source_desc *desc, psr_err *err);

/* Opens part i from its first spectrum; the caller closes the reader. */
PSR_MUST_CHECK psr_status psr_multi_file_reader(struct psr_multi_file *parts, size_t i,
                                                struct psr_reader **out, psr_err *err);

/* Frees the memory owned by *parts; a cleared one is allowed. */
void psr_multi_file_close(struct psr_multi_file *parts);

#endif
