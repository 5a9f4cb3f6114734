/* Searches a batch of spectra, and merges and measures what is found. */
#include "run/fourier/fourier_state.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "base/output/outfile_internal.h"
#include "formats/series/series_internal.h"
#include "search/matched/response/accel_internal.h"
#include "search/pulscan/pulscan_internal.h"
#include <math.h>
#include <psrkit/experimental/fourier.h>
#include <psrkit/signif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

/* What follows the root in the name of list k; false if there is no list k. */
static bool write_suffix(const struct psr_fourier_desc *d, int k, char text[PSR_FOURIER_SUFFIX])
{
    static const char *const list[] = {"", ".cand", ".txtcand"};
    if (k < 0 || k > (d->pulscan ? 0 : PSR_FOURIER_TXTCAND))
        return false;
    if (d->matched && d->wmax > 0)
        snprintf(text, PSR_FOURIER_SUFFIX, "_ACCEL_%lld_JERK_%lld%s", (long long)d->zmax,
                 (long long)d->wmax, list[k]);
    else if (d->pulscan)
        snprintf(text, PSR_FOURIER_SUFFIX, "_ZMAX_%lld_NUMHARM_%lld_TURBO_%lld.pulscand",
                 (long long)d->zmax, (long long)d->numharm, (long long)d->turbo);
    else
        snprintf(text, PSR_FOURIER_SUFFIX, "_ACCEL_%lld%s", (long long)d->zmax, list[k]);
    return true;
}

/* The first line of a .txtcand: which search the lists are of. */
static const char *mark_of(const struct psr_fourier_desc *d)
{
    return d->confirm               ? "# -search boxes -confirm\n"
           : d->boxes && d->matched ? "# -search both\n"
           : d->matched             ? "# -search matched\n"
                                    : "# -search boxes\n";
}

static char *name_list(const struct psr_fourier_desc *d, const char *root, int k, psr_err *err)
{
    char suffix[PSR_FOURIER_SUFFIX], *name = NULL;
    if (!write_suffix(d, k, suffix) || asprintf(&name, "%s%s", root, suffix) < 0) {
        psr_fail_nomem(err, root, (double)strlen(root));
        return NULL;
    }
    return name;
}

/* Lists of one search stay where another's would have their names. */
static psr_status check_mark(const struct psr_fourier_desc *d, const char *root, psr_err *err)
{
    char line[PSR_FOURIER_SUFFIX] = "", *name = name_list(d, root, PSR_FOURIER_TXTCAND, err);
    if (!name)
        return PSR_ENOMEM;
    FILE *f = psr_is_regular(name) ? fopen(name, "r") : NULL; /* a pipe has nothing to read */
    psr_status st = PSR_OK;
    if (f && fgets(line, sizeof line, f) && !strncmp(line, "# -search ", 10) &&
        strcmp(line, mark_of(d)) != 0)
        st = psr_fail(
            err, PSR_EINVAL, "%.*s is a list of%.*s: remove it, or write elsewhere (-o, -outdir)",
            (int)(strlen(name) - strlen(".txtcand")), name, (int)strcspn(line, "\n") - 1, line + 1);
    if (f)
        fclose(f);
    free(name);
    return st;
}

psr_status psr_fourier_names(const struct psr_fourier_desc *d, const char *root,
                             psr_status (*check)(void *ctx, const char *name, psr_err *err),
                             void *ctx, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int k = 0; k <= (d->pulscan ? 0 : PSR_FOURIER_TXTCAND) && !st; k++) {
        char *name = name_list(d, root, k, err);
        st = name ? check(ctx, name, err) : PSR_ENOMEM;
        free(name);
    }
    return !st && !d->pulscan ? check_mark(d, root, err) : st;
}

struct psr_output_group_desc psr_fourier_claim(const struct psr_fourier_desc *d, const char *root,
                                               char kind[16])
{
    strcpy(kind, d->pulscan ? "pulscan" : "z");
    if (!d->pulscan && d->matched && d->wmax > 0)
        snprintf(kind, 16, "w%dz", (int)d->wmax);
    return (struct psr_output_group_desc){.size = sizeof(struct psr_output_group_desc),
                                          .root = root,
                                          .kind = kind,
                                          .first = d->zmax,
                                          .last = d->zmax,
                                          .common = d->keep_spectra};
}

/* --- Pulscan's list --------------------------------------------------------------------------- */

