/* sigproc.h: reads and writes SIGPROC headers (filterbank and .tim). */
#ifndef PSRKIT_SIGPROC_H
#define PSRKIT_SIGPROC_H

#include <psrkit/obs.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

/* Longest header; a longer one is rejected. */
enum { PSR_SIGPROC_HEADER_MAX = 1 << 20 };

/* Values of the header's data_type. */
enum psr_sigproc_data_type {
    PSR_SIGPROC_RAW = 0,
    PSR_SIGPROC_FILTERBANK = 1,
    PSR_SIGPROC_SERIES = 2,  /* one dedispersed channel: .tim */
    PSR_SIGPROC_PROFILE = 3, /* a folded pulse */
    PSR_SIGPROC_AMPLITUDES = 4,
    PSR_SIGPROC_SPECTRUM = 5, /* complex */
    PSR_SIGPROC_SUBBANDS = 6, /* dedispersed sub-bands */
};

/* Parses a header from the first n bytes of a file.
 * Given:    name   the file, for messages
 *           notes   for skipped keys
 * Returned: *obs, initialised here, cleared by the caller; nsamp is -1 unless the header has
 *           nsamples
 *           *header_bytes, offset of the first sample
 * Status:   PSR_EFORMAT; *need_more is set if n bytes were too few and more may help.
 *           PSR_EUNSUPPORTED for a big-endian header; PSR_ENOMEM.
 * Notes:    an unknown key is skipped if its value can only be an int32, a double or a text (a key
 *           must follow it); otherwise it is an error.  A position of 0, 0 is treated as unknown.
 */
PSR_MUST_CHECK psr_status psr_sigproc_parse(struct psr_obs *obs, size_t *header_bytes,
                                            bool *need_more, const void *bytes, size_t n,
                                            const char *name, const struct psr_notes *notes,
                                            psr_err *err);

/* Writes a header that SIGPROC and PRESTO can read: PSR_SIGPROC_FILTERBANK or, for one channel with
 * a refdm, PSR_SIGPROC_SERIES.
 * Notes:  unknown fields are omitted, except machine_id and telescope_id, which PRESTO needs: they
 *         are -1.  nsamples is omitted, since the file length gives it.  PRESTO cannot read a table
 *         of frequencies.
 * Status: PSR_EFORMAT (as psr_obs_check), PSR_EINVAL (a series of several channels),
 *         PSR_EUNSUPPORTED (a sample type that SIGPROC does not have), PSR_ENOMEM, and those of
 *         psr_outfile_write */
PSR_MUST_CHECK psr_status psr_sigproc_write(psr_outfile *f, const struct psr_obs *obs,
                                            int data_type, psr_err *err);

/* The same in big-endian, as SIGPROC writes it on a big-endian machine. */
PSR_MUST_CHECK psr_status psr_sigproc_write_swapped(psr_outfile *f, const struct psr_obs *obs,
                                                    int data_type, psr_err *err);

PSR_API_END
#endif
