/* output_lists.h: lists of a group that become one file (private). */
#ifndef PSR_BASE_OUTPUT_OUTPUT_LISTS_H
#define PSR_BASE_OUTPUT_OUTPUT_LISTS_H

#include <psrkit/experimental/outfile.h>

/* Initialise with zeros. */
struct psr_output_lists {
    char *name;         /* of the tar file; NULL: lists are files of their own */
    psr_outfile **list; /* [n] of room for [room], in memory */
    size_t n, room;
};

/* Creates a list.
 * Returned: *file, owned by l */
PSR_MUST_CHECK psr_status psr_output_lists_add(struct psr_output_lists *l, const char *name,
                                               psr_outfile **file, psr_err *err);

/* Adds a list that is held; l owns it even if the status is PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_output_lists_take(struct psr_output_lists *l, psr_outfile *file,
                                                psr_err *err);

/* Writes a tar file, in the order of names: first their places (psrkit-formats(5)), then all lists that are not empty. */
PSR_MUST_CHECK psr_status psr_output_lists_write(struct psr_output_lists *l, psr_outfile *to,
                                                 psr_err *err);

void psr_output_lists_clear(struct psr_output_lists *l);

#endif
