/* multi_file.h: the files of one observation, in the order of time, checked to match (private).
 *
 * Files are looked at one after the other and opened again when their turn comes, so that thousands
 * of them need one descriptor. */
#ifndef PSR_FORMATS_MULTI_FILE_H
#define PSR_FORMATS_MULTI_FILE_H

#include "reader.h"

struct psr_format;

struct psr_part {
    char *path;
    const struct psr_format *format;
    struct psr_obs obs;
    int file_nbit, file_nif;
    int64_t start; /* stream index of its first spectrum, the first part's being 0 */
};

struct psr_multi_file {
    struct psr_part *part; /* [n] ascending start */
    size_t n;
    bool may_gap;                /* spectra may be missing between or inside the files */
    struct psr_source_desc desc; /* as given, without paths, its notes coming through here */
    struct psr_notes notes;      /* the caller's */
    struct psr_inf *inf;         /* of files of sub-bands, which are one part; else NULL */
    bool quiet;                  /* a file that is opened again repeats no remark */
    struct psr_reader *sole;     /* the open reader of an only file, until it is asked for */
};

/* Fills *parts, which must stay where it is.  On error too it is to be closed.
 * Status: as psr_source_open. */
PSR_MUST_CHECK psr_status psr_multi_file_open(struct psr_multi_file *parts,
                                              const struct psr_source_desc *desc, psr_err *err);

/* Opens part i from its first spectrum; the caller closes the reader. */
PSR_MUST_CHECK psr_status psr_multi_file_reader(struct psr_multi_file *parts, size_t i,
                                                struct psr_reader **out, psr_err *err);

/* Frees what *parts owns; a cleared one is fine. */
void psr_multi_file_close(struct psr_multi_file *parts);

#endif
