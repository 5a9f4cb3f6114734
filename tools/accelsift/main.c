/* accelsift: sifts the candidates of acceleration searches at many DMs. */
#include "base/tool.h"

#include "tools/common/cli.h"
#include "tools/common/json_read.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/sift.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct accelsift_options {
    struct psr_sift_desc run; /* most options are its fields */

    /* Options that are converted to its fields. */
    struct cli_list known_p, known_f;
    const char *compat, *birds, *lines, *catalogue;
    int64_t ncpus;

    /* Options that are not part of it. */
    struct cli_list outputs; /* files, or -; their endings say the format */
    bool csv, json;          /* of what has no such ending */
    const char *rejects;     /* file, or - */
    const char *folds;       /* gpufold's lines of JSON; NULL: none */
    const char *list;        /* names of lists, one per line */
    const char *pattern;     /* of their names */
    bool quiet, verbose;
};

/* --- options ------------------------------------------------------------------------------------- */

#define AT(member) CLI_AT(struct accelsift_options, member)

static const struct cli_option options[] = {
    {"Rejections", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"sigma_threshold", CLI_DOUBLE, AT(run.sigma_threshold), "S", 0, 1e9,
     "Reject candidates of a lower sigma (default 4)."},
    {"c_pow_threshold", CLI_DOUBLE, AT(run.c_pow_threshold), "P", 0, 1e30,
     "But keep those of one harmonic that have this coherent power (default 100)."},
    {"harm_pow_cutoff", CLI_DOUBLE, AT(run.harm_pow_cutoff), "P", 0, 1e30,
     "Reject candidates without a harmonic of this power (default 8)."},
    {"short_period", CLI_DOUBLE, AT(run.short_period_s), "SEC", 0, 1e9,
     "Reject shorter periods (default 0.0005)."},
    {"long_period", CLI_DOUBLE, AT(run.long_period_s), "SEC", 0, 1e9,
     "Reject longer periods (default 15)."},
    {"known_birds_p", CLI_LIST, AT(known_p), "MS,ERR", 0, 0,
     "Reject periods within ERR of this one, both in ms; may be given again."},
    {"known_birds_f", CLI_LIST, AT(known_f), "HZ,ERR", 0, 0,
     "Reject frequencies within ERR of this one, both in Hz; may be given again."},
    {"birds, zaplist", CLI_TEXT, AT(birds), "FILE", 0, 0,
     "Reject the frequencies of a .birds or .zaplist file."},
    {"lines", CLI_TEXT, AT(lines), "FILE", 0, 0,
     "Mark candidates at the lines of ROOT_rfifind.zaplist, if they are no stronger than "
     "these, and DM 0 fits them, and put them after the others. So it is, with or without "
     "this, with those that DM 0 fits and no dispersed pulse; not with known pulsars."},
    {"baryv", CLI_DOUBLE, AT(run.baryv), "V", -0.1, 0.1,
     "Mean velocity of the telescope towards the source, in units of c, which moves "
     "topocentric frequencies of -birds in barycentric lists (default 0)."},
    {"Comparison", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"r_err", CLI_DOUBLE, AT(run.r_err), "BINS", 1e-6, 1e6,
     "Candidates nearer than this are one (default 1.1 Fourier bins)."},
    {"min_num_DMs", CLI_INT, AT(run.min_num_dms), "N", 0, 1e9,
     "Reject candidates found at fewer DMs (default 2)."},
    {"low_DM_cutoff", CLI_DOUBLE, AT(run.low_dm_cutoff), "DM", -1e9, 1e9,
     "Reject candidates that are best at this DM or below, and fit no dispersed pulse (default "
     "2)."},
    {"catalogue, catalog", CLI_TEXT, AT(catalogue), "FILE", 0, 0,
     "Name candidates at periods of known pulsars, and harmonics: psrcat's database, or CSV."},
    {"catalogue_radius", CLI_DOUBLE, AT(run.catalogue_deg), "DEG", 0, 180,
     "Pulsars farther from the position of the observation are other ones (default 1)."},
    {"compat", CLI_TEXT, AT(compat), "NAME", 0, 0, "presto: the list of ACCEL_sift.py."},
    {"Input and output", CLI_HEADING, NULL, NULL, 0, 0, NULL},
    {"list", CLI_TEXT, AT(list), "FILE", 0, 0,
     "Sift the lists that this file names, too, one per line (-: standard input)."},
    {"globaccel", CLI_TEXT, AT(pattern), "PATTERN", 0, 0,
     "Sift the lists whose names match, too, as 'obs_DM*_ACCEL_200'; there may be none."},
    {"folds", CLI_TEXT, AT(folds), "FILE", 0, 0,
     "Order the candidates by the probability that their folds give: the lines of gpufold "
     "-json, of candidates of the same lists. CSV and JSON get its numbers. A file that does "
     "not exist has no folds."},
    {"o", CLI_LIST, AT(outputs), "FILE", 0, 0,
     "Write the candidates to FILE: as comma-separated values if it ends in .csv, as JSON if "
     "it ends in .json or .jsonl, "
     "else in sifting.py's layout; - is standard output (default); may be given again."},
    {"csv", CLI_FLAG, AT(csv), NULL, 0, 0, "Comma-separated values, whatever the ending."},
    {"json", CLI_FLAG, AT(json), NULL, 0, 0, "JSON, one candidate per line, whatever the ending."},
    {"rejects", CLI_TEXT, AT(rejects), "FILE", 0, 0,
     "Write the rejected candidates, each with the reason."},
};

