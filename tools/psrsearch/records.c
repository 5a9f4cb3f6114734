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

static void put_bytes(void *ctx, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, ctx);
}

/* --- the parts of a line ---------------------------------------------------------------------- */

static psr_status put_input(struct psr_json *j, const char *path, psr_err *err)
{
    struct stat is;
    char when[48];
    if (!path || stat(path, &is) != 0)
        return PSR_OK; /* -ignorechan is a list or a file; what is missing its tool will tell */
    const int n = snprintf(when, sizeof when, "%lld.%09ld", (long long)is.st_mtim.tv_sec,
                           (long)is.st_mtim.tv_nsec);
    (void)err;
    psr_json_begin(j, NULL, PSR_JSON_OBJECT);
    psr_json_string(j, "path", path);
    psr_json_int(j, "bytes", (int64_t)is.st_size);
    psr_json_digits(j, "mtime", when, (size_t)n);
    psr_json_end(j, PSR_JSON_OBJECT);
    return PSR_OK;
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

static psr_status put_inputs(struct psr_json *j, const struct psrsearch_options *o,
                             enum psrsearch_kind step, psr_err *err)
{
    psr_status st = PSR_OK;
    const bool reads = step != PSRSEARCH_SIFT && step != PSRSEARCH_REPORT;
    psr_json_begin(j, "input", PSR_JSON_ARRAY);
    for (size_t i = 0; i < o->ninput && reads && !st; i++)
        st = put_input(j, o->input[i], err);
    if (!st && reads && step != PSRSEARCH_PLAN)
        st = put_input(j, o->ignorechan, err);
    if (!st && step == PSRSEARCH_SIFT)
        st = put_input(j, o->catalogue, err);
    if (!st && step == PSRSEARCH_PAR)
        st = put_input(j, o->par, err);
    psr_json_end(j, PSR_JSON_ARRAY);
    return st;
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
    psr_status st = put_inputs(j, o, step, err);
    return st ? st : put_outputs(j, p, step, err);
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
    struct psr_json j = {.put = put_bytes, .ctx = to};
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
    struct psr_json j = {.put = put_bytes, .ctx = to};
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

/* Keeps a line for its step; lines of no step are dropped. */
static psr_status keep_line(struct psrsearch_records *r, const struct psrsearch_plan *p,
                            const char *line, psr_err *err)
{
    for (int k = 0; k < PSRSEARCH_NSTEP; k++) {
        char begin[32];
        const int n = snprintf(begin, sizeof begin, "{\"step\": \"%s\",", p->step[k].name);
        if (strncmp(line, begin, (size_t)n) != 0)
            continue;
        free(r->line[k]);
        r->line[k] = psrsearch_join(line, NULL);
        return r->line[k] ? PSR_OK : psr_fail_nomem(err, r->path, (double)strlen(line));
    }
    return PSR_OK;
}

static psr_status read_lines(struct psrsearch_records *r, const struct psrsearch_plan *p,
                             size_t room, psr_err *err)
{
    struct psr_text_lines in;
    bool exists = true;
    char *line = malloc(room);
    if (!line)
        return psr_fail_nomem(err, r->path, (double)room);
    psr_status st = psr_text_lines_open(&in, r->path, PSR_TABLE_MAX_BYTES, err);
    if (!st) {
        while (!st && exists) {
            st = psr_text_lines_next(&in, line, room, &exists, err);
            if (!st && exists)
                st = keep_line(r, p, line, err);
        }
        psr_text_lines_close(&in);
    }
    free(line);
    return st;
}

psr_status psrsearch_records_read(struct psrsearch_records *r, const struct psrsearch_plan *p,
                                  psr_err *err)
{
    struct stat is;
    *r = (struct psrsearch_records){.path = psrsearch_join(p->base, ".steps.json", NULL)};
    if (!r->path)
        return psr_fail_nomem(err, p->base, 64);
    r->exists = stat(r->path, &is) == 0;
    return r->exists ? read_lines(r, p, (size_t)is.st_size + 2, err) : PSR_OK;
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
