/* zaplist: birdies from PRESTO's files, and the bins they cover. */
#include <psrkit/series.h>

#include "formats/series/series_internal.h"
#include "tests/support/tap.h"

#include <string.h>

static psr_status parse(struct psr_zaplist *list, const char *text, psr_err *err)
{
    return psr_zaplist_parse(list, text, strlen(text), "list", err);
}

static void test_zaplist(void)
{
    /* As makezaplist.py writes them. */
    static const char text[] = "# This file created automatically with makebirds.py\n"
                               "# Lines beginning with '#' are comments\n"
                               "#                 Freq                 Width\n"
                               "                 28.76                   0.1\n"
                               "B                  60                  0.05\r\n"
                               "\n"
                               "  120 0.0001 # mains\n";
    struct psr_zaplist list;
    struct psr_span *span = NULL;
    size_t n = 0;
    psr_err err = {.msg = ""};
    ok(parse(&list, text, &err) == PSR_OK && list.n == 3, "a .zaplist: %s", err.msg);
    ok(list.bird[0].freq_hz == 28.76 && list.bird[0].width_hz == 0.1 && !list.bird[0].barycentric &&
           list.bird[1].freq_hz == 60 && list.bird[1].barycentric,
       "its frequencies, widths and frames");
    ok(psr_zaplist_bins(&list, 100, 1e-3, 1000000, &span, &n, &err) == PSR_OK && n == 3,
       "its bins");
    /* 28.76 +- 0.05 Hz for 100 s, moved by a thousandth: 2873.87 to 2883.88. */
    ok(span[0].first == 2873 && span[0].first + span[0].count == 2884,
       "a topocentric one moves with the telescope");
    ok(span[1].first == 5997 && span[1].first + span[1].count == 6003, "a barycentric one stays");
    ok(span[2].first == 12011 && span[2].count == 2, "none is narrower than a bin");
    free(span);
    ok(psr_zaplist_bins(&list, 100, 0, 6000, &span, &n, &err) == PSR_OK && n == 2 &&
           span[1].first + span[1].count == 6000,
       "bins beyond the end are left out");
    free(span);
    psr_zaplist_clear(&list);
    psr_zaplist_clear(&list);
}

/* Against the header's words, in whole 64ths: each product and sum below is exact. */
static void test_widths(uint64_t *random)
{
    bool same = true;
    for (int trial = 0; trial < 300; trial++) {
        enum { N = 20 };
        struct psr_bird bird[N];
        const struct psr_zaplist list = {bird, N};
        int64_t tobs_s = tap_between(random, 1, 4000), nbin = tap_between(random, 1, 600000);
        double baryv = (double)tap_between(random, -4, 4) / 4096;
        struct psr_span *span;
        size_t n, k = 0;
        psr_err err;
        for (int i = 0; i < N; i++)
            bird[i] = (struct psr_bird){(double)tap_between(random, 0, 16000) / 64,
                                        (double)tap_between(random, 0, 640) / 64,
                                        tap_random(random) % 2, 0};
        if (psr_zaplist_bins(&list, (double)tobs_s, baryv, nbin, &span, &n, &err) != PSR_OK)
            exit(EXIT_FAILURE);
        for (int i = 0; i < N; i++) {
            double scale = (double)tobs_s * (bird[i].barycentric ? 1 : 1 + baryv);
            double width = fmax(bird[i].width_hz * scale, 1),
                   low = bird[i].freq_hz * scale - width / 2;
            double first = fmax(floor(low), 1), end = fmin(ceil(low + width), (double)nbin);
            if (first >= end)
                continue;
            same &= k < n && (double)span[k].first == first && (double)span[k].count == end - first;
            k++;
        }
        same &= k == n;
        free(span);
    }
    ok(same, "bins from floor to ceiling of the width, within the spectrum");
}

