/* Parts of the band: which channels and trials they have, their events against runs of those channels alone, what is
 * one pulse against every pair compared, bursts of a part and of the whole band, and events of noise.  Compiled for
 * each backend. */
#include "tests/support/band_spread.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include "run/dedisperse/lines/lines.h"
#include "search/singlepulse/pulses/cluster_parts.h"

#include <psrkit/device.h>
#include <psrkit/pipeline.h>
#include <string.h>

#ifndef PIPELINE_DEVICE
#define PIPELINE_DEVICE "cpu"
#endif
enum { MAXCHAN = 150, MAXDM = 40, SHAPES = 200, RUNS = 4, UNIONS = 300, MAXCLUSTER = 60 };

/* --- channels and trials ---------------------------------------------------------------------- */

struct shape {
    struct psr_obs obs;
    unsigned char keep[MAXCHAN];
    size_t nkept;
    double dm[MAXDM];
    struct psr_trial_list t;
};

/* One line of trials, and another of twice the sampling, as -scrunch has them. */
static void choose(struct shape *s, uint64_t *seed, size_t nhalve)
{
    psr_err err;
    memset(s, 0, sizeof *s);
    psr_obs_init(&s->obs);
    s->obs.nchan = (size_t)tap_between(seed, 1, MAXCHAN);
    s->obs.nif = 1;
    s->obs.nbit = 8;
    s->obs.kind = PSR_UINT;
    s->obs.tsamp_s = 1e-3;
    s->obs.fch1_mhz = 900;
    s->obs.foff_mhz = tap_uniform(seed) < 0.5 ? 2.5 : -2.5;
    for (size_t c = 0; c < s->obs.nchan; c++)
        s->nkept += s->keep[c] = tap_uniform(seed) < 0.9;
    const size_t ndm = (size_t)tap_between(seed, 2, MAXDM), first = ndm / 2;
    for (size_t i = 0; i < ndm; i++)
        s->dm[i] = 200 * tap_uniform(seed);
    psr_status st =
        psr_trials_make(&s->t, (struct psr_line){.ndm = ndm, .downsamp = 1}, s->dm, 0, 1, &err);
    struct psr_line *line = st ? NULL : realloc(s->t.line, 2 * sizeof *line);
    if (!line)
        exit(EXIT_FAILURE);
    s->t.line = line;
    line[1] = line[0];
    line[0].ndm = line[1].first = first ? first : 1;
    line[1].ndm = ndm - line[0].ndm;
    line[1].downsamp = 2;
    s->t.nline = 2;
    if (psr_trials_add_parts(&s->t, &s->obs, s->keep, PSR_DMCONST_PRESTO, nhalve, &err))
        exit(EXIT_FAILURE);
}

/* A part has all kept channels between its lowest and its highest, and as many as it should. */
static bool is_part_right(const struct shape *s, const struct psr_band_part *p, size_t wide)
{
    size_t n = 0;
    for (size_t c = 0; c < s->obs.nchan; c++) {
        const double mhz = psr_obs_freq_mhz(&s->obs, c);
        if (p->keep[c] != (s->keep[c] && mhz >= p->low_mhz && mhz <= p->high_mhz))
            return false;
        n += p->keep[c];
    }
    return n == wide && p->nkept == wide;
}

static size_t count_shared(const struct shape *s, const struct psr_band_part *p,
                           const struct psr_band_part *q)
{
    size_t n = 0;
    for (size_t c = 0; c < s->obs.nchan; c++)
        n += p->keep[c] && q->keep[c];
    return n;
}

/* Parts of a level go from the highest kept channel to the lowest, each half into the next. */
static size_t check_level(const struct shape *s, size_t first, size_t wide, bool *right)
{
    size_t k = first, seen = 0;
    double low = INFINITY, high = 0;
    for (size_t c = 0; c < s->obs.nchan; c++)
        if (s->keep[c]) {
            low = fmin(low, psr_obs_freq_mhz(&s->obs, c));
            high = fmax(high, psr_obs_freq_mhz(&s->obs, c));
        }
    for (; k < s->t.npart && s->t.part[k].nkept == wide; k++) {
        *right &= is_part_right(s, &s->t.part[k], wide);
        seen = k > first ? count_shared(s, &s->t.part[k - 1], &s->t.part[k]) : 0;
        *right &= k == first || (seen >= wide - wide / 2 && seen < wide &&
                                 s->t.part[k].high_mhz < s->t.part[k - 1].high_mhz);
    }
    *right &= k > first && s->t.part[first].high_mhz == high && s->t.part[k - 1].low_mhz == low;
    return k;
}

