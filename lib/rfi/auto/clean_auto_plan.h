/* clean_auto_plan.h: internals of automatic cleaning (private). */
#ifndef PSR_RFI_AUTO_CLEAN_AUTO_PLAN_H
#define PSR_RFI_AUTO_CLEAN_AUTO_PLAN_H

#include "base/base.h"
#include "clean_auto_math.h"
#include "dsp/dsp.h"
#include <psrkit/experimental/clean_auto.h>

/* Sums of products of sub-bands over n tiles. */
struct psr_auto_products {
    size_t n;
    float sum[PSR_AUTO_GROUPS * PSR_AUTO_GROUPS]; /* [ngroup][ngroup] */
};

enum {
    PSR_AUTO_CELLS = 16,   /* of a block, of which steps of the band's level are made */
    PSR_AUTO_STRETCH = 16, /* cells between two of them, at least */
    PSR_AUTO_MOST_CELLS = PSR_AUTO_CELLS * PSR_AUTO_BLOCKS,
    PSR_AUTO_RUNS = 64, /* that the delay of a source is of */
    PSR_AUTO_JUMPS = PSR_AUTO_MOST_CELLS / PSR_AUTO_STRETCH + 2
};

/* A stretch of a window in which the level of the band differs. */
struct psr_auto_jump {
    size_t first, end;              /* spectra */
    double height[PSR_AUTO_GROUPS]; /* of sub-bands, in sigmas of a spectrum */
};

/* The delay between both ends of the band, in spectra, and its noise; 0: it has none. */
struct psr_auto_delay {
    double size, noise;
};

/* A run of spectra that the band stands out in. */
struct psr_auto_run {
    size_t first, end, from, to; /* spectra; and those with what is beside them */
    bool sparks;                 /* are judged: they count in it */
    bool of_receivers;           /* what seems delayed, gains explain better */
    struct psr_auto_delay delay;
};

/* How far a cell's mean and deviation are from those of the window, in sigmas: less what the whole band has, and what
 * the channels beside it have. */
enum psr_auto_rating {
    PSR_AUTO_MEAN,
    PSR_AUTO_SD,
    PSR_AUTO_NEAR_MEAN,
    PSR_AUTO_NEAR_SD,
    PSR_AUTO_RATINGS
};

/* One block of a window. */
struct psr_auto_block {
    size_t first, n;               /* spectra of the window */
    double *s1, *s2;               /* [nchan] */
    float *mean, *sd;              /* [nchan] */
    float *z[PSR_AUTO_RATINGS];    /* [nchan] those of deviations become the larger of both */
    unsigned char *valid;          /* [nchan] has statistics that are numbers */
    unsigned char *masked;         /* [nchan] */
    float *gain, *offset;          /* [nchan] */
    size_t count[PSR_AUTO_GROUPS]; /* channels not masked; 0: the sub-band does not count */
    size_t ncount;                 /* sub-bands that count; 0 if fewer than 4 */
};

/* Where samples are cleaned.  Steps of a window are in this order, for p->win.from, to, n and block: the passes over
 * samples, and what is measured; decisions between them are the same everywhere. */
struct psr_auto_ops {
    const char *name;
    /* Make p->state, for devices; NULL: there is none. */
    psr_status (*create)(psr_clean_auto *p, psr_err *err);
    void (*destroy)(psr_clean_auto *p);

    psr_status (*sum)(psr_clean_auto *p, psr_err *err); /* s1 and s2 of blocks with statistics */
    psr_status (*quantise)(psr_clean_auto *p, psr_err *err);    /* by gain and offset */
    psr_status (*find_sparks)(psr_clean_auto *p, psr_err *err); /* and pulses, and bursts */
    psr_status (*find_jumps)(psr_clean_auto *p, bool *some,
                             psr_err *err); /* as psr_auto_find_jumps */
    psr_status (*measure)(psr_clean_auto *p, struct psr_auto_products *now,
                          struct psr_auto_scale *one, psr_err *err); /* as psr_auto_measure */
    /* What to subtract, of one kind: common noise, the mean of all channels, nothing. */
    psr_status (*find_offsets)(psr_clean_auto *p, const struct psr_auto_modes *m, psr_err *err);
    psr_status (*find_mean)(psr_clean_auto *p, psr_err *err);
    psr_status (*clear_offsets)(psr_clean_auto *p, psr_err *err);
    psr_status (*add_jumps)(psr_clean_auto *p, psr_err *err);     /* to that */
    psr_status (*quantise_less)(psr_clean_auto *p, psr_err *err); /* by weight, too */
    psr_status (*blank)(psr_clean_auto *p, psr_err *err);         /* sparks */

