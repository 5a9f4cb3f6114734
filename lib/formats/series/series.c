/* Writes dedispersed series as .dat with .inf, or as .tim files. */
#include "base/copy_desc.h"
#include "base/output/outfile_internal.h"
#include "series_internal.h"
#include <psrkit/experimental/source.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAD_FLOATS = 4096,
    BUFFER_BYTES = 64 << 10,
    ALL_BUFFERS_BYTES = 64 << 20,
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "samples are written as they lie in memory, and the files are little-endian");

struct trial {
    double dm, tsamp_s;
    struct psr_mjd epoch;
    psr_outfile *data;           /* the group's */
    const char *note;            /* of the .inf; NULL: none */
    struct psr_series_mean mean; /* of the samples appended */
    bool length_given; /* and then the final length is this, as psr_series_finish takes it */
    int64_t length;
};

struct psr_series {
    char *root;
    enum psr_series_format format;
    int dm_decimals;
    struct psr_inf inf; /* what all trials have in common */
    int64_t header_bytes;
    bool padding_given;
    float padding;
    bool (*stopped)(void *ctx);
    void *ctx;
    psr_output_group *group, *own; /* own: NULL where the group is the caller's */
    size_t ndm;
    struct trial *trial; /* [ndm] */
};

/* The name of trial i without suffix. */
static void make_stem(const psr_series *s, size_t i, char stem[PSR_TEXT_MAX])
{
    psr_series_stem(stem, s->root, s->trial[i].dm, s->dm_decimals);
}

static void make_path(const psr_series *s, size_t i, const char *suffix, char *path)
{
    char stem[PSR_TEXT_MAX];
    if (psr_series_to_stdout(s->root)) {
        strcpy(path, s->root);
        return;
    }
    make_stem(s, i, stem);
    snprintf(path, PATH_MAX, "%s%s", stem, suffix);
}

static const char *data_suffix(const psr_series *s)
{
    return s->format == PSR_SERIES_TIM ? ".tim" : ".dat";
}

/* A SIGPROC time series says at which frequency it is: that of no delay. */
static psr_status write_header(psr_series *s, struct trial *trial,
                               const struct psr_series_desc *desc, psr_err *err)
{
    struct psr_obs obs = *desc->obs;
    obs.fch1_mhz = psr_obs_highest_mhz(desc->obs);
    obs.foff_mhz = -psr_obs_band(desc->obs).spacing_mhz;
    obs.freq_mhz = NULL;
    obs.nchan = 1;
    obs.nif = 1;
    obs.nbit = 32;
    obs.kind = PSR_FLOAT;
    obs.tsamp_s = trial->tsamp_s;
    obs.nsamp = -1;
    obs.refdm = trial->dm;
    obs.tstart = trial->epoch;
    psr_status st = psr_sigproc_write(trial->data, &obs, PSR_SIGPROC_SERIES, err);
    s->header_bytes = psr_outfile_size(trial->data);
    return st;
}

static psr_status open_trial(psr_series *s, size_t i, const struct psr_series_desc *desc,
                             psr_err *err)
{
    char path[PATH_MAX];
    struct trial *trial = &s->trial[i];
    size_t share = ALL_BUFFERS_BYTES / desc->ndm;
    trial->dm = desc->dm[i];
    trial->tsamp_s = psr_series_tsamp_s(desc, i);
    trial->note = desc->each_note ? desc->each_note[i] : NULL;
    trial->epoch = desc->epoch ? desc->epoch[i] : desc->obs->tstart;
    make_path(s, i, data_suffix(s), path);
    psr_status st = psr_output_group_add(s->group, path, &trial->data, err);
    if (st)
        return st;
    psr_outfile_buffer(trial->data, share < BUFFER_BYTES ? share : BUFFER_BYTES);
    return s->format == PSR_SERIES_TIM ? write_header(s, trial, desc, err) : PSR_OK;
}

