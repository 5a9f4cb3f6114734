/* The script of a page: sorts tables, filters rows, keeps what a person says of them, saves the page with that. */
#include "page.h"

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
    "if(key===\"Marks\"){var marks=cell(row,key).textContent.split(\",\");\n"
    "return wanted===\"none\"?marks[0]===\"\":marks.indexOf(wanted)>=0;}\n"
    "var v=number(cell(row,key)),x=parseFloat(wanted);\n"
    "return control.getAttribute(\"data-side\")===\"from\"?v>=x:v<=x;}\n"
    "function filter(){var shown=0,n={accepted:0,rejected:0},rows=all(\"tr[data-c]\");\n"
    "rows.forEach(function(row){\n"
    "row.hidden=!controls.every(function(c){return passes(row,c);});\n"
    "shown+=row.hidden?0:1;if(verdict(row)){n[verdict(row)]++;}});\n"
    "document.getElementById(\"shown\").textContent=shown+\" of \"+rows.length+\" rows shown, \"+\n"
    "n.accepted+\" accepted, \"+n.rejected+\" rejected.\";}\n",
    "function judge(row,word){changed=true;\n"
    "if(verdict(row)===word){row.removeAttribute(\"data-verdict\");}\n"
    "else{row.setAttribute(\"data-verdict\",word);}\n"
    "mark(row);filter();}\n"
    "function mark(row){row.querySelectorAll(\".v button\").forEach(function(b){\n"
    "b.setAttribute(\"aria-pressed\",String(b.textContent===verdict(row).slice(0,6)));});}\n"
    "function add(row){var box=row.querySelector(\".v\");box.textContent=\"\";\n"
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
    "function on(id,does){document.getElementById(id).addEventListener(\"click\",does);}\n"
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

void page_filter(struct html *h)
{
    static const char *const marks[] = {"any", "none",   "dm?",   "line",
                                        "dm0", "narrow", "turns", NULL};
    static const char *const verdicts[] = {"any", "open", "accepted", "rejected", NULL};
    html_raw(h, "<div id=\"filter\" hidden=\"hidden\">\n");
    put_limits(h, "Search sigma", false);
    put_limits(h, "S/N", false);
    put_limits(h, "Probability", false);
    put_limits(h, "DM (pc cm\xe2\x81\xbb\xc2\xb3)", true);
    put_limits(h, "Period (s)", true);
    put_choice(h, "Marks", marks);
    put_choice(h, "Verdict", verdicts);
    html_raw(h, "<br/><button type=\"button\" id=\"save\">Save the page with its verdicts</button> "
                "<button type=\"button\" id=\"export\">Save verdicts as CSV</button> "
                "<span id=\"shown\"></span></div>\n");
}
