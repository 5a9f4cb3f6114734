/* Runs the plans of many lines on one stream of spectra, and shares their downsampling. */
#include "dedisp_internal.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "dsp/timesum.h"
#include "formats/spectra/unpack.h"

#include <math.h>
#include <stdlib.h>

/* What plans are fed with: the spectra of the stream, or sums of them. */
struct decimation_stage {
    size_t summed; /* spectra in one of these */
    int nbit;
    enum psr_kind kind;
    size_t row_bytes;
    const struct decimation_stage *from; /* what is summed; NULL: this is the stream */
    struct psr_timesum *sum;
    void *made;  /* [room][nchan] */
    size_t room; /* sums */
    const void *have;
    size_t n; /* how many of these the last push brought */
};

struct line {
    psr_dedisp *plan;
    const struct decimation_stage *stage;
    size_t taken;     /* of what the last push brought, by a device */
    double out_bytes; /* of all trials, per spectrum of the stream */
};

struct psr_dedisp_multi {
    int64_t mem_bytes;
    uint64_t taken;                 /* spectra */
    struct decimation_stage *stage; /* [nstage] by rising number summed */
    size_t nstage;
    struct line *line; /* [nline] */
    size_t nline;
    bool sums_itself;                 /* each plan the spectra of the stream */
    size_t largest;                   /* downsampling of any line */
    struct psr_dedisp_shared *shared; /* the stream's spectra; NULL: each plan takes them in */
};

/* --- what is summed --------------------------------------------------------------------------- */

/* A plan's input costs time per byte, and narrower samples are widened to bytes: summing is cheaper if
 * a sum has fewer bits than a byte for each of its samples. */
static bool is_summing_cheaper(const struct psr_dedisp_desc *d, size_t summed)
{
    int nbit = psr_timesum_nbit(d->nbit, d->kind, summed);
    return nbit > 0 && (size_t)nbit < 8 * summed;
}

/* The most spectra that can be summed before the line's plan, where it does not do that better
 * itself.  Sub-bands shift single spectra. */
static size_t choose_summed(const psr_dedisp_multi *f, const struct psr_dedisp_desc *d,
                            const struct psr_dedisp_multi_line *l)
{
    size_t summed = l->algo != PSR_DEDISP_SUBBAND && !f->sums_itself ? l->downsamp : 1;
    while (summed > 1 && (l->downsamp % summed || !is_summing_cheaper(d, summed)))
        summed--;
    return summed > 1 ? summed : 1;
}

/* Each number once. */
static void list_stage(psr_dedisp_multi *f, const struct psr_dedisp_desc *d, size_t summed)
{
    size_t at = 0;
    while (at < f->nstage && f->stage[at].summed < summed)
        at++;
    if (at < f->nstage && f->stage[at].summed == summed)
        return;
    for (size_t k = f->nstage++; k > at; k--)
        f->stage[k] = f->stage[k - 1];
    bool raw = summed == 1;
    int nbit = raw ? d->nbit : psr_timesum_nbit(d->nbit, d->kind, summed);
    f->stage[at] = (struct decimation_stage){.summed = summed,
                                             .nbit = nbit,
                                             .kind = raw ? d->kind : PSR_UINT,
                                             .row_bytes = psr_row_bytes(d->nchan, nbit)};
}

/* From the most that are summed already and divide it. */
static psr_status start_stage(psr_dedisp_multi *f, struct decimation_stage *stage,
                              const struct psr_dedisp_desc *d, psr_err *err)
{
    for (const struct decimation_stage *k = f->stage; k < stage; k++)
        if (stage->summed % k->summed == 0)
            stage->from = k;
    if (!stage->from)
        return PSR_OK;
    return psr_timesum_create(&stage->sum,
                              &(struct psr_timesum_desc){
                                  .nchan = d->nchan,
                                  .nbit = stage->from->nbit,
                                  .kind = stage->from->kind,
                                  .ratio = stage->summed / stage->from->summed,
                                  .sum_nbit = stage->nbit,
                                  .nthread = psr_count_threads(d->nthread),
                              },
                              err);
}

static psr_status grow_stage(struct decimation_stage *stage, size_t n, psr_err *err)
{
    if (n <= stage->room)
        return PSR_OK;
    free(stage->made);
    stage->made = malloc(n * stage->row_bytes);
    stage->room = stage->made ? n : 0;
    if (!stage->made)
        return psr_fail_nomem(err, "sums of spectra", (double)n * (double)stage->row_bytes);
    return PSR_OK;
}

/* --- the plans -------------------------------------------------------------------------------- */

