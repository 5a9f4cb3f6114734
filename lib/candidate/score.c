/* A probability from the numbers of a candidate, and the reasons in words. */
#include "score.h"

#include "score_table.h"
#include "search/sift/sift_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double psr_cand_probability(const double number[PSR_CAND_NNUMBER])
{
    double sum = psr_cand_offset;
    for (int k = 0; k < PSR_CAND_NNUMBER; k++) {
        const struct psr_cand_weight *w = &psr_cand_weights[k];
        if (!isnan(number[k]))
            sum += w->weight * (fmin(fmax(number[k], w->least), w->most) - w->centre) / w->scale;
    }
    return 1 / (1 + exp(-sum));
}

/* A number beyond a limit, and what it says. */
struct rule {
    enum psr_cand_number of;
    bool below;
    double limit;
    const char *words;
};

static const struct rule rules[] = {
    {PSR_CAND_ALPHA, false, 1, "stronger at DM 0"},
    {PSR_CAND_ALPHA, true, 0.7, "weaker at DM 0"},
    {PSR_CAND_GAMMA, false, 0.3, "DM uncertain"},
    {PSR_CAND_BETA, false, 0.3, "the fold moved the DM"},
    {PSR_CAND_BANDS_RATIO, true, 0.7, "in few sub-bands"},
    {PSR_CAND_SHARE_BANDS, false, 0.8, "in most sub-bands"},
    {PSR_CAND_SHARE_PARTS, true, 0.4, "in few parts"},
    {PSR_CAND_SHARE_PARTS, false, 0.8, "in most parts"},
    {PSR_CAND_HALVES_BAND, true, 0.4, "the halves of the band differ"},
    {PSR_CAND_HALVES_TIME, true, 0.4, "the halves of the time differ"},
    {PSR_CAND_ACCEL_OK, true, 0.5, "impossible acceleration"},
    {PSR_CAND_COVERED, true, 0.5, "half of the fold is empty, or a turn is longer than a part"},
    {PSR_CAND_SNR, true, 6, "faint fold"},
};

void psr_cand_explain(struct psr_cand_score *score)
{
    size_t n = 0;
    score->reasons[0] = '\0';
    for (size_t i = 0; i < sizeof rules / sizeof *rules && n < PSR_CAND_REASONS; i++) {
        const double x = score->number[rules[i].of];
        if (rules[i].below ? x < rules[i].limit : x > rules[i].limit)
            n += (size_t)snprintf(score->reasons + n, PSR_CAND_REASONS - n, "%s%s", n ? "; " : "",
                                  rules[i].words);
    }
}
