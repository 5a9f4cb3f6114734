/* Opens the files of one observation, checks that they match, and orders them by time. */
#include "multi_file.h"

#include "base/base.h"
#include "base/input/dada_ring.h"
#include "base/input/readfd.h"
#include "base/obs_internal.h"
#include "formats/dada/dada_internal.h"
#include "formats/hdf5/fbh5.h"
#include "formats/series/series_internal.h"
#include "formats/spectra/unpack.h"
#include "formats/stream/udp.h"
#include <math.h>
#include <psrkit/obs.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- joins files of one time, whose bands lie side by side, to spectra of the whole band ------ */

enum { BLOCK_BYTES = 1 << 18 }; /* of one band */

struct bands {
    struct psr_reader base;
    struct psr_reader **band; /* [n] in the order of their channels */
    char **name;              /* [n] of their files */
    size_t n;
    uint8_t *rows; /* [nrow] spectra of one band */
    size_t nrow;
    int64_t pos; /* spectra given so far */
};

static psr_status read_band(const struct bands *r, size_t b, size_t n, psr_err *err)
{
    struct psr_reader *band = r->band[b];
    const size_t row_bytes = psr_row_bytes(band->obs.nchan, band->obs.nbit);
    psr_status st = PSR_OK;
    size_t done = 0;
    while (!st && done < n) {
        size_t more = 0;
        int64_t gap = 0;
        st = band->ops->next(band, n - done, r->rows + done * row_bytes, &more, &gap, err);
        if (!st && more == 0)
            st = psr_fail(err, gap ? PSR_EUNSUPPORTED : PSR_EIO,
                          "%s: %s spectrum %lld, must be whole to be joined with other bands",
                          r->name[b], gap ? "lacks data from" : "ends at",
                          (long long)(r->pos + (int64_t)done));
        done += more;
    }
    return st;
}

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct bands *r = (struct bands *)base;
    const size_t row_bytes = psr_row_bytes(base->obs.nchan, base->obs.nbit);
    const int64_t left = base->obs.nsamp - r->pos;
    size_t n = nsamp < r->nrow ? nsamp : r->nrow, at = 0;
    psr_status st = PSR_OK;
    *gap = 0;
    n = (int64_t)n < left ? n : (size_t)left;
    for (size_t b = 0; b < r->n && n && !st; b++) {
        const size_t band_bytes = psr_row_bytes(r->band[b]->obs.nchan, base->obs.nbit);
        st = read_band(r, b, n, err);
        for (size_t t = 0; t < n && !st; t++)
            memcpy((uint8_t *)block + t * row_bytes + at, r->rows + t * band_bytes, band_bytes);
        at += band_bytes;
    }
    *nread = st ? 0 : n;
    r->pos += (int64_t)*nread;
    return st;
}

static psr_status seek_spectrum(struct psr_reader *base, int64_t n, psr_err *err)
{
    struct bands *r = (struct bands *)base;
    psr_status st = PSR_OK;
    for (size_t b = 0; b < r->n && !st; b++)
        st = r->band[b]->ops->seek(r->band[b], n, err);
    r->pos = n;
    return st;
}

static void close_bands(struct psr_reader *base)
{
    struct bands *r = (struct bands *)base;
    for (size_t b = 0; b < r->n; b++) {
        r->band[b]->ops->close(r->band[b]);
        free(r->name ? r->name[b] : NULL);
    }
    psr_obs_clear(&base->obs);
    free(r->band);
    free(r->name);
    free(r->rows);
    free(r);
}

static const struct psr_reader_ops ops = {next_spectra, seek_spectrum, close_bands};

