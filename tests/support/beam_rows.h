/* beam_rows.h: voltages with a burst become rows of beams, and these series, with rows that go through
 * the host's memory and with rows that stay where they are made: for tests of either backend. */
#ifndef PSR_TEST_BEAM_ROWS_H
#define PSR_TEST_BEAM_ROWS_H

#include "base/device/device_internal.h"
#include "beam/beam_internal.h"
#include "beam_ref.h"
#include "formats/dada/dada_internal.h"
#include "search/dedisp/dedisp_internal.h"

#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>
#include <psrkit/fake.h>

enum { ROWS_CHAN = 32, ROWS_BEAM = 6, ROWS_TDS = 4, ROWS_SAMP = 6000, ROWS_DM = 40, ROWS_N = 1500 };

struct rows_scene {
    struct psr_array a;
    uint8_t *in;                 /* [ROWS_SAMP][ROWS_CHAN][2][64] */
    size_t sample_bytes, source; /* the burst's beam */
    double burst_dm;
    size_t tds[ROWS_CHAN];
    double theta_ns[ROWS_CHAN * ROWS_BEAM], theta_ew[ROWS_CHAN * ROWS_BEAM];
    double freq_mhz[ROWS_CHAN], dm[ROWS_DM];
    float offset[ROWS_CHAN], scale[ROWS_CHAN];
    struct psr_beam_desc beams;
    struct psr_dedisp_beams_desc search;
    size_t cut[ROWS_SAMP], ncut; /* samples of each start: sums of a GPU depend on them */
    size_t stride;               /* rows of a buffer, which starts do not cross */
};

/* Hands spectra of a beam, so many bytes, to a search where they are. */
typedef psr_status rows_hand(void *ctx, psr_dedisp_beams *p, size_t beam, const void *d_in,
                             size_t bytes, size_t nsamp, psr_err *err);

__attribute__((unused)) static psr_status hand_directly(void *ctx, psr_dedisp_beams *p, size_t beam,
                                                        const void *d_in, size_t bytes,
                                                        size_t nsamp, psr_err *err)
{
    (void)ctx, (void)bytes;
    return psr_dedisp_beams_execute_device(p, beam, d_in, NULL, nsamp, err);
}

/* --- the sky ---------------------------------------------------------------------------------- */

static bool make_voltages(struct rows_scene *s, uint64_t seed)
{
    const struct psr_dada h = {.nchan = ROWS_CHAN,
                               .nant = 64,
                               .freq_mhz = 700,
                               .bw_mhz = -200,
                               .tsamp_us = 100,
                               .phase_sign = -1,
                               .header_bytes = 4096};
    const struct psr_fakevolt_source burst = {.theta_ns = (double)s->source - 2.5,
                                              .theta_ew = 0.5 * (double)s->source - 1,
                                              .snr = 120,
                                              .width_s = 4e-3,
                                              .t_s = 0.25,
                                              .dm = s->burst_dm};
    const struct psr_fakevolt_desc d = {.size = sizeof d,
                                        .array = &s->a,
                                        .header = &h,
                                        .nsamp = ROWS_SAMP,
                                        .seed = seed,
                                        .dmconst = PSR_DMCONST_PRESTO,
                                        .sigma = 2,
                                        .nsource = 1,
                                        .source = &burst};
    psr_fakevolt *p = NULL;
    psr_err err;
    s->sample_bytes = psr_dada_sample_bytes(&h);
    s->in = tap_take(s->sample_bytes, ROWS_SAMP);
    for (size_t f = 0; f < ROWS_CHAN; f++)
        s->freq_mhz[f] = psr_dada_freq_mhz(&h, f);
    bool fine =
        !psr_fakevolt_create(&p, &d, &err) && !psr_fakevolt_execute(p, 0, ROWS_SAMP, s->in, &err);
    if (!fine)
        diag("%s", err.msg);
    psr_fakevolt_destroy(p);
    return fine;
}

static void point_beams(struct rows_scene *s)
{
    for (size_t f = 0; f < ROWS_CHAN; f++)
        for (size_t b = 0; b < ROWS_BEAM; b++) {
            double scale = s->freq_mhz[f] / 700;
            s->theta_ns[f * ROWS_BEAM + b] = ((double)b - 2.5) * scale;
            s->theta_ew[f * ROWS_BEAM + b] = (0.5 * (double)b - 1) * scale;
        }
}

