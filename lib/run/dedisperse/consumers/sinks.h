/* sinks.h: all sinks of a run, used as one (private). */
#ifndef PSR_RUN_DEDISPERSE_CONSUMERS_SINKS_H
#define PSR_RUN_DEDISPERSE_CONSUMERS_SINKS_H

#include "base/tool.h"
#include "formats/series/series_internal.h"
#include <psrkit/experimental/sink.h>
#include <psrkit/pipeline.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct psr_sinks psr_sinks;

/* Whether it makes a file of each series. */
static inline bool psr_pipeline_has_series(const struct psr_pipeline_desc *d)
{
    return d->files == PSR_FILES_DAT || d->files == PSR_FILES_TIM;
}

/* Collects the sinks that desc enables, followed by those of the caller.  *out is NULL on error.
 * Given:  desc   complete; must outlive the sinks
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_sinks_create(psr_sinks **out, const struct psr_pipeline_desc *desc,
                                           psr_err *err);

/* Same as the operations of a single sink. */
PSR_MUST_CHECK psr_status psr_sinks_names(const psr_sinks *s, const struct psr_sink_stream *stream,
                                          psr_status (*check)(void *ctx, const char *name,
                                                              psr_err *err),
                                          void *ctx, psr_err *err);
PSR_MUST_CHECK psr_status psr_sinks_begin(psr_sinks *s, const struct psr_sink_stream *stream,
                                          psr_err *err);
PSR_MUST_CHECK psr_status psr_sinks_push(psr_sinks *s, size_t line, const struct psr_block *series,
                                         psr_err *err);
/* Given:  told   the span is masked, and equalised series tell of it */
PSR_MUST_CHECK psr_status psr_sinks_gap(psr_sinks *s, size_t line, struct psr_span span, bool told,
                                        psr_err *err);
PSR_MUST_CHECK psr_status psr_sinks_finish(psr_sinks *s, const struct psr_sink_end *end,
                                           psr_err *err);
const void *psr_sinks_result(const psr_sinks *s, const char *name); /* NULL: there is none */

/* True if there are sinks and all accept series on devices; true if any sink needs gaps. */
bool psr_sinks_take_devices(const psr_sinks *s);
bool psr_sinks_take_gaps(const psr_sinks *s);

/* Whether a sink still takes the series of a line, and whether one takes those that are equalised: a search that an
 * earlier run has completed takes none. */
bool psr_sinks_take_line(const psr_sinks *s, size_t line);
bool psr_sinks_take_equalised(const psr_sinks *s);

/* Seconds spent in sinks that write, and in sinks that search. */
double psr_sinks_write_s(const psr_sinks *s);
double psr_sinks_search_s(const psr_sinks *s);

/* Frees the object; NULL is allowed. */
void psr_sinks_abort(psr_sinks *s);

/* --- the built-in sinks ----------------------------------------------------------------------- */

extern const struct psr_sink_ops psr_sink_series, psr_sink_subbands, psr_sink_checksums,
    psr_sink_pulses, psr_sink_live, psr_sink_fourier, psr_sink_ffa;

/* Whether psr_sink_pulses, once begun, has what an earlier run has found. */
bool psr_sink_pulses_are_recalled(const void *state);

/* Describes the files of series. */
struct psr_sink_series_desc {
    bool tim;   /* .tim; else .dat and .inf */
    bool nopad; /* do not pad to a good length */
};

/* Appends n samples to series i.  Threads append to different series at the same time. */
typedef psr_status psr_sink_append_one(void *ctx, size_t i, const float *x, size_t n, psr_err *err);

/* Appends a block on the host to all series of a line, each as far as it is complete.
 * Status: that of an append that failed */
PSR_MUST_CHECK psr_status psr_sink_append(const struct psr_sink_stream *stream, size_t line,
                                          const struct psr_block *block,
                                          psr_sink_append_one *append, void *ctx, psr_err *err);

/* Length to which the series of a line are padded or cut; -1: neither. */
int64_t psr_sink_series_length(const struct psr_sink_stream *stream, const struct psr_sink_end *end,
                               bool nopad);

/* Keeps series until they are complete: in memory, and what does not fit in a
 * scratch file. */

typedef struct psr_series_store psr_series_store;

