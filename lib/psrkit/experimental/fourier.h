/* fourier.h: searches series and spectra for pulsars as gpuaccel-pulscan does, with boxcars, matched
 * filters or both, and writes the lists of what it finds.
 *
 *   psr_fourier_defaults(&d);
 *   st = psr_fourier_create(&f, &d, &err);
 *   st = psr_fourier_plan(f, &shape, n, &err);       for n inputs of one length
 *   for each batch, of at most psr_fourier_batch(f) inputs:
 *       in[i].x = psr_fourier_room(f, slot, i), to be filled with samples or bins
 *       st = psr_fourier_prepare(f, &in[i], &err);   by any thread
 *       st = psr_fourier_whiten(f, &in[i], &err);    likewise
 *       st = psr_fourier_execute(f, slot, n, in, &err);
 *       st = psr_fourier_list(f, slot, i, &result, &err);
 *
 * Results do not depend on the batch, the slot or the number of threads; nor, but for the rounding
 * that pulscan.h and accelsearch.h state, on the device. */
#ifndef PSRKIT_FOURIER_H
#define PSRKIT_FOURIER_H

#include <psrkit/experimental/accel.h>
#include <psrkit/experimental/accelsearch.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/pulscan.h>
#include <psrkit/series.h>

PSR_API_BEGIN

typedef struct psr_fourier psr_fourier;

enum {
    PSR_FOURIER_SLOTS = 2,
    PSR_FOURIER_ENDWIDTH = 1 << 20, /* limit of endwidth */
    PSR_FOURIER_SUFFIX = 100,       /* bytes of a suffix of a list's name */
};

/* Call psr_fourier_defaults first, then set fields.  Pointers are borrowed. */
struct psr_fourier_desc {
    size_t size;

    /* Search. */
    bool boxes, matched;         /* with which; default boxes */
    bool confirm;                /* both: keep what matched filters find within 15 bins of a box */
    bool presto, pulscan;        /* reproduce the list of accelsearch or of Pulscan */
    int64_t zmax, wmax, numharm; /* as in psr_pulscan_desc (zmax 0: boxes of two bins too) and
                                    psr_accelsearch_desc; wmax -1: not given */
    double sigma;
    double flo_hz, fhi_hz; /* of the fundamental; of a matched search, the highest harmonic */
    double rlo, rhi;       /* bins that replace these; -1: not given */
    double lobin;          /* matched: searches no bin below */
    int64_t zstep, chunkwidth, normalizechunkwidth; /* of boxes; 0: chosen */
    bool logz, rblock;
    int64_t turbo; /* Pulscan's, for the name of its list */
    enum psr_pulscan_significance significance;
    bool noharmremove, noharmpolish;
    bool inmem, photon, locpow;        /* of the matched search */
    const struct psr_zaplist *zaplist; /* NULL: none */
    double baryv;                      /* as in psr_zaplist_bins */
    int64_t maxcands;                  /* largest number of candidates of a list; 0: all */

    /* Red noise. */
    bool rednoise;                /* remove it from spectra of series, and from .fft */
    int64_t startwidth, endwidth; /* of psr_redden; endwidth 0: chosen */
    double endfreq_hz;

    /* Running. */
    bool keep_spectra;  /* psr_fourier_prepare leaves the spectrum of a series */
    const char *device; /* as for psr_device_choose */
    int64_t nthread;    /* threads; 0: all cores */
    int64_t mem_bytes;  /* 0: chosen */
    int64_t batch;      /* inputs searched at once; 0: chosen */
    int64_t max_batch;  /* limit of what is chosen; 0: none */

    bool (*should_stop)(void *ctx); /* polled by any thread, often; NULL: never */
    void *ctx;
    /* Told how much of an execute is done on the CPU, by one thread at a time; NULL: not. */
    void (*progress)(void *ctx, int64_t done, int64_t total);
};

void psr_fourier_set_defaults(struct psr_fourier_desc *desc, size_t size);
#define psr_fourier_defaults(desc) psr_fourier_set_defaults((desc), sizeof *(desc))

