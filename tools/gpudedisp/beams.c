/* Runs many beams of a pointing side by side. */
#include "gpudedisp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct beam {
    const char *path;
    char *root;
    struct psr_pipeline_desc run;
};

struct beams {
    const struct gpudedisp_options *o;
    struct beam *beam;       /* [n] */
    psr_pipeline **pipeline; /* [n] */
    size_t n;
};

/* ROOT_NAME of FOLDER/NAME.SUFFIX; malloc'd, or NULL */
static char *name_root(const char *root, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const size_t n = dot && dot > name ? (size_t)(dot - name) : strlen(name);
    const size_t size = strlen(root) + n + 2;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s_%.*s", root, (int)n, name);
    return text;
}

static psr_status name_beams(struct beams *b, psr_err *err)
{
    const struct psr_pipeline_desc *d = &b->o->run;
    for (size_t k = 0; k < b->n; k++) {
        b->beam[k].path = d->path[k];
        b->beam[k].root = name_root(d->root, d->path[k]);
        if (!b->beam[k].root)
            return psr_fail(err, PSR_ENOMEM, "%s: no memory for its name", d->path[k]);
        for (size_t j = 0; j < k; j++)
            if (!strcmp(b->beam[j].root, b->beam[k].root))
                return psr_fail(err, PSR_EINVAL, "%s and %s: both beams would be %s",
                                b->beam[j].path, b->beam[k].path, b->beam[k].root);
    }
    return PSR_OK;
}

/* --- what they have in common ----------------------------------------------------------------- */

static psr_status check_alike(const struct beams *beams, size_t n, psr_err *err)
{
    const struct beam *first = beams->beam, *beam = first + n;
    struct psr_pipeline_report a, b;
    psr_pipeline_describe(beams->pipeline[0], &a);
    psr_pipeline_describe(beams->pipeline[n], &b);
    const struct {
        const char *name;
        double first, own;
        const char *unit;
    } field[] = {
        {"nchans", (double)a.obs->nchan, (double)b.obs->nchan, ""},
        {"nbits", a.obs->nbit, b.obs->nbit, ""},
        {"tsamp", a.obs->tsamp_s, b.obs->tsamp_s, " s"},
        {"highest MHz", psr_obs_highest_mhz(a.obs), psr_obs_highest_mhz(b.obs), ""},
        {"lowest MHz", psr_obs_lowest_mhz(a.obs), psr_obs_lowest_mhz(b.obs), ""},
    };
    for (size_t k = 0; k < sizeof field / sizeof *field; k++)
        if (fabs(field[k].own - field[k].first) > 1e-9 * fabs(field[k].first))
            return psr_fail_field(err, PSR_EINVAL, field[k].name,
                                  "%s: %s %.10g%s, and the first beam, %s, has %.10g%s", beam->path,
                                  field[k].name, field[k].own, field[k].unit, first->path,
                                  field[k].first, field[k].unit);
    return PSR_OK;
}

/* Beams share memory; no beam's output may be an input of another. */
static void describe_beam(const struct beams *b, size_t k)
{
    struct psr_pipeline_desc *d = &b->beam[k].run;
    *d = b->o->run;
    d->path = &b->beam[k].path;
    d->npath = 1;
    d->root = b->beam[k].root;
    d->beside = b->o->run.path;
    d->nbeside = b->n;
    d->nshare = b->n;
    d->progress = k ? NULL : d->progress;
}

static psr_status create_beams(struct beams *b, psr_err *err)
{
    const struct psr_pipeline_desc **d = calloc(b->n, sizeof *d);
    if (!d)
        return psr_fail(err, PSR_ENOMEM, "no memory for %zu beams", b->n);
    for (size_t k = 0; k < b->n; k++) {
        describe_beam(b, k);
        d[k] = &b->beam[k].run;
    }
    psr_status st = psr_pipeline_create_beams(b->pipeline, d, b->n, err);
    for (size_t k = 1; k < b->n && !st; k++)
        st = check_alike(b, k, err);
    free(d);
    return st;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void print_state(const struct beams *b, const struct cli *tool)
{
    struct psr_pipeline_report r;
    char name[512];
    for (size_t k = 0; k < b->n; k++) {
        double bytes = 0;
        psr_pipeline_describe(b->pipeline[k], &r);
        for (size_t n = 0; n < r.nline; n++)
            bytes += (double)r.line[n]->plan->bytes;
        fprintf(stderr, "%s: beam %s: dedispersion holds %.3g MB\n", tool->name,
                cli_printable(name, sizeof name, b->beam[k].root), bytes / 1e6);
    }
    psr_pipeline_describe(b->pipeline[0], &r);
    if (r.nsharing)
        fprintf(stderr, "%s: %zu beams share a plan, which holds %.3g MB more for all\n",
                tool->name, r.nsharing, r.shared_bytes / 1e6);
}

static void print_found(const struct beams *b, const struct cli *tool)
{
    for (size_t k = 0; k < b->n; k++) {
        const struct psr_pulses_found *found = psr_pipeline_result(b->pipeline[k], "pulses");
        struct psr_pipeline_report r;
        char name[512];
        psr_pipeline_describe(b->pipeline[k], &r);
        fprintf(stderr, "%s: beam %s: %lld spectra in", tool->name,
                cli_printable(name, sizeof name, b->beam[k].root), (long long)r.nread);
        if (found)
            fprintf(stderr, ", %zu events, %zu pulses", found->nevent, found->ncluster);
        fprintf(stderr, "; clean %.3f s, dedisperse %.3f s, search %.3f s\n", r.clean_s,
                r.dedisperse_s, r.search_s);
    }
}

psr_status gpudedisp_run_beams(const struct gpudedisp_options *o, struct cli *tool, psr_err *err)
{
    struct beams b = {.o = o, .n = o->run.npath};
    b.beam = calloc(b.n, sizeof *b.beam);
    b.pipeline = calloc(b.n, sizeof *b.pipeline);
    psr_status st = b.beam && b.pipeline
                        ? name_beams(&b, err)
                        : psr_fail(err, PSR_ENOMEM, "no memory for %zu beams", b.n);
    if (!st)
        st = create_beams(&b, err);
    if (!st) {
        psr_pipeline *const *p = b.pipeline;
        if (b.o->verbose) {
            gpudedisp_print_plan(tool, p[0]);
            print_state(&b, tool);
        }
        st = psr_pipeline_run_beams(p, b.n, err);
        for (size_t k = 0; k < b.n && !st; k++)
            st = psr_pipeline_finish(p[k], err);
        if (!st && b.o->verbose)
            print_found(&b, tool);
    }
    for (size_t k = 0; b.beam && b.pipeline && k < b.n; k++) {
        psr_pipeline_destroy(b.pipeline[k]);
        free(b.beam[k].root);
    }
    free(b.beam);
    free(b.pipeline);
    return st;
}
