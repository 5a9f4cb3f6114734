/* Orders results of a sift by probability. */
#include <psrkit/sift.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct item {
    bool later;
    double probability; /* below 0: not folded */
    size_t at;
};

static int compare(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;
    if (a->later != b->later)
        return a->later ? 1 : -1;
    if (a->probability < b->probability || a->probability > b->probability)
        return a->probability > b->probability ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Fundamentals that are not there yet stand before their harmonics, unless they come later. */
static size_t append(const struct psr_sift_cand *cand, size_t at, unsigned char *done,
                     struct psr_sift_cand *to, size_t n)
{
    while (!done[at]) {
        size_t first = at;
        while (cand[first].fundamental && !done[cand[first].fundamental - 1] &&
               psr_sift_comes_later(&cand[cand[first].fundamental - 1]) ==
                   psr_sift_comes_later(&cand[at]))
            first = cand[first].fundamental - 1;
        to[n++] = cand[first];
        done[first] = 1;
    }
    return n;
}

psr_status psr_cand_rank(struct psr_sift_cand *cand, size_t n, psr_err *err)
{
    struct item *item = malloc((n + 1) * sizeof *item);
    struct psr_sift_cand *to = malloc((n + 1) * sizeof *to);
    unsigned char *done = calloc(n + 1, 1);
    const bool made = item && to && done;
    for (size_t i = 0; i < n && made; i++) {
        const struct psr_cand_score *s = cand[i].score;
        item[i] = (struct item){psr_sift_comes_later(&cand[i]),
                                s && !isnan(s->probability) ? s->probability : -1, i};
    }
    if (made) {
        size_t m = 0;
        qsort(item, n, sizeof *item, compare);
        for (size_t i = 0; i < n; i++)
            m = append(cand, item[i].at, done, to, m);
        memcpy(cand, to, n * sizeof *to);
    }
    free(item);
    free(to);
    free(done);
    return made ? PSR_OK : psr_fail_nomem(err, "candidates", (double)n * sizeof *to);
}
