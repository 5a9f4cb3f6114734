/* psrinject.h: declarations shared by the parts of psrinject. */
#ifndef PSR_TOOLS_PSRINJECT_H
#define PSR_TOOLS_PSRINJECT_H

#include "tools/common/cli.h"
#include <psrkit/fake.h>
#include <psrkit/obs.h>

enum { INJECT_PATH = 4096, INJECT_EACH = 100, INJECT_WORD = 32 };

struct inject_range {
    double low, high;
};

struct inject_options {
    int64_t npulsar, nburst, each; /* signals; bursts in a copy */
    struct inject_range period_s, duty, width_s, dm, snr, accn;
    const char *search;       /* psrsearch's options */
    double probability;       /* from which a folded candidate is found */
    const char *interference; /* "KIND,KIND..", one for each input; NULL: their names */
    const char *output;
    int64_t seed, jobs, ncpus;
    bool keep, join, quiet, verbose;
    const char *const *path; /* [npath] inputs, or folders of results that are joined */
    size_t npath;
};

/* Reads the command line into o; mistakes end the program with exit code 2. */
void inject_options_parse(struct inject_options *o, struct cli *tool, int argc, char **argv);

/* A signal, and what became of it. */
struct inject_row {
    bool pulsar;
    double dm, t_s, width_s, period_s, accn, snr;
    double found_snr;               /* 0: not found */
    char lost[16];                  /* the step that lost it; "-": found */
    char interference[INJECT_WORD]; /* of the input; "-": there is one input, and no word for it */
};

/* Of an input. */
struct inject_field {
    double length_s, lowest_mhz, highest_mhz, tsamp_s;
};

/* One copy with its signals. */
struct inject_trial {
    const struct inject_options *opt;
    const char *input;
    int64_t number;
    struct inject_field field;
    struct inject_row row[1 + INJECT_EACH];
    size_t n;
};

int64_t inject_ntrial(const struct inject_options *o);

/* Kind of interference in an input: what the options say of it, or its name. */
void inject_kind(char kind[INJECT_WORD], const struct inject_options *o, size_t input);

/* Draws the signals of a trial: the same for the same seed and number. */
void inject_draw(struct inject_trial *t);

/* A signal in the words of fbedit -add. */
void inject_words(char *text, size_t room, const struct inject_row *row);

/* Injects, searches and matches; the result is a table in the folder of results, complete or absent.
 * Status: PSR_EIO where a tool failed; those of files */
PSR_MUST_CHECK psr_status inject_trial_run(struct inject_trial *t, psr_err *err);

/* The name of a trial's table. */
void inject_table_name(char path[INJECT_PATH], const struct inject_options *o, int64_t number);

/* Rows of all tables. */
struct inject_result {
    struct inject_row *row; /* [n], owned */
    size_t n, room;
};
PSR_MUST_CHECK psr_status inject_table_read(struct inject_result *all, const char *path,
                                            psr_err *err);
PSR_MUST_CHECK psr_status inject_table_write(const char *path, const struct inject_row *row,
                                             size_t n, psr_err *err);

/* Writes the page of the recall. */
PSR_MUST_CHECK psr_status inject_page(const struct inject_result *all, const char *command,
                                      const char *path, psr_err *err);

/* k of n: the share and its binomial interval of 68 % (Wilson 1927). */
struct inject_share {
    double value, low, high;
};
struct inject_share inject_share(size_t k, size_t n);

#endif
