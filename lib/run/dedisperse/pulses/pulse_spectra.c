/* Marks pulses by their spectra, which are read again. */
#include "pulse_parts.h"

#include "base/tool.h"
#include "formats/spectra/header_keys.h"
#include "search/singlepulse/singlepulse_internal.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* --- writes the pictures of pulses, a line of JSON each --------------------------------------- */

static void find_limits(const struct psr_pulse_picture *p, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < p->nt * p->nf; i++)
        if (!isnan(p->value[i])) {
            *low = fmin(*low, (double)p->value[i]);
            *high = fmax(*high, (double)p->value[i]);
        }
    if (!(*low < *high)) {
        *low = *low < INFINITY ? *low - 1 : 0;
        *high = *low + 1;
    }
}

/* --- frequencies ------------------------------------------------------------------------------ */

enum { ROWS_MAX = 64 };

/* Rows of a picture at even distances; value is NULL where they are its own. */
struct rows {
    double first_mhz, row_mhz; /* edge of the first, and width, which may be negative */
    size_t n;
    float *value; /* [n][columns] owned */
};

static size_t nearest_channel(const struct psr_obs *obs, double mhz)
{
    size_t best = 0;
    for (size_t c = 1; c < obs->nchan; c++)
        if (fabs(psr_obs_freq_mhz(obs, c) - mhz) < fabs(psr_obs_freq_mhz(obs, best) - mhz))
            best = c;
    return best;
}

/* A band with gaps: rows where there is no channel stay empty. */
static psr_status spread_rows(struct rows *rows, const struct psr_pulse_picture *p,
                              const struct psr_obs *obs, const struct psr_obs_band *band,
                              psr_err *err)
{
    const double span_mhz = band->highest_mhz - band->lowest_mhz + band->chan_mhz;
    rows->n = (size_t)fmin(ROWS_MAX, ceil(span_mhz / band->chan_mhz));
    rows->first_mhz = band->lowest_mhz - band->chan_mhz / 2;
    rows->row_mhz = span_mhz / (double)rows->n;
    rows->value = malloc(rows->n * p->nt * sizeof *rows->value);
    if (!rows->value)
        return psr_fail_nomem(err, "the picture of a pulse", (double)rows->n * (double)p->nt * 4);
    for (size_t r = 0; r < rows->n; r++) {
        const double mhz = rows->first_mhz + ((double)r + 0.5) * rows->row_mhz;
        const size_t c = nearest_channel(obs, mhz);
        const bool has = fabs(psr_obs_freq_mhz(obs, c) - mhz) <=
                         fmax(rows->row_mhz, band->chan_mhz) * (0.5 + 1e-9);
        for (size_t k = 0; k < p->nt; k++)
            rows->value[r * p->nt + k] = has ? p->value[c / p->nrow_chan * p->nt + k] : NAN;
    }
    return PSR_OK;
}

static psr_status find_rows(struct rows *rows, const struct psr_pulse_picture *p,
                            const struct psr_obs *obs, psr_err *err)
{
    const struct psr_obs_band band = psr_obs_band(obs);
    const double step_mhz = band.rising ? band.spacing_mhz : -band.spacing_mhz;
    *rows = (struct rows){.first_mhz = psr_obs_freq_mhz(obs, 0) - step_mhz / 2,
                          .row_mhz = (double)p->nrow_chan * step_mhz,
                          .n = p->nf};
    return band.even || p->nf == 1 ? PSR_OK : spread_rows(rows, p, obs, &band, err);
}

/* --- lines ------------------------------------------------------------------------------------ */

