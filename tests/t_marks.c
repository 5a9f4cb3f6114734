/* Marks of pulses: what shines through from DM 0, edges of gaps, against plain loops, and refusals. */
#include "tap.h"

#include <math.h>
#include <psrkit/singlepulse.h>
#include <string.h>

enum { TRIALS = 40, EVENTS = 300, CLUSTERS = 60, CHANNELS = 20000 };

struct scene {
    struct psr_event event[EVENTS];
    struct psr_cluster cluster[CLUSTERS];
    size_t scale[TRIALS], sweep[TRIALS];
    struct psr_span gap[6];
    struct psr_marks_desc d;
};

static void make_scene(struct scene *s, uint64_t *seed, bool scaled)
{
    int64_t at = 0;
    for (size_t i = 0; i < TRIALS; i++) {
        s->scale[i] = scaled ? (size_t)tap_between(seed, 1, 4) : 1;
        s->sweep[i] = 30 * i / s->scale[i];
    }
    for (size_t k = 0; k < EVENTS; k++)
        s->event[k] = (struct psr_event){(double)tap_between(seed, 50, 300) / 10,
                                         tap_between(seed, 0, 4000), (int)tap_between(seed, 1, 60),
                                         (size_t)tap_between(seed, 0, TRIALS - 1)};
    for (size_t k = 0; k < CLUSTERS; k++)
        s->cluster[k] = (struct psr_cluster){.best = s->event[5 * k], .marks = 64};
    for (size_t k = 0; k < 6; k++) {
        s->gap[k].first = at + tap_between(seed, 0, 3000);
        s->gap[k].count = tap_between(seed, 1, 100);
        at = s->gap[k].first + s->gap[k].count;
    }
    s->d = (struct psr_marks_desc){.size = sizeof s->d,
                                   .event = s->event,
                                   .nevent = EVENTS,
                                   .scale = scaled ? s->scale : NULL,
                                   .sweep = s->sweep,
                                   .low_mhz = 1000,
                                   .high_mhz = 2000,
                                   .gap = s->gap,
                                   .ngap = 6};
}

static int64_t begin_of(const struct scene *s, const struct psr_event *e)
{
    return (e->sample - e->width / 2) * (int64_t)s->scale[e->trial];
}

static int64_t length_of(const struct scene *s, const struct psr_event *e)
{
    return e->width * (int64_t)s->scale[e->trial];
}

/* Share of the channels in which a dispersed boxcar e meets a boxcar f at DM 0. */
static double count_channels(const struct scene *s, const struct psr_event *e,
                             const struct psr_event *f)
{
    double sweep = (double)(s->sweep[e->trial] * s->scale[e->trial]), meet = 0;
    for (int c = 0; c < CHANNELS; c++) {
        double mhz = 1000 + (c + 0.5) * 1000 / CHANNELS;
        double late = sweep * (1 / (mhz * mhz) - 1 / 4e6) / (1 / 1e6 - 1 / 4e6);
        double first = (double)begin_of(s, e) + late, other = (double)begin_of(s, f);
        meet += first < other + (double)length_of(s, f) && other < first + (double)length_of(s, e);
    }
    return meet / CHANNELS;
}

/* Returned: 1 marked, 0 not, -1 too close to say */
static int judge_dm0(const struct scene *s, const struct psr_event *e)
{
    int found = s->sweep[e->trial] <= (size_t)e->width;
    for (size_t k = 0; k < EVENTS && found != 1; k++) {
        const struct psr_event *f = &s->event[k];
        double v = (double)length_of(s, e), w = (double)length_of(s, f);
        if (s->sweep[f->trial] > (size_t)f->width)
            continue;
        double r = f->snr * count_channels(s, e, f) * fmin(v, w) / sqrt(v * w) / e->snr;
        found = fabs(r - 0.5) < 2e-3 ? -1 : r > 0.5 ? 1 : found;
    }
    return found;
}

