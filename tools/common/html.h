/* html.h: writes HTML; text is escaped, and the first failure is kept. */
#ifndef PSR_TOOLS_HTML_H
#define PSR_TOOLS_HTML_H

#include <psrkit/experimental/outfile.h>

struct html {
    psr_outfile *f;
    psr_err *err;
    psr_status status;
};

/* Markup, as it stands. */
void html_raw(struct html *h, const char *markup);

/* Text: &, <, >, " and ' are escaped; control characters and bytes that are no UTF-8 become U+FFFD. */
void html_text(struct html *h, const char *text);

/* A number by a printf format of one double; a dash if it is none. */
void html_number(struct html *h, const char *format, double value);

/* A cell of a table with a number, by which a script sorts. */
void html_cell(struct html *h, const char *format, double value);

void html_count(struct html *h, size_t n);

/* Bytes as B, KiB, MiB. */
void html_size(struct html *h, double bytes);

/* An address of a file: base and name, all but plain characters as %XX. */
void html_href(struct html *h, const char *base, const char *name);

void html_base64(struct html *h, const unsigned char *bytes, size_t n);

#endif
