/* Many beams searched for bursts as they arrive, on one device: noise that is read round and round from
 * the host's memory, bursts added while it is copied, tree sums, the best boxcar of each trial.
 *   bench_beams_sky [BAND] [BEAMS [SKY_S [BLOCK_S]]]
 * The band is chord (default: 60 beams, 1100 s), chime, or small (8 beams, 64 s), to try the program with.
 * Spectra are taken as fast as the device takes them; the program says how many seconds of sky of all
 * beams went through a second, which bursts were found in their beams, and what else was above
 * threshold.  Exit status: 1 if a burst was not found in its beam, or something in another. */
#include "base/device/device_internal.h"
#include "beam_peaks.h"
#include "bench_cuda.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/bench/bench_beams.h"

#include <ctype.h>
#include <string.h>

enum { MAXBEAM = 1024, MAXLINES = 17, NBURST = 12, NLOOP = 2 };
static const double threshold = 9, noise_mean = 7, noise_variance = 10.5;
static const double widest_s = 0.1;

struct burst {
    size_t beam;
    double dm, end_s, width_s, part; /* end_s: in the lowest channel; part of its samples rise */
    int rise;
    double snr, found_dm, found_s, found_width_s;
};

/* What is searched of a line. */
struct line {
    struct psr_dedisp_beams_line l;
    int64_t *d_ready;
    int32_t most;
    struct peak *d_peak; /* [nbeam][ndm] */
    float **d_behind;    /* [nbeam] */
};

struct sky {
    struct setting *s;
    psr_dedisp_beams *p;
    unsigned char *loop, *with_burst; /* pinned: NLOOP + 1 blocks; one block */
    size_t row_bytes, nblock, nline;
    struct line line[MAXLINES];
    uint32_t *d_count, *count; /* [nbeam][nline] */
    struct peak *peak;         /* [most trials of a line] */
    struct burst burst[NBURST];
    size_t nburst, nelse;
    double else_snr;
};

/* --- the sky ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Sums of two numbers to 7 in each nibble: mean 7, variance 10.5. */
static void make_noise(struct sky *k)
{
    const uint64_t mask = UINT64_C(0x7777777777777777), step = UINT64_C(0x9E3779B97F4A7C15);
    size_t block = k->s->d.block * k->row_bytes;
    psr_err err;
    void *loop, *with_burst;
    bench_must(psr_device_pin(&loop, (NLOOP + 1) * block, &err), &err);
    bench_must(psr_device_pin(&with_burst, block, &err), &err);
    k->loop = loop;
    k->with_burst = with_burst;
#pragma omp parallel for
    for (size_t n = 0; n < NLOOP * block / 8; n++) {
        uint64_t x = (mix((2 * n + 1) * step) & mask) + (mix((2 * n + 2) * step) & mask);
        memcpy(k->loop + 8 * n, &x, 8);
    }
    memcpy(k->loop + NLOOP * block, k->loop, block);
}

/* A block of a beam: each begins elsewhere in the noise. */
static const unsigned char *noise_of(const struct sky *k, size_t beam, size_t block)
{
    size_t n = NLOOP * k->s->d.block, t = (beam * 1237 + block * k->s->d.block) % n;
    return k->loop + t * k->row_bytes;
}

static double arrives_s(const struct sky *k, const struct burst *b, size_t c)
{
    const struct psr_dedisp_beams_desc *d = &k->s->d;
    return b->end_s - b->width_s - psr_delay_s(d->dmconst, b->dm, d->freq_mhz[0]) +
           psr_delay_s(d->dmconst, b->dm, d->freq_mhz[c]);
}

/* Smeared within the channel. */
static double lasts_s(const struct sky *k, const struct burst *b, size_t c)
{
    const double *f = k->s->d.freq_mhz;
    double width = c + 1 < k->s->d.nchan ? f[c + 1] - f[c] : f[c] - f[c - 1];
    double smear = psr_delay_s(k->s->d.dmconst, b->dm, f[c] - width / 2) -
                   psr_delay_s(k->s->d.dmconst, b->dm, f[c] + width / 2);
    return b->width_s + smear;
}

/* Channel c of a block that begins at spectrum "first". */
static size_t add_channel(struct sky *k, const struct burst *b, size_t c, int64_t first)
{
    double from_s = arrives_s(k, b, c), lasts = lasts_s(k, b, c), tsamp = k->s->d.tsamp_s;
    int64_t from = (int64_t)floor(from_s / tsamp + 0.5) - first;
    int64_t end = from + (int64_t)(lasts / tsamp + 0.5), n = (int64_t)k->s->d.block;
    double part = b->part * b->width_s / lasts;
    size_t nadded = 0;
    for (int64_t t = from > 0 ? from : 0; t < end && t < n; t++) {
        uint64_t x = mix((uint64_t)(first + t) * UINT64_C(1000003) + c);
        if ((double)(x >> 11) * 0x1p-53 >= part)
            continue;
        unsigned char *at = k->with_burst + (size_t)t * k->row_bytes + c / 2;
        int shift = c % 2 ? 4 : 0;
        const int room = 15 - (*at >> shift & 15), rise = b->rise < room ? b->rise : room;
        *at = (unsigned char)(*at + (rise << shift));
        nadded++;
    }
    return nadded;
}

