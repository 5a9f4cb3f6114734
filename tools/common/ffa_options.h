/* ffa_options.h: the options of a search for slow pulsars, of the tool that makes it and of those that pass series to
 * it. */
#ifndef PSR_TOOLS_FFA_OPTIONS_H
#define PSR_TOOLS_FFA_OPTIONS_H

#include "cli.h"
#include <psrkit/experimental/ffa.h>

struct ffa_options {
    struct psr_ffasearch_desc search;
    double rmed_s; /* below 0: not given; 0: none */
    const char *zaplist;
    char *words; /* that texts point into; NULL: none */
};

/* Sets the defaults. */
void ffa_options_init(struct ffa_options *o);

/* Adds the options that say what is searched. */
void ffa_options_add(struct cli_table *table, struct ffa_options *o);

/* Checks what was read, and completes o->search, but for its zaplist; mistakes end the program with exit code 2. */
void ffa_options_complete(struct ffa_options *o, const struct cli *tool);

/* Reads options that are one word of the command line of a tool, as in -ffa "-pmin 0.5 -pmax 30". */
void ffa_options_parse(struct ffa_options *o, const struct cli *tool, const char *option,
                       const char *text);

/* Frees what ffa_options_parse has taken; may be called again. */
void ffa_options_clear(struct ffa_options *o);

#endif
