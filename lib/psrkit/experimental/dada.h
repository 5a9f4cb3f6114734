/* dada.h: DADA files with voltages of many dishes. */
#ifndef PSRKIT_DADA_H
#define PSRKIT_DADA_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/obs.h>
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

/* Bytes of one time sample of all channels, polarisations and dishes. */
size_t psr_dada_sample_bytes(const struct psr_dada *h);

/* Writes the padded header, including the other keys.
 * Status: PSR_EINVAL if it does not fit into header_bytes, and those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_dada_write(psr_outfile *f, const struct psr_dada *h, psr_err *err);

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

/* Callbacks that receive blocks, in the order of blocks and in one thread.  room returns memory for
 * block i, or NULL if there is none now.  full reports that block i is complete with nt samples, or
 * with nt = 0 that reading failed.  between is called before more is read, and from time to time
 * while a pipe has no data; idle is set if there was no room for block i, and between may then wait
 * for room.  If between returns false, reading ends.  If between is NULL, reading ends when there is
 * no room. */
struct psr_voltages_sink {
    void *ctx;
    void *(*room)(void *ctx, size_t i);
    void (*full)(void *ctx, size_t i, size_t nt);
    bool (*between)(void *ctx, bool idle, size_t i);
};

PSR_API_END
#endif
