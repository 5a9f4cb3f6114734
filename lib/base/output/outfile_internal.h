/* outfile_internal.h: sizes and buffers of output files (private). */
#ifndef PSR_BASE_OUTPUT_OUTFILE_INTERNAL_H
#define PSR_BASE_OUTPUT_OUTFILE_INTERNAL_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/status.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define PSR_PART ".part"
enum { PSR_PART_LETTERS = 6 };

/* psr_outfile_commit performs the first and the last of these steps and psr_outfile_abort, which
 * keeps a file that has been renamed.  For standard output and special files only the first step
 * has an effect. */

/* Writes all buffered bytes and closes the file. */
PSR_MUST_CHECK psr_status psr_outfile_close(psr_outfile *f, psr_err *err);

/* Status: PSR_EIO if the existing file of that name cannot be replaced */
PSR_MUST_CHECK psr_status psr_outfile_check_target(psr_outfile *f, psr_err *err);

/* Removes the file of that name: an older one, or this one. */
PSR_MUST_CHECK psr_status psr_outfile_remove_old(psr_outfile *f, psr_err *err);

/* Renames. */
PSR_MUST_CHECK psr_status psr_outfile_take_name(psr_outfile *f, psr_err *err);

/* The length checks of psr_outfile_check_path.  ROOT is a prefix of names and may be that of a
 * link. */
PSR_MUST_CHECK psr_status psr_outfile_check_length(const char *path, psr_err *err);

/* Checks that a file of this name can be created later in a run: the name and its longer temporary
 * form are short enough, and it is not a symbolic link, unless the link leads to something other
 * than a regular file.  The target of a link may belong to someone else or be expected by others
 * who follow it.
 * Status: PSR_EIO with the lengths, or with the link's target; psr_outfile_create returns the same
 */
PSR_MUST_CHECK psr_status psr_outfile_check_path(const char *path, psr_err *err);

/* Buffers writes shorter than this into writes of up to this length; default 64 KiB.  Has no effect
 * once data have been buffered. */
void psr_outfile_buffer(psr_outfile *f, size_t bytes);

/* As psr_outfile_printf; a failure is reported by status, and by each later call that has one. */
void psr_outfile_put(psr_outfile *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Status: that of the first call that failed */
PSR_MUST_CHECK psr_status psr_outfile_status(psr_outfile *f, psr_err *err);

/* Bytes written so far, including buffered ones. */
int64_t psr_outfile_size(const psr_outfile *f);

/* Truncates the file to size.
 * Status: PSR_EINVAL if size is not in 0..psr_outfile_size(f); PSR_EUNSUPPORTED for standard output
 *         and special files; PSR_EIO */
PSR_MUST_CHECK psr_status psr_outfile_truncate(psr_outfile *f, int64_t size, psr_err *err);

/* Creates a file that stays in memory, and is never renamed: write, printf, park and abort work as for others.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_outfile_hold(psr_outfile **out, const char *name, psr_err *err);

/* Returned: the bytes of such a file, borrowed; *n, their number */
const void *psr_outfile_held(const psr_outfile *f, size_t *n);
const char *psr_outfile_name(const psr_outfile *f);

/* The name under which a library may write the file instead; NULL: it has none, as a pipe. */
const char *psr_outfile_temp(const psr_outfile *f);

/* From now on lists go into one tar file.
 * Given:  name   ends with .lists; NULL: they are files of their own, as before
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_group_pack(psr_output_group *g, const char *name,
                                                psr_err *err);

/* As psr_output_group_add, for a list: in one file with the others, its own of an earlier run is removed. */
PSR_MUST_CHECK psr_status psr_output_group_add_list(psr_output_group *g, const char *name,
                                                    psr_outfile **file, psr_err *err);

/* From now on lists stay in memory until the group is committed, and parts of the run that are complete are recorded
 * in a file, which the next run with this group goes on from.  commit removes it, abort does not.
 * Given:  salt   is added to all keys
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_group_record(psr_output_group *g, const char *path,
                                                  uint64_t salt, psr_err *err);

/* Begins a part of the run, whose lists are those that are added until it ends.
 * Given:  key   of all that they depend on
 *         text   at most PSR_RECORD_TEXT - 1 letters, what recall returns
 * Status: PSR_ENOMEM */
void psr_output_group_begin_part(psr_output_group *g);
PSR_MUST_CHECK psr_status psr_output_group_end_part(psr_output_group *g, uint64_t key,
                                                    const char *stem, const char *text,
                                                    psr_err *err);

/* Returned: the text of a part that an earlier run has recorded; NULL: there is none */
const char *psr_output_group_recall(const psr_output_group *g, uint64_t key);

/* Adds a list of that part if it has one of this name; if not, that of an earlier run is removed.
 * Status: PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_group_recall_list(psr_output_group *g, uint64_t key,
                                                       const char *name, psr_err *err);

/* Records a part that has one file, which is held and is no output; and what an earlier run has recorded so.
 * Given:    key    of all that the file depends on
 *           name   of the file; each has its own
 * Returned: *file  NULL: nothing is recorded; the caller aborts it
 * Status:   PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_output_group_record_file(psr_output_group *g, uint64_t key,
                                                       psr_outfile *file, psr_err *err);
PSR_MUST_CHECK psr_status psr_output_group_recall_file(const psr_output_group *g, uint64_t key,
                                                       const char *name, psr_outfile **file,
                                                       psr_err *err);

/* Whether lists go into one file, where empty ones are none. */
bool psr_output_group_packs(const psr_output_group *g);

/* As psr_output_group_add, for a file that exists already; the group owns it even if the status is
 * PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_output_group_take(psr_output_group *g, psr_outfile *file,
                                                psr_err *err);

/* Marks a file of an earlier run, which this run does not replace, for removal with the others. */
PSR_MUST_CHECK psr_status psr_output_group_drop(psr_output_group *g, const char *name,
                                                psr_err *err);

/* --- tar files: of the lists of a group, and of what a run has completed ---------------------- */

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

/* --- what a run has completed, for the next one after it was killed --------------------------- */

/* A tar file, ROOT.searched, to which each completed part adds its lists and then a member STEM.searched, by one
 * write: "KEY SUM TEXT", where KEY is a digest of all that the lists depend on, and SUM one of KEY, the lists and
 * TEXT.  What a killed run has written in part is cut off; a part that has other bytes than SUM says is not there.
 * A run that ends well removes it.  A run without a record, as where another has it or the disk is
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

/* 64-bit digests (xxHash) to detect changed data; not secure against an adversary. */

#define PSR_DIGEST_START UINT64_C(0)

/* Returns digest updated with n more bytes. */
uint64_t psr_digest_bytes(uint64_t digest, const void *bytes, size_t n);

/* Returns digest updated with a text and its terminator; NULL counts as empty. */
uint64_t psr_digest_text(uint64_t digest, const char *text);

/* Digest of regular files, independent of their order and names: their sizes, beginnings and
 * samples of the rest.  Changes elsewhere are detected by the modification time.  Pipes are
 * ignored.
 * Returned: *digest; *changed, the latest modification time
 * Status:   PSR_EIO */
PSR_MUST_CHECK psr_status psr_digest_files(uint64_t *digest, struct timespec *changed,
                                           const char *const *path, size_t npath, psr_err *err);

#endif
