/* voltages.h: state of a stream of voltage files, shared by its opening and reading code (private).
 */
#ifndef PSR_FORMATS_VOLTAGES_VOLTAGES_H
#define PSR_FORMATS_VOLTAGES_VOLTAGES_H

#include <psrkit/experimental/dada.h>

struct voltages_part {
    const char *path;
    struct psr_dada h;
    int64_t gap;   /* missing bytes before it */
    int64_t bytes; /* bytes of whole samples, at least one; 0 for a stream */
};

/* A descriptor with a use count. */
struct voltages_file {
    int fd;
    int users;
};

struct psr_voltages {
    struct voltages_part *part; /* [npart] in the order of time */
    size_t npart;
    int nthread;
    size_t sample_bytes;
    size_t now;                 /* open part */
    struct voltages_file *file; /* of it; NULL where none is */
    bool stream;                /* the only part, which cannot seek */
    int64_t owed;               /* bytes of the gap before it still to be returned */
    int64_t done;               /* bytes of data taken from it */
    char *name;                 /* copies of the paths, one after the other */
    struct psr_notes notes;
};

/* Opens part i, at its start. */
PSR_MUST_CHECK psr_status psr_voltages_open_part(struct psr_voltages *v, size_t i, psr_err *err);

/* Releases a use; NULL is allowed. */
void psr_voltages_drop(struct voltages_file *f);

/* Notes on bytes that do not form a whole sample. */
void psr_voltages_note_cut(const struct psr_voltages *v, const char *name, int64_t bytes,
                           int64_t sample);

#endif
