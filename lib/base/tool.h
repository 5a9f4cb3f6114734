/* tool.h: what command-line tools need: numbers, text files, names and a second thread. */
#ifndef PSR_BASE_TOOL_H
#define PSR_BASE_TOOL_H

#include <psrkit/status.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- numbers ---------------------------------------------------------------------------------- */

/* Given:    what   the name of the number, for the message
 *           text   must be a number from its first to its last character
 *           min, max   inclusive limits
 * Returned: *value, unchanged on error
 * Status:   PSR_EINVAL with "WHAT: 'TEXT' is not a number" (or "a whole number"), "... is below
 *           MIN" or "... is above MAX"
 * Notes:    0x begins a hexadecimal integer; a leading 0 is decimal (octal in PRESTO).  NaN and
 *           infinity are rejected.  The decimal point is '.' in every locale. */
PSR_MUST_CHECK psr_status psr_parse_int(const char *what, const char *text, int64_t min,
                                        int64_t max, int64_t *value, psr_err *err);
PSR_MUST_CHECK psr_status psr_parse_double(const char *what, const char *text, double min,
                                           double max, double *value, psr_err *err);

/* As psr_parse_int for a size in bytes: a number, possibly with a fraction, and an optional suffix
 * K M G T (powers of 1024, either case, optionally followed by B or iB); 1 byte to 4 EiB. */
PSR_MUST_CHECK psr_status psr_parse_size(const char *what, const char *text, int64_t *bytes,
                                         psr_err *err);

enum { PSR_SIZE_TEXT = 32 };

/* Writes a number of bytes as 512 B, 67.9 KiB or 3 GiB, rounded up to three digits.
 * Returned: text */
const char *psr_size_text(char text[PSR_SIZE_TEXT], double bytes);

/* --- lines of text ---------------------------------------------------------------------------- */

/* Size limit of a table of numbers or a list of names. */
enum { PSR_TABLE_MAX_BYTES = 1 << 26 };

struct psr_text_lines {
    FILE *file;
    const char *name;  /* for messages; borrowed */
    int64_t most, got; /* bytes allowed, and read so far */
    long number;       /* number of the last line read, from 1 */
};

/* Opens path; "-" is standard input.
 * Given:  most   bytes allowed
 * Status: PSR_EIO.  On error there is nothing to close. */
PSR_MUST_CHECK psr_status psr_text_lines_open(struct psr_text_lines *l, const char *path,
                                              int64_t most, psr_err *err);

/* Reads the next line, including its line end.
 * Given:    line   [room]
 * Returned: *exists, false at the end of the file
 * Status:   PSR_EIO; PSR_EFORMAT "NAME: line N: ..." for a line that does not fit into room - 1
 *           bytes or contains a NUL byte, and for a file longer than allowed, so that reading
 *           always ends */
PSR_MUST_CHECK psr_status psr_text_lines_next(struct psr_text_lines *l, char *line, size_t room,
                                              bool *exists, psr_err *err);

void psr_text_lines_close(struct psr_text_lines *l);

/* --- lists in one file ------------------------------------------------------------------------ */

/* Whether the name is that of ROOT.lists: a tar file of lists, whose names begin with ROOT_. */
bool psr_is_lists(const char *path);

/* Opens a file to read or, where there is none of this name, the member of a ROOT.lists in its folder,
 * as a copy in memory.
 * Returned: NULL with errno */
FILE *psr_open_file(const char *path);

/* Adds the names of all members, as of files in its folder, in the order of the file.
 * Status: PSR_EIO; PSR_EFORMAT for what is no tar file, or is cut short; PSR_ENOMEM */
struct psr_names;
PSR_MUST_CHECK psr_status psr_lists_names(struct psr_names *names, const char *path, psr_err *err);

/* --- arrays ------------------------------------------------------------------------------------ */

/* Gives an array n elements; reserve: at least n, if it has fewer.
 * Given:    as psr_grow
 * Returned: *array, unchanged on error; *room, its capacity then
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_resize(void *array, size_t n, size_t size, const char *what,
                                     psr_err *err);
PSR_MUST_CHECK psr_status psr_reserve(void *array, size_t *room, size_t n, size_t size,
                                      const char *what, psr_err *err);

/* Makes room for element n of an array that grows by one element at a time.
 * Given:    array   address of its pointer, of any type: malloc'd, or NULL
 *           room   capacity in elements, at least n
 *           size   of an element, bytes
 *           what   the array holds, for the message
 * Returned: *array and *room, enlarged if necessary; unchanged on error
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_grow(void *array, size_t *room, size_t n, size_t size,
                                   const char *what, psr_err *err);

/* --- numbers and names ------------------------------------------------------------------------ */

