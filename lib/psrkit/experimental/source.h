/* source.h: readers of spectra in any supported format; writers of SIGPROC, DADA and PSRFITS files; senders. */
#ifndef PSRKIT_SOURCE_H
#define PSRKIT_SOURCE_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/obs.h>
#include <psrkit/series.h>

PSR_API_BEGIN

/* --- reading any format ----------------------------------------------------------------------- */

/* Reads blocks of spectra from any supported input.
 *
 * A source is one observation: a SIGPROC filterbank file, several consecutive ones, DADA files of spectra, PSRFITS
 * search-mode files, sub-band files written by prepsubband -sub, standard input, what a
 * psr_udp_sender sends, or what is written to a ring of psrdada.  It reads
 * forward only and does not seek in pipes and rings.  It reports missing data (notes, gaps) and never fills
 * samples in silently.  Not thread-safe: use each source from one thread. */

typedef struct psr_source psr_source;

enum psr_input {
    PSR_INPUT_AUTO, /* from the first bytes of the file; sub-bands by their names, *.sub00 */
    PSR_INPUT_SIGPROC,
    PSR_INPUT_PSRFITS,
};

/* Missing data between two files, or two rows of a file, are padded up to this length. */
enum { PSR_GAP_DAYS_MAX = 1 };

/* What stands for data that are missing between files, or within them. */
enum psr_gap_fill {
    PSR_GAPS_MEAN,   /* the mean of each channel */
    PSR_GAPS_ZERO,   /* samples of 0 */
    PSR_GAPS_REFUSE, /* nothing: PSR_EFORMAT where they are met */
};

struct psr_source_desc {
    size_t size;             /* sizeof the struct */
    const char *const *path; /* [npath] in any order; "-" is standard input, udp://ADDRESS:PORT
                                receives there, and dada://KEY is a ring; these must be the only one */
    size_t npath;
    enum psr_input input;
    int if_choice; /* IF or polarisation, from 0; -1: total intensity, which is one of them or the sum of two, by
                      what the header or pols says that they are */
    bool invert; /* reverse the order of the channels but not the frequencies */
    bool no_weights, no_scales, no_offsets; /* PSRFITS: ignore DAT_WTS, DAT_SCL, DAT_OFFS */
    bool as_presto; /* PSRFITS: read all rows to their ends, even without data, and use PRESTO's
                       date, beam and polarisation texts */
    bool runavg;    /* sub-band files: subtract each sub-band's mean over blocks of 1024 */
    int64_t skip;   /* spectra to skip at the start */
    int nthread;    /* threads that read a large block of a file together; 0: one */
    struct psr_notes notes; /* notes on unknown keys, truncation, gaps, lost rows */
    bool (*should_stop)(
        void *ctx); /* polled while a pipe or the network gives nothing, by any thread: true ends
                                       the input there; NULL: it is waited for */
    void *stop_ctx;
    double
        drop_s; /* of a pipe: read so far ahead in a thread of its own, and drop whole blocks, as missing
                      data, where they are taken more slowly; 0: the writer waits */
    enum psr_pols pols; /* what several polarisations are; PSR_POLS_UNKNOWN: what the header says */
    enum psr_gap_fill gaps;
};

/* Status: PSR_EIO, PSR_EFORMAT (also for files that overlap, do not match, or are further apart
 *         than PSR_GAP_DAYS_MAX), PSR_EUNSUPPORTED, PSR_EINVAL (skip beyond the end, no such IF, a
 *         file given twice), PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_source_open(psr_source **out, const struct psr_source_desc *desc,
                                          psr_err *err);

/* The observation as returned in blocks: nif 1, nbit and kind of the blocks, tstart of the first
 * spectrum returned, nsamp all spectra to come (gaps included), or -1.  Valid as long as the
 * source. */
const struct psr_obs *psr_source_obs(const psr_source *s);

/* The .inf file beside the input, or NULL if there is none.  Only sub-bands have one; it describes
 * the channels that they were summed from.  Valid as long as the source. */
const struct psr_inf *psr_source_inf(const psr_source *s);

/* Bits per sample in the file, for .inf files. */
int psr_source_file_nbit(const psr_source *s);

