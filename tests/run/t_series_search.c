/* series_search: whole series are each searched once, those of a device by that device first, and what is found does
 * not depend on the number of devices; one that fails ends the search.  The devices are made of host memory, and
 * their search sums samples. */
#include "base/device/device_internal.h"
#include "run/dedisperse/consumers/sinks.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include <string.h>

enum { CASES = 40, MAX_SERIES = 60, MAX_DEVICES = 3, SAMPLES = 500, TEXT = 10000 };

/* --- memory of devices ------------------------------------------------------------------------ */

static bool has_room;

psr_status psr_device_take(const struct psr_device_series *where, size_t bytes, int64_t leave,
                           void **d_out, psr_err *err)
{
    (void)where;
    (void)leave;
    *d_out = has_room ? tap_take(bytes, 1) : NULL;
    return has_room ? PSR_OK : psr_fail(err, PSR_ENOMEM, "no room");
}

void psr_device_release(const struct psr_device_series *where, void *d)
{
    (void)where;
    free(d);
}

psr_status psr_device_keep(const struct psr_device_series *from, size_t n, float *d_x,
                           size_t stride, psr_err *err)
{
    (void)err;
    for (size_t i = 0; i < from->nseries; i++)
        memcpy(d_x + i * stride, from->d_x + i * from->stride, n * sizeof *d_x);
    return PSR_OK;
}

psr_status psr_device_settle(const struct psr_device_series *where, psr_err *err)
{
    (void)where;
    (void)err;
    return PSR_OK;
}

psr_status psr_device_fetch(const struct psr_device_series *where, const float *d_x, size_t n,
                            float *x, psr_err *err)
{
    (void)where;
    (void)err;
    memcpy(x, d_x, n * sizeof *x);
    return PSR_OK;
}

psr_status psr_device_fetched(const struct psr_device_series *where, psr_err *err)
{
    (void)where;
    (void)err;
    return PSR_OK;
}

psr_status psr_device_series_fetch(const struct psr_device_series *s, size_t ndevice_series,
                                   size_t n, float *x, size_t stride, psr_err *err)
{
    (void)err;
    for (size_t k = 0; k < ndevice_series; k++)
        for (size_t i = 0; i < s[k].nseries; i++)
            memcpy(x + (s[k].first + i) * stride, s[k].d_x + i * s[k].stride, n * sizeof *x);
    return PSR_OK;
}

/* --- a search ---------------------------------------------------------------------------------- */

/* A sink, and how its method behaves. */
struct summing {
    size_t ndevice, batch, nslot;
    bool own_room;
    int absent,
        lost; /* devices that are not there, and that are lost in their first batch; -1: none */
    bool together;           /* no device goes on before all have their first batch */
    pthread_barrier_t begun; /* they have */
    struct psr_series_search *search;
    atomic_int inside; /* threads in keep */

    double sum[MAX_SERIES];
    int times[MAX_SERIES], crowded;
    size_t first[MAX_DEVICES]; /* series of each device's first batch */
    char notes[TEXT];
};

struct plan {
    struct summing *of;
    int device;
    int64_t nbin;
    size_t nbatch;
    float *room[PSR_SERIES_SLOTS];
    struct psr_searched *const *g; /* of the last batch */
    double sum;
};

static psr_status create(void *sink, const char *device, int nthread, void **search, psr_err *err)
{
    struct summing *s = sink;
    struct plan *p = *search = tap_take(1, sizeof *p);
    (void)nthread;
    *p = (struct plan){.of = s, .device = atoi(device)};
    return p->device == s->absent ? psr_fail(err, PSR_EDEVICE, "device %d is not there", p->device)
                                  : PSR_OK;
}

static void destroy(void *search)
{
    struct plan *p = search;
    free(p->room[0]);
    free(p->room[1]);
    free(p);
}

static bool fits(const void *search, const struct psr_searched *g)
{
    return ((const struct plan *)search)->nbin == g->about.nbin;
}

