/* What every page has: its head with the style, tables that sort, and the script. */
#include "page.h"

#include <psrkit/psrkit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- pictures in a page ----------------------------------------------------------------------- */

/* PNG files and plots, embedded. */

enum { PICTURE_MAX_BYTES = 1 << 25, HEAD = 8, CHUNK = 12, IHDR = 13 };

static uint32_t take_32(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* Whether these are the chunks of a whole PNG (RFC 2083), to its end. */
static bool is_whole_png(const unsigned char *bytes, size_t n)
{
    static const unsigned char signature[HEAD] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    size_t at = HEAD, length = 0;
    if (n < HEAD + CHUNK + IHDR || memcmp(bytes, signature, HEAD) != 0 ||
        memcmp(bytes + HEAD + 4, "IHDR", 4) != 0)
        return false;
    for (; at + CHUNK <= n; at += CHUNK + length) {
        length = take_32(bytes + at);
        if (!memcmp(bytes + at + 4, "IEND", 4))
            return length == 0 && at + CHUNK == n;
    }
    return false;
}

static psr_status read_png(const char *path, unsigned char **bytes, size_t *n, psr_err *err)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return psr_fail_errno(err, "%s", path);
    *bytes = malloc(PICTURE_MAX_BYTES);
    psr_status st = *bytes ? PSR_OK : psr_fail_nomem(err, path, PICTURE_MAX_BYTES);
    *n = st ? 0 : fread(*bytes, 1, PICTURE_MAX_BYTES, f);
    if (!st && ferror(f))
        st = psr_fail_errno(err, "%s: cannot read", path);
    else if (!st && *n == PICTURE_MAX_BYTES)
        st = psr_fail(err, PSR_EFORMAT, "%s: a picture of %d bytes or more", path,
                      PICTURE_MAX_BYTES);
    else if (!st && !is_whole_png(*bytes, *n))
        st = psr_fail(err, PSR_EFORMAT, "%s: no PNG, or one that is cut off", path);
    fclose(f);
    return st;
}

static void put_size(struct html *h, const char *name, uint32_t value)
{
    html_raw(h, name);
    html_count(h, value);
    html_raw(h, "\"");
}

void page_picture(struct page *p, const unsigned char *bytes, size_t n, const char *alt)
{
    struct html *h = &p->html;
    html_raw(h, "<label class=\"pic\"><input type=\"checkbox\"/><img alt=\"");
    html_text(h, alt);
    put_size(h, "\" width=\"", take_32(bytes + HEAD + 8));
    put_size(h, " height=\"", take_32(bytes + HEAD + 12));
    html_raw(h, " src=\"data:image/png;base64,");
    html_base64(h, bytes, n);
    html_raw(h, "\"/></label>");
    p->left_bytes -= (int64_t)n;
}

psr_status page_file_picture(struct page *p, const char *name, const char *alt, psr_err *err)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    psr_err why;
    char *path = report_path(p->r, name);
    if (!path)
        return psr_fail_nomem(err, name, (double)strlen(name));
    psr_status st = read_png(path, &bytes, &n, &why);
    if (st)
        (void)report_problem(p->r, &why); /* a page is whole without a picture */
    else if ((int64_t)n > p->left_bytes) {
        struct html *h = &p->html;
        html_raw(h, "<a href=\"");
        html_href(h, p->base, name);
        html_raw(h, "\">picture</a>");
        p->left_out++;
    } else
        page_picture(p, bytes, n, alt);
    free(bytes);
    free(path);
    return PSR_OK;
}

/* --- the script of a page --------------------------------------------------------------------- */

/* sorts tables, filters rows, keeps what a person says of them, saves the page with that. */