/* Delay over a part from one trial of a line to another, in samples of the line. */
static double samples_between(const struct shape *s, const struct psr_line *l, double from,
                              double to)
{
    const struct psr_band_part *p = &s->t.part[l->part - 1];
    const double k = PSR_DMCONST_PRESTO * (pow(p->low_mhz, -2) - pow(p->high_mhz, -2));
    return (to - from) * k / (s->obs.tsamp_s * (double)l->downsamp);
}

/* That of the whole band from trial to trial, on average; at least 1. */
static double find_step(const struct shape *s, const struct psr_line *whole)
{
    const double *dm = s->t.dm + whole->first, low = psr_obs_lowest_mhz(&s->obs);
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < whole->ndm; i++) {
        least = fmin(least, dm[i]);
        most = fmax(most, dm[i]);
    }
    const double sweep =
        PSR_DMCONST_PRESTO * (pow(low, -2) - pow(psr_obs_highest_mhz(&s->obs), -2));
    const double each = whole->ndm > 1 ? (most - least) / (double)(whole->ndm - 1) : 0;
    return fmax(1, each * sweep / (s->obs.tsamp_s * (double)whole->downsamp));
}

static bool is_of(const struct shape *s, const struct psr_line *l, double dm)
{
    bool found = false;
    for (size_t i = l->first; i < l->first + l->ndm; i++)
        found |= s->t.dm[i] == dm;
    return found;
}

/* Each trial of the line is one of the part, or less than a step above one; and those are steps apart. */
static bool is_line_right(const struct shape *s, const struct psr_line *l,
                          const struct psr_line *whole)
{
    const double step = find_step(s, whole);
    bool right = l->downsamp == whole->downsamp && l->ndm > 0;
    for (size_t i = l->first; i < l->first + l->ndm; i++) {
        right &= is_of(s, whole, s->t.dm[i]);
        right &=
            i == l->first || samples_between(s, l, s->t.dm[i - 1], s->t.dm[i]) >= step * (1 - 1e-6);
    }
    for (size_t i = whole->first; i < whole->first + whole->ndm; i++) {
        bool near = false;
        for (size_t k = l->first; k < l->first + l->ndm; k++) {
            const double off = samples_between(s, l, s->t.dm[k], s->t.dm[i]);
            near |= off >= 0 && off < step * (1 + 1e-6);
        }
        right &= near;
    }
    return right;
}

static bool are_lines_right(const struct shape *s)
{
    size_t at = s->t.line[1].first + s->t.line[1].ndm;
    bool right = s->t.nline == 2 * (s->t.npart + 1) && psr_trials_whole_lines(&s->t) == 2 &&
                 psr_trials_whole_ndm(&s->t) == at;
    for (size_t k = 2; right && k < s->t.nline; k++) {
        const struct psr_line *l = &s->t.line[k];
        right = l->first == at && l->part == k / 2 && is_line_right(s, l, &s->t.line[k % 2]);
        at += l->ndm;
    }
    return right && at == s->t.ndm;
}

static void test_parts(uint64_t *seed)
{
    int right = 0, parts = 0;
    for (int n = 0; n < SHAPES; n++) {
        struct shape s;
        const size_t nhalve = (size_t)tap_between(seed, 1, PSR_PIPELINE_HALVE);
        choose(&s, seed, nhalve);
        bool good = true;
        size_t at = 0;
        for (size_t h = 1; h <= nhalve; h++) {
            const size_t wide = (s.nkept + ((size_t)1 << h) - 1) >> h;
            if (wide < 8 || wide >= s.nkept)
                break;
            at = check_level(&s, at, wide, &good);
        }
        good &= at == s.t.npart && (at == 0 || are_lines_right(&s));
        right += good;
        parts += (int)at;
        psr_trials_clear(&s.t);
    }
    ok(right == SHAPES && parts > SHAPES,
       "%d of %d shapes have their parts, %d in all, and those their trials", right, SHAPES, parts);
}

/* --- one pulse -------------------------------------------------------------------------------- */

struct crowd {
    struct psr_band_range range[6];
    size_t nrange, n, part[MAXCLUSTER], scale[MAXCLUSTER];
    double dm[MAXCLUSTER];
    struct psr_cluster cluster[MAXCLUSTER];
    struct psr_cluster_parts_desc d;
};

