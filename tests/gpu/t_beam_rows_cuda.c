/* Rows of beams that stay on a CUDA device: those that are copied to the host, on random shapes; and the
 * same series where they are dedispersed there, at once or on a stream of the caller's. */
#include "beam/beam_internal.h"
#include "beam_shape.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/beam_rows.h"
#include <psrkit/device.h>

#include <cuda_runtime_api.h>

/* --- rows ------------------------------------------------------------------------------------- */

static psr_beam *make_plan(struct shape *s)
{
    psr_beam *p;
    psr_err err;
    s->d.backend = "cuda";
    if (!psr_beam_create(&p, &s->d, &err))
        return p;
    diag("%s", err.msg);
    return NULL;
}

/* Rows of a block at any place of memory that has more. */
static bool same_rows(psr_beam *p, const struct shape *s, uint64_t *seed)
{
    const size_t nbeam = psr_beam_count(p), n = psr_beam_rows(p, s->nt),
                 row = psr_beam_row_bytes(p);
    const size_t before = (size_t)tap_between(seed, 0, 3);
    const size_t stride = n + before + (size_t)tap_between(seed, 0, 3);
    char *want = tap_take(nbeam * n + 1, row), *got = tap_take(nbeam * stride + 1, row);
    void *d_rows;
    psr_err err;
    size_t nwant, ngot;
    bool fine = !psr_beam_execute(p, s->in, s->nt, want, n, &nwant, &err) &&
                !psr_beam_alloc_device(p, nbeam * stride * row + 1, &d_rows, &err);
    psr_beam_reset(p);
    fine = fine &&
           !psr_beam_start_device(p, s->in, s->nt, (char *)d_rows + before * row, stride, &ngot,
                                  &err) &&
           !psr_beam_wait(p, 0, &err) &&
           !cudaMemcpy(got, d_rows, nbeam * stride * row, cudaMemcpyDeviceToHost);
    for (size_t b = 0; b < nbeam && fine; b++)
        fine = ngot == nwant &&
               !memcmp(got + (b * stride + before) * row, want + b * n * row, n * row);
    if (fine)
        psr_beam_free_device("cuda", d_rows);
    psr_beam_reset(p);
    free(want);
    free(got);
    return fine;
}

static bool same_rows_of_all_bits(struct shape *s, uint64_t *seed)
{
    static float offset[8], scale[8];
    psr_beam *p = make_plan(s);
    psr_err err;
    bool fine = p != NULL;
    for (size_t f = 0; f < s->d.nfreq; f++)
        scale[f] = s->d.weight ? 1e-3f : 1e-2f;
    for (int nbit = 32; nbit >= 4 && fine; nbit = nbit == 32 ? 8 : nbit / 2) {
        if (nbit == 4 && s->d.nfreq % 2)
            break;
        fine = !psr_beam_quantise(p, nbit, offset, scale, &err) && same_rows(p, s, seed);
        if (!fine)
            diag("%d bits: %s", nbit, err.msg);
    }
    psr_beam_destroy(p);
    return fine;
}

static void test_rows(uint64_t *seed)
{
    static const size_t grid[][3] = {{8, 8, 64}, {16, 20, 256}, {5, 7, 31}};
    static const char *const name[] = {"grid", "points", "product"};
    for (size_t g = 0; g < sizeof grid / sizeof *grid; g++)
        for (int pattern = 0; pattern < 3; pattern++) {
            bool fine = true;
            for (int n = 0; n < 4 && fine; n++) {
                struct shape s;
                choose(&s, grid[g], pattern, seed);
                fine = same_rows_of_all_bits(&s, seed);
                drop(&s);
            }
            ok(fine, "%zu x %zu, %s: rows that stay are those that are copied", grid[g][0],
               grid[g][1], name[pattern]);
        }
}

/* --- on a stream ------------------------------------------------------------------------------ */

struct stage {
    cudaStream_t stream;
    void *d_spectra;
};

/* Spectra that a stream brings, and overwrites as soon as it may. */
static psr_status hand_on_stream(void *ctx, psr_dedisp_beams *p, size_t beam, const void *d_in,
                                 size_t bytes, size_t nsamp, psr_err *err)
{
    const struct stage *s = ctx;
    cudaError_t e = cudaMemsetAsync(s->d_spectra, 0xff, bytes, s->stream);
    e = e ? e : cudaMemcpyAsync(s->d_spectra, d_in, bytes, cudaMemcpyDeviceToDevice, s->stream);
    psr_status st = psr_dedisp_beams_execute_device(p, beam, s->d_spectra, s->stream, nsamp, err);
    e = e ? e : cudaMemsetAsync(s->d_spectra, 0xff, bytes, s->stream);
    return e ? psr_fail(err, PSR_EDEVICE, "staging: %s", cudaGetErrorString(e)) : st;
}

/* Work that comes late: d_in must still be there when the stream copies it. */
static psr_status hand_and_wait(void *ctx, psr_dedisp_beams *p, size_t beam, const void *d_in,
                                size_t bytes, size_t nsamp, psr_err *err)
{
    const struct stage *s = ctx;
    psr_status st = hand_on_stream(ctx, p, beam, d_in, bytes, nsamp, err);
    cudaError_t e = cudaStreamSynchronize(s->stream);
    return e ? psr_fail(err, PSR_EDEVICE, "staging: %s", cudaGetErrorString(e)) : st;
}

static void test_stream(uint64_t *seed)
{
    struct stage s = {0};
    if (!ok(!cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking) &&
                !cudaMalloc(&s.d_spectra, ROWS_N * ROWS_CHAN),
            "a stream"))
        return;
    test_hand_over("cuda", hand_and_wait, &s, "on a stream", seed);
    cudaFree(s.d_spectra);
    cudaStreamDestroy(s.stream);
}

int main(void)
{
    psr_err err;
    uint64_t seed = tap_seed();
    if (!psr_device_count(&err)) {
        skip("rows of beams that stay on a CUDA device", err.msg);
        return done_testing();
    }
    test_rows(&seed);
    test_hand_over("cuda", hand_directly, NULL, "in device memory", &seed);
    test_stream(&seed);
    return done_testing();
}
