/* Quotes the words of a command line for a shell. */
#include "quote.h"

#include "base/tool.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void quote_print(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", to);
        else
            fputc(*text, to);
    fputc('\'', to);
}

/* Whether a shell takes the word as it stands. */
static bool needs_no_quotes(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%_+=:,./-";
    return *word && word[strspn(word, plain)] == '\0';
}

/* Bytes of what can stand in a line of text; 0 for what must not. */
static size_t fit_length(const char *at)
{
    return iscntrl((unsigned char)*at) ? 0 : psr_utf8_length(at);
}

void quote_shown(char *to, size_t room, const char *text)
{
    enum { LONGEST = 4 };
    size_t at = 0;
    while (*text && at + LONGEST < room) {
        const size_t n = fit_length(text);
        if (n)
            memcpy(to + at, text, n);
        else
            to[at] = '?';
        at += n ? n : 1;
        text += n ? n : 1;
    }
    to[at] = '\0';
}

static bool is_fit(const char *word)
{
    size_t n = 1;
    for (; *word && n; word += n)
        n = fit_length(word);
    return n > 0;
}

/* As bash and later shells read it. */
static void print_escaped(FILE *to, const char *word)
{
    fputs("$'", to);
    while (*word) {
        const size_t n = fit_length(word);
        if (*word == '\'' || *word == '\\')
            fprintf(to, "\\%c", *word);
        else if (n)
            fwrite(word, 1, n, to);
        else
            fprintf(to, "\\%03o", (unsigned char)*word);
        word += n ? n : 1;
    }
    fputc('\'', to);
}

char *quote_command(const char *name, int argc, char *const *argv)
{
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return NULL;
    fputs(name, to);
    for (int i = 1; i < argc; i++) {
        fputc(' ', to);
        if (needs_no_quotes(argv[i]))
            fputs(argv[i], to);
        else if (is_fit(argv[i]))
            quote_print(to, argv[i]);
        else
            print_escaped(to, argv[i]);
    }
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}
