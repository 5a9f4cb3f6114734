/* The table that tests/science/fit_score.py makes. */
#include "score_table.h"

const double psr_cand_offset = -7.516;

const struct psr_cand_weight psr_cand_weights[PSR_CAND_NNUMBER] = {
    [PSR_CAND_ALPHA] = {0.9, 1, 0.9408, 0.05, -0.694},
    [PSR_CAND_BETA] = {0, 1, 0.2679, 0.3753, -0.880},
    [PSR_CAND_GAMMA] = {0, 1, 0.2947, 0.4, -0.372},
    [PSR_CAND_SHARE_BANDS] = {0, 1, 0.5971, 0.2894, 0.000},
    [PSR_CAND_SHARE_PARTS] = {0, 1, 0.5352, 0.2769, 0.600},
    [PSR_CAND_HALVES_BAND] = {-1, 1, 0.5729, 0.3711, 0.912},
    [PSR_CAND_HALVES_TIME] = {-1, 1, 0.6588, 0.2811, 0.331},
    [PSR_CAND_ACCEL_OK] = {0, 1, 0.9805, 0.1382, 0.999},
    [PSR_CAND_COVERED] = {0, 1, 1, 0.05, 1.318},
    [PSR_CAND_SNR] = {6, 9, 7.477, 1.396, 5.353},
    [PSR_CAND_DM0_SIGMA] = {-3, 9, 2.939, 4.072, 1.786},
    [PSR_CAND_BANDS_RATIO] = {0.5, 0.8, 0.7703, 0.06899, 2.355},
    [PSR_CAND_PULSE_SNR] = {6, 9, 7.5, 1.4, 0}, /* speaks where S/N does not: psr_cand_rank */
};
