/* resident_series: series that devices computed come back as they were appended, with the bins that
 * barycentring adds and removes, wherever they had room.  The devices are made of host memory. */
#include "base/device/device_internal.h"
#include "run/dedisperse/consumers/sinks.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

enum { CASES = 150, MAX_SERIES = 12, MAX_DEVICES = 3, MAX_SAMPLES = 60000, MAX_BLOCK = 9000 };

/* --- devices ---------------------------------------------------------------------------------- */

static struct {
    int64_t free_bytes;
    size_t taken; /* pieces of memory */
    bool lost;    /* nothing works any more */
} devices[MAX_DEVICES];

/* What a thread has asked for and not waited for. */
enum { MAX_FETCHES = 1000 };

static _Thread_local struct fetch {
    const float *d_x;
    size_t n;
    float *x;
} fetches[MAX_FETCHES];
static _Thread_local size_t nfetch;

psr_status psr_device_take(const struct psr_device_series *where, size_t bytes, int64_t leave,
                           void **d_out, psr_err *err)
{
    *d_out = NULL;
    if (devices[where->device].free_bytes < (int64_t)bytes + leave)
        return psr_fail(err, PSR_ENOMEM, "no room");
    devices[where->device].free_bytes -= (int64_t)bytes;
    devices[where->device].taken++;
    *d_out = tap_take(bytes, 1);
    return PSR_OK;
}

void psr_device_release(const struct psr_device_series *where, void *d)
{
    devices[where->device].taken -= d != NULL;
    free(d);
}

static psr_status check_device(const struct psr_device_series *s, psr_err *err)
{
    return devices[s->device].lost ? psr_fail(err, PSR_EDEVICE, "device %d is lost", s->device)
                                   : PSR_OK;
}

psr_status psr_device_keep(const struct psr_device_series *from, size_t n, float *d_x,
                           size_t stride, psr_err *err)
{
    for (size_t i = 0; i < from->nseries; i++)
        memcpy(d_x + i * stride, from->d_x + i * from->stride, n * sizeof *d_x);
    return check_device(from, err);
}

psr_status psr_device_settle(const struct psr_device_series *where, psr_err *err)
{
    return check_device(where, err);
}

psr_status psr_device_fetch(const struct psr_device_series *where, const float *d_x, size_t n,
                            float *x, psr_err *err)
{
    if (nfetch == MAX_FETCHES)
        return psr_fail(err, PSR_EDEVICE, "more than %d pieces at once", MAX_FETCHES);
    fetches[nfetch++] = (struct fetch){d_x, n, x};
    return check_device(where, err);
}

/* Samples arrive late. */
psr_status psr_device_fetched(const struct psr_device_series *where, psr_err *err)
{
    for (; nfetch > 0; nfetch--) {
        const struct fetch *f = &fetches[nfetch - 1];
        memcpy(f->x, f->d_x, f->n * sizeof *f->x);
    }
    return check_device(where, err);
}

psr_status psr_device_series_fetch(const struct psr_device_series *s, size_t ndevice_series,
                                   size_t n, float *x, size_t stride, psr_err *err)
{
    for (size_t k = 0; k < ndevice_series; k++)
        for (size_t i = 0; i < s[k].nseries; i++)
            memcpy(x + (s[k].first + i) * stride, s[k].d_x + i * s[k].stride, n * sizeof *x);
    return check_device(s, err);
}

/* --- a line ----------------------------------------------------------------------------------- */

struct line {
    size_t first, nseries, ndevice;
    struct psr_device_series device[MAX_DEVICES];
    float *d_x[MAX_DEVICES]; /* a block */
    float *want;             /* [nseries][MAX_SAMPLES + MAX_BLOCK] with bins */
    int64_t nwant;           /* samples of each */
    int64_t length[MAX_SERIES];
};

static float value(size_t i, int64_t t)
{
    return (float)(i * 1000003) + (float)t;
}

static struct line make_line(uint64_t *seed)
{
    struct line l = {.first = (size_t)tap_between(seed, 0, 5)};
    l.nseries = (size_t)tap_between(seed, 1, MAX_SERIES);
    l.ndevice = (size_t)tap_between(seed, 1, MAX_DEVICES);
    l.ndevice = l.ndevice < l.nseries ? l.ndevice : l.nseries;
    for (size_t k = 0; k < l.ndevice; k++) {
        struct psr_device_series *d = &l.device[k];
        d->device = (int)k;
        d->first = k * l.nseries / l.ndevice;
        d->nseries = (k + 1) * l.nseries / l.ndevice - d->first;
        d->stride = MAX_BLOCK + (size_t)tap_between(seed, 0, 9);
        d->d_x = l.d_x[k] = tap_take(d->nseries * d->stride, sizeof(float));
    }
    l.want = tap_take(l.nseries * (MAX_SAMPLES + MAX_BLOCK), sizeof *l.want);
    return l;
}