static psr_status make_plan(void *search, const struct psr_searched *g, size_t ninput,
                            size_t *batch, size_t *nslot, psr_err *err)
{
    struct plan *p = search;
    (void)ninput;
    if (g->about.nbin == 1)
        return psr_fail(err, PSR_EINVAL, "%s is short", g->stem);
    p->nbin = g->about.nbin;
    *batch = p->of->batch;
    *nslot = p->of->nslot;
    for (size_t k = 0; k < PSR_SERIES_SLOTS; k++) {
        free(p->room[k]);
        p->room[k] = tap_take(*batch * 2 * (size_t)p->nbin, sizeof(float));
    }
    return PSR_OK;
}

static float *room(void *search, size_t slot, size_t k)
{
    const struct plan *p = search;
    return p->room[slot] + k * 2 * (size_t)p->nbin;
}

static psr_status load(void *search, struct psr_searched *g, psr_err *err)
{
    (void)search;
    if (g->x[0] < 0)
        return psr_fail(err, PSR_EFORMAT, "%s begins below 0", g->stem);
    g->photons = (double)g->x[0];
    return PSR_OK;
}

static psr_status execute(void *search, size_t slot, size_t n, struct psr_searched *const *g,
                          psr_err *err)
{
    struct plan *p = search;
    struct summing *s = p->of;
    (void)slot;
    (void)n;
    p->g = g;
    if (p->nbatch++ == 0) {
        s->first[p->device] = g[0]->read.i;
        if (s->together)
            pthread_barrier_wait(&s->begun);
        if (p->device == s->lost)
            return psr_fail(err, PSR_EDEVICE, "device %d is lost", p->device);
    }
    while (s->lost >= 0 && !psr_series_search_is_stopped(s->search))
        ;
    return s->lost < 0 ? PSR_OK : psr_fail(err, PSR_ESTOPPED, "stopped");
}

static psr_status list(void *search, size_t slot, size_t k, const struct psr_searched *g,
                       psr_err *err)
{
    struct plan *p = search;
    (void)slot;
    p->sum = p->g[k] == g ? g->photons : -1;
    for (int64_t t = 0; t < 2 * g->about.nbin; t++)
        p->sum += (double)g->x[t] * (double)(t + 1);
    return g->x[1] < 0 ? psr_fail(err, PSR_EFORMAT, "sample 1 is below 0") : PSR_OK;
}

static psr_status keep(void *sink, void *search, const struct psr_searched *g, psr_err *err)
{
    struct summing *s = sink;
    (void)err;
    s->crowded += atomic_fetch_add(&s->inside, 1) > 0;
    s->sum[g->read.i] = ((struct plan *)search)->sum;
    s->times[g->read.i]++;
    atomic_fetch_sub(&s->inside, 1);
    return PSR_OK;
}

static void note(void *ctx, const char *msg)
{
    struct summing *s = ctx;
    const size_t n = strlen(s->notes);
    snprintf(s->notes + n, sizeof s->notes - n, "%s\n", msg);
}

/* --- series ------------------------------------------------------------------------------------ */

/* Two lines; series of the second are shorter, some of them too short, and some of both are refused later. */
struct input {
    size_t ndm, first[3]; /* of lines */
    bool on_devices;
    float *x; /* [ndm][SAMPLES] */
    struct psr_obs obs;
    double dm[MAX_SERIES];
    struct psr_sink_line line[2];
    struct psr_sink_end end[2];
    struct psr_sink_stream stream;
};

static int64_t samples_of(const struct input *in, size_t line)
{
    return line ? in->end[1].nout : SAMPLES;
}

