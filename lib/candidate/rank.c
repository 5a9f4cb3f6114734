/* Orders results of a sift by probability. */
#include "search/sift/sift_internal.h"
#include "search/sift/sift_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Above this, probabilities are not told apart: the order of the sift, by sigma, stays. */
static const double SURE = 0.99;

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

static void leave_beta_out(struct psr_cand_score *score)
{
    double number[PSR_CAND_NNUMBER];
    memcpy(number, score->number, sizeof number);
    number[PSR_CAND_BETA] = NAN;
    score->probability = psr_cand_probability(number);
}

/* What folds to less than this share of its harmonic's probability is its fundamental by chance. */
static const double FUNDAMENTAL_SHARE = 0.05;

static void leave_chance_out(const struct psr_sift_cand *cand, struct psr_sift_cand *of)
{
    const struct psr_cand_score *s = of->score,
                                *first = of->fundamental ? cand[of->fundamental - 1].score : NULL;
    if (s && first && first->probability < FUNDAMENTAL_SHARE * s->probability)
        of->fundamental = 0;
}

psr_status psr_cand_rank(struct psr_sift_cand *cand, size_t n, psr_err *err)
{
    struct item *item = malloc((n + 1) * sizeof *item);
    size_t *order = malloc((n + 1) * sizeof *order);
    psr_status st =
        item && order ? PSR_OK : psr_fail_nomem(err, "candidates", (double)n * sizeof *item);
    for (size_t i = 0; i < n && !st; i++) {
        struct psr_cand_score *s = cand[i].score;
        if (s && cand[i].marks & PSR_SIFT_DM_UNKNOWN && !isnan(s->probability))
            leave_beta_out(s);
        item[i] = (struct item){psr_sift_comes_later(&cand[i]),
                                s && !isnan(s->probability) ? fmin(s->probability, SURE) : -1, i};
    }
    for (size_t i = 0; i < n && !st; i++)
        leave_chance_out(cand, &cand[i]);
    if (!st)
        qsort(item, n, sizeof *item, compare);
    for (size_t i = 0; i < n && !st; i++)
        order[i] = item[i].at;
    if (!st)
        st = psr_sift_arrange(cand, n, order, err);
    free(item);
    free(order);
    return st;
}
