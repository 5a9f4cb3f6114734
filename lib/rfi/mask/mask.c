/* Reads rfifind's .mask and .stats files, and finds the channels masked in a time range. */
#include "formats/voltages/baseband.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "base/obs_internal.h"
#include "rfi/rules/clean_internal.h"
#include <psrkit/experimental/clean.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const int64_t max_channels = 1 << 20, max_intervals = 1 << 24;
enum { HEADER_BYTES = 60, STATS_HEADER_BYTES = 20 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are taken as they lie in the file, which is little-endian");

static psr_status take_count(struct psr_byte_cursor *r, int64_t *value, const char *what,
                             int64_t min, int64_t max)
{
    int32_t number = 0;
    psr_status st = psr_byte_cursor_take(r, &number, sizeof number, what);
    *value = number;
    if (!st && (number < min || number > max))
        st = psr_fail_field(r->err, PSR_EFORMAT, what, "%s: %s = %d, must be %lld to %lld", r->name,
                            what, number, (long long)min, (long long)max);
    return st;
}

/* A list of n numbers of 0 .. limit - 1: set[number] becomes 1. */
static psr_status take_set(struct psr_byte_cursor *r, int64_t n, unsigned char *set, int32_t **list,
                           size_t limit, const char *what)
{
    psr_status st = PSR_OK;
    *list = malloc((size_t)n * sizeof **list + 1);
    if (!*list)
        return psr_fail_nomem(r->err, what, (double)n * sizeof **list);
    for (int64_t k = 0; k < n && !st; k++) {
        int64_t number;
        st = take_count(r, &number, what, 0, (int64_t)limit - 1);
        if (!st)
            set[number] = 1;
        (*list)[k] = (int32_t)number;
    }
    return st;
}

static psr_status take_header(struct psr_mask *m, struct psr_byte_cursor *r)
{
    double number[6] = {0};
    int64_t nchan, nint;
    psr_status st = psr_byte_cursor_take(r, number, sizeof number, "its header");
    if (st || (st = take_count(r, &nchan, "number of channels", 1, max_channels)) ||
        (st = take_count(r, &nint, "number of intervals", 1, max_intervals)) ||
        (st = take_count(r, &m->ptsperint, "samples per interval", 1, INT32_MAX)))
        return st;
    m->timesigma = number[0];
    m->freqsigma = number[1];
    m->mjd = number[2];
    m->dtint_s = number[3];
    m->lofreq_mhz = number[4];
    m->dfreq_mhz = number[5];
    m->nchan = (size_t)nchan;
    m->nint = (size_t)nint;
    if (!(m->dtint_s > 0) || !isfinite(m->dtint_s))
        return psr_fail_field(r->err, PSR_EFORMAT, "dtint_s",
                              "%s: length of an interval = %g s, must be above 0", r->name,
                              m->dtint_s);
    if (!isfinite(m->mjd))
        return psr_fail_field(r->err, PSR_EFORMAT, "mjd", "%s: start = MJD %g is no date", r->name,
                              m->mjd);
    if (r->n / sizeof(int32_t) < m->nint)
        return psr_fail(r->err, PSR_EFORMAT, "%s: %zu intervals do not fit into the %zu bytes left",
                        r->name, m->nint, r->n);
    return PSR_OK;
}

static psr_status allocate_sets(struct psr_mask *m, psr_err *err)
{
    m->zap_chan = calloc(m->nchan, 1);
    m->zap_int = calloc(m->nint, 1);
    m->all_chan = calloc(m->nint, 1);
    m->first = calloc(m->nint + 1, sizeof *m->first);
    if (!m->zap_chan || !m->zap_int || !m->all_chan || !m->first)
        return psr_fail_nomem(err, "a mask", 10 * (double)m->nint + (double)m->nchan);
    return PSR_OK;
}

static psr_status take_lists(struct psr_mask *m, struct psr_byte_cursor *r)
{
    size_t n = m->first[m->nint];
    if (n != r->n / sizeof *m->chan || r->n % sizeof *m->chan)
        return psr_fail(r->err, PSR_EFORMAT,
                        "%s: the lists of channels take %zu bytes, and %zu are there", r->name,
                        n * sizeof *m->chan, r->n);
    m->chan = malloc(n ? n * sizeof *m->chan : 1);
    if (!m->chan)
        return psr_fail_nomem(r->err, "a mask", (double)n * sizeof *m->chan);
    psr_status st = PSR_OK;
    for (size_t k = 0; k < n && !st; k++) {
        int64_t c;
        st = take_count(r, &c, "channel of an interval", 0, (int64_t)m->nchan - 1);
        m->chan[k] = (int32_t)c;
    }
    return st;
}

psr_status psr_mask_parse(struct psr_mask *mask, const void *bytes, size_t n, const char *name,
                          psr_err *err)
{
    struct psr_byte_cursor r = {bytes, n, name, err, false};
    int64_t count;
    memset(mask, 0, sizeof *mask);
    psr_status st = take_header(mask, &r);
    if (st || (st = allocate_sets(mask, err)))
        return st;
    st = take_count(&r, &count, "number of masked channels", 0, (int64_t)mask->nchan);
    mask->nzap_chan = st ? 0 : (size_t)count;
    if (!st)
        st = take_set(&r, count, mask->zap_chan, &mask->zap_chans, mask->nchan, "masked channel");
    if (!st)
        st = take_count(&r, &count, "number of masked intervals", 0, (int64_t)mask->nint);
    mask->nzap_int = st ? 0 : (size_t)count;
    if (!st)
        st = take_set(&r, count, mask->zap_int, &mask->zap_ints, mask->nint, "masked interval");
    if (!st) {
        /* How many channels each interval lists; all of them make no list. */
        for (size_t i = 0; i < mask->nint && !st; i++) {
            int64_t j;
            st = take_count(&r, &j, "number of channels of an interval", 0, (int64_t)mask->nchan);
            mask->all_chan[i] = j == (int64_t)mask->nchan;
            mask->first[i + 1] = mask->first[i] + (mask->all_chan[i] ? 0 : (size_t)j);
        }
    }
    return st ? st : take_lists(mask, &r);
}

/* --- padding ---------------------------------------------------------------------------------- */

PSR_COMPARE_VALUES(by_value, float);

/* Mean of the middle 80 % of n values, which get sorted, in PRESTO's arithmetic: a share in single
 * precision, and a running mean. */
static float middle_mean(float *value, size_t n)
{
    size_t count = (size_t)((double)((float)n * 0.8F) + 0.5), start = (n - count) / 2;
    qsort(value, n, sizeof *value, by_value);
    double mean = (double)value[start];
    for (size_t k = 1; k < count; k++)
        mean += ((double)value[start + k] - mean) / (double)(k + 1);
    return (float)mean;
}

/* Greatest powers, means, scatters: [interval][channel] each.
 * Given: bytes   behind the header */
static psr_status check_tables(const struct psr_mask *mask, size_t bytes, const char *name,
                               psr_err *err)
{
    size_t want = 3 * mask->nint * mask->nchan * sizeof(float);
    if (bytes == want)
        return PSR_OK;
    return psr_fail(err, PSR_EFORMAT,
                    "%s: %zu intervals of %zu channels take %zu bytes, and %zu are there", name,
                    mask->nint, mask->nchan, want, bytes);
}

psr_status psr_mask_parse_stats(struct psr_mask *mask, const void *bytes, size_t n,
                                const char *name, psr_err *err)
{
    struct psr_byte_cursor r = {bytes, n, name, err, false};
    int64_t nchan, nint, unused;
    psr_status st =
        take_count(&r, &nchan, "number of channels", (int64_t)mask->nchan, (int64_t)mask->nchan);
    if (!st)
        st = take_count(&r, &nint, "number of intervals", (int64_t)mask->nint, (int64_t)mask->nint);
    for (int k = 0; k < 3 && !st; k++)
        st = take_count(&r, &unused, "its header", INT32_MIN, INT32_MAX);
    if (!st)
        st = check_tables(mask, r.n, name, err);
    if (st)
        return st;
    free(mask->padding);
    const unsigned char *means = r.at + r.n / 3;
    float *value = malloc(mask->nint * sizeof *value);
    mask->padding = calloc(mask->nchan, sizeof *mask->padding);
    if (!value || !mask->padding)
        st = psr_fail_nomem(r.err, "the padding of a mask", (double)(mask->nint + mask->nchan) * 4);
    for (size_t c = 0; c < mask->nchan && !st; c++) {
        for (size_t i = 0; i < mask->nint; i++)
            memcpy(value + i, means + (i * mask->nchan + c) * sizeof *value, sizeof *value);
        for (size_t i = 0; i < mask->nint && !st; i++)
            if (!(fabsf(value[i]) < 1e30F))
                st = psr_fail(r.err, PSR_EFORMAT,
                              "%s: mean of channel %zu in interval %zu = %g, must be below 1e30",
                              r.name, c, i, (double)value[i]);
        mask->padding[c] = st ? 0 : middle_mean(value, mask->nint);
    }
    free(value);
    return st;
}

/* --- files ------------------------------------------------------------------------------------ */

static psr_status check_memory(const char *path, double bytes, int64_t mem_bytes, psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    const int64_t most = psr_count_memory(mem_bytes);
    if (bytes <= (double)most)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM, "%s: reading it takes %s, the limit is %s", path,
                    psr_size_text(need, bytes), psr_size_text(have, (double)most));
}