static psr_status put_picture(struct psr_json *j, const char *name,
                              const struct psr_pulse_picture *p,
                              const struct psr_pulse_view_place *at, psr_err *err)
{
    const struct psr_obs *obs = at->obs;
    struct psr_pulse_picture shown = *p;
    struct rows rows;
    double low, high;
    psr_status st = find_rows(&rows, p, obs, err);
    if (st)
        return st;
    shown.nf = rows.n;
    shown.value = rows.value ? rows.value : p->value;
    find_limits(&shown, &low, &high);
    /* Cells are 01 (at low) to ff (at high); 00: no data. */
    const size_t n = shown.nt * shown.nf;
    char *cells = malloc(2 * n + 1);
    for (size_t i = 0; i < n && cells; i++) {
        const double x = (double)shown.value[i];
        const double share = fmin(fmax((x - low) / (high - low), 0), 1);
        snprintf(cells + 2 * i, 3, "%02x", isnan(x) ? 0U : 1U + (unsigned)lrint(254 * share));
    }
    free(rows.value);
    if (!cells)
        return psr_fail_nomem(err, "the picture of a pulse", 2 * (double)p->nt * (double)rows.n);
    psr_json_begin(j, name, PSR_JSON_OBJECT);
    psr_json_double(j, "start_s", ((double)(p->first - at->first) - at->width / 2) * obs->tsamp_s);
    psr_json_double(j, "step_s", (double)p->step * obs->tsamp_s);
    psr_json_double(j, "first_mhz", rows.first_mhz);
    psr_json_double(j, "row_mhz", rows.row_mhz);
    psr_json_int(j, "columns", (int64_t)p->nt);
    psr_json_int(j, "rows", (int64_t)rows.n);
    psr_json_double(j, "low", low);
    psr_json_double(j, "high", high);
    psr_json_string(j, "cells", cells);
    psr_json_end(j, PSR_JSON_OBJECT);
    free(cells);
    return PSR_OK;
}

/* Writes a line of ROOT.bursts.jsonl (psrkit-formats(5)).
 * Status: those of psr_outfile_write, PSR_ENOMEM */
static psr_status pulse_view_write(psr_outfile *f, const psr_pulse_view *view,
                                   const struct psr_pulse_view_place *at, psr_err *err)
{
    struct psr_json j = {.put = psr_json_put, .ctx = f};
    struct psr_pulse_picture aligned, swept, series;
    psr_pulse_view_pictures(view, &aligned, &swept, &series);
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_double(&j, "time_s", at->time_s);
    psr_json_double(&j, "dm", at->dm);
    psr_json_double(&j, "snr", at->snr);
    psr_json_double(&j, "width_s", at->width * at->obs->tsamp_s);
    psr_status st = put_picture(&j, "series", &series, at, err);
    if (!st)
        st = put_picture(&j, "aligned", &aligned, at, err);
    if (!st)
        st = put_picture(&j, "swept", &swept, at, err);
    psr_json_end(&j, PSR_JSON_OBJECT);
    return st ? st : psr_outfile_printf(f, err, "\n");
}

/* --- marks pulses by their spectra, which are read again -------------------------------------- */

enum {
    CHUNK = 256, /* spectra read at a time */
    CLIPPED_SHARE =
        10 /* one in so many spectra of a pulse is clipped: it is brighter than it seems */
};

struct places {
    struct psr_pulse_place *place; /* [n] ascending */
    size_t n, room;
};

/* A pulse, in order of the input. */
struct visit {
    int64_t first;
    size_t index;
};

struct psr_pulse_spectra {
    struct psr_own own;
    const struct psr_sink_stream *stream;
    struct places *line; /* [nline] */
    double *freq_mhz;    /* [nchan] */
    int64_t *delay;      /* [nchan] */
    float *x;            /* [CHUNK][nchan] */
    float *part;         /* [CHUNK][npart] of the part of the band that a pulse was found in */
    int64_t *part_delay; /* [npart] */
    size_t *part_chan;   /* [npart] */
    size_t npart;
    psr_pulse_view **view; /* [nview] of the best pulses; NULL: no picture */
    size_t nview;

    /* The marking, in a thread of its own, and what is to be said of it. */
    struct psr_async_task task;
    struct psr_cluster *cluster; /* [ncluster] */
    size_t ncluster, nseen, nundrawn;
    psr_err unseen, undrawn; /* why not */
    atomic_bool awaited;     /* nothing else is done */
};

