/* Dedisperses many beams while they arrive: lines of trials, and the state of each beam. */
#include "base/base.h"

#include "base/threads/threads.h"
#include "dedisp_line.h"
#include "dsp/channels/cornerturn.h"
#include "plan/ddplan_internal.h"
#include "search/dedisp/dedisp_internal.h"

#include <config.h>
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* Selects the device backend; the one place that knows which were built. */
static const struct psr_beams_device_ops *const built =
#ifdef HAVE_CUDA
    &psr_beams_cuda;
#else
    NULL;
#endif

/* Returned: *ops   NULL for the CPU
 * Status:   PSR_EDEVICE naming the backend */
static psr_status beams_device_find(const char *backend, const struct psr_beams_device_ops **ops,
                                    psr_err *err)
{
    *ops = NULL;
    if (!backend || !strcmp(backend, "cpu"))
        return PSR_OK;
    if (!built || strcmp(backend, built->name) != 0)
        return psr_fail_field(err, PSR_EDEVICE, "backend",
                              "dedispersion: no backend '%s' for beams in this build", backend);
    *ops = built;
    return PSR_OK;
}

/* --- trials in the order of lines ------------------------------------------------------------- */

enum { MAXDOWNSAMP = 65536 };

/* Sums rise with DM, but where they are given. */
PSR_COMPARE(by_line, struct psr_beams_trial,
            PSR_THEN(PSR_RISING(downsamp), PSR_THEN(PSR_RISING(dm), PSR_RISING(i))));

/* Given sums are those of another plan, whose lines are to be these. */
static psr_status check_sums(const struct psr_beams_trial *rank, size_t ndm, psr_err *err)
{
    for (size_t k = 0; k < ndm; k++) {
        size_t n = rank[k].downsamp, before = k ? rank[k - 1].downsamp : 1;
        if (n < 1 || n > MAXDOWNSAMP || n % before)
            return psr_fail_field(err, PSR_EINVAL, "downsamp",
                                  "dedispersion: %zu samples summed, must be 1 to %d and a "
                                  "multiple of the next smaller number, %zu",
                                  n, MAXDOWNSAMP, before);
    }
    return PSR_OK;
}

/* Returned: *out [ndm], by rising downsamp, then DM; to be freed
 * Status:   PSR_EINVAL (numbers given that are no lines), PSR_ENOMEM */
static psr_status beams_rank_trials(struct psr_beams_trial **out,
                                    const struct psr_dedisp_beams_desc *d, psr_err *err)
{
    struct psr_beams_trial *rank = *out = malloc(d->ndm * sizeof *rank);
    if (!rank)
        return psr_fail_nomem(err, "trials", (double)d->ndm * sizeof *rank);
    /* Mean smearing of a channel per DM, in samples. */
    double low = d->freq_mhz[0], high = low;
    for (size_t c = 1; c < d->nchan; c++) {
        low = d->freq_mhz[c] < low ? d->freq_mhz[c] : low;
        high = d->freq_mhz[c] > high ? d->freq_mhz[c] : high;
    }
    double sweep_s = psr_delay_s(d->dmconst, 1, low) - psr_delay_s(d->dmconst, 1, high);
    double smear = d->nchan > 1 ? sweep_s / d->tsamp_s / (double)(d->nchan - 1) : 0;
    for (size_t i = 0; i < d->ndm; i++) {
        int64_t n = d->scrunch > 0 ? psr_scrunch(d->dm[i] * smear, d->scrunch, MAXDOWNSAMP) : 1;
        rank[i] = (struct psr_beams_trial){d->dm[i], i, d->downsamp ? d->downsamp[i] : (size_t)n};
    }
    qsort(rank, d->ndm, sizeof *rank, by_line);
    psr_status st = check_sums(rank, d->ndm, err);
    if (st) {
        free(rank);
        *out = NULL;
    }
    return st;
}

enum { MAXLINE = 17 }; /* sums of 1 to 65536 samples, each a multiple of the one before */

struct beam {
    uint64_t nspec;
    struct psr_cornerturn *cornerturn;
    void *memory[MAXLINE]; /* of rings */
};

struct psr_dedisp_beams {
    struct psr_dedisp_beams_desc d; /* arrays are those of the caller, until created */
    struct psr_dedisp_line *line;   /* [nline] */
    size_t nline;
    struct beam *beam; /* [nbeam] */
    int nthread;
    void **scratch; /* [nthread] */
    size_t scratch_bytes;
    void *lane; /* [nkept][stride] samples that arrive */
    size_t stride;
    const struct psr_beams_device_ops *ops; /* NULL: the CPU */
    void *device; /* of ops; NULL: the CPU, which alone uses the above from beam[].cornerturn on */
    double device_bytes; /* shared */
};

