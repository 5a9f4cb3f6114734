/* Where dishes go in shared memory: every dish has a slot of its own, is read where it stands, and
 * no round has a bank conflict, in whatever order the dishes come.  Needs no GPU. */
#include "beam/beam_cuda.h"
#include "tests/support/beam_ref.h"

enum { NTENSOR = 5 };
static const size_t grid[NTENSOR][3] = {
    {8, 8, 64}, {8, 12, 64}, {16, 16, 256}, {16, 20, 256}, {24, 24, 512}};

/* Lanes of a round that ask a bank for different words. */
static size_t count_conflicts(const uint16_t *slot, const bool *there)
{
    int word[32];
    size_t bad = 0;
    for (int b = 0; b < 32; b++)
        word[b] = -1;
    for (int lane = 0; lane < 32; lane++) {
        if (!there[lane])
            continue;
        bad += word[slot[lane] % 32] >= 0 && word[slot[lane] % 32] != slot[lane];
        word[slot[lane] % 32] = slot[lane];
    }
    return bad;
}

static size_t check_slots(const struct psr_beam_slots *s, const struct beam_k_layout *l,
                          const struct psr_array *a)
{
    size_t bad = 0;
    uint16_t slot[32];
    bool there[32], *used = tap_take((size_t)l->slots, sizeof *used);
    for (size_t d = 0; d < a->ndish; d++) {
        bad += s->write[d] >= l->slots || used[s->write[d]];
        used[s->write[d]] = true;
    }
    for (size_t n = 0; n * 32 < a->ndish + 96;
         n++) { /* round n: dishes 128 (n / 4) + 4 lane + n % 4 */
        for (size_t lane = 0; lane < 32; lane++) {
            size_t d = n / 4 * 128 + 4 * lane + n % 4;
            there[lane] = d < a->ndish;
            slot[lane] = there[lane] ? s->write[d] : 0;
        }
        bad += count_conflicts(slot, there);
    }
    for (int n = 0; n < l->words / 16; n++) {
        for (int lane = 0; lane < 32; lane++) {
            int i = 2 * (n / 2 * 32 + lane) + n % 2;
            int place = beam_k_place(a->m, a->n, i / 2, i % 2), dish = s->dish[i];
            there[lane] = true;
            slot[lane] = s->read[i];
            bad += dish >= 0 && (a->cell[dish] != place || s->write[dish] != s->read[i]);
        }
        bad += count_conflicts(slot, there);
    }
    for (size_t d = 0; d < a->ndish; d++) {
        size_t n = 0;
        for (int i = 0; i < 2 * l->words; i++)
            n += s->dish[i] == (int32_t)d;
        bad += n != (a->cell[d] >= 0);
    }
    free(used);
    return bad;
}

static void test_slots(uint64_t *seed)
{
    for (int g = 0; g < NTENSOR; g++) {
        const struct beam_k_layout l = beam_k_find_layout(grid[g][0], grid[g][1]);
        size_t bad = 0;
        for (int n = 0; n < 20; n++) {
            size_t most = grid[g][0] * grid[g][1];
            size_t ndish = n % 2 ? grid[g][2] : (size_t)tap_between(seed, 1, (int64_t)most);
            struct psr_array a = ref_array(grid[g][0], grid[g][1], ndish, n % 4 ? 0 : 5, seed);
            for (size_t d = 0; n == 1 && d < ndish; d++)
                a.cell[d] = (int32_t)d;
            struct psr_beam_work w = {.m = a.m, .n = a.n, .ndish = ndish, .cell = a.cell};
            struct psr_beam_slots s = {0};
            if (psr_beam_slots_make(&s, &l, &w, NULL))
                bad++;
            else
                bad += check_slots(&s, &l, &a);
            psr_beam_slots_free(&s);
            psr_array_clear(&a);
        }
        ok(bad == 0, "%zu x %zu: no bank conflict in 20 orders of dishes", grid[g][0], grid[g][1]);
    }
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_slots(&seed);
    return done_testing();
}