static psr_status create(psr_series **out, const struct psr_series_desc *desc, psr_err *err)
{
    psr_status st = psr_series_check(desc, err);
    if (st)
        return st;
    psr_series *s = calloc(1, sizeof *s);
    if (s) {
        s->root = strdup(desc->root);
        s->trial = calloc(desc->ndm, sizeof *s->trial);
    }
    if (!s || !s->root || !s->trial) {
        st = psr_fail_nomem(err, "time series", (double)desc->ndm * sizeof *s->trial);
        goto done;
    }
    s->format = desc->format;
    s->dm_decimals = desc->dm_decimals;
    s->stopped = desc->stopped;
    s->ctx = desc->ctx;
    s->ndm = desc->ndm;
    psr_series_common_inf(&s->inf, desc);
    st = PSR_OK;
    if (!desc->group) {
        const struct psr_output_group_desc claim = psr_series_claim(desc);
        st = psr_output_group_create(&s->own, &claim, err);
    }
    s->group = desc->group ? desc->group : s->own;
    for (size_t i = 0; i < s->ndm && !st; i++)
        st = open_trial(s, i, desc, err);
done:
    if (st)
        psr_series_abort(s);
    else
        *out = s;
    return st;
}

psr_status psr_series_create(psr_series **out, const struct psr_series_desc *desc, psr_err *err)
{
    struct psr_series_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "time series", err);
    return st ? st : create(out, &d, err);
}

psr_status psr_series_append(psr_series *s, size_t i, const float *x, size_t n, psr_err *err)
{
    if (i >= s->ndm)
        return psr_fail(err, PSR_EINVAL, "%s: trial %zu of %zu", s->root, i, s->ndm);
    psr_status st = psr_outfile_write(s->trial[i].data, x, n * sizeof *x, err);
    if (!st)
        psr_series_mean_add(&s->trial[i].mean, x, n);
    return st;
}

void psr_series_pad_with(psr_series *s, float value)
{
    s->padding_given = true;
    s->padding = value;
}

void psr_series_set_length(psr_series *s, size_t i, int64_t nout)
{
    s->trial[i].length_given = true;
    s->trial[i].length = nout;
}

/* Doubles hold the sum of any floats that are finite. */
size_t psr_series_not_finite(const psr_series *s, size_t *first)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ndm; i++)
        if (!isfinite(psr_series_mean_sum(&s->trial[i].mean)) && n++ == 0)
            *first = i;
    return n;
}

static psr_status check_stop(const psr_series *s, psr_err *err)
{
    if (s->stopped && s->stopped(s->ctx))
        return psr_fail(err, PSR_EIO, "%s: stopped before all series were written", s->root);
    return PSR_OK;
}

static psr_status pad_trial(psr_series *s, struct trial *trial, int64_t nout, psr_err *err)
{
    float pad[PAD_FLOATS];
    if (!trial->mean.n && !s->padding_given)
        return psr_fail(err, PSR_EINVAL,
                        "%s: no samples at DM %.12g, so no mean to pad %lld samples with", s->root,
                        trial->dm, (long long)nout);
    float value = s->padding_given ? s->padding : (float)psr_series_mean_value(&trial->mean);
    for (int k = 0; k < PAD_FLOATS; k++)
        pad[k] = value;
    psr_status st = PSR_OK;
    for (int64_t left = nout - trial->mean.n; left > 0 && !st; left -= PAD_FLOATS) {
        size_t n = left < PAD_FLOATS ? (size_t)left : PAD_FLOATS;
        st = psr_outfile_write(trial->data, pad, n * sizeof *pad, err);
        if (!st)
            st = check_stop(s, err);
    }
    return st;
}

/* Pads or cuts a trial to its length, and flushes it. */
static psr_status finish_trial(psr_series *s, struct trial *trial, int64_t nout, psr_err *err)
{
    psr_status st = PSR_OK;
    if (nout > trial->mean.n)
        st = pad_trial(s, trial, nout, err);
    else if (nout >= 0 && nout < trial->mean.n)
        st =
            psr_outfile_truncate(trial->data, s->header_bytes + nout * (int64_t)sizeof(float), err);
    return st ? st : psr_outfile_park(trial->data, err);
}

static psr_status write_inf(psr_series *s, size_t i, int64_t nout, psr_err *err)
{
    char path[PATH_MAX], stem[PSR_TEXT_MAX];
    const struct trial *trial = &s->trial[i];
    struct psr_inf inf = s->inf;
    psr_outfile *f;
    make_path(s, i, ".inf", path);
    make_stem(s, i, stem);
    psr_status st = check_stop(s, err);
    if (!st)
        st = psr_series_fill_inf(
            &inf,
            &(struct psr_series_trial){.stem = stem,
                                       .dm = trial->dm,
                                       .tsamp_s = trial->tsamp_s,
                                       .epoch = trial->epoch,
                                       .note = trial->note,
                                       .n = trial->mean.n,
                                       .length = nout < 0 ? trial->mean.n : nout},
            err);
    if (!st)
        st = psr_output_group_add(s->group, path, &f, err);
    if (!st)
        st = psr_inf_write(f, &inf, err);
    return st ? st : psr_outfile_park(f, err);
}