/* "VALUE,ERROR" of each. */
static void read_birds(const struct cli *tool, const char *option, const struct cli_list *list,
                       const struct psr_sift_bird **bird, size_t *n)
{
    struct psr_sift_bird *to = calloc(list->n ? list->n : 1, sizeof *to);
    psr_err err;
    if (!to)
        cli_usage_error(tool, "no memory for -%s", option);
    for (size_t i = 0; i < list->n; i++) {
        char first[64], name[64];
        const char *text = list->text[i], *comma = strchr(text, ',');
        snprintf(name, sizeof name, "-%s %.40s", option, text);
        if (!comma || comma - text >= (long)sizeof first)
            cli_usage_error(tool, "%s: must be a value and its error, as in 16.67,0.01", name);
        memcpy(first, text, (size_t)(comma - text));
        first[comma - text] = '\0';
        if (psr_parse_double(name, first, 0, 1e12, &to[i].value, &err) ||
            psr_parse_double(name, comma + 1, 0, 1e12, &to[i].error, &err))
            cli_usage_error(tool, "%s", err.msg);
    }
    *bird = to;
    *n = list->n;
}

/* Reads the command line into o, whose run lacks birds, catalogue and callbacks; mistakes end the
 * program with exit code 2.
 * Returned: *tool for messages; the number of inputs, in argv[1 .. n] */
static int accelsift_options_parse(struct accelsift_options *o, struct cli *tool, int argc,
                                   char **argv)
{
    struct cli_table table = {.n = 0};
    *o = (struct accelsift_options){.ncpus = 0};
    psr_sift_defaults(&o->run);
    CLI_FILL(&table, options, o);
    cli_add_limits(&table, &o->ncpus, NULL);
    cli_add_verbosity(&table, &o->quiet, &o->verbose);
    *tool = (struct cli){
        .name = "accelsift",
        .operands = "[OPTION]... FILE_ACCEL_Z...",
        .examples = "accelsift -o cands.sift obs_DM*_ACCEL_200\n"
                    "accelsift -catalogue psrcat.db -o cands.sift -o cands.csv obs_DM*_ACCEL_200\n"
                    "accelsift -lines obs_rfifind.zaplist -o cands.sift "
                    "obs_DM*_ACCEL_200\n",
        .summary = "Sift the candidates of accelsearch at many DMs: reject what is no pulsar, join "
                   "detections of one signal, and remove harmonics, as PRESTO's ACCEL_sift.py "
                   "does.",
        .options = table.option,
        .noptions = table.n,
    };
    const int n = cli_parse(tool, argc, argv);
    if (n < 1 && !o->list && !o->pattern)
        cli_usage_error(tool, "no list given: name ROOT_ACCEL_Z files, -list or -globaccel");
    if (o->compat && strcmp(o->compat, "presto") != 0)
        cli_usage_error(tool, "-compat: '%s' is not presto", o->compat);
    if (o->csv && o->json)
        cli_usage_error(tool, "-csv and -json: one list has one format");
    if (o->compat && (o->birds || o->catalogue || o->folds))
        cli_usage_error(tool, "-compat presto: ACCEL_sift.py has no -%s",
                        o->birds       ? "birds"
                        : o->catalogue ? "catalogue"
                                       : "folds");
    read_birds(tool, "known_birds_p", &o->known_p, &o->run.bird_p, &o->run.nbird_p);
    read_birds(tool, "known_birds_f", &o->known_f, &o->run.bird_f, &o->run.nbird_f);
    o->run.presto = o->compat != NULL;
    o->run.keep_rejects = o->rejects != NULL;
    return n;
}

