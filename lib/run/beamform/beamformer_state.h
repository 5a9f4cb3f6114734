/* beamformer_state.h: state of a beamformer, shared by its setup, loop and report (private).
 *
 * The parts of the beamformer do not include this header: each gets what it needs through its own
 * description. */
#ifndef PSR_RUN_BEAMFORM_BEAMFORMER_STATE_H
#define PSR_RUN_BEAMFORM_BEAMFORMER_STATE_H

#include "base/threads/threads.h"
#include "base/tool.h"
#include "beam/beam_internal.h"
#include <psrkit/experimental/array.h>
#include <psrkit/experimental/beam.h>
#include <psrkit/experimental/dada.h>
#include <psrkit/experimental/outfile.h>

/* --- opens the voltages and reads their array ------------------------------------------------- */

struct psr_beam_input {
    const char *name; /* of the first file */
    psr_voltages *voltages;
    const struct psr_dada *header;
    int64_t nsamp; /* -1 if unknown until the end */
    double tsamp_s;
    size_t sample_bytes;
    size_t nfreq;
    double *freq_mhz; /* [nfreq] */
    struct psr_array array;
    struct psr_pointing_frame frame;
};

/* Open the files, and read the array.  Everything can be closed whatever the status.
 * Status: those of psr_voltages_open, PSR_ENOMEM; those of psr_array_read and psr_array_set_site,
 *         PSR_EFORMAT if the numbers of dishes and inputs differ */
PSR_MUST_CHECK psr_status psr_beam_input_open(struct psr_beam_input *in,
                                              const struct psr_voltages_desc *desc, psr_err *err);
PSR_MUST_CHECK psr_status psr_beam_input_read_array(struct psr_beam_input *in, const char *path,
                                                    const char *site, const struct psr_notes *notes,
                                                    psr_err *err);
void psr_beam_input_close(struct psr_beam_input *in);

/* Date of sample t. */
struct psr_mjd psr_beam_input_date(const struct psr_beam_input *in, int64_t t);

/* --- measures or reads the scales that quantise intensities ----------------------------------- */

struct psr_beam_sums {
    size_t nfreq;
    size_t *length; /* [nfreq] samples in a sum of each channel */
    size_t tds;     /* the shortest of them: samples in a row of output */
    size_t longest;
    size_t unit; /* samples in which all channels' sums end together */
};

/* Sets the lengths from a number (0: about 1 ms), or from a file of rows "MHZ SAMPLES", which may
 * be NULL.  They can be cleared whatever the status.
 * Status: those of psr_text_table_read; PSR_EFORMAT naming file, value and limit; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_beam_sums_read(struct psr_beam_sums *s,
                                             const struct psr_beam_input *in, int64_t tds,
                                             const char *file, psr_err *err);
void psr_beam_sums_clear(struct psr_beam_sums *s);

/* Rows that n more samples complete in all channels, after the first t0. */
size_t psr_beam_sums_rows(const struct psr_beam_sums *s, int64_t t0, size_t n);

/* Repeats the sums of channels with longer sums over nrow rows of a beam, each of row_bytes, so
 * that each appears in all rows of its time; as means over them, for floats, if requested. */
void psr_beam_sums_spread(const struct psr_beam_sums *s, void *rows, size_t nrow, size_t row_bytes,
                          bool means);

struct psr_beam_scales_desc {
    const struct psr_beam_input *in;  /* borrowed */
    const struct psr_beam_sums *sums; /* borrowed */
    size_t nbeam;
    int nbit;
    const char *file; /* of an earlier run; NULL: measure */
    int64_t mem_bytes;
};

struct psr_beam_scales {
    struct psr_beam_scales_desc d;
    float *offset, *gain; /* [nfreq] */

    /* While they are measured: rows of floats, [nbeam][kept_most]. */
    bool measures;
    float *kept;
    size_t kept_most, kept_n;
};

/* Reads the file, or prepares to measure, or does nothing for floats.  It can be released whatever
 * the status.
 * Status: those of psr_text_table_read; PSR_EFORMAT; PSR_EINVAL; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_beam_scales_begin(struct psr_beam_scales *s,
                                                const struct psr_beam_scales_desc *desc,
                                                psr_err *err);
void psr_beam_scales_release(struct psr_beam_scales *s);

/* Sets the scales in the plan. */
PSR_MUST_CHECK psr_status psr_beam_scales_apply(const struct psr_beam_scales *s, psr_beam *plan,
                                                psr_err *err);

/* Copies n rows of floats of beam b to the kept rows from "first" on. */
void psr_beam_scales_keep(struct psr_beam_scales *s, size_t b, size_t first, const void *rows,
                          size_t n);

