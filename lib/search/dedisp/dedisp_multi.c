/* Plans of several lines on one stream of spectra, and the sub-bands of a line. */
#include "dedisp_internal.h"

#include "base/base.h"
#include "base/threads/threads.h"
#include "dsp/dsp.h"
#include "formats/spectra/unpack.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* --- sums channels into sub-bands, the first of PRESTO's two dedispersion steps --------------- */

/* Spectra that are widened together, at least; and where there is no memory for more. */
enum { MIN_CHUNK = 1024, LEAST_CHUNK = 64 };

struct psr_subband {
    struct psr_own own;
    struct psr_layout in;
    size_t downsamp, nsub;
    size_t *shift; /* [nchan] of each channel, in the order of the data */
    size_t *chan;  /* [nchan] kept channels of sub-band 0, then of 1, from the lowest each */
    size_t *first; /* [nsub + 1] where a sub-band's channels begin in chan */
    size_t maxshift;
    float *x;       /* [room][nchan] spectra that are still needed */
    size_t n, room; /* spectra in x */
    int nthread;
};

static psr_status check_desc(const struct psr_subband_desc *d, psr_err *err)
{
    if (d->nchan < 1 || d->nsub < 1 || d->nchan % d->nsub)
        return psr_fail_field(err, PSR_EINVAL, "nsub", "sub-bands: %zu do not divide %zu channels",
                              d->nsub, d->nchan);
    if (d->downsamp < 1 || d->downsamp > 65536)
        return psr_fail_field(err, PSR_EINVAL, "downsamp",
                              "sub-bands: downsampling by %zu is outside 1 to 65536", d->downsamp);
    if (!(d->tsamp_s > 0) || !isfinite(d->tsamp_s) || !(d->dm >= 0) || !isfinite(d->dm) ||
        !(d->dmconst > 0))
        return psr_fail_field(
            err, PSR_EINVAL, "tsamp_s",
            "sub-bands: sampling time %g s, DM %g, dispersion constant %g: must be "
            "above 0, 0 or more, above 0",
            d->tsamp_s, d->dm, d->dmconst);
    for (size_t c = 0; c < d->nchan; c++)
        if (!(d->freq_mhz[c] > 0) ||
            (c > 1 && (d->freq_mhz[c] > d->freq_mhz[c - 1]) != (d->freq_mhz[1] > d->freq_mhz[0])))
            return psr_fail_field(err, PSR_EINVAL, "freq_mhz",
                                  "sub-bands: channel %zu at %g MHz: channels must be in order of "
                                  "frequency, above 0",
                                  c, d->freq_mhz[c]);
    return PSR_OK;
}

static psr_status set_shifts(psr_subband *p, const struct psr_subband_desc *d, psr_err *err)
{
    const size_t most = (size_t)1 << 28;
    bool ascending = d->nchan < 2 || d->freq_mhz[0] < d->freq_mhz[1];
    size_t width = d->nchan / d->nsub, nkept = 0;
    for (size_t q = 0; q < d->nchan; q++) {
        size_t top = (q / width + 1) * width - 1;
        size_t c = ascending ? q : d->nchan - 1 - q;
        double ref_mhz = d->freq_mhz[ascending ? top : d->nchan - 1 - top];
        int64_t shift = psr_delay_samples(d->dmconst, d->dm, d->freq_mhz[c], ref_mhz, d->tsamp_s);
        if (shift < 0 || shift > (int64_t)most)
            return psr_fail_field(
                err, PSR_EINVAL, "dm",
                "sub-bands: DM %g sweeps over %lld samples inside a sub-band, at most %zu", d->dm,
                (long long)shift, most);
        p->shift[c] = (size_t)shift;
        p->maxshift = p->shift[c] > p->maxshift ? p->shift[c] : p->maxshift;
        if (!d->keep || d->keep[c])
            p->chan[nkept++] = c;
        p->first[q / width + 1] = nkept;
    }
    return PSR_OK;
}

static psr_status allocate(psr_subband *p, int64_t mem_bytes, psr_err *err)
{
    size_t needed = p->maxshift + p->downsamp, chunk = needed > MIN_CHUNK ? needed : MIN_CHUNK;
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    double row = (double)p->in.nchan * sizeof *p->x, fit = (double)mem_bytes / row - (double)needed;
    if (mem_bytes && fit < LEAST_CHUNK)
        return psr_fail_field(
            err, PSR_ENOMEM, "mem_bytes",
            "sub-bands: memory of %s is below the %s that %zu channels delayed by up "
            "to %zu spectra take",
            psr_size_text(have, (double)mem_bytes),
            psr_size_text(need, row * (double)(needed + LEAST_CHUNK)), p->in.nchan, p->maxshift);
    if (mem_bytes && fit < (double)chunk)
        chunk = (size_t)fit;
    p->room = needed + chunk;
    p->x = calloc(p->room, p->in.nchan * sizeof *p->x);
    return p->x ? PSR_OK : psr_fail_nomem(err, "spectra for sub-bands", (double)p->room * row);
}

