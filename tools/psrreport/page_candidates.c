/* The table of candidates. */
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct page_column columns[] = {
    {"Fold", PAGE_TEXT},
    {"Candidate", PAGE_TEXT},
    {"Probability", PAGE_DOWN},
    {"S/N", PAGE_DOWN},
    {"After trials", PAGE_DOWN},
    {"Search sigma", PAGE_DOWN},
    {"DM (pc cm\xe2\x81\xbb\xc2\xb3)", PAGE_UP},
    {"Period (s)", PAGE_UP},
    {"P-dot", PAGE_UP},
    {"Acceleration (m s\xe2\x81\xbb\xc2\xb2)", PAGE_UP},
    {"Harmonics", PAGE_DOWN},
    {"DMs", PAGE_DOWN},
    {"Known", PAGE_TEXT},
    {"Marks", PAGE_TEXT},
    {"Numbers of the fold", PAGE_TEXT},
};
enum { NCOLUMN = sizeof columns / sizeof *columns };

static void put_link(struct page *p, const char *name, const char *text)
{
    struct html *h = &p->html;
    html_raw(h, "<a href=\"");
    html_href(h, p->base, name);
    html_raw(h, "\">");
    html_text(h, text);
    html_raw(h, "</a>");
}

static void put_name(struct page *p, const struct report_cand *c)
{
    char number[32] = "";
    if (isfinite(c->value[CAND_NUMBER]))
        snprintf(number, sizeof number, ":%.0f", c->value[CAND_NUMBER]);
    html_raw(&p->html, "<td>");
    html_text(&p->html, c->list);
    html_raw(&p->html, number);
    if (c->fold) {
        html_raw(&p->html, "<br/>");
        put_link(p, c->fold->file, "pfd");
    }
    html_raw(&p->html, "</td>");
}

static psr_status put_fold(struct page *p, const struct report_cand *c, psr_err *err)
{
    psr_status st = PSR_OK;
    html_raw(&p->html, "<td>");
    if (!c->fold)
        html_raw(&p->html, "not folded");
    else if (!c->fold->picture)
        html_raw(&p->html, "no picture");
    else
        st = page_file_picture(p, c->fold->picture, c->fold->best.candidate, err);
    html_raw(&p->html, "</td>");
    return st;
}

/* The reasons, and the numbers that they are from. */
static void put_score(struct html *h, const struct psr_cand_score *score)
{
    char text[64];
    html_raw(h, "<td>");
    html_text(h, score ? score->reasons : "");
    for (int k = 0; k < PSR_CAND_SNR && score; k++) {
        snprintf(text, sizeof text, "%s%s %.2g",
                 k                 ? ", "
                 : *score->reasons ? ": "
                                   : "",
                 psr_cand_number_name((enum psr_cand_number)k), score->number[k]);
        if (isfinite(score->number[k]))
            html_text(h, text);
    }
    html_raw(h, "</td>");
}

static psr_status put_row(struct page *p, const struct report_cand *c, psr_err *err)
{
    struct html *h = &p->html;
    const double *v = c->value;
    const struct psr_bestprof *best = c->fold ? &c->fold->best : NULL;
    html_raw(h, "<tr>");
    psr_status st = put_fold(p, c, err);
    const double period_s = c->fold ? report_fold_period(c->fold, NULL) : v[CAND_PERIOD_S];
    const double pdot = best ? isfinite(best->topo[0].value) && best->topo[0].value > 0
                                   ? best->topo[1].value
                                   : best->bary[1].value
                             : NAN;
    put_name(p, c);
    html_cell(h, "%.3f", best ? c->fold->score.probability : NAN);
    html_cell(h, "%.1f", best ? best->sigma : NAN);
    html_cell(h, "%.1f", best ? best->sigma_trials : NAN);
    html_cell(h, "%.1f", v[CAND_SIGMA]);
    html_cell(h, "%.2f", best && isfinite(best->dm) ? best->dm : v[CAND_DM]);
    html_cell(h, "%.10g", period_s);
    html_cell(h, "%.3g", pdot);
    html_cell(h, "%.3g", v[CAND_ACCEL_MS2]);
    html_cell(h, "%.0f", v[CAND_NUMHARM]);
    html_cell(h, "%.0f", v[CAND_NUMHITS]);
    html_raw(h, "<td>");
    html_text(h, c->note);
    html_raw(h, "</td><td>");
    html_text(h, c->marks[0] == '-' ? "" : c->marks);
    html_raw(h, "</td>");
    put_score(h, c->fold ? &c->fold->score : NULL);
    html_raw(h, "</tr>\n");
    return st;
}

