/* sink.h: interface of the consumers of a pipeline's series, such as files and searches, and the
 * block that its stages exchange.
 *
 * A sink is a table of operations.  A pipeline has the built-in sinks that its description enables,
 * and those that the caller adds.  It announces to each sink the series to come, passes them block
 * by block, on the host or on the devices that computed them, and announces their end.  A sink
 * depends only on what is declared here. */
#ifndef PSRKIT_SINK_H
#define PSRKIT_SINK_H

#include <psrkit/device.h>
#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/singlepulse.h>
#include <psrkit/series.h>

/* Spectra before dedispersion, series after it.
 *
 * One struct is passed from stage to stage; each stage updates the fields it changes and keeps the
 * rest.  The memory behind a pointer belongs to the stage that set it and is valid until that stage
 * takes its next block. */
struct psr_block {
    int64_t first; /* index of the first sample: spectrum, or sample of the line's series */
    size_t n;      /* number of samples; 0 spectra mark the end of the input */
    int64_t
        spectrum; /* of series: the input's spectrum with which the first sample begins at the highest
                         frequency, before bins are added and removed in the block */

    /* Spectra of the input so far, and when the last of them was read, in seconds of a monotonic clock; 0
     * where nobody waits for them. */
    int64_t nread;
    double read_s;

    /* Location of the samples: spectra, series on the host, or series on devices. */
    void *spectra; /* [n][nchan] packed */
    float *series; /* [nseries][stride] */
    size_t stride;
    float *
        equalised; /* [nseries][stride] the series with the scatter that they have with all channels,
                         where automatic cleaning masked some; not a number where it masked too much
                         (mask_correction.h); NULL: as series */
    const struct psr_device_series
        *device_series; /* [ndevice_series] all series, each of device_samples */
    const struct psr_device_series
        *device_equalised; /* [ndevice_series] as equalised; NULL: as device_series */
    size_t ndevice_series, device_samples;
    const struct psr_resample_bin
        *bin; /* [nbin] bins still to be added to or removed from series on devices, which turns
                 device_samples into n; NULL: never */
    size_t nbin;
    const size_t *own; /* [nseries] how many of the n samples the input completes (the first
                          ones): after the input has ended, series end one by one; NULL: all n */

    /* Ranges of all input so far, in spectra, ascending: gap is padding instead of data; in masked
     * every kept channel is masked. */
    const struct psr_span *gap, *masked;
    size_t ngap, nmasked;

    /* Values that the replaced samples of these spectra stand for. */
    const struct psr_step *step;
    size_t nstep;

    /* Shares of channels' noise that are missing, as psr_clean_auto_missing. */
    const struct psr_step *missing;
    size_t nmissing;

    /* Bins added to or removed from series, wherever they are, by their place in the block before; bin has the same
     * for series that still need them. */
    const struct psr_resample_bin *moved;
    size_t nmoved;
};

/* Consecutive series with the same sampling: trials of a line of a dedispersion plan, or sub-bands.
 */
struct psr_sink_line {
    size_t first, nseries; /* range [first, first + nseries) of all series */
    int64_t downsamp;
    double tsamp_s;
    size_t block;        /* largest number of samples of each series per push */
    const size_t *shift; /* [nseries] further input samples that an output sample depends on;
                            NULL if not applicable */
    const char *note;    /* origin of the series, for their headers; may change until the end;
                            NULL: none */
    bool
        late; /* series i begins shift[i] samples before the input, as those of psr_dedisp_desc.late */
    size_t part; /* 0: of the whole band; else of a part of it: only searches for pulses have
                            such lines, after all others */
    double low_mhz, high_mhz; /* edges of that */
    int64_t
        least_width; /* above 0: a part that is the whole band, searched only for boxcars of so many samples
                            or more, which other lines do not reach; 1: with finer samples than others */
};

enum { PSR_DUMP_NAME = 64 };

/* All series, and the properties of the run.  Pointers are borrowed and stay valid as long as the
 * sink. */