psr_status psr_pulse_spectra_create(psr_pulse_spectra **out, const struct psr_sink_stream *stream,
                                    psr_err *err)
{
    const size_t nchan = stream->obs->nchan;
    psr_pulse_spectra *p = calloc(1, sizeof *p);
    *out = p;
    if (!p)
        return psr_fail_nomem(err, "the spectra of pulses", sizeof *p);
    p->stream = stream;
    p->line = psr_own(&p->own, stream->nline, sizeof *p->line);
    p->freq_mhz = psr_own(&p->own, nchan, sizeof *p->freq_mhz);
    p->delay = psr_own(&p->own, nchan, sizeof *p->delay);
    p->x = psr_own(&p->own, CHUNK * nchan, sizeof *p->x);
    p->part = psr_own(&p->own, CHUNK * nchan, sizeof *p->part);
    p->part_delay = psr_own(&p->own, nchan, sizeof *p->part_delay);
    p->part_chan = psr_own(&p->own, nchan, sizeof *p->part_chan);
    psr_status st = psr_own_check(&p->own, "the spectra of pulses", err);
    for (size_t c = 0; c < nchan && !st; c++)
        p->freq_mhz[c] = psr_obs_freq_mhz(stream->obs, c) * (1 + stream->voverc);
    return st;
}

psr_status psr_pulse_spectra_place(psr_pulse_spectra *p, size_t line, struct psr_pulse_place now,
                                   psr_err *err)
{
    const int64_t downsamp = p->stream->line[line].downsamp;
    struct places *l = &p->line[line];
    const struct psr_pulse_place *last = l->n ? &l->place[l->n - 1] : NULL;
    if (last && last->spectrum + (now.first - last->first) * downsamp == now.spectrum)
        return PSR_OK;
    psr_status st =
        psr_grow(&l->place, &l->room, l->n, sizeof *l->place, "the times of blocks", err);
    if (!st)
        l->place[l->n++] = now;
    return st;
}

/* A bin is added before a sample, or takes its place away. */
psr_status psr_pulse_spectra_note(psr_pulse_spectra *p, size_t line, const struct psr_block *b,
                                  psr_err *err)
{
    const int64_t downsamp = p->stream->line[line].downsamp;
    struct psr_pulse_place now = {b->first, b->spectrum};
    int64_t shift = 0;
    psr_status st = b->n ? psr_pulse_spectra_place(p, line, now, err) : PSR_OK;
    for (size_t k = 0; k < b->nmoved && !st; k++) {
        const int64_t next = (int64_t)b->moved[k].at + (b->moved[k].step < 0);
        shift += b->moved[k].step;
        now = (struct psr_pulse_place){b->first + next + shift, b->spectrum + next * downsamp};
        st = psr_pulse_spectra_place(p, line, now, err);
    }
    return st;
}

const struct psr_pulse_place *psr_pulse_spectra_places(const psr_pulse_spectra *p, size_t line,
                                                       size_t *n)
{
    *n = p->line[line].n;
    return p->line[line].place;
}

size_t psr_pulse_line_of(const struct psr_sink_stream *stream, size_t trial)
{
    size_t line = 0;
    while (line + 1 < stream->nline && trial >= stream->line[line + 1].first)
        line++;
    return line;
}

static size_t line_of(const psr_pulse_spectra *p, size_t trial)
{
    return psr_pulse_line_of(p->stream, trial);
}

static int64_t first_of(const psr_pulse_spectra *p, const struct psr_event *e)
{
    /* The spectrum with which a sample begins. */
    size_t line = line_of(p, e->trial);
    int64_t sample = e->sample - e->width / 2;
    const struct places *l = &p->line[line];
    size_t low = 0, high = l->n;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (l->place[middle].first <= sample)
            low = middle;
        else
            high = middle;
    }
    const struct psr_pulse_place none = {0}, *at = l->n ? &l->place[low] : &none;
    return at->spectrum + (sample - at->first) * p->stream->line[line].downsamp;
}

