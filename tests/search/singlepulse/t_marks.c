/* Marks of pulses: what shines through from DM 0, edges of gaps, against plain loops, and refusals. */
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/tap.h"

#include <math.h>
#include <psrkit/experimental/singlepulse.h>
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
        s->sweep[i] = 12 * i / s->scale[i];
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
                                   .ngap = 6,
                                   .threshold = 5,
                                   .searched_from = (double)(tap_between(seed, 0, 2) * 4),
                                   .dispersed_from = (double)tap_between(seed, 1, 40)};
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

static double share_of(double sweep, double width)
{
    return pow(1 + 0.462 * (sweep / width) * (sweep / width), -0.25);
}

/* The sweep nearest to 0, by small steps, at which a dispersed pulse may lie that has its best S/N at "sweep". */
static double find_nearest(const struct scene *s, double sweep, double v, double snr)
{
    double at = sweep;
    for (double step = fmax(v, 1) / 500; at > s->d.dispersed_from; at -= step) {
        const double c = share_of(sweep - at, v);
        if ((1 - c) / (1 + c) > 9 / (snr * snr))
            break;
    }
    return fmax(at, s->d.dispersed_from);
}

/* The same for the greatest one, in steps of so much. */
static double find_furthest(double sweep, double v, double snr, double step)
{
    double at = sweep;
    for (; at < 1e5; at += step) {
        const double c = share_of(at - sweep, v);
        if ((1 - c) / (1 + c) > 9 / (snr * snr))
            break;
    }
    return at;
}

/* Whether the best DM is below those of pulses, and so are most that fit.  Adds to *close if it is too close to say. */
static bool judge_below(const struct scene *s, const struct psr_event *e, bool *close)
{
    const double sweep = (double)(s->sweep[e->trial] * s->scale[e->trial]),
                 v = (double)length_of(s, e);
    const double least = s->d.dispersed_from, step = v / 100;
    const double furthest = find_furthest(sweep, v, e->snr, step);
    if (sweep >= least)
        return false;
    *close |= fabs(furthest - 10 * least) < 2 * step;
    return furthest < 10 * least;
}

/* Adds to *may, 1: undispersed, 2: undispersed and dispersed; returned: whether it is too close to say. */
static bool compare_with(const struct scene *s, const struct psr_event *e,
                         const struct psr_event *flat, unsigned *may)
{
    const double v = (double)length_of(s, e), w = (double)length_of(s, flat);
    const double sweep = (double)(s->sweep[e->trial] * s->scale[e->trial]);
    const double shine = flat->snr * count_channels(s, e, flat) * fmin(v, w) / sqrt(v * w);
    const double of_flat = sqrt(1 - pow(share_of(sweep, v), 2));
    const double c = share_of(find_nearest(s, sweep, v, e->snr), v);
    const double undispersed = fmin(flat->snr + 2 * of_flat, 2 * shine) - e->snr;
    const double dispersed = c * e->snr + 3 * sqrt(1 - c * c) - flat->snr;
    *may |= undispersed < 0 ? 0 : dispersed < 0 ? 1U : 2U;
    return fabs(undispersed) < 0.15 || fabs(dispersed) < 0.1;
}

/* Returned: the mark, 0 none; -1 too close to say */
static int judge_dm(struct scene *s, const struct psr_event *e)
{
    unsigned may = 0, unseen = 0;
    const bool searched = 4 * s->d.searched_from <= (double)length_of(s, e);
    const int64_t scale = (int64_t)s->scale[e->trial], sweep = (int64_t)s->sweep[e->trial] * scale;
    struct psr_event none = *e;
    none.snr = searched ? fmin(s->d.threshold, e->snr) : e->snr;
    none.sample += sweep / 2 / scale;
    bool close = compare_with(s, e, &none, &unseen);
    for (size_t k = 0; k < EVENTS; k++) {
        const struct psr_event *f = &s->event[k];
        const int64_t from = begin_of(s, f), to = from + length_of(s, f);
        if (4 * s->sweep[f->trial] <= (size_t)f->width && to > begin_of(s, e) &&
            from < begin_of(s, e) + length_of(s, e) + sweep)
            close |= compare_with(s, e, f, &may);
    }
    const bool below = (may || unseen) && judge_below(s, e, &close);
    return close ? -1 : may & 1 || below ? PSR_PULSE_DM0 : may || unseen ? PSR_PULSE_DM_UNKNOWN : 0;
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
    int wrong = 0, dm0 = 0, unknown = 0, edges = 0, total = 0, lost = 0;
    const unsigned dm = PSR_PULSE_DM0 | PSR_PULSE_DM_UNKNOWN;
    psr_err err;
    for (int k = 0; k < 30; k++) {
        make_scene(&s, seed, k % 2);
        if (psr_cluster_mark(&s.d, s.cluster, CLUSTERS, &err))
            exit(EXIT_FAILURE);
        for (size_t c = 0; c < CLUSTERS; c++, total++) {
            const struct psr_event *e = &s.cluster[c].best;
            int want = judge_dm(&s, e);
            unsigned marks = s.cluster[c].marks;
            wrong += want >= 0 && (marks & dm) != (unsigned)want;
            wrong += ((marks & PSR_PULSE_EDGE) != 0) != judge_edge(&s, e);
            lost += !(marks & 64);
            dm0 += want == PSR_PULSE_DM0;
            unknown += want == PSR_PULSE_DM_UNKNOWN;
            edges += (marks & PSR_PULSE_EDGE) != 0;
        }
    }
    ok(wrong == 0 && lost == 0,
       "marks as by plain loops: %d of DM 0, %d of unknown DM, %d at edges of %d", dm0, unknown,
       edges, total);
    ok(dm0 > 30 && unknown > 15 && dm0 + unknown < total - 50 && edges > 50 && edges < total - 50,
       "some and some not");
}

