/* The table that tests/science/fit_score.py makes. */
#include "score_table.h"

const double psr_cand_offset = -1.836;

const struct psr_cand_weight psr_cand_weights[PSR_CAND_NNUMBER] = {
    [PSR_CAND_ALPHA] = {0, 2, 0.7275, 0.5765, 0.000},
    [PSR_CAND_BETA] = {0, 1, 0.2718, 0.3853, -1.755},
    [PSR_CAND_GAMMA] = {0, 2, 0.4314, 0.7287, -0.572},
    [PSR_CAND_SHARE_BANDS] = {0, 1, 0.67, 0.2869, 3.633},
    [PSR_CAND_SHARE_PARTS] = {0, 1, 0.668, 0.264, 0.167},
    [PSR_CAND_HALVES_BAND] = {-1, 1, 0.6567, 0.3313, 1.116},
    [PSR_CAND_HALVES_TIME] = {-1, 1, 0.7005, 0.2499, 0.000},
    [PSR_CAND_ACCEL_OK] = {0, 1, 0.9693, 0.1724, 0.699},
    [PSR_CAND_COVERED] = {0, 1, 0.94, 0.08015, 0.000},
    [PSR_CAND_SNR] = {1, 40, 12.87, 9.872, 0.000},
    [PSR_CAND_DM0_SIGMA] = {-5, 10, 3.405, 4.965, 1.735},
};
