/* How trials share sums of parts: patterns of rotations, each listed once. */
#include "fold_sums.h"

#include "base/threads/isa.h"
#include "base/tool.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* --- sums of trials --------------------------------------------------------------------------- */

/* Trials around a fold, in prepfold's arithmetic: where rounding decides by how many bins a profile
 * is rotated, every operation matters. */

static double find_highest(const struct psr_pfd *p)
{
    double high_mhz = 0;
    if (!p->sub_mhz)
        return p->lofreq_mhz + (p->nchan - 1.0) * p->width_mhz;
    for (int32_t j = 0; j < p->nsub; j++)
        high_mhz = fmax(high_mhz, p->sub_mhz[j]);
    return high_mhz;
}

psr_status psr_fold_trials_init(struct psr_fold_trials *t, const struct psr_pfd *fold,
                                const struct psr_fold_times *times, psr_err *err)
{
    *t = (struct psr_fold_trials){.fold = fold,
                                  .npart = (size_t)fold->npart,
                                  .nsub = (size_t)fold->nsub,
                                  .nbin = (size_t)fold->nbin,
                                  .nperiod = (size_t)fold->nperiod,
                                  .npdot = (size_t)fold->npdot,
                                  .high_mhz = find_highest(fold)};
    t->part_s = calloc(t->npart, sizeof *t->part_s);
    t->fdot = calloc(t->npdot, sizeof *t->fdot);
    t->fdotdot = calloc(t->npdot, sizeof *t->fdotdot);
    if (!t->part_s || !t->fdot || !t->fdotdot) {
        psr_fold_trials_clear(t);
        return psr_fail_nomem(err, "the trials of a fold", (double)(t->npart + 2 * t->npdot) * 8);
    }
    for (size_t i = 0; i < t->npart; i++)
        t->part_s[i] = (double)(i * times->part_blocks) * times->block_s;
    /* Steps of a derivative are those that delay the last part's end by pdstep bins. */
    const double length_s = times->length_s;
    const struct psr_pfd *p = t->fold;
    for (size_t i = 0; i < t->npdot; i++) {
        const double steps = (double)i - (double)((t->npdot - 1) / 2);
        const double turns = steps * p->pdstep / (double)t->nbin;
        t->fdot[i] = 2.0 * turns / (length_s * length_s);
        t->fdotdot[i] = 6.0 * turns / (length_s * length_s * length_s);
    }
    return PSR_OK;
}

void psr_fold_trials_clear(struct psr_fold_trials *t)
{
    free(t->part_s);
    free(t->fdot);
    free(t->fdotdot);
    t->part_s = t->fdot = t->fdotdot = NULL;
}

void psr_fold_trials_delays(const struct psr_fold_trials *t, size_t pddot, size_t pdot,
                            double *delay)
{
    const double fd = t->fdot[pdot], fdd = t->fdotdot[pddot], nbin = (double)t->nbin;
    for (size_t i = 0; i < t->npart; i++) {
        const double s = t->part_s[i], cubic = fdd * s * s * s / 6.0 * nbin;
        delay[i] = cubic + fd * s * s / 2.0 * nbin;
    }
}

/* x - trunc(x / n) n, which is exact, is fmod's result or n away from it where the quotient is
 * rounded; the sum below gives the same bits then. */
size_t psr_fold_trials_offset(const struct psr_fold_trials *t, double delay, size_t i,
                              size_t period)
{
    const double steps = (double)period - (double)((t->nperiod - 1) / 2), n = (double)t->nbin;
    const double whole = (double)i * (steps * t->fold->pstep);
    const double x = -(delay + whole / (double)t->npart);
    double rest = fma(-trunc(x / n), n, x);
    if (rest < 0)
        rest += n;
    const size_t offset = (size_t)(rest + 0.5);
    return offset < t->nbin ? offset : 0;
}