static void choose_cuts(struct rows_scene *s, uint64_t *seed)
{
    s->stride = (size_t)tap_between(seed, 1, ROWS_N);
    s->ncut = 0;
    for (size_t t = 0; t < ROWS_SAMP;) {
        size_t most = s->stride * ROWS_TDS - t % (s->stride * ROWS_TDS);
        size_t n = (size_t)tap_between(seed, 1, (int64_t)most);
        n = n < ROWS_SAMP - t ? n : ROWS_SAMP - t;
        s->cut[s->ncut++] = n;
        t += n;
    }
}

static bool make_scene(struct rows_scene *s, const char *backend, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    s->a = ref_array(8, 8, 64, 0, seed);
    s->source = (size_t)tap_between(seed, 0, ROWS_BEAM - 1);
    s->burst_dm = 20 + 20 * tap_uniform(seed);
    bool fine = make_voltages(s, tap_random(seed));
    point_beams(s);
    choose_cuts(s, seed);
    for (size_t f = 0; f < ROWS_CHAN; f++)
        s->tds[f] = ROWS_TDS;
    for (size_t i = 0; i < ROWS_DM; i++)
        s->dm[i] = 2 * (double)i;
    s->beams = (struct psr_beam_desc){.size = sizeof s->beams,
                                      .array = &s->a,
                                      .nfreq = ROWS_CHAN,
                                      .tds = s->tds,
                                      .pattern = PSR_BEAM_POINTS,
                                      .nbeam = ROWS_BEAM,
                                      .theta_ns = s->theta_ns,
                                      .theta_ew = s->theta_ew,
                                      .mem_bytes = 1 << 30,
                                      .backend = backend};
    s->search = (struct psr_dedisp_beams_desc){.size = sizeof s->search,
                                               .nbeam = ROWS_BEAM,
                                               .nchan = ROWS_CHAN,
                                               .freq_mhz = s->freq_mhz,
                                               .tsamp_s = ROWS_TDS * 100e-6,
                                               .nbit = 8,
                                               .kind = PSR_UINT,
                                               .dmconst = PSR_DMCONST_PRESTO,
                                               .ndm = ROWS_DM,
                                               .dm = s->dm,
                                               .block = ROWS_N,
                                               .scrunch = tap_uniform(seed) < 0.5 ? 0.5 : 0,
                                               .mem_bytes = 1 << 30,
                                               .backend = backend};
    return fine;
}

static void drop_scene(struct rows_scene *s)
{
    psr_array_clear(&s->a);
    free(s->in);
}

/* --- rows ------------------------------------------------------------------------------------- */

static psr_beam *make_beams(const struct rows_scene *s)
{
    psr_beam *p;
    psr_err err;
    if (!psr_beam_create(&p, &s->beams, &err))
        return p;
    diag("%s", err.msg);
    return NULL;
}

/* All rows in the host's memory, [beam][ROWS_N]. */
static void *host_rows(const struct rows_scene *s, psr_beam *p)
{
    size_t nrow, done = 0, row = psr_beam_row_bytes(p);
    const uint8_t *in = s->in;
    psr_err err;
    char *out = tap_take(ROWS_BEAM * ROWS_N, row);
    for (size_t k = 0; k < s->ncut; k++, done += nrow) {
        if (psr_beam_execute(p, in, s->cut[k], out + done * row, ROWS_N, &nrow, &err)) {
            diag("%s", err.msg);
            break;
        }
        in += s->cut[k] * s->sample_bytes;
    }
    psr_beam_reset(p);
    return out;
}

/* Brings noise to a mean and a standard deviation of a fourth of it. */
static bool measure_scales(struct rows_scene *s, psr_beam *p, int nbit)
{
    float *x = host_rows(s, p);
    psr_err err;
    for (size_t f = 0; f < ROWS_CHAN; f++) {
        double sum = 0, squares = 0, n = ROWS_BEAM * ROWS_N;
        for (size_t k = 0; k < ROWS_BEAM * ROWS_N; k++) {
            sum += (double)x[k * ROWS_CHAN + f];
            squares += (double)x[k * ROWS_CHAN + f] * (double)x[k * ROWS_CHAN + f];
        }
        double sd = sqrt(squares / n - sum / n * (sum / n));
        s->scale[f] = (float)((nbit == 8 ? 16 : 2) / sd);
        s->offset[f] = (float)(sum / n - (nbit == 8 ? 4 : 3) * sd);
    }
    free(x);
    s->search.nbit = nbit;
    return !psr_beam_quantise(p, nbit, s->offset, s->scale, &err);
}

