/* lists.h: the lists that are sifted. */
#ifndef PSR_TOOLS_ACCELSIFT_LISTS_H
#define PSR_TOOLS_ACCELSIFT_LISTS_H

#include "tools/common/cli.h"

#include "base/tool.h"

/* Removes names of files that an earlier name leads to: a list that is read twice has hits of itself.
 * Given:  tool   notes each name on standard error; NULL: silent
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status accelsift_drop_repeats(struct psr_names *lists, const struct cli *tool,
                                                 psr_err *err);

#endif
