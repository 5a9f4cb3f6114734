/* gaps: stretches a file lacks, from a reader made of a script, against the rule of source.h. */
#include "formats/spectra/spectra_reader.h"

#include "tests/support/tap.h"
#include <string.h>
#include <unistd.h>

/* What the file holds: spectra where count > 0, -count missing ones where it is below 0. */
struct script {
    size_t nchan;
    int nbit;
    enum psr_kind kind;
    int64_t count[10];
    size_t longest; /* spectra the reader gives at once */
};

static const struct script *playing; /* by the next reader opened */

struct player {
    struct psr_reader base;
    const struct script *script;
    int64_t pos;
};

static const uint64_t scale = 2654435761;

static double value_at(const struct script *sc, int64_t t, size_t c)
{
    uint64_t mixed = ((uint64_t)t * 131 + c + 7) * scale % 1000003;
    if (sc->kind == PSR_FLOAT)
        return t == 10 && c == 0 ? NAN : (double)((float)mixed / 3000);
    return (double)(mixed >> 3 & ((UINT64_C(1) << sc->nbit) - 1));
}

/* Returned: spectra from pos to the end of the stretch that pos is in, below 0 where it is missing.
 */
static int64_t stretch_at(const struct script *sc, int64_t pos)
{
    int64_t first = 0;
    for (int i = 0; sc->count[i]; i++) {
        int64_t n = sc->count[i] > 0 ? sc->count[i] : -sc->count[i];
        if (pos < first + n)
            return sc->count[i] > 0 ? first + n - pos : pos - first - n;
        first += n;
    }
    return 0;
}

static int64_t script_length(const struct script *sc)
{
    int64_t n = 0;
    for (int i = 0; sc->count[i]; i++)
        n += sc->count[i] > 0 ? sc->count[i] : -sc->count[i];
    return n;
}

static void put_sample(const struct script *sc, uint8_t *row, size_t c, double v)
{
    float real = (float)v;
    if (sc->kind == PSR_FLOAT)
        memcpy(row + 4 * c, &real, 4);
    else
        row[c * (size_t)sc->nbit / 8] |= (uint8_t)((unsigned)v << c * (size_t)sc->nbit % 8);
}

static double get_sample(const struct script *sc, const uint8_t *row, size_t c)
{
    float real;
    if (sc->kind == PSR_FLOAT) {
        memcpy(&real, row + 4 * c, 4);
        return (double)real;
    }
    unsigned byte = row[c * (size_t)sc->nbit / 8];
    return (double)(byte >> c * (size_t)sc->nbit % 8 & ((1u << sc->nbit) - 1));
}

static size_t row_bytes(const struct script *sc)
{
    return (sc->nchan * (size_t)sc->nbit + 7) / 8;
}

static psr_status play(struct psr_reader *base, size_t nsamp, void *block, size_t *nread,
                       int64_t *gap, psr_err *err)
{
    struct player *p = (struct player *)base;
    int64_t n = stretch_at(p->script, p->pos);
    (void)err;
    *nread = 0;
    *gap = n < 0 ? -n : 0;
    p->pos += *gap;
    if (n <= 0)
        return PSR_OK;
    nsamp = nsamp < p->script->longest ? nsamp : p->script->longest;
    *nread = (int64_t)nsamp < n ? nsamp : (size_t)n;
    memset(block, 0, *nread * row_bytes(p->script));
    for (size_t t = 0; t < *nread; t++, p->pos++)
        for (size_t c = 0; c < p->script->nchan; c++)
            put_sample(p->script, (uint8_t *)block + t * row_bytes(p->script), c,
                       value_at(p->script, p->pos, c));
    return PSR_OK;
}

static psr_status seek_to(struct psr_reader *base, int64_t n, psr_err *err)
{
    (void)err;
    ((struct player *)base)->pos = n;
    return PSR_OK;
}

static void close_player(struct psr_reader *base)
{
    free(base);
}

static const struct psr_reader_ops player_ops = {play, seek_to, close_player};

/* Stands in the place of the library's. */
psr_status psr_psrfits_open(struct psr_reader **out, const char *path,
                            const struct psr_source_desc *desc, psr_err *err)
{
    struct player *p = calloc(1, sizeof *p);
    (void)path;
    (void)desc;
    if (!p)
        return psr_fail_nomem(err, "player", sizeof *p);
    p->script = playing;
    p->base.ops = &player_ops;
    psr_obs_init(&p->base.obs);
    p->base.obs.nchan = playing->nchan;
    p->base.obs.nif = 1;
    p->base.obs.nbit = playing->nbit;
    p->base.obs.kind = playing->kind;
    p->base.obs.fch1_mhz = 1400;
    p->base.obs.foff_mhz = -1;
    p->base.obs.tsamp_s = 1e-3;
    p->base.obs.nsamp = script_length(playing);
    p->base.file_nbit = playing->nbit;
    p->base.file_nif = 1;
    *out = &p->base;
    return PSR_OK;
}

/* The padding of a gap that begins at to in a stream that begins at from: the mean of the data
 * before it or, where none counts, of up to 256 spectra after it. */
