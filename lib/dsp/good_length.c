/* Chooses efficient lengths for Fourier transforms by PRESTO's rule. */
#include <psrkit/series.h>

/* PRESTO's lengths, which have only small factors. */
static const short round_numbers[] = {
    1000, 1008, 1024, 1056, 1120, 1152, 1200, 1232, 1280,  1296, 1344, 1408, 1440, 1536, 1568,
    1584, 1600, 1680, 1728, 1760, 1792, 1920, 1936, 2000,  2016, 2048, 2112, 2160, 2240, 2304,
    2352, 2400, 2464, 2560, 2592, 2640, 2688, 2800, 2816,  2880, 3024, 3072, 3136, 3168, 3200,
    3360, 3456, 3520, 3584, 3600, 3696, 3840, 3872, 3888,  3920, 4000, 4032, 4096, 4224, 4320,
    4400, 4480, 4608, 4704, 4752, 4800, 4928, 5040, 5120,  5184, 5280, 5376, 5488, 5600, 5632,
    5760, 5808, 6000, 6048, 6144, 6160, 6272, 6336, 6400,  6480, 6720, 6912, 7040, 7056, 7168,
    7200, 7392, 7680, 7744, 7776, 7840, 7920, 8000, 8064,  8192, 8400, 8448, 8624, 8640, 8800,
    8960, 9072, 9216, 9408, 9504, 9600, 9680, 9856, 10000,
};
enum { NROUND = sizeof round_numbers / sizeof *round_numbers };
_Static_assert(NROUND == 114, "PRESTO's table has 114 numbers");

int64_t psr_good_length(int64_t n)
{
    const int64_t largest = INT64_C(1) << 59; /* above it the products below could overflow */
    if (n <= 0)
        return 0;
    if (n > largest)
        return n;
    int64_t power = 1, scale = 1;
    while (power < n)
        power *= 2;
    while (round_numbers[NROUND - 1] * scale < n)
        scale *= 10;
    int i = 0;
    while (round_numbers[i] * scale < n)
        i++;
    int64_t round_number = round_numbers[i] * scale;
    return power < round_number ? power : round_number;
}
