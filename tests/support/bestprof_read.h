/* bestprof_read.h: reads prepfold's .bestprof files, for tests of what writes them. */
#ifndef PSR_TESTS_SUPPORT_BESTPROF_READ_H
#define PSR_TESTS_SUPPORT_BESTPROF_READ_H

#include "base/tool.h"
#include <psrkit/experimental/fold.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

enum bestprof_kind { BEST_TEXT, BEST_NUMBER, BEST_VALUE, BEST_SIGMA, BEST_BINS };

static const struct bestprof_line {
    const char *label, *other; /* as files have them without and with a number that applies */
    enum bestprof_kind kind;
    size_t at;
} bestprof_lines[] = {
#define BEST(member) offsetof(struct psr_bestprof, member)
    {"Input file", NULL, BEST_TEXT, BEST(input)},
    {"Candidate", NULL, BEST_TEXT, BEST(candidate)},
    {"Telescope", NULL, BEST_TEXT, BEST(telescope)},
    {"Epoch_topo", NULL, BEST_NUMBER, BEST(tepoch_mjd)},
    {"Epoch_bary", "Epoch_bary (MJD)", BEST_NUMBER, BEST(bepoch_mjd)},
    {"T_sample", NULL, BEST_NUMBER, BEST(tsamp_s)},
    {"Data Folded", NULL, BEST_NUMBER, BEST(ndata)},
    {"Data Avg", NULL, BEST_NUMBER, BEST(data_avg)},
    {"Data StdDev", NULL, BEST_NUMBER, BEST(data_std)},
    {"Profile Bins", NULL, BEST_BINS, BEST(nbin)},
    {"Profile Avg", NULL, BEST_NUMBER, BEST(prof_avg)},
    {"Profile StdDev", NULL, BEST_NUMBER, BEST(prof_std)},
    {"Reduced chi-sqr", NULL, BEST_NUMBER, BEST(redchi)},
    {"Prob(Noise)", NULL, BEST_SIGMA, BEST(prob)},
    {"Best DM", NULL, BEST_NUMBER, BEST(dm)},
    {"P_topo (ms)", NULL, BEST_VALUE, BEST(topo[0])},
    {"P'_topo (s/s)", NULL, BEST_VALUE, BEST(topo[1])},
    {"P''_topo (s/s^2)", NULL, BEST_VALUE, BEST(topo[2])},
    {"P_bary (ms)", NULL, BEST_VALUE, BEST(bary[0])},
    {"P'_bary (s/s)", NULL, BEST_VALUE, BEST(bary[1])},
    {"P''_bary (s/s^2)", NULL, BEST_VALUE, BEST(bary[2])},
    {"P_orb (s)", NULL, BEST_NUMBER, BEST(orb_period_s)},
    {"asin(i)/c (s)", NULL, BEST_NUMBER, BEST(asini_s)},
    {"eccentricity", NULL, BEST_NUMBER, BEST(ecc)},
    {"w (rad)", "w (deg)", BEST_NUMBER, BEST(omega_deg)},
    {"T_peri", NULL, BEST_NUMBER, BEST(t0_mjd)},
#undef BEST
};
enum {
    BEST_NLINE = sizeof bestprof_lines / sizeof *bestprof_lines,
    BEST_LINE_BYTES = 1024,
    BEST_BINS_MAX = 1 << 24,
};

struct bestprof_reader {
    struct psr_bestprof *best;
    struct psr_text_lines lines;
    int64_t nbin; /* stated by the header */
    size_t room;  /* of the profile */
    psr_err *err;
};

static psr_status bestprof_fail(struct bestprof_reader *r, const char *what, const char *text)
{
    return psr_fail(r->err, PSR_EFORMAT, "%s: line %ld: %s '%.64s'", r->lines.name, r->lines.number,
                    what, text);
}

static psr_status bestprof_number(struct bestprof_reader *r, char *text, double *value)
{
    char *save, *word = strtok_r(text, " \t", &save);
    if (word && !strcmp(word, "N/A"))
        *value = NAN;
    else if (!word || psr_parse_double("", word, -1e300, 1e300, value, NULL))
        return bestprof_fail(r, "no number:", word ? word : "");
    return PSR_OK;
}

