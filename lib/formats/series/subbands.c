/* Reads sub-band files that prepsubband -sub wrote. */
#include "base/input/readfd.h"
#include "base/obs_internal.h"
#include "base/tool.h"
#include "formats/spectra/unpack.h"
#include "series_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = PSR_SUBBANDS_BLOCK, CHUNK_BYTES = 4 << 20 };

struct subband {
    char *path;
    size_t number; /* in its name */
};

struct subbands_reader {
    struct psr_reader base;
    struct subband *file; /* [nchan] */
    bool runavg;
    int64_t pos;          /* samples given so far */
    int64_t chunk_at;     /* sample that chunk begins with */
    size_t chunk_n, room; /* samples in chunk, and that it has room for: whole blocks */
    int16_t *column;      /* [room] of one file */
    unsigned char *chunk; /* [room][nchan] as the blocks of the source */
};

/* --- names ------------------------------------------------------------------------------------ */

/* Returned: where the digits begin in ROOT.sub12, or NULL. */
static const char *find_number(const char *path)
{
    static const char mark[] = ".sub";
    const char *dot = strrchr(path, '.');
    if (!dot || strncmp(dot, mark, sizeof mark - 1) != 0)
        return NULL;
    const char *digits = dot + sizeof mark - 1;
    return *digits && digits[strspn(digits, "0123456789")] == '\0' ? digits : NULL;
}

bool psr_subbands_named(const char *path)
{
    return find_number(path) != NULL;
}

char *psr_subbands_inf(const char *path)
{
    const char *number = find_number(path);
    char *name = number ? malloc(strlen(path) + sizeof ".inf") : NULL;
    if (name)
        strcpy(stpncpy(name, path, (size_t)(number - path)), ".inf");
    return name;
}

static bool is_inf(const char *path)
{
    static const char ending[] = ".sub.inf";
    size_t n = strlen(path), m = sizeof ending - 1;
    return n > m && strcmp(path + n - m, ending) == 0;
}

PSR_COMPARE(compare_numbers, struct subband, PSR_RISING(number));

/* All files of one set have the same name but for their numbers, which are 0 to n - 1. */
static psr_status check_set(const struct subband *file, size_t n, psr_err *err)
{
    size_t stem = (size_t)(find_number(file[0].path) - file[0].path);
    for (size_t j = 0; j < n; j++) {
        const char *path = file[j].path;
        if ((size_t)(find_number(path) - path) != stem || strncmp(path, file[0].path, stem) != 0)
            return psr_fail(err, PSR_EFORMAT, "%.200s: is not of the set of sub-bands of %.200s",
                            path, file[0].path);
        if (j > 0 && file[j].number == file[j - 1].number)
            return psr_fail(err, PSR_EINVAL, "%.200s: is given twice", path);
        if (file[j].number != j)
            return psr_fail(err, PSR_EFORMAT,
                            "%.200s: sub-band %zu follows %s%zu: the set must be complete", path,
                            file[j].number, j ? "" : "none, must be ", j ? j - 1 : 0);
    }
    /* A set that goes on after what was given would be taken for one of wider sub-bands. */
    const char *last = file[n - 1].path, *digits = find_number(last);
    size_t room = strlen(last) + 24;
    char *next = malloc(room);
    if (!next)
        return psr_fail_nomem(err, "a file name", (double)room);
    snprintf(next, room, "%.*s%0*zu", (int)(digits - last), last, (int)strlen(digits), n);
    bool more = access(next, F_OK) == 0;
    psr_status st = PSR_OK;
    if (more)
        st = psr_fail(err, PSR_EFORMAT, "%.200s: is of the same set, which must be complete", next);
    free(next);
    return st;
}

static psr_status take_names(struct subbands_reader *r, const char *const *path, size_t npath,
                             psr_err *err)
{
    size_t n = 0;
    r->file = calloc(npath, sizeof *r->file);
    if (!r->file)
        return psr_fail_nomem(err, "names of sub-bands", (double)npath * sizeof *r->file);
    for (size_t k = 0; k < npath; k++) {
        if (is_inf(path[k]))
            continue;
        if (!psr_subbands_named(path[k]))
            return psr_fail(err, PSR_EFORMAT,
                            "%.200s: is no file of sub-bands (*.sub00), and another input is",
                            path[k]);
        r->file[n].path = strdup(path[k]);
        if (!r->file[n].path)
            return psr_fail_nomem(err, "a file name", (double)strlen(path[k]));
        r->file[n++].number = strtoul(find_number(path[k]), NULL, 10);
        r->base.obs.nchan = n;
    }
    qsort(r->file, n, sizeof *r->file, compare_numbers);
    return check_set(r->file, n, err);
}

