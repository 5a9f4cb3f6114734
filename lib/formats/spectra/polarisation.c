/* Chooses the polarisations that make total intensity. */
#include "polarisation.h"

#include <string.h>
#include <strings.h>

enum psr_pols psr_pols_find(const char *text)
{
    static const struct {
        const char *start;
        enum psr_pols pols;
    } words[] = {
        {"AA+BB", PSR_POLS_INTENSITY}, {"PP+QQ", PSR_POLS_INTENSITY},
        {"INTEN", PSR_POLS_INTENSITY}, {"IQUV", PSR_POLS_STOKES},
        {"STOKE", PSR_POLS_STOKES},    {"PSEUDOSTOKE", PSR_POLS_STOKES},
        {"COHER", PSR_POLS_COHERENCE}, {"AABBCRCI", PSR_POLS_COHERENCE},
        {"AABB", PSR_POLS_POWERS},     {"PPQQ", PSR_POLS_POWERS},
        {"XXYY", PSR_POLS_POWERS},     {"LLRR", PSR_POLS_POWERS},
        {"RRLL", PSR_POLS_POWERS},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strncasecmp(text, words[i].start, strlen(words[i].start)))
            return words[i].pols;
    return PSR_POLS_UNKNOWN;
}

const char *psr_pols_state(enum psr_pols pols)
{
    static const char *const names[] = {
        [PSR_POLS_INTENSITY] = "Intensity",
        [PSR_POLS_POWERS] = "PPQQ",
        [PSR_POLS_COHERENCE] = "Coherence",
        [PSR_POLS_STOKES] = "Stokes",
    };
    return (size_t)pols < sizeof names / sizeof *names ? names[pols] : NULL;
}

psr_status psr_pols_choose(struct psr_pol_choice *choice, const char *name, const char *key,
                           const char *text, int npol, enum psr_pols pols,
                           const struct psr_source_desc *desc, psr_err *err)
{
    *choice = (struct psr_pol_choice){.first = 0, .count = 1};
    if (desc->if_choice < -1 || desc->if_choice >= npol)
        return psr_fail_field(err, PSR_EINVAL, "if_choice",
                              "%s: IF = %d, must be 0 to %d, or -1 for total intensity", name,
                              desc->if_choice, npol - 1);
    if (desc->pols != PSR_POLS_UNKNOWN)
        pols = desc->pols;
    if (desc->if_choice >= 0)
        choice->first = desc->if_choice;
    if (desc->if_choice >= 0 || npol == 1 || pols == PSR_POLS_INTENSITY || pols == PSR_POLS_STOKES)
        return PSR_OK;
    if (pols == PSR_POLS_UNKNOWN && npol > 2)
        return psr_fail_field(err, PSR_EUNSUPPORTED, key,
                              "%s: %d polarisations, and %s%s%s%s does not say what they are: give "
                              "-state Stokes, -state Coherence, or -if N for one of them",
                              name, npol, key, *text ? " '" : "", text, *text ? "'" : "");
    choice->count = 2;
    choice->guessed = pols == PSR_POLS_UNKNOWN;
    return PSR_OK;
}
