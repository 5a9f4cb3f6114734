/* The records of steps: the lines of ROOT.steps.jsonl.
 *
 * What decides whether a step is repeated comes first in its line: the line of a step that would be
 * the same again begins with the same bytes. */
#include "psrsearch.h"

#include "base/portable.h"

#include <inttypes.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/psrkit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* --- reads and writes ROOT.steps.jsonl -------------------------------------------------------- */

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

/* --- the parts of a line ---------------------------------------------------------------------- */

static void put_input(struct psr_json *j, const char *path)
{
    struct stat is;
    char when[48];
    if (!path || stat(path, &is) != 0)
        return; /* -ignorechan is a list or a file; what is missing its tool will tell */
    const int n = snprintf(when, sizeof when, "%lld.%09ld", (long long)is.st_mtim.tv_sec,
                           (long)is.st_mtim.tv_nsec);
    psr_json_begin(j, NULL, PSR_JSON_OBJECT);
    psr_json_string(j, "path", path);
    psr_json_int(j, "bytes", (int64_t)is.st_size);
    psr_json_digits(j, "mtime", when, (size_t)n);
    psr_json_end(j, PSR_JSON_OBJECT);
}

static psr_status put_outputs(struct psr_json *j, const struct psrsearch_plan *p,
                              const struct psr_names *files, psr_err *err)
{
    psr_status st = PSR_OK;
    psr_json_begin(j, "outputs", PSR_JSON_ARRAY);
    for (size_t i = 0; i < files->n && !st; i++) {
        const char *name = files->name[i];
        char *path = psrsearch_join(p->dir, "/", name, NULL), digits[24];
        uint64_t digest = 0;
        int64_t bytes = 0;
        st = path ? psr_file_digest(&digest, &bytes, path, err) : psr_fail_nomem(err, name, 256);
        snprintf(digits, sizeof digits, "%016" PRIx64, digest);
        psr_json_begin(j, NULL, PSR_JSON_OBJECT);
        psr_json_string(j, "name", name);
        psr_json_int(j, "bytes", bytes);
        psr_json_string(j, "xxh", digits);
        psr_json_end(j, PSR_JSON_OBJECT);
        free(path);
    }
    psr_json_end(j, PSR_JSON_ARRAY);
    return st;
}

static void put_command(struct psr_json *j, const struct psrsearch_step *step)
{
    psr_json_string(j, "step", step->name);
    psr_json_begin(j, "command", PSR_JSON_ARRAY);
    for (size_t i = 0; i < step->command.n; i++)
        psr_json_string(j, NULL, step->command.name[i]);
    psr_json_end(j, PSR_JSON_ARRAY);
}

