/* Single pulses and interference: pictures and the table of bursts. */
#include "page.h"

#include "tools/common/plot/canvas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct page_column columns[] = {
    {"Picture", PAGE_TEXT},  {"S/N", PAGE_DOWN},
    {"Time (s)", PAGE_UP},   {"DM (pc cm\xe2\x81\xbb\xc2\xb3)", PAGE_UP},
    {"Width (ms)", PAGE_UP}, {"Events", PAGE_DOWN},
    {"Marks", PAGE_TEXT},
};
enum { NCOLUMN = sizeof columns / sizeof *columns, PICTURES = 20 };

static psr_status put_burst(struct page *p, const struct report_burst *b, bool draw, psr_err *err)
{
    struct html *h = &p->html;
    unsigned char *bytes = NULL;
    size_t n = 0;
    psr_status st = draw ? report_draw_burst(p->r, b, &bytes, &n, err) : PSR_OK;
    html_raw(h, "<tr><td class=\"burst\">");
    if (bytes)
        page_picture(p, bytes, n, "spectra and events around the burst");
    html_raw(h, "</td>");
    html_cell(h, "%.2f", b->snr);
    html_cell(h, "%.6f", b->time_s);
    html_cell(h, "%.2f", b->dm);
    html_cell(h, "%.3g", b->width_s * 1e3);
    html_cell(h, "%.0f", b->members);
    html_raw(h, "<td>");
    html_text(h, b->marks);
    html_raw(h, "</td></tr>\n");
    free(bytes);
    return st;
}

static psr_status put_table(struct page *p, psr_err *err)
{
    const struct report *r = p->r;
    struct html *h = &p->html;
    const size_t most = (size_t)r->opt->bursts, n = r->nburst < most ? r->nburst : most;
    psr_status st = PSR_OK;
    if (n < r->nburst) {
        html_raw(h, "<p>The best ");
        html_count(h, n);
        html_raw(h, " of ");
        html_count(h, r->nburst);
        html_raw(h, " bursts are listed (-bursts).</p>\n");
    }
    if (!n)
        return PSR_OK;
    page_table(h, "bursts", columns, NCOLUMN);
    for (size_t i = 0; i < n && !st && !h->status; i++)
        st = put_burst(p, &r->burst[i],
                       i < PICTURES && (r->nevent || r->nview) && canvas_can_draw(), err);
    page_table_end(h);
    return st;
}

static psr_status put_plot(struct page *p, psr_err *err)
{
    unsigned char *bytes;
    size_t n;
    if (!canvas_can_draw()) {
        html_raw(&p->html, "<p>No plot: this psrreport was built without cairo.</p>\n");
        return PSR_OK;
    }
    psr_status st = report_draw_pulses(p->r, &bytes, &n, err);
    if (st)
        return st;
    html_raw(&p->html, "<p class=\"wide\">");
    page_picture(p, bytes, n, "single pulses: S/N and DM against time, and histograms of bursts");
    html_raw(&p->html, "</p>\n");
    free(bytes);
    return PSR_OK;
}

psr_status page_pulses(struct page *p, psr_err *err)
{
    const struct report *r = p->r;
    struct html *h = &p->html;
    html_raw(h, "<h2>Single pulses</h2>\n");
    if (!r->nevent_file && !r->burst_file) {
        html_raw(h, "<p>No single pulses were searched for: there is no .singlepulse file and no "
                    "list of bursts.</p>\n");
        return PSR_OK;
    }
    html_raw(h, "<p>");
    html_count(h, r->events_seen);
    html_raw(h, " events in ");
    html_count(h, r->nevent_file);
    html_raw(h, " .singlepulse files");
    if (r->nevent < r->events_seen) {
        html_raw(h, ", of which the best ");
        html_count(h, r->nevent);
        html_raw(h, " are drawn");
    }
    html_raw(h, "; ");
    html_count(h, r->nburst);
    html_raw(h, r->burst_file ? " bursts.</p>\n" : " bursts: there is no list of them.</p>\n");
    psr_status st = r->nevent + r->nburst ? put_plot(p, err) : PSR_OK;
    return st ? st : put_table(p, err);
}

/* --- interference, and other pictures --------------------------------------------------------- */

static bool is_rfi_picture(const char *name)
{
    return psr_path_ends(name, ".png") && strstr(name, "rfifind");
}

static bool is_fold_picture(const struct report *r, const char *name)
{
    for (size_t i = 0; i < r->nfold; i++)
        if (r->fold[i].picture == name)
            return true;
    return false;
}

static psr_status put_wide(struct page *p, const char *name, psr_err *err)
{
    html_raw(&p->html, "<p class=\"wide\">");
    html_text(&p->html, name);
    html_raw(&p->html, "<br/>");
    psr_status st = page_file_picture(p, name, name, err);
    html_raw(&p->html, "</p>\n");
    return st;
}

psr_status page_interference(struct page *p, psr_err *err)
{
    const struct report *r = p->r;
    bool mask = false, picture = false;
    psr_status st = PSR_OK;
    html_raw(&p->html, "<h2>Interference</h2>\n");
    for (size_t i = 0; i < r->files.n && !st; i++) {
        const char *name = r->files.name[i];
        mask = mask || psr_path_ends(name, ".mask");
        if (is_rfi_picture(name)) {
            picture = true;
            st = put_wide(p, name, err);
        }
    }
    if (!mask)
        html_raw(&p->html, "<p>There is no mask.</p>\n");
    else if (!picture)
        html_raw(&p->html, "<p>There is a mask, and no picture of it: gpurfifind draws one with "
                           "-plot ROOT_rfifind.png.</p>\n");
    return st;
}

psr_status page_pictures(struct page *p, psr_err *err)
{
    const struct report *r = p->r;
    bool begun = false;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++) {
        const char *name = r->files.name[i];
        if (!psr_path_ends(name, ".png") || psr_path_ends(name, ".pfd.png") ||
            is_rfi_picture(name) || is_fold_picture(r, name))
            continue;
        if (!begun)
            html_raw(&p->html, "<h2>Other pictures</h2>\n");
        begun = true;
        st = put_wide(p, name, err);
    }
    return st;
}
