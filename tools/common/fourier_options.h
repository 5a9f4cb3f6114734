/* fourier_options.h: the options of a Fourier search, of the tool that makes it and of those that
 * make it on the way. */
#ifndef PSR_TOOLS_FOURIER_OPTIONS_H
#define PSR_TOOLS_FOURIER_OPTIONS_H

#include "cli.h"

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

#endif
