/* sift_state.h: the candidates that are sifted, and the steps (private). */
#ifndef PSR_SEARCH_SIFT_STATE_H
#define PSR_SEARCH_SIFT_STATE_H

#include "base/tool.h"
#include "formats/series/series_internal.h"
#include <math.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/series.h>

struct psr_sift_birds;

/* Given:  list   may be freed afterwards
 *         baryv   as in psr_sift_desc
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sift_birds_create(struct psr_sift_birds **out,
                                                const struct psr_zaplist *list, double baryv,
                                                psr_err *err);

void psr_sift_birds_destroy(struct psr_sift_birds *birds);

#define PSR_SIFT_NONE SIZE_MAX

enum { PSR_SIFT_MOST_HARMONIC = 16, PSR_SIFT_MOST_HUM = 4 };

/* What hits at several DMs say of DM 0. */
enum psr_sift_verdict {
    PSR_SIFT_UNDETERMINED, /* DM 0 fits, and so does a DM above low_dm_cutoff */
    PSR_SIFT_DISPERSED,    /* DM 0 does not fit */
    PSR_SIFT_UNDISPERSED,  /* DM 0 fits, and no dispersed curve does */
};

/* Harmonics of a candidate at much stronger lines, all multiples of one above the first. */
enum psr_sift_lines {
    PSR_SIFT_NO_LINES,
    PSR_SIFT_OF_LINES,     /* without them there is nothing */
    PSR_SIFT_BESIDE_LINES, /* they were left out of its powers */
};

/* Edges of the band; 0 where they are not known. */
struct psr_sift_band {
    double low_mhz, high_mhz;
};

/* A list of one trial. */
struct psr_sift_list {
    char *path;
    const char *file; /* in path */
    double dm, tobs_s;
    int dm_decimals; /* of the DM in its name; 0: not from the name */
    int64_t dm_key;
    struct psr_inf *inf; /* what a comparison with pulsars needs; NULL: not known */
    struct psr_sift_band band;
    struct psr_segment segment; /* by its name */
};

struct psr_sift_entry {
    size_t list;
    int64_t number;
    double sigma, snr, power, coherent, r, z, f;
    double list_sigma; /* after the trials of its list; not a number: not known */
    int nharm;
    float r_error;     /* of r, bins: what noise does to its lines */
    uint32_t on_lines; /* bit q: only the harmonics that are multiples of q have power */
    enum psr_sift_lines lines;
    int best; /* the strongest harmonic, from 1 */
    float first_power, best_power;
    size_t harm;      /* its harmonics' powers [nharm] in the list of all */
    bool folded;      /* by a fast folding search, */
    double fold_duty; /* whose boxcar is this share of the period */
    enum psr_sift_verdict verdict;
    double dm0_chi2; /* by which DM 0 fits worse than its own DM */
    double dm_share; /* of the DMs searched, between hits that fit as well as its own */
    bool flat_fits;  /* at DM 0 in a part of the band: the difference is then noise */
    enum psr_sift_reason reason;
    int ratio[2];
    size_t of;               /* the better candidate */
    size_t nhit, next, last; /* a chain of entries: the hits, this one first */
};

struct psr_sift_entries {
    struct psr_sift_entry *entry; /* [n] with capacity [room] */
    size_t n, room;
    float *power; /* [npower] of harmonics, with capacity [power_room] */
    size_t npower, power_room;
};

struct psr_sift {
    struct psr_sift_desc d;
    struct psr_sift_birds *birds; /* of d.birds; NULL: none */
    struct psr_bird *line;        /* [nline] of d.lines, by frequency; NULL: none */
    size_t nline;
    double line_width_hz; /* the largest */
    struct psr_sift_list *list;
    size_t nlist, list_room;
    struct psr_sift_entries all;
    size_t nread, count[PSR_SIFT_NREASON]; /* rows read, and those rejected and not kept */
    double faintest;                       /* sigma of all rows read; infinite without any */
    int64_t *dm_key;                       /* [ndm] of DMs that were searched */
    size_t ndm, dm_room;
    bool dms_given;                                  /* some by other files than the lists */
    bool dms_of_lists;                               /* presto: the lists' own DMs count too */
    double noise_limit[PSR_ACCEL_LIST_MAX_HARM + 1]; /* power of so many harmonics of noise */
    double hum_hz[PSR_SIFT_MOST_HUM];                /* [nhum] of which there are folds */
    size_t nhum;
    size_t *order; /* [norder] entries that are left */
    size_t norder;
    struct psr_sift_cand *cand, *reject;
    struct psr_sift_hit *hit;
};

