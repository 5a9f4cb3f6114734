/* Reads spectra that follow a header, from files, pipes and rings. */
#include "spectra_reader.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "base/portable.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { READ_BYTES = 4 << 20 }; /* that a thread reads at once */

struct spectra_reader {
    struct psr_reader base;
    struct psr_notes notes;
    bool (*should_stop)(void *ctx); /* as in psr_source_desc */
    void *stop_ctx;
    int nthread;
    char *name;
    int fd;
    bool stream;          /* no regular file: its length is unknown and it cannot seek */
    int64_t size;         /* of a file, bytes */
    bool ended;           /* a stream's end was met */
    unsigned char *spare; /* [spare_n] read for the header's sake, used up to spare_at */
    size_t spare_at, spare_n;
    size_t header_bytes;
    int64_t pos;      /* spectra given so far */
    int64_t promised; /* by the header, or -1 */
    struct psr_ifs ifs;
    unsigned char *raw; /* [raw_spectra] spectra; NULL where blocks are the file's bytes */
    size_t raw_spectra;
};

/* Whole pieces of a file that is probably in memory, which one thread is slower to copy than many.
 * Returned: bytes read from where the file stands, which stands behind them; fewer than n, perhaps
 *           none, where the rest is left to be read in order */
static size_t read_pieces(const struct spectra_reader *r, void *to, size_t n)
{
    const int nthread = r->nthread;
    const off_t at = lseek(r->fd, 0, SEEK_CUR);
    size_t npiece = n / READ_BYTES, first_bad = npiece;
    if (at < 0 || nthread < 2 || npiece < 2)
        return 0;
#pragma omp parallel for schedule(dynamic) num_threads(nthread) reduction(min : first_bad)
    for (size_t k = 0; k < npiece; k++) {
        size_t from = k * READ_BYTES;
        if (pread(r->fd, (char *)to + from, READ_BYTES, at + (off_t)from) != READ_BYTES)
            first_bad = k < first_bad ? k : first_bad;
    }
    size_t good = first_bad * READ_BYTES;
    return lseek(r->fd, at + (off_t)good, SEEK_SET) < 0 ? 0 : good;
}

/* A file gives what it has at once. */
static ssize_t read_some(const struct spectra_reader *r, void *to, size_t n)
{
    return psr_read_unless(r->stream ? r->should_stop : NULL, r->stop_ctx, r->fd, to, n);
}

/* What has been read so far, for the parser. */
static struct psr_spectra_start start_of(const struct spectra_reader *r, bool end)
{
    return (struct psr_spectra_start){
        .bytes = r->spare, .n = r->spare_n, .end = end, .stream = r->stream, .name = r->name};
}

/* One polarisation, or the sum of two. */
psr_status psr_ifs_choose(struct psr_ifs *ifs, struct psr_reader *r, const char *name,
                          const struct psr_source_desc *desc, psr_err *err)
{
    struct psr_obs *obs = &r->obs;
    const size_t if_bytes = psr_row_bytes(obs->nchan, obs->nbit);
    psr_status st =
        psr_pols_choose(&r->pols, name, "the header", "", obs->nif, obs->pols, desc, err);
    if (st)
        return st;
    *ifs = (struct psr_ifs){.first_at = (size_t)r->pols.first * if_bytes,
                            .row_bytes = if_bytes,
                            .spectrum_bytes = if_bytes * (size_t)obs->nif};
    r->file_nif = obs->nif;
    if (obs->nif == 1)
        return PSR_OK;
    snprintf(obs->poln, sizeof obs->poln, "%d polns were %s", obs->nif,
             r->pols.count > 1 ? "summed" : "not summed");
    if (r->pols.count > 1) {
        ifs->sum = psr_if_sum_find(obs->nbit, obs->kind);
        obs->nbit = ifs->sum->sum_nbit;
        obs->kind = ifs->sum->sum_kind;
        ifs->row_bytes = psr_row_bytes(obs->nchan, obs->nbit);
    }
    obs->nif = 1;
    return PSR_OK;
}

