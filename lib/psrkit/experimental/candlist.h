/* candlist.h: candidates to fold: lists of them, in the formats of several programs. */
#ifndef PSRKIT_CANDLIST_H
#define PSRKIT_CANDLIST_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* An orbit, as prepfold's -pb -e -x -w -To. */
struct psr_fold_orbit {
    double period_s, ecc, asini_s;
    double omega_deg;
    double t0_mjd;        /* of periastron */
    double pd, omega_dot; /* not used */
};

/* When a candidate has its frequency and derivatives. */
enum psr_fold_at {
    PSR_FOLD_AT_START,     /* at the first sample folded */
    PSR_FOLD_AT_BEGINNING, /* at the first sample of the input */
    PSR_FOLD_AT_MIDDLE,    /* in the middle of the input */
    PSR_FOLD_AT_EPOCH,     /* at epoch_mjd */
};

struct psr_folder_candidate {
    const char *name;        /* of the candidate, for the .pfd */
    const char *plot_device; /* for the .pfd */
    double f, fd, fdd;       /* Hz, Hz/s, Hz/s^2: at the barycentre if spectra are barycentred, else
                                on the clock of the samples */
    enum psr_fold_at at;
    double epoch_mjd;            /* on the same clock */
    double phase;                /* of the first sample folded, turns */
    double dm;                   /* pc cm^-3; not of series */
    int64_t nbin;                /* of a profile; 0: samples per turn, at most 64 */
    struct psr_fold_orbit orbit; /* period_s 0: none */
    double start, end; /* fractions of the input, as in psr_folder_desc, of a candidate that was
                                    found in a segment; a folder ignores them. end 0: none */
};

/* A list; initialise with zeros. */
struct psr_candlist {
    struct psr_folder_candidate *cand; /* [n] with capacity [room]; owned with its names */
    size_t n, room;
};

/* Adds a candidate; its name is copied.
 * Given:  name   NULL: made from its period or frequency as prepfold does: 20.00ms_Cand or
 *                50.00Hz_Cand
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_candlist_add(struct psr_candlist *list,
                                           const struct psr_folder_candidate *cand,
                                           const char *name, bool by_period, psr_err *err);

/* Sets f, fd and fdd from a period or a frequency and its derivatives, as prepfold does: each
 * derivative from that of the frequency, unless that is 0.
 * Given: p, f   s, Hz; one of them above 0, f first */
void psr_candlist_set_spin(struct psr_folder_candidate *cand, double p, double pd, double pdd,
                           double f, double fd, double fdd);

/* Appends _2, _3, .. to names that occurred before, as prepfold_multi does, so that no output
 * takes the place of another.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_candlist_make_unique(struct psr_candlist *list,
                                                   const struct psr_notes *notes, psr_err *err);

struct psr_candlist_desc {
    size_t size;                        /* sizeof the struct */
    struct psr_folder_candidate common; /* what lists do not state: phase, bins, orbit, DM */
    bool has_dm; /* common.dm is that of candidates for which a list has none */
    /* Is told of a line that is wrong, and the others are read; NULL: the first ends the reading. */
    void (*refuse)(void *ctx, const psr_err *why);
    void *ctx;
    struct psr_notes notes;
};

/* Adds the candidates of a file, which is one of:
 *
 * - a table whose header begins with # and names its columns, as for prepfold_multi -candfile and
 *   PulsarX --candfile (and the .cands that PulsarX writes), or comma-separated values whose first
 *   line names them, as gpuaccel-pulscan -csv writes them; psrkit-formats(5) lists the names
 * - PulsarX's --candfile without such a line: 6, 7 or 12 columns (with F2; with an orbit)
 * - a list of PRESTO's ACCEL_sift.py: a candidate is the record of FILE.cand (beside the list, with
 *   its .inf) that the list names; without that file, what the list states of it
 * - ROOT_ACCEL_200.cand of accelsearch or gpuaccel-pulscan, with ROOT.inf, which has the DM
 * - ROOT.lists, with such files in it
 *
 * Given:  path   "-" is standard input
 * Status: PSR_EFORMAT naming file, line, field, value and limit; PSR_EIO, PSR_ENOMEM; PSR_EFORMAT
 *         for a file without any candidate, also if all were wrong */
PSR_MUST_CHECK psr_status psr_candlist_read(struct psr_candlist *list, const char *path,
                                            const struct psr_candlist_desc *desc, psr_err *err);

/* Adds records of ROOT_ACCEL_200.cand, with ROOT.inf; the DM is common.dm.
 * Given:  numbers   "all", or numbers from 1 and ranges: 1,3,5-9
 * Status: PSR_EINVAL (numbers, a name without _ACCEL), PSR_EFORMAT, PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_candlist_read_accel(struct psr_candlist *list, const char *path,
                                                  const char *numbers,
                                                  const struct psr_candlist_desc *desc,
                                                  psr_err *err);

/* Keeps the first n candidates, or all if there are no more. */
void psr_candlist_cut(struct psr_candlist *list, size_t n);

/* Frees the candidates; may be called again. */
void psr_candlist_clear(struct psr_candlist *list);

PSR_API_END
#endif