/* b follows a: a hundredth of a channel is the rounding of headers. */
static psr_status check_pair(const struct psr_obs *a, const struct psr_obs *b, const char *of_a,
                             const char *of_b, psr_err *err)
{
    const double rounding = 1e-2, next_mhz = a->fch1_mhz + (double)a->nchan * a->foff_mhz;
    if (a->nbit != b->nbit || a->kind != b->kind || fabs(a->tsamp_s / b->tsamp_s - 1) > 1e-9 ||
        a->freq_mhz || b->freq_mhz || fabs(a->foff_mhz - b->foff_mhz) > 1e-9 * fabs(a->foff_mhz))
        return psr_fail_field(err, PSR_EFORMAT, "foff",
                              "%s: nbits, tsamp and foff must be those of %s, which begins at the "
                              "same time, and channels equally spaced",
                              of_b, of_a);
    if (fabs(b->fch1_mhz - next_mhz) > rounding * fabs(a->foff_mhz))
        return psr_fail_field(err, PSR_EFORMAT, "fch1",
                              "%s: fch1 = %.10g MHz, must be %.10g MHz to lie beside %s, which "
                              "begins at the same time",
                              of_b, b->fch1_mhz, next_mhz, of_a);
    return PSR_OK;
}

static psr_status set_up(struct bands *r, const char *const *path, const struct psr_notes *notes,
                         psr_err *err)
{
    struct psr_obs *obs = &r->base.obs;
    int64_t longest = 0;
    r->name = calloc(r->n, sizeof *r->name);
    bool good = r->name != NULL;
    for (size_t b = 0; b < r->n && good; b++)
        good = (r->name[b] = strdup(psr_path_called(path[b]))) != NULL;
    psr_status st =
        good ? PSR_OK : psr_fail_nomem(err, "names of bands", (double)r->n * sizeof *r->name);
    if (!st)
        st = psr_obs_copy(obs, &r->band[0]->obs, err);
    r->base.file_nbit = r->band[0]->file_nbit;
    r->base.file_nif = r->band[0]->file_nif;
    r->base.pols = r->band[0]->pols;
    obs->nchan = 0;
    size_t widest = 1;
    for (size_t b = 0; b < r->n && !st; b++) {
        const struct psr_obs *of = &r->band[b]->obs;
        const size_t bytes = psr_row_bytes(of->nchan, of->nbit);
        st = b ? check_pair(&r->band[b - 1]->obs, of, path[b - 1], path[b], err) : PSR_OK;
        obs->nchan += of->nchan;
        obs->nsamp = of->nsamp < obs->nsamp ? of->nsamp : obs->nsamp;
        longest = of->nsamp > longest ? of->nsamp : longest;
        widest = bytes > widest ? bytes : widest;
    }
    if (st)
        return st;
    psr_note(notes, "%zu files are bands side by side: %zu channels from %.10g MHz on", r->n,
             obs->nchan, obs->fch1_mhz);
    if (longest > obs->nsamp)
        psr_note(notes, "the last %lld spectra, which not all bands have, are left out",
                 (long long)(longest - obs->nsamp));
    r->nrow = BLOCK_BYTES / widest + 1;
    r->rows = malloc(r->nrow * widest);
    return r->rows ? psr_obs_check(obs, "bands side by side", err)
                   : psr_fail_nomem(err, "spectra of a band", (double)r->nrow * (double)widest);
}

/* Joins bands that lie side by side.
 * Given:  band [n]   in the order of their channels, malloc'd, freed here or by the reader, with what is open; files
 *                    that can seek
 *         path [n]   their names, for messages
 * Status: PSR_EFORMAT naming fch1 or foff; PSR_ENOMEM.  Spectra missing in one of them are PSR_EUNSUPPORTED. */
static psr_status bands_join(struct psr_reader **out, struct psr_reader **band,
                             const char *const *path, size_t n, const struct psr_notes *notes,
                             psr_err *err)
{
    struct bands *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r) {
        for (size_t b = 0; b < n; b++)
            band[b]->ops->close(band[b]);
        free(band);
        return psr_fail_nomem(err, "bands", sizeof *r);
    }
    *r = (struct bands){.base = {.ops = &ops}, .band = band, .n = n};
    psr_obs_init(&r->base.obs);
    psr_status st = set_up(r, path, notes, err);
    if (st)
        close_bands(&r->base);
    else
        *out = &r->base;
    return st;
}

/* --- opens the files of one observation, checks that they match, and orders them by time ------ */

