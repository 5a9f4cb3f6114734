/* The records of complete steps: ROOT.steps.json.
 *
 * What decides whether a step is repeated comes first in its line: the line of a step that would be
 * the same again begins with the same bytes. */
#include "psrsearch.h"

#include <inttypes.h>
#include <psrkit/outfile.h>
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

static psr_status put_output(struct psr_json *j, const struct psrsearch_plan *p, const char *name,
                             psr_err *err)
{
    char *path = psrsearch_join(p->dir, "/", name, NULL), digits[24];
    uint64_t digest = 0;
    int64_t bytes = 0;
    psr_status st =
        path ? psr_file_digest(&digest, &bytes, path, err) : psr_fail_nomem(err, name, 256);
    snprintf(digits, sizeof digits, "%016" PRIx64, digest);
    psr_json_begin(j, NULL, PSR_JSON_OBJECT);
    psr_json_string(j, "name", name);
    psr_json_int(j, "bytes", bytes);
    psr_json_string(j, "xxh", digits);
    psr_json_end(j, PSR_JSON_OBJECT);
    free(path);
    return st;
}

static void put_inputs(struct psr_json *j, const struct psrsearch_options *o,
                       enum psrsearch_kind step)
{
    const bool reads = step != PSRSEARCH_SIFT && step != PSRSEARCH_REPORT;
    psr_json_begin(j, "input", PSR_JSON_ARRAY);
    for (size_t i = 0; i < o->ninput && reads; i++)
        put_input(j, o->input[i]);
    if (reads && step != PSRSEARCH_PLAN)
        put_input(j, o->ignorechan);
    if (step == PSRSEARCH_SEARCH)
        put_input(j, o->zaplist);
    if (step == PSRSEARCH_SIFT)
        put_input(j, o->catalogue);
    if (step == PSRSEARCH_PAR)
        put_input(j, o->par);
    psr_json_end(j, PSR_JSON_ARRAY);
}

static psr_status put_outputs(struct psr_json *j, const struct psrsearch_plan *p,
                              enum psrsearch_kind step, psr_err *err)
{
    struct psr_names files = {.n = 0};
    psr_status st = psrsearch_files_of(&files, p, step, err);
    psr_json_begin(j, "outputs", PSR_JSON_ARRAY);
    for (size_t i = 0; i < files.n && !st; i++)
        st = put_output(j, p, files.name[i], err);
    psr_json_end(j, PSR_JSON_ARRAY);
    psr_names_clear(&files);
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
                             psr_err *err)
{
    psr_json_begin(j, NULL, PSR_JSON_OBJECT);
    put_command(j, &p->step[step]);
    psr_json_string(j, "version", PSRKIT_VERSION);
    put_inputs(j, o, step);
    return put_outputs(j, p, step, err);
}

/* --- lines ------------------------------------------------------------------------------------ */

psr_status psrsearch_is_complete(bool *complete, const struct psrsearch_records *r,
                                 const struct psrsearch_plan *p, const struct psrsearch_options *o,
                                 enum psrsearch_kind step, psr_err *err)
{
    char *text = NULL;
    size_t n = 0;
    *complete = false;
    if (!r->line[step])
        return PSR_OK;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return psr_fail_nomem(err, "a record", 4096);
    struct psr_json j = {.put = cli_put_json, .ctx = to};
    psr_status st = begin_line(&j, p, o, step, err);
    if (fclose(to) != 0 && !st)
        st = psr_fail_nomem(err, "a record", 4096);
    *complete = !st && !strncmp(r->line[step], text, n);
    free(text);
    return st;
}

psr_status psrsearch_record(struct psrsearch_records *r, const struct psrsearch_plan *p,
                            const struct psrsearch_options *o, enum psrsearch_kind step,
                            time_t began, double seconds, psr_err *err)
{
    char *text = NULL, when[32], digits[32];
    size_t n = 0;
    struct tm utc;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return psr_fail_nomem(err, "a record", 4096);
    struct psr_json j = {.put = cli_put_json, .ctx = to};
    psr_status st = begin_line(&j, p, o, step, err);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&began, &utc));
    psr_json_string(&j, "start_utc", when);
    const int ndigit = snprintf(digits, sizeof digits, "%.3f", seconds);
    psr_json_digits(&j, "seconds", digits, (size_t)ndigit);
    psr_json_end(&j, PSR_JSON_OBJECT);
    fputc('\n', to);
    if (fclose(to) != 0 && !st)
        st = psr_fail_nomem(err, "a record", 4096);
    free(r->line[step]);
    r->line[step] = text;
    return st ? st : psrsearch_records_write(r, err);
}

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

/* Keeps a line for its step; lines of no step are dropped. */
static bool keep_line(void *ctx, const char *line)
{
    const struct reading *reading = ctx;
    for (int k = 0; k < PSRSEARCH_NSTEP; k++) {
        char begin[32], **kept = &reading->to->line[k];
        const int n =
            snprintf(begin, sizeof begin, "{\"step\": \"%s\",", reading->plan->step[k].name);
        if (strncmp(line, begin, (size_t)n) != 0)
            continue;
        free(*kept);
        *kept = psrsearch_join(line, NULL);
        return *kept != NULL;
    }
    return true;
}

psr_status psrsearch_records_read(struct psrsearch_records *r, const struct psrsearch_plan *p,
                                  psr_err *err)
{
    struct reading reading = {r, p};
    *r = (struct psrsearch_records){.path = psrsearch_join(p->base, ".steps.json", NULL)};
    return r->path ? psrsearch_read_lines(r->path, &r->exists, keep_line, &reading, err)
                   : psr_fail_nomem(err, p->base, 64);
}

psr_status psrsearch_records_write(const struct psrsearch_records *r, psr_err *err)
{
    psr_outfile *f = NULL;
    psr_status st = psr_outfile_create(&f, r->path, err);
    if (st)
        return st;
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++)
        if (r->line[k])
            st = psr_outfile_write(f, r->line[k], strlen(r->line[k]), err);
    if (!st)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

void psrsearch_records_clear(struct psrsearch_records *r)
{
    for (int k = 0; k < PSRSEARCH_NSTEP; k++)
        free(r->line[k]);
    free(r->path);
    *r = (struct psrsearch_records){.path = NULL};
}
