/* Names and writes the lists of a Fourier search: accelsearch's three, or Pulscan's one. */
#include "base/input/readfd.h"
#include "base/output/outfile_internal.h"
#include "search/matched/response/accel_internal.h"

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

static int by_sigma(const void *pa, const void *pb)
{
    const struct psr_pulscan_hit *a = pa, *b = pb;
    if (a->sigma > b->sigma || a->sigma < b->sigma)
        return a->sigma > b->sigma ? -1 : 1;
    return 0;
}

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