/* --- description ------------------------------------------------------------------------------ */

static psr_status read_description(struct subbands_reader *r, struct psr_inf *inf,
                                   const struct psr_notes *notes, psr_err *err)
{
    char *name = psr_subbands_inf(r->file[0].path);
    if (!name)
        return psr_fail_nomem(err, "a file name", (double)strlen(r->file[0].path));
    psr_status st = psr_inf_read(inf, name, err);
    /* PRESTO, as it reads an .inf file, keeps the two lines it has written itself. */
    char *end = strchr(inf->notes, '\n');
    end = end ? strchr(end + 1, '\n') : NULL;
    if (end)
        end[1] = '\0';
    if (!st && !inf->has_epoch)
        psr_note(notes, "%s: no epoch of observation: MJD 0 is taken", name);
    size_t n = r->base.obs.nchan;
    if (!st && (inf->nchan < 1 || (size_t)inf->nchan % n))
        st = psr_fail(err, PSR_EFORMAT,
                      "%.200s: Number of channels = %ld, must be a multiple of the %zu sub-bands",
                      name, inf->nchan, n);
    if (!st && !(inf->lowest_mhz > 0 && inf->chan_width_mhz > 0))
        st = psr_fail(
            err, PSR_EFORMAT,
            "%.200s: Central freq of low channel = %g MHz, Channel bandwidth = %g MHz, must be "
            "above 0",
            name, inf->lowest_mhz, inf->chan_width_mhz);
    free(name);
    return st;
}

static psr_status check_sizes(struct subbands_reader *r, psr_err *err)
{
    struct stat status;
    int64_t nsamp = r->base.obs.nsamp;
    for (size_t j = 0; j < r->base.obs.nchan; j++) {
        const char *path = r->file[j].path;
        if (stat(path, &status) != 0)
            return psr_fail_errno(err, "%s", path);
        if (!S_ISREG(status.st_mode))
            return psr_fail(err, PSR_EUNSUPPORTED, "%s: not a regular file", path);
        if (status.st_size != nsamp * (int64_t)sizeof(int16_t))
            return psr_fail(err, PSR_EFORMAT,
                            "%.200s: size %lld bytes, must be %lld: 2 for each of the %lld samples "
                            "that the .sub.inf tells of",
                            path, (long long)status.st_size,
                            (long long)(nsamp * (int64_t)sizeof(int16_t)), (long long)nsamp);
    }
    if (nsamp < 1)
        return psr_fail(err, PSR_EFORMAT, "%s: no samples", r->file[0].path);
    return PSR_OK;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Files are open while they are read only: there may be more of them than descriptors. */
static psr_status read_column(const struct subbands_reader *r, size_t j, size_t n, psr_err *err)
{
    const char *path = r->file[j].path;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return psr_fail_errno(err, "%s", path);
    psr_status st = PSR_OK;
    size_t bytes = n * sizeof *r->column;
    ssize_t got = psr_read_at(fd, r->column, bytes, r->chunk_at * (int64_t)sizeof *r->column);
    if (got < 0)
        st = psr_fail_errno(err, "%s: cannot read", path);
    else if ((size_t)got < bytes)
        st = psr_fail(err, PSR_EIO, "%s: ended %zu bytes early while it was read", path,
                      bytes - (size_t)got);
    close(fd);
    return st;
}

static void place_integers(const struct subbands_reader *r, size_t j, size_t n)
{
    size_t nchan = r->base.obs.nchan;
    int16_t *to = (int16_t *)(void *)r->chunk + j;
    for (size_t t = 0; t < n; t++)
        to[t * nchan] = r->column[t];
}

/* The mean is a double and its difference a float, as in PRESTO. */
static void place_differences(const struct subbands_reader *r, size_t j, size_t n)
{
    size_t nchan = r->base.obs.nchan;
    float *to = (float *)(void *)r->chunk + j;
    for (size_t t0 = 0; t0 < n; t0 += BLOCK) {
        size_t end = n - t0 < BLOCK ? n : t0 + BLOCK;
        int64_t sum = 0;
        for (size_t t = t0; t < end; t++)
            sum += r->column[t];
        double mean = (double)sum / (double)(end - t0);
        for (size_t t = t0; t < end; t++)
            to[t * nchan] = (float)((double)r->column[t] - mean);
    }
}

static psr_status read_chunk(struct subbands_reader *r, psr_err *err)
{
    int64_t left = r->base.obs.nsamp - r->pos;
    size_t n = left < (int64_t)r->room ? (size_t)left : r->room;
    psr_status st = PSR_OK;
    r->chunk_at = r->pos;
    r->chunk_n = 0;
    for (size_t j = 0; j < r->base.obs.nchan && !st; j++) {
        st = read_column(r, j, n, err);
        if (!st)
            (r->runavg ? place_differences : place_integers)(r, j, n);
    }
    if (!st)
        r->chunk_n = n;
    return st;
}

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct subbands_reader *r = (struct subbands_reader *)base;
    size_t row_bytes = psr_row_bytes(base->obs.nchan, base->obs.nbit);
    psr_status st = PSR_OK;
    *nread = 0;
    *gap = 0;
    if (r->pos >= base->obs.nsamp)
        return st;
    if (r->pos >= r->chunk_at + (int64_t)r->chunk_n)
        st = read_chunk(r, err);
    if (st)
        return st;
    size_t at = (size_t)(r->pos - r->chunk_at), n = r->chunk_n - at;
    n = n < nsamp ? n : nsamp;
    memcpy(block, r->chunk + at * row_bytes, n * row_bytes);
    r->pos += (int64_t)n;
    *nread = n;
    return st;
}

