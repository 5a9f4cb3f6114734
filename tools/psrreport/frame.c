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
    "#candidates td:nth-child(2){overflow-wrap:anywhere;min-width:9em}"
    "code{font-size:.9em;overflow-wrap:anywhere}.bad{color:#a00}"
    ".pic{cursor:zoom-in}.pic input{position:absolute;opacity:0}.pic img{height:16em;width:auto;"
    "border:1px solid #ccc}.wide img{height:auto;width:100%;max-width:60em}"
    ".pic input:focus+img{outline:2px solid #36c}"
    ".pic input:checked+img{position:fixed;inset:0;margin:auto;height:auto;width:auto;"
    "max-width:98vw;max-height:98vh;background:#fff;z-index:9;cursor:zoom-out;"
    "box-shadow:0 0 0 100vmax rgba(0,0,0,.6)}";

/* tests/tools/psrreport.bats checks the sum in the policy below. */
static const char script[] =
    "(function(){\"use strict\";\n"
    "function value(row,i,numbers){var c=row.cells[i];"
    "if(!numbers){return c.textContent;}"
    "var v=c.getAttribute(\"data-v\");return v===null?NaN:parseFloat(v);}\n"
    "function order(a,b,down){"
    "if(typeof a===\"number\"){var x=isNaN(a),y=isNaN(b);if(x||y){return x-y;}}"
    "var o=a>b?1:a===b?0:-1;return down?-o:o;}\n"
    "function sort(button){var th=button.parentNode,table=th.closest(\"table\"),i=th.cellIndex,"
    "numbers=th.className===\"n\",was=th.getAttribute(\"aria-sort\"),"
    "down=was?was===\"ascending\":th.getAttribute(\"data-first\")===\"down\",body=table.tBodies[0];"
    "var rows=Array.from(body.rows).map(function(row){return[value(row,i,numbers),row];});"
    "rows.sort(function(a,b){return order(a[0],b[0],down);});"
    "rows.forEach(function(r){body.appendChild(r[1]);});"
    "table.querySelectorAll(\"th\").forEach(function(t){t.removeAttribute(\"aria-sort\");});"
    "th.setAttribute(\"aria-sort\",down?\"descending\":\"ascending\");}\n"
    "document.querySelectorAll(\"table.sort th button\").forEach(function(b){"
    "b.addEventListener(\"click\",function(){sort(b);});});\n"
    "document.addEventListener(\"keydown\",function(e){if(e.key===\"Escape\"){"
    "document.querySelectorAll(\".pic "
    "input:checked\").forEach(function(b){b.checked=false;});}});\n"
    "var hint=document.getElementById(\"hint\");if(hint){hint.hidden=false;}\n"
    "})();";

/* The page loads nothing, and runs no script but this one, whatever a name contains. */
static const char policy[] =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'; "
    "script-src 'sha256-kCZaxUXWHHr/hWwzVQtTbC52QiWj74fYXpCBzA1Wa3c='\"/>\n";

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
    html_raw(h, script);
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
