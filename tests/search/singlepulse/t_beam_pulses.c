/* Beams that see the same pulse: against plain loops, and refusals. */
#include "tests/support/tap.h"

#include <math.h>
#include <psrkit/experimental/singlepulse.h>
#include <string.h>

enum { MOST = 300, ROUNDS = 60 };

static size_t count_plainly(const struct psr_beam_pulse *p, size_t n, size_t nbeam, double tol_s,
                            size_t k)
{
    size_t count = 0;
    for (size_t b = 0; b < nbeam; b++) {
        bool seen = false;
        for (size_t j = 0; j < n; j++)
            seen = seen || (p[j].beam == b && p[j].first_s <= p[k].last_s + tol_s &&
                            p[j].last_s + tol_s >= p[k].first_s);
        count += seen;
    }
    return count;
}

static void test_plainly(uint64_t *seed)
{
    int wrong = 0;
    size_t most = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct psr_beam_pulse p[MOST];
        size_t count[MOST];
        psr_err err;
        const size_t n = (size_t)tap_between(seed, 0, MOST),
                     nbeam = (size_t)tap_between(seed, 1, 20);
        const double tol_s = (double)tap_between(seed, 0, 3) / 4;
        for (size_t k = 0; k < n; k++) { /* quarters, so that ends meet */
            p[k].first_s = (double)tap_between(seed, 0, 400) / 4;
            p[k].last_s = p[k].first_s + (double)tap_between(seed, 0, k % 50 ? 4 : 90) / 4;
            p[k].beam = (size_t)tap_between(seed, 0, (int64_t)nbeam - 1);
        }
        wrong += psr_pulse_count_beams(p, n, nbeam, tol_s, count, &err) != PSR_OK;
        for (size_t k = 0; k < n; k++) {
            wrong += count[k] != count_plainly(p, n, nbeam, tol_s, k);
            most = count[k] > most ? count[k] : most;
        }
    }
    ok(wrong == 0 && most > 5, "%d sets of pulses: %d counts differ; up to %zu beams", ROUNDS,
       wrong, most);
}

static void refuse(struct psr_beam_pulse p, double tol_s, const char *field)
{
    size_t count;
    psr_err err = {0};
    ok(psr_pulse_count_beams(&p, 1, 3, tol_s, &count, &err) == PSR_EINVAL &&
           !strcmp(err.field, field),
       "refused: %s", err.msg);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_plainly(&seed);
    refuse((struct psr_beam_pulse){0, 1, 3}, 0, "beam");
    refuse((struct psr_beam_pulse){2, 1, 0}, 0, "last_s");
    refuse((struct psr_beam_pulse){NAN, 1, 0}, 0, "last_s");
    refuse((struct psr_beam_pulse){0, 1, 0}, -1, "tol_s");
    return done_testing();
}
