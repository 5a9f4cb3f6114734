/* Times giving series on a CUDA device a common scatter, beside copying them there: a block of HTRU's band, with steps in
 * no channel, in some, and sparks in all. */
#include "tests/support/tap.h"

#include "search/dedisp/mask/mask_correction.h"

#include <cuda_runtime_api.h>
#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <stdlib.h>

enum { NCHAN = 1024, NDM = 3120, NSAMP = 20480, TURNS = 20, BLOCK = 4096, BUSY = 200 };

static void must(bool good, const char *what)
{
    if (!good) {
        printf("%s\n", what);
        exit(EXIT_FAILURE);
    }
}

#define MUST(call) must((call) == cudaSuccess, #call)

static psr_dedisp *make_plan(void)
{
    static double freq_mhz[NCHAN], dm[NDM];
    psr_dedisp *plan;
    psr_err err;
    for (size_t c = 0; c < NCHAN; c++)
        freq_mhz[c] = 1550 - 300.0 / NCHAN * (double)c;
    for (size_t i = 0; i < NDM; i++)
        dm[i] = (double)i;
    const struct psr_dedisp_desc d = {.size = sizeof d,
                                      .nchan = NCHAN,
                                      .freq_mhz = freq_mhz,
                                      .tsamp_s = 64e-6,
                                      .nbit = 8,
                                      .kind = PSR_UINT,
                                      .downsamp = 1,
                                      .dmconst = PSR_DMCONST_PRESTO,
                                      .ndm = NDM,
                                      .dm = dm,
                                      .mem_bytes = 1 << 30,
                                      .backend = "cpu"};
    must(!psr_dedisp_create(&plan, &d, &err), err.msg);
    return plan;
}

/* Steps of the spectra of a block: of each channel with steps in this share of its blocks of 4096, and sparks. */
static size_t make_steps(struct psr_step *step, int64_t first, double share, size_t nspark,
                         uint64_t *seed)
{
    size_t n = 0;
    for (int64_t t = first; t < first + NSAMP; t += BLOCK)
        for (size_t c = 0; c < NCHAN && share > 0; c++)
            if (tap_uniform(seed) < share)
                step[n++] = (struct psr_step){t, c, tap_uniform(seed) < 0.5 ? 0 : 1};
    for (size_t k = 0; k < nspark; k++)
        for (size_t end = 0; end < 2; end++)
            for (size_t c = 0; c < NCHAN; c++)
                step[n++] = (struct psr_step){first + (int64_t)(k * NSAMP / nspark + 5 * end), c,
                                              end ? 0 : 1};
    return n;
}

static float elapsed_ms(cudaEvent_t from, cudaEvent_t until)
{
    float ms = 0;
    MUST(cudaEventSynchronize(until));
    MUST(cudaEventElapsedTime(&ms, from, until));
    return ms;
}

static void copy(const struct psr_device_series *in, float *d_to)
{
    MUST(cudaMemcpyAsync(d_to, in->d_x, (size_t)NDM * NSAMP * sizeof *d_to,
                         cudaMemcpyDeviceToDevice, in->stream));
}

static float time_copy(const struct psr_device_series *in, float *d_to, cudaEvent_t from,
                       cudaEvent_t until)
{
    float least = 1e9F;
    for (int k = 0; k < TURNS; k++) {
        MUST(cudaEventRecord(from, in->stream));
        copy(in, d_to);
        MUST(cudaEventRecord(until, in->stream));
        least = fminf(least, elapsed_ms(from, until));
    }
    return least;
}

/* The device is busy while the host makes its list, as in a pipeline.  Of the last turns, when what is kept of
 * earlier blocks has its full length. */
static float time_blocks(const psr_dedisp *plan, const struct psr_device_series *in, float *d_to,
                         double share, size_t nspark, cudaEvent_t from, cudaEvent_t until)
{
    const struct psr_mask_noise noise = {.level = 32 * NCHAN, .variance = NCHAN};
    const struct psr_mask_correction_desc d = {
        .plan = plan, .nchan = NCHAN, .ndm = NDM, .downsamp = 1, .largest = 1};
    struct psr_step *step =
        tap_take((size_t)NCHAN * (2 * nspark + NSAMP / BLOCK + 1), sizeof *step);
    const struct psr_device_series *out;
    psr_mask_correction *p;
    psr_err err;
    uint64_t seed = 20261123;
    float ms[TURNS];
    must(!psr_mask_correction_create(&p, &d, &err), err.msg);
    for (int k = 0; k < TURNS; k++) {
        const size_t n = make_steps(step, (int64_t)k * NSAMP, share, nspark, &seed);
        for (int busy = 0; busy < BUSY; busy++)
            copy(in, d_to);
        MUST(cudaEventRecord(from, in->stream));
        must(!psr_mask_correction_equalise_device(p, step, n, &noise, in, 1, NSAMP, &out, &err),
             err.msg);
        MUST(cudaEventRecord(until, in->stream));
        ms[k] = elapsed_ms(from, until);
    }
    tap_sort_floats(ms + TURNS / 2, TURNS - TURNS / 2);
    psr_mask_correction_destroy(p);
    free(step);
    return ms[TURNS * 3 / 4];
}

int main(void)
{
    static const struct {
        const char *what;
        double share;
        size_t nspark;
    } scene[] = {{"no steps", 0, 0},
                 {"a tenth of the channels", 0.1, 0},
                 {"steps in all channels", 1, 0},
                 {"and 20 sparks", 1, 20}};
    psr_err err;
    struct psr_device_series in = {.nseries = NDM, .stride = NSAMP};
    cudaEvent_t from, until;
    if (psr_device_count(&err) == 0) {
        printf("%s\n", err.msg);
        return EXIT_SUCCESS;
    }
    psr_dedisp *plan = make_plan();
    cudaStream_t stream;
    float *d_to;
    const size_t bytes = (size_t)NDM * NSAMP * sizeof *d_to;
    MUST(cudaMalloc((void **)&in.d_x, bytes));
    MUST(cudaMalloc((void **)&d_to, bytes));
    MUST(cudaMemset(in.d_x, 0, bytes));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaEventCreate(&from));
    MUST(cudaEventCreate(&until));
    in.stream = stream;
    const float copy_ms = time_copy(&in, d_to, from, until);
    printf("%d series of %d samples: copied in %.3f ms\n", NDM, NSAMP, (double)copy_ms);
    for (size_t k = 0; k < sizeof scene / sizeof *scene; k++) {
        const float ms = time_blocks(plan, &in, d_to, scene[k].share, scene[k].nspark, from, until);
        printf("%-24s %.3f ms, with the list's way; %.2f of the speed of copies\n", scene[k].what,
               (double)ms, (double)(copy_ms / ms));
    }
    psr_dedisp_destroy(plan);
    return EXIT_SUCCESS;
}
