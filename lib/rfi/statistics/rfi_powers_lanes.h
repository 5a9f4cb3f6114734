/* rfi_powers_lanes.h: powers of two channels for one instruction set (private; included once for
 * each). */

typedef float NAME(vector) __attribute__((vector_size(4 * NAME(WIDTH))));
typedef float NAME(loose) __attribute__((vector_size(4 * NAME(WIDTH)), aligned(4), may_alias));
#define V         NAME(vector)
#define AT(x)     ((V)(*(const NAME(loose) *)(x)))
#define PUT(x, v) (*(NAME(loose) *)(x) = (v))

/* Amplitudes at k on: first real, imaginary, second real, imaginary. */
struct NAME(amplitudes) {
    V part[4];
};

ISA static inline __attribute__((always_inline)) void
NAME(find_amplitudes)(const struct spectrum *s, size_t k, struct NAME(amplitudes) * a)
{
    const ptrdiff_t back = -(ptrdiff_t)(k + NAME(WIDTH) - 1);
    const V re = AT(s->re + k), re_back = NAME(BACK)(AT(s->re_back + back));
    const V im = AT(s->im + k), im_back = NAME(BACK)(AT(s->im_back + back));
    a->part[0] = re + re_back;
    a->part[1] = im - im_back;
    a->part[2] = im + im_back;
    a->part[3] = re - re_back;
}

/* Powers of one channel at k on.
 * Given: a, b   real and imaginary amplitudes at k on and, WIDTH bins above, at those that follow */
ISA static inline __attribute__((always_inline)) void
NAME(put_powers)(const V *a, const V *b, size_t k, const V *seed, V *most,
                 const struct psr_rfi_power_room *room, struct psr_rfi_powers *powers)
{
    const V dr = a[0] - NAME(NEXT)(a[0], b[0]), di = a[1] - NAME(NEXT)(a[1], b[1]);
    const V whole = a[0] * a[0] + a[1] * a[1], half = HALF_BIN * (dr * dr + di * di);
    PUT(room->whole + k, whole);
    PUT(room->half + k, half);
    *most = NAME(GREATER)(whole, *most);
    const unsigned above = NAME(ABOVE)(whole, *seed), also = NAME(ABOVE)(half, *seed);
    if (above | also)
        add_seeds(powers, room->seed, k, above, also);
}

/* Whole vectors of bins from k on, those after which there is another one before end.
 * Returned: the first bin that is left */
ISA static size_t NAME(find_powers)(const struct spectrum *s, size_t k, size_t end,
                                    const struct psr_rfi_power_room room[2],
                                    struct psr_rfi_powers powers[2])
{
    const V seed = (V){0} + s->seed;
    V most[2] = {{0}, {0}};
    struct NAME(amplitudes) a, b;
    if (k + 2 * NAME(WIDTH) > end)
        return k;
    for (NAME(find_amplitudes)(s, k, &a); k + 2 * NAME(WIDTH) <= end; k += NAME(WIDTH)) {
        NAME(find_amplitudes)(s, k + NAME(WIDTH), &b);
        for (int c = 0; c < 2; c++)
            NAME(put_powers)
        (a.part + 2 * c, b.part + 2 * c, k, &seed, &most[c], &room[c], &powers[c]);
        a = b;
    }
    for (int c = 0; c < 2; c++)
        for (int l = 0; l < NAME(WIDTH); l++)
            powers[c].largest = most[c][l] > powers[c].largest ? most[c][l] : powers[c].largest;
    return k;
}

#undef V
#undef AT
#undef PUT