struct accelsift_fold {
    char *name; /* LIST_Cand_NUMBER; owned */
    bool narrow;
    double topo_hz, topo_hz_s, bary_hz, bary_hz_s; /* and their drift; not numbers: not known */
    double moved_bins; /* of a best trial that gpufold left; not a number: none */
    struct psr_cand_score score;
};

struct accelsift_folds {
    struct accelsift_fold *fold; /* [n] by name; owned */
    size_t n, room;
};

/* Scores of folds: read, given to candidates, which are ordered by them. */

PSR_COMPARE(by_name, struct accelsift_fold, strcmp(a->name, b->name));

static psr_status take_fold(struct accelsift_folds *folds, const struct json_value *line,
                            psr_err *err)
{
    psr_status st =
        psr_grow(&folds->fold, &folds->room, folds->n, sizeof *folds->fold, "folds", err);
    if (st)
        return st;
    struct accelsift_fold *f = &folds->fold[folds->n];
    *f = (struct accelsift_fold){.name = strdup(json_text(line, "candidate"))};
    if (!f->name)
        return psr_fail_nomem(err, "folds", 64);
    folds->n++;
    f->narrow = strstr(json_text(line, "marks"), "narrow") != NULL;
    for (int k = 0; k < PSR_CAND_NNUMBER; k++)
        f->score.number[k] = json_number(line, psr_cand_number_name((enum psr_cand_number)k));
    f->score.probability = json_number(line, "probability");
    const double ratio = json_number(line, "p_ratio"), topo_s = json_number(line, "p_s_topo"),
                 bary_s = json_number(line, "p_s_bary");
    f->topo_hz = ratio / topo_s;
    f->topo_hz_s = -json_number(line, "pd_topo") * ratio / (topo_s * topo_s);
    f->bary_hz = ratio / bary_s;
    f->bary_hz_s = -json_number(line, "pd_bary") * ratio / (bary_s * bary_s);
    f->moved_bins = json_number(line, "moved_bins");
    snprintf(f->score.reasons, sizeof f->score.reasons, "%s%s%s", f->narrow ? "narrow" : "",
             f->narrow && *json_text(line, "reasons") ? "; " : "", json_text(line, "reasons"));
    return PSR_OK;
}

/* Reads a file of lines of JSON; one that does not exist has no folds.  The caller clears *folds, also after an
 * error.
 * Status: PSR_EIO, PSR_EFORMAT naming file and line, PSR_ENOMEM */
static psr_status accelsift_folds_read(struct accelsift_folds *folds, const char *path,
                                       psr_err *err)
{
    char *text = NULL;
    size_t room = 0, number = 0;
    psr_status st = PSR_OK;
    FILE *f = fopen(path, "re");
    *folds = (struct accelsift_folds){.n = 0};
    if (!f && errno == ENOENT)
        return PSR_OK;
    if (!f)
        return psr_fail_errno(err, "%s", path);
    while (!st && getline(&text, &room, f) > 0)
        if (number++, strcspn(text, "\r\n")) {
            struct json_value *value = NULL;
            char what[PSR_TEXT_MAX + 64];
            snprintf(what, sizeof what, "%.255s: line %zu", path, number);
            st = json_parse(&value, text, what, err);
            if (!st)
                st = take_fold(folds, value, err);
            json_clear(value);
        }
    if (!st && ferror(f))
        st = psr_fail_errno(err, "%s", path);
    fclose(f);
    free(text);
    if (!st && folds->n)
        qsort(folds->fold, folds->n, sizeof *folds->fold, by_name);
    return st;
}

static void accelsift_folds_clear(struct accelsift_folds *folds)
{
    for (size_t i = 0; i < folds->n; i++)
        free(folds->fold[i].name);
    free(folds->fold);
    *folds = (struct accelsift_folds){.n = 0};
}