/* Status: PSR_ENOMEM.  What d says is checked by psr_fourier_plan. */
PSR_MUST_CHECK psr_status psr_fourier_create(psr_fourier **out, const struct psr_fourier_desc *d,
                                             psr_err *err);

/* Inputs that one plan can search. */
struct psr_fourier_shape {
    int64_t nbin; /* complex bins; a series has 2 nbin samples */
    double tobs_s;
    bool series;   /* samples, not bins */
    bool reddened; /* red noise is removed already */
};

/* That of a file, or of a series that is described as one. */
struct psr_fourier_shape psr_fourier_shape_of(const struct psr_spectrum_file *file);

/* True if there is a plan for inputs of this shape. */
bool psr_fourier_fits(const psr_fourier *f, const struct psr_fourier_shape *shape);

/* Makes the plan for inputs of a shape, unless it is there; frees the one before.
 * Given:  ninput   that are to come, of this shape or others
 * Status: PSR_EINVAL naming the field; PSR_EUNSUPPORTED for inputs too short for any search; those of psr_pulscan_create
 *         and psr_accelsearch_create.  There is no plan then. */
PSR_MUST_CHECK psr_status psr_fourier_plan(psr_fourier *f, const struct psr_fourier_shape *shape,
                                           size_t ninput, psr_err *err);

/* Of the plan: inputs that are searched at once, and sets of them that have room: while one is
 * searched, the other may be filled. */
size_t psr_fourier_batch(const psr_fourier *f);
size_t psr_fourier_nslot(const psr_fourier *f);

/* An input under way. */
struct psr_fourier_input {
    const char *name; /* in messages */
    struct psr_fourier_shape shape;
    float *x;       /* [2 nbin]; overwritten */
    double photons; /* set by psr_fourier_whiten */
};

/* Room for input i of a slot: 2 nbin floats, until the next plan; NULL for lack of memory. */
float *psr_fourier_room(psr_fourier *f, size_t slot, size_t i);

/* Brings samples or bins into the plan's form.  Thread-safe for different inputs.
 * Returned: *exponent   the input was divided by 2^exponent, which no search depends on; may be
 *                       NULL
 * Status:   PSR_EFORMAT (a value that is not finite), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fourier_prepare(const psr_fourier *f, struct psr_fourier_input *in,
                                              int *exponent, psr_err *err);

/* Whitens for a matched search without boxes; call it after psr_fourier_prepare.  Thread-safe for
 * different inputs.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fourier_whiten(const psr_fourier *f, struct psr_fourier_input *in,
                                             psr_err *err);

/* Searches n inputs of a slot; they must stay valid until their lists are made.
 * Status: PSR_ENOMEM, PSR_EDEVICE, PSR_ESTOPPED if should_stop returned true */
PSR_MUST_CHECK psr_status psr_fourier_execute(psr_fourier *f, size_t slot, size_t n,
                                              struct psr_fourier_input *in, psr_err *err);

/* What was found in an input.  Valid until it is cleared or the slot is executed again. */
struct psr_fourier_result {
    struct psr_accel_list list;
    const struct psr_pulscan_hit *hit; /* [nhit] of boxes; NULL: none were searched */
    size_t nhit;
    size_t ncand;    /* as counted: with pulscan, its hits */
    size_t left_out; /* candidates beyond maxcands */
    /* Red noise that was left in and may lead the list: below red_hz its power is up to red_level
     * times that of the noise, at red_from_hz.  red_hz 0: there is none. */
    double red_hz, red_level, red_from_hz;
    double search_s;               /* seconds that the matched search took only now, beside boxes */
    struct psr_measured measured;  /* storage */
    struct psr_accel_cand *joined; /* storage */
    struct psr_accel_harm *harm;   /* storage */
};

/* Merges and measures what was found in input i of the last execute of a slot.
 * Status: PSR_EFORMAT (a sample or bin that is not finite), PSR_ENOMEM, PSR_EDEVICE, PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psr_fourier_list(psr_fourier *f, size_t slot, size_t i,
                                           struct psr_fourier_result *result, psr_err *err);
void psr_fourier_result_clear(struct psr_fourier_result *result);

/* Notes red noise that was left in; name is that of the input.
 * Returned: false if there is none */
