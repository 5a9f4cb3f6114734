/* The table that tests/science/fit_score.py makes. */
#include "score_table.h"

const double psr_cand_offset = -7.780;

const struct psr_cand_weight psr_cand_weights[PSR_CAND_NNUMBER] = {
    [PSR_CAND_ALPHA] = {0.9, 1, 0.9437, 0.05, -0.423},
    [PSR_CAND_BETA] = {0, 1, 0.2603, 0.372, -0.844},
    [PSR_CAND_GAMMA] = {0, 1, 0.299, 0.4045, -0.197},
    [PSR_CAND_SHARE_BANDS] = {0, 1, 0.5925, 0.281, 0.000},
    [PSR_CAND_SHARE_PARTS] = {0, 1, 0.5366, 0.2728, 0.300},
    [PSR_CAND_HALVES_BAND] = {-1, 1, 0.5564, 0.373, 0.531},
    [PSR_CAND_HALVES_TIME] = {-1, 1, 0.6561, 0.2724, 0.150},
    [PSR_CAND_ACCEL_OK] = {0, 1, 0.9752, 0.1554, 0.865},
    [PSR_CAND_COVERED] = {0, 1, 0.9999, 0.05, 0.839},
    [PSR_CAND_SNR] = {6, 9, 7.511, 1.408, 4.758},
    [PSR_CAND_DM0_SIGMA] = {-3, 9, 2.733, 4.156, 1.715},
    [PSR_CAND_BANDS_RATIO] = {0.5, 0.8, 0.7673, 0.07142, 4.048},
    [PSR_CAND_PULSE_SHARE] = {0.5, 0.85, 0.7524, 0.1289, 0.829},
};
