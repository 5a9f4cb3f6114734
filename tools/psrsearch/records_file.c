/* Reads and writes ROOT.steps.jsonl. */
#include "psrsearch.h"

#include <psrkit/experimental/outfile.h>
#include <stdlib.h>
#include <string.h>

double psrsearch_seconds(const struct psrsearch_records *r, enum psrsearch_kind step)
{
    static const char key[] = "\"seconds\": ";
    const char *at = r->line[step], *last = NULL;
    while (at && (at = strstr(at, key)))
        last = at += strlen(key);
    return last ? strtod(last, NULL) : 0;
}

/* --- the file --------------------------------------------------------------------------------- */

struct reading {
    struct psrsearch_records *to;
    const struct psrsearch_plan *plan;
};

/* Where a line is kept; NULL for one of no step. */
static char **place_of(const struct reading *reading, const char *line)
{
    char begin[32];
    for (int k = 0; k < PSRSEARCH_NSTEP; k++) {
        const char *name = reading->plan->step[k].name;
        int n = snprintf(begin, sizeof begin, "{\"step\": \"%s\",", name);
        if (!strncmp(line, begin, (size_t)n))
            return &reading->to->line[k];
        n = snprintf(begin, sizeof begin, "{\"begun\": \"%s\",", name);
        if (!strncmp(line, begin, (size_t)n))
            return &reading->to->begun[k];
    }
    return !strncmp(line, "{\"summary\": ", 12) ? &reading->to->summary : NULL;
}

static bool keep_line(void *ctx, const char *line)
{
    char **kept = place_of(ctx, line);
    if (!kept)
        return true;
    free(*kept);
    *kept = psrsearch_join(line, NULL);
    return *kept != NULL;
}

psr_status psrsearch_records_read(struct psrsearch_records *r, const struct psrsearch_plan *p,
                                  psr_err *err)
{
    struct reading reading = {r, p};
    *r = (struct psrsearch_records){.path = psrsearch_join(p->aside, ".steps.jsonl", NULL)};
    char *old = psrsearch_join(p->base, ".steps.json", NULL);
    psr_status st = r->path && old
                        ? psrsearch_read_lines(r->path, &r->exists, keep_line, &reading, err)
                        : psr_fail_nomem(err, p->base, 64);
    if (!st && !r->exists)
        st = psrsearch_read_lines(old, &r->old, keep_line, &reading, err);
    free(old);
    return st;
}

static psr_status put_line(psr_outfile *f, const char *line, psr_err *err)
{
    return line ? psr_outfile_write(f, line, strlen(line), err) : PSR_OK;
}

psr_status psrsearch_records_write(const struct psrsearch_records *r, psr_err *err)
{
    psr_outfile *f = NULL;
    psr_status st = psr_outfile_create(&f, r->path, err);
    if (st)
        return st;
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++)
        st = put_line(f, r->line[k], err);
    if (!st)
        st = put_line(f, r->summary, err);
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++)
        st = put_line(f, r->begun[k], err);
    if (!st)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

void psrsearch_records_clear(struct psrsearch_records *r)
{
    for (int k = 0; k < PSRSEARCH_NSTEP; k++) {
        free(r->line[k]);
        free(r->begun[k]);
    }
    free(r->summary);
    free(r->path);
    *r = (struct psrsearch_records){.path = NULL};
}