static double padding_at(const struct script *sc, int64_t from, int64_t to, size_t c)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t t = from; t < to; t++) {
        int64_t index = t - from;
        bool whole = !isnan(value_at(sc, t, 0));
        if (stretch_at(sc, t) <= 0 || !whole || (index >= 1024 && index % 64 != 0))
            continue;
        sum += value_at(sc, t, c);
        n++;
    }
    while (n == 0 && stretch_at(sc, to) < 0)
        to++;
    for (int64_t t = to; to > from && n == t - to && n < 256 && stretch_at(sc, t) > 0; t++) {
        sum += value_at(sc, t, c);
        n++;
    }
    double mean = n ? sum / (double)n : 0;
    return sc->kind == PSR_FLOAT ? (double)(float)mean : floor(mean + 0.5);
}

static bool same_row(const struct script *sc, const uint8_t *row, int64_t skip, int64_t t,
                     bool invert)
{
    int64_t gap = t;
    while (gap > skip && stretch_at(sc, gap - 1) < 0)
        gap--;
    for (size_t c = 0; c < sc->nchan; c++) {
        double got = get_sample(sc, row, invert ? sc->nchan - 1 - c : c);
        double want = stretch_at(sc, t) > 0 ? value_at(sc, t, c) : 0;
        if (stretch_at(sc, t) < 0)
            want = padding_at(sc, skip, gap, c);
        if (got != want && !(isnan(got) && isnan(want)))
            return false;
    }
    return true;
}

static bool check_stream(uint64_t *random, const struct script *sc, psr_source *s, int64_t skip,
                         bool invert)
{
    int64_t total = script_length(sc) - skip, at = 0;
    size_t n = 1, row = row_bytes(sc);
    uint8_t *block = malloc(500 * row);
    bool same = block && psr_source_block_bytes(s, 1) == row && psr_source_obs(s)->nsamp == total;
    while (same && n > 0) {
        psr_err err;
        same &= !psr_source_read(s, (size_t)tap_between(random, 1, 500), block, &n, &err);
        for (size_t t = 0; t < n; t++, at++)
            same &= same_row(sc, block + t * row, skip, skip + at, invert);
    }
    free(block);
    return same && at == total;
}

static bool check_spans(const struct script *sc, const psr_source *s, int64_t skip)
{
    const struct psr_span *span;
    size_t n = psr_source_gaps(s, &span), k = 0;
    bool same = true;
    for (int64_t t = skip; t < script_length(sc); t++) {
        bool missing = stretch_at(sc, t) < 0;
        while (k < n && t - skip >= span[k].first + span[k].count)
            k++;
        same &= missing == (k < n && t - skip >= span[k].first);
    }
    for (size_t i = 1; i < n; i++)
        same &= span[i].first > span[i - 1].first + span[i - 1].count;
    return same;
}

static void test_script(uint64_t *random, const char *what, const struct script *sc, int64_t skip,
                        const char *path)
{
    bool same = true, counted = true;
    playing = sc;
    for (int trial = 0; trial < 4; trial++) {
        struct psr_source_desc d = {.size = sizeof d,
                                    .path = &path,
                                    .npath = 1,
                                    .if_choice = -1,
                                    .skip = skip,
                                    .invert = trial % 2 == 1};
        psr_source *s;
        psr_err err;
        if (psr_source_open(&s, &d, &err)) {
            diag("%s", err.msg);
            same = false;
            break;
        }
        same &= check_stream(random, sc, s, skip, d.invert);
        counted &= check_spans(sc, s, skip);
        psr_source_close(s);
    }
    ok(same, "%s: every sample", what);
    ok(counted, "%s: the account of gaps", what);
}

int main(void)
{
    static const struct script bytes = {8, 8, PSR_UINT, {100, -30, 50, -1, 5, 0}, 7},
                               ragged = {13, 2, PSR_UINT, {300, -30, 50, 0}, 1000},
                               bits = {11, 1, PSR_UINT, {300, -30, 50, 0}, 64},
                               floats = {5, 32, PSR_FLOAT, {30, -3, 5000, -100, 20, 0}, 999},
                               late = {8, 8, PSR_UINT, {-40, 600, -5, 10, 0}, 100},
                               touching = {8, 8, PSR_UINT, {50, -5, -6, 10, 0}, 3},
                               ends = {8, 8, PSR_UINT, {50, -500, 0}, 30},
                               lengthy = {8, 8, PSR_UINT, {9000, -70, 9000, -70, 1, 0}, 640};
    const char *tmp = getenv("TMPDIR");
    char path[1024];
    uint64_t random = tap_seed();
    snprintf(path, sizeof path, "%s/psrkit-gaps-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, "SIMPLE  =", 9) != 9)
        return EXIT_FAILURE;
    close(fd);
    test_script(&random, "8 bits", &bytes, 0, path);
    test_script(&random, "8 bits, from the middle of a gap", &bytes, 110, path);
    test_script(&random, "2 bits, 13 channels", &ragged, 0, path);
    test_script(&random, "1 bit, 11 channels", &bits, 3, path);
    test_script(&random, "floats, a spectrum with no number in it", &floats, 0, path);
    test_script(&random, "a gap before any data", &late, 0, path);
    test_script(&random, "two gaps that touch", &touching, 0, path);
    test_script(&random, "a gap at the end", &ends, 0, path);
    test_script(&random, "long stretches", &lengthy, 0, path);
    test_script(&random, "long stretches, skipped into", &lengthy, 8999, path);
    unlink(path);
    return done_testing();
}