    /* As the public functions; those of devices NULL where there is none. */
    psr_status (*execute)(psr_clean_auto *p, const void *in, size_t nsamp, void *out, size_t *nout,
                          psr_err *err);
    psr_status (*finish)(psr_clean_auto *p, void *out, size_t *nout, psr_err *err);
    psr_status (*execute_device)(psr_clean_auto *p, const void *in, size_t nsamp, void **d_out,
                                 size_t *nout, psr_err *err);
    psr_status (*finish_device)(psr_clean_auto *p, void **d_out, size_t *nout, psr_err *err);
    psr_status (*blank_device)(psr_clean_auto *p, size_t nsamp, void **d_out, psr_err *err);
};

extern const struct psr_auto_ops psr_auto_cpu, psr_auto_cuda;

/* The window being cleaned. */
struct psr_auto_window {
    const unsigned char *from;
    unsigned char *to;
    size_t n, nblock, size; /* spectra, blocks with statistics, and spectra of these */
    struct psr_auto_block block[PSR_AUTO_BLOCKS + 1];
    size_t nrange; /* blocks and what is left after them */
};

/* What is known of channels (clean_auto_cells.c). */
struct psr_auto_levels {
    float *level, *sd;                       /* [nchan] l and s; not a number: none */
    double *l_now, *s_now, *l_prev, *s_prev; /* [nchan] L and S, and those of the window before */
    unsigned char *bad, *was_bad; /* [nchan] masked in the whole window, and in that before */
    unsigned char *npast;         /* [nchan] windows since the level stepped */
    float *past_l, *past_s;       /* [PSR_AUTO_HISTORY][nchan], a ring; not a number: none */
    size_t nwindow;               /* with statistics */
    bool hold,
        held_before; /* they stay in this window, and in that before: the band's has stepped */
    double tail;     /* level of the band in the last block of the window, in sigmas of a channel */
};

/* What stands out in the band (clean_auto_rows.c, clean_auto_delays.c). */
struct psr_auto_band {
    int32_t *sum;         /* [window][ngroup] u */
    int64_t *fold;        /* [window][ngroup] u, summed over 1, 2, 4 .. spectra */
    float *tile;          /* [window] M of the tiles of a width */
    float *rate;          /* [PSR_AUTO_WIDTHS][PSR_AUTO_TILES][ngroup] */
    unsigned char *spark; /* [window] */
    unsigned char *pulse; /* [window] common noise is not measured there */
    unsigned char
        *burst; /* [window] dispersed: no spark, and common noise is not taken out there */
    struct psr_auto_run *run;                   /* [window / 2] */
    double *prefix;                             /* [2 window + 1] */
    struct psr_auto_delay delay[PSR_AUTO_RUNS]; /* of the last runs, a ring */
    size_t ndelay;                              /* since the start */
};

/* Where the level of the band steps (clean_auto_jumps.c). */
struct psr_auto_jumps {
    size_t ncell, njump;
    int64_t cell_sum[PSR_AUTO_MOST_CELLS + 1];  /* of the band before each cell, in fixed point */
    int64_t cell_good[PSR_AUTO_MOST_CELLS + 1]; /* spectra that it is of */
    struct psr_auto_jump jump[PSR_AUTO_JUMPS];
    bool open;       /* the last window ended in a jump */
    bool burst_open; /* it ended in a burst */
    double last_sum; /* of the band, near the end of the last window */
};

/* Noise that sub-bands have in common (clean_auto_modes.c). */
struct psr_auto_common {
    float *mode, *median; /* [ngroup][window] parts along modes, and their running medians */
    float *less;          /* [window][ngroup] levels to subtract from the channels of a sub-band */
    struct psr_auto_products past[PSR_AUTO_WIDTHS][PSR_AUTO_HISTORY]; /* a ring */
};

