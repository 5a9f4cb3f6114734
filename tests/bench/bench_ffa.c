/* Speed of the fast folding search of one series on one core, beside additions of 16-bit integers in
 * the first cache in the same run.
 *   bench_ffa [repeats]
 * Where PSRKIT_BENCH_RIPTIDE is a command that runs Python with riptide, riptide's periodogram of the
 * same noise and ranges takes turns, without its de-reddening. */
#include <psrkit/experimental/ffa.h>

#include "base/threads/isa.h"
#include "bench.h"
#include "fake/fake_internal.h"
#include "search/ffa/ffa_internal.h"
#include "tests/support/scratch.h"

enum { MOST = 101, NADD = 256 };

static const struct psr_ffa_range half_second[] = {{0.5, 10, 240, 260, 0}};

static const struct work {
    const char *name;
    size_t nsamp;
    double tsamp_s;
    const struct psr_ffa_range *range; /* NULL: the default ones */
    size_t nrange;
} works[] = {
    {"540 s at 64 us, 0.2 to 120 s", 8437500, 64e-6, NULL, 0},
    {"2^22 samples of 128 us, 0.5 to 10 s", (size_t)1 << 22, 128e-6, half_second, 1},
};
enum { NWORK = sizeof works / sizeof *works };

typedef int16_t words __attribute__((vector_size(32)));

/* Additions a second of 16-bit integers from the first cache, two read and one written. */
PSR_ISA_FOR_AVX2 static double additions_per_s(int *sum)
{
    words *a = bench_take(NADD, sizeof *a), *b = bench_take(NADD, sizeof *b);
    const int rounds = 200000;
    const double began = bench_cpu_s();
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < NADD; i++)
            a[i] += b[i];
        __asm__ volatile("" : : "r"(a) : "memory");
    }
    const double took = bench_cpu_s() - began;
    *sum += a[0][7];
    free(a);
    free(b);
    return (double)rounds * NADD * (double)(sizeof *a / 2) / took;
}

/* Additions of all transforms, and bins times widths of all trials. */
static void count_work(const struct psr_ffa_search *s, double *adds, double *boxes)
{
    *adds = *boxes = 0;
    for (size_t i = 0; i < s->nfold; i++) {
        const struct psr_ffa_fold *f = &s->fold[i];
        int levels = 0;
        while ((size_t)1 << levels < f->nrow)
            levels++;
        *adds += (double)levels * (double)f->nrow * f->nbin;
        *boxes +=
            (double)(f->s_hi - f->s_lo) * f->nbin * (double)s->widths[s->step[f->step].range].n;
    }
}

static double search_s(psr_ffa *plan, const float *x)
{
    struct psr_ffa_result result;
    psr_err err;
    const double began = bench_cpu_s();
    bench_must(psr_ffa_execute(plan, 1, &x, &result, &err), &err);
    return bench_cpu_s() - began;
}

/* --- the peer --------------------------------------------------------------------------------- */

static const char script[] =
    "import sys, time\n"
    "import numpy as np\n"
    "from riptide import libcpp\n"
    "from riptide.ffautils import generate_width_trials\n"
    "x = np.fromfile(sys.argv[1], dtype=np.float32)\n"
    "took = 0\n"
    "for r in sys.argv[3:]:\n"
    "    lo, hi, bmin, bmax = r.split(',')\n"
    "    w = generate_width_trials(int(bmin), ducy_max=0.3)\n"
    "    t = time.process_time()\n"
    "    libcpp.periodogram(x, float(sys.argv[2]), w, float(lo), float(hi), int(bmin), int(bmax))\n"
    "    took += time.process_time() - t\n"
    "print(took)\n";

static void write_peer_input(const float *x, size_t n)
{
    FILE *series = fopen("x.f32", "wb"), *code = fopen("peer.py", "w");
    if (!series || !code || fwrite(x, sizeof *x, n, series) != n || fputs(script, code) < 0 ||
        fclose(series) || fclose(code))
        bench_stop("the peer's input cannot be written");
}

static double peer_s(const char *python, const struct psr_ffa_search *s)
{
    char command[2048], line[64] = "";
    int n = snprintf(command, sizeof command, "%s peer.py x.f32 %.17g", python, s->tsamp_s);
    for (size_t r = 0; r < s->nrange; r++)
        n += snprintf(command + n, sizeof command - (size_t)n, " %.17g,%.17g,%d,%d",
                      s->range[r].pmin_s, s->range[r].pmax_s, s->range[r].bmin, s->range[r].bmax);
    FILE *said = popen(command, "r");
    const bool told = said && fgets(line, sizeof line, said);
    if (!said || pclose(said) || !told)
        bench_stop("the peer failed");
    return strtod(line, NULL);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void measure(const struct work *w, const float *x, size_t repeats, const char *python)
{
    struct psr_ffa_desc d = {.size = sizeof d,
                             .nsamp = w->nsamp,
                             .tsamp_s = w->tsamp_s,
                             .range = w->range,
                             .nrange = w->nrange,
                             .nthread = 1,
                             .backend = "cpu"};
    psr_ffa *plan;
    psr_err err;
    bench_must(psr_ffa_create(&plan, &d, &err), &err);
    const struct psr_ffa_search *s = psr_ffa_resolved(plan);
    double t[MOST], peer[MOST], adds, boxes;
    int sum = 0;
    if (python)
        write_peer_input(x, w->nsamp);
    for (size_t r = 0; r < repeats; r++) {
        t[r] = search_s(plan, x);
        peer[r] = python ? peer_s(python, s) : 0;
    }
    count_work(s, &adds, &boxes);
    const double mine = bench_median(t, repeats), floor_s = (adds + boxes) / additions_per_s(&sum);
    printf(
        "%-36s %6.3f s of one core, %zu trials; %.2fe9 additions, %.2fe9 bins of boxcars, %.2f of "
        "the time in the first cache%s",
        w->name, mine, s->ntrial, adds / 1e9, boxes / 1e9, floor_s / mine, sum == 1 ? " " : "");
    if (python)
        printf("; riptide %.3f s, %.1f x", bench_median(peer, repeats),
               bench_median(peer, repeats) / mine);
    puts("");
    psr_ffa_destroy(plan);
}

int main(int argc, char **argv)
{
    const size_t repeats = argc > 1 ? strtoul(argv[1], NULL, 10) : 5;
    const char *python = getenv("PSRKIT_BENCH_RIPTIDE");
    if (repeats < 1 || repeats > MOST)
        bench_stop("repeats are 1 to 101");
    float *x = bench_take(works[0].nsamp, sizeof *x);
    psr_rng_normal(1, 1, 0, works[0].nsamp, x);
    scratch_make();
    if (chdir(scratch_dir))
        bench_stop("no folder for the peer's input");
    for (int k = 0; k < NWORK; k++)
        measure(&works[k], x, repeats, python);
    free(x);
    return EXIT_SUCCESS;
}
