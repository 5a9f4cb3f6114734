/* Parses options that are one word of a command line. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next word of *text, which moves behind it; NULL: there is none.  The word ends with it. */
static char *next_word(char **text)
{
    char *from = *text + strspn(*text, " \t\n"), *to = from, quote = 0;
    char *const word = from;
    if (!*from)
        return NULL;
    for (; *from && (quote || !strchr(" \t\n", *from)); from++)
        if (quote ? *from == quote : *from == '"' || *from == '\'')
            quote = quote ? 0 : *from;
        else
            *to++ = *from;
    *text = from + (*from != 0);
    *to = 0;
    return word;
}

char *cli_parse_words(struct cli *inner, const struct cli *tool, const char *option,
                      const char *text)
{
    char *words = NULL, *rest;
    char **argv = calloc(strlen(text) / 2 + 3, sizeof *argv);
    int argc = 1;
    if (!argv || asprintf(&words, "%s %s%c%s", tool->name, option, '\0', text) < 0)
        cli_usage_error(tool, "%s: out of memory", option);
    argv[0] = words;
    rest = words + strlen(words) + 1;
    while ((argv[argc] = next_word(&rest)))
        argc++;
    inner->name = words;
    inner->operands = "\"[OPTION]...\"";
    if (cli_parse(inner, argc, argv) > 0)
        cli_usage_error(inner, "'%s' is no option: the series are the input", argv[1]);
    free(argv);
    return words;
}