/* What is written. */
struct output {
    const struct psr_fourier_desc *d;
    const struct psr_fourier_origin *origin;
    const struct psr_fourier_result *result;
};

PSR_COMPARE(by_sigma, struct psr_pulscan_hit, PSR_FALLING(sigma));

/* Its numbers are floats.  Its logarithm of p is that of a box one bin narrower, which is none for
 * z = 0. */
static psr_status write_pulscan_row(psr_outfile *f, const struct psr_pulscan_hit *hit, int64_t nbin,
                                    float tbin_s, psr_err *err)
{
    const float tobs_s = (float)nbin * tbin_s * 2, hz = (float)hit->r / tobs_s;
    const float period_ms = (float)(1000.0 / (double)hz);
    const float fdot = (float)hit->z / (tobs_s * tobs_s);
    const float accel = (float)((double)fdot * PSR_LIGHT_M_S / (double)hz);
    const double dof = psr_pulscan_dof(hit->nharm, hit->z - 1);
    char logp[32] = "          -nan";
    if (hit->z > 0)
        snprintf(logp, sizeof logp, "%14.6f",
                 (double)(float)psr_chi2_logp((double)hit->power, dof).ln_sf);
    return psr_outfile_printf(f, err,
                              "%10.6f %10.4f %10.6f %14.6f %10ld %14.8f %10d %14.6f %s %10d\n",
                              hit->sigma, (double)hit->power, (double)period_ms, (double)hz,
                              (long)hit->r, (double)fdot, hit->z, (double)accel, logp, hit->nharm);
}

static psr_status write_pulscan(psr_outfile *f, const struct output *out, psr_err *err)
{
    const struct psr_fourier_result *r = out->result;
    const struct psr_inf *inf = out->origin->inf;
    struct psr_pulscan_hit *hit = malloc((r->nhit + 1) * sizeof *hit);
    if (!hit)
        return psr_fail_nomem(err, "hits", (double)r->nhit * sizeof *hit);
    if (r->nhit > 0)
        memcpy(hit, r->hit, r->nhit * sizeof *hit);
    qsort(hit, r->nhit, sizeof *hit, by_sigma);
    psr_status st = psr_outfile_printf(
        f, err, "%10s %10s %10s %14s %10s %14s %10s %14s %14s %10s\n", "sigma", "power",
        "period_ms", "frequency_hz", "rbin", "f-dot", "z", "acceleration", "logp", "harmonic");
    for (size_t i = 0; i < r->nhit && !st; i++)
        st = write_pulscan_row(f, &hit[i], inf->nbin / 2, (float)inf->tbin_s, err);
    free(hit);
    return st;
}

/* --- accelsearch's lists ---------------------------------------------------------------------- */

static psr_status write_text(psr_outfile *f, const struct output *out, psr_err *err)
{
    const char *path = out->origin->inf_path;
    psr_status st = psr_accel_write(f, &out->result->list, path, err);
    return !st && !path ? psr_inf_write(f, out->origin->inf, err) : st;
}

static psr_status write_records(psr_outfile *f, const struct output *out, psr_err *err)
{
    return psr_accel_write_cand(f, &out->result->list, err);
}

/* Of a matched search, the candidates. */
static psr_status write_places(psr_outfile *f, const struct psr_accel_list *list, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < list->ncand && !st; i++) {
        const struct psr_accel_cand *c = &list->cand[i];
        st = psr_accel_write_txtcand(f, c->power, c->sigma, c->nharm, c->r.value, c->z.value,
                                     c->w.value, list->tobs_s, err);
    }
    return st;
}

static psr_status write_hits(psr_outfile *f, const struct output *out, psr_err *err)
{
    const struct psr_fourier_result *r = out->result;
    psr_status st = psr_outfile_printf(f, err, "%s", mark_of(out->d));
    if (out->d->matched)
        return st ? st : write_places(f, &r->list, err);
    const size_t most = 100 * (size_t)out->d->maxcands;
    for (size_t i = 0; i < r->nhit && (most == 0 || i < most) && !st; i++) {
        const struct psr_pulscan_hit *h = &r->hit[i];
        st = psr_accel_write_txtcand(f, (double)h->power / 2, h->sigma, h->nharm, h->r, h->z, 0,
                                     r->list.tobs_s, err);
    }
    return st;
}

typedef psr_status write_function(psr_outfile *, const struct output *, psr_err *);