/* --- checks ----------------------------------------------------------------------------------- */

static psr_status check_numbers(const struct psr_dedisp_beams_desc *d, psr_err *err)
{
    if (d->nbeam < 1 || d->nbeam > 65536)
        return psr_fail_field(err, PSR_EINVAL, "nbeam",
                              "dedispersion: %zu beams is outside 1 to 65536", d->nbeam);
    if (d->block < 1 || d->block > 1 << 24)
        return psr_fail_field(err, PSR_EINVAL, "block",
                              "dedispersion: blocks of %zu spectra are outside 1 to 16777216",
                              d->block);
    if (!(d->scrunch == 0 || (d->scrunch >= 0.1 && d->scrunch <= 100)))
        return psr_fail_field(err, PSR_EINVAL, "scrunch",
                              "dedispersion: scrunch = %g, must be 0 or 0.1 to 100", d->scrunch);
    if (d->nhalve > PSR_DEDISP_BEAMS_MAXHALVE)
        return psr_fail_field(err, PSR_EINVAL, "nhalve",
                              "dedispersion: %zu halvings of the band is outside 0 to %d",
                              d->nhalve, PSR_DEDISP_BEAMS_MAXHALVE);
    if (d->kind == PSR_FLOAT || d->nbit > 16)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbit",
                              "dedispersion: beams are of 1- to 16-bit integers, not of %d-bit %s",
                              d->nbit, d->kind == PSR_FLOAT ? "floats" : "integers");
    return PSR_OK;
}

/* The rest, before trials are put into lines. */
static psr_status check_stream(const struct psr_dedisp_beams_desc *d, psr_err *err)
{
    return psr_dedisp_check(
        &(struct psr_dedisp_desc){
            .size = sizeof(struct psr_dedisp_desc),
            .nchan = d->nchan,
            .freq_mhz = d->freq_mhz,
            .tsamp_s = d->tsamp_s,
            .nbit = d->nbit,
            .kind = d->kind,
            .downsamp = 1,
            .dmconst = d->dmconst,
            .ndm = d->ndm,
            .dm = d->dm,
            .algo = PSR_DEDISP_TREE,
            .nthread = d->nthread,
            .mem_bytes = d->mem_bytes,
            .smear = d->smear,
        },
        err);
}

/* --- lines ------------------------------------------------------------------------------------ */

static psr_status make_line(psr_dedisp_beams *p, const struct psr_beams_trial *rank, size_t n,
                            psr_err *err)
{
    size_t *trial = malloc(n * sizeof *trial);
    if (!trial)
        return psr_fail_nomem(err, "trials", 8.0 * (double)n);
    for (size_t k = 0; k < n; k++)
        trial[k] = rank[k].i;
    size_t most = p->d.block / rank->downsamp + 1;
    return psr_dedisp_line_create(&p->line[p->nline++], &p->d, rank->downsamp, trial, n, most, err);
}

static psr_status make_lines(psr_dedisp_beams *p, psr_err *err)
{
    struct psr_beams_trial *rank;
    psr_status st = beams_rank_trials(&rank, &p->d, err);
    if (st)
        return st;
    p->line = calloc(MAXLINE, sizeof *p->line);
    if (!p->line)
        st = psr_fail_nomem(err, "lines", MAXLINE * sizeof *p->line);
    for (size_t a = 0, b; a < p->d.ndm && !st; a = b) {
        for (b = a; b < p->d.ndm && rank[b].downsamp == rank[a].downsamp; b++)
            ;
        st = make_line(p, rank + a, b - a, err);
    }
    free(rank);
    return st;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* From the last line up: each keeps what the next one takes. */
static psr_status size_rings(psr_dedisp_beams *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t n = p->nline; n-- > 0 && !st;) {
        struct psr_dedisp_line *l = p->line + n, *next = n + 1 < p->nline ? l + 1 : NULL;
        struct psr_rings_need need = {l->youngest, l->oldest, l->most};
        st = psr_rings_create(&l->rings, l->layout->nkept, l->lanes.store_bytes, &need,
                              next ? &next->rings : NULL, next ? next->downsamp / l->downsamp : 1,
                              next ? next->most : 0, n == 0, err);
    }
    return st;
}

static double bytes_of_beam(const psr_dedisp_beams *p)
{
    double bytes = (double)p->line->layout->nchan * 8;
    for (size_t n = 0; n < p->nline; n++)
        bytes += psr_rings_bytes(&p->line[n].rings);
    return bytes;
}