struct psr_format {
    enum psr_input input; /* PSR_INPUT_AUTO: chosen by its first bytes alone */
    const char *name;
    bool (*is)(const uint8_t *bytes, size_t n); /* whether the file's first bytes say so */
    bool may_gap, no_pipe;
    psr_status (*open)(struct psr_reader **out, const char *path,
                       const struct psr_source_desc *desc, psr_err *err);
};

/* The first format is assumed if the first bytes of a file identify none. */
static const struct psr_format formats[] = {
    {PSR_INPUT_SIGPROC, "SIGPROC", NULL, false, false, psr_sigproc_open},
    {PSR_INPUT_PSRFITS, "PSRFITS", psr_is_fits, true, true, psr_psrfits_open},
    {PSR_INPUT_AUTO, "DADA", psr_dada_is_header, false, false, psr_dada_open},
    {PSR_INPUT_AUTO, "HDF5", psr_is_hdf5, false, true, psr_fbh5_open},
};
enum { NFORMAT = sizeof formats / sizeof *formats };

/* Chosen by the name. */
static const struct psr_format network = {PSR_INPUT_AUTO, "UDP", NULL,
                                          true,           true,  psr_udp_reader_open};
static const struct psr_format ring = {PSR_INPUT_AUTO, "DADA", NULL, false, true, psr_dada_open};

/* Chosen by the first bytes that come. */
static const struct psr_format any_pipe = {PSR_INPUT_AUTO, "a pipe", NULL,
                                           false,          false,    psr_pipe_open};

static void relay_note(void *ctx, const char *msg)
{
    const struct psr_multi_file *parts = ctx;
    if (!parts->quiet)
        psr_note(&parts->notes, "%s", msg);
}

static psr_status find_format(const struct psr_format **format, const char *path,
                              enum psr_input input, psr_err *err)
{
    *format = psr_udp_is_name(path) ? &network : psr_dada_ring_is_name(path) ? &ring : formats;
    if (*format != formats)
        return PSR_OK;
    if (input == PSR_INPUT_AUTO) {
        /* By the first bytes of a regular file; a pipe's must not be taken before its reader sees them. */
        uint8_t bytes[PSR_DADA_HEADER];
        struct stat status;
        int fd;
        psr_status st = psr_open_regular(&fd, &status, path, err);
        if (st || fd < 0) {
            *format = &any_pipe;
            return st;
        }
        const ssize_t n = psr_read_at(fd, bytes, sizeof bytes, 0);
        if (n < 0)
            st = psr_fail_errno(err, "%s", path);
        close(fd);
        for (size_t i = 1; i < NFORMAT && !st; i++)
            if (formats[i].is(bytes, (size_t)n))
                *format = formats + i;
        return st;
    }
    for (size_t i = 1; i < NFORMAT; i++)
        if (input == formats[i].input)
            *format = formats + i;
    if ((*format)->no_pipe && strcmp(path, "-") == 0)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "standard input: %s cannot be read from a pipe; give the name of the file",
                        (*format)->name);
    return PSR_OK;
}

/* Copies the description of a part from its open reader. */
static psr_status describe_part(struct psr_part *part, const struct psr_reader *reader,
                                psr_err *err)
{
    part->file_nbit = reader->file_nbit;
    part->file_nif = reader->file_nif;
    part->pols = reader->pols;
    return psr_obs_copy(&part->obs, &reader->obs, err);
}

static void close_sole(struct psr_multi_file *parts)
{
    if (parts->sole)
        parts->sole->ops->close(parts->sole);
    parts->sole = NULL;
}

PSR_COMPARE(compare_times, struct psr_part,
            PSR_THEN(PSR_RISING(obs.tstart.day), PSR_RISING(obs.tstart.frac)));