/* Regular files only: a mask has a .stats file beside it, and its length follows from its header. */
static psr_status find_size(const char *path, int64_t *size, psr_err *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return psr_fail_errno(err, "%s", path);
    errno = EISDIR;
    if (S_ISDIR(st.st_mode))
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(st.st_mode))
        return psr_fail(err, PSR_EFORMAT, "%s: not a regular file", path);
    *size = st.st_size;
    return PSR_OK;
}

/* Checked before the rest is read, as it may be any file. */
static psr_status check_header(const char *path, int64_t size, psr_err *err)
{
    unsigned char head[HEADER_BYTES];
    struct psr_mask m = {0};
    FILE *f = fopen(path, "re");
    if (!f)
        return psr_fail_errno(err, "%s", path);
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    psr_status st = take_header(
        &m, &(struct psr_byte_cursor){head, n < sizeof head ? n : (size_t)size, path, err, false});
    if (st)
        return st;
    const double nint = (double)m.nint, nchan = (double)m.nchan;
    const double most = HEADER_BYTES + 4 * (2 + nchan + 2 * nint + nint * nchan);
    if ((double)size > most)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: %lld bytes, and its %zu intervals of %zu channels make %.0f at most",
                        path, (long long)size, m.nint, m.nchan, most);
    return PSR_OK;
}

