/* Plans what groups of trials add up, and which rows of the second level they want. */
#include "dedisp_cuda.h"

#include "base/tool.h"
#include <stdlib.h>

enum {
    APART = WORDS_ROW / 2,   /* of windows of a row that are copied as one */
    WIDEST = 1024,           /* words of a window beside a row */
    BEHIND = 4 * WORDS_HALO, /* bytes of a step that are read and not used */
};

PSR_COMPARE(by_row_and_delay, struct psr_words_need, PSR_THEN(PSR_RISING(row), PSR_RISING(lo)));

void psr_words_sort(struct psr_words_need *need, size_t n)
{
    qsort(need, n, sizeof *need, by_row_and_delay);
}

/* --- what a trial adds up --------------------------------------------------------------------- */

/* Rows of level m->low that row r of a sub-band of level l adds up. */
static void find_parts(struct psr_words_maker *m, int l, size_t node, struct psr_words_part p,
                       size_t t)
{
    const struct psr_merge_level *at = &m->tree->level[l];
    if (l == m->low) {
        m->part[node * WORDS_TRIALS + t] = p;
        return;
    }
    for (size_t j = 0; j < psr_merge_parts_of(m->tree, l, node); j++) {
        size_t r = (size_t)p.row * at->radix + j;
        find_parts(m, l - 1, node * at->radix + j,
                   (struct psr_words_part){at->part[r], p.delay + at->offset[r]}, t);
    }
}

/* --- a step ----------------------------------------------------------------------------------- */

static psr_status add_copy(struct psr_words *w, struct words_k_copy copy, struct psr_words_row want,
                           psr_err *err)
{
    psr_status bad = psr_grow(&w->copy, &w->capacity[4], w->ncopy, sizeof copy, "copies", err);
    if (!bad)
        bad = psr_grow(&w->want, &w->capacity[5], w->ncopy, sizeof want, "copies", err);
    if (bad)
        return bad;
    w->copy[w->ncopy] = copy;
    w->want[w->ncopy++] = want;
    return PSR_OK;
}

/* Copies what needs of the second level want, a tile from lo to hi on, and tells each where it is.
 * Rows of the third level have more words, which nobody uses. */
static psr_status write_copies(struct psr_words_maker *m, psr_err *err)
{
    struct psr_words *w = m->words;
    struct psr_words_need *need = m->need;
    uint32_t to = 0;
    psr_status bad = PSR_OK;
    psr_words_sort(need, m->nneed);
    for (size_t k = 0, end; k < m->nneed && !bad; k = end) {
        int32_t lo = need[k].lo / WORDS_ROUND * WORDS_ROUND, last = need[k].lo, hi = need[k].hi;
        for (end = k; end < m->nneed && need[end].row == need[k].row &&
                      need[end].lo - last <= APART && need[end].lo - lo <= WIDEST;
             end++) {
            last = need[end].lo;
            hi = need[end].hi > hi ? need[end].hi : hi;
            *need[end].source = 4 * (to + (uint32_t)(last - lo));
        }
        uint32_t length = (uint32_t)psr_words_round((size_t)(hi - lo) + WORDS_TILE);
        bad = add_copy(w, (struct words_k_copy){.to = to, .words = length},
                       (struct psr_words_row){need[k].node, need[k].row, lo, hi, 0}, err);
        to += length;
    }
    size_t bytes = sizeof *w->step + 4 * (size_t)to;
    w->load[m->at].n = (uint32_t)(w->ncopy - w->load[m->at].copy);
    w->load[m->at].bytes = (uint32_t)bytes;
    w->room = bytes + BEHIND > w->room ? bytes + BEHIND : w->room;
    return bad;
}

static void add_need(struct psr_words_maker *m, size_t node, int32_t row, int32_t lo, int32_t hi,
                     uint32_t *source)
{
    m->need[m->nneed++] = (struct psr_words_need){node, row, lo, hi, source};
}

/* Rows of the third level, which delays apart by up to WORDS_HALO share. */
static psr_status write_third(struct psr_words_maker *m, size_t node, size_t n, psr_err *err)
{
    const struct psr_merge_level *at = &m->tree->level[m->low];
    struct words_k_step *step = m->words->step + m->at;
    const struct psr_words_part *part = m->part + node * WORDS_TRIALS;
    struct psr_words_need trial[WORDS_TRIALS];
    step->nparts = (uint32_t)psr_merge_parts_of(m->tree, m->low, node);
    for (size_t t = 0; t < n; t++)
        trial[t] = (struct psr_words_need){node, part[t].row, part[t].delay, 0, step->trial + t};
    psr_words_sort(trial, n);
    for (size_t k = 0, end; k < n; k = end) {
        const int32_t lo = trial[k].lo;
        for (end = k; end < n && trial[end].row == trial[k].row && trial[end].lo - lo <= WORDS_HALO;
             end++)
            *trial[end].source = 4 * (step->nrow * WORDS_ROW + (uint32_t)(trial[end].lo - lo));
        for (size_t j = 0; j < step->nparts; j++) {
            size_t r = (size_t)trial[k].row * at->radix + j;
            int32_t d = lo + at->offset[r];
            add_need(m, node * at->radix + j, at->part[r], d, d + trial[end - 1].lo - lo,
                     &step->source[step->nrow][j]);
        }
        step->nrow++;
    }
    m->words->nthird = step->nrow > m->words->nthird ? step->nrow : m->words->nthird;
    m->words->adds += (step->nparts - 1.0) * step->nrow * WORDS_ROW / WORDS_TILE;
    return write_copies(m, err);
}