static inline double psr_sift_tobs(const struct psr_sift *s, const struct psr_sift_entry *e)
{
    return s->list[e->list].tobs_s;
}

static inline bool psr_sift_same_segment(const struct psr_sift *s, const struct psr_sift_entry *a,
                                         const struct psr_sift_entry *b)
{
    const struct psr_segment x = s->list[a->list].segment, y = s->list[b->list].segment;
    return x.number == y.number && x.of == y.of;
}

/* By how many bins p f_a and q f_b, of which one is a fold, may differ: its frequency is known to this over its harmonics. */
static inline double psr_sift_fold_error(const struct psr_sift *s, const struct psr_sift_entry *a,
                                         double p, const struct psr_sift_entry *b, double q)
{
    return fmin(0.6 * (p / a->nharm + q / b->nharm), s->d.r_err);
}

/* Rejects an entry at numer / denom of the frequency of a better one. */
static inline void psr_sift_reject_harmonic(struct psr_sift_entry *e, size_t of, int numer,
                                            int denom)
{
    e->reason = PSR_SIFT_HARMONIC;
    e->of = of;
    e->ratio[0] = numer;
    e->ratio[1] = denom;
}

/* Why a candidate of a list cannot be a pulsar, on its own.
 * Given:  power   [e->nharm] */
enum psr_sift_reason psr_sift_judge(const struct psr_sift *s, const struct psr_sift_entry *e,
                                    const double *power, double tobs_s, bool barycentric);

/* Frequency at the telescope over that of the list. */
double psr_sift_topo_scale(const struct psr_sift *s, const struct psr_sift_list *list);

/* Gives harmonics at lines the power of noise, if the others are significant: the mains are among the harmonics of a pulsar
 * of 60 ms, and are brightest at another DM.
 * Given:  scale   psr_sift_topo_scale of the list
 *         room    [PSR_ACCEL_LIST_MAX_HARM] that row points to afterwards, if powers are left out */
enum psr_sift_lines psr_sift_leave_lines_out(const struct psr_sift *s,
                                             const struct psr_sift_list *list, double scale,
                                             struct psr_accel_row *row, double *room);

/* Takes a list as psr_sift_add does. */
typedef psr_status psr_sift_take_list(psr_sift *s, const struct psr_accel_rows *rows,
                                      const char *path, double dm, psr_err *err);

/* Harmonics of a boxcar up to this share of 1 / duty have most of its power: a fold's entry has as many. */
static const double psr_sift_fold_share = 0.6;

/* Makes an entry of a row: frequency, power, sigma, S/N. */
struct psr_sift_entry psr_sift_make_entry(const struct psr_sift *s, const struct psr_accel_row *row,
                                          double tobs_s);

/* Above this sigma noise explains no row of any search. */
static const double psr_sift_sure_sigma = 7;

/* Sigma of what is not in a list, at most. */
static inline double psr_sift_unseen(const struct psr_sift *s)
{
    return s->faintest > s->d.sigma_threshold && s->faintest < INFINITY ? s->faintest
                                                                        : s->d.sigma_threshold;
}

/* Whether what a candidate has in harmonics that are no multiples of n is not noise. */
bool psr_sift_has_others(const struct psr_sift *s, const struct psr_sift_entry *e, int n);

/* Whether a better candidate, a, may explain another one, at numer/denom of its frequency: not by what DM 0 fits what it
 * does not fit, unless their DMs agree, and not by a high harmonic what is stronger than all of a at that DM. */
bool psr_sift_may_explain(const struct psr_sift *s, const struct psr_sift_entry *a,
                          const struct psr_sift_entry *b, int numer, int denom);

/* Compares its hits with the curves of a dispersed and of an undispersed signal; s->dm_key is sorted. */
void psr_sift_compare_dms(struct psr_sift *s, size_t id);

/* Finds hum by its folds at the lowest DM; duplicates are known. */
void psr_sift_find_hum(struct psr_sift *s);

/* Whether a candidate is a fold of hum, and no stronger than the others say. */
bool psr_sift_is_hum(const struct psr_sift *s, const struct psr_sift_entry *e);

