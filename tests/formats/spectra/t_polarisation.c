/* Which polarisations make total intensity: by the header, by the caller, and as files are written and read again. */

#include "formats/spectra/spectra_reader.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <psrkit/experimental/outfile.h>
#include <stdlib.h>
#include <string.h>

static void test_words(void)
{
    static const struct {
        const char *text;
        enum psr_pols pols;
    } words[] = {
        {"AA+BB", PSR_POLS_INTENSITY},    {"Intensity", PSR_POLS_INTENSITY},
        {"INTEN", PSR_POLS_INTENSITY},    {"AABB", PSR_POLS_POWERS},
        {"PPQQ", PSR_POLS_POWERS},        {"XXYY", PSR_POLS_POWERS},
        {"IQUV", PSR_POLS_STOKES},        {"Stokes", PSR_POLS_STOKES},
        {"stokes", PSR_POLS_STOKES},      {"PseudoStokes", PSR_POLS_STOKES},
        {"AABBCRCI", PSR_POLS_COHERENCE}, {"Coherence", PSR_POLS_COHERENCE},
        {"ODD", PSR_POLS_UNKNOWN},        {"", PSR_POLS_UNKNOWN},
    };
    size_t right = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        right += psr_pols_find(words[i].text) == words[i].pols;
    ok(right == sizeof words / sizeof *words, "%zu words are known for what they are", right);
    bool same = psr_pols_state(PSR_POLS_UNKNOWN) == NULL;
    for (enum psr_pols p = PSR_POLS_INTENSITY; p <= PSR_POLS_STOKES; p++)
        same &= psr_pols_find(psr_pols_state(p)) == p;
    ok(same, "a kind is found by its own word");
}