/* What is missing since when, to be told again (clean_auto_window.c). */
struct psr_auto_changes {
    float *missing;        /* [nchan] share of the variance that is missing now */
    struct psr_step *step; /* of the last call */
    size_t nstep, step_room;
    uint16_t *cell;               /* [windows][nchan] bit k: block k is masked */
    size_t cell_room, first_size; /* windows; spectra of a block of the first */
    struct psr_span *spark_span;  /* [nspark] */
    size_t nspark, spark_room;
};

/* For psr_clean_auto_describe (clean_auto_window.c). */
struct psr_auto_account {
    struct psr_clean_auto_report report;
    int64_t *masked;
    unsigned char *mask;
    float *all_level, *all_sd;
    size_t room; /* windows of mask and both */
    struct psr_span *span;
    size_t nspan, span_room;
};

struct psr_clean_auto {
    const struct psr_auto_ops *ops;
    void *state; /* of a device */
    struct psr_clean_auto_desc d;
    struct psr_layout in;
    int nthread;
    size_t usual, window, ngroup; /* spectra of a block and of a window; sub-bands */
    unsigned char *keep;
    unsigned char *weight; /* [nchan] q; all 5 without weights */
    float *work; /* [max(PSR_AUTO_RATINGS PSR_AUTO_BLOCKS nchan, (PSR_AUTO_BLOCKS + 1) window)] */
    float **row; /* [nthread][nchan] */
    unsigned char *held; /* [nheld] spectra of the window that is not full */
    size_t nheld;
    struct psr_own own; /* all arrays that do not grow */

    struct psr_auto_window win;
    struct psr_auto_levels levels;
    struct psr_auto_band band;
    struct psr_auto_jumps jumps;
    struct psr_auto_common modes;
    struct psr_auto_changes changes;
    struct psr_auto_account account;
};

/* Cleans spectra from .. of n, at most a window, which become those at to (clean_auto_window.c). */
PSR_MUST_CHECK psr_status psr_auto_clean_window(psr_clean_auto *p, const unsigned char *from,
                                                size_t n, unsigned char *to, psr_err *err);

/* --- rows (clean_auto_rows.c) ----------------------------------------------------------------- */

/* Sums of the samples of a block and of their squares. */
void psr_auto_sum(const psr_clean_auto *p, struct psr_auto_block *b, float *row);

/* Writes the samples of a block, and the sums over sub-bands.
 * Given: filter   subtract p->modes.less, and weigh channels */
void psr_auto_quantise(const psr_clean_auto *p, const struct psr_auto_block *b, bool filter,
                       float *row);

/* First channel of sub-band g. */
static inline size_t psr_auto_first(const psr_clean_auto *p, size_t g)
{
    return g * p->d.nchan / p->ngroup;
}

/* Place of a sub-band in the band, of length 1 around 0. */
static inline double psr_auto_place(const psr_clean_auto *p, size_t g)
{
    const double n = (double)p->d.nchan;
    return (double)(psr_auto_first(p, g) + psr_auto_first(p, g + 1)) / (2 * n) - 0.5;
}

static inline const struct psr_auto_block *psr_auto_block_of(const psr_clean_auto *p, size_t t)
{
    const size_t k = t / p->win.size;
    return &p->win.block[k < p->win.nrange ? k : p->win.nrange - 1];
}

/* Sub-bands of spectrum t, in sigmas; sparks count only where they are judged.  Returned: their sum */
static inline double psr_auto_take_spectrum(const psr_clean_auto *p, size_t t, bool sparks,
                                            double *s)
{
    const struct psr_auto_block *b = psr_auto_block_of(p, t);
    double sum = 0;
    for (size_t g = 0; g < p->ngroup; g++) {
        const double count = (double)b->count[g];
        s[g] = b->ncount && b->count[g] && (sparks || !p->band.spark[t])
                   ? (double)p->band.sum[t * p->ngroup + g] / (PSR_AUTO_SIGMA * sqrt(count))
                   : 0;
        sum += s[g];
    }
    return sum;
}

/* --- cells (clean_auto_cells.c) --------------------------------------------------------------- */

/* From sums to levels, scatters and masks of all blocks, and gain and offset. */
void psr_auto_judge(psr_clean_auto *p);

/* --- what is missing (clean_auto_window.c) ---------------------------------------------------- */

/* --- weights ---------------------------------------------------------------------------------- */