/* Without a function, the list of an earlier search goes. */
static psr_status add_list(const struct output *out, psr_output_group *group, const char *root,
                           int k, write_function *write, psr_err *err)
{
    psr_outfile *f = NULL;
    char *name = name_list(out->d, root, k, err);
    if (!name)
        return PSR_ENOMEM;
    psr_status st = write ? psr_output_group_add_list(group, name, &f, err)
                          : psr_output_group_drop(group, name, err);
    if (!st && write)
        st = write(f, out, err);
    free(name);
    return !st && write ? psr_outfile_park(f, err) : st;
}

/* The text comes last, since it is what others look for. */
psr_status psr_fourier_write(const struct psr_fourier_desc *d, psr_output_group *group,
                             const char *root, const struct psr_fourier_origin *origin,
                             const struct psr_fourier_result *result, psr_err *err)
{
    const struct output out = {d, origin, result};
    const bool some = result->list.ncand > 0;
    const bool hits = (d->matched ? some : result->nhit > 0) || !psr_output_group_packs(group);
    if (d->pulscan)
        return add_list(&out, group, root, PSR_FOURIER_TEXT, write_pulscan, err);
    psr_status st = add_list(&out, group, root, PSR_FOURIER_TXTCAND, hits ? write_hits : NULL, err);
    if (!st)
        st = add_list(&out, group, root, PSR_FOURIER_CAND, some ? write_records : NULL, err);
    if (!st)
        st = add_list(&out, group, root, PSR_FOURIER_TEXT, some ? write_text : NULL, err);
    return st;
}

/* --- searches a batch of spectra, and merges and measures what is found ----------------------- */

/* Keeps those candidates of a matched search that a box is around. */

static const double NEAR = 15; /* bins, as candidates have their neighbours */

/* Bins of a box and around it. */
struct around {
    double lo, hi;
};

PSR_COMPARE(by_lo, struct around, PSR_RISING(lo));

/* Joins those that overlap: then both ends ascend. */
static size_t join_overlaps(struct around *a, size_t n)
{
    size_t kept = 0;
    qsort(a, n, sizeof *a, by_lo);
    for (size_t i = 0; i < n; i++)
        if (kept > 0 && a[i].lo <= a[kept - 1].hi)
            a[kept - 1].hi = a[i].hi > a[kept - 1].hi ? a[i].hi : a[kept - 1].hi;
        else
            a[kept++] = a[i];
    return kept;
}

static bool holds(const struct around *a, size_t n, double r)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (a[mid].hi < r)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && a[lo].lo < r;
}

/* Keeps the candidates that a box is around, less than 15 bins from its bins.
 * Given:    cand [n], in the order of the list
 * Returned: *n
 * Status:   PSR_ENOMEM */
static psr_status fourier_confirm(const struct psr_pulscan_result *boxes,
                                  struct psr_accel_cand *cand, size_t *n, psr_err *err)
{
    struct around *a = malloc((boxes->nhit + 1) * sizeof *a);
    if (!a)
        return psr_fail_nomem(err, "boxes", (double)boxes->nhit * sizeof *a);
    for (size_t i = 0; i < boxes->nhit; i++) {
        const struct psr_pulscan_hit *h = &boxes->hit[i];
        a[i] = (struct around){(double)h->first - NEAR, (double)(h->first + h->z) + NEAR};
    }
    size_t narea = join_overlaps(a, boxes->nhit), kept = 0;
    for (size_t k = 0; k < *n; k++)
        if (holds(a, narea, cand[k].r.value))
            cand[kept++] = cand[k];
    *n = kept;
    free(a);
    return PSR_OK;
}

/* Red noise that was left in a spectrum and may lead the list of its boxes: finds and notes it. */

/* A median of so many powers scatters by an eighth: more than RED is no chance. */
enum { PIECE = 128, LEADING = 3 };

static const double RED = 1.6;

PSR_COMPARE_VALUES(by_value, double);

/* Mean power of a piece's noise over that of the bins it was normalised by; 0: not to be read. */
static double level_at(psr_pulscan *plan, size_t s, int64_t first)
{
    float x[2 * PIECE];
    double power[PIECE];
    psr_err err;
    if (psr_pulscan_amplitudes(plan, s, first, PIECE, x, &err) != PSR_OK)
        return 0;
    for (size_t i = 0; i < PIECE; i++)
        power[i] = hypot((double)x[2 * i], (double)x[2 * i + 1]);
    qsort(power, PIECE, sizeof *power, by_value);
    return power[PIECE / 2] * power[PIECE / 2] / (2 * M_LN2);
}