/* Room for spectra of all IFs. */
static psr_status choose_ifs(struct spectra_reader *r, const struct psr_source_desc *desc,
                             psr_err *err)
{
    const size_t raw_bytes = (size_t)1 << 18;
    psr_status st = psr_ifs_choose(&r->ifs, &r->base, r->name, desc, err);
    if (st || r->base.file_nif == 1)
        return st;
    r->raw_spectra = raw_bytes / r->ifs.spectrum_bytes + 1;
    r->raw = malloc(r->raw_spectra * r->ifs.spectrum_bytes);
    return r->raw ? PSR_OK
                  : psr_fail_nomem(err, "spectra of all IFs",
                                   (double)r->raw_spectra * (double)r->ifs.spectrum_bytes);
}

/* SIGPROC goes on with the next spectrum at the next bit, PRESTO counts bytes rounded down. */
static psr_status check_spectra(const struct spectra_reader *r, psr_err *err)
{
    const struct psr_obs *obs = &r->base.obs;
    if (obs->nchan * (size_t)obs->nbit % 8 == 0)
        return PSR_OK;
    return psr_fail_field(err, PSR_EUNSUPPORTED, "nchans",
                          "%s: nchans = %zu at nbits = %d, must be a multiple of %d: programs "
                          "disagree on spectra that end within a byte",
                          r->name, obs->nchan, obs->nbit, 8 / obs->nbit);
}

static psr_status measure_file(struct spectra_reader *r, psr_err *err)
{
    int64_t bytes = r->size - (int64_t)r->header_bytes;
    int64_t nsamp = bytes / (int64_t)r->ifs.spectrum_bytes;
    int64_t partial = bytes % (int64_t)r->ifs.spectrum_bytes;
    if (nsamp < 1)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: no samples: %lld bytes follow the header, a spectrum takes %zu",
                        r->name, (long long)(bytes > 0 ? bytes : 0), r->ifs.spectrum_bytes);
    if (r->promised >= 0 && nsamp < r->promised)
        psr_note(&r->notes, "%s: truncated: nsamples = %lld, but the file holds %lld spectra",
                 r->name, (long long)r->promised, (long long)nsamp);
    if (r->promised >= 0 && nsamp > r->promised)
        psr_note(&r->notes, "%s: nsamples = %lld, but the file holds %lld spectra: all are read",
                 r->name, (long long)r->promised, (long long)nsamp);
    if (partial)
        psr_note(&r->notes, "%s: the last %lld bytes are no whole spectrum of %zu and are left out",
                 r->name, (long long)partial, r->ifs.spectrum_bytes);
    r->base.obs.nsamp = nsamp;
    if (lseek(r->fd, (off_t)r->header_bytes, SEEK_SET) < 0)
        return psr_fail_errno(err, "%s", r->name);
    r->spare_at = r->spare_n;
    (void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return PSR_OK;
}

/* A stream's end. */
static psr_status note_end(struct spectra_reader *r, size_t partial, psr_err *err)
{
    r->ended = true;
    if (r->pos == 0)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: no samples: %zu bytes follow the header, a spectrum takes %zu",
                        r->name, partial, r->ifs.spectrum_bytes);
    if (r->promised > r->pos)
        psr_note(&r->notes, "%s: truncated: %lld spectra promised, %lld read", r->name,
                 (long long)r->promised, (long long)r->pos);
    if (partial)
        psr_note(&r->notes, "%s: the last %zu bytes are no whole spectrum of %zu and are left out",
                 r->name, partial, r->ifs.spectrum_bytes);
    return PSR_OK;
}

/* Reads up to nsamp spectra as they are stored. */
static psr_status read_spectra(struct spectra_reader *r, size_t nsamp, void *to, size_t *nread,
                               psr_err *err)
{
    const size_t n = nsamp * r->ifs.spectrum_bytes, spare = r->spare_n - r->spare_at;
    size_t got = spare < n ? spare : n;
    ssize_t more = 1;
    if (got > 0)
        memcpy(to, r->spare + r->spare_at, got);
    r->spare_at += got;
    if (!r->stream)
        got += read_pieces(r, (char *)to + got, n - got);
    while (got < n && (more = read_some(r, (char *)to + got, n - got)) > 0)
        got += (size_t)more;
    *nread = got / r->ifs.spectrum_bytes;
    if (more < 0)
        return psr_fail_errno(err, "%s: reading spectrum %lld", r->name, (long long)r->pos);
    r->pos += (int64_t)*nread;
    if (*nread == nsamp)
        return PSR_OK;
    if (r->stream)
        return note_end(r, got % r->ifs.spectrum_bytes, err);
    return psr_fail(err, PSR_EIO, "%s: ended after %lld of %lld spectra while it was read", r->name,
                    (long long)r->pos, (long long)r->base.obs.nsamp);
}

