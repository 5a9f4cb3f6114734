/* ddplan.h: declarations shared by the parts of ddplan. */
#ifndef PSR_TOOLS_DDPLAN_H
#define PSR_TOOLS_DDPLAN_H

#include "tools/common/cli.h"
#include "tools/common/plot/plotfile.h"

#include <psrkit/ddplan.h>
#include <stdbool.h>

/* Values of the command line, which take precedence over those of a file; NAN and INT64_MIN where
 * an option is not given. */
struct ddplan_given {
    double lodm, hidm, fctr_mhz, bw_mhz, tsamp_s, cohdm, res_ms;
    int64_t nchan, blocklen, nsub, nproc;
};

struct ddplan_options {
    struct psr_ddplan_desc desc;
    struct ddplan_given given;
    struct cli_list files;  /* of the observation; may be none */
    const char *draw;       /* text of -o; NULL for none */
    char *plot;             /* malloc'd path with its suffix; NULL for none */
    const char *plan;       /* path or "-"; NULL for none */
    const char *script_for; /* "gpudedisp" or "prepsubband" */
    const char *rates;      /* text of -rates; NULL to measure */
    double smear;           /* of -algo tree; 0: its default */
    double tobs_s;          /* 0: unknown */
    int64_t nbit;           /* 0: unknown */
    double dm_tol;          /* list DMs by it instead of a plan; 0: not */
    double dm_pulse_width_us;
    bool script, json, cost;
    struct psr_ddplan_desc in_file; /* what the file says, before flags; where there is a file */
    char *command;                  /* the command line, for provenance; malloc'd */
};

/* Fills o from the command line and the header of the file it names; exits 2 on a mistake.
 * Status: those of psr_source_open. */
PSR_MUST_CHECK psr_status ddplan_options_parse(struct ddplan_options *o, struct cli *tool, int argc,
                                               char **argv, psr_err *err);

/* DDplan.py's text on standard output: what was taken from a file, and the plan. */
void ddplan_print_observation(const struct ddplan_options *o);
void ddplan_print_plan(const struct psr_ddplan *plan);

/* Lists DMs of -dm_tol on standard output, one a line.  Status: those of psr_dm_tolerance_list */
PSR_MUST_CHECK psr_status ddplan_print_dms(const struct ddplan_options *o, psr_err *err);

/* A shell script of calls on standard output. */
void ddplan_print_script(const struct ddplan_options *o, const struct psr_ddplan *plan);

/* What the plan costs gpudedisp. */
struct ddplan_rate {
    double per_s;
    const char *origin; /* "measured", "given" or "assumed" */
};

/* What is counted; and the rate of additions, however they are shared, of the tree algorithm. */
enum ddplan_work { DDPLAN_READ, DDPLAN_ADD, DDPLAN_WRITE, DDPLAN_NWORK };
enum { DDPLAN_TREE = DDPLAN_NWORK, DDPLAN_NRATE };

extern const char *const ddplan_rate_name[DDPLAN_NRATE]; /* as in -rates */

struct ddplan_cost {
    double tobs_s, nspec;
    int64_t nbit;
    bool tobs_assumed, nbit_assumed;
    double amount[DDPLAN_NWORK]; /* bytes, adds, bytes */
    struct ddplan_rate rate[DDPLAN_NRATE];
    double seconds[DDPLAN_NWORK];
    bool has_tree; /* the plan has no sub-bands, which the tree algorithm replaces */
    double smear;  /* of the tree algorithm */
    double tree_s; /* instead of seconds[DDPLAN_ADD] with -algo tree */
};

/* Measures or takes the rates and prices the plan.  Status: PSR_EINVAL for a bad -rates; those of
 * psr_dedisp_create and execute. */
PSR_MUST_CHECK psr_status ddplan_cost_of(struct ddplan_cost *cost, const struct ddplan_options *o,
                                         const struct psr_ddplan *plan, psr_err *err);
void ddplan_print_cost(const struct ddplan_cost *cost);

/* Whether the tree algorithm takes less time than exact sums; and the part of its S/N that a pulse of
 * two samples loses with it, about. */
bool ddplan_tree_is_cheapest(const struct ddplan_cost *cost);
double ddplan_tree_loss(const struct ddplan_cost *cost);

/* Seconds of the machine that the plan takes: reading, adding and writing one after the other. */
double ddplan_cost_seconds(const struct ddplan_cost *cost);

/* All of it as one JSON object on standard output; cost may be NULL. */
void ddplan_print_json(const struct ddplan_options *o, const struct psr_ddplan *plan,
                       const struct ddplan_cost *cost);

#endif