/* Looks for red noise that was left in input i of the last execute, before it is whitened.
 * Given:    result   with the list of its boxes
 * Returned: result, red_hz and the two behind it */
static void fourier_find_red_noise(const struct psr_fourier *f, size_t slot, size_t i,
                                   struct psr_fourier_result *result)
{
    psr_pulscan *plan = f->slot[slot].boxes;
    const struct psr_fourier_shape *shape = &f->shape;
    const struct psr_measured *found = &result->measured;
    const int64_t first = (int64_t)fmax(1, fmin(f->d.flo_hz * shape->tobs_s, 0x1p53));
    if (f->d.rednoise || shape->reddened || found->n == 0)
        return;
    const double most = level_at(plan, i, first);
    int64_t end = first;
    while (end + PIECE < shape->nbin && level_at(plan, i, end) > RED)
        end += PIECE;
    for (size_t k = 0; k < found->n && k < LEADING; k++)
        if (found->cand[k].r.value < (double)end)
            result->red_hz = (double)end / shape->tobs_s;
    result->red_level = most;
    result->red_from_hz = (double)first / shape->tobs_s;
}

bool psr_fourier_note_red_noise(const struct psr_fourier_result *r, const char *name,
                                const struct psr_notes *notes)
{
    if (!(r->red_hz > 0))
        return false;
    psr_note(notes,
             "%.300s: red noise below %.3g Hz (%.3g times the level at %.3g Hz) may lead the list: "
             "-rednoise takes it out",
             name, r->red_hz, r->red_level, r->red_from_hz);
    return true;
}

/* Brings series and spectra into the form that a Fourier search takes. */

/* A spectrum without red noise is not changed. */
static bool removes_red_noise(const struct psr_fourier *f, const struct psr_fourier_input *in)
{
    return f->d.rednoise && !in->shape.reddened;
}

/* With endwidth, numbers are those of realfft. */
static bool detrends_ends(const struct psr_fourier *f, const struct psr_fourier_input *in)
{
    return removes_red_noise(f, in) && !f->d.endwidth;
}

static psr_status transform(const struct psr_fourier *f, float *x, const char *name, psr_err *err)
{
    const size_t n = 2 * (size_t)f->shape.nbin;
    float *room = malloc((n + 2) * sizeof *room);
    if (!room)
        return psr_fail_nomem(err, name, 4.0 * (double)n);
    (f->d.presto ? psr_rfft_execute_centred : psr_rfft_execute)(f->rfft, x, room);
    memcpy(x, room, n * sizeof *x);
    free(room);
    return PSR_OK;
}

/* Transforms, if the plans do not, and removes red noise. */
static psr_status make_spectrum(const struct psr_fourier *f, struct psr_fourier_input *in,
                                psr_err *err)
{
    const struct psr_redden how = psr_fourier_redden(f);
    const bool series = in->shape.series;
    const int64_t nbin = f->shape.nbin, bad = psr_spectrum_bad(in->x, 2 * nbin);
    psr_status st = PSR_OK;
    if (bad >= 0)
        return psr_fail(err, PSR_EFORMAT, "%s: %s %lld is no finite number", in->name,
                        series ? "sample" : "bin", (long long)(series ? bad : bad / 2));
    if (series)
        st = transform(f, in->x, in->name, err);
    else if (detrends_ends(f, in))
        psr_spectrum_detrend_ends(in->x, nbin);
    return !st && removes_red_noise(f, in) ? psr_spectrum_deredden(in->x, nbin, &how, err) : st;
}

psr_status psr_fourier_prepare(const psr_fourier *f, struct psr_fourier_input *in, int *exponent,
                               psr_err *err)
{
    const int64_t n = 2 * f->shape.nbin;
    const bool series = in->shape.series;
    const int divided = psr_spectrum_rescale(in->x, n, series);
    if (exponent)
        *exponent = divided;
    if (series && detrends_ends(f, in))
        psr_series_detrend_ends(in->x, n);
    if (f->shape.series || !(series || removes_red_noise(f, in)))
        return PSR_OK;
    return make_spectrum(f, in, err);
}

/* accelsearch fills lines with noise; bins that count as 0 would give another list. */
static psr_status zap_as_presto(const struct psr_fourier *f, float *x, psr_err *err)
{
    size_t nleft;
    const struct psr_zap how = {
        .list = f->d.zaplist, .tobs_s = f->shape.tobs_s, .baryv = f->d.baryv};
    return psr_spectrum_zap(x, f->shape.nbin, &how, &nleft, err);
}