void psr_ifs_merge(const struct psr_ifs *ifs, const struct psr_reader *r, size_t nsamp,
                   const unsigned char *from, unsigned char *block)
{
    for (size_t t = 0; t < nsamp; t++) {
        const unsigned char *first = from + t * ifs->spectrum_bytes + ifs->first_at;
        if (ifs->sum)
            ifs->sum->add(block + t * ifs->row_bytes, first, r->obs.nchan, r->pols.count);
        else
            memcpy(block + t * ifs->row_bytes, first, ifs->row_bytes);
    }
}

static psr_status next_spectra(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                               int64_t *gap, psr_err *err)
{
    struct spectra_reader *r = (struct spectra_reader *)base;
    *nread = 0;
    *gap = 0;
    if (!r->stream && (int64_t)nsamp > base->obs.nsamp - r->pos)
        nsamp = (size_t)(base->obs.nsamp - r->pos);
    if (nsamp == 0 || r->ended)
        return PSR_OK;
    if (!r->raw)
        return read_spectra(r, nsamp, block, nread, err);
    size_t n = nsamp < r->raw_spectra ? nsamp : r->raw_spectra;
    psr_status st = read_spectra(r, n, r->raw, nread, err);
    if (!st)
        psr_ifs_merge(&r->ifs, &r->base, *nread, r->raw, block);
    return st;
}

static psr_status seek_spectrum(struct psr_reader *base, int64_t n, psr_err *err)
{
    struct spectra_reader *r = (struct spectra_reader *)base;
    if (n < 0 || n > base->obs.nsamp)
        return psr_fail(err, PSR_EINVAL, "%s: spectrum %lld, must be 0 to %lld", r->name,
                        (long long)n, (long long)base->obs.nsamp);
    off_t at = (off_t)r->header_bytes + (off_t)n * (off_t)r->ifs.spectrum_bytes;
    if (lseek(r->fd, at, SEEK_SET) < 0)
        return psr_fail_errno(err, "%s: spectrum %lld", r->name, (long long)n);
    r->pos = n;
    r->ended = false;
    return PSR_OK;
}

static void close_reader(struct psr_reader *base)
{
    struct spectra_reader *r = (struct spectra_reader *)base;
    if (r->fd >= 0)
        close(r->fd);
    psr_obs_clear(&base->obs);
    free(r->name);
    free(r->spare);
    free(r->raw);
    free(r);
}

static const struct psr_reader_ops file_ops = {next_spectra, seek_spectrum, close_reader};
static const struct psr_reader_ops stream_ops = {next_spectra, NULL, close_reader};

static psr_status set_up(struct spectra_reader *r, const char *path,
                         const struct psr_source_desc *desc, psr_spectra_parse *parse, psr_err *err)
{
    struct psr_spectra_header h;
    r->name = strdup(psr_path_called(path));
    if (!r->name)
        return psr_fail_nomem(err, "a file name", (double)strlen(path));
    psr_status st = psr_open_input(&r->fd, &r->stream, &r->size, path, err);
    r->base.ops = r->stream ? &stream_ops : &file_ops;
    if (st)
        return st;
    size_t room = 0;
    bool end = false;
    psr_status parsed;
    do {
        /* Takes what is there, in pieces: a pipe may give no more until it is read. */
        if (r->spare_n == room) {
            st = psr_reserve(&r->spare, &room, room ? 2 * room : 4096, 1, "a header", err);
            if (st)
                return st;
        }
        ssize_t more = read_some(r, r->spare + r->spare_n, room - r->spare_n);
        if (more < 0)
            return psr_fail_errno(err, "%s", r->name);
        end = more == 0;
        r->spare_n += (size_t)more;

        const struct psr_spectra_start so_far = start_of(r, end);
        parsed = parse(&h, &so_far, err);
    } while (parsed && h.need_more && !end);
    if (parsed)
        return parsed;
    /* Remarks are made once, now that the header is whole. */
    psr_obs_clear(&h.obs);
    struct psr_spectra_start whole = start_of(r, end);
    whole.notes = &r->notes;
    st = parse(&h, &whole, err);
    if (st)
        return st;
    r->base.obs = h.obs;
    r->base.file_nbit = h.obs.nbit;
    r->promised = h.obs.nsamp;
    r->base.obs.nsamp = -1;
    r->header_bytes = h.bytes;
    r->spare_at = h.bytes;
    st = check_spectra(r, err);
    if (!st)
        st = choose_ifs(r, desc, err);
    return st || r->stream ? st : measure_file(r, err);
}