/* By how many bins the fold moved the frequency in the middle, as seen from the telescope or the barycentre, whichever the
 * list has. */
static double count_moved(const struct accelsift_fold *f, const struct psr_sift_cand *c)
{
    const double half_s = c->tobs_s / 2;
    if (!isnan(f->moved_bins))
        return f->moved_bins;
    return fmin(fabs(f->topo_hz + f->topo_hz_s * half_s - c->freq_hz),
                fabs(f->bary_hz + f->bary_hz_s * half_s - c->freq_hz)) *
           c->tobs_s;
}

/* Copies the candidates of a result, gives them their scores and orders them by these.
 * Returned: *cand [result->ncand], malloc'd, caller frees; the scores stay those of folds
 * Status:   PSR_ENOMEM */
static psr_status accelsift_folds_rank(const struct accelsift_folds *folds,
                                       const struct psr_sift_result *result,
                                       struct psr_sift_cand **cand, psr_err *err)
{
    const size_t n = result->ncand;
    char name[PSR_TEXT_MAX + 32];
    *cand = malloc((n + 1) * sizeof **cand);
    if (!*cand)
        return psr_fail_nomem(err, "candidates", (double)n * sizeof **cand);
    for (size_t i = 0; i < n; i++) {
        struct psr_sift_cand *c = &(*cand)[i];
        *c = result->cand[i];
        snprintf(name, sizeof name, "%.250s_Cand_%lld", c->file, (long long)c->number);
        const struct accelsift_fold key = {.name = name};
        struct accelsift_fold *found =
            folds->n ? bsearch(&key, folds->fold, folds->n, sizeof key, by_name) : NULL;
        c->score = found ? &found->score : NULL;
        if (found)
            found->score.moved_bins = count_moved(found, c);
        c->marks |= found && found->narrow ? PSR_SIFT_NARROW : 0U;
    }
    return psr_cand_rank(*cand, n, err);
}

/* Names of lists: each file once. */

/* A list, wherever its names lead. */
struct identity {
    dev_t dev;
    ino_t ino;
    size_t i; /* its place among the names */
};

PSR_COMPARE(compare_identities, struct identity,
            PSR_THEN(PSR_RISING(dev), PSR_THEN(PSR_RISING(ino), PSR_RISING(i))));

static void drop_names(struct psr_names *lists)
{
    size_t n = 0;
    for (size_t i = 0; i < lists->n; i++)
        if (lists->name[i])
            lists->name[n++] = lists->name[i];
    lists->n = n;
}

/* Removes names of files that an earlier name leads to: a list that is read twice has hits of itself.
 * Given:  tool   notes each name on standard error; NULL: silent
 * Status: PSR_ENOMEM */
static psr_status accelsift_drop_repeats(struct psr_names *lists, const struct cli *tool,
                                         psr_err *err)
{
    struct identity *id = calloc(lists->n + 1, sizeof *id);
    size_t n = 0;
    if (!id)
        return psr_fail_nomem(err, "the lists", (double)lists->n * sizeof *id);
    for (size_t i = 0; i < lists->n; i++) {
        struct stat is;
        if (stat(lists->name[i], &is) == 0)
            id[n++] = (struct identity){is.st_dev, is.st_ino, i};
    }
    qsort(id, n, sizeof *id, compare_identities);
    for (size_t k = n; k-- > 1;) {
        char **name = &lists->name[id[k].i], text[256];
        if (id[k].dev != id[k - 1].dev || id[k].ino != id[k - 1].ino)
            continue;
        if (tool)
            fprintf(stderr, "%s: %s: named before, read once\n", tool->name,
                    cli_printable(text, sizeof text, *name));
        free(*name);
        *name = NULL;
    }
    free(id);
    drop_names(lists);
    return PSR_OK;
}

struct run {
    struct accelsift_options opt;
    struct cli tool;
    struct psr_names lists;
    struct psr_zaplist birds, lines;
    struct psr_catalogue catalogue;
    int code; /* exit code, if lists were refused */
    struct run_progress progress;
    struct accelsift_folds folds;
    struct psr_sift_cand *ranked; /* by folds; NULL: without them */
    psr_err err;
};