static psr_status read_stats(struct psr_mask *mask, const char *path, int64_t mem_bytes,
                             psr_err *err)
{
    char *bytes = NULL;
    size_t n;
    int64_t size;
    char *stats = psr_path_beside(path, ".stats");
    if (!stats)
        return psr_fail_nomem(err, path, (double)strlen(path));
    psr_status st = find_size(stats, &size, err);
    if (!st && size > STATS_HEADER_BYTES)
        st = check_tables(mask, (size_t)size - STATS_HEADER_BYTES, stats, err);
    if (!st)
        st = check_memory(stats, (double)size, mem_bytes, err);
    if (!st)
        st = psr_read_file(stats, (size_t)size, &bytes, &n, err);
    if (!st)
        st = psr_mask_parse_stats(mask, bytes, n, stats, err);
    free(bytes);
    free(stats);
    return st;
}

psr_status psr_mask_read(struct psr_mask *mask, const char *path, int64_t mem_bytes, psr_err *err)
{
    char *bytes = NULL;
    size_t n;
    int64_t size;
    memset(mask, 0, sizeof *mask);
    psr_status st = find_size(path, &size, err);
    if (!st)
        st = check_header(path, size, err);
    if (!st) /* the file's bytes, and what is made of them */
        st = check_memory(path, 2 * (double)size, mem_bytes, err);
    if (!st)
        st = psr_read_file(path, (size_t)size, &bytes, &n, err);
    if (!st)
        st = psr_mask_parse(mask, bytes, n, path, err);
    free(bytes);
    return st ? st : read_stats(mask, path, mem_bytes, err);
}

/* --- use -------------------------------------------------------------------------------------- */

psr_status psr_mask_check(const struct psr_mask *mask, const struct psr_obs *obs, const char *name,
                          psr_err *err)
{
    struct psr_mjd start = obs->began.day ? obs->began : obs->tstart;
    double mjd = (double)start.day + start.frac;
    if (mask->nchan != obs->nchan)
        return psr_fail_field(err, PSR_EINVAL, "nchan",
                              "%s: a mask of %zu channels, and the data have %zu", name,
                              mask->nchan, obs->nchan);
    if (!(fabs(mask->mjd - mjd) <= 1e-9))
        return psr_fail_field(
            err, PSR_EINVAL, "mjd",
            "%s: a mask of data that start at MJD %.12f, and these start at MJD %.12f", name,
            mask->mjd, mjd);
    return PSR_OK;
}

psr_status psr_mask_check_extent(const struct psr_mask *mask, const struct psr_obs *obs,
                                 const char *name, psr_err *err)
{
    const struct psr_obs_band band = psr_obs_band(obs);
    const double width_mhz = band.spacing_mhz, lowest_mhz = band.lowest_mhz;
    const double presto_mhz = obs->fch1_mhz - (double)(obs->nchan - 1) * width_mhz;
    double off_mhz = fmin(fabs(mask->lofreq_mhz - lowest_mhz), fabs(mask->lofreq_mhz - presto_mhz));
    if (!(off_mhz <= width_mhz / 2) || !(fabs(mask->dfreq_mhz - width_mhz) <= width_mhz / 100))
        return psr_fail(err, PSR_EINVAL,
                        "%s: a mask of channels from %.10g MHz by %.10g MHz, and the data's are "
                        "from %.10g MHz by %.10g MHz",
                        name, mask->lofreq_mhz, mask->dfreq_mhz, lowest_mhz, width_mhz);
    if (obs->nsamp < 0)
        return PSR_OK;
    double skipped_s = obs->began.day ? psr_mjd_diff_s(obs->began, obs->tstart) : 0;
    double data_s = skipped_s + (double)obs->nsamp * obs->tsamp_s;
    double mask_s = (double)mask->nint * mask->dtint_s;
    if (mask_s + mask->dtint_s < data_s)
        return psr_fail(err, PSR_EINVAL,
                        "%s: a mask of %.6g s, and the data last %.6g s: it was made of a part of "
                        "them, or of others",
                        name, mask_s, data_s);
    return PSR_OK;
}