static psr_status seek_spectrum(struct psr_reader *base, int64_t n, psr_err *err)
{
    struct subbands_reader *r = (struct subbands_reader *)base;
    if (n < 0 || n > base->obs.nsamp)
        return psr_fail(err, PSR_EINVAL, "%s: spectrum %lld, must be 0 to %lld", r->file[0].path,
                        (long long)n, (long long)base->obs.nsamp);
    r->pos = r->chunk_at = n;
    r->chunk_n = 0;
    return PSR_OK;
}

static void close_reader(struct psr_reader *base)
{
    struct subbands_reader *r = (struct subbands_reader *)base;
    for (size_t j = 0; r->file && j < base->obs.nchan; j++)
        free(r->file[j].path);
    psr_obs_clear(&base->obs);
    free(r->file);
    free(r->column);
    free(r->chunk);
    free(r);
}

static const struct psr_reader_ops ops = {next_spectra, seek_spectrum, close_reader};

static psr_status allocate(struct subbands_reader *r, psr_err *err)
{
    size_t row_bytes = psr_row_bytes(r->base.obs.nchan, r->base.obs.nbit);
    size_t blocks = CHUNK_BYTES / row_bytes / BLOCK + 1;
    r->room = blocks * BLOCK;
    r->column = malloc(r->room * sizeof *r->column);
    r->chunk = malloc(r->room * row_bytes);
    if (!r->column || !r->chunk)
        return psr_fail_nomem(err, "sub-bands", (double)r->room * (double)row_bytes);
    return PSR_OK;
}

psr_status psr_subbands_open(struct psr_reader **out, const char *const *path, size_t npath,
                             struct psr_inf *inf, const struct psr_source_desc *desc, psr_err *err)
{
    *out = NULL;
    if (desc->invert)
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "invert",
            "%s: the channels of a sub-band are summed, and their order cannot be "
            "inverted",
            path[0]);
    struct subbands_reader *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a reader of sub-bands", sizeof *r);
    psr_obs_init(&r->base.obs);
    r->base.ops = &ops;
    r->runavg = desc->runavg;
    psr_status st = take_names(r, path, npath, err);
    if (!st)
        st = read_description(r, inf, &desc->notes, err);
    if (!st) {
        /* Sub-bands are at their highest channels, in PRESTO's arithmetic. */
        struct psr_obs *obs = &r->base.obs;
        size_t nsub = obs->nchan;
        double width_mhz = inf->chan_width_mhz * (double)((size_t)inf->nchan / nsub);
        psr_inf_to_obs(inf, obs);
        obs->nchan = nsub;
        obs->nif = 1;
        obs->nbit = r->runavg ? 32 : 16;
        obs->kind = r->runavg ? PSR_FLOAT : PSR_INT;
        obs->fch1_mhz = inf->lowest_mhz + width_mhz - inf->chan_width_mhz;
        obs->foff_mhz = width_mhz;
        obs->block_nsamp = BLOCK;
        r->base.file_nbit = 16;
        r->base.file_nif = 1;
        st = psr_obs_check(obs, r->file[0].path, err);
    }
    if (!st)
        st = check_sizes(r, err);
    if (!st)
        st = allocate(r, err);
    if (st) {
        close_reader(&r->base);
        return st;
    }
    *out = &r->base;
    return st;
}
