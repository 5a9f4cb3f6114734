/* The summary of a search: a line of JSON, and some for people. */
#include "psrsearch.h"

#include "tools/common/json_read.h"

#include <math.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/psrkit.h>
#include <stdlib.h>
#include <string.h>

/* --- reads what a search has found: the sifted list, the bursts, the folds -------------------- */

static psr_status read_file(struct psrsearch_results *found, const struct psrsearch_plan *p,
                            const char *suffix, psrsearch_take_line *take, psr_err *err)
{
    bool exists; /* or the step was not wanted */
    char *path = psrsearch_join(p->base, suffix, NULL);
    psr_status st = path ? psrsearch_read_lines(path, &exists, take, found, err)
                         : psr_fail_nomem(err, p->base, 64);
    free(path);
    return st;
}

/* The list is in order of rank: the first is the best. */
static void take_object(struct psrsearch_results *found, const struct json_value *candidate)
{
    const char *marks = json_text(candidate, "marks");
    found->nknown += *json_text(candidate, "note") != '\0';
    found->nmarked += psr_sift_marks_count(marks);
    found->nlikely +=
        !psr_sift_marks_count(marks) && json_number(candidate, "probability") > PSR_CAND_LINE;
    if (found->ncand++)
        return;
    /* The list's name without its folder, and the candidate's number. */
    const char *path = json_text(candidate, "file"), *slash = strrchr(path, '/');
    snprintf(found->best.name, sizeof found->best.name, "%.*s:%.0f", PSR_TEXT_MAX - 32,
             slash ? slash + 1 : path, json_number(candidate, "cand"));
    snprintf(found->best.marks, sizeof found->best.marks, "%s", *marks ? marks : "-");
    found->best.dm = json_number(candidate, "dm");
    found->best.snr = json_number(candidate, "snr");
    found->best.sigma = json_number(candidate, "sigma");
    found->best.period_s = json_number(candidate, "period_s");
    found->best.probability = json_number(candidate, "probability");
}

/* A line of ROOT.sift.jsonl; one that is none is left out. */
static bool take_candidate(void *ctx, const char *line)
{
    struct json_value *value = NULL;
    char *text = strdup(line);
    const psr_status st = text ? json_parse(&value, text, "", NULL) : PSR_ENOMEM;
    if (!st)
        take_object(ctx, value);
    json_clear(value);
    free(text);
    return st != PSR_ENOMEM;
}

/* Bursts come best first. */
static bool take_burst(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    double snr, time_s, dm;
    char marks[32] = "-";
    if (line[0] == '#' ||
        sscanf(line, "%lf %*s %lf %*s %*s %lf %*s %*s %*s %31s", &snr, &time_s, &dm, marks) < 3)
        return true;
    found->nburst_marked += psr_sift_marks_count(marks);
    if (!found->nburst++ || snr > found->burst.snr) {
        found->burst.snr = snr;
        found->burst.time_s = time_s;
        found->burst.dm = dm;
        memcpy(found->burst.marks, marks, sizeof marks);
    }
    return true;
}

static bool take_fold(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    (void)line;
    found->nfold++;
    return true;
}

/* A row of ROOT.sift; those of hits begin with blanks. */
static bool count_row(void *ctx, const char *line)
{
    struct psrsearch_results *found = ctx;
    found->nsifted += *line && *line != '#' && *line != ' ';
    return true;
}

psr_status psrsearch_results_count_sifted(struct psrsearch_results *found,
                                          const struct psrsearch_plan *p, psr_err *err)
{
    found->nsifted = 0;
    return read_file(found, p, ".sift", count_row, err);
}

psr_status psrsearch_results_read(struct psrsearch_results *found, const struct psrsearch_plan *p,
                                  const struct psrsearch_options *o, psr_err *err)
{
    const size_t ncands = (size_t)o->ncands, n = found->nsifted < ncands ? found->nsifted : ncands;
    psr_status st = read_file(found, p, ".fold.json", take_fold, err);
    found->nunfolded = n > found->nfold ? n - found->nfold : 0;
    if (!st)
        st = read_file(found, p, ".sift.jsonl", take_candidate, err);
    if (!st)
        st = read_file(found, p, ".cand", take_burst, err);
    return st ? st : read_file(found, p, ".par.jsonl", take_fold, err);
}

/* --- the summary of a search: a line of JSON, and some for people ----------------------------- */

static void put_best(struct psr_json *j, const struct psrsearch_results *found)
{
    if (!found->ncand)
        return;
    psr_json_begin(j, "best", PSR_JSON_OBJECT);
    psr_json_string(j, "name", found->best.name);
    psr_json_double(j, "period_s", found->best.period_s);
    psr_json_double(j, "dm", found->best.dm);
    psr_json_double(j, "sigma", found->best.sigma);
    psr_json_double(j, "snr", found->best.snr);
    psr_json_string(j, "marks", found->best.marks);
    psr_json_double(j, "probability", found->best.probability);
    psr_json_end(j, PSR_JSON_OBJECT);
}

static void put_burst(struct psr_json *j, const struct psrsearch_results *found)
{
    if (!found->nburst)
        return;
    psr_json_begin(j, "best_burst", PSR_JSON_OBJECT);
    psr_json_double(j, "snr", found->burst.snr);
    psr_json_double(j, "time_s", found->burst.time_s);
    psr_json_double(j, "dm", found->burst.dm);
    psr_json_string(j, "marks", found->burst.marks);
    psr_json_end(j, PSR_JSON_OBJECT);
}

