/* header_keys.h: keys and values of a text header: DADA's lines, FITS cards of GUPPI (private). */
#ifndef PSR_FORMATS_SPECTRA_HEADER_KEYS_H
#define PSR_FORMATS_SPECTRA_HEADER_KEYS_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psr_header_key {
    char *key, *value; /* key is owned; value is in the same memory, NULL: a line without one */
    const char *line;  /* [length] of the text, borrowed; NULL of a card */
    size_t length;
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

/* Copies the text of a key, if there is one, to an array of PSR_TEXT_MAX. */
void psr_header_keys_copy(const struct psr_header_keys *k, const char *key, char *to);

/* A number in [min, max]: a whole one, or any. */
struct psr_header_number {
    const char *key;
    bool needed;
    double min, max;
    int64_t *whole; /* NULL: any number */
    double *number;
};

/* Reads n numbers.
 * Given:    number[i].whole or .number   the default, for a key that is absent and not needed
 * Status:   PSR_EFORMAT naming file, key, value and limit */
PSR_MUST_CHECK psr_status psr_header_keys_numbers(const struct psr_header_keys *k,
                                                  const struct psr_header_number *number, size_t n,
                                                  psr_err *err);

/* Position "hh:mm:ss.s" and "dd:mm:ss.s" in degrees.
 * Returned: true if both are there and make sense */
bool psr_header_keys_position(const struct psr_header_keys *k, const char *ra, const char *dec,
                              double *ra_deg, double *dec_deg);

void psr_header_keys_clear(struct psr_header_keys *k);

#endif