/* A band with 30 samples of sweep per trial, 20 at the least DM that pulses have. */
static unsigned mark_one(const struct psr_event *event, size_t nevent, size_t own)
{
    size_t sweep[TRIALS];
    for (size_t i = 0; i < TRIALS; i++)
        sweep[i] = 30 * i;
    struct psr_cluster c = {.best = event[own]};
    const struct psr_marks_desc d = {.size = sizeof d,
                                     .event = event,
                                     .nevent = nevent,
                                     .sweep = sweep,
                                     .low_mhz = 1200,
                                     .high_mhz = 1500,
                                     .threshold = 6,
                                     .dispersed_from = 20};
    psr_err err;
    if (psr_cluster_mark(&d, &c, 1, &err))
        exit(EXIT_FAILURE);
    return c.marks;
}

static void test_examples(void)
{
    const struct {
        const char *what;
        unsigned marks;
        struct psr_event own, at_dm0; /* S/N, sample, width, trial */
    } row[] = {
        {"a spark of S/N 30 at DM 0", PSR_PULSE_DM0, {30, 1000, 20, 0}, {30, 1000, 20, 0}},
        {"its flank", PSR_PULSE_DM0, {11, 985, 40, 2}, {30, 1000, 20, 0}},
        {"a pulse that crosses it", 0, {15, 700, 20, 20}, {30, 1000, 20, 0}},
        {"a spark longer than the least sweep",
         PSR_PULSE_DM0,
         {30, 1000, 300, 0},
         {30, 1000, 300, 0}},
        {"a short and weak spark", PSR_PULSE_DM0, {7, 1000, 60, 0}, {7, 1000, 60, 0}},
        {"a pulse at DM 0 that high DMs fit, too",
         PSR_PULSE_DM_UNKNOWN,
         {9, 1000, 300, 0},
         {9, 1000, 300, 0}},
        {"the same, longer and bright",
         PSR_PULSE_DM_UNKNOWN,
         {30, 1000, 900, 0},
         {30, 1000, 900, 0}},
        {"a long one whose best DM is that of a pulse",
         PSR_PULSE_DM_UNKNOWN,
         {9, 1000, 80, 1},
         {9, 1015, 80, 0}},
        {"a pulse of S/N 17 with a sweep of twice its width",
         0,
         {17, 1000, 60, 4},
         {13.1, 1060, 100, 0}},
        {"one as long as its sweep", PSR_PULSE_DM_UNKNOWN, {9, 1000, 60, 2}, {8.2, 1030, 70, 0}},
        {"the same, bright", 0, {60, 1000, 60, 2}, {54, 1030, 70, 0}},
        {"a weak one of which DM 0 sees nothing", 0, {7, 1000, 20, 10}, {0, 0, 1, 0}},
        {"a weak one near DM 0, which sees nothing",
         PSR_PULSE_DM_UNKNOWN,
         {6.3, 1000, 60, 1},
         {0, 0, 1, 0}},
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        const struct psr_event event[] = {row[k].own, row[k].at_dm0};
        const unsigned marks = mark_one(event, row[k].at_dm0.snr > 0 ? 2 : 1, 0);
        ok(marks == row[k].marks, "%s: %u", row[k].what, marks);
    }
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
    refuse((d = good, d.searched_from = -1, d), "searched_from");
    refuse((d = good, d.dispersed_from = NAN, d), "searched_from");
    refuse((d = good, d.gap = gap, d.ngap = 2, d), "gap");
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_scenes(&seed);
    test_examples();
    test_refusals();
    return done_testing();
}