/* A list of names, usually of files; zero-initialise for an empty list. */
struct psr_names {
    char **name; /* [n] with capacity [room]; owned */
    size_t n, room;
};

/* Adds a copy of a name.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_names_add(struct psr_names *names, const char *name, psr_err *err);

/* Adds names from a file, one per line, without surrounding blanks; empty lines and '#' comments
 * are skipped.
 * Status: as psr_text_lines_next, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_names_read(struct psr_names *names, const char *path, psr_err *err);

/* Puts them into the order of strcmp. */
void psr_names_sort(struct psr_names *names);

/* The name of a sorted list that equals one; NULL: there is none. */
const char *psr_names_find(const struct psr_names *names, const char *name);

void psr_names_clear(struct psr_names *names);

/* Lists the devices that a command line names, each as psr_device_choose takes it: of "all" every GPU, of "0,1" both
 * numbers, else text itself.
 * Returned: *words, to be cleared also after an error
 * Status:   PSR_EDEVICE for "all" without a GPU; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_device_words(struct psr_names *words, const char *text, psr_err *err);

/* Replaces the suffix of path, or adds one if it has none: the .inf of a .dat, the .stats of a
 * .mask.
 * Given:    suffix   with its dot
 * Returned: malloc'd, caller frees; NULL if out of memory */
char *psr_path_beside(const char *path, const char *suffix);

bool psr_path_ends(const char *path, const char *suffix);

/* --- characters ------------------------------------------------------------------------------- */

/* Length in bytes of the first character of text, which ends with a NUL byte; 0 if there is none.
 * Overlong forms, surrogates, and U+FFFE and similar non-characters are invalid, since XML and JSON
 * readers reject them. */
size_t psr_utf8_length(const char *text);

/* Replaces control characters and bytes that are no UTF-8 by '?': names of files and texts of headers
 * must not reach a terminal, a list or a message otherwise. */
void psr_make_printable(char *text);

/* --- JSON ------------------------------------------------------------------------------------- */

/* Writes JSON piece by piece, with the commas and the quotes.  The caller fills put and ctx, and
 * leaves the rest zero; set after_value to continue an array that another writer began. */
struct psr_json {
    void (*put)(void *ctx, const char *bytes, size_t n);
    void *ctx;
    bool after_value, on_new_line;
    int indent;
};

enum psr_json_kind { PSR_JSON_OBJECT, PSR_JSON_ARRAY };

/* Values follow each other on one line unless this comes between them.
 * Given: indent   blanks at the start of the new line */
void psr_json_new_line(struct psr_json *j, int indent);

/* Begins and ends an object or an array.
 * Given: name   of a member of an object, here and below; NULL in arrays and outside */
void psr_json_begin(struct psr_json *j, const char *name, enum psr_json_kind kind);
void psr_json_end(struct psr_json *j, enum psr_json_kind kind);

void psr_json_string(struct psr_json *j, const char *name, const char *text);
void psr_json_int(struct psr_json *j, const char *name, int64_t value);

/* Ten digits, so that 0.1 + 0.2 reads 0.3; null if value is infinite or not a number. */
void psr_json_double(struct psr_json *j, const char *name, double value);

/* A number, or null, that the caller has converted: digits [n]. */
void psr_json_digits(struct psr_json *j, const char *name, const char *digits, size_t n);

/* --- a second thread -------------------------------------------------------------------------- */