double psr_fold_trials_dm_bins(const struct psr_fold_trials *t, double dm, size_t j)
{
    const struct psr_pfd *p = t->fold;
    const double bins_per_s = p->fold.f * p->nbin, doppler = 1.0 + p->voverc;
    const double band_mhz = p->width_mhz * (p->nchan / p->nsub);
    const double first_mhz = p->lofreq_mhz + band_mhz - p->width_mhz;
    const double high_s = psr_delay_s(PSR_DMCONST_PRESTO, dm, t->high_mhz * doppler);
    const double mhz = (p->sub_mhz ? p->sub_mhz[j] : first_mhz + (double)j * band_mhz) * doppler;
    return (psr_delay_s(PSR_DMCONST_PRESTO, dm, mhz) - high_s) * bins_per_s;
}

void psr_fold_trials_dm_offsets(const struct psr_fold_trials *t, double dm, size_t *offset)
{
    for (size_t j = 0; j < t->nsub; j++) {
        const double bins = psr_fold_trials_dm_bins(t, dm, j);
        const double whole = bins < 0 ? ceil(bins - 0.5) : floor(bins + 0.5);
        const double rest = fmod(whole, t->fold->nbin);
        offset[j] = rest > 0 ? (size_t)rest : 0;
    }
}

PSR_CLONES static void add_profile(double *restrict to, const double *restrict from, size_t n)
{
    for (size_t b = 0; b < n; b++)
        to[b] += from[b];
}

/* to[b] += from[(b + offset) modulo n] */
static void add_rotated(double *to, const double *from, size_t n, size_t offset)
{
    add_profile(to, from + offset, n - offset);
    add_profile(to + (n - offset), from, offset);
}

void psr_fold_trials_add_bands(const struct psr_fold_trials *t, size_t i, const size_t *offset,
                               double *profile)
{
    const double *from = t->fold->profile + i * t->nsub * t->nbin;
    for (size_t j = 0; j < t->nsub; j++)
        add_rotated(profile, from + j * t->nbin, t->nbin, offset[j]);
}

void psr_fold_trials_add_stats(const struct psr_fold_trials *t, struct psr_fold_stats *stats)
{
    for (size_t i = 0; i < t->npart; i++) {
        const struct psr_fold_stats *from = t->fold->stats + i * t->nsub;
        struct psr_fold_stats s = {.numdata = from->numdata, .numprof = from->numprof};
        for (size_t j = 0; j < t->nsub; j++) {
            s.data_avg += from[j].data_avg;
            s.data_var += from[j].data_var;
            s.prof_avg += from[j].prof_avg;
            s.prof_var += from[j].prof_var;
        }
        stats[i] = s;
    }
}

static double find_chi2(const double *profile, size_t n, double avg, double var)
{
    double sum = 0;
    for (size_t b = 0; b < n; b++)
        sum += (profile[b] - avg) * (profile[b] - avg);
    return sum / var;
}

void psr_fold_trials_sum(const struct psr_fold_trials *t, const struct psr_fold_trial *trial,
                         const double *part, const struct psr_fold_stats *part_stats, double *delay,
                         double *profile, struct psr_fold_stats *stats)
{
    struct psr_fold_stats s = {.numprof = (double)t->nbin};
    psr_fold_trials_delays(t, trial->pddot, trial->pdot, delay);
    memset(profile, 0, t->nbin * sizeof *profile);
    for (size_t i = 0; i < t->npart; i++) {
        add_rotated(profile, part + i * t->nbin, t->nbin,
                    psr_fold_trials_offset(t, delay[i], i, trial->period));
        s.numdata += part_stats[i].numdata;
        s.data_avg += part_stats[i].data_avg;
        s.data_var += part_stats[i].data_var;
        s.prof_avg += part_stats[i].prof_avg;
        s.prof_var += part_stats[i].prof_var;
    }
    s.data_avg /= (double)t->npart;
    s.data_var /= (double)t->npart;
    if (t->nbin > 1)
        s.redchi = find_chi2(profile, t->nbin, s.prof_avg, s.prof_var) / ((double)t->nbin - 1.0);
    *stats = s;
}

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