static size_t interval_at(const struct psr_mask *mask, double time_s)
{
    double i = time_s / mask->dtint_s;
    return i < (double)mask->nint ? (size_t)i : mask->nint;
}

static void add_interval(const struct psr_mask *mask, size_t i, unsigned char *masked)
{
    if (mask->all_chan[i])
        memset(masked, 1, mask->nchan);
    for (size_t k = mask->first[i]; k < mask->first[i + 1]; k++)
        masked[mask->chan[k]] = 1;
}

/* PRESTO's merging compares the first channel of the list that is left with what lies before the
 * merged one in memory, a 0, and passes over what is not above. */
static void merge_as_presto(const struct psr_mask *mask, size_t i, unsigned char *masked)
{
    bool before = memchr(masked, 1, mask->nchan) != NULL,
         more = mask->all_chan[i] || mask->first[i] < mask->first[i + 1];
    add_interval(mask, i, masked);
    if (before != more)
        masked[0] = 0;
}

bool psr_mask_span(const struct psr_mask *mask, double start_s, double duration_s,
                   enum psr_mask_rule rule, unsigned char *masked)
{
    size_t lo = interval_at(mask, start_s), hi = interval_at(mask, start_s + duration_s);
    lo = lo < mask->nint ? lo : mask->nint - 1;
    hi = hi < mask->nint ? hi : lo;
    if (mask->zap_int[lo] || mask->zap_int[hi]) {
        memset(masked, 1, mask->nchan);
        return true;
    }
    memcpy(masked, mask->zap_chan, mask->nchan);
    bool throughout = memchr(masked, 1, mask->nchan) != NULL;
    void (*add)(const struct psr_mask *, size_t, unsigned char *) =
        rule == PSR_MASK_PRESTO ? merge_as_presto : add_interval;
    if (rule != PSR_MASK_PRESTO || lo == hi || throughout)
        add(mask, lo, masked);
    if (hi != lo)
        add(mask, hi, masked);
    return false;
}

void psr_mask_clear(struct psr_mask *mask)
{
    free(mask->zap_chan);
    free(mask->zap_int);
    free(mask->zap_chans);
    free(mask->zap_ints);
    free(mask->all_chan);
    free(mask->first);
    free(mask->chan);
    free(mask->padding);
    memset(mask, 0, sizeof *mask);
}

/* --- writes rfifind's .mask files ------------------------------------------------------------- */

static psr_status put_list(psr_outfile *f, const int32_t *list, size_t n, psr_err *err)
{
    const int32_t count = (int32_t)n;
    psr_status st = psr_outfile_write(f, &count, sizeof count, err);
    return st || !n ? st : psr_outfile_write(f, list, n * sizeof *list, err);
}

static psr_status put_counts(psr_outfile *f, const struct psr_mask *m, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < m->nint && !st; i++) {
        const size_t n = m->all_chan[i] ? m->nchan : m->first[i + 1] - m->first[i];
        const int32_t count = (int32_t)n;
        st = psr_outfile_write(f, &count, sizeof count, err);
    }
    return st;
}

psr_status psr_mask_write(psr_outfile *f, const struct psr_mask *m, psr_err *err)
{
    const double head[6] = {m->timesigma, m->freqsigma,  m->mjd,
                            m->dtint_s,   m->lofreq_mhz, m->dfreq_mhz};
    const int32_t size[3] = {(int32_t)m->nchan, (int32_t)m->nint, (int32_t)m->ptsperint};
    const size_t n = m->first[m->nint];
    psr_status st = psr_outfile_write(f, head, sizeof head, err);
    if (!st)
        st = psr_outfile_write(f, size, sizeof size, err);
    if (!st)
        st = put_list(f, m->zap_chans, m->nzap_chan, err);
    if (!st)
        st = put_list(f, m->zap_ints, m->nzap_int, err);
    if (!st)
        st = put_counts(f, m, err);
    return st || !n ? st : psr_outfile_write(f, m->chan, n * sizeof *m->chan, err);
}
