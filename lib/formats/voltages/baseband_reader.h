/* baseband_reader.h: what the readers of voltages share (private). */
#ifndef PSR_FORMATS_VOLTAGES_BASEBAND_READER_H
#define PSR_FORMATS_VOLTAGES_BASEBAND_READER_H

#include "baseband.h"
#include "baseband_input.h"

#include <math.h>

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

#endif
