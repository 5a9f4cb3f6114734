/* Samples of a step that gaps leave. */
#include "ffa_cpu.h"

#include <string.h>

/* Samples of the series between boundaries j and j + 1 of step k that are in gaps from the g-th on. */
static int64_t count_missing(const struct psr_ffa_search *s, size_t g, int64_t begin, int64_t end)
{
    int64_t missing = 0;
    for (; g < s->ngap && s->gap[g].first < end; g++) {
        const int64_t last = s->gap[g].first + s->gap[g].count;
        const int64_t lo = s->gap[g].first > begin ? s->gap[g].first : begin;
        const int64_t hi = last < end ? last : end;
        missing += hi > lo ? hi - lo : 0;
    }
    return missing;
}

void psr_ffa_cpu_count(const struct psr_ffa_search *s, const struct psr_ffa_step *k, int32_t *sums,
                       void *count)
{
    int16_t *words = count;
    float *floats = count;
    size_t g = 0;
    for (size_t j = 0; j < k->n; j++) {
        const int64_t begin = (int64_t)psr_ffa_boundary(k, j);
        const int64_t end = (int64_t)psr_ffa_boundary(k, j + 1);
        while (g < s->ngap && s->gap[g].first + s->gap[g].count <= begin)
            g++;
        const int64_t missing = count_missing(s, g, begin, end), all = end - begin;
        const bool there = 2 * missing <= all;
        if (there && missing)
            sums[j] = (int32_t)(sums[j] * all / (all - missing));
        if (k->floats)
            floats[j] = there;
        else
            words[j] = there;
    }
}

void psr_ffa_cpu_clear(const struct psr_ffa_step *k, const void *count, void *q)
{
    for (size_t j = 0; j < k->n; j++)
        if (k->floats)
            ((float *)q)[j] = ((const float *)count)[j] > 0 ? ((float *)q)[j] : 0;
        else
            ((int16_t *)q)[j] = ((const int16_t *)count)[j] ? ((int16_t *)q)[j] : 0;
}