/* Bytes of nsamp spectra in a block; each spectrum starts on a byte boundary. */
size_t psr_source_block_bytes(const psr_source *s, size_t nsamp);

/* Reads the next spectra.
 * Given:    block   room for psr_source_block_bytes(s, nsamp), owned by the caller, aligned for its
 *                   samples
 * Returned: block   [nread][nchan] packed as in psr_source_obs, time-major; *nread < nsamp only at
 *                   the end of the input, 0 from then on
 * Status:   PSR_EIO, also if a signal whose handler was installed without SA_RESTART interrupts the
 *           wait for a pipe, and for a file that was truncated after it was opened; PSR_EFORMAT,
 *           PSR_ENOMEM.  An input shorter than its header states gives a note. */
PSR_MUST_CHECK psr_status psr_source_read(psr_source *s, size_t nsamp, void *block, size_t *nread,
                                          psr_err *err);

/* Ranges returned so far that hold padding instead of data: gaps between files, lost rows,
 * zero-filled ends.  In spectra from the first one returned, ascending.  *spans belongs to the
 * source and is valid until the next read.
 * Notes: unless gaps says otherwise, padding is each channel's mean over the data returned before it (the first 1024 spectra
 *        and every 64th after them), or over the first 256 spectra after it if there are none
 *        before; it does not depend on block lengths */
size_t psr_source_gaps(const psr_source *s, const struct psr_span **spans);

/* Frees the source; NULL is allowed. */
void psr_source_close(psr_source *s);

/* --- SIGPROC headers -------------------------------------------------------------------------- */

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

/* Writes a header that SIGPROC and PRESTO can read: PSR_SIGPROC_FILTERBANK or, for one channel with
 * a refdm, PSR_SIGPROC_SERIES.
 * Notes:  what several polarisations are is written to rawdatafile, as "psrkit;STATE=Stokes".
 *         Unknown fields are omitted, except machine_id and telescope_id, which PRESTO needs: they
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

/* --- DADA headers of spectra ------------------------------------------------------------------ */

/* DADA headers of detected spectra, NDIM 1 in the order TF, or TPF with several polarisations; psrkit-formats(5)
 * lists the keys. */

/* Writes the header that suits an output: DADA's for a ring of psrdada, dada://KEY, SIGPROC's for others.
 * Status: those of both */
PSR_MUST_CHECK psr_status psr_spectra_write_header(psr_outfile *f, const char *path,
                                                   const struct psr_obs *obs, psr_err *err);

/* --- writing PSRFITS -------------------------------------------------------------------------- */

/* Writes PSRFITS search-mode files as a stream.
 *
 * The number of spectra is known in advance, so the writer never seeks: the output may be a pipe.
 */

typedef struct psr_psrfits psr_psrfits;

/* Writes the headers.
 * Given:  f   borrowed; the caller commits it
 *         obs   nsamp known; nif 1, 2 (AABB) or 4 (AABBCRCI where pols says so, else IQUV); PSR_UINT of 1 to 16 bits, or PSR_FLOAT
 *         nsblk   spectra per row, a multiple of 8
 * Notes:  16-bit samples are stored signed, with DAT_OFFS of 32768
 * Status: PSR_EFORMAT (as psr_obs_check), PSR_EINVAL, PSR_EUNSUPPORTED, PSR_ENOMEM, and those of
 *         psr_outfile_write.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_psrfits_create(psr_psrfits **out, psr_outfile *f,
                                             const struct psr_obs *obs, size_t nsblk, psr_err *err);

/* Appends spectra.
 * Given:  spectra   [nsamp][nif][nchan] packed as in obs, the first channel in the low bits
 * Status: PSR_EINVAL for more spectra than obs.nsamp, and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_psrfits_append(psr_psrfits *w, const void *spectra, size_t nsamp,
                                             psr_err *err);

/* Fills the last row with zeros, which NSTOT excludes from the data.
 * Status: PSR_EINVAL if spectra are missing, and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_psrfits_finish(psr_psrfits *w, psr_err *err);

/* Frees the writer; NULL is allowed. */
void psr_psrfits_destroy(psr_psrfits *w);

/* --- sending over UDP ------------------------------------------------------------------------- */