/* Each cluster has a trial of its own. */
static void make_crowd(struct crowd *w, uint64_t *seed)
{
    w->nrange = (size_t)tap_between(seed, 2, 6);
    w->n = (size_t)tap_between(seed, 0, MAXCLUSTER);
    w->range[0] = (struct psr_band_range){400, 800};
    for (size_t r = 1; r < w->nrange; r++) {
        const double wide = tap_uniform(seed) < 0.5 ? 200 : 100;
        w->range[r].low_mhz = 400 + 50 * (double)tap_between(seed, 0, (int64_t)(400 - wide) / 50);
        w->range[r].high_mhz = w->range[r].low_mhz + wide;
    }
    for (size_t k = 0; k < w->n; k++) {
        const int64_t at = tap_between(seed, 0, 3000);
        w->part[k] = (size_t)tap_between(seed, 0, (int64_t)w->nrange - 1);
        w->scale[k] = (size_t)1 << tap_between(seed, 0, 2);
        w->dm[k] = (double)tap_between(seed, 0, 30);
        w->cluster[k] = (struct psr_cluster){
            .best = {(double)tap_between(seed, 60, 200) / 10, at,
                     (int)tap_between(seed, 1, 1 << tap_between(seed, 1, 7)), k},
            .members = (size_t)tap_between(seed, 1, 9),
            .first = at - 5,
            .last = at + 7};
    }
    w->d = (struct psr_cluster_parts_desc){.range = w->range,
                                           .nrange = w->nrange,
                                           .part = w->part,
                                           .dm = w->dm,
                                           .scale = w->scale,
                                           .time_tol = tap_between(seed, 0, 4),
                                           .tick_s = 1e-3,
                                           .dmconst = PSR_DMCONST_PRESTO,
                                           .ref_mhz = 799};
}

static double width_of(const struct crowd *w, size_t k)
{
    return (double)w->cluster[k].best.width * (double)w->scale[k];
}

/* Where the middle of the boxcar is at a frequency, in ticks. */
static double middle_at(const struct crowd *w, size_t k, double inverse_square)
{
    const struct psr_event *e = &w->cluster[k].best;
    return ((double)(e->sample - e->width / 2) + e->width / 2.0) * (double)w->scale[k] +
           1e3 * w->d.dmconst * w->dm[k] * (inverse_square - pow(w->d.ref_mhz, -2));
}

static bool is_better(const struct crowd *w, size_t a, size_t b)
{
    const double p = w->cluster[a].best.snr, q = w->cluster[b].best.snr;
    return p > q || (p == q && a < b);
}

/* Whether the higher one leaves as much at the other's DM in a third of a range. */
static bool leaves_enough(const struct crowd *w, const struct psr_band_range *r, size_t high,
                          size_t low)
{
    const double v = width_of(w, low), u = width_of(w, high);
    const double spread = 1e3 * w->d.dmconst * fabs(w->dm[high] - w->dm[low]) *
                          (pow(r->low_mhz, -2) - pow(r->high_mhz, -2)) *
                          spread_of(r->high_mhz / r->low_mhz) / 3;
    const double share = pow(1 + 0.462 * spread * spread / (u * u), -0.25);
    return w->cluster[low].best.snr <=
           share * fmin(1, sqrt(v / spread)) * w->cluster[high].best.snr + 3;
}

static bool are_one(const struct crowd *w, size_t high, size_t low)
{
    const struct psr_band_range *a = &w->range[w->part[high]], *b = &w->range[w->part[low]];
    if (a == b || a->low_mhz > b->high_mhz || b->low_mhz > a->high_mhz)
        return false;
    bool one = false;
    const double tol = (double)w->d.time_tol * fmax((double)w->scale[high], (double)w->scale[low]);
    for (int side = 0; side < 2; side++) {
        const struct psr_band_range *r = side ? a : b, *o = side ? b : a;
        if (r->high_mhz - r->low_mhz > o->high_mhz - o->low_mhz)
            continue;
        const double f = (pow(r->low_mhz, -2) + pow(r->high_mhz, -2)) / 2;
        one |= fabs(middle_at(w, high, f) - middle_at(w, low, f)) <=
                   (width_of(w, high) + width_of(w, low)) / 2 + tol &&
               leaves_enough(w, r, high, low);
    }
    const double v = width_of(w, low), u = width_of(w, high);
    return one && w->cluster[low].best.snr <=
                      2 * sqrt(fmin(u, v) / fmax(u, v)) * w->cluster[high].best.snr + 3;
}