/* Measures on the kept rows, with this number of threads. */
PSR_MUST_CHECK psr_status psr_beam_scales_measure(struct psr_beam_scales *s, int nthread,
                                                  psr_err *err);

/* Quantises the kept rows of a beam in place.
 * Returned: kept_n rows */
const void *psr_beam_scales_quantise(const struct psr_beam_scales *s, size_t b);

/* Writes the file. */
PSR_MUST_CHECK psr_status psr_beam_scales_write(const struct psr_beam_scales *s, psr_outfile *f,
                                                psr_err *err);

/* A filterbank of each beam, and the scales, which get their final names together. */

struct psr_beam_directions {
    bool grid;                      /* beams of the half-integer grid */
    struct psr_pointings pointings; /* selected beams; none if all of the grid are */
    size_t nbeam;                   /* wanted */
    size_t first, nbeam_all; /* number of the first one wanted, and of how many there are in all */
    size_t n_ew;             /* beams of a row where they are a product; 0 where they are none */
    double *theta_ns, *theta_ew; /* [nfreq][nbeam] as last pointed; of a product its lists */
};

/* Reads or makes the list, selects the requested beams, and points them for the start.  It can be
 * cleared whatever the status.
 * Given:  file   for psr_pointings_read; NULL: the grid
 *         beam   form only this one; -1: all
 * Status: those of psr_pointings_read and psr_pointings_theta; PSR_EINVAL if there is no such beam;
 *         PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_beam_directions_choose(struct psr_beam_directions *d,
                                                     const struct psr_beam_input *in,
                                                     const char *file, int64_t beam, psr_err *err);
void psr_beam_directions_clear(struct psr_beam_directions *d);

/* Updates theta_ns and theta_ew of tracking beams to a date. */
PSR_MUST_CHECK psr_status psr_beam_directions_point(struct psr_beam_directions *d,
                                                    const struct psr_beam_input *in,
                                                    struct psr_mjd now, psr_err *err);

/* Direction of beam b at the start and mid-band, its number, and the number of beams. */
void psr_beam_directions_describe(const struct psr_beam_directions *d,
                                  const struct psr_beam_input *in, size_t b, struct psr_obs *obs);

/* All is borrowed. */
struct psr_beam_outputs_desc {
    const struct psr_beamformer_desc *run; /* names of files, bits, notes, should_stop */
    const struct psr_beam_input *in;
    const struct psr_beam_sums *sums;
    const struct psr_beam_directions *directions; /* which stay as they are until wait returns */
    bool gathered; /* what is written comes in pieces that need not be buffered */
    int nthread;
    int64_t mem_bytes;
};

struct psr_beam_outputs {
    struct psr_beam_outputs_desc d;
    size_t nbeam;
    psr_outfile **file; /* [nbeam]; NULL once they are the group's */
    psr_output_group *group;
    struct psr_async_task opening;
};

/* Checks names and makes the files meanwhile: thousands take as long as a plan on a GPU does. */
void psr_beam_outputs_start(struct psr_beam_outputs *o, const struct psr_beam_outputs_desc *desc);

/* Waits until they are there.
 * Status: those of psr_overwrite_check_output, psr_output_group_create, psr_outfile_create */
PSR_MUST_CHECK psr_status psr_beam_outputs_wait(struct psr_beam_outputs *o, psr_err *err);

/* Writes bytes of beam b; different beams may be written by different threads. */
PSR_MUST_CHECK psr_status psr_beam_outputs_write(struct psr_beam_outputs *o, size_t b,
                                                 const void *bytes, size_t n, psr_err *err);

/* Completes the files, which get their final names. */
PSR_MUST_CHECK psr_status psr_beam_outputs_finish(struct psr_beam_outputs *o,
                                                  const struct psr_beam_scales *scales,
                                                  psr_err *err);

/* Removes the files without final names. */
void psr_beam_outputs_abort(struct psr_beam_outputs *o);

/* Buffers the rows of all beams between the plan and the files.
 *
 * Rows of several blocks are collected in a buffer, [nbeam][stride], before they are kept for
 * measuring scales, or written.  Meanwhile the next buffer fills, and rows for the one after it may
 * be started. */

enum { PSR_BEAM_ROWS_BUFFERS = 3 };

/* All is borrowed. */
struct psr_beam_rows_desc {
    psr_beam *plan;
    const struct psr_beam_sums *sums;
    struct psr_beam_scales *scales;
    struct psr_beam_outputs *outputs;
    struct psr_worker_pool *pool;
    void *buffer[PSR_BEAM_ROWS_BUFFERS];
    size_t nbeam;
    bool gathers;         /* else each block's rows go on by themselves */
    size_t stride;        /* rows of a beam in a buffer */
    size_t stride_floats; /* while scales are measured, a block's */
};

