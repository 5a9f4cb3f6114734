/* How trials share sums of parts: patterns of rotations, each listed once. */
#include "fold_sums.h"

#include "base/tool.h"
#include <stdlib.h>
#include <string.h>

/* Periods that are scanned together, so that few sums are in use at a time. */
enum { TILE = 16 };

/* --- patterns --------------------------------------------------------------------------------- */

/* Rotations of the parts of one sum against its first part, "bits" of the key for each. */
struct pattern {
    uint64_t key;
    uint32_t sum; /* which sum of a trial: parts sum 2^level and following */
};

/* Patterns in the order in which they were first seen. */
struct patterns {
    struct pattern *pattern; /* [n] */
    size_t n, room;
    uint32_t *slot; /* [nslot] 1 + place of a pattern, or 0; nslot is a power of 2 */
    size_t nslot;
};

static size_t find_slot(const struct patterns *p, struct pattern x)
{
    const uint64_t mixed =
        (x.key ^ x.sum * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    size_t i = (size_t)(mixed ^ mixed >> 32) & (p->nslot - 1);
    while (p->slot[i] &&
           (p->pattern[p->slot[i] - 1].key != x.key || p->pattern[p->slot[i] - 1].sum != x.sum))
        i = (i + 1) & (p->nslot - 1);
    return i;
}

/* Place of a pattern, which is added if it is new. */
static psr_status find_pattern(struct patterns *p, struct pattern x, size_t *place, psr_err *err)
{
    if (2 * (p->n + 1) > p->nslot) {
        const size_t nslot = p->nslot ? 2 * p->nslot : 1024;
        uint32_t *slot = calloc(nslot, sizeof *slot);
        if (!slot)
            return psr_fail_nomem(err, "the trials of a fold", (double)nslot * sizeof *slot);
        free(p->slot);
        p->slot = slot;
        p->nslot = nslot;
        for (size_t i = 0; i < p->n; i++)
            p->slot[find_slot(p, p->pattern[i])] = (uint32_t)i + 1;
    }
    const size_t i = find_slot(p, x);
    if (!p->slot[i]) {
        psr_status st =
            psr_grow(&p->pattern, &p->room, p->n, sizeof *p->pattern, "the trials of a fold", err);
        if (st)
            return st;
        p->pattern[p->n++] = x;
        p->slot[i] = (uint32_t)p->n;
    }
    *place = p->slot[i] - 1;
    return PSR_OK;
}

static void clear_patterns(struct patterns *p)
{
    free(p->pattern);
    free(p->slot);
    memset(p, 0, sizeof *p);
}

/* --- levels ----------------------------------------------------------------------------------- */

static int count_bits(size_t nbin)
{
    int bits = 1;
    while ((nbin - 1) >> bits)
        bits++;
    return bits;
}

static size_t rotate(size_t to, size_t from, size_t nbin)
{
    return to >= from ? to - from : to + nbin - from;
}

/* A half of a pattern of 2^level parts, against its own first part.
 * Returned: *first   rotation of that part against the whole's */
static struct pattern take_half(struct pattern whole, size_t half, size_t level, size_t nbin,
                                size_t *first)
{
    const int bits = count_bits(nbin);
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    const size_t n = (size_t)1 << (level - 1);
    struct pattern p = {.sum = 2 * whole.sum + (uint32_t)half};
    *first = half ? whole.key >> (n * (size_t)bits) & mask : 0;
    for (size_t i = 0; i < n; i++) {
        const size_t offset = whole.key >> ((half * n + i) * (size_t)bits) & mask;
        p.key |= (uint64_t)rotate(offset, *first, nbin) << (i * (size_t)bits);
    }
    return p;
}

/* Lists the sums of a level, and the patterns of the level below that they consist of. */
static psr_status split_level(struct psr_fold_sums *s, size_t level, const struct patterns *whole,
                              struct patterns *below, psr_err *err)
{
    struct psr_fold_level *to = &s->level[level];
    to->n = whole->n;
    to->sum = calloc(whole->n + 1, sizeof *to->sum);
    if (!to->sum)
        return psr_fail_nomem(err, "the trials of a fold", (double)whole->n * sizeof *to->sum);
    for (size_t i = 0; i < whole->n; i++)
        for (size_t half = 0; half < 2; half++) {
            size_t first, row;
            if (i % 1024 == 0 && psr_is_stopped(&s->stop))
                return psr_fail(err, PSR_ESTOPPED, "stopped");
            const struct pattern p = take_half(whole->pattern[i], half, level, s->nbin, &first);
            psr_status st = PSR_OK;
            if (level == 1)
                row = p.sum;
            else
                st = find_pattern(below, p, &row, err);
            if (st)
                return st;
            *(half ? &to->sum[i].right : &to->sum[i].left) = (uint32_t)(row * s->stride + first);
        }
    return PSR_OK;
}

/* --- trials ----------------------------------------------------------------------------------- */

/* offset[i] of all parts; those of the last group that do not exist are not rotated. */
static psr_status add_trial(struct psr_fold_sums *s, struct patterns *top, const size_t *offset,
                            psr_err *err)
{
    const size_t n = (size_t)1 << s->ntop;
    const int bits = count_bits(s->nbin);
    for (size_t g = 0; g < s->ngroup; g++) {
        const size_t first = offset[g * n];
        struct pattern p = {.sum = (uint32_t)g};
        size_t row = g;
        for (size_t i = 1; i < n && g * n + i < s->npart; i++)
            p.key |= (uint64_t)rotate(offset[g * n + i], first, s->nbin) << (i * (size_t)bits);
        psr_status st = s->ntop ? find_pattern(top, p, &row, err) : PSR_OK;
        if (st)
            return st;
        s->trial[s->ntrial * s->ngroup + g] = (uint32_t)(row * s->stride + first);
    }
    return PSR_OK;
}

static bool is_too_large(const struct psr_fold_sums *s, const struct patterns *top)
{
    return s->ntop && (double)(top->n * s->stride * sizeof(int16_t)) > s->table_bytes;
}

/* By tiles of periods, in which neighbours have most sums in common. */
static psr_status add_trials(struct psr_fold_sums *s, const struct psr_fold_trials *t,
                             const struct psr_fold_range *r, struct patterns *top, double *delay,
                             size_t *offset, psr_err *err)
{
    psr_status st = PSR_OK;
    s->ntrial = 0;
    for (size_t tile = r->first_period; tile < r->end_period; tile += TILE)
        for (size_t ipd = r->first_pdot; ipd < r->end_pdot && !is_too_large(s, top); ipd++) {
            if (psr_is_stopped(&t->stop))
                return psr_fail(err, PSR_ESTOPPED, "stopped");
            psr_fold_trials_delays(t, r->pddot, ipd, delay);
            for (size_t ip = tile; ip < tile + TILE && ip < r->end_period && !st; ip++) {
                for (size_t i = 0; i < s->npart; i++)
                    offset[i] = psr_fold_trials_offset(t, delay[i], i, ip);
                st = add_trial(s, top, offset, err);
                s->place[s->ntrial++] = (uint32_t)((ipd - r->first_pdot) * t->nperiod + ip);
            }
        }
    return st;
}

/* The largest groups that a key holds, and the table of whose sums is not too large. */
static psr_status choose_groups(struct psr_fold_sums *s, const struct psr_fold_trials *t,
                                const struct psr_fold_range *r, struct patterns *top, psr_err *err)
{
    double *delay = calloc(s->npart, sizeof *delay);
    size_t *offset = calloc(s->npart, sizeof *offset);
    const size_t bits = (size_t)count_bits(s->nbin);
    psr_status st = delay && offset ? PSR_OK : psr_fail_nomem(err, "parts", (double)s->npart * 16);
    s->ntop = FOLD_LEVELS - 1;
    while (s->ntop && (bits << s->ntop > 64 || (size_t)1 << s->ntop > s->npart))
        s->ntop--;
    for (bool again = true; again && !st; s->ntop -= again) {
        clear_patterns(top);
        s->ngroup = (s->npart + ((size_t)1 << s->ntop) - 1) >> s->ntop;
        st = add_trials(s, t, r, top, delay, offset, err);
        again = is_too_large(s, top);
    }
    free(delay);
    free(offset);
    return st;
}

psr_status psr_fold_sums_init(struct psr_fold_sums *s, const struct psr_fold_trials *t,
                              const struct psr_fold_range *r, double table_bytes, psr_err *err)
{
    const size_t ntrial = (r->end_pdot - r->first_pdot) * (r->end_period - r->first_period);
    const size_t nbin = t->nbin, vector = FOLD_VECTOR;
    struct patterns top = {0};
    *s = (struct psr_fold_sums){.nbin = nbin,
                                .npart = t->npart,
                                .table_bytes = table_bytes,
                                .stop = t->stop,
                                .padded = (nbin + vector - 1) / vector * vector};
    s->stride = (nbin - 1 + s->padded + vector - 1) / vector * vector;
    if ((double)s->stride * ((double)t->npart + 8) > UINT32_MAX)
        return psr_fail(err, PSR_ENOMEM, "fold: %zu bins of %zu parts are too many to search", nbin,
                        t->npart);
    s->trial = calloc(ntrial * t->npart + 1, sizeof *s->trial);
    s->place = calloc(ntrial + 1, sizeof *s->place);
    psr_status st = s->trial && s->place
                        ? choose_groups(s, t, r, &top, err)
                        : psr_fail_nomem(err, "the trials of a fold",
                                         (double)ntrial * (double)(t->npart + 1) * 4);
    if (!st) {
        for (size_t level = s->ntop; level > 0 && !st; level--) {
            struct patterns below = {0};
            st = split_level(s, level, &top, &below, err);
            clear_patterns(&top);
            top = below;
        }
    }
    clear_patterns(&top);
    if (st)
        psr_fold_sums_clear(s);
    return st;
}

void psr_fold_sums_clear(struct psr_fold_sums *s)
{
    for (size_t level = 0; level < FOLD_LEVELS; level++)
        free(s->level[level].sum);
    free(s->trial);
    free(s->place);
    memset(s, 0, sizeof *s);
}
