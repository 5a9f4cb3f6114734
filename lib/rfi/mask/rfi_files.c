/* Reads and writes rfifind's .stats and .rfi files, and .moments beside them. */
#include "base/base.h"
#include "base/input/readfd.h"
#include "rfi/rules/clean_internal.h"
#include <psrkit/experimental/clean.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are taken as they lie in the file, which is little-endian");

static const int32_t max_channels = 1 << 20, max_intervals = 1 << 24;
enum { STATS_BYTES = 20, LIST_BYTES = 36, BIRDIE_BYTES = 16 };

void psr_rfi_stats_clear(struct psr_rfi_stats *stats)
{
    free(stats->power);
    free(stats->mean);
    free(stats->sd);
    free(stats->cell);
    free(stats->burst);
    *stats = (struct psr_rfi_stats){0};
}

void psr_rfi_list_clear(struct psr_rfi_list *list)
{
    free(list->birdie);
    free(list->times);
    free(list->chans);
    *list = (struct psr_rfi_list){0};
}

void psr_rfi_lines_clear(struct psr_rfi_lines *lines)
{
    free(lines->line);
    *lines = (struct psr_rfi_lines){0};
}

static size_t bit_bytes(size_t n)
{
    return (n + 7) / 8;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A regular file, of which at least a header and not more than the memory allows is there. */
static psr_status read_whole(const char *path, size_t header, int64_t mem_bytes, char **bytes,
                             size_t *n, psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    const int64_t most = psr_count_memory(mem_bytes);
    struct stat s;
    *bytes = NULL;
    if (stat(path, &s) != 0)
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(s.st_mode))
        return psr_fail(err, PSR_EFORMAT, "%s: not a regular file", path);
    if ((size_t)s.st_size < header)
        return psr_fail(err, PSR_EFORMAT, "%s: %lld bytes, and its header has %zu", path,
                        (long long)s.st_size, header);
    if ((double)s.st_size > (double)most / 2) /* the bytes, and what is made of them */
        return psr_fail(err, PSR_ENOMEM, "%s: reading it takes %s, the limit is %s", path,
                        psr_size_text(need, 2 * (double)s.st_size),
                        psr_size_text(have, (double)most));
    return psr_read_file(path, (size_t)s.st_size, bytes, n, err);
}

struct count {
    const char *name;
    int32_t value, least, most;
};

static psr_status check_counts(const char *path, const struct count *count, size_t n, psr_err *err)
{
    for (size_t k = 0; k < n; k++)
        if (count[k].value < count[k].least || count[k].value > count[k].most)
            return psr_fail(err, PSR_EFORMAT, "%s: %s = %d, must be %d to %d", path, count[k].name,
                            count[k].value, count[k].least, count[k].most);
    return PSR_OK;
}

static psr_status check_shape(const char *path, const int32_t head[3], psr_err *err)
{
    const struct count count[] = {{"number of channels", head[0], 1, max_channels},
                                  {"number of intervals", head[1], 1, max_intervals},
                                  {"samples per interval", head[2], 1, INT32_MAX}};
    return check_counts(path, count, 3, err);
}

/* A copy of n bytes; NULL on error. */
static void *copy_bytes(const char *from, size_t n, psr_err *err)
{
    void *to = malloc(n ? n : 1);
    if (!to)
        psr_fail_nomem(err, "rfifind's statistics", (double)n);
    else if (n)
        memcpy(to, from, n);
    return to;
}

static psr_status take_stats(struct psr_rfi_stats *stats, const char *bytes, size_t n,
                             const char *path, psr_err *err)
{
    int32_t head[5];
    memcpy(head, bytes, sizeof head);
    psr_status st = check_shape(path, head, err);
    if (st)
        return st;
    *stats = (struct psr_rfi_stats){.nchan = (size_t)head[0],
                                    .nint = (size_t)head[1],
                                    .ptsperint = head[2],
                                    .lobin = head[3],
                                    .numbetween = head[4]};
    const size_t table = stats->nchan * stats->nint * sizeof(float);
    if (n != STATS_BYTES + 3 * table)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: %zu intervals of %zu channels take %zu bytes, and %zu are there", path,
                        stats->nint, stats->nchan, 3 * table, n - STATS_BYTES);
    stats->power = copy_bytes(bytes + STATS_BYTES, table, err);
    stats->mean = copy_bytes(bytes + STATS_BYTES + table, table, err);
    stats->sd = copy_bytes(bytes + STATS_BYTES + 2 * table, table, err);
    return stats->power && stats->mean && stats->sd ? PSR_OK : PSR_ENOMEM;
}