/* Rows of every beam that are being kept or written. */
struct psr_beam_rows_task {
    const char *rows; /* [nbeam][stride] */
    size_t stride, n;
    size_t first; /* where they are kept */
};

struct psr_beam_rows {
    struct psr_beam_rows_desc d;
    unsigned buffer_now;    /* buffer that rows are begun in, counted on */
    size_t begun;           /* rows begun in it */
    size_t came;            /* rows that have come where the last ones did */
    size_t coming;          /* of the last block begun */
    unsigned buffer_coming; /* and where to */
    size_t kept_begun;      /* rows to keep that are begun, or there */
    int64_t nrow;           /* that have come in all */
    struct psr_beam_rows_task task;
};

/* Where the next rows, nrow of each beam, go; and rows of a beam in that memory. */
void *psr_beam_rows_place(struct psr_beam_rows *r, size_t nrow);
size_t psr_beam_rows_stride(const struct psr_beam_rows *r);

/* Notes that the plan has begun to make them. */
void psr_beam_rows_begin(struct psr_beam_rows *r, size_t nrow);

/* Notes that they are complete; submits complete buffers, or, with "all", all rows.
 * Status: those of what was submitted before, and of psr_beam_scales_measure */
PSR_MUST_CHECK psr_status psr_beam_rows_came(struct psr_beam_rows *r, bool all, psr_err *err);

/* Rows that may still be begun before scales are measured; SIZE_MAX where that is done. */
size_t psr_beam_rows_to_keep(const struct psr_beam_rows *r);

/* Waits for what was submitted. */
PSR_MUST_CHECK psr_status psr_beam_rows_wait(struct psr_beam_rows *r, psr_err *err);

/* At the end of the input: measures scales on the rows so far, and waits. */
PSR_MUST_CHECK psr_status psr_beam_rows_end(struct psr_beam_rows *r, psr_err *err);

enum { PSR_BEAM_READER_SLOTS = 4 };

struct psr_beam_reader_desc {
    const struct psr_beam_input *in; /* borrowed, as are the next two */
    struct psr_monitor *monitor;
    size_t block; /* samples */
    bool (*should_stop)(void *ctx);
    void *ctx;
};

struct psr_beam_reader {
    struct psr_beam_reader_desc d;
    void *slot[PSR_BEAM_READER_SLOTS]; /* the caller's */
    struct psr_read_ring ring;
    size_t first; /* first block of the current reading */
    struct psr_async_task task;
};

/* Starts reading, until the end of the input or until stopped.
 * Given: slot   memory of one block each, which must outlive end */
void psr_beam_reader_start(struct psr_beam_reader *r, const struct psr_beam_reader_desc *desc,
                           void *const slot[PSR_BEAM_READER_SLOTS]);

/* Returned: *in [*n], the next samples; none at the end, or if should_stop returned true
 * Status:   those of psr_voltages_pump */
PSR_MUST_CHECK psr_status psr_beam_reader_next(struct psr_beam_reader *r, const uint8_t **in,
                                               size_t *n, psr_err *err);

/* Releases all blocks except the last one. */
void psr_beam_reader_release(struct psr_beam_reader *r);

/* Stop reading, and wait until it has stopped.  An all-zero object is allowed. */
void psr_beam_reader_stop(struct psr_beam_reader *r);
void psr_beam_reader_end(struct psr_beam_reader *r);

struct psr_beamformer {
    struct psr_beamformer_desc d;
    int nthread;
    int64_t mem_bytes;
    struct psr_beam_input input;
    struct psr_beam_sums sums;
    struct psr_beam_directions directions;
    struct psr_beam_outputs outputs;
    struct psr_beam_scales scales;
    psr_beam *plan;
    struct psr_beam_info plan_info;
    size_t block;                        /* samples */
    void *in[PSR_BEAM_READER_SLOTS];     /* memory for blocks */
    void *buffer[PSR_BEAM_ROWS_BUFFERS]; /* and for rows */
    struct psr_monitor monitor;          /* of the ring of blocks and the pool */
    struct psr_worker_pool pool;
    struct psr_beam_reader reader;
    struct psr_beam_rows rows;
    struct psr_async_task wake; /* of the device */

    int64_t nread; /* samples so far */
    double start_s, read_s, beam_s, write_s, end_s;
};

/* Copies a description of any size, and checks what the parts do not check themselves.
 * Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_beamformer_take_desc(struct psr_beamformer_desc *to,
                                                   const struct psr_beamformer_desc *from,
                                                   psr_err *err);

#endif