/* Those of steps that ran at the same time are counted once. */
static double total_seconds(const struct psrsearch_plan *p, const struct psrsearch_records *r)
{
    double total = 0;
    for (int k = 0; k < PSRSEARCH_NSTEP; k++)
        total += psrsearch_seconds(r, (enum psrsearch_kind)k);
    const double mask = psrsearch_seconds(r, PSRSEARCH_MASK),
                 search =
                     psrsearch_seconds(r, PSRSEARCH_PLAN) + psrsearch_seconds(r, PSRSEARCH_SEARCH);
    return p->beside ? total - fmin(mask, search) : total;
}

static psr_status write_text(const struct psrsearch_plan *p, const char *text, psr_err *err)
{
    psr_outfile *f = NULL;
    char *path = psrsearch_join(p->base, ".psrsearch.json", NULL);
    psr_status st = path ? psr_outfile_create(&f, path, err) : psr_fail_nomem(err, p->base, 64);
    if (!st) {
        st = psr_outfile_write(f, text, strlen(text), err);
        if (st)
            psr_outfile_abort(f);
        else
            st = psr_outfile_commit(f, err);
    }
    free(path);
    return st;
}

psr_status psrsearch_summary_write(const struct psrsearch_results *found,
                                   const struct psrsearch_plan *p,
                                   const struct psrsearch_options *o,
                                   const struct psrsearch_records *r, psr_err *err)
{
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    if (!to)
        return psr_fail_nomem(err, "the summary", 4096);
    struct psr_json j = {.put = cli_put_json, .ctx = to};
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_string(&j, "root", p->root);
    psr_json_string(&j, "version", psr_version());
    psr_json_begin(&j, "input", PSR_JSON_ARRAY);
    for (size_t i = 0; i < o->ninput; i++)
        psr_json_string(&j, NULL, o->input[i]);
    psr_json_end(&j, PSR_JSON_ARRAY);
    psr_json_int(&j, "candidates", (int64_t)found->ncand);
    psr_json_int(&j, "known", (int64_t)found->nknown);
    psr_json_int(&j, "folded", (int64_t)found->nfold);
    psr_json_int(&j, "bursts", (int64_t)found->nburst);
    psr_json_int(&j, "likely_candidates", (int64_t)found->nlikely);
    psr_json_int(&j, "marked_candidates", (int64_t)found->nmarked);
    psr_json_int(&j, "marked_bursts", (int64_t)found->nburst_marked);
    put_best(&j, found);
    put_burst(&j, found);
    psr_json_begin(&j, "seconds", PSR_JSON_OBJECT);
    for (int k = 0; k < PSRSEARCH_NSTEP; k++)
        if (r->line[k])
            psr_json_double(&j, p->step[k].name, psrsearch_seconds(r, (enum psrsearch_kind)k));
    psr_json_double(&j, "total", total_seconds(p, r));
    psr_json_end(&j, PSR_JSON_OBJECT);
    psr_json_end(&j, PSR_JSON_OBJECT);
    fputc('\n', to);
    psr_status st =
        fclose(to) == 0 ? write_text(p, text, err) : psr_fail_nomem(err, "the summary", 4096);
    if (!st && o->json)
        fputs(text, stdout);
    free(text);
    return st;
}

void psrsearch_summary_print(const struct psrsearch_results *found, const struct psrsearch_plan *p,
                             const struct psrsearch_records *r)
{
    char name[PSR_TEXT_MAX];
    fprintf(stderr,
            "psrsearch: %s: %zu candidates, %zu of known pulsars, %zu marked, %zu folded; %zu "
            "bursts, %zu marked\n",
            cli_printable(name, sizeof name, p->root), found->ncand, found->nknown, found->nmarked,
            found->nfold, found->nburst, found->nburst_marked);
    if (found->nunfolded)
        fprintf(stderr, "psrsearch: %zu candidates cannot be folded; %s_fold.log has the reasons\n",
                found->nunfolded, p->aside);
    if (found->ncand)
        fprintf(stderr, "psrsearch: best candidate: %s, %.9g ms, DM %g, sigma %.1f",
                cli_printable(name, sizeof name, found->best.name), found->best.period_s * 1e3,
                found->best.dm, found->best.sigma);
    if (found->ncand && !isnan(found->best.probability))
        fprintf(stderr, ", probability %.3f%s", found->best.probability,
                found->best.probability > PSR_CAND_LINE ? "" : ": may be noise");
    if (found->ncand)
        fputc('\n', stderr);
    if (found->nburst)
        fprintf(stderr, "psrsearch: best burst: S/N %.1f at %.4f s, DM %g\n", found->burst.snr,
                found->burst.time_s, found->burst.dm);
    fprintf(stderr, "psrsearch: %.2f s:", total_seconds(p, r));
    for (int k = 0, n = 0; k < PSRSEARCH_NSTEP; k++)
        if (r->line[k])
            fprintf(stderr, "%s %s %.2f", n++ ? "," : "", p->step[k].name,
                    psrsearch_seconds(r, (enum psrsearch_kind)k));
    fputc('\n', stderr);
}