psr_status psr_rfi_stats_read(struct psr_rfi_stats *stats, const char *path, int64_t mem_bytes,
                              psr_err *err)
{
    char *bytes;
    size_t n;
    *stats = (struct psr_rfi_stats){0};
    psr_status st = read_whole(path, STATS_BYTES, mem_bytes, &bytes, &n, err);
    if (!st)
        st = take_stats(stats, bytes, n, path, err);
    free(bytes);
    return st;
}

/* Of the same shape as stats. */
static psr_status take_moments(struct psr_rfi_stats *stats, const char *bytes, size_t n,
                               const char *path, psr_err *err)
{
    int32_t head[5];
    memcpy(head, bytes, sizeof head);
    const size_t burst = stats->nint * sizeof *stats->burst;
    const size_t cell = stats->nint * stats->nchan * sizeof *stats->cell;
    if ((size_t)head[0] != stats->nchan || (size_t)head[1] != stats->nint ||
        head[2] != stats->ptsperint)
        return psr_fail(
            err, PSR_EFORMAT,
            "%s: %d intervals of %d spectra and %d channels, and .stats has %zu of %lld and %zu",
            path, head[1], head[2], head[0], stats->nint, (long long)stats->ptsperint,
            stats->nchan);
    if (n != STATS_BYTES + burst + cell)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: %zu intervals of %zu channels take %zu bytes, and %zu are there", path,
                        stats->nint, stats->nchan, burst + cell, n - STATS_BYTES);
    stats->burst = copy_bytes(bytes + STATS_BYTES, burst, err);
    stats->cell = copy_bytes(bytes + STATS_BYTES + burst, cell, err);
    return stats->burst && stats->cell ? PSR_OK : PSR_ENOMEM;
}

psr_status psr_rfi_moments_read(struct psr_rfi_stats *stats, const char *path, int64_t mem_bytes,
                                psr_err *err)
{
    char *bytes;
    size_t n;
    psr_status st = read_whole(path, STATS_BYTES, mem_bytes, &bytes, &n, err);
    if (!st)
        st = take_moments(stats, bytes, n, path, err);
    free(bytes);
    return st;
}

static psr_status take_list_header(struct psr_rfi_list *l, const char *bytes, size_t n,
                                   const char *path, psr_err *err)
{
    int32_t head[7];
    memcpy(head, bytes, sizeof head);
    psr_status st = check_shape(path, head, err);
    if (st)
        return st;
    const struct count count = {"number of birdies", head[6], 0, INT32_MAX};
    st = check_counts(path, &count, 1, err);
    if (st)
        return st;
    l->nchan = (size_t)head[0];
    l->nint = (size_t)head[1];
    l->ptsperint = head[2];
    l->lobin = head[3];
    l->numbetween = head[4];
    l->numharm = head[5];
    l->n = l->room = (size_t)head[6];
    memcpy(&l->fract_error, bytes + sizeof head, sizeof l->fract_error);
    memcpy(&l->freq_sigma, bytes + sizeof head + sizeof l->fract_error, sizeof l->freq_sigma);
    const size_t each = BIRDIE_BYTES + bit_bytes(l->nint) + bit_bytes(l->nchan);
    if ((n - LIST_BYTES) / each != l->n || (n - LIST_BYTES) % each)
        return psr_fail(err, PSR_EFORMAT, "%s: %zu birdies take %.0f bytes, and %zu are there",
                        path, l->n, (double)l->n * (double)each, n - LIST_BYTES);
    return PSR_OK;
}

static psr_status take_list(struct psr_rfi_list *l, const char *bytes, psr_err *err)
{
    const size_t nt = bit_bytes(l->nint), nc = bit_bytes(l->nchan);
    l->birdie = calloc(l->n + 1, sizeof *l->birdie);
    l->times = malloc(l->n * nt + 1);
    l->chans = malloc(l->n * nc + 1);
    if (!l->birdie || !l->times || !l->chans)
        return psr_fail_nomem(err, "the list of periodic interference",
                              (double)l->n * (double)(sizeof *l->birdie + nt + nc));
    for (size_t k = 0; k < l->n; k++) {
        memcpy(&l->birdie[k], bytes, BIRDIE_BYTES);
        memcpy(l->times + k * nt, bytes + BIRDIE_BYTES, nt);
        memcpy(l->chans + k * nc, bytes + BIRDIE_BYTES + nt, nc);
        bytes += BIRDIE_BYTES + nt + nc;
    }
    return PSR_OK;
}

