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
