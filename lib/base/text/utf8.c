/* Finds the length of UTF-8 characters, and those that must not reach a terminal. */
#include "base/tool.h"

size_t psr_utf8_length(const char *text)
{
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text, c = *at;
    const size_t n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    unsigned code = n > 1 ? c & (0x7f >> n) : c;
    for (size_t k = 1; k < n; k++) {
        if (at[k] >> 6 != 2)
            return 0;
        code = code << 6 | (at[k] & 0x3f);
    }
    const bool none = code >= 0x110000 || code >> 11 == 0x1b || (code & 0xfffe) == 0xfffe;
    return none || code < least[n] ? 0 : n;
}

/* Control characters, those of ISO 8859-1 too. */
static bool is_control(const unsigned char *at)
{
    return *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
}

void psr_make_printable(char *text)
{
    for (size_t n; *text; text += n) {
        n = psr_utf8_length(text);
        const bool plain = n && !is_control((unsigned char *)text);
        n = n ? n : 1;
        for (size_t k = 0; k < n && !plain; k++)
            text[k] = '?';
    }
}