/* Members of each pulse, by the trial of its best event; 0 for those that are not. */
static void unite_plainly(const struct crowd *w, size_t members[MAXCLUSTER])
{
    size_t to[MAXCLUSTER];
    for (size_t k = 0; k < w->n; k++) {
        to[k] = k;
        members[k] = 0;
        for (size_t o = 0; o < w->n; o++)
            if (is_better(w, o, to[k]) && is_better(w, o, k) && are_one(w, o, k))
                to[k] = o;
    }
    for (size_t k = 0; k < w->n; k++) {
        size_t root = k;
        while (to[root] != root)
            root = to[root];
        members[root] += w->cluster[k].members;
    }
}

static void test_unions(uint64_t *seed)
{
    int right = 0;
    size_t united = 0, all = 0;
    for (int u = 0; u < UNIONS; u++) {
        struct crowd w;
        size_t members[MAXCLUSTER], n, sum = 0, want = 0;
        psr_err err;
        make_crowd(&w, seed);
        unite_plainly(&w, members);
        n = w.n;
        bool good = psr_cluster_unite(&w.d, w.cluster, &n, &err) == PSR_OK;
        for (size_t k = 0; k < n; k++) {
            good &= w.cluster[k].members == members[w.cluster[k].best.trial];
            good &= k == 0 || w.cluster[k - 1].best.snr >= w.cluster[k].best.snr;
            sum += w.cluster[k].members;
        }
        for (size_t k = 0; k < w.n; k++)
            want += members[k];
        right += good && sum == want;
        united += w.n - n;
        all += w.n;
    }
    ok(right == UNIONS && united > 100 && united < all,
       "%d of %d crowds are united as by every pair, %zu of %zu clusters", right, UNIONS, united,
       all);
}

/* --- sky -------------------------------------------------------------------------------------- */

enum { SKYCHAN = 64, NSAMP = 24000, BURSTS = 8, WIDTH = 8, SKYDM = 60 };
static const double noise_sigma = 20, dm_step = 0.2, burst_dm = 6;

struct sky {
    struct psr_obs obs;
    unsigned char *x; /* [NSAMP][SKYCHAN] */
    double dm[SKYDM];
    double threshold;
};

static void make_sky(struct sky *k, uint64_t *seed)
{
    *k = (struct sky){.x = tap_take(NSAMP, SKYCHAN)};
    psr_obs_init(&k->obs);
    k->obs.nchan = SKYCHAN;
    k->obs.nif = 1;
    k->obs.nbit = 8;
    k->obs.kind = PSR_UINT;
    k->obs.tsamp_s = 1e-3;
    k->obs.fch1_mhz = 800;
    k->obs.foff_mhz = -400.0 / SKYCHAN;
    for (size_t i = 0; i < SKYDM; i++)
        k->dm[i] = dm_step * (double)i;
    for (size_t t = 0; t < NSAMP * SKYCHAN; t++)
        k->x[t] = (unsigned char)fmin(fmax(128 + noise_sigma * tap_normal(seed) + 0.5, 0), 255);
}

/* At the highest channel. */
static int64_t burst_at(int b)
{
    return 2000 + b * (NSAMP - 5000) / BURSTS;
}

/* Bursts of so much S/N in n channels from the highest ones down. */
static void add_bursts(struct sky *k, size_t first, size_t n, double snr, double dm)
{
    const double more = snr * noise_sigma / sqrt((double)n * WIDTH);
    for (int b = 0; b < BURSTS; b++)
        for (size_t c = first; c < first + n; c++) {
            const int64_t late =
                psr_delay_samples(PSR_DMCONST_PRESTO, dm, psr_obs_freq_mhz(&k->obs, c),
                                  k->obs.fch1_mhz, k->obs.tsamp_s);
            for (int64_t t = burst_at(b) + late; t < burst_at(b) + late + WIDTH; t++) {
                unsigned char *x = &k->x[t * SKYCHAN + (int64_t)c];
                *x = (unsigned char)fmin(*x + more + 0.5, 255);
            }
        }
}

