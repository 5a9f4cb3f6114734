/* fourier_options.h: the options of a Fourier search, of the tool that makes it and of those that
 * make it on the way. */
#ifndef PSR_TOOLS_FOURIER_OPTIONS_H
#define PSR_TOOLS_FOURIER_OPTIONS_H

#include "cli.h"
#include <psrkit/experimental/ffa.h>
#include <psrkit/experimental/fourier.h>

struct fourier_options {
    struct psr_fourier_desc search;
    const char *zaplist; /* a file, for the caller to read */
    const char *name;    /* boxes, matched or both; NULL: not given */
    const char *compat;  /* presto, pulscan, or NULL */
    const char *significance;
    bool median, otheropt; /* without effect */
    char *words;           /* what texts above point to; NULL: the command line */
};

void fourier_options_init(struct fourier_options *o);

/* Add rows that set fields of *o: those on the input, and those on the search under headings of
 * their own. */
void fourier_options_add_input(struct cli_table *table, struct fourier_options *o);
void fourier_options_add_search(struct cli_table *table, struct fourier_options *o);

/* Checks what was given, and sets what was not; mistakes end the program with exit code 2.
 * Given:  matched   the search if none is named is matched; else boxes */
void fourier_options_complete(struct fourier_options *o, const struct cli *tool, bool matched);

/* Reads the options of a search from one text, in which blanks separate words and quotes, ' or ",
 * keep them together; mistakes end the program with exit code 2.
 * Given:  option   that has the text, for messages */
void fourier_options_parse(struct fourier_options *o, const struct cli *tool, const char *option,
                           const char *text);

/* Frees what fourier_options_parse has taken; may be called again. */
void fourier_options_clear(struct fourier_options *o);

/* the options of a search for slow pulsars, of the tool that makes it and of those that pass series to
 * it. */

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
