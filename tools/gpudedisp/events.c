/* What the single-pulse search found, as files. */
#include "gpudedisp.h"

#include "tools/common/pulseplot.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Boxcars of one pulse at neighbouring trials overlap or nearly do. */
enum { TIME_TOL_SAMPLES = 3, TRIAL_TOL = 3, NAME_BYTES = 4096 };

/* Lines of a plan differ in sampling: the clock common to all ticks at the greatest common divisor
 * of what they sum. */
struct clock {
    size_t *scale; /* [ndm] ticks in a sample of each trial */
    double tsamp_s;
};

struct gpudedisp_found {
    struct clock clock;
    struct psr_event *event; /* [nevent] of all trials, by trial */
    struct psr_cluster *cluster;
    size_t nevent, ncluster;
};

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static psr_status make_clock(struct gpudedisp_job *j, struct clock *clock)
{
    int64_t tick = 0;
    for (size_t k = 0; k < j->nline; k++)
        tick = common_divisor(j->line[k].downsamp, tick);
    clock->tsamp_s = psr_source_obs(j->source)->tsamp_s * (double)tick;
    clock->scale = malloc(j->ndm * sizeof *clock->scale);
    if (!clock->scale)
        return psr_fail_nomem(&j->err, "the clock of events", (double)j->ndm * 8);
    for (const struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        for (size_t i = l->first; i < l->first + l->ndm; i++)
            clock->scale[i] = (size_t)(l->downsamp / tick);
    return PSR_OK;
}

/* Trial i of the line. */
static psr_status write_singlepulse(struct gpudedisp_job *j, const struct gpudedisp_line *l,
                                    size_t i)
{
    char name[NAME_BYTES];
    const struct psr_event *event;
    double dm = j->dm[l->first + i];
    size_t n = psr_singlepulse_events(l->pulses, i, &event);
    int length =
        snprintf(name, sizeof name, "%s_DM%.*f.singlepulse", j->opt.root, (int)j->opt.dmprec, dm);
    if (length >= (int)sizeof name)
        return psr_fail(&j->err, PSR_EINVAL, "-o: longer than %d bytes", NAME_BYTES - 64);
    psr_outfile *part;
    psr_status st = psr_output_group_add(j->group, name, &part, &j->err);
    if (st != PSR_OK)
        return st;
    st = psr_singlepulse_write(part, dm, gpudedisp_line_tsamp_s(j, l), event, n, &j->err);
    return st ? st : psr_outfile_park(part, &j->err);
}

static psr_status write_clusters(struct gpudedisp_job *j, const struct clock *clock,
                                 const struct psr_cluster *cluster, size_t n)
{
    char name[NAME_BYTES];
    bool to_stdout = !strcmp(j->opt.root, "-");
    snprintf(name, sizeof name, to_stdout ? "%s" : "%s.cand", j->opt.root);
    psr_outfile *part;
    psr_status st = psr_output_group_add(j->group, name, &part, &j->err);
    if (st == PSR_OK)
        st = psr_cluster_write(part, j->dm, clock->scale, clock->tsamp_s, cluster, n, &j->err);
    return st;
}

static void append_events(const struct gpudedisp_line *l, struct psr_event *all, size_t *n)
{
    const struct psr_event *event;
    for (size_t i = 0; i < l->ndm; i++) {
        size_t more = psr_singlepulse_events(l->pulses, i, &event);
        for (size_t k = 0; k < more; k++) {
            all[*n] = event[k];
            all[(*n)++].trial += l->first;
        }
    }
}

/* All events of all trials, by trial. */
static psr_status collect_events(struct gpudedisp_job *j, struct gpudedisp_found *found)
{
    const struct psr_event *event;
    size_t total = 0;
    for (const struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        for (size_t i = 0; i < l->ndm; i++)
            total += psr_singlepulse_events(l->pulses, i, &event);
    found->event = malloc((total ? total : 1) * sizeof *found->event);
    if (!found->event)
        return psr_fail_nomem(&j->err, "the events", (double)total * sizeof *found->event);
    for (size_t k = 0; k < j->nline; k++)
        append_events(&j->line[k], found->event, &found->nevent);
    return PSR_OK;
}

static void forget_events(struct gpudedisp_job *j)
{
    if (j->found) {
        free(j->found->clock.scale);
        free(j->found->event);
        free(j->found->cluster);
    }
    free(j->found);
    j->found = NULL;
}

static psr_status draw_events(struct gpudedisp_job *j, const struct gpudedisp_found *found)
{
    double end_s = 0;
    for (const struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        end_s = fmax(end_s, (double)l->nout * gpudedisp_line_tsamp_s(j, l));
    return pulseplot_draw(&j->plot,
                          &(struct pulseplot){.title = gpudedisp_input_name(j),
                                              .events = found->event,
                                              .nevents = found->nevent,
                                              .best = found->ncluster ? found->cluster : NULL,
                                              .dm = j->dm,
                                              .ndm = j->ndm,
                                              .scale = found->clock.scale,
                                              .tsamp_s = found->clock.tsamp_s,
                                              .end_s = end_s},
                          &j->err);
}

psr_status gpudedisp_write_events(struct gpudedisp_job *j)
{
    struct gpudedisp_found *found = j->found = calloc(1, sizeof *found);
    if (!found)
        return psr_fail_nomem(&j->err, "the events", sizeof *found);
    psr_status st = make_clock(j, &found->clock);
    if (st == PSR_OK)
        st = collect_events(j, found);
    if (st == PSR_OK)
        st = psr_cluster_events(found->event, found->nevent, found->clock.scale, TIME_TOL_SAMPLES,
                                TRIAL_TOL, &found->cluster, &found->ncluster, &j->err);
    bool each = strcmp(j->opt.root, "-") != 0;
    for (const struct gpudedisp_line *l = j->line; each && l < j->line + j->nline; l++)
        for (size_t i = 0; st == PSR_OK && i < l->ndm; i++)
            st = write_singlepulse(j, l, i);
    if (st == PSR_OK)
        st = write_clusters(j, &found->clock, found->cluster, found->ncluster);
    return st;
}

psr_status gpudedisp_name_events(struct gpudedisp_job *j, psr_status st)
{
    psr_output_group *group = j->group;
    j->group = NULL;
    if (st == PSR_OK)
        st = psr_output_group_commit(group, &j->err);
    else
        psr_output_group_abort(group);
    if (st == PSR_OK && j->opt.plot)
        st = draw_events(j, j->found);
    forget_events(j);
    return st;
}