static psr_pipeline *run_sky(const struct sky *k, const struct psr_pipeline_desc *like)
{
    struct psr_pipeline_desc d = *like;
    struct psr_sink_pulses_desc pulses;
    psr_pipeline *p = NULL;
    psr_err err;
    d.obs = &k->obs;
    d.noclip = d.nobary = true;
    d.device = PIPELINE_DEVICE;
    d.root = scratch("sky");
    psr_sink_pulses_defaults(&pulses);
    pulses.threshold = k->threshold;
    pulses.maxwidth_s = 0.05;
    d.pulses = &pulses;
    psr_status st = psr_pipeline_create(&p, &d, &err);
    if (!st)
        st = psr_pipeline_execute(p, k->x, NSAMP, &err);
    if (!st)
        st = psr_pipeline_finish(p, &err);
    if (st) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    return p;
}

static struct psr_pipeline_desc describe_sky(struct sky *k, double threshold)
{
    struct psr_pipeline_desc d;
    psr_pipeline_defaults(&d);
    d.dm = k->dm;
    d.ndm = SKYDM;
    k->threshold = threshold;
    return d;
}

/* As the run has them. */
static struct psr_trial_list list_trials(const struct sky *k, size_t nhalve)
{
    struct psr_trial_list t = {0};
    unsigned char keep[SKYCHAN];
    psr_err err;
    memset(keep, 1, sizeof keep);
    if (psr_trials_make(&t, (struct psr_line){.ndm = SKYDM, .downsamp = 1}, k->dm, 0, 1, &err) ||
        psr_trials_add_parts(&t, &k->obs, keep, PSR_DMCONST_PRESTO, nhalve, &err))
        exit(EXIT_FAILURE);
    return t;
}

/* --- events of a part ------------------------------------------------------------------------- */

/* Channels count from the lowest frequency. */
static void ignore_others(char *text, size_t size, const unsigned char *keep)
{
    size_t n = 0;
    *text = '\0';
    for (size_t c = 0; c < SKYCHAN; c++)
        if (!keep[c])
            n += (size_t)snprintf(text + n, size - n, "%s%zu", n ? "," : "",
                                  (size_t)SKYCHAN - 1 - c);
}

/* Events [*n] of trials [first, first + ndm) of a run. */
static const struct psr_event *events_of(const psr_pipeline *p, size_t first, size_t ndm, size_t *n)
{
    const struct psr_pulses_found *found = psr_pipeline_result(p, "pulses");
    size_t at = 0;
    while (at < found->nevent && found->event[at].trial < first)
        at++;
    for (*n = 0; at + *n < found->nevent && found->event[at + *n].trial < first + ndm;)
        ++*n;
    return found->event + at;
}

static bool are_events_those_alone(const struct sky *k, const psr_pipeline *p,
                                   const struct psr_pipeline_desc *like,
                                   const struct psr_trial_list *t, size_t line, size_t *count)
{
    const struct psr_line *l = &t->line[line];
    struct psr_pipeline_desc d = *like;
    char ignored[8 * SKYCHAN];
    size_t n, nalone;
    ignore_others(ignored, sizeof ignored, t->part[l->part - 1].keep);
    d.nhalve = 0;
    d.ignorechan = ignored;
    d.dm = t->dm + l->first;
    d.ndm = (int64_t)l->ndm;
    psr_pipeline *alone = run_sky(k, &d);
    const struct psr_event *e = events_of(p, l->first, l->ndm, &n);
    const struct psr_event *a = events_of(alone, 0, l->ndm, &nalone);
    bool same = n == nalone;
    for (size_t i = 0; same && i < n; i++)
        same = e[i].snr == a[i].snr && e[i].sample == a[i].sample && e[i].width == a[i].width &&
               e[i].trial == a[i].trial + l->first;
    *count += n;
    psr_pipeline_destroy(alone);
    return same;
}

static void test_alone(uint64_t *seed)
{
    int same = 0, lines = 0;
    size_t count = 0;
    for (int r = 0; r < RUNS; r++) {
        struct sky k;
        make_sky(&k, seed);
        add_bursts(&k, 16, 16, 12, burst_dm);
        struct psr_pipeline_desc d = describe_sky(&k, 4.5);
        d.algo = r % 2 ? PSR_DEDISP_TREE : PSR_DEDISP_DIRECT;
        d.nhalve = 1 + r / 2;
        struct psr_trial_list t = list_trials(&k, (size_t)d.nhalve);
        psr_pipeline *p = run_sky(&k, &d);
        for (size_t line = 1; line < t.nline; line += 3, lines++)
            same += are_events_those_alone(&k, p, &d, &t, line, &count);
        psr_pipeline_destroy(p);
        psr_trials_clear(&t);
        free(k.x);
    }
    ok(same == lines && count > 100,
       "%d of %d parts have the events of their channels alone, %zu in all", same, lines, count);
}

