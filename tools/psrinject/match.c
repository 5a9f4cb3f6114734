/* Matches signals with the lists of a search, and names the step that lost them. */
#include "psrinject.h"

#include "base/tool.h"
#include "tools/common/json_read.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1 << 22, LIST_BYTES = 1 << 30 };

/* Harmonics whose period counts as the pulsar's. */
enum { HARMONICS = 4 };

/* Steps of a pulsar, the later the farther it came. */
static const char *const steps[] = {"search", "sift", "fold", "score", "-"};
enum { SEARCHED, SIFTED, FOLDED, SCORED, FOUND };

struct reached {
    int step;
    double snr;
};

/* Seconds by which a wrong DM smears a pulse over the band. */
static double smear_s(const struct inject_field *f, double dm)
{
    return fabs(psr_delay_s(PSR_DMCONST_PRESTO, dm, f->lowest_mhz) -
                psr_delay_s(PSR_DMCONST_PRESTO, dm, f->highest_mhz));
}

/* Within three bins of the spectrum and what the Earth's motion does, at a DM that smears by less than a turn. */
static bool is_pulsar(const struct inject_trial *t, const struct inject_row *row, double period_s,
                      double dm)
{
    const double wander = fabs(row->accn) * t->field.length_s / 6e8; /* of half of the time */
    if (!row->pulsar || !(period_s > 0) || smear_s(&t->field, dm - row->dm) > row->period_s)
        return false;
    for (int h = 1; h <= HARMONICS; h++)
        for (int up = 0; up < 2; up++) {
            const double ratio = period_s / row->period_s * (up ? h : 1.0 / h),
                         bins = 3 * row->period_s / t->field.length_s;
            if (fabs(ratio - 1) < bins + 2e-4 + wander)
                return true;
        }
    return false;
}

/* At a DM that smears it by less than ten widths, and near in time by as much. */
static bool is_burst(const struct inject_trial *t, const struct inject_row *row, double time_s,
                     double dm)
{
    const double width_s = fmax(row->width_s, t->field.tsamp_s),
                 apart_s = smear_s(&t->field, dm - row->dm);
    return !row->pulsar && apart_s < 10 * width_s &&
           fabs(time_s - row->t_s) < 3 * width_s + apart_s;
}

static void take(struct inject_trial *t, struct reached *reached, int step, double period_s,
                 double dm, double snr)
{
    for (size_t i = 0; i < t->n; i++)
        if (is_pulsar(t, &t->row[i], period_s, dm)) {
            if (step > reached[i].step || (step == reached[i].step && snr > reached[i].snr))
                reached[i].snr = snr;
            reached[i].step = step > reached[i].step ? step : reached[i].step;
        }
}

/* What is done with a line of a list. */
typedef psr_status take_line(struct inject_trial *t, struct reached *reached, char *line,
                             const char *what, psr_err *err);

static psr_status take_reject(struct inject_trial *t, struct reached *reached, char *line,
                              const char *what, psr_err *err)
{
    double dm, snr, period_ms;
    (void)what, (void)err;
    if (sscanf(line, "%*s %lf %lf %*f %*d %*f %*f %lf", &dm, &snr, &period_ms) == 3)
        take(t, reached, SIFTED, period_ms / 1e3, dm, snr);
    return PSR_OK;
}

static psr_status take_sifted(struct inject_trial *t, struct reached *reached, char *line,
                              const char *what, psr_err *err)
{
    struct json_value *v;
    psr_status st = json_parse(&v, line, what, err);
    if (!st)
        take(t, reached, FOLDED, json_number(v, "period_s"), json_number(v, "dm"),
             json_number(v, "snr"));
    if (!st)
        json_clear(v);
    return st;
}

static psr_status take_fold(struct inject_trial *t, struct reached *reached, char *line,
                            const char *what, psr_err *err)
{
    struct json_value *v;
    psr_status st = json_parse(&v, line, what, err);
    if (st)
        return st;
    const double probability = json_number(v, "probability");
    take(t, reached, probability >= t->opt->probability ? FOUND : SCORED,
         json_number(v, "p_s_topo"), json_number(v, "dm"), json_number(v, "snr"));
    json_clear(v);
    return PSR_OK;
}

static psr_status take_burst(struct inject_trial *t, struct reached *reached, char *line,
                             const char *what, psr_err *err)
{
    double snr, time_s, dm;
    (void)what, (void)err;
    if (sscanf(line, "%lf %*f %lf %*f %*f %lf", &snr, &time_s, &dm) != 3)
        return PSR_OK;
    for (size_t i = 0; i < t->n; i++)
        if (is_burst(t, &t->row[i], time_s, dm)) {
            reached[i].step = FOUND;
            reached[i].snr = fmax(reached[i].snr, snr);
        }
    return PSR_OK;
}

/* A list that is not there had nothing in it. */
static psr_status read_list(struct inject_trial *t, struct reached *reached, const char *root,
                            const char *suffix, take_line *take_one, psr_err *err)
{
    char path[INJECT_PATH], what[INJECT_PATH + 32];
    struct psr_text_lines in;
    bool exists;
    snprintf(path, sizeof path, "%.4000s%s", root, suffix);
    if (access(path, F_OK) != 0)
        return PSR_OK;
    char *line = malloc(LINE_BYTES);
    psr_status st = line ? psr_text_lines_open(&in, path, LIST_BYTES, err)
                         : psr_fail_nomem(err, path, LINE_BYTES);
    if (st) {
        free(line);
        return st;
    }
    while (!st && !(st = psr_text_lines_next(&in, line, LINE_BYTES, &exists, err)) && exists) {
        snprintf(what, sizeof what, "%s: line %ld", path, in.number);
        if (*line != '#' && line[strspn(line, " \t\r\n")])
            st = take_one(t, reached, line, what, err);
    }
    psr_text_lines_close(&in);
    free(line);
    return st;
}

psr_status inject_match(struct inject_trial *t, const char *root, psr_err *err)
{
    struct reached reached[1 + INJECT_EACH] = {{0, 0}};
    psr_status st = read_list(t, reached, root, ".cand", take_burst, err);
    if (!st)
        st = read_list(t, reached, root, ".sift.rejects", take_reject, err);
    if (!st)
        st = read_list(t, reached, root, ".sift.jsonl", take_sifted, err);
    if (!st) /* as it was called before */
        st = read_list(t, reached, root, ".sift.json", take_sifted, err);
    if (!st)
        st = read_list(t, reached, root, ".fold.json", take_fold, err);
    for (size_t i = 0; i < t->n && !st; i++) {
        snprintf(t->row[i].lost, sizeof t->row[i].lost, "%s", steps[reached[i].step]);
        t->row[i].found_snr = reached[i].step == FOUND ? reached[i].snr : 0;
    }
    return st;
}