/* A lock with a condition that notifies all waiting threads of a change. */
struct psr_monitor {
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Status: PSR_ENOMEM.  On error there is nothing to destroy. */
PSR_MUST_CHECK psr_status psr_monitor_init(struct psr_monitor *m, psr_err *err);
void psr_monitor_destroy(struct psr_monitor *m);

/* The threads of each of n that work side by side: what is asked for (0: all) for a single one, else an equal share. */
int psr_share_threads(int asked, size_t n);

/* Initialise with zeros.  The thread, and the threads that it shares loops with, are kept from one
 * task to the next. */
struct psr_async_task {
    psr_status (*work)(void *ctx, psr_err *err);
    void *ctx;
    bool threaded;     /* has a thread of its own */
    bool busy, ending; /* state shared by the two threads, under the lock */
    pthread_t thread;
    struct psr_monitor monitor;
    psr_status status;
    psr_err err;
};

/* Starts work(ctx); runs it directly if no thread can be created.  Only one task runs at a time:
 * wait for it first. */
void psr_async_task_start(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                          void *ctx);

/* The same, but does nothing without a thread.
 * Returned: true if there is one */
bool psr_async_task_try(struct psr_async_task *a, psr_status (*work)(void *ctx, psr_err *err),
                        void *ctx);

/* Waits until the task is complete.
 * Returned: its status, and *err (may be NULL) on error; PSR_OK if nothing was started */
PSR_MUST_CHECK psr_status psr_async_task_wait(struct psr_async_task *a, psr_err *err);

/* Waits, and ends the thread; an all-zero object is allowed.  Tasks may be started again
 * afterwards. */
void psr_async_task_end(struct psr_async_task *a);

/* --- a ring of blocks that are read ahead ----------------------------------------------------- */

/* Blocks are numbered from 0; block i is in slot i % nslot.  The producer waits for free slots and
 * may fill several at a time; the consumer takes blocks in order and releases them. */
enum { PSR_RING_SLOTS = 4 }; /* maximum */

struct psr_read_ring {
    struct psr_monitor *monitor; /* borrowed; notified of every change */
    size_t nslot;
    size_t n[PSR_RING_SLOTS]; /* contents of a full block; 0: not full yet */
    size_t next, freed;       /* next block to consume; blocks below freed are released */
    bool stopped, ended;      /* producer must stop; producer has ended */
};

void psr_read_ring_init(struct psr_read_ring *r, struct psr_monitor *monitor, size_t nslot);

/* True if block i has a free slot; call with the monitor held. */
bool psr_read_ring_has_room(const struct psr_read_ring *r, size_t i);

/* Waits for that.
 * Returned: false if the ring has been stopped */
bool psr_read_ring_await_room(struct psr_read_ring *r, size_t i);

/* Marks block i full with contents n, 1 or more. */
void psr_read_ring_fill(struct psr_read_ring *r, size_t i, size_t n);

/* Ends the input; begin restarts it. */
void psr_read_ring_end(struct psr_read_ring *r);
void psr_read_ring_begin(struct psr_read_ring *r);

/* Waits for block next and advances next.
 * Given:    should_stop   polled while waiting; NULL: never
 * Returned: contents of the block; 0 if the input ended before it, or should_stop returned true */
size_t psr_read_ring_next(struct psr_read_ring *r, bool (*should_stop)(void *ctx), void *ctx);

/* Releases the blocks before i. */
void psr_read_ring_free(struct psr_read_ring *r, size_t i);

/* Stops the producer. */
void psr_read_ring_stop(struct psr_read_ring *r);

/* --- orders for qsort and bsearch ------------------------------------------------------------- */

/* Defines an order of elements of a type: PSR_COMPARE(by_place, struct place, PSR_THEN(PSR_RISING(row), PSR_FALLING(snr)));
 * equal by the first, elements are compared by the second. */
#define PSR_COMPARE(name, type, order)                                                             \
    static int name(const void *pa, const void *pb)                                                \
    {                                                                                              \
        const type *a = pa, *b = pb;                                                               \
        return order;                                                                              \
    }                                                                                              \
    static int name(const void *, const void *)
/* The same of pointers to elements. */
#define PSR_COMPARE_POINTERS(name, type, order)                                                    \
    static int name(const void *pa, const void *pb)                                                \
    {                                                                                              \
        const type *a = *(const type *const *)pa, *b = *(const type *const *)pb;                   \
        return order;                                                                              \
    }                                                                                              \
    static int name(const void *, const void *)
#define PSR_RISING(member)      ((a->member > b->member) - (a->member < b->member))
#define PSR_FALLING(member)     ((a->member < b->member) - (a->member > b->member))
#define PSR_THEN(first, second) ((first) ? (first) : (second))

/* The same of numbers of a type, rising. */
#define PSR_COMPARE_VALUES(name, type) PSR_COMPARE(name, type, (*a > *b) - (*a < *b))

#endif
