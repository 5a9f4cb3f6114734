/* page.h: a page that is being written, and its sections. */
#ifndef PSR_TOOLS_PSRREPORT_PAGE_H
#define PSR_TOOLS_PSRREPORT_PAGE_H

#include "psrreport.h"
#include "tools/common/html.h"

struct page {
    struct html html;
    struct report *r;
    const char *base;   /* of addresses of the folder's files: ./ or its path */
    int64_t left_bytes; /* of pictures that may still be embedded */
    size_t left_out;    /* pictures that were not */
};

/* Everything before the first section and after the last one. */
void page_begin(struct html *h, const char *title);
void page_end(struct html *h);

/* A column of a table: numbers sort by value, downward first where that is natural. */
struct page_column {
    const char *name;
    enum { PAGE_TEXT, PAGE_UP, PAGE_DOWN } sort;
};

/* The heads of a table that a click sorts, up to its first row. */
void page_table(struct html *h, const char *id, const struct page_column *column, size_t n);
void page_table_end(struct html *h);

/* Embeds a PNG of the folder, or a link to it if there is no room; alt is what it shows.
 * Status: PSR_ENOMEM; a file that is no PNG is refused */
PSR_MUST_CHECK psr_status page_file_picture(struct page *p, const char *name, const char *alt,
                                            psr_err *err);

/* Embeds a PNG in memory, however large. */
void page_picture(struct page *p, const unsigned char *bytes, size_t n, const char *alt);

/* A column of several tables. */
#define PAGE_DM "DM (pc cm\xe2\x81\xbb\xc2\xb3)"

/* Controls that filter rows with a candidate's name (data-c), and save the page; a script shows them.  Those of a page over
 * folders, whose rows have theirs, save nothing. */
void page_filter(struct html *h);
void page_filter_folders(struct html *h);

/* The pieces of the script, up to NULL, and its SHA-256 in base64, by which the policy of a page knows it. */
extern const char *const page_script[];
#define PAGE_SCRIPT_SUM "IAFy8SXrlaH6GC9QoUKpZtIe/EMugz1veeu6xvj/D3o="

PSR_MUST_CHECK psr_status page_candidates(struct page *p, psr_err *err);
PSR_MUST_CHECK psr_status page_pulses(struct page *p, psr_err *err);
PSR_MUST_CHECK psr_status page_interference(struct page *p, psr_err *err);
PSR_MUST_CHECK psr_status page_pictures(struct page *p, psr_err *err);

#endif
