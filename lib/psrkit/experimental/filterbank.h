/* filterbank.h: makes filterbanks, in one pass: of the voltages of one telescope, and of other observations.
 *
 *   voltage files -> channels -> detected -> summed -> rescaled -> 1 to 16 bits or floats -> SIGPROC
 *
 * gpudigifil is a thin wrapper around this module.  To use it in a program:
 *
 *   struct psr_filterbank_desc d;
 *   psr_filterbank_defaults(&d);
 *   d.path = path, d.npath = 1, d.nchan = 1024, d.output = "out.fil";
 *   st = psr_filterbank_create(&p, &d, &err);    checks everything that can be checked beforehand
 *   st = psr_filterbank_run(p, &err);            until the input ends
 *   st = psr_filterbank_finish(p, &err);         gives the file its name
 *   psr_filterbank_destroy(p);
 *
 * Destroying an unfinished filterbank leaves no file.  Results have the same bits with any number of
 * threads; on a device, powers differ by some 1e-7 of their mean.  Not thread-safe: use each filterbank from one thread. */
#ifndef PSRKIT_FILTERBANK_H
#define PSRKIT_FILTERBANK_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>
#include <psrkit/fake.h>
#include <psrkit/obs.h>

PSR_API_BEGIN

/* --- of voltages -------------------------------------------------------------------------------- */

typedef struct psr_filterbank psr_filterbank;

/* What is detected of two polarisations p and q. */
enum psr_products {
    PSR_PRODUCTS_SUM,             /* |p|^2 + |q|^2, each rescaled before, over sqrt 2 */
    PSR_PRODUCTS_EACH,            /* |p|^2, |q|^2 */
    PSR_PRODUCTS_COHERENCE,       /* |p|^2, |q|^2, Re p* q, Im p* q */
    PSR_PRODUCTS_STOKES,          /* I Q U V of a linear basis */
    PSR_PRODUCTS_STOKES_CIRCULAR, /* I Q U V of p left-handed and q right-handed */
};

/* Call psr_filterbank_defaults first, then set fields.  Pointers are borrowed and must stay valid as
 * long as the filterbank.  The file name "-" is standard input or standard output, dada://KEY a ring of psrdada. */
struct psr_filterbank_desc {
    size_t size; /* sizeof of this struct in the caller; new fields are added at the end */

    /* Input: VDIF, DADA or GUPPI raw, as in psrkit-formats(5). */
    const char *const *path; /* [npath] in any order */
    size_t npath;
    double freq_mhz, bw_mhz;        /* instead of those of the header; 0: the header's */
    int64_t npol;                   /* polarisations of VDIF; 0: by its threads */
    int64_t pol;                    /* use only this one, from 0; default -1: all */
    double start_s, total_s;        /* skip, and use at most (0: all), seconds */
    const char *source, *telescope; /* instead of the header's; NULL: the header's */

    /* Channels. */
    int64_t nchan;    /* of the whole band; 0: those of the input */
    int64_t ntap;     /* of a polyphase filterbank; default 1: none */
    int64_t freq_res; /* points of the transform back to time; default 0: 1, or chosen for dm */
    double dm;        /* coherent dedispersion within channels, pc cm^-3; 0: none */

    /* Detection. */
    int64_t products;   /* enum psr_products */
    int64_t tsum, fsum; /* spectra and channels that are summed; default 1 */

    /* Levels. */
    int64_t nbits;     /* 1, 2 (default), 4, 8, 16; 32: floats */
    double interval_s; /* of rescaling, default 10; 0: none */
    bool constant;     /* the first scale for all */
    double scale;      /* factor before digitising, default 1 */

    /* Output. */
    const char *output;

    /* Running. */
    int64_t nthread; /* threads; 0: all cores */
    struct psr_notes notes;
    bool (*should_stop)(void *ctx);             /* polled often; NULL: never */
    void (*progress)(void *ctx, int64_t nread); /* called after every block; may be NULL */
    void *ctx;                                  /* passed to both */
    const char *device; /* that makes spectra, as for psr_device_choose; default "auto" */
    double block_mb;    /* voltages that it takes at a time; default 0: 34, or 0.05 s of a pipe */
};

