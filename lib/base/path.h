/* path.h: names of files (private). */
#ifndef PSR_BASE_PATH_H
#define PSR_BASE_PATH_H

/* path with its suffix replaced, or with one added where it has none: the .inf of a .dat, the
 * .stats of a .mask.
 * Given:    suffix   with its dot
 * Returned: malloc'd, caller frees; NULL where there is no memory */
char *psr_path_beside(const char *path, const char *suffix);

/* What messages call an input: its path, and "standard input" for "-". */
const char *psr_path_called(const char *path);

#endif
