/* How deep the single-pulse search goes: the S/N that a pulse needs to be found in half of all cases,
 * where noise alone gives one event a series, in white noise and others.
 *
 *   pulse_depth [NSERIES [SEED [TSAMP_S [NOISE]]]]
 *
 * PSRKIT_DEPTH_PEER is a command that searches the .dat files named after it as single_pulse_search.py
 * does; its figures stand beside ours, and their ratio below.  NOISE, 0 to 5, is one of the noises. */
#include <psrkit/experimental/singlepulse.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NWIDTH = 7, NNOISE = 6, SPACING = 4000, LONGEST = 300, ROUNDS = 3, MAX_EVENTS = 1 << 18 };

static const int widths[NWIDTH] = {1, 3, 10, 30, 100, 250, 300};
static const double LEAST = 4.2, SERIES_S = 60;

/* White noise of 1, and a random walk of such steps that it is as strong at a corner, per sample, or a
 * sine. */
static const struct noise {
    const char *name;
    double corner, sine, period_s;
} noises[NNOISE] = {
    {"white", 0, 0, 0},
    {"red below 1/2000", 1. / 2000, 0, 0},
    {"red below 1/500", 1. / 500, 0, 0},
    {"sine of 3 in 60 s", 0, 3, 60},
    {"sine of 1 in 20 s", 0, 1, 20},
    {"sine of 1 in 5 s", 0, 1, 5},
};

struct setup {
    size_t n;
    int nseries;
    double tsamp_s;
    uint64_t seed;
    const char *peer;
};

static void stop(const char *why)
{
    fprintf(stderr, "pulse_depth: %s\n", why);
    exit(EXIT_FAILURE);
}

static void *take(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p)
        stop("no memory");
    return p;
}

/* --- random numbers: O'Neill's PCG, and Marsaglia's polar method ------------------------------- */

struct dice {
    uint64_t state;
    double spare;
    bool has_spare;
};

static double uniform(struct dice *d)
{
    uint64_t s = d->state;
    d->state = s * 6364136223846793005u + 1442695040888963407u;
    uint32_t x = (uint32_t)(((s >> 18) ^ s) >> 27), r = (uint32_t)(s >> 59);
    return ((double)(x >> r | x << (-r & 31)) + 0.5) / 4294967296.0;
}

