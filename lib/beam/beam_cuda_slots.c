/* Assigns slots of shared memory to the voltages of a grid's dishes, without bank conflicts.
 *
 * Dishes are written in rounds of 32, in the order of the input, and read in rounds of 32, in the
 * order of the grid.  A dish is an edge between its two rounds, a bank is a colour, and no round
 * may have a colour twice.  A bipartite graph whose nodes have at most 32 edges has 32 such colours
 * (Koenig), found edge by edge: where the two rounds have no free bank in common, the dishes of a
 * chain exchange two banks. */
#include "beam/beam_cuda.h"

#include <stdlib.h>

enum { BANKS = BEAM_ROUND };

struct side {
    int32_t (*at)[BANKS]; /* dish that a round has in a bank, -1: none */
    int32_t *round;       /* [ndish] -1: not on this side */
};

struct graph {
    struct side side[2]; /* writing, reading */
    int32_t *bank;       /* [ndish] */
    int32_t *chain;      /* [ndish] */
};

static int free_bank(const struct side *s, int32_t round)
{
    int bank = 0;
    while (s->at[round][bank] >= 0)
        bank++;
    return bank;
}

static void set_bank(struct graph *g, int32_t dish, int bank, bool exists)
{
    g->bank[dish] = bank;
    for (int n = 0; n < 2; n++)
        if (g->side[n].round[dish] >= 0)
            g->side[n].at[g->side[n].round[dish]][bank] = exists ? dish : -1;
}

/* Frees bank a of a reading round that has b free. */
static void exchange(struct graph *g, int32_t round, int a, int b)
{
    size_t n = 0;
    int which = 1, bank = a;
    for (int32_t dish; (dish = g->side[which].at[round][bank]) >= 0; n++) {
        g->chain[n] = dish;
        which = !which;
        bank = bank == a ? b : a;
        round = g->side[which].round[dish];
    }
    for (size_t k = 0; k < n; k++)
        set_bank(g, g->chain[k], g->bank[g->chain[k]], false);
    for (size_t k = 0; k < n; k++)
        set_bank(g, g->chain[k], k % 2 ? a : b, true);
}

static void place_dish(struct graph *g, int32_t dish)
{
    int a = free_bank(&g->side[0], g->side[0].round[dish]);
    if (g->side[1].round[dish] >= 0) {
        int b = free_bank(&g->side[1], g->side[1].round[dish]);
        if (g->side[1].at[g->side[1].round[dish]][a] >= 0)
            exchange(g, g->side[1].round[dish], a, b);
    }
    set_bank(g, dish, a, true);
}

size_t psr_beam_slots_dishes(const struct psr_beam_work *w)
{
    return (w->ndish + 3) / 4 * 4;
}

psr_status psr_beam_slots_make(struct psr_beam_slots *s, const struct beam_k_layout *l,
                               const struct psr_beam_work *w, psr_err *err)
{
    const size_t ndish = psr_beam_slots_dishes(w);
    size_t nwrite = (size_t)l->slots / BANKS, nread = 2 * (size_t)l->words / BANKS;
    size_t ints = 4 * ndish + (nwrite + nread) * BANKS;
    int32_t *memory = malloc(ints * sizeof *memory);
    s->write = calloc((size_t)l->dishes, sizeof *s->write);
    s->read = calloc(2 * (size_t)l->words, sizeof *s->read);
    s->dish = calloc(2 * (size_t)l->words, sizeof *s->dish);
    if (!memory || !s->write || !s->read || !s->dish) {
        free(memory);
        return psr_fail_nomem(err, "places of dishes", (double)ints * sizeof *memory);
    }
    struct graph g = {.bank = memory, .chain = memory + ndish};
    g.side[0].round = g.chain + ndish;
    g.side[1].round = g.side[0].round + ndish;
    g.side[0].at = (int32_t(*)[BANKS])(g.side[1].round + ndish);
    g.side[1].at = g.side[0].at + nwrite;
    for (size_t n = 0; n < nwrite + nread; n++)
        for (int b = 0; b < BANKS; b++)
            g.side[0].at[n][b] = -1;
    /* Which dish is at each place read, and which are written and read together. */
    for (size_t d = 0; d < ndish; d++) {
        g.side[0].round[d] = (int32_t)(d / 4 / BANKS * 4 + d % 4);
        g.side[1].round[d] = -1;
    }
    for (int i = 0; i < 2 * l->words; i++) {
        int32_t place = beam_k_place(w->m, w->n, i / 2, i % 2);
        s->dish[i] = -1;
        for (size_t d = 0; place >= 0 && d < w->ndish; d++)
            if (w->cell[d] == place)
                s->dish[i] = (int32_t)d;
        if (s->dish[i] >= 0)
            g.side[1].round[s->dish[i]] = i / 2 / BANKS * 2 + i % 2;
    }
    for (size_t d = 0; d < ndish; d++)
        if (g.side[1].round[d] >= 0)
            place_dish(&g, (int32_t)d);
    for (size_t d = 0; d < ndish; d++)
        if (g.side[1].round[d] < 0)
            place_dish(&g, (int32_t)d);
    for (size_t d = 0; d < ndish; d++)
        s->write[d] = (uint16_t)(g.side[0].round[d] * BANKS + g.bank[d]);
    for (int i = 0; i < 2 * l->words; i++) {
        int32_t dish = s->dish[i], round = i / 2 / BANKS * 2 + i % 2;
        s->read[i] = dish >= 0 ? s->write[dish] : (uint16_t)free_bank(&g.side[1], round);
    }
    free(memory);
    return PSR_OK;
}

void psr_beam_slots_free(struct psr_beam_slots *s)
{
    free(s->write);
    free(s->read);
    free(s->dish);
}