psr_status psr_spectra_reader_open(struct psr_reader **out, const char *path,
                                   const struct psr_source_desc *desc, psr_spectra_parse *parse,
                                   psr_err *err)
{
    *out = NULL;
    struct spectra_reader *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, "a reader of spectra", sizeof *r);
    psr_obs_init(&r->base.obs);
    r->base.ops = &stream_ops;
    r->notes = desc->notes;
    r->nthread = desc->nthread;
    r->should_stop = desc->should_stop;
    r->stop_ctx = desc->stop_ctx;
    r->fd = -1;
    psr_status st = set_up(r, path, desc, parse, err);
    if (st) {
        close_reader(&r->base);
        return st;
    }
    *out = &r->base;
    return PSR_OK;
}

/* --- polarisations that make total intensity --------------------------------------------------- */

enum psr_pols psr_pols_find(const char *text)
{
    static const struct {
        const char *start;
        enum psr_pols pols;
    } words[] = {
        {"AA+BB", PSR_POLS_INTENSITY}, {"PP+QQ", PSR_POLS_INTENSITY},
        {"INTEN", PSR_POLS_INTENSITY}, {"IQUV", PSR_POLS_STOKES},
        {"STOKE", PSR_POLS_STOKES},    {"PSEUDOSTOKE", PSR_POLS_STOKES},
        {"COHER", PSR_POLS_COHERENCE}, {"AABBCRCI", PSR_POLS_COHERENCE},
        {"AABB", PSR_POLS_POWERS},     {"PPQQ", PSR_POLS_POWERS},
        {"XXYY", PSR_POLS_POWERS},     {"LLRR", PSR_POLS_POWERS},
        {"RRLL", PSR_POLS_POWERS},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strncasecmp(text, words[i].start, strlen(words[i].start)))
            return words[i].pols;
    return PSR_POLS_UNKNOWN;
}

const char *psr_pols_state(enum psr_pols pols)
{
    static const char *const names[] = {
        [PSR_POLS_INTENSITY] = "Intensity",
        [PSR_POLS_POWERS] = "PPQQ",
        [PSR_POLS_COHERENCE] = "Coherence",
        [PSR_POLS_STOKES] = "Stokes",
    };
    return (size_t)pols < sizeof names / sizeof *names ? names[pols] : NULL;
}

psr_status psr_pols_choose(struct psr_pol_choice *choice, const char *name, const char *key,
                           const char *text, int npol, enum psr_pols pols,
                           const struct psr_source_desc *desc, psr_err *err)
{
    *choice = (struct psr_pol_choice){.first = 0, .count = 1};
    if (desc->if_choice < -1 || desc->if_choice >= npol)
        return psr_fail_field(err, PSR_EINVAL, "if_choice",
                              "%s: IF = %d, must be 0 to %d, or -1 for total intensity", name,
                              desc->if_choice, npol - 1);
    if (desc->pols != PSR_POLS_UNKNOWN)
        pols = desc->pols;
    if (desc->if_choice >= 0)
        choice->first = desc->if_choice;
    if (desc->if_choice >= 0 || npol == 1 || pols == PSR_POLS_INTENSITY || pols == PSR_POLS_STOKES)
        return PSR_OK;
    if (pols == PSR_POLS_UNKNOWN && npol > 2)
        return psr_fail_field(err, PSR_EUNSUPPORTED, key,
                              "%s: %d polarisations, and %s%s%s%s does not say what they are: give "
                              "-state Stokes, -state Coherence, or -if N for one of them",
                              name, npol, key, *text ? " '" : "", text, *text ? "'" : "");
    choice->count = 2;
    choice->guessed = pols == PSR_POLS_UNKNOWN;
    return PSR_OK;
}
