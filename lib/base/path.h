/* path.h: file names (private). */
#ifndef PSR_BASE_PATH_H
#define PSR_BASE_PATH_H

#include <psrkit/tool.h>

/* Name of an input in messages: its path, or "standard input" for "-". */
const char *psr_path_called(const char *path);

#endif