/* Whether a is a fold of hum, and b is none: ratios of small numbers explain b by chance then. */
bool psr_sift_is_no_fold_of_hum(const struct psr_sift *s, const struct psr_sift_entry *a,
                                const struct psr_sift_entry *b);

/* At how many successive DMs, up to most, its signal would be found.
 * Given:  place   of its DM among s->dm_key */
int64_t psr_sift_expect_dms(const struct psr_sift *s, const struct psr_sift_entry *e, int64_t place,
                            int64_t most);

/* Fills noise_limit. */
void psr_sift_limit_noise(struct psr_sift *s);

/* A DM as a whole number of these: equal DMs have equal keys. */
#define PSR_SIFT_KEYS_PER_DM 1e6
int64_t psr_sift_dm_key(double dm, bool presto);

/* Whether DMs up to low_dm_cutoff were searched, and above; s->dm_key is sorted. */
static inline bool psr_sift_searched_both(const struct psr_sift *s)
{
    const double cutoff = s->d.low_dm_cutoff * PSR_SIFT_KEYS_PER_DM;
    return s->ndm && (double)s->dm_key[0] <= cutoff && (double)s->dm_key[s->ndm - 1] > cutoff;
}

/* The DM in the name of a list or .inf file.
 * Returned: number of decimals, *dm; -1 if there is none */
int psr_sift_dm_of_name(const char *path, bool presto, double *dm);

/* Adds the DMs of the .inf files beside lists first .. nlist - 1.
 * Status: PSR_ENOMEM.  A folder that cannot be read has none. */
PSR_MUST_CHECK psr_status psr_sift_find_dms(struct psr_sift *s, size_t first, psr_err *err);

/* The steps; each takes entries out of s->order, which is by falling sigma before and after. */
PSR_MUST_CHECK psr_status psr_sift_sort(struct psr_sift *s, psr_err *err);
PSR_MUST_CHECK psr_status psr_sift_duplicates(struct psr_sift *s, psr_err *err);
PSR_MUST_CHECK psr_status psr_sift_duplicates_presto(struct psr_sift *s, psr_err *err);
PSR_MUST_CHECK psr_status psr_sift_dm_problems(struct psr_sift *s, psr_err *err);
PSR_MUST_CHECK psr_status psr_sift_harmonics(struct psr_sift *s, psr_err *err);

/* Drops the entries from the order whose reason is no longer PSR_SIFT_GOOD. */
void psr_sift_drop(struct psr_sift *s);

/* Copies d.lines by frequency.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sift_sort_lines(struct psr_sift *s, psr_err *err);

/* Marks a result with its hits. */
void psr_sift_mark(const struct psr_sift *s, const struct psr_sift_entry *e,
                   struct psr_sift_cand *cand);

/* Whether a candidate cannot be at DM 0, whatever part of the band it is in. */
static inline bool psr_sift_is_off_dm0(const struct psr_sift_entry *e)
{
    return e->verdict == PSR_SIFT_DISPERSED && !e->flat_fits;
}

/* Orders results: those with marks that are no known pulsars behind the others, and fundamentals before their
 * harmonics, which get their marks.  s->order and s->cand are parallel.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sift_rank(struct psr_sift *s, psr_err *err);

/* Puts results in an order, but fundamentals that are not there yet before their harmonics, unless they come
 * later; the numbers of fundamentals follow.
 * Given:  order [n]   places in cand
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sift_arrange(struct psr_sift_cand *cand, size_t n,
                                           const size_t *order, psr_err *err);

/* Finds the known pulsar of each result. */
void psr_sift_identify(const struct psr_sift *s, const struct psr_sift_list *list,
                       struct psr_sift_cand *cand);

/* The summed power of so many harmonics that has this sigma. */
double psr_sift_power_of(double sigma, int nharm);

/* --- what others ask -------------------------------------------------------------------------- */

/* Whether a result has marks against it and is no known pulsar: such come after the others. */
bool psr_sift_comes_later(const struct psr_sift_cand *cand);

/* Adds DMs that were searched, in any order: dm [n]. */
PSR_MUST_CHECK psr_status psr_sift_add_dms(psr_sift *s, const double *dm, size_t n, psr_err *err);

/* The probability that the numbers give. */
double psr_cand_probability(const double number[PSR_CAND_NNUMBER]);

#endif
