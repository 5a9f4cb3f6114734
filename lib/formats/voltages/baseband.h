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

#include "formats/stream/udp.h"
#include <math.h>
#include <psrkit/obs.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* --- buffered bytes of a file, a pipe or a network stream --- */

struct psr_baseband_input {
    int fd;                  /* -1 of a network stream */
    psr_udp_frames *network; /* NULL of others */
    const char *name;        /* for messages; borrowed */
    bool stream;             /* cannot seek */
    int64_t size;            /* of a file */
    int64_t at;              /* bytes taken or skipped */
    uint8_t *buffer;
    size_t room, begin, end;
    bool ended;
    double
        arrival_s; /* of a stream: when the bytes that were read last came, by the monotonic clock */
    int nthread;   /* that read a file; 0: one */
};

/* Opens path; "-" is standard input, udp://... a network stream of VDIF frames.
 * Given:  notes  of what a network stream loses
 * Status: PSR_EIO; PSR_ENOMEM; PSR_EINVAL of such a name.  On error there is nothing to close. */
PSR_MUST_CHECK psr_status psr_baseband_input_open(struct psr_baseband_input **out, const char *path,
                                                  const struct psr_notes *notes, psr_err *err);
void psr_baseband_input_close(struct psr_baseband_input *in); /* NULL is allowed */

/* Shows the next n bytes without taking them.
 * Returned: *bytes [*got], *got < n only at the end; valid until the next call
 * Status:   PSR_EIO, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_baseband_input_peek(struct psr_baseband_input *in, size_t n,
                                                  const uint8_t **bytes, size_t *got, psr_err *err);

/* Copies the next n bytes: *got < n only at the end. */
PSR_MUST_CHECK psr_status psr_baseband_input_take(struct psr_baseband_input *in, void *to, size_t n,
                                                  size_t *got, psr_err *err);

/* Skips n bytes, or what there are. */
PSR_MUST_CHECK psr_status psr_baseband_input_skip(struct psr_baseband_input *in, int64_t n,
                                                  psr_err *err);

/* --- what the readers of voltages share --- */

/* How samples are coded. */
enum baseband_code {
    BASEBAND_SIGNED, /* two's complement: 8 and 16 bits, and 1 to 4 */
    BASEBAND_OFFSET, /* value + half of the range */
    BASEBAND_FLOAT,  /* IEEE single, 32 bits */
};

struct baseband_coding {
    int nbit;
    enum baseband_code code;
    bool high_first;  /* of samples within a byte */
    float scale;      /* of one level; 0: levels as they are */
    float shift;      /* levels added before, of 8 and 16 bits */
    float value[256]; /* of samples of up to 8 bits */
};

/* Where samples are in a chunk of frames that follow each other. */
struct baseband_layout {
    size_t frame_nsamp, frame_bytes;
    size_t sample_bits; /* from one sample of a plane to the next */
    size_t nplane, ndim;
    size_t *plane_bits;  /* [nplane] first sample of each plane in a frame; owned */
    size_t ngroup;       /* parts of a frame that may be absent, 0: none */
    size_t *plane_group; /* [nplane] the part that a plane is in; in the same memory */
};

/* Frames in memory. */
struct baseband_chunk {
    int64_t first; /* sample, from the first of the first file */
    size_t nsamp;
    const uint8_t *bytes;
    const bool *present; /* [nsamp / frame_nsamp][ngroup]; NULL: all are */
    size_t
        marked; /* samples up to one that came at arrival_s; 0: the last came with the input's last bytes */
    double arrival_s;
};

struct baseband_part {
    const char *path;
    struct psr_mjd start;
    int64_t first; /* its first sample, from that of the first part */
};

/* A format; state is its own. */
struct baseband_format {
    const char *name;
    /* Whether a file begins like one. */
    bool (*matches)(const uint8_t *bytes, size_t n);
    /* Reads the header of the open input into b->header, b->layout and b->coding, without taking
     * frames, and *start of its first sample. */
    psr_status (*open)(psr_baseband *b, struct psr_mjd *start, psr_err *err);
    /* Goes to the first frame of the open input, part i. */
    psr_status (*begin)(psr_baseband *b, const struct baseband_part *part, psr_err *err);
    /* The next chunk; nsamp is 0 at the end of the input. */
    psr_status (*next)(psr_baseband *b, struct baseband_chunk *chunk, psr_err *err);
    void (*close)(void *state);
};