/* Pairs of channels share bytes. */
static size_t add_burst(struct sky *k, const struct burst *b, size_t block)
{
    size_t nadded = 0;
#pragma omp parallel for reduction(+ : nadded)
    for (size_t c = 0; c < k->s->d.nchan; c += 2)
        for (size_t e = c; e < c + 2 && e < k->s->d.nchan; e++)
            nadded += add_channel(k, b, e, (int64_t)(block * k->s->d.block));
    return nadded;
}

static bool in_block(const struct sky *k, const struct burst *b, size_t block)
{
    const struct psr_dedisp_beams_desc *d = &k->s->d;
    double length = (double)d->block * d->tsamp_s, from = (double)block * length;
    return b->end_s + 1 > from && arrives_s(k, b, d->nchan - 1) < from + length;
}

static const unsigned char *sky_of(struct sky *k, size_t beam, size_t block)
{
    const unsigned char *noise = noise_of(k, beam, block);
    bool copied = false;
    for (const struct burst *b = k->burst; b < k->burst + k->nburst; b++) {
        if (b->beam != beam || !in_block(k, b, block))
            continue;
        if (!copied) {
#pragma omp parallel for
            for (size_t t = 0; t < k->s->d.block; t++)
                memcpy(k->with_burst + t * k->row_bytes, noise + t * k->row_bytes, k->row_bytes);
        }
        copied = true;
        (void)add_burst(k, b, block);
    }
    return copied ? k->with_burst : noise;
}

/* Unsmeared S/N of 50: of few channels, samples rise by more than one. */
static void set_height(const struct sky *k, struct burst *b)
{
    const double most = 0.9, samples = 1e3 * b->width_s * (double)k->s->d.nchan;
    const double each = 50 * sqrt(noise_variance / samples);
    b->rise = (int)ceil(each / most);
    b->part = each / b->rise;
}

/* One a beam, from the largest DM down; they end when a sweep can be over, or later. */
static void choose_bursts(struct sky *k)
{
    const struct psr_dedisp_beams_desc *d = &k->s->d;
    double length = (double)(k->nblock * d->block) * d->tsamp_s, top = k->s->band->dm;
    for (size_t n = 0; n < NBURST && k->nburst < d->nbeam; n++) {
        struct burst *b = k->burst + k->nburst;
        double width = (double)(4 << n % 4);
        *b = (struct burst){
            .beam = (n * 7 + 3) % d->nbeam,
            .dm = n < 3 ? top * (1 - 0.03 * (double)n) - 0.5 : top * pow(0.55, (double)n - 2),
            .width_s = 1e-3 * width,
        };
        set_height(k, b);
        double sweep = psr_delay_s(d->dmconst, b->dm, d->freq_mhz[0]) -
                       psr_delay_s(d->dmconst, b->dm, d->freq_mhz[d->nchan - 1]);
        double least = sweep + 2, most = length - 2;
        if (least > most)
            continue;
        b->end_s = least + (most - least) * (0.1 + 0.8 * (double)(n * 5 % NBURST) / NBURST);
        k->nburst++;
    }
}

/* --- the search ------------------------------------------------------------------------------- */

static void prepare_line(struct sky *k, size_t n)
{
    struct line *l = k->line + n;
    psr_dedisp_beams_line(k->p, n, &l->l);
    double most = widest_s / (k->s->d.tsamp_s * (double)l->l.downsamp);
    size_t nbeam = k->s->d.nbeam, ndm = l->l.ndm;
    int64_t *ready = bench_take(ndm, sizeof *ready);
    l->most = most < 1 ? 1 : (int32_t)most;
    for (size_t i = 0; i < ndm; i++)
        ready[i] = (int64_t)psr_dedisp_beams_shift(k->p, n, i);
    size_t behind = ndm * (size_t)(l->most - 1) * sizeof(float);
    MUST(cudaMalloc((void **)&l->d_ready, ndm * sizeof *ready));
    MUST(cudaMemcpy(l->d_ready, ready, ndm * sizeof *ready, cudaMemcpyHostToDevice));
    MUST(cudaMalloc((void **)&l->d_peak, nbeam * ndm * sizeof *l->d_peak));
    l->d_behind = bench_take(nbeam, sizeof *l->d_behind);
    for (size_t b = 0; b < nbeam; b++) {
        MUST(cudaMalloc((void **)&l->d_behind[b], behind + 4));
        MUST(cudaMemset(l->d_behind[b], 0, behind + 4));
    }
    free(ready);
}

