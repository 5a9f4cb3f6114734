/* pulse_parts.h: groups the events of the whole band and of its parts into pulses (private). */
#ifndef PSR_RUN_DEDISPERSE_PULSES_PULSE_PARTS_H
#define PSR_RUN_DEDISPERSE_PULSES_PULSE_PARTS_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/singlepulse.h>
#include <psrkit/experimental/sink.h>
#include <psrkit/obs.h>
#include <psrkit/pipeline.h>

/* --- describes pulses for lists, and what the sinks of single pulses share -------------------- */

/* Lines of a plan differ in sampling: the clock common to all ticks at the greatest common divisor of what they
 * sum. */
struct psr_pulse_clock {
    size_t *scale, *sweep; /* [ndm] as in psr_cluster_desc */
    int64_t tick;          /* spectra */
    double tick_s;
};

/* Status: PSR_ENOMEM; clear it also then */
PSR_MUST_CHECK psr_status psr_pulse_clock_make(struct psr_pulse_clock *c,
                                               const struct psr_sink_stream *stream, psr_err *err);
void psr_pulse_clock_clear(struct psr_pulse_clock *c);

/* The search of a line. */
PSR_MUST_CHECK psr_status psr_pulse_search_create(psr_singlepulse **out,
                                                  const struct psr_sink_stream *stream, size_t line,
                                                  const struct psr_sink_pulses_desc *d, bool causal,
                                                  psr_err *err);

/* How long the causal search of a line takes at most to tell of a pulse that has ended, in seconds of its samples: 4
 * longest boxcars, or 256 samples if these are longer, and time_tol. */
double psr_pulse_wait_s(const struct psr_sink_pulses_desc *d, double tsamp_s);

/* Status: PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_pulse_search_check(const struct psr_sink_pulses_desc *d,
                                                 psr_err *err);

/* Delay over the whole band of the least DM that pulses have, in ticks. */
double psr_pulse_least_delay(const struct psr_pulse_clock *c, const struct psr_sink_stream *stream,
                             double low_mhz, double high_mhz);

/* What interference the clusters look like.  Given:  threshold   of events; gap [ngap] merged, in ticks */
PSR_MUST_CHECK psr_status psr_pulse_clock_mark(const struct psr_pulse_clock *c,
                                               const struct psr_sink_stream *stream,
                                               double threshold, const struct psr_event *event,
                                               size_t nevent, const struct psr_span *gap,
                                               size_t ngap, struct psr_cluster *cluster, size_t n,
                                               psr_err *err);

/* As it is told, without latency. */
struct psr_burst psr_burst_describe(const struct psr_pulse_clock *c,
                                    const struct psr_sink_stream *stream,
                                    const struct psr_cluster *cluster);

struct psr_pulse_parts_desc {
    const struct psr_sink_stream *stream;
    const struct psr_pulse_clock *clock;
    int64_t time_tol; /* as in psr_cluster_desc, as is the next */
    size_t trial_tol;
    double threshold;              /* of events */
    const struct psr_event *event; /* [nevent] by line */
    size_t nevent;
    const struct psr_span *gap; /* [ngap] merged, in ticks */
    size_t ngap;
};

/* Whether a line has finer samples than those of the whole band. */
bool psr_pulse_line_is_fine(const struct psr_sink_line *l);

/* Trials of the whole band. */
size_t psr_pulse_parts_whole(const struct psr_sink_stream *stream);

/* Groups the events of the whole band, and those of each part by themselves, marks what interference they look like,
 * within their part of the band, and unites groups that are one pulse (cluster_parts.h).
 * Returned: *clusters [*n] best first; malloc'd, caller frees
 * Status:   those of psr_cluster_events and psr_cluster_mark */
PSR_MUST_CHECK psr_status psr_pulse_parts_group(const struct psr_pulse_parts_desc *d,
                                                struct psr_cluster **clusters, size_t *n,
                                                psr_err *err);

/* Writes ROOT.cand: as psr_cluster_write does, and if there are parts, with their edges.
 * Status: those of psr_outfile_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_parts_write(psr_outfile *f,
                                                const struct psr_sink_stream *stream,
                                                const struct psr_pulse_clock *clock,
                                                const struct psr_cluster *clusters, size_t n,
                                                psr_err *err);

/* --- writes pictures of the spectra around pulses --------------------------------------------- */

/* A pulse. */
struct psr_pulse_view_place {
    const struct psr_obs *obs;
    int64_t first; /* spectrum with which its boxcar begins at the highest frequency */
    double width;  /* spectra */
    double time_s, dm, snr;
};

/* --- marks pulses by their spectra, which are read again -------------------------------------- */

typedef struct psr_pulse_spectra psr_pulse_spectra;

