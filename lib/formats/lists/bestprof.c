/* Writes prepfold's .bestprof files: the numbers of a fold, and its best profile. */
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

enum form { NONE, WIDE, MJD, WHOLE, SHORT, DECIMAL, TINY };

/* A line of the header.  Label and other: without and with a number that applies. */
struct line {
    const char *label, *other;
    enum kind kind;
    size_t at;
    enum form form;
};

#define AT(member) offsetof(struct psr_bestprof, member)

static const struct line lines[] = {
    {"Input file", NULL, TEXT, AT(input), NONE},
    {"Candidate", NULL, TEXT, AT(candidate), NONE},
    {"Telescope", NULL, TEXT, AT(telescope), NONE},
    {"Epoch_topo", NULL, NUMBER, AT(tepoch_mjd), MJD},
    {"Epoch_bary", "Epoch_bary (MJD)", NUMBER, AT(bepoch_mjd), MJD},
    {"T_sample", NULL, NUMBER, AT(tsamp_s), SHORT},
    {"Data Folded", NULL, NUMBER, AT(ndata), WHOLE},
    {"Data Avg", NULL, NUMBER, AT(data_avg), WIDE},
    {"Data StdDev", NULL, NUMBER, AT(data_std), WIDE},
    {"Profile Bins", NULL, BINS, AT(nbin), NONE},
    {"Profile Avg", NULL, NUMBER, AT(prof_avg), WIDE},
    {"Profile StdDev", NULL, NUMBER, AT(prof_std), WIDE},
    {"Reduced chi-sqr", NULL, NUMBER, AT(redchi), DECIMAL},
    {"Prob(Noise)", NULL, SIGNIFICANT, AT(prob), TINY},
    {"Best DM", NULL, OPTIONAL, AT(dm), DECIMAL},
    {"P_topo (ms)", NULL, UNCERTAIN, AT(topo[0]), WIDE},
    {"P'_topo (s/s)", NULL, UNCERTAIN, AT(topo[1]), WIDE},
    {"P''_topo (s/s^2)", NULL, UNCERTAIN, AT(topo[2]), WIDE},
    {"P_bary (ms)", NULL, UNCERTAIN, AT(bary[0]), WIDE},
    {"P'_bary (s/s)", NULL, UNCERTAIN, AT(bary[1]), WIDE},
    {"P''_bary (s/s^2)", NULL, UNCERTAIN, AT(bary[2]), WIDE},
    {"P_orb (s)", NULL, NUMBER, AT(orb_period_s), WIDE},
    {"asin(i)/c (s)", NULL, NUMBER, AT(asini_s), WIDE},
    {"eccentricity", NULL, NUMBER, AT(ecc), WIDE},
    {"w (rad)", "w (deg)", NUMBER, AT(omega_deg), WIDE},
    {"T_peri", NULL, NUMBER, AT(t0_mjd), MJD},
};
enum { NLINE = sizeof lines / sizeof *lines };
static const char rule[] = "######################################################\n";

/* --- writing ---------------------------------------------------------------------------------- */

static psr_status write_number(psr_outfile *f, enum form form, double value, psr_err *err)
{
    switch (form) {
    case WIDE:
        return psr_outfile_printf(f, err, "%-17.15g", value);
    case MJD:
        return psr_outfile_printf(f, err, "%-.12f", value);
    case WHOLE:
        return psr_outfile_printf(f, err, "%-.0f", value);
    case SHORT:
        return psr_outfile_printf(f, err, "%.6g", value);
    case DECIMAL:
        return psr_outfile_printf(f, err, "%.3f", value);
    case TINY:
        return psr_outfile_printf(f, err, "%.3g", value);
    case NONE:
        break;
    }
    return PSR_OK;
}

static psr_status write_line(psr_outfile *f, const struct line *line,
                             const struct psr_bestprof *best, psr_err *err)
{
    const char *from = (const char *)best + line->at;
    const double value = line->form == NONE ? 0 : *(const double *)(const void *)from;
    const bool applies = !isnan(value);
    if (line->kind == OPTIONAL && !applies)
        return PSR_OK;
    psr_status st = psr_outfile_printf(f, err, "# %-16s %c  ",
                                       applies && line->other ? line->other : line->label,
                                       line->kind == SIGNIFICANT ? '<' : '=');
    if (!st && line->kind == TEXT)
        st = psr_outfile_printf(f, err, "%s", from);
    else if (!st && line->kind == BINS)
        st = psr_outfile_printf(f, err, "%zu", best->nbin);
    else if (!st && applies)
        st = write_number(f, line->form, value, err);
    else if (!st)
        st = psr_outfile_printf(f, err, "N/A");
    if (!st && applies && line->kind == UNCERTAIN)
        st = psr_outfile_printf(f, err, " +/- %-.3g",
                                ((const struct psr_bestprof_value *)(const void *)from)->error);
    if (!st && line->kind == SIGNIFICANT)
        st = psr_outfile_printf(f, err, "   (~%.1f sigma)", best->sigma);
    return st ? st : psr_outfile_printf(f, err, "\n");
}

psr_status psr_bestprof_write(psr_outfile *f, const struct psr_bestprof *best, psr_err *err)
{
    psr_status st = PSR_OK;
    for (int i = 0; i < NLINE && !st; i++)
        st = write_line(f, &lines[i], best, err);
    if (!st)
        st = psr_outfile_write(f, rule, sizeof rule - 1, err);
    for (size_t i = 0; i < best->nbin && !st; i++)
        st = psr_outfile_printf(f, err, "%4zu  %.7g\n", i, best->profile[i]);
    return st;
}

void psr_bestprof_clear(struct psr_bestprof *best)
{
    free(best->profile);
    best->profile = NULL;
    best->nbin = 0;
}
