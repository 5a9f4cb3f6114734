/* What every page has: its head with the style, tables that sort, and the script. */
#include "page.h"

#include <psrkit/psrkit.h>

/* Pictures are large while their box, which is not shown, is checked: that needs no script. */
static const char style[] =
    "body{font:15px/1.4 sans-serif;margin:1em 2em;color:#222;background:#fff}"
    "h1{font-size:1.4em}h2{font-size:1.15em;margin-top:1.6em;border-bottom:1px solid #ccc}"
    "table{border-collapse:collapse}td,th{padding:.25em .6em;text-align:left;vertical-align:top;"
    "border-bottom:1px solid #ddd}th{background:#f0f2f6;position:sticky;top:0}"
    ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    "th button{font:inherit;font-weight:bold;background:none;border:0;padding:0;cursor:pointer}"
    "th[aria-sort=ascending] button:after{content:\" \\25B2\"}"
    "th[aria-sort=descending] button:after{content:\" \\25BC\"}"
    "tr[data-c] "
    "td:last-child{min-width:18em}td.c{overflow-wrap:anywhere;min-width:9em}dt{font-weight:bold}"
    "#filter label{display:inline-block;margin:0 1em .3em 0}#filter input{width:6em}"
    ".v{white-space:nowrap}button[aria-pressed=true]{font-weight:bold}"
    "tr[data-verdict=accepted]{background:#e3f4e3}tr[data-verdict=rejected]{background:#f6e3e3}"
    "code{font-size:.9em;overflow-wrap:anywhere}.bad{color:#a00}"
    ".pic{cursor:zoom-in}.pic input{position:absolute;opacity:0}.pic img{height:16em;width:auto;"
    "border:1px solid #ccc}.fold .pic img{height:26em;width:24em;object-fit:cover;"
    "object-position:left top}.burst .pic img{height:24em}.wide "
    "img{height:auto;width:100%;max-width:60em}"
    ".pic input:focus+img{outline:2px solid #36c}"
    ".pic input:checked+img{position:fixed;inset:0;margin:auto;height:auto;width:auto;"
    "max-width:98vw;max-height:98vh;object-fit:contain;background:#fff;z-index:9;cursor:zoom-out;"
    "box-shadow:0 0 0 100vmax rgba(0,0,0,.6)}";

/* The page loads nothing, and runs no script but this one, whatever a name contains. */
static const char policy[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'; "
    "script-src 'sha256-" PAGE_SCRIPT_SUM "'\"/>\n";

void page_begin(struct html *h, const char *title)
{
    html_raw(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n");
    html_raw(h, policy);
    html_raw(h, "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>");
    html_text(h, title);
    html_raw(h, "</title>\n<style>");
    html_raw(h, style);
    html_raw(h, "</style>\n</head>\n<body>\n<h1>");
    html_text(h, title);
    html_raw(h, "</h1>\n");
}

void page_end(struct html *h)
{
    html_raw(h, "<p>Made by psrreport (psrkit) ");
    html_raw(h, psr_version());
    html_raw(h, ".</p>\n<script>");
    for (size_t i = 0; page_script[i]; i++)
        html_raw(h, page_script[i]);
    html_raw(h, "</script>\n</body>\n</html>\n");
}

void page_table(struct html *h, const char *id, const struct page_column *column, size_t n)
{
    html_raw(h, "<table class=\"sort\" id=\"");
    html_raw(h, id);
    html_raw(h, "\">\n<thead><tr>");
    for (size_t i = 0; i < n; i++) {
        html_raw(h, column[i].sort == PAGE_TEXT ? "<th" : "<th class=\"n\"");
        html_raw(h, column[i].sort == PAGE_DOWN ? " data-first=\"down\"" : "");
        html_raw(h, "><button type=\"button\">");
        html_text(h, column[i].name);
        html_raw(h, "</button></th>");
    }
    html_raw(h, "</tr></thead>\n<tbody>\n");
}

void page_table_end(struct html *h)
{
    html_raw(h, "</tbody>\n</table>\n");
}
