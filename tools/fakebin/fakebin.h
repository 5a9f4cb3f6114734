/* fakebin.h: declarations shared by the parts of fakebin: command line, signals, outputs. */
#ifndef PSR_TOOLS_FAKEBIN_H
#define PSR_TOOLS_FAKEBIN_H

#include "tools/common/cli.h"
#include "tools/common/signals.h"
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>
#include <psrkit/fake.h>
#include <psrkit/series.h>

/* Bytes made, then written; or sent, which may take long and must end when it is told to. */
enum { FAKEBIN_BLOCK_BYTES = 32 << 20, FAKEBIN_SENT_BYTES = 1 << 18 };

struct fakebin_options {
    /* the pulsar */
    double period_ms, dm; /* below 0: not given */
    double width_percent, snrpeak;
    double pdot, accn;
    bool nosmear, binary, legacy_phase;
    struct signals_orbit orbit;
    /* more signals */
    struct cli_list add, addfile;
    struct cli_list rfi; /* interference */
    /* the observation */
    int64_t nchans, nbits, nifs;
    double tsamp_us, tobs_s, tstart_mjd, fch1_mhz, foff_mhz;
    struct cli_list source; /* the name, or the sources of -array */
    const char *dmconst;
    const char *array; /* voltages of it instead; NULL: a filterbank */
    bool vdif, real;   /* voltages of one telescope instead; of real samples */
    /* noise */
    int64_t seed; /* -1: the clock */
    double rednoise, redindex;
    const char *bandpass;
    bool evenodd;
    /* output */
    const char *output, *truth;
    bool headerless, swapout, dat, psrfits;
    const char *udp;          /* where it is sent; NULL: it is written */
    double rate, loss, twice; /* times real time; fractions of the datagrams */
    int64_t reorder;          /* datagrams */
    /* run */
    int64_t ncpus;
    bool quiet, verbose;
};

/* One line of the truth table for each occurrence of interference. */
PSR_MUST_CHECK psr_status fakebin_rfi_truth(const psr_fake *plan, const struct psr_fake_rfi *rfi,
                                            size_t nrfi, psr_outfile *f, psr_err *err);

struct fakebin_job {
    struct fakebin_options opt;
    struct cli tool;
    psr_err err;
    char *command;       /* the command line, for the truth table */
    struct psr_obs obs;  /* as the output's header has it */
    struct psr_obs made; /* as it is synthesised: one channel for -dat */
    struct signals signals;
    struct psr_fake_rfi *rfi; /* [opt.rfi.n] */
    double *gain;
    psr_fake *plan;
    psr_output_group *group; /* all files */
    char *series_root;       /* of -dat: what precedes _DM in names; owned */
    psr_outfile *out;        /* filterbank, PSRFITS or voltages: the group's */
    psr_outfile *truth;      /* the group's; NULL: none */
    psr_series *series;      /* -dat */
    psr_psrfits *fits;       /* -psrfits */
    psr_udp_sender *sender;  /* -udp */
};

/* Makes the observation, the signals and the plan (fakebin_setup.c). */
PSR_MUST_CHECK psr_status fakebin_prepare(struct fakebin_job *j);
void fakebin_release(struct fakebin_job *j);

/* The start of the observation, with the day split off before its fraction is rounded. */
struct psr_mjd fakebin_start(const struct fakebin_options *o);

/* A seed from the clock where none was given. */
PSR_MUST_CHECK psr_status fakebin_choose_seed(struct fakebin_job *j);

/* The whole of -array: voltages in a DADA file. */
PSR_MUST_CHECK psr_status fakebin_voltages(struct fakebin_job *j);

/* The whole of -vdif: voltages of one telescope. */
PSR_MUST_CHECK psr_status fakebin_vdif(struct fakebin_job *j);

/* Outputs (fakebin_output.c).  The first, once the signals are there, refuses those that would be
 * written over a file that is read, or twice. */
PSR_MUST_CHECK psr_status fakebin_check_names(struct fakebin_job *j);
/* Keeps other runs from writing the same files, of which the first takes so many bytes. */
PSR_MUST_CHECK psr_status fakebin_create_group(struct fakebin_job *j, double bytes);
PSR_MUST_CHECK psr_status fakebin_output_open(struct fakebin_job *j);
PSR_MUST_CHECK psr_status fakebin_output_write(struct fakebin_job *j, void *block, size_t nsamp);
PSR_MUST_CHECK psr_status fakebin_output_close(struct fakebin_job *j);

/* The table of what was put in. */
PSR_MUST_CHECK psr_status fakebin_write_truth(struct fakebin_job *j);

#endif