static bool are_close(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static psr_status check_match(const struct psr_part *a, const struct psr_part *b, psr_err *err)
{
    const struct {
        const char *what;
        double a, b;
        const char *unit;
    } fields[] = {
        {"nchans", (double)a->obs.nchan, (double)b->obs.nchan, ""},
        {"nbits", a->file_nbit, b->file_nbit, ""},
        {"kind of samples", a->obs.kind, b->obs.kind, ""},
        {"nifs", a->file_nif, b->file_nif, ""},
        {"first polarisation used", a->pols.first, b->pols.first, ""},
        {"number of polarisations used", a->pols.count, b->pols.count, ""},
        {"tsamp", a->obs.tsamp_s, b->obs.tsamp_s, " s"},
        {"fch1", a->obs.fch1_mhz, b->obs.fch1_mhz, " MHz"},
        {"foff", a->obs.foff_mhz, b->obs.foff_mhz, " MHz"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!are_close(fields[i].a, fields[i].b))
            return psr_fail_field(err, PSR_EFORMAT, fields[i].what,
                                  "%s: %s = %.15g%s, must be %.15g%s as in %s", b->path,
                                  fields[i].what, fields[i].b, fields[i].unit, fields[i].a,
                                  fields[i].unit, a->path);
    for (size_t c = 0; c < a->obs.nchan; c++) {
        double fa = psr_obs_freq_mhz(&a->obs, c), fb = psr_obs_freq_mhz(&b->obs, c);
        if (!are_close(fa, fb))
            return psr_fail_field(
                err, PSR_EFORMAT, "freq_mhz",
                "%s: frequency of channel %zu = %.15g MHz, must be %.15g MHz as in %s", b->path, c,
                fb, fa, a->path);
    }
    return PSR_OK;
}

static psr_status order_parts(struct psr_multi_file *parts, psr_err *err)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->part[i].obs.nsamp < 0)
            return psr_fail(err, PSR_EUNSUPPORTED, "%s: not a regular file, must be the only input",
                            parts->part[i].path);
    qsort(parts->part, parts->n, sizeof *parts->part, compare_times);
    for (size_t i = 1; i < parts->n; i++) {
        psr_status st = check_match(parts->part, parts->part + i, err);
        if (st)
            return st;
        /* Where part i begins by its tstart, as PRESTO counts; what rounding of the dates explains is no
         * gap and no overlap. */
        const double date_error_s = 2e-6, too_far = 0x1p62;
        const struct psr_part *first = parts->part, *before = parts->part + i - 1;
        struct psr_part *part = parts->part + i;
        double tsamp_s = first->obs.tsamp_s;
        double start = floor(psr_mjd_diff_s(first->obs.tstart, part->obs.tstart) / tsamp_s + 0.5);
        double slack = fmin(floor(date_error_s / tsamp_s), too_far);
        if (start > too_far)
            return psr_fail_field(err, PSR_EFORMAT, "tstart",
                                  "%s: begins %g spectra after %s, must be below %g", part->path,
                                  start, first->path, too_far);
        int64_t end = before->start + before->obs.nsamp;
        int64_t missing = (int64_t)start - end;
        if (missing < -1 - (int64_t)slack)
            return psr_fail_field(
                err, PSR_EFORMAT, "tstart",
                "%s: tstart = MJD %ld.%010.0f overlaps the last %lld spectra of %s", part->path,
                part->obs.tstart.day, part->obs.tstart.frac * 1e10, (long long)-missing,
                before->path);
        if ((double)missing * tsamp_s > PSR_GAP_DAYS_MAX * PSR_DAY_S)
            return psr_fail(
                err, PSR_EFORMAT, "%s: begins %.6g days after the end of %s, at most %d is padded",
                part->path, (double)missing * tsamp_s / PSR_DAY_S, before->path, PSR_GAP_DAYS_MAX);
        part->start = missing <= (int64_t)slack ? end : (int64_t)start;
    }
    return PSR_OK;
}

struct identity {
    dev_t dev;
    ino_t ino;
    const char *path;
};

PSR_COMPARE(compare_identities, struct identity, PSR_THEN(PSR_RISING(dev), PSR_RISING(ino)));

