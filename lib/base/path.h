/* path.h: file names (private). */
#ifndef PSR_BASE_PATH_H
#define PSR_BASE_PATH_H

#include "base/tool.h"

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

#endif