/* Format of an output, by the options or by its ending. */
static enum psr_sift_format choose_format(const struct accelsift_options *o, const char *path)
{
    if (o->csv || o->json)
        return o->csv ? PSR_SIFT_CSV : PSR_SIFT_JSON;
    if (psr_path_ends(path, ".csv"))
        return PSR_SIFT_CSV;
    return psr_path_ends(path, ".json") || psr_path_ends(path, ".jsonl") ? PSR_SIFT_JSON
                                                                         : PSR_SIFT_TEXT;
}

static void refuse(void *ctx, const char *path, const psr_err *why)
{
    struct run *r = ctx;
    (void)path;
    r->code = cli_worse(r->code, cli_report(&r->tool, why));
}

static void show_read(void *ctx, int64_t done, int64_t total)
{
    struct run *r = ctx;
    run_show(&r->progress, "lists", done, total);
}

static psr_status name_matches(struct run *r, const char *pattern)
{
    glob_t found = {.gl_pathc = 0};
    const int code = glob(pattern, GLOB_ERR, NULL, &found);
    psr_status st = PSR_OK;
    if (code && code != GLOB_NOMATCH)
        st = code == GLOB_NOSPACE ? psr_fail_nomem(&r->err, pattern, 64)
                                  : psr_fail_errno(&r->err, "-globaccel %s", pattern);
    for (size_t i = 0; i < found.gl_pathc && !st; i++)
        st = psr_names_add(&r->lists, found.gl_pathv[i], &r->err);
    globfree(&found);
    return st;
}

static psr_status name_lists(struct run *r, char *const *path, int n)
{
    psr_status st = PSR_OK;
    for (int i = 0; i < n && !st; i++)
        st = psr_names_add(&r->lists, path[i], &r->err);
    if (!st && r->opt.list)
        st = psr_names_read(&r->lists, r->opt.list, &r->err);
    if (!st && r->opt.pattern)
        st = name_matches(r, r->opt.pattern);
    return st;
}

static psr_status write_output(struct run *r, psr_output_group *group,
                               const struct psr_sift_result *result, const char *path,
                               enum psr_sift_format format)
{
    psr_outfile *f = NULL;
    psr_status st = psr_output_group_add(group, path, &f, &r->err);
    return st ? st : psr_sift_write(f, result, format, r->opt.run.presto, &r->err);
}

/* All lists appear together, or none does. */
static psr_status write_outputs(struct run *r, const struct psr_sift_result *result)
{
    const struct accelsift_options *o = &r->opt;
    const struct psr_output_group_desc d = {.size = sizeof d, .last = -1};
    psr_output_group *group = NULL;
    psr_status st = psr_output_group_create(&group, &d, &r->err);
    if (!st && !o->outputs.n)
        st = write_output(r, group, result, "-", choose_format(o, "-"));
    for (size_t i = 0; i < o->outputs.n && !st; i++)
        st = write_output(r, group, result, o->outputs.text[i],
                          choose_format(o, o->outputs.text[i]));
    if (!st && o->rejects)
        st = write_output(r, group, result, o->rejects, PSR_SIFT_REJECTS);
    if (!st)
        return psr_output_group_commit(group, &r->err);
    psr_output_group_abort(group);
    return st;
}

static void report(const struct run *r, const struct psr_sift_result *result, double seconds)
{
    static const char *const names[PSR_SIFT_NREASON] = {
        [PSR_SIFT_GOOD] = "good",
        [PSR_SIFT_LONG_PERIOD] = "of long periods",
        [PSR_SIFT_SHORT_PERIOD] = "of short periods",
        [PSR_SIFT_KNOWN_BIRD] = "known birds",
        [PSR_SIFT_THRESHOLD] = "below the threshold",
        [PSR_SIFT_HARM_POWER] = "of weak harmonics",
        [PSR_SIFT_ROGUE_HARM] = "of one high harmonic",
        [PSR_SIFT_DUPLICATE] = "hits of others",
        [PSR_SIFT_FEW_DMS] = "at few DMs",
        [PSR_SIFT_LOW_DM] = "at low DMs",
        [PSR_SIFT_DM_GAPS] = "with gaps in DM",
        [PSR_SIFT_HARMONIC] = "harmonics",
    };
    fprintf(stderr, "%s: %zu lists, %zu candidates:", r->tool.name, result->nlist, result->nread);
    for (size_t k = 0; k < PSR_SIFT_NREASON; k++)
        if (result->count[k] || k == PSR_SIFT_GOOD)
            fprintf(stderr, "%s %zu %s", k ? "," : "", result->count[k], names[k]);
    fprintf(stderr, "; %.3f s\n", seconds);
}

