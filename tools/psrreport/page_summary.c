/* The first lines of a page: what was found, and which pulsars are known. */
#include "page.h"

#include <string.h>

/* Names of pulsars with the ratio of the frequency, each once. */
static void put_known(struct page *p)
{
    const struct report *r = p->r;
    for (size_t i = 0, n = 0; i < r->ncand; i++) {
        bool told = report_classify(&r->cand[i]) != REPORT_KNOWN;
        for (size_t k = 0; k < i && !told; k++)
            told = !strcmp(r->cand[i].note, r->cand[k].note);
        if (told)
            continue;
        html_raw(&p->html, n++ ? ", " : ": ");
        html_text(&p->html, r->cand[i].note);
    }
}

void page_summary(struct page *p)
{
    struct html *h = &p->html;
    size_t count[REPORT_NCLASS] = {0}, likely = 0;
    for (size_t i = 0; i < p->r->ncand; i++) {
        const struct report_cand *c = &p->r->cand[i];
        const enum report_class class = report_classify(c);
        count[class]++;
        likely += class == REPORT_GOOD && c->fold && c->fold->score.probability > PSR_CAND_LINE;
    }
    html_raw(h, "<p id=\"summary\">");
    html_count(h, count[REPORT_GOOD]);
    html_raw(h, " candidates without marks, ");
    html_count(h, likely);
    html_raw(h, " of them likely; ");
    html_count(h, count[REPORT_MARKED]);
    html_raw(h, " of likely interference; ");
    html_count(h, p->r->nburst);
    html_raw(h, " bursts; ");
    html_count(h, count[REPORT_KNOWN]);
    html_raw(h, " of known pulsars");
    put_known(p);
    html_raw(h, ".</p>\n");
}