static psr_status fix_lengths(psr_series *s, int64_t nout, psr_err *err)
{
    const int64_t most = INT64_C(1) << 53; /* that an .inf file can tell of */
    for (size_t i = 0; i < s->ndm; i++) {
        struct trial *trial = &s->trial[i];
        trial->length = trial->length_given ? trial->length : nout;
        if (trial->length < -1 || trial->length > most)
            return psr_fail(err, PSR_EINVAL, "%s: length %lld, must be -1 to %lld", s->root,
                            (long long)trial->length, (long long)most);
    }
    return PSR_OK;
}

psr_status psr_series_finish(psr_series *s, int64_t nout, psr_err *err)
{
    psr_status st = fix_lengths(s, nout, err);
    for (size_t i = 0; i < s->ndm && !st; i++)
        st = finish_trial(s, &s->trial[i], s->trial[i].length, err);
    for (size_t i = 0; i < s->ndm && s->format == PSR_SERIES_DAT && !st; i++)
        st = write_inf(s, i, s->trial[i].length, err);
    if (!st && s->own) {
        st = psr_output_group_commit(s->own, err);
        s->own = NULL;
    }
    psr_series_abort(s);
    return st;
}

void psr_series_abort(psr_series *s)
{
    if (!s)
        return;
    psr_output_group_abort(s->own);
    free(s->trial);
    free(s->root);
    free(s);
}

/* --- descriptions ----------------------------------------------------------------------------- */

/* --- means of series, to the same bits however they come in blocks ---------------------------- */

enum { LANES = PSR_SERIES_LANES };

void psr_series_mean_add(struct psr_series_mean *m, const float *x, size_t n)
{
    size_t t = 0, lane = (size_t)(m->n % LANES);
    for (; t < n && lane % LANES; t++, lane++)
        m->sum[lane] += (double)x[t];
    for (; t + LANES <= n; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            m->sum[k] += (double)x[t + k];
    for (size_t k = 0; t < n; t++, k++)
        m->sum[k] += (double)x[t];
    m->n += (int64_t)n;
}

double psr_series_mean_sum(const struct psr_series_mean *m)
{
    double sum = 0;
    for (int k = 0; k < LANES; k++)
        sum += m->sum[k];
    return sum;
}

double psr_series_mean_value(const struct psr_series_mean *m)
{
    return psr_series_mean_sum(m) / (double)m->n;
}

/* The .inf of sub-bands knows the channels they were summed from, which obs does not. */
static void take_inf(struct psr_inf *inf, const struct psr_series_desc *desc)
{
    *inf = *desc->inf;
    inf->barycentric = desc->obs->barycentric;
    inf->ra_deg = desc->obs->has_position ? desc->obs->ra_deg : 0;
    inf->dec_deg = desc->obs->has_position ? desc->obs->dec_deg : 0;
    inf->nonoff = 0;
}

void psr_series_common_inf(struct psr_inf *inf, const struct psr_series_desc *desc)
{
    if (desc->inf)
        take_inf(inf, desc);
    else
        psr_inf_from_obs(inf, desc->obs, desc->file_nbit);
}

/* Real samples, then the last one of the padding: PRESTO's way to say "from here on, nothing". */
static void set_onoff(struct psr_inf *inf, int64_t n)
{
    inf->nonoff = 0;
    if (n >= inf->nbin)
        return;
    const int64_t pair[2][2] = {{0, n - 1}, {inf->nbin - 1, inf->nbin - 1}};
    memcpy(inf->onoff, pair, sizeof pair);
    inf->nonoff = 2;
}

psr_status psr_series_fill_inf(struct psr_inf *inf, const struct psr_series_trial *t, psr_err *err)
{
    psr_status st = psr_inf_set_name(inf, t->stem, err);
    const size_t common = strlen(inf->notes);
    inf->dm = t->dm;
    inf->tbin_s = t->tsamp_s;
    inf->epoch = t->epoch;
    inf->nbin = t->length;
    set_onoff(inf, t->n);
    if (t->note)
        snprintf(inf->notes + common, sizeof inf->notes - common, "%s\n", t->note);
    return st;
}