/* The delays stay until the next pulse. */
static struct psr_pulse_spectrum_desc describe(psr_pulse_spectra *p, const struct psr_event *e)
{
    const struct psr_sink_stream *s = p->stream;
    const size_t nchan = s->obs->nchan;
    double high_mhz = 0;
    for (size_t c = 0; c < nchan; c++)
        high_mhz = fmax(high_mhz, p->freq_mhz[c]);
    for (size_t c = 0; c < nchan; c++) {
        const int64_t d = psr_delay_samples(s->dmconst, s->dm[e->trial], p->freq_mhz[c], high_mhz,
                                            s->obs->tsamp_s);
        p->delay[c] = d > 0 ? d : 0;
    }
    return (struct psr_pulse_spectrum_desc){.size = sizeof(struct psr_pulse_spectrum_desc),
                                            .nchan = nchan,
                                            .delay = p->delay,
                                            .first = first_of(p, e),
                                            .width =
                                                e->width * s->line[line_of(p, e->trial)].downsamp};
}

/* The same of the part of the band that the pulse was found in: interference is in an eighth of that. */
static struct psr_pulse_spectrum_desc describe_part(psr_pulse_spectra *p, const struct psr_event *e,
                                                    const struct psr_pulse_spectrum_desc *whole)
{
    const struct psr_sink_line *l = &p->stream->line[line_of(p, e->trial)];
    struct psr_pulse_spectrum_desc d = *whole;
    p->npart = 0;
    for (size_t c = 0; c < whole->nchan; c++) {
        const double mhz = psr_obs_freq_mhz(p->stream->obs, c);
        if (l->part && (mhz < l->low_mhz || mhz > l->high_mhz))
            continue;
        p->part_delay[p->npart] = p->delay[c];
        p->part_chan[p->npart++] = c;
    }
    d.nchan = p->npart;
    d.delay = p->part_delay;
    return d;
}

/* All spectra in which the pulse is, in the part of the band that it was found in. */
static struct psr_span spectra_of(const psr_pulse_spectra *p, const struct psr_event *e)
{
    const struct psr_sink_stream *s = p->stream;
    const struct psr_sink_line *l = &s->line[line_of(p, e->trial)];
    const double dm = s->dm[e->trial], moved = 1 + s->voverc,
                 top_s = psr_delay_s(s->dmconst, dm, psr_obs_highest_mhz(s->obs) * moved),
                 first_s = psr_delay_s(s->dmconst, dm, l->high_mhz * moved) - top_s,
                 last_s = psr_delay_s(s->dmconst, dm, l->low_mhz * moved) - top_s;
    const int64_t late = (int64_t)(fmax(first_s, 0) / s->obs->tsamp_s),
                  later = (int64_t)(fmax(last_s, 0) / s->obs->tsamp_s);
    return (struct psr_span){first_of(p, e) + late, e->width * l->downsamp + later - late};
}

/* Of n ranges, ascending.  Returned: spectra that they have in common with another */
static int64_t count_common(const struct psr_span *span, size_t n, struct psr_span with)
{
    const int64_t end = with.first + with.count;
    int64_t common = 0;
    size_t k = 0;
    for (size_t left = n; left > 0;) {
        const size_t half = left / 2;
        const bool before = span[k + half].first + span[k + half].count <= with.first;
        k += before ? half + 1 : 0;
        left = before ? left - half - 1 : half;
    }
    for (; k < n && span[k].first < end; k++) {
        const int64_t last = span[k].first + span[k].count;
        common +=
            (last < end ? last : end) - (span[k].first > with.first ? span[k].first : with.first);
    }
    return common;
}

void psr_pulse_spectra_clips(psr_pulse_spectra *p, struct psr_cluster *clusters, size_t n)
{
    const struct psr_sink_stream *s = p->stream;
    const struct psr_span *clip;
    const size_t nclip = s->clips ? s->clips(s->clips_ctx, &clip) : 0;
    for (size_t k = 0; nclip && k < n; k++) {
        const struct psr_span of = spectra_of(p, &clusters[k].best);
        if (CLIPPED_SHARE * count_common(clip, nclip, of) >= of.count)
            clusters[k].marks |= PSR_PULSE_CLIPPED;
    }
}

