/* The table of candidates. */
#include "page.h"

#include "tools/common/plot/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- explains the numbers and marks of a page, a sentence each -------------------------------- */

struct word {
    const char *name, *meaning;
};

/* The numbers of a fold, from which its probability is computed. */
static const char *const numbers[PSR_CAND_NNUMBER] = {
    [PSR_CAND_ALPHA] = "S/N of the fold at DM 0 over its S/N: a dispersed pulse is below 1.",
    [PSR_CAND_BETA] = "How far the fold moved the DM of the search, over that DM; it does not "
                      "count for candidates marked dm?.",
    [PSR_CAND_GAMMA] = "Error of the DM over the DM.",
    [PSR_CAND_SHARE_BANDS] = "Share of the sub-bands that have the profile of the others above "
                             "1 sigma.",
    [PSR_CAND_SHARE_PARTS] = "Share of the parts of the observation that have the profile of the "
                             "others above 1 sigma.",
    [PSR_CAND_HALVES_BAND] = "Correlation of the profiles of the lower and the upper half of the "
                             "band.",
    [PSR_CAND_HALVES_TIME] = "Correlation of the profiles of the first and the second half of the "
                             "observation.",
    [PSR_CAND_ACCEL_OK] = "1 if a binary can accelerate so (below 1000 m/s\xc2\xb2, or less than 4 "
                          "bins of drift), else 0.",
    [PSR_CAND_COVERED] = "Share of sub-bands and parts that have data, times the share of a turn "
                         "that a part covers.",
    [PSR_CAND_SNR] = "S/N of the profile's harmonics: the root of Z\xc2\xb2 - 2n of n harmonics.",
    [PSR_CAND_DM0_SIGMA] = "Sigma by which the fold rejects DM 0, negative where DM 0 is better.",
    [PSR_CAND_BANDS_RATIO] = "share_bands over what a pulse of this S/N in the whole band has.",
    [PSR_CAND_PULSE_SHARE] =
        "S/N of the best boxcar in the profile over snr: 0.5 of noise, 1 of a pulse.",
};

static const struct word explained[] = {
    {"Probability", "That the fold is of a dispersed, periodic signal of the whole band, from the "
                    "numbers of the fold."},
    {"S/N", "Significance of the fold's best profile."},
    {"After trials", "The same, for the best of the independent trials of the fold's search."},
    {"Search sigma", "Significance in the search, for a single trial."},
    {"Harmonics", "How many harmonics the search has summed."},
    {"DMs", "At how many DMs it was detected."},
    {"Found by", "fourier: a search of spectra for accelerated pulsars; ffa: a fast folding search "
                 "for slow ones."},
    {"Known", "p/q NAME: p/q times the frequency of this pulsar; with ? chance explains it."},
};

static const struct word marks[] = {
    {"line",
     "Interference: at a line of the sums of all channels, and no stronger; weaker, unless marked "
     "dm0."},
    {"dm0", "Interference: DM 0 fits what is seen, and no pulse of its width at another DM does."},
    {"narrow", "Interference: its pulse is in an eighth of the band, and the rest is noise."},
    {"turns", "Fewer than 3 turns in the observation, which red noise has, too."},
    {"beams", "Interference: most beams of the pointing see it, at the same frequency or time."},
    {"edge",
     "Of a burst: beside samples without data, or where the level changes, which may make it."},
    {"dm?", "Counts for nothing: DM 0 fits the signal, and so does its DM."},
    {"clip", "Counts for nothing: clipping has cut this burst, which is brighter than its S/N."},
};

static void put_word(struct html *h, const char *name, const char *meaning)
{
    html_raw(h, "<dt>");
    html_text(h, name);
    html_raw(h, "</dt><dd>");
    html_text(h, meaning);
    html_raw(h, "</dd>\n");
}