struct psr_series_store_desc {
    size_t nseries;
    int64_t mem_bytes;  /* most to keep in memory; each series takes 16 kB at least */
    const char *prefix; /* the scratch file lies in the folder of files of this prefix */
    int64_t samples;    /* that a series will have, about; 0: not known */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_series_store_create(psr_series_store **out,
                                                  const struct psr_series_store_desc *desc,
                                                  psr_err *err);

/* Appends n samples to series i.  Threads may append to different series at the same time.
 * Status: PSR_ENOMEM, PSR_EIO (the scratch file) */
PSR_MUST_CHECK psr_status psr_series_store_append(psr_series_store *s, size_t i, const float *x,
                                                  size_t n, psr_err *err);

/* Appends a block on the host to all series of a line, each as far as it is complete. */
PSR_MUST_CHECK psr_status psr_series_store_append_line(psr_series_store *s,
                                                       const struct psr_sink_stream *stream,
                                                       size_t line, const struct psr_block *block,
                                                       psr_err *err);

/* Samples of series i so far. */
int64_t psr_series_store_length(const psr_series_store *s, size_t i);

/* Copies the first n samples of series i, or all if there are fewer.  Threads may read different
 * series at the same time.
 * Status: PSR_EIO */
PSR_MUST_CHECK psr_status psr_series_store_read(const psr_series_store *s, size_t i, float *x,
                                                int64_t n, psr_err *err);

/* Frees the memory of series i, which is not read again. */
void psr_series_store_drop(psr_series_store *s, size_t i);

/* Bytes of series in memory and in the scratch file, at most so far. */
void psr_series_store_bytes(const psr_series_store *s, int64_t *memory, int64_t *scratch);

/* Frees the store, with its file; NULL is allowed. */
void psr_series_store_destroy(psr_series_store *s);

/* Keeps the series of a line on the devices that computed them until they are
 * complete; what has no room there goes to a store on the host.
 *
 * Samples are kept as they came, and bins that barycentring adds and removes are put in when a
 * series is read. */

typedef struct psr_resident_series psr_resident_series;

struct psr_resident_series_desc {
    const struct psr_sink_stream *stream; /* borrowed */
    size_t line;                          /* of the stream */
    int64_t leave_bytes;                  /* must stay free on each device */
    psr_series_store *store; /* takes what has no room; used for no other samples of the line */
};

/* Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_resident_series_create(psr_resident_series **out,
                                                     const struct psr_resident_series_desc *desc,
                                                     psr_err *err);

/* Appends a block on devices to the series of the line, each as far as it is complete.  All blocks
 * lie on the same devices.
 * Status: PSR_ENOMEM, PSR_EDEVICE, PSR_EIO (the store) */
PSR_MUST_CHECK psr_status psr_resident_series_append(psr_resident_series *r,
                                                     const struct psr_block *block, psr_err *err);

/* Waits for all samples; call it before the first psr_resident_series_read.
 * Status: PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_resident_series_settle(psr_resident_series *r, psr_err *err);

/* As those of the store; i counts all series. */
int64_t psr_resident_series_length(const psr_resident_series *r, size_t i);
PSR_MUST_CHECK psr_status psr_resident_series_read(psr_resident_series *r, size_t i, float *x,
                                                   int64_t n, psr_err *err);

/* Bytes on all devices. */
int64_t psr_resident_series_bytes(const psr_resident_series *r);

/* Frees it, but not the store; NULL is allowed. */
void psr_resident_series_destroy(psr_resident_series *r);

/* The series of all trials, kept once for all sinks that search whole series: on the devices that
 * compute them, as far as there is room, then in memory, then in a scratch file.
 *
 * A sink of its own takes them, which the table of sinks has before those that read them. */

/* Samples of a line without data, as psr_sink_ops.gap tells them. */
struct psr_line_gaps {
    struct psr_span *span; /* [n] */
    size_t n, room;
};

/* Bytes of series that are kept. */
struct psr_whole_series_bytes {
    int64_t device, memory, scratch;
};

struct psr_whole_series {
    size_t nreader;    /* sinks that read all series */
    int64_t mem_bytes; /* of series kept in memory; 0: a quarter of the machine's */
    bool nopad;        /* series are not padded */

