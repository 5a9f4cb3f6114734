/* Finds the option that was meant. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 32 };

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* Letters to add, leave out, replace or exchange with the next one (Damerau's distance) to make a word
 * of n letters from one of m, both at most LONGEST. */
static int count_changes(const char *a, size_t n, const char *b, size_t m)
{
    int d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++)
        for (size_t k = 0; k <= m; k++) {
            d[i][k] = (int)(i ? i : k);
            if (!i || !k)
                continue;
            d[i][k] = least_of(d[i - 1][k] + 1, d[i][k - 1] + 1);
            d[i][k] = least_of(d[i][k], d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = least_of(d[i][k], d[i - 2][k - 2] + 1);
        }
    return d[n][m];
}

/* Whether one is the other with "no" before it, which is one change, not two. */
static bool are_opposite(const char *a, size_t n, const char *b, size_t m)
{
    return m == n + 2 ? !strncmp(b, "no", 2) && !strncmp(b + 2, a, n)
                      : n == m + 2 && !strncmp(a, "no", 2) && !strncmp(a + 2, b, m);
}

const char *cli_nearest_option(const struct cli *tool, const char *word, size_t *n)
{
    const size_t length = strcspn(word, "=");
    int least = length < 3 ? 1 : length < 6 ? 2 : 3; /* more is another word */
    const char *nearest = NULL;
    for (size_t i = 0; i < tool->noptions && length <= LONGEST; i++) {
        const char *at = tool->options[i].name;
        while (*at && tool->options[i].type != CLI_HEADING) {
            const size_t m = strcspn(at, ",");
            const int changes = m > LONGEST ? LONGEST
                                : are_opposite(word, length, at, m)
                                    ? 1
                                    : count_changes(word, length, at, m);
            if (changes < least + !nearest && changes < (int)m) {
                least = changes;
                nearest = at;
                *n = m;
            }
            at += m + strspn(at + m, ", ");
        }
    }
    return nearest;
}