/* What is in the table, and what is not. */
static void describe(struct page *p, size_t nrow)
{
    const struct report *r = p->r;
    struct html *h = &p->html;
    html_raw(h, "<p>");
    if (r->list) {
        html_raw(h, "From ");
        put_link(p, r->list, r->list);
    } else if (r->nlist) {
        html_raw(h, "No list of accelsift: sifted here, with its defaults, from ");
        html_count(h, r->nlist);
        html_raw(h, " lists of searches");
    } else {
        html_raw(h, "No list of candidates, and no lists of searches");
    }
    html_raw(h, "; ");
    html_count(h, r->nfold);
    html_raw(h, " folds. ");
    if (nrow < r->ncand) {
        html_raw(h, "The best ");
        html_count(h, nrow);
        html_raw(h, " of ");
        html_count(h, r->ncand);
        html_raw(h, " candidates are shown (-rows). ");
    }
    html_raw(h,
             "In order of rank: by the probability that the fold gives, those not folded by sigma "
             "of the search; fundamentals before their harmonics. Of folds of noise and "
             "interference one "
             "in a hundred has a probability above ");
    html_number(h, "%.3f", PSR_CAND_LINE);
    html_raw(
        h, ". "
           "alpha: S/N at DM 0 over S/N. beta: change of the DM by the fold over the DM. gamma: "
           "error of the DM over the DM. share_bands, share_parts: share of sub-bands and of "
           "parts of the observation in which the pulse stands above 1 sigma. halves_band, "
           "halves_time: correlation of the profiles of two halves. accel_ok: 0 if no binary "
           "accelerates so. covered: share of the fold that has data. "
           "S/N is the significance of the fold, after trials that of the best of the independent "
           "trials of its search. The mark dm? counts for nothing: DM 0 fits the "
           "signal, and so does its DM. Click on a picture to enlarge it"
           "<span id=\"hint\" hidden=\"hidden\">, on the head of a column to sort</span>.</p>\n");
}

static psr_status put_rows(struct page *p, const char *id, size_t first, size_t end, psr_err *err)
{
    struct html *h = &p->html;
    psr_status st = PSR_OK;
    page_table(h, id, columns, NCOLUMN);
    for (size_t i = first; i < end && !st && !h->status; i++)
        st = put_row(p, &p->r->cand[i], err);
    page_table_end(h);
    return st;
}

psr_status page_candidates(struct page *p, psr_err *err)
{
    struct html *h = &p->html;
    const size_t most = (size_t)p->r->opt->rows, nrow = p->r->ncand < most ? p->r->ncand : most;
    size_t ngood = 0;
    psr_status st = PSR_OK;
    html_raw(h, "<h2>Candidates</h2>\n");
    describe(p, nrow);
    if (!nrow) {
        html_raw(h, "<p>There is no candidate.</p>\n");
        return PSR_OK;
    }
    while (ngood < nrow && !report_is_marked(&p->r->cand[ngood]))
        ngood++;
    if (ngood)
        st = put_rows(p, "candidates", 0, ngood, err);
    else
        html_raw(h, "<p>No candidate is without marks.</p>\n");
    if (st || ngood == nrow)
        return st;
    html_raw(h, "<h2>Likely interference</h2>\n<p>Candidates with marks. line: at a line of the "
                "sums of all channels, and no stronger. dm0: its power at the DMs searched is what "
                "DM 0 explains, and no pulse of its width at another DM. narrow: the fold has its "
                "pulse in an eighth of the band, and the rest is noise.</p>\n");
    return put_rows(p, "marked", ngood, nrow, err);
}