/* --- pulses ----------------------------------------------------------------------------------- */

/* Of each burst: rows of the list that are near it; how many are within the frequencies; and how many name them. */
struct tally {
    int rows, alone, within, named, marked;
};

static struct tally count_rows(const char *path, double low_mhz, double high_mhz)
{
    struct tally n = {0};
    for (int b = 0; b < BURSTS; b++) {
        char line[400];
        int rows = 0;
        FILE *f = fopen(path, "r");
        while (f && fgets(line, sizeof line, f)) {
            double snr, sample, low, high;
            char marks[40];
            if (sscanf(line, "%lf %lf %*f %*f %*d %*f %*d %*d %*d %39s %lf %lf", &snr, &sample,
                       marks, &low, &high) != 5 ||
                fabs(sample - (double)burst_at(b)) > 900)
                continue;
            rows++;
            n.within += low <= low_mhz + 1 && high >= high_mhz - 1;
            n.named += fabs(low - low_mhz) < 1 && fabs(high - high_mhz) < 1;
            n.marked += strcmp(marks, "-") != 0;
        }
        if (f)
            fclose(f);
        n.alone += rows == 1;
        n.rows += rows;
    }
    return n;
}

static void test_bursts(uint64_t *seed, enum psr_dedisp_algo algo, const char *name)
{
    struct sky k;
    make_sky(&k, seed);
    add_bursts(&k, 32, 16, 10, burst_dm); /* 500 to 600 MHz; 5 in the whole band */
    struct psr_pipeline_desc d = describe_sky(&k, 6.5);
    d.algo = algo;
    psr_pipeline *p = run_sky(&k, &d);
    const struct psr_pulses_found *found = psr_pipeline_result(p, "pulses");
    const size_t without = found->ncluster;
    psr_pipeline_destroy(p);
    d.nhalve = 2;
    psr_pipeline_destroy(run_sky(&k, &d));
    struct tally n = count_rows(scratch("sky.cand"), 500 + 3.125, 600 + 3.125);
    ok((int)without < n.alone && n.alone >= 7 && n.named >= 6 && n.within >= 7 && n.marked <= 1,
       "%s: of %d bursts of S/N 10 in a quarter of the band %zu are in the list without parts, %d "
       "have one row with them, %d of that quarter, %d marked",
       name, BURSTS, without, n.alone, n.named, n.marked);
    free(k.x);
    make_sky(&k, seed);
    k.threshold = 6.5;
    add_bursts(&k, 0, SKYCHAN, 14, burst_dm);
    psr_pipeline_destroy(run_sky(&k, &d));
    n = count_rows(scratch("sky.cand"), 400 + 3.125, 800 + 3.125);
    ok(n.alone >= 7 && n.named >= 7 && n.marked <= 1,
       "%s: of %d bursts of the whole band %d have one row, %d of the whole band, %d marked", name,
       BURSTS, n.alone, n.named, n.marked);
    free(k.x);
}

/* Interference of DM 0 in a quarter of the band. */
static void test_interference(uint64_t *seed)
{
    struct sky k;
    make_sky(&k, seed);
    add_bursts(&k, 40, 16, 25, 0);
    struct psr_pipeline_desc d = describe_sky(&k, 6.5);
    d.nhalve = 2;
    psr_pipeline_destroy(run_sky(&k, &d));
    struct tally n = count_rows(scratch("sky.cand"), 450 + 3.125, 550 + 3.125);
    ok(n.within >= 7 && n.marked >= n.rows - 1,
       "of %d bursts of DM 0 in a quarter of the band %d are in the list, %d of %d rows are marked",
       BURSTS, n.within, n.marked, n.rows);
    free(k.x);
}

/* --- noise ------------------------------------------------------------------------------------ */

