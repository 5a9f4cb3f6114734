/* rfi_fft_lanes.h: the passes of Stockham's transform for one instruction set (private; included
 * once for each).  Functions have points by address, real and imaginary parts apart, and are
 * inline: a call would pass vectors that not every instruction set has. */

typedef float NAME(vector) __attribute__((vector_size(4 * NAME(WIDTH))));
typedef float NAME(loose) __attribute__((vector_size(4 * NAME(WIDTH)), aligned(4), may_alias));

/* --- transforms of a few points --------------------------------------------------------------- */

ISA INLINE void NAME(dft_2)(V *r, V *i)
{
    const V br = r[1], bi = i[1];
    r[1] = r[0] - br;
    i[1] = i[0] - bi;
    r[0] += br;
    i[0] += bi;
}

ISA INLINE void NAME(dft_3)(V *r, V *i)
{
    static const float s = 0.866025403784438647F;
    const V pr = r[1] + r[2], pi = i[1] + i[2];
    const V mr = (r[1] - r[2]) * s, mi = (i[1] - i[2]) * s;
    const V er = r[0] - pr * 0.5F, ei = i[0] - pi * 0.5F;
    r[0] += pr;
    i[0] += pi;
    r[1] = er + mi;
    i[1] = ei - mr;
    r[2] = er - mi;
    i[2] = ei + mr;
}

ISA INLINE void NAME(dft_4)(V *r, V *i)
{
    const V ar = r[0] + r[2], ai = i[0] + i[2], br = r[0] - r[2], bi = i[0] - i[2];
    const V cr = r[1] + r[3], ci = i[1] + i[3], dr = r[1] - r[3], di = i[1] - i[3];
    r[0] = ar + cr;
    i[0] = ai + ci;
    r[1] = br + di;
    i[1] = bi - dr;
    r[2] = ar - cr;
    i[2] = ai - ci;
    r[3] = br - di;
    i[3] = bi + dr;
}

ISA INLINE void NAME(dft_5)(V *r, V *i)
{
    static const float c1 = 0.309016994374947424F, c2 = -0.809016994374947424F;
    static const float s1 = 0.951056516295153572F, s2 = 0.587785252292473129F;
    const V p1r = r[1] + r[4], p1i = i[1] + i[4], m1r = r[1] - r[4], m1i = i[1] - i[4];
    const V p2r = r[2] + r[3], p2i = i[2] + i[3], m2r = r[2] - r[3], m2i = i[2] - i[3];
    const V e1r = r[0] + (p1r * c1 + p2r * c2), e1i = i[0] + (p1i * c1 + p2i * c2);
    const V e2r = r[0] + (p1r * c2 + p2r * c1), e2i = i[0] + (p1i * c2 + p2i * c1);
    const V o1r = m1r * s1 + m2r * s2, o1i = m1i * s1 + m2i * s2;
    const V o2r = m1r * s2 - m2r * s1, o2i = m1i * s2 - m2i * s1;
    r[0] += p1r + p2r;
    i[0] += p1i + p2i;
    r[1] = e1r + o1i;
    i[1] = e1i - o1r;
    r[2] = e2r + o2i;
    i[2] = e2i - o2r;
    r[3] = e2r - o2i;
    i[3] = e2i + o2r;
    r[4] = e1r - o1i;
    i[4] = e1i + o1r;
}

ISA INLINE void NAME(dft_7)(V *r, V *i)
{
    static const float c[3] = {0.623489801858733531F, -0.222520933956314404F,
                               -0.900968867902419126F};
    static const float s[3] = {0.781831482468029809F, 0.974927912181823607F, 0.433883739117558120F};
    V pr[3], pi[3], mr[3], mi[3];
    const V zr = r[0], zi = i[0];
    for (int j = 0; j < 3; j++) {
        pr[j] = r[j + 1] + r[6 - j];
        pi[j] = i[j + 1] + i[6 - j];
        mr[j] = r[j + 1] - r[6 - j];
        mi[j] = i[j + 1] - i[6 - j];
    }
    r[0] = zr + ((pr[0] + pr[1]) + pr[2]);
    i[0] = zi + ((pi[0] + pi[1]) + pi[2]);
    /* Angles of (j + 1) (k + 1) in sevenths of a turn, folded to the first half. */
    for (int k = 0; k < 3; k++) {
        static const int fold[3][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}};
        static const float sign[3][3] = {{1, 1, 1}, {1, -1, -1}, {1, -1, 1}};
        const int *f = fold[k];
        const float *g = sign[k];
        const V er = zr + ((pr[0] * c[f[0]] + pr[1] * c[f[1]]) + pr[2] * c[f[2]]);
        const V ei = zi + ((pi[0] * c[f[0]] + pi[1] * c[f[1]]) + pi[2] * c[f[2]]);
        const V dr =
            (mr[0] * (g[0] * s[f[0]]) + mr[1] * (g[1] * s[f[1]])) + mr[2] * (g[2] * s[f[2]]);
        const V di =
            (mi[0] * (g[0] * s[f[0]]) + mi[1] * (g[1] * s[f[1]])) + mi[2] * (g[2] * s[f[2]]);
        r[k + 1] = er + di;
        i[k + 1] = ei - dr;
        r[6 - k] = er - di;
        i[6 - k] = ei + dr;
    }
}

