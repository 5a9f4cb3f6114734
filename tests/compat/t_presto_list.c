/* presto_list: the list of the compatible search against one that looks at every place in turn, as
 * accelsearch's does, of candidates in and out of order. */
#include "compat/presto/presto_internal.h"

#include "tests/support/tap.h"
#include <string.h>

enum { MOST = 400, LISTS = 300 };

/* --- as accelsearch keeps it ------------------------------------------------------------------- */

struct plain {
    struct psr_presto_cand cand[MOST];
    size_t n;
};

static bool is_near(const struct psr_presto_cand *a, double r)
{
    return fabs(a->r - r) < 15;
}

static bool plain_add(struct plain *p, const struct psr_presto_cand *c)
{
    size_t next = 0;
    while (next + 1 < p->n && p->cand[next].r < c->r)
        next++;
    bool prev_near = p->n > 0 && next > 0 && is_near(&p->cand[next - 1], c->r);
    bool next_near = p->n > 0 && is_near(&p->cand[next], c->r);
    bool prev_less = prev_near && p->cand[next - 1].sigma < c->sigma;
    bool next_less = next_near && p->cand[next].sigma < c->sigma;
    if (prev_less)
        p->cand[next - 1] = *c;
    if (next_less && !prev_less)
        p->cand[next] = *c;
    if (next_less && prev_less) {
        memmove(p->cand + next, p->cand + next + 1, (p->n - next - 1) * sizeof *c);
        p->n--;
    }
    if (prev_near || next_near)
        return prev_less || next_less;
    next += p->n > 0 && p->cand[next].r < c->r - 15;
    memmove(p->cand + next + 1, p->cand + next, (p->n - next) * sizeof *c);
    p->cand[next] = *c;
    p->n++;
    return true;
}

static bool same_cand(const struct psr_presto_cand *a, const struct psr_presto_cand *b)
{
    return a->r == b->r && a->sigma == b->sigma && a->nharm == b->nharm;
}

/* Entry by entry, and the places where r falls, which tell how to look for one. */
static bool same_list(const struct psr_presto_list *a, const struct plain *b)
{
    size_t falls = 0;
    bool same = a->n == b->n;
    for (size_t k = 0; same && k < a->n; k++) {
        same = same_cand(&a->cand[k], &b->cand[k]);
        falls += k > 0 && b->cand[k - 1].r > b->cand[k].r;
    }
    return same && a->inversions == falls;
}

/* --- comparison ------------------------------------------------------------------------------- */

/* Candidates of accelsearch's steps of r, so that some are exactly 15 bins apart. */
static struct psr_presto_cand draw(double range, uint64_t *seed)
{
    return (struct psr_presto_cand){
        .r = 100 + 0.5 * (double)tap_between(seed, 0, (int64_t)(2 * range)),
        .power = (float)tap_between(seed, 1, 30),
        .sigma = (float)tap_between(seed, 1, 12),
        .nharm = 1 << tap_between(seed, 0, 4),
    };
}

static bool is_sorted(const struct psr_presto_list *list)
{
    struct psr_accel_peaks peaks = {0};
    psr_err err;
    bool good = !psr_presto_list_sort(list, &peaks, &err) && peaks.n == list->n;
    double sums[2] = {0, 0};
    for (size_t k = 0; good && k < peaks.n; k++) {
        const struct psr_accel_peak *a = &peaks.peak[k], *b = a - 1;
        good = k == 0 || a->sigma < b->sigma || (!(a->sigma > b->sigma) && a->power <= b->power);
        sums[0] += a->r * a->nharm * a->power;
        sums[1] += list->cand[k].r * list->cand[k].nharm * (double)list->cand[k].power;
    }
    free(peaks.peak);
    return good && fabs(sums[0] - sums[1]) <= 1e-9 * fabs(sums[1]);
}

static void test_adding(uint64_t *seed)
{
    int same = 0, sorted = 0, fallen = 0;
    for (int i = 0; i < LISTS; i++) {
        static struct plain plain;
        struct psr_presto_list list = {0};
        psr_err err;
        const double range = (double)tap_between(seed, 20, 3000);
        bool agree = true, added;
        plain.n = 0;
        for (int k = 0; k < MOST && agree; k++) {
            const struct psr_presto_cand c = draw(range, seed);
            const bool want = plain_add(&plain, &c);
            agree = !psr_presto_list_add(&list, &c, i % 2 ? &added : NULL, &err) &&
                    (i % 2 == 0 || added == want) && same_list(&list, &plain);
        }
        same += agree;
        sorted += is_sorted(&list);
        fallen += list.inversions > 0;
        free(list.cand);
    }
    ok(same == LISTS, "%d of %d lists hold what a plain one holds", same, LISTS);
    ok(sorted == LISTS, "%d of %d are sorted by sigma, then power", sorted, LISTS);
    ok(fallen > 0 && fallen < LISTS, "%d of them had r fall somewhere", fallen);
}

/* Equal in both: as in the list. */
static void test_equals(void)
{
    struct psr_presto_list list = {0};
    struct psr_accel_peaks peaks = {0};
    psr_err err;
    bool good = true;
    for (int k = 0; k < 20; k++) {
        const struct psr_presto_cand c = {.r = 100 + 40 * k, .power = 7, .sigma = 3, .nharm = 1};
        good = good && !psr_presto_list_add(&list, &c, NULL, &err);
    }
    good = good && !psr_presto_list_sort(&list, &peaks, &err) && peaks.n == 20;
    for (size_t k = 1; good && k < peaks.n; k++)
        good = peaks.peak[k].r > peaks.peak[k - 1].r;
    ok(good, "equal candidates stay in their order");
    free(list.cand);
    free(peaks.peak);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_adding(&seed);
    test_equals();
    return done_testing();
}
