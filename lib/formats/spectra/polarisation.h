/* polarisation.h: which polarisations of a spectrum make total intensity (private).
 *
 * One rule for every format: a format says what its header tells, and gets what to read. */
#ifndef PSR_FORMATS_SPECTRA_POLARISATION_H
#define PSR_FORMATS_SPECTRA_POLARISATION_H

#include <psrkit/experimental/source.h>

/* Polarisations [first, first + count) are summed. */
struct psr_pol_choice {
    int first, count;
    bool guessed; /* the header does not say what the two that are summed are */
};

/* The kind that a word begins with: DADA's STATE or PSRFITS' POL_TYPE. */
enum psr_pols psr_pols_find(const char *text);

/* Its word in a STATE, or NULL if it has none. */
const char *psr_pols_state(enum psr_pols pols);

/* Chooses polarisations of a file.
 * Given:  name   the file, for the message
 *         key, text   what was to say the kind, for the message; text may be empty
 *         npol, pols   stored in a spectrum; desc->pols, unless it is unknown, overrides pols
 * Status: PSR_EINVAL (field if_choice: there is no such polarisation), PSR_EUNSUPPORTED (field key: 3 or more of
 *         unknown kind) */
PSR_MUST_CHECK psr_status psr_pols_choose(struct psr_pol_choice *choice, const char *name,
                                          const char *key, const char *text, int npol,
                                          enum psr_pols pols, const struct psr_source_desc *desc,
                                          psr_err *err);

#endif
