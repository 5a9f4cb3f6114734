/* What the single-pulse search found, as files. */
#include "gpudedisp.h"

#include "pulseplot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Boxcars of one pulse at neighbouring trials overlap or nearly do. */
enum { TIME_TOL_SAMPLES = 3, TRIAL_TOL = 3, NAME_BYTES = 4096 };

struct event_files {
    psr_outfile **part; /* [n] whole, not yet under their names */
    size_t n;
};

/* Starts the next file. */
static psr_status add_file(struct gpudedisp_job *j, struct event_files *files, const char *name)
{
    psr_status st = psr_outfile_create(&files->part[files->n], name, &j->err);
    files->n += st == PSR_OK;
    return st;
}

static double series_tsamp_s(const struct gpudedisp_job *j)
{
    return psr_source_obs(j->source)->tsamp_s * (double)j->opt.downsamp;
}

static psr_status write_singlepulse(struct gpudedisp_job *j, struct event_files *files, size_t i)
{
    char name[NAME_BYTES];
    const struct psr_event *event;
    size_t n = psr_singlepulse_events(j->pulses, i, &event);
    int length = snprintf(name, sizeof name, "%s_DM%.*f.singlepulse", j->opt.root,
                          (int)j->opt.dmprec, j->dm[i]);
    if (length >= (int)sizeof name)
        return psr_fail(&j->err, PSR_EINVAL, "-o: longer than %d bytes", NAME_BYTES - 64);
    psr_status st = add_file(j, files, name);
    if (st == PSR_OK)
        st = psr_singlepulse_write(files->part[i], j->dm[i], series_tsamp_s(j), event, n, &j->err);
    if (st == PSR_OK)
        st = psr_outfile_park(files->part[i], &j->err);
    return st;
}

static psr_status write_clusters(struct gpudedisp_job *j, struct event_files *files,
                                 const struct psr_cluster *cluster, size_t n)
{
    char name[NAME_BYTES];
    bool to_stdout = !strcmp(j->opt.root, "-");
    snprintf(name, sizeof name, to_stdout ? "%s" : "%s.cand", j->opt.root);
    psr_status st = add_file(j, files, name);
    if (st == PSR_OK)
        st = psr_cluster_write(files->part[files->n - 1], j->dm, series_tsamp_s(j), cluster, n,
                               &j->err);
    return st;
}

/* All events of all trials, by trial. */
static psr_status collect_events(struct gpudedisp_job *j, struct psr_event **all, size_t *n)
{
    const struct psr_event *event;
    size_t total = 0;
    for (size_t i = 0; i < j->ndm; i++)
        total += psr_singlepulse_events(j->pulses, i, &event);
    *n = 0;
    *all = malloc((total ? total : 1) * sizeof **all);
    if (!*all)
        return psr_fail_nomem(&j->err, "the events", (double)total * sizeof **all);
    for (size_t i = 0; i < j->ndm; i++) {
        size_t more = psr_singlepulse_events(j->pulses, i, &event);
        if (more)
            memcpy(*all + *n, event, more * sizeof **all);
        *n += more;
    }
    return PSR_OK;
}

static psr_status draw_events(struct gpudedisp_job *j, const struct psr_event *event, size_t n,
                              const struct psr_cluster *best)
{
    double tsamp_s = series_tsamp_s(j);
    return pulseplot_draw(j->opt.plot,
                          &(struct pulseplot){.title = j->path[0],
                                              .events = event,
                                              .nevents = n,
                                              .best = best,
                                              .dm = j->dm,
                                              .ndm = j->ndm,
                                              .tsamp_s = tsamp_s,
                                              .end_s = (double)j->nout * tsamp_s},
                          &j->err);
}

static psr_status write_all(struct gpudedisp_job *j, struct event_files *files)
{
    struct psr_event *event = NULL;
    struct psr_cluster *cluster = NULL;
    size_t nevent, ncluster;
    psr_status st = collect_events(j, &event, &nevent);
    if (st == PSR_OK)
        st = psr_cluster_events(event, nevent, TIME_TOL_SAMPLES, TRIAL_TOL, &cluster, &ncluster,
                                &j->err);
    for (size_t i = 0; st == PSR_OK && strcmp(j->opt.root, "-") != 0 && i < j->ndm; i++)
        st = write_singlepulse(j, files, i);
    if (st == PSR_OK)
        st = write_clusters(j, files, cluster, ncluster);
    if (st == PSR_OK && j->opt.plot)
        st = draw_events(j, event, nevent, ncluster ? cluster : NULL);
    free(event);
    free(cluster);
    return st;
}

/* Renames all, or removes all. */
static psr_status commit_all(struct event_files *files, psr_status st, psr_err *err)
{
    for (size_t i = 0; i < files->n; i++) {
        if (st == PSR_OK)
            st = psr_outfile_commit(files->part[i], err);
        else
            psr_outfile_abort(files->part[i]);
    }
    return st;
}

psr_status gpudedisp_write_events(struct gpudedisp_job *j)
{
    struct event_files files = {.part = calloc(j->ndm + 1, sizeof *files.part)};
    if (!files.part)
        return psr_fail_nomem(&j->err, "the list of event files", (double)j->ndm * 8);
    psr_status st = write_all(j, &files);
    st = commit_all(&files, st, &j->err);
    free(files.part);
    return st;
}
