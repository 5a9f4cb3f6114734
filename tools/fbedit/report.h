/* report.h: prints the output of -v, before the first spectrum and after the last. */
#ifndef PSR_TOOLS_FBEDIT_REPORT_H
#define PSR_TOOLS_FBEDIT_REPORT_H

#include "options.h"

/* The operations, in the order in which they are done. */
void fbedit_print_plan(const struct cli *tool, const struct psr_edit_desc *d, const psr_edit *p);

/* A note on what filled no sum. */
void fbedit_note_dropped(const struct cli *tool, const psr_edit *p);
void fbedit_print_account(const struct cli *tool, const psr_edit *p);

#endif
