/* Returns the spectra of any input as blocks, with gaps between files or rows filled. */
#include "base/base.h"
#include "formats/spectra/unpack.h"
#include "multi_file.h"

#include "base/obs_internal.h"
#include "formats/spectra/spectra_reader.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which spectra enter the means that gaps are padded with: so many at the start, then one in so
 * many, chosen by stream index, so that the cut into blocks does not matter and the cost is small.
 */
enum { MEAN_FIRST = 1024, MEAN_STEP = 64 };

/* What a gap is padded with where no data came before it: the mean of so many spectra after it. */
enum { LOOK_AHEAD = 256 };

struct psr_source {
    struct psr_multi_file parts;
    size_t ipart;              /* the part that is read, or is next */
    struct psr_reader *reader; /* of that part; NULL while it is not open */
    struct psr_obs obs;
    bool invert;
    size_t row_bytes;
    int64_t pos;      /* stream index of the next spectrum, the first part's first being 0 */
    int64_t origin;   /* stream index of the first spectrum returned */
    int64_t gap_left; /* spectra of padding to return before anything else */
    struct psr_span *span;
    size_t nspan, span_room;
    double *sum, *row; /* [nchan] sums of the spectra learnt from; one of them */
    int64_t nmean_row;
    unsigned char *padding; /* [row_bytes] */
};

static void add_to_means(struct psr_source *s, const unsigned char *row)
{
    size_t nchan = s->obs.nchan;
    psr_row_unpack(s->row, row, nchan, s->obs.nbit, s->obs.kind);
    for (size_t c = 0; c < nchan; c++)
        if (!isfinite(s->row[c]))
            return;
    for (size_t c = 0; c < nchan; c++)
        s->sum[c] += s->row[c];
    s->nmean_row++;
}

static void set_padding(struct psr_source *s)
{
    double n = s->nmean_row > 0 ? (double)s->nmean_row : 1;
    for (size_t c = 0; c < s->obs.nchan; c++)
        s->row[c] = s->sum[c] / n;
    psr_row_pack(s->padding, s->row, s->obs.nchan, s->obs.nbit, s->obs.kind);
}

/* Rows as the reader gives them, in the order of channels that is asked for. */
static psr_status read_rows(struct psr_source *s, size_t nsamp, unsigned char *block, size_t *nread,
                            int64_t *gap, psr_err *err)
{
    psr_status st = s->reader->ops->next(s->reader, nsamp, block, nread, gap, err);
    for (size_t t = 0; !st && s->invert && t < *nread; t++)
        psr_row_reverse(block + t * s->row_bytes, s->obs.nchan, s->obs.nbit);
    return st;
}

/* Adds the data from spectrum at of the open part on to the means, and returns there. */
static psr_status find_means_ahead(struct psr_source *s, int64_t at, psr_err *err)
{
    if (!s->reader->ops->seek)
        return PSR_OK;
    unsigned char *block = malloc(LOOK_AHEAD * s->row_bytes);
    if (!block)
        return psr_fail_nomem(err, "spectra after a gap", LOOK_AHEAD * (double)s->row_bytes);
    psr_status st = s->reader->ops->seek(s->reader, at, err);
    if (!st) {
        /* Adds the data from the reader's position on to the means. */
        size_t left = LOOK_AHEAD, n = 1;
        while (!st && left > 0 && n > 0) {
            int64_t gap;
            st = read_rows(s, left, block, &n, &gap, err);
            for (size_t t = 0; !st && t < n; t++)
                add_to_means(s, block + t * s->row_bytes);
            left -= n;
        }
    }
    if (!st)
        st = s->reader->ops->seek(s->reader, at, err);
    free(block);
    return st;
}

/* The open part goes on with data at stream index pos + n. */
static psr_status begin_gap(struct psr_source *s, int64_t n, psr_err *err)
{
    const struct psr_part *part = s->parts.part + s->ipart;
    const enum psr_gap_fill fill = s->parts.desc.gaps;
    bool first = s->nmean_row == 0;
    if (fill == PSR_GAPS_REFUSE)
        return psr_fail_field(
            err, PSR_EFORMAT, "gaps", "%s: %lld spectra (%.6g s) are missing from spectrum %lld on",
            part->path, (long long)n, (double)n * s->obs.tsamp_s, (long long)(s->pos - s->origin));
    psr_status st = first ? find_means_ahead(s, s->pos + n - part->start, err) : PSR_OK;
    if (st)
        return st;
    if (fill == PSR_GAPS_MEAN)
        set_padding(s);
    if (first) {
        memset(s->sum, 0, s->obs.nchan * sizeof *s->sum);
        s->nmean_row = 0;
    }
    s->gap_left = n;
    if (s->parts.counts_gaps)
        return PSR_OK;
    psr_note(&s->parts.notes,
             "%s: %lld spectra (%.6g s) are missing from spectrum %lld on: padded with %s",
             part->path, (long long)n, (double)n * s->obs.tsamp_s, (long long)(s->pos - s->origin),
             fill == PSR_GAPS_MEAN ? "the mean of each channel" : "zeros");
    return PSR_OK;
}

