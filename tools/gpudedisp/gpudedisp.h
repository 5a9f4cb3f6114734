/* gpudedisp.h: the pieces of gpudedisp: its command line, live output, many beams, reports. */
#ifndef PSR_TOOLS_GPUDEDISP_GPUDEDISP_H
#define PSR_TOOLS_GPUDEDISP_GPUDEDISP_H

#include "tools/common/cli.h"
#include "tools/common/fourier_options.h"
#include "tools/common/plot/plotfile.h"

#include <psrkit/pipeline.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpudedisp_options {
    struct psr_pipeline_desc run; /* most options are its fields */

    /* Options that are converted to its fields. */
    bool filterbank, psrfits;
    const char *state, *dmconst, *algo, *compat, *format, *clean, *weights, *lists;
    bool nowrite, sub, singlepulse, live;
    struct psr_sink_pulses_desc pulses;
    struct psr_sink_live_desc live_search; /* needs its callback */
    struct psr_sink_fourier_desc fourier_search;
    const char *events; /* where -live tells of pulses */
    double subdm;
    const char *accelsearch;        /* options of the search; NULL: none */
    struct fourier_options fourier; /* the same, read */
    bool segments;                  /* of series are searched by it, too */
    const char *slow;               /* options of the search for slow pulsars; NULL: none */
    struct ffa_options ffa;         /* the same, read */
    struct psr_sink_ffa_desc ffa_search;

    /* Options that are not part of it. */
    bool wapp, window; /* with numwapps: PRESTO's flags without effect here */
    int64_t numwapps;
    const char *plot;
    bool beams; /* each input is a beam */
    bool quiet, verbose;
    bool prepdata; /* run under that name */
};

/* Fills *table with options that set fields of *o. */
void gpudedisp_fill_table(struct cli_table *table, struct gpudedisp_options *o);

/* Reads the command line into o, whose run lacks its callbacks; mistakes end the program with exit
 * code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
int gpudedisp_options_parse(struct gpudedisp_options *o, struct cli *tool, int argc, char **argv);

struct line_output {
    const char *name; /* "-", tcp://HOST:PORT, unix:PATH, or a file that lines are appended to */
    int fd;           /* -1: a socket whose other end has gone */
    bool socket;
    int64_t nlost;  /* lines that nobody took */
    double retry_s; /* when to connect again */
};

/* True if the name is that of a socket. */
bool line_output_is_socket(const char *name);

/* Connects, or opens.  Status: PSR_EINVAL (not HOST:PORT, a path too long), PSR_EIO naming the output */
PSR_MUST_CHECK psr_status line_output_open(struct line_output *o, const char *name, psr_err *err);

/* Writes n bytes, a line.  A socket that nobody reads from for half a second, or whose other end has gone, is left, and
 * tried again with the next line a second later at the earliest; lines are lost meanwhile, and counted.
 * Status: PSR_EIO where a file cannot be written */
PSR_MUST_CHECK psr_status line_output_write(struct line_output *o, const char *line, size_t n,
                                            psr_err *err);

/* Opens a file anew, or connects again at once. */
PSR_MUST_CHECK psr_status line_output_reopen(struct line_output *o, psr_err *err);

PSR_MUST_CHECK psr_status line_output_close(struct line_output *o, psr_err *err);

/* On standard error: what is going to be done, and what was done. */
void gpudedisp_print_plan(const struct cli *tool, psr_pipeline *p);
void gpudedisp_print_account(const struct cli *tool, psr_pipeline *p, int dm_decimals);

/* On standard output, where zapbirds' users of prepdata look for it. */
void gpudedisp_print_velocity(psr_pipeline *p);

/* Says how many candidates of a Fourier search are in no list. */
void gpudedisp_note_left_out(struct cli *tool, psr_pipeline *p);

/* Draws the pulses that were found; f is open.  Status: those of pulseplot_draw. */
PSR_MUST_CHECK psr_status gpudedisp_draw(psr_pipeline *p, struct plotfile *f, psr_err *err);

#endif
