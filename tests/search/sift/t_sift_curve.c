/* Sifting of made signals and interference: what their powers over DM say of DM 0. */
#include "tests/support/sift_made.h"

#include <complex.h>
#include <psrkit/ddplan.h>
#include <psrkit/signif.h>

enum { NCHAN = 64, NDM = 24 };

/* A pulse of a Gaussian profile in channels first .. first + n - 1 of the band. */
struct signal {
    double period_s, dm, width_s, snr;
    int first, n;
};

struct band {
    double low_mhz, high_mhz, dm_step;
};

static double delay_of(const struct band *b, int c)
{
    const double mhz = b->low_mhz + (b->high_mhz - b->low_mhz) * (c + 0.5) / NCHAN;
    return PSR_DMCONST_PRESTO * (1 / (mhz * mhz) - 1 / (b->high_mhz * b->high_mhz));
}

/* Amplitudes of the harmonics of the signal and of noise, of each channel at its own time. */
static void draw(uint64_t *random, const struct band *b, const struct signal *s,
                 double complex a[MOST_HARM][NCHAN])
{
    double shape[MOST_HARM], sum = 0;
    for (int h = 0; h < MOST_HARM; h++) {
        const double x = M_PI * (h + 1) * s->width_s / s->period_s / 2.3548;
        shape[h] = exp(-2 * x * x);
        sum += shape[h] * shape[h];
    }
    for (int h = 0; h < MOST_HARM; h++)
        for (int c = 0; c < NCHAN; c++) {
            const double turns = (h + 1) * s->dm * delay_of(b, c) / s->period_s;
            const bool on = c >= s->first && c < s->first + s->n;
            a[h][c] = (tap_normal(random) + I * tap_normal(random)) / sqrt(2.0 * NCHAN);
            if (on)
                a[h][c] += s->snr * shape[h] / sqrt(2 * sum) / s->n * cexp(-2 * M_PI * I * turns);
        }
}

/* The row that a search lists at a DM: the number of harmonics of highest sigma. */
static void add_best(struct made *m, const struct signal *s, const double *power)
{
    double best = 0, sum = 0;
    int nharm = 0;
    for (int h = 1; h <= MOST_HARM; h++) {
        sum += power[h - 1];
        const double sigma = psr_gauss_sigma(psr_chi2_logp(2 * sum, 2 * h));
        if ((h & (h - 1)) == 0 && sigma > best) {
            best = sigma;
            nharm = h;
        }
    }
    if (best > 4.5)
        add_row(m, m->rows.tobs_s / s->period_s, 200, nharm, power);
}

static psr_sift *sift_signal(uint64_t *random, struct made *m, const struct band *b,
                             const struct signal *s, struct psr_sift_result *result)
{
    static double complex a[MOST_HARM][NCHAN];
    const double faint[] = {13};
    struct psr_sift_desc d;
    psr_sift_defaults(&d);
    draw(random, b, s, a);
    for (int i = 0; i < NDM; i++) {
        double power[MOST_HARM];
        begin_list(&m[i], i * b->dm_step, 600);
        set_band(&m[i], b->low_mhz, b->high_mhz);
        for (int h = 0; h < MOST_HARM; h++) {
            double complex sum = 0;
            for (int c = 0; c < NCHAN; c++)
                sum +=
                    a[h][c] * cexp(2 * M_PI * I * (h + 1) * m[i].dm * delay_of(b, c) / s->period_s);
            power[h] = creal(sum * conj(sum));
        }
        add_best(&m[i], s, power);
        add_row(&m[i], 9000 + 10 * i, 0, 1, faint);
    }
    return sift(m, NULL, NDM, &d, result);
}

/* Chi-squared by which a Gaussian pulse rejects DM 0. */
static double rejection(const struct band *b, const struct signal *s)
{
    const double x = s->dm * delay_of(b, 0) / s->width_s;
    return s->snr * s->snr * (1 - 1 / sqrt(1 + 0.462 * x * x));
}

/* What became of the strongest row. */
enum fate { REJECTED, MARKED, OPEN, UNMARKED, NFATE };