/* All files must exist before any is read, and each be given once, under any name. */
static psr_status check_files(const struct psr_source_desc *desc, psr_err *err)
{
    size_t n = desc->npath;
    struct identity *file = calloc(n, sizeof *file);
    if (!file)
        return psr_fail_nomem(err, "the list of files", (double)n * (double)sizeof *file);
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++) {
        struct stat status;
        if (strcmp(desc->path[i], "-") == 0)
            st = psr_fail_field(err, PSR_EINVAL, "path",
                                "standard input (-) among %zu inputs, must be the only one", n);
        else if (psr_udp_is_name(desc->path[i]) || psr_dada_ring_is_name(desc->path[i]))
            st = psr_fail_field(err, PSR_EINVAL, "path",
                                "%s among %zu inputs, must be the only one", desc->path[i], n);
        else if (stat(desc->path[i], &status) != 0)
            st = psr_fail_errno(err, "%s", desc->path[i]);
        else
            file[i] = (struct identity){status.st_dev, status.st_ino, desc->path[i]};
    }
    if (!st)
        qsort(file, n, sizeof *file, compare_identities);
    for (size_t i = 1; i < n && !st; i++)
        if (compare_identities(file + i - 1, file + i) == 0)
            st = psr_fail(err, PSR_EINVAL, "%.200s is given twice, also as %.200s", file[i].path,
                          file[i - 1].path);
    free(file);
    return st;
}

/* Files that begin together, each with another first channel. */
static bool are_bands(const struct psr_multi_file *parts)
{
    const struct psr_obs *first = &parts->part[0].obs;
    for (size_t i = 1; i < parts->n; i++) {
        const struct psr_obs *obs = &parts->part[i].obs;
        if (fabs(psr_mjd_diff_s(first->tstart, obs->tstart)) > first->tsamp_s / 2 ||
            are_close(first->fch1_mhz, obs->fch1_mhz))
            return false;
    }
    for (size_t i = 0; i < parts->n; i++)
        if (parts->part[i].obs.nsamp < 0)
            return false;
    return parts->n > 1;
}

static void clear_part(struct psr_part *part)
{
    free(part->path);
    psr_obs_clear(&part->obs);
}

static int compare_bands(const void *a, const void *b)
{
    const struct psr_obs *x = &((const struct psr_part *)a)->obs,
                         *y = &((const struct psr_part *)b)->obs;
    const int order = (x->fch1_mhz > y->fch1_mhz) - (x->fch1_mhz < y->fch1_mhz);
    return x->foff_mhz < 0 ? -order : order;
}

/* All files of bands side by side are one part. */
static psr_status open_bands(struct psr_multi_file *parts, psr_err *err)
{
    struct psr_part *part = parts->part;
    struct psr_reader **band = calloc(parts->n, sizeof *band);
    const char **path = calloc(parts->n, sizeof *path);
    const double bytes = (double)parts->n * (sizeof *band + sizeof *path);
    psr_status st = band && path ? PSR_OK : psr_fail_nomem(err, "bands", bytes);
    size_t n = 0;
    qsort(part, parts->n, sizeof *part, compare_bands);
    parts->quiet = true;
    for (; n < parts->n && !st; n += !st) {
        path[n] = part[n].path;
        st = part[n].format->open(&band[n], part[n].path, &parts->desc, err);
    }
    parts->quiet = false;
    if (!st) {
        st = bands_join(&parts->sole, band, path, n, &parts->notes, err);
    } else {
        for (size_t i = 0; i < n; i++)
            band[i]->ops->close(band[i]);
        free(band);
    }
    free(path);
    if (st)
        return st;
    for (size_t i = 1; i < n; i++)
        clear_part(part + i);
    parts->n = 1;
    psr_obs_clear(&part->obs);
    return describe_part(part, parts->sole, err);
}

static bool are_subbands(const struct psr_source_desc *desc)
{
    for (size_t i = 0; i < desc->npath && desc->input == PSR_INPUT_AUTO; i++)
        if (psr_subbands_named(desc->path[i]))
            return true;
    return false;
}

