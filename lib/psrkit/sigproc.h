/* sigproc.h: SIGPROC headers (filterbank and .tim) to and from struct psr_obs. */
#ifndef PSRKIT_SIGPROC_H
#define PSRKIT_SIGPROC_H

#include <psrkit/obs.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

/* Longest header looked at: a larger one is refused. */
enum { PSR_SIGPROC_HEADER_MAX = 1 << 20 };

/* What a header's data_type says of a file. */
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
 * Given:    name   the file, for messages; notes for keys skipped
 * Returned: *obs, initialised here, caller clears; nsamp stays -1 unless the header has nsamples;
 *           *header_bytes, where the samples begin
 * Status:   PSR_EFORMAT; *need_more is set where n bytes were too few and more may help.
 *           PSR_EUNSUPPORTED for a big-endian header; PSR_ENOMEM.
 * Notes:    an unknown key is skipped where its value can only be an int32, a double or a text,
 *           since a key must follow it; it is refused otherwise.  A position of 0, 0 is unknown. */
PSR_MUST_CHECK psr_status psr_sigproc_parse(struct psr_obs *obs, size_t *header_bytes,
                                            bool *need_more, const void *bytes, size_t n,
                                            const char *name, const struct psr_notes *notes,
                                            psr_err *err);

/* Writes a header that SIGPROC and any PRESTO read: PSR_SIGPROC_FILTERBANK or, for one channel
 * with a refdm, PSR_SIGPROC_SERIES.
 * Notes:    fields that are unknown are left out, but for machine_id and telescope_id, which PRESTO
 *           needs: they are -1 then.  nsamples is left out: the length of the file tells.  Only a
 *           table of frequencies is beyond PRESTO.
 * Status:   PSR_EFORMAT (as psr_obs_check), PSR_EINVAL (a series of many channels),
 *           PSR_EUNSUPPORTED (samples SIGPROC has no word for), PSR_ENOMEM, and those of
 *           psr_outfile_write. */
PSR_MUST_CHECK psr_status psr_sigproc_write(psr_outfile *f, const struct psr_obs *obs,
                                            int data_type, psr_err *err);

/* The same with its numbers big-endian, as SIGPROC writes it on a big-endian machine. */
PSR_MUST_CHECK psr_status psr_sigproc_write_swapped(psr_outfile *f, const struct psr_obs *obs,
                                                    int data_type, psr_err *err);

PSR_API_END
#endif
