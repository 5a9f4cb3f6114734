/* The matched search: its plan, and what it is given. */
#include "gpuaccel-pulscan.h"

#include <math.h>
#include <string.h>

static enum psr_accelsearch_norm choose_norm(const struct accel_options *o)
{
    return o->photon   ? PSR_ACCELSEARCH_PHOTON
           : o->locpow ? PSR_ACCELSEARCH_LOCAL
                       : PSR_ACCELSEARCH_MEDIAN;
}

psr_status accel_matched_plan(struct accel_job *j)
{
    const struct accel_options *o = &j->opt;
    struct psr_accelsearch_desc d = {
        .size = sizeof d,
        .nbin = (size_t)j->shape.nbin,
        .zmax = (int)o->zmax,
        .wmax = o->wmax > 0 ? (int)o->wmax : 0,
        .numharm = (int)o->numharm,
        .sigma = o->sigma,
        .norm = choose_norm(o),
        .zap = j->zap,
        .nzap = j->nzap,
        .max = o->presto || o->confirm ? 0 : (size_t)o->maxcands,
        .keep_harmonics = o->noharmremove,
        .free_harmonics = o->noharmpolish,
        .compat = o->presto,
        .compat_jerk = o->wmax >= 0,
        .compat_inmem = o->inmem,
        .nthread = (int)o->ncpus,
        .mem_bytes = o->mem_bytes,
        .backend = "cpu",
    };
    psr_status st = accel_range(j, &d.rlo, &d.rhi);
    d.rlo = fmax(d.rlo, o->lobin);
    if (o->confirm) /* boxes have their limits at the fundamental */
        d.rhi = 0;
    return st == PSR_OK ? psr_accelsearch_create(&j->matched, &d, &j->err) : st;
}

/* accelsearch whitens what it has transformed itself.
 * Returned: *photons, the sum of the series as the normalisation wants it: PRESTO's is what
 *           whitening leaves in bin 0 */
static psr_status whiten(struct accel_job *j, const struct accel_file *file, float *x,
                         double *photons)
{
    const struct accel_options *o = &j->opt;
    const int64_t nbin = file->about.nbin;
    const struct psr_redden how = {
        .start = 6, .end = 200, .stop_bin = (double)nbin, .presto = o->presto};
    *photons = (double)x[0];
    if (!file->about.series || o->rednoise)
        return PSR_OK;
    psr_status st = PSR_OK;
    if (!o->photon || o->presto)
        st = psr_spectrum_deredden(x, nbin, &how, &j->err);
    if (o->presto)
        *photons = (double)x[0];
    if (o->presto && !o->photon)
        x[1] = 1;
    return st;
}

psr_status accel_matched_search(struct accel_job *j, const struct accel_file *file, float *x,
                                struct psr_accelsearch_result *found)
{
    struct psr_accelsearch_input in = {.x = x};
    const double since_s = run_seconds();
    psr_status st = whiten(j, file, x, &in.photons);
    if (st == PSR_OK)
        st = psr_accelsearch_execute(j->matched, &in, found, &j->err);
    const double took_s = run_seconds() - since_s;
    j->search_s += took_s;
    j->write_s -= took_s;
    if (st == PSR_OK && found->bad >= 0)
        return psr_fail(&j->err, PSR_EFORMAT, "%s: bin %lld is no finite number", file->path,
                        (long long)found->bad);
    return st;
}
