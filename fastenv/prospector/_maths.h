/* Logarithm, sine and exponential of many arguments at once, for results stored in f32.

   The rules are written with the maths library: a stored number is f32(F), F being what the
   library's double functions give. Here an approximation A of F is computed in loops that the
   compiler turns into vector code, with a proven bound E of |A - F|. If f32(A - E) and f32(A + E)
   are the same number, it is also f32(F), for rounding is monotone (Ziv's test). If they are not,
   which is rare, the caller uses the library. So the bits are always those of the library, on every
   machine; a wrong bound would be a bug, a loose one costs time. The loops take any draws and any
   row that validate.py lets in; nothing that is not a number comes up.

   Bounds. The library is taken to be right to 1 unit in the last place (u = 2^-52 relative); glibc
   promises less than that for log, exp, sin and cos. The polynomials are Chebyshev fits; what they
   leave out was computed with 50 digits, what their evaluation loses is below 8 u.

     neglog   5e-13 relative, against 7.3e-12 * z / 2 with z <= 0.0295 left out: 1.1e-13
     sine     2e-13 absolute, against 3.2e-13 * y with |y| <= 1/4 left out: 8e-14
     expo     5e-13 relative, against 8 * 1.3e-14 left out: 1.0e-13
     normal   3e-12 absolute, against sqrt(-2 log(1e-8)) = 6.07 at most, times (sine + neglog / 2)

   The cosine's argument 2 pi u is rounded in the library's formula and exact here; that moves the
   result by less than 1e-15. `slack` widens a bound; 1 but in tests. */
#ifndef FASTENV_PROSPECTOR_MATHS_H
#define FASTENV_PROSPECTOR_MATHS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../_portable.h"

#define FASTENV_NORMAL_ERROR 3e-12

/* For wider vectors too. The same bits either way: AVX2 does not bring the fused multiply-add. */
#define FASTENV_WIDER FASTENV_CLONED("avx2")

/* a draw as a double; SSE2 converts signed integers only */
FASTENV_INLINE double fastenv_widen(uint32_t draw) {
    return (double)(int32_t)(draw ^ 0x80000000u) + 0x1p31;
}

/* -log(u) with u = draw / 2^32, at least 1e-8 */
FASTENV_INLINE double fastenv_neglog(double draw) {
    double mantissa, exponent, f, s, z, p, u = draw > 1e-8 * 0x1p32 ? draw : 1e-8 * 0x1p32;
    uint64_t bits, biased;
    /* u 2^32 = mantissa * 2^exponent, mantissa from sqrt(1/2) to sqrt(2): as in fdlibm, small results
       come from f alone and keep their relative precision */
    memcpy(&bits, &u, 8);
    bits += 0x3ff0000000000000u - 0x3fe6a09e00000000u;
    biased = bits >> 52 | 0x4330000000000000u;
    bits = (bits & 0x000fffffffffffffu) + 0x3fe6a09e00000000u;
    memcpy(&exponent, &biased, 8);
    memcpy(&mantissa, &bits, 8);
    exponent -= 0x1p52 + 1023.0 + 32.0;
    f = mantissa - 1.0;
    s = f / (2.0 + f); /* log(1 + f) = 2 artanh(s) */
    z = s * s;
    p = 0.193627768367475334;
    p = p * z + 0.221913944931750567;
    p = p * z + 0.285717546357327601;
    p = p * z + 0.399999987968486737;
    p = p * z + 0.666666666673754515;
    return -(exponent * 0.6931471805599453) - s * (2.0 + z * p);
}

/* sin(2 pi y) for |y| <= 1/4 */
FASTENV_INLINE double fastenv_sine(double y) {
    double w = y * y, p = 3.66585515956396124;
    p = p * w - 15.0814832068929991;
    p = p * w + 42.0581348713720544;
    p = p * w - 76.7058475437732596;
    p = p * w + 81.6052491490158332;
    p = p * w - 41.3417022399036753;
    p = p * w + 6.28318530717927004;
    return y * p;
}