/* Sets size and all fields to their defaults, those that a description of "size" bytes has. */
void psr_filterbank_set_defaults(struct psr_filterbank_desc *desc, size_t size);
#define psr_filterbank_defaults(desc) psr_filterbank_set_defaults((desc), sizeof *(desc))

/* Opens the input, makes the plan and creates the output under a temporary name.
 * Status: PSR_EINVAL naming field, value and limit; PSR_EFORMAT, PSR_EUNSUPPORTED, PSR_EIO, PSR_ENOMEM;
 *         PSR_EDEVICE (a device was asked for, and cannot be used).  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_filterbank_create(psr_filterbank **out,
                                                const struct psr_filterbank_desc *desc,
                                                psr_err *err);

/* Processes the whole input.
 * Status: PSR_ESTOPPED if should_stop returned true; PSR_EINVAL if no spectrum is complete; those of
 *         reading and writing.  After an error it can only be described and destroyed. */
PSR_MUST_CHECK psr_status psr_filterbank_run(psr_filterbank *p, psr_err *err);

/* Completes the file and gives it its final name.
 * Status: those of psr_outfile_commit */
PSR_MUST_CHECK psr_status psr_filterbank_finish(psr_filterbank *p, psr_err *err);

/* Frees the filterbank; NULL is allowed. */
void psr_filterbank_destroy(psr_filterbank *p);

/* State and statistics. */
struct psr_filterbank_report {
    size_t size;                /* sizeof the struct */
    const char *input, *format; /* name of the first file; "VDIF" "DADA" "GUPPI" */
    size_t nchan_in, npol_in;
    bool real;
    int nbit_in;
    double rate_hz;                  /* samples per second of a channel and polarisation */
    int64_t nsamp;                   /* of the input, an estimate; -1: unknown */
    double sample_bytes;             /* of all channels and polarisations, without headers */
    size_t nchan, nfft, early, late; /* channels; transform back, and what is discarded of it */
    const struct psr_obs *out;       /* what is written */
    int64_t held;                    /* rows that the first scale is measured on */
    int nthread;
    int64_t nread, nlost;              /* samples so far, and lost ones of them */
    int64_t nrow, nrow_lost;           /* rows written, and those that hold nothing */
    double read_s, channels_s, rows_s; /* time spent waiting for reads, and on the others */
    const char *backend;               /* that makes spectra: "cpu" "cuda" */
    /* Of a pipe or a network stream, rows with data, except those that waited for the first scale or for the
     * end: how long after the last of its voltages came one was written, on average and at worst; and the
     * most while the stream goes on, but for what the machine takes: a block and what the reader holds back. */
    int64_t ntimed;
    double latency_s, worst_s, block_s, hold_s;
};
void psr_filterbank_describe_sized(const psr_filterbank *p, struct psr_filterbank_report *report,
                                   size_t size);
#define psr_filterbank_describe(p, report)                                                         \
    psr_filterbank_describe_sized((p), (report), sizeof *(report))

/* --- observations of observations -------------------------------------------------------------- */

/* Makes observations from observations: cuts, reorders and converts them, in one pass.
 *
 *   files or a stream -> corrected header -> time range -> signals -> cleaning -> channels and their order -> dedispersion -> sums -> bits -> file
 *
 * fbedit is a thin wrapper around this module.  To use it in a program:
 *
 *   struct psr_edit_desc d;
 *   psr_edit_defaults(&d);
 *   d.source = &source, d.output = "cut.fil", d.start = "10", d.end = "20";
 *   st = psr_edit_create(&p, &d, &err);    opens the input; checks all that can be checked beforehand
 *   st = psr_edit_run(p, &err);            until the range or the input ends
 *   st = psr_edit_finish(p, &err);         gives the file its name
 *   psr_edit_destroy(p);
 *
 * Destroying an unfinished edit leaves no file.  Samples that no operation changes keep their bits.  Results are
 * the same with any number of threads, from files and from pipes.  Not thread-safe: use each edit from one thread. */

typedef struct psr_edit psr_edit;