    const struct psr_sink_stream *stream;
    psr_series_store *store;
    psr_resident_series **resident; /* [nline] series that came on devices; NULL: in the store */
    int64_t leave_bytes;            /* of devices, for what else needs them */
    struct psr_inf common;          /* what the .inf of all say */
    struct psr_whole_series_bytes bytes; /* once the input has ended */
    unsigned char *nread;                /* [ndm] readers that have read a series */
    struct psr_line_gaps *gaps;          /* [nline] */
};

/* A series, or a segment of it, as it is read: padded as its file would be. */
struct psr_whole_series_read {
    size_t line, i;
    struct psr_segment segment;
    int64_t length;                 /* of the padded series; below 0: not padded */
    const struct psr_sink_end *end; /* of the line */
};

/* Samples that series of the first line will have, if that is known: not padded. */
int64_t psr_whole_series_expect(const struct psr_sink_stream *stream, bool nopad);

/* Description of the sink that keeps series, and of one that reads them. */
struct psr_whole_series_use {
    struct psr_whole_series *series; /* its first three fields are set */
    const void *desc;                /* of a sink that reads them */
};

extern const struct psr_sink_ops psr_sink_whole_series;

/* After plans that use devices were made: leaves so much of devices for others.
 * Given:  planned   there is a plan */
void psr_whole_series_leave(struct psr_whole_series *w, bool planned);

/* The device on which series i of a line lies; NULL: the host. */
const struct psr_device_series *psr_whole_series_where(const struct psr_whole_series *w,
                                                       size_t line, size_t i);

/* Its samples, without padding. */
int64_t psr_whole_series_count(const struct psr_whole_series *w,
                               const struct psr_whole_series_read *r);

/* Its long gaps, where half of its sweep or more is without data: those of DMs that differ by little are the same,
 * so that searches of them are.
 * Returned: *gap [*n], owned by the caller, ascending and apart; the longest ones, 200 of them
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_whole_series_gaps(const struct psr_whole_series *w,
                                                const struct psr_whole_series_read *r,
                                                struct psr_span **gap, size_t *n, psr_err *err);

/* Names a series, says what its .inf does, and writes that with the other outputs if it is wanted: sifting and
 * folding ask it for the DMs that were searched and the length of the series.
 * Returned: stem, *inf
 * Status:   those of psr_series_fill_inf and of outputs */
PSR_MUST_CHECK psr_status psr_whole_series_describe(const struct psr_whole_series *w,
                                                    const struct psr_whole_series_read *r,
                                                    bool write, char stem[PSR_TEXT_MAX],
                                                    struct psr_inf *inf, psr_err *err);

/* Reads a series into x [r->length], cut or padded with its mean or the value of its line.  Threads may read
 * different series at the same time.
 * Status: PSR_EIO, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_whole_series_read(const struct psr_whole_series *w,
                                                const struct psr_whole_series_read *r, float *x,
                                                psr_err *err);

/* A reader does not read series i again; frees its memory after the last one. */
void psr_whole_series_drop(const struct psr_whole_series *w, size_t i);

/* Searches whole series by one method on one device or several at the same time.
 *
 * Each device has a driver thread with a plan of its own.  It takes the series that lie on it, then those on the
 * host, then those that other devices have not begun, in batches that become smaller towards the end, so that
 * all devices end together.  Results reach the sink with the series that they are of, in any order, by one
 * thread at a time; what must be in the order of trials is made of them when all are there.  A device that fails
 * ends the search. */

enum { PSR_SERIES_SLOTS = 2 };

/* A series to search. */
struct psr_searched {
    struct psr_whole_series_read read;
    struct psr_spectrum_file about; /* its samples as those of its file */
    char stem[PSR_TEXT_MAX];
    struct psr_span *gap; /* [ngap] as psr_whole_series_gaps; owned */
    size_t ngap;
    float *x;       /* while its batch is under way */
    double photons; /* as in psr_fourier_input */
    bool done;      /* it was searched, or refused */
    psr_status
        status; /* PSR_EFORMAT: it is refused, as one without data: the others can be searched */
    psr_err err;
};

/* What a method does on one device; search is its state there. */
struct psr_series_method {
    const char *name;
    psr_status
        unfit; /* of plan, for a series that is refused, beside PSR_EUNSUPPORTED; PSR_OK: none */

