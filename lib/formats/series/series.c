/* Writes dedispersed series as .dat with .inf, or as .tim files. */
#include "base/base.h"

#include "base/input/readfd.h"
#include "base/output/outfile_internal.h"
#include "formats/sigproc/sigproc_header.h"
#include "series_internal.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- describes SIGPROC time series ------------------------------------------------------------ */

enum { HEADER_BYTES = 1 << 16 };

bool psr_tim_is_name(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && !strcmp(dot, ".tim");
}

static psr_status check_series(const struct psr_sigproc_header *h, const char *path, psr_err *err)
{
    const struct psr_obs *obs = &h->obs;
    if (obs->nchan != 1 || obs->nif != 1)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nchans",
                              "%s: nchans = %zu, nifs = %d, must be 1 and 1, as of a series", path,
                              obs->nchan, obs->nif);
    if (h->data_type > PSR_SIGPROC_SERIES)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "data_type",
                              "%s: data_type = %d, must be %d, a time series", path, h->data_type,
                              (int)PSR_SIGPROC_SERIES);
    if (obs->nbit < 8)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbits", "%s: nbits = %d, must be 8, 16 or 32",
                              path, obs->nbit);
    return PSR_OK;
}

static psr_status describe(struct psr_tim *tim, int fd, unsigned char *bytes, const char *path,
                           psr_err *err)
{
    struct stat about;
    struct psr_sigproc_header h;
    struct psr_inf *inf = &tim->inf;
    if (fstat(fd, &about))
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(about.st_mode))
        return psr_fail(err, PSR_EFORMAT, "%s: not a regular file", path);
    const ssize_t n = psr_read_at(fd, bytes, HEADER_BYTES, 0);
    if (n < 0)
        return psr_fail_errno(err, "%s", path);
    psr_status st = psr_sigproc_parse_header(&h, bytes, (size_t)n, path, NULL, err);
    if (st)
        return st;
    st = check_series(&h, path, err);
    tim->data_at = (int64_t)h.bytes;
    tim->nbit = h.obs.nbit;
    tim->kind = h.obs.kind;
    psr_inf_from_obs(inf, &h.obs, h.obs.nbit);
    inf->has_epoch = h.obs.tstart.day > 0;
    inf->dm = h.obs.refdm;
    inf->tbin_s = h.obs.tsamp_s;
    const int64_t left = about.st_size - tim->data_at, sample = st ? 1 : h.obs.nbit / 8;
    inf->nbin = left / sample;
    if (!st && left % sample)
        st = psr_fail(err, PSR_EFORMAT, "%s: %lld bytes of samples, must be a multiple of %lld",
                      path, (long long)left, (long long)sample);
    char *stem = st ? NULL : psr_path_beside(path, "");
    if (!st)
        st = stem ? psr_inf_set_name(inf, stem, err)
                  : psr_fail_nomem(err, path, (double)strlen(path));
    free(stem);
    psr_obs_clear(&h.obs);
    return st;
}

psr_status psr_tim_describe(struct psr_tim *tim, const char *path, psr_err *err)
{
    unsigned char *bytes = malloc(HEADER_BYTES);
    if (!bytes)
        return psr_fail_nomem(err, path, HEADER_BYTES);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    psr_status st = fd < 0 ? psr_fail_errno(err, "%s", path) : describe(tim, fd, bytes, path, err);
    if (fd >= 0)
        close(fd);
    free(bytes);
    return st;
}

/* No sample is overwritten before it is read: it lies at least as far behind as its float. */
void psr_tim_widen(float *x, size_t room, size_t n, int nbit, enum psr_kind kind)
{
    const size_t size = (size_t)nbit / 8;
    const unsigned char *from = (const unsigned char *)x + room * (sizeof *x - size);
    if (nbit == 32)
        return;
    for (size_t i = 0; i < n; i++) {
        uint16_t word = 0;
        memcpy(&word, from + i * size, size);
        x[i] = kind != PSR_INT ? (float)word
               : nbit == 8     ? (float)(int8_t)word
                               : (float)(int16_t)word;
    }
}

/* --- writes dedispersed series as .dat with .inf, or as .tim files ---------------------------- */

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
    make_path(s, i, s->format == PSR_SERIES_TIM ? ".tim" : ".dat", path);
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

void psr_series_common_inf(struct psr_inf *inf, const struct psr_series_desc *desc)
{
    if (desc->inf) {
        /* The .inf of sub-bands knows the channels they were summed from, which obs does not. */
        *inf = *desc->inf;
        inf->barycentric = desc->obs->barycentric;
        inf->ra_deg = desc->obs->has_position ? desc->obs->ra_deg : 0;
        inf->dec_deg = desc->obs->has_position ? desc->obs->dec_deg : 0;
        inf->nonoff = 0;
    } else
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
