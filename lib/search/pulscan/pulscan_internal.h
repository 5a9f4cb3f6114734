/* pulscan_internal.h: input and trials of boxes (private). */
#ifndef PSR_PULSCAN_PULSCAN_INTERNAL_H
#define PSR_PULSCAN_PULSCAN_INTERNAL_H

#include "pulscan_backend.h"
#include "search/matched/response/response.h"
#include <psrkit/series.h>
#include <psrkit/signif.h>

/* Returns memory of the plan that an execute reads fastest, for spectrum s < batch: 2 nbin floats.
 * The caller may fill it and pass it to execute, which overwrites series there. */
float *psr_pulscan_input(psr_pulscan *p, size_t s);

/* N_eff of the search (compat: of harmonic sum H = nharm). */
double psr_pulscan_trials(const psr_pulscan *p, int nharm);

/* The sigma of a box of this power in the search; first is used only if spectra were de-reddened.
 */
double psr_pulscan_sigma(const psr_pulscan *p, double power, int nharm, int z, int64_t first);

/* Merges hits, best first.  A hit belongs to the first candidate whose best box it touches, with a
 * gap of at most PSR_PULSCAN_NEAR bins, unless it stands out of that box: a hit less than a quarter
 * as wide whose power over noise exceeds that of the box times 3/2 of the square root of the ratio
 * of their widths, which no drift produces.
 *
 * With a plan, a hit also touches a candidate if power, such as that of red noise, continues all
 * the way between their boxes: over at most the width of either box, the bins, each cut at 8, have
 * a third of the power over noise of the hit's bins, and more than noise with a chance of exp(-5).
 * A box with a gap, more than PSR_PULSCAN_NEAR bins with no more than noise and a sixth of the
 * box's mean, is several signals side by side: it is processed after its parts.
 *
 * A hit that touches no candidate is evaluated without the bins that candidates hold (those of
 * their harmonics as far as they have power, and adjoining lines), and without the side lobes of
 * these, which fall as 1 / distance^2.  If this reduces it to the search's sigma or below, it
 * belongs to the candidate that holds most of it; otherwise it is sorted in again.  If it is then
 * still the best, it is a new candidate.  Its fundamental is the one whose harmonics have power,
 * from 16 times lower to PSR_PULSCAN_MAX_HARM times higher than the hit's, if a box of the search
 * there is above the search's sigma: that box becomes the best.  Sigma therefore never exceeds that
 * of a box of the search, and usually is that of the hit.
 *
 * Without a plan, or if so little of a hit remains, a candidate belongs to the first better one
 * that it touches at a frequency ratio of n, 1/n (n <= 16) or one of
 *   3/2 5/2 2/3 4/3 5/3 3/4 5/4 2/5 3/5 4/5 5/6 2/7 3/7 4/7 3/8 5/8 2/9 3/10 2/11 3/11 2/13 3/13
 *   2/15.
 *
 * Returned: *cand [*ncand] by decreasing sigma, then power, then increasing r; malloc'd, caller
 *           frees; *left_out, number of candidates beyond max (may be NULL)
 * Status:   PSR_ENOMEM; those of psr_pulscan_amplitudes */
PSR_MUST_CHECK psr_status psr_pulscan_merge(const struct psr_pulscan_hit *hit, size_t nhit,
                                            const struct psr_pulscan_merge_desc *desc,
                                            struct psr_pulscan_cand **cand, size_t *ncand,
                                            size_t *left_out, psr_err *err);

/* --- resolves a description to the search that backends perform --- */

struct psr_significance {
    enum psr_pulscan_significance significance;
    bool compat;
    double nbin, normblock;
    double zmax;
    double trials;            /* N_eff of the whole search; not used in a compatible one */
    struct psr_redden redden; /* start 0: spectra were not de-reddened */
    struct psr_span last;     /* the bins whose level the last block of de-reddening sets */
};

/* Bins of the last block of de-reddening, and those before it that its level reaches. */
struct psr_span psr_significance_last_block(const struct psr_redden *redden, int64_t nbin);

/* N_eff for a box of this many harmonics. */
double psr_significance_trials(const struct psr_significance *o, int nharm);

/* A box: its harmonics, its width less one, and the lowest bin of the fundamental. */
struct psr_significance_box {
    int nharm, z;
    int64_t first;
};

/* Both tails of noise, before N_eff. */
struct psr_logp psr_significance_alone(const struct psr_significance *o, double power,
                                       const struct psr_significance_box *box);

double psr_significance_sigma(const struct psr_significance *o, double power,
                              const struct psr_significance_box *box);

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pulscan_check(const struct psr_pulscan_desc *d, psr_err *err);

/* Fills s and o from a checked description; psr_pulscan_forget frees what s holds, also after an
 * error. */
PSR_MUST_CHECK psr_status psr_pulscan_resolve(struct psr_pulscan_search *s,
                                              struct psr_significance *o,
                                              const struct psr_pulscan_desc *d, psr_err *err);
void psr_pulscan_forget(struct psr_pulscan_search *s);

struct psr_pulscan_lines;

