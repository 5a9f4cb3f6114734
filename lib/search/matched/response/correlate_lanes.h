/* correlate_lanes.h: the inner loops of correlations, for one instruction set (private; included
 * once for each).  GET and PUT move CORRELATE_LANES floats from and to p[i]. */

ISA static void NAME(multiply_quarter)(const struct psr_split out[4], struct psr_split x,
                                       struct psr_split y, const struct psr_split twiddle[3],
                                       size_t n)
{
    for (size_t i = 0; i < n; i += CORRELATE_LANES) {
        lanes zr[4], zi[4];
        for (size_t a = 0; a < 4; a++) {
            size_t k = a * n + i;
            lanes xr = GET(x.re, k), xi = GET(x.im, k), yr = GET(y.re, k), yi = GET(y.im, k);
            zr[a] = xr * yr - xi * yi;
            zi[a] = xr * yi + xi * yr;
        }
        lanes sr = zr[0] + zr[2], si = zi[0] + zi[2], dr = zr[0] - zr[2], di = zi[0] - zi[2];
        lanes ur = zr[1] + zr[3], ui = zi[1] + zi[3], vr = zr[1] - zr[3], vi = zi[1] - zi[3];
        PUT(out[0].re, i, sr + ur);
        PUT(out[0].im, i, si + ui);
        lanes re[3] = {dr - vi, sr - ur, dr + vi}, im[3] = {di + vr, si - ui, di - vr};
        for (size_t c = 0; c < 3; c++) {
            lanes tr = GET(twiddle[c].re, i), ti = GET(twiddle[c].im, i);
            PUT(out[c + 1].re, i, re[c] * tr - im[c] * ti);
            PUT(out[c + 1].im, i, re[c] * ti + im[c] * tr);
        }
    }
}

ISA static void NAME(power)(float *restrict p, struct psr_split z, size_t n)
{
    const float *re = z.re, *im = z.im;
    for (size_t i = 0; i < n; i++)
        p[i] = re[i] * re[i] + im[i] * im[i];
}

ISA static void NAME(power_most)(float *restrict p, struct psr_split z, size_t n)
{
    const float *re = z.re, *im = z.im;
    for (size_t i = 0; i < n; i++) {
        float q = re[i] * re[i] + im[i] * im[i];
        p[i] = p[i] > q ? p[i] : q;
    }
}