static void test_rule(void)
{
    enum {
        U = PSR_POLS_UNKNOWN,
        I = PSR_POLS_INTENSITY,
        P = PSR_POLS_POWERS,
        C = PSR_POLS_COHERENCE,
        S = PSR_POLS_STOKES
    };
    static const struct {
        int npol;
        int said, told; /* by the header, by the caller */
        int choice, first, count;
        psr_status st;
    } cases[] = {
        {1, U, U, -1, 0, 1, PSR_OK},
        {1, S, C, -1, 0, 1, PSR_OK},
        {2, U, U, -1, 0, 2, PSR_OK},
        {2, P, U, -1, 0, 2, PSR_OK},
        {2, S, U, -1, 0, 1, PSR_OK},
        {2, I, U, -1, 0, 1, PSR_OK},
        {4, S, U, -1, 0, 1, PSR_OK},
        {4, C, U, -1, 0, 2, PSR_OK},
        {4, P, U, -1, 0, 2, PSR_OK},
        {4, U, S, -1, 0, 1, PSR_OK},
        {4, U, C, -1, 0, 2, PSR_OK},
        {4, S, C, -1, 0, 2, PSR_OK},
        {3, C, U, -1, 0, 2, PSR_OK},
        {4, U, U, 3, 3, 1, PSR_OK},
        {4, C, S, 1, 1, 1, PSR_OK},
        {3, U, U, -1, 0, 0, PSR_EUNSUPPORTED},
        {4, U, U, -1, 0, 0, PSR_EUNSUPPORTED},
        {16, U, U, -1, 0, 0, PSR_EUNSUPPORTED},
        {4, S, U, 4, 0, 0, PSR_EINVAL},
        {4, S, U, -2, 0, 0, PSR_EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct psr_source_desc d = {.if_choice = cases[i].choice,
                                          .pols = (enum psr_pols)cases[i].told};
        struct psr_pol_choice c;
        psr_err err = {0};
        const psr_status st = psr_pols_choose(&c, "a.fil", "the header", "", cases[i].npol,
                                              (enum psr_pols)cases[i].said, &d, &err);
        const bool same =
            st == cases[i].st && (st || (c.first == cases[i].first && c.count == cases[i].count));
        ok(same, "%d polarisations, said %d, told %d, -if %d%s%s", cases[i].npol, cases[i].said,
           cases[i].told, cases[i].choice, st ? ": " : "", st ? err.msg : "");
    }
}

/* A file of one spectrum of 4 products of 8 channels: 10, 20, 30 and 40. */
static void write_products(const char *path, bool dada, int nif, enum psr_pols pols)
{
    struct psr_obs obs;
    uint8_t x[4 * 8];
    psr_outfile *f;
    psr_err err;
    psr_obs_init(&obs);
    obs.nchan = 8, obs.nif = nif, obs.nbit = 8, obs.pols = pols;
    obs.fch1_mhz = 1400, obs.foff_mhz = -1, obs.tsamp_s = 1e-3, obs.tstart.day = 59000;
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(10 * (i / 8 + 1));
    if (psr_outfile_create(&f, path, &err) ||
        (dada ? psr_dada_write_spectra(f, &obs, &err)
              : psr_sigproc_write(f, &obs, PSR_SIGPROC_FILTERBANK, &err)) ||
        psr_outfile_write(f, x, (size_t)nif * 8, &err) || psr_outfile_commit(f, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
}

/* Returned: the first sample, or -1 if the file is refused */
static int read_sample(const char *path, enum psr_pols pols, psr_err *err)
{
    const struct psr_source_desc d = {
        .size = sizeof d, .path = &path, .npath = 1, .if_choice = -1, .pols = pols};
    psr_source *s;
    uint16_t x[8] = {0};
    size_t n = 0;
    if (psr_source_open(&s, &d, err))
        return -1;
    const int nbit = psr_source_obs(s)->nbit;
    const psr_status st = psr_source_read(s, 1, x, &n, err);
    psr_source_close(s);
    return st || n != 1 ? -2 : nbit == 8 ? *(const uint8_t *)x : x[0];
}

static void test_files(void)
{
    static const struct {
        int nif;
        enum psr_pols pols;
        int sample;
    } cases[] = {{4, PSR_POLS_STOKES, 10},  {4, PSR_POLS_COHERENCE, 30}, {2, PSR_POLS_POWERS, 30},
                 {2, PSR_POLS_STOKES, 10},  {2, PSR_POLS_UNKNOWN, 30},   {4, PSR_POLS_UNKNOWN, -1},
                 {3, PSR_POLS_UNKNOWN, -1}, {1, PSR_POLS_STOKES, 10}};
    const char *path = scratch("a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int dada = 0; dada < 2; dada++) {
            psr_err err = {0};
            write_products(path, dada, cases[i].nif, cases[i].pols);
            const int got = read_sample(path, PSR_POLS_UNKNOWN, &err);
            ok(got == cases[i].sample, "%s, %d products, kind %d: %d%s%s",
               dada ? "DADA" : "SIGPROC", cases[i].nif, (int)cases[i].pols, got,
               got < 0 ? ": " : "", got < 0 ? err.msg : "");
            ok(got != -1 || (strstr(err.msg, "-state Stokes") && strstr(err.msg, "-if N")),
               "a refusal names the options");
        }
    psr_err err = {0};
    write_products(path, false, 4, PSR_POLS_UNKNOWN);
    ok(read_sample(path, PSR_POLS_STOKES, &err) == 10 &&
           read_sample(path, PSR_POLS_COHERENCE, &err) == 30,
       "the caller says what the header does not");
}

/* Two files of which different polarisations would be read are not one observation. */
static void test_two_files(void)
{
    char first[PATH_MAX], second[PATH_MAX];
    const char *const path[] = {first, second};
    struct psr_source_desc d = {.size = sizeof d, .path = path, .npath = 2, .if_choice = -1};
    psr_source *s;
    psr_err err = {0};
    snprintf(first, sizeof first, "%s", scratch("1"));
    snprintf(second, sizeof second, "%s", scratch("2"));
    write_products(first, false, 4, PSR_POLS_STOKES);
    write_products(second, false, 4, PSR_POLS_COHERENCE);
    ok(psr_source_open(&s, &d, &err) == PSR_EFORMAT, "Stokes and coherence: %s", err.msg);
}

int main(void)
{
    scratch_make();
    test_words();
    test_rule();
    test_files();
    test_two_files();
    return done_testing();
}
