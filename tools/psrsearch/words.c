/* The words of a command. */
#include "words.h"

#include <stdlib.h>
#include <string.h>

void words_add(struct words *w, const char *word)
{
    if (!w->status)
        w->status = word ? psr_names_add(w->to, word, w->err)
                         : psr_fail_nomem(w->err, "the command lines", 256);
}

void words_add_flag(struct words *w, const char *option, bool given)
{
    if (given)
        words_add(w, option);
}

void words_add_text(struct words *w, const char *option, const char *value)
{
    if (value) {
        words_add(w, option);
        words_add(w, value);
    }
}

void words_add_int(struct words *w, const char *option, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    words_add_text(w, option, digits);
}

void words_add_double(struct words *w, const char *option, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.10g", value);
    words_add_text(w, option, digits);
}

void words_add_name(struct words *w, const char *option, const char *base, const char *end)
{
    char *name = psrsearch_join(base, end, NULL);
    words_add(w, option);
    words_add(w, name);
    free(name);
}

void words_add_inputs(struct words *w, const struct psrsearch_options *o)
{
    for (size_t i = 0; i < o->ninput; i++) {
        /* "./-x.fil": a name is no option. */
        char *name = o->input[i][0] == '-' ? psrsearch_join("./", o->input[i], NULL)
                                           : psrsearch_join(o->input[i], NULL);
        words_add(w, name);
        free(name);
    }
}

/* What glob(7) would take for a pattern stands for itself. */
char *words_literally(const char *name)
{
    char *to = malloc(2 * strlen(name) + 1);
    size_t n = 0;
    for (; to && *name; name++) {
        if (strchr("*?[\\", *name))
            to[n++] = '\\';
        to[n++] = *name;
    }
    if (to)
        to[n] = '\0';
    return to;
}

char *words_quoted(const char *word)
{
    char *to = malloc(5 * strlen(word) + 3), *end = to;
    if (!to)
        return NULL;
    *end++ = '\'';
    for (; *word; word++) {
        if (*word ==
            '\'') { /* the quotes end, it stands in quotes of the other kind, they begin again */
            memcpy(end, "'\"'\"'", 5);
            end += 5;
        } else {
            *end++ = *word;
        }
    }
    memcpy(end, "'", 2);
    return to;
}