/* Order of the channels that are written. */
enum psr_edit_order {
    PSR_EDIT_AS_IS,
    PSR_EDIT_UP,   /* the first channel is the lowest in frequency */
    PSR_EDIT_DOWN, /* the highest */
};

/* Format of the output. */
enum psr_edit_format {
    PSR_EDIT_BY_NAME, /* PSRFITS if it ends in .fits, .fit or .sf, DADA if in .dada or for a ring, HDF5 if in .h5 or .hdf5, otherwise SIGPROC */
    PSR_EDIT_SIGPROC,
    PSR_EDIT_PSRFITS, /* the number of spectra must be known; levels have scales and offsets */
    PSR_EDIT_DADA,
    PSR_EDIT_FBH5, /* a filterbank in HDF5; a file, 8 bits or more */
    PSR_EDIT_YOUR, /* a cut-out around a burst for classifiers, in HDF5 as `your` writes it: no observation */
};

/* A burst that is cut out.  The pictures have 256 bins of half its width, the middle one of which begins at the burst:
 * frequency and time at its DM, and 256 DMs from 0 to twice its own and time, summed over the band. */
struct psr_edit_burst {
    size_t size; /* sizeof of this struct in the caller */
    double t_s;  /* its centre at the highest frequency of the input, from the first spectrum on */
    double dm, width_s, snr;
    int64_t label; /* 1: astrophysical, 0: not, -1: unknown */
};

/* How samples are written: by the first rule that applies to all of them. */
enum psr_edit_rule {
    PSR_EDIT_SUMS, /* all possible sums fit: of integers if they do, 2^24 in floats; of floats in floats */
    PSR_EDIT_MEANS, /* all possible means fit: of integers, rounded to the nearest, halves up */
    PSR_EDIT_LEVELS, /* each channel's mean and standard deviation, over the first 64 MiB of floats, become those of
                        the report, and values are rounded and clipped */
};

/* Call psr_edit_defaults first, then set fields.  Pointers are borrowed and must stay valid as long as the edit. */
struct psr_edit_desc {
    size_t size; /* sizeof of this struct in the caller; new fields are added at the end */

    const struct psr_source_desc *source; /* input and its options; skip 0 */
    const char *output;                   /* "-" is standard output, dada://KEY a ring of psrdada */

    /* Spectra [start, end), each rounded to the nearest spectrum: seconds from the first spectrum ("12.5"), a date
     * ("60000.5mjd", of the highest frequency, like tstart), or spectra ("2000smp"); NULL: all. */
    const char *start, *end;

    /* Channels: at most one of these ranges, and their order. */
    int64_t first_chan, end_chan; /* [first, end) in file order; end 0: to the last */
    double low_mhz, high_mhz;     /* those whose centres are within; high 0: all */
    enum psr_edit_order order;

    /* Corrections of the input's header, before all else: [nset] "KEY=VALUE" with source, telescope (a name or
     * SIGPROC's number), position (RA,DEC), tstart (MJD), tsamp (s), fch1, foff (MHz), beam, nbeams, machine,
     * instrument, observer. */
    const char *const *set;
    size_t nset;

    /* Samples. */
    int64_t tsum,
        fsum; /* spectra and channels that are summed; default 1.  What fills no sum is dropped. */
    int64_t
        nbits; /* 1, 2, 4, 8, 16; 32: floats; 0 (default): as the input, or floats where SIGPROC has
                           no such type */

    /* Running. */
    int64_t nthread;                            /* threads; 0: all cores */
    bool (*should_stop)(void *ctx);             /* polled often; NULL: never */
    void (*progress)(void *ctx, int64_t nread); /* called after every block; may be NULL */
    void *ctx;                                  /* passed to both */

    /* Cleaning of the whole band from the start on, before channels are chosen, as in psr_pipeline_desc. */
    const char *mask;  /* rfifind mask, or NULL */
    double clip_sigma; /* 0 (default): no clipping */
    bool zerodm;       /* disables clipping */
    bool clean_auto;   /* makes samples of 8 bits; excludes mask */

    double dm; /* channels are shifted by their delays to the highest, pc cm^-3; 0: not */

