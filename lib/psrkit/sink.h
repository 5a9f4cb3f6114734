/* sink.h: what consumes the series of a pipeline: files, searches, folds, whatever comes next.
 *
 * A sink is a table of operations.  A pipeline has those that its description switches on and those
 * that the caller adds; to each it says what series will come, hands them over block by block, on
 * the host or on the devices that made them, and says when they end.  A sink looks at nothing but
 * what it is given here. */
#ifndef PSRKIT_SINK_H
#define PSRKIT_SINK_H

#include <psrkit/block.h>
#include <psrkit/inf.h>
#include <psrkit/output_group.h>
#include <psrkit/singlepulse.h>

/* Series that follow each other and share a sampling: trials of a line of a dedispersion plan, or
 * sub-bands. */
struct psr_sink_line {
    size_t first, nseries; /* series [first, first + nseries) of all */
    int64_t downsamp;
    double tsamp_s;
    size_t block; /* samples of each in one push, at most */
    const size_t
        *shift;       /* [nseries] samples of the input after its own that a sample draws on; NULL
                            where that is nobody's business */
    const char *note; /* what makes the series, for their headers; may change until the end; NULL:
                            nothing is said */
};

/* All the series, and what a sink may want to know of the run.  Everything is borrowed, and lives as
 * long as the sink. */
struct psr_sink_stream {
    const char *input;         /* its name, for messages */
    const struct psr_obs *obs; /* of the input, as series tell it */
    const struct psr_inf *inf; /* as psr_source_inf */
    int file_nbit;             /* as psr_source_file_nbit */
    const double *dm;          /* [ndm] pc cm^-3 of all trials; of sub-bands [1] */
    size_t ndm;
    const struct psr_mjd *epoch;      /* [ndm] of the first sample */
    const struct psr_sink_line *line; /* [nline] */
    size_t nline;
    bool presto;             /* everything is as prepsubband has it */
    int64_t numout;          /* samples asked for of each series; 0: all there are */
    const char *root;        /* what the names of files begin with, "-" being standard output; NULL:
                                    no files are wanted */
    int dm_decimals;         /* in their names */
    psr_output_group *group; /* that all files belong to */
    int nthread;
    struct psr_notes notes;
    bool (*should_stop)(void *ctx); /* asked during what takes long */
    void *ctx;
};

/* What is known of a line once the input has ended. */
struct psr_sink_end {
    int64_t nout;   /* samples of its longest series */
    int64_t length; /* what series had if none were lost at the end: what they are padded to */
    bool has_padding;
    float padding; /* what they are padded with; else each with its own mean */
};

struct psr_sink_ops {
    const char *name;

    /* Names every file that the sink will make, before anything is made, so that none is written over
     * an input: calls check for each, and ends with the status of one that fails.  The stream has
     * neither group nor epochs nor blocks yet.  NULL: there is none. */
    psr_status (*names)(const void *desc, const struct psr_sink_stream *stream,
                        psr_status (*check)(void *ctx, const char *name, psr_err *err), void *ctx,
                        psr_err *err);

    /* Starts the sink; *state is handed to the others, and to abort also where this fails. */
    psr_status (*begin)(void **state, const void *desc, const struct psr_sink_stream *stream,
                        psr_err *err);

    /* Takes the next samples of every series of a line; they may not be changed. */
    psr_status (*push)(void *state, size_t line, const struct psr_block *series, psr_err *err);

    /* The same where they lie on devices; NULL: they come to the host.  Without bins the first n of
     * device_samples count, with bins they make n. */
    psr_status (*push_device)(void *state, size_t line, const struct psr_block *series,
                              psr_err *err);

    /* Says, before samples that draw on it come, that a stretch of the input holds no data: series i
     * has none from span.first - shift[i] up to span.first + span.count.  NULL: not of interest. */
    psr_status (*gap)(void *state, size_t line, struct psr_span span, psr_err *err);

    /* The input has ended: completes the files of the group, which take their names once all sinks
     * have finished.  end [nline].  NULL: there is nothing to complete. */
    psr_status (*finish)(void *state, const struct psr_sink_end *end, psr_err *err);

    /* What came of it, once it has finished, as the sink says; NULL: nothing to be told. */
    const void *(*result)(const void *state);

    /* Frees the state, of a sink that has finished or of one that never will. */
    void (*abort)(void *state);
};

/* One more sink of a pipeline. */
struct psr_sink {
    const struct psr_sink_ops *ops;
    const void *desc; /* handed to names and begin */
};

/* --- the sinks there are ---------------------------------------------------------------------- */

/* "series": a file for each, as psr_series writes it. */
struct psr_sink_series_desc {
    bool on;
    bool tim;   /* SIGPROC's .tim; else PRESTO's .dat and .inf */
    bool nopad; /* not padded to a good length */
};

/* "subbands": ROOT_DM12.00.sub0 and so on, as prepsubband -sub writes them.  Where it is on there are
 * sub-bands and no other series. */
struct psr_sink_subbands_desc {
    bool on;
};

/* "checksums": the CRC-32 of each series.  Result: struct psr_checksums. */
struct psr_sink_checksums_desc {
    bool on;
};
struct psr_checksums {
    size_t n;
    const unsigned long *crc; /* [n] */
    const int64_t *count;     /* [n] samples */
};

/* "pulses": the search for single pulses; ROOT_DM12.00.singlepulse of each series and ROOT.cand of all,
 * or that alone to standard output.  Result: struct psr_pulses_found. */
struct psr_sink_pulses_desc {
    bool on;
    double threshold;  /* least S/N of an event */
    double maxwidth_s; /* as psr_singlepulse_desc */
    int64_t time_tol;  /* samples and trials between events of one pulse, as psr_cluster_events */
    int64_t trial_tol;
};
struct psr_pulses_found {
    const struct psr_event *event; /* [nevent] by trial, of all trials */
    size_t nevent;
    const struct psr_cluster *cluster; /* [ncluster] best first */
    size_t ncluster;
    const size_t *scale;    /* [ndm] samples of the common clock in one of each series */
    double tsamp_s;         /* of the common clock */
    double end_s;           /* of the longest series */
    const double *device_s; /* [nline] that the busiest device searched */
};

#endif
