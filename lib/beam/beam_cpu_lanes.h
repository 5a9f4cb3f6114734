/* beam_cpu_lanes.h: the inner loops of the CPU backend, for one instruction set (private; included
 * once for each).  No sum depends on the width of a register. */

/* sum[i] += |x[i]|^2, x complex. */
ISA static void NAME(add_power)(float *restrict sum, const float *restrict x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1];
}

/* mix[b][i] = sum over p < np of u[p][b] x[p][i], for MIX_BEAMS beams and i < n, rounded up to
 * whole MIX_LANES; rows of x and mix are pitch apart.  What is read of x serves all beams while
 * their sums stay in registers. */
ISA static void NAME(mix_rows)(float *restrict mix, const float *restrict x, size_t pitch, size_t n,
                               const float *restrict u, size_t np)
{
    for (size_t i = 0; i < n; i += MIX_LANES) {
        float sum[MIX_BEAMS][MIX_LANES] = {{0}};
        for (size_t p = 0; p < np; p++)
            for (size_t b = 0; b < MIX_BEAMS; b++)
                for (size_t k = 0; k < MIX_LANES; k++)
                    sum[b][k] += u[p * MIX_BEAMS + b] * x[p * pitch + i + k];
        for (size_t b = 0; b < MIX_BEAMS; b++)
            for (size_t k = 0; k < MIX_LANES; k++)
                mix[b * pitch + i + k] = sum[b][k];
    }
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

/* u[j] = (-1)^j sine cot(a + pi j / (2 n)) for j from 1 to 2 n - 1. */
ISA static void NAME(cotangents)(float *restrict u, const struct psr_beam_phasors *phasors,
                                 double cos_a, double sin_a, double sine)
{
    const double *restrict cosine = phasors->cosine, *restrict other = phasors->sine;
    for (size_t j = 1; j < 2 * phasors->n; j++) {
        double top = cos_a * cosine[j] - sin_a * other[j];
        double bottom = sin_a * cosine[j] + cos_a * other[j];
        double value = sine * top / bottom;
        u[j] = (float)(j & 1 ? -value : value);
    }
}
