/* folder.h: the names in a folder. */
#ifndef PSR_TOOLS_FOLDER_H
#define PSR_TOOLS_FOLDER_H

#include "base/tool.h"

/* Where a search puts what nobody opens: mask, plan, logs and records. */
#define FOLDER_STEPS "steps/"

/* Adds all names in a folder, in their order, to an empty list.
 * Status: PSR_EIO (no such folder, or it cannot be read), PSR_ENOMEM */
PSR_MUST_CHECK psr_status folder_list(struct psr_names *names, const char *folder, psr_err *err);

/* Likewise of the folder of a search: also those in its FOLDER_STEPS, if it has one, after this word. */
PSR_MUST_CHECK psr_status folder_list_search(struct psr_names *names, const char *folder,
                                             psr_err *err);

/* A name of such a list without its folder. */
const char *folder_basename(const char *name);

#endif
