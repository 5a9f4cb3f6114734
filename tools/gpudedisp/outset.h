/* outset.h: files that take their names together, or not at all. */
#ifndef PSR_TOOLS_OUTSET_H
#define PSR_TOOLS_OUTSET_H

#include <psrkit/outfile.h>

struct outset_file {
    psr_outfile *out; /* NULL once it has its name */
    char *name;
};

/* Empty where it is all zeros. */
struct outset {
    struct outset_file *file; /* [n] in the order they were created; of room for [room] */
    size_t n, room;
};

/* Starts the next file.
 * Returned: *out, the set's
 * Status:   those of psr_outfile_create */
PSR_MUST_CHECK psr_status outset_create(struct outset *set, const char *name, psr_outfile **out,
                                        psr_err *err);

/* Brings all bytes to the system: what may still fail then is naming.  Status: of this and of the
 * next, those of psr_outfile_commit. */
PSR_MUST_CHECK psr_status outset_settle(struct outset *set, psr_err *err);

/* Settles and names all; the set is empty then, whatever the status.
 * Notes:  a file that the last one vouches for must not be another run's, so what bears the last
 *         one's name is removed first.  On error the files that were named are removed. */
PSR_MUST_CHECK psr_status outset_commit(struct outset *set, psr_err *err);

/* Removes what was not named. */
void outset_abort(struct outset *set);

#endif