static double bytes_shared(const psr_dedisp_beams *p)
{
    double bytes = (double)p->nthread * (double)p->scratch_bytes;
    if (p->device)
        return p->device_bytes;
    for (size_t n = 0; n < p->nline; n++)
        bytes += psr_dedisp_line_bytes(&p->line[n]) +
                 4.0 * (double)p->line[n].nrow * (double)p->line[n].most;
    return bytes +
           (double)p->line->layout->nkept * (double)p->stride * (double)p->line->lanes.store_bytes;
}

static psr_status check_memory(const psr_dedisp_beams *p, psr_err *err)
{
    double need = bytes_shared(p) + (double)p->d.nbeam * bytes_of_beam(p);
    double have = (double)psr_count_memory(p->d.mem_bytes);
    char want[PSR_SIZE_TEXT], limit[PSR_SIZE_TEXT], each[PSR_SIZE_TEXT];
    if (need <= have)
        return PSR_OK;
    return psr_fail_field(err, PSR_ENOMEM, "mem_bytes",
                          "dedispersion: memory of %s is below the %s that %zu beams of %s each "
                          "take",
                          psr_size_text(limit, have), psr_size_text(want, need), p->d.nbeam,
                          psr_size_text(each, bytes_of_beam(p)));
}

static psr_status take_shared(psr_dedisp_beams *p, psr_err *err)
{
    size_t bytes = (p->scratch_bytes + 63) / 64 * 64;
    p->scratch = calloc((size_t)p->nthread, sizeof *p->scratch);
    p->lane = malloc(p->line->layout->nkept * p->stride * p->line->lanes.store_bytes);
    if (!p->scratch || !p->lane)
        return psr_fail_nomem(err, "samples that arrive", (double)p->stride);
    for (int n = 0; n < p->nthread; n++) {
        p->scratch[n] = aligned_alloc(64, bytes);
        if (!p->scratch[n])
            return psr_fail_nomem(err, "partial sums", (double)bytes);
        memset(p->scratch[n], 0, bytes);
    }
    for (size_t n = 0; n < p->nline; n++) {
        struct psr_dedisp_line *l = p->line + n;
        l->out = malloc(l->nrow * l->most * sizeof *l->out);
        if (!l->out)
            return psr_fail_nomem(err, "series", 4.0 * (double)l->nrow * (double)l->most);
    }
    return PSR_OK;
}

static void clear_beam(psr_dedisp_beams *p, struct beam *b)
{
    b->nspec = 0;
    psr_cornerturn_reset(b->cornerturn);
    for (size_t n = 0; n < p->nline; n++)
        psr_rings_clear(&p->line[n].rings, b->memory[n], p->line[n].layout->sample_bias,
                        p->nthread);
}

static psr_status make_beam(psr_dedisp_beams *p, struct beam *b, psr_err *err)
{
    const struct psr_dedisp_layout *s = p->line->layout;
    for (size_t n = 0; n < p->nline; n++) {
        double bytes = psr_rings_bytes(&p->line[n].rings);
        b->memory[n] = aligned_alloc(64, ((size_t)bytes + 63) / 64 * 64);
        if (!b->memory[n])
            return psr_fail_nomem(err, "the samples of a beam", bytes);
    }
    psr_status st = psr_cornerturn_create(&b->cornerturn,
                                          &(struct psr_cornerturn_desc){
                                              .nchan = s->nchan,
                                              .nbit = p->d.nbit,
                                              .kind = p->d.kind,
                                              .nkept = s->nkept,
                                              .chan = s->chan,
                                              .pre = s->pre,
                                              .downsamp = p->line->downsamp,
                                              .store_bytes = p->line->lanes.store_bytes,
                                              .nthread = p->nthread,
                                          },
                                          err);
    if (!st)
        clear_beam(p, b);
    return st;
}

static psr_status make_beams(psr_dedisp_beams *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t b = 0; b < p->d.nbeam && !st; b++)
        st = make_beam(p, p->beam + b, err);
    return st;
}

/* --- the plan --------------------------------------------------------------------------------- */

static psr_status build_on_cpu(psr_dedisp_beams *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t n = 0; n < p->nline && !st; n++)
        st = psr_dedisp_line_program(p->line + n, err);
    if (st)
        return st;
    p->stride = p->d.block / p->line->downsamp + 1 + 64;
    for (size_t n = 0; n < p->nline; n++) {
        size_t bytes = psr_dedisp_line_scratch(&p->line[n]);
        p->scratch_bytes = bytes > p->scratch_bytes ? bytes : p->scratch_bytes;
    }
    if ((st = check_memory(p, err)) || (st = take_shared(p, err)))
        return st;
    return make_beams(p, err);
}