/* It makes no markup from text of the folder.  tests/tools/psrreport.bats checks its sum, PAGE_SCRIPT_SUM. */
const char *const page_script[] = {
    "(function(){\"use strict\";\n"
    "var changed=false,controls=Array.from(document.querySelectorAll(\"#filter [data-k]\"));\n"
    "function all(what){return Array.from(document.querySelectorAll(what));}\n"
    "function number(cell){var v=cell.getAttribute(\"data-v\");return "
    "v===null?NaN:parseFloat(v);}\n"
    "function verdict(row){return row.getAttribute(\"data-verdict\")||\"\";}\n"
    "function value(row,i,numbers){var c=row.cells[i];\n"
    "return numbers?number(c):c.className===\"v\"?verdict(row):c.textContent;}\n"
    "function order(a,b,down){\n"
    "if(typeof a===\"number\"){var x=isNaN(a),y=isNaN(b);if(x||y){return x-y;}}\n"
    "var o=a>b?1:a===b?0:-1;return down?-o:o;}\n"
    "function sort(button){var th=button.parentNode,table=th.closest(\"table\"),i=th.cellIndex,\n"
    "numbers=th.className===\"n\",was=th.getAttribute(\"aria-sort\"),\n"
    "down=was?was===\"ascending\":th.getAttribute(\"data-first\")===\"down\",body=table.tBodies[0];"
    "\n"
    "var rows=Array.from(body.rows).map(function(row){return[value(row,i,numbers),row];});\n"
    "rows.sort(function(a,b){return order(a[0],b[0],down);});\n"
    "rows.forEach(function(r){body.appendChild(r[1]);});\n"
    "table.querySelectorAll(\"th\").forEach(function(t){t.removeAttribute(\"aria-sort\");});\n"
    "th.setAttribute(\"aria-sort\",down?\"descending\":\"ascending\");}\n"
    "function cell(row,key){return "
    "row.cells[Array.from(row.closest(\"table\").tHead.rows[0].cells).findIndex(\n"
    "function(th){return th.textContent===key;})];}\n"
    "function passes(row,control){var key=control.getAttribute(\"data-k\"),wanted=control.value;\n"
    "if(wanted===\"\"){return true;}\n"
    "if(key===\"Verdict\"){return wanted===(verdict(row)||\"open\");}\n"
    "if(key===\"State\"){return (wanted===\"complete\")===(cell(row,key).className===\"\");}\n"
    "if(key===\"Marks\"){var marks=cell(row,key).textContent.split(/[+,]/);\n"
    "return wanted===\"none\"?marks[0]===\"\":marks.indexOf(wanted)>=0;}\n"
    "var v=number(cell(row,key)),x=parseFloat(wanted);\n"
    "return control.getAttribute(\"data-side\")===\"from\"?v>=x:v<=x;}\n"
    "function filter(){var shown=0,n={accepted:0,rejected:0},rows=all(\"tr[data-c]\");\n"
    "rows.forEach(function(row){\n"
    "row.hidden=!controls.every(function(c){return passes(row,c);});\n"
    "shown+=row.hidden?0:1;if(verdict(row)){n[verdict(row)]++;}});\n"
    "document.getElementById(\"shown\").textContent=shown+\" of \"+rows.length+\" rows shown\"+\n"
    "(document.getElementById(\"save\")?\", \"+n.accepted+\" accepted, \"+n.rejected+\" "
    "rejected.\":\".\");}\n",
    "function judge(row,word){changed=true;\n"
    "if(verdict(row)===word){row.removeAttribute(\"data-verdict\");}\n"
    "else{row.setAttribute(\"data-verdict\",word);}\n"
    "mark(row);filter();}\n"
    "function mark(row){row.querySelectorAll(\".v button\").forEach(function(b){\n"
    "b.setAttribute(\"aria-pressed\",String(b.textContent===verdict(row).slice(0,6)));});}\n"
    "function add(row){var box=row.querySelector(\".v\");if(!box){return;}box.textContent=\"\";\n"
    "[\"accepted\",\"rejected\"].forEach(function(word){var b=document.createElement(\"button\");\n"
    "b.type=\"button\";b.textContent=word.slice(0,6);\n"
    "b.addEventListener(\"click\",function(){judge(row,word);});box.appendChild(b);});\n"
    "mark(row);}\n"
    "function download(text,type,suffix){var a=document.createElement(\"a\"),\n"
    "name=decodeURIComponent(location.pathname).split(\"/\").pop().replace(/\\.html?$/"
    ",\"\")||\"report\";\n"
    "a.href=URL.createObjectURL(new Blob([text],{type:type}));a.download=name+suffix;a.click();\n"
    "setTimeout(function(){URL.revokeObjectURL(a.href);},1000);}\n"
    "function page(){controls.forEach(function(c){\n"
    "if(c.options){Array.from(c.options).forEach(function(o){\n"
    "o.toggleAttribute(\"selected\",o.selected);});}\n"
    "else{c.setAttribute(\"value\",c.value);}});\n"
    "return\"<!DOCTYPE html>\\n\"+document.documentElement.outerHTML+\"\\n\";}\n"
    "function "
    "quote(text){return\"\\\"\"+(/^[-=+@]/.test(text)?\"'\":\"\")+text.replace(/\"/"
    "g,\"\\\"\\\"\")+\"\\\"\";}\n"
    "function "
    "list(){return\"candidate,period_s,dm,verdict\\n\"+all(\"tr[data-verdict]\").map(function(row){"
    "\n"
    "return[quote(row.getAttribute(\"data-c\")),number(cell(row,\"Period "
    "(s)\")),number(cell(row,\"DM (pc cm\\u207b\\u00b3)\")),\n"
    "verdict(row)].join(\",\")+\"\\n\";}).join(\"\");}\n"
    "function on(id,does){var "
    "b=document.getElementById(id);if(b){b.addEventListener(\"click\",does);}}\n"
    "all(\"table.sort th button\").forEach(function(b){\n"
    "b.addEventListener(\"click\",function(){sort(b);});});\n"
    "document.addEventListener(\"keydown\",function(e){if(e.key===\"Escape\"){\n"
    "all(\".pic input:checked\").forEach(function(b){b.checked=false;});}});\n"
    "var hint=document.getElementById(\"hint\");if(hint){hint.hidden=false;}\n"
    "if(!document.getElementById(\"filter\")){return;}\n"
    "document.getElementById(\"filter\").hidden=false;\n"
    "all(\"tr[data-c]\").forEach(add);\n"
    "controls.forEach(function(c){c.addEventListener(\"input\",filter);});\n"
    "on(\"save\",function(){download(page(),\"text/html\",\".html\");changed=false;});\n"
    "on(\"export\",function(){download(list(),\"text/csv\",\"_verdicts.csv\");});\n"
    "window.addEventListener(\"beforeunload\",function(e){if(changed){e.preventDefault();}});\n"
    "filter();\n"
    "})();",
    NULL};

