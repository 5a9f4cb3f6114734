/* beam_peaks.h: the best boxcar of every series of a block, on the device, for the demonstration of
 * many beams; and its naive reference.
 *
 * Boxcars have 1, 2, 3, 4, 6, 8 .. samples, 2^k and 3 2^k, up to a limit.  With z = (x - mean) scale,
 * sums of 2^(k+1) are those of two of 2^k, those of 3 2^k of one of 2^(k+1), the earlier one of 2^k
 * added; S/N is a sum over the root of its length.  All in single precision, in this order. */
#ifndef PSR_TEST_BEAM_PEAKS_H
#define PSR_TEST_BEAM_PEAKS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEAKS_WIDTHS = 16 };

struct peak {
    float snr;
    int32_t row, width;
    int32_t end; /* sample after the boxcar; 0: the first of the block */
};

/* Rows of a line of one beam: x [nrow][stride], n samples each; behind [nrow][most - 1] the latest
 * samples of the block before, which becomes that of this one.  No boxcar begins before sample
 * ready[i] of the block, which may be negative.  Peaks at the threshold and above, the best of each
 * row, are appended to peak [room]; count says how many there were. */
struct peaks_job {
    const float *d_x;
    size_t stride, nrow, n;
    float *d_behind;
    int32_t most;           /* samples of a boxcar, at most: up to 128 */
    const int64_t *d_ready; /* [nrow] samples of the stream */
    int64_t first;          /* of the block */
    float mean, scale, threshold;
    struct peak *d_peak;
    uint32_t *d_count;
    uint32_t room;
};

/* Up to PEAKS_SAMPLES samples at a time. */
enum { PEAKS_SAMPLES = 8192 };
cudaError_t peaks_find(const struct peaks_job *job, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