static const struct page_column columns[] = {
    {"Fold", PAGE_TEXT},
    {"Verdict", PAGE_TEXT},
    {"Candidate", PAGE_TEXT},
    {"Probability", PAGE_DOWN},
    {"S/N", PAGE_DOWN},
    {"After trials", PAGE_DOWN},
    {"Search sigma", PAGE_DOWN},
    {PAGE_DM, PAGE_UP},
    {"Period (s)", PAGE_UP},
    {"P-dot", PAGE_UP},
    {"Acceleration (m s\xe2\x81\xbb\xc2\xb2)", PAGE_UP},
    {"Harmonics", PAGE_DOWN},
    {"DMs", PAGE_DOWN},
    {"Found by", PAGE_TEXT},
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

static void put_text(struct html *h, const char *text)
{
    html_raw(h, "<td>");
    html_text(h, text);
    html_raw(h, "</td>");
}

static void put_number(struct html *h, const struct report_cand *c)
{
    char number[32] = "";
    if (isfinite(c->value[CAND_NUMBER]))
        snprintf(number, sizeof number, ":%.0f", c->value[CAND_NUMBER]);
    html_text(h, c->list);
    html_raw(h, number);
}

/* The row's name, and a cell for the script's buttons. */
static void put_name(struct page *p, const struct report_cand *c)
{
    html_raw(&p->html, "<td class=\"v\"></td><td class=\"c\">");
    put_number(&p->html, c);
    if (c->fold) {
        html_raw(&p->html, "<br/>");
        put_link(p, c->fold->file, "pfd");
    }
    html_raw(&p->html, "</td>");
}

/* The reasons, and the numbers that they are from. */
static void put_score(struct html *h, const struct psr_cand_score *score)
{
    char text[64];
    html_raw(h, "<td>");
    html_text(h, score ? score->reasons : "");
    for (int k = 0; k < PSR_CAND_NNUMBER && score; k++) {
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
    html_raw(h, "<tr data-c=\"");
    put_number(h, c);
    if (c->verdict) {
        html_raw(h, "\" data-verdict=\"");
        html_raw(h, c->verdict);
    }
    html_raw(h, "\">");
    psr_status st = PSR_OK;
    html_raw(&p->html, "<td class=\"fold\">");
    if (!c->fold)
        html_raw(&p->html, "not folded");
    else if (!c->fold->picture)
        html_raw(&p->html, "no picture");
    else
        st = page_file_picture(p, c->fold->picture, c->fold->best.candidate, err);
    html_raw(&p->html, "</td>");
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
    put_text(h, c->found);
    put_text(h, c->note);
    put_text(h, c->marks[0] == '-' ? "" : c->marks);
    put_score(h, c->fold ? &c->fold->score : NULL);
    html_raw(h, "</tr>\n");
    return st;
}

/* What is in the tables, and what is not. */
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
    html_raw(h, "In order of rank: by the probability that the fold gives, those not folded by "
                "sigma of the search; fundamentals before their harmonics. Of folds of noise and "
                "interference one in a hundred has a probability above ");
    html_number(h, "%.3f", PSR_CAND_LINE);
    html_raw(h,
             ". Click on a picture to enlarge it"
             "<span id=\"hint\" hidden=\"hidden\">, on the head of a column to sort</span>.</p>\n");
}

static const struct section {
    const char *id, *head;
} sections[] = {
    [REPORT_GOOD] = {"candidates", ""},
    [REPORT_KNOWN] =
        {"known",
         "<h2>Known pulsars</h2>\n<p>Candidates at the period of a pulsar of the "
         "catalogue, or at a ratio of small numbers to it, and folds by an ephemeris.</p>\n"},
    [REPORT_MARKED] = {"marked", "<h2>Likely interference</h2>\n<p>Candidates with marks.</p>\n"},
};

static psr_status put_section(struct page *p, enum report_class class, size_t nrow, psr_err *err)
{
    struct html *h = &p->html;
    psr_status st = PSR_OK;
    size_t n = 0;
    for (size_t i = 0; i < nrow && !st && !h->status; i++) {
        if (report_classify(&p->r->cand[i]) != class)
            continue;
        if (!n++) {
            html_raw(h, sections[class].head);
            page_table(h, sections[class].id, columns, NCOLUMN);
        }
        st = put_row(p, &p->r->cand[i], err);
    }
    if (n)
        page_table_end(h);
    else if (class == REPORT_GOOD)
        html_raw(h, "<p>All candidates are known or have marks.</p>\n");
    return st;
}

psr_status page_candidates(struct page *p, psr_err *err)
{
    struct html *h = &p->html;
    const size_t most = (size_t)p->r->opt->rows, nrow = p->r->ncand < most ? p->r->ncand : most;
    psr_status st = PSR_OK;
    html_raw(h, "<h2>Candidates</h2>\n");
    describe(p, nrow);
    if (!nrow) {
        html_raw(h, "<p>There is no candidate.</p>\n");
        return PSR_OK;
    }
    /* Explains numbers and marks. */
    html_raw(h, "<details id=\"words\"><summary>What numbers and marks say</summary>\n<dl>\n");
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++)
        put_word(h, explained[i].name, explained[i].meaning);
    for (int k = 0; k < PSR_CAND_NNUMBER; k++)
        put_word(h, psr_cand_number_name((enum psr_cand_number)k), numbers[k]);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        put_word(h, marks[i].name, marks[i].meaning);
    html_raw(h, "</dl></details>\n");
    page_filter(h);
    for (int k = 0; k < REPORT_NCLASS && !st; k++)
        st = put_section(p, (enum report_class)k, nrow, err);
    return st;
}

/* --- pulses -------------------------------------------------------------------------------------- */

static const struct page_column burst_columns[] = {
    {"Picture", PAGE_TEXT},  {"S/N", PAGE_DOWN},
    {"Time (s)", PAGE_UP},   {"DM (pc cm\xe2\x81\xbb\xc2\xb3)", PAGE_UP},
    {"Width (ms)", PAGE_UP}, {"Events", PAGE_DOWN},
    {"Marks", PAGE_TEXT},
};
enum { NBURST_COLUMN = sizeof burst_columns / sizeof *burst_columns, PICTURES = 20 };

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
    page_table(h, "bursts", burst_columns, NBURST_COLUMN);
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