static psr_status build(psr_dedisp_beams *p, psr_err *err)
{
    psr_status st;
    if ((st = check_numbers(&p->d, err)) || (st = beams_device_find(p->d.backend, &p->ops, err)) ||
        (st = check_stream(&p->d, err)))
        return st;
    p->nthread = psr_count_threads(p->d.nthread);
    if ((st = make_lines(p, err)) || (st = size_rings(p, err)))
        return st;
    p->beam = calloc(p->d.nbeam, sizeof *p->beam);
    if (!p->beam)
        return psr_fail_nomem(err, "beams", (double)p->d.nbeam * sizeof *p->beam);
    return p->ops ? p->ops->create(&p->device, &p->d, p->line, p->nline, &p->device_bytes, err)
                  : build_on_cpu(p, err);
}

psr_status psr_dedisp_beams_create(psr_dedisp_beams **out, const struct psr_dedisp_beams_desc *desc,
                                   psr_err *err)
{
    *out = NULL;
    psr_dedisp_beams *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "a dedispersion plan", sizeof *p);
    psr_status st = psr_copy_desc(&p->d, sizeof p->d, desc, "dedispersion", err);
    if (!st)
        st = build(p, err);
    p->d.freq_mhz = p->d.dm = NULL;
    p->d.downsamp = NULL;
    p->d.keep = NULL;
    p->d.backend = NULL;
    if (st)
        psr_dedisp_beams_destroy(p);
    else
        *out = p;
    return st;
}

