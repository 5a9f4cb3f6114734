/* chi2sig: computes the significance of a power. */
#include "chi2sig.h"

#include "base/tool.h"
#include "tools/common/cli.h"
#include <math.h>
#include <psrkit/device.h>
#include <psrkit/experimental/outfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
    bool accel, gauss, sidak, poly, csv, json;
    double ntrials, inverse, inverse_logp;
    int64_t harmonics, z, ncpus;
};

static const char examples[] = "chi2sig -gauss -ntrials 1e9 -harmonics 2 -z 30 512.7\n"
                               "chi2sig -inverse 6 -ntrials 1e8 8\n"
                               "chi2sig -accel obs_DM12.00_ACCEL_200\n";

static const char summary[] =
    "Compute the significance of a power: the probability p that noise reaches POWER, a "
    "chi-squared value with DOF degrees of freedom, as ln p, log10 p, ln(1 - p) and Gaussian "
    "sigma, without underflow. Without operands, read rows of POWER DOF from standard input.\n\n"
    "Pulscan's power is chi^2; the summed power of accelsearch is chi^2 / 2 with 2 degrees of "
    "freedom per harmonic. -accel converts both; otherwise double the power of accelsearch.";

#define AT(member) CLI_AT(struct options, member)

static const struct cli_option options[] = {
    {"Input", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"harmonics", CLI_INT, AT(harmonics), "H", 1, 1e5,
     "Rows hold only POWER, with H(H+1)(Z+1) degrees of freedom, as for Pulscan's sums over "
     "harmonics 1 to H."},
    {"z", CLI_INT, AT(z), "Z", 0, 1e9, "The Z of -harmonics: boxes of Z + 1 bins (default 0)."},
    {"accel", CLI_FLAG, AT(accel), NULL, 0, 0,
     "Read FILE, or standard input: an ACCEL file of accelsearch (its summed powers are "
     "doubled) or a candidate list of Pulscan (its powers are chi^2). Also print the listed "
     "sigma."},
    {"Trials", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"ntrials", CLI_DOUBLE, AT(ntrials), "N", 1, 1e300,
     "Print the probability for the best of N trials, min(1, N p) (default 1)."},
    {"sidak", CLI_FLAG, AT(sidak), NULL, 0, 0,
     "Use 1 - (1 - p)^N, which is exact for independent trials."},
    {"Thresholds", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"inverse", CLI_DOUBLE, AT(inverse), "SIGMA", -1e6, 1e6,
     "Print the POWER that has this sigma after trials; rows hold only DOF."},
    {"inverse-logp", CLI_DOUBLE, AT(inverse_logp), "X", -5e11, 0,
     "The same for ln p = X after trials, X from -5e11 to 0."},
    {"Output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"gauss", CLI_FLAG, AT(gauss), NULL, 0, 0,
     "Print only the equivalent Gaussian sigma; negative if p > 1/2."},
    {"poly", CLI_FLAG, AT(poly), NULL, 0, 0,
     "Also print ln p from the polynomial of the Pulscan paper for one trial, its error, and "
     "1 if the error is within 2 %, else 0. It is valid for at least 300 degrees of freedom "
     "and POWER >= 2.6 DOF, and otherwise only for much larger POWER."},
    {"csv", CLI_FLAG, AT(csv), NULL, 0, 0, "Print comma-separated values with a header."},
    {"json", CLI_FLAG, AT(json), NULL, 0, 0,
     "Print a JSON array of objects; infinite values are null."},
    {"Running", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"ncpus", CLI_INT, AT(ncpus), "N", 1, 1024,
     "Threads for rows of standard input (default: all)."},
};

static void check_options(const struct cli *tool, const struct options *o)
{
    bool inverse = !isnan(o->inverse) || !isnan(o->inverse_logp);
    if (!isnan(o->inverse) && !isnan(o->inverse_logp))
        cli_usage_error(tool, "-inverse and -inverse-logp exclude each other");
    if (o->csv && o->json)
        cli_usage_error(tool, "-csv and -json exclude each other");
    if (o->gauss && o->poly)
        cli_usage_error(tool, "-gauss prints sigma alone, so it excludes -poly");
    if (o->accel && inverse)
        cli_usage_error(tool, "-accel and -inverse exclude each other");
    if (o->accel && o->harmonics)
        cli_usage_error(tool, "-accel takes the harmonics from the list: leave out -harmonics");
    if (o->z >= 0 && !o->harmonics)
        cli_usage_error(tool, "-z needs -harmonics");
}