/* --- transforms of products ------------------------------------------------------------------- */

ISA INLINE void NAME(dft_8)(V *r, V *i)
{
    static const float half = 0.707106781186547524F;
    V er[4] = {r[0], r[2], r[4], r[6]}, ei[4] = {i[0], i[2], i[4], i[6]};
    V dr[4] = {r[1], r[3], r[5], r[7]}, di[4] = {i[1], i[3], i[5], i[7]};
    NAME(dft_4)(er, ei);
    NAME(dft_4)(dr, di);
    const V ar = (dr[1] + di[1]) * half, ai = (di[1] - dr[1]) * half;
    const V br = di[2], bi = -dr[2];
    const V cr = (di[3] - dr[3]) * half, ci = (-dr[3] - di[3]) * half;
    const V tr[4] = {dr[0], ar, br, cr}, ti[4] = {di[0], ai, bi, ci};
    for (int k = 0; k < 4; k++) {
        r[k] = er[k] + tr[k];
        i[k] = ei[k] + ti[k];
        r[k + 4] = er[k] - tr[k];
        i[k + 4] = ei[k] - ti[k];
    }
}

ISA INLINE void NAME(dft_9)(V *r, V *i)
{
    static const float c[5] = {1, 0.766044443118978035F, 0.173648177666930349F, 0,
                               -0.939692620785908384F};
    static const float s[5] = {0, 0.642787609686539326F, 0.984807753012208059F, 0,
                               0.342020143325668734F};
    V ar[3][3], ai[3][3];
    for (int b = 0; b < 3; b++) {
        for (int a = 0; a < 3; a++) {
            ar[b][a] = r[b + 3 * a];
            ai[b][a] = i[b + 3 * a];
        }
        NAME(dft_3)(ar[b], ai[b]);
    }
    for (int k = 0; k < 3; k++) {
        V br[3] = {ar[0][k], ar[1][k], ar[2][k]}, bi[3] = {ai[0][k], ai[1][k], ai[2][k]};
        for (int b = 1; b < 3 && k; b++) {
            const V was = br[b];
            br[b] = was * c[b * k] + bi[b] * s[b * k];
            bi[b] = bi[b] * c[b * k] - was * s[b * k];
        }
        NAME(dft_3)(br, bi);
        for (int h = 0; h < 3; h++) {
            r[k + 3 * h] = br[h];
            i[k + 3 * h] = bi[h];
        }
    }
}

/* Of 2 B points, B odd: point (j B + 2 l) mod 2 B is (j, l), and result k is (k mod 2, k mod B), so
 * that there are no factors between. */
#define DEFINE_TWICE(TWICE, B, DFT)                                                                \
    ISA INLINE void NAME(TWICE)(V * r, V * i)                                                      \
    {                                                                                              \
        V er[B], ei[B], dr[B], di[B];                                                              \
        for (int l = 0; l < (B); l++) {                                                            \
            er[l] = r[2 * l];                                                                      \
            ei[l] = i[2 * l];                                                                      \
            dr[l] = r[(2 * l + (B)) % (2 * (B))];                                                  \
            di[l] = i[(2 * l + (B)) % (2 * (B))];                                                  \
        }                                                                                          \
        NAME(DFT)(er, ei);                                                                         \
        NAME(DFT)(dr, di);                                                                         \
        for (int k = 0; k < (B); k++) {                                                            \
            const int even = k % 2 ? k + (B) : k, odd = k % 2 ? k : k + (B);                       \
            r[even] = er[k] + dr[k];                                                               \
            i[even] = ei[k] + di[k];                                                               \
            r[odd] = er[k] - dr[k];                                                                \
            i[odd] = ei[k] - di[k];                                                                \
        }                                                                                          \
    }

DEFINE_TWICE(dft_6, 3, dft_3)
DEFINE_TWICE(dft_10, 5, dft_5)

