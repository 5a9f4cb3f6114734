/* series: .tim files, and one of them on standard output. */
#include "formats/spectra/spectra_reader.h"
#include "tests/support/series_made.h"

#include <fcntl.h>
#include <psrkit/experimental/source.h>

static bool check_tim(const char *bytes, size_t n, double dm, int64_t nsamp)
{
    struct psr_obs obs;
    size_t header;
    bool need_more;
    psr_err err = {.msg = ""};
    if (psr_sigproc_parse(&obs, &header, &need_more, bytes, n, "x.tim", NULL, &err)) {
        diag("%s", err.msg);
        return false;
    }
    bool same = obs.nchan == 1 && obs.nbit == 32 && obs.kind == PSR_FLOAT && obs.refdm == dm &&
                obs.fch1_mhz == 1500 && obs.tsamp_s == 128e-6 && obs.tstart.day == 56000 &&
                !strcmp(obs.source, "J0000+00") && n == header + 4 * (size_t)nsamp;
    for (int64_t t = 0; t < nsamp && same; t++) {
        float x;
        memcpy(&x, bytes + header + 4 * t, 4);
        same = x == sample_of(0, t);
    }
    psr_obs_clear(&obs);
    return same;
}

static int tim_to_stdout(void *ctx)
{
    const double dm = 12.5;
    uint64_t random = 1;
    psr_series *s;
    psr_err err;
    if (dup2(*(int *)ctx, STDOUT_FILENO) < 0 ||
        open_series(&s, "-", PSR_SERIES_TIM, 2, &dm, 1, &err) ||
        append_pieces(s, 0, 0, 20000, 700, &random, &err))
        return 1;
    return psr_series_finish(s, -1, &err) ? 2 : 0;
}

static int tim_cut_on_stdout(void *ctx)
{
    const double dm = 12.5;
    const float x[2] = {1, 2};
    psr_series *s;
    psr_err err;
    if (dup2(*(int *)ctx, STDOUT_FILENO) < 0 ||
        open_series(&s, "-", PSR_SERIES_TIM, 2, &dm, 1, &err) ||
        psr_series_append(s, 0, x, 2, &err))
        return 1;
    return psr_series_finish(s, 1, &err) == PSR_EUNSUPPORTED ? 0 : 2;
}

static void test_tim(uint64_t *random)
{
    const double dm[] = {12.5, 13};
    psr_series *s = NULL;
    psr_err err = {.msg = ""};
    size_t n = 0;
    ok(open_series(&s, scratch("x"), PSR_SERIES_TIM, 2, dm, 2, &err) == PSR_OK &&
           append_pieces(s, 0, 0, 5000, 400, random, &err) == PSR_OK &&
           append_pieces(s, 1, 0, 5000, 400, random, &err) == PSR_OK &&
           psr_series_finish(s, 4000, &err) == PSR_OK && scratch_count("") == 2,
       "two .tim files, and no .inf %s", err.msg);
    char *bytes = scratch_read(scratch("x_DM12.50.tim"), &n);
    ok(bytes && check_tim(bytes, n, 12.5, 4000), "a .tim is cut behind its header");
    free(bytes);
    int fd = open(scratch("piped"), O_RDWR | O_CREAT | O_TRUNC, 0666), ends[2];
    ok(in_child(tim_to_stdout, &fd) == 0, "one .tim to standard output");
    close(fd);
    bytes = scratch_read(scratch("piped"), &n);
    ok(bytes && check_tim(bytes, n, 12.5, 20000), "arrives whole");
    free(bytes);
    if (pipe(ends))
        return;
    ok(in_child(tim_cut_on_stdout, &ends[1]) == 0, "standard output cannot be cut");
    close(ends[0]);
    close(ends[1]);
    scratch_empty();
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    test_tim(&random);
    return done_testing();
}
