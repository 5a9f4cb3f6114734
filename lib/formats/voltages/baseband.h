/* baseband.h: reads voltages of one telescope from VDIF, DADA and GUPPI raw files (private).
 *
 * Voltages come in planes, one for each channel and polarisation, as floats in the units of the
 * format: VDIF levels over the standard deviation that thresholds are set for, the integers of the
 * others as they are.  psrkit-formats(5) lists what headers may hold.
 *
 * What is missing (lost frames, frames flagged as invalid, gaps between blocks and files) is 0, or what was
 * there before after psr_baseband_leave_lost, and listed: psr_baseband_lost. */
#ifndef PSR_FORMATS_VOLTAGES_BASEBAND_H
#define PSR_FORMATS_VOLTAGES_BASEBAND_H

#include <psrkit/obs.h>

typedef struct psr_baseband psr_baseband;

enum { PSR_BASEBAND_GAP_S = 60 }; /* longest gap that is filled, seconds */

struct psr_baseband_desc {
    size_t size;             /* sizeof the struct */
    const char *const *path; /* [npath] in any order; "-" is standard input, udp://... VDIF frames
                                from the network; any pipe must be the only one */
    size_t npath;
    double freq_mhz, bw_mhz; /* of the whole band, instead of the header's; 0: the header's.  VDIF
                                has none; its bw_mhz gives the sampling rate where frames do not */
    size_t npol; /* polarisations of VDIF: 0: two if the number of threads is even, else one */
    int nthread; /* threads that unpack; 0: all cores */
    struct psr_notes notes;
};

struct psr_baseband_header {
    const char *format; /* "VDIF" "DADA" "GUPPI" */
    size_t nchan, npol; /* planes are [nchan][npol] */
    bool real;          /* samples are real; otherwise complex */
    int nbit;           /* of a component of a sample, in the file */
    double rate_hz;     /* samples per second of a plane */
    double freq_mhz;    /* centre of the band */
    double bw_mhz;      /* its width, negative if the first channel is the highest, and frequencies
                           run down within each */
    struct psr_mjd start; /* of the first sample; day 0 if unknown */
    char telescope[PSR_TEXT_MAX], source[PSR_TEXT_MAX], instrument[PSR_TEXT_MAX]; /* or "" */
    bool has_position;
    double ra_deg, dec_deg;
};

/* What has been read so far. */
struct psr_baseband_count {
    int64_t nsamp;      /* samples returned, lost ones included */
    int64_t lost;       /* of them lost, in any plane */
    int64_t nframe;     /* frames (VDIF) or blocks read */
    int64_t missing;    /* frames that should be there and are not */
    int64_t invalid;    /* flagged as invalid by their header */
    int64_t duplicates; /* present already, or too late */
    int64_t skipped;    /* bytes that are not part of any frame */
};

/* Status: PSR_EIO; PSR_EFORMAT naming file, field, value and limit; PSR_EUNSUPPORTED; PSR_EINVAL (no
 *         input, a pipe among several, no frequency); PSR_ENOMEM.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_baseband_open(psr_baseband **out,
                                            const struct psr_baseband_desc *desc, psr_err *err);

/* Valid as long as b. */
const struct psr_baseband_header *psr_baseband_header(const psr_baseband *b);

/* Samples that the files hold by their length, as an estimate; -1 for a pipe. */
int64_t psr_baseband_nsamp(const psr_baseband *b);

/* Reads the next samples.
 * Returned: out   [nchan][npol][nsamp] floats, or pairs of them for complex voltages; planes are
 *                 nsamp apart even if fewer are read
 *           *nread < nsamp only at the end
 * Notes:    a file that ends within a frame or sample gives a note, as do gaps
 * Status:   PSR_EIO; PSR_EFORMAT (a later header that differs; files that overlap, or are further
 *           apart than PSR_BASEBAND_GAP_S); PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_baseband_read(psr_baseband *b, size_t nsamp, float *out,
                                            size_t *nread, psr_err *err);

/* Lost samples of the last read, in any plane, relative to its first: ascending and apart.
 * Returned: their number; *span belongs to b until the next read */
size_t psr_baseband_lost(const psr_baseband *b, const struct psr_span **span);

/* A sample of a stream, from the first one, and when it came: by the monotonic clock; NaN of one that waited for the
 * end of the stream. */
struct psr_baseband_mark {
    int64_t sample;
    double arrival_s;
};

/* Samples of which it is known when they came, since the read before the last; none of files.  They
 * ascend, and may be beyond what the last read returned.
 * Returned: their number; *mark belongs to b until the next read */
size_t psr_baseband_marks(const psr_baseband *b, const struct psr_baseband_mark **mark);

/* Samples that the reader may wait for at most before it gives out one that came, if the stream goes on. */
int64_t psr_baseband_hold(const psr_baseband *b);

/* Unpacks and reads by n threads from now on. */
void psr_baseband_use_threads(psr_baseband *b, int n);

/* From now on lost samples are not set to 0, which takes time: for callers that use none of them. */
void psr_baseband_leave_lost(psr_baseband *b);

void psr_baseband_describe(const psr_baseband *b, struct psr_baseband_count *count);

/* Frees it; NULL is allowed. */
void psr_baseband_close(psr_baseband *b);

#endif