/* Up to WORDS_PARTS sub-bands of the second level. */
static psr_status write_second(struct psr_words_maker *m, size_t node, size_t n, psr_err *err)
{
    struct words_k_step *step = m->words->step + m->at;
    size_t left = m->tree->level[m->low].nnode - node;
    step->nparts = left < WORDS_PARTS ? (uint32_t)left : WORDS_PARTS;
    for (size_t t = 0; t < n; t++)
        for (size_t j = 0; j < step->nparts; j++) {
            const struct psr_words_part *p = &m->part[(node + j) * WORDS_TRIALS + t];
            add_need(m, node + j, p->row, p->delay, p->delay, &step->source[t][j]);
        }
    return write_copies(m, err);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Steps of n trials. */
static psr_status write_steps(struct psr_words_maker *m, const size_t *trial, size_t n,
                              psr_err *err)
{
    struct psr_words *w = m->words;
    psr_status bad = PSR_OK;
    for (size_t k = 0; k < w->nstep && !bad; k++) {
        size_t at = w->ntrial_group * w->nstep + k;
        bad = psr_grow(&w->load, &w->capacity[6], at, sizeof *w->load, "steps", err);
        if (!bad)
            bad = psr_grow(&w->step, &w->capacity[7], at, sizeof *w->step, "steps", err);
    }
    if (bad)
        return bad;
    for (size_t t = 0; t < n; t++)
        find_parts(m, m->tree->nlevel - 1, 0,
                   (struct psr_words_part){m->tree->row[trial[t]], m->tree->offset[trial[t]]}, t);
    for (size_t k = 0; k < w->nstep && !bad; k++) {
        m->at = w->ntrial_group * w->nstep + k;
        m->nneed = 0;
        w->step[m->at] = (struct words_k_step){0};
        w->load[m->at] = (struct words_k_load){.copy = (uint32_t)w->ncopy};
        bad = w->third ? write_third(m, k, n, err) : write_second(m, k * WORDS_PARTS, n, err);
    }
    w->adds += (double)n * (double)(m->tree->level[m->low].nnode - 1);
    return bad;
}

/* With room for two steps at least. */
static size_t shared_bytes(const struct psr_words *w)
{
    return WORDS_FIRST + 2 * w->room + psr_words_third_bytes(w);
}

/* Steps of a group go round a ring, each to where the ones before it leave room. */
static void place_steps(const struct psr_words *w, struct words_k_load *load)
{
    size_t next = WORDS_FIRST, end = WORDS_FIRST + w->ring;
    for (size_t k = 0; k < w->nstep; k++) {
        size_t at = next + load[k].bytes + BEHIND <= end ? next : WORDS_FIRST;
        next = at + load[k].bytes + BEHIND;
        load[k].at = (uint32_t)at;
        load[k].after = k < WORDS_SLOTS ? 0 : (uint32_t)(k - WORDS_SLOTS + 1);
        for (size_t j = load[k].after; j < k; j++)
            if (load[j].at < next && at < load[j].at + load[j].bytes + BEHIND)
                load[k].after = (uint32_t)j + 1;
    }
}

/* As many trials as shared memory allows: *n of those given. */
static psr_status write_group(struct psr_words_maker *m, const size_t *trial, size_t left,
                              size_t *n, psr_err *err)
{
    struct psr_words *w = m->words;
    const struct psr_words before = *w;
    psr_status bad;
    for (*n = left < WORDS_TRIALS ? left : WORDS_TRIALS;; *n /= 2) {
        w->ncopy = before.ncopy;
        w->room = before.room;
        w->nthird = before.nthird;
        w->adds = before.adds;
        bad = write_steps(m, trial, *n, err);
        if (bad || *n == 1 || shared_bytes(w) <= m->shared)
            break;
    }
    for (size_t t = 0; t < WORDS_TRIALS && !bad; t++) {
        size_t at = w->ntrial_group * WORDS_TRIALS + t;
        bad = psr_grow(&w->trial, &w->capacity[3], at, sizeof *w->trial, "trials", err);
        if (!bad)
            w->trial[at] = t < *n ? (int64_t)(trial[t] - m->first) : -1;
    }
    w->ntrial_group++;
    return bad;
}

psr_status psr_words_plan_trials(struct psr_words_maker *m, size_t ndm, psr_err *err)
{
    const struct psr_merge_tree *tree = m->tree;
    struct psr_words *w = m->words;
    size_t *trial = malloc(ndm * sizeof *trial), n = 0;
    psr_status bad = trial ? PSR_OK : psr_fail_nomem(err, "trials", 8.0 * (double)ndm);
    for (size_t k = 0; k < tree->ndm && !bad; k++)
        if (tree->order[k] >= m->first && tree->order[k] < m->first + ndm)
            trial[n++] = tree->order[k];
    for (size_t k = 0, size; k < n && !bad; k += size)
        bad = write_group(m, trial + k, n - k, &size, err);
    free(trial);
    if (bad)
        return bad;
    w->ring = (m->shared - WORDS_FIRST - psr_words_third_bytes(w)) / 16 * 16;
    w->ring = w->ring > 2 * w->room ? w->ring : 2 * w->room;
    for (size_t g = 0; g < w->ntrial_group; g++)
        place_steps(w, w->load + g * w->nstep);
    return PSR_OK;
}