/* Of several lines says which. */
static psr_status fail_line(size_t nline, const struct psr_dedisp_multi_line *l, const psr_err *why,
                            psr_err *err)
{
    if (nline == 1 || l->ndm < 1)
        return psr_fail(err, why->code, "%s", why->msg);
    return psr_fail(err, why->code, "DM %.10g to %.10g: %s", l->dm[0], l->dm[l->ndm - 1], why->msg);
}

static struct psr_dedisp_desc describe_plan(const struct psr_dedisp_multi_desc *desc,
                                            const struct psr_dedisp_multi_line *l)
{
    struct psr_dedisp_desc d = desc->stream;
    d.size = sizeof d;
    d.downsamp = l->downsamp;
    d.ndm = l->ndm;
    d.dm = l->dm;
    d.algo = l->algo;
    d.nsub = l->nsub;
    d.keep = l->keep ? l->keep : d.keep;
    return d;
}

psr_status psr_dedisp_multi_measure(const struct psr_dedisp_multi_desc *desc, size_t line,
                                    size_t *maxshift, psr_err *err)
{
    const struct psr_dedisp_multi_line *l = &desc->line[line];
    const struct psr_dedisp_desc d = describe_plan(desc, l);
    psr_err why;
    psr_status st = psr_dedisp_measure(&d, maxshift, &why);
    return st ? fail_line(desc->nline, l, &why, err) : PSR_OK;
}

static psr_status start_plan(psr_dedisp_multi *f, size_t k,
                             const struct psr_dedisp_multi_desc *desc, int64_t mem_bytes,
                             psr_err *err)
{
    const struct psr_dedisp_multi_line *l = &desc->line[k];
    struct psr_dedisp_desc d = describe_plan(desc, l);
    size_t summed = choose_summed(f, &desc->stream, l);
    const struct decimation_stage *stage = f->stage;
    while (stage->summed != summed)
        stage++;
    d.mem_bytes = mem_bytes;
    f->line[k].stage = stage;
    f->line[k].out_bytes = 4 * (double)l->ndm / (double)l->downsamp;
    f->largest = l->downsamp > f->largest ? l->downsamp : f->largest;
    psr_err why;
    psr_status st = psr_dedisp_create_summed(&f->line[k].plan, &d, summed, stage->nbit, &why);
    return st ? fail_line(f->nline, l, &why, err) : PSR_OK;
}

static int64_t bytes_of_plans(const psr_dedisp_multi *f)
{
    int64_t bytes = 0;
    for (size_t k = 0; k < f->nline; k++) {
        struct psr_dedisp_info info;
        if (!f->line[k].plan)
            continue;
        psr_dedisp_describe(f->line[k].plan, &info);
        bytes += info.bytes;
    }
    return bytes;
}

/* Equal shares, and one line has all; lines for which that is too little share what the others
 * leave. */
static psr_status start_plans(psr_dedisp_multi *f, const struct psr_dedisp_multi_desc *desc,
                              psr_err *err)
{
    int64_t share = f->mem_bytes / (int64_t)f->nline + (f->nline > 1);
    size_t waiting = 0;
    for (size_t k = 0; k < f->nline; k++) {
        psr_status st = start_plan(f, k, desc, share, err);
        if (st && (st != PSR_ENOMEM || f->nline == 1))
            return st;
        waiting += st != PSR_OK;
    }
    for (size_t k = 0; k < f->nline; k++) {
        if (f->line[k].plan)
            continue;
        share = (f->mem_bytes - bytes_of_plans(f)) / (int64_t)waiting-- + 1;
        psr_status st = start_plan(f, k, desc, share, err);
        if (st)
            return st;
    }
    return PSR_OK;
}

psr_status psr_dedisp_multi_create(psr_dedisp_multi **out, const struct psr_dedisp_multi_desc *desc,
                                   psr_err *err)
{
    *out = NULL;
    if (desc->nline < 1)
        return psr_fail_field(err, PSR_EINVAL, "nline", "dedispersion: a plan without lines");
    psr_dedisp_multi *f = calloc(1, sizeof *f);
    if (f) {
        f->line = calloc(desc->nline, sizeof *f->line);
        f->stage = calloc(desc->nline + 1, sizeof *f->stage);
    }
    if (!f || !f->line || !f->stage) {
        psr_dedisp_multi_destroy(f);
        return psr_fail_nomem(err, "the lines of a plan", 100 * (double)desc->nline);
    }
    f->nline = desc->nline;
    f->sums_itself = psr_dedisp_sums_itself(&desc->stream);
    f->mem_bytes = psr_count_memory(desc->stream.mem_bytes);
    list_stage(f, &desc->stream, 1);
    for (size_t k = 0; k < desc->nline; k++)
        list_stage(f, &desc->stream, choose_summed(f, &desc->stream, &desc->line[k]));
    psr_status st = start_plans(f, desc, err);
    for (size_t k = 0; k < f->nstage && !st; k++)
        st = start_stage(f, &f->stage[k], &desc->stream, err);
    for (size_t k = 0; f->nline > 1 && k < f->nline && !st; k++)
        if (f->line[k].stage == f->stage)
            st = psr_dedisp_attach(f->line[k].plan, &f->shared, err);
    if (st)
        psr_dedisp_multi_destroy(f);
    else
        *out = f;
    return st;
}