struct psr_sink_stream {
    const char *input;         /* its name, for messages */
    const struct psr_obs *obs; /* of the input, as series headers describe it */
    const struct psr_inf *inf; /* as psr_source_inf */
    int file_nbit;             /* as psr_source_file_nbit */
    const double *dm;          /* [ndm] pc cm^-3 of all trials; of sub-bands [1] */
    size_t ndm;
    const struct psr_mjd *epoch;      /* [ndm] of the first sample */
    const struct psr_sink_line *line; /* [nline] */
    size_t nline;
    bool presto;             /* reproduce prepsubband */
    int64_t numout;          /* requested samples of each series; 0: all */
    const char *root;        /* prefix of file names; "-" is standard output; NULL: no files */
    int dm_decimals;         /* decimals of the DM in file names */
    psr_output_group *group; /* group of all output files */
    int nthread;
    struct psr_notes notes;
    bool (*should_stop)(void *ctx); /* polled during long operations */
    void *ctx;
    double dmconst,
        voverc; /* of dispersion, MHz^2 s; and of the frequencies that series are dedispersed
                               with, those of obs times 1 + voverc */

    /* Reads spectra of the input a second time, for finish, as floats: cleaned automatically they are in units of
     * their channels' scatter; not a number where masked, ignored or beyond either end.  x [n][nchan].
     * NULL: the input cannot be read again. */
    psr_status (*reread)(void *ctx, int64_t first, size_t n, float *x, psr_err *err);
    void *reread_ctx;

    /* Ranges of the input, in spectra, that were clipped so far, ascending.  Returned: their number.  NULL: none is known */
    size_t (*clips)(void *ctx, const struct psr_span **span);
    void *clips_ctx;

    /* Keeps spectra of the input as they came in a file, those that have yet to come included; at and dm are
     * those of the pulse in them.  name becomes that of the file in its folder, or "" if it cannot be kept.
     * NULL: none are kept. */
    void (*keep)(void *ctx, struct psr_span spectra, struct psr_mjd at, double dm,
                 char name[PSR_DUMP_NAME]);
    void *keep_ctx;
    double ring_s; /* how far back it reaches */

    /* As psr_pipeline_desc.searched; with the ctx of should_stop. */
    void (*searched)(void *ctx, int64_t done, int64_t total);
    void (*marked)(void *ctx, int64_t done, int64_t total);
};

/* Properties of a line after the input has ended. */
struct psr_sink_end {
    int64_t nout;   /* samples of its longest series */
    int64_t length; /* length without losses at the end, to which series are padded */
    bool has_padding;
    float padding; /* padding value; otherwise each series is padded with its own mean */
};

struct psr_sink_ops {
    const char *name;

    /* Calls check for every file that the sink will make, before anything is created, so that no
     * input is overwritten; returns the status of a failed call.  The stream has no group, epochs
     * or blocks yet.  NULL: no files. */
    psr_status (*names)(const void *desc, const struct psr_sink_stream *stream,
                        psr_status (*check)(void *ctx, const char *name, psr_err *err), void *ctx,
                        psr_err *err);

    /* Starts the sink.  *state is passed to the other operations, and to abort even if begin fails.
     */
    psr_status (*begin)(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err);

    /* Takes the next samples of every series of a line; must not change them.  NULL, with push_device: it needs none. */
    psr_status (*push)(void *state, size_t line, const struct psr_block *series, psr_err *err);

    /* The same for series on devices; NULL: they are copied to the host.  Without bins, the first n
     * of device_samples are valid; with bins, they become n samples. */
    psr_status (*push_device)(void *state, size_t line, const struct psr_block *series,
                              psr_err *err);

    /* Called before the samples that depend on it: a range of the input holds no data, so series i
     * has none from span.first - shift[i] to span.first + span.count; late ones from span.first to as many after.  Where blocks have equalised series, these
     * tell of what is masked, and only padding is a gap.  NULL: not needed. */
    psr_status (*gap)(void *state, size_t line, struct psr_span span, psr_err *err);