static psr_status bestprof_value(struct bestprof_reader *r, const struct bestprof_line *line,
                                 char *text)
{
    char *to = (char *)r->best + line->at;
    char *error = strstr(text, "+/-"), *sigma = strstr(text, "(~");
    psr_status st = PSR_OK;
    if (line->kind == BEST_TEXT) {
        if (strlen(text) >= PSR_TEXT_MAX)
            return bestprof_fail(r, "too long:", text);
        memcpy(to, text, strlen(text) + 1);
        return PSR_OK;
    }
    if (line->kind == BEST_BINS)
        return psr_parse_int("", text, 1, BEST_BINS_MAX, &r->nbin, NULL)
                   ? bestprof_fail(r, "no number of bins:", text)
                   : PSR_OK;
    if (error)
        error[-1] = 0;
    if (line->kind == BEST_VALUE && error)
        st = bestprof_number(r, error + 3, &((struct psr_bestprof_value *)(void *)to)->error);
    if (line->kind == BEST_SIGMA && sigma)
        st = bestprof_number(r, sigma + 2, &r->best->sigma);
    return st ? st : bestprof_number(r, text, (double *)(void *)to);
}

/* "# LABEL = VALUE", with '<' for a limit. */
static psr_status bestprof_header(struct bestprof_reader *r, char *text)
{
    char *sign = text + strcspn(text, "=<");
    if (!*sign)
        return PSR_OK;
    char *value = sign + 1 + strspn(sign + 1, " "), *label = text + 1 + strspn(text + 1, " ");
    size_t length = sign > label ? (size_t)(sign - label) : 0;
    while (length && label[length - 1] == ' ')
        length--;
    for (int i = 0; i < BEST_NLINE; i++)
        for (int k = 0; k < 2; k++) {
            const char *known = k ? bestprof_lines[i].other : bestprof_lines[i].label;
            if (known && strlen(known) == length && !strncmp(known, label, length))
                return bestprof_value(r, &bestprof_lines[i], value);
        }
    return PSR_OK;
}

static psr_status bestprof_bin(struct bestprof_reader *r, char *text)
{
    char *save, *index = strtok_r(text, " \t", &save), *word = strtok_r(NULL, " \t", &save);
    struct psr_bestprof *best = r->best;
    int64_t i;
    double value;
    if (!index)
        return PSR_OK;
    if (!word || psr_parse_int("", index, (int64_t)best->nbin, (int64_t)best->nbin, &i, NULL) ||
        psr_parse_double("", word, -1e300, 1e300, &value, NULL))
        return bestprof_fail(r, "not the next bin and its value:", index);
    psr_status st =
        psr_grow(&best->profile, &r->room, best->nbin, sizeof value, "a profile", r->err);
    if (!st)
        best->profile[best->nbin++] = value;
    return st;
}

static psr_status bestprof_read_lines(struct bestprof_reader *r)
{
    char text[BEST_LINE_BYTES];
    bool exists;
    for (;;) {
        psr_status st = psr_text_lines_next(&r->lines, text, sizeof text, &exists, r->err);
        if (st || !exists)
            return st;
        text[strcspn(text, "\r\n")] = 0;
        st = *text == '#' ? bestprof_header(r, text) : bestprof_bin(r, text);
        if (st)
            return st;
    }
}

/* Lines of the header that are not known are skipped.  The caller clears *best, also after an error.
 * Status: PSR_EIO, PSR_ENOMEM, PSR_EFORMAT naming file, line and value */
static psr_status bestprof_read(struct psr_bestprof *best, const char *path, psr_err *err)
{
    struct bestprof_reader r = {.best = best, .err = err};
    memset(best, 0, sizeof *best);
    for (int i = 0; i < BEST_NLINE; i++)
        if (bestprof_lines[i].kind != BEST_TEXT && bestprof_lines[i].kind != BEST_BINS)
            *(double *)(void *)((char *)best + bestprof_lines[i].at) = NAN;
    best->sigma = best->ntrial = best->sigma_trials = NAN;
    psr_status st = psr_text_lines_open(&r.lines, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    st = bestprof_read_lines(&r);
    if (!st && (!best->nbin || (r.nbin && (int64_t)best->nbin != r.nbin)))
        st = psr_fail(err, PSR_EFORMAT, "%s: %zu bins, and its header says %lld", r.lines.name,
                      best->nbin, (long long)r.nbin);
    psr_text_lines_close(&r.lines);
    return st;
}

#endif
