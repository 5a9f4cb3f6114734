/* output_lists.h: tar files: of the lists of a group, and of what a run has completed (private). */
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

/* --- what a run has completed, for the next one after it was killed --- */

/* A tar file, ROOT.searched, to which each completed part adds its lists and then a member STEM.searched, by one
 * write: "KEY TEXT", where KEY is a digest of all that the lists depend on.  What a killed run has written in part
 * is cut off.  A run that ends well removes it.  A run without a record, as where another has it or the disk is
 * full, only cannot be gone on with. */

enum { PSR_RECORD_TEXT = 160 };
#define PSR_RECORD ".searched"

/* A part that was completed. */
struct psr_record_entry {
    uint64_t key;
    int64_t first, end; /* bytes of its lists in the file */
    char text[PSR_RECORD_TEXT];
};

/* Initialise with zeros. */
struct psr_output_record {
    char *path; /* NULL: there is no record */
    int fd;
    struct psr_record_entry *entry; /* [n] of room for [room] */
    size_t n, room;
};

/* Opens what an earlier run has left, or an empty record.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_record_open(struct psr_output_record *r, const char *path,
                                                 psr_err *err);

/* Returned: NULL if there is none */
const struct psr_record_entry *psr_output_record_find(const struct psr_output_record *r,
                                                      uint64_t key);

/* Reads the list of this name, without its folder, into to.
 * Returned: *exists
 * Status:   PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_record_read(const struct psr_output_record *r,
                                                 const struct psr_record_entry *e, const char *name,
                                                 bool *exists, psr_outfile **to, psr_err *err);

/* Adds a part.
 * Given:  list [n]   that were held
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_record_add(struct psr_output_record *r, uint64_t key,
                                                const char *stem, const char *text,
                                                psr_outfile *const *list, size_t n, psr_err *err);

/* Closes it.
 * Given: keep   false: it is removed, as is one without any part */
void psr_output_record_close(struct psr_output_record *r, bool keep);

#endif