static void clear_line(struct line *l)
{
    for (size_t k = 0; k < l->ndevice; k++)
        free(l->d_x[k]);
    free(l->want);
}

static void compute_block(struct line *l, int64_t t, size_t n)
{
    for (size_t k = 0; k < l->ndevice; k++)
        for (size_t i = 0; i < l->device[k].nseries; i++)
            for (size_t j = 0; j < n; j++)
                l->d_x[k][i * l->device[k].stride + j] =
                    value(l->device[k].first + i, t + (int64_t)j);
}

/* What a block becomes, sample by sample.
 * Returned: samples of each series */
static size_t expect_block(struct line *l, int64_t t, size_t n, const struct psr_resample_bin *bin,
                           size_t nbin)
{
    const int64_t before = l->nwant;
    for (size_t j = 0, k = 0; j < n; j++) {
        const bool here = k < nbin && bin[k].at == j;
        const int64_t now = t + (int64_t)j;
        for (size_t i = 0; here && bin[k].step > 0 && i < l->nseries; i++)
            l->want[i * (MAX_SAMPLES + MAX_BLOCK) + (size_t)l->nwant] =
                ((now ? value(i, now - 1) : 0) + value(i, now)) / 2;
        l->nwant += here && bin[k].step > 0;
        for (size_t i = 0; i < l->nseries; i++)
            l->want[i * (MAX_SAMPLES + MAX_BLOCK) + (size_t)l->nwant] = value(i, now);
        l->nwant += !(here && bin[k].step < 0);
        k += here;
    }
    return (size_t)(l->nwant - before);
}

static size_t choose_bins(uint64_t *seed, size_t n, struct psr_resample_bin *bin)
{
    size_t nbin = 0;
    for (size_t at = (size_t)tap_between(seed, 0, 300); at < n;
         at += (size_t)tap_between(seed, 1, 4000))
        bin[nbin++] = (struct psr_resample_bin){at, tap_between(seed, 0, 1) ? 1 : -1};
    return nbin;
}

/* A block; at the tail, series end one by one. */
static psr_status append_block(psr_resident_series *r, struct line *l, uint64_t *seed, int64_t t,
                               size_t n, bool moves, bool tail, psr_err *err)
{
    static struct psr_resample_bin bin[MAX_BLOCK + 1];
    size_t own[MAX_SERIES];
    const size_t nbin = moves ? choose_bins(seed, n, bin) : 0;
    struct psr_block b = {.device_series = l->device,
                          .ndevice_series = l->ndevice,
                          .device_samples = n,
                          .bin = moves ? bin : NULL,
                          .nbin = nbin,
                          .own = tail ? own : NULL};
    compute_block(l, t, n);
    b.n = expect_block(l, t, n, bin, nbin);
    for (size_t i = 0; i < l->nseries; i++) {
        const bool ended = l->length[i] < l->nwant - (int64_t)b.n;
        own[i] = ended ? 0 : (size_t)tap_between(seed, 0, (int64_t)b.n);
        l->length[i] += (int64_t)(tail ? own[i] : b.n);
    }
    return psr_resident_series_append(r, &b, err);
}

static psr_status append_all(psr_resident_series *r, struct line *l, uint64_t *seed, psr_err *err)
{
    const int64_t all = tap_between(seed, 0, MAX_SAMPLES), tail = tap_between(seed, 0, 9000);
    const bool moves = tap_between(seed, 0, 1);
    psr_status st = PSR_OK;
    for (int64_t t = 0, n; t < all && !st; t += n) {
        n = tap_between(seed, 1, MAX_BLOCK);
        n = n < all - t ? n : all - t;
        st = append_block(r, l, seed, t, (size_t)n, moves, all - t < tail, err);
    }
    return st;
}