/* y with sin(2 pi y) = cos(2 pi u), u = draw / 2^32; exact */
FASTENV_INLINE double fastenv_fold_draw(double draw) {
    return fabs(draw * 0x1p-32 - 0.5) - 0.25;
}

/* y with sin(2 pi y) = sin(2 pi w), |w| < 2^51 */
FASTENV_INLINE double fastenv_fold(double w) {
    const double round = 0x1.8p52;
    w -= 0.25;
    w -= (w + round) - round;
    return 0.25 - fabs(w);
}

/* exp(x) for |x| <= 1.75 */
FASTENV_INLINE double fastenv_expo(double x) {
    double p = 0.0000248312733080886004;
    x *= 0.125;
    p = p * x + 0.000198709590766198288;
    p = p * x + 0.00138888782331517244;
    p = p * x + 0.00833332267607245908;
    p = p * x + 0.041666666680831424;
    p = p * x + 0.166666666808336555;
    p = p * x + 0.499999999999949152;
    p = p * x + 0.999999999999491518;
    p = p * x + 1.0;
    p *= p;
    p *= p;
    return p * p;
}

/* a standard normal number from two draws */
FASTENV_INLINE double fastenv_normal(double first, double second) {
    return sqrt(2.0 * fastenv_neglog(first)) * fastenv_sine(fastenv_fold_draw(second));
}

FASTENV_INLINE double fastenv_clamp(double x, double low, double high) {
    x = x > low ? x : low;
    return x < high ? x : high;
}

/* -- the market ------------------------------------------------------------------------------- */

/* New prices of the six commodities at tick t from twelve draws; return 0 if one is in doubt. */
FASTENV_WIDER int fastenv_prices(const uint32_t *draws, double t, const float *phase,
                                  const float *period, const float *amp, const float *inventory,
                                  const float *sales, const double *base, const double *sigma,
                                  const double *low, const double *high, double slack,
                                  float *price) {
    double first[6], second[6], q[6], turn[6], a[6], stock[6], sold[6], below[6], above[6];
    int c, doubt = 0;
    /* all in doubles, so that six of them are three vectors of SSE2 */
    for (c = 0; c < 6; c++) {
        first[c] = fastenv_widen(draws[2 * c]);
        second[c] = fastenv_widen(draws[2 * c + 1]);
        q[c] = period[c];
        turn[c] = phase[c];
        a[c] = amp[c];
        stock[c] = inventory[c];
        sold[c] = sales[c];
    }
    for (c = 0; c < 6; c++) {
        /* The roundings of the library's argument of the sine and of w move the angle by less than
           4e-15 |w| + 3e-15. The partial sums are below 2 base + stock + sold; they and x plus and
           minus the bound are rounded ten times, u / 2 each. */
        double w = t / q[c] + turn[c] * 0.15915494309189535;
        double x = base[c] + a[c] * fastenv_sine(fastenv_fold(w)) - 0.04 * stock[c] -
                   0.05 * sold[c] + sigma[c] * fastenv_normal(first[c], second[c]);
        double error = a[c] * (3e-13 + 1e-14 * fabs(w)) + sigma[c] * FASTENV_NORMAL_ERROR +
                       (base[c] + stock[c] + sold[c]) * 2e-15;
        below[c] = fastenv_clamp(x - slack * error, low[c], high[c]);
        above[c] = fastenv_clamp(x + slack * error, low[c], high[c]);
    }
    for (c = 0; c < 6; c++) {
        price[c] = (float)below[c];
        doubt |= price[c] != (float)above[c];
    }
    return !doubt;
}

/* Prices of a new world. */
FASTENV_INLINE int fastenv_first_prices(const float *phase, const float *amp, const double *base,
                                        const double *low, const double *high, double slack,
                                        float *price) {
    int c, doubt = 0;
    for (c = 0; c < 6; c++) {
        double a = amp[c];
        double x = base[c] + a * fastenv_sine(fastenv_fold(phase[c] * 0.15915494309189535));
        double error = slack * (a * 4e-13 + base[c] * 1e-15);
        price[c] = (float)fastenv_clamp(x - error, low[c], high[c]);
        doubt |= price[c] != (float)fastenv_clamp(x + error, low[c], high[c]);
    }
    return !doubt;
}