/* All files of sub-bands are one part. */
static psr_status open_subbands(struct psr_multi_file *parts, const struct psr_source_desc *desc,
                                psr_err *err)
{
    struct psr_part *part = parts->part;
    parts->n = 1;
    psr_obs_init(&part->obs);
    parts->inf = calloc(1, sizeof *parts->inf);
    part->path = strdup(desc->path[0]);
    if (!parts->inf || !part->path)
        return psr_fail_nomem(err, "the description of sub-bands", sizeof *parts->inf);
    psr_status st =
        psr_subbands_open(&parts->sole, desc->path, desc->npath, parts->inf, &parts->desc, err);
    return st ? st : describe_part(part, parts->sole, err);
}

psr_status psr_multi_file_open(struct psr_multi_file *parts, const struct psr_source_desc *desc,
                               psr_err *err)
{
    *parts =
        (struct psr_multi_file){.desc = *desc, .notes = desc->notes, .may_gap = desc->npath > 1};
    parts->desc.path = NULL;
    parts->desc.npath = 0;
    parts->desc.notes = (struct psr_notes){.note = relay_note, .ctx = parts};
    if (desc->npath == 0)
        return psr_fail_field(err, PSR_EINVAL, "npath", "no input files");
    if (desc->npath > 1) {
        psr_status st = check_files(desc, err);
        if (st)
            return st;
    }
    parts->part = calloc(desc->npath, sizeof *parts->part);
    if (!parts->part)
        return psr_fail_nomem(err, "the list of files",
                              (double)desc->npath * (double)sizeof *parts->part);
    if (are_subbands(desc)) {
        parts->may_gap = false;
        return open_subbands(parts, desc, err);
    }
    for (size_t i = 0; i < desc->npath; i++) {
        close_sole(parts);
        const char *path = desc->path[i];
        struct psr_part *part = parts->part + parts->n;
        *part = (struct psr_part){0};
        psr_obs_init(&part->obs);
        parts->n++;
        part->path = strdup(path);
        if (!part->path)
            return psr_fail_nomem(err, "a file name", (double)strlen(path));
        psr_status st = find_format(&part->format, path, parts->desc.input, err);
        if (!st) {
            /* Only who writes to a pipe can be made to wait, or not. */
            const bool network_input = part->format == &network,
                       drops =
                           parts->desc.drop_s > 0 && !network_input && !psr_is_regular(part->path);
            parts->may_gap |= drops;
            parts->counts_gaps = drops || network_input;
            if (parts->desc.drop_s > 0 && !drops)
                psr_note(&parts->notes, "%s: -drop is for pipes%s: ignored", part->path,
                         network_input ? "; room= says what a network input may hold" : "");
            st = drops ? psr_drop_reader_open(&parts->sole, part->path, &parts->desc,
                                              part->format->open, err)
                       : part->format->open(&parts->sole, part->path, &parts->desc, err);
        }
        if (!st)
            st = describe_part(part, parts->sole, err);
        if (!st)
            parts->may_gap |= part->format->may_gap;
        if (st)
            return st;
    }
    if (desc->npath == 1)
        return PSR_OK;
    close_sole(parts);
    return are_bands(parts) ? open_bands(parts, err) : order_parts(parts, err);
}

psr_status psr_multi_file_reader(struct psr_multi_file *parts, size_t i, struct psr_reader **out,
                                 psr_err *err)
{
    const struct psr_part *part = parts->part + i;
    *out = parts->sole;
    parts->sole = NULL;
    if (*out)
        return PSR_OK;
    parts->quiet = true;
    psr_status st = part->format->open(out, part->path, &parts->desc, err);
    parts->quiet = false;
    if (st)
        return st;
    if ((*out)->obs.nsamp != part->obs.nsamp) {
        st = psr_fail(err, PSR_EFORMAT, "%s: has changed: %lld spectra, were %lld", part->path,
                      (long long)(*out)->obs.nsamp, (long long)part->obs.nsamp);
        (*out)->ops->close(*out);
        *out = NULL;
    }
    return st;
}

void psr_multi_file_close(struct psr_multi_file *parts)
{
    close_sole(parts);
    for (size_t i = 0; i < parts->n; i++)
        clear_part(parts->part + i);
    free(parts->part);
    free(parts->inf);
    *parts = (struct psr_multi_file){0};
}