static void test_birds(void)
{
    static const char text[] = "#Freq   Width #harm  grow?  bary?\n"
                               "28.760  0.1   2      0      0\n"
                               "60.0    0.05  3      1      1\n"
                               "17 0.2";
    struct psr_zaplist list;
    psr_err err = {.msg = ""};
    ok(parse(&list, text, &err) == PSR_OK && list.n == 6, "a .birds file: %s", err.msg);
    ok(list.bird[1].freq_hz == 57.52 && list.bird[1].width_hz == 0.1, "harmonics of one width");
    ok(list.bird[4].freq_hz == 180 && fabs(list.bird[4].width_hz - 0.15) < 1e-15 &&
           list.bird[4].barycentric,
       "harmonics that grow, barycentric");
    ok(list.bird[5].freq_hz == 17 && !list.bird[5].barycentric, "a line without its end");
    psr_zaplist_clear(&list);
}

/* As gpurfifind writes them. */
static void test_powers(void)
{
    static const char text[] = "# Frequency (Hz)      Width (Hz)\n"
                               "        50.25            0.05 # power 1234.5\n"
                               "   51 0.05 2 # power x\n"
                               "   # power 7\n";
    struct psr_zaplist list;
    psr_err err = {.msg = ""};
    ok(parse(&list, text, &err) == PSR_OK && list.n == 3 && list.bird[0].power == 1234.5 &&
           list.bird[1].power == 0 && list.bird[2].power == 0,
       "powers in comments: %s", err.msg);
    psr_zaplist_clear(&list);
}

static void test_limits(void)
{
    static const char text[] = "0 0\n1e-3 1e-6\n1e9 1e9\n1 0 100000\n";
    struct psr_zaplist list;
    psr_err err = {.msg = ""};
    ok(parse(&list, text, &err) == PSR_OK && list.n == 100003 && list.bird[1].freq_hz == 1e-3 &&
           list.bird[1].width_hz == 1e-6 && list.bird[100002].freq_hz == 1e5,
       "0 to 1e9 Hz and up to 100000 harmonics: %s", err.msg);
    psr_zaplist_clear(&list);
}

static void test_errors(void)
{
    static const struct {
        const char *text, *message;
        psr_status status;
    } cases[] = {
        {"1 2\nx 3\n", "list: line 2: 'x 3' is not a frequency and a width", PSR_EFORMAT},
        {"12.5\n", "list: line 1: '12.5' is not a frequency", PSR_EFORMAT},
        {"1 2 3 4 5 6\n", "is not a frequency and a width", PSR_EFORMAT},
        {"1 nan\n", "is not a frequency and a width", PSR_EFORMAT},
        {"-1 2\n", "0 to 1e9 Hz", PSR_EFORMAT},
        {"1 -2\n", "0 to 1e9 Hz", PSR_EFORMAT},
        {"1.0001e9 2\n", "0 to 1e9 Hz", PSR_EFORMAT},
        {"1 1.0001e9\n", "0 to 1e9 Hz", PSR_EFORMAT},
        {"1 0 100001\n", "number of harmonics", PSR_EFORMAT},
        {"1 2 0\n", "number of harmonics", PSR_EFORMAT},
        {"1 2 2.5\n", "number of harmonics", PSR_EFORMAT},
        {"P J0534+2200 3\n", "list: line 1: 'P J0534+2200 3' names a pulsar", PSR_EUNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct psr_zaplist list;
        psr_err err = {.msg = ""};
        psr_status st = parse(&list, cases[i].text, &err);
        ok(st == cases[i].status && strstr(err.msg, cases[i].message), "refused: %s", err.msg);
        psr_zaplist_clear(&list);
    }
    struct psr_zaplist list;
    psr_err err = {.msg = ""};
    ok(psr_zaplist_read(&list, "/nonexistent/list", &err) == PSR_EIO, "%s", err.msg);
    psr_zaplist_clear(&list);
    static char many[1024];
    memset(many, '1', sizeof many - 1);
    ok(parse(&list, many, &err) == PSR_EFORMAT && strstr(err.msg, "too long"), "a line too long");
    psr_zaplist_clear(&list);
    ok(psr_zaplist_parse(&list, "1\0002", 3, "list", &err) == PSR_EFORMAT, "binary: %s", err.msg);
    psr_zaplist_clear(&list);
}

int main(void)
{
    uint64_t random = tap_seed();
    test_zaplist();
    test_widths(&random);
    test_birds();
    test_powers();
    test_limits();
    test_errors();
    return done_testing();
}