/* Sends a filterbank in numbered datagrams, which a source receives; psrkit-formats(5) has their
 * layout. */

typedef struct psr_udp_sender psr_udp_sender;

struct psr_udp_sender_desc {
    size_t size;    /* sizeof the struct */
    const char *to; /* udp://ADDRESS:PORT */
    const struct psr_obs *obs;
    double rate;     /* times real time; 0: as fast as the network takes them */
    double loss;     /* fraction of the datagrams of samples that is not sent, for tests */
    int64_t reorder; /* datagrams that one may be sent after its turn, for tests */
    uint64_t seed;   /* of these three */
    double twice;    /* fraction of the sent datagrams that is sent twice, for tests */
};

/* Opens the socket and sends the header.
 * Status: PSR_EINVAL naming the field, PSR_EFORMAT and PSR_EUNSUPPORTED (as psr_sigproc_write), PSR_EIO,
 *         PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_udp_sender_create(psr_udp_sender **out,
                                                const struct psr_udp_sender_desc *desc,
                                                psr_err *err);

/* Sends spectra.
 * Given:  spectra   [nsamp][nif][nchan] packed as in obs
 * Notes:  returns early, at its rate, if a signal interrupts the wait
 * Status: PSR_EIO; a receiver that is not there yet is none */
PSR_MUST_CHECK psr_status psr_udp_sender_append(psr_udp_sender *s, const void *spectra,
                                                size_t nsamp, psr_err *err);

/* Sends what is left, and the end. */
PSR_MUST_CHECK psr_status psr_udp_sender_finish(psr_udp_sender *s, psr_err *err);

/* Datagrams of samples so far, sent or lost on purpose; *lost of them. */
int64_t psr_udp_sender_count(const psr_udp_sender *s, int64_t *lost);

/* Frees the sender; NULL is allowed. */
void psr_udp_sender_destroy(psr_udp_sender *s);

/* --- writing and sending VDIF ----------------------------------------------------------------- */

/* Writes voltages of one telescope as VDIF frames.
 *
 * Frames have a header of 32 bytes, with the sampling rate where it is a whole number of kHz, and at
 * most 8192 bytes of samples, as many as make a whole number of frames a second; each polarisation
 * is a thread.  A datagram is one frame. */

typedef struct psr_vdif_writer psr_vdif_writer;

struct psr_vdif_writer_desc {
    size_t size;          /* sizeof the struct */
    psr_outfile *file;    /* borrowed; NULL: they are sent */
    const char *to;       /* udp://ADDRESS:PORT; NULL: they are written */
    size_t nchan, npol;   /* channels, a power of 2, in a frame; threads, 1 to 1024 */
    bool real;            /* samples are real; otherwise complex */
    int nbit;             /* of a component: 1, 2, 4, 8 or 16 */
    double rate_hz;       /* samples per second of a channel */
    struct psr_mjd start; /* of the first sample, from 2000 to 2031; rounded to a frame */
    /* as in psr_udp_sender_desc: */
    double speed; /* times real time; 0: as fast as the network takes them */
    double loss, twice;
    int64_t reorder;
    uint64_t seed;
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_EIO; PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_vdif_writer_create(psr_vdif_writer **out,
                                                 const struct psr_vdif_writer_desc *desc,
                                                 psr_err *err);

/* Samples of a frame. */
size_t psr_vdif_writer_nsamp(const psr_vdif_writer *w);

/* Writes or sends the next frames of all threads.
 * Given:  levels   [npol] of [nframe][nsamp][nchan], packed, the first in the low bits
 * Status: those of psr_outfile_write, PSR_EIO */
PSR_MUST_CHECK psr_status psr_vdif_writer_append(psr_vdif_writer *w, const void *const *levels,
                                                 size_t nframe, psr_err *err);

/* Sends what still waits for its turn. */
PSR_MUST_CHECK psr_status psr_vdif_writer_finish(psr_vdif_writer *w, psr_err *err);

/* Frames so far, written, sent or lost on purpose; *lost of them. */
int64_t psr_vdif_writer_count(const psr_vdif_writer *w, int64_t *lost);

/* Frees the writer; NULL is allowed. */
void psr_vdif_writer_destroy(psr_vdif_writer *w);

PSR_API_END
#endif