bool psr_fourier_note_red_noise(const struct psr_fourier_result *result, const char *name,
                                const struct psr_notes *notes);

/* The plan of the boxes of a slot, whose last execute psr_pulscan_amplitudes reads; NULL: none. */
psr_pulscan *psr_fourier_boxes(psr_fourier *f, size_t slot);

/* Frees the object; NULL is allowed. */
void psr_fourier_destroy(psr_fourier *f);

/* --- lists ------------------------------------------------------------------------------------ */

/* accelsearch's three lists ROOT_ACCEL_200, .cand and .txtcand (_ACCEL_200_JERK_60), or Pulscan's
 * one. */
enum { PSR_FOURIER_TEXT, PSR_FOURIER_CAND, PSR_FOURIER_TXTCAND };

/* Calls check for the name of each list, until one call fails.
 * Status: that of the failed call; PSR_EINVAL if a list of another search has the name */
PSR_MUST_CHECK psr_status psr_fourier_names(const struct psr_fourier_desc *d, const char *root,
                                            psr_status (*check)(void *ctx, const char *name,
                                                                psr_err *err),
                                            void *ctx, psr_err *err);

/* The claim of lists of this root on an output group.  root is borrowed. */
struct psr_output_group_desc psr_fourier_claim(const struct psr_fourier_desc *d, const char *root,
                                               char kind[16]);

/* Where an input is from. */
struct psr_fourier_origin {
    const struct psr_inf *inf;
    const char *inf_path; /* whose text ends the list; NULL: inf is written */
};

/* Adds the lists of a result to a group: as accelsearch, without candidates only an empty .txtcand,
 * and lists of an earlier search are removed.
 * Status: those of psr_output_group_add and psr_accel_write */
PSR_MUST_CHECK psr_status psr_fourier_write(const struct psr_fourier_desc *d,
                                            psr_output_group *group, const char *root,
                                            const struct psr_fourier_origin *origin,
                                            const struct psr_fourier_result *result, psr_err *err);

/* --- spectra in memory --------------------------------------------------------------------------- */

/* Transforms a series into its spectrum or, with back, a spectrum into its series, in place.
 * Given:  x   [n] in room for n + 2, as malloc aligns it; the last two are overwritten
 * Status: PSR_EINVAL (n odd, below 2 or above 2^32), PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_spectrum_transform(float *x, int64_t n, bool back, psr_err *err);

/* Divides X by the square root of the local mean power, which is the blocks' median over ln 2 at
 * their middles and linear between; bin 0 becomes 1.
 * Given:    X [nbin][2]
 * Status:   PSR_EINVAL naming field, value and limit; PSR_ENOMEM
 * Notes:    PRESTO's numbers to about 0.2 %, or, with presto, to rounding.  Bins where the mean power is 0 or less become 0. */
PSR_MUST_CHECK psr_status psr_spectrum_deredden(float *x, int64_t nbin,
                                                const struct psr_redden *how, psr_err *err);

/* What replaces known interference. */
struct psr_zap {
    const struct psr_zaplist *list;
    double tobs_s;
    double baryv; /* mean velocity of the telescope towards the source over c, for topocentric lines
                      in a spectrum of a barycentred series */
    bool constant; /* the root of the mean power, as zapbirds did before August 2026; else noise of
                      that mean: the same for the same lines */
};

/* Replaces the bins of each line, at least one, by frequency; the first and the last bin stay.  The
 * mean power is that of 200 bins on each side, 100 from the line, where they exist.
 * Given:    X [nbin][2]
 * Returned: *nleft, lines without bins on either side, which stay
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_spectrum_zap(float *x, int64_t nbin, const struct psr_zap *how,
                                           size_t *nleft, psr_err *err);

/* The mean velocity of the telescope towards or, above 0, away from the source over c, during the
 * series that inf describes; what psr_zap.baryv takes.
 * Status: PSR_EFORMAT naming the field (telescope, position or epoch that are not known) */
PSR_MUST_CHECK psr_status psr_inf_velocity(const struct psr_inf *inf, double *voverc, psr_err *err);

PSR_API_END
#endif
