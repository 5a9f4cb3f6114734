/* path.h: names of files (private). */
#ifndef PSR_BASE_PATH_H
#define PSR_BASE_PATH_H

#include <psrkit/text.h>

/* What messages call an input: its path, and "standard input" for "-". */
const char *psr_path_called(const char *path);

#endif
