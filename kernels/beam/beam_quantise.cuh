/* beam_quantise.cuh: quantises intensities to the levels of filterbanks. */
#ifndef PSR_KERNELS_BEAM_QUANTISE_CUH
#define PSR_KERNELS_BEAM_QUANTISE_CUH

struct beam_scale {
    float offset, scale, top;
};

/* As psr_beam_level, half to even and 0 for NaN: a float whose lowest byte is the level. */
__device__ __forceinline__ float beam_quantise_float(const beam_scale &s, float x)
{
    const float y = __fmul_rn(__fsub_rn(x, s.offset), s.scale);
    return __fadd_rn(fminf(fmaxf(y, 0), s.top), 0x1p23f);
}

__device__ __forceinline__ unsigned beam_quantise(const beam_scale &s, float x)
{
    return __float_as_uint(beam_quantise_float(s, x)) & 0xff;
}

/* Two levels, in the lower half of a word. */
__device__ __forceinline__ unsigned beam_quantise_pair(const beam_scale &s, float x, float y)
{
    return __byte_perm(__float_as_uint(beam_quantise_float(s, x)),
                       __float_as_uint(beam_quantise_float(s, y)), 0x6640);
}

__device__ __forceinline__ beam_scale beam_find_scale(const float *offset, const float *scale,
                                                      int nbit, size_t f)
{
    beam_scale s;
    s.offset = offset[f];
    s.scale = scale[f];
    s.top = (float)((1 << nbit) - 1);
    return s;
}

#endif