static void prepare(struct sky *k)
{
    struct psr_dedisp_beams_info info;
    size_t most = 0;
    psr_dedisp_beams_describe(k->p, &info);
    k->nline = info.nline;
    for (size_t n = 0; n < k->nline; n++) {
        prepare_line(k, n);
        most = k->line[n].l.ndm > most ? k->line[n].l.ndm : most;
    }
    size_t bytes = k->s->d.nbeam * k->nline * sizeof *k->count;
    MUST(cudaMalloc((void **)&k->d_count, bytes));
    MUST(cudaMemset(k->d_count, 0, bytes));
    MUST(cudaDeviceSynchronize());
    k->count = bench_take(bytes, 1);
    k->peak = bench_take(most, sizeof *k->peak);
}

static void search_line(struct sky *k, size_t beam, size_t n)
{
    struct line *l = k->line + n;
    struct psr_dedisp_beams_series x;
    psr_dedisp_beams_series(k->p, n, &x);
    const struct peaks_job job = {
        .d_x = x.on_device.d_x,
        .stride = x.stride,
        .nrow = l->l.ndm,
        .n = x.nsamp,
        .d_behind = l->d_behind[beam],
        .most = l->most,
        .d_ready = l->d_ready,
        .first = (int64_t)x.first,
        .mean = (float)(noise_mean * (double)k->s->d.nchan),
        .scale = (float)sqrt((double)l->l.downsamp / (noise_variance * (double)k->s->d.nchan)),
        .threshold = (float)threshold,
        .d_peak = l->d_peak + beam * l->l.ndm,
        .d_count = k->d_count + beam * k->nline + n,
        .room = (uint32_t)l->l.ndm,
    };
    MUST(peaks_find(&job, x.on_device.stream));
}

/* --- what was found --------------------------------------------------------------------------- */

struct found {
    double snr, dm, end_s, width_s;
};

static void take_peaks(struct sky *k, size_t beam, size_t n, size_t block, struct found *best)
{
    const struct line *l = k->line + n;
    uint32_t count = k->count[beam * k->nline + n];
    double step = k->s->d.tsamp_s * (double)l->l.downsamp;
    if (!count)
        return;
    MUST(cudaMemcpy(k->peak, l->d_peak + beam * l->l.ndm, count * sizeof *k->peak,
                    cudaMemcpyDeviceToHost));
    for (const struct peak *q = k->peak; q < k->peak + count; q++)
        if ((double)q->snr > best->snr) {
            uint64_t first = block * k->s->d.block / l->l.downsamp;
            *best = (struct found){(double)q->snr, k->s->d.dm[l->l.trial[q->row]],
                                   ((double)first + q->end) * step, q->width * step};
        }
}

/* Beyond 2 %, as delay over the band. */
static double dm_error_s(const struct sky *k, const struct burst *b, double dm)
{
    const struct psr_dedisp_beams_desc *d = &k->s->d;
    double error = fabs(dm - b->dm) - 0.02 * b->dm;
    return psr_delay_s(d->dmconst, error, d->freq_mhz[0]) -
           psr_delay_s(d->dmconst, error, d->freq_mhz[d->nchan - 1]);
}

/* The best of a beam and block is a burst's, or what one leaves at other DMs, or something else. */
static void settle(struct sky *k, size_t beam, const struct found *f)
{
    bool near = false;
    for (struct burst *b = k->burst; b < k->burst + k->nburst; b++) {
        if (b->beam != beam)
            continue;
        near |= fabs(f->end_s - b->end_s) < 5;
        if (fabs(f->end_s - b->end_s) > 0.3 || dm_error_s(k, b, f->dm) > b->width_s ||
            f->snr < b->snr)
            continue;
        b->snr = f->snr;
        b->found_dm = f->dm;
        b->found_s = f->end_s;
        b->found_width_s = f->width_s;
    }
    if (near)
        return;
    k->nelse++;
    k->else_snr = f->snr > k->else_snr ? f->snr : k->else_snr;
    if (k->nelse <= 20)
        printf("  something else: beam %zu, S/N %.1f, DM %.1f, %.3f s\n", beam, f->snr, f->dm,
               f->end_s);
}

static void collect(struct sky *k, size_t block)
{
    size_t bytes = k->s->d.nbeam * k->nline * sizeof *k->count;
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy(k->count, k->d_count, bytes, cudaMemcpyDeviceToHost));
    MUST(cudaMemset(k->d_count, 0, bytes));
    MUST(cudaDeviceSynchronize());
    for (size_t beam = 0; beam < k->s->d.nbeam; beam++) {
        struct found best = {0};
        for (size_t n = 0; n < k->nline; n++)
            take_peaks(k, beam, n, block, &best);
        if (best.snr > 0)
            settle(k, beam, &best);
    }
}

