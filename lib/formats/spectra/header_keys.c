/* Parses text headers of keys and values. */
#include "header_keys.h"

#include "base/base.h"

#include <math.h>
#include <psrkit/obs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARD = 80 };

static psr_status add_key(struct psr_header_keys *k, const char *key, size_t nkey,
                          const char *value, size_t nvalue, psr_err *err)
{
    psr_status st = psr_grow(&k->entry, &k->room, k->n, sizeof *k->entry, "a header", err);
    char *text = st ? NULL : malloc(nkey + nvalue + 2);
    if (!st && !text)
        st = psr_fail_nomem(err, "a header", (double)(nkey + nvalue));
    if (st)
        return st;
    memcpy(text, key, nkey);
    text[nkey] = '\0';
    memcpy(text + nkey + 1, value, nvalue);
    text[nkey + 1 + nvalue] = '\0';
    k->entry[k->n++] = (struct psr_header_key){.key = text, .value = text + nkey + 1};
    return PSR_OK;
}

static size_t count_until(const char *text, size_t n, const char *stops)
{
    size_t at = 0;
    while (at < n && !strchr(stops, text[at]))
        at++;
    return at;
}

static size_t count_blanks(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return at;
}

psr_status psr_header_keys_lines(struct psr_header_keys *k, const char *text, size_t n,
                                 psr_err *err)
{
    psr_status st = PSR_OK;
    const char *zero = memchr(text, 0, n);
    n = zero ? (size_t)(zero - text) : n;
    while (n > 0 && !st) {
        const size_t line = count_until(text, n, "\n"), at = count_blanks(text, line);
        const size_t nkey = count_until(text + at, line - at, " \t\r#");
        size_t from = at + nkey;
        from += count_blanks(text + from, line - from);
        const size_t nvalue = count_until(text + from, line - from, " \t\r#");
        if (nkey > 0)
            st = add_key(k, text + at, nkey, text + from, nvalue, err);
        if (nkey > 0 && !st) {
            struct psr_header_key *e = &k->entry[k->n - 1];
            e->value = nvalue ? e->value : NULL;
            e->line = text;
            e->length = line;
        }
        text += line + (line < n);
        n -= line + (line < n);
    }
    return st;
}

/* The value of a card, after "KEY     = ". */
static psr_status add_card(struct psr_header_keys *k, const char *card, psr_err *err)
{
    enum { KEY = 8, FROM = 10 };
    const size_t nkey = count_until(card, KEY, " =");
    const char *value = card + FROM;
    value += count_blanks(value, CARD - FROM);
    size_t most = (size_t)(card + CARD - value), n;
    if (nkey == 0 || card[KEY] != '=')
        return PSR_OK;
    if (most > 0 && *value == '\'') {
        value++;
        n = count_until(value, most - 1, "'");
    } else
        n = count_until(value, most, "/");
    while (n > 0 && value[n - 1] == ' ')
        n--;
    return add_key(k, card, nkey, value, n, err);
}

psr_status psr_header_keys_cards(struct psr_header_keys *k, const char *text, size_t n,
                                 psr_err *err)
{
    psr_status st = PSR_OK;
    for (; n >= CARD && memcmp(text, "END ", 4) != 0 && !st; text += CARD, n -= CARD)
        if (!memchr(text, 0, CARD))
            st = add_card(k, text, err);
    return st;
}

const char *psr_header_keys_text(const struct psr_header_keys *k, const char *key)
{
    for (size_t i = k->n; i-- > 0;)
        if (k->entry[i].value && !strcmp(k->entry[i].key, key))
            return k->entry[i].value;
    return NULL;
}

void psr_header_keys_copy(const struct psr_header_keys *k, const char *key, char *to)
{
    const char *text = psr_header_keys_text(k, key);
    if (text)
        snprintf(to, PSR_TEXT_MAX, "%s", text);
}

psr_status psr_header_keys_numbers(const struct psr_header_keys *k,
                                   const struct psr_header_number *number, size_t n, psr_err *err)
{
    psr_err why;
    psr_status st = PSR_OK;
    for (const struct psr_header_number *x = number; x < number + n && !st; x++) {
        const char *text = psr_header_keys_text(k, x->key);
        if (!text && x->needed)
            return psr_fail_field(err, PSR_EFORMAT, x->key, "%s: %s is missing", k->name, x->key);
        if (text && x->whole)
            st = psr_parse_int(x->key, text, (int64_t)x->min, (int64_t)x->max, x->whole, &why);
        else if (text)
            st = psr_parse_double(x->key, text, x->min, x->max, x->number, &why);
        if (st)
            psr_fail_field(err, PSR_EFORMAT, x->key, "%s: %s", k->name, why.msg);
    }
    return st ? PSR_EFORMAT : PSR_OK;
}

/* Returned: true and *value in units of the first number */
static bool read_angle(const char *text, double *value)
{
    double part[3] = {0, 0, 0};
    const bool negative = text && text[strspn(text, " ")] == '-';
    const char *at = text;
    int n = 0;
    while (at && n < 3) {
        char *end;
        part[n++] = psr_c_locale_strtod(at, &end);
        if (end == at)
            return false;
        at = *end == ':' ? end + 1 : NULL;
    }
    *value = (fabs(part[0]) + part[1] / 60 + part[2] / 3600) * (negative ? -1 : 1);
    return n == 3 && isfinite(*value);
}

bool psr_header_keys_position(const struct psr_header_keys *k, const char *ra, const char *dec,
                              double *ra_deg, double *dec_deg)
{
    double hours, degrees;
    if (!read_angle(psr_header_keys_text(k, ra), &hours) ||
        !read_angle(psr_header_keys_text(k, dec), &degrees) || !(hours >= 0 && hours < 24) ||
        !(fabs(degrees) <= 90))
        return false;
    *ra_deg = 15 * hours;
    *dec_deg = degrees;
    return true;
}

void psr_header_keys_clear(struct psr_header_keys *k)
{
    for (size_t i = 0; i < k->n; i++)
        free(k->entry[i].key);
    free(k->entry);
    k->entry = NULL;
    k->n = k->room = 0;
}
