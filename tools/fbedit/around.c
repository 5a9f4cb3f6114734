/* Finds the range and the name of the cut-out of each event. */
#include "fbedit.h"

#include "base/tool.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096, DIGITS = 32 };

/* Rows of gpudedisp -singlepulse: S/N, sample, time, log2 of the width, trial, DM.  Samples are those of the series. */
static psr_status read_row(struct psr_edit_burst *b, double tsamp_s, const char *path,
                           const struct psr_text_lines *in, const char *line, psr_err *err)
{
    const double dm_max = 1e6, filter_max = 30;
    double sample, filter;
    if (sscanf(line, "%lf %lf %lf %lf %*f %lf", &b->snr, &sample, &b->t_s, &filter, &b->dm) != 5 ||
        !isfinite(b->snr) || !isfinite(b->t_s) || !(fabs(filter) <= filter_max) ||
        !(b->dm >= 0 && b->dm < dm_max))
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld is no row of a list of bursts", path,
                        in->number);
    b->width_s = exp2(filter) * (sample > 0 && b->t_s > 0 ? b->t_s / sample : tsamp_s);
    return PSR_OK;
}

static psr_status read_list(struct fbedit_around *a, const char *path, psr_err *err)
{
    char line[LINE_BYTES];
    struct psr_text_lines in;
    bool exists;
    psr_status st = psr_text_lines_open(&in, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    while (!st && !(st = psr_text_lines_next(&in, line, sizeof line, &exists, err)) && exists) {
        struct psr_edit_burst e = {.size = sizeof e, .label = -1};
        if (*line == '#' || !line[strspn(line, " \t\r\n")])
            continue;
        st = read_row(&e, a->tsamp_s, path, &in, line, err);
        if (!st)
            st = psr_grow(&a->event, &a->room, a->n, sizeof e, "events", err);
        if (!st)
            a->event[a->n++] = e;
    }
    psr_text_lines_close(&in);
    return st;
}

static psr_status look_at_input(struct fbedit_around *a, const struct psr_source_desc *source,
                                psr_err *err)
{
    psr_source *s;
    psr_status st = psr_source_open(&s, source, err);
    if (st)
        return st;
    const struct psr_obs *obs = psr_source_obs(s);
    a->tsamp_s = obs->tsamp_s;
    a->length_s = (double)obs->nsamp * obs->tsamp_s;
    a->lowest_mhz = psr_obs_lowest_mhz(obs);
    a->highest_mhz = psr_obs_highest_mhz(obs);
    if (obs->nsamp < 0)
        st = psr_fail(err, PSR_EUNSUPPORTED, "-around: the length of %s is not known",
                      source->path[0]);
    psr_source_close(s);
    return st;
}

psr_status fbedit_around_begin(struct fbedit_around *a, const struct fbedit_options *o,
                               psr_err *err)
{
    psr_status st = look_at_input(a, &o->source, err);
    return st ? st : read_list(a, o->around, err);
}

/* "cut.fil" and 3 make cut_0003.fil. */
static psr_status name_output(struct fbedit_around *a, const char *output, size_t i, psr_err *err)
{
    const char *folder = strrchr(output, '/'), *dot = strrchr(folder ? folder : output, '.');
    const size_t stem = dot ? (size_t)(dot - output) : strlen(output),
                 room = strlen(output) + DIGITS;
    free(a->name);
    a->name = malloc(room);
    if (!a->name)
        return psr_fail_nomem(err, output, (double)room);
    snprintf(a->name, room, "%.*s_%04zu%s", (int)stem, output, i + 1, output + stem);
    return PSR_OK;
}

static psr_status take_range(struct fbedit_around *a, struct fbedit_options *o, size_t i,
                             psr_err *err)
{
    const struct psr_edit_burst *e = &a->event[i];
    const double sweep_s = psr_delay_s(PSR_DMCONST_PRESTO, e->dm, a->lowest_mhz) -
                           psr_delay_s(PSR_DMCONST_PRESTO, e->dm, a->highest_mhz);
    const double start_s = fmax(e->t_s - o->pad_s, 0),
                 end_s = fmin(e->t_s + sweep_s + o->pad_s, a->length_s);
    if (!(start_s < end_s))
        return psr_fail(err, PSR_EINVAL,
                        "%s: event %zu at %.6f s lies outside of the input, %.6f s", o->around,
                        i + 1, e->t_s, a->length_s);
    snprintf(a->start, sizeof a->start, "%.9f", start_s);
    snprintf(a->end, sizeof a->end, "%.9f", end_s);
    o->run.start = a->start;
    o->run.end = a->end;
    return PSR_OK;
}

psr_status fbedit_around_take(struct fbedit_around *a, struct fbedit_options *o, const char *output,
                              size_t i, psr_err *err)
{
    psr_status st = o->cutout ? PSR_OK : take_range(a, o, i, err);
    if (!st)
        st = name_output(a, output, i, err);
    o->run.burst = &a->event[i];
    o->run.output = a->name;
    return st;
}

void fbedit_around_end(struct fbedit_around *a)
{
    free(a->event);
    free(a->name);
}
