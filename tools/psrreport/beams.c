/* What most beams of a pointing see at once: signals of the same frequency, and bursts at the same time. */
#include "psrreport.h"

#include "base/tool.h"
#include <math.h>
#include <psrkit/experimental/singlepulse.h>
#include <stdlib.h>
#include <string.h>

static const double START_S =
    10; /* as far as starts of a pointing's beams may be apart: a degree, where they are at the barycentre */
static const double SHARE = 0.5; /* of the beams; spcoincidence -share */
static const double BINS = 1.1;  /* 1/length within which frequencies are one; accelsift's, too */

/* How many beams see each of a folder's signals, in the order of the folder's files. */
struct seen {
    size_t *count; /* [n] */
    size_t n, nbeam;
};

struct place {
    bool known;
    char telescope[32];
    double start_s, length_s; /* of a common clock */
    bool barycentric;
    double ra_deg, dec_deg;
    size_t folder;
    struct seen signals, bursts;
};

struct report_beams {
    struct place *place; /* [n] by telescope and start; those that are not known last */
    size_t *at;          /* [n] of each folder, its place */
    size_t n;
};

PSR_COMPARE(by_time, struct place,
            PSR_THEN(PSR_FALLING(known),
                     PSR_THEN(strcmp(a->telescope, b->telescope),
                              PSR_THEN(PSR_RISING(start_s), PSR_RISING(folder)))));

/* Reads parts of a folder without a word: what is wrong with them is said when its row is written.
 * Returned: NULL: nothing can be read; the caller clears and frees it otherwise */
static struct report *read_parts(const struct report *like, const char *folder, bool all,
                                 psr_status *st, psr_err *err)
{
    static psr_status (*const parts[])(struct report *, psr_err *) = {
        report_read_folder, report_read_candidates, report_read_bursts};
    struct report *r = malloc(sizeof *r);
    *st = PSR_OK;
    if (!r) {
        *st = psr_fail_nomem(err, folder, sizeof *r);
        return NULL;
    }
    *r = *like;
    r->folder = folder;
    r->silent = true;
    for (size_t i = 0; i < (all ? 3 : 1) && !*st; i++)
        *st = parts[i](r, err);
    if (!*st)
        return r;
    if (*st != PSR_ENOMEM)
        *st = PSR_OK;
    report_clear(r);
    free(r);
    return NULL;
}

static psr_status read_place(struct place *p, const struct report *like, const char *folder,
                             psr_err *err)
{
    psr_status st;
    struct report *r = read_parts(like, folder, false, &st, err);
    if (!r)
        return st;
    const struct psr_inf *inf = &r->inf;
    const double day = (double)inf->epoch.day + inf->epoch.frac;
    p->known = r->has_inf && inf->has_epoch && day > 0 && r->length_s > 0;
    if (p->known) {
        snprintf(p->telescope, sizeof p->telescope, "%.31s", inf->telescope);
        p->start_s = PSR_DAY_S * day;
        p->length_s = r->length_s;
        p->barycentric = inf->barycentric;
        p->ra_deg = inf->ra_deg;
        p->dec_deg = inf->dec_deg;
    }
    report_clear(r);
    free(r);
    return PSR_OK;
}

/* Places from one on that are beams of its pointing. */
static size_t count_pointing(const struct place *p, size_t n)
{
    size_t k = p->known;
    while (p->known && k < n && p[k].known && !strcmp(p[k].telescope, p->telescope) &&
           p[k].start_s - p->start_s <= fmin(START_S, 0.5 * fmin(p->length_s, p[k].length_s)))
        k++;
    return k;
}

/* --- the signals of a pointing ---------------------------------------------------------------- */

struct signals {
    struct psr_beam_pulse *span; /* [n] */
    size_t *count;               /* [n] */
    size_t n, room, nbeam;
    size_t *first; /* [nplace + 1] of each place */
};