/* The line but for its end: date and time. */
static psr_status begin_line(struct psr_json *j, const struct psrsearch_plan *p,
                             const struct psrsearch_options *o, enum psrsearch_kind step,
                             const struct psr_names *files, psr_err *err)
{
    psr_json_begin(j, NULL, PSR_JSON_OBJECT);
    put_command(j, &p->step[step]);
    psr_json_string(j, "version", psr_version());
    const bool reads =
        step != PSRSEARCH_SIFT && step != PSRSEARCH_SCORE && step != PSRSEARCH_REPORT;
    psr_json_begin(j, "input", PSR_JSON_ARRAY);
    for (size_t i = 0; i < o->ninput && reads; i++)
        put_input(j, o->input[i]);
    if (reads && step != PSRSEARCH_PLAN)
        put_input(j, o->ignorechan);
    if (step == PSRSEARCH_SEARCH) {
        put_input(j, o->zaplist);
        put_input(j, o->plan);
    }
    if (step == PSRSEARCH_SIFT || step == PSRSEARCH_SCORE)
        put_input(j, o->catalogue);
    if (step == PSRSEARCH_PAR)
        put_input(j, o->par);
    psr_json_end(j, PSR_JSON_ARRAY);
    return put_outputs(j, p, files, err);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* A line that is being written, in memory. */
struct line {
    FILE *to;
    char *text;
    size_t n;
    struct psr_json json;
};

static psr_status open_line(struct line *l, psr_err *err)
{
    *l = (struct line){.to = NULL};
    l->to = open_memstream(&l->text, &l->n);
    l->json = (struct psr_json){.put = cli_put_json, .ctx = l->to};
    return l->to ? PSR_OK : psr_fail_nomem(err, "a record", 4096);
}

/* Returned: l->text [l->n], malloc'd; also after an error */
static psr_status close_line(struct line *l, psr_status st, psr_err *err)
{
    if (fclose(l->to) != 0 && !st)
        st = psr_fail_nomem(err, "a record", 4096);
    return st;
}

/* Takes the place of *line, with a line end. */
static psr_status keep_record(char **line, struct line *l, psr_status st, psr_err *err)
{
    psr_json_end(&l->json, PSR_JSON_OBJECT);
    fputc('\n', l->to);
    st = close_line(l, st, err);
    free(*line);
    *line = st ? NULL : l->text;
    if (st)
        free(l->text);
    return st;
}

psr_status psrsearch_is_complete(bool *complete, const struct psrsearch_records *r,
                                 const struct psrsearch_plan *p, const struct psrsearch_options *o,
                                 enum psrsearch_kind step, psr_err *err)
{
    struct psr_names files = {.n = 0};
    struct line l;
    *complete = false;
    if (!r->line[step])
        return PSR_OK;
    psr_status st = open_line(&l, err);
    if (st)
        return st;
    st = psrsearch_recorded(&files, p, r->line[step], err);
    if (!st)
        st = begin_line(&l.json, p, o, step, &files, err);
    st = close_line(&l, st, err);
    *complete = !st && !strncmp(r->line[step], l.text, l.n);
    psr_names_clear(&files);
    free(l.text);
    return st;
}

psr_status psrsearch_record(struct psrsearch_records *r, const struct psrsearch_plan *p,
                            const struct psrsearch_options *o, enum psrsearch_kind step,
                            const struct psr_names *made, time_t began, double seconds,
                            psr_err *err)
{
    char when[32], digits[32];
    struct line l;
    struct tm utc;
    psr_status st = open_line(&l, err);
    if (st)
        return st;
    st = begin_line(&l.json, p, o, step, made, err);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&began, &utc));
    psr_json_string(&l.json, "start_utc", when);
    const int ndigit = snprintf(digits, sizeof digits, "%.3f", seconds);
    psr_json_digits(&l.json, "seconds", digits, (size_t)ndigit);
    st = keep_record(&r->line[step], &l, st, err);
    free(r->begun[step]);
    r->begun[step] = NULL;
    return st ? st : psrsearch_records_write(r, err);
}

/* A record of files alone. */
static psr_status record_files(struct psrsearch_records *r, char **line, const char *key,
                               const char *value, const struct psrsearch_plan *p,
                               const struct psr_names *files, psr_err *err)
{
    struct line l;
    psr_status st = open_line(&l, err);
    if (st)
        return st;
    psr_json_begin(&l.json, NULL, PSR_JSON_OBJECT);
    psr_json_string(&l.json, key, value);
    st = put_outputs(&l.json, p, files, err);
    st = keep_record(line, &l, st, err);
    return st ? st : psrsearch_records_write(r, err);
}

psr_status psrsearch_record_begun(struct psrsearch_records *r, const struct psrsearch_plan *p,
                                  enum psrsearch_kind step, const struct psr_names *left,
                                  psr_err *err)
{
    return record_files(r, &r->begun[step], "begun", p->step[step].name, p, left, err);
}

psr_status psrsearch_record_summary(struct psrsearch_records *r, const struct psrsearch_plan *p,
                                    psr_err *err)
{
    struct psr_names files = {.n = 0};
    char *name = psrsearch_join(p->root, ".psrsearch.json", NULL);
    psr_status st = name ? psr_names_add(&files, name, err) : psr_fail_nomem(err, p->root, 64);
    if (!st)
        st = record_files(r, &r->summary, "summary", p->root, p, &files, err);
    psr_names_clear(&files);
    free(name);
    return st;
}