static bool judge_edge(const struct scene *s, const struct psr_event *e)
{
    int64_t first = begin_of(s, e), width = length_of(s, e);
    int64_t sweep = (int64_t)(s->sweep[e->trial] * s->scale[e->trial]);
    for (size_t k = 0; k < 6; k++) {
        int64_t from = s->gap[k].first - sweep, to = s->gap[k].first + s->gap[k].count;
        if (first + 2 * width >= from && first - width <= to)
            return true;
    }
    return false;
}

static void test_scenes(uint64_t *seed)
{
    static struct scene s;
    int wrong = 0, dm0 = 0, edges = 0, total = 0, lost = 0;
    psr_err err;
    for (int k = 0; k < 30; k++) {
        make_scene(&s, seed, k % 2);
        if (psr_cluster_mark(&s.d, s.cluster, CLUSTERS, &err))
            exit(EXIT_FAILURE);
        for (size_t c = 0; c < CLUSTERS; c++, total++) {
            const struct psr_event *e = &s.cluster[c].best;
            int want = judge_dm0(&s, e);
            unsigned marks = s.cluster[c].marks;
            wrong += want >= 0 && (marks & PSR_PULSE_DM0) != (want ? PSR_PULSE_DM0 : 0U);
            wrong += ((marks & PSR_PULSE_EDGE) != 0) != judge_edge(&s, e);
            lost += !(marks & 64);
            dm0 += want == 1;
            edges += (marks & PSR_PULSE_EDGE) != 0;
        }
    }
    ok(wrong == 0 && lost == 0, "marks as by plain loops: %d of DM 0, %d at edges of %d", dm0,
       edges, total);
    ok(dm0 > 50 && dm0 < total - 50 && edges > 50 && edges < total - 50, "some and some not");
}

/* A spark of S/N 30 at DM 0 marks what it makes at other DMs, not a dispersed pulse beside it. */
static void test_spark(void)
{
    size_t sweep[TRIALS];
    for (size_t i = 0; i < TRIALS; i++)
        sweep[i] = 30 * i;
    const struct psr_event event[] = {{30, 1000, 20, 0}, {11, 985, 40, 2}, {15, 700, 20, 20}};
    struct psr_cluster c[3] = {{.best = event[0]}, {.best = event[1]}, {.best = event[2]}};
    const struct psr_marks_desc d = {.size = sizeof d,
                                     .event = event,
                                     .nevent = 3,
                                     .sweep = sweep,
                                     .low_mhz = 1000,
                                     .high_mhz = 2000};
    psr_err err;
    psr_status st = psr_cluster_mark(&d, c, 3, &err);
    ok(!st && c[0].marks == PSR_PULSE_DM0 && c[1].marks == PSR_PULSE_DM0 && c[2].marks == 0,
       "a spark, its flank, and a pulse that crosses it: %u %u %u", c[0].marks, c[1].marks,
       c[2].marks);
}

static void refuse(struct psr_marks_desc d, const char *field)
{
    psr_err err = {0};
    ok(psr_cluster_mark(&d, NULL, 0, &err) == PSR_EINVAL && !strcmp(err.field, field),
       "refused: %s", err.msg);
}

static void test_refusals(void)
{
    const size_t sweep[] = {0};
    const struct psr_span gap[] = {{10, 5}, {14, 2}};
    const struct psr_marks_desc good = {
        .size = sizeof good, .sweep = sweep, .low_mhz = 1000, .high_mhz = 2000};
    struct psr_marks_desc d;
    refuse((d = good, d.size = 0, d), "size");
    refuse((d = good, d.sweep = NULL, d), "sweep");
    refuse((d = good, d.low_mhz = 0, d), "low_mhz");
    refuse((d = good, d.low_mhz = 3000, d), "low_mhz");
    refuse((d = good, d.high_mhz = INFINITY, d), "low_mhz");
    refuse((d = good, d.gap = gap, d.ngap = 2, d), "gap");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_scenes(&seed);
    test_spark();
    test_refusals();
    return done_testing();
}