/* --- series ----------------------------------------------------------------------------------- */

/* What a search gave of every beam and trial; samples of a line's own length. */
struct rows_series {
    float *x; /* [ROWS_BEAM][ROWS_DM][ROWS_N] */
    size_t n[ROWS_BEAM * ROWS_DM];
};

static bool take_line(struct rows_series *to, const psr_dedisp_beams *p, size_t beam, size_t line)
{
    struct psr_dedisp_beams_line l;
    struct psr_dedisp_beams_series got;
    psr_err err;
    psr_dedisp_beams_line(p, line, &l);
    psr_dedisp_beams_series(p, line, &got);
    float *x = tap_take(l.ndm * got.nsamp + 1, sizeof *x);
    bool there = !got.out;
    if (there && psr_device_series_fetch(&got.on_device, 1, got.nsamp, x, got.nsamp, &err)) {
        diag("%s", err.msg);
        free(x);
        return false;
    }
    for (size_t i = 0; i < l.ndm; i++) {
        size_t row = beam * ROWS_DM + l.trial[i];
        memcpy(to->x + row * ROWS_N + got.first,
               there ? x + i * got.nsamp : got.out + i * got.stride, got.nsamp * sizeof *x);
        to->n[row] = got.first + got.nsamp;
    }
    free(x);
    return true;
}

static bool take_all(struct rows_series *to, const psr_dedisp_beams *p, size_t beam)
{
    struct psr_dedisp_beams_info info;
    psr_dedisp_beams_describe(p, &info);
    bool fine = true;
    for (size_t line = 0; line < info.nline && fine; line++)
        fine = take_line(to, p, beam, line);
    return fine;
}

static void begin_series(struct rows_series *to)
{
    memset(to, 0, sizeof *to);
    to->x = tap_take(ROWS_BEAM * ROWS_DM * ROWS_N, sizeof *to->x);
}

/* Through the host: all rows, then all series. */
static bool through_host(const struct rows_scene *s, psr_beam *beams, psr_dedisp_beams *p,
                         struct rows_series *to)
{
    size_t row = psr_beam_row_bytes(beams);
    char *rows = host_rows(s, beams);
    psr_err err;
    bool fine = true;
    begin_series(to);
    for (size_t b = 0; b < ROWS_BEAM && fine; b++) {
        fine = !psr_dedisp_beams_execute(p, b, rows + b * ROWS_N * row, ROWS_N, &err) &&
               take_all(to, p, b);
        psr_dedisp_beams_reset(p, b);
    }
    free(rows);
    return fine;
}

/* Rows of a buffer go to the search of each beam. */
static bool hand_rows(psr_dedisp_beams *p, const char *rows, size_t stride, size_t row, size_t n,
                      rows_hand *hand, void *ctx, struct rows_series *to)
{
    psr_err err;
    for (size_t b = 0; b < ROWS_BEAM; b++) {
        if (hand(ctx, p, b, rows + b * stride * row, n * row, n, &err)) {
            diag("%s", err.msg);
            return false;
        }
        if (!take_all(to, p, b))
            return false;
    }
    return true;
}

/* Starts that fill a buffer, from cut *k on.  Returned: rows it has; 0 on error, and at the end */
static size_t fill_buffer(const struct rows_scene *s, psr_beam *beams, char *rows, size_t *k,
                          const uint8_t **in)
{
    size_t row = psr_beam_row_bytes(beams), held = 0, nrow;
    psr_err err;
    for (; *k < s->ncut && held < s->stride; ++*k) {
        if (psr_beam_start_device(beams, *in, s->cut[*k], rows + held * row, s->stride, &nrow,
                                  &err) ||
            psr_beam_wait(beams, 1, &err)) {
            diag("%s", err.msg);
            return 0;
        }
        *in += s->cut[*k] * s->sample_bytes;
        held += nrow;
    }
    return held;
}

