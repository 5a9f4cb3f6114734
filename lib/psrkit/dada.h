/* dada.h: DADA files with voltages of many dishes. */
#ifndef PSRKIT_DADA_H
#define PSRKIT_DADA_H

#include <psrkit/obs.h>
#include <psrkit/outfile.h>
#include <stdbool.h>

PSR_API_BEGIN

/* --- samples ---------------------------------------------------------------------------------- */

/* One byte with a nibble each for the real and imaginary parts.  All false: real part in the high
 * nibble, both in two's complement, -8 to 7. */
struct psr_nibbles {
    bool offset_binary; /* value + 8; otherwise two's complement */
    bool real_low;      /* the real part is in the low nibble, not the high one */
};

/* --- headers and voltages --------------------------------------------------------------------- */

/* Reads and writes DADA files with voltages of many dishes.
 *
 * A file is a text header, one "KEY value" per line, padded with zeros to HDR_SIZE bytes, followed
 * by voltages [t][f][p][dish] (ORDER TFPA), one byte each: NBIT 4, NDIM 2.  psrkit-formats(5) lists
 * the keys. */

enum { PSR_DADA_HEADER = 4096, PSR_DADA_HEADER_MAX = 1 << 20, PSR_DADA_NAME_MAX = 64 };

struct psr_dada {
    int64_t nchan, nant;     /* NCHAN, NANT: inputs, each with two polarisations */
    double freq_mhz, bw_mhz; /* FREQ: centre of the band.  BW: its width, negative if the first
                                channel is the highest */
    double tsamp_us;         /* TSAMP */
    bool has_start;
    struct psr_mjd start; /* UTC_START and PICOSECONDS, or MJD_START: start of the observation */
    int64_t obs_offset;   /* OBS_OFFSET: bytes of the observation before this file; 0 if absent */
    struct psr_nibbles nibbles; /* ENCODING TWOSCOMPLEMENT (or absent) or OFFSETBINARY;
                                   REAL_NIBBLE HIGH (or absent) or LOW */
    int phase_sign;             /* PHASE_SIGN -1 (or absent) or 1: a dish displaced by x receives
                                   exp(PHASE_SIGN 2 pi i u.x / lambda) times what the origin
                                   receives from a source in direction u */
    char telescope[PSR_DADA_NAME_MAX], source[PSR_DADA_NAME_MAX]; /* "" if absent */
    int64_t header_bytes;                                         /* HDR_SIZE, 4096 or more */
    char *other; /* lines of all other keys, owned; NULL if there are none */
};

/* Centre frequency of channel c in MHz: FREQ + BW ((c + 1/2) / NCHAN - 1/2). */
double psr_dada_freq_mhz(const struct psr_dada *h, size_t c);

/* Bytes of one time sample of all channels, polarisations and dishes. */
size_t psr_dada_sample_bytes(const struct psr_dada *h);

/* Parses a header.
 * Given:    bytes [n]   the start of a file, at least HDR_SIZE bytes
 *           name   the file, for messages
 * Returned: *h, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EFORMAT naming file, key, value and limit: a key that is missing, repeated with a
 *           different value, out of range, or inconsistent with another; PSR_EUNSUPPORTED for
 *           another kind of voltages; PSR_ENOMEM.  *need is the size of the header if n is too
 *           small, else 0. */
PSR_MUST_CHECK psr_status psr_dada_parse(struct psr_dada *h, const void *bytes, size_t n,
                                         const char *name, size_t *need, psr_err *err);

/* Writes the padded header, including the other keys.
 * Status: PSR_EINVAL if it does not fit into header_bytes, and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_dada_write(psr_outfile *f, const struct psr_dada *h, psr_err *err);

void psr_dada_clear(struct psr_dada *h);

/* --- a stream of voltages --- */

typedef struct psr_voltages psr_voltages;

struct psr_voltages_desc {
    size_t size;             /* sizeof the struct */
    const char *const *path; /* [npath] in any order; "-" is standard input, which must be the
                                only one */
    size_t npath;
    int nthread;            /* threads that copy a file from the page cache; 0: all cores */
    struct psr_notes notes; /* notes on gaps and on files that end within a sample */
};

enum { PSR_VOLTAGES_GAP_S = 60 }; /* longest allowed gap between files, seconds */

/* Opens files that follow each other: their headers must agree, and each must begin at most
 * PSR_VOLTAGES_GAP_S after the end of another.
 * Status: PSR_EIO; PSR_EFORMAT (as psr_dada_parse; headers that differ; an overlap or a longer gap,
 *         naming both files; a file without a whole sample); PSR_EINVAL (no input, a pipe among
 *         several); PSR_EUNSUPPORTED; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_voltages_open(psr_voltages **out,
                                            const struct psr_voltages_desc *desc, psr_err *err);

/* Header of the first file, with start moved to its first sample and obs_offset 0; owned by v. */
const struct psr_dada *psr_voltages_header(const psr_voltages *v);

/* Total number of samples, gaps included, or -1 if unknown until the input ends. */
int64_t psr_voltages_nsamp(const psr_voltages *v);

/* Reads the next samples.
 * Returned: block   [*nread][nchan][2][nant], *nread < nt only at the end; voltages in gaps are 0
 * Notes:    an incomplete sample at the end of a file or stream is dropped with a note
 * Status:   PSR_EIO, and those of psr_voltages_open for a file that has changed since */
PSR_MUST_CHECK psr_status psr_voltages_read(psr_voltages *v, size_t nt, void *block, size_t *nread,
                                            psr_err *err);

/* Callbacks that receive blocks.  room returns memory for block i, or NULL if there is none now;
 * calls are serialised.  full reports that block i is complete with nt samples, or with nt = 0 that
 * reading failed; blocks may complete out of order.  Every thread calls between before it reads on,
 * so that the caller can do other work first, and from time to time while a pipe has no data; idle
 * is set if there was no room for block i, and between may then wait for room.  If between returns
 * false, reading ends.  If between is NULL, reading ends when there is no room. */
struct psr_voltages_sink {
    void *ctx;
    void *(*room)(void *ctx, size_t i);
    void (*full)(void *ctx, size_t i, size_t nt);
    bool (*between)(void *ctx, bool idle, size_t i);
};

/* Reads the rest of the input in blocks of nt samples (the last may be shorter).  With regular
 * files, threads start a block while others still read the preceding ones.
 * Status: as psr_voltages_read */
PSR_MUST_CHECK psr_status psr_voltages_pump(psr_voltages *v, size_t nt,
                                            const struct psr_voltages_sink *sink, psr_err *err);

/* Frees the stream; NULL is allowed. */
void psr_voltages_close(psr_voltages *v);

PSR_API_END
#endif