/* Those that are no numbers are seen by none. */
static psr_status add_span(struct signals *s, double first, double last, size_t beam, psr_err *err)
{
    const bool is = isfinite(first) && isfinite(last) && last >= first;
    psr_status st =
        psr_grow(&s->span, &s->room, s->n, sizeof *s->span, "the signals of beams", err);
    if (st == PSR_OK)
        s->span[s->n++] = (struct psr_beam_pulse){is ? first : -1e18, is ? last : -1e18, beam};
    return st;
}

/* Searches of one direction are one beam. */
static size_t find_beam(const struct place *p, size_t k)
{
    size_t i = 0;
    while (i < k && (p[i].ra_deg != p[k].ra_deg || p[i].dec_deg != p[k].dec_deg))
        i++;
    return i;
}

/* Given:  nbeam   places have numbers of beams below it
 * Status: PSR_ENOMEM */
static psr_status count_signals(struct signals *s, size_t nplace, bool *has, psr_err *err)
{
    s->nbeam = 0;
    for (size_t k = 0; k < nplace; k++)
        s->nbeam += has[k];
    s->count = calloc(s->n + 1, sizeof *s->count);
    return s->count ? psr_pulse_count_beams(s->span, s->n, nplace, 0, s->count, err)
                    : psr_fail_nomem(err, "the signals of beams", (double)s->n * sizeof *s->count);
}

static psr_status keep_counts(struct seen *to, const struct signals *s, size_t k, psr_err *err)
{
    to->n = s->first[k + 1] - s->first[k];
    to->nbeam = s->nbeam;
    to->count = malloc((to->n + 1) * sizeof *to->count);
    if (!to->count)
        return psr_fail_nomem(err, "the signals of beams", (double)to->n * sizeof *to->count);
    memcpy(to->count, s->count + s->first[k], to->n * sizeof *to->count);
    return PSR_OK;
}

struct pointing {
    struct place *place; /* [n] */
    size_t n;
    struct signals signals, bursts;
    bool *has_signals, *has_bursts; /* [n] of the first place of a beam: there is a list of them */
};

static psr_status add_place(struct pointing *g, size_t k, const struct report *r, psr_err *err)
{
    const struct place *p = &g->place[k];
    const size_t beam = find_beam(g->place, k);
    const double clock_s = p->barycentric ? 0 : p->start_s - g->place->start_s;
    psr_status st = PSR_OK;
    g->has_signals[beam] |= r->list || r->nlist;
    g->has_bursts[beam] |= r->burst_file != NULL;
    for (size_t i = 0; i < r->ncand && !st; i++) {
        const double *v = r->cand[i].value;
        const double half_hz = BINS / 2 / p->length_s;
        st = add_span(&g->signals, v[CAND_FREQ_HZ] - half_hz, v[CAND_FREQ_HZ] + half_hz, beam, err);
    }
    for (size_t i = 0; i < r->nburst && !st; i++)
        st = add_span(&g->bursts, clock_s + r->burst[i].first_s, clock_s + r->burst[i].last_s, beam,
                      err);
    return st;
}

static psr_status count_places(struct pointing *g, const struct report *like, char *const *folder,
                               psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < g->n && !st; k++) {
        g->signals.first[k] = g->signals.n;
        g->bursts.first[k] = g->bursts.n;
        struct report *r = read_parts(like, folder[g->place[k].folder], true, &st, err);
        if (r) {
            st = add_place(g, k, r, err);
            report_clear(r);
            free(r);
        }
    }
    g->signals.first[g->n] = g->signals.n;
    g->bursts.first[g->n] = g->bursts.n;
    if (!st)
        st = count_signals(&g->signals, g->n, g->has_signals, err);
    if (!st)
        st = count_signals(&g->bursts, g->n, g->has_bursts, err);
    for (size_t k = 0; k < g->n && !st; k++) {
        st = keep_counts(&g->place[k].signals, &g->signals, k, err);
        if (!st)
            st = keep_counts(&g->place[k].bursts, &g->bursts, k, err);
    }
    return st;
}

