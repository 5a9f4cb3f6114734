/* quote.h: quotes the words of a command line for a shell, and texts for pictures. */
#ifndef PSR_TOOLS_QUOTE_H
#define PSR_TOOLS_QUOTE_H

#include <stdio.h>

/* Prints text as one word of sh, whatever is in it, line ends included. */
void quote_print(FILE *to, const char *text);

/* A command line as one line, for comments and notes: words are quoted where they must be; where
 * control characters or bytes that are no UTF-8 stand in one, as in $'a\012b'.
 * Given:    argv   [argc]; the first word is replaced by name
 * Returned: malloc'd; NULL where there is no memory */
char *quote_command(const char *name, int argc, char *const *argv);

/* Copies what fits of a text: what is no UTF-8, and control characters, are question marks. */
void quote_shown(char *to, size_t room, const char *text);

#endif
