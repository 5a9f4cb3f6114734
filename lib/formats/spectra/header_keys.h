/* header_keys.h: keys and values of a text header: DADA's lines, FITS cards of GUPPI (private). */
#ifndef PSR_FORMATS_SPECTRA_HEADER_KEYS_H
#define PSR_FORMATS_SPECTRA_HEADER_KEYS_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psr_header_key {
    char *key, *value; /* key is owned; value is in the same memory */
};

/* Initialise with zeros but for the name. */
struct psr_header_keys {
    const char *name; /* of the file, for messages; borrowed */
    struct psr_header_key *entry;
    size_t n, room;
};

/* Parse lines "KEY value # comment" up to the end or a byte 0, or 80-character cards "KEY = value"
 * up to END.  Of values in quotes the quotes and blanks at the end are dropped.  Keys may be
 * repeated: the last counts.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_header_keys_lines(struct psr_header_keys *k, const char *text,
                                                size_t n, psr_err *err);
PSR_MUST_CHECK psr_status psr_header_keys_cards(struct psr_header_keys *k, const char *text,
                                                size_t n, psr_err *err);

/* The value of a key; NULL if there is none. */
const char *psr_header_keys_text(const struct psr_header_keys *k, const char *key);

/* A number in [min, max].
 * Given:    *value   the default, for a key that is absent and not needed
 * Status:   PSR_EFORMAT naming file, key, value and limit */
PSR_MUST_CHECK psr_status psr_header_keys_double(const struct psr_header_keys *k, const char *key,
                                                 bool needed, double min, double max, double *value,
                                                 psr_err *err);
PSR_MUST_CHECK psr_status psr_header_keys_int(const struct psr_header_keys *k, const char *key,
                                              bool needed, int64_t min, int64_t max, int64_t *value,
                                              psr_err *err);

/* Position "hh:mm:ss.s" and "dd:mm:ss.s" in degrees.
 * Returned: true if both are there and make sense */
bool psr_header_keys_position(const struct psr_header_keys *k, const char *ra, const char *dec,
                              double *ra_deg, double *dec_deg);

void psr_header_keys_clear(struct psr_header_keys *k);

#endif
