/* Writes prepfold's .bestprof files: the numbers of a fold, and its best profile. */
#include "base/output/outfile_internal.h"
#include "base/tool.h"
#include <psrkit/experimental/fold.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    TEXT,
    NUMBER,      /* with what follows it in the format */
    OPTIONAL,    /* no line if it does not apply */
    UNCERTAIN,   /* a psr_bestprof_value */
    SIGNIFICANT, /* a number, and as Gaussian sigma */
    BINS,        /* the number of bins */
};

/* Formats of numbers; NULL: none. */
static const char wide[] = "%-17.15g", mjd[] = "%-.12f", whole[] = "%-.0f", brief[] = "%.6g",
                  decimal[] = "%.3f", tiny[] = "%.3g";

/* A line of the header.  Label and other: without and with a number that applies. */
struct line {
    const char *label, *other;
    enum kind kind;
    size_t at;
    const char *format;
};

#define AT(member) offsetof(struct psr_bestprof, member)

static const struct line lines[] = {
    {"Input file", NULL, TEXT, AT(input), NULL},
    {"Candidate", NULL, TEXT, AT(candidate), NULL},
    {"Telescope", NULL, TEXT, AT(telescope), NULL},
    {"Epoch_topo", NULL, NUMBER, AT(tepoch_mjd), mjd},
    {"Epoch_bary", "Epoch_bary (MJD)", NUMBER, AT(bepoch_mjd), mjd},
    {"T_sample", NULL, NUMBER, AT(tsamp_s), brief},
    {"Data Folded", NULL, NUMBER, AT(ndata), whole},
    {"Data Avg", NULL, NUMBER, AT(data_avg), wide},
    {"Data StdDev", NULL, NUMBER, AT(data_std), wide},
    {"Profile Bins", NULL, BINS, AT(nbin), NULL},
    {"Profile Avg", NULL, NUMBER, AT(prof_avg), wide},
    {"Profile StdDev", NULL, NUMBER, AT(prof_std), wide},
    {"Reduced chi-sqr", NULL, NUMBER, AT(redchi), decimal},
    {"Prob(Noise)", NULL, SIGNIFICANT, AT(prob), tiny},
    {"Best DM", NULL, OPTIONAL, AT(dm), decimal},
    {"P_topo (ms)", NULL, UNCERTAIN, AT(topo[0]), wide},
    {"P'_topo (s/s)", NULL, UNCERTAIN, AT(topo[1]), wide},
    {"P''_topo (s/s^2)", NULL, UNCERTAIN, AT(topo[2]), wide},
    {"P_bary (ms)", NULL, UNCERTAIN, AT(bary[0]), wide},
    {"P'_bary (s/s)", NULL, UNCERTAIN, AT(bary[1]), wide},
    {"P''_bary (s/s^2)", NULL, UNCERTAIN, AT(bary[2]), wide},
    {"P_orb (s)", NULL, NUMBER, AT(orb_period_s), wide},
    {"asin(i)/c (s)", NULL, NUMBER, AT(asini_s), wide},
    {"eccentricity", NULL, NUMBER, AT(ecc), wide},
    {"w (rad)", "w (deg)", NUMBER, AT(omega_deg), wide},
    {"T_peri", NULL, NUMBER, AT(t0_mjd), mjd},
};
enum { NLINE = sizeof lines / sizeof *lines };
static const char rule[] = "######################################################\n";

/* --- writing ---------------------------------------------------------------------------------- */

static void put_line(psr_outfile *f, const struct line *line, const struct psr_bestprof *best)
{
    const char *from = (const char *)best + line->at;
    const double value = !line->format ? 0 : *(const double *)(const void *)from;
    const bool applies = !isnan(value);
    if (line->kind == OPTIONAL && !applies)
        return;
    psr_outfile_put(f, "# %-16s %c  ", applies && line->other ? line->other : line->label,
                    line->kind == SIGNIFICANT ? '<' : '=');
    if (line->kind == TEXT)
        psr_outfile_put(f, "%s", from);
    else if (line->kind == BINS)
        psr_outfile_put(f, "%zu", best->nbin);
    else if (applies)
        psr_outfile_put(f, line->format, value);
    else
        psr_outfile_put(f, "N/A");
    if (applies && line->kind == UNCERTAIN)
        psr_outfile_put(f, " +/- %-.3g",
                        ((const struct psr_bestprof_value *)(const void *)from)->error);
    if (line->kind == SIGNIFICANT)
        psr_outfile_put(f, "   (~%.1f sigma)", best->sigma);
    psr_outfile_put(f, "\n");
}

psr_status psr_bestprof_write(psr_outfile *f, const struct psr_bestprof *best, psr_err *err)
{
    for (int i = 0; i < NLINE; i++)
        put_line(f, &lines[i], best);
    psr_outfile_put(f, "%s", rule);
    for (size_t i = 0; i < best->nbin; i++)
        psr_outfile_put(f, "%4zu  %.7g\n", i, best->profile[i]);
    return psr_outfile_status(f, err);
}

void psr_bestprof_clear(struct psr_bestprof *best)
{
    free(best->profile);
    best->profile = NULL;
    best->nbin = 0;
}
