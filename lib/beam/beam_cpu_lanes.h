/* beam_cpu_lanes.h: the inner loops of the CPU backend, for one instruction set (private; included
 * once for each).  No sum depends on the width of a register. */

/* sum[i] += |x[i]|^2, x complex. */
ISA static void NAME(add_power)(float *restrict sum, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1];
}

/* mix[i] = sum over p < np of u[p] x[p][i]. */
ISA static void NAME(mix_rows)(float *restrict mix, const float *restrict x, size_t n,
                               const float *restrict u, size_t np)
{
    for (size_t i = 0; i < n; i++)
        mix[i] = 0;
    size_t p = 0;
    for (; p + 4 <= np; p += 4) {
        const float *restrict a = x + p * n;
        const float u0 = u[p], u1 = u[p + 1], u2 = u[p + 2], u3 = u[p + 3];
        for (size_t i = 0; i < n; i++)
            mix[i] += (u0 * a[i] + u1 * a[i + n]) + (u2 * a[i + 2 * n] + u3 * a[i + 3 * n]);
    }
    for (; p < np; p++)
        for (size_t i = 0; i < n; i++)
            mix[i] += u[p] * x[p * n + i];
}

ISA static float NAME(dot)(const float *restrict a, const float *restrict b, size_t n)
{
    float part[16] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (size_t k = 0; k < 16; k++)
            part[k] += a[i + k] * b[i + k];
    for (size_t k = 0; i < n; i++, k++)
        part[k] += a[i] * b[i];
    for (size_t k = 0; k < 16; k++)
        sum += part[k];
    return sum;
}

/* u[j] = (-1)^j sine cot(a + b_j) for j from 1 on, from the cosines and sines of a and b_j. */
ISA static void NAME(cotangents)(float *restrict u, const double *restrict cos_b,
                                 const double *restrict sin_b, double cos_a, double sin_a,
                                 double sine, size_t n)
{
    for (size_t j = 1; j < n; j++) {
        double top = cos_a * cos_b[j] - sin_a * sin_b[j];
        double bottom = sin_a * cos_b[j] + cos_a * sin_b[j];
        double value = sine * top / bottom;
        u[j] = (float)(j & 1 ? -value : value);
    }
}
