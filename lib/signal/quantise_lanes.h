/* quantise_lanes.h: values to whole levels, for one instruction set (private; included once for
 * each and each width).  Adding 2^23 leaves a float's nearest whole number in its low bits. */

ISA static void NAME(level_of)(LEVEL *level, const float *x, size_t n, float scale, float offset,
                               float top)
{
    for (size_t i = 0; i < n; i++) {
        float v = x[i] * scale + offset;
        v = v > 0.0f ? v : 0.0f;
        v = v < top ? v : top;
        v += 8388608.0f;
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        level[i] = (LEVEL)bits;
    }
}
