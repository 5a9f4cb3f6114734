/* folder.h: the names in a folder. */
#ifndef PSR_TOOLS_FOLDER_H
#define PSR_TOOLS_FOLDER_H

#include "base/tool.h"

/* Adds all names in a folder, in their order, to an empty list.
 * Status: PSR_EIO (no such folder, or it cannot be read), PSR_ENOMEM */
PSR_MUST_CHECK psr_status folder_list(struct psr_names *names, const char *folder, psr_err *err);

#endif
