/* Collects the names of inputs, also from lists, and of their outputs. */
#include "gpuaccel-pulscan.h"

#include "base/tool.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- remarks and errors, one line each -------------------------------------------------------- */

void accel_report(struct accel_job *j, const char *path, const psr_err *err)
{
    psr_err named = *err;
    if (err->code == PSR_ESTOPPED) /* the signal ends the tool */
        return;
    if (path && !strstr(err->msg, path))
        psr_fail(&named, err->code, "%s: %s", path, err->msg);
    j->code = cli_worse(j->code, cli_report(&j->tool, &named));
    j->nfailed++;
}

static struct psr_notes notes_of(struct accel_job *j)
{
    return (struct psr_notes){j->opt.quiet ? NULL : cli_note, &j->tool};
}

/* Thousands of files would each say the same. */
void accel_note_inf(struct accel_job *j, const struct accel_file *file)
{
    const struct psr_inf *inf = &file->about.inf;
    const struct psr_notes notes = notes_of(j);
    const bool artificial = !strcmp(inf->telescope, "None (Artificial Data Set)");
    if (file->about.odd && !j->odd_told)
        psr_note(&notes,
                 "%s: %lld samples, an odd number: the last one is left out, here and in other "
                 "files",
                 file->path, (long long)(2 * file->about.nbin + 1));
    if (!inf->has_epoch && !artificial && !j->epoch_told)
        psr_note(&notes, "%s: its .inf has no epoch of observation, which counts as MJD 0",
                 file->path);
    j->odd_told |= file->about.odd;
    j->epoch_told |= !inf->has_epoch && !artificial;
}

void accel_note_ignored(struct accel_job *j)
{
    const struct psr_notes notes = notes_of(j);
    const struct psr_fourier_desc *d = &j->opt.fourier.search;
    if (d->wmax > 0 && !d->matched)
        psr_note(&notes, "-wmax is ignored: boxcars tolerate jerk");
    if (d->presto && (d->rlo >= 0 || d->rhi >= 0))
        psr_note(&notes, "-compat presto: -rlo and -rhi are not used, as accelsearch ignores them");
}

void accel_note_red_noise(struct accel_job *j, const char *path, const struct psr_fourier_result *r)
{
    const struct psr_notes notes = notes_of(j);
    j->said_red = j->said_red || psr_fourier_note_red_noise(r, path, &notes);
}

void accel_note_left_out(struct accel_job *j, const char *path, size_t left_out)
{
    const struct psr_notes notes = notes_of(j);
    if (left_out > 0)
        psr_note(&notes,
                 "%.300s: %zu more candidates are left out: -maxcands %lld (is there interference "
                 "to -zaplist, or -rednoise to take out?)",
                 path, left_out, (long long)j->opt.fourier.search.maxcands);
}

/* --- collects the names of inputs, also from lists, and of their outputs ---------------------- */

psr_status accel_gather_names(struct accel_job *j, char **operand, size_t n)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < n && !st; i++)
        st = psr_names_add(&j->inputs, operand[i], &j->err);
    return !st && j->opt.files ? psr_names_read(&j->inputs, j->opt.files, &j->err) : st;
}

char *accel_output_root(const struct accel_job *j, const char *path)
{
    const struct accel_options *o = &j->opt;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *root = NULL;
    if (o->root && !accel_has_table(o))
        return strdup(o->root);
    const char *dot = strrchr(base, '.');
    int stem = (int)(dot ? dot - base : (ptrdiff_t)strlen(base));
    int failed = o->outdir ? asprintf(&root, "%s/%.*s", o->outdir, stem, base)
                           : asprintf(&root, "%.*s%.*s", (int)(base - path), path, stem, base);
    return failed < 0 ? NULL : root;
}

/* A file of a list, and where the first of its size stands. */
struct sized {
    char *path;
    off_t size; /* -1: unknown */
    size_t at, first;
};

PSR_COMPARE(by_size, struct sized, PSR_THEN(PSR_RISING(size), PSR_RISING(at)));

PSR_COMPARE(by_first, struct sized, PSR_THEN(PSR_RISING(first), PSR_RISING(at)));

/* Brings files of one size together, in the order of the first of each: every other length needs a
 * plan of its own, and names in the order of their DMs have lengths in any. */
static void group_names(char **path, size_t n)
{
    struct sized *file = calloc(n ? n : 1, sizeof *file);
    struct stat about;
    if (!file)
        return; /* any order will do */
    for (size_t i = 0; i < n; i++)
        file[i] = (struct sized){path[i], stat(path[i], &about) ? -1 : about.st_size, i, i};
    qsort(file, n, sizeof *file, by_size);
    for (size_t i = 1; i < n; i++)
        if (file[i].size == file[i - 1].size)
            file[i].first = file[i - 1].first;
    qsort(file, n, sizeof *file, by_first);
    for (size_t i = 0; i < n; i++)
        path[i] = file[i].path;
    free(file);
}

static psr_status check_output(struct accel_job *j, const char *root, const char *suffix,
                               const char *of)
{
    char *name = NULL;
    if (asprintf(&name, "%s%s", root, suffix) < 0)
        return psr_fail_nomem(&j->err, root, (double)strlen(root));
    psr_status st = psr_overwrite_check_output(&j->names, name, of, &j->err);
    free(name);
    return st;
}