const psr_dedisp *psr_dedisp_multi_plan(const psr_dedisp_multi *f, size_t line)
{
    return f->line[line].plan;
}

size_t psr_dedisp_multi_summed(const psr_dedisp_multi *f, size_t line)
{
    return f->line[line].stage->summed;
}

size_t psr_dedisp_multi_block(const psr_dedisp_multi *f)
{
    double most = 0, spectrum = 0, out = 0;
    for (size_t k = 0; k < f->nline; k++) {
        const struct line *l = &f->line[k];
        double suits = psr_dedisp_block_bytes(l->plan);
        most = suits > most ? suits : most;
        out = l->out_bytes > out ? l->out_bytes : out;
    }
    for (size_t k = 0; k < f->nstage; k++)
        spectrum += (double)f->stage[k].row_bytes / (double)f->stage[k].summed;
    double room = (double)(f->mem_bytes - bytes_of_plans(f));
    double brought = f->shared ? 2 * (double)f->stage->row_bytes : 0; /* one block, and the next */
    double n = fmin(room / (spectrum + out + brought), most / (spectrum + out));
    n = fmin(n, 1 << 20);
    size_t whole = n > 1 ? (size_t)n : 1;
    if (f->nline == 1 && f->line->stage->summed == 1)
        whole = psr_dedisp_suit_block(f->line->plan, whole);
    return whole > f->largest ? whole / f->largest * f->largest : whole;
}

/* --- the stream ------------------------------------------------------------------------------- */

size_t psr_dedisp_multi_ready(const psr_dedisp_multi *f, size_t line, size_t nsamp)
{
    const struct line *l = &f->line[line];
    uint64_t summed = l->stage->summed;
    return psr_dedisp_ready(l->plan, (size_t)((f->taken + nsamp) / summed - f->taken / summed));
}

psr_status psr_dedisp_multi_push(psr_dedisp_multi *f, const void *in, size_t nsamp, psr_err *err)
{
    for (size_t k = 0; k < f->nline; k++)
        f->line[k].taken = 0;
    f->stage[0].have = in;
    f->stage[0].n = nsamp;
    f->taken += nsamp;
    if (f->shared) {
        psr_status st = psr_dedisp_upload(f->shared, in, nsamp, err);
        if (st)
            return st;
    }
    for (size_t k = 1; k < f->nstage; k++) {
        struct decimation_stage *stage = &f->stage[k];
        const struct decimation_stage *from = stage->from;
        psr_status st = grow_stage(stage, from->n * from->summed / stage->summed + 1, err);
        if (st)
            return st;
        stage->n = psr_timesum_run(stage->sum, from->have, from->n, stage->made);
        stage->have = stage->made;
    }
    return PSR_OK;
}

psr_status psr_dedisp_multi_execute(psr_dedisp_multi *f, size_t line, float *out, size_t stride,
                                    size_t *nout, psr_err *err)
{
    const struct line *l = &f->line[line];
    return psr_dedisp_execute(l->plan, l->stage->have, l->stage->n, out, stride, nout, err);
}

psr_status psr_dedisp_multi_execute_device(psr_dedisp_multi *f, size_t line,
                                           const struct psr_device_series **device_series,
                                           size_t *ndevice_series, size_t *nout, size_t *left,
                                           psr_err *err)
{
    struct line *l = &f->line[line];
    const unsigned char *in = l->stage->have;
    size_t n = l->stage->n - l->taken, taken;
    psr_status st = psr_dedisp_execute_device(l->plan, in + l->taken * l->stage->row_bytes, n,
                                              &taken, device_series, ndevice_series, nout, err);
    l->taken += taken;
    *left = n - taken;
    return st;
}

void psr_dedisp_multi_destroy(psr_dedisp_multi *f)
{
    if (!f)
        return;
    for (size_t k = 0; k < f->nline; k++)
        psr_dedisp_destroy(f->line[k].plan);
    psr_dedisp_detach_all(f->shared);
    for (size_t k = 0; f->stage && k < f->nstage; k++) {
        psr_timesum_destroy(f->stage[k].sum);
        free(f->stage[k].made);
    }
    free(f->stage);
    free(f->line);
    free(f);
}
