/* words.h: the words of a command. */
#ifndef PSR_TOOLS_PSRSEARCH_WORDS_H
#define PSR_TOOLS_PSRSEARCH_WORDS_H

#include "psrsearch.h"

/* The words of a command; the first error stays, and nothing is added after it. */
struct words {
    struct psr_names *to;
    psr_status status;
    psr_err *err;
};

void words_add(struct words *w, const char *word); /* NULL: there was no memory for it */
void words_add_flag(struct words *w, const char *option, bool given);
void words_add_text(struct words *w, const char *option, const char *value); /* unless it is NULL */
void words_add_int(struct words *w, const char *option, int64_t value);
void words_add_double(struct words *w, const char *option, double value);

/* A name that begins with base. */
void words_add_name(struct words *w, const char *option, const char *base, const char *end);
void words_add_inputs(struct words *w, const struct psrsearch_options *o);

/* What glob(7) would take for a pattern stands for itself.
 * Returned: malloc'd; NULL where there is no memory */
char *words_literally(const char *name);

/* In quotes, for options that hold options; likewise. */
char *words_quoted(const char *word);

#endif