static void test_noise(uint64_t *seed)
{
    struct sky k;
    make_sky(&k, seed);
    struct psr_pipeline_desc d = describe_sky(&k, 3.5);
    d.nhalve = 2;
    psr_pipeline *p = run_sky(&k, &d);
    struct psr_pipeline_report r;
    psr_pipeline_describe(p, &r);
    size_t whole, parts, all;
    events_of(p, 0, SKYDM, &whole);
    events_of(p, SKYDM, r.npart_series, &parts);
    all = ((const struct psr_pulses_found *)psr_pipeline_result(p, "pulses"))->nevent;
    const double want = (double)r.npart_series / SKYDM, got = (double)parts / (double)whole;
    ok(r.npart == 10 && r.ndm == SKYDM && whole + parts == all && fabs(got - want) < 0.25 * want,
       "noise: %zu events of the whole band, %.2f times as many of %zu parts with %.2f times as "
       "many series",
       whole, got, r.npart, want);
    psr_pipeline_destroy(p);
    free(k.x);
}

/* --- fine samples ----------------------------------------------------------------------------- */

/* A line of so many times fewer samples, rounded up, has the DMs of the whole band's and evenly more between. */
static bool is_fine_right(const struct shape *s, const struct psr_line *l,
                          const struct psr_line *whole, int64_t times)
{
    const int64_t fine = (whole->downsamp + times - 1) / times;
    const size_t steps = (size_t)((whole->downsamp + fine - 1) / fine);
    bool right = l->downsamp == fine && l->part == s->t.npart && l->least_width == 1 &&
                 l->ndm == (whole->ndm > 1 ? whole->ndm * steps : 1);
    for (size_t i = 0; i < whole->ndm; i++)
        right &= is_of(s, l, s->t.dm[whole->first + i]);
    for (size_t i = l->first; right && i + 1 < l->first + l->ndm; i++) {
        const double apart = s->t.dm[i + 1] - s->t.dm[i];
        const size_t k = i - l->first;
        right &= apart > 0 && (k % steps == 0 ||
                               fabs(apart - (s->t.dm[i] - s->t.dm[i - 1])) < 1e-9 * s->t.dm[i]);
    }
    return right;
}

static void test_fine(uint64_t *seed)
{
    int wrong = 0, fine = 0;
    for (int i = 0; i < SHAPES; i++) {
        struct shape s;
        psr_err err;
        choose(&s, seed, 0);
        s.t.line[1].downsamp = tap_between(seed, 1, 60);
        const int64_t times = tap_between(seed, 1, 9);
        const size_t before = s.t.nline;
        const bool wanted = times > 1 && s.t.line[1].downsamp > 1 && s.nkept;
        if (psr_trials_add_fine(&s.t, &s.obs, s.keep, times, &err))
            exit(EXIT_FAILURE);
        wrong += s.t.nline != before + wanted || psr_trials_whole_lines(&s.t) != before;
        if (wanted && s.t.nline == before + 1)
            wrong += !is_fine_right(&s, &s.t.line[before], &s.t.line[1], times) ||
                     s.t.part[s.t.npart - 1].nkept != s.nkept;
        fine += wanted;
        psr_trials_clear(&s.t);
    }
    ok(!wrong && fine > SHAPES / 2, "%d lists of trials: %d with fine lines, %d wrong", SHAPES,
       fine, wrong);
}

static void test_refusals(void)
{
    struct psr_obs obs;
    struct psr_pipeline_desc d;
    struct psr_sink_pulses_desc pulses;
    psr_pipeline *p;
    psr_err err;
    psr_obs_init(&obs);
    psr_pipeline_defaults(&d);
    d.obs = &obs;
    d.nhalve = 1;
    ok(psr_pipeline_create(&p, &d, &err) == PSR_EINVAL && !strcmp(err.field, "nhalve"), "%s",
       err.msg);
    psr_sink_pulses_defaults(&pulses);
    d.pulses = &pulses;
    d.nhalve = PSR_PIPELINE_HALVE + 1;
    ok(psr_pipeline_create(&p, &d, &err) == PSR_EINVAL && !strcmp(err.field, "nhalve"), "%s",
       err.msg);
}

int main(void)
{
    uint64_t seed = tap_seed();
    psr_err why;
    if (strcmp(PIPELINE_DEVICE, "cpu") && !psr_device_count(&why)) {
        skip("parts of the band on a device", why.msg);
        return done_testing();
    }
    scratch_make();
    test_parts(&seed);
    test_fine(&seed);
    test_unions(&seed);
    test_alone(&seed);
    test_bursts(&seed, PSR_DEDISP_DIRECT, "direct");
    test_bursts(&seed, PSR_DEDISP_TREE, "tree");
    test_interference(&seed);
    test_noise(&seed);
    test_refusals();
    return done_testing();
}
