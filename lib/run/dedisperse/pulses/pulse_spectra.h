/* pulse_spectra.h: marks pulses by their spectra, which are read again (private). */
#ifndef PSR_RUN_DEDISPERSE_PULSES_PULSE_SPECTRA_H
#define PSR_RUN_DEDISPERSE_PULSES_PULSE_SPECTRA_H

#include <psrkit/experimental/sink.h>

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

/* Notes where in the input the samples of a block begin.  Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pulse_spectra_note(psr_pulse_spectra *p, size_t line,
                                                 const struct psr_block *b, psr_err *err);

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

#endif