static void make_input(struct input *in, uint64_t *seed)
{
    *in = (struct input){.ndm = (size_t)tap_between(seed, 2 * MAX_DEVICES, MAX_SERIES),
                         .on_devices = tap_between(seed, 0, 3) > 0};
    in->first[1] = (size_t)tap_between(seed, MAX_DEVICES, (int64_t)in->ndm - MAX_DEVICES);
    in->first[2] = in->ndm;
    in->x = tap_take(in->ndm * SAMPLES, sizeof *in->x);
    for (size_t t = 0; t < in->ndm * SAMPLES; t++)
        in->x[t] = (float)tap_between(seed, 0, 1000);
    for (size_t i = 0; i < in->ndm; i++) {
        in->dm[i] = (double)i;
        in->x[i * SAMPLES + (size_t)tap_between(seed, 0, 1)] *= tap_between(seed, 0, 9) ? 1 : -1;
    }
    psr_obs_init(&in->obs);
    in->obs.nchan = 1;
    in->obs.nsamp = SAMPLES;
    in->obs.tsamp_s = 1e-3;
    in->obs.fch1_mhz = 1400;
    in->obs.foff_mhz = -1;
    for (size_t k = 0; k < 2; k++) {
        in->line[k] = (struct psr_sink_line){.first = in->first[k],
                                             .nseries = in->first[k + 1] - in->first[k],
                                             .downsamp = 1,
                                             .tsamp_s = 1e-3 * (double)(k + 1)};
        in->end[k].nout = in->end[k].length = k ? tap_between(seed, 1, 4) * 100 - 98 : SAMPLES;
    }
    has_room = tap_between(seed, 0, 3) > 0;
    in->stream = (struct psr_sink_stream){.obs = &in->obs,
                                          .dm = in->dm,
                                          .ndm = in->ndm,
                                          .line = in->line,
                                          .nline = 2,
                                          .root = scratch("x"),
                                          .dm_decimals = 2,
                                          .nthread = 3};
}

static void clear_input(struct input *in)
{
    psr_obs_clear(&in->obs);
    free(in->x);
}

static psr_status push_line(struct psr_whole_series *w, const struct input *in, size_t line,
                            size_t ndevice, psr_err *err)
{
    struct psr_device_series device[MAX_DEVICES];
    const size_t nseries = in->line[line].nseries, n = (size_t)samples_of(in, line);
    float *x = in->x + in->first[line] * SAMPLES;
    struct psr_block b = {.series = x, .stride = SAMPLES, .n = n, .device_samples = n};
    if (!in->on_devices)
        return psr_sink_whole_series.push(w, line, &b, err);
    for (size_t k = 0; k < ndevice; k++) {
        const size_t first = k * nseries / ndevice, last = (k + 1) * nseries / ndevice;
        device[k] = (struct psr_device_series){.device = (int)k,
                                               .first = first,
                                               .nseries = last - first,
                                               .d_x = x + first * SAMPLES,
                                               .stride = SAMPLES};
    }
    b.series = NULL;
    b.device_series = device;
    b.ndevice_series = ndevice;
    return psr_sink_whole_series.push_device(w, line, &b, err);
}

/* Returned: the status of the search; what it found, in *s, and *ndone series */
static psr_status search(struct summing *s, struct input *in, size_t *ndone, psr_err *err)
{
    static const char *const devices[] = {"0", "0,1", "0,1,2"};
    const struct psr_series_method method = {
        "a sum", PSR_EINVAL, create, destroy, fits, make_plan, s->own_room ? room : NULL,
        load,    execute,    list,   NULL,    keep};
    struct psr_whole_series w = {.nreader = 1, .nopad = true};
    const struct psr_whole_series_use use = {&w, NULL};
    struct psr_series_search sums = {.n = 0};
    void *state;
    s->search = &sums;
    in->stream.notes = (struct psr_notes){note, s};
    pthread_barrier_init(&s->begun, NULL, (unsigned)s->ndevice);
    psr_status st = psr_sink_whole_series.begin(&state, &use, &in->stream, err);
    const struct psr_series_search_desc d = {
        &method, s, &in->stream, &w, devices[s->ndevice - 1], true, true, false, false};
    if (!st)
        st = psr_series_search_create(&sums, &d, err);
    for (size_t k = 0; k < 2 && !st; k++)
        st = push_line(&w, in, k, s->ndevice, err);
    if (!st)
        st = psr_sink_whole_series.finish(&w, in->end, err);
    if (!st)
        st = psr_series_search_run(&sums, in->end, err);
    *ndone = sums.found.nsearched + sums.found.nrefused;
    psr_series_search_destroy(&sums);
    psr_sink_whole_series.abort(&w);
    pthread_barrier_destroy(&s->begun);
    return st;
}

/* --- tests ------------------------------------------------------------------------------------- */