/* Finds weights, from L and S. */
void psr_auto_weigh(psr_clean_auto *p);

/* --- the band (clean_auto_rows.c) ------------------------------------------------------------- */

/* Marks sparks and pulses. */
void psr_auto_find_sparks(psr_clean_auto *p);

/* Clears sparks that are dispersed, which become bursts, limits pulses, and marks what has no data (clean_auto_delays.c). */
void psr_auto_find_bursts(psr_clean_auto *p);

/* Whether a delay of the sign of dispersion fits a run of sparks, between low and up to high, better than none. */
bool psr_auto_fits_delay(const psr_clean_auto *p, const struct psr_auto_run *r, size_t low,
                         size_t high);

/* A quarter of its length on either side belongs to a run, from low and up to high. */
void psr_auto_widen_run(struct psr_auto_run *r, size_t low, size_t high);

/* Makes a run a burst if it is dispersed.  Returned: whether it is */
bool psr_auto_judge_run(psr_clean_auto *p, struct psr_auto_run *r);

/* Leaves in less the mean of all channels. */
void psr_auto_find_mean(psr_clean_auto *p);

/* --- steps of the band's level (clean_auto_jumps.c) ------------------------------------------- */

/* Finds them, and takes them out of sum.  Returned: whether there are some */
bool psr_auto_find_jumps(psr_clean_auto *p);

/* Adds them to less. */
void psr_auto_subtract_steps(psr_clean_auto *p);

/* --- modes ------------------------------------------------------------------------------------ */

/* Widths whose tiles fit into a block. */
size_t psr_auto_count_widths(const psr_clean_auto *p);

/* Measures how sub-bands vary together.
 * Returned: now   [psr_auto_count_widths]
 *           one   of single spectra, if now->n is not 0 */
void psr_auto_measure(psr_clean_auto *p, struct psr_auto_products *now, struct psr_auto_scale *one);

/* Decides which modes are noise, and adds what was measured to the history (clean_auto_modes.c). */
void psr_auto_choose_modes(psr_clean_auto *p, const struct psr_auto_products *now,
                           const struct psr_auto_scale *one, struct psr_auto_modes *m);

/* Leaves in less what to subtract of them. */
void psr_auto_subtract(psr_clean_auto *p, const struct psr_auto_modes *m);

/* --- what a run asks of a plan ---------------------------------------------------------------- */

/* Memory of the plan in bytes, without the report. */
int64_t psr_clean_auto_bytes(const psr_clean_auto *p);

/* Steps of the noise of kept channels in the spectra that the last execute or finish returned, in time order: from
 * spectrum t on, this share of the variance of channel c is missing, 1 where it is masked (sparks included), 0 at the
 * start of the stream; with weights, 1 - (q / 5)^2 where it is not masked.
 * Returned: their number; *step belongs to the plan and is valid until the next call */
size_t psr_clean_auto_missing(const psr_clean_auto *p, const struct psr_step **step);

/* What became of spectra that were returned before.
 * Given:    x [n][nchan]   spectra first .. of the input, as floats
 * Returned: x   divided by s of their window and channel; not a number where they are masked, or none */
void psr_clean_auto_mark(const psr_clean_auto *p, int64_t first, size_t n, float *x);
/* The same, and the spectra stay on the device: *d_out [*nout][nchan], the plan's, valid and complete until its next
 * call.  In is read without a copy if allocated by psr_device_pin.
 * Status: PSR_EUNSUPPORTED (the plan runs on the CPU), PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_clean_auto_execute_device(psr_clean_auto *p, const void *in,
                                                        size_t nsamp, void **d_out, size_t *nout,
                                                        psr_err *err);
PSR_MUST_CHECK psr_status psr_clean_auto_finish_device(psr_clean_auto *p, void **d_out,
                                                       size_t *nout, psr_err *err);

/* So many spectra of zeros on the device, as if they were returned.  Status: as above. */
PSR_MUST_CHECK psr_status psr_clean_auto_blank_device(psr_clean_auto *p, size_t nsamp, void **d_out,
                                                      psr_err *err);

/* Name of the backend; static storage. */
const char *psr_clean_auto_backend(const psr_clean_auto *p);

/* As psr_clean_lost. */
size_t psr_clean_auto_lost(const psr_clean_auto *p, const struct psr_span **span);

#endif
