/* filterbank_state.h: state of a run from voltages to a filterbank, for its files (private). */
#ifndef PSR_RUN_CHANNELISE_FILTERBANK_STATE_H
#define PSR_RUN_CHANNELISE_FILTERBANK_STATE_H

#include "base/tool.h"
#include "dsp/channels/spectra.h"
#include "dsp/dsp.h"
#include "formats/voltages/baseband.h"
#include <psrkit/experimental/filterbank.h>
#include <psrkit/experimental/outfile.h>

/* Readers tell of some samples when they came.  One between two of these came when a steady stream would
 * have brought it, or as long before the second as it was sampled, whichever is later: the stream may
 * have been silent. */

struct psr_filterbank_latency {
    double rate_hz; /* of samples */
    struct psr_baseband_mark *mark;
    size_t nmark, room;
    int64_t nrow;
    double sum_s, worst_s; /* over them */
};

/* Takes what is known of more samples.
 * Given:  mark, n   ascending, those of the reader
 *         first     the reader's number of sample 0 here
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_filterbank_latency_note(struct psr_filterbank_latency *l,
                                                      const struct psr_baseband_mark *mark,
                                                      size_t n, int64_t first, psr_err *err);

/* When a sample came; asked in ascending order.  NaN: nothing is known. */
double psr_filterbank_latency_came(struct psr_filterbank_latency *l, int64_t sample);

/* Counts a row that depends on samples up to this one, asked in ascending order, unless it waited for the end. */
void psr_filterbank_latency_add(struct psr_filterbank_latency *l, int64_t sample, double written_s);

/* Forgets what no sample from this one on needs. */
void psr_filterbank_latency_forget(struct psr_filterbank_latency *l, int64_t sample);

void psr_filterbank_latency_free(struct psr_filterbank_latency *l);

/* One block is read while two are on their way to a device. */
enum { PSR_FILTERBANK_BLOCKS = 3 };

/* Reads voltages ahead. */
struct psr_filterbank_input {
    psr_baseband *reader;
    size_t block;       /* samples at a time */
    int64_t skip, left; /* samples still to be skipped, and to be read; -1: all */
    float *block_of[2]; /* planes of block samples each */
    bool is_coded;      /* for a device: blocks are coded */
    struct psr_spectra_block coded[PSR_FILTERBANK_BLOCKS];
    int next;   /* the one that is read now */
    size_t got; /* samples of it */
    struct psr_async_task task;

    /* Lost samples that spectra to come may depend on, from the first one used. */
    struct psr_span *lost;
    size_t nlost, lost_room;
    int64_t first; /* of the block that is read now */
    int64_t skipped;
    struct psr_filterbank_latency latency;
};

/* Spectra to rows: detected, summed, scaled and written. */
struct psr_filterbank_rows {
    enum psr_detect what;
    size_t npol, nchan; /* of the voltages */
    size_t tsum, fsum, nproduct, nvalue;
    bool adds_pols; /* both powers become one after they are scaled */
    float *x;       /* [room][nvalue] */
    uint32_t *weight;
    bool *good;     /* those of written rows stay until the next are taken */
    size_t room, n; /* rows of x in use, the last with fill spectra */
    size_t fill;
    size_t held, nheld; /* rows to measure the first scale on; of x, complete and not yet scaled */
    bool measured;
    psr_rescale *scale; /* NULL: none */
    uint8_t *levels;
    size_t levels_room;
    float gain, shift, middle; /* of levels: shift of powers, and of what can be negative */
    int nbits;
    psr_outfile *file;
    int nthread;
    int64_t nrow, nlost;
};

struct psr_filterbank {
    struct psr_filterbank_desc d;
    struct psr_filterbank_input in;
    const struct psr_baseband_header *header;
    size_t npol; /* used, of the input's */
    psr_channelise *channels;
    struct psr_channelise_shape shape;
    size_t spectrum_nsamp; /* samples from one spectrum to the next */
    psr_spectra *spectra;  /* on a device; NULL: on the CPU */
    int64_t nspectrum;     /* so far */
    float *v;              /* channelised, of a block */
    bool *good;            /* [spectra of a block] */
    struct psr_filterbank_rows rows;
    struct psr_obs obs;
    int nthread;
    double read_s, channels_s, rows_s;
};

/* --- input (filterbank_rows.c) ---------------------------------------------------------------- */

/* Starts to read; everything can be ended whatever the status.
 * Given:  in   reader, block, skip and left are set
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_filterbank_input_start(struct psr_filterbank_input *in, psr_err *err);

/* The same as they are coded, for a device; *block is valid until the next call but one. */
PSR_MUST_CHECK psr_status psr_filterbank_input_next_coded(struct psr_filterbank_input *in,
                                                          struct psr_spectra_block **block,
                                                          psr_err *err);

/* Whether others may wait for what comes of it. */
bool psr_filterbank_input_is_stream(const struct psr_filterbank_input *in);

/* Fills p->good for the next n spectra. */
void psr_filterbank_find_good(psr_filterbank *p, size_t n);

/* Gives the rows of a stream from this one on to who waits for them, and counts how late they are.
 * Given:  measured   whether the first scale was known before: otherwise they waited for that */
PSR_MUST_CHECK psr_status psr_filterbank_send_rows(psr_filterbank *p, int64_t from, bool measured,
                                                   psr_err *err);

void psr_filterbank_input_end(struct psr_filterbank_input *in);

/* --- rows (filterbank_rows.c) ----------------------------------------------------------------- */

/* Given:  rows   what, npol, nchan, tsum, fsum, adds_pols, nbits, gain, shift, middle, held, file
 *                and nthread are set
 *         interval   rows; 0: one scale for all; below 0: none
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_filterbank_rows_start(struct psr_filterbank_rows *rows,
                                                    int64_t interval, psr_err *err);

/* Takes n rows that are detected and summed, of weight good spectra each; x changes. */
PSR_MUST_CHECK psr_status psr_filterbank_rows_take(struct psr_filterbank_rows *rows, float *x,
                                                   const uint32_t *weight, size_t n, psr_err *err);

/* Writes what is held; spectra that do not fill a row are dropped. */
PSR_MUST_CHECK psr_status psr_filterbank_rows_finish(struct psr_filterbank_rows *rows,
                                                     psr_err *err);
void psr_filterbank_rows_free(struct psr_filterbank_rows *rows);

/* --- the CPU (filterbank_rows.c) -------------------------------------------------------------- */

/* Makes room for blocks and their spectra.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_filterbank_cpu_make(psr_filterbank *p, psr_err *err);

/* Processes the whole input. */
PSR_MUST_CHECK psr_status psr_filterbank_cpu_run(psr_filterbank *p, psr_err *err);

/* --- checks ----------------------------------------------------------------------------------- */

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_filterbank_check(const struct psr_filterbank_desc *d, psr_err *err);

/* PSR_ESTOPPED if the caller wants to end. */
PSR_MUST_CHECK psr_status psr_filterbank_check_stop(const psr_filterbank *p, psr_err *err);

#endif