void psr_dedisp_beams_destroy(psr_dedisp_beams *p)
{
    if (!p)
        return;
    if (p->device)
        p->ops->destroy(p->device);
    for (size_t b = 0; p->beam && b < p->d.nbeam; b++) {
        psr_cornerturn_destroy(p->beam[b].cornerturn);
        for (size_t n = 0; n < MAXLINE; n++)
            free(p->beam[b].memory[n]);
    }
    for (size_t n = 0; n < p->nline; n++)
        psr_dedisp_line_destroy(&p->line[n]);
    for (int n = 0; p->scratch && n < p->nthread; n++)
        free(p->scratch[n]);
    free(p->scratch);
    free(p->lane);
    free(p->beam);
    free(p->line);
    free(p);
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Given: on_device, stream   as for psr_dedisp_beams_execute_device */
static psr_status execute(psr_dedisp_beams *p, size_t beam, const void *in, bool on_device,
                          void *stream, size_t nsamp, psr_err *err)
{
    if (beam >= p->d.nbeam)
        return psr_fail_field(err, PSR_EINVAL, "beam", "dedispersion: beam %zu of %zu", beam,
                              p->d.nbeam);
    if (nsamp > p->d.block)
        return psr_fail_field(err, PSR_EINVAL, "nsamp",
                              "dedispersion: %zu spectra are more than the block of %zu", nsamp,
                              p->d.block);
    struct beam *b = p->beam + beam;
    uint64_t was = b->nspec;
    psr_status st = PSR_OK;
    if (!p->device) {
        uint64_t now = was + nsamp;
        psr_cornerturn_run(b->cornerturn, in, nsamp, p->lane, p->stride, was / p->line->downsamp);
        for (size_t n = 0; n < p->nline; n++) {
            struct psr_dedisp_line *l = p->line + n;
            int64_t first = (int64_t)(was / l->downsamp);
            size_t nout = (size_t)(now / l->downsamp - was / l->downsamp);
            if (n == 0)
                psr_rings_push(&l->rings, b->memory[0], p->lane, p->stride, first, nout,
                               p->nthread);
            else
                psr_rings_sum(&l->rings, b->memory[n], &l[-1].rings, b->memory[n - 1],
                              l->downsamp / l[-1].downsamp, first, nout, p->nthread);
            psr_dedisp_line_run(l, b->memory[n], p->scratch, first, nout);
        }
    } else if (on_device)
        st = p->ops->execute_device(p->device, beam, in, stream, was, nsamp, err);
    else
        st = p->ops->execute(p->device, beam, in, was, nsamp, err);
    if (st)
        return st;
    b->nspec = was + nsamp;
    for (size_t n = 0; n < p->nline; n++) {
        struct psr_dedisp_line *l = p->line + n;
        l->first = was / l->downsamp;
        l->nout = (size_t)(b->nspec / l->downsamp - l->first);
    }
    return PSR_OK;
}

psr_status psr_dedisp_beams_execute(psr_dedisp_beams *p, size_t beam, const void *in, size_t nsamp,
                                    psr_err *err)
{
    return execute(p, beam, in, false, NULL, nsamp, err);
}

psr_status psr_dedisp_beams_execute_device(psr_dedisp_beams *p, size_t beam, const void *d_in,
                                           void *stream, size_t nsamp, psr_err *err)
{
    return execute(p, beam, d_in, true, stream, nsamp, err);
}

void psr_dedisp_beams_reset(psr_dedisp_beams *p, size_t beam)
{
    if (beam >= p->d.nbeam)
        return;
    p->beam[beam].nspec = 0;
    if (p->device)
        p->ops->reset(p->device, beam);
    else
        clear_beam(p, p->beam + beam);
}

/* --- what there is ---------------------------------------------------------------------------- */

static double adds_direct_of(const struct psr_dedisp_line *l)
{
    return (double)l->layout->nkept * (double)l->ndm / (double)l->downsamp;
}

static double difference_of(const struct psr_dedisp_line *l)
{
    double most = 0;
    for (size_t i = 0; i < l->ndm; i++)
        most = fmax(most, l->layout->tree.difference[i]);
    return most;
}

void psr_dedisp_beams_describe(const psr_dedisp_beams *p, struct psr_dedisp_beams_info *info)
{
    *info = (struct psr_dedisp_beams_info){
        .nline = p->nline, .bytes_beam = bytes_of_beam(p), .bytes_shared = bytes_shared(p)};
    for (size_t n = 0; n < p->nline; n++) {
        const struct psr_dedisp_line *l = p->line + n;
        info->adds_direct += adds_direct_of(l);
        info->adds_planned += l->adds / (double)l->downsamp;
        info->difference = fmax(info->difference, difference_of(l));
    }
}

void psr_dedisp_beams_line(const psr_dedisp_beams *p, size_t line,
                           struct psr_dedisp_beams_line *info)
{
    const struct psr_dedisp_line *l = p->line + line;
    *info = (struct psr_dedisp_beams_line){
        .downsamp = l->downsamp,
        .ndm = l->ndm,
        .trial = l->trial,
        .nband = l->nband,
        .bytes_beam = psr_rings_bytes(&l->rings),
        .adds_planned = l->adds / (double)l->downsamp,
        .adds_direct = adds_direct_of(l),
        .difference = difference_of(l),
    };
}

void psr_dedisp_beams_band(const psr_dedisp_beams *p, size_t line, size_t band,
                           struct psr_dedisp_beams_band *info)
{
    const struct psr_dedisp_line *l = p->line + line;
    const struct psr_dedisp_line_band *b = l->band + band;
    *info = (struct psr_dedisp_beams_band){
        .high_mhz = l->freq_mhz[b->k0],
        .low_mhz = l->freq_mhz[b->k0 + b->nkept - 1],
        .nkept = b->nkept,
        .ndm = b->ndm,
        .trial = b->trial,
    };
}

size_t psr_dedisp_beams_shift(const psr_dedisp_beams *p, size_t line, size_t i)
{
    const psr_dedisp *plan = p->line[line].plan;
    return p->d.aligned ? psr_dedisp_maxshift(plan) : psr_dedisp_shift(plan, i);
}

const psr_dedisp *psr_dedisp_beams_plan(const psr_dedisp_beams *p, size_t line)
{
    return p->line[line].plan;
}

int64_t psr_dedisp_beams_lag(const psr_dedisp_beams *p, size_t line, size_t i, size_t c)
{
    const psr_dedisp *plan = p->line[line].plan;
    return (int64_t)psr_dedisp_beams_shift(p, line, i) - psr_dedisp_delay(plan, i, c);
}

void psr_dedisp_beams_series(const psr_dedisp_beams *p, size_t line,
                             struct psr_dedisp_beams_series *series)
{
    const struct psr_dedisp_line *l = p->line + line;
    *series = (struct psr_dedisp_beams_series){l->first, l->nout, l->most, l->out, {0}};
    if (!p->device)
        return;
    p->ops->series(p->device, line, &series->on_device);
    series->on_device.nseries = l->ndm;
    series->stride = series->on_device.stride;
}

void psr_dedisp_beams_band_series(const psr_dedisp_beams *p, size_t line, size_t band,
                                  struct psr_dedisp_beams_series *series)
{
    const struct psr_dedisp_line *l = p->line + line;
    psr_dedisp_beams_series(p, line, series);
    if (!p->device) {
        series->out += l->band[band].first_row * l->most;
        return;
    }
    series->on_device.d_x += l->band[band].first_row * series->stride;
    series->on_device.nseries = l->band[band].ndm;
}