psr_status psr_rfi_list_read(struct psr_rfi_list *list, const char *path, int64_t mem_bytes,
                             psr_err *err)
{
    char *bytes;
    size_t n;
    *list = (struct psr_rfi_list){0};
    psr_status st = read_whole(path, LIST_BYTES, mem_bytes, &bytes, &n, err);
    if (!st)
        st = take_list_header(list, bytes, n, path, err);
    if (!st)
        st = take_list(list, bytes + LIST_BYTES, err);
    free(bytes);
    return st;
}

/* --- writing ---------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct psr_rfi_birdie) == BIRDIE_BYTES, "a birdie lies as in the file");

psr_status psr_rfi_stats_write(psr_outfile *f, const struct psr_rfi_stats *stats, psr_err *err)
{
    const int32_t head[5] = {(int32_t)stats->nchan, (int32_t)stats->nint, (int32_t)stats->ptsperint,
                             stats->lobin, stats->numbetween};
    const float *const table[] = {stats->power, stats->mean, stats->sd};
    psr_status st = psr_outfile_write(f, head, sizeof head, err);
    for (size_t k = 0; k < 3 && !st; k++)
        st = psr_outfile_write(f, table[k], stats->nchan * stats->nint * sizeof(float), err);
    return st;
}

_Static_assert(sizeof(struct psr_rfi_cell) == 5 * sizeof(float), "a cell lies as in the file");

psr_status psr_rfi_moments_write(psr_outfile *f, const struct psr_rfi_stats *stats, psr_err *err)
{
    const int32_t head[5] = {(int32_t)stats->nchan, (int32_t)stats->nint, (int32_t)stats->ptsperint,
                             stats->lobin, stats->numbetween};
    psr_status st = psr_outfile_write(f, head, sizeof head, err);
    if (!st)
        st = psr_outfile_write(f, stats->burst, stats->nint * sizeof *stats->burst, err);
    if (!st)
        st = psr_outfile_write(f, stats->cell, stats->nchan * stats->nint * sizeof *stats->cell,
                               err);
    return st;
}

psr_status psr_rfi_list_write(psr_outfile *f, const struct psr_rfi_list *l, psr_err *err)
{
    const int32_t head[7] = {(int32_t)l->nchan, (int32_t)l->nint, (int32_t)l->ptsperint, l->lobin,
                             l->numbetween,     l->numharm,       (int32_t)l->n};
    const float limits[2] = {l->fract_error, l->freq_sigma};
    const size_t nt = bit_bytes(l->nint), nc = bit_bytes(l->nchan);
    psr_status st = psr_outfile_write(f, head, sizeof head, err);
    if (!st)
        st = psr_outfile_write(f, limits, sizeof limits, err);
    for (size_t k = 0; k < l->n && !st; k++) {
        st = psr_outfile_write(f, &l->birdie[k], BIRDIE_BYTES, err);
        if (!st)
            st = psr_outfile_write(f, l->times + k * nt, nt, err);
        if (!st)
            st = psr_outfile_write(f, l->chans + k * nc, nc, err);
    }
    return st;
}

/* --- writes lines of interference as .zaplist and .birds files -------------------------------- */

psr_status psr_rfi_zaplist_write(psr_outfile *f, const struct psr_rfi_lines *l, psr_err *err)
{
    psr_status st = psr_outfile_printf(f, err, "# Frequency (Hz)      Width (Hz)\n");
    for (size_t k = 0; k < l->n && !st; k++)
        st = psr_outfile_printf(f, err, "%20.12g %15.8g # power %.5g\n", l->line[k].freq_hz,
                                l->line[k].width_hz, l->line[k].power);
    return st;
}

/* So wide that each harmonic of line k is covered at its multiple of the frequency. */
static double width_of_all(const struct psr_rfi_lines *l, size_t k)
{
    const struct psr_rfi_line *f = &l->line[k];
    double width = f->width_hz;
    size_t next = k + 1;
    for (int h = 2; h <= f->nharm; h++) {
        const double at = h * f->freq_hz;
        while (next + 1 < l->n &&
               fabs(l->line[next + 1].freq_hz - at) < fabs(l->line[next].freq_hz - at))
            next++;
        if (next < l->n)
            width = fmax(width, l->line[next].width_hz + 2 * fabs(l->line[next].freq_hz - at));
    }
    return width;
}

psr_status psr_rfi_birds_write(psr_outfile *f, const struct psr_rfi_lines *l, psr_err *err)
{
    psr_status st =
        psr_outfile_printf(f, err, "# Frequency (Hz)      Width (Hz) Harmonics Grow Barycentric\n");
    for (size_t k = 0; k < l->n && !st; k++)
        if (l->line[k].nharm > 0)
            st = psr_outfile_printf(f, err, "%20.12g %15.8g %d 0 0\n", l->line[k].freq_hz,
                                    width_of_all(l, k), l->line[k].nharm);
    return st;
}