/* Controls for the lowest and the highest value of a column. */
static void put_limits(struct html *h, const char *column, bool has_highest)
{
    static const char *const side[] = {"from", "to"};
    html_raw(h, "<label>");
    html_raw(h, column);
    for (int k = 0; k <= has_highest; k++) {
        html_raw(h, " ");
        html_raw(h, side[k]);
        html_raw(h, " <input type=\"number\" step=\"any\" data-k=\"");
        html_raw(h, column);
        html_raw(h, "\" data-side=\"");
        html_raw(h, side[k]);
        html_raw(h, "\"/>");
    }
    html_raw(h, "</label>\n");
}

/* A control for one of the words of a column; they end with NULL, and the first stands for all. */
static void put_choice(struct html *h, const char *column, const char *const *word)
{
    html_raw(h, "<label>");
    html_raw(h, column);
    html_raw(h, " <select data-k=\"");
    html_raw(h, column);
    html_raw(h, "\">");
    for (size_t i = 0; word[i]; i++) {
        html_raw(h, i ? "<option>" : "<option value=\"\">");
        html_raw(h, word[i]);
        html_raw(h, "</option>");
    }
    html_raw(h, "</select></label>\n");
}

static void begin_filter(struct html *h)
{
    html_raw(h, "<div id=\"filter\" hidden=\"hidden\">\n");
}

void page_filter_folders(struct html *h)
{
    static const char *const states[] = {"any", "complete", "not complete", NULL};
    begin_filter(h);
    put_limits(h, "Best sigma", false);
    put_limits(h, "Fold sigma", false);
    put_limits(h, PAGE_DM, true);
    put_limits(h, "Period (s)", true);
    put_limits(h, "Best burst S/N", false);
    put_choice(h, "State", states);
    html_raw(h, "<span id=\"shown\"></span></div>\n");
}

void page_filter(struct html *h)
{
    static const char *const marks[] = {"any", "none",   "dm?",   "line",
                                        "dm0", "narrow", "turns", NULL};
    static const char *const verdicts[] = {"any", "open", "accepted", "rejected", NULL};
    begin_filter(h);
    put_limits(h, "Search sigma", false);
    put_limits(h, "S/N", false);
    put_limits(h, "Probability", false);
    put_limits(h, PAGE_DM, true);
    put_limits(h, "Period (s)", true);
    put_choice(h, "Marks", marks);
    put_choice(h, "Verdict", verdicts);
    html_raw(h, "<br/><button type=\"button\" id=\"save\">Save the page with its verdicts</button> "
                "<button type=\"button\" id=\"export\">Save verdicts as CSV</button> "
                "<span id=\"shown\"></span></div>\n");
}

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
    "#folders{font-size:13px}#folders td,#folders th{padding:.2em .35em;overflow-wrap:anywhere}"
    "#folders th{white-space:normal;overflow-wrap:normal}#folders td:nth-child(2){min-width:8em}"
    "#folders td:last-child{min-width:11em}#folders .pic input:not(:checked)+img{height:5em;"
    "width:5em;object-fit:cover;object-position:left top}"
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