    /* The input has ended: completes the files of the group, which are renamed once all sinks have
     * finished.  end [nline].  NULL: nothing to complete. */
    psr_status (*finish)(void *state, const struct psr_sink_end *end, psr_err *err);

    /* Returns the sink's result after finish and end; NULL: no result. */
    const void *(*result)(const void *state);

    /* Frees the state, whether or not the sink has finished. */
    void (*abort)(void *state);

    /* All sinks have finished: completes what a thread of this one did meanwhile.  NULL: nothing. */
    psr_status (*end)(void *state, psr_err *err);

    /* gap also tells of what is masked where blocks have equalised series. */
    bool masked;
};

/* An additional sink of a pipeline. */
struct psr_sink {
    const struct psr_sink_ops *ops;
    const void *desc; /* passed to names and begin */
};

/* --- built-in sinks --------------------------------------------------------------------------- */

/* "series", "subbands": write the files of psr_pipeline_desc.files.  "checksums": the CRC-32 of each series.  Result:
 * struct psr_checksums. */
struct psr_checksums {
    size_t n;
    const unsigned long *crc; /* [n] */
    const int64_t *count;     /* [n] samples */
};

/* "pulses": searches for single pulses and writes ROOT_DM12.00.singlepulse for each series and
 * ROOT.cand for all, or only the latter to standard output.  Events of parts of the band go to
 * ROOT_1200.000-1350.000MHz.singlepulse for each part, and pulses that are one become one
 * (psrkit-formats(5)).  Result: struct psr_pulses_found. */
struct psr_sink_pulses_desc {
    size_t size;                /* sizeof the struct */
    double threshold;           /* S/N threshold of an event */
    double maxwidth_s, detrend; /* as in psr_singlepulse_desc */
    int64_t time_tol;           /* samples and trials between events of one pulse, as in
                                   psr_cluster_events */
    int64_t trial_tol;
    bool json;     /* write the pulses to ROOT.pulses.jsonl, a line of psr_burst_json each */
    int64_t nview; /* write pictures of the spectra around the best pulses, up to 1000 of them, to
                      ROOT.bursts.jsonl; not of input that cannot be read again */
    bool csv;      /* write the pulses to ROOT.pulses.csv */
};

/* Sets size and all fields to their defaults, those that a description of "size" bytes has. */
PSR_API_BEGIN
void psr_sink_pulses_set_defaults(struct psr_sink_pulses_desc *desc, size_t size);
PSR_API_END
#define psr_sink_pulses_defaults(desc) psr_sink_pulses_set_defaults((desc), sizeof *(desc))

struct psr_pulses_found {
    const struct psr_event *event; /* [nevent] events of all trials, by trial */
    size_t nevent;
    const struct psr_cluster *cluster; /* [ncluster] best first */
    size_t ncluster;
    const size_t *scale;    /* [ndm] samples of the common clock per sample of each series */
    double tsamp_s;         /* of the common clock */
    double end_s;           /* of the longest series */
    const double *device_s; /* [nline] search time of the busiest device, seconds */
};

/* A pulse, as lists for other programs have it. */
struct psr_burst {
    struct psr_mjd mjd_inf; /* middle of its boxcar at infinite frequency */
    struct psr_mjd mjd_top; /* and at the centre of the highest channel */
    bool barycentric;       /* both are */
    double dm, snr, width_s;
    double low_mhz, high_mhz; /* edges of the band in which it was found */
    int beam;                 /* of the input, from 1; 0: unknown */
    size_t members;
    unsigned marks;   /* of enum psr_pulse_mark */
    double latency_s; /* since its last sample at the lowest frequency was read; not a number: not
                         searched live */
    const char
        *dump; /* file with the spectra around it; "": it is not kept; NULL: none are; borrowed */
};

enum { PSR_BURST_BYTES = 1024 };

