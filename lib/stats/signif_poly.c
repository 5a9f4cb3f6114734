/* Computes the polynomial that Pulscan's GPU version uses for ln p, with its published digits. */
#include <psrkit/signif.h>

double psr_pulscan_logp(double power, double dof)
{
    static const double c[17] = {
        -755.24091,     2.9515954,     -0.021494231,   0.00016945948, -9.0466418e-7,  3.2136336e-9,
        -7.8617952e-12, 1.3660070e-14, -1.7231488e-17, 1.5991804e-20, -1.0973877e-23, 5.5480334e-27,
        -2.0376166e-30, 5.2810851e-34, -9.1470451e-38, 9.4927863e-42, -4.4604059e-46,
    };
    if (dof >= 1.05 * power)
        return 0;
    double x = 1500 * dof / power, f = 0;
    for (int i = 16; i >= 0; i--)
        f = f * x + c[i];
    return power * f / 1500;
}
