/* Pictures of the spectra around bursts, of ROOT.bursts.jsonl. */
#include "psrreport.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static psr_status take_view(void *ctx, char *text, struct json_value *object, bool *keep,
                            psr_err *err)
{
    struct report *r = ctx;
    psr_status st = psr_grow(&r->view, &r->view_room, r->nview, sizeof *r->view, "a report", err);
    if (st)
        return st;
    r->view[r->nview++] = (struct report_view){.json = object,
                                               .text = text,
                                               .time_s = json_number(object, "time_s"),
                                               .dm = json_number(object, "dm")};
    *keep = true;
    return PSR_OK;
}

psr_status report_read_views(struct report *r, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < r->files.n && !st; i++)
        if (psr_path_ends(r->files.name[i], ".bursts.jsonl") ||
            psr_path_ends(r->files.name[i], ".bursts.json")) /* as it was called before */
            st = report_read_json(r, r->files.name[i], take_view, r, err);
    return st;
}

/* The list of bursts has times to 1 us, and DMs to ten digits. */
const struct report_view *report_find_view(const struct report *r, const struct report_burst *b)
{
    for (size_t i = 0; i < r->nview; i++)
        if (fabs(r->view[i].time_s - b->time_s) < 2e-6 &&
            fabs(r->view[i].dm - b->dm) <= 1e-9 * fabs(b->dm))
            return &r->view[i];
    return NULL;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Cells, from the lowest frequency up.
 * Returned: whether there are as many as there must be */
static bool decode(struct report_picture *p, const char *cells, bool flip)
{
    const size_t n = p->nt * p->nf;
    for (size_t i = 0; i < n; i++) {
        const int high = digit_of(cells[2 * i]), low = high < 0 ? -1 : digit_of(cells[2 * i + 1]);
        if (low < 0)
            return false;
        const size_t row = flip ? p->nf - 1 - i / p->nt : i / p->nt;
        const int value = 16 * high + low;
        p->value[row * p->nt + i % p->nt] =
            value ? (float)(p->low + (p->high - p->low) * (value - 1) / 254) : NAN;
    }
    return cells[2 * n] == '\0';
}

static bool fill(struct report_picture *p, const struct json_value *object)
{
    enum { MOST = 4096 };
    const double nt = json_number(object, "columns"), nf = json_number(object, "rows");
    const double first_mhz = json_number(object, "first_mhz"),
                 row_mhz = json_number(object, "row_mhz");
    if (!(nt >= 1 && nt <= MOST && nf >= 1 && nf <= MOST))
        return false;
    p->nt = (size_t)nt;
    p->nf = (size_t)nf;
    p->start_s = json_number(object, "start_s");
    p->end_s = p->start_s + json_number(object, "step_s") * (double)p->nt;
    p->low_mhz = row_mhz > 0 ? first_mhz : first_mhz + row_mhz * (double)p->nf;
    p->high_mhz = row_mhz > 0 ? first_mhz + row_mhz * (double)p->nf : first_mhz;
    p->low = json_number(object, "low");
    p->high = json_number(object, "high");
    p->value = malloc(p->nt * p->nf * sizeof *p->value);
    return p->value && p->end_s > p->start_s && p->high_mhz > p->low_mhz && p->high > p->low &&
           decode(p, json_text(object, "cells"), row_mhz < 0);
}

bool report_picture_read(struct report_picture *p, const struct report_view *view, const char *name)
{
    *p = (struct report_picture){.nt = 0};
    if (fill(p, json_member(view->json, name)))
        return true;
    free(p->value);
    p->value = NULL;
    return false;
}