/* The best ones, of at most so many pulses: reading takes time. */
enum { PSR_PULSE_SPECTRA = 1000 };

/* Given:  stream   of the sink; must outlive the object
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_spectra_create(psr_pulse_spectra **out,
                                                   const struct psr_sink_stream *stream,
                                                   psr_err *err);

/* The line of a trial. */
size_t psr_pulse_line_of(const struct psr_sink_stream *stream, size_t trial);

/* Sample "first" of a line's series begins with this spectrum, and those after it with the spectra that follow. */
struct psr_pulse_place {
    int64_t first, spectrum;
};

/* Notes where in the input the samples of a block begin, or one of them, after all before it.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_spectra_note(psr_pulse_spectra *p, size_t line,
                                                 const struct psr_block *b, psr_err *err);
PSR_MUST_CHECK psr_status psr_pulse_spectra_place(psr_pulse_spectra *p, size_t line,
                                                  struct psr_pulse_place place, psr_err *err);

/* Returned: [*n] the least places that say where all samples of a line begin */
const struct psr_pulse_place *psr_pulse_spectra_places(const psr_pulse_spectra *p, size_t line,
                                                       size_t *n);

/* Begins to add the marks of psr_pulse_spectrum_marks to the first PSR_PULSE_SPECTRA of n clusters, best first, in a
 * thread of its own: reading takes as long as a search may on a GPU.  Does nothing if the input cannot be read again.
 * Keeps pictures of the first nview.
 * Given:  clusters   another's until psr_pulse_spectra_await
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_spectra_mark(psr_pulse_spectra *p, struct psr_cluster *clusters,
                                                 size_t n, size_t nview, psr_err *err);

/* Waits for the marks.  Where reading failed, a note says how many pulses are left as they were.
 * Status: PSR_ENOMEM, PSR_ESTOPPED */
PSR_MUST_CHECK psr_status psr_pulse_spectra_await(psr_pulse_spectra *p, psr_err *err);

/* Adds PSR_PULSE_CLIPPED to clusters of whose spectra, from the begin at the highest frequency to the end at the lowest, a
 * tenth or more were clipped. */
void psr_pulse_spectra_clips(psr_pulse_spectra *p, struct psr_cluster *clusters, size_t n);

/* Writes the pictures that psr_pulse_spectra_mark has kept of these clusters, a line each.
 * Given:  scale, tsamp_s   as for psr_cluster_write
 * Status: those of psr_outfile_write, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_spectra_write_views(psr_pulse_spectra *p, psr_outfile *f,
                                                        const struct psr_cluster *clusters,
                                                        const size_t *scale, double tsamp_s,
                                                        psr_err *err);

/* Frees the object; NULL is allowed. */
void psr_pulse_spectra_destroy(psr_pulse_spectra *p);

/* --- the last spectra of an endless input ----------------------------------------------------- */

/* A ring holds the spectra as they came.  A thread of its own writes files from it, beginning with what the
 * ring holds and going on as spectra come, so that the caller never waits for a disk: where the disk is
 * slower than the ring turns, the file is given up. */

typedef struct psr_dump psr_dump;

struct psr_dump_desc {
    const struct psr_obs *obs; /* of the spectra; borrowed */
    size_t row_bytes;          /* of a spectrum */
    double ring_s;
    const char *folder;     /* borrowed */
    int64_t mem_bytes;      /* limit of the ring; 0: a quarter of the machine's */
    bool waits;             /* the input can wait: psr_dump_push does, for the disk */
    struct psr_notes notes; /* called by the thread, too */
};

/* Status: PSR_EINVAL naming ring_s, PSR_EUNSUPPORTED where SIGPROC has no such samples, PSR_EIO for the
 *         folder, PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_dump_create(psr_dump **out, const struct psr_dump_desc *desc,
                                          psr_err *err);

/* Takes the next spectra, [n][row_bytes]. */
void psr_dump_push(psr_dump *d, const void *spectra, size_t n);

/* Keeps spectra, counted from the first; some may have yet to come, those before the first there never were.
 * Given:    at, dm   of the pulse, for the name
 * Returned: name   of the file in the folder, which will be there once it is complete; one that is being
 *           written if it holds the first of the spectra and can go on to the last within the length of the
 *           ring; "" if nothing is kept */
void psr_dump_keep(psr_dump *d, struct psr_span spectra, struct psr_mjd at, double dm,
                   char name[PSR_DUMP_NAME]);

/* Spectra that the ring holds. */
int64_t psr_dump_capacity(const psr_dump *d);

/* No spectra follow: completes the files with what there is. */
void psr_dump_finish(psr_dump *d);

struct psr_dump_counts psr_dump_count(psr_dump *d);

/* Frees it; NULL is allowed.  Without finish, files in progress are removed. */
void psr_dump_destroy(psr_dump *d);

#endif
