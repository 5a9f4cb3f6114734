/* Speed of the significance routine, in the library and through chi2sig's text.
 *
 * The ceiling of a call is what libm takes for one logarithm, one exponential and one log1p, which
 * no method can do without; that of a row of text is the same call with its sigma and no text. */
#include <psrkit/signif.h>

#include "bench.h"
#include "tests/support/tap.h"
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 1 << 20, REPEATS = 5 };

struct sample {
    double *power, *dof;
};

typedef double work_function(double power, double dof);

static double call_libm(double power, double dof)
{
    return log(power) + exp(-dof * 1e-3) + log1p(dof);
}

static double call_logp(double power, double dof)
{
    struct psr_logp p = psr_chi2_logp(power, dof);
    return p.ln_sf + p.ln_cdf;
}

static double call_sigma(double power, double dof)
{
    return psr_gauss_sigma(psr_chi2_logp(power, dof));
}

static double call_threshold(double power, double dof)
{
    return psr_chi2_threshold((struct psr_logp){-20 - 1e-9 * power, -2e-9}, dof);
}

/* Calls a second of one core's own time, which other programs do not disturb; best of some repeats.
 */
static double measure_core(work_function *work, const struct sample *s, int n)
{
    double best_s = INFINITY, sum = 0;
    for (int r = 0; r < REPEATS; r++) {
        double began_s = bench_seconds(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < n; i++)
            sum += work(s->power[i], s->dof[i]);
        best_s = fmin(best_s, bench_seconds(CLOCK_THREAD_CPUTIME_ID) - began_s);
    }
    return isnan(sum) ? NAN : n / best_s;
}

/* Calls a second by the clock on the wall, on all threads. */
static double measure_threads(work_function *work, const struct sample *s, int n)
{
    double best_s = INFINITY, sum = 0;
    for (int r = 0; r < REPEATS; r++) {
        double began_s = bench_wall_s();
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < n; i++)
            sum += work(s->power[i], s->dof[i]);
        best_s = fmin(best_s, bench_wall_s() - began_s);
    }
    return isnan(sum) ? NAN : n / best_s;
}

/* A search's candidates: dof 2 to 1e5, evenly in its logarithm, from -3 to 20 standard deviations.
 */
static void fill_mix(struct sample *s, uint64_t *seed)
{
    for (int i = 0; i < N; i++) {
        double dof = floor(2 * exp(tap_uniform(seed) * log(5e4)));
        s->dof[i] = dof;
        s->power[i] = fmax(dof + sqrt(2 * dof) * (23 * tap_uniform(seed) - 3), 0.01);
    }
}

/* The slowest of a grid over dof, whole or not, and power / dof. */
static double find_worst(struct sample *s, double *worst_dof, double *worst_ratio)
{
    enum { BLOCK = 512 };
    double worst = INFINITY;
    for (double dof = 1; dof < 2e8; dof *= 1.31)
        for (double ratio = 0.01; ratio < 20; ratio *= 1.2)
            for (int whole = 0; whole < 2; whole++) {
                double d = whole ? floor(dof) : dof + 0.37;
                for (int i = 0; i < BLOCK; i++) {
                    s->dof[i] = d;
                    s->power[i] = d * ratio;
                }
                double rate = measure_core(call_logp, s, BLOCK);
                if (rate < worst) {
                    worst = rate;
                    *worst_dof = d;
                    *worst_ratio = ratio;
                }
            }
    return worst;
}

/* Processor time of the programs that this one has run. */
static double child_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Rows a second through the tool, from a file and to nowhere, and rows a second of processor time;
 * 0 where that did not work. */
static double measure_tool(const struct sample *s, double *per_core)
{
    char path[4096], command[8192];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/bench_signif.XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return 0;
    for (int i = 0; i < N; i++)
        fprintf(file, "%.4f %.0f\n", s->power[i], s->dof[i]);
    int rc = fclose(file);
    snprintf(command, sizeof command, "tools/chi2sig <%s >/dev/null", path);
    double best_s = INFINITY, best_core_s = INFINITY;
    for (int r = 0; r < REPEATS && rc == 0; r++) {
        double began_s = bench_wall_s(), began_core_s = child_seconds();
        rc = system(command);
        best_s = fmin(best_s, bench_wall_s() - began_s);
        best_core_s = fmin(best_core_s, child_seconds() - began_core_s);
    }
    unlink(path);
    *per_core = rc == 0 ? N / best_core_s : 0;
    return rc == 0 ? N / best_s : 0;
}

static void report(const char *what, double rate, double ceiling, const char *ceiling_name)
{
    printf("%-28s %9.3g /s  %5.2f of %s\n", what, rate, rate / ceiling, ceiling_name);
    fflush(stdout);
}

int main(void)
{
    struct sample s = {bench_take(N, sizeof *s.power), bench_take(N, sizeof *s.dof)};
    uint64_t seed = 1;
    double dof = 0, ratio = 0;
    fill_mix(&s, &seed);
    double libm = measure_core(call_libm, &s, N);
    puts("one core:");
    report("log, exp, log1p of libm", libm, libm, "itself");
    report("psr_chi2_logp, mix", measure_core(call_logp, &s, N), libm, "libm");
    report("psr_chi2_logp, worst point", find_worst(&s, &dof, &ratio), libm, "libm");
    printf("  at dof %.2f, power / dof %.3g\n", dof, ratio);
    fill_mix(&s, &seed);
    report("with psr_gauss_sigma, mix", measure_core(call_sigma, &s, N), libm, "libm");
    report("psr_chi2_threshold, mix", measure_core(call_threshold, &s, N), libm, "libm");
    double tool_core = 0, tool = measure_tool(&s, &tool_core);
    report("rows of chi2sig, mix", tool_core, measure_core(call_sigma, &s, N),
           "the library with sigma");
    printf("%d threads:\n", omp_get_max_threads());
    libm = measure_threads(call_libm, &s, N);
    double sigma = measure_threads(call_sigma, &s, N);
    report("psr_chi2_logp, mix", measure_threads(call_logp, &s, N), libm, "libm");
    report("rows of chi2sig, mix", tool, sigma, "the library with sigma");
    free(s.power);
    free(s.dof);
    return EXIT_SUCCESS;
}