/* While one buffer fills, the other is searched. */
static bool run_buffers(const struct rows_scene *s, psr_beam *beams, psr_dedisp_beams *p,
                        void *const *buffer, rows_hand *hand, void *ctx, struct rows_series *to)
{
    const uint8_t *in = s->in;
    size_t k = 0, before = 0, now;
    bool fine = true;
    psr_err err;
    for (int turn = 0; fine; turn = !turn, before = now) {
        now = fill_buffer(s, beams, buffer[turn], &k, &in);
        if (before)
            fine = hand_rows(p, buffer[!turn], s->stride, psr_beam_row_bytes(beams), before, hand,
                             ctx, to);
        fine = fine && !psr_beam_wait(beams, 0, &err);
        if (!now)
            break;
    }
    return fine && k == s->ncut;
}

static bool stay_there(const struct rows_scene *s, psr_beam *beams, psr_dedisp_beams *p,
                       rows_hand *hand, void *ctx, struct rows_series *to)
{
    const size_t bytes = ROWS_BEAM * s->stride * psr_beam_row_bytes(beams);
    struct psr_beam_info info;
    void *buffer[2] = {NULL, NULL};
    psr_err err;
    psr_beam_describe(beams, &info);
    begin_series(to);
    bool fine = !psr_beam_alloc_device(beams, bytes, &buffer[0], &err) &&
                !psr_beam_alloc_device(beams, bytes, &buffer[1], &err) &&
                run_buffers(s, beams, p, buffer, hand, ctx, to);
    psr_beam_free_device(info.backend, buffer[0]);
    psr_beam_free_device(info.backend, buffer[1]);
    for (size_t b = 0; b < ROWS_BEAM; b++)
        psr_dedisp_beams_reset(p, b);
    psr_beam_reset(beams);
    return fine;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The brightest of n samples, in standard deviations by their quartiles. */
static double find_peak(const float *x, size_t n)
{
    float *sorted = tap_take(n, sizeof *sorted);
    memcpy(sorted, x, n * sizeof *x);
    qsort(sorted, n, sizeof *sorted, by_value);
    double middle = (double)sorted[n / 2], top = (double)sorted[n - 1];
    double sd = ((double)sorted[3 * n / 4] - (double)sorted[n / 4]) / 1.349;
    free(sorted);
    return (top - middle) / sd;
}

/* Of the second half of the series, which have all channels there. */
static void find_burst(const struct rows_scene *s, const struct rows_series *got, size_t *beam,
                       double *dm, double *snr)
{
    *snr = 0;
    for (size_t row = 0; row < ROWS_BEAM * ROWS_DM; row++) {
        size_t n = got->n[row], from = n / 2;
        double now = find_peak(got->x + row * ROWS_N + from, n - from);
        if (!(now > *snr))
            continue;
        *snr = now;
        *beam = row / ROWS_DM;
        *dm = s->dm[row % ROWS_DM];
    }
}

static bool same_series(const struct rows_series *a, const struct rows_series *b)
{
    return !memcmp(a->n, b->n, sizeof a->n) &&
           !memcmp(a->x, b->x, ROWS_BEAM * ROWS_DM * ROWS_N * sizeof *a->x);
}

/* Both ways, with rows of 4 and of 8 bits. */
static void test_hand_over(const char *backend, rows_hand *hand, void *ctx, const char *how,
                           uint64_t *seed)
{
    for (int nbit = 4; nbit <= 8; nbit += 4) {
        static struct rows_scene s;
        struct rows_series host = {0}, there = {0};
        psr_dedisp_beams *p = NULL;
        psr_err err;
        bool fine = make_scene(&s, backend, seed);
        psr_beam *beams = make_beams(&s);
        fine = fine && beams && measure_scales(&s, beams, nbit) &&
               !psr_dedisp_beams_create(&p, &s.search, &err);
        fine = fine && through_host(&s, beams, p, &host) &&
               stay_there(&s, beams, p, hand, ctx, &there);
        ok(fine && same_series(&host, &there), "%d bits, %s: the series of rows through the host",
           nbit, how);
        size_t beam = ROWS_BEAM;
        double dm = 0, snr = 0;
        if (fine)
            find_burst(&s, &there, &beam, &dm, &snr);
        ok(fine && beam == s.source && fabs(dm - s.burst_dm) <= 4 && snr > 8,
           "a burst of DM %.1f in beam %zu: found in %zu at %g, %.1f", s.burst_dm, s.source, beam,
           dm, snr);
        psr_beam_destroy(beams);
        psr_dedisp_beams_destroy(p);
        free(host.x);
        free(there.x);
        drop_scene(&s);
    }
}

#endif