/* Whitens a spectrum for the matched search, unless its plan does.
 * Returned: in->photons, the sum of the series as the normalisation wants it: PRESTO's is what
 *           whitening leaves in bin 0
 * Status:   PSR_ENOMEM */
static psr_status fourier_whiten_spectrum(const struct psr_fourier *f, struct psr_fourier_input *in,
                                          psr_err *err)
{
    const struct psr_fourier_desc *d = &f->d;
    const struct psr_redden how = psr_fourier_whitening(f);
    in->photons = (double)in->x[0];
    if (f->shape.series || !in->shape.series || d->rednoise)
        return PSR_OK;
    psr_status st = PSR_OK;
    if (!d->photon || d->presto)
        st = psr_spectrum_deredden(in->x, f->shape.nbin, &how, err);
    if (d->presto)
        in->photons = (double)in->x[0];
    if (d->presto && !d->photon)
        in->x[1] = 1;
    return !st && d->presto && d->zaplist ? zap_as_presto(f, in->x, err) : st;
}

psr_status psr_fourier_whiten(const psr_fourier *f, struct psr_fourier_input *in, psr_err *err)
{
    return f->d.boxes ? PSR_OK : fourier_whiten_spectrum(f, in, err);
}

/* --- the search ------------------------------------------------------------------------------- */