/* What is made of the spectra around a pulse; no view: NULL. */
struct watched {
    psr_pulse_spectrum *spectrum;
    psr_pulse_levels *levels;
    psr_pulse_view *view;
    int64_t t, end;
};

/* A picture ends no search. */
static void leave_out(psr_pulse_spectra *p, const psr_err *why)
{
    p->undrawn = p->nundrawn++ ? p->undrawn : *why;
}

static psr_status watch(psr_pulse_spectra *p, struct watched *w,
                        const struct psr_pulse_spectrum_desc *d,
                        const struct psr_pulse_spectrum_desc *part, bool view, psr_err *err)
{
    int64_t first = 0, end = 0;
    psr_err why;
    *w = (struct watched){.t = 0};
    psr_status st = psr_pulse_spectrum_create(&w->spectrum, part, err);
    if (!st)
        st = psr_pulse_levels_create(&w->levels, part, err);
    if (st)
        return st;
    psr_pulse_spectrum_range(w->spectrum, &w->t, &w->end);
    if (view && psr_pulse_view_create(&w->view, d, &why))
        leave_out(p, &why);
    if (!w->view)
        return PSR_OK;
    psr_pulse_view_range(w->view, &first, &end);
    w->t = first < w->t ? first : w->t;
    w->end = end > w->end ? end : w->end;
    return PSR_OK;
}

static const float *take_part(psr_pulse_spectra *p, size_t n)
{
    const size_t nchan = p->stream->obs->nchan;
    if (p->npart == nchan)
        return p->x;
    for (size_t t = 0; t < n; t++)
        for (size_t k = 0; k < p->npart; k++)
            p->part[t * p->npart + k] = p->x[t * nchan + p->part_chan[k]];
    return p->part;
}

static psr_status read_around(psr_pulse_spectra *p, struct watched *w, psr_err *err)
{
    const struct psr_sink_stream *s = p->stream;
    psr_status st = PSR_OK;
    for (size_t n; w->t < w->end && !st; w->t += (int64_t)n) {
        n = w->end - w->t < CHUNK ? (size_t)(w->end - w->t) : CHUNK;
        st = s->reread(s->reread_ctx, w->t, n, p->x, err);
        if (st)
            break;
        const float *part = take_part(p, n);
        psr_pulse_spectrum_push(w->spectrum, w->t, n, part);
        psr_pulse_levels_push(w->levels, w->t, n, part);
        if (w->view)
            psr_pulse_view_push(w->view, w->t, n, p->x);
    }
    return st;
}

/* A picture is made only of a pulse that is kept in p->view. */
static psr_status mark(psr_pulse_spectra *p, struct psr_cluster *cluster, psr_pulse_view **view,
                       psr_err *err)
{
    const struct psr_pulse_spectrum_desc d = describe(p, &cluster->best);
    const struct psr_pulse_spectrum_desc part = describe_part(p, &cluster->best, &d);
    struct watched w;
    psr_err why;
    psr_status st = watch(p, &w, &d, &part, view, err);
    if (!st)
        st = read_around(p, &w, err);
    if (!st)
        cluster->marks |=
            psr_pulse_spectrum_marks(w.spectrum, NULL) | psr_pulse_levels_marks(w.levels);
    if (!st && w.view) {
        if (!psr_pulse_view_finish(w.view, &why)) {
            *view = w.view;
            w.view = NULL;
        } else
            leave_out(p, &why);
    }
    psr_pulse_view_destroy(w.view);
    psr_pulse_levels_destroy(w.levels);
    psr_pulse_spectrum_destroy(w.spectrum);
    return st;
}

PSR_COMPARE(compare_visits, struct visit, PSR_RISING(first));

static psr_status make_views(psr_pulse_spectra *p, size_t n, psr_err *err)
{
    p->nview = n;
    p->view = calloc(n + 1, sizeof(psr_pulse_view *));
    return p->view ? PSR_OK : psr_fail_nomem(err, "the pictures of pulses", (double)n * 8);
}