/* Returned: a line of JSON, with its newline, as psrkit-formats(5) describes it; its length */
PSR_API_BEGIN
size_t psr_burst_json(char line[PSR_BURST_BYTES], const struct psr_burst *burst);
PSR_API_END

/* "live": searches an endless input from what was before alone (psr_singlepulse_desc.causal), on the
 * host, and tells of each pulse as soon as its members are complete, in memory that does not grow.
 * Pulses are marked by what is known then, and not as PSR_PULSE_NARROW.  Result: struct psr_live_found. */
struct psr_sink_live_desc {
    size_t size;                               /* sizeof the struct */
    const struct psr_sink_pulses_desc *search; /* json and nview do not count */
    psr_status (*burst)(void *ctx, const struct psr_burst *burst, psr_err *err);
    void *ctx;
};
struct psr_live_found {
    int64_t nburst, nmarked,
        ncut; /* nmarked: as PSR_PULSE_SUSPECT; ncut: groups of events cut short, as psr_cluster_stream_cut */
    double worst_s, mean_s; /* latency */
    double
        bound_s; /* of the latency, beside what the machine takes: a block, 4 longest boxcars or 256 samples, and
                       time_tol; and what trials wait for each other: the largest difference of sweeps, of late
                       series only between those of one pulse, of which this counts trial_tol trials */
};

/* "fourier": searches each complete series for pulsars and writes ROOT_DM12.00_ACCEL_200 and its
 * companions, the bytes that psr_fourier makes of the file of the series, and its .inf.  A series
 * without data gets a note and no lists.  Until they are complete, series are kept on the devices
 * that compute them, as far as there is room, then in memory, then in a scratch file beside the
 * lists.  Result: struct psr_fourier_found. */
struct psr_fourier_desc;
struct psr_sink_fourier_desc {
    size_t size; /* sizeof the struct */
    bool nopad;  /* as in psr_pipeline_desc */
    bool noinf;  /* write no .inf: sink "series" does */
    const struct psr_fourier_desc
        *search;         /* its device may name several, as in psr_pipeline_desc; baryv 0 is
                                              that of barycentring; its zaplist is not used, but: */
    const char *zaplist; /* file for psr_zaplist_read, or NULL */
    int64_t mem_bytes;   /* of series kept in memory; 0: a quarter of the machine's */
    bool segments;       /* search halves and quarters of each series, too, whose lists are those of
                            ROOT_DM12.50_seg1of2 .. _seg4of4, with their .inf */
};
struct psr_fourier_found {
    size_t nsearched, nrefused; /* series */
    size_t ncand, nleft_out;    /* candidates in lists, and beyond psr_fourier_desc.maxcands */
    int64_t device_bytes, memory_bytes, scratch_bytes; /* of series kept */
    double load_s, search_s, write_s;                  /* of the busiest device */
};

/* "ffa": searches each complete series for slow pulsars and writes ROOT_ffa.csv, one list for all DMs, and the .inf
 * files of the series, which are kept as for "fourier".  A series without data gets a note.  Result:
 * struct psr_ffa_series_found. */
struct psr_ffasearch_desc;
struct psr_sink_ffa_desc {
    size_t size;                             /* sizeof the struct */
    bool nopad;                              /* as in psr_pipeline_desc */
    bool noinf;                              /* write no .inf: another sink does */
    const struct psr_ffasearch_desc *search; /* as for "fourier" */
    const char *zaplist;                     /* file for psr_zaplist_read, or NULL */
    int64_t mem_bytes; /* of series kept in memory; 0: a quarter of the machine's */
};
struct psr_ffa_series_found {
    size_t nsearched, nrefused; /* series */
    size_t ncand;               /* rows of the list */
    size_t nharmonic, nzapped;  /* detections that were removed as harmonics, and by the zaplist */
    int64_t device_bytes, memory_bytes, scratch_bytes; /* of series kept */
    double load_s, search_s;
};

#endif