/* --- passes ----------------------------------------------------------------------------------- */

/* Eight vectors become the elements of all of them in turn. */
ISA INLINE void NAME(transpose_8)(V *a)
{
    for (int step = 0; step < 3; step++) {
        V b[8];
        for (int k = 0; k < 4; k++) {
            b[2 * k] = NAME(LOWER)(a[k], a[k + 4]);
            b[2 * k + 1] = NAME(UPPER)(a[k], a[k + 4]);
        }
        for (int k = 0; k < 8; k++)
            a[k] = b[k];
    }
}

/* Several p from p0 on. */
ISA INLINE void NAME(fft_first_at)(const struct psr_rfi_pass *w, size_t p0, const float *x,
                                   const float *xi, float *y, float *yi)
{
    const size_t m = w->m;
    const float *t = w->twiddle + p0;
    V r[FIRST], i[FIRST];
    for (size_t j = 0; j < FIRST; j++) {
        r[j] = *(const NAME(loose) *)(x + p0 + m * j);
        i[j] = *(const NAME(loose) *)(xi + p0 + m * j);
    }
    NAME(dft_8)(r, i);
    for (size_t k = 1; k < FIRST; k++) {
        const V re = *(const NAME(loose) *)(t + 2 * (k - 1) * m), was = r[k];
        const V im = *(const NAME(loose) *)(t + 2 * (k - 1) * m + m);
        r[k] = was * re - i[k] * im;
        i[k] = was * im + i[k] * re;
    }
    NAME(transpose_8)(r);
    NAME(transpose_8)(i);
    for (size_t k = 0; k < FIRST; k++) {
        *(NAME(loose) *)(y + FIRST * p0 + NAME(WIDTH) * k) = r[k];
        *(NAME(loose) *)(yi + FIRST * p0 + NAME(WIDTH) * k) = i[k];
    }
}

/* The last ones again where they do not fill a vector. */
ISA static void NAME(fft_first)(const struct psr_rfi_pass *w, const float *x, const float *xi,
                                float *y, float *yi)
{
    const size_t m = w->m, width = NAME(WIDTH);
    for (size_t p = 0; p + width <= m; p += width)
        NAME(fft_first_at)(w, p, x, xi, y, yi);
    if (m % width)
        NAME(fft_first_at)(w, m - width, x, xi, y, yi);
}

#define DEFINE_PASS(PASS, RADIX, DFT)                                                              \
    ISA static void NAME(PASS)(const struct psr_rfi_pass *w, const float *x, const float *xi,      \
                               float *y, float *yi)                                                \
    {                                                                                              \
        const size_t m = w->m, s = w->s;                                                           \
        for (size_t p = 0; p < m; p++) {                                                           \
            const float *t = w->twiddle + 2 * p * ((RADIX)-1);                                     \
            for (size_t q = 0; q < s; q += NAME(WIDTH)) {                                          \
                const size_t from = q + s * p, to = q + s * p * (RADIX);                           \
                V r[RADIX], i[RADIX];                                                              \
                for (size_t j = 0; j < (RADIX); j++) {                                             \
                    r[j] = *(const NAME(loose) *)(x + from + s * m * j);                           \
                    i[j] = *(const NAME(loose) *)(xi + from + s * m * j);                          \
                }                                                                                  \
                NAME(DFT)(r, i);                                                                   \
                *(NAME(loose) *)(y + to) = r[0];                                                   \
                *(NAME(loose) *)(yi + to) = i[0];                                                  \
                for (size_t k = 1; k < (RADIX); k++) {                                             \
                    *(NAME(loose) *)(y + to + s * k) = r[k] * t[2 * k - 2] - i[k] * t[2 * k - 1];  \
                    *(NAME(loose) *)(yi + to + s * k) = r[k] * t[2 * k - 1] + i[k] * t[2 * k - 2]; \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

DEFINE_PASS(fft_pass_2, 2, dft_2)
DEFINE_PASS(fft_pass_3, 3, dft_3)
DEFINE_PASS(fft_pass_4, 4, dft_4)
DEFINE_PASS(fft_pass_5, 5, dft_5)
DEFINE_PASS(fft_pass_6, 6, dft_6)
DEFINE_PASS(fft_pass_7, 7, dft_7)
DEFINE_PASS(fft_pass_8, 8, dft_8)
DEFINE_PASS(fft_pass_9, 9, dft_9)
DEFINE_PASS(fft_pass_10, 10, dft_10)

#undef DEFINE_TWICE
#undef DEFINE_PASS
