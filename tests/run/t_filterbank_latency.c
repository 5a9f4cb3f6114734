/* Tests when samples of streams are said to have come, and how late rows are, against streams whose every
 * sample is known. */
#include "run/channelise/filterbank_state.h"

#include "tests/support/tap.h"

enum { SAMPLES = 20000, RATE = 1000 };

static uint64_t state;

/* A stream that runs at "speed" times its rate, and is silent now and then before a mark's interval. */
struct stream {
    double arrival_s[SAMPLES];
    struct psr_baseband_mark mark[SAMPLES];
    size_t nmark;
};

static void make_stream(struct stream *s, double speed, bool silent)
{
    double now_s = 100 * tap_uniform(&state);
    s->nmark = 0;
    for (int64_t i = 0, next = tap_between(&state, 0, 40); i < SAMPLES; i++) {
        s->arrival_s[i] = now_s;
        now_s += 1 / (speed * RATE);
        if (i < next)
            continue;
        s->mark[s->nmark++] = (struct psr_baseband_mark){i, s->arrival_s[i]};
        next = i + tap_between(&state, 1, 400);
        if (silent && tap_random(&state) % 4 == 0)
            now_s += 3 * tap_uniform(&state);
    }
}

/* Marks are told in blocks, with a number of their own for the first sample. */
static void tell(struct psr_filterbank_latency *l, const struct stream *s, size_t *told, size_t n)
{
    struct psr_baseband_mark mark[SAMPLES];
    const int64_t first = 12345;
    psr_err err;
    n = n < s->nmark - *told ? n : s->nmark - *told;
    for (size_t i = 0; i < n; i++)
        mark[i] = (struct psr_baseband_mark){s->mark[*told + i].sample + first,
                                             s->mark[*told + i].arrival_s};
    if (psr_filterbank_latency_note(l, mark, n, first, &err))
        printf("Bail out! %s\n", err.msg);
    *told += n;
}

/* Marks come before the rows that they are for. */
static void test_stream(double speed, bool silent)
{
    struct stream *s = tap_take(1, sizeof *s);
    struct psr_filterbank_latency l = {.rate_hz = RATE};
    double worst = 0, sum_s = 0, most_s = 0;
    size_t told = 0;
    int64_t nrow = 0, step = tap_between(&state, 1, 90);
    make_stream(s, speed, silent);
    const int64_t end = s->mark[s->nmark - 1].sample;
    for (int64_t i = s->mark[0].sample; i <= end; i += step, nrow++) {
        while (s->mark[told ? told - 1 : 0].sample < i || !told)
            tell(&l, s, &told, (size_t)tap_between(&state, 1, 4));
        const double wait_s = tap_uniform(&state);
        worst = fmax(worst, fabs(psr_filterbank_latency_came(&l, i) - s->arrival_s[i]));
        psr_filterbank_latency_add(&l, i, s->arrival_s[i] + wait_s);
        sum_s += wait_s;
        most_s = fmax(most_s, wait_s);
    }
    ok(worst < 1e-6 && l.nrow == nrow && fabs(l.sum_s - sum_s) < 1e-6 * (double)nrow &&
           fabs(l.worst_s - most_s) < 1e-6,
       "at %g times its rate%s: %lld rows, within %.1e s", speed, silent ? ", silent at times" : "",
       (long long)nrow, worst);
    psr_filterbank_latency_free(&l);
    free(s);
}

static void test_edges(void)
{
    struct psr_filterbank_latency l = {.rate_hz = RATE};
    const struct psr_baseband_mark mark[] = {{99, 5}, {199, 5.2}, {299, NAN}};
    psr_err err;
    ok(isnan(psr_filterbank_latency_came(&l, 0)), "nothing is known without marks");
    psr_filterbank_latency_add(&l, 0, 1);
    psr_status st = psr_filterbank_latency_note(&l, mark, 2, 0, &err);
    ok(!st && l.nrow == 0 && fabs(psr_filterbank_latency_came(&l, 49) - 4.95) < 1e-9,
       "before the first mark a sample came at the rate of sampling");
    ok(fabs(psr_filterbank_latency_came(&l, 250) - 5.2) < 1e-9,
       "after the last one there is nothing that came later");
    psr_filterbank_latency_add(&l, 150, 6);
    ok(l.nrow == 1 && l.worst_s > 0.8 && l.worst_s < 0.9, "a row is counted");
    st = psr_filterbank_latency_note(&l, mark + 2, 1, 0, &err);
    psr_filterbank_latency_add(&l, 190, 9);
    psr_filterbank_latency_add(&l, 299, 9);
    ok(!st && l.nrow == 1 && l.worst_s < 0.9, "rows that waited for the end are not");
    psr_filterbank_latency_forget(&l, 1000);
    ok(l.nmark == 1 && l.mark->sample == 299, "only the last mark stays for samples to come");
    psr_filterbank_latency_free(&l);
}

int main(void)
{
    state = tap_seed();
    for (int i = 0; i < 8; i++) {
        test_stream(1, false);
        test_stream(1 + 5 * tap_uniform(&state), false);
        test_stream(1, true);
    }
    test_edges();
    return done_testing();
}