static psr_status extend_spans(struct psr_source *s, int64_t n, psr_err *err)
{
    int64_t first = s->pos - s->origin;
    struct psr_span *last = s->nspan ? s->span + s->nspan - 1 : NULL;
    if (last && last->first + last->count == first) {
        last->count += n;
        return PSR_OK;
    }
    psr_status st =
        psr_grow(&s->span, &s->span_room, s->nspan, sizeof *s->span, "the account of gaps", err);
    if (!st)
        s->span[s->nspan++] = (struct psr_span){.first = first, .count = n};
    return st;
}

static void close_part(struct psr_source *s)
{
    if (s->reader)
        s->reader->ops->close(s->reader);
    s->reader = NULL;
}

static psr_status open_part(struct psr_source *s, psr_err *err)
{
    psr_status st = psr_multi_file_reader(&s->parts, s->ipart, &s->reader, err);
    int64_t missing = s->parts.part[s->ipart].start - s->pos;
    if (!st && missing > 0)
        st = begin_gap(s, missing, err);
    return st;
}

static psr_status read_part(struct psr_source *s, size_t nsamp, unsigned char *block, size_t *nread,
                            psr_err *err)
{
    int64_t gap = 0;
    psr_status st = read_rows(s, nsamp, block, nread, &gap, err);
    if (st)
        return st;
    if (gap > 0)
        return begin_gap(s, gap, err);
    if (*nread == 0) {
        close_part(s);
        s->ipart++;
        return PSR_OK;
    }
    if (s->parts.may_gap) {
        /* Block holds n spectra of data from stream index pos on. */
        const size_t n = *nread;
        int64_t first = s->pos - s->origin, t = first;
        while (t < first + (int64_t)n) {
            if (t < MEAN_FIRST || t % MEAN_STEP == 0)
                add_to_means(s, block + (size_t)(t - first) * s->row_bytes);
            t = t < MEAN_FIRST ? t + 1 : (t / MEAN_STEP + 1) * MEAN_STEP;
        }
    }
    s->pos += (int64_t)*nread;
    return PSR_OK;
}

psr_status psr_source_read(psr_source *s, size_t nsamp, void *block, size_t *nread, psr_err *err)
{
    psr_status st = PSR_OK;
    size_t done = 0;
    while (!st && done < nsamp && s->ipart < s->parts.n) {
        unsigned char *at = (unsigned char *)block + done * s->row_bytes;
        size_t n = 0;
        if (s->gap_left > 0) {
            n = s->gap_left < (int64_t)(nsamp - done) ? (size_t)s->gap_left : nsamp - done;
            st = extend_spans(s, (int64_t)n, err);
            n = st ? 0 : n;
            for (size_t t = 0; t < n; t++)
                memcpy(at + t * s->row_bytes, s->padding, s->row_bytes);
            s->gap_left -= (int64_t)n;
            s->pos += (int64_t)n;
        } else if (!s->reader)
            st = open_part(s, err);
        else
            st = read_part(s, nsamp - done, at, &n, err);
        done += n;
    }
    *nread = done;
    return st;
}

static psr_status fail_skip(const struct psr_source *s, int64_t skip, int64_t nsamp, psr_err *err)
{
    return psr_fail_field(err, PSR_EINVAL, "skip", "%s: offset of %lld spectra, must be 0 to %lld",
                          psr_path_called(s->parts.part->path), (long long)skip,
                          (long long)(nsamp - 1));
}

/* Reads and forgets spectra of an input that cannot seek. */
static psr_status discard(struct psr_source *s, int64_t skip, psr_err *err)
{
    const size_t chunk_bytes = (size_t)1 << 20;
    size_t chunk = chunk_bytes / s->row_bytes + 1;
    unsigned char *block = malloc(chunk * s->row_bytes);
    if (!block)
        return psr_fail_nomem(err, "spectra to skip", (double)chunk * (double)s->row_bytes);
    psr_status st = PSR_OK;
    int64_t left = skip;
    while (!st && left > 0) {
        size_t n = 0;
        int64_t gap = 0;
        st = read_rows(s, left < (int64_t)chunk ? (size_t)left : chunk, block, &n, &gap, err);
        if (!st && n == 0)
            st = fail_skip(s, skip, skip - left, err);
        left -= (int64_t)n;
    }
    free(block);
    return st;
}