static enum fate find_fate(uint64_t *random, struct made *m, const struct band *b,
                           const struct signal *s)
{
    struct psr_sift_result result;
    enum fate fate = REJECTED;
    psr_sift *sifted = sift_signal(random, m, b, s, &result);
    for (size_t i = 0; i < result.ncand && fate == REJECTED; i++)
        if (fabs(result.cand[i].period_s / s->period_s - 1) < 1e-9)
            fate = result.cand[i].marks & PSR_SIFT_AGAINST      ? MARKED
                   : result.cand[i].marks & PSR_SIFT_DM_UNKNOWN ? OPEN
                                                                : UNMARKED;
    psr_sift_destroy(sifted);
    return fate;
}

static struct band draw_band(uint64_t *random)
{
    static const struct band bands[] = {
        {1336, 1464, 7}, {1200, 1500, 2}, {400, 430, 2}, {2700, 3200, 10}};
    return bands[tap_between(random, 0, 3)];
}

static void test_pulsars(uint64_t *random, struct made *m)
{
    enum { N = 200 };
    int all[3] = {0}, fate[3][NFATE] = {{0}};
    for (int i = 0; i < 3 * N; i++) {
        const struct band b = draw_band(random);
        struct signal s = {.period_s = pow(10, -1.3 + 2 * tap_uniform(random)), .n = NCHAN};
        s.dm = b.dm_step * (3 + 18 * tap_uniform(random));
        s.width_s = s.period_s * (0.02 + 0.1 * tap_uniform(random));
        s.snr = 12 + 40 * tap_uniform(random);
        const double d = rejection(&b, &s), level = 0.04 * s.snr * s.snr / 2;
        const int k = d < 4 ? 0 : d < 50 + 2 * level ? 1 : 2;
        all[k]++;
        fate[k][find_fate(random, m, &b, &s)]++;
    }
    diag(
        "rejected, marked, open, unmarked: DM 0 fits %d %d %d %d; nearly %d %d %d %d; not %d %d %d "
        "%d",
        fate[0][0], fate[0][1], fate[0][2], fate[0][3], fate[1][0], fate[1][1], fate[1][2],
        fate[1][3], fate[2][0], fate[2][1], fate[2][2], fate[2][3]);
    ok(fate[0][OPEN] + fate[0][UNMARKED] >= 0.98 * all[0] && fate[0][OPEN] >= 0.9 * all[0],
       "%d pulsars as long as their sweep: their DM is open, and they are listed", all[0]);
    ok(fate[1][OPEN] + fate[1][UNMARKED] >= 0.97 * all[1], "%d between: listed without marks",
       all[1]);
    ok(fate[2][UNMARKED] >= 0.99 * all[2], "%d that DM 0 does not fit: without any mark", all[2]);
}

static void test_interference(uint64_t *random, struct made *m)
{
    enum { N = 150 };
    int broad[NFATE] = {0}, narrow[NFATE] = {0};
    for (int i = 0; i < N; i++) {
        const struct band b = draw_band(random);
        struct signal s = {.n = NCHAN, .snr = 20 + 60 * tap_uniform(random)};
        s.width_s = 20 * delay_of(&b, 0) * b.dm_step * (0.02 + 0.1 * tap_uniform(random));
        s.period_s = s.width_s * (4 + 10 * tap_uniform(random));
        broad[find_fate(random, m, &b, &s)]++;
        s.first = (int)tap_between(random, 0, NCHAN - 4);
        s.n = 4;
        narrow[find_fate(random, m, &b, &s)]++;
    }
    diag("rejected, marked, open, unmarked: all channels %d %d %d %d; four %d %d %d %d", broad[0],
         broad[1], broad[2], broad[3], narrow[0], narrow[1], narrow[2], narrow[3]);
    ok(broad[UNMARKED] <= 2 && broad[REJECTED] + broad[MARKED] >= 0.5 * N,
       "%d pulses at DM 0, shorter than the sweeps searched: none is unmarked", N);
    ok(narrow[REJECTED] + narrow[MARKED] >= 0.3 * N && narrow[UNMARKED] <= 0.4 * N,
       "%d in four channels, which only a fold can tell: many are marked", N);
}

int main(void)
{
    uint64_t random = tap_seed();
    struct made *m = tap_take(NDM, sizeof *m);
    test_pulsars(&random, m);
    test_interference(&random, m);
    free(m);
    return done_testing();
}
