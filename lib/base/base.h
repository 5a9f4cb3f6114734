/* base.h: what all rooms use: memory, names of files, stops, time, descriptions (private). */
#ifndef PSR_BASE_BASE_H
#define PSR_BASE_BASE_H

#include "base/tool.h"
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

/* --- descriptions of other versions of the library -------------------------------------------- */

/* Copies a description whose first field is its size in the caller's version.  Fields that an
 * earlier version lacks become 0; those that only a later version has must be 0.
 * Given:  bytes   of *to
 *         name   of the description, for the message
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_copy_desc(void *to, size_t bytes, const void *from, const char *name,
                                        psr_err *err);

/* Writes a description for a caller whose version of it has "size" bytes: fields that only that version has become 0.
 * Given: all   [bytes] of this version, its size not set */
void psr_give_desc(void *to, size_t size, const void *all, size_t bytes);

/* --- memory ----------------------------------------------------------------------------------- */

/* Returns the requested bytes, or a quarter of the machine's memory if 0. */
static inline int64_t psr_count_memory(int64_t asked)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (asked)
        return asked;
    return pages > 0 && page > 0 ? (int64_t)pages * page / 4 : INT64_C(1) << 30;
}

/* --- arrays of one owner, freed at once ------------------------------------------------------- */

/* Start with {0}.  What is asked for may be checked once, at the end: after a failure all that follows is NULL. */
struct psr_own {
    struct psr_own_array *last;
    double bytes; /* asked for */
    bool failed;
};

/* Returns n zeroed elements of size bytes, or NULL. */
void *psr_own(struct psr_own *own, size_t n, size_t size);

/* PSR_ENOMEM if something asked for is not there. */
PSR_MUST_CHECK psr_status psr_own_check(const struct psr_own *own, const char *what, psr_err *err);

/* Frees all and leaves {0}. */
void psr_own_free(struct psr_own *own);

/* --- names of files --------------------------------------------------------------------------- */

/* The last part of a path, within it. */
const char *psr_path_file(const char *path);

/* Name of an input in messages: its path, or "standard input" for "-". */
const char *psr_path_called(const char *path);

/* Copies of n names, in one piece of memory that the caller frees; NULL without memory. */
char **psr_path_copies(const char *const *path, size_t n);

/* Whether an input is no file by its name alone: standard input, the network, a ring. */
bool psr_path_is_stream(const char *path);

/* Whether it leads to a descriptor that is open, /dev/stdout say, or to a ring; such a file is written as it is,
 * even a regular one: renaming would separate it from the processes that have it open. */
bool psr_path_is_descriptor(const char *path);

/* --- a caller's request to end long work, and what the caller is told of it ------------------- */

/* ask returns true once the caller wants an end; NULL: never.  Any thread may call it.  progress is told how much
 * of total is done, by one thread at a time; NULL: nothing is. */
struct psr_stop {
    bool (*ask)(void *ctx);
    void *ctx;
    void (*progress)(void *ctx, int64_t done, int64_t total);
};

static inline bool psr_is_stopped(const struct psr_stop *stop)
{
    return stop->ask && stop->ask(stop->ctx);
}

struct psr_progress {
    const struct psr_stop *stop;
    int64_t done, total;
};

/* Counts n more of it. */
void psr_progress_add(struct psr_progress *w, int64_t n);

/* --- time ------------------------------------------------------------------------------------- */

/* Returns the time of a monotonic clock in seconds. */
static inline double psr_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds the time since *since_s to *sum_s and moves *since_s to now. */
static inline void psr_charge(double *sum_s, double *since_s)
{
    double now_s = psr_seconds();
    *sum_s += now_s - *since_s;
    *since_s = now_s;
}

/* --- numbers with '.' as decimal point, in every locale --------------------------------------- */

/* As vsnprintf, snprintf and strtod. */
int psr_c_locale_vsnprintf(char *text, size_t room, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
int psr_c_locale_snprintf(char *text, size_t room, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
double psr_c_locale_strtod(const char *text, char **end);

#endif