    enum psr_edit_format format;

    /* Signals that are added to the whole band before it is cleaned; NULL: none.  It is asked once, when the range is
     * known; the signals must stay valid until psr_edit_create returns.  Time 0 is the start of the range.
     * Each channel's signal is scaled by its scatter in blocks of a few thousand spectra, the median of its pieces, so
     * that snr is that of the best boxcar on the pulse as it is in the samples, channels divided by their scatter;
     * of a pulsar, over all pulses in the range.  Integers are rounded by chance so that the mean is right.
     * Given:    ctx   signals_ctx
     *           observed_s   length of the range, s; -1: not known, as of a stream with no end: then only bursts
     * Returned: *signal [*nsignal] */
    psr_status (*signals)(void *ctx, double observed_s, const struct psr_fake_signal **signal,
                          size_t *nsignal, psr_err *err);
    void *signals_ctx;
    uint64_t seed; /* of rounding by chance */

    /* The output is added to it, and the caller commits it after psr_edit_finish, or aborts it after
     * psr_edit_destroy; NULL: the output is a file of its own. */
    psr_output_group *group;

    /* Of PSR_EDIT_YOUR, which chooses the range and floats, and the highest channel first unless order says otherwise.
     * Samples beyond the ends of the input count as the mean of their channel. */
    const struct psr_edit_burst *burst;
};

/* Sets size and all fields to their defaults, those that a description of "size" bytes has. */
void psr_edit_set_defaults(struct psr_edit_desc *desc, size_t size);
#define psr_edit_defaults(desc) psr_edit_set_defaults((desc), sizeof *(desc))

/* Opens the input and creates the output under a temporary name.
 * Status: PSR_EINVAL naming field, value and limit; those of psr_source_open and psr_outfile_create;
 *         PSR_EUNSUPPORTED for what the output cannot hold.  *out is NULL on error. */
PSR_MUST_CHECK psr_status psr_edit_create(psr_edit **out, const struct psr_edit_desc *desc,
                                          psr_err *err);

/* Processes the range.
 * Status: PSR_ESTOPPED if should_stop returned true; PSR_EINVAL if a stream ends before the range does; those of
 *         reading and writing.  After an error the edit can only be described and destroyed. */
PSR_MUST_CHECK psr_status psr_edit_run(psr_edit *p, psr_err *err);

/* Completes the file and gives it its final name.
 * Status: those of psr_outfile_commit */
PSR_MUST_CHECK psr_status psr_edit_finish(psr_edit *p, psr_err *err);

/* Frees the edit; NULL is allowed. */
void psr_edit_destroy(psr_edit *p);

/* What is done, and how much of it has been. */
struct psr_edit_report {
    size_t size;       /* sizeof the struct */
    const char *input; /* name of the first file */
    const struct psr_obs *in,
        *out; /* the input from its first spectrum on, and what is written; out->nsamp -1 where
                                       it is not known yet */
    int64_t start, count;     /* spectra of the input: first used, and how many; -1: to the end */
    size_t first_chan, nchan; /* channels of the input used */
    size_t ndropped_chan;     /* that fill no sum */
    int64_t ndropped;         /* spectra that fill no sum; known at the end */
    int64_t tsum, fsum;       /* as asked */
    enum psr_edit_rule rule;
    double level_mean,
        level_scatter;       /* of PSR_EDIT_LEVELS: what a channel's mean and scatter become */
    bool reversed;           /* their order */
    int64_t nread, nwritten; /* spectra so far */
    double read_s, edit_s, write_s; /* seconds so far */
    double dm;                      /* as asked */
    int64_t max_delay;              /* spectra that the shift of channels takes at the end */
    enum psr_edit_format format;    /* of the output */
    const psr_fake
        *signals; /* that are added, for psr_fake_report once the edit has run; NULL: none */
    size_t nsignal;
};
void psr_edit_describe_sized(const psr_edit *p, struct psr_edit_report *report, size_t size);
#define psr_edit_describe(p, report) psr_edit_describe_sized((p), (report), sizeof *(report))

PSR_API_END
#endif
