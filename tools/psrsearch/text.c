/* Joins texts, and shows commands. */
#include "psrsearch.h"

#include "tools/common/quote.h"

#include <stdarg.h>
#include <stdlib.h>

char *psrsearch_join(const char *first, ...)
{
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return NULL;
    va_list ap;
    va_start(ap, first);
    for (const char *part = first; part; part = va_arg(ap, const char *))
        fputs(part, to);
    va_end(ap);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

char *psrsearch_command_line(const struct psrsearch_plan *p, const struct psrsearch_step *step)
{
    char *words = quote_command(step->command.name[0], (int)step->command.n, step->command.name);
    char *output = NULL, *line = NULL;
    if (words && step->output) {
        char *argv[] = {(char *)">", psrsearch_join(p->base, step->output, NULL)};
        output = argv[1] ? quote_command(" >", 2, argv) : NULL;
        free(argv[1]);
    }
    if (words && (output || !step->output))
        line = psrsearch_join(words, output ? output : "", NULL);
    free(words);
    free(output);
    return line;
}