static psr_status skip_spectra(struct psr_source *s, int64_t skip, psr_err *err)
{
    if (skip < 0)
        return psr_fail_field(err, PSR_EINVAL, "skip", "offset of %lld spectra, must be 0 or more",
                              (long long)skip);
    if (s->obs.nsamp >= 0 && skip >= s->obs.nsamp)
        return fail_skip(s, skip, s->obs.nsamp, err);
    if (skip == 0)
        return PSR_OK;
    const struct psr_part *part = s->parts.part;
    while (s->ipart + 1 < s->parts.n && skip >= part[s->ipart].start + part[s->ipart].obs.nsamp)
        s->ipart++;
    s->origin = s->pos = skip;
    psr_status st = PSR_OK;
    if (skip > part[s->ipart].start) {
        st = open_part(s, err);
        if (!st && s->reader->ops->seek)
            st = s->reader->ops->seek(s->reader, skip - part[s->ipart].start, err);
        else if (!st)
            st = discard(s, skip, err);
    }
    if (s->obs.nsamp >= 0)
        s->obs.nsamp -= skip;
    if (skip)
        s->obs.began = s->obs.tstart;
    s->obs.tstart = psr_mjd_add(s->obs.tstart, (double)skip * s->obs.tsamp_s);
    return st;
}

static psr_status set_up(struct psr_source *s, const struct psr_source_desc *desc, psr_err *err)
{
    psr_status st = psr_multi_file_open(&s->parts, desc, err);
    if (!st)
        st = psr_obs_copy(&s->obs, &s->parts.part[0].obs, err);
    if (st)
        return st;
    size_t nchan = s->obs.nchan;
    s->row_bytes = psr_row_bytes(nchan, s->obs.nbit);
    s->sum = calloc(nchan, sizeof *s->sum);
    s->row = calloc(nchan, sizeof *s->row);
    s->padding = calloc(1, s->row_bytes);
    if (!s->sum || !s->row || !s->padding)
        return psr_fail_nomem(err, "channel means", (double)nchan * 2 * sizeof *s->sum);

    const struct psr_part *last = s->parts.part + s->parts.n - 1;
    if (last->obs.nsamp >= 0)
        s->obs.nsamp = last->start + last->obs.nsamp;
    s->invert = desc->invert;
    return skip_spectra(s, desc->skip, err);
}

static psr_status create(psr_source **out, const struct psr_source_desc *desc, psr_err *err)
{
    psr_source *s = calloc(1, sizeof *s);
    if (!s)
        return psr_fail_nomem(err, "source", sizeof *s);
    psr_obs_init(&s->obs);
    psr_status st = set_up(s, desc, err);
    if (st) {
        psr_source_close(s);
        return st;
    }
    *out = s;
    return PSR_OK;
}

psr_status psr_source_open(psr_source **out, const struct psr_source_desc *desc, psr_err *err)
{
    struct psr_source_desc d;
    *out = NULL;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "source", err);
    return st ? st : create(out, &d, err);
}

const struct psr_obs *psr_source_obs(const psr_source *s)
{
    return &s->obs;
}

const struct psr_inf *psr_source_inf(const psr_source *s)
{
    return s->parts.inf;
}

int psr_source_file_nbit(const psr_source *s)
{
    return s->parts.part[0].file_nbit;
}

size_t psr_source_block_bytes(const psr_source *s, size_t nsamp)
{
    return nsamp * s->row_bytes;
}

size_t psr_source_gaps(const psr_source *s, const struct psr_span **spans)
{
    *spans = s->span;
    return s->nspan;
}

void psr_source_forget_gaps(psr_source *s, int64_t before)
{
    size_t n = 0;
    while (n < s->nspan && s->span[n].first + s->span[n].count <= before)
        n++;
    s->nspan -= n;
    if (n)
        memmove(s->span, s->span + n, s->nspan * sizeof *s->span);
}

void psr_source_close(psr_source *s)
{
    if (!s)
        return;
    close_part(s);
    psr_multi_file_close(&s->parts);
    psr_obs_clear(&s->obs);
    free(s->span);
    free(s->sum);
    free(s->row);
    free(s->padding);
    free(s);
}