/* --- the program ------------------------------------------------------------------------------ */

static void run_block(struct sky *k, size_t block)
{
    psr_err err;
    for (size_t beam = 0; beam < k->s->d.nbeam; beam++) {
        bench_must(
            psr_dedisp_beams_execute(k->p, beam, sky_of(k, beam, block), k->s->d.block, &err),
            &err);
        for (size_t n = 0; n < k->nline; n++)
            search_line(k, beam, n);
    }
    collect(k, block);
}

static int print_found(const struct sky *k)
{
    size_t nfound = 0;
    for (const struct burst *b = k->burst; b < k->burst + k->nburst; b++) {
        printf("  beam %3zu, DM %8.1f, ends at %8.3f s, %2.0f ms: ", b->beam, b->dm, b->end_s,
               1e3 * b->width_s);
        if (b->snr > 0)
            printf("S/N %5.1f at DM %.1f, %.3f s, boxcar of %.0f ms\n", b->snr, b->found_dm,
                   b->found_s, 1e3 * b->found_width_s);
        else
            printf("not found\n");
        nfound += b->snr > 0;
    }
    printf(
        "%zu of %zu bursts found in their beams; %zu blocks of beams with something else at %g or "
        "more, at most %.1f\n",
        nfound, k->nburst, k->nelse, threshold, k->else_snr);
    return nfound == k->nburst && !k->nelse ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void open_sky(struct sky *k, double sky_s)
{
    struct psr_dedisp_beams_info info;
    psr_err err;
    double took = -bench_wall_s();
    k->row_bytes = (k->s->d.nchan * 4 + 7) / 8;
    k->nblock = (size_t)ceil(sky_s / ((double)k->s->d.block * k->s->d.tsamp_s));
    k->s->d.backend = "cuda";
    k->s->d.mem_bytes = 0;
    bench_must(psr_dedisp_beams_create(&k->p, &k->s->d, &err), &err);
    make_noise(k);
    prepare(k);
    choose_bursts(k);
    psr_dedisp_beams_describe(k->p, &info);
    printf(
        "%s: %zu beams of %zu channels, %zu trials to DM %g, blocks of %g s; a beam's state %.1f "
        "MB, shared %.1f MB; made in %.1f s\n",
        k->s->band->name, k->s->d.nbeam, k->s->d.nchan, k->s->d.ndm, k->s->band->dm,
        (double)k->s->d.block * k->s->d.tsamp_s, info.bytes_beam * 1e-6, info.bytes_shared * 1e-6,
        took + bench_wall_s());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct sky k;
    const char *band = argc > 1 && isalpha((unsigned char)*argv[1]) ? argv[1] : NULL;
    const int first = band ? 2 : 1;
    const bool small = band && !strcmp(band, "small");
    size_t nbeam = small ? 8 : 60;
    double sky_s = small ? 64 : 1100, seconds = 8;
    nbeam = argc > first ? (size_t)atoi(argv[first]) : nbeam;
    sky_s = argc > first + 1 ? atof(argv[first + 1]) : sky_s;
    seconds = argc > first + 2 ? atof(argv[first + 2]) : seconds;
    k.s = make_setting(find_band(band ? band : "chord"), 4, seconds, 0, 0);
    k.s->d.nbeam = nbeam;
    if (nbeam < 1 || nbeam > MAXBEAM || k.s->d.block > PEAKS_SAMPLES)
        bench_stop("1 to 1024 beams, blocks of up to 8192 spectra");
    open_sky(&k, sky_s);
    double length = (double)k.s->d.block * k.s->d.tsamp_s, wall = -bench_wall_s();
    for (size_t n = 0; n < k.nblock; n++) {
        run_block(&k, n);
        if (n % 16 == 15 || n + 1 == k.nblock) {
            printf("%.0f s of sky of %zu beams in %.1f s\n", (double)(n + 1) * length, nbeam,
                   wall + bench_wall_s());
            fflush(stdout);
        }
    }
    wall += bench_wall_s();
    double sky = (double)k.nblock * length;
    printf("%.1f s of sky of %zu beams in %.1f s: %.2f times real time, %.3f ms for a second of a "
           "beam with copies and boxcars\n",
           sky, nbeam, wall, sky / wall, 1e3 * wall / sky / (double)nbeam);
    int status = print_found(&k);
    psr_dedisp_beams_destroy(k.p);
    psr_device_unpin(k.loop);
    psr_device_unpin(k.with_burst);
    free(k.s);
    return status;
}
