/* sieve_lanes.h: the inner loops of the sieve, for one instruction set (private; included once for
 * each). */

ISA static void NAME(encode)(uint8_t *restrict code, const float *restrict power, size_t n,
                             float scale, float shift)
{
    for (size_t i = 0; i < n; i++) {
        union {
            float power;
            uint32_t bits;
        } u = {.power = power[i] * scale + shift};
        uint32_t up = (u.bits + ROUND_UP) >> CUT_BITS;
        up = up > LEAST_CODE ? up - LEAST_CODE : 0;
        code[i] = (uint8_t)(up < 255 ? up : 255);
    }
}

ISA static inline floats NAME(bounds)(bytes code)
{
    return (floats)((__builtin_convertvector(code, words) + LEAST_CODE) << CUT_BITS);
}

ISA static void NAME(decode)(float *restrict bound, const uint8_t *restrict code, size_t ngroup)
{
    for (size_t i = 0; i < SIEVE_LANES * ngroup; i++) {
        union {
            uint32_t bits;
            float power;
        } u = {.bits = ((uint32_t)code[i] + LEAST_CODE) << CUT_BITS};
        bound[i] = u.power;
    }
}

ISA static void NAME(add)(float *bound, const uint8_t *code, int64_t origin,
                          const struct psr_sieve_map *map, int64_t first, size_t ngroup)
{
    const bytes even = GET_BYTES(map->offset[0]), odd = GET_BYTES(map->offset[1]);
    for (size_t i = 0; i < ngroup; i++) {
        int64_t group = first + (int64_t)i;
        const uint8_t *at = code + (((SIEVE_LANES * group * map->h) >> map->log) - origin);
        bytes here = GET_BYTES(at), next = GET_BYTES(at + 1), more = (bytes)(next > here);
        bytes most = (next & more) | (here & ~more);
        bytes moved = PSR_ISA_SHUFFLE(most, group & 1 ? odd : even);
        float *to = bound + SIEVE_LANES * i;
        PUT_FLOATS(to, GET_FLOATS(to) + NAME(bounds)(moved));
    }
}

ISA static size_t NAME(find)(const float *bound, size_t from, size_t n, float cut)
{
    for (size_t i = from; i < n; i += SIEVE_SPAN) {
        words above = {0};
        for (size_t k = 0; k < SIEVE_SPAN; k += SIEVE_LANES)
            above |= (words)(GET_FLOATS(bound + i + k) > cut);
        uint32_t any = 0;
        for (size_t k = 0; k < SIEVE_LANES; k++)
            any |= above[k];
        if (any)
            return i;
    }
    return n;
}