/* A .tim has a header of its own. */
bool accel_has_inf(const char *path)
{
    const char *suffix = strrchr(path, '.');
    return !suffix || strcmp(suffix, ".tim") != 0;
}

/* The .inf of a series describes its spectrum too. */
static bool keeps_inf(const struct accel_job *j, const char *path, const char *root)
{
    char *mine = psr_path_beside(path, ".inf"), *other = NULL;
    struct stat about;
    bool same = accel_has_inf(path) && !j->opt.fourier.search.rednoise && mine &&
                asprintf(&other, "%s.inf", root) >= 0 && psr_same_file(mine, other) &&
                lstat(other, &about) == 0 && !S_ISLNK(about.st_mode);
    free(mine);
    free(other);
    return same;
}

/* An input, and what is to be written of it. */
struct output_of {
    struct accel_job *job;
    const char *path;
};

static psr_status check_list(void *ctx, const char *name, psr_err *err)
{
    const struct output_of *o = ctx;
    return psr_overwrite_check_output(&o->job->names, name, o->path, err);
}

static psr_status check_file(struct accel_job *j, char *path)
{
    const char *suffix = strrchr(path, '.');
    char *root = accel_output_root(j, path);
    struct output_of of = {j, path};
    if (!root)
        return psr_fail_nomem(&j->err, path, (double)strlen(path));
    psr_status st = PSR_OK;
    if (j->opt.fourier.search.keep_spectra && suffix &&
        (!strcmp(suffix, ".dat") || !strcmp(suffix, ".sdat") || !accel_has_inf(path))) {
        const bool red = j->opt.fourier.search.rednoise;
        st = check_output(j, root, red ? "_red.fft" : ".fft", path);
        if (!st && !keeps_inf(j, path, root))
            st = check_output(j, root, red ? "_red.inf" : ".inf", path);
    }
    if (!st && !accel_has_table(&j->opt))
        st = psr_fourier_names(&j->opt.fourier.search, root, check_list, &of, &j->err);
    free(root);
    return st;
}

/* Of one input that cannot be searched the others are no worse.  Files that are not there are
 * reported as they are reached. */
static psr_status choose_files(struct accel_job *j)
{
    j->path = calloc(j->inputs.n + 1, sizeof *j->path);
    if (!j->path)
        return psr_fail_nomem(&j->err, "a list of files", (double)j->inputs.n * sizeof *j->path);
    for (size_t i = 0; i < j->inputs.n; i++) {
        char *path = j->inputs.name[i];
        if (access(path, F_OK) == 0 && check_file(j, path) != PSR_OK)
            accel_report(j, path, &j->err);
        else
            j->path[j->npath++] = path;
    }
    group_names(j->path, j->npath);
    return PSR_OK;
}

psr_status accel_check_names(struct accel_job *j)
{
    const struct accel_options *o = &j->opt;
    psr_status st = psr_overwrite_check_input(&j->names, j->opt.fourier.zaplist, &j->err);
    if (!st)
        st = psr_overwrite_check_input(&j->names, j->opt.files, &j->err);
    for (size_t i = 0; i < j->inputs.n && !st; i++) {
        char *inf = psr_path_beside(j->inputs.name[i], ".inf");
        st = inf ? psr_overwrite_check_input(&j->names, j->inputs.name[i], &j->err)
                 : psr_fail_nomem(&j->err, j->inputs.name[i], (double)strlen(j->inputs.name[i]));
        if (!st && accel_has_inf(j->inputs.name[i]))
            st = psr_overwrite_check_input(&j->names, inf, &j->err);
        free(inf);
    }
    if (!st && accel_has_table(o))
        st = psr_overwrite_check_output(&j->names, o->root ? o->root : "-", NULL, &j->err);
    if (!st)
        st = psr_overwrite_check_optional(&j->names, o->plot, &j->err);
    return st ? st : choose_files(j);
}

psr_status accel_claim_files(struct accel_job *j, struct accel_file *file)
{
    const struct accel_options *o = &j->opt;
    if (accel_has_table(o) && !o->fourier.search.keep_spectra)
        return PSR_OK;
    char *root = accel_output_root(j, file->path);
    if (!root)
        return psr_fail_nomem(&j->err, file->path, (double)strlen(file->path));
    char kind[16];
    struct psr_output_group_desc claim = psr_fourier_claim(&o->fourier.search, root, kind);
    claim.notes = (struct psr_notes){o->quiet ? NULL : cli_note, &j->tool};
    psr_status st = psr_output_group_create(&file->group, &claim, &j->err);
    if (st == PSR_OK && o->fourier.search.keep_spectra && file->about.series)
        st = psr_output_group_check_room(file->group, 8 * (double)file->about.nbin, &j->err);
    if (st != PSR_OK) {
        psr_output_group_abort(file->group);
        file->group = NULL;
    }
    free(root);
    return st;
}

void accel_release_names(struct accel_job *j)
{
    psr_names_clear(&j->inputs);
    free(j->path);
    psr_overwrite_check_clear(&j->names);
}