static psr_status count_in(struct place *place, size_t n, const struct report *like,
                           char *const *folder, psr_err *err)
{
    struct pointing g = {.place = place, .n = n};
    g.signals.first = calloc(n + 1, sizeof *g.signals.first);
    g.bursts.first = calloc(n + 1, sizeof *g.bursts.first);
    g.has_signals = calloc(n, sizeof *g.has_signals);
    g.has_bursts = calloc(n, sizeof *g.has_bursts);
    psr_status st = g.signals.first && g.bursts.first && g.has_signals && g.has_bursts
                        ? count_places(&g, like, folder, err)
                        : psr_fail_nomem(err, "the signals of beams", (double)n * 32);
    for (int i = 0; i < 2; i++) {
        struct signals *s = i ? &g.bursts : &g.signals;
        free(s->first);
        free(s->span);
        free(s->count);
    }
    free(g.has_signals);
    free(g.has_bursts);
    return st;
}

/* --- all folders ------------------------------------------------------------------------------ */

psr_status report_beams_read(struct report_beams **to, const struct report *like,
                             char *const *folder, size_t n, psr_err *err)
{
    struct report_beams *b = calloc(1, sizeof *b);
    *to = b;
    if (!b)
        return psr_fail_nomem(err, "the beams", sizeof *b);
    b->n = n;
    b->place = calloc(n + 1, sizeof *b->place);
    b->at = calloc(n + 1, sizeof *b->at);
    if (!b->place || !b->at)
        return psr_fail_nomem(err, "the beams", (double)n * sizeof *b->place);
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++) {
        b->place[i].folder = i;
        st = read_place(&b->place[i], like, folder[i], err);
    }
    qsort(b->place, n, sizeof *b->place, by_time);
    for (size_t i = 0; i < n; i++)
        b->at[b->place[i].folder] = i;
    for (size_t i = 0, k; i < n && !st; i += k ? k : 1) {
        k = count_pointing(b->place + i, n - i);
        if (k > 1)
            st = count_in(b->place + i, k, like, folder, err);
    }
    return st;
}

static bool is_in_most(const struct seen *s, size_t i, size_t n)
{
    return s->n == n && s->count[i] >= 2 && (double)s->count[i] > SHARE * (double)s->nbeam;
}

/* Given: room   bytes of marks */
static void add_mark(char *marks, size_t room)
{
    static const char name[] = "beams";
    const size_t n = strcmp(marks, "-") != 0 ? strlen(marks) : 0;
    if (!strstr(marks, name) && n + 1 + sizeof name <= room)
        snprintf(marks + n, room - n, "%s%s", n ? "+" : "", name);
}

void report_beams_mark(const struct report_beams *b, size_t folder, struct report *r,
                       size_t marked[2])
{
    const struct place *p = &b->place[b->at[folder]];
    for (size_t i = 0; i < r->ncand && p->signals.n == r->ncand; i++) {
        r->cand[i].nseen = p->signals.count[i];
        r->cand[i].nbeam = p->signals.nbeam;
        if (is_in_most(&p->signals, i, r->ncand)) {
            add_mark(r->cand[i].marks, sizeof r->cand[i].marks);
            marked[0]++;
        }
    }
    for (size_t i = 0; i < r->nburst; i++)
        if (is_in_most(&p->bursts, i, r->nburst)) {
            add_mark(r->burst[i].marks, sizeof r->burst[i].marks);
            marked[1]++;
        }
}

void report_beams_destroy(struct report_beams *b)
{
    for (size_t i = 0; b && b->place && i < b->n; i++) {
        free(b->place[i].signals.count);
        free(b->place[i].bursts.count);
    }
    if (b) {
        free(b->place);
        free(b->at);
    }
    free(b);
}