psr_status psr_subband_create(psr_subband **out, const struct psr_subband_desc *d, psr_err *err)
{
    *out = NULL;
    psr_status st = check_desc(d, err);
    if (st)
        return st;
    psr_subband *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "sub-bands", sizeof *p);
    p->in = (struct psr_layout){d->nchan, d->nbit, d->kind, psr_row_bytes(d->nchan, d->nbit)};
    p->downsamp = d->downsamp;
    p->nsub = d->nsub;
    p->nthread = psr_count_threads(d->nthread);
    p->shift = psr_own(&p->own, d->nchan, sizeof *p->shift);
    p->chan = psr_own(&p->own, d->nchan, sizeof *p->chan);
    p->first = psr_own(&p->own, d->nsub + 1, sizeof *p->first);
    st = psr_own_check(&p->own, "sub-bands", err);
    if (!st)
        st = set_shifts(p, d, err);
    if (!st)
        st = allocate(p, d->mem_bytes, err);
    if (st)
        psr_subband_destroy(p);
    else
        *out = p;
    return st;
}

size_t psr_subband_maxshift(const psr_subband *p)
{
    return p->maxshift;
}

int64_t psr_subband_bytes(const psr_subband *p)
{
    return (int64_t)(p->room * p->in.nchan * sizeof *p->x);
}

size_t psr_subband_ready(const psr_subband *p, size_t nsamp)
{
    size_t n = p->n + nsamp;
    return n > p->maxshift ? (n - p->maxshift) / p->downsamp : 0;
}

/* The float at which sub-band j stands at spectrum t of x: channels from the lowest, as PRESTO. */
static float sum_channels(const psr_subband *p, size_t j, size_t t)
{
    float sum = 0;
    for (size_t k = p->first[j]; k < p->first[j + 1]; k++) {
        size_t c = p->chan[k];
        sum += p->x[(t + p->shift[c]) * p->in.nchan + c];
    }
    return sum;
}

static float mean_sum(const psr_subband *p, size_t j, size_t t)
{
    float sum = sum_channels(p, j, t);
    for (size_t u = 1; u < p->downsamp; u++)
        sum += sum_channels(p, j, t + u);
    return p->downsamp > 1 ? sum / (float)p->downsamp : sum;
}

/* All samples that the spectra in x complete; drops those that no later sample needs. */
static size_t emit(psr_subband *p, float *out, size_t stride)
{
    size_t n = psr_subband_ready(p, 0), used = n * p->downsamp, nchan = p->in.nchan;
#pragma omp parallel for num_threads(p->nthread)
    for (size_t t = 0; t < n; t++)
        for (size_t j = 0; j < p->nsub; j++)
            out[j * stride + t] = mean_sum(p, j, t * p->downsamp);
    memmove(p->x, p->x + used * nchan, (p->n - used) * nchan * sizeof *p->x);
    p->n -= used;
    return n;
}

psr_status psr_subband_execute(psr_subband *p, const void *in, size_t nsamp, float *out,
                               size_t stride, size_t *nout, psr_err *err)
{
    const unsigned char *from = in;
    *nout = 0;
    if (psr_subband_ready(p, nsamp) > stride)
        return psr_fail_field(err, PSR_EINVAL, "stride", "sub-bands: stride %zu, must be %zu",
                              stride, psr_subband_ready(p, nsamp));
    while (nsamp > 0) {
        size_t n = p->room - p->n < nsamp ? p->room - p->n : nsamp;
#pragma omp parallel for num_threads(p->nthread)
        for (size_t t = 0; t < n; t++)
            psr_spectrum_widen(&p->in, from + t * p->in.row_bytes, p->x + (p->n + t) * p->in.nchan);
        p->n += n;
        from += n * p->in.row_bytes;
        nsamp -= n;
        *nout += emit(p, out + *nout, stride);
    }
    return PSR_OK;
}

void psr_subband_destroy(psr_subband *p)
{
    if (!p)
        return;
    psr_own_free(&p->own);
    free(p->x);
    free(p);
}

/* --- runs the plans of many lines on one stream of spectra, and shares their downsampling ----- */

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