static int64_t count_wrong(psr_resident_series *r, const struct line *l)
{
    int64_t wrong = 0;
#pragma omp parallel for num_threads(3) reduction(+ : wrong)
    for (size_t i = 0; i < l->nseries; i++) {
        const int64_t n = l->length[i], asked = i % 3 ? n / 2 : n + 7, got = asked < n ? asked : n;
        float *x = tap_take((size_t)n + 8, sizeof *x);
        psr_err err;
        x[got] = -5;
        wrong += psr_resident_series_length(r, l->first + i) != n;
        wrong += psr_resident_series_read(r, l->first + i, x, asked, &err) != PSR_OK;
        wrong += got && memcmp(x, l->want + i * (MAX_SAMPLES + MAX_BLOCK), (size_t)got * sizeof *x);
        wrong += x[got] >= 0;
        free(x);
    }
    return wrong;
}

/* --- tests ------------------------------------------------------------------------------------ */

struct stores {
    struct line line;
    struct psr_sink_line sink_line;
    struct psr_sink_stream stream;
    psr_series_store *store;
    psr_resident_series *resident;
};

/* *s must stay where it is. */
static void make_stores(struct stores *s, uint64_t *seed)
{
    psr_err err;
    *s = (struct stores){.line = make_line(seed)};
    s->sink_line = (struct psr_sink_line){.first = s->line.first, .nseries = s->line.nseries};
    s->stream = (struct psr_sink_stream){.line = &s->sink_line, .nline = 1, .nthread = 2};
    psr_status st = psr_series_store_create(
        &s->store,
        &(struct psr_series_store_desc){MAX_SERIES + 5, tap_between(seed, 0, 3) * 400000,
                                        scratch("root"), 0},
        &err);
    if (!st)
        st = psr_resident_series_create(
            &s->resident, &(struct psr_resident_series_desc){&s->stream, 0, 1000, s->store}, &err);
    if (st)
        exit(EXIT_FAILURE);
}

static void clear_stores(struct stores *s)
{
    psr_resident_series_destroy(s->resident);
    psr_series_store_destroy(s->store);
    clear_line(&s->line);
}

static int64_t bytes_in_store(const struct stores *s)
{
    int64_t memory, scratch;
    psr_series_store_bytes(s->store, &memory, &scratch);
    return memory + scratch;
}

static void test_random(uint64_t *seed)
{
    int64_t wrong = 0, left = 0, all_on_devices = 0, none = 0, some = 0;
    for (int c = 0; c < CASES; c++) {
        struct stores s;
        psr_err err;
        make_stores(&s, seed);
        for (int k = 0; k < MAX_DEVICES; k++)
            devices[k].free_bytes = tap_between(seed, 0, 4) * 1100000;
        wrong += append_all(s.resident, &s.line, seed, &err) != PSR_OK;
        wrong += psr_resident_series_settle(s.resident, &err) != PSR_OK;
        wrong += count_wrong(s.resident, &s.line);
        const bool on_devices = psr_resident_series_bytes(s.resident) > 0;
        all_on_devices += on_devices && bytes_in_store(&s) == 0;
        none += !on_devices && bytes_in_store(&s) > 0;
        some += on_devices && bytes_in_store(&s) > 0;
        clear_stores(&s);
        for (int k = 0; k < MAX_DEVICES; k++)
            left += (int64_t)devices[k].taken;
    }
    ok(wrong == 0, "%d lines come back as they came (%lld wrong)", CASES, (long long)wrong);
    ok(all_on_devices > 10 && none > 10 && some > 5,
       "%lld of them lay on devices, %lld in the store, %lld on both", (long long)all_on_devices,
       (long long)none, (long long)some);
    ok(left == 0, "all memory of devices is freed");
}

static void test_lost(uint64_t *seed)
{
    struct stores s;
    psr_err err = {.msg = ""};
    psr_status st = PSR_OK;
    make_stores(&s, seed);
    for (int k = 0; k < MAX_DEVICES; k++)
        devices[k].free_bytes = INT64_C(1) << 40;
    st = append_block(s.resident, &s.line, seed, 0, 100, false, false, &err);
    devices[0].lost = true;
    ok(!st && psr_resident_series_settle(s.resident, &err) == PSR_EDEVICE, "lost: %s", err.msg);
    st = append_block(s.resident, &s.line, seed, 100, 100, false, false, &err);
    ok(st == PSR_EDEVICE, "lost while appending: %s", err.msg);
    devices[0].lost = false;
    clear_stores(&s);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_random(&seed);
    test_lost(&seed);
    return done_testing();
}