static double normal(struct dice *d)
{
    double u, v, s;
    d->has_spare = !d->has_spare;
    if (!d->has_spare)
        return d->spare;
    do {
        u = 2 * uniform(d) - 1;
        v = 2 * uniform(d) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    s = sqrt(-2 * log(s) / s);
    d->spare = v * s;
    return u * s;
}

static struct dice make_dice(const struct setup *s, int noise, int round, int i)
{
    struct dice d = {s->seed * 0x9e3779b97f4a7c15u +
                         (uint64_t)(noise * 8 + round + 1) * 0xbf58476d1ce4e5b9u +
                         (uint64_t)(i + 1) * 0x94d049bb133111ebu,
                     0, false};
    for (int k = 0; k < 20; k++)
        (void)uniform(&d);
    return d;
}

/* --- series ----------------------------------------------------------------------------------- */

struct
try {
    int width, series;
    long at;
    double snr;
    bool found;
};

/* What has been tried, and between which S/N pulses are tried next. */
struct tries {
    struct try *try;
    size_t n;
    double low[NWIDTH], high[NWIDTH];
};

static void make_noise(const struct setup *s, const struct noise *z, struct dice *d, float *x)
{
    double walk = 0, phase = 2 * M_PI * uniform(d);
    for (size_t t = 0; t < s->n; t++) {
        walk += z->corner > 0 ? 2 * M_PI * z->corner * normal(d) : 0;
        double turns = z->sine > 0 ? (double)t * s->tsamp_s / z->period_s : 0;
        x[t] = (float)(normal(d) + walk + z->sine * sin(phase + 2 * M_PI * turns));
    }
}

/* A pulse every SPACING samples or so, the widths in turn. */
static void add_pulses(const struct setup *s, struct dice *d, int i, struct tries *t, float *x)
{
    int k = i;
    for (long at = SPACING / 2; at + SPACING / 2 < (long)s->n; at += SPACING, k++) {
        int w = widths[k % NWIDTH];
        double low = t->low[k % NWIDTH], high = t->high[k % NWIDTH];
        double snr = low * pow(high / low, uniform(d));
        long centre = at + (long)(1600 * (uniform(d) - 0.5));
        for (int j = 0; j < w; j++)
            x[centre - w / 2 + j] += (float)(snr / sqrt(w));
        t->try[t->n++] = (struct try){w, i, centre, snr, false};
    }
}

/* --- searches --------------------------------------------------------------------------------- */

struct found {
    struct psr_event *event;
    size_t n;
};

static struct found search_here(const struct setup *s, const float *x, double threshold)
{
    const double dm = 0;
    const struct psr_event *event;
    psr_singlepulse *p;
    psr_err err;
    const struct psr_singlepulse_desc desc = {.size = sizeof desc,
                                              .nseries = 1,
                                              .dm = &dm,
                                              .tsamp_s = s->tsamp_s,
                                              .threshold = threshold,
                                              .nthread = 1};
    if (psr_singlepulse_create(&p, &desc, &err) ||
        psr_singlepulse_execute(p, x, s->n, s->n, &err) || psr_singlepulse_finish(p, &err))
        stop(err.msg);
    struct found f = {.n = psr_singlepulse_events(p, 0, &event)};
    f.event = take(f.n + 1, sizeof *f.event);
    if (f.n)
        memcpy(f.event, event, f.n * sizeof *event);
    psr_singlepulse_destroy(p);
    return f;
}

static void write_series(const struct setup *s, int i, const float *x)
{
    char name[64];
    snprintf(name, sizeof name, "depth%04d.dat", i);
    FILE *f = fopen(name, "wb");
    if (!f || fwrite(x, sizeof *x, s->n, f) != s->n || fclose(f))
        stop(name);
    snprintf(name, sizeof name, "depth%04d.inf", i);
    f = fopen(name, "w");
    if (!f)
        stop(name);
    fprintf(f,
            " Data file name without suffix          =  depth%04d\n"
            " Telescope used                         =  Unknown\n"
            " Instrument used                        =  Unknown\n"
            " Object being observed                  =  Unknown\n"
            " J2000 Right Ascension (hh:mm:ss.ssss)  =  00:00:00.0000\n"
            " J2000 Declination     (dd:mm:ss.ssss)  =  00:00:00.0000\n"
            " Data observed by                       =  Unknown\n"
            " Epoch of observation (MJD)             =  55000.000000000000000\n"
            " Barycentered?           (1=yes, 0=no)  =  1\n"
            " Number of bins in the time series      =  %zu\n"
            " Width of each time series bin (sec)    =  %.15g\n"
            " Any breaks in the data? (1=yes, 0=no)  =  0\n"
            " Type of observation (EM band)          =  Radio\n"
            " Beam diameter (arcsec)                 =  3600\n"
            " Dispersion measure (cm-3 pc)           =  0\n"
            " Central freq of low channel (Mhz)      =  1400\n"
            " Total bandwidth (Mhz)                  =  1\n"
            " Number of channels                     =  1\n"
            " Channel bandwidth (Mhz)                =  1\n"
            " Data analyzed by                       =  Unknown\n"
            " Any additional notes:\n   none\n",
            i, s->n, s->tsamp_s);
    if (fclose(f))
        stop(name);
}

static struct found read_peer(int i)
{
    char name[64], line[300];
    struct found f = {.event = take(MAX_EVENTS, sizeof *f.event)};
    snprintf(name, sizeof name, "depth%04d.singlepulse", i);
    FILE *in = fopen(name, "r");
    if (!in)
        stop(name);
    while (fgets(line, sizeof line, in) && f.n < MAX_EVENTS) {
        struct psr_event *e = &f.event[f.n];
        long long sample;
        if (sscanf(line, "%*f %lf %*f %lld %d", &e->snr, &sample, &e->width) == 3) {
            e->sample = sample;
            f.n++;
        }
    }
    fclose(in);
    return f;
}

static void run_peer(const struct setup *s, double threshold)
{
    char command[4096];
    snprintf(command, sizeof command, "%s -p -t %g -m %.9g depth*.dat >/dev/null", s->peer,
             threshold, (LONGEST + 0.5) * s->tsamp_s);
    if (system(command))
        stop("the peer failed");
}

/* Makes nseries series of a noise, with pulses where t is given, and searches them. */
static void search_all(const struct setup *s, int noise, int round, bool peer, int nseries,
                       double threshold, struct tries *t, struct found *found)
{
    float *x = take(s->n, sizeof *x);
    if (peer && system("rm -f depth*.dat depth*.inf depth*.singlepulse"))
        stop("rm");
    for (int i = 0; i < nseries; i++) {
        struct dice d = make_dice(s, noise, round, i);
        make_noise(s, &noises[noise], &d, x);
        if (t)
            add_pulses(s, &d, i, t, x);
        if (peer)
            write_series(s, i, x);
        else
            found[i] = search_here(s, x, threshold);
    }
    if (peer)
        run_peer(s, threshold);
    for (int i = 0; i < nseries && peer; i++)
        found[i] = read_peer(i);
    free(x);
}

/* --- depth ------------------------------------------------------------------------------------ */

static int descend(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* That one event a series is above. */
static double find_threshold(const struct found *found, int n)
{
    size_t all = 0, k = 0;
    for (int i = 0; i < n; i++)
        all += found[i].n;
    if (all <= (size_t)n)
        stop("too few false alarms");
    double *snr = take(all, sizeof *snr);
    for (int i = 0; i < n; i++)
        for (size_t e = 0; e < found[i].n; e++)
            snr[k++] = found[i].event[e].snr;
    qsort(snr, all, sizeof *snr, descend);
    double threshold = (snr[n - 1] + snr[n]) / 2;
    free(snr);
    return threshold;
}

/* The S/N at which half are found, of the logistic curve that is most likely. */
static double fit_half(const struct tries *t, int width, double threshold)
{
    double best = -INFINITY, half = 0;
    for (double a = 0.5 * threshold; a < 30 * threshold; a *= 1.004)
        for (double s = 0.1; s < 0.7; s *= 1.3) {
            double sum = 0;
            for (size_t k = 0; k < t->n && sum > best; k++)
                if (t->try[k].width == width) {
                    double y = (t->try[k].snr / a - 1) / s * 1.7;
                    sum -= log1p(exp(t->try[k].found ? -y : y));
                }
            if (sum > best)
                best = sum, half = a;
        }
    return half;
}

static void mark_found(struct tries *t, size_t from, const struct found *found, double threshold)
{
    for (size_t k = from; k < t->n; k++) {
        struct try *y = &t->try[k];
        const struct found *f = &found[y->series];
        for (size_t e = 0; e < f->n; e++)
            y->found |= llabs((long long)f->event[e].sample - y->at) <= y->width / 2 + 2 &&
                        f->event[e].snr >= threshold;
    }
}

static void free_found(struct found *found, int n)
{
    for (int i = 0; i < n; i++)
        free(found[i].event);
}

/* Three rounds, each where the one before says that half are found.  Returned: the threshold */
static double measure(const struct setup *s, int noise, bool peer, double half[NWIDTH])
{
    struct found *found = take((size_t)s->nseries, sizeof *found);
    search_all(s, noise, 0, peer, s->nseries, LEAST, NULL, found);
    double threshold = find_threshold(found, s->nseries);
    free_found(found, s->nseries);
    struct tries t = {.try =
                          take((s->n / SPACING + 1) * (size_t)s->nseries * ROUNDS, sizeof *t.try)};
    for (int w = 0; w < NWIDTH; w++)
        t.low[w] = 0.6 * threshold, t.high[w] = 3 * threshold;
    for (int round = 0; round < ROUNDS; round++) {
        size_t from = t.n;
        int n = s->nseries / (4 >> round) > 0 ? s->nseries / (4 >> round) : 1;
        search_all(s, noise, round + 1, peer, n, threshold, &t, found);
        mark_found(&t, from, found, threshold);
        free_found(found, n);
        for (int w = 0; w < NWIDTH; w++) {
            half[w] = fit_half(&t, widths[w], threshold);
            t.low[w] = half[w] / 1.6, t.high[w] = 1.6 * half[w];
        }
    }
    free(t.try);
    free(found);
    return threshold;
}

static void print_row(const char *name, const char *who, double threshold, const double v[NWIDTH])
{
    printf("%-18s %-6s %9.2f", name, who, threshold);
    for (int w = 0; w < NWIDTH; w++)
        printf(" %6.*f", who[0] == 'r' ? 3 : 2, v[w]);
    puts("");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct setup s = {.nseries = argc > 1 ? atoi(argv[1]) : 240,
                      .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
                      .tsamp_s = argc > 3 ? atof(argv[3]) : 1e-3,
                      .peer = getenv("PSRKIT_DEPTH_PEER")};
    s.n = (size_t)(SERIES_S / s.tsamp_s + 0.5);
    printf("%d series of 60 s at %g us, seed %llu\n%-25s %9s", s.nseries, 1e6 * s.tsamp_s,
           (unsigned long long)s.seed, "width", "threshold");
    for (int w = 0; w < NWIDTH; w++)
        printf(" %6d", widths[w]);
    puts("");
    int first = argc > 4 ? atoi(argv[4]) : 0, end = argc > 4 ? first + 1 : NNOISE;
    for (int k = first; k < end && k < NNOISE; k++) {
        double here[NWIDTH], there[NWIDTH], ratio[NWIDTH];
        double own = measure(&s, k, false, here);
        print_row(noises[k].name, "psrkit", own, here);
        if (!s.peer)
            continue;
        double other = measure(&s, k, true, there);
        print_row("", "peer", other, there);
        for (int w = 0; w < NWIDTH; w++)
            ratio[w] = here[w] / there[w];
        print_row("", "ratio", own / other, ratio);
    }
    return 0;
}
