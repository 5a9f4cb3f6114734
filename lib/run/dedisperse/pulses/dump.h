/* dump.h: holds the last spectra of an endless input, and writes those around pulses to files (private).
 *
 * A ring holds the spectra as they came.  A thread of its own writes files from it, beginning with what the
 * ring holds and going on as spectra come, so that the caller never waits for a disk: where the disk is
 * slower than the ring turns, the file is given up. */
#ifndef PSR_RUN_DEDISPERSE_PULSES_DUMP_H
#define PSR_RUN_DEDISPERSE_PULSES_DUMP_H

#include <psrkit/pipeline.h>

typedef struct psr_dump psr_dump;

struct psr_dump_desc {
    const struct psr_obs *obs; /* of the spectra; borrowed */
    size_t row_bytes;          /* of a spectrum */
    double ring_s;
    const char *folder;     /* borrowed */
    int64_t mem_bytes;      /* limit of the ring; 0: a quarter of the machine's */
    bool waits;             /* the input can wait: psr_dump_push does, for the disk */
    struct psr_notes notes; /* called by the thread, too */
};

/* Status: PSR_EINVAL naming ring_s, PSR_EUNSUPPORTED where SIGPROC has no such samples, PSR_EIO for the
 *         folder, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_dump_create(psr_dump **out, const struct psr_dump_desc *desc,
                                          psr_err *err);

/* Takes the next spectra, [n][row_bytes]. */
void psr_dump_push(psr_dump *d, const void *spectra, size_t n);

/* Keeps spectra, counted from the first; some may have yet to come, those before the first there never were.
 * Given:    at, dm   of the pulse, for the name
 * Returned: name   of the file in the folder, which will be there once it is complete; one that is being
 *           written if it holds the first of the spectra and can go on to the last within the length of the
 *           ring; "" if nothing is kept */
void psr_dump_keep(psr_dump *d, struct psr_span spectra, struct psr_mjd at, double dm,
                   char name[PSR_DUMP_NAME]);

/* Spectra that the ring holds. */
int64_t psr_dump_capacity(const psr_dump *d);

/* No spectra follow: completes the files with what there is. */
void psr_dump_finish(psr_dump *d);

struct psr_dump_counts psr_dump_count(psr_dump *d);

/* Frees it; NULL is allowed.  Without finish, files in progress are removed. */
void psr_dump_destroy(psr_dump *d);

#endif