static struct chi2sig_job make_job(const struct cli *tool, const struct options *o)
{
    struct chi2sig_job job = {
        .ntrials = o->ntrials,
        .how = o->sidak ? PSR_TRIALS_SIDAK : PSR_TRIALS_BONFERRONI,
        .inverse = !isnan(o->inverse) || !isnan(o->inverse_logp),
        .format = o->json  ? FORMAT_JSON
                  : o->csv ? FORMAT_CSV
                           : FORMAT_TEXT,
        .nthread = psr_count_threads((int)o->ncpus),
    };
    if (o->harmonics)
        job.dof = psr_pulscan_dof((double)o->harmonics, o->z < 0 ? 0 : (double)o->z);
    if (job.dof > CHI2SIG_MAX_DOF)
        cli_usage_error(tool, "-harmonics and -z give %g degrees of freedom, above %g", job.dof,
                        CHI2SIG_MAX_DOF);
    if (job.inverse) {
        struct psr_logp p =
            isnan(o->inverse) ? psr_logp_from_sf(o->inverse_logp) : psr_gauss_logp(o->inverse);
        job.target = psr_logp_trials(p, 1 / o->ntrials, job.how);
    }
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        job.column[i] = i <= COLUMN_SIGMA ? !o->gauss : i >= COLUMN_POLY_LN_P && o->poly;
    job.column[COLUMN_SIGMA] = true;
    job.column[COLUMN_LISTED_SIGMA] = o->accel && !o->gauss;
    return job;
}

static double read_operand(const struct cli *tool, const char *what, const char *text, double min,
                           double max)
{
    psr_err err;
    double value;
    if (psr_parse_double(what, text, min, max, &value, &err) != PSR_OK)
        cli_usage_error(tool, "%s", err.msg);
    return value;
}

/* One row from the command line: what neither an option nor an inverse provides. */
static psr_status do_operands(const struct cli *tool, const struct chi2sig_job *job, char **operand,
                              psr_err *err)
{
    struct chi2sig_row row = {.dof = job->dof};
    struct chi2sig_text out = {0};
    int64_t nwrite = 0;
    if (!job->inverse)
        row.power = read_operand(tool, "POWER", *operand++, -CHI2SIG_MAX_POWER, CHI2SIG_MAX_POWER);
    if (job->dof == 0)
        row.dof = read_operand(tool, "DOF", *operand, 1, CHI2SIG_MAX_DOF);
    chi2sig_print_head(job);
    chi2sig_add_row(job, &row, &out);
    psr_status st = chi2sig_write(job, &out, &nwrite, err);
    free(out.data);
    return st;
}

static psr_status run_job(const struct cli *tool, const struct chi2sig_job *job, bool accel,
                          int noperand, char **operand, psr_err *err)
{
    int nwanted = accel ? 1 : !job->inverse + (job->dof == 0);
    if (noperand > nwanted || (noperand > 0 && noperand < nwanted))
        cli_usage_error(tool, "%d operands where %s", noperand,
                        nwanted == 2   ? "POWER and DOF or nothing are wanted"
                        : accel        ? "one FILE or nothing is wanted"
                        : nwanted == 0 ? "none is wanted"
                        : job->inverse ? "DOF or nothing is wanted"
                                       : "POWER or nothing is wanted");
    if (noperand == nwanted && !accel)
        return do_operands(tool, job, operand, err);
    const char *input = noperand ? operand[0] : "-";
    /* Rows that go where they come from would never end. */
    struct psr_overwrite_check c = {0};
    psr_status st = psr_overwrite_check_input(&c, input, err);
    if (st == PSR_OK)
        st = psr_overwrite_check_output(&c, "-", NULL, err);
    psr_overwrite_check_clear(&c);
    if (st != PSR_OK)
        return st;
    if (accel)
        return chi2sig_candidates(job, input, err);
    chi2sig_print_head(job);
    return chi2sig_rows(job, STDIN_FILENO, err);
}

int main(int argc, char **argv)
{
    struct options o = {.ntrials = 1, .inverse = NAN, .inverse_logp = NAN, .z = -1};
    struct cli_table table = {.n = 0};
    CLI_FILL(&table, options, &o);
    struct cli tool = {
        .name = "chi2sig",
        .operands = "[OPTION]... [POWER DOF]\n  or:  chi2sig -accel [OPTION]... [FILE]",
        .summary = summary,
        .examples = examples,
        .options = table.option,
        .noptions = table.n,
    };
    int noperand = cli_parse(&tool, argc, argv);
    check_options(&tool, &o);
    struct chi2sig_job job = make_job(&tool, &o);
    psr_err err;
    psr_status st = run_job(&tool, &job, o.accel, noperand, argv + 1, &err);
    if (st != PSR_OK)
        return cli_report(&tool, &err);
    chi2sig_print_tail(&job);
    return cli_close_stdout(&tool, EXIT_SUCCESS);
}