extern const struct baseband_format psr_baseband_vdif, psr_baseband_dada, psr_baseband_guppi;

/* Where formats can put what they read, so that it is not copied: up to nsamp samples that begin where
 * those taken end. */
struct psr_baseband_place {
    uint8_t *bytes; /* [room]; NULL: nowhere */
    size_t room, nsamp;
};

struct psr_baseband {
    struct psr_baseband_desc d;
    struct psr_baseband_header header;
    const struct baseband_format *format;
    void *state; /* of the format */
    struct baseband_coding coding;
    struct baseband_layout layout;
    struct baseband_part *part; /* [npart] in the order of time */
    size_t npart, now;
    struct psr_baseband_input *input; /* of part now */
    int64_t bytes;                    /* of all files; -1 for a pipe */
    double sample_bytes;              /* with the headers of frames */
    int64_t overlap;                  /* samples that a file may repeat of the one before */
    struct psr_baseband_place place;  /* of the caller, who takes coded samples */
    uint64_t like;                    /* the layout and coding of the first file */
    bool other;                       /* those of the current one differ */
    struct baseband_chunk chunk;      /* the current one */
    bool ended;
    struct psr_baseband_count count;
    double last_report_s; /* when losses were last reported, and how many frames were missing */
    int64_t told_missing;
    struct psr_span *lost;          /* [nlost] of the last read */
    bool leaves_lost;               /* they are not set to 0 */
    struct psr_baseband_mark *mark; /* [nmark] of the last read */
    size_t nmark, mark_room;
    int64_t hold; /* samples of the largest chunk, and of what it waits for */
    size_t nlost, lost_room;
    char **names; /* copies of the paths */
    int nthread;
};

/* A sample's number from a time in samples; times that are out of range stay so. */
static inline int64_t psr_baseband_sample(double t)
{
    return (int64_t)rint(fmax(-1e17, fmin(t, 1e17)));
}

/* Makes the layout's tables of planes, zeroed; nplane is set.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_baseband_make_planes(struct baseband_layout *l, psr_err *err);

/* Coded samples [from, from + nsamp) of frames, or lost ones. */
struct psr_baseband_piece {
    size_t nsamp, from;
    bool missing;         /* all of them */
    const uint8_t *bytes; /* [nbytes] of the frames: the place given, or the reader's own until the
                             next call */
    size_t nbytes;
    size_t aligned; /* samples that end with a frame, or a byte: others may follow there */
    bool some_absent;
    const bool *present; /* [nflag] as in struct baseband_chunk, of these frames; NULL: all are */
    size_t nflag;
};

/* Takes up to nsamp samples as they are coded.
 * Given:    at     samples of the caller's block that were taken before; psr_baseband_lost counts
 *                  from the block's first
 *           to     [room] the caller's place for frames and their flags; NULL: none
 * Returned: *piece; nsamp is 0 at the end, and where at is above 0 and frames are not to be cut or
 *           there is no room for them: the next block takes them
 * Status:   as psr_baseband_read; PSR_EUNSUPPORTED (room is not enough for a frame; a file has its
 *           samples in another order or coding than the first) */
PSR_MUST_CHECK psr_status psr_baseband_take(psr_baseband *b, size_t nsamp, size_t at, uint8_t *to,
                                            size_t room, struct psr_baseband_piece *piece,
                                            psr_err *err);

/* Prepares the values of a coding whose other fields are set. */
void psr_baseband_fill_values(struct baseband_coding *c);

/* Unpacks samples [from, from + n) of a chunk.
 * Returned: out + plane stride ndim + at ndim ...: n samples of every plane */
void psr_baseband_unpack(const struct baseband_layout *l, const struct baseband_coding *c,
                         const uint8_t *bytes, size_t from, size_t n, float *out, size_t stride,
                         int nthread);

/* --- reads binary fields from a file in memory, one after the other --- */

/* What is left of a file. */
struct psr_byte_cursor {
    const unsigned char *at;
    size_t n;
    const char *name; /* of the file, for messages; borrowed */
    psr_err *err;
    bool swap; /* the caller swaps the bytes of numbers */
};

/* Copies the next bytes.
 * Given:  what   the name of the field, for the message
 * Status: PSR_EFORMAT "NAME: ends inside WHAT: ..." */
PSR_MUST_CHECK psr_status psr_byte_cursor_take(struct psr_byte_cursor *c, void *to, size_t bytes,
                                               const char *what);

#endif