/* Series whose first samples are not below 0, of a line that is long enough. */
static int64_t count_wrong(const struct summing *s, const struct input *in)
{
    int64_t wrong = s->crowded;
    for (size_t i = 0; i < in->ndm; i++) {
        const float *x = in->x + i * SAMPLES;
        const int64_t n = samples_of(in, i >= in->first[1]);
        const bool good = n > 2 && !(x[0] < 0 || x[1] < 0);
        double sum = (double)x[0];
        for (int64_t t = 0; t < n; t++)
            sum += (double)x[t] * (double)(t + 1);
        wrong += s->times[i] != good || (good && fabs(s->sum[i] - sum) > 0);
        if (!good) {
            char stem[40];
            snprintf(stem, sizeof stem, "x_DM%zu.00", i);
            wrong += strstr(s->notes, stem) == NULL;
        }
    }
    return wrong;
}

static struct summing describe(uint64_t *seed, size_t ndevice)
{
    return (struct summing){.ndevice = ndevice,
                            .batch = (size_t)tap_between(seed, 1, 5),
                            .nslot = (size_t)tap_between(seed, 1, 2),
                            .own_room = tap_between(seed, 0, 1),
                            .absent = -1,
                            .lost = -1};
}

static void test_devices(uint64_t *seed)
{
    int64_t wrong = 0, differ = 0, refused = 0;
    for (int c = 0; c < CASES; c++) {
        static struct summing s[MAX_DEVICES];
        struct input in;
        make_input(&in, seed);
        for (size_t k = 0; k < MAX_DEVICES; k++) {
            size_t ndone;
            psr_err err = {.msg = ""};
            s[k] = describe(seed, k + 1);
            wrong += search(&s[k], &in, &ndone, &err) != PSR_OK;
            wrong += count_wrong(&s[k], &in) + (ndone != in.ndm);
            differ += strcmp(s[k].notes, s[0].notes) != 0;
            refused += *s[k].notes != '\0';
        }
        clear_input(&in);
    }
    ok(wrong == 0, "%d observations on 1 to %d devices (%lld wrong)", CASES, MAX_DEVICES,
       (long long)wrong);
    ok(differ == 0 && refused > 0, "series are refused in the order of trials, in %lld searches",
       (long long)refused);
}

/* Of an input that refuses nothing, with batches that no device fills with series of another. */
static psr_status search_good(struct summing *s, struct input *in, uint64_t *seed, psr_err *err)
{
    size_t ndone;
    s->together = true;
    s->batch = s->nslot = 1;
    make_input(in, seed);
    for (size_t t = 0; t < in->ndm * SAMPLES; t++)
        in->x[t] = fabsf(in->x[t]);
    in->on_devices = has_room = true;
    in->end[1].nout = in->end[1].length = SAMPLES;
    return search(s, in, &ndone, err);
}

static void test_own(uint64_t *seed)
{
    static struct summing s;
    struct input in;
    psr_err err;
    int strange = 0;
    s = describe(seed, MAX_DEVICES);
    ok(search_good(&s, &in, seed, &err) == PSR_OK, "devices wait for each other");
    for (size_t k = 0; k < MAX_DEVICES; k++)
        strange += s.first[k] != k * in.line[0].nseries / MAX_DEVICES;
    ok(strange == 0, "each begins with what lies on it");
    clear_input(&in);
}

static void test_failures(uint64_t *seed)
{
    static struct summing s;
    for (int k = 0; k < MAX_DEVICES; k++) {
        struct input in;
        psr_err err = {.msg = ""};
        char want[40];
        s = describe(seed, MAX_DEVICES);
        s.lost = k;
        snprintf(want, sizeof want, "device %d is lost", k);
        ok(search_good(&s, &in, seed, &err) == PSR_EDEVICE && !strcmp(err.msg, want), "%s",
           err.msg);
        clear_input(&in);
        s = describe(seed, MAX_DEVICES);
        s.absent = k;
        snprintf(want, sizeof want, "device %d is not there", k);
        ok(search_good(&s, &in, seed, &err) == PSR_EDEVICE && !strcmp(err.msg, want), "%s",
           err.msg);
        clear_input(&in);
    }
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_devices(&seed);
    test_own(&seed);
    test_failures(&seed);
    scratch_remove();
    return done_testing();
}