static psr_status search_boxes(struct psr_fourier_slot *slot, size_t n, psr_err *err)
{
    const float **x = calloc(n, sizeof *x);
    if (!x)
        return psr_fail_nomem(err, "a batch", (double)n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = slot->in[i].x;
    psr_status st = psr_pulscan_execute(slot->boxes, n, x, slot->found, err);
    free(x);
    return st;
}

static psr_status search_matched(struct psr_fourier *f, struct psr_fourier_slot *slot, size_t n,
                                 psr_err *err)
{
    struct psr_accelsearch_input *in = calloc(n, sizeof *in);
    if (!in)
        return psr_fail_nomem(err, "a batch", (double)n * sizeof *in);
    for (size_t i = 0; i < n; i++)
        in[i] = (struct psr_accelsearch_input){slot->in[i].x, slot->in[i].photons, slot->in[i].x};
    psr_status st = psr_accelsearch_execute_batch(f->matched, n, in, slot->matched, err);
    free(in);
    return st;
}

psr_status psr_fourier_execute(psr_fourier *f, size_t slot, size_t n, struct psr_fourier_input *in,
                               psr_err *err)
{
    struct psr_fourier_slot *s = &f->slot[slot];
    s->in = in;
    if (n == 0)
        return PSR_OK;
    return s->boxes ? search_boxes(s, n, err) : search_matched(f, s, n, err);
}

static psr_status check_finite(const struct psr_fourier *f, const struct psr_fourier_input *in,
                               int64_t bad, psr_err *err)
{
    if (bad < 0)
        return PSR_OK;
    return psr_fail(err, PSR_EFORMAT, "%s: %s %lld is no finite number", in->name,
                    f->shape.series ? "sample" : "bin", (long long)bad);
}

/* The matched search's next spectrum takes the memory of the harmonics of this one. */
static psr_status keep_harmonics(struct psr_fourier_result *r, psr_err *err)
{
    size_t n = 0;
    for (size_t k = 0; k < r->list.ncand; k++)
        n += (size_t)r->joined[k].nharm;
    struct psr_accel_harm *to = r->harm = malloc((n + 1) * sizeof *to);
    if (!to)
        return psr_fail_nomem(err, "harmonics", (double)n * sizeof *to);
    for (struct psr_accel_cand *c = r->joined; c < r->joined + r->list.ncand; c++) {
        memcpy(to, c->harm, (size_t)c->nharm * sizeof *to);
        c->harm = to;
        to += c->nharm;
    }
    return PSR_OK;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Of the matched search's candidates, those around boxes. */
static psr_status list_confirmed(const struct psr_fourier *f, const struct psr_fourier_slot *slot,
                                 size_t i, struct psr_fourier_result *r, psr_err *err)
{
    const size_t most = (size_t)f->d.maxcands;
    size_t n;
    psr_status st = psr_accelsearch_join(&slot->matched[i], NULL, 0, &r->joined, &n, err);
    if (!st)
        st = fourier_confirm(&slot->found[i], r->joined, &n, err);
    if (st)
        return st;
    r->left_out = most > 0 && n > most ? n - most : 0;
    r->list.cand = r->joined;
    r->list.ncand = n - r->left_out;
    r->ncand += r->list.ncand;
    return keep_harmonics(r, err);
}

/* The matched search's candidates, and behind them those of boxes. */
static psr_status add_matched(struct psr_fourier *f, struct psr_fourier_slot *slot, size_t i,
                              struct psr_fourier_result *r, psr_err *err)
{
    const struct psr_accelsearch_result *found = &slot->matched[i];
    psr_status st = PSR_OK;
    if (slot->boxes) {
        /* Spectra that boxes have searched are whitened only now. */
        double since_s = psr_seconds();
        struct psr_fourier_input *from = &slot->in[i];
        st = fourier_whiten_spectrum(f, from, err);
        const struct psr_accelsearch_input in = {.x = from->x, .photons = from->photons};
        if (!st)
            st = psr_accelsearch_execute(f->matched, &in, &slot->matched[i], err);
        psr_charge(&r->search_s, &since_s);
    }
    if (!st)
        st = check_finite(f, &slot->in[i], found->bad, err);
    if (st || f->d.confirm)
        return st ? st : list_confirmed(f, slot, i, r, err);
    r->left_out += found->nleft;
    r->ncand += found->ncand;
    r->list.cand = found->cand;
    r->list.ncand = found->ncand;
    if (!slot->boxes)
        return PSR_OK;
    st = psr_accelsearch_join(found, r->measured.cand, r->measured.n, &r->joined, &r->list.ncand,
                              err);
    r->list.cand = r->joined;
    return st ? st : keep_harmonics(r, err);
}

static psr_status make_list(struct psr_fourier *f, struct psr_fourier_slot *slot, size_t i,
                            struct psr_fourier_result *r, psr_err *err)
{
    psr_status st = PSR_OK;
    if (slot->boxes) {
        r->hit = slot->found[i].hit;
        r->nhit = slot->found[i].nhit;
        st = check_finite(f, &slot->in[i], slot->found[i].bad, err);
    }
    if (!st && slot->boxes && !f->d.pulscan) {
        /* The boxes' candidates. */
        const struct psr_fourier_desc *d = &f->d;
        const struct psr_pulscan_result *found = &slot->found[i];
        struct psr_pulscan_cand *cand = NULL;
        size_t n = 0;
        const struct psr_pulscan_merge_desc merge = {.size = sizeof merge,
                                                     .keep_harmonics = d->noharmremove,
                                                     .max = (size_t)d->maxcands,
                                                     .plan = d->rblock ? NULL : slot->boxes,
                                                     .spec = i};
        const struct psr_refine_desc measure = {.size = sizeof measure,
                                                .zmax = (int)d->zmax,
                                                .boxes_only = d->rblock,
                                                .zap = f->zap,
                                                .nzap = f->nzap,
                                                .nthread = (int)d->nthread};
        st = psr_pulscan_merge(found->hit, found->nhit, &merge, &cand, &n, &r->left_out, err);
        if (!st)
            st = psr_candidate_refine(&r->measured, slot->boxes, i, cand, n, &measure, err);
        r->ncand += d->confirm ? 0 : n;
        r->list.cand = r->measured.cand;
        r->list.ncand = r->measured.n;
        free(cand);
    }
    if (!st && slot->boxes) {
        r->ncand += f->d.pulscan ? r->nhit : 0;
        fourier_find_red_noise(f, (size_t)(slot - f->slot), i, r);
    }
    return !st && f->matched ? add_matched(f, slot, i, r, err) : st;
}

void psr_fourier_result_clear(struct psr_fourier_result *r)
{
    psr_measured_clear(&r->measured);
    free(r->joined);
    free(r->harm);
    *r = (struct psr_fourier_result){.nhit = 0};
}

psr_status psr_fourier_list(psr_fourier *f, size_t slot, size_t i, struct psr_fourier_result *r,
                            psr_err *err)
{
    *r = (struct psr_fourier_result){
        .list = {.tobs_s = f->shape.tobs_s, .jerk = f->d.matched && f->d.wmax > 0}};
    psr_status st = make_list(f, &f->slot[slot], i, r, err);
    if (st)
        psr_fourier_result_clear(r);
    return st;
}