    /* Given: device   as for psr_device_choose; stays valid
     *        nthread  that the device has for itself */
    psr_status (*create)(void *sink, const char *device, int nthread, void **search, psr_err *err);
    void (*destroy)(void *search);

    /* Plans for series of one shape.
     * Given:    ninput   that are to come
     * Returned: *batch, series that are searched at once; *nslot, 2: one batch is loaded while another is searched */
    bool (*fits)(const void *search, const struct psr_searched *g);
    psr_status (*plan)(void *search, const struct psr_searched *g, size_t ninput, size_t *batch,
                       size_t *nslot, psr_err *err);

    /* Room for series k of a slot; NULL: there is no memory.  Without it, memory of the search's own. */
    float *(*room)(void *search, size_t slot, size_t k);

    /* Brings g->x into the plan's form.  Thread-safe for different series. */
    psr_status (*load)(void *search, struct psr_searched *g, psr_err *err);

    /* Searches a batch, then merges what was found in its series k: PSR_EFORMAT refuses it. */
    psr_status (*execute)(void *search, size_t slot, size_t n, struct psr_searched *const *g,
                          psr_err *err);
    psr_status (*list)(void *search, size_t slot, size_t k, const struct psr_searched *g,
                       psr_err *err);

    /* Adds to outputs what an earlier run has recorded of a series; before the search.  NULL: nothing is.
     * Returned: *found, false: it must be searched */
    psr_status (*recall)(void *sink, const struct psr_searched *g, bool *found, psr_err *err);

    /* Adds what list found to outputs; by one thread at a time. */
    psr_status (*keep)(void *sink, void *search, const struct psr_searched *g, psr_err *err);
};

struct psr_series_search_desc {
    const struct psr_series_method *method;
    void *sink;                           /* of its create and keep */
    const struct psr_sink_stream *stream; /* borrowed, as series is */
    struct psr_whole_series *series;
    const char *device;          /* as for psr_device_words */
    bool nopad, noinf, segments; /* as in the descriptions of sinks */
    bool keep_padding;           /* searched as it is; otherwise it becomes the mean of the rest */
};

struct psr_search_lane;

struct psr_series_search {
    struct psr_series_search_desc d;
    struct psr_names devices;
    struct psr_search_lane *lane; /* [nlane] */
    size_t nlane;
    struct psr_searched *series; /* [n] in the order of trials, of all; then of each segment */
    size_t n, nsegment;          /* series; segments of each trial */

    pthread_mutex_t lock; /* of what follows, and of keep */
    struct psr_search_queue {
        size_t *series; /* [n] those from next on are not begun */
        size_t n, next;
    } * queue;   /* [nlane + 1] of series on each lane's device, and on the host */
    size_t left; /* in all queues */
    atomic_bool failed;
    psr_status status; /* of the first that failed */
    psr_err err;

    struct psr_fourier_found found; /* candidates are the sink's to count */
};

/* Makes plans for series as long as they should be: a plan that cannot be made is an error now, not when hours of
 * input have been read.
 * Status: those of psr_device_words, create and plan; psr_series_search_destroy also after an error */
PSR_MUST_CHECK psr_status psr_series_search_create(struct psr_series_search *s,
                                                   const struct psr_series_search_desc *d,
                                                   psr_err *err);

/* As should_stop of descriptions, for those of plans; ctx is the psr_series_search. */
bool psr_series_search_is_stopped(void *ctx);

/* Searches all series, and notes those that were refused.
 * Given:  end   [nline]
 * Status: that of the first device that failed */
PSR_MUST_CHECK psr_status psr_series_search_run(struct psr_series_search *s,
                                                const struct psr_sink_end *end, psr_err *err);

/* Notes what an earlier run has searched, or, of a search that was stopped, how to go on.
 * Given:  st        of psr_series_search_run
 *         purpose   " for slow pulsars" or "" */
void psr_series_search_note(const struct psr_series_search *s, psr_status st, size_t nrecalled,
                            const char *purpose);

/* Digest of a series and of what is left out of its lists.  Its .inf has the settings and a digest of the input. */
PSR_MUST_CHECK psr_status psr_searched_digest(const struct psr_searched *g,
                                              const struct psr_zaplist *zaplist, uint64_t *key,
                                              psr_err *err);

void psr_series_search_destroy(struct psr_series_search *s);

#endif