/* Removes peaks that are side lobes of a line, as defined in psrkit/experimental/pulscan.h.
 * Given:  lines   those of its spectra
 *         found   by spectrum, H, width and start
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulscan_drop_lobes(const struct psr_pulscan_search *s,
                                                 const struct psr_pulscan_lines *lines,
                                                 struct psr_pulscan_found *found, psr_err *err);

/* Number of bins of harmonic sum H = harm. */
static inline int64_t psr_pulscan_length(const struct psr_pulscan_search *s, int harm)
{
    return (int64_t)s->nbin / harm;
}

/* A resolved description, and the sigma threshold of hits. */
const struct psr_pulscan_search *psr_pulscan_resolved(const psr_pulscan *p);
double psr_pulscan_least_sigma(const psr_pulscan *p);

/* Converts a peak to a hit. */
struct psr_pulscan_hit psr_pulscan_make_hit(const psr_pulscan *p, const struct psr_pulscan_peak *k);

/* Sets the power of a hit, and the corresponding sigma. */
void psr_pulscan_weigh_hit(const psr_pulscan *p, struct psr_pulscan_hit *hit, float power);

/* What bright lines add to the powers of bins around them.
 *
 * Of peaks of one bin that are bright enough, frequency, drift and amplitude of a line are fitted, and
 * its response is subtracted (search/matched/response/response.h).  A bin's power less that without the
 * line is what the line adds.  Brightest lines come first, each fitted to bins without those before
 * it; what is no line, or drifts further than 32 bins, adds nothing. */

/* Bins to both sides of a line in which its response is known. */
enum { PSR_PULSCAN_LINE_REACH = 192 };

/* A line, and what it adds to the powers of its bins. */
struct psr_pulscan_line {
    size_t spec;
    struct psr_line_response is; /* is.n 0: no line after all */
    float *adds;                 /* [is.n] */
};

struct psr_pulscan_lines {
    const struct psr_pulscan_search *s;
    struct psr_response_maker *maker;
    struct psr_pulscan_line *line; /* [n] */
    size_t n, room;
};

PSR_MUST_CHECK psr_status psr_pulscan_lines_create(struct psr_pulscan_lines **out,
                                                   const struct psr_pulscan_search *s,
                                                   psr_err *err);
void psr_pulscan_lines_destroy(struct psr_pulscan_lines *lines); /* NULL is allowed */

/* Where bins of the last execute are read. */
struct psr_pulscan_reader {
    const struct psr_pulscan_ops *ops;
    void *state;
};

/* Finds the lines of all spectra of the last execute.
 * Given:  found   by spectrum, H, width and start
 * Status: PSR_ENOMEM, and those of amplitudes */
PSR_MUST_CHECK psr_status psr_pulscan_lines_find(struct psr_pulscan_lines *lines,
                                                 const struct psr_pulscan_reader *plan,
                                                 const struct psr_pulscan_found *found,
                                                 psr_err *err);

/* A line of spectrum spec in lo .. hi, with the width of its drift; -1: there is none. */
int64_t psr_pulscan_lines_in(const struct psr_pulscan_lines *lines, size_t spec, double lo,
                             double hi);

/* A line's own bins. */
struct psr_span psr_pulscan_lines_bins(const struct psr_pulscan_line *line);

/* Whether a box has at least half of its excess without lines; *power is its power without them. */
bool psr_pulscan_lines_apart(const struct psr_pulscan_lines *lines, size_t spec,
                             const struct psr_pulscan_hit *box, double *power);

/* Those of a plan. */
const struct psr_pulscan_lines *psr_pulscan_lines_of(const psr_pulscan *plan);

/* --- transforms a batch of series to spectra on the CPU --- */

struct psr_pulscan_series;

/* Memory needed, in bytes. */
double psr_pulscan_series_bytes(const struct psr_pulscan_search *s);

PSR_MUST_CHECK psr_status psr_pulscan_series_create(struct psr_pulscan_series **out,
                                                    const struct psr_pulscan_search *s,
                                                    psr_err *err);

/* Transforms in [nspec][2 nbin], each on its own thread, and removes red noise if the search
 * requests it.
 * Returned: bad [nspec]   the lowest sample that is not finite: such a series is skipped; -1: none
 */
PSR_MUST_CHECK psr_status psr_pulscan_series_transform(struct psr_pulscan_series *x, size_t nspec,
                                                       const float *const *in, int64_t *bad,
                                                       psr_err *err);

/* Location of spectrum slot: a series stored there is transformed in place. */
float *psr_pulscan_series_room(struct psr_pulscan_series *x, size_t slot);

/* Spectrum slot, [nbin][2], of the last transform. */
const float *psr_pulscan_series_spectrum(const struct psr_pulscan_series *x, size_t slot);

/* Frees the object; NULL is allowed. */
void psr_pulscan_series_destroy(struct psr_pulscan_series *x);

/* --- the search of one spectrum's powers, tile by tile --- */

enum { PSR_TILE = 4096 }; /* starts */

/* Floats of work that a tile needs. */
size_t psr_tile_work(const struct psr_pulscan_search *s);

/* Searches starts first .. first + PSR_TILE - 1 of a harmonic sum.
 * Given:    sum   s_H, zero for PSR_TILE + zmax bins beyond its end; harm   index of H
 * Returned: found, with what peaks there are; spec of each is 0 */
PSR_MUST_CHECK psr_status psr_tile_search(const struct psr_pulscan_search *s, size_t harm,
                                          const float *sum, int64_t first, float *work,
                                          struct psr_pulscan_found *found, psr_err *err);

#endif
