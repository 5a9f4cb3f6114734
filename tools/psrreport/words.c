/* Explains the numbers and marks of a page, a sentence each. */
#include "page.h"

struct word {
    const char *name, *meaning;
};

/* The numbers of a fold, from which its probability is computed. */
static const char *const numbers[PSR_CAND_NNUMBER] = {
    [PSR_CAND_ALPHA] = "S/N of the fold at DM 0 over its S/N: a dispersed pulse is below 1.",
    [PSR_CAND_BETA] = "How far the fold moved the DM of the search, over that DM; it does not "
                      "count for candidates marked dm?.",
    [PSR_CAND_GAMMA] = "Error of the DM over the DM.",
    [PSR_CAND_SHARE_BANDS] = "Share of the sub-bands that have the profile of the others above "
                             "1 sigma.",
    [PSR_CAND_SHARE_PARTS] = "Share of the parts of the observation that have the profile of the "
                             "others above 1 sigma.",
    [PSR_CAND_HALVES_BAND] = "Correlation of the profiles of the lower and the upper half of the "
                             "band.",
    [PSR_CAND_HALVES_TIME] = "Correlation of the profiles of the first and the second half of the "
                             "observation.",
    [PSR_CAND_ACCEL_OK] = "1 if a binary can accelerate so (below 1000 m/s\xc2\xb2, or less than 4 "
                          "bins of drift), else 0.",
    [PSR_CAND_COVERED] = "Share of sub-bands and parts that have data, times the share of a turn "
                         "that a part covers.",
    [PSR_CAND_SNR] = "S/N of the profile's harmonics: the root of Z\xc2\xb2 - 2n of n harmonics.",
    [PSR_CAND_DM0_SIGMA] = "Sigma by which the fold rejects DM 0, negative where DM 0 is better.",
    [PSR_CAND_BANDS_RATIO] = "share_bands over what a pulse of this S/N in the whole band has.",
};

static const struct word columns[] = {
    {"Probability", "That the fold is of a dispersed, periodic signal of the whole band, from the "
                    "numbers of the fold."},
    {"S/N", "Significance of the fold's best profile."},
    {"After trials", "The same, for the best of the independent trials of the fold's search."},
    {"Search sigma", "Significance in the search, for a single trial."},
    {"Harmonics", "How many harmonics the search has summed."},
    {"DMs", "At how many DMs it was detected."},
    {"Found by", "fourier: a search of spectra for accelerated pulsars; ffa: a fast folding search "
                 "for slow ones."},
    {"Known", "p/q NAME: p/q times the frequency of this pulsar; with ? chance explains it."},
};

static const struct word marks[] = {
    {"line", "Interference: at a line of the sums of all channels, and no stronger."},
    {"dm0", "Interference: DM 0 fits what is seen, and no pulse of its width at another DM does."},
    {"narrow", "Interference: its pulse is in an eighth of the band, and the rest is noise."},
    {"turns", "Fewer than 3 turns in the observation, which red noise has, too."},
    {"edge",
     "Of a burst: beside samples without data, or where the level changes, which may make it."},
    {"dm?", "Counts for nothing: DM 0 fits the signal, and so does its DM."},
    {"clip", "Counts for nothing: clipping has cut this burst, which is brighter than its S/N."},
};

static void put_word(struct html *h, const char *name, const char *meaning)
{
    html_raw(h, "<dt>");
    html_text(h, name);
    html_raw(h, "</dt><dd>");
    html_text(h, meaning);
    html_raw(h, "</dd>\n");
}

void page_words(struct html *h)
{
    html_raw(h, "<details id=\"words\"><summary>What numbers and marks say</summary>\n<dl>\n");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        put_word(h, columns[i].name, columns[i].meaning);
    for (int k = 0; k < PSR_CAND_NNUMBER; k++)
        put_word(h, psr_cand_number_name((enum psr_cand_number)k), numbers[k]);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        put_word(h, marks[i].name, marks[i].meaning);
    html_raw(h, "</dl></details>\n");
}
