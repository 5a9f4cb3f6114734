/* The matched search: its plan, and what it is given. */
#include "gpuaccel-pulscan.h"

#include <math.h>
#include <psrkit/device.h>
#include <stdlib.h>
#include <string.h>

static enum psr_accelsearch_norm choose_norm(const struct accel_options *o)
{
    return o->photon   ? PSR_ACCELSEARCH_PHOTON
           : o->locpow ? PSR_ACCELSEARCH_LOCAL
                       : PSR_ACCELSEARCH_MEDIAN;
}

/* accelsearch whitens what it has transformed itself. */
static struct psr_redden choose_whitening(const struct accel_job *j)
{
    return (struct psr_redden){
        .start = 6, .end = 200, .stop_bin = (double)j->shape.nbin, .presto = j->opt.presto};
}

psr_status accel_matched_plan(struct accel_job *j)
{
    const struct accel_options *o = &j->opt;
    const char *backend;
    int device;
    psr_status st = psr_device_choose(o->device, &backend, &device, &j->err);
    if (st != PSR_OK)
        return st;
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
        .series = j->shape.series,
        .compat = o->presto,
        .compat_jerk = o->wmax >= 0,
        .compat_inmem = o->inmem,
        .nthread = (int)o->ncpus,
        .mem_bytes = o->mem_bytes,
        .batch = o->boxes ? 1 : j->batch_now,
        .backend = o->presto || !strcmp(backend, "hybrid") ? "cpu" : backend,
        .device = device,
    };
    if (!o->photon)
        d.redden = choose_whitening(j);
    st = accel_range(j, &d.rlo, &d.rhi);
    d.rlo = fmax(d.rlo, o->lobin);
    if (o->confirm) /* boxes have their limits at the fundamental */
        d.rhi = 0;
    return st == PSR_OK ? psr_accelsearch_create(&j->matched, &d, &j->err) : st;
}

/* Returned: file->photons, the sum of the series as the normalisation wants it: PRESTO's is what
 *           whitening leaves in bin 0 */
psr_status accel_whiten(const struct accel_job *j, struct accel_file *file, float *x, psr_err *err)
{
    const struct accel_options *o = &j->opt;
    const struct psr_redden how = choose_whitening(j);
    file->photons = (double)x[0];
    if (j->shape.series || !file->about.series || o->rednoise)
        return PSR_OK;
    psr_status st = PSR_OK;
    if (!o->photon || o->presto)
        st = psr_spectrum_deredden(x, file->about.nbin, &how, err);
    if (o->presto)
        file->photons = (double)x[0];
    if (o->presto && !o->photon)
        x[1] = 1;
    return st;
}

/* Spectra that boxes have searched are whitened only now. */
static psr_status search_one(struct accel_job *j, struct accel_batch *b, size_t s)
{
    struct accel_file *file = &b->file[s];
    const double since_s = run_seconds();
    psr_status st = accel_whiten(j, file, (float *)b->in[s], &j->err);
    const struct psr_accelsearch_input in = {.x = b->in[s], .photons = file->photons};
    if (st == PSR_OK)
        st = psr_accelsearch_execute(j->matched, &in, &b->matched[s], &j->err);
    const double took_s = run_seconds() - since_s;
    j->search_s += took_s;
    j->write_s -= took_s;
    return st;
}

psr_status accel_matched_search(struct accel_job *j, struct accel_batch *b)
{
    struct psr_accelsearch_input *in = calloc(b->nfile, sizeof *in);
    if (!in)
        return psr_fail_nomem(&j->err, "a batch", (double)b->nfile * sizeof *in);
    for (size_t s = 0; s < b->nfile; s++)
        in[s] = (struct psr_accelsearch_input){b->in[s], b->file[s].photons, (float *)b->in[s]};
    psr_status st = psr_accelsearch_execute_batch(j->matched, b->nfile, in, b->matched, &j->err);
    free(in);
    return st;
}

psr_status accel_matched_result(struct accel_job *j, struct accel_batch *b, size_t s,
                                struct psr_accelsearch_result *found)
{
    psr_status st = b->plan ? search_one(j, b, s) : PSR_OK;
    *found = b->matched[s];
    if (st == PSR_OK && found->bad >= 0)
        return psr_fail(&j->err, PSR_EFORMAT, "%s: %s %lld is no finite number", b->file[s].path,
                        j->shape.series ? "sample" : "bin", (long long)found->bad);
    return st;
}