static psr_status sift(struct run *r, psr_sift *s)
{
    const double began_s = run_seconds();
    struct psr_sift_result result;
    run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose),
                       (int64_t)r->lists.n, "lists", 1);
    psr_status st = psr_sift_read(s, (const char *const *)r->lists.name, r->lists.n, &r->err);
    if (!st)
        st = psr_sift_execute(s, &result, &r->err);
    if (!st && r->opt.folds) {
        st = accelsift_folds_rank(&r->folds, &result, &r->ranked, &r->err);
        result.cand = r->ranked;
    }
    run_progress_end(&r->progress);
    if (!st)
        st = write_outputs(r, &result);
    if (!st && r->opt.verbose)
        report(r, &result, run_seconds() - began_s);
    return st;
}

static psr_status run(struct run *r, char *const *path, int n)
{
    struct psr_sift_desc *d = &r->opt.run;
    psr_sift *s = NULL;
    d->refuse = refuse;
    d->progress = show_read;
    d->ctx = r;
    if (d->presto && d->nbird_p + d->nbird_f > 0 && !r->opt.quiet)
        cli_note(&r->tool, "-compat presto: ACCEL_sift.py never uses its known birds: ignored");
    psr_status st = name_lists(r, path, n);
    if (!st && !d->presto)
        st = accelsift_drop_repeats(&r->lists, r->opt.quiet ? NULL : &r->tool, &r->err);
    if (!st) {
        struct psr_overwrite_check check = {0};
        const char *const input[] = {r->opt.list, r->opt.birds, r->opt.lines, r->opt.catalogue,
                                     r->opt.folds};
        const struct cli_list *to = &r->opt.outputs;
        for (size_t i = 0; i < sizeof input / sizeof *input && !st; i++)
            st = psr_overwrite_check_input(&check, input[i], &r->err);
        for (size_t i = 0; i < r->lists.n && !st; i++)
            st = psr_overwrite_check_input(&check, r->lists.name[i], &r->err);
        for (size_t i = 0; i < to->n && !st; i++)
            st = psr_overwrite_check_output(&check, to->text[i], NULL, &r->err);
        if (!st)
            st = psr_overwrite_check_output(&check, r->opt.rejects, NULL, &r->err);
        psr_overwrite_check_clear(&check);
    }
    if (!st) {
        struct accelsift_options *o = &r->opt;
        st = o->birds ? psr_zaplist_read(&r->birds, o->birds, &r->err) : PSR_OK;
        if (!st && o->catalogue)
            st = psr_catalogue_read(&r->catalogue, o->catalogue, &r->err);
        if (!st && o->lines)
            st = psr_zaplist_read(&r->lines, o->lines, &r->err);
        if (!st && o->folds)
            st = accelsift_folds_read(&r->folds, o->folds, &r->err);
        o->run.birds = o->birds ? &r->birds : NULL;
        o->run.lines = o->lines ? &r->lines : NULL;
        o->run.catalogue = o->catalogue ? &r->catalogue : NULL;
    }
    if (!st)
        st = psr_sift_create(&s, d, &r->err);
    if (!st)
        st = sift(r, s);
    psr_sift_destroy(s);
    return st;
}

int main(int argc, char **argv)
{
    struct run r = {.code = EXIT_SUCCESS};
    const int n = accelsift_options_parse(&r.opt, &r.tool, argc, argv);
    run_catch_signals();
    run_limit_threads(&r.opt.ncpus, r.opt.quiet ? NULL : r.tool.name);
    r.opt.run.nthread = (int)r.opt.ncpus;
    psr_status st = run(&r, argv + 1, n);
    psr_names_clear(&r.lists);
    psr_zaplist_clear(&r.birds);
    psr_zaplist_clear(&r.lines);
    psr_catalogue_clear(&r.catalogue);
    accelsift_folds_clear(&r.folds);
    free(r.ranked);
    free((void *)r.opt.outputs.text);
    free((void *)r.opt.known_p.text);
    free((void *)r.opt.known_f.text);
    free((void *)r.opt.run.bird_p);
    free((void *)r.opt.run.bird_f);
    return cli_end(&r.tool, st, &r.err, r.code);
}