static size_t count_looked_at(const psr_pulse_spectra *p)
{
    return p->ncluster < PSR_PULSE_SPECTRA ? p->ncluster : PSR_PULSE_SPECTRA;
}

/* Of the thread. */
static psr_status mark_all(void *ctx, psr_err *err)
{
    psr_pulse_spectra *p = ctx;
    const struct psr_sink_stream *s = p->stream;
    const size_t most = count_looked_at(p);
    struct visit *visit = malloc(most * sizeof *visit);
    if (!visit)
        return psr_fail_nomem(err, "the spectra of pulses", (double)most * sizeof *visit);
    for (size_t k = 0; k < most; k++)
        visit[k] = (struct visit){first_of(p, &p->cluster[k].best), k};
    qsort(visit, most, sizeof *visit, compare_visits);
    psr_status st = PSR_OK;
    while (p->nseen < most && !st) {
        const size_t k = visit[p->nseen].index;
        if (s->should_stop && s->should_stop(s->ctx))
            st = psr_fail(err, PSR_ESTOPPED, "stopped");
        else if (mark(p, &p->cluster[k], k < p->nview ? &p->view[k] : NULL, &p->unseen))
            break;
        else
            p->nseen++;
        if (s->marked && atomic_load(&p->awaited))
            s->marked(s->ctx, (int64_t)p->nseen, (int64_t)most);
    }
    free(visit);
    return st;
}

psr_status psr_pulse_spectra_mark(psr_pulse_spectra *p, struct psr_cluster *clusters, size_t n,
                                  size_t nview, psr_err *err)
{
    p->cluster = clusters;
    p->ncluster = n;
    if (!p->stream->reread || !n)
        return PSR_OK;
    psr_status st = make_views(p, nview < count_looked_at(p) ? nview : count_looked_at(p), err);
    if (!st)
        psr_async_task_start(&p->task, mark_all, p);
    return st;
}

psr_status psr_pulse_spectra_await(psr_pulse_spectra *p, psr_err *err)
{
    const struct psr_notes *notes = &p->stream->notes;
    const size_t n = p->ncluster, most = p->stream->reread ? count_looked_at(p) : 0;
    atomic_store(&p->awaited, true);
    psr_status st = psr_async_task_wait(&p->task, err);
    if (!st && p->nundrawn)
        psr_note(notes, "%zu pulses have no picture: %s", p->nundrawn, p->undrawn.msg);
    if (!st && p->nseen < most)
        psr_note(notes, "the spectra of %zu of %zu pulses are not looked at: %s", most - p->nseen,
                 most, p->unseen.msg);
    if (!st && most && n > most)
        psr_note(notes, "spectra of the best %zu pulses are looked at for interference, of %zu",
                 most, n);
    return st;
}

psr_status psr_pulse_spectra_write_views(psr_pulse_spectra *p, psr_outfile *f,
                                         const struct psr_cluster *clusters, const size_t *scale,
                                         double tsamp_s, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t k = 0; k < p->nview && !st; k++) {
        const struct psr_event *e = &clusters[k].best;
        const struct psr_pulse_spectrum_desc d = describe(p, e);
        const struct psr_pulse_view_place at = {.obs = p->stream->obs,
                                                .first = d.first,
                                                .width = (double)d.width,
                                                .time_s = (double)e->sample *
                                                          (double)scale[e->trial] * tsamp_s,
                                                .dm = p->stream->dm[e->trial],
                                                .snr = e->snr};
        if (p->view[k])
            st = pulse_view_write(f, p->view[k], &at, err);
    }
    return st;
}

void psr_pulse_spectra_destroy(psr_pulse_spectra *p)
{
    if (!p)
        return;
    psr_async_task_end(&p->task);
    for (size_t k = 0; k < p->nview; k++)
        psr_pulse_view_destroy(p->view[k]);
    free(p->view);
    for (size_t k = 0; p->line && k < p->stream->nline; k++)
        free(p->line[k].place);
    psr_own_free(&p->own);
    free(p);
}
