/* dada.h: voltages of many dishes in DADA files.
 *
 * A file is a header of text, one "KEY value" a line, padded with zeros to HDR_SIZE bytes, and then
 * voltages [t][f][p][dish] (ORDER TFPA), a byte each: NBIT 4, NDIM 2.  psrkit-formats(5) has the
 * keys. */
#ifndef PSRKIT_DADA_H
#define PSRKIT_DADA_H

#include <psrkit/nibbles.h>
#include <psrkit/obs.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

enum { PSR_DADA_HEADER = 4096, PSR_DADA_HEADER_MAX = 1 << 20, PSR_DADA_NAME_MAX = 64 };

struct psr_dada {
    int64_t nchan, nant;     /* NCHAN, NANT: inputs, each of two polarisations */
    double freq_mhz, bw_mhz; /* FREQ: centre of the band.  BW: its width, negative where the first
                                channel is the highest */
    double tsamp_us;         /* TSAMP */
    bool has_start;
    struct psr_mjd start; /* UTC_START and PICOSECONDS, or MJD_START: of the observation */
    int64_t obs_offset;   /* OBS_OFFSET: bytes of the observation before this file's; 0 if absent */
    struct psr_nibbles nibbles; /* ENCODING TWOSCOMPLEMENT (or absent) or OFFSETBINARY;
                                   REAL_NIBBLE HIGH (or absent) or LOW */
    int phase_sign;             /* PHASE_SIGN -1 (or absent) or 1: a dish displaced by x receives
                                   exp(PHASE_SIGN 2 pi i u.x / lambda) of what the origin
                                   receives from a source in direction u */
    char telescope[PSR_DADA_NAME_MAX], source[PSR_DADA_NAME_MAX]; /* "" where absent */
    int64_t header_bytes;                                         /* HDR_SIZE, 4096 or more */
    char *other; /* the lines of all other keys, owned; NULL where there are none */
};

/* Centre of channel c, MHz: FREQ + BW ((c + 1/2) / NCHAN - 1/2). */
double psr_dada_freq_mhz(const struct psr_dada *h, size_t c);

/* Bytes of one sample of all channels, polarisations and dishes. */
size_t psr_dada_sample_bytes(const struct psr_dada *h);

/* Reads a header.
 * Given:    bytes [n]   the start of a file, HDR_SIZE of it at least
 *           name   the file, for messages
 * Returned: *h, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EFORMAT naming file, key, value and limit: a key missing, given twice with
 *           different values, outside its range, or at odds with another; PSR_EUNSUPPORTED for
 *           voltages of another kind; PSR_ENOMEM.  *need is set to the bytes the header has where n
 *           are too few, 0 otherwise. */
PSR_MUST_CHECK psr_status psr_dada_parse(struct psr_dada *h, const void *bytes, size_t n,
                                         const char *name, size_t *need, psr_err *err);

/* Writes the header, padded; its other keys too.
 * Status: PSR_EINVAL where it does not fit into header_bytes, and those of psr_outfile_write. */
PSR_MUST_CHECK psr_status psr_dada_write(psr_outfile *f, const struct psr_dada *h, psr_err *err);

void psr_dada_clear(struct psr_dada *h);

/* --- a stream of voltages --- */

typedef struct psr_voltages psr_voltages;

struct psr_voltages_desc {
    const char *const *path; /* [npath] in time order or not; "-" is standard input, alone */
    size_t npath;
    int nthread;            /* to copy a file from the page cache with; 0: all cores */
    struct psr_notes notes; /* remarks on gaps, and on files that end within a sample */
};

enum { PSR_VOLTAGES_GAP_S = 60 }; /* longest gap between files, seconds */

/* Opens files that follow each other: their headers agree, and each begins where another ends, or
 * within PSR_VOLTAGES_GAP_S of that.
 * Status: PSR_EIO; PSR_EFORMAT (as psr_dada_parse; headers that differ; an overlap or a longer gap,
 *         naming both files; a file without a whole sample); PSR_EINVAL (no input, a pipe among
 *         several); PSR_EUNSUPPORTED; PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_voltages_open(psr_voltages **out,
                                            const struct psr_voltages_desc *desc, psr_err *err);

/* Header of the first file, with start moved to its first sample and obs_offset 0; owned by v. */
const struct psr_dada *psr_voltages_header(const psr_voltages *v);

/* Samples in all, those of gaps too, or -1 where only the end of the input will tell. */
int64_t psr_voltages_nsamp(const psr_voltages *v);

/* Returned: block [*nread][nchan][2][nant], *nread < nt only at the end; voltages of 0 in gaps
 * Notes:    what follows the last whole sample of a file or a stream is left out, with a remark
 * Status:   PSR_EIO, and those of psr_voltages_open for a file that has changed since. */
PSR_MUST_CHECK psr_status psr_voltages_read(psr_voltages *v, size_t nt, void *block, size_t *nread,
                                            psr_err *err);

/* Where blocks go to.  room gives memory for the i-th, NULL while there is none; one thread at a
 * time calls it.  full says that the i-th is there, of nt samples, or, with 0, that the reading has
 * failed; blocks may become full out of turn.  between is called by every thread before it reads
 * on, so that it may do other work first, and from time to time while a pipe brings nothing; with
 * "idle" where there was no room for the i-th block, which it may wait for; false ends the reading.
 * Where it is NULL, a lack of room does. */
struct psr_voltages_sink {
    void *ctx;
    void *(*room)(void *ctx, size_t i);
    void (*full)(void *ctx, size_t i, size_t nt);
    bool (*between)(void *ctx, bool idle, size_t i);
};

/* Reads what is left in blocks of nt samples, the last of which may have fewer.  Of files the next
 * block is begun while threads still read those before.
 * Status:   as psr_voltages_read. */
PSR_MUST_CHECK psr_status psr_voltages_pump(psr_voltages *v, size_t nt,
                                            const struct psr_voltages_sink *sink, psr_err *err);

/* NULL is fine. */
void psr_voltages_close(psr_voltages *v);

PSR_API_END
#endif