/* -- asteroids -------------------------------------------------------------------------------- */

#define FASTENV_BLOCK 4 /* asteroids worked on at once: element 4 i + j is number i of asteroid j */

/* Where the twenty draws of an asteroid go, so that those that need a logarithm are together. */
static const unsigned char FASTENV_ORDER[20] = {0,  1,  2,  3,  4,  5,        /* true composition */
                                                17, 18,                       /* richness */
                                                12, 13, 14, 15, 16,           /* stability */
                                                19,                           /* noise */
                                                6,  7,  8,  9,  10, 11};      /* first estimate */

/* Shares of six positive numbers, rounded with the bound taken off and added. */
FASTENV_INLINE void fastenv_shares(const double *e, double error, float *below, float *above) {
    double total[FASTENV_BLOCK];
    int i, j;
    for (j = 0; j < FASTENV_BLOCK; j++)
        total[j] = e[j] + e[4 + j] + e[8 + j] + e[12 + j] + e[16 + j] + e[20 + j];
    for (i = 0; i < 6 * FASTENV_BLOCK; i++) {
        double share = e[i] / total[i % FASTENV_BLOCK];
        below[i] = (float)(share - share * error);
        above[i] = (float)(share + share * error);
    }
}

/* What the maths library is needed for in four asteroids, from draws in FASTENV_ORDER. Numbers of
   out: 0-5 true composition, 6-11 first estimate, 12 stability, 13 richness. Returns 0 if anything
   is in doubt. */
FASTENV_WIDER int fastenv_asteroids(const uint32_t *draws, double slack, float *out) {
    double e[18 * FASTENV_BLOCK];
    float above[14 * FASTENV_BLOCK];
    /* a quotient of sums of logarithms is off by twice their error */
    const double error = slack * 2 * 6e-13, expo = slack * (0.65 * FASTENV_NORMAL_ERROR + 6e-13);
    int i, j, doubt = 0;
    for (i = 0; i < 18 * FASTENV_BLOCK; i++)
        e[i] = fastenv_neglog(fastenv_widen(draws[i]));
    fastenv_shares(e, error, out, above);
    fastenv_shares(e + 24, error, out + 24, above + 24);
    for (j = 0; j < FASTENV_BLOCK; j++) {
        double a = e[48 + j] + e[52 + j] + e[56 + j], b = e[60 + j] + e[64 + j];
        double share = a / (a + b);
        double fold = fastenv_fold_draw(fastenv_widen(draws[72 + j]));
        double x = -0.2 + 0.65 * (sqrt(2.0 * e[68 + j]) * fastenv_sine(fold));
        x = fastenv_expo(fastenv_clamp(x, -1.7, 1.5)); /* what is cut off here is clamped below */
        out[48 + j] = (float)(share - share * error);
        above[48 + j] = (float)(share + share * error);
        out[52 + j] = (float)fastenv_clamp(x - x * expo, 0.2, 4.0);
        above[52 + j] = (float)fastenv_clamp(x + x * expo, 0.2, 4.0);
    }
    for (i = 0; i < 14 * FASTENV_BLOCK; i++)
        doubt |= out[i] != above[i];
    return !doubt;
}

/* -- edges ------------------------------------------------------------------------------------ */

/* f32(0.05 z) for n pairs of draws; returns 0 if one is in doubt. */
FASTENV_WIDER int fastenv_noises(const uint32_t *first, const uint32_t *second, int n,
                                  double slack, float *out) {
    const double error = slack * 0.05 * FASTENV_NORMAL_ERROR;
    int i, doubt = 0;
    for (i = 0; i < n; i++) {
        double x = fastenv_normal(fastenv_widen(first[i]), fastenv_widen(second[i]));
        out[i] = (float)(0.05 * x - error);
        doubt |= out[i] != (float)(0.05 * x + error);
    }
    return !doubt;
}

#endif
